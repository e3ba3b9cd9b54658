//! Plays a script to the pure machine, over virtual time, with real limiters and a real budget.

use std::collections::BTreeMap;

use fantail_core::job::{Action, AttemptId, Class, Event, Failure, Job, Refusal, Role};
use fantail_core::{Budget, Limiter, Ticket, Time};

use crate::observer::{Observer, Seen};
use crate::report::Trace;
use crate::script::{Happening, Script};

/// What came of the script, as it is to be written after `expect`.
///
/// Panics when a step breaks an invariant, or when the job leaves a permit, a place in a queue or a budget's copy behind.
pub(crate) fn play(script: &Script) -> String {
    let mut machine = Machine::start(script);
    while machine.job.verdict().is_none() || machine.job.kept() > 0 {
        let Some(now) = machine.next_at() else { break };
        machine.instant(now);
    }
    machine.check_nothing_is_left();
    let slot = |branch| machine.job.slot(branch).expect("the branch is of this plan");
    machine.trace.report(&script.plan, slot, machine.job.ledger())
}

struct Machine<'a> {
    script: &'a Script,
    job: Job,
    observer: Observer,
    now: Time,
    /// How much of the timeline is over.
    played: usize,
    limiters: Vec<Limiter>,
    hedge_budget: Budget,
    failover_budget: Budget,
    /// Who else holds permits, oldest first.
    others: Vec<(usize, Ticket)>,
    waiting: BTreeMap<AttemptId, Place>,
    permits: BTreeMap<AttemptId, Place>,
    /// Asked for in this instant, and told to nobody yet.
    asked: BTreeMap<AttemptId, Class>,
    /// To be reported in the next step of this instant.
    refused: Vec<(AttemptId, Refusal)>,
    trace: Trace,
}

/// A place in a limiter's queue, and then the permit that it became.
struct Place {
    /// Which limiter, if there is one.
    place: Option<(usize, Ticket)>,
    budgeted: bool,
}

