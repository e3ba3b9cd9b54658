//! What observers hear, and what subscribers of `tracing` are told.

use std::fmt::Write;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use fantail::{AttemptError, Fanout, Note, Observer};
use fantail_core::job::{Class, Role, Verdict};
use fantail_core::plan::PPM;
use fantail_core::{BranchSpec, BudgetSpec, Hedge, Plan, PlanSpec, WaitFor};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::{after, fails, fanout, gate, hedged, limited, ms, optional, poll_once, required, sleep};

/// Writes down what it hears, a line each.
#[derive(Default)]
struct Scribe(Mutex<String>);

impl Scribe {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap()).lines().map(str::to_owned).collect()
    }
}

impl Observer for Scribe {
    fn note(&self, plan: &Plan, note: Note<'_>) {
        let mut text = self.0.lock().unwrap();
        let name = |branch: u32| &plan.branches()[branch as usize].name;
        match note {
            Note::Started(attempt) => writeln!(text, "{}{} started", attempt.name(), attempt.number()),
            Note::Refused(id, reason) => {
                writeln!(text, "{}{} refused: {reason:?}", name(id.branch), id.number)
            }
            Note::Ended(id, end) => writeln!(text, "{}{} {}", name(id.branch), id.number, end.as_str()),
            Note::Finished(job, verdict) => {
                let verdict = if verdict == Verdict::Complete { "complete" } else { "not complete" };
                writeln!(text, "{verdict} after {}", job.elapsed())
            }
            Note::Dropped => writeln!(text, "dropped"),
            _ => Ok(()),
        }
        .unwrap();
    }
}

fn observed(plan: &Fanout) -> (Fanout, Arc<Scribe>) {
    let scribe = Arc::new(Scribe::default());
    (plan.observed(Arc::clone(&scribe) as Arc<dyn Observer>), scribe)
}

#[tokio::test(start_paused = true)]
async fn an_observer_hears_of_copies_that_are_launched_refused_and_lost() {
    let hedge_budget = BudgetSpec { share: 1_000_000, burst: 1, in_flight: None };
    let plan = fanout(PlanSpec { hedge_budget, ..PlanSpec::new("plan", vec![hedged("a", 50)]) });
    let (plan, scribe) = observed(&plan);
    let run = async |primary: u64, copy: u64| {
        let mut job = plan.job();
        let _answer = job
            .required("a", |attempt| after(if attempt.role() == Role::Primary { primary } else { copy }, ()));
        let _done = job.join().await.unwrap();
        scribe.take()
    };
    assert_eq!(run(60, 5).await, ["a0 started", "a1 refused: Budget", "a0 won", "complete after 60ms"]);
    assert_eq!(run(60, 5).await, ["a0 started", "a1 started", "a1 won", "a0 lost", "complete after 55ms"]);
    assert_eq!(run(20, 5).await, ["a0 started", "a0 won", "complete after 20ms"]);
    assert_eq!(run(60, 50).await, ["a0 started", "a1 started", "a0 won", "a1 lost", "complete after 60ms"]);
}

