//! What a plan costs beside time: extra requests, extra busy time, money.

use alloc::vec::Vec;

use super::job_law::{JobLaw, Method, Side, check_work};
use super::member::Member;
use super::snapshot::Rest;
use super::{Group, GroupedPlan, SolveError, Tables, Verdicts};
use crate::moments::{Upper, stops, thinned, upper};
use crate::numeric::{Tolerance, integrate_within};
use crate::order;
use crate::special::complement;

/// How long a loser runs on: an attempt that has not ended when its branch has answered or given up, or its job has ended.
/// At a [server](crate::sim::Server) it leaves the queue, or its slot, when it stops.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Cancellation {
    /// It stops at that instant.
    #[default]
    AtOnce,
    /// It stops so many seconds later, 0 or more, unless it ends before.
    After(f64),
    /// It runs until it ends by itself: with an answer, or at its attempt time-out.
    Never,
}

impl Cancellation {
    /// Seconds until a loser stops, infinite for never.
    pub(crate) fn lag(self) -> Result<f64, SolveError> {
        match self {
            Cancellation::AtOnce => Ok(0.0),
            Cancellation::Never => Ok(f64::INFINITY),
            Cancellation::After(lag) if lag >= 0.0 => Ok(lag),
            Cancellation::After(value) => {
                let (field, bound) = ("cancellation", "0 or more seconds".into());
                Err(SolveError::OutOfRange { field, value, bound })
            }
        }
    }
}

/// The prices of a plan, as expectations of one job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Attempts that are not copies: one a branch.
    pub primaries: f64,
    /// Copies that start. One starts only while its branch *and* the job are open.
    pub copies: f64,
    /// Copies per primary.
    pub extra_requests: f64,
    /// Seconds that attempts run, all branches together, losers until they are cancelled. Infinite when an attempt may run
    /// for ever.
    pub busy: f64,
    /// `busy` over that of the same plan without copies, less 1; `None` when both are infinite.
    pub extra_busy: Option<f64>,
    /// Money, from the cost per call of the branches that state it; `None` when none does.
    pub cost: Option<f64>,
    /// How they were found.
    pub method: Method,
}

impl Prices {
    /// From the expected copies of a branch of each group, and the busy time with copies and, if there are any, without.
    pub(crate) fn new(plan: &GroupedPlan, per_branch: &[f64], busy: f64, plain: Option<f64>) -> Prices {
        let groups = || plan.groups.iter().zip(per_branch);
        let copies = total(groups().map(|(group, copies)| group.count as f64 * copies));
        let costs = groups().filter_map(|(group, copies)| Some((group.cost?, group.count as f64, copies)));
        let priced = plan.groups.iter().any(|group| group.cost.is_some());
        let extra = |plain: f64| {
            let more = || if plain > 0.0 { busy / plain - 1.0 } else { 0.0 };
            (plain.is_finite() || busy.is_finite()).then(more)
        };
        let primaries = plan.n() as f64;
        Prices {
            primaries,
            copies,
            extra_requests: copies / primaries,
            busy,
            extra_busy: plain.map_or(Some(0.0), extra),
            cost: priced.then(|| total(costs.map(|(cost, count, copies)| count * cost * (1.0 + copies)))),
            method: Method::Exact,
        }
    }
}

impl JobLaw {
    /// The prices, when losers are cancelled like that.
    ///
    /// ```
    /// use fantail_model::{Cancellation, Group, GroupedPlan, Law, Level};
    ///
    /// let call = Law::log_normal(1.0, 0.6)?;
    /// let p95 = call.quantile(Level::above(0.05)?);
    /// let job = GroupedPlan::all(Group { delays: vec![p95], ..Group::new(8, call) }).solve()?;
    /// let percent = |price: f64| format!("{:.1}", 100.0 * price);
    /// let [prompt, never] = [Cancellation::AtOnce, Cancellation::Never].map(|how| job.prices(how));
    /// let (prompt, never) = (prompt?, never?);
    /// assert_eq!(percent(prompt.extra_requests), "5.0");
    /// assert_eq!(prompt.extra_busy.map(percent).as_deref(), Some("1.1"));
    /// assert_eq!(never.extra_busy.map(percent).as_deref(), Some("5.0"));
    /// # Ok::<(), fantail_model::SolveError>(())
    /// ```
    ///
    /// # Errors
    /// [`SolveError::OutOfRange`] for a lag that is negative or not a number; [`SolveError::TooLong`] for many different
    /// branches under a barrier below all; [`SolveError::Law`] when an integral misses its precision (not seen for any plan
    /// tested).
    pub fn prices(&self, cancellation: Cancellation) -> Result<Prices, SolveError> {
        self.prices_with(cancellation, None)
    }

