//! Plans whose branches come after others: solved as stages, and played by the machine that runs them.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_core::{BranchSpec, Hedge, LimiterSpec, Plan, PlanSpec, Time};
use fantail_model::sim::{Scenario, Simulation};
use fantail_model::{
    Assumption, Figure, Law, Level, Method, NotIncluded, SolveError, Stage, StagedPlan, solve_stages,
};

/// Branches named by letters; `c:ab` comes after a and b.
fn branches(text: &str) -> Vec<BranchSpec> {
    let index = |letter: char| letter as usize - 'a' as usize;
    let branch = |word: &str| {
        let (name, after) = word.split_once(':').unwrap_or((word, ""));
        BranchSpec { after: after.chars().map(index).collect(), repeatable: true, ..BranchSpec::new(name) }
    };
    text.split(' ').map(branch).collect()
}

fn plan(branches: Vec<BranchSpec>, deadline: Option<Time>) -> Plan {
    Plan::new(PlanSpec { deadline, ..PlanSpec::new("staged", branches) }).unwrap()
}

/// Laws of different length, by branch.
fn laws(n: usize) -> Vec<Law> {
    (0..n).map(|i| Law::log_normal(0.1 * (1 + i % 3) as f64, 0.5 + 0.1 * (i % 4) as f64).unwrap()).collect()
}

fn bounds(figure: Figure) -> (f64, f64) {
    if let Method::Bounded { lower, upper } = figure.method {
        (lower, upper)
    } else {
        (figure.value, figure.value)
    }
}

#[test]
fn stages_are_solved_and_played_alike() {
    let check = |text: &str, hedge: Option<Hedge>, deadline: Time| {
        let mut specs = branches(text);
        specs[0].hedge = hedge;
        let plan = plan(specs, Some(deadline));
        let laws = laws(plan.branches().len());
        let job = solve_stages(&plan, &laws).unwrap();
        let played =
            Simulation::new(plan.into(), laws, Scenario::default(), 11).unwrap().run(0..40_000).unwrap();
        let sure = Level::above(1e-6).unwrap();
        for s in [0.9, 0.5, 0.2] {
            let level = Level::above(s).unwrap();
            let (lower, upper) = bounds(job.quantile(level));
            let seen = played.quantile_interval(level, sure);
            assert!(
                seen.contains(lower) || seen.contains(upper),
                "{text} at {s}: {lower} {upper} but {seen:?}"
            );
        }
        let (lower, upper) = bounds(job.verdicts().complete);
        let band = 5.0 * (0.25_f64 / 40_000.0).sqrt();
        let seen = played.complete_by(deadline).value();
        assert!(lower - band < seen && seen < upper + band, "{text}: {lower} {upper} but {seen}");
    };
    let deadline = Time::from_millis(900);
    check("a b:a c:b", None, deadline);
    check("a b:a c:a d:bc", None, deadline);
    check("a b c:ab d:ab e:cd", None, deadline);
    check("a b:a c d:c e:bd f", None, deadline);
    // Stated twice, directly and by way of b.
    check("a b:a c:ab", None, deadline);
    let hedge = Hedge { min_useful: Time::ZERO, ..Hedge::after(Time::from_millis(300)) };
    check("a b:a c:a", Some(hedge), deadline);
}

#[test]
fn an_order_of_stages_is_the_nesting_it_says() {
    let law = Law::exponential(0.2).unwrap();
    let call = || Stage::branch(law.clone());
    let check = |text: &str, stage: Stage| {
        let plan = plan(branches(text), None);
        let laws = vec![law.clone(); plan.branches().len()];
        let (job, direct) = (solve_stages(&plan, &laws).unwrap(), StagedPlan::new(stage).solve());
        for s in [0.5, 0.01] {
            let level = Level::above(s).unwrap();
            assert_eq!(job.quantile(level), direct.quantile(level), "{text}");
        }
    };
    let all = |parts: &[(u64, Stage)]| Stage::all(parts).unwrap();
    let then = |parts: &[(u64, Stage)]| Stage::then(parts).unwrap();
    check("a", call());
    check("a b c", all(&[(3, call())]));
    check("a b:a c:b", then(&[(3, call())]));
    check("a b:a c:a d:bc", then(&[(2, call()), (1, all(&[(2, call())]))]));
    check("a b:a c d:c", all(&[(2, then(&[(2, call())]))]));
    check("a b c:ab d:ab", then(&[(2, all(&[(2, call())]))]));
}

#[test]
fn what_stages_leave_out_is_said() {
    let left_out = |plan: &Plan| match solve_stages(plan, &laws(plan.branches().len())) {
        Err(SolveError::NotIncluded(reasons)) => reasons,
        other => panic!("{other:?}"),
    };
    // d comes after both, c after a only: neither beside each other nor in turn.
    assert_eq!(left_out(&plan(branches("a b c:a d:ab"), None)), [NotIncluded::Stages]);
    let mut specs = branches("a b:a");
    specs[1].required = Some(false);
    assert_eq!(left_out(&plan(specs, None)), [NotIncluded::Stages]);
    let mut specs = branches("a b:a");
    specs[1].deadline = Some(Time::from_millis(500));
    assert_eq!(left_out(&plan(specs, Some(Time::from_millis(900)))), [NotIncluded::Stages]);
    assert!(matches!(solve_stages(&plan(branches("a b:a"), None), &[]), Err(SolveError::LawCount { .. })));
    let many = (0..501).map(|i| BranchSpec::new(format!("branch-{i}"))).collect();
    assert!(matches!(solve_stages(&plan(many, None), &laws(501)), Err(SolveError::TooLarge { .. })));
}

/// A gate counts what runs at once, which is less than all where branches come after each other.
#[test]
fn a_gate_is_full_only_when_branches_beside_each_other_fill_it() {
    let gated = |text: &str| {
        let branches = branches(text).into_iter().map(|branch| BranchSpec { limiter: Some(0), ..branch });
        let limiters = vec![LimiterSpec { gate: Some(2), ..LimiterSpec::new("llm") }];
        let plan = Plan::new(PlanSpec { limiters, ..PlanSpec::new("gated", branches.collect()) }).unwrap();
        solve_stages(&plan, &laws(plan.branches().len())).map(|job| job.assumptions().to_vec())
    };
    let never_fills = Assumption::LimiterNeverFills { name: "llm".into() };
    assert_eq!(gated("a b:a c:b").unwrap(), [Assumption::Independent, never_fills.clone()]);
    assert_eq!(gated("a b:a c:a").unwrap(), [Assumption::Independent, never_fills]);
    let full = NotIncluded::Limiter { name: "llm".into(), asked: 3, capacity: 2 };
    assert_eq!(gated("a b:a c:a d:a"), Err(SolveError::NotIncluded(vec![full])));
}
