//! Levels: where in a distribution, precise at both ends.

use crate::LawError;
use crate::special::complement;

/// A place in a distribution: a fraction `p` lies below it and `s = 1 - p` above it.
///
/// It is held as the hazard `h = -ln s`, which has full relative precision at both ends: `p = 1e-300` is `h = 1e-300`,
/// and `s = 1e-300` is `h = 690.8`. So give whichever of `p` and `s` is the small one.
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
pub struct Level(f64);

impl Level {
    /// The median, `p = s = 1/2`.
    pub const MEDIAN: Level = Level(core::f64::consts::LN_2);

    /// The level with a fraction `p`, from 0 to 1, below it.
    ///
    /// # Errors
    /// [`LawError::OutOfRange`] when `p` is not a number from 0 to 1.
    pub fn below(p: f64) -> Result<Level, LawError> {
        LawError::check("p", p, (0.0..=1.0).contains(&p), "from 0 to 1")?;
        Ok(Level(-libm::log1p(-p)))
    }

    /// The level with a fraction `s`, from 0 to 1, above it.
    ///
    /// # Errors
    /// [`LawError::OutOfRange`] when `s` is not a number from 0 to 1.
    pub fn above(s: f64) -> Result<Level, LawError> {
        LawError::check("s", s, (0.0..=1.0).contains(&s), "from 0 to 1")?;
        // Through 1 - s where that is exact: near s = 1 the logarithm of s would be as exact, but not the same bits.
        Ok(Level(if s < 0.5 { -libm::log(s) } else { -libm::log1p(s - 1.0) }))
    }

    /// The level at the cumulative hazard `h = -ln s`, from 0 to infinity. Reaches beyond the smallest float: `s = e^-1000`.
    ///
    /// # Errors
    /// [`LawError::OutOfRange`] when `h` is negative or not a number.
    pub fn at_hazard(h: f64) -> Result<Level, LawError> {
        LawError::check("h", h, h >= 0.0, "0 or more")?;
        Ok(Level(h))
    }

    /// A level from a hazard that this crate computed.
    pub(crate) const fn from_hazard(h: f64) -> Level {
        Level(h)
    }

    /// The fraction below, 0 to 1.
    pub fn p(self) -> f64 {
        -libm::expm1(-self.0)
    }

    /// The fraction above, 0 to 1.
    pub fn s(self) -> f64 {
        libm::exp(-self.0)
    }

    /// `ln p`, precise where `p` rounds to 1; minus infinity at the lower end.
    pub fn ln_p(self) -> f64 {
        -complement(self.0)
    }

    /// `ln s`, precise where `s` rounds to 1 or to 0; minus infinity at the upper end.
    pub fn ln_s(self) -> f64 {
        -self.0
    }

    /// `-ln s`, 0 to infinity: the same level of a unit exponential.
    pub const fn hazard(self) -> f64 {
        self.0
    }
}
