//! What the tests share: short ways to state plans and attempts, and counts of what is alive.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use fantail::{AttemptError, Fanout, Limiters};
use fantail_core::{BranchSpec, Hedge, LimiterSpec, Plan, PlanSpec, Rate, Time};

pub(crate) fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

pub(crate) fn fanout(spec: PlanSpec) -> Fanout {
    shared(spec, &Limiters::default())
}

pub(crate) fn shared(spec: PlanSpec, limiters: &Limiters) -> Fanout {
    Fanout::new(Plan::new(spec).expect("the plan of a test is valid"), limiters)
}

pub(crate) fn required(names: &[&str]) -> Vec<BranchSpec> {
    names.iter().copied().map(BranchSpec::new).collect()
}

pub(crate) fn optional(name: &str) -> BranchSpec {
    BranchSpec { required: Some(false), ..BranchSpec::new(name) }
}

/// `n` branches under the plan's first limiter.
pub(crate) fn limited(n: usize) -> Vec<BranchSpec> {
    (0..n).map(|i| BranchSpec { limiter: Some(0), ..BranchSpec::new(i.to_string()) }).collect()
}

/// A branch with a copy after `delay`.
pub(crate) fn hedged(name: &str, delay: u64) -> BranchSpec {
    BranchSpec { repeatable: true, hedge: Some(Hedge::after(ms(delay))), ..BranchSpec::new(name) }
}

pub(crate) fn gate(permits: u32) -> LimiterSpec {
    LimiterSpec { gate: Some(permits), ..LimiterSpec::new("account") }
}

/// One permit in every `per`.
pub(crate) fn rate(per: Time, burst: u32) -> LimiterSpec {
    LimiterSpec { rate: Some(Rate { permits: 1, per, burst }), ..LimiterSpec::new("account") }
}

pub(crate) async fn sleep(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

pub(crate) async fn after<T>(millis: u64, answer: T) -> Result<T, AttemptError> {
    sleep(millis).await;
    Ok(answer)
}

pub(crate) async fn fails<T>(millis: u64, error: &str) -> Result<T, AttemptError> {
    sleep(millis).await;
    Err(AttemptError::permanent(error))
}

/// Polls once, whatever it wakes.
pub(crate) async fn poll_once<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    poll_fn(|task| Poll::Ready(future.as_mut().poll(task))).await
}

/// Counts what is alive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Census(Arc<AtomicUsize>);

impl Census {
    pub(crate) fn alive(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Alive until it is dropped.
    pub(crate) fn enter(&self) -> Resident {
        self.0.fetch_add(1, Ordering::SeqCst);
        Resident(Arc::clone(&self.0))
    }

    /// `future`, alive from now until it is dropped, polled or not.
    pub(crate) fn count<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let resident = self.enter();
        async move {
            let _resident = resident;
            future.await
        }
    }
}

#[derive(Debug)]
pub(crate) struct Resident(Arc<AtomicUsize>);

impl Drop for Resident {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
