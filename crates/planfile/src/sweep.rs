//! What is varied, as people write it: `n=1..1000`, `sigma=0.2..1.2`, `deadline=0.5s..5s:20`.

use std::ops::Range;

use fantail_core::Time;

use crate::problem::{Fault, Problems, did_you_mean, list, quote};
use crate::read::time_error;
use crate::text::trimmed;

/// The values that one number of a plan takes, ascending, at least two.
///
/// ```
/// use fantail_planfile::Sweep;
///
/// assert_eq!(Sweep::parse("n=1..1000:4")?, Sweep::Branches(vec![1, 10, 100, 1000]));
/// assert_eq!(Sweep::parse("sigma=0.2..0.8:3")?, Sweep::Sigma(vec![0.2, 0.5, 0.8]));
/// # Ok::<(), fantail_planfile::Problems>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Sweep {
    /// The number of branches, at least 1.
    Branches(Vec<u32>),
    /// The sigma of a log-normal law.
    Sigma(Vec<f64>),
    /// The job's deadline.
    Deadline(Vec<Time>),
}

/// The words for what may be varied.
const VARIABLES: [&str; 3] = ["n", "sigma", "deadline"];
/// How many values a sweep has when it does not say: steps of a fiftieth.
const STEPS: u32 = 51;
/// The most values that a sweep may have.
const MOST_STEPS: u32 = 10_000;

impl Sweep {
    /// The word for what is varied: `n`, `sigma` or `deadline`.
    pub fn variable(&self) -> &'static str {
        let [n, sigma, deadline] = VARIABLES;
        match self {
            Sweep::Branches(_) => n,
            Sweep::Sigma(_) => sigma,
            Sweep::Deadline(_) => deadline,
        }
    }

    /// Reads `VARIABLE=FROM..TO` or `VARIABLE=FROM..TO:STEPS`, both ends included; 51 values where STEPS is not given,
    /// at most 10,000. Numbers of branches are spaced by a factor, each once; the others evenly.
    ///
    /// # Errors
    /// What is wrong with the text, at its column.
    pub fn parse(text: &str) -> Result<Sweep, Problems> {
        Sweep::read(text).map_err(|fault| Problems::locate("sweep", text, vec![fault]))
    }

    fn read(text: &str) -> Result<Sweep, Fault> {
        let (name, range) = text.split_once('=').unwrap_or((text, ""));
        let (start, word) = trimmed(0, name);
        let Some(word) = VARIABLES.into_iter().find(|known| *known == word) else {
            let near = did_you_mean(word, VARIABLES);
            let message = format!("{} cannot be swept; expected {}{near}", quote(word), list(VARIABLES));
            return Err(Fault::new(start..start + word.len(), message));
        };
        let at = text.len() - range.len();
        let (ends, steps) = range.split_once(':').unwrap_or((range, ""));
        let Some((from, to)) = ends.split_once("..") else {
            let message = format!("`{word}` from where to where? expected a range, like {}", example(word));
            return Err(Fault::new(at..text.len(), message));
        };
        let to = trimmed(at + from.len() + "..".len(), to);
        let from = trimmed(at, from);
        let steps = if range.contains(':') { count(at + ends.len() + 1, steps)? } else { STEPS };
        match word {
            "n" => {
                let number = |text: &str| {
                    let expected = "expected a whole number from 1";
                    whole(text).filter(|n| *n > 0).ok_or_else(|| format!("got {}, {expected}", quote(text)))
                };
                Ok(Sweep::Branches(by_factor(ascending(from, to, number)?, steps)))
            }
            "sigma" => {
                let number = |text: &str| {
                    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
                    number.ok_or_else(|| format!("{} is not a number", quote(text)))
                };
                Ok(Sweep::Sigma(evenly(ascending(from, to, number)?, steps)))
            }
            _ => {
                let time = |text: &str| text.parse::<Time>().map_err(|error| time_error(text, &error));
                Ok(Sweep::Deadline(evenly_timed(ascending(from, to, time)?, steps)))
            }
        }
    }
}

/// A whole number, also like 1e5.
fn whole(text: &str) -> Option<u32> {
    let number = || text.parse().ok().filter(|number: &f64| number.fract() == 0.0);
    text.parse()
        .ok()
        .or_else(|| number().filter(|n| (0.0..=f64::from(u32::MAX)).contains(n)).map(|n| n as u32))
}

fn example(word: &str) -> &'static str {
    match word {
        "n" => "n=1..1000",
        "sigma" => "sigma=0.2..1.2",
        _ => "deadline=0.5s..5s",
    }
}

