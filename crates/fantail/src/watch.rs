//! Who hears what becomes of a job: observers, and whoever subscribes to `tracing`.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use fantail_core::job::{AttemptId, Cut, Failure, Refusal, Role, Verdict};
use fantail_core::{Job, Plan};
use tracing::field::Empty;
use tracing::{Level, Span};

use crate::{Attempt, JobId};

/// Hears what happens in jobs, as it happens: for metrics. It is called in the jobs' tasks, so it must be quick.
///
/// Names under which the figures go, for whoever exports them:
///
/// | metric | counts |
/// |---|---|
/// | `fantail_jobs_total{plan,verdict}` | [`Note::Finished`], and [`Note::Dropped`] as `dropped` |
/// | `fantail_job_seconds{plan}` | [`Job::elapsed`] at [`Note::Finished`] |
/// | `fantail_attempts_total{plan,branch,role}` | [`Note::Started`]; with role `copy`: hedges launched |
/// | `fantail_attempts_ended_total{plan,branch,role,end}` | [`Note::Ended`]; with role `copy` and end `lost`: hedges in vain |
/// | `fantail_attempts_kept_total{plan,branch}` | [`Note::Kept`] |
/// | `fantail_kept_seconds_total{plan}` | [`Kept::busy`](fantail_core::Kept::busy) at [`Note::Observed`] |
/// | `fantail_refusals_total{plan,reason}` | [`Note::Refused`]; those of copies: hedges refused |
///
/// Whoever subscribes to `tracing`, at level debug, is told the same: a span `job`, in it a span `attempt` for each that
/// starts, and events where attempts end or are refused. The span of a copy follows from those of its branch's attempts
/// that run beside it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use fantail::{Fanout, Limiters, Note, Observer};
/// use fantail_core::job::Role;
/// use fantail_core::{BranchSpec, Hedge, Plan, PlanSpec};
///
/// #[derive(Default)]
/// struct Hedges(AtomicU64);
///
/// impl Observer for Hedges {
///     fn note(&self, _plan: &Plan, note: Note<'_>) {
///         if let Note::Started(attempt) = note
///             && attempt.role() == Role::Copy
///         {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
///
/// let read = BranchSpec { repeatable: true, hedge: Some(Hedge::race(3)), ..BranchSpec::new("read") };
/// let hedges = Arc::new(Hedges::default());
/// let read = Fanout::new(Plan::new(PlanSpec::new("read", vec![read]))?, &Limiters::default());
/// let read = read.observed(hedges.clone());
///
/// let mut job = read.job();
/// let page = job.required("read", |attempt| async move {
///     if attempt.number() < 2 { std::future::pending().await } else { Ok("page") }
/// });
/// assert_eq!(job.join().await?.take(page), "page");
/// assert_eq!(hedges.0.load(Ordering::Relaxed), 2);
/// # Ok(())
/// # }
/// ```
pub trait Observer: Send + Sync + 'static {
    /// Something happened in a job of `plan`.
    fn note(&self, plan: &Plan, note: Note<'_>);
}

/// What an [`Observer`] hears.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Note<'a> {
    /// An attempt has its permit and is about to be called.
    Started(&'a Attempt),
    /// An attempt will get no permit. What the plan itself rules out is in the [ledger](Job::ledger) only.
    Refused(AttemptId, Refusal),
    /// An attempt that started has ended, or was dropped.
    Ended(AttemptId, End),
    /// The job needs this attempt no more, and lets it run on to be measured.
    Kept(AttemptId),
    /// The job is over; this comes after the ends of its attempts, but for those that it keeps.
    Finished(&'a Job, Verdict),
    /// All that a job kept after it was over has ended; its [ledger](Job::ledger) says what that cost.
    Observed(&'a Job),
    /// The job was dropped before it was over, with whatever it ran.
    Dropped,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its answer is its branch's.
    Won,
    /// It failed. An attempt timeout is [`End::Cut`].
    Failed(Failure),
    /// It was dropped, or its answer came when the job needed it no more.
    Cut(Cut),
}

impl End {
    /// One word in lower case, for the label `end`.
    pub const fn as_str(self) -> &'static str {
        match self {
            End::Won => "won",
            End::Failed(_) => "failed",
            End::Cut(Cut::Lost) => "lost",
            End::Cut(Cut::TimedOut) => "timed_out",
            End::Cut(Cut::Deadline) => "deadline",
            End::Cut(Cut::JobEnded) => "job_ended",
        }
    }
}

/// A job's observer and its span.
pub(crate) struct Watch {
    observer: Option<(Arc<dyn Observer>, Arc<Plan>)>,
    span: Span,
    /// Whether anybody listened when the job started.
    heard: bool,
    over: bool,
}

impl Watch {
    pub(crate) fn start(observer: Option<&Arc<dyn Observer>>, plan: &Arc<Plan>, id: JobId) -> Watch {
        let span = tracing::debug_span!("job", plan = plan.name(), %id, verdict = Empty);
        Watch {
            observer: observer.map(|observer| (Arc::clone(observer), Arc::clone(plan))),
            heard: observer.is_some() || tracing::enabled!(Level::DEBUG),
            span,
            over: false,
        }
    }

    /// Whether anybody listens.
    pub(crate) fn is_heard(&self) -> bool {
        self.heard
    }

    /// The span of an attempt that is about to start, where anybody listens.
    pub(crate) fn started(&self, attempt: &Attempt) -> Span {
        self.note(Note::Started(attempt));
        let role = match attempt.role() {
            Role::Primary => "primary",
            Role::Copy => "copy",
            Role::Failover => "failover",
        };
        tracing::debug_span!(
            parent: &self.span,
            "attempt",
            branch = attempt.name(),
            number = attempt.number(),
            role,
            target = attempt.target(),
        )
    }

    pub(crate) fn refused(&self, attempt: AttemptId, reason: Refusal) {
        self.note(Note::Refused(attempt, reason));
        let AttemptId { branch, number } = attempt;
        tracing::debug!(parent: &self.span, branch, number, ?reason, "refused");
    }

    pub(crate) fn ended(&self, attempt: AttemptId, end: End) {
        if !self.heard {
            return;
        }
        self.note(Note::Ended(attempt, end));
        let AttemptId { branch, number } = attempt;
        tracing::debug!(parent: &self.span, branch, number, end = end.as_str(), "ended");
    }

    pub(crate) fn kept(&self, attempt: AttemptId) {
        if !self.heard {
            return;
        }
        self.note(Note::Kept(attempt));
        let AttemptId { branch, number } = attempt;
        tracing::debug!(parent: &self.span, branch, number, "kept");
    }

    pub(crate) fn observed(&self, job: &Job) {
        self.note(Note::Observed(job));
    }

    pub(crate) fn finished(&mut self, job: &Job, verdict: Verdict) {
        self.over = true;
        self.note(Note::Finished(job, verdict));
        self.span.record(
            "verdict",
            match verdict {
                Verdict::Complete => "complete",
                Verdict::Partial => "partial",
                Verdict::Failed(_) => "failed",
            },
        );
    }

    fn note(&self, note: Note<'_>) {
        if let Some((observer, plan)) = &self.observer {
            observer.note(plan, note);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.over {
            // Perhaps in the course of a panic, in which another one would end the process.
            drop(catch_unwind(AssertUnwindSafe(|| self.note(Note::Dropped))));
            self.span.record("verdict", "dropped");
        }
    }
}

impl fmt::Debug for dyn Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
