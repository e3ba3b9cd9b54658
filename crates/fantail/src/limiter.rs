//! Limiters that jobs share.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use fantail_core::job::{AttemptId, Class, Refusal};
use fantail_core::{Budget, Limiter, LimiterSpec, Ticket, Time};
use tokio::time::{Instant, sleep_until};

use crate::clock::{Clock, span};
use crate::hold::Holds;
use crate::sync::{Mutex, MutexGuard, lock};
use crate::wakes::Wakes;

/// The limiters of a process, by name. A cheap handle: clones are the same registry.
#[derive(Clone, Debug, Default)]
pub struct Limiters(Arc<Mutex<HashMap<String, SharedLimiter>>>);

impl Limiters {
    /// The limiter of this name.
    pub fn get(&self, name: &str) -> Option<SharedLimiter> {
        lock(&self.0).get(name).cloned()
    }

    /// The limiter of the spec's name; if there is none yet, one made from the spec.
    pub fn get_or_add(&self, spec: &LimiterSpec) -> SharedLimiter {
        let mut limiters = lock(&self.0);
        limiters.entry(spec.name.clone()).or_insert_with(|| SharedLimiter::new(spec.clone())).clone()
    }
}

/// A limiter that any number of jobs and tasks share. A cheap handle.
///
/// No task serves it: whoever changes its state hands out what became free, and the task at the head of the queue sets
/// its own timer to the next instant at which the rate allows a permit. So whoever waits must be polled when it is woken.
///
/// An attempt that runs under a permit of a limiter is refused another one of it, in a job of its own too: all permits
/// could be with attempts that wait for one.
#[derive(Clone, Debug)]
pub struct SharedLimiter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limiter: Limiter,
    waiters: HashMap<Ticket, Waiter>,
    /// Who was last told to set a timer, and for when.
    alarm: Option<(Ticket, Time)>,
}

#[derive(Debug)]
struct Waiter {
    mailbox: Arc<Mailbox>,
    attempt: AttemptId,
    budget: Option<Arc<Mutex<Budget>>>,
}

/// What limiters and attempts tell a job, and what is held of it.
#[derive(Debug)]
pub(crate) struct Mailbox {
    pub(crate) holds: Holds,
    mail: Mutex<Vec<(AttemptId, Letter)>>,
    wakes: Arc<Wakes>,
}

/// What a job is told of an attempt.
#[derive(Debug)]
pub(crate) enum Letter {
    /// It may start, or never will.
    Permit(Result<Permit, Refusal>),
    /// It has primed what the branches share.
    Primed,
}

impl Mailbox {
    pub(crate) fn new(wakes: Arc<Wakes>) -> Arc<Mailbox> {
        Arc::new(Mailbox { holds: Holds::default(), mail: Mutex::new(Vec::new()), wakes })
    }

    pub(crate) fn take(&self) -> Vec<(AttemptId, Letter)> {
        std::mem::take(&mut *lock(&self.mail))
    }

    pub(crate) fn primed(&self, attempt: AttemptId) {
        self.deliver(attempt, Letter::Primed);
    }

    fn deliver(&self, attempt: AttemptId, letter: Letter) {
        lock(&self.mail).push((attempt, letter));
        self.wakes.wake();
    }
}

/// Letters and wake-ups to be sent once the limiter's lock is free, since a permit that nobody takes comes back to it.
#[derive(Default)]
struct Outbox {
    letters: Vec<(Arc<Mailbox>, AttemptId, Result<Permit, Refusal>)>,
    alarm: Option<Arc<Mailbox>>,
}

impl Outbox {
    fn send(self) {
        for (mailbox, attempt, verdict) in self.letters {
            mailbox.deliver(attempt, Letter::Permit(verdict));
        }
        if let Some(mailbox) = self.alarm {
            mailbox.wakes.wake();
        }
    }
}

impl SharedLimiter {
    /// A limiter of its own, known to no registry.
    pub fn new(spec: LimiterSpec) -> SharedLimiter {
        let state = State { limiter: Limiter::new(spec), waiters: HashMap::new(), alarm: None };
        SharedLimiter(Arc::new(Inner { clock: Clock::start(), state: Mutex::new(state) }))
    }

    /// What it was made from.
    pub fn spec(&self) -> LimiterSpec {
        lock(&self.0.state).limiter.spec().clone()
    }

    /// The weight of the permits that are out.
    pub fn held(&self) -> u64 {
        lock(&self.0.state).limiter.held()
    }

    /// How many wait for a permit.
    pub fn waiting(&self) -> usize {
        lock(&self.0.state).limiter.waiting()
    }

    /// How long it stays paused by a server's pushback, if it is.
    pub fn paused_for(&self) -> Option<Duration> {
        let now = self.0.clock.now();
        let until = lock(&self.0.state).limiter.paused_until(now)?;
        Some(Duration::from_nanos(until.saturating_sub(now).as_nanos()))
    }

