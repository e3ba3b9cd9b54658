//! Quantiles of a latency that is seen through hedges, failures and deadlines.

mod batches;
mod bucket;
mod live;
mod snapshot;

pub use live::{LiveDelay, LiveDelaySpec};
pub use snapshot::{Incidence, Snapshot};

use alloc::vec::Vec;
use core::fmt;

use crate::Time;
use crate::plan::PPM;
use batches::{Batches, Running};
use bucket::{Bucket, Counts, Kind, Table};
use snapshot::{ONE, Row};

/// After how many half-lives without an answer a sketch is stale.
const STALE: u64 = 10;

/// The latency of a branch's primaries, as they start and end.
///
/// A quantile of the answers alone is too low: the slow primaries are those that a copy, a failure or a deadline ended
/// first. Such a primary is *censored*: it tells that its latency is longer than its age. A sketch counts both, for an
/// estimator that needs both ([`Snapshot::estimate`]), and counts the primaries in flight at their current age, so that
/// answers which do not come are noticed before they are given up.
///
/// - **Buckets** are log-spaced, 1/128 of their time wide. A quantile is the middle of its bucket, at most 1/256 = 0.4 %
///   off; that answers go before censorings within a bucket may add as much where censoring is heavy.
/// - **Decay.** A primary weighs half as much after each `half_life` further starts, whatever becomes of it: from 1 to
///   1/2 on a line, in 32 steps, and so on. It is the start that counts, so that slow primaries are not younger than fast ones.
/// - **Memory** is 13 KB, and 3 KB for each octave of latencies: 43 KB for 1 ms to 1 s, never more than 190 KB. Nothing
///   is kept by primary but the [`Primary`] that the caller holds.
/// - **Time**: a start and its end take amortised constant time. [`Sketch::snapshot`] goes through the table.
///
/// Primaries of one `Sketch` are taken to be alike, and what censors them to have nothing to do with how long they would
/// have taken. A job that stops at its first k answers breaks that when its branches are slow together: the primaries it
/// cancels are then the slow ones. Feed a sketch of its own with jobs that let all primaries run.
///
/// ```
/// use fantail_core::{End, Estimate, Quantile, Sketch, Time};
///
/// let mut sketch = Sketch::new(Sketch::HALF_LIFE)?;
/// let mut now = Time::ZERO;
/// for i in 0..1_000 {
///     now = now.saturating_add(Time::from_millis(100));
///     let primary = sketch.start(now);
///     // 1 to 100 ms; whatever takes longer than 97 ms is cancelled for its copy's sake.
///     let latency = Time::from_millis(1 + i * 37 % 100);
///     let cut = Time::from_millis(97);
///     let (age, end) = if latency <= cut { (latency, End::Answered) } else { (cut, End::Cancelled) };
///     sketch.record(primary, now.saturating_add(age), end);
/// }
/// let snapshot = sketch.snapshot(now);
/// let Estimate::Estimable(p95) = snapshot.estimate(Quantile::from_ppm(950_000)?) else { panic!() };
/// assert!((p95.as_secs_f64() / 0.095 - 1.0).abs() < 0.004);
/// // Too few are known to run for 98 ms.
/// let p99 = snapshot.estimate(Quantile::from_ppm(990_000)?);
/// assert_eq!(p99, Estimate::Warming);
/// # Ok::<(), fantail_core::SketchError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sketch {
    half_life: u32,
    batches: Batches,
    ended: Table,
    /// When a primary last answered; before that, when the first one started.
    heard: Time,
}

/// A primary in flight, as a sketch knows it. One that is never [recorded](Sketch::record) is in flight for good. Those that
/// started together may be equal: a sketch does not tell them apart.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a primary that is not recorded counts as in flight"]
pub struct Primary {
    batch: u64,
    started: Time,
}

/// How a primary ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It answered, whether or not its branch took the answer.
    Answered,
    /// It ended in an error.
    Failed,
    /// A deadline or an attempt timeout cut it.
    Cut {
        /// The deadline as the plan states it, not what was left of it.
        deadline: Time,
    },
    /// It was dropped for any other reason: a copy won, or the job ended.
    Cancelled,
}

