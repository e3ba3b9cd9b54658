//! A plan as the solver sees it: like branches counted, times in seconds.

use alloc::format;
use alloc::vec::Vec;

use fantail_core::{Branch, Plan};

use super::SolveError;
use crate::Law;

/// Branches that are alike in everything that matters to the job's law.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// How many there are, 1 to 10^12.
    pub count: u64,
    /// The law of one attempt.
    pub law: Law,
    /// Whether a result without one of them is a failure.
    pub required: bool,
    /// When copies are due, in seconds from the start, not decreasing. Zero is a race.
    pub delays: Vec<f64>,
    /// A copy starts only with at least this many seconds left before the deadline.
    pub min_useful: f64,
    /// When they must have answered, in seconds from the start, at most 1e100; infinite for never.
    pub deadline: f64,
    /// How many seconds one attempt may run, more than 0; infinite for no bound.
    pub attempt_timeout: f64,
    /// What one call costs, averaged over the branches that state it; `None` when none does.
    pub cost: Option<f64>,
}

impl Group {
    /// `count` required branches of a law, without copies or bounds of time.
    pub fn new(count: u64, law: Law) -> Group {
        Group {
            count,
            law,
            required: true,
            delays: Vec::new(),
            min_useful: 0.0,
            deadline: f64::INFINITY,
            attempt_timeout: f64::INFINITY,
            cost: None,
        }
    }
}

/// A plan with like branches counted, so that a billion of them cost no more than one.
///
/// ```
/// use fantail_model::{Group, GroupedPlan, Law, Level};
///
/// let leaf = Law::log_normal(1.0, 0.6)?;
/// let job = GroupedPlan::all(Group::new(1_000_000_000, leaf)).solve()?;
/// assert_eq!(format!("{:.3}", job.quantile(Level::MEDIAN).value), "37.873");
/// # Ok::<(), fantail_model::SolveError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GroupedPlan {
    /// The branches.
    pub groups: Vec<Group>,
    /// How many answers the barrier waits for, beside every required one: 1 to n.
    pub k: u64,
    /// The fewest answers that a result may hold: 0 to k.
    pub at_least: u64,
    /// When the job gives up, in seconds; infinite for never.
    pub deadline: f64,
}

impl GroupedPlan {
    /// A plan that waits for all branches of one group.
    pub fn all(group: Group) -> GroupedPlan {
        let n = group.count;
        GroupedPlan { groups: alloc::vec![group], k: n, at_least: n, deadline: f64::INFINITY }
    }

    /// A plan that waits for the first `k` of one group, none of them required.
    pub fn first(k: u64, group: Group) -> GroupedPlan {
        let group = Group { required: false, ..group };
        GroupedPlan { groups: alloc::vec![group], k, at_least: k, deadline: f64::INFINITY }
    }

    /// Counts the like branches of a plan, with one law per branch; also the group of every branch.
    ///
    /// # Errors
    /// [`SolveError::LawCount`] when there is not one law per branch; [`SolveError::TooLarge`] for more than 10,000
    /// different branches.
    pub fn of(plan: &Plan, laws: &[Law]) -> Result<(GroupedPlan, Vec<usize>), SolveError> {
        let branches = plan.branches();
        if laws.len() != branches.len() {
            return Err(SolveError::LawCount { given: laws.len(), branches: branches.len() });
        }
        let mut groups: Vec<Group> = Vec::new();
        let mut costs: Vec<f64> = Vec::new();
        let mut group_of = Vec::with_capacity(branches.len());
        for (branch, law) in branches.iter().zip(laws) {
            if groups.len() > MOST_GROUPS {
                let (what, value) = ("different branches", groups.len() as f64);
                return Err(SolveError::TooLarge { what, value, bound: MOST_GROUPS as f64 });
            }
            let one = single(branch, law);
            // Like branches mostly follow each other.
            let index = groups.iter().rposition(|group| alike(group, &one)).unwrap_or_else(|| {
                groups.push(Group { count: 0, cost: None, ..one.clone() });
                costs.push(0.0);
                groups.len() - 1
            });
            groups[index].count += 1;
            if let Some(cost) = one.cost {
                costs[index] += cost;
                groups[index].cost = Some(costs[index]);
            }
            group_of.push(index);
        }
        for group in &mut groups {
            group.cost = group.cost.map(|sum| sum / group.count as f64);
        }
        let deadline = seconds(plan.deadline());
        let grouped =
            GroupedPlan { groups, k: u64::from(plan.k()), at_least: u64::from(plan.at_least()), deadline };
        Ok((grouped, group_of))
    }

