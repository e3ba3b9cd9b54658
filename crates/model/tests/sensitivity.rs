//! What a change of the world makes of a figure, against closed forms of log-normal jobs.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::special::{branch_hazard, normal_quantile};
use fantail_model::{Change, Dependence, Effect, Group, GroupedPlan, Law, Level, Sensitivity, SolveError};

fn p99() -> Level {
    Level::above(0.01).unwrap()
}

fn of(plan: &GroupedPlan, changes: &[Change]) -> Result<Sensitivity, SolveError> {
    plan.sensitivity(Dependence::NONE, changes, |plan, _| Ok(plan.solve()?.quantile(p99()).value))
}

fn all(n: u64, sigma: f64) -> GroupedPlan {
    GroupedPlan::all(Group::new(n, Law::log_normal(2.0, sigma).unwrap()))
}

#[track_caller]
fn close(a: f64, b: f64, within: f64) {
    assert!((a / b - 1.0).abs() <= within, "{a} {b}: off by {:.1e}", (a / b - 1.0).abs());
}

/// By these the logarithm of the p99 of all of n goes up when sigma goes up by 1: its standard normal value.
fn z(n: u64) -> f64 {
    normal_quantile(branch_hazard(p99().hazard(), n, n))
}

#[test]
fn sigma_moves_a_log_normal_job_by_its_value_and_the_median_by_itself() {
    for n in [1, 8, 1_000, 1_000_000] {
        let changes = [
            Change::PlusSigma(-0.1),
            Change::PlusSigma(1e-3),
            Change::TimesSigma(1.1),
            Change::TimesMedian(0.9),
            Change::TimesBranches(0.5),
        ];
        let found = of(&all(n, 0.6), &changes).unwrap();
        let half = (0.6 * (z(n.div_ceil(2)) - z(n))).exp();
        let expected = [(-0.1 * z(n)).exp(), (1e-3 * z(n)).exp(), (0.06 * z(n)).exp(), 0.9, half];
        let all_effects = if n == 1 { 4 } else { 5 };
        assert_eq!(found.effects.len(), all_effects, "half of one branch is no change");
        for (effect, expected) in found.effects.iter().zip(expected) {
            close(effect.value / found.base, expected, 1e-12);
            close(1.0 + effect.relative.unwrap(), expected, 1e-12);
        }
    }
}

#[test]
fn a_law_spreads_about_its_median_whatever_it_is() {
    let laws = [
        Law::exponential(0.3).unwrap(),
        Law::weibull(0.5, 2.0).unwrap(),
        Law::gamma(2.0, 0.5).unwrap(),
        Law::pareto(1.0, 1.5).unwrap(),
        Law::log_normal(1.0, 0.4).unwrap().shifted(0.5).unwrap(),
        Law::log_normal(1.0, 0.4).unwrap().hedged(&[1.5]).unwrap(),
    ];
    for law in laws {
        let spread = law.spread(1.25).unwrap();
        let median = law.quantile(Level::MEDIAN);
        close(spread.quantile(Level::MEDIAN), median, 1e-14);
        close(spread.sigma(), 1.25 * law.sigma(), 1e-12);
        for s in [1.0 - 1e-9, 0.9, 0.3, 1e-3, 1e-12] {
            let level = Level::above(s).unwrap();
            close(spread.quantile(level), median * (law.quantile(level) / median).powf(1.25), 1e-12);
            close(spread.survival(spread.quantile(level)), s, 1e-12);
            close(law.scaled(3.0).unwrap().quantile(level), 3.0 * law.quantile(level), 1e-14);
        }
        // The density is the slope of the cdf.
        for wide in [spread.clone(), law.spread(0.8).unwrap(), law.scaled(0.7).unwrap()] {
            let t = wide.quantile(Level::above(0.3).unwrap());
            let h = 1e-4 * t;
            close(wide.pdf(t), (wide.cdf(t + h) - wide.cdf(t - h)) / (2.0 * h), 1e-6);
        }
        let scaled = law.scaled(3.0).unwrap();
        close(scaled.mean().unwrap(), 3.0 * law.mean().unwrap(), 1e-10);
        close(scaled.sigma(), law.sigma(), 1e-14);
    }
    // Powers of these families are of the family.
    let level = Level::above(1e-6).unwrap();
    close(
        Law::exponential(1.0).unwrap().spread(2.0).unwrap().mean().unwrap(),
        Law::weibull(0.5, std::f64::consts::LN_2.recip()).unwrap().mean().unwrap(),
        1e-10,
    );
    let pareto = Law::pareto(1.0, 3.0).unwrap().spread(2.0).unwrap();
    close(pareto.quantile(level) / pareto.quantile(Level::MEDIAN), (1e-6_f64 / 0.5).powf(-2.0 / 3.0), 1e-12);
    assert!(pareto.mean().unwrap().is_finite() && pareto.sd().unwrap().is_infinite());
    assert_eq!(Law::log_normal(1.0, 0.7).unwrap().sigma(), 0.7);
    assert_eq!(Law::log_normal(1.0, 0.7).unwrap().cut(2.0).unwrap().sigma(), f64::INFINITY);
}

