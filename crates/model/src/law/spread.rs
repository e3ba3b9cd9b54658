//! A law whose log time lies further from the median, or closer to it: `T = m (T_base / m)^by`, so
//! `H(t) = H_base(m (t / m)^(1 / by))` with m the median.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::{Family, Law, ln_ratio};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) by: f64,
    /// Finite and above 0.
    pub(super) median: f64,
    pub(super) base: Arc<Law>,
}

impl Spread {
    /// The time of the base law that becomes `t`.
    fn before(&self, t: f64) -> f64 {
        self.median * libm::exp(ln_ratio(t, self.median) / self.by)
    }

    /// What becomes of a time of the base law.
    fn after(&self, t: f64) -> f64 {
        self.median * libm::exp(ln_ratio(t, self.median) * self.by)
    }
}

impl Family for Spread {
    fn hazard(&self, t: f64) -> f64 {
        self.base.hazard(self.before(t))
    }

    fn inverse(&self, h: f64) -> f64 {
        self.after(self.base.inverse_hazard(h))
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        let (hazard, rate) = self.base.hazard_and_rate(self.before(t));
        let slope = libm::exp(ln_ratio(t, self.median) * (1.0 / self.by - 1.0)) / self.by;
        (hazard, if rate == 0.0 { 0.0 } else { rate * slope })
    }

    fn hazard_at_infinity(&self) -> f64 {
        self.base.hazard_at_infinity()
    }

    fn tail_index(&self) -> f64 {
        self.base.tail_index() / self.by
    }

    fn kinks(&self, into: &mut Vec<f64>) {
        let first = into.len();
        self.base.kinks(into);
        for kink in &mut into[first..] {
            *kink = self.after(*kink);
        }
    }

    fn work(&self) -> f64 {
        self.base.work()
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}) spread by {}", self.base, self.by)
    }
}
