//! Times of a law from uniform numbers, by a table of its inverse.
//!
//! | symbol | meaning |
//! |---|---|
//! | u | a uniform number between 0 and 1: the share of times above the one it makes |
//! | v | the smaller of u and 1 - u |
//!
//! Each doubling of v has cells of equal width, in each of which the time is a polynomial of v through Chebyshev's nodes
//! (fast numerical inversion: Derflinger, Hörmann and Leydold, ACM Transactions on Modeling and Computer Simulation 20,
//! 2010). A cell whose polynomial is off by more than [`PRECISION`] between the nodes (at a kink, where the time is zero or
//! never, under a very wide law) has none, nor have the ends of both tails: there the law itself is inverted.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::Law;

/// The most that a time from a table is off, relatively: less than the nanosecond that times are rounded to.
const PRECISION: f64 = 1e-10;
/// Doublings of v that have cells: one draw in a thousand lies below.
const OCTAVES: usize = 10;
/// The logarithm of the number of cells in a doubling.
const DIGITS: u32 = 4;
const CELLS: usize = OCTAVES << DIGITS;
/// Cells in a doubling.
const STEPS: f64 = (1_u64 << DIGITS) as f64;
/// Coefficients of a polynomial, the constant one first.
const COEFFICIENTS: usize = 6;

/// The exponent field of the numbers from 1 up to 2.
const ONE: u64 = 1023 << MANTISSA;
const MANTISSA: u32 = f64::MANTISSA_DIGITS - 1;

/// Draws times of one law. Longer times come from smaller numbers.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    law: Law,
    /// The regimes of a mixture, or the law itself, each with the sum of the weights up to it.
    parts: Vec<(f64, Table)>,
}

impl Sampler {
    pub(crate) fn new(law: Law) -> Sampler {
        let (mut parts, mut sum) = (Vec::new(), 0.0);
        law.regimes(1.0, &mut |weight, part| {
            sum += weight;
            parts.push((sum, Table::new(part)));
        });
        Sampler { law, parts }
    }

    pub(crate) fn law(&self) -> &Law {
        &self.law
    }

    /// The time in seconds that `uniform` makes; `part` draws a number of the same kind, which picks the part of a mixture.
    #[inline]
    pub(crate) fn time(&self, uniform: f64, part: impl FnOnce() -> f64) -> f64 {
        if let [(_, table)] = &self.parts[..] {
            return table.time(uniform);
        }
        let drawn = part();
        let picked = self.parts.iter().find(|(sum, _)| drawn < *sum).or(self.parts.last());
        picked.map_or(f64::INFINITY, |(_, table)| table.time(uniform))
    }

    /// [`Sampler::time`] of many numbers; `part` draws for the one at a place.
    pub(crate) fn times<const N: usize>(&self, uniforms: &[f64; N], part: impl Fn(usize) -> f64) -> [f64; N] {
        if let [(_, table)] = &self.parts[..] {
            return table.times(uniforms);
        }
        core::array::from_fn(|i| self.time(uniforms[i], || part(i)))
    }
}

/// The inverse of one law.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    law: Law,
    /// The slow half and the fast half, by v, each with a row more. Coefficients that are no numbers: none.
    cells: Box<[[f64; COEFFICIENTS]]>,
}

/// In place of the polynomial of a cell that has none.
const NONE: [f64; COEFFICIENTS] = [f64::NAN; COEFFICIENTS];

impl Table {
    fn new(law: &Law) -> Table {
        let half = |fast| (0..CELLS).map(move |cell| fit(law, fast, cell)).chain([NONE]);
        Table { law: law.clone(), cells: half(false).chain(half(true)).collect() }
    }

    #[inline]
    fn time(&self, u: f64) -> f64 {
        let (row, place) = whereabouts(u);
        let read = value(&self.cells[row], place);
        if read.is_nan() { inverse(&self.law, u) } else { read }
    }

    /// The times of many numbers, step by step for all of them, so that none waits for another.
    #[inline]
    fn times<const N: usize>(&self, uniforms: &[f64; N]) -> [f64; N] {
        let (mut rows, mut places, mut times) = ([0; N], [0.0; N], [0.0; N]);
        for i in 0..N {
            (rows[i], places[i]) = whereabouts(uniforms[i]);
        }
        for i in 0..N {
            times[i] = value(&self.cells[rows[i]], places[i]);
        }
        for i in 0..N {
            if times[i].is_nan() {
                times[i] = inverse(&self.law, uniforms[i]);
            }
        }
        times
    }
}

/// The row of a number, and where in its cell it lies.
#[inline]
fn whereabouts(u: f64) -> (usize, f64) {
    const LOWEST: u64 = (((ONE >> MANTISSA) - 1) << DIGITS) - CELLS as u64;
    let fast = u > 0.5;
    let bits = if fast { 1.0 - u } else { u }.to_bits();
    let cell = (bits >> (MANTISSA - DIGITS)).wrapping_sub(LOWEST).min(CELLS as u64);
    (cell as usize + if fast { CELLS + 1 } else { 0 }, place(bits))
}

