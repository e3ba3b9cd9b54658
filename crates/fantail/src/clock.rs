//! The time of jobs and limiters.

use std::time::Duration;

use fantail_core::Time;
use tokio::time::Instant;

/// An origin on tokio's clock, which tests may pause: the only place where the clock is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock { origin: Instant::now() }
    }

    /// One that begins at an instant.
    pub(crate) fn at(origin: Instant) -> Clock {
        Clock { origin }
    }

    /// Whether it began by that instant. Not so where another runtime's clock, which a test paused, is behind.
    pub(crate) fn began_by(self, at: Instant) -> bool {
        self.origin <= at
    }

    pub(crate) fn now(self) -> Time {
        self.time(Instant::now())
    }

    /// An instant as this clock counts it.
    pub(crate) fn time(self, at: Instant) -> Time {
        span(at.saturating_duration_since(self.origin))
    }

    /// The instant of a time on this clock, unless it is further away than the clock can tell.
    pub(crate) fn instant(self, at: Time) -> Option<Instant> {
        self.origin.checked_add(Duration::from_nanos(at.as_nanos()))
    }
}

/// A duration in core's time, saturating.
pub(crate) fn span(duration: Duration) -> Time {
    Time::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}
