//! `--format json`: `fantail.predict/1`, every number in full precision, times in seconds.

use std::collections::BTreeMap;

use fantail_model::Group;
use serde::{Serialize, Serializer};

use super::report::{BUSY_FOR_EVER, Figures, Report, Strategy, UNPRICED, required, word};
use super::request::Point;

pub(super) fn render(report: &Report) -> anyhow::Result<Vec<u8>> {
    let document = Document {
        schema: "fantail.predict/1",
        n: report.setting.as_ref().and_then(|setting| setting.n),
        latency: report.setting.as_ref().map(|setting| setting.latency.as_str()),
        strategies: report.strategies.iter().map(|strategy| entry(report, strategy)).collect(),
    };
    let mut json = serde_json::to_vec_pretty(&document)?;
    json.push(b'\n');
    Ok(json)
}

#[derive(Serialize)]
struct Document<'r> {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<&'r str>,
    strategies: Vec<Entry<'r>>,
}

#[derive(Serialize)]
struct Entry<'r> {
    name: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<At>,
    plan: Plan,
    quantiles_s: Ordered<'r>,
    mean_s: Option<f64>,
    sd_s: Option<f64>,
    complete: Option<f64>,
    partial: Option<f64>,
    failed: Option<f64>,
    never: Option<f64>,
    extra_requests: Option<f64>,
    extra_busy: Option<f64>,
    cost: Option<f64>,
    sends_copy: Option<f64>,
    slowest_percent: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fit_error: Option<f64>,
    method: Option<&'static str>,
    assumes: &'r [String],
    not_included: &'r [String],
    /// Every figure that is `null`, and why it is.
    why_null: BTreeMap<String, String>,
}

/// Where in a sweep: an object of one number.
#[derive(Serialize)]
enum At {
    #[serde(rename = "n")]
    Branches(u32),
    #[serde(rename = "sigma")]
    Sigma(f64),
    #[serde(rename = "deadline_s")]
    Deadline(f64),
}

/// What the plan states; `null` is what it does not.
#[derive(Serialize)]
struct Plan {
    n: u64,
    k: u64,
    at_least: u64,
    required: u64,
    deadline_s: Option<f64>,
    branches: Vec<Branches>,
}

/// Like branches.
#[derive(Serialize)]
struct Branches {
    count: u64,
    required: bool,
    latency: String,
    copies_after_s: Vec<f64>,
    deadline_s: Option<f64>,
    attempt_timeout_s: Option<f64>,
    cost: Option<f64>,
}

/// A map that keeps its order.
struct Ordered<'r>(Vec<(&'r str, Option<f64>)>);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

fn entry<'r>(report: &'r Report, strategy: &'r Strategy) -> Entry<'r> {
    let mut nulls = Nulls(BTreeMap::new());
    let figures = strategy.outlook.as_ref().map_err(|_| "not predicted: see not_included".to_owned());
    let share =
        |get: fn(&Figures) -> f64| figures.as_ref().map(|figures| get(figures)).map_err(String::clone);
    let time = |get: fn(&Figures) -> &Result<f64, String>| {
        figures.as_ref().map_err(String::clone).and_then(|figures| get(figures).clone())
    };
    let prices = figures
        .as_ref()
        .map_err(String::clone)
        .and_then(|figures| figures.prices.as_ref().map_err(String::clone));
    let for_ever = || BUSY_FOR_EVER.to_owned();
    let unpriced = || UNPRICED.to_owned();
    let quantiles = report.labels.iter().enumerate().map(|(i, label)| {
        let quantile = figures.as_ref().map(|figures| figures.quantiles[i]).map_err(String::clone);
        (label.as_str(), nulls.number(&format!("quantiles_s.{label}"), quantile))
    });
    Entry {
        name: &strategy.name,
        file: strategy.file.as_deref(),
        at: strategy.point.map(at),
        plan: plan(strategy),
        quantiles_s: Ordered(quantiles.collect()),
        mean_s: nulls.number("mean_s", time(|figures| &figures.mean)),
        sd_s: nulls.number("sd_s", time(|figures| &figures.sd)),
        complete: nulls.number("complete", share(|figures| figures.complete)),
        partial: nulls.number("partial", share(|figures| figures.partial)),
        failed: nulls.number("failed", share(|figures| figures.failed)),
        never: nulls.number("never", share(|figures| figures.never)),
        extra_requests: nulls.number("extra_requests", prices.clone().map(|prices| prices.extra_requests)),
        extra_busy: nulls
            .number("extra_busy", prices.clone().and_then(|prices| prices.extra_busy.ok_or_else(for_ever))),
        cost: nulls.number("cost", prices.and_then(|prices| prices.cost.ok_or_else(unpriced))),
        sends_copy: nulls.number("sends_copy", share(|figures| figures.sends_copy)),
        slowest_percent: strategy.slowest_percent,
        fit_error: strategy.fit_error,
        method: figures.as_ref().ok().map(|figures| word(figures.method)),
        assumes: figures.as_ref().map_or(&[], |figures| &figures.assumes),
        not_included: strategy.outlook.as_ref().err().map_or(&[], Vec::as_slice),
        why_null: nulls.0,
    }
}

fn at(point: Point) -> At {
    match point {
        Point::Branches(n) => At::Branches(n),
        Point::Sigma(sigma) => At::Sigma(sigma),
        Point::Deadline(deadline) => At::Deadline(deadline.as_secs_f64()),
    }
}

/// Why numbers are `null`.
struct Nulls(BTreeMap<String, String>);

impl Nulls {
    /// The number, or `null` with its reason kept: JSON has no infinity.
    fn number(&mut self, path: &str, number: Result<f64, String>) -> Option<f64> {
        let why = match number {
            Ok(number) if number.is_finite() => return Some(number),
            Ok(_) => "infinite".to_owned(),
            Err(why) => why,
        };
        self.0.insert(path.to_owned(), why);
        None
    }
}

fn plan(strategy: &Strategy) -> Plan {
    let plan = &strategy.plan;
    Plan {
        n: plan.n(),
        k: plan.k,
        at_least: plan.at_least,
        required: required(plan),
        deadline_s: finite(plan.deadline),
        branches: plan.groups.iter().map(branches).collect(),
    }
}

/// What is infinite is not stated.
fn finite(seconds: f64) -> Option<f64> {
    Some(seconds).filter(|seconds| seconds.is_finite())
}

fn branches(group: &Group) -> Branches {
    Branches {
        count: group.count,
        required: group.required,
        latency: group.law.to_string(),
        copies_after_s: group.delays.clone(),
        deadline_s: finite(group.deadline),
        attempt_timeout_s: finite(group.attempt_timeout),
        cost: group.cost,
    }
}
