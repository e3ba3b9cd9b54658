//! Which plan to choose: the cheapest one that keeps the goals.
//!
//! The search changes as little as it may: branches that are required stay so, `at_least` stays as stated (it has no
//! price), and so do the deadline and k unless [`Levers`] free them. What it looks for is cheap to judge: whether a
//! quantile keeps its bound is one evaluation of the job's law at that bound, and expected copies are sums.
//!
//! - **Copies.** For a number of copies, some at once and the others a gap apart, quality falls as the delay grows and so
//!   does the price: the best delay is the latest that keeps the goals, one root. Busy time alone does not fall with it:
//!   with a bound on it, shorter delays are tried.
//! - **Different branches.** With a price on lateness, each branch has its own best copies (the sum and the product
//!   over branches separate); the price on lateness is the one root. Every delay is then moved as late as the goals
//!   allow. Whatever is found with fewer copies is a candidate with more.
//! - **Deadline.** A later one completes more jobs, so it is the latest that keeps the goals on time; without such a
//!   goal it is the earliest that keeps the others.
//! - **First k.** Fewer answers are never dearer: the largest k that needs no copies, else the smallest allowed.
//!
//! Work is counted, and a search that has done its share of seconds ends with what it has.

mod copies;
mod deadline;
mod frontier;
mod goal;
mod meter;
mod search;
mod several;

pub use goal::{Goal, Measure, Relation};

use alloc::vec;
use alloc::vec::Vec;

use crate::{GroupedPlan, JobLaw, SolveError};
use meter::Meter;
use search::Search;

/// What the cheapest plan is the cheapest in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// Attempts beyond one a branch.
    ExtraRequests,
    /// What the calls cost.
    Cost,
}

/// What the search may change of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Levers {
    /// Whether the job's deadline may be another one. Without a goal on [`Measure::Complete`] or [`Measure::Failed`] it is
    /// held all the same: any goal on time could be kept by giving up.
    pub deadline: bool,
    /// The fewest answers that the barrier may wait for, 1 to the plan's k.
    pub least_k: u64,
    /// For each group whether its branches may have copies.
    pub hedged: Vec<bool>,
    /// The most copies of a branch.
    pub most_copies: usize,
    /// What a budget pays for: the most copies after a delay, per answered primary. Infinite where none is stated, which is as
    /// 1: no budget pays for more. A race needs none.
    pub budget: f64,
    /// The most extra requests, per primary, races included; infinite for no bound.
    pub most_extra: f64,
}

impl Levers {
    /// Up to so many copies of any branch of a plan, whatever they cost; everything else is held.
    pub fn copies(plan: &GroupedPlan, most_copies: usize) -> Levers {
        Levers {
            deadline: false,
            least_k: plan.k,
            hedged: vec![true; plan.groups.len()],
            most_copies,
            budget: f64::INFINITY,
            most_extra: f64::INFINITY,
        }
    }
}

/// A question: which plan keeps the goals at the least price.
///
/// ```
/// use fantail_model::tune::{Goal, Levers, Measure, Price, Relation, Tuning};
/// use fantail_model::{Group, GroupedPlan, Law, Level};
///
/// let call = Law::from_percentiles(&[(0.5, 0.8), (0.95, 1.5), (0.99, 2.4)])?.law;
/// let plan = GroupedPlan::all(Group::new(5, call));
/// let tuning = Tuning {
///     levers: Levers::copies(&plan, 1),
///     plan,
///     goals: vec![Goal { measure: Measure::Quantile(Level::above(0.01)?), relation: Relation::Below, bound: 2.5 }],
///     price: Price::ExtraRequests,
/// };
/// let job = tuning.run()?.choice.expect("one copy is enough");
/// assert!(job.plan().groups[0].delays[0] > 1.5 && job.extra_requests() < 0.05);
/// # Ok::<(), fantail_model::SolveError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The plan as stated. Its copies are not kept: the search chooses them anew.
    pub plan: GroupedPlan,
    /// What has to be kept, all of it; each from the side that is better.
    pub goals: Vec<Goal>,
    /// What is to be small.
    pub price: Price,
    /// What may be changed.
    pub levers: Levers,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The cheapest plan found that keeps every goal; `None` when none was found. Among equally cheap ones that with the
    /// largest k and the most complete jobs; without a goal on time, the fastest.
    ///
    /// For like branches it is at most 2 % dearer than the cheapest there is with late copies that are evenly spaced, 1 % of
    /// it for delays of few digits.
    pub choice: Option<JobLaw>,
    /// Without a choice, what can be had of each goal, in their order.
    pub attainable: Vec<Attainable>,
    /// Plans with the chosen k and deadline (else the stated ones), none of which is both cheaper and better than another,
    /// the cheapest first.
    pub frontier: Vec<JobLaw>,
    /// What the frontier's plans are better in.
    pub frontier_of: Measure,
    /// How many plans were solved.
    pub evaluations: u64,
    /// Whether judging plans took so much work that some were not looked at: a cheaper one, or one at all, may be among
    /// them.
    pub cut_short: bool,
}

/// The best figure that can be had of a goal's measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attainable {
    /// With every other goal kept; `None` when the others cannot be kept together.
    pub with_others: Option<f64>,
    /// With only the goals on prices kept; `None` when they cannot be.
    pub alone: Option<f64>,
}

impl Tuning {
    /// Searches.
    ///
    /// # Errors
    /// As for [`GroupedPlan::solve`], [`JobLaw::mean`] and [`JobLaw::prices`]; [`SolveError::OutOfRange`] for levers that do
    /// not fit the plan, and for goals from the side that is worse.
    pub fn run(&self) -> Result<Tuned, SolveError> {
        self.check()?;
        let meter = Meter::default();
        let search = Search::new(self, &self.goals, &meter);
        let choice = search.cheapest()?;
        let attainable = if choice.is_some() { Vec::new() } else { frontier::attainable(self, &meter)? };
        let shown = Meter::default();
        let search = Search::new(self, &self.goals, &shown);
        let (frontier_of, frontier) = frontier::frontier(&search, choice.as_ref())?;
        meter.join(&shown);
        let (evaluations, cut_short) = (meter.plans(), meter.cut_short());
        Ok(Tuned { choice, attainable, frontier, frontier_of, evaluations, cut_short })
    }

    /// The cheapest plan alone, as [`Tuned::choice`].
    ///
    /// # Errors
    /// As for [`Tuning::run`].
    pub fn cheapest(&self) -> Result<Option<JobLaw>, SolveError> {
        self.check()?;
        Search::new(self, &self.goals, &Meter::default()).cheapest()
    }

    fn check(&self) -> Result<(), SolveError> {
        let Levers { least_k, hedged, .. } = &self.levers;
        let out_of_range =
            |field, value: u64, bound| Err(SolveError::OutOfRange { field, value: value as f64, bound });
        if *least_k == 0 || *least_k > self.plan.k {
            return out_of_range("least_k", *least_k, alloc::format!("1 to k, {}", self.plan.k));
        }
        if hedged.len() != self.plan.groups.len() {
            let bound = alloc::format!("one for each of {} groups", self.plan.groups.len());
            return out_of_range("hedged", hedged.len() as u64, bound);
        }
        if let Some(index) = self.goals.iter().position(|goal| !goal.is_sought()) {
            let bound = "at least for complete jobs, at most for all else".into();
            return out_of_range("goals", index as u64, bound);
        }
        Ok(())
    }
}
