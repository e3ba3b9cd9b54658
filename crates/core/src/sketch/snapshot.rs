//! What a sketch has seen by one instant, and what can be said from it.

use alloc::vec::Vec;

use super::bucket::{Bucket, Counts, Kind};
use super::{Estimate, Quantile};
use crate::Time;

/// One primary that starts now, in the integers that weights are kept in.
pub(super) const ONE: u64 = 1 << 24;
/// A quantile is estimable when at least this many primaries, effectively, are known to run that long.
const ENOUGH: f64 = 30.0;
/// Products of shares of integers are good to far better than this; a level that is met to within it is met.
const ROUNDING: f64 = 1e-9;

/// The primaries of a [`Sketch`](crate::Sketch) at one instant, those in flight included.
///
/// Snapshots [merge](Snapshot::merge): of the shards of one sketch, of like branches, of several processes. The symbols of the
/// formulas here: bucket i in the order of time; `a_i`, `f_i`, `c_i` the weight of the primaries that answered, failed,
/// were censored in it; `R_i` the weight at risk, that is of bucket i and all later ones; `w` the weight of one primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// In the order of time, none empty. Weights are in units of 1 / [`ONE`].
    pub(super) rows: Vec<Row>,
    /// How many primaries started, without decay.
    pub(super) started: u64,
    /// The squares of their weights, summed; in units of 1 / [`ONE`].
    pub(super) squares: u128,
    /// The shortest deadline that cut one; never is [`Time::MAX`].
    pub(super) cut: Time,
    /// Whether none has answered for too long.
    pub(super) stale: bool,
}

/// The primaries of one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) bucket: Bucket,
    pub(super) counts: Counts,
}

impl Row {
    /// Brings `rows` into the order of time, those of one bucket added up. Sorted stretches make it fast.
    pub(super) fn sort(rows: &mut Vec<Row>) {
        rows.sort_by_key(|row| row.bucket);
        rows.dedup_by(|later, row| {
            let same = later.bucket == row.bucket;
            if same {
                for (sum, count) in row.counts.iter_mut().zip(later.counts) {
                    *sum += count;
                }
            }
            same
        });
    }

    fn weight(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn answered(&self) -> f64 {
        self.counts[Kind::Answered as usize] as f64
    }

    fn failed(&self) -> f64 {
        self.counts[Kind::Failed as usize] as f64
    }
}

/// What has become of primaries by some age, as shares of all of them; the rest is still running then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Incidence {
    /// Answered.
    pub answered: f64,
    /// Failed.
    pub failed: f64,
    /// How many primaries, effectively, are known to run longer. Where it is zero, the shares are those of the last age
    /// that anything is known of.
    pub at_risk: f64,
}

impl Default for Snapshot {
    /// Of a sketch that saw nothing. Merging it changes nothing.
    fn default() -> Snapshot {
        Snapshot { rows: Vec::new(), started: 0, squares: 0, cut: Time::MAX, stale: true }
    }
}

impl Snapshot {
    /// Adds what another sketch has seen. Every primary keeps the weight that it has in its own sketch.
    ///
    /// Integers are added, so any order and grouping gives the same snapshot. m sketches of half-life h, fed in turn, make
    /// the snapshot of one of half-life m·h that is fed alone, but for the rounding of weights to 2^-24 of a primary, and
    /// of h to a multiple of 32.
    pub fn merge(&mut self, other: &Snapshot) {
        self.rows.extend_from_slice(&other.rows);
        Row::sort(&mut self.rows);
        self.started += other.started;
        self.squares += other.squares;
        self.cut = self.cut.min(other.cut);
        self.stale &= other.stale;
    }

    /// How many primaries started, without decay.
    pub fn started(&self) -> u64 {
        self.started
    }

    /// How many primaries of equal weight would tell as much: `(Σ w)² / Σ w²` (Kish, *Survey Sampling*, 1965). With
    /// decay it tends to 2.9 half-lives.
    pub fn effective(&self) -> f64 {
        let weight = self.weight() as f64;
        if self.squares == 0 { 0.0 } else { weight / self.squares as f64 * (weight / ONE as f64) }
    }

