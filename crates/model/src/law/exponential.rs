//! Exponential: `H = t / mean`.

use core::fmt;

use super::{Family, check_scale};
use crate::LawError;
use crate::moments::Moments;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Exponential {
    mean: f64,
}

impl Exponential {
    pub(super) fn new(mean: f64) -> Result<Exponential, LawError> {
        check_scale("mean", mean)?;
        Ok(Exponential { mean })
    }
}

impl Family for Exponential {
    fn hazard(&self, t: f64) -> f64 {
        t / self.mean
    }

    fn inverse(&self, h: f64) -> f64 {
        h * self.mean
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        (self.hazard(t), 1.0 / self.mean)
    }

    fn moments(&self) -> Option<Moments> {
        Some(Moments { mean: self.mean, variance: self.mean * self.mean })
    }
}

impl fmt::Display for Exponential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exponential:mean={}s", self.mean)
    }
}
