//! The text of a law: `lognormal:median=1s,sigma=0.6`, mixtures of such, and percentiles.

use std::ops::Range;
use std::sync::Arc;

use fantail_model::{Fit, Law, LawError};

use crate::decimal::Decimal;
use crate::duration::seconds;
use crate::percentile::{looks_like_percentile, percentile};
use crate::problem::{Fault, Problems, did_you_mean, list, quote};
use crate::text::{parts, trimmed};

/// What a parameter of a family is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A duration with its unit.
    Time,
    /// A plain number.
    Number,
}

/// A family of laws, with its parameters in the order that `build` takes them, in seconds.
struct Family {
    name: &'static str,
    parameters: &'static [(&'static str, Kind)],
    build: fn(&[f64]) -> Result<Law, LawError>,
}

const FAMILIES: [Family; 6] = [
    Family { name: "exponential", parameters: &[("mean", Kind::Time)], build: |p| Law::exponential(p[0]) },
    Family {
        name: "lognormal",
        parameters: &[("median", Kind::Time), ("sigma", Kind::Number)],
        build: |p| Law::log_normal(p[0], p[1]),
    },
    Family {
        name: "weibull",
        parameters: &[("shape", Kind::Number), ("scale", Kind::Time)],
        build: |p| Law::weibull(p[0], p[1]),
    },
    Family {
        name: "gamma",
        parameters: &[("shape", Kind::Number), ("scale", Kind::Time)],
        build: |p| Law::gamma(p[0], p[1]),
    },
    Family {
        name: "loglogistic",
        parameters: &[("alpha", Kind::Time), ("beta", Kind::Number)],
        build: |p| Law::log_logistic(p[0], p[1]),
    },
    Family {
        name: "pareto",
        parameters: &[("xm", Kind::Time), ("alpha", Kind::Number)],
        build: |p| Law::pareto(p[0], p[1]),
    },
];
/// The parameter that any family may have beside its own: how much later every answer is.
const SHIFT: &str = "shift";

/// A law as stated.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedLaw {
    /// The law.
    pub law: Law,
    /// Where it was fitted to percentiles, the worst relative error in time over them: 0.01 is 1 %.
    pub fit_error: Option<f64>,
    /// Those percentiles, as (probability, seconds); `None` for other laws and for mixtures.
    pub percentiles: Option<Arc<[(f64, f64)]>>,
}

impl From<Law> for StatedLaw {
    fn from(law: Law) -> StatedLaw {
        StatedLaw { law, fit_error: None, percentiles: None }
    }
}

/// Reads the text of a law.
///
/// - a family with its parameters: `exponential:mean=1s`, `lognormal:median=1s,sigma=0.6`,
///   `weibull:shape=0.7,scale=1s`, `gamma:shape=2,scale=0.5s`, `loglogistic:alpha=1s,beta=3`,
///   `pareto:xm=1s,alpha=2.5`, each with `shift=20ms` or without;
/// - a mixture: `0.95*lognormal:median=1s,sigma=0.3|0.05*pareto:xm=2s,alpha=2.5`, weights that add up to 1;
/// - percentiles: `p50=0.8s,p95=1.5s,p99=2.4s`, through which a law is fitted.
///
/// ```
/// use fantail_model::Level;
///
/// let stated = fantail_planfile::parse_law("lognormal:median=1s,sigma=0.6,shift=20ms")?;
/// assert_eq!(stated.law.quantile(Level::MEDIAN), 1.02);
/// let problems = fantail_planfile::parse_law("lognorml:median=1s").unwrap_err();
/// assert_eq!(problems.iter().next().map(|p| p.column()), Some(1));
/// # Ok::<(), fantail_planfile::Problems>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the text, each at its column.
pub fn parse_law(text: &str) -> Result<StatedLaw, Problems> {
    law(text).map_err(|faults| Problems::locate("latency", text, faults))
}

/// Reads the text of a law that is part of a larger text.
pub(crate) fn law(text: &str) -> Result<StatedLaw, Vec<Fault>> {
    if text.contains(['|', '*']) { mixture(text) } else { plain(0, text) }
}

/// What one part of a text is, or what is wrong with it, at places in the whole text.
type Part<T> = Result<T, Vec<Fault>>;

fn one<T>(span: Range<usize>, message: impl Into<String>) -> Part<T> {
    Err(vec![Fault::new(span, message)])
}

