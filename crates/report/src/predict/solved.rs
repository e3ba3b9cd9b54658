//! The law of a job, whatever it was found by.

use std::fmt::Display;

use fantail_model::{
    Cancellation, Dependence, DependentJob, Figure, Group, GroupedPlan, JobLaw, Level, Method, Outcomes,
    SolveError, StagedJob, Tables, Verdicts,
};

use super::report::{Prices, exact};
use super::simulated::Simulated;

/// A job that was solved.
pub(super) enum Solved {
    /// Branches that start at once.
    Job(JobLaw),
    /// Those, slow together; with what else is taken for granted.
    Dependent { job: Box<DependentJob>, assumptions: Vec<String> },
    /// Branches that follow one another, and what copies cost beside time.
    Staged { job: Box<StagedJob>, prices: Result<Prices, String> },
    /// What has no exact law.
    Simulated(Box<Simulated>),
}

/// Shares of jobs by how they end.
pub(super) struct Shares {
    pub(super) complete: Figure,
    pub(super) partial: Figure,
    pub(super) failed: Figure,
    pub(super) never: Figure,
}

/// Why there is no such figure.
const NOT_COUNTED: &str = "not counted of simulated jobs";
/// Likewise.
const IN_STAGES: &str = "not computed for branches that follow one another";
/// Likewise.
const NOT_SIMULATED: &str = "not estimated from simulated jobs";

impl Solved {
    /// The law of like branches that share so much.
    pub(super) fn counted(plan: &GroupedPlan, shares: Dependence) -> Result<Solved, SolveError> {
        if shares == Dependence::NONE {
            return plan.solve().map(Solved::Job);
        }
        let job = Box::new(plan.solve_dependent(shares)?);
        Ok(Solved::Dependent { job, assumptions: Vec::new() })
    }

    /// Like branches of a plan that follow one another.
    pub(super) fn staged(job: StagedJob, plan: &GroupedPlan) -> Solved {
        Solved::Staged { job: Box::new(job), prices: in_turn(plan) }
    }

    pub(super) fn quantile(&self, level: Level) -> Result<Figure, String> {
        match self {
            Solved::Job(law) => Ok(law.quantile(level)),
            Solved::Dependent { job, .. } => job.quantile(level).map_err(text),
            Solved::Staged { job, .. } => Ok(job.quantile(level)),
            Solved::Simulated(jobs) => Ok(jobs.quantile(level)),
        }
    }

    /// The time by which all but a share of the jobs have returned.
    pub(super) fn all_but(&self, share: f64) -> f64 {
        let level = Level::above(share).expect("a share between 0 and 1");
        self.quantile(level).map_or(f64::INFINITY, |figure| figure.value)
    }

    /// The central range that holds a share of the jobs.
    pub(super) fn central(&self, share: f64) -> Result<(Figure, Figure), String> {
        let tail = 0.5 - share / 2.0;
        let from = Level::below(tail).expect("half of what a share leaves");
        let to = Level::above(tail).expect("half of what a share leaves");
        Ok((self.quantile(from)?, self.quantile(to)?))
    }

    pub(super) fn mean_and_sd(
        &self,
        tables: Option<&mut Tables>,
    ) -> (Result<Figure, String>, Result<Figure, String>) {
        match self {
            Solved::Job(law) => apart(match tables {
                Some(tables) => law.mean_and_sd_from(tables),
                None => law.mean_and_sd(),
            }),
            Solved::Dependent { job, .. } => match job.mean_and_sd() {
                Ok((mean, sd)) => (Ok(mean), Ok(sd)),
                // A tail may have a mean and next to no deviation.
                Err(reason) => (job.mean().map_err(text), Err(text(reason))),
            },
            Solved::Staged { job, .. } => (Ok(job.mean()), Ok(job.sd())),
            Solved::Simulated(jobs) => (Ok(jobs.mean()), Err(NOT_SIMULATED.to_owned())),
        }
    }

    /// How much work one evaluation at a time is, in terms of a sum.
    pub(super) fn work(&self) -> f64 {
        /// Values of what a job shares.
        const VALUES: f64 = 50.0;
        match self {
            Solved::Job(law) => law.work(),
            Solved::Dependent { job, .. } => VALUES * job.work(),
            Solved::Staged { .. } | Solved::Simulated(_) => 0.0,
        }
    }

