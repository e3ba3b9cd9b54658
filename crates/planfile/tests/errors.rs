//! What a person reads when a plan file is wrong.

use fantail_planfile::Config;

/// The problems of a file, one a line, as `line:column: message`.
fn check(text: &str, expected: &[&str]) {
    let got: Vec<String> = match Config::parse("plan.toml", text) {
        Ok(_) => Vec::new(),
        Err(problems) => {
            problems.iter().map(|p| format!("{}:{}: {}", p.line(), p.column(), p.message())).collect()
        }
    };
    assert_eq!(got, expected, "{text}");
}

/// The same for a file whose plan is `a` with the branches `b` and `c`, after `lines` that state it.
fn check_plan(lines: &str, expected: &[&str]) {
    check(&format!("[plan.a]\n{lines}\n[plan.a.branch]\nb = {{}}\nc = {{}}\n"), expected);
}

#[test]
fn all_problems_are_shown_at_once_with_their_lines() {
    let text = r#"[limiter.llm]
gate = 0
[plan.enrich]
deadlin = "2s"
deadline = "2.5"
wait_for = 6
[plan.enrich.defaults]
latency = "lognormel:median=1s,sigma=0.6"
limiter = "lmm"
[plan.enrich.branch]
type = {}
dates = { optional = "yes" }
type = {}
"#;
    let problems = Config::parse("plan.toml", text).unwrap_err().to_string();
    assert_eq!(
        problems,
        r#"plan.toml:2:8: `gate`: got 0, expected at least 1
  |
2 | gate = 0
  |        ^
plan.toml:4:1: unknown key `deadlin`; did you mean `deadline`?
  |
4 | deadlin = "2s"
  | ^^^^^^^
plan.toml:5:12: `deadline`: `2.5` has no unit: write 2.5s or 2.5ms
  |
5 | deadline = "2.5"
  |            ^^^^^
plan.toml:6:12: `wait_for`: got 6, expected 1 to the number of branches, 2
  |
6 | wait_for = 6
  |            ^
plan.toml:8:12: `latency`: unknown law `lognormel`; expected `exponential`, `lognormal`, `weibull`, `gamma`, `loglogistic` or `pareto` or percentiles like p50=1s,p99=2s; did you mean `lognormal`?
  |
8 | latency = "lognormel:median=1s,sigma=0.6"
  |            ^^^^^^^^^
plan.toml:9:11: unknown limiter `lmm`; did you mean `llm`?
  |
9 | limiter = "lmm"
  |           ^^^^^
plan.toml:12:22: `optional` is the text `yes`; expected true or false
   |
12 | dates = { optional = "yes" }
   |                      ^^^^^
plan.toml:13:1: `type` is stated twice; expected it once
   |
13 | type = {}
   | ^^^^"#
    );
}

#[test]
fn syntax_errors_are_told_with_what_is_wrong_elsewhere() {
    check(
        "[plan.a]\ndeadline = 2.5s\nhedge = { after = p95 }\nroute = \"POST /a\nwait_fro = 1\n[plan.a.branch]\nb = {}\n",
        &[
            "2:12: `2.5s` without quotes is not a value; expected \"2.5s\"",
            "3:19: `p95` without quotes is not a value; expected \"p95\"",
            "4:17: invalid basic string, expected `\"`",
            "5:1: unknown key `wait_fro`; did you mean `wait_for`?",
        ],
    );
    // What a broken line would have stated is not missed.
    check(
        "[plan.a]\nwait_for = 2\n[plan.a.branch\nb = {}\n[plan.b]\nx = 1\n",
        &["3:15: unclosed table, expected `]`", "6:1: unknown key `x`"],
    );
    check("[plan.a]\nx", &["2:2: key with no value, expected `=`"]);
    check("[plan.a]\n[plan.a]\n[plan.a.branch]\nb = {}", &["2:7: `a` is stated twice; expected it once"]);
}

#[test]
fn a_file_without_a_plan_is_refused() {
    check("", &["1:1: no plan; expected at least one [plan.NAME]"]);
    check("[limiter.a]\n[plan]\n", &["2:2: no plan; expected at least one [plan.NAME]"]);
    check("plan = 1", &["1:8: `plan` is the number 1; expected tables by name, like [plan.NAME]"]);
    check("[[plan]]", &["1:1: `plan` is a list; expected tables by name, like [plan.NAME]"]);
    check("plan.a = 1", &["1:10: `a` is the number 1; expected a table"]);
    check("[plan.a]", &["1:7: plan `a` has no branches; expected [plan.a.branch] or [plan.a.each]"]);
    check("[plan.\"\"]\nbranch.b = {}", &["1:7: `name`: got an empty name, expected a name"]);
    check("[plans.a]", &["1:2: unknown key `plans`; did you mean `plan`?"]);
}

