//! Goals as people write them: `p99<2.5s`, `failed<0.5%`, `extra_requests<=5%`.

use std::fmt;

use fantail_model::tune::{self, Measure, Relation};

use crate::decimal::Decimal;
use crate::duration::seconds;
use crate::percentile::{looks_like_percentile, percentile};
use crate::problem::{Fault, Problems, did_you_mean, list, quote};
use crate::text::trimmed;

/// What a plan has to keep: a measure of it, a relation and a bound.
///
/// ```
/// use fantail_planfile::Goal;
///
/// let goal = Goal::parse("0.99 < 2.5s")?;
/// assert_eq!((goal.word(), goal.goal().bound), ("p99", 2.5));
/// assert!(goal.goal().is_met(2.4) && !goal.goal().is_met(2.5));
///
/// let problems = Goal::parse("faild<1%").unwrap_err();
/// assert!(problems.to_string().contains("did you mean `failed`?"));
/// # Ok::<(), fantail_planfile::Problems>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    text: String,
    word: String,
    means: tune::Goal,
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

    /// The word for what it is about: a percentile's label, like `p99.9`, or `mean`, `complete` and so on.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// The goal: times in seconds, shares from 0 to 1, relative changes, or amounts.
    pub fn goal(&self) -> tune::Goal {
        self.means
    }

    fn read(text: &str) -> Result<Goal, Vec<Fault>> {
        let Some(at) = text.find(['<', '>', '=']) else {
            let (start, word) = trimmed(0, text);
            let unbounded = |(word, measure): (String, Measure)| {
                format!("{} of what? expected a bound, like {}", quote(&word), example(&word, measure))
            };
            let message = measure(word).map_or_else(|message| message, unbounded);
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
        let (word, measure) = measure.map_err(|fault| vec![fault])?;
        let fault = |message: String| vec![Fault::new(start..start + bound.len(), message)];
        let unit = Unit::of(measure);
        let goal = tune::Goal { measure, relation, bound: unit.read(bound).map_err(fault)? };
        if let Some(message) = never_met(unit, &goal) {
            return Err(fault(message));
        }
        Ok(Goal { text: text.trim().to_owned(), word, means: goal })
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What no share can keep.
fn never_met(unit: Unit, goal: &tune::Goal) -> Option<String> {
    let end = match (unit, goal.relation) {
        (Unit::Share, Relation::Above) if goal.bound == 1.0 => "more than 100%; expected >=100%",
        (Unit::Share, Relation::Below) if goal.bound == 0.0 => "less than 0%; expected <=0%",
        _ => return None,
    };
    Some(format!("no share is {end}"))
}

/// A goal of this kind.
fn example(word: &str, measure: Measure) -> String {
    match measure {
        Measure::Complete => "complete>95%".to_owned(),
        _ => format!("{word}<{}", Unit::of(measure).example()),
    }
}

impl Unit {
    fn of(measure: Measure) -> Unit {
        match measure {
            Measure::Quantile(_) | Measure::Mean => Unit::Time,
            Measure::Complete | Measure::Partial | Measure::Failed => Unit::Share,
            Measure::ExtraRequests | Measure::ExtraBusy => Unit::Change,
            Measure::Cost => Unit::Amount,
        }
    }

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
            Unit::Time => seconds(text),
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

/// The measure that a word names, with the word that it is printed under.
fn measure(word: &str) -> Result<(String, Measure), String> {
    if looks_like_percentile(word) || word.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        let percentile = percentile(word).map_err(|fault| fault.message)?;
        return Ok((percentile.label().to_owned(), Measure::Quantile(percentile.level())));
    }
    if let Some((name, measure)) = MEASURES.iter().find(|(name, _)| *name == word) {
        return Ok(((*name).to_owned(), *measure));
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
            assert_eq!(goal.goal().bound, bound, "{text}");
            assert!(met.iter().all(|figure| goal.goal().is_met(*figure)), "{text}");
            assert!(missed.iter().chain(&[f64::NAN]).all(|figure| !goal.goal().is_met(*figure)), "{text}");
        };
        check("p99<2.5s", 2.5, &[2.4], &[2.5, f64::INFINITY]);
        check("1-1e-6 < 300ms", 0.3, &[0.2], &[0.31]);
        check("mean<=1s", 1.0, &[1.0], &[1.1]);
        check("failed<0.5%", 0.005, &[0.0], &[0.005]);
        check("failed<1e-9", 1e-9, &[0.0], &[1e-9]);
        check("complete>95%", 0.95, &[0.951], &[0.95]);
        check("complete>=100%", 1.0, &[1.0], &[0.9999, 1.0_f64.next_down()]);
        check("failed<=0%", 0.0, &[0.0], &[1e-300]);
        check("p99<1e9 h", 3.6e12, &[3e12], &[4e12]);
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
        check("complete>100%", 10, "no share is more than 100%; expected >=100%");
        check("failed < 0", 10, "no share is less than 0%; expected <=0%");
        check("failed<", 8, "`` is not a share from 0% to 100%, like 0.5%");
        check("extra_busy<inf", 12, "`inf` is not a change, like 5%");
        check("cost<1s", 6, "`1s` is not an amount, like 0.01");
        let level = "expected one between 0 and 1, like p99, 0.99 or 1-1e-6";
        check("p100<2s", 1, &format!("`p100` is out of range; {level}"));
    }
}