    /// Where the density is largest; `None` where that is not computed.
    pub(super) fn mode(&self) -> Option<f64> {
        match self {
            Solved::Job(law) => Some(law.mode().value),
            Solved::Dependent { .. } | Solved::Staged { .. } | Solved::Simulated(_) => None,
        }
    }

    /// `None` where there are bounds or counts and no density.
    pub(super) fn density(&self, t: f64) -> Option<f64> {
        match self {
            Solved::Job(law) => Some(law.density(t)),
            Solved::Dependent { job, .. } => Some(job.density(t).unwrap_or(f64::NAN)),
            Solved::Staged { .. } | Solved::Simulated(_) => None,
        }
    }

    /// P(the job has returned by `t`); not a number where an integral fails.
    pub(super) fn returned(&self, t: f64) -> f64 {
        match self {
            Solved::Job(law) => law.returned(t),
            Solved::Dependent { job, .. } => job.returned(t).unwrap_or(f64::NAN),
            Solved::Staged { job, .. } => job.returned(t).value,
            Solved::Simulated(jobs) => jobs.returned(t),
        }
    }

    /// P(the job is still waiting at `t`), likewise.
    pub(super) fn waiting(&self, t: f64) -> f64 {
        match self {
            Solved::Job(law) => law.waiting(t),
            Solved::Dependent { job, .. } => job.waiting(t).unwrap_or(f64::NAN),
            Solved::Staged { job, .. } => job.waiting(t).value,
            Solved::Simulated(jobs) => 1.0 - jobs.returned(t),
        }
    }

    pub(super) fn shares(&self) -> Result<Shares, String> {
        match self {
            Solved::Job(law) => Ok(law.verdicts().into()),
            Solved::Dependent { job, .. } => job.verdicts().map(Shares::from).map_err(text),
            Solved::Staged { job, .. } => {
                let verdicts = job.verdicts();
                Ok(Shares {
                    complete: verdicts.complete,
                    partial: verdicts.partial,
                    failed: verdicts.failed,
                    never: exact(verdicts.never),
                })
            }
            Solved::Simulated(jobs) => Ok(jobs.shares()),
        }
    }

    /// The prices, when losers stop like that; from and into tables, where there are.
    pub(super) fn prices(
        &self,
        cancellation: Cancellation,
        tables: Option<&mut Tables>,
    ) -> Result<Prices, String> {
        match self {
            Solved::Job(law) => {
                let prices = match tables {
                    Some(tables) => law.prices_from(cancellation, tables),
                    None => law.prices(cancellation),
                };
                prices.map(Prices::from).map_err(text)
            }
            Solved::Dependent { job, .. } => match job.prices(cancellation) {
                Ok(prices) => Ok(prices.into()),
                // How many calls there are takes no integral over time.
                Err(reason) => {
                    let extra_requests = job.extra_requests().map(exact).map_err(text)?;
                    Ok(Prices { extra_requests, extra_busy: Err(text(reason)), cost: None })
                }
            },
            Solved::Staged { prices, .. } => prices.clone(),
            // What losers do is the scenario's.
            Solved::Simulated(jobs) => Ok(jobs.prices()),
        }
    }

    /// Whether credit of so much for each answered primary is enough for all copies after a delay.
    pub(super) fn is_payable(&self, share: f64) -> bool {
        match self {
            Solved::Job(law) => law.is_payable(share),
            Solved::Dependent { job, .. } => job.is_payable(share).unwrap_or(false),
            Solved::Staged { .. } | Solved::Simulated(_) => true,
        }
    }

    /// P(the job sends a copy).
    pub(super) fn sends_copy(&self) -> Result<Figure, String> {
        match self {
            // Adding zero makes a zero of a negative one, which an empty sum is.
            Solved::Job(law) => Ok(exact(law.sends_copy() + 0.0)),
            Solved::Dependent { job, .. } => job.sends_copy().map(|share| exact(share + 0.0)).map_err(text),
            Solved::Staged { prices: Ok(prices), .. } if prices.extra_requests.value == 0.0 => Ok(exact(0.0)),
            Solved::Staged { .. } => Err(IN_STAGES.to_owned()),
            Solved::Simulated(jobs) => Ok(jobs.sends_copy()),
        }
    }