    pub(super) fn prices_with(
        &self,
        cancellation: Cancellation,
        mut tables: Option<&mut Tables>,
    ) -> Result<Prices, SolveError> {
        let per_branch: Vec<f64> = (0..self.members.len()).map(|group| self.copies(group)).collect();
        let busy = self.total_busy_with(cancellation, tables.as_deref_mut())?;
        let plain = if per_branch.iter().all(|copies| *copies == 0.0) {
            None
        } else {
            Some(self.plan().without_copies().solve()?.total_busy_with(cancellation, tables)?)
        };
        Ok(Prices::new(self.plan(), &per_branch, busy, plain))
    }

    /// Copies per primary, as in [`Prices::extra_requests`], without the integrals of the other prices.
    pub fn extra_requests(&self) -> f64 {
        self.sum(|group| self.copies(group)) / self.n() as f64
    }

    /// What the calls of a job cost, as in [`Prices::cost`], without the integrals of the other prices.
    pub fn cost(&self) -> Option<f64> {
        let groups = || self.plan().groups.iter().enumerate();
        let priced = groups().any(|(_, group)| group.cost.is_some());
        let of =
            |(i, group): (usize, &Group)| Some(group.count as f64 * group.cost? * (1.0 + self.copies(i)));
        priced.then(|| total(groups().filter_map(of)))
    }

    /// Over all branches, of what one of each group adds.
    fn sum(&self, of: impl Fn(usize) -> f64) -> f64 {
        total(self.members.iter().enumerate().map(|(i, member)| member.count as f64 * of(i)))
    }

    /// Expected copies of one branch of a group: each starts if the branch and the job are open then.
    ///
    /// # Panics
    /// When there is no such group.
    pub fn copies(&self, group: usize) -> f64 {
        self.copies_from(group, 0.0)
    }

    /// P(the job sends at least one copy).
    ///
    /// Summed over which group is the first to send one: it is open at its delay, while every branch whose copy was due
    /// before has answered.
    pub fn sends_copy(&self) -> f64 {
        let mut delays: Vec<f64> =
            self.members.iter().map(Member::first_copy).filter(|delay| delay.is_finite()).collect();
        delays.sort_unstable_by(f64::total_cmp);
        delays.dedup();
        if self.spare == 0 && delays.last().is_some_and(|last| *last < self.first_instant()) {
            // Until then the job waits for every branch.
            let none = |member: &Member| match member.first_copy() {
                delay if delay.is_finite() => member.count as f64 * complement(member.hazard(delay)),
                _ => 0.0,
            };
            return -libm::expm1(-self.members.iter().map(none).sum::<f64>());
        }
        let first_at = |delay: f64| {
            let mut parts = self.parts(delay, Side::After);
            for (part, member) in parts.iter_mut().zip(&self.members) {
                let first = member.first_copy();
                if first < delay {
                    part.rest = Rest::Excluded;
                    part.hazard = member.hazard(first);
                    part.opposite = complement(part.hazard);
                } else if first == delay && part.rest == Rest::Open {
                    part.rest = Rest::Marked;
                }
            }
            self.snapshot(parts).open_with_marked()
        };
        total(delays.into_iter().map(first_at)).min(1.0)
    }

    /// Expected copies of a job that a budget pays for: those that are due after a delay.
    pub fn delayed_copies(&self) -> f64 {
        self.sum(|group| self.copies_from(group, f64::MIN_POSITIVE))
    }

    /// Expected primaries of a job that answer first, while branch and job are open: what earns credit for copies. Where
    /// copies share luck with them, the fewest that it may be.
    pub fn answered_primaries(&self) -> f64 {
        let shared = self.members.iter().any(|member| member.together.is_some());
        let all = (0..self.members.len()).map(|group| {
            let each = if shared { None } else { self.primary_answers(group).ok() };
            each.map(|each| self.members[group].count as f64 * each)
        });
        all.sum::<Option<f64>>().unwrap_or_else(|| self.least_answered_primaries())
    }

    /// Whether credit of so much for each answered primary is enough for all copies after a delay.
    pub fn is_payable(&self, share: f64) -> bool {
        let due = self.delayed_copies();
        let within = |answered: f64| due <= share * answered;
        due == 0.0
            || within(self.n() as f64)
                && (within(self.least_answered_primaries()) || within(self.answered_primaries()))
    }

