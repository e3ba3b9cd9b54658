//! A job's work grows with its branches, not with their square.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};

use fantail_core::{BranchSpec, PlanSpec, WaitFor};

use crate::support::{after, fanout, gate, limited};

const BRANCHES: usize = 10_000;

#[tokio::test(start_paused = true)]
async fn ten_thousand_branches_behind_a_gate_are_polled_in_proportion() {
    let plan = fanout(PlanSpec { limiters: vec![gate(100)], ..PlanSpec::new("plan", limited(BRANCHES)) });
    let attempt_polls = AtomicUsize::new(0);
    let mut job = plan.job();
    let answers = job.each(|attempt| {
        let mut call = Box::pin(after(1 + u64::from(attempt.branch()) % 7, 1_usize));
        let polls = &attempt_polls;
        poll_fn(move |task| {
            polls.fetch_add(1, Ordering::Relaxed);
            call.as_mut().poll(task)
        })
    });
    let mut job = pin!(job.join());
    let mut job_polls = 0;
    let mut done = poll_fn(|task| {
        job_polls += 1;
        job.as_mut().poll(task)
    })
    .await
    .unwrap();

    assert_eq!(done.take(answers).into_iter().flatten().sum::<usize>(), BRANCHES);
    // One when it starts, one when it is woken, and seldom one more for tokio's budget.
    let attempt_polls = attempt_polls.load(Ordering::Relaxed);
    assert!(attempt_polls <= BRANCHES * 5 / 2, "{attempt_polls} polls of attempts");
    assert!(job_polls <= BRANCHES / 10, "{job_polls} polls of the job");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_branches_of_which_the_first_counts_end_without_ado() {
    let branches = (0..100_000).map(|i| BranchSpec::new(i.to_string())).collect();
    let plan = fanout(PlanSpec { wait_for: WaitFor::First(1), ..PlanSpec::new("plan", branches) });
    let mut job = plan.job();
    let _answers = job.each(|attempt| after(1 + u64::from(attempt.branch()), ()));
    assert_eq!(job.join().await.unwrap().job().answers(), 1);
}
