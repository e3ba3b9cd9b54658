//! Binomial tails: how many of n like branches have answered, and the level of one branch that a barrier over n asks.
//!
//! | symbol | meaning |
//! |---|---|
//! | n, k | like branches, and how many of them are waited for |
//! | u, s | probability that one branch has answered, and `1 - u` |
//! | h | hazard of one branch, `-ln s` |
//!
//! `P(at least k of n) = I_u(k, n - k + 1)`. The smaller side is summed term by term from its largest term; all terms
//! are positive and their ratios fall, so the remainder is bounded by a geometric series and the sum always ends.
//! The largest term is Loader's saddle-point form (Fast and Accurate Computation of Binomial Probabilities, 2000).

use core::f64::consts::TAU;

use super::{complement, normal_quantile};
use crate::numeric::rising;

/// Hazard of "at least `k` of `n` branches have answered" when one branch has hazard `h`. Zero for `k = 0`.
///
/// Relative precision in both tails. Cost: none for `k = 1` and `k = n`, else at most about `9 √n` terms.
pub fn barrier_hazard(h: f64, k: u64, n: u64) -> f64 {
    if k == 0 {
        return f64::INFINITY;
    }
    if k > n {
        return 0.0;
    }
    if k == 1 {
        return h * n as f64;
    }
    if k == n {
        return last_hazard(h, n);
    }
    if h == 0.0 || h.is_infinite() {
        return h;
    }
    inner_hazard(h, k, n).0
}

/// [`barrier_hazard`] and its derivative by `h`, for `1 < k < n` and `h` above 0 and finite.
fn inner_hazard(h: f64, k: u64, n: u64) -> (f64, f64) {
    let (answered, open) = sides(h);
    if k as f64 > (n as f64 + 1.0) * answered.p {
        let (ln, sum) = ln_tail(k, n, answered, open);
        let tail = libm::exp(ln).min(1.0);
        (-libm::log1p(-tail), k as f64 * tail / sum * open.p / answered.p / (1.0 - tail))
    } else {
        // Fewer than k answers is more than n - k misses.
        let (ln, sum) = ln_tail(n - k + 1, n, open, answered);
        (-ln.min(0.0), (n - k + 1) as f64 / sum)
    }
}

/// Hazard of one branch at which "at least `k` of `n`" has hazard `h`: the inverse of [`barrier_hazard`].
pub fn branch_hazard(h: f64, k: u64, n: u64) -> f64 {
    branch_hazard_at(h, complement(h), k, n)
}

/// The same, when the hazard `opposite` of the opposite event is known too.
pub(crate) fn branch_hazard_at(h: f64, opposite: f64, k: u64, n: u64) -> f64 {
    if k == 0 || k > n {
        return if k == 0 { 0.0 } else { f64::INFINITY };
    }
    if k == 1 {
        return h / n as f64;
    }
    // All having answered is enough.
    let last = if h > FAR { h + libm::log(n as f64) } else { complement(opposite / n as f64) };
    if k == n || h == 0.0 || h.is_infinite() {
        return last;
    }
    // The k-th of n uniform numbers is nearly a normal one in its log odds.
    let (below, above) = (k as f64 - 0.3, (n - k) as f64 + 0.7);
    let spread = libm::sqrt(1.0 / below + 1.0 / above);
    let odds = below / above * libm::exp(spread * normal_quantile(h));
    // At least one must have answered.
    rising(h, h / n as f64, last, libm::log1p(odds), |w| inner_hazard(w, k, n))
}

/// Hazard of the last of n, from that of one: `-ln(1 - u^n)`.
fn last_hazard(h: f64, n: u64) -> f64 {
    let n = n as f64;
    if h > FAR {
        // The expected number of open branches, n s; where it is tiny it is the probability that one is open.
        let first_order = h - libm::log(n);
        if first_order > FAR {
            return first_order;
        }
    }
    complement(n * complement(h))
}

/// Beyond this hazard `s` is below half the rounding of 1, so second-order terms vanish.
const FAR: f64 = 40.0;

/// The probability of one side of an event, and its logarithm, which does not underflow.
#[derive(Clone, Copy)]
struct Chance {
    p: f64,
    ln: f64,
}

/// Answered and not, for one branch of hazard `h`.
fn sides(h: f64) -> (Chance, Chance) {
    (Chance { p: -libm::expm1(-h), ln: -complement(h) }, Chance { p: libm::exp(-h), ln: -h })
}

