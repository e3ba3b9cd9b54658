//! A server's word to slow down holds for all who share its limiter.

use std::time::Duration;

use fantail::{AttemptError, JoinError, Limiters};
use fantail_core::PlanSpec;
use fantail_core::job::{Cause, NotStarted, Outcome, Refusal};
use tokio::time::Instant;

use crate::support::{after, gate, limited, ms, shared, sleep};

fn plan(name: &str, branches: usize, permits: u32) -> PlanSpec {
    PlanSpec { limiters: vec![gate(permits)], ..PlanSpec::new(name, limited(branches)) }
}

/// Tells to slow down after `millis`.
async fn slow_down(millis: u64, pause: u64) -> Result<u64, AttemptError> {
    sleep(millis).await;
    Err(AttemptError::pushback("429", Some(Duration::from_millis(pause))))
}

/// When it started and what `limiter` said then, from `origin`.
fn since(origin: Instant) -> u64 {
    origin.elapsed().as_millis() as u64
}

#[tokio::test(start_paused = true)]
async fn the_permit_of_a_refused_attempt_lets_nobody_start_inside_the_pause() {
    let limiters = Limiters::default();
    let one = shared(plan("one", 1, 1), &limiters);
    let other = shared(plan("other", 1, 1), &limiters);
    let origin = Instant::now();

    let mut first = one.job();
    let _answer = first.each(|_| slow_down(10, 700));
    let mut second = other.job();
    let started = second.each(|_| async move { Ok(since(origin)) });
    let (first, second) = tokio::join!(first.join(), second.join());

    assert!(matches!(first, Err(JoinError::Failed(failed)) if failed.cause() == Cause::Required(0)));
    assert_eq!(second.unwrap().take(started), [Some(710)]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_ends_for_all_who_share_it_exactly_when_asked() {
    let limiters = Limiters::default();
    let one = shared(plan("one", 1, 8), &limiters);
    let other = shared(plan("other", 5, 8), &limiters);
    let origin = Instant::now();

    let mut first = one.job();
    let _answer = first.each(|_| slow_down(10, 700));
    let later = async {
        sleep(20).await;
        let account = other.limiter(0).unwrap();
        assert_eq!(account.paused_for(), Some(Duration::from_millis(690)));
        let mut second = other.job();
        let started = second.each(|_| async move { Ok(since(origin)) });
        second.join().await.unwrap().take(started)
    };
    let (_, started) = tokio::join!(first.join(), later);

    assert_eq!(started, [Some(710); 5]);
    assert_eq!(other.limiter(0).unwrap().paused_for(), None);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_whose_deadline_falls_inside_the_pause_is_settled_at_once() {
    let limiters = Limiters::default();
    let one = shared(plan("one", 1, 1), &limiters);
    let other = shared(PlanSpec { deadline: Some(ms(500)), ..plan("other", 1, 1) }, &limiters);

    let mut first = one.job();
    let _answer = first.each(|_| slow_down(10, 700));
    let mut second = other.job();
    let _answer = second.each(|_| after(1, 0));
    let (_, second) = tokio::join!(first.join(), second.join());

    let Err(JoinError::Failed(failed)) = second else { panic!("it can't start: {second:?}") };
    assert_eq!(failed.outcome(0), Outcome::NotStarted(NotStarted::Refused(Refusal::Pushback)));
    assert_eq!(failed.elapsed(), ms(10));
}

#[tokio::test(start_paused = true)]
async fn a_pause_above_the_cap_refuses_those_who_wait_and_those_who_come() {
    let limiters = Limiters::default();
    let one = shared(plan("one", 1, 1), &limiters);
    let other = shared(plan("other", 1, 1), &limiters);

    let mut first = one.job();
    let _answer = first.each(|_| slow_down(10, 61_000));
    let mut second = other.job();
    let _answer = second.each(|_| after(1, 0));
    let (_, second) = tokio::join!(first.join(), second.join());
    let mut third = other.job();
    let _answer = third.each(|_| after(1, 0));

    for (job, elapsed) in [(second, 10), (third.join().await, 0)] {
        let Err(JoinError::Failed(failed)) = job else { panic!("it can't start: {job:?}") };
        assert_eq!(failed.outcome(0), Outcome::NotStarted(NotStarted::Refused(Refusal::Pushback)));
        assert_eq!(failed.elapsed(), ms(elapsed));
    }
}
