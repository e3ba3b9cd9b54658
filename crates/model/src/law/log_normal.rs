//! Log-normal: `H = H_N(z)` with `z = ln (t / median) / sigma` and `H_N` the hazard of the standard normal.

use core::fmt;

use super::{Family, check_scale, ln_ratio};
use crate::LawError;
use crate::moments::Moments;
use crate::special::{normal_hazard, normal_hazard_and_rate, normal_quantile};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct LogNormal {
    pub(super) median: f64,
    pub(super) sigma: f64,
}

impl LogNormal {
    pub(super) fn new(median: f64, sigma: f64) -> Result<LogNormal, LawError> {
        check_scale("median", median)?;
        LawError::check("sigma", sigma, (1e-9..=30.0).contains(&sigma), "1e-9 to 30")?;
        Ok(LogNormal { median, sigma })
    }

    fn z(&self, t: f64) -> f64 {
        ln_ratio(t, self.median) / self.sigma
    }
}

impl Family for LogNormal {
    fn hazard(&self, t: f64) -> f64 {
        normal_hazard(self.z(t))
    }

    fn inverse(&self, h: f64) -> f64 {
        self.median * libm::exp(self.sigma * normal_quantile(h))
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        if t == 0.0 {
            return (0.0, 0.0);
        }
        let (hazard, rate) = normal_hazard_and_rate(self.z(t));
        (hazard, rate / (t * self.sigma))
    }

    fn moments(&self) -> Option<Moments> {
        let square = self.sigma * self.sigma;
        let mean = self.median * libm::exp(square / 2.0);
        let spread = libm::expm1(square);
        Some(Moments { mean, variance: mean * mean * spread })
    }
}

impl fmt::Display for LogNormal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lognormal:median={}s,sigma={}", self.median, self.sigma)
    }
}
