//! Jobs whose branches are slow together.
//!
//! | symbol | meaning |
//! |---|---|
//! | J, B, L | standard normals of the job, of one branch, of one attempt (luck) |
//! | `ρ_J`, `ρ_B`, `ρ_L` | their shares, which sum to 1 |
//! | Z | `√ρ_J J + √ρ_B B + √ρ_L L`, standard normal |
//! | Q, Φ | quantile of an attempt's law, cdf of the standard normal |
//! | T | `Q(Φ(Z))`, the attempt's latency: its law is what it was at any shares |
//! | k of n | how many of the alike branches the job waits for |
//!
//! This is a Gaussian copula (Li, Journal of Fixed Income 9, 2000) with a factor structure (Vasicek, Risk 15, 2002): given
//! J the branches are independent, given J and B the copies are. Branches of a job share J, copies of a branch J and B;
//! luck is all that a copy can buy back.

mod factors;
mod regimes;

pub use regimes::Regimes;

use alloc::format;
use alloc::vec::Vec;
use core::cell::Cell;

use crate::moments::{self, Curve};
use crate::numeric::time_at;
use crate::solve::schedule;
use crate::{Figure, Group, GroupedPlan, Law, LawError, Level, SolveError};
use factors::Factors;

/// How much of an attempt's latency is shared: the job's share, and the branch's; the rest is luck.
///
/// ```
/// use fantail_model::Dependence;
///
/// let shared = Dependence::new(0.2, 0.3)?;
/// assert_eq!(shared.luck(), 0.5);
/// assert!(Dependence::new(0.8, 0.3).is_err());
/// # Ok::<(), fantail_model::SolveError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dependence {
    job: f64,
    branch: f64,
    luck: f64,
}

/// Less luck than this is the rounding of shares that sum to 1.
const NO_LUCK: f64 = 1e-15;

impl Dependence {
    /// Branches and copies that have nothing in common.
    pub const NONE: Dependence = Dependence { job: 0.0, branch: 0.0, luck: 1.0 };

    /// Shares of the variance of Z, each from 0 to 1 and together at most 1: of the job, which all its attempts have in
    /// common, and of the branch, which its copies have in common.
    ///
    /// # Errors
    /// [`SolveError::OutOfRange`] for a share or a sum out of its range.
    pub fn new(job: f64, branch: f64) -> Result<Dependence, SolveError> {
        for (field, value) in [("job share", job), ("branch share", branch)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(SolveError::OutOfRange { field, value, bound: "from 0 to 1".into() });
            }
        }
        let luck = 1.0 - job - branch;
        if luck < -NO_LUCK {
            let bound = format!("at most 1 with the job share, {job}");
            return Err(SolveError::OutOfRange { field: "branch share", value: branch, bound });
        }
        Ok(Dependence { job, branch, luck: if luck < NO_LUCK { 0.0 } else { luck } })
    }

    /// `ρ_J`, 0 to 1.
    pub fn job(self) -> f64 {
        self.job
    }

    /// `ρ_B`, 0 to 1.
    pub fn branch(self) -> f64 {
        self.branch
    }

    /// `ρ_L`, 0 to 1.
    pub fn luck(self) -> f64 {
        self.luck
    }
}

/// The exact law of a job of alike branches that are slow together: its return time, in seconds from its start.
///
/// ```
/// use fantail_model::{Dependence, Group, GroupedPlan, Law, Level};
///
/// let call = Law::log_normal(1.0, 0.6)?;
/// let plan = GroupedPlan::all(Group::new(100, call));
/// let p99 = Level::above(0.01)?;
/// let alone = plan.solve()?.quantile(p99).value;
/// let together = plan.solve_dependent(Dependence::new(0.5, 0.0)?)?.quantile(p99)?.value;
/// assert_eq!(format!("{alone:.2} {together:.2}"), "9.31 8.61");
/// # Ok::<(), fantail_model::SolveError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DependentJob {
    factors: Factors,
    /// Of one attempt, cut by its time-out.
    attempt: Law,
    /// When attempts start while none has answered.
    starts: Vec<f64>,
    /// When the job has certainly returned.
    end: f64,
    k: u64,
    n: u64,
}

/// Each evaluation at a given J sums up to `9 √n` terms when k is neither 1 nor n.
const MOST_BRANCHES_BELOW_ALL: u64 = 1_000_000;
/// Each evaluation at a given J and B takes one normal tail an attempt.
const MOST_COPIES: usize = 16;

impl GroupedPlan {
    /// The law of this plan's job when its branches are alike and depend on each other.
    ///
    /// # Errors
    /// [`SolveError::OutOfRange`] for a number that makes no plan; [`SolveError::TooLarge`] for more than one group, more
    /// than 16 copies of a branch, or more than 10^6 branches under a barrier below all.
    pub fn solve_dependent(&self, dependence: Dependence) -> Result<DependentJob, SolveError> {
        let independent = self.solve()?;
        let [group] = self.groups.as_slice() else {
            let value = self.groups.len() as f64;
            return Err(SolveError::TooLarge { what: "groups of dependent branches", value, bound: 1.0 });
        };
        let n = independent.n();
        let k = if group.required { n } else { self.k };
        if k > 1 && k < n && n > MOST_BRANCHES_BELOW_ALL {
            return Err(SolveError::TooLarge {
                what: "dependent branches under a barrier below all",
                value: n as f64,
                bound: MOST_BRANCHES_BELOW_ALL as f64,
            });
        }
        DependentJob::new(group, self.deadline, dependence, k)
    }
}

