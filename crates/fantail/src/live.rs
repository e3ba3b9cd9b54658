//! Hedge delays that follow the latency: what the jobs of a plan have measured, and what each of them adds.

use std::sync::Arc;

use fantail_core::job::{Action, AttemptId, Cut};
use fantail_core::{End, Job, LiveDelay, LiveDelaySpec, Plan, Primary, Sketch, Time};
use tokio::time::Instant;

use crate::sync::{Mutex, MutexGuard};
use crate::{Clock, lock};

/// A quantile is taken anew after so many primaries, but not more often than [`SOONEST`]...
const PRIMARIES: u64 = 50;
/// ... since that takes tens of microseconds.
const SOONEST: Time = Time::from_millis(10);
/// Whatever has started by then, a quantile is no older than that: answers may have stopped coming.
const LATEST: Time = Time::from_secs(1);

/// One live delay, which jobs share.
#[derive(Debug)]
pub(crate) struct Live {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    sketch: Sketch,
    delay: LiveDelay,
    /// When the quantile was last taken, and how many primaries had started by then.
    taken: (Time, u64),
}

impl Live {
    pub(crate) fn new(spec: LiveDelaySpec) -> Live {
        let state = State {
            sketch: Sketch::new(Sketch::HALF_LIFE).expect("the default half-life is one"),
            delay: LiveDelay::new(spec).expect("a plan has no live delay of zero"),
            taken: (Time::ZERO, 0),
        };
        Live { clock: Clock::start(), state: Mutex::new(state) }
    }

    /// The delay as it is at `now`.
    pub(crate) fn delay(&self, now: Instant) -> LiveDelay {
        self.refreshed(now).delay.clone()
    }

    /// When a copy is due after its primary's permit.
    pub(crate) fn due(&self, now: Instant) -> Option<Time> {
        self.refreshed(now).delay.delay()
    }

    fn refreshed(&self, now: Instant) -> MutexGuard<'_, State> {
        let mut state = lock(&self.state);
        let now = self.clock.time(now);
        let (at, started) = state.taken;
        let age = now.saturating_sub(at);
        if age >= LATEST || age >= SOONEST && state.sketch.started() - started >= PRIMARIES {
            let snapshot = state.sketch.snapshot(now);
            state.delay.refresh(&snapshot);
            state.taken = (now, state.sketch.started());
        }
        state
    }
}

/// The primaries of one job that are measured, from their permit to their end.
#[derive(Debug)]
pub(crate) struct Gauges {
    plan: Arc<Plan>,
    /// By [`Plan::live_delays`].
    live: Arc<[Live]>,
    /// By branch; empty when the plan has no live delay.
    running: Vec<Option<Primary>>,
}

impl Gauges {
    /// Of this job, unless the plan observes others; the list of an earlier one is used again.
    pub(crate) fn new(job: &Job, live: &Arc<[Live]>, mut running: Vec<Option<Primary>>) -> Gauges {
        let plan = Arc::clone(job.plan());
        let measured = plan.observe() == 0 || job.is_observed();
        let live = if measured { Arc::clone(live) } else { Arc::default() };
        let branches = if live.is_empty() { 0 } else { plan.branches().len() };
        running.clear();
        running.resize_with(branches, || None);
        Gauges { plan, live, running }
    }

    /// The list, for another job.
    pub(crate) fn take_list(&mut self) -> Vec<Option<Primary>> {
        self.cancel_all();
        std::mem::take(&mut self.running)
    }

    /// Measures the primaries that get their permits and those that are dropped.
    pub(crate) fn act(&mut self, actions: &[Action], now: Instant) {
        if self.running.is_empty() {
            return;
        }
        let mut sketches = Sketches::new(&self.plan, &self.live, now);
        for action in actions {
            let (attempt, cut) = match *action {
                Action::Start { attempt, .. } => (attempt, None),
                Action::Cancel(attempt, cut) => (attempt, Some(cut)),
                _ => continue,
            };
            let Some(open) = sketches.of(attempt) else { continue };
            let running = &mut self.running[attempt.branch as usize];
            let Some(cut) = cut else {
                *running = Some(open.start());
                continue;
            };
            let declared = self.plan.like(attempt.branch);
            let deadline = match cut {
                Cut::TimedOut => declared.attempt_timeout,
                Cut::Deadline => declared.deadline,
                Cut::Lost | Cut::JobEnded => None,
            };
            if let Some(primary) = running.take() {
                let end = deadline.map_or(End::Cancelled, |deadline| End::Cut { deadline });
                open.end(primary, open.now, end);
            }
        }
    }

    /// These attempts ended by themselves, each so long before `now`.
    pub(crate) fn end(&mut self, ended: impl Iterator<Item = (AttemptId, End, Time)>, now: Instant) {
        if self.running.is_empty() {
            return;
        }
        let mut sketches = Sketches::new(&self.plan, &self.live, now);
        for (attempt, end, ago) in ended {
            let Some(open) = sketches.of(attempt) else { continue };
            if let Some(primary) = self.running[attempt.branch as usize].take() {
                open.end(primary, open.now.saturating_sub(ago), end);
            }
        }
    }

    fn cancel_all(&mut self) {
        let runs = |branch: &u32| self.running[*branch as usize].is_some();
        let left: Vec<u32> = (0..self.running.len() as u32).filter(runs).collect();
        if !left.is_empty() {
            let dropped = |branch| (AttemptId::primary(branch), End::Cancelled, Time::ZERO);
            self.end(left.into_iter().map(dropped), Instant::now());
        }
    }
}

impl Drop for Gauges {
    /// The job was dropped with all that ran.
    fn drop(&mut self) {
        self.cancel_all();
    }
}

/// The sketches of a plan, for a row of primaries: with one lock for all in a row that share one.
struct Sketches<'l> {
    plan: &'l Plan,
    live: &'l [Live],
    now: Instant,
    open: Option<Open<'l>>,
}

impl<'l> Sketches<'l> {
    fn new(plan: &'l Plan, live: &'l [Live], now: Instant) -> Sketches<'l> {
        Sketches { plan, live, now, open: None }
    }

    /// The one that this attempt is measured by: if it is a primary, and there is one.
    #[inline]
    fn of(&mut self, attempt: AttemptId) -> Option<&mut Open<'l>> {
        if attempt.number != 0 {
            return None;
        }
        let index = self.plan.like(attempt.branch).live?;
        if self.open.as_ref().is_none_or(|last| last.index != index) {
            self.open = None;
            let Live { clock, state } = &self.live[index];
            self.open = Some(Open { index, now: clock.time(self.now), state: lock(state), equal: None });
        }
        self.open.as_mut()
    }
}

/// A sketch that is locked for primaries which start and end.
struct Open<'l> {
    index: usize,
    now: Time,
    state: MutexGuard<'l, State>,
    /// Primaries that ended alike and are not recorded yet.
    equal: Option<(Primary, u32, Time, End)>,
}

impl Open<'_> {
    fn start(&mut self) -> Primary {
        self.record();
        self.state.sketch.start(self.now)
    }

    fn end(&mut self, primary: Primary, at: Time, end: End) {
        match &mut self.equal {
            Some((equal, n, when, how)) if *equal == primary && *when == at && *how == end => *n += 1,
            _ => {
                self.record();
                self.equal = Some((primary, 1, at, end));
            }
        }
    }

    fn record(&mut self) {
        if let Some((primary, n, at, end)) = self.equal.take() {
            self.state.sketch.record_equal(&primary, n, at, end);
        }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.record();
    }
}
