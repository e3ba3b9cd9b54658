//! Jobs whose branches are slow together: against other routes, at the ends, and at any shares.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::special::{branch_hazard, normal_quantile};
use fantail_model::{
    Cancellation, Dependence, DependentJob, Group, GroupedPlan, Law, Level, Method, Regimes, SolveError,
};
use proptest::prelude::*;
use proptest::sample::select;

fn call() -> Law {
    Law::log_normal(1.0, 0.6).unwrap()
}

fn above(s: f64) -> Level {
    Level::above(s).unwrap()
}

fn shares(job: f64, branch: f64) -> Dependence {
    Dependence::new(job, branch).unwrap()
}

fn hedged(n: u64, delays: &[f64]) -> GroupedPlan {
    GroupedPlan::all(Group { delays: delays.to_vec(), ..Group::new(n, call()) })
}

fn dependent(plan: &GroupedPlan, job: f64, branch: f64) -> DependentJob {
    plan.solve_dependent(shares(job, branch)).unwrap()
}

fn quantile(plan: &GroupedPlan, job: f64, branch: f64, s: f64) -> f64 {
    dependent(plan, job, branch).quantile(above(s)).unwrap().value
}

#[track_caller]
fn close(a: f64, b: f64, within: f64) {
    assert!((a / b - 1.0).abs() <= within || a == b, "{a} {b}: off by {:.1e}", (a / b - 1.0).abs());
}

const LEVELS: [f64; 8] = [1.0 - 1e-9, 0.9, 0.5, 0.1, 0.01, 1e-4, 1e-9, 1e-30];

#[test]
fn marginals_do_not_move_with_the_shares() {
    let (law, plan) = (call(), hedged(1, &[]));
    for (job, branch) in
        [(0.0, 0.0), (0.3, 0.0), (0.2, 0.5), (0.999_999, 0.0), (1.0, 0.0), (1e-9, 1.0 - 1e-9)]
    {
        let one = dependent(&plan, job, branch);
        for s in LEVELS {
            close(one.quantile(above(s)).unwrap().value, law.quantile(above(s)), 4e-12);
        }
        close(one.mean().unwrap().value, law.mean().unwrap(), 1e-10);
        close(one.waiting(8.0).unwrap(), law.survival(8.0), 1e-12);
        close(one.returned(0.1).unwrap(), law.cdf(0.1), 1e-12);
    }
}

#[test]
fn a_hedge_buys_nothing_at_luck_0() {
    for (job, branch) in [(1.0, 0.0), (0.0, 1.0), (0.3, 0.7)] {
        for n in [1, 8, 1_000] {
            for s in LEVELS {
                let plain = quantile(&hedged(n, &[]), job, branch, s);
                assert_eq!(quantile(&hedged(n, &[0.0, 1.2]), job, branch, s), plain);
            }
        }
    }
    // And little just above: the step of an attempt's answer over B is a thousandth of B wide.
    let plain = quantile(&hedged(8, &[]), 0.3, 0.7 - 1e-6, 0.01);
    let raced = quantile(&hedged(8, &[0.0]), 0.3, 0.7 - 1e-6, 0.01);
    assert!(raced < plain && raced > plain * (1.0 - 1e-3), "{raced} {plain}");
}

#[test]
fn without_shares_it_is_the_independent_job() {
    for delays in [&[][..], &[0.0], &[1.5], &[1.5, 1.5, 4.0]] {
        for n in [1, 8, 1_000, 1_000_000] {
            let plan = hedged(n, delays);
            let (alone, none) = (plan.solve().unwrap(), dependent(&plan, 0.0, 0.0));
            for s in LEVELS {
                let expected = alone.quantile(above(s)).value;
                close(none.quantile(above(s)).unwrap().value, expected, 4e-12);
                // Through both integrals, with shares that move nothing.
                let hardly = quantile(&plan, 1e-16, 1e-16, s);
                close(hardly, expected, 1e-6);
            }
            close(none.mean().unwrap().value, alone.mean().unwrap().value, 1e-10);
        }
    }
}

