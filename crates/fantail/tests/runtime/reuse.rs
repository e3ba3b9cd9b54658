//! Jobs that take the place of earlier ones have nothing of them.

use std::future::{pending, poll_fn};
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use fantail::{Attempt, AttemptError, Fanout, JoinError, Limiters, Pattern};
use fantail_core::job::{Outcome, Verdict};
use fantail_core::{BranchSpec, Leader, PlanSpec, WaitFor};
use futures_util::FutureExt;
use tokio::sync::broadcast;

use crate::support::{after, fanout, gate, limited, ms, optional, poll_once};

/// Runs a job of three branches, of which the last one fails, and looks at all that it came to.
async fn is_as_new(plan: &Fanout) {
    let mut job = plan.job();
    let answers = job.each(|attempt| async move {
        let branch = attempt.branch();
        if branch == 2 { Err(AttemptError::permanent("no")) } else { after(1, branch).await }
    });
    let mut done = job.join().await.unwrap();
    assert_eq!(done.take(answers), [Some(0), Some(1), None]);
    assert_eq!([0, 1, 2].map(|branch| done.errors(branch).len()), [0, 0, 1]);
    assert_eq!((done.verdict(), done.elapsed()), (Verdict::Partial, ms(1)));
    let primaries = done.ledger().primaries;
    assert_eq!((primaries.launched, primaries.won, primaries.failed), (3, 2, 1));
}

fn three(name: &str) -> PlanSpec {
    let mut branches = limited(3);
    for branch in &mut branches {
        branch.required = Some(false);
    }
    PlanSpec { deadline: Some(ms(100)), limiters: vec![gate(2)], ..PlanSpec::new(name, branches) }
}

