//! Simulation: the same [`Job`](fantail_core::Job) machine that runs, over virtual time.
//!
//! Nothing here knows the solver, so that the agreement of the two says something of both.
//!
//! # In slices
//!
//! A page that may not block plays a few jobs whenever it is idle: summaries of slices add up, to the bit, to that of all, and
//! each of them can be shown. Where jobs don't interact a slice may be any range, and takes as long as it has jobs. Where they
//! do, it is a [block](Simulation::blocks), which is warmed up. Single jobs to be drawn as lanes are played again by their
//! numbers, step by step.
//!
//! ```
//! use fantail_core::{BranchSpec, Plan, PlanSpec};
//! use fantail_model::sim::{Happened, Scenario, Simulation};
//! use fantail_model::{Law, Level};
//!
//! let plan = Plan::new(PlanSpec::new("all", ["a", "b", "c"].map(BranchSpec::new).to_vec()))?;
//! let simulation = Simulation::new(plan.into(), vec![Law::log_normal(1.0, 0.6)?; 3], Scenario::default(), 7)?;
//!
//! let slice = if simulation.jobs_interact() { Simulation::BLOCK } else { 250 };
//! let (mut summary, mut next) = (simulation.run(0..0)?, 0);
//! while next < 2_000 {
//!     // What the page calls when it has time.
//!     summary.merge(&simulation.run(next..next + slice)?);
//!     next += slice;
//!     let p99 = summary.quantile_interval(Level::above(0.01)?, Level::above(0.05)?);
//!     assert!(p99.low <= p99.high);
//! }
//! assert_eq!(summary, simulation.run(0..next)?);
//!
//! let lanes = simulation.trace(7..8)?;
//! assert!(matches!(lanes[0].steps.last(), Some(step) if step.what == Happened::Answered));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod arriving;
mod blocks;
mod budgets;
mod calling;
mod client;
mod direct;
mod error;
mod estimate;
mod load;
mod luck;
mod memory;
mod meter;
mod playing;
mod queued;
mod readout;
mod scenario;
mod seat;
mod server;
mod servers;
mod summary;
mod times;
mod trace;
mod words;
mod world;

pub use client::Client;
pub use error::SimError;
pub use estimate::{Estimate, Interval, Share};
pub use load::{Bound, Load};
pub use playing::Playing;
pub use scenario::{Arrivals, Credit, Scenario};
pub use server::{Allows, Choice, Failures, Limit, RetryAfter, Server, Slow};
pub use summary::{Outcomes, ServerUse, Summary, Verdicts, Waits};
pub use trace::{Happened, Step, Trace};

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use fantail_core::{Branch, Plan, Time};

use crate::Law;
use crate::draws::Subject;
use luck::Luck;
use world::World;

/// Jobs of a plan, played over virtual time by the machine that runs them in earnest.
///
/// Each attempt takes a time drawn from its branch's law, at a server of the [`Scenario`] if it names one. Draws depend on
/// the seed, the job's number, the branch and the attempt alone: not on the plan, the split of a range or the order of
/// events. Jobs share the plan's limiters, its hedge budget and the servers.
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
    luck: Arc<Luck>,
    scenario: Arc<Scenario>,
    /// The server of each branch.
    serves: Vec<Option<u32>>,
    /// Who plays instead of the plan's machine.
    client: Option<Client>,
}

impl Simulation {
    /// How many jobs a block has that a long run is played in.
    pub const BLOCK: u64 = 10_000;

    /// Jobs of a plan, with the law of one attempt of each branch, in the plan's order.
    ///
    /// # Errors
    /// [`SimError`], for what is out of its range: see there.
    pub fn new(
        plan: Arc<Plan>,
        laws: Vec<Law>,
        scenario: impl Into<Arc<Scenario>>,
        seed: u64,
    ) -> Result<Simulation, SimError> {
        let scenario = scenario.into();
        if laws.len() != plan.branches().len() {
            return Err(SimError::LawCount { given: laws.len(), branches: plan.branches().len() });
        }
        Simulation::check(&scenario)?;
        let serves = plan.branches().iter().map(|branch| scenario.server_of(&branch.name)).collect();
        let luck = Arc::new(Luck::new(seed, Arc::clone(&scenario), laws));
        Ok(Simulation { plan, luck, scenario, serves, client: None })
    }

    /// Whether a scenario can be simulated, whatever the plan.
    ///
    /// # Errors
    /// [`SimError`], for what is out of its range.
    pub fn check(scenario: &Scenario) -> Result<(), SimError> {
        scenario.arrivals.check()?;
        scenario.servers.iter().try_for_each(Server::check)
    }

    /// The same calls, made by a client that knows no plan: of the plan only the branches and their costs matter.
    ///
    /// # Errors
    /// [`SimError::Retries`] when there are more than 1000.
    pub fn with_client(&self, client: Client) -> Result<Simulation, SimError> {
        if client.retries > 1000 {
            return Err(SimError::Retries { value: client.retries });
        }
        Ok(Simulation { client: Some(client), plan: Arc::new(without_copies(&self.plan)), ..self.clone() })
    }

    /// Plays the jobs with these numbers.
    ///
    /// If jobs do not [interact](Simulation::jobs_interact), summaries of parts merge to that of the whole. If they do,
    /// each range is a block, which begins with nothing held, full rates and an empty budget, and is warmed up.
    ///
    /// # Errors
    /// [`SimError::TooLong`] when the jobs take longer than [`Time`] counts.
    pub fn run(&self, jobs: Range<u64>) -> Result<Summary, SimError> {
        World::new(self.clone()).run(jobs)
    }

