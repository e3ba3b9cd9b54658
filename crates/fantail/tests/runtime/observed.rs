//! What an observed job keeps: it outlives the job, and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use fantail::{Fanout, Limiters, Note, Observer};
use fantail_core::job::Class;
use fantail_core::plan::PPM;
use fantail_core::{BranchSpec, Estimate, Hedge, LiveDelaySpec, Plan, PlanSpec, Quantile, Time, WaitFor};
use tokio::runtime::Builder;

use crate::support::{
    Census, after, fanout, gate, hedged, limited, ms, optional, poll_once, required, shared, sleep,
};

/// The first of some branches, within 100 ms; all jobs are observed.
fn first(branches: Vec<BranchSpec>) -> PlanSpec {
    let wait_for = WaitFor::First(1);
    PlanSpec { wait_for, deadline: Some(ms(100)), observe: PPM, ..PlanSpec::new("plan", branches) }
}

#[tokio::test(start_paused = true)]
async fn the_result_is_on_time_and_permits_are_held_to_the_end_or_the_deadline() {
    let limiters = Limiters::default();
    let plan = shared(PlanSpec { limiters: vec![gate(3)], ..first(limited(3)) }, &limiters);
    let account = limiters.get("account").unwrap();
    let census = Census::default();
    let mut job = plan.job();
    let counted = census.clone();
    let _answers =
        job.each(move |attempt| counted.count(after([10, 30, 1_000][attempt.branch() as usize], ())));
    job.observe();
    let done = job.join().await.unwrap();
    assert_eq!((done.elapsed(), census.alive()), (ms(10), 2));
    assert_eq!((done.ledger().kept.kept, done.ledger().kept.running()), (2, 2));
    // One permit is free, the next at 30 ms, the last at the deadline.
    let mut permits = Vec::new();
    let mut waited = Vec::new();
    let start = tokio::time::Instant::now();
    for _ in 0..3 {
        permits.push(account.acquire(Class::First, 1, None).await.unwrap());
        waited.push(start.elapsed().as_millis());
    }
    assert_eq!((waited, census.alive()), (vec![0, 20, 90], 0));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_dropped_drops_what_it_kept() {
    let race = BranchSpec { hedge: Some(Hedge::race(2)), ..hedged("a", 1) };
    let plan = fanout(PlanSpec { wait_for: WaitFor::All, ..first(vec![race, BranchSpec::new("b")]) });
    let census = Census::default();
    let mut job = plan.job();
    let (of_a, of_b) = (census.clone(), census.clone());
    let _a = job.required("a", move |attempt| of_a.count(after(50 - 45 * u64::from(attempt.number()), ())));
    let _b = job.required("b", move |_| of_b.count(after(90, ())));
    job.observe();
    let mut join = Box::pin(job.join());
    assert!(poll_once(&mut join).await.is_pending());
    assert_eq!(census.alive(), 3);
    sleep(20).await;
    assert!(poll_once(&mut join).await.is_pending());
    assert_eq!(census.alive(), 2, "the copy won, and the primary runs on");
    drop(join);
    assert_eq!(census.alive(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_running_that_is_dropped_after_its_last_answer_drops_what_it_kept() {
    let plan = fanout(first(required(&["a", "b"]).into_iter().map(|b| optional(&b.name)).collect()));
    for finishes in [false, true] {
        let census = Census::default();
        let mut job = plan.job();
        let counted = census.clone();
        let _answers =
            job.each(move |attempt| counted.count(after(10 + 20 * u64::from(attempt.branch()), ())));
        job.observe();
        let mut running = job.start().unwrap();
        assert_eq!((running.next().await, running.next().await, census.alive()), (Some(0), None, 1));
        if finishes {
            let _done = running.finish().await.unwrap();
            assert_eq!(census.alive(), 1);
            sleep(30).await;
        } else {
            drop(running);
        }
        assert_eq!(census.alive(), 0, "finishes: {finishes}");
    }
}

#[test]
fn the_end_of_the_runtime_is_the_end_of_what_is_kept() {
    let limiters = Limiters::default();
    let plan = shared(PlanSpec { limiters: vec![gate(2)], ..first(limited(2)) }, &limiters);
    let census = Census::default();
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async {
        let mut job = plan.job();
        let counted = census.clone();
        let _answers = job.each(move |attempt| {
            let first = attempt.branch() == 0;
            counted.count(async move { if first { Ok(()) } else { std::future::pending().await } })
        });
        job.observe();
        let done = job.join().await.unwrap();
        assert_eq!(done.ledger().kept.running(), 1);
        // As a service that drains: it does not wait for what is kept.
        assert_eq!(census.alive(), 1);
    });
    drop(runtime);
    assert_eq!(census.alive(), 0);
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let account = limiters.get("account").unwrap();
    runtime.block_on(async { account.acquire(Class::First, 2, None).await.map(drop).unwrap() });
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_kept_attempt_ends_what_that_job_keeps_and_nothing_else() {
    let limiters = Limiters::default();
    let plan = shared(PlanSpec { limiters: vec![gate(3)], ..first(limited(3)) }, &limiters);
    let census = Census::default();
    let mut job = plan.job();
    let counted = census.clone();
    let _answers = job.each(move |attempt| {
        let branch = attempt.branch();
        counted.count(async move {
            sleep(10 + 10 * u64::from(branch)).await;
            assert!(branch != 1, "a panic that a test wants");
            Ok(())
        })
    });
    job.observe();
    let done = job.join().await.unwrap();
    assert_eq!((done.ledger().kept.running(), census.alive()), (2, 2));
    let account = limiters.get("account").unwrap();
    let start = tokio::time::Instant::now();
    drop(account.acquire(Class::First, 3, None).await.unwrap());
    assert_eq!((start.elapsed().as_millis(), census.alive()), (10, 0));
}

#[tokio::test(start_paused = true)]
async fn a_nested_job_keeps_nothing_beyond_its_outer_deadline() {
    let plan = fanout(first(vec![optional("a"), optional("b")]));
    let census = Census::default();
    let mut job = plan.job();
    let counted = census.clone();
    let _answers =
        job.each(move |attempt| counted.count(after(10 + 1_000 * u64::from(attempt.branch()), ())));
    job.observe().until(Some(tokio::time::Instant::now() + std::time::Duration::from_millis(40)));
    let _done = job.join().await.unwrap();
    sleep(29).await;
    assert_eq!(census.alive(), 1);
    sleep(2).await;
    assert_eq!(census.alive(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_observes_takes_jobs_that_can_be() {
    let plan = fanout(first(vec![optional("a")]));
    let mut job = plan.job();
    let _answer = job.optional("a", |_| after(1, ()));
    let error = job.join().await.unwrap_err().to_string();
    let expected =
        "the plan observes a share of its jobs, whose calls must be able to outlive them: call `observe`";
    assert_eq!(error, expected);
}

/// Counts jobs that kept something, and the milliseconds for which they did.
#[derive(Default)]
struct Kept {
    jobs: AtomicU64,
    busy: AtomicU64,
}

impl Observer for Kept {
    fn note(&self, _: &Plan, note: Note<'_>) {
        match note {
            Note::Kept(_) => self.jobs.fetch_add(1, Ordering::Relaxed),
            Note::Observed(job) => {
                let busy = job.ledger().kept.busy;
                self.busy.fetch_add(busy.as_nanos() / 1_000_000, Ordering::Relaxed)
            }
            _ => 0,
        };
    }
}

/// Branches that take 10 and 50 ms, of which the first answer will do; their live p95.
async fn jobs(observe: u32, count: u64) -> (Fanout, Arc<Kept>) {
    let p95 = Quantile::from_ppm(950_000).unwrap();
    let branch = |name| BranchSpec { required: None, live: Some(0), ..hedged(name, 90) };
    let live_delays = vec![LiveDelaySpec::new(p95)];
    let plan = fanout(PlanSpec { observe, live_delays, ..first(vec![branch("a"), branch("b")]) });
    let kept = Arc::new(Kept::default());
    let observed = plan.observed(Arc::clone(&kept) as Arc<dyn Observer>);
    for _ in 0..count {
        let mut job = observed.job();
        let _answers = job.each(|attempt| after([10, 50][attempt.branch() as usize], ()));
        job.observe();
        let done = job.join().await.unwrap();
        assert_eq!(done.elapsed(), ms(10));
        assert_eq!(done.ledger().kept.kept, u64::from(done.job().is_observed()));
    }
    sleep(1_100).await;
    (plan, kept)
}

#[tokio::test(start_paused = true)]
async fn the_live_delay_is_measured_on_observed_jobs_alone() {
    let (plan, kept) = jobs(PPM / 2, 3_000).await;
    let delay = plan.live_delay(0).unwrap();
    let Estimate::Estimable(p95) = delay.estimate() else { panic!("{delay:?}") };
    assert!((p95.as_secs_f64() / 0.05 - 1.0).abs() < 0.01, "{p95}");
    assert!(!delay.spec().biased && delay.at_risk() > 30.0);
    // Half of them, give or take four standard errors; each for 40 ms longer.
    let observed = kept.jobs.load(Ordering::Relaxed);
    assert!(observed.abs_diff(1_500) < 4 * 28, "{observed}");
    assert_eq!(kept.busy.load(Ordering::Relaxed), observed * 40);
}

#[tokio::test(start_paused = true)]
async fn without_observed_jobs_what_is_cut_stays_unknown() {
    let (plan, kept) = jobs(0, 3_000).await;
    let delay = plan.live_delay(0).unwrap();
    assert!(matches!(delay.estimate(), Estimate::NotEstimable { .. }), "{delay:?}");
    assert!(delay.spec().biased);
    assert_eq!(kept.jobs.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_share_of_jobs_is_held_out_and_sends_no_copy() {
    let race = BranchSpec { hedge: Some(Hedge::race(2)), ..hedged("a", 1) };
    let spec = PlanSpec {
        holdout: 250_000,
        deadline: Some(Time::from_secs(1)),
        ..PlanSpec::new("plan", vec![race])
    };
    let plan = fanout(spec);
    let (mut held_out, mut copies) = (0_u64, 0);
    for _ in 0..2_000 {
        let mut job = plan.job();
        let _answer = job.required("a", |_| after(1, ()));
        let done = job.join().await.unwrap();
        assert_eq!(done.job().is_held_out(), done.ledger().copies.launched == 0);
        held_out += u64::from(done.job().is_held_out());
        copies += done.ledger().copies.launched;
    }
    assert_eq!(held_out + copies, 2_000);
    assert!(held_out.abs_diff(500) < 4 * 20, "{held_out}");
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_goes_on_in_another_task_without_losing_a_wake_up() {
    // The attempts are woken while no task polls the job: after its verdict, and before what it keeps is spawned.
    let plan = fanout(first(vec![optional("a"), optional("b")]));
    let kept = Arc::new(Kept::default());
    let plan = plan.observed(Arc::clone(&kept) as Arc<dyn Observer>);
    let (tell, told) = tokio::sync::oneshot::channel();
    let mut told = Some(told);
    let mut job = plan.job();
    let _a = job.optional("a", |_| after(10, ()));
    let _b = job.once().optional("b", move |_| {
        let told = told.take().expect("it is called once");
        async move { told.await.map_err(|_| fantail::AttemptError::permanent("nobody tells")) }
    });
    job.observe();
    let mut running = job.start().unwrap();
    assert_eq!((running.next().await, running.next().await), (Some(0), None));
    tell.send(()).unwrap();
    sleep(20).await;
    let mut finish = Box::pin(running.finish());
    let Poll::Ready(done) = poll_once(&mut finish).await else { panic!("it is over") };
    assert_eq!(done.unwrap().ledger().kept.running(), 1);
    tokio::task::yield_now().await;
    // Found at once, so that its time is what it took until it was looked at.
    assert_eq!(kept.busy.load(Ordering::Relaxed), 20);
}
