//! The one type of time.

use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

/// A span of time, or an instant as the span since an origin that the driver chooses; whole nanoseconds.
///
/// Arithmetic saturates: an instant that cannot be represented (after 584 years) is [`Time::MAX`], which reads as
/// "never". Text is a number with a unit, `2.5s`; up to [`Time::LONGEST`], [`FromStr`] reads what [`fmt::Display`] writes.
///
/// ```
/// use fantail_core::Time;
///
/// let deadline: Time = "2.5s".parse()?;
/// assert_eq!(deadline, Time::from_millis(2_500));
/// assert_eq!(deadline.to_string(), "2.5s");
/// assert_eq!("2.5".parse::<Time>().unwrap_err().to_string(), "`2.5` has no unit: write 2.5s or 2.5ms");
/// # Ok::<(), fantail_core::TimeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// No time at all; as an instant, the origin.
    pub const ZERO: Time = Time(0);
    /// Later than everything: "never".
    pub const MAX: Time = Time(u64::MAX);
    /// The longest span that a plan may state: 365 days. Far below `2^63` ns, so that sums of stated spans are exact.
    pub const LONGEST: Time = Time::from_secs(365 * 86_400);

    /// `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// `micros` microseconds, saturating.
    pub const fn from_micros(micros: u64) -> Time {
        Time(micros.saturating_mul(1_000))
    }

    /// `millis` milliseconds, saturating.
    pub const fn from_millis(millis: u64) -> Time {
        Time(millis.saturating_mul(1_000_000))
    }

    /// `secs` seconds, saturating.
    pub const fn from_secs(secs: u64) -> Time {
        Time(secs.saturating_mul(1_000_000_000))
    }

    /// Seconds as a float, rounded to the nearest nanosecond.
    ///
    /// # Errors
    /// NaN, negative, infinite, or longer than [`Time::LONGEST`].
    pub fn from_secs_f64(secs: f64) -> Result<Time, TimeError> {
        if secs.is_nan() {
            return Err(TimeError::NotANumber { text: secs.to_string() });
        }
        if secs < 0.0 {
            return Err(TimeError::Negative { text: secs.to_string() });
        }
        let longest = Time::LONGEST.as_secs_f64();
        if secs > longest {
            return Err(TimeError::TooLong { text: secs.to_string() });
        }
        // Within bounds, so the cast is exact to the rounding of the product.
        Ok(Time((secs * 1e9 + 0.5) as u64))
    }

    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds as a float, to double precision.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The sum, or [`Time::MAX`].
    #[must_use]
    pub const fn saturating_add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }

    /// The difference, or [`Time::ZERO`] when `other` is later.
    #[must_use]
    pub const fn saturating_sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
}

/// Units that text may carry, with their nanoseconds, longest name first where one ends another.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl FromStr for Time {
    type Err = TimeError;

    /// Reads a number, `2.5` or `2.5e3`, with one of the units `ns us µs ms s m min h`, exactly (no float in between).
    fn from_str(text: &str) -> Result<Time, TimeError> {
        let text = text.trim();
        let owned = || String::from(text);
        if text.starts_with('-') {
            return Err(TimeError::Negative { text: owned() });
        }
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, rest) = text.split_at(split);
        let (exponent, unit) = exponent(rest);
        let unit = unit.trim_start();
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return Err(TimeError::NotANumber { text: owned() });
        }
        if unit.is_empty() {
            return Err(TimeError::MissingUnit { text: owned() });
        }
        let Some(&(_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(TimeError::UnknownUnit { text: owned(), unit: String::from(unit) });
        };
        let (whole, fraction) = moved(whole, fraction, exponent);
        let nanos = nanos(&whole, &fraction, scale).ok_or_else(|| TimeError::TooLong { text: owned() })?;
        if nanos > Time::LONGEST {
            return Err(TimeError::TooLong { text: owned() });
        }
        Ok(nanos)
    }
}

