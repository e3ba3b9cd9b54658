//! What was there in time is in time, though the job's task was too busy to look.

use std::sync::Mutex;
use std::time::Duration;

use fantail::{AttemptError, Done, Fanout, JoinError};
use fantail_core::job::{Failure, Outcome, Verdict};
use fantail_core::{BranchSpec, BudgetSpec, Hedge, PlanSpec, Time, WaitFor};
use tokio::sync::oneshot;
use tokio::time::advance;

use crate::support::{after, fanout, hedged, ms, optional, poll_once};

type Reply = Result<u32, &'static str>;

/// Starts a job whose branches hear their replies from the test, lets the replies come at their times, and polls the job
/// again only when it is `looks` ms old.
async fn busy(plan: &Fanout, replies: Vec<(u64, u32, Reply)>, looks: u64) -> Done {
    let n = plan.plan().n() as usize;
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..n).map(|_| oneshot::channel::<Reply>()).unzip();
    let mut senders: Vec<_> = senders.into_iter().map(Some).collect();
    let receivers = Mutex::new(receivers.into_iter().map(Some).collect::<Vec<_>>());
    let mut job = plan.job();
    let _answers = job.each(|attempt| {
        let receiver = receivers.lock().unwrap()[attempt.branch() as usize].take();
        async move {
            // A copy has nobody to hear from.
            let Some(receiver) = receiver else { return std::future::pending().await };
            receiver.await?.map_err(AttemptError::retryable)
        }
    });
    let mut job = Box::pin(job.join());
    assert!(poll_once(&mut job).await.is_pending());
    let mut now = 0;
    for (at, branch, reply) in replies {
        advance(Duration::from_millis(at - now)).await;
        now = at;
        senders[branch as usize].take().unwrap().send(reply).unwrap();
    }
    advance(Duration::from_millis(looks - now)).await;
    match job.await {
        Ok(done) => done,
        Err(JoinError::Failed(failed)) => failed.into_done(),
        Err(error) => panic!("{error}"),
    }
}

