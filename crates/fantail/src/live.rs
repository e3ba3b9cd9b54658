//! Hedge delays that follow the latency: what the jobs of a plan have measured, and what each of them adds.

use std::sync::Arc;

use fantail_core::job::{AttemptId, Cut, Role};
use fantail_core::{End, Job, LiveDelay, LiveDelaySpec, Plan, Primary, Sketch, Time};

use crate::sync::Mutex;
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

    /// The delay as it is now.
    pub(crate) fn delay(&self) -> LiveDelay {
        let mut state = lock(&self.state);
        let now = self.clock.now();
        let (at, started) = state.taken;
        let age = now.saturating_sub(at);
        if age >= LATEST || age >= SOONEST && state.sketch.started() - started >= PRIMARIES {
            let snapshot = state.sketch.snapshot(now);
            state.delay.refresh(&snapshot);
            state.taken = (now, state.sketch.started());
        }
        state.delay.clone()
    }

    fn start(&self) -> Primary {
        let mut state = lock(&self.state);
        let now = self.clock.now();
        state.sketch.start(now)
    }

    fn end(&self, primary: Primary, end: End) {
        let mut state = lock(&self.state);
        let now = self.clock.now();
        state.sketch.record(primary, now, end);
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
    /// Of this job, unless the plan observes others.
    pub(crate) fn new(job: &Job, live: &Arc<[Live]>) -> Gauges {
        let plan = Arc::clone(job.plan());
        let measured = plan.observe() == 0 || job.is_observed();
        let live = if measured { Arc::clone(live) } else { Arc::default() };
        let branches = if live.is_empty() { 0 } else { plan.branches().len() };
        let running = (0..branches).map(|_| None).collect();
        Gauges { plan, live, running }
    }

    /// The attempt got its permit.
    pub(crate) fn start(&mut self, attempt: AttemptId) {
        if let (Role::Primary, Some(live)) = (attempt.role(), self.of(attempt.branch)) {
            let primary = live.start();
            self.running[attempt.branch as usize] = Some(primary);
        }
    }

    /// The attempt ended by itself.
    pub(crate) fn end(&mut self, attempt: AttemptId, answered: bool) {
        self.record(attempt, if answered { End::Answered } else { End::Failed });
    }

    /// The attempt was dropped.
    pub(crate) fn cut(&mut self, attempt: AttemptId, cut: Cut) {
        let declared = &self.plan.branches()[attempt.branch as usize];
        let deadline = match cut {
            Cut::TimedOut => declared.attempt_timeout,
            Cut::Deadline => declared.deadline,
            Cut::Lost | Cut::JobEnded => None,
        };
        self.record(attempt, deadline.map_or(End::Cancelled, |deadline| End::Cut { deadline }));
    }

    fn record(&mut self, attempt: AttemptId, end: End) {
        if attempt.role() != Role::Primary {
            return;
        }
        let primary = self.running.get_mut(attempt.branch as usize).and_then(Option::take);
        if let (Some(primary), Some(live)) = (primary, self.of(attempt.branch)) {
            live.end(primary, end);
        }
    }

    fn of(&self, branch: u32) -> Option<&Live> {
        self.live.get(self.plan.branches()[branch as usize].live?)
    }
}

impl Drop for Gauges {
    /// The job was dropped with all that ran.
    fn drop(&mut self) {
        for branch in 0..self.running.len() as u32 {
            self.record(AttemptId::primary(branch), End::Cancelled);
        }
    }
}
