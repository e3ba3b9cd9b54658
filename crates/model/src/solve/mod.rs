//! From branches to the job: the law of a plan, exactly.
//!
//! Nothing here knows the job machine; both know the plan only, so that their agreement means something.

mod counts;
mod error;
mod given;
mod grouped;
mod job_law;
mod member;
mod outcomes;
mod prices;
mod readouts;
mod snapshot;
mod tables;
mod unbroken;
mod walk;

pub(crate) use counts::Tally;
pub use error::{Assumption, NotIncluded, SolveError};
pub use grouped::{Group, GroupedPlan};
pub(crate) use job_law::{Face, Side};
pub use job_law::{Figure, JobLaw, Method, Verdicts};
pub(crate) use member::schedule;
pub use outcomes::Outcomes;
pub use prices::{Cancellation, Prices};
pub use tables::Tables;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use fantail_core::{Branch, Plan};

use crate::{Dependence, DependentJob, Law};

/// The law of a plan's job, given the law of one attempt of each branch, in the plan's order.
///
/// ```
/// use fantail_core::{BranchSpec, Plan, PlanSpec, Time};
/// use fantail_model::{Law, Level, solve};
///
/// let branches = ["type", "parties", "dates"].map(BranchSpec::new).to_vec();
/// let plan = Plan::new(PlanSpec { deadline: Some(Time::from_millis(2_500)), ..PlanSpec::new("enrich", branches) })?;
/// let call = Law::from_percentiles(&[(0.5, 0.8), (0.95, 1.5), (0.99, 2.4)])?.law;
/// let job = solve(&plan, &[call.clone(), call.clone(), call])?;
/// assert!((job.quantile(Level::MEDIAN).value - 1.0).abs() < 0.01);
/// assert!((job.verdicts().failed - 0.026).abs() < 0.001);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`SolveError::NotIncluded`] when the plan has a part that would make the figures wrong: a limiter that one job alone
/// fills, a budget that binds, stages, a leader, failovers. What cannot be judged from the plan is stated by [`JobLaw::assumptions`].
pub fn solve(plan: &Plan, laws: &[Law]) -> Result<JobLaw, SolveError> {
    let (grouped, group_of) = GroupedPlan::of(plan, laws)?;
    let mut law = JobLaw::new(grouped, group_of)?;
    let assumptions = judge(
        plan,
        law.delayed_copies() / law.n() as f64,
        || law.answered_primaries() / law.n() as f64,
        at_once(plan),
    )?;
    law.assume(assumptions);
    Ok(law)
}

/// The law of a plan's job when its branches are slow together, likewise.
///
/// ```
/// use fantail_core::{BranchSpec, Plan, PlanSpec, Time};
/// use fantail_model::{Dependence, Law, solve_dependent};
///
/// let branches = ["type", "parties", "dates"].map(BranchSpec::new).to_vec();
/// let plan = Plan::new(PlanSpec { deadline: Some(Time::from_millis(2_500)), ..PlanSpec::new("enrich", branches) })?;
/// let call = Law::from_percentiles(&[(0.5, 0.8), (0.95, 1.5), (0.99, 2.4)])?.law;
/// let failed = |job_share: f64| {
///     let shares = Dependence::new(job_share, 0.0)?;
///     Ok::<f64, fantail_model::SolveError>(
///         solve_dependent(&plan, &[call.clone(), call.clone(), call.clone()], shares)?.verdicts()?.failed,
///     )
/// };
/// assert_eq!(format!("{:.4} {:.4}", failed(0.0)?, failed(0.5)?), "0.0258 0.0232");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`solve`] and [`GroupedPlan::solve_dependent`].
pub fn solve_dependent(plan: &Plan, laws: &[Law], shares: Dependence) -> Result<DependentJob, SolveError> {
    let (grouped, group_of) = GroupedPlan::of(plan, laws)?;
    let mut law = JobLaw::sharing(grouped, group_of, shares)?;
    let job = DependentJob::new(law.clone(), shares)?;
    let (due, n) = (job.delayed_copies()?, law.n() as f64);
    let answered = if due > 0.0 { job.answered_primaries()? } else { n };
    let assumptions = judge(plan, due / n, || answered / n, at_once(plan))?;
    law.assume(assumptions);
    DependentJob::new(law, shares)
}

/// What a law leaves out under which all branches start at once.
fn at_once(plan: &Plan) -> Vec<NotIncluded> {
    let mut left_out = full_limiters(plan);
    left_out.extend(orders(plan));
    left_out
}

/// What the law of a plan takes for granted, when that many copies per primary fall due after a delay and so many primaries
/// answer, unless it leaves out something else.
pub(crate) fn judge(
    plan: &Plan,
    due: f64,
    answered: impl FnOnce() -> f64,
    mut left_out: Vec<NotIncluded>,
) -> Result<Vec<Assumption>, SolveError> {
    let mut assumptions: Vec<Assumption> = used_limiters(plan)
        .map(|index| Assumption::LimiterNeverFills { name: plan.limiters()[index].name.clone() })
        .collect();
    if due > 0.0 {
        let budget = plan.hedge_budget();
        let share = answered() * f64::from(budget.share) / f64::from(fantail_core::plan::PPM);
        if due > share {
            left_out.push(NotIncluded::Budget { due, share });
        } else {
            assumptions.push(Assumption::BudgetHasCredit { due, share });
        }
        assumptions.extend(budget.in_flight.map(|most| Assumption::CopiesInFlight { most }));
    }
    let copies = plan.branches().iter().any(|branch| branch.hedge.is_some());
    if copies && plan.holdout() > 0 {
        left_out.push(NotIncluded::Holdout { share: plan.holdout() });
    }
    if left_out.is_empty() { Ok(assumptions) } else { Err(SolveError::NotIncluded(left_out)) }
}

/// Parts of the plan by which branches start at other times than at once and after their hedge delays.
fn orders(plan: &Plan) -> impl Iterator<Item = NotIncluded> {
    let branches = plan.branches();
    let stages = branches.iter().any(|branch| !branch.after.is_empty()).then_some(NotIncluded::Stages);
    let leader = plan.leader().map(|_| NotIncluded::Leader);
    let fails_over = |branch: &Branch| branch.failover && branch.attempt_timeout.is_some();
    let failover = branches.iter().any(fails_over).then_some(NotIncluded::Failover);
    stages.into_iter().chain(leader).chain(failover)
}

/// Limiters from which the primaries of one job ask more than they permit at once.
fn full_limiters(plan: &Plan) -> Vec<NotIncluded> {
    let mut asked: BTreeMap<usize, u64> = BTreeMap::new();
    for branch in plan.branches() {
        if let Some(index) = branch.limiter {
            *asked.entry(index).or_default() += u64::from(branch.weight);
        }
    }
    let full = asked.into_iter().filter_map(|(index, asked)| {
        let limiter = &plan.limiters()[index];
        let capacity = u64::from(limiter.capacity());
        (asked > capacity).then(|| NotIncluded::Limiter { name: limiter.name.clone(), asked, capacity })
    });
    full.collect()
}

/// Limiters that a branch names and that bound anything.
fn used_limiters(plan: &Plan) -> impl Iterator<Item = usize> {
    let bounds = |index: &usize| {
        let limiter = &plan.limiters()[*index];
        (limiter.gate.is_some() || limiter.rate.is_some())
            && plan.branches().iter().any(|branch| branch.limiter == Some(*index))
    };
    (0..plan.limiters().len()).filter(bounds)
}
