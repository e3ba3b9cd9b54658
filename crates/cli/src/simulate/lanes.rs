//! `--trace`: single jobs as lanes, one for each attempt, and what held the barrier.

use std::fmt::Write;

use fantail_core::Time;
use fantail_core::job::{AttemptId, Failure, Verdict};
use fantail_model::sim::{Happened, Simulation, Step, Trace};
use fantail_report::text::fold;
use unicode_width::UnicodeWidthStr;

use crate::number;
use fantail_report::simulate::Contender;

/// One job, attempt by attempt.
pub(super) struct Job {
    pub(super) title: String,
    pub(super) elapsed: Time,
    pub(super) lanes: Vec<Lane>,
}

/// One attempt.
pub(super) struct Lane {
    pub(super) label: String,
    pub(super) spans: Vec<Span>,
    /// How it ended.
    pub(super) end: String,
}

/// What an attempt does for a while.
pub(super) struct Span {
    pub(super) from: Time,
    pub(super) to: Time,
    pub(super) doing: Doing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Waits for a permit, or to try again.
    Waits,
    /// Waits in the queue of a server.
    Queues,
    Runs,
}

/// So many jobs of the first block: that at the median, that at p99, and others between.
pub(super) fn of(contender: &Contender, count: usize) -> anyhow::Result<Vec<Job>> {
    let mut traces = contender.simulation.trace(0..Simulation::BLOCK)?;
    traces.sort_by_key(|trace| (trace.elapsed, trace.job));
    let jobs = traces.len() as f64;
    let place = |i: usize| {
        let share = if count == 1 { 1.0 } else { i as f64 / (count - 1) as f64 };
        // From a half to a hundredth that are slower.
        let slower = 0.5 * 0.02_f64.powf(share);
        (((1.0 - slower) * jobs) as usize).min(traces.len() - 1)
    };
    Ok((0..count.min(traces.len())).map(|i| lanes(contender, &traces[place(i)])).collect())
}

fn lanes(contender: &Contender, trace: &Trace) -> Job {
    let mut attempts: Vec<AttemptId> = trace.steps.iter().map(|step| step.attempt).collect();
    attempts.sort_unstable();
    attempts.dedup();
    let lanes = attempts.iter().map(|attempt| lane(contender, trace, *attempt)).collect();
    let how = match trace.verdict {
        Some(Verdict::Complete) => "complete",
        Some(Verdict::Partial) => "partial",
        Some(Verdict::Failed(_)) => "failed",
        None => "never over",
    };
    let name = &contender.name;
    let after =
        if trace.verdict.is_some() { format!(" after {}", shown(trace.elapsed)) } else { String::new() };
    let title = format!("{name}, job {}: {how}{after}{}", trace.job, holder(contender, trace));
    let last = trace.steps.last().map_or(Time::ZERO, |step| step.at);
    Job { title, elapsed: trace.elapsed.min(last.max(Time::from_nanos(1))), lanes }
}

fn shown(time: Time) -> String {
    number::duration(time.as_secs_f64())
}

/// The steps of one attempt.
fn steps_of(trace: &Trace, attempt: AttemptId) -> impl Iterator<Item = &Step> {
    trace.steps.iter().filter(move |step| step.attempt == attempt)
}

fn lane(contender: &Contender, trace: &Trace, attempt: AttemptId) -> Lane {
    let branch = &contender.plan.branches()[attempt.branch as usize].name;
    let label = if attempt.number == 0 { branch.clone() } else { format!("{branch} +{}", attempt.number) };
    let mut spans: Vec<Span> = Vec::new();
    let mut open: Option<(Time, Doing)> = None;
    let mut end = String::from("open");
    for step in steps_of(trace, attempt) {
        let doing = match step.what {
            Happened::Asked => Some(Doing::Waits),
            Happened::Started | Happened::Served => Some(Doing::Runs),
            Happened::Failed(_) if contender.is_client => Some(Doing::Waits),
            _ => None,
        };
        if let Some((from, before)) = open.take().filter(|(from, _)| *from < step.at) {
            // What ran until a server began to serve it waited there.
            let doing = if step.what == Happened::Served { Doing::Queues } else { before };
            spans.push(Span { from, to: step.at, doing });
        }
        open = doing.map(|doing| (step.at, doing));
        end = format!("{} {}", word(step.what), shown(step.at));
    }
    if let Some((from, doing)) = open.filter(|(from, _)| *from < trace.elapsed && trace.elapsed < Time::MAX) {
        spans.push(Span { from, to: trace.elapsed, doing });
    }
    Lane { label, spans, end }
}

