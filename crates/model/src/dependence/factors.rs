//! The integrals: over the branch factor for one branch, over the job factor for the job.

use alloc::vec::Vec;
use core::f64::consts::FRAC_1_SQRT_2;

use super::Dependence;
use crate::LawError;
use crate::numeric::{bracketed_root, integrate};
use crate::special::{barrier_hazard, branch_hazard, normal_hazard, normal_quantile};

/// Factors of k of n alike branches, ready to be evaluated.
#[derive(Clone, Debug)]
pub(super) struct Factors {
    shares: Dependence,
    /// Standard deviations: of J, of B, of luck, and of B and luck together.
    job: f64,
    branch: f64,
    luck: f64,
    own: f64,
    k: u64,
    n: u64,
    /// Of one branch, in its own standard deviations, where the job given J has the hazards of [`STEP`]; the median
    /// first.
    step: [f64; STEP.len()],
}

/// Hazards that mark where the job's law given J goes from waiting to returned.
const STEP: [f64; 9] = [core::f64::consts::LN_2, 1e-12, 1e-6, 1e-2, 0.2, 1.8, 4.6, 14.0, 40.0];

/// Values of J between which its density changes by no more than a rule resolves; beyond the ends it is below the least
/// float.
const JOB_KNOTS: [f64; 13] = [-38.5, -26.0, -17.0, -11.0, -7.0, -4.0, -1.5, 1.5, 4.0, 7.0, 11.0, 17.0, 38.5];

/// Error of an integral over J, as a share of it, that is not worth another evaluation.
const NOISE: f64 = 4e-13;

impl Factors {
    pub(super) fn new(shares: Dependence, k: u64, n: u64) -> Factors {
        let own = libm::sqrt(1.0 - shares.job());
        Factors {
            shares,
            job: libm::sqrt(shares.job()),
            branch: libm::sqrt(shares.branch()),
            luck: libm::sqrt(shares.luck()),
            own,
            k,
            n,
            step: STEP.map(|h| own * normal_quantile(branch_hazard(h, k, n))),
        }
    }

    /// Variance of the mean Z of so many attempts of each of so many branches.
    pub(super) fn variance_of_mean(&self, branches: u64, attempts: usize) -> f64 {
        let (branches, attempts) = (branches as f64, attempts as f64);
        self.shares.job() + (self.shares.branch() + self.shares.luck() / attempts) / branches
    }

    /// `-ln P(the job waits)`, given the hazards of the attempts of one branch at their ages, the oldest first.
    pub(super) fn hazard(&self, attempts: impl Iterator<Item = f64>) -> Result<f64, LawError> {
        // An attempt that cannot have answered yet adds nothing.
        let mut late = attempts.map(normal_quantile).filter(|z| *z > f64::NEG_INFINITY);
        let Some(primary) = late.next() else { return Ok(0.0) };
        if primary == f64::INFINITY {
            return Ok(f64::INFINITY);
        }
        if self.own == 0.0 {
            return Ok(normal_hazard(primary));
        }
        let attempts = Attempts { primary, copies: late.collect() };
        if self.job == 0.0 {
            return Ok(barrier_hazard(self.branch_hazard(&attempts, 0.0), self.k, self.n));
        }
        let points = self.points(&attempts);
        let given = |j: f64| {
            let hazard = barrier_hazard(self.branch_hazard(&attempts, j), self.k, self.n);
            let density = density(j);
            [density * -libm::expm1(-hazard), density * libm::exp(-hazard)]
        };
        // The rounding of Z moves the step: finer than that there is only noise to resolve.
        let z = attempts.primary.abs().min(FAR);
        let noise = NOISE.max(64.0 * f64::EPSILON * z * z);
        let rough = integrate("job factor", &points, [f64::INFINITY; 2], given)?;
        let absolute = rough.map(|value| (noise * value).max(f64::MIN_POSITIVE));
        let [returned, waiting] = integrate("job factor", &points, absolute, given)?;
        Ok(hazard_of(returned, waiting))
    }

    /// Where to split the integral over J: the step of the job's law, as steep as √n is large, and the density's own knots.
    fn points(&self, attempts: &Attempts) -> Vec<f64> {
        let [first, last] = [JOB_KNOTS[0], JOB_KNOTS[JOB_KNOTS.len() - 1]];
        let centre = (attempts.primary - self.step[0]) / self.job;
        let mut points: Vec<f64> = self.step.iter().map(|z| (attempts.primary - z) / self.job).collect();
        if !attempts.copies.is_empty() && centre < last {
            // Copies put off the step; its shape stays about the same.
            let target = libm::log(branch_hazard(STEP[0], self.k, self.n));
            let hedged = bracketed_root(centre.max(first), last, |j| {
                target - libm::log(self.branch_hazard(attempts, j))
            });
            let by = hedged - centre.max(first);
            for point in &mut points {
                *point += by;
            }
        }
        points.retain(|point| *point > first && *point < last);
        points.extend(JOB_KNOTS);
        points.sort_unstable_by(f64::total_cmp);
        points
    }

