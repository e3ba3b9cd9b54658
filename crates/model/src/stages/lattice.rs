//! Laws whose times are rounded to a lattice, all down or all up, so that one comes before the true law and the other after.
//!
//! The lattice is that of a float: N cells of equal width from zero on, then octaves of N cells, those of the first as wide
//! and those of each further one twice as wide as before. So a rounding is relative to the time, and a law may span any number
//! of octaves. Sums and barriers keep the order of the two sides: each comes no earlier when what it waits for comes later.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::{barrier, barrier_terms, convolve};

/// Which way times are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    Down,
    Up,
}

/// The points that times are rounded to, in blocks of N: `j w`, then `(N + j) w 2^(a - 1)` for octave a >= 1.
#[derive(Debug)]
pub(super) struct Lattice {
    /// The width of each block's cells, powers of two, with that of the block after the last.
    pub(super) widths: Vec<f64>,
    /// N.
    pub(super) cells: usize,
    pub(super) rounding: Rounding,
    /// For every call, the mass at each end of a law that may be moved further out, so that its octaves need no sum.
    pub(super) trim: f64,
    /// Multiplications so far.
    pub(super) work: f64,
}

/// A law on a lattice. Its parts sum to 1.
#[derive(Clone, Debug)]
pub(super) struct Rounded {
    /// At the points.
    pub(super) masses: Vec<f64>,
    /// Above the last point: at the top when rounded down, at some time nobody knows when rounded up.
    pub(super) beyond: f64,
    /// At infinity.
    pub(super) never: f64,
    /// How many calls it sums or waits for.
    pub(super) calls: f64,
}

impl Lattice {
    /// One more than there are octaves.
    pub(super) fn blocks(&self) -> usize {
        self.widths.len() - 1
    }

    /// How many points there are.
    pub(super) fn points(&self) -> usize {
        self.blocks() * self.cells
    }

    /// The time of a point; that after the last is the top.
    pub(super) fn time(&self, point: usize) -> f64 {
        let (block, cell) = (point / self.cells, point % self.cells);
        let cells = if block == 0 { cell } else { self.cells + cell };
        cells as f64 * self.widths[block]
    }

