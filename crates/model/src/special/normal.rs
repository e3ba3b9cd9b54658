//! The standard normal law through its cumulative hazard.
//!
//! | symbol | meaning |
//! |---|---|
//! | z | a standard normal value |
//! | Q(z) | upper tail, `erfc(z / √2) / 2` |
//! | H(z) | `-ln Q(z)` |
//!
//! Sources: the upper tail through `erfc`, corrected for the rounding of `z / √2`, and far out the asymptotic series
//! (Abramowitz and Stegun 26.2.12); the inverse by AS 241 (Wichura, Applied Statistics 37, 1988), which is given to
//! 16 digits down to 1e-316, and beyond that by Newton steps on H.

use core::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

use super::complement;

/// From here on the asymptotic series has all digits.
const FAR: f64 = 25.0;
/// What [`FRAC_1_SQRT_2`] lacks to `1 / √2`.
const FRAC_1_SQRT_2_LOW: f64 = -4.833_646_656_726_457e-17;
/// `ln √(2π)`.
const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_7;
/// From this hazard on the leading order has all digits.
const LEADING_ORDER: f64 = 1e18;
/// AS 241 holds down to `s = 1e-316`; beyond this hazard Newton steps take over.
const AS241_HAZARD: f64 = 700.0;

/// `-ln Q(z)`, relative precision in both tails: 0 at minus infinity, `z²/2 + ln(z √2π)` far out.
pub fn normal_hazard(z: f64) -> f64 {
    if z < 0.0 {
        -libm::log1p(-upper(-z))
    } else if z < FAR {
        -libm::log(upper(z))
    } else {
        z * (z / 2.0) + libm::log(z) + LN_SQRT_2PI - libm::log1p(series(z))
    }
}

/// `φ(z) / Q(z)`, the derivative of [`normal_hazard`].
pub fn normal_hazard_rate(z: f64) -> f64 {
    if z < FAR { density(z) / tail(z) } else { z / (1.0 + series(z)) }
}

/// The value with cumulative hazard `h`, 0 to infinity: the inverse of [`normal_hazard`].
pub fn normal_quantile(h: f64) -> f64 {
    let s = libm::exp(-h);
    let q = 0.5 - s;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(&CENTRE_OVER, r) / polynomial(&CENTRE_UNDER, r);
    }
    if h > AS241_HAZARD {
        return far_quantile(h);
    }
    let r = libm::sqrt(if q < 0.0 { complement(h) } else { h });
    if r.is_infinite() {
        return f64::NEG_INFINITY;
    }
    let z = if r <= 5.0 {
        polynomial(&MIDDLE_OVER, r - 1.6) / polynomial(&MIDDLE_UNDER, r - 1.6)
    } else {
        polynomial(&TAIL_OVER, r - 5.0) / polynomial(&TAIL_UNDER, r - 5.0)
    };
    if q < 0.0 { -z } else { z }
}

/// The scaled complementary error function, `exp(x²) erfc(x)`.
pub fn erfcx(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 * exp_square(x) - erfcx(-x);
    }
    let z = x / FRAC_1_SQRT_2;
    if z < FAR { exp_square(x) * libm::erfc(x) } else { libm::sqrt(2.0 / PI) / z * (1.0 + series(z)) }
}

/// Q(z) for any z where it does not underflow.
fn tail(z: f64) -> f64 {
    if z < 0.0 { 1.0 - upper(-z) } else { upper(z) }
}

/// Q(z) for z from 0 to about 37: `erfc` of the rounded `z / √2`, and a first-order term for what rounding took.
fn upper(z: f64) -> f64 {
    let x = z * FRAC_1_SQRT_2;
    if x > 27.0 {
        return 0.0;
    }
    let lost = product_error(z, FRAC_1_SQRT_2, x) + z * FRAC_1_SQRT_2_LOW;
    // -erfc'/erfc to within a tenth: enough for a term of the size of one rounding.
    let slope = x + libm::sqrt(x * x + 4.0 / PI);
    0.5 * libm::erfc(x) * (1.0 - lost * slope)
}

