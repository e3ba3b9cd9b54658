//! Copies of different branches: a price on lateness decides for each group alone.
//!
//! | symbol | meaning |
//! |---|---|
//! | t | a time that a goal is about |
//! | `c(x)` | expected price of copies x of one branch of a group |
//! | `f(x)` | how late they leave it |
//! | λ | what a unit of f may cost |
//!
//! When all branches are waited for, `-ln P(job by t) = Σ n f(x)` with `f = -ln P(the branch has answered by t)`, and the
//! price is `Σ n c(x)`: each group takes the x with the least `c + λ f`, and λ is the only unknown (Everett, Operations
//! Research 11, 1963). Under other barriers, and where a goal is about many times, that is where the search starts. From
//! there on f is what a branch adds to the goal's figure beside the others as they are: `Σ w(t) D(t) P(no answer by t)`,
//! with w the weights of the times and D how much likelier the job waits at t for a branch that is open than for one that
//! has answered. A few rounds are enough.

use alloc::vec;
use alloc::vec::Vec;

use super::copies::{Attempts, Copies};
use super::search::{MOST_MOVED, Priced, ROOT, Search, golden, with};
use super::{Goal, Measure, Price};
use crate::solve::Side;
use crate::special::complement;
use crate::{GroupedPlan, JobLaw, SolveError};

/// What lateness of a branch is.
pub(super) struct Aim {
    /// Times, and what each counts.
    times: Vec<(f64, f64)>,
    /// Those that count once the others are known.
    later: Vec<(f64, f64)>,
    /// Copies are tried before it.
    last: f64,
    /// Whether optional branches matter.
    optional: bool,
    /// How the others are; without it, all branches are waited for.
    beside: Option<Beside>,
}

/// A job as a branch of each group meets it.
struct Beside {
    /// For each group what it is for the goal that a branch has not answered by each of the times.
    lateness: Vec<Vec<f64>>,
    /// Times, and for each group the chance that the job waits for an open branch at each of them.
    grid: Vec<f64>,
    waited: Vec<Vec<f64>>,
}

/// Copies that a branch may have, with what they cost and how late they leave it.
struct Options {
    group: usize,
    list: Vec<Choice>,
}

#[derive(Clone, Copy)]
struct Choice {
    copies: Copies,
    price: f64,
    lateness: f64,
}

/// Profiles from no copies to as many as help, by λ.
pub(super) struct Path {
    groups: usize,
    options: Vec<Options>,
}

/// First delays that are tried for each group, evenly in the hazard of the primary, from a race on; of many groups fewer.
const FIRSTS: usize = 72;
const FEWEST_FIRSTS: usize = 12;
const ALL_FIRSTS: usize = 7_200;
/// The hazard of the latest of them: one branch in 60,000 gets a copy.
const LATEST_HAZARD: f64 = 11.0;
/// Gaps that are tried, evenly over the time that is left.
const GAPS: usize = 5;
/// λ is looked for between these, in units of the least price of one copy of all.
const LAMBDAS: (f64, f64) = (1e-9, 1e15);
const HALVINGS: usize = 50;
/// How often lateness is measured anew beside the others as they have become, and all groups trade, as long as that saves
/// something.
const ROUNDS: usize = 4;
const SAVES: f64 = 0.999;
/// Groups up to this many trade delays, each two of them.
const MOST_TRADED: usize = 8;
/// Delays of the one that are tried, evenly in time, and evenly in its hazard up to the latest.
const TRADES: usize = 32;
const LATEST_TRADED: f64 = 10.0;

