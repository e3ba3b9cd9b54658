//! `--explain`, `--rho` and shapes.

use serde_json::Value;

use crate::support::{EIGHT, FIVE, Folder, json, number, only, refuses, succeeds};

fn explained(args: &[&str]) -> Value {
    only(&[args, &["--explain"]].concat())["explained"].clone()
}

fn trap<'v>(explained: &'v Value, name: &str) -> Option<&'v Value> {
    explained["traps"].as_array().unwrap().iter().find(|trap| trap["trap"] == name)
}

#[test]
fn each_change_is_what_that_plan_alone_is() {
    let explained = explained(&[&EIGHT[..], &["-s", "all"]].concat());
    let levers = explained["levers"].as_array().unwrap();
    for change in ["hedge:p95", "race:2", "first:7"] {
        let lever = levers.iter().find(|lever| lever["change"] == change).unwrap();
        let alone = only(&[&EIGHT[..], &["-s", change]].concat());
        let (got, expected) = (number(&lever["p99_s"]), number(&alone["quantiles_s"]["p99"]));
        assert!((got / expected - 1.0).abs() < 1e-8, "{change}: {got} is not {expected}");
    }
    let times: Vec<f64> = levers.iter().map(|lever| number(&lever["p99_s"])).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert!(times.iter().all(|time| *time < number(&explained["p99_s"])), "{times:?}");
    assert_eq!(explained["traps"], serde_json::json!([]));
}

