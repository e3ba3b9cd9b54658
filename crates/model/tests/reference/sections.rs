//! How each section of the reference file is read from the model.

use fantail_model::special::{barrier_hazard, branch_hazard, erfcx, normal_hazard, normal_quantile};
use fantail_model::{
    Asymptotes, Cancellation, Dependence, Group, GroupedPlan, JobLaw, Law, Level, Regimes, Stage,
};

use super::Found;
use super::row::{Row, above, all, below, first, hedged, level, quantile_at};

impl Row {
    pub(crate) fn evaluate(&self) -> Option<Found> {
        match self.case.split('/').next().unwrap() {
            "normal" => self.normal(),
            "betai" => Some(self.betai()),
            "gumbel" => self.gumbel(),
            "seed_interactive" => self.interactive(),
            "seed_barrier_article" | "seed_document_article" => self.articles(),
            "max" => self.max(),
            "orderstat" | "barrier" => self.order_statistic(),
            "hedge_at_once" => self.hedge_at_once(),
            "hedge_after" | "hedge_staged" => self.hedge_after(),
            "single_r" | "restart_after" => self.second_attempt(),
            "deadline" => self.deadline(),
            "hedge_deadline" => self.hedge_deadline(),
            "deadline_for_completeness" => {
                let job = all(self.count("k"), self.law()?);
                Some(quantile_at(self.text("c"), |level| job.complete_quantile(level).value))
            }
            "hetero" => self.hetero(),
            "required_optional" => self.required_optional(),
            "correlated" => Some(self.correlated()),
            "retry" => self.retry(),
            "batch" => {
                // A batch of b is one gamma: a sum of gammas of one scale adds their shapes.
                let batch = Law::gamma(2.0 * self.count("b") as f64, 0.5).unwrap();
                Some(self.job_quantile(&all(self.count("k"), batch)))
            }
            "hierarchy" => Some(self.hierarchy()),
            "fit" => self.fit(),
            _ => None,
        }
    }

    fn normal(&self) -> Option<Found> {
        Some(match self.quantity.as_str() {
            "z" => Found::exactly(normal_quantile(above(self.number("s")).hazard())),
            "log_sf" => Found::exactly(-normal_hazard(self.number("z"))),
            "log_cdf" => Found::exactly(-normal_hazard(-self.number("z"))),
            "erfcx" => Found::exactly(erfcx(self.number("x"))),
            _ => return None,
        })
    }

    fn betai(&self) -> Found {
        let (j, n) = (self.count("j"), self.count("n"));
        Found::at(self.number("x"), |x| {
            Level::at_hazard(barrier_hazard(below(x).hazard(), j, n)).unwrap().p()
        })
    }

    fn gumbel(&self) -> Option<Found> {
        let slowest = Asymptotes::of_normal(self.count("k")).unwrap();
        Some(match self.quantity.as_str() {
            "mean" => Found::integral(slowest.mean.exact),
            "median" => Found::exactly(slowest.median.exact),
            "b_leading" => Found::exactly(slowest.leading),
            "b_second" => Found::exactly(slowest.second),
            "b_exact" => Found::exactly(slowest.centre),
            "gumbel_mean_textbook" => Found::exactly(slowest.mean.textbook),
            "gumbel_mean_exact_constants" => Found::exactly(slowest.mean.gumbel),
            "gumbel_median_exact_constants" => Found::exactly(slowest.median.gumbel),
            _ => return None,
        })
    }

    fn interactive(&self) -> Option<Found> {
        let quantile = |job: JobLaw, s: f64| Found::at(s, |s| job.quantile(above(s)).value);
        let k = || self.count("k");
        let p95 = || self.law().unwrap().quantile(above(0.05));
        Some(match self.text("id") {
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
            _ => return None,
        })
    }

    fn articles(&self) -> Option<Found> {
        let job = |k: u64| all(k, Law::exponential(1.0).unwrap());
        let level = |p: f64| Level::at_hazard(branch_hazard(above(1.0 - p).hazard(), 5, 5)).unwrap().p();
        // A tenth of sigma, at a distance from the median in standard deviations.
        let tenth = |z: f64| {
            let level = Level::at_hazard(normal_hazard(z)).unwrap();
            Law::log_normal(1.0, 0.1).unwrap().quantile(level)
        };
        Some(match self.text("id") {
            "sqrt_2_ln_k" => Found::exactly(Asymptotes::of_normal(self.count("k")).unwrap().leading),
            "exp_043" => Found::exactly(tenth(4.3)),
            "exp_01" => Found::exactly(tenth(1.0)),
            "sigma_cut_factor" => {
                let median = |sigma: f64| {
                    all(self.count("k"), Law::log_normal(1.0, sigma).unwrap()).quantile(Level::MEDIAN).value
                };
                Found::exactly(median(1.0) / median(0.9))
            }
            "branch_level" => Found::exactly(level(0.99)),
            "median_level" => Found::exactly(level(0.5)),
            "incomplete_5" | "incomplete_10" => Found::exactly(job(self.count("k")).meets_slow_branch(0.01)),
            "speedup" => {
                let median = |seconds: f64| Law::log_normal(seconds, 0.5).unwrap().quantile(Level::MEDIAN);
                Found::exactly(median(4.0) / median(0.9))
            }
            "hedge_miss_claim" => {
                // With 1.5 s, the p95, left for the copy at a deadline at the p99.
                let law = Law::from_percentiles(&[(0.95, 1.5), (0.99, 2.5)]).unwrap().law;
                let group = Group { delays: vec![1.0], deadline: 2.5, ..Group::new(1, law) };
                Found::exactly(GroupedPlan::all(group).solve().unwrap().verdicts().failed)
            }
            "incomplete_5_p95" => Found::exactly(job(5).meets_slow_branch(0.05)),
            _ => return None,
        })
    }

