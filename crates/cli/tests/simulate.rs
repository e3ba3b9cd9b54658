//! `fantail simulate` and `fantail merge` as a user meets them.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const INGESTION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/ingestion.toml");

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fantail"))
        .args(args)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn succeeds(args: &[&str]) -> String {
    let output = run(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn fails(args: &[&str], code: i32, expected: &str) {
    let output = run(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(code), 0), "{args:?}: {stderr}");
    assert!(stderr.contains(expected), "{args:?}: no {expected:?} in:\n{stderr}");
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&succeeds(&[args, &["--format", "json"]].concat())).unwrap()
}

#[track_caller]
fn near(value: &Value, expected: f64, relative: f64) {
    let value = value.as_f64().unwrap();
    assert!((value / expected - 1.0).abs() < relative, "{value} for {expected}");
}

/// The figures of the pipeline that its example is about, as docs/simulate.md states them.
#[test]
fn the_ingestion_example_tells_its_story() {
    let document = json(&["simulate", INGESTION, "--jobs", "1e5", "--seed", "7"]);
    assert_eq!(document["schema"], "fantail.simulate/1");
    let plans = document["plans"].as_array().unwrap();
    let names: Vec<&str> = plans.iter().map(|plan| plan["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sequential", "concurrent", "bounded"]);
    let [sequential, concurrent, bounded] = plans.as_slice() else { panic!("three") };
    near(&sequential["quantiles_s"]["p50"], 4.05, 0.01);
    near(&sequential["quantiles_s"]["p99"], 9.14, 0.05);
    near(&concurrent["quantiles_s"]["p50"], 0.901, 0.01);
    near(&concurrent["quantiles_s"]["p99"], 13.98, 0.02);
    near(&concurrent["rejected_429"], 0.00357, 0.25);
    assert_eq!(concurrent["complete"], 1.0);
    assert_eq!(bounded["quantiles_s"]["p99"], 2.5);
    assert_eq!(bounded["worst_s"], 2.5);
    assert_eq!(bounded["rejected_429"], 0.0);
    let shares = ["complete", "partial", "failed"].map(|name| bounded[name].as_f64().unwrap());
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12 && shares.iter().all(|share| *share > 0.0));
    for plan in plans {
        let quantiles = &plan["intervals"]["quantiles_s"]["p50"];
        let (low, high) = (quantiles[0].as_f64().unwrap(), quantiles[1].as_f64().unwrap());
        let median = plan["quantiles_s"]["p50"].as_f64().unwrap();
        assert!(low <= median && median <= high && high < 1.05 * low);
        assert_eq!(plan["method"], "simulated");
    }
}

#[test]
fn figures_are_the_same_with_any_number_of_threads_split_or_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let whole = succeeds(&["simulate", INGESTION, "-j", "50000", "--threads", "1", "-f", "json"]);
    assert_eq!(succeeds(&["simulate", INGESTION, "-j", "5e4", "--threads", "2", "-f", "json"]), whole);
    let (a, b) = (path("a.json"), path("b.json"));
    let part =
        |range: &str, out: &str| succeeds(&["simulate", INGESTION, "--jobs-range", range, "--out", out]);
    assert_eq!((part("0..2e4", &a), part("2e4..5e4", &b)), (String::new(), String::new()));
    assert_eq!(succeeds(&["merge", &b, &a, "-f", "json"]), whole);

    fails(&["merge", &a, &a], 2, "some of its jobs 0..20000 are in another file");
    fails(&["merge", INGESTION], 2, "no part of a simulation");
    let c = path("c.json");
    succeeds(&["simulate", INGESTION, "--jobs-range", "2e4..3e4", "--out", &c, "--seed", "9"]);
    fails(&["merge", &a, &c], 2, "is of another simulation");
    let cut = ["simulate", INGESTION, "--jobs-range", "5..10", "--out", &c];
    fails(&cut, 2, "expected a beginning at a multiple of 10000");
    assert!(Path::new(&c).exists());
}

