//! Laws in their tails and at their ends, and what constructors refuse.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::{Law, LawError, Level};

fn close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-12, "got {found}, expected {expected}");
}

#[test]
fn far_tails_keep_their_digits() {
    // A log-normal of sigma 0.149 at 6.68: a survival that `1 - cdf` would round to 0.
    close(Law::log_normal(1.0, 0.149).unwrap().survival(6.68), 1.645_872_066_715_079_8e-37);
    let law = Law::log_normal(1.0, 0.6).unwrap();
    // Survivals from one half down to 1e-300, and both ways.
    for exponent in 1..=300 {
        let s = 10_f64.powi(-exponent);
        let t = law.quantile(Level::above(s).unwrap());
        assert!((law.ln_survival(t) / s.ln() - 1.0).abs() < 1e-14, "{s}");
        let t = law.quantile(Level::below(s).unwrap());
        assert!((law.ln_cdf(t) / s.ln() - 1.0).abs() < 1e-14, "{s}");
    }
    // Beyond the smallest float the logarithm still has its digits.
    let t = law.quantile(Level::at_hazard(1e5).unwrap());
    close(law.ln_survival(t), -1e5);
}

#[test]
fn a_gamma_has_the_values_that_others_got_wrong() {
    close(Law::gamma(0.5, 1.0).unwrap().quantile(Level::below(0.01).unwrap()), 7.854_392_895_485_092e-5);
    let quarter = Law::gamma(0.18, 1.0 / 0.18).unwrap().quantile(Level::below(0.25).unwrap());
    assert!((quarter / 1.616_719_801_94e-3 - 1.0).abs() < 1e-11, "{quarter}");
}

#[test]
fn a_gamma_of_a_whole_shape_is_a_sum_of_exponentials() {
    // S = e^-x Σ x^i / i!, by positive terms; F by the rest of the same sum.
    for shape in [1, 2, 5, 15, 16, 17, 60, 150] {
        let law = Law::gamma(f64::from(shape), 1.0).unwrap();
        for x in [1e-3, 0.3, 0.9, 1.1, 4.0, 15.0, 16.5, 40.0, 61.0, 140.0, 160.0, 400.0] {
            let term = |i: i32| (-x + f64::from(i) * f64::ln(x) - libm::lgamma(f64::from(i) + 1.0)).exp();
            let (above, below): (f64, f64) =
                ((0..shape).map(term).sum(), (shape..shape + 1_000).map(term).sum());
            for (found, expected) in [(law.survival(x), above), (law.cdf(x), below)] {
                assert!((found - expected).abs() <= 1e-12 * expected, "{shape} {x}: {found} {expected}");
            }
        }
    }
}

#[test]
fn a_restart_begins_anew() {
    // An exponential has no age.
    let law = Law::exponential(0.5).unwrap();
    for t in [0.1, 1.0, 1.3, 7.0] {
        close(law.restarted(1.0).unwrap().survival(t), law.survival(t));
    }
    // A second chance for an answer that would not come.
    let once = law.cut(1.0).unwrap();
    close(once.restarted(2.0).unwrap().never(), once.never() * once.never());
    assert_eq!(once.restarted(2.0).unwrap().hazard(1.5), once.hazard(1.0));
    // The wait for a start is spent again.
    let late = Law::pareto(1.0, 2.0).unwrap().restarted(3.0).unwrap();
    close(late.survival(3.5), 1.0 / 9.0);
    close(late.survival(5.0), 1.0 / 36.0);
    close(late.quantile(late.level(3.0)), 3.0);
}

#[test]
fn a_law_has_ends() {
    let shifted = Law::exponential(2.0).unwrap().shifted(0.5).unwrap();
    assert_eq!(shifted.quantile(Level::below(0.0).unwrap()), 0.5);
    assert_eq!(shifted.quantile(Level::above(0.0).unwrap()), f64::INFINITY);
    assert_eq!((shifted.cdf(0.4), shifted.survival(0.4), shifted.pdf(0.4)), (0.0, 1.0, 0.0));
    assert_eq!(
        (shifted.cdf(-1.0), shifted.survival(f64::INFINITY), shifted.pdf(f64::INFINITY)),
        (0.0, 0.0, 0.0)
    );
    assert_eq!(shifted.ln_cdf(0.0), f64::NEG_INFINITY);
    assert_eq!(shifted.sample(0.0), 0.5);
    close(shifted.sample(0.5), 0.5 + 2.0 * 2_f64.ln());
}

