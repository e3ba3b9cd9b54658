//! A job that runs, whose answers are taken as they come.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use fantail_core::job::Verdict;
use futures_core::Stream;

use crate::calls::Answers;
use crate::driver::Driver;
use crate::fanout::Keep;
use crate::{Done, Handle, JobId, JoinError};

/// A job that has started: gives its answers as they come, then its result. Dropping it cancels what it started.
///
/// It runs while it is polled, in the task that polls it: through [`Running::next`], [`Running::finish`], or, while a
/// reader is busy with an answer, [`Running::meanwhile`].
///
/// # Panics
/// A panic in a branch comes through where the job is polled, and the job is over then: to poll it once more panics, and to drop
/// it frees what it holds.
///
/// ```
/// # use fantail::{Fanout, Limiters};
/// # use fantail_core::{BranchSpec, Plan, PlanSpec};
/// # async fn render(hit: u64) {}
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let plan = Plan::new(PlanSpec::new("search", ["s0", "s1", "s2"].map(BranchSpec::new).to_vec()))?;
/// # let search = Fanout::new(plan, &Limiters::default());
/// let mut job = search.job();
/// let hits = job.each(|attempt| async move {
///     let latency = 30 - 10 * u64::from(attempt.branch());
///     tokio::time::sleep(std::time::Duration::from_millis(latency)).await;
///     Ok(latency)
/// });
/// let mut running = job.start()?;
/// let mut seen = Vec::new();
/// while let Some(branch) = running.next().await {
///     let hit = running.answer(&hits, branch).expect("all branches are behind this handle");
///     seen.push((branch, hit));
///     running.meanwhile(render(hit)).await;
/// }
/// let done = running.finish().await?;
/// assert_eq!(seen, [(2, 10), (1, 20), (0, 30)]);
/// assert_eq!(done.incomplete().count(), 0);
/// # Ok(())
/// # }
/// ```
#[must_use = "a job runs while it is polled"]
pub struct Running<'f> {
    driver: Driver<'f>,
    keep: Option<Keep<'f>>,
    verdict: Option<Verdict>,
    /// While it is polled, and so for good once that has panicked.
    polled: bool,
}

impl<'f> Running<'f> {
    pub(crate) fn new(driver: Driver<'f>, keep: Option<Keep<'f>>) -> Running<'f> {
        Running { driver, keep, verdict: None, polled: false }
    }

    /// The next branch that has answered, in the order in which they did, and of those that are found at one look in the
    /// plan's order; `None` when the job is over.
    pub async fn next(&mut self) -> Option<u32> {
        poll_fn(|task| Pin::new(&mut *self).poll_next(task)).await
    }

    /// The answer of a branch, if the handle stands for that branch and it has answered. It is not in the result then.
    ///
    /// # Panics
    /// When the handle is of another job, with answers of another type.
    pub fn answer<H: Handle>(&mut self, handle: &H, branch: u32) -> Option<H::Answer> {
        let answers = self.driver.answers_mut(branch).filter(|_| handle.covers(branch))?;
        let answers: &mut dyn Any = answers;
        let answers: Option<&mut Answers<H::Answer>> = answers.downcast_mut();
        answers.expect("a handle has the type of the answers that it stands for").slot(branch)?.take()
    }

    /// Awaits `future` while the job goes on.
    pub async fn meanwhile<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|task| {
            let _ = self.poll(task);
            future.as_mut().poll(task)
        })
        .await
    }

    /// The result, without the answers that were taken. What an [observed](crate::JobBuilder::observe) job keeps runs on
    /// from here.
    ///
    /// # Errors
    /// [`JoinError::Failed`] when the verdict is failed.
    pub async fn finish(mut self) -> Result<Done, JoinError> {
        let verdict = poll_fn(|task| self.poll(task)).await;
        self.driver.into_result(verdict, self.keep)
    }

    /// The job's id.
    pub fn id(&self) -> JobId {
        self.driver.id()
    }

    fn poll(&mut self, task: &mut Context<'_>) -> Poll<Verdict> {
        if let Some(verdict) = self.verdict {
            return Poll::Ready(verdict);
        }
        assert!(!self.polled, "a job is over once one of its branches has panicked");
        self.polled = true;
        let poll = self.driver.poll(task);
        self.polled = false;
        if let Poll::Ready(verdict) = poll {
            self.verdict = Some(verdict);
        }
        poll
    }
}

/// The branches that have answered, in the order in which they did.
impl Stream for Running<'_> {
    type Item = u32;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<u32>> {
        if let Some(branch) = self.driver.arrived() {
            return Poll::Ready(Some(branch));
        }
        let over = self.poll(task).is_ready();
        match self.driver.arrived() {
            None if !over => Poll::Pending,
            arrived => Poll::Ready(arrived),
        }
    }
}

impl std::fmt::Debug for Running<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running")
            .field("job", &self.id())
            .field("verdict", &self.verdict)
            .finish_non_exhaustive()
    }
}