#[test]
fn at_a_deadline_changes_are_judged_by_complete_jobs() {
    let explained = explained(&[&FIVE[..], &["-s", "deadline:2s"]].concat());
    let shares: Vec<f64> =
        explained["levers"].as_array().unwrap().iter().map(|lever| number(&lever["complete"])).collect();
    assert!(shares.len() > 3 && shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
    assert!(shares[0] > number(&explained["complete"]));
}

#[test]
fn a_share_that_spares_no_branch_is_pointed_out() {
    let share = |n: &str| explained(&["-n", n, "-l", EIGHT[3], "-s", "share:95%"]);
    let at_19 = share("19");
    assert_eq!(trap(&at_19, "share_is_all").unwrap()["figures"]["spares_from_n"], 20.0);
    assert_eq!(trap(&share("20"), "share_is_all"), None);
}

#[test]
fn more_requests_are_told_from_more_work() {
    let explained = explained(&[&EIGHT[..], &["-s", "hedge:p95"]].concat());
    let figures = &trap(&explained, "requests_are_not_work").unwrap()["figures"];
    let close =
        |name: &str, expected: f64| assert!((number(&figures[name]) - expected).abs() < 5e-4, "{figures}");
    close("extra_requests", 0.05);
    close("extra_busy", 0.0112);
    close("extra_busy_if_losers_run_on", 0.05);
}

#[test]
fn a_copy_with_little_time_left_is_pointed_out() {
    let explained = explained(&[&FIVE[..], &["-s", "hedge:1.5s+deadline:2.5s"]].concat());
    let figures = &trap(&explained, "copy_has_little_time").unwrap()["figures"];
    assert_eq!(number(&figures["left_s"]), 1.0);
    // S(2.5 s) S(1.0 s), by the log-normal that goes through the percentiles.
    assert!((number(&figures["both_miss"]) / 0.001_826 - 1.0).abs() < 1e-2, "{figures}");
}

#[test]
fn another_tail_through_the_same_percentiles_is_shown() {
    let explained = explained(&[&FIVE[..], &["-s", "all"]].concat());
    let figures = &trap(&explained, "tail_beyond_the_data").unwrap()["figures"];
    assert!(number(&figures["other_p999_s"]) > 1.2 * number(&figures["p999_s"]), "{figures}");
    // A deadline within the data hides the tail.
    let cut = self::explained(&[&FIVE[..], &["-s", "deadline:1.5s"]].concat());
    assert_eq!(trap(&cut, "tail_beyond_the_data"), None, "{cut}");
    let stated = self::explained(&[&EIGHT[..], &["-s", "all"]].concat());
    assert_eq!(trap(&stated, "tail_beyond_the_data"), None);
}

#[test]
fn what_counts_the_wait_for_a_permit_is_said() {
    let plan = "\
[limiter.llm]
gate = 10
[plan.a.branch]
b = { limiter = \"llm\", latency = \"exponential:mean=1s\", attempt_timeout = \"3s\" }
";
    let folder = Folder::new();
    let timeout = explained(&[&folder.file("timeout.toml", plan)]);
    assert!(trap(&timeout, "timeout_omits_waiting").is_some(), "{timeout}");
    let with_deadline = plan.replace("[plan.a.branch]", "[plan.a]\ndeadline = \"4s\"\n[plan.a.branch]");
    let deadline = explained(&[&folder.file("deadline.toml", &with_deadline)]);
    assert_eq!(trap(&deadline, "deadline_counts_waiting").unwrap()["figures"]["deadline_s"], 4.0);
    assert!(trap(&deadline, "timeout_omits_waiting").is_none());
}

#[test]
fn the_text_has_the_changes_in_a_table() {
    let text = succeeds(&[&EIGHT[..], &["-s", "share:95%", "--explain", "-p", "p99"]].concat());
    for line in ["share:95%, explained", "none                  6.13 s     100 %"] {
        assert!(text.lines().any(|got| got == line), "no {line:?} in:\n{text}");
    }
    assert!(
        text.contains("\n- 95 % of 8 branches, rounded up, are all 8: this barrier spares none."),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    refuses(
        &[&EIGHT[..], &["--explain", "-f", "csv"]].concat(),
        &["--explain is prose; expected --format text or json"],
    );
    refuses(&[&EIGHT[..], &["--explain", "--sweep", "sigma=1..2"]].concat(), &["cannot be used with"]);
}

/// Where bounds of time cut what late answers would complete, later ones are what helps.
#[test]
fn bounds_of_branches_and_attempts_are_levers() {
    let folder = Folder::new();
    let plan = |x: &str, y: &str| {
        format!(
            "[plan.a.defaults]\nlatency = \"lognormal:median=1s,sigma=0.6\"\n[plan.a.branch]\n\
             x = {{ optional = true, {x} }}\ny = {{ {y} }}\n"
        )
    };
    let of = |text: &str| explained(&[&folder.file("plan.toml", text)]);
    let cut = plan("deadline = \"2.8s\"", "attempt_timeout = \"3s\"");
    for (change, then) in [
        ("deadline of `x` 3.50 s", plan("deadline = \"3.5s\"", "attempt_timeout = \"3s\"")),
        ("attempt timeout of `y` 3.75 s", plan("deadline = \"2.8s\"", "attempt_timeout = \"3.75s\"")),
    ] {
        let found = of(&cut);
        let lever = found["levers"].as_array().unwrap().iter().find(|lever| lever["change"] == change);
        let lever = lever.unwrap_or_else(|| panic!("no {change:?} in {found}"));
        let alone = of(&then);
        assert_eq!((&lever["complete"], &lever["p99_s"]), (&alone["complete"], &alone["p99_s"]), "{change}");
        assert!(number(&lever["complete"]) > number(&found["complete"]));
    }
    let late = explained(&[&FIVE[..], &["-s", "deadline:2s"]].concat());
    assert!(
        late["levers"].as_array().unwrap().iter().any(|lever| lever["change"] == "deadline 2.50 s"),
        "{late}"
    );
}

#[test]
fn what_is_not_repeatable_is_not_to_be_copied() {
    let folder = Folder::new();
    let changes = |first: bool, second: bool| -> Vec<String> {
        let text = format!(
            "[plan.a.defaults]\nlatency = \"lognormal:median=1s,sigma=0.6\"\n[plan.a.branch]\n\
             x = {{ repeatable = {first} }}\ny = {{ repeatable = {second}, cost = 1 }}\n"
        );
        let found = explained(&[&folder.file("plan.toml", &text)]);
        let levers = found["levers"].as_array().unwrap().iter();
        levers
            .map(|lever| {
                format!("{} {}", lever["change"].as_str().unwrap(), lever["price"].as_str().unwrap())
            })
            .collect()
    };
    let race = |changes: Vec<String>| changes.into_iter().find(|change| change.starts_with("race:2"));
    assert_eq!(race(changes(false, false)), None);
    assert!(race(changes(true, true)).unwrap().starts_with("race:2 +100.0 % requests"));
    assert!(race(changes(false, true)).unwrap().starts_with("race:2 +50.0 % requests"));
}

#[test]
fn branches_one_after_another_are_explained() {
    let of = |shape: &str| explained(&[&EIGHT[..], &["-s", shape]].concat());
    let lever = |found: &Value, change: &str| {
        let found =
            found["levers"].as_array().unwrap().iter().find(|lever| lever["change"] == change).cloned();
        found.map(|lever| number(&lever["p99_s"]))
    };
    let p99 = |strategy: &str, law: &str| {
        number(&only(&["-n", "8", "-l", law, "-s", strategy])["quantiles_s"]["p99"])
    };
    let sequential = of("sequential");
    for (change, expected) in [
        ("batch:4", p99("batch:4", EIGHT[3])),
        ("all at once", p99("all", EIGHT[3])),
        ("race:2", p99("sequential+race:2", EIGHT[3])),
        ("hedge:p95", p99("sequential+hedge:p95", EIGHT[3])),
        ("sigma 0.1 less", p99("sequential", "lognormal:median=1s,sigma=0.5")),
        ("calls 10 % faster", p99("sequential", "lognormal:median=0.9s,sigma=0.6")),
    ] {
        let found = lever(&sequential, change).unwrap_or_else(|| panic!("no {change:?} in {sequential}"));
        assert!((found / expected - 1.0).abs() < 2e-3, "{change}: {found} is not {expected}");
    }
    let added = trap(&sequential, "percentiles_do_not_add").unwrap();
    assert!((number(&added["figures"]["p99_of_calls_added_s"]) - 32.31).abs() < 0.01, "{added}");
    let bounds = trap(&sequential, "bounds").unwrap();
    assert!(number(&bounds["figures"]["p99_lower_s"]) <= number(&sequential["p99_s"]), "{bounds}");
    let batch = of("batch:3");
    assert_eq!(trap(&batch, "batches_run_side_by_side").unwrap()["figures"]["last_task"], 2.0);
    assert_eq!(lever(&batch, "batch:2").unwrap(), p99("batch:2", EIGHT[3]));
    let tree = of("tree:2x4");
    let flat = trap(&tree, "tree_is_one_barrier").unwrap();
    assert!(
        (number(&flat["figures"]["p99_without_tree_s"]) / number(&tree["p99_s"]) - 1.0).abs() < 2e-3,
        "{flat}"
    );
    // Half of the branches are a tree of half the leaves.
    assert!(lever(&tree, "half of the branches").is_some(), "{tree}");
}

#[test]
fn shared_luck_makes_copies_worth_less() {
    let p99 = |rho: &[&str]| {
        let report = json(&[&EIGHT[..], &["-s", "all", "-s", "hedge:p95"], rho].concat());
        let of = |i: usize| number(&report["strategies"][i]["quantiles_s"]["p99"]);
        (of(0), of(1))
    };
    let (alone, hedged) = p99(&[]);
    let (together, shared) = p99(&["--rho", "job=.2,branch=.3"]);
    let (same, nothing) = p99(&["--rho", "branch=1"]);
    assert!(together < alone && together - shared < alone - hedged, "{together} {shared}");
    // All of a branch's luck is shared by its copies, none of it by branches.
    assert!((same / alone - 1.0).abs() < 1e-9 && (nothing / same - 1.0).abs() < 1e-9, "{same} {nothing}");
    let report = json(&[&EIGHT[..], &["--rho", "job=.2"]].concat());
    assert_eq!(report["rho"], serde_json::json!({ "job": 0.2, "branch": 0.0 }));
    assert!(number(&report["strategies"][0]["slowest_percent"]) < 1.0 - 0.99_f64.powi(8));
}

#[test]
fn shares_that_cannot_be_are_refused() {
    let check = |rho: &'static str, why: &str| {
        refuses(&[&EIGHT[..], &["--rho", rho]].concat(), &[why, "expected shares from 0 to 1"]);
    };
    check("0.3", "a share has a name and a value");
    check("jub=0.3", "`jub` shares nothing");
    check("job=x", "`x` is not a number");
    check("job=.1,job=.2", "`job` twice");
    check("job=2", "job share: got 2");
    check("job=.8,branch=.3", "branch share: got 0.3, expected at most 1 with the job share, 0.8");
}

#[test]
fn branches_one_after_another_are_bounded() {
    let args = [&FIVE[..], &["-s", "sequential", "-p", "p50,p99"]].concat();
    let strategy = only(&args);
    assert_eq!((&strategy["plan"]["shape"], &strategy["method"]), (&"sequential".into(), &"bounded".into()));
    for percentile in ["p50", "p99"] {
        let [lower, upper] =
            [0, 1].map(|i| number(&strategy["bounds"][format!("quantiles_s.{percentile}")][i]));
        let value = number(&strategy["quantiles_s"][percentile]);
        assert!(
            lower <= value && value <= upper && upper / lower < 1.001,
            "{percentile}: {lower} {value} {upper}"
        );
    }
    let text = succeeds(&args);
    assert!(text.contains("Figures are between bounds"), "{text}");
    refuses(&[&args[..], &["--required", "3"]].concat(), &["--required 3 beside the shape of `sequential`"]);
    refuses(&[&args[..], &["--rho", "job=.1"]].concat(), &["--rho job=.1 beside the shape of `sequential`"]);
    refuses(&[&args[..], &["--plot", "-", "--view", "pdf"]].concat(), &["bounds, which have no density"]);
}

#[test]
fn every_attempt_of_late_copies_is_counted_for_the_branches_it_is_about() {
    let folder = Folder::new();
    let plan = r#"[plan.two]
deadline = "2.5s"
hedge = { after = ["1s", "1.4s"], extra = "100%" }
[plan.two.defaults]
repeatable = true
latency = "lognormal:median=1s,sigma=0.6"
[plan.two.branch]
a = {}
b = {}
c = { latency = "lognormal:median=0.8s,sigma=0.6" }
"#;
    let explained = explained(&[&folder.file("plan.toml", plan)]);
    let traps = explained["traps"].as_array().unwrap();
    let late: Vec<&Value> = traps.iter().filter(|trap| trap["trap"] == "copy_has_little_time").collect();
    // S(2.5 s) S(1.5 s) S(1.1 s) of each law, by another program's normal law.
    let expected = [("`a`, `b`: ", 0.006_909_275_233), ("`c`: ", 0.001_263_164_261)];
    assert_eq!(late.len(), expected.len());
    for (trap, (names, missed)) in late.into_iter().zip(expected) {
        assert!(trap["text"].as_str().unwrap().starts_with(names), "{trap}");
        assert!((number(&trap["figures"]["both_miss"]) / missed - 1.0).abs() < 1e-8, "{trap}");
    }
}

#[test]
fn a_copy_that_just_has_the_time_it_needs_is_sent() {
    let explained = explained(&["-n", "20", "-l", EIGHT[3], "-s", "hedge:p80+deadline:1.9s"]);
    assert_eq!(trap(&explained, "copy_is_never_sent"), None);
    assert!(number(&trap(&explained, "requests_are_not_work").unwrap()["figures"]["extra_requests"]) > 0.5);
}

#[test]
fn one_branch_after_another_is_called_while_answers_are_missing() {
    let strategy = only(&[&EIGHT[..], &["-s", "sequential+first:3"]].concat());
    assert!((number(&strategy["slowest_percent"]) - (1.0 - 0.99_f64.powi(3))).abs() < 1e-12);
}

#[test]
fn what_rounding_leaves_of_a_change_is_none() {
    let race = ["-n", "8", "-l", "exponential:mean=1s", "-s", "race:2"];
    let text = succeeds(&[&race[..], &["-a", "extra_busy<=0%"]].concat());
    assert!(!text.contains("e-1"), "{text}");
}

#[test]
fn the_same_strategy_twice_is_two_curves() {
    let twice = ["-s", "all", "-s", "all", "--sweep", "deadline=1s..3s:3"];
    let text = succeeds(&[&EIGHT[..], &twice].concat());
    assert_eq!(text.matches("\nall\n").count(), 2, "{text}");
    refuses(
        &[&EIGHT[..], &["--plot", "-", "--view", "cdf", "--sweep", "deadline=1s..3s:9"]].concat(),
        &["fewer values are deadline=0.5s..5s:4, say"],
    );
}

#[test]
fn what_leaves_waits_that_nobody_takes_is_not_recommended() {
    let wide = ["-n", "5", "--latency", "lognormal:median=1s,sigma=20"];
    let explained = explained(&wide);
    assert_eq!(explained["levers"], serde_json::json!([]));
    assert!(number(&explained["levers_beyond_reach"]) > 3.0, "{explained}");
    let text = succeeds(&[&wide[..], &["--explain"]].concat());
    assert!(text.contains("Nothing in reach helps: what was tried leaves a p99 beyond 8760 h."), "{text}");
}

/// A quarter more of a nanosecond helps nobody.
#[test]
fn a_deadline_that_cuts_nearly_all_is_tried_where_it_cuts_few() {
    let law = "lognormal:median=1s,sigma=2";
    let check = |args: &[&str], change: &str| {
        let explained = explained(args);
        let levers = explained["levers"].as_array().unwrap();
        let lever = levers.iter().find(|lever| lever["change"] == change);
        let lever = lever.unwrap_or_else(|| panic!("no {change:?} in {explained}"));
        assert!((number(&lever["complete"]) - 0.95).abs() < 1e-3, "{lever}");
    };
    // exp(2 z), for z of 0.95^(1/5), which another program's normal law gives as 2.3187.
    check(&["-n", "5", "-l", law, "-s", "deadline:1ns"], "deadline 103 s");
    let folder = Folder::new();
    let plan = format!("[plan.a.branch]\nx = {{ latency = \"{law}\", deadline = \"1ns\" }}\n");
    // exp(2 z), for z of 0.95.
    check(&[&folder.file("plan.toml", &plan)], "deadline of `x` 26.8 s");
}

#[test]
fn long_words_are_folded_beside_their_figures() {
    let folder = Folder::new();
    let branch = |i: usize| {
        format!(
            "a-branch-with-quite-a-name-{i} = {{ deadline = \"{}s\", latency = \"exponential:mean=1s\" }}\n",
            i + 1
        )
    };
    let plan = format!("[plan.a]\n[plan.a.branch]\n{}", (0..6).map(branch).collect::<String>());
    let text = succeeds(&[&folder.file("plan.toml", &plan), "--explain"]);
    let (_, table) = text.split_once("a, explained\n").unwrap();
    assert_eq!(table.matches("one change").count(), 1, "{text}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// What a row of like branches names: their number, law and short form.
fn named(n: u32, law: &str, form: &str, change: &str) -> [String; 3] {
    match change {
        "half of the branches" => [n.div_ceil(2).to_string(), law.to_owned(), form.to_owned()],
        "calls 10 % faster" => [n.to_string(), law.replace("=1s", "=0.9s"), form.to_owned()],
        "sigma 0.1 less" => [n.to_string(), law.replace("sigma=0.6", "sigma=0.5"), form.to_owned()],
        clause => {
            let clause = clause.replace("deadline ", "deadline:").replace(' ', "");
            let word = if clause.starts_with("first") { "all" } else { clause.split(':').next().unwrap() };
            let others = form.split('+').filter(|other| !other.starts_with(word));
            let form: Vec<&str> = others.chain([clause.as_str()]).collect();
            [n.to_string(), law.to_owned(), form.join("+")]
        }
    }
}

/// That a row has the figures of a plan by itself.
fn is_of(lever: &Value, alone: &Value, within: f64) {
    for (got, expected) in
        [(&lever["p99_s"], &alone["quantiles_s"]["p99"]), (&lever["complete"], &alone["complete"])]
    {
        let (got, expected) = (number(got), number(expected));
        assert!((got / expected - 1.0).abs() < within, "{lever}: {got} is not {expected} of {alone}");
    }
}

/// Copies that are stated by a percentile move with the deadline and the calls; a plan that would be refused is none.
#[test]
fn each_row_is_of_the_plan_that_its_words_name() {
    let check = |n: u32, law: &str, form: &str, least: usize| {
        let found = explained(&["-n", &n.to_string(), "-l", law, "-s", form]);
        let levers = found["levers"].as_array().unwrap();
        assert!(levers.len() >= least, "{form}: {found}");
        // No words of a law say what an exponential one is with less spread.
        let spread = |lever: &&Value| law.contains("sigma") || lever["change"] != "sigma 0.1 less";
        for lever in levers.iter().filter(spread) {
            let [n, law, other] = named(n, law, form, lever["change"].as_str().unwrap());
            is_of(lever, &only(&["-n", &n, "-l", &law, "-s", &other]), 1e-7);
        }
    };
    let law = EIGHT[3];
    check(8, law, "all", 6);
    check(8, law, "all+hedge:p95", 4);
    check(8, law, "all+hedge:p95+deadline:2.5s", 4);
    check(8, law, "all+hedge:p80+deadline:9s", 4);
    check(8, law, "all+deadline:2s", 6);
    check(8, law, "all+race:2+deadline:2s", 4);
    check(1, law, "all+hedge:p95", 3);
    check(1, law, "all+hedge:2.5s", 2);
    check(8, law, "all+hedge:1.5s+deadline:2.6s", 4);
    check(3, "exponential:mean=1s", "all+hedge:p95+deadline:3s", 3);
}

#[test]
fn a_price_names_what_becomes_of_the_copies() {
    let price = |args: &[&str], change: &str| {
        let found = explained(args);
        let lever =
            found["levers"].as_array().unwrap().iter().find(|lever| lever["change"] == change).cloned();
        lever.unwrap_or_else(|| panic!("no {change:?} in {found}"))["price"].as_str().unwrap().to_owned()
    };
    let three = |form: &'static str| ["-n", "3", "-l", "exponential:mean=1s", "-s", form];
    // The copy is due when 3 s less ln 2 s have passed, which exp(-(3 - ln 2)) of the calls take: 0.0996.
    let later = price(&three("hedge:p95+deadline:3s"), "deadline 3.75 s");
    assert_eq!(later, "a longer wait; +5.0 % requests, not +10.0 %");
    assert_eq!(price(&three("hedge:p95"), "calls 10 % faster"), "faster calls");
}

/// A percentile and a time that fall together do so for one deadline only.
#[test]
fn the_copies_of_a_file_are_stated_anew_under_a_change() {
    let folder = Folder::new();
    let plan = "\
[plan.a]
deadline = \"2.5s\"
hedge = { after = \"p95\", extra = \"100%\" }
[plan.a.defaults]
repeatable = true
latency = \"lognormal:median=1s,sigma=0.6\"
[plan.a.branch]
x = {}
y = { hedge = { after = \"1.5s\" } }
";
    let found = explained(&[&folder.file("plan.toml", plan)]);
    let levers = found["levers"].as_array().unwrap();
    let mut deadlines = 0;
    for lever in levers {
        let change = lever["change"].as_str().unwrap();
        let other = match change.strip_prefix("deadline ") {
            Some(deadline) => plan.replace("2.5s", &deadline.replace(' ', "")),
            None if change == "sigma 0.1 less" => plan.replace("sigma=0.6", "sigma=0.5"),
            None if change == "calls 10 % faster" => plan.replace("median=1s", "median=0.9s"),
            None => continue,
        };
        deadlines += usize::from(change.starts_with("deadline"));
        is_of(lever, &only(&[&folder.file("other.toml", &other)]), 1e-7);
    }
    assert_eq!((deadlines, levers.len()), (1, 4), "{found}");
}

/// Its figures would be those of a budget that always has credit. A race takes nothing of it.
#[test]
fn a_change_whose_copies_the_budget_does_not_pay_for_is_no_row() {
    let folder = Folder::new();
    let changes = |extra: &str| -> Vec<String> {
        let plan = format!(
            "[plan.a]\ndeadline = \"3.8s\"\nhedge = {{ after = \"p95\", extra = \"{extra}\" }}\n\
             [plan.a.defaults]\nrepeatable = true\nlatency = \"lognormal:median=1s,sigma=0.6\"\n\
             [plan.a.branch]\nx = {{}}\ny = {{ hedge = {{ race = 2 }} }}\n"
        );
        let found = explained(&[&folder.file("plan.toml", &plan)]);
        let levers = found["levers"].as_array().unwrap().iter();
        levers.map(|lever| lever["change"].as_str().unwrap().to_owned()).collect()
    };
    let sooner = "deadline 3.04 s".to_owned();
    assert!(changes("100%").contains(&sooner), "{:?}", changes("100%"));
    let paid = changes("5%");
    assert!(!paid.contains(&sooner) && paid.contains(&"calls 10 % faster".to_owned()), "{paid:?}");
}
