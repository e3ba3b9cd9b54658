//! What copies do to the servers that they hope to escape: the tuned plan beside the same without copies, under the load of
//! the file's scenario and under a fifth more of it.

use std::sync::Arc;

use fantail_core::Time;
use fantail_model::Level;
use fantail_model::sim::{Arrivals, Interval, Scenario, Share, Simulation, Summary};
use fantail_model::tune::Measure;
use fantail_planfile::Goal;
use fantail_report::predict::meets_at;
use fantail_report::simulate::{endless, piles_up};

use super::emit;
use super::report::Row;
use super::request::{Origin, Request};
use crate::number;
use crate::simulate::play;

/// Jobs of each plan.
pub(super) const JOBS: u64 = 100_000;
/// Both plans meet the same luck.
pub(super) const SEED: u64 = 1;
/// Loads that are tried, in those of the scenario.
const LOADS: [f64; 2] = [1.0, 1.2];

/// What came of one load.
pub(super) struct Tested {
    /// How many times that of the scenario.
    pub(super) load: f64,
    /// Whether there are copies, without which it is another plan.
    pub(super) has_copies: bool,
    /// Of every goal on return times or verdicts, or why there is nothing to compare.
    pub(super) compared: Result<Vec<Compared>, Endless>,
}

/// No figures, since there are more and more calls.
pub(super) struct Endless {
    /// How that is known.
    pub(super) why: String,
    /// Whether it would be so without copies too.
    pub(super) without_copies: bool,
}

/// What a goal is about, with the copies and without.
pub(super) struct Compared {
    /// The goal's place among those asked.
    pub(super) goal: usize,
    pub(super) tuned: Measured,
    pub(super) plain: Measured,
    /// Whether copies make it worse beyond doubt: the intervals lie apart.
    pub(super) worse: bool,
}

/// A figure with where it truly lies, with 95 % confidence.
#[derive(Clone, Copy)]
pub(super) struct Measured {
    pub(super) value: f64,
    pub(super) interval: Interval,
}

/// The choice under load, where the plan's file has a scenario with queues.
pub(super) fn test(request: &Request, choice: &Row) -> anyhow::Result<Vec<Tested>> {
    let Origin::File(stated) = &request.origin else { return Ok(Vec::new()) };
    let Some(scenario) = &stated.scenario else { return Ok(Vec::new()) };
    let queues = scenario.servers.iter().any(|server| server.slots.is_some())
        || meets_at(&stated.plan, scenario).next().is_some();
    if !queues {
        return Ok(Vec::new());
    }
    let plan = Arc::new(emit::plan(request, &stated.plan, &choice.job)?);
    let under = |load: f64| {
        let scenario = busier(scenario, load);
        let tuned = Simulation::new(Arc::clone(&plan), stated.laws.clone(), scenario, SEED)?;
        let has_copies = choice.job.plan().has_copies();
        Ok(Tested { load, has_copies, compared: compare(&request.goals, &tuned, has_copies)? })
    };
    LOADS.into_iter().map(under).collect()
}

/// The same scenario with so many times the arrivals.
fn busier(scenario: &Scenario, load: f64) -> Scenario {
    let sooner = |time: &Time| Time::from_nanos((time.as_nanos() as f64 / load) as u64);
    let arrivals = match &scenario.arrivals {
        Arrivals::OneAtATime => Arrivals::OneAtATime,
        Arrivals::Every(gap) => Arrivals::Every(sooner(gap)),
        Arrivals::Poisson(rate) => Arrivals::Poisson(rate * load),
        Arrivals::Trace(times) => Arrivals::Trace(times.iter().map(sooner).collect()),
        Arrivals::Clients { clients, think } => {
            Arrivals::Clients { clients: (f64::from(*clients) * load).ceil() as u32, think: *think }
        }
    };
    Scenario { arrivals, ..scenario.clone() }
}

fn compare(
    goals: &[Goal],
    tuned: &Simulation,
    has_copies: bool,
) -> anyhow::Result<Result<Vec<Compared>, Endless>> {
    let plain = has_copies.then(|| tuned.without_copies());
    if let Some(why) = endless(tuned) {
        let without_copies = plain.as_ref().is_none_or(|plain| endless(plain).is_some());
        return Ok(Err(Endless { why, without_copies }));
    }
    let simulations: Vec<&Simulation> = std::iter::once(tuned).chain(&plain).collect();
    let played = play::on_all_cores(&simulations, 0..JOBS)?;
    if let Some(share) = played[0].piles_up() {
        let why = piles_up(share);
        return Ok(Err(Endless { why, without_copies: played[played.len() - 1].piles_up().is_some() }));
    }
    let of_goal = |(place, goal): (usize, &Goal)| {
        let [tuned, plain] = [0, played.len() - 1].map(|of| measured(goal.goal().measure, &played[of]));
        let (tuned, plain) = (tuned?, plain?);
        let worse = if goal.goal().relation.is_upper() {
            tuned.interval.low > plain.interval.high
        } else {
            tuned.interval.high < plain.interval.low
        };
        Some(Compared { goal: place, tuned, plain, worse })
    };
    Ok(Ok(goals.iter().enumerate().filter_map(of_goal).collect()))
}

/// `None` for what is no figure of return times or verdicts.
fn measured(measure: Measure, summary: &Summary) -> Option<Measured> {
    let confidence = Level::above(0.05).ok()?;
    let verdicts = summary.verdicts();
    let share = |share: Share| Measured { value: share.value(), interval: share.interval(confidence) };
    match measure {
        Measure::Quantile(level) => {
            let time = summary.quantile(level);
            let value = if time == Time::MAX { f64::INFINITY } else { time.as_secs_f64() };
            Some(Measured { value, interval: summary.quantile_interval(level, confidence) })
        }
        Measure::Mean => {
            let mean = summary.mean();
            Some(Measured { value: mean.value, interval: mean.interval(confidence) })
        }
        Measure::Complete => Some(share(verdicts.complete)),
        Measure::Partial => Some(share(verdicts.partial)),
        Measure::Failed => Some(share(verdicts.failed)),
        Measure::ExtraRequests | Measure::ExtraBusy | Measure::Cost => None,
    }
}

impl Tested {
    /// What there is to say of this load, a line for each goal.
    pub(super) fn lines(&self, goals: &[Goal]) -> Vec<String> {
        let load = if self.load == 1.0 {
            "At the stated load".to_owned()
        } else {
            format!("At {} times the load", self.load)
        };
        let line = |compared: &Compared| {
            let goal = &goals[compared.goal];
            let (word, measure) = (goal.word(), goal.goal().measure);
            let write = |value| number::figure(measure, value);
            let shown = |measured: Measured| {
                let Interval { low, high } = measured.interval;
                format!("{} ({})", write(measured.value), number::range(&write(low), &write(high)))
            };
            let plain = if self.has_copies {
                format!(", without copies {}", shown(compared.plain))
            } else {
                String::new()
            };
            let worse = if compared.worse { "; copies make it worse" } else { "" };
            let missed = if goal.goal().is_met(compared.tuned.value) { "" } else { "; the goal is missed" };
            format!("{load}: {word} {}{plain}{worse}{missed}.", shown(compared.tuned))
        };
        match &self.compared {
            Ok(compared) => compared.iter().map(line).collect(),
            Err(Endless { why, without_copies }) => {
                let which = match (self.has_copies, without_copies) {
                    (false, _) => "",
                    (true, true) => ", with copies or without",
                    (true, false) => ", with copies and not without",
                };
                vec![format!("{load}: {why}{which}.")]
            }
        }
    }
}