#[test]
fn a_deadline_leaves_mass_at_infinity() {
    let law = Law::exponential(1.0).unwrap().cut(2.0).unwrap();
    close(law.never(), (-2.0_f64).exp());
    close(law.cdf(2.0), 1.0 - (-2.0_f64).exp());
    assert_eq!(law.cdf(2.0), law.cdf(1e9));
    assert_eq!(law.quantile(Level::above(0.1).unwrap()), f64::INFINITY);
    assert_eq!(law.mean().unwrap(), f64::INFINITY);
    // A copy may still answer where the primary no longer can.
    let hedged = law.hedged(&[5.0]).unwrap();
    close(hedged.never(), (-4.0_f64).exp());
    close(hedged.quantile(Level::at_hazard(2.5).unwrap()), 5.5);
}

#[test]
fn moments_agree_with_closed_forms() {
    for shape in [0.3, 0.7, 1.0, 2.0, 7.9, 8.1, 300.0] {
        let law = Law::weibull(shape, 2.0).unwrap();
        close(law.mean().unwrap(), 2.0 * libm::tgamma(1.0 + 1.0 / shape));
    }
    // A race of two Paretos is a Pareto of twice the index, of two exponentials an exponential of twice the rate.
    for alpha in [0.6, 0.501, 1.3, 40.0] {
        let race = Law::pareto(1.5, alpha).unwrap().race(2).unwrap();
        let one = Law::pareto(1.5, 2.0 * alpha).unwrap();
        assert!((race.mean().unwrap() / one.mean().unwrap() - 1.0).abs() < 1e-10, "{alpha}");
        let (a, b) = (race.sd().unwrap(), one.sd().unwrap());
        assert!(a == b || (a / b - 1.0).abs() < 1e-10, "{alpha}: {a} {b}");
    }
    close(Law::exponential(3.0).unwrap().race(3).unwrap().sd().unwrap(), 1.0);
    // A narrow law keeps the digits of its spread, alone and among others.
    let narrow = Law::log_normal(1.0, 1e-5).unwrap();
    let wide = Law::mixture(&[(0.5, narrow.clone()), (0.5, narrow.shifted(10.0).unwrap())]).unwrap();
    close(wide.sd().unwrap(), (25.0_f64 + 1e-10).sqrt());
    assert!((narrow.race(1).unwrap().hedged(&[0.0]).unwrap().sd().unwrap() / 8.256e-6 - 1.0).abs() < 1e-4);
    // Infinite where the tail allows no more.
    assert_eq!(Law::pareto(1.0, 1.0).unwrap().mean().unwrap(), f64::INFINITY);
    assert_eq!(Law::log_logistic(1.0, 1.5).unwrap().sd().unwrap(), f64::INFINITY);
    assert!(Law::log_logistic(1.0, 1.5).unwrap().mean().unwrap().is_finite());
}

#[test]
fn a_density_is_the_slope_of_the_cdf() {
    let step = 1e-6;
    let base = Law::log_normal(0.8, 0.5).unwrap();
    let laws = [
        base.clone(),
        base.hedged(&[0.7, 0.9]).unwrap(),
        base.race(3).unwrap().shifted(0.2).unwrap(),
        Law::mixture(&[(0.9, base.clone()), (0.1, Law::pareto(0.5, 2.0).unwrap())]).unwrap(),
        Law::weibull(0.7, 1.0).unwrap(),
        Law::gamma(0.4, 1.0).unwrap(),
        Law::gamma(20.0, 0.05).unwrap(),
        base.restarted(0.9).unwrap(),
        base.hedged_sometimes(0.9, 0.3).unwrap(),
        Law::log_logistic(1.0, 3.0).unwrap(),
        Law::exponential(1.0).unwrap().cut(2.0).unwrap(),
    ];
    for law in laws {
        for t in [0.3, 0.65, 0.8, 1.1, 1.7] {
            let slope = (law.cdf(t + step) - law.cdf(t - step)) / (2.0 * step);
            assert!(
                (law.pdf(t) - slope).abs() < 1e-8 * (1.0 + slope),
                "{law} at {t}: {} {slope}",
                law.pdf(t)
            );
        }
    }
}

