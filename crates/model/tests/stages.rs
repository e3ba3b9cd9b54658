//! Stages against closed forms, quadrature and published simulations.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::{
    Figure, Group, GroupedPlan, Law, Level, Method, SolveError, Stage, StagedLaw, StagedPlan,
};
use proptest::prelude::*;

fn above(s: f64) -> Level {
    Level::above(s).unwrap()
}

fn exponential() -> Law {
    Law::exponential(1.0).unwrap()
}

fn log_normal(median: f64, sigma: f64) -> Law {
    Law::log_normal(median, sigma).unwrap()
}

fn branch(law: Law) -> Stage {
    Stage::branch(law)
}

/// `n` alike, one after another.
fn sequence(n: u64, law: Law) -> Stage {
    Stage::then(&[(n, branch(law))]).unwrap()
}

fn bounds(figure: Figure) -> (f64, f64) {
    match figure.method {
        Method::Bounded { lower, upper } => {
            assert!(lower <= figure.value && figure.value <= upper, "{figure:?}");
            (lower, upper)
        }
        _ => (figure.value, figure.value),
    }
}

fn width(figure: Figure) -> f64 {
    let (lower, upper) = bounds(figure);
    if lower == upper { 0.0 } else { (upper - lower) / upper }
}

#[track_caller]
fn holds(figure: Figure, exact: f64) {
    let (lower, upper) = bounds(figure);
    let rounding = 1e-12 * exact.abs();
    assert!(lower <= exact + rounding && exact <= upper + rounding, "{exact} is not in {figure:?}");
}

/// Every readout of a law whose exact form is another law's.
fn check(stage: &Stage, exact: &Law, widest: f64) -> StagedLaw {
    let law = stage.solve();
    for s in [0.5, 0.01, 0.001] {
        let quantile = law.quantile(above(s));
        assert!(width(quantile) <= widest, "{} at {s}: {quantile:?}", width(quantile));
    }
    for h in [1e-6, 0.001, 0.1, 0.7, 1.4, 3.0, 4.605, 7.0, 14.0, 20.0, 23.0, 35.0, 200.0] {
        let level = Level::at_hazard(h).unwrap();
        let t = exact.quantile(level);
        holds(law.quantile(level), t);
        holds(law.open(t), exact.survival(t));
        holds(law.ended(t), exact.cdf(t));
    }
    holds(law.mean(), exact.mean().unwrap());
    holds(law.sd(), exact.sd().unwrap());
    law
}

#[test]
fn a_sum_of_exponentials_is_where_the_gamma_law_is() {
    for (n, widest) in [(2, 1e-3), (5, 1e-3), (16, 1e-3), (1_000, 4e-3)] {
        let law = check(&sequence(n, exponential()), &Law::gamma(n as f64, 1.0).unwrap(), widest);
        assert!(width(law.mean()) == 0.0 && width(law.sd()) < 1e-15);
    }
    let parts = [0.3, 0.7, 1.9].map(|shape| (1, branch(Law::gamma(shape, 2.0).unwrap())));
    check(&Stage::then(&parts).unwrap(), &Law::gamma(2.9, 2.0).unwrap(), 1e-3);
}

/// `P(X + Y > t)`: both are later than t/2, or one of them is not and the other is later than what is left.
fn later(x: &Law, y: &Law, t: f64) -> f64 {
    x.survival(t / 2.0) * y.survival(t / 2.0) + one_early(x, y, t) + one_early(y, x, t)
}

