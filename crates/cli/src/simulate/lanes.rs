//! `--trace`: single jobs as lanes, one for each attempt, and what held the barrier.

use std::cmp::Reverse;
use std::fmt::Write;
use std::ops::Range;

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
    /// Attempts without a lane; empty when there are none.
    pub(super) more: String,
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

/// Jobs are chosen among so many that have about this many attempts together: a few seconds' play.
const ATTEMPTS: u64 = 10_000_000;

/// So many attempts of a job have a lane: those that were over last.
const LANES: usize = 20;

/// So many of the jobs that were played: that at the median, that at p99, and others between; fewer where those are the same.
/// They are of the first block.
pub(super) fn of(contender: &Contender, played: &Range<u64>, count: usize) -> anyhow::Result<Vec<Job>> {
    let simulation = &contender.simulation;
    let block = Simulation::blocks(played.clone()).next().expect("at least one job was played");
    let most = (ATTEMPTS / simulation.plan().attempts() as u64).max(1);
    let mut times = simulation.return_times(block.clone(), most)?;
    times.sort_unstable_by_key(|(job, time)| (*time, *job));
    let mut chosen: Vec<u64> = (0..count).map(|i| times[place(i, count, times.len())].0).collect();
    chosen.dedup();
    let mut traces = simulation.trace_some(&chosen, block)?;
    traces.sort_unstable_by_key(|trace| (trace.elapsed, trace.job));
    let among = times.len() as u64;
    let all = played.end - played.start;
    let of = if among < all { format!(" of the first {}", number::grouped(among)) } else { String::new() };
    Ok(traces.iter().map(|trace| lanes(contender, trace, &of)).collect())
}

/// Where the `i`-th of so many stands among sorted jobs, at the rank of a quantile.
fn place(i: usize, count: usize, jobs: usize) -> usize {
    let share = if count == 1 { 1.0 } else { i as f64 / (count - 1) as f64 };
    // From a half to a hundredth that are slower; those before it are rounded as quantiles are.
    let slower = 0.5 * 0.02_f64.powf(share);
    let rank = ((1.0 - slower) * jobs as f64 * (1.0 - 8.0 * f64::EPSILON)).ceil() as usize;
    rank.clamp(1, jobs) - 1
}

/// The lanes of a job, which is `of` some of the run.
fn lanes(contender: &Contender, trace: &Trace, of: &str) -> Job {
    let holder = holder(trace);
    let mut ends = ends(contender, trace);
    let more = match ends.len().saturating_sub(LANES) as u64 {
        0 => String::new(),
        more => format!("… and {}", number::count(more, "more attempt", "more attempts")),
    };
    if ends.len() > LANES {
        ends.select_nth_unstable_by_key(LANES, |(attempt, end)| {
            (Some(*attempt) != holder, Reverse(*end), *attempt)
        });
    }
    let mut attempts: Vec<AttemptId> = ends.iter().take(LANES).map(|(attempt, _)| *attempt).collect();
    attempts.sort_unstable();
    let lanes = attempts.iter().map(|attempt| lane(contender, trace, *attempt)).collect();
    let how = match trace.verdict {
        Some(Verdict::Complete) => "complete",
        Some(Verdict::Partial) => "partial",
        Some(Verdict::Failed(_)) => "failed",
        None => "never over",
    };
    let name = &contender.shown;
    let after =
        if trace.verdict.is_some() { format!(" after {}", shown(trace.elapsed)) } else { String::new() };
    let held = holder.map_or_else(String::new, |attempt| held(contender, trace, attempt));
    let title = format!("{name}, job {}{of}: {how}{after}{held}", trace.job);
    let last = trace.steps.last().map_or(Time::ZERO, |step| step.at);
    Job { title, elapsed: trace.elapsed.min(last.max(Time::from_nanos(1))), lanes, more }
}

fn shown(time: Time) -> String {
    number::duration(time.as_secs_f64())
}

/// Every attempt, with the time of its last step.
fn ends(contender: &Contender, trace: &Trace) -> Vec<(AttemptId, Time)> {
    let plan = contender.simulation.plan();
    let mut seen = vec![false; plan.attempts()];
    let mut is_last = |step: &Step| {
        let index = plan.attempt_index(step.attempt).expect("a trace is of declared attempts");
        !std::mem::replace(&mut seen[index], true)
    };
    let last = trace.steps.iter().rev().filter(|step| is_last(step));
    last.map(|step| (step.attempt, step.at)).collect()
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

/// The attempt that the job waited for until its end.
fn holder(trace: &Trace) -> Option<AttemptId> {
    let ends = |step: &&Step| !matches!(step.what, Happened::Asked | Happened::Started | Happened::Served);
    let last = trace.steps.iter().rev().filter(ends).find(|step| step.at == trace.elapsed);
    let answered = |step: &&Step| step.what == Happened::Answered && step.at == trace.elapsed;
    trace.steps.iter().find(answered).or(last).map(|step| step.attempt)
}

/// Who held the job, and what that attempt did for so long.
fn held(contender: &Contender, trace: &Trace, attempt: AttemptId) -> String {
    let Lane { label, spans, .. } = lane(contender, trace, attempt);
    let mut did = Vec::new();
    let mut waits = Time::ZERO;
    let (mut runs, mut queues, mut away) = (Time::ZERO, Time::ZERO, 0);
    for span in spans {
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
    if steps_of(trace, attempt).last().is_some_and(|step| step.what == Happened::Dropped) {
        did.push("was cut".to_owned());
    }
    let did = did.join(", ");
    match steps_of(trace, attempt).next() {
        // The job waited for others before.
        Some(step) if step.at > Time::ZERO => {
            format!("; {label} was last: began after {}, {did}", shown(step.at))
        }
        _ => format!("; {label} held it: {did}"),
    }
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
    if !lanes.more.is_empty() {
        write!(text, "\n  {}", lanes.more).expect("a string takes every write");
    }
    text.push('\n');
    text
}
