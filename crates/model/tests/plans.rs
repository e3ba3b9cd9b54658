//! Plans as the solver takes them: what is counted together, what is left out, what is assumed.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_core::{BranchSpec, BudgetSpec, Hedge, LimiterSpec, Plan, PlanSpec, Rate, Time, WaitFor};
use fantail_model::{
    Assumption, Cancellation, Group, GroupedPlan, Law, Level, NotIncluded, SolveError, solve,
};

const DEADLINE: Time = Time::from_millis(2_500);

fn call() -> Law {
    Law::from_percentiles(&[(0.5, 0.8), (0.95, 1.5), (0.99, 2.4)]).unwrap().law
}

/// Three required and two optional branches that share a limiter of ten.
fn enrich() -> PlanSpec {
    let mut branches = ["type", "parties", "dates", "amounts", "summary"].map(BranchSpec::new).to_vec();
    for branch in &mut branches {
        branch.limiter = Some(0);
        branch.repeatable = true;
    }
    branches[3].required = Some(false);
    branches[4].required = Some(false);
    branches[4].cost = Some(0.004);
    PlanSpec {
        deadline: Some(DEADLINE),
        limiters: vec![LimiterSpec { gate: Some(10), ..LimiterSpec::new("llm") }],
        ..PlanSpec::new("enrich", branches)
    }
}

fn hedged(mut spec: PlanSpec, delay: Time) -> PlanSpec {
    for branch in &mut spec.branches[..3] {
        branch.hedge = Some(Hedge::after(delay));
    }
    spec
}