/// How many values, of a text that starts at `at`.
fn count(at: usize, text: &str) -> Result<u32, Fault> {
    let steps = text.trim().parse::<u32>().ok().filter(|steps| (2..=MOST_STEPS).contains(steps));
    steps.ok_or_else(|| {
        let message = format!("got {}, expected 2 to {MOST_STEPS} values", quote(text));
        Fault::new(at..at + text.len(), message)
    })
}

/// Both ends of a range, each a text with its place.
fn ascending<T: PartialOrd>(
    from: (usize, &str),
    to: (usize, &str),
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Range<T>, Fault> {
    let end =
        |(at, text): (usize, &str)| read(text).map_err(|message| Fault::new(at..at + text.len(), message));
    let range = end(from)?..end(to)?;
    if range.start < range.end {
        return Ok(range);
    }
    let message = format!("got {}, expected more than {}", quote(to.1), quote(from.1));
    Err(Fault::new(to.0..to.0 + to.1.len(), message))
}

/// Whole numbers a factor apart, each once; all there are where there are no more than `steps`.
fn by_factor(range: Range<u32>, steps: u32) -> Vec<u32> {
    if range.end - range.start < steps {
        return (range.start..=range.end).collect();
    }
    let (low, high) = (libm::log(f64::from(range.start)), libm::log(f64::from(range.end)));
    let inner = |i: u32| {
        let value = libm::exp(low + (high - low) * f64::from(i) / f64::from(steps - 1)).round();
        (value as u32).clamp(range.start, range.end)
    };
    let mut values: Vec<u32> = (0..steps - 1).map(inner).chain([range.end]).collect();
    values.dedup();
    values
}

/// Numbers evenly apart, rounded to what a person would write.
fn evenly(range: Range<f64>, steps: u32) -> Vec<f64> {
    let inner = |i: u32| {
        let share = f64::from(i) / f64::from(steps - 1);
        let value = range.start * (1.0 - share) + range.end * share;
        format!("{value:.11e}").parse().expect("a float that was just printed")
    };
    std::iter::once(range.start).chain((1..steps - 1).map(inner)).chain([range.end]).collect()
}

/// Times evenly apart, in whole nanoseconds.
fn evenly_timed(range: Range<Time>, steps: u32) -> Vec<Time> {
    let (start, end) = (range.start.as_nanos(), range.end.as_nanos());
    let after = |i: u32| u128::from(end - start) * u128::from(i) / u128::from(steps - 1);
    let mut values: Vec<Time> = (0..steps).map(|i| Time::from_nanos(start + after(i) as u64)).collect();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_holds_both_ends_and_its_steps() {
        let branches = |text| match Sweep::parse(text) {
            Ok(Sweep::Branches(values)) => values,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(branches("n=1..5"), [1, 2, 3, 4, 5]);
        assert_eq!(branches("n=1..1000:1000").len(), 1000);
        let values = branches(" n = 1 .. 1000000000 : 10 ");
        assert_eq!(
            values,
            [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000]
        );
        let values = branches("n=3..1000");
        assert_eq!((values[0], *values.last().unwrap()), (3, 1000));
        assert!(values.is_sorted_by(|a, b| a < b) && values.len() <= 51, "{values:?}");
        let Ok(Sweep::Sigma(values)) = Sweep::parse("sigma=0.2..1.2") else { panic!("no sigma") };
        assert_eq!((values.len(), values[1], values[50]), (51, 0.22, 1.2));
        let Ok(Sweep::Deadline(values)) = Sweep::parse("deadline=0.5s..5s:10") else { panic!("no deadline") };
        assert_eq!(values.iter().map(Time::to_string).collect::<Vec<_>>()[..3], ["500ms", "1s", "1.5s"]);
    }

    #[test]
    fn what_is_wrong_with_a_sweep_is_located() {
        let check = |text: &str, column: usize, message: &str| {
            let problems = Sweep::parse(text).unwrap_err();
            let problem = problems.iter().next().unwrap();
            assert_eq!((problem.column(), problem.message()), (column, message), "{text}");
        };
        let words = "expected `n`, `sigma` or `deadline`";
        check("sigme=1..2", 1, &format!("`sigme` cannot be swept; {words}; did you mean `sigma`?"));
        check("", 1, &format!("`` cannot be swept; {words}"));
        check("n", 2, "`n` from where to where? expected a range, like n=1..1000");
        check("n=5", 3, "`n` from where to where? expected a range, like n=1..1000");
        check("n=0..5", 3, "got `0`, expected a whole number from 1");
        check("n=9..5", 6, "got `5`, expected more than `9`");
        check("n=1..5:1", 8, "got `1`, expected 2 to 10000 values");
        check("n=1..5:", 8, "got ``, expected 2 to 10000 values");
        check("sigma=a..2", 7, "`a` is not a number");
        check("sigma=0..inf", 10, "`inf` is not a number");
        check("deadline=1..2s", 10, "`1` has no unit: write 1s or 1ms");
    }
}
