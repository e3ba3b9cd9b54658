//! The law of a stage, read between its bounds.

use alloc::boxed::Box;

use super::bounds::{Bounds, Ranges, Side};
use super::{Call, Stage, Waits};
use crate::moments::{self, Curve, Moments, Upper};
use crate::numeric::time_at;
use crate::{Figure, GroupedPlan, JobLaw, Law, Level};

/// The law of the time that a stage takes, in seconds from its start; each figure is between two bounds.
///
/// The time of every call is rounded down, and up, to a cell of a lattice that is finer for shorter times; what follows
/// from them is computed by positive terms. There are as many cells as it takes for bounds within 0.1 % of each other at
/// p50, p99 and p99.9; where that would take more than seconds, the bounds are wider, and say so. At shares below some
/// 1e-11 they are those of a coarser lattice, and below 1e-40 what holds of any sum: it is later than its latest call, and no
/// later than as many of it as there are calls. A stage in which nothing follows anything is exact.
#[derive(Debug)]
pub struct StagedLaw {
    stage: Stage,
    found: Found,
    /// Where they need no lattice.
    exact: Option<Moments>,
    /// How far hazards may be off by the rounding of floats, relative: a multiple of the number of sums.
    slack: f64,
}

/// How the law of a stage is known.
#[derive(Debug)]
enum Found {
    /// Calls that all start at once.
    AtOnce(Box<JobLaw>),
    Between(Box<Ranges>),
}

/// How far the root of a hazard may be off, relative.
const ROUNDING: f64 = 1e-12;
/// Multiplications that are spent at most on narrower bounds: a second or so.
const MOST_WORK: f64 = 4e9;

impl Stage {
    /// The law of the time that this stage takes. Takes milliseconds to seconds: a sum of n calls takes about log n
    /// convolutions of some thousand cells for every octave that the law spans.
    pub fn solve(&self) -> StagedLaw {
        self.solve_within(1.0)
    }

    /// The same with a share, up to 1, of the work that may be spent on narrow bounds: a quarter of it leaves them about twice as
    /// wide, where they are wider than 0.1 %. For many laws at once.
    pub fn solve_within(&self, share: f64) -> StagedLaw {
        let found = match self.at_once() {
            Some(job) => Found::AtOnce(Box::new(job)),
            None => Found::Between(Box::new(Ranges::of(self, share.min(1.0) * MOST_WORK))),
        };
        let slack = 1e-12 * (self.longest + 10.0);
        StagedLaw { stage: self.clone(), found, exact: self.moments(), slack }
    }
}

impl StagedLaw {
    /// P(it has ended by `t`).
    pub fn ended(&self, t: f64) -> Figure {
        let (late, early) = self.hazards(t);
        Figure::between(-libm::expm1(-late), -libm::expm1(-early))
    }

    /// P(it has not ended by `t`), with relative precision far into the tail.
    pub fn open(&self, t: f64) -> Figure {
        let (late, early) = self.hazards(t);
        Figure::between(libm::exp(-early), libm::exp(-late))
    }

    /// The time at a level; infinite when it ends less often.
    pub fn quantile(&self, level: Level) -> Figure {
        let (lower, upper) = self.times(level);
        Figure::between(lower, upper)
    }

    /// Mean time; infinite when it may never end or a tail is too heavy. Exact for sums of calls.
    pub fn mean(&self) -> Figure {
        let (lower, upper) = self.means(f64::INFINITY);
        Figure::between(lower, upper)
    }

    /// Standard deviation, likewise.
    pub fn sd(&self) -> Figure {
        let (lower, upper) = self.variances(f64::INFINITY);
        Figure::between(libm::sqrt(lower), libm::sqrt(upper))
    }

    /// P(it never ends).
    pub fn never(&self) -> f64 {
        match &self.found {
            Found::AtOnce(job) => job.verdicts().never,
            Found::Between(ranges) => ranges.near.down.law.never,
        }
    }

    /// The bounds of a quantile.
    pub(super) fn times(&self, level: Level) -> (f64, f64) {
        let ranges = match &self.found {
            Found::AtOnce(job) => {
                let time = job.quantile(level).value;
                return (time, time);
            }
            Found::Between(ranges) => ranges,
        };
        let (h, Ranges { near, far }) = (level.hazard(), &**ranges);
        let [least, most] = [h * (1.0 - self.slack), h * (1.0 + self.slack)];
        let lower = near.down.time(least).max(far.down.time(least)).max(self.earliest(least));
        let upper = near.up.time(most).min(far.up.time(most)).min(self.latest(h));
        (lower.min(upper), upper)
    }

    /// The lesser and the greater bound of the hazard at `t`.
    pub(super) fn hazards(&self, t: f64) -> (f64, f64) {
        let t = t.max(0.0);
        let ranges = match &self.found {
            Found::AtOnce(job) => {
                let hazard = job.hazard(t);
                return (hazard, hazard);
            }
            Found::Between(ranges) => ranges,
        };
        let Ranges { near, far } = &**ranges;
        let late = near.up.hazard(t).max(far.up.hazard(t)) * (1.0 - self.slack);
        let early = near.down.hazard(t).min(far.down.hazard(t)) * (1.0 + self.slack);
        let early = early.min(self.stage.hazard(t, Waits::ForNothing));
        (late.max(self.stage.hazard(t, Waits::ItsShare)).min(early), early)
    }

    /// No earlier than if nothing followed anything.
    fn earliest(&self, h: f64) -> f64 {
        self.time(h, Waits::ForNothing) * (1.0 - ROUNDING)
    }

