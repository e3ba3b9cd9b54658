//! Gaps are stored before the result goes out, and filled in by the handlers of their branches.

use std::future::{pending, ready};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use fantail::backfill::{
    Backfill, Backoff, Bounds, Claim, Counts, Document, DocumentState, Kept, MemoryStore, NewDocument,
    Settings, SlotState, Store, StoreError, Stored,
};
use fantail::{AttemptError, Done, Fanout, Limiters};
use fantail_core::job::Class;
use fantail_core::{BranchSpec, LimiterSpec, Plan, PlanSpec, Time};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::contract::NOW;

fn optional(name: &str, repeatable: bool) -> BranchSpec {
    BranchSpec { required: Some(false), repeatable, limiter: Some(0), ..BranchSpec::new(name) }
}

/// A required branch, two that may be sent twice and one that may not, all under one gate.
pub(crate) fn plan(limiters: &Limiters) -> Fanout {
    let branches = vec![
        BranchSpec::new("type"),
        optional("parties", true),
        optional("dates", true),
        optional("charge", false),
    ];
    let spec = PlanSpec {
        deadline: Some(Time::from_millis(100)),
        backfill: true,
        limiters: vec![LimiterSpec { gate: Some(4), ..LimiterSpec::new("llm") }],
        ..PlanSpec::new("enrich", branches)
    };
    Fanout::new(Plan::new(spec).unwrap(), limiters)
}

/// A job in which only `type` answers: the others miss the deadline.
pub(crate) async fn partial(plan: &Fanout) -> Done {
    let mut job = plan.job();
    let _answers =
        job.each(|attempt| async move { if attempt.branch() == 0 { Ok(()) } else { pending().await } });
    job.join().await.unwrap()
}

/// The store's time, on tokio's clock.
pub(crate) fn clock() -> impl Fn() -> Time + Send + Sync + 'static {
    let origin = Instant::now();
    move || NOW.saturating_add(Time::from_nanos(origin.elapsed().as_nanos() as u64))
}

/// So many tries.
fn tried(tries: u32) -> Settings {
    Settings { bounds: Bounds { tries, ..Bounds::default() }, ..Settings::default() }
}

fn backfill(store: &Arc<MemoryStore>, settings: Settings) -> Backfill {
    Backfill::new(Arc::clone(store) as Arc<dyn Store>, settings).with_clock(clock())
}

pub(crate) async fn keep(backfill: &Backfill, done: &Done) -> Kept {
    let body = |branch| Bytes::from(format!("branch {branch}"));
    backfill.keep(done, Bytes::from("request"), Bytes::from("result"), body).await
}

pub(crate) async fn document(store: &MemoryStore, done: &Done) -> Document {
    store.document(NOW, &done.id().to_string()).await.unwrap().unwrap()
}

fn states(document: &Document) -> Vec<SlotState> {
    document.slots.iter().map(|slot| slot.state).collect()
}

#[tokio::test(start_paused = true)]
async fn gaps_are_stored_before_the_result_goes_out_and_filled_in_by_their_handlers() {
    let (limiters, store) = (Limiters::default(), Arc::new(MemoryStore::default()));
    let plan = plan(&limiters);
    let claims = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&claims);
    let mut backfill = backfill(&store, Settings::default());
    for branch in ["parties", "charge"] {
        let seen = Arc::clone(&seen);
        backfill.handle(&plan, branch, move |claim| {
            seen.lock().unwrap().push((claim.branch.clone(), claim.key.clone(), claim.request.clone()));
            ready(Ok(Bytes::from("filled in")))
        });
    }
    let backfill = Arc::new(backfill);

    let done = partial(&plan).await;
    assert!(matches!(keep(&backfill, &done).await, Kept::Stored));
    // `charge` had started and may not be sent twice; nobody fills in `dates`.
    let stored = [SlotState::Answered, SlotState::Queued, SlotState::Excluded, SlotState::Excluded];
    assert_eq!(states(&document(&store, &done).await), stored);

    tokio::spawn(Arc::clone(&backfill).run(pending()));
    sleep(Duration::from_millis(1)).await;
    let filled = document(&store, &done).await;
    assert_eq!(filled.slots[1].state, SlotState::Answered);
    let bodies: Vec<_> = filled.slots.iter().map(|slot| &slot.body[..]).collect();
    assert_eq!(bodies, [&b"branch 0"[..], b"filled in", b"branch 2", b"branch 3"]);
    let key = done.id().key(1).to_string();
    assert_eq!(*claims.lock().unwrap(), [("parties".to_owned(), key, Bytes::from("request"))]);

    // The next one rings the bell.
    let done = partial(&plan).await;
    assert!(matches!(keep(&backfill, &done).await, Kept::Stored));
    sleep(Duration::from_millis(1)).await;
    assert_eq!(document(&store, &done).await.slots[1].state, SlotState::Answered);
}

