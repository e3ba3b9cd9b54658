//! Many branches that differ, by second routes: the binomial law of like ones, sums over all subsets, and one integral for
//! each branch.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::{Cancellation, Group, GroupedPlan, JobLaw, Law, Level};

const NEVER: f64 = f64::INFINITY;

fn optional(count: u64, law: Law) -> Group {
    Group { required: false, ..Group::new(count, law) }
}

fn first(k: u64, groups: Vec<Group>) -> JobLaw {
    GroupedPlan { groups, k, at_least: k, deadline: NEVER }.solve().unwrap()
}

/// Groups of like branches, which the solver takes as they come: for different ones.
fn split(groups: u64, count: u64) -> Vec<Group> {
    (0..groups).map(|_| optional(count, Law::exponential(1.0).unwrap())).collect()
}

fn alike(k: u64, n: u64) -> JobLaw {
    GroupedPlan::first(k, Group::new(n, Law::exponential(1.0).unwrap())).solve().unwrap()
}

#[track_caller]
fn close(found: f64, expected: f64, bound: f64, what: &dyn std::fmt::Debug) {
    assert!((found / expected - 1.0).abs() <= bound, "{what:?}: got {found}, expected {expected}");
}

/// Compares both tails of two jobs that are the same one.
fn check(different: &JobLaw, alike: &JobLaw, levels: &[Level]) {
    let n = alike.n() as f64;
    for level in levels {
        let t = alike.quantile(*level).value;
        // A count of n carries the rounding of n branches.
        let bound = 4.0 * f64::EPSILON * n.max(64.0);
        close(different.quantile(*level).value, t, bound, level);
        for (found, expected) in
            [(different.returned(t), alike.returned(t)), (different.waiting(t), alike.waiting(t))]
        {
            if expected > 1e-290 {
                close(found, expected, bound * 8.0, &(level, t));
            }
        }
    }
}

fn levels() -> Vec<Level> {
    let below = [1e-250, 1e-60, 1e-17, 1e-3, 0.3].map(|p| Level::below(p).unwrap());
    let above = [0.4, 1e-3, 1e-17, 1e-60, 1e-250].map(|s| Level::above(s).unwrap());
    below.into_iter().chain(above).collect()
}

#[test]
fn branches_one_by_one_are_counted_as_like_ones_into_both_tails() {
    for (k, n) in [(1, 7), (4, 7), (7, 7), (60, 64), (300, 1_000), (995, 1_000)] {
        check(&first(k, split(n, 1)), &alike(k, n), &levels());
    }
}

#[test]
fn groups_are_counted_as_their_branches_are() {
    for (k, groups, count) in [(30, 4, 25), (95, 4, 25), (1_500, 2, 1_000), (600, 3, 400)] {
        check(&first(k, split(groups, count)), &alike(k, groups * count), &levels());
    }
}

#[test]
fn ten_thousand_branches_that_differ_are_solved() {
    let levels = [Level::below(1e-100), Level::below(0.5), Level::above(0.01), Level::above(1e-100)];
    let levels = levels.map(Result::unwrap);
    for k in [5_000, 9_000, 10_000] {
        check(&first(k, split(10_000, 1)), &alike(k, 10_000), &levels);
    }
}

#[test]
fn all_subsets_of_branches_sum_to_the_law_and_its_density() {
    const N: usize = 10;
    let law = |i: usize| Law::log_normal(0.4 + 0.1 * i as f64, 0.3 + 0.05 * i as f64).unwrap();
    let laws: Vec<Law> = (0..N).map(law).collect();
    // Two required branches, and seven answers in all.
    let group = |(i, law): (usize, &Law)| Group { required: i < 2, ..Group::new(1, law.clone()) };
    let job = first(7, laws.iter().enumerate().map(group).collect());
    let returned = |answered: usize| answered & 3 == 3 && answered.count_ones() >= 7;
    let chance = |answered: usize, t: f64, but: Option<usize>| -> f64 {
        let each = laws.iter().enumerate().filter(|(i, _)| Some(*i) != but);
        each.map(|(i, law)| if answered >> i & 1 == 1 { law.cdf(t) } else { law.survival(t) }).product()
    };
    for t in [0.2, 0.5, 0.9, 1.4, 3.0, 9.0] {
        let subsets = || 0..1_usize << N;
        let waits: f64 = subsets().filter(|s| !returned(*s)).map(|s| chance(s, t, None)).sum();
        let done: f64 = subsets().filter(|s| returned(*s)).map(|s| chance(s, t, None)).sum();
        close(job.waiting(t), waits, 1e-12, &t);
        close(job.returned(t), done, 1e-12, &t);
        // A branch ends the job with its answer if the job has returned with it and not without it.
        let last = |i: usize| {
            let ends = |s: &usize| s >> i & 1 == 1 && returned(*s) && !returned(*s & !(1 << i));
            laws[i].pdf(t) * subsets().filter(ends).map(|s| chance(s, t, Some(i))).sum::<f64>()
        };
        close(job.density(t), (0..N).map(last).sum(), 1e-12, &t);
    }
}

#[test]
fn busy_time_in_one_integral_is_that_of_each_branch() {
    let law = |i: u64| Law::log_normal(0.5 + 0.2 * i as f64, 0.6).unwrap();
    let copies = |i: u64| if i.is_multiple_of(2) { vec![1.0] } else { Vec::new() };
    let group = |i: u64| Group { delays: copies(i), required: i == 3, ..optional(1 + i, law(i)) };
    for deadline in [NEVER, 1.7] {
        let groups: Vec<Group> = (0..4).map(group).collect();
        let job = GroupedPlan { groups, k: 6, at_least: 6, deadline }.solve().unwrap();
        let each = |i: usize| (1 + i) as f64 * job.busy(i, Cancellation::AtOnce).unwrap();
        close(job.prices(Cancellation::AtOnce).unwrap().busy, (0..4).map(each).sum(), 1e-10, &deadline);
    }
}
