//! Quantiles against redistribution on raw values, and against closed forms.

use fantail_core::{Estimate, Snapshot, Time};
use proptest::prelude::*;

use crate::support::{Draws, Ended, FOREVER, Observation, Redistributed, close, nanos, quantile, snapshot};

#[track_caller]
fn estimable(snapshot: &Snapshot, ppm: u32) -> f64 {
    match snapshot.estimate(quantile(ppm)) {
        Estimate::Estimable(time) => time.as_nanos() as f64,
        other => panic!("{other:?}"),
    }
}

/// Ages that are 2 % apart: no two share a bucket, many observations share an age.
fn coarse() -> impl Strategy<Value = Vec<Observation>> {
    let age = (0..80).prop_map(|i| (1e6 * 1.02_f64.powi(i)) as u64);
    let ended = prop_oneof![
        4 => Just(Ended::Answered),
        1 => Just(Ended::Failed),
        2 => Just(Ended::Cancelled),
    ];
    prop::collection::vec((age, ended), 1..300)
}

proptest! {
    #[test]
    fn on_ages_that_buckets_tell_apart_it_is_the_raw_estimate(
        observations in coarse(),
        ppm in 1_u32..1_000_000,
    ) {
        let raw = Redistributed::new(&observations, false).quantile(f64::from(ppm) / 1e6);
        let at_risk = |age| observations.iter().filter(|other| other.0 >= age).count();
        match snapshot(FOREVER, &observations).estimate(quantile(ppm)) {
            Estimate::Estimable(time) => {
                let raw = raw.unwrap();
                prop_assert!((time.as_nanos() as f64 / raw as f64 - 1.0).abs() <= 1.0 / 256.0);
                prop_assert!(at_risk(raw) >= 30);
            }
            Estimate::NotEstimable { above } => {
                prop_assert!(raw.is_none_or(|raw| at_risk(raw) < 30 && raw > above.as_nanos()));
                prop_assert!(observations.len() as f64 * (1.0 - f64::from(ppm) / 1e6) >= 30.0);
            }
            Estimate::Warming => {
                prop_assert!(raw.is_none_or(|raw| at_risk(raw) < 30));
                prop_assert!(observations.len() as f64 * (1.0 - f64::from(ppm) / 1e6) < 30.0);
            }
            Estimate::Stale => prop_assert!(false, "all at one instant has no pace"),
        }
    }
}

#[test]
fn a_table_by_hand() {
    // 40 at risk. At 1 ms 10 answer: S = 3/4. At 2 ms 6 answer and 4 are cancelled, which were at risk: S = 3/4 · 24/30 =
    // 3/5. At 3 ms 4 fail. At 4 ms, 16 are left and 8 answer: S = 3/5 · 1/2 = 3/10.
    let ms = |n: u64, ended: Ended, count: usize| vec![(n * 1_000_000, ended); count];
    let observations = [
        ms(1, Ended::Answered, 10),
        ms(2, Ended::Cancelled, 4),
        ms(2, Ended::Answered, 6),
        ms(3, Ended::Failed, 4),
        ms(4, Ended::Answered, 8),
        ms(5, Ended::Cancelled, 8),
    ]
    .concat();
    // 120 primaries: three of each, so that 48 are at risk at 4 ms.
    let snapshot = snapshot(FOREVER, &observations.repeat(3));
    close(snapshot.effective(), 120.0, 1e-12);
    for (ppm, ms) in
        [(249_999, 1.0), (250_000, 1.0), (250_001, 2.0), (400_000, 2.0), (400_001, 4.0), (700_000, 4.0)]
    {
        close(estimable(&snapshot, ppm), ms * 1e6, 1.0 / 256.0);
    }
    // The last that anything is known of are the 24 that are cancelled at 5 ms. They are fewer than 30, and the
    // estimate is good to 4 ms.
    let Estimate::NotEstimable { above } = snapshot.estimate(quantile(700_001)) else { panic!() };
    close(above.as_nanos() as f64, 4e6, 1.0 / 128.0);
}

