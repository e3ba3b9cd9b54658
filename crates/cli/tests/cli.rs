//! The command line as a user meets it: arguments in; exit code, stdout and stderr out.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn fantail() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fantail"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    fantail().args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// Checks the exit code and that nothing is on stdout but what a success prints.
fn fails(args: &[&str], code: i32, expected: &[&str]) {
    let output = run(args);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
    assert_eq!(text(&output.stdout), "", "{args:?}");
    for part in expected {
        assert!(stderr.contains(part), "{args:?}: no {part:?} in:\n{stderr}");
    }
}

fn succeeds(args: &[&str]) -> String {
    let output = run(args);
    let stderr = text(&output.stderr);
    assert_eq!((output.status.code(), stderr), (Some(0), ""), "{args:?}");
    text(&output.stdout).to_owned()
}

/// A plan file for one test.
struct PlanFile {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl PlanFile {
    fn new(bytes: impl AsRef<[u8]>) -> PlanFile {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        std::fs::write(&path, bytes).unwrap();
        PlanFile { _folder: folder, path }
    }

    fn as_str(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

const ENRICH: &str = r#"
[limiter.llm]
gate = 10
rate = "300/min"
burst = 5
[plan.enrich]
route = "POST /enrich"
deadline = "2.5s"
backfill = true
hedge = { after = "p95" }
[plan.enrich.defaults]
url = "http://127.0.0.1:9001/{branch}"
limiter = "llm"
repeatable = true
latency = "p50=0.8s,p95=1.5s,p99=2.4s"
[plan.enrich.branch]
type = {}
parties = {}
dates = {}
amounts = { optional = true, hedge = false }
summary = { optional = true, hedge = false, cost = 0.004 }
"#;

/// Eight log-normal branches.
const EIGHT: [&str; 5] = ["predict", "-n", "8", "--latency", "lognormal:median=1s,sigma=0.6"];
const THREE: [&str; 6] = ["--strategy", "all", "--strategy", "first:5", "--strategy", "hedge:p95"];

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&succeeds(args)).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn close(value: &Value, expected: f64) {
    let got = number(value);
    assert!((got / expected - 1.0).abs() < 1e-12, "{got} is not {expected}");
}

#[test]
fn eight_branches_are_predicted_to_reference_precision() {
    let report = json(&[&EIGHT[..], &THREE, &["--format", "json"]].concat());
    assert_eq!(report["schema"], "fantail.predict/1");
    let strategies = report["strategies"].as_array().unwrap();
    let names: Vec<&Value> = strategies.iter().map(|strategy| &strategy["name"]).collect();
    assert_eq!(names, ["all", "first:5", "hedge:p95"]);
    close(&strategies[0]["quantiles_s"]["p99"], P99_ALL);
    close(&strategies[1]["quantiles_s"]["p99"], P99_FIRST_5);
    // The hedge delay is whole nanoseconds, so the last digits differ from a delay at the exact quantile.
    let hedged = number(&strategies[2]["quantiles_s"]["p99"]);
    assert!((hedged - P99_HEDGED).abs() < 2e-9, "{hedged}");
    for strategy in strategies {
        assert_eq!(strategy["method"], "exact");
        assert_eq!(strategy["complete"], 1.0);
        close(&strategy["slowest_percent"], 1.0 - 0.99_f64.powi(8));
    }
    let hedge = &strategies[2];
    assert!((number(&hedge["extra_requests"]) - 0.05).abs() < 1e-9);
    assert_eq!(format!("{:.3}", number(&hedge["extra_busy"])), "0.011");
    assert_eq!(format!("{:.3}", number(&hedge["sends_copy"])), "0.337");
    assert_eq!(hedge["cost"], Value::Null);
    assert_eq!(hedge["why_null"]["cost"], "no branch states a cost");
}

const P99_ALL: f64 = 6.130_076_134_153_567;
const P99_FIRST_5: f64 = 2.018_087_013_371_554;
const P99_HEDGED: f64 = 4.396_228_200_181_718;
const P50_OF_16: f64 = 2.812_617_739_862_774;

#[test]
fn sixteen_branches_are_predicted_to_reference_precision() {
    let report = json(&["predict", "-n", "16", "--latency", EIGHT[4], "--format", "json"]);
    close(&report["strategies"][0]["quantiles_s"]["p50"], P50_OF_16);
    assert_eq!(report["strategies"][0]["name"], "all");
    assert_eq!(report["n"], 16);
}

#[test]
fn a_billion_branches_cost_no_more_than_one() {
    let args = [
        "predict",
        "-n",
        "1000000000",
        "--latency",
        "exponential:mean=1s",
        "-s",
        "share:50%",
        "--format",
        "json",
    ];
    let report = json(&args);
    let strategy = &report["strategies"][0];
    // Half of so many have answered at the median, give or take 30 µs.
    let median = number(&strategy["quantiles_s"]["p50"]);
    assert!((median - 2_f64.ln()).abs() < 1e-6, "{median}");
    assert_eq!((&strategy["plan"]["k"], &strategy["plan"]["required"]), (&500_000_000.into(), &0.into()));
}

#[test]
fn quantiles_come_in_the_order_asked_under_their_percentage() {
    let json = succeeds(&[&EIGHT[..], &["-p", "p99.9,0.5,1-1e-12", "--format", "json"]].concat());
    let place =
        |key: &str| json.find(&format!("\"{key}\": ")).unwrap_or_else(|| panic!("no {key} in {json}"));
    assert!(place("p99.9") < place("p50") && place("p50") < place("p99.9999999999"));
    assert!(!json.contains("\"p99\""));
}

#[test]
fn an_infinite_figure_is_null_with_its_reason() {
    let report = json(&["predict", "-n", "2", "--latency", "pareto:xm=1s,alpha=0.9", "--format", "json"]);
    let strategy = &report["strategies"][0];
    assert_eq!(strategy["mean_s"], Value::Null);
    assert_eq!(strategy["why_null"]["mean_s"], "infinite");
    assert!(strategy["quantiles_s"]["p99"].is_f64());
}

#[test]
fn every_plan_of_a_file_is_a_strategy_with_the_laws_of_its_branches() {
    let file = PlanFile::new(ENRICH);
    let report = json(&["predict", file.as_str(), "--format", "json"]);
    let [enrich] = report["strategies"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!(enrich["name"], "enrich");
    assert_eq!(enrich["file"], file.as_str());
    let verdicts = ["complete", "partial", "failed"].map(|verdict| number(&enrich[verdict]));
    assert!((verdicts.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{verdicts:?}");
    assert!(verdicts.iter().all(|share| *share > 0.001), "{verdicts:?}");
    assert_eq!(number(&enrich["cost"]), 0.004);
    assert_eq!(enrich["plan"]["branches"][0]["count"], 3);
    assert_eq!(enrich["plan"]["branches"][0]["copies_after_s"], serde_json::json!([1.5]));
    let assumes = enrich["assumes"].as_array().unwrap();
    assert!(assumes.iter().any(|line| line == "limiter `llm` never fills"), "{assumes:?}");
}

#[test]
fn a_plan_whose_gate_one_job_fills_is_simulated_and_says_why() {
    let file = PlanFile::new(ENRICH.replace("gate = 10", "gate = 3"));
    let arguments = ["predict", file.as_str(), "--jobs", "1e5", "--seed", "3", "--format", "json"];
    let report = json(&arguments);
    let enrich = &report["strategies"][0];
    assert_eq!(enrich["method"], "simulated");
    assert_eq!(enrich["simulated"], serde_json::json!({ "jobs": 100_000, "seed": 3, "confidence": 0.95 }));
    assert!(enrich["not_included"][0].as_str().unwrap().contains("`llm`"));
    for path in ["quantiles_s.p99", "mean_s", "complete", "extra_requests", "extra_busy"] {
        assert_eq!(enrich["methods"][path], "simulated", "{path}");
        let value = path.split('.').fold(enrich, |value, key| &value[key]);
        let [low, high] = [0, 1].map(|end| number(&enrich["intervals"][path][end]));
        assert!(low <= number(value) && number(value) <= high, "{path}: {value} in {low} to {high}");
    }
    let assumes = enrich["assumes"].as_array().unwrap();
    assert!(
        assumes.iter().any(|line| line == "each job starts when the one before has returned"),
        "{assumes:?}"
    );
    assert_eq!(json(&arguments), report);
}

#[test]
fn an_assert_on_simulated_jobs_holds_fails_or_cannot_be_told() {
    let file = PlanFile::new(ENRICH.replace("gate = 10", "gate = 3"));
    let arguments = ["predict", file.as_str(), "--jobs", "2e4"];
    let report = json(&[&arguments[..], &["--format", "json"]].concat());
    let median = number(&report["strategies"][0]["quantiles_s"]["p50"]);
    let check = |goal: &str, code, words: &str| {
        let output = run(&[&arguments[..], &["--assert", goal]].concat());
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{goal}: {stderr}");
        assert!(stderr.contains(words), "{goal}: {stderr}");
    };
    check("p50<1h", 0, "");
    check("p50<1ms", 3, "does not hold: p50 is");
    check(&format!("p50<{median}s"), 3, "cannot be told: p50 is");
}

#[test]
fn the_table_is_as_people_read_it() {
    let expected = "\
8 branches, each lognormal:median=1s,sigma=0.6

                                                              extra   extra
strategy      p50     p90     p95     p99   p99.9    mean  requests    busy
all        2.30 s  3.80 s  4.45 s  6.13 s  9.00 s  2.52 s       0 %     0 %
first:5    1.09 s  1.53 s  1.68 s  2.02 s  2.48 s  1.13 s       0 %     0 %
hedge:p95  2.30 s  3.45 s  3.74 s  4.40 s  5.38 s  2.41 s    +5.0 %  +1.1 %

Chance that a job meets a branch in that branch's slowest 1 %: 7.7 %.
Every job ends complete.
Jobs of hedge:p95 that send a copy: 33.7 %.
Figures are exact, assuming that branches and copies are independent.
";
    assert_eq!(succeeds(&[&EIGHT[..], &THREE].concat()), expected);
}

#[test]
fn csv_has_one_line_a_strategy_and_full_precision() {
    let csv = succeeds(&[&EIGHT[..], &THREE, &["--format", "csv", "-p", "p99"]].concat());
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let p99 = reader.headers().unwrap().iter().position(|name| name == "p99_s").unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let figures: Vec<f64> = rows.iter().map(|row| row[p99].parse().unwrap()).collect();
    assert!((figures[0] / P99_ALL - 1.0).abs() < 1e-12, "{figures:?}");
    assert_eq!(rows.iter().map(|row| &row[0]).collect::<Vec<_>>(), ["all", "first:5", "hedge:p95"]);
}

#[test]
fn markdown_is_one_table() {
    let md = succeeds(&[&EIGHT[..], &["--format", "md", "-p", "p50"]].concat());
    let expected = "\
| strategy |    p50 |   mean |
|----------|--------|--------|
| all      | 2.30 s | 2.52 s |
";
    assert_eq!(md, expected);
}

#[test]
fn wrong_usage_says_what_is_right() {
    let law = EIGHT[4];
    fails(&["predict"], 2, &["fantail predict plan.toml", "fantail predict -n 8 --latency"]);
    fails(&["predict", "-n", "8"], 2, &["--latency <LAW>"]);
    fails(&["predict", "--latency", law], 2, &["-n <N>"]);
    fails(
        &["predict", "plan.toml", "-n", "8", "--latency", law],
        2,
        &["-n 8 beside the file plan.toml", "fantail predict plan.toml"],
    );
    fails(&["simulate", "-n", "8", "-s", "all"], 2, &["-n 8 with which latency? expected --latency <LAW>"]);
    fails(&["predict", "-n", "0", "--latency", law], 2, &["expected a whole number from 1 to 1,000,000,000"]);
    fails(&["predict", "-n", "8", "--latncy", law], 2, &["a similar argument exists: '--latency'"]);
    fails(&["predikt"], 2, &["a similar subcommand exists: 'predict'"]);
    fails(&[], 2, &["Usage: fantail", "predict", "completions"]);
    fails(&["check"], 2, &["Usage: fantail check"]);
    fails(&["serve"], 2, &["Usage: fantail serve"]);
    fails(&["serve", "plan.toml", "--demo"], 2, &["cannot be used with"]);
    fails(&["serve", "plan.toml", "--traffic", "off"], 2, &["cannot be used with '--traffic <on|off>'"]);
    for wrong in ["8080", "127.0.0.1", "127.0.0.1:99999"] {
        fails(&["serve", "--demo", "--listen", wrong], 2, &["--listen: ", wrong, "expected HOST:PORT"]);
    }
}

#[test]
fn everything_that_is_wrong_with_the_texts_is_said_at_once() {
    let args = [
        "predict",
        "-n",
        "8",
        "--latency",
        "lognorml:median=1",
        "-s",
        "fist:5",
        "-s",
        "first:9",
        "-p",
        "p100",
    ];
    let expected = [
        "latency:1:1: ",
        "did you mean `lognormal`?",
        "strategy:1:1: ",
        "did you mean `first`?",
        "percentiles:1:1: `p100` is out of range",
    ];
    fails(&args, 2, &expected);
    fails(
        &["predict", "-n", "8", "--latency", "exponential:mean=1"],
        2,
        &["`1` has no unit: write 1s or 1ms"],
    );
    fails(
        &[&EIGHT[..], &["-s", "first:9"]].concat(),
        2,
        &["strategy:1:7: got 9, expected 1 to the number of branches, 8"],
    );
}

#[test]
fn a_wrong_file_is_refused_with_line_and_column() {
    let bad = ENRICH
        .replace("deadline = \"2.5s\"", "deadlin = \"2.5\"")
        .replace("backfill = true", "backfill = \"yes\"");
    let file = PlanFile::new(bad);
    let expected = [
        "plan.toml:9:12: `backfill` is the text `yes`",
        "plan.toml:8:1: unknown key `deadlin`; did you mean `deadline`?",
        "2 problems",
    ];
    fails(&["check", file.as_str()], 2, &expected);
    fails(&["predict", file.as_str()], 2, &expected);
    fails(&["serve", file.as_str()], 2, &expected);
    let without = PlanFile::new("[plan.a.branch]\nb = {}\n");
    fails(&["predict", without.as_str()], 2, &["plan `a`: no latency is stated for `b`"]);
    fails(
        &["serve", without.as_str(), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
        2,
        &["no plan has a `route`"],
    );
}

#[test]
fn an_unreadable_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let nowhere = format!("{folder}/none.toml");
    fails(&["check", folder], 2, &["is a directory; expected a file"]);
    fails(&["check", &nowhere], 2, &["none.toml: No such file"]);
    let binary = PlanFile::new(b"[plan.a]\n\xff\xfe\x00".as_slice());
    fails(&["check", binary.as_str()], 2, &["plan.toml:2:1: the byte 0xff is not UTF-8 text"]);
    if Path::new("/dev/zero").exists() {
        fails(&["check", "/dev/zero"], 2, &["is larger than 256 MiB"]);
    }
}

#[test]
fn check_says_what_a_file_means() {
    let file = PlanFile::new(ENRICH);
    let out = succeeds(&["check", file.as_str()]);
    for line in [
        "plan.toml: valid, 1 plan, 1 limiter",
        "limiter llm: at most 10 at once, 300 in 60s, burst 5",
        "plan enrich: POST /enrich",
        "  waits for all of 5 branches, 3 required, deadline 2.5s, copies for at most 5.0 % of answers, 20 saved up, backfill",
        "  dates    required  p50 800 ms, p99 2.40 s  copy after 1.50 s  limiter llm  127.0.0.1:9001",
        "  summary  optional  p50 800 ms, p99 2.40 s                     limiter llm  127.0.0.1:9001",
    ] {
        assert!(out.lines().any(|got| got.trim_end().ends_with(line)), "no {line:?} in:\n{out}");
    }
}

#[test]
fn many_like_branches_share_a_line() {
    let file =
        PlanFile::new("[plan.s.each]\ncount = 64\nname = \"shard-{i}\"\nurl = \"http://s{i}.internal/\"\n");
    let out = succeeds(&["check", file.as_str()]);
    assert!(out.contains("shard-0 … shard-63 (64)"), "{out}");
    assert!(out.contains("s0.internal … s63.internal"), "{out}");
}

#[test]
fn a_closed_pipe_is_quiet() {
    let mut child = fantail().args(EIGHT).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn output_that_is_lost_is_a_failure() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = fantail().args(EIGHT).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("error: standard output: "), "{}", text(&output.stderr));
}

#[test]
fn colours_are_for_those_who_want_them() {
    let escape = |name: &str, value: &str| {
        let output = fantail().args(EIGHT).env("CLICOLOR_FORCE", "1").env(name, value).output().unwrap();
        text(&output.stdout).contains('\u{1b}')
    };
    assert!(escape("UNRELATED", "1"));
    assert!(!escape("NO_COLOR", "1"));
    assert!(!succeeds(&EIGHT).contains('\u{1b}'));
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = succeeds(&["completions", shell]);
        for word in ["predict", "check", "serve", "completions", "percentiles"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
    fails(&["completions", "bsh"], 2, &["bash, elvish, fish, powershell, zsh"]);
}

#[test]
fn help_and_version_go_to_stdout() {
    assert_eq!(succeeds(&["--version"]), format!("fantail {}\n", env!("CARGO_PKG_VERSION")));
    for command in ["check", "predict", "serve", "completions"] {
        let help = succeeds(&[command, "--help"]);
        assert!(help.contains(&format!("Examples:\n  fantail {command} ")), "{help}");
    }
}

/// Checks the exit code and what is said of asserts, beside a report that is printed all the same.
fn asserts(args: &[&str], code: i32, expected: &str) {
    let output = run(args);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(code), expected), "{args:?}");
    assert!(!output.stdout.is_empty(), "{args:?}");
}

#[test]
fn an_assert_that_does_not_hold_is_named_with_figure_and_bound() {
    let with = |more: &[&'static str]| [&EIGHT[..], &THREE, more].concat();
    asserts(&with(&["--assert", "p99<7s", "--assert", "extra_requests<=5%"]), 0, "");
    for format in ["text", "json", "csv", "md"] {
        asserts(
            &with(&["--assert", "p99<5s", "--assert", "extra_busy<1%", "--format", format]),
            3,
            "error: all: p99<5s does not hold: p99 is 6.13 s\n\
             error: hedge:p95: extra_busy<1% does not hold: extra_busy is +1.1 %\n",
        );
    }
    asserts(
        &[&EIGHT[..], &["--assert", "complete<100%", "--assert", "cost<1", "--assert", "p97.5<2s"]].concat(),
        3,
        "error: all: complete<100% does not hold: complete is 100 % (1)\n\
         error: all: cost<1 does not hold: cost is not known: no branch states a cost\n\
         error: all: p97.5<2s does not hold: p97.5 is 5.15 s\n",
    );
}

#[test]
fn a_plan_of_a_file_is_held_to_its_asserts() {
    let file = PlanFile::new(ENRICH);
    asserts(
        &["predict", file.as_str(), "--assert", "failed<0.5%", "--assert", "p99<=2.5s"],
        3,
        "error: enrich: failed<0.5% does not hold: failed is 0.55 %\n",
    );
}

#[test]
fn a_wrong_assert_is_refused_at_its_column() {
    let args = [&EIGHT[..], &["--assert", "faild<1%", "--assert", "p99<2"]].concat();
    fails(&args, 2, &["goal:1:1: ", "did you mean `failed`?", "goal:1:5: `2` has no unit"]);
}

const LAW: [&str; 3] = ["predict", "--latency", EIGHT[4]];

/// The rows of a CSV, each by the names of its columns.
fn csv_rows(args: &[&str]) -> Vec<std::collections::HashMap<String, String>> {
    let csv = succeeds(&[args, &["--format", "csv"]].concat());
    csv::Reader::from_reader(csv.as_bytes()).deserialize().map(Result::unwrap).collect()
}

#[test]
fn a_sweep_over_n_is_what_each_n_is_alone() {
    let rows = csv_rows(&[&LAW[..], &["--sweep", "n=1..1000", "-s", "all", "-s", "hedge:p95"]].concat());
    let ends = |name: &str| {
        let mut ns = rows.iter().filter(|row| row["name"] == name).map(|row| row["n"].as_str());
        (ns.next().unwrap(), ns.next_back().unwrap())
    };
    assert_eq!((ends("all"), ends("hedge:p95")), (("1", "1000"), ("1", "1000")));
    let eight = rows.iter().find(|row| row["n"] == "8").unwrap();
    close(&eight["p99_s"].parse::<f64>().unwrap().into(), P99_ALL);
    assert!(!eight.contains_key("sigma"));

    let report = json(&[&LAW[..], &["--sweep", "n=8..9", "-f", "json"]].concat());
    close(&report["strategies"][0]["quantiles_s"]["p99"], P99_ALL);
    assert_eq!(report["strategies"][1]["at"], serde_json::json!({ "n": 9 }));
    assert_eq!(report.get("n"), None);
}

#[test]
fn a_sweep_over_sigma_replaces_the_stated_one() {
    let rows = csv_rows(&[&EIGHT[..], &["--sweep", "sigma=0.2..1:5"]].concat());
    let sigmas: Vec<&str> = rows.iter().map(|row| row["sigma"].as_str()).collect();
    assert_eq!(sigmas, ["0.2", "0.4", "0.6", "0.8", "1"]);
    close(&rows[2]["p99_s"].parse::<f64>().unwrap().into(), P99_ALL);
}

#[test]
fn a_later_deadline_completes_more_jobs_and_returns_later() {
    let rows = csv_rows(&[&EIGHT[..], &["--sweep", "deadline=1s..8s", "-s", "first:8+at-least:4"]].concat());
    let of = |name: &str| -> Vec<f64> { rows.iter().map(|row| row[name].parse().unwrap()).collect() };
    assert_eq!((of("deadline_s").len(), of("deadline_s")[0], of("deadline_s")[50]), (51, 1.0, 8.0));
    for rising in ["complete", "mean_s"] {
        assert!(of(rising).is_sorted_by(|a, b| a < b), "{rising}: {:?}", of(rising));
    }
    for i in 0..rows.len() {
        let verdicts: f64 = ["complete", "partial", "failed"].map(|verdict| of(verdict)[i]).iter().sum();
        assert!((verdicts - 1.0).abs() < 1e-12, "{verdicts}");
    }
}

#[test]
fn the_text_of_a_sweep_shows_a_table_for_each_strategy() {
    let expected = "\
Branches, each lognormal:median=1s,sigma=0.6; n from 1 to 1000

all
   n     p50    mean
   1  1.00 s  1.20 s
  10  2.46 s  2.69 s
 100  4.38 s  4.66 s
1000  6.81 s  7.16 s

first:1
   n      p50     mean
   1  1.00 s   1.20 s
  10   407 ms   421 ms
 100   228 ms   229 ms
1000   147 ms   146 ms

Every job ends complete.
Figures are exact, assuming that branches and copies are independent.
";
    let sweep = ["--sweep", "n=1..1000:4", "-s", "all", "-s", "first:1", "-p", "p50"];
    assert_eq!(succeeds(&[&LAW[..], &sweep].concat()), expected);
    let long = succeeds(&[&LAW[..], &["--sweep", "n=1..1000"]].concat());
    assert!(long.contains("Shown are 13 of 43 values; --format csv has all."), "{long}");
    let md = succeeds(&[&LAW[..], &["--sweep", "n=1..20", "-f", "md"]].concat());
    assert_eq!(md.lines().count(), 22, "{md}");
}

#[test]
fn a_sweep_that_cannot_be_says_why() {
    let check = |args: &[&str], more: &[&str], expected: &str| fails(&[args, more].concat(), 2, &[expected]);
    check(&EIGHT, &["--sweep", "sigme=1..2"], "sweep:1:1: `sigme` cannot be swept");
    check(&EIGHT, &["--sweep", "n=1..9"], "-n 8 beside --sweep n; expected one of them");
    check(&LAW, &["--sweep", "sigma=1..2"], "expected -n <N> or --sweep n=1..1000");
    check(&LAW, &["--sweep", "n=1..2000000000"], "expected at most 1000000000");
    check(&LAW, &["--sweep", "n=3..9", "-s", "first:5"], "\nat n = 3 of the sweep");
    check(&EIGHT, &["--sweep", "sigma=0..9"], "error: --sweep sigma: sigma: got 0, expected 1e-9 to 30\n");
    let typed = ["predict", "-n", "8", "--latency", "lognormal:sigma=0.3,medan=1s"];
    check(&typed, &["--sweep", "sigma=1..2"], "1 | lognormal:sigma=0.3,medan=1s\n");
    check(
        &EIGHT,
        &["--sweep", "deadline=1s..9s", "-s", "deadline:2s"],
        "beside the deadline of `deadline:2s`",
    );
    check(&EIGHT, &["--sweep", "n=1..9", "--assert", "p99<2s"], "cannot be used with");
    let law = ["predict", "-n", "8", "--latency", "0.5*lognormal:median=1s,sigma=1|0.5*exponential:mean=1s"];
    check(&law, &["--sweep", "sigma=1..2"], "--sweep sigma needs a log-normal latency");
}
