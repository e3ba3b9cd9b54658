//! From plans back to text: what is asked for changes, and nothing else.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_core::{BranchSpec, BudgetSpec, Hedge, Plan, PlanSpec, Time, WaitFor};
use fantail_planfile::{Config, RewriteError, like_branches, rewrite};
use proptest::prelude::*;

fn first(text: &str) -> Plan {
    Config::parse("plan.toml", text)
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
        .plans
        .remove(0)
        .plan
}

/// The text with a changed plan; it is checked to state just that.
fn changed(text: &str, change: impl FnOnce(&mut PlanSpec)) -> String {
    let mut spec = first(text).spec();
    // Those of the job follow the job's.
    for branch in &mut spec.branches {
        branch.deadline = branch.deadline.filter(|deadline| Some(*deadline) != spec.deadline);
    }
    change(&mut spec);
    let plan = Plan::new(spec).unwrap();
    let rewritten = rewrite("plan.toml", text, &plan).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(first(&rewritten), plan, "{rewritten}");
    rewritten
}

/// Copies of every branch at fixed delays.
fn fix(spec: &mut PlanSpec) {
    spec.live_delays.clear();
    spec.branches.iter_mut().for_each(|branch| branch.live = None);
}

/// The lines that differ, those of the old text first.
fn difference<'t>(old: &'t str, new: &'t str) -> (Vec<&'t str>, Vec<&'t str>) {
    let without =
        |a: &'t str, b: &str| a.lines().filter(|line| !b.lines().any(|other| other == *line)).collect();
    (without(old, new), without(new, old))
}

const ENRICH: &str = include_str!("../../../examples/enrich.toml");
const SEARCH: &str = include_str!("../../../examples/search.toml");
const READ: &str = include_str!("../../../examples/read.toml");

fn after(millis: &[u64]) -> Hedge {
    let delays = millis.iter().map(|millis| Time::from_millis(*millis)).collect();
    Hedge { delays, min_useful: Time::from_millis(800), distinct: false }
}

#[test]
fn nothing_changes_where_nothing_is_changed() {
    for text in [ENRICH, SEARCH, READ] {
        assert_eq!(changed(text, |_| ()), text);
    }
}

#[test]
fn a_line_changes_for_each_figure_and_comments_stay() {
    let rewritten = changed(ENRICH, |spec| {
        fix(spec);
        spec.deadline = Some(Time::from_millis(2_490));
        for branch in &mut spec.branches[..3] {
            branch.hedge = Some(after(&[1_470]));
        }
    });
    assert_eq!(
        difference(ENRICH, &rewritten),
        (
            vec![
                "deadline = \"2.5s\"               # then the result is what is there, if the required branches are",
                "hedge = { after = \"p95\", warming = \"1.5s\", extra = \"5%\" }",
            ],
            vec![
                "deadline = \"2.49s\"               # then the result is what is there, if the required branches are",
                "hedge = { after = \"1.47s\", extra = \"5%\" }",
            ],
        )
    );
}

#[test]
fn a_percentile_that_still_says_it_stays() {
    // With 2 s the p95 of 1.5 s would leave less than the median, so that the copy is due sooner.
    let moved = Time::from_millis(1_200);
    let rewritten = changed(ENRICH, |spec| {
        spec.deadline = Some(Time::from_secs(2));
        for branch in &mut spec.branches[..3] {
            branch.hedge.as_mut().unwrap().delays = vec![moved];
        }
    });
    assert_eq!(difference(ENRICH, &rewritten).1.len(), 1, "{rewritten}");
    assert!(rewritten.contains("after = \"p95\""), "{rewritten}");
}

