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

use super::complement;
use crate::numeric::bracketed_root;

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
    let (u, s) = (-libm::expm1(-h), libm::exp(-h));
    if k as f64 > (n as f64 + 1.0) * u {
        -libm::log1p(-tail_sum(k, n, u, s).min(1.0))
    } else {
        // Fewer than k answers is more than n - k misses.
        let open = tail_sum(n - k + 1, n, s, u);
        if open > 0.0 { -libm::log(open.min(1.0)) } else { far_hazard(h, k, n) }
    }
}

/// Hazard of one branch at which "at least `k` of `n`" has hazard `h`: the inverse of [`barrier_hazard`].
pub fn branch_hazard(h: f64, k: u64, n: u64) -> f64 {
    if k == 0 || k > n {
        return if k == 0 { 0.0 } else { f64::INFINITY };
    }
    if k == 1 {
        return h / n as f64;
    }
    if k == n {
        return first_hazard(h, n);
    }
    if h == 0.0 || h.is_infinite() {
        return h;
    }
    // At least one must have answered, and all having answered is enough.
    let (low, high) = (h / n as f64, first_hazard(h, n));
    let target = libm::log(h);
    let root = bracketed_root(libm::log(low), libm::log(high), |w| {
        libm::log(barrier_hazard(libm::exp(w), k, n)) - target
    });
    libm::exp(root)
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

/// Hazard of one from that of the last of n.
fn first_hazard(h: f64, n: u64) -> f64 {
    if h > FAR { h + libm::log(n as f64) } else { complement(complement(h) / n as f64) }
}

/// Beyond this hazard `s` is below half the rounding of 1, so second-order terms vanish.
const FAR: f64 = 40.0;

/// Leading order where the tail underflows: `C(n, n-k+1) s^(n-k+1)`.
fn far_hazard(h: f64, k: u64, n: u64) -> f64 {
    let misses = (n - k + 1) as f64;
    let n = n as f64;
    misses * h - (libm::lgamma(n + 1.0) - libm::lgamma(misses + 1.0) - libm::lgamma(n - misses + 1.0))
}

/// `P(X >= k)` for X binomial (n, u), summed upwards; `k` is at or above the mean, so every ratio is below 1.
fn tail_sum(k: u64, n: u64, u: f64, s: f64) -> f64 {
    let first = probability_mass(k, n, u, s);
    let odds = u / s;
    let (mut term, mut sum) = (1.0, 1.0);
    for i in k..n {
        let ratio = (n - i) as f64 / (i + 1) as f64 * odds;
        term *= ratio;
        sum += term;
        if term < f64::EPSILON / 4.0 * sum * (1.0 - ratio) {
            break;
        }
    }
    first * sum
}

/// `P(X = x)` for X binomial (n, u), with `s = 1 - u` given apart so that both may be small.
pub fn probability_mass(x: u64, n: u64, u: f64, s: f64) -> f64 {
    if x > n {
        return 0.0;
    }
    let power = |base: f64, other: f64, exponent: u64| {
        if exponent == 0 {
            return 1.0;
        }
        let ln = if base < 0.5 { libm::log(base) } else { libm::log1p(-other) };
        libm::exp(exponent as f64 * ln)
    };
    if x == 0 || x == n {
        return power(u, s, x) * power(s, u, n - x);
    }
    let (xf, nf) = (x as f64, n as f64);
    let yf = (n - x) as f64;
    let ln = stirling_error(n)
        - stirling_error(x)
        - stirling_error(n - x)
        - deviance(xf, nf * u)
        - deviance(yf, nf * s);
    libm::exp(ln) * libm::sqrt(nf / (TAU * xf * yf))
}

/// `x ln(x/m) + m - x`, without cancellation where x is near m.
fn deviance(x: f64, m: f64) -> f64 {
    if m <= 0.0 {
        return f64::INFINITY;
    }
    let difference = x - m;
    if difference.abs() >= 0.1 * (x + m) {
        return x * libm::log(x / m) - difference;
    }
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
    let x = x as f64;
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
