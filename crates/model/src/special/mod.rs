//! Special functions, each accurate in both tails; what the laws and the barrier are made of.

mod beta;
mod gamma;
mod normal;

pub use beta::{barrier_hazard, branch_hazard, probability_mass};
pub use gamma::{gamma_hazard, gamma_hazard_rate, gamma_quantile};
pub use normal::{erfcx, normal_hazard, normal_hazard_rate, normal_quantile};

use core::f64::consts::LN_2;

/// The hazard of the opposite event: for `h = -ln s` it is `-ln(1 - s)`, and the other way round.
///
/// Precise relative to its value over the whole range 0 to infinity; its own inverse.
pub fn complement(h: f64) -> f64 {
    if h < LN_2 { -libm::log(-libm::expm1(-h)) } else { -libm::log1p(-libm::exp(-h)) }
}
