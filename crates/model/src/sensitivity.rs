//! What a figure is worth: the same plan in a world that is a little other than stated.

use alloc::vec::Vec;
use core::fmt;

use crate::{Dependence, GroupedPlan, Law, LawError, SolveError};

/// One thing that is other than stated. Deadlines and hedge delays stay what they are, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// Added to the [sigma](Law::sigma) of every attempt's law; its median stays.
    PlusSigma(f64),
    /// Multiplies the sigma of every attempt's law, 0.01 to 100; its median stays.
    TimesSigma(f64),
    /// Multiplies every time of every attempt's law, 1e-15 to 1e15.
    TimesMedian(f64),
    /// Multiplies the number of like branches, rounded up, and what the barrier and `at_least` ask of them; 1e-12 to 1e12.
    TimesBranches(f64),
    /// The job's share of an attempt's latency, 0 to 1; the branch keeps its share of what the job leaves.
    JobShare(f64),
}

impl Change {
    /// What could be improved: 0.1 off sigma, 10 % off the median, half of the branches.
    pub const LEVERS: [Change; 3] =
        [Change::PlusSigma(-0.1), Change::TimesMedian(0.9), Change::TimesBranches(0.5)];

    /// What may have been misjudged: sigma by 10 % either way, a job share of 0.3.
    pub const DOUBTS: [Change; 3] = [Change::TimesSigma(0.9), Change::TimesSigma(1.1), Change::JobShare(0.3)];

    /// The plan and the shares after the change; `None` when it changes nothing, as half of branches that are all different
    /// does, or cannot be made, as 0.1 off a sigma of 0.05.
    ///
    /// # Errors
    /// [`SolveError::OutOfRange`] or [`SolveError::Law`] for a number out of its range, or a law without a finite median.
    pub fn apply(
        self,
        plan: &GroupedPlan,
        shares: Dependence,
    ) -> Result<Option<(GroupedPlan, Dependence)>, SolveError> {
        let changed = match self {
            Change::PlusSigma(by) => {
                let factor = |law: &Law| 1.0 + by / law.sigma();
                if plan.groups.iter().any(|group| factor(&group.law) < 0.01) {
                    return Ok(None);
                }
                (with_laws(plan, |law| law.spread(factor(law)))?, shares)
            }
            Change::TimesSigma(by) => (with_laws(plan, |law| law.spread(by))?, shares),
            Change::TimesMedian(by) => (with_laws(plan, |law| law.scaled(by))?, shares),
            Change::TimesBranches(by) => (with_branches(plan, by)?, shares),
            Change::JobShare(job) => {
                let left = 1.0 - shares.job();
                let branch = if left > 0.0 { shares.branch() * (1.0 - job) / left } else { 0.0 };
                (plan.clone(), Dependence::new(job, branch)?)
            }
        };
        Ok((changed.0 != *plan || changed.1 != shares).then_some(changed))
    }
}

/// As in `sigma x 1.1`.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::PlusSigma(by) if *by < 0.0 => write!(f, "sigma - {}", -by),
            Change::PlusSigma(by) => write!(f, "sigma + {by}"),
            Change::TimesSigma(by) => write!(f, "sigma x {by}"),
            Change::TimesMedian(by) => write!(f, "median x {by}"),
            Change::TimesBranches(by) => write!(f, "branches x {by}"),
            Change::JobShare(share) => write!(f, "job share {share}"),
        }
    }
}

/// A figure of a plan, and what changes make of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The figure as stated.
    pub base: f64,
    /// One for each change that changes something, in the given order.
    pub effects: Vec<Effect>,
}

/// What one change makes of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// The change.
    pub change: Change,
    /// The figure after it.
    pub value: f64,
    /// How much more that is, as a share of the base: -0.1 is 10 % less. `None` from a base of 0 or infinity.
    pub relative: Option<f64>,
}

impl GroupedPlan {
    /// What each of the changes makes of a figure of this plan.
    ///
    /// ```
    /// use fantail_model::{Change, Dependence, Group, GroupedPlan, Law, Level};
    ///
    /// let plan = GroupedPlan::all(Group::new(8, Law::log_normal(1.0, 0.6)?));
    /// let p99 = plan.sensitivity(Dependence::NONE, &Change::LEVERS, |plan, _| {
    ///     Ok(plan.solve()?.quantile(Level::above(0.01)?).value)
    /// })?;
    /// let worth: Vec<String> = p99
    ///     .effects
    ///     .iter()
    ///     .map(|effect| format!("{}: {:+.1} %", effect.change, 100.0 * effect.relative.unwrap_or(0.0)))
    ///     .collect();
    /// assert_eq!(worth, ["sigma - 0.1: -26.1 %", "median x 0.9: -10.0 %", "branches x 0.5: -12.2 %"]);
    /// # Ok::<(), fantail_model::SolveError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Change::apply`], and those of the figure.
    pub fn sensitivity(
        &self,
        shares: Dependence,
        changes: &[Change],
        figure: impl Fn(&GroupedPlan, Dependence) -> Result<f64, SolveError>,
    ) -> Result<Sensitivity, SolveError> {
        let base = figure(self, shares)?;
        let mut effects = Vec::with_capacity(changes.len());
        for &change in changes {
            let Some((plan, shares)) = change.apply(self, shares)? else { continue };
            let value = figure(&plan, shares)?;
            let relative = (base != 0.0 && base.is_finite()).then(|| value / base - 1.0);
            effects.push(Effect { change, value, relative });
        }
        Ok(Sensitivity { base, effects })
    }
}

/// The plan with other laws of the attempts.
fn with_laws(
    plan: &GroupedPlan,
    change: impl Fn(&Law) -> Result<Law, LawError>,
) -> Result<GroupedPlan, SolveError> {
    let mut changed = plan.clone();
    for group in &mut changed.groups {
        group.law = change(&group.law)?;
    }
    Ok(changed)
}

/// The plan with more or fewer of each kind of branch.
fn with_branches(plan: &GroupedPlan, by: f64) -> Result<GroupedPlan, SolveError> {
    LawError::check("branches", by, (1e-12..=1e12).contains(&by), "a factor of 1e-12 to 1e12")?;
    let mut changed = plan.clone();
    for group in &mut changed.groups {
        group.count = ceil(group.count as f64 * by).max(1);
    }
    let (before, now) = (plan.n(), changed.n());
    let part = |most: u64| match most {
        0 => 0,
        all if all == before => now,
        some => ceil(some as f64 * (now as f64 / before as f64)).clamp(1, now),
    };
    (changed.k, changed.at_least) = (part(plan.k), part(plan.at_least));
    Ok(changed)
}

/// Rounded up, but not for what rounding has added to a whole number.
fn ceil(count: f64) -> u64 {
    libm::ceil(count * (1.0 - 4.0 * f64::EPSILON)) as u64
}
