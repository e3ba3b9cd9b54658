//! What becomes of each branch.

use alloc::vec::Vec;

use super::SolveError;
use super::job_law::{JobLaw, Method, Side, check_work};
use super::member::Member;
use crate::moments::{LANDMARKS, stops};
use crate::numeric::integrate;

/// Shares of jobs by the outcome of one branch; they sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcomes {
    /// It answered while the job waited.
    pub answered: f64,
    /// Its attempts timed out.
    pub failed: f64,
    /// It was running when its deadline or the job's came.
    pub missed: f64,
    /// The barrier was met without it.
    pub unneeded: f64,
    /// It was running when the job failed.
    pub cancelled: f64,
    /// It never answers and nothing stops the wait.
    pub never: f64,
    /// How they were found.
    pub method: Method,
}

impl JobLaw {
    /// What becomes of one branch of a group.
    ///
    /// # Errors
    /// [`SolveError::Law`] when an integral misses its precision (not seen for any plan tested).
    ///
    /// # Panics
    /// When there is no such group.
    pub fn outcomes(&self, group: usize) -> Result<Outcomes, SolveError> {
        check_work(self.outcomes_work(group))?;
        let member = &self.members[group];
        let open_at = |t: f64, side: Side| {
            let open = libm::exp(-member.hazard(t));
            if open == 0.0 { 0.0 } else { open * self.open_given(group, t, side) }
        };
        // While the branch is open the job ends only by failing, at an instant, or by being complete without it. At its
        // own instant it gives up before or after the failures of others.
        let gives_up = if member.times_out { Side::Before } else { Side::Failed };
        let earlier = self.instants.iter().filter(|t| **t < member.expires).map(|t| (*t, Side::After));
        let fails = |(t, after)| (open_at(t, Side::Before) - open_at(t, after)).max(0.0);
        let own = core::iter::once((member.expires, gives_up));
        let cancelled = earlier.chain(own).map(fails).fold(0.0, |sum, share| sum + share);
        let given_up = open_at(member.expires, gives_up);
        let answered = match self.open_steps(group) {
            Some(steps) => self.answered_in_steps(group, &steps),
            None => self.answered_in_time(group)?,
        };
        let (missed, failed, never) = if member.expires.is_infinite() {
            (0.0, 0.0, given_up)
        } else if member.times_out {
            (0.0, given_up, 0.0)
        } else {
            (given_up, 0.0, 0.0)
        };
        let rest = 1.0 - answered - given_up - cancelled;
        let unneeded = if self.may_be_unneeded(group) { rest.max(0.0) } else { 0.0 };
        Ok(Outcomes { answered, failed, missed, unneeded, cancelled, never, method: Method::Exact })
    }

    /// How much work one evaluation of what is integrated is, in terms of a sum.
    pub(crate) fn outcomes_work(&self, group: usize) -> f64 {
        /// Evaluations that a root takes.
        const ROOT: f64 = 5.0;
        self.work() + ROOT * self.members[group].work()
    }

    /// P(answered) where P(job open) is constant between instants, given that the branch is open.
    fn answered_in_steps(&self, group: usize, steps: &[f64]) -> f64 {
        let member = &self.members[group];
        let ends = self.instants.iter().copied().take_while(|t| *t < member.expires);
        let mut sum = 0.0;
        let mut before = 0.0;
        for (to, open) in ends.chain(core::iter::once(member.expires)).zip(steps) {
            let after = member.hazard(to);
            sum += libm::exp(-before) * -libm::expm1(before - after) * open;
            before = after;
        }
        sum
    }

    /// `∫ P(job open at t | branch open) dF(t)`, over the hazard h of the branch, `dF = e^-h dh`.
    fn answered_in_time(&self, group: usize) -> Result<f64, SolveError> {
        /// Beyond it `e^-h` is below the smallest float.
        const FAR: f64 = 745.0;
        /// Of a share.
        const NEGLIGIBLE: f64 = 1e-14;
        /// The same where the time at a hazard is a root itself; the estimate of an error is far above the error.
        const NOISE: f64 = 1e-8;
        let member = &self.members[group];
        let most = member.hazard(f64::INFINITY).min(FAR);
        let mut points = self.hazards_of_interest(member);
        points.extend([0.0, most]);
        points.retain(|h| *h <= most);
        points.sort_unstable_by(f64::total_cmp);
        points.dedup();
        let least = if member.together.is_some() { NOISE } else { NEGLIGIBLE };
        let [answered, _] = integrate("answered", &points, [least, 0.0], &mut |h| {
            let t = member.law.inverse_hazard(h).min(member.expires);
            [libm::exp(-h) * self.open_given(group, t, Side::Before), 0.0]
        })?;
        Ok(answered)
    }

    /// Where the job's end falls, as hazards of one branch, and both tails of the branch.
    fn hazards_of_interest(&self, member: &Member) -> Vec<f64> {
        let times = stops(self);
        times.iter().map(|t| member.hazard(*t)).chain(LANDMARKS).collect()
    }
}
