//! The law of a job: three verdict laws and the law of the return time.

use alloc::vec;
use alloc::vec::Vec;

use super::member::Member;
use super::snapshot::{Held, Part, Rest, Snapshot};
use super::{Assumption, GroupedPlan, SolveError, walk};
use crate::moments::{self, Curve, LANDMARKS, Moments};
use crate::numeric::{rising, time_at};
use crate::order;
use crate::special::{barrier_hazard, branch_hazard, branch_hazard_at, complement};
use crate::{Law, Level};

/// How a figure was found.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// By formula or integral, to the stated precision of the model.
    Exact,
    /// Between two numbers that were found with certainty; the figure's value is a number between them.
    Bounded {
        /// The figure is not less.
        lower: f64,
        /// The figure is not more; may be infinite.
        upper: f64,
    },
    /// Of simulated jobs, with where the true figure lies.
    Simulated {
        /// With 95 % confidence the figure is not less; not a number where there are too few jobs to say.
        low: f64,
        /// With the same confidence it is not more; may be infinite.
        high: f64,
    },
}

/// A number with how it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Seconds, unless the readout says otherwise.
    pub value: f64,
    /// How it was found.
    pub method: Method,
}

impl Figure {
    pub(crate) fn exact(value: f64) -> Figure {
        Figure { value, method: Method::Exact }
    }

    /// Halfway between two bounds; exact where they meet.
    pub(crate) fn between(lower: f64, upper: f64) -> Figure {
        if lower == upper {
            return Figure::exact(lower);
        }
        Figure { value: lower + 0.5 * (upper - lower), method: Method::Bounded { lower, upper } }
    }
}

/// Shares of jobs by how they end; they sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdicts {
    /// The barrier was met. 1 only where no job can end otherwise.
    pub complete: f64,
    /// Ended without the barrier, with every required branch and at least `at_least` answers.
    pub partial: f64,
    /// Ended with less.
    pub failed: f64,
    /// Never end: an answer never comes and no deadline stops the wait.
    pub never: f64,
    /// How they were found.
    pub method: Method,
}

impl Verdicts {
    /// All jobs are complete only where none can end otherwise: of other shares rounding may leave nothing.
    pub(crate) fn settled(self) -> Verdicts {
        let others = self.partial + self.failed + self.never;
        let most = if others > 0.0 { 1.0 - f64::EPSILON / 2.0 } else { 1.0 };
        Verdicts { complete: self.complete.min(most), ..self }
    }
}

/// The exact law of a plan's job. Times are in seconds from the job's start.
///
/// It is three laws, one for each verdict, whose sum is the law of the *return time*. A deadline is an atom of it: all
/// jobs that wait for it return at that very instant.
///
/// ```
/// use fantail_model::{Group, GroupedPlan, Law, Level};
///
/// let call = Law::log_normal(1.0, 0.6)?;
/// let all = GroupedPlan::all(Group::new(8, call.clone())).solve()?;
/// let first = GroupedPlan::first(5, Group::new(8, call)).solve()?;
/// let p99 = Level::above(0.01)?;
/// assert_eq!(format!("{:.4}", all.quantile(p99).value), "6.1301");
/// assert_eq!(format!("{:.4}", first.quantile(p99).value), "2.0181");
/// # Ok::<(), fantail_model::SolveError>(())
/// ```
#[derive(Clone, Debug)]
pub struct JobLaw {
    plan: GroupedPlan,
    group_of: Vec<usize>,
    pub(super) members: Vec<Member>,
    /// The distinct finite instants at which branches give up, increasing.
    pub(super) instants: Vec<f64>,
    /// Misses with which the job may still be complete.
    pub(super) spare: u64,
    /// Misses with which it may still be partial.
    pub(super) borne: u64,
    pub(super) assumptions: Vec<Assumption>,
}

/// How far an instant has been judged. Its order: answers, failures, deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Its answers are in.
    Before,
    /// And the branches whose attempts time out then have failed.
    Failed,
    /// And its deadlines have passed.
    After,
}

/// Which law of the job is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    Return,
    Complete,
}

/// The most work of one evaluation of the job's law, in terms of a sum: some milliseconds. A quantile takes ten of them.
const MOST_TERMS: f64 = 2e7;
/// The same for an integral over it, which takes a thousand.
const MOST_TERMS_INTEGRATED: f64 = 5e6;
/// Of more branches that differ, one bends the law of the job too little to matter to an integral.
const MOST_KINKED: usize = 12;