/// `ln P(X >= k)` for X binomial (n, event), and the quotient of this tail and its first term; summed upwards, `k` is at or
/// above the mean, so every ratio is below 1.
fn ln_tail(k: u64, n: u64, event: Chance, other: Chance) -> (f64, f64) {
    let odds = event.p / other.p;
    let (mut term, mut sum) = (1.0, 1.0);
    for i in k..n {
        let ratio = (n - i) as f64 / (i + 1) as f64 * odds;
        term *= ratio;
        sum += term;
        if term < f64::EPSILON / 4.0 * sum * (1.0 - ratio) {
            break;
        }
    }
    (ln_mass(k, n, event, other) + libm::log(sum), sum)
}

/// `P(exactly x of n branches have answered)` when one has hazard `h`.
pub fn probability_mass(x: u64, n: u64, h: f64) -> f64 {
    if x > n {
        return 0.0;
    }
    let (answered, open) = sides(h);
    libm::exp(ln_mass(x, n, answered, open))
}

/// `ln P(X = x)` for X binomial (n, event), `x <= n`.
fn ln_mass(x: u64, n: u64, event: Chance, other: Chance) -> f64 {
    if n == 0 {
        return 0.0;
    }
    if x == 0 {
        return n as f64 * other.ln;
    }
    if x == n {
        return n as f64 * event.ln;
    }
    let (xf, yf, nf) = (x as f64, (n - x) as f64, n as f64);
    stirling_error(n)
        - stirling_error(x)
        - stirling_error(n - x)
        - deviance(xf, nf, event)
        - deviance(yf, nf, other)
        + 0.5 * libm::log(nf / (TAU * xf * yf))
}

/// `x ln(x/m) + m - x` with `m = n p`, without cancellation where x is near m and without underflow where p is.
fn deviance(x: f64, n: f64, chance: Chance) -> f64 {
    let m = n * chance.p;
    let difference = x - m;
    if difference.abs() >= 0.1 * (x + m) {
        return x * (libm::log(x / n) - chance.ln) - difference;
    }
    near_deviance(x, m)
}

/// `x ln(x/m) + m - x`, without cancellation where x is near m.
pub(super) fn deviance_of(x: f64, m: f64) -> f64 {
    let difference = x - m;
    if difference.abs() >= 0.1 * (x + m) { x * libm::log(x / m) - difference } else { near_deviance(x, m) }
}

/// The same by its series, for `|x - m| < 0.1 (x + m)`.
fn near_deviance(x: f64, m: f64) -> f64 {
    let difference = x - m;
    let v = difference / (x + m);
    let mut sum = difference * v;
    let mut term = 2.0 * x * v;
    let square = v * v;
    // |v| < 0.1: each term is a hundredth of the one before.
    for odd in [3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0] {
        term *= square;
        sum += term / odd;
    }
    sum
}

/// `ln x! - ln(√(2πx) (x/e)^x)`.
fn stirling_error(x: u64) -> f64 {
    if let Some(exact) = STIRLING.get(x as usize) {
        return *exact;
    }
    stirling_series(x as f64)
}

/// The same for any x of 16 or more, `ln Γ(x + 1)` in place of `ln x!`.
pub(super) fn stirling_series(x: f64) -> f64 {
    let w = 1.0 / (x * x);
    (1.0 / 12.0 - w * (1.0 / 360.0 - w * (1.0 / 1260.0 - w * (1.0 / 1680.0 - w * (1.0 / 1188.0))))) / x
}

/// The first values; the series has all digits from 16 on.
const STIRLING: [f64; 16] = [
    0.0,
    0.081_061_466_795_327_26,
    0.041_340_695_955_409_3,
    0.027_677_925_684_998_34,
    0.020_790_672_103_765_093,
    0.016_644_691_189_821_192,
    0.013_876_128_823_070_748,
    0.011_896_709_945_891_77,
    0.010_411_265_261_972_096,
    0.009_255_462_182_712_733,
    0.008_330_563_433_362_87,
    0.007_573_675_487_951_841,
    0.006_942_840_107_209_53,
    0.006_408_994_188_004_207,
    0.005_951_370_112_758_847_7,
    0.005_554_733_551_962_801,
];
