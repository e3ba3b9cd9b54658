//! What the tables for people show: the columns that say anything about the strategies at hand.

use crate::number;
use fantail_report::predict::{Figures, Prices, Report, Strategy};

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
    /// Where in a sweep.
    Point,
    Time,
    Verdict,
    Price,
    /// What is no number.
    Words,
}

/// A time that is finite and later than any that is computed.
const BEYOND: &str = "> 1e290 s";
/// Where there is no figure.
const NONE: &str = "–";

/// The columns of `rows`: their names, then where in a sweep they are, then their figures.
pub(super) fn columns(report: &Report, rows: &[&Strategy]) -> Vec<Column> {
    let names = rows.iter().map(|strategy| strategy.shown()).collect();
    let mut columns = vec![Column { subject: Subject::Name, header: "strategy".to_owned(), cells: names }];
    let points: Vec<_> = rows.iter().filter_map(|strategy| strategy.point).collect();
    if let Some(first) = points.first() {
        let cells = points.iter().map(ToString::to_string).collect();
        columns.push(Column { subject: Subject::Point, header: first.variable().to_owned(), cells });
    }
    let times = |header: &str, get: &dyn Fn(&Figures) -> Option<f64>| Column {
        subject: Subject::Time,
        header: header.to_owned(),
        cells: durations(rows, get),
    };
    for (i, label) in report.labels.iter().enumerate() {
        let mut column = times(label, &|figures| Some(figures.quantiles[i].value));
        for (cell, strategy) in column.cells.iter_mut().zip(rows) {
            if strategy.outlook.as_ref().is_ok_and(|figures| figures.is_beyond(i)) {
                BEYOND.clone_into(cell);
            }
        }
        columns.push(column);
    }
    columns.push(times("mean", &|figures| figures.mean.as_ref().ok().map(|mean| mean.value)));
    if !always_complete(rows) {
        let mut verdict = |header: &str, get: fn(&Figures) -> f64| {
            let cells = cells(rows, |figures| Some(number::percent(get(figures))));
            columns.push(Column { subject: Subject::Verdict, header: header.to_owned(), cells });
        };
        verdict("complete", |figures| figures.complete.value);
        verdict("partial", |figures| figures.partial.value);
        verdict("failed", |figures| figures.failed.value);
        if figures_of(rows).any(|figures| figures.never.value > 0.0) {
            verdict("never", |figures| figures.never.value);
        }
    }
    columns.extend(prices(rows));
    columns
}

/// Whether every job of every strategy ends complete, so that shares of verdicts would say nothing.
pub(super) fn always_complete(rows: &[&Strategy]) -> bool {
    figures_of(rows).all(|figures| figures.complete.value == 1.0)
}

/// Whether any strategy sends copies.
fn any_copies(rows: &[&Strategy]) -> bool {
    figures_of(rows).any(|figures| figures.sends_copy.as_ref().map(|share| share.value) != Ok(0.0))
}

fn prices(rows: &[&Strategy]) -> Vec<Column> {
    let column = |header: &str, get: &dyn Fn(&Prices) -> Option<String>| Column {
        subject: Subject::Price,
        header: header.to_owned(),
        cells: cells(rows, |figures| figures.prices.as_ref().ok().and_then(get)),
    };
    let mut columns = Vec::new();
    if any_copies(rows) {
        columns.push(column("extra\nrequests", &|prices| Some(number::change(prices.extra_requests.value))));
        columns
            .push(column("extra\nbusy", &|prices| prices.extra_busy.map(|busy| number::change(busy.value))));
    }
    let priced = |figures: &Figures| figures.prices.as_ref().is_ok_and(|prices| prices.cost.is_some());
    if figures_of(rows).any(priced) {
        columns.push(column("cost", &|prices| prices.cost.map(|cost| number::amount(cost.value))));
    }
    columns
}

/// The figures of the rows that have any.
fn figures_of<'r>(rows: &[&'r Strategy]) -> impl Iterator<Item = &'r Figures> {
    rows.iter().filter_map(|strategy| strategy.outlook.as_ref().ok())
}

fn cells(rows: &[&Strategy], get: impl Fn(&Figures) -> Option<String>) -> Vec<String> {
    let cell = |figures| get(figures).unwrap_or_else(|| NONE.to_owned());
    rows.iter().map(|strategy| strategy.outlook.as_ref().map_or_else(|_| NONE.to_owned(), cell)).collect()
}

/// Times with their units below each other.
fn durations(rows: &[&Strategy], get: &dyn Fn(&Figures) -> Option<f64>) -> Vec<String> {
    let values: Vec<Option<f64>> =
        rows.iter().map(|strategy| strategy.outlook.as_ref().ok().and_then(get)).collect();
    let mut shown = number::durations(&values.iter().copied().flatten().collect::<Vec<f64>>()).into_iter();
    values.iter().map(|value| value.and_then(|_| shown.next()).unwrap_or_else(|| NONE.to_owned())).collect()
}