/// Under one seed the first branches of any plan take the same times, whatever n and the strategy are.
#[test]
fn strategies_meet_the_same_times() {
    let run = |n: &str, strategy: &str| {
        let latency = "lognormal:median=1s,sigma=0.6";
        let args = ["simulate", "-n", n, "-l", latency, "-s", strategy, "-j", "1000", "--seed", "3"];
        json(&args)["plans"][0].clone()
    };
    let all = run("8", "all");
    assert_eq!(all, run("8", "all"));
    let first = run("8", "first:8");
    assert_eq!(first["quantiles_s"], all["quantiles_s"]);
    // Hedging leaves whatever was faster than its delay as it was.
    let (plain, hedged) = (run("1", "all"), run("1", "hedge:p95"));
    assert_eq!(plain["quantiles_s"]["p50"], hedged["quantiles_s"]["p50"]);
    assert!(hedged["quantiles_s"]["p99"].as_f64() < plain["quantiles_s"]["p99"].as_f64());
    near(&hedged["extra_requests"], 0.05, 0.4);
    assert_eq!(plain["blocks"], Value::Null);
}

#[test]
fn text_csv_and_markdown_say_the_same() {
    let args = ["simulate", INGESTION, "-j", "2e4", "-p", "p50,p99"];
    let text = succeeds(&args);
    for expected in ["sequential", "peak calls", "429 / job", "seed 1", "intervals rest on how 2 blocks"] {
        assert!(text.contains(expected), "no {expected:?} in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let csv = succeeds(&[&args[..], &["-f", "csv"]].concat());
    let mut lines = csv.lines();
    let header = lines.next().unwrap();
    assert!(header.starts_with("name,file,kind,jobs,blocks,p50_s,p50_s_low,p50_s_high,p99_s,"), "{header}");
    assert_eq!(lines.count(), 3);
    let markdown = succeeds(&[&args[..], &["-f", "md"]].concat());
    assert!(markdown.contains("sequential | ") && markdown.contains("| p99 "), "{markdown}");
}

#[test]
fn single_jobs_are_shown_as_lanes() {
    let args = ["simulate", INGESTION, "-j", "1e4", "--seed", "7", "--trace", "1"];
    let text = succeeds(&args);
    for expected in
        ["concurrent, job ", "complete after 14", "turned away once", "waited 13.0 s", "bounded, job ", "█"]
    {
        assert!(text.contains(expected), "no {expected:?} in:\n{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lanes.svg");
    let svg = [&args[..], &["--trace-svg", path.to_str().unwrap(), "-f", "json"]].concat();
    assert!(succeeds(&svg).starts_with('{'));
    let svg = std::fs::read_to_string(path).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("parties"));
    fails(&[&args[..], &["-f", "json"]].concat(), 2, "expected --trace-svg FILE.svg");
}

#[test]
fn times_that_are_too_long_to_be_counted_are_told() {
    let said = |latency: &str| {
        let args = ["simulate", "-n", "2", "-l", latency, "-j", "1e4"];
        let text = succeeds(&args);
        let said = text.contains("Calls that take more than 584 years count as calls that never end.");
        let report = json(&args);
        let assumes = report["plans"][0]["assumes"].as_array().unwrap().clone();
        assert_eq!(!assumes.is_empty(), said, "{assumes:?}");
        said
    };
    assert!(said("lognormal:median=1s,sigma=8"));
    assert!(!said("lognormal:median=1s,sigma=1"));
}

/// The numbers of the jobs shown, and a figure of the table that one of them has as its time.
#[track_caller]
fn shows(jobs: &str, trace: &str, figure: &str, expected: usize) {
    let text = succeeds(&["simulate", "-n", "8", "-l", "exponential:mean=1s", "-j", jobs, "--trace", trace]);
    let shown: Vec<u64> = text
        .lines()
        .filter_map(|line| line.strip_prefix("all, job ")?.split_once(':')?.0.parse().ok())
        .collect();
    assert_eq!(shown.len(), expected, "{text}");
    assert!(shown.iter().all(|job| *job < jobs.parse().unwrap()), "{text}");
    let row = text.lines().find_map(|line| line.strip_prefix(figure)).unwrap();
    let time = row.split('(').next().unwrap().trim();
    assert!(text.contains(&format!("complete after {time};")), "no {time} in:\n{text}");
}

#[test]
fn jobs_shown_are_of_the_run() {
    shows("1", "20", "worst", 1);
    shows("10", "2", "p50", 2);
    shows("10", "2", "p99 ", 2);
    shows("101", "1", "p99 ", 1);
}

#[test]
fn a_job_of_many_branches_shows_the_slowest() {
    let args = ["simulate", "-n", "100000", "-l", "exponential:mean=1s", "-j", "101", "--trace", "1"];
    let text = succeeds(&args);
    for expected in ["of the first 100: complete", "\n  … and 99,980 more attempts\n"] {
        assert!(text.contains(expected), "no {expected:?} in:\n{text}");
    }
    let lanes: Vec<&str> = text.lines().filter(|line| line.contains("█")).collect();
    assert_eq!(lanes.len(), 20, "{text}");
    // The one that held the job is among them, over its whole width.
    let words: Vec<&str> = text.split_whitespace().collect();
    let holder = words[words.iter().position(|word| *word == "held").unwrap() - 1];
    assert!(lanes.iter().any(|lane| lane.trim().starts_with(holder)), "no {holder} in:\n{text}");
}

#[test]
fn what_cannot_be_simulated_is_said() {
    fails(&["simulate"], 2, "simulate what?");
    fails(
        &["simulate", "-n", "2", "-l", "exponential:mean=1s", "-j", "1.5"],
        2,
        "expected a whole number from 1 to 1,000,000,000,000",
    );
    fails(&["simulate", INGESTION, "--jobs-range", "5..5", "--out", "x"], 2, "expected more than 5");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.toml");
    let plan = "[scenario]\narrivals = \"10/s\"\n[scenario.server.s]\nslots = 4\n[plan.p.branch]\na = { latency = \"exponential:mean=1s\" }\n";
    std::fs::write(&file, plan).unwrap();
    let file = file.to_str().unwrap();
    fails(&["simulate", file], 2, "p: calls ask 250.0 % of the slots of server `s`: waits would grow");
    std::fs::write(file, plan.replace("[plan.p.branch]", "[plan.p]\ndeadline = \"2s\"\n[plan.p.branch]"))
        .unwrap();
    let output = run(&["simulate", file, "-j", "1000"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stderr).unwrap().contains("warning: p: calls ask 250.0 %"));
}

#[test]
fn parts_that_contradict_themselves_are_refused_and_gaps_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (a, b, changed) = (path("a.json"), path("b.json"), path("changed.json"));
    let simulate = ["simulate", "-n", "2", "-l", "exponential:mean=1s", "--jobs-range"];
    for (range, out) in [("0..100", &a), ("150..200", &b)] {
        succeeds(&[&simulate[..], &[range, "--out", out]].concat());
    }
    let output = run(&["merge", &b, &a]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "warning: jobs 100..150 are in no file\n");

    let part: Value = serde_json::from_slice(&std::fs::read(&a).unwrap()).unwrap();
    for (jobs, expected) in [
        ("[]", "has a range without jobs, or no range"),
        (r#"[{"start":0,"end":60},{"start":50,"end":90}]"#, "ranges of jobs that overlap"),
        (r#"[{"start":0,"end":120}]"#, "its ranges hold 120 jobs, a summary of `all` holds 100"),
        (r#"[{"start":0,"end":18446744073709551615}]"#, "its ranges hold 18446744073709551615 jobs"),
    ] {
        let mut part = part.clone();
        part["jobs"] = serde_json::from_str(jobs).unwrap();
        std::fs::write(&changed, part.to_string()).unwrap();
        fails(&["merge", &changed], 2, expected);
    }
}

/// Calls that come faster than a server that is sick for ever serves them; a queue that remembers longer than is played before it;
/// slow periods of which the run meets a part.
#[test]
fn what_does_not_tell_of_the_long_run_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    let check = |scenario: &str, field: &str, words: &str| {
        let plan = "[plan.p.branch]\na = { latency = \"exponential:mean=1s\" }\n";
        std::fs::write(&path, format!("[scenario]\n{scenario}\n{plan}")).unwrap();
        let simulate = ["simulate", path.to_str().unwrap(), "--jobs", "20000"];
        let shown = succeeds(&simulate).replace("\n  ", " ");
        assert!(shown.contains(words), "{shown}");
        assert!(json(&simulate)["plans"][0][field].is_number(), "{field}");
        for format in ["csv", "md"] {
            let output = run(&[&simulate[..], &["-f", format]].concat());
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(stderr.contains(&format!("warning: {words}")), "{stderr}");
        }
    };
    let server = "[scenario.server.s]\nslots = 1";
    check(
        &format!(
            "arrivals = \"1.5/s\"\n{server}\nreplicas = 2\nslow = {{ factor = 10, lasts = \"1000h\", replicas = 1 }}"
        ),
        "piles_up",
        "p: 43.",
    );
    check(
        &format!("arrivals = \"0.9/s\"\nwarm_up = 100\n{server}"),
        "remembers",
        "p: the beginning is forgotten after about",
    );
    check(
        "arrivals = \"100/s\"\n[scenario.server.s]\nslow = { factor = 2, lasts = \"1min\", every = \"1h\" }",
        "round",
        "p: it takes 360,000 jobs to meet all of a window",
    );
}

#[test]
fn figures_that_there_are_none_of_are_left_out() {
    let never = json(&["simulate", "-n", "3", "-l", "pareto:xm=1s,alpha=0.3", "-j", "1e4"]);
    let plan = &never["plans"][0];
    assert!(plan["never"].as_f64().unwrap() > 0.0);
    for figure in ["mean_s", "worst_s"] {
        assert_eq!((&plan[figure], &plan["why_null"][figure]), (&Value::Null, &"infinite".into()));
    }

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.toml");
    let plan = "[plan.p.branch]\na = { latency = \"exponential:mean=1s\" }\n";
    std::fs::write(&file, format!("[scenario]\narrivals = \"1000/s\"\n{plan}")).unwrap();
    let file = file.to_str().unwrap();
    let arriving = json(&["simulate", file, "-j", "1000"]);
    assert_eq!(arriving["plans"][0]["peak_concurrency"], Value::Null);
    std::fs::write(file, plan).unwrap();
    let alone = json(&["simulate", file, "-j", "1000", "--threads", "1024"]);
    assert_eq!(alone["plans"][0]["peak_concurrency"], 1.0);
    fails(&["simulate", file, "--threads", "100000"], 2, "1..=1024");
}

/// An order of branches, a leader, failover, and jobs that measure.
const ORDER: &str = r#"
[limiter.llm]
rate = "100/s"
burst = 20
strict = true
backfill_share = "10%"

[plan.a]
deadline = "2s"
wait_for = 3
observe = "1%"
holdout = "0.5%"
hedge = { after = "300ms", extra = "5%" }
failover = { extra = "8%", burst = 5 }
leader = { branch = "parse", head_start = "300ms" }
[plan.a.defaults]
targets = ["http://127.0.0.1:9001/", "http://127.0.0.1:9002/"]
repeatable = true
latency = "exponential:mean=0.1s"
limiter = "llm"
[plan.a.branch]
parse = { failover = false }
score = { after = ["parse", "page-{i}"], tolerates_missing = true }
[plan.a.each]
count = 4
name = "page-{i}"
"#;

#[test]
fn an_order_and_jobs_that_measure_are_told_and_simulated_for_want_of_an_exact_law() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.toml");
    std::fs::write(&file, ORDER).unwrap();
    let file = file.to_str().unwrap();
    let check = succeeds(&["check", file]);
    for expected in [
        "limiter llm: 100 in 1s, burst 20, strict, 10.0 % for backfill",
        "parse leads by at most 300ms, copies for at most 5.0 % of answers, 20 saved up, \
         failovers for at most 8.0 % of answers, 5 saved up, 1.0 % of jobs observed, 0.50 % of jobs held out",
        "after 5 branches or without, failover",
    ] {
        assert!(check.contains(expected), "no {expected:?} in:\n{check}");
    }
    let simulated = json(&["simulate", file, "--jobs", "4000"]);
    let text = simulated.to_string();
    assert!(text.contains("\"jobs\":4000") && !text.contains("NaN"), "{text}");
    let predicted = json(&["predict", file, "--jobs", "4000"])["strategies"][0]["not_included"].to_string();
    for expected in
        ["branches come after others", "a branch leads the others", "0.5 % of the jobs are held out"]
    {
        assert!(predicted.contains(expected), "no {expected:?} in:\n{predicted}");
    }
}

#[test]
fn a_figure_that_is_not_there_has_a_reason_below_the_table() {
    for format in ["text", "md"] {
        let shown = succeeds(&["simulate", INGESTION, "--jobs", "2e4", "--format", format]);
        assert_eq!(shown.matches("\n– ").count(), 1, "{shown}");
        assert!(
            shown.contains("\n– permit wait of sequential, concurrent: no permit came from a limiter."),
            "{shown}"
        );
    }
}

#[test]
fn a_file_that_is_no_text_is_not_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("latin.toml");
    std::fs::write(&file, b"[plan.a.branch] # \xe9\nx = { latency = \"p50=1s,p95=2s\" }\n").unwrap();
    fails(&["simulate", file.to_str().unwrap()], 2, "latin.toml:1:19: the byte 0xe9 is not UTF-8 text");
}

#[test]
fn plans_of_one_name_are_told_apart_by_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let plan = "[plan.p.branch]\nb = { latency = \"exponential:mean=1s\" }\n";
    let files = ["a.toml", "b.toml"].map(|name| {
        std::fs::write(folder.path().join(name), plan).unwrap();
        folder.path().join(name).to_str().unwrap().to_owned()
    });
    let shown = succeeds(&["simulate", &files[0], &files[1], "--jobs", "100", "--trace", "1"]);
    for file in files {
        // Its description, its column and its job.
        assert_eq!(shown.matches(&format!("{file}: p")).count(), 3, "{shown}");
    }
}

