//! Virtual time: the jobs that are alive, what happens to them next, and the limiters and the budget that they share.

use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};
use core::mem;
use core::ops::Range;

use fantail_core::job::{Action, AttemptId, Class, Event, Job, Refusal, Start};
use fantail_core::{Limiter, LimiterSpec, Ticket, Time};

use super::arriving::{Arrival, Arriving};
use super::budgets::Budgets;
use super::client::Calls;
use super::direct::Direct;
use super::meter::Meter;
use super::queued::Queued;
use super::seat::{Held, Player, Runs, Seat};
use super::servers::{CallId, Fate, Servers};
use super::trace::{Happened, Record, Step, Trace};
use super::{Credit, SimError, Simulation, Summary};

/// Drives jobs as the runtime does: it holds no rule, it reports what happened and carries out what the machine says.
///
/// An instant is played in rounds: what happened to each job goes into one step of that job, in the order of the jobs'
/// numbers, the newcomer last; then the limiters hand out what is free by then, and whoever got something is stepped
/// again.
pub(super) struct World {
    pub(super) simulation: Simulation,
    pub(super) now: Time,
    /// Jobs that are alive have a seat each; the seat of a job that is over is taken by a later one.
    pub(super) seats: Vec<Seat>,
    empty_seats: Vec<usize>,
    pub(super) due: BinaryHeap<Reverse<Due>>,
    pub(super) limiters: Vec<Shared>,
    pub(super) servers: Servers,
    /// Who starts when; `None` where each job has a time of its own.
    arriving: Option<Arriving>,
    /// The next of them.
    arrival: Option<Arrival>,
    /// Attempts that run.
    pub(super) running: Meter,
    /// Calls that were there when the first job that counts arrived.
    before: u64,
    /// `None`: every copy and failover is paid for.
    budgets: Option<Budgets>,
    /// Seats of jobs to be stepped at this instant.
    told: Vec<usize>,
    /// Empty: room for those that are being stepped.
    stepped: Vec<usize>,
    actions: Vec<Action>,
    pub(super) summary: Summary,
    pub(super) record: Option<Record>,
}

/// Something that is going to happen; ordered by time, then job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) at: Time,
    pub(super) number: u64,
    pub(super) what: What,
    pub(super) seat: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// An attempt that takes the time of its law ends.
    Ends(AttemptId, Fate),
    /// An attempt learns that it was turned away, and when to come back if it does.
    TurnedAway(AttemptId, Option<Time>),
    /// A call has read what the calls of its job share.
    Prefilled(CallId),
    /// A call was served to its end.
    Served(CallId),
    /// A call that was dropped leaves.
    Leaves(CallId),
    WakeUp,
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> Ordering {
        let (mine, theirs) = ((self.at, self.number), (other.at, other.number));
        mine.cmp(&theirs).then_with(|| (self.what, self.seat).cmp(&(other.what, other.seat)))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    fn le(&self, other: &Due) -> bool {
        self.at < other.at || self.at == other.at && self.cmp(other).is_le()
    }
}

/// A limiter and who waits for it.
pub(super) struct Shared {
    pub(super) limiter: Limiter,
    pub(super) waiters: BTreeMap<Ticket, Waiter>,
    /// Whether something may have become free at this instant.
    pub(super) changed: bool,
    /// When something becomes free without anybody's doing.
    serves_at: Option<Time>,
}

#[derive(Clone, Copy)]
pub(super) struct Waiter {
    pub(super) seat: usize,
    pub(super) attempt: AttemptId,
    budgeted: bool,
    since: Time,
}

impl World {
    pub(super) fn new(simulation: Simulation) -> World {
        let plan = &simulation.plan;
        let shared = |spec: &LimiterSpec| Shared {
            limiter: Limiter::new(spec.clone()),
            waiters: BTreeMap::new(),
            changed: false,
            serves_at: None,
        };
        World {
            now: Time::ZERO,
            seats: Vec::new(),
            empty_seats: Vec::new(),
            due: BinaryHeap::new(),
            limiters: plan.limiters().iter().map(shared).collect(),
            servers: Servers::new(Arc::clone(&simulation.scenario)),
            arriving: None,
            arrival: None,
            running: Meter::default(),
            before: 0,
            budgets: (simulation.scenario.credit == Credit::Earned).then(|| Budgets::new(plan)),
            told: Vec::new(),
            stepped: Vec::new(),
            actions: Vec::new(),
            summary: Summary::new(&simulation),
            record: None,
            simulation,
        }
    }

