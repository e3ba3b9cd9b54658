//! Deadlines: the earliest that completes enough jobs, and the latest that is soon enough.

use fantail_core::Time;

use super::copies::{MOST_DIGITS, few_digits, few_digits_up};
use super::search::Search;
use super::{Goal, Measure};
use crate::{GroupedPlan, JobLaw, Level, SolveError};

impl GroupedPlan {
    /// The earliest deadline, in seconds, with which a share of all jobs is complete, whatever deadline the job has now.
    /// Infinite when no deadline is late enough.
    ///
    /// For n branches alike and no deadlines of their own it is `Q(c^(1/n))`, with Q the quantile of one branch with its
    /// copies; else a root. A copy for which the deadline leaves less than its `min_useful` is not sent.
    ///
    /// ```
    /// use fantail_model::{Group, GroupedPlan, Law, Level};
    ///
    /// let call = Law::exponential(1.0)?;
    /// let plan = GroupedPlan::all(Group::new(5, call));
    /// let deadline = plan.deadline_for(Level::below(0.95)?)?;
    /// assert!((deadline + (1.0 - 0.95_f64.powf(0.2)).ln()).abs() < 1e-12);
    /// # Ok::<(), fantail_model::SolveError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`GroupedPlan::solve`].
    pub fn deadline_for(&self, complete: Level) -> Result<f64, SolveError> {
        let with = |deadline: f64| self.with_deadline(deadline);
        let endless = with(f64::INFINITY);
        let undisturbed = endless.solve()?;
        // Without bounds of time a job ends complete or not at all.
        let bounded = |group: &crate::Group| group.deadline.is_finite() || group.attempt_timeout.is_finite();
        let time = if endless.groups.iter().any(bounded) {
            undisturbed.complete_quantile(complete)
        } else {
            undisturbed.quantile(complete)
        };
        let earliest = time.value;
        let starts_all = self.groups.iter().all(|group| {
            group.delays.last().is_none_or(|delay| *delay == 0.0 || delay + group.min_useful <= earliest)
        });
        if starts_all || earliest.is_infinite() {
            return Ok(earliest);
        }
        // Copies that start without a deadline do not with this one: the root lies between it and the plain plan's.
        let enough = |deadline: f64| {
            let missed = |job: &JobLaw| {
                let verdicts = job.verdicts();
                verdicts.partial + verdicts.failed + verdicts.never
            };
            Ok::<_, SolveError>(missed(&with(deadline).solve()?) <= complete.s())
        };
        let (mut low, mut high) = (earliest, self.without_copies().deadline_for(complete)?);
        if high.is_infinite() {
            let all =
                |group: &crate::Group| group.delays.last().map_or(0.0, |delay| delay + group.min_useful);
            high = self.groups.iter().map(all).fold(earliest, f64::max);
        }
        for _ in 0..64 {
            let middle = low.midpoint(high);
            if enough(middle)? { high = middle } else { low = middle }
        }
        Ok(high)
    }
}

/// Deadlines are tried with as few digits as these, then with more.
const FEWEST_DIGITS: u32 = 3;
const MOST_SOUGHT: u32 = 8;
/// How much more than with the latest deadline a plan may cost whose deadline has fewer digits.
const READABLE: f64 = 1.01;
/// Prices that differ by less than this, relative to the larger, are equal.
const SAME_PRICE: f64 = 1e-6;

impl Search<'_> {
    /// The cheapest plan of all settings. As stated before with another deadline, and with fewer answers before with a
    /// deadline that cuts some: what a job loses is worth more than what it need not wait for. Without a goal on time, a
    /// deadline that may be another one is the earliest.
    pub(super) fn cheapest(&self) -> Result<Option<JobLaw>, SolveError> {
        let limits_loss = |goal: &Goal| matches!(goal.measure, Measure::Complete | Measure::Failed);
        let free = self.tuning.levers.deadline && self.goals.iter().any(limits_loss);
        if free && !self.goals.iter().any(|goal| goal.measure.is_time()) {
            let base = self.base(self.tuning.plan.k);
            return Ok(match self.earliest(&base)? {
                Some(job) => Some(job),
                None => self.best_k(None)?,
            });
        }
        let mut best = self.best_k(None)?;
        if !free || best.as_ref().is_some_and(|job| !job.plan().has_copies()) {
            return Ok(best);
        }
        for goal in self.goals.iter().filter(|goal| matches!(goal.measure, Measure::Quantile(_))) {
            let Some(found) = self.latest_within(goal)? else { continue };
            let cheaper = |job: &JobLaw| self.price(&found) < self.price(job) * (1.0 - SAME_PRICE);
            if best.as_ref().is_none_or(cheaper) {
                best = Some(found);
            }
        }
        Ok(best)
    }

    /// The cheapest plan with the latest deadline at which a return keeps the goal, in few digits.
    fn latest_within(&self, goal: &Goal) -> Result<Option<JobLaw>, SolveError> {
        let latest = goal.latest().as_secs_f64();
        let Some(finest) = self.best_k(Some(latest))? else { return Ok(None) };
        let most = self.price(&finest) * READABLE;
        for digits in FEWEST_DIGITS..=MOST_SOUGHT {
            let deadline = few_digits(latest, digits);
            let same = self.solve(&finest.plan().with_deadline(deadline))?;
            if deadline > 0.0 && self.keeps(&same)? && self.price(&same) <= most {
                return Ok(Some(same));
            }
            if deadline > 0.0
                && let Some(job) = self.best_k(Some(deadline))?.filter(|job| self.price(job) <= most)
            {
                return Ok(Some(job));
            }
        }
        Ok(Some(finest))
    }

    /// Without a goal on time: no copies, and the earliest deadline that keeps the other goals, in few digits.
    fn earliest(&self, base: &GroupedPlan) -> Result<Option<JobLaw>, SolveError> {
        let plain = base.without_copies();
        let with = |deadline: f64| self.solve(&plain.with_deadline(deadline));
        let for_share = |share: f64| plain.deadline_for(Level::above((1.0 - share).clamp(0.0, 1.0))?);
        let mut high = for_share(1.0 - ALMOST_NONE)?.min(Time::LONGEST.as_secs_f64());
        if !self.keeps(&with(high)?)? {
            return Ok(None);
        }
        let mut low = 1e-9;
        for goal in self.goals.iter().filter(|goal| goal.measure == Measure::Complete) {
            low = for_share(goal.bound)?.clamp(low, high);
        }
        for _ in 0..HALVINGS {
            let middle = if high < 2.0 * low { low.midpoint(high) } else { libm::sqrt(low * high) };
            if self.keeps(&with(middle)?)? { high = middle } else { low = middle }
        }
        for digits in FEWEST_DIGITS..=MOST_DIGITS {
            let job = with(few_digits_up(high, digits))?;
            if self.keeps(&job)? {
                return Ok(Some(job));
            }
        }
        Ok(None)
    }
}

/// The share of jobs that a deadline cuts which is late enough for every goal.
const ALMOST_NONE: f64 = 1e-12;
/// Halvings of the logarithm of a deadline, from 1 ns to a year.
const HALVINGS: usize = 60;
