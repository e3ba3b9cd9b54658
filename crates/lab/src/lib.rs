//! The page where the tail of a fan-out can be touched, and its WebAssembly face.
//!
//! What the page is set to is said in the words of the command ([`State`]), so that what it shows can be copied as a
//! command, and both print the same bits: exact figures come from [`fantail_report`], runs from the machine that runs
//! plans. Nothing here draws; what is drawn is in `web`.
//!
//! All of it is plain Rust. The glue to JavaScript, which takes and gives text and arrays of numbers, is compiled for
//! WebAssembly only.

mod check;
mod data;
mod exact;
#[cfg(target_arch = "wasm32")]
pub mod face;
mod lab;
mod lanes;
mod picture;
mod runner;
#[cfg(not(target_arch = "wasm32"))]
mod served;
mod state;

pub use check::{Check, Found, LawRead, PlanRead};
pub use data::{ColumnFound, FileFound, LawFound};
pub use exact::{BranchShares, Exact, Shares};
pub use lab::Lab;
pub use lanes::{AttemptLane, BranchLane, Lanes, SpanLane};
pub use picture::Picture;
pub use runner::Runner;
#[cfg(not(target_arch = "wasm32"))]
pub use served::{PAGE, policy};
pub use state::{State, Verb};
