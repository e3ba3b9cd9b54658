//! A plan whose branches come after others, as stages.

use alloc::vec;
use alloc::vec::Vec;

use fantail_core::{Branch, Plan, Time};

use super::{Stage, StagedJob, StagedPlan};
use crate::solve::{NotIncluded, judge};
use crate::{Assumption, Figure, Law, Method, SolveError};

/// The law of a plan in stages, given the law of one attempt of each branch, in the plan's order; between bounds.
///
/// The order of the branches must be *series-parallel*: any part of them falls into parts that run side by side, or one
/// after another. All branches must be required.
///
/// ```
/// use fantail_core::{BranchSpec, Plan, PlanSpec};
/// use fantail_model::{Law, Level, solve_stages};
///
/// let mut branches = ["fetch", "classify", "extract", "store"].map(BranchSpec::new).to_vec();
/// branches[1].after = vec![0];
/// branches[2].after = vec![0];
/// branches[3].after = vec![1, 2];
/// let plan = Plan::new(PlanSpec::new("enrich", branches))?;
/// let job = solve_stages(&plan, &vec![Law::log_normal(0.2, 0.5)?; 4])?;
/// assert_eq!(format!("{:.3}", job.quantile(Level::MEDIAN).value), "0.712");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`SolveError::NotIncluded`] for another order, optional branches, deadlines and time-outs of their own, a leader, a
/// limiter that one job alone fills, a budget that binds; [`SolveError::TooLarge`] for more than 500 branches.
pub fn solve_stages(plan: &Plan, laws: &[Law]) -> Result<StagedJob, SolveError> {
    let branches = plan.branches();
    if laws.len() != branches.len() {
        return Err(SolveError::LawCount { given: laws.len(), branches: branches.len() });
    }
    if branches.len() > MOST_BRANCHES {
        let (what, value) = ("branches of a plan in stages", branches.len() as f64);
        return Err(SolveError::TooLarge { what, value, bound: MOST_BRANCHES as f64 });
    }
    let mut left_out = Vec::new();
    let plain = |branch: &Branch| {
        branch.required && branch.attempt_timeout.is_none() && branch.deadline == plan.deadline()
    };
    if !branches.iter().all(plain) {
        left_out.push(NotIncluded::Stages);
    }
    left_out.extend(plan.leader().map(|_| NotIncluded::Leader));
    let (mut stages, mut due) = (Vec::with_capacity(branches.len()), 0.0);
    for (branch, law) in branches.iter().zip(laws) {
        let delays: Vec<f64> = branch.delays().iter().map(|delay| delay.as_secs_f64()).collect();
        for (sent, delay) in delays.iter().enumerate().filter(|(_, delay)| **delay > 0.0) {
            due += law.hedged(&delays[..sent])?.survival(*delay);
        }
        stages.push(Stage::branch(law.hedged(&delays)?));
    }
    let order = Order { stages, before: closure(branches), plan };
    let whole = match order.part(&(0..branches.len()).collect::<Vec<_>>()) {
        Ok(whole) if left_out.is_empty() => whole,
        Err(error) if left_out.is_empty() => return Err(error),
        _ => return Err(SolveError::NotIncluded(left_out)),
    };
    let deadline = plan.deadline().map_or(f64::INFINITY, Time::as_secs_f64);
    let mut job = StagedPlan { stage: whole.stage, least: None, deadline }.solve();
    let due = due / branches.len() as f64;
    // Attempts that start together are alike.
    let at_once = |branch: &Branch| 1 + branch.delays().iter().filter(|delay| **delay == Time::ZERO).count();
    let together = branches.iter().map(at_once).max().unwrap_or(1);
    let complete = match job.verdicts().complete {
        Figure { method: Method::Bounded { lower, .. }, .. } => lower,
        Figure { value, .. } => value,
    };
    let answered = || (complete - due).max(0.0) / together as f64;
    let mut assumptions = judge(plan, due, answered, order.full(&whole.asked))?;
    if plan.deadline().is_some() && branches.iter().any(|branch| !branch.delays().is_empty()) {
        assumptions.push(Assumption::CopiesUntilDeadline);
    }
    job.assume(assumptions);
    Ok(job)
}

