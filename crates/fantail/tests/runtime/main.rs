//! The runtime under tokio: what it promises to the one who joins a job, drops it, or shares a limiter with it.

mod attempts;
mod budget;
mod cancellation;
mod coop;
mod items;
mod join;
mod limiter;
mod linear;
mod losers;
mod permits;
mod pushback;
mod reentrancy;
mod running;
mod spawned;
mod streamed;
mod support;
mod wakes;
