//! `--format text` and `md`: a table with a row a figure and a column a plan.

use std::fmt::Write;

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, Table};
use fantail_model::sim::Simulation;
use unicode_width::UnicodeWidthStr;

use crate::dashes::{Dashes, NONE};
use crate::{number, output};
use fantail_report::simulate::{Blocks, Figure, Id, Kind, Report, Row};
use fantail_report::text::{fold, printable};

/// Blanks between columns.
const GAP: usize = 2;

/// For a terminal of `width` columns.
pub(super) fn text(report: &Report, width: usize) -> String {
    let mut text = String::new();
    let mut line = |line: &str| {
        writeln!(text, "{}", fold(line, width, 2)).expect("a string takes every write");
    };
    if let (Some(n), Some(latency)) = (report.n, &report.latency) {
        let branches = number::count(n.into(), "branch,", "branches, each");
        line(&format!("{branches} {}", printable(latency)));
    }
    let names = report.rows.iter().map(|row| row.shown.width()).max().unwrap_or(0);
    for row in &report.rows {
        if let Some(description) = &row.description {
            let name = &row.shown;
            let padding = " ".repeat(names - name.width());
            line(&format!("{name}{padding}  {description}"));
        }
    }
    line(&format!("{}; in parentheses where the figure lies with 95 % confidence", report.title));
    let shown = shown(report);
    for columns in blocks(report, &shown, width) {
        text.push('\n');
        let mut table = table(&columns, &shown, str::to_owned);
        table.load_style(NOTHING);
        let first_padding = (0, 0);
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding(if i == 0 { first_padding } else { (GAP as u16, 0) });
            column.set_cell_alignment(if i == 0 { CellAlignment::Left } else { CellAlignment::Right });
        }
        for (i, line) in table.lines().enumerate() {
            let line = line.trim_end();
            let line = if i == 0 { output::strong(line) } else { line.to_owned() };
            writeln!(text, "{line}").expect("a string takes every write");
        }
    }
    text.push('\n');
    for note in dashes(report, &shown).into_iter().chain(notes(report)) {
        writeln!(text, "{}", fold(&note, width, 2)).expect("a string takes every write");
    }
    text
}

pub(super) fn markdown(report: &Report) -> String {
    let columns: Vec<&Row> = report.rows.iter().collect();
    let shown = shown(report);
    let mut table = table(&columns, &shown, output::in_markdown);
    table.load_style(ASCII_MARKDOWN);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let notes = dashes(report, &shown).into_iter().map(|note| format!("\n{}\n", output::in_markdown(&note)));
    std::iter::once(format!("{table}\n")).chain(notes).collect()
}

/// The plans side by side as far as `width` goes.
fn blocks<'r>(report: &'r Report, shown: &[Id], width: usize) -> Vec<Vec<&'r Row>> {
    let labels = shown.iter().map(|id| label(id).width()).max().unwrap_or(0);
    let column = |row: &Row| {
        let cells = shown.iter().map(|id| cell(row, id).width());
        cells.chain([row.shown.width()]).max().unwrap_or(0) + GAP
    };
    let mut blocks: Vec<(usize, Vec<&Row>)> = Vec::new();
    for row in &report.rows {
        let needed = column(row);
        match blocks.last_mut() {
            Some((used, rows)) if *used + needed <= width => {
                *used += needed;
                rows.push(row);
            }
            _ => blocks.push((labels + needed, vec![row])),
        }
    }
    blocks.into_iter().map(|(_, rows)| rows).collect()
}

/// The table with its texts written like that.
fn table(columns: &[&Row], shown: &[Id], written: fn(&str) -> String) -> Table {
    let mut table = Table::new();
    let names = columns.iter().map(|row| written(&row.shown));
    table.set_header(std::iter::once(String::new()).chain(names));
    for id in shown {
        let cells = columns.iter().map(|row| cell(row, id));
        table.add_row(std::iter::once(written(&label(id))).chain(cells));
    }
    table
}

/// The figures that say anything about any plan.
fn shown(report: &Report) -> Vec<Id> {
    let mut shown: Vec<Id> = Vec::new();
    for figure in report.rows.iter().flat_map(|row| &row.figures) {
        if !shown.contains(&figure.id) && report.rows.iter().any(|row| says_anything(row, &figure.id)) {
            shown.push(figure.id.clone());
        }
    }
    shown
}

fn figure<'r>(row: &'r Row, id: &Id) -> Option<&'r Figure> {
    row.figures.iter().find(|figure| figure.id == *id)
}

fn says_anything(row: &Row, id: &Id) -> bool {
    let Some(Figure { value: Ok(value), .. }) = figure(row, id) else { return false };
    match id {
        Id::Named("permits_delayed" | "sends_copy") => false,
        Id::Named("complete") => *value != 1.0,
        Id::Quantile(_) | Id::Utilisation(_) | Id::Named("worst_s" | "mean_s" | "peak_concurrency") => true,
        Id::Named(_) => *value != 0.0 && !value.is_nan(),
    }
}

