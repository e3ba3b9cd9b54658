//! Who starts when: branches in their turn, copies when they are due, all under a permit.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::mem;

use super::timers::Timer;
use super::{Action, AttemptId, AttemptState, Class, Job, Refusal, Role};
use crate::Time;

impl Job {
    /// Asks for the primaries that need not wait for other branches.
    pub(super) fn start_first(&mut self, actions: &mut Vec<Action>) {
        for branch in 0..self.plan.n() {
            if self.branches[branch as usize].waits_for > 0 {
                continue;
            }
            if self.leading.is_none_or(|leader| leader == branch) {
                self.ask_primary(branch, actions);
            } else {
                self.ready.push(Reverse(branch));
            }
        }
    }

    /// A branch that `branch` comes after has answered, or has been lost and is not missed.
    pub(super) fn wait_for_one_less(&mut self, branch: u32) {
        let state = &mut self.branches[branch as usize];
        state.waits_for -= 1;
        if state.waits_for == 0 && state.outcome.is_none() {
            self.ready.push(Reverse(branch));
        }
    }

    /// An attempt has primed what the branches share.
    pub(super) fn primed(&mut self, attempt: AttemptId) {
        let runs = matches!(self.state(attempt), Some(AttemptState::Running { .. }));
        if runs && self.leading == Some(attempt.branch) {
            self.release_followers();
        }
    }

    /// The followers wait for their leader no longer.
    pub(super) fn release_followers(&mut self) {
        self.leading = None;
        self.timers.drop_head_start();
    }

    /// Asks for the primaries whose turn has come by `due`: of all that wait for nothing else or, while they wait for a
    /// leader, of the one that takes the place of a leader that was lost.
    pub(super) fn start_ready(&mut self, due: Time, actions: &mut Vec<Action>) {
        if self.timers.head_start_over(due) {
            self.release_followers();
        }
        let leads = |branch: u32| self.branches[branch as usize].outcome.is_none();
        if self.verdict.is_some() || self.leading.is_some_and(leads) {
            return;
        }
        while let Some(Reverse(branch)) = self.ready.pop() {
            if self.branches[branch as usize].outcome.is_some() {
                continue;
            }
            self.ask_primary(branch, actions);
            if let Some(leader) = &mut self.leading {
                *leader = branch;
                return;
            }
        }
    }

    #[inline]
    fn ask_primary(&mut self, branch: u32, actions: &mut Vec<Action>) {
        let deadline = self.plan.like(branch).deadline;
        self.ask_for(AttemptId::primary(branch), Class::First, false, deadline, actions);
    }

    /// Asks for a copy or a failover.
    fn ask(&mut self, attempt: AttemptId, actions: &mut Vec<Action>) {
        let branch = self.plan.like(attempt.branch);
        let until = branch.last_useful_start();
        let (class, budgeted) = if attempt.role() == Role::Copy {
            let class = if branch.required { Class::RequiredCopy } else { Class::OptionalCopy };
            (class, branch.delays()[usize::from(attempt.number) - 1] > Time::ZERO)
        } else {
            (Class::First, true)
        };
        self.ask_for(attempt, class, budgeted, until, actions);
    }

    #[inline]
    fn ask_for(
        &mut self,
        attempt: AttemptId,
        class: Class,
        budgeted: bool,
        until: Option<Time>,
        actions: &mut Vec<Action>,
    ) {
        let until = until.map(|after| self.started_at.saturating_add(after));
        if let Some(state) = self.state_mut(attempt) {
            *state = AttemptState::Asking;
        }
        self.branches[attempt.branch as usize].asking += 1;
        actions.push(Action::Ask { attempt, class, budgeted, until });
    }

    /// Asks for the next declared copy of an open branch. `false` when there is none, or it would come too late.
    pub(super) fn ask_next_copy(&mut self, branch: u32, actions: &mut Vec<Action>) -> bool {
        let declared = self.plan.like(branch);
        let number = self.branches[branch as usize].next_copy;
        if usize::from(number) > declared.delays().len() {
            return false;
        }
        self.branches[branch as usize].next_copy += 1;
        self.ask_in_time(AttemptId { branch, number }, actions)
    }

