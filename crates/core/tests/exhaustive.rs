//! Every state that a small job can be in, and every step from it.
//!
//! From each state the job is told every single event that could be said of its attempts, every pair of them in one
//! instant (in the larger plans no pairs), and nothing at all; at the time of the step before, a little later, when it wants to wake, and too late.
//! The [`Observer`] judges each step. States that differ only in what no later step reads (the ledger, stamps of what is
//! over, and the origin of time) are one. `FANTAIL_HEAVY=1` takes larger plans.

#[path = "support/canon.rs"]
mod canon;
#[path = "support/observer.rs"]
mod observer;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use fantail_core::job::{Event, Failure, Job, Refusal, Role};
use fantail_core::plan::PPM;
use fantail_core::{BranchSpec, Hedge, Leader, LiveDelaySpec, Plan, PlanSpec, Quantile, Time, WaitFor};
use observer::{Observer, Seen};

/// More than any of the plans below needs: a bound on what a mistake in them costs.
const MOST_STATES: usize = 2_000_000;

#[derive(Clone)]
struct State {
    job: Job,
    observer: Observer,
    now: Time,
}

/// A step on the way to a state, for the message.
struct Step {
    from: usize,
    at: Time,
    events: Vec<Event>,
}

/// Explores a plan with up to `at_once` events in one instant, and prints how much there was; panics at the first step that breaks an invariant, with the way to it.
fn explore(at_once: usize, title: &str, spec: PlanSpec) {
    let plan = Arc::new(Plan::new(spec).expect("the plan is valid"));
    let (job, observer, _) = Observer::start(&plan, Time::ZERO, 0);
    let mut seen = HashSet::from([canon::digest(&job, Time::ZERO)]);
    let mut ways = vec![Step { from: 0, at: Time::ZERO, events: Vec::new() }];
    let mut open = vec![(0, State { job, observer, now: Time::ZERO })];
    let (mut steps, mut ends) = (0_u64, 0_u64);
    while let Some((from, state)) = open.pop() {
        for at in instants(&state) {
            for events in batches(at_once, &plan, &state) {
                steps += 1;
                let mut next = state.clone();
                next.now = at;
                let came = catch_unwind(AssertUnwindSafe(|| next.observer.step(&mut next.job, at, &events)));
                let broken = match came {
                    Ok(Ok(_)) => None,
                    Ok(Err(broken)) => Some(broken),
                    Err(_) => Some("it panicked".to_owned()),
                };
                if let Some(broken) = broken {
                    ways.push(Step { from, at, events });
                    panic!("{title}: {broken}\n{}", way(&ways));
                }
                if next.job.verdict().is_some() && next.job.kept() == 0 {
                    ends += 1;
                } else if seen.insert(canon::digest(&next.job, at)) {
                    assert!(seen.len() <= MOST_STATES, "{title}: too many states");
                    ways.push(Step { from, at, events });
                    open.push((ways.len() - 1, next));
                }
            }
        }
    }
    println!("{title}: {} states, {steps} steps, {ends} ends", seen.len());
}

/// When the next step may be: at once, before anything is due, when something is, and after.
fn instants(state: &State) -> Vec<Time> {
    let Some(wake) = state.job.wake_at() else { return vec![state.now] };
    let tick = Time::from_nanos(1);
    let mut instants = vec![state.now, state.now.saturating_add(tick), wake, wake.saturating_add(tick)];
    instants.dedup();
    instants
}

/// Nothing, every event, and every two events if so many may be at once.
fn batches(at_once: usize, plan: &Plan, state: &State) -> Vec<Vec<Event>> {
    let singles = sayable(plan, state);
    let mut batches = vec![Vec::new()];
    for (i, event) in singles.iter().enumerate() {
        batches.push(vec![*event]);
        if at_once == 2 {
            batches.extend(singles[i + 1..].iter().map(|other| vec![*other, *event]));
        }
    }
    batches
}

