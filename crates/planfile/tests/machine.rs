//! Keys for the order of branches, failover, and jobs that measure: what they state, and what is said when they are wrong.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_core::{BudgetSpec, Leader, Plan, Time};
use fantail_planfile::{Config, rewrite};

fn plan(text: &str) -> Plan {
    let config = Config::parse("plan.toml", text);
    config.unwrap_or_else(|problems| panic!("{problems}\n{text}")).plans.remove(0).plan
}

/// The problems of a file, one a line, as `line:column: message`.
fn check(text: &str, expected: &[&str]) {
    let problems = Config::parse("plan.toml", text).expect_err(text);
    let got: Vec<String> =
        problems.iter().map(|p| format!("{}:{}: {}", p.line(), p.column(), p.message())).collect();
    assert_eq!(got, expected, "{text}");
}

/// All of the keys, with comments.
const ALL: &str = "\
[limiter.llm]
rate = \"300/min\"
burst = 5
strict = true           # the provider counts windows
backfill_share = \"10%\"

[plan.a]
wait_for = 3
deadline = \"2.5s\"
observe = \"1%\"          # for the p95
holdout = \"0.5%\"
hedge = { after = \"p95\", warming = \"1s\" }
failover = { extra = \"8%\", burst = 5, in_flight = 3 }
leader = { branch = \"parse\", head_start = \"300ms\" }

[plan.a.defaults]
targets = [\"http://127.0.0.1:9001/\", \"http://127.0.0.1:9002/\"]
limiter = \"llm\"
repeatable = true

[plan.a.branch]
parse = { failover = false }
score = { after = [\"parse\", \"page-{i}\"], tolerates_missing = true } # and gets what there is

[plan.a.each]
count = 2
name = \"page-{i}\"
";

#[test]
fn the_keys_state_a_plan_and_stay_when_it_is_rewritten() {
    let plan = plan(ALL);
    let limiter = &plan.limiters()[0];
    assert_eq!((limiter.strict, limiter.backfill_share), (true, 100_000));
    assert_eq!((plan.observe(), plan.holdout()), (10_000, 5_000));
    assert_eq!(plan.failover_budget(), BudgetSpec { share: 80_000, burst: 5, in_flight: Some(3) });
    assert_eq!(plan.leader(), Some(Leader { branch: 0, head_start: Time::from_millis(300) }));
    let names: Vec<&str> = plan.branches().iter().map(|branch| branch.name.as_str()).collect();
    assert_eq!(names, ["parse", "score", "page-0", "page-1"]);
    assert_eq!(plan.branches()[1].after, [0, 2, 3]);
    let each =
        |get: fn(&fantail_core::Branch) -> bool| plan.branches().iter().map(get).collect::<Vec<bool>>();
    assert_eq!(each(|branch| branch.tolerates_missing), [false, true, false, false]);
    assert_eq!(each(|branch| branch.failover), [false, true, true, true]);
    assert!(plan.live_delays().iter().all(|delay| !delay.biased));

    let mut spec = plan.spec();
    spec.deadline = Some(Time::from_secs(2));
    spec.branches.iter_mut().for_each(|branch| branch.deadline = None);
    let shorter = Plan::new(spec).unwrap();
    assert_eq!(rewrite("plan.toml", ALL, &shorter).unwrap(), ALL.replace("2.5s", "2s"));
}

#[test]
fn first_k_without_observe_is_biased() {
    let text = ALL.replace("observe = \"1%\"", "");
    assert!(plan(&text).live_delays().iter().all(|delay| delay.biased));
}

#[test]
fn failover_is_on_for_all_or_for_some() {
    let fails_over = |lines: &str, b: &str, c: &str| {
        let targets = "targets = [\"http://a/\", \"http://b/\"]";
        let text = format!(
            "[plan.a]\n{lines}\n[plan.a.defaults]\nrepeatable = true\n{targets}\n[plan.a.branch]\nb = {{ {b} }}\nc = {{ {c} }}\n"
        );
        plan(&text).branches().iter().map(|branch| branch.failover).collect::<Vec<bool>>()
    };
    assert_eq!(fails_over("", "", ""), [false, false]);
    assert_eq!(fails_over("failover = true", "", "failover = false"), [true, false]);
    assert_eq!(fails_over("failover = false", "failover = true", ""), [true, false]);
    assert_eq!(fails_over("failover = {}", "", ""), [true, true]);
}

#[test]
fn an_order_that_can_not_be_is_refused_where_it_is_stated() {
    let of = |b: &str, c: &str| format!("[plan.a.branch]\nb = {{ {b} }}\nc = {{ {c} }}\n");
    check(
        &of("", "after = [\"B\", \"bb\"]"),
        &[
            "3:16: `after`: no branch is named `B`; did you mean `b`?",
            "3:21: `after`: no branch is named `bb`",
        ],
    );
    check(
        &of("", "after = \"b\""),
        &["3:15: `after` is the text `b`; expected a list of branches, like [\"a\", \"b\"]"],
    );
    check(
        &of("", "after = [1]"),
        &["3:16: `after` is the number 1; expected a list of branches, like [\"a\", \"b\"]"],
    );
    check(
        &of("after = [\"c\"]", "after = [\"b\"]"),
        &[
            "2:15: branch `b`: `after`: got `b` after `c` after `b`, expected no branch that comes after itself",
        ],
    );
    check(
        &of("", "after = [\"b\", \"b\"]"),
        &["3:15: branch `c`: `after`: got `b` twice, expected every branch once"],
    );
    check(
        &of("optional = true", "after = [\"b\"]"),
        &[
            "3:15: branch `c`: `after`: got `b`, which is optional, expected required branches, or that it tolerates missing",
        ],
    );
    check(
        &of("", "tolerates_missing = true"),
        &["3:7: `tolerates_missing` without `after`; it would do nothing"],
    );
    check(
        "[plan.a.defaults]\nafter = [\"b\"]\n[plan.a.branch.b]\n",
        &["2:1: unknown key `after` in [plan.NAME.defaults]; it belongs in the plan's `hedge`"],
    );
}

#[test]
fn a_leader_is_one_branch_with_a_head_start() {
    let of = |leader: &str| {
        format!("[plan.a]\nleader = {leader}\n[plan.a.branch]\nb = {{}}\nc = {{ after = [\"b\"] }}\n")
    };
    let expected = "expected both, like { branch = \"b\", head_start = \"1s\" }";
    check(&of("{ branch = \"b\" }"), &[&format!("2:1: `leader` has no `head_start`; {expected}")]);
    check(&of("{ head_start = \"1s\" }"), &[&format!("2:1: `leader` has no `branch`; {expected}")]);
    check(
        &of("\"b\""),
        &["2:10: `leader` is the text `b`; expected a table, like { branch = \"b\", head_start = \"1s\" }"],
    );
    check(
        &of("{ branch = \"d\", head_start = \"0s\" }"),
        &["2:39: `head_start`: got 0s, expected more than 0s"],
    );
    check(&of("{ branch = \"d\", head_start = \"1s\" }"), &["2:21: `leader`: no branch is named `d`"]);
    check(
        &of("{ branch = \"c\", head_start = \"1s\" }"),
        &["2:21: `leader`: got `c`, which comes after others, expected a branch that comes after no other"],
    );
    check(
        "[plan.a]\nleader = { branch = \"x-{i}\", head_start = \"1s\" }\neach = { count = 2, name = \"x-{i}\" }",
        &["2:21: `leader`: `x-{i}` is many branches; expected one"],
    );
}

#[test]
fn failover_needs_targets_and_a_repeatable_branch() {
    check(
        "[plan.a]\nfailover = true\n[plan.a.branch]\nb = {}\nc = { failover = false }\n",
        &[
            "2:12: branch `b`: `failover`: got 1 target, expected another target, at least 2",
            "2:12: branch `b`: `failover`: got a branch that may run once, expected a repeatable branch",
        ],
    );
    check(
        "[plan.a]\nfailover = { extra = \"8\", burst = 0 }\n[plan.a.branch.b]\n",
        &[
            "2:12: branch `b`: `failover`: got 1 target, expected another target, at least 2",
            "2:12: branch `b`: `failover`: got a branch that may run once, expected a repeatable branch",
            "2:22: `extra`: `8` is not a share; expected a share from 0% to 100%, like 95% or 0.95",
            "2:35: `burst`: got 0, expected at least 1",
        ],
    );
    check(
        "[plan.a]\nfailover = \"yes\"\n[plan.a.branch.b]\n",
        &["2:12: `failover` is the text `yes`; expected true, false or a table, like { extra = \"10%\" }"],
    );
}

#[test]
fn jobs_that_measure_are_shares_with_something_to_measure() {
    let of = |lines: &str| format!("[plan.a]\n{lines}\n[plan.a.branch.b]\nrepeatable = true\n");
    check(
        &of("observe = \"1%\""),
        &["2:11: `observe`: got no deadline, expected a deadline, which ends what is observed"],
    );
    check(&of("holdout = \"1%\""), &["2:11: `holdout` without copies; it would do nothing"]);
    check(
        &of("deadline = \"9s\"\nhedge = { race = 2 }\nobserve = \"60%\"\nholdout = \"60%\""),
        &[
            "4:11: `observe`: got 600000 and a holdout of 600000 parts per million, expected at most 1000000 together",
        ],
    );
    assert_eq!(plan(&of("deadline = \"9s\"\nobserve = \"100%\"")).observe(), 1_000_000);
}

#[test]
fn a_strict_limiter_has_a_rate_above_its_burst() {
    let of = |lines: &str| format!("[limiter.l]\n{lines}\n[plan.a.branch.b]\nlimiter = \"l\"\n");
    check(&of("strict = true"), &["2:10: `strict`: got no rate, expected a rate"]);
    check(
        &of("rate = \"5/s\"\nburst = 5\nstrict = true"),
        &["3:9: `burst`: got 5, expected less than the permits of a strict rate, 5"],
    );
    // What a rate would have been is not known.
    check(
        &of("rate = \"5\"\nburst = 1\nstrict = true"),
        &[
            "2:8: `rate`: `5` is not a rate; expected permits in a time, in quotes, like \"300/min\" or \"20/10s\"",
        ],
    );
    check(
        &of("backfill_share = 10"),
        &["2:18: `backfill_share` is the number 10; expected a share in quotes, like \"5%\""],
    );
}