    fn weight(&self) -> u64 {
        self.rows.iter().map(Row::weight).sum()
    }

    /// The latency's quantile, by the product-limit estimator: the least t with
    ///
    /// ```text
    /// S(t) = Π (1 - a_i / R_i) over buckets i up to t's,   S(t) ≤ 1 - p
    /// ```
    ///
    /// (Kaplan & Meier, "Nonparametric estimation from incomplete observations", JASA 53, 1958.) Answers are the events;
    /// a failure says only that the answer would have taken longer. Primaries that are censored in a bucket are at risk
    /// for its answers. A share `R_i / R_1` of the [effective](Snapshot::effective) primaries is at risk in bucket i,
    /// since how old an observation is and how long it took are taken to be unrelated; where the recent ones are the
    /// slow ones, as after a change for the worse, that counts up to twice too many.
    pub fn estimate(&self, quantile: Quantile) -> Estimate {
        self.estimate_at_risk(quantile).0
    }

    /// The estimate, and how many primaries, effectively, are at risk as far as it goes.
    pub(super) fn estimate_at_risk(&self, quantile: Quantile) -> (Estimate, f64) {
        let (found, at_risk) = self.product_limit(quantile);
        let too_few = self.started as f64 * quantile.rest() < ENOUGH;
        let estimate = match found {
            Err(_) if too_few => Estimate::Warming,
            _ if self.stale => Estimate::Stale,
            Ok(bucket) => Estimate::Estimable(bucket.middle()),
            Err(above) => Estimate::NotEstimable { above },
        };
        (estimate, at_risk)
    }

    /// The quantile's bucket, or how far the estimate is good; and the primaries at risk there.
    fn product_limit(&self, quantile: Quantile) -> (Result<Bucket, Time>, f64) {
        let rest = quantile.rest() * (1.0 + ROUNDING);
        let weight = self.weight();
        let per_weight = self.effective() / weight.max(1) as f64;
        let cut = Bucket::of(self.cut);
        let (mut left, mut survival, mut good) = (weight, 1.0, Time::ZERO);
        for row in &self.rows {
            let at_risk = left as f64 * per_weight;
            if self.cut < Time::MAX && row.bucket >= cut {
                return (Err(self.cut), at_risk);
            }
            if at_risk < ENOUGH {
                return (Err(good), at_risk);
            }
            survival *= 1.0 - row.answered() / left as f64;
            if survival <= rest {
                return (Ok(row.bucket), at_risk);
            }
            good = row.bucket.lower();
            left -= row.weight();
        }
        (Err(good), 0.0)
    }

    /// The shares that have answered and failed by an age, by their cumulative incidence:
    ///
    /// ```text
    /// G_i = Π (1 - (a_j + f_j) / R_j) over buckets j before i
    /// answered(t) = Σ G_i a_i / R_i,   failed(t) = Σ G_i f_i / R_i   over buckets i up to t's
    /// ```
    ///
    /// (Aalen & Johansen, "An empirical transition matrix for non-homogeneous Markov chains based on censored
    /// observations", Scandinavian Journal of Statistics 5, 1978.) An answer and a failure compete, so the share that
    /// has answered is less than `1 - S`, which is what it would be if failures were answers yet to come.
    pub fn incidence(&self, by: Time) -> Incidence {
        let by = Bucket::of(by);
        let (mut at_risk, mut open) = (self.weight(), 1.0);
        let (mut answered, mut failed) = (0.0, 0.0);
        let per_weight = self.effective() / at_risk.max(1) as f64;
        for row in self.rows.iter().take_while(|row| row.bucket <= by) {
            let each = open / at_risk as f64;
            answered += each * row.answered();
            failed += each * row.failed();
            open -= each * (row.answered() + row.failed());
            at_risk -= row.weight();
        }
        Incidence { answered, failed, at_risk: at_risk as f64 * per_weight }
    }
}
