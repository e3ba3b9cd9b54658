//! What an attempt is told, and how it may fail.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fantail_core::job::{AttemptId, Failure, Role};
use fantail_core::{Branch, Plan, Time};
use tokio::time::Instant;

use crate::hold::Hold;
use crate::mail::Mailbox;
use crate::wakes::Wakes;
use crate::{Clock, IdempotencyKey, JobId};

/// One call made for a branch: handed to the branch's closure, which makes the call.
#[derive(Clone)]
pub struct Attempt {
    pub(crate) context: Arc<Context>,
    pub(crate) id: AttemptId,
    pub(crate) target: u32,
    /// Of the attempts that started before; empty for most, and then on no heap.
    pub(crate) tried: Vec<u32>,
    /// In the job's time.
    pub(crate) until: Option<Time>,
}

/// What the attempts of a job have in common.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) plan: Arc<Plan>,
    pub(crate) id: JobId,
    pub(crate) clock: Clock,
    pub(crate) mailbox: Arc<Mailbox>,
}

impl Context {
    pub(crate) fn new(plan: &Arc<Plan>, id: JobId, clock: Clock, wakes: &Arc<Wakes>) -> Arc<Context> {
        Arc::new(Context { plan: Arc::clone(plan), id, clock, mailbox: Mailbox::new(Arc::clone(wakes)) })
    }
}

impl Attempt {
    /// The branch's name.
    pub fn name(&self) -> &str {
        &self.declared().name
    }

    /// The branch's index in the plan.
    pub fn branch(&self) -> u32 {
        self.id.branch
    }

    /// The branch as the plan declares it.
    pub fn declared(&self) -> &Branch {
        &self.context.plan.branches()[self.id.branch as usize]
    }

    /// 0 for the primary, 1, 2, … for its copies, [`AttemptId::FAILOVER`] for the failover.
    pub fn number(&self) -> u8 {
        self.id.number
    }

    /// Primary, copy or failover.
    pub fn role(&self) -> Role {
        self.id.role()
    }

    /// Which of the branch's targets to call, from 0.
    pub fn target(&self) -> u32 {
        self.target
    }

    /// The targets of this branch's attempts that started before, in the order of their numbers.
    pub fn tried(&self) -> &[u32] {
        &self.tried
    }

    /// The job.
    pub fn job(&self) -> JobId {
        self.context.id
    }

    /// What all attempts for this branch of this job have in common, and the tries after it: an upstream that is told does
    /// the work once.
    pub fn key(&self) -> IdempotencyKey {
        self.context.id.key(self.id.branch)
    }

    /// When the job cuts this attempt; `None` when nothing will.
    pub fn deadline(&self) -> Option<Instant> {
        self.context.clock.instant(self.until?)
    }

    /// What the branches share is primed, for instance a prompt cache at the first byte of an answer: when this attempt's
    /// branch leads, the others need wait for it no longer.
    pub fn primed(&self) {
        if self.context.plan.leader().is_some() {
            self.context.mailbox.primed(self.id);
        }
    }

    /// How long from now until the job cuts this attempt; zero when that has passed, `None` when nothing will.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline().map(|until| until.saturating_duration_since(Instant::now()))
    }

    /// Keeps the attempt's permit out until the hold is dropped, even when the attempt has ended before: for work that
    /// goes on. To be taken while the attempt runs; later there is nothing to hold.
    pub fn hold(&self) -> Hold {
        Hold::new(&self.context.mailbox, self.id)
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("branch", &self.name())
            .field("number", &self.number())
            .field("target", &self.target)
            .field("tried", &self.tried)
            .field("key", &format_args!("{}", self.key()))
            .finish_non_exhaustive()
    }
}

/// Why an attempt has no answer. Every error converts into a [retryable](AttemptError::retryable) one.
pub struct AttemptError {
    failure: Failure,
    pause: Option<Duration>,
    source: Box<dyn Error + Send + Sync>,
}

impl AttemptError {
    /// The same request would fail again: no further attempt follows from it.
    pub fn permanent(source: impl Into<Box<dyn Error + Send + Sync>>) -> AttemptError {
        AttemptError { failure: Failure::Permanent, pause: None, source: source.into() }
    }

    /// Another try might succeed: the branch's next copy, if it has one, comes forward, or else it may fail over.
    pub fn retryable(source: impl Into<Box<dyn Error + Send + Sync>>) -> AttemptError {
        AttemptError { failure: Failure::Retryable, pause: None, source: source.into() }
    }

    /// The server asked to slow down; with `pause`, for how long, which pauses the branch's limiter for all who share it.
    pub fn pushback(
        source: impl Into<Box<dyn Error + Send + Sync>>,
        pause: Option<Duration>,
    ) -> AttemptError {
        AttemptError { failure: Failure::Pushback, pause, source: source.into() }
    }

    pub(crate) fn timed_out(timeout: Time) -> AttemptError {
        let source = format!("no answer within the attempt timeout of {timeout}").into();
        AttemptError { failure: Failure::TimedOut, pause: None, source }
    }

    /// How the job sees it.
    pub fn failure(&self) -> Failure {
        self.failure
    }

    /// How long the server asked to pause.
    pub fn pause(&self) -> Option<Duration> {
        self.pause
    }

    /// The error itself.
    pub fn get_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.source
    }
}

impl fmt::Display for AttemptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl fmt::Debug for AttemptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({:?})", self.failure, self.source)
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for AttemptError {
    fn from(error: E) -> AttemptError {
        AttemptError::retryable(error)
    }
}
