//! What a summary says.

use fantail_core::{Ledger, Time};

use super::blocks::{Between, FEWEST};
use super::estimate::{Total, wider};
use super::summary::{
    COMPLETE, FAILED, Figure, LISTS, Outcomes, PARTIAL, SECOND, ServerUse, Summary, Verdicts, Waits,
};
use super::{Estimate, Interval, Share};
use crate::Level;
use crate::special::barrier_hazard;

impl Summary {
    /// How many jobs there were.
    pub fn jobs(&self) -> u64 {
        self.returned() + self.never
    }

    /// How many blocks the intervals rest on; `None` where jobs are independent.
    pub fn blocks(&self) -> Option<u64> {
        self.blocks.as_ref().map(|blocks| blocks.count)
    }

    /// Whether there are enough of them for intervals: where they interact about two [blocks](super::Simulation::BLOCK), of which
    /// a shorter one counts for less.
    pub fn has_intervals(&self) -> bool {
        self.blocks.as_ref().is_none_or(|blocks| blocks.returned.blocks(self.jobs()) >= FEWEST)
    }

    /// The share of the calls that are there for good, where more and more are, without end: then there is no steady state, and
    /// figures depend on how long is played. `None` where nothing says so.
    pub fn piles_up(&self) -> Option<f64> {
        let blocks = self.blocks.as_ref()?;
        blocks.growth.share(self.attempts(), blocks.count)
    }

    /// How they ended.
    pub fn verdicts(&self) -> Verdicts {
        Verdicts {
            complete: self.share(Figure::Complete),
            partial: self.share(Figure::Partial),
            failed: self.share(Figure::Failed),
            never: self.share(Figure::Never),
        }
    }

    /// The jobs that had returned by `t` after their start, whatever the verdict.
    pub fn returned_by(&self, t: Time) -> Share {
        self.by(t, LISTS.map(|list| self.returns.until(list, t)).iter().sum())
    }

    /// The jobs that were complete by `t` after their start.
    pub fn complete_by(&self, t: Time) -> Share {
        self.by(t, self.returns.until(COMPLETE, t))
    }

    /// The jobs that had ended partial by `t` after their start.
    pub fn partial_by(&self, t: Time) -> Share {
        self.by(t, self.returns.until(PARTIAL, t))
    }

    /// The jobs that had failed by `t` after their start.
    pub fn failed_by(&self, t: Time) -> Share {
        self.by(t, self.returns.until(FAILED, t))
    }

    /// The return time at a level: the earliest by which that share of jobs had returned; [`Time::MAX`] when fewer did.
    pub fn quantile(&self, level: Level) -> Time {
        // A level is precise to a few roundings, which must not lift p = 0.99 of a hundred jobs to all of them.
        let rank = level.p() * self.jobs() as f64 * (1.0 - 8.0 * f64::EPSILON);
        self.returns.at((libm::ceil(rank) as u64).max(1))
    }

    /// Where the true quantile lies, in seconds: between two of the return times, whose ranks are exact by the binomial
    /// law, whatever the law of the job. Its upper end is infinite when there are too few jobs to say.
    ///
    /// Where jobs interact they count as so many fewer as blocks of them differ more than those of independent jobs
    /// would in the share that has returned by about the quantile.
    pub fn quantile_interval(&self, level: Level, confidence: Level) -> Interval {
        let fewer = self.fewer(self.quantile(level), confidence);
        let jobs = (self.jobs() as f64 / fewer) as u64;
        let miss = confidence.s() / 2.0;
        // That fewer than `rank` of all jobs have returned at the quantile.
        let below = |rank: u64| match rank {
            0 => 0.0,
            _ if rank > jobs => 1.0,
            _ => libm::exp(-barrier_hazard(level.hazard(), rank, jobs)),
        };
        let reaches = |rank: u64| match rank {
            0 => 1.0,
            _ if rank > jobs => 0.0,
            _ => -libm::expm1(-barrier_hazard(level.hazard(), rank, jobs)),
        };
        let low = first(jobs, |rank| below(rank + 1) > miss);
        let high = first(jobs + 1, |rank| reaches(rank) <= miss);
        let at = |rank: u64| seconds(self.returns.at((rank as f64 * fewer) as u64));
        Interval {
            low: if low == 0 || fewer.is_nan() { 0.0 } else { at(low) },
            high: if high > jobs || fewer.is_nan() { f64::INFINITY } else { at(high) },
        }
    }

    /// The longest return time; [`Time::MAX`] when a job never returned.
    pub fn worst(&self) -> Time {
        if self.never > 0 { Time::MAX } else { self.returns.last() }
    }

    /// The mean return time in seconds; infinite when a job never returned.
    pub fn mean(&self) -> Estimate {
        if self.never > 0 {
            return Estimate::new(f64::INFINITY, 0.0);
        }
        self.estimate(Figure::Return, &self.return_time, SECOND)
    }

    /// In how many jobs a branch had which outcome; `None` when the plan has no such index.
    pub fn outcomes(&self, branch: u32) -> Option<&Outcomes> {
        self.outcomes.get(branch as usize)
    }

    /// Attempts, time under permits and refusals of all jobs. An attempt that never ends counts as launched only.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Attempts that started.
    pub fn attempts(&self) -> u64 {
        self.prices.launched.iter().sum()
    }

    /// Price one: the attempts that started beyond one a branch, as a share of the branches.
    pub fn extra_requests(&self) -> Estimate {
        self.estimate(Figure::Extra, &self.extra, self.outcomes.len() as f64)
    }

