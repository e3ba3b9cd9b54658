//! Jobs that wait for each other: queues with known waits, and limiters computed by hand.

use fantail_core::job::Refusal;
use fantail_core::{BranchSpec, BudgetSpec, Hedge, LimiterSpec, PlanSpec, Rate, Time};
use fantail_model::Law;
use fantail_model::sim::{Arrivals, Estimate, Summary};

use crate::{assert_holds, confidence, simulation};

/// One branch under one limiter.
fn one_branch(limiter: LimiterSpec) -> PlanSpec {
    let branch = BranchSpec { limiter: Some(0), ..BranchSpec::new("b") };
    PlanSpec { limiters: vec![limiter], ..PlanSpec::new("queue", vec![branch]) }
}

fn gate(slots: u32) -> LimiterSpec {
    LimiterSpec { gate: Some(slots), ..LimiterSpec::new("gate") }
}

/// The mean over ranges that know nothing of each other, with the standard error among them.
fn over_ranges(
    ranges: u64,
    jobs: u64,
    run: impl Fn(u64) -> Summary,
    read: impl Fn(&Summary) -> f64,
) -> Estimate {
    let values: Vec<f64> = (0..ranges).map(|range| read(&run(range * jobs))).collect();
    let n = ranges as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Estimate::new(mean, (variance / n).sqrt())
}

/// Mean waits of unit service with c servers at load ρ: for exponential service Erlang's C / (c (1 - ρ)); for constant
/// service and one server ρ / (2 (1 - ρ)), after Pollaczek and Khinchine.
#[test]
fn jobs_wait_at_a_gate_as_in_the_queues_with_known_waits() {
    const RANGES: u64 = 40;
    const JOBS: u64 = 5_000;
    let check = |law: Law, slots: u32, load: f64, expected: f64| {
        let arrivals = Arrivals::Poisson(load * f64::from(slots));
        let simulation = simulation(one_branch(gate(slots)), &[law], arrivals, 3);
        let run = |from| simulation.run(from..from + JOBS).unwrap();
        let wait = over_ranges(RANGES, JOBS, run, |summary| summary.wait().value);
        let what = format!("{slots} slots at {load}: {wait:?}");
        assert_holds(wait.interval(confidence()), expected, &what);
        assert!(wait.error < 0.04 * expected, "{what} says little");
    };
    let exponential = Law::exponential(1.0).unwrap();
    for (slots, load) in [(1, 0.3), (1, 0.6), (2, 0.6), (10, 0.8)] {
        let expected = erlang_c(slots, load) / (f64::from(slots) * (1.0 - load));
        check(exponential.clone(), slots, load, expected);
    }
    let constant = Law::log_normal(1.0, 1e-9).unwrap();
    for load in [0.3, 0.7] {
        check(constant.clone(), 1, load, load / (2.0 * (1.0 - load)));
    }
}

/// The probability that all c servers are busy, by the recursion of Erlang's B.
pub(crate) fn erlang_c(servers: u32, load: f64) -> f64 {
    let offered = load * f64::from(servers);
    let b = (1..=servers).fold(1.0, |b, i| offered * b / (f64::from(i) + offered * b));
    b / (1.0 - load * (1.0 - b))
}

/// A bucket of `burst` permits is full at first. A permit costs as many units as `per` has nanoseconds, and each nanosecond
/// brings `permits` units, up to a full bucket.
#[test]
fn a_rate_makes_jobs_wait_as_long_as_its_bucket_takes_to_fill() {
    const JOBS: u64 = 500;
    for (permits, per_ms, burst, gap_us) in [
        (10, 1_000, 3, 50_000),
        (3, 1_000, 1, 300_000),
        (7, 100, 20, 13_000),
        (1, 10, 5, 9_999),
        (1, 10, 5, 11_000),
    ] {
        let rate = Rate { permits, per: Time::from_millis(per_ms), burst };
        let limiter = LimiterSpec { rate: Some(rate), ..LimiterSpec::new("rate") };
        let gap = Time::from_micros(gap_us);
        let law = Law::exponential(0.01).unwrap();
        let summary = simulation(one_branch(limiter), &[law], Arrivals::Every(gap), 1).run(0..JOBS).unwrap();

        let (refill, cost) = (u128::from(permits), u128::from(rate.per.as_nanos()));
        let (mut level, mut as_of) = (u128::from(burst) * cost, 0_u128);
        let (mut total, mut longest, mut delayed) = (0, 0, 0);
        for job in 0..u128::from(JOBS) {
            let arrival = job * u128::from(gap.as_nanos());
            let asked = arrival.max(as_of);
            level = (level + (asked - as_of) * refill).min(u128::from(burst) * cost);
            let starts = asked + cost.saturating_sub(level).div_ceil(refill);
            level = (level + (starts - asked) * refill).min(u128::from(burst) * cost) - cost;
            as_of = starts;
            total += starts - arrival;
            longest = longest.max(starts - arrival);
            delayed += u64::from(starts > arrival);
        }
        let waits = summary.waits();
        let what = format!("{permits} in {per_ms} ms, burst {burst}, a job each {gap_us} µs");
        assert_eq!((waits.permits, waits.delayed), (JOBS, delayed), "{what}");
        assert_eq!(u128::from(waits.longest.as_nanos()), longest, "{what}");
        let mean = total as f64 / JOBS as f64 / 1e9;
        assert!(
            (summary.wait().value - mean).abs() <= 1e-12 * mean,
            "{what}: {} for {mean}",
            summary.wait().value
        );
    }
}

