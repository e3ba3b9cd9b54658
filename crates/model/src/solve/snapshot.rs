//! A job at one instant: the probabilities that it is open or has ended with each verdict.
//!
//! | symbol | meaning |
//! |---|---|
//! | q | `n - k`: misses with which the job may still be complete |
//! | m | `n - at_least`: misses with which it may still be partial |
//! | X, Y | optional branches that missed their deadline; that are open |
//!
//! At any instant a branch that has not answered is either past its deadline (missed) or not (open), so X and Y are over
//! disjoint branches and independent. With V = every expired required branch has answered, and A = every required branch
//! has answered:
//!
//! - failed: not V, or X > m;
//! - complete: A and X + Y <= q;
//! - partial: A and Y = 0 and q < X <= m;
//! - open: V and X <= m, and either not A, or Y >= 1 and X + Y > q.
//!
//! Each is a sum of products of positive terms.

use alloc::vec::Vec;

use super::counts::{Like, Tally};

/// Like branches at the instant.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) count: u64,
    pub(super) required: bool,
    /// Of one branch, at the instant or at its deadline if that came first.
    pub(super) hazard: f64,
    /// The hazard of the opposite: `-ln P(one branch has answered)`.
    pub(super) opposite: f64,
    pub(super) rest: Rest,
}

impl Part {
    fn like(&self) -> Like {
        Like { count: self.count, hazard: self.hazard, opposite: self.opposite }
    }
}

/// What a branch is that has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// Running.
    Open,
    /// Running, and one of those that [`Snapshot::open_with_marked`] asks about.
    Marked,
    /// Past its deadline.
    Missed,
    /// Outside the event: only the case that it has answered counts.
    Excluded,
}

/// One more branch that is known to be open, beside the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    None,
    Optional,
    Required,
}

/// The parts and the two bounds.
pub(super) struct Snapshot {
    pub(super) parts: Vec<Part>,
    pub(super) held: Held,
    /// q.
    pub(super) spare: u64,
    /// m.
    pub(super) borne: u64,
}

impl Snapshot {
    /// P(ended complete), without a branch that is held open.
    pub(super) fn complete(&self) -> f64 {
        let missed = self.optional(Rest::Missed);
        let open = self.optional(Rest::Open);
        let within = if self.spare >= missed.n() + open.n() {
            1.0
        } else if open.is_empty() {
            missed.fewer_than(self.spare + 1)
        } else if missed.is_empty() {
            open.fewer_than(self.spare + 1)
        } else {
            let misses = missed.masses(self.spare);
            let heads = open.heads(self.spare + 1);
            misses.iter().zip(heads.iter().rev()).map(|(mass, head)| mass * head).sum()
        };
        libm::exp(self.ln_answered(|part| part.required)) * within
    }

    /// P(ended partial), likewise.
    pub(super) fn partial(&self) -> f64 {
        let missed = self.optional(Rest::Missed);
        if missed.n() <= self.spare {
            return 0.0;
        }
        let between = masses_from(&missed, self.spare + 1, self.borne);
        let settled = self.optional(Rest::Open).ln_none() + self.ln_answered(|part| part.required);
        libm::exp(settled) * between
    }

    /// P(ended failed).
    pub(super) fn failed(&self) -> f64 {
        let ln_alive = self.ln_answered(|part| part.required && part.rest == Rest::Missed);
        let too_few = self.optional(Rest::Missed).at_least(self.borne + 1);
        -libm::expm1(ln_alive) + libm::exp(ln_alive) * too_few
    }

    /// P(still waiting).
    pub(super) fn open(&self) -> f64 {
        let ln_alive = self.ln_answered(|part| part.required && part.rest == Rest::Missed);
        let missed = self.optional(Rest::Missed);
        let borne = missed.fewer_than(self.borne + 1);
        if self.held == Held::Required {
            return libm::exp(ln_alive) * borne;
        }
        let ln_live = self.ln_answered(|part| part.required && part.rest == Rest::Open);
        let open = self.optional(Rest::Open);
        let held = u64::from(self.held == Held::Optional);
        let waits = if open.n() + held == 0 || self.spare >= missed.n() + open.n() + held {
            0.0
        } else if open.is_empty() {
            masses_from(&missed, self.spare, self.borne)
        } else {
            let tails = |most: u64| open.tails(most - held);
            self.over_misses(&missed, |least| open.at_least(least - held), tails)
        };
        libm::exp(ln_alive) * (-libm::expm1(ln_live) * borne + libm::exp(ln_live) * waits)
    }

    /// P(the job ends when one more open branch, `held` beside the parts, answers): what was waited for was that branch.
    pub(super) fn ends_with(&self, held: Held) -> f64 {
        if held != Held::Optional {
            return self.complete() + self.partial();
        }
        // With the answer nothing is spared, or too many have missed already and nothing else is open.
        let settled = |part: &&Part| !part.required && part.rest != Rest::Excluded;
        let misses = Tally::of(self.parts.iter().filter(settled).map(Part::like));
        libm::exp(self.ln_answered(|part| part.required)) * misses.exactly(self.spare) + self.partial()
    }

