//! What is wrong with a plan is said before anything starts: all of it at once, with field, value and bound.

use fantail_core::job::Start;
use fantail_core::{
    BranchSpec, BudgetSpec, Hedge, Leader, LimiterSpec, LiveDelaySpec, Plan, PlanSpec, Quantile, Rate, Time,
    WaitFor,
};

const TOO_LONG: Time = Time::from_nanos(1 << 63);

fn two() -> PlanSpec {
    PlanSpec::new("p", vec![BranchSpec::new("a"), BranchSpec::new("b")])
}

/// The plan with its first branch changed.
fn first(change: impl FnOnce(&mut BranchSpec)) -> PlanSpec {
    let mut spec = two();
    change(&mut spec.branches[0]);
    spec
}

fn copies(hedge: Hedge) -> PlanSpec {
    first(|branch| {
        branch.repeatable = true;
        branch.hedge = Some(hedge);
    })
}

fn limited(limiter: LimiterSpec) -> PlanSpec {
    PlanSpec { limiters: vec![limiter], ..two() }
}

fn rated(rate: Rate) -> PlanSpec {
    limited(LimiterSpec { rate: Some(rate), ..LimiterSpec::new("llm") })
}

fn budget(budget: BudgetSpec) -> PlanSpec {
    PlanSpec { hedge_budget: budget, ..two() }
}

/// The errors of the plan, one a line; none when `expected` is empty.
fn check(spec: PlanSpec, expected: &[&str]) {
    let said = Plan::new(spec).err().map(|errors| errors.to_string()).unwrap_or_default();
    assert_eq!(said.lines().collect::<Vec<&str>>(), expected);
}

#[test]
fn the_barrier_is_within_the_branches() {
    let wait = |wait_for| PlanSpec { wait_for, ..two() };
    check(wait(WaitFor::First(0)), &["wait_for: got 0, expected 1 to the number of branches, 2"]);
    check(wait(WaitFor::First(1)), &[]);
    check(wait(WaitFor::First(2)), &[]);
    check(wait(WaitFor::First(3)), &["wait_for: got 3, expected 1 to the number of branches, 2"]);
    let share = "expected more than 0 and at most 1000000 parts per million";
    check(wait(WaitFor::Share(0)), &[&format!("wait_for: got 0 parts per million, {share}")]);
    check(wait(WaitFor::Share(1)), &[]);
    check(wait(WaitFor::Share(1_000_000)), &[]);
    check(wait(WaitFor::Share(1_000_001)), &[&format!("wait_for: got 1000001 parts per million, {share}")]);
    let least = |wait_for, least| PlanSpec { wait_for, at_least: Some(least), ..two() };
    check(least(WaitFor::All, 2), &[]);
    check(least(WaitFor::All, 3), &["at_least: got 3, expected at most what the job waits for, 2"]);
    check(least(WaitFor::First(1), 0), &[]);
    check(least(WaitFor::First(1), 2), &["at_least: got 2, expected at most what the job waits for, 1"]);
    check(least(WaitFor::Share(1), 2), &["at_least: got 2, expected at most what the job waits for, 1"]);
}

#[test]
fn names_are_there_and_unique() {
    check(PlanSpec { name: String::new(), ..two() }, &["name: got an empty name, expected a name"]);
    check(first(|branch| branch.name.clear()), &["branch 0: name: got an empty name, expected a name"]);
    check(
        first(|branch| branch.name = "b".into()),
        &["branch `b`: name: got `b` twice, expected a name of its own"],
    );
    let limiters = |names: [&str; 2]| PlanSpec { limiters: names.map(LimiterSpec::new).to_vec(), ..two() };
    check(limiters(["x", "x"]), &["limiter `x`: name: got `x` twice, expected a name of its own"]);
    check(limiters(["x", ""]), &["limiter 1: name: got an empty name, expected a name"]);
}

