//! One row of the reference file, and the inputs it states.

use fantail_model::{Group, GroupedPlan, JobLaw, Law, Level};
use serde_json::Value;

use super::Found;

pub(crate) struct Row {
    pub(crate) case: String,
    pub(crate) params: Value,
    pub(crate) quantity: String,
    pub(crate) value: f64,
}

impl Row {
    pub(crate) fn new(record: &csv::StringRecord) -> Row {
        Row {
            case: record[0].to_owned(),
            params: serde_json::from_str(&record[2]).unwrap(),
            quantity: record[3].to_owned(),
            value: record[4].parse().unwrap(),
        }
    }

    pub(crate) fn section(&self) -> &str {
        let mut parts = self.case.split('/');
        let section = parts.next().unwrap();
        if self.params["family"] == "gamma" || self.case == "batch/gamma" {
            return "gamma";
        }
        match section {
            "queue" | "fit" | "hetero" | "hierarchy" | "correlated" => &self.case,
            _ => section,
        }
    }

    pub(crate) fn error(&self, value: f64) -> f64 {
        if value == self.value { 0.0 } else { (value - self.value).abs() / self.value.abs().max(1e-300) }
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.params[key].as_str().unwrap_or_else(|| panic!("{key} of {}", self.params))
    }

    pub(crate) fn number(&self, key: &str) -> f64 {
        self.params[key].as_f64().unwrap_or_else(|| self.text(key).parse().unwrap())
    }

    pub(crate) fn count(&self, key: &str) -> u64 {
        self.params[key].as_u64().unwrap_or_else(|| panic!("{key} of {}", self.params))
    }

    pub(crate) fn law(&self) -> Option<Law> {
        let n = |key: &str| self.number(key);
        let law = match self.text("family") {
            "lognormal" => Law::log_normal(n("mu").exp(), n("sigma")),
            "exponential" => Law::exponential(1.0 / n("rate")),
            "weibull" => Law::weibull(n("shape"), n("scale")),
            "gamma" => Law::gamma(n("shape"), n("scale")),
            "pareto" => Law::pareto(n("xm"), n("alpha")),
            "loglogistic" => Law::log_logistic(n("alpha"), n("beta")),
            _ => return None,
        };
        Some(law.unwrap())
    }

    /// The quantile at `p`, with its condition.
    pub(crate) fn quantile(&self, quantile: impl Fn(Level) -> f64) -> Found {
        quantile_at(self.text("p"), quantile)
    }

    pub(crate) fn job_quantile(&self, job: &JobLaw) -> Found {
        self.quantile(|level| job.quantile(level).value)
    }
}

pub(crate) fn above(s: f64) -> Level {
    Level::above(s).unwrap()
}

pub(crate) fn below(p: f64) -> Level {
    Level::below(p).unwrap()
}

/// The level of a decimal number, through `1 - p` (exact in decimals) above one half.
pub(crate) fn level(p: &str) -> Level {
    let (side, of) = small_side(p);
    of(side)
}

pub(crate) fn small_side(p: &str) -> (f64, fn(f64) -> Level) {
    let value: f64 = p.parse().unwrap();
    if value <= 0.5 {
        return (value, below);
    }
    let decimals = p.strip_prefix("0.").unwrap();
    let one = 10_u64.pow(decimals.len() as u32);
    ((one - decimals.parse::<u64>().unwrap()) as f64 / one as f64, above)
}

pub(crate) fn quantile_at(p: &str, quantile: impl Fn(Level) -> f64) -> Found {
    let (side, of) = small_side(p);
    Found::at(side, |side| quantile(of(side)))
}

pub(crate) fn all(n: u64, law: Law) -> JobLaw {
    GroupedPlan::all(Group::new(n, law)).solve().unwrap()
}

pub(crate) fn first(k: u64, n: u64, law: Law) -> JobLaw {
    GroupedPlan::first(k, Group::new(n, law)).solve().unwrap()
}

pub(crate) fn hedged(n: u64, law: Law, delays: &[f64]) -> JobLaw {
    GroupedPlan::all(Group { delays: delays.to_vec(), ..Group::new(n, law) }).solve().unwrap()
}
