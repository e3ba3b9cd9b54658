//! The gamma law of scale 1 through its cumulative hazard.
//!
//! | symbol | meaning |
//! |---|---|
//! | a, x | shape, and a value of the law |
//! | P, Q | lower and upper tail, the regularised incomplete gamma functions of (a, x) |
//! | H | `-ln Q` |
//! | D | `x^a e^-x / Γ(a + 1)`; `a D` is x times the density |
//! | λ, η | `x / a`, and `η² / 2 = λ - 1 - ln λ` with the sign of λ - 1 |
//!
//! One of the tails is found as D times a ratio, without subtraction from 1. For shapes from 16 on and η near 0 it is
//! Temme's uniform expansion (SIAM Journal on Mathematical Analysis 10, 1979) by the backward recurrence of Gil, Segura
//! and Temme (SIAM Journal on Scientific Computing 34, 2012), whose cost does not depend on the shape. Elsewhere it is
//! the power series of P or Legendre's continued fraction of Q, which converge fast there.

use core::cmp::Ordering;
use core::f64::consts::{LN_2, PI};

use super::beta::{deviance_of, stirling_series};
use super::{complement, erfcx, normal_quantile};

/// `-ln Q(a, x)` for a shape `a` from 0.01 to 1e6 and `x` from 0 to infinity.
///
/// Relative precision in both tails.
pub fn gamma_hazard(a: f64, x: f64) -> f64 {
    if x == 0.0 || x.is_infinite() { x } else { Tail::at(a, x).hazard() }
}

/// The derivative of [`gamma_hazard`] by `x`: 0 or infinite at 0 unless `a` is 1, and 1 at infinity.
pub fn gamma_hazard_rate(a: f64, x: f64) -> f64 {
    gamma_hazard_and_rate(a, x).1
}

/// [`gamma_hazard`] and [`gamma_hazard_rate`], for little more than one of them.
pub(crate) fn gamma_hazard_and_rate(a: f64, x: f64) -> (f64, f64) {
    if x == 0.0 {
        let rate = match a.total_cmp(&1.0) {
            Ordering::Less => f64::INFINITY,
            Ordering::Equal => 1.0,
            Ordering::Greater => 0.0,
        };
        return (0.0, rate);
    }
    if x.is_infinite() {
        return (x, 1.0);
    }
    let tail = Tail::at(a, x);
    (tail.hazard(), tail.steepness(a) / x)
}

/// The value with cumulative hazard `h`, 0 to infinity: the inverse of [`gamma_hazard`].
///
/// Halley's method on `ln H` as a function of `ln x`, which is nearly straight: its slope lies between a and 1 and is
/// one of these at the ends.
pub fn gamma_quantile(a: f64, h: f64) -> f64 {
    const STEPS: usize = 64;
    /// A relative error of the hazard that one more step makes vanish.
    const LAST_STEP: f64 = 1e-6;
    if h == 0.0 || h.is_infinite() {
        return h;
    }
    // P is below x^a / Γ(a + 1), by a factor that is 1 to all digits for tiny x.
    let low = libm::exp((ln_gamma_of_next(a) - complement(h)) / a);
    if low < f64::EPSILON / 16.0 {
        return low;
    }
    let mut x = first_guess(a, h, low);
    let (mut least, mut most) = (low / 2.0, f64::INFINITY);
    for _ in 0..STEPS {
        let tail = Tail::at(a, x);
        let hazard = tail.hazard();
        let off = libm::log(hazard / h);
        if off < 0.0 {
            least = least.max(x);
        } else {
            most = most.min(x);
        }
        let steepness = tail.steepness(a);
        let slope = steepness / hazard;
        let newton = -off / slope;
        let bend = 1.0 + newton / 2.0 * (a - x + steepness - slope);
        let next = x * libm::exp(if bend > 0.5 { newton / bend } else { newton });
        if off.abs() < LAST_STEP {
            // Next to the least float the density may be 0 already.
            return if next.is_nan() { x } else { next };
        }
        x = if next > least && next < most {
            next
        } else if most.is_finite() {
            libm::sqrt(least) * libm::sqrt(most)
        } else {
            2.0 * least
        };
    }
    x
}