    /// As many as a job returns answers, less those that copies may have given: attempts that start together are alike.
    fn least_answered_primaries(&self) -> f64 {
        let Verdicts { complete, partial, .. } = self.verdicts();
        let answers = complete * self.plan().k as f64 + partial * self.plan().at_least as f64;
        let at_once = |member: &Member| member.starts.iter().filter(|start| **start == 0.0).count();
        let most = self.members.iter().map(at_once).max().unwrap_or(1);
        ((answers - self.delayed_copies()) / most as f64).max(0.0)
    }

    /// P(the primary of one branch answers first, while branch and job are open): `∫ P(both are open) dH`, over the hazard of
    /// one attempt.
    fn primary_answers(&self, group: usize) -> Result<f64, SolveError> {
        /// What comes after this hazard is next to nothing.
        const LAST: f64 = 40.0;
        const PRECISE: Tolerance<1> = Tolerance { relative: 1e-8, absolute: [1e-9] };
        let member = &self.members[group];
        let hazard_at = |t: &f64| member.attempt.hazard(*t).min(LAST);
        let end = hazard_at(&member.expires.min(self.end()));
        let mut stops: Vec<f64> = member.starts.iter().chain(&self.instants).map(hazard_at).collect();
        stops.extend([0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, end]);
        stops.retain(|stop| *stop <= end);
        stops.sort_unstable_by(f64::total_cmp);
        let open_given = self.open_over_time(group);
        let [answers] = integrate_within("answered primaries", &stops, PRECISE, &mut |hazard| {
            let t = member.attempt.inverse_hazard(hazard);
            let open = libm::exp(-member.hazard(t));
            [if open == 0.0 { 0.0 } else { open * open_given(t) }]
        })?;
        Ok(answers)
    }

    fn copies_from(&self, group: usize, earliest: f64) -> f64 {
        let member = &self.members[group];
        let due = member.starts[1..].iter().filter(|start| **start >= earliest);
        total(due.map(|&start| libm::exp(-member.hazard(start)) * self.open_given(group, start, Side::After)))
    }

    /// Expected seconds that attempts of one branch of a group run.
    ///
    /// # Errors
    /// As for [`JobLaw::prices`].
    ///
    /// # Panics
    /// When there is no such group.
    pub fn busy(&self, group: usize, cancellation: Cancellation) -> Result<f64, SolveError> {
        check_work(self.work())?;
        self.busy_between(group, cancellation.lag()?, &self.ends(group..=group))
    }

    /// The same of all branches together.
    pub(crate) fn total_busy(&self, cancellation: Cancellation) -> Result<f64, SolveError> {
        self.total_busy_with(cancellation, None)
    }

    fn total_busy_with(
        &self,
        cancellation: Cancellation,
        mut tables: Option<&mut Tables>,
    ) -> Result<f64, SolveError> {
        let (groups, lag) = (0..self.members.len(), cancellation.lag()?);
        check_work(self.busy_work(lag))?;
        if self.is_busy_at_once(lag) {
            let profile = tables.and_then(|tables| tables.profile(self));
            if let (Some(profile), Some((_, k, n))) = (profile, self.alike())
                && let Some(busy) = profile.sum_until(k, n)
            {
                return Ok(busy);
            }
            return self.all_busy_until_the_end();
        }
        let ends = self.ends(groups.clone());
        let mut sum = 0.0;
        for group in groups {
            let find = || self.busy_between(group, lag, &ends);
            // Without an end of the job before its own, the branch alone decides.
            let alone = lag == 0.0 && self.instants.is_empty() && !self.may_be_unneeded(group);
            let each = match tables.as_deref_mut().filter(|_| alone) {
                Some(tables) => self.busy_in(group, tables, find)?,
                None => find()?,
            };
            sum += self.members[group].count as f64 * each;
        }
        Ok(sum)
    }

    /// How much work one evaluation of all that is integrated is, in terms of a sum.
    pub(crate) fn busy_work(&self, lag: f64) -> f64 {
        let groups = 0..self.members.len();
        let each = !self.is_busy_at_once(lag) && groups.clone().any(|group| self.may_be_unneeded(group));
        self.work() * if each { groups.len() as f64 } else { 1.0 }
    }

    /// Whether the busy time of all branches is one integral.
    fn is_busy_at_once(&self, lag: f64) -> bool {
        let unneeded = (0..self.members.len()).any(|group| self.may_be_unneeded(group));
        unneeded && lag == 0.0 && self.first_instant() == self.end()
    }

    /// Where the job's end falls, if it may come before the end of a branch of these groups.
    fn ends(&self, mut groups: impl Iterator<Item = usize>) -> Vec<f64> {
        if groups.any(|group| self.may_be_unneeded(group)) { stops(self) } else { self.instants.clone() }
    }

