//! The user's own latencies: bytes to columns, a column to a law. Nothing leaves the page.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use fantail_core::Time;
use fantail_model::Law;
use fantail_planfile::{StatedLaw, parse_law};
use fantail_report::Invalid;
use fantail_samples::{Document, Format, Unit};
use serde::Serialize;

use crate::Lab;
use crate::lab::SAMPLES;

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileFound {
    /// `list` or `table`.
    pub format: &'static str,
    /// In the order of the file.
    pub columns: Vec<ColumnFound>,
    /// The one that most looks like latencies.
    pub likeliest: usize,
}

/// One of its columns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnFound {
    /// Empty where it has none.
    pub name: String,
    /// How many of its cells are numbers.
    pub numbers: usize,
    /// The unit that its name says, if any: `ns`, `us`, `ms`, `s`, `min` or `h`.
    pub unit: Option<String>,
}

/// A law that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LawFound {
    /// The text for [`State::latency`](crate::State::latency) that names the latencies themselves.
    pub latency: String,
    /// A text of percentiles that a fitted law goes through, which the command takes too; `None` when there are too few
    /// different latencies for one.
    pub percentiles: Option<String>,
    /// How many latencies there are, and how many different ones.
    pub count: usize,
    /// See there.
    pub different: usize,
    /// How many cells are none.
    pub refused: usize,
    /// The first of those, and why.
    pub refusals: Vec<String>,
    /// The shortest and the longest, in seconds.
    pub least_s: f64,
    /// See there.
    pub most_s: f64,
}

/// So many refusals are told.
const TOLD: usize = 5;

/// Percentiles of a text, each with how many latencies it takes to tell it from the longest.
const PERCENTILES: [(&str, f64, usize); 5] =
    [("p50", 0.5, 2), ("p90", 0.9, 20), ("p95", 0.95, 40), ("p99", 0.99, 200), ("p99.9", 0.999, 2_000)];

impl Lab {
    /// Reads a list of numbers or a table, and keeps it.
    ///
    /// # Errors
    /// The bytes are no text, or hold no number.
    pub fn read(&mut self, bytes: &[u8]) -> Result<FileFound, Invalid> {
        let document = Document::read(bytes).map_err(Invalid::new)?;
        let columns = document.columns().iter().map(|column| ColumnFound {
            name: column.name().to_owned(),
            numbers: column.numbers(),
            unit: column.guess().map(|unit| unit.to_string()),
        });
        let found = FileFound {
            format: match document.format() {
                Format::Table => "table",
                _ => "list",
            },
            columns: columns.collect(),
            likeliest: document.likeliest(),
        };
        self.document = Some(document);
        Ok(found)
    }

    /// Makes the law of a column of what was read last, its bare numbers in a unit, and keeps it under a name that the same
    /// latencies always get, and others do not.
    ///
    /// # Errors
    /// There is no such column or unit, or no latency in it.
    pub fn keep(&mut self, column: usize, unit: &str) -> Result<LawFound, Invalid> {
        let unit: Unit = unit.parse().map_err(Invalid::new)?;
        let columns = self.document.iter().flat_map(Document::columns);
        let column = columns.into_iter().nth(column);
        let column = column.ok_or_else(|| Invalid::new(format_args!("there is no column {column:?}")))?;
        let samples = column.samples(unit);
        let mut times = samples.times;
        if times.is_empty() {
            let why = samples.refused.first().map_or("it is empty".to_owned(), ToString::to_string);
            return Err(Invalid::new(format_args!("no latency in `{}`: {why}", column.name())));
        }
        times.sort_unstable();
        let name = name(&times);
        let seconds: Vec<f64> = times.iter().map(|time| time.as_secs_f64()).collect();
        let law = Law::empirical(&seconds, &[]).map_err(Invalid::new)?;
        let latency = format!("{SAMPLES}{name}");
        self.laws.insert(name, StatedLaw::from(law));
        Ok(LawFound {
            latency,
            percentiles: percentiles(&times),
            count: times.len(),
            different: times.chunk_by(|a, b| a == b).count(),
            refused: samples.refused.len(),
            refusals: samples.refused.iter().take(TOLD).map(ToString::to_string).collect(),
            least_s: seconds.first().copied().unwrap_or(f64::NAN),
            most_s: seconds.last().copied().unwrap_or(f64::NAN),
        })
    }
}

/// What sorted times are called.
fn name(times: &[Time]) -> String {
    let mut hasher = DefaultHasher::new();
    times.hash(&mut hasher);
    format!("yours-{:08x}", hasher.finish() as u32)
}

/// The text of percentiles of sorted times through which a law can be fitted, those left out that are no later than the one
/// before.
fn percentiles(times: &[Time]) -> Option<String> {
    let mut text = String::new();
    let mut last = Time::ZERO;
    for (label, p, enough) in PERCENTILES {
        let rank = (p * times.len() as f64).ceil() as usize;
        let time = *times.get(rank.saturating_sub(1))?;
        if times.len() >= enough && time > last {
            let comma = if text.is_empty() { "" } else { "," };
            write!(text, "{comma}{label}={time}").expect("a string takes every write");
            last = time;
        }
    }
    parse_law(&text).is_ok().then_some(text)
}