fn mixture(text: &str) -> Part<StatedLaw> {
    let mut faults = Vec::new();
    let mut laws = Vec::new();
    let mut fit_error: Option<f64> = None;
    let mut total = Decimal::parse("0");
    for (offset, part) in parts(text, '|') {
        let Some((weight, rest)) = part.split_once('*') else {
            let message =
                format!("{} has no weight; expected one, like 0.05*pareto:xm=2s,alpha=2.5", quote(part));
            faults.push(Fault::new(offset..offset + part.len(), message));
            continue;
        };
        let (at, rest) = trimmed(offset + weight.len() + 1, rest);
        let law = plain(at, rest).map_err(|more| faults.extend(more)).ok();
        let weight = weight.trim_end();
        let Some(share) = Decimal::parse(weight) else {
            let message = format!("{} is not a weight; expected a number from 0 to 1", quote(weight));
            faults.push(Fault::new(offset..offset + weight.len(), message));
            continue;
        };
        total = total.and_then(|total| total.checked_add(&share));
        if let Some(stated) = law {
            fit_error = stated.fit_error.into_iter().chain(fit_error).reduce(f64::max);
            laws.push((share.to_f64(), stated.law));
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    match total {
        Some(total) if total.is_one() => {}
        Some(total) => {
            let message = format!("the weights add up to {}%; expected exactly 100%", total.percent());
            return one(0..text.len(), message);
        }
        None => return one(0..text.len(), "the weights add up to more than 1; expected exactly 1"),
    }
    match Law::mixture(&laws) {
        Ok(law) => Ok(StatedLaw { law, fit_error, percentiles: None }),
        Err(error) => one(0..text.len(), error.to_string()),
    }
}

/// A law that is no mixture.
fn plain(offset: usize, text: &str) -> Part<StatedLaw> {
    if looks_like_percentile(text) {
        return percentiles(offset, text);
    }
    let span = offset..offset + text.len();
    let names = || FAMILIES.iter().map(|family| family.name);
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let Some(family) = FAMILIES.iter().find(|family| family.name == name.trim()) else {
        if !text.contains(':') && text.contains('=') {
            let message =
                format!("{} is not a law; expected a family and a colon first, like lognormal:", quote(text));
            return one(span, message);
        }
        let near = did_you_mean(name.trim(), names());
        let message = format!(
            "unknown law {}; expected {} or percentiles like p50=1s,p99=2s{near}",
            quote(name),
            list(names())
        );
        return one(offset..offset + name.len(), message);
    };
    let at = offset + text.len() - parameters.len();
    family.law(span, at, parameters).map(StatedLaw::from)
}

/// A parameter's value with its place.
struct Value {
    name: &'static str,
    number: f64,
    span: Range<usize>,
}

impl Family {
    fn law(&self, span: Range<usize>, offset: usize, text: &str) -> Part<Law> {
        let mut faults = Vec::new();
        let mut values: Vec<Value> = Vec::new();
        let mut named: Vec<&str> = Vec::new();
        for (at, part) in parts(text, ',') {
            let at = offset + at;
            let Some((key, text)) = part.split_once('=') else {
                if !text.is_empty() {
                    let message = format!("{} is not a parameter; expected name=value", quote(part));
                    faults.push(Fault::new(at..at + part.len(), message));
                }
                continue;
            };
            match self.parameter(&named, at, key.trim_end()) {
                Ok((name, kind)) => {
                    named.push(name);
                    let (at, text) = trimmed(at + key.len() + 1, text);
                    let span = at..at + text.len();
                    match value(kind, text) {
                        Ok(number) => values.push(Value { name, number, span }),
                        Err(message) => faults.push(Fault::new(span, format!("{name}: {message}"))),
                    }
                }
                Err(fault) => faults.push(fault),
            }
        }
        for (name, kind) in self.parameters {
            if !named.contains(name) {
                let example = if *kind == Kind::Time { "1s" } else { "0.6" };
                let message = format!("{} has no {name}; expected one, like {name}={example}", self.name);
                faults.push(Fault::new(span.clone(), message));
            }
        }
        if faults.is_empty() { self.build(&span, &values) } else { Err(faults) }
    }

    /// The parameter that `key` names.
    fn parameter(&self, named: &[&str], at: usize, key: &str) -> Result<(&'static str, Kind), Fault> {
        let known = || self.parameters.iter().copied().chain([(SHIFT, Kind::Time)]);
        let span = at..at + key.len();
        let Some((name, kind)) = known().find(|(name, _)| *name == key) else {
            let names = || known().map(|(name, _)| name);
            let near = did_you_mean(key, names());
            let message =
                format!("{} has no parameter {}; expected {}{near}", self.name, quote(key), list(names()));
            return Err(Fault::new(span, message));
        };
        if named.contains(&name) { Err(Fault::new(span, format!("{name} twice"))) } else { Ok((name, kind)) }
    }

    fn build(&self, span: &Range<usize>, values: &[Value]) -> Part<Law> {
        let find = |name| values.iter().find(|value| value.name == name);
        let own = |&(name, _)| find(name).map(|value: &Value| value.number);
        let parameters: Vec<f64> = self.parameters.iter().filter_map(own).collect();
        let law = (self.build)(&parameters)
            .and_then(|law| find(SHIFT).map_or(Ok(law.clone()), |shift| law.shifted(shift.number)));
        law.map_err(|error| {
            let place = match &error {
                LawError::OutOfRange { parameter, .. } => find(parameter).map(|value| value.span.clone()),
                _ => None,
            };
            vec![Fault::new(place.unwrap_or_else(|| span.clone()), error.to_string())]
        })
    }
}

/// A parameter's value, a duration in seconds.
fn value(kind: Kind, text: &str) -> Result<f64, String> {
    match kind {
        Kind::Time => seconds(text),
        Kind::Number => text.parse().map_err(|_| format!("{} is not a number", quote(text))),
    }
}

/// `p50=0.8s,p95=1.5s`: what a law is fitted to.
fn percentiles(offset: usize, text: &str) -> Part<StatedLaw> {
    let span = offset..offset + text.len();
    let mut faults = Vec::new();
    let mut points = Vec::new();
    for (at, part) in parts(text, ',') {
        let at = offset + at;
        let Some((level, time)) = part.split_once('=') else {
            let message =
                format!("{} is not a percentile with its time; expected one like p95=1.5s", quote(part));
            faults.push(Fault::new(at..at + part.len(), message));
            continue;
        };
        let (time_at, time) = trimmed(at + level.len() + 1, time);
        let level = percentile(level.trim_end()).map_err(|fault| faults.push(fault.moved(at)));
        let time = value(Kind::Time, time)
            .map_err(|message| faults.push(Fault::new(time_at..time_at + time.len(), message)));
        if let (Ok(level), Ok(time)) = (level, time) {
            points.push((level.level().p(), time));
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    match Law::from_percentiles(&points) {
        Ok(Fit { law, error }) => {
            Ok(StatedLaw { law, fit_error: Some(error), percentiles: Some(points.into()) })
        }
        Err(error) => one(span, error.to_string()),
    }
}
