//! Attempts that run outside the job's task.

use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use tokio::task::JoinHandle;

use crate::under::Under;
use crate::{Attempt, AttemptError};

impl Attempt {
    /// Runs `future` as a task of its own on tokio's runtime: for work that computes for long, which would hold up the
    /// job's other branches in their common task.
    ///
    /// Dropping what it returns aborts the task. Since a task ends at its next `.await`, the attempt's permit is held until
    /// it really has.
    ///
    /// # Panics
    /// Outside a tokio runtime. A panic of the task comes through where it is awaited.
    ///
    /// ```
    /// # use fantail::{Fanout, Limiters};
    /// # use fantail_core::{BranchSpec, Plan, PlanSpec};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let plan = Plan::new(PlanSpec::new("plan", vec![BranchSpec::new("digest")]))?;
    /// # let plan = Fanout::new(plan, &Limiters::default());
    /// let mut job = plan.job();
    /// let digest = job.required("digest", |attempt| attempt.spawn_blocking(|| Ok((0..1_000_u64).sum::<u64>())));
    /// assert_eq!(job.join().await?.take(digest), 499_500);
    /// # Ok(())
    /// # }
    /// ```
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, AttemptError>> + Send + 'static,
    ) -> Spawned<T> {
        let (hold, under) = (self.hold(), Under::current());
        Spawned(tokio::spawn(async move {
            let _hold = hold;
            let mut future = pin!(future);
            poll_fn(|task| under.poll(|| future.as_mut().poll(task))).await
        }))
    }

    /// Runs `work` on tokio's pool for blocking work.
    ///
    /// Dropping what it returns takes it out of the pool's queue; once it runs, nothing stops it, and the attempt's permit
    /// is held until it has ended. [`Attempt::time_left`] tells long work when to give up.
    ///
    /// # Panics
    /// Outside a tokio runtime. A panic of the work comes through where it is awaited.
    pub fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, AttemptError> + Send + 'static,
    ) -> Spawned<T> {
        let (hold, under) = (self.hold(), Under::current());
        Spawned(tokio::task::spawn_blocking(move || {
            let _hold = hold;
            under.poll(work)
        }))
    }
}

/// The outcome of an attempt that runs outside the job's task, as a future. Dropping it aborts the attempt.
#[derive(Debug)]
#[must_use = "a spawned attempt is aborted when this is dropped"]
pub struct Spawned<T>(JoinHandle<Result<T, AttemptError>>);

impl<T> Future for Spawned<T> {
    type Output = Result<T, AttemptError>;

    fn poll(mut self: Pin<&mut Spawned<T>>, task: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match ready!(Pin::new(&mut self.0).poll(task)) {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(shutdown) => Err(AttemptError::permanent(shutdown)),
            },
        })
    }
}

impl<T> Drop for Spawned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