/// Where the search for a quantile starts; `low` is below it.
fn first_guess(a: f64, h: f64, low: f64) -> f64 {
    if h > 3.0 * a + 10.0 {
        // Q is about x^(a-1) e^-x / Γ(a).
        h + (a - 1.0) * libm::log(h) - ln_gamma_of_next(a) + libm::log(a)
    } else if a < 1.0 {
        low
    } else {
        // Wilson and Hilferty: the cube root is nearly normal.
        let ninth = 1.0 / (9.0 * a);
        let root = 1.0 - ninth + normal_quantile(h) * libm::sqrt(ninth);
        low.max(a * root * root * root)
    }
}

/// From this shape on Temme's expansion is used, and Stirling's series has all digits.
const LARGE: f64 = 16.0;
/// Up to this |η| the terms of Temme's expansion have all digits.
const NEAR: f64 = 0.8;

/// One of the two tails, as `D ratio`.
struct Tail {
    upper: bool,
    ln_d: f64,
    ratio: f64,
}

impl Tail {
    /// The tail at `x`, above 0 and finite, that is small or as good as the other.
    fn at(a: f64, x: f64) -> Tail {
        if a >= LARGE {
            let deviance = deviance_of(a, x);
            let ln_d = -deviance - 0.5 * libm::log(2.0 * PI * a) - stirling_series(a);
            let eta = libm::copysign(libm::sqrt(2.0 * deviance / a), x - a);
            if eta.abs() <= NEAR {
                let upper = eta >= 0.0;
                return Tail { upper, ln_d, ratio: uniform(a, eta, libm::sqrt(deviance)) };
            }
            return Tail::by_side(a, x, ln_d, eta > 0.0);
        }
        let ln_d = ln_d(a, x);
        if a >= 1.0 || x >= 1.0 {
            return Tail::by_side(a, x, ln_d, x >= if a < 1.0 { 1.0 } else { a + 1.0 });
        }
        let lower = Tail::by_side(a, x, ln_d, false);
        if lower.ln() < -LN_2 {
            return lower;
        }
        Tail { upper: true, ln_d, ratio: upper_of_small(a, x) / libm::exp(ln_d) }
    }

    fn by_side(a: f64, x: f64, ln_d: f64, upper: bool) -> Tail {
        Tail { upper, ln_d, ratio: if upper { fraction(a, x) } else { series(a, x) } }
    }

    /// The logarithm of this tail.
    fn ln(&self) -> f64 {
        (self.ln_d + libm::log(self.ratio)).min(0.0)
    }

    fn hazard(&self) -> f64 {
        if self.upper { -self.ln() } else { complement(-self.ln()) }
    }

    /// `x H'(x) = a D / Q`.
    fn steepness(&self, a: f64) -> f64 {
        if self.upper { a / self.ratio } else { a * libm::exp(self.ln_d) / -libm::expm1(self.ln()) }
    }
}

/// `ln D` for a shape below [`LARGE`]: from the factors themselves where no float is left, since their logarithms cancel.
fn ln_d(a: f64, x: f64) -> f64 {
    let power = libm::pow(x, a);
    if power > 1e-280 && x < 600.0 {
        libm::log(power * libm::exp(-x) / libm::tgamma(a + 1.0))
    } else {
        a * libm::log(x) - x - ln_gamma_of_next(a)
    }
}

