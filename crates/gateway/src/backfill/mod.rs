//! Fills in what partial results lack.

mod worker;

use std::sync::Arc;

use bytes::Bytes;
use fantail::Done;
use fantail::backfill::{NewDocument, NewSlot, SlotState, Store, StoreError};
use fantail_planfile::Backfill;
use fantail_stores::SqliteStore;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::clock;
use crate::data::{BackfillBody, FanoutBody, Inbound, Kept, Missing, Served, json, key};

pub(crate) use worker::work;

/// The queue, and the bell that tells its worker of new entries.
#[derive(Clone, Debug)]
pub(crate) struct Backfiller {
    store: SqliteStore,
    bell: Arc<Notify>,
}

impl Backfiller {
    pub(crate) fn new(store: SqliteStore) -> Backfiller {
        Backfiller { store, bell: Arc::new(Notify::new()) }
    }

    pub(crate) fn store(&self) -> &SqliteStore {
        &self.store
    }
}

/// What a partial result lacks and backfill may fill in.
pub(crate) struct Gap<'a> {
    backfiller: &'a Backfiller,
    settings: Backfill,
    document: NewDocument,
}

impl<'a> Gap<'a> {
    /// `None` when the plan has no backfill, or no missing branch may be tried again.
    pub(crate) fn of(
        backfiller: &'a Backfiller,
        served: &Served,
        inbound: &Inbound,
        id: &str,
        done: &Done,
        answers: &[Option<Box<RawValue>>],
        incomplete: &[Missing],
    ) -> Option<Gap<'a>> {
        let settings = served.backfill?;
        let declared = served.plan().branches();
        let slots: Vec<NewSlot> = (0..)
            .zip(declared.iter().zip(answers))
            .map(|(branch, (declared, answer))| {
                let missing = || incomplete.iter().find(|missing| missing.branch == declared.name);
                let never_started = done.slot(branch).attempts == 0;
                let (state, body) = match answer {
                    Some(answer) => (SlotState::Answered, Bytes::copy_from_slice(answer.get().as_bytes())),
                    None if !declared.required && (declared.repeatable || never_started) => {
                        (SlotState::Queued, json(&missing()))
                    }
                    None => (SlotState::Excluded, json(&missing())),
                };
                NewSlot { branch: declared.name.clone(), state, key: key(id, branch), body }
            })
            .collect();
        slots.iter().any(|slot| slot.state == SlotState::Queued).then(|| Gap {
            backfiller,
            settings,
            document: NewDocument {
                id: id.to_owned(),
                plan: served.plan().name().to_owned(),
                request: json(&Kept::of(inbound)),
                result: json(&FanoutBody::of(done)),
                expires_at: clock::unix_now().saturating_add(settings.ttl),
                max_tries: settings.tries,
                max_bytes: u64::from(settings.max_bytes),
                slots,
            },
        })
    }

    /// The branches that it fills in.
    pub(crate) fn branches(&self) -> Vec<String> {
        let queued = self.document.slots.iter().filter(|slot| slot.state == SlotState::Queued);
        queued.map(|slot| slot.branch.clone()).collect()
    }

    /// Stores it. Waits until `by`, and then lets the store go on alone.
    pub(crate) async fn enqueue(&self, by: Instant) -> Queued {
        let now = clock::unix_now();
        let stored = self.backfiller.store.enqueue(now, self.document.clone());
        match tokio::time::timeout_at(by, stored).await {
            Ok(Ok(())) => {
                self.backfiller.bell.notify_one();
                Queued::Stored
            }
            Ok(Err(error)) => {
                tracing::error!(plan = self.document.plan, %error, "a partial result can't be queued for backfill");
                Queued::Refused(error)
            }
            Err(_) => {
                let timeout = self.settings.enqueue_timeout;
                tracing::warn!(plan = self.document.plan, %timeout, "the store did not confirm a document in time");
                Queued::Unconfirmed
            }
        }
    }
}

/// What the store said.
pub(crate) enum Queued {
    Stored,
    Unconfirmed,
    Refused(StoreError),
}

impl Queued {
    pub(crate) fn is_stored(&self) -> bool {
        matches!(self, Queued::Stored)
    }

    /// What the result says of a branch that it lacks.
    pub(crate) fn body(&self, link: &str) -> BackfillBody {
        match self {
            Queued::Stored => BackfillBody::new("queued", link),
            Queued::Unconfirmed => BackfillBody::new("unconfirmed", link),
            Queued::Refused(error) => {
                let error = match error {
                    // The only one that is the client's to know; the others name files.
                    StoreError::TooLarge { .. } => error.to_string(),
                    _ => "the store failed".to_owned(),
                };
                BackfillBody { error: Some(error), ..BackfillBody::new("refused", link) }
            }
        }
    }
}
