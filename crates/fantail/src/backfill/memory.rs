//! A store that lasts as long as its process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::ready;
use std::sync::Arc;

use bytes::Bytes;
use fantail_core::Time;

use super::{Claim, Counts, Document, NewDocument, Slot, SlotState, Store, StoreError, Stored};
use crate::lock;
use crate::sync::Mutex;

/// A store in memory: for tests, and for services that may forget what a restart interrupts. A cheap handle.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), fantail::backfill::StoreError> {
/// use bytes::Bytes;
/// use fantail::backfill::{DocumentState, MemoryStore, NewDocument, NewSlot, SlotState, Store};
/// use fantail_core::Time;
///
/// let store = MemoryStore::default();
/// let slot = |branch: &str, state, body: &'static str| NewSlot {
///     branch: branch.to_owned(),
///     state,
///     key: format!("key of {branch}"),
///     body: Bytes::from(body),
/// };
/// let now = Time::from_secs(1_800_000_000);
/// let document = NewDocument {
///     id: "0b1d".to_owned(),
///     plan: "enrich".to_owned(),
///     request: Bytes::from("the request"),
///     result: Bytes::new(),
///     expires_at: now.saturating_add(Time::from_secs(3_600)),
///     max_tries: 8,
///     max_bytes: 1 << 20,
///     slots: vec![slot("type", SlotState::Answered, "1"), slot("summary", SlotState::Queued, "missed")],
/// };
/// store.enqueue(now, document).await?;
///
/// let claims = store.claim(now, Time::from_secs(60), 10).await?;
/// assert_eq!((claims[0].branch.as_str(), claims[0].number), ("summary", 1));
/// store.answer(&claims[0], Bytes::from("2")).await?;
///
/// let document = store.document(now, "0b1d").await?.expect("it has not expired");
/// assert_eq!(document.state(), DocumentState::Complete);
/// assert_eq!(document.slots[1].body, "2");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Of the next document and the next slot: none is used twice.
    next: u64,
    documents: BTreeMap<u64, Kept>,
    ids: HashMap<String, u64>,
    /// By slot number: its document, and its place there.
    slots: HashMap<u64, (u64, usize)>,
    /// When somebody must look at a slot again: for its next try, or because its lease runs out.
    due: BTreeSet<(Time, u64)>,
}

#[derive(Debug)]
struct Kept {
    request: Bytes,
    bytes: u64,
    max_bytes: u64,
    max_tries: u32,
    document: Document,
    own: Vec<Own>,
}

/// What the store knows of a slot beside what its document shows.
#[derive(Debug)]
struct Own {
    number: u64,
    key: String,
    fence: u64,
    due: Option<Time>,
}

impl MemoryStore {
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut State) -> Result<T, StoreError>,
    ) -> Stored<'static, T> {
        Box::pin(ready(work(&mut lock(&self.0))))
    }
}

impl Store for MemoryStore {
    fn enqueue(&self, now: Time, document: NewDocument) -> Stored<'_, ()> {
        self.run(|state| state.enqueue(now, document))
    }

    fn claim(&self, now: Time, lease: Time, limit: usize) -> Stored<'_, Vec<Claim>> {
        self.run(|state| Ok(state.claim(now, lease, limit)))
    }

    fn answer(&self, claim: &Claim, body: Bytes) -> Stored<'_, Option<SlotState>> {
        self.run(|state| Ok(state.answer(claim, body)))
    }

    fn fail(&self, claim: &Claim, retry_at: Option<Time>, error: String) -> Stored<'_, Option<SlotState>> {
        self.run(|state| Ok(state.fail(claim, retry_at, error)))
    }

    fn release(&self, claim: &Claim, at: Time) -> Stored<'_, ()> {
        self.run(|state| {
            if let Some((kept, place)) = state.leased(claim) {
                kept.document.slots[place].tries -= 1;
                state.set(claim.slot, SlotState::Queued, Some(at));
            }
            Ok(())
        })
    }

    fn next_due(&self, now: Time) -> Stored<'_, Option<Time>> {
        self.run(|state| {
            let kept = |slot: &u64| &state.documents[&state.slots[slot].0];
            let due = state.due.iter().find(|(_, slot)| kept(slot).document.expires_at > now);
            Ok(due.map(|(due, _)| *due))
        })
    }

    fn document(&self, now: Time, id: &str) -> Stored<'_, Option<Document>> {
        self.run(|state| {
            let kept = state.ids.get(id).map(|number| &state.documents[number].document);
            Ok(kept.filter(|document| document.expires_at > now).cloned())
        })
    }

    fn expire(&self, now: Time, limit: usize) -> Stored<'_, usize> {
        self.run(|state| {
            let expired = state.documents.iter().filter(|(_, kept)| kept.document.expires_at <= now);
            let expired: Vec<u64> = expired.map(|(number, _)| *number).take(limit).collect();
            for number in &expired {
                state.forget(*number);
            }
            Ok(expired.len())
        })
    }

    fn counts(&self) -> Stored<'_, Counts> {
        self.run(|state| {
            let mut counts = Counts { documents: state.documents.len() as u64, ..Counts::default() };
            for slot in state.documents.values().flat_map(|kept| &kept.document.slots) {
                match slot.state {
                    SlotState::Queued => counts.queued += 1,
                    SlotState::Leased => counts.leased += 1,
                    SlotState::Dead => counts.dead += 1,
                    SlotState::Answered | SlotState::Excluded => {}
                }
            }
            Ok(counts)
        })
    }
}

