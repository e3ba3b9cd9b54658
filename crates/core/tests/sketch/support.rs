//! Raw observations, a second way to the estimates, and draws.

use fantail_core::{End, Quantile, Sketch, Snapshot, Time};

/// With this half-life, the longest there is, the first half a million primaries weigh the same.
pub(crate) const FOREVER: u32 = 1 << 24;

pub(crate) fn quantile(ppm: u32) -> Quantile {
    Quantile::from_ppm(ppm).unwrap()
}

pub(crate) fn p95() -> Quantile {
    quantile(950_000)
}

/// How an observation ended; a copy of [`End`] without its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Answered,
    Failed,
    Cancelled,
}

/// A primary's age when it ended, in nanoseconds, and how.
pub(crate) type Observation = (u64, Ended);

/// A sketch that saw `observations`, in their order, one after the other.
pub(crate) fn sketch(half_life: u32, observations: &[Observation]) -> Sketch {
    let mut sketch = Sketch::new(half_life).unwrap();
    for &(age, ended) in observations {
        let end = match ended {
            Ended::Answered => End::Answered,
            Ended::Failed => End::Failed,
            Ended::Cancelled => End::Cancelled,
        };
        let primary = sketch.start(Time::ZERO);
        sketch.record(primary, Time::from_nanos(age), end);
    }
    sketch
}

/// What such a sketch knows.
pub(crate) fn snapshot(half_life: u32, observations: &[Observation]) -> Snapshot {
    sketch(half_life, observations).snapshot(Time::ZERO)
}

/// The estimates by redistribution to the right (Efron, "The two sample problem with censored data", 1967): every
/// observation has a mass of 1/n at first; in the order of time, the mass of one that is censored is shared out among the
/// later ones. No product in it, no buckets and no decay.
pub(crate) struct Redistributed {
    /// In the order of time, events before censorings: age, and the mass that came to lie there.
    masses: Vec<(u64, Ended, f64)>,
}

impl Redistributed {
    /// Failures are events that compete with answers if `compete`, else censorings.
    pub(crate) fn new(observations: &[Observation], compete: bool) -> Redistributed {
        let censored = |ended| match ended {
            Ended::Answered => false,
            Ended::Failed => !compete,
            Ended::Cancelled => true,
        };
        let mut sorted = observations.to_vec();
        sorted.sort_by_key(|&(age, ended)| (age, censored(ended)));
        let each = 1.0 / sorted.len() as f64;
        let mut masses: Vec<_> = sorted.into_iter().map(|(age, ended)| (age, ended, each)).collect();
        for i in 0..masses.len() {
            let (_, ended, mass) = masses[i];
            let later = masses.len() - i - 1;
            if censored(ended) && later > 0 {
                masses[i].2 = 0.0;
                masses[i + 1..].iter_mut().for_each(|(_, _, other)| *other += mass / later as f64);
            }
        }
        Redistributed { masses }
    }

    /// The share that has `ended` so by `age`.
    pub(crate) fn share(&self, ended: Ended, age: u64) -> f64 {
        let so = self.masses.iter().filter(|mass| mass.0 <= age && mass.1 == ended);
        so.map(|mass| mass.2).sum()
    }

    /// The least age by which a share of `p` has answered.
    pub(crate) fn quantile(&self, p: f64) -> Option<u64> {
        let mut sum = 0.0;
        let mut answers = self.masses.iter().filter(|mass| mass.1 == Ended::Answered);
        answers.find_map(|&(age, _, mass)| {
            sum += mass;
            (sum >= p - 1e-9).then_some(age)
        })
    }
}

/// A generator that is good enough for a test: PCG-XSH-RR (O'Neill 2014) on Knuth's 64-bit multiplier.
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Draws {
        let mut draws = Draws(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        draws.uniform();
        draws
    }

    pub(crate) fn word(&mut self) -> u32 {
        let old = self.0;
        self.0 = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((((old >> 18) ^ old) >> 27) as u32).rotate_right((old >> 59) as u32)
    }

    /// Within (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (f64::from(self.word()) + 0.5) / 4_294_967_296.0
    }

    /// Of mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Of mean 0 and variance 1 (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (core::f64::consts::TAU * self.uniform()).cos()
    }
}

/// `unit` is 100 ms.
pub(crate) fn nanos(units: f64) -> u64 {
    (units * 1e8) as u64
}

/// Asserts that two numbers differ by at most `tolerance`, relative to the second.
#[track_caller]
pub(crate) fn close(got: f64, expected: f64, tolerance: f64) {
    let off = (got / expected - 1.0).abs();
    assert!(off <= tolerance, "{got} is off {expected} by {off:.2e}, more than {tolerance:.2e}");
}
