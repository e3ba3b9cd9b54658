//! Binomial tails: how many of n like branches have answered, and the level of one branch that a barrier over n asks.
//!
//! | symbol | meaning |
//! |---|---|
//! | n, k | like branches, and how many of them are waited for |
//! | u, s | probability that one branch has answered, and `1 - u` |
//! | h | hazard of one branch, `-ln s` |
//!
//! `P(at least k of n) = I_u(k, n - k + 1)`. The smaller side is its largest term, times the sum of the others over it.
//! The largest term is Loader's saddle-point form (Fast and Accurate Computation of Binomial Probabilities, 2000). The
//! others are summed one by one where they are few; all are positive and their ratios fall, so the remainder is bounded by
//! a geometric series. Where they are many their sum is the integral of the beta density beside its value at u,
//!
//! `k ∫ e^(-E(ε)) dε` from 0 to 1, `E = -(k-1) ln(1-ε) - (n-k) ln(1 + ε u/(1-u))`, at `t = u (1 - ε)`,
//!
//! and E is convex: between an exponential and a half normal curve, which three panels of the 15-point Kronrod rule
//! integrate to all digits, however large n is.

use core::f64::consts::TAU;

use super::{complement, normal_quantile};
use crate::numeric::{nodes, rising};

/// Hazard of "at least `k` of `n` branches have answered" when one branch has hazard `h`. Zero for `k = 0`.
///
/// Relative precision in both tails. Cost: none for `k = 1` and `k = n`, else up to 160 terms, or an integral of 45 nodes.
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
    let start = libm::log1p(odds_near(normal_quantile(h), k as f64, n as f64));
    // At least one must have answered.
    rising(h, h / n as f64, last, start, &mut |w| inner_hazard(w, k, n))
}

