//! Goals: what a plan has to keep.

use fantail_core::Time;

use crate::moments::Curve;
use crate::{Cancellation, DependentJob, Group, JobLaw, Level, SolveError};

/// A figure of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// A quantile of the return time, in seconds.
    Quantile(Level),
    /// The mean return time, in seconds.
    Mean,
    /// The share of complete jobs.
    Complete,
    /// The share of partial jobs.
    Partial,
    /// The share of failed jobs.
    Failed,
    /// Attempts beyond one a branch, as a share of the branches.
    ExtraRequests,
    /// Busy time relative to the same plan without copies, less one.
    ExtraBusy,
    /// What the calls of a job cost.
    Cost,
}

impl Measure {
    /// The figure of a job; `None` where there is none: no branch states a cost, or the job is busy for ever with copies
    /// and without.
    ///
    /// # Errors
    /// As for [`JobLaw::mean`] and [`JobLaw::prices`].
    pub fn of(self, job: &JobLaw) -> Result<Option<f64>, SolveError> {
        Ok(match self {
            Measure::Quantile(level) => Some(job.quantile(level).value),
            Measure::Mean => Some(job.mean()?.value),
            Measure::Complete => Some(job.verdicts().complete),
            Measure::Partial => Some(job.verdicts().partial),
            Measure::Failed => Some(job.verdicts().failed),
            Measure::ExtraRequests => Some(job.extra_requests()),
            Measure::ExtraBusy => job.prices(Cancellation::AtOnce)?.extra_busy,
            Measure::Cost => job.cost(),
        })
    }

    /// The same figure of a job whose branches depend on each other.
    ///
    /// # Errors
    /// As for [`DependentJob::mean`] and [`DependentJob::prices`].
    pub fn of_dependent(self, job: &DependentJob) -> Result<Option<f64>, SolveError> {
        let prices = || job.prices(Cancellation::AtOnce);
        Ok(match self {
            Measure::Quantile(level) => Some(job.quantile(level)?.value),
            Measure::Mean => Some(job.mean()?.value),
            Measure::Complete => Some(job.verdicts()?.complete),
            Measure::Partial => Some(job.verdicts()?.partial),
            Measure::Failed => Some(job.verdicts()?.failed),
            Measure::ExtraRequests => {
                let groups = job.plan().groups.iter().enumerate();
                let copies = |(i, group): (usize, &Group)| Ok(group.count as f64 * job.copies(i)?);
                let copies = groups.map(copies).sum::<Result<f64, SolveError>>()?;
                Some(copies / job.n() as f64)
            }
            Measure::ExtraBusy => prices()?.extra_busy,
            Measure::Cost => prices()?.cost,
        })
    }

    /// Whether less of it is better: of all but complete jobs.
    pub fn less_is_better(self) -> bool {
        self != Measure::Complete
    }

    /// The goal that the figure is this or better.
    pub fn at_worst(self, bound: f64) -> Goal {
        let relation = if self.less_is_better() { Relation::AtMost } else { Relation::AtLeast };
        Goal { measure: self, relation, bound }
    }

    /// Whether it is paid, rather than what is paid for.
    pub fn is_price(self) -> bool {
        matches!(self, Measure::ExtraRequests | Measure::ExtraBusy | Measure::Cost)
    }

    /// Whether it is a return time.
    pub fn is_time(self) -> bool {
        matches!(self, Measure::Quantile(_) | Measure::Mean)
    }
}

/// How a figure stands to its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Less than the bound.
    Below,
    /// The bound or less.
    AtMost,
    /// More than the bound.
    Above,
    /// The bound or more.
    AtLeast,
}

impl Relation {
    /// Whether the bound is one from above.
    pub fn is_upper(self) -> bool {
        matches!(self, Relation::Below | Relation::AtMost)
    }

    /// Whether the figure may be the bound itself.
    pub fn is_inclusive(self) -> bool {
        matches!(self, Relation::AtMost | Relation::AtLeast)
    }
}

/// A bound that a figure has to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// What is bounded.
    pub measure: Measure,
    /// On which side of the bound the figure has to be.
    pub relation: Relation,
    /// The bound: seconds, a share, a relative change or an amount.
    pub bound: f64,
}

/// How far a figure may be beyond a bound that it may reach, relative to the bound: delays are whole nanoseconds, so the
/// price of a copy after p95 is not 5 % to the last digit.
const ROUNDING: f64 = 1e-6;

impl Goal {
    /// Whether `figure` keeps the bound. One that may be reached leaves a millionth of it for rounding; a share leaves a
    /// millionth of what it lacks of all, so that 100 % is all of the jobs. No bound is kept by NaN.
    pub fn is_met(&self, figure: f64) -> bool {
        let scale = match self.measure {
            Measure::Complete | Measure::Partial | Measure::Failed => self.bound.min(1.0 - self.bound),
            _ => self.bound.abs(),
        };
        let rounding = ROUNDING * scale;
        match self.relation {
            Relation::Below => figure < self.bound,
            Relation::AtMost => figure <= self.bound + rounding,
            Relation::Above => figure > self.bound,
            Relation::AtLeast => figure >= self.bound - rounding,
        }
    }

    /// Whether a search can work towards it: it is one from below for complete jobs, from above for everything else.
    pub fn is_sought(&self) -> bool {
        self.relation.is_upper() == self.measure.less_is_better()
    }

    /// How far a job is from what is wanted of it: 0 at the bound, negative when it is kept. One evaluation of the job's
    /// law where the figure itself would take a search.
    pub(super) fn excess(&self, job: &JobLaw) -> Result<f64, SolveError> {
        let over = |figure: f64, bound: f64| {
            if figure == 0.0 && (bound > 0.0 || self.relation.is_inclusive()) {
                f64::NEG_INFINITY
            } else {
                libm::log(figure) - libm::log(bound)
            }
        };
        let excess = match self.measure {
            Measure::Quantile(level) => {
                // What ends at the bound itself is too late for a strict one; instants are whole nanoseconds.
                let until = if self.relation.is_inclusive() { self.bound } else { self.bound - 0.5e-9 };
                libm::log(level.hazard()) - libm::log(Curve::hazard(job, until))
            }
            Measure::Complete => {
                let verdicts = job.verdicts();
                over(verdicts.partial + verdicts.failed + verdicts.never, 1.0 - self.bound)
            }
            measure => match measure.of(job)? {
                Some(figure) if measure.is_price() => figure - self.bound,
                Some(figure) => over(figure, self.bound),
                None => f64::INFINITY,
            },
        };
        Ok(if excess.is_nan() { f64::INFINITY } else { excess })
    }

    /// The latest whole nanosecond at which a job may return and keep this bound of a time.
    pub(super) fn latest(&self) -> Time {
        let bound = Time::from_secs_f64(self.bound).unwrap_or(Time::LONGEST);
        if self.relation.is_inclusive() { bound } else { bound.saturating_sub(Time::from_nanos(1)) }
    }
}
