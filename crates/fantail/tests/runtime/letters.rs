//! Letters that are still under way from a limiter when what they are for is gone.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use fantail::{AttemptError, Done, Fanout, JoinError, Permit, SharedLimiter};
use fantail_core::job::{Class, Verdict};
use fantail_core::{BranchSpec, PlanSpec, WaitFor};
use tokio::sync::Notify;

use crate::support::{fanout, gate, limited, ms, optional, poll_once};

type Joined = Pin<Box<dyn Future<Output = Result<Done, JoinError>> + Send>>;

/// Does something when it is called first: what another thread may do while it is called.
struct Hook<F>(Mutex<Option<F>>);

fn on_wake(act: impl FnOnce() + Send + 'static) -> Waker {
    Waker::from(Arc::new(Hook(Mutex::new(Some(act)))))
}

impl<F: FnOnce() + Send + 'static> Wake for Hook<F> {
    fn wake(self: Arc<Hook<F>>) {
        let act = self.0.lock().unwrap().take();
        if let Some(act) = act {
            act();
        }
    }
}

fn poll<F: Future + ?Sized>(future: &mut Pin<Box<F>>, waker: &Waker) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(waker))
}

/// A job of which branch 0 waits for the account, and ends when it is told that branch `answers` does.
fn job(plan: &Fanout, answers: u32) -> (Joined, Arc<Notify>) {
    let told = Arc::new(Notify::new());
    let tell = Arc::clone(&told);
    let mut job = plan.job();
    let _answers = job.each(move |attempt| {
        let told = Arc::clone(&told);
        async move {
            if attempt.branch() != answers {
                return pending().await;
            }
            told.notified().await;
            Ok::<_, AttemptError>(())
        }
    });
    (Box::pin(job.join()), tell)
}

/// What `send` sends finds the job over that it is for, and the next job has nothing of it.
async fn check(send: impl FnOnce(&SharedLimiter, Permit)) {
    let branches = vec![BranchSpec { limiter: Some(0), ..BranchSpec::new("0") }, BranchSpec::new("1")];
    let spec =
        PlanSpec { limiters: vec![gate(2)], wait_for: WaitFor::First(1), ..PlanSpec::new("plan", branches) };
    let plan = fanout(spec);
    let account = plan.limiter(0).unwrap();
    let all = account.acquire(Class::First, 2, None).await.unwrap();
    let ends: Arc<Mutex<Option<Joined>>> = Arc::default();
    let (mut joined, tell) = job(&plan, 1);
    let ending = Arc::clone(&ends);
    let waker = on_wake(move || {
        let mut joined = ending.lock().unwrap().take().unwrap();
        tell.notify_one();
        assert!(poll(&mut joined, Waker::noop()).is_ready());
    });
    let mut before = Box::pin(account.acquire(Class::First, 1, None));
    assert!(poll(&mut before, &waker).is_pending());
    assert!(poll(&mut joined, Waker::noop()).is_pending());
    *ends.lock().unwrap() = Some(joined);
    send(account, all);
    assert!(ends.lock().unwrap().is_none(), "it was sent while the job ended");
    drop(before);
    assert_eq!((account.held(), account.waiting()), (0, 0));

    tokio::time::advance(Duration::from_secs(120)).await;
    let all = account.acquire(Class::First, 2, None).await.unwrap();
    let (mut joined, tell) = job(&plan, 0);
    tell.notify_one();
    assert!(poll_once(&mut joined).await.is_pending());
    drop(all);
    assert_eq!(joined.await.unwrap().verdict(), Verdict::Complete);
    assert_eq!((account.held(), account.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_permit_for_a_job_that_is_over_goes_back_and_a_refusal_meets_no_later_one() {
    check(|_, all| drop(all)).await;
    check(|account, all| {
        account.push_back(Duration::from_secs(61));
        drop(all);
    })
    .await;
}

fn acquire(account: &SharedLimiter) -> Pin<Box<impl Future + use<>>> {
    let account = account.clone();
    Box::pin(async move { account.acquire(Class::First, 1, None).await })
}

/// Branches 0 and 1 leave the queue at their deadline, and 2 joins it behind others once 3 has answered.
fn two_leave() -> PlanSpec {
    let mut branches: Vec<BranchSpec> = limited(3);
    for branch in &mut branches {
        branch.required = Some(false);
    }
    (branches[0].deadline, branches[1].deadline) = (Some(ms(5)), Some(ms(5)));
    branches[2].after = vec![3];
    branches.push(optional("3"));
    PlanSpec { limiters: vec![gate(3)], ..PlanSpec::new("plan", branches) }
}

#[tokio::test]
async fn what_goes_back_and_comes_to_the_same_job_is_seen_at_once() {
    let plan = fanout(two_leave());
    let account = plan.limiter(0).unwrap();
    let all = account.acquire(Class::First, 3, None).await.unwrap();
    let (ran, tell) = (AtomicBool::new(false), Notify::new());
    let mut job = plan.job();
    let _answers = job.each(|attempt| {
        ran.fetch_or(attempt.branch() == 2, Ordering::SeqCst);
        let tell = &tell;
        async move {
            if attempt.branch() != 3 {
                return pending().await;
            }
            tell.notified().await;
            Ok::<_, AttemptError>(())
        }
    });
    let mut job = Box::pin(job.join());
    // The thread that hands out stands still before the letter of branch 0 and after it, until it is let go on.
    let (stands, stood) = mpsc::channel();
    let (lets_go, goes_on) = mpsc::channel::<()>();
    let goes_on = Arc::new(Mutex::new(goes_on));
    let stand_still = || {
        let (stands, goes_on) = (stands.clone(), Arc::clone(&goes_on));
        on_wake(move || {
            stands.send(()).unwrap();
            goes_on.lock().unwrap().recv().unwrap();
        })
    };
    let mut first = acquire(account);
    assert!(poll(&mut first, &stand_still()).is_pending());
    assert!(poll(&mut job, Waker::noop()).is_pending());
    // What the letter of branch 0 sets free comes to this one, and meanwhile the letter of branch 1 comes to the job.
    let mut last = acquire(account);
    let (let_on, (sent, all_sent)) = (lets_go.clone(), mpsc::channel::<()>());
    let meanwhile = on_wake(move || {
        let_on.send(()).unwrap();
        all_sent.recv().unwrap();
    });
    assert!(poll(&mut last, &meanwhile).is_pending());
    tell.notify_one();
    assert!(poll(&mut job, Waker::noop()).is_pending());
    assert_eq!(account.waiting(), 5);

    let hands_out = thread::spawn(move || {
        drop(all);
        sent.send(()).unwrap();
    });
    stood.recv().unwrap();
    thread::sleep(Duration::from_millis(20));
    assert!(poll(&mut job, &stand_still()).is_pending());
    lets_go.send(()).unwrap();
    stood.recv().unwrap();
    assert!(poll(&mut job, Waker::noop()).is_pending());
    hands_out.join().unwrap();
    assert_eq!(account.waiting(), 0);
    assert!(ran.load(Ordering::SeqCst), "branch 2 has its permit");
}
