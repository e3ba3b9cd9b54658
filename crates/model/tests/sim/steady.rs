//! What a system comes to in the end: what goes by the clock is met in all its phases, beginnings are forgotten, and what has
//! no end is told.

use fantail_core::{BranchSpec, Hedge, LimiterSpec, Plan, PlanSpec, Rate, Time};
use fantail_model::sim::{
    Allows, Arrivals, Bound, Choice, Client, Failures, Limit, RetryAfter, Scenario, Server, Simulation, Slow,
};
use fantail_model::{Cancellation, Law};

use crate::{assert_holds, branches, confidence, played};

fn system(spec: PlanSpec, law: Law, arrivals: Arrivals, server: Server, warm_up: Option<u64>) -> Simulation {
    let laws = vec![law; spec.branches.len()];
    let scenario = Scenario { arrivals, servers: vec![server], warm_up, ..Scenario::default() };
    Simulation::new(Plan::new(spec).unwrap().into(), laws, scenario, 11).unwrap()
}

fn one() -> PlanSpec {
    PlanSpec::new("one", branches(1))
}

fn exponential(mean: f64) -> Law {
    Law::exponential(mean).unwrap()
}

fn queue(slots: u32) -> Server {
    Server { slots: Some(slots), ..Server::new("s") }
}

fn limited(allows: Allows) -> Server {
    let limit = Limit { allows, answers_after: Time::ZERO, retry_after: RetryAfter::Unsaid };
    Server { limit: Some(limit), ..Server::new("s") }
}

/// A block of jobs is shorter than the window, and than the slow periods are apart.
#[test]
fn what_goes_by_the_clock_is_met_in_all_its_phases() {
    let window = limited(Allows::Window { calls: 12_000, per: Time::from_secs(60) });
    let windows = system(one(), exponential(0.01), Arrivals::Poisson(240.0), window, None);
    let turned_away = played(&windows, 24).jobs_turned_away();
    assert_holds(turned_away.interval(confidence()), 1.0 / 6.0, "two calls of twelve are too many");

    let every = Some(Time::from_secs(3_600));
    let slow = |lasts, every, factor| {
        let slow = Slow {
            factor,
            lasts: Time::from_secs(lasts),
            every,
            from: Time::from_secs(1_800),
            replicas: None,
        };
        Server { slow: Some(slow), ..Server::new("s") }
    };
    let minute = system(one(), exponential(0.01), Arrivals::Poisson(100.0), slow(60, every, 10.0), Some(0));
    let mean = played(&minute, 72).mean();
    assert_holds(mean.interval(confidence()), 0.01 * (59.0 + 10.0) / 60.0, "a slow minute an hour");

    // Of ten seconds one is slow, in which a tenth as many jobs of one after the other fit.
    let every = Some(Time::from_secs(10));
    let alone = system(one(), exponential(0.001), Arrivals::OneAtATime, slow(1, every, 10.0), Some(0));
    let mean = played(&alone, 300).mean();
    assert_holds(mean.interval(confidence()), 10.0 / 9_100.0, "a slow second of ten, one after the other");
}

#[test]
fn as_many_jobs_are_played_before_as_the_system_remembers() {
    let check = |arrivals: Arrivals, server: Server, warm_up: u64, remembers: std::ops::Range<u64>| {
        let simulation = system(one(), exponential(1.0), arrivals, server, None);
        assert_eq!(simulation.warm_up(), warm_up, "{:?}", simulation.scenario());
        assert!(remembers.contains(&simulation.remembers()), "{}", simulation.remembers());
    };
    check(Arrivals::Poisson(0.9), queue(1), 2_000, 1_000..2_000);
    // The relaxation time of M/M/1 is 4 / (1 - ρ)² services near saturation.
    check(Arrivals::Poisson(0.99), queue(1), 157_607, 150_000..160_000);
    check(Arrivals::Poisson(0.999), queue(1), 200_000, 15_900_000..16_000_000);
    let clients = Arrivals::Clients { clients: 3_000, think: Time::from_secs(1) };
    check(clients, queue(1), 6_000, 6_000..6_001);
    // Ten a second more than it gives drain 5,000 in 500 s, give or take.
    let bucket = limited(Allows::Bucket(Rate { permits: 10, per: Time::from_secs(1), burst: 5_000 }));
    check(Arrivals::Poisson(20.0), bucket, 20_000, 20_000..20_001);
    check(Arrivals::Poisson(5_000.0), queue(10_000), 30_000, 30_000..30_001);
    check(Arrivals::OneAtATime, queue(1), 2_000, 0..1);
    let deadline = PlanSpec { deadline: Some(Time::from_secs(1_000)), ..one() };
    let cut = system(deadline, exponential(1.0), Arrivals::Poisson(1.5), queue(1), None);
    assert_eq!(cut.warm_up(), 6_000);
    let uneven = Law::log_normal((-2.0_f64).exp(), 2.0).unwrap();
    let uneven = system(one(), uneven, Arrivals::Poisson(0.9), queue(1), None);
    assert!((34_000..38_000).contains(&uneven.warm_up()), "{}", uneven.warm_up());
    let stated = system(one(), exponential(1.0), Arrivals::Poisson(0.999), queue(1), Some(7));
    assert_eq!(stated.warm_up(), 7);
}

