//! Goals as people write them: `p99<2.5s`, `failed<0.5%`, `extra_requests<=5%`.

use std::fmt;

use fantail_core::Time;

use crate::decimal::Decimal;
use crate::percentile::{Percentile, looks_like_percentile, percentile};
use crate::problem::{Fault, Problems, did_you_mean, list, quote};
use crate::read::time_error;
use crate::text::trimmed;

/// What a plan has to keep: a measure of it, a relation and a bound.
///
/// ```
/// use fantail_planfile::{Goal, Measure};
///
/// let goal = Goal::parse("p99 < 2.5s")?;
/// assert!(matches!(goal.measure(), Measure::Quantile(percentile) if percentile.label() == "p99"));
/// assert_eq!(goal.bound(), 2.5);
/// assert!(goal.is_met(2.4) && !goal.is_met(2.5));
///
/// let problems = Goal::parse("faild<1%").unwrap_err();
/// assert!(problems.to_string().contains("did you mean `failed`?"));
/// # Ok::<(), fantail_planfile::Problems>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    text: String,
    measure: Measure,
    relation: Relation,
    bound: f64,
}

/// What a goal is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// A quantile of the return time, in seconds.
    Quantile(Percentile),
    /// The mean return time, in seconds.
    Mean,
    /// The share of complete jobs.
    Complete,
    /// The share of partial jobs.
    Partial,
    /// The share of failed jobs.
    Failed,
    /// Attempts beyond one a branch, as a share of the branches.
    ExtraRequests,
    /// Busy time relative to the same plan without copies, less one.
    ExtraBusy,
    /// What the calls of a job cost, in the user's money.
    Cost,
}

/// How a figure stands to its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// What a bound is.
#[derive(Clone, Copy)]
enum Unit {
    /// A duration with its unit.
    Time,
    /// From nothing to all.
    Share,
    /// A relative change, which may be more than all.
    Change,
    /// A plain number.
    Amount,
}

/// Every measure that is a word; a percentile is another.
const MEASURES: [(&str, Measure); 7] = [
    ("mean", Measure::Mean),
    ("complete", Measure::Complete),
    ("partial", Measure::Partial),
    ("failed", Measure::Failed),
    ("extra_requests", Measure::ExtraRequests),
    ("extra_busy", Measure::ExtraBusy),
    ("cost", Measure::Cost),
];

/// The longer ones first, which the shorter ones are the beginning of.
const RELATIONS: [(&str, Relation); 4] =
    [("<=", Relation::AtMost), (">=", Relation::AtLeast), ("<", Relation::Below), (">", Relation::Above)];

/// How far a figure may be beyond a bound that it may reach, relative to the bound: delays are whole nanoseconds, so
/// the price of a copy after p95 is not 5 % to the last digit.
const ROUNDING: f64 = 1e-6;

impl Goal {
    /// Reads a goal: a measure, `<`, `<=`, `>` or `>=`, and a bound.
    ///
    /// The bound is a duration for a percentile and `mean`, a share like `0.5%` or `0.005` for `complete`, `partial`
    /// and `failed`, a change like `5%` for `extra_requests` and `extra_busy`, and a number for `cost`.
    ///
    /// # Errors
    /// What is wrong with the text, at its column.
    pub fn parse(text: &str) -> Result<Goal, Problems> {
        Goal::read(text).map_err(|faults| Problems::locate("goal", text, faults))
    }

    /// The text as given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What it is about.
    pub fn measure(&self) -> &Measure {
        &self.measure
    }

    /// The bound: seconds for times, a share from 0 to 1, a relative change, or an amount.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Whether the bound is one from above, `<` or `<=`.
    pub fn is_upper(&self) -> bool {
        matches!(self.relation, Relation::Below | Relation::AtMost)
    }

    /// Whether the figure may be the bound itself, `<=` or `>=`.
    pub fn is_inclusive(&self) -> bool {
        matches!(self.relation, Relation::AtMost | Relation::AtLeast)
    }

