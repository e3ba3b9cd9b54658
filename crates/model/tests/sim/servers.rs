//! Servers: queues with known times, and what else happens to calls there.

use fantail_core::job::Refusal;
use fantail_core::{BranchSpec, Hedge, Leader, LimiterSpec, Plan, PlanSpec, Rate, Time};
use fantail_model::sim::{
    Allows, Arrivals, Choice, Credit, Failures, Limit, RetryAfter, Scenario, Server, SimError, Simulation,
    Slow,
};
use fantail_model::{Cancellation, Dependence, GroupedPlan, Law, Level};

use crate::{assert_holds, branches, confidence, played};

fn exponential() -> Law {
    Law::exponential(1.0).unwrap()
}

fn constant() -> Law {
    Law::log_normal(1.0, 1e-9).unwrap()
}

fn queue(replicas: u32, slots: u32) -> Server {
    Server { replicas, slots: Some(slots), ..Server::new("queue") }
}

fn warmed(arrivals: Arrivals, server: Server) -> Scenario {
    let servers = vec![server];
    Scenario { arrivals, servers, warm_up: Some(2_000), credit: Credit::Unlimited, ..Scenario::default() }
}

fn simulation(spec: PlanSpec, law: Law, scenario: Scenario) -> Simulation {
    let laws = vec![law; spec.branches.len()];
    Simulation::new(Plan::new(spec).unwrap().into(), laws, scenario, 5).unwrap()
}

fn one() -> PlanSpec {
    PlanSpec::new("one", branches(1))
}

/// Mean times of unit service with c servers at load ρ: 1 and Erlang's C / (c (1 - ρ)) for exponential service; 1 and
/// ρ / (2 (1 - ρ)) for constant service and one server. Of one server the time is exponential.
#[test]
fn calls_take_as_long_as_in_the_queues_with_known_times() {
    let check = |law: Law, slots: u32, load: f64, expected: f64| {
        let arrivals = Arrivals::Poisson(load * f64::from(slots));
        let summary = played(&simulation(one(), law, warmed(arrivals, queue(1, slots))), 20);
        let what = format!("{slots} slots at {load}: {:?}", summary.mean());
        assert_holds(summary.mean().interval(confidence()), expected, &what);
        assert!(summary.mean().error < 0.02 * expected, "{what} says little");
        let utilisation = summary.utilisation(0, slots.into()).unwrap();
        assert_holds(utilisation.interval(confidence()), load, &format!("utilisation of {what}"));
        summary
    };
    for load in [0.3, 0.7] {
        let summary = check(exponential(), 1, load, 1.0 / (1.0 - load));
        for p in [0.5, 0.95, 0.999] {
            let level = Level::below(p).unwrap();
            let interval = summary.quantile_interval(level, confidence());
            assert_holds(interval, level.hazard() / (1.0 - load), &format!("p = {p} at {load}"));
        }
        check(constant(), 1, load, 1.0 + load / (2.0 * (1.0 - load)));
    }
    for (slots, load) in [(2, 0.6), (10, 0.8)] {
        let wait = crate::queues::erlang_c(slots, load) / (f64::from(slots) * (1.0 - load));
        check(exponential(), slots, load, 1.0 + wait);
    }
}

/// Two queues that every job needs both of: the mean is `(12 - ρ) / 8` times that of one (Flatto and Hahn, SIAM J. Appl.
/// Math. 44, 1984; Nelson and Tantawi, IEEE Trans. Comput. 37, 1988).
#[test]
fn a_job_that_waits_for_two_queues_takes_the_time_of_fork_join() {
    for load in [0.3, 0.7] {
        let [mut a, mut b] = ["b0", "b1"].map(|name| Server { branches: vec![name.into()], ..queue(1, 1) });
        (a.name, b.name) = ("a".into(), "b".into());
        let mut scenario = warmed(Arrivals::Poisson(load), a);
        scenario.servers.push(b);
        let summary = played(&simulation(PlanSpec::new("both", branches(2)), exponential(), scenario), 20);
        let expected = (12.0 - load) / 8.0 / (1.0 - load);
        let what = format!("at {load}: {:?}", summary.mean());
        assert_holds(summary.mean().interval(confidence()), expected, &what);
        assert!(summary.mean().error < 0.02 * expected, "{what} says little");
    }
}

