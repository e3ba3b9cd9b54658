//! Roots and integrals; every loop is bounded. Functions are called through pointers: each value takes far longer than that, and
//! there are dozens of functions.

use alloc::vec::Vec;

use crate::LawError;

/// The zero of an increasing function between `low` and `high`, to the rounding of `1 + |x|`.
///
/// Returns the end itself where the function does not change sign. Chandrupatla's method (Advances in Engineering
/// Software 28, 1997): inverse quadratic steps where they are safe, else bisection. After `PATIENCE` steps only
/// bisection is used, so that the bracket of finite width always closes.
pub(crate) fn bracketed_root(low: f64, high: f64, f: &mut dyn FnMut(f64) -> f64) -> f64 {
    const PATIENCE: usize = 60;
    const STEPS: usize = PATIENCE + 128;
    let (mut a, mut fa) = (low, f(low));
    if fa >= 0.0 {
        return low;
    }
    let (mut b, mut fb) = (high, f(high));
    if fb <= 0.0 {
        return high;
    }
    let (mut fraction, mut best) = (0.5, low);
    for step in 0..STEPS {
        let x = a + fraction * (b - a);
        let fx = f(x);
        let (c, fc);
        if (fx > 0.0) == (fa > 0.0) {
            (c, fc) = (a, fa);
        } else {
            (c, fc) = (b, fb);
            (b, fb) = (a, fa);
        }
        (a, fa) = (x, fx);
        best = if fa.abs() < fb.abs() { a } else { b };
        let least = f64::EPSILON * (1.0 + best.abs()) / (b - a).abs();
        if fa == 0.0 || least > 0.5 {
            break;
        }
        let (xi, phi) = ((a - b) / (c - b), (fa - fb) / (fc - fb));
        let safe = phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi;
        fraction = if safe && step < PATIENCE {
            fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        } else {
            0.5
        };
        fraction = fraction.clamp(least, 1.0 - least);
    }
    best
}

/// Times beyond it, in seconds, are infinite: quotients with the least scale of a law still fit a float.
pub(crate) const LATEST: f64 = 1e290;

/// The time from `low` to `high`, both 0 or more, at which a hazard that does not decrease is `h`; found in log time.
///
/// Infinite when the hazard is below `h` until [`LATEST`]; else the nearer end when the hazard does not pass `h` between.
pub(crate) fn time_at(h: f64, low: f64, high: f64, hazard: &dyn Fn(f64) -> f64) -> f64 {
    let (low, high) = (low.max(f64::MIN_POSITIVE), high.min(LATEST));
    if high == LATEST && hazard(LATEST) < h {
        return f64::INFINITY;
    }
    if low >= high {
        return high;
    }
    let target = libm::log(h);
    let time = |v: f64| libm::exp(v).clamp(low, high);
    time(bracketed_root(libm::log(low), libm::log(high), &mut |v| libm::log(hazard(time(v))) - target))
}

