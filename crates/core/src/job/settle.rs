//! How attempts end, how branches settle, and when the job is over.

use alloc::vec::Vec;
use core::mem;

use super::kept::KeptEnd;
use super::{
    Action, AttemptId, AttemptState, Cause, Cut, Event, Failure, Job, NotStarted, Outcome, Refusal, Role,
    Verdict,
};

impl Event {
    pub(super) const PRIMED: u8 = 1;
    pub(super) const FAILED: u8 = 2;
    pub(super) const GRANTED: u8 = 3;

    /// The order within one instant. Deadlines, turns and hedge delays, which the job knows by itself, lie between
    /// [`Event::FAILED`] and [`Event::GRANTED`]. Of contradictory reports on one attempt the first counts: it is in
    /// time for its failure before it is for its timeout.
    pub(super) fn order(&self) -> u64 {
        let (rank, attempt, last) = match *self {
            Event::Answered(attempt) => (0, attempt, 0),
            Event::Primed(attempt) => (Event::PRIMED, attempt, 0),
            Event::Failed(attempt, failure) => (Event::FAILED, attempt, failure as u8),
            Event::Granted(attempt) => (Event::GRANTED, attempt, 0),
            Event::Refused(attempt, reason) => (Event::GRANTED, attempt, 1 + reason as u8),
            Event::Dropped => (u8::MAX, AttemptId::primary(u32::MAX), 0),
        };
        u64::from(rank) << 48
            | u64::from(attempt.branch) << 16
            | u64::from(attempt.number) << 8
            | u64::from(last)
    }

    /// Puts the events of one instant in order. Mostly they come in it.
    pub(super) fn sort(events: &mut [Event]) {
        let mut last = 0;
        let sorted = events.iter().map(Event::order).all(|order| mem::replace(&mut last, order) <= order);
        if !sorted {
            events.sort_unstable_by_key(Event::order);
        }
    }

    /// Which group of its instant it is in.
    pub(super) fn rank(&self) -> u8 {
        (self.order() >> 48) as u8
    }
}

/// How a running attempt came to its end.
#[derive(Clone, Copy)]
enum End {
    Won,
    Failed,
    Cut(Cut),
    /// As cut, but it runs on.
    Kept(Cut),
}

impl Job {
    #[inline]
    pub(super) fn answered(&mut self, attempt: AttemptId, actions: &mut Vec<Action>) {
        if !self.end(attempt, End::Won, actions) {
            return;
        }
        let state = &mut self.branches[attempt.branch as usize];
        state.winner = Some(attempt.number);
        let alone = state.running + state.asking == 0;
        self.answered += 1;
        self.required_answered += u32::from(self.plan.like(attempt.branch).required);
        if !alone {
            self.drop_rest(attempt.branch, self.is_observed(), Cut::Lost, actions);
        }
        self.close(attempt.branch, Outcome::Answered);
        if self.leading == Some(attempt.branch) {
            self.release_followers();
        }
        for place in 0..self.plan.dependents(attempt.branch).len() {
            self.wait_for_one_less(self.plan.dependents(attempt.branch)[place]);
        }
    }

    pub(super) fn failed(&mut self, attempt: AttemptId, failure: Failure, actions: &mut Vec<Action>) {
        let end = if failure == Failure::TimedOut { End::Cut(Cut::TimedOut) } else { End::Failed };
        if !self.end(attempt, end, actions) {
            return;
        }
        match failure {
            Failure::Retryable | Failure::TimedOut => self.bring_copy_forward(attempt.branch, actions),
            Failure::Permanent | Failure::Pushback => self.give_up_copies(attempt.branch, actions),
        }
        self.settle_if_exhausted(attempt.branch, actions);
    }

    /// Asks for the next copy before its delay has elapsed, since an attempt that it would stand beside has failed.
    fn bring_copy_forward(&mut self, branch: u32, actions: &mut Vec<Action>) {
        if self.ask_next_copy(branch, actions) {
            self.arm_next_copy(branch, actions);
        }
    }

