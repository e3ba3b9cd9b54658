//! From a group to the law of one of its branches: which attempts start, and when the branch gives up.

use alloc::vec::Vec;

use super::{Group, SolveError};
use crate::Law;
use crate::dependence::Together;

/// One group, ready to be evaluated.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) count: u64,
    pub(super) required: bool,
    /// Of one attempt, cut by its time-out.
    pub(super) attempt: Law,
    /// Of one branch: the first answer of its attempts, not yet cut by the deadline.
    pub(super) law: Law,
    /// That law, when its attempts share a factor.
    pub(super) together: Option<Together>,
    /// When its attempts start while none has answered; the first is the primary, at 0.
    pub(super) starts: Vec<f64>,
    /// How long one attempt may run.
    pub(super) timeout: f64,
    /// When the branch gives up: its deadline, or when its last attempt times out.
    pub(super) expires: f64,
    /// Whether it gives up because its attempts timed out: it *failed* rather than missed.
    pub(super) times_out: bool,
}

impl Member {
    pub(super) fn new(group: &Group, job_deadline: f64) -> Result<Member, SolveError> {
        let deadline = group.deadline.min(job_deadline);
        let (starts, exhausted) = schedule(group, deadline);
        let attempt = group.law.cut(group.attempt_timeout)?;
        Ok(Member {
            count: group.count,
            required: group.required,
            law: attempt.hedged(&starts[1..])?,
            attempt,
            together: None,
            starts,
            timeout: group.attempt_timeout,
            expires: exhausted.min(deadline),
            times_out: exhausted.is_finite() && exhausted <= deadline,
        })
    }

    /// `-ln P(no answer by t, and none of that attempt `ahead` seconds later either, were it alone)`.
    pub(super) fn overrun(&self, t: f64, attempt: usize, ahead: f64) -> f64 {
        if let Some(together) = &self.together {
            return together.overrun(t, attempt, ahead);
        }
        let age = t - self.starts[attempt];
        let now = self.attempt.hazard(age);
        if now.is_infinite() { now } else { self.law.hazard(t) - now + self.attempt.hazard(age + ahead) }
    }

    /// The law of one attempt where its branch's law is that of its attempts together.
    pub(super) fn alone(&self) -> Law {
        self.together
            .as_ref()
            .map_or_else(|| self.attempt.clone(), |together| Law::together(together.first()))
    }

    /// When its first copy starts; infinite without copies.
    pub(super) fn first_copy(&self) -> f64 {
        self.starts.get(1).copied().unwrap_or(f64::INFINITY)
    }

    /// How many attempts run at `t` while none has answered.
    pub(super) fn running(&self, t: f64) -> f64 {
        self.starts.iter().filter(|start| **start <= t && t - **start < self.timeout).count() as f64
    }

    /// How much work one evaluation of its hazard is, in terms of a sum.
    pub(super) fn work(&self) -> f64 {
        /// One normal tail is as much work as so many.
        const TAIL: f64 = 50.0;
        TAIL * self.law.work()
    }

    /// `-ln P(no answer by t)`, with answers after the branch gave up left out.
    pub(super) fn hazard(&self, t: f64) -> f64 {
        self.law.hazard(t.min(self.expires))
    }
}

impl Group {
    /// Whether a copy that is due `delay` seconds from the start may be sent when the branch gives up at `deadline`: before it,
    /// and with `min_useful` left. In whole nanoseconds, so that what a plan states is not off by a rounding.
    pub fn may_send(&self, delay: f64, deadline: f64) -> bool {
        self.is_in_time(nanos(delay), nanos(deadline))
    }

    /// Likewise, of nanoseconds.
    fn is_in_time(&self, due: f64, deadline: f64) -> bool {
        due <= deadline - nanos(self.min_useful) && due < deadline
    }
}

/// When attempts start while none answers, and when the last of them has timed out.
///
/// A copy starts at its delay, or as soon as an attempt before it times out, whichever is earlier, unless less than
/// `min_useful` is left. Without answers nothing of this is random. It is counted in nanoseconds: what a plan states is
/// whole ones, whose sums and differences are exact, so that what falls due at one instant does so here too.
pub(crate) fn schedule(group: &Group, deadline: f64) -> (Vec<f64>, f64) {
    let deadline = nanos(deadline);
    let timeout = nanos(group.attempt_timeout);
    let mut starts = alloc::vec![0.0];
    let mut delays = group.delays.iter().map(|delay| nanos(*delay)).peekable();
    // Attempts time out in the order in which they started.
    let mut timed_out = 0;
    let exhausted = loop {
        let end = starts.get(timed_out).map_or(f64::INFINITY, |start| start + timeout);
        let due = delays.peek().copied().unwrap_or(f64::INFINITY);
        let at = end.min(due);
        if at >= deadline && !(at == end && end == deadline) || at.is_infinite() {
            break f64::INFINITY;
        }
        let brought_forward = end <= due;
        if brought_forward {
            timed_out += 1;
        }
        if delays.next().is_some() && group.is_in_time(at, deadline) {
            starts.push(at);
        }
        if brought_forward && timed_out == starts.len() {
            break at;
        }
    };
    (starts.into_iter().map(|at| at / 1e9).collect(), exhausted / 1e9)
}

/// Seconds as nanoseconds, whole ones where the seconds are as near to them as the rounding of whole ones leaves them.
fn nanos(seconds: f64) -> f64 {
    let nanos = seconds * 1e9;
    let whole = libm::rint(nanos);
    if (nanos - whole).abs() <= nanos * f64::EPSILON { whole } else { nanos }
}
