//! A job allocates when it is made, and then no more: neither for its attempts nor for the jobs that take its place.

use std::sync::Arc;

use allocation_counter::measure;
use fantail_core::job::{Action, AttemptId, Event, Failure, Job, Role, Start, Verdict};
use fantail_core::{BranchSpec, Hedge, Leader, LiveDelaySpec, Plan, PlanSpec, Quantile, Time, WaitFor};

const N: usize = 300;

/// Of everything something: stages, a leader, copies, a live delay, failovers, timeouts, deadlines.
fn plan() -> Arc<Plan> {
    let ms = Time::from_millis;
    let branch = |i: usize| BranchSpec {
        required: Some(i == 0),
        after: if i > 2 && i.is_multiple_of(3) { vec![i - 1, i - 2] } else { Vec::new() },
        tolerates_missing: i.is_multiple_of(2),
        deadline: i.is_multiple_of(5).then_some(ms(40)),
        attempt_timeout: i.is_multiple_of(4).then_some(ms(7)),
        hedge: Some(Hedge { delays: vec![ms(2); 1 + i % 2], ..Hedge::after(ms(2)) }),
        live: i.is_multiple_of(2).then_some(0),
        failover: true,
        repeatable: true,
        targets: 3,
        ..BranchSpec::new(format!("b{i}"))
    };
    let live_delays = vec![LiveDelaySpec::new(Quantile::from_ppm(950_000).expect("it is a level"))];
    let leader = Some(Leader { branch: 0, head_start: ms(1) });
    let spec = PlanSpec {
        wait_for: WaitFor::First(N as u32),
        at_least: Some(1),
        deadline: Some(ms(50)),
        leader,
        live_delays,
        ..PlanSpec::new("all", (0..N).map(branch).collect())
    };
    Arc::new(Plan::new(spec).expect("the plan is valid"))
}

/// Grants all, fails every third primary and each of its copies, answers the rest; then lets time pass until it is over.
fn run(job: &mut Job, events: &mut Vec<Event>, actions: &mut Vec<Action>) {
    let mut now = job.started_at();
    while job.verdict().is_none() {
        for action in actions.drain(..) {
            match action {
                Action::Ask { attempt, .. } => events.push(Event::Granted(attempt)),
                Action::Start { attempt, .. } => events.extend(end(attempt)),
                Action::Withdraw(_) | Action::Keep(_) | Action::Cancel(..) | Action::Finish(_) => {}
            }
        }
        if events.is_empty() {
            now = job.wake_at().expect("a job that waits has a time");
        }
        job.step(now, events, actions);
    }
}

fn end(attempt: AttemptId) -> Option<Event> {
    match (attempt.branch % 3, attempt.role()) {
        (0, Role::Primary) | (_, Role::Failover) => Some(Event::Answered(attempt)),
        (1, _) => Some(Event::Failed(attempt, Failure::Retryable)),
        _ => None,
    }
}

#[test]
fn a_job_allocates_only_when_it_is_made() {
    let plan = plan();
    let (mut events, mut actions) = (Vec::with_capacity(10 * N), Vec::with_capacity(10 * N));
    let live = [Some(Time::from_millis(3))];
    let start = |now| Start { now, live: &live, ..Start::default() };
    let mut job = None;
    let made = measure(|| job = Some(Job::start(Arc::clone(&plan), start(Time::ZERO), &mut actions)));
    let mut job = job.unwrap();
    let first = measure(|| run(&mut job, &mut events, &mut actions));
    println!(
        "{} allocations to make a job of {N} branches, {} to run it",
        made.count_total, first.count_total
    );
    let ledger = *job.ledger();
    let late = Time::from_secs(9);
    let again = measure(|| {
        actions.clear();
        job.restart(start(late), &mut actions);
        run(&mut job, &mut events, &mut actions);
    });
    assert_eq!(job.verdict(), Some(Verdict::Partial));
    assert_eq!(*job.ledger(), ledger);
    assert!(ledger.copies.launched > 0 && ledger.failovers.launched > 0 && ledger.primaries.censored > 0);
    assert!(made.count_total <= 10, "{} allocations to make a job", made.count_total);
    assert_eq!((first.count_total, again.count_total), (0, 0), "allocations of a job and of the next one");
}
