//! What the tables for people show: the columns that say anything about the strategies at hand.

use crate::dashes::NONE;
use crate::number;
use fantail_model::{Figure, Method};
use fantail_report::predict::{Figures, Point, Prices, Report, Row, UNPRICED};

/// A column with one cell a row.
pub(super) struct Column {
    pub(super) subject: Subject,
    /// One or two lines.
    pub(super) header: String,
    pub(super) cells: Vec<String>,
    /// The rows whose cell is a dash, and why each is.
    pub(super) missing: Vec<(usize, String)>,
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

impl Column {
    /// A column that has all its cells.
    pub(super) fn new(subject: Subject, header: &str, cells: Vec<String>) -> Column {
        Column { subject, header: header.to_owned(), cells, missing: Vec::new() }
    }

    /// A column that has a cell, or why there is none, for each row.
    fn of<T>(
        subject: Subject,
        header: &str,
        figures: Vec<Result<T, String>>,
        mut write: impl FnMut(T) -> String,
    ) -> Column {
        let mut column = Column::new(subject, header, Vec::new());
        for (row, figure) in figures.into_iter().enumerate() {
            column.cells.push(match figure {
                Ok(figure) => write(figure),
                Err(why) => {
                    column.missing.push((row, why));
                    NONE.to_owned()
                }
            });
        }
        column
    }
}

/// The columns of `rows`: their names, then where in a sweep they are, then their figures.
pub(super) fn columns(report: &Report, rows: &[Row<'_>]) -> Vec<Column> {
    let names = rows.iter().map(|(strategy, _)| strategy.shown.clone()).collect();
    let mut columns = vec![Column::new(Subject::Name, "strategy", names)];
    let points: Vec<Point> = rows.iter().filter_map(|(strategy, _)| strategy.point).collect();
    if let Some(first) = points.first() {
        columns.push(Column::new(Subject::Point, first.variable(), Point::labels(&points)));
    }
    for (i, label) in report.labels.iter().enumerate() {
        let mut column = times(label, rows, &|figures| Ok(figures.quantiles[i]));
        for (cell, (_, figures)) in column.cells.iter_mut().zip(rows) {
            if figures.is_beyond(i) {
                BEYOND.clone_into(cell);
            }
        }
        columns.push(column);
    }
    columns.push(times("mean", rows, &|figures| figures.mean.clone()));
    if !always_complete(rows) {
        let mut verdict = |header: &str, get: fn(&Figures) -> Figure| {
            let shares = rows.iter().map(|(_, figures)| Ok(get(figures))).collect();
            columns.push(Column::of(Subject::Verdict, header, shares, share));
        };
        verdict("complete", |figures| figures.complete);
        verdict("partial", |figures| figures.partial);
        verdict("failed", |figures| figures.failed);
        if rows.iter().any(|(_, figures)| figures.never.value > 0.0) {
            verdict("never", |figures| figures.never);
        }
    }
    columns.extend(prices(rows));
    columns
}

/// Whether every job of every strategy ends complete, so that shares of verdicts would say nothing.
pub(super) fn always_complete(rows: &[Row<'_>]) -> bool {
    rows.iter().all(|(_, figures)| figures.complete.value == 1.0)
}

/// Whether any strategy sends copies.
fn any_copies(rows: &[Row<'_>]) -> bool {
    rows.iter().any(|(_, figures)| figures.sends_copy.as_ref().map(|share| share.value) != Ok(0.0))
}

fn prices(rows: &[Row<'_>]) -> Vec<Column> {
    let column = |header: &str, write: fn(f64) -> String, get: &dyn Fn(&Prices) -> Result<Figure, String>| {
        let price = |(_, figures): &Row<'_>| get(figures.prices.as_ref().map_err(String::clone)?);
        let prices = rows.iter().map(price).collect();
        Column::of(Subject::Price, header, prices, |figure| write(figure.value))
    };
    let mut columns = Vec::new();
    if any_copies(rows) {
        columns.push(column("extra\nrequests", number::change, &|prices| Ok(prices.extra_requests)));
        columns.push(column("extra\nbusy", number::change, &|prices| prices.extra_busy.clone()));
    }
    if rows.iter().any(|(_, figures)| figures.prices.as_ref().is_ok_and(|prices| prices.cost.is_some())) {
        columns
            .push(column("cost", number::amount, &|prices| prices.cost.ok_or_else(|| UNPRICED.to_owned())));
    }
    columns
}

/// A time of each row.
fn times(header: &str, rows: &[Row<'_>], get: &dyn Fn(&Figures) -> Result<Figure, String>) -> Column {
    let figures: Vec<Result<Figure, String>> = rows.iter().map(|(_, figures)| get(figures)).collect();
    let mut cells = durations(&figures.iter().flatten().copied().collect::<Vec<_>>()).into_iter();
    Column::of(Subject::Time, header, figures, |_| cells.next().unwrap_or_default())
}

/// Times, which have three digits, with their units below each other.
pub(super) fn durations(figures: &[Figure]) -> Vec<String> {
    let middles = number::durations(&figures.iter().map(|figure| figure.value).collect::<Vec<_>>());
    let cell = |(figure, middle): (&Figure, String)| {
        let lower = if let Method::Bounded { lower, .. } = figure.method { lower } else { figure.value };
        ends(figure, lower, TIMES_APART)
            .map_or(middle, |(lower, upper)| number::span(&number::duration(lower), &number::duration(upper)))
    };
    figures.iter().zip(middles).map(cell).collect()
}

/// A share, which has two digits of how far it is from 0 and 1.
pub(super) fn share(figure: Figure) -> String {
    let to_end = figure.value.min(1.0 - figure.value);
    ends(&figure, to_end, SHARES_APART).map_or_else(
        || number::percent(figure.value),
        |(lower, upper)| number::span(&number::percent(lower), &number::percent(upper)),
    )
}

/// How far bounds may be apart for their middle to be printed with three digits, and with two.
pub(super) const TIMES_APART: f64 = 0.01;
const SHARES_APART: f64 = 0.1;

/// The bounds of a figure, where its middle would say more than is known.
fn ends(figure: &Figure, of: f64, apart: f64) -> Option<(f64, f64)> {
    let Method::Bounded { lower, upper } = figure.method else { return None };
    (upper - lower > apart * of).then_some((lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_are_far_apart_are_both_printed() {
        let bounded =
            |lower: f64, value: f64, upper: f64| Figure { value, method: Method::Bounded { lower, upper } };
        let check_time = |lower, upper, shown: &str| {
            assert_eq!(durations(&[bounded(lower, f64::midpoint(lower, upper), upper)]), [shown]);
        };
        check_time(1.0, 1.005, "1.00 s");
        check_time(1.0, 1.5, "1.00–1.50 s");
        check_time(0.9, 1.5, "900 ms–1.50 s");
        check_time(1.0, f64::INFINITY, "≥ 1.00 s");
        let check_share = |lower, value, upper, shown: &str| {
            assert_eq!(share(bounded(lower, value, upper)), shown);
        };
        check_share(0.95, 0.9501, 0.9502, "95.0 %");
        check_share(0.2, 0.5, 0.8, "20.0–80.0 %");
        check_share(0.0, 5e-12, 1e-11, "0–1.0e-9 %");
    }
}