#[tokio::test(start_paused = true)]
async fn a_branch_that_never_started_is_filled_in_even_when_it_may_not_be_sent_twice() {
    let (limiters, store) = (Limiters::default(), Arc::new(MemoryStore::default()));
    let plan = plan(&limiters);
    let mut backfill = backfill(&store, Settings::default());
    backfill.handle(&plan, "charge", |_| ready(Ok(Bytes::from("receipt"))));
    let all = plan.limiter(1).unwrap().acquire(Class::First, 4, None).await.unwrap();
    let done = partial(&plan).await;
    drop(all);
    assert!(matches!(keep(&backfill, &done).await, Kept::Stored));
    assert_eq!(document(&store, &done).await.slots[3].state, SlotState::Queued);
}

#[tokio::test(start_paused = true)]
async fn complete_results_and_plans_without_backfill_have_nothing_to_keep() {
    let (limiters, store) = (Limiters::default(), Arc::new(MemoryStore::default()));
    let plan = plan(&limiters);
    let mut backfill = backfill(&store, Settings::default());
    backfill.handle(&plan, "parties", |_| pending());
    let mut job = plan.job();
    let _answers = job.each(|_| ready(Ok(())));
    assert!(matches!(keep(&backfill, &job.join().await.unwrap()).await, Kept::Nothing));

    let spec = PlanSpec::new("enrich", vec![BranchSpec { limiter: None, ..optional("parties", true) }]);
    let without = Fanout::new(Plan::new(spec).unwrap(), &limiters);
    let mut job = without.job();
    let _answers = job.each(|_| ready(Err::<(), _>("no".into())));
    assert!(matches!(keep(&backfill, &job.join().await.unwrap()).await, Kept::Nothing));
    assert_eq!(store.counts().await.unwrap(), Counts::default());
}

/// When each try started, in ms, until the branch is at rest, and how it stands then.
async fn tries(
    settings: Settings,
    answer: impl Fn(u32) -> Result<Bytes, AttemptError> + Send + Sync + 'static,
) -> (Vec<u128>, SlotState, Option<String>) {
    let (limiters, store) = (Limiters::default(), Arc::new(MemoryStore::default()));
    let plan = plan(&limiters);
    let mut backfill = backfill(&store, settings);
    let started = Arc::new(Mutex::new(Vec::new()));
    let (starts, origin) = (Arc::clone(&started), Arc::new(Mutex::new(Instant::now())));
    let from = Arc::clone(&origin);
    backfill.handle(&plan, "parties", move |claim: Claim| {
        starts.lock().unwrap().push(from.lock().unwrap().elapsed().as_millis());
        ready(answer(claim.number))
    });
    let backfill = Arc::new(backfill);
    let done = partial(&plan).await;
    *origin.lock().unwrap() = Instant::now();
    assert!(matches!(keep(&backfill, &done).await, Kept::Stored));
    tokio::spawn(Arc::clone(&backfill).run(pending()));
    while document(&store, &done)
        .await
        .slots
        .iter()
        .any(|slot| matches!(slot.state, SlotState::Queued | SlotState::Leased))
    {
        sleep(Duration::from_millis(100)).await;
    }
    let slot = document(&store, &done).await.slots.remove(1);
    let started = started.lock().unwrap().clone();
    (started, slot.state, slot.error)
}

