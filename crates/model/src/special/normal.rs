//! The standard normal law through its cumulative hazard.
//!
//! | symbol | meaning |
//! |---|---|
//! | z | a standard normal value |
//! | Q(z) | upper tail, `erfc(z / √2) / 2` |
//! | H(z) | `-ln Q(z)` |
//!
//! Sources: `erf` and the scaled `erfc` by the rational approximations of Cody (Mathematics of Computation 23, 1969), so that
//! H in the upper tail is `z²/2` less one logarithm; the inverse by AS 241 (Wichura, Applied Statistics 37, 1988), which is
//! given to 16 digits down to 1e-316, and beyond that by Newton steps on H.

use core::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, SQRT_2};

use super::complement;

/// From here on `erfc` is approximated, before it `erf`.
const NEAR: f64 = 0.46875;
/// `1 / √(2π)`.
const FRAC_1_SQRT_2PI: f64 = 0.398_942_280_401_432_7;
/// `√(2/π)`.
const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;
/// Squares of z beyond which the lower tail is 0.
const FARTHEST: f64 = 1_490.0;
/// From this hazard on the leading order has all digits.
const LEADING_ORDER: f64 = 1e18;
/// AS 241 holds down to `s = 1e-316`; beyond this hazard Newton steps take over.
const AS241_HAZARD: f64 = 700.0;
/// Hazards of the ends of AS 241's middle part, `|p - 1/2| <= 0.425`.
const CENTRE: core::ops::RangeInclusive<f64> = 0.077_961_541_469_711_79..=2.590_267_165_445_826;

/// `-ln Q(z)`, relative precision in both tails: 0 at minus infinity, `z²/2 + ln(z √2π)` far out.
pub fn normal_hazard(z: f64) -> f64 {
    let x = z * FRAC_1_SQRT_2;
    if x > NEAR {
        z * (z / 2.0) + LN_2 - libm::log(scaled(x))
    } else if x < -NEAR {
        -libm::log1p(-0.5 * exp_half_square(z) * scaled(-x))
    } else {
        -libm::log(0.5 - 0.5 * erf(x))
    }
}

/// `φ(z) / Q(z)`, the derivative of [`normal_hazard`].
pub fn normal_hazard_rate(z: f64) -> f64 {
    normal_hazard_and_rate(z).1
}

/// [`normal_hazard`] and [`normal_hazard_rate`], for little more than one of them.
pub(crate) fn normal_hazard_and_rate(z: f64) -> (f64, f64) {
    let x = z * FRAC_1_SQRT_2;
    if x > NEAR {
        let scaled = scaled(x);
        return (z * (z / 2.0) + LN_2 - libm::log(scaled), SQRT_2_OVER_PI / scaled);
    }
    let bell = exp_half_square(z);
    if x < -NEAR {
        let below = 0.5 * bell * scaled(-x);
        return (-libm::log1p(-below), FRAC_1_SQRT_2PI * bell / (1.0 - below));
    }
    let above = 0.5 - 0.5 * erf(x);
    (-libm::log(above), FRAC_1_SQRT_2PI * bell / above)
}

/// The value with cumulative hazard `h`, 0 to infinity: the inverse of [`normal_hazard`].
pub fn normal_quantile(h: f64) -> f64 {
    if CENTRE.contains(&h) {
        let q = 0.5 - libm::exp(-h);
        let r = 0.180_625 - q * q;
        return q * polynomial(&CENTRE_OVER, r) / polynomial(&CENTRE_UNDER, r);
    }
    if h > AS241_HAZARD {
        return far_quantile(h);
    }
    let lower = h < 1.0;
    let r = libm::sqrt(if lower { complement(h) } else { h });
    if r.is_infinite() {
        return f64::NEG_INFINITY;
    }
    let z = if r <= 5.0 {
        polynomial(&MIDDLE_OVER, r - 1.6) / polynomial(&MIDDLE_UNDER, r - 1.6)
    } else {
        polynomial(&TAIL_OVER, r - 5.0) / polynomial(&TAIL_UNDER, r - 5.0)
    };
    if lower { -z } else { z }
}