fn word(what: Happened) -> &'static str {
    match what {
        Happened::Asked => "asked",
        Happened::Refused(_) => "refused",
        Happened::Started | Happened::Served => "started",
        Happened::Answered => "answered",
        Happened::Failed(Failure::Pushback) => "turned away",
        Happened::Failed(Failure::TimedOut) => "timed out",
        Happened::Failed(_) => "failed",
        Happened::Dropped => "dropped",
    }
}

/// The branch that the job waited for until its end, and what that one did for so long.
fn holder(contender: &Contender, trace: &Trace) -> String {
    let ends = |step: &&Step| !matches!(step.what, Happened::Asked | Happened::Started | Happened::Served);
    let last = trace.steps.iter().rev().filter(ends).find(|step| step.at == trace.elapsed);
    let answered = |step: &&Step| step.what == Happened::Answered && step.at == trace.elapsed;
    let Some(last) = trace.steps.iter().find(answered).or(last) else { return String::new() };
    let attempt = last.attempt;
    let branch = &contender.plan.branches()[attempt.branch as usize].name;
    let mut did = Vec::new();
    let mut waits = Time::ZERO;
    let (mut runs, mut queues, mut away) = (Time::ZERO, Time::ZERO, 0);
    for span in lane(contender, trace, attempt).spans {
        let lasts = span.to.saturating_sub(span.from);
        let sum = match span.doing {
            Doing::Waits => &mut waits,
            Doing::Queues => &mut queues,
            Doing::Runs => &mut runs,
        };
        *sum = sum.saturating_add(lasts);
    }
    for step in steps_of(trace, attempt) {
        away += u32::from(step.what == Happened::Failed(Failure::Pushback));
    }
    if away > 0 {
        let times = if away == 1 { "once".to_owned() } else { format!("{away} times") };
        did.push(format!("turned away {times}"));
    }
    let mut add = |time: Time, what: &str| {
        if time > Time::ZERO {
            did.push(format!("{what} {}", shown(time)));
        }
    };
    add(waits, "waited");
    add(queues, "queued");
    add(runs, "ran");
    if last.what == Happened::Dropped {
        did.push("was cut".to_owned());
    }
    format!("; {branch} held it: {}", did.join(", "))
}

/// For a terminal of `width` columns.
pub(super) fn text(lanes: &Job, width: usize) -> String {
    let labels = lanes.lanes.iter().map(|lane| lane.label.width()).max().unwrap_or(0);
    let ends = lanes.lanes.iter().map(|lane| lane.end.width()).max().unwrap_or(0);
    let room = width.saturating_sub(labels + ends + 4).clamp(10, 100);
    let mut text = fold(&lanes.title, width, 2);
    for lane in &lanes.lanes {
        let mut cells = vec![' '; room];
        for span in &lane.spans {
            let place = |time: Time| {
                let share = time.as_secs_f64() / lanes.elapsed.as_secs_f64();
                ((share * room as f64) as usize).min(room)
            };
            let mark = match span.doing {
                Doing::Waits => '·',
                Doing::Queues => '-',
                Doing::Runs => '█',
            };
            let (from, to) = (place(span.from).min(room - 1), place(span.to));
            cells[from..to.max(from + 1)].fill(mark);
        }
        let bar: String = cells.into_iter().collect();
        let padding = " ".repeat(labels - lane.label.width());
        write!(text, "\n  {}{padding} {bar} {}", lane.label, lane.end).expect("a string takes every write");
    }
    text.push('\n');
    text
}
