//! The shape of the return time: density, mode, median and central ranges.

use alloc::vec;
use alloc::vec::Vec;

use super::job_law::{Figure, JobLaw, Side};
use super::snapshot::Held;
use crate::Level;
use crate::moments::Curve;
use crate::numeric::LATEST;
use crate::special::{normal_hazard, normal_quantile, probability_mass};

impl JobLaw {
    /// The density per second of the return time at `t`, 0 or more; at an instant at which branches give up, the density
    /// just before it.
    ///
    /// What the law has beside it: an atom at each of those instants, of [`JobLaw::returned`] there less just before.
    ///
    /// ```
    /// use fantail_model::{Group, GroupedPlan, Law};
    ///
    /// let job = GroupedPlan::all(Group::new(3, Law::exponential(1.0)?)).solve()?;
    /// let (f, s) = (1.0 - (-2.0_f64).exp(), (-2.0_f64).exp());
    /// assert!((job.density(2.0) / (3.0 * f * f * s) - 1.0).abs() < 1e-14);
    /// # Ok::<(), fantail_model::SolveError>(())
    /// ```
    pub fn density(&self, t: f64) -> f64 {
        if !t.is_finite() || t < 0.0 || t > self.end() {
            return 0.0;
        }
        let density = self.density_of_any(t);
        // At 0 that of a branch may be infinite, while the job cannot have returned yet.
        if density.is_nan() { 0.0 } else { density }
    }

    fn density_of_any(&self, t: f64) -> f64 {
        if let Some((member, k, n)) = self.alike() {
            return n as f64 * member.law.pdf(t) * probability_mass(k - 1, n - 1, member.law.hazard(t));
        }
        if t <= self.first_instant() {
            return self.unbroken_with_rates(t).density();
        }
        // Between instants a job ends only by an answer, of the one branch that it still waited for.
        let ends_by = |(group, member): (usize, &super::member::Member)| {
            let density = if t > member.expires { 0.0 } else { member.law.pdf(t) };
            if density == 0.0 {
                return 0.0;
            }
            let mut parts = self.parts(t, Side::Before);
            parts[group].count -= 1;
            let held = if parts[group].required { Held::Required } else { Held::Optional };
            member.count as f64 * density * self.snapshot(parts).ends_with(held)
        };
        self.members.iter().enumerate().map(ends_by).sum()
    }

    /// The median return time; infinite when half of the jobs never return.
    pub fn median(&self) -> Figure {
        self.quantile(Level::MEDIAN)
    }

    /// The central range that holds `share` of the return times, 0 to 1: as many lie before it as after it. Shares outside
    /// count as the nearer end, NaN as 1.
    pub fn central(&self, share: f64) -> (Figure, Figure) {
        let tail = if share < 1.0 { 0.5 - share.max(0.0) / 2.0 } else { 0.0 };
        let at = |hazard: f64| self.quantile(Level::from_hazard(hazard));
        (at(-libm::log1p(-tail)), at(-libm::log(tail)))
    }

    /// The mode: where the density is largest, to seven digits; the atoms at deadlines have no density and are left out.
    /// Where the density has several peaks, it is the highest. Zero or the first possible time when it falls from there on.
    pub fn mode(&self) -> Figure {
        let times = self.peaks();
        let densities: Vec<f64> = times.iter().map(|t| self.density(*t)).collect();
        let highest =
            (0..times.len()).fold(0, |best, i| if densities[i] > densities[best] { i } else { best });
        if times.is_empty() {
            return self.median();
        }
        let place = |i: usize| (times[i], densities[i]);
        let ends = [highest.saturating_sub(1), (highest + 1).min(times.len() - 1)].map(place);
        Figure::exact(maximum(ends, place(highest), |t| self.density(t)))
    }

