//! The figures of every contender, whatever they are printed as.

use std::ops::Range;

use fantail_core::Time;
use fantail_model::Level;
use fantail_model::sim::{Arrivals, Estimate, Interval, Share, Simulation, Summary};
use fantail_planfile::Percentile;

use crate::number;

use super::inputs::{Contender, Inputs};

/// What came of a contender.
pub struct Played {
    /// Of its jobs.
    pub summary: Summary,
    /// Of the same plan without copies, where it has any.
    pub plain: Option<Summary>,
}

/// What a simulation says.
pub struct Report {
    /// What was played, on one line.
    pub title: String,
    /// What the luck was drawn by.
    pub seed: u64,
    /// The number of like branches.
    pub n: Option<u32>,
    /// The law of one call of them, as given.
    pub latency: Option<String>,
    /// First and last job of each range.
    pub ranges: Vec<[u64; 2]>,
    /// One for each contender.
    pub rows: Vec<Row>,
}

/// One contender and its figures, which are the same for all.
pub struct Row {
    /// The plan's name, or its short form; the client's.
    pub name: String,
    /// The file that states it.
    pub file: Option<String>,
    /// What people are shown as its name, beside those of the others.
    pub shown: String,
    /// What it waits for and does meanwhile, in words; `None` where its short form says it.
    pub description: Option<String>,
    /// Whether it is a client that knows no plan.
    pub is_client: bool,
    /// How many were played.
    pub jobs: u64,
    /// What they were played in; `None`: jobs are independent.
    pub blocks: Option<Blocks>,
    /// Whether jobs never returned of which some may have, had calls been played that take longer than [`Time`] counts.
    pub beyond_time: bool,
    /// Whether calls of a branch are mostly so short that it matters that times are whole nanoseconds.
    pub is_coarse: bool,
    /// In the order that they are shown in.
    pub figures: Vec<Figure>,
}

/// The parts in which jobs are played that matter to each other.
pub struct Blocks {
    /// How many there are.
    pub count: u64,
    /// Whether they are enough for intervals, which rest on how they differ.
    pub are_enough: bool,
    /// Jobs before each of them that do not count.
    pub warm_up: u64,
    /// About how many it would take until the beginning is forgotten, where that is more.
    pub remembers: Option<u64>,
    /// How many jobs it takes to meet all phases of what goes by a clock, where fewer were played.
    pub round: Option<u64>,
    /// The share of calls that are there for good, where more and more are: figures depend on how many jobs are played.
    pub piles_up: Option<f64>,
}

impl Blocks {
    fn of(simulation: &Simulation, summary: &Summary) -> Option<Blocks> {
        let (warm_up, remembers) = (simulation.warm_up(), simulation.remembers());
        Some(Blocks {
            count: summary.blocks()?,
            are_enough: summary.has_intervals(),
            warm_up,
            remembers: Some(remembers).filter(|jobs| *jobs > warm_up),
            round: simulation.round().filter(|jobs| *jobs > summary.jobs()),
            piles_up: summary.piles_up(),
        })
    }
}

/// A number with where it truly lies, with 95 % confidence.
pub struct Figure {
    /// What it is of.
    pub id: Id,
    /// How it is read.
    pub kind: Kind,
    /// The number, or why there is none.
    pub value: Result<f64, &'static str>,
    /// `None` for what is no estimate.
    pub interval: Option<Interval>,
}

/// What a figure is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Id {
    /// Of the return time, by its label.
    Quantile(String),
    /// Anything else, by its name.
    Named(&'static str),
    /// Of a server.
    Utilisation(String),
}

/// How a figure is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Seconds.
    Time,
    /// From 0 to 1.
    Share,
    /// A relative change.
    Change,
    /// Of money.
    Amount,
    /// A whole number.
    Count,
}

impl Report {
    /// The figures of what was played, with these quantiles of the return time.
    pub fn new(
        percentiles: &[Percentile],
        inputs: &Inputs,
        ranges: &[Range<u64>],
        contenders: &[Contender],
        played: &[Played],
    ) -> Report {
        let row = |(contender, played): (&Contender, &Played)| Row {
            name: contender.name.clone(),
            file: contender.file.clone(),
            shown: contender.shown.clone(),
            description: contender.description.clone(),
            is_client: contender.is_client,
            jobs: played.summary.jobs(),
            blocks: Blocks::of(&contender.simulation, &played.summary),
            beyond_time: played.summary.verdicts().never.count > 0
                && contender.simulation.beyond_time() > 1e-9,
            is_coarse: contender.is_coarse,
            figures: figures(contender, played, percentiles),
        };
        Report {
            title: title(inputs.seed, ranges),
            seed: inputs.seed,
            n: inputs.n,
            latency: inputs.latency.clone(),
            ranges: ranges.iter().map(|jobs| [jobs.start, jobs.end]).collect(),
            rows: contenders.iter().zip(played).map(row).collect(),
        }
    }
}