/// What a scenario states is no part of an exact law, so it is played: an M/M/1 queue at half its load, calls that fail, jobs that
/// differ in size, and what the calls of a job share.
#[test]
fn predict_says_nothing_exact_of_what_only_a_scenario_knows() {
    let folder = tempfile::tempdir().unwrap();
    let predicted = |name: &str, scenario: &str, rest: &[&str]| {
        let path = folder.path().join(name);
        let plan = "[plan.p.branch.a]\nlatency = \"exponential:mean=1s\"\n";
        std::fs::write(&path, format!("{scenario}\n{plan}")).unwrap();
        let document = json(&[&["predict", path.to_str().unwrap(), "--jobs", "2e5"], rest].concat());
        document["strategies"][0].clone()
    };
    let queue = "[scenario]\narrivals = \"1/2s\"\n[scenario.server.one]\nslots = 1";
    let queued = predicted("queue.toml", queue, &[]);
    assert_eq!(queued["method"], "simulated");
    near(&queued["quantiles_s"]["p99"], 2.0 * 100_f64.ln(), 0.06);
    assert_eq!(queued["not_included"][0], "server `one` makes calls wait for its slots");
    let failing = predicted("errors.toml", "[scenario.server.one]\nerrors = \"100%\"", &[]);
    assert_eq!(failing["failed"], 1.0);
    let losing = predicted("losers.toml", "[scenario.server.one]\ncancellation = \"never\"", &[]);
    assert_eq!(losing["not_included"][0], "server `one` works on for calls that nobody waits for");
    let sized = predicted("size.toml", "[scenario]\nsize_sigma = 1", &[]);
    near(&sized["mean_s"], 0.5_f64.exp(), 0.03);
    // What calls share has an exact law.
    let shared = predicted("shares.toml", "[scenario]\nshares = { job = \"20%\" }", &[]);
    assert_eq!(shared["method"], "exact");
    assert!(shared["assumes"].to_string().contains("a share of 0.2 is its job's"));
}

