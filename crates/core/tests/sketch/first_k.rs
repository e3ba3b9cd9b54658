//! The loop closed through jobs that are over at their first k answers, whose branches are slow together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use fantail_core::job::{Action, AttemptId, Cut, Event, Job, Role, Start};
use fantail_core::plan::PPM;
use fantail_core::{
    BranchSpec, Budget, End, Estimate, Hedge, LiveDelay, LiveDelaySpec, Plan, PlanSpec, Primary, Sketch,
    Time, WaitFor,
};

use crate::support::{Draws, nanos, p95};

const JOBS: u64 = 40_000;
const BRANCHES: usize = 8;
const FIRST: u32 = 5;
/// One branch in 750 takes longer.
const DEADLINE: Time = Time::from_secs(2);
/// The p95 of `exp(N(0, 1))` times 100 ms, in seconds, and its slope there, `t f(t)`.
const TRUTH: f64 = 0.518_019_6;
const SLOPE: f64 = 0.103_135_640_376_134_5;

fn plan(observe: u32) -> Arc<Plan> {
    let branch = |number| BranchSpec {
        repeatable: true,
        hedge: Some(Hedge::after(Time::from_millis(500))),
        live: Some(0),
        ..BranchSpec::new(format!("b{number}"))
    };
    let spec = PlanSpec {
        wait_for: WaitFor::First(FIRST),
        deadline: Some(DEADLINE),
        observe,
        live_delays: vec![LiveDelaySpec::new(p95())],
        ..PlanSpec::new("first", (0..BRANCHES).map(branch).collect())
    };
    Arc::new(Plan::new(spec).unwrap())
}

/// A driver that feeds the sketch with the jobs that tell of the latency: all of them, or those that are observed.
struct Loop {
    draws: Draws,
    job: Job,
    now: Time,
    /// What a job of these branches has in common: half of the variance.
    shared: f64,
    queue: BinaryHeap<Reverse<(Time, AttemptId)>>,
    events: Vec<Event>,
    actions: Vec<Action>,
    sketch: Sketch,
    measured: [Option<Primary>; BRANCHES],
    delay: LiveDelay,
    budget: Budget,
    /// Primaries of a measured job above the true p95: how many jobs, and the squares of the numbers less their mean.
    above: (f64, f64),
    /// Seconds under a permit, and those for the sake of observing.
    busy: f64,
    kept: f64,
}

impl Loop {
    fn new(seed: u64, observe: u32) -> Loop {
        let plan = plan(observe);
        Loop {
            draws: Draws::new(seed),
            now: Time::ZERO,
            shared: 0.0,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            actions: Vec::new(),
            sketch: Sketch::new(Sketch::HALF_LIFE).unwrap(),
            measured: [const { None }; BRANCHES],
            delay: LiveDelay::new(plan.live_delays()[0]).unwrap(),
            budget: Budget::new(plan.hedge_budget()),
            above: (0.0, 0.0),
            busy: 0.0,
            kept: 0.0,
            job: Job::start(plan, Start::default(), &mut Vec::new()),
        }
    }

    fn latency(&mut self) -> Time {
        let half = 0.5_f64.sqrt();
        let normal = half * self.shared + half * self.draws.normal();
        Time::from_nanos(nanos(normal.exp()))
    }

    /// One more job, to the end of all that it started.
    fn run(&mut self) {
        self.shared = self.draws.normal();
        let (live, draw) = ([self.delay.delay()], self.draws.word());
        self.actions.clear();
        self.job.restart(Start { now: self.now, draw, live: &live, ..Start::default() }, &mut self.actions);
        let (mut earned, mut above) = (0, 0.0);
        loop {
            above += self.carry_out();
            if self.events.is_empty() {
                if self.job.verdict().is_some() && self.job.kept() == 0 {
                    break;
                }
                self.wait();
            }
            self.job.step(self.now, &mut self.events, &mut self.actions);
            let won = self.job.ledger().primaries.won;
            (earned..won).for_each(|_| self.budget.earn());
            earned = won;
        }
        let ledger = self.job.ledger();
        self.busy += ledger.total().busy.as_secs_f64();
        self.kept += ledger.kept.busy.as_secs_f64();
        self.queue.clear();
        if self.feeds() {
            let expected = 0.05 * BRANCHES as f64;
            self.above = (self.above.0 + 1.0, self.above.1 + (above - expected) * (above - expected));
        }
        self.now = self.now.saturating_add(DEADLINE);
    }

    fn feeds(&self) -> bool {
        self.job.plan().observe() == 0 || self.job.is_observed()
    }

