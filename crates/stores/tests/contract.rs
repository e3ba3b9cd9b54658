//! What a backfill store promises, whatever it is built on.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use bytes::Bytes;
use fantail_core::Time;
use fantail_stores::{
    BackfillStore, Claim, Counts, DocumentState, NewDocument, NewSlot, SlotState, StoreError,
};
use tempfile::TempDir;

const NOW: Time = Time::from_secs(1_800_000_000);
const LEASE: Time = Time::from_secs(60);

fn after(secs: u64) -> Time {
    NOW.saturating_add(Time::from_secs(secs))
}

fn new_store() -> (TempDir, BackfillStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = BackfillStore::open(&folder.path().join("backfill.sqlite")).unwrap();
    (folder, store)
}

fn new_slot(branch: &str, state: SlotState, body: &'static str) -> NewSlot {
    NewSlot { branch: branch.to_owned(), state, key: format!("key-{branch}"), body: Bytes::from(body) }
}

/// A document that has `type`, lacks `amounts` and `summary`, allows two tries and expires after an hour.
fn new_document(id: &str) -> NewDocument {
    NewDocument {
        id: id.to_owned(),
        plan: "enrich".to_owned(),
        request: Bytes::from("request"),
        result: Bytes::from("result"),
        expires_at: after(3_600),
        max_tries: 2,
        max_bytes: 1_000,
        slots: vec![
            new_slot("type", SlotState::Answered, "\"contract\""),
            new_slot("amounts", SlotState::Queued, "missed"),
            new_slot("summary", SlotState::Queued, "missed"),
        ],
    }
}

async fn states(store: &BackfillStore, id: &str) -> Vec<SlotState> {
    store.document(NOW, id).await.unwrap().unwrap().slots.iter().map(|slot| slot.state).collect()
}

/// Stores one document with a single missing branch and claims it.
async fn one_claim(store: &BackfillStore, max_tries: u32) -> Claim {
    let slots = vec![new_slot("summary", SlotState::Queued, "missed")];
    store.enqueue(NOW, NewDocument { max_tries, slots, ..new_document("one") }).await.unwrap();
    let mut claims = store.claim(NOW, LEASE, 10).await.unwrap();
    assert_eq!(claims.len(), 1);
    claims.remove(0)
}

#[tokio::test]
async fn a_document_grows_until_it_is_complete() {
    let (_folder, store) = new_store();
    store.enqueue(NOW, new_document("a")).await.unwrap();
    let claims = store.claim(NOW, LEASE, 10).await.unwrap();
    let branches: Vec<_> =
        claims.iter().map(|c| (&*c.branch, &*c.key, &*c.plan, &c.request[..], c.number)).collect();
    assert_eq!(
        branches,
        [
            ("amounts", "key-amounts", "enrich", &b"request"[..], 1),
            ("summary", "key-summary", "enrich", &b"request"[..], 1)
        ]
    );
    assert_eq!(store.document(NOW, "a").await.unwrap().unwrap().state(), DocumentState::Growing);

    assert_eq!(store.answer(&claims[1], Bytes::from("\"s\"")).await.unwrap(), Some(SlotState::Answered));
    let half = store.document(NOW, "a").await.unwrap().unwrap();
    assert_eq!(
        (half.state(), &half.result[..], half.created_at),
        (DocumentState::Growing, &b"result"[..], NOW)
    );
    let bodies: Vec<_> = half.slots.iter().map(|slot| &slot.body[..]).collect();
    assert_eq!(bodies, [&b"\"contract\""[..], b"missed", b"\"s\""]);

    store.answer(&claims[0], Bytes::from("[]")).await.unwrap();
    assert_eq!(store.document(NOW, "a").await.unwrap().unwrap().state(), DocumentState::Complete);
    assert_eq!(store.next_due(NOW).await.unwrap(), None);
    assert_eq!(store.counts().await.unwrap(), Counts { documents: 1, ..Counts::default() });
}

#[tokio::test]
async fn a_claimed_branch_is_nobody_elses_until_the_lease_runs_out() {
    let (_folder, store) = new_store();
    let first = one_claim(&store, 2).await;
    assert_eq!(store.claim(after(59), LEASE, 10).await.unwrap(), []);
    assert_eq!(store.next_due(NOW).await.unwrap(), Some(after(60)));
    let second = store.claim(after(60), LEASE, 10).await.unwrap();
    assert_eq!((second.len(), second[0].number), (1, 2));
    // The first worker was slow, not dead: it may not say that the second one failed.
    assert_eq!(store.fail(&first, None, "late").await.unwrap(), None);
    store.release(&first, after(60)).await.unwrap();
    assert_eq!(states(&store, "one").await, [SlotState::Leased]);
}

