//! `--plot`: pictures that hold what is printed.

use std::collections::HashMap;

use crate::support::{
    EIGHT, FIVE, Folder, LOG_NORMAL, column, json, number, refuses, repository, rows, succeeds,
};

/// A picture read back: where its curves go, in pixels.
struct Picture(String);

impl Picture {
    fn draw(args: &[&str]) -> Picture {
        let folder = Folder::new();
        let file = folder.path("picture.svg");
        succeeds(&[args, &["--plot", &file]].concat());
        Picture(std::fs::read_to_string(file).unwrap())
    }

    /// Every curve, in the order of the legend of one panel.
    fn curves(&self) -> Vec<Vec<(f64, f64)>> {
        let path = |line: &str| {
            let d = line.split(" d=\"M").nth(1)?.split('"').next()?;
            d.contains('L').then(|| d.split(['L', 'M']).map(pair).collect())
        };
        self.0.lines().filter(|line| line.starts_with("<path class=\"c ")).filter_map(path).collect()
    }

    /// Where labels of ticks are: texts with their coordinates.
    fn labels(&self) -> HashMap<&str, (f64, f64)> {
        self.0
            .lines()
            .filter_map(|line| {
                let rest = line.strip_prefix("<text class=\"m\" x=\"")?;
                let (x, rest) = rest.split_once("\" y=\"")?;
                let (y, rest) = rest.split_once('"')?;
                let text = rest.split_once('>')?.1.strip_suffix("</text>")?;
                Some((text, (x.parse().unwrap(), y.parse().unwrap())))
            })
            .collect()
    }
}

fn pair(text: &str) -> (f64, f64) {
    let (x, y) = text.trim_end_matches('Z').split_once(' ').unwrap();
    (x.parse().unwrap(), y.parse().unwrap())
}

/// The straight line through two labelled places: from pixels to values.
fn ruler(a: (f64, f64), b: (f64, f64)) -> impl Fn(f64) -> f64 {
    move |pixel| a.1 + (pixel - a.0) / (b.0 - a.0) * (b.1 - a.1)
}

#[test]
fn a_curve_of_a_sweep_goes_through_the_printed_figures() {
    let sweep = ["-l", LOG_NORMAL, "--sweep", "n=1..1000:20", "-s", "all", "-s", "first:1"];
    let picture = Picture::draw(&sweep);
    let labels = picture.labels();
    let time = ruler((labels["0 s"].1, 0.0), (labels["6 s"].1, 6.0));
    let ln_n = ruler((labels["10"].0, 10_f64.ln()), (labels["100"].0, 100_f64.ln()));
    let figures = rows(&sweep);
    let curves = picture.curves();
    assert_eq!(curves.len(), 2);
    for (name, curve) in ["all", "first:1"].into_iter().zip(curves) {
        let figures: Vec<_> = figures.iter().filter(|row| row["name"] == name).cloned().collect();
        let (ns, means) = (column(&figures, "n"), column(&figures, "mean_s"));
        assert_eq!(curve.len(), ns.len(), "{name}");
        for ((x, y), (n, mean)) in curve.into_iter().zip(ns.into_iter().zip(means)) {
            // Labels are 4 pixels below their lines.
            let (n_drawn, mean_drawn) = (ln_n(x).exp(), time(y + 4.0));
            assert!((n_drawn / n - 1.0).abs() < 2e-3, "{name}: {n_drawn} is not {n}");
            assert!((mean_drawn - mean).abs() < 5e-3, "{name} at {n}: {mean_drawn} is not {mean}");
        }
    }
}

#[test]
fn verdict_shares_are_drawn_as_printed() {
    let sweep = [&FIVE[..], &["--required", "3", "--sweep", "deadline=0.5s..5s:10"]].concat();
    let picture = Picture::draw(&sweep);
    let labels = picture.labels();
    let share = ruler((labels["0 %"].1, 0.0), (labels["100 %"].1, 1.0));
    let figures = rows(&sweep);
    for (verdict, curve) in ["complete", "partial", "failed"].into_iter().zip(picture.curves()) {
        for ((_, y), expected) in curve.into_iter().zip(column(&figures, verdict)) {
            assert!(
                (share(y + 4.0) - expected).abs() < 1e-3,
                "{verdict}: {} is not {expected}",
                share(y + 4.0)
            );
        }
    }
}

