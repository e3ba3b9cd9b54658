//! Means over all jobs: integrals over J of what takes an integral over time given J.

use super::DependentJob;
use super::job::{COARSE, FAR_KNOTS, Read, weighted};
use crate::moments::Moments;
use crate::numeric::{LATEST, Tolerance};
use crate::{Figure, JobLaw, LawError, SolveError};

/// The rounding of a time, which the mean over J is not resolved beyond.
const ROUNDING: f64 = 1e-14;
/// How large what is left at the last values of J may be.
const MISSED: f64 = 1e-9;
/// What does not count where a sum over J has to be refined.
pub(super) const FINE: f64 = 1e-8;
/// What a mean may be off by and be called exact.
const PRECISE: f64 = 1e-10;

impl DependentJob {
    /// Mean return time; infinite when a job may never return or the tail is too heavy. Between bounds where the tail is so close
    /// to having no mean that times later than any float count.
    ///
    /// # Errors
    /// As for [`DependentJob::complete`]; also when such times are more than a tenth of it.
    pub fn mean(&self) -> Result<Figure, SolveError> {
        const MOST: f64 = 0.1;
        let (Moments { mean, .. }, missed) = self.moments(true).or_else(|_| self.moments(false))?;
        if missed <= PRECISE || mean.is_infinite() {
            Ok(Figure::exact(mean))
        } else if missed <= MOST {
            Ok(Figure::between(mean * (1.0 - missed), mean * (1.0 + missed)))
        } else {
            Err(LawError::NotConverged { what: "mean", error: missed }.into())
        }
    }

    /// Standard deviation of the return time.
    ///
    /// # Errors
    /// As for [`DependentJob::complete`]; also when the tail is close to having none.
    pub fn sd(&self) -> Result<Figure, SolveError> {
        let (Moments { variance, .. }, _) = self.moments(true)?;
        Ok(Figure::exact(libm::sqrt(variance)))
    }

    /// [`DependentJob::mean`] and [`DependentJob::sd`], for the cost of one of them.
    ///
    /// # Errors
    /// As for [`DependentJob::sd`].
    pub fn mean_and_sd(&self) -> Result<(Figure, Figure), SolveError> {
        let (Moments { mean, variance }, missed) = self.moments(true)?;
        let mean = if missed <= PRECISE { Figure::exact(mean) } else { self.mean()? };
        Ok((mean, Figure::exact(libm::sqrt(variance))))
    }

    /// The moments, the second only with `square` and else infinite, and what the mean is off by at most, relative.
    fn moments(&self, square: bool) -> Result<(Moments, f64), SolveError> {
        self.check_work(self.law.work())?;
        let endless = self.law.end().is_infinite();
        let index = if endless { self.law.open_index_whatever(None, self.shares) } else { f64::INFINITY };
        let Moments { mean: centre, variance } = self.law.moments()?;
        if index <= 1.0 || centre.is_infinite() {
            return Ok((Moments::INFINITE, 0.0));
        }
        if self.shares.job() == 0.0 {
            return Ok((Moments { mean: centre, variance }, 0.0));
        }
        let heavy = !square || index <= 2.0 || variance.is_infinite();
        if !heavy && unreached(index - 1.0) > MISSED {
            return Err(LawError::NotConverged { what: "sd", error: unreached(index - 1.0) }.into());
        }
        // What the rounding of the centre and the precision of each evaluation leave.
        let width = if heavy { centre } else { libm::sqrt(variance) };
        let least = COARSE * width + ROUNDING * centre;
        let ([mean, square], missed) = self.expected("mean", [least, least * width], &|job| {
            let Moments { mean, variance } = job.moments()?;
            let off = mean - centre;
            Ok([mean, if heavy { 0.0 } else { variance + off * off }])
        })?;
        let off = mean - centre;
        let variance = if heavy { f64::INFINITY } else { (square - off * off).max(0.0) };
        Ok((Moments { mean, variance }, missed.max(unreached(index))))
    }

