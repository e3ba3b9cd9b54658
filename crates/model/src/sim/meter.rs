//! A level over time.

use fantail_core::Time;

/// A level that changes at instants: its area over time, and its peak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Meter {
    level: u64,
    as_of: Time,
    /// Of the level over time, in nanoseconds.
    pub(super) area: u128,
    /// How long it was measured, in nanoseconds.
    pub(super) span: u128,
    pub(super) most: u64,
}

impl Meter {
    pub(super) fn level(&self) -> u64 {
        self.level
    }

    /// The level is another from now on.
    pub(super) fn set(&mut self, now: Time, level: u64) {
        let passed = u128::from(now.saturating_sub(self.as_of).as_nanos());
        self.area += passed * u128::from(self.level);
        self.span += passed;
        self.as_of = self.as_of.max(now);
        self.level = level;
        self.most = self.most.max(level);
    }

    /// Forgets what was before now.
    pub(super) fn restart(&mut self, now: Time) {
        *self = Meter { level: self.level, as_of: now, area: 0, span: 0, most: self.level };
    }
}
