//! Drives a job of [`fantail_core`] in the task that polls it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use fantail_core::job::{Action, AttemptId, Class, Cut, Event, Refusal, Start, Verdict};
use fantail_core::{Job, Plan, Time};
use tokio::task::coop;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::done::Answer;
use crate::fanout::{Keep, Run, Shared};
use crate::held::{Held, Live};
use crate::inputs::Tap;
use crate::limiter::{Letter, Mailbox, Permit};
use crate::live::Gauges;
use crate::wakes::{Wakes, Woken};
use crate::watch::{End, Watch};
use crate::{Attempt, AttemptError, Clock, Done, JobId, SharedLimiter, lock};

/// A job, and all that the machine does not own: futures, permits, answers, errors and the timer.
///
/// It holds no rule of its own: it reports what happened and carries out what the machine says.
pub(crate) struct Driver<'f> {
    shared: Arc<Shared>,
    id: JobId,
    watch: Watch,
    clock: Clock,
    job: Job,
    calls: Vec<Run<'f>>,
    taps: Vec<Tap>,
    held: Held<'f>,
    gauges: Gauges,
    wakes: Arc<Wakes>,
    mailbox: Arc<Mailbox>,
    timer: Pin<Box<Sleep>>,
    /// Attempts to poll, each once before any of them twice.
    to_poll: VecDeque<Woken>,
    /// Answers and failures that were found, each with when it was there.
    found: Vec<(Time, Event)>,
    events: Vec<Event>,
    actions: Vec<Action>,
    /// Answers reported in the current step, until the machine says whether they won.
    reported: Vec<(AttemptId, Answer)>,
    answers: Vec<Option<Answer>>,
    errors: Vec<Vec<AttemptError>>,
    /// The branches that answered, until somebody asks for them; `None` when nobody will.
    arrived: Option<VecDeque<u32>>,
    /// By attempt index; `None` for those that have not started. Empty where no branch has two.
    targets: Vec<Option<u32>>,
    /// Answered primaries that the budgets have been told of.
    earned: u64,
}

