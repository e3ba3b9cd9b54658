//! What a job came to.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use fantail_core::job::{Cause, NotStarted, Outcome, Refusal, Slot, Verdict};
use fantail_core::{Job, Ledger, Time};

use crate::calls::Answers;
use crate::desk::{Desk, Pool};
use crate::{AttemptError, Handle, JobId};

/// A result: complete or partial. Within [`Failed`], what was answered all the same.
#[must_use]
pub struct Done {
    id: JobId,
    verdict: Verdict,
    /// `None` once it was handed back.
    desk: Option<Box<Desk>>,
    pool: Arc<Pool>,
}

impl Done {
    pub(crate) fn new(id: JobId, verdict: Verdict, desk: Box<Desk>, pool: Arc<Pool>) -> Done {
        Done { id, verdict, desk: Some(desk), pool }
    }

    fn desk(&self) -> &Desk {
        self.desk.as_ref().expect("a result keeps its desk until it is dropped")
    }

    /// The answers of the branches that share their call with this one.
    pub(crate) fn answers_of<T: 'static>(&mut self, branch: u32) -> Option<&mut Answers<T>> {
        let desk = self.desk.as_mut()?;
        let calls = *desk.calls_of.get(branch as usize)?;
        let answers: &mut dyn Any = &mut **desk.answers().get_mut(calls as usize)?;
        answers.downcast_mut()
    }

    /// Takes the answers behind a handle: `T` of a required branch, `Option<T>` of an optional one.
    ///
    /// # Panics
    /// When the handle is of another job; for a required branch also when it has not answered, which only a
    /// [failed](Failed::into_done) job may lack, or when its answer was taken [before](crate::Running::answer).
    pub fn take<H: Handle>(&mut self, handle: H) -> H::Output {
        handle.take(self)
    }

    /// Takes the answer of a branch, whether or not it is required: `None` when there is none, or none of type `T`.
    pub fn answer<T: 'static>(&mut self, branch: u32) -> Option<T> {
        self.answers_of(branch)?.slot(branch)?.take()
    }

    /// The job's id.
    pub fn id(&self) -> JobId {
        self.id
    }

    /// How the job ended.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// What became of a branch, when, and in how many attempts.
    ///
    /// # Panics
    /// When the plan has no such branch.
    pub fn slot(&self, branch: u32) -> Slot {
        self.job().slot(branch).expect("the index is one of the plan's branches")
    }

    /// What became of a branch.
    ///
    /// # Panics
    /// When the plan has no such branch.
    pub fn outcome(&self, branch: u32) -> Outcome {
        self.slot(branch).outcome.expect("every branch of a finished job has an outcome")
    }

    /// The branches that the result lacks, by index; none when it is complete.
    pub fn incomplete(&self) -> impl Iterator<Item = u32> + '_ {
        self.job().incomplete()
    }

    /// What the attempts of a branch failed with, the primary's error first.
    ///
    /// # Panics
    /// When the plan has no such branch.
    pub fn errors(&self, branch: u32) -> &[AttemptError] {
        assert!(branch < self.job().plan().n(), "the index is one of the plan's branches");
        self.desk().errors.get(branch as usize).map_or(&[], Vec::as_slice)
    }

    /// Attempts, busy time and refusals.
    pub fn ledger(&self) -> &Ledger {
        self.job().ledger()
    }

    /// From the job's start to its verdict.
    pub fn elapsed(&self) -> Time {
        self.job().elapsed()
    }

    /// The machine in its final state.
    pub fn job(&self) -> &Job {
        self.desk().job()
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        if let Some(desk) = self.desk.take() {
            self.pool.put(desk);
        }
    }
}

impl fmt::Debug for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcomes: Vec<_> = (0..self.job().plan().n()).map(|branch| self.outcome(branch)).collect();
        f.debug_struct("Done")
            .field("verdict", &self.verdict())
            .field("outcomes", &outcomes)
            .field("errors", &self.desk().errors)
            .field("elapsed", &self.elapsed())
            .finish_non_exhaustive()
    }
}

