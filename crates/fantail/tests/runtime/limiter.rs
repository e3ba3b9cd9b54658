//! A limiter that any number of tasks share.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fantail::{Limiters, SharedLimiter};
use fantail_core::LimiterSpec;
use fantail_core::job::{Class, Refusal};
use tokio::time::{Instant, timeout};

use crate::support::{gate, ms, poll_once, rate, sleep};

/// Who got a permit, and when, in ms from the start.
#[derive(Clone, Debug)]
struct Board {
    origin: Instant,
    grants: Arc<Mutex<Vec<(u64, u64)>>>,
}

impl Board {
    fn new() -> Board {
        Board { origin: Instant::now(), grants: Arc::default() }
    }

    /// Spawns somebody who asks now, and holds a permit for `hold` ms.
    fn ask(&self, limiter: &SharedLimiter, class: Class, who: u64, hold: u64) -> tokio::task::JoinHandle<()> {
        let (board, limiter) = (self.clone(), limiter.clone());
        tokio::spawn(async move {
            let _permit = limiter.acquire(class, 1, None).await.unwrap_or_else(|reason| panic!("{reason:?}"));
            let at = board.origin.elapsed().as_millis() as u64;
            board.grants.lock().expect("nobody panics here").push((who, at));
            sleep(hold).await;
        })
    }

    fn grants(&self) -> Vec<(u64, u64)> {
        self.grants.lock().expect("nobody panics here").clone()
    }
}

/// All of `tasks` get through a gate of `permits` in the order in which they asked, as many at once as it permits.
async fn check_gate(permits: u32, tasks: u64) {
    let limiter = SharedLimiter::new(gate(permits));
    let board = Board::new();
    let asked: Vec<_> = (0..tasks).map(|who| board.ask(&limiter, Class::First, who, 10)).collect();
    for task in asked {
        timeout(Duration::from_secs(60), task).await.expect("nobody is forgotten").expect("nobody panics");
    }
    let expected: Vec<(u64, u64)> = (0..tasks).map(|who| (who, who / u64::from(permits) * 10)).collect();
    assert_eq!(board.grants(), expected);
    assert_eq!((limiter.held(), limiter.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn permits_go_to_tasks_in_the_order_in_which_they_asked() {
    check_gate(1, 20).await;
    check_gate(3, 60).await;
}

#[tokio::test(start_paused = true)]
async fn a_thousand_tasks_get_through_a_gate_of_ten() {
    check_gate(10, 1_000).await;
}

#[tokio::test(start_paused = true)]
async fn a_better_class_overtakes_those_who_wait_and_their_timers() {
    let limiter = SharedLimiter::new(rate(ms(10), 1));
    let board = Board::new();
    let classes = [Class::Backfill, Class::Backfill, Class::OptionalCopy, Class::RequiredCopy, Class::First];
    let mut tasks = Vec::new();
    for (who, class) in (0..).zip(classes) {
        tasks.push(board.ask(&limiter, class, who, 0));
        sleep(1).await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    // The first found the bucket full.
    assert_eq!(board.grants(), [(0, 0), (4, 10), (3, 20), (2, 30), (1, 40)]);
}

#[tokio::test(start_paused = true)]
async fn the_next_takes_over_the_timer_when_the_head_is_dropped() {
    let limiter = SharedLimiter::new(rate(ms(10), 1));
    let board = Board::new();
    board.ask(&limiter, Class::First, 0, 0).await.unwrap();
    let head = board.ask(&limiter, Class::First, 1, 0);
    let rest = [2, 3].map(|who| board.ask(&limiter, Class::First, who, 0));
    sleep(4).await;
    assert_eq!(limiter.waiting(), 3);
    head.abort();
    for task in rest {
        timeout(Duration::from_secs(1), task).await.expect("somebody keeps the time").unwrap();
    }
    assert_eq!(board.grants(), [(0, 0), (2, 10), (3, 20)]);
}

#[tokio::test(start_paused = true)]
async fn a_weight_that_can_never_be_permitted_is_refused() {
    let limiter = SharedLimiter::new(LimiterSpec { gate: Some(3), ..rate(ms(10), 2) });
    for weight in [0, 3, u32::MAX] {
        assert_eq!(limiter.acquire(Class::First, weight, None).await.unwrap_err(), Refusal::Limiter);
    }
    drop(limiter.acquire(Class::First, 2, None).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_limiter_stays_as_the_first_plan_made_it() {
    let limiters = Limiters::default();
    let first = limiters.get_or_add(&gate(1));
    let second = limiters.clone().get_or_add(&gate(9));
    assert_eq!(second.spec(), gate(1));
    let _permit = first.acquire(Class::First, 1, None).await.unwrap();
    assert!(poll_once(&mut Box::pin(second.acquire(Class::First, 1, None))).await.is_pending());
    assert!(limiters.get("account").is_some() && limiters.get("other").is_none());
}

/// The next number of a xorshift generator.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Asks for random weights, and gives up a third of the time after a few polls.
async fn ask_and_give_up(limiter: SharedLimiter, seed: u64, out: Arc<AtomicU64>) -> u32 {
    let mut state = seed;
    let mut got = 0;
    for _ in 0..1_000 {
        let weight = 1 + random(&mut state) % 3;
        let mut acquire = Box::pin(limiter.acquire(Class::First, weight as u32, None));
        let permit = if random(&mut state).is_multiple_of(3) {
            let mut permit = None;
            for _ in 0..random(&mut state) % 4 {
                if let std::task::Poll::Ready(ready) = poll_once(&mut acquire).await {
                    permit = ready.ok();
                    break;
                }
                tokio::task::yield_now().await;
            }
            permit
        } else {
            acquire.await.ok()
        };
        if permit.is_some() {
            got += 1;
            let now = out.fetch_add(weight, Ordering::SeqCst) + weight;
            assert!(now <= 4, "{now} are out of a gate of 4");
            if random(&mut state).is_multiple_of(2) {
                tokio::task::yield_now().await;
            }
            out.fetch_sub(weight, Ordering::SeqCst);
        }
    }
    got
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_permit_is_lost_while_tasks_ask_and_give_up_at_random() {
    let limiter = SharedLimiter::new(gate(4));
    let out = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (1..=16)
        .map(|seed| tokio::spawn(ask_and_give_up(limiter.clone(), seed * 0x9E37_79B9, Arc::clone(&out))))
        .collect();
    for task in tasks {
        let got = timeout(Duration::from_secs(120), task).await.expect("nobody stands still").unwrap();
        assert!(got > 600, "two thirds wait until they have one, and {got} had one");
    }
    assert_eq!((limiter.held(), limiter.waiting()), (0, 0));
    drop(limiter.acquire(Class::First, 4, None).await.unwrap());
}
