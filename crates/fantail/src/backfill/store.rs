//! What keeps documents.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use fantail_core::Time;

use super::{Claim, Counts, Document, NewDocument, SlotState, StoreError};

/// What a store's methods return.
pub type Stored<'s, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 's>>;

/// A queue of documents that lack something.
///
/// Every method is one transaction; whoever hears that it is done may rely on it, as far as the store lasts. Dropping a
/// future need not undo what it was to do. `now` is the time since the Unix epoch, as the caller knows it: a store knows no
/// clock and no randomness. One test suite holds all stores to this.
pub trait Store: Send + Sync + 'static {
    /// Stores a document; the queued branches may be tried from `now` on.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`], [`StoreError::Exists`], or the store fails.
    fn enqueue(&self, now: Time, document: NewDocument) -> Stored<'_, ()>;

    /// Takes up to `limit` branches whose time has come, the longest due first, each until `now + lease`.
    ///
    /// Branches whose lease ran out are taken too, unless that was their last allowed try: they become dead letters.
    ///
    /// # Errors
    /// The store fails.
    fn claim(&self, now: Time, lease: Time, limit: usize) -> Stored<'_, Vec<Claim>>;

    /// Fills in the answer of a try. Late is better than never: it counts even when the lease ran out, unless another
    /// try answered first. An answer that makes the document too large makes the branch a dead letter.
    ///
    /// Returns how the branch stands now; `None` when the document is gone.
    ///
    /// # Errors
    /// The store fails.
    fn answer(&self, claim: &Claim, body: Bytes) -> Stored<'_, Option<SlotState>>;

    /// Says that a try failed, and when the next one may start; `None`: no other try can succeed.
    ///
    /// The branch is a dead letter when this was the last allowed try, or the document expires before the next one:
    /// nobody waits for a try that will not come. Returns how the branch stands now; `None` when the lease ran out and
    /// somebody else took the branch, or the document is gone.
    ///
    /// # Errors
    /// The store fails.
    fn fail(&self, claim: &Claim, retry_at: Option<Time>, error: String) -> Stored<'_, Option<SlotState>>;

    /// Hands a claim back untried: the branch is queued again from `at` on, and the try does not count. For workers that
    /// stop, or get no permit.
    ///
    /// # Errors
    /// The store fails.
    fn release(&self, claim: &Claim, at: Time) -> Stored<'_, ()>;

    /// When [`Store::claim`] may next find something; `None` when nothing is queued or leased.
    ///
    /// # Errors
    /// The store fails.
    fn next_due(&self, now: Time) -> Stored<'_, Option<Time>>;

    /// The document `id`; `None` when there is none, or it has expired.
    ///
    /// # Errors
    /// The store fails.
    fn document(&self, now: Time, id: &str) -> Stored<'_, Option<Document>>;

    /// Forgets up to `limit` documents that have expired. Returns how many.
    ///
    /// # Errors
    /// The store fails.
    fn expire(&self, now: Time, limit: usize) -> Stored<'_, usize>;

    /// How much it holds.
    ///
    /// # Errors
    /// The store fails.
    fn counts(&self) -> Stored<'_, Counts>;
}
