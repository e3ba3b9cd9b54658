//! One world that a job may meet: what happens to it, and what it was told in the end.

use std::sync::Arc;

use fantail_core::job::{Action, AttemptId, Event, Failure, Job, Refusal, Start};
use fantail_core::{Plan, Time};

use crate::observer::{self, Observer, Seen};

/// One step of a world, not yet of a job.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) pass: Pass,
    pub(crate) picks: Vec<Pick>,
}

/// How time goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pass {
    By(u64),
    /// To when the job wants to wake, and this much later.
    ToWake(u64),
    /// To this instant, past or future.
    Jump(u64),
}

#[derive(Clone, Debug)]
pub(crate) enum Pick {
    /// One of the events that a driver could report now.
    Sayable(usize),
    /// Whatever it is.
    Any(Event),
}

/// What a job was told, and when.
pub(crate) type Told = Vec<(Time, Vec<Event>)>;

/// Plays the moves under the observer's eyes, then drops the job if it still runs. What it was told begins with its start.
pub(crate) fn play(plan: &Arc<Plan>, moves: &[Move], origin: Time) -> Result<(Job, Told), String> {
    let (mut job, mut observer, _) = Observer::start(plan, origin, 7);
    let mut now = origin;
    let mut told = vec![(origin, Vec::new())];
    for Move { pass, picks } in moves {
        now = time_of(*pass, now, &job);
        let events = events_of(picks, &observer, plan);
        let broken = observer.step(&mut job, now, &events).err();
        told.push((now, events));
        if let Some(broken) = broken {
            return Err(format!("{broken} after {told:?}"));
        }
    }
    observer.step(&mut job, now, &[Event::Dropped])?;
    told.push((now, vec![Event::Dropped]));
    if job.verdict().is_none() || job.kept() > 0 {
        return Err("a dropped job goes on".to_owned());
    }
    Ok((job, told))
}

/// Tells a new job the same, each batch and each attempt as it is changed.
pub(crate) fn replay(
    plan: &Arc<Plan>,
    told: &Told,
    change: impl Fn(&[Event]) -> Vec<Event>,
) -> (Job, Vec<Action>) {
    let mut actions = Vec::new();
    let origin = told[0].0;
    let live = observer::live(plan);
    let start = Start { now: origin, rotation: 7, live: &live, ..Start::default() };
    let mut job = Job::start(Arc::clone(plan), start, &mut actions);
    for (at, events) in told {
        job.step(*at, &mut change(events), &mut actions);
    }
    (job, actions)
}

/// That the order in which an instant is told does not matter.
pub(crate) fn same_in_any_order(plan: &Arc<Plan>, told: &Told) {
    let (_, forward) = replay(plan, told, <[Event]>::to_vec);
    let (_, backward) = replay(plan, told, |events| events.iter().rev().copied().collect());
    assert_eq!(forward, backward, "told {told:?}");
}

/// That a job which starts in the place of a used one does as a new one, and is left as one.
pub(crate) fn same_in_the_place_of(mut used: Job, plan: &Arc<Plan>, told: &Told) {
    let (fresh, expected) = replay(plan, told, <[Event]>::to_vec);
    let live = observer::live(plan);
    let mut actions = Vec::new();
    used.restart(Start { now: told[0].0, rotation: 7, live: &live, ..Start::default() }, &mut actions);
    for (at, events) in told {
        used.step(*at, &mut events.clone(), &mut actions);
    }
    assert_eq!(actions, expected);
    assert_eq!(format!("{used:?}"), format!("{fresh:?}"));
}

/// When the move happens.
fn time_of(pass: Pass, now: Time, job: &Job) -> Time {
    match pass {
        Pass::By(nanos) => now.saturating_add(Time::from_nanos(nanos)),
        Pass::ToWake(late) => job.wake_at().unwrap_or(now).saturating_add(Time::from_nanos(late)),
        Pass::Jump(nanos) => Time::from_nanos(nanos),
    }
}

/// What the move tells the job.
fn events_of(picks: &[Pick], observer: &Observer, plan: &Plan) -> Vec<Event> {
    let mut sayable = sayable(observer, plan);
    let mut events = Vec::new();
    for pick in picks {
        match pick {
            Pick::Any(event) => events.push(*event),
            Pick::Sayable(index) if !sayable.is_empty() => {
                let event = sayable.swap_remove(index % sayable.len());
                sayable.retain(|other| attempt_of(other) != attempt_of(&event));
                events.push(event);
            }
            Pick::Sayable(_) => {}
        }
    }
    events
}

/// The attempt that an event is about.
pub(crate) fn attempt_of(event: &Event) -> Option<AttemptId> {
    match *event {
        Event::Answered(attempt)
        | Event::Primed(attempt)
        | Event::Failed(attempt, _)
        | Event::Granted(attempt)
        | Event::Refused(attempt, _) => Some(attempt),
        Event::Dropped => None,
    }
}

/// What a driver could report; a grant more often than a refusal, so that jobs get somewhere.
fn sayable(observer: &Observer, plan: &Plan) -> Vec<Event> {
    let mut events = Vec::new();
    for branch in 0..plan.n() {
        for attempt in plan.attempts_of(branch) {
            match observer.seen(attempt) {
                Seen::Asked => {
                    events.extend([Event::Granted(attempt); 5]);
                    events.push(Event::Refused(attempt, Refusal::Budget));
                }
                Seen::Running => {
                    events.push(Event::Answered(attempt));
                    events.extend(plan.leader().map(|_| Event::Primed(attempt)));
                    let failures = [Failure::Permanent, Failure::Retryable, Failure::Pushback];
                    events.extend(failures.map(|failure| Event::Failed(attempt, failure)));
                }
                Seen::Kept => {
                    events.extend([Event::Answered(attempt), Event::Failed(attempt, Failure::Retryable)]);
                }
                Seen::Idle | Seen::Over => {}
            }
        }
    }
    events
}