/// The exponent at the start of a text, and what follows it: 0 and all of the text where there is none.
fn exponent(text: &str) -> (i32, &str) {
    let Some(digits) = text.strip_prefix(['e', 'E']) else { return (0, text) };
    let sign = usize::from(digits.starts_with(['-', '+']));
    let end = digits[sign..].find(|c: char| !c.is_ascii_digit()).map_or(digits.len(), |end| sign + end);
    if end == sign {
        return (0, text);
    }
    let most = if digits.starts_with('-') { -MOST_MOVED } else { MOST_MOVED };
    let exponent = digits[..end].parse().unwrap_or(most).clamp(-MOST_MOVED, MOST_MOVED);
    (exponent, &digits[end..])
}

/// So far a point is moved; what is longer is too long anyway, and what is shorter is nothing.
const MOST_MOVED: i32 = 60;

/// The digits before and after the point when it is moved to the right, or for a negative number to the left.
fn moved(whole: &str, fraction: &str, places: i32) -> (String, String) {
    let far = places.unsigned_abs() as usize;
    let zeros = |others: &str| "0".repeat(far.saturating_sub(others.len()));
    let (digits, point) = if places < 0 {
        (zeros(whole) + whole + fraction, whole.len().saturating_sub(far))
    } else {
        (whole.to_string() + fraction + &zeros(fraction), whole.len() + far)
    };
    let (whole, fraction) = digits.split_at(point);
    (whole.to_string(), fraction.to_string())
}

/// `whole.fraction` units of `scale` nanoseconds; what is below a nanosecond is dropped; `None` on overflow.
fn nanos(whole: &str, fraction: &str, scale: u64) -> Option<Time> {
    let append = |total: u128, c: u8| total.checked_mul(10)?.checked_add(u128::from(c - b'0'));
    let whole = whole.bytes().try_fold(0, append)?;
    // As many as leave room for the scale of an hour; an hour's nanosecond is in the thirteenth.
    let digits = fraction.len().min(24);
    let fraction = fraction.bytes().take(digits).try_fold(0, append)?;
    let part = fraction * u128::from(scale) / 10_u128.pow(digits as u32);
    let nanos = whole.checked_mul(u128::from(scale))?.checked_add(part)?;
    u64::try_from(nanos).ok().map(Time)
}

impl fmt::Display for Time {
    /// The largest of `s ms µs ns` in which the number is at least one, with no trailing zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::MAX {
            return f.pad("never");
        }
        let (unit, scale) = match self.0 {
            0 => ("s", 1),
            1_000_000_000.. => ("s", 1_000_000_000),
            1_000_000.. => ("ms", 1_000_000),
            1_000.. => ("µs", 1_000),
            _ => ("ns", 1),
        };
        let (whole, rest) = (self.0 / scale, self.0 % scale);
        if rest == 0 {
            return f.pad(&alloc::format!("{whole}{unit}"));
        }
        let digits = scale.ilog10() as usize;
        let fraction = alloc::format!("{rest:0digits$}");
        f.pad(&alloc::format!("{whole}.{}{unit}", fraction.trim_end_matches('0')))
    }
}

/// Why a number or a text is not a [`Time`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeError {
    /// A number without a unit.
    MissingUnit {
        /// What was given.
        text: String,
    },
    /// A unit that is none of `ns us µs ms s m min h`.
    UnknownUnit {
        /// What was given.
        text: String,
        /// Its unit.
        unit: String,
    },
    /// Not a decimal number.
    NotANumber {
        /// What was given.
        text: String,
    },
    /// Below zero.
    Negative {
        /// What was given.
        text: String,
    },
    /// Longer than [`Time::LONGEST`].
    TooLong {
        /// What was given.
        text: String,
    },
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeError::MissingUnit { text } => write!(f, "`{text}` has no unit: write {text}s or {text}ms"),
            TimeError::UnknownUnit { text, unit } => {
                write!(f, "`{text}` has the unknown unit `{unit}`: use ns, us, ms, s, min or h")
            }
            TimeError::NotANumber { text } => {
                write!(f, "`{text}` is not a duration: write a number with a unit, like 2.5s")
            }
            TimeError::Negative { text } => write!(f, "`{text}` is negative: a duration is at least 0s"),
            TimeError::TooLong { text } => write!(f, "`{text}` is too long: a duration is at most 365 days"),
        }
    }
}

impl core::error::Error for TimeError {}
