//! The job: one execution of a plan, as a state machine.

mod event;
mod kept;
mod settle;
mod starts;
mod timers;

pub use event::{
    Action, AttemptId, Cause, Class, Cut, Event, Failure, NotStarted, Outcome, Refusal, Role, Verdict,
};

use alloc::collections::BinaryHeap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::mem;

use crate::plan::PPM;
use crate::{Branch, Ledger, Plan, Time};
use timers::Timers;

/// One execution of a plan.
///
/// # How to drive it
///
/// [`Job::start`] and [`Job::step`] append [`Action`]s; carry them out in order. Collect all that happens at one instant
/// and hand it to one `step`, in any order; call `step` with no events at [`Job::wake_at`]. What is stamped later than a
/// deadline is too late, what is stamped *at* it is in time. The machine owns no payload: answers and errors stay with
/// the driver, under the attempt's id.
///
/// Within one instant the order is answers, leaders that primed, failures (timeouts among them), deadlines, branches whose
/// turn it is, copies that fall due, grants; then branch, then attempt. The barrier is looked at after each of these groups, so that all which happened at the
/// same instant counts.
///
/// Nothing that the driver says can make it panic: a report on an attempt that is not in that state is ignored. So the
/// driver hands back a permit that is granted after [`Action::Withdraw`], and takes an [`Action::Cancel`] of an attempt
/// that it just reported as done.
///
/// In an [observed](Job::is_observed) job some attempts run on when it has its verdict. [`Action::Finish`] says that the
/// result is there, as always; a job whose [`kept`](Job::kept) is above zero is then driven on as before until it is not.
///
/// ```
/// use fantail_core::job::{Action, AttemptId, Event, Job, Start, Verdict};
/// use fantail_core::{BranchSpec, Plan, PlanSpec, Time, WaitFor};
/// use std::sync::Arc;
///
/// let branches = vec![BranchSpec::new("a"), BranchSpec::new("b")];
/// let plan = Plan::new(PlanSpec { wait_for: WaitFor::First(1), ..PlanSpec::new("first", branches) })?;
/// let mut actions = Vec::new();
/// let mut job = Job::start(Arc::new(plan), Start::default(), &mut actions);
///
/// let (a, b) = (AttemptId::primary(0), AttemptId::primary(1));
/// job.step(Time::ZERO, &mut vec![Event::Granted(a), Event::Granted(b)], &mut actions);
/// job.step(Time::from_millis(7), &mut vec![Event::Answered(b)], &mut actions);
/// assert_eq!(job.verdict(), Some(Verdict::Complete));
/// assert!(matches!(actions[..], [.., Action::Cancel(loser, _), Action::Finish(Verdict::Complete)] if loser == a));
/// # Ok::<(), fantail_core::PlanErrors>(())
/// ```
#[derive(Clone, Debug)]
pub struct Job {
    plan: Arc<Plan>,
    started_at: Time,
    now: Time,
    /// Added to target numbers, so that primaries of successive jobs go to different targets.
    rotation: u32,
    /// By [`Plan::live_delays`].
    live: Vec<Option<Time>>,
    sample: Sample,
    branches: Vec<BranchState>,
    /// By [`Plan::attempt_index`].
    attempts: Vec<AttemptState>,
    timers: Timers,
    /// The branch that leads, while the others have to wait for it.
    leading: Option<u32>,
    /// Branches that wait for nothing but the leader, and the next [`Job::start_ready`].
    ready: BinaryHeap<Reverse<u32>>,
    /// Branches that were lost, and what comes after them not yet; empty between events.
    losing: Vec<u32>,
    /// What is due before the instant that a step is about; empty between steps.
    overdue: Vec<Event>,
    /// Branches without an outcome.
    open: u32,
    answered: u32,
    required_answered: u32,
    /// The first required branch that can no longer answer.
    required_lost: Option<u32>,
    /// The branch whose loss put `at_least` out of reach.
    too_few: Option<u32>,
    verdict: Option<Verdict>,
    finished_at: Time,
    ledger: Ledger,
}