    /// P(still waiting, at least one marked branch is open, and every excluded branch has answered).
    pub(super) fn open_with_marked(&self) -> f64 {
        let ln_alive = self
            .ln_answered(|part| part.rest == Rest::Excluded || part.required && part.rest == Rest::Missed);
        let ln_marked = self.ln_answered(|part| part.required && part.rest == Rest::Marked);
        let ln_others = self.ln_answered(|part| part.required && part.rest == Rest::Open);
        let missed = self.optional(Rest::Missed);
        let marked = self.optional(Rest::Marked);
        let others = self.optional(Rest::Open);
        let borne = missed.fewer_than(self.borne + 1);
        let one = |least: u64| marked_tail(&marked, &others, least);
        let both = |most: u64| marked_tails(&marked, &others, most);
        let waits = if marked.is_empty() || self.spare >= missed.n() + marked.n() + others.n() {
            0.0
        } else {
            self.over_misses(&missed, one, both)
        };
        let a_marked_required = -libm::expm1(ln_marked) * borne;
        let another_required = -libm::expm1(ln_others) * marked.at_least(1) * borne;
        let none_required = libm::exp(ln_others) * waits;
        libm::exp(ln_alive) * (a_marked_required + libm::exp(ln_marked) * (another_required + none_required))
    }

    /// `Σ P(X = x) P(Y >= max(1, q + 1 - x))` over the misses x that are borne: what keeps the job waiting when every
    /// required branch has answered. `tail(r)` is `P(Y >= r)`, `tails(most)` ends with those for r from 1 to `most`.
    fn over_misses(&self, missed: &Tally, tail: impl Fn(u64) -> f64, tails: impl Fn(u64) -> Vec<f64>) -> f64 {
        if missed.is_empty() {
            return tail(self.spare + 1);
        }
        let few: f64 = if self.spare == 0 {
            0.0
        } else {
            let (misses, tails) = (missed.masses(self.spare - 1), tails(self.spare + 1));
            misses.iter().zip(tails.iter().rev()).map(|(mass, tail)| mass * tail).sum()
        };
        let many = masses_from(missed, self.spare, self.borne);
        if many == 0.0 { few } else { few + many * tail(1) }
    }

    /// The optional branches that are `rest`, as a law of their number.
    fn optional(&self, rest: Rest) -> Tally {
        let parts = self.parts.iter().filter(|part| !part.required && part.rest == rest);
        Tally::of(parts.map(Part::like))
    }

    /// `ln P(all of these have answered)`.
    fn ln_answered(&self, of: impl Fn(&Part) -> bool) -> f64 {
        let parts = self.parts.iter().filter(|part| part.count > 0 && of(part));
        -parts.map(|part| part.count as f64 * part.opposite).sum::<f64>()
    }
}

/// `P(M >= 1, M + O >= r)` for one r above 0, with M the marked branches that are open and O the others.
fn marked_tail(marked: &Tally, others: &Tally, r: u64) -> f64 {
    if others.is_empty() || r == 1 {
        return marked.at_least(r);
    }
    if r <= MOST_MASSES {
        let (masses, others) = (marked.masses(r - 1), others.tails(r - 1));
        let fewer = masses.iter().skip(1).zip(others.iter().rev());
        return marked.at_least(r) + fewer.map(|(mass, tail)| mass * tail).sum::<f64>();
    }
    let none = libm::exp(marked.ln_none());
    (marked.with(others).at_least(r) - none * others.at_least(r)).max(0.0)
}

/// The same for r from 1 to `most`.
fn marked_tails(marked: &Tally, others: &Tally, most: u64) -> Vec<f64> {
    let tails = marked.tails(most);
    if others.is_empty() || most == 1 {
        return tails[1..].to_vec();
    }
    let (masses, others) = (marked.masses(most - 1), others.tails(most - 1));
    let joint = |r: usize| {
        let fewer = masses[..r.min(masses.len())].iter().enumerate().skip(1);
        tails[r] + fewer.map(|(x, mass)| mass * others[r - x]).sum::<f64>()
    };
    (1..=most as usize).map(joint).collect()
}

/// `P(from <= X <= to)`.
fn masses_from(tally: &Tally, from: u64, to: u64) -> f64 {
    if from > to.min(tally.n()) {
        return 0.0;
    }
    if to >= tally.n() {
        return tally.at_least(from);
    }
    if from == 0 {
        return tally.fewer_than(to + 1);
    }
    if to < MOST_MASSES {
        return tally.masses(to).iter().skip(from as usize).sum();
    }
    let (above, beyond) = (tally.at_least(from), tally.at_least(to + 1));
    if above <= 0.5 { above - beyond } else { (tally.fewer_than(to + 1) - tally.fewer_than(from)).max(0.0) }
}

/// Longer ranges are the difference of two tails: it loses a few digits only where the range holds little of either.
const MOST_MASSES: u64 = 4_096;