    /// What each of the jobs with these numbers did, in the order of their ends.
    ///
    /// # Errors
    /// [`SimError::TooLong`] as for [`Simulation::run`].
    pub fn trace(&self, jobs: Range<u64>) -> Result<Vec<Trace>, SimError> {
        World::new(self.clone()).trace(jobs.clone().collect(), jobs)
    }

    /// How long the first `count` jobs of a range take that is [run](Simulation::run), each with its number, in the order of
    /// their ends; [`Time::MAX`] for one that never ends. Where jobs don't [interact](Simulation::jobs_interact), no others
    /// are played.
    ///
    /// # Errors
    /// [`SimError::TooLong`] as for [`Simulation::run`].
    pub fn return_times(&self, jobs: Range<u64>, count: u64) -> Result<Vec<(u64, Time)>, SimError> {
        World::new(self.clone()).times(jobs, count)
    }

    /// What some jobs of a range did that is [run](Simulation::run), by their numbers, in the order of their ends; numbers
    /// outside it are left out. Others are played as far as they matter to these.
    ///
    /// # Errors
    /// [`SimError::TooLong`] as for [`Simulation::run`].
    pub fn trace_some(&self, numbers: &[u64], jobs: Range<u64>) -> Result<Vec<Trace>, SimError> {
        World::new(self.clone()).trace(numbers.to_vec(), jobs)
    }

    /// What one job does in a long run: where jobs [interact](Simulation::jobs_interact), those of its block that matter to it
    /// are played as well. `None` for [`u64::MAX`], which no range holds.
    ///
    /// # Errors
    /// [`SimError::TooLong`] as for [`Simulation::run`].
    pub fn trace_of(&self, job: u64) -> Result<Option<Trace>, SimError> {
        let first = job - job % Simulation::BLOCK;
        Ok(self.trace_some(&[job], first..first.saturating_add(Simulation::BLOCK))?.pop())
    }

    /// [`Simulation::run`], piece by piece.
    pub fn begin(&self, jobs: Range<u64>) -> Playing {
        Playing::new(self.clone(), jobs)
    }

    /// The plan that is played.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// How long the primary of each branch takes in one job by its law, were nothing to cut it: the luck of the job, whatever
    /// the plan. [`Time::MAX`] for one that never ends.
    pub fn luck(&self, job: u64) -> Vec<Time> {
        let subject = |branch| Subject { branch, ..Subject::job(job) };
        (0..self.plan.n()).map(|branch| self.luck.latency(subject(branch))).collect()
    }

    /// The largest share, by the law of a branch, of calls that answer, but later than [`Time`] counts, which is about 584
    /// years: they are played as calls that never end. Sizes of jobs are not looked at.
    pub fn beyond_time(&self) -> f64 {
        self.luck.beyond_time()
    }

    /// The world that the jobs meet.
    pub fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// The blocks that a range is played in: parts that end at multiples of [`Simulation::BLOCK`].
    pub fn blocks(jobs: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let mut from = jobs.start;
        core::iter::from_fn(move || {
            let next = (from / Simulation::BLOCK + 1).saturating_mul(Simulation::BLOCK).min(jobs.end);
            (from < next).then(|| core::mem::replace(&mut from, next)..next)
        })
    }

    /// Whether what one job does can matter to another: they share a limiter that bounds something, credit for copies, or
    /// a server whose calls matter to each other.
    pub fn jobs_interact(&self) -> bool {
        let used = self.serves.iter().flatten();
        let coupled = used.into_iter().any(|server| self.scenario.servers[*server as usize].couples());
        let knows_plan = self.client.is_none();
        let branches = self.plan.branches();
        coupled || knows_plan && branches.iter().any(|branch| self.bounds(branch) || self.budgets(branch))
    }

    /// The same without copies, under the same draws: what [`Summary::extra_busy`] compares with.
    #[must_use]
    pub fn without_copies(&self) -> Simulation {
        Simulation { plan: Arc::new(without_copies(&self.plan)), ..self.clone() }
    }

    /// Whether every branch starts with its job, and runs until it answers, fails, meets its deadline or its job is over.
    fn is_plain(&self) -> bool {
        let plan = &self.plan;
        let plain = |branch: &Branch| {
            branch.after.is_empty() && branch.attempt_timeout.is_none() && branch.limiter.is_none()
        };
        let sampled = plan.observe() + plan.holdout() > 0;
        self.client.is_none() && !sampled && plan.leader().is_none() && plan.branches().iter().all(plain)
    }

    fn bounds(&self, branch: &Branch) -> bool {
        let limiter = branch.limiter.map(|index| &self.plan.limiters()[index]);
        limiter.is_some_and(|limiter| limiter.gate.is_some() || limiter.rate.is_some())
    }

    fn budgets(&self, branch: &Branch) -> bool {
        let copies = branch.delays().iter().any(|delay| *delay > Time::ZERO);
        self.scenario.credit == Credit::Earned && (copies || branch.failover)
    }
}

fn without_copies(plan: &Plan) -> Plan {
    let mut spec = plan.spec();
    for branch in &mut spec.branches {
        (branch.hedge, branch.live) = (None, None);
    }
    Plan::new(spec).expect("a plan without its copies is a plan")
}
