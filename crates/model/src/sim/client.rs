//! Clients that know no plan, to compare plans with.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use fantail_core::job::{Action, AttemptId, Cause, Cut, Event, Failure, NotStarted, Outcome, Verdict};
use fantail_core::{Ledger, Time};

/// A client that knows no plan: it makes every call and waits for all of them, without deadlines, copies, limiters or
/// partial answers.
///
/// It tries again *inside* the barrier, after a pause, a call that met a retryable error or a full server: after as long
/// as the server says, else after `backoff`, twice that, four times that, … The job fails with the first call that it
/// gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Whether it makes one call after the other, or all at once.
    pub sequential: bool,
    /// How often it tries a call again, at most 1000.
    pub retries: u16,
    /// How long it waits before the first of these.
    pub backoff: Time,
}

/// One job of such a client.
pub(super) struct Calls {
    client: Client,
    started_at: Time,
    now: Time,
    branches: Vec<Call>,
    /// The next call to make, of those that were not made yet.
    next: u32,
    answered: u32,
    retries: BinaryHeap<Reverse<(Time, u32)>>,
    verdict: Option<Verdict>,
    ledger: Ledger,
}

#[derive(Clone, Copy, Default)]
struct Call {
    outcome: Option<Outcome>,
    /// Tries that were made.
    tries: u16,
    running_since: Option<Time>,
    /// What the server said last.
    pause: Option<Time>,
}

impl Calls {
    pub(super) fn start(client: Client, branches: u32, now: Time, actions: &mut Vec<Action>) -> Calls {
        let mut calls = Calls {
            client,
            started_at: now,
            now,
            branches: alloc::vec![Call::default(); branches as usize],
            next: 0,
            answered: 0,
            retries: BinaryHeap::new(),
            verdict: None,
            ledger: Ledger::default(),
        };
        let first = if client.sequential { 1 } else { branches };
        (0..first).for_each(|_| calls.make_next(actions));
        calls
    }

    /// A server that turned a call away said when to come back.
    pub(super) fn pause(&mut self, branch: u32, pause: Option<Time>) {
        self.branches[branch as usize].pause = pause;
    }

    pub(super) fn step(&mut self, now: Time, events: &mut Vec<Event>, actions: &mut Vec<Action>) {
        self.now = now;
        events.sort_unstable_by_key(|event| match event {
            Event::Answered(attempt) => (0, attempt.branch),
            Event::Failed(attempt, _) => (1, attempt.branch),
            _ => (2, 0),
        });
        for event in events.drain(..) {
            match event {
                Event::Answered(attempt) => self.answered(attempt.branch, actions),
                Event::Failed(attempt, failure) => self.failed(attempt.branch, failure, actions),
                _ => {}
            }
        }
        while self.verdict.is_none()
            && let Some(Reverse((at, branch))) = self.retries.peek().copied()
            && at <= now
        {
            self.retries.pop();
            self.make(branch, actions);
        }
    }

    pub(super) fn wake_at(&self) -> Option<Time> {
        let Reverse((at, _)) = self.retries.peek()?;
        self.verdict.is_none().then_some(*at)
    }

    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    pub(super) fn elapsed(&self) -> Time {
        self.now.saturating_sub(self.started_at)
    }

    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(super) fn outcome(&self, branch: u32) -> Option<Outcome> {
        self.branches[branch as usize].outcome
    }

    /// How many tries were made of a call.
    pub(super) fn tries(&self, branch: u32) -> u16 {
        self.branches[branch as usize].tries
    }

    fn make_next(&mut self, actions: &mut Vec<Action>) {
        let branch = self.next;
        self.next += 1;
        self.make(branch, actions);
    }

    fn make(&mut self, branch: u32, actions: &mut Vec<Action>) {
        let call = &mut self.branches[branch as usize];
        call.tries += 1;
        call.running_since = Some(self.now);
        self.ledger.primaries.launched += 1;
        actions.push(Action::Start { attempt: AttemptId::primary(branch), target: 0, until: None });
    }

    fn answered(&mut self, branch: u32, actions: &mut Vec<Action>) {
        if self.verdict.is_some() {
            return;
        }
        self.ends(branch);
        self.ledger.primaries.won += 1;
        self.branches[branch as usize].outcome = Some(Outcome::Answered);
        self.answered += 1;
        if self.answered as usize == self.branches.len() {
            self.finish(Verdict::Complete, actions);
        } else if self.client.sequential {
            self.make_next(actions);
        }
    }

    fn failed(&mut self, branch: u32, failure: Failure, actions: &mut Vec<Action>) {
        if self.verdict.is_some() {
            return;
        }
        self.ends(branch);
        self.ledger.primaries.failed += 1;
        let Client { retries, backoff, .. } = self.client;
        let call = &mut self.branches[branch as usize];
        if failure == Failure::Permanent || call.tries > retries {
            call.outcome = Some(Outcome::Failed);
            self.finish(Verdict::Failed(Cause::Required(branch)), actions);
            return;
        }
        let doubled = 1_u64.checked_shl(u32::from(call.tries) - 1).unwrap_or(u64::MAX);
        let backoff = Time::from_nanos(backoff.as_nanos().saturating_mul(doubled));
        let wait = call.pause.take().unwrap_or(backoff);
        self.retries.push(Reverse((self.now.saturating_add(wait), branch)));
    }

    fn finish(&mut self, verdict: Verdict, actions: &mut Vec<Action>) {
        for branch in 0..self.branches.len() as u32 {
            let call = &mut self.branches[branch as usize];
            if call.running_since.is_some() {
                self.ledger.primaries.censored += 1;
                actions.push(Action::Cancel(AttemptId::primary(branch), Cut::JobEnded));
                self.ends(branch);
            }
            let call = &mut self.branches[branch as usize];
            let lost =
                if call.tries > 0 { Outcome::Cancelled } else { Outcome::NotStarted(NotStarted::JobFailed) };
            call.outcome.get_or_insert(lost);
        }
        self.verdict = Some(verdict);
        actions.push(Action::Finish(verdict));
    }

    fn ends(&mut self, branch: u32) {
        if let Some(since) = self.branches[branch as usize].running_since.take() {
            let busy = &mut self.ledger.primaries.busy;
            *busy = busy.saturating_add(self.now.saturating_sub(since));
        }
    }
}
