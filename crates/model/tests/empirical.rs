//! Laws from latencies as they were seen.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::{Group, GroupedPlan, Law, LawError, Level};

#[track_caller]
fn close(found: f64, expected: f64, bound: f64) {
    assert!((found - expected).abs() <= bound * expected.abs(), "got {found}, expected {expected}");
}

/// Weeks of remission under 6-mercaptopurine (Freireich and others, Blood 21, 1963), the textbook case of the estimate.
const RELAPSED: [f64; 9] = [6.0, 6.0, 6.0, 7.0, 10.0, 13.0, 16.0, 22.0, 23.0];
const CENSORED: [f64; 12] = [6.0, 9.0, 10.0, 11.0, 17.0, 19.0, 20.0, 25.0, 32.0, 32.0, 34.0, 35.0];

#[test]
fn censored_attempts_count_as_long_as_they_were_watched() {
    let law = Law::empirical(&RELAPSED, &CENSORED).unwrap();
    let published = [
        (6.0, 0.857),
        (7.0, 0.807),
        (10.0, 0.753),
        (13.0, 0.690),
        (16.0, 0.627),
        (22.0, 0.538),
        (23.0, 0.448),
    ];
    for (time, survival) in published {
        assert!((law.survival(time) - survival).abs() < 5.1e-4, "{time}: {}", law.survival(time));
    }
    assert_eq!(law.survival(5.9), 1.0);
    // The oldest had not relapsed: nothing is said of them.
    close(law.never(), law.survival(23.0), 1e-15);
    assert_eq!(law.quantile(Level::above(0.4).unwrap()), f64::INFINITY);
    assert_eq!(law.mean().unwrap(), f64::INFINITY);
}

#[test]
fn the_order_of_latencies_does_not_matter() {
    let mut backwards = RELAPSED;
    backwards.reverse();
    let mut censored = CENSORED;
    censored.reverse();
    assert_eq!(Law::empirical(&RELAPSED, &CENSORED), Law::empirical(&backwards, &censored));
}

#[test]
fn between_two_answers_the_survival_is_straight() {
    let law = Law::empirical(&[1.0, 2.0, 4.0, 8.0], &[]).unwrap();
    for (time, survival) in [(0.99, 1.0), (1.0, 0.75), (1.5, 0.625), (3.0, 0.375), (4.0, 0.25), (7.0, 0.0625)]
    {
        close(law.survival(time), survival, 1e-15);
    }
    for s in [0.74, 0.5, 0.3, 1e-3, 1e-12] {
        close(law.survival(law.quantile(Level::above(s).unwrap())), s, 1e-3_f64.min(1e-15 / s));
    }
    assert_eq!(law.quantile(Level::below(0.2).unwrap()), 1.0);
    assert_eq!((law.survival(8.0), law.hazard(9.0)), (0.0, f64::INFINITY));
    close(law.pdf(3.0), 0.125, 1e-15);
    assert_eq!((law.pdf(0.5), law.pdf(8.5)), (0.0, 0.0));
    // A quarter at 1, and a quarter spread evenly over each of 1 to 2, 2 to 4 and 4 to 8.
    close(law.mean().unwrap(), (1.0 + 1.5 + 3.0 + 6.0) / 4.0, 1e-15);
    let squares = 1.0 + (2.25 + 1.0 / 12.0) + (9.0 + 4.0 / 12.0) + (36.0 + 16.0 / 12.0);
    close(law.sd().unwrap().powi(2), squares / 4.0 - 2.875 * 2.875, 1e-13);
}

#[test]
fn all_latencies_alike_are_one_time() {
    let law = Law::empirical(&[2.0; 7], &[1.0; 3]).unwrap();
    assert_eq!((law.survival(1.9), law.survival(2.0)), (1.0, 0.0));
    assert_eq!((law.mean().unwrap(), law.sd().unwrap()), (2.0, 0.0));
    let job = GroupedPlan::all(Group::new(5, law)).solve().unwrap();
    close(job.quantile(Level::above(0.01).unwrap()).value, 2.0, 1e-14);
    close(job.mean().unwrap().value, 2.0, 1e-12);
}

#[test]
fn the_slowest_of_n_follows_the_latencies() {
    let times: Vec<f64> = (1..=200).map(|i| 0.01 * f64::from(i * i)).collect();
    let law = Law::empirical(&times, &[]).unwrap();
    let job = GroupedPlan::all(Group::new(8, law.clone())).solve().unwrap();
    for (i, time) in times.iter().enumerate() {
        close(job.returned(*time), ((i + 1) as f64 / 200.0).powi(8), 1e-12);
    }
    // E max = ∫ 1 - F^8, a polynomial on every run.
    let run = |i: i32| {
        let (from, to) = (f64::from(i) / 200.0, f64::from(i + 1) / 200.0);
        let width = 0.01 * f64::from(2 * i + 1);
        width * (1.0 - (to.powi(9) - from.powi(9)) / (9.0 * (to - from)))
    };
    let mean = times[0] + (1..200).map(run).sum::<f64>();
    close(job.mean().unwrap().value, mean, 1e-10);
    // A copy can only help, and what is later than every latency cannot be.
    let hedged = GroupedPlan::all(Group { delays: vec![100.0], ..Group::new(8, law) }).solve().unwrap();
    let p99 = Level::above(0.01).unwrap();
    assert!(hedged.quantile(p99).value < job.quantile(p99).value && job.quantile(p99).value < 400.0);
}

#[test]
fn many_latencies_are_thinned_within_two_percent_of_every_share() {
    let of = Law::log_normal(1.0, 1.0).unwrap();
    let n = 100_000;
    let at = |i: u32| of.quantile(Level::below((f64::from(i) - 0.5) / f64::from(n)).unwrap());
    let times: Vec<f64> = (1..=n).map(at).collect();
    let law = Law::empirical(&times, &[]).unwrap();
    for (i, time) in (1..=n).zip(&times) {
        let (before, after) = (f64::from(i) / f64::from(n), f64::from(n - i) / f64::from(n));
        let (below, above) = (law.cdf(*time), law.survival(*time));
        if before <= 0.5 { close(below, before, 0.02) } else { close(above, after, 0.02) }
    }
    assert_eq!(
        (law.quantile(Level::below(0.0).unwrap()), law.quantile(Level::above(0.0).unwrap())),
        (times[0], times[99_999])
    );
    // The tails are whole.
    for i in 1..=40 {
        close(law.cdf(times[i - 1]), i as f64 / f64::from(n), 1e-12);
        close(law.survival(times[99_999 - i]), i as f64 / f64::from(n), 1e-10);
    }
}

#[test]
fn no_latency_and_impossible_ones_are_refused() {
    assert!(matches!(Law::empirical(&[], &[1.0]), Err(LawError::Count { given: 0, .. })));
    for time in [-1.0, f64::NAN, f64::INFINITY, 2e15] {
        for result in [Law::empirical(&[1.0, time], &[]), Law::empirical(&[1.0], &[time])] {
            assert!(matches!(result, Err(LawError::OutOfRange { .. })));
        }
    }
}
