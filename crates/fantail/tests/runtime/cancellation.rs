//! Dropping a job at any point leaves nothing behind.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use fantail::{Done, Fanout, JoinError, SharedLimiter};
use fantail_core::job::{Class, Role};
use fantail_core::{BranchSpec, BudgetSpec, Hedge, PlanSpec};

use crate::support::{Census, after, fanout, gate, hedged, limited, ms, poll_once, required};

/// Eight branches: hedged ones and plain ones behind a gate of three, and a hedged one and a race beside it. No more
/// copies may be in flight than the job has at once.
fn plan() -> PlanSpec {
    let mut branches = limited(5);
    branches[1] = BranchSpec { limiter: Some(0), ..hedged("1", 3) };
    branches[4] = BranchSpec { limiter: Some(0), ..hedged("4", 3) };
    branches.push(hedged("free", 3));
    branches.push(BranchSpec { repeatable: true, hedge: Some(Hedge::race(3)), ..BranchSpec::new("race") });
    branches.extend(required(&["slow"]));
    let hedge_budget = BudgetSpec { share: 1_000_000, burst: 3, in_flight: Some(2) };
    PlanSpec {
        limiters: vec![gate(3)],
        hedge_budget,
        deadline: Some(ms(60)),
        ..PlanSpec::new("plan", branches)
    }
}

type Joined = Pin<Box<dyn Future<Output = Result<Done, JoinError>> + Send>>;

/// Primaries take 10 to 24 ms, copies half of that.
fn join(plan: &Fanout, census: &Census) -> Joined {
    let census = census.clone();
    let mut job = plan.job();
    let _answers = job.each(move |attempt| {
        let latency = 10 + 2 * u64::from(attempt.branch());
        census.count(after(if attempt.role() == Role::Primary { latency } else { latency / 2 }, ()))
    });
    Box::pin(job.join())
}

/// Fills the budget again.
async fn refill(plan: &Fanout) {
    let mut job = plan.job();
    let _answers = job.each(|_| async { Ok(()) });
    let _done = job.join().await.unwrap_or_else(|error| panic!("nothing is in the way: {error}"));
}