#[derive(Clone, Copy, Debug)]
struct BranchState {
    outcome: Option<Outcome>,
    /// Branches that it comes after and still has to wait for.
    waits_for: u32,
    /// Attempts running.
    running: u8,
    /// Attempts asked for and neither granted nor refused.
    asking: u8,
    /// Attempts that have started.
    started: u8,
    /// The next copy that has not fallen due; copies are numbered from 1.
    next_copy: u8,
    /// Whether it may fail over.
    failover: bool,
    winner: Option<u8>,
    /// The first permit of any attempt.
    first_permit: Option<Time>,
    /// The primary's permit: what the hedge delays count from.
    primary_permit: Time,
    settled_at: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttemptState {
    Idle,
    Asking,
    Running {
        since: Time,
    },
    /// Not needed since then, but running.
    Kept {
        since: Time,
    },
    Ended,
}

/// What a job is a sample of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sample {
    Nothing,
    /// Primaries that are not needed run on.
    Observed,
    /// There are no copies.
    Holdout,
}

impl Sample {
    /// Which of the plan's shares of jobs the draw falls in.
    fn of(plan: &Plan, draw: u32) -> Sample {
        let level = ((u64::from(draw) * u64::from(PPM)) >> 32) as u32;
        let from_top = PPM - level;
        if from_top <= plan.observe() {
            Sample::Observed
        } else if from_top <= plan.observe() + plan.holdout() {
            Sample::Holdout
        } else {
            Sample::Nothing
        }
    }
}

/// What a job is given at its start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start<'a> {
    /// When it starts.
    pub now: Time,
    /// Moves the choice of targets: give successive jobs successive numbers to spread primaries.
    pub rotation: u32,
    /// A word drawn evenly, which tells whether the job is [observed](Job::is_observed) or [held out](Job::is_held_out);
    /// zero is neither, unless all are.
    pub draw: u32,
    /// What the [live delays](Plan::live_delays) of the plan are now, in their order; `None` is never. Those that are not
    /// given are the delays that the branches state.
    pub live: &'a [Option<Time>],
}

/// What is known of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// What became of it; `None` while the job runs and it may still answer.
    pub outcome: Option<Outcome>,
    /// The attempt that answered.
    pub winner: Option<AttemptId>,
    /// How many attempts started.
    pub attempts: u32,
    /// From the job's start to the first permit, or to the outcome when there was none.
    pub waited: Time,
    /// From the first permit to the outcome; zero when there was no permit.
    pub ran: Time,
}

impl BranchState {
    fn new(declared: &Branch, sample: Sample) -> BranchState {
        let copies = declared.delays().len() as u8;
        BranchState {
            outcome: None,
            waits_for: 0,
            running: 0,
            asking: 0,
            started: 0,
            next_copy: if sample == Sample::Holdout { copies + 1 } else { 1 },
            failover: declared.failover,
            winner: None,
            first_permit: None,
            primary_permit: Time::ZERO,
            settled_at: Time::ZERO,
        }
    }
}

impl Job {
    /// Starts a job of `plan`, asking for every primary that need not wait for other branches.
    pub fn start(plan: Arc<Plan>, start: Start<'_>, actions: &mut Vec<Action>) -> Job {
        let n = plan.branches().len();
        let waits = plan.leader().is_some() || plan.has_stages();
        let waiting = if waits { n } else { 0 };
        let mut job = Job {
            started_at: Time::ZERO,
            now: Time::ZERO,
            rotation: 0,
            live: Vec::with_capacity(plan.live_delays().len()),
            sample: Sample::Nothing,
            branches: Vec::with_capacity(n),
            attempts: Vec::with_capacity(plan.attempts()),
            timers: Timers::new(&plan),
            leading: None,
            ready: BinaryHeap::with_capacity(waiting),
            losing: Vec::with_capacity(waiting.max(1)),
            overdue: Vec::new(),
            open: 0,
            answered: 0,
            required_answered: 0,
            required_lost: None,
            too_few: None,
            verdict: None,
            finished_at: Time::ZERO,
            ledger: Ledger::default(),
            plan,
        };
        job.restart(start, actions);
        job
    }

