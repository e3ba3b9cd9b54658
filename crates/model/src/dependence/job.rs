//! The law of a job whose branches are slow together: an integral over J of jobs whose branches are independent.

use alloc::vec::Vec;
use core::cell::Cell;

use super::orthant::density;
use super::{Dependence, grid, means};
use crate::numeric::{Tolerance, bracketed_root, integrate_within};
use crate::solve::{Face, Side};
use crate::{
    Assumption, Cancellation, Figure, Group, GroupedPlan, JobLaw, Law, LawError, Level, Method, Outcomes,
    Prices, SolveError, Verdicts,
};

/// The exact law of a job whose branches are slow together. Times are in seconds from the job's start.
///
/// Without shares it is the [`JobLaw`] of the plan, figure by figure.
///
/// ```
/// use fantail_model::{Dependence, Group, GroupedPlan, Law, Level};
///
/// let call = Law::log_normal(1.0, 0.6)?;
/// let plan = GroupedPlan::all(Group::new(100, call));
/// let p99 = Level::above(0.01)?;
/// let alone = plan.solve()?.quantile(p99).value;
/// let together = plan.solve_dependent(Dependence::new(0.5, 0.0)?)?.quantile(p99)?.value;
/// assert_eq!(format!("{alone:.2} {together:.2}"), "9.31 8.61");
/// # Ok::<(), fantail_model::SolveError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DependentJob {
    pub(super) shares: Dependence,
    /// Given that J is 0.
    pub(super) law: JobLaw,
}

/// Figures of a job whose branches are independent.
pub(super) type Read<'a, const N: usize> = &'a dyn Fn(&JobLaw) -> Result<[f64; N], SolveError>;

/// Values of J between which its density changes by no more than a rule resolves.
const KNOTS: [f64; 6] = [-8.5, -5.0, -1.7, 1.7, 5.0, 8.5];
/// The same to where the density is below the least float, for tails.
pub(super) const FAR_KNOTS: [f64; 12] =
    [-37.0, -26.0, -17.0, -12.0, -8.5, -5.0, -1.7, 1.7, 5.0, 8.5, 17.0, 38.5];

/// The most work of one evaluation given J, in terms of a sum: a quantile takes some thousands.
const MOST_TERMS: f64 = 1e5;
/// The same for integrals over time and J, which take some ten thousand.
const MOST_TERMS_INTEGRATED: f64 = 6e4;
/// Error of an integral over J, as a share of it, that is not worth another evaluation.
const NOISE: f64 = 4e-13;
/// The same where each evaluation is an integral over time.
pub(super) const COARSE: f64 = 1e-11;
/// What does not matter of a share of jobs.
const NEGLIGIBLE: f64 = 1e-16;

impl GroupedPlan {
    /// The law of this plan's job when its branches depend on each other.
    ///
    /// ```
    /// use fantail_model::{Dependence, Group, GroupedPlan, Law, Level};
    ///
    /// let call = Law::log_normal(1.0, 0.6)?;
    /// let plain = GroupedPlan::all(Group::new(8, call.clone()));
    /// let p95 = call.quantile(Level::above(0.05)?);
    /// let hedged = GroupedPlan::all(Group { delays: vec![p95], ..Group::new(8, call) });
    /// let p99 = |plan: &GroupedPlan, shares: Dependence| {
    ///     let figure = plan.solve_dependent(shares)?.quantile(Level::above(0.01)?)?;
    ///     Ok::<String, fantail_model::SolveError>(format!("{:.2}", figure.value))
    /// };
    /// let shares = Dependence::new(0.2, 0.3)?;
    /// assert_eq!([p99(&plain, Dependence::NONE)?, p99(&hedged, Dependence::NONE)?], ["6.13", "4.40"]);
    /// assert_eq!([p99(&plain, shares)?, p99(&hedged, shares)?], ["6.10", "5.29"]);
    /// # Ok::<(), fantail_model::SolveError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`GroupedPlan::solve`], [`SolveError::TooLarge`] for more than 16 copies of a branch, and [`SolveError::TooLong`] for
    /// too many different branches to integrate over.
    pub fn solve_dependent(&self, shares: Dependence) -> Result<DependentJob, SolveError> {
        DependentJob::new(JobLaw::sharing(self.clone(), Vec::new(), shares)?, shares)
    }
}

