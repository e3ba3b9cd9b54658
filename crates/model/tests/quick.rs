//! What once took long: the same figures by other ways, how much work they are, and what is refused before it is begun.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::tune::{Goal, Levers, Measure, Price, Relation, Tuning};
use fantail_model::{Cancellation, Dependence, Group, GroupedPlan, Law, Level, SolveError, Tables};

const BILLION: u64 = 1_000_000_000;

fn call() -> Law {
    Law::log_normal(1.0, 0.6).unwrap()
}

fn above(s: f64) -> Level {
    Level::above(s).unwrap()
}

#[track_caller]
fn close(a: f64, b: f64, within: f64) {
    assert!((a / b - 1.0).abs() <= within || a == b, "{a} {b}: off by {:.1e}", (a / b - 1.0).abs());
}

#[test]
fn half_of_a_billion_answer_by_the_median_half_of_the_time() {
    let first = GroupedPlan::first(BILLION / 2, Group::new(BILLION, call()));
    let job = GroupedPlan { deadline: 1.0, ..first }.solve().unwrap();
    // And one time in 40,000 exactly half of them: √(2 / πn).
    let half = 0.5 + 0.5 * (2.0 / (std::f64::consts::PI * BILLION as f64)).sqrt();
    close(job.verdicts().complete, half, 1e-12);
    close(job.verdicts().failed, 1.0 - half, 1e-12);
    assert_eq!(job.quantile(above(0.25)).value, 1.0);
}

#[test]
fn the_first_of_a_billion_come_when_their_share_does() {
    let k = BILLION / 10 * 9;
    let job = GroupedPlan::first(k, Group::new(BILLION, call())).solve().unwrap();
    let (mean, sd) = job.mean_and_sd().unwrap();
    // The sample quantile: normal about the quantile, with deviation √(pq/n) / density.
    let at = call().quantile(above(0.1));
    close(mean.value, at, 1e-8);
    close(sd.value, (0.09 / BILLION as f64).sqrt() / call().pdf(at), 1e-6);
    let p95 = call().quantile(above(0.05));
    let early = call().quantile(above(0.95));
    let hedged =
        |delay: f64| GroupedPlan::first(k, Group { delays: vec![delay], ..Group::new(BILLION, call()) });
    assert_eq!(hedged(p95).solve().unwrap().sends_copy(), 0.0);
    assert_eq!(hedged(early).solve().unwrap().sends_copy(), 1.0);
}

#[test]
fn the_first_of_many_are_busy_until_they_are_there() {
    for law in [call(), Law::log_normal(1.0, 2.0).unwrap(), Law::weibull(0.3, 1.0).unwrap()] {
        for (k, n) in [(1, 4), (2, 3), (9, 10), (10, 1_000), (900, 1_000), (999, 1_000)] {
            let first = GroupedPlan::first(k, Group::new(n, law.clone()));
            // With an end, however far, it is an integral over time.
            let far = GroupedPlan { deadline: law.quantile(above(1e-60)), ..first.clone() };
            let busy = |plan: &GroupedPlan| plan.solve().unwrap().prices(Cancellation::AtOnce).unwrap().busy;
            close(busy(&first), busy(&far), 1e-10);
        }
    }
    let exponential = GroupedPlan::first(7, Group::new(1_000, Law::exponential(2.0).unwrap()));
    // Seven answers come, at the rate at which time is spent.
    close(exponential.solve().unwrap().prices(Cancellation::AtOnce).unwrap().busy, 14.0, 1e-13);
}

#[test]
fn a_table_of_branches_says_of_any_number_of_them_what_an_integral_does() {
    let laws = [
        call(),
        Law::log_normal(1.0, 3.0).unwrap(),
        Law::log_normal(1.0, 1e-3).unwrap(),
        Law::exponential(1.0).unwrap(),
        Law::gamma(0.5, 1.0).unwrap(),
        Law::pareto(1.0, 2.5).unwrap(),
        call().shifted(1.0).unwrap(),
    ];
    let mut tables = Tables::default();
    for n in [1, 2, 10, 1_000, BILLION] {
        for law in &laws {
            let delays = vec![law.quantile(above(0.05))];
            let job = GroupedPlan::all(Group { delays, ..Group::new(n, law.clone()) }).solve().unwrap();
            let (mean, sd) = job.mean_and_sd().unwrap();
            let found = job.mean_and_sd_from(&mut tables).unwrap();
            close(found.0.value, mean.value, 1e-11);
            close(found.1.value, sd.value, 1e-8);
            for how in [Cancellation::AtOnce, Cancellation::After(0.3), Cancellation::Never] {
                assert_eq!(job.prices_from(how, &mut tables), job.prices(how));
            }
        }
    }
}

