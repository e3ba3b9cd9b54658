//! The search: settings of deadline and k from outside in, the copies of each by roots.

use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;
use core::cmp::Reverse;

use super::copies::{Copies, MOST_DIGITS, few_digits, only_sent};
use super::several::paths;
use super::{Goal, Measure, Price, Tuning};
use crate::numeric::bracketed_root;
use crate::{GroupedPlan, JobLaw, SolveError};

/// One run over a question, with the goals that count in it.
pub(super) struct Search<'t> {
    pub(super) tuning: &'t Tuning,
    pub(super) goals: &'t [Goal],
    evaluations: Cell<u64>,
    /// How much work it is to judge a plan, in terms of a sum.
    work: f64,
}

/// How many gaps between copies are tried, evenly over the time there is.
const GAPS: usize = 12;
/// Golden-section steps between the neighbours of the best of them.
const GOLDEN_STEPS: usize = 12;
/// How much more than the least price a plan may have that has fewer copies, or times with fewer digits.
const READABLE: f64 = 1.01;
/// The fewest digits of a delay.
const FEWEST_DIGITS: u32 = 2;
/// Plans that are judged for the latest time of a copy.
const ROOT: usize = 16;
/// Groups up to this many are moved one by one.
const MOST_MOVED: usize = 32;
/// Groups up to this many trade delays, each two of them.
const MOST_TRADED: usize = 4;
/// Delays of the one that are tried, evenly in time, and evenly in its hazard up to the latest.
const TRADES: usize = 32;
const LATEST_TRADED: f64 = 10.0;

