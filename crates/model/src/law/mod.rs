//! Laws of a latency: one value type over families and their combinations.

mod empirical;
mod exponential;
mod gamma;
mod log_logistic;
mod log_normal;
mod mixture;
mod pareto;
mod scaled;
mod shifted;
mod spread;
mod weibull;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::branch::{Cut, Hedged, Race, Restarted};
use crate::dependence::Together;
use crate::moments::{self, Moments};
use crate::numeric::LATEST;
use crate::{LawError, Level};
use empirical::Empirical;
use exponential::Exponential;
use gamma::Gamma;
use log_logistic::LogLogistic;
use log_normal::LogNormal;
use mixture::Mixture;
use pareto::Pareto;
use scaled::Scaled;
use shifted::Shifted;
use spread::Spread;
use weibull::Weibull;

/// The law of a latency, in seconds, from 0 to infinity; mass at infinity (an answer that never comes) is allowed.
///
/// A law states its cumulative hazard `H(t) = -ln P(T > t)` and the inverse of it; both keep relative precision in both
/// tails, and everything else follows from them. A combination of laws is a law again. Cloning is cheap.
///
/// ```
/// use fantail_model::{Law, Level};
///
/// let call = Law::log_normal(1.0, 0.6)?;
/// let p95 = call.quantile(Level::above(0.05)?);
/// let hedged = call.hedged(&[p95])?;
/// assert_eq!(call.quantile(Level::MEDIAN), 1.0);
/// assert!(hedged.survival(6.0) < call.survival(6.0) / 10.0);
/// # Ok::<(), fantail_model::LawError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Law(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Exponential(Exponential),
    LogNormal(LogNormal),
    Weibull(Weibull),
    Gamma(Gamma),
    LogLogistic(LogLogistic),
    Pareto(Pareto),
    Shifted(Shifted),
    Scaled(Scaled),
    Spread(Spread),
    Mixture(Mixture),
    Empirical(Empirical),
    Race(Race),
    Hedged(Hedged),
    Restarted(Restarted),
    Cut(Cut),
    Together(Together),
}

/// What a family or a combination states about itself; [`Law`] derives the rest.
///
/// Times are 0 or more and may be infinite; hazards likewise.
pub(crate) trait Family: fmt::Display {
    /// `H(t) = -ln P(T > t)`: 0 at the start of the support, not decreasing.
    fn hazard(&self, t: f64) -> f64;
    /// The earliest time at which the hazard is `h`; infinite beyond [`Family::hazard_at_infinity`].
    fn inverse(&self, h: f64) -> f64;
    /// H(t) and the hazard rate `H'(t)`, which is 0 outside the support.
    fn hazard_and_rate(&self, t: f64) -> (f64, f64);
    /// The hazard that is never exceeded: finite when there is mass at infinity.
    fn hazard_at_infinity(&self) -> f64 {
        f64::INFINITY
    }
    /// The least upper bound of the orders whose moment is finite; 0 with mass at infinity.
    fn tail_index(&self) -> f64 {
        f64::INFINITY
    }
    /// Adds the times inside the support at which H is not smooth.
    fn kinks(&self, _into: &mut Vec<f64>) {}
    /// How much work one evaluation of the hazard is, beside that of a family.
    fn work(&self) -> f64 {
        1.0
    }
    /// Mean and variance where there is a closed form.
    fn moments(&self) -> Option<Moments> {
        None
    }
}

impl Law {
    /// Exponential with the given mean.
    ///
    /// # Errors
    /// A mean outside 1e-15 to 1e15 seconds.
    pub fn exponential(mean: f64) -> Result<Law, LawError> {
        Ok(Law(Kind::Exponential(Exponential::new(mean)?)))
    }

    /// Log-normal with the given median in seconds; `sigma` is the standard deviation of `ln T`.
    ///
    /// # Errors
    /// A median outside 1e-15 to 1e15 seconds, a sigma outside 1e-9 to 30.
    pub fn log_normal(median: f64, sigma: f64) -> Result<Law, LawError> {
        Ok(Law(Kind::LogNormal(LogNormal::new(median, sigma)?)))
    }

    /// Median in seconds and sigma of a law that was made by [`Law::log_normal`]; `None` for any other.
    pub fn as_log_normal(&self) -> Option<(f64, f64)> {
        match &self.0 {
            Kind::LogNormal(law) => Some((law.median, law.sigma)),
            _ => None,
        }
    }

