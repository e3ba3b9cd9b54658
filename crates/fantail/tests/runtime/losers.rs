//! What lost is dropped before anybody sees the result.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex};

use fantail::{Done, Fanout, JobBuilder, JoinError};
use fantail_core::{BranchSpec, Hedge, PlanSpec, WaitFor};

use crate::support::{after, fails, fanout, gate, limited, ms, optional, poll_once, required};

/// What happened, in order.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, what: impl Into<String>) {
        self.0.lock().expect("no test panics while it writes").push(what.into());
    }

    /// Adds `what` when it is dropped.
    fn on_drop(&self, what: String) -> LogsDrop {
        LogsDrop(self.clone(), what)
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().expect("no test panics while it writes").clone()
    }
}

#[derive(Debug)]
struct LogsDrop(Log, String);

impl Drop for LogsDrop {
    fn drop(&mut self) {
        self.0.add(std::mem::take(&mut self.1));
    }
}

/// Branch i answers after `latencies[i]` ms, its copies each a millisecond before the one before; 0 is a failure at 5 ms.
fn give(plan: &Fanout, log: &Log, latencies: &'static [u64]) -> JobBuilder<'static> {
    let log = log.clone();
    let mut job = plan.job();
    let _answers = job.each(move |attempt| {
        let latency = latencies[attempt.branch() as usize];
        let on_drop = log.on_drop(format!("{}.{}", attempt.branch(), attempt.number()));
        async move {
            let _on_drop = on_drop;
            match latency {
                0 => fails(5, "E").await,
                latency => after(latency - u64::from(attempt.number()), ()).await,
            }
        }
    });
    job
}

/// What was dropped when the result became visible, in this order.
async fn dropped_before_the_result(
    plan: Fanout,
    latencies: &'static [u64],
) -> (Result<Done, JoinError>, Vec<String>) {
    let log = Log::default();
    let mut job = Box::pin(give(&plan, &log, latencies).join());
    let joined = poll_fn(|task| {
        let poll = job.as_mut().poll(task);
        if poll.is_ready() {
            log.add("result");
            let account = plan.limiter(0);
            assert!(account.is_none_or(|account| account.held() == 0 && account.waiting() == 0));
        }
        poll
    })
    .await;
    drop(job);
    let mut lines = log.lines();
    assert_eq!(lines.pop().as_deref(), Some("result"), "nothing is dropped after it: {lines:?}");
    (joined, lines)
}

#[tokio::test(start_paused = true)]
async fn the_losers_of_first_k_are_dropped_before_the_result_is_visible() {
    let branches = required(&["a", "b", "c", "d"]);
    let plan = fanout(PlanSpec { wait_for: WaitFor::First(2), ..PlanSpec::new("first", branches) });
    let (joined, dropped) = dropped_before_the_result(plan, &[20, 10, 40, 15]).await;
    assert_eq!(joined.unwrap().elapsed(), ms(15));
    assert_eq!(dropped, ["1.0", "3.0", "0.0", "2.0"]);
}

#[tokio::test(start_paused = true)]
async fn the_losers_of_a_race_are_dropped_before_the_result_is_visible() {
    let branch = BranchSpec { hedge: Some(Hedge::race(3)), repeatable: true, ..BranchSpec::new("a") };
    let plan = fanout(PlanSpec::new("race", vec![branch]));
    let (joined, dropped) = dropped_before_the_result(plan, &[20]).await;
    assert_eq!(joined.unwrap().elapsed(), ms(18));
    assert_eq!(dropped, ["0.2", "0.0", "0.1"]);
}

#[tokio::test(start_paused = true)]
async fn what_misses_the_deadline_is_dropped_before_the_result_is_visible() {
    let branches = vec![optional("a"), optional("b")];
    let plan = fanout(PlanSpec { deadline: Some(ms(20)), ..PlanSpec::new("plan", branches) });
    let (joined, dropped) = dropped_before_the_result(plan, &[10, 30]).await;
    assert_eq!(joined.unwrap().elapsed(), ms(20));
    assert_eq!(dropped, ["0.0", "1.0"]);
}

#[tokio::test(start_paused = true)]
async fn what_runs_and_what_waits_is_dropped_before_a_failure_is_visible() {
    let plan = fanout(PlanSpec { limiters: vec![gate(2)], ..PlanSpec::new("plan", limited(4)) });
    let (joined, dropped) = dropped_before_the_result(plan, &[20, 0, 20, 20]).await;
    assert!(joined.is_err());
    assert_eq!(dropped, ["1.0", "0.0"]);
}

#[tokio::test(start_paused = true)]
async fn a_branch_is_over_for_its_losers_while_the_job_runs_on() {
    let race = BranchSpec { hedge: Some(Hedge::race(2)), repeatable: true, ..BranchSpec::new("a") };
    let plan = fanout(PlanSpec::new("plan", vec![race, BranchSpec::new("b")]));
    let log = Log::default();
    let mut job = Box::pin(give(&plan, &log, &[11, 30]).join());
    assert!(tokio::time::timeout(std::time::Duration::from_millis(15), &mut job).await.is_err());
    assert_eq!(log.lines(), ["0.1", "0.0"]);
    let _done = job.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn dropping_the_job_drops_all_it_started() {
    let plan = fanout(PlanSpec { limiters: vec![gate(2)], ..PlanSpec::new("plan", limited(4)) });
    let log = Log::default();
    let mut job = Box::pin(give(&plan, &log, &[20; 4]).join());
    assert!(poll_once(&mut job).await.is_pending());
    drop(job);
    assert_eq!(log.lines(), ["0.0", "1.0"]);
}

#[tokio::test(start_paused = true)]
async fn of_two_answers_at_one_instant_the_losing_one_is_dropped_before_the_result_is_visible() {
    let log = Log::default();
    let branch = BranchSpec { hedge: Some(Hedge::race(2)), repeatable: true, ..BranchSpec::new("a") };
    let plan = fanout(PlanSpec::new("race", vec![branch]));
    let mut job = plan.job();
    let answer =
        job.required("a", |attempt| after(1, log.on_drop(format!("answer of {}", attempt.number()))));
    let mut done = job.join().await.unwrap();
    log.add("result");
    drop(done.take(answer));
    assert_eq!(log.lines(), ["answer of 1", "result", "answer of 0"]);
}
