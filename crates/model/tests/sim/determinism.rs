//! What a result does not depend on.

use std::fmt::Write;
use std::sync::Arc;
use std::thread;

use fantail_core::job::AttemptId;
use fantail_core::{Hedge, LimiterSpec, Plan, PlanSpec, Time, WaitFor};
use fantail_model::sim::{
    Allows, Arrivals, Client, Credit, Limit, RetryAfter, Scenario, Server, Simulation, Summary,
};
use fantail_model::{Law, Level};

use crate::{branches, simulate, simulation};

const JOBS: u64 = 5_000;

/// Everything happens in it: copies, a race, misses, required and optional branches, failed jobs, time-outs.
fn busy_plan() -> (PlanSpec, Vec<Law>) {
    let mut branches = branches(5);
    branches[0].hedge = Some(Hedge::after(Time::from_millis(300)));
    branches[1].hedge = Some(Hedge { min_useful: Time::from_millis(700), ..Hedge::race(2) });
    branches[2].hedge =
        Some(Hedge { delays: vec![Time::from_millis(100), Time::from_millis(900)], ..Hedge::race(2) });
    branches[2].attempt_timeout = Some(Time::from_millis(400));
    branches[3].deadline = Some(Time::from_millis(500));
    branches[4].required = Some(true);
    let laws = (1..=5).map(|i| Law::log_normal(0.1 * f64::from(i), 0.8).unwrap());
    let spec = PlanSpec {
        wait_for: WaitFor::First(4),
        at_least: Some(3),
        deadline: Some(Time::from_secs(1)),
        ..PlanSpec::new("busy", branches)
    };
    (spec, laws.collect())
}

fn run(arrivals: Arrivals, seed: u64) -> Summary {
    let (spec, laws) = busy_plan();
    simulation(spec, &laws, arrivals, seed).run(0..JOBS).unwrap()
}

