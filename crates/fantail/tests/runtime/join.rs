//! What a joined job comes to.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fantail::{AttemptError, Done, Failed, JoinError, Misuse};
use fantail_core::job::{AttemptId, Cause, Failure, NotStarted, Outcome, Refusal, Role, Verdict};
use fantail_core::{BranchSpec, BudgetSpec, Hedge, PlanSpec, WaitFor};
use tokio::time::Instant;

use crate::support::{Census, after, fails, fanout, gate, hedged, limited, ms, optional, required, sleep};

fn failed(result: Result<Done, JoinError>) -> Failed {
    match result {
        Err(JoinError::Failed(failed)) => *failed,
        other => panic!("this job fails, and does not come to {other:?}"),
    }
}

fn outcomes(done: &Done) -> Vec<Outcome> {
    (0..done.job().plan().n()).map(|branch| done.outcome(branch)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_complete_job_gives_each_branch_its_own_type() {
    let mut branches = required(&["kind", "pages", "rest"]);
    branches.insert(1, optional("summary"));
    let plan = fanout(PlanSpec::new("plan", branches));

    let mut job = plan.job();
    let kind = job.required("kind", |_| after(20, "contract"));
    let summary = job.optional("summary", |_| after(30, String::from("short")));
    let pages = job.required("pages", |_| after(10, 7_u64));
    let rest = job.each(|attempt| after(5, attempt.branch()));
    let mut done = job.join().await.unwrap();

    assert_eq!((done.verdict(), done.elapsed()), (Verdict::Complete, ms(30)));
    assert_eq!(done.take(pages), 7);
    assert_eq!(done.take(kind), "contract");
    assert_eq!(done.take(summary).as_deref(), Some("short"));
    assert_eq!(done.take(rest), [None, None, None, Some(3)]);
    assert_eq!(done.incomplete().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn each_leaves_the_answers_of_branches_with_their_own_call_to_these() {
    let plan = fanout(PlanSpec::new("plan", required(&["a", "b", "c"])));
    let mut job = plan.job();
    let own = job.required("b", |_| after(1, 1));
    let all = job.each(|_| after(1, 2));
    let mut done = job.join().await.unwrap();
    assert_eq!(done.take(all), [Some(2), None, Some(2)]);
    assert_eq!(done.take(own), 1);
}

#[tokio::test(start_paused = true)]
async fn all_misuses_come_at_once_and_nothing_starts() {
    let mut branches = required(&["a", "b", "c"]);
    branches.push(optional("d"));
    let plan = fanout(PlanSpec::new("plan", branches));
    let calls = AtomicUsize::new(0);
    let call = |_| {
        calls.fetch_add(1, Ordering::Relaxed);
        after(1, 0)
    };

    let mut job = plan.job();
    let _a = job.required("a", call);
    let _again = job.optional("a", call);
    let _unknown = job.required("e", call);
    let _optional = job.required("d", call);
    let error = job.join().await.unwrap_err();

    let JoinError::Invalid(misuses) = &error else { panic!("{error}") };
    let name = String::from;
    let expected = [
        Misuse::Twice(name("a")),
        Misuse::Unknown(name("e")),
        Misuse::NotRequired(name("d")),
        Misuse::Missing(name("b")),
        Misuse::Missing(name("c")),
    ];
    assert_eq!(misuses, &expected);
    assert_eq!(
        error.to_string(),
        "branch `a` was given twice; the plan has no branch `e`; branch `d` was given as required, but the plan \
         has it optional; branch `b` was not given; branch `c` was not given"
    );
    assert_eq!(calls.into_inner(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_nobody_polls_calls_nobody() {
    let plan = fanout(PlanSpec::new("plan", required(&["a"])));
    let calls = AtomicUsize::new(0);
    let mut job = plan.job();
    let _answer = job.required("a", |_| {
        calls.fetch_add(1, Ordering::Relaxed);
        after(1, 0)
    });
    drop(job.join());
    assert_eq!(calls.into_inner(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_first_k_answers_end_the_job() {
    let branches = required(&["a", "b", "c", "d"]);
    let plan = fanout(PlanSpec { wait_for: WaitFor::First(2), ..PlanSpec::new("first", branches) });
    let mut job = plan.job();
    let answers = job.each(|attempt| after(40 - 10 * u64::from(attempt.branch()), attempt.branch()));
    let mut done = job.join().await.unwrap();
    assert_eq!((done.verdict(), done.elapsed()), (Verdict::Complete, ms(20)));
    assert_eq!(done.take(answers), [None, None, Some(2), Some(3)]);
    assert_eq!(done.outcome(0), Outcome::Unneeded);
}

#[tokio::test(start_paused = true)]
async fn the_third_branch_is_started_when_two_answers_are_wanted_and_one_failed() {
    let spec = PlanSpec {
        wait_for: WaitFor::First(2),
        limiters: vec![gate(2)],
        ..PlanSpec::new("first", limited(3))
    };
    let plan = fanout(spec);
    let mut job = plan.job();
    let answers = job.each(|attempt| async move {
        match attempt.branch() {
            0 => after(5, 0).await,
            1 => fails(6, "E").await,
            _ => after(10, 2).await,
        }
    });
    let mut done = job.join().await.unwrap();
    assert_eq!((done.verdict(), done.elapsed()), (Verdict::Complete, ms(15)));
    assert_eq!(done.take(answers), [Some(0), None, Some(2)]);
    assert_eq!(done.errors(1)[0].to_string(), "E");
}

#[tokio::test(start_paused = true)]
async fn at_the_deadline_each_branch_has_one_outcome_and_the_rest_is_partial() {
    let branches = (0..40).map(|i| optional(&i.to_string())).collect();
    let plan = fanout(PlanSpec { deadline: Some(ms(100)), ..PlanSpec::new("plan", branches) });
    let mut job = plan.job();
    let _answers = job.each(|attempt| after(if attempt.branch() < 28 { 50 } else { 500 }, ()));
    let done = job.join().await.unwrap();
    assert_eq!((done.verdict(), done.elapsed()), (Verdict::Partial, ms(100)));
    let outcomes = outcomes(&done);
    assert!(outcomes[..28].iter().all(|outcome| *outcome == Outcome::Answered));
    assert!(outcomes[28..].iter().all(|outcome| *outcome == Outcome::Missed));
    assert!(done.incomplete().eq(28..40));
}

#[tokio::test(start_paused = true)]
async fn a_failed_job_says_its_root_cause_and_keeps_what_it_paid_for() {
    let plan = fanout(PlanSpec { limiters: vec![gate(3)], ..PlanSpec::new("plan", limited(4)) });
    let mut job = plan.job();
    let _answers = job.each(|attempt| async move {
        match attempt.branch() {
            0 => after(5, "paid").await,
            1 => fails(10, "E").await,
            _ => after(100, "never").await,
        }
    });
    let error = job.join().await.unwrap_err();
    assert_eq!(error.to_string(), "branch `1` failed and is required: E");
    let failed = failed(Err(error));
    assert_eq!((failed.cause(), failed.elapsed()), (Cause::Required(1), ms(10)));
    let mut done = failed.into_done();
    assert_eq!(outcomes(&done), [Outcome::Answered, Outcome::Failed, Outcome::Cancelled, Outcome::Cancelled]);
    assert_eq!(done.answer::<&str>(0), Some("paid"));
}

#[tokio::test(start_paused = true)]
async fn a_branch_that_waited_for_a_permit_when_the_job_failed_is_no_cause() {
    let plan = fanout(PlanSpec { limiters: vec![gate(10)], ..PlanSpec::new("plan", limited(11)) });
    let mut job = plan.job();
    let _answers = job.each(|attempt| async move {
        if attempt.branch() == 0 { fails(5, "E").await } else { after(50, ()).await }
    });
    let failed = failed(job.join().await);
    assert_eq!(failed.cause(), Cause::Required(0));
    assert_eq!(failed.outcome(10), Outcome::NotStarted(NotStarted::JobFailed));
}

#[tokio::test(start_paused = true)]
async fn an_answer_exactly_at_the_deadline_is_in_time_and_a_later_one_is_not() {
    for (answer, outcome) in [(100, Outcome::Answered), (101, Outcome::Missed)] {
        let plan = fanout(PlanSpec { deadline: Some(ms(100)), ..PlanSpec::new("plan", vec![optional("a")]) });
        let mut job = plan.job();
        let _answer = job.optional("a", |_| after(answer, ()));
        let done = job.join().await.unwrap();
        assert_eq!((done.outcome(0), done.elapsed()), (outcome, ms(100)), "an answer at {answer} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_counts_the_wait_for_a_permit() {
    let spec =
        PlanSpec { deadline: Some(ms(100)), limiters: vec![gate(1)], ..PlanSpec::new("plan", limited(3)) };
    let plan = fanout(PlanSpec { at_least: Some(0), ..spec });
    let mut job = plan.job();
    let left = job.each(|attempt| async move {
        let left = attempt.time_left();
        sleep(60).await;
        Ok(left)
    });
    let failed = failed(job.join().await);
    assert_eq!(failed.cause(), Cause::Required(1));
    assert_eq!(failed.elapsed(), ms(100));
    let slot = failed.slot(1);
    assert_eq!((slot.outcome, slot.waited, slot.ran), (Some(Outcome::Missed), ms(60), ms(40)));
    assert_eq!(failed.slot(2).waited, ms(100));
    let mut done = failed.into_done();
    assert_eq!(done.take(left)[0], Some(Some(Duration::from_millis(100))));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_timeout_counts_from_the_permit_and_is_the_error() {
    let mut branches = limited(2);
    branches[1].attempt_timeout = Some(ms(50));
    let plan = fanout(PlanSpec { limiters: vec![gate(1)], ..PlanSpec::new("plan", branches) });
    let mut job = plan.job();
    let _answers = job.each(|attempt| after(if attempt.branch() == 0 { 40 } else { 500 }, ()));
    let failed = failed(job.join().await);
    assert_eq!((failed.cause(), failed.elapsed()), (Cause::Required(1), ms(90)));
    let [error] = failed.errors(1) else { panic!("one error: {failed:?}") };
    assert_eq!(error.failure(), Failure::TimedOut);
    assert_eq!(error.to_string(), "no answer within the attempt timeout of 50ms");
}

/// A plan of one branch with a copy after 50 ms, whose budget has credit for one copy after one job.
fn with_a_copy(targets: u32) -> PlanSpec {
    let hedge_budget = BudgetSpec { share: 1_000_000, burst: 1, in_flight: None };
    let branches = vec![BranchSpec { targets, ..hedged("a", 50) }];
    PlanSpec { hedge_budget, ..PlanSpec::new("plan", branches) }
}

#[tokio::test(start_paused = true)]
async fn a_due_copy_runs_when_there_is_credit_and_the_first_answer_wins() {
    let plan = fanout(with_a_copy(1));
    // The first job earns the credit, the second spends it and earns none, the fourth spends what the third earned.
    let jobs = [(10, 0, 10, 1), (200, 1, 70, 2), (20, 0, 20, 1), (60, 0, 60, 2)];
    for (latency, winner, elapsed, attempts) in jobs {
        let census = Census::default();
        let mut job = plan.job();
        let answer = job.required("a", |attempt| {
            let latency = if attempt.role() == Role::Primary { latency } else { 20 };
            census.count(after(latency, attempt.number()))
        });
        let mut done = job.join().await.unwrap();
        assert_eq!((done.elapsed(), done.slot(0).attempts), (ms(elapsed), attempts));
        assert_eq!(done.take(answer), winner);
        let lost = done.ledger().primaries.lost + done.ledger().copies.lost;
        assert_eq!((lost, census.alive()), (u64::from(attempts - 1), 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_goes_to_a_target_not_tried_yet() {
    let plan = fanout(with_a_copy(2));
    let mut warm = plan.job();
    let _answer = warm.required("a", |_| after(1, ()));
    let _done = warm.join().await.unwrap();

    let targets = std::sync::Mutex::new(Vec::new());
    let mut job = plan.job();
    let _answer = job.required("a", |attempt| {
        targets.lock().unwrap().push(attempt.target());
        after(100, ())
    });
    let _done = job.join().await.unwrap();
    let mut targets = targets.into_inner().unwrap();
    targets.sort_unstable();
    assert_eq!(targets, [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_copy_without_credit_is_refused_and_counted() {
    let plan = fanout(with_a_copy(1));
    let mut job = plan.job();
    let _answer = job.required("a", |_| after(200, ()));
    let done = job.join().await.unwrap();
    assert_eq!((done.elapsed(), done.slot(0).attempts), (ms(200), 1));
    assert_eq!(done.ledger().refused(Refusal::Budget), 1);
}

#[tokio::test(start_paused = true)]
async fn a_race_starts_all_its_attempts_at_once_and_needs_no_budget() {
    let branch = BranchSpec { hedge: Some(Hedge::race(3)), repeatable: true, ..BranchSpec::new("a") };
    let plan = fanout(PlanSpec::new("race", vec![branch]));
    let origin = Instant::now();
    let mut job = plan.job();
    let answer = job.required("a", |attempt| async move {
        assert_eq!(origin.elapsed(), Duration::ZERO);
        after(30 - 10 * u64::from(attempt.number()), attempt.number()).await
    });
    let mut done = job.join().await.unwrap();
    assert_eq!((done.elapsed(), done.slot(0).attempts), (ms(10), 3));
    assert_eq!(done.take(answer), 2);
    assert_eq!(done.ledger().primaries.lost + done.ledger().copies.lost, 2);
}

#[tokio::test(start_paused = true)]
async fn a_retryable_failure_brings_the_copy_forward_and_one_without_credit_ends_the_branch_at_once() {
    let spec = PlanSpec { deadline: Some(ms(15_000)), ..with_a_copy(1) };
    let plan = fanout(PlanSpec { branches: vec![hedged("a", 500)], ..spec });
    let run = async |primary_fails: bool| {
        let mut job = plan.job();
        let answer = job.required("a", |attempt| async move {
            sleep(5).await;
            let fails = primary_fails && attempt.number() == 0;
            if fails { Err(AttemptError::retryable("reset")) } else { Ok(attempt.number()) }
        });
        job.join().await.map(|mut done| (done.elapsed(), done.take(answer)))
    };
    let Err(JoinError::Failed(failed)) = run(true).await else { panic!("there is no credit yet") };
    assert_eq!((failed.elapsed(), failed.cause()), (ms(5), Cause::Required(0)));
    assert_eq!(failed.errors(0)[0].to_string(), "reset");
    assert_eq!(run(false).await.unwrap(), (ms(5), 0));
    assert_eq!(run(true).await.unwrap(), (ms(10), 1));
}

#[tokio::test(start_paused = true)]
async fn the_errors_of_a_branch_begin_with_the_primarys() {
    let spec = with_a_copy(1);
    let plan = fanout(spec);
    let mut warm = plan.job();
    let _answer = warm.required("a", |_| after(1, ()));
    let _done = warm.join().await.unwrap();

    let mut job = plan.job();
    let _answer = job.required("a", |attempt| async move {
        if attempt.number() == 0 { fails::<()>(200, "primary").await } else { fails(10, "copy").await }
    });
    let failed = failed(job.join().await);
    let errors: Vec<String> = failed.errors(0).iter().map(AttemptError::to_string).collect();
    assert_eq!((failed.elapsed(), errors), (ms(200), vec!["primary".to_owned(), "copy".to_owned()]));
    assert_eq!(failed.slot(0).winner, None::<AttemptId>);
}

#[tokio::test(start_paused = true)]
async fn a_failed_job_is_an_error_that_a_caller_can_pass_on() {
    async fn caller() -> Result<u32, Box<dyn Error + Send + Sync>> {
        let plan = fanout(PlanSpec::new("plan", required(&["a"])));
        let mut job = plan.job();
        // An answer that cannot be shared between threads, like most streams.
        let answer = job.required("a", |_| fails::<std::cell::Cell<u32>>(1, "E"));
        Ok(job.join().await?.take(answer).get())
    }
    assert_eq!(caller().await.unwrap_err().to_string(), "branch `a` failed and is required: E");
}

#[tokio::test(start_paused = true)]
async fn a_job_runs_inside_a_branch_of_another_job() {
    let inner = fanout(PlanSpec { limiters: vec![gate(1)], ..PlanSpec::new("inner", limited(2)) });
    let outer = fanout(PlanSpec { limiters: vec![gate(2)], ..PlanSpec::new("outer", limited(3)) });
    let mut job = outer.job();
    let sums = job.each(|attempt| {
        let inner = &inner;
        async move {
            let mut job = inner.job();
            let answers = job.each(|_| after(10, attempt.branch()));
            let mut done = job.join().await?;
            Ok(done.take(answers).into_iter().flatten().sum::<u32>())
        }
    });
    let mut done = job.join().await.unwrap();
    assert_eq!(done.take(sums), [Some(0), Some(2), Some(4)]);
    // Six calls, one at a time.
    assert_eq!(done.elapsed(), ms(60));
}

#[tokio::test]
async fn a_job_can_be_joined_in_another_task() {
    let plan = fanout(PlanSpec::new("plan", required(&["a"])));
    let mut job = plan.job();
    let answer = job.required("a", |_| after(1, 7));
    let done = tokio::spawn(job.join()).await.unwrap();
    assert_eq!(done.unwrap().take(answer), 7);
}