/// Every event that a driver could report in this state.
fn sayable(plan: &Plan, state: &State) -> Vec<Event> {
    let mut events = vec![Event::Dropped];
    for branch in 0..plan.n() {
        for attempt in plan.attempts_of(branch) {
            match state.observer.seen(attempt) {
                Seen::Asked => {
                    let reason =
                        if attempt.role() == Role::Primary { Refusal::Pushback } else { Refusal::Budget };
                    events.extend([Event::Granted(attempt), Event::Refused(attempt, reason)]);
                }
                Seen::Running => {
                    events.push(Event::Answered(attempt));
                    events.extend(state.observer.leads(branch).then_some(Event::Primed(attempt)));
                    let failures = [Failure::Permanent, Failure::Retryable, Failure::Pushback];
                    // Where no attempt may follow it is all the same why one failed.
                    let kinds = if plan.attempts_of(branch).count() == 1 { 1 } else { 3 };
                    events.extend(
                        failures.into_iter().take(kinds).map(|failure| Event::Failed(attempt, failure)),
                    );
                }
                Seen::Kept => {
                    events.extend([Event::Answered(attempt), Event::Failed(attempt, Failure::Permanent)]);
                }
                Seen::Idle | Seen::Over => {}
            }
        }
    }
    events
}

fn way(steps: &[Step]) -> String {
    let mut at = steps.len() - 1;
    let mut lines = Vec::new();
    while at != 0 {
        lines.push(format!("at {}: {:?}", steps[at].at, steps[at].events));
        at = steps[at].from;
    }
    lines.iter().rev().fold(String::new(), |mut text, line| {
        writeln!(text, "{line}").expect("strings take all");
        text
    })
}

