//! How many of independent branches, alike in groups and different between them, have not answered: the
//! Poisson–binomial law, by convolution. Every term is positive, and the side that is asked for is summed itself.

use alloc::vec;
use alloc::vec::Vec;

use super::walk::{self, Trial};
use crate::special::{barrier_hazard, complement, probability_mass};

/// Like branches: how many, and for one of them the hazards `-ln P(it has not answered)` and `-ln P(it has)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Like {
    pub(super) count: u64,
    pub(super) hazard: f64,
    pub(super) opposite: f64,
}

/// Branches in groups.
pub(crate) struct Tally {
    groups: Vec<Like>,
    n: u64,
}

impl Tally {
    /// Of groups as (branches, hazard of one). Empty groups are left out.
    pub(crate) fn new(groups: impl Iterator<Item = (u64, f64)>) -> Tally {
        Tally::of(groups.map(|(count, hazard)| Like { count, hazard, opposite: complement(hazard) }))
    }

    /// Likewise.
    pub(super) fn of(groups: impl Iterator<Item = Like>) -> Tally {
        let groups: Vec<_> = groups.filter(|like| like.count > 0).collect();
        let n = groups.iter().map(|like| like.count).sum();
        Tally { groups, n }
    }

    /// These branches and others.
    pub(super) fn with(&self, others: &Tally) -> Tally {
        Tally::of(self.groups.iter().chain(&others.groups).copied())
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
        -self.groups.iter().map(|like| like.count as f64 * like.opposite).sum::<f64>()
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
    pub(super) fn split(&self, r: u64) -> (f64, f64) {
        if r == 0 {
            return (0.0, 1.0);
        }
        if r > self.n {
            return (1.0, 0.0);
        }
        if let [Like { count: n, hazard, .. }] = *self.groups {
            let hazard = barrier_hazard(hazard, n - r + 1, n);
            return (-libm::expm1(-hazard), libm::exp(-hazard));
        }
        if r == 1 {
            let ln = self.ln_none();
            return (libm::exp(ln), -libm::expm1(ln));
        }
        // The side that is shorter to count: misses up to r, or answers up to n - r + 1.
        let most = r.min(self.n - r + 1);
        let misses = most == r;
        let (fewer, reached) = walk::split(&self.trials(misses), most);
        if misses { (fewer, reached) } else { (reached, fewer) }
    }

    /// Over all branches i, the sum of their weight times `P(X without i = x)`; `x < n`. The weights are those of one branch
    /// of each group.
    pub(super) fn exactly_without_one(&self, x: u64, weights: impl Iterator<Item = f64>) -> f64 {
        if let [Like { count: n, opposite, .. }] = *self.groups {
            return n as f64 * weights.sum::<f64>() * probability_mass(x, n - 1, opposite);
        }
        self.without_one(x, weights).0
    }

    /// Likewise, the sum of their weight times `P(X without i >= x)`.
    pub(super) fn at_least_without_one(&self, x: u64, weights: impl Iterator<Item = f64>) -> f64 {
        if let [Like { count: n, hazard, .. }] = *self.groups {
            let beyond = if x == 0 { 1.0 } else { libm::exp(-barrier_hazard(hazard, n - x, n - 1)) };
            return n as f64 * weights.sum::<f64>() * beyond;
        }
        self.without_one(x, weights).1
    }

    fn without_one(&self, x: u64, weights: impl Iterator<Item = f64>) -> (f64, f64) {
        let most = (x + 1).min(self.n - x);
        let misses = most == x + 1;
        let mut trials = self.trials(misses);
        for (trial, weight) in trials.iter_mut().zip(weights) {
            trial.weight = weight;
        }
        let (last, fewer, reached) = walk::weighted(&trials, most);
        (last, if misses { last + reached } else { fewer })
    }

    /// With misses as the events that are counted, or answers.
    fn trials(&self, misses: bool) -> Vec<Trial> {
        let trial = |like: &Like| {
            let Like { count, hazard, opposite } = *like;
            let (event, other) = if misses { (hazard, opposite) } else { (opposite, hazard) };
            Trial { count, event, other, weight: 0.0 }
        };
        self.groups.iter().map(trial).collect()
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

    /// `P(X = x)`.
    pub(super) fn exactly(&self, x: u64) -> f64 {
        if let [Like { count: n, opposite, .. }] = *self.groups {
            return probability_mass(x, n, opposite);
        }
        self.masses(x).get(x as usize).copied().unwrap_or(0.0)
    }

    /// `P(X = x)` for x from 0 to `most` or n, whichever is less.
    pub(super) fn masses(&self, most: u64) -> Vec<f64> {
        if let [Like { count: n, opposite, .. }] = *self.groups {
            return (0..=n.min(most)).map(|x| probability_mass(x, n, opposite)).collect();
        }
        walk::masses(&self.trials(true), most)
    }
}