/// Choosing the shorter of all queues beats taking turns, which beats chance. Of many servers at random, each is M/M/1.
#[test]
fn the_choice_of_a_replica_matters_as_it_should() {
    let mean = |choice| {
        let server = Server { choice, ..queue(10, 1) };
        played(&simulation(one(), exponential(), warmed(Arrivals::Poisson(8.0), server)), 10).mean()
    };
    let [random, turns, least] = [Choice::Random, Choice::RoundRobin, Choice::LeastLoaded].map(mean);
    assert_holds(random.interval(confidence()), 5.0, "at random");
    assert!(turns.value < 0.8 * random.value, "{turns:?} by turns");
    assert!(least.value < 0.6 * turns.value && least.value > 1.0, "{least:?} to the least loaded");
}

/// The machine repairman: N clients that think for Z, and one server, all exponential. The share of time at which
/// somebody is served follows from the chances of each number present.
#[test]
fn clients_that_wait_for_their_answers_keep_a_server_as_busy_as_known() {
    for (clients, think) in [(1, 4.0), (5, 4.0), (5, 10.0)] {
        let arrivals = Arrivals::Clients { clients, think: Time::from_secs_f64(think).unwrap() };
        let summary = played(&simulation(one(), exponential(), warmed(arrivals, queue(1, 1))), 10);
        let weights: Vec<f64> =
            (0..=clients).map(|n| (0..n).map(|i| f64::from(clients - i) / think).product()).collect();
        let busy = 1.0 - 1.0 / weights.iter().sum::<f64>();
        let utilisation = summary.utilisation(0, 1).unwrap();
        assert_holds(
            utilisation.interval(confidence()),
            busy,
            &format!("{clients} clients: {utilisation:?}"),
        );
        assert!(utilisation.error < 0.02 * busy);
    }
}

/// The instants of a trace, and those of its second round.
#[test]
fn a_trace_is_played_as_it_is_and_then_again() {
    let at = [0, 10, 11, 40].map(Time::from_secs);
    let scenario =
        Scenario { arrivals: Arrivals::Trace(at.into()), servers: vec![queue(1, 1)], ..Scenario::default() };
    // Service takes 3 s: the third waits 2 s; after 40 s and the mean distance of 40/3 s it begins anew.
    let law = Law::log_normal(3.0, 1e-9).unwrap();
    let simulation = simulation(one(), law, scenario);
    let summary = simulation.run(0..8).unwrap();
    assert!((summary.mean().value - 3.5).abs() < 1e-6, "{:?}", summary.mean());
    assert!((summary.worst().as_secs_f64() - 5.0).abs() < 1e-6);
    let utilisation = summary.utilisation(0, 1).unwrap().value;
    // From the first to the last arrival, 280/3 s, seven calls are served.
    assert!((utilisation - 21.0 * 3.0 / 280.0).abs() < 1e-6, "{utilisation}");
}

#[test]
fn errors_end_attempts_as_often_as_they_should() {
    let failures = Failures { retryable: 0.1, permanent: 0.05, law: Some(Law::exponential(0.1).unwrap()) };
    let server = Server { failures, ..Server::new("flaky") };
    let mut spec = one();
    spec.branches[0].hedge = Some(Hedge::after(Time::from_secs(1_000)));
    let scenario = Scenario { servers: vec![server], credit: Credit::Unlimited, ..Scenario::default() };
    let simulation = simulation(spec, exponential(), scenario);
    assert!(!simulation.jobs_interact());
    let summary = simulation.run(0..40_000).unwrap();
    let verdicts = summary.verdicts();
    // A retryable error brings the copy forward, a permanent one does not.
    assert_holds(verdicts.failed.interval(confidence()), 0.05 + 0.1 * 0.15, "failed");
    assert_holds(summary.extra_requests().interval(confidence()), 0.1, "copies");
    let ends = |share: f64| 0.85 * 1.0 + 0.05 * 0.1 + 0.1 * (0.1 + share);
    assert_holds(summary.mean().interval(confidence()), ends(0.85 + 0.15 * 0.1), "mean");
}

