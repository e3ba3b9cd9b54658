//! `--required`, `--at-least` and deadlines of plan files.

use crate::support::{EIGHT, FIVE, Folder, column, json, number, only, refuses, rows, succeeds};

/// S(2.5 s) of one call of [`FIVE`], by the log-normal that goes through its percentiles.
const MISS: f64 = 0.008_685_491;

#[test]
fn so_many_of_like_branches_are_required() {
    let args = [&FIVE[..], &["--required", "3", "-s", "all+deadline:2.5s"]].concat();
    let strategy = only(&args);
    let plan = &strategy["plan"];
    assert_eq!(
        (&plan["n"], &plan["k"], &plan["at_least"], &plan["required"]),
        (&5.into(), &5.into(), &3.into(), &3.into())
    );
    let close = |verdict: &str, expected: f64| {
        let got = number(&strategy[verdict]);
        assert!((got / expected - 1.0).abs() < 1e-3, "{verdict}: {got} is not {expected}");
    };
    let answered = 1.0 - MISS;
    close("complete", answered.powi(5));
    close("partial", answered.powi(3) - answered.powi(5));
    close("failed", 1.0 - answered.powi(3));
}

#[test]
fn no_branch_or_every_branch_may_be_required() {
    let with = |required: &'static str| {
        only(&[&EIGHT[..], &["-s", "first:5+deadline:1.5s", "--required", required]].concat())
    };
    assert_eq!(
        with("0")["quantiles_s"],
        only(&[&EIGHT[..], &["-s", "first:5+deadline:1.5s"]].concat())["quantiles_s"]
    );
    let all = with("8");
    assert_eq!((&all["plan"]["k"], &all["plan"]["required"]), (&5.into(), &8.into()));
    assert!(number(&all["complete"]) < number(&with("7")["complete"]));
}

#[test]
fn the_fewest_answers_hold_for_every_strategy() {
    let report = json(
        &[&EIGHT[..], &["-s", "first:7+deadline:2s", "-s", "share:60%+deadline:2s", "--at-least", "4"]]
            .concat(),
    );
    for strategy in report["strategies"].as_array().unwrap() {
        assert_eq!(strategy["plan"]["at_least"], 4, "{strategy}");
        assert!(number(&strategy["partial"]) > 0.0, "{strategy}");
    }
    refuses(
        &[&EIGHT[..], &["--at-least", "4", "-s", "first:5+at-least:3"]].concat(),
        &["--at-least 4 beside that of `first:5+at-least:3`; expected one of them"],
    );
    refuses(
        &[&EIGHT[..], &["--at-least", "6", "-s", "first:5"]].concat(),
        &["got 6, expected at most what the job waits for, 5"],
    );
}

#[test]
fn what_cannot_be_required_is_refused() {
    let law = ["--latency", EIGHT[3]];
    refuses(
        &[&EIGHT[..], &["--required", "9"]].concat(),
        &["got 9 required, expected at most the number of branches, 8"],
    );
    refuses(
        &[&EIGHT[..], &["--required", "type"]].concat(),
        &["--required type: branches of -n have no names; expected how many"],
    );
    refuses(
        &[&law[..], &["--sweep", "n=2..9", "--required", "3"]].concat(),
        &["got 3 required", "at n = 2 of the sweep"],
    );
}

const PLAN: &str = "\
[plan.enrich]
deadline = \"2.5s\"
[plan.enrich.defaults]
latency = \"p50=0.8s,p95=1.5s,p99=2.4s\"
[plan.enrich.branch]
type = {}
parties = {}
dates = {}
amounts = { optional = true }
summary = { optional = true }
";

#[test]
fn a_file_is_predicted_with_other_branches_required() {
    let folder = Folder::new();
    let file = folder.file("plan.toml", PLAN);
    let stated = only(&[&file]);
    assert_eq!(stated["plan"]["required"], 3);
    let fewer = only(&[&file, "--required", "type, dates"]);
    assert_eq!((&fewer["plan"]["required"], &fewer["plan"]["at_least"]), (&2.into(), &2.into()));
    assert!(number(&fewer["failed"]) < number(&stated["failed"]));
    assert_eq!(fewer["complete"], stated["complete"]);
    let all_needed = only(&[&file, "--at-least", "5"]);
    assert_eq!((&all_needed["partial"], &all_needed["complete"]), (&0.0.into(), &stated["complete"]));
    refuses(
        &[&file, "--required", "tpye"],
        &["plan.toml: plan `enrich` has no branch `tpye` to require; did you mean `type`?"],
    );
    refuses(&[&file, "--required", "3"], &["plan `enrich` has no branch `3` to require"]);
    refuses(&[&file, "--at-least", "6"], &["`at_least`: got 6, expected at most what the job waits for, 5"]);
}

