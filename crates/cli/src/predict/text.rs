//! `--format text`: tables for people, as wide as the terminal allows.

use std::fmt::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use fantail_core::Time;
use fantail_model::{Figure, Method};
use fantail_planfile::EarlierCopy;
use fantail_report::text::fold;
use unicode_width::UnicodeWidthStr;

use super::columns::{Column, Subject, always_complete, columns};
use crate::{number, output};
use fantail_report::predict::word;
use fantail_report::predict::{Explanation, Lever};
use fantail_report::predict::{Figures, Report, Strategy};

/// Renders for a terminal of `width` columns.
pub(super) fn render(report: &Report, width: usize) -> String {
    let mut text = String::new();
    for line in report.subjects() {
        writeln!(text, "{}", fold(&line, width, 2)).expect("a string takes every write");
    }
    if report.is_sweep() {
        for curve in report.curves() {
            writeln!(text, "\n{}", output::strong(&curve[0].shown())).expect("a string takes every write");
            let mut columns = columns(report, &some_of(curve));
            // The line above says it.
            columns.remove(0);
            tables(&mut text, columns, width);
        }
    } else {
        text.push('\n');
        tables(&mut text, columns(report, &report.rows()), width);
    }
    text.push('\n');
    for line in notes(report) {
        writeln!(text, "{}", fold(&line, width, 2)).expect("a string takes every write");
    }
    for strategy in &report.strategies {
        if let Some(explanation) = &strategy.explanation {
            explain(&mut text, strategy, explanation, width);
        }
    }
    text
}

/// What would help, as a table, and what is easily misread.
fn explain(text: &mut String, strategy: &Strategy, explanation: &Explanation, width: usize) {
    let Explanation { base, levers, traps } = explanation;
    writeln!(text, "\n{}", output::strong(&format!("{}, explained", strategy.shown())))
        .expect("a string takes every write");
    let column = |subject, header: &str, cells| Column { subject, header: header.to_owned(), cells };
    let readouts = || std::iter::once(base).chain(levers.iter().map(|lever| &lever.readout));
    let words = |first: &str, word: fn(&Lever) -> &str| {
        std::iter::once(first.to_owned()).chain(levers.iter().map(|lever| word(lever).to_owned())).collect()
    };
    let columns = vec![
        column(Subject::Name, "one change", words("none", |lever| &lever.change)),
        column(
            Subject::Time,
            "p99",
            number::durations(&readouts().map(|readout| readout.p99).collect::<Vec<_>>()),
        ),
        column(
            Subject::Verdict,
            "complete",
            readouts().map(|readout| number::percent(readout.complete)).collect(),
        ),
        column(Subject::Words, "at the price of", words("", |lever| &lever.price)),
    ];
    tables(text, columns, width);
    if levers.is_empty() {
        text.push_str("Nothing that was tried helps.\n");
    }
    for trap in traps {
        writeln!(text, "{}", fold(&format!("- {}", trap.text), width, 2))
            .expect("a string takes every write");
    }
}

/// The most rows that are shown of a curve.
const MOST_ROWS: usize = 13;

/// Rows of a curve for people: its ends and what lies evenly between.
fn some_of(curve: &[Strategy]) -> Vec<&Strategy> {
    let rows = curve.len().min(MOST_ROWS);
    (0..rows).map(|i| &curve[i * (curve.len() - 1) / (rows - 1).max(1)]).collect()
}

/// The columns as tables below each other, each beginning with the first column.
fn tables(text: &mut String, columns: Vec<Column>, width: usize) {
    let mut columns = columns.into_iter();
    let names = columns.next().expect("the first column says what the rows are");
    for (i, block) in blocks(columns.collect(), &names, width).iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        text.push_str(&table(&names, block));
    }
}

/// Columns side by side as far as `width` goes: all of them, else subject by subject, else as many as fit.
fn blocks(columns: Vec<Column>, names: &Column, width: usize) -> Vec<Vec<Column>> {
    let room = width.saturating_sub(column_width(names));
    let needed = |columns: &[Column]| columns.iter().map(column_width).sum::<usize>();
    if needed(&columns) <= room {
        return vec![columns];
    }
    let mut blocks: Vec<Vec<Column>> = Vec::new();
    let mut subject = Subject::Name;
    for column in columns {
        let fits = blocks.last().is_some_and(|block| needed(block) + column_width(&column) <= room);
        // Verdicts and prices go together where there is room for both.
        let same =
            column.subject == subject || subject == Subject::Verdict && column.subject == Subject::Price;
        subject = column.subject;
        match blocks.last_mut() {
            Some(block) if fits && same => block.push(column),
            _ => blocks.push(vec![column]),
        }
    }
    blocks
}

/// Two blanks between columns.
const GAP: usize = 2;

fn column_width(column: &Column) -> usize {
    let cells = column.cells.iter().map(|cell| cell.width());
    cells.chain(column.header.lines().map(UnicodeWidthStr::width)).max().unwrap_or(0) + GAP
}

fn table(names: &Column, columns: &[Column]) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    let row = |cell: &dyn Fn(&Column) -> String| {
        std::iter::once(names).chain(columns).map(cell).collect::<Vec<_>>()
    };
    let header_lines = columns.iter().map(|column| column.header.lines().count()).max().unwrap_or(1);
    let header = |column: &Column| {
        let above = header_lines - column.header.lines().count();
        "\n".repeat(above) + &column.header
    };
    table.set_header(row(&header));
    for i in 0..names.cells.len() {
        table.add_row(row(&|column| column.cells[i].clone()));
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if i == 0 { 0 } else { GAP as u16 }, 0));
        let subject = if i == 0 { names.subject } else { columns[i - 1].subject };
        let left = matches!(subject, Subject::Name | Subject::Words);
        column.set_cell_alignment(if left { CellAlignment::Left } else { CellAlignment::Right });
    }
    let mut text = String::new();
    for (i, line) in table.lines().enumerate() {
        let line = line.trim_end();
        let line = if i < header_lines { output::strong(line) } else { line.to_owned() };
        writeln!(text, "{line}").expect("a string takes every write");
    }
    text
}