/// The scaled complementary error function, `exp(x²) erfc(x)`.
pub fn erfcx(x: f64) -> f64 {
    if x > NEAR {
        return scaled(x);
    }
    let square = x * x;
    if square > 709.0 {
        return f64::INFINITY;
    }
    let exp_square = libm::exp(square) * (1.0 + product_error(x, x, square));
    if x < -NEAR { 2.0 * exp_square - scaled(-x) } else { exp_square * (1.0 - erf(x)) }
}

/// `exp(-z²/2)`, with the rounding of the square made good.
fn exp_half_square(z: f64) -> f64 {
    let square = z * z;
    if square > FARTHEST {
        return 0.0;
    }
    libm::exp(-0.5 * square) * (1.0 - 0.5 * product_error(z, z, square))
}

/// `erf(x)` for `|x| <= NEAR`.
fn erf(x: f64) -> f64 {
    let y = x * x;
    x * polynomial(&ERF_OVER, y) / polynomial(&ERF_UNDER, y)
}

/// `exp(x²) erfc(x)` for `x >= NEAR`.
fn scaled(x: f64) -> f64 {
    if x <= 4.0 {
        return polynomial(&ERFC_OVER, x) / polynomial(&ERFC_UNDER, x);
    }
    let y = 1.0 / (x * x);
    (FRAC_2_SQRT_PI / 2.0 - y * polynomial(&FAR_OVER, y) / polynomial(&FAR_UNDER, y)) / x
}

/// Newton on H from the leading order; H is convex, so every step from the right side stays there.
fn far_quantile(h: f64) -> f64 {
    let mut z = SQRT_2 * libm::sqrt(h);
    if h > LEADING_ORDER {
        return z;
    }
    for _ in 0..4 {
        let (hazard, rate) = normal_hazard_and_rate(z);
        z -= (hazard - h) / rate;
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

/// Horner's rule; the highest power comes first.
fn polynomial<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
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
const ERF_OVER: [f64; 5] = [
    0.185_777_706_184_603_15,
    3.161_123_743_870_565_5,
    113.864_154_151_050_16,
    377.485_237_685_302,
    3_209.377_589_138_469_4,
];
const ERF_UNDER: [f64; 5] =
    [1.0, 23.601_290_952_344_122, 244.024_637_934_444_17, 1_282.616_526_077_372_3, 2_844.236_833_439_171];
const ERFC_OVER: [f64; 9] = [
    2.153_115_354_744_038_3e-8,
    0.564_188_496_988_670_1,
    8.883_149_794_388_377,
    66.119_190_637_141_63,
    298.635_138_197_400_1,
    881.952_221_241_769,
    1_712.047_612_634_070_7,
    2_051.078_377_826_071_6,
    1_230.339_354_797_997_2,
];
const ERFC_UNDER: [f64; 9] = [
    1.0,
    15.744_926_110_709_835,
    117.693_950_891_312_5,
    537.181_101_862_009_9,
    1_621.389_574_566_690_3,
    3_290.799_235_733_459_7,
    4_362.619_090_143_247,
    3_439.367_674_143_721_6,
    1_230.339_354_803_749_5,
];
const FAR_OVER: [f64; 6] = [
    0.016_315_387_137_302_097,
    0.305_326_634_961_232_36,
    0.360_344_899_949_804_45,
    0.125_781_726_111_229_26,
    0.016_083_785_148_742_275,
    0.000_658_749_161_529_837_8,
];
const FAR_UNDER: [f64; 6] = [
    1.0,
    2.568_520_192_289_822,
    1.872_952_849_923_467_3,
    0.527_905_102_951_428_5,
    0.060_518_341_312_441_32,
    0.002_335_204_976_268_691_8,
];