impl Machine<'_> {
    fn start(script: &Script) -> Machine<'_> {
        let mut hedge_budget = Budget::new(script.plan.hedge_budget());
        let mut failover_budget = Budget::new(script.plan.failover_budget());
        let share = script.plan.hedge_budget().share.max(1);
        for _ in 0..(script.credit * 1_000_000).div_ceil(share) {
            hedge_budget.earn();
            failover_budget.earn();
        }
        let (job, observer, actions) = Observer::start(&script.plan, Time::ZERO, script.rotation);
        let mut machine = Machine {
            script,
            job,
            observer,
            now: Time::ZERO,
            played: 0,
            limiters: script.plan.limiters().iter().cloned().map(Limiter::new).collect(),
            hedge_budget,
            failover_budget,
            others: Vec::new(),
            waiting: BTreeMap::new(),
            permits: BTreeMap::new(),
            asked: BTreeMap::new(),
            refused: Vec::new(),
            trace: Trace::default(),
        };
        let held_at_the_start = |happening: &Happening| matches!(happening, Happening::Holds(..));
        while let Some((Time::ZERO, happening)) = script.timeline.get(machine.played).copied()
            && held_at_the_start(&happening)
        {
            machine.played += 1;
            machine.happen(happening, &mut Vec::new());
        }
        for action in actions {
            machine.act(action);
        }
        machine.settle_instant();
        machine
    }

    /// The next instant at which something happens or falls due.
    fn next_at(&mut self) -> Option<Time> {
        let now = self.now;
        let limiters = self.limiters.iter_mut().filter_map(|limiter| limiter.next_at(now)).min();
        let told = self.script.timeline.get(self.played).map(|(at, _)| *at);
        [self.job.wake_at(), told, limiters].into_iter().flatten().min()
    }

    /// All that happens at `now` goes into one step, and what follows from it at once into further ones.
    fn instant(&mut self, now: Time) {
        self.now = now;
        let mut events = Vec::new();
        while let Some((at, happening)) = self.script.timeline.get(self.played).copied()
            && at <= now
        {
            self.played += 1;
            self.happen(happening, &mut events);
        }
        events.extend(self.refusals());
        self.step(&events);
        self.settle_instant();
    }

    fn settle_instant(&mut self) {
        loop {
            let events = self.grants();
            if events.is_empty() {
                break;
            }
            self.step(&events);
        }
        for (attempt, class) in std::mem::take(&mut self.asked) {
            self.trace.queue(&self.script.plan, self.now, attempt, class);
        }
    }

    fn step(&mut self, events: &[Event]) {
        let actions = self
            .observer
            .step(&mut self.job, self.now, events)
            .unwrap_or_else(|broken| panic!("{}: at {}: {broken}", self.script.title, self.now));
        for action in actions {
            self.act(action);
        }
    }

    fn happen(&mut self, happening: Happening, events: &mut Vec<Event>) {
        match happening {
            Happening::Answers(attempt) => {
                if attempt.number == 0 && self.observer.seen(attempt) == Seen::Running {
                    self.hedge_budget.earn();
                    self.failover_budget.earn();
                }
                self.release(attempt);
                events.push(Event::Answered(attempt));
            }
            Happening::Primes(attempt) => events.push(Event::Primed(attempt)),
            Happening::Fails(attempt, failure) => {
                self.release(attempt);
                events.push(Event::Failed(attempt, failure));
            }
            Happening::PushesBack(attempt, pause) => {
                if let Some((limiter, _)) = self.permits.get(&attempt).and_then(|permit| permit.place) {
                    let leave = self.limiters[limiter].push_back(self.now, pause);
                    self.waiting.retain(|attempt, waiting| {
                        let left = waiting
                            .place
                            .is_some_and(|(at, ticket)| at == limiter && leave.contains(&ticket));
                        if left {
                            self.refused.push((*attempt, Refusal::Pushback));
                        }
                        !left
                    });
                }
                self.release(attempt);
                events.push(Event::Failed(attempt, Failure::Pushback));
            }
            Happening::Holds(limiter, weight) => {
                let shared = &mut self.limiters[limiter];
                let ticket = shared.ask(self.now, Class::First, weight, None).expect("within capacity");
                assert_eq!(shared.poll(self.now), Some(ticket), "somebody else gets a permit at once");
                shared.grant(self.now, ticket);
                self.others.push((limiter, ticket));
            }
            Happening::Frees(limiter) => {
                let oldest = self.others.iter().position(|(at, _)| *at == limiter);
                let (_, ticket) = self.others.remove(oldest.expect("somebody else holds a permit"));
                self.limiters[limiter].release(ticket);
            }
            Happening::Drops => events.push(Event::Dropped),
        }
    }

    /// Who gets a permit now, and who never will.
    fn grants(&mut self) -> Vec<Event> {
        let mut granted = Vec::new();
        for attempt in self.waiting.keys().copied().collect::<Vec<_>>() {
            if self.waiting[&attempt].place.is_none() {
                granted.extend(self.permit(attempt));
            }
        }
        for index in 0..self.limiters.len() {
            while let Some(ticket) = self.limiters[index].poll(self.now) {
                let found = self.waiting.iter().find(|(_, waiting)| waiting.place == Some((index, ticket)));
                let attempt = *found.expect("every ticket is of a waiting attempt").0;
                granted.extend(self.permit(attempt));
            }
        }
        granted.sort_unstable();
        let refused = self.refusals();
        for attempt in &granted {
            self.asked.remove(attempt);
        }
        granted.into_iter().map(Event::Granted).chain(refused).collect()
    }

    /// Who has been told in this instant that there will be no permit.
    fn refusals(&mut self) -> Vec<Event> {
        let refused = std::mem::take(&mut self.refused);
        for (attempt, reason) in &refused {
            self.trace.refuse(&self.script.plan, self.now, *attempt, *reason);
            self.asked.remove(attempt);
        }
        refused.into_iter().map(|(attempt, reason)| Event::Refused(attempt, reason)).collect()
    }

    /// Turns a place that is next into a permit, unless the budget refuses.
    fn permit(&mut self, attempt: AttemptId) -> Option<AttemptId> {
        let waiting = self.waiting.remove(&attempt).expect("it waits");
        let paid = !waiting.budgeted || self.budget(attempt).take();
        if let Some((limiter, ticket)) = waiting.place {
            let limiter = &mut self.limiters[limiter];
            if paid { limiter.grant(self.now, ticket) } else { limiter.withdraw(ticket) }
        }
        if paid {
            self.permits.insert(attempt, waiting);
            Some(attempt)
        } else {
            self.refused.push((attempt, Refusal::Budget));
            None
        }
    }

    fn act(&mut self, action: Action) {
        let plan = &self.script.plan;
        match action {
            Action::Ask { attempt, class, budgeted, until } => {
                let branch = &plan.branches()[attempt.branch as usize];
                self.asked.insert(attempt, class);
                let now = self.now;
                let place = branch.limiter.map(|limiter| {
                    let ticket = self.limiters[limiter].ask(now, class, branch.weight, until);
                    ticket.map(|ticket| (limiter, ticket))
                });
                match place.transpose() {
                    Ok(place) => {
                        self.waiting.insert(attempt, Place { place, budgeted });
                    }
                    Err(reason) => self.refused.push((attempt, reason)),
                }
            }
            Action::Withdraw(attempt) => {
                self.asked.remove(&attempt);
                self.refused.retain(|(refused, _)| *refused != attempt);
                self.trace.leave(plan, self.now, attempt);
                self.leave(attempt);
            }
            Action::Start { attempt, target, until } => {
                self.trace.start(plan, self.now, attempt, target, until);
            }
            Action::Cancel(attempt, cut) => {
                self.trace.cancel(plan, self.now, attempt, cut);
                self.release(attempt);
            }
            Action::Keep(attempt) => self.trace.keep(plan, self.now, attempt),
            Action::Finish(verdict) => self.trace.finish(plan, self.now, verdict),
        }
    }

    /// What pays for the attempt.
    fn budget(&mut self, attempt: AttemptId) -> &mut Budget {
        match attempt.role() {
            Role::Failover => &mut self.failover_budget,
            Role::Primary | Role::Copy => &mut self.hedge_budget,
        }
    }

    fn leave(&mut self, attempt: AttemptId) {
        if let Some(Place { place: Some((limiter, ticket)), .. }) = self.waiting.remove(&attempt) {
            self.limiters[limiter].withdraw(ticket);
        }
        if let Some(Place { place, budgeted }) = self.permits.remove(&attempt) {
            if let Some((limiter, ticket)) = place {
                self.limiters[limiter].give_back(ticket);
            }
            if budgeted {
                self.budget(attempt).refund();
            }
        }
    }

    fn release(&mut self, attempt: AttemptId) {
        if let Some(Place { place, budgeted }) = self.permits.remove(&attempt) {
            if let Some((limiter, ticket)) = place {
                self.limiters[limiter].release(ticket);
            }
            if budgeted {
                self.budget(attempt).end();
            }
        }
    }

    fn check_nothing_is_left(&self) {
        let title = &self.script.title;
        for (index, limiter) in self.limiters.iter().enumerate() {
            assert_eq!(limiter.waiting(), 0, "{title}: somebody still waits");
            if self.others.iter().all(|(other, _)| *other != index) {
                assert_eq!(limiter.held(), 0, "{title}: a permit is still out");
            }
        }
        assert!(self.permits.is_empty() && self.waiting.is_empty(), "{title}: something is left");
        let in_flight = self.hedge_budget.in_flight() + self.failover_budget.in_flight();
        assert_eq!(in_flight, 0, "{title}: a copy is still in flight");
    }
}