impl Sketch {
    /// The default half-life, in primaries.
    pub const HALF_LIFE: u32 = 2_000;
    /// The half-lives that a sketch may have. A half-life h can tell levels up to `1 - 10.5 / h`: 2,000 is enough for p99,
    /// and p99.9 takes 10,500.
    pub const HALF_LIVES: core::ops::RangeInclusive<u32> = 32..=1 << 24;

    /// A sketch that has seen nothing, and in which a primary weighs half after `half_life` more.
    ///
    /// # Errors
    /// A half-life outside [`Sketch::HALF_LIVES`].
    pub fn new(half_life: u32) -> Result<Sketch, SketchError> {
        if !Sketch::HALF_LIVES.contains(&half_life) {
            return Err(SketchError::HalfLife { half_life });
        }
        Ok(Sketch { half_life, batches: Batches::new(half_life), ended: Table::new(), heard: Time::ZERO })
    }

    /// The half-life, in primaries.
    pub fn half_life(&self) -> u32 {
        self.half_life
    }

    /// How many primaries started, without decay.
    pub fn started(&self) -> u64 {
        self.batches.started()
    }

    /// A primary got its permit. `now` does not go back; if it does, it counts as the latest start.
    #[inline]
    pub fn start(&mut self, now: Time) -> Primary {
        if self.batches.full() {
            self.open(now);
        }
        self.batches.start(now)
    }

    /// The primary ended. Only the sketch that it started in can make sense of it: another one miscounts.
    #[expect(clippy::needless_pass_by_value, reason = "a primary ends once")]
    #[inline]
    pub fn record(&mut self, primary: Primary, now: Time, end: End) {
        self.record_equal(&primary, 1, now, end);
    }

    /// So many equal primaries ended together: as [`Sketch::record`] for each of them.
    pub fn record_equal(&mut self, primary: &Primary, n: u32, now: Time, end: End) {
        let (kind, cut) = match end {
            End::Answered => (Kind::Answered, Time::MAX),
            End::Failed => (Kind::Failed, Time::MAX),
            End::Cut { deadline } => (Kind::Censored, deadline),
            End::Cancelled => (Kind::Censored, Time::MAX),
        };
        if kind == Kind::Answered {
            self.heard = self.heard.max(now);
        }
        let Primary { batch, started } = *primary;
        if let Some(weight) = self.batches.end(batch, started, cut, n) {
            self.ended.add(now.saturating_sub(started), kind, weight * u64::from(n));
        }
    }

    /// Opens a batch of primaries. The one that makes room has started eight half-lives ago: what still runs of it is
    /// censored at its age, for good.
    #[cold]
    fn open(&mut self, now: Time) {
        if self.started() == 0 {
            self.heard = now;
        }
        let (evicted, lost) = self.batches.open(now);
        if lost > 0 {
            self.ended.shrink(lost);
        }
        if let Some(Running { age, weight }) = evicted {
            self.ended.add(age, Kind::Censored, weight);
        }
    }

    /// What is known at `now`. Goes through all buckets (20 µs when a thousand hold something), so not for every primary.
    pub fn snapshot(&self, now: Time) -> Snapshot {
        let unit = self.batches.weight_now();
        let row = |bucket: Bucket, counts: Counts| Row {
            bucket,
            counts: counts.map(|weight| relative(weight, unit)),
        };
        let running = self.batches.running(now);
        let running = running.map(|Running { age, weight }| row(Bucket::of(age), [0, 0, weight]));
        let mut rows = Vec::new();
        self.ended.each(|bucket, counts| rows.push(row(bucket, counts)));
        rows.extend(running);
        rows.retain(|row| row.counts != [0; 3]);
        Row::sort(&mut rows);
        Snapshot {
            rows,
            started: self.started(),
            squares: self.batches.squares() * u128::from(ONE) / u128::from(unit).pow(2),
            cut: self.batches.cut(),
            stale: self.stale(now),
        }
    }

    fn stale(&self, now: Time) -> bool {
        let Some(pace) = self.batches.pace() else { return self.started() == 0 };
        now.saturating_sub(self.heard).as_nanos() / STALE > pace.as_nanos()
    }
}