impl Search<'_> {
    /// For each number of copies and each goal the profile on its path that just keeps all goals, and for each group its
    /// copies alone; then every group moved as late as it may, and the cheapest of all that is found traded between pairs of
    /// groups. All that is done for fewer copies comes before what is done for more, so that these are never dearer.
    pub(super) fn several_groups(
        &self,
        base: &GroupedPlan,
        hedged: &[usize],
        found: &mut Vec<Priced>,
    ) -> Result<(), SolveError> {
        let mut traded = f64::INFINITY;
        for most in 1..=self.tuning.levers.most_copies {
            for each in self.prices(base) {
                for aim in aims(self, base) {
                    if self.affords(if found.is_empty() { 0 } else { HALVINGS }) {
                        self.follow(base, hedged, aim, (most, &each), found)?;
                    }
                }
            }
            // One copy is a root; of more, gaps are tried.
            let roots = if most == 1 { 1 } else { 3 * ROOT };
            if hedged.len() <= MOST_MOVED && self.has_room(hedged.len() * roots * ROOT) {
                for &group in hedged {
                    found.extend(self.one_group(base, group, most..=most)?);
                }
            }
            let cheapest = found.iter().min_by(|(a, _), (b, _)| a.total_cmp(b)).cloned();
            let worth = |(price, _): &Priced| hedged.len() <= MOST_TRADED && *price < SAVES * traded;
            if let Some(best) = cheapest.filter(worth) {
                let best = self.traded_out(base, best, hedged)?;
                traded = best.0;
                found.push(best);
            }
        }
        Ok(())
    }

    /// All groups trade as long as that saves something.
    fn traded_out(
        &self,
        base: &GroupedPlan,
        mut best: Priced,
        hedged: &[usize],
    ) -> Result<Priced, SolveError> {
        let trades = hedged.len() * hedged.len() * TRADES * ROOT;
        for _ in 0..ROUNDS {
            if !self.has_room(trades) {
                break;
            }
            let before = best.0;
            best = self.traded(base, best, hedged)?;
            if best.0 > SAVES * before {
                break;
            }
        }
        Ok(best)
    }

    /// What one copy of each group counts: its price; where something else that copies cost is bounded too, also that, and
    /// between the two.
    pub(super) fn prices(&self, base: &GroupedPlan) -> Vec<Vec<f64>> {
        let cost = |group: usize| base.groups[group].cost.unwrap_or(0.0);
        let groups = 0..base.groups.len();
        let bounds = |measure| self.goals.iter().any(|goal| goal.measure == measure);
        let bounded = match self.tuning.price {
            Price::ExtraRequests => bounds(Measure::Cost),
            Price::Cost => bounds(Measure::ExtraRequests) || self.tuning.levers.most_extra.is_finite(),
        };
        let costs: Vec<f64> = groups.map(cost).collect();
        let mean = costs.iter().sum::<f64>() / costs.len() as f64;
        let mixed = |share: f64| costs.iter().map(|cost| share * cost + (1.0 - share) * mean).collect();
        match self.tuning.price {
            _ if bounded && mean > 0.0 => [0.0, 0.25, 0.5, 0.75, 1.0].map(mixed).to_vec(),
            Price::ExtraRequests => vec![vec![1.0; costs.len()]],
            Price::Cost => vec![costs],
        }
    }

    /// The profiles of an aim, from where all branches are waited for to where the others are as they become.
    fn follow(
        &self,
        base: &GroupedPlan,
        hedged: &[usize],
        mut aim: Aim,
        (most, each): (usize, &[f64]),
        found: &mut Vec<Priced>,
    ) -> Result<(), SolveError> {
        let mut least = f64::INFINITY;
        for round in 0..ROUNDS {
            let path = Path::new(base, hedged, &aim, most, each);
            let Some(mut profile) = path.first(|profile| self.is_enough(base, profile))? else { break };
            if hedged.len() <= MOST_MOVED && self.has_room(hedged.len() * ROOT) {
                self.move_all_later(base, &mut profile, hedged)?;
            }
            let job = self.solve(&with(base, &profile))?;
            let price = self.price(&job);
            found.push((price, profile));
            if price > SAVES * least || round + 1 == ROUNDS || !self.has_room(HALVINGS) {
                break;
            }
            least = price;
            aim.times = aim.later.clone();
            aim.beside = Some(Beside::new(&job, &aim));
        }
        Ok(())
    }

    /// Each two groups trade delays once if that is cheaper: for delays of the one, the latest of the other.
    fn traded(&self, base: &GroupedPlan, mut best: Priced, hedged: &[usize]) -> Result<Priced, SolveError> {
        for (i, &one) in hedged.iter().enumerate() {
            for &other in &hedged[i + 1..] {
                let start = best.1.clone();
                let delays = self.trial_delays(base, one);
                let trade = |first: f64| self.given(base, &start, one, first, other);
                let mut least = None;
                for (i, delay) in delays.iter().enumerate() {
                    if let Some(found) = trade(*delay)?
                        && found.0 < best.0
                    {
                        (best, least) = (found, Some(i));
                    }
                }
                let Some(i) = least else { continue };
                let (low, high) = (delays[i.saturating_sub(1)], delays[(i + 1).min(delays.len() - 1)]);
                if let Some(found) = golden(low, high, trade)?
                    && found.0 < best.0
                {
                    best = found;
                }
            }
        }
        Ok(best)
    }

    /// First delays that are tried for a group: evenly in its hazard and in time, from a race to no copy.
    fn trial_delays(&self, base: &GroupedPlan, group: usize) -> Vec<f64> {
        let law = &base.groups[group].law;
        let horizon = self.horizon(base);
        let most = law.hazard(horizon).min(LATEST_TRADED);
        let share = |i: usize| i as f64 / TRADES as f64;
        let mut delays: Vec<f64> = (0..=TRADES).map(|i| horizon * share(i)).collect();
        delays.extend((1..TRADES).map(|i| law.inverse_hazard(most * share(i)).min(horizon)));
        delays.sort_unstable_by(f64::total_cmp);
        delays
    }

    /// With the first late copy of `one` after `first`, the latest of `other` that keeps the goals.
    fn given(
        &self,
        base: &GroupedPlan,
        start: &[Copies],
        one: usize,
        first: f64,
        other: usize,
    ) -> Result<Option<Priced>, SolveError> {
        let from = |copies: Copies, first| Copies { first, ..copies.with_late() };
        let mut profile = start.to_vec();
        profile[one] = from(profile[one], first);
        profile[other] = from(profile[other], 0.0);
        if !self.is_enough(base, &profile)? {
            return Ok(None);
        }
        self.move_later(base, &mut profile, other)?;
        self.priced(base, profile).map(Some)
    }
}

