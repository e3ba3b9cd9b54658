//! What bounds documents, and the tries that fill them in.

use std::time::Duration;

use fantail_core::Time;

use super::Backoff;

/// What bounds the documents of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How long a document is kept. Default: a day.
    pub ttl: Time,
    /// How many tries a branch gets, at least 1. Default: 8.
    pub tries: u32,
    /// How many bytes a document may have. Default: 2^20.
    pub max_bytes: u64,
    /// How long the store may take to confirm a document, beyond the job's deadline. Default: 100 ms.
    pub enqueue_timeout: Duration,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            ttl: Time::from_secs(24 * 3_600),
            tries: 8,
            max_bytes: 1 << 20,
            enqueue_timeout: Duration::from_millis(100),
        }
    }
}

/// What a [`Backfill`](super::Backfill) is bounded by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What bounds the documents of plans that are given no [bounds](super::Backfill::bound) of their own.
    pub bounds: Bounds,
    /// How long a failed try waits. Default: from a second to five minutes.
    pub backoff: Backoff,
    /// How many tries run at once, beside what limiters permit, at least 1. Default: 16.
    pub at_once: usize,
    /// How long a try may wait for a permit before it steps back, which counts as no try. Default: 30 s.
    pub permit_timeout: Duration,
    /// How long a try may run, from its permit. Default: 60 s.
    pub try_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            bounds: Bounds::default(),
            backoff: Backoff::default(),
            at_once: 16,
            permit_timeout: Duration::from_secs(30),
            try_timeout: Duration::from_secs(60),
        }
    }
}