/// Each level of the order compares every pair of branches.
const MOST_BRANCHES: usize = 500;

/// How stages make one.
type Join = fn(&[(u64, Stage)]) -> Result<Stage, SolveError>;

/// The branches, and for each pair whether the first comes before the second.
struct Order<'a> {
    stages: Vec<Stage>,
    before: Vec<Vec<bool>>,
    plan: &'a Plan,
}

/// Some of the branches as one stage.
struct Part {
    stage: Stage,
    /// Of each limiter, what its primaries may ask for at once.
    asked: Vec<u64>,
}

impl Order<'_> {
    /// What does not compare with the rest runs beside it, what compares with all of the rest before or after it.
    fn part(&self, branches: &[usize]) -> Result<Part, SolveError> {
        if let [branch] = *branches {
            let mut asked = vec![0; self.plan.limiters().len()];
            let declared = &self.plan.branches()[branch];
            if let Some(limiter) = declared.limiter {
                asked[limiter] = declared.weight.into();
            }
            return Ok(Part { stage: self.stages[branch].clone(), asked });
        }
        let compare = |a: usize, b: usize| self.before[a][b] || self.before[b][a];
        let beside = components(branches, compare);
        if beside.len() > 1 {
            return self.joined(&beside, Stage::all, |a, b| a + b);
        }
        let in_turn = components(branches, |a, b| !compare(a, b));
        if in_turn.len() > 1 {
            return self.joined(&in_turn, Stage::then, u64::max);
        }
        Err(SolveError::NotIncluded(vec![NotIncluded::Stages]))
    }

    fn joined(
        &self,
        parts: &[Vec<usize>],
        stage: Join,
        both: fn(u64, u64) -> u64,
    ) -> Result<Part, SolveError> {
        let mut counted: Vec<(u64, Stage)> = Vec::new();
        let mut asked = vec![0; self.plan.limiters().len()];
        for branches in parts {
            let part = self.part(branches)?;
            for (sum, more) in asked.iter_mut().zip(part.asked) {
                *sum = both(*sum, more);
            }
            // The law does not depend on their order.
            match counted.iter_mut().find(|(_, stage)| *stage == part.stage) {
                Some((count, _)) => *count += 1,
                None => counted.push((1, part.stage)),
            }
        }
        Ok(Part { stage: stage(&counted)?, asked })
    }

    /// Limiters of which the job alone may ask for more at once than they permit; of a rate, in all.
    fn full(&self, at_once: &[u64]) -> Vec<NotIncluded> {
        let full = self.plan.limiters().iter().enumerate().filter_map(|(index, limiter)| {
            let of_it = self.plan.branches().iter().filter(|branch| branch.limiter == Some(index));
            let in_all = of_it.map(|branch| u64::from(branch.weight)).sum();
            let asked = if limiter.rate.is_some() { in_all } else { at_once[index] };
            let capacity = u64::from(limiter.capacity());
            (asked > capacity).then(|| NotIncluded::Limiter { name: limiter.name.clone(), asked, capacity })
        });
        full.collect()
    }
}

/// Which branches come before which, directly or not.
fn closure(branches: &[Branch]) -> Vec<Vec<bool>> {
    let n = branches.len();
    let mut before = vec![vec![false; n]; n];
    for last in 0..n {
        let mut open = branches[last].after.clone();
        while let Some(first) = open.pop() {
            if !core::mem::replace(&mut before[first][last], true) {
                open.extend(&branches[first].after);
            }
        }
    }
    before
}

/// The parts of `items` that no pair joins.
fn components(items: &[usize], joined: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut rest = items.to_vec();
    let mut parts = Vec::new();
    while let Some(first) = rest.pop() {
        let mut part = vec![first];
        let mut next = 0;
        while let Some(&item) = part.get(next) {
            let (more, others) = rest.into_iter().partition(|other| joined(item, *other));
            let more: Vec<usize> = more;
            part.extend(more);
            rest = others;
            next += 1;
        }
        parts.push(part);
    }
    parts
}
