//! Failures compete with answers.

use proptest::prelude::*;

use crate::support::{Draws, Ended, FOREVER, Observation, Redistributed, close, nanos, snapshot};
use fantail_core::Time;

fn coarse() -> impl Strategy<Value = Vec<Observation>> {
    let age = (0..60).prop_map(|i| (1e6 * 1.02_f64.powi(i)) as u64);
    let ended =
        prop_oneof![2 => Just(Ended::Answered), 2 => Just(Ended::Failed), 1 => Just(Ended::Cancelled)];
    prop::collection::vec((age, ended), 1..120)
}

proptest! {
    #[test]
    fn on_ages_that_buckets_tell_apart_it_is_the_raw_incidence(observations in coarse()) {
        let snapshot = snapshot(FOREVER, &observations);
        let raw = Redistributed::new(&observations, true);
        for &(age, _) in &observations {
            let incidence = snapshot.incidence(Time::from_nanos(age));
            prop_assert!((incidence.answered - raw.share(Ended::Answered, age)).abs() < 1e-12);
            prop_assert!((incidence.failed - raw.share(Ended::Failed, age)).abs() < 1e-12);
            let later = observations.iter().filter(|other| other.0 > age).count();
            prop_assert!((incidence.at_risk - later as f64).abs() < 1e-9);
        }
    }
}

#[test]
fn a_table_by_hand() {
    // 1 ms: of 10, 2 answer, 1 fails, 1 is cancelled. 2 ms: of 6, 2 answer and 2 fail, each 7/10 · 1/3.
    let ms = |n: u64, ended| (n * 1_000_000, ended);
    let observations = [
        ms(1, Ended::Answered),
        ms(1, Ended::Cancelled),
        ms(1, Ended::Answered),
        ms(1, Ended::Failed),
        ms(2, Ended::Failed),
        ms(2, Ended::Answered),
        ms(2, Ended::Answered),
        ms(2, Ended::Failed),
        ms(3, Ended::Cancelled),
        ms(3, Ended::Cancelled),
    ];
    let snapshot = snapshot(FOREVER, &observations);
    let by = |ms| snapshot.incidence(Time::from_millis(ms));
    assert_eq!((by(0).answered, by(0).failed), (0.0, 0.0));
    close(by(0).at_risk, 10.0, 1e-12);
    close(by(1).answered, 0.2, 1e-12);
    close(by(1).failed, 0.1, 1e-12);
    close(by(1).at_risk, 6.0, 1e-12);
    close(by(2).answered, 0.2 + 0.7 / 3.0, 1e-12);
    close(by(2).failed, 0.1 + 0.7 / 3.0, 1e-12);
    close(by(2).at_risk, 2.0, 1e-12);
    assert_eq!(by(3), by(4));
    assert_eq!(by(3).at_risk, 0.0);
}

#[test]
fn racing_exponentials_have_their_known_incidence() {
    // Answers of rate 1, failures of rate 1/2: by t, 2/3 (1 - e^(-3t/2)) have answered. 1 - S would be 1 - e^-t.
    let mut draws = Draws::new(7);
    let n = 50_000;
    let observations: Vec<Observation> = (0..n)
        .map(|_| {
            let (answer, failure) = (draws.exponential(), 2.0 * draws.exponential());
            let cancelled = 3.0 * draws.exponential();
            let first = answer.min(failure).min(cancelled);
            let ended = match () {
                () if first == answer => Ended::Answered,
                () if first == failure => Ended::Failed,
                () => Ended::Cancelled,
            };
            (nanos(first), ended)
        })
        .collect();
    let snapshot = snapshot(FOREVER, &observations);
    for t in [0.2, 1.0, 2.0] {
        let incidence = snapshot.incidence(Time::from_nanos(nanos(t)));
        let truth = 2.0 / 3.0 * (1.0 - (-1.5 * t).exp());
        // One bucket of time, and four standard errors of a share of those that were not cancelled by then.
        let error = 4.0 * (truth * (1.0 - truth) / (f64::from(n) * (-t / 3.0).exp())).sqrt();
        assert!((incidence.answered - truth).abs() < error + t / 128.0 * (-1.5 * t).exp());
        close(incidence.failed, incidence.answered / 2.0, 0.05);
        assert!(t < 1.0 || 1.0 - (-t).exp() > incidence.answered + 3.0 * error);
    }
}