#[test]
fn attempts_of_one_branch_make_a_job_that_shares_what_they_share() {
    // A race of r in one branch and the first of r branches are one thing when what is shared adds up.
    for (job, branch) in [(0.0, 0.3), (0.2, 0.1), (0.5, 0.45), (0.0, 0.999), (0.1, 0.899_999)] {
        for r in [2_u64, 3, 9] {
            let race = hedged(1, &vec![0.0; r as usize - 1]);
            let first = GroupedPlan::first(1, Group::new(r, call()));
            for s in LEVELS {
                close(quantile(&race, job, branch, s), quantile(&first, job + branch, 0.0, s), 2e-12);
            }
        }
    }
}

#[test]
fn first_k_of_two_by_the_rule_of_both_and_either() {
    // P(first) + P(last) = 2 P(one).
    for rho in [0.1, 0.7, 0.99] {
        let both = dependent(&hedged(2, &[]), rho, 0.0);
        let either = dependent(&GroupedPlan::first(1, Group::new(2, call())), rho, 0.0);
        for t in [0.2, 0.8, 2.0, 9.0, 60.0] {
            let waiting = |job: &DependentJob| job.waiting(t).unwrap();
            let returned = |job: &DependentJob| job.returned(t).unwrap();
            close(waiting(&both) + waiting(&either), 2.0 * call().survival(t), 1e-12);
            close(returned(&both) + returned(&either), 2.0 * call().cdf(t), 1e-12);
        }
    }
}

#[test]
fn all_order_statistics_together_are_the_branches_however_much_is_shared() {
    // Of n branches, the first to the last wait as many times as each of them does.
    let law = call();
    for rho in [0.2, 0.95, 0.999, 1.0 - 1e-6, 1.0 - 1e-12] {
        for n in [2, 12] {
            let jobs: Vec<_> =
                (1..=n).map(|k| dependent(&GroupedPlan::first(k, Group::new(n, call())), rho, 0.0)).collect();
            for s in [0.3, 1e-8, 1e-30, 1e-120] {
                let t = law.quantile(above(s));
                let sum: f64 = jobs.iter().map(|job| job.waiting(t).unwrap()).sum();
                close(sum, n as f64 * law.survival(t), 2e-12);
            }
        }
    }
}

#[test]
fn what_one_branch_alone_decides_is_that_of_its_own_law() {
    let shares = shares(0.2, 0.3);
    let plan = hedged(6, &[1.5]);
    let job = plan.solve_dependent(shares).unwrap();
    // P(open) of one branch over J, of two attempts from 1.5 s on; Simpson's rule over time.
    let one = dependent(&hedged(1, &[1.5]), 0.2, 0.3);
    let open = |t: f64| one.waiting(t).unwrap();
    let step = 0.05;
    let term = |i: u32| {
        let (from, to) = (f64::from(i) * step, f64::from(i + 1) * step);
        let running = if i < 30 { 1.0 } else { 2.0 };
        running * step * (open(from) + 4.0 * open(0.5 * (from + to)) + open(to)) / 6.0
    };
    let busy: f64 = (0..400).map(term).sum();
    let prices = job.prices(Cancellation::AtOnce).unwrap();
    close(prices.busy, 6.0 * busy, 1e-5);
    close(prices.copies, 6.0 * open(1.5), 1e-9);
    close(job.extra_requests().unwrap(), open(1.5), 1e-9);
}

#[test]
fn jobs_of_different_branches_send_a_copy_unless_all_answer_before() {
    let groups: Vec<Group> = (1..=20_u32)
        .map(|i| {
            let law = Law::log_normal(1.0, 0.1 * f64::from(i)).unwrap();
            Group { delays: vec![1.0 + 0.2 * f64::from(i)], ..Group::new(u64::from(i % 3 + 1), law) }
        })
        .collect();
    let none: f64 =
        groups.iter().map(|group| group.law.cdf(group.delays[0]).powi(group.count as i32)).product();
    let n = groups.iter().map(|group| group.count).sum();
    let plan = GroupedPlan { groups, k: n, at_least: n, deadline: f64::INFINITY };
    close(plan.solve().unwrap().sends_copy(), 1.0 - none, 1e-12);
    // A deadline after the last of them changes nothing, by another way.
    let mut cut = plan.clone();
    cut.groups[0].deadline = 4.99;
    close(cut.solve().unwrap().sends_copy(), 1.0 - none, 0.05);
    let late = GroupedPlan { deadline: 50.0, ..plan }.solve().unwrap();
    close(late.sends_copy(), 1.0 - none, 1e-12);
}