#[tokio::test(start_paused = true)]
async fn an_observer_hears_each_end_once_whatever_the_job_comes_to() {
    let check = async |spec: PlanSpec, expected: &[&str]| {
        let (plan, scribe) = observed(&fanout(spec));
        let mut job = plan.job();
        let _answers = job.each(|attempt| async move {
            match attempt.name() {
                "ok" => after(5, ()).await,
                "fails" => fails(5, "E").await,
                _ => after(1_000, ()).await,
            }
        });
        drop(job.join().await);
        assert_eq!(scribe.take(), expected);
    };
    let spec = PlanSpec::new("plan", vec![BranchSpec::new("ok"), optional("fails"), optional("slow")]);
    let timed =
        spec.branches.iter().cloned().map(|branch| BranchSpec { attempt_timeout: Some(ms(7)), ..branch });
    let timed = PlanSpec { branches: timed.collect(), ..spec.clone() };
    let first = PlanSpec { wait_for: WaitFor::First(1), ..spec.clone() };
    let needs = PlanSpec { branches: required(&["ok", "fails", "slow"]), ..spec.clone() };
    let starts = ["ok0 started", "fails0 started", "slow0 started"];
    let all = |ends: &[&'static str]| [&starts[..], ends].concat();

    let late = PlanSpec { deadline: Some(ms(50)), ..spec };
    check(late, &all(&["fails0 failed", "ok0 won", "slow0 deadline", "not complete after 50ms"])).await;
    check(timed, &all(&["fails0 failed", "ok0 won", "slow0 timed_out", "not complete after 7ms"])).await;
    check(first, &all(&["fails0 failed", "ok0 won", "slow0 job_ended", "complete after 5ms"])).await;
    check(needs, &all(&["fails0 failed", "ok0 won", "slow0 job_ended", "not complete after 5ms"])).await;
}

#[tokio::test(start_paused = true)]
async fn an_observer_hears_of_a_job_that_is_dropped_and_of_no_other_plans_jobs() {
    let plain = fanout(PlanSpec { limiters: vec![gate(1)], ..PlanSpec::new("plan", limited(2)) });
    let (plan, scribe) = observed(&plain);
    let mut job = plan.job();
    let _answers = job.each(|_| after(5, ()));
    let mut job = Box::pin(job.join());
    assert!(poll_once(&mut job).await.is_pending());
    drop(job);
    assert_eq!(scribe.take(), ["00 started", "dropped"]);

    let mut job = plain.job();
    let _answers = job.each(|_| after(5, ()));
    let _done = job.join().await.unwrap();
    assert!(scribe.take().is_empty());
}

/// Panics at every end, and when a job is dropped.
struct Fragile;

impl Observer for Fragile {
    fn note(&self, _plan: &Plan, note: Note<'_>) {
        assert!(!matches!(note, Note::Ended(..) | Note::Dropped), "it panics");
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_ends_its_job_and_keeps_no_permit() {
    let plan = fanout(PlanSpec { limiters: vec![gate(2)], ..PlanSpec::new("plan", limited(3)) });
    for answers in [true, false] {
        let observed = plan.observed(Arc::new(Fragile));
        let mut job = observed.job();
        let _answers =
            job.each(move |_| async move { if answers { after(5, ()).await } else { fails(5, "E").await } });
        assert!(tokio::spawn(job.join()).await.unwrap_err().is_panic());
        let account = plan.limiter(0).unwrap();
        assert_eq!((account.held(), account.waiting()), (0, 0));
    }
}

/// Meddles with whatever is at hand at each note, and panics at one of them.
struct Meddler {
    plan: Fanout,
    notes: AtomicUsize,
    panics_at: usize,
}

impl Observer for Meddler {
    fn note(&self, _plan: &Plan, _note: Note<'_>) {
        let number = self.notes.fetch_add(1, Ordering::Relaxed);
        let account = self.plan.limiter(0).unwrap();
        let mut task = Context::from_waker(Waker::noop());
        match number % 3 {
            0 => account.push_back(Duration::from_millis(1)),
            1 => drop(pin!(account.acquire(Class::First, 1, None)).poll(&mut task)),
            _ => {
                let mut job = self.plan.job();
                let _answers = job.each(|_| after(5, ()));
                drop(pin!(job.join()).poll(&mut task));
            }
        }
        assert!(number != self.panics_at, "it panics");
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_may_meddle_at_any_note_and_panic_at_any_note() {
    let hedge_budget = BudgetSpec { share: 1_000_000, burst: 9, in_flight: None };
    let branches =
        (0..3).map(|i| BranchSpec { limiter: Some(0), required: None, ..hedged(&i.to_string(), 5) });
    let spec =
        PlanSpec { limiters: vec![gate(4)], hedge_budget, ..PlanSpec::new("plan", branches.collect()) };
    let plain =
        fanout(PlanSpec { wait_for: WaitFor::First(2), deadline: Some(ms(100)), observe: PPM, ..spec });
    let mut panics_at = 0;
    loop {
        let meddler = Arc::new(Meddler { plan: plain.clone(), notes: AtomicUsize::new(0), panics_at });
        let plan = plain.observed(Arc::clone(&meddler) as Arc<dyn Observer>);
        let mut job = plan.job();
        let _answers = job.each(|attempt| async move {
            match (attempt.branch(), attempt.number()) {
                (0, 0) => fails(3, "E").await,
                (1, 0) => after(50, ()).await,
                _ => after(10, ()).await,
            }
        });
        job.observe();
        let joined = tokio::spawn(job.join()).await;
        sleep(200).await;
        let account = plain.limiter(0).unwrap();
        assert_eq!((account.held(), account.waiting()), (0, 0), "it panics at note {panics_at}");
        // Of a panic in what was kept nobody hears.
        assert!(joined.is_ok_and(|done| done.is_ok()) || meddler.notes.load(Ordering::Relaxed) > panics_at);
        if meddler.notes.load(Ordering::Relaxed) <= panics_at {
            break;
        }
        panics_at += 1;
    }
    assert!(panics_at > 8, "{panics_at} notes");
}

/// Writes down the names of spans with the span that they are in, and which span an event of a branch is in.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Written>>);

#[derive(Default)]
struct Written {
    spans: Vec<String>,
    entered: Vec<u64>,
    said: Vec<String>,
    /// Which span follows which, as numbers from 1.
    links: Vec<(u64, u64)>,
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("fantail") || metadata.target() == "branch"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut all = self.0.lock().unwrap();
        let parent =
            span.parent().map_or_else(String::new, |id| all.spans[id.into_u64() as usize - 1].clone());
        all.spans.push(format!("{parent}/{}", span.metadata().name()));
        Id::from_u64(all.spans.len() as u64)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        self.0.lock().unwrap().links.push((span.into_u64(), follows.into_u64()));
    }

    fn event(&self, event: &Event<'_>) {
        let mut all = self.0.lock().unwrap();
        if event.metadata().target() == "branch" {
            let span = all.entered.last().map_or_else(String::new, |id| all.spans[*id as usize - 1].clone());
            all.said.push(span);
        }
    }

    fn enter(&self, span: &Id) {
        self.0.lock().unwrap().entered.push(span.into_u64());
    }

    fn exit(&self, _span: &Id) {
        self.0.lock().unwrap().entered.pop();
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_branch_says_is_in_the_span_of_its_attempt_and_that_is_in_the_span_of_its_job() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let plan = fanout(PlanSpec::new("plan", required(&["a", "b"])));
    let mut job = plan.job();
    let _answers = job.each(|_| async {
        tracing::info!(target: "branch", "before");
        after(5, ()).await?;
        tracing::info!(target: "branch", "after");
        Ok(())
    });
    let _done = job.join().await.unwrap();
    let Written { spans, entered, said, links } = std::mem::take(&mut *spans.0.lock().unwrap());
    assert_eq!(spans, ["/job", "/job/attempt", "/job/attempt"]);
    assert_eq!((said, entered), (vec!["/job/attempt".to_owned(); 4], vec![]));
    assert!(links.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_span_of_a_copy_follows_from_those_of_its_branchs_attempts_that_run() {
    let hedge_budget = BudgetSpec { share: 1_000_000, burst: 9, in_flight: None };
    let delays = [5, 10, 15].map(ms).to_vec();
    let hedge = Some(Hedge { delays, min_useful: ms(0), distinct: false });
    let branches =
        vec![BranchSpec { repeatable: true, hedge, ..BranchSpec::new("a") }, BranchSpec::new("other")];
    let plan = fanout(PlanSpec { hedge_budget, ..PlanSpec::new("plan", branches) });
    for _ in 0..9 {
        // Credit for copies.
        let mut job = plan.job();
        let _answers = job.each(|_| after(0, ()));
        let _done = job.join().await.unwrap();
    }
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let mut job = plan.job();
    let _answers = job.each(|attempt| async move {
        match (attempt.name(), attempt.number()) {
            ("other", _) | ("a", 3) => after(20, ()).await,
            ("a", 1) => {
                sleep(7).await;
                Err(AttemptError::retryable("E"))
            }
            _ => std::future::pending().await,
        }
    });
    let _done = job.join().await.unwrap();
    let Written { spans, links, .. } = std::mem::take(&mut *spans.0.lock().unwrap());
    // 1 is the job, 2 the primary, 3 the other branch; 4 fails at 12 ms, and its failure brings 6 forward.
    assert_eq!(spans[1..], ["/job/attempt"; 5]);
    assert_eq!(links, [(4, 2), (5, 2), (5, 4), (6, 2), (6, 5)]);
}