#[test]
fn an_unknown_key_is_answered_with_the_right_one() {
    check_plan(
        "timeout = \"1s\"",
        &[
            "2:1: unknown key `timeout`; write `deadline`, counted from the job's start, or a branch's `attempt_timeout`",
        ],
    );
    check_plan(
        "url = \"http://h/\"",
        &["2:1: unknown key `url` in [plan.NAME]; it belongs in [plan.NAME.defaults]"],
    );
    check_plan("zzz = 1", &["2:1: unknown key `zzz`"]);
    check_plan("defaults.required = true", &["2:10: unknown key `required`; write `optional = false`"]);
    check_plan(
        "defaults.hedge = false",
        &["2:10: unknown key `hedge` in [plan.NAME.defaults]; it belongs in [plan.NAME]"],
    );
    check(
        "[plan.a.branch.b]\nhedge = { race = 2, extra = \"5%\" }\nrepeatable = true",
        &["2:21: unknown key `extra` in the `hedge` of a branch; it belongs in the plan's `hedge`"],
    );
}

#[test]
fn a_value_of_the_wrong_kind_is_answered_with_the_right_one() {
    check_plan(
        "deadline = 2.5",
        &["2:12: `deadline` is the number 2.5; expected a duration with its unit, in quotes, like \"2.5s\""],
    );
    check_plan(
        "deadline = \"soon\"",
        &["2:12: `deadline`: `soon` is not a duration: write a number with a unit, like 2.5s"],
    );
    check_plan(
        "deadline = \"0s\"",
        &["2:12: `deadline`: got 0s, expected more than 0s and at most 31536000s (365 days)"],
    );
    check_plan(
        "wait_for = \"most\"",
        &[
            "2:12: `wait_for` is the text `most`; expected \"all\", a number of branches, or a share in quotes, like \"95%\"",
        ],
    );
    check_plan(
        "wait_for = \"1\"\nat_least = -1",
        &["3:12: `at_least` is the number -1; expected a whole number from 0 to 4294967295"],
    );
    check_plan(
        "wait_for = \"2\"",
        &["2:12: `wait_for`: `2` is in quotes; expected a plain number of branches"],
    );
    check_plan(
        "wait_for = \"101%\"",
        &["2:12: `wait_for`: `101%` is not a share; expected a share from 0% to 100%, like 95% or 0.95"],
    );
    check_plan(
        "wait_for = 0.95",
        &[
            "2:12: `wait_for` is the number 0.95; expected \"all\", a number of branches, or a share in quotes, like \"95%\"",
        ],
    );
    check_plan(
        "defaults.cost = nan",
        &["2:17: branches `b` and `c`: `cost`: got NaN, expected a finite number, not negative"],
    );
    check_plan(
        "defaults = []\nbackfill = \"on\"",
        &[
            "2:12: `defaults` is a list; expected a table",
            "3:12: `backfill` is the text `on`; expected true, false or a table, like { ttl = \"1h\" }",
        ],
    );
    check_plan(
        "backfill = true",
        &["2:12: `backfill` without an optional branch; there would be nothing to fill in"],
    );
    check_plan(
        "backfill = { ttl = \"0s\", tries = 0 }\ndefaults.optional = true",
        &["2:20: `ttl`: got 0s, expected more than 0s", "2:34: `tries`: got 0, expected at least 1"],
    );
}

#[test]
fn what_does_not_fit_together_is_told_where_it_is_stated() {
    check_plan(
        "deadline = \"1s\"\nwait_for = 3\nat_least = 3\ndefaults.deadline = \"2s\"",
        &[
            "3:12: `wait_for`: got 3, expected 1 to the number of branches, 2",
            "4:12: `at_least`: got 3, expected at most what the job waits for, 2",
            "5:21: branches `b` and `c`: `deadline`: got 2s, expected at most the job's deadline, 1s",
        ],
    );
    check_plan("defaults.weight = 2", &["2:19: `weight` without `limiter`; it would do nothing"]);
    check(
        "[limiter.l]\ngate = 2\n[plan.a.branch]\nb = { limiter = \"l\", weight = 3 }",
        &["4:31: branch `b`: `weight`: got 3, expected 1 to the limiter's capacity, 2"],
    );
    check(
        "[plan.a.branch]\nb = { limiter = \"l\", url = \"http://h/\", targets = [] }",
        &[
            "2:17: unknown limiter `l`; expected a [limiter.NAME] in this file",
            "2:41: `targets` beside `url`; expected one of them",
            "2:51: `targets` is a list; expected a list of at least one URL",
        ],
    );
}

