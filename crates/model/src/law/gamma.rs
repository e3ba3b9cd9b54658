//! Gamma: the sum of `shape` exponentials of mean `scale`, for any shape; `H = -ln Q(shape, t / scale)`.

use core::fmt;

use super::{Family, check_scale, check_shape};
use crate::LawError;
use crate::moments::Moments;
use crate::special::{gamma_hazard, gamma_hazard_and_rate, gamma_quantile};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gamma {
    shape: f64,
    scale: f64,
}

impl Gamma {
    pub(super) fn new(shape: f64, scale: f64) -> Result<Gamma, LawError> {
        check_shape("shape", shape)?;
        check_scale("scale", scale)?;
        Ok(Gamma { shape, scale })
    }
}

impl Family for Gamma {
    fn hazard(&self, t: f64) -> f64 {
        gamma_hazard(self.shape, t / self.scale)
    }

    fn inverse(&self, h: f64) -> f64 {
        self.scale * gamma_quantile(self.shape, h)
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        let (hazard, rate) = gamma_hazard_and_rate(self.shape, t / self.scale);
        (hazard, rate / self.scale)
    }

    fn moments(&self) -> Option<Moments> {
        let mean = self.shape * self.scale;
        Some(Moments { mean, variance: mean * self.scale })
    }

    /// A series or a continued fraction of some tens of terms.
    fn work(&self) -> f64 {
        5.0
    }
}

impl fmt::Display for Gamma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gamma:shape={},scale={}s", self.shape, self.scale)
    }
}
