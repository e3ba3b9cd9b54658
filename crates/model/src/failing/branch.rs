//! From attempts that may fail to a branch.
//!
//! | symbol | meaning |
//! |---|---|
//! | A, R, P, U | an attempt has been answered, has failed retryably, for good, is open, as functions of its age |
//! | d | when the copy is due while the primary runs; infinite for a failover, which only a failure starts |
//! | l | the last instant at which a copy may start |
//!
//! A retryable failure before d starts the copy, which is then alone; one after d does not end the branch while the copy
//! runs. A permanent failure before the copy has started rules it out. With d <= l and t > d, and `ΔX = X(t) - X(d)`:
//!
//! - answered: `A(d) + ∫_0^d A(t-y) dR(y) + ΔA + (U(d) - ΔA) A(t-d)`;
//! - failed: `P(d) + ∫_0^d (R+P)(t-y) dR(y) + (ΔR+ΔP) (R+P)(t-d)`;
//! - open: `∫_0^d U(t-y) dR(y) + U(t) (1 - A(t-d)) + (ΔR+ΔP) U(t-d)`.
//!
//! All terms are positive.

use alloc::vec::Vec;

use super::Attempt;
use crate::LawError;

/// What a branch sends, all of it alike and independent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sends {
    /// So many attempts at once, 1 or more; no other follows a failure.
    Race(u32),
    /// A primary, and one copy after so many seconds, or when the primary fails retryably if that is earlier. Infinite: a
    /// failover, sent only at a failure. Zero is a race of 2.
    Copy(f64),
}

/// A branch whose attempts may fail.
///
/// ```
/// use fantail_model::{Attempt, FailingBranch, Law, Sends};
///
/// let attempt = Attempt::new(Law::exponential(1.0)?).retryable(0.1, Law::exponential(0.5)?)?;
/// let alone = FailingBranch { sends: Sends::Race(1), ..FailingBranch::new(attempt.clone()) };
/// let failover = FailingBranch { sends: Sends::Copy(f64::INFINITY), ..FailingBranch::new(attempt) };
/// assert!((alone.at(50.0)?.failed - 0.1).abs() < 1e-12);
/// assert!((failover.at(50.0)?.failed - 0.01).abs() < 1e-12);
/// # Ok::<(), fantail_model::LawError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FailingBranch {
    /// Each of its attempts.
    pub attempt: Attempt,
    /// How many there are, and when.
    pub sends: Sends,
    /// When it must have answered, in seconds from the start; infinite for never.
    pub deadline: f64,
    /// A copy starts only with at least this many seconds left before the deadline.
    pub min_useful: f64,
}

/// How likely a branch has ended in each way by a time; the four sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BranchAt {
    /// An attempt has been answered.
    pub answered: f64,
    /// All attempts have failed, and none may start.
    pub failed: f64,
    /// An attempt was running when the deadline came.
    pub missed: f64,
    /// It is open.
    pub open: f64,
}

impl BranchAt {
    /// It can no longer answer.
    pub fn lost(self) -> f64 {
        self.failed + self.missed
    }
}

impl FailingBranch {
    /// One attempt and no deadline.
    pub fn new(attempt: Attempt) -> FailingBranch {
        FailingBranch { attempt, sends: Sends::Race(1), deadline: f64::INFINITY, min_useful: 0.0 }
    }

    /// Refuses numbers that make no branch.
    pub(super) fn check(&self) -> Result<(), LawError> {
        match self.sends {
            Sends::Race(attempts) => {
                let ok = (1..=1_000).contains(&attempts);
                LawError::check("attempts", f64::from(attempts), ok, "1 to 1000")?;
            }
            Sends::Copy(delay) => LawError::check("delay", delay, delay >= 0.0, "0 or more seconds")?,
        }
        LawError::check("deadline", self.deadline, self.deadline >= 0.0, "0 or more seconds")?;
        LawError::check("min_useful", self.min_useful, self.min_useful >= 0.0, "0 or more seconds")
    }

