//! Single jobs, step by step.

use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use fantail_core::Time;
use fantail_core::job::{AttemptId, Event, Failure, Outcome, Refusal, Verdict};

use super::seat::Seat;

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

/// What is written down of single jobs.
pub(super) enum Record {
    /// How long each job of a range takes, with its number.
    Times { jobs: Range<u64>, times: Vec<(u64, Time)> },
    /// What the jobs with these numbers do, which are in order.
    Steps { jobs: Vec<u64>, traces: Vec<Trace> },
}

impl Record {
    /// Whether all that is wanted is there.
    pub(super) fn is_full(&self) -> bool {
        match self {
            Record::Times { jobs, times } => times.len() as u64 >= jobs.end.saturating_sub(jobs.start),
            Record::Steps { jobs, traces } => traces.len() >= jobs.len(),
        }
    }

    pub(super) fn wants_steps(&self, job: u64) -> bool {
        matches!(self, Record::Steps { jobs, .. } if jobs.binary_search(&job).is_ok())
    }

    /// A job returned after a time.
    pub(super) fn took(&mut self, job: u64, time: Time) {
        if let Record::Times { jobs, times } = self
            && jobs.contains(&job)
        {
            times.push((job, time));
        }
    }

    /// The job in this seat is over, or will never be.
    pub(super) fn over(&mut self, seat: &mut Seat, branches: u32) {
        let verdict = seat.player.verdict();
        let elapsed = if verdict.is_some() { seat.player.elapsed() } else { Time::MAX };
        self.took(seat.number, elapsed);
        if let Record::Steps { jobs, traces } = self
            && jobs.binary_search(&seat.number).is_ok()
        {
            let mut steps = mem::take(&mut seat.steps);
            steps.sort_by_key(|step| step.at);
            let outcome = |branch| seat.player.outcome_and_attempts(branch).0;
            let outcomes = (0..branches).map(outcome).collect();
            traces.push(Trace { job: seat.number, elapsed, verdict, outcomes, steps });
        }
    }

    pub(super) fn into_times(self) -> Vec<(u64, Time)> {
        match self {
            Record::Times { times, .. } => times,
            Record::Steps { .. } => Vec::new(),
        }
    }

    pub(super) fn into_traces(self) -> Vec<Trace> {
        match self {
            Record::Steps { traces, .. } => traces,
            Record::Times { .. } => Vec::new(),
        }
    }
}
