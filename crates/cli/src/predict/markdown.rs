//! `--format md`: a Markdown table of the columns that the text shows.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use super::columns::columns;
use super::notes::add_dashes;
use crate::dashes::Dashes;
use crate::output::in_markdown;
use fantail_report::predict::{Report, rows};

pub(super) fn render(report: &Report) -> Vec<u8> {
    let rows = rows(&report.strategies);
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = columns(report, &rows);
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(columns.iter().map(|column| column.header.replace('\n', " ")).collect::<Vec<_>>());
    for row in 0..rows.len() {
        table.add_row(columns.iter().map(|column| in_markdown(&column.cells[row])).collect::<Vec<_>>());
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut dashes = Dashes::default();
    add_dashes(&mut dashes, &columns, &rows);
    let notes = dashes.notes().into_iter().map(|note| format!("\n{}\n", in_markdown(&note)));
    std::iter::once(format!("{table}\n")).chain(notes).collect::<String>().into_bytes()
}