impl DependentJob {
    pub(crate) fn new(law: JobLaw, shares: Dependence) -> Result<DependentJob, SolveError> {
        let terms = law.work();
        if shares.job() > 0.0 && terms > MOST_TERMS {
            let what = "a law of so many dependent branches and attempts";
            return Err(SolveError::TooLong { what, terms, bound: MOST_TERMS });
        }
        Ok(DependentJob { shares, law })
    }

    /// What is shared.
    pub fn shares(&self) -> Dependence {
        self.shares
    }

    /// What the figures take for granted.
    pub fn assumptions(&self) -> &[Assumption] {
        self.law.assumptions()
    }

    /// The plan with like branches counted.
    pub fn plan(&self) -> &GroupedPlan {
        self.law.plan()
    }

    /// The group of a branch of the plan that was solved; `None` beyond its branches, or when it was given in groups.
    pub fn group_of(&self, branch: usize) -> Option<usize> {
        self.law.group_of(branch)
    }

    /// How many branches there are.
    pub fn n(&self) -> u64 {
        self.law.n()
    }

    /// How much work one evaluation given J is, in terms of a sum: one at an instant takes tens of them, a mean ten thousands.
    pub fn work(&self) -> f64 {
        self.law.work()
    }

    /// The law of one branch of a group, over all jobs: the first answer of its attempts, infinite when its deadline comes
    /// first.
    ///
    /// # Panics
    /// When there is no such group.
    pub fn branch(&self, group: usize) -> Law {
        self.law.branch_whatever(group)
    }

    /// P(the job has ended complete by `t`).
    ///
    /// # Errors
    /// [`SolveError::Law`] when an integral misses its precision (not seen for any plan tested).
    pub fn complete(&self, t: f64) -> Result<f64, SolveError> {
        self.share_at(t, &|job| job.complete(t))
    }

    /// P(the job has ended partial by `t`).
    ///
    /// # Errors
    /// As for [`DependentJob::complete`].
    pub fn partial(&self, t: f64) -> Result<f64, SolveError> {
        self.share_at(t, &|job| job.partial(t))
    }

    /// P(the job has failed by `t`). It fails at once when a required branch gives up or too few can still answer.
    ///
    /// # Errors
    /// As for [`DependentJob::complete`].
    pub fn failed(&self, t: f64) -> Result<f64, SolveError> {
        self.share_at(t, &|job| job.failed(t))
    }

    /// P(the job has returned by `t`): the sum of the three.
    ///
    /// # Errors
    /// As for [`DependentJob::complete`].
    pub fn returned(&self, t: f64) -> Result<f64, SolveError> {
        Ok(-libm::expm1(-self.hazard(Face::Return, t, Side::After)?))
    }

    /// P(the job is still waiting at `t`), with relative precision far into the tail.
    ///
    /// # Errors
    /// As for [`DependentJob::complete`].
    pub fn waiting(&self, t: f64) -> Result<f64, SolveError> {
        Ok(libm::exp(-self.hazard(Face::Return, t, Side::After)?))
    }

    /// The density per second of the return time at `t`, as [`JobLaw::density`].
    ///
    /// # Errors
    /// As for [`DependentJob::complete`].
    pub fn density(&self, t: f64) -> Result<f64, SolveError> {
        let tolerance = Tolerance { relative: COARSE, absolute: [f64::MIN_POSITIVE] };
        let [density] = self.over(&[(t, Side::Before)], tolerance, &|job| Ok([job.density(t)]))?;
        Ok(density)
    }

    /// The return time at a level: the earliest by which that share of jobs has returned, whatever the verdict.
    /// Infinite when fewer ever do.
    ///
    /// # Errors
    /// As for [`DependentJob::complete`].
    pub fn quantile(&self, level: Level) -> Result<Figure, SolveError> {
        self.face_quantile(Face::Return, level)
    }

    /// The time by which a share of *all* jobs is complete; infinite when fewer ever are.
    ///
    /// # Errors
    /// As for [`DependentJob::complete`].
    pub fn complete_quantile(&self, level: Level) -> Result<Figure, SolveError> {
        self.face_quantile(Face::Complete, level)
    }

    /// How jobs end.
    ///
    /// # Errors
    /// As for [`DependentJob::complete`].
    pub fn verdicts(&self) -> Result<Verdicts, SolveError> {
        let end = (f64::INFINITY, Side::After);
        let tolerance = Tolerance { relative: NOISE, absolute: [NEGLIGIBLE; 4] };
        let shares = self.over(&[end], tolerance, &|job| {
            let Verdicts { complete, partial, failed, never, .. } = job.verdicts();
            Ok([complete, partial, failed, never])
        })?;
        let [complete, partial, failed, never] = shares.map(|share| share.min(1.0));
        Ok(Verdicts { complete, partial, failed, never, method: Method::Exact }.settled())
    }