#[test]
fn a_file_is_swept_by_deadline() {
    let folder = Folder::new();
    let file = folder.file("plan.toml", PLAN);
    let swept = rows(&[&file, "--sweep", "deadline=0.5s..5s:10"]);
    let deadlines = column(&swept, "deadline_s");
    assert_eq!((deadlines.len(), deadlines[0], deadlines[9]), (10, 0.5, 5.0));
    assert!(column(&swept, "complete").is_sorted_by(|a, b| a < b));
    // As if the file said so.
    for (deadline, row) in deadlines.iter().zip(&swept) {
        let other = folder.file("other.toml", &PLAN.replace("2.5s", &format!("{deadline}s")));
        let alone = only(&[&other]);
        for name in ["complete", "mean_s"] {
            let (alone, swept) = (number(&alone[name]), row[name].parse::<f64>().unwrap());
            assert!((alone - swept).abs() < 1e-15, "{name} at {deadline}: {swept} is not {alone}");
        }
    }
    let shown = succeeds(&[&file, "--sweep", "deadline=1s..5s:3", "-p", "p50"]);
    assert!(
        shown.starts_with("enrich  waits for all of 5 branches, 3 required, deadline as below\n\nenrich\n"),
        "{shown}"
    );
}

#[test]
fn the_plans_of_a_swept_file_stay_together() {
    let folder = Folder::new();
    let second = PLAN.replace("plan.enrich", "plan.other");
    let file = folder.file("plan.toml", &format!("{PLAN}{second}"));
    let names: Vec<String> =
        rows(&[&file, "--sweep", "deadline=1s..2s:3"]).into_iter().map(|row| row["name"].clone()).collect();
    assert_eq!(names, ["enrich", "enrich", "enrich", "other", "other", "other"]);
}

#[test]
fn a_file_that_cannot_be_swept_says_why() {
    let folder = Folder::new();
    let file = folder.file("plan.toml", PLAN);
    refuses(
        &[&file, "--sweep", "n=1..9"],
        &["--sweep n is for -n branches; a plan file can be swept by deadline"],
    );
    let own = folder.file("own.toml", &PLAN.replace("type = {}", "type = { deadline = \"2s\" }"));
    refuses(
        &[&own, "--sweep", "deadline=1s..3s:3"],
        &["--sweep deadline, at 1s, with ", "own.toml: branch `type`: `deadline`: got 2s"],
    );
}

#[test]
fn a_point_of_a_sweep_without_an_exact_law_is_simulated() {
    let folder = Folder::new();
    let hedged = PLAN
        .replace("deadline = \"2.5s\"", "deadline = \"2.5s\"\nhedge = { after = \"p95\", extra = \"6%\" }");
    let hedged = hedged.replace("latency =", "repeatable = true\nlatency =");
    let file = folder.file("plan.toml", &hedged);
    let rows = rows(&[&file, "--sweep", "deadline=1s..3s:3", "--jobs", "2e4"]);
    let methods: Vec<&str> = rows.iter().map(|row| row["method"].as_str()).collect();
    assert_eq!(methods, ["simulated", "simulated", "exact"]);
    assert!(rows[0]["not_included"].contains("the hedge budget binds"), "{:?}", rows[0]);
}

#[test]
fn every_figure_says_how_it_was_found() {
    let strategy = only(&[&EIGHT[..], &["-s", "hedge:p95", "-p", "p99"]].concat());
    let methods = strategy["methods"].as_object().unwrap();
    let paths: Vec<&str> = methods.keys().map(String::as_str).collect();
    let expected = [
        "central_68_s.from",
        "central_68_s.to",
        "central_95_s.from",
        "central_95_s.to",
        "complete",
        "extra_busy",
        "extra_requests",
        "failed",
        "mean_s",
        "never",
        "partial",
        "quantiles_s.p99",
        "sd_s",
        "sends_copy",
    ];
    assert_eq!(paths, expected);
    assert!(methods.values().all(|method| method == "exact"), "{methods:?}");
    assert_eq!(strategy["why_null"].as_object().unwrap().keys().collect::<Vec<_>>(), ["cost"]);
}