/// About the odds `u / s` of the k-th of n uniform numbers that is at normal value z of its law: its log odds are nearly
/// normal, by their cumulants (Cornish and Fisher, 1938), which are differences of polygamma functions.
fn odds_near(z: f64, k: f64, n: f64) -> f64 {
    /// Beyond it the correction is not one.
    const FAR: f64 = 4.0;
    let (below, above) = (k - 0.5, n - k + 0.5);
    let (p, q) = (1.0 / below, 1.0 / above);
    let variance = p + q;
    let spread = libm::sqrt(variance);
    let (skew, excess) = ((q - p) / spread, 2.0 * (p * p * p + q * q * q) / (variance * variance));
    let square = z * z;
    let corrected = z + skew * (square - 1.0) / 6.0 + excess * z * (square - 3.0) / 24.0
        - skew * skew * z * (2.0 * square - 5.0) / 36.0;
    let value = if z.abs() < FAR { corrected } else { z };
    below / above * libm::exp((p * p - q * q) / 24.0 + spread * value)
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

/// Longer sums are integrals.
const MOST_TERMS: f64 = 160.0;

/// `ln P(X >= k)` for X binomial (n, event), and the quotient of this tail and its first term; `k` is at or above the mean.
fn ln_tail(k: u64, n: u64, event: Chance, other: Chance) -> (f64, f64) {
    /// `-ln` of a term that does not count.
    const NOTHING: f64 = 38.0;
    let (kf, above) = (k as f64, (n - k) as f64);
    let odds = event.p / other.p;
    // About where the terms end: their logarithms fall by this for the first, and by so much more for each.
    let (slope, bend) = (-libm::log(above / (kf + 1.0) * odds).min(0.0), 1.0 / kf + 1.0 / above);
    let is_short = above <= MOST_TERMS || fall(slope, bend, NOTHING) <= MOST_TERMS;
    let sum = if is_short { summed(k, n, odds) } else { integrated(kf, above, event.p, other.p) };
    (ln_mass(k, n, event, other) + libm::log(sum), sum)
}

/// The x at which `slope x + bend x²/2 = depth`.
fn fall(slope: f64, bend: f64, depth: f64) -> f64 {
    2.0 * depth / (slope + libm::sqrt(slope * slope + 2.0 * bend * depth))
}

/// The sum of the terms from k on over the first, upwards: every ratio is below 1.
fn summed(k: u64, n: u64, odds: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for i in k..n {
        let ratio = (n - i) as f64 / (i + 1) as f64 * odds;
        term *= ratio;
        sum += term;
        if term < f64::EPSILON / 4.0 * sum * (1.0 - ratio) {
            break;
        }
    }
    sum
}

/// The same sum as an integral over ε, where k and n - k are large; `u` is the chance of the event, `s` of the opposite.
fn integrated(k: f64, above: f64, u: f64, s: f64) -> f64 {
    /// E beyond which nothing counts.
    const NOTHING: f64 = 40.0;
    /// Where panels meet, as shares of the way there.
    const PANELS: [f64; 4] = [0.0, 0.25, 0.6, 1.0];
    let odds = u / s;
    let slope = (k - 1.0 - (k + above - 1.0) * u) / s;
    let depth = |e: f64| slope * e + (k - 1.0) * beyond_ln(-e) + above * beyond_ln(e * odds);
    let about = fall(slope.max(0.0), k - 1.0 + above * odds * odds, NOTHING).min(0.5);
    // E is convex and 0 at 0: so many times as far it is at least so many times as deep.
    let far = (about * (NOTHING / depth(about)).max(1.0)).min(1.0);
    let panels = PANELS.windows(2).flat_map(|panel| nodes(far * panel[0], far * panel[1]));
    k * panels.map(|(e, weight)| weight * libm::exp(-depth(e))).sum::<f64>()
}

/// `x - ln(1 + x)`, without cancellation near 0.
fn beyond_ln(x: f64) -> f64 {
    if x.abs() < 0.1 * (2.0 + x) { deviance_series(1.0, -x, 2.0 + x) } else { x - libm::log1p(x) }
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
    deviance_series(x, x - m, x + m)
}

/// The same, given `x - m` and `x + m`.
fn deviance_series(x: f64, difference: f64, total: f64) -> f64 {
    let v = difference / total;
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

#[cfg(test)]
mod tests {
    use super::{Chance, barrier_hazard, integrated, ln_mass, summed};

    #[test]
    fn the_integral_over_a_tail_is_the_sum_of_its_terms() {
        for (n, k) in
            [(1_000, 500), (10_000, 400), (10_000, 9_600), (1_000_000, 900_000), (100_000_000, 2_000)]
        {
            let above = n - k;
            // From the mean far into the tail, in standard deviations.
            for deviations in [0.0, 0.3, 1.0, 3.0, 10.0, 20.0] {
                let mean = k as f64 - deviations * (k as f64 * above as f64 / n as f64).sqrt();
                if mean <= 0.0 {
                    continue;
                }
                let (u, s) = (mean / n as f64, (n as f64 - mean) / n as f64);
                let (sum, integral) = (summed(k, n, u / s), integrated(k as f64, above as f64, u, s));
                let off = integral / sum - 1.0;
                assert!(off.abs() < 1e-12, "{k} of {n}, {deviations}: {sum} {integral} {off:e}");
            }
        }
    }

    #[test]
    fn half_of_an_odd_number_of_even_chances_come_true_half_of_the_time() {
        for n in [1_001_u64, 1_000_001, 1_000_000_001, 1_000_000_000_001] {
            let middle = barrier_hazard(core::f64::consts::LN_2, n.div_ceil(2), n);
            assert!((middle / core::f64::consts::LN_2 - 1.0).abs() < 1e-12, "{n}: {middle}");
        }
    }

    #[test]
    fn a_tail_less_its_first_term_is_the_next_tail() {
        let (n, k) = (1_000_000_000, 500_010_000);
        let half = Chance { p: 0.5, ln: -core::f64::consts::LN_2 };
        let tail = |k: u64| ln_mass(k, n, half, half).exp() * integrated(k as f64, (n - k) as f64, 0.5, 0.5);
        let off = (tail(k) - tail(k + 1)) / ln_mass(k, n, half, half).exp() - 1.0;
        assert!(off.abs() < 1e-9, "{off:e}");
    }
}