/// M/M/1 takes 1 / (1 - ρ) services; three thousand clients that never think keep one server busy for all of them.
#[test]
fn beginnings_are_forgotten() {
    let near = played(&system(one(), exponential(1.0), Arrivals::Poisson(0.98), queue(1), None), 40).mean();
    assert_holds(near.interval(confidence()), 50.0, "at a load of .98");
    assert!(near.error < 5.0, "{near:?} says little");
    let arrivals = Arrivals::Clients { clients: 3_000, think: Time::from_secs(1) };
    let full = played(&system(one(), exponential(1.0), arrivals, queue(1), None), 20).mean();
    assert_holds(full.interval(confidence()), 2_999.0, "3000 clients");
}

#[test]
fn calls_that_pile_up_are_told_from_those_that_wait() {
    let grows = |simulation: &Simulation, blocks| played(simulation, blocks).piles_up();
    for load in [0.5, 0.95] {
        for blocks in [1, 12] {
            let steady = system(one(), exponential(1.0), Arrivals::Poisson(load), queue(1), None);
            assert_eq!(grows(&steady, blocks), None, "at {load}");
        }
    }
    let check = |simulation: &Simulation, stay: f64| {
        let share = grows(simulation, 12).expect("there is no steady state");
        assert!((share / stay - 1.0).abs() < 0.1, "{share} for {stay}");
    };
    // Copies of a race that are worked on ask for 1.4 of the slots, which spare 0.4 of each two calls.
    let hedge = Hedge { delays: vec![Time::ZERO], min_useful: Time::ZERO, distinct: false };
    let race = BranchSpec { hedge: Some(hedge), repeatable: true, ..BranchSpec::new("a") };
    let server = Server { cancellation: Cancellation::Never, ..queue(1) };
    let race = PlanSpec::new("race", vec![race]);
    check(&system(race, exponential(0.7), Arrivals::Poisson(1.0), server, None), 0.4 / 1.4);
    // A sick replica that is asked as often as the other.
    let slow = Slow {
        factor: 10.0,
        lasts: Time::from_secs(1_000_000),
        every: None,
        from: Time::ZERO,
        replicas: Some(1),
    };
    let sick = Server { replicas: 2, slow: Some(slow), ..queue(1) };
    check(&system(one(), exponential(0.6), Arrivals::Poisson(1.0), sick, None), 0.5 * (1.0 - 1.0 / 3.0));
    // Retries of a client that are themselves tried again.
    let failures = Failures { retryable: 0.5, ..Failures::default() };
    let failing = Server { failures, ..queue(1) };
    let client = Client { sequential: false, retries: 10, backoff: Time::ZERO };
    let plain = system(one(), exponential(0.8), Arrivals::Poisson(1.0), failing, None);
    let grown = grows(&plain.with_client(client).unwrap(), 12);
    assert!(grown.is_some_and(|share| share > 0.1), "{grown:?}");
}

