//! Weibull: `H = (t / scale)^shape`.

use core::fmt;

use super::{Family, check_scale, check_shape};
use crate::LawError;
use crate::moments::Moments;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Weibull {
    shape: f64,
    scale: f64,
}

impl Weibull {
    pub(super) fn new(shape: f64, scale: f64) -> Result<Weibull, LawError> {
        check_shape("shape", shape)?;
        check_scale("scale", scale)?;
        Ok(Weibull { shape, scale })
    }
}

/// Above this shape the closed form of the variance loses two digits and more.
const CANCELS: f64 = 8.0;

impl Family for Weibull {
    fn hazard(&self, t: f64) -> f64 {
        libm::pow(t / self.scale, self.shape)
    }

    fn inverse(&self, h: f64) -> f64 {
        self.scale * libm::pow(h, 1.0 / self.shape)
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        let rate = self.shape / self.scale * libm::pow(t / self.scale, self.shape - 1.0);
        (self.hazard(t), rate)
    }

    fn moments(&self) -> Option<Moments> {
        if self.shape > CANCELS {
            return None;
        }
        let mean = libm::tgamma(1.0 + 1.0 / self.shape);
        let square = libm::tgamma(1.0 + 2.0 / self.shape);
        let spread = if square.is_finite() { square - mean * mean } else { f64::INFINITY };
        Some(Moments { mean: self.scale * mean, variance: self.scale * self.scale * spread })
    }
}

impl fmt::Display for Weibull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "weibull:shape={},scale={}s", self.shape, self.scale)
    }
}
