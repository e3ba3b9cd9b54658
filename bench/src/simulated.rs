//! Jobs and customers to simulate, and what people write by hand to simulate them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use fantail_core::{BranchSpec, BudgetSpec, Hedge, Plan, PlanSpec, Time};
use fantail_model::Law;
use fantail_model::sim::{Arrivals, Credit, Scenario, Server, Simulation};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Exp, LogNormal};

use crate::plans;

/// How many customers a queue is loaded with, of each server.
const LOAD: f64 = 0.8;
/// The p95 of the call of [`plans::call`].
const P95: Time = Time::from_nanos(2_682_858_178);

/// All of n calls, without copies.
///
/// # Panics
/// For an n that makes no plan.
pub fn plain(n: usize) -> Simulation {
    simulation(PlanSpec::new("plain", branches(n)), Scenario::default())
}

/// All of n calls, each with a copy after its p95, whatever that costs: jobs that don't interact.
///
/// # Panics
/// For an n that makes no plan.
pub fn hedged(n: usize) -> Simulation {
    let scenario = Scenario { credit: Credit::Unlimited, ..Scenario::default() };
    simulation(PlanSpec::new("hedged", hedges(n)), scenario)
}

/// The same under a budget that pays for all of it, which the machine asks.
///
/// # Panics
/// For an n that makes no plan.
pub fn budgeted(n: usize) -> Simulation {
    let hedge_budget = BudgetSpec { share: 1_000_000, burst: 1_000, in_flight: None };
    simulation(PlanSpec { hedge_budget, ..PlanSpec::new("budgeted", hedges(n)) }, Scenario::default())
}

/// M/M/c at a load of 0.8, in service times of 1 s.
///
/// # Panics
/// For a c that makes no server.
pub fn queue(c: u32) -> Simulation {
    let scenario = Scenario {
        arrivals: Arrivals::Poisson(LOAD * f64::from(c)),
        servers: vec![Server { slots: Some(c), ..Server::new("pool") }],
        ..Scenario::default()
    };
    let plan = Plan::new(PlanSpec::new("queue", branches(1))).expect("a plan");
    Simulation::new(plan.into(), vec![Law::exponential(1.0).expect("a mean")], scenario, 7).expect("in range")
}

fn branches(n: usize) -> Vec<BranchSpec> {
    (0..n).map(|i| BranchSpec { repeatable: true, ..BranchSpec::new(format!("b{i}")) }).collect()
}

fn hedges(n: usize) -> Vec<BranchSpec> {
    let hedge = Some(Hedge::after(P95));
    branches(n).into_iter().map(|branch| BranchSpec { hedge: hedge.clone(), ..branch }).collect()
}

fn simulation(spec: PlanSpec, scenario: Scenario) -> Simulation {
    let plan = Plan::new(spec).expect("a plan");
    let laws = vec![plans::call(); plan.branches().len()];
    Simulation::new(plan.into(), laws, scenario, 7).expect("in range")
}

/// Return times of jobs of five log-normal calls, each with a copy after its p95: their sum.
///
/// # Panics
/// Never: its numbers are in range.
pub fn naive_jobs(jobs: u64, seed: u64) -> f64 {
    let law = LogNormal::new(0.0, 0.6).expect("a sigma above 0");
    let mut random = SmallRng::seed_from_u64(seed);
    let delay = P95.as_secs_f64();
    let mut call = || {
        let first: f64 = law.sample(&mut random);
        if first > delay { first.min(delay + law.sample(&mut random)) } else { first }
    };
    (0..jobs).map(|_| (0..5).map(|_| call()).fold(0.0, f64::max)).sum()
}

/// Times in system of customers of M/M/c at a load of 0.8, by a heap of arrivals and ends of service: their sum.
///
/// # Panics
/// Never: its numbers are in range.
pub fn naive_queue(customers: u64, c: u32, seed: u64) -> f64 {
    let mut random = SmallRng::seed_from_u64(seed);
    let (between, service) = (Exp::new(LOAD * f64::from(c)).expect("a rate"), Exp::new(1.0).expect("a rate"));
    let nanos = |law: &Exp<f64>, random: &mut SmallRng| (law.sample(random) * 1e9) as u64;
    let (mut due, mut waiting, mut free, mut sum) = (BinaryHeap::new(), VecDeque::new(), c, 0.0);
    let mut to_come = customers;
    due.push(Reverse((nanos(&between, &mut random), None)));
    while let Some(Reverse((now, ends))) = due.pop() {
        if let Some(arrived) = ends {
            sum += (now - arrived) as f64 / 1e9;
            free += 1;
        } else {
            waiting.push_back(now);
            to_come -= 1;
            if to_come > 0 {
                due.push(Reverse((now + nanos(&between, &mut random), None)));
            }
        }
        if free > 0
            && let Some(arrived) = waiting.pop_front()
        {
            free -= 1;
            due.push(Reverse((now + nanos(&service, &mut random), Some(arrived))));
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Within three standard errors and more.
    #[test]
    fn by_hand_and_simulated_the_means_are_the_same() {
        let close =
            |found: f64, stated: f64| assert!((found / stated - 1.0).abs() < 0.03, "{found} {stated}");
        let jobs = 50_000;
        let hedged = hedged(5).run(0..jobs).expect("time enough").mean().value;
        close(naive_jobs(jobs, 1) / jobs as f64, hedged);
        close(budgeted(5).run(0..jobs).expect("time enough").mean().value, hedged);
        // Erlang's C of ten servers at 0.8 is 0.4092.
        let mean = 1.0 + 0.409_180 / (10.0 * (1.0 - LOAD));
        close(queue(10).run(0..400_000).expect("time enough").mean().value, mean);
        close(naive_queue(400_000, 10, 1) / 400_000.0, mean);
    }
}
