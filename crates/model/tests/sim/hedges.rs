//! Copies in queues, against another simulator and against the loads beyond which copies are known to harm.
//!
//! `hedges.csv` holds means over four seeds, with 95 % half-widths, of an independent simulation: calls arrive at random
//! at ten servers, each with a queue of its own, first come, first served, and go to one of them at random. Service takes
//! a second on average. A second copy goes to another server, at once (`race`) or at the service time's p95. The first to
//! finish ends the others, or all run to their end (`never_cancelled`); in `identical` both need the same service time.

use std::collections::BTreeMap;

use fantail_core::{Hedge, PlanSpec, Time};
use fantail_model::sim::{Arrivals, Credit, Scenario, Server, Simulation, Summary};
use fantail_model::{Cancellation, Dependence, Law, Level};

use crate::{assert_holds, branches, confidence, played};

const SERVERS: u32 = 10;

fn law(name: &str) -> Law {
    match name {
        "exponential" => Law::exponential(1.0).unwrap(),
        "lognormal" => Law::log_normal((-0.5_f64).exp(), 1.0).unwrap(),
        "constant" => Law::log_normal(1.0, 1e-9).unwrap(),
        other => panic!("{other}"),
    }
}

struct Case {
    law: Law,
    delay: Option<f64>,
    load: f64,
    servers: u32,
    cancellation: Cancellation,
    dependence: Dependence,
}

impl Case {
    fn simulation(&self) -> Simulation {
        let mut spec = PlanSpec::new("queue", branches(1));
        spec.branches[0].hedge = self.delay.map(|delay| Hedge::after(Time::from_secs_f64(delay).unwrap()));
        let server = Server {
            replicas: self.servers,
            slots: Some(1),
            cancellation: self.cancellation,
            ..Server::new("queues")
        };
        let scenario = Scenario {
            arrivals: Arrivals::Poisson(self.load * f64::from(self.servers)),
            credit: Credit::Unlimited,
            dependence: self.dependence,
            servers: vec![server],
            warm_up: Some(2_000),
            ..Scenario::default()
        };
        let plan = fantail_core::Plan::new(spec).unwrap();
        Simulation::new(plan.into(), vec![self.law.clone()], scenario, 23).unwrap()
    }
}

