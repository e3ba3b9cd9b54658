//! Special functions, each accurate in both tails; what the laws and the barrier are made of.

mod beta;
mod gamma;
mod normal;

pub(crate) use beta::branch_hazard_at;
pub use beta::{barrier_hazard, branch_hazard, probability_mass};
pub(crate) use gamma::gamma_hazard_and_rate;
pub use gamma::{gamma_hazard, gamma_hazard_rate, gamma_quantile};
pub(crate) use normal::normal_hazard_and_rate;
pub use normal::{erfcx, normal_hazard, normal_hazard_rate, normal_quantile};

use core::f64::consts::LN_2;

/// The hazard of the opposite event: for `h = -ln s` it is `-ln(1 - s)`, and the other way round.
///
/// Precise relative to its value over the whole range 0 to infinity; its own inverse.
pub fn complement(h: f64) -> f64 {
    if h >= LN_2 {
        return -libm::log1p(-libm::exp(-h));
    }
    // 1 - e^-h = 2 e^(-h/2) sinh(h/2), and ln(sinh(x) / x) is a series in the Bernoulli numbers.
    let w = h * h;
    let sum = SINH.iter().fold(0.0, |sum, c| sum * w + c);
    h / 2.0 - w * sum - libm::log(h)
}

/// `B_2k / (2k (2k)!)` for k from 7 down to 1.
const SINH: [f64; 7] = [
    1.0 / 1_046_139_494_400.0,
    -691.0 / 15_692_092_416_000.0,
    1.0 / 479_001_600.0,
    -1.0 / 9_676_800.0,
    1.0 / 181_440.0,
    -1.0 / 2_880.0,
    1.0 / 24.0,
];
