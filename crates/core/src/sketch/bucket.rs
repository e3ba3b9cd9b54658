//! Log-spaced buckets of time, and a table of counts by bucket.

use alloc::boxed::Box;

use crate::Time;

/// 2^7 buckets to an octave: each is 1/128 of its lower edge wide, or 1 ns if that is more.
const BITS: u32 = 7;
const PER_OCTAVE: usize = 1 << BITS;
/// All of `u64`: one block of single nanoseconds below 2^7, and one for each octave above.
const OCTAVES: usize = 65 - BITS as usize;

/// One span of time. Buckets are numbered in the order of time and leave no gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bucket(u16);

impl Bucket {
    /// The bucket of `time`: its exponent, then the seven bits below its leading one.
    pub(super) fn of(time: Time) -> Bucket {
        let nanos = time.as_nanos();
        // Below 2^8 a bucket is one nanosecond.
        let shift = (nanos | 1 << BITS).ilog2() - BITS;
        Bucket(((shift << BITS) + (nanos >> shift) as u32) as u16)
    }

    fn shift(self) -> u32 {
        (u32::from(self.0) >> BITS).saturating_sub(1)
    }

    /// Its first nanosecond.
    pub(super) fn lower(self) -> Time {
        let mantissa = u64::from(self.0) - (u64::from(self.shift()) << BITS);
        Time::from_nanos(mantissa << self.shift())
    }

    /// Its middle, at most 1/256 of itself away from any time in it.
    pub(super) fn middle(self) -> Time {
        self.lower().saturating_add(Time::from_nanos((1 << self.shift()) >> 1))
    }
}

/// What ended a primary, as far as the estimator is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Answered,
    Failed,
    Censored,
}

/// Weights by [`Kind`].
pub(super) type Counts = [u64; 3];

/// Counts by bucket. An octave takes no memory before its first entry, and 3 KB after.
#[derive(Clone, Debug)]
pub(super) struct Table {
    octaves: [Option<Box<[Counts; PER_OCTAVE]>>; OCTAVES],
}

impl Table {
    pub(super) fn new() -> Table {
        Table { octaves: [const { None }; OCTAVES] }
    }

    pub(super) fn add(&mut self, age: Time, kind: Kind, weight: u64) {
        let index = usize::from(Bucket::of(age).0);
        let octave = self.octaves[index / PER_OCTAVE].get_or_insert_with(|| Box::new([[0; 3]; PER_OCTAVE]));
        octave[index % PER_OCTAVE][kind as usize] += weight;
    }

    /// Divides everything by 2^`bits`, rounding down.
    pub(super) fn shrink(&mut self, bits: u32) {
        for count in self.octaves.iter_mut().flatten().flat_map(|octave| octave.as_flattened_mut()) {
            *count >>= bits;
        }
    }

    /// Shows `take` the buckets that hold something, in the order of time.
    pub(super) fn each(&self, mut take: impl FnMut(Bucket, Counts)) {
        for (i, octave) in self.octaves.iter().enumerate() {
            for (j, counts) in octave.iter().flat_map(|octave| octave.iter().enumerate()) {
                if *counts != [0; 3] {
                    take(Bucket((i * PER_OCTAVE + j) as u16), *counts);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_ends_where_the_next_begins() {
        let last = Bucket::of(Time::MAX);
        assert_eq!(usize::from(last.0) + 1, OCTAVES * PER_OCTAVE);
        assert_eq!(Bucket::of(Time::ZERO), Bucket(0));
        for i in 0..=last.0 {
            let bucket = Bucket(i);
            let first = bucket.lower().as_nanos();
            let end = if bucket == last { u64::MAX } else { Bucket(i + 1).lower().as_nanos() - 1 };
            assert!(first <= end);
            for inside in [first, bucket.middle().as_nanos(), end] {
                assert_eq!(Bucket::of(Time::from_nanos(inside)), bucket);
            }
            // The middle is off by at most 1/256, and by nothing where a bucket is one nanosecond.
            let off = (bucket.middle().as_nanos() - first).max(end - bucket.middle().as_nanos());
            assert!(off <= first / 256, "{i}: {off} of {first}");
        }
    }
}
