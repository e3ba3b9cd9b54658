//! The demo's table, written in two goes: the predicted rows at once, the measured one when it is there.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, Table, Width};

use super::rows::{Band, Row};
use crate::{number, output};

const HEADER: [&str; 7] = ["", "p50", "p90", "complete", "partial", "failed", "extra"];

/// Blanks between columns.
const GAP: u16 = 2;
/// The widest figure, `1.14 s` or `+3.0 %`: with room for it, rows that come later do not move the columns.
const CELL: u16 = 6;

/// The table, before and after its jobs have run.
pub(super) struct DemoTable {
    pub(super) predicted: Vec<(String, Row)>,
    pub(super) band: Band,
}

impl DemoTable {
    /// The header and the predicted rows.
    pub(super) fn above(&self) -> String {
        let mut lines = self.lines(vec![String::new(); HEADER.len()]);
        lines.truncate(1 + self.predicted.len());
        lines[0] = output::strong(&lines[0]);
        lines.join("\n")
    }

    /// The measured row and its band, in the columns of the rows above.
    pub(super) fn below(&self, name: &str, measured: &Row) -> String {
        self.lines(cells(name, measured)).split_off(1 + self.predicted.len()).join("\n")
    }

    fn lines(&self, measured: Vec<String>) -> Vec<String> {
        let mut table = Table::new();
        table.load_style(NOTHING);
        table.set_header(HEADER);
        for (name, row) in &self.predicted {
            table.add_row(cells(name, row));
        }
        table.add_row(measured);
        table.add_row(cells("  95 % of such runs, from", &self.band.low));
        table.add_row(cells("                       to", &self.band.high));
        for (i, column) in table.column_iter_mut().enumerate() {
            if i == 0 {
                column.set_padding((0, 0));
            } else {
                column.set_padding((GAP, 0));
                column.set_cell_alignment(CellAlignment::Right);
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(GAP + CELL)));
            }
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }
}

fn cells(name: &str, row: &Row) -> Vec<String> {
    let mut cells = vec![name.to_owned(), number::duration(row.p50), number::duration(row.p90)];
    cells.extend([row.complete, row.partial, row.failed].map(number::percent));
    cells.push(number::change(row.extra));
    cells
}
