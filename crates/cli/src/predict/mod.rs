//! `fantail predict`: how long jobs take, how they end and what copies cost.

mod asserts;
mod columns;
mod markdown;
mod notes;
mod progress;
mod text;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fantail_report::plot::Plot;
use fantail_report::predict::{Effort, Report, Words};
use fantail_report::{Flags, Invalid, Source};
use indicatif::ProgressDrawTarget;

use crate::args::{Format, PredictArgs, TO_STDOUT};
use crate::failure::Failure;
use crate::input::Subject;
use crate::simulate::play;
use crate::{input, output, terminal};
use progress::Progress;

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    let (report, plot) = predicted(args)?;
    let rendered = match args.format {
        Format::Text => text::render(&report, output::width()).into_bytes(),
        Format::Json => report.json(),
        Format::Csv => report.csv(),
        Format::Md => markdown::render(&report),
    };
    output::print(rendered)?;
    if let (Some(path), Some(plot)) = (&args.plot, plot) {
        draw(path, &plot)?;
    }
    if args.explain {
        say_what_is_not_explained(&report);
    }
    say_what_is_left_out(&report);
    let missing = say_what_is_missing(&report);
    let broken = asserts::say_what_does_not_hold(&report);
    Ok(if missing {
        ExitCode::FAILURE
    } else if broken {
        ExitCode::from(3)
    } else {
        ExitCode::SUCCESS
    })
}

/// What is asked for, with a word on a terminal of how far it is.
fn predicted(args: &PredictArgs) -> anyhow::Result<(Report, Option<Plot>)> {
    let words = words(args)?;
    let progress = Progress::on(ProgressDrawTarget::stderr());
    let report = Report::new(&words, &play::silently, |count, all| progress.solved(count, all))?;
    progress.drawing();
    let view = args.view.map(Into::into);
    let plot = args.plot.as_ref().map(|_| report.plot(view)).transpose()?.flatten();
    Ok((report, plot))
}

const WHAT: &str = "predict what? Name a plan file, or state the branches:
  fantail predict plan.toml
  fantail predict -n 8 --latency p50=0.8s,p95=1.5s,p99=2.4s --strategy all --strategy first:5";

/// What the command line asks for.
///
/// The error is invalid input: files that cannot be read, and flags that contradict each other.
fn words(args: &PredictArgs) -> anyhow::Result<Words> {
    let subject = Subject {
        file: args.files.first().map(PathBuf::as_path),
        n: args.n,
        latency: args.latency.as_deref(),
        strategy: args.strategies.first().map(String::as_str),
    };
    subject.check(WHAT).map_err(Failure::invalid)?;
    let mut faults = Vec::new();
    let read = args.files.iter().map(|path| input::source(path));
    let files: Vec<Source> =
        read.filter_map(|file| file.map_err(|e| faults.push(e.to_string())).ok()).collect();
    if args.plot.as_deref() == Some(Path::new(TO_STDOUT)) && args.format != Format::Text {
        faults.push("--plot - draws below the text; expected --format text, or a file".to_owned());
    }
    if args.explain && matches!(args.format, Format::Csv | Format::Md) {
        faults.push("--explain is prose; expected --format text or json".to_owned());
    }
    if !faults.is_empty() {
        return Err(Invalid::new(faults.join("\n\n")).into());
    }
    Ok(Words {
        files,
        n: args.n,
        latency: args.latency.clone(),
        law: None,
        strategies: args.strategies.clone(),
        flags: Flags { at_least: args.at_least, required: args.required.clone(), rho: args.rho.clone() },
        sweep: args.sweep.clone(),
        percentiles: args.percentiles.clone(),
        asserts: args.asserts.clone(),
        effort: Effort { jobs: args.jobs, seed: args.seed },
        explain: args.explain,
    })
}

/// Draws into a file, or below the text.
fn draw(path: &Path, plot: &Plot) -> anyhow::Result<()> {
    if path == Path::new(TO_STDOUT) {
        return output::print(format!(
            "\n{}",
            terminal::render(plot, output::width(), output::stdout_has_colors())
        ));
    }
    output::write(path, plot.svg().as_bytes())
}

/// Says that a sweep has fewer points than asked for.
fn say_what_is_left_out(report: &Report) {
    if let Some((points, asked)) = report.left_out() {
        output::say(&format_args!(
            "note: --sweep: {points} of {asked} points, evenly: all of them would take more than ten seconds"
        ));
    }
}

/// Says which strategies `--explain` has nothing to say of.
fn say_what_is_not_explained(report: &Report) {
    for strategy in report.strategies.iter().filter(|strategy| strategy.simulated().is_some()) {
        let name = &strategy.shown;
        output::say(&format_args!(
            "note: {name}: not explained: --explain is for plans with an exact law only"
        ));
    }
}

/// Says which strategies have no figures, and why; whether there are any.
fn say_what_is_missing(report: &Report) -> bool {
    let refusals = notes::refusals(report);
    for refusal in &refusals {
        output::say(&format_args!("error: {refusal}"));
    }
    !refusals.is_empty()
}
