//! Virtual time: the jobs that are alive, what happens to them next, and the limiters and the budget that they share.

use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::mem;
use core::ops::Range;

use fantail_core::job::{Action, AttemptId, Class, Event, Job, Refusal};
use fantail_core::{Budget, Limiter, LimiterSpec, Ticket, Time};

use super::{Credit, SimError, Simulation, Summary};

/// Drives jobs as the runtime does: it holds no rule, it reports what happened and carries out what the machine says.
///
/// An instant is played in rounds: what happened to each job goes into one step of that job, in the order of the jobs'
/// numbers, the newcomer last; then the limiters hand out what is free by then, and whoever got something is stepped
/// again.
pub(super) struct World<'a> {
    simulation: &'a Simulation,
    now: Time,
    /// Jobs that are alive have a seat each; the seat of a job that is over is taken by a later one.
    seats: Vec<Seat>,
    empty_seats: Vec<usize>,
    due: BinaryHeap<Reverse<Due>>,
    limiters: Vec<Shared>,
    /// `None`: every copy is paid for.
    budget: Option<Budget>,
    /// Seats of jobs to be stepped at this instant.
    told: Vec<usize>,
    actions: Vec<Action>,
    summary: Summary,
}

/// One job, and what the machine does not own.
struct Seat {
    number: u64,
    alive: bool,
    job: Job,
    /// By [`Plan::attempt_index`](fantail_core::Plan::attempt_index).
    attempts: Vec<Held>,
    events: Vec<Event>,
    /// Whether it is among those told.
    told: bool,
    /// When a wake-up is due.
    wakes_at: Option<Time>,
}

/// What an attempt has, from its asking to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Nothing,
    Place(Ticket),
    Permit {
        /// Of a limiter, and how long it was waited for.
        limited: Option<(Ticket, Time)>,
        /// Whether the budget has paid for it.
        paid: bool,
        runs: bool,
    },
}

/// Something that is going to happen to a job; ordered by time, then job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Time,
    number: u64,
    what: What,
    seat: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Answer(AttemptId),
    WakeUp,
}

/// A limiter and who waits for it.
struct Shared {
    limiter: Limiter,
    waiters: BTreeMap<Ticket, Waiter>,
    /// Whether something may have become free at this instant.
    changed: bool,
    /// When something becomes free without anybody's doing.
    serves_at: Option<Time>,
}

#[derive(Clone, Copy)]
struct Waiter {
    seat: usize,
    attempt: AttemptId,
    budgeted: bool,
    since: Time,
}

