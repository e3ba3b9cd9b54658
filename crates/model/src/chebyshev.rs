//! Functions in Chebyshev polynomials, panel by panel, for those that are asked often and take long.

use alloc::vec::Vec;
use core::f64::consts::PI;

/// A function of a line, which is smooth on the scale of a few panels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Panels {
    from: f64,
    width: f64,
    /// Of each panel.
    terms: Vec<[f64; TERMS]>,
}

/// Where no singularity is nearer to a panel than its width and a half, each term is less than a sixth of the one before.
const TERMS: usize = 16;

impl Panels {
    /// So many panels of a width.
    pub(crate) fn new(from: f64, width: f64, count: usize, f: &dyn Fn(f64) -> f64) -> Panels {
        let angle = |i: usize| PI * (i as f64 + 0.5) / TERMS as f64;
        let panel = |index: usize| {
            let place = |i: usize| from + width * (index as f64 + 0.5 + 0.5 * libm::cos(angle(i)));
            let values: [f64; TERMS] = core::array::from_fn(|i| f(place(i)));
            core::array::from_fn(|term| {
                let terms =
                    values.iter().enumerate().map(|(i, value)| value * libm::cos(term as f64 * angle(i)));
                terms.sum::<f64>() * if term == 0 { 1.0 } else { 2.0 } / TERMS as f64
            })
        };
        Panels { from, width, terms: (0..count).map(panel).collect() }
    }

    /// Whether it is no further off than that, as the last terms of each panel tell.
    pub(crate) fn is_within(&self, error: f64) -> bool {
        self.terms.iter().all(|terms| terms[TERMS - 2..].iter().map(|term| term.abs()).sum::<f64>() <= error)
    }

    /// The value at a place; `None` beyond the panels.
    pub(crate) fn at(&self, x: f64) -> Option<f64> {
        let place = (x - self.from) / self.width;
        let panel = (place >= 0.0).then(|| self.terms.get(place as usize))??;
        let x = 2.0 * (place - libm::floor(place)) - 1.0;
        // Clenshaw's sum.
        let (mut last, mut before) = (0.0, 0.0);
        for term in panel[1..].iter().rev() {
            (last, before) = (term + 2.0 * x * last - before, last);
        }
        Some(panel[0] + x * last - before)
    }

    /// The integral from the first place on, with what it is there.
    pub(crate) fn integral(&self, start: f64) -> Panels {
        let mut sum = start;
        let panel = |of: &[f64; TERMS]| {
            let mut integral: [f64; TERMS] = core::array::from_fn(|term| {
                let before =
                    if term == 1 { 2.0 * of[0] } else { *of.get(term.wrapping_sub(1)).unwrap_or(&0.0) };
                let after = of.get(term + 1).unwrap_or(&0.0);
                if term == 0 { 0.0 } else { 0.25 * self.width * (before - after) / term as f64 }
            });
            let sign = |term: usize| if term.is_multiple_of(2) { 1.0 } else { -1.0 };
            let at_start: f64 = integral.iter().enumerate().map(|(term, part)| sign(term) * part).sum();
            integral[0] = sum - at_start;
            sum = integral.iter().sum();
            integral
        };
        Panels { terms: self.terms.iter().map(panel).collect(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::Panels;

    #[test]
    fn a_sine_and_its_integral_have_all_digits() {
        let sine = Panels::new(-3.0, 0.5, 20, &libm::sin);
        let integral = sine.integral(0.0);
        for i in 0..1_000 {
            let x = -3.0 + 0.01 * f64::from(i);
            assert!((sine.at(x).unwrap_or(9.0) - libm::sin(x)).abs() < 1e-14, "{x}");
            let expected = libm::cos(-3.0) - libm::cos(x);
            assert!((integral.at(x).unwrap_or(9.0) - expected).abs() < 1e-13, "{x}");
        }
        assert_eq!([sine.at(-3.1), sine.at(7.1), sine.at(f64::NAN)], [None; 3]);
    }
}
