//! Permits that outlive their attempt, for work that the job cannot end by dropping a future.

use std::collections::HashMap;
use std::sync::Arc;

use fantail_core::job::AttemptId;

use crate::limiter::Permit;
use crate::mail::Mailbox;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, lock};

/// Keeps the permit of an attempt out, and the credit of its copy in flight, until it is dropped.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use fantail::{Fanout, Limiters};
/// use fantail_core::{BranchSpec, LimiterSpec, Plan, PlanSpec};
///
/// let llm = LimiterSpec { gate: Some(1), ..LimiterSpec::new("llm") };
/// let branch = BranchSpec { limiter: Some(0), ..BranchSpec::new("chat") };
/// let plan = Plan::new(PlanSpec { limiters: vec![llm], ..PlanSpec::new("chat", vec![branch]) })?;
/// let chat = Fanout::new(plan, &Limiters::default());
///
/// let mut job = chat.job();
/// let hold = job.required("chat", |attempt| async move { Ok(attempt.hold()) });
/// let hold = job.join().await?.take(hold);
/// let llm = chat.limiter(0).expect("the plan has one");
/// assert_eq!(llm.held(), 1);
/// drop(hold);
/// assert_eq!(llm.held(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a permit is held until this is dropped"]
pub struct Hold {
    mailbox: Arc<Mailbox>,
    attempt: AttemptId,
}

impl Hold {
    pub(crate) fn new(mailbox: &Arc<Mailbox>, attempt: AttemptId) -> Hold {
        mailbox.holds.add(attempt);
        Hold { mailbox: Arc::clone(mailbox), attempt }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // Dropped here, once the lock is free: it lets others have what it was.
        let _permit = self.mailbox.holds.remove(self.attempt);
    }
}

/// The holds of a job's attempts.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    /// Whether there ever was one, so that jobs without take no lock.
    any: AtomicBool,
    held: Mutex<HashMap<AttemptId, Held>>,
}

#[derive(Debug, Default)]
struct Held {
    holds: usize,
    /// What the job has let go of.
    permit: Option<Permit>,
}

impl Holds {
    fn add(&self, attempt: AttemptId) {
        self.any.store(true, Ordering::Release);
        lock(&self.held).entry(attempt).or_default().holds += 1;
    }

    /// Another job follows, and nobody holds anything of this one any more.
    pub(crate) fn forget(&mut self) {
        self.any.store(false, Ordering::Relaxed);
    }

    /// Whether anybody ever held a permit of the job.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Keeps the permit of an attempt that the job has let go of while somebody holds it; if nobody does, returns it.
    pub(crate) fn keep(&self, attempt: AttemptId, permit: Permit) -> Option<Permit> {
        match lock(&self.held).get_mut(&attempt) {
            Some(held) => held.permit.replace(permit),
            None => Some(permit),
        }
    }

    fn remove(&self, attempt: AttemptId) -> Option<Permit> {
        let mut held = lock(&self.held);
        let entry = held.get_mut(&attempt)?;
        entry.holds -= 1;
        if entry.holds > 0 {
            return None;
        }
        held.remove(&attempt)?.permit
    }
}
