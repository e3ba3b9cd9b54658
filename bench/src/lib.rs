//! What the benchmarks measure, and the peers that they measure it against.

pub mod clock;
pub mod fanouts;
pub mod peers;
pub mod plans;
pub mod simulated;
