//! How much work a search has done, so that it ends in time.

use core::cell::Cell;

/// Counts the plans that were solved, and what was read of them.
///
/// Work is counted and not timed, so that the same question gets the same answer on every machine.
#[derive(Debug, Default)]
pub(super) struct Meter {
    plans: Cell<u64>,
    terms: Cell<f64>,
    cut_short: Cell<bool>,
}

/// The most work of one search, in terms of a sum: some seconds.
const MOST_TERMS: f64 = 5e8;

impl Meter {
    pub(super) fn count_plan(&self) {
        self.plans.set(self.plans.get() + 1);
    }

    pub(super) fn add(&self, terms: f64) {
        self.terms.set(self.terms.get() + terms);
    }

    /// Whether there is room for so much more work, which would only refine an answer.
    pub(super) fn has_room(&self, terms: f64) -> bool {
        self.terms.get() + terms <= MOST_TERMS
    }

    /// Whether there is room for so much more work; what there is none for is missing in the answer.
    pub(super) fn affords(&self, terms: f64) -> bool {
        let affords = self.has_room(terms);
        if !affords {
            self.cut_short.set(true);
        }
        affords
    }

    /// How many plans were solved.
    pub(super) fn plans(&self) -> u64 {
        self.plans.get()
    }

    /// Whether anything was left out.
    pub(super) fn cut_short(&self) -> bool {
        self.cut_short.get()
    }

    /// Counts what another one has counted.
    pub(super) fn join(&self, other: &Meter) {
        self.plans.set(self.plans.get() + other.plans.get());
        self.cut_short.set(self.cut_short.get() || other.cut_short.get());
    }
}
