//! The latency algebra of fantail.
#![no_std]

extern crate alloc;

mod branch;
mod error;
mod law;
mod level;
mod moments;
mod numeric;
pub mod special;

pub use error::LawError;
pub use law::Law;
pub use level::Level;
