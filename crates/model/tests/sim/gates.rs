//! Gates against another simulator.
//!
//! `gates.csv` holds means over eight seeds, with 95 % half-widths, of an independent simulation of five calls for a
//! document, all of which it waits for. `per_job`: each document has so many slots for itself. `shared`: documents
//! arrive at random, one a second, and share the slots. A time-out counts from the slot; `late_share` is the share of
//! documents that take longer than the time-out, `mean_slot_wait` the mean wait of a call for its slot.

use std::collections::BTreeMap;

use fantail_core::{LimiterSpec, PlanSpec, Time};
use fantail_model::sim::{Arrivals, Happened, Step, Summary};
use fantail_model::{Law, Level};

use crate::simulation;

/// Ranges, each begun with free slots.
const RANGES: u64 = 8;
const JOBS: u64 = 2_500;

#[test]
fn gates_do_what_they_do_in_another_simulator() {
    let mut cases: BTreeMap<String, Vec<csv::StringRecord>> = BTreeMap::new();
    for row in csv::Reader::from_reader(&include_bytes!("gates.csv")[..]).records() {
        let row = row.unwrap();
        cases.entry(row.iter().take(4).collect::<Vec<_>>().join(" ")).or_default().push(row);
    }
    let mut wrong = Vec::new();
    for (case, rows) in &cases {
        let summaries = run(&rows[0]);
        for row in rows {
            let number = |column: usize| row[column].parse::<f64>().unwrap();
            let values: Vec<f64> =
                summaries.iter().map(|summary| read(summary, &row[4], number(3))).collect();
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let error = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt();
            // Both are means over eight seeds or ranges.
            let bound = 3.0 * number(6).hypot(2.365 * error) + 1e-9;
            if (mean - number(5)).abs() > bound {
                wrong.push(format!("{case} {}: {mean} ± {error}, there {} ± {}", &row[4], &row[5], &row[6]));
            }
        }
    }
    assert_eq!(cases.len(), 14);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// At 100 ms the first job's call gives the only slot back, its follower asks for it, and the second job arrives and does:
/// whoever asks at one instant does so in the order of the jobs, and slots are given last.
#[test]
fn a_job_that_arrives_asks_after_those_that_are_there() {
    let mut branches = crate::branches(3);
    branches[1].after = vec![0];
    (branches[1].limiter, branches[2].limiter) = (Some(0), Some(0));
    let slot = LimiterSpec { gate: Some(1), ..LimiterSpec::new("slot") };
    let spec = PlanSpec { limiters: vec![slot], ..PlanSpec::new("tied", branches) };
    let laws = [0.1, 0.05, 0.1].map(|constant| Law::empirical(&[constant], &[]).unwrap());
    let traces = simulation(spec, &laws, Arrivals::Every(Time::from_millis(100)), 1).trace(0..2).unwrap();
    let started = |job: usize, branch: u32| {
        let starts = |step: &&Step| step.attempt.branch == branch && step.what == Happened::Started;
        traces[job].steps.iter().find(starts).map(|step| step.at)
    };
    assert_eq!(started(0, 1), Some(Time::from_millis(100)));
    assert_eq!(started(1, 2), Some(Time::from_millis(50)));
}

fn run(row: &csv::StringRecord) -> Vec<Summary> {
    let timeout: f64 = row[3].parse().unwrap();
    let mut branches = crate::branches(5);
    for branch in &mut branches {
        branch.required = Some(false);
        branch.limiter = Some(0);
        branch.attempt_timeout = timeout.is_finite().then(|| Time::from_secs_f64(timeout).unwrap());
    }
    let slots = LimiterSpec { gate: Some(row[2].parse().unwrap()), ..LimiterSpec::new("slots") };
    let spec = PlanSpec { at_least: Some(0), limiters: vec![slots], ..PlanSpec::new("document", branches) };
    let arrivals = match &row[0] {
        "per_job" => Arrivals::OneAtATime,
        "shared" => Arrivals::Poisson(1.0),
        other => panic!("{other}"),
    };
    let simulation = simulation(spec, &vec![law(&row[1]); 5], arrivals, 11);
    (0..RANGES).map(|range| simulation.run(range * JOBS..(range + 1) * JOBS).unwrap()).collect()
}

pub(crate) fn law(name: &str) -> Law {
    match name {
        "mixture_before" => {
            let body = Law::log_normal(0.7953, 0.0896).unwrap();
            Law::mixture(&[(0.95, body), (0.05, Law::pareto(1.6364, 2.6552).unwrap())]).unwrap()
        }
        "shifted_lognormal_after" => {
            let call = Law::log_normal((-1.910_872_960_808_f64).exp(), 1.061_456_600_308).unwrap();
            call.shifted(0.652_048_825_371).unwrap()
        }
        other => panic!("{other}"),
    }
}

fn read(summary: &Summary, quantity: &str, timeout: f64) -> f64 {
    match quantity {
        "mean" => summary.mean().value,
        "mean_slot_wait" => summary.wait().value,
        "late_share" => {
            // Right at the time-out is in time.
            let by = Time::from_secs_f64(timeout).unwrap();
            1.0 - summary.returned_by(by).value()
        }
        _ => {
            let p: f64 = quantity.strip_prefix('p').unwrap().parse().unwrap();
            summary.quantile(Level::below(p / 100.0).unwrap()).as_secs_f64()
        }
    }
}