impl<'t> Search<'t> {
    pub(super) fn new(tuning: &'t Tuning, goals: &'t [Goal]) -> Search<'t> {
        /// Evaluations of a job's law that a root takes, and an integral.
        const ROOT: f64 = 40.0;
        const INTEGRAL: f64 = 1_000.0;
        let integrates = |goal: &Goal| matches!(goal.measure, Measure::Mean | Measure::ExtraBusy);
        let times = if goals.iter().any(integrates) { INTEGRAL } else { ROOT };
        let one = tuning.plan.without_copies().solve().map_or(f64::INFINITY, |job| job.work());
        Search { tuning, goals, evaluations: Cell::new(0), work: times * one }
    }

    /// Whether so many plans more may be judged for a plan that is a little cheaper: some seconds' work.
    pub(super) fn affords(&self, plans: usize) -> bool {
        const MOST_TERMS: f64 = 1.5e9;
        plans as f64 * self.work <= MOST_TERMS
    }

    /// How many plans were solved.
    pub(super) fn evaluations(&self) -> &Cell<u64> {
        &self.evaluations
    }

    pub(super) fn solve(&self, plan: &GroupedPlan) -> Result<JobLaw, SolveError> {
        self.evaluations.set(self.evaluations.get() + 1);
        plan.solve()
    }

    pub(super) fn price(&self, job: &JobLaw) -> f64 {
        match self.tuning.price {
            Price::ExtraRequests => job.extra_requests(),
            Price::Cost => job.cost().unwrap_or(0.0),
        }
    }

    /// How far a job is from the goals that prices are paid for.
    fn excess(&self, job: &JobLaw) -> Result<f64, SolveError> {
        let paid_for = self.goals.iter().filter(|goal| !goal.measure.is_price());
        paid_for.map(|goal| goal.excess(job)).try_fold(f64::NEG_INFINITY, |most, one| Ok(most.max(one?)))
    }

    /// Whether a budget pays for the copies after a delay: at most one a primary, whatever is stated.
    pub(super) fn is_paid_for(&self, job: &JobLaw) -> bool {
        job.delayed_copies() <= self.tuning.levers.budget.min(1.0) * (1.0 + 1e-6) * job.n() as f64
    }

    /// Whether a job keeps every goal, by its figures, and the budget.
    pub(super) fn keeps(&self, job: &JobLaw) -> Result<bool, SolveError> {
        if !self.is_paid_for(job) {
            return Ok(false);
        }
        for goal in self.goals {
            if !goal.measure.of(job)?.is_some_and(|figure| goal.is_met(figure)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The stated plan with another k.
    pub(super) fn base(&self, k: u64) -> GroupedPlan {
        let plan = self.tuning.plan.clone();
        GroupedPlan { k, at_least: plan.at_least.min(k), ..plan }
    }

    /// The cheapest plan of all settings.
    pub(super) fn cheapest(&self) -> Result<Option<JobLaw>, SolveError> {
        let (least, most) = (self.tuning.levers.least_k, self.tuning.plan.k);
        let best = self.best_deadline(&self.base(most))?;
        if least == most || best.as_ref().is_some_and(|job| !job.plan().has_copies()) {
            return Ok(best);
        }
        // Fewer answers are never dearer.
        let Some(mut cheapest) = self.best_deadline(&self.base(least))? else { return Ok(best) };
        let (mut low, mut high) = (least, most);
        while high - low > 1 && !cheapest.plan().has_copies() {
            let middle = low.midpoint(high);
            match self.best_deadline(&self.base(middle))? {
                Some(job) if !job.plan().has_copies() => (low, cheapest) = (middle, job),
                _ => high = middle,
            }
        }
        Ok(Some(cheapest))
    }

    /// The cheapest plan with this deadline and k.
    pub(super) fn best_copies(&self, base: &GroupedPlan) -> Result<Option<JobLaw>, SolveError> {
        let plain = self.solve(&base.without_copies())?;
        if self.keeps(&plain)? {
            return Ok(Some(plain));
        }
        let hedged = self.hedged();
        let mut found = match hedged.as_slice() {
            [] => return Ok(None),
            [group] => self.one_group(base, *group)?,
            _ => self.several_groups(base, &hedged)?,
        };
        found.extend(self.races(base, &hedged)?);
        // The fewest copies among those that are about as cheap.
        let least = found.iter().map(|(price, _)| *price).fold(f64::INFINITY, f64::min);
        let rank = |price: f64, profile: &[Copies]| {
            let most = profile.iter().map(|copies| copies.count).max();
            if price <= READABLE * least { (0, most) } else { (1, None) }
        };
        found.sort_by(|(a, x), (b, y)| rank(*a, x).cmp(&rank(*b, y)).then(a.total_cmp(b)));
        for (price, profile) in found {
            if let Some(job) = self.readable(base, &profile, price)? {
                return Ok(Some(job));
            }
        }
        Ok(None)
    }

    /// The groups that may have copies.
    pub(super) fn hedged(&self) -> Vec<usize> {
        let levers = &self.tuning.levers;
        let may = |group: &usize| levers.hedged[*group] && levers.most_copies > 0;
        (0..self.tuning.plan.groups.len()).filter(may).collect()
    }

    /// For each number of copies and gap the latest delay that keeps the goals, with its price.
    fn one_group(&self, base: &GroupedPlan, group: usize) -> Result<Vec<(f64, Vec<Copies>)>, SolveError> {
        let mut found = Vec::new();
        let horizon = self.horizon(base);
        let step = horizon / GAPS as f64;
        for count in 1..=self.tuning.levers.most_copies {
            let with_gap = |gap: f64| self.latest(base, group, Copies { count, first: 0.0, gap });
            let mut best: Option<(f64, f64)> = None;
            for gap in (0..if count == 1 { 1 } else { GAPS }).map(|i| step * i as f64) {
                if let Some((price, profile)) = with_gap(gap)? {
                    found.push((price, profile));
                    best = best.filter(|(least, _)| *least <= price).or(Some((price, gap)));
                }
            }
            if let Some((_, gap)) = best.filter(|_| count > 1) {
                found.extend(golden((gap - step).max(0.0), gap + step, with_gap)?);
            }
        }
        Ok(found)
    }

    /// Races that keep the goals, of few copies in each group, and the same with every gap as long as it may be. No budget
    /// limits the copies at the start, so that these may be had where copies after a delay would be too many.
    fn races(&self, base: &GroupedPlan, hedged: &[usize]) -> Result<Vec<(f64, Vec<Copies>)>, SolveError> {
        let keeps =
            |profile: &[Copies]| Ok::<_, SolveError>(self.excess(&self.solve(&with(base, profile))?)? <= 0.0);
        let mut order = hedged.to_vec();
        order.sort_by_key(|group| Reverse(base.groups[*group].count));
        let mut found = Vec::new();
        for count in 1..=self.tuning.levers.most_copies {
            let mut profile = vec![Copies::NONE; base.groups.len()];
            for &group in hedged {
                profile[group].count = count;
            }
            if !keeps(&profile)? {
                continue;
            }
            for &group in order.iter().filter(|_| (2..=MOST_MOVED).contains(&hedged.len())) {
                while profile[group].count > 0 {
                    profile[group].count -= 1;
                    if !keeps(&profile)? {
                        profile[group].count += 1;
                        break;
                    }
                }
            }
            found.push(self.priced(base, profile.clone())?);
            for &group in order.iter().filter(|_| hedged.len() <= MOST_MOVED) {
                let copies = profile[group];
                if copies.count > 1 {
                    self.latest_of(base, &mut profile, group, 0.0, |gap| Copies { gap, ..copies })?;
                }
            }
            found.push(self.priced(base, profile)?);
            // More copies of all would be fewer of each again.
            if hedged.len() > 1 {
                break;
            }
        }
        Ok(found)
    }

    /// The copies with the latest first delay that keeps the goals, and their price.
    fn latest(
        &self,
        base: &GroupedPlan,
        group: usize,
        copies: Copies,
    ) -> Result<Option<(f64, Vec<Copies>)>, SolveError> {
        let mut profile = vec![Copies::NONE; base.groups.len()];
        profile[group] = copies;
        if self.excess(&self.solve(&with(base, &profile))?)? > 0.0 {
            return Ok(None);
        }
        self.move_later(base, &mut profile, group)?;
        self.priced(base, profile).map(Some)
    }

    /// Moves the copies of a group as late as the goals allow, which are kept as it is; drops them if that is allowed.
    fn move_later(&self, base: &GroupedPlan, profile: &mut [Copies], group: usize) -> Result<(), SolveError> {
        let copies = profile[group];
        profile[group] = Copies::NONE;
        if self.excess(&self.solve(&with(base, profile))?)? <= 0.0 {
            return Ok(());
        }
        self.latest_of(base, profile, group, copies.first, |first| Copies { first, ..copies })
    }

    /// Gives a group the copies of the latest time that keeps the goals, from `low` on, which keeps them.
    fn latest_of(
        &self,
        base: &GroupedPlan,
        profile: &mut [Copies],
        group: usize,
        low: f64,
        copies: impl Fn(f64) -> Copies,
    ) -> Result<(), SolveError> {
        let (mut kept, mut failure) = (low, None);
        bracketed_root(low, self.horizon(base), |time| {
            profile[group] = copies(time);
            let excess = self.solve(&with(base, profile)).and_then(|job| self.excess(&job));
            let excess = excess.unwrap_or_else(|error| {
                failure = Some(error);
                0.0
            });
            if excess <= 0.0 {
                kept = kept.max(time);
            }
            excess
        });
        profile[group] = copies(kept);
        failure.map_or(Ok(()), Err)
    }

    /// No copy after it makes a difference to a goal.
    fn horizon(&self, base: &GroupedPlan) -> f64 {
        let time = |goal: &Goal| match goal.measure {
            Measure::Quantile(_) => goal.bound,
            // In the mean every job counts; few are later than so many means.
            Measure::Mean => 30.0 * goal.bound,
            _ => 0.0,
        };
        let latest = self.goals.iter().map(time).fold(0.0, f64::max);
        if base.deadline.is_finite() { base.deadline } else { latest }
    }

    /// For each goal the profile on its path that just keeps all goals, and for each group its copies alone; then every
    /// group moved as late as it may, and the cheapest of these traded between pairs of groups.
    fn several_groups(
        &self,
        base: &GroupedPlan,
        hedged: &[usize],
    ) -> Result<Vec<(f64, Vec<Copies>)>, SolveError> {
        let mut found = Vec::new();
        for path in paths(self, base, hedged) {
            let keeps = |profile: &[Copies]| Ok(self.excess(&self.solve(&with(base, profile))?)? <= 0.0);
            let Some(mut profile) = path.first(keeps)? else { continue };
            if hedged.len() <= MOST_MOVED && self.affords(hedged.len() * ROOT) {
                self.move_all_later(base, &mut profile, hedged)?;
            }
            found.push(self.priced(base, profile)?);
        }
        let most = self.tuning.levers.most_copies;
        // One copy is a root; of more, gaps are tried.
        let roots = 1 + most.saturating_sub(1) * (GAPS + GOLDEN_STEPS);
        if hedged.len() <= MOST_MOVED && self.affords(hedged.len() * roots * ROOT) {
            for &group in hedged {
                found.extend(self.one_group(base, group)?);
            }
        }
        let cheapest =
            found.iter().min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, profile)| profile.clone());
        let trades = hedged.len() * hedged.len() * TRADES * ROOT;
        if let Some(profile) = cheapest.filter(|_| hedged.len() <= MOST_TRADED && self.affords(trades)) {
            found.push(self.traded(base, profile, hedged)?);
        }
        Ok(found)
    }

    /// Every group moved as late as the goals allow, the dearest first.
    fn move_all_later(
        &self,
        base: &GroupedPlan,
        profile: &mut [Copies],
        hedged: &[usize],
    ) -> Result<(), SolveError> {
        let mut order = hedged.to_vec();
        let share =
            |group: usize| base.groups[group].count as f64 * profile[group].expected(&base.groups[group].law);
        order.sort_by(|a, b| share(*b).total_cmp(&share(*a)));
        for group in order.into_iter().filter(|group| profile[*group].count > 0).collect::<Vec<_>>() {
            self.move_later(base, profile, group)?;
        }
        Ok(())
    }

    /// A profile in which no two groups can trade delays to be cheaper: for delays of the one, the latest of the other.
    fn traded(
        &self,
        base: &GroupedPlan,
        profile: Vec<Copies>,
        hedged: &[usize],
    ) -> Result<(f64, Vec<Copies>), SolveError> {
        let mut best = self.priced(base, profile)?;
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

    /// With the first copy of `one` after `first`, the latest of `other` that keeps the goals.
    fn given(
        &self,
        base: &GroupedPlan,
        start: &[Copies],
        one: usize,
        first: f64,
        other: usize,
    ) -> Result<Option<(f64, Vec<Copies>)>, SolveError> {
        let mut profile = start.to_vec();
        profile[one] = Copies { count: profile[one].count.max(1), first, ..profile[one] };
        profile[other] = Copies { count: profile[other].count.max(1), first: 0.0, ..profile[other] };
        if self.excess(&self.solve(&with(base, &profile))?)? > 0.0 {
            return Ok(None);
        }
        self.move_later(base, &mut profile, other)?;
        self.priced(base, profile).map(Some)
    }

    fn priced(&self, base: &GroupedPlan, profile: Vec<Copies>) -> Result<(f64, Vec<Copies>), SolveError> {
        Ok((self.price(&self.solve(&with(base, &profile))?), profile))
    }

    /// The job of a profile with its delays in as few digits as keep the goals at about the price.
    fn readable(
        &self,
        base: &GroupedPlan,
        profile: &[Copies],
        price: f64,
    ) -> Result<Option<JobLaw>, SolveError> {
        let finest = self.solve(&rounded(base, profile, MOST_DIGITS))?;
        if !self.keeps(&finest)? {
            return Ok(None);
        }
        for digits in FEWEST_DIGITS..MOST_DIGITS {
            let job = self.solve(&rounded(base, profile, digits))?;
            if self.price(&job) <= READABLE * price && self.keeps(&job)? {
                return Ok(Some(job));
            }
        }
        Ok(Some(finest))
    }
}

/// The plan with these copies.
pub(super) fn with(base: &GroupedPlan, profile: &[Copies]) -> GroupedPlan {
    let groups = base.groups.iter().zip(profile).map(|(group, copies)| copies.on(group)).collect();
    GroupedPlan { groups, ..*base }
}

/// The plan with those of these copies that are sent, their delays rounded down to so many digits.
pub(super) fn rounded(base: &GroupedPlan, profile: &[Copies], digits: u32) -> GroupedPlan {
    let delays = |copies: &Copies| copies.delays().map(|delay| few_digits(delay, digits)).collect();
    let sent = |(group, copies)| only_sent(group, delays(copies), base.deadline);
    GroupedPlan { groups: base.groups.iter().zip(profile).map(sent).collect(), ..*base }
}

/// The least of a function of one minimum over a range, by golden sections; `None` is more than any value.
fn golden<T>(
    low: f64,
    high: f64,
    mut f: impl FnMut(f64) -> Result<Option<(f64, T)>, SolveError>,
) -> Result<Option<(f64, T)>, SolveError> {
    const RATIO: f64 = 0.618_033_988_749_895;
    let value = |found: &Option<(f64, T)>| found.as_ref().map_or(f64::INFINITY, |(value, _)| *value);
    let (mut a, mut b) = (low, high);
    let (mut x, mut y) = (b - RATIO * (b - a), a + RATIO * (b - a));
    let (mut fx, mut fy) = (f(x)?, f(y)?);
    for _ in 0..GOLDEN_STEPS {
        if value(&fx) <= value(&fy) {
            (b, y, fy) = (y, x, fx);
            x = b - RATIO * (b - a);
            fx = f(x)?;
        } else {
            (a, x, fx) = (x, y, fy);
            y = a + RATIO * (b - a);
            fy = f(y)?;
        }
    }
    Ok(if value(&fx) <= value(&fy) { fx } else { fy })
}