impl GroupedPlan {
    /// The law of this plan's job.
    ///
    /// # Errors
    /// [`SolveError::OutOfRange`] for a number that makes no plan, [`SolveError::TooLong`] for too many different
    /// branches under a barrier below all.
    pub fn solve(&self) -> Result<JobLaw, SolveError> {
        JobLaw::new(self.clone(), Vec::new())
    }
}

impl JobLaw {
    pub(super) fn new(plan: GroupedPlan, group_of: Vec<usize>) -> Result<JobLaw, SolveError> {
        plan.check()?;
        let members: Vec<Member> =
            plan.groups.iter().map(|group| Member::new(group, plan.deadline)).collect::<Result<_, _>>()?;
        let mut instants: Vec<f64> = members.iter().map(|m| m.expires).filter(|t| t.is_finite()).collect();
        instants.sort_unstable_by(f64::total_cmp);
        instants.dedup();
        let n = plan.n();
        let (spare, borne) = (n - plan.k, n - plan.at_least);
        let law = JobLaw {
            plan,
            group_of,
            members,
            instants,
            spare,
            borne,
            assumptions: vec![Assumption::Independent],
        };
        let mut delays: Vec<f64> = law.members.iter().map(Member::first_copy).collect();
        delays.sort_unstable_by(f64::total_cmp);
        delays.dedup();
        let terms = law.work() + 0.01 * delays.len() as f64 * law.terms();
        if terms > MOST_TERMS {
            let what = "a law of so many branches and attempts";
            return Err(SolveError::TooLong { what, terms, bound: MOST_TERMS });
        }
        Ok(law)
    }

    pub(super) fn assume(&mut self, assumptions: Vec<Assumption>) {
        self.assumptions.extend(assumptions);
    }

