//! Regimes: `S = Σ w_i S_i`, and `F = Σ w_i F_i` where that is the smaller side.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::{Family, Law};
use crate::LawError;
use crate::moments::Moments;
use crate::numeric::rising;

const MOST_PARTS: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mixture {
    /// Weights sum to 1.
    parts: Arc<[(f64, Law)]>,
}

impl Mixture {
    pub(super) fn new(parts: &[(f64, Law)]) -> Result<Mixture, LawError> {
        if !(1..=MOST_PARTS).contains(&parts.len()) {
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

    /// Its parts, each with its weight.
    pub(super) fn parts(&self) -> &[(f64, Law)] {
        &self.parts
    }

    /// `-ln Σ w_i e^-h_i`, from the hazards of the parts, without underflow.
    fn combine(&self, hazards: &[f64]) -> f64 {
        let weighted = || self.parts.iter().zip(hazards).map(|((weight, _), hazard)| (weight, hazard));
        let below: f64 = weighted().map(|(weight, hazard)| weight * -libm::expm1(-hazard)).sum();
        if below < 0.5 {
            return -libm::log1p(-below);
        }
        let least = hazards.iter().copied().fold(f64::INFINITY, f64::min);
        if least.is_infinite() {
            return f64::INFINITY;
        }
        least - libm::log(weighted().map(|(weight, hazard)| weight * libm::exp(least - hazard)).sum())
    }

    fn combined(&self, hazard: impl Fn(&Law) -> f64) -> f64 {
        let mut hazards = [0.0; MOST_PARTS];
        for (slot, (_, law)) in hazards.iter_mut().zip(&*self.parts) {
            *slot = hazard(law);
        }
        self.combine(&hazards[..self.parts.len()])
    }
}

impl Family for Mixture {
    fn hazard(&self, t: f64) -> f64 {
        self.combined(|law| law.hazard(t))
    }

    fn inverse(&self, h: f64) -> f64 {
        let times = || self.parts.iter().map(|(_, law)| law.inverse_hazard(h));
        let (low, high) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
        if h == 0.0 || low >= high {
            low
        } else {
            rising(h, low, high, low, &mut |t| self.hazard_and_rate(t))
        }
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        let (mut hazards, mut rates) = ([0.0; MOST_PARTS], [0.0; MOST_PARTS]);
        for (i, (_, law)) in self.parts.iter().enumerate() {
            (hazards[i], rates[i]) = law.hazard_and_rate(t);
        }
        let hazard = self.combine(&hazards[..self.parts.len()]);
        let rate = self.parts.iter().zip(hazards.iter().zip(rates)).map(|((weight, _), (own, rate))| {
            let share = weight * libm::exp(hazard - own);
            if share == 0.0 { 0.0 } else { rate * share }
        });
        (hazard, rate.sum())
    }

    fn hazard_at_infinity(&self) -> f64 {
        self.combined(Law::hazard_at_infinity)
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

    fn work(&self) -> f64 {
        self.parts.iter().map(|(_, law)| law.work()).sum()
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
