//! Runs: the machine that runs plans, over virtual time.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_lab::{Lab, Lanes, Runner, State, Verb};
use fantail_report::Source;

fn runner(n: u32, strategies: &[&str]) -> Runner {
    let strategies = strategies.iter().map(ToString::to_string).collect();
    Lab::default().runner(&State { n: Some(n), strategies, ..State::default() }, 0).unwrap()
}

fn lanes(n: u32, strategy: &str, job: u64) -> Lanes {
    runner(n, &[strategy]).lanes(0, job).unwrap().unwrap()
}

#[test]
fn a_job_has_the_same_times_whatever_the_plan_and_the_number_of_branches() {
    let times = runner(16, &["all"]).luck(0, 7);
    for (n, strategy) in [(16, "first:5"), (16, "hedge:p95"), (8, "race:2"), (3, "all+deadline:1s")] {
        assert_eq!(runner(n, &[strategy]).luck(0, 7), times[..n as usize]);
    }
    let all = lanes(16, "all", 7);
    let ends: Vec<f64> = all.branches.iter().map(|branch| branch.attempts[0].end_s.unwrap()).collect();
    assert_eq!(ends, times);
    assert_eq!(all.elapsed_s, times.iter().copied().reduce(f64::max));
}

#[test]
fn any_slices_add_up_to_the_same_figures() {
    let mut whole = runner(8, &["all", "hedge:p95"]);
    whole.run(1_000).unwrap();
    let mut slices = runner(8, &["all", "hedge:p95"]);
    for jobs in [1, 7, 0, 492, 500] {
        slices.run(jobs).unwrap();
    }
    assert_eq!(slices.jobs(), 1_000);
    assert_eq!(slices.report().unwrap().json(), whole.report().unwrap().json());
    let waiting = [0.5, 0.1, 0.01, 0.001];
    assert_eq!(slices.times(1, &waiting), whole.times(1, &waiting));
}

#[test]
fn runs_lie_where_the_exact_law_says() {
    let state = State { strategies: vec!["first:5".to_owned()], ..State::default() };
    let exact = Lab::default().exact(&state).unwrap();
    let mut runner = Lab::default().runner(&state, 0).unwrap();
    runner.run(4_000).unwrap();
    let waiting: Vec<f64> = (1..=39).map(|i| f64::from(i) / 40.0).collect();
    let (times, band) = (runner.times(0, &waiting), exact.band(0, 4_000, &waiting));
    let outside =
        times.iter().zip(band.chunks(2)).filter(|(time, ends)| **time < ends[0] || **time > ends[1]);
    // One in twenty on average; neighbours go together.
    assert!(outside.count() <= 8);
    let returned = runner.returned(0, &exact.times(0, &waiting));
    for (share, waiting) in returned.iter().zip(&waiting) {
        assert!((share + waiting - 1.0).abs() < 0.035, "{share} beside {waiting}");
    }
}

#[test]
fn lanes_say_who_won_and_what_became_of_the_others() {
    let first = lanes(8, "first:5", 3);
    let count =
        |outcome: &str| first.branches.iter().filter(|branch| branch.outcome == Some(outcome)).count();
    assert_eq!((first.verdict, count("answered"), count("unneeded")), (Some("complete"), 5, 3));
    let unneeded = first.branches.iter().find(|branch| branch.outcome == Some("unneeded")).unwrap();
    assert_eq!((unneeded.attempts[0].end, unneeded.attempts[0].end_s), (Some("dropped"), first.elapsed_s));

    let cut = lanes(16, "all+deadline:1s", 3);
    assert_eq!((cut.verdict, cut.deadline_s), (Some("failed"), Some(1.0)));
    assert!(cut.branches.iter().any(|branch| branch.outcome == Some("missed")));

    // A race has two attempts a branch from the start, and one of them wins.
    let race = lanes(4, "race:2", 3);
    for branch in &race.branches {
        let mut ends: Vec<_> = branch.attempts.iter().map(|attempt| attempt.end.unwrap()).collect();
        ends.sort_unstable();
        assert_eq!((branch.due_s.as_slice(), ends), (&[0.0][..], vec!["dropped", "won"]));
    }
}

#[test]
fn a_plan_file_is_played_with_its_scenario() {
    let text = include_str!("../../../examples/ingestion.toml").to_owned();
    let file = Source { name: "ingestion.toml".to_owned(), bytes: text.into() };
    let state = State { file: Some(file), ..State::default() };
    let mut runner = Lab::default().runner(&state, 0).unwrap();
    assert_eq!(runner.names().collect::<Vec<_>>(), ["sequential", "concurrent", "bounded"]);
    // Calls of one account matter to each other: a block of them counts when all are over.
    let mut pieces = 0;
    while runner.jobs() == 0 {
        runner.run(5_000).unwrap();
        pieces += 1;
    }
    assert_eq!(runner.jobs(), 10_000);
    assert!(pieces > 20, "in {pieces} pieces");
    let median = |plan| runner.times(plan, &[0.5])[0];
    assert!(median(0) > 4.0 && median(1) < 1.0 && median(2) < 1.1);
    let sequential = runner.lanes(0, 12).unwrap().unwrap();
    let starts = sequential.branches.iter().map(|branch| branch.attempts[0].spans.last().unwrap().from_s);
    assert!(starts.is_sorted() && sequential.branches.len() == 5);
}

/// The golden trace: the page's WebAssembly is tested against the same file. Any change of draws, order or rules shows here.
#[test]
fn known_lanes_are_repeated_to_the_letter() {
    let file = Source { name: "golden.toml".to_owned(), bytes: include_str!("golden.toml").into() };
    let state = State { file: Some(file), seed: 11, ..State::default() };
    let runner = Lab::default().runner(&state, 0).unwrap();
    let mut text = String::new();
    for (plan, job) in (0..2).flat_map(|plan| (0..12).map(move |job| (plan, job))) {
        let lanes = runner.lanes(plan, job).unwrap().unwrap();
        text.push_str(&serde_json::to_string(&lanes).unwrap());
        text.push('\n');
    }
    assert!(text == include_str!("golden.jsonl"), "{text}");
}

#[test]
fn a_state_is_a_command() {
    let state = State { rho: Some("job=0.2".to_owned()), ..State::default() };
    let words = "-n 8 --latency lognormal:median=1s,sigma=0.6 --strategy all --rho job=0.2";
    assert_eq!(state.command(Verb::Predict), format!("fantail predict {words}"));
    assert_eq!(
        state.command(Verb::Simulate(1_000)),
        format!("fantail simulate {words} --jobs 1000 --seed 1")
    );
    let mixture = State { latency: "0.5*a|0.5*b".to_owned(), ..State::default() };
    assert!(mixture.command(Verb::Predict).contains("--latency '0.5*a|0.5*b'"));
}
