//! How much blocks of jobs differ: what intervals rest on where jobs are not independent.
//!
//! | symbol | meaning |
//! |---|---|
//! | B | how many blocks there are |
//! | x, n | a sum over the jobs of one block, and what it is divided by: mostly their number |
//! | R | `Σx / Σn`, the estimate |
//! | E | `(Σn)² / Σn²`, how many blocks of one size tell as much (Kish, Survey Sampling, 1965, 11.7): B, where they are that |
//!
//! The standard error of a ratio of sums over independent blocks is `√(Σ(x - R n)² / (1 - 1/E)) / Σn`: for blocks of one size
//! that of Cochran (Sampling Techniques, 1977, 6.3; for simulations, Law, Simulation Modeling and Analysis, 2015, 9.5.3), and
//! for a last one that is shorter it counts it for as much as it has. It is kept as three sums of whole numbers, so that parts
//! add up to the same whole in any order.

use alloc::vec::Vec;

use fantail_core::Time;

use super::times::Times;

/// By how few blocks something can be known.
pub(super) const FEWEST: f64 = 1.9;

/// Sums over blocks of `x²`, `x n` and `n²`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Between {
    xx: u128,
    xn: u128,
    nn: u128,
}

impl Between {
    /// One block.
    pub(super) fn of((x, n): (u128, u128)) -> Between {
        Between { xx: x.saturating_mul(x), xn: x.saturating_mul(n), nn: n.saturating_mul(n) }
    }

    pub(super) fn add(&mut self, other: &Between) {
        self.xx = self.xx.saturating_add(other.xx);
        self.xn = self.xn.saturating_add(other.xn);
        self.nn = self.nn.saturating_add(other.nn);
    }

    /// All that it holds.
    pub(super) fn sums(&mut self) -> [&mut u128; 3] {
        [&mut self.xx, &mut self.xn, &mut self.nn]
    }

    /// How many blocks of one size tell as much, given the sum of `n` over all.
    pub(super) fn blocks(&self, n: u128) -> f64 {
        n as f64 * n as f64 / self.nn as f64
    }

    /// The standard error of `x / n`, the sums over all blocks; not a number for [fewer than two](Between::blocks), if not nearly.
    pub(super) fn error(&self, (x, n): (u128, u128)) -> f64 {
        let blocks = self.blocks(n);
        if blocks < FEWEST {
            return f64::NAN;
        }
        let ratio = x as f64 / n as f64;
        let squares = self.xx as f64 - 2.0 * ratio * self.xn as f64 + ratio * ratio * self.nn as f64;
        libm::sqrt(squares.max(0.0) / (1.0 - 1.0 / blocks)) / n as f64
    }
}

/// How many more calls were there at the end of each block than at its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Growth {
    pub(super) more: u64,
    pub(super) fewer: u64,
    pub(super) squares: u128,
}

impl Growth {
    /// One block.
    pub(super) fn of(before: u64, after: u64) -> Growth {
        let difference = u128::from(before.abs_diff(after));
        Growth {
            more: after.saturating_sub(before),
            fewer: before.saturating_sub(after),
            squares: difference * difference,
        }
    }

    pub(super) fn add(&mut self, other: &Growth) {
        self.more += other.more;
        self.fewer += other.fewer;
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// The share of so many calls that came and stayed, where that is no chance: in every block about as many, or far more than a
    /// queue that empties now and then can hold.
    pub(super) fn share(&self, calls: u64, blocks: u64) -> Option<f64> {
        const NOTHING: f64 = 0.005;
        const MUCH: f64 = 0.1;
        let stay = self.more as f64 - self.fewer as f64;
        let share = stay / calls as f64;
        let squares = self.squares as f64;
        let alike = stay * stay > 0.5 * blocks as f64 * squares;
        let steady = stay > 3.0 * libm::sqrt(squares);
        (share > MUCH && alike || share > NOTHING && steady).then_some(share)
    }
}

/// Each doubling of time has `2^DIGITS` marks.
const DIGITS: u32 = 4;

/// How the share of jobs that have returned by a time differs among blocks, at marks 4 % apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Returned {
    marks: Vec<Between>,
    /// Of jobs, once for each block: what marks after the last have.
    after: Between,
}

