//! Plans in short form.

use fantail_core::{Time, WaitFor};
use fantail_model::{GroupedPlan, Stage, StagedPlan};
use fantail_planfile::{PlanEntry, Problems, ShortForm, StatedLaw, parse_law};

fn laws(n: usize) -> Vec<StatedLaw> {
    vec![parse_law("lognormal:median=1s,sigma=0.6").expect("a law"); n]
}

fn plan(text: &str) -> Result<PlanEntry, Problems> {
    ShortForm::parse(text)?.plan(&laws(8))
}

#[test]
fn every_clause_is_read() {
    let check = |text: &str, wait_for, at_least, deadline: Option<&str>, delays: &[&str]| {
        let entry = plan(text).unwrap_or_else(|problems| panic!("{problems}"));
        let plan = &entry.plan;
        assert_eq!(plan.name(), text);
        assert_eq!((plan.n(), plan.wait_for(), plan.at_least()), (8, wait_for, at_least), "{text}");
        assert_eq!(plan.deadline(), deadline.map(|text| text.parse().unwrap()), "{text}");
        for branch in plan.branches() {
            let got: Vec<String> = branch.delays().iter().map(Time::to_string).collect();
            assert_eq!(got, delays, "{text}");
        }
    };
    check("all", WaitFor::All, 8, None, &[]);
    check("first:5", WaitFor::First(5), 5, None, &[]);
    check("share:0.95", WaitFor::Share(950_000), 8, None, &[]);
    check("share:50%", WaitFor::Share(500_000), 4, None, &[]);
    check("hedge:p95", WaitFor::All, 8, None, &["2.682937231s"]);
    check("hedge:2.5s", WaitFor::All, 8, None, &["2.5s"]);
    check("race:3", WaitFor::All, 8, None, &["0s", "0s"]);
    check("deadline:2.5s", WaitFor::All, 8, Some("2.5s"), &[]);
    check(" first:5 + race:2+deadline:6s+ at-least:3", WaitFor::First(5), 3, Some("6s"), &["0s"]);
    // The percentile is capped so that the stated median is left before the deadline.
    check("hedge:p95+deadline:3s", WaitFor::All, 8, Some("3s"), &["2s"]);
}

/// The problems of a short form over eight branches, as columns and messages.
fn check(text: &str, expected: &[(usize, &str)]) {
    let problems = plan(text).expect_err(text);
    let got: Vec<(usize, &str)> = problems.iter().map(|p| (p.column(), p.message())).collect();
    assert_eq!(got, expected, "{text}");
}

#[test]
fn every_fault_of_a_clause_is_told_at_its_column() {
    let clauses = "expected `all`, `first`, `share`, `hedge`, `race`, `deadline`, `at-least`, `sequential`, `batch` \
                   or `tree`";
    check("", &[(1, &format!("unknown clause ``; {clauses}"))]);
    check("all+", &[(5, &format!("unknown clause ``; {clauses}"))]);
    check(
        "fist:5+hegde:p95",
        &[
            (1, &format!("unknown clause `fist`; {clauses}; did you mean `first`?")),
            (8, &format!("unknown clause `hegde`; {clauses}; did you mean `hedge`?")),
        ],
    );
    check("all+first:5", &[(5, "`first` beside `all`; expected one of them")]);
    check(
        "race:2+hedge:1s+race:x",
        &[
            (8, "`hedge` beside `race`; expected one of them"),
            (17, "`race` beside `hedge`; expected one of them"),
        ],
    );
    check("all:5+first", &[(4, "`all` stands alone"), (7, "`first` of what? expected first:5")]);
    check(
        "first:five+race:1+deadline:2.5",
        &[
            (7, "`first`: `five` is not a whole number"),
            (17, "`race`: got 1, expected 2 to 16 attempts"),
            (28, "`deadline`: `2.5` has no unit: write 2.5s or 2.5ms"),
        ],
    );
    check(
        "hedge:p100+share:95",
        &[
            (7, "`hedge`: `p100` is out of range; expected one between 0 and 1, like p99, 0.99 or 1-1e-6"),
            (18, "`share`: `95` is not a share; expected a share from 0% to 100%, like 95% or 0.95"),
        ],
    );
    check("sequential+batch:2", &[(12, "`batch` beside `sequential`; expected one of them")]);
    check("batch:0", &[(7, "`batch`: got 0, expected 1 or more branches in a task")]);
    check("tree:8", &[(6, "`tree`: `8` is not nodes x branches of each, like 4x8")]);
    check("tree:0x8", &[(6, "`tree`: `0x8` is not nodes x branches of each, like 4x8")]);
    check("all+tree:2x4", &[(10, "no plan runs in this shape; it is predicted only")]);
    check("sequential", &[(1, "no plan runs in this shape; it is predicted only")]);
}

#[test]
fn what_does_not_fit_the_branches_is_told_at_its_column() {
    check(
        "first:9+at-least:12",
        &[
            (7, "got 9, expected 1 to the number of branches, 8"),
            (18, "got 12, expected at most what the job waits for, 8"),
        ],
    );
    check(
        "deadline:0s+share:0%",
        &[
            (10, "got 0s, expected more than 0s and at most 31536000s (365 days)"),
            (19, "got 0 parts per million, expected more than 0 and at most 1000000 parts per million"),
        ],
    );
    check(
        "hedge:2.5s+deadline:3s",
        &[(
            7,
            "a copy due after 2.5s would never be sent; the deadline 3s less 1s, what a copy needs (`min_useful`), leaves 2s",
        )],
    );
    check(
        "hedge:p95+deadline:1s",
        &[(
            7,
            "no copy could be sent: the deadline 1s less 1s, what a copy needs (`min_useful`), leaves nothing",
        )],
    );
}

