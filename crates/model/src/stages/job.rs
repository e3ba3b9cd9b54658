//! A job in stages that may have to end before them.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::{Stage, StagedLaw};
use crate::{Assumption, Figure, Level};

/// A job in stages, with a deadline.
///
/// ```
/// use fantail_model::{Law, Level, Stage, StagedPlan};
///
/// // Five calls one after another, of which three are enough at the deadline.
/// let call = Stage::branch(Law::log_normal(0.8, 0.4)?);
/// let plan = StagedPlan {
///     stage: Stage::then(&[(5, call.clone())])?,
///     least: Some(Stage::then(&[(3, call)])?),
///     deadline: 5.0,
/// };
/// let job = plan.solve();
/// let verdicts = job.verdicts();
/// assert_eq!(format!("{:.2} {:.2}", verdicts.complete.value, verdicts.partial.value), "0.81 0.19");
/// assert_eq!(job.quantile(Level::above(0.01)?).value, 5.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StagedPlan {
    /// What the job waits for.
    pub stage: Stage,
    /// What must have ended by the deadline for a partial result: a first part of `stage`. `None` when there is none.
    pub least: Option<Stage>,
    /// When the job gives up, in seconds from its start; infinite for never, and negative counts as 0.
    pub deadline: f64,
}

/// The law of a job in stages: each figure is between two bounds, as those of [`StagedLaw`] are.
#[derive(Clone, Debug)]
pub struct StagedJob {
    whole: Arc<StagedLaw>,
    least: Option<Arc<StagedLaw>>,
    deadline: f64,
    assumptions: Vec<Assumption>,
}

/// Shares of jobs by how they end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StagedVerdicts {
    /// All that it waits for came in time.
    pub complete: Figure,
    /// Only the least came in time.
    pub partial: Figure,
    /// Less than that.
    pub failed: Figure,
    /// Never end: an answer never comes and no deadline stops the wait.
    pub never: f64,
}

impl StagedPlan {
    /// A job that waits for a stage, however long it takes.
    pub fn new(stage: Stage) -> StagedPlan {
        StagedPlan { stage, least: None, deadline: f64::INFINITY }
    }

    /// The law of the job, in milliseconds to seconds: see [`Stage::solve`].
    pub fn solve(&self) -> StagedJob {
        self.solve_within(1.0)
    }

    /// The same with a share of the work: see [`Stage::solve_within`].
    pub fn solve_within(&self, share: f64) -> StagedJob {
        StagedJob {
            whole: Arc::new(self.stage.solve_within(share)),
            least: self.least.as_ref().map(|least| Arc::new(least.solve_within(share))),
            deadline: self.deadline.max(0.0),
            assumptions: vec![Assumption::Independent],
        }
    }
}

impl StagedJob {
    /// The law of what the job waits for, were there no deadline.
    pub fn whole(&self) -> &StagedLaw {
        &self.whole
    }

    /// The same job with another deadline, for nothing: see [`StagedPlan::deadline`].
    #[must_use]
    pub fn with_deadline(&self, deadline: f64) -> StagedJob {
        StagedJob { deadline: deadline.max(0.0), ..self.clone() }
    }

    /// What the figures take for granted.
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }

    pub(super) fn assume(&mut self, assumptions: Vec<Assumption>) {
        self.assumptions.extend(assumptions);
    }

    /// P(the job has ended complete by `t`).
    pub fn complete(&self, t: f64) -> Figure {
        self.whole.ended(t.min(self.deadline))
    }

    /// P(the job has returned by `t`).
    pub fn returned(&self, t: f64) -> Figure {
        if self.is_over(t) { Figure::exact(1.0) } else { self.whole.ended(t) }
    }

    /// P(the job is still waiting at `t`), with relative precision far into the tail.
    pub fn waiting(&self, t: f64) -> Figure {
        if self.is_over(t) { Figure::exact(0.0) } else { self.whole.open(t) }
    }

    /// The return time at a level, whatever the verdict; infinite when fewer jobs ever return.
    pub fn quantile(&self, level: Level) -> Figure {
        let (lower, upper) = self.whole.times(level);
        Figure::between(lower.min(self.deadline), upper.min(self.deadline))
    }

    /// The time by which a share of *all* jobs is complete; infinite when fewer ever are.
    pub fn complete_quantile(&self, level: Level) -> Figure {
        let (lower, upper) = self.whole.times(level);
        let in_time = |t: f64| if t <= self.deadline { t } else { f64::INFINITY };
        Figure::between(in_time(lower), in_time(upper))
    }

    /// Mean return time; infinite when a job may never return or a tail is too heavy. Exact for sums of calls without a
    /// deadline.
    pub fn mean(&self) -> Figure {
        let (lower, upper) = self.whole.means(self.deadline);
        Figure::between(lower, upper)
    }

    /// Standard deviation of the return time, likewise.
    pub fn sd(&self) -> Figure {
        let (lower, upper) = self.whole.variances(self.deadline);
        Figure::between(libm::sqrt(lower), libm::sqrt(upper))
    }

    /// How jobs end.
    pub fn verdicts(&self) -> StagedVerdicts {
        if self.deadline.is_infinite() {
            let never = self.whole.never();
            let (complete, none) = (Figure::exact(1.0 - never), Figure::exact(0.0));
            return StagedVerdicts { complete, partial: none, failed: none, never };
        }
        // The whole comes with the least or after it.
        let whole = self.whole.hazards(self.deadline);
        let least = self.least.as_ref().map_or(whole, |least| least.hazards(self.deadline));
        let by = |h: f64| -libm::expm1(-h);
        let partial = if self.least.is_some() {
            let most = libm::exp(-whole.0) - libm::exp(-least.1);
            Figure::between((libm::exp(-whole.1) - libm::exp(-least.0)).max(0.0), most.max(0.0))
        } else {
            Figure::exact(0.0)
        };
        StagedVerdicts {
            complete: Figure::between(by(whole.0), by(whole.1)),
            partial,
            failed: Figure::between(libm::exp(-least.1), libm::exp(-least.0)),
            never: 0.0,
        }
    }

    fn is_over(&self, t: f64) -> bool {
        t >= self.deadline && t.is_finite()
    }
}
