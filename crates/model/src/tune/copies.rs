//! The copies that a search gives the branches of a group.

use alloc::vec::Vec;

use fantail_core::Time;

use crate::solve::schedule;
use crate::special::complement;
use crate::{Group, Law, Level};

/// So many copies, the first due after a delay and the others a gap apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Copies {
    pub(super) count: usize,
    /// Seconds from the start.
    pub(super) first: f64,
    /// Seconds.
    pub(super) gap: f64,
}

impl Copies {
    pub(super) const NONE: Copies = Copies { count: 0, first: 0.0, gap: 0.0 };

    pub(super) fn delays(self) -> impl Iterator<Item = f64> {
        (0..self.count).map(move |i| self.first + i as f64 * self.gap)
    }

    /// The group with these copies.
    pub(super) fn on(self, group: &Group) -> Group {
        with_delays(group, self.delays().map(whole_nanos).collect())
    }

    /// Expected copies of one branch while its job waits.
    pub(super) fn expected(self, law: &Law) -> f64 {
        self.delays().enumerate().map(|(i, at)| libm::exp(-self.hazard(law, at, i))).sum()
    }

    /// `-ln P(an attempt has answered by t)`, of one branch.
    pub(super) fn shortfall(self, law: &Law, t: f64) -> f64 {
        complement(self.hazard(law, t, self.count))
    }

    /// Hazard at `t` of the primary and the copies before the one of index `before`.
    fn hazard(self, law: &Law, t: f64, before: usize) -> f64 {
        let copies = self.delays().take(before).filter(|delay| *delay < t);
        law.hazard(t) + copies.map(|delay| law.hazard(t - delay)).sum::<f64>()
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

/// The group with those of these copies that are ever sent: not the last ones, for which the deadline leaves too little
/// time. One that only a timeout before it brings forward is due while there is time.
pub(super) fn only_sent(group: &Group, delays: Vec<f64>, deadline: f64) -> Group {
    let all = with_delays(group, delays);
    let deadline = deadline.min(group.deadline);
    let sent = schedule(&all, deadline).0.len() - 1;
    if sent == all.delays.len() {
        return all;
    }
    let latest = deadline - all.min_useful;
    with_delays(group, all.delays[..sent].iter().map(|delay| delay.min(latest)).collect())
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
