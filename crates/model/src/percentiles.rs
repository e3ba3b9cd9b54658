//! A law from percentiles alone: least squares in log time.

use alloc::vec::Vec;

use crate::special::normal_quantile;
use crate::{Law, LawError, Level};

/// A law through given percentiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The law.
    pub law: Law,
    /// The worst relative error in time over the given percentiles: 0.01 is 1 %.
    pub error: f64,
}

/// Errors up to this count as none: percentiles are seldom stated with more digits.
const GOOD: f64 = 0.005;

impl Law {
    /// A law through percentiles, given as (probability, seconds) in any order.
    ///
    /// Candidates are the plain families, the log-normal shifted by a constant (from three percentiles on) and a
    /// log-normal body with a Pareto tail (from five on), each by least squares in log time. Of those whose error is at
    /// most 0.5 %, or at most twice the smallest, the one with the fewest parameters is taken. Two percentiles give the
    /// log-normal through both.
    ///
    /// ```
    /// use fantail_model::{Law, Level};
    ///
    /// let fit = Law::from_percentiles(&[(0.5, 0.8), (0.95, 1.5), (0.99, 2.4)])?;
    /// assert!(fit.error < 1e-9);
    /// assert_eq!(format!("{:.6}", fit.law.quantile(Level::below(0.0)?)), "0.652049");
    /// # Ok::<(), fantail_model::LawError>(())
    /// ```
    ///
    /// # Errors
    /// Fewer than two or more than 64 percentiles; a probability that is not between 0 and 1; a time outside 1e-12 to
    /// 1e12 seconds; times that do not increase with the probability; times that no candidate can follow.
    pub fn from_percentiles(percentiles: &[(f64, f64)]) -> Result<Fit, LawError> {
        let points = Points::new(percentiles)?;
        let mut candidates = plain(&points);
        if points.len() >= 3 {
            candidates.extend(shifted(&points, &LOG_NORMAL));
        }
        if points.len() >= 5 {
            candidates.extend(power_tail(&points));
        }
        let errors: Vec<f64> = candidates.iter().map(|candidate| points.worst(&candidate.law)).collect();
        let best = errors.iter().copied().fold(f64::INFINITY, f64::min);
        let bound = GOOD.max(2.0 * best);
        let chosen = candidates
            .into_iter()
            .zip(errors)
            .filter(|(_, error)| *error <= bound)
            .min_by(|(a, ea), (b, eb)| a.parameters.cmp(&b.parameters).then(ea.total_cmp(eb)));
        let what = "percentiles";
        let (candidate, error) = chosen.ok_or(LawError::NotConverged { what, error: best })?;
        Ok(Fit { law: candidate.law, error })
    }
}

impl Law {
    /// Laws of two other families through the same percentiles, the one with the least error first: what lies beyond the
    /// last percentile is the family's word, and these say how far another word may be.
    ///
    /// A log-logistic law, whose tail is a power, and a Weibull law; each shifted by a constant from three percentiles on.
    /// Those whose error is above 5 % are left out.
    ///
    /// ```
    /// use fantail_model::{Law, Level};
    ///
    /// let percentiles = [(0.5, 0.8), (0.95, 1.5), (0.99, 2.4)];
    /// let far = Level::above(0.0001)?;
    /// let fitted = Law::from_percentiles(&percentiles)?.law.quantile(far);
    /// let rivals = Law::rivals_through(&percentiles)?;
    /// let others: Vec<f64> = rivals.iter().map(|fit| fit.law.quantile(far)).collect();
    /// assert_eq!(others.len(), 2);
    /// assert!(others.iter().all(|other| (other / fitted - 1.0).abs() > 0.1));
    /// # Ok::<(), fantail_model::LawError>(())
    /// ```
    ///
    /// # Errors
    /// What makes no percentiles, as for [`Law::from_percentiles`].
    pub fn rivals_through(percentiles: &[(f64, f64)]) -> Result<Vec<Fit>, LawError> {
        /// Beyond it a law does not go through the percentiles any more.
        const NEAR: f64 = 0.05;
        let points = Points::new(percentiles)?;
        let fit = |family: &Straight| {
            let law = if points.len() == 2 {
                let (intercept, slope) = points.line(0..2, family.over);
                (family.build)(points.unit * libm::exp(intercept), slope).ok()?
            } else {
                shifted(&points, family)?.law
            };
            let error = points.worst(&law);
            (error <= NEAR).then_some(Fit { law, error })
        };
        let mut fits: Vec<Fit> = [LOG_LOGISTIC, WEIBULL].iter().filter_map(fit).collect();
        fits.sort_by(|a, b| a.error.total_cmp(&b.error));
        Ok(fits)
    }
}

