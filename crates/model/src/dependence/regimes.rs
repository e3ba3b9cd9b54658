//! Jobs that run as a whole under one of several conditions.

use alloc::vec::Vec;

use crate::numeric::time_at;
use crate::{Figure, JobLaw, LawError, Level, SolveError};

/// A mixture over whole jobs: with the probability of its weight, *every* branch of the job runs under that law.
///
/// A shock that slows all of a job down is one, and is not the job of mixtures: there each branch meets the shock by
/// itself, so that a job of many branches nearly always meets it.
///
/// ```
/// use fantail_model::{Group, GroupedPlan, Law, Level, Regimes};
///
/// let job = |median: f64| GroupedPlan::all(Group::new(100, Law::log_normal(median, 0.6)?)).solve();
/// let shocked = Regimes::new(&[(0.95, job(1.0)?), (0.05, job(2.0)?)])?;
/// assert_eq!(format!("{:.3}", shocked.quantile(Level::MEDIAN).value), "4.453");
/// assert_eq!(format!("{:.3}", shocked.quantile(Level::above(0.01)?).value), "11.578");
/// # Ok::<(), fantail_model::SolveError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Regimes {
    /// Weights, which sum to 1, and the job under each.
    parts: Vec<(f64, JobLaw)>,
}

impl Regimes {
    /// Weights are scaled to sum to 1.
    ///
    /// # Errors
    /// [`SolveError::Law`] for no part or more than 64, or a weight that is not above 0 and at most 1e15.
    pub fn new(parts: &[(f64, JobLaw)]) -> Result<Regimes, SolveError> {
        if parts.is_empty() || parts.len() > 64 {
            return Err(LawError::Count { what: "regimes", given: parts.len(), bound: "1 to 64" }.into());
        }
        for (weight, _) in parts {
            let ok = *weight > 0.0 && *weight <= 1e15;
            LawError::check("weight", *weight, ok, "more than 0, at most 1e15")?;
        }
        let sum: f64 = parts.iter().map(|(weight, _)| weight).sum();
        Ok(Regimes { parts: parts.iter().map(|(weight, job)| (weight / sum, job.clone())).collect() })
    }

    /// P(the job has returned by `t`).
    pub fn returned(&self, t: f64) -> f64 {
        self.sum(|job| job.returned(t)).min(1.0)
    }

    /// P(the job is still waiting at `t`), with relative precision far into the tail.
    pub fn waiting(&self, t: f64) -> f64 {
        self.sum(|job| job.waiting(t)).min(1.0)
    }

    /// The return time at a level, whatever the verdict; infinite when fewer jobs ever return.
    pub fn quantile(&self, level: Level) -> Figure {
        let times = || self.parts.iter().map(|(_, job)| job.quantile(level).value);
        let (low, high) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
        let h = level.hazard();
        if low == high || h == 0.0 {
            return Figure::exact(low);
        }
        if h == f64::INFINITY {
            return Figure::exact(high);
        }
        Figure::exact(time_at(h, low, high, &|t| self.hazard(t)))
    }

    /// Mean return time; infinite when it is in any regime.
    ///
    /// # Errors
    /// As for [`JobLaw::mean`].
    pub fn mean(&self) -> Result<Figure, SolveError> {
        let mut mean = 0.0;
        for (weight, job) in &self.parts {
            mean += weight * job.mean()?.value;
        }
        Ok(Figure::exact(mean))
    }

    fn hazard(&self, t: f64) -> f64 {
        let waiting = self.waiting(t);
        if waiting < 0.5 { -libm::log(waiting) } else { -libm::log1p(-self.returned(t)) }
    }

    fn sum(&self, share: impl Fn(&JobLaw) -> f64) -> f64 {
        self.parts.iter().map(|(weight, job)| weight * share(job)).sum()
    }
}
