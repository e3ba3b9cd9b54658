//! Plans that have no exact law, simulated instead.

use std::ops::Range;
use std::sync::Arc;

use fantail_core::{Branch, BranchSpec, Hedge, LimiterSpec, Plan, PlanSpec, Time, WaitFor};
use fantail_model::sim::{
    Arrivals, Credit, Estimate, Failures, Interval, Scenario, Share, SimError, Simulation, Summary,
};
use fantail_model::{Cancellation, Dependence, Figure, GroupedPlan, Law, Level, Method};

use super::report::{BUSY_FOR_EVER, Prices};
use super::solved::Shares;
use crate::number;
use crate::simulate::{endless, is_coarse, piles_up};

/// Plays the same jobs of several simulations: all at once where there are threads, or [one after another](in_turn).
pub type Play<'p> = dyn Fn(&[&Simulation], Range<u64>) -> Result<Vec<Summary>, SimError> + 'p;

/// Plays jobs in the caller's thread.
///
/// # Errors
/// [`SimError`] of the first simulation that cannot be played.
pub fn in_turn(simulations: &[&Simulation], jobs: Range<u64>) -> Result<Vec<Summary>, SimError> {
    simulations.iter().map(|simulation| simulation.run(jobs.clone())).collect()
}

/// The limiters of a plan that bound something, where its jobs arrive as a scenario says: they meet there.
pub fn meets_at<'p>(plan: &'p Plan, scenario: &Scenario) -> impl Iterator<Item = &'p LimiterSpec> {
    let arrive = scenario.arrivals != Arrivals::OneAtATime;
    let is_used = move |index| plan.branches().iter().any(|branch| branch.limiter == Some(index));
    let limiters = plan.limiters().iter().enumerate();
    limiters
        .filter(move |(index, limiter)| {
            arrive && (limiter.gate.is_some() || limiter.rate.is_some()) && is_used(*index)
        })
        .map(|(_, limiter)| limiter)
}

/// What a scenario states that no exact law knows of, in words.
pub fn left_out(plan: &Plan, scenario: &Scenario) -> Vec<String> {
    let mut reasons = Vec::new();
    for (index, server) in scenario.servers.iter().enumerate() {
        let serves = |branch: &Branch| scenario.server_of(&branch.name) == Some(index as u32);
        if !plan.branches().iter().any(serves) {
            continue;
        }
        let Failures { retryable, permanent, .. } = server.failures;
        let does = [
            (server.slots.is_some(), "makes calls wait for its slots"),
            (server.limit.is_some(), "turns calls away"),
            (server.slow.is_some(), "is slow at times"),
            (retryable + permanent > 0.0, "answers with errors"),
            (server.prefill > Time::ZERO && plan.n() > 1, "reads a prompt that calls share"),
            (server.cancellation != Cancellation::AtOnce, "works on for calls that nobody waits for"),
        ];
        let does = does.into_iter().filter(|(is_so, _)| *is_so);
        reasons.extend(does.map(|(_, what)| format!("server `{}` {what}", server.name)));
    }
    let met = meets_at(plan, scenario);
    reasons.extend(met.map(|limiter| format!("jobs meet at limiter `{}`", limiter.name)));
    reasons.extend(scenario.size.is_some().then(|| "jobs differ in size".to_owned()));
    reasons
}

/// How many jobs, and which, to simulate plans with that have no exact law.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// `None`: as many as take about a second.
    pub jobs: Option<u64>,
    /// What all luck is drawn from.
    pub seed: u64,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { jobs: None, seed: 1 }
    }
}

/// What came of the jobs of one plan.
pub struct Simulated {
    summary: Summary,
    /// Of the same jobs without copies, where the plan has any.
    plain: Option<Summary>,
    /// What all luck was drawn from.
    pub seed: u64,
    /// What the figures take for granted.
    pub(super) assumptions: Vec<String>,
}

