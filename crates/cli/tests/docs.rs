//! What README and guides show is what the commands print.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use std::path::Path;
use std::process::Command;

use fantail_planfile::Goal;
use serde_json::Value;

/// A command and lines of what it prints, in order.
struct Shown<'t> {
    command: &'t str,
    lines: Vec<&'t str>,
}

/// Every block of output: it names its command after `$`, or the paragraph before it does as `fantail …`.
fn shown(text: &str) -> Vec<Shown<'_>> {
    let mut shown = Vec::new();
    let mut parts = text.split("```");
    while let (Some(prose), Some(block)) = (parts.next(), parts.next()) {
        let Some(block) = block.strip_prefix("text\n") else { continue };
        let inside = block.strip_prefix("$ ").and_then(|block| block.split_once('\n'));
        let before = prose.trim_end().rsplit("\n\n").next().and_then(|paragraph| {
            let (_, command) = paragraph.trim_end_matches(':').split_once('`')?;
            Some((command.strip_suffix('`')?, block))
        });
        let Some((command, output)) =
            inside.or(before).filter(|(command, _)| command.starts_with("fantail "))
        else {
            continue;
        };
        let lines = output.lines().filter(|line| !line.is_empty() && *line != "…").collect();
        shown.push(Shown { command, lines });
    }
    shown
}

/// Words as a shell has them, without what is redirected.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (i, piece) in command.split('\'').enumerate() {
        if i % 2 == 1 {
            words.last_mut().unwrap().push_str(piece);
            continue;
        }
        for (i, word) in piece.split(' ').enumerate() {
            if i > 0 {
                words.push(String::new());
            }
            words.last_mut().unwrap().push_str(word);
        }
    }
    words.retain(|word| !word.is_empty() && !word.starts_with('>'));
    words
}

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(file)).unwrap()
}

fn check(file: &str, least: usize) {
    let text = read(file);
    // A demo takes its real time, and what it measures is new each time.
    let shown: Vec<Shown<'_>> =
        shown(&text).into_iter().filter(|shown| !shown.command.contains(" serve ")).collect();
    assert!(shown.len() >= least, "{file} shows {} commands", shown.len());
    for Shown { command, lines } in shown {
        let mut run = Command::new(env!("CARGO_BIN_EXE_fantail"));
        let output = run.current_dir(ROOT).args(&words(command)[1..]).output().unwrap();
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let mut printed = printed.lines();
        for line in lines {
            assert!(
                printed.any(|printed| printed == line),
                "{file}: `{command}` does not print, in its turn:\n{line}"
            );
        }
    }
}

#[test]
fn the_readme_shows_what_the_commands_print() {
    check("README.md", 3);
}

#[test]
fn the_guide_to_predict_shows_what_it_prints() {
    check("docs/predict.md", 4);
}

#[test]
fn the_guide_to_tune_shows_what_it_prints() {
    check("docs/tune.md", 1);
    // Every goal of its table is one.
    let text = read("docs/tune.md");
    let goals = text.split(['`', '\n']).filter(|code| code.contains(['<', '>']) && !code.contains(' '));
    let goals: Vec<&str> = goals.collect();
    assert!(goals.len() > 8, "{goals:?}");
    for goal in goals {
        let goal = goal.strip_prefix("'").map_or(goal, |goal| goal.trim_end_matches('\''));
        assert!(Goal::parse(goal).is_ok(), "{goal}");
    }
}

/// A document whose prose has figures.
struct Prose(String);