#[test]
fn a_plan_has_branches() {
    let none = PlanSpec::new("p", Vec::new());
    check(none, &["branches: got 0, expected 1 to 1000000 branches"]);
}

#[test]
fn spans_are_above_zero_and_at_most_a_year() {
    let bound = "expected more than 0s and at most 31536000s (365 days)";
    let huge = "9223372036.854775808s";
    let deadline = |deadline| PlanSpec { deadline: Some(deadline), ..two() };
    check(deadline(Time::ZERO), &[&format!("deadline: got 0s, {bound}")]);
    check(deadline(Time::from_nanos(1)), &[]);
    check(deadline(Time::LONGEST), &[]);
    check(deadline(TOO_LONG), &[&format!("deadline: got {huge}, {bound}")]);
    check(deadline(Time::MAX), &[&format!("deadline: got never, {bound}")]);
    let own = |deadline| first(|branch| branch.deadline = Some(deadline));
    check(own(Time::ZERO), &[&format!("branch `a`: deadline: got 0s, {bound}")]);
    check(own(TOO_LONG), &[&format!("branch `a`: deadline: got {huge}, {bound}")]);
    let timeout = |timeout| first(|branch| branch.attempt_timeout = Some(timeout));
    check(timeout(Time::ZERO), &[&format!("branch `a`: attempt_timeout: got 0s, {bound}")]);
    check(timeout(TOO_LONG), &[&format!("branch `a`: attempt_timeout: got {huge}, {bound}")]);
    let cap = |cap| limited(LimiterSpec { pushback_cap: cap, ..LimiterSpec::new("llm") });
    check(cap(Time::ZERO), &[&format!("limiter `llm`: pushback_cap: got 0s, {bound}")]);
    check(cap(TOO_LONG), &[&format!("limiter `llm`: pushback_cap: got {huge}, {bound}")]);
    let per = |per| rated(Rate { permits: 1, per, burst: 1 });
    check(per(Time::ZERO), &[&format!("limiter `llm`: rate: got 0s, {bound}")]);
    check(per(TOO_LONG), &[&format!("limiter `llm`: rate: got {huge}, {bound}")]);
}

#[test]
fn a_branch_deadline_is_at_most_the_jobs() {
    let with = |own, job| PlanSpec { deadline: Some(job), ..first(|branch| branch.deadline = Some(own)) };
    let ms = Time::from_millis;
    check(with(ms(5), ms(5)), &[]);
    check(with(ms(6), ms(5)), &["branch `a`: deadline: got 6ms, expected at most the job's deadline, 5ms"]);
}

#[test]
fn copies_need_a_repeatable_branch_and_delays_that_do_not_decrease() {
    let ms = Time::from_millis;
    let hedge = |delays: &[u64]| Hedge {
        delays: delays.iter().copied().map(ms).collect(),
        min_useful: Time::ZERO,
        distinct: false,
    };
    check(copies(hedge(&[0, 0, 3, 3])), &[]);
    check(copies(hedge(&[0; 15])), &[]);
    check(copies(hedge(&[])), &["branch `a`: hedge: got 0 copies, expected 1 to 15"]);
    check(copies(hedge(&[0; 16])), &["branch `a`: hedge: got 16 copies, expected 1 to 15"]);
    check(copies(Hedge::race(0)), &["branch `a`: hedge: got 0 copies, expected 1 to 15"]);
    check(copies(hedge(&[3, 2])), &["branch `a`: hedge: got 3ms, 2ms, expected delays that do not decrease"]);
    check(
        first(|branch| branch.hedge = Some(hedge(&[1]))),
        &["branch `a`: hedge: got copies of a branch that may run once, expected a repeatable branch"],
    );
    check(
        copies(Hedge::after(TOO_LONG)),
        &["branch `a`: hedge: got 9223372036.854775808s, expected at most 31536000s"],
    );
    check(
        copies(Hedge { min_useful: Time::MAX, ..hedge(&[1]) }),
        &["branch `a`: min_useful: got never, expected at most 31536000s"],
    );
    let within =
        |min_useful| PlanSpec { deadline: Some(ms(5)), ..copies(Hedge { min_useful, ..hedge(&[0]) }) };
    check(within(ms(5)), &[]);
    check(within(ms(6)), &["branch `a`: min_useful: got 6ms, expected at most the deadline, 5ms"]);
    check(
        copies(Hedge { distinct: true, ..hedge(&[1]) }),
        &["branch `a`: distinct: got 1 target, expected more targets than copies, at least 2"],
    );
}