    /// What becomes of one branch of a group, to 1e-8.
    ///
    /// # Errors
    /// As for [`DependentJob::complete`].
    ///
    /// # Panics
    /// When there is no such group.
    pub fn outcomes(&self, group: usize) -> Result<Outcomes, SolveError> {
        self.check_work(self.law.outcomes_work(group))?;
        let (shares, _) = self.expected("outcomes", [COARSE; 6], &|job| {
            let Outcomes { answered, failed, missed, unneeded, cancelled, never, .. } =
                job.outcomes(group)?;
            Ok([answered, failed, missed, unneeded, cancelled, never])
        })?;
        let [answered, failed, missed, unneeded, cancelled, never] = shares.map(|share| share.min(1.0));
        Ok(Outcomes { answered, failed, missed, unneeded, cancelled, never, method: Method::Exact })
    }

    /// Chance that a job meets at least one branch whose first attempt is among its own slowest `share`.
    ///
    /// # Errors
    /// As for [`DependentJob::complete`].
    pub fn meets_slow_branch(&self, share: f64) -> Result<f64, SolveError> {
        if self.shares.job() == 0.0 {
            return Ok(self.law.meets_slow_branch(share));
        }
        // As of any law, so of the one whose hazard is its time.
        let like = GroupedPlan::all(Group::new(self.n(), Law::exponential(1.0)?));
        let slow = Level::above(share.clamp(0.0, 1.0))?.hazard();
        like.solve_dependent(self.shares)?.waiting(slow)
    }

    /// P(the job sends at least one copy).
    ///
    /// # Errors
    /// As for [`DependentJob::complete`].
    pub fn sends_copy(&self) -> Result<f64, SolveError> {
        let tolerance = Tolerance { relative: COARSE, absolute: [NEGLIGIBLE] };
        let [sends] = self.over(&self.instants(), tolerance, &|job| Ok([job.sends_copy()]))?;
        Ok(sends.min(1.0))
    }

    /// Expected copies of one branch of a group: each starts if the branch and the job are open then.
    ///
    /// # Errors
    /// As for [`DependentJob::complete`].
    ///
    /// # Panics
    /// When there is no such group.
    pub fn copies(&self, group: usize) -> Result<f64, SolveError> {
        let tolerance = Tolerance { relative: COARSE, absolute: [NEGLIGIBLE] };
        let [copies] = self.over(&self.instants(), tolerance, &|job| Ok([job.copies(group)]))?;
        Ok(copies)
    }

    /// Copies per primary, as in [`Prices::extra_requests`], without the integrals of the other prices.
    ///
    /// # Errors
    /// As for [`DependentJob::complete`].
    pub fn extra_requests(&self) -> Result<f64, SolveError> {
        let copies = self.copies_of_each()?;
        let groups = self.plan().groups.iter().zip(copies);
        Ok(groups.map(|(group, copies)| group.count as f64 * copies).sum::<f64>() / self.n() as f64)
    }

    /// The prices, when losers are cancelled like that.
    ///
    /// # Errors
    /// As for [`DependentJob::mean`], and [`SolveError::OutOfRange`] for a lag that is negative or not a number.
    pub fn prices(&self, cancellation: Cancellation) -> Result<Prices, SolveError> {
        let per_branch = self.copies_of_each()?;
        let busy = self.total_busy(cancellation)?;
        let plain = if per_branch.iter().all(|copies| *copies == 0.0) {
            None
        } else {
            let plain = self.plan().without_copies().solve_dependent(self.shares)?;
            Some(plain.total_busy(cancellation)?)
        };
        Ok(Prices::new(self.plan(), &per_branch, busy, plain))
    }

    /// The copies of a branch of each group.
    fn copies_of_each(&self) -> Result<Vec<f64>, SolveError> {
        let alone = self.law.whatever();
        let copies = |group| if alone.is_alone(group) { Ok(alone.copies(group)) } else { self.copies(group) };
        (0..self.plan().groups.len()).map(copies).collect()
    }

    /// Expected copies of a job that the budget pays for: those that are due after a delay.
    pub(crate) fn delayed_copies(&self) -> Result<f64, SolveError> {
        let tolerance = Tolerance { relative: COARSE, absolute: [NEGLIGIBLE] };
        let [copies] = self.over(&self.instants(), tolerance, &|job| Ok([job.delayed_copies()]))?;
        Ok(copies)
    }