    /// `-ln P(one branch is open | J = j)`.
    fn branch_hazard(&self, attempts: &Attempts, j: f64) -> f64 {
        let less = self.job * j;
        let primary = attempts.primary - less;
        if attempts.copies.is_empty() {
            return normal_hazard(primary / self.own);
        }
        let copies = attempts.copies.iter().map(|z| z - less);
        if self.branch == 0.0 {
            return copies.map(|z| normal_hazard(z / self.luck)).sum::<f64>()
                + normal_hazard(primary / self.luck);
        }
        let branch = Branch::new(self, primary, copies.collect());
        let alone = normal_hazard(primary / self.own);
        let gain = branch.gain();
        let answered = gain - libm::expm1(-alone);
        if answered < 0.5 {
            -libm::log1p(-answered)
        } else if branch.steep() {
            // Copies gain little here, so the difference keeps its digits.
            -libm::log((libm::exp(-alone) - gain).max(0.0))
        } else {
            -libm::log(branch.open())
        }
    }
}

/// Each running attempt's value: it has answered if Z is below it.
struct Attempts {
    primary: f64,
    copies: Vec<f64>,
}

/// One hedged branch given J. Its integrals over b, the value of B, are of functions that are analytic everywhere, rise
/// to one peak and fall at least as fast as the normal density. A trapezoid sum of step h is then off by a share of
/// `e^(-2π² / h² (1 + m r²))` only, with m attempts whose tails are r times as steep as the density.
struct Branch {
    /// Where each attempt has answered at b for average luck, in standard deviations of luck.
    primary: f64,
    copies: Vec<f64>,
    /// r: how steep the step of an attempt is over b.
    slope: f64,
    /// `m r²`.
    squares: f64,
}

/// With this `m r²` or more the step is narrow in b.
const STEEP: f64 = 400.0;
/// Values of B beyond it do not count: the density is below the least float.
const FAR: f64 = 40.0;

impl Branch {
    fn new(factors: &Factors, primary: f64, mut copies: Vec<f64>) -> Branch {
        for z in &mut copies {
            *z /= factors.luck;
        }
        let slope = factors.branch / factors.luck;
        let squares = (copies.len() + 1) as f64 * slope * slope;
        Branch { primary: primary / factors.luck, copies, slope, squares }
    }

    fn steep(&self) -> bool {
        self.squares > STEEP
    }

    /// `P(the branch is open)`.
    fn open(&self) -> f64 {
        self.sum(0.0, FAR, |b| {
            let by = self.slope * b;
            self.copies.iter().fold(upper(self.primary - by), |open, z| open * upper(z - by))
        })
    }

    /// `P(a copy has answered and the primary has not)`.
    fn gain(&self) -> f64 {
        let best = self.copies.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Between the steps, drawn to the density's peak.
        let middle = 0.5 * (self.primary + best) / self.slope;
        let start = middle * (self.squares / (1.0 + self.squares));
        let reach = if self.steep() { FAR / self.slope } else { FAR + start.abs() };
        self.sum(start, reach, |b| {
            let by = self.slope * b;
            let any = self.copies.iter().fold(0.0, |any, z| any + (1.0 - any) * upper(by - z));
            any * upper(self.primary - by)
        })
    }

    /// `∫ φ(b) f(b) db` from a start, up and down, to where nothing is left.
    fn sum(&self, start: f64, reach: f64, f: impl Fn(f64) -> f64) -> f64 {
        // The error is e^-36.
        let step = 0.74 / libm::sqrt(1.0 + self.squares);
        let most = (reach / step) as u32 + 1;
        let term = |b: f64| density(b) * f(b);
        let first = term(start);
        let mut sum = first;
        for direction in [step, -step] {
            let mut before = first;
            for i in 1..=most {
                let now = term(start + f64::from(i) * direction);
                sum += now;
                if now < before && now < 1e-18 * sum {
                    break;
                }
                before = now;
            }
        }
        sum * step
    }
}

/// The hazard from both sides, by the smaller.
fn hazard_of(answered: f64, open: f64) -> f64 {
    if open < 0.5 { -libm::log(open) } else { -libm::log1p(-answered.min(1.0)) }
}

/// Density of the standard normal.
fn density(z: f64) -> f64 {
    /// `1 / √2π`.
    const PEAK: f64 = 0.398_942_280_401_432_7;
    PEAK * libm::exp(-0.5 * z * z)
}

/// Upper tail of the standard normal, to the precision of an integral.
fn upper(z: f64) -> f64 {
    0.5 * libm::erfc(z * FRAC_1_SQRT_2)
}
