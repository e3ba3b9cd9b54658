//! The copies that a search gives the branches of a group.

use alloc::vec::Vec;
use core::iter;

use fantail_core::Time;

use crate::solve::schedule;
use crate::{Group, Law, Level};

/// Copies of a branch: some at once, and some later, evenly spaced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Copies {
    /// How many are due with the primary: a race.
    pub(super) at_once: usize,
    /// How many are due later.
    pub(super) late: usize,
    /// When the first of those is due, in seconds from the start.
    pub(super) first: f64,
    /// Seconds from one of those to the next.
    pub(super) gap: f64,
}

impl Copies {
    pub(super) const NONE: Copies = Copies::race(0);

    pub(super) const fn race(at_once: usize) -> Copies {
        Copies { at_once, late: 0, first: 0.0, gap: 0.0 }
    }

    /// How many there are.
    pub(super) fn count(self) -> usize {
        self.at_once + self.late
    }

    pub(super) fn delays(self) -> impl Iterator<Item = f64> {
        let late = (0..self.late).map(move |i| self.first + i as f64 * self.gap);
        iter::repeat_n(0.0, self.at_once).chain(late)
    }

    /// The group with these copies.
    pub(super) fn on(self, group: &Group) -> Group {
        with_delays(group, self.delays().map(whole_nanos).collect())
    }

    /// The same, or with one of a race as one that may be late; one where there is none.
    pub(super) fn with_late(self) -> Copies {
        if self.late > 0 { self } else { Copies { late: 1, ..Copies::race(self.at_once.saturating_sub(1)) } }
    }

    /// The same, each so much earlier.
    pub(super) fn scaled(self, factor: f64) -> Copies {
        Copies { first: factor * self.first, gap: factor * self.gap, ..self }
    }
}

/// When the attempts of a branch start while none of them answers: what its copies do under a deadline.
pub(super) struct Attempts<'g> {
    group: &'g Group,
    pub(super) starts: Vec<f64>,
}

impl<'g> Attempts<'g> {
    pub(super) fn new(group: &'g Group, copies: Copies, deadline: f64) -> Attempts<'g> {
        let starts = schedule(&copies.on(group), deadline.min(group.deadline)).0;
        Attempts { group, starts }
    }

    /// `-ln P(no answer by t)` of the first so many.
    fn hazard_of(&self, attempts: usize, t: f64) -> f64 {
        let started = self.starts[..attempts].iter().filter(|start| **start < t);
        started.map(|start| self.group.law.hazard((t - start).min(self.group.attempt_timeout))).sum()
    }

    /// `-ln P(no answer by t)`.
    pub(super) fn hazard(&self, t: f64) -> f64 {
        self.hazard_of(self.starts.len(), t)
    }

    /// Expected copies, when `waited` gives P(the job still waits for the branch) at a time at which it has no answer.
    pub(super) fn copies(&self, waited: impl Fn(f64) -> f64) -> f64 {
        let copy = |i: usize| {
            let start = self.starts[i];
            libm::exp(-self.hazard_of(i, start)) * waited(start)
        };
        (1..self.starts.len()).map(copy).sum()
    }
}

/// The group with copies due after these delays. A copy after a delay needs as much time as the group states, or else
/// the median of its law, as in a plan file; a race needs none.
pub(super) fn with_delays(group: &Group, delays: Vec<f64>) -> Group {
    let delayed = delays.iter().any(|delay| *delay > 0.0);
    let median = median(&group.law);
    let stated = (group.min_useful > 0.0 && group.min_useful != median
        || group.delays.iter().any(|delay| *delay > 0.0))
    .then_some(group.min_useful);
    let min_useful = match stated {
        Some(stated) if delayed || stated != median => stated,
        None if delayed => median,
        _ => 0.0,
    };
    Group { delays, min_useful, ..group.clone() }
}

/// The group with those of these copies that are ever sent, their delays rounded down to so many digits: not the last ones,
/// for which the deadline leaves too little time; and one that an attempt that times out brings forward is due then.
pub(super) fn only_sent(group: &Group, copies: Copies, digits: u32, deadline: f64) -> Group {
    let all = with_delays(group, copies.delays().map(|delay| few_digits(delay, digits)).collect());
    with_delays(group, schedule(&all, deadline.min(group.deadline)).0.split_off(1))
}

/// The time that a copy after a delay needs where none is stated.
fn median(law: &Law) -> f64 {
    Time::from_secs_f64(law.quantile(Level::MEDIAN)).unwrap_or(Time::MAX).as_secs_f64()
}

/// A delay in whole nanoseconds, not later.
fn whole_nanos(seconds: f64) -> f64 {
    nanos(seconds) as f64 / 1e9
}

/// Whole nanoseconds, not more, at most what a plan may state.
fn nanos(seconds: f64) -> u64 {
    // Whole ones that the division by 1e9 rounded down are meant whole.
    (seconds.min(Time::LONGEST.as_secs_f64()) * 1e9 + 1e-4) as u64
}

/// The digits of a whole number of nanoseconds in 365 days.
pub(super) const MOST_DIGITS: u32 = 17;

/// The time rounded down to so many decimal digits, so that people can read it.
pub(super) fn few_digits(seconds: f64, digits: u32) -> f64 {
    let nanos = nanos(seconds);
    (nanos / unit(nanos, digits) * unit(nanos, digits)) as f64 / 1e9
}

/// The same, rounded up.
pub(super) fn few_digits_up(seconds: f64, digits: u32) -> f64 {
    let nanos = nanos(seconds) + 1;
    (nanos.div_ceil(unit(nanos, digits)) * unit(nanos, digits)) as f64 / 1e9
}

/// What the last of so many digits counts.
fn unit(nanos: u64, digits: u32) -> u64 {
    10_u64.pow(nanos.checked_ilog10().map_or(0, |log| (log + 1).saturating_sub(digits)))
}