    fn max(&self) -> Option<Found> {
        let law = self.law()?;
        if self.quantity == "log_sf" {
            return Some(Found::at(self.number("x"), |x| law.ln_survival(x)));
        }
        let k = self.count("k");
        let job = all(k, law.clone());
        Some(match self.quantity.as_str() {
            "quantile" => self.job_quantile(&job),
            "mean" => Found::integral(job.mean().unwrap().value),
            "sd" => Found::integral(job.sd().unwrap().value),
            "cdf" => Found::at(self.number("x"), |x| job.returned(x)),
            "sf" => Found::at(self.number("x"), |x| job.waiting(x)),
            "pdf" => Found::at(self.number("x"), |x| {
                k as f64 * ((k - 1) as f64 * law.ln_cdf(x)).exp() * law.pdf(x)
            }),
            _ => return None,
        })
    }

    fn order_statistic(&self) -> Option<Found> {
        let law = self.law()?;
        if self.quantity == "limit" {
            return Some(Found::exactly(law.quantile(below(self.number("fraction")))));
        }
        let n = self.params["n"].as_u64().unwrap_or_else(|| self.count("k"));
        let job = first(self.count("j"), n, law);
        Some(match self.quantity.as_str() {
            "quantile" => self.job_quantile(&job),
            "mean" => Found::integral(job.mean().unwrap().value),
            "sd" => Found::integral(job.sd().unwrap().value),
            _ => return None,
        })
    }

    fn hedge_at_once(&self) -> Option<Found> {
        let delays = vec![0.0; self.count("r") as usize - 1];
        let job = |k: u64| hedged(k, self.law().unwrap(), &delays);
        Some(match self.quantity.as_str() {
            "quantile" => self.job_quantile(&job(self.count("k"))),
            "mean" => Found::integral(job(self.count("k")).mean().unwrap().value),
            "copy_seconds" => Found::integral(job(1).prices(Cancellation::AtOnce).unwrap().busy),
            _ => return None,
        })
    }

    fn hedge_after(&self) -> Option<Found> {
        let law = self.law()?;
        let delays = if self.case.starts_with("hedge_staged") {
            vec![law.quantile(above(0.1)), law.quantile(above(0.01))]
        } else {
            vec![law.quantile(level(self.text("hedge_after_quantile")))]
        };
        let job = |k: u64| hedged(k, law.clone(), &delays);
        Some(match self.quantity.as_str() {
            "delay" => Found::exactly(delays[0]),
            "extra_calls" => Found::exactly(job(1).prices(Cancellation::AtOnce).unwrap().extra_requests),
            "quantile" => self.job_quantile(&job(self.count("k"))),
            "job_hedge_prob" => Found::exactly(job(self.count("k")).sends_copy()),
            "mean" => Found::integral(job(self.count("k")).mean().unwrap().value),
            "copy_seconds_cancel" => Found::integral(job(1).prices(Cancellation::AtOnce).unwrap().busy),
            "copy_seconds_no_cancel" => {
                let prices = job(1).prices(Cancellation::AtOnce).unwrap();
                Found::integral((prices.primaries + prices.copies) * law.mean().unwrap())
            }
            "extra_copy_seconds_cancel" => {
                let job = job(1);
                Found::integral(job.prices(Cancellation::AtOnce).unwrap().busy - job.mean().unwrap().value)
            }
            _ => return None,
        })
    }

    /// A copy that starts with a probability only, and one in place of the primary.
    fn second_attempt(&self) -> Option<Found> {
        let law = self.law()?;
        let delay = law.quantile(level(self.text("hedge_after_quantile")));
        let branch = if self.case.starts_with("single_r") {
            law.hedged_sometimes(delay, self.number("q"))
        } else {
            law.restarted(delay)
        };
        Some(self.job_quantile(&all(self.count("k"), branch.unwrap())))
    }

    fn deadline(&self) -> Option<Found> {
        let (law, deadline) = (self.law()?, self.number("deadline"));
        let at = |plan: &GroupedPlan| GroupedPlan { deadline, ..plan.clone() }.solve().unwrap();
        let k = || self.count("k");
        let optional = |count: u64| Group { required: false, ..Group::new(count, law.clone()) };
        Some(match self.quantity.as_str() {
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
            _ => return None,
        })
    }