#[test]
fn copies_in_queues_do_what_they_do_in_another_simulator() {
    let mut cases: BTreeMap<String, Vec<csv::StringRecord>> = BTreeMap::new();
    for row in csv::Reader::from_reader(&include_bytes!("hedges.csv")[..]).records() {
        let row = row.unwrap();
        cases.entry(row.iter().take(4).collect::<Vec<_>>().join(" ")).or_default().push(row);
    }
    let mut wrong = Vec::new();
    for (case, rows) in &cases {
        let summary = played(&run(&rows[0]), 5);
        for row in rows {
            let (mean, half_width) = (row[5].parse::<f64>().unwrap(), row[6].parse::<f64>().unwrap());
            let interval = read(&summary, &row[4]);
            // The interval here holds the truth but once in 500 times; there a half-width is of 95 % over four seeds.
            let (low, high) = (interval.0 - 2.5 * half_width, interval.1 + 2.5 * half_width);
            if mean < low || mean > high {
                wrong.push(format!("{case} {}: {interval:?}, there {mean} ± {half_width}", &row[4]));
            }
        }
    }
    assert_eq!(cases.len(), 39);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn run(row: &csv::StringRecord) -> Simulation {
    let law = law(&row[1]);
    let p95 = law.quantile(Level::above(0.05).unwrap());
    let (cancellation, dependence) = match &row[0] {
        "cancelled" => (Cancellation::AtOnce, Dependence::NONE),
        "never_cancelled" => (Cancellation::Never, Dependence::NONE),
        "identical" => (Cancellation::AtOnce, Dependence::new(0.0, 1.0).unwrap()),
        other => panic!("{other}"),
    };
    let delay = match &row[2] {
        "none" => None,
        "p95" => Some(p95),
        "race" => Some(0.0),
        other => panic!("{other}"),
    };
    let load = row[3].parse().unwrap();
    Case { law, delay, load, servers: SERVERS, cancellation, dependence }.simulation()
}

fn read(summary: &Summary, quantity: &str) -> (f64, f64) {
    let level = Level::above(2e-3).unwrap();
    let interval = match quantity {
        "mean" => summary.mean().interval(level),
        "hedged_share" => summary.extra_requests().interval(level),
        "utilisation" => summary.utilisation(0, SERVERS.into()).unwrap().interval(level),
        _ => {
            let p: f64 = quantity.strip_prefix('p').unwrap().parse().unwrap();
            summary.quantile_interval(Level::below(p / 100.0).unwrap(), level)
        }
    };
    (interval.low, interval.high)
}

/// With many servers and no cancellation two copies at once help below the load 1/3 of exponential service and 0.2719 of
/// constant service, and harm above (Shah, Lee and Ramchandran, IEEE Trans. Commun. 64, 2016, for the first).
#[test]
fn two_copies_that_run_to_their_end_help_below_a_third_and_harm_above() {
    let mean = |name: &str, load: f64, delay: Option<f64>| {
        let case = Case {
            law: law(name),
            delay,
            load,
            servers: 60,
            cancellation: Cancellation::Never,
            dependence: if name == "constant" {
                Dependence::new(0.0, 1.0).unwrap()
            } else {
                Dependence::NONE
            },
        };
        played(&case.simulation(), 6).mean()
    };
    for (name, threshold) in [("exponential", 1.0 / 3.0), ("constant", 0.2719)] {
        for (load, helps) in [(threshold - 0.03, true), (threshold + 0.03, false)] {
            let (one, two) = (mean(name, load, None), mean(name, load, Some(0.0)));
            let gain = one.value - two.value;
            let error = one.error.hypot(two.error);
            assert!(
                (gain > 0.0) == helps && gain.abs() > 3.0 * error,
                "{name} at {load}: {one:?} with one, {two:?} with two"
            );
        }
    }
}

/// k servers at rate 1, jobs at rate kλ, each sent to d of them, the first finish cancels the others: the mean time is
/// `Σ_{i=d}^{k} 1 / (k C(k-1, d-1) / C(i-1, d-1) - kλ)` (Gardner et al., Operations Research 65, 2017).
#[test]
fn copies_at_several_servers_at_once_take_the_time_of_redundancy_d() {
    let choose = |n: u32, k: u32| (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product::<f64>();
    for (k, d, load) in [(4, 2, 0.6), (6, 3, 0.5), (3, 1, 0.5), (3, 3, 0.7)] {
        let mut case = Case {
            law: law("exponential"),
            delay: None,
            load,
            servers: k,
            cancellation: Cancellation::AtOnce,
            dependence: Dependence::NONE,
        };
        case.delay = (d > 1).then_some(0.0);
        let summary = if d == 3 {
            let simulation = case.simulation();
            let mut spec = PlanSpec::new("race", branches(1));
            spec.branches[0].hedge = Some(Hedge::race(3));
            let plan = fantail_core::Plan::new(spec).unwrap();
            let scenario = simulation.scenario().clone();
            played(&Simulation::new(plan.into(), vec![law("exponential")], scenario, 23).unwrap(), 12)
        } else {
            played(&case.simulation(), 12)
        };
        let (k_f, arrivals) = (f64::from(k), f64::from(k) * load);
        let expected: f64 =
            (d..=k).map(|i| 1.0 / (k_f * choose(k - 1, d - 1) / choose(i - 1, d - 1) - arrivals)).sum();
        let what = format!("{d} of {k} at {load}: {:?}", summary.mean());
        assert_holds(summary.mean().interval(confidence()), expected, &what);
        assert!(summary.mean().error < 0.02 * expected, "{what} says little");
        // Copies of exponential service that are cancelled cost nothing.
        let utilisation = summary.utilisation(0, k.into()).unwrap();
        assert_holds(utilisation.interval(confidence()), load, &format!("utilisation of {what}"));
    }
}
