//! From branches that may fail to the job.
//!
//! | symbol | meaning |
//! |---|---|
//! | R | how many branches are required |
//! | X, L, O | optional branches that have answered, are lost (failed or missed), are open |
//! | k, m, n | answers that the barrier waits for, the least that a result may hold, branches |
//!
//! Each branch is in one of three states at an instant, independently of the others. The job has
//!
//! - ended complete when every required branch has answered and X >= k - R;
//! - failed when a required branch is lost, or L > n - m;
//! - ended partial when every required branch has answered, O = 0, and m - R <= X < k - R.
//!
//! A state that has ended a job never changes back, so these are the laws of the job and not only of an instant. Sums are
//! of positive terms; the chance that it is open is summed by itself.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

use super::{BranchAt, FailingBranch};
use crate::moments::{self, Curve};
use crate::numeric::{LATEST, time_at};
use crate::solve::Tally;
use crate::{Figure, LawError, Level, Method, SolveError, Verdicts};

/// Branches that are alike, and may fail.
#[derive(Clone, Debug, PartialEq)]
pub struct FailingGroup {
    /// How many there are, 1 to 10^12.
    pub count: u64,
    /// Whether a result without one of them is a failure.
    pub required: bool,
    /// Each of them.
    pub branch: FailingBranch,
}

/// A plan whose attempts may fail.
///
/// ```
/// use fantail_model::{Attempt, FailingBranch, FailingGroup, FailingPlan, Law, Level, Sends};
///
/// let attempt = Attempt::new(Law::log_normal(0.2, 0.6)?).retryable(0.01, Law::log_normal(0.05, 0.4)?)?;
/// let failed = |sends| -> Result<f64, Box<dyn std::error::Error>> {
///     let branch = FailingBranch { sends, ..FailingBranch::new(attempt.clone()) };
///     let group = FailingGroup { count: 5, required: true, branch };
///     let plan = FailingPlan { groups: vec![group], k: 5, at_least: 5, deadline: 2.0 };
///     Ok(plan.solve()?.verdicts()?.failed)
/// };
/// assert_eq!(format!("{:.4}", failed(Sends::Race(1))?), "0.0493");
/// assert_eq!(format!("{:.4}", failed(Sends::Copy(f64::INFINITY))?), "0.0008");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FailingPlan {
    /// The branches.
    pub groups: Vec<FailingGroup>,
    /// How many answers the barrier waits for, beside every required one: 1 to n.
    pub k: u64,
    /// The fewest answers that a result may hold: 0 to k.
    pub at_least: u64,
    /// When the job gives up, in seconds; infinite for never.
    pub deadline: f64,
}

/// The exact law of a job whose attempts may fail: the law of each verdict, and of the return time.
#[derive(Clone, Debug)]
pub struct FailingJob {
    plan: FailingPlan,
    n: u64,
    required: u64,
}

/// Terms of one evaluation over optional branches.
const MOST_TERMS: f64 = 4e6;

/// One instant of a job.
#[derive(Clone, Copy, Debug)]
struct JobAt {
    complete: f64,
    partial: f64,
    failed: f64,
    open: f64,
}

impl JobAt {
    /// `-ln P(open)`.
    fn hazard(&self) -> f64 {
        let ended = self.complete + self.partial + self.failed;
        if self.open < 0.5 { -libm::log(self.open) } else { -libm::log1p(-ended.min(1.0)) }
    }
}

impl FailingPlan {
    /// The law of this plan's job.
    ///
    /// # Errors
    /// [`SolveError::OutOfRange`] for a number that makes no plan; [`SolveError::TooLarge`] for more than
    /// some 2,000 optional branches, or 150 under a barrier amid them.
    pub fn solve(&self) -> Result<FailingJob, SolveError> {
        let n = self.groups.iter().fold(0_u64, |n, group| n.saturating_add(group.count));
        let range = |field, value: f64, ok: bool, bound| {
            if ok { Ok(()) } else { Err(SolveError::OutOfRange { field, value, bound }) }
        };
        let counted = n > 0 && n <= MOST_BRANCHES && self.groups.iter().all(|group| group.count > 0);
        range("branches", n as f64, counted, "1 to 1e12, in groups of at least 1".into())?;
        range("k", self.k as f64, (1..=n).contains(&self.k), format!("1 to the number of branches, {n}"))?;
        let least = self.at_least;
        range("at_least", least as f64, least <= self.k, format!("0 to k, {}", self.k))?;
        range("deadline", self.deadline, self.deadline >= 0.0, "0 or more seconds".into())?;
        let mut plan = self.clone();
        for group in &mut plan.groups {
            group.branch.check()?;
            group.branch.deadline = group.branch.deadline.min(self.deadline);
        }
        let required = plan.groups.iter().filter(|group| group.required).map(|group| group.count).sum();
        let job = FailingJob { plan, n, required };
        let optional = (n - required) as f64;
        let terms = optional * (job.fewest_complete() as f64 * (job.most_lost() + 1) as f64).max(optional);
        if terms > MOST_TERMS {
            let what = "so many optional branches that may fail";
            return Err(SolveError::TooLong { what, terms, bound: MOST_TERMS });
        }
        Ok(job)
    }
}

