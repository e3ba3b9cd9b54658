//! One job that is alive, and what the machine does not own.

use alloc::vec::Vec;

use fantail_core::job::{Action, Event, Job, Outcome, Verdict};
use fantail_core::{Ledger, Ticket, Time};

use super::client::Calls;
use super::servers::CallId;
use super::trace::Step;

pub(super) struct Seat {
    pub(super) number: u64,
    pub(super) alive: bool,
    /// Whether it is of the range that was asked for.
    pub(super) counts: bool,
    pub(super) player: Player,
    /// By [`Plan::attempt_index`](fantail_core::Plan::attempt_index).
    pub(super) attempts: Vec<Held>,
    pub(super) events: Vec<Event>,
    /// Whether it is among those told.
    pub(super) told: bool,
    /// When a wake-up is due.
    pub(super) wakes_at: Option<Time>,
    /// The replicas that its attempts went to, each with the branch.
    pub(super) replicas: Vec<(u32, u32)>,
    /// The servers that have read what its calls share.
    pub(super) read_at: Vec<u32>,
    /// The branches of attempts that were turned away.
    pub(super) turned_away: Vec<u32>,
    /// How long servers worked for it.
    pub(super) busy: Time,
    /// When it started.
    pub(super) started_at: Time,
    /// What happened since, where that is recorded.
    pub(super) steps: Vec<Step>,
}

impl Seat {
    /// Of a plan with so many attempts, for this player to [take](Seat::take).
    pub(super) fn new(player: Player, attempts: usize) -> Seat {
        Seat {
            number: 0,
            alive: false,
            counts: false,
            player,
            attempts: alloc::vec![Held::Nothing; attempts],
            events: Vec::new(),
            told: false,
            wakes_at: None,
            replicas: Vec::new(),
            read_at: Vec::new(),
            turned_away: Vec::new(),
            busy: Time::ZERO,
            started_at: Time::ZERO,
            steps: Vec::new(),
        }
    }

    /// Its player plays this job from now on.
    pub(super) fn take(&mut self, number: u64, counts: bool, now: Time) {
        (self.number, self.alive, self.counts, self.started_at) = (number, true, counts, now);
        self.replicas.clear();
        self.read_at.clear();
        self.turned_away.clear();
        self.busy = Time::ZERO;
    }

    pub(super) fn worked(&mut self, time: Time) {
        self.busy = self.busy.saturating_add(time);
    }
}

/// What an attempt has, from its asking to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Nothing,
    Place(Ticket),
    Permit {
        /// Of a limiter, and how long it was waited for.
        limited: Option<(Ticket, Time)>,
        /// Whether the budget has paid for it.
        paid: bool,
        runs: Runs,
    },
}

/// How an attempt that has a permit runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    No,
    /// In the time of its law, since an instant.
    Since(Time),
    /// It was turned away, which it is about to learn.
    TurnedAway,
    /// At a server.
    Call(CallId),
}

/// Who plays a job: the machine, or a client that knows no plan.
#[expect(clippy::large_enum_variant, reason = "of many seats all or none are jobs")]
pub(super) enum Player {
    Job(Job),
    Calls(Calls),
}

impl Player {
    pub(super) fn step(&mut self, now: Time, events: &mut Vec<Event>, actions: &mut Vec<Action>) {
        match self {
            Player::Job(job) => job.step(now, events, actions),
            Player::Calls(calls) => calls.step(now, events, actions),
        }
    }

    pub(super) fn wake_at(&self) -> Option<Time> {
        match self {
            Player::Job(job) => job.wake_at(),
            Player::Calls(calls) => calls.wake_at(),
        }
    }

    pub(super) fn verdict(&self) -> Option<Verdict> {
        match self {
            Player::Job(job) => job.verdict(),
            Player::Calls(calls) => calls.verdict(),
        }
    }

    pub(super) fn elapsed(&self) -> Time {
        match self {
            Player::Job(job) => job.elapsed(),
            Player::Calls(calls) => calls.elapsed(),
        }
    }

    pub(super) fn ledger(&self) -> &Ledger {
        match self {
            Player::Job(job) => job.ledger(),
            Player::Calls(calls) => calls.ledger(),
        }
    }

    /// What became of a branch, and how many attempts of it started.
    pub(super) fn outcome_and_attempts(&self, branch: u32) -> (Option<Outcome>, u32) {
        match self {
            Player::Job(job) => job.slot(branch).map_or((None, 0), |slot| (slot.outcome, slot.attempts)),
            Player::Calls(calls) => (calls.outcome(branch), calls.tries(branch).into()),
        }
    }

    /// How often an attempt of the branch was tried before, by itself.
    pub(super) fn retry(&self, branch: u32) -> u16 {
        match self {
            Player::Job(_) => 0,
            Player::Calls(calls) => calls.tries(branch).saturating_sub(1),
        }
    }
}