#[tokio::test(start_paused = true)]
async fn a_failed_try_is_made_again_later_and_later_and_the_last_one_is_a_dead_letter() {
    let settings = tried(4);
    let (starts, state, error) = tries(settings, |_| Err("status 500".into())).await;
    assert_eq!((starts.len(), state, error.as_deref()), (4, SlotState::Dead, Some("status 500")));
    for (pause, bound) in starts.windows(2).map(|pair| pair[1] - pair[0]).zip([1_000, 2_000, 4_000]) {
        assert!((bound / 2..=bound + 5).contains(&pause), "{starts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_try_never_comes_earlier_than_the_server_asked() {
    for asked in
        [Duration::ZERO, Duration::from_secs(60), Duration::from_millis(4_321), Duration::from_secs(90)]
    {
        let (starts, state, _) = tries(Settings::default(), move |number| match number {
            1 => Err(AttemptError::pushback("slow down", Some(asked))),
            _ => Ok(Bytes::new()),
        })
        .await;
        assert_eq!((starts.len(), state), (2, SlotState::Answered));
        assert!(starts[1] - starts[0] >= asked.as_millis().max(500), "{asked:?}: {starts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_permanent_failure_ends_all_tries() {
    let (starts, state, _) = tries(Settings::default(), |_| Err(AttemptError::permanent("status 404"))).await;
    assert_eq!((starts.len(), state), (1, SlotState::Dead));
}

#[tokio::test(start_paused = true)]
async fn a_try_that_hangs_times_out_and_one_that_panics_is_made_again_when_its_lease_runs_out() {
    let (limiters, store) = (Limiters::default(), Arc::new(MemoryStore::default()));
    let plan = plan(&limiters);
    let mut backfill = backfill(&store, tried(2));
    backfill.handle(&plan, "parties", |_| pending());
    let panics = AtomicU32::new(0);
    backfill.handle(&plan, "dates", move |_| {
        assert!(panics.fetch_add(1, Ordering::Relaxed) > 0, "the first try panics");
        ready(Ok(Bytes::new()))
    });
    let backfill = Arc::new(backfill);
    let done = partial(&plan).await;
    assert!(matches!(keep(&backfill, &done).await, Kept::Stored));
    tokio::spawn(Arc::clone(&backfill).run(pending()));
    sleep(Duration::from_secs(170)).await;
    let slots = document(&store, &done).await.slots;
    assert_eq!((slots[1].state, slots[2].state), (SlotState::Dead, SlotState::Leased));
    assert_eq!(slots[1].error.as_deref(), Some("no answer within the attempt timeout of 60s"));
    sleep(Duration::from_secs(70)).await;
    assert_eq!(document(&store, &done).await.slots[2].state, SlotState::Answered);
    assert_eq!(plan.limiter(1).unwrap().held(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_try_waits_behind_jobs_and_one_without_a_permit_does_not_count() {
    let (limiters, store) = (Limiters::default(), Arc::new(MemoryStore::default()));
    let plan = plan(&limiters);
    let mut backfill = backfill(&store, tried(1));
    backfill.handle(&plan, "parties", |_| ready(Ok(Bytes::from("late"))));
    let backfill = Arc::new(backfill);
    let done = partial(&plan).await;
    assert!(matches!(keep(&backfill, &done).await, Kept::Stored));
    let all = plan.limiter(1).unwrap().acquire(Class::First, 4, None).await.unwrap();
    tokio::spawn(Arc::clone(&backfill).run(pending()));
    sleep(Duration::from_secs(100)).await;
    assert_eq!(document(&store, &done).await.state(), DocumentState::Growing);
    drop(all);
    sleep(Duration::from_secs(2)).await;
    let slot = document(&store, &done).await.slots.remove(1);
    assert_eq!((slot.state, slot.tries), (SlotState::Answered, 1));
}

#[tokio::test(start_paused = true)]
async fn what_is_running_at_the_stop_is_handed_back_untried() {
    let (limiters, store) = (Limiters::default(), Arc::new(MemoryStore::default()));
    let plan = plan(&limiters);
    let mut backfill = backfill(&store, tried(1));
    backfill.handle(&plan, "parties", |_| pending());
    let backfill = Arc::new(backfill);
    let done = partial(&plan).await;
    assert!(matches!(keep(&backfill, &done).await, Kept::Stored));
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = tokio::spawn(Arc::clone(&backfill).run(async { drop(stopped.await) }));
    sleep(Duration::from_millis(10)).await;
    assert_eq!(document(&store, &done).await.slots[1].state, SlotState::Leased);
    drop(stop);
    worker.await.unwrap();
    let slot = document(&store, &done).await.slots.remove(1);
    assert_eq!((slot.state, slot.tries), (SlotState::Queued, 0));
}

#[tokio::test(start_paused = true)]
async fn a_document_of_a_plan_that_nobody_fills_in_any_more_is_a_dead_letter() {
    let (limiters, store) = (Limiters::default(), Arc::new(MemoryStore::default()));
    let plan = plan(&limiters);
    let mut before = backfill(&store, Settings::default());
    before.handle(&plan, "parties", |_| pending());
    let done = partial(&plan).await;
    assert!(matches!(keep(&before, &done).await, Kept::Stored));
    let after = Arc::new(backfill(&store, Settings::default()));
    tokio::spawn(after.run(pending()));
    sleep(Duration::from_secs(1)).await;
    let slot = document(&store, &done).await.slots.remove(1);
    assert_eq!(
        (slot.state, slot.error.as_deref()),
        (SlotState::Dead, Some("nobody fills in this branch any more"))
    );
}

/// A store that fails or hangs.
struct Broken(Option<StoreError>);

impl Broken {
    fn fail<T: Send + 'static>(&self) -> Stored<'_, T> {
        match self.0.clone() {
            Some(error) => Box::pin(ready(Err(error))),
            None => Box::pin(pending()),
        }
    }
}

impl Store for Broken {
    fn enqueue(&self, _now: Time, _document: NewDocument) -> Stored<'_, ()> {
        self.fail()
    }
    fn claim(&self, _now: Time, _lease: Time, _limit: usize) -> Stored<'_, Vec<Claim>> {
        self.fail()
    }
    fn answer(&self, _claim: &Claim, _body: Bytes) -> Stored<'_, Option<SlotState>> {
        self.fail()
    }
    fn fail(&self, _claim: &Claim, _retry_at: Option<Time>, _error: String) -> Stored<'_, Option<SlotState>> {
        self.fail()
    }
    fn release(&self, _claim: &Claim, _at: Time) -> Stored<'_, ()> {
        self.fail()
    }
    fn next_due(&self, _now: Time) -> Stored<'_, Option<Time>> {
        self.fail()
    }
    fn document(&self, _now: Time, _id: &str) -> Stored<'_, Option<Document>> {
        self.fail()
    }
    fn expire(&self, _now: Time, _limit: usize) -> Stored<'_, usize> {
        self.fail()
    }
    fn counts(&self) -> Stored<'_, Counts> {
        self.fail()
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_confirm_in_time_or_refuses_is_never_silence() {
    let plan = plan(&Limiters::default());
    let of = |error| {
        let mut backfill = Backfill::new(Arc::new(Broken(error)), Settings::default());
        backfill.handle(&plan, "parties", |_| pending());
        Arc::new(backfill)
    };
    let done = partial(&plan).await;
    let start = Instant::now();
    assert!(matches!(keep(&of(None), &done).await, Kept::Unconfirmed));
    assert_eq!(start.elapsed().as_millis(), 100, "beyond the deadline, which had passed");

    let full = of(Some(StoreError::Busy { bound: 7 }));
    let Kept::Refused(error) = keep(&full, &done).await else { panic!("it refuses") };
    assert_eq!(error.to_string(), "the store is busy: 7 operations wait, no more may");
    // The worker goes on asking, and stops when it is told.
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = tokio::spawn(full.run(async { drop(stopped.await) }));
    sleep(Duration::from_secs(10)).await;
    drop(stop);
    worker.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_worker_stops_though_its_store_hangs() {
    let (stop, stopped) = oneshot::channel::<()>();
    let backfill = Arc::new(Backfill::new(Arc::new(Broken(None)), Settings::default()));
    let worker = tokio::spawn(backfill.run(async { drop(stopped.await) }));
    sleep(Duration::from_secs(10)).await;
    let start = Instant::now();
    drop(stop);
    worker.await.unwrap();
    assert!(start.elapsed() <= Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn settings_without_bounds_are_settings() {
    let (limiters, store) = (Limiters::default(), Arc::new(MemoryStore::default()));
    let plan = plan(&limiters);
    let settings = Settings {
        at_once: usize::MAX,
        permit_timeout: Duration::MAX,
        try_timeout: Duration::MAX,
        backoff: Backoff { first: Time::MAX, longest: Time::MAX },
        bounds: Bounds {
            ttl: Time::MAX,
            tries: u32::MAX,
            max_bytes: u64::MAX,
            enqueue_timeout: Duration::MAX,
        },
    };
    let mut backfill = backfill(&store, settings);
    backfill.handle(&plan, "parties", |_| ready(Ok(Bytes::from("late"))));
    let backfill = Arc::new(backfill);
    let done = partial(&plan).await;
    assert!(matches!(keep(&backfill, &done).await, Kept::Stored));
    tokio::spawn(Arc::clone(&backfill).run(pending()));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(document(&store, &done).await.slots[1].state, SlotState::Answered);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_ended_before_its_deadline_gives_the_store_the_rest_of_it() {
    let plan = plan(&Limiters::default());
    let mut backfill = Backfill::new(Arc::new(Broken(None)), Settings::default());
    backfill.handle(&plan, "parties", |_| pending());
    let mut job = plan.job();
    let _answers = job.each(|attempt| async move {
        sleep(Duration::from_millis(40)).await;
        if attempt.branch() == 0 { Ok(()) } else { Err("E".into()) }
    });
    let done = job.join().await.unwrap();
    let start = Instant::now();
    assert!(matches!(keep(&backfill, &done).await, Kept::Unconfirmed));
    assert_eq!(start.elapsed().as_millis(), 160);
}