const MOST_BRANCHES: u64 = 1_000_000_000_000;

impl FailingJob {
    /// P(the job has ended complete by `t`).
    ///
    /// # Errors
    /// [`SolveError::Law`] when an integral misses its precision (not seen for any law tested).
    pub fn complete(&self, t: f64) -> Result<f64, SolveError> {
        Ok(self.at(t)?.complete)
    }

    /// P(the job has ended partial by `t`).
    ///
    /// # Errors
    /// As for [`FailingJob::complete`].
    pub fn partial(&self, t: f64) -> Result<f64, SolveError> {
        Ok(self.at(t)?.partial)
    }

    /// P(the job has failed by `t`): at once when a required branch is lost, or too few can still answer.
    ///
    /// # Errors
    /// As for [`FailingJob::complete`].
    pub fn failed(&self, t: f64) -> Result<f64, SolveError> {
        Ok(self.at(t)?.failed)
    }

    /// P(the job is still waiting at `t`), with relative precision far into the tail.
    ///
    /// # Errors
    /// As for [`FailingJob::complete`].
    pub fn waiting(&self, t: f64) -> Result<f64, SolveError> {
        Ok(self.at(t)?.open)
    }

    /// How jobs end.
    ///
    /// # Errors
    /// As for [`FailingJob::complete`].
    pub fn verdicts(&self) -> Result<Verdicts, SolveError> {
        let JobAt { complete, partial, failed, open } = self.at(f64::INFINITY)?;
        Ok(Verdicts { complete, partial, failed, never: open, method: Method::Exact })
    }

    /// The return time at a level, whatever the verdict; infinite when fewer jobs ever return.
    ///
    /// # Errors
    /// As for [`FailingJob::complete`].
    pub fn quantile(&self, level: Level) -> Result<Figure, SolveError> {
        self.checked(|curve| Ok(curve.inverse(level.hazard())))
    }

    /// Mean return time of a job that has a deadline.
    ///
    /// # Errors
    /// [`SolveError::OutOfRange`] when branches may wait for ever; else as for [`FailingJob::complete`].
    pub fn mean(&self) -> Result<Figure, SolveError> {
        let end = self.end();
        if end.is_infinite() {
            let bound = "finite, of the job or of each branch, for a mean".into();
            return Err(SolveError::OutOfRange { field: "deadline", value: end, bound });
        }
        self.checked(|curve| Ok(moments::of(curve)?.mean))
    }

    /// When every branch has certainly ended.
    fn end(&self) -> f64 {
        self.plan.groups.iter().map(|group| group.branch.deadline).fold(0.0, f64::max)
    }

    fn checked(&self, read: impl Fn(&Readout<'_>) -> Result<f64, LawError>) -> Result<Figure, SolveError> {
        let curve = Readout { job: self, failure: Cell::new(None) };
        let value = read(&curve)?;
        curve.failure.into_inner().map_or(Ok(Figure::exact(value)), |error| Err(error.into()))
    }

    /// `k - R`: optional answers that complete it.
    fn fewest_complete(&self) -> u64 {
        self.plan.k.saturating_sub(self.required)
    }

    /// `n - m`, of optional branches: more of them lost is a failure.
    fn most_lost(&self) -> u64 {
        (self.n - self.plan.at_least).min(self.n - self.required)
    }

    fn at(&self, t: f64) -> Result<JobAt, LawError> {
        let states: Vec<(u64, bool, BranchAt)> = self
            .plan
            .groups
            .iter()
            .map(|group| Ok((group.count, group.required, group.branch.at(t)?)))
            .collect::<Result<_, LawError>>()?;
        let of = |required: bool| states.iter().filter(move |state| state.1 == required);
        let optional: Vec<(u64, BranchAt)> = of(false).map(|(count, _, at)| (*count, *at)).collect();
        // Of the required ones: ln P(all answered), ln P(none lost), and P(none lost, not all answered).
        let ln_all = |share: fn(&BranchAt) -> f64| {
            of(true).map(|(count, _, at)| *count as f64 * share(at)).sum::<f64>()
        };
        let ln_answered = ln_all(|at| ln_rest(at.answered, at.lost() + at.open));
        let ln_kept = ln_all(|at| ln_rest(at.answered + at.open, at.lost()));
        let answered = libm::exp(ln_answered);
        let ratio = ln_all(|at| libm::log1p(at.open / at.answered));
        // Far out the two are nearly equal; early the lesser is nothing.
        let kept_open =
            if ratio < 1.0 { answered * libm::expm1(ratio) } else { libm::exp(ln_kept) - answered };
        let counts =
            Counts { optional: &optional, wanted: self.fewest_complete(), most_lost: self.most_lost() };
        let (few_lost, many_lost) = counts.lost();
        Ok(JobAt {
            complete: answered * counts.enough(),
            partial: answered * counts.settled_short(),
            failed: -libm::expm1(ln_kept) + libm::exp(ln_kept) * many_lost,
            open: kept_open * few_lost + answered * counts.open(),
        })
    }
}

/// `ln p`, by the smaller of p and the rest to 1.
fn ln_rest(p: f64, rest: f64) -> f64 {
    if rest < 0.5 { libm::log1p(-rest) } else { libm::log(p) }
}

/// The optional branches at an instant.
struct Counts<'a> {
    optional: &'a [(u64, BranchAt)],
    /// `k - R`.
    wanted: u64,
    /// `n - m`.
    most_lost: u64,
}