    /// [`JobLaw::is_payable`].
    ///
    /// # Errors
    /// As for [`DependentJob::complete`].
    pub fn is_payable(&self, share: f64) -> Result<bool, SolveError> {
        let due = self.delayed_copies()?;
        Ok(due == 0.0 || due <= share * self.answered_primaries()?)
    }

    /// Expected primaries of a job that answer first, while branch and job are open; the fewest that it may be.
    pub(crate) fn answered_primaries(&self) -> Result<f64, SolveError> {
        let tolerance = Tolerance { relative: COARSE, absolute: [NEGLIGIBLE] };
        let [answered] = self.over(&self.instants(), tolerance, &|job| Ok([job.answered_primaries()]))?;
        Ok(answered)
    }

    fn total_busy(&self, cancellation: Cancellation) -> Result<f64, SolveError> {
        let lag = cancellation.lag()?;
        if self.law.busy_for_ever(lag, self.shares) {
            return Ok(f64::INFINITY);
        }
        if (0..self.plan().groups.len()).all(|group| self.law.is_alone(group)) {
            return self.law.whatever().total_busy(cancellation);
        }
        self.check_work(self.law.busy_work(lag))?;
        let ([busy], missed) = self.expected("busy", [0.0], &|job| Ok([job.total_busy(cancellation)?]))?;
        if missed > means::FINE {
            return Err(LawError::NotConverged { what: "busy", error: missed }.into());
        }
        Ok(busy)
    }

    /// Hazard of one of the job's laws at `t`.
    fn hazard(&self, face: Face, t: f64, side: Side) -> Result<f64, SolveError> {
        if face == Face::Return
            && (t > self.law.end() || t == self.law.end() && side == Side::After && t.is_finite())
        {
            return Ok(f64::INFINITY);
        }
        if self.shares.job() == 0.0 {
            return Ok(self.law.face(face, t, side));
        }
        let tolerance = Tolerance { relative: self.noise(t), absolute: [f64::MIN_POSITIVE; 2] };
        let [yet, not_yet] = self.over(&[(t, side)], tolerance, &|job| {
            let hazard = job.face(face, t, side);
            Ok([-libm::expm1(-hazard), libm::exp(-hazard)])
        })?;
        Ok(if not_yet < 0.5 { -libm::log(not_yet) } else { -libm::log1p(-yet.min(1.0)) })
    }

    fn face_quantile(&self, face: Face, level: Level) -> Result<Figure, SolveError> {
        if self.shares.job() == 0.0 {
            return Ok(match face {
                Face::Return => self.law.quantile(level),
                Face::Complete => self.law.complete_quantile(level),
            });
        }
        let failure = Cell::new(None);
        let hazard = |t: f64, side: Side| {
            self.hazard(face, t, side).unwrap_or_else(|error| {
                failure.set(Some(error));
                0.0
            })
        };
        let h = level.hazard();
        let value = self.law.root(h, &hazard, &|| self.law.bracket_whatever(h));
        failure.into_inner().map_or(Ok(Figure::exact(value)), Err)
    }

    /// A share of jobs at an instant.
    fn share_at(&self, t: f64, share: &dyn Fn(&JobLaw) -> f64) -> Result<f64, SolveError> {
        let tolerance = Tolerance { relative: self.noise(t), absolute: [f64::MIN_POSITIVE] };
        let [share] = self.over(&[(t, Side::After)], tolerance, &|job| Ok([share(job)]))?;
        Ok(share.min(1.0))
    }

    /// The rounding of Z moves the step of the job given J: finer than that there is only noise to resolve.
    fn noise(&self, t: f64) -> f64 {
        let z = self.law.farthest_value(t).min(40.0);
        NOISE.max(64.0 * f64::EPSILON * z * z)
    }

    /// Refuses integrals over time and J with that much work in one evaluation.
    pub(super) fn check_work(&self, terms: f64) -> Result<(), SolveError> {
        let what = "an integral over so many dependent branches and attempts";
        let bound = MOST_TERMS_INTEGRATED;
        let small = self.shares.job() == 0.0 || terms <= bound;
        if small { Ok(()) } else { Err(SolveError::TooLong { what, terms, bound }) }
    }