#[test]
fn the_first_k_of_many_numbers_share_what_is_of_one_branch() {
    let bimodal = [(0.95, Law::log_normal(1.0, 0.3).unwrap()), (0.05, Law::log_normal(100.0, 0.1).unwrap())];
    let laws = [
        call(),
        Law::log_normal(1.0, 3.0).unwrap(),
        Law::exponential(1.0).unwrap(),
        Law::gamma(0.5, 1.0).unwrap(),
        Law::pareto(1.0, 3.5).unwrap(),
        Law::mixture(&bimodal).unwrap(),
    ];
    for law in laws {
        let mut tables = Tables::default();
        for n in [2, 10, 1_000, BILLION] {
            for k in [1, n / 2, n - 1, n] {
                let job = GroupedPlan::first(k, Group::new(n, law.clone())).solve().unwrap();
                let (mean, sd) = job.mean_and_sd().unwrap();
                let found = job.mean_and_sd_from(&mut tables).unwrap();
                close(found.0.value, mean.value, 1e-10);
                close(found.1.value, sd.value, 1e-8);
                let busy = job.prices(Cancellation::AtOnce).unwrap().busy;
                close(job.prices_from(Cancellation::AtOnce, &mut tables).unwrap().busy, busy, 1e-10);
            }
        }
    }
}

/// n branches that differ, of which the first half is waited for.
fn different(n: u64) -> GroupedPlan {
    let group = |i: u64| {
        let law = Law::log_normal(1.0 + i as f64 / n as f64, 0.6).unwrap();
        Group { required: false, ..Group::new(1, law) }
    };
    GroupedPlan { groups: (0..n).map(group).collect(), k: n / 2, at_least: n / 2, deadline: f64::INFINITY }
}

#[test]
fn what_would_take_long_is_refused_before_it_is_begun() {
    let too_long =
        |error: SolveError| matches!(error, SolveError::TooLong { terms, bound, .. } if terms > bound);
    let job = different(10_000).solve().unwrap();
    close(job.waiting(job.median().value), 0.5, 1e-12);
    assert!(too_long(job.mean().unwrap_err()));
    assert!(too_long(job.prices(Cancellation::AtOnce).unwrap_err()));
    assert!(too_long(job.outcomes(0).unwrap_err()));
    let shares = Dependence::new(0.2, 0.0).unwrap();
    assert!(too_long(different(2_000).solve_dependent(shares).unwrap_err()));
    let some = different(300).solve_dependent(shares).unwrap();
    assert!(too_long(some.mean().unwrap_err()));
    assert_eq!(
        some.mean().unwrap_err().to_string(),
        "an integral over so many dependent branches and attempts would take too long: 9.05e4 terms, \
         expected at most 6e4"
    );
    // However many are alike.
    assert!(
        GroupedPlan::first(7, Group::new(BILLION, call())).solve_dependent(shares).unwrap().mean().is_ok()
    );
}

#[test]
fn a_goal_on_the_mean_is_kept_after_some_hundreds_of_plans() {
    let medians = [0.8, 1.0, 1.2, 0.5, 2.0];
    let group = |median: &f64| Group::new(1, Law::log_normal(*median, 1.5).unwrap());
    let groups: Vec<Group> = medians.iter().map(group).collect();
    let plan = GroupedPlan { groups, k: 5, at_least: 5, deadline: f64::INFINITY };
    let bound = 0.5 * plan.solve().unwrap().mean().unwrap().value;
    let tuning = Tuning {
        levers: Levers::copies(&plan, 1),
        plan,
        goals: vec![Goal { measure: Measure::Mean, relation: Relation::Below, bound }],
        price: Price::ExtraRequests,
    };
    let tuned = tuning.run().unwrap();
    assert!(tuned.choice.unwrap().mean().unwrap().value < bound);
    assert!(tuned.evaluations < 1_000, "{}", tuned.evaluations);
}
