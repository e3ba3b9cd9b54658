//! What a number of simulated jobs says of the plan: values with confidence intervals.

use super::blocks::FEWEST;
use crate::Level;
use crate::special::normal_quantile;

/// An interval that holds the true value with the confidence it was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies in it; its ends do.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// How many of the jobs, or of other things that were counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Those that the share is of interest for.
    pub count: u64,
    /// All that were counted.
    pub of: u64,
    /// How many times the variance of the share is that of independent jobs, and by how many blocks that is known.
    pub(super) spread: Option<(f64, f64)>,
}

impl Share {
    /// Of independent jobs.
    pub fn new(count: u64, of: u64) -> Share {
        Share { count, of, spread: None }
    }

    /// The share itself, 0 to 1; not a number when nothing was counted.
    pub fn value(self) -> f64 {
        self.count as f64 / self.of as f64
    }

    /// Where the probability lies behind the share: Wilson's score interval (J. Am. Stat. Assoc. 22, 1927), which stays
    /// within 0 to 1 and is meaningful for a count of 0. Where jobs are not independent, they count as so many fewer as blocks
    /// of them differ more than those of independent jobs would.
    ///
    /// ```
    /// use fantail_model::Level;
    /// use fantail_model::sim::Share;
    ///
    /// let none = Share::new(0, 1_000).interval(Level::below(0.95)?);
    /// assert_eq!(none.low, 0.0);
    /// assert!((none.high - 0.00383).abs() < 1e-5);
    /// # Ok::<(), fantail_model::LawError>(())
    /// ```
    pub fn interval(self, confidence: Level) -> Interval {
        let fewer = self.spread.map_or(1.0, |(variance, blocks)| variance * wider(confidence, blocks));
        if self.of == 0 || fewer.is_nan() {
            return Interval { low: 0.0, high: 1.0 };
        }
        let n = self.of as f64 / fewer;
        let z = deviations(confidence);
        let yes = self.count as f64 / fewer;
        let no = n - yes;
        let centre = yes + z * z / 2.0;
        let half = z * libm::sqrt(yes * no / n + z * z / 4.0);
        let end = |x: f64| (x / (n + z * z)).clamp(0.0, 1.0);
        let low = if self.count == 0 { 0.0 } else { end(centre - half) };
        let high = if self.count == self.of { 1.0 } else { end(centre + half) };
        Interval { low, high }
    }
}

/// An estimated mean, or a ratio of means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error; not a number for fewer than two jobs, or fewer than two blocks of jobs that interact.
    pub error: f64,
    /// How many blocks the error is known by, or jobs where those are independent; `None`: it counts as known.
    pub(super) blocks: Option<f64>,
}

impl Estimate {
    /// With a standard error that counts as known.
    pub fn new(value: f64, error: f64) -> Estimate {
        Estimate { value, error, blocks: None }
    }

    /// Where the true value lies, by Student's law: for skewed values it needs many jobs, for any a finite variance.
    pub fn interval(self, confidence: Level) -> Interval {
        let wider = libm::sqrt(self.blocks.map_or(1.0, |blocks| wider(confidence, blocks)));
        let half = deviations(confidence) * self.error * wider;
        Interval { low: self.value - half, high: self.value + half }
    }
}

/// Standard deviations to either side that hold a normal variable with this confidence.
fn deviations(confidence: Level) -> f64 {
    normal_quantile(confidence.hazard() + core::f64::consts::LN_2)
}

/// The square of how much wider an interval is whose error is known by so few values: Student's quantile over the normal
/// one, by Wallace's transformation (Annals of Mathematical Statistics 30, 1959), which is 0.5 % off at five values and
/// too wide below.
pub(super) fn wider(confidence: Level, values: f64) -> f64 {
    if values < FEWEST {
        return f64::NAN;
    }
    let (n, z) = (values - 1.0, deviations(confidence));
    let stretched = z * (8.0 * n + 3.0) / (8.0 * n + 1.0);
    n * libm::expm1(stretched * stretched / n) / (z * z)
}

/// The sum of a whole number per job, and of its square: exact, so that parts add up to the same whole in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Total {
    count: u64,
    sum: u128,
    /// Stops at the largest number: the standard error is then too small, for times of centuries only.
    squares: u128,
}

impl Total {
    pub(super) fn push(&mut self, value: u64) {
        let value = u128::from(value);
        self.add(&Total { count: 1, sum: value, squares: value * value });
    }

    /// So many zeros.
    pub(super) fn zeros(&mut self, count: u64) {
        self.count += count;
    }

    /// Of values that are there, one that was zero becomes this.
    pub(super) fn raise(&mut self, value: u64) {
        self.push(value);
        self.count -= 1;
    }

    pub(super) fn add(&mut self, other: &Total) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// All that it holds.
    pub(super) fn parts(&mut self) -> (&mut u64, &mut u128, &mut u128) {
        (&mut self.count, &mut self.sum, &mut self.squares)
    }

    pub(super) fn sum(&self) -> u128 {
        self.sum
    }

    /// The mean in units of `unit`.
    pub(super) fn mean(&self, unit: f64) -> Estimate {
        let n = self.count as f64;
        let mean = self.sum as f64 / n;
        let variance = (self.squares as f64 / n - mean * mean).max(0.0) / (n - 1.0);
        Estimate { value: mean / unit, error: libm::sqrt(variance) / unit, blocks: Some(n) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of Student's law, two-sided 95 %: 2.776 at four degrees of freedom, 2.262 at nine, 2.045 at 29.
    #[test]
    fn few_blocks_make_intervals_as_wide_as_students_law() {
        let confidence = Level::below(0.95).expect("a level");
        for (blocks, t) in [(5.0, 2.776), (10.0, 2.262), (30.0, 2.045)] {
            let found = libm::sqrt(wider(confidence, blocks)) * 1.959_964;
            assert!((found / t - 1.0).abs() < 0.006, "{found} for {t}");
        }
    }

    /// Of normal values, the share of intervals that hold their mean: by the normal law it would be 70 % with two of them, and 92 %
    /// with ten. Wallace's quantile is too wide for two.
    #[test]
    fn means_of_few_jobs_have_intervals_that_hold_what_they_say() {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 32
        };
        // Twelve uniform values make a nearly normal one.
        let mut normal = || (0..12).map(|_| uniform()).sum::<u64>();
        let confidence = Level::below(0.95).expect("a level");
        for (jobs, expected) in [(2, 0.964), (3, 0.954), (10, 0.95), (50, 0.95)] {
            let runs = 10_000;
            let mut held = 0;
            for _ in 0..runs {
                let mut total = Total::default();
                (0..jobs).for_each(|_| total.push(normal()));
                let mean = total.mean(4_294_967_296.0);
                held += u32::from(mean.interval(confidence).contains(6.0));
            }
            let share = f64::from(held) / f64::from(runs);
            assert!((share - expected).abs() < 0.008, "{share} of {jobs} jobs, not {expected}");
        }
    }
}
