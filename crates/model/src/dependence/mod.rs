//! Jobs whose branches are slow together.
//!
//! | symbol | meaning |
//! |---|---|
//! | J, B, L | standard normals of the job, of one branch, of one attempt (luck) |
//! | `ρ_J`, `ρ_B`, `ρ_L` | their shares, which sum to 1 |
//! | Z | `√ρ_J J + √ρ_B B + √ρ_L L`, standard normal |
//! | Q, Φ | quantile of an attempt's law, cdf of the standard normal |
//! | T | `Q(Φ(Z))`, the attempt's latency: its law is what it was at any shares |
//!
//! This is a Gaussian copula (Li, Journal of Fixed Income 9, 2000) with a factor structure (Vasicek, Risk 15, 2002): given
//! J the branches are independent, given J and B the copies are. Branches of a job share J, copies of a branch J and B;
//! luck is all that a copy can buy back. So a branch given J is a law ([`Together`]), a job given J is a
//! [`JobLaw`](crate::JobLaw) of such laws, and every readout of a [`DependentJob`] is an integral of one of a `JobLaw` over J.

mod grid;
mod job;
mod means;
mod orthant;
mod race;
mod regimes;
mod together;

pub use job::DependentJob;
pub use regimes::Regimes;
pub(crate) use together::Together;

use alloc::format;

use crate::SolveError;

/// How much of an attempt's latency is shared: the job's share, and the branch's; the rest is luck.
///
/// ```
/// use fantail_model::Dependence;
///
/// let shared = Dependence::new(0.2, 0.3)?;
/// assert_eq!(shared.luck(), 0.5);
/// assert!(Dependence::new(0.8, 0.3).is_err());
/// # Ok::<(), fantail_model::SolveError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dependence {
    job: f64,
    branch: f64,
    luck: f64,
}

/// Less luck than this is the rounding of shares that sum to 1.
const NO_LUCK: f64 = 1e-15;

impl Dependence {
    /// Branches and copies that have nothing in common.
    pub const NONE: Dependence = Dependence { job: 0.0, branch: 0.0, luck: 1.0 };

    /// Shares of the variance of Z, each from 0 to 1 and together at most 1: of the job, which all its attempts have in
    /// common, and of the branch, which its copies have in common.
    ///
    /// # Errors
    /// [`SolveError::OutOfRange`] for a share or a sum out of its range.
    pub fn new(job: f64, branch: f64) -> Result<Dependence, SolveError> {
        for (field, value) in [("job share", job), ("branch share", branch)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(SolveError::OutOfRange { field, value, bound: "from 0 to 1".into() });
            }
        }
        let luck = 1.0 - job - branch;
        if luck < -NO_LUCK {
            let bound = format!("at most 1 with the job share, {job}");
            return Err(SolveError::OutOfRange { field: "branch share", value: branch, bound });
        }
        Ok(Dependence { job, branch, luck: if luck < NO_LUCK { 0.0 } else { luck } })
    }

    /// `ρ_J`, 0 to 1.
    pub fn job(self) -> f64 {
        self.job
    }

    /// `ρ_B`, 0 to 1.
    pub fn branch(self) -> f64 {
        self.branch
    }

    /// `ρ_L`, 0 to 1.
    pub fn luck(self) -> f64 {
        self.luck
    }
}