#[test]
fn races_of_sixteen_have_every_figure() {
    let race = dependent(&hedged(8, &[0.0; 16]), 0.2, 0.3);
    let prices = race.prices(Cancellation::AtOnce).unwrap();
    close(prices.extra_requests, 16.0, 1e-12);
    // One branch of 17 attempts is the first of 17 that share what both shares are; all of it runs until then.
    let first = dependent(&GroupedPlan::first(1, Group::new(17, call())), 0.5, 0.0);
    close(prices.busy, 8.0 * 17.0 * first.mean().unwrap().value, 1e-9);
    assert!(race.mean().unwrap().value > first.mean().unwrap().value);
}

#[test]
fn a_mean_that_counts_times_later_than_any_float_is_bounded_or_refused() {
    for (alpha, rho) in [(1.01, 0.05), (1.02, 0.5), (1.04, 0.2), (1.06, 0.9), (1.2, 0.5), (2.05, 0.95)] {
        let one = GroupedPlan::all(Group::new(1, Law::pareto(1.0, alpha).unwrap()));
        let (figure, exact) = (dependent(&one, rho, 0.0).mean().unwrap(), alpha / (alpha - 1.0));
        match figure.method {
            Method::Bounded { lower, upper } => {
                assert!(alpha < 1.15 && lower <= exact && exact <= upper, "{alpha} {rho}: {figure:?}");
            }
            _ => close(figure.value, exact, 1e-9),
        }
    }
    let endless = GroupedPlan::all(Group::new(8, Law::pareto(1.0, 1.001).unwrap()));
    assert!(dependent(&endless, 0.5, 0.0).mean().is_err());
}

/// P(waiting) of k of n hedged branches on a square grid over J and B, with tails from the law alone.
fn on_a_grid(plan: &GroupedPlan, shares: Dependence, t: f64) -> f64 {
    const STEP: f64 = 1.0 / 24.0;
    let group = &plan.groups[0];
    let normal = Law::log_normal(1.0, 1.0).unwrap();
    let z = |t: f64| normal_quantile(group.law.hazard(t));
    let starts: Vec<f64> = core::iter::once(0.0).chain(group.delays.iter().copied()).collect();
    let grid = || (-240..=240).map(|i| f64::from(i) * STEP);
    let density = |x: f64| STEP * (-0.5 * x * x).exp() / core::f64::consts::TAU.sqrt();
    let mut sum = 0.0;
    for j in grid() {
        let common = shares.job().sqrt() * j;
        let open: f64 = grid()
            .map(|b| {
                let less = common + shares.branch().sqrt() * b;
                let tails = starts.iter().filter(|start| **start < t);
                let tail =
                    |start: &f64| normal.survival(((z(t - start) - less) / shares.luck().sqrt()).exp());
                density(b) * tails.map(tail).product::<f64>()
            })
            .sum();
        // Fewer than k of n answered, term by term.
        let n = group.count as i32;
        let (mut choose, mut waiting) = (1.0, 0.0);
        for answered in 0..plan.k as i32 {
            waiting += choose * (1.0 - open).powi(answered) * open.powi(n - answered);
            choose *= f64::from(n - answered) / f64::from(answered + 1);
        }
        sum += density(j) * waiting;
    }
    sum
}

#[test]
fn hedged_jobs_agree_with_a_square_grid() {
    let k_of_n = |k: u64, n: u64, delays: &[f64]| {
        GroupedPlan::first(k, Group { delays: delays.to_vec(), ..Group::new(n, call()) })
    };
    for plan in
        [k_of_n(8, 8, &[1.2]), k_of_n(5, 8, &[0.4, 1.2]), k_of_n(1, 3, &[0.0]), k_of_n(30, 30, &[2.0])]
    {
        for (job, branch) in [(0.2, 0.3), (0.3, 0.1), (0.05, 0.6)] {
            let shares = shares(job, branch);
            let found = plan.solve_dependent(shares).unwrap();
            for t in [0.3, 1.0, 2.5, 5.0] {
                close(found.waiting(t).unwrap(), on_a_grid(&plan, shares, t), 2e-11);
            }
        }
    }
}

