//! Limiters that jobs share.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use fantail_core::job::{AttemptId, Class, Refusal};
use fantail_core::{Budget, Limiter, LimiterSpec, Ticket, Time};
use tokio::time::{Instant, sleep_until};

use crate::clock::{Clock, span};
use crate::mail::{Home, Letter, Mailbox};
use crate::sync::{Mutex, MutexGuard, lock};
use crate::under::is_under;
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
    /// By the place of the ticket.
    waiters: Vec<Option<Waiter>>,
    /// Who was last told to set a timer, and for when.
    alarm: Option<(Ticket, Time)>,
    /// The latest instant that anybody came with.
    latest: Time,
}

#[derive(Debug)]
struct Waiter {
    ticket: Ticket,
    mailbox: Arc<Mailbox>,
    attempt: AttemptId,
    budget: Option<Arc<Mutex<Budget>>>,
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
            mailbox.wake();
        }
    }
}

impl SharedLimiter {
    /// A limiter of its own, known to no registry.
    pub fn new(spec: LimiterSpec) -> SharedLimiter {
        let state =
            State { limiter: Limiter::new(spec), waiters: Vec::new(), alarm: None, latest: Time::ZERO };
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
        let (state, now) = self.lock(Instant::now());
        let until = state.limiter.paused_until(now)?;
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
        let now = Instant::now();
        let within = until.map(|until| span(until.saturating_duration_since(now)));
        let asked = Asked { attempt: AttemptId::primary(0), class, weight, within, budget: None };
        let _place = self.open(now).ask(&mailbox, asked)?;
        self.serve(now, None);
        let (mut timer, mut mail) = (None, Vec::new());
        poll_fn(|task| {
            wakes.register(task.waker());
            loop {
                mailbox.take(&mut mail);
                if let Some((_, Letter::Permit(verdict))) = mail.pop() {
                    return Poll::Ready(verdict.map(Permit::used));
                }
                let now = Instant::now();
                let Some(at) = self.alarm_of(&mailbox, now) else { return Poll::Pending };
                // By the clock, not by the timer: one that rings may be held back by tokio's budget.
                if at <= now {
                    self.serve(now, None);
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

    /// The limiter, for somebody who asks at `now` for several permits.
    pub(crate) fn open(&self, now: Instant) -> Open<'_> {
        let refuses = is_under(self);
        let (state, now) = self.lock(now);
        Open { limiter: self, state, now, refuses }
    }

    /// Hands out what is free at `now`.
    pub(crate) fn serve(&self, now: Instant, home: Option<Home<'_>>) {
        let (state, now) = self.lock(now);
        self.hand_out(state, now, home).send();
    }

    /// When the owner of `mailbox` must call [`SharedLimiter::serve`], if it is at the head of the queue.
    pub(crate) fn alarm_of(&self, mailbox: &Arc<Mailbox>, now: Instant) -> Option<Instant> {
        let (mut state, latest) = self.lock(now);
        let head = state.limiter.next()?;
        let mine = Arc::ptr_eq(&state.waiter(head)?.mailbox, mailbox);
        let at = state.limiter.next_at(latest).filter(|_| mine)?;
        // What is due for whoever came last is due now.
        if at <= latest { Some(now) } else { self.0.clock.instant(at) }
    }

    /// A server asked to slow down for `pause`, from now on: nobody gets a permit until then, and waiters for whom that is
    /// too late are refused. Attempts of jobs say so with [`AttemptError::pushback`](crate::AttemptError::pushback).
    pub fn push_back(&self, pause: Duration) {
        let (mut state, now) = self.lock(Instant::now());
        let mut refused = Outbox::default();
        for ticket in state.limiter.push_back(now, span(pause)) {
            if let Some(waiter) = state.take_waiter(ticket) {
                refused.letters.push((waiter.mailbox, waiter.attempt, Err(Refusal::Pushback)));
            }
        }
        self.hand_out(state, now, None).send();
        refused.send();
    }

    fn is(&self, other: &SharedLimiter) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What tells it from others while it is there.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// The state, and the time: `now`, or the latest that somebody else came with before, since the limiter would take an
    /// earlier one for a time at which nothing is free yet.
    fn lock(&self, now: Instant) -> (MutexGuard<'_, State>, Time) {
        let mut state = lock(&self.0.state);
        state.latest = state.latest.max(self.0.clock.time(now));
        let latest = state.latest;
        (state, latest)
    }

    fn hand_out(&self, mut state: MutexGuard<'_, State>, now: Time, mut home: Option<Home<'_>>) -> Outbox {
        let mut outbox = Outbox::default();
        while let Some(ticket) = state.limiter.poll(now) {
            let Some(waiter) = state.take_waiter(ticket) else {
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
            match &mut home {
                Some(home) if Arc::ptr_eq(home.mailbox, &waiter.mailbox) => {
                    home.mail.push((waiter.attempt, Letter::Permit(verdict)));
                }
                _ => outbox.letters.push((waiter.mailbox, waiter.attempt, verdict)),
            }
        }
        let alarm = state.limiter.next().zip(state.limiter.next_at(now));
        if alarm != state.alarm {
            state.alarm = alarm;
            let head = alarm.and_then(|(head, _)| state.waiter(head));
            outbox.alarm = head.map(|head| Arc::clone(&head.mailbox));
        }
        outbox
    }

    /// Leaves the queue, if the ticket is in it; it moves up with the next [`SharedLimiter::serve`].
    fn withdraw(&self, ticket: Ticket) {
        lock(&self.0.state).withdraw(ticket);
    }
}

impl State {
    fn waiter(&self, ticket: Ticket) -> Option<&Waiter> {
        self.waiters.get(ticket.place())?.as_ref().filter(|waiter| waiter.ticket == ticket)
    }

    fn take_waiter(&mut self, ticket: Ticket) -> Option<Waiter> {
        self.waiters.get_mut(ticket.place())?.take_if(|waiter| waiter.ticket == ticket)
    }

    fn withdraw(&mut self, ticket: Ticket) {
        if self.take_waiter(ticket).is_some() {
            self.limiter.withdraw(ticket);
        }
    }

    fn take_back(&mut self, ticket: Ticket, back: Back) {
        match back {
            Back::Place => self.withdraw(ticket),
            Back::Used(n) => self.limiter.release_many(ticket, n),
            Back::Unused(n) => (0..n).for_each(|_| self.limiter.give_back(ticket)),
        }
    }
}

/// What is asked of a limiter.
pub(crate) struct Asked {
    pub(crate) attempt: AttemptId,
    pub(crate) class: Class,
    pub(crate) weight: u32,
    /// After how long a permit would be of no use.
    pub(crate) within: Option<Time>,
    /// What pays, if it has to.
    pub(crate) budget: Option<Arc<Mutex<Budget>>>,
}

/// What comes back to a limiter.
#[derive(Clone, Copy)]
enum Back {
    Place,
    /// So many permits of attempts that ran.
    Used(u32),
    Unused(u32),
}

/// A limiter that is locked for somebody who asks.
pub(crate) struct Open<'l> {
    limiter: &'l SharedLimiter,
    state: MutexGuard<'l, State>,
    now: Time,
    /// Whether who asks runs under one of its permits.
    refuses: bool,
}

impl Open<'_> {
    /// Permits for up to `n` first attempts of one weight, as many as it is the turn of at once: nobody who asks at the same
    /// instant goes before them. To be handed back by whoever asked.
    pub(crate) fn grant_now(&mut self, weight: u32, n: u32) -> Option<(Permits, u32)> {
        if self.refuses {
            return None;
        }
        let (ticket, n) = self.state.limiter.grant_now(self.now, Class::First, weight, n)?;
        Some((Permits { limiter: self.limiter.clone(), ticket, used: 0, unused: 0 }, n))
    }

    /// A place in the queue: to be granted by the next [`SharedLimiter::serve`] at the earliest, by mail, unless the place
    /// is dropped first.
    pub(crate) fn ask(&mut self, mailbox: &Arc<Mailbox>, asked: Asked) -> Result<Place, Refusal> {
        if self.refuses {
            return Err(Refusal::Limiter);
        }
        let Asked { attempt, class, weight, within, budget } = asked;
        let until = within.map(|within| self.now.saturating_add(within));
        let state = &mut *self.state;
        let ticket = state.limiter.ask(self.now, class, weight, until)?;
        let place = ticket.place();
        if state.waiters.len() <= place {
            state.waiters.resize_with(place + 1, || None);
        }
        state.waiters[place] = Some(Waiter { ticket, mailbox: Arc::clone(mailbox), attempt, budget });
        Ok(Place { limiter: self.limiter.clone(), ticket, left: false })
    }
}

/// Permits that a job was granted together, and what of them is to be handed back.
#[derive(Debug)]
pub(crate) struct Permits {
    limiter: SharedLimiter,
    ticket: Ticket,
    used: u32,
    unused: u32,
}

impl Permits {
    /// One of them is to be handed back, `used` when its attempt ran. Whether it is the first since they last were.
    fn end(&mut self, used: bool) -> bool {
        let first = self.used + self.unused == 0;
        *(if used { &mut self.used } else { &mut self.unused }) += 1;
        first
    }

    /// One of them by itself, whose attempt runs.
    pub(crate) fn one(&self) -> Permit {
        Permit::new(Some((self.limiter.clone(), self.ticket)), None).used()
    }

    pub(crate) fn limiter(&self) -> &SharedLimiter {
        &self.limiter
    }
}

/// What is let go: places in queues, permits, and of permits that were granted together those that ended.
#[derive(Debug, Default)]
pub(crate) struct LetGo {
    pub(crate) places: Vec<Place>,
    pub(crate) permits: Vec<Permit>,
    /// Which of `granted`.
    pub(crate) ended: Vec<u32>,
    /// All that were granted together, whatever has become of them.
    pub(crate) granted: Vec<Permits>,
}

impl LetGo {
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty() && self.permits.is_empty() && self.ended.is_empty()
    }

    /// One of those that were granted together has ended, and was used if its attempt ran.
    pub(crate) fn end(&mut self, of: u32, used: bool) {
        if self.granted[of as usize].end(used) {
            self.ended.push(of);
        }
    }

    fn each(&self) -> impl Iterator<Item = (&SharedLimiter, Ticket, Back)> {
        let places = self.places.iter().map(|place| (&place.limiter, place.ticket, Back::Place));
        let permits = self.permits.iter().filter_map(|permit| {
            let (limiter, ticket) = permit.limited.as_ref()?;
            Some((limiter, *ticket, if permit.used { Back::Used(1) } else { Back::Unused(1) }))
        });
        let ended = self.ended.iter().flat_map(|at| {
            let Permits { limiter, ticket, used, unused } = &self.granted[*at as usize];
            [Back::Unused(*unused), Back::Used(*used)].map(|back| (limiter, *ticket, back))
        });
        places.chain(permits).chain(ended)
    }

    /// Hands all of it back before anybody gets what became free.
    pub(crate) fn hand_back(&mut self, now: Instant, home: Option<Home<'_>>) {
        self.places.iter_mut().for_each(|place| place.left = true);
        self.permits.iter_mut().for_each(Permit::settle);
        self.tell_limiters(now, home);
        self.places.clear();
        self.permits.clear();
        for at in self.ended.drain(..) {
            let permits = &mut self.granted[at as usize];
            (permits.used, permits.unused) = (0, 0);
        }
    }

    fn tell_limiters(&self, now: Instant, mut home: Option<Home<'_>>) {
        let mut open: Option<(&SharedLimiter, MutexGuard<'_, State>)> = None;
        let mut several = false;
        for (limiter, ticket, back) in self.each() {
            if open.as_ref().is_none_or(|(last, _)| !last.is(limiter)) {
                several |= open.take().is_some();
                open = Some((limiter, lock(&limiter.0.state)));
            }
            let Some((_, state)) = &mut open else { continue };
            state.take_back(ticket, back);
        }
        match open {
            None => {}
            Some((limiter, mut state)) if !several => {
                state.latest = state.latest.max(limiter.0.clock.time(now));
                let now = state.latest;
                limiter.hand_out(state, now, home).send();
            }
            Some(last) => {
                drop(last);
                let mut served: Vec<&SharedLimiter> = Vec::new();
                for (limiter, ..) in self.each() {
                    if !served.iter().any(|served| served.is(limiter)) {
                        let home = home.as_mut().map(|Home { mailbox, mail }| Home { mailbox, mail });
                        limiter.serve(now, home);
                        served.push(limiter);
                    }
                }
            }
        }
    }
}

/// A place in a limiter's queue. Dropping it leaves the queue, so that the next one moves up.
#[derive(Debug)]
pub(crate) struct Place {
    limiter: SharedLimiter,
    ticket: Ticket,
    left: bool,
}

impl Place {
    /// The limiter has said what became of it: there is nothing to leave.
    pub(crate) fn left(mut self) {
        self.left = true;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.left {
            self.limiter.withdraw(self.ticket);
            self.limiter.serve(Instant::now(), None);
        }
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
    pub(crate) fn use_up(&mut self) {
        self.used = true;
    }

    fn used(mut self) -> Permit {
        self.use_up();
        self
    }

    /// Settles with the budget. What remains is to tell the limiter.
    fn settle(&mut self) {
        self.handed_back = true;
        if let Some(budget) = &self.budget {
            let mut budget = lock(budget);
            if self.used { budget.end() } else { budget.refund() }
        }
    }

    pub(crate) fn limiter(&self) -> Option<&SharedLimiter> {
        self.limited.as_ref().map(|(limiter, _)| limiter)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.handed_back {
            return;
        }
        self.settle();
        if let Some((limiter, ticket)) = &self.limited {
            let back = if self.used { Back::Used(1) } else { Back::Unused(1) };
            lock(&limiter.0.state).take_back(*ticket, back);
            limiter.serve(Instant::now(), None);
        }
    }
}