#[tokio::test(start_paused = true)]
async fn a_job_after_another_one_is_as_new() {
    let plan = fanout(three("plan"));
    for _ in 0..3 {
        is_as_new(&plan).await;
    }
    // A branch panics.
    let mut job = plan.job();
    let _never = job.each(|attempt| async move {
        assert!(attempt.branch() != 1, "a branch that panics");
        pending::<Result<(), _>>().await
    });
    assert!(AssertUnwindSafe(job.join()).catch_unwind().await.is_err());
    is_as_new(&plan).await;
    // A job is dropped on its way.
    let mut job = plan.job();
    let _never = job.each(|_| pending::<Result<(), AttemptError>>());
    assert!(poll_once(&mut Box::pin(job.join())).await.is_pending());
    is_as_new(&plan).await;
    // A job is never started, and one that cannot be.
    drop(plan.job());
    assert!(matches!(plan.job().join().await, Err(JoinError::Invalid(misuses)) if misuses.len() == 3));
    is_as_new(&plan).await;
    // All branches miss the deadline.
    let mut job = plan.job();
    let _never = job.each(|_| pending::<Result<(), AttemptError>>());
    let done = job.join().await.unwrap();
    assert_eq!(done.outcome(0), Outcome::Missed);
    // A result that is still there has nothing to do with the next job.
    is_as_new(&plan).await;
    assert_eq!(done.outcome(0), Outcome::Missed);
    let account = plan.limiter(0).unwrap();
    assert_eq!((account.held(), account.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn jobs_of_all_sizes_follow_one_another() {
    let like = BranchSpec { required: Some(false), ..BranchSpec::new("shard") };
    let spec = PlanSpec { deadline: Some(ms(10)), ..PlanSpec::new("search", vec![]) };
    let search = Pattern::new(spec, like, &Limiters::default());
    for n in [3, 300, 2, 70, 1, 130] {
        let mut job = search.job(n).unwrap();
        let answers = job.items(0..n, |_, item| async move {
            if item % 3 == 2 { pending().await } else { after(1, item).await }
        });
        let mut done = job.join().await.unwrap();
        let expected: Vec<_> = (0..n).map(|item| (item % 3 != 2).then_some(item)).collect();
        assert_eq!(done.take(answers), expected);
        assert_eq!(done.incomplete().count(), n / 3);
    }
}

#[tokio::test]
async fn what_tokios_budget_left_over_when_a_job_ended_is_polled_in_no_later_one() {
    let spec = PlanSpec { wait_for: WaitFor::Share(500_000), ..PlanSpec::new("search", vec![]) };
    let search = Pattern::new(spec, BranchSpec::new("shard"), &Limiters::default());
    let (tell, _) = broadcast::channel::<()>(1);
    let mut job = search.job(200).unwrap();
    let _answers = job.each(|_| {
        let mut told = tell.subscribe();
        async move { Ok(told.recv().await?) }
    });
    let mut job = Box::pin(job.join());
    assert!(poll_once(&mut job).await.is_pending());
    tell.send(()).unwrap();
    assert_eq!(job.await.unwrap().job().answers(), 128, "one poll is too short for all");

    // Of fewer branches than those that are left over.
    let mut job = search.job(10).unwrap();
    let answers = job.each(|attempt| async move { Ok(attempt.branch()) });
    let mut done = job.join().await.unwrap();
    assert_eq!(done.take(answers), (0..10).map(Some).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_waker_that_somebody_kept_wakes_nobody_in_the_next_job() {
    let plan = fanout(PlanSpec::new("plan", vec![optional("a"), optional("b")]));
    let kept: Mutex<Vec<Waker>> = Mutex::default();
    let mut job = plan.job();
    let _answers = job.each(|_| {
        poll_fn(|task| {
            kept.lock().unwrap().push(task.waker().clone());
            Poll::Ready(Ok(()))
        })
    });
    drop(job.join().await.unwrap());

    let polls = AtomicUsize::new(0);
    let mut job = plan.job();
    let _never = job.each(|_| {
        poll_fn(|_| {
            polls.fetch_add(1, Ordering::Relaxed);
            Poll::<Result<(), AttemptError>>::Pending
        })
    });
    let mut job = Box::pin(job.join());
    assert!(poll_once(&mut job).await.is_pending());
    for waker in kept.lock().unwrap().drain(..) {
        waker.wake();
    }
    assert!(poll_once(&mut job).await.is_pending());
    assert_eq!(polls.load(Ordering::Relaxed), 2, "one poll for each when it started");
}

#[tokio::test(start_paused = true)]
async fn a_hold_from_an_earlier_job_keeps_its_own_permit_only() {
    let plan = fanout(PlanSpec { limiters: vec![gate(2)], ..PlanSpec::new("plan", limited(1)) });
    let account = plan.limiter(0).unwrap();
    let mut job = plan.job();
    let hold = job.each(|attempt| async move { Ok(attempt.hold()) });
    let hold = job.join().await.unwrap().take(hold);
    assert_eq!(account.held(), 1);
    let mut job = plan.job();
    let answer = job.each(|_| async { Ok(1) });
    assert_eq!(job.join().await.unwrap().take(answer), [Some(1)]);
    assert_eq!(account.held(), 1, "the next job's permit is back, the first one's is held");
    drop(hold);
    assert_eq!(account.held(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_of_an_earlier_job_primes_nothing_in_the_next() {
    let leader = Some(Leader { branch: 0, head_start: ms(50) });
    let spec = PlanSpec {
        wait_for: WaitFor::First(2),
        leader,
        ..PlanSpec::new("plan", vec![optional("a"), optional("b")])
    };
    let plan = fanout(spec);
    let kept: Mutex<Option<Attempt>> = Mutex::default();
    let mut job = plan.job();
    let _answers = job.each(|attempt| {
        kept.lock().unwrap().get_or_insert(attempt);
        async { Ok(()) }
    });
    drop(job.join().await.unwrap());

    let started = AtomicUsize::new(0);
    let mut job = plan.job();
    let _answers = job.each(|_| {
        started.fetch_add(1, Ordering::Relaxed);
        after(20, ())
    });
    let mut job = Box::pin(job.join());
    assert!(poll_once(&mut job).await.is_pending());
    kept.lock().unwrap().take().unwrap().primed();
    tokio::time::advance(Duration::from_millis(10)).await;
    assert!(poll_once(&mut job).await.is_pending());
    assert_eq!(started.load(Ordering::Relaxed), 1, "the other one waits for this job's leader");
    assert_eq!(job.await.unwrap().elapsed(), ms(40));
}