#[test]
fn a_plan_needs_branches() {
    let problems = ShortForm::parse("all").unwrap().plan(&[]).unwrap_err();
    assert!(problems.to_string().contains("got 0, expected 1 to 1000000 branches"), "{problems}");
}

/// Counted and listed are the same plan, and refused for the same reasons.
#[test]
fn a_plan_with_its_branches_counted_is_the_one_that_lists_them() {
    let law = parse_law("lognormal:median=1s,sigma=0.6").unwrap();
    for text in
        ["all", "first:5+hedge:p95", "share:60%+race:2+deadline:6s+at-least:3", "hedge:p95+deadline:3s"]
    {
        let short = ShortForm::parse(text).unwrap();
        let entry = short.plan(&laws(8)).unwrap();
        let (listed, _) = GroupedPlan::of(&entry.plan, &vec![law.law.clone(); 8]).unwrap();
        assert_eq!(short.grouped(8, &law).unwrap(), listed, "{text}");
    }
    for text in [
        "first:0",
        "first:9",
        "at-least:9",
        "first:3+at-least:4",
        "deadline:0s+first:9",
        "hedge:9s+deadline:2s",
    ] {
        let short = ShortForm::parse(text).unwrap();
        assert_eq!(short.grouped(8, &law).unwrap_err(), short.plan(&laws(8)).unwrap_err(), "{text}");
    }
    assert!(ShortForm::parse("all").unwrap().grouped(0, &law).is_err());
}

fn staged(
    text: &str,
    branches: &[(u32, StatedLaw)],
    overhead: Option<&Stage>,
) -> Result<StagedPlan, Problems> {
    ShortForm::parse(text)?.staged(branches, overhead)
}

#[test]
fn shapes_say_what_follows_what() {
    let law = parse_law("lognormal:median=1s,sigma=0.6").unwrap();
    let slow = parse_law("exponential:mean=3s").unwrap();
    let (call, other) = (Stage::branch(law.law.clone()), Stage::branch(slow.law.clone()));
    let then = |parts: &[(u64, Stage)]| Stage::then(parts).unwrap();
    let check = |text: &str, stage: Stage, least: Option<Stage>, deadline: f64| {
        let plan = staged(text, &[(6, law.clone()), (2, slow.clone())], None).unwrap();
        assert_eq!(plan, StagedPlan { stage, least, deadline }, "{text}");
    };
    let six = || (6, call.clone());
    let all = |parts: &[(u64, Stage)]| Stage::all(parts).unwrap();
    let whole = then(&[six(), (2, other.clone())]);
    check("sequential", all(&[(1, whole.clone())]), None, f64::INFINITY);
    let sequence = |parts: &[(u64, Stage)]| all(&[(1, then(parts))]);
    check("sequential+first:7+deadline:9s", sequence(&[six(), (1, other.clone())]), None, 9.0);
    let five = sequence(&[(5, call.clone())]);
    check("sequential+at-least:5+deadline:9s", all(&[(1, whole)]), Some(five), 9.0);
    let last = then(&[(2, other.clone())]);
    check("batch:3", all(&[(2, then(&[(3, call.clone())])), (1, last)]), None, f64::INFINITY);
    let node = |parts: &[(u64, Stage)]| then(&[(1, all(parts))]);
    let mixed = node(&[(2, call.clone()), (2, other.clone())]);
    check("tree:2x4", all(&[(1, node(&[(4, call.clone())])), (1, mixed)]), None, f64::INFINITY);

    // The overhead comes before each task, and a copy is due from its branch's own start.
    let overhead = Stage::fixed(0.1).unwrap();
    let plan = staged("batch:2+hedge:p95+deadline:2s", &[(4, law.clone())], Some(&overhead)).unwrap();
    let hedged = law.law.hedged(&[2.682_937_231]).unwrap();
    let task = then(&[(1, overhead), (2, Stage::branch(hedged))]);
    assert_eq!(plan, StagedPlan { stage: all(&[(2, task)]), least: None, deadline: 2.0 });
}

#[test]
fn what_does_not_fit_a_shape_is_told_at_its_column() {
    let law = parse_law("lognormal:median=1s,sigma=0.6").unwrap();
    let check = |text: &str, n: u32, expected: &[(usize, &str)]| {
        let problems = staged(text, &[(n, law.clone())], None).expect_err(text);
        let got: Vec<(usize, &str)> = problems.iter().map(|p| (p.column(), p.message())).collect();
        assert_eq!(got, expected, "{text}");
    };
    check("tree:4x8", 8, &[(6, "4 nodes of 8 are not the 8 branches that there are")]);
    check(
        "batch:2+first:3+at-least:2",
        8,
        &[
            (15, "only `sequential` says which branches come first; expected `all` here"),
            (26, "only `sequential` says which branches come first; expected `all` here"),
        ],
    );
    check(
        "sequential+first:9+deadline:0s",
        8,
        &[
            (18, "got 9, expected 1 to the number of branches, 8"),
            (29, "got 0s, expected more than 0s and at most 31536000s (365 days)"),
        ],
    );
    check("sequential", 0, &[(1, "got 0 branches, expected at least 1")]);
    check("sequential", 2_000_000, &[(1, "calls one after another: got 2000000, expected at most 1000000")]);
}