    /// Times from one tail of the return time to the other, increasing, close enough that no peak falls between two, and
    /// where the laws of the branches are not smooth.
    fn peaks(&self) -> Vec<f64> {
        const COARSE: f64 = 0.5;
        /// With more work in one evaluation, in terms, there are so many branches that none has a peak of its own.
        const MANY: f64 = 1e6;
        let (fine, far) = if self.work() < MANY { (0.05, 37.0) } else { (COARSE, 9.0) };
        let ends = [normal_hazard(-far), normal_hazard(far)];
        let close = |low: f64, high: f64| high - low <= if high > -4.0 && low < 4.0 { fine } else { COARSE };
        let mut times: Vec<f64> = self.spaced(ends, close).into_iter().map(|(t, _)| t).collect();
        times.push(0.0);
        self.kinks(&mut times);
        times.retain(|t| t.is_finite() && *t >= 0.0);
        times.sort_unstable_by(f64::total_cmp);
        times.dedup();
        times
    }

    /// Times between the quantiles of two hazards, increasing, with their hazards: by halving log time until two neighbours
    /// are close, as normal values, or hardly differ in time.
    pub(super) fn spaced(&self, ends: [f64; 2], close: impl Fn(f64, f64) -> bool) -> Vec<(f64, f64)> {
        const HALVINGS: usize = 20;
        let most = self.hazard(f64::INFINITY);
        let place = |t: f64| {
            let h = self.hazard(t);
            (t, h, normal_quantile(h))
        };
        let [first, last] = ends.map(|h| {
            // What never comes has no time.
            let t = self.inverse(h.min(most * (1.0 - 1e-9)));
            place(t.clamp(f64::MIN_POSITIVE, LATEST))
        });
        let mut places = vec![first, last];
        for _ in 0..HALVINGS {
            let mut finer = Vec::with_capacity(2 * places.len());
            for pair in places.windows(2) {
                let [(low, _, a), (high, _, b)] = [pair[0], pair[1]];
                finer.push(pair[0]);
                let middle = libm::sqrt(low) * libm::sqrt(high);
                if middle > low && middle < high && !close(a, b) {
                    finer.push(place(middle));
                }
            }
            finer.push(last);
            let settled = finer.len() == places.len();
            places = finer;
            if settled {
                break;
            }
        }
        places.into_iter().map(|(t, h, _)| (t, h)).collect()
    }
}

/// The place of the maximum between the first and the last of three places with their values, of which none is above that of
/// the middle one: by golden sections, at most 60, and then by a parabola in log time, since values next to a peak differ by
/// less than their rounding. Where nothing is above the middle one, that is it.
fn maximum(ends: [(f64, f64); 2], best: (f64, f64), f: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.381_966_011_250_105_1;
    /// How far below the peak, as a share of it, the ends are where a parabola has seven digits.
    const FLAT: f64 = 1e-8;
    let ([mut a, mut b], mut top) = (ends, best);
    for _ in 0..60 {
        let flat = top.1 - a.1.min(b.1) <= FLAT * top.1;
        if flat || b.0 - a.0 <= 1e-9 * b.0 {
            break;
        }
        let (at, value) = top;
        let next = if at - a.0 > b.0 - at { at - GOLDEN * (at - a.0) } else { at + GOLDEN * (b.0 - at) };
        let there = (next, f(next));
        let (left, right) = if next < at { (there, top) } else { (top, there) };
        if there.1 > value {
            (a, b) = if next < at { (a, right) } else { (left, b) };
            top = there;
        } else if next < at {
            a = left;
        } else {
            b = right;
        }
    }
    let (before, after) = (libm::log(top.0 / a.0), libm::log(b.0 / top.0));
    let (rise, fall) = ((top.1 - a.1) / before, (top.1 - b.1) / after);
    let off = 0.5 * (before * fall - after * rise) / (rise + fall);
    let vertex = top.0 * libm::exp(-off);
    if vertex > a.0 && vertex < b.0 && f(vertex) >= top.1 * (1.0 - FLAT) { vertex } else { top.0 }
}