    /// Weibull, `H = (t / scale)^shape`.
    ///
    /// # Errors
    /// A scale outside 1e-15 to 1e15 seconds, a shape outside 0.01 to 1e6.
    pub fn weibull(shape: f64, scale: f64) -> Result<Law, LawError> {
        Ok(Law(Kind::Weibull(Weibull::new(shape, scale)?)))
    }

    /// Gamma, the sum of `shape` exponentials of mean `scale` where the shape is a whole number; mean `shape * scale`.
    ///
    /// ```
    /// use fantail_model::{Law, Level};
    ///
    /// let call = Law::gamma(2.0, 0.5)?;
    /// assert_eq!(call.mean()?, 1.0);
    /// assert!((call.survival(3.0) / (7.0 * (-6.0_f64).exp()) - 1.0).abs() < 1e-14);
    /// # Ok::<(), fantail_model::LawError>(())
    /// ```
    ///
    /// # Errors
    /// A scale outside 1e-15 to 1e15 seconds, a shape outside 0.01 to 1e6.
    pub fn gamma(shape: f64, scale: f64) -> Result<Law, LawError> {
        Ok(Law(Kind::Gamma(Gamma::new(shape, scale)?)))
    }

    /// Log-logistic with median `alpha` in seconds and tail index `beta`, `S = 1 / (1 + (t / alpha)^beta)`.
    ///
    /// # Errors
    /// An alpha outside 1e-15 to 1e15 seconds, a beta outside 0.01 to 1e6.
    pub fn log_logistic(alpha: f64, beta: f64) -> Result<Law, LawError> {
        Ok(Law(Kind::LogLogistic(LogLogistic::new(alpha, beta)?)))
    }

    /// Pareto from `xm` seconds on with tail index `alpha`, `S = (xm / t)^alpha`.
    ///
    /// # Errors
    /// An xm outside 1e-15 to 1e15 seconds, an alpha outside 0.01 to 1e6.
    pub fn pareto(xm: f64, alpha: f64) -> Result<Law, LawError> {
        Ok(Law(Kind::Pareto(Pareto::new(xm, alpha)?)))
    }

    /// Regimes: with the probability of its weight, T follows that part. Weights are scaled to sum to 1.
    ///
    /// ```
    /// use fantail_model::{Law, Level};
    ///
    /// let body = Law::log_normal(0.8, 0.1)?;
    /// let stalls = Law::pareto(1.6, 2.7)?;
    /// let call = Law::mixture(&[(0.95, body), (0.05, stalls)])?;
    /// assert!((call.survival(1.6) - 0.05).abs() < 1e-9);
    /// # Ok::<(), fantail_model::LawError>(())
    /// ```
    ///
    /// # Errors
    /// No part or more than 64; a weight that is not above 0 and at most 1e15.
    pub fn mixture(parts: &[(f64, Law)]) -> Result<Law, LawError> {
        let mixture = Mixture::new(parts)?;
        Ok(mixture.only_part().cloned().unwrap_or(Law(Kind::Mixture(mixture))))
    }

    /// Latencies as they were seen, in any order: those of attempts that answered, and the ages of attempts that were cut off
    /// or still ran when last looked at (censored). The product-limit estimate, straight between its steps.
    ///
    /// No time lies beyond the last answer: when censored attempts were older, their share never answers, else nothing is
    /// later. Of more than 1,000 different times some are left out, so that no share before or after a time is off by more
    /// than 2 % of itself.
    ///
    /// ```
    /// use fantail_model::{Law, Level};
    ///
    /// let call = Law::empirical(&[0.8, 0.9, 1.1, 3.0], &[1.0])?;
    /// assert!((call.survival(0.9) - 0.6).abs() < 1e-15);
    /// // Of the two that were watched longer than 1 s, one answered at 1.1 s.
    /// assert!((call.survival(1.1) - 0.3).abs() < 1e-15);
    /// assert_eq!(call.quantile(Level::above(0.0)?), 3.0);
    /// # Ok::<(), fantail_model::LawError>(())
    /// ```
    ///
    /// # Errors
    /// No answered latency; a time outside 0 to 1e15 seconds.
    pub fn empirical(answered: &[f64], censored: &[f64]) -> Result<Law, LawError> {
        Ok(Law(Kind::Empirical(Empirical::new(answered, censored)?)))
    }