#[test]
fn counts_are_at_least_one_and_weights_fit() {
    check(first(|branch| branch.targets = 0), &["branch `a`: targets: got 0, expected at least 1"]);
    check(first(|branch| branch.weight = 0), &["branch `a`: weight: got 0, expected at least 1"]);
    check(
        first(|branch| branch.limiter = Some(0)),
        &["branch `a`: limiter: got 0, expected an index below 0"],
    );
    let weight = |weight, limiter: LimiterSpec| PlanSpec {
        limiters: vec![limiter],
        ..first(|branch| (branch.limiter, branch.weight) = (Some(0), weight))
    };
    let gate = || LimiterSpec { gate: Some(4), ..LimiterSpec::new("llm") };
    let rate = Rate { permits: 9, per: Time::from_secs(1), burst: 2 };
    check(weight(4, gate()), &[]);
    check(weight(5, gate()), &["branch `a`: weight: got 5, expected 1 to the limiter's capacity, 4"]);
    check(weight(0, gate()), &["branch `a`: weight: got 0, expected 1 to the limiter's capacity, 4"]);
    check(
        weight(3, LimiterSpec { rate: Some(rate), ..gate() }),
        &["branch `a`: weight: got 3, expected 1 to the limiter's capacity, 2"],
    );
    check(
        limited(LimiterSpec { gate: Some(0), ..gate() }),
        &["limiter `llm`: gate: got 0, expected at least 1"],
    );
    check(rated(Rate { permits: 0, ..rate }), &["limiter `llm`: rate: got 0, expected at least 1"]);
    check(rated(Rate { burst: 0, ..rate }), &["limiter `llm`: burst: got 0, expected at least 1"]);
    let hedges = BudgetSpec::HEDGES;
    check(
        budget(BudgetSpec { share: 1_000_001, ..hedges }),
        &["hedge budget: got 1000001 parts per million, expected at most 1000000"],
    );
    check(
        budget(BudgetSpec { burst: 0, ..hedges }),
        &["hedge budget: got a burst of 0, expected a burst of at least 1"],
    );
    check(
        budget(BudgetSpec { in_flight: Some(0), ..hedges }),
        &["hedge budget: got 0 in flight, expected at least 1 in flight"],
    );
}

#[test]
fn costs_are_finite_and_not_negative() {
    let cost = |cost| first(|branch| branch.cost = Some(cost));
    for fine in [0.0, 0.004, f64::MIN_POSITIVE, f64::MAX] {
        check(cost(fine), &[]);
    }
    for (wrong, said) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (-f64::INFINITY, "-inf"), (-0.5, "-0.5")]
    {
        check(
            cost(wrong),
            &[&format!("branch `a`: cost: got {said}, expected a finite number, not negative")],
        );
    }
}