/// What a polynomial says; not a number where there is none.
#[inline]
fn value([a, b, c, d, e, f]: &[f64; COEFFICIENTS], x: f64) -> f64 {
    let square = x * x;
    (a + b * x) + square * ((c + d * x) + square * (e + f * x))
}

/// Where in its cell a number lies, from -1 to 1.
#[inline]
fn place(bits: u64) -> f64 {
    const BELOW: u64 = (1 << (MANTISSA - DIGITS)) - 1;
    let within = f64::from_bits(ONE | (bits & BELOW)) - 1.0;
    within * (2.0 * STEPS) - 1.0
}

/// The number at a place of a cell.
fn number(cell: usize, x: f64) -> f64 {
    let within = (x + 1.0) / (2.0 * STEPS);
    let (octave, step) = (cell >> DIGITS, cell & ((1 << DIGITS) - 1));
    let mantissa = 1.0 + step as f64 / STEPS + within;
    mantissa / (1_u64 << (OCTAVES + 1 - octave)) as f64
}

#[cold]
fn inverse(law: &Law, u: f64) -> f64 {
    invert(law, if u > 0.5 { 1.0 - u } else { u }, u > 0.5)
}

fn invert(law: &Law, v: f64, fast: bool) -> f64 {
    law.inverse_hazard(if fast { -libm::log1p(-v) } else { -libm::log(v) })
}

/// The polynomial of a cell.
fn fit(law: &Law, fast: bool, cell: usize) -> [f64; COEFFICIENTS] {
    let time = |x: f64| invert(law, number(cell, x), fast);
    let node = |i: usize, n: usize| libm::cos(core::f64::consts::PI * (2 * i + 1) as f64 / (2 * n) as f64);
    let nodes: [f64; COEFFICIENTS] = core::array::from_fn(|i| node(i, COEFFICIENTS));
    let mut divided = nodes.map(time);
    if !divided.iter().all(|time| *time > 0.0 && time.is_finite()) {
        return NONE;
    }
    // Newton's divided differences, then the same polynomial by powers.
    for order in 1..COEFFICIENTS {
        for i in (order..COEFFICIENTS).rev() {
            divided[i] = (divided[i] - divided[i - 1]) / (nodes[i] - nodes[i - order]);
        }
    }
    let mut powers = [0.0; COEFFICIENTS];
    for i in (0..COEFFICIENTS).rev() {
        for power in (1..COEFFICIENTS).rev() {
            powers[power] = powers[power - 1] - nodes[i] * powers[power];
        }
        powers[0] = divided[i] - nodes[i] * powers[0];
    }
    let read = |x: f64| powers.iter().rev().fold(0.0, |sum, power| sum * x + power);
    let precise = |x: f64| {
        let exact = time(x);
        (read(x) - exact).abs() <= PRECISION * exact
    };
    // The ends and the places between the nodes, where such a polynomial is furthest off.
    let between =
        (1..COEFFICIENTS).map(|i| libm::cos(core::f64::consts::PI * i as f64 / COEFFICIENTS as f64));
    if between.chain([-1.0, 1.0]).all(precise) { powers } else { NONE }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laws() -> Vec<Law> {
        let laws = [
            Law::exponential(0.2),
            Law::log_normal(1.0, 0.6),
            Law::log_normal(0.3, 3.0),
            Law::weibull(0.7, 2.0),
            Law::gamma(2.5, 0.3),
            Law::log_logistic(1.0, 4.0),
            Law::pareto(0.5, 2.5),
            Law::log_normal(1.0, 1.0).and_then(|law| law.shifted(0.5)),
            Law::log_normal(1.0, 1.0).and_then(|law| law.hedged(&[1.0])),
            Law::empirical(&[0.0, 0.1, 0.2, 0.2, 0.9], &[1.0]),
            Law::log_normal(1.0, 30.0),
        ];
        laws.into_iter().map(|law| law.expect("in range")).collect()
    }

    #[test]
    fn times_are_those_of_the_law_inverted() {
        for law in laws() {
            let table = Table::new(&law);
            let mut number = 1_u64;
            let numbers = (0..20_000).map(|_| {
                number =
                    number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (number >> 11 | 1) as f64 / (1_u64 << 53) as f64
            });
            let ends = (1..53).flat_map(|i| [0.5_f64.powi(i), 1.0 - 0.5_f64.powi(i)]);
            for u in numbers.chain(ends) {
                let (found, exact) = (table.time(u), law.inverse_hazard(-libm::log(u)));
                let same =
                    found == exact || (found / exact - 1.0).abs() < 2.0 * PRECISION + 1e-15 / (1.0 - u);
                assert!(same, "{law} at {u}: {found}, not {exact}");
            }
        }
    }

    #[test]
    fn smooth_laws_are_read_from_the_table() {
        for law in &laws()[..8] {
            let cells = Table::new(law).cells;
            let none = cells.iter().filter(|cell| cell[0].is_nan()).count() - 2;
            assert!(none < cells.len() / 20, "{law}: {none} cells of {} have no polynomial", cells.len());
        }
    }
}
