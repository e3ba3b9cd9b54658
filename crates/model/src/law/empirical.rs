//! A law from latencies as they were seen: the product-limit estimate (Kaplan and Meier, Journal of the American
//! Statistical Association 53, 1958), straight between its steps.
//!
//! | symbol | meaning |
//! |---|---|
//! | `t_j` | the distinct times of answers, increasing |
//! | `d_j` | answers at `t_j` |
//! | `r_j` | attempts still unanswered and watched just before `t_j` |
//! | `H(t_j)` | `-Σ ln(1 - d_i / r_i)` over `i <= j` |
//!
//! Between two knots the survival is a straight line, so that there is a density and no two answers tie; the first step stays
//! one, at the earliest answer.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::f64::consts::LN_2;
use core::fmt;

use super::{Family, LawError};
use crate::moments::Moments;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Empirical {
    /// How many attempts were seen, answered or not.
    seen: usize,
    /// At least one; times and hazards increase. The last hazard is infinite unless attempts were still watched then.
    knots: Arc<[Knot]>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Knot {
    time: f64,
    hazard: f64,
}

/// Up to so many knots, all are kept.
const MOST_KNOTS: usize = 1_000;
/// Beyond that, so much, relative, lies between two that are kept, in the share before them or in that after them.
const STEP: f64 = 0.02;

impl Empirical {
    pub(super) fn new(answered: &[f64], censored: &[f64]) -> Result<Empirical, LawError> {
        if answered.is_empty() {
            return Err(LawError::Count { what: "answered latencies", given: 0, bound: "at least 1" });
        }
        for &time in answered.iter().chain(censored) {
            LawError::check("latency", time, (0.0..=1e15).contains(&time), "0 to 1e15 seconds")?;
        }
        let sorted = |times: &[f64]| {
            let mut times = times.to_vec();
            times.sort_unstable_by(f64::total_cmp);
            times
        };
        let (answered, censored) = (sorted(answered), sorted(censored));
        let seen = answered.len() + censored.len();
        let mut knots = Vec::new();
        let (mut before, mut hazard) = (0, 0.0);
        for same in answered.chunk_by(|a, b| a == b) {
            // An attempt that was cut at the very time of an answer was watched until after it.
            let cut = censored.partition_point(|time| *time < same[0]);
            let at_risk = (seen - before - cut) as f64;
            hazard -= libm::log1p(-(same.len() as f64) / at_risk);
            before += same.len();
            knots.push(Knot { time: same[0], hazard });
        }
        if knots.len() > MOST_KNOTS {
            thin(&mut knots);
        }
        Ok(Empirical { seen, knots: knots.into() })
    }

    /// The two knots around a place, and the share of the survivors of the first whose answer lies between them.
    fn piece(&self, end: usize) -> (Knot, Knot, f64) {
        let (from, to) = (self.knots[end - 1], self.knots[end]);
        (from, to, -libm::expm1(from.hazard - to.hazard))
    }

    /// Runs of equal density: from, to, and the probability in between. The first is the step at the earliest answer.
    fn masses(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let first = self.knots[0];
        let pieces = (1..self.knots.len()).map(|end| {
            let (from, to, share) = self.piece(end);
            (from.time, to.time, libm::exp(-from.hazard) * share)
        });
        core::iter::once((first.time, first.time, -libm::expm1(-first.hazard))).chain(pieces)
    }
}

/// Keeps the first and the last knot, and of the others those that are a step apart, seen from the nearer end.
fn thin(knots: &mut Vec<Knot>) {
    let last = knots.len() - 1;
    let (mut index, mut kept) = (0, knots[0].hazard);
    knots.retain(|knot| {
        // Whichever side is the smaller must not move by more than the step.
        let ratio = if knot.hazard < LN_2 {
            libm::expm1(-kept) / libm::expm1(-knot.hazard)
        } else {
            libm::exp(kept - knot.hazard)
        };
        let keep = index == 0 || index == last || ratio < 1.0 - STEP;
        index += 1;
        if keep {
            kept = knot.hazard;
        }
        keep
    });
}

impl Family for Empirical {
    fn hazard(&self, t: f64) -> f64 {
        match self.knots.partition_point(|knot| knot.time <= t) {
            0 => 0.0,
            end if end == self.knots.len() => self.knots[end - 1].hazard,
            end => {
                let (from, to, share) = self.piece(end);
                from.hazard - libm::log1p(-share * (t - from.time) / (to.time - from.time))
            }
        }
    }

    fn inverse(&self, h: f64) -> f64 {
        match self.knots.partition_point(|knot| knot.hazard < h) {
            0 => self.knots[0].time,
            end if end == self.knots.len() => self.knots[end - 1].time,
            end => {
                let (from, to, share) = self.piece(end);
                let part = -libm::expm1(from.hazard - h) / share;
                (from.time + part * (to.time - from.time)).min(to.time)
            }
        }
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        match self.knots.partition_point(|knot| knot.time <= t) {
            0 => (0.0, 0.0),
            end if end == self.knots.len() => (self.knots[end - 1].hazard, 0.0),
            end => {
                let (from, to, share) = self.piece(end);
                let (width, since) = (to.time - from.time, t - from.time);
                (from.hazard - libm::log1p(-share * since / width), share / (width - share * since))
            }
        }
    }

    fn hazard_at_infinity(&self) -> f64 {
        self.knots[self.knots.len() - 1].hazard
    }

    fn tail_index(&self) -> f64 {
        if self.hazard_at_infinity().is_finite() { 0.0 } else { f64::INFINITY }
    }

    fn kinks(&self, into: &mut Vec<f64>) {
        into.extend(self.knots.iter().map(|knot| knot.time));
    }

    fn moments(&self) -> Option<Moments> {
        if self.hazard_at_infinity().is_finite() {
            return Some(Moments::INFINITE);
        }
        let mean: f64 = self.masses().map(|(from, to, mass)| mass * (0.5 * from + 0.5 * to)).sum();
        let variance = self
            .masses()
            .map(|(from, to, mass)| {
                let (off, width) = (0.5 * from + 0.5 * to - mean, to - from);
                mass * (off * off + width * width / 12.0)
            })
            .sum();
        Some(Moments { mean, variance })
    }
}

impl fmt::Display for Empirical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "empirical of {}", self.seen)
    }
}