/// Three calls a second at 0.0, 0.1 and 0.2 s; more than two are turned away. The pause counts from the answer.
#[test]
fn a_full_window_turns_calls_away_until_the_next_one() {
    let limit = |retry_after| Limit {
        allows: Allows::Window { calls: 2, per: Time::from_secs(1) },
        answers_after: Time::from_millis(50),
        retry_after,
    };
    let at = [0, 100, 200, 1_000, 1_100, 1_200].map(Time::from_millis);
    let run = |retry_after, limiter: bool| {
        let server = Server { limit: Some(limit(retry_after)), ..Server::new("account") };
        let mut spec = one();
        spec.limiters = vec![LimiterSpec::new("account")];
        spec.branches[0].limiter = limiter.then_some(0);
        let scenario =
            Scenario { arrivals: Arrivals::Trace(at.into()), servers: vec![server], ..Scenario::default() };
        simulation(spec, Law::log_normal(0.01, 1e-9).unwrap(), scenario).run(0..6).unwrap()
    };
    let unsaid = run(RetryAfter::Unsaid, false);
    assert_eq!((unsaid.verdicts().failed.count, unsaid.jobs_turned_away().count), (2, 2));
    assert_eq!((unsaid.servers()[0].calls, unsaid.servers()[0].turned_away), (6, 2));
    // With the limiter paused until 1.0 s the fourth is on time; paused until 1.25 s it and the two after it wait.
    for (retry_after, waited) in [(RetryAfter::Exact, 0), (RetryAfter::Fixed(Time::from_secs(1)), 3)] {
        let paused = run(retry_after, true);
        assert_eq!(paused.waits().delayed, waited, "{retry_after:?}");
        assert_eq!(paused.ledger().refused(Refusal::Pushback), 0);
    }
}

/// A bucket of the rate that jobs arrive at lets as much through as the gate of its burst would: by the exact bucket.
#[test]
fn a_full_bucket_turns_calls_away() {
    let rate = Rate { permits: 1, per: Time::from_secs(1), burst: 3 };
    let limit =
        Limit { allows: Allows::Bucket(rate), answers_after: Time::ZERO, retry_after: RetryAfter::Unsaid };
    let server = Server { limit: Some(limit), ..Server::new("account") };
    let scenario = Scenario {
        arrivals: Arrivals::Every(Time::from_millis(500)),
        servers: vec![server],
        ..Scenario::default()
    };
    let summary = simulation(one(), exponential(), scenario).run(0..100).unwrap();
    // 3 at first and one for each second from then on, of which the first five calls use all: 0, .5, 1, 1.5, 2 …
    let taken = summary.verdicts().complete.count;
    assert_eq!(taken, 3 + 49);
    assert_eq!(summary.attempts_turned_away().count, 100 - taken);
}

/// A server that stands still for 2 s of every 10 s is open for 80 % of the time, and calls of constant length wait for
/// the rest of a pause that they meet: `∫` over the cycle, by hand.
#[test]
fn pauses_hold_up_the_calls_that_meet_them() {
    let slow = Slow {
        factor: f64::INFINITY,
        lasts: Time::from_secs(2),
        every: Some(Time::from_secs(10)),
        from: Time::ZERO,
        replicas: None,
    };
    let server = Server { slow: Some(slow), ..Server::new("collects garbage") };
    let scenario = Scenario {
        arrivals: Arrivals::Every(Time::from_millis(10)),
        servers: vec![server],
        ..Scenario::default()
    };
    let summary = simulation(one(), constant(), scenario).run(0..1_000).unwrap();
    // Who comes in the pause, 2 s of 10, waits for a second on average; who comes in the second before it waits 2 s.
    let expected = 1.0 + 0.2 * 1.0 + 0.1 * 2.0;
    assert!((summary.mean().value - expected).abs() < 0.01, "{:?}", summary.mean());
}

/// Losers of a race of exponentials, which have no memory: cancelled at once they cost nothing, after a lag what they
/// do in it, never all of a second service.
#[test]
fn what_a_dropped_call_costs_depends_on_when_it_stops() {
    let busy = |cancellation| {
        let server = Server { cancellation, ..Server::new("pool") };
        let mut spec = one();
        spec.branches[0].hedge = Some(Hedge::race(2));
        let scenario = Scenario { servers: vec![server], ..Scenario::default() };
        let simulation = simulation(spec, exponential(), scenario);
        assert!(!simulation.jobs_interact());
        simulation.run(0..40_000).unwrap().busy()
    };
    let lag = 0.5;
    for (cancellation, expected) in [
        (Cancellation::AtOnce, 1.0),
        (Cancellation::After(lag), 2.0 - (-lag).exp()),
        (Cancellation::Never, 2.0),
    ] {
        let busy = busy(cancellation);
        assert_holds(busy.interval(confidence()), expected, &format!("{cancellation:?}: {busy:?}"));
    }
}

