//! Documents: the results that may grow, and the tries that make them grow.

use bytes::Bytes;
use fantail_core::Time;

/// The result of a job that lacks something, as it is handed to the store before it is published.
#[derive(Clone, Debug)]
pub struct NewDocument {
    /// The job's id. Who knows it may read the document, so it must not be guessable.
    pub id: String,
    /// The plan's name, which tells whoever fills the gaps where to ask.
    pub plan: String,
    /// What a try needs to ask again. The store does not look into it.
    pub request: Bytes,
    /// What the reader of the document gets with it. The store does not look into it.
    pub result: Bytes,
    /// When it is forgotten. No try starts at or after this.
    pub expires_at: Time,
    /// How many tries a branch gets before it is a dead letter, at least 1.
    pub max_tries: u32,
    /// How many bytes the request, the result, the answers and what is known of absent ones may have together.
    pub max_bytes: u64,
    /// Every branch of the job, in the plan's order.
    pub slots: Vec<NewSlot>,
}

impl NewDocument {
    /// What counts against [`NewDocument::max_bytes`].
    pub fn bytes(&self) -> u64 {
        let slots = self.slots.iter().map(|slot| slot.body.len()).sum::<usize>();
        (self.request.len() + self.result.len() + slots) as u64
    }
}

/// A branch as the job left it.
#[derive(Clone, Debug)]
pub struct NewSlot {
    /// The branch's name.
    pub branch: String,
    /// How it stands: [`SlotState::Answered`], [`SlotState::Queued`] or [`SlotState::Excluded`].
    pub state: SlotState,
    /// The idempotency key that every try carries, as every attempt of the branch did.
    pub key: String,
    /// The answer, or what is known of its absence. The store does not look into it.
    pub body: Bytes,
}

/// How a branch of a document stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotState {
    /// It answered, in the job or later.
    Answered,
    /// It waits for its next try.
    Queued,
    /// A try is running, or its worker died and the lease has not run out.
    Leased,
    /// A dead letter: every allowed try failed, or no try can succeed.
    Dead,
    /// It may not be tried again, so nothing fills it in.
    Excluded,
}

impl SlotState {
    /// All of them.
    pub const ALL: [SlotState; 5] =
        [SlotState::Answered, SlotState::Queued, SlotState::Leased, SlotState::Dead, SlotState::Excluded];

    /// One word in lower case; what the store's file holds.
    pub const fn as_str(self) -> &'static str {
        match self {
            SlotState::Answered => "answered",
            SlotState::Queued => "queued",
            SlotState::Leased => "leased",
            SlotState::Dead => "dead",
            SlotState::Excluded => "excluded",
        }
    }
}

/// A document as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The job's id.
    pub id: String,
    /// The plan's name.
    pub plan: String,
    /// As it was given.
    pub result: Bytes,
    /// When it was stored.
    pub created_at: Time,
    /// When it is forgotten.
    pub expires_at: Time,
    /// Every branch, in the plan's order.
    pub slots: Vec<Slot>,
}

/// A branch of a [`Document`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The branch's name.
    pub branch: String,
    /// How it stands.
    pub state: SlotState,
    /// The answer, or what was said of its absence.
    pub body: Bytes,
    /// Tries that started, not counting the attempts of the job.
    pub tries: u32,
    /// What the latest try failed with.
    pub error: Option<String>,
}

/// What can still happen to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DocumentState {
    /// Every branch answered.
    Complete,
    /// Something is missing and will be tried.
    Growing,
    /// Something is missing, and nothing more will be tried.
    Dead,
}

impl Document {
    /// What can still happen to it.
    pub fn state(&self) -> DocumentState {
        let any = |wanted: &[SlotState]| self.slots.iter().any(|slot| wanted.contains(&slot.state));
        if any(&[SlotState::Queued, SlotState::Leased]) {
            DocumentState::Growing
        } else if any(&[SlotState::Dead, SlotState::Excluded]) {
            DocumentState::Dead
        } else {
            DocumentState::Complete
        }
    }
}

/// The right, and the duty, to make one try for one branch until the lease runs out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The document.
    pub document: String,
    /// The plan's name.
    pub plan: String,
    /// The branch's name.
    pub branch: String,
    /// The idempotency key.
    pub key: String,
    /// Which try this is, from 1.
    pub number: u32,
    /// As it was given with the document.
    pub request: Bytes,
    /// Which branch of all that the store holds: the store's own.
    pub slot: u64,
    /// Which claim of this branch: the store's own. A claim that others have overtaken can do no harm.
    pub fence: u64,
}

/// How many of each the store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Documents.
    pub documents: u64,
    /// Branches that wait for a try.
    pub queued: u64,
    /// Branches with a try running.
    pub leased: u64,
    /// Dead letters.
    pub dead: u64,
}
