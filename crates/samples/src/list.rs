//! Numbers with anything between them.

use crate::{Cell, Column};

pub(crate) fn read(text: &str) -> Column {
    let cells = (1..).zip(text.lines()).filter(|(_, line)| !line.trim_start().starts_with('#'));
    let split = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '[' | ']');
    let cells =
        cells.flat_map(|(line, text)| text.split(split).filter_map(move |text| Cell::new(line, text)));
    Column { name: String::new(), cells: cells.collect() }
}