    /// Nothing that has not started will: another try cannot succeed, or would be unwelcome.
    fn give_up_copies(&mut self, branch: u32, actions: &mut Vec<Action>) {
        let copies = self.plan.like(branch).delays().len() as u8;
        let state = &mut self.branches[branch as usize];
        state.next_copy = copies + 1;
        state.failover = false;
        for number in 1..=copies {
            self.withdraw(AttemptId { branch, number }, actions);
        }
    }

    /// Takes back what was asked for `attempt`, if anything was.
    fn withdraw(&mut self, attempt: AttemptId, actions: &mut Vec<Action>) {
        if let Some(state @ AttemptState::Asking) = self.state_mut(attempt) {
            *state = AttemptState::Ended;
            self.branches[attempt.branch as usize].asking -= 1;
            actions.push(Action::Withdraw(attempt));
        }
    }

    pub(super) fn refused(&mut self, attempt: AttemptId, reason: Refusal, actions: &mut Vec<Action>) {
        let Some(state @ AttemptState::Asking) = self.state_mut(attempt) else { return };
        *state = AttemptState::Ended;
        self.branches[attempt.branch as usize].asking -= 1;
        self.ledger.refuse(reason);
        let state = self.branches[attempt.branch as usize];
        if state.started == 0 {
            self.settle_lost(attempt.branch, Outcome::NotStarted(NotStarted::Refused(reason)));
        } else if state.running == 0 && state.asking == 0 {
            // It stood in for an attempt that failed; so may the next one.
            self.bring_copy_forward(attempt.branch, actions);
            self.settle_if_exhausted(attempt.branch, actions);
        }
    }

    pub(super) fn deadline(&mut self, branch: u32, actions: &mut Vec<Action>) {
        let state = self.branches[branch as usize];
        if state.outcome.is_some() {
            self.end_kept(AttemptId::primary(branch), KeptEnd::Cut(Cut::Deadline), actions);
            return;
        }
        let asked = self.state(AttemptId::primary(branch)) != Some(AttemptState::Idle);
        let outcome = match (state.running, state.started) {
            (0, 0) if !asked => Outcome::NotStarted(NotStarted::Dependency),
            (0, 0) => Outcome::NotStarted(NotStarted::NoPermit),
            (0, _) => Outcome::Failed,
            _ => Outcome::Missed,
        };
        self.settle(branch, outcome, Cut::Deadline, actions);
    }

    /// Looks at the barrier, and ends the job when there is nothing to wait for.
    pub(super) fn judge(&mut self, actions: &mut Vec<Action>) {
        if self.verdict.is_some() {
            return;
        }
        let plan = &self.plan;
        let verdict = if let Some(branch) = self.required_lost {
            Verdict::Failed(Cause::Required(branch))
        } else if let Some(branch) = self.too_few {
            Verdict::Failed(Cause::TooFew(branch))
        } else if self.required_answered == plan.required() && self.answered >= plan.k() {
            Verdict::Complete
        } else if self.open == 0 {
            Verdict::Partial
        } else {
            return;
        };
        self.finish(verdict, actions);
    }

    /// Settles every open branch, so that nothing runs on, then says that the job is over.
    pub(super) fn finish(&mut self, verdict: Verdict, actions: &mut Vec<Action>) {
        for branch in 0..self.plan.n() {
            let state = self.branches[branch as usize];
            if state.outcome.is_some() {
                continue;
            }
            let outcome = match verdict {
                Verdict::Complete | Verdict::Partial => Outcome::Unneeded,
                Verdict::Failed(_) if state.started > 0 => Outcome::Cancelled,
                Verdict::Failed(_) => Outcome::NotStarted(NotStarted::JobFailed),
            };
            self.settle(branch, outcome, Cut::JobEnded, actions);
        }
        self.verdict = Some(verdict);
        self.finished_at = self.now;
        self.timers.drop_head_start();
        actions.push(Action::Finish(verdict));
    }

