//! Plans: the definition of a fan-out, validated before anything starts.

mod check;
mod error;
mod limits;
mod stages;

pub use error::{Field, PlanError, PlanErrors};
pub use limits::{BudgetSpec, LimiterSpec, Rate};

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::LiveDelaySpec;
use crate::Time;
use crate::job::AttemptId;
use stages::Dependents;

/// The most branches a plan may have.
pub const MAX_BRANCHES: usize = 1_000_000;
/// The most copies a branch may have beside its primary.
pub const MAX_COPIES: usize = 15;
/// One whole, in the integer parts per million that shares and rates of budgets are given in.
pub const PPM: u32 = 1_000_000;

/// What a user states of a plan, before it is checked. [`Plan::new`] turns it into a [`Plan`].
///
/// ```
/// use fantail_core::{BranchSpec, Hedge, Plan, PlanSpec, Time};
///
/// let mut branches = ["type", "parties", "dates"].map(BranchSpec::new).to_vec();
/// branches.push(BranchSpec { required: Some(false), ..BranchSpec::new("summary") });
/// branches[0].repeatable = true;
/// branches[0].hedge = Some(Hedge::after(Time::from_millis(1_500)));
/// let plan = Plan::new(PlanSpec { deadline: Some(Time::from_millis(2_500)), ..PlanSpec::new("enrich", branches) })?;
/// assert_eq!((plan.n(), plan.k(), plan.at_least()), (4, 4, 3));
/// # Ok::<(), fantail_core::PlanErrors>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PlanSpec {
    /// The plan's name. Not empty.
    pub name: String,
    /// When the job stops waiting. Default: all.
    pub wait_for: WaitFor,
    /// The fewest answers that a result may hold, 0 to k. Default: k for first and share, the number of required
    /// branches for all.
    pub at_least: Option<u32>,
    /// When the job gives up, counted from its start. Default: never.
    pub deadline: Option<Time>,
    /// Cap on the copies that start after a delay. Default: [`BudgetSpec::HEDGES`]. A race (delay zero) is not capped.
    pub hedge_budget: BudgetSpec,
    /// Cap on failovers. Default: [`BudgetSpec::FAILOVERS`].
    pub failover_budget: BudgetSpec,
    /// The branch that goes first, to prime what the others then share. Default: all start at once.
    pub leader: Option<Leader>,
    /// The share of jobs, in parts per million, in which primaries that are not needed run on to their deadline, outside
    /// the job, so that the live delays can be measured on them alone: a job that is over at its first k answers would
    /// cut the slow ones. Every branch must have a deadline then. At most [`PPM`] together with `holdout`. Default: 0.
    pub observe: u32,
    /// The share of jobs, in parts per million, that start no copies, to measure what copies buy. Default: 0, since
    /// whoever is in it waits longer.
    pub holdout: u32,
    /// The hedge delays that follow the latency, which branches refer to by index. Like branches share one. A cap defaults
    /// to the last instant at which a copy of any of them may start.
    pub live_delays: Vec<LiveDelaySpec>,
    /// Whether missing optional branches of partial results are filled in later. Default: no.
    pub backfill: bool,
    /// The limiters that branches refer to by index.
    pub limiters: Vec<LimiterSpec>,
    /// The branches, in the order that breaks ties.
    pub branches: Vec<BranchSpec>,
}

impl PlanSpec {
    /// A plan that waits for all `branches`, with no deadline.
    pub fn new(name: impl Into<String>, branches: Vec<BranchSpec>) -> PlanSpec {
        PlanSpec {
            name: name.into(),
            wait_for: WaitFor::All,
            at_least: None,
            deadline: None,
            hedge_budget: BudgetSpec::HEDGES,
            failover_budget: BudgetSpec::FAILOVERS,
            leader: None,
            observe: 0,
            holdout: 0,
            live_delays: Vec::new(),
            backfill: false,
            limiters: Vec::new(),
            branches,
        }
    }
}

