//! The only place where the gateway reads the calendar.

use std::time::{SystemTime, UNIX_EPOCH};

use fantail_core::Time;

/// Now, since the Unix epoch, as the store counts.
pub(crate) fn unix_now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
