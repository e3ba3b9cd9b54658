//! A permit is handed back exactly once, however the attempt ends.

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use fantail::{Attempt, AttemptError, Fanout, JoinError, Limiters, SharedLimiter};
use fantail_core::job::{Class, NotStarted, Outcome, Refusal};
use fantail_core::{BranchSpec, BudgetSpec, PlanSpec};
use futures_util::FutureExt;

use crate::support::{
    Census, after, fails, fanout, gate, hedged, limited, ms, poll_once, rate, shared, sleep,
};

/// How an attempt may end.
#[derive(Clone, Copy, Debug)]
enum End {
    Answer,
    Error,
    Timeout,
    Deadline,
    JobFails,
    Dropped,
    Panics,
    ClosurePanics,
}

async fn run(plan: &Fanout, end: End, census: &Census) {
    let mut job = plan.job();
    let _answers = job.each(|attempt| {
        let panics = attempt.branch() == 0 && matches!(end, End::ClosurePanics);
        assert!(!panics, "a closure panics");
        census.count(async move {
            match (attempt.branch(), end) {
                (0, End::Answer) => after(5, ()).await,
                (0, End::Error) | (1, End::JobFails) => fails(5, "E").await,
                (0, End::Panics) => {
                    sleep(5).await;
                    panic!("a branch panics")
                }
                (1, End::Answer | End::Error | End::Timeout) => after(1, ()).await,
                _ => pending().await,
            }
        })
    });
    let mut job = Box::pin(job.join());
    if matches!(end, End::Dropped) {
        assert!(poll_once(&mut job).await.is_pending());
        return;
    }
    let joined = poll_fn(|task| match catch_unwind(AssertUnwindSafe(|| job.as_mut().poll(task))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await;
    assert_eq!(joined.is_err(), matches!(end, End::Panics | End::ClosurePanics), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn a_permit_is_handed_back_once_however_its_attempt_ends() {
    let ends = [
        End::Answer,
        End::Error,
        End::Timeout,
        End::Deadline,
        End::JobFails,
        End::Dropped,
        End::Panics,
        End::ClosurePanics,
    ];
    for end in ends {
        let mut branches = limited(2);
        branches[0].required = Some(false);
        branches[0].attempt_timeout = matches!(end, End::Timeout).then_some(ms(7));
        let spec =
            PlanSpec { limiters: vec![gate(3)], deadline: Some(ms(50)), ..PlanSpec::new("plan", branches) };
        let plan = fanout(spec);
        let account = plan.limiter(0).unwrap();
        // Somebody else's permit, which nobody else may hand back.
        let other = account.acquire(Class::First, 1, None).await.unwrap();
        let census = Census::default();
        run(&plan, end, &census).await;
        assert_eq!((census.alive(), account.held(), account.waiting()), (0, 1, 0), "{end:?}");
        drop(other);
        assert_eq!(account.held(), 0, "{end:?}");
        drop(account.acquire(Class::First, 3, None).await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_branch_ends_the_task_that_joined_and_frees_the_others() {
    let plan = fanout(PlanSpec { limiters: vec![gate(2)], ..PlanSpec::new("plan", limited(4)) });
    let census = Census::default();
    let mut job = plan.job();
    let counts = census.clone();
    let _answers = job.each(move |attempt| {
        counts.count(async move {
            sleep(5).await;
            assert!(attempt.branch() != 1, "the second panics");
            pending::<Result<(), AttemptError>>().await
        })
    });
    assert!(tokio::spawn(job.join()).await.unwrap_err().is_panic());
    let account = plan.limiter(0).unwrap();
    assert_eq!((census.alive(), account.held(), account.waiting()), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_never_ran_gives_its_part_of_the_rate_back() {
    let spec = fantail_core::LimiterSpec { gate: Some(1), ..rate(ms(1_000), 2) };
    let limiter = fantail::SharedLimiter::new(spec);
    let held = limiter.acquire(Class::First, 1, None).await.unwrap();
    let mut waiting = Box::pin(limiter.acquire(Class::First, 1, None));
    assert!(poll_once(&mut waiting).await.is_pending());
    drop(held);
    assert_eq!(limiter.held(), 1, "it was granted to the one who waits");
    drop(waiting);
    let mut next = Box::pin(limiter.acquire(Class::First, 1, None));
    assert!(poll_once(&mut next).await.is_ready(), "there is a second one in the burst");
}

#[tokio::test(start_paused = true)]
async fn asking_again_under_a_permit_of_the_same_limiter_is_refused() {
    let limiters = Limiters::default();
    // The deadline ends the test where there is a deadlock.
    let spec = |name| PlanSpec {
        limiters: vec![gate(1)],
        deadline: Some(ms(1_000)),
        ..PlanSpec::new(name, limited(1))
    };
    let (outer, inner) = (shared(spec("outer"), &limiters), shared(spec("inner"), &limiters));
    let account = outer.limiter(0).unwrap();

    let mut job = outer.job();
    let refusals = job.each(|_| async {
        let by_hand = account.acquire(Class::First, 1, None).await;
        let mut job = inner.job();
        let _answer = job.each(|_| after(1, ()));
        let Err(JoinError::Failed(failed)) = job.join().await else { panic!("there is no second permit") };
        assert_eq!(failed.to_string(), "branch `0` was refused by its limiter and is required");
        Ok((by_hand.unwrap_err(), failed.outcome(0)))
    });
    let mut done = job.join().await.unwrap();
    let outcome = Outcome::NotStarted(NotStarted::Refused(Refusal::Limiter));
    assert_eq!(done.take(refusals), [Some((Refusal::Limiter, outcome))]);

    let mut job = inner.job();
    let _answer = job.each(|_| after(1, ()));
    let _done = job.join().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_due_copy_without_a_permit_stays_due_behind_first_attempts_and_leaves_free_of_charge() {
    let hedge_budget = BudgetSpec { share: 1_000_000, burst: 1, in_flight: None };
    let mut branches = limited(3);
    branches[0] = BranchSpec { limiter: Some(0), ..hedged("0", 5) };
    let spec = PlanSpec { limiters: vec![gate(1)], hedge_budget, ..PlanSpec::new("plan", branches) };
    let plan = fanout(spec);
    let mut warm = plan.job();
    let _answers = warm.each(|_| async { Ok(()) });
    let _done = warm.join().await.unwrap();

    let copies = Census::default();
    let mut job = plan.job();
    let _answers = job.each(|attempt| {
        let copy = (attempt.number() > 0).then(|| copies.enter());
        async move {
            assert!(copy.is_none(), "there is no room for a copy beside its primary");
            after(10, ()).await
        }
    });
    let mut job = Box::pin(job.join());
    assert!(tokio::time::timeout(Duration::from_millis(7), &mut job).await.is_err());
    assert_eq!(plan.limiter(0).unwrap().waiting(), 3, "two first attempts and a copy");
    let done = job.await.unwrap();
    assert_eq!((done.elapsed(), done.ledger().copies.launched), (ms(30), 0));
    assert!(fantail_core::job::Refusal::ALL.iter().all(|reason| done.ledger().refused(*reason) == 0));
}

#[tokio::test]
async fn of_permits_that_were_granted_together_a_hold_keeps_one_out() {
    let plan = fanout(PlanSpec { limiters: vec![gate(3)], ..PlanSpec::new("plan", limited(3)) });
    let mut job = plan.job();
    let holds = job.each(|attempt| {
        let hold = (attempt.branch() == 1).then(|| attempt.hold());
        async move { Ok(hold) }
    });
    let holds = job.join().await.unwrap().take(holds);
    let limiter = plan.limiter(0).unwrap();
    assert_eq!(limiter.held(), 1);
    drop(holds);
    assert_eq!(limiter.held(), 0);
}

#[tokio::test(start_paused = true)]
async fn permits_of_a_job_that_calls_nobody_cost_nothing_and_one_that_panics_at_once_has_cost() {
    let spec = PlanSpec { limiters: vec![rate(ms(1_000), 3)], ..PlanSpec::new("plan", limited(3)) };
    let plan = fanout(spec);
    let ready = |panics: bool| {
        let mut job = plan.job();
        let _answers = job.each(move |attempt| async move {
            assert!(!panics || attempt.branch() < 2, "a branch panics");
            Ok(())
        });
        job
    };
    drop(ready(false).start().unwrap());
    assert_eq!(ready(false).join().await.unwrap().elapsed(), ms(0));
    sleep(3_000).await;
    let mut job = Box::pin(ready(true).join());
    let panicked =
        catch_unwind(AssertUnwindSafe(|| job.as_mut().poll(&mut Context::from_waker(Waker::noop()))));
    assert!(panicked.is_err());
    drop(job);
    assert_eq!(ready(false).join().await.unwrap().elapsed(), ms(3_000));
}

/// A future whose drop panics, as far as it is `armed`.
struct Bomb {
    armed: bool,
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.armed, "a drop panics");
    }
}

#[tokio::test]
async fn a_future_that_panics_while_it_is_dropped_takes_no_permit_along_and_no_other_future() {
    let census = Census::default();
    let plan = fanout(PlanSpec { limiters: vec![gate(10)], ..PlanSpec::new("plan", limited(4)) });
    let mut job = plan.job();
    let _never = job.each(|attempt| {
        let bomb = Bomb { armed: (1..3).contains(&attempt.branch()) };
        census.count(async move {
            let _bomb = bomb;
            pending::<Result<(), AttemptError>>().await
        })
    });
    let mut job = Box::pin(job.join());
    assert!(poll_once(&mut job).await.is_pending());
    let account = plan.limiter(0).unwrap();
    assert_eq!((account.held(), census.alive()), (4, 4));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(job))).is_err(), "the panic comes through");
    assert_eq!((account.held(), census.alive()), (0, 0));
}

/// Sees what is held of a limiter when it is dropped.
struct Sees<'s>(&'s SharedLimiter, &'s Mutex<Option<u64>>);

impl Drop for Sees<'_> {
    fn drop(&mut self) {
        *self.1.lock().unwrap() = Some(self.0.held());
    }
}

#[tokio::test]
async fn a_permit_goes_back_after_what_ran_under_it_whenever_that_panics() {
    for calm in 0..3 {
        let plan = fanout(PlanSpec { limiters: vec![gate(1)], ..PlanSpec::new("plan", limited(1)) });
        let account = plan.limiter(0).unwrap();
        let (hold, seen) = (Mutex::new(None), Mutex::new(None));
        let mut job = plan.job();
        let _never = job.each(|attempt| {
            let (mut calls, sees) = (0, Sees(account, &seen));
            let hold = &hold;
            let mut panics = move |attempt: &Attempt| {
                let _sees = &sees;
                *hold.lock().unwrap() = Some(attempt.hold());
                calls += 1;
                assert!(calls <= calm, "call or poll {calls} panics");
            };
            panics(&attempt);
            poll_fn(move |task| {
                panics(&attempt);
                task.waker().wake_by_ref();
                Poll::<Result<(), AttemptError>>::Pending
            })
        });
        assert!(AssertUnwindSafe(job.join()).catch_unwind().await.is_err());
        assert_eq!(*seen.lock().unwrap(), Some(1), "after {calm} calls and polls");
        assert_eq!(account.held(), 1, "after {calm} calls and polls it is held");
        drop(hold.into_inner().unwrap());
        assert_eq!(account.held(), 0);
    }
}