#[test]
fn branches_may_differ_in_their_copies() {
    let rewritten = changed(ENRICH, |spec| {
        fix(spec);
        spec.hedge_budget.share = 120_000;
        spec.branches[0].hedge = Some(after(&[1_100, 1_400]));
        spec.branches[1].hedge = Some(after(&[1_300]));
        spec.branches[2].hedge = None;
        spec.branches[3].hedge = Some(Hedge::race(2));
        spec.branches[4].hedge = Some(after(&[1_300]));
    });
    let (_, new) = difference(ENRICH, &rewritten);
    assert_eq!(
        new,
        [
            "hedge = { after = \"1.3s\", extra = \"12%\" }",
            "type = { hedge = { after = [\"1.1s\", \"1.4s\"] } }                                  # required: without it the job fails",
            "dates = { hedge = false }",
            "amounts = { optional = true, hedge = { race = 2 } }    # a result without it is partial, and it is not worth a second call",
            "summary = { optional = true, cost = 0.004 }",
        ]
    );
}

#[test]
fn no_copies_at_all_need_no_words() {
    let rewritten = changed(READ, |spec| {
        fix(spec);
        spec.branches[0].hedge = None;
    });
    assert_eq!(
        difference(READ, &rewritten),
        (vec!["hedge = { after = \"p95\", floor = \"5ms\", extra = \"5%\" }"], vec![])
    );
}

#[test]
fn another_barrier_keeps_the_roles_of_branches() {
    let rewritten = changed(ENRICH, |spec| {
        fix(spec);
        spec.wait_for = WaitFor::First(4);
        spec.hedge_budget = BudgetSpec { in_flight: Some(3), burst: 7, ..spec.hedge_budget };
    });
    let (_, new) = difference(ENRICH, &rewritten);
    assert!(new[0].starts_with("wait_for = 4 "), "{rewritten}");
    assert_eq!(new.iter().filter(|line| line.contains("optional = false")).count(), 3, "{rewritten}");
    assert!(rewritten.contains("burst = 7, in_flight = 3"), "{rewritten}");
    let all = changed(SEARCH, |spec| (spec.wait_for, spec.at_least) = (WaitFor::All, Some(0)));
    assert!(all.contains("wait_for = \"all\"") && all.contains("optional = true"), "{all}");
    let share = changed(SEARCH, |spec| spec.wait_for = WaitFor::Share(949_999));
    assert!(share.contains("wait_for = \"94.9999%\""), "{share}");
}

