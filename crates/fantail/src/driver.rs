//! Drives a job of [`fantail_core`] in the task that polls it.

mod asks;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use fantail_core::job::{Action, AttemptId, Cut, Event, Refusal, Role, Verdict};
use fantail_core::{End as Measured, Job, Plan, Time};
use tokio::task::coop;
use tokio::time::{Instant, Sleep, sleep_until};
use tracing::Span;

use crate::calls::{Kept, NONE};
use crate::desk::Desk;
use crate::fanout::{Keep, Shared};
use crate::held::{CallList, Held, Seat};
use crate::inputs::Tap;
use crate::limiter::Permit;
use crate::live::Gauges;
use crate::mail::Letter;
use crate::under::Within;
use crate::wakes::Woken;
use crate::watch::{End, Watch};
use crate::{Attempt, AttemptError, Done, Failed, JobId, JoinError};

/// A job, and all that the machine does not own: futures, permits, answers, errors and the timer.
///
/// It holds no rule of its own: it reports what happened and carries out what the machine says.
pub(crate) struct Driver<'f> {
    shared: Arc<Shared>,
    id: JobId,
    watch: Watch,
    held: Held<'f>,
    gauges: Gauges,
    taps: Vec<Tap>,
    desk: Box<Desk>,
    /// The one timer, once the job has to wait, and when it rings.
    timer: Option<(Pin<Box<Sleep>>, Instant)>,
    /// The time, until something has been polled since it was read.
    now: Option<Moment>,
    /// Whether somebody asks for answers as they come.
    streamed: bool,
    /// Answered primaries that the budgets have been told of.
    earned: u64,
}

/// One instant, and what time that is for the job.
#[derive(Clone, Copy)]
struct Moment {
    at: Instant,
    time: Time,
}