    /// Ends a running attempt as far as the job is concerned; `false` when it does not run.
    #[inline]
    fn end(&mut self, attempt: AttemptId, end: End, actions: &mut Vec<Action>) -> bool {
        let (runs_on, now) = (matches!(end, End::Kept(_)), self.now);
        let Some(state) = self.state_mut(attempt) else { return false };
        let AttemptState::Running { since } = *state else { return false };
        *state = if runs_on { AttemptState::Kept { since: now } } else { AttemptState::Ended };
        self.branches[attempt.branch as usize].running -= 1;
        let counts = self.ledger.of_mut(attempt.role());
        counts.busy = counts.busy.saturating_add(self.now.saturating_sub(since));
        match end {
            End::Won => counts.won += 1,
            End::Failed => counts.failed += 1,
            End::Cut(Cut::Lost) | End::Kept(Cut::Lost) => counts.lost += 1,
            End::Cut(_) | End::Kept(_) => counts.censored += 1,
        }
        match end {
            End::Won | End::Failed => {}
            End::Cut(cut) => actions.push(Action::Cancel(attempt, cut)),
            End::Kept(_) => {
                self.ledger.kept.kept += 1;
                actions.push(Action::Keep(attempt));
            }
        }
        true
    }

    /// Drops what a branch still has; its primary runs on if the job `keeps` it. Copies do not: latency is measured on
    /// primaries.
    fn drop_rest(&mut self, branch: u32, keeps: bool, cut: Cut, actions: &mut Vec<Action>) {
        for attempt in self.plan.attempts_of(branch) {
            self.withdraw(attempt, actions);
            let kept = keeps && attempt.role() == Role::Primary;
            self.end(attempt, if kept { End::Kept(cut) } else { End::Cut(cut) }, actions);
        }
    }

    /// Gives an open branch that has not answered its outcome, and drops what it still has; in an observed job, its primary
    /// runs on if all that came between is that it is not needed.
    fn settle(&mut self, branch: u32, outcome: Outcome, cut: Cut, actions: &mut Vec<Action>) {
        let state = &self.branches[branch as usize];
        if state.running + state.asking > 0 {
            self.drop_rest(branch, self.is_observed() && outcome == Outcome::Unneeded, cut, actions);
        }
        match outcome {
            Outcome::Answered
            | Outcome::Unneeded
            | Outcome::Cancelled
            | Outcome::NotStarted(NotStarted::JobFailed) => {
                self.close(branch, outcome);
            }
            Outcome::Failed | Outcome::Missed | Outcome::NotStarted(_) => self.settle_lost(branch, outcome),
        }
    }

    /// An open branch with nothing running and nothing asked for fails over, or has failed.
    fn settle_if_exhausted(&mut self, branch: u32, actions: &mut Vec<Action>) {
        let state = &self.branches[branch as usize];
        let exhausted = state.outcome.is_none() && state.running == 0 && state.asking == 0;
        if exhausted && !self.ask_failover(branch, actions) {
            self.settle_lost(branch, Outcome::Failed);
        }
    }

    /// Gives an open branch, which has nothing running and asks for nothing, an outcome other than an answer; and so to
    /// the branches that come after it and do not tolerate that. Whatever they tip, it is the cause.
    fn settle_lost(&mut self, root: u32, outcome: Outcome) {
        self.lose(root, outcome);
        self.losing.push(root);
        while let Some(branch) = self.losing.pop() {
            for place in 0..self.plan.dependents(branch).len() {
                let dependent = self.plan.dependents(branch)[place];
                if self.plan.like(dependent).tolerates_missing {
                    self.wait_for_one_less(dependent);
                } else if self.branches[dependent as usize].outcome.is_none() {
                    self.lose(dependent, Outcome::NotStarted(NotStarted::Dependency));
                    self.losing.push(dependent);
                }
            }
        }
        if self.too_few.is_none() && self.answered + self.open < self.plan.at_least() {
            self.too_few = Some(root);
        }
    }

    fn lose(&mut self, branch: u32, outcome: Outcome) {
        self.close(branch, outcome);
        if self.plan.like(branch).required && self.required_lost.is_none() {
            self.required_lost = Some(branch);
        }
    }

    #[inline]
    fn close(&mut self, branch: u32, outcome: Outcome) {
        let state = &mut self.branches[branch as usize];
        state.outcome = Some(outcome);
        state.settled_at = self.now;
        self.open -= 1;
    }
}
