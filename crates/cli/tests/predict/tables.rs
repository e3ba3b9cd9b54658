//! What is printed for people: tables, and the notes below them.

use crate::support::{EIGHT, Folder, LOG_NORMAL, refuses, repository, run, succeeds, text};

/// A text whose lines are not folded.
fn unfolded(args: &[&str]) -> String {
    succeeds(args).replace("\n  ", " ")
}

#[test]
fn every_dash_has_a_reason_below_its_table() {
    let check = |args: &[&str], note: &str| {
        for format in ["text", "md"] {
            let shown = unfolded(&[args, &["--format", format]].concat());
            let (table, notes) = shown.split_once("\n– ").unwrap_or_else(|| panic!("no note in:\n{shown}"));
            assert!(table.contains('–'), "{shown}");
            let first = notes.lines().next();
            assert_eq!(first.map(|first| first.replace("\\|", "|")).as_deref(), Some(note), "{shown}");
        }
    };
    check(
        &[&EIGHT[..], &["-s", "all", "-s", "batch:2+hedge:p95+deadline:9s"]].concat(),
        "extra requests, extra busy of batch:2+hedge:p95+deadline:9s: not computed for branches that follow one another.",
    );
    check(
        &["-n", "3", "-l", "pareto:xm=1s,alpha=0.4", "-s", "all", "-s", "race:2"],
        "extra busy of race:2: busy for ever, with copies and without.",
    );
    let [enrich, read] = ["enrich", "read"].map(|name| repository(&format!("examples/{name}.toml")));
    check(&[enrich.to_str().unwrap(), read.to_str().unwrap()], "cost of read: no branch states a cost.");
}

/// Two plans that fill their limiter, and one that has none.
const ENDLESS: &str = r#"[scenario]
arrivals = "100/s"
[limiter.l]
gate = 1
[plan.a.defaults]
limiter = "l"
latency = "lognormal:median=1s,sigma=0.6"
[plan.a.branch]
x = {}
y = {}
[plan.b.defaults]
limiter = "l"
latency = "lognormal:median=2s,sigma=0.6"
[plan.b.branch]
x = {}
y = {}
"#;

#[test]
fn plans_without_figures_are_refused_once_and_leave_no_dashes() {
    let folder = Folder::new();
    let check = |file: &str, printed: &dyn Fn(&str) -> bool| {
        let output = run(&[file]);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 1), "{stderr}");
        assert!(stderr.starts_with("error: a, b: not predicted: limiter `l` is busy"), "{stderr}");
        assert!(printed(stdout), "{stdout}");
    };
    check(&folder.file("plan.toml", ENDLESS), &str::is_empty);
    let third = "[plan.c.branch]\nx = { latency = \"exponential:mean=1s\" }\n";
    let is_of_c = |stdout: &str| {
        let (_, table) = stdout.split_once("\n\nstrategy").unwrap();
        table.contains("\nc ") && !table.contains("\na ") && !table.contains('–')
    };
    check(&folder.file("three.toml", &format!("{ENDLESS}{third}")), &is_of_c);
}

#[test]
fn more_different_branches_than_are_told_apart_are_refused() {
    let folder = Folder::new();
    let branch = |i: u32| format!("b{i} = {{ latency = \"lognormal:median={i}ms,sigma=0.6\" }}\n");
    let plan = format!("[plan.p]\n[plan.p.branch]\n{}", (1..=10_002).map(branch).collect::<String>());
    refuses(&[&folder.file("plan.toml", &plan)], &["plan.toml: plan `p`: different branches: got 10001, "]);
}

#[test]
fn how_the_figures_of_a_sweep_were_found_is_said_once() {
    let swept =
        ["-l", LOG_NORMAL, "--sweep", "n=2..500:5", "-s", "sequential", "-s", "hedge:p95", "-p", "p99"];
    let shown = unfolded(&swept);
    for (strategy, how) in [("sequential", "between bounds, which are at most "), ("hedge:p95", "exact, ")] {
        assert_eq!(shown.matches(&format!("Figures of {strategy} are {how}")).count(), 1, "{shown}");
    }
}

#[test]
fn the_values_of_a_sweep_that_are_simulated_are_named() {
    let folder = Folder::new();
    let plan = r#"[plan.a]
hedge = { after = "p95", extra = "6%" }
[plan.a.defaults]
repeatable = true
latency = "p50=0.8s,p95=1.5s,p99=2.4s"
[plan.a.branch]
x = {}
"#;
    let file = folder.file("plan.toml", plan);
    let shown = unfolded(&[&file, "--sweep", "deadline=1s..4s:7", "--jobs", "2e4", "-p", "p50"]);
    for part in [
        "Figures of a at deadline = 1.0 s … 2.0 s are simulated, since the hedge budget binds: 20,000 jobs, seed 1, ",
        "Figures of a at deadline = 2.5 s … 4.0 s are exact, assuming",
    ] {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
}

#[test]
fn the_values_of_a_sweep_are_lined_up() {
    let check = |args: &[&str], subject: &str, labels: &[&str]| {
        let shown = succeeds(&[args, &["-p", "p50"]].concat());
        assert!(shown.lines().next().unwrap().ends_with(subject), "{shown}");
        for label in labels {
            assert!(shown.lines().any(|line| line.starts_with(label)), "no {label:?} in:\n{shown}");
        }
    };
    check(
        &[&EIGHT[..], &["--sweep", "deadline=0.5s..5s:8"]].concat(),
        "; deadline from 0.5 s to 5.0 s",
        &["deadline  ", "  0.50 s  ", "  1.14 s  ", "  5.00 s  "],
    );
    check(
        &["-l", LOG_NORMAL, "--sweep", "n=1..1000000:3"],
        "; n from 1 to 1,000,000",
        &["        n  ", "        1  ", "     1000  ", "1,000,000  "],
    );
    check(
        &["-n", "8", "-l", LOG_NORMAL, "--sweep", "sigma=0.2..1.2:7"],
        "; sigma from 0.2 to 1.2",
        &["sigma  ", "0.200  ", "0.367  ", "1.200  "],
    );
}