/// All that a summary says, permits aside, to the last bit.
fn readout(summary: &Summary) -> String {
    let verdicts = summary.verdicts();
    let counts =
        [verdicts.complete, verdicts.partial, verdicts.failed, verdicts.never].map(|share| share.count);
    let mut text = format!("{counts:?}\n{:?}\n", summary.ledger());
    for branch in 0..5 {
        writeln!(text, "{:?}", summary.outcomes(branch)).unwrap();
    }
    for level in (0..=500).map(|i| Level::below(f64::from(i) / 500.0).unwrap()) {
        writeln!(text, "{:?}", summary.quantile(level)).unwrap();
    }
    let means = [summary.mean(), summary.busy(), summary.extra_requests()].map(|estimate| estimate.value);
    writeln!(text, "{:?} {:?}", means, summary.sends_copy().count).unwrap();
    text
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_one_does_not() {
    assert_eq!(run(Arrivals::OneAtATime, 7), run(Arrivals::OneAtATime, 7));
    assert_ne!(run(Arrivals::OneAtATime, 7), run(Arrivals::OneAtATime, 8));
}

#[test]
fn parts_of_a_range_merge_to_the_whole_in_any_order_and_on_any_thread() {
    let (spec, laws) = busy_plan();
    let simulation = simulation(spec, &laws, Arrivals::Poisson(3.0), 7);
    let whole = simulation.run(0..JOBS).unwrap();
    let cuts = [0, 1, 2, 1_000, 1_000, 4_321, JOBS];
    let mut parts: Vec<Summary> = thread::scope(|scope| {
        let part = |cut: &[u64]| {
            let (from, to) = (cut[0], cut[1]);
            let simulation = &simulation;
            scope.spawn(move || simulation.run(from..to).unwrap())
        };
        let threads: Vec<_> = cuts.windows(2).map(part).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    parts.reverse();
    let merged = parts.into_iter().reduce(|mut all, part| {
        all.merge(&part);
        all
    });
    assert_eq!(merged, Some(whole));
}

/// Without a limiter each job is played alone; with one that is never full all are played together, overlapping by the
/// thousand.
#[test]
fn jobs_played_together_give_the_same_as_each_alone() {
    let alone = readout(&run(Arrivals::OneAtATime, 7));
    let (mut spec, laws) = busy_plan();
    spec.limiters = vec![LimiterSpec { gate: Some(u32::MAX), ..LimiterSpec::new("wide") }];
    spec.branches.iter_mut().for_each(|branch| branch.limiter = Some(0));
    let every = Arrivals::Every(Time::from_micros(10));
    for arrivals in [Arrivals::OneAtATime, Arrivals::Poisson(5_000.0), every] {
        let simulation = simulation(spec.clone(), &laws, arrivals.clone(), 7);
        assert!(simulation.jobs_interact());
        let together = simulation.run(0..JOBS).unwrap();
        assert_eq!(readout(&together), alone, "{arrivals:?}");
        let launched = together.ledger().primaries.launched + together.ledger().copies.launched;
        assert_eq!((together.waits().permits, together.waits().delayed), (launched, 0));
    }
}

#[test]
fn branches_and_copies_that_never_matter_shift_no_draw() {
    let law = Law::log_normal(0.2, 1.0).unwrap();
    let lone = simulate(PlanSpec::new("lone", branches(1)), std::slice::from_ref(&law), JOBS);
    let slow = Law::exponential(1e9).unwrap();
    let mut spec = PlanSpec { wait_for: WaitFor::First(1), ..PlanSpec::new("among others", branches(4)) };
    spec.branches[0].hedge = Some(Hedge::after(Time::from_secs(100_000)));
    let among = simulate(spec, &[law, slow.clone(), slow.clone(), slow], JOBS);
    for i in 0..=1_000 {
        let level = Level::below(f64::from(i) / 1_000.0).unwrap();
        assert_eq!(lone.quantile(level), among.quantile(level));
    }
}

/// The same primaries, so whatever answered in time still does.
#[test]
fn copies_only_add_answers_under_the_same_seed() {
    let (spec, laws) = busy_plan();
    let simulation = simulation(spec, &laws, Arrivals::OneAtATime, 7);
    let plain = simulation.without_copies();
    assert_eq!(plain.run(0..JOBS).unwrap().ledger().copies.launched, 0);
    let mut helped = 0;
    for job in 0..JOBS {
        let complete =
            |simulation: &Simulation| simulation.run(job..job + 1).unwrap().verdicts().complete.count;
        let (with, without) = (complete(&simulation), complete(&plain));
        assert!(with >= without, "job {job}");
        helped += with - without;
    }
    assert!(helped > JOBS / 50, "{helped} jobs are complete for their copies");
}

/// Bits of a run that was looked at once. Any change of draws, laws or order shows here: let it be on purpose.
#[test]
fn a_known_run_is_repeated_to_the_nanosecond() {
    let summary = run(Arrivals::OneAtATime, 7);
    let times = [0.0, 0.1, 0.5, 0.75].map(|p| summary.quantile(Level::below(p).unwrap()).as_nanos());
    let copies = summary.ledger().copies;
    assert_eq!(times, [98_817_631, 251_317_792, 525_951_885, 872_493_940]);
    assert_eq!([copies.launched, copies.won, copies.lost, copies.censored], [10_728, 4_397, 5_143, 1_188]);
}

/// A client that is turned away and a plan with a copy in a queue, step by step, as they were looked at once: the golden
/// trace. Any change of draws, order or rules shows here.
#[test]
fn a_known_trace_is_repeated_step_by_step() {
    let limit = Limit {
        allows: Allows::Window { calls: 3, per: Time::from_millis(500) },
        answers_after: Time::from_millis(20),
        retry_after: RetryAfter::Exact,
    };
    let account = Server { limit: Some(limit), branches: vec!["b0".into()], ..Server::new("account") };
    let pool = Server { replicas: 2, slots: Some(1), ..Server::new("pool") };
    let scenario = Scenario {
        arrivals: Arrivals::Every(Time::from_millis(100)),
        credit: Credit::Unlimited,
        servers: vec![account, pool],
        ..Scenario::default()
    };
    let mut spec = PlanSpec::new("golden", branches(2));
    spec.branches[1].hedge = Some(Hedge::after(Time::from_millis(80)));
    let plan = Arc::new(Plan::new(spec).unwrap());
    let laws = vec![Law::log_normal(0.05, 0.5).unwrap(), Law::exponential(0.08).unwrap()];
    let simulation = Simulation::new(plan, laws, scenario, 11).unwrap();
    let client = Client { sequential: true, retries: 2, backoff: Time::from_millis(30) };
    let mut text = String::new();
    for player in [&simulation, &simulation.with_client(client).unwrap()] {
        for trace in player.trace(0..10).unwrap() {
            writeln!(text, "job {} {:?} after {}", trace.job, trace.verdict, trace.elapsed).unwrap();
            for step in &trace.steps {
                let AttemptId { branch, number } = step.attempt;
                writeln!(text, "  {} b{branch}.{number} {:?}", step.at, step.what).unwrap();
            }
        }
    }
    assert_eq!(text, include_str!("golden.txt"), "{text}");
}

/// Of jobs that wait for each other in all ways, and of some that don't.
#[test]
fn pieces_and_single_jobs_are_those_of_the_whole() {
    let (spec, laws) = busy_plan();
    let mut gated = spec.clone();
    gated.limiters = vec![LimiterSpec { gate: Some(3), ..LimiterSpec::new("narrow") }];
    gated.branches.iter_mut().for_each(|branch| branch.limiter = Some(0));
    let clients = Arrivals::Clients { clients: 4, think: Time::from_millis(200) };
    for (spec, arrivals) in
        [(spec, Arrivals::OneAtATime), (gated.clone(), Arrivals::Poisson(1.0)), (gated, clients)]
    {
        let simulation = simulation(spec, &laws, arrivals, 7);
        let mut playing = simulation.begin(0..400);
        let mut pieces = 1;
        while !playing.play(37).unwrap() {
            pieces += 1;
        }
        assert!(pieces > 400 / 37);
        assert_eq!(playing.finish(), simulation.run(0..400).unwrap());
        let traces = simulation.trace(0..Simulation::BLOCK).unwrap();
        for job in [0, 7, 399] {
            let one = simulation.trace_of(job).unwrap();
            assert_eq!(one.as_ref(), traces.iter().find(|trace| trace.job == job));
        }
    }
}

/// Of jobs whose draws say all, of others that are alone, and of some that wait for each other.
#[test]
fn times_and_steps_of_single_jobs_are_those_of_the_run() {
    let (spec, laws) = busy_plan();
    let mut gated = spec.clone();
    gated.limiters = vec![LimiterSpec { gate: Some(3), ..LimiterSpec::new("narrow") }];
    gated.branches.iter_mut().for_each(|branch| branch.limiter = Some(0));
    let plain = PlanSpec::new("plain", branches(laws.len()));
    for (spec, arrivals) in
        [(plain, Arrivals::OneAtATime), (spec, Arrivals::OneAtATime), (gated, Arrivals::Poisson(1.0))]
    {
        let simulation = simulation(spec, &laws, arrivals, 7);
        let traces = simulation.trace(0..60).unwrap();
        for count in [0, 1, 50, 60, 1_000] {
            let first = traces.iter().filter(|trace| trace.job < count);
            let expected: Vec<_> = first.map(|trace| (trace.job, trace.elapsed)).collect();
            assert_eq!(simulation.return_times(0..60, count).unwrap(), expected);
        }
        let some = simulation.trace_some(&[59, 7, 7, 60], 0..60).unwrap();
        let expected = traces.iter().filter(|trace| [7, 59].contains(&trace.job));
        assert_eq!(some, expected.cloned().collect::<Vec<_>>());
        let mut times: Vec<Time> = traces.iter().map(|trace| trace.elapsed).collect();
        times.sort_unstable();
        assert_eq!(simulation.run(0..60).unwrap().quantile(Level::MEDIAN), times[29]);
    }
}

#[test]
fn a_summary_written_down_is_the_same_when_read() {
    let (spec, laws) = busy_plan();
    for arrivals in [Arrivals::OneAtATime, Arrivals::Poisson(3.0)] {
        let mut spec = spec.clone();
        if arrivals != Arrivals::OneAtATime {
            spec.limiters = vec![LimiterSpec { gate: Some(3), ..LimiterSpec::new("narrow") }];
            spec.branches.iter_mut().for_each(|branch| branch.limiter = Some(0));
        }
        let simulation = simulation(spec, &laws, arrivals, 7);
        let summary = simulation.run(0..JOBS).unwrap();
        let words = summary.to_words();
        assert_eq!(Summary::from_words(&simulation, &words).as_ref(), Some(&summary));
        assert_eq!(Summary::from_words(&simulation, &words[1..]), None);
        assert_eq!(Summary::from_words(&simulation, &words[..words.len() - 1]), None);
        let longer = [&words[..], &[0]].concat();
        assert_eq!(Summary::from_words(&simulation, &longer), None);
        // A length that nothing can be as long as.
        let mut endless = words.clone();
        endless[1] = u64::MAX;
        assert_eq!(Summary::from_words(&simulation, &endless), None);
        // The same times, of which one job more never returned than branches know of.
        let never = (1..4).fold(1, |at, _| at + 1 + words[at] as usize);
        let mut more = words.clone();
        more[never] = more[never].wrapping_sub(1);
        assert_eq!(Summary::from_words(&simulation, &more), None);
    }
}
