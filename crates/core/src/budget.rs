//! The budget for copies.

use crate::plan::{BudgetSpec, PPM};

/// Caps copies to a share of answered primaries, whatever the hedge delay turns out to be.
///
/// Credit starts at zero, grows by `share` with every answered primary and is capped at `burst`, so in *any* run of n
/// answered primaries at most `floor(share * n) + burst` copies start. Integers throughout: no drift.
///
/// ```
/// use fantail_core::{Budget, BudgetSpec};
///
/// let mut budget = Budget::new(BudgetSpec { share: 500_000, burst: 1, in_flight: None });
/// assert!(!budget.take());
/// budget.earn();
/// budget.earn();
/// assert!(budget.take());
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    spec: BudgetSpec,
    /// In parts per million of a copy.
    credit: u64,
    in_flight: u32,
    /// The least room that was between the credit and its cap while copies were in flight: what credit they can hand
    /// back, since more would have been lost at the cap had they not taken it.
    room: u64,
}

impl Budget {
    /// An empty budget.
    pub fn new(spec: BudgetSpec) -> Budget {
        Budget { spec, credit: 0, in_flight: 0, room: 0 }
    }

    /// A primary answered.
    pub fn earn(&mut self) {
        self.earn_for(1);
    }

    /// So many primaries answered.
    pub fn earn_for(&mut self, primaries: u64) {
        let earned = u64::from(self.spec.share).saturating_mul(primaries);
        self.credit = self.credit.saturating_add(earned).min(self.cap());
        self.room = self.room.min(self.cap() - self.credit);
    }

    /// Takes the credit for one copy, if there is any; the copy is in flight until [`Budget::end`].
    #[must_use]
    pub fn take(&mut self) -> bool {
        let ok = self.credit >= u64::from(PPM) && self.spec.in_flight.is_none_or(|cap| self.in_flight < cap);
        if ok {
            self.credit -= u64::from(PPM);
            if self.in_flight == 0 {
                self.room = self.cap() - self.credit;
            }
            self.in_flight += 1;
        }
        ok
    }

    /// A copy that ran has ended.
    pub fn end(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// A copy that was paid for never ran. Its credit comes back, unless the credit was at its cap meanwhile: then the
    /// copy's part of it would be lost by now.
    pub fn refund(&mut self) {
        let back = self.room.min(u64::from(PPM));
        self.credit += back;
        self.room -= back;
        self.end();
    }

    /// Copies in flight.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn cap(&self) -> u64 {
        u64::from(self.spec.burst) * u64::from(PPM)
    }
}
