//! `fantail predict`: how long jobs take, how they end and what copies cost.

mod asserts;
mod columns;
mod csv;
mod explain;
mod json;
mod markdown;
mod plots;
mod report;
mod request;
mod simulated;
mod solved;
mod text;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use crate::args::{Format, PredictArgs, TO_STDOUT};
use crate::output;
use crate::plot::Plot;
use report::Report;
use request::Request;

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    let report = Report::new(Request::new(args)?, args.explain);
    let plot = args.plot.as_ref().map(|_| plots::plot(&report, args.view)).transpose()?.flatten();
    let rendered = match args.format {
        Format::Text => text::render(&report, output::width()).into_bytes(),
        Format::Json => json::render(&report)?,
        Format::Csv => csv::render(&report)?,
        Format::Md => markdown::render(&report),
    };
    output::print(rendered)?;
    if let (Some(path), Some(plot)) = (&args.plot, plot) {
        draw(path, &plot)?;
    }
    if args.explain {
        say_what_is_not_explained(&report);
    }
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

/// Draws into a file, or below the text.
fn draw(path: &Path, plot: &Plot) -> anyhow::Result<()> {
    if path == Path::new(TO_STDOUT) {
        return output::print(format!("\n{}", plot.text(output::width(), output::stdout_has_colors())));
    }
    std::fs::write(path, plot.svg()).with_context(|| path.display().to_string())
}

/// Says which strategies `--explain` has nothing to say of.
fn say_what_is_not_explained(report: &Report) {
    for strategy in report.strategies.iter().filter(|strategy| strategy.simulated().is_some()) {
        let name = strategy.shown();
        output::say(&format_args!(
            "note: {name}: not explained: --explain is for plans with an exact law only"
        ));
    }
}

/// Says which strategies have no figures, and why; whether there are any.
fn say_what_is_missing(report: &Report) -> bool {
    let mut missing = false;
    for strategy in &report.strategies {
        if let Err(reasons) = &strategy.outlook {
            missing = true;
            let reasons = reasons.join("; ");
            output::say(&format_args!(
                "error: {}{}: not predicted: {reasons}",
                strategy.shown(),
                strategy.point.map(|point| format!(" at {} = {point}", point.variable())).unwrap_or_default()
            ));
        }
    }
    missing
}
