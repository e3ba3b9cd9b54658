//! One attempt: how it may end, and when.

use alloc::vec::Vec;

use crate::moments::LANDMARKS;
use crate::numeric::integrate;
use crate::{Law, LawError};

/// An attempt that is answered, fails in a way that another attempt may mend, or fails for good.
///
/// ```
/// use fantail_model::{Attempt, Law};
///
/// // 2 % are refused quickly and may be sent elsewhere, 1 % are wrong for every target.
/// let attempt = Attempt::new(Law::log_normal(0.2, 0.5)?)
///     .retryable(0.02, Law::exponential(0.05)?)?
///     .permanent(0.01, Law::exponential(0.1)?)?;
/// let late = attempt.at(100.0);
/// assert_eq!(format!("{:.2} {:.2} {:.2}", late.answered, late.retryable, late.permanent), "0.97 0.02 0.01");
/// # Ok::<(), fantail_model::LawError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    answer: Law,
    retryable: Option<(f64, Law)>,
    permanent: Option<(f64, Law)>,
    timeout: f64,
}

/// How likely an attempt has ended in each way by a time; the four sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttemptAt {
    /// It has been answered.
    pub answered: f64,
    /// It has failed, or timed out, and another attempt may be sent.
    pub retryable: f64,
    /// It has failed for good.
    pub permanent: f64,
    /// It is running.
    pub open: f64,
}

impl AttemptAt {
    /// Failed in either way.
    pub fn failed(self) -> f64 {
        self.retryable + self.permanent
    }
}

impl Attempt {
    /// An attempt that does not fail, with the law of its answer.
    pub fn new(answer: Law) -> Attempt {
        Attempt { answer, retryable: None, permanent: None, timeout: f64::INFINITY }
    }

    /// A `share` of attempts fails retryably, after a time of that law.
    ///
    /// # Errors
    /// A share outside 0 to 1, or above what the permanent failures leave.
    pub fn retryable(self, share: f64, after: Law) -> Result<Attempt, LawError> {
        check_share(share, self.permanent.as_ref())?;
        Ok(Attempt { retryable: (share > 0.0).then_some((share, after)), ..self })
    }

    /// A `share` of attempts fails for good, after a time of that law: no other attempt is sent then.
    ///
    /// # Errors
    /// A share outside 0 to 1, or above what the retryable failures leave.
    pub fn permanent(self, share: f64, after: Law) -> Result<Attempt, LawError> {
        check_share(share, self.retryable.as_ref())?;
        Ok(Attempt { permanent: (share > 0.0).then_some((share, after)), ..self })
    }

    /// It fails retryably when it has run for `seconds`; infinite for never.
    ///
    /// # Errors
    /// A time that is not above 0.
    pub fn timeout(self, seconds: f64) -> Result<Attempt, LawError> {
        LawError::check("timeout", seconds, seconds > 0.0, "more than 0 seconds")?;
        Ok(Attempt { timeout: seconds, ..self })
    }

    /// How it stands `t` seconds after its start. An answer at the time-out is in time.
    pub fn at(&self, t: f64) -> AttemptAt {
        let running = self.before_timeout(t.min(self.timeout));
        if t >= self.timeout && self.timeout.is_finite() {
            let retryable = running.retryable + running.open;
            return AttemptAt { retryable, open: 0.0, ..running };
        }
        running
    }

    fn before_timeout(&self, t: f64) -> AttemptAt {
        let part = |failure: &Option<(f64, Law)>| {
            failure.as_ref().map_or((0.0, 0.0), |(share, law)| (share * law.cdf(t), share * law.survival(t)))
        };
        let ((retryable, later), (permanent, later_for_good)) =
            (part(&self.retryable), part(&self.permanent));
        let answers = self.answers();
        let open = answers * self.answer.survival(t) + later + later_for_good;
        AttemptAt { answered: answers * self.answer.cdf(t), retryable, permanent, open }
    }

    /// The share that is answered, were there no time-out.
    fn answers(&self) -> f64 {
        let share = |failure: &Option<(f64, Law)>| failure.as_ref().map_or(0.0, |(share, _)| *share);
        (1.0 - share(&self.retryable) - share(&self.permanent)).max(0.0)
    }

