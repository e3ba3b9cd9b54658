//! The hazard of a branch whose attempts all start together, as a function of the one value that they have in common.

use crate::chebyshev::Panels;

/// `ln h(x)`, which is quicker than the integral over B from a few hundred values on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Race {
    ln_hazard: Panels,
}

impl Race {
    /// Values beyond it, of either sign, are not in the table.
    const REACH: f64 = 9.0;
    const PANELS: usize = 36;

    /// From the hazard at a value, in standard deviations of an attempt of its own; `None` where it changes too fast.
    pub(super) fn new(hazard: &dyn Fn(f64) -> f64) -> Option<Race> {
        const PRECISION: f64 = 1e-13;
        let width = 2.0 * Race::REACH / Race::PANELS as f64;
        let ln_hazard = Panels::new(-Race::REACH, width, Race::PANELS, &|x| libm::log(hazard(x)));
        ln_hazard.is_within(PRECISION).then_some(Race { ln_hazard })
    }

    /// The hazard at a value; `None` beyond the table.
    pub(super) fn hazard(&self, value: f64) -> Option<f64> {
        self.ln_hazard.at(value).map(libm::exp)
    }
}
