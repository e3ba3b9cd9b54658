//! Workers that stop, or are dropped, at any await: no branch is lost.

use std::future::{Future, pending, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use fantail::backfill::{
    Backfill, Claim, Counts, Document, Kept, MemoryStore, NewDocument, Settings, SlotState, Store, Stored,
};
use fantail::{Fanout, Limiters};
use fantail_core::Time;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::fill::{clock, document, keep, partial, plan};

/// A store each of whose operations is pending once before it takes effect, and once after.
#[derive(Default)]
struct Hesitant(MemoryStore);

impl Hesitant {
    fn later<'s, T: Send + 'static>(
        &'s self,
        work: impl FnOnce(&'s MemoryStore) -> Stored<'s, T> + Send + 's,
    ) -> Stored<'s, T> {
        Box::pin(async move {
            yield_now().await;
            let result = work(&self.0).await;
            yield_now().await;
            result
        })
    }
}

impl Store for Hesitant {
    fn enqueue(&self, now: Time, document: NewDocument) -> Stored<'_, ()> {
        self.later(move |store| store.enqueue(now, document))
    }
    fn claim(&self, now: Time, lease: Time, limit: usize) -> Stored<'_, Vec<Claim>> {
        self.later(move |store| store.claim(now, lease, limit))
    }
    fn answer(&self, claim: &Claim, body: Bytes) -> Stored<'_, Option<SlotState>> {
        let claim = claim.clone();
        self.later(move |store| store.answer(&claim, body))
    }
    fn fail(&self, claim: &Claim, retry_at: Option<Time>, error: String) -> Stored<'_, Option<SlotState>> {
        let claim = claim.clone();
        self.later(move |store| store.fail(&claim, retry_at, error))
    }
    fn release(&self, claim: &Claim, at: Time) -> Stored<'_, ()> {
        let claim = claim.clone();
        self.later(move |store| store.release(&claim, at))
    }
    fn next_due(&self, now: Time) -> Stored<'_, Option<Time>> {
        self.later(move |store| store.next_due(now))
    }
    fn document(&self, now: Time, id: &str) -> Stored<'_, Option<Document>> {
        let id = id.to_owned();
        self.later(move |store| store.document(now, &id))
    }
    fn expire(&self, now: Time, limit: usize) -> Stored<'_, usize> {
        self.later(move |store| store.expire(now, limit))
    }
    fn counts(&self) -> Stored<'_, Counts> {
        self.later(MemoryStore::counts)
    }
}

/// Fills in `parties` with an answer, and `dates` with one after a failure.
fn worker(store: &Arc<Hesitant>, plan: &Fanout) -> Arc<Backfill> {
    let mut backfill =
        Backfill::new(Arc::clone(store) as Arc<dyn Store>, Settings::default()).with_clock(clock());
    backfill.handle(plan, "parties", |_| async {
        yield_now().await;
        Ok(Bytes::from("parties"))
    });
    backfill.handle(plan, "dates", |claim| async move {
        yield_now().await;
        if claim.number == 1 { Err("once more".into()) } else { Ok(Bytes::from("dates")) }
    });
    Arc::new(backfill)
}

/// Lets a worker go so many steps, then stops or drops it. How the branches stand, and what the store then has.
async fn cut(steps: u32, drops: bool) -> [SlotState; 2] {
    let (plan, store) = (plan(&Limiters::default()), Arc::new(Hesitant::default()));
    let backfill = worker(&store, &plan);
    let done = partial(&plan).await;
    assert!(matches!(keep(&backfill, &done).await, Kept::Stored));
    let (stop, stopped) = oneshot::channel::<()>();
    let mut running = Box::pin(Arc::clone(&backfill).run(async { drop(stopped.await) }));
    for _ in 0..steps {
        // Only what has been woken moves on.
        assert!(poll_fn(|task| Poll::Ready(running.as_mut().poll(task))).await.is_pending());
        yield_now().await;
    }
    if drops {
        drop(running);
    } else {
        drop(stop);
        running.await;
    }
    let slots = document(&store.0, &done).await.slots;
    let states = [slots[1].state, slots[2].state];
    tokio::spawn(worker(&store, &plan).run(pending()));
    // Longer than a lease and a pause.
    sleep(Duration::from_secs(200)).await;
    let slots = document(&store.0, &done).await.slots;
    let ends = [&slots[1], &slots[2]].map(|slot| (slot.state, slot.body.clone()));
    let answered = |body| (SlotState::Answered, Bytes::from_static(body));
    assert_eq!(ends, [answered(b"parties"), answered(b"dates")], "cut after {steps} steps");
    states
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_stopped_at_any_await_hands_back_what_it_has() {
    for steps in 0..40 {
        let states = cut(steps, false).await;
        assert!(!states.contains(&SlotState::Leased), "{states:?} after {steps} steps");
        assert!(steps < 30 || states[0] == SlotState::Answered, "{states:?}: it has come to nothing");
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_dropped_at_any_await_loses_no_branch() {
    let mut leased = 0;
    for steps in 0..40 {
        leased += u32::from(cut(steps, true).await.contains(&SlotState::Leased));
    }
    assert!(leased > 0, "some are dropped while they run");
}
