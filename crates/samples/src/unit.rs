//! Units of time, and names that say them.

use std::fmt;
use std::str::FromStr;

use fantail_core::{Time, TimeError};

/// What the numbers of a file count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// 1e-9 s.
    Nanoseconds,
    /// 1e-6 s.
    Microseconds,
    /// 1e-3 s.
    Milliseconds,
    /// The second.
    Seconds,
    /// 60 s.
    Minutes,
    /// 3,600 s.
    Hours,
}

/// Every unit, how it is written, and other names that columns have for it.
const UNITS: [(Unit, f64, &[&str]); 6] = [
    (Unit::Nanoseconds, 1e-9, &["ns", "nanos", "nanoseconds"]),
    (Unit::Microseconds, 1e-6, &["us", "µs", "μs", "micros", "microseconds"]),
    (Unit::Milliseconds, 1e-3, &["ms", "millis", "milliseconds", "msec"]),
    (Unit::Seconds, 1.0, &["s", "sec", "secs", "seconds"]),
    (Unit::Minutes, 60.0, &["min", "minutes"]),
    (Unit::Hours, 3_600.0, &["h", "hours"]),
];

impl Unit {
    /// All, from the shortest to the longest.
    pub const ALL: [Unit; 6] = [
        Unit::Nanoseconds,
        Unit::Microseconds,
        Unit::Milliseconds,
        Unit::Seconds,
        Unit::Minutes,
        Unit::Hours,
    ];

    /// So many of it.
    ///
    /// # Errors
    /// What is no time: a negative number, NaN, more than a year.
    pub fn time(self, number: f64) -> Result<Time, TimeError> {
        Time::from_secs_f64(number * UNITS[self as usize].1)
    }

    /// The unit that a column's name ends in, in brackets or after anything that is no letter.
    pub(crate) fn named_in(name: &str) -> Option<Unit> {
        let name = name.trim_end_matches([' ', ')', ']']);
        let start = name
            .rfind(|c: char| !c.is_alphabetic())
            .map_or(0, |i| i + name[i..].chars().next().map_or(0, char::len_utf8));
        // A column that is just called `s` or `h` may be anything.
        if start == 0 && name.len() < 2 { None } else { name[start..].parse().ok() }
    }
}

impl FromStr for Unit {
    type Err = UnknownUnit;

    fn from_str(text: &str) -> Result<Unit, UnknownUnit> {
        let lower = text.trim().to_lowercase();
        let unit = UNITS.iter().find(|(_, _, names)| names.contains(&lower.as_str()));
        unit.map(|(unit, ..)| *unit).ok_or(UnknownUnit)
    }
}

/// As the unit is written: `ms`.
impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(UNITS[*self as usize].2[0])
    }
}

/// A text that is no unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownUnit;

impl fmt::Display for UnknownUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of ns, us, ms, s, min and h")
    }
}

impl std::error::Error for UnknownUnit {}