impl DependentJob {
    fn new(
        group: &Group,
        job_deadline: f64,
        dependence: Dependence,
        k: u64,
    ) -> Result<DependentJob, SolveError> {
        let deadline = group.deadline.min(job_deadline);
        let (starts, exhausted) = schedule(group, deadline);
        let copies = starts.len() - 1;
        if copies > MOST_COPIES {
            let (value, bound) = (copies as f64, MOST_COPIES as f64);
            return Err(SolveError::TooLarge { what: "copies of a dependent branch", value, bound });
        }
        Ok(DependentJob {
            factors: Factors::new(dependence, k, group.count),
            attempt: group.law.cut(group.attempt_timeout)?,
            // Without luck a copy takes as long as its primary, and starts no earlier.
            starts: if dependence.luck == 0.0 { alloc::vec![0.0] } else { starts },
            end: exhausted.min(deadline),
            k,
            n: group.count,
        })
    }

    /// P(the job has returned by `t`).
    ///
    /// # Errors
    /// [`SolveError::Law`] when an integral misses its precision (not seen for any plan tested).
    pub fn returned(&self, t: f64) -> Result<Figure, SolveError> {
        Ok(Figure::exact(-libm::expm1(-self.checked(|curve| Ok(curve.hazard(t)))?)))
    }

    /// P(the job is still waiting at `t`), with relative precision down to 1e-300.
    ///
    /// # Errors
    /// As for [`DependentJob::returned`].
    pub fn waiting(&self, t: f64) -> Result<Figure, SolveError> {
        Ok(Figure::exact(libm::exp(-self.checked(|curve| Ok(curve.hazard(t)))?)))
    }

    /// The return time at a level; infinite when fewer jobs ever return.
    ///
    /// # Errors
    /// As for [`DependentJob::returned`].
    pub fn quantile(&self, level: Level) -> Result<Figure, SolveError> {
        Ok(Figure::exact(self.checked(|curve| Ok(curve.inverse(level.hazard())))?))
    }

    /// Mean return time; infinite when a job may never return or the tail is too heavy.
    ///
    /// # Errors
    /// As for [`DependentJob::returned`].
    pub fn mean(&self) -> Result<Figure, SolveError> {
        Ok(Figure::exact(self.checked(|curve| Ok(moments::of(curve)?.mean))?))
    }

    /// A readout, unless one of the integrals that it took failed.
    fn checked(&self, read: impl Fn(&Readout<'_>) -> Result<f64, LawError>) -> Result<f64, SolveError> {
        let curve = Readout { job: self, failure: Cell::new(None) };
        let value = read(&curve)?;
        curve.failure.into_inner().map_or(Ok(value), |error| Err(error.into()))
    }
}

/// The job's law as a curve; it keeps the first integral that failed.
struct Readout<'a> {
    job: &'a DependentJob,
    failure: Cell<Option<LawError>>,
}

impl Readout<'_> {
    /// `-ln P(waiting)` before the end.
    fn before_end(&self, t: f64) -> f64 {
        let DependentJob { factors, attempt, starts, .. } = self.job;
        let running = starts.iter().take_while(|start| **start <= t);
        factors.hazard(running.map(|start| attempt.hazard(t - start))).unwrap_or_else(|error| {
            self.failure.set(Some(error));
            0.0
        })
    }
}

impl Curve for Readout<'_> {
    fn hazard(&self, t: f64) -> f64 {
        let t = t.max(0.0);
        if t >= self.job.end && t.is_finite() { f64::INFINITY } else { self.before_end(t) }
    }

    /// Bounds that hold under any dependence (Markov's inequality on the number of answers), then a root between them.
    fn inverse(&self, h: f64) -> f64 {
        let DependentJob { attempt, starts, end, k, n, .. } = self.job;
        let level = Level::from_hazard(h);
        if h == f64::INFINITY {
            return end.min(attempt.inverse_hazard(h));
        }
        // At least k of n attempts' branches have answered with probability p, so one attempt has with p k / (n m).
        let share = *k as f64 / (*n as f64 * starts.len() as f64);
        let low = attempt.inverse_hazard(if share == 1.0 { h } else { -libm::log1p(-level.p() * share) });
        if h == 0.0 {
            return low.min(*end);
        }
        // n - k + 1 are open with probability s.
        let open = (*n - *k + 1) as f64;
        let high = attempt.inverse_hazard(h + libm::log(*n as f64 / open));
        // The bounds themselves may be rounded past the root.
        let wider = 1.0 + 1e-12;
        time_at(h, low / wider, (high * wider).min(*end), |t| self.before_end(t)).min(*end)
    }

    fn kinks(&self, into: &mut Vec<f64>) {
        for start in &self.job.starts {
            into.push(start + self.job.attempt.inverse_hazard(0.0));
            let first = into.len();
            self.job.attempt.kinks(into);
            for kink in &mut into[first..] {
                *kink += start;
            }
        }
    }

    /// All attempts of n - k + 1 branches must be late; the density of that many correlated normals at one value z falls
    /// as `e^(-z²/2v)`, with v the variance of their mean.
    fn tail_index(&self) -> f64 {
        let DependentJob { factors, attempt, starts, k, n, .. } = self.job;
        attempt.tail_index() / factors.variance_of_mean(n - k + 1, starts.len())
    }

    fn end(&self) -> f64 {
        self.job.end
    }
}