/// What a plan says already, a rewritten one says in the same words.
#[test]
fn what_need_not_change_stays_to_the_byte() {
    let text = "\
[plan.a]
# The oldest rule of all.
hedge = { after = \"1500ms\", extra = '6 %', burst = 7 }   # from the contract
# Nobody waits longer.
deadline = \"9s\"
at_least = 2
[plan.a.defaults]
repeatable = true
latency = \"lognormal:median=1s,sigma=0.6\"
[plan.a.branch]
x = { }
# Never twice: it costs.
y = { hedge = false }# really
z = { optional = true }
[plan.a.branch.w]
# Twice as early.
hedge.after = [\"500ms\", '1s']
hedge.min_useful = \"300ms\" # as measured
";
    let rewritten = changed(text, |spec| {
        let at = |millis| Some(Hedge { min_useful: Time::from_secs(1), ..after(&[millis]) });
        (spec.branches[0].hedge, spec.branches[2].hedge) = (at(1_400), at(1_400));
        spec.deadline = None;
        spec.branches[3].hedge = Some(Hedge { min_useful: Time::from_millis(300), ..after(&[500, 1_000]) });
    });
    let expected = text.replace("after = \"1500ms\"", "after = \"1.4s\"").replace("deadline = \"9s\"\n", "");
    assert_eq!(rewritten, expected);
    let rewritten = changed(text, |spec| {
        spec.branches.iter_mut().for_each(|branch| branch.hedge = None);
        spec.hedge_budget = BudgetSpec::HEDGES;
    });
    let expected = text
        .replace("hedge = { after = \"1500ms\", extra = '6 %', burst = 7 }   # from the contract\n", "")
        .replace(
            "# Twice as early.\nhedge.after = [\"500ms\", '1s']\nhedge.min_useful = \"300ms\" # as measured",
            "# Twice as early.\nhedge = false",
        );
    assert_eq!(rewritten, expected);
    let rewritten = changed(text, |spec| spec.branches[2].hedge = None);
    assert_eq!(rewritten, text.replace("z = { optional = true }", "z = { optional = true, hedge = false }"));
}

#[test]
fn line_ends_and_a_byte_order_mark_stay() {
    let later = |spec: &mut PlanSpec| {
        fix(spec);
        spec.deadline = Some(Time::from_secs(3));
    };
    let plain = changed(ENRICH, later);
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(changed(&windows(ENRICH), later), windows(&plain));
    let cut = |text: &str| text.trim_end().to_owned();
    assert_eq!(changed(&cut(ENRICH), later), cut(&plain));
    let mixed = |text: &str| text.replacen('\n', "\r\n", 9);
    assert_eq!(changed(&mixed(ENRICH), later), mixed(&plain));
}

#[test]
fn every_way_to_write_a_plan_can_be_rewritten() {
    for text in [
        "plan.a.branch.b = {}\n",
        "[plan.a.branch.b]\n[plan.a.branch.c]\nhedge = { after = \"1s\" }\nrepeatable = true\n",
        "[plan.a]\nbranch = { b = {}, c = { repeatable = true } }\n[plan.a.hedge]\nafter = \"1s\"\n[plan.a.defaults]\nrepeatable = true\n",
        "plan = { a = { each = { count = 3, name = \"x-{i}\" } } }\n",
        "[plan.\"a b\".each]\ncount = 2\nname = \"{i}\"\n[plan.\"a b\".branch]\n\"ü\" = { optional = true }\n",
    ] {
        changed(text, |spec| {
            fix(spec);
            spec.deadline = Some(Time::from_secs(5));
            for branch in spec.branches.iter_mut().filter(|branch| branch.repeatable) {
                branch.hedge = Some(Hedge { min_useful: Time::ZERO, ..after(&[700]) });
            }
        });
    }
}

#[test]
fn like_branches_are_a_plan_file() {
    let text = like_branches("tuned", 1_000, " p50=0.8s,p95=1.5s,p99=2.4s ");
    let config = Config::parse("new", &text).unwrap();
    let entry = config.plan("tuned").unwrap();
    assert_eq!((entry.plan.n(), entry.plan.required()), (1_000, 1_000));
    assert!(entry.branches[999].law.is_some() && entry.plan.branches()[999].repeatable);
    let rewritten = changed(&text, |spec| {
        (spec.wait_for, spec.at_least) = (WaitFor::First(950), Some(900));
        spec.branches.iter_mut().for_each(|branch| {
            (branch.required, branch.hedge) = (Some(false), Some(after(&[1_200])));
        });
    });
    assert!(rewritten.lines().count() < 12, "{rewritten}");
}

#[test]
fn what_no_text_says_is_refused() {
    let other = |change: fn(&mut PlanSpec)| {
        let mut spec = first(ENRICH).spec();
        change(&mut spec);
        rewrite("plan.toml", ENRICH, &Plan::new(spec).unwrap()).unwrap_err()
    };
    let name = || "enrich".to_owned();
    assert_eq!(other(|spec| spec.name = "else".to_owned()), RewriteError::NoPlan { name: "else".to_owned() });
    assert_eq!(other(|spec| spec.branches[0].weight = 2), RewriteError::NotExpressible { name: name() });
    assert_eq!(other(|spec| spec.branches.truncate(3)), RewriteError::NotExpressible { name: name() });
    assert!(matches!(rewrite("x", "[plan", &first(ENRICH)), Err(RewriteError::Invalid(_))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever copies, deadline, barrier and roles are asked for, the text says them.
    #[test]
    fn text_and_plan_say_the_same(
        copies in prop::collection::vec(prop::collection::vec(0_u64..1_500, 0..4), 5),
        millis in 2_500_u64..9_000,
        k in 0_u32..6,
        at_least in 0_u32..6,
        required in prop::collection::vec(any::<bool>(), 5),
        share in 0_u32..=1_000_000,
        burst in 1_u32..30,
    ) {
        changed(ENRICH, |spec| {
            fix(spec);
            spec.wait_for = if k == 0 { WaitFor::All } else { WaitFor::First(k) };
            spec.at_least = Some(at_least.min(if k == 0 { 5 } else { k }));
            spec.deadline = Some(Time::from_millis(millis));
            for ((branch, mut delays), required) in spec.branches.iter_mut().zip(copies).zip(required) {
                delays.sort_unstable();
                let race = delays.iter().all(|delay| *delay == 0);
                let hedge = Hedge { min_useful: Time::from_millis(if race { 0 } else { 700 }), ..after(&delays) };
                (branch.hedge, branch.required) = (Some(hedge).filter(|hedge| !hedge.delays.is_empty()), Some(required));
            }
            let is_delayed = |branch: &BranchSpec| {
                branch.hedge.as_ref().is_some_and(|hedge| hedge.delays.iter().any(|delay| *delay > Time::ZERO))
            };
            // Only copies after a delay have a budget.
            spec.hedge_budget = if spec.branches.iter().any(is_delayed) {
                BudgetSpec { share, burst, in_flight: None }
            } else {
                BudgetSpec::HEDGES
            };
            // Backfill is for optional branches.
            spec.backfill = true;
            if spec.branches.iter().all(|branch| branch.required == Some(true)) {
                spec.branches[0].required = Some(false);
            }
        });
    }

    /// Whatever line ends and comments a file has, only lines of keys that were to change are others.
    #[test]
    fn no_other_line_changes(
        example in prop::sample::select(vec![ENRICH, SEARCH, READ]),
        ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n"]), 1..5),
        comments in prop::collection::vec(0_usize..80, 0..4),
        marked in any::<bool>(),
        millis in 2_500_u64..9_000,
        after_millis in 1_u64..90,
    ) {
        let mut text = String::from(if marked { "\u{feff}" } else { "" });
        for (i, line) in example.lines().enumerate() {
            let end = ends[i % ends.len()];
            if comments.contains(&i) {
                text += "  # ü between";
                text += end;
            }
            text += line;
            text += end;
        }
        let rewritten = changed(&text, |spec| {
            fix(spec);
            spec.deadline = Some(Time::from_millis(millis));
            for branch in spec.branches.iter_mut().filter(|branch| branch.hedge.is_some()) {
                let hedge = branch.hedge.clone().unwrap();
                branch.hedge = Some(Hedge { delays: vec![Time::from_millis(after_millis)], ..hedge });
            }
        });
        let stays = |line: &&str| !["deadline", "hedge"].iter().any(|key| line.starts_with(key));
        let old: Vec<&str> = text.split_inclusive('\n').filter(stays).collect();
        let new: Vec<&str> = rewritten.split_inclusive('\n').filter(stays).collect();
        prop_assert_eq!(old, new);
    }
}

/// Of a table that goes, what its author had to say stays.
#[test]
fn comments_of_a_table_that_goes_stay() {
    let hedge = "# Measured in May.\n[plan.a.hedge] # copies\n# Never sooner:\nafter = \"1s\" # p95\nextra = \"5%\"\n\n";
    let branch = "# The branches.\n[plan.a.branch]\nx = {}\n";
    let dotted = "# Measured in May.\nhedge.after = \"1s\" # p95\n# Never more:\nhedge.extra = \"5%\"\n";
    let plan = "[plan.a]\ndefaults = { repeatable = true }\n";
    for text in [
        format!("{plan}\n{hedge}{branch}"),
        format!("{plan}\n{branch}\n{hedge}"),
        format!("{plan}{dotted}\n{branch}"),
    ] {
        let new = changed(&text, |spec| {
            fix(spec);
            spec.branches.iter_mut().for_each(|branch| branch.hedge = None);
            spec.hedge_budget = BudgetSpec::HEDGES;
        });
        for comment in text.lines().filter_map(|line| Some(&line[line.find('#')?..])) {
            assert!(new.lines().any(|line| line.ends_with(comment)), "no {comment:?} in\n{new}");
        }
        assert!(!new.contains("hedge"), "{new}");
    }
}
