//! The search: settings of deadline and k from outside in, the copies of each by roots.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::RangeInclusive;

use super::copies::{Copies, MOST_DIGITS, only_sent};
use super::meter::Meter;
use super::{Goal, Measure, Price, Tuning};
use crate::numeric::bracketed_root;
use crate::{Group, GroupedPlan, JobLaw, SolveError};

/// One run over a question, with the goals that count in it.
pub(super) struct Search<'t> {
    pub(super) tuning: &'t Tuning,
    pub(super) goals: &'t [Goal],
    pub(super) meter: &'t Meter,
    /// How much work it is to tell how far a plan is from the goals, and whether it keeps them, in terms of a sum.
    distance: f64,
    check: f64,
}

/// The copies of each group, with what they cost.
pub(super) type Priced = (f64, Vec<Copies>);

/// How many gaps between copies are tried, evenly over the time there is.
const GAPS: usize = 12;
/// Golden-section steps between the neighbours of the best of them.
const GOLDEN_STEPS: usize = 12;
/// How much more than the least price a plan may have that has fewer copies, or times with fewer digits.
const READABLE: f64 = 1.01;
/// The fewest digits of a delay.
const FEWEST_DIGITS: u32 = 2;
/// Delays below so much of the time in which copies make a difference are none.
const NEGLIGIBLE: f64 = 1e-6;
/// Plans that are judged for the latest time of a copy.
pub(super) const ROOT: usize = 16;
/// Groups up to this many are moved one by one.
pub(super) const MOST_MOVED: usize = 64;
/// Up to so many copies are tried with any number of them at once; more with none or all but one.
const MOST_MIXED: usize = 3;