#[test]
fn limiters_are_checked() {
    let plan = "[plan.a.branch.b]\n";
    check(
        &format!("[limiter.l]\nrate = \"fast\"\nburst = 5\n{plan}"),
        &[
            "2:8: `rate`: `fast` is not a rate; expected permits in a time, in quotes, like \"300/min\" or \"20/10s\"",
        ],
    );
    check(
        &format!("[limiter.l]\nrate = \"0/s\"\nburst = 0\npushback_cap = \"0s\"\n{plan}"),
        &[
            "2:8: `rate`: got 0, expected at least 1",
            "3:9: `burst`: got 0, expected at least 1",
            "4:16: `pushback_cap`: got 0s, expected more than 0s and at most 31536000s (365 days)",
        ],
    );
    check(
        &format!("[limiter.l]\nrate = \"5/s\"\n[limiter.m]\nburst = 5\n{plan}"),
        &[
            "2:1: `rate` without `burst`; expected how many may start at once after an idle time",
            "4:1: `burst` without `rate`; it would do nothing",
        ],
    );
}

#[test]
fn names_hold_nothing_that_a_terminal_obeys() {
    check(
        "[plan.\"a\\u001b\"]",
        &[
            "1:7: `name`: got `a\\u{1b}`, expected no control characters",
            "1:7: plan `a\\u{1b}` has no branches; expected [plan.a\\u{1b}.branch] or [plan.a\\u{1b}.each]",
        ],
    );
    check(
        "[limiter.\"\\u0007\"]\ngate = 1\n[plan.\"a\\n\".branch.\"b\\u001b[31m\"]",
        &[
            "1:10: `name`: got `\\u{7}`, expected no control characters",
            "3:7: `name`: got `a\\n`, expected no control characters",
            "3:20: `name`: got `b\\u{1b}[31m`, expected no control characters",
        ],
    );
    check(
        "[plan.a.each]\ncount = 2\nname = \"\\u0000{i}\"",
        &["3:8: `name`: got `\\0{i}`, expected no control characters"],
    );
}

#[test]
fn each_needs_a_count_and_names_of_their_own() {
    check(
        "[plan.a.each]\n",
        &[
            "1:9: `each` has no `count`; expected how many branches there are",
            "1:9: `each` has no `name`; expected one, like name = \"shard-{i}\"",
        ],
    );
    check(
        "[plan.a]\nwait_for = 9\n[plan.a.each]\ncount = 5\nname = \"x\"",
        &[
            "2:12: `wait_for`: got 9, expected 1 to the number of branches, 5",
            "5:8: `name`: all branches would have the same; expected {i} in it",
        ],
    );
    check(
        "[plan.a.each]\ncount = 0\nname = \"x{j}\"",
        &[
            "2:9: `count`: got 0, expected 1 to 1000000 branches",
            "3:8: `name`: `x{j}` has a brace that is not of {i}",
        ],
    );
    check(
        "[plan.a.each]\ncount = 2\nname = \"x{i}\"\n[plan.a.branch.x1]\n",
        &["4:16: branch `x1`: `name`: got `x1` twice, expected a name of its own"],
    );
}