/// What a user states of a branch.
#[derive(Clone, Debug, PartialEq)]
pub struct BranchSpec {
    /// The branch's name, unique in the plan. Not empty.
    pub name: String,
    /// Whether a result without it is a failure. Default: yes when the job waits for all, no under first and share.
    pub required: Option<bool>,
    /// The branches that must have answered before it starts, indexes into [`PlanSpec::branches`], each once, without
    /// cycles. A required branch comes only after required ones, unless it tolerates missing. Default: none.
    pub after: Vec<usize>,
    /// Whether it starts without those that it comes after when they can no longer answer. Default: no, then it does not
    /// start.
    pub tolerates_missing: bool,
    /// When it must have answered, counted from the job's start, at most the job's deadline. Default: the job's.
    pub deadline: Option<Time>,
    /// How long one attempt may run, counted from its permit. Default: no bound.
    pub attempt_timeout: Option<Time>,
    /// Its copies. Default: none.
    pub hedge: Option<Hedge>,
    /// The live delay after which its one copy is due, an index into [`PlanSpec::live_delays`]. The delay in `hedge`, above
    /// zero, is then what to reckon with where nothing is live, as in a prediction. Default: none.
    pub live: Option<usize>,
    /// Whether it is sent once more, to another target, when its attempts have failed. Default: no; it takes a repeatable
    /// branch of at least two targets.
    pub failover: bool,
    /// Whether it may be sent twice. Default: no; a branch with copies or failover must be.
    pub repeatable: bool,
    /// How many targets serve it, at least 1. Attempts go to targets not tried yet while there is one. Default: 1.
    pub targets: u32,
    /// The limiter that permits its attempts, an index into [`PlanSpec::limiters`]. Default: none.
    pub limiter: Option<usize>,
    /// What one attempt takes of the limiter, at least 1. Default: 1.
    pub weight: u32,
    /// What one call costs, in the user's unit of money, finite and not negative. Default: not stated.
    pub cost: Option<f64>,
}

impl BranchSpec {
    /// A branch with one target, no copies, no limiter and the job's deadline.
    pub fn new(name: impl Into<String>) -> BranchSpec {
        BranchSpec {
            name: name.into(),
            required: None,
            after: Vec::new(),
            tolerates_missing: false,
            deadline: None,
            attempt_timeout: None,
            hedge: None,
            live: None,
            failover: false,
            repeatable: false,
            targets: 1,
            limiter: None,
            weight: 1,
            cost: None,
        }
    }
}

/// The barrier: when a job stops waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// Every branch has answered.
    All,
    /// The first `k` branches, and every required one, have answered.
    First(u32),
    /// The first `ceil(n * ppm / 10^6)` branches, and every required one, have answered.
    Share(u32),
}

impl WaitFor {
    /// How many answers of `n` branches this waits for. Exact in integers, so `Share(950_000)` of 19 is 19 (the full
    /// barrier) and of 20 is 19.
    pub fn answers(self, n: u32) -> u32 {
        match self {
            WaitFor::All => n,
            WaitFor::First(k) => k,
            WaitFor::Share(ppm) => (u64::from(n) * u64::from(ppm)).div_ceil(u64::from(PPM)) as u32,
        }
    }
}

/// The copies of a branch: when they are due and what they need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hedge {
    /// For each copy, how long the primary may run, from its permit, before the copy is due; not decreasing. Zero is
    /// a race. 1 to [`MAX_COPIES`] delays.
    pub delays: Vec<Time>,
    /// A copy starts only when at least this much time is left before the deadline, at most all of it. Default: nothing.
    pub min_useful: Time,
    /// Whether a copy needs a target that was not tried yet. Default: no; it prefers one.
    pub distinct: bool,
}

impl Hedge {
    /// One copy, due `delay` after the primary's permit.
    pub fn after(delay: Time) -> Hedge {
        Hedge { delays: alloc::vec![delay], min_useful: Time::ZERO, distinct: false }
    }

    /// A race of `r` attempts: `r - 1` copies due at once.
    pub fn race(r: usize) -> Hedge {
        Hedge {
            delays: alloc::vec![Time::ZERO; r.saturating_sub(1)],
            min_useful: Time::ZERO,
            distinct: false,
        }
    }
}

/// A branch that goes first. The others, its followers, start when one of its attempts has primed what they share (a
/// stream: at its first byte), when it has answered, or when its head start is over. When it can no longer answer before
/// that, the first follower takes its place, alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    /// Its index in [`PlanSpec::branches`]. It comes after no other branch.
    pub branch: usize,
    /// How long followers wait for it, counted from the permit of the first leader to get one; above zero.
    pub head_start: Time,
}