#[test]
fn uncensored_it_is_the_empirical_quantile() {
    let mut draws = Draws::new(1);
    let mut ages: Vec<u64> = (0..10_000).map(|_| nanos(draws.normal().exp())).collect();
    let observations: Vec<Observation> = ages.iter().map(|&age| (age, Ended::Answered)).collect();
    let snapshot = snapshot(FOREVER, &observations);
    ages.sort_unstable();
    for ppm in [10_000, 100_000, 500_000, 900_000, 950_000, 990_000, 997_000] {
        let rank = ages.len() * ppm as usize / 1_000_000;
        close(estimable(&snapshot, ppm), ages[rank - 1] as f64, 1.0 / 256.0);
    }
}

#[test]
fn censored_at_any_age_it_is_the_raw_estimate_to_a_bucket() {
    for seed in 0..10 {
        let mut draws = Draws::new(seed);
        let observations: Vec<Observation> = (0..5_000)
            .map(|_| {
                let (answer, failure) = (draws.normal().exp(), 8.0 * draws.exponential());
                let cancelled = 2.0 * draws.exponential();
                let first = answer.min(failure).min(cancelled);
                let ended = match () {
                    () if first == answer => Ended::Answered,
                    () if first == failure => Ended::Failed,
                    () => Ended::Cancelled,
                };
                (nanos(first), ended)
            })
            .collect();
        let (snapshot, raw) = (snapshot(FOREVER, &observations), Redistributed::new(&observations, false));
        for ppm in [20_000, 100_000, 500_000, 800_000, 900_000] {
            // Within a bucket answers go before censorings, which shifts S by at most Σ a (c + f) / R², here 0.002.
            let p = f64::from(ppm) / 1e6;
            let [least, most] = [p - 2e-3, p + 2e-3].map(|p| raw.quantile(p).unwrap() as f64);
            let got = estimable(&snapshot, ppm);
            assert!((least * 255.0 / 256.0..=most * 257.0 / 256.0).contains(&got), "{least} {got} {most}");
        }
    }
}

/// Latencies of mean 1, cancelled after an independent exponential time of rate `mu`. By Greenwood's formula the
/// variance of Ŝ(t) is `S² (e^((1+μ)t) - 1) / ((1+μ) n)`, and that of the quantile is it over the squared density S².
#[test]
fn exponential_latencies_under_exponential_censoring_have_their_known_quantiles() {
    let n = 20_000;
    for (seed, mu) in [(1, 0.2), (2, 0.5), (3, 1.0), (4, 2.0)] {
        let mut draws = Draws::new(seed);
        let observations: Vec<Observation> = (0..n)
            .map(|_| {
                let (answer, cancelled) = (draws.exponential(), draws.exponential() / mu);
                let ended = if answer <= cancelled { Ended::Answered } else { Ended::Cancelled };
                (nanos(answer.min(cancelled)), ended)
            })
            .collect();
        let snapshot = snapshot(FOREVER, &observations);
        for ppm in [100_000, 500_000, 800_000] {
            let truth = -(1.0 - f64::from(ppm) / 1e6_f64).ln();
            let rate = 1.0 + mu;
            let error = (((rate * truth).exp() - 1.0) / (rate * f64::from(n))).sqrt();
            close(estimable(&snapshot, ppm), 1e8 * truth, 1.0 / 256.0 + 4.0 * error / truth);
        }
    }
}

#[test]
fn answers_alone_would_be_too_low() {
    // What the estimator is for: of exponential latencies, a tenth of which a copy cuts short at their own p90, the
    // p90 of the answers alone is their p81.
    let observations: Vec<Observation> = (0..10_000)
        .map(|i| {
            let latency = -(1.0 - (f64::from(i) + 0.5) / 10_000.0_f64).ln();
            let cut = 10_f64.ln();
            if latency < cut { (nanos(latency), Ended::Answered) } else { (nanos(cut), Ended::Cancelled) }
        })
        .collect();
    let p89 = estimable(&snapshot(FOREVER, &observations), 890_000);
    close(p89, 1e8 * -(0.11_f64.ln()), 0.005);
    assert_eq!(
        snapshot(FOREVER, &observations).estimate(quantile(900_001)),
        Estimate::NotEstimable { above: last_bucket(&observations) }
    );
}

/// The lower edge of the bucket of the longest age: seven bits below the leading one.
fn last_bucket(observations: &[Observation]) -> Time {
    let longest = observations.iter().map(|observation| observation.0).max().unwrap();
    let shift = longest.ilog2() - 7;
    Time::from_nanos(longest >> shift << shift)
}
