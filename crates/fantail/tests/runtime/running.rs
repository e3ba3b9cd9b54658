//! Answers that are taken as they come.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;

use fantail::{Failed, JoinError};
use fantail_core::job::{Cause, Outcome, Verdict};
use fantail_core::{BranchSpec, Hedge, PlanSpec, WaitFor};
use futures_util::{FutureExt, StreamExt};
use tokio::time::Instant;

use crate::support::{Census, after, fails, fanout, gate, limited, ms, optional, required, sleep};

#[tokio::test(start_paused = true)]
async fn answers_come_in_the_order_in_which_they_are_there_and_then_the_result() {
    let mut branches = required(&["a", "b"]);
    branches.push(optional("c"));
    branches.push(optional("d"));
    let plan = fanout(PlanSpec { deadline: Some(ms(100)), ..PlanSpec::new("plan", branches) });
    let start = Instant::now();
    let mut job = plan.job();
    let text = job.required("a", |_| after(30, String::from("text")));
    let rest = job.each(|attempt| async move {
        match attempt.branch() {
            1 => after(10, 7).await,
            2 => fails(20, "E").await,
            _ => after(1_000, 8).await,
        }
    });
    let mut running = job.start().unwrap();
    let mut seen = Vec::new();
    while let Some(branch) = running.next().await {
        seen.push((branch, start.elapsed().as_millis()));
        assert_eq!(running.answer(&text, branch).is_some(), branch == 0);
        assert_eq!(running.answer(&rest, branch), (branch == 1).then_some(7));
        assert_eq!(running.answer(&rest, branch), None, "it was taken");
    }
    assert_eq!(seen, [(1, 10), (0, 30)]);
    let done = running.finish().await.unwrap();
    assert_eq!((done.verdict(), done.elapsed()), (Verdict::Partial, ms(100)));
    assert_eq!((done.outcome(2), done.outcome(3)), (Outcome::Failed, Outcome::Missed));
}

#[tokio::test]
async fn answers_that_are_found_at_one_look_come_in_the_plans_order() {
    // The first attempts of a race are polled after all others have started.
    let race = BranchSpec { repeatable: true, hedge: Some(Hedge::race(2)), ..BranchSpec::new("race") };
    let plan = fanout(PlanSpec::new("plan", vec![race, BranchSpec::new("other")]));
    let mut job = plan.job();
    let _answers = job.each(|attempt| async move { Ok(attempt.branch()) });
    let branches: Vec<u32> = job.start().unwrap().collect().await;
    assert_eq!(branches, [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_job_is_over_once_a_branch_has_panicked() {
    for yields in [false, true] {
        let plan = fanout(PlanSpec { limiters: vec![gate(3)], ..PlanSpec::new("plan", limited(3)) });
        let mut job = plan.job();
        let answers = job.each(|attempt| async move {
            if yields {
                tokio::task::yield_now().await;
            }
            assert!(attempt.branch() != 0, "a branch panics");
            Ok(())
        });
        let mut running = job.start().unwrap();
        for _ in 0..3 {
            assert!(AssertUnwindSafe(running.next()).catch_unwind().await.is_err());
        }
        assert_eq!(running.answer(&answers, 1), None);
        drop(running);
        assert_eq!(plan.limiter(0).unwrap().held(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_were_not_taken_are_in_the_result() {
    let plan = fanout(PlanSpec::new("plan", required(&["a", "b"])));
    let mut job = plan.job();
    let answers = job.each(|attempt| after(1, attempt.branch()));
    let mut running = job.start().unwrap();
    assert_eq!(running.next().await, Some(0));
    assert_eq!(running.answer(&answers, 0), Some(0));
    let mut done = running.finish().await.unwrap();
    assert_eq!(done.take(answers), [None, Some(1)]);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_fails_gives_what_came_before_and_then_the_failure() {
    let plan = fanout(PlanSpec::new("plan", required(&["a", "b"])));
    let mut job = plan.job();
    let answers = job.each(|attempt| async move {
        if attempt.branch() == 0 { after(1, 0).await } else { fails(5, "E").await }
    });
    let mut running = job.start().unwrap();
    let stream = running.by_ref().collect::<Vec<_>>().await;
    assert_eq!((stream, running.next().await), (vec![0], None));
    let Err(JoinError::Failed(failed)) = running.finish().await else { panic!("the second branch failed") };
    assert_eq!(failed.cause(), Cause::Required(1));
    assert_eq!(Failed::into_done(*failed).take(answers), [Some(0), None]);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_running_job_drops_what_it_started() {
    let plan = fanout(PlanSpec { limiters: vec![gate(2)], ..PlanSpec::new("plan", limited(4)) });
    let census = Census::default();
    let mut job = plan.job();
    let _answers = job.each(|attempt| census.count(after(10 * u64::from(attempt.branch() + 1), ())));
    let mut running = job.start().unwrap();
    assert_eq!(census.alive(), 0, "the limiter has not granted yet, or nobody has polled");
    assert_eq!(running.next().await, Some(0));
    assert_eq!(census.alive(), 2);
    drop(running);
    let account = plan.limiter(0).unwrap();
    assert_eq!((census.alive(), account.held(), account.waiting()), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_makes_no_branch_late_and_no_finished_branch_keeps_its_permit() {
    let spec =
        PlanSpec { deadline: Some(ms(100)), limiters: vec![gate(5)], ..PlanSpec::new("plan", limited(6)) };
    let plan = fanout(PlanSpec { at_least: Some(0), ..spec });
    let mut job = plan.job();
    let answers = job.each(|attempt| after(10 + 2 * u64::from(attempt.branch()), attempt.branch()));
    let mut running = job.start().unwrap();
    let mut seen = HashSet::new();
    while let Some(branch) = running.next().await {
        running.meanwhile(sleep(100)).await;
        assert_eq!(plan.limiter(0).unwrap().held(), 0);
        assert_eq!(running.answer(&answers, branch), Some(branch));
        seen.insert(branch);
    }
    assert_eq!(seen.len(), 6);
    let done = running.finish().await.unwrap();
    assert_eq!((done.verdict(), done.elapsed()), (Verdict::Complete, ms(30)));
}

#[tokio::test(start_paused = true)]
async fn a_race_of_different_calls_gives_the_first_answer() {
    let spec =
        PlanSpec { wait_for: WaitFor::First(1), ..PlanSpec::new("race", required(&["cache", "disk"])) };
    let branches =
        spec.branches.into_iter().map(|branch| fantail_core::BranchSpec { required: None, ..branch });
    let plan = fanout(PlanSpec { branches: branches.collect(), ..spec });
    let mut job = plan.job();
    let cache = job.optional("cache", |_| fails::<&str>(1, "a miss"));
    let disk = job.optional("disk", |_| after(5, "page"));
    let mut done = job.join().await.unwrap();
    assert_eq!(done.take(cache).or(done.take(disk)), Some("page"));
}