const fn ns(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// Whether to take the larger plans too.
fn heavy() -> bool {
    std::env::var_os("FANTAIL_HEAVY").is_some_and(|value| value == "1")
}

fn branch(name: &str) -> BranchSpec {
    BranchSpec::new(name)
}

fn optional(name: &str) -> BranchSpec {
    BranchSpec { required: Some(false), ..branch(name) }
}

fn hedged(branch: BranchSpec, delays: &[u64]) -> BranchSpec {
    let delays = delays.iter().copied().map(ns).collect();
    let hedge = Some(Hedge { delays, ..Hedge::after(Time::ZERO) });
    BranchSpec { hedge, repeatable: true, targets: 2, ..branch }
}

fn plan(wait_for: WaitFor, branches: Vec<BranchSpec>) -> PlanSpec {
    PlanSpec { wait_for, ..PlanSpec::new("small", branches) }
}

#[test]
fn waiting_for_all() {
    explore(2, "all of 3", plan(WaitFor::All, vec![branch("a"), branch("b"), branch("c")]));
    let spec = plan(WaitFor::All, vec![branch("a"), optional("b"), optional("c")]);
    explore(2, "all, 1 of 3 required", spec.clone());
    explore(2, "all, 1 of 3 required, at least 2", PlanSpec { at_least: Some(2), ..spec.clone() });
    explore(2, "all, 1 of 3 required, deadline", PlanSpec { deadline: Some(ns(6)), ..spec });
}

#[test]
fn waiting_for_the_first() {
    let branches = || vec![branch("a"), branch("b"), branch("c")];
    for k in 1..=3 {
        for at_least in 0..=k {
            let spec = PlanSpec { at_least: Some(at_least), ..plan(WaitFor::First(k), branches()) };
            explore(2, &format!("first {k} of 3, at least {at_least}"), spec);
        }
    }
    let mut one_required = branches();
    one_required[2].required = Some(true);
    let spec = PlanSpec { deadline: Some(ns(6)), ..plan(WaitFor::First(1), one_required) };
    explore(2, "first 1 of 3 and a required one, deadline", spec);
    let spec =
        PlanSpec { deadline: Some(ns(6)), at_least: Some(1), ..plan(WaitFor::Share(600_000), branches()) };
    explore(2, "60 % of 3, at least 1, deadline", spec);
}

#[test]
fn timeouts_and_deadlines() {
    let timed = |branch: BranchSpec, timeout| BranchSpec { attempt_timeout: Some(ns(timeout)), ..branch };
    let branches = vec![timed(branch("a"), 4), BranchSpec { deadline: Some(ns(4)), ..optional("b") }];
    explore(
        2,
        "a timeout and a deadline",
        PlanSpec { deadline: Some(ns(7)), ..plan(WaitFor::All, branches) },
    );
    let branches = vec![timed(hedged(branch("a"), &[5]), 3), timed(hedged(optional("b"), &[2]), 3)];
    explore(2, "timeouts that bring copies forward", plan(WaitFor::All, branches));
}

#[test]
fn hedges() {
    let one = || hedged(branch("a"), &[3]);
    explore(2, "a hedge", plan(WaitFor::All, vec![one()]));
    explore(2, "two copies", plan(WaitFor::All, vec![hedged(branch("a"), &[2, 5])]));
    let spec = plan(WaitFor::All, vec![one(), hedged(optional("b"), &[3])]);
    explore(2, "2 hedges", spec.clone());
    explore(2, "2 hedges, deadline", PlanSpec { deadline: Some(ns(7)), ..spec });
    let mut late = one();
    late.hedge.as_mut().expect("it is hedged").min_useful = ns(3);
    let spec = PlanSpec { deadline: Some(ns(7)), ..plan(WaitFor::First(1), vec![late, branch("b")]) };
    explore(2, "a hedge with min_useful, first 1 of 2, deadline", spec);
}

#[test]
fn live_delays() {
    let live = |index, delay| BranchSpec { live: Some(index), ..hedged(branch("a"), &[delay]) };
    let p95 = Quantile::from_ppm(950_000).expect("it is a level");
    let warming = |warming: Option<Time>| LiveDelaySpec { warming, ..LiveDelaySpec::new(p95) };
    let never = BranchSpec { required: Some(false), name: "b".into(), ..live(1, 2) };
    let spec = PlanSpec {
        live_delays: vec![warming(Some(ns(3))), warming(None)],
        deadline: Some(ns(6)),
        ..plan(WaitFor::All, vec![live(0, 1), never])
    };
    explore(2, "a live delay and one that is warming, deadline", spec);
}

#[test]
fn races() {
    let race = |branch: BranchSpec, r: usize| hedged(branch, &vec![0; r - 1]);
    explore(2, "a race of 3", plan(WaitFor::All, vec![race(branch("a"), 3)]));
    explore(2, "2 races of 2", plan(WaitFor::All, vec![race(branch("a"), 2), race(optional("b"), 2)]));
    let spec = plan(WaitFor::First(1), vec![race(branch("a"), 2), hedged(branch("b"), &[0, 3])]);
    explore(2, "a race and a race with a hedge, first 1", spec);
}

/// Comes after branches whose lack it tolerates or not.
fn after(branch: BranchSpec, first: &[usize], tolerates_missing: bool) -> BranchSpec {
    BranchSpec { after: first.to_vec(), tolerates_missing, ..branch }
}

fn failing_over(branch: BranchSpec) -> BranchSpec {
    BranchSpec { failover: true, repeatable: true, targets: branch.targets.max(2), ..branch }
}

#[test]
fn stages() {
    let line = vec![after(optional("a"), &[1], false), optional("b"), after(branch("c"), &[0, 1], true)];
    explore(2, "a stage, and one that tolerates missing", plan(WaitFor::All, line.clone()));
    let spec = PlanSpec { deadline: Some(ns(6)), at_least: Some(1), ..plan(WaitFor::First(2), line) };
    explore(2, "the same, first 2, deadline", spec);
    let timed = BranchSpec { attempt_timeout: Some(ns(3)), ..hedged(branch("a"), &[2]) };
    let spec = plan(WaitFor::All, vec![timed, after(hedged(branch("b"), &[3]), &[0], false)]);
    explore(2, "a hedge after a hedge", PlanSpec { deadline: Some(ns(7)), ..spec });
}

#[test]
fn failovers() {
    let timed = |branch: BranchSpec| BranchSpec { attempt_timeout: Some(ns(3)), ..branch };
    let two = vec![timed(failing_over(branch("a"))), failing_over(optional("b"))];
    explore(
        2,
        "2 failovers, a timeout, deadline",
        PlanSpec { deadline: Some(ns(5)), ..plan(WaitFor::All, two) },
    );
    let all = BranchSpec { targets: 3, ..failing_over(hedged(branch("a"), &[2])) };
    explore(2, "a copy and a failover", plan(WaitFor::All, vec![all]));
    let few = failing_over(hedged(branch("a"), &[2]));
    let after = after(failing_over(optional("b")), &[0], true);
    explore(2, "a copy and a failover of 2 targets, then a failover", plan(WaitFor::All, vec![few, after]));
}

#[test]
fn leaders() {
    let led = |branches: Vec<BranchSpec>| {
        let leader = Some(Leader { branch: 1, head_start: ns(3) });
        PlanSpec { leader, ..plan(WaitFor::All, branches) }
    };
    explore(2, "a leader of 3", led(vec![optional("a"), optional("b"), branch("c")]));
    let spec = led(vec![optional("a"), hedged(optional("b"), &[2]), after(optional("c"), &[0], true)]);
    explore(2, "a hedged leader and a stage, deadline", PlanSpec { deadline: Some(ns(5)), ..spec });
    let spec = led(vec![failing_over(optional("a")), failing_over(optional("b"))]);
    explore(2, "a leader with failover, first 1", PlanSpec { wait_for: WaitFor::First(1), ..spec });
}

#[test]
fn samples() {
    let first =
        |k, branches| PlanSpec { deadline: Some(ns(6)), observe: PPM, ..plan(WaitFor::First(k), branches) };
    let three = vec![branch("a"), branch("b"), BranchSpec { deadline: Some(ns(4)), ..branch("c") }];
    explore(2, "first 1 of 3, observed", first(1, three.clone()));
    explore(2, "first 2 of 3, observed", first(2, three));
    let timed = BranchSpec { attempt_timeout: Some(ns(3)), ..hedged(branch("a"), &[2]) };
    explore(2, "a hedge and a timeout, observed", first(1, vec![timed.clone(), hedged(branch("b"), &[0])]));
    explore(2, "all of 2 with a hedge, observed", first(2, vec![timed.clone(), optional("b")]));
    let stage = after(failing_over(optional("b")), &[0], true);
    explore(2, "a stage and a failover, observed", first(1, vec![timed.clone(), stage]));
    let held_out = PlanSpec { observe: 0, holdout: PPM, ..first(1, vec![failing_over(timed), branch("b")]) };
    explore(2, "a hedge with failover, held out", held_out);
}

#[test]
fn larger_plans() {
    if !heavy() {
        println!("set FANTAIL_HEAVY=1 for the larger plans");
        return;
    }
    let hedges = |copies: &[u64]| {
        vec![hedged(branch("a"), copies), hedged(optional("b"), copies), hedged(optional("c"), copies)]
    };
    explore(1, "3 hedges", plan(WaitFor::All, hedges(&[3])));
    explore(2, "3 races", plan(WaitFor::First(2), hedges(&[0])));
    let spec = PlanSpec { deadline: Some(ns(5)), ..plan(WaitFor::First(2), hedges(&[2])) };
    explore(1, "3 hedges, first 2, deadline", spec);
    let two = vec![hedged(branch("a"), &[2, 4]), hedged(optional("b"), &[2, 4])];
    explore(1, "2 branches of 3 attempts", plan(WaitFor::All, two.clone()));
    let timed = |branch: BranchSpec| BranchSpec { attempt_timeout: Some(ns(3)), ..branch };
    let two = two.into_iter().map(timed).collect();
    let spec = PlanSpec { deadline: Some(ns(6)), ..plan(WaitFor::All, two) };
    explore(1, "2 branches of 3 attempts, timeouts, deadline", spec);
}