    pub(super) fn run(mut self, jobs: Range<u64>) -> Result<Summary, SimError> {
        self.play(jobs)?;
        Ok(self.finished())
    }

    /// How long the first so many jobs of a range take.
    pub(super) fn times(mut self, jobs: Range<u64>, count: u64) -> Result<Vec<(u64, Time)>, SimError> {
        let first = jobs.start..jobs.start.saturating_add(count).min(jobs.end);
        self.record = Some(Record::Times { jobs: first.clone(), times: Vec::new() });
        if self.simulation.jobs_interact() {
            self.play_recorded(jobs)?;
        } else {
            self.play(first)?;
        }
        Ok(self.record.map(Record::into_times).unwrap_or_default())
    }

    /// What the jobs of a range did that have these numbers.
    pub(super) fn trace(mut self, mut wanted: Vec<u64>, jobs: Range<u64>) -> Result<Vec<Trace>, SimError> {
        wanted.retain(|number| jobs.contains(number));
        wanted.sort_unstable();
        wanted.dedup();
        self.record = Some(Record::Steps { jobs: wanted.clone(), traces: Vec::new() });
        if self.simulation.jobs_interact() {
            self.play_recorded(jobs)?;
        } else {
            for number in wanted {
                self.play_alone(number);
            }
        }
        Ok(self.record.map(Record::into_traces).unwrap_or_default())
    }

    /// Plays jobs of a range until those are over that are to be recorded.
    fn play_recorded(&mut self, jobs: Range<u64>) -> Result<(), SimError> {
        self.begin(jobs);
        while !self.record.as_ref().is_none_or(Record::is_full) && !self.advance(1)? {}
        Ok(())
    }

    /// Plays jobs to their end.
    pub(super) fn play(&mut self, jobs: Range<u64>) -> Result<(), SimError> {
        if self.simulation.jobs_interact() {
            if let Some(queued) = Queued::new(&self.simulation)
                && let Some(summary) = queued.run(jobs.clone())
            {
                self.summary = summary;
                return Ok(());
            }
            self.begin(jobs);
            while !self.advance(u64::MAX)? {}
        } else if let Some(direct) = Direct::new(&self.simulation, jobs.clone()) {
            direct.run(self);
        } else {
            jobs.for_each(|number| self.play_alone(number));
        }
        Ok(())
    }

    /// What came of all that was played.
    pub(super) fn finished(mut self) -> Summary {
        self.summary.ran(self.running.most);
        self.summary.close();
        self.summary
    }

    /// A job that can't matter to any other, in a time of its own.
    pub(super) fn play_alone(&mut self, number: u64) {
        self.now = Time::ZERO;
        self.arrive(number, true);
        self.settle();
        while self.anybody() && self.play_next() {}
        self.give_up();
        self.due.clear();
    }

    /// Jobs of this range are going to arrive, as [`World::advance`] is called.
    pub(super) fn begin(&mut self, jobs: Range<u64>) {
        self.arriving = Some(Arriving::new(self.simulation.clone(), jobs));
        self.name_next();
    }

    fn name_next(&mut self) {
        let over = self.summary.jobs();
        self.arrival = self.arriving.as_mut().and_then(|arriving| arriving.next(over >= arriving.counted()));
    }

    /// Plays so many instants more; whether all is over then.
    pub(super) fn advance(&mut self, instants: u64) -> Result<bool, SimError> {
        for _ in 0..instants {
            let Some(arrival) = self.arrival else {
                if self.play_next() {
                    continue;
                }
                self.give_up();
                return Ok(true);
            };
            let arrives = self.arriving.as_mut().and_then(|arriving| arriving.at(arrival.number));
            match (arrives, self.next_at()) {
                (Some(Time::MAX), None) => return Err(SimError::TooLong { job: arrival.number }),
                (Some(at), next) if next.is_none_or(|next| next >= at) => self.play_arrival(arrival, at),
                (_, Some(_)) => drop(self.play_next()),
                // All clients wait for jobs that nothing can happen to.
                (_, None) => self.give_up(),
            }
        }
        Ok(false)
    }

