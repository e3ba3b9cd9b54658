//! Plans over log-normal branches.

use fantail_model::tune::{Goal, Levers, Measure, Price, Relation, Tuning};
use fantail_model::{Cancellation, Group, GroupedPlan, JobLaw, Law, Level, Tables};

/// One call: median 1 s, sigma 0.6.
///
/// # Panics
/// Never: its numbers are in range.
pub fn call() -> Law {
    Law::log_normal(1.0, 0.6).expect("in range")
}

/// The level with a share above it.
///
/// # Panics
/// For a share outside 0 to 1.
pub fn above(share: f64) -> Level {
    Level::above(share).expect("a share")
}

/// All of n alike.
pub fn all(n: u64) -> GroupedPlan {
    GroupedPlan::all(Group::new(n, call()))
}

/// All of n alike, each with a copy after its p95.
pub fn hedged(n: u64) -> GroupedPlan {
    let p95 = call().quantile(above(0.05));
    GroupedPlan::all(Group { delays: vec![p95], ..Group::new(n, call()) })
}

/// The first k of n alike.
pub fn first(k: u64, n: u64) -> GroupedPlan {
    GroupedPlan::first(k, Group::new(n, call()))
}

/// The first k of n that all differ: medians from 0.5 to 1.5 s, sigmas from 0.4 to 0.7.
///
/// # Panics
/// For a k or an n that makes no plan.
pub fn different(k: u64, n: u64) -> GroupedPlan {
    let group = |i: u64| {
        let share = i as f64 / n as f64;
        let law = Law::log_normal(0.5 + share, 0.4 + 0.3 * share).expect("in range");
        Group { required: false, ..Group::new(1, law) }
    };
    GroupedPlan { groups: (0..n).map(group).collect(), k, at_least: k, deadline: f64::INFINITY }
}

/// The law of a plan's job.
///
/// # Panics
/// For a plan that is refused.
pub fn solved(plan: &GroupedPlan) -> JobLaw {
    plan.solve().expect("a plan with an exact law")
}

/// What a prediction states of a plan: three quantiles, mean, standard deviation, verdicts, prices; summed, so that nothing is
/// left out. What was found of the same branches before is not found again.
///
/// # Panics
/// When an integral misses its precision.
pub fn predicted(plan: &GroupedPlan, tables: &mut Tables) -> f64 {
    let job = solved(plan);
    let (mean, sd) = job.mean_and_sd_from(tables).expect("integrals converge");
    let prices = job.prices_from(Cancellation::AtOnce, tables).expect("integrals converge");
    quantiles(plan)
        + mean.value
        + sd.value
        + job.verdicts().complete
        + prices.busy
        + prices.copies
        + job.sends_copy()
}

/// Three quantiles of a plan, summed.
///
/// # Panics
/// For a plan that is refused.
pub fn quantiles(plan: &GroupedPlan) -> f64 {
    let job = solved(plan);
    [0.5, 0.05, 0.01].iter().map(|share| job.quantile(above(*share)).value).sum()
}

/// All, hedged and the first nine tenths of n alike, for n from 1 to `points`.
pub fn sweep(points: u64) -> Vec<GroupedPlan> {
    (1..=points).flat_map(|n| [all(n), hedged(n), first((9 * n).div_ceil(10), n)]).collect()
}

/// Five branches that differ, required all, whose measure is to be below a share of what it is without copies: which of them
/// are to have a copy, and when.
///
/// # Panics
/// When an integral misses its precision.
pub fn tuning(measure: Measure, share: f64) -> Tuning {
    let medians = [0.8, 0.6, 0.9, 0.5, 0.7];
    let group = |median: &f64| Group::new(1, Law::log_normal(*median, 0.8).expect("in range"));
    let groups: Vec<Group> = medians.iter().map(group).collect();
    let plan = GroupedPlan { groups, k: 5, at_least: 5, deadline: f64::INFINITY };
    let now = measure.of(&solved(&plan)).expect("integrals converge").expect("a figure of every plan");
    Tuning {
        levers: Levers::copies(&plan, 1),
        plan,
        goals: vec![Goal { measure, relation: Relation::Below, bound: share * now }],
        price: Price::ExtraRequests,
    }
}
