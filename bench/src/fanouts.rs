//! One fan-out, written by hand in the ways in which people write it, and as a job of fantail.
//!
//! Each asks k branches for their numbers and adds up what they answer.

use std::num::NonZeroU32;
use std::pin::pin;
use std::time::Duration;

use fantail::{Fanout, Limiters};
use fantail_core::{BranchSpec, LimiterSpec, LiveDelaySpec, Plan, PlanSpec, Quantile, Rate, Time, WaitFor};
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{sleep, timeout};
use tower::buffer::Buffer;
use tower::hedge::Hedge;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

/// More than a job takes.
const DEADLINE: Duration = Duration::from_secs(30);
/// More than a branch takes: every hedge is armed and none is sent.
const HEDGE: Duration = Duration::from_secs(5);
/// The same for tower's hedge, in milliseconds: it counts through its histogram up to there for each call.
const TOWER_MS: u64 = 200;
/// A gate for more than run at once.
pub const WIDE: u32 = 1_000_000;
/// A gate that most branches of a job wait for.
pub const NARROW: u32 = 10;
/// More than start in a second.
const RATE: u32 = u32::MAX;

/// What a branch does before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Nothing: it is ready when it is first polled.
    Ready,
    /// It wakes itself, and is ready when it is polled again.
    Yields,
    /// It waits for a timer.
    Sleeps,
}

impl Work {
    /// All of them.
    pub const ALL: [Work; 3] = [Work::Ready, Work::Yields, Work::Sleeps];

    async fn call(self, branch: u64) -> u64 {
        match self {
            Work::Ready => {}
            Work::Yields => yield_now().await,
            Work::Sleeps => sleep(Duration::from_millis(1)).await,
        }
        branch
    }
}

/// Waits for all and has no policy.
pub async fn by_join_all(work: Work, k: u64) -> u64 {
    join_all((0..k).map(|branch| work.call(branch))).await.into_iter().sum()
}

/// Takes answers as they come and has no policy.
pub async fn by_futures_unordered(work: Work, k: u64) -> u64 {
    let calls: FuturesUnordered<_> = (0..k).map(|branch| work.call(branch)).collect();
    calls.fold(0, async |sum, answer| sum + answer).await
}

/// A task for each branch, and no policy.
///
/// # Panics
/// When a task does.
pub async fn by_join_set(work: Work, k: u64) -> u64 {
    let mut tasks: JoinSet<u64> = (0..k).map(|branch| work.call(branch)).collect();
    let mut sum = 0;
    while let Some(answer) = tasks.join_next().await {
        sum += answer.expect("no branch panics");
    }
    sum
}

/// What many services start from: a gate, and a deadline for each branch.
pub async fn by_semaphore(gate: &Semaphore, work: Work, k: u64) -> u64 {
    let branch = |branch| async move {
        let guarded = async {
            let _permit = gate.acquire().await.ok()?;
            Some(work.call(branch).await)
        };
        timeout(DEADLINE, guarded).await.ok().flatten().unwrap_or(0)
    };
    join_all((0..k).map(branch)).await.into_iter().sum()
}

/// A gate.
pub fn semaphore(gate: u32) -> Semaphore {
    Semaphore::new(gate as usize)
}

/// Rate, gate, deadline and hedge from the usual parts.
pub struct ByHand {
    rate: DefaultDirectRateLimiter,
    gate: Semaphore,
}

impl ByHand {
    /// With this gate.
    pub fn new(gate: u32) -> ByHand {
        let quota = Quota::per_second(NonZeroU32::MAX);
        ByHand { rate: RateLimiter::direct(quota), gate: semaphore(gate) }
    }

    /// One fan-out.
    pub async fn job(&self, work: Work, k: u64) -> u64 {
        join_all((0..k).map(|branch| self.branch(work, branch))).await.into_iter().sum()
    }

    async fn branch(&self, work: Work, branch: u64) -> u64 {
        let guarded = async {
            self.rate.until_ready().await;
            let _permit = self.gate.acquire().await.ok()?;
            let mut primary = pin!(work.call(branch));
            let answer = tokio::select! {
                answer = &mut primary => answer,
                () = sleep(HEDGE) => tokio::select! {
                    answer = primary => answer,
                    answer = work.call(branch) => answer,
                },
            };
            Some(answer)
        };
        timeout(DEADLINE, guarded).await.ok().flatten().unwrap_or(0)
    }
}

/// The hedge policy of tower's layer: any request may be sent again.
#[derive(Clone, Copy, Debug)]
struct Always;

impl tower::hedge::Policy<u64> for Always {
    fn clone_request(&self, branch: &u64) -> Option<u64> {
        Some(*branch)
    }

    fn can_retry(&self, _branch: &u64) -> bool {
        true
    }
}