#[test]
fn hedges_are_checked() {
    let check_hedge = |hedge: &str, expected: &[&str]| {
        check_plan(&format!("hedge = {hedge}\ndefaults.repeatable = true\ndeadline = \"1s\""), expected);
    };
    check_hedge("true", &["2:9: `hedge` is true; expected false or a table, like { after = \"p95\" }"]);
    check_hedge("{}", &["2:1: `hedge` has neither `after` nor `race`; expected one of them"]);
    check_hedge(
        "{ after = \"p95\" }",
        &["2:19: branches `b` and `c`: p95 of what? expected a `latency` or `warming`"],
    );
    check_hedge(
        "{ after = \"p950\" }",
        &[
            "2:20: `after`: `p950` is not a percentile; expected one between 0 and 1, like p99, 0.99 or 1-1e-6",
        ],
    );
    check_hedge("{ after = 1.5, race = 2 }", &["2:24: `race` beside `after`; expected one of them"]);
    check_hedge(
        "{ after = [\"0.2s\", \"0.1s\"], floor = \"5ms\" }",
        &[
            "2:19: branches `b` and `c`: `hedge`: got 200ms, 100ms, expected delays that do not decrease",
            "2:37: `floor` without a percentile in `after`; it would do nothing",
        ],
    );
    check_hedge(
        "{ after = \"p95\", warming = \"1s\", floor = \"3s\", cap = \"2s\" }",
        &["2:50: `floor`: got 3s, expected at most `cap`, 2s"],
    );
    check_hedge(
        "{ after = \"900ms\", min_useful = \"200ms\" }",
        &[
            "2:19: branches `b` and `c`: a copy due after 900ms would never be sent; the deadline 1s less 200ms, \
         what a copy needs (`min_useful`), leaves 800ms",
        ],
    );
    check_hedge("{ race = 17, burst = 5 }", &["2:18: `race`: got 17, expected 2 to 16 attempts"]);
    check_hedge(
        "{ race = 2, distinct = true, extra = \"5%\" }",
        &[
            "2:32: branches `b` and `c`: `distinct`: got 1 target, expected more targets than copies, at least 2",
            "2:38: `extra` beside `race`; a race has no budget",
        ],
    );
    check_hedge(
        "{ after = \"1ms\", extra = 5, burst = 0 }",
        &[
            "2:34: `extra` is the number 5; expected a share in quotes, like \"5%\"",
            "2:45: `burst`: got 0, expected at least 1",
        ],
    );
    check_plan(
        "hedge = { race = 2 }",
        &[
            "2:18: branches `b` and `c`: `hedge`: got copies of a branch that may run once, expected a repeatable branch; \
         state `repeatable = true` if its request may be sent twice, else `hedge = false`",
        ],
    );
}

#[test]
fn routes_and_urls_are_checked() {
    check_plan(
        "route = \"POST /a\"",
        &[
            "4:1: branch `b` has neither `url` nor `targets`, but its plan has a route",
            "5:1: branch `c` has neither `url` nor `targets`, but its plan has a route",
        ],
    );
    check_plan(
        "route = \"PSOT /a/{id}\"\ndefaults.url = \"http://h/{id}\"",
        &[
            "2:10: `route`: `PSOT` is not a method; expected `GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE` or `OPTIONS`; \
         did you mean `POST`?",
        ],
    );
    check_plan(
        "route = \"GET /a/{id}\"\ndefaults.url = \"http://h/{ID}/{brunch}\"",
        &[
            "3:26: `url`: unknown placeholder `{ID}`; expected `branch`, `i`, `query` or `id` in braces; did you mean `id`?",
            "3:31: `url`: unknown placeholder `{brunch}`; expected `branch`, `i`, `query` or `id` in braces; \
         did you mean `branch`?",
        ],
    );
    let plan = |name: &str, lines: &str| {
        format!("[plan.{name}]\n{lines}\nbranch.x = {{ url = \"http://h/\", optional = true }}\n")
    };
    check(
        &(plan("a", "route = \"GET /a/{x}\"") + &plan("b", "route = \"GET /a/{y}\"")),
        &["5:9: `route`: plan `a` answers `GET /a/{x}` already; expected a route of its own"],
    );
    check(
        &(plan("a", "route = \"POST /a\"\nbackfill = true") + &plan("b", "route = \"GET /a/jobs/{y}\"")),
        &["6:9: `route`: plan `a` answers `GET /a/jobs/{job}` already; expected a route of its own"],
    );
    check(&(plan("a", "route = \"POST /a\"") + &plan("b", "route = \"GET /a\"")), &[]);
}

#[test]
fn a_place_in_a_text_with_escapes_is_the_whole_text() {
    check(
        "[plan.a.branch.b]\nlatency = \"exponential:m\\u0065n=1s\"",
        &[
            "2:11: `latency`: exponential has no mean; expected one, like mean=1s",
            "2:11: `latency`: exponential has no parameter `men`; expected `mean` or `shift`; did you mean `mean`?",
        ],
    );
}

#[test]
fn bytes_that_are_no_text_are_told_at_their_place() {
    let problems = Config::parse("plan.toml", b"[plan.a]\nx = \"\xff\"").unwrap_err().to_string();
    assert_eq!(
        problems,
        "plan.toml:2:6: the byte 0xff is not UTF-8 text\n  |\n2 | x = \"\u{fffd}\"\n  |      ^"
    );
}
