//! What a plan costs beside time: extra requests, extra busy time, money.

use alloc::vec::Vec;

use super::SolveError;
use super::job_law::{JobLaw, Method, Side};
use super::member::Member;
use super::snapshot::Rest;
use crate::moments::{Upper, stops, upper};

/// The prices of a plan, as expectations of one job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Attempts that are not copies: one a branch.
    pub primaries: f64,
    /// Copies that start. One starts only while its branch *and* the job are open.
    pub copies: f64,
    /// Copies per primary.
    pub extra_requests: f64,
    /// Seconds that attempts run, all branches together; a loser stops at once when its branch or the job ends.
    /// Infinite when an attempt may run for ever.
    pub busy: f64,
    /// `busy` over that of the same plan without copies, less 1; `None` when both are infinite.
    pub extra_busy: Option<f64>,
    /// Money, from the cost per call of the branches that state it; `None` when none does.
    pub cost: Option<f64>,
    /// How they were found.
    pub method: Method,
}

impl JobLaw {
    /// The prices.
    ///
    /// # Errors
    /// [`SolveError::TooLarge`] for many different branches under a barrier below all; [`SolveError::Law`] when an integral
    /// misses its precision (not seen for any plan tested).
    pub fn prices(&self) -> Result<Prices, SolveError> {
        self.check_integrals(self.members.len())?;
        let per_branch: Vec<f64> = (0..self.members.len()).map(|group| self.copies(group)).collect();
        let sum = |of: &dyn Fn(usize) -> f64| -> f64 {
            total(self.members.iter().enumerate().map(|(i, member)| member.count as f64 * of(i)))
        };
        let copies = sum(&|i| per_branch[i]);
        let primaries = self.n() as f64;
        let priced = self.members.iter().any(|member| member.cost.is_some());
        let cost = sum(&|i| self.members[i].cost.map_or(0.0, |cost| cost * (1.0 + per_branch[i])));
        let busy = self.total_busy()?;
        let extra_busy = if copies == 0.0 {
            Some(0.0)
        } else {
            let plain = self.plan().without_copies().solve()?.total_busy()?;
            (plain.is_finite() || busy.is_finite())
                .then(|| if plain > 0.0 { busy / plain - 1.0 } else { 0.0 })
        };
        Ok(Prices {
            primaries,
            copies,
            extra_requests: copies / primaries,
            busy,
            extra_busy,
            cost: priced.then_some(cost),
            method: Method::Exact,
        })
    }

    /// Expected copies of one branch of a group: each starts if the branch and the job are open then.
    ///
    /// # Panics
    /// When there is no such group.
    pub fn copies(&self, group: usize) -> f64 {
        self.copies_from(group, 0.0)
    }

    /// P(the job sends at least one copy).
    ///
    /// Summed over which group is the first to send one: it is open at its delay, while every branch whose copy was due
    /// before has answered.
    pub fn sends_copy(&self) -> f64 {
        let mut delays: Vec<f64> =
            self.members.iter().map(Member::first_copy).filter(|delay| delay.is_finite()).collect();
        delays.sort_unstable_by(f64::total_cmp);
        delays.dedup();
        let first_at = |delay: f64| {
            let mut parts = self.parts(delay, Side::After);
            for (part, member) in parts.iter_mut().zip(&self.members) {
                let first = member.first_copy();
                if first < delay {
                    part.rest = Rest::Excluded;
                    part.hazard = member.hazard(first);
                } else if first == delay && part.rest == Rest::Open {
                    part.rest = Rest::Marked;
                }
            }
            self.snapshot(parts).open_with_marked()
        };
        total(delays.into_iter().map(first_at)).min(1.0)
    }

    /// Expected copies of a job that the budget pays for: those that are due after a delay.
    pub(super) fn delayed_copies(&self) -> f64 {
        let positive = f64::MIN_POSITIVE;
        let members = self.members.iter().enumerate();
        total(members.map(|(i, member)| member.count as f64 * self.copies_from(i, positive)))
    }

    fn copies_from(&self, group: usize, earliest: f64) -> f64 {
        let member = &self.members[group];
        let due = member.starts[1..].iter().filter(|start| **start >= earliest);
        total(due.map(|&start| libm::exp(-member.hazard(start)) * self.open_given(group, start, Side::After)))
    }

    /// Expected seconds that attempts of one branch of a group run: `∫ running(t) P(branch and job open at t) dt`.
    ///
    /// # Errors
    /// As for [`JobLaw::prices`].
    ///
    /// # Panics
    /// When there is no such group.
    pub fn busy(&self, group: usize) -> Result<f64, SolveError> {
        self.check_integrals(1)?;
        self.busy_between(group, &self.ends(group..=group))
    }

    fn total_busy(&self) -> Result<f64, SolveError> {
        let groups = 0..self.members.len();
        let ends = self.ends(groups.clone());
        let mut sum = 0.0;
        for group in groups {
            sum += self.members[group].count as f64 * self.busy_between(group, &ends)?;
        }
        Ok(sum)
    }

    /// Where the job's end falls, if it may come before the end of a branch of these groups.
    fn ends(&self, mut groups: impl Iterator<Item = usize>) -> Vec<f64> {
        if groups.any(|group| self.may_be_unneeded(group)) { stops(self) } else { self.instants.clone() }
    }

    fn busy_between(&self, group: usize, ends: &[f64]) -> Result<f64, SolveError> {
        let member = &self.members[group];
        let index = self.open_index(Some(group));
        if member.expires.is_infinite() && index <= 1.0 {
            return Ok(f64::INFINITY);
        }
        let mut stops = stops(&member.law);
        stops.extend(ends);
        for start in &member.starts {
            stops.extend([*start, start + member.timeout]);
        }
        stops.sort_unstable_by(f64::total_cmp);
        stops.dedup();
        let range = Upper { from: 0.0, end: member.expires, index, stops: &stops, absolute: [0.0; 2] };
        let steps = self.open_steps(group);
        let [busy, _] = upper("busy", &range, |t| {
            let open = libm::exp(-member.hazard(t));
            if open == 0.0 {
                return 0.0;
            }
            let job = match &steps {
                Some(steps) => steps[self.instants.partition_point(|instant| *instant <= t)],
                None => self.open_given(group, t, Side::After),
            };
            member.running(t) * open * job
        })?;
        Ok(busy)
    }
}

/// The sum, from 0: that of no floats at all would be -0.
fn total(terms: impl Iterator<Item = f64>) -> f64 {
    terms.fold(0.0, |sum, term| sum + term)
}
