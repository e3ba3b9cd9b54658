//! What came of a range of jobs.

use alloc::vec::Vec;

use fantail_core::job::{NotStarted, Outcome, Verdict};
use fantail_core::{Ledger, Plan, Time};

use super::blocks::{Between, Growth, Returned};
use super::estimate::Total;
use super::meter::Meter;
use super::seat::Seat;
use super::times::Times;
use super::{Share, Simulation};

/// Nanoseconds in a second.
pub(super) const SECOND: f64 = 1e9;

/// What came of a range of jobs, in whole numbers: so the summaries of parts [merge](Summary::merge) to the same bits as
/// the whole, in any order.
///
/// Its size does not grow with the number of jobs: beyond a million their return times are in buckets of 0.1 %.
///
/// Where jobs interact they are not independent. Intervals then rest on how much the blocks differ that were merged, each
/// the summary of one run, and say nothing for fewer than two of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub(super) returns: Times,
    pub(super) never: u64,
    pub(super) outcomes: Vec<Outcomes>,
    pub(super) ledger: Ledger,
    pub(super) return_time: Total,
    /// Attempts beyond one a branch.
    pub(super) extra: Total,
    /// Jobs in which a copy started.
    pub(super) with_copies: u64,
    pub(super) busy: Total,
    /// Work for jobs that were over.
    pub(super) late: u128,
    pub(super) prices: Prices,
    pub(super) waits: Waits,
    pub(super) turned_away: TurnedAway,
    /// Branches that backfill fills in.
    pub(super) backfills: Total,
    pub(super) peak: u64,
    pub(super) servers: Vec<ServerUse>,
    /// `None` where jobs are independent.
    pub(super) blocks: Option<Blocks>,
}

/// What was paid.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Prices {
    /// Of one call of each branch; `None` when no branch states a cost.
    pub(super) costs: Option<Vec<f64>>,
    /// Attempts of each branch that were launched.
    pub(super) launched: Vec<u64>,
    /// Of a job, in millionths of the highest cost of a call.
    pub(super) paid: Total,
}

/// Calls that a server turned away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TurnedAway {
    pub(super) attempts: Total,
    pub(super) branches: Total,
    pub(super) jobs: u64,
}

/// What a server did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerUse {
    /// Calls that came.
    pub calls: u64,
    /// Calls that it turned away.
    pub turned_away: u64,
    /// The most calls that it served at once.
    pub most: u64,
    pub(super) area: u128,
    pub(super) span: u128,
    pub(super) between: Between,
}

/// How blocks of jobs differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    pub(super) count: u64,
    pub(super) growth: Growth,
    pub(super) figures: [Between; FIGURES],
    pub(super) returned: Returned,
}

/// What blocks are compared in: sums, each with what it is divided by.
#[derive(Clone, Copy)]
pub(super) enum Figure {
    Return,
    Complete,
    Partial,
    Failed,
    Never,
    Extra,
    WithCopies,
    Busy,
    Cost,
    Wait,
    AttemptsTurnedAway,
    BranchesTurnedAway,
    JobsTurnedAway,
    Backfills,
}

const FIGURES: usize = Figure::Backfills as usize + 1;

/// How many jobs ended in which way; they add up to all.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// What it comes after had no answer, or the deadline came before its turn.
    pub dependency: u64,
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
    pub(super) total: Total,
}

impl Waits {
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
pub(super) const COMPLETE: usize = 0;
pub(super) const PARTIAL: usize = 1;
pub(super) const FAILED: usize = 2;
pub(super) const LISTS: [usize; 3] = [COMPLETE, PARTIAL, FAILED];

impl Summary {
    /// Of no jobs.
    pub(super) fn new(simulation: &Simulation) -> Summary {
        let plan = &simulation.plan;
        let costs = plan.branches().iter().map(|branch| branch.cost);
        let any = plan.branches().iter().any(|branch| branch.cost.is_some());
        let n = plan.n() as usize;
        Summary {
            returns: Times::new(),
            never: 0,
            outcomes: alloc::vec![Outcomes::default(); n],
            ledger: Ledger::default(),
            return_time: Total::default(),
            extra: Total::default(),
            with_copies: 0,
            busy: Total::default(),
            late: 0,
            prices: Prices {
                costs: any.then(|| costs.map(Option::unwrap_or_default).collect()),
                launched: alloc::vec![0; n],
                paid: Total::default(),
            },
            waits: Waits::default(),
            turned_away: TurnedAway::default(),
            backfills: Total::default(),
            peak: 0,
            servers: alloc::vec![ServerUse::default(); simulation.scenario.servers.len()],
            blocks: simulation.jobs_interact().then(Blocks::default),
        }
    }