fn account(plan: &Fanout) -> &SharedLimiter {
    plan.limiter(0).expect("the first branch has a limiter")
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_dropped_after_any_number_of_polls_leaves_nothing_behind() {
    let plan = fanout(plan());
    refill(&plan).await;
    let whole = join(&plan, &Census::default()).await.unwrap();
    assert_eq!((whole.ledger().copies.launched, whole.ledger().copies.won), (4, 3), "two hedges and a race");

    let mut polls = 0;
    let mut queued = false;
    loop {
        refill(&plan).await;
        let census = Census::default();
        let mut job = join(&plan, &census);
        let mut over = false;
        for _ in 0..polls {
            over = poll_once(&mut job).await.is_ready();
            if over {
                break;
            }
            queued |= account(&plan).waiting() > 0;
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        drop(job);
        let (held, waiting) = (account(&plan).held(), account(&plan).waiting());
        assert_eq!((census.alive(), held, waiting), (0, 0, 0), "dropped after {polls} polls");

        refill(&plan).await;
        let next = join(&plan, &census).await.unwrap();
        assert_eq!(next.elapsed(), whole.elapsed(), "dropped after {polls} polls");
        assert_eq!(next.ledger(), whole.ledger(), "dropped after {polls} polls");
        if over {
            break;
        }
        polls += 1;
    }
    assert!(polls > 20 && queued);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_dropped_lets_the_next_in_the_queue_run() {
    let spec = || PlanSpec { limiters: vec![gate(2)], ..PlanSpec::new("plan", limited(4)) };
    let plan = fanout(spec());
    let census = Census::default();
    let mut first = join(&plan, &census);
    assert!(poll_once(&mut first).await.is_pending());
    let second = tokio::spawn(join(&plan, &census));
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!((account(&plan).held(), account(&plan).waiting()), (2, 6));
    drop(first);
    let second = tokio::time::timeout(Duration::from_secs(1), second).await.unwrap().unwrap().unwrap();
    // 10 and 12 ms, then 14 and 16 ms, a millisecond after its start.
    assert_eq!(second.elapsed(), ms(29));
    assert_eq!((account(&plan).held(), census.alive()), (0, 0));
}

type Acquire = Pin<Box<dyn Future<Output = Result<fantail::Permit, fantail_core::job::Refusal>> + Send>>;

fn acquire(limiter: &SharedLimiter, weight: u32) -> Acquire {
    let limiter = limiter.clone();
    Box::pin(async move { limiter.acquire(Class::First, weight, None).await })
}

/// A holds, B and C wait in tasks of their own; in one tick A is released and B cancelled, in this order or the other.
#[tokio::test(start_paused = true)]
async fn the_next_runs_when_the_head_is_cancelled_in_the_tick_of_a_release() {
    // Capacity, and the weights of A, B and C.
    for (capacity, a, b, c) in [(1, 1, 1, 1), (3, 1, 3, 1), (3, 3, 2, 3), (3, 2, 2, 2)] {
        for release_first in [true, false] {
            let limiter = SharedLimiter::new(gate(capacity));
            let held = acquire(&limiter, a).await.unwrap();
            let mut head = acquire(&limiter, b);
            assert!(poll_once(&mut head).await.is_pending());
            let next = tokio::spawn(acquire(&limiter, c));
            tokio::task::yield_now().await;
            assert_eq!(limiter.waiting(), 2);
            if release_first {
                drop(held);
                drop(head);
            } else {
                drop(head);
                drop(held);
            }
            let next = tokio::time::timeout(Duration::from_secs(1), next).await;
            let permit = next.expect("its wake-up is not lost").unwrap().unwrap();
            assert_eq!((limiter.held(), limiter.waiting()), (u64::from(c), 0));
            drop(permit);
            assert_eq!(limiter.held(), 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_runs_with_what_is_free_when_a_heavier_head_leaves() {
    let limiter = SharedLimiter::new(gate(3));
    let _held = acquire(&limiter, 1).await.unwrap();
    let mut head = acquire(&limiter, 3);
    assert!(poll_once(&mut head).await.is_pending());
    let next = tokio::spawn(acquire(&limiter, 1));
    tokio::task::yield_now().await;
    assert_eq!(limiter.waiting(), 2);
    drop(head);
    let next = tokio::time::timeout(Duration::from_secs(1), next).await.expect("it is woken");
    assert_eq!(limiter.held(), 2);
    drop(next.unwrap().unwrap());
}

#[tokio::test(start_paused = true)]
async fn an_acquire_that_is_dropped_after_any_number_of_polls_loses_no_permit() {
    let specs = [gate(2), crate::support::rate(ms(5), 1)];
    for spec in specs {
        for polls in 0..20 {
            let limiter = SharedLimiter::new(spec.clone());
            // Two go first, each for 3 ms.
            let others: Vec<_> = (0..2)
                .map(|_| {
                    let acquire = acquire(&limiter, 1);
                    tokio::spawn(async move {
                        let _permit = acquire.await.unwrap();
                        crate::support::sleep(3).await;
                    })
                })
                .collect();
            tokio::task::yield_now().await;
            let mut mine = acquire(&limiter, 1);
            for _ in 0..polls {
                if let Poll::Ready(permit) = poll_once(&mut mine).await {
                    drop(permit.unwrap());
                    break;
                }
                tokio::time::advance(Duration::from_millis(1)).await;
            }
            drop(mine);
            for other in others {
                other.await.unwrap();
            }
            assert_eq!((limiter.held(), limiter.waiting()), (0, 0), "dropped after {polls} polls");
            let _permit =
                tokio::time::timeout(Duration::from_secs(1), acquire(&limiter, 1)).await.unwrap().unwrap();
        }
    }
}