impl State {
    fn enqueue(&mut self, now: Time, new: NewDocument) -> Result<(), StoreError> {
        let bytes = new.bytes();
        if bytes > new.max_bytes {
            return Err(StoreError::TooLarge { bytes, bound: new.max_bytes });
        }
        if self.ids.contains_key(&new.id) {
            return Err(StoreError::Exists { id: new.id });
        }
        let number = self.number();
        let (mut slots, mut own) = (Vec::new(), Vec::new());
        for slot in new.slots {
            let place = slots.len();
            let due = (slot.state == SlotState::Queued).then_some(now);
            own.push(Own { number: self.number(), key: slot.key, fence: 0, due });
            self.slots.insert(own[place].number, (number, place));
            self.due.extend(due.map(|due| (due, own[place].number)));
            slots.push(Slot {
                branch: slot.branch,
                state: slot.state,
                body: slot.body,
                tries: 0,
                error: None,
            });
        }
        let document = Document {
            id: new.id,
            plan: new.plan,
            result: new.result,
            created_at: now,
            expires_at: new.expires_at,
            slots,
        };
        self.ids.insert(document.id.clone(), number);
        let NewDocument { request, max_bytes, max_tries, .. } = new;
        self.documents.insert(number, Kept { request, bytes, max_bytes, max_tries, document, own });
        Ok(())
    }

    fn claim(&mut self, now: Time, lease: Time, limit: usize) -> Vec<Claim> {
        let (mut dead, mut taken) = (Vec::new(), Vec::new());
        for (_, number) in self.due.range(..=(now, u64::MAX)) {
            let (document, place) = self.slots[number];
            let kept = &self.documents[&document];
            let slot = &kept.document.slots[place];
            if slot.state == SlotState::Leased && slot.tries >= kept.max_tries {
                dead.push(*number);
            } else if taken.len() < limit && kept.document.expires_at > now {
                taken.push(*number);
            } else if taken.len() == limit {
                break;
            }
        }
        for number in dead {
            if let Some((kept, place)) = self.slot(number) {
                let error = "the last allowed try did not end before its lease did";
                kept.document.slots[place].error = Some(error.to_owned());
            }
            self.set(number, SlotState::Dead, None);
        }
        taken.into_iter().filter_map(|number| self.take(number, now.saturating_add(lease))).collect()
    }

    /// Gives a slot to a try, until `until`.
    fn take(&mut self, number: u64, until: Time) -> Option<Claim> {
        let (kept, place) = self.slot(number)?;
        let (slot, own) = (&mut kept.document.slots[place], &mut kept.own[place]);
        slot.tries += 1;
        own.fence += 1;
        let claim = Claim {
            document: kept.document.id.clone(),
            plan: kept.document.plan.clone(),
            branch: slot.branch.clone(),
            key: own.key.clone(),
            number: slot.tries,
            request: kept.request.clone(),
            slot: number,
            fence: own.fence,
        };
        self.set(number, SlotState::Leased, Some(until));
        Some(claim)
    }

    fn answer(&mut self, claim: &Claim, body: Bytes) -> Option<SlotState> {
        let (kept, place) = self.slot(claim.slot)?;
        let slot = &mut kept.document.slots[place];
        if slot.state == SlotState::Answered {
            return Some(SlotState::Answered);
        }
        let bytes = kept.bytes - slot.body.len() as u64 + body.len() as u64;
        if bytes > kept.max_bytes {
            let bound = kept.max_bytes;
            slot.error = Some(format!("the document would have {bytes} bytes, at most {bound} are kept"));
            return self.set(claim.slot, SlotState::Dead, None);
        }
        kept.bytes = bytes;
        slot.body = body;
        slot.error = None;
        self.set(claim.slot, SlotState::Answered, None)
    }

    fn fail(&mut self, claim: &Claim, retry_at: Option<Time>, error: String) -> Option<SlotState> {
        let (kept, place) = self.leased(claim)?;
        let slot = &mut kept.document.slots[place];
        slot.error = Some(error);
        let may_retry = slot.tries < kept.max_tries;
        let retry_at = retry_at.filter(|at| may_retry && *at < kept.document.expires_at);
        let state = if retry_at.is_some() { SlotState::Queued } else { SlotState::Dead };
        self.set(claim.slot, state, retry_at)
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The document of a slot, by number, and the slot's place there.
    fn slot(&mut self, number: u64) -> Option<(&mut Kept, usize)> {
        let (document, place) = *self.slots.get(&number)?;
        Some((self.documents.get_mut(&document)?, place))
    }

    /// The slot of a claim that nobody has overtaken.
    fn leased(&mut self, claim: &Claim) -> Option<(&mut Kept, usize)> {
        let (kept, place) = self.slot(claim.slot)?;
        let leased = kept.document.slots[place].state == SlotState::Leased;
        (leased && kept.own[place].fence == claim.fence).then_some((kept, place))
    }

    fn set(&mut self, number: u64, to: SlotState, due: Option<Time>) -> Option<SlotState> {
        let (kept, place) = self.slot(number)?;
        kept.document.slots[place].state = to;
        let before = std::mem::replace(&mut kept.own[place].due, due);
        if let Some(before) = before {
            self.due.remove(&(before, number));
        }
        self.due.extend(due.map(|due| (due, number)));
        Some(to)
    }

    fn forget(&mut self, document: u64) {
        let Some(kept) = self.documents.remove(&document) else { return };
        self.ids.remove(&kept.document.id);
        for own in kept.own {
            self.slots.remove(&own.number);
            if let Some(due) = own.due {
                self.due.remove(&(due, own.number));
            }
        }
    }
}
