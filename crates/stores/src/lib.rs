//! Durable backfill queues: what a partial result lacks is kept until it is filled in.
//!
//! [`BackfillStore`] is one SQLite file. It knows no clock and no randomness: callers pass the time, as [`Time`] since
//! the Unix epoch, and draw the jitter of a [`Backoff`].
//!
//! [`Time`]: fantail_core::Time

mod backoff;
mod document;
mod error;
mod lock;
mod schema;
mod store;
mod worker;

pub use backoff::Backoff;
pub use document::{Claim, Counts, Document, DocumentState, NewDocument, NewSlot, Slot, SlotState};
pub use error::StoreError;
pub use store::BackfillStore;