/// What was played, on one line.
fn title(seed: u64, ranges: &[Range<u64>]) -> String {
    let count = ranges.iter().map(|jobs| jobs.end - jobs.start).sum();
    format!("{}, seed {seed}", number::count(count, "job of each", "jobs of each"))
}

fn confidence() -> Level {
    Level::above(0.05).expect("a level strictly between 0 and 1")
}

fn figures(contender: &Contender, played: &Played, percentiles: &[Percentile]) -> Vec<Figure> {
    let Played { summary, plain } = played;
    let mut list: Vec<Figure> = percentiles.iter().map(|percentile| quantile(summary, percentile)).collect();
    let worst = seconds(summary.worst());
    list.push(Figure { id: Id::Named("worst_s"), kind: Kind::Time, value: Ok(worst), interval: None });
    list.push(estimate("mean_s", Kind::Time, summary.mean()));
    let verdicts = summary.verdicts();
    list.push(share("complete", verdicts.complete));
    list.push(share("partial", verdicts.partial));
    list.push(share("failed", verdicts.failed));
    list.push(share("never", verdicts.never));
    list.push(estimate("extra_requests", Kind::Change, summary.extra_requests()));
    list.push(match plain {
        Some(plain) => estimate("extra_busy", Kind::Change, summary.extra_busy(plain)),
        // It is the plan without copies.
        None => estimate("extra_busy", Kind::Change, Estimate::new(0.0, 0.0)),
    });
    list.push(match summary.cost() {
        Some(cost) => estimate("cost", Kind::Amount, cost),
        None => missing("cost", Kind::Amount, "no branch states a cost"),
    });
    list.push(share("sends_copy", summary.sends_copy()));
    list.push(share("rejected_429", summary.attempts_turned_away()));
    list.push(share("rejected_429_calls", summary.branches_turned_away()));
    list.push(share("rejected_429_jobs", summary.jobs_turned_away()));
    let waits = summary.waits();
    if waits.permits > 0 {
        list.push(estimate("permit_wait_s", Kind::Time, summary.wait()));
        let delayed = waits.delayed as f64 / waits.permits as f64;
        list.push(Figure {
            id: Id::Named("permits_delayed"),
            kind: Kind::Share,
            value: Ok(delayed),
            interval: None,
        });
    } else {
        list.push(missing("permit_wait_s", Kind::Time, "no permit came from a limiter"));
        list.push(missing("permits_delayed", Kind::Share, "no permit came from a limiter"));
    }
    list.push(estimate("backfills", Kind::Share, summary.backfills()));
    list.push(peak(contender, summary));
    for (index, (server, slots)) in contender.servers().enumerate() {
        if let Some(utilisation) = slots.and_then(|slots| summary.utilisation(index, slots)) {
            let id = Id::Utilisation(server.name.clone());
            let Interval { low, high } = utilisation.interval(confidence());
            let interval = Some(Interval { low: low.clamp(0.0, 1.0), high: high.clamp(0.0, 1.0) });
            list.push(Figure { id, kind: Kind::Share, value: Ok(utilisation.value), interval });
        }
    }
    list
}

fn quantile(summary: &Summary, percentile: &Percentile) -> Figure {
    let level = percentile.level();
    Figure {
        id: Id::Quantile(percentile.label().to_owned()),
        kind: Kind::Time,
        value: Ok(seconds(summary.quantile(level))),
        interval: Some(summary.quantile_interval(level, confidence())),
    }
}

/// Jobs that arrive at instants run side by side, but are played so only where that matters to them.
fn peak(contender: &Contender, summary: &Summary) -> Figure {
    let (id, kind) = ("peak_concurrency", Kind::Count);
    let simulation = &contender.simulation;
    if !simulation.jobs_interact() && simulation.scenario().arrivals != Arrivals::OneAtATime {
        return missing(id, kind, "jobs do not matter to each other and are played one at a time");
    }
    Figure { id: Id::Named(id), kind, value: Ok(summary.peak() as f64), interval: None }
}

/// Infinite for what never happens.
fn seconds(time: Time) -> f64 {
    if time == Time::MAX { f64::INFINITY } else { time.as_secs_f64() }
}

fn estimate(name: &'static str, kind: Kind, estimate: Estimate) -> Figure {
    let Interval { low, high } = estimate.interval(confidence());
    // Only a change can be below zero.
    let low = if name == "extra_busy" { low } else { low.max(0.0) };
    Figure { id: Id::Named(name), kind, value: Ok(estimate.value), interval: Some(Interval { low, high }) }
}

fn share(name: &'static str, share: Share) -> Figure {
    Figure {
        id: Id::Named(name),
        kind: Kind::Share,
        value: Ok(share.value()),
        interval: Some(share.interval(confidence())),
    }
}

fn missing(name: &'static str, kind: Kind, why: &'static str) -> Figure {
    Figure { id: Id::Named(name), kind, value: Err(why), interval: None }
}
