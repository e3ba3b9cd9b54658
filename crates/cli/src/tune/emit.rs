//! `--emit`: the plan found, as a plan file.

use anyhow::Context;
use fantail_core::plan::{MAX_BRANCHES, PPM};
use fantail_core::{BudgetSpec, Hedge, Plan, Time, WaitFor};
use fantail_model::tune::Measure;
use fantail_model::{Group, GroupedPlan, JobLaw};
use fantail_planfile::{Config, Goal, like_branches, rewrite};

use super::report::{Report, Row};
use super::request::{Origin, Request};
use crate::failure::Failure;
use crate::number;

/// How every line of a file begins that says where its plan is from.
const MARK: &str = "# fantail tune: ";
/// The name of a plan that was not in a file.
const NAME: &str = "tuned";

/// The text of the plan file.
pub(super) fn text(report: &Report, choice: &Row) -> anyhow::Result<String> {
    let (base, source) = match &report.request.origin {
        Origin::File(stated) => {
            let path = &stated.path;
            let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
            (text, path.display().to_string())
        }
        Origin::Like { n, latency, .. } => {
            if *n as usize > MAX_BRANCHES {
                let message = format!("--emit: got {n} branches, a plan file has at most {MAX_BRANCHES}");
                return Err(Failure::invalid(message));
            }
            (like_branches(NAME, *n, latency), "--emit".to_owned())
        }
    };
    let stated = match &report.request.origin {
        Origin::File(stated) => stated.plan.clone(),
        Origin::Like { n, .. } => {
            let config = Config::parse(&source, &base)?;
            config.plan(NAME).map(|entry| entry.plan.clone()).with_context(|| format!("{n} branches"))?
        }
    };
    let plan = plan(&report.request, &stated, &choice.job)?;
    let rewritten = rewrite(&source, &base, &plan).with_context(|| source.clone())?;
    // What tells of the plan comes first, but for a byte order mark, and in line ends that are the file's.
    let (mark, rest) = rewritten.split_at(rewritten.len() - rewritten.trim_start_matches('\u{feff}').len());
    let end =
        rest.split_inclusive('\n').next().filter(|line| line.ends_with("\r\n")).map_or("\n", |_| "\r\n");
    let rest: String = rest.split_inclusive('\n').skip_while(|line| line.starts_with(MARK)).collect();
    let lines = provenance(report, choice).map(|line| format!("{MARK}{line}{end}"));
    Ok([mark, &lines.concat(), &rest].concat())
}

/// The goals, and the figures that were predicted.
fn provenance(report: &Report, choice: &Row) -> [String; 2] {
    let goals: Vec<&str> = report.request.goals.iter().map(Goal::as_str).collect();
    let figures = report.request.goals.iter().zip(&choice.figures).filter_map(|(goal, value)| {
        let measure = goal.goal().measure;
        value.map(|value| format!("{} {}", goal.word(), number::figure(measure, value)))
    });
    let figures: Vec<String> = figures.collect();
    [goals.join(", "), format!("predicted {}", figures.join(", "))]
}

/// The stated plan with what was found.
pub(super) fn plan(request: &Request, stated: &Plan, job: &JobLaw) -> anyhow::Result<Plan> {
    let found = job.plan();
    let group_of = match &request.origin {
        Origin::File(stated) => stated.group_of.clone(),
        Origin::Like { .. } => {
            let groups = found.groups.iter().enumerate();
            groups.flat_map(|(i, group)| std::iter::repeat_n(i, group.count as usize)).collect()
        }
    };
    let mut spec = stated.spec();
    // What was tuned are delays, not the percentiles that they were due at.
    spec.live_delays.clear();
    for (branch, group) in spec.branches.iter_mut().zip(&group_of) {
        let group = &found.groups[*group];
        let distinct = branch.hedge.as_ref().is_some_and(|hedge| hedge.distinct);
        (branch.required, branch.hedge) = (Some(group.required), hedge(group, distinct));
        branch.live = None;
        // Those of the job follow the job's.
        branch.deadline = branch.deadline.filter(|_| branch.deadline != stated.deadline());
    }
    spec.wait_for = barrier(stated, found);
    spec.at_least = Some(found.at_least as u32);
    spec.deadline = time(found.deadline);
    spec.hedge_budget = budget(request, stated.hedge_budget(), job);
    Ok(Plan::new(spec)?)
}