#[test]
fn everything_that_is_wrong_is_said_at_once_in_the_order_of_the_plan() {
    let mut spec = PlanSpec {
        name: String::new(),
        wait_for: WaitFor::First(9),
        at_least: Some(3),
        deadline: Some(Time::ZERO),
        limiters: vec![LimiterSpec { gate: Some(0), ..LimiterSpec::new("llm") }],
        ..two()
    };
    spec.branches[0].hedge = Some(Hedge { distinct: true, ..Hedge::after(TOO_LONG) });
    spec.branches[1] =
        BranchSpec { cost: Some(f64::NAN), weight: 0, limiter: Some(7), ..BranchSpec::new("a") };
    let expected = [
        "name: got an empty name, expected a name",
        "wait_for: got 9, expected 1 to the number of branches, 2",
        "at_least: got 3, expected at most what the job waits for, 2",
        "deadline: got 0s, expected more than 0s and at most 31536000s (365 days)",
        "limiter `llm`: gate: got 0, expected at least 1",
        "branch `a`: hedge: got copies of a branch that may run once, expected a repeatable branch",
        "branch `a`: hedge: got 9223372036.854775808s, expected at most 31536000s",
        "branch `a`: distinct: got 1 target, expected more targets than copies, at least 2",
        "branch `a`: name: got `a` twice, expected a name of its own",
        "branch `a`: cost: got NaN, expected a finite number, not negative",
        "branch `a`: limiter: got 7, expected an index below 1",
        "branch `a`: weight: got 0, expected 1 to the limiter's capacity, 4294967295",
    ];
    check(spec, &expected);
}

#[test]
fn a_share_is_rounded_up_exactly() {
    for (n, ppm, k) in [
        (20, 950_000, 19),
        (19, 950_000, 19),
        (3, 333_333, 1),
        (3, 333_334, 2),
        (3, 666_666, 2),
        (3, 1_000_000, 3),
        (1_000_000, 1, 1),
        (999_999, 1, 1),
        (1_000_000, 999_999, 999_999),
    ] {
        assert_eq!(WaitFor::Share(ppm).answers(n), k, "{ppm} ppm of {n}");
    }
}

#[test]
fn defaults_follow_from_the_barrier() {
    for (wait_for, required, at_least) in
        [(WaitFor::All, 2, 2), (WaitFor::First(1), 0, 1), (WaitFor::Share(500_001), 0, 2)]
    {
        let plan = Plan::new(PlanSpec { wait_for, ..two() }).unwrap();
        assert_eq!((plan.required(), plan.at_least()), (required, at_least), "{wait_for:?}");
    }
    let spec =
        PlanSpec { deadline: Some(Time::from_secs(2)), ..first(|branch| branch.required = Some(false)) };
    let plan = Plan::new(spec).unwrap();
    assert_eq!((plan.k(), plan.at_least(), plan.required()), (2, 1, 1));
    assert_eq!(plan.branches()[1].deadline, Some(Time::from_secs(2)));
}

#[test]
fn a_plan_within_less_time_has_no_later_deadline_and_is_otherwise_the_same() {
    let branch = |name: &str, deadline| BranchSpec { deadline, ..BranchSpec::new(name) };
    let branches = vec![branch("own", Some(Time::from_millis(40))), branch("none", None)];
    let check = |job: Option<u64>, left: u64, expected: [u64; 3]| {
        let deadline = job.map(Time::from_millis);
        let plan = Plan::new(PlanSpec { deadline, ..PlanSpec::new("plan", branches.clone()) }).unwrap();
        let within = plan.within(Time::from_millis(left));
        let deadlines = [within.deadline(), within.branches()[0].deadline, within.branches()[1].deadline];
        assert_eq!(
            deadlines,
            expected.map(|millis| Some(Time::from_millis(millis))),
            "{job:?} within {left}"
        );
        assert_eq!((within.name(), within.k(), within.at_least()), (plan.name(), plan.k(), plan.at_least()));
    };
    check(Some(100), 60, [60, 40, 60]);
    check(Some(100), 30, [30, 30, 30]);
    check(Some(100), 200, [100, 40, 100]);
    check(None, 60, [60, 40, 60]);
    check(None, 0, [0, 0, 0]);

    // The machine goes by it.
    let plan = Plan::new(PlanSpec::new("plan", branches)).unwrap().within(Time::from_millis(30));
    let job = fantail_core::Job::start(std::sync::Arc::new(plan), Start::default(), &mut Vec::new());
    assert_eq!(job.wake_at(), Some(Time::from_millis(30)));
}