    /// Plays the instant at which a job starts.
    fn play_arrival(&mut self, arrival: Arrival, at: Time) {
        if let Some(arriving) = &mut self.arriving {
            arriving.starts(at);
        }
        self.now = at;
        self.collect();
        if arrival.first {
            self.servers.measure(at);
            self.running.restart(at);
        }
        self.step_told();
        if arrival.first {
            self.before = self.calls();
        }
        if arrival.last && self.simulation.is_even() {
            self.summary.grew(self.before, self.calls());
        }
        self.arrive(arrival.number, arrival.counts);
        self.settle();
        if arrival.last {
            self.summary.measure(&self.servers.measured(at));
        }
        self.name_next();
    }

    /// Calls that are there: that run or wait to, and those of which nobody wants to know any more; the jobs of a client that
    /// knows no plan, which may wait to try again.
    fn calls(&self) -> u64 {
        if self.simulation.client.is_some() {
            return (self.seats.len() - self.empty_seats.len()) as u64;
        }
        let waiting: usize = self.limiters.iter().map(|shared| shared.waiters.len()).sum();
        self.running.level() + waiting as u64 + self.servers.unwanted()
    }

    fn anybody(&self) -> bool {
        self.empty_seats.len() < self.seats.len()
    }

    /// Plays the next instant at which something happens; `false` when there is none.
    fn play_next(&mut self) -> bool {
        let Some(at) = self.next_at() else { return false };
        self.now = at;
        self.collect();
        self.settle();
        true
    }

    fn next_at(&self) -> Option<Time> {
        let due = self.due.peek().map(|Reverse(due)| due.at);
        self.limiters.iter().filter_map(|shared| shared.serves_at).chain(due).min()
    }

    /// Tells the jobs and the limiters what falls due now.
    fn collect(&mut self) {
        while let Some(Reverse(due)) = self.due.peek().copied()
            && due.at <= self.now
        {
            self.due.pop();
            self.happen(due);
        }
        for shared in &mut self.limiters {
            shared.changed |= shared.serves_at.is_some_and(|at| at <= self.now);
        }
    }

    pub(super) fn tell(&mut self, seat: usize, event: Event) {
        if let Some((attempt, what)) = Happened::of(event) {
            self.note(seat, self.now, attempt, what);
        }
        self.seats[seat].events.push(event);
        self.wake(seat);
    }

    pub(super) fn wake(&mut self, seat: usize) {
        if !self.seats[seat].told {
            self.seats[seat].told = true;
            self.told.push(seat);
        }
    }

    /// A new job takes a seat.
    fn arrive(&mut self, number: u64, counts: bool) {
        let seat = self.empty_seats.pop().unwrap_or(self.seats.len());
        let plan = &self.simulation.plan;
        let draw = if plan.observe() + plan.holdout() > 0 { self.simulation.luck.sample(number) } else { 0 };
        let start = Start { now: self.now, rotation: number as u32, draw, ..Start::default() };
        match (self.seats.get_mut(seat), self.simulation.client) {
            (Some(Seat { player: Player::Job(job), .. }), None) => job.restart(start, &mut self.actions),
            (taken, client) => {
                let player = match client {
                    None => Player::Job(Job::start(Arc::clone(plan), start, &mut self.actions)),
                    Some(client) => {
                        Player::Calls(Calls::start(client, plan.n(), self.now, &mut self.actions))
                    }
                };
                if let Some(taken) = taken {
                    taken.player = player;
                } else {
                    self.seats.push(Seat::new(player, plan.attempts()));
                }
            }
        }
        self.seats[seat].take(number, counts, self.now);
        self.carry_out(seat);
    }

    /// Something happened to an attempt; recorded where it is wanted.
    pub(super) fn note(&mut self, seat: usize, at: Time, attempt: AttemptId, what: Happened) {
        let taken = &mut self.seats[seat];
        if self.record.as_ref().is_some_and(|record| record.wants_steps(taken.number)) {
            taken.steps.push(Step { at: at.saturating_sub(taken.started_at), attempt, what });
        }
    }