/// A plan that was checked: after [`Plan::new`], a job of it cannot fail for what the plan says.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    name: String,
    wait_for: WaitFor,
    k: u32,
    at_least: u32,
    deadline: Option<Time>,
    hedge_budget: BudgetSpec,
    failover_budget: BudgetSpec,
    leader: Option<Leader>,
    observe: u32,
    holdout: u32,
    live_delays: Vec<LiveDelaySpec>,
    backfill: bool,
    limiters: Vec<LimiterSpec>,
    branches: Vec<Branch>,
    /// By branch: the first one that is like it.
    likes: Vec<u32>,
    dependents: Dependents,
    required: u32,
    /// Branches that have a deadline, soonest first, then by index.
    deadlines: Vec<(Time, u32)>,
    /// Where the attempts of each branch begin in a job's list of attempts.
    first_attempts: Vec<usize>,
    /// How long that list is.
    attempts: usize,
}

/// A branch of a checked plan: every default is filled in.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "a plan says each of them of a branch, in any combination")]
pub struct Branch {
    /// Unique in the plan.
    pub name: String,
    /// Whether the job fails without it.
    pub required: bool,
    /// The branches that it comes after, by index.
    pub after: Vec<usize>,
    /// Whether it starts without those that it comes after when they can no longer answer.
    pub tolerates_missing: bool,
    /// The branch's own or else the job's deadline, from the job's start.
    pub deadline: Option<Time>,
    /// How long one attempt may run, from its permit.
    pub attempt_timeout: Option<Time>,
    /// Its copies.
    pub hedge: Option<Hedge>,
    /// The live delay after which its one copy is due.
    pub live: Option<usize>,
    /// Whether it is sent once more, to another target, when its attempts have failed.
    pub failover: bool,
    /// Whether it may be sent twice.
    pub repeatable: bool,
    /// How many targets serve it.
    pub targets: u32,
    /// The limiter that permits its attempts.
    pub limiter: Option<usize>,
    /// What one attempt takes of the limiter.
    pub weight: u32,
    /// What one call costs.
    pub cost: Option<f64>,
}

impl Branch {
    /// The delays after which its copies are due; empty when it has none.
    pub fn delays(&self) -> &[Time] {
        self.hedge.as_ref().map_or(&[], |hedge| &hedge.delays)
    }

    /// The latest instant, from the job's start, at which a copy or failover may still start: before the deadline, and
    /// with the `min_useful` of its copies left. `None` when nothing bounds it. What is due later is not sent.
    pub fn last_useful_start(&self) -> Option<Time> {
        let min_useful = self.hedge.as_ref().map_or(Time::ZERO, |hedge| hedge.min_useful);
        self.deadline.map(|deadline| deadline.saturating_sub(min_useful.max(Time::from_nanos(1))))
    }
}

impl Plan {
    /// Checks a plan and fills in its defaults.
    ///
    /// # Errors
    /// Everything that is wrong, at once, each with field, value and bound.
    pub fn new(spec: PlanSpec) -> Result<Plan, PlanErrors> {
        check::check(&spec)?;
        Ok(Plan::from_checked(spec))
    }

    fn from_checked(spec: PlanSpec) -> Plan {
        let n = spec.branches.len() as u32;
        let job_deadline = spec.deadline;
        let waits_for_all = spec.wait_for == WaitFor::All;
        let branches: Vec<Branch> = spec
            .branches
            .into_iter()
            .map(|b| Branch {
                name: b.name,
                required: b.required.unwrap_or(waits_for_all),
                after: b.after,
                tolerates_missing: b.tolerates_missing,
                deadline: b.deadline.or(job_deadline),
                attempt_timeout: b.attempt_timeout,
                hedge: b.hedge,
                live: b.live,
                failover: b.failover,
                repeatable: b.repeatable,
                targets: b.targets,
                limiter: b.limiter,
                weight: b.weight,
                cost: b.cost,
            })
            .collect();
        let required = branches.iter().filter(|b| b.required).count() as u32;
        let k = spec.wait_for.answers(n);
        let cuts_the_slow = k < n && required < n;
        let mut attempts = 0;
        let first_attempts = branches.iter().map(|b| {
            let first = attempts;
            attempts += 1 + b.delays().len() + usize::from(b.failover);
            first
        });
        let first_attempts = first_attempts.collect();
        Plan {
            name: spec.name,
            wait_for: spec.wait_for,
            k,
            at_least: spec.at_least.unwrap_or(if waits_for_all { required } else { k }),
            deadline: job_deadline,
            hedge_budget: spec.hedge_budget,
            failover_budget: spec.failover_budget,
            leader: spec.leader,
            observe: spec.observe,
            holdout: spec.holdout,
            live_delays: filled_in(spec.live_delays, &branches, cuts_the_slow && spec.observe == 0),
            backfill: spec.backfill,
            limiters: spec.limiters,
            dependents: Dependents::new(branches.len(), |branch| &branches[branch].after),
            deadlines: by_deadline(&branches),
            likes: likes(&branches),
            branches,
            required,
            first_attempts,
            attempts,
        }
    }