/// What lateness is to each goal, and to all of them together.
fn aims(search: &Search<'_>, base: &GroupedPlan) -> Vec<Aim> {
    let mut aims: Vec<Aim> = Vec::new();
    for aim in search.goals.iter().filter_map(|goal| Aim::of(goal, base)) {
        if !aims.iter().any(|other| (&other.later, other.optional) == (&aim.later, aim.optional)) {
            aims.push(aim);
        }
    }
    if aims.len() > 1 {
        let join =
            |of: &dyn Fn(&Aim) -> &Vec<(f64, f64)>| aims.iter().flat_map(|aim| of(aim).clone()).collect();
        aims.push(Aim {
            times: join(&|aim| &aim.times),
            later: join(&|aim| &aim.later),
            last: aims.iter().map(|aim| aim.last).fold(0.0, f64::max),
            optional: aims.iter().any(|aim| aim.optional),
            beside: None,
        });
    }
    aims
}

impl Aim {
    /// Of a time alone, when all branches are waited for.
    pub(super) fn at(t: f64) -> Aim {
        let times = vec![(t, 1.0)];
        Aim { later: times.clone(), times, last: t, optional: true, beside: None }
    }

    /// Of a goal that is paid for; `None` where no time matters to it.
    fn of(goal: &Goal, base: &GroupedPlan) -> Option<Aim> {
        let required: u64 = base.groups.iter().filter(|group| group.required).map(|group| group.count).sum();
        let aim = match goal.measure {
            Measure::Quantile(_) => Aim::at(goal.bound.min(base.deadline)),
            Measure::Mean => {
                let aim = Aim::at((2.0 * goal.bound).min(base.deadline));
                Aim { later: spread(goal.bound, base.deadline), ..aim }
            }
            Measure::Complete | Measure::Partial => Aim::at(base.deadline),
            Measure::Failed => Aim { optional: base.at_least > required, ..Aim::at(base.deadline) },
            _ => return None,
        };
        (aim.last > 0.0 && aim.last.is_finite()).then_some(aim)
    }

    fn lateness(&self, group: usize, attempts: &Attempts<'_>) -> f64 {
        match &self.beside {
            None => self.times.iter().map(|(t, weight)| weight * complement(attempts.hazard(*t))).sum(),
            Some(beside) => {
                let late = self.times.iter().zip(&beside.lateness[group]);
                late.map(|((t, _), counts)| counts * libm::exp(-attempts.hazard(*t))).sum()
            }
        }
    }

    fn copies(&self, group: usize, attempts: &Attempts<'_>) -> f64 {
        attempts.copies(|t| self.beside.as_ref().map_or(1.0, |beside| beside.waited(group, t)))
    }
}

/// Times over which a mean is spread, each with the time from the one before, in a geometric row.
fn spread(mean: f64, deadline: f64) -> Vec<(f64, f64)> {
    const FIRST: f64 = 1.0 / 16.0;
    const LAST: f64 = 30.0;
    const STEPS: usize = 28;
    let at = |i: usize| mean * FIRST * libm::pow(LAST / FIRST, i as f64 / STEPS as f64);
    (1..=STEPS).map(|i| (at(i), at(i) - at(i - 1))).take_while(|(t, _)| *t < deadline).collect()
}

/// Times at which the chance that a job waits for a branch is taken.
const GRID: usize = 24;

