//! What every store of backfill promises, whatever it is built on: the suite that all of them run.

use std::sync::Arc;

use bytes::Bytes;
use fantail::backfill::{Claim, Counts, DocumentState, NewDocument, NewSlot, SlotState, Store, StoreError};
use fantail_core::Time;

/// A test of each promise, for the store that the function makes. What else it returns is kept to the end of the test.
macro_rules! hold {
    ($new_store:path) => {
        $crate::contract::hold! { $new_store:
            a_document_grows_until_it_is_complete
            a_claimed_branch_is_nobody_elses_until_the_lease_runs_out
            a_worker_killed_in_the_last_allowed_try_leaves_a_dead_letter
            a_late_answer_counts_and_the_first_answer_stays
            a_failed_try_waits_for_the_next_one_and_the_last_one_is_a_dead_letter
            a_failure_that_no_try_can_mend_is_a_dead_letter_at_once
            nobody_waits_for_a_try_after_the_document_expires
            a_released_claim_counts_as_no_try
            claims_are_no_more_than_wanted_and_those_that_are_longest_due_come_first
            an_expired_document_is_not_shown_not_tried_and_then_forgotten
            a_branch_that_may_not_be_tried_again_stays_missing
            documents_are_bounded_in_size
            an_operation_that_fails_undoes_itself_and_no_other_of_its_commit
        }
    };
    ($new_store:path: $($promise:ident)*) => {
        $(
            #[tokio::test]
            async fn $promise() {
                let (store, _kept) = $new_store();
                $crate::contract::$promise(std::sync::Arc::new(store)).await;
            }
        )*
    };
}
pub(crate) use hold;

pub(crate) const NOW: Time = Time::from_secs(1_800_000_000);
pub(crate) const LEASE: Time = Time::from_secs(60);

pub(crate) fn after(secs: u64) -> Time {
    NOW.saturating_add(Time::from_secs(secs))
}

pub(crate) fn new_slot(branch: &str, state: SlotState, body: &'static str) -> NewSlot {
    NewSlot { branch: branch.to_owned(), state, key: format!("key-{branch}"), body: Bytes::from(body) }
}

