//! `fantail tune`: the cheapest plan that meets goals.

mod advice;
mod columns;
mod emit;
mod json;
mod load_test;
mod report;
mod request;
mod rows;
mod text;
mod words;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::args::{Format, TO_STDOUT, TuneArgs};
use crate::output;
use report::Report;
use request::Request;

pub(crate) fn run(args: &TuneArgs) -> anyhow::Result<ExitCode> {
    let report = searched(Request::new(args)?)?;
    let file = match (&args.emit, &report.choice) {
        (Some(path), Some(choice)) if report.worsens_under_load().is_none() => {
            Some((path, emit::text(&report, choice)?))
        }
        _ => None,
    };
    let rendered = match args.format {
        Format::Text => text::render(&report, output::width()).into_bytes(),
        Format::Json => json::render(&report),
        Format::Csv => rows::csv(&report)?,
        Format::Md => rows::markdown(&report),
    };
    // Where the plan is the output, all else is said beside it.
    if args.emit.as_deref() == Some(Path::new(TO_STDOUT)) {
        output::say(&String::from_utf8_lossy(&rendered).trim_end());
        output::print(file.map(|(_, text)| text).unwrap_or_default())?;
    } else {
        output::print(rendered)?;
        if let Some((path, text)) = file {
            output::write(path, text.as_bytes())?;
        }
    }
    let worse = report.worsens_under_load();
    if report.choice.is_some() && worse.is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    let unwritten = args.emit.as_ref().map(|path| format!("; {} was not written", path.display()));
    let unwritten = unwritten.unwrap_or_default();
    match worse {
        Some(worse) => {
            output::say(&format_args!(
                "error: under the load of the scenario copies make {worse}{unwritten}"
            ));
        }
        None => output::say(&format_args!("error: no plan was found that meets the goals{unwritten}")),
    }
    Ok(ExitCode::from(3))
}

/// Searches, with a word on a terminal that it does: how many plans it will take is not known.
fn searched(request: Request) -> anyhow::Result<Report> {
    let style = ProgressStyle::with_template("{spinner} searching, {elapsed}");
    let bar = ProgressBar::new_spinner().with_style(style.expect("a template that indicatif knows"));
    bar.enable_steady_tick(Duration::from_millis(100));
    let report = Report::new(request);
    bar.finish_and_clear();
    report
}
