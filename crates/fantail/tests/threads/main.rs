//! What threads share: the limiter, a job's mailbox and wake-ups, and holds. The sources are compiled once more, with
//! shuttle's primitives in the place of std's, and run under many schedules drawn at random. A schedule in which somebody
//! waits for ever is found as a deadlock; a failure prints the schedule.

#![allow(dead_code, unreachable_pub, reason = "these sources serve more than the tests")]
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

#[path = "../../src/clock.rs"]
mod clock;
#[path = "../../src/hold.rs"]
mod hold;
#[path = "../../src/limiter.rs"]
mod limiter;
#[path = "../../src/mail.rs"]
mod mail;
#[path = "../../src/under.rs"]
mod under;
#[path = "../../src/wakes.rs"]
mod wakes;

mod sync {
    use std::sync::PoisonError;

    pub(crate) use shuttle::sync::atomic;
    pub(crate) use shuttle::sync::{Mutex, MutexGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use fantail_core::job::{AttemptId, Class, Refusal};
use fantail_core::{LimiterSpec, Time};
use shuttle::future::block_on;
use shuttle::sync::atomic::{AtomicU32, Ordering};
use shuttle::thread;
use tokio::time::Instant;

use clock::Clock;
use hold::Hold;
use limiter::{Asked, Permit, SharedLimiter};
use mail::Mailbox;
use wakes::{Wakers, Wakes};

/// Under so many schedules; ten times as many with `FANTAIL_HEAVY=1`.
fn check(run: impl Fn() + Send + Sync + 'static) {
    let heavy = std::env::var_os("FANTAIL_HEAVY").is_some();
    shuttle::check_random(run, if heavy { 20_000 } else { 2_000 });
}

fn gate(permits: u32) -> SharedLimiter {
    SharedLimiter::new(LimiterSpec { gate: Some(permits), ..LimiterSpec::new("account") })
}

fn acquire(limiter: &SharedLimiter, weight: u32) -> Result<Permit, Refusal> {
    block_on(limiter.acquire(Class::First, weight, None))
}

#[test]
fn everybody_gets_a_permit_and_never_more_than_the_gate_at_once() {
    check(|| {
        let (limiter, running) = (gate(2), Arc::new(AtomicU32::new(0)));
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let (limiter, running) = (limiter.clone(), Arc::clone(&running));
                let weight = 1 + i % 2;
                thread::spawn(move || {
                    let permit = acquire(&limiter, weight).unwrap();
                    assert!(running.fetch_add(weight, Ordering::SeqCst) + weight <= 2);
                    thread::yield_now();
                    running.fetch_sub(weight, Ordering::SeqCst);
                    drop(permit);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!((limiter.held(), limiter.waiting()), (0, 0));
    });
}

/// Waits for a permit until it has been woken so often, and then leaves the queue.
fn wait_and_leave(limiter: &SharedLimiter, weight: u32, wakes: u32) {
    let mut waiting = pin!(limiter.acquire(Class::First, weight, None));
    let mut polls = 0;
    block_on(poll_fn(|task| {
        polls += 1;
        let poll = waiting.as_mut().poll(task);
        if poll.is_pending() && polls <= wakes {
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }));
}

#[test]
fn who_leaves_the_queue_takes_nobodys_turn() {
    // The head leaves while a permit comes free; or it is too heavy for what is free, and the next one moves up only
    // because it leaves.
    for (held, head, next, comes_free) in [(3, 1, 3, true), (2, 3, 2, true), (1, 3, 2, false)] {
        check(move || {
            let limiter = gate(3);
            let mut permit = Some(acquire(&limiter, held).unwrap());
            let leaves = {
                let limiter = limiter.clone();
                thread::spawn(move || wait_and_leave(&limiter, head, 2))
            };
            let waits = {
                let limiter = limiter.clone();
                thread::spawn(move || drop(acquire(&limiter, next).unwrap()))
            };
            thread::yield_now();
            permit.take_if(|_| comes_free);
            leaves.join().unwrap();
            waits.join().unwrap();
            drop(permit);
            assert_eq!((limiter.held(), limiter.waiting()), (0, 0));
        });
    }
}

#[test]
fn a_pushback_that_is_too_long_refuses_all_who_wait_and_all_who_come() {
    check(|| {
        let limiter = gate(1);
        let held = acquire(&limiter, 1).unwrap();
        let waits: Vec<_> = (0..2)
            .map(|_| {
                let limiter = limiter.clone();
                thread::spawn(move || acquire(&limiter, 1).err())
            })
            .collect();
        limiter.push_back(Duration::from_secs(3_600));
        for thread in waits {
            assert_eq!(thread.join().unwrap(), Some(Refusal::Pushback));
        }
        drop(held);
        assert_eq!((limiter.held(), limiter.waiting()), (0, 0));
    });
}

#[test]
fn a_permit_that_is_held_by_another_thread_is_handed_back_once() {
    check(|| {
        let limiter = gate(1);
        let wakes = Wakes::new(1, false, Clock::start());
        let mailbox = Mailbox::new(wakes);
        let attempt = AttemptId::primary(0);
        let permit = acquire(&limiter, 1).unwrap();
        let holds = [Hold::new(&mailbox, attempt), Hold::new(&mailbox, attempt)];
        let threads = holds.map(|hold| thread::spawn(move || drop(hold)));
        // The job lets go of it.
        drop(mailbox.holds.keep(attempt, permit));
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(limiter.held(), 0);
        drop(acquire(&limiter, 1).unwrap());
    });
}

#[test]
fn a_permit_that_is_under_way_when_a_job_ends_goes_back() {
    check(|| {
        let limiter = gate(1);
        let permit = acquire(&limiter, 1).unwrap();
        let mailbox = Mailbox::new(Wakes::new(1, false, Clock::start()));
        let asked = Asked {
            attempt: AttemptId::primary(0),
            class: Class::First,
            weight: 1,
            within: None,
            budget: None,
        };
        let place = limiter.open(Instant::now()).ask(&mailbox, asked).unwrap();
        let hands_out = thread::spawn(move || drop(permit));
        // As a job does at its end, which other jobs follow with the same mailbox.
        let mut mail = Vec::new();
        mailbox.take(&mut mail);
        drop((mail, place));
        mailbox.close();
        hands_out.join().unwrap();
        assert_eq!((limiter.held(), limiter.waiting(), mailbox.any()), (0, 0, false));
    });
}

#[test]
fn no_wake_up_is_lost_and_the_stamp_is_of_the_first_one() {
    check(|| {
        let mut wakers = Wakers::new(2, true, Clock::start());
        let wakes = Arc::clone(wakers.wakes());
        let done = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..2)
            .map(|attempt| {
                let (waker, done) = (wakers.of(attempt).clone(), Arc::clone(&done));
                thread::spawn(move || {
                    done.fetch_add(1, Ordering::SeqCst);
                    waker.wake();
                })
            })
            .collect();
        let mut seen = [false; 2];
        block_on(poll_fn(|task| {
            wakes.register(task.waker());
            let mut woken = VecDeque::new();
            wakes.take(&mut woken);
            for one in woken {
                assert!(one.since.is_some_and(|since| since < Time::MAX));
                seen[one.attempt] = true;
            }
            if seen == [true; 2] { Poll::Ready(()) } else { Poll::Pending }
        }));
        assert_eq!(done.load(Ordering::SeqCst), 2);
        for thread in threads {
            thread.join().unwrap();
        }
        let mut again = VecDeque::new();
        wakes.register(Waker::noop());
        wakes.take(&mut again);
        assert!(again.is_empty());
    });
}

/// Looks once for its one attempt, as a job does: what was woken before there was a task to wake is looked for after it.
fn look(wakes: &Wakes, task: &Waker) -> Poll<()> {
    let mut woken = VecDeque::new();
    wakes.take(&mut woken);
    if !woken.is_empty() {
        return Poll::Ready(());
    }
    // Here threads may meet, as before all of shuttle's primitives, of which what registers is none.
    AtomicU32::new(0).load(Ordering::SeqCst);
    wakes.register(task);
    if wakes.any() {
        task.wake_by_ref();
    }
    Poll::Pending
}

#[test]
fn what_a_job_keeps_goes_on_in_another_task_without_losing_a_wake_up() {
    check(|| {
        let mut wakers = Wakers::new(1, false, Clock::start());
        let (wakes, waker) = (Arc::clone(wakers.wakes()), wakers.of(0).clone());
        let attempt = thread::spawn(move || waker.wake());
        // The job is over after one look, and its task gone.
        let seen = block_on(poll_fn(|task| Poll::Ready(look(&wakes, task.waker()).is_ready())));
        let kept = thread::spawn(move || {
            if !seen {
                block_on(poll_fn(|task| look(&wakes, task.waker())));
            }
        });
        attempt.join().unwrap();
        kept.join().unwrap();
    });
}

#[test]
fn wakers_serve_another_job_only_when_no_thread_has_one_that_could_wake_it() {
    check(|| {
        let clock = Clock::start();
        let mut wakers = Wakers::new(1, true, clock);
        let waker = wakers.of(0).clone();
        let late = thread::spawn(move || waker.wake());
        thread::yield_now();
        let fit = wakers.reset(1, true, clock);
        late.join().unwrap();
        assert!(!fit || !wakers.wakes().any(), "the next job is woken by an attempt of this one");
        assert!(wakers.reset(1, true, clock));
    });
}