    /// How likely it ends in each way between two times, and is open at the later one.
    pub(super) fn between(&self, from: f64, to: f64) -> AttemptAt {
        if from >= self.timeout && self.timeout.is_finite() {
            return AttemptAt { answered: 0.0, retryable: 0.0, permanent: 0.0, open: 0.0 };
        }
        let end = to.min(self.timeout);
        let (before, after) = (self.before_timeout(from), self.before_timeout(end));
        let (open_before, open_after) = (self.open_by_part(from), self.open_by_part(end));
        // The smaller numbers are subtracted.
        let ended = |i: usize, before: f64, after: f64| {
            let by_survival = open_before[i] - open_after[i];
            if before < open_before[i] { after - before } else { by_survival }.max(0.0)
        };
        let timed_out = if to >= self.timeout && self.timeout.is_finite() { after.open } else { 0.0 };
        AttemptAt {
            answered: ended(0, before.answered, after.answered),
            retryable: ended(1, before.retryable, after.retryable) + timed_out,
            permanent: ended(2, before.permanent, after.permanent),
            open: after.open - timed_out,
        }
    }

    /// Of what is open at `t`, how much will end in each way.
    fn open_by_part(&self, t: f64) -> [f64; 3] {
        let later = |failure: &Option<(f64, Law)>| {
            failure.as_ref().map_or(0.0, |(share, law)| share * law.survival(t))
        };
        [self.answers() * self.answer.survival(t), later(&self.retryable), later(&self.permanent)]
    }

    /// `∫ g(t - y) dR(y)` over the retryable failures up to `until`, of two functions of how a second attempt stands that
    /// starts at such a failure.
    pub(super) fn after_failure(
        &self,
        t: f64,
        until: f64,
        g: impl Fn(AttemptAt) -> [f64; 2],
    ) -> Result<[f64; 2], LawError> {
        let mut sum = [0.0; 2];
        let mut add = |weight: f64, part: [f64; 2]| {
            sum[0] += weight * part[0];
            sum[1] += weight * part[1];
        };
        if until >= self.timeout && self.timeout.is_finite() {
            add(self.before_timeout(self.timeout).open, g(self.at(t - self.timeout)));
        }
        if let Some((share, law)) = &self.retryable {
            let points = self.points(law, t, until.min(self.timeout));
            let integrals = integrate("attempts after a failure", &points, [0.0; 2], &mut |v| {
                // In the logarithm of the hazard, where any law's failures are spread alike.
                let h = libm::exp(v);
                let weight = libm::exp(v - h);
                let [first, second] = g(self.at((t - law.inverse_hazard(h)).max(0.0)));
                [weight * first, weight * second]
            })?;
            add(*share, integrals);
        }
        Ok(sum)
    }

    /// Where to split that integral: in the logarithm of the failure's hazard, up to a time.
    fn points(&self, failure: &Law, t: f64, until: f64) -> Vec<f64> {
        const LEAST: f64 = -60.0;
        const MOST: f64 = 6.6;
        let last = libm::log(failure.hazard(until)).min(MOST);
        let first = LEAST.min(last + LEAST);
        if last == f64::NEG_INFINITY {
            return Vec::new();
        }
        let mut points: Vec<f64> = LANDMARKS.iter().map(|h| libm::log(*h)).collect();
        let mut times = Vec::new();
        failure.kinks(&mut times);
        let mut second = alloc::vec![self.timeout];
        let laws = [&self.retryable, &self.permanent].into_iter().flatten().map(|(_, law)| law);
        for law in laws.chain([&self.answer]) {
            law.kinks(&mut second);
            second.push(law.inverse_hazard(0.0));
            second.extend(LANDMARKS.map(|h| law.inverse_hazard(h)));
        }
        times.extend(second.into_iter().map(|age| t - age));
        points.extend(times.into_iter().filter(|y| *y > 0.0).map(|y| libm::log(failure.hazard(y))));
        points.retain(|v| *v > first && *v < last);
        points.extend([first, last]);
        points.sort_unstable_by(f64::total_cmp);
        points.dedup();
        points
    }

    /// Adds the ages at which it is not smooth.
    pub(super) fn kinks(&self, into: &mut Vec<f64>) {
        into.push(self.timeout);
        let laws = [&self.retryable, &self.permanent].into_iter().flatten().map(|(_, law)| law);
        for law in laws.chain([&self.answer]) {
            into.push(law.inverse_hazard(0.0));
            law.kinks(into);
        }
    }
}

/// Checks a share of failures beside another one.
fn check_share(share: f64, other: Option<&(f64, Law)>) -> Result<(), LawError> {
    let most = 1.0 - other.map_or(0.0, |(share, _)| *share);
    LawError::check("share", share, (0.0..=most).contains(&share), "from 0 to what other failures leave of 1")
}