/// A document that has `type`, lacks `amounts` and `summary`, allows two tries and expires after an hour.
pub(crate) fn new_document(id: &str) -> NewDocument {
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

pub(crate) async fn states(store: &dyn Store, id: &str) -> Vec<SlotState> {
    store.document(NOW, id).await.unwrap().unwrap().slots.iter().map(|slot| slot.state).collect()
}

/// Stores one document with a single missing branch and claims it.
pub(crate) async fn one_claim(store: &dyn Store, max_tries: u32) -> Claim {
    let slots = vec![new_slot("summary", SlotState::Queued, "missed")];
    store.enqueue(NOW, NewDocument { max_tries, slots, ..new_document("one") }).await.unwrap();
    let mut claims = store.claim(NOW, LEASE, 10).await.unwrap();
    assert_eq!(claims.len(), 1);
    claims.remove(0)
}

pub(crate) async fn a_document_grows_until_it_is_complete(store: Arc<dyn Store>) {
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

pub(crate) async fn a_claimed_branch_is_nobody_elses_until_the_lease_runs_out(store: Arc<dyn Store>) {
    let first = one_claim(&*store, 2).await;
    assert_eq!(store.claim(after(59), LEASE, 10).await.unwrap(), []);
    assert_eq!(store.next_due(NOW).await.unwrap(), Some(after(60)));
    let second = store.claim(after(60), LEASE, 10).await.unwrap();
    assert_eq!((second.len(), second[0].number), (1, 2));
    // The first worker was slow, not dead: it may not say that the second one failed.
    assert_eq!(store.fail(&first, None, "late".to_owned()).await.unwrap(), None);
    store.release(&first, after(60)).await.unwrap();
    assert_eq!(states(&*store, "one").await, [SlotState::Leased]);
}

pub(crate) async fn a_worker_killed_in_the_last_allowed_try_leaves_a_dead_letter(store: Arc<dyn Store>) {
    one_claim(&*store, 1).await;
    assert_eq!(states(&*store, "one").await, [SlotState::Leased]);
    assert_eq!(store.claim(after(60), LEASE, 10).await.unwrap(), []);
    let document = store.document(after(60), "one").await.unwrap().unwrap();
    assert_eq!((document.state(), document.slots[0].state), (DocumentState::Dead, SlotState::Dead));
    assert!(document.slots[0].error.as_deref().unwrap().contains("lease"));
    assert_eq!(store.next_due(NOW).await.unwrap(), None);
}

pub(crate) async fn a_late_answer_counts_and_the_first_answer_stays(store: Arc<dyn Store>) {
    let first = one_claim(&*store, 2).await;
    let second = store.claim(after(60), LEASE, 10).await.unwrap().remove(0);
    assert_eq!(store.answer(&first, Bytes::from("1")).await.unwrap(), Some(SlotState::Answered));
    assert_eq!(store.answer(&second, Bytes::from("2")).await.unwrap(), Some(SlotState::Answered));
    assert_eq!(store.fail(&second, None, "too late to fail".to_owned()).await.unwrap(), None);
    let slot = store.document(NOW, "one").await.unwrap().unwrap().slots.remove(0);
    assert_eq!((&slot.body[..], slot.error), (&b"1"[..], None));
}

pub(crate) async fn a_failed_try_waits_for_the_next_one_and_the_last_one_is_a_dead_letter(
    store: Arc<dyn Store>,
) {
    let first = one_claim(&*store, 2).await;
    assert_eq!(
        store.fail(&first, Some(after(5)), "status 500".to_owned()).await.unwrap(),
        Some(SlotState::Queued)
    );
    assert_eq!(store.next_due(NOW).await.unwrap(), Some(after(5)));
    assert_eq!(store.claim(after(4), LEASE, 10).await.unwrap(), []);
    let second = store.claim(after(5), LEASE, 10).await.unwrap().remove(0);
    assert_eq!(second.number, 2);
    assert_eq!(
        store.fail(&second, Some(after(9)), "status 502".to_owned()).await.unwrap(),
        Some(SlotState::Dead)
    );
    let slot = store.document(NOW, "one").await.unwrap().unwrap().slots.remove(0);
    assert_eq!((slot.tries, slot.error.as_deref()), (2, Some("status 502")));
    assert_eq!(store.counts().await.unwrap(), Counts { documents: 1, dead: 1, ..Counts::default() });
}

pub(crate) async fn a_failure_that_no_try_can_mend_is_a_dead_letter_at_once(store: Arc<dyn Store>) {
    let claim = one_claim(&*store, 2).await;
    assert_eq!(store.fail(&claim, None, "status 404".to_owned()).await.unwrap(), Some(SlotState::Dead));
}

pub(crate) async fn nobody_waits_for_a_try_after_the_document_expires(store: Arc<dyn Store>) {
    let claim = one_claim(&*store, 9).await;
    let state = store.fail(&claim, Some(after(3_600)), "come back in an hour".to_owned()).await.unwrap();
    assert_eq!(state, Some(SlotState::Dead));
}

pub(crate) async fn a_released_claim_counts_as_no_try(store: Arc<dyn Store>) {
    let claim = one_claim(&*store, 1).await;
    store.release(&claim, after(5)).await.unwrap();
    assert_eq!(store.claim(after(4), LEASE, 10).await.unwrap(), []);
    assert_eq!(store.claim(after(5), LEASE, 10).await.unwrap()[0].number, 1);
}

pub(crate) async fn claims_are_no_more_than_wanted_and_those_that_are_longest_due_come_first(
    store: Arc<dyn Store>,
) {
    // In the order c, a, b, with two gaps each; then one of c is due again last of all.
    for (id, at) in [("a", 1), ("b", 2), ("c", 0)] {
        store.enqueue(after(at), new_document(id)).await.unwrap();
    }
    let branches = async |limit: usize| {
        let claims = store.claim(after(10), LEASE, limit).await.unwrap();
        claims.into_iter().map(|claim| claim.document + "." + &claim.branch).collect::<Vec<_>>()
    };
    assert!(branches(0).await.is_empty());
    let first = store.claim(after(10), LEASE, 1).await.unwrap().remove(0);
    assert_eq!((&*first.document, &*first.branch), ("c", "amounts"));
    store.release(&first, after(5)).await.unwrap();
    assert_eq!(branches(2).await, ["c.summary", "a.amounts"]);
    assert_eq!(branches(100).await, ["a.summary", "b.amounts", "b.summary", "c.amounts"]);
}

pub(crate) async fn an_expired_document_is_not_shown_not_tried_and_then_forgotten(store: Arc<dyn Store>) {
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

pub(crate) async fn a_branch_that_may_not_be_tried_again_stays_missing(store: Arc<dyn Store>) {
    let slots = vec![new_slot("charge", SlotState::Excluded, "missed")];
    store.enqueue(NOW, NewDocument { slots, ..new_document("a") }).await.unwrap();
    assert_eq!(store.claim(after(60), LEASE, 10).await.unwrap(), []);
    assert_eq!(store.document(NOW, "a").await.unwrap().unwrap().state(), DocumentState::Dead);
}

pub(crate) async fn documents_are_bounded_in_size(store: Arc<dyn Store>) {
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

pub(crate) async fn an_operation_that_fails_undoes_itself_and_no_other_of_its_commit(store: Arc<dyn Store>) {
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
