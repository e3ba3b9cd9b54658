//! The time that a thread has had a processor: what others do on the same machine is not in it, and neither is waiting.

use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use rustix::time::{ClockId, clock_gettime};

/// Measures the processor time of the thread that runs the benchmark.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadTime;

impl ThreadTime {
    /// The processor time of this thread so far.
    pub fn now() -> Duration {
        clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or(Duration::ZERO)
    }

    /// What this thread has had since.
    pub fn since(start: Duration) -> Duration {
        ThreadTime::now().saturating_sub(start)
    }
}

impl Measurement for ThreadTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        ThreadTime::now()
    }

    fn end(&self, start: Duration) -> Duration {
        ThreadTime::since(start)
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        WallTime.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}
