//! What came of a range of jobs.

use alloc::vec::Vec;

use fantail_core::job::{Job, NotStarted, Outcome, Verdict};
use fantail_core::{Ledger, Time};

use super::estimate::Total;
use super::times::Times;
use super::{Estimate, Interval, Share};
use crate::Level;
use crate::special::barrier_hazard;

/// Nanoseconds in a second.
const SECOND: f64 = 1e9;

/// What came of a range of jobs, in whole numbers: so the summaries of parts [merge](Summary::merge) to the same bits as
/// the whole, in any order.
///
/// Its size does not grow with the number of jobs: beyond a million their return times are in buckets of 0.1 %.
///
/// Intervals suppose that jobs are independent. Where they wait for each other's permits they are not, and the intervals
/// are too narrow: compare summaries of several ranges instead.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    returns: Times,
    never: u64,
    outcomes: Vec<Outcomes>,
    ledger: Ledger,
    return_time: Total,
    copies: Total,
    /// Jobs in which a copy started.
    with_copies: u64,
    busy: Total,
    waits: Waits,
}

/// How many jobs ended in which way; they add up to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdicts {
    /// The barrier was met.
    pub complete: Share,
    /// Ended without the barrier, with every required branch and at least `at_least` answers.
    pub partial: Share,
    /// Ended with less.
    pub failed: Share,
    /// Nothing could happen to them any more, and no deadline stopped the wait.
    pub never: Share,
}

/// In how many jobs a branch had which outcome; they add up to all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// It answered.
    pub answered: u64,
    /// Every attempt that started had ended without an answer, and none could start.
    pub failed: u64,
    /// An attempt was running when the deadline cut it.
    pub missed: u64,
    /// No permit came before the deadline.
    pub no_permit: u64,
    /// Its permit was refused.
    pub refused: u64,
    /// The job failed before it could start.
    pub job_failed: u64,
    /// The barrier was met without it.
    pub unneeded: u64,
    /// It was running when the job failed.
    pub cancelled: u64,
    /// It was open in a job that never returned.
    pub never: u64,
}

/// How long attempts waited for the permits that they got from limiters. Branches without a limiter are not in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Permits given.
    pub permits: u64,
    /// Permits that were waited for.
    pub delayed: u64,
    /// The longest wait.
    pub longest: Time,
    total: Total,
}

impl Waits {
    /// The mean wait for a permit, in seconds.
    pub fn mean(&self) -> Estimate {
        self.total.mean(SECOND)
    }

    pub(super) fn push(&mut self, wait: Time) {
        self.permits += 1;
        self.delayed += u64::from(wait > Time::ZERO);
        self.longest = self.longest.max(wait);
        self.total.push(wait.as_nanos());
    }

    fn add(&mut self, other: &Waits) {
        self.permits += other.permits;
        self.delayed += other.delayed;
        self.longest = self.longest.max(other.longest);
        self.total.add(&other.total);
    }
}

/// The lists of return times.
const COMPLETE: usize = 0;
const PARTIAL: usize = 1;
const FAILED: usize = 2;
const LISTS: [usize; 3] = [COMPLETE, PARTIAL, FAILED];

impl Summary {
    /// Of no jobs, of a plan with `n` branches.
    pub(super) fn new(n: u32) -> Summary {
        Summary {
            returns: Times::new(),
            never: 0,
            outcomes: alloc::vec![Outcomes::default(); n as usize],
            ledger: Ledger::default(),
            return_time: Total::default(),
            copies: Total::default(),
            with_copies: 0,
            busy: Total::default(),
            waits: Waits::default(),
        }
    }

    /// Counts a job that is over, or that nothing can happen to any more.
    pub(super) fn record(&mut self, job: &Job) {
        let list = match job.verdict() {
            Some(Verdict::Complete) => Some(COMPLETE),
            Some(Verdict::Partial) => Some(PARTIAL),
            Some(Verdict::Failed(_)) => Some(FAILED),
            None => None,
        };
        if let Some(list) = list {
            self.returns.push(list, job.elapsed());
            self.return_time.push(job.elapsed().as_nanos());
        } else {
            self.never += 1;
        }
        for (counts, branch) in self.outcomes.iter_mut().zip(0..) {
            *counts.of(job.slot(branch).and_then(|slot| slot.outcome)) += 1;
        }
        let ledger = job.ledger();
        self.ledger.add(ledger);
        self.copies.push(ledger.copies.launched);
        self.with_copies += u64::from(ledger.copies.launched > 0);
        self.busy.push(ledger.primaries.busy.saturating_add(ledger.copies.busy).as_nanos());
    }

    pub(super) fn waits_mut(&mut self) -> &mut Waits {
        &mut self.waits
    }

    /// To be called once the last job is recorded.
    pub(super) fn sort(&mut self) {
        self.returns.sort();
    }

    /// Adds the jobs of `other`, of the same plan.
    ///
    /// # Panics
    /// When the numbers of branches differ.
    pub fn merge(&mut self, other: &Summary) {
        assert_eq!(self.outcomes.len(), other.outcomes.len(), "summaries of one plan are merged");
        self.returns.merge(&other.returns);
        self.never += other.never;
        self.outcomes.iter_mut().zip(&other.outcomes).for_each(|(mine, theirs)| mine.add(theirs));
        self.ledger.add(&other.ledger);
        self.return_time.add(&other.return_time);
        self.copies.add(&other.copies);
        self.with_copies += other.with_copies;
        self.busy.add(&other.busy);
        self.waits.add(&other.waits);
    }

    /// How many jobs there were.
    pub fn jobs(&self) -> u64 {
        self.returned() + self.never
    }