    /// Whether `figure` keeps the bound. `<=` and `>=` leave it a millionth of the bound for rounding; no relation
    /// holds for NaN.
    pub fn is_met(&self, figure: f64) -> bool {
        let rounding = ROUNDING * self.bound.abs();
        match self.relation {
            Relation::Below => figure < self.bound,
            Relation::AtMost => figure <= self.bound + rounding,
            Relation::Above => figure > self.bound,
            Relation::AtLeast => figure >= self.bound - rounding,
        }
    }

    fn read(text: &str) -> Result<Goal, Vec<Fault>> {
        let Some(at) = text.find(['<', '>', '=']) else {
            let (start, word) = trimmed(0, text);
            let unbounded = |measure: &Measure| {
                format!("{} of what? expected a bound, like {}", quote(word), measure.example())
            };
            let message = measure(word).map_or_else(|message| message, |measure| unbounded(&measure));
            return Err(vec![Fault::new(start..start + word.len(), message)]);
        };
        let (start, word) = trimmed(0, &text[..at]);
        let measure = measure(word).map_err(|message| Fault::new(start..start + word.len(), message));
        let Some(&(sign, relation)) = RELATIONS.iter().find(|(sign, _)| text[at..].starts_with(sign)) else {
            let message = "`=` is no bound; expected `<`, `<=`, `>` or `>=`";
            return Err(measure.err().into_iter().chain([Fault::new(at..at + 1, message)]).collect());
        };
        let (start, bound) = trimmed(at + sign.len(), &text[at + sign.len()..]);
        // Without the measure nobody knows what the bound should be.
        let measure = measure.map_err(|fault| vec![fault])?;
        let bound = measure
            .unit()
            .read(bound)
            .map_err(|message| vec![Fault::new(start..start + bound.len(), message)])?;
        Ok(Goal { text: text.trim().to_owned(), measure, relation, bound })
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Measure {
    fn unit(&self) -> Unit {
        match self {
            Measure::Quantile(_) | Measure::Mean => Unit::Time,
            Measure::Complete | Measure::Partial | Measure::Failed => Unit::Share,
            Measure::ExtraRequests | Measure::ExtraBusy => Unit::Change,
            Measure::Cost => Unit::Amount,
        }
    }

    /// A goal of this kind.
    fn example(&self) -> String {
        match self {
            Measure::Complete => "complete>95%".to_owned(),
            _ => format!("{self}<{}", self.unit().example()),
        }
    }
}

impl fmt::Display for Measure {
    /// The word that a goal names it by.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measure::Quantile(percentile) => f.write_str(percentile.label()),
            _ => f.write_str(
                MEASURES
                    .iter()
                    .find(|(_, measure)| measure == self)
                    .expect("every other measure is a word")
                    .0,
            ),
        }
    }
}

impl Unit {
    fn example(self) -> &'static str {
        match self {
            Unit::Time => "2.5s",
            Unit::Share => "0.5%",
            Unit::Change => "5%",
            Unit::Amount => "0.01",
        }
    }

    fn read(self, text: &str) -> Result<f64, String> {
        let refused = |what| format!("{} is not {what}, like {}", quote(text), self.example());
        let number = |text: &str| text.trim_end().parse::<f64>().ok().filter(|number| number.is_finite());
        match self {
            Unit::Time => match text.parse::<Time>() {
                Ok(time) => Ok(time.as_secs_f64()),
                Err(error) => Err(time_error(text, &error)),
            },
            Unit::Share => match text.strip_suffix('%') {
                Some(percent) => Decimal::parse_percent(percent.trim_end()),
                None => Decimal::parse(text),
            }
            .map(|share| share.to_f64())
            .ok_or_else(|| refused("a share from 0% to 100%")),
            Unit::Change => match text.strip_suffix('%') {
                Some(percent) => number(percent).map(|percent| percent / 100.0),
                None => number(text),
            }
            .ok_or_else(|| refused("a change")),
            Unit::Amount => number(text).ok_or_else(|| refused("an amount")),
        }
    }
}