impl Counts<'_> {
    fn branches(&self) -> impl Iterator<Item = &BranchAt> {
        self.optional.iter().flat_map(|(count, at)| (0..*count).map(move |_| at))
    }

    fn n(&self) -> u64 {
        self.optional.iter().map(|(count, _)| count).sum()
    }

    /// A tally of branches for which an event has not happened, given its probability and that of the rest.
    fn tally(&self, event: impl Fn(&BranchAt) -> (f64, f64)) -> Tally {
        Tally::new(self.optional.iter().map(|(count, at)| {
            let (event, rest) = event(at);
            (*count, -ln_rest(rest, event))
        }))
    }

    /// `P(X >= k - R)`.
    fn enough(&self) -> f64 {
        if self.wanted == 0 {
            return 1.0;
        }
        let not_answered = self.tally(|at| (at.answered, at.lost() + at.open));
        if self.wanted > self.n() { 0.0 } else { not_answered.fewer_than(self.n() - self.wanted + 1) }
    }

    /// `P(L <= n - m)` and `P(L > n - m)`.
    fn lost(&self) -> (f64, f64) {
        let n = self.n();
        if self.most_lost >= n {
            return (1.0, 0.0);
        }
        let not_lost = self.tally(|at| (at.lost(), at.answered + at.open));
        (not_lost.at_least(n - self.most_lost), not_lost.fewer_than(n - self.most_lost))
    }

    /// `P(O = 0, X < k - R, L <= n - m)`.
    fn settled_short(&self) -> f64 {
        let most = self.wanted.min(self.n() + 1);
        if most == 0 {
            return 0.0;
        }
        let mut by_answers = vec![0.0; most as usize];
        by_answers[0] = 1.0;
        for at in self.branches() {
            for x in (1..by_answers.len()).rev() {
                by_answers[x] = by_answers[x] * at.lost() + by_answers[x - 1] * at.answered;
            }
            by_answers[0] *= at.lost();
        }
        let fewest = self.n().saturating_sub(self.most_lost);
        by_answers.iter().skip(fewest as usize).sum()
    }

    /// `P(O >= 1, X < k - R, L <= n - m)`.
    fn open(&self) -> f64 {
        let (answers, losses) = (self.wanted.min(self.n() + 1) as usize, self.most_lost as usize + 1);
        if answers == 0 {
            return 0.0;
        }
        // By answers and losses so far: none open, and some open.
        let mut none = vec![0.0; answers * losses];
        let mut some = none.clone();
        none[0] = 1.0;
        for at in self.branches() {
            for x in (0..answers).rev() {
                for l in (0..losses).rev() {
                    let here = x * losses + l;
                    let from = |cells: &[f64]| {
                        let answered = if x > 0 { cells[here - losses] * at.answered } else { 0.0 };
                        answered + if l > 0 { cells[here - 1] * at.lost() } else { 0.0 }
                    };
                    some[here] = from(&some) + (some[here] + none[here]) * at.open;
                    none[here] = from(&none);
                }
            }
        }
        some.iter().sum()
    }
}

/// The law of the return time as a curve; it keeps the first integral that failed.
struct Readout<'a> {
    job: &'a FailingJob,
    failure: Cell<Option<LawError>>,
}

impl Curve for Readout<'_> {
    fn hazard(&self, t: f64) -> f64 {
        self.job.at(t).map_or_else(
            |error| {
                self.failure.set(Some(error));
                0.0
            },
            |at| at.hazard(),
        )
    }

    fn inverse(&self, h: f64) -> f64 {
        let end = self.end();
        if h == 0.0 {
            return 0.0;
        }
        if h == f64::INFINITY {
            return end;
        }
        let time = time_at(h, f64::MIN_POSITIVE, end.min(LATEST), &|t| self.hazard(t));
        // At the deadline the law jumps: a root that is found there is the jump.
        if time >= end * (1.0 - 1e-14) { end } else { time }
    }

    fn kinks(&self, into: &mut Vec<f64>) {
        for group in &self.job.plan.groups {
            group.branch.kinks(into);
        }
    }

    /// Only jobs that end are integrated.
    fn tail_index(&self) -> f64 {
        0.0
    }

    fn end(&self) -> f64 {
        self.job.end()
    }
}
