//! Sums on the lattice: direct convolution, whose terms are all positive, so that tails keep their relative precision.
//!
//! A sum whose larger term is in an octave is on that octave's cells once the smaller term is rounded to them, which costs no
//! more than rounding the sum. So each octave takes one uniform convolution: of what is in it with all that is not above it.

use alloc::vec;
use alloc::vec::Vec;

use super::lattice::{Lattice, Rounded, Rounding};

/// Adds the masses of x + y to `into`; returns what is above the last point, and how many products it took.
pub(super) fn sum(lattice: &Lattice, x: &Rounded, y: &Rounded, into: &mut [f64]) -> (f64, usize) {
    let (mut xs, mut ys) = (Below::new(lattice, x), Below::new(lattice, y));
    blocks(lattice, into, |block, sums| {
        let range = lattice.block(block);
        let (x, y) = (&x.masses[range.clone()], &y.masses[range]);
        if block == 0 {
            return add_product(sums, x, y);
        }
        let mut work = add_product(sums, y, xs.before());
        ys.include(y);
        work += add_product(sums, x, ys.up_to());
        xs.include(x);
        xs.rise();
        ys.rise();
        work
    })
}

/// The same for y like x.
pub(super) fn doubled(lattice: &Lattice, x: &Rounded, into: &mut [f64]) -> (f64, usize) {
    let mut xs = Below::new(lattice, x);
    blocks(lattice, into, |block, sums| {
        let x = &x.masses[lattice.block(block)];
        if block == 0 {
            return add_product(sums, x, x);
        }
        // Either of the two may be the larger one.
        let mut others: Vec<f64> = xs.before().iter().map(|mass| 2.0 * mass).collect();
        others.resize(2 * lattice.cells, 0.0);
        add(&mut others[lattice.cells..], x);
        xs.include(x);
        xs.rise();
        add_product(sums, x, &others)
    })
}

/// Sums block by block: `add` adds those whose larger term is in a block, in its cells from its start on.
fn blocks(
    lattice: &Lattice,
    into: &mut [f64],
    mut add: impl FnMut(usize, &mut [f64]) -> usize,
) -> (f64, usize) {
    let n = lattice.cells;
    let mut sums = vec![0.0; 3 * n];
    let (mut over, mut total) = (0.0, 0);
    for block in 0..lattice.blocks() {
        let work = add(block, &mut sums);
        if work == 0 {
            continue;
        }
        total += work;
        for (slot, sum) in into[lattice.block(block)].iter_mut().zip(&sums[..n]) {
            *slot += sum;
        }
        // The rest is in the next block: after the first one in cells as wide, else twice as wide.
        let next = &mut into[((block + 1) * n).min(lattice.points())..];
        let up = usize::from(lattice.rounding == Rounding::Up);
        for (cell, sum) in sums[n..].iter().enumerate() {
            let place = if block == 0 { cell } else { cell.midpoint(up) };
            match next.get_mut(place) {
                Some(slot) => *slot += sum,
                None => over += sum,
            }
        }
        sums.fill(0.0);
    }
    (over, total)
}

/// The mass of a law up to an octave, in cells of that octave's width from zero on.
struct Below {
    rounding: Rounding,
    /// N.
    cells: usize,
    /// 2 N cells, of which those before the octave are N + 1: what was rounded up may be at its start.
    masses: Vec<f64>,
}

impl Below {
    /// Before the first octave, whose cells are as wide, there is the first block.
    fn new(lattice: &Lattice, law: &Rounded) -> Below {
        let mut masses = vec![0.0; 2 * lattice.cells];
        add(&mut masses, &law.masses[lattice.block(0)]);
        Below { rounding: lattice.rounding, cells: lattice.cells, masses }
    }

    /// Before the octave; to be read before it is included.
    fn before(&self) -> &[f64] {
        &self.masses[..=self.cells]
    }

    fn up_to(&self) -> &[f64] {
        &self.masses
    }

    /// Adds what is in the octave.
    fn include(&mut self, octave: &[f64]) {
        add(&mut self.masses[self.cells..], octave);
    }

    /// Goes on to the next octave.
    fn rise(&mut self) {
        let up = usize::from(self.rounding == Rounding::Up);
        for cell in 1..self.masses.len() {
            // Its new place is never after it, so it was read already.
            let mass = core::mem::take(&mut self.masses[cell]);
            self.masses[cell.midpoint(up)] += mass;
        }
    }
}

fn add(to: &mut [f64], from: &[f64]) {
    for (slot, mass) in to.iter_mut().zip(from) {
        *slot += mass;
    }
}

/// Rows of the product that are added in one pass.
const ROWS: usize = 4;

/// Adds `Σ x_i y_j` to `into[i + j]`; returns how many products it took.
fn add_product(into: &mut [f64], x: &[f64], y: &[f64]) -> usize {
    let (x, x_at) = without_zeros(x);
    let (y, y_at) = without_zeros(y);
    if x.is_empty() || y.is_empty() {
        return 0;
    }
    let (rows, row) = if x.len() < y.len() { (x, y) } else { (y, x) };
    let into = &mut into[x_at + y_at..];
    let mut padded = vec![0.0; row.len() + 2 * (ROWS - 1)];
    padded[ROWS - 1..][..row.len()].copy_from_slice(row);
    for (block, factors) in rows.chunks(ROWS).enumerate() {
        let mut f = [0.0; ROWS];
        f[..factors.len()].copy_from_slice(factors);
        let length = row.len() + factors.len() - 1;
        let shifted = |by: usize| padded[ROWS - 1 - by..][..length].iter();
        let terms = shifted(0).zip(shifted(1)).zip(shifted(2)).zip(shifted(3));
        for (slot, (((a, b), c), d)) in into[block * ROWS..][..length].iter_mut().zip(terms) {
            *slot += (f[0] * a + f[1] * b) + (f[2] * c + f[3] * d);
        }
    }
    x.len() * y.len()
}

/// What is between the zeros at either end, and where it starts.
fn without_zeros(masses: &[f64]) -> (&[f64], usize) {
    let Some(first) = masses.iter().position(|mass| *mass != 0.0) else { return (&[], 0) };
    let last = masses.iter().rposition(|mass| *mass != 0.0).unwrap_or(first);
    (&masses[first..=last], first)
}
