//! How long a failed try waits.

use fantail_core::Time;

/// Exponential back-off with jitter: after try number m the pause is drawn evenly from the upper half of
/// `min(longest, first * 2^(m - 1))`, and is never shorter than what the server asked for.
///
/// Half of the pause is certain, so that a failing server is left alone; half is drawn, so that the tries of documents
/// that failed together do not come together.
///
/// ```
/// use fantail_core::Time;
/// use fantail::backfill::Backoff;
///
/// let backoff = Backoff { first: Time::from_secs(1), longest: Time::from_secs(60) };
/// assert_eq!(backoff.pause(1, u32::MAX, None), Time::from_secs(1));
/// assert_eq!(backoff.pause(3, 0, None), Time::from_secs(2));
/// assert_eq!(backoff.pause(3, u32::MAX, None), Time::from_secs(4));
/// assert_eq!(backoff.pause(3, u32::MAX, Some(Time::from_secs(121))), Time::from_secs(121));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The longest pause after the first try.
    pub first: Time,
    /// The longest pause after any try that the server did not ask for.
    pub longest: Time,
}

impl Default for Backoff {
    /// From a second to five minutes.
    fn default() -> Backoff {
        Backoff { first: Time::from_secs(1), longest: Time::from_secs(300) }
    }
}

impl Backoff {
    /// The pause after try number `tries`, counted from 1.
    ///
    /// `jitter` is a draw from all `u32`, evenly. `asked` is the server's Retry-After; the pause is never shorter.
    pub fn pause(&self, tries: u32, jitter: u32, asked: Option<Time>) -> Time {
        let doublings = tries.saturating_sub(1).min(63);
        let full = self.first.as_nanos().saturating_mul(1 << doublings).min(self.longest.as_nanos());
        let half = full / 2;
        let drawn = (u128::from(full - half) * u128::from(jitter) / u128::from(u32::MAX)) as u64;
        Time::from_nanos(half + drawn).max(asked.unwrap_or(Time::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_pause_is_never_earlier_than_asked_and_never_longer_than_both_bounds(
            tries in 0_u32..200,
            jitter: u32,
            asked in proptest::option::of(0_u64..u64::MAX),
        ) {
            let backoff = Backoff::default();
            let asked = asked.map(Time::from_nanos);
            let pause = backoff.pause(tries, jitter, asked);
            prop_assert!(pause >= asked.unwrap_or(Time::ZERO));
            prop_assert!(pause <= backoff.longest.max(asked.unwrap_or(Time::ZERO)));
            prop_assert!(pause >= Time::from_millis(500));
        }
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let backoff = Backoff { first: Time::from_secs(1), longest: Time::from_secs(5) };
        let longest = [1, 2, 3, 4, 5, 64, u32::MAX].map(|tries| backoff.pause(tries, u32::MAX, None));
        assert_eq!(longest, [1, 2, 4, 5, 5, 5, 5].map(Time::from_secs));
    }
}
