//! Log-logistic: `S = 1 / (1 + (t / alpha)^beta)`, so `H = ln(1 + w)` and `w = e^H - 1`.

use core::f64::consts::PI;
use core::fmt;

use super::{Family, check_scale, check_shape, ln_ratio};
use crate::LawError;
use crate::moments::Moments;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct LogLogistic {
    alpha: f64,
    beta: f64,
}

impl LogLogistic {
    pub(super) fn new(alpha: f64, beta: f64) -> Result<LogLogistic, LawError> {
        check_scale("alpha", alpha)?;
        check_shape("beta", beta)?;
        Ok(LogLogistic { alpha, beta })
    }

    /// `ln w`.
    fn ln_odds(&self, t: f64) -> f64 {
        self.beta * ln_ratio(t, self.alpha)
    }
}

/// Beyond this `1 + w` is `w` to all digits.
const FAR: f64 = 40.0;

impl Family for LogLogistic {
    fn hazard(&self, t: f64) -> f64 {
        let ln = self.ln_odds(t);
        if ln > FAR { ln } else { libm::log1p(libm::exp(ln)) }
    }

    fn inverse(&self, h: f64) -> f64 {
        let ln = if h > FAR { h } else { libm::log(libm::expm1(h)) };
        self.alpha * libm::exp(ln / self.beta)
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        if t == 0.0 {
            let rate = if self.beta < 1.0 {
                f64::INFINITY
            } else if self.beta == 1.0 {
                1.0 / self.alpha
            } else {
                0.0
            };
            return (0.0, rate);
        }
        let ln = self.ln_odds(t);
        let rate = self.beta / t / (1.0 + libm::exp(-ln));
        (if ln > FAR { ln } else { libm::log1p(libm::exp(ln)) }, rate)
    }

    fn tail_index(&self) -> f64 {
        self.beta
    }

    fn moments(&self) -> Option<Moments> {
        let angle = PI / self.beta;
        if self.beta <= 1.0 {
            return Some(Moments::INFINITE);
        }
        let mean = self.alpha * angle / libm::sin(angle);
        // E[T²] / E[T]² = tan(angle) / angle; a series where the difference to 1 would cancel.
        let spread = if angle < 0.05 {
            let square = angle * angle;
            square * (1.0 / 3.0 + square * (2.0 / 15.0 + square * (17.0 / 315.0 + square * 62.0 / 2835.0)))
        } else if self.beta <= 2.0 {
            f64::INFINITY
        } else {
            libm::tan(angle) / angle - 1.0
        };
        Some(Moments { mean, variance: mean * mean * spread })
    }
}

impl fmt::Display for LogLogistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loglogistic:alpha={}s,beta={}", self.alpha, self.beta)
    }
}