#[test]
fn the_tail_crosses_each_nine_at_the_printed_percentile() {
    let args = [&EIGHT[..], &["-s", "all", "-s", "first:5", "-s", "hedge:p95"]].concat();
    let picture = Picture::draw(&args);
    let labels = picture.labels();
    let time = ruler((labels["0 s"].0, 0.0), (labels["10 s"].0, 10.0));
    let report = json(&args);
    for (strategy, curve) in report["strategies"].as_array().unwrap().iter().zip(picture.curves()) {
        for (label, percentile) in [("90 %", "p90"), ("99 %", "p99"), ("99.9 %", "p99.9")] {
            let line = labels[label].1 - 4.0;
            let crossing = curve.windows(2).find(|pair| pair[0].1 >= line && pair[1].1 < line).unwrap();
            let share = (crossing[0].1 - line) / (crossing[0].1 - crossing[1].1);
            let drawn = time(crossing[0].0 + share * (crossing[1].0 - crossing[0].0));
            let printed = number(&strategy["quantiles_s"][percentile]);
            assert!(
                (drawn - printed).abs() < 0.01,
                "{percentile} of {}: {drawn} is not {printed}",
                strategy["name"]
            );
        }
    }
}

#[test]
fn a_picture_says_in_words_what_it_shows() {
    let picture = Picture::draw(&[&EIGHT[..], &["-s", "hedge:p95+deadline:4s", "-p", "p50,p99"]].concat());
    assert!(picture.0.contains("<title id=\"t\">How long jobs take"), "{}", picture.0);
    assert!(picture.0.contains("<desc id=\"d\">hedge:p95+deadline:4s: p50 2.30 s, p99 4.00 s, mean 2.40 s, 97.3 % complete, 0 % partial, 2.7 % failed.</desc>"), "{}", picture.0);
    for part in
        ["mode 1.96 s", "median 2.30 s", "mean 2.40 s", "2.7 % return at 4.00 s", "normal of the same mean"]
    {
        assert!(picture.0.contains(part), "no {part}");
    }
    let same = Picture::draw(&[&EIGHT[..], &["-s", "hedge:p95+deadline:4s", "-p", "p50,p99"]].concat());
    assert!(picture.0 == same.0, "the same question has another picture");
}

#[test]
fn no_name_or_law_breaks_a_picture() {
    let folder = Folder::new();
    let odd = "[plan.\"a<b>&\\\"c\\\"\"]\n[plan.\"a<b>&\\\"c\\\"\".branch]\nb = { latency = \"exponential:mean=1s\" }\n";
    let file = folder.file("plan.toml", odd);
    let picture = Picture::draw(&[&file]);
    assert!(picture.0.contains("a&lt;b&gt;&amp;&quot;c&quot;"), "{}", picture.0);
    let laws = [
        "pareto:xm=1s,alpha=0.5",
        "weibull:shape=0.05,scale=1s",
        "lognormal:median=1s,sigma=20",
        "lognormal:median=1s,sigma=0.000001",
        "exponential:mean=1ns",
        "lognormal:median=1s,sigma=0.1,shift=100000s",
    ];
    for law in laws {
        for view in ["law", "tail"] {
            let picture = Picture::draw(&["-n", "3", "-l", law, "--view", view]);
            assert!(!picture.0.contains("NaN") && !picture.0.contains("inf"), "{law}: {}", picture.0);
            assert!(!picture.curves().is_empty(), "{law} {view}");
        }
        succeeds(&["-l", law, "--sweep", "n=1..100000:6", "--plot", "-"]);
    }
}

