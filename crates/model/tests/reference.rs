//! Every reference value that the model covers, within its bound; and what it does not cover yet, counted.
//!
//! `reference/exact.csv` holds values to 25 digits, made by `reference/reference.py`. The bound is relative:
//! `max(1e-12, 8 ε κ)`, and 1e-10 for means and standard deviations. κ is the condition of the readout: how many times a
//! relative change of its input (the time; for a quantile the smaller of p and 1 - p) it answers with. It is measured by
//! a small step of that input.

use std::collections::BTreeMap;

use fantail_model::special::{barrier_hazard, branch_hazard, erfcx, normal_hazard, normal_quantile};
use fantail_model::{Group, GroupedPlan, JobLaw, Law, Level};
use serde_json::Value;

/// Rows that the model does not cover yet, by section and quantity.
const NOT_COVERED: &[(&str, usize)] = &[
    ("correlated/common_shock/lognormal/sigma=0.6 quantile", 8),
    ("correlated/gauss_copula/lognormal/sigma=0.6 quantile", 30),
    ("gamma cdf", 15),
    ("gamma log_sf", 2),
    ("gamma mean", 8),
    ("gamma pdf", 15),
    ("gamma quantile", 140),
    ("gamma sd", 8),
    ("gamma sf", 15),
    ("gumbel b_leading", 7),
    ("gumbel b_second", 7),
    ("gumbel gumbel_mean_exact_constants", 7),
    ("gumbel gumbel_mean_textbook", 7),
    ("gumbel gumbel_median_exact_constants", 7),
    ("gumbel mean", 7),
    ("hedge_after copy_seconds_no_cancel", 4),
    ("hetero/mixed_families mean", 1),
    ("hetero/mixed_families pmf", 14),
    ("hetero/mixed_families quantile", 13),
    ("hierarchy/exp quantile", 2),
    ("queue/forkjoin2 mean", 5),
    ("queue/forkjoin_independent_upper mean_upper", 22),
    ("queue/forkjoin_lower mean_lower", 23),
    ("queue/forkjoin_nelson_tantawi mean_approx", 25),
    ("queue/md1 mean_wait", 7),
    ("queue/mg1_pk mean_wait", 10),
    ("queue/mm1 mean", 7),
    ("queue/mm1 p99", 7),
    ("queue/mmc erlang_b", 39),
    ("queue/mmc erlang_c", 39),
    ("queue/mmc mean", 39),
    ("queue/mmc mean_wait", 39),
    ("queue/nk_forkjoin mean_lower", 27),
    ("queue/nk_forkjoin mean_upper", 23),
    ("queue/redundancy_d mean", 89),
    ("queue/redundancy_d_inf mean", 18),
    ("queue/redundancy_d_inf quantile", 71),
    ("queue/replicate2_nocancel mean", 2),
    ("queue/replication_threshold threshold", 1),
    ("restart_after quantile", 38),
    ("retry attempts", 3),
    ("seed_barrier_article value", 3),
    ("seed_document_article prob", 1),
    ("seed_document_article value", 1),
    ("single_r quantile", 92),
];

#[test]
fn every_covered_reference_value_is_met_within_its_bound() {
    let mut covered: BTreeMap<String, (usize, f64, String)> = BTreeMap::new();
    let mut missing: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut reader = csv::Reader::from_reader(&include_bytes!("reference/exact.csv")[..]);
    for row in reader.records() {
        let row = Row::new(&row.unwrap());
        let Some(found) = row.evaluate() else {
            *missing.entry(format!("{} {}", row.section(), row.quantity)).or_default() += 1;
            continue;
        };
        let error = row.error(found.value);
        let bound = found.bound.max(8.0 * f64::EPSILON * found.condition);
        // NaN compares false, so it is wrong too.
        if !(error <= bound) {
            wrong.push(format!(
                "{} {} {}: got {}, expected {} (error {error:.1e}, bound {bound:.1e})",
                row.case, row.params, row.quantity, found.value, row.value
            ));
        }
        let entry = covered.entry(format!("{} {}", row.section(), row.quantity)).or_default();
        entry.0 += 1;
        if error >= entry.1 {
            (entry.1, entry.2) = (error, format!("{} {}", row.case, row.params));
        }
    }
    for (section, (count, worst, at)) in &covered {
        println!("{section:40} {count:4} rows, worst {worst:.1e} at {at}");
    }
    println!("covered: {}", covered.values().map(|entry| entry.0).sum::<usize>());
    for (section, count) in &missing {
        println!("not covered: (\"{section}\", {count}),");
    }
    println!("not covered: {}", missing.values().sum::<usize>());
    assert!(wrong.is_empty(), "{} of the rows are off:\n{}", wrong.len(), wrong.join("\n"));
    let missing: Vec<(&str, usize)> =
        missing.iter().map(|(section, count)| (section.as_str(), *count)).collect();
    assert_eq!(missing, NOT_COVERED, "the list of what is not covered is out of date");
}