impl<'a> World<'a> {
    pub(super) fn new(simulation: &'a Simulation) -> World<'a> {
        let plan = &simulation.plan;
        let shared = |spec: &LimiterSpec| Shared {
            limiter: Limiter::new(spec.clone()),
            waiters: BTreeMap::new(),
            changed: false,
            serves_at: None,
        };
        World {
            simulation,
            now: Time::ZERO,
            seats: Vec::new(),
            empty_seats: Vec::new(),
            due: BinaryHeap::new(),
            limiters: plan.limiters().iter().map(shared).collect(),
            budget: (simulation.scenario.credit == Credit::Earned).then(|| Budget::new(plan.hedge_budget())),
            told: Vec::new(),
            actions: Vec::new(),
            summary: Summary::new(plan.n()),
        }
    }

    pub(super) fn run(mut self, jobs: Range<u64>) -> Result<Summary, SimError> {
        if self.simulation.jobs_interact() {
            self.run_together(jobs)?;
        } else {
            self.run_one_by_one(jobs);
        }
        self.summary.sort();
        Ok(self.summary)
    }

    /// Jobs that can't matter to each other, each in a time of its own.
    fn run_one_by_one(&mut self, jobs: Range<u64>) {
        for number in jobs {
            self.now = Time::ZERO;
            self.arrive(number);
            self.settle();
            self.play_until(Time::MAX);
            self.give_up();
            self.due.clear();
        }
    }

    fn run_together(&mut self, jobs: Range<u64>) -> Result<(), SimError> {
        let mut last = None;
        for number in jobs {
            let at = match (last, self.simulation.gap(number)) {
                (None, _) => Time::ZERO,
                (Some(last), Some(gap)) => gap.saturating_add(last),
                (Some(_), None) => {
                    self.play_until(Time::MAX);
                    self.give_up();
                    self.now
                }
            };
            if at == Time::MAX {
                return Err(SimError::TooLong { job: number });
            }
            self.play_until(at);
            self.now = at;
            self.collect();
            self.arrive(number);
            self.settle();
            last = Some(at);
        }
        self.play_until(Time::MAX);
        self.give_up();
        Ok(())
    }

    /// Plays every instant before `until`, as long as there are jobs for something to happen to.
    fn play_until(&mut self, until: Time) {
        while self.empty_seats.len() < self.seats.len()
            && let Some(at) = self.next_at().filter(|at| *at < until)
        {
            self.now = at;
            self.collect();
            self.settle();
        }
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

    /// What was to happen does, unless its job or attempt is gone.
    fn happen(&mut self, due: Due) {
        let seat = &self.seats[due.seat];
        if !seat.alive || seat.number != due.number {
            return;
        }
        match due.what {
            What::Answer(attempt) => {
                let index = self.index(attempt);
                if matches!(seat.attempts[index], Held::Permit { runs: true, .. }) {
                    self.drop_attempt(due.seat, attempt);
                    self.tell(due.seat, Event::Answered(attempt));
                }
            }
            What::WakeUp => {
                if seat.wakes_at == Some(due.at) {
                    self.seats[due.seat].wakes_at = None;
                    self.wake(due.seat);
                }
            }
        }
    }

    fn tell(&mut self, seat: usize, event: Event) {
        self.seats[seat].events.push(event);
        self.wake(seat);
    }

    fn wake(&mut self, seat: usize) {
        if !self.seats[seat].told {
            self.seats[seat].told = true;
            self.told.push(seat);
        }
    }

    /// A new job takes a seat.
    fn arrive(&mut self, number: u64) {
        let plan = &self.simulation.plan;
        let job = Job::start(Arc::clone(plan), self.now, number as u32, &mut self.actions);
        let seat = if let Some(seat) = self.empty_seats.pop() {
            let taken = &mut self.seats[seat];
            (taken.number, taken.alive, taken.job) = (number, true, job);
            seat
        } else {
            let attempts = alloc::vec![Held::Nothing; plan.attempts()];
            let (events, told, wakes_at) = (Vec::new(), false, None);
            self.seats.push(Seat { number, alive: true, job, attempts, events, told, wakes_at });
            self.seats.len() - 1
        };
        self.carry_out(seat);
    }

    /// Steps whoever was told something, and serves the limiters, until nothing follows at this instant.
    fn settle(&mut self) {
        let mut told = Vec::new();
        self.serve();
        while !self.told.is_empty() {
            mem::swap(&mut told, &mut self.told);
            for seat in told.drain(..) {
                self.step(seat);
            }
            self.serve();
        }
    }

    fn step(&mut self, index: usize) {
        let seat = &mut self.seats[index];
        seat.told = false;
        if !seat.alive {
            // It was over in its last step, which told it of something that it had asked for before that.
            return;
        }
        let earned = seat.job.ledger().primaries.won;
        seat.job.step(self.now, &mut seat.events, &mut self.actions);
        if let Some(budget) = &mut self.budget {
            (earned..seat.job.ledger().primaries.won).for_each(|_| budget.earn());
        }
        self.carry_out(index);
        let seat = &mut self.seats[index];
        if seat.job.verdict().is_some() {
            assert!(seat.attempts.iter().all(|held| *held == Held::Nothing), "a job leaves nothing behind");
            self.leave(index);
        } else if seat.job.wake_at() != seat.wakes_at {
            seat.wakes_at = seat.job.wake_at();
            let due =
                seat.wakes_at.map(|at| Due { at, number: seat.number, what: What::WakeUp, seat: index });
            self.due.extend(due.map(Reverse));
        }
    }

    /// The job in this seat is counted, and the seat is free.
    fn leave(&mut self, index: usize) {
        let seat = &mut self.seats[index];
        self.summary.record(&seat.job);
        seat.alive = false;
        seat.wakes_at = None;
        seat.events.clear();
        self.empty_seats.push(index);
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
            self.seats[index].attempts.fill(Held::Nothing);
            self.leave(index);
        }
    }

    fn index(&self, attempt: AttemptId) -> usize {
        let index = self.simulation.plan.attempt_index(attempt);
        index.expect("the machine names declared attempts only")
    }

    /// Does what the machine said, in its order.
    fn carry_out(&mut self, seat: usize) {
        let mut actions = mem::take(&mut self.actions);
        for action in actions.drain(..) {
            match action {
                Action::Ask { attempt, class, budgeted, until } => {
                    self.ask(seat, attempt, class, budgeted, until);
                }
                Action::Start { attempt, until, .. } => self.start(seat, attempt, until),
                Action::Withdraw(attempt) | Action::Cancel(attempt, _) => self.drop_attempt(seat, attempt),
                Action::Finish(_) => {}
            }
        }
        self.actions = actions;
    }

    fn ask(&mut self, seat: usize, attempt: AttemptId, class: Class, budgeted: bool, until: Option<Time>) {
        let simulation = self.simulation;
        let declared = &simulation.plan.branches()[attempt.branch as usize];
        let held = if let Some(limiter) = declared.limiter {
            let shared = &mut self.limiters[limiter];
            shared.changed = true;
            shared.limiter.ask(self.now, class, declared.weight, until).map(|ticket| {
                shared.waiters.insert(ticket, Waiter { seat, attempt, budgeted, since: self.now });
                Held::Place(ticket)
            })
        } else {
            pay(&mut self.budget, budgeted).map(|paid| Held::Permit { limited: None, paid, runs: false })
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

    fn start(&mut self, seat: usize, attempt: AttemptId, until: Option<Time>) {
        let index = self.index(attempt);
        let taken = &mut self.seats[seat];
        let Held::Permit { limited, runs, .. } = &mut taken.attempts[index] else {
            unreachable!("the machine starts what was granted, and {attempt:?} was not");
        };
        *runs = true;
        if let Some((_, waited)) = *limited {
            self.summary.waits_mut().push(waited);
        }
        let number = taken.number;
        let latency = self.simulation.latency(number, attempt.branch, attempt.number);
        let at = self.now.saturating_add(latency);
        // What the job will cut before it answers needs no event, nor does what never answers.
        if at < Time::MAX && until.is_none_or(|until| at <= until) {
            self.due.push(Reverse(Due { at, number, what: What::Answer(attempt), seat }));
        }
    }

    /// Takes from an attempt what it has: its place, its unused permit, or the permit that it runs under.
    fn drop_attempt(&mut self, seat: usize, attempt: AttemptId) {
        let index = self.index(attempt);
        let held = mem::replace(&mut self.seats[seat].attempts[index], Held::Nothing);
        let limiter = self.simulation.plan.branches()[attempt.branch as usize].limiter;
        let shared = limiter.map(|limiter| &mut self.limiters[limiter]);
        match held {
            Held::Nothing => {}
            Held::Place(ticket) => {
                let shared = shared.expect("a place is in a limiter's queue");
                shared.changed = true;
                shared.limiter.withdraw(ticket);
                shared.waiters.remove(&ticket);
            }
            Held::Permit { limited, paid, runs } => {
                if let (Some(budget), true) = (&mut self.budget, paid) {
                    if runs { budget.end() } else { budget.refund() }
                }
                if let (Some(shared), Some((ticket, _))) = (shared, limited) {
                    shared.changed = true;
                    if runs { shared.limiter.release(ticket) } else { shared.limiter.give_back(ticket) }
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
        let shared = &mut self.limiters[limiter];
        match pay(&mut self.budget, budgeted) {
            Ok(paid) => {
                shared.limiter.grant(self.now, ticket);
                let limited = Some((ticket, self.now.saturating_sub(since)));
                self.seats[seat].attempts[index] = Held::Permit { limited, paid, runs: false };
                self.tell(seat, Event::Granted(attempt));
            }
            Err(reason) => {
                shared.limiter.withdraw(ticket);
                self.seats[seat].attempts[index] = Held::Nothing;
                self.tell(seat, Event::Refused(attempt, reason));
            }
        }
    }
}

/// Takes the credit for a copy that needs it; whether any was taken.
fn pay(budget: &mut Option<Budget>, budgeted: bool) -> Result<bool, Refusal> {
    match budget {
        Some(budget) if budgeted => {
            if budget.take() {
                Ok(true)
            } else {
                Err(Refusal::Budget)
            }
        }
        _ => Ok(false),
    }
}
