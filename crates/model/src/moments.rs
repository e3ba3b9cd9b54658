//! Mean and variance of any law, by integration in time.
//!
//! With c the median: `E T = c + ∫_c^∞ S dt - ∫_0^c F dt` and
//! `E (T-c)² = 2 ∫_c^∞ (t-c) S dt + 2 ∫_0^c (c-t) F dt`. Every integrand is positive, on each side the smaller of F and S
//! is used, and the variance is taken about c, so a narrow law loses no digits.

use alloc::vec::Vec;
use core::cell::Cell;
use core::f64::consts::LN_2;

use crate::LawError;
use crate::numeric::{LATEST, integrate};

/// Mean in seconds and variance in seconds squared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moments {
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

impl Moments {
    pub(crate) const INFINITE: Moments = Moments { mean: f64::INFINITY, variance: f64::INFINITY };
}

/// What integration needs to know of a law.
pub(crate) trait Curve {
    /// `-ln P(T > t)`.
    fn hazard(&self, t: f64) -> f64;
    /// The earliest time at which the hazard is `h`.
    fn inverse(&self, h: f64) -> f64;
    /// Adds the times at which the hazard is not smooth.
    fn kinks(&self, into: &mut Vec<f64>);
    /// The least upper bound of the orders whose moment is finite.
    fn tail_index(&self) -> f64;
    /// Times from one tail to the other with their hazards, increasing: next to every feature of a law.
    fn landmarks(&self) -> Vec<(f64, f64)> {
        LANDMARKS.map(|h| (self.inverse(h), h)).to_vec()
    }
    /// The time by which T has certainly come.
    fn end(&self) -> f64 {
        f64::INFINITY
    }
}

/// Mean and variance.
pub(crate) fn of(curve: &dyn Curve) -> Result<Moments, LawError> {
    let (end, index) = (curve.end(), curve.tail_index());
    if end.is_infinite() && index <= 1.0 {
        return Ok(Moments::INFINITE);
    }
    let landmarks = curve.landmarks();
    let off = |h: f64| (h - LN_2).abs();
    // Any time in the middle will do.
    let middle = landmarks.iter().filter(|(t, _)| t.is_finite()).min_by(|a, b| off(a.1).total_cmp(&off(b.1)));
    let centre = middle.map_or_else(|| curve.inverse(LN_2), |(t, _)| t.min(end));
    let most = landmarks
        .iter()
        .filter(|(t, h)| *h <= 4.0 && t.is_finite())
        .fold(centre, |most, (t, _)| most.max(*t));
    let least = landmarks.iter().filter(|(_, h)| *h >= 0.02).fold(centre, |least, (t, _)| least.min(*t));
    let absolute = resolution(centre, most.min(end) - least);
    let stops = with_kinks(curve, &landmarks);
    let [above, above_square] =
        upper("mean", &Upper { from: centre, end, index, stops: &stops, absolute }, &|t| {
            libm::exp(-curve.hazard(t))
        })?;
    let [below, below_square] = lower(centre, &stops, absolute, &|t| -libm::expm1(-curve.hazard(t)))?;
    let off = above - below;
    let variance = 2.0 * (above_square + below_square) - off * off;
    let heavy = end.is_infinite() && index <= 2.0;
    Ok(Moments {
        mean: centre + off,
        variance: if heavy || above_square.is_infinite() { f64::INFINITY } else { variance.max(0.0) },
    })
}

/// Where to split: the kinks, and quantiles from one tail to the other, so that no feature falls between two nodes.
pub(crate) fn stops(curve: &dyn Curve) -> Vec<f64> {
    with_kinks(curve, &curve.landmarks())
}

fn with_kinks(curve: &dyn Curve, landmarks: &[(f64, f64)]) -> Vec<f64> {
    let mut stops = Vec::with_capacity(40);
    curve.kinks(&mut stops);
    stops.extend(landmarks.iter().map(|(t, _)| *t));
    thinned(stops)
}

/// In order, each once, without those that are no times to integrate to.
pub(crate) fn thinned(mut stops: Vec<f64>) -> Vec<f64> {
    stops.retain(|t| (EARLIEST..=LATEST).contains(t));
    stops.sort_unstable_by(f64::total_cmp);
    stops.dedup();
    stops
}

/// Times before it, in seconds, are as good as 0: their quotients with a scale lose digits at the end of the floats.
const EARLIEST: f64 = 1e-280;
/// Hazards whose quantiles lie next to every feature of a law.
pub(crate) const LANDMARKS: [f64; 11] = [1e-9, 1e-4, 0.02, 0.2, 0.7, 1.8, 4.0, 9.0, 20.0, 45.0, 100.0];

/// Where integrals without an end stop and the power tail is taken by its formula: its square still fits a float.
const FAR: f64 = 1e280;
/// Larger integrands are taken for infinite.
const LARGEST: f64 = 1e290;
/// What lies beyond [`FAR`] without a power tail counts from this share of an integral on: then times decide it that are as good
/// as infinite, and so is it.
const REST: f64 = 1e-10;
/// How far, in log time, beyond the last landmark: a tail of index 2, at hazard 100 there, is not below the least float yet.
const BEYOND: f64 = 275.0;