fn with_deadline(branches: Vec<BranchSpec>) -> Fanout {
    fanout(PlanSpec { deadline: Some(ms(100)), ..PlanSpec::new("plan", branches) })
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_there_by_the_deadline_is_in_time_whenever_the_task_looks() {
    for (there, outcome) in [(50, Outcome::Answered), (100, Outcome::Answered), (101, Outcome::Missed)] {
        let plan = with_deadline(vec![optional("a")]);
        let done = busy(&plan, vec![(there, 0, Ok(7))], 150).await;
        assert_eq!((done.outcome(0), done.elapsed()), (outcome, ms(there)), "an answer at {there} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_and_deadlines_between_two_looks_count_in_the_order_in_which_they_were() {
    let mut branches = vec![optional("a"), optional("b"), optional("c"), optional("d")];
    branches[0].deadline = Some(ms(40));
    branches[2].deadline = Some(ms(60));
    let plan = with_deadline(branches);
    let replies = vec![(30, 3, Ok(3)), (50, 0, Ok(0)), (60, 2, Ok(2)), (90, 1, Ok(1))];
    let done = busy(&plan, replies, 200).await;
    let outcomes = [0, 1, 2, 3].map(|branch| done.outcome(branch));
    assert_eq!(outcomes, [Outcome::Missed, Outcome::Answered, Outcome::Answered, Outcome::Answered]);
    let ran = [1, 2, 3].map(|branch| done.slot(branch).ran);
    assert_eq!(ran, [90, 60, 30].map(ms));
    assert_eq!((done.verdict(), done.elapsed()), (Verdict::Partial, ms(90)));
}

#[tokio::test(start_paused = true)]
async fn no_copy_is_sent_for_an_answer_that_was_there_before_its_delay() {
    let hedge_budget = BudgetSpec { share: 1_000_000, burst: 1, in_flight: None };
    let plan = fanout(PlanSpec { hedge_budget, ..PlanSpec::new("plan", vec![hedged("a", 50)]) });
    let mut warm = plan.job();
    let _answer = warm.required("a", |_| after(1, 0));
    let _done = warm.join().await.unwrap();
    let done = busy(&plan, vec![(49, 0, Ok(7))], 80).await;
    assert_eq!((done.ledger().copies.launched, done.elapsed()), (0, ms(49)));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_was_there_by_the_deadline_is_a_failure_and_no_miss() {
    let plan = with_deadline(vec![optional("a"), optional("b")]);
    let done = busy(&plan, vec![(10, 0, Err("reset")), (20, 1, Ok(1))], 150).await;
    assert_eq!((done.outcome(0), done.outcome(1)), (Outcome::Failed, Outcome::Answered));
    assert_eq!((done.errors(0)[0].failure(), done.elapsed()), (Failure::Retryable, ms(20)));
}

#[tokio::test(start_paused = true)]
async fn answers_for_which_one_poll_is_too_short_are_in_time_too() {
    // More than tokio lets one task do in one poll.
    let plan = with_deadline((0..500).map(|i| optional(&i.to_string())).collect());
    let replies = (0..500).map(|branch| (90, branch, Ok(branch))).collect();
    let done = busy(&plan, replies, 150).await;
    assert_eq!((done.verdict(), done.elapsed()), (Verdict::Complete, ms(90)));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_timeout_does_not_cut_what_was_there() {
    let timed = BranchSpec { attempt_timeout: Some(ms(30)), ..BranchSpec::new("a") };
    let plan = fanout(PlanSpec::new("plan", vec![timed]));
    let done = busy(&plan, vec![(30, 0, Ok(7))], 500).await;
    assert_eq!((done.outcome(0), done.elapsed()), (Outcome::Answered, Time::from_millis(30)));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_lets_the_job_stand_still_makes_no_branch_late() {
    let plan = with_deadline((0..10).map(|i| optional(&i.to_string())).collect());
    let mut job = plan.job();
    let answers = job.each(|attempt| after(10 + u64::from(attempt.branch()), attempt.branch()));
    let mut running = job.start().unwrap();
    let mut seen = Vec::new();
    while let Some(branch) = running.next().await {
        seen.extend(running.answer(&answers, branch));
        // Nobody polls the job meanwhile.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let done = running.finish().await.unwrap();
    assert_eq!((seen.len(), done.verdict(), done.elapsed()), (10, Verdict::Complete, ms(19)));
}

#[tokio::test(start_paused = true)]
async fn the_attempt_that_answered_first_wins_whichever_is_looked_at_first() {
    let race = BranchSpec { repeatable: true, hedge: Some(Hedge::race(2)), ..optional("a") };
    let plan = with_deadline(vec![race]);
    for first in [0, 1] {
        let mut job = plan.job();
        let answer = job.optional("a", |attempt| {
            let there = if attempt.number() == first { 50 } else { 60 };
            after(there, attempt.number())
        });
        let mut job = Box::pin(job.join());
        assert!(poll_once(&mut job).await.is_pending());
        for pass in [50, 10, 90] {
            advance(Duration::from_millis(pass)).await;
        }
        let mut done = job.await.unwrap();
        assert_eq!((done.take(answer), done.elapsed()), (Some(first), ms(50)));
        assert_eq!(done.ledger().copies.won, u64::from(first));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_late_is_in_no_result() {
    let plan = with_deadline(vec![optional("a")]);
    for (there, answer) in [(100, Some(7)), (101, None)] {
        let mut job = plan.job();
        let handle = job.optional("a", |_| after(there, 7));
        let mut job = Box::pin(job.join());
        assert!(poll_once(&mut job).await.is_pending());
        // Nobody looks before that.
        advance(Duration::from_millis(there)).await;
        advance(Duration::from_millis(50)).await;
        assert_eq!(job.await.unwrap().take(handle), answer, "there at {there} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_does_not_count_as_of_when_one_of_an_earlier_job_was_there() {
    let branches = vec![optional("a"), optional("b")];
    let spec = PlanSpec { wait_for: WaitFor::First(1), ..PlanSpec::new("plan", branches) };
    let plan = fanout(PlanSpec { deadline: Some(ms(100)), ..spec });
    let ((tell_a, told_a), (tell_b, told_b)) = (oneshot::channel::<()>(), oneshot::channel::<()>());
    let (a, b) = (Mutex::new(Some((told_a, tell_b))), Mutex::new(Some(told_b)));
    let mut job = plan.job();
    let _a = job.optional("a", |_| {
        let (told, tell_b) = a.lock().unwrap().take().unwrap();
        async move {
            told.await?;
            // In the poll that ends the job: nobody looks at b any more.
            tell_b.send(()).map_err(|()| AttemptError::permanent("b is gone"))
        }
    });
    let _b = job.optional("b", |_| {
        let told = b.lock().unwrap().take().unwrap();
        async move { Ok(told.await?) }
    });
    let mut job = Box::pin(job.join());
    assert!(poll_once(&mut job).await.is_pending());
    tell_a.send(()).unwrap();
    assert_eq!(job.await.unwrap().outcome(1), Outcome::Unneeded);

    let done = busy(&plan, vec![(150, 1, Ok(7))], 160).await;
    assert_eq!(done.outcome(1), Outcome::Missed);
}