    /// Asks for the failover of an open branch whose attempts have all failed. `false` when it may have none, when every
    /// target was tried, or when it would come too late.
    pub(super) fn ask_failover(&mut self, branch: u32, actions: &mut Vec<Action>) -> bool {
        let targets = self.plan.like(branch).targets;
        let state = &mut self.branches[branch as usize];
        mem::take(&mut state.failover)
            && u32::from(state.started) < targets
            && self.ask_in_time(AttemptId::failover(branch), actions)
    }

    /// Asks for an attempt unless it would come too late.
    fn ask_in_time(&mut self, attempt: AttemptId, actions: &mut Vec<Action>) -> bool {
        let in_time = !self.is_too_late(attempt.branch);
        if in_time {
            self.ask(attempt, actions);
        } else {
            self.ledger.refuse(Refusal::NoTimeLeft);
        }
        in_time
    }

    /// Whether another attempt of the branch would be of no use any more.
    fn is_too_late(&self, branch: u32) -> bool {
        let last = self.plan.like(branch).last_useful_start();
        last.is_some_and(|last| self.now > self.started_at.saturating_add(last))
    }

    /// How long after the primary's permit a copy is due; `None` when there is no such copy, or it is never due.
    fn delay(&self, copy: AttemptId) -> Option<Time> {
        let declared = self.plan.like(copy.branch);
        let stated = *declared.delays().get(usize::from(copy.number) - 1)?;
        match declared.live {
            None => Some(stated),
            Some(live) => self.live.get(live).copied().unwrap_or(Some(stated)),
        }
    }

    /// A copy's delay has elapsed.
    pub(super) fn copy_due(&mut self, copy: AttemptId, actions: &mut Vec<Action>) {
        let state = &self.branches[copy.branch as usize];
        let wanted = state.outcome.is_none() && self.verdict.is_none() && state.next_copy == copy.number;
        if wanted && self.ask_next_copy(copy.branch, actions) {
            self.arm_next_copy(copy.branch, actions);
        }
    }

    /// Sets the timer of the next copy; asks at once for those whose delay has elapsed.
    pub(super) fn arm_next_copy(&mut self, branch: u32, actions: &mut Vec<Action>) {
        loop {
            let state = &self.branches[branch as usize];
            let number = state.next_copy;
            let Some(delay) = self.delay(AttemptId { branch, number }) else { return };
            let due = state.primary_permit.saturating_add(delay);
            if due > self.now {
                self.timers.arm(Timer { due, attempt: AttemptId { branch, number } });
                return;
            }
            if !self.ask_next_copy(branch, actions) {
                return;
            }
        }
    }

    #[inline]
    pub(super) fn granted(&mut self, attempt: AttemptId, actions: &mut Vec<Action>) {
        let Some(index) = self.plan.attempt_index(attempt) else { return };
        if self.attempts[index] != AttemptState::Asking {
            return;
        }
        let role = attempt.role();
        if role != Role::Primary && self.is_too_late(attempt.branch) {
            actions.push(Action::Withdraw(attempt));
            self.refused(attempt, Refusal::NoTimeLeft, actions);
            return;
        }
        let declared = self.plan.like(attempt.branch);
        let deadline = declared.deadline.map(|after| self.started_at.saturating_add(after));
        let timeout = declared.attempt_timeout.map(|timeout| self.now.saturating_add(timeout));
        let (targets, declares_copies) = (declared.targets, declared.hedge.is_some());
        if let Some(due) = timeout {
            self.timers.arm_timeout(Timer { due, attempt });
        }
        self.attempts[index] = AttemptState::Running { since: self.now };
        self.ledger.of_mut(role).launched += 1;
        let state = &mut self.branches[attempt.branch as usize];
        let turn = u64::from(self.rotation) + u64::from(state.started);
        let target = if targets == 1 { 0 } else { turn % u64::from(targets) };
        state.asking -= 1;
        state.running += 1;
        state.started += 1;
        state.first_permit.get_or_insert(self.now);
        if role == Role::Primary {
            state.primary_permit = self.now;
        }
        let until = match (deadline, timeout) {
            (Some(deadline), Some(timeout)) => Some(deadline.min(timeout)),
            (one, other) => one.or(other),
        };
        actions.push(Action::Start { attempt, target: target as u32, until });
        if self.leading == Some(attempt.branch)
            && let Some(leader) = self.plan.leader()
        {
            self.timers.arm_head_start(self.now.saturating_add(leader.head_start));
        }
        if role == Role::Primary && declares_copies {
            self.arm_next_copy(attempt.branch, actions);
        }
    }
}
