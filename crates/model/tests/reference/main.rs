//! Every reference value that the model covers, within its bound; and what it does not cover yet, counted.
//!
//! `exact.csv` holds values to 25 digits, made by `reference.py`. The bound is relative:
//! `max(1e-12, 8 ε κ)`, and 1e-10 for means and standard deviations. κ is the condition of the readout: how many times a
//! relative change of its input (the time; for a quantile the smaller of p and 1 - p) it answers with. It is measured by
//! a small step of that input.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

mod row;
mod sections;

use std::collections::BTreeMap;

use fantail_model::{Figure, Method};
use row::Row;

/// Rows that the model does not cover, by section and quantity: queues, which have no place in a plan's law.
const NOT_COVERED: &[(&str, usize)] = &[
    ("queue/forkjoin2 mean", 5),
    ("queue/forkjoin_independent_upper mean_upper", 22),
    ("queue/forkjoin_lower mean_lower", 23),
    ("queue/forkjoin_nelson_tantawi mean_approx", 25),
    ("queue/md1 mean_wait", 7),
    ("queue/mg1_pk mean_wait", 10),
    ("queue/mm1 mean", 7),
    ("queue/mm1 p99", 7),
    ("queue/mmc erlang_b", 39),
    ("queue/mmc erlang_c", 39),
    ("queue/mmc mean", 39),
    ("queue/mmc mean_wait", 39),
    ("queue/nk_forkjoin mean_lower", 27),
    ("queue/nk_forkjoin mean_upper", 23),
    ("queue/redundancy_d mean", 89),
    ("queue/redundancy_d_inf mean", 18),
    ("queue/redundancy_d_inf quantile", 71),
    ("queue/replicate2_nocancel mean", 2),
    ("queue/replication_threshold threshold", 1),
];

#[test]
fn every_covered_reference_value_is_met_within_its_bound() {
    let mut covered: BTreeMap<String, (usize, f64, String)> = BTreeMap::new();
    let mut missing: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut reader = csv::Reader::from_reader(&include_bytes!("exact.csv")[..]);
    for row in reader.records() {
        let row = Row::new(&row.unwrap());
        let Some(found) = row.evaluate() else {
            *missing.entry(format!("{} {}", row.section(), row.quantity)).or_default() += 1;
            continue;
        };
        let error = row.error(found.value);
        let bound = found.bound.max(8.0 * f64::EPSILON * found.condition);
        if error > bound || error.is_nan() {
            wrong.push(format!(
                "{} {} {}: got {}, expected {} (error {error:.1e}, bound {bound:.1e})",
                row.case, row.params, row.quantity, found.value, row.value
            ));
        }
        let entry = covered.entry(format!("{} {}", row.section(), row.quantity)).or_default();
        entry.0 += 1;
        if error >= entry.1 {
            (entry.1, entry.2) = (error, format!("{} {}", row.case, row.params));
        }
    }
    for (section, (count, worst, at)) in &covered {
        println!("{section:40} {count:4} rows, worst {worst:.1e} at {at}");
    }
    println!("covered: {}", covered.values().map(|entry| entry.0).sum::<usize>());
    for (section, count) in &missing {
        println!("not covered: (\"{section}\", {count}),");
    }
    println!("not covered: {}", missing.values().sum::<usize>());
    assert!(wrong.is_empty(), "{} of the rows are off:\n{}", wrong.len(), wrong.join("\n"));
    let missing: Vec<(&str, usize)> =
        missing.iter().map(|(section, count)| (section.as_str(), *count)).collect();
    assert_eq!(missing, NOT_COVERED, "the list of what is not covered is out of date");
}

struct Found {
    value: f64,
    condition: f64,
    bound: f64,
}

impl Found {
    fn exactly(value: f64) -> Found {
        Found { value, condition: 1.0, bound: 1e-12 }
    }

    /// Means and standard deviations, by integration.
    fn integral(value: f64) -> Found {
        Found { value, condition: 1.0, bound: 1e-10 }
    }

    /// Bounds, of which the reference value may be anywhere between; never wider than 0.1 %.
    fn within(figure: Figure) -> Found {
        let Method::Bounded { lower, upper } = figure.method else { return Found::exactly(figure.value) };
        assert!(upper - lower <= 1e-3 * upper, "{figure:?}");
        Found { value: figure.value, condition: 1.0, bound: 0.5 * (upper - lower) / lower }
    }

    /// A readout at a time or at a level's small side.
    fn at(input: f64, readout: impl Fn(f64) -> f64) -> Found {
        const STEP: f64 = 1e-6;
        let value = readout(input);
        let condition = ((readout(input * (1.0 + STEP)) / value).ln() / STEP).abs();
        Found { value, condition, bound: 1e-12 }
    }
}
