//! `fantail predict` as a user meets it: which branches are required, pictures, and what `--explain` says.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

mod branches;
mod explain;
mod messages;
mod plots;
mod support;
mod tables;