    /// All branches in one integral, which nothing interrupts before the end.
    fn all_busy_until_the_end(&self) -> Result<f64, SolveError> {
        if let Some((member, k, n)) = self.alike()
            && self.end().is_infinite()
            && member.starts.len() == 1
            && let Some(busy) = order::sum_until(&member.law, k, n)
        {
            return Ok(busy);
        }
        let indices = (0..self.members.len()).map(|group| self.open_index(Some(group)));
        let index = indices.fold(f64::INFINITY, f64::min);
        if self.end().is_infinite() && index <= 1.0 {
            return Ok(f64::INFINITY);
        }
        let mut stops = stops(self);
        for member in &self.members {
            stops.extend(member.starts.iter().flat_map(|start| [*start, start + member.timeout]));
        }
        let stops = thinned(stops);
        let range = Upper { from: 0.0, end: self.end(), index, stops: &stops, absolute: [0.0; 2] };
        let [busy, _] = upper("busy", &range, &|t| self.unbroken(t).running(t))?;
        Ok(busy)
    }

    fn busy_between(&self, group: usize, lag: f64, ends: &[f64]) -> Result<f64, SolveError> {
        let member = &self.members[group];
        if lag == 0.0 {
            return self.busy_until_the_end(group, ends);
        }
        let mut sum = 0.0;
        for attempt in 0..member.starts.len() {
            sum += self.busy_of(group, attempt, lag, ends)?;
        }
        Ok(sum)
    }

    /// `∫ running(t) P(branch and job open at t) dt`: what attempts run until they are losers.
    fn busy_until_the_end(&self, group: usize, ends: &[f64]) -> Result<f64, SolveError> {
        let member = &self.members[group];
        let index = self.open_index(Some(group));
        if member.expires.is_infinite() && index <= 1.0 {
            return Ok(f64::INFINITY);
        }
        let alone = member.starts.len() == 1 && member.timeout.is_infinite();
        if alone && self.end().is_infinite() && self.instants.is_empty() && !self.may_be_unneeded(group) {
            return Ok(member.law.mean()?);
        }
        let mut stops = stops(&member.law);
        stops.extend(ends);
        for start in &member.starts {
            stops.extend([*start, start + member.timeout]);
        }
        let stops = thinned(stops);
        let range = Upper { from: 0.0, end: member.expires, index, stops: &stops, absolute: [0.0; 2] };
        let open_given = self.open_over_time(group);
        let [busy, _] = upper("busy", &range, &|t| {
            let open = libm::exp(-member.hazard(t));
            if open == 0.0 { 0.0 } else { member.running(t) * open * open_given(t) }
        })?;
        Ok(busy)
    }

    /// `∫ P(the attempt runs at age x) dx`: it has no answer by then, and branch and job were open one lag before, or when
    /// it started.
    fn busy_of(&self, group: usize, attempt: usize, lag: f64, ends: &[f64]) -> Result<f64, SolveError> {
        let member = &self.members[group];
        let start = member.starts[attempt];
        let open_given = self.open_over_time(group);
        let running = |age: f64| {
            let since = (age - lag).max(0.0);
            let open = libm::exp(-member.overrun(start + since, attempt, age - since));
            if open == 0.0 { 0.0 } else { open * open_given(start + since) }
        };
        if running(0.0) == 0.0 {
            return Ok(0.0);
        }
        let end = member.timeout.min(member.expires - start + lag);
        let index =
            if lag == f64::INFINITY { member.attempt.tail_index() } else { self.open_index(Some(group)) };
        if end.is_infinite() && index <= 1.0 {
            return Ok(f64::INFINITY);
        }
        let mut stops = stops(&member.alone());
        // Without luck only the oldest attempt counts.
        stops.extend(member.starts.iter().map(|other| start - other));
        if lag.is_finite() {
            let times = crate::moments::stops(&member.law);
            stops.extend(times.iter().chain(ends).map(|t| t - start + lag));
            stops.push(lag);
        }
        let stops = thinned(stops);
        let range = Upper { from: 0.0, end, index, stops: &stops, absolute: [0.0; 2] };
        let [busy, _] = upper("busy", &range, &running)?;
        Ok(busy)
    }

    /// P(the job is open at a time, given that a branch of the group is).
    fn open_over_time(&self, group: usize) -> impl Fn(f64) -> f64 {
        let steps = self.open_steps(group);
        move |t| match &steps {
            Some(steps) => steps[self.instants.partition_point(|instant| *instant <= t)],
            None => self.open_given(group, t, Side::After),
        }
    }
}

/// The sum, from 0: that of no floats at all would be -0.
fn total(terms: impl Iterator<Item = f64>) -> f64 {
    terms.fold(0.0, |sum, term| sum + term)
}