fn after(stages: &[(&str, bool, &[usize])]) -> PlanSpec {
    let branch = |(name, required, after): &(&str, bool, &[usize])| BranchSpec {
        required: Some(*required),
        after: after.to_vec(),
        ..BranchSpec::new(*name)
    };
    PlanSpec::new("p", stages.iter().map(branch).collect())
}

#[test]
fn stages_name_branches_of_the_plan_once() {
    check(after(&[("a", true, &[1]), ("b", true, &[])]), &[]);
    check(after(&[("a", true, &[2])]), &["branch `a`: after: got 2, expected an index below 1"]);
    check(
        after(&[("a", true, &[1, 1]), ("b", true, &[])]),
        &["branch `a`: after: got `b` twice, expected every branch once"],
    );
}

#[test]
fn a_required_branch_comes_after_required_ones_unless_it_tolerates_missing() {
    let mut spec = after(&[("a", true, &[1]), ("b", false, &[])]);
    let said = "branch `a`: after: got `b`, which is optional, expected required branches, or that it tolerates missing";
    check(spec.clone(), &[said]);
    spec.branches[0].tolerates_missing = true;
    check(spec, &[]);
    check(after(&[("a", false, &[1]), ("b", false, &[])]), &[]);
    check(PlanSpec { wait_for: WaitFor::First(1), ..after(&[("a", true, &[1]), ("b", true, &[])]) }, &[]);
}

#[test]
fn cycles_are_refused_each_once() {
    let bound = "expected no branch that comes after itself";
    check(after(&[("a", true, &[0])]), &[&format!("branch `a`: after: got `a` after `a`, {bound}")]);
    // c waits for one of them, d for nothing, and e and f for each other.
    let two = after(&[
        ("a", true, &[1, 3]),
        ("b", true, &[0]),
        ("c", true, &[1]),
        ("d", true, &[]),
        ("e", true, &[2, 5]),
        ("f", true, &[4]),
    ]);
    let said = [
        format!("branch `a`: after: got `a` after `b` after `a`, {bound}"),
        format!("branch `e`: after: got `e` after `f` after `e`, {bound}"),
    ];
    check(two, &[&said[0], &said[1]]);
    let n = 100_000;
    let mut long = PlanSpec::new("p", (0..n).map(|index| BranchSpec::new(format!("b{index}"))).collect());
    (1..n).for_each(|index| long.branches[index].after.push(index - 1));
    check(long.clone(), &[]);
    long.branches[n / 2].after.push(n - 1);
    assert_eq!(Plan::new(long).unwrap_err().iter().count(), 1);
}

#[test]
fn a_leader_is_a_branch_that_comes_after_no_other() {
    let led =
        |spec, branch| PlanSpec { leader: Some(Leader { branch, head_start: Time::from_millis(5) }), ..spec };
    check(led(two(), 1), &[]);
    check(led(two(), 2), &["leader: got 2, expected an index below 2"]);
    let stages = after(&[("a", true, &[1]), ("b", true, &[])]);
    check(led(stages.clone(), 1), &[]);
    let said = "leader: got `a`, which comes after others, expected a branch that comes after no other";
    check(led(stages, 0), &[said]);
    let never = PlanSpec { leader: Some(Leader { branch: 0, head_start: Time::ZERO }), ..two() };
    check(never, &["head_start: got 0s, expected more than 0s and at most 31536000s (365 days)"]);
}

