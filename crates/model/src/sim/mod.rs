//! Simulation: the same [`Job`](fantail_core::Job) machine that runs, over virtual time.
//!
//! Nothing here knows the solver, so that the agreement of the two says something of both.

mod estimate;
mod summary;
mod times;
mod world;

pub use estimate::{Estimate, Interval, Share};
pub use summary::{Outcomes, Summary, Verdicts, Waits};

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use fantail_core::{Branch, BranchSpec, Plan, PlanSpec, Time};

use crate::Law;
use crate::draws::{Draws, Purpose};
use world::World;

/// Jobs of a plan, played over virtual time by the machine that runs them in earnest.
///
/// Each attempt takes a time drawn from its branch's law, copies independently of their primary. Draws depend on the
/// seed, the job's number, the branch and the attempt alone: not on the plan, the split of a range or the order of
/// events. Jobs share the plan's limiters and its hedge budget.
///
/// ```
/// use fantail_core::{BranchSpec, Plan, PlanSpec};
/// use fantail_model::sim::{Scenario, Simulation};
/// use fantail_model::{Law, Level};
///
/// let branches = ["a", "b", "c"].map(BranchSpec::new).to_vec();
/// let plan = Plan::new(PlanSpec::new("all", branches))?;
/// let simulation = Simulation::new(plan.into(), vec![Law::exponential(1.0)?; 3], Scenario::default(), 7)?;
///
/// let mut summary = simulation.run(0..5_000)?;
/// summary.merge(&simulation.run(5_000..10_000)?);
/// assert_eq!(summary, simulation.run(0..10_000)?);
/// // The median of the last of three unit exponentials is -ln(1 - 2^(-1/3)).
/// assert!(summary.quantile_interval(Level::MEDIAN, Level::below(0.999)?).contains(1.578));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simulation {
    plan: Arc<Plan>,
    laws: Vec<Law>,
    scenario: Scenario,
    draws: Draws,
}

/// The world that the jobs meet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scenario {
    /// When jobs start.
    pub arrivals: Arrivals,
    /// What the hedge budget allows.
    pub credit: Credit,
}

/// When jobs start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Arrivals {
    /// Each when the one before has returned.
    #[default]
    OneAtATime,
    /// At equal distances, above zero.
    Every(Time),
    /// At random, independently of each other, so many in a second on average: 1e-6 to 1e9.
    Poisson(f64),
}

/// What the hedge budget allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Credit {
    /// What answered primaries have earned, from nothing on, as in a service that was just started.
    #[default]
    Earned,
    /// Every copy: what hedging would do if the budget never bound.
    Unlimited,
}

impl Simulation {
    /// Jobs of a plan, with the law of one attempt of each branch, in the plan's order.
    ///
    /// # Errors
    /// [`SimError::LawCount`] when there is not one law per branch, [`SimError::Arrivals`] for a rate or distance out
    /// of its range.
    pub fn new(
        plan: Arc<Plan>,
        laws: Vec<Law>,
        scenario: Scenario,
        seed: u64,
    ) -> Result<Simulation, SimError> {
        if laws.len() != plan.branches().len() {
            return Err(SimError::LawCount { given: laws.len(), branches: plan.branches().len() });
        }
        let out_of_range = match scenario.arrivals {
            Arrivals::OneAtATime => None,
            Arrivals::Every(gap) => (gap == Time::ZERO || gap > Time::LONGEST).then(|| gap.as_secs_f64()),
            Arrivals::Poisson(rate) => (!(1e-6..=1e9).contains(&rate)).then_some(rate),
        };
        if let Some(value) = out_of_range {
            return Err(SimError::Arrivals { value });
        }
        Ok(Simulation { plan, laws, scenario, draws: Draws::new(seed) })
    }

    /// Plays the jobs with these numbers.
    ///
    /// If jobs do not [interact](Simulation::jobs_interact), summaries of parts merge to that of the whole. If they do,
    /// each range begins with nothing held, full rates and an empty budget.
    ///
    /// # Errors
    /// [`SimError::TooLong`] when the jobs take longer than [`Time`] counts.
    pub fn run(&self, jobs: Range<u64>) -> Result<Summary, SimError> {
        World::new(self).run(jobs)
    }

