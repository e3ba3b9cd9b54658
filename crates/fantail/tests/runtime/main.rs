//! The runtime under tokio: what it promises to the one who joins a job, drops it, or shares a limiter with it.

mod budget;
mod cancellation;
mod coop;
mod join;
mod limiter;
mod linear;
mod losers;
mod permits;
mod pushback;
mod reentrancy;
mod support;
mod wakes;
