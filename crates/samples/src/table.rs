//! Rows of cells.

use csv::{ReaderBuilder, StringRecord, Trim};

use crate::{Cell, Column, ReadError, list};

/// A row after the last: a quote that is never closed swallows it.
const END: &str = "\n\u{3}";

/// The columns of a table; `None` when the text is none: rows of different lengths, a single row, or no name or second
/// column to tell it from a list.
pub(crate) fn read(text: &str) -> Result<Option<Vec<Column>>, ReadError> {
    let Some(delimiter) = delimiter(text) else { return Ok(None) };
    let ended = [text, END].concat();
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .comment(Some(b'#'))
        .from_reader(ended.as_bytes());
    let rows: Result<Vec<StringRecord>, csv::Error> = reader.records().collect();
    let mut rows = rows.map_err(|error| ReadError::NotATable { why: error.to_string() })?;
    let end = rows.pop();
    if end.is_none_or(|row| row.iter().ne([END.trim_start()])) {
        return Err(ReadError::NotATable { why: "a quote is opened and never closed".to_owned() });
    }
    let Some((first, rest)) = rows.split_first() else { return Ok(None) };
    let is_number = |text: &str| Cell::new(1, text).is_some_and(|cell| cell.is_number());
    // Names are no numbers, and where there are numbers below.
    let named = !first.iter().any(is_number) && rest.iter().any(|row| row.iter().any(is_number));
    let even = rest.iter().all(|row| row.len() == first.len());
    if !named && (first.len() < 2 || rest.is_empty() || !even) {
        return Ok(None);
    }
    if !named {
        list::commas(text)?;
    }
    let (names, rows) = if named { (Some(first), rest) } else { (None, rows.as_slice()) };
    let width = rows.iter().map(StringRecord::len).max().unwrap_or(0).max(first.len());
    let lines = lines(text, rows);
    for (row, line) in rows.iter().zip(&lines).filter(|_| named) {
        let cells = (1..).zip(row).filter(|(_, cell)| !cell.is_empty()).last().map_or(0, |(i, _)| i);
        if cells > first.len() {
            let why = format!(
                "line {line} has {cells} cells, the names above {}; expected decimals with a point, and quotes around a cell with a comma",
                first.len()
            );
            return Err(ReadError::NotATable { why });
        }
    }
    let column = |i: usize| {
        let name = names.and_then(|names| names.get(i)).unwrap_or_default().to_owned();
        let name = if name.is_empty() { format!("column {}", i + 1) } else { name };
        let cells = rows.iter().zip(&lines).filter_map(|(row, line)| Cell::new(*line, row.get(i)?));
        Column { name, cells: cells.collect() }
    };
    Ok(Some((0..width).map(column).collect()))
}

/// The lines that the rows begin in. Where a row was read from may lie before lines that are left out.
fn lines(text: &str, rows: &[StringRecord]) -> Vec<u64> {
    let (mut at, mut line) = (0, 1);
    let mut begin = |row: &StringRecord| {
        let from = row.position().map_or(at, |position| position.byte() as usize);
        line += text[at..from].matches('\n').count() as u64;
        at = from;
        let left_out = |line: &&str| line.trim_end_matches(['\r', '\n']).is_empty() || line.starts_with('#');
        line + text[from..].split_inclusive('\n').take_while(left_out).count() as u64
    };
    rows.iter().map(&mut begin).collect()
}

/// What stands between the cells: of comma, semicolon and tab the one that the first line has most of; a comma where it has
/// none, since a single column needs no delimiter. `None` for a text without a line.
fn delimiter(text: &str) -> Option<u8> {
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))?;
    let count = |delimiter: u8| first.bytes().filter(|byte| *byte == delimiter).count();
    [b',', b';', b'\t'].into_iter().rev().max_by_key(|delimiter| count(*delimiter))
}