/// `weight` in units of 1 / [`ONE`] of `unit`, to the nearest. A weight of now is a multiple of `ONE`.
fn relative(weight: u64, unit: u64) -> u64 {
    let unit = unit / ONE;
    (weight + unit / 2) / unit
}

/// Which quantile: how many of a million are at most as long. More than none and less than all.
///
/// ```
/// use fantail_core::Quantile;
///
/// assert_eq!(Quantile::from_ppm(999_000)?.to_string(), "p99.9");
/// assert!(Quantile::from_ppm(1_000_000).is_err());
/// # Ok::<(), fantail_core::SketchError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantile(u32);

impl Quantile {
    /// The quantile of level `ppm` parts per million.
    ///
    /// # Errors
    /// 0, or a million and more.
    pub const fn from_ppm(ppm: u32) -> Result<Quantile, SketchError> {
        if ppm == 0 || ppm >= PPM { Err(SketchError::Level { ppm }) } else { Ok(Quantile(ppm)) }
    }

    /// Its level in parts per million.
    pub const fn ppm(self) -> u32 {
        self.0
    }

    /// The share that is longer.
    fn rest(self) -> f64 {
        f64::from(PPM - self.0) / f64::from(PPM)
    }
}

impl fmt::Display for Quantile {
    /// As a percentile, `p99.9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 10_000, self.0 % 10_000);
        let rest = alloc::format!(".{rest:04}");
        f.pad(&alloc::format!("p{whole}{}", rest.trim_end_matches('0').trim_end_matches('.')))
    }
}

/// What is known of a quantile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// So few primaries have started that it could not be known even if all had answered.
    Warming,
    /// It is this, and at least 30 primaries, effectively, are known to run that long.
    Estimable(Time),
    /// It is more than this: at this age less than its share has answered, and beyond there are too few primaries to go
    /// by, or there is a deadline that cut some.
    NotEstimable {
        /// As far as the estimate goes.
        above: Time,
    },
    /// No primary has answered for ten half-lives, by the pace at which primaries started.
    Stale,
}

/// Why a sketch, a quantile or a live delay cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SketchError {
    /// Not a half-life of a sketch.
    HalfLife {
        /// What was given.
        half_life: u32,
    },
    /// Not the level of a quantile.
    Level {
        /// What was given.
        ppm: u32,
    },
    /// A delay of zero.
    NoDelay {
        /// Which of `floor`, `cap` and `warming`.
        field: &'static str,
    },
}

impl fmt::Display for SketchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SketchError::HalfLife { half_life } => {
                let (least, most) = Sketch::HALF_LIVES.into_inner();
                write!(f, "a half-life of {half_life} primaries is out of bounds: it is {least} to {most}")
            }
            SketchError::Level { ppm } => {
                write!(f, "{ppm} of {PPM} is not the level of a quantile: it is 1 to {}", PPM - 1)
            }
            SketchError::NoDelay { field } => {
                write!(
                    f,
                    "the {field} of a live hedge delay is 0s: it must be longer, since no delay is a race"
                )
            }
        }
    }
}

impl core::error::Error for SketchError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20,000 primaries in 1 to 100 ms, some of which fail or are cut.
    fn run(sketch: &mut Sketch) -> Snapshot {
        for i in 0..20_000 {
            let now = Time::from_millis(i);
            let primary = sketch.start(now);
            let end = match i % 10 {
                0 => End::Failed,
                1 => End::Cut { deadline: Time::from_millis(200) },
                _ => End::Answered,
            };
            if i % 11 > 0 {
                sketch.record(primary, now.saturating_add(Time::from_millis(1 + i * 37 % 100)), end);
            }
        }
        sketch.snapshot(Time::from_secs(20))
    }

    #[test]
    fn two_to_the_forty_half_lives_later_nothing_is_different() {
        let fresh = run(&mut Sketch::new(64).unwrap());
        let mut old = Sketch::new(64).unwrap();
        old.batches.shift(1 << 37);
        let old = run(&mut old);
        assert_eq!(old.started(), fresh.started() + (64 << 40));
        assert_eq!(Snapshot { started: fresh.started(), ..old }, fresh);
    }
}