#[test]
fn a_law_prints_its_short_form() {
    let check = |law: Result<Law, LawError>, text: &str| assert_eq!(law.unwrap().to_string(), text);
    check(Law::log_normal(0.8, 0.6), "lognormal:median=0.8s,sigma=0.6");
    check(Law::exponential(0.25), "exponential:mean=0.25s");
    check(Law::weibull(0.7, 1.0), "weibull:shape=0.7,scale=1s");
    check(Law::gamma(2.0, 0.5), "gamma:shape=2,scale=0.5s");
    check(Law::log_logistic(1.0, 3.0), "loglogistic:alpha=1s,beta=3");
    check(Law::pareto(1.6, 2.5).unwrap().shifted(0.2), "pareto:xm=1.6s,alpha=2.5,shift=0.2s");
    let parts = [(0.95, Law::log_normal(0.8, 0.1).unwrap()), (0.05, Law::pareto(1.6, 2.5).unwrap())];
    check(Law::mixture(&parts), "0.95*lognormal:median=0.8s,sigma=0.1|0.05*pareto:xm=1.6s,alpha=2.5");
}

#[test]
fn parameters_out_of_range_are_refused_with_value_and_bound() {
    let check = |law: Result<Law, LawError>, text: &str| assert_eq!(law.unwrap_err().to_string(), text);
    let law = Law::exponential(1.0).unwrap();
    check(Law::exponential(0.0), "mean: got 0, expected 1e-15 to 1e15 seconds");
    check(Law::exponential(f64::NAN), "mean: got NaN, expected 1e-15 to 1e15 seconds");
    check(Law::log_normal(-1.0, 0.6), "median: got -1, expected 1e-15 to 1e15 seconds");
    check(Law::log_normal(1.0, 31.0), "sigma: got 31, expected 1e-9 to 30");
    check(Law::weibull(0.0, 1.0), "shape: got 0, expected 0.01 to 1e6");
    check(Law::gamma(1e7, 1.0), "shape: got 10000000, expected 0.01 to 1e6");
    check(Law::gamma(2.0, 0.0), "scale: got 0, expected 1e-15 to 1e15 seconds");
    check(law.restarted(-1.0), "after: got -1, expected 0 or more seconds");
    check(law.hedged_sometimes(1.0, 1.5), "probability: got 1.5, expected from 0 to 1");
    check(Law::log_logistic(1.0, f64::INFINITY), "beta: got inf, expected 0.01 to 1e6");
    check(Law::pareto(1.0, -2.0), "alpha: got -2, expected 0.01 to 1e6");
    check(law.shifted(-0.1), "shift: got -0.1, expected 0 to 1e15 seconds");
    check(law.race(0), "r: got 0, expected 1 to 1000 attempts");
    check(law.hedged(&[0.1, f64::NAN]), "delay: got NaN, expected 0 or more seconds");
    check(law.cut(-1.0), "deadline: got -1, expected 0 or more seconds");
    check(Law::mixture(&[]), "mixture: got 0, expected 1 to 64 parts");
    check(Law::mixture(&[(0.0, law)]), "weight: got 0, expected above 0 and at most 1e15");
    assert_eq!(Level::below(1.5).unwrap_err().to_string(), "p: got 1.5, expected from 0 to 1");
    assert_eq!(Level::above(-0.5).unwrap_err().to_string(), "s: got -0.5, expected from 0 to 1");
    assert_eq!(Level::at_hazard(-1.0).unwrap_err().to_string(), "h: got -1, expected 0 or more");
}