/// Gate, rate, deadline and hedge as layers of tower, around one service that lives as long as the process.
///
/// Its hedge goes by the latencies of the period before, and is not armed while there are none: here it has seen some that
/// a branch does not come near to.
///
/// # Panics
/// Outside a tokio runtime.
pub fn tower_service(
    work: Work,
) -> impl Service<u64, Response = u64, Error = tower::BoxError, Future: Send> + Send {
    let call = service_fn(move |branch| async move { Ok::<_, tower::BoxError>(work.call(branch).await) });
    let (period, before) = (Duration::from_secs(3_600), [TOWER_MS; 20]);
    let hedged = Hedge::new_with_mock_latencies(call, Always, 10, 0.95, period, &before);
    ServiceBuilder::new()
        .concurrency_limit(WIDE as usize)
        .rate_limit(u64::from(RATE), Duration::from_secs(1))
        .timeout(DEADLINE)
        .service(hedged)
}

/// The same for callers that share it: neither a hedge nor a rate can be cloned, so it takes a buffer, whose task calls it.
///
/// # Panics
/// Outside a tokio runtime.
pub fn tower_shared(
    work: Work,
) -> impl Service<u64, Response = u64, Error = tower::BoxError, Future: Send> + Clone + Send {
    Buffer::new(tower_service(work), WIDE as usize)
}

/// One fan-out over such a service.
pub async fn by_tower(
    service: &mut impl Service<u64, Response = u64, Error = tower::BoxError>,
    k: u64,
) -> u64 {
    let mut calls = Vec::with_capacity(k as usize);
    for branch in 0..k {
        if let Ok(ready) = service.ready().await {
            calls.push(ready.call(branch));
        }
    }
    join_all(calls).await.into_iter().filter_map(Result::ok).sum()
}

/// Like branches under the whole policy: gate, rate, deadline, an armed hedge with a live delay and a budget, and a ledger.
///
/// # Panics
/// Without branches.
pub fn guarded(k: u64, gate: u32) -> Fanout {
    let p95 = Quantile::from_ppm(950_000).expect("it is a level");
    let delay = Time::from_nanos(HEDGE.as_nanos() as u64);
    let live = LiveDelaySpec { floor: delay, warming: Some(delay), ..LiveDelaySpec::new(p95) };
    let rate = Rate { permits: RATE, per: Time::from_secs(1), burst: RATE };
    let limiter = LimiterSpec { gate: Some(gate), rate: Some(rate), ..LimiterSpec::new("account") };
    fanout(k, |spec, branch| {
        spec.deadline = Some(Time::from_nanos(DEADLINE.as_nanos() as u64));
        spec.limiters = vec![limiter];
        spec.live_delays = vec![live];
        branch.limiter = Some(0);
        branch.repeatable = true;
        branch.hedge = Some(fantail_core::Hedge::after(delay));
        branch.live = Some(0);
    })
}

/// Like branches without any policy.
///
/// # Panics
/// Without branches.
pub fn bare(k: u64) -> Fanout {
    fanout(k, |_, _| {})
}

fn fanout(k: u64, state: impl FnOnce(&mut PlanSpec, &mut BranchSpec)) -> Fanout {
    let mut spec = PlanSpec { wait_for: WaitFor::All, ..PlanSpec::new("search", Vec::new()) };
    let mut like = BranchSpec::new("shard");
    state(&mut spec, &mut like);
    spec.branches = (0..k).map(|i| BranchSpec { name: format!("shard-{i}"), ..like.clone() }).collect();
    Fanout::new(Plan::new(spec).expect("the plan is valid"), &Limiters::default())
}

/// One fan-out as a job.
///
/// # Panics
/// When the job fails.
pub async fn by_fantail(fanout: &Fanout, work: Work) -> u64 {
    let mut job = fanout.job();
    let answers = job.each(|attempt| {
        let branch = u64::from(attempt.branch());
        async move { Ok(work.call(branch).await) }
    });
    let mut done = job.join().await.expect("every branch answers");
    done.take(answers).into_iter().flatten().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_fan_outs_come_to_the_same_sum() {
        for work in Work::ALL {
            for k in [1, 5, 1_000] {
                let sum = k * (k - 1) / 2;
                assert_eq!(by_join_all(work, k).await, sum);
                assert_eq!(by_futures_unordered(work, k).await, sum);
                assert_eq!(by_join_set(work, k).await, sum);
                for gate in [WIDE, NARROW] {
                    assert_eq!(by_semaphore(&semaphore(gate), work, k).await, sum);
                    assert_eq!(ByHand::new(gate).job(work, k).await, sum);
                }
                assert_eq!(by_tower(&mut tower_service(work), k).await, sum);
                assert_eq!(by_tower(&mut tower_shared(work), k).await, sum);
                for fanout in [bare(k), guarded(k, WIDE), guarded(k, NARROW)] {
                    assert_eq!(by_fantail(&fanout, work).await, sum);
                    assert_eq!(by_fantail(&fanout, work).await, sum, "a job in the place of one before");
                }
            }
        }
    }
}