/// `P(X <= t/2, X + Y > t)` by Simpson's rule in the logarithm of the hazard of X.
fn one_early(x: &Law, y: &Law, t: f64) -> f64 {
    const STEPS: i32 = 20_000;
    let (from, to) = (-40.0, x.hazard(t / 2.0).ln());
    if to <= from {
        return 0.0;
    }
    let width = (to - from) / f64::from(STEPS);
    let sum: f64 = (0..=STEPS)
        .map(|i| {
            let h = (from + f64::from(i) * width).exp();
            let weight = if i == 0 || i == STEPS { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
            weight * y.survival(t - x.quantile(Level::at_hazard(h).unwrap())) * h * (-h).exp()
        })
        .sum();
    sum * width / 3.0
}

#[test]
fn a_sum_of_two_different_laws_is_where_quadrature_has_it() {
    let check = |x: &Law, y: &Law, times: &[f64]| {
        let law = Stage::then(&[(1, branch(x.clone())), (1, branch(y.clone()))]).unwrap().solve();
        for &t in times {
            let exact = later(x, y, t);
            let (lower, upper) = bounds(law.open(t));
            assert!(
                lower < exact * 1.000_01 && exact < upper * 1.000_01,
                "{x} + {y} at {t}: {exact} {lower} {upper}"
            );
        }
        for s in [0.5, 0.01, 0.001] {
            assert!(width(law.quantile(above(s))) <= 1e-3, "{x} + {y}");
        }
    };
    check(&log_normal(1.0, 0.6), &Law::weibull(0.7, 0.5).unwrap(), &[0.3, 1.0, 2.0, 8.0, 20.0]);
    check(&log_normal(0.001, 0.3), &log_normal(10.0, 0.3).shifted(2.0).unwrap(), &[8.0, 12.0, 30.0]);
    check(&log_normal(1.0, 3.0), &log_normal(2.0, 3.0), &[0.1, 10.0, 1e4, 1e7]);
    check(&Law::pareto(1.0, 1.2).unwrap(), &Law::pareto(2.0, 1.2).unwrap(), &[3.5, 10.0, 1e3, 1e6]);
    check(&log_normal(1.0, 1e-6), &exponential(), &[1.5, 3.0, 9.0]);
}

/// The bands are simulated: 1.96 standard errors over eight seeds.
#[test]
fn the_sum_of_five_calls_is_what_was_simulated() {
    let body = log_normal(0.7953, 0.0896);
    let before = Law::mixture(&[(0.95, body), (0.05, Law::pareto(1.6364, 2.6552).unwrap())]).unwrap();
    let after = Law::from_percentiles(&[(0.5, 0.8), (0.95, 1.5), (0.99, 2.4)]).unwrap().law;
    let check = |law: Law, simulated: [(f64, f64, f64); 3], mean: f64| {
        let sum = sequence(5, law).solve();
        for (s, value, band) in simulated {
            let quantile = sum.quantile(above(s));
            let (lower, upper) = bounds(quantile);
            assert!(width(quantile) <= 1e-3, "{quantile:?}");
            assert!(
                lower <= value + 1.5 * band && value - 1.5 * band <= upper,
                "{s}: {value} is not near {quantile:?}"
            );
        }
        assert!((sum.mean().value - mean).abs() < 0.003);
    };
    check(before, [(0.5, 4.04974, 0.00028), (0.05, 6.42759, 0.0047), (0.01, 9.14378, 0.014)], 4.44887);
    check(after, [(0.5, 4.35552, 0.00071), (0.05, 6.06152, 0.0027), (0.01, 7.60383, 0.0082)], 4.55966);
}

#[test]
fn barriers_over_sums_are_where_they_are_over_gamma_laws() {
    let gamma = |shape: f64| Law::gamma(shape, 1.0).unwrap();
    let check = |stage: Stage, plan: GroupedPlan| {
        let (law, exact) = (stage.solve(), plan.solve().unwrap());
        for s in [0.999, 0.5, 0.01, 0.001, 1e-9] {
            let exact = exact.quantile(above(s)).value;
            holds(law.quantile(above(s)), exact);
            assert!(s > 0.5 || width(law.quantile(above(s))) <= 1.2e-3, "{s}");
        }
        holds(law.mean(), exact.mean().unwrap().value);
        holds(law.sd(), exact.sd().unwrap().value);
        assert!(width(law.mean()) < 1e-3 && width(law.sd()) < 0.02, "{:?} {:?}", law.mean(), law.sd());
    };
    let (pair, triple) = (sequence(2, exponential()), sequence(3, exponential()));
    check(Stage::all(&[(50, pair.clone())]).unwrap(), GroupedPlan::all(Group::new(50, gamma(2.0))));
    check(Stage::first(3, &[(8, pair.clone())]).unwrap(), GroupedPlan::first(3, Group::new(8, gamma(2.0))));
    let optional = |count, law| Group { required: false, ..Group::new(count, law) };
    let mixed = vec![optional(2, gamma(2.0)), optional(3, gamma(3.0)), optional(1, exponential())];
    for k in [1, 4, 6] {
        let parts = [(2, pair.clone()), (3, triple.clone()), (1, branch(exponential()))];
        let plan = GroupedPlan { groups: mixed.clone(), k, at_least: k, deadline: f64::INFINITY };
        check(Stage::first(k, &parts).unwrap(), plan);
    }
}

/// 1,024 items in batches, with as many workers as there are batches.
#[test]
fn batches_of_gamma_items_are_gamma_tasks() {
    for batch in [4, 16, 64] {
        let item = branch(Law::gamma(2.0, 0.5).unwrap());
        let stage = Stage::batches(&[(1_024, item)], batch, None).unwrap();
        let task = Law::gamma(2.0 * batch as f64, 0.5).unwrap();
        let exact = GroupedPlan::all(Group::new(1_024 / batch, task)).solve().unwrap();
        let law = stage.solve();
        for s in [0.5, 0.01, 0.001] {
            holds(law.quantile(above(s)), exact.quantile(above(s)).value);
            assert!(width(law.quantile(above(s))) <= 1.5e-3);
        }
    }
    // Ten in batches of four: two of four and one of two, each after its overhead.
    let (item, overhead) = (branch(exponential()), Stage::fixed(0.25).unwrap());
    let law = Stage::batches(&[(10, item)], 4, Some(&overhead)).unwrap().solve();
    let task = |items: f64| Law::gamma(items, 1.0).unwrap().shifted(0.25).unwrap();
    for t in [1.0, 4.0, 9.0] {
        holds(law.ended(t), task(4.0).cdf(t).powi(2) * task(2.0).cdf(t));
    }
}

#[test]
fn items_are_taken_in_order_whatever_their_counts() {
    let (slow, quick) = (branch(log_normal(2.0, 0.1)), branch(log_normal(1.0, 0.1)));
    let of = |parts: &[(u64, &Stage)]| {
        parts.iter().map(|(count, stage)| (*count, (*stage).clone())).collect::<Vec<_>>()
    };
    let items = of(&[(5, &slow), (1, &quick), (6, &quick)]);
    let task = |parts: &[(u64, &Stage)]| Stage::then(&of(parts)).unwrap();
    let expected =
        [(2, task(&[(2, &slow)])), (1, task(&[(1, &slow), (1, &quick)])), (3, task(&[(2, &quick)]))];
    assert_eq!(Stage::batches(&items, 2, None).unwrap(), Stage::all(&expected).unwrap());
    let whole = task(&[(5, &slow), (1, &quick), (6, &quick)]);
    assert_eq!(Stage::batches(&items, 20, None).unwrap(), Stage::all(&[(1, whole)]).unwrap());
}

/// A tree without overheads waits for all its leaves, and so does a single stage.
#[test]
fn nestings_that_change_nothing_are_taken_away() {
    let (call, other) = (branch(log_normal(1.0, 1.0)), branch(exponential()));
    let leaves = [(6, call.clone()), (2, other.clone())];
    let flat = Stage::all(&[(8, call.clone())]).unwrap();
    assert_eq!(Stage::tree(&[(8, call.clone())], 4, None).unwrap(), flat);
    assert_eq!(Stage::batches(&[(8, call.clone())], 1, None).unwrap(), flat);
    let exact = GroupedPlan::all(Group::new(8, log_normal(1.0, 1.0))).solve().unwrap().mean().unwrap();
    assert_eq!(flat.solve().mean(), exact);
    assert_eq!(Stage::tree(&leaves, 8, None).unwrap(), Stage::all(&leaves).unwrap());
    for one in [Stage::then(&[(1, call.clone())]), Stage::all(&[(1, call.clone())])] {
        assert_eq!(one.unwrap(), call);
    }
}

/// Without any overhead larger batches only make the slowest of them slower.
#[test]
fn batches_need_an_overhead_to_pay() {
    let items = [(1_024, branch(log_normal(1.0, 1.0)))];
    let mean = |batch: u64, overhead: Option<f64>| {
        let overhead = overhead.map(|seconds| Stage::fixed(seconds).unwrap());
        Stage::batches(&items, batch, overhead.as_ref()).unwrap().solve().mean()
    };
    let exact = GroupedPlan::all(Group::new(1_024, log_normal(1.0, 1.0))).solve().unwrap().mean().unwrap();
    holds(mean(1, None), exact.value);
    let means = [1, 4, 16].map(|batch| format!("{:.1}", mean(batch, None).value));
    assert_eq!(means, ["27.6", "33.5", "56.2"]);
    assert!((mean(4, Some(2.0)).value - mean(4, None).value - 2.0).abs() < 0.03);
}

#[test]
fn a_fixed_time_shifts_what_comes_after_it() {
    let stage = Stage::then(&[(1, Stage::fixed(0.65).unwrap()), (1, branch(log_normal(0.15, 1.0)))]).unwrap();
    check(&stage, &log_normal(0.15, 1.0).shifted(0.65).unwrap(), 1e-3);
    let law = sequence(3, log_normal(1.0, 1e-9)).solve();
    holds(law.quantile(Level::MEDIAN), 3.0);
}

#[test]
fn an_answer_that_never_comes_is_one_that_the_sum_never_has() {
    let cut = exponential().cut(1.5).unwrap();
    let law = sequence(2, cut.clone()).solve();
    let never = 1.0 - cut.cdf(1.5).powi(2);
    assert!((law.never() / never - 1.0).abs() < 1e-12);
    assert_eq!(law.quantile(above(0.9 * never)).value, f64::INFINITY);
    assert_eq!(law.mean().value, f64::INFINITY);
    holds(law.open(f64::INFINITY), never);
    // Both by then, whose sum is a density of two exponentials: t e^-t up to 1.5.
    holds(law.ended(1.5), 1.0 - 2.5 * (-1.5_f64).exp());
}

/// Calls of mean 1 one after another are the arrivals of a Poisson process.
#[test]
fn the_verdicts_of_a_sequence_are_counts_of_a_poisson_process() {
    let deadline = 4.0;
    let plan = StagedPlan {
        least: Some(sequence(3, exponential())),
        deadline,
        ..StagedPlan::new(sequence(5, exponential()))
    };
    let job = plan.solve();
    let verdicts = job.verdicts();
    let poisson = |n: i32| (-deadline).exp() * deadline.powi(n) / (1..=n).map(f64::from).product::<f64>();
    let fewer = |n: i32| (0..n).map(poisson).sum::<f64>();
    holds(verdicts.failed, fewer(3));
    holds(verdicts.partial, poisson(3) + poisson(4));
    holds(verdicts.complete, 1.0 - fewer(5));
    assert!(width(verdicts.failed) < 5e-3 && width(verdicts.complete) < 5e-3);
    assert_eq!(verdicts.never, 0.0);
    assert_eq!(job.quantile(above(0.5)), Figure { value: 4.0, method: Method::Exact });
    assert_eq!(job.complete_quantile(above(0.5)).value, f64::INFINITY);
    assert_eq!(job.waiting(4.0).value, 0.0);
    assert_eq!(job.returned(4.0).value, 1.0);
    // E min(T, D) of the gamma law, from ∫ P(fewer than 5 by t) dt.
    let mean: f64 = (1..=5).map(|n| 1.0 - fewer(n)).sum();
    holds(job.mean(), mean);
    assert!(width(job.mean()) < 1e-3 && width(job.sd()) < 0.01);
}

#[test]
fn nothing_at_least_is_never_too_late() {
    let least = Some(Stage::fixed(0.0).unwrap());
    let plan = StagedPlan { least, deadline: 1.0, ..StagedPlan::new(sequence(2, exponential())) };
    let verdicts = plan.solve().verdicts();
    assert_eq!(verdicts.failed, Figure { value: 0.0, method: Method::Exact });
    holds(verdicts.partial, 2.0 * (-1.0_f64).exp());
    let at_once = Stage::first(1, &[(1, Stage::fixed(0.0).unwrap()), (1, branch(exponential()))]).unwrap();
    assert_eq!(bounds(at_once.solve().quantile(above(0.01))), (0.0, 0.0));
}

#[test]
fn heavy_tails_are_bounded_at_every_level() {
    for law in [
        log_normal(1.0, 10.0),
        log_normal(1.0, 30.0),
        Law::pareto(1.0, 0.5).unwrap(),
        Law::log_logistic(1.0, 0.01).unwrap(),
    ] {
        let sum = sequence(4, law.clone()).solve();
        for s in [0.999, 0.5, 0.01, 1e-6, 1e-12, 1e-30] {
            let (lower, upper) = bounds(sum.quantile(above(s)));
            assert!(0.0 <= lower && lower <= upper, "{law} {s}: {lower} {upper}");
            // The slowest call is not later than the sum.
            let slowest =
                GroupedPlan::all(Group::new(4, law.clone())).solve().unwrap().quantile(above(s)).value;
            assert!(slowest <= upper * 1.000_001, "{law} {s}: {slowest} {upper}");
        }
    }
}

#[test]
fn far_tails_of_a_sum_are_within_a_hundredth_as_far_as_anyone_asks() {
    let (sum, exact) = (sequence(8, exponential()).solve(), Law::gamma(8.0, 1.0).unwrap());
    for level in [1e-12, 1e-20].map(|p| Level::below(p).unwrap()).into_iter().chain([1e-14, 1e-30].map(above))
    {
        holds(sum.quantile(level), exact.quantile(level));
        assert!(width(sum.quantile(level)) < 0.01, "{:?}", sum.quantile(level));
    }
    for t in [0.05, 0.2, 60.0, 80.0] {
        let (share, rest) = (sum.ended(t), sum.open(t));
        holds(share, exact.cdf(t));
        holds(rest, exact.survival(t));
        let (lower, upper) = bounds(if t < 1.0 { share } else { rest });
        assert!(upper < 2.0 * lower && upper < 1e-10, "{t}: {lower} {upper}");
    }
    // Further out they are as far apart as there are calls, and hold.
    for level in [Level::below(1e-80).unwrap(), above(1e-200)] {
        holds(sum.quantile(level), exact.quantile(level));
        let (lower, upper) = bounds(sum.quantile(level));
        assert!(upper <= 8.0 * lower * 1.000_001, "{lower} {upper}");
    }
}

#[test]
fn less_work_leaves_wider_bounds_that_hold() {
    let (exact, stage) = (Law::gamma(8.0, 1.0).unwrap(), sequence(8, exponential()));
    let (narrow, wide) = (stage.solve(), stage.solve_within(1e-3));
    let p99 = above(0.01);
    holds(wide.quantile(p99), exact.quantile(p99));
    assert!(width(narrow.quantile(p99)) < width(wide.quantile(p99)));
    assert!(width(wide.quantile(p99)) < 0.05, "{:?}", wide.quantile(p99));
}

#[test]
fn stages_in_which_nothing_follows_anything_are_exact() {
    let call = || branch(log_normal(1.0, 0.6));
    let all = |n: u64| GroupedPlan::all(Group::new(n, log_normal(1.0, 0.6)));
    for (stage, n) in [
        (sequence(1, log_normal(1.0, 0.6)), 1),
        (Stage::batches(&[(8, call())], 1, None).unwrap(), 8),
        (Stage::tree(&[(8, call())], 8, None).unwrap(), 8),
        (Stage::tree(&[(8, call())], 2, None).unwrap(), 8),
    ] {
        let exact = all(n).solve().unwrap();
        let law = stage.solve();
        for s in [1.0 - 1e-12, 0.5, 0.01, 1e-100] {
            assert_eq!(law.quantile(above(s)), exact.quantile(above(s)));
        }
        assert_eq!(law.mean(), exact.mean().unwrap());
        let cut = StagedPlan { deadline: 3.0, ..StagedPlan::new(stage) }.solve();
        let exact = GroupedPlan { deadline: 3.0, ..all(n) }.solve().unwrap();
        assert_eq!(cut.verdicts().complete.method, Method::Exact);
        assert!((cut.verdicts().complete.value - exact.verdicts().complete).abs() < 1e-15);
        assert!((cut.mean().value / exact.mean().unwrap().value - 1.0).abs() < 1e-12);
        assert!((cut.sd().value / exact.sd().unwrap().value - 1.0).abs() < 1e-9);
    }
}

#[test]
fn what_makes_no_stage_is_refused_with_its_bound() {
    let call = || branch(exponential());
    let text = |result: Result<Stage, SolveError>| result.unwrap_err().to_string();
    assert_eq!(text(Stage::then(&[])), "stages: got 0, expected at least one");
    assert_eq!(text(Stage::all(&[(0, call())])), "count: got 0, expected at least 1");
    assert_eq!(text(Stage::first(4, &[(3, call())])), "k: got 4, expected 1 to the number of stages, 3");
    assert_eq!(text(Stage::first(0, &[(3, call())])), "k: got 0, expected 1 to the number of stages, 3");
    assert_eq!(text(Stage::fixed(f64::NAN)), "time: got NaN, expected 0 to 1e15 seconds");
    assert_eq!(text(Stage::batches(&[(8, call())], 0, None)), "size: got 0, expected at least 1");
    assert_eq!(text(Stage::batches(&[(0, call())], 3, None)), "count: got 0, expected at least 1");
    assert_eq!(text(Stage::tree(&[], 3, None)), "stages: got 0, expected at least one");
    let calls = "calls one after another: got 1000001, expected at most 1000000";
    assert_eq!(text(Stage::then(&[(1_000_001, call())])), calls);
    assert!(Stage::all(&[(u64::MAX, call()), (u64::MAX, call())]).is_err());
    let different: Vec<_> = (1..=200).map(|i| (1, branch(log_normal(f64::from(i), 1.0)))).collect();
    assert!(matches!(Stage::first(50, &different), Err(SolveError::TooLong { .. })));
    assert!(matches!(Stage::first(5, &[(1 << 39, call())]), Err(SolveError::TooLong { .. })));
    let deep = (0..100).try_fold(call(), |stage, _| Stage::then(&[(1, stage), (1, call())]));
    assert_eq!(text(deep), "stages within stages: got 65, expected at most 64");
}

fn laws() -> impl Strategy<Value = Law> {
    prop_oneof![
        (1e-3..1e3, 0.01..4.0).prop_map(|(median, sigma)| log_normal(median, sigma)),
        (0.3..5.0, 1e-3..10.0).prop_map(|(shape, scale)| Law::weibull(shape, scale).unwrap()),
        (1e-3..1.0, 0.7..5.0).prop_map(|(xm, alpha)| Law::pareto(xm, alpha).unwrap()),
        (1e-2..1.0, 0.0..3.0).prop_map(|(mean, at)| Law::exponential(mean).unwrap().cut(at).unwrap()),
    ]
}

fn stages() -> impl Strategy<Value = Stage> {
    let leaf = prop_oneof![
        4 => laws().prop_map(branch),
        1 => (0.0..2.0).prop_map(|seconds| Stage::fixed(seconds).unwrap()),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        let parts = prop::collection::vec((1_u64..4, inner), 1..3);
        (parts, 0..3, 1_u64..4).prop_map(|(parts, kind, k)| match kind {
            0 => Stage::then(&parts).unwrap(),
            1 => Stage::all(&parts).unwrap(),
            _ => Stage::first(k.min(parts.iter().map(|(count, _)| count).sum()), &parts).unwrap(),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// Bounds stay in order, no figure is NaN, and what is in front of a stage only makes it later.
    #[test]
    fn bounds_are_in_order_whatever_the_stages(stage in stages(), first in laws()) {
        let law = stage.solve();
        let after = Stage::then(&[(1, branch(first)), (1, stage)]).unwrap().solve();
        let mut before = (0.0, 0.0);
        for h in [0.0, 1e-9, 0.01, 0.7, 2.0, 5.0, 12.0, 40.0, 800.0] {
            let level = Level::at_hazard(h).unwrap();
            let (lower, upper) = bounds(law.quantile(level));
            let rounded = 1.0 + 1e-11;
            let rises = lower * rounded >= before.0 && upper * rounded >= before.1;
            prop_assert!(rises, "{} {} {:?}", lower, upper, before);
            let later = bounds(after.quantile(level)).1;
            prop_assert!(later * rounded >= lower, "at {}: {} {}", h, later, lower);
            before = (lower, upper);
            let (least, most) = bounds(law.open(lower));
            prop_assert!(0.0 <= least && least <= most && most <= 1.0);
        }
        for figure in [law.mean(), law.sd(), after.mean(), after.sd()] {
            let (lower, upper) = bounds(figure);
            prop_assert!(0.0 <= lower && lower <= upper, "{:?}", figure);
        }
    }
}