/// A gate of one call is the queue M/M/1, of which p99 is `ln 100 / (1 - load)` mean calls. Without arrivals nobody meets there.
#[test]
fn predict_knows_that_jobs_meet_at_a_limiter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gate.toml");
    let write = |scenario: &str| {
        let plan =
            "[limiter.l]\ngate = 1\n[plan.p.branch.a]\nlatency = \"exponential:mean=1s\"\nlimiter = \"l\"\n";
        std::fs::write(&path, format!("{scenario}\n{plan}")).unwrap();
    };
    let file = path.to_str().unwrap();
    write("[scenario]\narrivals = \"0.5/s\"");
    let met = json(&["predict", file, "--jobs", "2e5"])["strategies"][0].clone();
    assert_eq!(met["not_included"], serde_json::json!(["jobs meet at limiter `l`"]));
    near(&met["quantiles_s"]["p99"], 2.0 * 100_f64.ln(), 0.06);
    write("[scenario]\nwarm_up = 10");
    assert_eq!(json(&["predict", file])["strategies"][0]["method"], "exact");
    write("[scenario]\narrivals = \"2/s\"");
    let endless = "waits would grow without end: calls ask 200.0 % of the gate of limiter `l`";
    fails(&["predict", file], 1, endless);
}

#[test]
fn bars_in_names_break_no_table_of_markdown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    let plan = "[scenario]\narrivals = \"1/10s\"\n[scenario.server.\"x|y\"]\nslots = 1\n\
                [plan.\"p|q\".branch.b]\nlatency = \"exponential:mean=1s\"\n";
    std::fs::write(&path, plan).unwrap();
    let shown = |format| succeeds(&["simulate", path.to_str().unwrap(), "-j", "18000", "-f", format]);
    let (text, markdown) = (shown("text"), shown("md"));
    assert!(text.contains(" p|q\n") && text.contains("use of x|y") && !text.contains("\\|"), "{text}");
    assert!(markdown.contains("p\\|q") && markdown.contains("use of x\\|y"), "{markdown}");
    // Two blocks say next to nothing of a share; but it is one.
    let document: Value = serde_json::from_str(&shown("json")).unwrap();
    let ends = document["plans"][0]["intervals"]["utilisation"]["x|y"].as_array().unwrap().clone();
    assert!(ends.iter().all(|end| (0.0..=1.0).contains(&end.as_f64().unwrap())), "{ends:?}");
}