#[test]
fn a_shared_job_helps_the_median_of_all_and_hurts_what_a_hedge_buys() {
    let (plain, copies) = (hedged(8, &[]), hedged(8, &[call().quantile(above(0.05))]));
    let saved = |job: f64| 1.0 - quantile(&copies, job, 0.0, 0.01) / quantile(&plain, job, 0.0, 0.01);
    let saved = [0.0, 0.1, 0.3, 0.6, 0.9, 0.99].map(saved);
    assert!(saved.windows(2).all(|pair| pair[0] > pair[1] && pair[1] > -1e-14), "{saved:?}");
    let medians = [0.0, 0.1, 0.3, 0.6, 0.9, 0.99].map(|job| quantile(&plain, job, 0.0, 0.5));
    assert!(medians.windows(2).all(|pair| pair[0] > pair[1]), "{medians:?}");
}

#[test]
fn a_million_branches_have_readouts() {
    for (job, branch) in [(1e-6, 0.0), (0.3, 0.0), (0.3, 0.3), (0.999, 0.0)] {
        for delays in [&[][..], &[2.0]] {
            let all = dependent(&hedged(1_000_000, delays), job, branch);
            let [low, high] = [0.5, 0.01].map(|s| all.quantile(above(s)).unwrap().value);
            let independent =
                call().quantile(Level::at_hazard(branch_hazard(4.7, 1_000_000, 1_000_000)).unwrap());
            assert!(low < high && high < independent, "{low} {high}");
            close(all.returned(low).unwrap(), 0.5, 1e-10);
        }
    }
    let some = dependent(&GroupedPlan::first(900_000, Group::new(1_000_000, call())), 0.2, 0.0);
    let median = some.quantile(Level::MEDIAN).unwrap().value;
    // So many that J alone decides: Z of the branch at the level 0.9, given J.
    let z = 0.8_f64.sqrt() * normal_quantile(above(0.1).hazard());
    close(median, (0.6 * z).exp(), 1e-4);
}

#[test]
fn deadlines_and_time_outs_end_the_wait() {
    let group = Group { delays: vec![1.0], attempt_timeout: 1.5, deadline: 2.0, ..Group::new(8, call()) };
    let plan = GroupedPlan::all(group);
    let (alone, job) = (plan.solve().unwrap(), dependent(&plan, 0.0, 0.0));
    let shared = dependent(&plan, 0.3, 0.2);
    for t in [0.5, 1.2, 1.7, 1.999, 2.0, 3.0] {
        close(job.waiting(t).unwrap(), alone.waiting(t), 1e-12);
        assert!(shared.returned(t).unwrap() >= alone.returned(t));
    }
    assert_eq!(shared.quantile(above(1e-6)).unwrap().value, 2.0);
    close(job.mean().unwrap().value, alone.mean().unwrap().value, 1e-10);
    assert!(shared.mean().unwrap().value < 2.0);
}

#[test]
fn a_heavy_tail_has_a_mean_for_as_long_as_luck_lasts() {
    // Of two branches with index 0.6, both must be late: the index is 0.6 · 2 / (1 + ρ).
    let first = |rho: f64| {
        let plan = GroupedPlan::first(1, Group::new(2, Law::pareto(1.0, 0.6).unwrap()));
        plan.solve_dependent(shares(rho, 0.0)).unwrap().mean().unwrap().value
    };
    assert!(first(0.0) < first(0.1) && first(0.1).is_finite());
    assert_eq!(first(0.3), f64::INFINITY);
}

#[test]
fn a_shock_to_the_whole_job_is_met_once() {
    let n = 100;
    let all = |law: Law| GroupedPlan::all(Group::new(n, law)).solve().unwrap();
    let slow = Law::log_normal(3.0, 0.6).unwrap();
    let together = Regimes::new(&[(99.0, all(call())), (1.0, all(slow.clone()))]).unwrap();
    let each = all(Law::mixture(&[(99.0, call()), (1.0, slow.clone())]).unwrap());
    for t in [2.0, 4.0, 12.0] {
        let expected = 0.99 * all(call()).waiting(t) + 0.01 * all(slow.clone()).waiting(t);
        close(together.waiting(t), expected, 1e-14);
        assert!(together.waiting(t) < each.waiting(t));
    }
    let p = together.quantile(above(1e-3)).value;
    close(together.waiting(p), 1e-3, 1e-12);
    let mean = 0.99 * all(call()).mean().unwrap().value + 0.01 * all(slow).mean().unwrap().value;
    close(together.mean().unwrap().value, mean, 1e-14);
    assert!(Regimes::new(&[]).is_err());
    assert!(Regimes::new(&[(f64::NAN, all(call()))]).is_err());
}

