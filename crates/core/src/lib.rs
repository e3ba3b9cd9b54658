//! The pure job machine of fantail.
//!
//! Time and events go in, actions come out. Nothing here knows a clock, a socket, a thread or a probability, so the
//! same code runs under tokio, in a simulator and in a browser.

#![no_std]

extern crate alloc;

mod budget;
pub mod job;
mod ledger;
mod limiter;
pub mod plan;
mod sketch;
mod time;

pub use budget::Budget;
pub use job::Job;
pub use ledger::{Attempts, Kept, Ledger};
pub use limiter::{Limiter, Ticket};
pub use plan::{
    Branch, BranchSpec, BudgetSpec, Field, Hedge, Leader, LimiterSpec, Plan, PlanError, PlanErrors, PlanSpec,
    Rate, WaitFor,
};
pub use sketch::{
    End, Estimate, Incidence, LiveDelay, LiveDelaySpec, Primary, Quantile, Sketch, SketchError, Snapshot,
};
pub use time::{Time, TimeError};