#[test]
fn parts_are_of_one_simulation_by_what_was_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let write = |name: &str, mean: &str| {
        let plan = format!("[plan.p.branch]\nb = {{ latency = \"exponential:mean={mean}\" }}\n");
        std::fs::write(path(name), plan).unwrap();
        path(name)
    };
    let (plan, copy, other) = (write("plan.toml", "1s"), write("copy.toml", "1s"), write("other.toml", "2s"));
    let (a, b) = (path("a.json"), path("b.json"));
    let like = ["-n", "2", "-l", "exponential:mean=1s"];
    let parts = |first: &[&str], second: &[&str]| {
        for (asked, range, out) in [(first, "0..50", &a), (second, "50..99", &b)] {
            succeeds(&[&["simulate", "--jobs-range", range, "--out", out], asked].concat());
        }
    };
    for (first, second) in [(&[&*plan][..], &[&*copy][..]), (&like, &[&like[..], &["-s", "all"]].concat())] {
        parts(first, second);
        assert!(succeeds(&["merge", &a, &b]).contains("99 jobs of each"));
    }
    for (first, second, difference) in [
        (&[&*plan][..], &[&*other][..], "other.toml` has other contents than `"),
        (&[&plan], &[&plan, &copy], "2 plan files, not 1"),
        (&[&plan], &[&plan, "--seed", "2"], "--seed 2, not 1"),
        (&like, &[&like[..], &["-s", "first:1"]].concat(), "--strategy first:1, not all"),
        (&[&like[..], &["--rho", "job=.2"]].concat(), &like, "--rho none, not job=.2"),
    ] {
        parts(first, second);
        fails(&["merge", &a, &b], 2, difference);
    }
}