fn refusal(spec: PlanSpec) -> Vec<NotIncluded> {
    let n = spec.branches.len();
    match solve(&Plan::new(spec).unwrap(), &vec![call(); n]) {
        Err(SolveError::NotIncluded(reasons)) => reasons,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_documents_plan_has_its_published_figures() {
    let law = call();
    let plain = solve(&Plan::new(enrich()).unwrap(), &vec![law.clone(); 5]).unwrap();
    let miss = law.survival(2.5);
    let verdicts = plain.verdicts();
    assert!((verdicts.failed - (1.0 - (1.0 - miss).powi(3))).abs() < 1e-14);
    assert!((verdicts.complete - (1.0 - miss).powi(5)).abs() < 1e-14);
    // A failed or partial job waits for the deadline: an atom of the return time.
    assert_eq!(plain.quantile(Level::above(verdicts.failed / 2.0).unwrap()).value, 2.5);
    // The copy has one second left, so the miss is S(2.5) S(1.0).
    let job = solve(&Plan::new(hedged(enrich(), Time::from_millis(1_500))).unwrap(), &vec![law.clone(); 5])
        .unwrap();
    let miss = law.survival(2.5) * law.survival(1.0);
    assert!((job.verdicts().failed - (1.0 - (1.0 - miss).powi(3))).abs() < 1e-14);
    let prices = job.prices(Cancellation::AtOnce).unwrap();
    assert!((prices.copies - 3.0 * law.survival(1.5)).abs() < 1e-12);
    assert!((prices.cost.unwrap() - 0.004).abs() < 1e-15);
    assert_eq!(plain.prices(Cancellation::AtOnce).unwrap().extra_busy, Some(0.0));
}

#[test]
fn like_branches_are_counted_and_every_branch_knows_its_group() {
    let plan = Plan::new(enrich()).unwrap();
    let mut laws = vec![call(); 5];
    laws[1] = Law::exponential(0.5).unwrap();
    let job = solve(&plan, &laws).unwrap();
    let counts: Vec<u64> = job.plan().groups.iter().map(|group| group.count).collect();
    assert_eq!(counts, [2, 1, 2]);
    let groups: Vec<Option<usize>> = (0..6).map(|branch| job.group_of(branch)).collect();
    assert_eq!(groups, [Some(0), Some(1), Some(0), Some(2), Some(2), None]);
    // Of the two optional branches one states a cost: its half is that of each.
    assert_eq!(job.plan().groups[2].cost, Some(0.002));
}

#[test]
fn a_plan_needs_one_law_for_each_branch() {
    let error = solve(&Plan::new(enrich()).unwrap(), &[call()]).unwrap_err();
    assert_eq!(error.to_string(), "got 1 laws, expected one for each of 5 branches");
}

#[test]
fn a_limiter_that_one_job_fills_is_not_included() {
    let mut spec = enrich();
    spec.limiters[0].gate = Some(3);
    let full = NotIncluded::Limiter { name: "llm".into(), asked: 5, capacity: 3 };
    assert_eq!(refusal(spec), [full]);
    let mut spec = enrich();
    spec.limiters[0].rate = Some(Rate { permits: 300, per: Time::from_secs(60), burst: 4 });
    let full = NotIncluded::Limiter { name: "llm".into(), asked: 5, capacity: 4 };
    assert_eq!(full.to_string(), "limiter `llm` is busy: one job asks it for 5 at once, it permits 4");
    assert_eq!(refusal(spec), [full]);
}

#[test]
fn a_budget_that_binds_is_not_included_and_one_that_does_not_is_assumed() {
    // A copy at the median is due for half of the three hedged primaries, three tenths of all five.
    let median = Time::from_secs_f64(call().quantile(Level::MEDIAN)).unwrap();
    let reasons = refusal(hedged(enrich(), median));
    let [NotIncluded::Budget { due, share }] = reasons[..] else { panic!("{reasons:?}") };
    assert!((due - 0.3).abs() < 1e-6 && (0.045..0.05).contains(&share));
    let spec = PlanSpec {
        hedge_budget: BudgetSpec { share: 500_000, burst: 20, in_flight: Some(7) },
        ..hedged(enrich(), median)
    };
    let job = solve(&Plan::new(spec).unwrap(), &vec![call(); 5]).unwrap();
    let assumptions = job.assumptions();
    assert!(assumptions.contains(&Assumption::Independent));
    assert!(assumptions.contains(&Assumption::LimiterNeverFills { name: "llm".into() }));
    assert!(assumptions.contains(&Assumption::CopiesInFlight { most: 7 }));
    assert!(
        assumptions
            .iter()
            .any(|a| matches!(a, Assumption::BudgetHasCredit { due, .. } if (due - 0.3).abs() < 1e-6))
    );
    // A race is not capped.
    let spec = hedged(enrich(), Time::ZERO);
    assert!(solve(&Plan::new(spec).unwrap(), &vec![call(); 5]).is_ok());
}

/// A primary that a copy beats earns nothing: credit for one copy in twenty answers is not enough for copies at p95.
#[test]
fn a_copy_due_at_the_quantile_of_the_budget_is_beyond_it() {
    let solved = |share: u32| {
        let mut spec = enrich();
        for branch in &mut spec.branches {
            let p95 = call().quantile(Level::above(0.05).unwrap());
            branch.hedge = Some(Hedge::after(Time::from_secs_f64(p95).unwrap()));
        }
        spec.hedge_budget.share = share;
        solve(&Plan::new(spec).unwrap(), &vec![call(); 5])
    };
    assert!(matches!(solved(50_000), Err(SolveError::NotIncluded(_))));
    assert!(solved(60_000).is_ok());
}

#[test]
fn a_share_waits_for_that_many_answers() {
    let spec = PlanSpec { wait_for: WaitFor::Share(600_000), deadline: None, ..enrich() };
    let spec = PlanSpec {
        branches: spec.branches.into_iter().map(|b| BranchSpec { required: None, ..b }).collect(),
        ..spec
    };
    let job = solve(&Plan::new(spec).unwrap(), &vec![call(); 5]).unwrap();
    let first = GroupedPlan::first(3, Group::new(5, call())).solve().unwrap();
    assert_eq!(job.quantile(Level::MEDIAN), first.quantile(Level::MEDIAN));
}

#[test]
fn numbers_that_make_no_plan_are_refused_with_value_and_bound() {
    let group = || Group::new(3, Law::exponential(1.0).unwrap());
    let check = |plan: GroupedPlan, text: &str| assert_eq!(plan.solve().unwrap_err().to_string(), text);
    let all = || GroupedPlan::all(group());
    check(GroupedPlan { k: 4, ..all() }, "k: got 4, expected 1 to the number of branches, 3");
    check(GroupedPlan { at_least: 4, ..all() }, "at_least: got 4, expected 0 to k, 3");
    check(
        GroupedPlan { deadline: f64::NAN, ..all() },
        "deadline: got NaN, expected 0 to 1e100 seconds, or infinite",
    );
    check(GroupedPlan { groups: Vec::new(), ..all() }, "groups: got 0, expected at least one branch");
    let with = |group: Group| GroupedPlan { groups: vec![group], ..all() };
    check(with(Group { count: 0, ..group() }), "count: got 0, expected 1 to 1000000000000 branches");
    check(
        with(Group { attempt_timeout: 0.0, ..group() }),
        "attempt_timeout: got 0, expected more than 0 seconds",
    );
    check(
        with(Group { delays: vec![0.5, 0.2], ..group() }),
        "delay: got 0.2, expected at least the delay before it, 0.5",
    );
    check(
        with(Group { delays: vec![-0.5], ..group() }),
        "delay: got -0.5, expected 0 to 1e100 seconds, or infinite",
    );
    // They give up at different times, so that some have missed while others are open.
    let different = |i: u32| Group {
        required: false,
        deadline: f64::from(i + 1),
        ..Group::new(1, Law::exponential(f64::from(i + 1)).unwrap())
    };
    let many = GroupedPlan {
        groups: (0..10_000).map(different).collect(),
        k: 5_000,
        at_least: 0,
        deadline: f64::INFINITY,
    };
    assert!(matches!(many.solve(), Err(SolveError::TooLong { .. })));
}