struct Candidate {
    law: Law,
    parameters: usize,
}

/// The percentiles, in increasing order, with times in units of their geometric mean.
struct Points {
    unit: f64,
    hazards: Vec<f64>,
    /// Natural logarithms of times over the unit.
    times: Vec<f64>,
}

impl Points {
    fn new(percentiles: &[(f64, f64)]) -> Result<Points, LawError> {
        if !(2..=64).contains(&percentiles.len()) {
            return Err(LawError::Count {
                what: "percentiles",
                given: percentiles.len(),
                bound: "2 to 64 of them",
            });
        }
        for &(p, time) in percentiles {
            LawError::check("percentile", p, p > 0.0 && p < 1.0, "between 0 and 1")?;
            LawError::check("time", time, (1e-12..=1e12).contains(&time), "1e-12 to 1e12 seconds")?;
        }
        let mut sorted = percentiles.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0].0 >= pair[1].0 || pair[0].1 >= pair[1].1) {
            return Err(LawError::NotIncreasing { lower: pair[0], upper: pair[1] });
        }
        let ln: Vec<f64> = sorted.iter().map(|(_, time)| libm::log(*time)).collect();
        let middle = ln.iter().sum::<f64>() / ln.len() as f64;
        let hazards =
            sorted.iter().map(|(p, _)| Ok(Level::below(*p)?.hazard())).collect::<Result<_, LawError>>()?;
        Ok(Points { unit: libm::exp(middle), hazards, times: ln.iter().map(|ln| ln - middle).collect() })
    }

    fn len(&self) -> usize {
        self.hazards.len()
    }

    /// Intercept and slope of log time over `x(hazard)`, through the points of a range.
    fn line(&self, range: core::ops::Range<usize>, x: impl Fn(f64) -> f64) -> (f64, f64) {
        let xs: Vec<f64> = self.hazards[range.clone()].iter().map(|h| x(*h)).collect();
        let ys = &self.times[range];
        let n = xs.len() as f64;
        let (mx, my) = (xs.iter().sum::<f64>() / n, ys.iter().sum::<f64>() / n);
        let over: f64 = xs.iter().zip(ys).map(|(x, y)| (x - mx) * (y - my)).sum();
        let under: f64 = xs.iter().map(|x| (x - mx) * (x - mx)).sum();
        let slope = over / under;
        (my - slope * mx, slope)
    }

    /// Errors of a law in log time.
    fn residuals(&self, law: &Law) -> Vec<f64> {
        let ln_unit = libm::log(self.unit);
        let error = |(h, ln): (&f64, &f64)| libm::log(law.inverse_hazard(*h)) - ln_unit - ln;
        self.hazards.iter().zip(&self.times).map(error).collect()
    }

    /// The worst relative error in time; infinite when there is none.
    fn worst(&self, law: &Law) -> f64 {
        let worst = self.residuals(law).iter().map(|r| libm::expm1(*r).abs()).fold(0.0, f64::max);
        if worst.is_nan() { f64::INFINITY } else { worst }
    }
}