fn label(id: &Id) -> String {
    let text = match id {
        Id::Quantile(label) => label,
        Id::Utilisation(server) => return format!("use of {server}"),
        Id::Named(name) => match *name {
            "worst_s" => "worst",
            "mean_s" => "mean",
            "extra_requests" => "extra requests",
            "extra_busy" => "extra busy",
            "rejected_429" => "429 / attempt",
            "rejected_429_calls" => "429 / call",
            "rejected_429_jobs" => "429 / job",
            "permit_wait_s" => "permit wait",
            "backfills" => "backfills / job",
            "peak_concurrency" => "peak calls",
            other => other,
        },
    };
    text.to_owned()
}

/// A figure and where it lies.
fn cell(row: &Row, id: &Id) -> String {
    let there = figure(row, id).filter(|_| why_missing(row, id).is_none());
    let Some(Figure { kind, value: Ok(value), interval, .. }) = there else { return NONE.to_owned() };
    let write = match kind {
        Kind::Time => number::duration,
        Kind::Share => number::percent,
        Kind::Change => number::change,
        Kind::Amount => number::amount,
        Kind::Count => |count| number::count(count as u64, "", "").trim_end().to_owned(),
    };
    let ends = interval.filter(|ends| ends.low.is_finite() && ends.high.is_finite() && ends.low < ends.high);
    match ends {
        Some(ends) => {
            let range = number::range(&write(ends.low), &write(ends.high));
            let range = if ends.low >= 0.0 { range.replace('+', "") } else { range };
            format!("{} ({range})", write(*value))
        }
        None => write(*value),
    }
}

/// Why there is no such figure.
fn why_missing(row: &Row, id: &Id) -> Option<&'static str> {
    match figure(row, id) {
        None => Some("no such server in its file, or one without bound"),
        Some(Figure { value: Err(why), .. }) => Some(why),
        Some(Figure { value: Ok(value), .. }) => value.is_nan().then_some("nothing to count"),
    }
}

/// Why there are dashes.
fn dashes(report: &Report, shown: &[Id]) -> Vec<String> {
    let mut dashes = Dashes::default();
    for id in shown {
        for row in &report.rows {
            if let Some(why) = why_missing(row, id) {
                dashes.add(&label(id), row.shown.clone(), why);
            }
        }
    }
    dashes.notes()
}

/// What jobs that matter to each other were played in.
fn blocks_in_words(report: &Report) -> Vec<String> {
    let mut groups: Vec<(&Blocks, Vec<&str>)> = Vec::new();
    let interact = report.rows.iter().filter_map(|row| Some((row.blocks.as_ref()?, row.shown.as_str())));
    for (blocks, name) in interact {
        let alike =
            |(other, _): &&mut (&Blocks, _)| (other.count, other.warm_up) == (blocks.count, blocks.warm_up);
        match groups.iter_mut().find(alike) {
            Some((_, names)) => names.push(name),
            None => groups.push((blocks, vec![name])),
        }
    }
    let shared = |(Blocks { count, are_enough, warm_up, .. }, names): (&Blocks, Vec<&str>)| {
        let of = if names.len() == report.rows.len() {
            String::new()
        } else {
            format!(" of {}", names.join(", "))
        };
        let rest = if *are_enough {
            let [count, block] = [*count, Simulation::BLOCK].map(number::grouped);
            format!("intervals rest on how {count} blocks of {block} differ")
        } else {
            format!("{} of them are needed for intervals", number::grouped(2 * Simulation::BLOCK))
        };
        let warm = if *warm_up > 0 {
            format!(", each after {} that do not count", number::grouped(*warm_up))
        } else {
            String::new()
        };
        format!("Jobs{of} matter to each other: {rest}{warm}.")
    };
    groups.into_iter().map(shared).collect()
}

/// Which plans did not come to what they come to in the end, and why.
pub(super) fn unsteady(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    for row in &report.rows {
        let (name, Some(Blocks { warm_up, remembers, round, piles_up, .. })) = (&row.shown, &row.blocks)
        else {
            continue;
        };
        if let Some(share) = piles_up {
            let share = number::percent(*share);
            notes.push(format!(
                "{name}: {share} of the calls that come are there for good. There is no steady state, and figures depend on \
                 how many jobs are played."
            ));
        } else if let Some(jobs) = remembers {
            let [jobs, warm_up] = [*jobs, *warm_up].map(number::grouped);
            notes.push(format!(
                "{name}: the beginning is forgotten after about {jobs} jobs, and {warm_up} are played before those that count: \
                 expected a longer `warm_up`."
            ));
        }
        if let Some(jobs) = round {
            let jobs = number::grouped(*jobs);
            notes.push(format!(
                "{name}: it takes {jobs} jobs to meet all of a window or all between two slow periods; fewer may say nothing of them."
            ));
        }
    }
    notes
}

fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(blocks_in_words(report));
    notes.extend(unsteady(report));
    if report.rows.iter().any(|row| row.beyond_time) {
        notes.push("Calls that take more than 584 years count as calls that never end.".to_owned());
    }
    if report.rows.iter().any(|row| row.is_coarse) {
        notes.push("Times are counted in whole nanoseconds: some calls take only a few, or none.".to_owned());
    }
    notes.push(
        "Figures are simulated: the machine that runs plans, over virtual time. Plans meet the same luck."
            .to_owned(),
    );
    notes
}