impl Simulated {
    /// The error is why there are no figures.
    pub(super) fn new(
        plan: &Plan,
        laws: Vec<Law>,
        (shares, scenario): (Dependence, Option<&Scenario>),
        effort: Effort,
        play: &Play<'_>,
    ) -> Result<Simulated, String> {
        let mut world = scenario.cloned().unwrap_or_default();
        if shares != Dependence::NONE {
            world.dependence = shares;
        }
        let mut assumptions = assumptions(plan, &world, scenario.is_some());
        assumptions.extend(laws.iter().any(is_coarse).then(|| "times are whole nanoseconds".to_owned()));
        let simulation = Simulation::new(Arc::new(plan.clone()), laws, world, effort.seed)
            .map_err(|error| error.to_string())?;
        if let Some(endless) = endless(&simulation) {
            return Err(endless);
        }
        let copies = plan.branches().iter().any(|branch| !branch.delays().is_empty());
        let plain = copies.then(|| simulation.without_copies());
        let simulations: Vec<&Simulation> = std::iter::once(&simulation).chain(&plain).collect();
        let (interact, round) = (simulation.jobs_interact(), simulation.round());
        let jobs = effort.jobs.unwrap_or_else(|| usual(interact, calls(&simulation), round));
        let (remembers, warm_up) = (simulation.remembers(), simulation.warm_up());
        assumptions.extend((interact && remembers > warm_up).then(|| {
            let [remembers, warm_up] = [remembers, warm_up].map(number::grouped);
            format!("the beginning, of which about {remembers} jobs can tell, is forgotten after {warm_up}")
        }));
        assumptions.extend(round.filter(|round| *round > jobs).map(|round| {
            format!("jobs meet all phases of a clock, though that takes {}", number::grouped(round))
        }));
        let mut summaries = play(&simulations, 0..jobs).map_err(|error| error.to_string())?.into_iter();
        let mut next = || summaries.next().expect("there is one for each simulation");
        let summary = next();
        if let Some(share) = summary.piles_up() {
            return Err(piles_up(share));
        }
        Ok(Simulated { summary, plain: plain.is_some().then(next), seed: effort.seed, assumptions })
    }

    /// The same of like branches that are counted.
    pub(super) fn counted(
        plan: &GroupedPlan,
        shares: Dependence,
        effort: Effort,
        play: &Play<'_>,
    ) -> Result<Simulated, String> {
        let (plan, laws) = listed(plan)?;
        // Short forms state no budget.
        let scenario = Scenario { credit: Credit::Unlimited, ..Scenario::default() };
        Simulated::new(&plan, laws, (shares, Some(&scenario)), effort, play)
    }

    /// How many jobs were played.
    pub fn jobs(&self) -> u64 {
        self.summary.jobs()
    }

    pub(super) fn quantile(&self, level: Level) -> Figure {
        figure(seconds(self.summary.quantile(level)), self.summary.quantile_interval(level, confidence()))
    }

    pub(super) fn mean(&self) -> Figure {
        estimate(self.summary.mean(), 0.0)
    }

    pub(super) fn returned(&self, t: f64) -> f64 {
        let time = Time::from_secs_f64(t).unwrap_or(Time::MAX);
        self.summary.returned_by(time).value()
    }

    pub(super) fn shares(&self) -> Shares {
        let verdicts = self.summary.verdicts();
        Shares {
            complete: share(verdicts.complete),
            partial: share(verdicts.partial),
            failed: share(verdicts.failed),
            never: share(verdicts.never),
        }
    }

    pub(super) fn prices(&self) -> Prices {
        let extra_busy = match &self.plain {
            Some(plain) => estimate(self.summary.extra_busy(plain), -1.0),
            None => Figure { value: 0.0, method: Method::Exact },
        };
        Prices {
            extra_requests: estimate(self.summary.extra_requests(), 0.0),
            extra_busy: Some(extra_busy)
                .filter(|busy| busy.value.is_finite())
                .ok_or_else(|| BUSY_FOR_EVER.to_owned()),
            cost: self.summary.cost().map(|cost| estimate(cost, 0.0)),
        }
    }

    pub(super) fn sends_copy(&self) -> Figure {
        share(self.summary.sends_copy())
    }
}

/// How many calls are made for each job that counts.
fn calls(simulation: &Simulation) -> u32 {
    let before = if simulation.jobs_interact() { simulation.warm_up() / Simulation::BLOCK } else { 0 };
    simulation.plan().n().saturating_mul(1 + before as u32)
}

/// As many jobs of `n` calls as take about a second, but enough for figures that say something, unless those would take more than
/// about ten: a thousand, or two whole blocks where jobs interact, since less has no intervals; as many as meet all phases of
/// a clock that servers go by.
fn usual(interact: bool, n: u32, round: Option<u64>) -> u64 {
    /// About a second's worth.
    const CALLS: u64 = 2_000_000;
    const MOST: u64 = 10 * Simulation::BLOCK;
    let n = u64::from(n);
    let (least, whole) = if interact { (2 * Simulation::BLOCK, Simulation::BLOCK) } else { (1_000, 1) };
    let jobs = (CALLS / n).clamp(least, MOST);
    let jobs = jobs - jobs % whole;
    let round = round.unwrap_or(0).next_multiple_of(whole);
    let jobs = if round.saturating_mul(n) <= 10 * CALLS { jobs.max(round) } else { jobs };
    if jobs * n > 10 * CALLS { (10 * CALLS / n).clamp(100, Simulation::BLOCK) } else { jobs }
}

