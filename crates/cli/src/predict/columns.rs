//! What the tables for people show: the columns that say anything about the strategies at hand.

use super::report::{Figures, Prices, Report};
use crate::number;

/// A column with one cell a strategy.
pub(super) struct Column {
    pub(super) subject: Subject,
    /// One or two lines.
    pub(super) header: String,
    pub(super) cells: Vec<String>,
}

/// What columns are about; those of one subject stay together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Name,
    Time,
    Verdict,
    Price,
}

/// Where there is no figure.
const NONE: &str = "–";

pub(super) fn columns(report: &Report) -> Vec<Column> {
    let names = report.strategies.iter().map(|strategy| strategy.name.clone()).collect();
    let mut columns = vec![Column { subject: Subject::Name, header: "strategy".to_owned(), cells: names }];
    let times = |header: &str, get: &dyn Fn(&Figures) -> Option<f64>| Column {
        subject: Subject::Time,
        header: header.to_owned(),
        cells: durations(report, get),
    };
    for (i, label) in report.labels.iter().enumerate() {
        columns.push(times(label, &|figures| Some(figures.quantiles[i])));
    }
    columns.push(times("mean", &|figures| figures.mean.clone().ok()));
    if !always_complete(report) {
        let mut verdict = |header: &str, get: fn(&Figures) -> f64| {
            let cells = cells(report, |figures| Some(number::percent(get(figures))));
            columns.push(Column { subject: Subject::Verdict, header: header.to_owned(), cells });
        };
        verdict("complete", |figures| figures.complete);
        verdict("partial", |figures| figures.partial);
        verdict("failed", |figures| figures.failed);
        if report.figures().any(|figures| figures.never > 0.0) {
            verdict("never", |figures| figures.never);
        }
    }
    columns.extend(prices(report));
    columns
}

/// Whether every job of every strategy ends complete, so that shares of verdicts would say nothing.
pub(super) fn always_complete(report: &Report) -> bool {
    report.figures().all(|figures| figures.complete == 1.0)
}

/// Whether any strategy sends copies.
pub(super) fn any_copies(report: &Report) -> bool {
    report.figures().any(|figures| figures.sends_copy > 0.0)
}

fn prices(report: &Report) -> Vec<Column> {
    let column = |header: &str, get: &dyn Fn(&Prices) -> Option<String>| Column {
        subject: Subject::Price,
        header: header.to_owned(),
        cells: cells(report, |figures| figures.prices.as_ref().ok().and_then(get)),
    };
    let mut columns = Vec::new();
    if any_copies(report) {
        columns.push(column("extra\nrequests", &|prices| Some(number::change(prices.extra_requests))));
        columns.push(column("extra\nbusy", &|prices| prices.extra_busy.map(number::change)));
    }
    let priced = |figures: &Figures| figures.prices.as_ref().is_ok_and(|prices| prices.cost.is_some());
    if report.figures().any(priced) {
        columns.push(column("cost", &|prices| prices.cost.map(number::amount)));
    }
    columns
}

fn cells(report: &Report, get: impl Fn(&Figures) -> Option<String>) -> Vec<String> {
    let cell = |figures| get(figures).unwrap_or_else(|| NONE.to_owned());
    report
        .strategies
        .iter()
        .map(|strategy| strategy.outlook.as_ref().map_or_else(|_| NONE.to_owned(), cell))
        .collect()
}

/// Times with their units below each other.
fn durations(report: &Report, get: &dyn Fn(&Figures) -> Option<f64>) -> Vec<String> {
    let values: Vec<Option<f64>> =
        report.strategies.iter().map(|strategy| strategy.outlook.as_ref().ok().and_then(get)).collect();
    let mut shown = number::durations(&values.iter().copied().flatten().collect::<Vec<f64>>()).into_iter();
    values.iter().map(|value| value.and_then(|_| shown.next()).unwrap_or_else(|| NONE.to_owned())).collect()
}