    /// This law, later by `by` seconds.
    ///
    /// # Errors
    /// A shift outside 0 to 1e15 seconds.
    pub fn shifted(&self, by: f64) -> Result<Law, LawError> {
        LawError::check("shift", by, (0.0..=1e15).contains(&by), "0 to 1e15 seconds")?;
        Ok(if by == 0.0 { self.clone() } else { Law(Kind::Shifted(Shifted { by, base: self.shared() })) })
    }

    /// This law in a unit that is `by` times as long: every time is multiplied by it.
    ///
    /// # Errors
    /// A factor outside 1e-15 to 1e15.
    pub fn scaled(&self, by: f64) -> Result<Law, LawError> {
        LawError::check("factor", by, (1e-15..=1e15).contains(&by), "1e-15 to 1e15")?;
        Ok(if by == 1.0 { self.clone() } else { Law(Kind::Scaled(Scaled { by, base: self.shared() })) })
    }

    /// This law with its log time `by` times as far from the median, which stays: `T = m (T / m)^by`. It multiplies the
    /// sigma of a log-normal, and divides the index of a power tail.
    ///
    /// ```
    /// use fantail_model::{Law, Level};
    ///
    /// let (call, p99) = (Law::log_normal(2.0, 0.6)?, Level::above(0.01)?);
    /// let wider = call.spread(1.1)?;
    /// assert_eq!(wider.quantile(Level::MEDIAN), 2.0);
    /// assert!((wider.quantile(p99) / Law::log_normal(2.0, 0.66)?.quantile(p99) - 1.0).abs() < 1e-14);
    /// # Ok::<(), fantail_model::LawError>(())
    /// ```
    ///
    /// # Errors
    /// A factor outside 0.01 to 100; a law whose median is 0 or infinite.
    pub fn spread(&self, by: f64) -> Result<Law, LawError> {
        LawError::check("factor", by, (0.01..=100.0).contains(&by), "0.01 to 100")?;
        let median = self.quantile(Level::MEDIAN);
        LawError::check("median", median, median > 0.0 && median < f64::INFINITY, "above 0 and finite")?;
        if by == 1.0 {
            return Ok(self.clone());
        }
        Ok(Law(Kind::Spread(Spread { by, median, base: self.shared() })))
    }

    /// The first answer of `r` independent attempts that start at once.
    ///
    /// # Errors
    /// An r outside 1 to 1,000.
    pub fn race(&self, r: u32) -> Result<Law, LawError> {
        LawError::check("r", f64::from(r), (1..=1_000).contains(&r), "1 to 1000 attempts")?;
        Ok(if r == 1 { self.clone() } else { Law(Kind::Race(Race { r: f64::from(r), base: self.shared() })) })
    }

    /// The first answer of an attempt and its independent copies, which start `delays` seconds later. A delay of zero
    /// is a race, an infinite one is no copy.
    ///
    /// # Errors
    /// A delay that is negative or not a number; more than 1,000 delays.
    pub fn hedged(&self, delays: &[f64]) -> Result<Law, LawError> {
        if delays.len() > 1_000 {
            return Err(LawError::Count { what: "delays", given: delays.len(), bound: "at most 1000" });
        }
        for &delay in delays {
            LawError::check("delay", delay, delay >= 0.0, "0 or more seconds")?;
        }
        let mut offsets: Vec<f64> = delays.iter().copied().filter(|d| d.is_finite()).collect();
        offsets.sort_unstable_by(f64::total_cmp);
        if offsets.last().is_none_or(|last| *last == 0.0) {
            return self.race(offsets.len() as u32 + 1);
        }
        offsets.insert(0, 0.0);
        Ok(Law(Kind::Hedged(Hedged { offsets: offsets.into(), base: self.shared() })))
    }

    /// The first answer of an attempt and an independent copy, which starts `delay` seconds later with `probability`
    /// only: `SingleR` of Kaler, He and Elnikety (Optimal Reissue Policies for Reducing Tail Latency, 2017).
    ///
    /// ```
    /// use fantail_model::{Law, Level};
    ///
    /// let call = Law::log_normal(1.0, 1.0)?;
    /// let (p80, p95) = (call.quantile(Level::above(0.2)?), call.quantile(Level::above(0.05)?));
    /// // Both send 5 % more requests.
    /// let (sometimes, always) = (call.hedged_sometimes(p80, 0.25)?, call.hedged(&[p95])?);
    /// assert!(sometimes.quantile(Level::above(0.04)?) < always.quantile(Level::above(0.04)?));
    /// # Ok::<(), fantail_model::LawError>(())
    /// ```
    ///
    /// # Errors
    /// A delay that is negative or not a number; a probability outside 0 to 1.
    pub fn hedged_sometimes(&self, delay: f64, probability: f64) -> Result<Law, LawError> {
        let hedged = self.hedged(&[delay])?;
        LawError::check("probability", probability, (0.0..=1.0).contains(&probability), "from 0 to 1")?;
        match probability {
            0.0 => Ok(self.clone()),
            1.0 => Ok(hedged),
            _ => Law::mixture(&[(1.0 - probability, self.clone()), (probability, hedged)]),
        }
    }

