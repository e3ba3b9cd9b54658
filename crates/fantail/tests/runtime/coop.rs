//! tokio gives each task a budget of operations for one poll. A branch that spends it all takes nothing from the others.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use fantail::AttemptError;
use fantail_core::job::Outcome;
use fantail_core::{BranchSpec, PlanSpec, WaitFor};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::support::{fanout, limited, ms, optional, rate, sleep};

/// Always has something to receive. Gives up after a million polls, so that a test that should fail ends.
async fn greedy(polls: &AtomicUsize) -> Result<(), AttemptError> {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    sender.send(()).unwrap_or_else(|_| unreachable!("the receiver is here"));
    let mut forever = Box::pin(async move {
        while receiver.recv().await.is_some() {
            if sender.send(()).is_err() {
                break;
            }
        }
    });
    poll_fn(|task| {
        if polls.fetch_add(1, Ordering::Relaxed) == 1_000_000 {
            return Poll::Ready(());
        }
        forever.as_mut().poll(task)
    })
    .await;
    Err(AttemptError::permanent("polled a million times"))
}

#[tokio::test(start_paused = true)]
async fn a_branch_that_is_always_ready_does_not_starve_the_next() {
    let branches = ["greedy", "greedier", "quiet"].map(BranchSpec::new).to_vec();
    let first = fanout(PlanSpec { wait_for: WaitFor::First(1), ..PlanSpec::new("first", branches) });
    let (sender, receiver) = oneshot::channel();
    sender.send(7).unwrap();
    let mut receiver = Some(receiver);
    let polls = AtomicUsize::new(0);

    let mut job = first.job();
    let _never = job.optional("greedy", |_| greedy(&polls));
    let _never = job.optional("greedier", |_| greedy(&polls));
    let quiet = job.optional("quiet", |_| {
        let receiver = receiver.take().unwrap();
        async { Ok(receiver.await?) }
    });
    assert_eq!(job.join().await.unwrap().take(quiet), Some(7));
    assert_eq!(polls.into_inner(), 2, "one poll for each before it is the quiet one's turn");
}

#[tokio::test]
async fn a_branch_that_is_always_ready_does_not_put_off_the_deadline() {
    let plan = fanout(PlanSpec { deadline: Some(ms(5)), ..PlanSpec::new("plan", vec![optional("greedy")]) });
    let polls = AtomicUsize::new(0);
    let mut job = plan.job();
    let _never = job.optional("greedy", |_| greedy(&polls));
    assert_eq!(job.join().await.unwrap().outcome(0), Outcome::Missed);
}

#[tokio::test]
async fn a_branch_that_is_always_ready_does_not_put_off_the_permits_of_others() {
    let mut branches = limited(2);
    branches.insert(0, BranchSpec::new("greedy"));
    let limiters = vec![rate(ms(5), 1)];
    let plan = fanout(PlanSpec { wait_for: WaitFor::First(2), limiters, ..PlanSpec::new("plan", branches) });
    let polls = AtomicUsize::new(0);
    let mut job = plan.job();
    let _never = job.optional("greedy", |_| greedy(&polls));
    let answers = job.each(|_| async { Ok(1) });
    let mut done = job.join().await.unwrap();
    assert_eq!(done.take(answers), [None, Some(1), Some(1)]);
}

#[tokio::test(start_paused = true)]
async fn more_answers_than_one_poll_can_take_are_all_in_time_at_the_deadline() {
    let names: Vec<String> = (0..1_000).map(|i| i.to_string()).collect();
    let branches = names.into_iter().map(BranchSpec::new).collect();
    let plan = fanout(PlanSpec { deadline: Some(ms(100)), ..PlanSpec::new("plan", branches) });
    let mut job = plan.job();
    let answers = job.each(|_| async {
        sleep(100).await;
        Ok(1)
    });
    let mut done = job.join().await.unwrap();
    assert_eq!(done.take(answers).into_iter().flatten().sum::<usize>(), 1_000);
    assert_eq!(done.elapsed(), ms(100));
}

#[tokio::test(start_paused = true)]
async fn a_branch_that_receives_ten_thousand_values_gets_them_in_few_polls() {
    let plan = fanout(PlanSpec::new("plan", vec![BranchSpec::new("long"), BranchSpec::new("short")]));
    let (sender, receiver) = mpsc::unbounded_channel();
    (0..10_000).for_each(|i| sender.send(i).unwrap());
    drop(sender);
    let mut receiver = Some(receiver);

    let mut job = plan.job();
    let long = job.required("long", |_| {
        let mut receiver = receiver.take().unwrap();
        async move {
            let mut sum = 0;
            while let Some(i) = receiver.recv().await {
                sum += i;
            }
            Ok(sum)
        }
    });
    let short = job.required("short", |_| async { Ok(1) });
    let mut joined = Box::pin(job.join());
    let mut polls = 0;
    let counted = poll_fn(|task| {
        polls += 1;
        joined.as_mut().poll(task)
    });
    let mut done = timeout(Duration::from_secs(1), counted).await.expect("it is woken").unwrap();

    assert_eq!((done.take(long), done.take(short)), (49_995_000, 1));
    assert!(polls <= 200, "10,000 values, 128 a poll, but {polls} polls");
}