    /// Steps whoever was told something, then serves the limiters, until nothing follows at this instant: grants come
    /// last, by the classes of all who ask by then, and with the credit that the answers have earned.
    fn settle(&mut self) {
        loop {
            self.step_told();
            self.serve();
            if self.told.is_empty() {
                return;
            }
        }
    }

    fn step_told(&mut self) {
        let mut told = mem::replace(&mut self.told, mem::take(&mut self.stepped));
        told.drain(..).for_each(|seat| self.step(seat));
        self.stepped = told;
    }

    fn step(&mut self, index: usize) {
        let seat = &mut self.seats[index];
        seat.told = false;
        if !seat.alive {
            // It was over in its last step, which told it of something that it had asked for before that.
            return;
        }
        let earned = seat.player.ledger().primaries.won;
        seat.player.step(self.now, &mut seat.events, &mut self.actions);
        if let Some(budgets) = &mut self.budgets {
            (earned..seat.player.ledger().primaries.won).for_each(|_| budgets.earn());
        }
        self.carry_out(index);
        let seat = &mut self.seats[index];
        if seat.player.verdict().is_some() && seat.player.ledger().kept.running() == 0 {
            assert!(seat.attempts.iter().all(|held| *held == Held::Nothing), "a job leaves nothing behind");
            self.leave(index);
            return;
        }
        let wakes_at = seat.player.wake_at();
        if wakes_at != seat.wakes_at {
            seat.wakes_at = wakes_at;
            let due = wakes_at.map(|at| Due { at, number: seat.number, what: What::WakeUp, seat: index });
            self.due.extend(due.map(Reverse));
        }
    }

    /// The job in this seat is counted, and the seat is free.
    fn leave(&mut self, index: usize) {
        let seat = &mut self.seats[index];
        if seat.counts {
            let Simulation { plan, client, .. } = &self.simulation;
            self.summary.record(seat, plan, plan.backfill() && client.is_none());
        }
        if let Some(record) = &mut self.record {
            record.over(seat, self.simulation.plan.n());
        }
        if seat.player.verdict().is_none() {
            self.returned(index);
        }
        let seat = &mut self.seats[index];
        seat.alive = false;
        seat.wakes_at = None;
        seat.events.clear();
        self.empty_seats.push(index);
    }

    /// The client of the job in this seat has its result, or waits no longer.
    fn returned(&mut self, index: usize) {
        if let Some(arriving) = &mut self.arriving {
            arriving.returned(self.seats[index].number, self.now);
        }
    }

    /// Nothing can happen to the jobs that are left. They leave the queues and hold their permits for ever.
    fn give_up(&mut self) {
        for index in 0..self.seats.len() {
            if !self.seats[index].alive {
                continue;
            }
            for shared in &mut self.limiters {
                shared.waiters.retain(|ticket, waiter| {
                    let leaves = waiter.seat == index;
                    if leaves {
                        shared.limiter.withdraw(*ticket);
                    }
                    !leaves
                });
            }
            for held in &mut self.seats[index].attempts {
                if matches!(held, Held::Permit { runs, .. } if *runs != Runs::No) {
                    self.running.set(self.now, self.running.level() - 1);
                }
                *held = Held::Nothing;
            }
            self.leave(index);
        }
    }

    pub(super) fn index(&self, attempt: AttemptId) -> usize {
        let index = self.simulation.plan.attempt_index(attempt);
        index.expect("the machine names declared attempts only")
    }

    /// Does what the machine said, in its order.
    fn carry_out(&mut self, seat: usize) {
        let mut actions = mem::take(&mut self.actions);
        for action in actions.drain(..) {
            match action {
                Action::Ask { attempt, class, budgeted, until } => {
                    self.note(seat, self.now, attempt, Happened::Asked);
                    self.ask(seat, attempt, class, budgeted, until);
                }
                Action::Start { attempt, until, .. } => self.start(seat, attempt, until),
                Action::Withdraw(attempt) | Action::Cancel(attempt, _) => {
                    if self.seats[seat].attempts[self.index(attempt)] != Held::Nothing {
                        self.note(seat, self.now, attempt, Happened::Dropped);
                    }
                    self.drop_attempt(seat, attempt);
                }
                // A client is told of the result, whatever the job keeps.
                Action::Finish(_) => self.returned(seat),
                Action::Keep(_) => {}
            }
        }
        self.actions = actions;
    }