    /// An attempt that is given up after `after` seconds without an answer, when one independent attempt starts in its
    /// place. After zero or infinite seconds that is one attempt.
    ///
    /// # Errors
    /// A time that is negative or not a number.
    pub fn restarted(&self, after: f64) -> Result<Law, LawError> {
        LawError::check("after", after, after >= 0.0, "0 or more seconds")?;
        let until = self.hazard(after);
        Ok(if after > 0.0 && after.is_finite() && until.is_finite() {
            Law(Kind::Restarted(Restarted { at: after, until, base: self.shared() }))
        } else {
            self.clone()
        })
    }

    /// What a deadline leaves: answers after `deadline` seconds never come. An answer at the deadline is in time.
    ///
    /// # Errors
    /// A deadline that is negative or not a number. An infinite one cuts nothing.
    pub fn cut(&self, deadline: f64) -> Result<Law, LawError> {
        LawError::check("deadline", deadline, deadline >= 0.0, "0 or more seconds")?;
        Ok(if deadline.is_finite() {
            Law(Kind::Cut(Cut { at: deadline, most: self.hazard(deadline), base: self.shared() }))
        } else {
            self.clone()
        })
    }

    /// The first answer of attempts that share a factor.
    pub(crate) fn together(attempts: Together) -> Law {
        Law(Kind::Together(attempts))
    }

    /// `H(t) = -ln P(T > t)`, 0 to infinity. Negative times count as 0.
    pub fn hazard(&self, t: f64) -> f64 {
        self.family().hazard(t.max(0.0))
    }

    /// `P(T <= t)`.
    pub fn cdf(&self, t: f64) -> f64 {
        -libm::expm1(-self.hazard(t))
    }

    /// `P(T > t)`, with relative precision down to the smallest float.
    pub fn survival(&self, t: f64) -> f64 {
        libm::exp(-self.hazard(t))
    }

    /// `ln P(T <= t)`; minus infinity before the support.
    pub fn ln_cdf(&self, t: f64) -> f64 {
        self.level(t).ln_p()
    }

    /// `ln P(T > t)`, where the probability itself may be far below the smallest float.
    pub fn ln_survival(&self, t: f64) -> f64 {
        -self.hazard(t)
    }

    /// The density per second at `t`.
    pub fn pdf(&self, t: f64) -> f64 {
        let (hazard, rate) = self.hazard_and_rate(t.max(0.0));
        let survival = libm::exp(-hazard);
        if survival == 0.0 || t.is_infinite() { 0.0 } else { rate * survival }
    }

    /// The level that `t` lies at.
    pub fn level(&self, t: f64) -> Level {
        Level::from_hazard(self.hazard(t))
    }

    /// The time at a level: the earliest by which a fraction p has answered. Infinite inside the mass at infinity, and
    /// beyond 1e290 seconds.
    pub fn quantile(&self, level: Level) -> f64 {
        self.inverse_hazard(level.hazard())
    }

    /// A draw, from a uniform number between 0 and 1 (which the caller draws); values outside count as the nearer end.
    pub fn sample(&self, uniform: f64) -> f64 {
        self.inverse_hazard(-libm::log1p(-uniform.clamp(0.0, 1.0)))
    }

    /// Half the width of the central 68.27 % in log time, between the levels Φ(-1) and Φ(1): the sigma of a log-normal, and
    /// its like for any other law. Infinite when one of the two is 0 or never.
    pub fn sigma(&self) -> f64 {
        /// `-ln Φ(1)` and `-ln Φ(-1)`.
        const ENDS: [f64; 2] = [0.172_753_779_023_449_88, 1.841_021_645_009_263_5];
        let [low, high] = ENDS.map(|h| libm::log(self.inverse_hazard(h)));
        if low.is_finite() && high.is_finite() { 0.5 * (high - low) } else { f64::INFINITY }
    }