/// Where a function that does not decrease has the value `target`, above 0, between `low` and `high`, both 0 or more; `f`
/// gives the function and its slope, `start` is a guess.
///
/// Infinite when the function is below `target` until [`LATEST`]; else the nearer end when it does not pass it between.
/// Newton's method on `ln f` over `ln x`, where hazards are nearly straight; it halves the bracket instead when a step
/// leaves it or is not half of the one before (Press et al., Numerical Recipes, 9.4), so that it always ends.
pub(crate) fn rising(
    target: f64,
    low: f64,
    high: f64,
    start: f64,
    f: &mut dyn FnMut(f64) -> (f64, f64),
) -> f64 {
    const STEPS: usize = 200;
    let (mut low, mut high) = (low.max(f64::MIN_POSITIVE), high.min(LATEST));
    if high == LATEST && f(LATEST).0 < target {
        return f64::INFINITY;
    }
    if low >= high {
        return high;
    }
    let mut x = if start > low && start < high { start } else { low };
    // The most that the next step may be; the last step, and what it was to make good, if it was one of Newton's.
    let (mut most, mut last) = (f64::INFINITY, [0.0; 2]);
    for _ in 0..STEPS {
        let (value, slope) = f(x);
        if value == target {
            return x;
        }
        if value < target {
            low = x;
        } else {
            high = x;
        }
        let off = libm::log(target / value);
        let step = off * (value / slope / x);
        let next = x * libm::exp(step);
        if next > low && next < high && step.abs() < most {
            x = next;
            most = 0.5 * step.abs();
            // Both shrink as their squares: the next one is about this one cubed over the last one squared. Where only the step
            // does, the slope is that of a kink.
            let rest = |now: f64, last: f64| now.abs() * (now / last) * (now / last);
            if rest(step, last[0]).max(rest(off, last[1])) < f64::EPSILON / 8.0 {
                return x;
            }
            last = [step, off];
        } else {
            if low * (1.0 + 2.0 * f64::EPSILON) >= high {
                return x;
            }
            if step.abs() < f64::EPSILON {
                // The end of the way, unless the slope is that of a kink.
                let below = value < target;
                let beside = x * (1.0 + if below { 2.0 } else { -2.0 } * f64::EPSILON);
                if (f(beside).0 < target) != below {
                    return x;
                }
                if below {
                    low = beside;
                } else {
                    high = beside;
                }
            }
            x = libm::sqrt(low) * libm::sqrt(high);
            last = [0.0; 2];
            most = 0.5 * libm::log(high / low);
        }
    }
    x
}

/// What error of an integral does not matter, of each of N functions that share their evaluations.
#[derive(Clone, Copy)]
pub(crate) struct Tolerance<const N: usize> {
    /// As a share of the integral; what rounding leaves is never refined.
    pub(crate) relative: f64,
    pub(crate) absolute: [f64; N],
}

/// Adaptive integration by the 15-point Gauss–Kronrod rule (QUADPACK, 1983) from the first to the last of `points`,
/// which increase and should hold every kink. Estimated error below 1e-11 of each integral of a positive function; the true one
/// is mostly far below.
///
/// Errors below `absolute` do not matter.
///
/// # Errors
/// [`LawError::NotConverged`] when the estimated error is still above 1e-10 after `PIECES` pieces.
pub(crate) fn integrate<const N: usize>(
    what: &'static str,
    points: &[f64],
    absolute: [f64; N],
    f: &mut dyn FnMut(f64) -> [f64; N],
) -> Result<[f64; N], LawError> {
    integrate_within(what, points, Tolerance { relative: 1e-11, absolute }, f)
}

/// [`integrate`] to another precision than the best.
pub(crate) fn integrate_within<const N: usize>(
    what: &'static str,
    points: &[f64],
    tolerance: Tolerance<N>,
    f: &mut dyn FnMut(f64) -> [f64; N],
) -> Result<[f64; N], LawError> {
    const PIECES: usize = 4_000;
    const ROUNDS: usize = 48;
    let mut pieces: Vec<Piece<N>> =
        points.windows(2).filter(|w| w[1] > w[0]).map(|w| Piece::new(w[0], w[1], f)).collect();
    let mut worst = 0.0;
    for _ in 0..ROUNDS {
        let total = sum(&pieces, |p| p.value);
        let error = sum(&pieces, |p| p.error);
        let bound = |i: usize| (tolerance.relative * total[i].abs()).max(tolerance.absolute[i]);
        let matters = |i: usize| if error[i] <= bound(i) { 0.0 } else { error[i] / total[i].abs() };
        worst = (0..N).map(matters).fold(0.0, f64::max);
        if worst == 0.0 || pieces.len() > PIECES {
            break;
        }
        let share = 1.0 / pieces.len() as f64;
        let fine = |i: usize| (0.25 * tolerance.relative * total[i].abs()).max(tolerance.absolute[i]);
        let mut next = Vec::with_capacity(2 * pieces.len());
        for piece in pieces {
            let refine = (0..N).any(|i| piece.error[i] > share * fine(i));
            let middle = 0.5 * (piece.from + piece.to);
            if refine && middle > piece.from && middle < piece.to {
                next.push(Piece::new(piece.from, middle, f));
                next.push(Piece::new(middle, piece.to, f));
            } else {
                next.push(piece);
            }
        }
        pieces = next;
    }
    if worst > 1e-10 {
        return Err(LawError::NotConverged { what, error: worst });
    }
    Ok(sum(&pieces, |p| p.value))
}

