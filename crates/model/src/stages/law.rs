//! The law of a stage, read between its bounds.

use super::bounds::{Bounds, Side};
use super::{Call, Stage};
use crate::moments::{self, Moments, Upper};
use crate::{Figure, Law, Level};

/// The law of the time that a stage takes, in seconds from its start; each figure is between two bounds.
///
/// The time of every call is rounded down, and up, to a cell of a lattice that is finer for shorter times; what follows
/// from them is computed by positive terms. There are as many cells as it takes for bounds within 0.1 % of each other at
/// p50, p99 and p99.9; where that would take more than seconds, the bounds are wider, and say so. At survivals below some
/// 1e-12 the upper bound is the union bound over all calls.
#[derive(Debug)]
pub struct StagedLaw {
    stage: Stage,
    bounds: Bounds,
    /// Where they need no lattice.
    exact: Option<Moments>,
    /// How far hazards may be off by the rounding of floats, relative: a multiple of the number of sums.
    slack: f64,
}

impl Stage {
    /// The law of the time that this stage takes. Takes milliseconds to seconds: a sum of n calls takes about log n
    /// convolutions of some thousand cells for every octave that the law spans.
    pub fn solve(&self) -> StagedLaw {
        let slack = 1e-12 * (self.longest + 10.0);
        StagedLaw { stage: self.clone(), bounds: Bounds::of(self), exact: self.moments(), slack }
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
        self.bounds.down.law.never
    }

    /// The bounds of a quantile.
    pub(super) fn times(&self, level: Level) -> (f64, f64) {
        let h = level.hazard();
        let lower = self.bounds.down.time(h * (1.0 - self.slack));
        let upper = self.bounds.up.time(h * (1.0 + self.slack)).min(self.latest(h));
        (lower.min(upper), upper)
    }

    /// The lesser and the greater bound of the hazard at `t`.
    pub(super) fn hazards(&self, t: f64) -> (f64, f64) {
        let t = t.max(0.0);
        let late = self.bounds.up.hazard(t) * (1.0 - self.slack);
        let early = self.bounds.down.hazard(t) * (1.0 + self.slack);
        let union = self.least_hazard(t);
        (late.max(union).min(early), early)
    }

    /// It takes no longer than as many times the longest of all calls as there are one after another; and one of m calls
    /// is later than what each of them exceeds with probability s / m with probability s at most.
    fn latest(&self, h: f64) -> f64 {
        let each = h + libm::log(self.stage.calls);
        let mut latest = 0.0_f64;
        self.stage.each_call(1.0, &mut |_, call| latest = latest.max(call.quantile(each)));
        self.stage.longest * latest
    }

    /// The other way round.
    fn least_hazard(&self, t: f64) -> f64 {
        let mut later = 0.0;
        self.stage.each_call(1.0, &mut |count, call| {
            later += count * libm::exp(-call.hazard(t / self.stage.longest));
        });
        (-libm::log(later)).max(0.0)
    }

    /// Bounds of the mean of the time, or of `limit` where that is earlier.
    pub(super) fn means(&self, limit: f64) -> (f64, f64) {
        let Bounds { down, up } = &self.bounds;
        if limit.is_finite() {
            return (down.mean_of(limit, |t| t), up.mean_of(limit, |t| t));
        }
        match self.exact {
            Some(exact) => (exact.mean, exact.mean),
            None if self.never() > 0.0 => (f64::INFINITY, f64::INFINITY),
            None => (down.mean_of(limit, |t| t), up.mean_of(limit, |t| t) + self.beyond()[0]),
        }
    }

    /// Bounds of the variance, likewise: about a centre, so that a narrow law is as precise as a wide one.
    pub(super) fn variances(&self, limit: f64) -> (f64, f64) {
        if let Some(exact) = self.exact.filter(|_| limit.is_infinite()) {
            return (exact.variance, exact.variance);
        }
        let (lower, upper) = self.means(limit);
        if upper.is_infinite() {
            return (if lower.is_infinite() { lower } else { 0.0 }, upper);
        }
        let (centre, off) = (lower + 0.5 * (upper - lower), 0.5 * (upper - lower));
        let square = |t: f64| t.max(0.0) * t.max(0.0);
        let after = |side: &Side| side.mean_of(limit, |t| square(t - centre));
        let before = |side: &Side| side.mean_of(limit, |t| square(centre - t));
        let Bounds { down, up } = &self.bounds;
        let least = after(down) + before(up) - off * off;
        let beyond = if limit.is_infinite() { self.beyond()[1] } else { 0.0 };
        (least.max(0.0), after(up) + before(down) + beyond)
    }

    /// What is at most missing of the mean, and of the mean square, when the time is cut at the top of the lattice.
    fn beyond(&self) -> [f64; 2] {
        let Stage { longest, .. } = self.stage;
        let up = &self.bounds.up.lattice;
        let top = up.time(up.points()) / longest;
        let mut missing = [0.0; 2];
        self.stage.each_call(1.0, &mut |count, call| {
            let [first, second] = call.beyond(top);
            missing[0] += count * longest * first;
            missing[1] += count * longest * longest * second;
        });
        missing
    }
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
    let found = moments::upper("mean", &range, |t| law.survival(t));
    found.map_or([f64::INFINITY; 2], |[first, second]| [first, 2.0 * (second + from * first)])
}