fn assumptions(plan: &Plan, world: &Scenario, stated: bool) -> Vec<String> {
    let mut assumptions = Vec::new();
    assumptions.push(if world.dependence == Dependence::NONE {
        "branches and copies are independent".to_owned()
    } else {
        let (job, branch) = (world.dependence.job(), world.dependence.branch());
        format!("of what makes an attempt late, a share of {job} is its job's and of {branch} its branch's")
    });
    assumptions.push(match world.arrivals {
        Arrivals::OneAtATime => "each job starts when the one before has returned".to_owned(),
        _ => "jobs arrive as the scenario says".to_owned(),
    });
    if stated && !world.servers.is_empty() {
        assumptions.push("servers are those of the scenario".to_owned());
    }
    let limited = plan.branches().iter().any(|branch| branch.limiter.is_some());
    if limited {
        assumptions.push("nothing else uses the plan's limiters".to_owned());
    }
    assumptions
}

/// The plan with a branch of its own for each that is counted.
fn listed(grouped: &GroupedPlan) -> Result<(Plan, Vec<Law>), String> {
    const MOST: u64 = 1_000_000;
    if grouped.n() > MOST {
        return Err(format!("more than {MOST} branches are not simulated"));
    }
    let time = |seconds: f64| Time::from_secs_f64(seconds).ok();
    let (mut branches, mut laws) = (Vec::new(), Vec::new());
    for group in &grouped.groups {
        let delays: Vec<Time> =
            group.delays.iter().map(|delay| time(*delay).unwrap_or(Time::LONGEST)).collect();
        let min_useful = time(group.min_useful).unwrap_or_default();
        let hedge = (!delays.is_empty()).then_some(Hedge { delays, min_useful, distinct: false });
        for _ in 0..group.count {
            branches.push(BranchSpec {
                required: Some(group.required),
                deadline: time(group.deadline),
                attempt_timeout: time(group.attempt_timeout),
                hedge: hedge.clone(),
                repeatable: true,
                cost: group.cost,
                ..BranchSpec::new(branches.len().to_string())
            });
            laws.push(group.law.clone());
        }
    }
    let spec = PlanSpec {
        wait_for: WaitFor::First(grouped.k as u32),
        at_least: Some(grouped.at_least as u32),
        deadline: time(grouped.deadline),
        ..PlanSpec::new("counted", branches)
    };
    Ok((Plan::new(spec).map_err(|errors| errors.to_string())?, laws))
}

fn confidence() -> Level {
    Level::above(0.05).expect("a level strictly between 0 and 1")
}

fn figure(value: f64, Interval { low, high }: Interval) -> Figure {
    Figure { value, method: Method::Simulated { low, high } }
}

fn share(share: Share) -> Figure {
    figure(share.value(), share.interval(confidence()))
}

/// Of what cannot be less than `least`.
fn estimate(estimate: Estimate, least: f64) -> Figure {
    let Interval { low, high } = estimate.interval(confidence());
    // What is not a number stays so.
    let low = if low < least { least } else { low };
    figure(estimate.value, Interval { low, high })
}

/// Infinite for what never happens.
fn seconds(time: Time) -> f64 {
    if time == Time::MAX { f64::INFINITY } else { time.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::usual;

    /// Jobs by whether they interact, and by the calls of each.
    #[test]
    fn plans_are_simulated_for_about_a_second_and_seldom_more_than_ten() {
        let check = |interact, n, jobs| assert_eq!(usual(interact, n, None), jobs, "{interact} {n}");
        check(false, 1, 100_000);
        check(false, 100, 20_000);
        check(false, 20_000, 1_000);
        check(false, 100_000, 200);
        check(false, 1_000_000, 100);
        check(true, 1, 100_000);
        check(true, 60, 30_000);
        check(true, 1_000, 20_000);
        check(true, 4_000, 5_000);
        check(true, 1_000_000, 100);
        assert_eq!(
            [360_001, 18_000, 1 << 63].map(|round| usual(true, 10, Some(round))),
            [370_000, 100_000, 100_000]
        );
    }
}