#[test]
fn a_load_is_sure_where_nothing_spares_any_of_it() {
    let check = |spec: PlanSpec, server: Server, offered: f64, sure: bool| {
        let simulation = system(spec, exponential(0.5), Arrivals::Poisson(1.0), server, None);
        let loads = simulation.loads();
        let [load] = &loads[..] else { panic!("{loads:?}") };
        assert!((load.offered - offered).abs() < 1e-9 && load.sure == sure, "{load:?} for {offered}, {sure}");
    };
    let hedged = |delay| {
        let hedge = Hedge { delays: vec![delay], min_useful: Time::ZERO, distinct: false };
        let branch = BranchSpec { hedge: Some(hedge), repeatable: true, ..BranchSpec::new("a") };
        PlanSpec::new("hedged", vec![branch])
    };
    let never = || Server { cancellation: Cancellation::Never, ..queue(1) };
    let deadline = || PlanSpec { deadline: Some(Time::from_secs(2)), ..one() };
    check(one(), queue(1), 0.5, true);
    check(deadline(), queue(1), 0.5, false);
    check(deadline(), never(), 0.5, true);
    check(hedged(Time::ZERO), queue(1), 0.5, false);
    check(hedged(Time::ZERO), never(), 1.0, true);
    check(hedged(Time::from_secs(1)), never(), 0.5, true);
    let failing = Failures { permanent: 0.2, ..Failures::default() };
    check(one(), Server { failures: failing, ..queue(1) }, 0.5, false);
    // What is asked of a replica that works at half the speed in half of the time, as often as the other.
    let slow = Slow {
        factor: 2.0,
        lasts: Time::from_secs(1),
        every: Some(Time::from_secs(2)),
        from: Time::ZERO,
        replicas: Some(1),
    };
    let two = |choice| Server { replicas: 2, slow: Some(slow), choice, ..queue(1) };
    check(one(), two(Choice::Random), 0.25 / 0.75, true);
    check(one(), two(Choice::LeastLoaded), 0.25 / 0.875, true);
    // The first to read what all share spares the others that.
    let prefill = Server { prefill: Time::from_secs(1), slots: Some(8), ..Server::new("s") };
    check(PlanSpec::new("three", branches(3)), prefill, (3.0 * 0.5 + 1.0) / 8.0, true);
    let without_mean = Simulation::new(
        Plan::new(one()).unwrap().into(),
        vec![Law::pareto(1.0, 0.9).unwrap()],
        Scenario { arrivals: Arrivals::Poisson(1.0), servers: vec![queue(1)], ..Scenario::default() },
        1,
    );
    assert_eq!(without_mean.unwrap().loads()[0].offered, f64::INFINITY);
}

/// Half of ten thousand slots, overload that a deadline cuts, and pauses that begin and end anywhere in a run.
#[test]
fn what_only_fills_or_stands_still_for_a_while_does_not_pile_up() {
    let arrivals = || Arrivals::Poisson(5_000.0);
    let big = played(&system(one(), exponential(1.0), arrivals(), queue(10_000), None), 4);
    assert_eq!(big.piles_up(), None);
    assert_holds(big.utilisation(0, 10_000).unwrap().interval(confidence()), 0.5, "half of the slots");
    let deadline = PlanSpec { deadline: Some(Time::from_secs(30)), ..one() };
    let cut = played(&system(deadline, exponential(1.0), Arrivals::Poisson(1_000.0), queue(500), None), 2);
    assert_eq!(cut.piles_up(), None);
    assert!(cut.quantile(fantail_model::Level::MEDIAN).as_secs_f64() > 29.0);
    let slow = Slow {
        factor: f64::INFINITY,
        lasts: Time::from_secs(60),
        every: Some(Time::from_secs(200)),
        from: Time::from_secs(40),
        replicas: None,
    };
    let pauses = Server { slow: Some(slow), ..queue(200) };
    let pauses = system(one(), exponential(0.01), Arrivals::Poisson(100.0), pauses, None);
    assert_eq!([0..5_000, 0..10_000].map(|jobs| pauses.run(jobs).unwrap().piles_up()), [None; 2]);
    assert_eq!(pauses.round(), Some(20_000));
}

/// Nine at once, and one ten seconds later, are the same before the jobs that count and after.
#[test]
fn a_trace_goes_on_where_jobs_begin_to_count() {
    let times: Vec<Time> = [0, 0, 0, 0, 0, 0, 0, 0, 0, 10].map(Time::from_secs).into();
    let one_of = |warm_up| {
        let law = Law::empirical(&[0.9], &[]).unwrap();
        let arrivals = Arrivals::Trace(times.clone().into());
        system(one(), law, arrivals, queue(1), Some(warm_up)).run(0..10_000).unwrap()
    };
    let alone = one_of(0);
    for warm_up in [1, 7, 10, 2_000] {
        assert_eq!((one_of(warm_up).worst(), one_of(warm_up).peak()), (alone.worst(), alone.peak()));
    }
}

/// A strict rate gives back what is left beside its burst.
#[test]
fn a_strict_rate_is_asked_for_more_than_its_permits_say() {
    let rate = Rate { permits: 10, per: Time::from_secs(10), burst: 5 };
    let limiter = LimiterSpec { rate: Some(rate), strict: true, ..LimiterSpec::new("l") };
    let branch = BranchSpec { limiter: Some(0), ..BranchSpec::new("a") };
    let spec = PlanSpec { limiters: vec![limiter], ..PlanSpec::new("strict", vec![branch]) };
    let simulation = system(spec, exponential(0.1), Arrivals::Poisson(0.7), Server::new("s"), None);
    let loads = simulation.loads();
    assert!(
        loads.iter().any(|load| load.bound == Bound::Rate && (load.offered - 1.4).abs() < 1e-9),
        "{loads:?}"
    );
    assert!(played(&simulation, 12).piles_up().is_some_and(|share| (share / 0.2857 - 1.0).abs() < 0.1));
}
