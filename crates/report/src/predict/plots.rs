//! `--plot`: what is drawn, from the very figures that are printed.

mod spread;
mod sweep;

use serde::Deserialize;

use super::report::{Figures, Report, Strategy, rows};
use super::subjects::subjects;
use crate::Invalid;
use crate::number;
use crate::plot::{Panel, Plot, TONES};

/// What a picture of a prediction shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// Density and share returned.
    Law,
    /// The density alone.
    Pdf,
    /// The share returned alone.
    Cdf,
    /// The share returned on an axis of nines.
    Tail,
    /// Return times along a sweep.
    Times,
    /// How jobs end along a sweep.
    Verdicts,
}

/// The picture of a prediction; `None` when it has no figures at all.
///
/// The error is invalid input: a view that does not suit what was asked.
pub(super) fn plot(report: &Report, view: Option<View>) -> Result<Option<Plot>, Invalid> {
    let view = view.unwrap_or_else(|| default_view(report));
    if report.strategies.iter().all(|strategy| strategy.outlook.is_err()) {
        return Ok(None);
    }
    let (title, panels) = match view {
        View::Times | View::Verdicts if !report.is_sweep() => {
            let word = if view == View::Times { "times" } else { "verdicts" };
            let message = format!("--view {word} needs --sweep; expected law, pdf, cdf or tail without one");
            return Err(Invalid::new(message));
        }
        View::Times => ("How long jobs take", sweep::times(report)?),
        View::Verdicts => ("How jobs end", sweep::verdicts(report)?),
        View::Law => ("How long jobs take: density, and share returned", spread::law(report)?),
        View::Pdf => ("How long jobs take: density", spread::pdf(report)?),
        View::Cdf => ("How long jobs take: share returned", spread::cdf(report)?),
        View::Tail => ("How late the last jobs return", spread::tail(report)?),
    };
    if panels.is_empty() {
        return Err(Invalid::new("--plot: every figure is infinite; nothing to draw"));
    }
    let along = matches!(view, View::Times | View::Verdicts);
    let title = match variable(report) {
        Some("n") if along => format!("{title}, by number of branches"),
        Some(word) if along => format!("{title}, by {word}"),
        _ => title.to_owned(),
    };
    Ok(Some(Plot { title, subtitle: subjects(report).join("; "), description: description(report), panels }))
}

/// What suits what was asked.
fn default_view(report: &Report) -> View {
    match variable(report) {
        Some("deadline") => View::Verdicts,
        Some(_) => View::Times,
        None if report.strategies.len() == 1 => View::Law,
        None => View::Tail,
    }
}

/// The word for what is swept.
fn variable(report: &Report) -> Option<&'static str> {
    report.strategies.first()?.point.map(super::request::Point::variable)
}

/// Refuses more than can be told apart.
fn check_count(count: usize, what: &str, most: usize, hint: &str) -> Result<(), Invalid> {
    if count > most {
        let message = format!("--plot: got {count} {what}, expected at most {most}{hint}");
        return Err(Invalid::new(message));
    }
    Ok(())
}

/// Refuses more curves than there are colours.
fn check_curves(count: usize, hint: &str) -> Result<(), Invalid> {
    check_count(count, "curves", TONES, hint)
}

/// The figures in a sentence for each strategy, those of a sweep at its ends.
fn description(report: &Report) -> String {
    let mut sentences = Vec::new();
    for curve in report.curves() {
        let rows = rows(curve);
        let ends = match rows.as_slice() {
            [] => continue,
            [one] => vec![one],
            [first, .., last] => vec![first, last],
        };
        let ends: Vec<String> =
            ends.into_iter().map(|(strategy, figures)| words(report, strategy, figures)).collect();
        sentences.push(format!("{}: {}.", curve[0].shown, ends.join("; ")));
    }
    sentences.join(" ")
}

fn words(report: &Report, strategy: &Strategy, figures: &Figures) -> String {
    let mut words: Vec<String> =
        strategy.point.map(|point| format!("at {} = {point}", point.variable())).into_iter().collect();
    let times =
        report.labels.iter().map(String::as_str).zip(figures.quantiles.iter().map(|figure| figure.value));
    words.extend(times.map(|(label, time)| format!("{label} {}", number::duration(time))));
    words.extend(figures.mean.iter().map(|mean| format!("mean {}", number::duration(mean.value))));
    if figures.complete.value < 1.0 {
        let shares =
            [("complete", figures.complete), ("partial", figures.partial), ("failed", figures.failed)];
        words.extend(shares.map(|(word, share)| format!("{} {word}", number::percent(share.value))));
    }
    words.join(", ")
}

/// The panel, where there are axes for it.
fn one(panel: Option<Panel>) -> Vec<Panel> {
    panel.into_iter().collect()
}