    fn hedge_deadline(&self) -> Option<Found> {
        let law = self.law()?;
        let delays = vec![law.quantile(level(self.text("hedge_after_quantile")))];
        let k = self.params["k"].as_u64().unwrap_or(1);
        let group = Group { delays, deadline: self.number("deadline"), ..Group::new(k, law) };
        Some(Found::exactly(GroupedPlan::all(group).solve().unwrap().verdicts().failed))
    }

    fn hetero(&self) -> Option<Found> {
        let laws = self.branches()?;
        let n = laws.iter().map(|(count, _)| count).sum();
        let job = |k: u64, at_least: u64, deadline: f64| {
            let groups =
                laws.iter().map(|(count, law)| Group { required: false, ..Group::new(*count, law.clone()) });
            GroupedPlan { groups: groups.collect(), k, at_least, deadline }.solve().unwrap()
        };
        Some(match self.quantity.as_str() {
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
            _ => return None,
        })
    }

    /// Counts and laws of a set of different branches.
    fn branches(&self) -> Option<Vec<(u64, Law)>> {
        let log_normal = |median: f64, sigma: f64| Law::log_normal(median, sigma).unwrap();
        match self.case.as_str() {
            "hetero/five_lognormals" | "required_optional/five_lognormals" => {
                Some([0.7, 0.75, 0.8, 0.85, 0.9].map(|median| (1, log_normal(median, 0.4))).to_vec())
            }
            "hetero/one_slow_of_eight" => Some(vec![(7, log_normal(1.0, 0.6)), (1, log_normal(3.0, 0.6))]),
            "hetero/mixed_families" => Some(vec![
                (1, log_normal(1.0, 0.6)),
                (1, Law::exponential(1.0).unwrap()),
                (1, Law::weibull(0.7, 1.0).unwrap()),
                (1, Law::pareto(1.0, 2.5).unwrap()),
                (1, Law::gamma(2.0, 0.5).unwrap()),
            ]),
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
        Some(match self.quantity.as_str() {
            "quantile" => self.job_quantile(&job(4, 4, f64::INFINITY)),
            "served" => {
                let verdicts = job(5, 3, self.number("deadline")).verdicts();
                Found::exactly(verdicts.complete + verdicts.partial)
            }
            "complete" => Found::exactly(job(5, 3, self.number("deadline")).verdicts().complete),
            _ => return None,
        })
    }

    fn correlated(&self) -> Found {
        let (k, sigma) = (self.count("k"), self.number("sigma"));
        let law = |median: f64| Law::log_normal(median, sigma).unwrap();
        if self.case.contains("common_shock") {
            let shock = self.number("eps");
            let parts = [(1.0 - shock, all(k, law(1.0))), (shock, all(k, law(self.number("factor"))))];
            let job = Regimes::new(&parts).unwrap();
            self.quantile(|level| job.quantile(level).value)
        } else {
            let dependence = Dependence::new(self.number("rho"), 0.0).unwrap();
            let job = GroupedPlan::all(Group::new(k, law(1.0))).solve_dependent(dependence).unwrap();
            self.quantile(|level| job.quantile(level).unwrap().value)
        }
    }

    /// Rejected attempts with a doubling back-off: a mixture of shifted laws.
    fn retry(&self) -> Option<Found> {
        let law = self.law()?;
        let (reject, at) = (self.number("reject"), self.number("reject_at"));
        let retries = self.count("max_retries") as i32;
        let mut start = 0.0;
        let mut parts = Vec::new();
        let mut attempts = 0.0;
        for i in 0..=retries {
            let last = if i == retries { 1.0 } else { 1.0 - reject };
            parts.push((reject.powi(i) * last, law.shifted(start).unwrap()));
            attempts += reject.powi(i);
            start += at + 2.0_f64.powi(i);
        }
        let branch = Law::mixture(&parts).unwrap();
        Some(match self.quantity.as_str() {
            "mean" => Found::integral(branch.mean().unwrap()),
            "attempts" => Found::exactly(attempts),
            "quantile" => self.job_quantile(&all(self.count("k"), branch)),
            _ => return None,
        })
    }

    fn hierarchy(&self) -> Found {
        let leaf = Law::exponential(1.0).unwrap();
        if self.text("shape") == "flat" {
            return self.job_quantile(&all(1_024, leaf));
        }
        let own = Stage::branch(Law::exponential(0.1).unwrap());
        let tree = Stage::tree(&[(1_024, Stage::branch(leaf))], 32, Some(&own)).unwrap();
        Found::within(tree.solve().quantile(level(self.text("p"))))
    }

    fn fit(&self) -> Option<Found> {
        let quantity = self.quantity.as_str();
        Some(match self.case.as_str() {
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
                    _ => return None,
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
                    _ => return None,
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
                    _ => return None,
                }
            }
            _ => return None,
        })
    }
}
