//! Integrals over J by the trapezoid rule, for chances that change smoothly with it.
//!
//! Given J, the chances of a job at an instant are analytic in J and of a known steepness: that of one branch, sharpened by how
//! many there are. So the rule's error falls as `e^(-c/h)` at least, and each halving of the step h squares it. The values of J are
//! the same at every instant.

use super::orthant::density;
use crate::SolveError;
use crate::numeric::Tolerance;

/// Where the density of J is below the least float.
const FAR: f64 = 38.5;
/// Steeper chances are a matter of finding where they change.
const STEEPEST: f64 = 16.0;

/// `∫ φ(j) f(j) dj`, given `φ(j) f(j)`, each 0 or more, for functions that change over `1 / steep` of j, not faster; `None` where
/// the rule does not settle.
pub(super) fn sum<const N: usize>(
    steep: f64,
    tolerance: Tolerance<N>,
    weighted: &mut dyn FnMut(f64) -> Result<[f64; N], SolveError>,
) -> Result<Option<[f64; N]>, SolveError> {
    /// Steps of the first sum in a change: its error is then a hundredth of what changes there.
    const FIRST: f64 = 2.0;
    /// An error whose square does not count.
    const CLOSE: f64 = 1e-7;
    const HALVINGS: usize = 4;
    if steep > STEEPEST {
        return Ok(None);
    }
    let mut step = (FIRST / steep).min(1.0);
    let (first, [mut low, mut high]) = ends(step, tolerance, weighted)?;
    let mut total = first.map(|sum| sum * step);
    for _ in 0..HALVINGS {
        let mut between = [0.0; N];
        for i in low..high {
            let terms = weighted((f64::from(i) + 0.5) * step)?;
            between = core::array::from_fn(|i| between[i] + terms[i]);
        }
        let finer: [f64; N] = core::array::from_fn(|i| 0.5 * (total[i] + step * between[i]));
        let close = |i: usize| {
            let off = (finer[i] - total[i]).abs();
            off <= CLOSE * finer[i] || off <= tolerance.absolute[i]
        };
        let settled = (0..N).all(close);
        (step, total, low, high) = (0.5 * step, finer, 2 * low, 2 * high);
        if settled {
            return Ok(Some(total));
        }
    }
    Ok(None)
}

/// The sum over whole steps as far as it counts, and from which to which step that is.
fn ends<const N: usize>(
    step: f64,
    tolerance: Tolerance<N>,
    weighted: &mut dyn FnMut(f64) -> Result<[f64; N], SolveError>,
) -> Result<([f64; N], [i32; 2]), SolveError> {
    /// As a share of the sum; two in a row end it.
    const NOTHING: f64 = 1e-17;
    let mut sum = weighted(0.0)?;
    let mut ends = [0; 2];
    for (end, direction) in ends.iter_mut().zip([-1, 1]) {
        let mut quiet = 0;
        while quiet < 2 {
            let j = f64::from(*end + direction) * step;
            if j.abs() > FAR {
                break;
            }
            let terms = weighted(j)?;
            sum = core::array::from_fn(|i| sum[i] + terms[i]);
            // Nothing yet may be something further out.
            let counts = |i: usize| {
                let nothing = terms[i] <= NOTHING * sum[i] && sum[i] > 0.0;
                !nothing && density(j) > tolerance.absolute[i]
            };
            quiet = if (0..N).any(counts) { 0 } else { quiet + 1 };
            *end += direction;
        }
    }
    Ok((sum, ends))
}