    /// The same plan for a job that has less time: every deadline is `left` at the latest.
    #[must_use]
    pub fn within(&self, left: Time) -> Plan {
        let mut plan = self.clone();
        let cap = |deadline: Option<Time>| Some(deadline.map_or(left, |deadline| deadline.min(left)));
        plan.deadline = cap(plan.deadline);
        plan.branches.iter_mut().for_each(|branch| branch.deadline = cap(branch.deadline));
        plan.deadlines = by_deadline(&plan.branches);
        plan
    }

    /// What states this plan, with every default filled in: to be changed and checked again.
    pub fn spec(&self) -> PlanSpec {
        let branches = self.branches.iter().cloned().map(|b| BranchSpec {
            name: b.name,
            required: Some(b.required),
            after: b.after,
            tolerates_missing: b.tolerates_missing,
            deadline: b.deadline,
            attempt_timeout: b.attempt_timeout,
            hedge: b.hedge,
            live: b.live,
            failover: b.failover,
            repeatable: b.repeatable,
            targets: b.targets,
            limiter: b.limiter,
            weight: b.weight,
            cost: b.cost,
        });
        PlanSpec {
            name: self.name.clone(),
            wait_for: self.wait_for,
            at_least: Some(self.at_least),
            deadline: self.deadline,
            hedge_budget: self.hedge_budget,
            failover_budget: self.failover_budget,
            leader: self.leader,
            observe: self.observe,
            holdout: self.holdout,
            live_delays: self.live_delays.clone(),
            backfill: self.backfill,
            limiters: self.limiters.clone(),
            branches: branches.collect(),
        }
    }

    /// The plan's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The barrier as stated.
    pub fn wait_for(&self) -> WaitFor {
        self.wait_for
    }

    /// How many branches there are: n.
    pub fn n(&self) -> u32 {
        self.branches.len() as u32
    }

    /// How many answers the barrier waits for: k, from 1 to n.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// The fewest answers that a result may hold, from 0 to k.
    pub fn at_least(&self) -> u32 {
        self.at_least
    }

    /// How many branches are required.
    pub fn required(&self) -> u32 {
        self.required
    }

    /// When the job gives up, from its start.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// The cap on copies that start after a delay.
    pub fn hedge_budget(&self) -> BudgetSpec {
        self.hedge_budget
    }

    /// The cap on failovers.
    pub fn failover_budget(&self) -> BudgetSpec {
        self.failover_budget
    }

    /// The branch that goes first.
    pub fn leader(&self) -> Option<Leader> {
        self.leader
    }

    /// The share of jobs in which primaries that are not needed run on, in parts per million.
    pub fn observe(&self) -> u32 {
        self.observe
    }

    /// The share of jobs that start no copies, in parts per million.
    pub fn holdout(&self) -> u32 {
        self.holdout
    }

    /// The hedge delays that follow the latency.
    pub fn live_delays(&self) -> &[LiveDelaySpec] {
        &self.live_delays
    }

    /// Whether missing optional branches of partial results are filled in later.
    pub fn backfill(&self) -> bool {
        self.backfill
    }

    /// The limiters that branches refer to by index.
    pub fn limiters(&self) -> &[LimiterSpec] {
        &self.limiters
    }

