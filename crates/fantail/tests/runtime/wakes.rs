//! Wake-ups: none is lost, none is needed twice, and a late one does no harm.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use fantail::AttemptError;
use fantail_core::PlanSpec;

use crate::support::{after, fanout, ms, optional, poll_once, required};

/// Counts how often it is woken.
#[derive(Debug, Default)]
struct Woken(AtomicUsize);

impl Woken {
    fn times(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Woken>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_wakes_itself_is_polled_once_in_each_poll_of_the_job() {
    let plan = fanout(PlanSpec::new("plan", required(&["a", "b"])));
    let mut job = plan.job();
    let _answers = job.each(|_| {
        let mut left = 100;
        poll_fn(move |task| {
            left -= 1;
            if left == 0 {
                return Poll::Ready(Ok(()));
            }
            task.waker().wake_by_ref();
            Poll::Pending
        })
    });
    let mut job = pin!(job.join());
    let mut polls = 0;
    let done = poll_fn(|task| {
        polls += 1;
        job.as_mut().poll(task)
    })
    .await;
    assert!(done.is_ok());
    assert_eq!(polls, 100);
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_polls_the_attempt_that_it_names_and_no_other() {
    const N: usize = 150;
    let names: Vec<String> = (0..N).map(|i| i.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let plan = fanout(PlanSpec::new("plan", required(&names)));
    let polls: Vec<AtomicUsize> = (0..N).map(|_| AtomicUsize::new(0)).collect();
    let wakers: Mutex<Vec<Option<Waker>>> = Mutex::new(vec![None; N]);
    let mut job = plan.job();
    let _answers = job.each(|attempt| {
        let branch = attempt.branch() as usize;
        let (polls, wakers) = (&polls, &wakers);
        poll_fn(move |task| -> Poll<Result<(), AttemptError>> {
            polls[branch].fetch_add(1, Ordering::Relaxed);
            wakers.lock().unwrap()[branch] = Some(task.waker().clone());
            Poll::Pending
        })
    });
    let mut job = Box::pin(job.join());
    assert!(poll_once(&mut job).await.is_pending());
    for branch in [0, 63, 64, 127, 128, 149] {
        let waker = wakers.lock().unwrap()[branch].clone().unwrap();
        // Twice: that is one poll all the same.
        waker.wake_by_ref();
        waker.wake();
        assert!(poll_once(&mut job).await.is_pending());
        assert!(poll_once(&mut job).await.is_pending());
    }
    let polls: Vec<usize> = polls.iter().map(|polls| polls.load(Ordering::Relaxed)).collect();
    assert_eq!(polls.iter().sum::<usize>(), N + 6);
    assert!([0, 63, 64, 127, 128, 149].iter().all(|branch| polls[*branch] == 2));
}

#[tokio::test(start_paused = true)]
async fn a_waker_called_after_its_attempt_or_its_job_is_over_does_no_harm() {
    let kept = Mutex::new(None);
    let plan = fanout(PlanSpec::new("plan", required(&["a", "b"])));
    let mut job = plan.job();
    let first = job.required("a", |_| {
        poll_fn(|task| {
            *kept.lock().unwrap() = Some(task.waker().clone());
            Poll::Ready(Ok(1))
        })
    });
    let second = job.required("b", |_| after(10, 2));
    let mut job = Box::pin(job.join());
    assert!(poll_once(&mut job).await.is_pending());
    let waker = kept.lock().unwrap().take().unwrap();
    waker.wake_by_ref();
    assert!(poll_once(&mut job).await.is_pending());
    let mut done = job.await.unwrap();
    assert_eq!((done.take(first), done.take(second), done.elapsed()), (1, 2, ms(10)));
    waker.wake_by_ref();
    waker.wake();
}

#[tokio::test(start_paused = true)]
async fn a_job_that_moves_to_another_task_is_woken_there() {
    let plan = fanout(PlanSpec::new("plan", required(&["a"])));
    let kept: Mutex<Option<Waker>> = Mutex::new(None);
    let mut job = plan.job();
    let _answer = job.required("a", |_| {
        poll_fn(|task| -> Poll<Result<(), AttemptError>> {
            *kept.lock().unwrap() = Some(task.waker().clone());
            Poll::Pending
        })
    });
    let mut job = Box::pin(job.join());
    let (before, after) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
    for woken in [&before, &after] {
        let waker = Waker::from(Arc::clone(woken));
        assert!(job.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    // The attempt was not polled again, and has its first waker.
    kept.lock().unwrap().take().unwrap().wake();
    assert_eq!((before.times(), after.times()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_attempts_are_ready_at_once_needs_one_poll() {
    let names: Vec<String> = (0..100).map(|i| i.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let plan = fanout(PlanSpec::new("plan", required(&names)));
    let mut job = plan.job();
    let answers = job.each(|attempt| async move { Ok(attempt.branch()) });
    let Poll::Ready(done) = poll_once(&mut Box::pin(job.join())).await else { panic!("all are ready") };
    assert!(done.unwrap().take(answers).into_iter().flatten().eq(0..100));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_wakes_itself_while_it_is_dropped_does_no_harm() {
    struct WakesOnDrop(Option<Waker>);
    impl Drop for WakesOnDrop {
        fn drop(&mut self) {
            self.0.take().unwrap().wake();
        }
    }
    let plan = fanout(PlanSpec {
        deadline: Some(ms(10)),
        ..PlanSpec::new("plan", vec![optional("a"), optional("b")])
    });
    let mut job = plan.job();
    let _answers = job.each(|_| async {
        let waker = poll_fn(|task| Poll::Ready(task.waker().clone())).await;
        let _wakes = WakesOnDrop(Some(waker));
        pending::<Result<(), AttemptError>>().await
    });
    assert_eq!(job.join().await.unwrap().elapsed(), ms(10));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_a_year_away_is_no_trouble() {
    let year = fantail_core::Time::LONGEST;
    let plan = fanout(PlanSpec {
        deadline: Some(year),
        ..PlanSpec::new("plan", vec![optional("a"), optional("b")])
    });
    let mut job = plan.job();
    let _answers = job.each(|attempt| async move {
        if attempt.branch() == 0 { after(10, ()).await } else { pending().await }
    });
    let done = job.join().await.unwrap();
    assert_eq!((done.elapsed(), done.incomplete().collect::<Vec<_>>()), (year, vec![1]));
}

/// Things that other threads deliver one by one, each only once the one before was taken: a lost wake-up is a standstill.
#[derive(Debug, Default)]
struct Deliveries {
    delivered: AtomicUsize,
    taken: AtomicUsize,
    waker: Mutex<Option<Waker>>,
}

impl Deliveries {
    fn poll(&self, task: &mut Context<'_>, all: usize) -> Poll<()> {
        // The waker first, as every future does: what is delivered after that wakes.
        *self.waker() = Some(task.waker().clone());
        let delivered = self.delivered.load(Ordering::SeqCst);
        self.taken.store(delivered, Ordering::SeqCst);
        if delivered == all { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Gives up, and says so, after a minute without progress.
    fn deliver(&self, all: usize) -> bool {
        for number in 1..=all {
            self.delivered.store(number, Ordering::SeqCst);
            let waker = self.waker().clone();
            waker.into_iter().for_each(Waker::wake);
            let since = Instant::now();
            while self.taken.load(Ordering::SeqCst) < number {
                if since.elapsed() > Duration::from_secs(60) {
                    return false;
                }
                std::thread::yield_now();
            }
        }
        true
    }

    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().expect("nobody panics with the waker")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wake_ups_from_other_threads_are_never_lost() {
    const EACH: usize = 5_000;
    let plan = fanout(PlanSpec::new("plan", required(&["a", "b", "c", "d"])));
    let mut job = plan.job();
    let _answers = job.each(|_| async {
        let deliveries = Arc::new(Deliveries::default());
        let there = Arc::clone(&deliveries);
        let thread = tokio::task::spawn_blocking(move || there.deliver(EACH));
        let arrived =
            tokio::time::timeout(Duration::from_secs(120), poll_fn(|task| deliveries.poll(task, EACH)));
        arrived.await?;
        assert!(thread.await?, "nothing was taken for a minute");
        Ok(())
    });
    let done = tokio::spawn(job.join()).await.unwrap().unwrap();
    assert_eq!(done.ledger().primaries.won, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_in_many_tasks_share_a_gate_without_losing_a_wake_up() {
    let spec = PlanSpec {
        limiters: vec![crate::support::gate(3)],
        ..PlanSpec::new("plan", crate::support::limited(8))
    };
    let plan = fanout(spec);
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let plan = plan.clone();
            tokio::spawn(async move {
                for _ in 0..10 {
                    let mut job = plan.job();
                    let _answers = job.each(|_| async {
                        tokio::task::yield_now().await;
                        Ok(())
                    });
                    let _done = job.join().await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        tokio::time::timeout(Duration::from_secs(120), task).await.expect("nobody stands still").unwrap();
    }
    let account = plan.limiter(0).unwrap();
    assert_eq!((account.held(), account.waiting()), (0, 0));
}
