//! Backfill: what a store promises, and what becomes of the gaps of partial results.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

mod contract;
mod fill;
mod stops;

use fantail::backfill::MemoryStore;

contract::hold!(new_store);

fn new_store() -> (MemoryStore, ()) {
    (MemoryStore::default(), ())
}