    /// Starts another job of the same plan in place of this one, whose place in memory it takes: after the first job, none
    /// of them allocates. What this one still has running, kept or asked for is forgotten, so end it first.
    pub fn restart(&mut self, start: Start<'_>, actions: &mut Vec<Action>) {
        let Start { now, rotation, draw, live } = start;
        (self.started_at, self.now, self.finished_at) = (now, now, now);
        self.rotation = rotation;
        self.sample = Sample::of(&self.plan, draw);
        self.live.clear();
        self.live.extend_from_slice(live);
        self.reset_branches();
        self.attempts.clear();
        self.attempts.resize(self.plan.attempts(), AttemptState::Idle);
        self.timers.clear();
        self.leading = self.plan.leader().map(|leader| leader.branch as u32);
        self.ready.clear();
        self.open = self.plan.n();
        (self.answered, self.required_answered) = (0, 0);
        (self.required_lost, self.too_few, self.verdict) = (None, None, None);
        self.ledger = Ledger::default();
        self.start_first(actions);
    }

    fn reset_branches(&mut self) {
        let (plan, sample) = (&self.plan, self.sample);
        let mut last = (0, BranchState::new(&plan.branches()[0], sample));
        let state = |like: &u32| {
            if last.0 != *like {
                last = (*like, BranchState::new(&plan.branches()[*like as usize], sample));
            }
            last.1
        };
        self.branches.clear();
        self.branches.extend(plan.likes().iter().map(state));
        if plan.has_stages() {
            for (state, declared) in self.branches.iter_mut().zip(plan.branches()) {
                state.waits_for = declared.after.len() as u32;
            }
        }
    }

    /// As [`Job::restart`], a job of another plan: memory is taken only where that plan needs more.
    pub fn restart_as(&mut self, plan: &Arc<Plan>, start: Start<'_>, actions: &mut Vec<Action>) {
        if !Arc::ptr_eq(&self.plan, plan) {
            self.plan = Arc::clone(plan);
        }
        self.restart(start, actions);
    }

    /// Takes in all that happened at `now`, and what fell due until then; drains `events`.
    ///
    /// A `now` before that of an earlier step counts as that one.
    pub fn step(&mut self, now: Time, events: &mut Vec<Event>, actions: &mut Vec<Action>) {
        self.now = self.now.max(now);
        let mut overdue = mem::take(&mut self.overdue);
        while let Some(due) = self.wake_at().filter(|due| *due < self.now) {
            self.instant(due, &mut overdue, actions);
            overdue.clear();
        }
        self.overdue = overdue;
        self.instant(self.now, events, actions);
        events.clear();
        self.forget_timers();
        self.assert_sums();
    }

    /// Everything of one instant: what was reported, and what is due at `due`.
    fn instant(&mut self, due: Time, events: &mut Vec<Event>, actions: &mut Vec<Action>) {
        while let Some(attempt) = self.timers.pop_timeout(due) {
            events.push(Event::Failed(attempt, Failure::TimedOut));
        }
        Event::sort(events);
        let answers = events.partition_point(|event| event.rank() < Event::FAILED);
        let failures = events.partition_point(|event| event.rank() < Event::GRANTED);
        for event in &events[..answers] {
            self.report(*event, actions);
        }
        self.judge(actions);
        for event in &events[answers..failures] {
            self.report(*event, actions);
        }
        self.judge(actions);
        while let Some(branch) = self.timers.pop_deadline(&self.plan, self.started_at, due) {
            self.deadline(branch, actions);
        }
        self.judge(actions);
        self.start_ready(due, actions);
        while let Some(copy) = self.timers.pop_hedge(due) {
            self.copy_due(copy, actions);
        }
        for event in &events[failures..] {
            self.report(*event, actions);
        }
        self.judge(actions);
        // A refusal may have made it somebody's turn.
        self.start_ready(due, actions);
    }

    #[inline]
    fn report(&mut self, event: Event, actions: &mut Vec<Action>) {
        if self.is_observed() && self.kept() > 0 && self.report_kept(event, actions) || self.verdict.is_some()
        {
            return;
        }
        match event {
            Event::Answered(attempt) => self.answered(attempt, actions),
            Event::Primed(attempt) => self.primed(attempt),
            Event::Failed(attempt, failure) => self.failed(attempt, failure, actions),
            Event::Granted(attempt) => self.granted(attempt, actions),
            Event::Refused(attempt, reason) => self.refused(attempt, reason, actions),
            Event::Dropped => {
                self.judge(actions);
                if self.verdict.is_none() {
                    self.finish(Verdict::Failed(Cause::Dropped), actions);
                }
            }
        }
    }

