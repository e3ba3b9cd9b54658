//! `--format text`: tables for people, as wide as the terminal allows.

use std::fmt::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use fantail_model::Figure;
use fantail_report::text::fold;
use unicode_width::UnicodeWidthStr;

use super::columns::{Column, Subject, columns, durations, share};
use super::notes::{add_dashes, notes};
use crate::dashes::Dashes;
use crate::{number, output};
use fantail_report::predict::{Explanation, Lever, Report, Row, Strategy, rows};

/// Renders for a terminal of `width` columns; nothing where no strategy has figures.
pub(super) fn render(report: &Report, width: usize) -> String {
    let predicted = rows(&report.strategies);
    let mut text = String::new();
    if predicted.is_empty() {
        return text;
    }
    for line in report.subjects() {
        writeln!(text, "{}", fold(&line, width, 2)).expect("a string takes every write");
    }
    let mut dashes = Dashes::default();
    let mut shortened = None;
    if report.is_sweep() {
        for curve in report.curves() {
            let rows = rows(curve);
            let Some((first, _)) = rows.first() else { continue };
            writeln!(text, "\n{}", output::strong(&first.shown)).expect("a string takes every write");
            let some = some_of(&rows);
            if some.len() < rows.len() {
                shortened = Some((some.len(), rows.len()));
            }
            let mut columns = columns(report, &some);
            // The line above says it.
            columns.remove(0);
            add_dashes(&mut dashes, &columns, &some);
            tables(&mut text, columns, width);
        }
    } else {
        text.push('\n');
        let columns = columns(report, &predicted);
        add_dashes(&mut dashes, &columns, &predicted);
        tables(&mut text, columns, width);
    }
    text.push('\n');
    let shortened = shortened
        .map(|(some, all)| format!("Shown are {some} of {all} values; --format csv has all."))
        .into_iter();
    for line in dashes.notes().into_iter().chain(shortened).chain(notes(report)) {
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
    let Explanation { base, levers, beyond_reach, reach, traps } = explanation;
    writeln!(text, "\n{}", output::strong(&format!("{}, explained", strategy.shown)))
        .expect("a string takes every write");
    let readouts = || std::iter::once(base).chain(levers.iter().map(|lever| &lever.readout));
    let words = |first: &str, word: fn(&Lever) -> &str| {
        std::iter::once(first.to_owned()).chain(levers.iter().map(|lever| word(lever).to_owned())).collect()
    };
    let p99s: Vec<Figure> = readouts().map(|readout| readout.p99).collect();
    let shares = readouts().map(|readout| share(readout.complete)).collect();
    let mut columns = vec![
        Column::new(Subject::Name, "one change", words("none", |lever| &lever.change)),
        Column::new(Subject::Time, "p99", durations(&p99s)),
        Column::new(Subject::Verdict, "complete", shares),
        Column::new(Subject::Words, "at the price of", words("", |lever| &lever.price)),
    ];
    if levers.is_empty() {
        columns.pop();
    }
    fold_words(&mut columns, width);
    tables(text, columns, width);
    let reach = number::duration(*reach);
    let rest = match (levers.is_empty(), beyond_reach) {
        (true, 0) => "Nothing that was tried helps.".to_owned(),
        (true, _) => format!("Nothing in reach helps: what was tried leaves a p99 beyond {reach}."),
        (false, 0) => String::new(),
        (false, _) => format!("What else was tried leaves a p99 beyond {reach}, out of reach."),
    };
    if !rest.is_empty() {
        writeln!(text, "{}", fold(&rest, width, 2)).expect("a string takes every write");
    }
    for trap in traps {
        writeln!(text, "{}", fold(&format!("- {}", trap.text), width, 2))
            .expect("a string takes every write");
    }
}

/// Breaks the cells of names and words into lines, so that all columns have room side by side.
fn fold_words(columns: &mut [Column], width: usize) {
    let (words, others): (Vec<&mut Column>, Vec<&mut Column>) =
        columns.iter_mut().partition(|column| matches!(column.subject, Subject::Name | Subject::Words));
    let mut room = width.saturating_sub(others.iter().map(|column| column_width(column)).sum());
    let least = |column: &Column| column.header.width() + GAP;
    let mut left: Vec<(usize, usize)> =
        words.iter().map(|column| (column_width(column), least(column))).rev().collect();
    for column in words {
        left.pop();
        // What the next one does not need, but half of the room at least, unless its header needs more.
        let next = left.last().map_or(0, |(next, header)| *next.min(&(room / 2).max(*header)));
        let most = room.saturating_sub(next).max(least(column));
        for cell in &mut column.cells {
            *cell = fold(cell, most.saturating_sub(GAP), 2);
        }
        room = room.saturating_sub(column_width(column));
    }
}

/// The most rows that are shown of a curve.
const MOST_ROWS: usize = 13;

/// Rows of a curve for people: its ends and what lies evenly between.
fn some_of<'r>(curve: &[Row<'r>]) -> Vec<Row<'r>> {
    let rows = curve.len().min(MOST_ROWS);
    (0..rows).map(|i| curve[i * (curve.len() - 1) / (rows - 1).max(1)]).collect()
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
    let cells = column.cells.iter().flat_map(|cell| cell.lines());
    cells.chain(column.header.lines()).map(UnicodeWidthStr::width).max().unwrap_or(0) + GAP
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
