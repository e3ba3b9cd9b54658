//! How many of independent branches, alike in groups and different between them, have not answered: the
//! Poisson–binomial law, by convolution. Every term is positive, and the side that is asked for is summed itself.

use alloc::vec;
use alloc::vec::Vec;

use crate::special::{barrier_hazard, complement, probability_mass};

/// Groups as (branches, hazard of one): a branch of hazard h has not answered with probability `e^-h`.
pub(crate) struct Tally {
    groups: Vec<(u64, f64)>,
    n: u64,
}

impl Tally {
    /// Empty groups are left out.
    pub(crate) fn new(groups: impl Iterator<Item = (u64, f64)>) -> Tally {
        let groups: Vec<_> = groups.filter(|(count, _)| *count > 0).collect();
        let n = groups.iter().map(|(count, _)| count).sum();
        Tally { groups, n }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// How many branches there are.
    pub(super) fn n(&self) -> u64 {
        self.n
    }

    /// `ln P(every branch has answered)`.
    pub(super) fn ln_none(&self) -> f64 {
        -self.groups.iter().map(|&(count, h)| count as f64 * complement(h)).sum::<f64>()
    }

    /// `P(X >= r)` for X the number of branches that have not answered.
    pub(crate) fn at_least(&self, r: u64) -> f64 {
        self.split(r).1
    }

    /// `P(X < r)`.
    pub(crate) fn fewer_than(&self, r: u64) -> f64 {
        self.split(r).0
    }

    /// `-ln P(X >= r)`.
    pub(crate) fn hazard(&self, r: u64) -> f64 {
        let (fewer, least) = self.split(r);
        if least < 0.5 { -libm::log(least) } else { -libm::log1p(-fewer) }
    }

    /// `P(X < r)` and `P(X >= r)`, each with relative precision.
    fn split(&self, r: u64) -> (f64, f64) {
        if r == 0 {
            return (0.0, 1.0);
        }
        if r > self.n {
            return (1.0, 0.0);
        }
        if let [(n, h)] = *self.groups {
            let hazard = barrier_hazard(h, n - r + 1, n);
            return (-libm::expm1(-hazard), libm::exp(-hazard));
        }
        if r == 1 {
            let ln = self.ln_none();
            return (libm::exp(ln), -libm::expm1(ln));
        }
        let below = || self.masses(r - 1).iter().sum::<f64>();
        let above = || self.answers(self.n - r).iter().sum::<f64>();
        // The shorter sum first: when it is the smaller side too, the other follows.
        if r - 1 < self.n - r {
            let below = below();
            if below <= 0.5 { (below, 1.0 - below) } else { rest_of(above()) }
        } else {
            let above = above();
            if above <= 0.5 {
                rest_of(above)
            } else {
                let below = below();
                (below, 1.0 - below)
            }
        }
    }

    /// `P(X < r)` for r from 0 to `most`.
    pub(super) fn heads(&self, most: u64) -> Vec<f64> {
        let mut heads = vec![0.0; most as usize + 1];
        let mut sum = 0.0;
        if let Some(last) = most.checked_sub(1) {
            let mut masses = self.masses(last).into_iter();
            for head in &mut heads[1..] {
                sum += masses.next().unwrap_or(0.0);
                *head = sum;
            }
        }
        heads
    }

    /// `P(X >= r)` for r from 0 to `most`.
    pub(super) fn tails(&self, most: u64) -> Vec<f64> {
        let mut sum = self.at_least(most);
        let mut tails = vec![sum; most as usize + 1];
        if let Some(last) = most.checked_sub(1) {
            let masses = self.masses(last);
            for (r, tail) in tails[..most as usize].iter_mut().enumerate().rev() {
                sum += masses.get(r).copied().unwrap_or(0.0);
                *tail = sum;
            }
        }
        tails
    }

    /// `P(X = x)` for x from 0 to `most` or n, whichever is less.
    pub(super) fn masses(&self, most: u64) -> Vec<f64> {
        convolved(self.groups.iter().map(|&(n, h)| (n, complement(h))), most)
    }

    /// `P(n - X = x)`, likewise.
    fn answers(&self, most: u64) -> Vec<f64> {
        convolved(self.groups.iter().copied(), most)
    }
}

fn rest_of(above: f64) -> (f64, f64) {
    (1.0 - above, above)
}

/// Masses 0 to `most` of a sum of binomials, given as (n, hazard): the event counted has probability `1 - e^-h`.
fn convolved(groups: impl Iterator<Item = (u64, f64)>, most: u64) -> Vec<f64> {
    let most = most as usize;
    let mut sum = vec![1.0];
    for (n, h) in groups {
        if n > 1 {
            let own: Vec<f64> = (0..=n.min(most as u64)).map(|x| probability_mass(x, n, h)).collect();
            sum = product(&sum, &own, most);
            continue;
        }
        let (event, other) = (-libm::expm1(-h), libm::exp(-h));
        if sum.len() <= most {
            sum.push(0.0);
        }
        for i in (1..sum.len()).rev() {
            sum[i] = sum[i] * other + sum[i - 1] * event;
        }
        sum[0] *= other;
    }
    sum
}

/// Product of two polynomials, up to the power `most`.
fn product(a: &[f64], b: &[f64], most: usize) -> Vec<f64> {
    let mut result = vec![0.0; (a.len() + b.len() - 1).min(most + 1)];
    for (i, x) in a.iter().enumerate() {
        for (slot, y) in result[i..].iter_mut().zip(b) {
            *slot += x * y;
        }
    }
    result
}