struct Found {
    value: f64,
    condition: f64,
    bound: f64,
}

impl Found {
    fn exactly(value: f64) -> Option<Found> {
        Some(Found { value, condition: 1.0, bound: 1e-12 })
    }

    /// Means and standard deviations, by integration.
    fn integral(value: f64) -> Option<Found> {
        Some(Found { value, condition: 1.0, bound: 1e-10 })
    }

    /// A readout at a time or at a level's small side.
    fn at(input: f64, readout: impl Fn(f64) -> f64) -> Option<Found> {
        const STEP: f64 = 1e-6;
        let value = readout(input);
        let condition = ((readout(input * (1.0 + STEP)) / value).ln() / STEP).abs();
        Some(Found { value, condition, bound: 1e-12 })
    }
}

struct Row {
    case: String,
    params: Value,
    quantity: String,
    value: f64,
}

impl Row {
    fn new(record: &csv::StringRecord) -> Row {
        Row {
            case: record[0].to_owned(),
            params: serde_json::from_str(&record[2]).unwrap(),
            quantity: record[3].to_owned(),
            value: record[4].parse().unwrap(),
        }
    }

    fn section(&self) -> &str {
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

    fn error(&self, value: f64) -> f64 {
        if value == self.value { 0.0 } else { (value - self.value).abs() / self.value.abs().max(1e-300) }
    }

    fn text(&self, key: &str) -> &str {
        self.params[key].as_str().unwrap_or_else(|| panic!("{key} of {}", self.params))
    }

    fn number(&self, key: &str) -> f64 {
        self.params[key].as_f64().unwrap_or_else(|| self.text(key).parse().unwrap())
    }

    fn count(&self, key: &str) -> u64 {
        self.params[key].as_u64().unwrap_or_else(|| panic!("{key} of {}", self.params))
    }

    fn law(&self) -> Option<Law> {
        let n = |key: &str| self.number(key);
        let law = match self.text("family") {
            "lognormal" => Law::log_normal(n("mu").exp(), n("sigma")),
            "exponential" => Law::exponential(1.0 / n("rate")),
            "weibull" => Law::weibull(n("shape"), n("scale")),
            "pareto" => Law::pareto(n("xm"), n("alpha")),
            "loglogistic" => Law::log_logistic(n("alpha"), n("beta")),
            _ => return None,
        };
        Some(law.unwrap())
    }

    /// The quantile at `p`, with its condition.
    fn quantile(&self, quantile: impl Fn(Level) -> f64) -> Option<Found> {
        quantile_at(self.text("p"), quantile)
    }

    fn job_quantile(&self, job: &JobLaw) -> Option<Found> {
        self.quantile(|level| job.quantile(level).value)
    }

    fn evaluate(&self) -> Option<Found> {
        match self.case.split('/').next().unwrap() {
            "normal" => self.normal(),
            "betai" => self.betai(),
            "gumbel" => self.gumbel(),
            "seed_interactive" => self.interactive(),
            "seed_barrier_article" | "seed_document_article" => self.articles(),
            "max" => self.max(),
            "orderstat" | "barrier" => self.order_statistic(),
            "hedge_at_once" => self.hedge_at_once(),
            "hedge_after" | "hedge_staged" => self.hedge_after(),
            "deadline" => self.deadline(),
            "hedge_deadline" => self.hedge_deadline(),
            "deadline_for_completeness" => {
                let job = all(self.count("k"), self.law()?);
                quantile_at(self.text("c"), |level| job.complete_quantile(level).value)
            }
            "hetero" => self.hetero(),
            "required_optional" => self.required_optional(),
            "retry" => self.retry(),
            "hierarchy" if self.text("shape") == "flat" => {
                self.job_quantile(&all(1_024, Law::exponential(1.0).unwrap()))
            }
            "fit" => self.fit(),
            _ => None,
        }
    }

    fn normal(&self) -> Option<Found> {
        match self.quantity.as_str() {
            "z" => Found::exactly(normal_quantile(above(self.number("s")).hazard())),
            "log_sf" => Found::exactly(-normal_hazard(self.number("z"))),
            "log_cdf" => Found::exactly(-normal_hazard(-self.number("z"))),
            "erfcx" => Found::exactly(erfcx(self.number("x"))),
            _ => None,
        }
    }

    fn betai(&self) -> Option<Found> {
        let (j, n) = (self.count("j"), self.count("n"));
        Found::at(self.number("x"), |x| {
            Level::at_hazard(barrier_hazard(below(x).hazard(), j, n)).unwrap().p()
        })
    }

    fn gumbel(&self) -> Option<Found> {
        let k = self.count("k");
        match self.quantity.as_str() {
            "median" => Found::exactly(normal_quantile(branch_hazard(Level::MEDIAN.hazard(), k, k))),
            "b_exact" => Found::exactly(normal_quantile((k as f64).ln())),
            _ => None,
        }
    }

    fn interactive(&self) -> Option<Found> {
        let quantile = |job: JobLaw, s: f64| Found::at(s, |s| job.quantile(above(s)).value);
        let k = || self.count("k");
        let p95 = || self.law().unwrap().quantile(above(0.05));
        match self.text("id") {
            "tail_16" | "tail_8" | "tail_100" => {
                let job = all(k(), Law::exponential(1.0).unwrap());
                Found::exactly(job.meets_slow_branch(0.01))
            }
            "p50_1" | "p50_8" | "p50_16" => quantile(all(k(), self.law()?), 0.5),
            "p99_wait_all_8" => quantile(all(k(), self.law()?), 0.01),
            "p99_first_5_of_8" => quantile(first(self.count("j"), k(), self.law()?), 0.01),
            "hedge_point" => Found::exactly(p95()),
            "p99_hedged_8" => quantile(hedged(k(), self.law()?, &[p95()]), 0.01),
            "p50_hedged_16" => quantile(hedged(k(), self.law()?, &[p95()]), 0.5),
            "job_hedged_8" => Found::exactly(hedged(k(), self.law()?, &[p95()]).sends_copy()),
            _ => None,
        }
    }

    fn articles(&self) -> Option<Found> {
        let job = |k: u64| all(k, Law::exponential(1.0).unwrap());
        let level = |p: f64| Level::at_hazard(branch_hazard(above(1.0 - p).hazard(), 5, 5)).unwrap().p();
        match self.text("id") {
            "sigma_cut_factor" => {
                let median = |sigma: f64| {
                    all(self.count("k"), Law::log_normal(1.0, sigma).unwrap()).quantile(Level::MEDIAN).value
                };
                Found::exactly(median(1.0) / median(0.9))
            }
            "branch_level" => Found::exactly(level(0.99)),
            "median_level" => Found::exactly(level(0.5)),
            "incomplete_5" | "incomplete_10" => Found::exactly(job(self.count("k")).meets_slow_branch(0.01)),
            "incomplete_5_p95" => Found::exactly(job(5).meets_slow_branch(0.05)),
            _ => None,
        }
    }

    fn max(&self) -> Option<Found> {
        let law = self.law()?;
        if self.quantity == "log_sf" {
            return Found::at(self.number("x"), |x| -law.ln_survival(x)).map(negated);
        }
        let k = self.count("k");
        let job = all(k, law.clone());
        match self.quantity.as_str() {
            "quantile" => self.job_quantile(&job),
            "mean" => Found::integral(job.mean().unwrap().value),
            "sd" => Found::integral(job.sd().unwrap().value),
            "cdf" => Found::at(self.number("x"), |x| job.returned(x)),
            "sf" => Found::at(self.number("x"), |x| job.waiting(x)),
            "pdf" => Found::at(self.number("x"), |x| {
                k as f64 * ((k - 1) as f64 * law.ln_cdf(x)).exp() * law.pdf(x)
            }),
            _ => None,
        }
    }

    fn order_statistic(&self) -> Option<Found> {
        let law = self.law()?;
        if self.quantity == "limit" {
            return Found::exactly(law.quantile(below(self.number("fraction"))));
        }
        let n = self.params["n"].as_u64().unwrap_or_else(|| self.count("k"));
        let job = first(self.count("j"), n, law);
        match self.quantity.as_str() {
            "quantile" => self.job_quantile(&job),
            "mean" => Found::integral(job.mean().unwrap().value),
            "sd" => Found::integral(job.sd().unwrap().value),
            _ => None,
        }
    }

    fn hedge_at_once(&self) -> Option<Found> {
        let delays = vec![0.0; self.count("r") as usize - 1];
        let job = |k: u64| hedged(k, self.law().unwrap(), &delays);
        match self.quantity.as_str() {
            "quantile" => self.job_quantile(&job(self.count("k"))),
            "mean" => Found::integral(job(self.count("k")).mean().unwrap().value),
            "copy_seconds" => Found::integral(job(1).prices().unwrap().busy),
            _ => None,
        }
    }

    fn hedge_after(&self) -> Option<Found> {
        let law = self.law()?;
        let delays = if self.case.starts_with("hedge_staged") {
            vec![law.quantile(above(0.1)), law.quantile(above(0.01))]
        } else {
            vec![law.quantile(level(self.text("hedge_after_quantile")))]
        };
        let job = |k: u64| hedged(k, law.clone(), &delays);
        match self.quantity.as_str() {
            "delay" => Found::exactly(delays[0]),
            "extra_calls" => Found::exactly(job(1).prices().unwrap().extra_requests),
            "quantile" => self.job_quantile(&job(self.count("k"))),
            "job_hedge_prob" => Found::exactly(job(self.count("k")).sends_copy()),
            "mean" => Found::integral(job(self.count("k")).mean().unwrap().value),
            "copy_seconds_cancel" => Found::integral(job(1).prices().unwrap().busy),
            "extra_copy_seconds_cancel" => {
                let job = job(1);
                Found::integral(job.prices().unwrap().busy - job.mean().unwrap().value)
            }
            _ => None,
        }
    }

    fn deadline(&self) -> Option<Found> {
        let (law, deadline) = (self.law()?, self.number("deadline"));
        let at = |plan: &GroupedPlan| GroupedPlan { deadline, ..plan.clone() }.solve().unwrap();
        let k = || self.count("k");
        let optional = |count: u64| Group { required: false, ..Group::new(count, law.clone()) };
        match self.quantity.as_str() {
            "branch_miss" => {
                Found::exactly(at(&GroupedPlan::all(Group::new(1, law))).outcomes(0).unwrap().missed)
            }
            "job_incomplete" => Found::exactly(at(&GroupedPlan::all(Group::new(k(), law))).verdicts().failed),
            "exactly_one_missing" => {
                let plan = GroupedPlan { at_least: k() - 1, ..GroupedPlan::first(k(), optional(k())) };
                Found::exactly(at(&plan).verdicts().partial)
            }
            "fail" | "partial" | "complete" => {
                let (required, others) = (self.count("required"), self.count("optional"));
                let plan = GroupedPlan {
                    groups: vec![Group::new(required, law.clone()), optional(others)],
                    k: required + others,
                    at_least: required,
                    deadline,
                };
                let verdicts = plan.solve().unwrap().verdicts();
                Found::exactly(match self.quantity.as_str() {
                    "fail" => verdicts.failed,
                    "partial" => verdicts.partial,
                    _ => verdicts.complete,
                })
            }
            "mean" => Found::integral(at(&GroupedPlan::all(Group::new(k(), law))).mean().unwrap().value),
            _ => None,
        }
    }

    fn hedge_deadline(&self) -> Option<Found> {
        let law = self.law()?;
        let delays = vec![law.quantile(level(self.text("hedge_after_quantile")))];
        let k = self.params["k"].as_u64().unwrap_or(1);
        let group = Group { delays, deadline: self.number("deadline"), ..Group::new(k, law) };
        Found::exactly(GroupedPlan::all(group).solve().unwrap().verdicts().failed)
    }

    fn hetero(&self) -> Option<Found> {
        let laws = self.branches()?;
        let n = laws.iter().map(|(count, _)| count).sum();
        let job = |k: u64, at_least: u64, deadline: f64| {
            let groups =
                laws.iter().map(|(count, law)| Group { required: false, ..Group::new(*count, law.clone()) });
            GroupedPlan { groups: groups.collect(), k, at_least, deadline }.solve().unwrap()
        };
        match self.quantity.as_str() {
            "quantile" => {
                let k = self.params["j"].as_u64().unwrap_or(n);
                self.job_quantile(&job(k, k, f64::INFINITY))
            }
            "mean" => Found::integral(job(n, n, f64::INFINITY).mean().unwrap().value),
            "pmf" => {
                let m = self.count("m");
                Found::at(self.number("t"), |t| {
                    if m == n {
                        job(n, n, t).verdicts().complete
                    } else {
                        job(m + 1, m, t).verdicts().partial
                    }
                })
            }
            _ => None,
        }
    }

    /// Counts and laws of a set of different branches.
    fn branches(&self) -> Option<Vec<(u64, Law)>> {
        let log_normal = |median: f64, sigma: f64| Law::log_normal(median, sigma).unwrap();
        match self.case.as_str() {
            "hetero/five_lognormals" | "required_optional/five_lognormals" => {
                Some([0.7, 0.75, 0.8, 0.85, 0.9].map(|median| (1, log_normal(median, 0.4))).to_vec())
            }
            "hetero/one_slow_of_eight" => Some(vec![(7, log_normal(1.0, 0.6)), (1, log_normal(3.0, 0.6))]),
            "hetero/groups_100" => Some(vec![
                (50, log_normal(1.0, 0.6)),
                (30, log_normal(1.0, 1.0)),
                (20, Law::exponential(1.0).unwrap()),
            ]),
            _ => None,
        }
    }

    fn required_optional(&self) -> Option<Found> {
        let groups: Vec<Group> = self
            .branches()?
            .into_iter()
            .zip(0..)
            .map(|((count, law), i)| Group { required: i < 3, ..Group::new(count, law) })
            .collect();
        let job = |k: u64, at_least: u64, deadline: f64| {
            GroupedPlan { groups: groups.clone(), k, at_least, deadline }.solve().unwrap()
        };
        match self.quantity.as_str() {
            "quantile" => self.job_quantile(&job(4, 4, f64::INFINITY)),
            "served" => {
                let verdicts = job(5, 3, self.number("deadline")).verdicts();
                Found::exactly(verdicts.complete + verdicts.partial)
            }
            "complete" => Found::exactly(job(5, 3, self.number("deadline")).verdicts().complete),
            _ => None,
        }
    }

    /// Rejected attempts with a doubling back-off: a mixture of shifted laws.
    fn retry(&self) -> Option<Found> {
        let law = self.law()?;
        let (reject, at) = (self.number("reject"), self.number("reject_at"));
        let retries = self.count("max_retries") as i32;
        let mut start = 0.0;
        let mut parts = Vec::new();
        for i in 0..=retries {
            let last = if i == retries { 1.0 } else { 1.0 - reject };
            parts.push((reject.powi(i) * last, law.shifted(start).unwrap()));
            start += at + 2.0_f64.powi(i);
        }
        let branch = Law::mixture(&parts).unwrap();
        match self.quantity.as_str() {
            "mean" => Found::integral(branch.mean().unwrap()),
            "quantile" => self.job_quantile(&all(self.count("k"), branch)),
            _ => None,
        }
    }

    fn fit(&self) -> Option<Found> {
        let quantity = self.quantity.as_str();
        match self.case.as_str() {
            "fit/third_seed_after" => {
                let law = Law::from_percentiles(&[(0.5, 0.8), (0.95, 1.5), (0.99, 2.4)]).unwrap().law;
                let shift = law.quantile(below(0.0));
                let mu = (law.quantile(Level::MEDIAN) - shift).ln();
                match quantity {
                    "shift" => Found::exactly(shift),
                    "mu" => Found::exactly(mu),
                    "sigma" => {
                        let one = normal_hazard(1.0);
                        let above = law.quantile(Level::at_hazard(one).unwrap());
                        Found::exactly((above - shift).ln() - mu)
                    }
                    "mean" => Found::integral(law.mean().unwrap()),
                    "sf" => Found::at(self.number("t"), |t| law.survival(t)),
                    "branch_miss" | "job_incomplete" => {
                        let deadline = self.number("deadline");
                        let k = if quantity == "branch_miss" { 1 } else { 5 };
                        let group = |deadline: f64| Group {
                            delays: vec![1.5],
                            deadline,
                            ..Group::new(k, law.clone())
                        };
                        Found::at(deadline, |deadline| {
                            GroupedPlan::all(group(deadline)).solve().unwrap().verdicts().failed
                        })
                    }
                    "quantile" => self.job_quantile(&all(self.count("k"), law)),
                    _ => None,
                }
            }
            "fit/third_seed_before" => {
                let body = Law::log_normal(0.7953, 0.0896).unwrap();
                let tail = Law::pareto(1.6364, 2.6552).unwrap();
                let law = Law::mixture(&[(0.95, body), (0.05, tail)]).unwrap();
                match quantity {
                    "mean" => Found::integral(law.mean().unwrap()),
                    "sf" => Found::at(self.number("t"), |t| law.survival(t)),
                    "quantile" => {
                        let k = self.params["k"].as_u64().unwrap_or(1);
                        self.job_quantile(&all(k, law))
                    }
                    _ => None,
                }
            }
            "fit/bigtable_hedge" => {
                let z = normal_quantile(above(0.02).hazard());
                let far = normal_quantile(branch_hazard(above(0.001).hazard(), 1_000, 1_000));
                let sigma = 180.0_f64.ln() / (far - z);
                let median = 10.0 / (sigma * z).exp();
                match quantity {
                    "sigma" => Found::exactly(sigma),
                    "median" => Found::exactly(median),
                    "p999_hedged" => {
                        let job = hedged(1_000, Law::log_normal(median, sigma).unwrap(), &[10.0]);
                        Found::at(0.001, |s| job.quantile(above(s)).value)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

fn negated(found: Found) -> Found {
    Found { value: -found.value, ..found }
}

fn above(s: f64) -> Level {
    Level::above(s).unwrap()
}

fn below(p: f64) -> Level {
    Level::below(p).unwrap()
}

/// The level of a decimal number, through `1 - p` (exact in decimals) above one half.
fn level(p: &str) -> Level {
    let (side, of) = small_side(p);
    of(side)
}

fn small_side(p: &str) -> (f64, fn(f64) -> Level) {
    let value: f64 = p.parse().unwrap();
    if value <= 0.5 {
        return (value, below);
    }
    let decimals = p.strip_prefix("0.").unwrap();
    let one = 10_u64.pow(decimals.len() as u32);
    ((one - decimals.parse::<u64>().unwrap()) as f64 / one as f64, above)
}

fn quantile_at(p: &str, quantile: impl Fn(Level) -> f64) -> Option<Found> {
    let (side, of) = small_side(p);
    Found::at(side, |side| quantile(of(side)))
}

fn all(n: u64, law: Law) -> JobLaw {
    GroupedPlan::all(Group::new(n, law)).solve().unwrap()
}

fn first(k: u64, n: u64, law: Law) -> JobLaw {
    GroupedPlan::first(k, Group::new(n, law)).solve().unwrap()
}

fn hedged(n: u64, law: Law, delays: &[f64]) -> JobLaw {
    GroupedPlan::all(Group { delays: delays.to_vec(), ..Group::new(n, law) }).solve().unwrap()
}
