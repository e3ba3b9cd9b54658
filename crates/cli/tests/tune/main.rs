//! `fantail tune` as a user meets it.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

mod answers;
mod bounds;
mod support;