#[tokio::test]
async fn a_worker_killed_in_the_last_allowed_try_leaves_a_dead_letter() {
    let (_folder, store) = new_store();
    one_claim(&store, 1).await;
    assert_eq!(states(&store, "one").await, [SlotState::Leased]);
    assert_eq!(store.claim(after(60), LEASE, 10).await.unwrap(), []);
    let document = store.document(after(60), "one").await.unwrap().unwrap();
    assert_eq!((document.state(), document.slots[0].state), (DocumentState::Dead, SlotState::Dead));
    assert!(document.slots[0].error.as_deref().unwrap().contains("lease"));
    assert_eq!(store.next_due(NOW).await.unwrap(), None);
}

#[tokio::test]
async fn a_late_answer_counts_and_the_first_answer_stays() {
    let (_folder, store) = new_store();
    let first = one_claim(&store, 2).await;
    let second = store.claim(after(60), LEASE, 10).await.unwrap().remove(0);
    assert_eq!(store.answer(&first, Bytes::from("1")).await.unwrap(), Some(SlotState::Answered));
    assert_eq!(store.answer(&second, Bytes::from("2")).await.unwrap(), Some(SlotState::Answered));
    assert_eq!(store.fail(&second, None, "too late to fail").await.unwrap(), None);
    let slot = store.document(NOW, "one").await.unwrap().unwrap().slots.remove(0);
    assert_eq!((&slot.body[..], slot.error), (&b"1"[..], None));
}

#[tokio::test]
async fn a_failed_try_waits_for_the_next_one_and_the_last_one_is_a_dead_letter() {
    let (_folder, store) = new_store();
    let first = one_claim(&store, 2).await;
    assert_eq!(store.fail(&first, Some(after(5)), "status 500").await.unwrap(), Some(SlotState::Queued));
    assert_eq!(store.next_due(NOW).await.unwrap(), Some(after(5)));
    assert_eq!(store.claim(after(4), LEASE, 10).await.unwrap(), []);
    let second = store.claim(after(5), LEASE, 10).await.unwrap().remove(0);
    assert_eq!(second.number, 2);
    assert_eq!(store.fail(&second, Some(after(9)), "status 502").await.unwrap(), Some(SlotState::Dead));
    let slot = store.document(NOW, "one").await.unwrap().unwrap().slots.remove(0);
    assert_eq!((slot.tries, slot.error.as_deref()), (2, Some("status 502")));
    assert_eq!(store.counts().await.unwrap(), Counts { documents: 1, dead: 1, ..Counts::default() });
}

#[tokio::test]
async fn a_failure_that_no_try_can_mend_is_a_dead_letter_at_once() {
    let (_folder, store) = new_store();
    let claim = one_claim(&store, 2).await;
    assert_eq!(store.fail(&claim, None, "status 404").await.unwrap(), Some(SlotState::Dead));
}

#[tokio::test]
async fn nobody_waits_for_a_try_after_the_document_expires() {
    let (_folder, store) = new_store();
    let claim = one_claim(&store, 9).await;
    let state = store.fail(&claim, Some(after(3_600)), "come back in an hour").await.unwrap();
    assert_eq!(state, Some(SlotState::Dead));
}

#[tokio::test]
async fn a_released_claim_counts_as_no_try() {
    let (_folder, store) = new_store();
    let claim = one_claim(&store, 1).await;
    store.release(&claim, after(5)).await.unwrap();
    assert_eq!(store.claim(after(4), LEASE, 10).await.unwrap(), []);
    assert_eq!(store.claim(after(5), LEASE, 10).await.unwrap()[0].number, 1);
}

#[tokio::test]
async fn an_expired_document_is_not_shown_not_tried_and_then_forgotten() {
    let (_folder, store) = new_store();
    store.enqueue(NOW, new_document("a")).await.unwrap();
    let kept = NewDocument { expires_at: after(9_999), ..new_document("b") };
    store.enqueue(NOW, kept).await.unwrap();
    let end = after(3_600);
    let claim = store.claim(NOW, LEASE, 1).await.unwrap().remove(0);
    assert_eq!(store.document(end, "a").await.unwrap(), None);
    assert_eq!(store.next_due(NOW).await.unwrap(), Some(NOW));
    let claims = store.claim(end, LEASE, 10).await.unwrap();
    assert!(claims.iter().all(|claim| claim.document == "b"), "{claims:?}");
    assert_eq!(store.next_due(end).await.unwrap(), Some(end.saturating_add(LEASE)));
    assert_eq!(store.expire(end, 10).await.unwrap(), 1);
    assert_eq!(store.answer(&claim, Bytes::from("late")).await.unwrap(), None);
    assert_eq!(store.counts().await.unwrap().documents, 1);
}

