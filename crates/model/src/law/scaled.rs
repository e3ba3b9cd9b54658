//! A law in another unit: `H(t) = H_base(t / by)`.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::{Family, Law};
use crate::moments::Moments;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scaled {
    pub(super) by: f64,
    pub(super) base: Arc<Law>,
}

impl Family for Scaled {
    fn hazard(&self, t: f64) -> f64 {
        self.base.hazard(t / self.by)
    }

    fn inverse(&self, h: f64) -> f64 {
        self.by * self.base.inverse_hazard(h)
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        let (hazard, rate) = self.base.hazard_and_rate(t / self.by);
        (hazard, rate / self.by)
    }

    fn hazard_at_infinity(&self) -> f64 {
        self.base.hazard_at_infinity()
    }

    fn tail_index(&self) -> f64 {
        self.base.tail_index()
    }

    fn kinks(&self, into: &mut Vec<f64>) {
        let first = into.len();
        self.base.kinks(into);
        for kink in &mut into[first..] {
            *kink *= self.by;
        }
    }

    fn moments(&self) -> Option<Moments> {
        let base = self.base.moments().ok()?;
        Some(Moments { mean: self.by * base.mean, variance: self.by * self.by * base.variance })
    }

    fn work(&self) -> f64 {
        self.base.work()
    }
}

impl fmt::Display for Scaled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}) scaled by {}", self.base, self.by)
    }
}