    fn ask(&mut self, seat: usize, attempt: AttemptId, class: Class, budgeted: bool, until: Option<Time>) {
        let declared = &self.simulation.plan.branches()[attempt.branch as usize];
        let held = if let Some(limiter) = declared.limiter {
            let shared = &mut self.limiters[limiter];
            shared.changed = true;
            shared.limiter.ask(self.now, class, declared.weight, until).map(|ticket| {
                shared.waiters.insert(ticket, Waiter { seat, attempt, budgeted, since: self.now });
                Held::Place(ticket)
            })
        } else {
            self.pay(attempt, budgeted).map(|paid| Held::Permit { limited: None, paid, runs: Runs::No })
        };
        match held {
            Ok(held) => {
                let index = self.index(attempt);
                self.seats[seat].attempts[index] = held;
                if let Held::Permit { .. } = held {
                    self.tell(seat, Event::Granted(attempt));
                }
            }
            Err(reason) => self.tell(seat, Event::Refused(attempt, reason)),
        }
    }

    /// Takes from an attempt what it has: its place, its unused permit, or the permit that it runs under.
    pub(super) fn drop_attempt(&mut self, seat: usize, attempt: AttemptId) {
        let index = self.index(attempt);
        let held = mem::replace(&mut self.seats[seat].attempts[index], Held::Nothing);
        let limiter = self.simulation.plan.branches()[attempt.branch as usize].limiter;
        match held {
            Held::Nothing => {}
            Held::Place(ticket) => {
                let limiter = limiter.expect("a place is in a limiter's queue");
                let shared = &mut self.limiters[limiter];
                shared.changed = true;
                shared.limiter.withdraw(ticket);
                shared.waiters.remove(&ticket);
            }
            Held::Permit { limited, paid, runs } => {
                let ran = runs != Runs::No;
                self.stop(seat, runs);
                if let (Some(budgets), true) = (&mut self.budgets, paid) {
                    let budget = budgets.of(attempt.role());
                    if ran { budget.end() } else { budget.refund() }
                }
                if let (Some(limiter), Some((ticket, _))) = (limiter, limited) {
                    let shared = &mut self.limiters[limiter];
                    shared.changed = true;
                    if ran { shared.limiter.release(ticket) } else { shared.limiter.give_back(ticket) }
                }
            }
        }
    }

    /// Hands out what the limiters have by now.
    fn serve(&mut self) {
        for limiter in 0..self.limiters.len() {
            let shared = &mut self.limiters[limiter];
            if !mem::take(&mut shared.changed) {
                continue;
            }
            while let Some(ticket) = self.limiters[limiter].limiter.poll(self.now) {
                self.serve_one(limiter, ticket);
            }
            let shared = &mut self.limiters[limiter];
            shared.serves_at = shared.limiter.next_at(self.now).filter(|at| *at < Time::MAX);
        }
    }

    fn serve_one(&mut self, limiter: usize, ticket: Ticket) {
        let shared = &mut self.limiters[limiter];
        let Waiter { seat, attempt, budgeted, since } =
            shared.waiters.remove(&ticket).expect("whoever is in the queue is known");
        let index = self.index(attempt);
        let paid = self.pay(attempt, budgeted);
        let shared = &mut self.limiters[limiter];
        match paid {
            Ok(paid) => {
                shared.limiter.grant(self.now, ticket);
                let limited = Some((ticket, self.now.saturating_sub(since)));
                self.seats[seat].attempts[index] = Held::Permit { limited, paid, runs: Runs::No };
                self.tell(seat, Event::Granted(attempt));
            }
            Err(reason) => {
                shared.limiter.withdraw(ticket);
                self.seats[seat].attempts[index] = Held::Nothing;
                self.tell(seat, Event::Refused(attempt, reason));
            }
        }
    }

    /// Takes the credit for an attempt that needs it; whether any was taken.
    fn pay(&mut self, attempt: AttemptId, budgeted: bool) -> Result<bool, Refusal> {
        match &mut self.budgets {
            Some(budgets) if budgeted => {
                budgets.of(attempt.role()).take().then_some(true).ok_or(Refusal::Budget)
            }
            _ => Ok(false),
        }
    }
}