/// The range of an integral to the right of a centre.
pub(crate) struct Upper<'a> {
    pub(crate) from: f64,
    /// Beyond it the integrand is 0.
    pub(crate) end: f64,
    /// The integrand falls like `t^-index` when there is no end.
    pub(crate) index: f64,
    /// Where to split.
    pub(crate) stops: &'a [f64],
    /// Errors of the two integrals that do not matter.
    pub(crate) absolute: [f64; 2],
}

/// `∫ f dt` and `∫ (t - from) f dt` from `from` to the end, for f that falls; the second may be infinite.
///
/// In `v`, `t = from + w (e^v - 1)`: linear near the centre, logarithmic far out, where a power tail is a straight line.
pub(crate) fn upper(
    what: &'static str,
    range: &Upper<'_>,
    f: &dyn Fn(f64) -> f64,
) -> Result<[f64; 2], LawError> {
    let Upper { from, end, index, stops, absolute } = *range;
    if from >= end {
        return Ok([0.0; 2]);
    }
    let square = end.is_finite() || index > 2.0;
    let stops: Vec<f64> = stops.iter().copied().filter(|t| *t > from && *t < end.min(FAR)).collect();
    let fallback = if from > 0.0 { from } else { 1.0 };
    let scale = stops.first().copied().or(end.is_finite().then_some(end)).map_or(fallback, |t| t - from);
    let ln_scale = libm::log(scale);
    let to_v = |t: f64| {
        let ratio = (t - from) / scale;
        if ratio < 1e100 { libm::log1p(ratio) } else { libm::log(t - from) - ln_scale }
    };
    let mut points: Vec<f64> = core::iter::once(0.0).chain(stops.iter().map(|&t| to_v(t))).collect();
    let last = points[points.len() - 1];
    let mut far = to_v(end.min(FAR.max(from))).max(last);
    let distance = |v: f64| if v < 1.0 { scale * libm::expm1(v) } else { libm::exp(v + ln_scale) - scale };
    let at = |v: &f64| (distance(*v), f(from + distance(*v)));
    if index.is_infinite()
        && let Some(place) = negligible(points.iter().map(at))
    {
        far = points[place];
        points.truncate(place);
    } else if end.is_infinite() {
        far = far.min(last + BEYOND);
        points.extend((0..10).map(|i| last + f64::from(1 << i)).take_while(|v| *v < far));
    }
    points.push(far);
    let largest = Cell::new([0.0_f64; 2]);
    let [mut first, mut second] = integrate(what, &points, absolute, &mut |v| {
        let distance = distance(v);
        let value = f(from + distance) * libm::exp(v + ln_scale);
        let values = [value, if square { value * distance } else { 0.0 }];
        let [one, two] = largest.get();
        largest.set([one.max(values[0]), two.max(values[1])]);
        values.map(|value| value.min(LARGEST))
    })?;
    if end.is_infinite() {
        let distance = distance(far);
        let rest = f(from + distance) * distance;
        if index.is_finite() {
            first += rest / (index - 1.0);
            second += if square { rest * distance / (index - 2.0) } else { f64::INFINITY };
        } else if rest > REST * first {
            first = f64::INFINITY;
        }
        if index.is_infinite() && rest * distance > REST * second {
            second = f64::INFINITY;
        }
    }
    let [one, two] = largest.get();
    first = if one > LARGEST { f64::INFINITY } else { first };
    second = if two > LARGEST { f64::INFINITY } else { second };
    Ok([first, second])
}

/// The first of places, given as distance and value, from which on a function that falls faster than any power adds nothing to
/// either integral: that up to a place is at least the product of the two there, and that beyond it about as much.
fn negligible(places: impl Iterator<Item = (f64, f64)>) -> Option<usize> {
    const NOTHING: f64 = 1e-18;
    let mut most = [0.0_f64; 2];
    places.enumerate().find_map(|(place, (distance, value))| {
        let now = [value * distance, value * distance * distance];
        most = [most[0].max(now[0]), most[1].max(now[1])];
        let nothing = (0..2).all(|i| most[i] > 0.0 && now[i] <= NOTHING * most[i]);
        nothing.then_some(place)
    })
}

/// `∫ F dt` and `∫ (centre - t) F dt` from 0 to the centre.
fn lower(
    centre: f64,
    stops: &[f64],
    absolute: [f64; 2],
    below: &dyn Fn(f64) -> f64,
) -> Result<[f64; 2], LawError> {
    let mut points: Vec<f64> = core::iter::once(0.0)
        .chain(stops.iter().copied().filter(|t| *t < centre))
        .chain(core::iter::once(centre))
        .collect();
    points.dedup();
    integrate("mean", &points, absolute, &mut |t| {
        let value = below(t);
        [value, value * (centre - t)]
    })
}

/// What the rounding of times near `centre` does to the integrals over a law of that width.
fn resolution(centre: f64, width: f64) -> [f64; 2] {
    const ROUNDINGS: f64 = 16.0 * f64::EPSILON;
    let rounding = (ROUNDINGS * centre).max(EARLIEST);
    [rounding, rounding * (width + rounding)]
}
