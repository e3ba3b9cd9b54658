//! `--format csv`: one line a strategy, numbers in full precision, times in seconds.
//!
//! An infinite number is `inf`, one that there is none of is empty.

use super::report::{Report, Strategy, required};
use super::request::Point;
use super::solved::word;
use crate::MEMORY;

pub(super) fn render(report: &Report) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let quantiles: Vec<String> = report.labels.iter().map(|label| format!("{label}_s")).collect();
    let before = ["name", "file", "n", "k", "at_least", "required", "deadline_s", "sigma"];
    // The other numbers that may be swept are among those of every plan.
    let before = if sigma(report.strategies.first()).is_some() { &before[..] } else { &before[..7] };
    let after = [
        "mean_s",
        "sd_s",
        "complete",
        "partial",
        "failed",
        "never",
        "extra_requests",
        "extra_busy",
        "cost",
        "sends_copy",
        "slowest_percent",
        "fit_error",
        "method",
        "not_included",
    ];
    writer
        .write_record(before.iter().copied().chain(quantiles.iter().map(String::as_str)).chain(after))
        .expect(MEMORY);
    for strategy in &report.strategies {
        writer.write_record(record(report, strategy)).expect(MEMORY);
    }
    writer.into_inner().expect(MEMORY)
}

/// The sigma of a strategy where that is swept.
fn sigma(strategy: Option<&Strategy>) -> Option<f64> {
    match strategy?.point? {
        Point::Sigma(sigma) => Some(sigma),
        Point::Branches(_) | Point::Deadline(_) => None,
    }
}

fn record(report: &Report, strategy: &Strategy) -> Vec<String> {
    let Strategy { name, file, plan, outlook, slowest_percent, fit_error, .. } = strategy;
    let figures = outlook.as_ref().ok();
    let prices = figures.and_then(|figures| figures.prices.as_ref().ok());
    let number = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
    let mut record = vec![name.clone(), file.clone().unwrap_or_default()];
    record.extend([plan.n(), plan.k, plan.at_least, required(plan)].map(|count| count.to_string()));
    record.push(number(Some(plan.deadline).filter(|deadline| deadline.is_finite())));
    record.extend(sigma(Some(strategy)).map(|sigma| sigma.to_string()));
    record
        .extend((0..report.labels.len()).map(|i| number(figures.map(|figures| figures.quantiles[i].value))));
    record.extend(
        [
            figures.and_then(|figures| Some(figures.mean.as_ref().ok()?.value)),
            figures.and_then(|figures| Some(figures.sd.as_ref().ok()?.value)),
            figures.map(|figures| figures.complete.value),
            figures.map(|figures| figures.partial.value),
            figures.map(|figures| figures.failed.value),
            figures.map(|figures| figures.never.value),
            prices.map(|prices| prices.extra_requests.value),
            prices.and_then(|prices| Some(prices.extra_busy.as_ref().ok()?.value)),
            prices.and_then(|prices| Some(prices.cost?.value)),
            figures.and_then(|figures| Some(figures.sends_copy.as_ref().ok()?.value)),
            Some(*slowest_percent),
            *fit_error,
        ]
        .map(number),
    );
    record.push(figures.map_or("", |figures| word(figures.method)).to_owned());
    record.push(outlook.as_ref().map_or_else(|reasons| reasons, |figures| &figures.not_exact).join("; "));
    record
}