    /// Waits for a permit of `weight`, outside any job. Dropping the future leaves the queue.
    ///
    /// From `until` on a permit would be of no use. That ends no wait, but a pause that lasts until then refuses.
    ///
    /// # Errors
    /// [`Refusal::Limiter`] for a weight of zero or above the capacity, and inside an attempt that runs under a permit of
    /// this limiter; [`Refusal::Pushback`] when a pause outlasts `until` or the cap.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use fantail::SharedLimiter;
    /// use fantail_core::LimiterSpec;
    /// use fantail_core::job::Class;
    ///
    /// let llm = SharedLimiter::new(LimiterSpec { gate: Some(10), ..LimiterSpec::new("llm") });
    /// let permit = llm.acquire(Class::First, 1, None).await.unwrap();
    /// assert_eq!(llm.held(), 1);
    /// drop(permit);
    /// assert_eq!(llm.held(), 0);
    /// # }
    /// ```
    pub async fn acquire(
        &self,
        class: Class,
        weight: u32,
        until: Option<Instant>,
    ) -> Result<Permit, Refusal> {
        let wakes = Wakes::new(0, false, self.0.clock);
        let mailbox = Mailbox::new(Arc::clone(&wakes));
        let attempt = AttemptId::primary(0);
        let _place = self.ask(&mailbox, attempt, None, class, weight, until)?;
        self.serve();
        let mut timer = None;
        poll_fn(|task| {
            wakes.register(task.waker());
            loop {
                if let Some((_, Letter::Permit(verdict))) = mailbox.take().pop() {
                    return Poll::Ready(verdict.map(Permit::used));
                }
                let Some(at) = self.alarm_of(&mailbox) else { return Poll::Pending };
                // By the clock, not by the timer: one that rings may be held back by tokio's budget.
                if at <= Instant::now() {
                    self.serve();
                    continue;
                }
                let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
                timer.as_mut().reset(at);
                if timer.as_mut().poll(task).is_pending() {
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    /// Queues for a permit, to be granted by the next [`SharedLimiter::serve`] at the earliest. The answer comes by mail,
    /// unless the returned place is dropped first.
    pub(crate) fn ask(
        &self,
        mailbox: &Arc<Mailbox>,
        attempt: AttemptId,
        budget: Option<Arc<Mutex<Budget>>>,
        class: Class,
        weight: u32,
        until: Option<Instant>,
    ) -> Result<Place, Refusal> {
        if UNDER.with_borrow(|under| under.contains(&self.address())) {
            return Err(Refusal::Limiter);
        }
        let until = until.map(|until| self.0.clock.time(until));
        let (mut state, now) = self.lock();
        let ticket = state.limiter.ask(now, class, weight, until)?;
        state.waiters.insert(ticket, Waiter { mailbox: Arc::clone(mailbox), attempt, budget });
        Ok(Place { limiter: self.clone(), ticket })
    }

    /// Hands out what is free by now.
    pub(crate) fn serve(&self) {
        let (state, now) = self.lock();
        self.hand_out(state, now).send();
    }

    /// When the owner of `mailbox` must call [`SharedLimiter::serve`], if it is at the head of the queue.
    pub(crate) fn alarm_of(&self, mailbox: &Arc<Mailbox>) -> Option<Instant> {
        let (mut state, now) = self.lock();
        let head = state.limiter.next()?;
        let mine = Arc::ptr_eq(&state.waiters.get(&head)?.mailbox, mailbox);
        let at = state.limiter.next_at(now).filter(|_| mine)?;
        self.0.clock.instant(at)
    }

    /// A server asked to slow down for `pause`, from now on: nobody gets a permit until then, and waiters for whom that is
    /// too late are refused. Attempts of jobs say so with [`AttemptError::pushback`](crate::AttemptError::pushback).
    pub fn push_back(&self, pause: Duration) {
        let (mut state, now) = self.lock();
        let mut refused = Outbox::default();
        for ticket in state.limiter.push_back(now, span(pause)) {
            if let Some(waiter) = state.waiters.remove(&ticket) {
                refused.letters.push((waiter.mailbox, waiter.attempt, Err(Refusal::Pushback)));
            }
        }
        self.hand_out(state, now).send();
        refused.send();
    }

    /// What tells it from others while it is there.
    fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// The state, and the time, which is read under the lock: whoever has the state never holds an earlier instant than
    /// the one before, which the limiter would take for a time at which nothing is free yet.
    fn lock(&self) -> (MutexGuard<'_, State>, Time) {
        let state = lock(&self.0.state);
        let now = self.0.clock.now();
        (state, now)
    }

    fn hand_out(&self, mut state: MutexGuard<'_, State>, now: Time) -> Outbox {
        let mut outbox = Outbox::default();
        while let Some(ticket) = state.limiter.poll(now) {
            let Some(waiter) = state.waiters.remove(&ticket) else {
                state.limiter.withdraw(ticket);
                continue;
            };
            let paid = waiter.budget.as_ref().is_none_or(|budget| lock(budget).take());
            let verdict = if paid {
                state.limiter.grant(now, ticket);
                Ok(Permit::new(Some((self.clone(), ticket)), waiter.budget))
            } else {
                state.limiter.withdraw(ticket);
                Err(Refusal::Budget)
            };
            outbox.letters.push((waiter.mailbox, waiter.attempt, verdict));
        }
        let alarm = state.limiter.next().zip(state.limiter.next_at(now));
        if alarm != state.alarm {
            state.alarm = alarm;
            outbox.alarm =
                alarm.and_then(|(head, _)| state.waiters.get(&head)).map(|head| Arc::clone(&head.mailbox));
        }
        outbox
    }

    /// Leaves the queue, if the ticket is in it; it moves up with the next [`SharedLimiter::serve`].
    fn withdraw(&self, ticket: Ticket) {
        let mut state = lock(&self.0.state);
        if state.waiters.remove(&ticket).is_some() {
            state.limiter.withdraw(ticket);
        }
    }

    fn end(&self, ticket: Ticket, used: bool) {
        let mut state = lock(&self.0.state);
        if used {
            state.limiter.release(ticket);
        } else {
            state.limiter.give_back(ticket);
        }
    }
}

/// A place in a limiter's queue. Dropping it leaves the queue, so that the next one moves up.
#[derive(Debug)]
pub(crate) struct Place {
    limiter: SharedLimiter,
    ticket: Ticket,
}

impl Place {
    /// Leaves the queue, which moves up when the place is dropped.
    pub(crate) fn leave(&self) {
        self.limiter.withdraw(self.ticket);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
        self.limiter.serve();
    }
}

thread_local! {
    /// Under permits of which limiters the attempts run that this thread is polling, one inside the other.
    static UNDER: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Under permits of which limiters an attempt runs, for one that goes on in another task.
pub(crate) struct Under(Vec<usize>);

impl Under {
    /// Those of the attempt that this thread is polling.
    pub(crate) fn current() -> Under {
        Under(UNDER.with_borrow(Vec::clone))
    }

    /// Polls what runs under them.
    pub(crate) fn poll<T>(&self, poll: impl FnOnce() -> T) -> T {
        struct Leave(usize);
        impl Drop for Leave {
            fn drop(&mut self) {
                UNDER.with_borrow_mut(|under| under.truncate(under.len() - self.0));
            }
        }
        UNDER.with_borrow_mut(|under| under.extend(&self.0));
        let _leave = Leave(self.0.len());
        poll()
    }
}

/// The right to run one attempt. Dropping it hands it back.
#[derive(Debug)]
#[must_use = "a permit is handed back when it is dropped"]
pub struct Permit {
    limited: Option<(SharedLimiter, Ticket)>,
    budget: Option<Arc<Mutex<Budget>>>,
    used: bool,
    handed_back: bool,
}

impl Permit {
    /// A permit, under a limiter if there is one; `budget` is the one that it has paid for a copy.
    pub(crate) fn new(
        limited: Option<(SharedLimiter, Ticket)>,
        budget: Option<Arc<Mutex<Budget>>>,
    ) -> Permit {
        Permit { limited, budget, used: false, handed_back: false }
    }

    /// The attempt runs: what the permit took of the rate and of the budget is spent.
    pub(crate) fn used(mut self) -> Permit {
        self.used = true;
        self
    }

    /// Hands it back; the next one is granted what is free when this is dropped.
    pub(crate) fn hand_back(&mut self) {
        if std::mem::replace(&mut self.handed_back, true) {
            return;
        }
        if let Some(budget) = &self.budget {
            let mut budget = lock(budget);
            if self.used { budget.end() } else { budget.refund() }
        }
        if let Some((limiter, ticket)) = &self.limited {
            limiter.end(*ticket, self.used);
        }
    }

    /// Calls or polls an attempt that runs under this permit. Meanwhile its limiter refuses whoever asks from inside the
    /// attempt: there may be no other permit, and this one is not handed back before the attempt has its own.
    pub(crate) fn under<T>(&self, poll: impl FnOnce() -> T) -> T {
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                UNDER.with_borrow_mut(Vec::pop);
            }
        }
        let Some((limiter, _)) = &self.limited else { return poll() };
        UNDER.with_borrow_mut(|under| under.push(limiter.address()));
        let _leave = Leave;
        poll()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.hand_back();
        if let Some((limiter, _)) = &self.limited {
            limiter.serve();
        }
    }
}
