//! What `[scenario]` states, and what is wrong with it.

use fantail_core::{Rate, Time};
use fantail_model::sim::{Allows, Arrivals, Choice, Client, Failures, Limit, RetryAfter, Server, Slow};
use fantail_model::{Cancellation, Law};
use fantail_planfile::{Config, Problems};

fn load(scenario: &str) -> Result<Config, Problems> {
    let plans = "[plan.a.branch]\ntype = {}\nparties = {}\n[plan.b.branch]\nshard = {}\n";
    Config::parse("plan.toml", format!("{plans}{scenario}"))
}

const STATED: &str = r#"
        [scenario]
        arrivals = { clients = 20, think = "2s" }
        shares = { job = "10%", branch = "30%" }
        warm_up = 500
        [scenario.server.llm]
        branches = ["type", "parties"]
        replicas = 3
        slots = 8
        choice = "least loaded"
        errors = "1%"
        permanent_errors = "0.5%"
        rate = "80/s"
        burst = 9
        rejects_after = "200ms"
        retry_after = "13s"
        slow = { factor = 5, lasts = "1s", every = "1min", from = "10s", replicas = 1 }
        prefill = "800ms"
        cancellation = "50ms"
        [scenario.server.rest]
        window = "300/min"
        retry_after = "exact"
        cancellation = "never"
        [scenario.client.gather]
        plan = "a"
        retries = 10
        latency = "exponential:mean=2s"
        [scenario.client.loop]
        plan = "b"
        calls = "one by one"
        "#;

#[test]
fn a_scenario_states_arrivals_servers_and_clients() {
    let config = load(STATED).unwrap();
    let simulated = config.simulated.unwrap();
    let scenario = &simulated.scenario;
    assert_eq!(scenario.arrivals, Arrivals::Clients { clients: 20, think: Time::from_secs(2) });
    assert_eq!((scenario.dependence.job(), scenario.dependence.branch()), (0.1, 0.3));
    assert_eq!((scenario.warm_up, &scenario.size), (Some(500), &None));
    let llm = Server {
        branches: vec!["type".into(), "parties".into()],
        replicas: 3,
        slots: Some(8),
        choice: Choice::LeastLoaded,
        failures: Failures { retryable: 0.01, permanent: 0.005, law: None },
        limit: Some(Limit {
            allows: Allows::Bucket(Rate { permits: 80, per: Time::from_secs(1), burst: 9 }),
            answers_after: Time::from_millis(200),
            retry_after: RetryAfter::Fixed(Time::from_secs(13)),
        }),
        slow: Some(Slow {
            factor: 5.0,
            lasts: Time::from_secs(1),
            every: Some(Time::from_secs(60)),
            from: Time::from_secs(10),
            replicas: Some(1),
        }),
        prefill: Time::from_millis(800),
        cancellation: Cancellation::After(0.05),
        ..Server::new("llm")
    };
    let rest = Server {
        limit: Some(Limit {
            allows: Allows::Window { calls: 300, per: Time::from_secs(60) },
            answers_after: Time::ZERO,
            retry_after: RetryAfter::Exact,
        }),
        cancellation: Cancellation::Never,
        ..Server::new("rest")
    };
    assert_eq!(scenario.servers, [llm, rest]);
    let clients: Vec<_> = simulated
        .clients
        .iter()
        .map(|entry| (entry.name.as_str(), entry.plan.as_str(), entry.client))
        .collect();
    let latencies: Vec<_> = simulated.clients.iter().map(|entry| entry.latency.clone()).collect();
    assert_eq!(latencies, [Some(Law::exponential(2.0).unwrap()), None]);
    let backoff = Time::from_secs(1);
    assert_eq!(
        clients,
        [
            ("gather", "a", Client { sequential: false, retries: 10, backoff }),
            ("loop", "b", Client { sequential: true, retries: 0, backoff }),
        ]
    );
}

#[test]
fn arrivals_are_a_rate_a_distance_clients_or_a_trace() {
    let arrivals = |stated: &str| {
        let config = load(&format!("[scenario]\narrivals = {stated}\n")).unwrap();
        config.simulated.unwrap().scenario.arrivals
    };
    assert_eq!(arrivals("\"30/min\""), Arrivals::Poisson(0.5));
    assert_eq!(arrivals("\"0.5/s\""), Arrivals::Poisson(0.5));
    assert_eq!(arrivals("\"3/2s\""), Arrivals::Poisson(1.5));
    assert_eq!(arrivals("{ every = \"20ms\" }"), Arrivals::Every(Time::from_millis(20)));
    assert_eq!(arrivals("{ clients = 3 }"), Arrivals::Clients { clients: 3, think: Time::ZERO });
    let trace = [0, 250, 1_000].map(Time::from_millis);
    assert_eq!(arrivals("{ trace = [\"0s\", \"250ms\", \"1s\"] }"), Arrivals::Trace(trace.into()));
    assert_eq!(load("").unwrap().simulated.map(|_| ()), None);
}

