//! `fantail tune`: the cheapest plan that meets goals.

mod advice;
mod columns;
mod emit;
mod json;
mod report;
mod request;
mod rows;
mod text;
mod words;

use std::process::ExitCode;

use crate::args::{Format, TuneArgs};
use crate::output;
use report::Report;
use request::Request;

pub(crate) fn run(args: &TuneArgs) -> anyhow::Result<ExitCode> {
    let report = Report::new(Request::new(args)?)?;
    let file = match (&args.emit, &report.choice) {
        (Some(path), Some(choice)) => Some((path, emit::text(&report, choice)?)),
        _ => None,
    };
    let rendered = match args.format {
        Format::Text => text::render(&report, output::width()).into_bytes(),
        Format::Json => json::render(&report)?,
        Format::Csv => rows::csv(&report)?,
        Format::Md => rows::markdown(&report),
    };
    output::print(rendered)?;
    if let Some((path, text)) = file {
        emit::write(path, &text)?;
    }
    if report.choice.is_some() {
        return Ok(ExitCode::SUCCESS);
    }
    let unwritten = args.emit.as_ref().map(|path| format!("; {} was not written", path.display()));
    let unwritten = unwritten.unwrap_or_default();
    output::say(&format_args!("error: no plan was found that meets the goals{unwritten}"));
    Ok(ExitCode::from(3))
}
