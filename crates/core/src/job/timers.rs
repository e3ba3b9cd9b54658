//! When a job must wake up: deadlines from the plan, hedge delays and attempt timeouts from permits.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::AttemptId;
use crate::{Plan, Time};

/// Something that falls due for one attempt. Ordered by time, then branch, then attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Timer {
    pub(super) due: Time,
    pub(super) attempt: AttemptId,
}

/// Deadlines are known from the start, so they are a cursor into the plan's sorted list, whatever the number of branches.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    next_deadline: usize,
    timeouts: Queue,
    hedges: Queue,
    /// When followers start, whether or not their leader has primed.
    head_start: Option<Time>,
}

impl Timers {
    /// With room for all that a job of the plan can set.
    pub(super) fn new(plan: &Plan) -> Timers {
        let branches = plan.branches();
        let copies = branches.iter().map(|branch| branch.delays().len()).sum();
        let timed = (0..).zip(branches).filter(|(_, branch)| branch.attempt_timeout.is_some());
        let timeouts = timed.map(|(branch, _)| plan.attempts_of(branch).count()).sum();
        Timers {
            next_deadline: 0,
            timeouts: Queue::with_capacity(timeouts),
            hedges: Queue::with_capacity(copies),
            head_start: None,
        }
    }

    pub(super) fn clear(&mut self) {
        self.next_deadline = 0;
        self.timeouts.clear();
        self.hedges.clear();
        self.head_start = None;
    }

    #[inline]
    pub(super) fn arm(&mut self, copy: Timer) {
        self.hedges.push(copy);
    }

    pub(super) fn arm_timeout(&mut self, timeout: Timer) {
        self.timeouts.push(timeout);
    }

    /// Sets the end of the leader's head start, unless it is set.
    pub(super) fn arm_head_start(&mut self, end: Time) {
        self.head_start.get_or_insert(end);
    }

    pub(super) fn drop_head_start(&mut self) {
        self.head_start = None;
    }

    /// Whether the head start is over by `until`.
    pub(super) fn head_start_over(&self, until: Time) -> bool {
        self.head_start.is_some_and(|end| end <= until)
    }

    pub(super) fn pop_hedge(&mut self, until: Time) -> Option<AttemptId> {
        self.hedges.pop(until)
    }

    pub(super) fn pop_timeout(&mut self, until: Time) -> Option<AttemptId> {
        self.timeouts.pop(until)
    }

    pub(super) fn pop_deadline(&mut self, plan: &Plan, started_at: Time, until: Time) -> Option<u32> {
        let (after, branch) = *plan.deadlines().get(self.next_deadline)?;
        (started_at.saturating_add(after) <= until).then(|| {
            self.next_deadline += 1;
            branch
        })
    }

    /// Forgets all that is due.
    pub(super) fn forget_all(&mut self, plan: &Plan) {
        self.clear();
        self.next_deadline = plan.deadlines().len();
    }

    /// Forgets, as far as it comes first, what is due for branches that have an outcome and nothing that `runs`.
    pub(super) fn forget(
        &mut self,
        plan: &Plan,
        settled: impl Fn(u32) -> bool,
        runs: impl Fn(AttemptId) -> bool,
    ) {
        let over = |branch| settled(branch) && !runs(AttemptId::primary(branch));
        while plan.deadlines().get(self.next_deadline).is_some_and(|(_, branch)| over(*branch)) {
            self.next_deadline += 1;
        }
        while self.hedges.first().is_some_and(|timer| settled(timer.attempt.branch)) {
            self.hedges.drop_first();
        }
        while self.timeouts.first().is_some_and(|timer| !runs(timer.attempt)) {
            self.timeouts.drop_first();
        }
    }

    pub(super) fn next(&self, plan: &Plan, started_at: Time) -> Option<Time> {
        let mut next = self.head_start;
        let mut soonest = |due: Time| next = Some(next.map_or(due, |next| next.min(due)));
        if let Some((after, _)) = plan.deadlines().get(self.next_deadline) {
            soonest(started_at.saturating_add(*after));
        }
        for queue in [&self.hedges, &self.timeouts] {
            if let Some(timer) = queue.first() {
                soonest(timer.due);
            }
        }
        next
    }
}

/// Timers by when they are due. Like branches set theirs in that order, and then each takes constant time.
#[derive(Clone, Debug)]
struct Queue {
    /// In order.
    row: Vec<Timer>,
    /// How many of the row are gone.
    gone: usize,
    /// What was due before the last of the row when it was set.
    others: BinaryHeap<Reverse<Timer>>,
}

impl Queue {
    /// With room for so many, in whatever order they come.
    fn with_capacity(n: usize) -> Queue {
        Queue { row: Vec::with_capacity(n), gone: 0, others: BinaryHeap::with_capacity(n) }
    }

    fn clear(&mut self) {
        self.row.clear();
        self.gone = 0;
        self.others.clear();
    }

    #[inline]
    fn push(&mut self, timer: Timer) {
        if self.gone == self.row.len() {
            self.row.clear();
            self.gone = 0;
        }
        if self.row.last().is_none_or(|last| *last <= timer) {
            self.row.push(timer);
        } else {
            self.others.push(Reverse(timer));
        }
    }

    fn first(&self) -> Option<Timer> {
        match (self.row.get(self.gone), self.others.peek()) {
            (Some(row), Some(Reverse(other))) => Some(*row.min(other)),
            (row, other) => row.or(other.map(|Reverse(other)| other)).copied(),
        }
    }

    fn drop_first(&mut self) {
        if self.first() == self.row.get(self.gone).copied() {
            self.gone += 1;
        } else {
            self.others.pop();
        }
    }

    fn pop(&mut self, until: Time) -> Option<AttemptId> {
        let first = self.first().filter(|first| first.due <= until)?;
        self.drop_first();
        Some(first.attempt)
    }
}