impl Returned {
    /// One block, of so many jobs.
    pub(super) fn of(returns: &Times, jobs: u64) -> Returned {
        let mut marks = Vec::new();
        let last = returns.last();
        let all = (0..3).map(|list| returns.len(list)).sum::<u64>();
        if all > 0 {
            for mark in 0..=mark_of(last) {
                let by: u64 = (0..3).map(|list| returns.until(list, time_of(mark))).sum();
                marks.push(Between::of((by.into(), jobs.into())));
            }
        }
        Returned { marks, after: Between::of((all.into(), jobs.into())) }
    }

    pub(super) fn add(&mut self, other: &Returned) {
        while self.marks.len() < other.marks.len() {
            self.marks.push(self.after);
        }
        for (mark, mine) in self.marks.iter_mut().enumerate() {
            mine.add(other.marks.get(mark).unwrap_or(&other.after));
        }
        self.after.add(&other.after);
    }

    /// How many blocks of one size tell as much, given how many jobs there are in all.
    pub(super) fn blocks(&self, jobs: u64) -> f64 {
        self.after.blocks(jobs.into())
    }

    /// All that it holds.
    pub(super) fn parts(&mut self) -> (&mut Vec<Between>, &mut Between) {
        (&mut self.marks, &mut self.after)
    }

    /// The last mark before `time` if there is one, and how blocks differ there.
    pub(super) fn before(&self, time: Time) -> (Option<Time>, &Between) {
        let mark = mark_of(time).min(self.marks.len()).checked_sub(1);
        mark.map_or((None, &self.after), |mark| (Some(time_of(mark)), &self.marks[mark]))
    }
}

/// The first mark at `time` or after it.
fn mark_of(time: Time) -> usize {
    let nanos = time.as_nanos().saturating_sub(1);
    let shift = (u64::BITS - 1).saturating_sub(DIGITS + nanos.leading_zeros());
    ((shift as usize) << DIGITS) + (nanos >> shift) as usize
}

/// The last nanosecond of those that have this mark.
fn time_of(mark: usize) -> Time {
    let shift = (mark >> DIGITS).saturating_sub(1);
    let first = ((mark - (shift << DIGITS)) as u64) << shift;
    Time::from_nanos(first.saturating_add((1 << shift) - 1).saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_the_first_at_or_after_a_time() {
        let mut last = 0;
        for nanos in (1..5_000).chain((0..60).map(|i| 1_234_567 << (i / 2))) {
            let mark = mark_of(Time::from_nanos(nanos));
            let at = time_of(mark).as_nanos();
            assert!(
                at >= nanos && (at - nanos) as f64 <= nanos as f64 / 15.0,
                "{nanos} has its mark at {at}"
            );
            assert!(mark == 0 || time_of(mark - 1).as_nanos() < nanos);
            assert!(mark >= last || nanos == 1_234_567);
            last = mark;
        }
    }

    /// Of independent jobs in blocks of unequal size: the error is that of a mean of independent values.
    #[test]
    fn the_error_between_blocks_of_independent_values_is_that_of_their_mean() {
        let mut state = 1_u64;
        let mut value = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            u128::from(state >> 54)
        };
        let (mut between, mut sum, mut jobs) = (Between::default(), 0, 0);
        let blocks = 2_000_u32;
        for block in 0..blocks {
            let n = 50 + u128::from(block % 7);
            let x: u128 = (0..n).map(|_| value()).sum();
            between.add(&Between::of((x, n)));
            (sum, jobs) = (sum + x, jobs + n);
        }
        // Uniform from 0 to 1023.
        let expected = 1024.0 / 12_f64.sqrt() / (jobs as f64).sqrt();
        let error = between.error((sum, jobs));
        assert!((error / expected - 1.0).abs() < 0.06, "{error} for {expected}");

        let one = Between::of((7, 10_000));
        assert!(one.error((7, 10_000)).is_nan());
        let mut and_a_job = one;
        and_a_job.add(&Between::of((0, 1)));
        assert!(and_a_job.error((7, 10_001)).is_nan());
    }
}
