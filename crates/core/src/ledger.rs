//! What a job did, in numbers that sum.

use crate::Time;
use crate::job::{Refusal, Role};

/// Attempts and busy time by role, refusals by reason. Ledgers of many jobs add up with [`Ledger::add`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The branches' first attempts.
    pub primaries: Attempts,
    /// The attempts beside them.
    pub copies: Attempts,
    /// The attempts in place of those that failed.
    pub failovers: Attempts,
    /// The primaries that ran on although the job needed them no more: the extra load of observing. Above they count as
    /// lost or censored, with the time until then.
    pub kept: Kept,
    /// Attempts that never started, in the order of [`Refusal::ALL`].
    refusals: [u64; Refusal::ALL.len()],
}

/// What became of the attempts of one role. Once a job is over, `launched = won + lost + failed + censored`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Started.
    pub launched: u64,
    /// Answered, and its branch took the answer.
    pub won: u64,
    /// Dropped because another attempt of the branch won.
    pub lost: u64,
    /// Ended in an error.
    pub failed: u64,
    /// Dropped at an age that says only that its latency is longer: timeout, deadline, or the end of the job.
    pub censored: u64,
    /// Time under a permit, summed.
    pub busy: Time,
}

/// What became of the attempts that were kept. Once none of them runs, `kept = answered + failed + censored`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Ran on.
    pub kept: u64,
    /// Answered all the same.
    pub answered: u64,
    /// Ended in an error.
    pub failed: u64,
    /// Cut by the deadline, the attempt timeout, or when the job was dropped.
    pub censored: u64,
    /// Time under a permit from when the job needed them no more, summed.
    pub busy: Time,
}

impl Kept {
    /// Kept and not ended.
    pub fn running(&self) -> u64 {
        self.kept - self.answered - self.failed - self.censored
    }

    fn add(&mut self, other: &Kept) {
        self.kept += other.kept;
        self.answered += other.answered;
        self.failed += other.failed;
        self.censored += other.censored;
        self.busy = self.busy.saturating_add(other.busy);
    }
}

impl Attempts {
    /// Started and not ended.
    pub fn running(&self) -> u64 {
        self.launched - self.won - self.lost - self.failed - self.censored
    }

    fn add(&mut self, other: &Attempts) {
        self.launched += other.launched;
        self.won += other.won;
        self.lost += other.lost;
        self.failed += other.failed;
        self.censored += other.censored;
        self.busy = self.busy.saturating_add(other.busy);
    }
}

impl Ledger {
    /// The counts of one role.
    pub fn of(&self, role: Role) -> &Attempts {
        match role {
            Role::Primary => &self.primaries,
            Role::Copy => &self.copies,
            Role::Failover => &self.failovers,
        }
    }

    pub(crate) fn of_mut(&mut self, role: Role) -> &mut Attempts {
        match role {
            Role::Primary => &mut self.primaries,
            Role::Copy => &mut self.copies,
            Role::Failover => &mut self.failovers,
        }
    }

    /// The counts of all roles together.
    pub fn total(&self) -> Attempts {
        let mut total = self.primaries;
        total.add(&self.copies);
        total.add(&self.failovers);
        total
    }

    /// How many attempts were refused for `reason`.
    pub fn refused(&self, reason: Refusal) -> u64 {
        self.refusals[reason as usize]
    }

    pub(crate) fn refuse(&mut self, reason: Refusal) {
        self.refusals[reason as usize] += 1;
    }

    /// Sets how many attempts were refused for `reason`: for ledgers that were written down.
    pub fn set_refused(&mut self, reason: Refusal, count: u64) {
        self.refusals[reason as usize] = count;
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Ledger) {
        self.primaries.add(&other.primaries);
        self.copies.add(&other.copies);
        self.failovers.add(&other.failovers);
        self.kept.add(&other.kept);
        for (mine, theirs) in self.refusals.iter_mut().zip(other.refusals) {
            *mine += theirs;
        }
    }
}
