//! Clients that know no plan, against another simulator.
//!
//! Expected are means, with 95 % half-widths over six or eight seeds, of an independent simulation of five calls for a
//! document: one after the other; or, in `retries.csv`, all at once with tries inside the barrier, where documents arrive
//! at random, one a second, and an account, a token bucket, turns calls away after 0.2 s. `rej_attempt` and `rej_branch`
//! are the shares of attempts and of calls that were, `docs_hit` that of documents.

use std::collections::BTreeMap;

use fantail_core::{Plan, PlanSpec, Rate, Time};
use fantail_model::sim::{
    Allows, Arrivals, Client, Failures, Interval, Limit, RetryAfter, Scenario, Server, Simulation, Summary,
};
use fantail_model::{Law, Level};

use crate::gates::law;
use crate::{assert_holds, branches, confidence, played};

fn simulation(law: Law, scenario: Scenario, client: Client) -> Simulation {
    let plan = Plan::new(PlanSpec::new("document", branches(5))).unwrap();
    Simulation::new(plan.into(), vec![law; 5], scenario, 3).unwrap().with_client(client).unwrap()
}

#[test]
fn calls_one_after_the_other_take_their_sum() {
    let client = Client { sequential: true, retries: 0, backoff: Time::ZERO };
    for (name, expected) in [
        ("mixture_before", [4.04974, 6.42759, 9.14378, 4.44887]),
        ("shifted_lognormal_after", [4.35552, 6.06152, 7.60383, 4.55966]),
    ] {
        let summary = simulation(law(name), Scenario::default(), client).run(0..60_000).unwrap();
        for (p, value) in [50.0, 95.0, 99.0].into_iter().zip(expected) {
            let interval = summary.quantile_interval(Level::below(p / 100.0).unwrap(), confidence());
            assert_holds(interval, value, &format!("p{p} of {name}"));
        }
        assert_holds(summary.mean().interval(confidence()), expected[3], name);
    }
}

/// In a gather a call that is tried again holds up all others.
#[test]
fn tries_inside_the_barrier_take_as_long_as_in_another_simulator() {
    let mut cases: BTreeMap<String, Vec<csv::StringRecord>> = BTreeMap::new();
    for row in csv::Reader::from_reader(&include_bytes!("retries.csv")[..]).records() {
        let row = row.unwrap();
        cases.entry(row.iter().take(4).collect::<Vec<_>>().join(" ")).or_default().push(row);
    }
    assert_eq!(cases.len(), 3);
    for (case, rows) in &cases {
        let summary = played(&gather(&rows[0]), 16);
        for row in rows {
            let (mean, half_width) = (row[5].parse::<f64>().unwrap(), row[6].parse::<f64>().unwrap());
            let Interval { low, high } = read(&summary, &row[4]);
            let within = (low - 2.5 * half_width..=high + 2.5 * half_width).contains(&mean);
            assert!(within, "{case} {}: {low} to {high}, there {mean} ± {half_width}", &row[4]);
            assert!(high - low < mean, "{case} {}: {low} to {high} says little", &row[4]);
        }
    }
}

fn gather(row: &csv::StringRecord) -> Simulation {
    let number = |column: usize| row[column].parse::<u32>().unwrap();
    let rate = Rate { permits: number(0), per: Time::from_secs(number(1).into()), burst: number(2) };
    let retry_after = if row[3].is_empty() {
        RetryAfter::Unsaid
    } else {
        RetryAfter::Fixed(Time::from_secs(number(3).into()))
    };
    let limit = Limit { allows: Allows::Bucket(rate), answers_after: Time::from_millis(200), retry_after };
    let server = Server { limit: Some(limit), ..Server::new("account") };
    let arrivals = Arrivals::Poisson(1.0);
    let scenario = Scenario { arrivals, servers: vec![server], warm_up: Some(1_000), ..Scenario::default() };
    let client = Client { sequential: false, retries: 10, backoff: Time::from_secs(1) };
    simulation(law("mixture_before"), scenario, client)
}

fn read(summary: &Summary, quantity: &str) -> Interval {
    let level = Level::above(2e-3).unwrap();
    match quantity {
        "rej_attempt" => summary.attempts_turned_away().interval(level),
        "rej_branch" => summary.branches_turned_away().interval(level),
        "docs_hit" => summary.jobs_turned_away().interval(level),
        _ => {
            let p: f64 = quantity.strip_prefix('p').unwrap().parse().unwrap();
            summary.quantile_interval(Level::below(p / 100.0).unwrap(), level)
        }
    }
}

/// Of five calls each fails three times running with a chance of `0.3^3`; it then pauses for 1 s and 2 s before.
#[test]
fn a_client_gives_up_after_its_tries() {
    let failures = Failures { retryable: 0.3, ..Failures::default() };
    let server = Server { failures, ..Server::new("flaky") };
    let scenario = Scenario { servers: vec![server], ..Scenario::default() };
    let client = Client { sequential: false, retries: 2, backoff: Time::from_secs(1) };
    let law = Law::log_normal(0.1, 1e-9).unwrap();
    let summary = simulation(law, scenario, client).run(0..40_000).unwrap();
    let failed = 1.0 - (1.0 - 0.3_f64.powi(3)).powi(5);
    assert_holds(summary.verdicts().failed.interval(confidence()), failed, "failed");
    let times: Vec<f64> = [0.1, 1.2, 3.3].to_vec();
    assert!((summary.worst().as_secs_f64() - times[2]).abs() < 1e-6);
    let at_once = summary.returned_by(Time::from_millis(101));
    assert_holds(at_once.interval(confidence()), 0.7_f64.powi(5), "at once");
    // A job that fails has failed at its third try, when all that was due before has been tried.
    assert_eq!(summary.sends_copy().count, 0);
    assert!(summary.extra_requests().value > 0.3);
}
