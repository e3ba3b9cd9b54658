//! Percentiles as people write them: `p99.9`, `0.5`, `1-1e-12`.

use fantail_model::Level;

use crate::decimal::Decimal;
use crate::problem::{Fault, Problems, quote};
use crate::text::parts;

/// A level of a distribution with the label that it is printed under.
///
/// ```
/// use fantail_planfile::Percentile;
///
/// let list = Percentile::parse_list("0.5,p99.9,1-1e-12")?;
/// let labels: Vec<&str> = list.iter().map(Percentile::label).collect();
/// assert_eq!(labels, ["p50", "p99.9", "p99.9999999999"]);
/// assert!((list[2].level().s() / 1e-12 - 1.0).abs() < 1e-12);
/// # Ok::<(), fantail_planfile::Problems>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Percentile {
    label: String,
    level: Level,
}

impl Percentile {
    /// Reads one percentile: `p99.9`, the probability `0.999`, or what lies above as `1-0.001`; strictly between 0
    /// and 1. The decimal text is what counts: `p99.999999` has exactly `1e-8` above it.
    ///
    /// # Errors
    /// Not such a number, or not strictly between 0 and 1.
    pub fn parse(text: &str) -> Result<Percentile, Problems> {
        percentile(text).map_err(|fault| Problems::locate("percentile", text, vec![fault]))
    }

    /// Reads a list separated by commas, none of them twice.
    ///
    /// # Errors
    /// Everything that is wrong with the list.
    pub fn parse_list(text: &str) -> Result<Vec<Percentile>, Problems> {
        let mut faults = Vec::new();
        let mut list: Vec<Percentile> = Vec::new();
        for (offset, part) in parts(text, ',') {
            match percentile(part) {
                Ok(new) if list.iter().any(|old| old.label == new.label) => {
                    let message = format!("{} is listed twice", new.label);
                    faults.push(Fault::new(offset..offset + part.len(), message));
                }
                Ok(new) => list.push(new),
                Err(fault) => faults.push(fault.moved(offset)),
            }
        }
        if faults.is_empty() { Ok(list) } else { Err(Problems::locate("percentiles", text, faults)) }
    }

    /// The label, `p` and the percentage without trailing zeros: `p50`, `p99.9`; where that is long, what lies above or
    /// below, if that is shorter: `1-1e-300`.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The level, precise at both ends.
    pub fn level(&self) -> Level {
        self.level
    }
}

/// Whether `text` is meant as a percentile rather than, say, a duration.
pub(crate) fn looks_like_percentile(text: &str) -> bool {
    text.strip_prefix('p').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Reads one percentile of a larger text.
pub(crate) fn percentile(text: &str) -> Result<Percentile, Fault> {
    let decimal = match (text.strip_prefix('p'), text.strip_prefix("1-")) {
        (Some(percent), _) => Decimal::parse_percent(percent),
        (_, Some(above)) => Decimal::parse(above).map(|above| above.complement()),
        _ => Decimal::parse(text),
    };
    let refused = |what: &str| {
        let nearest = nearest(text).map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
        let expected = "expected one between 0 and 1, like p99, 0.99 or 1-1e-6";
        Fault::new(0..text.len(), format!("{} {what}; {expected}{nearest}", quote(text)))
    };
    let decimal = decimal.ok_or_else(|| refused("is not a percentile"))?;
    let (p, s) = (decimal.to_f64(), decimal.complement().to_f64());
    if !decimal.is_inside() || p < f64::MIN_POSITIVE || s < f64::MIN_POSITIVE {
        return Err(refused("is out of range"));
    }
    // The smaller of the two holds all the digits.
    let level = if p < s { Level::below(p) } else { Level::above(s) };
    let level = level.expect("a level strictly between 0 and 1");
    Ok(Percentile { label: label(&decimal), level })
}

/// What a percentage was meant for: p50, as `50`, `50%` and `p50%`.
fn nearest(text: &str) -> Option<String> {
    let nearest = format!("p{}", text.trim_start_matches(['p', 'P']).trim_end_matches('%').trim());
    (nearest != text && percentile(&nearest).is_ok()).then_some(nearest)
}

/// How long the percentage of a label may be that has a shorter one.
const LONG: usize = 20;

fn label(decimal: &Decimal) -> String {
    let percent = format!("p{}", decimal.percent());
    let short = [decimal.scientific(), format!("1-{}", decimal.complement().scientific())];
    let shorter = short.into_iter().filter(|short| percent.len() > LONG && short.len() < percent.len());
    shorter.min_by_key(String::len).unwrap_or(percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_keep_every_digit_of_a_deep_tail() {
        let check = |text: &str, label: &str, p: f64, s: f64| {
            let got = Percentile::parse(text).unwrap();
            assert_eq!(got.label(), label, "{text}");
            assert!((got.level().p() / p - 1.0).abs() < 1e-14, "{text}: p {}", got.level().p());
            assert!((got.level().s() / s - 1.0).abs() < 1e-12, "{text}: s {}", got.level().s());
        };
        check("p50", "p50", 0.5, 0.5);
        check("0.50", "p50", 0.5, 0.5);
        check("p99.999999", "p99.999999", 1.0 - 1e-8, 1e-8);
        check("1-1e-12", "p99.9999999999", 1.0 - 1e-12, 1e-12);
        check("1e-9", "p0.0000001", 1e-9, 1.0 - 1e-9);
        check("p5", "p5", 0.05, 0.95);
        check(&format!("p99.{}", "9".repeat(40)), "1-1e-42", 1.0, 1e-42);
        check("1-1.25e-300", "1-1.25e-300", 1.0, 1.25e-300);
        check("1e-300", "1e-300", 1e-300, 1.0);
        let digits = "p12.34567890123456789012345";
        check(digits, digits, 0.123_456_789_012_345_67, 0.876_543_210_987_654_3);
    }

    #[test]
    fn bad_percentiles_are_located() {
        let check = |text: &str, column: usize, message: &str| {
            let problems = Percentile::parse_list(text).unwrap_err();
            let problem = problems.iter().next().unwrap();
            assert_eq!((problem.column(), problem.message()), (column, message), "{text}");
        };
        let tail = "expected one between 0 and 1, like p99, 0.99 or 1-1e-6";
        check("p50,p100", 5, &format!("`p100` is out of range; {tail}"));
        check("0", 1, &format!("`0` is out of range; {tail}"));
        for meant in ["99", "99%", "p99%"] {
            check(meant, 1, &format!("`{meant}` is not a percentile; {tail}; did you mean `p99`?"));
        }
        check("p50, px", 6, &format!("`px` is not a percentile; {tail}"));
        check("", 1, &format!("`` is not a percentile; {tail}"));
        check("p50,0.5", 5, "p50 is listed twice");
        check("1-1e-320", 1, &format!("`1-1e-320` is out of range; {tail}"));
        check("1-1-1", 1, &format!("`1-1-1` is not a percentile; {tail}"));
    }
}
