//! The runtime under tokio: what it promises to the one who joins a job, drops it, or shares a limiter with it.

mod budget;
mod coop;
mod join;
mod permits;
mod pushback;
mod support;
