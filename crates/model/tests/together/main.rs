//! Different branches that are slow together, and what cancelling their losers costs: against brute force, draws and closed
//! forms.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

mod brute;
mod drawn;
mod limits;
mod losers;
mod plans;

use fantail_model::{Dependence, Level};

fn shares(job: f64, branch: f64) -> Dependence {
    Dependence::new(job, branch).unwrap()
}

fn above(s: f64) -> Level {
    Level::above(s).unwrap()
}

#[track_caller]
fn close(a: f64, b: f64, within: f64) {
    assert!((a / b - 1.0).abs() <= within || a == b, "{a} {b}: off by {:.1e}", (a / b - 1.0).abs());
}