    /// The branches, in the order that breaks ties.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// The first branch that is like this one: declared as it is but for its name, its cost and what it comes after. A job
    /// of many like branches that looks at it in their place has it at hand.
    ///
    /// # Panics
    /// When the plan has no such branch.
    pub fn like(&self, branch: u32) -> &Branch {
        &self.branches[self.likes[branch as usize] as usize]
    }

    /// By branch, the index of the first one that is [like](Plan::like) it.
    pub(crate) fn likes(&self) -> &[u32] {
        &self.likes
    }

    /// The index of the branch named `name`.
    pub fn branch(&self, name: &str) -> Option<u32> {
        self.branches.iter().position(|b| b.name == name).map(|i| i as u32)
    }

    /// Branches that have a deadline, soonest first, then by index.
    pub(crate) fn deadlines(&self) -> &[(Time, u32)] {
        &self.deadlines
    }

    /// Whether any branch comes after another.
    pub(crate) fn has_stages(&self) -> bool {
        !self.dependents.none()
    }

    /// The branches that come after `branch`, by index.
    pub(crate) fn dependents(&self, branch: u32) -> &[u32] {
        self.dependents.of(branch)
    }

    /// The most attempts that a job can have: every branch's primary, copies and failover.
    pub fn attempts(&self) -> usize {
        self.attempts
    }

    /// The attempts that `branch` can have: its primary, its copies, its failover; none of a branch that the plan does not
    /// have.
    pub fn attempts_of(&self, branch: u32) -> impl Iterator<Item = AttemptId> + use<> {
        let declared = self.branches.get(branch as usize);
        let copies = declared.map(|declared| 0..=declared.delays().len() as u8);
        let failover = declared.filter(|declared| declared.failover).map(|_| AttemptId::FAILOVER);
        copies.into_iter().flatten().chain(failover).map(move |number| AttemptId { branch, number })
    }

    /// The place of an attempt among all that a job can have, below [`Plan::attempts`]; `None` when it is not declared.
    pub fn attempt_index(&self, attempt: AttemptId) -> Option<usize> {
        // A branch's primary comes first, and its failover last.
        let first = *self.first_attempts.get(attempt.branch as usize)?;
        if attempt.number == 0 {
            return Some(first);
        }
        let declared = self.like(attempt.branch);
        let (number, copies) = (usize::from(attempt.number), declared.delays().len());
        if attempt.number == AttemptId::FAILOVER {
            return declared.failover.then_some(first + copies + 1);
        }
        (number <= copies).then_some(first + number)
    }
}

/// For each branch the first one that is declared as it is, but for name, cost and what it comes after.
fn likes(branches: &[Branch]) -> Vec<u32> {
    let mut first = BTreeMap::new();
    let all = branches.iter().zip(0..);
    all.map(|(branch, index)| {
        let hedge = branch.hedge.as_ref().map(|hedge| (&hedge.delays, hedge.min_useful, hedge.distinct));
        let Branch { required, tolerates_missing, deadline, attempt_timeout, live, .. } = *branch;
        let Branch { failover, repeatable, targets, limiter, weight, .. } = *branch;
        let times = (deadline, attempt_timeout, hedge, live);
        let rest = (required, tolerates_missing, failover, repeatable, targets, limiter, weight);
        *first.entry((times, rest)).or_insert(index)
    })
    .collect()
}

/// Branches that have a deadline, soonest first, then by index.
fn by_deadline(branches: &[Branch]) -> Vec<(Time, u32)> {
    let mut deadlines: Vec<(Time, u32)> =
        branches.iter().zip(0..).filter_map(|(b, i)| Some((b.deadline?, i))).collect();
    deadlines.sort_unstable();
    deadlines
}

/// Live delays after which a copy may still be sent, and that are said to be biased if they are.
fn filled_in(mut delays: Vec<LiveDelaySpec>, branches: &[Branch], biased: bool) -> Vec<LiveDelaySpec> {
    for (index, delay) in delays.iter_mut().enumerate() {
        let hedged = branches.iter().filter(|branch| branch.live == Some(index));
        let last = hedged.map(|branch| branch.last_useful_start().unwrap_or(Time::MAX)).max();
        // A cap of nothing would be a race.
        delay.cap = delay.cap.min(last.unwrap_or(Time::MAX)).max(Time::from_nanos(1));
        delay.biased = biased;
    }
    delays
}
