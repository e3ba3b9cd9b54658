//! What the page shows, against reference values: `reference/exact.csv` of the model, computed with 60 digits.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_lab::{Exact, Lab, State};
use fantail_report::predict::Report;

fn state(n: u32, strategy: &str) -> State {
    State { n: Some(n), strategies: vec![strategy.to_owned()], ..State::default() }
}

fn predict(state: &State) -> Report {
    Lab::default().predict(state).unwrap()
}

fn exact(state: &State) -> Exact {
    Lab::default().exact(state).unwrap()
}

fn close(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() <= relative, "{found} for {expected}");
}

#[test]
fn the_figures_of_the_second_text_are_read_off() {
    let check = |n, strategy: &str, waiting: f64, expected: f64| {
        close(exact(&state(n, strategy)).times(0, &[waiting])[0], expected, 1e-6);
    };
    check(1, "all", 0.5, 1.0);
    check(16, "all", 0.5, 2.812_618);
    check(8, "all", 0.01, 6.130_076);
    check(8, "first:5", 0.01, 2.018_087);
    check(8, "hedge:p95", 0.01, 4.396_228);
    let slowest = |n| predict(&state(n, "all")).strategies[0].slowest_percent;
    close(slowest(8), 0.077_255_3, 1e-5);
    close(slowest(16), 0.148_542_2, 1e-5);
    close(slowest(100), 0.633_967_7, 1e-6);
    let copies = Lab::default().check(&state(8, "hedge:p95")).plans[0].clone().unwrap();
    close(copies.copies_after_s[0], 2.682_937, 1e-6);
}

#[test]
fn hedging_at_p95_costs_one_request_in_twenty() {
    let report = predict(&state(8, "hedge:p95"));
    let figures = report.strategies[0].outlook.as_ref().unwrap();
    close(figures.prices.as_ref().unwrap().extra_requests.value, 0.05, 1e-6);
    close(figures.sends_copy.as_ref().unwrap().value, 1.0 - 0.95_f64.powi(8), 1e-6);
}

#[test]
fn nineteen_of_twenty_simulated_times_lie_in_the_band() {
    // The 990th of 1,000 is late when fewer than that many have returned: a sum of the binomial law, term by term.
    let at_least = |p: f64| {
        let mut term = p.powi(1_000);
        let mut sum = 0.0;
        for x in (990..=1_000).rev() {
            sum += term;
            term *= f64::from(x) / f64::from(1_001 - x) * (1.0 - p) / p;
        }
        sum
    };
    for strategy in ["all", "first:5", "hedge:p95"] {
        let exact = exact(&state(8, strategy));
        let returned = exact.returned(0, &exact.band(0, 1_000, &[0.01]));
        close(at_least(returned[0]), 0.025, 1e-9);
        close(at_least(returned[1]), 0.975, 1e-9);
    }
}

#[test]
fn what_becomes_of_branches_adds_up() {
    let deadline = State { required: Some("3".to_owned()), ..state(5, "all+deadline:2s") };
    for state in [state(8, "first:5"), state(8, "race:2"), deadline] {
        let groups = exact(&state).branches(0);
        assert_eq!(groups.iter().map(|group| group.count).sum::<u64>(), u64::from(state.n.unwrap()));
        for group in groups {
            let shares = group.shares.unwrap();
            let sum = shares.answered
                + shares.failed
                + shares.missed
                + shares.unneeded
                + shares.cancelled
                + shares.never;
            close(sum, 1.0, 1e-9);
        }
    }
}

#[test]
fn what_is_wrong_is_told_field_by_field() {
    let wrong = State {
        n: Some(0),
        latency: "lognorml:median=1s,sigma=0.6".to_owned(),
        strategies: vec!["fist:5".to_owned(), "all".to_owned()],
        rho: Some("job=2".to_owned()),
        ..State::default()
    };
    let check = Lab::default().check(&wrong);
    let fields: Vec<&str> = check.problems.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(fields, ["latency", "n", "rho", "strategies.0"]);
    let latency = &check.problems[0];
    assert_eq!(latency.column, Some(1));
    assert!(latency.message.contains("did you mean `lognormal`"), "{}", latency.message);
    assert!(check.law.is_none() && check.plans == [None, None]);
    assert!(Lab::default().check(&State::default()).problems.is_empty());
}

#[test]
fn latencies_of_the_user_become_a_law() {
    let mut lab = Lab::default();
    let rows: Vec<String> = (1..=1_000).map(|i| format!("{i},{}", i * 3)).collect();
    let found = lab.read(format!("id,latency_ms\n{}", rows.join("\n")).as_bytes()).unwrap();
    assert_eq!((found.format, found.likeliest, found.columns[1].unit.as_deref()), ("table", 1, Some("ms")));
    let kept = lab.keep(1, "ms").unwrap();
    assert_eq!((kept.count, kept.different, kept.refused, kept.most_s), (1_000, 1_000, 0, 3.0));
    // The same latencies get the same name, also on another page; others get another.
    let mut again = Lab::default();
    again.read(format!("id,took\n{}", rows.join("\n")).as_bytes()).unwrap();
    assert_eq!(again.keep(1, "ms").unwrap().latency, kept.latency);
    assert_ne!(again.keep(1, "s").unwrap().latency, kept.latency);
    again.read(b"ts;latency (ms)\n1;120,5\n").unwrap();
    assert!(again.keep(1, "ms").is_err_and(|error| error.to_string().contains("decimals with a point")));
    assert_eq!(kept.percentiles.as_deref(), Some("p50=1.5s,p90=2.7s,p95=2.85s,p99=2.97s"));
    let measured = State { latency: kept.latency, ..state(4, "all") };
    close(lab.exact(&measured).unwrap().times(0, &[0.5])[0], 3.0 * 0.5_f64.powf(0.25), 2e-3);
    // The runner draws from the same law.
    let mut runner = lab.runner(&measured, 0).unwrap();
    runner.run(2_000).unwrap();
    assert!(runner.times(0, &[0.5])[0] <= 3.0);
    let missing = State { latency: "samples:other".to_owned(), ..measured };
    assert!(lab.exact(&missing).is_err_and(|error| error.to_string().contains("`other`")));
}
