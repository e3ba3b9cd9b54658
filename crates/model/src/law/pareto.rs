//! Pareto: `H = alpha ln(t / xm)` from `xm` on.

use alloc::vec::Vec;
use core::fmt;

use super::{Family, check_scale, check_shape, ln_ratio};
use crate::LawError;
use crate::moments::Moments;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pareto {
    xm: f64,
    alpha: f64,
}

impl Pareto {
    pub(super) fn new(xm: f64, alpha: f64) -> Result<Pareto, LawError> {
        check_scale("xm", xm)?;
        check_shape("alpha", alpha)?;
        Ok(Pareto { xm, alpha })
    }
}

impl Family for Pareto {
    fn hazard(&self, t: f64) -> f64 {
        if t <= self.xm { 0.0 } else { self.alpha * ln_ratio(t, self.xm) }
    }

    fn inverse(&self, h: f64) -> f64 {
        self.xm * libm::exp(h / self.alpha)
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        (self.hazard(t), if t < self.xm { 0.0 } else { self.alpha / t })
    }

    fn tail_index(&self) -> f64 {
        self.alpha
    }

    fn kinks(&self, into: &mut Vec<f64>) {
        into.push(self.xm);
    }

    fn moments(&self) -> Option<Moments> {
        let a = self.alpha;
        if a <= 1.0 {
            return Some(Moments::INFINITE);
        }
        let mean = a * self.xm / (a - 1.0);
        let variance = if a <= 2.0 { f64::INFINITY } else { mean * mean / (a * (a - 2.0)) };
        Some(Moments { mean, variance })
    }
}

impl fmt::Display for Pareto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pareto:xm={}s,alpha={}", self.xm, self.alpha)
    }
}
