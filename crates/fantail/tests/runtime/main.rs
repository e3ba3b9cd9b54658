//! The runtime under tokio: what it promises to the one who joins a job, drops it, or shares a limiter with it.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

mod attempts;
mod budget;
mod cancellation;
mod coop;
mod items;
mod join;
mod letters;
mod limiter;
mod linear;
mod live;
mod losers;
mod observed;
mod permits;
mod pushback;
mod reentrancy;
mod reuse;
mod running;
mod spawned;
mod stages;
mod stamps;
mod streamed;
mod support;
mod wakes;
mod watch;
