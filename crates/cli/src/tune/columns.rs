//! What the tables of plans show: one column a goal, the other verdicts and prices, and what was chosen.

use fantail_model::tune::Measure;
use fantail_planfile::Goal;

use super::report::{Report, Row};
use super::words;
use crate::number;

/// A column with one cell a row.
pub(super) struct Column {
    /// One or two lines.
    pub(super) header: String,
    pub(super) cells: Vec<String>,
}

/// Where there is no figure.
pub(super) const NONE: &str = "–";

/// The columns of plans, without their names. Verdicts and costs that say nothing are left out.
pub(super) fn columns(report: &Report, rows: &[&Row]) -> Vec<Column> {
    let goals = &report.request.goals;
    let mut columns = levers(report, rows);
    let figures: Vec<&[Option<f64>]> = rows.iter().map(|row| row.figures.as_slice()).collect();
    let times = goal_columns(goals, &figures).into_iter().zip(goals);
    columns.extend(times.filter(|(_, goal)| goal.goal().measure.is_time()).map(|(column, _)| column));
    let mut add = |header: &str, cell: &dyn Fn(&Row) -> Option<String>| {
        let cells = rows.iter().map(|row| cell(row).unwrap_or_else(|| NONE.to_owned())).collect();
        columns.push(Column { header: header.to_owned(), cells });
    };
    let mut verdict = |header: &str, measure: Measure, get: fn(&Row) -> f64| {
        let goal = goals.iter().find(|goal| goal.goal().measure == measure);
        let rest = |row: &Row| if measure == Measure::Complete { 1.0 - get(row) } else { get(row) };
        if goal.is_some() || rows.iter().any(|row| rest(row) > NOTABLE) {
            add(header, &|row| Some(beside_bound(goal, measure, get(row))));
        }
    };
    verdict("complete", Measure::Complete, |row| row.complete);
    verdict("partial", Measure::Partial, |row| row.partial);
    verdict("failed", Measure::Failed, |row| row.failed);
    add("extra\nrequests", &|row| Some(number::change(row.extra_requests)));
    add("extra\nbusy", &|row| row.extra_busy.map(number::change));
    if rows.windows(2).any(|pair| pair[0].cost != pair[1].cost) {
        add("cost", &|row| row.cost.map(number::amount));
    }
    columns
}

/// A share of jobs that is worth a column.
const NOTABLE: f64 = 1e-5;

/// What was chosen: columns that say the same of all rows and as the plan is stated are left out.
fn levers(report: &Report, rows: &[&Row]) -> Vec<Column> {
    let stated = &report.request.tuning.plan;
    let cells = |cell: &dyn Fn(&Row) -> String| rows.iter().map(|row| cell(row)).collect();
    let mut columns = Vec::new();
    if rows.iter().any(|row| row.job.plan().k != stated.k) {
        columns
            .push(Column { header: "first".to_owned(), cells: cells(&|row| row.job.plan().k.to_string()) });
    }
    if rows.iter().any(|row| row.job.plan().deadline != stated.deadline) {
        let deadline = |row: &Row| {
            let deadline = row.job.plan().deadline;
            if deadline.is_finite() { words::time(deadline) } else { NONE.to_owned() }
        };
        columns.push(Column { header: "deadline".to_owned(), cells: cells(&deadline) });
    }
    if rows.iter().any(|row| row.job.plan().has_copies()) {
        columns.push(Column {
            header: "copy\nafter".to_owned(),
            cells: cells(&|row| words::delays(row.job.plan())),
        });
    }
    columns
}

/// The figures of the goals, one column each.
pub(super) fn goal_columns(goals: &[Goal], rows: &[&[Option<f64>]]) -> Vec<Column> {
    let column = |(i, goal): (usize, &Goal)| {
        let measure = goal.goal().measure;
        let shown = |value: f64| beside_bound(Some(goal), measure, value);
        let cells = rows.iter().map(|figures| figures[i].map_or_else(|| NONE.to_owned(), shown)).collect();
        let mut column = Column { header: goal.word().to_owned().replace('_', "\n"), cells };
        if measure.is_time() {
            align_units(&mut column.cells);
        }
        column
    };
    goals.iter().enumerate().map(column).collect()
}

/// A figure, with the side of the bound that it lies on where it would look like the bound.
fn beside_bound(goal: Option<&Goal>, measure: Measure, value: f64) -> String {
    let text = number::figure(measure, value);
    match goal {
        Some(goal) if value < goal.goal().bound && text == number::figure(measure, goal.goal().bound) => {
            format!("< {text}")
        }
        Some(goal) if value > goal.goal().bound && text == number::figure(measure, goal.goal().bound) => {
            format!("> {text}")
        }
        _ => text,
    }
}

/// Units below each other: those of one letter are followed by a blank where others have two.
fn align_units(cells: &mut [String]) {
    let unit = |cell: &str| cell.rsplit_once(' ').map_or(0, |(_, unit)| unit.chars().count());
    let width = cells.iter().map(|cell| unit(cell)).max().unwrap_or(0);
    for cell in cells.iter_mut().filter(|cell| unit(cell) > 0) {
        let missing = width - unit(cell);
        cell.push_str(&" ".repeat(missing));
    }
}
