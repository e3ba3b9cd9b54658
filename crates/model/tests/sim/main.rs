//! The simulator: what it must not depend on, and what is known by other means.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

mod clients;
mod closed_forms;
mod determinism;
mod gates;
mod hedges;
mod queues;
mod samples;
mod servers;
mod steady;

use std::sync::Arc;

use fantail_core::{BranchSpec, Plan, PlanSpec};
use fantail_model::sim::{Arrivals, Credit, Interval, Scenario, Simulation, Summary};
use fantail_model::{Law, Level};

/// Copies are paid for without limit; the budget is tested where it is named.
fn scenario(arrivals: Arrivals) -> Scenario {
    Scenario { arrivals, credit: Credit::Unlimited, ..Scenario::default() }
}

fn simulation(spec: PlanSpec, laws: &[Law], arrivals: Arrivals, seed: u64) -> Simulation {
    Simulation::new(Arc::new(Plan::new(spec).unwrap()), laws.to_vec(), scenario(arrivals), seed).unwrap()
}

/// Jobs one at a time.
fn simulate(spec: PlanSpec, laws: &[Law], jobs: u64) -> Summary {
    simulation(spec, laws, Arrivals::OneAtATime, 1).run(0..jobs).unwrap()
}

/// So many blocks, each warmed up.
fn played(simulation: &Simulation, blocks: u64) -> Summary {
    let ranges = Simulation::blocks(0..blocks * Simulation::BLOCK);
    let mut parts = ranges.map(|range| simulation.run(range).unwrap());
    let mut whole = parts.next().unwrap();
    parts.for_each(|part| whole.merge(&part));
    whole
}

/// `n` branches that may be sent twice.
fn branches(n: usize) -> Vec<BranchSpec> {
    (0..n).map(|i| BranchSpec { repeatable: true, ..BranchSpec::new(format!("b{i}")) }).collect()
}

/// An interval misses the truth once in a million times. Seeds are fixed: it would do so at once or never.
fn confidence() -> Level {
    Level::above(1e-6).unwrap()
}

#[track_caller]
fn assert_holds(interval: Interval, value: f64, what: &str) {
    assert!(interval.contains(value), "{what}: {value} is not in {interval:?}");
}