    /// How they ended.
    pub fn verdicts(&self) -> Verdicts {
        let [complete, partial, failed] = LISTS.map(|list| self.share(self.returns.len(list)));
        Verdicts { complete, partial, failed, never: self.share(self.never) }
    }

    /// The jobs that had returned by `t` after their start, whatever the verdict.
    pub fn returned_by(&self, t: Time) -> Share {
        self.share(LISTS.map(|list| self.returns.until(list, t)).iter().sum())
    }

    /// The jobs that were complete by `t` after their start.
    pub fn complete_by(&self, t: Time) -> Share {
        self.share(self.returns.until(COMPLETE, t))
    }

    /// The jobs that had ended partial by `t` after their start.
    pub fn partial_by(&self, t: Time) -> Share {
        self.share(self.returns.until(PARTIAL, t))
    }

    /// The jobs that had failed by `t` after their start.
    pub fn failed_by(&self, t: Time) -> Share {
        self.share(self.returns.until(FAILED, t))
    }

    /// The return time at a level: the earliest by which that share of jobs had returned; [`Time::MAX`] when fewer did.
    pub fn quantile(&self, level: Level) -> Time {
        // A level is precise to a few roundings, which must not lift p = 0.99 of a hundred jobs to all of them.
        let rank = level.p() * self.jobs() as f64 * (1.0 - 8.0 * f64::EPSILON);
        self.returns.at((libm::ceil(rank) as u64).max(1))
    }

    /// Where the true quantile lies, in seconds: between two of the return times, whose ranks are exact by the binomial
    /// law, whatever the law of the job. Its upper end is infinite when there are too few jobs to say.
    pub fn quantile_interval(&self, level: Level, confidence: Level) -> Interval {
        let jobs = self.jobs();
        let miss = confidence.s() / 2.0;
        // That fewer than `rank` of all jobs have returned at the quantile.
        let fewer = |rank: u64| match rank {
            0 => 0.0,
            _ if rank > jobs => 1.0,
            _ => libm::exp(-barrier_hazard(level.hazard(), rank, jobs)),
        };
        let reaches = |rank: u64| match rank {
            0 => 1.0,
            _ if rank > jobs => 0.0,
            _ => -libm::expm1(-barrier_hazard(level.hazard(), rank, jobs)),
        };
        let low = first(jobs, |rank| fewer(rank + 1) > miss);
        let high = first(jobs + 1, |rank| reaches(rank) <= miss);
        let low = if low == 0 { 0.0 } else { seconds(self.returns.at(low)) };
        Interval { low, high: if high > jobs { f64::INFINITY } else { seconds(self.returns.at(high)) } }
    }

    /// The mean return time of the jobs that returned, in seconds.
    pub fn mean(&self) -> Estimate {
        self.return_time.mean(SECOND)
    }

    /// In how many jobs a branch had which outcome; `None` when the plan has no such index.
    pub fn outcomes(&self, branch: u32) -> Option<&Outcomes> {
        self.outcomes.get(branch as usize)
    }

    /// Attempts, busy time and refusals of all jobs. An attempt that never ends counts as launched only.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Price one: the copies that started, as a share of the branches.
    pub fn extra_requests(&self) -> Estimate {
        self.copies.mean(self.outcomes.len() as f64)
    }

    /// The jobs that sent at least one copy.
    pub fn sends_copy(&self) -> Share {
        self.share(self.with_copies)
    }

    /// Seconds under permits, all attempts of a job together.
    pub fn busy(&self) -> Estimate {
        self.busy.mean(SECOND)
    }

    /// Price two: busy time relative to that of `plain`, the same plan without copies, less 1.
    ///
    /// The standard error is that of a ratio of independent means. Under one seed the two go up and down together, so
    /// the true one is smaller.
    pub fn extra_busy(&self, plain: &Summary) -> Estimate {
        let (with, without) = (self.busy(), plain.busy());
        let ratio = with.value / without.value;
        let error = ratio * libm::hypot(with.error / with.value, without.error / without.value);
        Estimate { value: ratio - 1.0, error }
    }

    /// How long attempts waited for permits.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    fn returned(&self) -> u64 {
        LISTS.map(|list| self.returns.len(list)).iter().sum()
    }

    fn share(&self, count: u64) -> Share {
        Share { count, of: self.jobs() }
    }
}

impl Outcomes {
    fn of(&mut self, outcome: Option<Outcome>) -> &mut u64 {
        match outcome {
            Some(Outcome::Answered) => &mut self.answered,
            Some(Outcome::Failed) => &mut self.failed,
            Some(Outcome::Missed) => &mut self.missed,
            Some(Outcome::NotStarted(NotStarted::NoPermit)) => &mut self.no_permit,
            Some(Outcome::NotStarted(NotStarted::Refused(_))) => &mut self.refused,
            Some(Outcome::NotStarted(NotStarted::JobFailed)) => &mut self.job_failed,
            Some(Outcome::Unneeded) => &mut self.unneeded,
            Some(Outcome::Cancelled) => &mut self.cancelled,
            None => &mut self.never,
        }
    }

    fn add(&mut self, other: &Outcomes) {
        self.answered += other.answered;
        self.failed += other.failed;
        self.missed += other.missed;
        self.no_permit += other.no_permit;
        self.refused += other.refused;
        self.job_failed += other.job_failed;
        self.unneeded += other.unneeded;
        self.cancelled += other.cancelled;
        self.never += other.never;
    }
}

/// The first of `0..=last` at which a condition holds that goes on to hold; `last` when none does.
fn first(last: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, last);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

fn seconds(time: Time) -> f64 {
    if time == Time::MAX { f64::INFINITY } else { time.as_secs_f64() }
}
