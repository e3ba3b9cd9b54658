//! What a job is told, and what it asks its driver to do.

use crate::Time;
use crate::plan::MAX_COPIES;

/// One attempt of one branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    /// Index of the branch in the plan.
    pub branch: u32,
    /// 0 for the primary, then 1, 2, … for its copies in the order of the declared delays; [`AttemptId::FAILOVER`].
    pub number: u8,
}

impl AttemptId {
    /// The number of every failover, whether or not its branch has copies.
    pub const FAILOVER: u8 = MAX_COPIES as u8 + 1;

    /// The primary of `branch`.
    pub const fn primary(branch: u32) -> AttemptId {
        AttemptId { branch, number: 0 }
    }

    /// The failover of `branch`.
    pub const fn failover(branch: u32) -> AttemptId {
        AttemptId { branch, number: AttemptId::FAILOVER }
    }

    /// What the attempt is to its branch.
    pub const fn role(self) -> Role {
        match self.number {
            0 => Role::Primary,
            AttemptId::FAILOVER => Role::Failover,
            _ => Role::Copy,
        }
    }
}

/// What an attempt is to its branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The branch's first attempt.
    Primary,
    /// An attempt beside it: a hedge, or a contender of a race.
    Copy,
    /// An attempt at another target, in place of those that failed.
    Failover,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 3] = [Role::Primary, Role::Copy, Role::Failover];
}

/// What happened, told to [`Job::step`](super::Job::step).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A running attempt came to an acceptable answer (a stream: to its first acceptable item).
    Answered(AttemptId),
    /// A running attempt has primed what the branches share, and runs on: its branch's followers need not wait for the
    /// answer. Means nothing when its branch does not lead.
    Primed(AttemptId),
    /// A running attempt ended in an error.
    Failed(AttemptId, Failure),
    /// An attempt that was asked for may start.
    Granted(AttemptId),
    /// An attempt that was asked for will never get a permit.
    Refused(AttemptId, Refusal),
    /// Nobody wants the result any more.
    Dropped,
}

/// How an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The same request would fail again.
    Permanent,
    /// Another try might succeed.
    Retryable,
    /// The server asked to slow down: no other attempt follows from it.
    Pushback,
    /// The attempt timeout elapsed. Only the job itself says so.
    TimedOut,
}

/// Why an attempt will never start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The budget for copies, or that for failovers, has no credit.
    Budget,
    /// Less than `min_useful` is left before the deadline.
    NoTimeLeft,
    /// The limiter is paused by a pushback for longer than the attempt can wait.
    Pushback,
    /// The attempt weighs more than the limiter can ever permit, or the limiter is gone.
    Limiter,
}

impl Refusal {
    /// All of them, in the order of the ledger's counts.
    pub const ALL: [Refusal; 4] = [Refusal::Budget, Refusal::NoTimeLeft, Refusal::Pushback, Refusal::Limiter];
}

/// Who goes first when permits are short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Primaries and failovers.
    First,
    /// Copies of required branches.
    RequiredCopy,
    /// Copies of optional branches.
    OptionalCopy,
    /// Work outside any barrier.
    Backfill,
}

impl Class {
    /// How many there are.
    pub const COUNT: usize = 4;
}

/// What the driver does next, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Get a permit for `attempt`, from the branch's limiter if it has one, then report [`Event::Granted`] or
    /// [`Event::Refused`]. When `budgeted`, credit is taken together with the permit: of the plan's failover budget for a
    /// [failover](Role::Failover), else of its hedge budget.
    Ask {
        /// For which attempt.
        attempt: AttemptId,
        /// Who goes first.
        class: Class,
        /// Whether a budget applies.
        budgeted: bool,
        /// The instant from which a permit would be of no use.
        until: Option<Time>,
    },
    /// The permit is not wanted any more: leave the queue, or hand the unused permit back.
    Withdraw(AttemptId),
    /// Run `attempt` under its permit.
    Start {
        /// Which attempt.
        attempt: AttemptId,
        /// Which of the branch's targets, from 0.
        target: u32,
        /// The instant at which the job will cut it.
        until: Option<Time>,
    },
    /// Let a running attempt that the job needs no more run on under its permit, apart from the job if that ends: in an
    /// [observed](super::Job::is_observed) job. Its end is reported as that of any other, and the job cancels it in time.
    Keep(AttemptId),
    /// Drop a running attempt and hand its permit back.
    Cancel(AttemptId, Cut),
    /// The job is over; all it started has been dropped by the actions before this one, but for what was kept.
    Finish(Verdict),
}

/// Why a running attempt is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cut {
    /// Another attempt of its branch won.
    Lost,
    /// Its attempt timeout elapsed.
    TimedOut,
    /// The branch's deadline passed.
    Deadline,
    /// The job is over.
    JobEnded,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The barrier was met.
    Complete,
    /// Nothing more can arrive; every required branch and at least `at_least` branches answered.
    Partial,
    /// There is no result.
    Failed(Cause),
}

/// The root cause of a failed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// This required branch can no longer answer; its outcome says why.
    Required(u32),
    /// So few branches can still answer that `at_least` is out of reach; this one tipped it.
    TooFew(u32),
    /// The job was dropped.
    Dropped,
}

/// What became of a branch: every branch of a finished job has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It answered.
    Answered,
    /// Every attempt that started ended in an error or its timeout, and none may start.
    Failed,
    /// An attempt was running when the deadline cut it.
    Missed,
    /// No attempt started.
    NotStarted(NotStarted),
    /// The barrier was met without it.
    Unneeded,
    /// It had started when the job failed or was dropped.
    Cancelled,
}

/// Why a branch never started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotStarted {
    /// No permit came before the deadline.
    NoPermit,
    /// A branch that it comes after can no longer answer; or the deadline came before it was its turn, after those
    /// branches and after the leader.
    Dependency,
    /// Its permit was refused.
    Refused(Refusal),
    /// The job failed or was dropped first.
    JobFailed,
}