/// What the figures mean and what they take for granted.
fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    let rows = report.rows();
    let predicted = rows.iter().any(|strategy| strategy.outlook.is_ok());
    if report.is_sweep() {
        let points = report.curves().into_iter().map(<[_]>::len).max().unwrap_or(0);
        if points > MOST_ROWS {
            notes.push(format!("Shown are {MOST_ROWS} of {points} values; --format csv has all."));
        }
    } else {
        notes.push(slowest(report));
    }
    if predicted && always_complete(&rows) {
        notes.push("Every job ends complete.".to_owned());
    }
    for strategy in rows.iter().filter(|strategy| strategy.point.is_none()) {
        if let Ok(figures) = &strategy.outlook
            && let Ok(share) = &figures.sends_copy
            && share.value > 0.0
        {
            let share = number::percent(share.value);
            notes.push(format!("Jobs of {} that send a copy: {share}.", strategy.shown()));
        }
    }
    // Along a sweep of deadlines many are.
    if !report.is_sweep() {
        notes.extend(report.strategies.iter().filter_map(earlier_copy));
    }
    if let Some(error) = report.strategies.iter().filter_map(|strategy| strategy.fit_error).reduce(f64::max) {
        notes.push(fit(error));
    }
    notes.extend(methods(report));
    notes
}

/// A copy that does not wait for the percentile that it was to wait for.
fn earlier_copy(strategy: &Strategy) -> Option<String> {
    let EarlierCopy { percentile, wanted, due, min_useful } = strategy.earlier.as_ref()?;
    let [due, needs] = [due, min_useful].map(|time| number::duration(time.as_secs_f64()));
    let wanted = match *wanted {
        Time::MAX => String::new(),
        wanted => format!(", {}", number::duration(wanted.as_secs_f64())),
    };
    Some(format!(
        "A copy of {} is due after {due}, not after {percentile}{wanted}: it needs {needs} before the deadline.",
        strategy.shown()
    ))
}

/// How well laws go through the percentiles that they were fitted to.
fn fit(error: f64) -> String {
    let through = if error < 1e-6 {
        "goes through them".to_owned()
    } else {
        format!("is at most {} off", number::percent(error))
    };
    format!(
        "Latencies given by percentiles: the fitted law {through}, and alone decides what lies beyond the last."
    )
}

/// The chance to meet a slow branch, once for each number of branches that are called.
fn slowest(report: &Report) -> String {
    let mut sizes: Vec<(u64, f64)> =
        report.strategies.iter().map(|strategy| (strategy.calls, strategy.slowest_percent)).collect();
    sizes.sort_unstable_by_key(|(n, _)| *n);
    sizes.dedup_by_key(|(n, _)| *n);
    let chances: Vec<String> = match sizes.as_slice() {
        [(_, chance)] => vec![number::percent(*chance)],
        _ => sizes.iter().map(|(n, chance)| format!("{} with {n}", number::percent(*chance))).collect(),
    };
    format!("Chance that a job meets a branch in that branch's slowest 1 %: {}.", chances.join(", "))
}

/// How figures were found: of bounded and simulated ones, how far the ends of a time are apart at most.
fn found(figures: &Figures) -> String {
    let width = |figure: &Figure| match figure.method {
        Method::Bounded { lower, upper } if figure.value > 0.0 => (upper - lower) / figure.value,
        Method::Simulated { low, high } if low.is_nan() || high == f64::INFINITY => f64::INFINITY,
        Method::Simulated { low, high } if figure.value > 0.0 => (high - low) / figure.value,
        _ => 0.0,
    };
    let times = figures.quantiles.iter().chain(&figures.mean).filter(|time| time.value.is_finite());
    let widest = times.map(width).fold(0.0, f64::max);
    match figures.simulated() {
        Some(jobs) => {
            let count = number::count(jobs.jobs(), "job", "jobs");
            let within = if widest.is_finite() {
                format!("within intervals at most {} wide for times", number::percent(widest))
            } else {
                "too few to say how near all times are".to_owned()
            };
            format!(
                "simulated, since {}: {count}, seed {}, with 95 % confidence {within}",
                figures.not_exact.join("; "),
                jobs.seed
            )
        }
        _ if matches!(figures.method, Method::Bounded { .. }) => {
            format!("between bounds, which are at most {} apart for times", number::percent(widest))
        }
        _ => word(figures.method).to_owned(),
    }
}

/// How the figures were found and what they assume, once for strategies that share it.
fn methods(report: &Report) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for strategy in &report.strategies {
        let Ok(figures) = &strategy.outlook else { continue };
        let line = format!("{}, assuming that {}", found(figures), figures.assumes.join(", that "));
        let name = strategy.shown();
        match lines.iter_mut().find(|(same, _)| *same == line) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => lines.push((line, vec![name])),
        }
    }
    let only = lines.len() == 1;
    let of = |names: Vec<String>| {
        if only { "Figures".to_owned() } else { format!("Figures of {}", names.join(", ")) }
    };
    lines.into_iter().map(|(line, names)| format!("{} are {line}.", of(names))).collect()
}