    /// When [`Job::step`] must be called next, events or not; `None` when nothing is due any more.
    pub fn wake_at(&self) -> Option<Time> {
        let over = self.verdict.is_some() && self.kept() == 0;
        if over { None } else { self.timers.next(&self.plan, self.started_at) }
    }

    /// How the job ended; `None` while it runs.
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// How many attempts run on that the job needs no more. Until there are none, a job that has its verdict is to be
    /// driven on: told of their ends, and stepped at [`Job::wake_at`].
    pub fn kept(&self) -> u64 {
        self.ledger.kept.running()
    }

    /// Whether its primaries that are not needed run on.
    pub fn is_observed(&self) -> bool {
        self.sample == Sample::Observed
    }

    /// Whether it starts no copies.
    pub fn is_held_out(&self) -> bool {
        self.sample == Sample::Holdout
    }

    /// The plan that this executes.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// When it started.
    pub fn started_at(&self) -> Time {
        self.started_at
    }

    /// From the start to the verdict, or to the latest step while it runs.
    pub fn elapsed(&self) -> Time {
        let until = if self.verdict.is_some() { self.finished_at } else { self.now };
        until.saturating_sub(self.started_at)
    }

    /// How many branches answered.
    pub fn answers(&self) -> u32 {
        self.answered
    }

    /// What is known of a branch; `None` when the plan has no such index.
    pub fn slot(&self, branch: u32) -> Option<Slot> {
        let state = self.branches.get(branch as usize)?;
        let until = if state.outcome.is_some() { state.settled_at } else { self.now };
        let permit = state.first_permit;
        Some(Slot {
            outcome: state.outcome,
            winner: self.winner(branch),
            attempts: u32::from(state.started),
            waited: permit.unwrap_or(until).saturating_sub(self.started_at),
            ran: permit.map_or(Time::ZERO, |permit| until.saturating_sub(permit)),
        })
    }

    /// The attempt that answered for a branch.
    pub fn winner(&self, branch: u32) -> Option<AttemptId> {
        let number = self.branches.get(branch as usize)?.winner?;
        Some(AttemptId { branch, number })
    }

    /// The branches that the result lacks, in order: none while the job runs or when it is complete.
    pub fn incomplete(&self) -> impl Iterator<Item = u32> + '_ {
        let lacking = matches!(self.verdict, Some(Verdict::Partial | Verdict::Failed(_)));
        (0..self.plan.n()).filter(move |branch| {
            lacking && self.branches[*branch as usize].outcome != Some(Outcome::Answered)
        })
    }

    /// Attempts, busy time and refusals so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Forgets what is due for what is over, so that nobody wakes up for it.
    fn forget_timers(&mut self) {
        if self.verdict.is_some() && self.kept() == 0 {
            self.timers.forget_all(&self.plan);
            return;
        }
        let settled = |branch: u32| self.branches[branch as usize].outcome.is_some();
        let runs = |attempt: AttemptId| {
            let index = self.plan.attempt_index(attempt);
            index.is_some_and(|index| {
                matches!(self.attempts[index], AttemptState::Running { .. } | AttemptState::Kept { .. })
            })
        };
        self.timers.forget(&self.plan, settled, runs);
    }

    fn state(&self, attempt: AttemptId) -> Option<AttemptState> {
        self.plan.attempt_index(attempt).map(|index| self.attempts[index])
    }

    #[inline]
    fn state_mut(&mut self, attempt: AttemptId) -> Option<&mut AttemptState> {
        self.plan.attempt_index(attempt).map(|index| &mut self.attempts[index])
    }

    /// What must hold after every step, and what must not.
    fn assert_sums(&self) {
        let Ledger { primaries, copies, failovers, .. } = &self.ledger;
        let running = primaries.running() + copies.running() + failovers.running();
        match self.verdict {
            Some(_) => assert!(running == 0 && self.open == 0, "a finished job has nothing open"),
            None => {
                assert!(self.open > 0 && self.answered < self.plan.n(), "a running job has something open");
            }
        }
        assert!(self.answered + self.open <= self.plan.n(), "no branch is both answered and open");
    }
}
