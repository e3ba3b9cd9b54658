//! `fantail predict`: how long jobs take, how they end and what copies cost.

mod asserts;
mod columns;
mod csv;
mod json;
mod markdown;
mod report;
mod request;
mod text;

use std::process::ExitCode;

use crate::args::{Format, PredictArgs};
use crate::output;
use report::Report;
use request::Request;

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    let report = Report::new(Request::new(args)?);
    let rendered = match args.format {
        Format::Text => text::render(&report, output::width()).into_bytes(),
        Format::Json => json::render(&report)?,
        Format::Csv => csv::render(&report)?,
        Format::Md => markdown::render(&report),
    };
    output::print(rendered)?;
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

/// Says which strategies have no figures, and why; whether there are any.
fn say_what_is_missing(report: &Report) -> bool {
    let mut missing = false;
    for strategy in &report.strategies {
        if let Err(reasons) = &strategy.outlook {
            missing = true;
            let reasons = reasons.join("; ");
            output::say(&format_args!(
                "error: {}{}: not predicted: {reasons}; plans like it are not included yet",
                strategy.name,
                strategy.point.map(|point| format!(" at {} = {point}", point.variable())).unwrap_or_default()
            ));
        }
    }
    missing
}