    /// An expected time, which changes slowly over J but may grow nearly as fast as its density falls.
    ///
    /// A trapezoid sum over a function that is analytic in a strip: each halving of the step squares its error, at least.
    /// Where it does not, the job's chances change too fast over J, and the integral is split there. Also what is missed beyond the
    /// last values of J, relative.
    pub(super) fn expected<const N: usize>(
        &self,
        what: &'static str,
        absolute: [f64; N],
        read: Read<'_, N>,
    ) -> Result<([f64; N], f64), SolveError> {
        /// An error whose square does not count.
        const CLOSE: f64 = 3e-6;
        const HALVINGS: i32 = 3;
        if self.shares.job() == 0.0 {
            return Ok((read(&self.law)?, 0.0));
        }
        let mut job = self.law.clone();
        let (mut step, (mut total, mut missed)) = (1.0, trapezoid(what, &mut job, 0.0, 1.0, read)?);
        for _ in 0..HALVINGS {
            let (between, left) = trapezoid(what, &mut job, 0.5 * step, step, read)?;
            missed = missed.max(left);
            let finer: [f64; N] = core::array::from_fn(|i| 0.5 * (total[i] + between[i]));
            let close = |i: usize| {
                let off = (finer[i] - total[i]).abs();
                off <= CLOSE * finer[i].abs() || off <= absolute[i]
            };
            let settled = (0..N).all(close);
            (step, total) = (0.5 * step, finer);
            if settled {
                return Ok((total, missed));
            }
        }
        // Finer than that there is the noise of the integrals over time.
        let absolute = absolute.map(|error| error * (FINE / COARSE));
        let total = self.over(&self.instants(), Tolerance { relative: FINE, absolute }, read)?;
        Ok((total, FINE.max(missed)))
    }
}

/// What may be missed of a moment, relative, where P(open) falls as a power of time just above it: what lies beyond the latest times
/// of floats, and the root of that, since given J they are not reached either.
fn unreached(index: f64) -> f64 {
    libm::exp(-0.5 * (index - 1.0) * libm::log(LATEST))
}

/// `step Σ φ(j) read(the job given that J is j)` over the values at whole steps from `first`, as far as they count, and what is left
/// at the last of them, relative.
fn trapezoid<const N: usize>(
    what: &'static str,
    job: &mut JobLaw,
    first: f64,
    step: f64,
    read: Read<'_, N>,
) -> Result<([f64; N], f64), SolveError> {
    /// As a share of the sum; two in a row end it.
    const NOTHING: f64 = 1e-15;
    /// What is too much to miss.
    const MOST: f64 = 1e-3;
    let (mut sum, mut missed) = ([0.0; N], 0.0_f64);
    for (direction, start) in [(step, first), (-step, first - step)] {
        let (mut j, mut quiet) = (start, 0);
        let mut left = 0.0;
        while quiet < 2 && (FAR_KNOTS[0]..=FAR_KNOTS[FAR_KNOTS.len() - 1]).contains(&j) {
            let term = weighted(job, j, &read)?;
            left = (0..N).map(|i| share(term[i], sum[i])).fold(0.0, f64::max);
            quiet = if left < NOTHING { quiet + 1 } else { 0 };
            sum = core::array::from_fn(|i| sum[i] + term[i]);
            j += direction;
        }
        let reached = left < MOST;
        if !reached {
            return Err(LawError::NotConverged { what, error: left }.into());
        }
        // Terms fall the faster the further out.
        missed = missed.max(if left < MISSED { 0.0 } else { 10.0 * left });
    }
    Ok((sum.map(|sum| sum * step), missed))
}

/// A part of a whole, which is none of nothing.
pub(super) fn share(part: f64, whole: f64) -> f64 {
    if part == 0.0 { 0.0 } else { part / whole }
}