/// The families of one and two parameters: straight lines in log time.
fn plain(points: &Points) -> Vec<Candidate> {
    let all = 0..points.len();
    let scale = |intercept: f64| points.unit * libm::exp(intercept);
    let straight = |family: &Straight| {
        let (intercept, slope) = points.line(all.clone(), family.over);
        (family.build)(scale(intercept), slope)
    };
    let log_normal = straight(&LOG_NORMAL);
    if points.len() == 2 {
        return log_normal.map(|law| Candidate { law, parameters: 2 }).into_iter().collect();
    }
    let offsets = points.hazards.iter().zip(&points.times).map(|(h, ln)| ln - libm::log(*h));
    let mean = offsets.sum::<f64>() / points.len() as f64;
    let (xm, inverse_index) = points.line(all.clone(), |h| h);
    let laws = [
        (1, Law::exponential(scale(mean))),
        (2, log_normal),
        (2, straight(&WEIBULL)),
        (2, straight(&LOG_LOGISTIC)),
        (2, Law::pareto(scale(xm), 1.0 / inverse_index)),
    ];
    laws.into_iter().filter_map(|(parameters, law)| Some(Candidate { law: law.ok()?, parameters })).collect()
}

/// A family whose log times are a straight line over some function of the hazard.
struct Straight {
    over: fn(f64) -> f64,
    /// From the time where that function is 0, in seconds, and the slope.
    build: fn(f64, f64) -> Result<Law, LawError>,
}

const LOG_NORMAL: Straight = Straight { over: normal_quantile, build: Law::log_normal };
const LOG_LOGISTIC: Straight = Straight {
    over: |h| libm::log(libm::expm1(h)),
    build: |alpha, slope| Law::log_logistic(alpha, 1.0 / slope),
};
const WEIBULL: Straight =
    Straight { over: libm::log, build: |scale, slope| Law::weibull(1.0 / slope, scale) };

/// A constant and a family. Starts from several shares of the lowest time, since the error has local minima.
fn shifted(points: &Points, family: &Straight) -> Option<Candidate> {
    let build = |[shift, intercept, ln_slope]: &[f64; 3]| {
        (family.build)(points.unit * libm::exp(*intercept), libm::exp(*ln_slope))
            .ok()?
            .shifted(points.unit * shift)
            .ok()
    };
    let lowest = libm::exp(points.times[0]);
    let starts = [0.1, 0.5, 0.8, 0.95].map(|share| {
        let shift = share * lowest;
        let moved = Points {
            unit: 1.0,
            hazards: points.hazards.clone(),
            times: points.times.iter().map(|ln| libm::log(libm::exp(*ln) - shift)).collect(),
        };
        let (intercept, slope) = moved.line(0..points.len(), family.over);
        [shift, intercept, libm::log(slope)]
    });
    best_of(points, starts.into_iter(), build, 3)
}

/// A log-normal body and, with a weight, a Pareto tail that starts among the points. Starts from every split of the
/// points between the two.
fn power_tail(points: &Points) -> Option<Candidate> {
    /// A heavier tail says more about its last point than about the law.
    const LEAST_INDEX: f64 = 0.5;
    let build = |[mu, ln_sigma, ln_odds, ln_xm, ln_index]: &[f64; 5]| {
        if *ln_xm < points.times[0] || libm::exp(*ln_index) < LEAST_INDEX {
            return None;
        }
        let body = Law::log_normal(points.unit * libm::exp(*mu), libm::exp(*ln_sigma)).ok()?;
        let tail = Law::pareto(points.unit * libm::exp(*ln_xm), libm::exp(*ln_index)).ok()?;
        let odds = libm::exp(*ln_odds);
        Law::mixture(&[(1.0, body), (odds, tail)]).ok()
    };
    let starts = (2..points.len() - 1).map(|split| {
        let (mu, sigma) = points.line(0..split, normal_quantile);
        let (_, inverse_index) = points.line(split..points.len(), |h| h);
        let weight = libm::exp(-points.hazards[split]);
        [
            mu,
            libm::log(sigma),
            libm::log(weight / (1.0 - weight)),
            points.times[split],
            -libm::log(inverse_index),
        ]
    });
    best_of(points, starts, build, 5)
}

