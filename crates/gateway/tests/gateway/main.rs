//! The gateway between a real client and targets that do as they are told.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

mod backfill;
mod contract;
mod demo;
mod drain;
mod hostile;
mod order;
mod pages;
mod requests;
mod support;
mod upstream;
