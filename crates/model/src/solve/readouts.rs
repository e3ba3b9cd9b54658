//! The shape of the return time: density, mode, median and central ranges.

use alloc::vec::Vec;

use super::job_law::{Figure, JobLaw, Side};
use super::snapshot::Held;
use crate::Level;
use crate::moments::Curve;
use crate::special::{normal_hazard, probability_mass};

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
        let times = self.landmarks();
        let densities: Vec<f64> = times.iter().map(|t| self.density(*t)).collect();
        let highest =
            (0..times.len()).fold(0, |best, i| if densities[i] > densities[best] { i } else { best });
        let Some(&peak) = times.get(highest) else { return self.median() };
        let low = times[highest.saturating_sub(1)];
        let high = times[(highest + 1).min(times.len() - 1)];
        Figure::exact(maximum(low, high, (peak, densities[highest]), |t| self.density(t)))
    }

    /// Times from one tail of the return time to the other, increasing, close enough that no peak falls between two:
    /// quantiles at even steps of a normal value, and where the laws of the branches are not smooth.
    fn landmarks(&self) -> Vec<f64> {
        const FINE: f64 = 0.05;
        const COARSE: f64 = 0.5;
        let near = (-80..=80).map(|i| FINE * f64::from(i));
        let far = (9..=74).map(|i| COARSE * f64::from(i));
        let values = near.chain(far.clone()).chain(far.map(|z| -z));
        let mut times: Vec<f64> = values.map(|z| self.inverse(normal_hazard(z))).collect();
        times.push(0.0);
        self.kinks(&mut times);
        times.retain(|t| t.is_finite() && *t >= 0.0);
        times.sort_unstable_by(f64::total_cmp);
        times.dedup();
        times
    }
}

/// The place of the maximum between `low` and `high`, found with at most 60 evaluations by golden sections from the best
/// place known; where nothing is above `best`, that is it.
fn maximum(low: f64, high: f64, best: (f64, f64), f: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.381_966_011_250_105_1;
    let (mut a, mut b, (mut at, mut value)) = (low, high, best);
    for _ in 0..60 {
        if b - a <= 1e-9 * b {
            break;
        }
        let next = if at - a > b - at { at - GOLDEN * (at - a) } else { at + GOLDEN * (b - at) };
        let there = f(next);
        let (left, right) = if next < at { (next, at) } else { (at, next) };
        if there > value {
            (a, b) = if next < at { (a, right) } else { (left, b) };
            (at, value) = (next, there);
        } else if next < at {
            a = left;
        } else {
            b = right;
        }
    }
    at
}