    /// The jobs that sent at least one copy.
    pub fn sends_copy(&self) -> Share {
        self.share(Figure::WithCopies)
    }

    /// Seconds of work for a job, all attempts together: in a server's slots, or from start to end without one, and after
    /// it was cancelled too.
    pub fn busy(&self) -> Estimate {
        self.estimate(Figure::Busy, &self.busy, SECOND)
    }

    /// Price two: busy time relative to that of `plain`, the same plan without copies, less 1.
    ///
    /// The standard error is that of a ratio of independent means. Under one seed the two go up and down together, so
    /// the true one is smaller.
    pub fn extra_busy(&self, plain: &Summary) -> Estimate {
        let (with, without) = (self.busy(), plain.busy());
        let ratio = with.value / without.value;
        let error = ratio * libm::hypot(with.error / with.value, without.error / without.value);
        Estimate { value: ratio - 1.0, error, blocks: with.blocks }
    }

    /// Price three: what the attempts of a job cost; `None` when no branch states a cost.
    pub fn cost(&self) -> Option<Estimate> {
        let costs = self.prices.costs.as_ref()?;
        let unit = costs.iter().copied().fold(0.0, f64::max) / 1e6;
        let mut cost = self.estimate(Figure::Cost, &self.prices.paid, 1.0);
        let launched = self.prices.launched.iter();
        let paid: f64 = costs.iter().zip(launched).map(|(cost, launched)| cost * *launched as f64).sum();
        (cost.value, cost.error) = (paid / self.jobs() as f64, cost.error * unit);
        Some(cost)
    }

    /// How long attempts waited for permits.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// The mean wait for a permit, in seconds; not a number when there was none.
    pub fn wait(&self) -> Estimate {
        self.estimate(Figure::Wait, &self.waits.total, SECOND)
    }

    /// The attempts that servers turned away.
    pub fn attempts_turned_away(&self) -> Share {
        self.share(Figure::AttemptsTurnedAway)
    }

    /// The branches of which an attempt was turned away.
    pub fn branches_turned_away(&self) -> Share {
        self.share(Figure::BranchesTurnedAway)
    }

    /// The jobs of which an attempt was turned away.
    pub fn jobs_turned_away(&self) -> Share {
        self.share(Figure::JobsTurnedAway)
    }

    /// The branches of a job that backfill fills in.
    pub fn backfills(&self) -> Estimate {
        self.estimate(Figure::Backfills, &self.backfills, 1.0)
    }

    /// The most attempts that ran at once: of one job, where jobs do not interact.
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// What the servers did while jobs arrived, in their order; nothing where jobs are independent.
    pub fn servers(&self) -> &[ServerUse] {
        &self.servers
    }

    /// How much of its slots a server used, from 0 to 1, given its replicas and the slots of each.
    pub fn utilisation(&self, server: usize, slots: u64) -> Option<Estimate> {
        let ServerUse { area, span, between, .. } = self.servers.get(server)?;
        let slots = slots as f64;
        self.blocks.as_ref()?;
        Some(Estimate {
            value: *area as f64 / *span as f64 / slots,
            error: between.error((*area, *span)) / slots,
            blocks: Some(between.blocks(*span)),
        })
    }

    pub(super) fn returned(&self) -> u64 {
        LISTS.map(|list| self.returns.len(list)).iter().sum()
    }

    /// A mean with the error between jobs, or between blocks where jobs interact.
    fn estimate(&self, figure: Figure, total: &Total, unit: f64) -> Estimate {
        let amount = self.amount(figure);
        let value = amount.0 as f64 / amount.1 as f64 / unit;
        match &self.blocks {
            None => Estimate { value, ..total.mean(unit) },
            Some(blocks) => {
                let between = &blocks.figures[figure as usize];
                let error = between.error(amount) / unit;
                Estimate { value, error, blocks: Some(between.blocks(amount.1)) }
            }
        }
    }

    /// A share, with how blocks differ in it where jobs interact.
    fn share(&self, figure: Figure) -> Share {
        let amount = self.amount(figure);
        let spread = self
            .blocks
            .as_ref()
            .map(|blocks| variance_over_binomial(&blocks.figures[figure as usize], amount));
        Share { count: amount.0 as u64, of: amount.1 as u64, spread }
    }

    /// A count of jobs that had returned by a time.
    fn by(&self, t: Time, count: u64) -> Share {
        Share { count, of: self.jobs(), spread: self.spread(t) }
    }

    /// How many times the variance of the share that has returned by about `t` is that of independent jobs, and by how
    /// many blocks that is known.
    fn spread(&self, t: Time) -> Option<(f64, f64)> {
        let (mark, between) = self.blocks.as_ref()?.returned.before(t);
        let by: u64 = mark.map_or(0, |mark| LISTS.map(|list| self.returns.until(list, mark)).iter().sum());
        Some(variance_over_binomial(between, (by.into(), self.jobs().into())))
    }

    /// By what factor jobs count less than independent ones at a quantile.
    fn fewer(&self, quantile: Time, confidence: Level) -> f64 {
        self.spread(quantile).map_or(1.0, |(variance, blocks)| variance * wider(confidence, blocks))
    }
}

/// How many times the variance of a share is what it would be of independent jobs, at least once, and by how many blocks that is
/// known.
fn variance_over_binomial(between: &Between, (count, of): (u128, u128)) -> (f64, f64) {
    let (n, p) = (of as f64, count as f64 / of as f64);
    let error = between.error((count, of));
    let times = if count == 0 || count == of { 1.0 } else { (error * error * n / (p * (1.0 - p))).max(1.0) };
    (times, between.blocks(of))
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
