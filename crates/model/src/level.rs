//! Levels: where in a distribution, precise at both ends.

use crate::LawError;
use crate::special::complement;

/// A place in a distribution: a fraction `p` lies below it and `s = 1 - p` above it.
///
/// It is held as the hazards of both sides, `-ln s` and `-ln p`, which have full relative precision at either end: `p = 1e-300`
/// is `-ln s = 1e-300`, and `s = 1e-300` is `-ln s = 690.8`. So give whichever of `p` and `s` is the small one.
///
/// ```
/// use fantail_model::Level;
///
/// let far = Level::above(1e-300)?;
/// assert_eq!(far.p(), 1.0);
/// assert!((far.s() / 1e-300 - 1.0).abs() < 1e-12);
/// assert_eq!(Level::below(0.75)?, Level::above(0.25)?);
/// # Ok::<(), fantail_model::LawError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Level {
    /// `-ln s`.
    hazard: f64,
    /// `-ln p`.
    opposite: f64,
}

impl Level {
    /// The median, `p = s = 1/2`.
    pub const MEDIAN: Level = Level { hazard: core::f64::consts::LN_2, opposite: core::f64::consts::LN_2 };

    /// The level with a fraction `p`, from 0 to 1, below it.
    ///
    /// # Errors
    /// [`LawError::OutOfRange`] when `p` is not a number from 0 to 1.
    pub fn below(p: f64) -> Result<Level, LawError> {
        LawError::check("p", p, (0.0..=1.0).contains(&p), "from 0 to 1")?;
        Ok(Level { hazard: -ln_rest(p), opposite: -ln(p) })
    }

    /// The level with a fraction `s`, from 0 to 1, above it.
    ///
    /// # Errors
    /// [`LawError::OutOfRange`] when `s` is not a number from 0 to 1.
    pub fn above(s: f64) -> Result<Level, LawError> {
        LawError::check("s", s, (0.0..=1.0).contains(&s), "from 0 to 1")?;
        Ok(Level { hazard: -ln(s), opposite: -ln_rest(s) })
    }

    /// The level at the cumulative hazard `h = -ln s`, from 0 to infinity. Reaches beyond the smallest float: `s = e^-1000`.
    ///
    /// # Errors
    /// [`LawError::OutOfRange`] when `h` is negative or not a number.
    pub fn at_hazard(h: f64) -> Result<Level, LawError> {
        LawError::check("h", h, h >= 0.0, "0 or more")?;
        Ok(Level::from_hazard(h))
    }

    /// A level from a hazard that this crate computed.
    pub(crate) fn from_hazard(h: f64) -> Level {
        Level { hazard: h, opposite: complement(h) }
    }

    /// The fraction below, 0 to 1.
    pub fn p(self) -> f64 {
        -libm::expm1(-self.hazard)
    }

    /// The fraction above, 0 to 1.
    pub fn s(self) -> f64 {
        libm::exp(-self.hazard)
    }

    /// `ln p`, precise where `p` rounds to 1; minus infinity at the lower end.
    pub fn ln_p(self) -> f64 {
        -self.opposite
    }

    /// `ln s`, precise where `s` rounds to 1 or to 0; minus infinity at the upper end.
    pub fn ln_s(self) -> f64 {
        -self.hazard
    }

    /// `-ln s`, 0 to infinity: the same level of a unit exponential.
    pub const fn hazard(self) -> f64 {
        self.hazard
    }

    /// `-ln p`, 0 to infinity.
    pub(crate) const fn opposite(self) -> f64 {
        self.opposite
    }
}

/// `ln x`. Through `1 - x` where that is exact, so that `p` and `s = 1 - p` are the same level to the last bit.
fn ln(x: f64) -> f64 {
    if x < 0.5 { libm::log(x) } else { libm::log1p(x - 1.0) }
}

/// `ln (1 - x)`, likewise.
fn ln_rest(x: f64) -> f64 {
    if x <= 0.5 { libm::log1p(-x) } else { libm::log(1.0 - x) }
}