    /// Counts a job that is over, or that nothing can happen to any more; whether a partial one is filled in later, in those of
    /// its branches that may be sent twice or never started.
    pub(super) fn record(&mut self, seat: &Seat, plan: &Plan, fills_in: bool) {
        let player = &seat.player;
        let verdict = player.verdict();
        let list = match verdict {
            Some(Verdict::Complete) => Some(COMPLETE),
            Some(Verdict::Partial) => Some(PARTIAL),
            Some(Verdict::Failed(_)) => Some(FAILED),
            None => None,
        };
        if let Some(list) = list {
            self.returns.push(list, player.elapsed());
            self.return_time.push(player.elapsed().as_nanos());
        } else {
            self.never += 1;
        }
        let fills_in = fills_in && verdict == Some(Verdict::Partial);
        let (mut attempts, mut started, mut gaps) = (0, 0, 0);
        for (counts, branch) in self.outcomes.iter_mut().zip(0..) {
            let (outcome, of_branch) = player.outcome_and_attempts(branch);
            *counts.of(outcome) += 1;
            let of_branch = u64::from(of_branch);
            self.prices.launched[branch as usize] += of_branch;
            attempts += of_branch;
            started += u64::from(of_branch > 0);
            let again = of_branch == 0 || plan.branches()[branch as usize].repeatable;
            gaps += u64::from(fills_in && again && outcome != Some(Outcome::Answered));
        }
        self.ledger.add(player.ledger());
        self.extra.push(attempts - started);
        self.with_copies += u64::from(player.ledger().copies.launched > 0);
        self.busy.push(seat.busy.as_nanos());
        self.prices.pay(|branch| player.outcome_and_attempts(branch).1);
        self.turned_away.record(&seat.turned_away);
        self.backfills.push(gaps);
    }

    /// Counts a job that returned after a time, and that attempts were busy for so long.
    #[inline]
    pub(super) fn returned_after(&mut self, list: usize, elapsed: Time, busy: u64) {
        self.returns.push(list, elapsed);
        self.return_time.push(elapsed.as_nanos());
        self.busy.push(busy);
    }

    /// Counts what jobs have in common that start all their branches at once: so many, and so many of them in which the
    /// first attempt of every branch answered. What they did beyond that is counted one by one.
    pub(super) fn alike(&mut self, played: u64, answered: u64) {
        let n = self.outcomes.len() as u64;
        self.ledger.primaries.launched += played * n;
        self.ledger.primaries.won += answered * n;
        self.outcomes.iter_mut().for_each(|outcomes| outcomes.answered += answered);
        self.prices.launched.iter_mut().for_each(|launched| *launched += played);
        for total in [&mut self.extra, &mut self.backfills] {
            total.zeros(played);
        }
        self.turned_away.none(played);
    }

    /// How long an attempt waited for its permit.
    pub(super) fn waited(&mut self, wait: Time) {
        self.waits.push(wait);
    }

    /// A server worked for a job that was over by then.
    pub(super) fn worked_late(&mut self, time: Time) {
        self.late += u128::from(time.as_nanos());
    }

    /// What the servers did while the jobs arrived: the meter of the slots of each, calls that came, and those turned away.
    pub(super) fn measure(&mut self, measured: &[(Meter, u64, u64)]) {
        for (server, (meter, calls, turned_away)) in self.servers.iter_mut().zip(measured) {
            (server.calls, server.turned_away, server.most) = (*calls, *turned_away, meter.most);
            (server.area, server.span) = (meter.area, meter.span);
            server.between = Between::of((meter.area, meter.span));
        }
    }

    /// So many calls were there when the first of the jobs arrived, and when the last did.
    pub(super) fn grew(&mut self, before: u64, after: u64) {
        if let Some(blocks) = &mut self.blocks {
            blocks.growth = Growth::of(before, after);
        }
    }

    /// So many attempts ran at once.
    pub(super) fn ran(&mut self, attempts: u64) {
        self.peak = self.peak.max(attempts);
    }

    /// To be called once the last job is recorded.
    pub(super) fn close(&mut self) {
        self.returns.sort();
        if self.blocks.is_some() && self.jobs() > 0 {
            let amounts = FIGURE_LIST.map(|figure| self.amount(figure));
            let returned = Returned::of(&self.returns, self.jobs());
            let growth = self.blocks.as_ref().map_or_else(Growth::default, |blocks| blocks.growth);
            self.blocks = Some(Blocks { count: 1, growth, figures: amounts.map(Between::of), returned });
        }
    }

    /// Adds the jobs of `other`, of the same simulation.
    ///
    /// # Panics
    /// When the numbers of branches or servers differ, or jobs interact in one of the two only.
    pub fn merge(&mut self, other: &Summary) {
        let shape =
            |summary: &Summary| (summary.outcomes.len(), summary.servers.len(), summary.blocks.is_some());
        assert_eq!(shape(self), shape(other), "summaries of one simulation are merged");
        self.returns.merge(&other.returns);
        self.never += other.never;
        self.outcomes.iter_mut().zip(&other.outcomes).for_each(|(mine, theirs)| mine.add(theirs));
        self.ledger.add(&other.ledger);
        self.return_time.add(&other.return_time);
        self.extra.add(&other.extra);
        self.with_copies += other.with_copies;
        self.busy.add(&other.busy);
        self.late += other.late;
        self.prices.paid.add(&other.prices.paid);
        for (mine, theirs) in self.prices.launched.iter_mut().zip(&other.prices.launched) {
            *mine += theirs;
        }
        self.waits.add(&other.waits);
        self.turned_away.add(&other.turned_away);
        self.backfills.add(&other.backfills);
        self.peak = self.peak.max(other.peak);
        self.servers.iter_mut().zip(&other.servers).for_each(|(mine, theirs)| mine.add(theirs));
        if let (Some(mine), Some(theirs)) = (&mut self.blocks, &other.blocks) {
            mine.add(theirs);
        }
    }

