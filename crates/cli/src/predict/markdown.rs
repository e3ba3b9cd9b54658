//! `--format md`: a Markdown table of the columns that the text shows.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use super::columns::columns;
use fantail_report::predict::Report;

pub(super) fn render(report: &Report) -> Vec<u8> {
    let columns = columns(report, &report.rows());
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(columns.iter().map(|column| column.header.replace('\n', " ")).collect::<Vec<_>>());
    for row in 0..report.strategies.len() {
        table.add_row(columns.iter().map(|column| escaped(&column.cells[row])).collect::<Vec<_>>());
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n").into_bytes()
}

/// A bar would end the cell.
fn escaped(cell: &str) -> String {
    cell.replace('|', "\\|")
}