#[test]
fn a_terminal_shows_the_same_curves_in_characters() {
    let args = [&EIGHT[..], &["-s", "all", "-s", "first:5", "--plot", "-"]].concat();
    let text = succeeds(&args);
    for part in
        ["\nHow late the last jobs return\n", "\n  a  all\n", "\n  b  first:5\n", "99.9 % ┤", "return time"]
    {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_picture_that_cannot_be_drawn_says_why() {
    let plot = |args: &[&'static str], expected: &str| {
        refuses(&[&EIGHT[..], args].concat(), &[expected]);
    };
    plot(&["--plot", "plan.toml"], "expected a name that ends in .svg, or - for the terminal");
    plot(
        &["--plot", "-", "--format", "json"],
        "--plot - draws below the text; expected --format text, or a file",
    );
    plot(&["--view", "pdf"], "--plot");
    plot(&["--plot", "-", "--view", "times"], "--view times needs --sweep");
    plot(&["--plot", "-", "--view", "cdf", "--sweep", "sigma=0.1..1"], "got 51 curves, expected at most 8");
    let folder = Folder::new();
    let nowhere = folder.path("no/such/folder.svg");
    let output = crate::support::run(&[&EIGHT[..], &["--plot", &nowhere]].concat());
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_pictures_of_the_documentation_are_what_their_script_draws() {
    let folder = Folder::new();
    let drawn = folder.path("pictures");
    let script = std::process::Command::new("sh")
        .arg(repository("docs/pictures.sh"))
        .args([env!("CARGO_BIN_EXE_fantail"), &drawn])
        .output()
        .unwrap();
    assert!(script.status.success(), "{}", String::from_utf8_lossy(&script.stderr));
    let names = |folder: &std::path::Path| {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = files.filter(|name| name.to_string_lossy().ends_with(".svg")).collect();
        // That of hedging under load is drawn by an example of the report's crate.
        names.retain(|name| name != "load.svg");
        names.sort();
        names
    };
    let (drawn, committed) = (std::path::PathBuf::from(drawn), repository("docs/pictures"));
    assert_eq!(names(&drawn), names(&committed));
    for name in names(&drawn) {
        let same = std::fs::read(drawn.join(&name)).unwrap() == std::fs::read(committed.join(&name)).unwrap();
        assert!(same, "{} differs: run docs/pictures.sh target/release/fantail", name.display());
    }
}

/// A text of a picture: its class, place, anchor and words.
fn labels(svg: &str) -> Vec<(f64, f64, String, String)> {
    let attribute = |line: &str, name: &str| {
        line.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| Some(rest.split_once('"')?.0.to_owned()))
    };
    let label = |line: &str| {
        let place = |name| attribute(line, name)?.parse::<f64>().ok();
        let words = line.split_once('>')?.1.split_once('<')?.0.to_owned();
        let anchor = attribute(line, "text-anchor").unwrap_or_else(|| "start".to_owned());
        Some((place("x")?, place("y")?, anchor, words))
    };
    svg.lines().filter(|line| line.starts_with("<text class=\"m\"")).filter_map(label).collect()
}

/// However long or short times are, labels are in the picture and apart from each other.
#[test]
fn labels_have_room_at_any_scale() {
    let folder = Folder::new();
    let check = |args: &[&str]| {
        let file = folder.path("picture.svg");
        succeeds(&[args, &["--plot", &file]].concat());
        let labels = labels(&std::fs::read_to_string(&file).unwrap());
        let span = |(x, _, anchor, words): &(f64, f64, String, String)| {
            let width = 6.2 * words.chars().count() as f64;
            let start = match anchor.as_str() {
                "start" => *x,
                "middle" => x - width / 2.0,
                _ => x - width,
            };
            (start, start + width)
        };
        for (i, label) in labels.iter().enumerate().filter(|(_, label)| label.2 != "start") {
            let (start, end) = span(label);
            // The label of the y axis is to the left.
            let least = if label.2 == "end" { 24.0 } else { 0.0 };
            assert!(start >= least && end <= 880.0, "{args:?}: {label:?}");
            for other in labels[..i].iter().filter(|other| other.1 == label.1 && other.2 == label.2) {
                let (from, to) = span(other);
                assert!(to <= start || end <= from, "{args:?}: {other:?} and {label:?}");
            }
        }
    };
    let law = |law: &'static str| ["-n", "5", "-l", law];
    check(&["-n", "1000000000", "-l", "weibull:shape=0.05,scale=1s"]);
    check(&law("lognormal:median=1s,sigma=20"));
    check(&law("lognormal:median=1s,sigma=0.000001"));
    check(&law("pareto:xm=1ns,alpha=0.01"));
    check(&law("exponential:mean=1e15s"));
    check(&law("exponential:mean=1e-15s"));
    check(&[&law("lognormal:median=1s,sigma=20")[..], &["-s", "all", "-s", "race:2"]].concat());
    check(&[&law("lognormal:median=1s,sigma=0.6")[..], &["--sweep", "sigma=0.1..30"]].concat());
    check(&[&law("lognormal:median=1s,sigma=0.6")[..], &["--sweep", "deadline=1ns..8000h"]].concat());
    check(&["-l", "lognormal:median=1s,sigma=20", "--sweep", "n=1..1000000000"]);
}
