//! What a job with dependent branches is made of: the same job, its branches independent, given what they share.

use alloc::vec;
use alloc::vec::Vec;

use super::job_law::{JobLaw, Side};
use super::member::Member;
use super::snapshot::Snapshot;
use super::{Assumption, GroupedPlan, SolveError};
use crate::dependence::{Dependence, Together};
use crate::special::normal_quantile;
use crate::{Law, Level};

impl JobLaw {
    /// The job of a plan whose attempts share that much, given that the job's own value is 0.
    pub(crate) fn sharing(
        plan: GroupedPlan,
        group_of: Vec<usize>,
        shares: Dependence,
    ) -> Result<JobLaw, SolveError> {
        let mut law = JobLaw::new(plan, group_of)?;
        for member in &mut law.members {
            let copies = member.starts.len() - 1;
            if copies > Together::MOST_COPIES {
                let (value, bound) = (copies as f64, Together::MOST_COPIES as f64);
                return Err(SolveError::TooLarge { what: "copies of a dependent branch", value, bound });
            }
            if shares.job() > 0.0 || copies > 0 && shares != Dependence::NONE {
                let together = Together::new(&member.attempt, &member.starts, shares);
                // Without luck the copies add nothing.
                let alone = shares.job() == 0.0 && shares.luck() == 0.0;
                member.law = if alone { member.attempt.clone() } else { Law::together(together.clone()) };
                member.together = Some(together);
            }
        }
        if shares != Dependence::NONE {
            law.assumptions = vec![Assumption::Shares { job: shares.job(), branch: shares.branch() }];
        }
        Ok(law)
    }

    /// Moves it to another value of the job.
    pub(crate) fn give(&mut self, j: f64) {
        for member in &mut self.members {
            if let Some(together) = &mut member.together {
                *together = together.given(j);
                member.law = Law::together(together.clone());
            }
        }
    }

    /// The law of one branch of a group whatever the job's value is, with answers after it gave up left out.
    pub(crate) fn branch_whatever(&self, group: usize) -> Law {
        let member = &self.members[group];
        let law = member.together.as_ref().map(|together| Law::together(together.whatever()));
        law.unwrap_or_else(|| member.law.clone()).cut(member.expires).expect("an instant of a checked plan")
    }

    /// Whether no other branch has a say in what the attempts of one of a group do: the job ends when all branches have answered
    /// or given up.
    pub(crate) fn is_alone(&self, group: usize) -> bool {
        !self.may_be_unneeded(group) && self.first_instant() == self.end()
    }

    /// The job with the laws of its branches whatever the job's value is, for what is of one branch alone.
    pub(crate) fn whatever(&self) -> JobLaw {
        let mut law = self.clone();
        for member in &mut law.members {
            if let Some(together) = &mut member.together {
                *together = together.whatever();
                member.law = Law::together(together.clone());
            }
        }
        law
    }

    /// Hazards of three events at `t`, each the less likely the slower the job is: that it has ended complete; that it has
    /// ended complete or partial; that it has not failed. Every readout at one instant changes where one of them does.
    pub(crate) fn ended(&self, t: f64, side: Side) -> [f64; 3] {
        let snapshot: Snapshot = self.snapshot(self.parts(t, side));
        let (complete, partial) = (snapshot.complete(), snapshot.partial());
        let (failed, open) = (snapshot.failed(), snapshot.open());
        let hazard = |no: f64, yes: f64| if no < 0.5 { -libm::log(no) } else { -libm::log1p(-yes.min(1.0)) };
        [
            hazard(open + partial + failed, complete),
            hazard(open + failed, complete + partial),
            hazard(failed, complete + partial + open),
        ]
    }