impl<'f> Driver<'f> {
    /// Starts the job now. When it is `streamed`, answers are named as they come.
    pub(crate) fn start(
        shared: Arc<Shared>,
        id: Option<JobId>,
        calls: CallList<'f>,
        taps: Vec<Tap>,
        mut desk: Box<Desk>,
        streamed: bool,
    ) -> Driver<'f> {
        let plan = &shared.plan;
        let now = Instant::now();
        let (rotation, draw, next_id) = shared.next_job();
        let id = id.unwrap_or(next_id);
        desk.prepare(plan, id, shared.timed, now);
        desk.live.clear();
        desk.live.extend(shared.live.iter().map(|live| live.due(now)));
        let now = Moment { at: now, time: desk.clock.time(now) };
        desk.start(plan, rotation, draw, now.time);
        let (lists, measured) = (std::mem::take(&mut desk.lists), std::mem::take(&mut desk.measured));
        let mailbox = Arc::clone(&desk.context.mailbox);
        let mut driver = Driver {
            id,
            watch: Watch::start(shared.observer.as_ref(), plan, id),
            held: Held::new(calls, plan.attempts(), lists, mailbox),
            gauges: Gauges::new(desk.job(), &shared.live, measured),
            taps,
            desk,
            timer: None,
            now: None,
            streamed,
            earned: 0,
            shared,
        };
        driver.act(now);
        // Who joins a job polls it at once; who streams it may be busy before.
        driver.now = Some(now).filter(|_| !streamed);
        driver
    }

    /// The result of a job that has come to `verdict`; what it keeps runs on.
    pub(crate) fn into_result(self, verdict: Verdict, keep: Option<Keep<'f>>) -> Result<Done, JoinError> {
        let done = self.into_done(verdict, keep);
        match verdict {
            Verdict::Failed(_) => Err(JoinError::Failed(Box::new(Failed(done)))),
            Verdict::Complete | Verdict::Partial => Ok(done),
        }
    }

    fn into_done(mut self, verdict: Verdict, keep: Option<Keep<'f>>) -> Done {
        let (id, pool) = (self.id, Arc::clone(&self.shared.pool));
        let (answers, calls) = (self.desk.answers(), self.held.calls());
        answers.clear();
        answers.extend(calls.iter_mut().filter_map(|calls| calls.as_mut().take_answers()));
        let desk = match keep {
            Some(keep) if self.desk.job().kept() > 0 => {
                let desk = Box::new(self.desk.split());
                keep(self);
                desk
            }
            _ => {
                self.desk.lists = self.held.take_lists();
                self.desk.measured = self.gauges.take_list();
                self.desk
            }
        };
        Done::new(id, verdict, desk, pool)
    }

    pub(crate) fn id(&self) -> JobId {
        self.id
    }

    /// The answers so far of the branches that share their call with this one.
    pub(crate) fn answers_mut(&mut self, branch: u32) -> Option<&mut dyn Kept> {
        let calls = *self.desk.calls_of.get(branch as usize)?;
        // One that is there without having won may yet come to nothing.
        self.desk.job().winner(branch)?;
        self.held.calls().get_mut(calls as usize)?.as_mut().answers()
    }

    /// The next branch that answered and was not named yet.
    pub(crate) fn arrived(&mut self) -> Option<u32> {
        self.desk.arrived.pop_front()
    }

    /// Ready once the job has a verdict, and nothing that it started is left.
    pub(crate) fn poll(&mut self, task: &mut Context<'_>) -> Poll<Verdict> {
        self.poll_until(task, Job::verdict)
    }

    /// Ready once nothing runs that was kept.
    fn poll_kept(&mut self, task: &mut Context<'_>) -> Poll<()> {
        let poll = self.poll_until(task, |job| (job.kept() == 0).then_some(()));
        if poll.is_ready() {
            self.watch.observed(self.desk.job());
        }
        poll
    }

    fn poll_until<T>(&mut self, task: &mut Context<'_>, over: impl Fn(&Job) -> Option<T>) -> Poll<T> {
        // An attempt that wakes itself is polled again in a later poll, not in this one: it may be yielding. And it is
        // polled again only after all the others that were woken, which tokio's budget may have left over.
        let resumed = !self.desk.to_poll.is_empty();
        if !resumed {
            self.desk.wakers.wakes().take(&mut self.desk.to_poll);
        }
        let mut registered = false;
        loop {
            self.poll_attempts();
            self.read_mail();
            let left_over = !self.desk.to_poll.is_empty();
            let now = self.now();
            if self.step(now, left_over) {
                continue;
            }
            if let Some(end) = over(self.desk.job()) {
                return Poll::Ready(end);
            }
            if !registered {
                // What was woken, or came by mail, before there was anybody to wake is looked for after it.
                self.desk.wakers.wakes().register(task.waker());
                registered = true;
                continue;
            }
            // Whether something is due is judged by the clock: where the budget is spent, no timer rings.
            let permits_at = self.permits_at(now.at);
            if permits_at.is_some_and(|at| at <= now.at) {
                self.serve(now.at);
                continue;
            }
            if left_over || resumed || self.desk.wakers.wakes().any() {
                // To poll the rest, or to take in those that were woken while it was polled.
                task.waker().wake_by_ref();
                return self.wait();
            }
            let wake_at = self.desk.job().wake_at().and_then(|at| self.desk.clock.instant(at));
            let Some(at) = permits_at.into_iter().chain(wake_at).min() else { return self.wait() };
            if self.sleep(at, task).is_pending() {
                return self.wait();
            }
            self.now = None;
        }
    }

    fn now(&mut self) -> Moment {
        let clock = self.desk.clock;
        *self.now.get_or_insert_with(|| {
            let at = Instant::now();
            Moment { at, time: clock.time(at) }
        })
    }

    /// The task goes away: whatever time it is when it comes back, it is another.
    fn wait<T>(&mut self) -> Poll<T> {
        self.now = None;
        Poll::Pending
    }

    /// Ready by `at`, or before.
    fn sleep(&mut self, at: Instant, task: &mut Context<'_>) -> Poll<()> {
        let (timer, rings_at) = self.timer.get_or_insert_with(|| (Box::pin(sleep_until(at)), at));
        // One that rings too early is set anew then; mostly the job is over before.
        if *rings_at > at || timer.is_elapsed() {
            timer.as_mut().reset(at);
            *rings_at = at;
        }
        timer.as_mut().poll(task)
    }

    /// Tells the machine what happened and that it is time, if there is anything to tell. Whether there may be more.
    fn step(&mut self, moment: Moment, left_over: bool) -> bool {
        let desk = &mut *self.desk;
        let now = moment.time;
        let due = desk.job().wake_at().filter(|at| *at <= now);
        // What is left over to be polled may have been there before that or at that very instant, and then it is in time.
        let early = |due| desk.to_poll.iter().any(|woken| woken.since.is_some_and(|since| since <= due));
        let wait = left_over && due.is_some_and(|due| due == now || early(due));
        let tell = !wait && (due.is_some() || !desk.events.is_empty() || !desk.found.is_empty());
        if tell {
            self.measure(moment);
            if due.is_some_and(|due| due < now) {
                self.tell_in_order(now);
            }
            let desk = &mut *self.desk;
            desk.events.extend(desk.found.drain(..).map(|(_, event)| event));
            desk.step(now);
            self.keep_answers();
            self.act(moment);
        } else if self.desk.events.is_empty() {
            // What came by mail for attempts that were gone. It may be the turn of others of this job then.
            self.held.hand_back(moment.at);
            return self.held.has_mail();
        }
        tell
    }

    /// The task was too busy to look when something fell due: tells the machine what was there by then as of when it was
    /// there, so that it is no later for it.
    fn tell_in_order(&mut self, now: Time) {
        let desk = &mut *self.desk;
        desk.found.sort_by_key(|(at, _)| *at);
        let earlier = desk.found.partition_point(|(at, _)| *at < now);
        let mut later = std::mem::take(&mut desk.events);
        let mut found = std::mem::take(&mut desk.found);
        for group in found[..earlier].chunk_by(|one, other| one.0 == other.0) {
            desk.events.extend(group.iter().map(|(_, event)| *event));
            desk.step(group[0].0);
        }
        found.drain(..earlier);
        desk.found = found;
        desk.events.append(&mut later);
    }

    /// When a limiter is to hand out permits and it falls to this job to see to it.
    fn permits_at(&self, now: Instant) -> Option<Instant> {
        let limiters = self.shared.limiters.iter().filter(|_| self.held.queues());
        limiters.filter_map(|limiter| limiter.alarm_of(self.held.mailbox(), now)).min()
    }

    fn serve(&mut self, now: Instant) {
        for limiter in &self.shared.limiters {
            limiter.serve(now, Some(self.held.home()));
        }
    }

    fn plan(&self) -> &Plan {
        &self.shared.plan
    }

    fn index(&self, attempt: AttemptId) -> usize {
        self.plan().attempt_index(attempt).expect("the machine names declared attempts only")
    }

    /// Does what the machine said, then lets permits move. So grants come last in an instant: after the credit that its
    /// answers earn, and by the classes of all who ask.
    fn act(&mut self, now: Moment) {
        let mut actions = std::mem::take(&mut self.desk.actions);
        self.gauges.act(&actions, now.at);
        let other = actions.iter().rposition(|action| !matches!(action, Action::Start { .. }));
        let (first, starts) = actions.split_at(other.map_or(0, |other| other + 1));
        self.carry_out(first, now);
        self.read_mail();
        self.held.hand_back(now.at);
        if self.held.queues() {
            self.serve(now.at);
        }
        self.start_last(starts);
        actions.clear();
        self.desk.actions = actions;
    }

    fn carry_out(&mut self, actions: &[Action], now: Moment) {
        let mut rest = actions;
        let mut within = Within::default();
        while let [action, others @ ..] = rest {
            let asks = rest.iter().take_while(|action| matches!(action, Action::Ask { .. })).count();
            if asks > 0 {
                within.leave();
                self.ask(&rest[..asks], now);
                rest = &rest[asks..];
                continue;
            }
            rest = others;
            if let Action::Start { attempt, target, until } = *action {
                self.start_attempt(attempt, target, until, &mut within);
                continue;
            }
            within.leave();
            match *action {
                Action::Ask { .. } | Action::Start { .. } => {}
                Action::Withdraw(attempt) => {
                    self.held.let_go(self.index(attempt));
                }
                Action::Keep(attempt) => self.watch.kept(attempt),
                Action::Cancel(attempt, cut) => {
                    if self.held.let_go(self.index(attempt)) {
                        self.watch.ended(attempt, End::Cut(cut));
                    }
                    let timeout = self.plan().like(attempt.branch).attempt_timeout;
                    if let (Cut::TimedOut, Some(timeout)) = (cut, timeout) {
                        self.add_error(attempt, AttemptError::timed_out(timeout));
                    }
                }
                Action::Finish(verdict) => self.watch.finished(self.desk.job(), verdict),
            }
        }
    }

    /// Starts attempts when there is nothing else to do before they are polled: so each of them is polled at once, as long
    /// as tokio's budget lasts, and one that is ready takes no room.
    fn start_last(&mut self, starts: &[Action]) {
        let mut within = Within::default();
        for start in starts {
            let Action::Start { attempt: id, target, until } = *start else { continue };
            if self.watch.is_heard() || id.role() != Role::Primary || !coop::has_budget_remaining() {
                self.start_attempt(id, target, until, &mut within);
                continue;
            }
            let index = self.index(id);
            let attempt = self.attempt(index, id, target, until);
            self.now = None;
            let desk = &mut *self.desk;
            let calls = desk.calls_of[id.branch as usize];
            match self.held.run(index, calls, attempt, desk.wakers.of(index), &mut within) {
                Poll::Pending => {}
                Poll::Ready(Ok(seat)) => self.answered(id, seat, Time::MAX),
                Poll::Ready(Err(error)) => self.failed(id, error, Time::MAX, &mut within),
            }
        }
    }

    fn permit(&mut self, attempt: AttemptId, permit: Permit) {
        self.held.permit(self.index(attempt), permit);
        self.desk.events.push(Event::Granted(attempt));
    }

    fn start_attempt(&mut self, id: AttemptId, target: u32, until: Option<Time>, within: &mut Within) {
        let index = self.index(id);
        let attempt = self.attempt(index, id, target, until);
        let span = self.watch.is_heard().then(|| {
            within.leave();
            let span = self.watch.started(&attempt);
            if id.role() != Role::Primary {
                self.link(&span, id.branch);
            }
            span
        });
        self.held.start(index, self.desk.calls_of[id.branch as usize], attempt, span, within);
        self.desk.to_poll.push_back(Woken { attempt: index, since: None });
    }

    /// Links the span of an attempt to those of its branch's others that run.
    fn link(&self, span: &Span, branch: u32) {
        let indexes = self.plan().attempts_of(branch).filter_map(|other| self.plan().attempt_index(other));
        for other in indexes.filter_map(|index| self.held.span(index)) {
            span.follows_from(other);
        }
    }

    fn attempt(&mut self, index: usize, id: AttemptId, target: u32, until: Option<Time>) -> Attempt {
        // A primary is the first.
        let tried = if id.role() == Role::Primary { Vec::new() } else { self.tried(id) };
        if let Some(tried) = self.desk.targets.get_mut(index) {
            *tried = Some(target);
        }
        Attempt { context: Arc::clone(&self.desk.context), id, target, tried, until }
    }

    /// The targets of the branch's attempts that have started.
    fn tried(&self, id: AttemptId) -> Vec<u32> {
        let indexes = self.plan().attempts_of(id.branch).filter_map(|other| self.plan().attempt_index(other));
        indexes.filter_map(|index| self.desk.targets[index]).collect()
    }

    fn refuse(&mut self, attempt: AttemptId, reason: Refusal) {
        self.watch.refused(attempt, reason);
        self.desk.events.push(Event::Refused(attempt, reason));
    }

    /// Polls what is to be polled, as far as tokio's budget for one poll of a task lasts: without it, what uses tokio
    /// is pending even when it is ready.
    fn poll_attempts(&mut self) {
        let mut within = Within::default();
        while coop::has_budget_remaining()
            && let Some(woken) = self.desk.to_poll.pop_front()
        {
            self.now = None;
            // What was not woken was polled as soon as it started.
            let since = woken.since.unwrap_or(Time::MAX);
            let Desk { wakers, job, .. } = &mut *self.desk;
            let open =
                |attempt: AttemptId| job.as_ref().is_some_and(|job| job.winner(attempt.branch).is_none());
            let waker = wakers.of(woken.attempt);
            match self.held.poll(woken.attempt, open, waker, &mut within) {
                None => {}
                Some((attempt, Ok(seat))) => self.answered(attempt, seat, since),
                Some((attempt, Err(error))) => self.failed(attempt, error, since, &mut within),
            }
        }
    }

    #[inline]
    fn answered(&mut self, attempt: AttemptId, seat: Seat, since: Time) {
        self.desk.found.push((since, Event::Answered(attempt)));
        self.desk.reported.push((attempt, seat));
    }

    fn failed(&mut self, attempt: AttemptId, error: AttemptError, since: Time, within: &mut Within) {
        within.leave();
        self.desk.found.push((since, Event::Failed(attempt, error.failure())));
        self.watch.ended(attempt, End::Failed(error.failure()));
        self.pass_on_pushback(attempt, &error);
        self.add_error(attempt, error);
    }

    /// Measures what was found, as of when it was there.
    fn measure(&mut self, Moment { at, time }: Moment) {
        if self.desk.found.is_empty() {
            return;
        }
        let ended = self.desk.found.iter().filter_map(|(since, event)| {
            let ago = time.saturating_sub(*since);
            match *event {
                Event::Answered(attempt) => Some((attempt, Measured::Answered, ago)),
                Event::Failed(attempt, _) => Some((attempt, Measured::Failed, ago)),
                _ => None,
            }
        });
        self.gauges.end(ended, at);
    }

    fn pass_on_pushback(&self, attempt: AttemptId, error: &AttemptError) {
        let limiter = self.plan().like(attempt.branch).limiter;
        if let (Some(limiter), Some(pause)) = (limiter, error.pause()) {
            self.shared.limiters[limiter].push_back(pause);
        }
    }

    fn add_error(&mut self, attempt: AttemptId, error: AttemptError) {
        let all = &mut self.desk.errors;
        if all.is_empty() {
            all.resize_with(self.shared.plan.branches().len(), Vec::new);
        }
        let errors = &mut all[attempt.branch as usize];
        let at = if attempt.number == 0 { 0 } else { errors.len() };
        errors.insert(at, error);
    }

    fn read_mail(&mut self) {
        if !self.held.has_mail() {
            return;
        }
        let mut mail = self.held.mail();
        for (attempt, letter) in mail.drain(..) {
            let verdict = match letter {
                Letter::Primed => {
                    self.desk.events.push(Event::Primed(attempt));
                    continue;
                }
                Letter::Permit(verdict) => verdict,
            };
            let waited = self.held.leave_queue(self.index(attempt));
            match verdict {
                Ok(permit) if waited => self.permit(attempt, permit),
                Ok(permit) => self.held.let_go_of(permit),
                Err(reason) if waited => self.refuse(attempt, reason),
                Err(_) => {}
            }
        }
        self.held.mail_read(mail);
    }

    /// Keeps the answers that won, and credits the budgets with answered primaries.
    fn keep_answers(&mut self) {
        let mut reported = std::mem::take(&mut self.desk.reported);
        if self.streamed {
            reported.sort_unstable_by_key(|(attempt, _)| *attempt);
        }
        for (attempt, Seat { calls, seat }) in reported.drain(..) {
            let winner = self.desk.job().winner(attempt.branch);
            self.watch.ended(
                attempt,
                match winner {
                    Some(_) if winner == Some(attempt) => End::Won,
                    Some(_) => End::Cut(Cut::Lost),
                    None => End::Cut(Cut::JobEnded),
                },
            );
            let calls = &mut self.held.calls()[calls as usize];
            match (winner == Some(attempt), seat) {
                (true, NONE) => {}
                (true, seat) => calls.as_mut().keep(seat, attempt.branch),
                (false, NONE) => calls.as_mut().drop_answer(attempt.branch),
                (false, seat) => calls.as_mut().clear(seat),
            }
            if winner != Some(attempt) {
                continue;
            }
            if !self.taps.is_empty()
                && let Some(answer) = calls.as_mut().answer(attempt.branch)
            {
                self.taps.iter_mut().for_each(|tap| tap.pass(attempt.branch, answer));
            }
            if self.streamed {
                self.desk.arrived.push_back(attempt.branch);
            }
        }
        self.desk.reported = reported;
        let won = self.desk.job().ledger().primaries.won;
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