#[test]
fn shares_and_plans_out_of_range_are_refused() {
    for (job, branch) in
        [(-0.1, 0.0), (1.1, 0.0), (0.0, f64::NAN), (f64::NAN, 0.0), (0.7, 0.31), (0.0, f64::INFINITY)]
    {
        assert!(matches!(Dependence::new(job, branch), Err(SolveError::OutOfRange { .. })));
    }
    let error = Dependence::new(0.7, 0.4).unwrap_err().to_string();
    assert_eq!(error, "branch share: got 0.4, expected at most 1 with the job share, 0.7");
    assert_eq!(shares(0.9, 0.1).luck(), 0.0);
    assert_eq!(shares(0.7, 0.3).luck(), 0.0);
    let refused = |plan: GroupedPlan| {
        assert!(matches!(plan.solve_dependent(shares(0.1, 0.1)), Err(SolveError::TooLarge { .. })));
    };
    refused(hedged(1, &[1.0; 17]));
    assert!(GroupedPlan::first(0, Group::new(3, call())).solve_dependent(Dependence::NONE).is_err());
}

fn any_shares() -> impl Strategy<Value = Dependence> {
    let share =
        || select(vec![0.0, 1e-300, 1e-16, 1e-9, 1e-3, 0.3, 0.5, 0.9, 0.999, 1.0 - 1e-9, 1.0 - 1e-15, 1.0]);
    (share(), share()).prop_map(|(job, rest)| shares(job, (rest * (1.0 - job)).min(1.0 - job)))
}

fn any_law() -> impl Strategy<Value = Law> {
    select(vec![
        call(),
        Law::log_normal(1e-15, 30.0).unwrap(),
        Law::log_normal(1.0, 1e-9).unwrap(),
        Law::pareto(1.0, 0.01).unwrap(),
        Law::weibull(0.01, 1.0).unwrap(),
        Law::weibull(1e6, 1e15).unwrap(),
        Law::exponential(1.0).unwrap().cut(0.5).unwrap(),
        Law::mixture(&[(0.95, call()), (0.05, Law::pareto(1.6, 2.6).unwrap().shifted(3.0).unwrap())])
            .unwrap(),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 4, ..ProptestConfig::default() })]

    #[test]
    fn any_parameters_have_readouts(
        shares in any_shares(),
        law in any_law(),
        n in select(vec![1_u64, 2, 9, 1_000, 100_000]),
        part in select(vec![1e-9, 0.5, 0.99, 1.0]),
        mut delays in proptest::collection::vec(select(vec![0.0, 1e-9, 0.7, 2.0, 1e9, f64::INFINITY]), 0..3),
        deadline in select(vec![0.0, 1e-9, 2.0, 1e9, f64::INFINITY]),
    ) {
        delays.sort_by(f64::total_cmp);
        let k = ((part * n as f64) as u64).clamp(1, n);
        let plan = GroupedPlan { deadline, ..GroupedPlan::first(k, Group { delays, ..Group::new(n, law) }) };
        let job = plan.solve_dependent(shares).unwrap();
        let mut last = 0.0;
        for s in [1.0, 0.5, 0.01, 1e-12, 0.0] {
            let t = job.quantile(above(s)).unwrap().value;
            prop_assert!(t >= last * (1.0 - 1e-9), "{s}: {last} {t}");
            last = t;
        }
        for t in [0.0, 0.7, 1e9, f64::INFINITY] {
            let (returned, waiting) = (job.returned(t).unwrap(), job.waiting(t).unwrap());
            prop_assert!((0.0..=1.0).contains(&returned) && (0.0..=1.0).contains(&waiting));
            prop_assert!((returned + waiting - 1.0).abs() < 1e-10);
        }
    }
}