impl Prose {
    fn of(file: &str) -> Prose {
        Prose(read(file).split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn says(&self, words: &str) {
        assert!(self.0.contains(words), "it does not say: {words}");
    }
}

const NARROW: &str = "lognormal:median=1s,sigma=0.6";
const WIDE: &str = "lognormal:median=1s,sigma=1";

fn json(args: &[&str]) -> Value {
    let mut run = Command::new(env!("CARGO_BIN_EXE_fantail"));
    let output = run.current_dir(ROOT).args(args).args(["--format", "json"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}"))
}

/// What is predicted of one strategy.
fn predicted(n: u32, law: &str, strategy: &str) -> Value {
    json(&["predict", "-n", &n.to_string(), "-l", law, "-s", strategy])["strategies"][0].clone()
}

fn mean(n: u32, law: &str, strategy: &str) -> f64 {
    predicted(n, law, strategy)["mean_s"].as_f64().unwrap()
}

fn median(n: u32, law: &str) -> f64 {
    predicted(n, law, "all")["quantiles_s"]["p50"].as_f64().unwrap()
}

/// Three significant digits.
fn digits(value: f64) -> String {
    let decimals = (2 - value.log10().floor() as i32).max(0) as usize;
    format!("{value:.decimals$}")
}

#[test]
fn the_text_on_barriers_has_the_figures_that_are_predicted() {
    let prose = Prose::of("docs/barrier.md");
    let p99 = predicted(1, NARROW, "all")["quantiles_s"]["p99"].as_f64().unwrap();
    prose.says(&format!("its p99 is 3.0 s where calls have {p99:.1} s"));
    prose.says(&format!("and the mean is {:.2} s", mean(1, WIDE, "all")));
    let [one, ten, hundred, thousand] = [1, 10, 100, 1000].map(|n| mean(n, NARROW, "all"));
    prose.says(&format!(
        "the mean goes from {one:.1} s to {ten:.1}, {hundred:.1} and {thousand:.1} s for 1, 10, 100 and 1000 branches"
    ));
    let width = |n| {
        let range = &predicted(n, NARROW, "all")["central_95_s"];
        range[1].as_f64().unwrap() - range[0].as_f64().unwrap()
    };
    prose.says(&format!(
        "the range that holds 95 % of the jobs from {:.1} to {:.1} s in width",
        width(1),
        width(1000)
    ));
    let above = |n: u32, sigma: f64, law| {
        let leading = (sigma * (2.0 * f64::from(n).ln()).sqrt()).exp();
        format!("{:.0} % above", 100.0 * (leading / median(n, law) - 1.0))
    };
    prose.says(&format!("is {} the median at n = 1000", above(1000, 0.6, NARROW)));
    prose.says(&format!(
        "it is {} at n = 8 and {} at n = 10⁹",
        above(8, 1.0, WIDE),
        above(1_000_000_000, 1.0, WIDE).trim_end_matches(" above")
    ));
    let off = |other: f64| 100.0 * (1.0 - other / median(10_000, NARROW));
    prose.says(&format!(
        "at n = 10,000 it takes {:.0} % off the median; 10 % off every call takes 10 %, half of the branches {:.0} % too",
        off(median(10_000, "lognormal:median=1s,sigma=0.5")),
        off(median(5_000, NARROW))
    ));
    let share = |n| mean(n, NARROW, "share:95%");
    prose.says(&format!(
        "At n = 19 `share:95%` is the full barrier and takes {:.2} s in the mean, at n = 20 it spares one and takes {:.2} s",
        share(19),
        share(20)
    ));
}

#[test]
fn the_text_on_barriers_has_the_figures_of_copies_deadlines_and_batches() {
    let prose = Prose::of("docs/barrier.md");
    let plain = |n| mean(n, NARROW, "all");
    prose.says(&format!("{:.1} s become {:.1} s at n = 1000", plain(1000), mean(1000, NARROW, "race:2")));
    let hedged = predicted(1000, NARROW, "hedge:p95");
    let figure = |name: &str| hedged[name].as_f64().unwrap();
    prose.says(&format!(
        "gives {:.1} s, for {:.0} % more requests and {:.1} % more busy time",
        figure("mean_s"),
        100.0 * figure("extra_requests"),
        100.0 * figure("extra_busy")
    ));
    let row = |strategy| [1, 10, 100, 1_000, 10_000].map(|n| digits(mean(n, WIDE, strategy))).join(", ");
    let raced = row("race:2").replacen("0.791", ".79", 1);
    prose.says(&format!("is {} s without and {raced} s with them", row("all")));
    let most_of = |n| {
        let gain = |strategy| plain(n) - mean(n, NARROW, strategy);
        format!("{:.0} %", 100.0 * gain("hedge:p95") / gain("race:2"))
    };
    prose.says(&format!(
        "of the mean, {} at n = 1000, {} at 100 and only {} at 10",
        most_of(1000),
        most_of(100),
        most_of(10)
    ));
    let complete = |deadline: &str| {
        let law = "p50=0.8s,p95=1.5s,p99=2.4s";
        let args = ["predict", "-n", "5", "-l", law, "--required", "3", "-s", deadline];
        100.0 * json(&args)["strategies"][0]["complete"].as_f64().unwrap()
    };
    prose.says(&format!(
        "{:.0} % of the jobs are complete, and at 2.5 s {:.1} %",
        complete("deadline:1.5s"),
        complete("deadline:2.5s")
    ));
    let batched = |strategy| digits(mean(1024, WIDE, strategy));
    prose.says(&format!(
        "take {} s in the mean one by one, {} s by fours and {} s by sixteens",
        batched("all"),
        batched("batch:4"),
        batched("batch:16")
    ));
}

/// The table is of a million jobs; a tenth of them is near it.
#[test]
fn the_text_on_simulating_has_the_figures_of_its_example() {
    let heavy = std::env::var_os("FANTAIL_HEAVY").is_some();
    let jobs = if heavy { "1e6" } else { "1e5" };
    let report = json(&["simulate", "examples/ingestion.toml", "--jobs", jobs, "--seed", "7"]);
    let text = read("docs/simulate.md");
    let check = |row: &str, plan: usize, path: &str, unit: f64, tolerance: f64| {
        let line = text.lines().find(|line| line.starts_with(&format!("| {row} |"))).unwrap();
        let cell = line.split('|').nth(3).unwrap().trim();
        let number = cell.split(' ').next().unwrap();
        let figure = report["plans"][plan].pointer(path).unwrap().as_f64().unwrap() / unit;
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let stated: f64 = number.parse().unwrap();
        let near = (figure / stated - 1.0).abs() < tolerance;
        assert!(
            if heavy { format!("{figure:.decimals$}") == number } else { near },
            "{row}: {figure} is not {cell}"
        );
    };
    check("one after the other, p50", 0, "/quantiles_s/p50", 1.0, 0.01);
    check("one after the other, p99", 0, "/quantiles_s/p99", 1.0, 0.05);
    check("at once, p50", 1, "/quantiles_s/p50", 1.0, 0.01);
    check("at once, p99", 1, "/quantiles_s/p99", 1.0, 0.02);
    check("calls that met 429", 1, "/rejected_429", 0.01, 0.25);
    check("the plan, p99", 2, "/quantiles_s/p99", 1.0, 1e-3);
}