    /// A sum over all jobs, and what it is divided by.
    pub(super) fn amount(&self, figure: Figure) -> (u128, u128) {
        let jobs = u128::from(self.jobs());
        let of_jobs = |count: u64| (u128::from(count), jobs);
        match figure {
            Figure::Return => (self.return_time.sum(), self.returned().into()),
            Figure::Complete => of_jobs(self.returns.len(COMPLETE)),
            Figure::Partial => of_jobs(self.returns.len(PARTIAL)),
            Figure::Failed => of_jobs(self.returns.len(FAILED)),
            Figure::Never => of_jobs(self.never),
            Figure::Extra => (self.extra.sum(), jobs),
            Figure::WithCopies => of_jobs(self.with_copies),
            Figure::Busy => (self.busy.sum() + self.late, jobs),
            Figure::Cost => (self.prices.paid.sum(), jobs),
            Figure::Wait => (self.waits.total.sum(), self.waits.permits.into()),
            Figure::AttemptsTurnedAway => (self.turned_away.attempts.sum(), self.attempts().into()),
            Figure::BranchesTurnedAway => {
                (self.turned_away.branches.sum(), jobs * self.outcomes.len() as u128)
            }
            Figure::JobsTurnedAway => of_jobs(self.turned_away.jobs),
            Figure::Backfills => (self.backfills.sum(), jobs),
        }
    }
}

/// All figures, in their order.
const FIGURE_LIST: [Figure; FIGURES] = [
    Figure::Return,
    Figure::Complete,
    Figure::Partial,
    Figure::Failed,
    Figure::Never,
    Figure::Extra,
    Figure::WithCopies,
    Figure::Busy,
    Figure::Cost,
    Figure::Wait,
    Figure::AttemptsTurnedAway,
    Figure::BranchesTurnedAway,
    Figure::JobsTurnedAway,
    Figure::Backfills,
];

impl Prices {
    /// For a job that launched so many attempts of a branch.
    pub(super) fn pay(&mut self, attempts: impl Fn(u32) -> u32) {
        let Some(costs) = &self.costs else { return };
        let unit = costs.iter().copied().fold(0.0, f64::max) / 1e6;
        let paid: f64 = costs.iter().zip(0..).map(|(cost, branch)| cost * f64::from(attempts(branch))).sum();
        self.paid.push(if unit > 0.0 { (paid / unit + 0.5) as u64 } else { 0 });
    }
}

impl TurnedAway {
    /// Of so many jobs.
    pub(super) fn none(&mut self, jobs: u64) {
        self.attempts.zeros(jobs);
        self.branches.zeros(jobs);
    }

    /// The branches of a job's attempts that were turned away.
    fn record(&mut self, branches: &[u32]) {
        if branches.is_empty() {
            return self.none(1);
        }
        let mut distinct = branches.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        self.attempts.push(branches.len() as u64);
        self.branches.push(distinct.len() as u64);
        self.jobs += 1;
    }

    fn add(&mut self, other: &TurnedAway) {
        self.attempts.add(&other.attempts);
        self.branches.add(&other.branches);
        self.jobs += other.jobs;
    }
}

impl ServerUse {
    fn add(&mut self, other: &ServerUse) {
        self.calls += other.calls;
        self.turned_away += other.turned_away;
        self.most = self.most.max(other.most);
        self.area += other.area;
        self.span += other.span;
        self.between.add(&other.between);
    }
}

impl Blocks {
    fn add(&mut self, other: &Blocks) {
        self.count += other.count;
        self.growth.add(&other.growth);
        self.figures.iter_mut().zip(&other.figures).for_each(|(mine, theirs)| mine.add(theirs));
        self.returned.add(&other.returned);
    }
}

impl Outcomes {
    fn of(&mut self, outcome: Option<Outcome>) -> &mut u64 {
        match outcome {
            Some(Outcome::Answered) => &mut self.answered,
            Some(Outcome::Failed) => &mut self.failed,
            Some(Outcome::Missed) => &mut self.missed,
            Some(Outcome::NotStarted(NotStarted::NoPermit)) => &mut self.no_permit,
            Some(Outcome::NotStarted(NotStarted::Dependency)) => &mut self.dependency,
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
        self.dependency += other.dependency;
        self.refused += other.refused;
        self.job_failed += other.job_failed;
        self.unneeded += other.unneeded;
        self.cancelled += other.cancelled;
        self.never += other.never;
    }
}