impl Beside {
    fn new(job: &JobLaw, aim: &Aim) -> Beside {
        let groups = job.plan().groups.len();
        let lateness = |group: usize| {
            let branch = job.branch(group);
            let of = |&(t, weight): &(f64, f64)| {
                // P(open) = S P(open | the branch is) + (1 - S) P(open | it has answered).
                let (open, s) = (job.open_given(group, t, Side::Before), branch.survival(t));
                let more = if s < 1.0 { (open - job.waiting(t * BEFORE)) / (1.0 - s) } else { open };
                weight * more.max(0.0)
            };
            aim.times.iter().map(of).collect()
        };
        let grid: Vec<f64> = (0..=GRID).map(|i| aim.last * i as f64 / GRID as f64).collect();
        let waited =
            |group: usize| grid.iter().map(|t| job.open_given(group, *t, Side::Before)).collect::<Vec<f64>>();
        let (lateness, waited) = ((0..groups).map(lateness).collect(), (0..groups).map(waited).collect());
        Beside { lateness, grid, waited }
    }

    fn waited(&self, group: usize, t: f64) -> f64 {
        let waited = &self.waited[group];
        let i = self.grid.partition_point(|at| *at < t).clamp(1, GRID);
        let (low, high) = (self.grid[i - 1], self.grid[i]);
        let share = ((t - low) / (high - low)).clamp(0.0, 1.0);
        waited[i - 1] + share * (waited[i] - waited[i - 1])
    }
}

/// Just before a time, at which a job may end.
const BEFORE: f64 = 1.0 - 4.0 * f64::EPSILON;

impl Path {
    pub(super) fn new(base: &GroupedPlan, hedged: &[usize], aim: &Aim, most: usize, each: &[f64]) -> Path {
        let firsts = (ALL_FIRSTS / hedged.len().max(1)).clamp(FEWEST_FIRSTS, FIRSTS);
        let matters = |group: &&usize| aim.optional || base.groups[**group].required;
        let of = |&group: &usize| {
            let choice = |copies: Copies| {
                let attempts = Attempts::new(&base.groups[group], copies, base.deadline);
                let price = each[group] * aim.copies(group, &attempts);
                Choice { copies, price, lateness: aim.lateness(group, &attempts) }
            };
            let law = &base.groups[group].law;
            let firsts = (0..firsts).map(|i| law.inverse_hazard(LATEST_HAZARD * i as f64 / firsts as f64));
            let firsts: Vec<f64> = firsts.skip(1).take_while(|first| *first < aim.last).collect();
            let list = candidates(&firsts, aim.last, most).into_iter().map(choice).collect();
            Options { group, list }
        };
        Path { groups: base.groups.len(), options: hedged.iter().filter(matters).map(of).collect() }
    }

    /// The profile in which a unit of lateness may cost `lambda`.
    fn at(&self, lambda: f64) -> Vec<Copies> {
        let mut profile = vec![Copies::NONE; self.groups];
        for Options { group, list } in &self.options {
            let total = |choice: &Choice| choice.price + lambda * choice.lateness;
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

    /// The different profiles on the path, at most about `steps`, the fewest copies first. Of one group all that nothing
    /// cheaper is as good as.
    pub(super) fn profiles(&self, steps: usize) -> Vec<Vec<Copies>> {
        if let [Options { group, list }] = self.options.as_slice() {
            let mut list = list.clone();
            list.sort_by(|a, b| a.price.total_cmp(&b.price).then(a.lateness.total_cmp(&b.lateness)));
            let mut least = f64::INFINITY;
            list.retain(|choice| {
                let better = choice.lateness < SAVES * least;
                least = if better { choice.lateness } else { least };
                better
            });
            let profile = |choice: &Choice| {
                let mut profile = vec![Copies::NONE; self.groups];
                profile[*group] = choice.copies;
                profile
            };
            return list.iter().step_by(list.len().div_ceil(steps).max(1)).map(profile).collect();
        }
        let (low, high) = (libm::log(1e-3), libm::log(1e6));
        let at = |i: usize| self.at(libm::exp(low + (high - low) * i as f64 / steps as f64));
        let mut profiles: Vec<Vec<Copies>> = (0..=steps).map(at).collect();
        profiles.dedup();
        profiles
    }
}

/// Copies that are tried, at most so many: none, races, and some of them later, before `last`.
fn candidates(firsts: &[f64], last: f64, most: usize) -> Vec<Copies> {
    let mut list: Vec<Copies> = (0..=most).map(Copies::race).collect();
    for &first in firsts {
        for count in 1..=most {
            for gap in (0..if count == 1 { 1 } else { GAPS }).map(|i| (last - first) * i as f64 / GAPS as f64)
            {
                list.push(Copies { at_once: 0, late: count, first, gap });
            }
            if count > 1 {
                list.push(Copies { at_once: count - 1, late: 1, first, gap: 0.0 });
            }
        }
    }
    list
}