impl<'f> Driver<'f> {
    /// Starts the job now. When it is `streamed`, answers are named as they come.
    pub(crate) fn start(
        shared: Arc<Shared>,
        id: Option<JobId>,
        calls: Vec<Run<'f>>,
        taps: Vec<Tap>,
        streamed: bool,
    ) -> Driver<'f> {
        let plan = Arc::clone(&shared.plan);
        let n = plan.branches().len();
        let clock = Clock::start();
        let wakes = Wakes::new(plan.attempts(), shared.timed, clock);
        let mailbox = Mailbox::new(Arc::clone(&wakes));
        let mut actions = Vec::new();
        let (rotation, draw, next_id) = shared.next_job();
        let id = id.unwrap_or(next_id);
        let live: Vec<Option<Time>> = shared.live.iter().map(|live| live.delay().delay()).collect();
        let start = Start { now: clock.now(), rotation, draw, live: &live };
        let job = Job::start(Arc::clone(&plan), start, &mut actions);
        let attempts = plan.attempts();
        let mut driver = Driver {
            id,
            watch: Watch::start(shared.observer.as_ref(), &plan, id),
            clock,
            gauges: Gauges::new(&job, &shared.live),
            job,
            calls,
            taps,
            held: Held::new(attempts, Arc::clone(&mailbox)),
            mailbox,
            wakes,
            timer: Box::pin(sleep_until(Instant::now())),
            to_poll: VecDeque::new(),
            found: Vec::new(),
            events: Vec::new(),
            actions,
            reported: Vec::new(),
            answers: (0..n).map(|_| None).collect(),
            errors: (0..n).map(|_| Vec::new()).collect(),
            arrived: streamed.then(VecDeque::new),
            targets: vec![None; if attempts > n { attempts } else { 0 }],
            earned: 0,
            shared,
        };
        driver.act();
        driver
    }

    /// The result of a job that has come to `verdict`; what it keeps runs on.
    pub(crate) fn into_done(mut self, verdict: Verdict, keep: Option<Keep<'f>>) -> Done {
        let answers = mem::take(&mut self.answers).into();
        let (id, errors) = (self.id, mem::take(&mut self.errors));
        let job = match keep {
            Some(keep) if self.job.kept() > 0 => {
                let job = self.job.clone();
                keep(self);
                job
            }
            _ => self.job,
        };
        Done { id, job, verdict, answers, errors }
    }

    pub(crate) fn id(&self) -> JobId {
        self.id
    }

    /// The answers so far, by branch.
    pub(crate) fn answers_mut(&mut self) -> &mut [Option<Answer>] {
        &mut self.answers
    }

    /// The next branch that answered and was not named yet.
    pub(crate) fn arrived(&mut self) -> Option<u32> {
        self.arrived.as_mut()?.pop_front()
    }

    /// Ready once the job has a verdict, and nothing that it started is left.
    pub(crate) fn poll(&mut self, task: &mut Context<'_>) -> Poll<Verdict> {
        self.poll_until(task, Job::verdict)
    }

    /// Ready once nothing runs that was kept.
    fn poll_kept(&mut self, task: &mut Context<'_>) -> Poll<()> {
        let poll = self.poll_until(task, |job| (job.kept() == 0).then_some(()));
        if poll.is_ready() {
            self.watch.observed(&self.job);
        }
        poll
    }

    fn poll_until<T>(&mut self, task: &mut Context<'_>, over: impl Fn(&Job) -> Option<T>) -> Poll<T> {
        self.wakes.register(task.waker());
        // An attempt that wakes itself is polled again in a later poll, not in this one: it may be yielding. And it is
        // polled again only after all the others that were woken, which tokio's budget may have left over.
        let resumed = !self.to_poll.is_empty();
        if !resumed {
            self.wakes.take(&mut self.to_poll);
        }
        loop {
            self.poll_attempts();
            self.read_mail();
            let left_over = !self.to_poll.is_empty();
            if self.step(left_over) {
                continue;
            }
            if let Some(end) = over(&self.job) {
                return Poll::Ready(end);
            }
            // Whether something is due is judged by the clock: where the budget is spent, no timer rings.
            let permits_at = self.permits_at();
            if permits_at.is_some_and(|at| at <= Instant::now()) {
                self.shared.limiters.iter().for_each(SharedLimiter::serve);
                continue;
            }
            if left_over || resumed {
                // To poll the rest, or to take in those that were woken while it was polled.
                task.waker().wake_by_ref();
                return Poll::Pending;
            }
            let wake_at = self.job.wake_at().and_then(|at| self.clock.instant(at));
            let Some(at) = permits_at.into_iter().chain(wake_at).min() else { return Poll::Pending };
            self.timer.as_mut().reset(at);
            if self.timer.as_mut().poll(task).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Tells the machine what happened and that it is time, if there is anything to tell.
    fn step(&mut self, left_over: bool) -> bool {
        let now = self.clock.now();
        let due = self.job.wake_at().filter(|at| *at <= now);
        // What is left over to be polled may have been there before that or at that very instant, and then it is in time.
        let early = |due| self.to_poll.iter().any(|woken| woken.since.is_some_and(|since| since <= due));
        let wait = left_over && due.is_some_and(|due| due == now || early(due));
        let tell = !wait && (due.is_some() || !self.events.is_empty() || !self.found.is_empty());
        if tell {
            if due.is_some_and(|due| due < now) {
                self.tell_in_order(now);
            }
            self.events.extend(self.found.drain(..).map(|(_, event)| event));
            self.job.step(now, &mut self.events, &mut self.actions);
            self.keep_answers();
            self.act();
        } else if self.events.is_empty() {
            // What came by mail for attempts that were gone.
            self.held.hand_back();
        }
        tell
    }

    /// The task was too busy to look when something fell due: tells the machine what was there by then as of when it was
    /// there, so that it is no later for it.
    fn tell_in_order(&mut self, now: Time) {
        self.found.sort_by_key(|(at, _)| *at);
        let earlier = self.found.partition_point(|(at, _)| *at < now);
        let mut events = Vec::new();
        for group in self.found[..earlier].chunk_by(|one, other| one.0 == other.0) {
            events.extend(group.iter().map(|(_, event)| *event));
            self.job.step(group[0].0, &mut events, &mut self.actions);
        }
        self.found.drain(..earlier);
    }

    /// When a limiter is to hand out permits and it falls to this job to see to it.
    fn permits_at(&self) -> Option<Instant> {
        self.shared.limiters.iter().filter_map(|limiter| limiter.alarm_of(&self.mailbox)).min()
    }

    fn plan(&self) -> &Arc<Plan> {
        self.job.plan()
    }

    fn index(&self, attempt: AttemptId) -> usize {
        self.plan().attempt_index(attempt).expect("the machine names declared attempts only")
    }

    /// Does what the machine said, then lets permits move. So grants come last in an instant: after the credit that its
    /// answers earn, and by the classes of all who ask.
    fn act(&mut self) {
        self.carry_out();
        self.read_mail();
        self.held.hand_back();
        self.shared.limiters.iter().for_each(SharedLimiter::serve);
    }

    fn carry_out(&mut self) {
        let mut actions = mem::take(&mut self.actions);
        for action in actions.drain(..) {
            match action {
                Action::Ask { attempt, class, budgeted, until } => {
                    let until = until.and_then(|until| self.clock.instant(until));
                    if let Err(reason) = self.ask(attempt, class, budgeted, until) {
                        self.refuse(attempt, reason);
                    }
                }
                Action::Start { attempt, target, until } => {
                    let until = until.and_then(|until| self.clock.instant(until));
                    self.start_attempt(attempt, target, until);
                }
                Action::Withdraw(attempt) => drop(self.let_go(attempt)),
                Action::Keep(attempt) => self.watch.kept(attempt),
                Action::Cancel(attempt, cut) => {
                    if self.let_go(attempt) {
                        self.watch.ended(attempt, End::Cut(cut));
                    }
                    self.gauges.cut(attempt, cut);
                    let declared = &self.plan().branches()[attempt.branch as usize];
                    if let (Cut::TimedOut, Some(timeout)) = (cut, declared.attempt_timeout) {
                        self.add_error(attempt, AttemptError::timed_out(timeout));
                    }
                }
                Action::Finish(verdict) => self.watch.finished(&self.job, verdict),
            }
        }
        self.actions = actions;
    }

    fn ask(
        &mut self,
        attempt: AttemptId,
        class: Class,
        budgeted: bool,
        until: Option<Instant>,
    ) -> Result<(), Refusal> {
        let budget = self.shared.budget(attempt.role()).filter(|_| budgeted).map(Arc::clone);
        let declared = &self.plan().branches()[attempt.branch as usize];
        let live = if let Some(limiter) = declared.limiter {
            let limiter = &self.shared.limiters[limiter];
            let place = limiter.ask(&self.mailbox, attempt, budget, class, declared.weight, until)?;
            Live::Queued { place }
        } else {
            if budget.as_ref().is_some_and(|budget| !lock(budget).take()) {
                return Err(Refusal::Budget);
            }
            self.events.push(Event::Granted(attempt));
            Live::Permitted { permit: Permit::new(None, budget) }
        };
        let index = self.index(attempt);
        *self.held.slot(index) = Some(live);
        Ok(())
    }

    fn start_attempt(&mut self, id: AttemptId, target: u32, until: Option<Instant>) {
        let index = self.index(id);
        let Some(Live::Permitted { permit }) = self.held.slot(index).take() else {
            unreachable!("the machine starts what was granted, and {id:?} was not");
        };
        self.gauges.start(id);
        let mailbox = Arc::clone(&self.mailbox);
        let tried = self.tried(id);
        self.targets.get_mut(index).into_iter().for_each(|tried| *tried = Some(target));
        let attempt =
            Attempt { plan: Arc::clone(self.plan()), job: self.id, id, target, tried, until, mailbox };
        let span = self.watch.started(&attempt);
        let future = span.in_scope(|| permit.under(|| self.calls[id.branch as usize](attempt)));
        let waker = self.wakes.waker(index);
        let permit = permit.used();
        *self.held.slot(index) = Some(Live::Running { attempt: id, future, waker, permit, span });
        self.to_poll.push_back(Woken { attempt: index, since: None });
    }

    /// The targets of the branch's attempts that have started.
    fn tried(&self, id: AttemptId) -> Vec<u32> {
        if self.targets.is_empty() {
            return Vec::new();
        }
        let indexes = self.plan().attempts_of(id.branch).filter_map(|other| self.plan().attempt_index(other));
        indexes.filter_map(|index| self.targets[index]).collect()
    }

    /// Whether there was anything to let go of.
    fn let_go(&mut self, attempt: AttemptId) -> bool {
        let index = self.index(attempt);
        let live = self.held.slot(index).is_some();
        self.held.let_go(index);
        live
    }

    fn refuse(&mut self, attempt: AttemptId, reason: Refusal) {
        self.watch.refused(attempt, reason);
        self.events.push(Event::Refused(attempt, reason));
    }

    /// Polls what is to be polled, as far as tokio's budget for one poll of a task lasts: without it, what uses tokio
    /// is pending even when it is ready.
    fn poll_attempts(&mut self) {
        while coop::has_budget_remaining()
            && let Some(woken) = self.to_poll.pop_front()
        {
            // What was not woken was polled as soon as it started.
            let since = woken.since.unwrap_or(Time::MAX);
            let ended = self.held.poll(woken.attempt);
            if let Some((attempt, result)) = &ended {
                self.gauges.end(*attempt, result.is_ok());
            }
            match ended {
                None => {}
                Some((attempt, Ok(answer))) => {
                    self.found.push((since, Event::Answered(attempt)));
                    self.reported.push((attempt, answer));
                }
                Some((attempt, Err(error))) => {
                    self.found.push((since, Event::Failed(attempt, error.failure())));
                    self.watch.ended(attempt, End::Failed(error.failure()));
                    self.pass_on_pushback(attempt, &error);
                    self.add_error(attempt, error);
                }
            }
        }
    }

    fn pass_on_pushback(&self, attempt: AttemptId, error: &AttemptError) {
        let limiter = self.plan().branches()[attempt.branch as usize].limiter;
        if let (Some(limiter), Some(pause)) = (limiter, error.pause()) {
            self.shared.limiters[limiter].push_back(pause);
        }
    }

    fn add_error(&mut self, attempt: AttemptId, error: AttemptError) {
        // The result of a job that was kept has gone without.
        let Some(errors) = self.errors.get_mut(attempt.branch as usize) else { return };
        let at = if attempt.number == 0 { 0 } else { errors.len() };
        errors.insert(at, error);
    }

    fn read_mail(&mut self) {
        for (attempt, letter) in self.mailbox.take() {
            let verdict = match letter {
                Letter::Primed => {
                    self.events.push(Event::Primed(attempt));
                    continue;
                }
                Letter::Permit(verdict) => verdict,
            };
            let index = self.index(attempt);
            let slot = self.held.slot(index);
            let queued = matches!(slot, Some(Live::Queued { .. }));
            match verdict {
                Ok(permit) if !queued => self.held.let_go_of(permit),
                Err(_) if !queued => {}
                Ok(permit) => {
                    *slot = Some(Live::Permitted { permit });
                    self.events.push(Event::Granted(attempt));
                }
                Err(reason) => {
                    *slot = None;
                    self.refuse(attempt, reason);
                }
            }
        }
    }

    /// Keeps the answers that won, and credits the budgets with answered primaries.
    fn keep_answers(&mut self) {
        for (attempt, answer) in self.reported.drain(..) {
            let winner = self.job.slot(attempt.branch).and_then(|slot| slot.winner);
            let won = winner == Some(attempt);
            self.watch.ended(
                attempt,
                match winner {
                    Some(_) if won => End::Won,
                    Some(_) => End::Cut(Cut::Lost),
                    None => End::Cut(Cut::JobEnded),
                },
            );
            if won {
                for tap in &mut self.taps {
                    tap.pass(attempt.branch, &answer);
                }
                self.answers[attempt.branch as usize] = Some(answer);
                self.arrived.iter_mut().for_each(|arrived| arrived.push_back(attempt.branch));
            }
        }
        let won = self.job.ledger().primaries.won;
        if won > self.earned {
            self.shared.earn(won - self.earned);
        }
        self.earned = won;
    }
}

impl Driver<'static> {
    /// Lets what was kept run on, in a task of its own.
    pub(crate) fn run_on(mut self) {
        drop(tokio::spawn(poll_fn(move |task| self.poll_kept(task))));
    }
}
