//! The law of one branch whose attempts share a factor: `-ln P(no attempt has answered)`, given what the job adds.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::Dependence;
use super::orthant::Factors;
use crate::Law;
use crate::law::Family;
use crate::numeric::time_at;
use crate::special::{normal_hazard, normal_hazard_rate, normal_quantile};

/// The first answer of attempts that start at given times and share B, given J.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Together {
    factors: Arc<Factors>,
    shares: Dependence,
    /// `√ρ_J J`.
    common: f64,
    /// Not decreasing; the first is 0. At most [`Together::MOST_COPIES`] beside it.
    starts: Arc<[f64]>,
    attempt: Arc<Law>,
}

/// One number for each attempt.
struct Each {
    of: [f64; Together::MOST_COPIES + 1],
    attempts: usize,
}

impl Each {
    fn values(&self) -> &[f64] {
        &self.of[..self.attempts]
    }
}

impl Together {
    /// Each evaluation takes a few normal tails an attempt.
    pub(crate) const MOST_COPIES: usize = 16;

    pub(crate) fn new(attempt: &Law, starts: &[f64], shares: Dependence) -> Together {
        let factors = Factors::new(shares);
        let together = starts.iter().all(|start| *start == 0.0);
        Together {
            factors: Arc::new(if together { factors.racing(starts.len()) } else { factors }),
            shares,
            common: 0.0,
            starts: starts.into(),
            attempt: Arc::new(attempt.clone()),
        }
    }

    /// The same branch when the job's value is `j`.
    pub(crate) fn given(&self, j: f64) -> Together {
        Together { common: libm::sqrt(self.shares.job()) * j, ..self.clone() }
    }

    /// The same branch whatever the job's value is: J becomes part of what its attempts share.
    pub(crate) fn whatever(&self) -> Together {
        let all = self.shares.job() + self.shares.branch();
        let shares = Dependence { job: 0.0, branch: all, luck: self.shares.luck() };
        Together { factors: Arc::new(Factors::new(shares)), shares, common: 0.0, ..self.clone() }
    }

    /// Its first attempt by itself.
    pub(crate) fn first(&self) -> Together {
        Together { starts: Arc::new([0.0]), ..self.clone() }
    }

    /// `-ln P(no answer by t, and none of that attempt `ahead` seconds later either, were it alone)`.
    pub(crate) fn overrun(&self, t: f64, attempt: usize, ahead: f64) -> f64 {
        let mut each = self.at(t);
        each.of[attempt] = self.value(t - self.starts[attempt] + ahead);
        self.factors.hazard(each.values())
    }

    /// How many attempts may differ.
    pub(crate) fn attempts(&self) -> usize {
        if self.factors.has_luck() { self.starts.len() } else { 1 }
    }

    /// The index of the tail of its attempts over the normal value of time, and the variance that they do not share with
    /// other branches.
    pub(crate) fn tail(&self) -> (f64, f64) {
        (self.attempt.tail_index(), self.factors.variance_of_mean(self.starts.len()))
    }

    /// The normal value of an attempt of that age, less what the job adds.
    fn value(&self, age: f64) -> f64 {
        normal_quantile(self.attempt.hazard(age)) - self.common
    }

    /// The values of the attempts that have started by `t`.
    fn at(&self, t: f64) -> Each {
        let mut each = Each { of: [0.0; Together::MOST_COPIES + 1], attempts: 0 };
        let (mut last, mut value) = (f64::NAN, 0.0);
        for start in self.starts.iter().copied().take_while(|start| *start <= t) {
            if start != last {
                (last, value) = (start, self.value(t - start));
            }
            each.of[each.attempts] = value;
            each.attempts += 1;
        }
        each
    }

    /// When an attempt alone has that hazard.
    fn alone(&self, h: f64) -> f64 {
        self.attempt.inverse_hazard(normal_hazard(self.common + self.factors.own() * normal_quantile(h)))
    }
}

impl Family for Together {
    fn hazard(&self, t: f64) -> f64 {
        self.factors.hazard(self.at(t).values())
    }

    /// Bounds that hold under any dependence, then a root between them.
    fn inverse(&self, h: f64) -> f64 {
        let high = self.alone(h);
        let attempts = self.attempts();
        if attempts == 1 || h == 0.0 || h.is_infinite() {
            return high;
        }
        // If one of m has answered with probability p, then one of them by itself with p / m.
        let low = self.alone(-libm::log1p(libm::expm1(-h) / attempts as f64));
        // The bounds themselves may be rounded past the root.
        let wider = 1.0 + 1e-12;
        time_at(h, low / wider, high * wider, &|t| self.hazard(t))
    }

    fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        let values = self.at(t);
        let mut slopes = [0.0; Together::MOST_COPIES + 1];
        for ((slope, value), start) in slopes.iter_mut().zip(values.values()).zip(&*self.starts) {
            let (_, rate) = self.attempt.hazard_and_rate(t - start);
            *slope = if rate == 0.0 { 0.0 } else { rate / normal_hazard_rate(value + self.common) };
        }
        let hazard = self.factors.hazard(values.values());
        let density = self.factors.density(values.values(), &slopes[..values.attempts]);
        (hazard, if density == 0.0 { 0.0 } else { density / libm::exp(-hazard) })
    }

    fn hazard_at_infinity(&self) -> f64 {
        self.hazard(f64::INFINITY)
    }

    /// The density of m normals that share B, at one value z, falls as `e^(-z²/2v)`, with v the variance of their mean.
    fn tail_index(&self) -> f64 {
        let (index, variance) = self.tail();
        if index == 0.0 { 0.0 } else { index / variance }
    }

    fn kinks(&self, into: &mut Vec<f64>) {
        for start in &*self.starts {
            into.push(start + self.attempt.inverse_hazard(0.0));
            let first = into.len();
            self.attempt.kinks(into);
            for kink in &mut into[first..] {
                *kink += start;
            }
        }
    }

    fn work(&self) -> f64 {
        let places = 1 + self.starts.windows(2).filter(|pair| pair[0] < pair[1]).count();
        // Each has a normal value of its own.
        places as f64 * (self.attempt.work() + 1.0) + self.factors.work(self.starts.len(), places)
    }
}

impl fmt::Display for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({})", self.attempt)?;
        for (i, start) in self.starts[1..].iter().enumerate() {
            write!(f, "{} {start}s", if i == 0 { " with copies after" } else { "," })?;
        }
        write!(f, " that share {}", self.shares.branch())
    }
}