fn density(z: f64) -> f64 {
    libm::exp(-z * z / 2.0 - LN_SQRT_2PI)
}

/// `exp(x²)`, with the rounding of the square made good.
fn exp_square(x: f64) -> f64 {
    let square = x * x;
    if square > 709.0 {
        return f64::INFINITY;
    }
    libm::exp(square) * (1.0 + product_error(x, x, square))
}

/// `z Q(z) / φ(z) - 1` by its asymptotic series, for `z >= FAR`.
fn series(z: f64) -> f64 {
    let w = 1.0 / (z * z);
    let mut term = 1.0;
    let mut sum = 0.0;
    for odd in [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0] {
        term *= -odd * w;
        sum += term;
    }
    sum
}

/// Newton on H from the leading order; H is convex, so every step from the right side stays there.
fn far_quantile(h: f64) -> f64 {
    let mut z = SQRT_2 * libm::sqrt(h);
    if h > LEADING_ORDER {
        return z;
    }
    for _ in 0..4 {
        z -= (normal_hazard(z) - h) / normal_hazard_rate(z);
    }
    z
}

/// `a * b - rounded`, exactly (Dekker).
fn product_error(a: f64, b: f64, rounded: f64) -> f64 {
    let (ah, al) = split(a);
    let (bh, bl) = split(b);
    ((ah * bh - rounded) + ah * bl + al * bh) + al * bl
}

/// Upper and lower half of the digits (Veltkamp).
fn split(a: f64) -> (f64, f64) {
    let c = 134_217_729.0 * a;
    let high = c - (c - a);
    (high, a - high)
}

fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, c| sum * x + c)
}

const CENTRE_OVER: [f64; 8] = [
    2.509_080_928_730_122_7e3,
    3.343_057_558_358_813e4,
    6.726_577_092_700_87e4,
    4.592_195_393_154_987e4,
    1.373_169_376_550_946e4,
    1.971_590_950_306_551_3e3,
    1.331_416_678_917_843_8e2,
    3.387_132_872_796_366_5,
];
const CENTRE_UNDER: [f64; 8] = [
    5.226_495_278_852_854e3,
    2.872_908_573_572_194_3e4,
    3.930_789_580_009_271e4,
    2.121_379_430_158_659_7e4,
    5.394_196_021_424_751e3,
    6.871_870_074_920_579e2,
    4.231_333_070_160_091e1,
    1.0,
];
const MIDDLE_OVER: [f64; 8] = [
    7.745_450_142_783_414e-4,
    2.272_384_498_926_918_4e-2,
    2.417_807_251_774_506e-1,
    1.270_458_252_452_368_4,
    3.647_848_324_763_204_5,
    5.769_497_221_460_691,
    4.630_337_846_156_546,
    1.423_437_110_749_683_5,
];
const MIDDLE_UNDER: [f64; 8] = [
    1.050_750_071_644_416_9e-9,
    5.475_938_084_995_345e-4,
    1.519_866_656_361_645_7e-2,
    1.481_039_764_274_800_8e-1,
    6.897_673_349_851e-1,
    1.676_384_830_183_803_8,
    2.053_191_626_637_759,
    1.0,
];
const TAIL_OVER: [f64; 8] = [
    2.010_334_399_292_288_1e-7,
    2.711_555_568_743_487_6e-5,
    1.242_660_947_388_078_4e-3,
    2.653_218_952_657_612_3e-2,
    2.965_605_718_285_048_9e-1,
    1.784_826_539_917_291_3,
    5.463_784_911_164_114,
    6.657_904_643_501_103,
];
const TAIL_UNDER: [f64; 8] = [
    2.044_263_103_389_939_8e-15,
    1.421_511_758_316_446e-7,
    1.846_318_317_510_054_7e-5,
    7.868_691_311_456_133e-4,
    1.487_536_129_085_061_5e-2,
    1.369_298_809_227_358e-1,
    5.998_322_065_558_88e-1,
    1.0,
];