/// Why a job has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// The branches given are not those of the plan: nothing was started.
    Invalid(Vec<Misuse>),
    /// The verdict is failed.
    Failed(Box<Failed>),
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Invalid(misuses) => {
                let texts: Vec<String> = misuses.iter().map(Misuse::to_string).collect();
                f.write_str(&texts.join("; "))
            }
            JoinError::Failed(failed) => failed.fmt(f),
        }
    }
}

impl std::error::Error for JoinError {}

/// A way in which the branches given to a job are not those of its plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// The plan has no branch of this name.
    Unknown(String),
    /// This branch was given more than once.
    Twice(String),
    /// This branch was not given.
    Missing(String),
    /// This branch was given as required, but the plan says that it is optional.
    NotRequired(String),
    /// This branch was given a call that can be made once, but the plan has copies of it, or a failover.
    Repeated(String),
    /// The plan observes a share of its jobs, and this one can keep nothing that it needs no more.
    Unobserved,
    /// The items are not as many as the branches that are left for them.
    Count {
        /// How many items, or batches of items.
        items: usize,
        /// How many branches have no call of their own.
        branches: usize,
    },
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misuse::Unknown(name) => write!(f, "the plan has no branch `{name}`"),
            Misuse::Twice(name) => write!(f, "branch `{name}` was given twice"),
            Misuse::Missing(name) => write!(f, "branch `{name}` was not given"),
            Misuse::NotRequired(name) => {
                write!(f, "branch `{name}` was given as required, but the plan has it optional")
            }
            Misuse::Repeated(name) => {
                write!(f, "branch `{name}` can be called once only, but the plan has more attempts for it")
            }
            Misuse::Unobserved => f.write_str(
                "the plan observes a share of its jobs, whose calls must be able to outlive them: call `observe`",
            ),
            Misuse::Count { items, branches } => {
                write!(f, "{items} items were given to {branches} branches")
            }
        }
    }
}

/// A job that failed, with its cause and the answers it paid for.
#[derive(Debug)]
pub struct Failed(pub(crate) Done);

impl Failed {
    /// The root cause.
    pub fn cause(&self) -> Cause {
        match self.0.verdict() {
            Verdict::Failed(cause) => cause,
            verdict => unreachable!("a failed job has a cause, not the verdict {verdict:?}"),
        }
    }

    /// What was answered all the same, and what became of every branch.
    pub fn into_done(self) -> Done {
        self.0
    }
}

impl std::ops::Deref for Failed {
    type Target = Done;

    fn deref(&self) -> &Done {
        &self.0
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.0.job().plan();
        let (branch, what) = match self.cause() {
            Cause::Required(branch) => (branch, String::from("is required")),
            Cause::TooFew(branch) => (
                branch,
                format!(
                    "leaves too few: {} of at least {} answered",
                    self.0.job().answers(),
                    plan.at_least()
                ),
            ),
            Cause::Dropped => return f.write_str("the job was dropped"),
        };
        let name = &plan.branches()[branch as usize].name;
        let outcome = match self.0.outcome(branch) {
            Outcome::Failed => "failed",
            Outcome::Missed => "missed its deadline",
            Outcome::NotStarted(NotStarted::NoPermit) => "got no permit by its deadline",
            Outcome::NotStarted(NotStarted::Dependency) => "did not have its turn by its deadline",
            Outcome::NotStarted(NotStarted::Refused(Refusal::Pushback)) => {
                "was not started, since the server asked for a pause,"
            }
            Outcome::NotStarted(NotStarted::Refused(_)) => "was refused by its limiter",
            _ => "has no answer",
        };
        write!(f, "branch `{name}` {outcome} and {what}")?;
        match self.0.errors(branch).first() {
            Some(error) => write!(f, ": {error}"),
            None => Ok(()),
        }
    }
}
