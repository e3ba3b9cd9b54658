//! The hazard of a branch whose attempts all start together, as a function of the one value that they have in common.

use alloc::vec::Vec;

/// `ln h(x)` in Chebyshev polynomials on panels, which is quicker than the integral over B from a few hundred values on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Race {
    panels: Vec<[f64; Race::TERMS]>,
}

impl Race {
    /// Values from it on, of either sign, are not in the table.
    const REACH: f64 = 9.0;
    const PANELS_OF_ONE: f64 = 2.0;
    /// Zeros of the hazard are six times half of a panel's width away from it, so that each term is a twelfth of the one before.
    const TERMS: usize = 14;

    /// From the hazard at a value, in standard deviations of an attempt of its own.
    pub(super) fn new(hazard: impl Fn(f64) -> f64) -> Race {
        let count = (2.0 * Race::REACH * Race::PANELS_OF_ONE) as usize;
        let half = 0.5 / Race::PANELS_OF_ONE;
        let terms = Race::TERMS as f64;
        let angle = |i: usize| core::f64::consts::PI * (i as f64 + 0.5) / terms;
        let panel = |index: usize| {
            let centre = (2 * index + 1) as f64 * half - Race::REACH;
            let values: [f64; Race::TERMS] =
                core::array::from_fn(|i| libm::log(hazard(centre + half * libm::cos(angle(i)))));
            core::array::from_fn(|term| {
                let sum: f64 =
                    values.iter().enumerate().map(|(i, value)| value * libm::cos(term as f64 * angle(i))).sum();
                sum * if term == 0 { 1.0 } else { 2.0 } / terms
            })
        };
        Race { panels: (0..count).map(panel).collect() }
    }

    /// The hazard at a value; `None` beyond the table.
    pub(super) fn hazard(&self, value: f64) -> Option<f64> {
        let place = (value + Race::REACH) * Race::PANELS_OF_ONE;
        let panel = (place >= 0.0).then(|| self.panels.get(place as usize))??;
        let x = 2.0 * (place - libm::floor(place)) - 1.0;
        // Clenshaw's sum.
        let (mut last, mut before) = (0.0, 0.0);
        for term in panel[1..].iter().rev() {
            (last, before) = (term + 2.0 * x * last - before, last);
        }
        Some(libm::exp(panel[0] + x * last - before))
    }
}