    /// How many of the points are at or before `t`, at most all.
    pub(super) fn points_by(&self, t: f64) -> usize {
        let (mut low, mut high) = (0, self.points());
        while low < high {
            let middle = low.midpoint(high);
            if self.time(middle) <= t { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// A law given by its hazard, with the one it never exceeds.
    pub(super) fn round(&mut self, hazard: impl Fn(f64) -> f64, at_infinity: f64) -> Rounded {
        // Rounded down, what comes by the next point is at this one.
        let later = usize::from(self.rounding == Rounding::Down);
        self.add_work(20 * self.points());
        rounded((0..self.points()).map(|point| hazard(self.time(point + later))), at_infinity, 1.0)
    }

    /// When `k` of independent laws have come, each given with how many there are of it.
    pub(super) fn barrier(&mut self, k: u64, parts: &[(u64, Rounded)]) -> Rounded {
        let n: u64 = parts.iter().map(|(count, _)| count).sum();
        let curves: Vec<(u64, Vec<f64>)> = parts.iter().map(|(count, law)| (*count, law.hazards())).collect();
        let at = |point: usize| curves.iter().map(move |(count, curve)| (*count, curve[point]));
        let hazard = |point: usize| barrier(k, at(point));
        self.add_work(10 * barrier_terms(k, n, parts.len()) as usize * self.points());
        let calls = parts.iter().map(|(count, law)| *count as f64 * law.calls).sum();
        rounded((0..self.points()).map(&hazard), hazard(self.points()), calls)
    }

    /// The sum of two independent laws.
    pub(super) fn sum(&mut self, x: &Rounded, y: &Rounded) -> Rounded {
        let mut masses = vec![0.0; self.points()];
        let (over, work) = convolve::sum(self, x, y, &mut masses);
        self.summed(x, y, masses, over, work)
    }

    /// The sum of two independent laws that are alike.
    fn doubled(&mut self, x: &Rounded) -> Rounded {
        let mut masses = vec![0.0; self.points()];
        let (over, work) = convolve::doubled(self, x, &mut masses);
        self.summed(x, x, masses, over, work)
    }

    fn summed(&mut self, x: &Rounded, y: &Rounded, masses: Vec<f64>, over: f64, work: usize) -> Rounded {
        self.add_work(work + self.points());
        let mut sum = Rounded {
            masses,
            beyond: x.beyond * (1.0 - y.never) + y.beyond * (1.0 - x.never - x.beyond) + over,
            never: x.never + y.never * (1.0 - x.never),
            calls: x.calls + y.calls,
        };
        self.trim(&mut sum);
        sum
    }

    /// The sum of `n` independent laws that are alike, by doubling.
    pub(super) fn times(&mut self, x: &Rounded, n: u64) -> Rounded {
        let mut sum = x.clone();
        for bit in (0..n.ilog2()).rev() {
            sum = self.doubled(&sum);
            if n >> bit & 1 == 1 {
                sum = self.sum(&sum, x);
            }
        }
        sum
    }

    /// Moves little mass at either end out of the way, in the direction of the rounding.
    pub(super) fn trim(&self, law: &mut Rounded) {
        let most = self.trim * law.calls;
        let down = self.rounding == Rounding::Down;
        let (first, low) = few(law.masses.iter(), 0.0, most);
        let (last, high) = few(law.masses.iter().rev(), law.beyond, most);
        let kept = first..law.masses.len() - last;
        if kept.is_empty() {
            return;
        }
        law.masses[..kept.start].fill(0.0);
        law.masses[kept.end..].fill(0.0);
        law.masses[if down { 0 } else { kept.start }] += low;
        if last > 0 {
            law.beyond = if down { 0.0 } else { high };
            law.masses[kept.end - 1] += if down { high } else { 0.0 };
        }
    }

    pub(super) fn block(&self, block: usize) -> Range<usize> {
        block * self.cells..(block + 1) * self.cells
    }

    fn add_work(&mut self, work: usize) {
        self.work += work as f64;
    }
}

impl Rounded {
    /// The hazards at each point and at infinity.
    pub(super) fn hazards(&self) -> Vec<f64> {
        let n = self.masses.len();
        let mut hazards = vec![0.0; n + 1];
        let mut above = self.never;
        hazards[n] = -libm::log(above);
        above += self.beyond;
        // From above down to the median, then from below up to it.
        let mut split = n;
        while split > 0 && above < 0.5 {
            split -= 1;
            hazards[split] = -libm::log(above);
            above += self.masses[split];
        }
        let mut below = 0.0;
        for (hazard, mass) in hazards[..split].iter_mut().zip(&self.masses) {
            below += mass;
            *hazard = -libm::log1p(-below.min(1.0));
        }
        hazards
    }
}

/// A law with these hazards at the points and at infinity.
fn rounded(points: impl ExactSizeIterator<Item = f64>, at_infinity: f64, calls: f64) -> Rounded {
    let mut before = 0.0;
    let mut masses = Vec::with_capacity(points.len());
    for hazard in points {
        masses.push(between(before, hazard));
        before = hazard;
    }
    Rounded { masses, beyond: between(before, at_infinity), never: libm::exp(-at_infinity), calls }
}

/// The probability between two hazards.
fn between(before: f64, after: f64) -> f64 {
    if before >= after { 0.0 } else { libm::exp(-before) * -libm::expm1(before - after) }
}

/// How many masses, after a first one, sum to at most `most`, and the sum with it.
fn few<'a>(masses: impl Iterator<Item = &'a f64>, first: f64, most: f64) -> (usize, f64) {
    let (mut count, mut sum) = (0, first);
    for mass in masses {
        if sum + mass > most {
            break;
        }
        sum += mass;
        count += 1;
    }
    (count, sum)
}