    /// Not later than if each call took its share of the time.
    fn latest(&self, h: f64) -> f64 {
        self.time(h.max(f64::MIN_POSITIVE), Waits::ItsShare) * (1.0 + ROUNDING)
    }

    fn time(&self, h: f64, waits: Waits) -> f64 {
        let Stage { calls, longest, .. } = self.stage;
        let (one, all) = (h / calls, h + libm::log(calls));
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        self.stage.each_call(1.0, &mut |_, call| {
            (low, high) = (low.min(call.quantile(one)), high.max(call.quantile(all)));
        });
        time_at(h, low, longest * high, &|t| self.stage.hazard(t, waits))
    }

    /// Bounds of the mean of the time, or of `limit` where that is earlier.
    pub(super) fn means(&self, limit: f64) -> (f64, f64) {
        let ranges = match &self.found {
            Found::AtOnce(job) => {
                let mean = moments_within(job, limit).map(|moments| moments.mean);
                return mean.map_or((0.0, f64::INFINITY), |mean| (mean, mean));
            }
            Found::Between(ranges) => ranges,
        };
        let Bounds { down, up } = &ranges.near;
        if limit.is_finite() {
            return (down.mean_of(limit, |t| t), up.mean_of(limit, |t| t));
        }
        match self.exact {
            Some(exact) => (exact.mean, exact.mean),
            None if self.never() > 0.0 => (f64::INFINITY, f64::INFINITY),
            None => (down.mean_of(limit, |t| t), up.mean_of(limit, |t| t) + self.beyond(up)[0]),
        }
    }

    /// Bounds of the variance, likewise: about a centre, so that a narrow law is as precise as a wide one.
    pub(super) fn variances(&self, limit: f64) -> (f64, f64) {
        if let Some(exact) = self.exact.filter(|_| limit.is_infinite()) {
            return (exact.variance, exact.variance);
        }
        let ranges = match &self.found {
            Found::AtOnce(job) => {
                let variance = moments_within(job, limit).map(|moments| moments.variance);
                return variance.map_or((0.0, f64::INFINITY), |variance| (variance, variance));
            }
            Found::Between(ranges) => ranges,
        };
        let (lower, upper) = self.means(limit);
        if upper.is_infinite() {
            return (if lower.is_infinite() { lower } else { 0.0 }, upper);
        }
        let (centre, off) = (lower + 0.5 * (upper - lower), 0.5 * (upper - lower));
        let square = |t: f64| t.max(0.0) * t.max(0.0);
        let after = |side: &Side| side.mean_of(limit, |t| square(t - centre));
        let before = |side: &Side| side.mean_of(limit, |t| square(centre - t));
        let Bounds { down, up } = &ranges.near;
        let least = after(down) + before(up) - off * off;
        let beyond = if limit.is_infinite() { self.beyond(up)[1] } else { 0.0 };
        (least.max(0.0), after(up) + before(down) + beyond)
    }

    /// What is at most missing of the mean, and of the mean square, when the time is cut at the top of the lattice.
    fn beyond(&self, up: &Side) -> [f64; 2] {
        let Stage { longest, .. } = self.stage;
        let top = up.lattice.time(up.lattice.points()) / longest;
        let mut missing = [0.0; 2];
        self.stage.each_call(1.0, &mut |count, call| {
            let [first, second] = call.beyond(top);
            missing[0] += count * longest * first;
            missing[1] += count * longest * longest * second;
        });
        missing
    }
}

/// The moments of the time of calls that start at once, or of `limit` where that is earlier.
fn moments_within(job: &JobLaw, limit: f64) -> Option<Moments> {
    if limit.is_infinite() {
        return job.moments().ok();
    }
    GroupedPlan { deadline: limit, ..job.plan().clone() }.solve().ok()?.moments().ok()
}

impl Side {
    /// The mean of a function of the time, or of `limit` where that is earlier.
    fn mean_of(&self, limit: f64, f: impl Fn(f64) -> f64) -> f64 {
        let lattice = &self.lattice;
        let masses = self.law.masses.iter().enumerate().filter(|(_, mass)| **mass > 0.0);
        let sum: f64 = masses.map(|(point, mass)| mass * f(lattice.time(point).min(limit))).sum();
        let top = if self.is_down() || limit.is_infinite() { lattice.time(lattice.points()) } else { limit };
        let weighted = |mass: f64, t: f64| if mass > 0.0 { mass * f(t) } else { 0.0 };
        sum + weighted(self.law.beyond, top.min(limit)) + weighted(self.law.never, limit)
    }
}

impl Call<'_> {
    pub(super) fn quantile(self, h: f64) -> f64 {
        match self {
            Call::Law(law) => law.inverse_hazard(h),
            Call::Fixed(seconds) => seconds,
        }
    }

    /// `∫ S dt` and `∫ 2 t S dt` from a time on; infinite where the integral is, or is not found.
    fn beyond(self, from: f64) -> [f64; 2] {
        match self {
            Call::Law(law) => integrals(law, from),
            Call::Fixed(seconds) if seconds <= from => [0.0; 2],
            Call::Fixed(seconds) => [seconds - from, seconds * seconds - from * from],
        }
    }
}

fn integrals(law: &Law, from: f64) -> [f64; 2] {
    let index = law.tail_index();
    if law.survival(from) == 0.0 {
        return [0.0; 2];
    }
    if index <= 1.0 {
        return [f64::INFINITY; 2];
    }
    let range = Upper { from, end: f64::INFINITY, index, stops: &moments::stops(law), absolute: [0.0; 2] };
    let found = moments::upper("mean", &range, &|t| law.survival(t));
    found.map_or([f64::INFINITY; 2], |[first, second]| [first, 2.0 * (second + from * first)])
}