#[test]
fn half_of_the_branches_asks_half_of_the_answers() {
    let call = || Law::log_normal(1.0, 0.6).unwrap();
    let half = |plan: &GroupedPlan| {
        Change::TimesBranches(0.5).apply(plan, Dependence::NONE).unwrap().map(|(plan, _)| plan)
    };
    assert_eq!(half(&GroupedPlan::first(60, Group::new(64, call()))).unwrap().k, 30);
    let odd = half(&GroupedPlan::first(5, Group::new(7, call()))).unwrap();
    assert_eq!((odd.n(), odd.k, odd.at_least), (4, 3, 3));
    let differ = GroupedPlan {
        groups: vec![Group::new(1, call()), Group { required: false, ..Group::new(1, call()) }],
        k: 2,
        at_least: 1,
        deadline: 3.0,
    };
    assert!(half(&differ).is_none());
    let large = Change::TimesBranches(1e6).apply(&differ, Dependence::NONE).unwrap().unwrap().0;
    assert_eq!((large.n(), large.k, large.at_least), (2_000_000, 2_000_000, 1_000_000));
}

#[test]
fn a_job_share_leaves_the_branch_its_part_of_the_rest() {
    let shares = Dependence::new(0.2, 0.4).unwrap();
    let (_, changed) = Change::JobShare(0.6).apply(&all(2, 0.6), shares).unwrap().unwrap();
    assert_eq!(changed.job(), 0.6);
    close(changed.branch(), 0.2, 1e-15);
    let plan = all(100, 0.6);
    let found = plan
        .sensitivity(Dependence::NONE, &Change::DOUBTS, |plan, shares| {
            Ok(plan.solve_dependent(shares)?.quantile(p99())?.value)
        })
        .unwrap();
    let [less, more, shared] = [0, 1, 2].map(|i: usize| found.effects[i].value);
    assert!(less < found.base && found.base < more && shared < found.base, "{found:?}");
}

#[test]
fn changes_that_cannot_be_made_are_left_out_and_wrong_ones_are_refused() {
    assert!(of(&all(8, 0.05), &[Change::PlusSigma(-0.1)]).unwrap().effects.is_empty());
    assert!(of(&all(8, 0.05), &[Change::TimesSigma(1.0), Change::JobShare(0.0)]).unwrap().effects.is_empty());
    for wrong in [
        Change::PlusSigma(f64::NAN),
        Change::PlusSigma(f64::INFINITY),
        Change::TimesSigma(0.0),
        Change::TimesMedian(-1.0),
        Change::TimesBranches(f64::NAN),
        Change::JobShare(1.1),
        Change::JobShare(f64::NAN),
    ] {
        assert!(of(&all(8, 0.6), &[wrong]).is_err(), "{wrong}");
    }
    // From nothing there is no share.
    let none = all(8, 0.6).sensitivity(Dependence::NONE, &Change::LEVERS, |_, _| Ok(0.0)).unwrap();
    assert!(none.effects.iter().all(|Effect { relative, .. }| relative.is_none()));
}