    /// How many branches there are: n.
    pub fn n(&self) -> u64 {
        self.groups.iter().map(|group| group.count).sum()
    }

    /// The same plan with another deadline of the job, in seconds, infinite for none. Branches that give up with the job
    /// still do.
    #[must_use]
    pub fn with_deadline(&self, deadline: f64) -> GroupedPlan {
        let mut plan = GroupedPlan { deadline, ..self.clone() };
        for group in plan.groups.iter_mut().filter(|group| group.deadline >= self.deadline) {
            group.deadline = f64::INFINITY;
        }
        plan
    }

    /// Whether any branch has copies.
    pub fn has_copies(&self) -> bool {
        self.groups.iter().any(|group| !group.delays.is_empty())
    }

    /// The same plan without copies.
    #[must_use]
    pub fn without_copies(&self) -> GroupedPlan {
        let groups = self.groups.iter().map(|group| Group { delays: Vec::new(), ..group.clone() }).collect();
        GroupedPlan { groups, ..*self }
    }

    /// Checks every number that is not checked by a type.
    pub(super) fn check(&self) -> Result<(), SolveError> {
        let fail = |field, value: f64, bound| Err(SolveError::OutOfRange { field, value, bound });
        let is_time = |value: f64| (0.0..=LONGEST).contains(&value) || value == f64::INFINITY;
        let most = 1_000_000_000_000;
        let mut n: u64 = 0;
        for group in &self.groups {
            if group.count == 0 || group.count > most {
                return fail("count", group.count as f64, format!("1 to {most} branches"));
            }
            n += group.count;
            if group.attempt_timeout == 0.0 {
                return fail("attempt_timeout", 0.0, "more than 0 seconds".into());
            }
            for (field, value) in [
                ("deadline", group.deadline),
                ("attempt_timeout", group.attempt_timeout),
                ("min_useful", group.min_useful),
            ]
            .into_iter()
            .chain(group.delays.iter().map(|delay| ("delay", *delay)))
            {
                if !is_time(value) {
                    return fail(field, value, format!("0 to {LONGEST:e} seconds, or infinite"));
                }
            }
            if let Some(pair) = group.delays.windows(2).find(|pair| pair[0] > pair[1]) {
                return fail("delay", pair[1], format!("at least the delay before it, {}", pair[0]));
            }
        }
        if n == 0 {
            return fail("groups", n as f64, "at least one branch".into());
        }
        if self.k == 0 || self.k > n {
            return fail("k", self.k as f64, format!("1 to the number of branches, {n}"));
        }
        if self.at_least > self.k {
            return fail("at_least", self.at_least as f64, format!("0 to k, {}", self.k));
        }
        if !is_time(self.deadline) {
            return fail("deadline", self.deadline, format!("0 to {LONGEST:e} seconds, or infinite"));
        }
        Ok(())
    }
}

/// Each branch is compared with the groups so far.
const MOST_GROUPS: usize = 10_000;

/// The longest finite time, in seconds: its square still fits a float.
const LONGEST: f64 = 1e100;

fn single(branch: &Branch, law: &Law) -> Group {
    Group {
        count: 1,
        law: law.clone(),
        required: branch.required,
        delays: branch.delays().iter().map(|delay| delay.as_secs_f64()).collect(),
        min_useful: branch.hedge.as_ref().map_or(0.0, |hedge| hedge.min_useful.as_secs_f64()),
        deadline: seconds(branch.deadline),
        attempt_timeout: seconds(branch.attempt_timeout),
        cost: branch.cost,
    }
}

/// Whether branches may be counted together; what a call costs does not matter to that.
fn alike(a: &Group, b: &Group) -> bool {
    a.required == b.required
        && a.deadline == b.deadline
        && a.attempt_timeout == b.attempt_timeout
        && a.min_useful == b.min_useful
        && a.delays == b.delays
        && a.law == b.law
}

fn seconds(time: Option<fantail_core::Time>) -> f64 {
    time.map_or(f64::INFINITY, fantail_core::Time::as_secs_f64)
}