    /// Instants at which the job's chances change at once, and its end: a few of them where there are many.
    pub(super) fn instants(&self) -> Vec<(f64, Side)> {
        const MOST: usize = 8;
        let instants = self.law.instants();
        let some = instants.iter().copied().step_by(instants.len().div_ceil(MOST).max(1));
        some.chain([f64::INFINITY]).map(|t| (t, Side::After)).collect()
    }

    /// `∫ φ(j) read(the job given that J is j) dj`, split where the job's chances at these times change over j.
    pub(super) fn over<const N: usize>(
        &self,
        times: &[(f64, Side)],
        tolerance: Tolerance<N>,
        read: Read<'_, N>,
    ) -> Result<[f64; N], SolveError> {
        if self.shares.job() == 0.0 {
            return read(&self.law);
        }
        let mut job = self.law.clone();
        let steep = self.law.steepness(self.shares);
        if let Some(total) = grid::sum(steep, tolerance, &mut |j| weighted(&mut job, j, read))? {
            return Ok(total);
        }
        let mut steps = Vec::new();
        for &(t, side) in times {
            add_steps(&mut job, t, side, &mut steps);
        }
        let mut within = |knots: &[f64]| {
            let mut points = steps.clone();
            points.retain(|j| *j > knots[0] && *j < knots[knots.len() - 1]);
            points.extend(knots);
            points.sort_unstable_by(f64::total_cmp);
            let mut failure = None;
            let total = integrate_within("job factor", &points, tolerance, &mut |j| {
                if failure.is_some() {
                    return [0.0; N];
                }
                weighted(&mut job, j, read).unwrap_or_else(|error| {
                    failure = Some(error);
                    [0.0; N]
                })
            })?;
            failure.map_or(Ok(total), Err)
        };
        let near = KNOTS[0]..=KNOTS[KNOTS.len() - 1];
        if steps.iter().all(|step| near.contains(step)) {
            let total = within(&KNOTS)?;
            if self.missed(&KNOTS, total, read)? < tolerance.relative {
                return Ok(total);
            }
        }
        within(&FAR_KNOTS)
    }

    /// How large the integrand still is beyond the knots, as a share of the integral.
    fn missed<const N: usize>(
        &self,
        knots: &[f64],
        total: [f64; N],
        read: Read<'_, N>,
    ) -> Result<f64, SolveError> {
        let mut job = self.law.clone();
        let mut most = 0.0_f64;
        for j in [knots[0], knots[knots.len() - 1]] {
            let left = weighted(&mut job, j, read)?;
            most = (0..N).map(|i| means::share(left[i], total[i])).fold(most, f64::max);
        }
        Ok(most)
    }
}

/// Adds where the job's chances at a time change over j, each as steep as many branches make it: the middle, and places
/// on both sides of it at the scale of the change.
fn add_steps(job: &mut JobLaw, t: f64, side: Side, into: &mut Vec<f64>) {
    /// Hazards at the middle and beside it.
    const LEVELS: [f64; 3] = [core::f64::consts::LN_2, 1.8, 0.2];
    /// Where it is as wide as the density of J, the knots are enough.
    const WIDE: f64 = 1.0;
    let (low, high) = (FAR_KNOTS[0], FAR_KNOTS[FAR_KNOTS.len() - 1]);
    // Before any branch can give up, a job ends in one way only.
    let given_up = job.instants().first().is_some_and(|first| *first <= t);
    for event in 0..if given_up { 3 } else { 1 } {
        let mut at = |level: f64, low: f64, high: f64| {
            bracketed_root(low, high, &mut |j| {
                job.give(j);
                let hazard =
                    if given_up { job.ended(t, side)[event] } else { job.face(Face::Return, t, side) };
                libm::log(level) - libm::log(hazard)
            })
        };
        let middle = at(LEVELS[0], low, high);
        if middle <= low || middle >= high {
            continue;
        }
        let (before, after) = (middle - at(LEVELS[1], low, middle), at(LEVELS[2], middle, high) - middle);
        into.push(middle);
        for scale in [1.0, 3.0, 9.0] {
            into.extend(
                [(-scale, before), (scale, after)]
                    .iter()
                    .filter_map(|(scale, width)| (*width < WIDE).then_some(middle + scale * width)),
            );
        }
    }
}

/// `φ(j) read(the job given that J is j)`.
pub(super) fn weighted<const N: usize>(
    job: &mut JobLaw,
    j: f64,
    read: Read<'_, N>,
) -> Result<[f64; N], SolveError> {
    let weight = density(j);
    job.give(j);
    Ok(read(job)?.map(|value| if value == 0.0 { 0.0 } else { weight * value }))
}
