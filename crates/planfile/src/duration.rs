//! Durations of calls, which are as long or as short as a law makes them.

use fantail_core::{Time, TimeError};

use crate::problem::quote;
use crate::read::time_error;

/// Seconds of a duration that nobody has to wait for, as laws and goals state them: like a plan's, `2.5s`, but with an
/// exponent where there is one, `1.29e6 h`, below a nanosecond and beyond 365 days.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let (number, unit) = number_and_unit(text.trim());
    let value = match unit {
        "ns" => scaled(number, -9),
        "us" | "µs" => scaled(number, -6),
        "ms" => scaled(number, -3),
        "s" => scaled(number, 0),
        "min" | "m" => number.parse::<f64>().ok().map(|minutes| minutes * 60.0),
        "h" => number.parse::<f64>().ok().map(|hours| hours * 3_600.0),
        _ => None,
    };
    match value {
        Some(value) if value.is_finite() => Ok(value),
        Some(_) => Err(format!("{} is too long: a duration is at most 1.8e308 s", quote(text))),
        None => Err(refused(text, number, unit)),
    }
}

/// An exponent beyond all of a double's, whatever the digits before it.
const MOST: i32 = 1_000_000;

/// The nearest double to a number of decimal units.
fn scaled(number: &str, power: i32) -> Option<f64> {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    // More digits than a double's exponent has are as good as the most.
    let exponent = exponent.parse::<i32>().unwrap_or(if exponent.starts_with('-') { -MOST } else { MOST });
    format!("{digits}e{}", exponent.clamp(-MOST, MOST) + power).parse().ok()
}

/// What is wrong is what would be with a plan's duration.
fn refused(text: &str, number: &str, unit: &str) -> String {
    let has_exponent = number.contains(['e', 'E']);
    let error = match text.parse::<Time>() {
        Err(TimeError::UnknownUnit { text, .. }) if has_exponent && unit.is_empty() => {
            TimeError::MissingUnit { text }
        }
        Err(TimeError::UnknownUnit { text, .. }) => TimeError::UnknownUnit { text, unit: unit.to_owned() },
        Err(error) => error,
        Ok(_) => TimeError::NotANumber { text: text.to_owned() },
    };
    time_error(text, &error)
}

/// The number at the start of a text without a sign, and what follows it.
fn number_and_unit(text: &str) -> (&str, &str) {
    let end = |text: &str, also: &str| {
        text.find(|c: char| !c.is_ascii_digit() && !also.contains(c)).unwrap_or(text.len())
    };
    let mut at = end(text, ".");
    if let Some(exponent) = text[at..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['-', '+']));
        let digits = end(&exponent[sign..], "");
        if digits > 0 {
            at += 1 + sign + digits;
        }
    }
    (&text[..at], text[at..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations_of_any_length_are_read() {
        let check = |text: &str, value: f64| assert_eq!(seconds(text), Ok(value), "{text}");
        check("2.5s", 2.5);
        check("800 ms", 0.8);
        check("0.1ms", 1e-4);
        check("90min", 5_400.0);
        check("1.29e6 h", 4.644e9);
        check("1e15s", 1e15);
        check("1E+15s", 1e15);
        check("1.00e-6 ns", 1e-15);
        check("0.5ns", 5e-10);
    }

    #[test]
    fn what_is_no_duration_says_why() {
        let check = |text: &str, message: &str| assert_eq!(seconds(text), Err(message.to_owned()), "{text}");
        check("2.5", "`2.5` has no unit: write 2.5s or 2.5ms");
        check("1e15", "`1e15` has no unit: write 1e15s or 1e15ms");
        check("1e15x", "`1e15x` has the unknown unit `x`: use ns, us, ms, s, min or h");
        check("1es", "`1es` has the unknown unit `es`: use ns, us, ms, s, min or h");
        check("-1s", "`-1s` is negative: a duration is at least 0s");
        check("1.5.2s", "`1.5.2s` is not a duration: write a number with a unit, like 2.5s");
        check(".s", "`.s` is not a duration: write a number with a unit, like 2.5s");
        check("1e99999999999s", "`1e99999999999s` is too long: a duration is at most 1.8e308 s");
        check("1e400s", "`1e400s` is too long: a duration is at most 1.8e308 s");
    }
}
