//! Attempts that run outside the job's task: aborted with it, but holding their permit until they have really ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use fantail::JoinError;
use fantail_core::job::{Class, Outcome, Refusal};
use fantail_core::{BranchSpec, PlanSpec};

use tokio::runtime::Handle;

use crate::support::{Census, after, fanout, gate, limited, ms, sleep};

#[tokio::test(start_paused = true)]
async fn a_spawned_attempt_answers_fails_or_panics_as_one_in_the_jobs_task() {
    let branches = limited(3).into_iter().map(|branch| BranchSpec { required: Some(false), ..branch });
    let plan = fanout(PlanSpec { limiters: vec![gate(3)], ..PlanSpec::new("plan", branches.collect()) });
    let mut job = plan.job();
    let answers = job.each(|attempt| {
        let branch = attempt.branch();
        async move {
            match branch {
                0 => attempt.spawn(after(5, 0)).await,
                1 => attempt.spawn(async { Err("E".into()) }).await,
                _ => attempt.spawn_blocking(|| Ok(2)).await,
            }
        }
    });
    let mut done = job.join().await.unwrap();
    assert_eq!(done.take(answers), [Some(0), None, Some(2)]);
    assert_eq!(done.errors(1)[0].to_string(), "E");
    // The task lets go of its permit a moment after it has told its answer.
    drop(plan.limiter(0).unwrap().acquire(Class::First, 3, None).await.unwrap());

    let mut job = plan.job();
    let _answers =
        job.each(|attempt| attempt.spawn(async { if true { panic!("it panics") } else { Ok(()) } }));
    assert!(tokio::spawn(job.join()).await.unwrap_err().is_panic());
}

#[tokio::test(start_paused = true)]
async fn an_aborted_task_holds_its_permit_until_it_is_gone() {
    let spec = PlanSpec { limiters: vec![gate(1)], ..PlanSpec::new("plan", limited(1)) };
    let plan = fanout(PlanSpec { deadline: Some(ms(10)), ..spec });
    let account = plan.limiter(0).unwrap();
    let census = Census::default();
    let mut job = plan.job();
    let _answer = job.each(|attempt| attempt.spawn(census.count(after(1_000, ()))));
    let Err(JoinError::Failed(failed)) = job.join().await else { panic!("it is late") };
    assert_eq!(failed.outcome(0), Outcome::Missed);
    // It was told to end, and nothing has run since.
    assert_eq!((census.alive(), account.held()), (1, 1));
    drop(account.acquire(Class::First, 1, None).await.unwrap());
    assert_eq!((census.alive(), account.held()), (0, 0));
}

#[tokio::test]
async fn blocking_work_that_nothing_stops_holds_its_permit_to_its_end() {
    let spec = PlanSpec { limiters: vec![gate(1)], ..PlanSpec::new("plan", limited(1)) };
    let plan = fanout(PlanSpec { deadline: Some(ms(5)), ..spec });
    let account = plan.limiter(0).unwrap();
    let (go_on, wait) = mpsc::channel::<()>();
    let mut wait = Some(wait);
    let ended = Arc::new(AtomicBool::new(false));
    let mut job = plan.job();
    let _answer = job.required("0", |attempt| {
        let (wait, ended) = (wait.take().unwrap(), Arc::clone(&ended));
        attempt.spawn_blocking(move || {
            let _ = wait.recv();
            ended.store(true, Ordering::SeqCst);
            Ok(())
        })
    });
    assert!(job.join().await.is_err());
    let mut next = Box::pin(account.acquire(Class::First, 1, None));
    let early = tokio::time::timeout(Duration::from_millis(20), &mut next).await;
    assert!(early.is_err() && !ended.load(Ordering::SeqCst), "it runs, and nobody else may");
    go_on.send(()).unwrap();
    drop(next.await.unwrap());
    assert!(ended.load(Ordering::SeqCst));
}

#[tokio::test(start_paused = true)]
async fn a_spawned_attempt_is_refused_another_permit_of_its_limiter() {
    let plan = fanout(PlanSpec { limiters: vec![gate(2)], ..PlanSpec::new("plan", limited(2)) });
    let account = plan.limiter(0).unwrap();
    let mut job = plan.job();
    let answers = job.each(|attempt| {
        let account = account.clone();
        attempt.spawn(async move {
            sleep(1).await;
            Ok(account.acquire(Class::First, 1, None).await.err())
        })
    });
    let refused = Some(Some(Refusal::Limiter));
    assert_eq!(job.join().await.unwrap().take(answers), [refused, refused]);
}

#[tokio::test]
async fn blocking_work_is_refused_another_permit_of_its_limiter() {
    let plan = fanout(PlanSpec { limiters: vec![gate(1)], ..PlanSpec::new("plan", limited(1)) });
    let account = plan.limiter(0).unwrap();
    let mut job = plan.job();
    let answer = job.required("0", |attempt| {
        let (account, runtime) = (account.clone(), Handle::current());
        attempt.spawn_blocking(move || Ok(runtime.block_on(account.acquire(Class::First, 1, None)).err()))
    });
    assert_eq!(job.join().await.unwrap().take(answer), Some(Refusal::Limiter));
}

#[tokio::test(start_paused = true)]
async fn a_permit_is_held_until_the_last_hold_and_the_attempt_have_ended() {
    let plan = fanout(PlanSpec { limiters: vec![gate(1)], ..PlanSpec::new("plan", limited(1)) });
    let account = plan.limiter(0).unwrap();
    let mut job = plan.job();
    let holds = job.required("0", |attempt| async move {
        drop(attempt.hold());
        Ok([attempt.hold(), attempt.hold()])
    });
    let [first, second] = job.join().await.unwrap().take(holds);
    assert_eq!(account.held(), 1);
    drop(first);
    assert_eq!(account.held(), 1);
    drop(second);
    assert_eq!(account.held(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_is_taken_too_late_holds_nothing() {
    let plan = fanout(PlanSpec { limiters: vec![gate(1)], ..PlanSpec::new("plan", limited(1)) });
    let mut job = plan.job();
    let attempt = job.required("0", |attempt| async move { Ok(attempt) });
    let attempt = job.join().await.unwrap().take(attempt);
    let _hold = attempt.hold();
    assert_eq!(plan.limiter(0).unwrap().held(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_chat_call_and_a_batch_call_are_plans_of_one_branch_that_share_the_account() {
    let limiters = fantail::Limiters::default();
    let one = |name: &str, weight| {
        let branch = BranchSpec { limiter: Some(0), weight, ..BranchSpec::new(name) };
        let spec = PlanSpec { limiters: vec![gate(3)], ..PlanSpec::new(name, vec![branch]) };
        crate::support::shared(spec, &limiters)
    };
    let (chat, batch) = (one("chat", 1), one("batch", 3));
    let call = async |plan: &fantail::Fanout, latency| {
        let mut job = plan.job();
        let _answers = job.each(|_| after(latency, ()));
        job.join().await.unwrap().elapsed()
    };
    let (a, b, c) = tokio::join!(call(&chat, 10), call(&batch, 10), call(&chat, 10));
    assert_eq!((a, b, c), (ms(10), ms(20), ms(30)));
}
