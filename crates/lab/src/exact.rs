//! Exact laws, read off at the places that the page draws.

use fantail_model::Level;
use fantail_model::special::branch_hazard;
use fantail_report::predict::{Figures, Report};
use serde::Serialize;

/// The exact law of every plan of a state. What is not known of a plan is NaN.
pub struct Exact {
    report: Report,
}

/// What becomes of like branches: shares of jobs, which add up to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BranchShares {
    /// How many branches they are.
    pub count: u64,
    /// Whether a result has to hold them.
    pub required: bool,
    /// Of each, or `None` and why.
    pub shares: Option<Shares>,
    /// Why there are none.
    pub why: Option<String>,
}

/// Shares of jobs by what becomes of one branch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shares {
    /// It answers.
    pub answered: f64,
    /// All its attempts end without an answer.
    pub failed: f64,
    /// The deadline cuts it.
    pub missed: f64,
    /// The barrier is met without it.
    pub unneeded: f64,
    /// The job fails while it runs.
    pub cancelled: f64,
    /// It never ends.
    pub never: f64,
}

/// What simulated figures lie between in 19 of 20 runs, each end missed in one of 40.
const MISS: f64 = 0.025;

impl Exact {
    pub(crate) fn new(report: Report) -> Exact {
        Exact { report }
    }

    fn figures(&self, plan: usize) -> Option<&Figures> {
        self.report.strategies.get(plan)?.outlook.as_ref().ok()
    }

    fn at(&self, plan: usize, places: &[f64], read: impl Fn(&Figures, f64) -> f64) -> Vec<f64> {
        let figures = self.figures(plan);
        places.iter().map(|&place| figures.map_or(f64::NAN, |figures| read(figures, place))).collect()
    }

    /// P(a job of the plan has returned) at these times in seconds.
    pub fn returned(&self, plan: usize, times: &[f64]) -> Vec<f64> {
        self.at(plan, times, Figures::returned)
    }

    /// P(a job of the plan is still waiting) at these times in seconds, precise however small.
    pub fn waiting(&self, plan: usize, times: &[f64]) -> Vec<f64> {
        self.at(plan, times, Figures::waiting)
    }

    /// The density of its return time, per second.
    pub fn density(&self, plan: usize, times: &[f64]) -> Vec<f64> {
        self.at(plan, times, |figures, t| figures.density(t).unwrap_or(f64::NAN))
    }

    /// The times in seconds at which these shares of jobs are still waiting.
    pub fn times(&self, plan: usize, waiting: &[f64]) -> Vec<f64> {
        self.at(plan, waiting, |figures, share| {
            Level::above(share).map_or(f64::NAN, |level| time(figures, level))
        })
    }

    /// Where the times of [`Runner::times`](crate::Runner::times) lie in 19 of 20 runs of so many jobs: a lower and an
    /// upper end for each share. The one of rank `r` among `n` independent jobs is late as the `r`-th of `n` branches is.
    #[expect(clippy::missing_panics_doc, reason = "the levels are shares")]
    pub fn band(&self, plan: usize, jobs: u64, waiting: &[f64]) -> Vec<f64> {
        let Some(figures) = self.figures(plan).filter(|_| jobs > 0) else {
            return vec![f64::NAN; 2 * waiting.len()];
        };
        let end = |rank: u64, level: Level| {
            let hazard = branch_hazard(level.hazard(), rank, jobs);
            Level::at_hazard(hazard).map_or(f64::NAN, |level| time(figures, level))
        };
        let ends = [Level::below(MISS), Level::above(MISS)].map(|level| level.expect("a share"));
        let ranks = waiting.iter().map(|share| rank(*share, jobs));
        ranks.flat_map(|rank| ends.map(|level| end(rank, level))).collect()
    }

    /// What becomes of the branches of a plan, like ones together.
    pub fn branches(&self, plan: usize) -> Vec<BranchShares> {
        let Some(strategy) = self.report.strategies.get(plan) else { return Vec::new() };
        let of = |(index, group): (usize, &fantail_model::Group)| {
            let shares = match &strategy.outlook {
                Ok(figures) => figures.outcomes(index),
                Err(reasons) => Err(reasons.join("; ")),
            };
            let found = |found: &fantail_model::Outcomes| Shares {
                answered: found.answered,
                failed: found.failed,
                missed: found.missed,
                unneeded: found.unneeded,
                cancelled: found.cancelled,
                never: found.never,
            };
            BranchShares {
                count: group.count,
                required: group.required,
                shares: shares.as_ref().ok().map(found),
                why: shares.err(),
            }
        };
        strategy.plan.groups.iter().enumerate().map(of).collect()
    }
}

fn time(figures: &Figures, level: Level) -> f64 {
    figures.quantile(level).map_or(f64::NAN, |figure| figure.value)
}

/// The rank, from 1, of the return time after which that share of `jobs` is still waiting.
pub(crate) fn rank(waiting: f64, jobs: u64) -> u64 {
    let later = (waiting * jobs as f64 * (1.0 + 8.0 * f64::EPSILON)).floor() as u64;
    jobs.saturating_sub(later).clamp(1, jobs.max(1))
}
