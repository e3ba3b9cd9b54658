//! Laws from percentiles.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::{Fit, Law, LawError, Level};

fn fit(percentiles: &[(f64, f64)]) -> Fit {
    Law::from_percentiles(percentiles).unwrap()
}

fn percentiles(law: &Law, ps: &[f64]) -> Vec<(f64, f64)> {
    ps.iter().map(|p| (*p, law.quantile(Level::below(*p).unwrap()))).collect()
}

#[test]
fn two_percentiles_are_a_log_normal_through_both() {
    let fit = fit(&[(0.5, 0.010), (0.99, 0.080)]);
    assert!(fit.error < 1e-14);
    assert!(fit.law.to_string().starts_with("lognormal:"), "{}", fit.law);
    assert!((fit.law.quantile(Level::MEDIAN) - 0.010).abs() < 1e-16);
}

#[test]
fn the_documents_three_percentiles_are_a_shifted_log_normal() {
    let fit = fit(&[(0.99, 2.4), (0.5, 0.8), (0.95, 1.5)]);
    assert!(fit.error < 1e-12, "{}", fit.error);
    assert!(fit.law.to_string().contains("shift="), "{}", fit.law);
    let miss = fit.law.survival(2.5);
    assert!((miss / 0.008_685_490_632_269_5 - 1.0).abs() < 1e-6, "{miss}");
}

#[test]
fn percentiles_of_a_family_give_it_back() {
    let ps = [0.25, 0.5, 0.9, 0.99, 0.999];
    let laws = [
        Law::exponential(0.25),
        Law::log_normal(0.02, 0.7),
        Law::weibull(0.6, 1.0),
        Law::log_logistic(1.5, 2.5),
        Law::pareto(0.3, 1.8),
        Law::log_normal(0.1, 1.2).unwrap().shifted(0.4),
    ];
    for law in laws {
        let law = law.unwrap();
        let found = fit(&percentiles(&law, &ps));
        assert!(found.error < 1e-9, "{law}: {}", found.error);
        for p in [0.01, 0.7, 0.9999] {
            let level = Level::below(p).unwrap();
            let ratio = found.law.quantile(level) / law.quantile(level);
            assert!((ratio - 1.0).abs() < 1e-6, "{law} became {}", found.law);
        }
    }
}

#[test]
fn regimes_with_a_power_tail_are_followed() {
    let body = Law::log_normal(0.8, 0.1).unwrap();
    let law = Law::mixture(&[(0.95, body), (0.05, Law::pareto(1.2, 2.0).unwrap())]).unwrap();
    let ps = [0.25, 0.5, 0.9, 0.97, 0.99, 0.999, 0.9999];
    let found = fit(&percentiles(&law, &ps));
    assert!(found.error < 0.01, "{}", found.error);
    let level = Level::above(1e-6).unwrap();
    let ratio = found.law.quantile(level) / law.quantile(level);
    assert!((0.8..1.25).contains(&ratio), "{} beyond the data: {ratio}", found.law);
}

#[test]
fn what_no_candidate_follows_has_its_error_stated() {
    let points = [(0.1, 1.0), (0.5, 1.001), (0.9, 5.0), (0.99, 5.001)];
    let fit = fit(&points);
    let worst = points
        .iter()
        .map(|(p, t)| (fit.law.quantile(Level::below(*p).unwrap()) / t - 1.0).abs())
        .fold(0.0, f64::max);
    assert!(fit.error > 0.1);
    assert!((fit.error - worst).abs() < 1e-12);
}

#[test]
fn the_unit_of_time_shifts_the_law() {
    let seconds = [(0.5, 0.8), (0.95, 1.5), (0.99, 2.4)];
    let millis = seconds.map(|(p, t)| (p, t * 1e3));
    let (a, b) = (fit(&seconds), fit(&millis));
    for p in [0.01, 0.5, 0.999] {
        let level = Level::below(p).unwrap();
        assert!((a.law.quantile(level) * 1e3 / b.law.quantile(level) - 1.0).abs() < 1e-9);
    }
}

#[test]
fn percentiles_that_make_no_law_are_refused_with_value_and_bound() {
    let check = |percentiles: &[(f64, f64)], text: &str| {
        let error = Law::from_percentiles(percentiles).unwrap_err();
        assert_eq!(error.to_string(), text);
    };
    check(&[(0.5, 1.0)], "percentiles: got 1, expected 2 to 64 of them");
    check(&[(0.5, 1.0), (0.9, 1.0)], "percentiles must increase: p50 is 1 s but p90 is 1 s");
    check(&[(0.999, 1.0), (0.5, 2.0)], "percentiles must increase: p50 is 2 s but p99.9 is 1 s");
    check(&[(0.5, 1.0), (0.5, 2.0)], "percentiles must increase: p50 is 1 s but p50 is 2 s");
    check(&[(0.0, 1.0), (0.5, 2.0)], "percentile: got 0, expected between 0 and 1");
    check(&[(0.5, 1.0), (1.0, 2.0)], "percentile: got 1, expected between 0 and 1");
    check(&[(0.5, -1.0), (0.9, 2.0)], "time: got -1, expected 1e-12 to 1e12 seconds");
    check(&[(0.5, f64::NAN), (0.9, 2.0)], "time: got NaN, expected 1e-12 to 1e12 seconds");
    check(&[(f64::NAN, 1.0), (0.9, 2.0)], "percentile: got NaN, expected between 0 and 1");
    check(&[(0.5, 1.0), (0.9, f64::INFINITY)], "time: got inf, expected 1e-12 to 1e12 seconds");
    assert!(matches!(Law::from_percentiles(&[]), Err(LawError::Count { given: 0, .. })));
}