/// Five branches of a second each, two at a time.
#[test]
fn a_gate_of_two_plays_five_branches_in_three_turns() {
    let mut branches = crate::branches(5);
    for branch in &mut branches {
        branch.limiter = Some(0);
    }
    let spec = PlanSpec { limiters: vec![gate(2)], ..PlanSpec::new("turns", branches) };
    let law = Law::log_normal(1.0, 1e-9).unwrap();
    let summary = simulation(spec, &vec![law; 5], Arrivals::OneAtATime, 1).run(0..100).unwrap();
    assert!((summary.mean().value - 3.0).abs() < 1e-6);
    assert_eq!((summary.waits().permits, summary.waits().delayed), (500, 300));
    assert!((summary.wait().value - (0.0 + 0.0 + 1.0 + 1.0 + 2.0) / 5.0).abs() < 1e-6);
}

/// The answer never comes and no deadline cuts it: its permit is out for ever, and all later jobs wait.
#[test]
fn a_job_that_never_ends_keeps_its_permit() {
    let law = Law::exponential(1.0).unwrap().cut(1.0).unwrap();
    for arrivals in [Arrivals::OneAtATime, Arrivals::Poisson(0.1), Arrivals::Every(Time::from_secs(3))] {
        let simulation = simulation(one_branch(gate(1)), std::slice::from_ref(&law), arrivals.clone(), 1);
        let summary = simulation.run(0..200).unwrap();
        let done = summary.verdicts().complete.count;
        assert!(done < 50 && summary.verdicts().never.count == 200 - done, "{arrivals:?}: {done}");
        assert_eq!(summary.ledger().primaries.launched, done + 1, "{arrivals:?}");
    }
}

/// At each answer of `a` a permit falls free, for which a copy waits: it finds the credit that the answer has earned, and
/// behind it in class is the next stage, which is only asked for by the answer.
#[test]
fn grants_of_an_instant_come_after_its_answers() {
    const JOBS: u64 = 50;
    let limited =
        |name: &str| BranchSpec { limiter: Some(0), required: Some(false), ..BranchSpec::new(name) };
    let hedge = Some(Hedge::after(Time::from_millis(1)));
    let slow = BranchSpec { hedge, repeatable: true, ..limited("slow") };
    let budget = BudgetSpec { share: 1_000_000, burst: 1, in_flight: None };
    let laws = [Law::exponential(0.1).unwrap(), Law::exponential(1e9).unwrap()];
    let spec = PlanSpec {
        limiters: vec![gate(2)],
        deadline: Some(Time::from_secs(10)),
        hedge_budget: budget,
        ..PlanSpec::new("credit", vec![limited("a"), slow])
    };
    let summary = simulation(spec.clone(), &laws, Arrivals::OneAtATime, 5).run(0..JOBS).unwrap();
    let ledger = summary.ledger();
    assert_eq!((ledger.copies.launched, ledger.refused(Refusal::Budget)), (JOBS, 0));

    let next = BranchSpec { after: vec![0], ..limited("next") };
    let branches = [spec.branches.clone(), vec![next]].concat();
    let laws = [laws.to_vec(), vec![Law::exponential(1e9).unwrap()]].concat();
    let summary =
        simulation(PlanSpec { branches, ..spec }, &laws, Arrivals::OneAtATime, 5).run(0..JOBS).unwrap();
    let ledger = summary.ledger();
    assert_eq!((ledger.primaries.launched, ledger.copies.launched), (3 * JOBS, 0));
}