#[tokio::test]
async fn a_branch_that_may_not_be_tried_again_stays_missing() {
    let (_folder, store) = new_store();
    let slots = vec![new_slot("charge", SlotState::Excluded, "missed")];
    store.enqueue(NOW, NewDocument { slots, ..new_document("a") }).await.unwrap();
    assert_eq!(store.claim(after(60), LEASE, 10).await.unwrap(), []);
    assert_eq!(store.document(NOW, "a").await.unwrap().unwrap().state(), DocumentState::Dead);
}

#[tokio::test]
async fn documents_are_bounded_in_size() {
    let (_folder, store) = new_store();
    let slots = vec![new_slot("summary", SlotState::Queued, "missed")];
    let large = NewDocument { request: Bytes::from(vec![b'x'; 989]), slots, ..new_document("large") };
    let error = store.enqueue(NOW, large.clone()).await.unwrap_err();
    assert_eq!(error.to_string(), "the document has 1001 bytes, at most 1000 are kept");

    let fits = NewDocument { request: large.request.slice(1..), ..large };
    store.enqueue(NOW, fits).await.unwrap();
    let claim = store.claim(NOW, LEASE, 10).await.unwrap().remove(0);
    assert_eq!(store.answer(&claim, Bytes::from("1234567")).await.unwrap(), Some(SlotState::Dead));
    assert_eq!(store.answer(&claim, Bytes::from("123456")).await.unwrap(), Some(SlotState::Answered));
}

#[tokio::test]
async fn an_operation_that_fails_undoes_itself_and_no_other_of_its_commit() {
    let (_folder, store) = new_store();
    let tasks: Vec<_> = (0..100)
        .map(|i| {
            let (store, id) = (store.clone(), format!("{}", i % 90));
            tokio::spawn(async move { store.enqueue(NOW, new_document(&id)).await })
        })
        .collect();
    let mut refused = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(()) => {}
            Err(StoreError::Exists { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(refused, 10);
    assert_eq!(store.counts().await.unwrap(), Counts { documents: 90, queued: 180, leased: 0, dead: 0 });
}

#[tokio::test]
async fn what_is_queued_is_written_before_the_store_closes() {
    let (folder, store) = new_store();
    let mut enqueue = Box::pin(store.enqueue(NOW, new_document("a")));
    // Polled once, so that it is queued; then nobody waits for it.
    assert!(std::future::poll_fn(|cx| std::task::Poll::Ready(enqueue.as_mut().poll(cx).is_pending())).await);
    drop(enqueue);
    drop(store);
    let store = BackfillStore::open(&folder.path().join("backfill.sqlite")).unwrap();
    assert_eq!(store.counts().await.unwrap().documents, 1);
}

#[tokio::test]
async fn leases_end_with_the_last_process_that_has_the_store_open() {
    let (folder, store) = new_store();
    let path = folder.path().join("backfill.sqlite");
    one_claim(&store, 2).await;
    let second = BackfillStore::open(&path).unwrap();
    assert_eq!(second.claim(NOW, LEASE, 10).await.unwrap(), []);
    drop((store, second));
    let third = BackfillStore::open(&path).unwrap();
    assert_eq!(third.claim(NOW, LEASE, 10).await.unwrap()[0].number, 2);
    drop(third);
    // That was the last allowed try.
    let fourth = BackfillStore::open(&path).unwrap();
    assert_eq!(fourth.claim(NOW, LEASE, 10).await.unwrap(), []);
    assert_eq!(states(&fourth, "one").await, [SlotState::Dead]);
}

#[tokio::test]
async fn a_file_that_is_no_store_of_this_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, expected: &str| {
        let error = BackfillStore::open(&folder.path().join(name)).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(name), "{error}");
    };
    std::fs::write(folder.path().join("text"), "not a database, and longer than a hundred bytes: ".repeat(9))
        .unwrap();
    check("text", "file is not a database");
    check("no/such/folder", "unable to open");
    let newer = rusqlite::Connection::open(folder.path().join("newer")).unwrap();
    newer.pragma_update(None, "user_version", 2).unwrap();
    check("newer", "has schema 2, but this build reads up to 1");
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, store) = new_store();
    store.enqueue(NOW, new_document("a")).await.unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o077, 0, "{}", entry.path().display());
    }
}