fn sum<const N: usize>(pieces: &[Piece<N>], part: impl Fn(&Piece<N>) -> [f64; N]) -> [f64; N] {
    pieces.iter().fold([0.0; N], |sum, p| {
        let value = part(p);
        core::array::from_fn(|i| sum[i] + value[i])
    })
}

/// Nodes and weights of one panel of the Kronrod rule.
pub(crate) fn nodes(from: f64, to: f64) -> impl Iterator<Item = (f64, f64)> {
    let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
    (0..RULE.len() * 2 - 1).map(move |i| {
        let (node, weight, _) = RULE[i.div_ceil(2)];
        (if i % 2 == 0 { centre + half * node } else { centre - half * node }, half * weight)
    })
}

/// One interval with its integrals and their estimated errors.
struct Piece<const N: usize> {
    from: f64,
    to: f64,
    value: [f64; N],
    error: [f64; N],
}

impl<const N: usize> Piece<N> {
    fn new(from: f64, to: f64, f: &mut dyn FnMut(f64) -> [f64; N]) -> Piece<N> {
        let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
        let middle = f(centre);
        let mut values = [middle; 15];
        for (i, (node, ..)) in RULE.iter().enumerate().skip(1) {
            values[2 * i - 1] = f(centre - half * node);
            values[2 * i] = f(centre + half * node);
        }
        let part = |i: usize| {
            let (mut kronrod, mut gauss) = (0.0, 0.0);
            for (j, value) in values.iter().enumerate() {
                let (_, wk, wg) = RULE[j.div_ceil(2)];
                kronrod += wk * value[i];
                gauss += wg * value[i];
            }
            let mean = 0.5 * kronrod;
            let spread: f64 =
                values.iter().enumerate().map(|(j, v)| RULE[j.div_ceil(2)].1 * (v[i] - mean).abs()).sum();
            let difference = (kronrod - gauss).abs();
            let error = if spread > 0.0 {
                spread * libm::pow(200.0 * difference / spread, 1.5).min(1.0)
            } else {
                difference
            };
            // A survival e^-H carries the rounding of H, some hundred ε far out: below it there is nothing to refine.
            let floor = 1e-12 * kronrod.abs();
            (half * kronrod, if error <= floor { 0.0 } else { half * error })
        };
        let parts: [(f64, f64); N] = core::array::from_fn(part);
        Piece { from, to, value: parts.map(|(value, _)| value), error: parts.map(|(_, error)| error) }
    }
}

/// Node, Kronrod weight, Gauss weight (0 where the Gauss rule has no node), from the centre outwards.
pub(crate) const RULE: [(f64, f64, f64); 8] = [
    (0.0, 0.209_482_141_084_727_82, 0.417_959_183_673_469_4),
    (0.207_784_955_007_898_48, 0.204_432_940_075_298_89, 0.0),
    (0.405_845_151_377_397_2, 0.190_350_578_064_785_42, 0.381_830_050_505_118_9),
    (0.586_087_235_467_691_1, 0.169_004_726_639_267_9, 0.0),
    (0.741_531_185_599_394_5, 0.140_653_259_715_525_92, 0.279_705_391_489_276_64),
    (0.864_864_423_359_769_1, 0.104_790_010_322_250_19, 0.0),
    (0.949_107_912_342_758_5, 0.063_092_092_629_978_56, 0.129_484_966_168_869_7),
    (0.991_455_371_120_812_6, 0.022_935_322_010_529_224, 0.0),
];
