//! The HTTP gateway of fantail: plans as routes.
//!
//! A request on a plan's route becomes a job: its method and body go to every branch, each JSON answer becomes
//! `data[branch]`, and what optional branches lack at the deadline is filled in by a durable queue. The gateway has no
//! rule of its own: when a job ends and what its branches came to is decided by [`fantail_core::Job`].
//!
//! # What reaches a target
//!
//! The request's method, body and headers as they came, less those of one hop and those that ask for less than a whole
//! plain answer (`Range`, `If-…`, `Accept-Encoding`); and with these of its own:
//!
//! | header | value |
//! |---|---|
//! | [`Fantail-Time-Left`](TIME_LEFT) | seconds until the job cuts this attempt, like `2.391` |
//! | [`Idempotency-Key`](IDEMPOTENCY_KEY) | one for each branch of a job: all its attempts and backfill tries carry it |
//! | `traceparent` | W3C: the client's trace or a new one, with a span of its own for every attempt |
//!
//! A branch that comes `after` others is sent their answers with the body, in its place:
//! `{"request": <the body>, "answers": {"<branch>": <its answer>}}`, without those that it tolerates to miss. A request that
//! has no body, like most with GET, is sent on without one.
//!
//! # What comes back
//!
//! [`SCHEMA`] with status 200, complete or partial; problem details with 504 when a deadline is why there is no result,
//! and 502 otherwise. With `Prefer: handling=strict` a partial result is refused in the same way, and nothing is queued
//! for it.

mod admin;
mod backfill;
mod clock;
mod contain;
mod data;
pub mod demo;
mod gateway;
mod listener;
mod live;
mod pages;
mod problem;
mod random;
mod stats;
mod trace;
mod upstream;

pub use admin::PlanFile;
pub use data::{MAX_JOBS, MAX_REQUEST_BYTES, SCHEMA};
pub use gateway::{DRAIN_TIMEOUT, Gateway, ServeError, ServeOptions};
pub use pages::{Page, Pages};
pub use upstream::{IDEMPOTENCY_KEY, MAX_ANSWER_BYTES, TIME_LEFT};
