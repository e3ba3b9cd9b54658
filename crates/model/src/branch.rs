//! From attempts to a branch: race, hedge, restart and deadline, each a law again.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::Law;
use crate::law::Family;
use crate::numeric::rising;

/// The first of r attempts that start at once: `H = r H_base`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Race {
    pub(crate) r: f64,
    pub(crate) base: Arc<Law>,
}

impl Family for Race {
    fn hazard(&self, t: f64) -> f64 {
        self.r * self.base.hazard(t)
    }

    fn inverse(&self, h: f64) -> f64 {
        self.base.inverse_hazard(h / self.r)
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        let (hazard, rate) = self.base.hazard_and_rate(t);
        (self.r * hazard, self.r * rate)
    }

    fn hazard_at_infinity(&self) -> f64 {
        self.r * self.base.hazard_at_infinity()
    }

    fn tail_index(&self) -> f64 {
        self.r * self.base.tail_index()
    }

    fn kinks(&self, into: &mut Vec<f64>) {
        self.base.kinks(into);
    }

    fn work(&self) -> f64 {
        self.base.work()
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "race of {} ({})", self.r, self.base)
    }
}

/// The first of independent attempts that start at `offsets`: `H(t) = Σ H_base(t - offset)`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hedged {
    /// Not decreasing; the first is the primary's, 0, and the last is above 0.
    pub(crate) offsets: Arc<[f64]>,
    pub(crate) base: Arc<Law>,
}

impl Hedged {
    /// The attempts that have started by `t`.
    fn started(&self, t: f64) -> impl Iterator<Item = f64> {
        self.offsets.iter().copied().take_while(move |offset| *offset <= t)
    }
}

impl Family for Hedged {
    fn hazard(&self, t: f64) -> f64 {
        self.started(t).map(|offset| self.base.hazard(t - offset)).sum()
    }

    /// Finds the last offset before the answer, then the time since then in its logarithm: right after an offset the
    /// copy adds hazard on a scale of its own.
    fn inverse(&self, h: f64) -> f64 {
        let latest = self.base.inverse_hazard(h);
        let index = self.offsets.partition_point(|&offset| offset < latest && self.hazard(offset) < h);
        let Some(last) = index.checked_sub(1).map(|i| self.offsets[i]) else { return latest };
        let attempts = self.started(last).count();
        let earliest = self.base.inverse_hazard(h / attempts as f64);
        let next = self.offsets.get(index).copied().unwrap_or(f64::INFINITY);
        if last == 0.0 {
            // Only attempts from the start on: the hazard is a multiple of one attempt's. Where it is flat, the next offset
            // may have it too.
            return earliest.min(next);
        }
        // Closer to the offset than its own rounding there is nothing to resolve.
        let low = (earliest - last).max(last * f64::EPSILON / 2.0);
        let high = latest.min(next) - last;
        // Nearly as if all attempts had started at once, at the mean of their offsets.
        let mean = self.offsets[..attempts].iter().sum::<f64>() / attempts as f64;
        last + rising(h, low, high, earliest + mean - last, &mut |since| self.hazard_and_rate(last + since))
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        let attempts = self.started(t).map(|offset| self.base.hazard_and_rate(t - offset));
        attempts.fold((0.0, 0.0), |(h, r), (hazard, rate)| (h + hazard, r + rate))
    }

    fn hazard_at_infinity(&self) -> f64 {
        self.offsets.len() as f64 * self.base.hazard_at_infinity()
    }

    fn tail_index(&self) -> f64 {
        self.offsets.len() as f64 * self.base.tail_index()
    }

    fn kinks(&self, into: &mut Vec<f64>) {
        for &offset in &*self.offsets {
            into.push(offset + self.base.inverse_hazard(0.0));
            let first = into.len();
            self.base.kinks(into);
            for kink in &mut into[first..] {
                *kink += offset;
            }
        }
    }

    fn work(&self) -> f64 {
        self.offsets.len() as f64 * self.base.work()
    }
}

impl fmt::Display for Hedged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}) with copies after", self.base)?;
        for (i, offset) in self.offsets[1..].iter().enumerate() {
            write!(f, "{} {offset}s", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// An attempt until a time, then another in its place: `H(t) = H_base(at) + H_base(t - at)` from there on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Restarted {
    /// Above 0.
    pub(crate) at: f64,
    /// `H_base(at)`, finite.
    pub(crate) until: f64,
    pub(crate) base: Arc<Law>,
}

impl Family for Restarted {
    fn hazard(&self, t: f64) -> f64 {
        if t < self.at { self.base.hazard(t) } else { self.until + self.base.hazard(t - self.at) }
    }

    fn inverse(&self, h: f64) -> f64 {
        if h <= self.until {
            // At it, rounding must not lead past the restart.
            self.base.inverse_hazard(h).min(self.at)
        } else {
            self.at + self.base.inverse_hazard(h - self.until)
        }
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        if t < self.at {
            return self.base.hazard_and_rate(t);
        }
        let (hazard, rate) = self.base.hazard_and_rate(t - self.at);
        (self.until + hazard, rate)
    }

    fn hazard_at_infinity(&self) -> f64 {
        self.until + self.base.hazard_at_infinity()
    }

    fn tail_index(&self) -> f64 {
        self.base.tail_index()
    }

    fn kinks(&self, into: &mut Vec<f64>) {
        self.base.kinks(into);
        into.extend([self.at, self.at + self.base.inverse_hazard(0.0)]);
        let first = into.len();
        self.base.kinks(into);
        for kink in &mut into[first..] {
            *kink += self.at;
        }
    }

    fn work(&self) -> f64 {
        self.base.work()
    }
}

impl fmt::Display for Restarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}) restarted after {}s", self.base, self.at)
    }
}

/// Answers after a deadline never come: H stays at its value there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cut {
    pub(crate) at: f64,
    /// `H_base(at)`.
    pub(crate) most: f64,
    pub(crate) base: Arc<Law>,
}

impl Family for Cut {
    fn hazard(&self, t: f64) -> f64 {
        if t >= self.at { self.most } else { self.base.hazard(t) }
    }

    fn inverse(&self, h: f64) -> f64 {
        // Beyond `most` nobody asks; at it, rounding must not lead past the deadline.
        self.base.inverse_hazard(h).min(self.at)
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        if t > self.at {
            return (self.most, 0.0);
        }
        let (hazard, rate) = self.base.hazard_and_rate(t);
        (hazard.min(self.most), rate)
    }

    fn hazard_at_infinity(&self) -> f64 {
        self.most
    }

    fn tail_index(&self) -> f64 {
        if self.most.is_finite() { 0.0 } else { self.base.tail_index() }
    }

    fn kinks(&self, into: &mut Vec<f64>) {
        self.base.kinks(into);
        into.push(self.at);
    }

    fn work(&self) -> f64 {
        self.base.work()
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}) within {}s", self.base, self.at)
    }
}
