//! Filling in, after a result has gone out, what it lacked.
//!
//! A [`Store`] keeps documents: what a job had when it ended, and what it lacked. A [`Backfill`] puts them there before the
//! result goes out, and makes the tries that fill the gaps, with the handlers that it was given for branches. Requests and
//! answers are bytes that nobody looks into.

mod backoff;
mod document;
mod error;
mod fill;
mod memory;
mod settings;
mod store;

pub use backoff::Backoff;
pub use document::{Claim, Counts, Document, DocumentState, NewDocument, NewSlot, Slot, SlotState};
pub use error::StoreError;
pub use fill::{Backfill, Kept};
pub use memory::MemoryStore;
pub use settings::{Bounds, Settings};
pub use store::{Store, Stored};