    /// Bounds of a quantile before any deadline under any dependence, by Markov's inequality: at least k of the attempts
    /// have answered, and while the job waits, a required branch is open or n - k + 1 of all are.
    pub(crate) fn bracket_whatever(&self, h: f64) -> (f64, f64) {
        let n = self.n();
        let count = |member: &Member| {
            let attempts = member.together.as_ref().map_or(member.starts.len(), Together::attempts);
            member.count as f64 * attempts as f64
        };
        let attempts: f64 = self.members.iter().map(count).sum();
        let p = Level::from_hazard(h).p() * (self.plan().k as f64 / attempts);
        let required = self.members.iter().any(|member| member.required);
        let open = if required { 1 } else { n - self.plan().k + 1 };
        let (low, high) = (-libm::log1p(-p), h + libm::log(n as f64 / open as f64));
        // The bounds themselves may be rounded past the root.
        let wider = 1.0 + 1e-12;
        self.members.iter().fold((f64::INFINITY, 0.0_f64), |(earliest, latest), member| {
            let time = |h: f64| member.attempt.inverse_hazard(h);
            (earliest.min(time(low) / wider), latest.max(time(high) * wider))
        })
    }

    /// How many times the chances of the job, at any instant, may change over one unit of J: as those of one attempt do, and the
    /// faster the more branches there are. Infinite where an attempt has nothing of its own.
    pub(crate) fn steepness(&self, shares: Dependence) -> f64 {
        let attempt = libm::sqrt(shares.job() / (1.0 - shares.job()));
        let n = self.n();
        // The last of n move by so much less than each, and the middle ones of m by the root of m.
        let middle = [self.spare, self.borne].map(|missing| missing.min(n - missing.min(n)) as f64);
        attempt * (1.0 + libm::sqrt(2.0 * libm::log(n as f64)) + libm::sqrt(middle[0].max(middle[1])))
    }

    /// The largest normal value, of either sign, that a primary has at `t`.
    pub(crate) fn farthest_value(&self, t: f64) -> f64 {
        let value =
            |member: &Member| normal_quantile(member.attempt.hazard(t.clamp(0.0, member.expires))).abs();
        self.members.iter().map(value).fold(0.0, f64::max)
    }

    /// Whether attempts run for ever on average, losers for so long, whatever the job's value is.
    pub(crate) fn busy_for_ever(&self, lag: f64, shares: Dependence) -> bool {
        let ever = |(group, member): (usize, &Member)| {
            if lag.is_infinite() {
                member.timeout.is_infinite() && member.expires > 0.0 && member.attempt.tail_index() <= 1.0
            } else {
                member.expires.is_infinite() && self.open_index_whatever(Some(group), shares) <= 1.0
            }
        };
        self.members.iter().enumerate().any(ever)
    }

    /// Where P(open) falls as a power of time, how fast: as [`JobLaw::open_index`], whatever the job's value is.
    ///
    /// With `t = e^(x²)`, an attempt of index α is late when its Z is above `√(2α) x`; the least sum of squares with which
    /// enough of them are is searched over the job's value, in units of x.
    pub(crate) fn open_index_whatever(&self, given: Option<usize>, shares: Dependence) -> f64 {
        /// Values tried beside those at which a group is late by the job alone.
        const TRIED: i32 = 2_000;
        /// In place of no variance of their own.
        const LEAST: f64 = 1e-9;
        let late = |member: &Member| {
            member.together.as_ref().map_or((libm::sqrt(2.0 * member.law.tail_index()), 1.0), |together| {
                let (index, variance) = together.tail();
                (libm::sqrt(2.0 * index), variance.max(LEAST))
            })
        };
        let job = libm::sqrt(shares.job());
        let at = |j: f64| {
            let others = self.open_index_of(given, |member| {
                let (value, variance) = late(member);
                let rest = (value - job * j).max(0.0);
                0.5 * rest * rest / variance
            });
            0.5 * j * j + others
        };
        let alone = at(0.0);
        if alone == 0.0 || alone == f64::INFINITY || job == 0.0 {
            return alone;
        }
        let most = libm::sqrt(2.0 * alone);
        let grid = (1..TRIED).map(|i| most * f64::from(i) / f64::from(TRIED));
        let by_the_job = self.members.iter().map(|member| late(member).0 / job).filter(|j| *j < most);
        grid.chain(by_the_job).map(at).fold(alone, f64::min)
    }
}
