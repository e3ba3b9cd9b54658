//! What a number of simulated jobs says of the plan: values with confidence intervals.

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Those that the share is of interest for.
    pub count: u64,
    /// All that were counted.
    pub of: u64,
}

impl Share {
    /// The share itself, 0 to 1; not a number when nothing was counted.
    pub fn value(self) -> f64 {
        self.count as f64 / self.of as f64
    }

    /// Where the probability lies behind the share: Wilson's score interval (J. Am. Stat. Assoc. 22, 1927), which stays
    /// within 0 to 1 and is meaningful for a count of 0. Supposes independent jobs.
    ///
    /// ```
    /// use fantail_model::Level;
    /// use fantail_model::sim::Share;
    ///
    /// let none = Share { count: 0, of: 1_000 }.interval(Level::below(0.95)?);
    /// assert_eq!(none.low, 0.0);
    /// assert!((none.high - 0.00383).abs() < 1e-5);
    /// # Ok::<(), fantail_model::LawError>(())
    /// ```
    pub fn interval(self, confidence: Level) -> Interval {
        let n = self.of as f64;
        if self.of == 0 {
            return Interval { low: 0.0, high: 1.0 };
        }
        let z = deviations(confidence);
        let (yes, no) = (self.count as f64, n - self.count as f64);
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
    /// Its standard error; not a number for fewer than two jobs.
    pub error: f64,
}

impl Estimate {
    /// Where the true value lies, by the normal approximation: it needs many jobs and a finite variance.
    pub fn interval(self, confidence: Level) -> Interval {
        let half = deviations(confidence) * self.error;
        Interval { low: self.value - half, high: self.value + half }
    }
}

/// Standard deviations to either side that hold a normal variable with this confidence.
fn deviations(confidence: Level) -> f64 {
    normal_quantile(confidence.hazard() + core::f64::consts::LN_2)
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

    pub(super) fn add(&mut self, other: &Total) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// The mean in units of `unit`.
    pub(super) fn mean(&self, unit: f64) -> Estimate {
        let n = self.count as f64;
        let mean = self.sum as f64 / n;
        let variance = (self.squares as f64 / n - mean * mean).max(0.0) / (n - 1.0);
        Estimate { value: mean / unit, error: libm::sqrt(variance) / unit }
    }
}