/// `None` for never.
fn time(seconds: f64) -> Option<Time> {
    Time::from_secs_f64(seconds).ok()
}

fn barrier(stated: &Plan, found: &GroupedPlan) -> WaitFor {
    let all_required = found.groups.iter().all(|group| group.required);
    if found.k == u64::from(stated.k())
        && (stated.wait_for() != WaitFor::All || all_required || stated.required() < stated.n())
    {
        stated.wait_for()
    } else {
        WaitFor::First(found.k as u32)
    }
}

fn hedge(group: &Group, distinct: bool) -> Option<Hedge> {
    let delays: Vec<Time> = group.delays.iter().map(|delay| time(*delay).unwrap_or(Time::LONGEST)).collect();
    let min_useful = time(group.min_useful).unwrap_or(Time::ZERO);
    (!delays.is_empty()).then_some(Hedge { delays, min_useful, distinct })
}

/// By how much calls may be slower before a budget holds copies back.
const SLOWER: f64 = 1.2;
/// One percent.
const WHOLE: u32 = PPM / 100;

/// A budget that pays for the copies, also when calls are a little slower: what is stated if that is enough, else whole
/// percents, not more than is allowed.
fn budget(request: &Request, stated: BudgetSpec, job: &JobLaw) -> BudgetSpec {
    let (due, slower) = due(job);
    if due == 0 {
        return BudgetSpec::HEDGES;
    }
    let most = allowed(request);
    let share = if slower.min(most).max(due) <= stated.share {
        stated.share
    } else {
        let roomy = slower.div_ceil(WHOLE) * WHOLE;
        roomy.min(most).max(due.div_ceil(WHOLE) * WHOLE)
    };
    BudgetSpec { share: share.min(PPM), ..stated }
}

/// What is to be known of a budget that may not be as large as it should.
pub(super) fn tight_budget(request: &Request, job: &JobLaw) -> Option<String> {
    let (due, slower) = due(job);
    let most = allowed(request);
    (due > 0 && slower > most).then(|| {
        let share = |share: u32| number::percent(f64::from(share) / f64::from(PPM));
        format!(
            "If calls take {:.0} % longer, copies for {} of answers are due: a budget of {}, which is the most that is allowed, \
             holds some of them back.",
            100.0 * (SLOWER - 1.0),
            share(slower),
            share(most)
        )
    })
}

/// Copies after a delay, in parts per million of the primaries that answer, and those of slower calls.
fn due(job: &JobLaw) -> (u32, u32) {
    let share = |job: &JobLaw| {
        let due = job.delayed_copies();
        if due > 0.0 { (due / job.answered_primaries() * f64::from(PPM)).ceil() as u32 } else { 0 }
    };
    let slower = |group: &Group| Some(Group { law: group.law.clone().scaled(SLOWER).ok()?, ..group.clone() });
    let groups: Option<Vec<Group>> = job.plan().groups.iter().map(slower).collect();
    let slower = groups.and_then(|groups| GroupedPlan { groups, ..*job.plan() }.solve().ok());
    let due = share(job);
    (due, slower.map_or(due, |slower| share(&slower).max(due)))
}

/// The largest budget that the goals and the file allow, in parts per million.
fn allowed(request: &Request) -> u32 {
    let goals = request.goals.iter().map(Goal::goal);
    let bounds = goals.filter(|goal| goal.measure == Measure::ExtraRequests).map(|goal| goal.bound);
    let most = bounds.fold(request.tuning.levers.budget.min(1.0), f64::min);
    (most * f64::from(PPM)).round() as u32
}
