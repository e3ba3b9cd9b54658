//! Single jobs, step by step.

use alloc::vec::Vec;

use fantail_core::Time;
use fantail_core::job::{AttemptId, Event, Failure, Outcome, Refusal, Verdict};

/// What one job did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Its number.
    pub job: u64,
    /// From its start to its end; [`Time::MAX`] when it never ended.
    pub elapsed: Time,
    /// How it ended; `None` when it never did.
    pub verdict: Option<Verdict>,
    /// What became of each branch, in the plan's order; `None` for one that is open in a job that never ended.
    pub outcomes: Vec<Option<Outcome>>,
    /// What happened, in order.
    pub steps: Vec<Step>,
}

/// One step of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// From the job's start.
    pub at: Time,
    /// The attempt that it happened to. Tries of a client that knows no plan are all the branch's primary.
    pub attempt: AttemptId,
    /// What happened.
    pub what: Happened,
}

/// What happens to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// It asked for a permit.
    Asked,
    /// It will get none.
    Refused(Refusal),
    /// It started.
    Started,
    /// A server began to serve it. Known of calls that were served to their end.
    Served,
    /// It answered.
    Answered,
    /// It failed; [`Failure::Pushback`]: it was turned away.
    Failed(Failure),
    /// The job dropped it.
    Dropped,
}

impl Happened {
    /// What an event says of an attempt.
    pub(super) fn of(event: Event) -> Option<(AttemptId, Happened)> {
        match event {
            Event::Answered(attempt) => Some((attempt, Happened::Answered)),
            Event::Failed(attempt, failure) => Some((attempt, Happened::Failed(failure))),
            Event::Refused(attempt, reason) => Some((attempt, Happened::Refused(reason))),
            _ => None,
        }
    }
}