    /// How many of the primaries that started are to take longer than the true p95.
    fn carry_out(&mut self) -> f64 {
        let mut above = 0.0;
        let mut actions = std::mem::take(&mut self.actions);
        for action in actions.drain(..) {
            match action {
                Action::Ask { attempt, budgeted, .. } => {
                    let paid = !budgeted || self.budget.take();
                    let refused = Event::Refused(attempt, fantail_core::job::Refusal::Budget);
                    self.events.push(if paid { Event::Granted(attempt) } else { refused });
                }
                Action::Start { attempt, .. } => {
                    let latency = self.latency();
                    self.queue.push(Reverse((self.now.saturating_add(latency), attempt)));
                    if attempt.role() == Role::Primary && self.feeds() {
                        above += f64::from(u8::from(latency.as_secs_f64() > TRUTH));
                        self.measured[attempt.branch as usize] = Some(self.sketch.start(self.now));
                    }
                }
                Action::Cancel(attempt, cut) => {
                    let cut =
                        if cut == Cut::Deadline { End::Cut { deadline: DEADLINE } } else { End::Cancelled };
                    self.ended(attempt, cut);
                }
                Action::Withdraw(_) | Action::Keep(_) | Action::Finish(_) => {}
            }
        }
        self.actions = actions;
        above
    }

    /// Waits for what comes next.
    fn wait(&mut self) {
        let end = self.queue.peek().map_or(Time::MAX, |next| next.0.0);
        self.now = end.min(self.job.wake_at().unwrap_or(Time::MAX));
        while let Some(&Reverse((_, attempt))) = self.queue.peek().filter(|next| next.0.0 <= self.now) {
            self.queue.pop();
            self.events.push(Event::Answered(attempt));
            self.ended(attempt, End::Answered);
        }
    }

    fn ended(&mut self, attempt: AttemptId, end: End) {
        match attempt.role() {
            Role::Primary => {
                if let Some(primary) = self.measured[attempt.branch as usize].take() {
                    self.sketch.record(primary, self.now, end);
                }
            }
            Role::Copy | Role::Failover => self.budget.end(),
        }
    }

    /// What is said of the p95 after each quarter of so many jobs, and the standard error of its estimate, relative to it.
    fn looks(&mut self, jobs: u64) -> Vec<(Estimate, f64)> {
        let mut looks = Vec::new();
        for number in 1..=jobs {
            self.run();
            if number.is_multiple_of(50) {
                let snapshot = self.sketch.snapshot(self.now);
                self.delay.refresh(&snapshot);
                if number.is_multiple_of(jobs / 4) {
                    // Primaries of one job are slow together, so that they tell less than as many of their own.
                    let (jobs, squares) = self.above;
                    let effective = snapshot.effective() * (0.95 * 0.05 * BRANCHES as f64) / (squares / jobs);
                    let error = (0.95 * 0.05 / effective).sqrt() / SLOPE;
                    looks.push((self.delay.estimate(), error));
                }
            }
        }
        looks
    }
}

#[test]
fn without_observed_jobs_the_p95_of_first_k_is_off_and_said_to_be() {
    let mut it = Loop::new(1, 0);
    assert!(it.delay.spec().biased);
    // Whatever is slow is cut where the whole job is slow, so that even the bound of what is not estimable is wrong.
    for (estimate, _) in it.looks(JOBS) {
        let (Estimate::Estimable(above) | Estimate::NotEstimable { above }) = estimate else {
            panic!("{estimate:?}")
        };
        assert!(above.as_secs_f64() > 1.05 * TRUTH, "{estimate:?}");
    }
}

/// That a share of observed jobs keeps each look within 5 %, or three standard errors, of the truth. How far off each is, and
/// its standard error.
fn stays_true(observe: u32, jobs: u64, seeds: u64) -> Vec<(f64, f64)> {
    let mut all = Vec::new();
    for seed in 1..=seeds {
        let mut it = Loop::new(seed, observe);
        assert!(!it.delay.spec().biased);
        for (estimate, error) in it.looks(jobs) {
            let Estimate::Estimable(p95) = estimate else { panic!("seed {seed}: {estimate:?}") };
            let off = p95.as_secs_f64() / TRUTH - 1.0;
            assert!(off.abs() <= (3.0 * error).max(0.05), "seed {seed}: off by {off}, {error}");
            all.push((off, error));
        }
        // Of the busy time: .4 % for each percent of the jobs.
        let extra = it.kept / it.busy / (f64::from(observe) / f64::from(PPM));
        assert!((0.35..0.45).contains(&extra), "seed {seed}: {extra} of the share");
    }
    all
}

/// Together looks are sharper, when each is two half-lives or more of the others' primaries away.
fn are_true_together(looks: &[(f64, f64)]) {
    let n = looks.len() as f64;
    let mean = looks.iter().map(|(off, _)| off).sum::<f64>() / n;
    let error = looks.iter().map(|(_, error)| error).sum::<f64>() / n;
    assert!(mean.abs() < 4.0 * error / n.sqrt(), "off by {mean} in the mean, {error}");
    assert!(mean.abs() < 0.05, "off by {mean} in the mean");
}

#[test]
fn with_observed_jobs_the_p95_of_first_k_stays_true() {
    are_true_together(&stays_true(100_000, JOBS, 6));
}

#[test]
fn one_job_in_a_hundred_is_enough_to_observe() {
    stays_true(10_000, JOBS, 6);
    let heavy = std::env::var_os("FANTAIL_HEAVY").is_some();
    are_true_together(&stays_true(10_000, 10 * JOBS, if heavy { 6 } else { 1 }));
}