#[test]
fn what_was_in_a_file_stays_until_all_of_the_new_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (out, linked, plain) = (path("a.json"), path("linked.json"), path("plain"));
    let simulate = || {
        let out = out.to_str().unwrap();
        succeeds(&["simulate", "-n", "2", "-l", "exponential:mean=1s", "-j", "9", "--out", out])
    };
    std::fs::write(&out, "old").unwrap();
    // Another name of the same file, which is written anew and not over.
    std::fs::hard_link(&out, &linked).unwrap();
    simulate();
    assert_eq!(std::fs::read_to_string(&linked).unwrap(), "old");
    assert!(std::fs::read_to_string(&out).unwrap().starts_with("{\"schema\""));
    // A new file may be read by whom any other may.
    std::fs::remove_file(&out).unwrap();
    simulate();
    std::fs::write(&plain, "").unwrap();
    let permissions = |path| std::fs::metadata(path).unwrap().permissions();
    assert_eq!(permissions(&out), permissions(&plain));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn what_a_part_would_not_show_is_refused() {
    let args = ["simulate", "-n", "2", "-l", "exponential:mean=1s", "--out", "x.json", "--trace", "1"];
    fails(&args, 2, "cannot be used with");
    assert!(!Path::new("x.json").exists());
}

#[test]
fn times_that_are_too_short_to_be_counted_are_told() {
    let said = |latency: &str| {
        let args = ["simulate", "-n", "2", "-l", latency, "-j", "100"];
        let said = succeeds(&args).contains("Times are counted in whole nanoseconds");
        let assumes = json(&args)["plans"][0]["assumes"].to_string();
        assert_eq!(assumes.contains("times are whole nanoseconds"), said, "{assumes}");
        said
    };
    assert!(said("exponential:mean=1e-12s"));
    assert!(!said("exponential:mean=1us"));
}

/// A server's word comes before a client's own, and what came last is not what took the time.
#[test]
fn clients_are_told_of_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    let shown = |server: &str| {
        let plan = format!(
            "[scenario.server.s]\n{server}\n[scenario.client.c]\ncalls = \"one by one\"\nretries = 3\n\
             [plan.p.branch]\na = {{ latency = \"exponential:mean=1s\" }}\nb = {{ latency = \"exponential:mean=1s\" }}\n"
        );
        std::fs::write(&path, plan).unwrap();
        succeeds(&["simulate", path.to_str().unwrap(), "-j", "100", "--trace", "1"]).replace("\n  ", " ")
    };
    let says = "3 tries inside the barrier, when the server says, else the first after 1s";
    let told = shown("window = \"100/s\"\nretry_after = \"13s\"");
    assert!(told.contains(says), "{told}");
    let silent = shown("errors = \"1%\"");
    assert!(silent.contains("3 tries inside the barrier, the first after 1s"), "{silent}");
    assert!(
        silent.contains("; b was last: began after ") && !silent.contains("c, job 1; b held"),
        "{silent}"
    );
}