    /// `P(T = infinity)`: the answer never comes.
    pub fn never(&self) -> f64 {
        libm::exp(-self.family().hazard_at_infinity())
    }

    /// Mean in seconds; infinite when an answer may never come or the tail is too heavy.
    ///
    /// # Errors
    /// [`LawError::NotConverged`] when an integral misses its precision (not seen for any law tested).
    pub fn mean(&self) -> Result<f64, LawError> {
        Ok(self.moments()?.mean)
    }

    /// Standard deviation in seconds; infinite like the mean, or alone when the tail allows no more.
    ///
    /// # Errors
    /// As for [`Law::mean`].
    pub fn sd(&self) -> Result<f64, LawError> {
        Ok(libm::sqrt(self.moments()?.variance))
    }

    pub(crate) fn moments(&self) -> Result<Moments, LawError> {
        self.family().moments().map_or_else(|| moments::of(self), Ok)
    }

    pub(crate) fn inverse_hazard(&self, h: f64) -> f64 {
        let family = self.family();
        if h > family.hazard_at_infinity() {
            return f64::INFINITY;
        }
        let time = family.inverse(h);
        if time > LATEST { f64::INFINITY } else { time }
    }

    /// Names every part of a mixture, of its mixtures too, with its weight times `weight`; any other law is one part.
    pub(crate) fn regimes(&self, weight: f64, name: &mut impl FnMut(f64, &Law)) {
        match &self.0 {
            Kind::Mixture(mixture) => {
                mixture.parts().iter().for_each(|(share, part)| part.regimes(weight * share, name));
            }
            _ => name(weight, self),
        }
    }

    pub(crate) fn hazard_at_infinity(&self) -> f64 {
        self.family().hazard_at_infinity()
    }

    pub(crate) fn hazard_and_rate(&self, t: f64) -> (f64, f64) {
        self.family().hazard_and_rate(t)
    }

    pub(crate) fn tail_index(&self) -> f64 {
        self.family().tail_index()
    }

    pub(crate) fn kinks(&self, into: &mut Vec<f64>) {
        self.family().kinks(into);
    }

    /// How much work one evaluation of the hazard is, beside that of a family.
    pub(crate) fn work(&self) -> f64 {
        self.family().work()
    }

    fn shared(&self) -> Arc<Law> {
        Arc::new(self.clone())
    }

    fn family(&self) -> &dyn Family {
        match &self.0 {
            Kind::Exponential(law) => law,
            Kind::LogNormal(law) => law,
            Kind::Weibull(law) => law,
            Kind::Gamma(law) => law,
            Kind::LogLogistic(law) => law,
            Kind::Pareto(law) => law,
            Kind::Shifted(law) => law,
            Kind::Scaled(law) => law,
            Kind::Spread(law) => law,
            Kind::Mixture(law) => law,
            Kind::Empirical(law) => law,
            Kind::Race(law) => law,
            Kind::Hedged(law) => law,
            Kind::Restarted(law) => law,
            Kind::Cut(law) => law,
            Kind::Together(law) => law,
        }
    }
}

/// The short form of the command line where there is one, `lognormal:median=1s,sigma=0.6`, times in seconds.
impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.family().fmt(f)
    }
}

impl moments::Curve for Law {
    fn hazard(&self, t: f64) -> f64 {
        Law::hazard(self, t)
    }

    fn inverse(&self, h: f64) -> f64 {
        self.inverse_hazard(h)
    }

    fn kinks(&self, into: &mut Vec<f64>) {
        Law::kinks(self, into);
    }

    fn tail_index(&self) -> f64 {
        Law::tail_index(self)
    }
}

/// Checks a scale: a time in seconds that a family is stretched by.
fn check_scale(parameter: &'static str, value: f64) -> Result<(), LawError> {
    LawError::check(parameter, value, (1e-15..=1e15).contains(&value), "1e-15 to 1e15 seconds")
}

/// Checks a shape or a tail index.
fn check_shape(parameter: &'static str, value: f64) -> Result<(), LawError> {
    LawError::check(parameter, value, (0.01..=1e6).contains(&value), "0.01 to 1e6")
}

/// `ln (t / scale)`, where t near the scale keeps the digits that the quotient would round away.
fn ln_ratio(t: f64, scale: f64) -> f64 {
    let over = (t - scale) / scale;
    if over.abs() < 0.5 { libm::log1p(over) } else { libm::log(t / scale) }
}