    /// What the figures take for granted.
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }

    /// The plan with like branches counted.
    pub fn plan(&self) -> &GroupedPlan {
        &self.plan
    }

    /// The group of a branch of the plan that was solved; `None` beyond its branches, or when it was given in groups.
    pub fn group_of(&self, branch: usize) -> Option<usize> {
        self.group_of.get(branch).copied()
    }

    /// How many branches there are.
    pub fn n(&self) -> u64 {
        self.plan.n()
    }

    /// The law of one branch of a group: the first answer of its attempts, infinite when its deadline comes first.
    ///
    /// # Panics
    /// When there is no such group.
    pub fn branch(&self, group: usize) -> Law {
        let member = &self.members[group];
        member.law.cut(member.expires).expect("an instant of a checked plan")
    }

    /// P(the job has ended complete by `t`).
    pub fn complete(&self, t: f64) -> f64 {
        self.at(t, Side::After, Snapshot::complete)
    }

    /// P(the job has ended partial by `t`).
    pub fn partial(&self, t: f64) -> f64 {
        self.at(t, Side::After, Snapshot::partial)
    }

    /// P(the job has failed by `t`). It fails at once when a required branch gives up or too few can still answer.
    pub fn failed(&self, t: f64) -> f64 {
        self.at(t, Side::After, Snapshot::failed)
    }

    /// P(the job has returned by `t`): the sum of the three.
    pub fn returned(&self, t: f64) -> f64 {
        -libm::expm1(-self.face(Face::Return, t, Side::After))
    }

    /// P(the job is still waiting at `t`), with relative precision far into the tail.
    pub fn waiting(&self, t: f64) -> f64 {
        libm::exp(-self.face(Face::Return, t, Side::After))
    }

    /// The return time at a level: the earliest by which that share of jobs has returned, whatever the verdict.
    /// Infinite when fewer ever do.
    pub fn quantile(&self, level: Level) -> Figure {
        Figure::exact(self.face_quantile(Face::Return, level))
    }

    /// The time by which a share of *all* jobs is complete; infinite when fewer ever are.
    pub fn complete_quantile(&self, level: Level) -> Figure {
        Figure::exact(self.face_quantile(Face::Complete, level))
    }

    /// Mean return time; infinite when a job may never return or the tail is too heavy.
    ///
    /// # Errors
    /// [`SolveError::TooLong`] for many different branches under a barrier below all; [`SolveError::Law`] when an integral
    /// misses its precision (not seen for any plan tested).
    pub fn mean(&self) -> Result<Figure, SolveError> {
        Ok(Figure::exact(self.moments()?.mean))
    }

    /// Standard deviation of the return time.
    ///
    /// # Errors
    /// As for [`JobLaw::mean`].
    pub fn sd(&self) -> Result<Figure, SolveError> {
        Ok(Figure::exact(libm::sqrt(self.moments()?.variance)))
    }

    /// [`JobLaw::mean`] and [`JobLaw::sd`], for the cost of one of them.
    ///
    /// # Errors
    /// As for [`JobLaw::mean`].
    pub fn mean_and_sd(&self) -> Result<(Figure, Figure), SolveError> {
        let Moments { mean, variance } = self.moments()?;
        Ok((Figure::exact(mean), Figure::exact(libm::sqrt(variance))))
    }

    /// How jobs end.
    pub fn verdicts(&self) -> Verdicts {
        let end = f64::INFINITY;
        let (complete, partial, failed) = (self.complete(end), self.partial(end), self.failed(end));
        let never = self.at(end, Side::After, Snapshot::open);
        Verdicts { complete, partial, failed, never, method: Method::Exact }.settled()
    }

    /// Chance that a job meets at least one branch among that branch's own slowest `share`: `1 - (1 - share)^n`.
    pub fn meets_slow_branch(&self, share: f64) -> f64 {
        -libm::expm1(self.n() as f64 * libm::log1p(-share.clamp(0.0, 1.0)))
    }

    pub(crate) fn moments(&self) -> Result<Moments, SolveError> {
        check_work(self.work())?;
        if let Some((member, _, 1)) = self.alike()
            && self.end().is_infinite()
        {
            return Ok(member.law.moments()?);
        }
        if let Some((member, k, n)) = self.alike()
            && self.end().is_infinite()
            && let Some(moments) = order::of_law(&member.law, k, n)
        {
            return Ok(moments);
        }
        Ok(moments::of(self)?)
    }

    /// The one group, and how many of its n the job waits for, when all branches are alike.
    pub(super) fn alike(&self) -> Option<(&Member, u64, u64)> {
        let [member] = self.members.as_slice() else { return None };
        let k = if member.required { member.count } else { self.plan.k };
        Some((member, k, member.count))
    }

    /// When every branch has given up, so that the job has certainly returned; infinite when one never does.
    pub(crate) fn end(&self) -> f64 {
        self.members.iter().map(|member| member.expires).fold(0.0, f64::max)
    }

    /// Terms of one evaluation over optional branches that differ.
    pub(super) fn terms(&self) -> f64 {
        let optional = || self.members.iter().filter(|member| !member.required);
        let Some(first) = optional().next() else { return 0.0 };
        if optional().count() < 2 {
            return 0.0;
        }
        let n: u64 = optional().map(|member| member.count).sum();
        let missing = |most: u64| if most < n { most.min(n - most) + 1 } else { 0 };
        if optional().any(|member| member.expires != first.expires) {
            // Sums over how many have missed and how many are open.
            let spare = if self.spare < n { self.spare } else { 0 };
            return n as f64 * (spare + missing(self.borne)) as f64;
        }
        let counts = missing(self.spare).max(missing(self.borne));
        optional().map(|member| walk::terms(member.count, n, counts)).sum()
    }

    /// The instants at which branches give up, increasing.
    pub(crate) fn instants(&self) -> &[f64] {
        &self.instants
    }

    /// The members at `t`, as parts.
    pub(super) fn parts(&self, t: f64, side: Side) -> Vec<Part> {
        let t = t.max(0.0);
        let part = |member: &Member| {
            let now = match side {
                Side::Before => false,
                Side::Failed => member.times_out,
                Side::After => true,
            };
            let over = member.expires < t || member.expires == t && t.is_finite() && now;
            let hazard = member.hazard(t);
            Part {
                count: member.count,
                required: member.required,
                hazard,
                opposite: complement(hazard),
                rest: if over { Rest::Missed } else { Rest::Open },
            }
        };
        self.members.iter().map(part).collect()
    }

    pub(super) fn snapshot(&self, parts: Vec<Part>) -> Snapshot {
        Snapshot { parts, held: Held::None, spare: self.spare, borne: self.borne }
    }

    /// Whether the job can be complete while a branch of the group is open.
    pub(super) fn may_be_unneeded(&self, group: usize) -> bool {
        self.spare > 0 && !self.members[group].required
    }

    /// P(the job is open, given that one branch of `group` is) before the first instant, between each two, and after the
    /// last; `None` when it changes between instants, because the branch may be unneeded.
    pub(super) fn open_steps(&self, group: usize) -> Option<Vec<f64>> {
        if self.may_be_unneeded(group) {
            return None;
        }
        let starts =
            core::iter::once((0.0, Side::Before)).chain(self.instants.iter().map(|t| (*t, Side::After)));
        Some(starts.map(|(t, side)| self.open_given(group, t, side)).collect())
    }

    /// How much work one evaluation of the job's law is, in terms of a sum, about a nanosecond each.
    pub fn work(&self) -> f64 {
        let members: f64 = self.members.iter().map(Member::work).sum();
        // A binomial tail sums so many terms, or is an integral.
        let barrier = if self.spare > 0 { 9.0 * libm::sqrt(self.n() as f64).min(160.0) } else { 0.0 };
        members + barrier + self.terms()
    }

    /// P(the job waits at `t`, given that one branch of `group` is open then).
    pub(crate) fn open_given(&self, group: usize, t: f64, side: Side) -> f64 {
        if t < self.first_instant() && !self.may_be_unneeded(group) {
            return 1.0;
        }
        if t >= self.end() && side == Side::After && t.is_finite() {
            return 0.0;
        }
        let mut parts = self.parts(t, side);
        parts[group].count -= 1;
        let held = if parts[group].required { Held::Required } else { Held::Optional };
        Snapshot { held, ..self.snapshot(parts) }.open()
    }

    fn at(&self, t: f64, side: Side, read: impl Fn(&Snapshot) -> f64) -> f64 {
        read(&self.snapshot(self.parts(t, side))).clamp(0.0, 1.0)
    }

    /// Hazard of one of the job's laws at `t`.
    pub(crate) fn face(&self, face: Face, t: f64, side: Side) -> f64 {
        if face == Face::Return {
            if t > self.end() || t == self.end() && side == Side::After && t.is_finite() {
                return f64::INFINITY;
            }
            if let Some((member, k, n)) = self.alike() {
                return barrier_hazard(member.hazard(t), k, n);
            }
        }
        let first = self.first_instant();
        if t < first || t == first && (side == Side::Before || t.is_infinite()) {
            return self.unbroken(t).hazard();
        }
        let snapshot = self.snapshot(self.parts(t, side));
        let ended = |snapshot: &Snapshot| snapshot.partial() + snapshot.failed();
        let (not_yet, yet) = match face {
            Face::Return => (snapshot.open(), snapshot.complete() + ended(&snapshot)),
            Face::Complete => (snapshot.open() + ended(&snapshot), snapshot.complete()),
        };
        if not_yet < 0.5 { -libm::log(not_yet) } else { -libm::log1p(-yet.min(1.0)) }
    }

    /// The time at a level of one of the job's laws.
    fn face_quantile(&self, face: Face, level: Level) -> f64 {
        let h = level.hazard();
        if face == Face::Return
            && h > 0.0
            && let Some((member, k, n)) = self.alike()
        {
            return member
                .law
                .inverse_hazard(branch_hazard_at(h, level.opposite(), k, n))
                .min(member.expires);
        }
        let first = self.first_instant();
        if self.spare == 0 && h > 0.0 && h.is_finite() && self.face(face, first, Side::Before) >= h {
            let (low, high) = self.bracket(h);
            // The slowest group alone is nearly all there is.
            let (high, start) = (high.min(first), high * (1.0 - 1e-9));
            return rising(h, low, high, start, &mut |t| self.unbroken_with_rates(t).hazard_and_rate());
        }
        self.root(h, &|t, side| self.face(face, t, side), &|| self.bracket(h))
    }

    /// The earliest time at which a hazard that is continuous between the instants is `h`, with bounds of it before the
    /// first of them.
    pub(crate) fn root(
        &self,
        h: f64,
        hazard: &dyn Fn(f64, Side) -> f64,
        bracket: &dyn Fn() -> (f64, f64),
    ) -> f64 {
        let between = |from: Option<f64>, to: f64| {
            let (low, high) = from.map_or_else(bracket, |from| (from, to));
            let (low, high) = (low.min(to), high.min(to));
            if h == 0.0 { low } else { time_at(h, low, high, &|t| hazard(t, Side::Before)) }
        };
        let mut from = None;
        for &instant in &self.instants {
            if hazard(instant, Side::Before) >= h {
                return between(from, instant);
            }
            if hazard(instant, Side::After) >= h {
                return instant;
            }
            from = Some(instant);
        }
        if hazard(f64::INFINITY, Side::After) < h || h.is_infinite() {
            return f64::INFINITY;
        }
        between(from, f64::INFINITY)
    }

    /// Bounds of a quantile before any deadline: the job needs one answer at least, and all answers are enough.
    fn bracket(&self, h: f64) -> (f64, f64) {
        let n = self.n();
        let one = h / n as f64;
        let all = branch_hazard(h, n, n);
        self.members.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), member| {
            (low.min(member.law.inverse_hazard(one)), high.max(member.law.inverse_hazard(all)))
        })
    }

    /// The least upper bound of the orders whose moment is finite, for the time that the job waits; with `given`, while
    /// a branch of that group is open too.
    pub(super) fn open_index(&self, given: Option<usize>) -> f64 {
        self.open_index_of(given, |member| member.law.tail_index())
    }

    /// The same from other indices of the branches.
    pub(super) fn open_index_of(&self, given: Option<usize>, index: impl Fn(&Member) -> f64) -> f64 {
        let live = || self.members.iter().enumerate().filter(|(_, member)| member.expires.is_infinite());
        let count = |i: usize, member: &Member| member.count - u64::from(given == Some(i));
        let given_index = given.map_or(0.0, |i| index(&self.members[i]));
        if given.is_some_and(|i| self.members[i].required) {
            return given_index;
        }
        let required = live().filter(|(i, member)| member.required && count(*i, member) > 0);
        let one_required = required.map(|(_, member)| index(member)).fold(f64::INFINITY, f64::min);
        let over: u64 =
            self.members.iter().filter(|m| !m.required && m.expires.is_finite()).map(|m| m.count).sum();
        let mut wanted = (self.spare + 1).saturating_sub(over.min(self.borne)).max(1);
        if given.is_some() {
            wanted -= 1;
        }
        let mut optional: Vec<(f64, u64)> = live()
            .filter(|(_, member)| !member.required)
            .map(|(i, member)| (index(member), count(i, member)))
            .collect();
        optional.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        for (index, count) in optional {
            let taken = count.min(wanted);
            wanted -= taken;
            if taken > 0 {
                sum += index * taken as f64;
            }
        }
        let enough_optional = if wanted > 0 { f64::INFINITY } else { sum };
        given_index + one_required.min(enough_optional)
    }
}