    /// Whether what one job does can matter to another: they share a limiter that bounds something, or credit for copies.
    pub fn jobs_interact(&self) -> bool {
        self.plan.branches().iter().any(|branch| self.bounds(branch) || self.budgets(branch))
    }

    /// The same without copies, under the same draws: what [`Summary::extra_busy`] compares with.
    #[must_use]
    pub fn without_copies(&self) -> Simulation {
        Simulation { plan: Arc::new(without_copies(&self.plan)), ..self.clone() }
    }

    fn bounds(&self, branch: &Branch) -> bool {
        let limiter = branch.limiter.map(|index| &self.plan.limiters()[index]);
        limiter.is_some_and(|limiter| limiter.gate.is_some() || limiter.rate.is_some())
    }

    fn budgets(&self, branch: &Branch) -> bool {
        self.scenario.credit == Credit::Earned && branch.delays().iter().any(|delay| *delay > Time::ZERO)
    }

    /// How long an attempt takes; [`Time::MAX`] when it never answers.
    fn latency(&self, job: u64, branch: u32, attempt: u8) -> Time {
        let hazard = self.draws.exponential(job, branch, attempt, Purpose::Latency);
        nearest(self.laws[branch as usize].inverse_hazard(hazard))
    }

    /// How long after the job before it this one arrives; `None` when it waits for that one's return.
    fn gap(&self, job: u64) -> Option<Time> {
        match self.scenario.arrivals {
            Arrivals::OneAtATime => None,
            Arrivals::Every(gap) => Some(gap),
            Arrivals::Poisson(rate) => {
                Some(nearest(self.draws.exponential(job, 0, 0, Purpose::Arrival) / rate))
            }
        }
    }
}

/// The nearest nanosecond, or never.
fn nearest(seconds: f64) -> Time {
    // The cast stops at the largest number, which reads as never.
    Time::from_nanos((seconds * 1e9 + 0.5) as u64)
}

fn without_copies(plan: &Plan) -> Plan {
    let branches = plan.branches().iter().cloned().map(|b| BranchSpec {
        name: b.name,
        required: Some(b.required),
        deadline: b.deadline,
        attempt_timeout: b.attempt_timeout,
        hedge: None,
        repeatable: b.repeatable,
        targets: b.targets,
        limiter: b.limiter,
        weight: b.weight,
        cost: b.cost,
    });
    let spec = PlanSpec {
        name: plan.name().into(),
        wait_for: plan.wait_for(),
        at_least: Some(plan.at_least()),
        deadline: plan.deadline(),
        hedge_budget: plan.hedge_budget(),
        backfill: plan.backfill(),
        limiters: plan.limiters().to_vec(),
        branches: branches.collect(),
    };
    Plan::new(spec).expect("a plan without its copies is a plan")
}

/// Why a simulation was refused or given up.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SimError {
    /// A simulation needs one law for each branch.
    LawCount {
        /// Laws given.
        given: usize,
        /// Branches of the plan.
        branches: usize,
    },
    /// The rate of arrivals, or the distance between them in seconds, is out of its range.
    Arrivals {
        /// What was given.
        value: f64,
    },
    /// Virtual time ended, after 584 years, before all jobs had arrived.
    TooLong {
        /// The number of the job that could not arrive.
        job: u64,
    },
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimError::LawCount { given, branches } => {
                write!(f, "got {given} laws, expected one for each of {branches} branches")
            }
            SimError::Arrivals { value } => write!(
                f,
                "arrivals: got {value}, expected a rate of 1e-6 to 1e9 per second, or a distance above 0 s and at most 365 days"
            ),
            SimError::TooLong { job } => {
                write!(
                    f,
                    "job {job} would arrive after 584 years, when virtual time ends: play fewer jobs at a time"
                )
            }
        }
    }
}

impl core::error::Error for SimError {}