#[test]
fn what_is_wrong_is_said_at_its_place() {
    let check = |scenario: &str, message: &str| {
        let problems = load(scenario).unwrap_err();
        let messages: Vec<&str> = problems.iter().map(fantail_planfile::Problem::message).collect();
        assert!(messages.iter().any(|found| found.contains(message)), "{message} in {messages:#?}");
        assert_eq!(messages.len(), 1, "{messages:#?}");
    };
    check("[scenario]\narrivals = {}", "`arrivals`: expected one of `every`, `clients` and `trace`");
    check("[scenario]\narrivals = { clients = 2, every = \"1s\" }", "expected one of");
    check("[scenario]\narrivals = \"0/s\"", "arrivals: got 0, expected a rate of 1e-6 to 1e9");
    check("[scenario]\narrivals = { trace = [\"2s\", \"1s\"] }", "instants that do not decrease");
    check("[scenario]\nshares = { job = \"60%\", branch = \"50%\" }", "expected at most 100% together");
    check("[scenario]\nsize_sigma = -1", "`size_sigma`");
    check("[scenario.server.s]\nbranches = [\"typ\"]", "no plan has a branch `typ`; did you mean `type`?");
    check("[scenario.server.s]\n[scenario.server.t]", "server `t` names no `branches`, nor does `s`");
    check("[scenario.server.s]\nreplicas = 1000000", "server s: replicas: got 1000000, expected 1 to 100000");
    check("[scenario.server.s]\nrate = \"3/s\"", "`rate` without `burst`");
    check("[scenario.server.s]\nretry_after = \"3s\"", "do nothing without a `rate` or a `window`");
    check("[scenario.server.s]\nerrors = \"60%\"\npermanent_errors = \"60%\"", "failures: got 1.2");
    check("[scenario.server.s]\nslow = { every = \"1s\" }", "`slow` has no `lasts`");
    check(
        "[scenario.server.s]\nslow = { lasts = \"2s\", every = \"1s\" }",
        "distance of slow periods: got 1",
    );
    check("[scenario.server.s]\nchoice = \"randum\"", "unknown word `randum`; did you mean `random`?");
    check("[scenario.client.a]\nplan = \"a\"", "client `a` has the name of a plan");
    check("[scenario.client.c]\nretries = 3", "client `c` names no `plan`");
    check("[scenario.client.c]\nplan = \"c\"", "`plan`: unknown plan `c`");
    check("[scenario.client.c]\nplan = \"a\"\nretries = 2000", "`retries`: got 2000, expected at most 1000");
    check("[scenario.client.c]\nplan = \"a\"\nbackoff = \"2s\"", "`backoff` without `retries`");
    check(
        "[scenario]\narrivals = \"often\"",
        "expected jobs in a time, in quotes, like \"10/s\", \"0.5/s\" or \"3/2min\"",
    );
    check(
        "[scenario.server.s]\nbranches = [\"type\"]\n[scenario.server.t]\nbranches = [\"shard\", \"type\"]",
        "`branches`: server `s` serves `type` already",
    );
    check("[scenario.server.s]\nbranches = [\"type\", \"type\"]", "`branches`: `type` twice");
    check(
        "[scenario.server.s]\nreplicas = 2\nslow = { lasts = \"1s\", replicas = 3 }",
        "`replicas`: got 3 that are slow, expected at most the 2 of server `s`",
    );
}

/// Line and column of the fault, in a scenario that follows four lines of plans.
#[test]
fn a_fault_is_at_the_key_that_it_is_about() {
    let check = |scenario: &str, line: usize, column: usize| {
        let problems = load(scenario).unwrap_err();
        let places: Vec<_> = problems.iter().map(|problem| (problem.line(), problem.column())).collect();
        assert_eq!(places, [(line, column)], "{problems}");
    };
    let server = |stated: &str| format!("[scenario.server.s]\n{stated}");
    check("[scenario]\nwarm_up = 3\narrivals = \"0/s\"", 8, 12);
    check("[scenario]\narrivals = { trace = [\"2s\", \"1s\"] }", 7, 12);
    check(&server("slots = 1\nreplicas = 1000000"), 8, 12);
    check(&server("errors = \"60%\"\npermanent_errors = \"60%\""), 8, 20);
    check(&server("prefill = \"1s\"\nwindow = \"0/s\""), 8, 10);
    check(&server("rate = \"0/s\"\nburst = 2"), 7, 8);
    check(&server("slots = 2\nslow = { lasts = \"2s\", every = \"1s\" }"), 8, 32);
    check(&server("[scenario.server.s.slow]\nlasts = \"2s\"\nreplicas = 7"), 9, 12);
    check(&server("branches = [\"shard\"]\n[scenario.server.t]\nbranches = [\"type\", \"shard\"]"), 9, 21);
    // Each that is wrong, not only the first.
    let problems =
        load("[scenario.server.s]\nreplicas = 0\nslots = 0\n[scenario.server.t]\nwindow = \"0/s\"");
    assert_eq!(problems.unwrap_err().iter().len(), 4);
}
