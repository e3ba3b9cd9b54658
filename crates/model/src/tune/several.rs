//! Copies of different branches: a price on lateness decides for each group alone.
//!
//! | symbol | meaning |
//! |---|---|
//! | t | the time that a goal is about |
//! | `c(x)` | expected price of copies x of one branch of a group |
//! | `f(x)` | `-ln P(the branch has answered by t)` with them |
//! | λ | what a unit of f may cost |
//!
//! When all branches are waited for, `-ln P(job by t) = Σ n f(x)` and the price is `Σ n c(x)`: each group takes the x with
//! the least `c + λ f`, and λ is the only unknown (Everett, Operations Research 11, 1963). Under other barriers that is
//! where the search starts.

use alloc::vec;
use alloc::vec::Vec;

use super::copies::Copies;
use super::search::Search;
use super::{Goal, Measure, Price};
use crate::{Group, GroupedPlan, Law, SolveError};

/// Copies that a branch may have, with what they cost and how late they leave it.
struct Options {
    group: usize,
    list: Vec<Choice>,
}

#[derive(Clone, Copy)]
struct Choice {
    copies: Copies,
    price: f64,
    shortfall: f64,
}

/// Profiles from no copies to as many as help, by λ.
pub(super) struct Path {
    groups: usize,
    options: Vec<Options>,
}

/// First delays that are tried: evenly in the hazard of the primary, from a race on.
const FIRSTS: usize = 72;
/// The hazard of the latest of them: one branch in 60,000 gets a copy.
const LATEST_HAZARD: f64 = 11.0;
/// Gaps that are tried, evenly over the time that is left.
const GAPS: usize = 5;
/// λ is looked for between these, in units of the least price of one copy of all.
const LAMBDAS: (f64, f64) = (1e-9, 1e15);
const HALVINGS: usize = 50;

/// One path for each time that matters.
pub(super) fn paths(search: &Search<'_>, base: &GroupedPlan, hedged: &[usize]) -> Vec<Path> {
    let mut anchors: Vec<(f64, bool)> = Vec::new();
    for goal in search.goals {
        let anchor = anchor(goal, base);
        if anchor.0 > 0.0 && anchor.0.is_finite() && !anchors.contains(&anchor) {
            anchors.push(anchor);
        }
    }
    anchors.into_iter().map(|(t, optional)| Path::new(search, base, hedged, t, optional)).collect()
}

/// The time that a goal is about, and whether optional branches matter to it.
fn anchor(goal: &Goal, base: &GroupedPlan) -> (f64, bool) {
    let required: u64 = base.groups.iter().filter(|group| group.required).map(|group| group.count).sum();
    match goal.measure {
        Measure::Quantile(_) => (goal.bound.min(base.deadline), true),
        Measure::Mean => ((2.0 * goal.bound).min(base.deadline), true),
        Measure::Complete | Measure::Partial => (base.deadline, true),
        Measure::Failed => (base.deadline, base.at_least > required),
        _ => (0.0, false),
    }
}

impl Path {
    pub(super) fn new(
        search: &Search<'_>,
        base: &GroupedPlan,
        hedged: &[usize],
        t: f64,
        optional: bool,
    ) -> Path {
        let most = search.tuning.levers.most_copies;
        let matters = |group: &&usize| optional || base.groups[**group].required;
        let options = hedged.iter().filter(matters).map(|&group| {
            let stated = &base.groups[group];
            let each = match search.tuning.price {
                Price::ExtraRequests => 1.0,
                Price::Cost => stated.cost.unwrap_or(0.0),
            };
            Options { group, list: choices(stated, t, most, each) }
        });
        Path { groups: base.groups.len(), options: options.collect() }
    }

    /// The profile in which a unit of lateness may cost `lambda`.
    fn at(&self, lambda: f64) -> Vec<Copies> {
        let mut profile = vec![Copies::NONE; self.groups];
        for Options { group, list } in &self.options {
            let total = |choice: &Choice| choice.price + lambda * choice.shortfall;
            let best = list.iter().min_by(|a, b| total(a).total_cmp(&total(b)));
            profile[*group] = best.map_or(Copies::NONE, |choice| choice.copies);
        }
        profile
    }

    /// The profile of the least λ that keeps the goals; `None` when none does.
    pub(super) fn first(
        &self,
        keeps: impl Fn(&[Copies]) -> Result<bool, SolveError>,
    ) -> Result<Option<Vec<Copies>>, SolveError> {
        let (mut low, mut high) = (libm::log(LAMBDAS.0), libm::log(LAMBDAS.1));
        let mut kept = self.at(LAMBDAS.1);
        if !keeps(&kept)? {
            return Ok(None);
        }
        // The profiles on the way are few: each is judged once.
        let mut too_few = None;
        for _ in 0..HALVINGS {
            let middle = low.midpoint(high);
            let profile = self.at(libm::exp(middle));
            if profile == kept || too_few.as_ref() != Some(&profile) && keeps(&profile)? {
                (high, kept) = (middle, profile);
            } else {
                (low, too_few) = (middle, Some(profile));
            }
        }
        Ok(Some(kept))
    }

    /// The different profiles on the path, at most about `steps`, the fewest copies first.
    pub(super) fn profiles(&self, steps: usize) -> Vec<Vec<Copies>> {
        let (low, high) = (libm::log(1e-3), libm::log(1e6));
        let at = |i: usize| self.at(libm::exp(low + (high - low) * i as f64 / steps as f64));
        let mut profiles: Vec<Vec<Copies>> = (0..=steps).map(at).collect();
        profiles.dedup();
        profiles
    }
}

/// What the branches of a group may have, no copies first.
fn choices(group: &Group, t: f64, most: usize, each: f64) -> Vec<Choice> {
    let law = &group.law;
    let mut list = vec![choice(Copies::NONE, law, t, each)];
    for i in 0..FIRSTS {
        let first = law.inverse_hazard(LATEST_HAZARD * i as f64 / FIRSTS as f64);
        let first = if i == 0 { 0.0 } else { first };
        if first >= t {
            break;
        }
        for count in 1..=most {
            for gap in (0..if count == 1 { 1 } else { GAPS }).map(|i| (t - first) * i as f64 / GAPS as f64) {
                list.push(choice(Copies { count, first, gap }, law, t, each));
            }
        }
    }
    list
}

fn choice(copies: Copies, law: &Law, t: f64, each: f64) -> Choice {
    Choice { copies, price: each * copies.expected(law), shortfall: copies.shortfall(law, t) }
}
