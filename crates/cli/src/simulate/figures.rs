//! The figures of every contender, whatever they are printed as.

use fantail_core::Time;
use fantail_model::Level;
use fantail_model::sim::{Arrivals, Estimate, Interval, Share, Summary};
use fantail_planfile::Percentile;

use super::inputs::Contender;
use super::part::Part;
use super::play::Played;

/// What a simulation says.
pub(super) struct Report {
    pub(super) title: String,
    pub(super) seed: u64,
    pub(super) n: Option<u32>,
    pub(super) latency: Option<String>,
    /// First and last job of each range.
    pub(super) ranges: Vec<[u64; 2]>,
    pub(super) rows: Vec<Row>,
}

/// One contender and its figures, which are the same for all.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) file: Option<String>,
    pub(super) description: Option<String>,
    pub(super) is_client: bool,
    pub(super) jobs: u64,
    /// How many blocks intervals rest on; `None`: jobs are independent.
    pub(super) blocks: Option<u64>,
    /// Jobs before each block that do not count.
    pub(super) warm_up: u64,
    pub(super) figures: Vec<Figure>,
}

/// A number with where it truly lies, with 95 % confidence.
pub(super) struct Figure {
    pub(super) id: Id,
    pub(super) kind: Kind,
    /// The number, or why there is none.
    pub(super) value: Result<f64, &'static str>,
    /// `None` for what is no estimate.
    pub(super) interval: Option<Interval>,
}

/// What a figure is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Quantile(String),
    Named(&'static str),
    /// Of a server.
    Utilisation(String),
}

/// How a figure is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Seconds.
    Time,
    Share,
    Change,
    Amount,
    Count,
}

impl Report {
    pub(super) fn new(
        title: &str,
        percentiles: &[Percentile],
        contenders: &[Contender],
        played: &[Played],
        part: &Part,
    ) -> Report {
        let row = |(contender, played): (&Contender, &Played)| Row {
            name: contender.name.clone(),
            file: contender.file.clone(),
            description: contender.description.clone(),
            is_client: contender.is_client,
            jobs: played.summary.jobs(),
            blocks: played.summary.blocks(),
            warm_up: contender.simulation.scenario().warm_up,
            figures: figures(contender, played, percentiles),
        };
        Report {
            title: title.to_owned(),
            seed: part.inputs.seed,
            n: part.inputs.n,
            latency: part.inputs.latency.clone(),
            ranges: part.jobs.iter().map(|jobs| [jobs.start, jobs.end]).collect(),
            rows: contenders.iter().zip(played).map(row).collect(),
        }
    }
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
            let interval = Some(utilisation.interval(confidence()));
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