#[test]
fn a_failover_needs_a_repeatable_branch_and_another_target() {
    let over =
        |repeatable, targets| first(|a| (a.failover, a.repeatable, a.targets) = (true, repeatable, targets));
    check(over(true, 2), &[]);
    let once = "branch `a`: failover: got a branch that may run once, expected a repeatable branch";
    let target = "branch `a`: failover: got 1 target, expected another target, at least 2";
    check(over(false, 1), &[once, target]);
    check(
        PlanSpec { failover_budget: BudgetSpec { burst: 0, ..BudgetSpec::FAILOVERS }, ..two() },
        &["failover budget: got a burst of 0, expected a burst of at least 1"],
    );
}

#[test]
fn the_spec_of_a_plan_states_the_same_plan() {
    let mut spec = after(&[("a", true, &[1]), ("b", true, &[]), ("c", false, &[])]);
    spec.leader = Some(Leader { branch: 1, head_start: Time::from_millis(5) });
    spec.deadline = Some(Time::from_secs(1));
    let plan = Plan::new(spec).unwrap();
    assert_eq!(Plan::new(plan.spec()), Ok(plan));
}

#[test]
fn a_live_delay_is_of_one_copy_and_ends_where_no_copy_may_start() {
    let live = LiveDelaySpec::new(Quantile::from_ppm(950_000).unwrap());
    let ms = Time::from_millis;
    let hedged = |delays: &[u64], index| {
        let hedge =
            Hedge { delays: delays.iter().copied().map(ms).collect(), min_useful: ms(3), distinct: false };
        let spec = first(|a| (a.hedge, a.repeatable, a.live) = (Some(hedge), true, Some(index)));
        PlanSpec { live_delays: vec![live], deadline: Some(ms(10)), ..spec }
    };
    check(hedged(&[5], 0), &[]);
    check(hedged(&[5], 1), &["branch `a`: live: got 1, expected an index below 1"]);
    check(hedged(&[5, 6], 0), &["branch `a`: live: got 2 copies, expected one copy, after a delay"]);
    check(hedged(&[0], 0), &["branch `a`: live: got 1 copies, expected one copy, after a delay"]);
    let mut none = hedged(&[5], 0);
    none.live_delays[0] = LiveDelaySpec { floor: Time::ZERO, warming: Some(Time::ZERO), ..live };
    check(
        none,
        &[
            "live delay 0: floor: got 0s, expected more than 0s, since no delay is a race",
            "live delay 0: warming: got 0s, expected more than 0s, since no delay is a race",
        ],
    );
    let cap = |spec: PlanSpec| Plan::new(spec).unwrap().live_delays()[0].cap;
    assert_eq!(cap(hedged(&[5], 0)), ms(7));
    assert_eq!(cap(PlanSpec { deadline: None, ..hedged(&[5], 0) }), Time::MAX);
    let stated = PlanSpec { live_delays: vec![LiveDelaySpec { cap: ms(4), ..live }], ..hedged(&[5], 0) };
    assert_eq!(cap(stated), ms(4));
}

#[test]
fn a_strict_rate_leaves_something_beside_its_burst() {
    let rate = |permits, burst| Some(Rate { permits, per: Time::from_secs(1), burst });
    let strict = |rate| limited(LimiterSpec { rate, strict: true, ..LimiterSpec::new("llm") });
    check(strict(rate(5, 4)), &[]);
    check(
        strict(rate(5, 5)),
        &["limiter `llm`: burst: got 5, expected less than the permits of a strict rate, 5"],
    );
    check(strict(None), &["limiter `llm`: strict: got no rate, expected a rate"]);
    let share = |backfill_share| limited(LimiterSpec { backfill_share, ..LimiterSpec::new("llm") });
    check(share(1_000_000), &[]);
    check(
        share(1_000_001),
        &["limiter `llm`: backfill_share: got 1000001 parts per million, expected at most 1000000"],
    );
}

