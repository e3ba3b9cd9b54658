//! One job as lanes: what each attempt of each branch did, and when.

use fantail_core::job::{AttemptId, Failure, NotStarted, Outcome, Role, Verdict};
use fantail_core::{Branch, Time};
use fantail_model::sim::{Happened, Step, Trace};
use fantail_report::simulate::Contender;
use serde::Serialize;

/// What one job did, times in seconds from its start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lanes {
    /// Its number.
    pub job: u64,
    /// The name of the plan or client.
    pub name: String,
    /// `complete`, `partial` or `failed`; `None` when it never ends.
    pub verdict: Option<&'static str>,
    /// When it ended: the instant of the barrier.
    pub elapsed_s: Option<f64>,
    /// The deadline of the job.
    pub deadline_s: Option<f64>,
    /// In the plan's order.
    pub branches: Vec<BranchLane>,
}

/// What became of one branch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BranchLane {
    /// What it is called.
    pub name: String,
    /// Whether a result has to hold it.
    pub required: bool,
    /// `answered`, `failed`, `missed`, `not started`, `unneeded` or `cancelled`; `None` when it is open for ever.
    pub outcome: Option<&'static str>,
    /// Why it did not start.
    pub reason: Option<&'static str>,
    /// When copies fall due, should it be open then.
    pub due_s: Vec<f64>,
    /// Those that asked for a permit, by their number.
    pub attempts: Vec<AttemptLane>,
}

/// What one attempt did; tries of a client that knows no plan are all one attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttemptLane {
    /// 0 is the primary.
    pub number: u8,
    /// `primary`, `copy` or `failover`.
    pub role: &'static str,
    /// In their order.
    pub spans: Vec<SpanLane>,
    /// `won`, `answered`, `failed`, `timed out`, `turned away`, `refused` or `dropped`; `None` while it goes on for ever.
    pub end: Option<&'static str>,
    /// When that was.
    pub end_s: Option<f64>,
}

/// What an attempt does for a while.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpanLane {
    /// `waits` for a permit or to try again, `queues` at a server, or `runs`.
    pub doing: &'static str,
    /// From when.
    pub from_s: f64,
    /// Until when; `None` is for ever.
    pub to_s: Option<f64>,
}

pub(crate) fn lanes(contender: &Contender, trace: &Trace) -> Lanes {
    let plan = &contender.plan;
    let branches = plan.branches().iter().zip(0_u32..).zip(&trace.outcomes);
    let deadline = plan.deadline().filter(|_| !contender.is_client);
    Lanes {
        job: trace.job,
        name: contender.name.clone(),
        verdict: trace.verdict.map(|verdict| match verdict {
            Verdict::Complete => "complete",
            Verdict::Partial => "partial",
            Verdict::Failed(_) => "failed",
        }),
        elapsed_s: finite(trace.elapsed),
        deadline_s: deadline.and_then(finite),
        branches: branches
            .map(|((branch, i), outcome)| branch_lane(branch, i, *outcome, contender, trace))
            .collect(),
    }
}

fn branch_lane(
    branch: &Branch,
    index: u32,
    outcome: Option<Outcome>,
    contender: &Contender,
    trace: &Trace,
) -> BranchLane {
    let mut attempts: Vec<AttemptId> =
        trace.steps.iter().map(|step| step.attempt).filter(|attempt| attempt.branch == index).collect();
    attempts.sort_unstable();
    attempts.dedup();
    let started = trace
        .steps
        .iter()
        .find(|step| step.attempt == AttemptId::primary(index) && step.what == Happened::Started);
    let due = started
        .into_iter()
        .flat_map(|step| branch.delays().iter().map(|delay| step.at.saturating_add(*delay)));
    BranchLane {
        name: branch.name.clone(),
        required: branch.required,
        outcome: outcome.map(word),
        reason: match outcome {
            Some(Outcome::NotStarted(reason)) => Some(why(reason)),
            _ => None,
        },
        due_s: due.filter_map(finite).collect(),
        attempts: attempts.into_iter().map(|attempt| attempt_lane(attempt, contender, trace)).collect(),
    }
}

fn attempt_lane(attempt: AttemptId, contender: &Contender, trace: &Trace) -> AttemptLane {
    let steps = || trace.steps.iter().filter(move |step| step.attempt == attempt);
    let mut spans = Vec::new();
    let mut open: Option<(Time, &'static str)> = None;
    let mut end = None;
    for Step { at, what, .. } in steps() {
        if let Some((from, doing)) = open.take().filter(|(from, _)| from < at) {
            // What ran until a server began to serve it waited there.
            let doing = if *what == Happened::Served { "queues" } else { doing };
            spans.push(SpanLane { doing, from_s: from.as_secs_f64(), to_s: finite(*at) });
        }
        open = match what {
            Happened::Asked => Some((*at, "waits")),
            Happened::Started | Happened::Served => Some((*at, "runs")),
            Happened::Failed(_) if contender.is_client => Some((*at, "waits")),
            _ => None,
        };
        end = ended(*what).map(|word| (word, *at));
    }
    if let Some((from, doing)) = open.filter(|(from, _)| *from < trace.elapsed) {
        spans.push(SpanLane { doing, from_s: from.as_secs_f64(), to_s: finite(trace.elapsed) });
    }
    // The first answer of a branch is the one that counts.
    let first = trace
        .steps
        .iter()
        .find(|step| step.attempt.branch == attempt.branch && step.what == Happened::Answered);
    let won = first.is_some_and(|step| step.attempt == attempt);
    AttemptLane {
        number: attempt.number,
        role: match attempt.role() {
            Role::Primary => "primary",
            Role::Copy => "copy",
            Role::Failover => "failover",
        },
        spans,
        end: end.map(|(word, _)| if won { "won" } else { word }),
        end_s: end.and_then(|(_, at)| finite(at)),
    }
}

fn ended(what: Happened) -> Option<&'static str> {
    match what {
        Happened::Asked | Happened::Started | Happened::Served => None,
        Happened::Refused(_) => Some("refused"),
        Happened::Answered => Some("answered"),
        Happened::Failed(Failure::Pushback) => Some("turned away"),
        Happened::Failed(Failure::TimedOut) => Some("timed out"),
        Happened::Failed(_) => Some("failed"),
        Happened::Dropped => Some("dropped"),
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::Failed => "failed",
        Outcome::Missed => "missed",
        Outcome::NotStarted(_) => "not started",
        Outcome::Unneeded => "unneeded",
        Outcome::Cancelled => "cancelled",
    }
}

fn why(reason: NotStarted) -> &'static str {
    match reason {
        NotStarted::NoPermit => "no permit",
        NotStarted::Dependency => "dependency",
        NotStarted::Refused(_) => "refused",
        NotStarted::JobFailed => "the job failed",
    }
}

fn finite(time: Time) -> Option<f64> {
    (time < Time::MAX).then(|| time.as_secs_f64())
}