#[test]
fn jobs_that_share_their_luck_are_as_slow_as_the_solver_says() {
    let law = Law::log_normal(1.0, 0.8).unwrap();
    for (job, branch) in [(0.5, 0.0), (0.3, 0.4), (0.0, 0.6), (0.4, 0.6)] {
        let dependence = Dependence::new(job, branch).unwrap();
        let mut spec = PlanSpec::new("all", branches(4));
        for branch in &mut spec.branches {
            branch.hedge = Some(Hedge::after(Time::from_secs(2)));
        }
        let plan = Plan::new(spec.clone()).unwrap();
        let (grouped, _) = GroupedPlan::of(&plan, &vec![law.clone(); 4]).unwrap();
        let solved = grouped.solve_dependent(dependence).unwrap();
        let scenario = Scenario { dependence, credit: Credit::Unlimited, ..Scenario::default() };
        let summary = simulation(spec, law.clone(), scenario).run(0..40_000).unwrap();
        for p in [0.1, 0.5, 0.9, 0.99] {
            let level = Level::below(p).unwrap();
            let interval = summary.quantile_interval(level, confidence());
            let quantile = solved.quantile(level).unwrap().value;
            assert_holds(interval, quantile, &format!("p = {p} at shares {job} and {branch}"));
        }
    }
}

/// A size of log-normal law times a latency of log-normal law is log-normal, with the variances added.
#[test]
fn the_size_of_a_job_multiplies_its_latencies() {
    let scenario = Scenario { size: Some(Law::log_normal(2.0, 0.6).unwrap()), ..Scenario::default() };
    let summary = simulation(one(), Law::log_normal(1.0, 0.8).unwrap(), scenario).run(0..40_000).unwrap();
    let law = Law::log_normal(2.0, 1.0).unwrap();
    for p in [0.01, 0.5, 0.99] {
        let level = Level::below(p).unwrap();
        assert_holds(
            summary.quantile_interval(level, confidence()),
            law.quantile(level),
            &format!("p = {p}"),
        );
    }
}

#[test]
fn what_makes_no_server_is_refused_with_value_and_bound() {
    let check = |server: Server, message: &str| {
        let scenario = Scenario { servers: vec![server], ..Scenario::default() };
        let plan = Plan::new(PlanSpec::new("p", vec![BranchSpec::new("a")])).unwrap();
        let error: SimError = Simulation::new(plan.into(), vec![exponential()], scenario, 1).unwrap_err();
        assert_eq!(error.to_string(), message);
    };
    check(queue(0, 1), "server queue: replicas: got 0, expected 1 to 100000");
    check(queue(1, 0), "server queue: slots: got 0, expected at least 1");
    let failing = |retryable, permanent| Server {
        failures: Failures { retryable, permanent, law: None },
        ..queue(1, 1)
    };
    check(failing(f64::NAN, 0.0), "server queue: retryable failures: got NaN, expected 0 to 1");
    check(failing(0.75, 0.5), "server queue: failures: got 1.25, expected at most 1");
    let slow = |factor, every| Slow {
        factor,
        lasts: Time::from_secs(2),
        every: Some(Time::from_secs(every)),
        from: Time::ZERO,
        replicas: None,
    };
    let slowed = |slow| Server { slow: Some(slow), ..queue(1, 1) };
    check(slowed(slow(0.5, 3)), "server queue: factor of slow periods: got 0.5, expected at least 1");
    check(
        slowed(slow(2.0, 1)),
        "server queue: distance of slow periods: got 1, expected at least their length and at most 365 days",
    );
    check(
        slowed(slow(f64::INFINITY, 2)),
        "server queue: distance of slow periods: got 2, expected more than their length, or else a factor: it would always \
         stand still",
    );
}

/// Five calls of 1 s that share a prompt of 2 s: all that come before it was read by one of them read it too.
#[test]
fn a_shared_prompt_is_read_by_all_who_do_not_wait_for_it() {
    let check = |head_start: Option<u64>, returns: f64, busy: f64| {
        let leader = head_start.map(|seconds| Leader { branch: 0, head_start: Time::from_secs(seconds) });
        let spec = PlanSpec { leader, ..PlanSpec::new("prompt", crate::branches(5)) };
        let server = Server { prefill: Time::from_secs(2), ..Server::new("llm") };
        let scenario = Scenario { servers: vec![server], ..crate::scenario(Arrivals::OneAtATime) };
        let laws = vec![Law::empirical(&[1.0], &[]).unwrap(); 5];
        let simulation = Simulation::new(Plan::new(spec).unwrap().into(), laws, scenario, 1).unwrap();
        let summary = simulation.run(0..3).unwrap();
        assert_eq!((summary.mean().value, summary.busy().value), (returns, busy), "{head_start:?}");
    };
    check(None, 3.0, 5.0 * 3.0);
    check(Some(10), 3.0, 3.0 + 4.0 * 1.0);
    // Whoever does not wait long enough reads it once more.
    check(Some(1), 4.0, 5.0 * 3.0);
}