#[test]
fn jobs_that_measure_are_a_share_and_what_is_observed_has_an_end() {
    let timed = |observe, holdout| PlanSpec {
        observe,
        holdout,
        deadline: Some(Time::from_millis(9)),
        ..copies(Hedge::after(Time::from_millis(1)))
    };
    check(timed(10_000, 10_000), &[]);
    check(timed(600_000, 400_000), &[]);
    let together = "parts per million, expected at most 1000000 together";
    check(timed(600_000, 400_001), &[&format!("observe: got 600000 and a holdout of 400001 {together}")]);
    check(
        timed(u32::MAX, u32::MAX),
        &[&format!("observe: got {0} and a holdout of {0} {together}", u32::MAX)],
    );
    let endless = "observe: got no deadline, expected a deadline, which ends what is observed";
    check(PlanSpec { observe: 1, ..two() }, &[endless]);
    let each = |branch: BranchSpec| BranchSpec { deadline: Some(Time::from_millis(9)), ..branch };
    let branches = two().branches.into_iter().map(each).collect();
    check(PlanSpec { observe: 1, ..PlanSpec::new("p", branches) }, &[]);
    check(PlanSpec { holdout: 1, ..two() }, &[]);
}

#[test]
fn the_draw_tells_which_share_a_job_is_of() {
    let branch = || copies(Hedge::after(Time::from_millis(1)));
    let spec =
        PlanSpec { observe: 250_000, holdout: 500_000, deadline: Some(Time::from_millis(9)), ..branch() };
    let plan = std::sync::Arc::new(Plan::new(spec).unwrap());
    let of = |draw| {
        let start = Start { draw, ..Start::default() };
        let job = fantail_core::Job::start(std::sync::Arc::clone(&plan), start, &mut Vec::new());
        (job.is_observed(), job.is_held_out())
    };
    let quarter = 1 << 30;
    assert_eq!(
        [0, quarter - 1, quarter, 3 * quarter - 1].map(of),
        [(false, false), (false, false), (false, true), (false, true)]
    );
    assert_eq!([3 * quarter, u32::MAX].map(of), [(true, false); 2]);
}

#[test]
fn a_live_delay_is_biased_where_jobs_end_at_their_first_answers_and_none_is_observed() {
    let p95 = Quantile::from_ppm(950_000).unwrap();
    let biased = |wait_for, required, observe| {
        let mut spec = copies(Hedge::after(Time::from_millis(1)));
        spec.branches[0].live = Some(0);
        spec.branches.iter_mut().for_each(|branch| branch.required = required);
        let live_delays = vec![LiveDelaySpec { biased: true, ..LiveDelaySpec::new(p95) }];
        let spec = PlanSpec { wait_for, observe, live_delays, deadline: Some(Time::from_millis(9)), ..spec };
        Plan::new(spec).unwrap().live_delays()[0].biased
    };
    assert!(biased(WaitFor::First(1), None, 0));
    assert!(biased(WaitFor::Share(500_000), None, 0));
    assert!(!biased(WaitFor::First(1), None, 10_000));
    assert!(!biased(WaitFor::First(2), None, 0));
    assert!(!biased(WaitFor::All, Some(false), 0));
    // It waits for both all the same.
    assert!(!biased(WaitFor::First(1), Some(true), 0));
}

#[test]
fn branches_are_like_the_first_one_that_is_declared_so_but_for_name_cost_and_what_comes_before() {
    let branch = |name: &str, targets| BranchSpec { targets, ..BranchSpec::new(name) };
    let mut branches = vec![branch("a", 1), branch("b", 2), branch("c", 1), branch("d", 2), branch("e", 1)];
    branches[2].cost = Some(0.5);
    branches[3].after = vec![0];
    branches[4].weight = 2;
    let plan = Plan::new(PlanSpec::new("p", branches)).unwrap();
    let like = [0, 1, 2, 3, 4].map(|branch| plan.like(branch).name.as_str());
    assert_eq!(like, ["a", "b", "a", "b", "e"]);
    let cut = plan.within(Time::from_millis(5));
    assert_eq!(cut.like(2).deadline, Some(Time::from_millis(5)));
}