    /// Copies per primary, where they are known without an integral over time.
    pub(super) fn extra_requests(&self) -> Option<f64> {
        match self {
            Solved::Job(law) => Some(law.extra_requests()),
            Solved::Dependent { job, .. } => job.extra_requests().ok(),
            Solved::Staged { prices, .. } => Some(prices.as_ref().ok()?.extra_requests.value),
            Solved::Simulated(_) => None,
        }
    }

    /// P(a job meets a branch among that branch's slowest `share`), where branches are slow together.
    pub(super) fn meets_slow_branch(&self, share: f64) -> Option<f64> {
        match self {
            Solved::Dependent { job, .. } => job.meets_slow_branch(share).ok(),
            Solved::Job(_) | Solved::Staged { .. } | Solved::Simulated(_) => None,
        }
    }

    /// What becomes of one branch of a group.
    pub(super) fn outcomes(&self, group: usize) -> Result<Outcomes, String> {
        match self {
            Solved::Job(law) => law.outcomes(group).map_err(text),
            Solved::Dependent { job, .. } => job.outcomes(group).map_err(text),
            Solved::Staged { .. } => Err(IN_STAGES.to_owned()),
            Solved::Simulated(_) => Err(NOT_COUNTED.to_owned()),
        }
    }

    pub(super) fn assumptions(&self) -> Vec<String> {
        let (found, more) = match self {
            Solved::Job(law) => (law.assumptions(), &[][..]),
            Solved::Dependent { job, assumptions } => (job.assumptions(), assumptions.as_slice()),
            Solved::Staged { job, .. } => (job.assumptions(), &[][..]),
            Solved::Simulated(jobs) => (&[][..], jobs.assumptions.as_slice()),
        };
        found.iter().map(ToString::to_string).chain(more.iter().cloned()).collect()
    }
}

impl From<Verdicts> for Shares {
    fn from(verdicts: Verdicts) -> Shares {
        let figure = |value| Figure { value, method: verdicts.method };
        Shares {
            complete: figure(verdicts.complete),
            partial: figure(verdicts.partial),
            failed: figure(verdicts.failed),
            never: exact(verdicts.never),
        }
    }
}

/// The prices of branches that follow one another: those of branches that start at once, where nothing but its own answer ends
/// one. Each branch that starts sends the copies of a race, whatever ends it.
fn in_turn(plan: &GroupedPlan) -> Result<Prices, String> {
    let plain = Prices { extra_requests: exact(0.0), extra_busy: Ok(exact(0.0)), cost: None };
    let bounded = |group: &Group| group.deadline.is_finite() || group.attempt_timeout.is_finite();
    match plan.groups.as_slice() {
        _ if !plan.has_copies() => Ok(plain),
        [group] if plan.deadline.is_infinite() && !bounded(group) => {
            let one = GroupedPlan::all(Group { count: 1, required: true, ..group.clone() });
            let prices = one.solve().and_then(|job| job.prices(Cancellation::AtOnce)).map_err(text)?;
            Ok(Prices::from(prices))
        }
        [group] if group.min_useful == 0.0 && group.delays.iter().all(|delay| *delay == 0.0) => {
            let extra_requests = exact(group.delays.len() as f64);
            Ok(Prices { extra_requests, extra_busy: Err(IN_STAGES.to_owned()), ..plain })
        }
        _ => Err(IN_STAGES.to_owned()),
    }
}

/// The word for a method.
pub fn word(method: Method) -> &'static str {
    match method {
        Method::Exact => "exact",
        Method::Bounded { .. } => "bounded",
        Method::Simulated { .. } => "simulated",
        _ => "not exact",
    }
}

/// Both of a pair, or for each why there is none.
fn apart(both: Result<(Figure, Figure), impl Display>) -> (Result<Figure, String>, Result<Figure, String>) {
    let both = both.map_err(text);
    (both.clone().map(|both| both.0), both.map(|both| both.1))
}

fn text(error: impl Display) -> String {
    error.to_string()
}
