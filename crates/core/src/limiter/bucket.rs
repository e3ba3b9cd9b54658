//! A token bucket in exact integers.

use crate::Time;
use crate::plan::{LimiterSpec, Rate};

/// A permit is worth `per` units (its nanoseconds), and every nanosecond adds `refill` units.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate: Rate,
    refill: u32,
    level: u128,
    as_of: Time,
}

impl Bucket {
    /// The bucket of a limiter with a rate, full.
    pub(super) fn full(spec: &LimiterSpec) -> Option<Bucket> {
        let (rate, refill) = (spec.rate?, spec.sustained()?);
        let mut bucket = Bucket { rate, refill, level: 0, as_of: Time::ZERO };
        bucket.level = bucket.worth(u64::from(rate.burst));
        Some(bucket)
    }

    pub(super) fn worth(&self, weight: u64) -> u128 {
        u128::from(weight) * u128::from(self.rate.per.as_nanos())
    }

    fn fill(&mut self, now: Time) {
        if now <= self.as_of {
            return;
        }
        let passed = now.saturating_sub(self.as_of);
        self.as_of = self.as_of.max(now);
        let gained = u128::from(passed.as_nanos()) * u128::from(self.refill);
        self.level = (self.level + gained).min(self.worth(u64::from(self.rate.burst)));
    }

    /// The first instant, from `now` on, at which `weight` can be taken; `None` when time ends before.
    pub(super) fn ready_at(&mut self, now: Time, weight: u32) -> Option<Time> {
        self.fill(now);
        let short = self.worth(u64::from(weight)).saturating_sub(self.level);
        if short == 0 {
            return Some(self.as_of);
        }
        let wait = u64::try_from(short.div_ceil(u128::from(self.refill))).ok()?;
        self.as_of.as_nanos().checked_add(wait).map(Time::from_nanos)
    }

    /// How many of `weight`, above zero, can be taken at `now`.
    pub(super) fn ready(&mut self, now: Time, weight: u32) -> u32 {
        self.fill(now);
        // A time that runs backwards finds what was there before: nothing, as when it waits.
        if self.as_of > now {
            return 0;
        }
        u32::try_from(self.level / self.worth(u64::from(weight))).unwrap_or(u32::MAX)
    }

    pub(super) fn take(&mut self, weight: u64) {
        self.level = self.level.saturating_sub(self.worth(weight));
    }

    /// Puts back at most as much as there is room.
    pub(super) fn put_back(&mut self, units: u128) {
        self.level += units;
    }

    /// How much could be added before it spills over.
    pub(super) fn room(&self) -> u128 {
        self.worth(u64::from(self.rate.burst)) - self.level
    }
}