/// The measure that a word names.
fn measure(word: &str) -> Result<Measure, String> {
    if looks_like_percentile(word) || word.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return percentile(word).map(Measure::Quantile).map_err(|fault| fault.message);
    }
    if let Some((_, measure)) = MEASURES.iter().find(|(name, _)| *name == word) {
        return Ok(measure.clone());
    }
    let names = || MEASURES.iter().map(|(name, _)| *name);
    let near = did_you_mean(word, names());
    Err(format!("unknown measure {}; expected a percentile like `p99`, {}{near}", quote(word), list(names())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_on_one_side_of_its_bound() {
        let check = |text: &str, bound: f64, met: &[f64], missed: &[f64]| {
            let goal = Goal::parse(text).unwrap_or_else(|problems| panic!("{problems}"));
            assert_eq!(goal.bound(), bound, "{text}");
            assert!(met.iter().all(|figure| goal.is_met(*figure)), "{text}");
            assert!(missed.iter().chain(&[f64::NAN]).all(|figure| !goal.is_met(*figure)), "{text}");
        };
        check("p99<2.5s", 2.5, &[2.4], &[2.5, f64::INFINITY]);
        check("1-1e-6 < 300ms", 0.3, &[0.2], &[0.31]);
        check("mean<=1s", 1.0, &[1.0], &[1.1]);
        check("failed<0.5%", 0.005, &[0.0], &[0.005]);
        check("failed<1e-9", 1e-9, &[0.0], &[1e-9]);
        check("complete>95%", 0.95, &[0.951], &[0.95]);
        check("complete>=100%", 1.0, &[1.0], &[0.9999]);
        check("partial<.2", 0.2, &[0.1], &[0.3]);
        check("extra_requests<=5%", 0.05, &[0.05 + 1e-9, -1.0], &[0.0501]);
        check("extra_busy<-1%", -0.01, &[-0.02], &[0.0]);
        check("extra_busy<=150%", 1.5, &[1.5], &[1.6]);
        check("cost<0.02", 0.02, &[0.01], &[0.02]);
    }

    #[test]
    fn what_is_wrong_with_a_goal_is_located() {
        let check = |text: &str, column: usize, message: &str| {
            let problems = Goal::parse(text).unwrap_err();
            let problem = problems.iter().next().unwrap();
            assert_eq!((problem.column(), problem.message()), (column, message), "{text}");
        };
        let words = "expected a percentile like `p99`, `mean`, `complete`, `partial`, `failed`, \
                     `extra_requests`, `extra_busy` or `cost`";
        check("faild<1%", 1, &format!("unknown measure `faild`; {words}; did you mean `failed`?"));
        check("", 1, &format!("unknown measure ``; {words}"));
        check("<2s", 1, &format!("unknown measure ``; {words}"));
        check("p99", 1, "`p99` of what? expected a bound, like p99<2.5s");
        check("complete", 1, "`complete` of what? expected a bound, like complete>95%");
        check("p99=2s", 4, "`=` is no bound; expected `<`, `<=`, `>` or `>=`");
        check("p99 < 2.5", 7, "`2.5` has no unit: write 2.5s or 2.5ms");
        check("failed<101%", 8, "`101%` is not a share from 0% to 100%, like 0.5%");
        check("failed<", 8, "`` is not a share from 0% to 100%, like 0.5%");
        check("extra_busy<inf", 12, "`inf` is not a change, like 5%");
        check("cost<1s", 6, "`1s` is not an amount, like 0.01");
        let level = "expected one between 0 and 1, like p99, 0.99 or 1-1e-6";
        check("p100<2s", 1, &format!("`p100` is out of range; {level}"));
    }
}
