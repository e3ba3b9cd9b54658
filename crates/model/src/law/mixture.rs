//! Regimes: `S = Σ w_i S_i`, and `F = Σ w_i F_i` where that is the smaller side.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::{Family, Law};
use crate::LawError;
use crate::moments::Moments;
use crate::numeric::time_at;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mixture {
    /// Weights sum to 1.
    parts: Arc<[(f64, Law)]>,
}

impl Mixture {
    pub(super) fn new(parts: &[(f64, Law)]) -> Result<Mixture, LawError> {
        if !(1..=64).contains(&parts.len()) {
            return Err(LawError::Count { what: "mixture", given: parts.len(), bound: "1 to 64 parts" });
        }
        for (weight, _) in parts {
            LawError::check("weight", *weight, *weight > 0.0 && *weight <= 1e15, "above 0 and at most 1e15")?;
        }
        let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
        Ok(Mixture { parts: parts.iter().map(|(weight, law)| (weight / total, law.clone())).collect() })
    }

    /// The part itself when there is one only.
    pub(super) fn only_part(&self) -> Option<&Law> {
        if let [(_, law)] = &*self.parts { Some(law) } else { None }
    }

    /// Sum over the parts, weighted.
    fn sum(&self, term: impl Fn(&Law) -> f64) -> f64 {
        self.parts.iter().map(|(weight, law)| weight * term(law)).sum()
    }

    /// `-ln Σ w_i e^-h_i`, from given hazards of the parts, without underflow.
    fn combine(&self, hazard: impl Fn(&Law) -> f64) -> f64 {
        let below = self.sum(|law| -libm::expm1(-hazard(law)));
        if below < 0.5 {
            return -libm::log1p(-below);
        }
        let terms = || self.parts.iter().map(|(weight, law)| hazard(law) - libm::log(*weight));
        let least = terms().fold(f64::INFINITY, f64::min);
        if least.is_infinite() {
            return f64::INFINITY;
        }
        least - libm::log(terms().map(|term| libm::exp(least - term)).sum())
    }
}

impl Family for Mixture {
    fn hazard(&self, t: f64) -> f64 {
        self.combine(|law| law.hazard(t))
    }

    fn inverse(&self, h: f64) -> f64 {
        let times = || self.parts.iter().map(|(_, law)| law.inverse_hazard(h));
        let (low, high) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
        if h == 0.0 || low >= high { low } else { time_at(h, low, high, |t| self.hazard(t)) }
    }

    fn rate(&self, t: f64) -> f64 {
        let hazard = self.hazard(t);
        self.sum(|law| {
            let share = libm::exp(hazard - law.hazard(t));
            if share == 0.0 { 0.0 } else { law.rate(t) * share }
        })
    }

    fn hazard_at_infinity(&self) -> f64 {
        self.combine(Law::hazard_at_infinity)
    }

    fn tail_index(&self) -> f64 {
        self.parts.iter().map(|(_, law)| law.tail_index()).fold(f64::INFINITY, f64::min)
    }

    fn kinks(&self, into: &mut Vec<f64>) {
        for (_, law) in &*self.parts {
            into.push(law.inverse_hazard(0.0));
            law.kinks(into);
        }
    }

    fn moments(&self) -> Option<Moments> {
        let parts: Option<Vec<(f64, Moments)>> =
            self.parts.iter().map(|(weight, law)| Some((*weight, law.moments().ok()?))).collect();
        let parts = parts?;
        let mean: f64 = parts.iter().map(|(weight, part)| weight * part.mean).sum();
        if mean.is_infinite() {
            return Some(Moments::INFINITE);
        }
        let variance = parts
            .iter()
            .map(|(weight, part)| weight * (part.variance + (part.mean - mean) * (part.mean - mean)))
            .sum();
        Some(Moments { mean, variance })
    }
}

impl fmt::Display for Mixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (weight, law)) in self.parts.iter().enumerate() {
            let bar = if i == 0 { "" } else { "|" };
            write!(f, "{bar}{weight}*{law}")?;
        }
        Ok(())
    }
}