/// Refuses integrals with that much work in one evaluation.
pub(super) fn check_work(terms: f64) -> Result<(), SolveError> {
    let (what, bound) = ("an integral over so many branches and attempts", MOST_TERMS_INTEGRATED);
    if terms > bound { Err(SolveError::TooLong { what, terms, bound }) } else { Ok(()) }
}

impl Curve for JobLaw {
    fn hazard(&self, t: f64) -> f64 {
        self.face(Face::Return, t, Side::After)
    }

    fn inverse(&self, h: f64) -> f64 {
        self.face_quantile(Face::Return, Level::from_hazard(h))
    }

    fn kinks(&self, into: &mut Vec<f64>) {
        into.extend(&self.instants);
        for member in self.members.iter().take(MOST_KINKED) {
            into.push(member.law.inverse_hazard(0.0));
            member.law.kinks(into);
        }
    }

    fn landmarks(&self) -> Vec<(f64, f64)> {
        /// How far apart, as normal values.
        const APART: f64 = 1.3;
        if self.alike().is_some() {
            return LANDMARKS.map(|h| (self.inverse(h), h)).to_vec();
        }
        let ends = [LANDMARKS[0], LANDMARKS[LANDMARKS.len() - 1]];
        self.spaced(ends, |low, high| high - low <= if high < 2.5 { APART } else { 0.6 * high })
    }

    fn tail_index(&self) -> f64 {
        self.open_index(None)
    }

    fn end(&self) -> f64 {
        JobLaw::end(self)
    }
}