/// `ln Γ(a + 1)`, where a small shape keeps the digits that `a + 1` would round away.
fn ln_gamma_of_next(a: f64) -> f64 {
    /// `-ψ(1)`, Euler's constant.
    const SLOPE_AT_ONE: f64 = -0.577_215_664_901_532_9;
    let next = a + 1.0;
    let lost = a - (next - 1.0);
    libm::lgamma(next) + if a < 0.1 { lost * SLOPE_AT_ONE } else { 0.0 }
}

/// `P / D = 1 + x/(a+1) + x²/((a+1)(a+2)) + …`, for x not far above a.
fn series(a: f64, x: f64) -> f64 {
    const TERMS: u32 = 200;
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..=TERMS {
        term *= x / (a + f64::from(n));
        sum += term;
        if term < f64::EPSILON / 8.0 * sum {
            break;
        }
    }
    sum
}

/// `Q / D` by Legendre's continued fraction and the method of Lentz, for x above a and at least 1.
fn fraction(a: f64, x: f64) -> f64 {
    const TERMS: u32 = 200;
    let mut b = x + 1.0 - a;
    let mut d = 1.0 / b;
    let mut c = f64::INFINITY;
    let mut value = d;
    for n in (1..=TERMS).map(f64::from) {
        let numerator = n * (a - n);
        b += 2.0;
        d = 1.0 / (b + numerator * d);
        c = b + numerator / c;
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    a * value
}

/// Q for a shape and an x below 1: what P, expanded about 1, leaves.
fn upper_of_small(a: f64, x: f64) -> f64 {
    const TERMS: u32 = 24;
    let ln_leading = a * libm::log(x) - ln_gamma_of_next(a);
    let (mut power, mut sum) = (-1.0, 0.0);
    for n in (1..=TERMS).map(f64::from) {
        power *= -x / n;
        sum += power / (a + n);
    }
    a * sum * libm::exp(ln_leading) - libm::expm1(ln_leading)
}

/// The ratio of the tail that η lies in, by the uniform expansion; `distance` is `|η| √(a / 2)`.
///
/// `Q = erfc(η √(a/2)) / 2 + R` with `R = D Σ b_n η^n`, where R' gives `b_(n-1) = f_n + (n + 1) b_(n+1) / a`. R vanishes
/// at both ends, so `Γ(a) = √(2π/a) (a/e)^a (1 + b_1 / a)`.
fn uniform(a: f64, eta: f64, distance: f64) -> f64 {
    // `b_n` and `b_(n+1)`.
    let mut last = [0.0, 0.0];
    let mut sum = 0.0;
    for n in (1..ORDER).rev() {
        let next = EXPANSION[n] + (n + 1) as f64 * last[1] / a;
        last = [next, last[0]];
        sum = sum * eta + next;
    }
    let gamma_star = 1.0 + last[1] / a;
    0.5 * erfcx(distance) * libm::sqrt(2.0 * PI * a) * gamma_star + libm::copysign(1.0, eta) * sum
}

const ORDER: usize = 28;

/// `f_n` of `η / (λ - 1) = Σ f_n η^n`, a series with radius `2 √π`.
const EXPANSION: [f64; ORDER] = expansion();

/// With `μ = λ - 1 = Σ m_n η^n`, `μ μ' = η (1 + μ)` gives `m_n`, and `μ Σ f_n η^n = η` gives `f_n`.
const fn expansion() -> [f64; ORDER] {
    let mut m = [0.0; ORDER + 1];
    m[1] = 1.0;
    let mut n = 2;
    while n <= ORDER {
        let mut sum = m[n - 1];
        let mut i = 2;
        while i < n {
            sum -= m[i] * (n + 1 - i) as f64 * m[n + 1 - i];
            i += 1;
        }
        m[n] = sum / (n + 1) as f64;
        n += 1;
    }
    let mut f = [0.0; ORDER];
    f[0] = 1.0;
    n = 1;
    while n < ORDER {
        let mut i = 1;
        while i <= n {
            f[n] -= m[i + 1] * f[n - i];
            i += 1;
        }
        n += 1;
    }
    f
}