impl<'t> Search<'t> {
    pub(super) fn new(tuning: &'t Tuning, goals: &'t [Goal], meter: &'t Meter) -> Search<'t> {
        /// Evaluations of a job's law that it takes to solve it and read a few shares, to find a quantile, and to integrate.
        const SHARES: f64 = 4.0;
        const QUANTILE: f64 = 40.0;
        const INTEGRAL: f64 = 1_000.0;
        let integral = |goal: &Goal| matches!(goal.measure, Measure::Mean | Measure::ExtraBusy);
        let sum = |of: &dyn Fn(&Goal) -> f64| SHARES + goals.iter().map(of).sum::<f64>();
        let distance = sum(&|goal| if goal.measure == Measure::Mean { INTEGRAL } else { 1.0 });
        let check = sum(&|goal| if integral(goal) { INTEGRAL } else { QUANTILE });
        let one = tuning.plan.without_copies().solve().map_or(f64::INFINITY, |job| job.work());
        Search { tuning, goals, meter, distance: one * distance, check: one * check }
    }

    /// Whether so many plans more may be judged.
    pub(super) fn affords(&self, plans: usize) -> bool {
        self.meter.affords(plans as f64 * self.distance)
    }

    /// Whether so many plans more may be judged for a plan that is a little cheaper.
    pub(super) fn has_room(&self, plans: usize) -> bool {
        self.meter.has_room(plans as f64 * self.distance)
    }

    pub(super) fn solve(&self, plan: &GroupedPlan) -> Result<JobLaw, SolveError> {
        self.meter.count_plan();
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
        self.meter.add(self.distance);
        let paid_for = self.goals.iter().filter(|goal| !goal.measure.is_price());
        paid_for.map(|goal| goal.excess(job)).try_fold(f64::NEG_INFINITY, |most, one| Ok(most.max(one?)))
    }

    /// Whether copies are enough for the goals that prices are paid for.
    pub(super) fn is_enough(&self, base: &GroupedPlan, profile: &[Copies]) -> Result<bool, SolveError> {
        Ok(self.excess(&self.solve(&with(base, profile))?)? <= 0.0)
    }

    /// Whether the levers allow the copies: a budget pays for those after a delay, at most one a primary whatever is stated.
    pub(super) fn is_paid_for(&self, job: &JobLaw) -> bool {
        let levers = &self.tuning.levers;
        let within = |copies: f64, share: f64| copies <= share * (1.0 + 1e-6) * job.n() as f64;
        job.is_payable(levers.budget.min(1.0))
            && (levers.most_extra.is_infinite()
                || within(job.extra_requests() * job.n() as f64, levers.most_extra))
    }

    /// Whether a job keeps the bounds on what it costs beside its price.
    pub(super) fn is_within_bounds(&self, job: &JobLaw) -> bool {
        let bounds = self.goals.iter().filter(|goal| match goal.measure {
            Measure::ExtraRequests => self.tuning.price == Price::Cost,
            Measure::Cost => self.tuning.price == Price::ExtraRequests,
            _ => false,
        });
        let kept =
            |goal: &Goal| goal.measure.of(job).is_ok_and(|figure| figure.is_some_and(|f| goal.is_met(f)));
        self.is_paid_for(job) && bounds.into_iter().all(kept)
    }

    /// The figure of a job, as work.
    pub(super) fn read(&self, measure: Measure, job: &JobLaw) -> Result<Option<f64>, SolveError> {
        self.meter.add(self.check);
        measure.of(job)
    }

    /// Whether a job keeps every goal, by its figures, and the budget.
    pub(super) fn keeps(&self, job: &JobLaw) -> Result<bool, SolveError> {
        if !self.is_paid_for(job) {
            return Ok(false);
        }
        self.meter.add(self.check);
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

    /// The cheapest plan over k: the largest that needs no copies; if all do, the smallest, since fewer answers are never
    /// dearer. With another deadline than the stated one, if one is given.
    pub(super) fn best_k(&self, deadline: Option<f64>) -> Result<Option<JobLaw>, SolveError> {
        let base = |k: u64| match deadline {
            Some(deadline) => self.base(k).with_deadline(deadline),
            None => self.base(k),
        };
        let plain = |k: u64| -> Result<Option<JobLaw>, SolveError> {
            let job = self.solve(&base(k).without_copies())?;
            Ok(if self.keeps(&job)? { Some(job) } else { None })
        };
        let (mut low, mut high) = (self.tuning.levers.least_k, self.tuning.plan.k);
        if let Some(job) = plain(high)? {
            return Ok(Some(job));
        }
        let least = if low < high { plain(low)? } else { None };
        let Some(mut largest) = least else {
            let fewest = self.best_copies(&base(low))?;
            return if fewest.is_none() && low < high { self.best_copies(&base(high)) } else { Ok(fewest) };
        };
        while high - low > 1 {
            let middle = low.midpoint(high);
            match plain(middle)? {
                Some(job) => (low, largest) = (middle, job),
                None => high = middle,
            }
        }
        Ok(Some(largest))
    }

    /// The cheapest plan with this deadline and k, which needs copies.
    pub(super) fn best_copies(&self, base: &GroupedPlan) -> Result<Option<JobLaw>, SolveError> {
        let hedged = self.hedged();
        let mut found = self.races(base, &hedged)?;
        match hedged.as_slice() {
            [] => return Ok(None),
            [group] => found.extend(self.one_group(base, *group, 1..=self.tuning.levers.most_copies)?),
            _ => self.several_groups(base, &hedged, &mut found)?,
        }
        if self.goals.iter().any(|goal| goal.measure == Measure::ExtraBusy) {
            found = self.less_busy(base, found)?;
        }
        // The fewest copies among those that are about as cheap.
        let least = found.iter().map(|(price, _)| *price).fold(f64::INFINITY, f64::min);
        let rank = |price: f64, profile: &[Copies]| {
            let most = profile.iter().map(|copies| copies.count()).max();
            if price <= READABLE * least { (0, most) } else { (1, None) }
        };
        found.sort_by(|(a, x), (b, y)| rank(*a, x).cmp(&rank(*b, y)).then(a.total_cmp(b)));
        found.dedup_by(|a, b| a.1 == b.1);
        for (price, profile) in found {
            // What is dearer is there for a bound that the cheapest break.
            let most = READABLE * if price <= READABLE * least { least } else { price };
            if let Some(job) = self.readable(base, &profile, most)? {
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

    /// For each number of copies, how many of them go out at once and the gap between the others, the latest first delay that
    /// keeps the goals, with its price.
    pub(super) fn one_group(
        &self,
        base: &GroupedPlan,
        group: usize,
        counts: RangeInclusive<usize>,
    ) -> Result<Vec<Priced>, SolveError> {
        let mut found = Vec::new();
        let step = self.horizon(base) / GAPS as f64;
        for count in counts {
            for at_once in
                (0..count).filter(|at_once| count <= MOST_MIXED || [0, count - 1].contains(at_once))
            {
                let late = count - at_once;
                let with_gap = |gap: f64| self.latest(base, group, Copies { at_once, late, first: 0.0, gap });
                let mut best: Option<(f64, f64)> = None;
                for gap in (0..if late == 1 { 1 } else { GAPS }).map(|i| step * i as f64) {
                    if !found.is_empty() && !self.affords(ROOT) {
                        return Ok(found);
                    }
                    if let Some((price, profile)) = with_gap(gap)? {
                        found.push((price, profile));
                        best = best.filter(|(least, _)| *least <= price).or(Some((price, gap)));
                    }
                }
                if let Some((_, gap)) = best.filter(|_| late > 1 && self.has_room(GOLDEN_STEPS * ROOT)) {
                    found.extend(golden((gap - step).max(0.0), gap + step, with_gap)?);
                }
            }
        }
        Ok(found)
    }

    /// Races that keep the goals, of few copies in each group. No budget limits the copies at the start, so that these may
    /// be had where copies after a delay would be too many.
    fn races(&self, base: &GroupedPlan, hedged: &[usize]) -> Result<Vec<Priced>, SolveError> {
        let mut order = hedged.to_vec();
        order.sort_by_key(|group| Reverse(base.groups[*group].count));
        let mut found = Vec::new();
        for count in 1..=self.tuning.levers.most_copies {
            let mut profile = vec![Copies::NONE; base.groups.len()];
            for &group in hedged {
                profile[group] = Copies::race(count);
            }
            if !self.is_enough(base, &profile)? {
                continue;
            }
            for &group in order.iter().filter(|_| (2..=MOST_MOVED).contains(&hedged.len())) {
                while profile[group].at_once > 0 && self.has_room(1) {
                    profile[group].at_once -= 1;
                    if !self.is_enough(base, &profile)? {
                        profile[group].at_once += 1;
                        break;
                    }
                }
            }
            found.push(self.priced(base, profile.clone())?);
            // One copy of each race as late as it may be.
            for &group in order.iter().filter(|_| hedged.len() <= MOST_MOVED && self.has_room(ROOT)) {
                let copies = profile[group].with_late();
                if copies.at_once > 0 {
                    self.latest_of(base, &mut profile, group, 0.0, |first| Copies { first, ..copies })?;
                }
            }
            found.push(self.priced(base, profile.clone())?);
            if hedged.len() > 1 {
                if self.has_room(hedged.len() * ROOT) {
                    self.move_all_later(base, &mut profile, hedged)?;
                    found.push(self.priced(base, profile)?);
                }
                // More copies of all would be fewer of each again.
                break;
            }
        }
        Ok(found)
    }

    /// Of profiles those that keep a goal on busy time, which is not the least with the latest copies: the others with all
    /// delays shorter by the same factor, the longest that keeps it. Those that none does are left out.
    fn less_busy(&self, base: &GroupedPlan, found: Vec<Priced>) -> Result<Vec<Priced>, SolveError> {
        const STEPS: usize = 24;
        const HALVINGS: usize = 10;
        let mut kept = Vec::new();
        for (price, profile) in found {
            let scaled = |factor: f64| profile.iter().map(|copies| copies.scaled(factor)).collect::<Vec<_>>();
            let keeps = |factor: f64| self.keeps(&self.solve(&with(base, &scaled(factor)))?);
            if keeps(1.0)? {
                kept.push((price, profile));
                continue;
            }
            if !self.affords(0) {
                continue;
            }
            let (mut low, mut high) = (None, 1.0);
            for factor in (0..STEPS).rev().map(|i| i as f64 / STEPS as f64) {
                if keeps(factor)? {
                    low = Some(factor);
                    break;
                }
                high = factor;
            }
            let Some(mut low) = low else { continue };
            for _ in 0..HALVINGS {
                let middle = f64::midpoint(low, high);
                if keeps(middle)? { low = middle } else { high = middle }
            }
            kept.push(self.priced(base, scaled(low))?);
        }
        Ok(kept)
    }

    /// The copies with the latest first delay that keeps the goals, and their price.
    fn latest(&self, base: &GroupedPlan, group: usize, copies: Copies) -> Result<Option<Priced>, SolveError> {
        let mut profile = vec![Copies::NONE; base.groups.len()];
        profile[group] = copies;
        if !self.is_enough(base, &profile)? {
            return Ok(None);
        }
        self.move_later(base, &mut profile, group)?;
        self.priced(base, profile).map(Some)
    }

    /// Moves the late copies of a group as late as the goals allow, which are kept as it is; drops what that allows.
    pub(super) fn move_later(
        &self,
        base: &GroupedPlan,
        profile: &mut [Copies],
        group: usize,
    ) -> Result<(), SolveError> {
        let copies = profile[group];
        let fewer = [Copies::NONE, Copies::race(copies.at_once)];
        for fewer in &fewer[..if copies.at_once > 0 && copies.late > 0 { 2 } else { 1 }] {
            profile[group] = *fewer;
            if self.is_enough(base, profile)? {
                return Ok(());
            }
        }
        // One of a race has yet to be late.
        let copies = copies.with_late();
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
        bracketed_root(low, self.horizon(base), &mut |time| {
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
        // A delay that is nothing beside the time at stake is none.
        profile[group] = copies(if kept < NEGLIGIBLE * self.horizon(base) { low } else { kept });
        failure.map_or(Ok(()), Err)
    }

    /// Every group moved as late as the goals allow, the dearest first.
    pub(super) fn move_all_later(
        &self,
        base: &GroupedPlan,
        profile: &mut [Copies],
        hedged: &[usize],
    ) -> Result<(), SolveError> {
        let job = self.solve(&with(base, profile))?;
        let mut order: Vec<(f64, usize)> = hedged
            .iter()
            .filter(|group| profile[**group].count() > 0)
            .map(|&group| (base.groups[group].count as f64 * job.copies(group), group))
            .collect();
        order.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        for (_, group) in order {
            self.move_later(base, profile, group)?;
        }
        Ok(())
    }

    /// No copy after it makes a difference to a goal.
    pub(super) fn horizon(&self, base: &GroupedPlan) -> f64 {
        let time = |goal: &Goal| match goal.measure {
            Measure::Quantile(_) => goal.bound,
            // In the mean every job counts; few are later than so many means.
            Measure::Mean => 30.0 * goal.bound,
            _ => 0.0,
        };
        let latest = self.goals.iter().map(time).fold(0.0, f64::max);
        if base.deadline.is_finite() { base.deadline } else { latest }
    }

    pub(super) fn priced(&self, base: &GroupedPlan, profile: Vec<Copies>) -> Result<Priced, SolveError> {
        Ok((self.price(&self.solve(&with(base, &profile))?), profile))
    }

    /// The job of a profile with its delays in as few digits as keep the goals at a price of at most `most`.
    fn readable(
        &self,
        base: &GroupedPlan,
        profile: &[Copies],
        most: f64,
    ) -> Result<Option<JobLaw>, SolveError> {
        let finest = self.solve(&rounded(base, profile, MOST_DIGITS))?;
        if !self.keeps(&finest)? {
            return Ok(None);
        }
        for digits in FEWEST_DIGITS..MOST_DIGITS {
            let job = self.solve(&rounded(base, profile, digits))?;
            if self.price(&job) <= most && self.keeps(&job)? {
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
    let sent = |(group, copies): (&Group, &Copies)| only_sent(group, *copies, digits, base.deadline);
    GroupedPlan { groups: base.groups.iter().zip(profile).map(sent).collect(), ..*base }
}

/// The least of a function of one minimum over a range, by golden sections; `None` is more than any value.
pub(super) fn golden<T>(
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