    /// How it stands `t` seconds after its start. An answer at the deadline is in time, and so is a failure.
    ///
    /// # Errors
    /// [`LawError::OutOfRange`] for a number that makes no branch; [`LawError::NotConverged`] when an integral misses its
    /// precision (not seen for any law tested).
    pub fn at(&self, t: f64) -> Result<BranchAt, LawError> {
        self.check()?;
        let t = t.max(0.0);
        let running = self.before_deadline(t.min(self.deadline))?;
        if t >= self.deadline && self.deadline.is_finite() {
            return Ok(BranchAt { missed: running.open, open: 0.0, ..running });
        }
        Ok(running)
    }

    /// How likely its copy is sent before its deadline, were nothing to stop it but its own answer.
    ///
    /// # Errors
    /// [`LawError::OutOfRange`] for a number that makes no branch.
    pub fn sends_copy(&self) -> Result<f64, LawError> {
        self.check()?;
        let (due, last) = (self.due(), self.last_start());
        Ok(match self.sends {
            Sends::Race(attempts) => f64::from(u8::from(attempts > 1)),
            Sends::Copy(_) if due <= last => {
                let primary = self.attempt.at(due);
                primary.retryable + if due.is_finite() { primary.open } else { 0.0 }
            }
            Sends::Copy(_) => self.attempt.at(last).retryable,
        })
    }

    fn before_deadline(&self, t: f64) -> Result<BranchAt, LawError> {
        let primary = self.attempt.at(t);
        if let Sends::Race(attempts) = self.sends {
            return Ok(race(primary.answered, primary.failed(), primary.open, attempts));
        }
        let (due, last) = (self.due(), self.last_start());
        let until = t.min(due.min(last));
        let [answered, failed] =
            self.attempt.after_failure(t, until, |copy| [copy.answered, copy.failed()])?;
        let [open, _] = self.attempt.after_failure(t, until, |copy| [copy.open, 0.0])?;
        if t < due || due > last {
            // Failures too late for a copy end the branch.
            let too_late = self.attempt.between(until, t).retryable;
            return Ok(BranchAt {
                answered: primary.answered + answered,
                failed: primary.permanent + too_late + failed,
                missed: 0.0,
                open: primary.open + open,
            });
        }
        let (before, since) = (self.attempt.at(due), self.attempt.between(due, t));
        let copy = self.attempt.at(t - due);
        // The primary's share of what was open at d, by what has become of it.
        let not_answered = since.failed() + since.open;
        Ok(BranchAt {
            answered: before.answered + answered + since.answered + not_answered * copy.answered,
            failed: before.permanent + failed + since.failed() * copy.failed(),
            missed: 0.0,
            open: open + since.open * (copy.open + copy.failed()) + since.failed() * copy.open,
        })
    }

    /// When the copy is due while the primary runs.
    fn due(&self) -> f64 {
        if let Sends::Copy(delay) = self.sends { delay } else { 0.0 }
    }

    /// The last instant at which a copy may start; negative when none may.
    fn last_start(&self) -> f64 {
        if self.deadline.is_finite() { self.deadline - self.min_useful } else { f64::INFINITY }
    }

    /// Adds the times at which it is not smooth.
    pub(super) fn kinks(&self, into: &mut Vec<f64>) {
        let mut ages = Vec::new();
        self.attempt.kinks(&mut ages);
        into.extend([self.due(), self.last_start(), self.deadline]);
        for &age in &ages {
            into.extend([age, age + self.due()]);
            // The copy starts at a failure, which has its own times.
            into.extend(ages.iter().map(|other| age + other));
        }
        into.retain(|t| t.is_finite() && *t > 0.0);
    }
}

/// The first answer of attempts that start at once.
fn race(answered: f64, failed: f64, open: f64, attempts: u32) -> BranchAt {
    let n = f64::from(attempts);
    let unanswered = failed + open;
    let answered = if unanswered < 0.5 {
        1.0 - libm::pow(unanswered, n)
    } else {
        -libm::expm1(n * libm::log1p(-answered))
    };
    // (f + o)^n - f^n, without the difference where it is small.
    let all_failed = libm::pow(failed, n);
    let some_open = if open > failed {
        libm::pow(failed + open, n) - all_failed
    } else if open == 0.0 {
        0.0
    } else {
        all_failed * libm::expm1(n * libm::log1p(open / failed))
    };
    BranchAt { answered, failed: all_failed, missed: 0.0, open: some_open }
}
