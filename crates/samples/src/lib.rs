//! Latencies from the files that people have: bytes in, columns of numbers out.
//!
//! Every format comes down to a [`Document`] of [`Column`]s: which of them holds latencies, and in which unit, is for the
//! user to say; [`Column::guess`] says what the name suggests.

mod list;
mod table;
mod unit;

pub use unit::{Unit, UnknownUnit};

use std::fmt;

use fantail_core::{Time, TimeError};

/// What a file holds.
///
/// ```
/// use fantail_samples::{Document, Format, Unit};
///
/// let document = Document::read(b"id,Client latency (ms)\na,415\nb,405.5\nc,-\n")?;
/// assert_eq!(document.format(), Format::Table);
/// let latency = &document.columns()[1];
/// assert_eq!((latency.name(), latency.guess()), ("Client latency (ms)", Some(Unit::Milliseconds)));
///
/// let samples = latency.samples(Unit::Milliseconds);
/// assert_eq!(samples.times, ["415ms".parse()?, "405.5ms".parse()?]);
/// assert_eq!(samples.refused[0].to_string(), "line 4: `-` is no number");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    format: Format,
    columns: Vec<Column>,
}

/// How a file is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Numbers with anything like spaces, commas, semicolons or line ends between them.
    List,
    /// Rows of cells, with commas, semicolons or tabs between them and, mostly, names in the first.
    Table,
}

impl Document {
    /// Reads a list of numbers or a table, whichever it is. Lines that begin with `#` and empty ones are left out.
    ///
    /// # Errors
    /// [`ReadError`] for bytes that are no text, for a text without a number, and for one whose commas may be decimal ones.
    pub fn read(bytes: &[u8]) -> Result<Document, ReadError> {
        let text =
            std::str::from_utf8(bytes).map_err(|error| ReadError::NotText { at: error.valid_up_to() })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = if let Some(columns) = table::read(text)? {
            Document { format: Format::Table, columns }
        } else {
            list::commas(text)?;
            Document { format: Format::List, columns: vec![list::read(text)?] }
        };
        if document.columns.iter().all(|column| column.numbers() == 0) {
            return Err(ReadError::NoNumber);
        }
        Ok(document)
    }

    /// How it is laid out.
    pub fn format(&self) -> Format {
        self.format
    }

    /// At least one, in the order of the file.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column that most looks like latencies: one whose name says a unit or a word for latency, be its cells numbers or
    /// not; else one of times; else the one with the most numbers; the earlier of equals.
    pub fn likeliest(&self) -> usize {
        let score = |column: &Column| {
            let says = !column.cells.is_empty() && column.says_latency();
            (says, column.numbers() > 0, column.sounds_like_time(), column.numbers())
        };
        (0..self.columns.len()).rev().max_by_key(|&i| score(&self.columns[i])).unwrap_or(0)
    }
}

/// One column of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    name: String,
    cells: Vec<Cell>,
}

#[derive(Clone, Debug, PartialEq)]
struct Cell {
    line: u64,
    value: Value,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(f64),
    /// A number with its own unit.
    Time(Time),
    Text(String),
}

impl Cell {
    /// `None` for an empty text, which is no cell.
    fn new(line: u64, text: &str) -> Option<Cell> {
        let text = text.trim();
        let value = match text.parse::<f64>() {
            _ if text.is_empty() => return None,
            Ok(number) => Value::Number(number),
            Err(_) => text.parse().map_or_else(|_| Value::Text(text.to_owned()), Value::Time),
        };
        Some(Cell { line, value })
    }

    fn is_number(&self) -> bool {
        !matches!(self.value, Value::Text(_))
    }
}

impl Column {
    /// Its name in the file; empty where there is none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many of its cells are numbers.
    pub fn numbers(&self) -> usize {
        self.cells.iter().filter(|cell| cell.is_number()).count()
    }

    /// The unit that the column's name ends in, as in `latency_ms` or `Latency (ms)`; seconds when its cells carry units of
    /// their own.
    pub fn guess(&self) -> Option<Unit> {
        let own = |cell: &Cell| matches!(cell.value, Value::Time(_));
        Unit::named_in(&self.name).or_else(|| self.cells.iter().any(own).then_some(Unit::Seconds))
    }

    /// The latencies, when bare numbers are in `unit`. What is no latency is refused one by one: text, negative numbers, more
    /// than a year.
    pub fn samples(&self, unit: Unit) -> Samples {
        let mut samples = Samples::default();
        for Cell { line, value } in &self.cells {
            let time = match value {
                Value::Number(number) => unit.time(*number).map_err(|error| match error {
                    TimeError::Negative { .. } => format!("`{number:?}` is negative"),
                    TimeError::TooLong { .. } => format!("`{number:?}` {unit} is more than a year"),
                    _ => format!("`{number:?}` is no number"),
                }),
                Value::Time(time) => Ok(*time),
                Value::Text(text) if list::commas(text).is_err() => {
                    Err(format!("`{text}` is no number; expected decimals with a point"))
                }
                Value::Text(text) => Err(format!("`{text}` is no number")),
            };
            match time {
                Ok(time) => samples.times.push(time),
                Err(why) => samples.refused.push(Refused { line: *line, why }),
            }
        }
        samples
    }

    fn says_latency(&self) -> bool {
        const WORDS: [&str; 5] = ["latency", "duration", "elapsed", "took", "wait"];
        let name = self.name.to_lowercase();
        self.guess().is_some() || WORDS.iter().any(|word| name.contains(word))
    }

    /// A column of times may as well be one of instants.
    fn sounds_like_time(&self) -> bool {
        let name = self.name.to_lowercase();
        self.says_latency() || name.contains("time") && !name.contains("timestamp")
    }
}

/// The latencies of a column, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Those that are.
    pub times: Vec<Time>,
    /// Those that are none.
    pub refused: Vec<Refused>,
}

/// A cell that is no latency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

/// Why a file holds no samples.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes are no UTF-8.
    NotText {
        /// The first byte that is none, from 0.
        at: usize,
    },
    /// A cell that begins with a quote does not end with one, say, or a row has more cells than there are names.
    NotATable {
        /// What is wrong, and where.
        why: String,
    },
    /// Numbers like `0,41`, whose comma may as well stand between two.
    DecimalComma {
        /// Counted from 1.
        line: u64,
        /// The first of them.
        text: String,
    },
    /// There is no number in it.
    NoNumber,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::NotText { at } => {
                write!(f, "byte {at} is no text in UTF-8; expected numbers or a table")
            }
            ReadError::NotATable { why } => write!(f, "no table: {why}"),
            ReadError::DecimalComma { line, text } => write!(
                f,
                "line {line}: `{text}` may be one number or several; expected decimals with a point, and a space after a comma between numbers"
            ),
            ReadError::NoNumber => {
                write!(f, "no number in it; expected numbers, or a table with a column of them")
            }
        }
    }
}

impl std::error::Error for ReadError {}