fn best_of<const N: usize>(
    points: &Points,
    starts: impl Iterator<Item = [f64; N]>,
    build: impl Fn(&[f64; N]) -> Option<Law>,
    parameters: usize,
) -> Option<Candidate> {
    let fits = starts.filter_map(|start| {
        let law = build(&least_squares(points, start, &build))?;
        Some((points.worst(&law), law))
    });
    fits.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, law)| Candidate { law, parameters })
}

/// Levenberg–Marquardt with central differences; keeps the best point it has seen.
fn least_squares<const N: usize>(
    points: &Points,
    start: [f64; N],
    build: &impl Fn(&[f64; N]) -> Option<Law>,
) -> [f64; N] {
    const ROUNDS: usize = 60;
    const MOST_DAMPING: f64 = 1e9;
    let residuals = |at: &[f64; N]| build(at).map(|law| points.residuals(&law));
    let mut best = start;
    let Some(mut errors) = residuals(&best) else { return best };
    let mut damping = 1e-3;
    for _ in 0..ROUNDS {
        let Some((matrix, right)) = normal_equations(&best, &errors, &residuals) else { return best };
        let before = dot(&errors, &errors);
        // More damping until a step makes it better.
        loop {
            let mut damped = matrix;
            for (i, row) in damped.iter_mut().enumerate() {
                row[i] *= 1.0 + damping;
            }
            let Some(step) = solve_linear(damped, right) else { return best };
            let next: [f64; N] = core::array::from_fn(|i| best[i] + step[i]);
            if let Some(better) = residuals(&next).filter(|better| dot(better, better) < before) {
                (best, errors) = (next, better);
                damping = (damping / 10.0).max(1e-15);
                break;
            }
            damping *= 10.0;
            if damping > MOST_DAMPING {
                return best;
            }
        }
        if dot(&errors, &errors) > before * (1.0 - 1e-6) {
            break;
        }
    }
    best
}

/// The matrix and right side of a Gauss–Newton step.
fn normal_equations<const N: usize>(
    at: &[f64; N],
    errors: &[f64],
    residuals: &impl Fn(&[f64; N]) -> Option<Vec<f64>>,
) -> Option<([[f64; N]; N], [f64; N])> {
    const STEP: f64 = 1e-6;
    let mut slopes: Vec<Vec<f64>> = Vec::with_capacity(N);
    for i in 0..N {
        let (mut up, mut down) = (*at, *at);
        up[i] += STEP;
        down[i] -= STEP;
        slopes.push(
            residuals(&up)?.iter().zip(residuals(&down)?).map(|(u, d)| (u - d) / (2.0 * STEP)).collect(),
        );
    }
    let matrix = core::array::from_fn(|i| core::array::from_fn(|j| dot(&slopes[i], &slopes[j])));
    Some((matrix, core::array::from_fn(|i| -dot(&slopes[i], errors))))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Gaussian elimination with partial pivoting; `None` when singular.
fn solve_linear<const N: usize>(mut a: [[f64; N]; N], mut b: [f64; N]) -> Option<[f64; N]> {
    for i in 0..N {
        let pivot = (i..N).max_by(|x, y| a[*x][i].abs().total_cmp(&a[*y][i].abs()))?;
        a.swap(i, pivot);
        b.swap(i, pivot);
        if a[i][i].abs() < f64::MIN_POSITIVE || !a[i][i].is_finite() {
            return None;
        }
        for j in i + 1..N {
            let factor = a[j][i] / a[i][i];
            let row = a[i];
            for (cell, upper) in a[j].iter_mut().zip(row).skip(i) {
                *cell -= factor * upper;
            }
            b[j] -= factor * b[i];
        }
    }
    for i in (0..N).rev() {
        let known: f64 = (i + 1..N).map(|j| a[i][j] * b[j]).sum();
        b[i] = (b[i] - known) / a[i][i];
    }
    Some(b)
}
