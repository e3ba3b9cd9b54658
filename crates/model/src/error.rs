//! What the constructors refuse.

use core::fmt;

/// Why a law or a level was refused: the parameter, its value and the bound.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LawError {
    /// A parameter is out of its range.
    OutOfRange {
        /// Which parameter.
        parameter: &'static str,
        /// What was given.
        value: f64,
        /// What it may be.
        bound: &'static str,
    },
    /// A list has too few or too many entries.
    Count {
        /// Which list.
        what: &'static str,
        /// How many were given.
        given: usize,
        /// How many there may be.
        bound: &'static str,
    },
    /// A later percentile lies at the same or an earlier time.
    NotIncreasing {
        /// The lower probability and its time in seconds.
        lower: (f64, f64),
        /// The higher probability, whose time is not later.
        upper: (f64, f64),
    },
    /// An integral did not reach its precision: the law is too far from smooth for the stated number of pieces.
    NotConverged {
        /// What was computed.
        what: &'static str,
        /// The relative error that was reached.
        error: f64,
    },
}

impl LawError {
    /// Refuses a value unless `ok`.
    pub(crate) fn check(
        parameter: &'static str,
        value: f64,
        ok: bool,
        bound: &'static str,
    ) -> Result<(), LawError> {
        if ok { Ok(()) } else { Err(LawError::OutOfRange { parameter, value, bound }) }
    }
}

impl fmt::Display for LawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LawError::OutOfRange { parameter, value, bound } if value.abs() >= 1e16 => {
                write!(f, "{parameter}: got {value:e}, expected {bound}")
            }
            LawError::OutOfRange { parameter, value, bound } => {
                write!(f, "{parameter}: got {value}, expected {bound}")
            }
            LawError::Count { what, given, bound } => write!(f, "{what}: got {given}, expected {bound}"),
            LawError::NotIncreasing { lower, upper } => write!(
                f,
                "percentiles must increase: p{} is {} s but p{} is {} s",
                percent(lower.0),
                lower.1,
                percent(upper.0),
                upper.1
            ),
            LawError::NotConverged { what, error } => {
                write!(f, "{what}: reached a relative error of {error:.1e} only")
            }
        }
    }
}

impl core::error::Error for LawError {}

/// 0.999 as 99.9, without the digits that the product's rounding would add.
fn percent(p: f64) -> f64 {
    libm::round(p * 1e14) / 1e12
}
