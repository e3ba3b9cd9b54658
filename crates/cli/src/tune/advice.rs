//! When copies, or fan-out itself, are the wrong instrument; and what else would help. Every line is computed.

use fantail_model::tune::{Measure, Tuning};
use fantail_model::{GroupedPlan, JobLaw, SolveError};
use fantail_planfile::Goal;

use super::report::{Report, Row};
use super::{emit, words};
use crate::number;

/// A branch that alone is this share of what makes jobs late dominates them.
const DOMINATES: f64 = 0.7;
/// A share of jobs that is worth a line.
const NOTABLE: f64 = 0.001;

pub(super) fn advice(report: &Report) -> Result<Vec<String>, SolveError> {
    let mut lines = Vec::new();
    let Some((goal, text)) = binding(report) else { return Ok(lines) };
    let plan = report.plain.job.plan();
    lines.extend(calls_too_slow(report, plan, goal, &text));
    lines.extend(dominated(report, plan, goal));
    if let Some(choice) = &report.choice {
        lines.extend(time_left(report, choice));
        lines.extend(useful(report, choice)?);
        lines.extend(at_deadline(choice));
        lines.extend(earliest_deadline(report, choice)?);
        lines.extend(emit::tight_budget(&report.request, &choice.job));
    } else {
        lines.extend(deadline_binds(report, goal));
        lines.extend(relaxations(report)?);
    }
    Ok(lines)
}

/// The first goal that the plan without copies misses, or else the first of all that prices are paid for.
fn binding(report: &Report) -> Option<(&Goal, String)> {
    let goals = || report.request.goals.iter().zip(&report.plain.figures);
    let paid_for = |goal: &Goal| !goal.goal().measure.is_price();
    let missed =
        goals().find(|(goal, figure)| paid_for(goal) && !figure.is_some_and(|f| goal.goal().is_met(f)));
    let (goal, _) = missed.or_else(|| goals().find(|(goal, _)| paid_for(goal)))?;
    Some((goal, goal.word().to_owned()))
}

/// The instant that a goal is about: its bound, or the deadline of the plan tuned.
fn instant(report: &Report, goal: &Goal) -> Option<f64> {
    let row = report.choice.as_ref().unwrap_or(&report.plain);
    let time = match goal.goal().measure {
        Measure::Quantile(_) => goal.goal().bound,
        Measure::Mean => return None,
        _ => row.job.plan().deadline,
    };
    time.is_finite().then_some(time)
}

/// One call alone misses a bound on a quantile.
fn calls_too_slow(report: &Report, plan: &GroupedPlan, goal: &Goal, text: &str) -> Option<String> {
    let Measure::Quantile(level) = goal.goal().measure else { return None };
    let waits_for_all = plan.k == plan.n() || plan.groups.iter().all(|group| group.required);
    if report.plain.job.quantile(level).value < goal.goal().bound || !waits_for_all {
        return None;
    }
    let alone = |group: usize| (group, plan.groups[group].law.quantile(level));
    let slowest = (0..plan.groups.len()).map(alone).max_by(|a, b| a.1.total_cmp(&b.1));
    let (group, time) = slowest.filter(|(_, time)| !goal.goal().is_met(*time))?;
    let call = one_call(report, group);
    let spread = if plan.n() > 1 { " It is not the fan-out that misses the goal." } else { "" };
    Some(format!("{call} alone has a {text} of {}.{spread}", number::duration(time)))
}

fn one_call(report: &Report, group: usize) -> String {
    let groups = &report.request.tuning.plan.groups;
    if groups.len() == 1 {
        "One call".to_owned()
    } else {
        format!("A call for {}", report.request.label(group))
    }
}

/// Most of the late jobs are late for one branch.
fn dominated(report: &Report, plan: &GroupedPlan, goal: &Goal) -> Option<String> {
    let t = instant(report, goal)?;
    if plan.n() < 2 {
        return None;
    }
    let late: Vec<f64> = plan.groups.iter().map(|g| g.count as f64 * g.law.survival(t)).collect();
    let total: f64 = late.iter().sum();
    let (group, most) = late.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    let share = most / total;
    (plan.groups[group].count == 1 && share >= DOMINATES).then(|| {
        let branch = report.request.label(group);
        format!(
            "{} of the calls that take longer than {} are {branch}: there is little to spread. A faster {branch}, or \
             one that a result may lack, would do more than copies of the others.",
            number::percent(share),
            words::time(t)
        )
    })
}

/// How much a copy can still do.
fn time_left(report: &Report, choice: &Row) -> Option<String> {
    let plan = choice.job.plan();
    let t = report.request.goals.iter().find_map(|goal| instant(report, goal))?;
    let first = |group: usize| plan.groups[group].delays.first().map(|delay| (group, *delay));
    let (group, delay) = (0..plan.groups.len())
        .filter_map(first)
        .filter(|(_, delay)| *delay > 0.0 && *delay < t)
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let in_time = plan.groups[group].law.cdf(t - delay);
    Some(format!(
        "A copy sent after {} has {} left before {}, in which {} of the calls answer.",
        words::time(delay),
        words::time(t - delay),
        words::time(t),
        number::percent(in_time)
    ))
}

/// What it costs that copies need time before the deadline.
fn useful(report: &Report, choice: &Row) -> Result<Option<String>, SolveError> {
    /// A saving that is worth a line.
    const WORTH: f64 = 0.02;
    let plan = choice.job.plan();
    if plan.deadline.is_infinite() || !plan.has_copies() {
        return Ok(None);
    }
    let other = without_min_useful(&report.request.tuning).cheapest()?;
    let price = |job: &JobLaw| report.request.price(job);
    let cheaper = other.filter(|other| price(other) < price(&choice.job) * (1.0 - WORTH));
    Ok(cheaper.map(|job| {
        format!(
            "No copy is sent that has less than `min_useful` left before the deadline{}. With next to none of it: {}.",
            least_useful(plan),
            words::plan(&report.request, &job)
        )
    }))
}

/// The time that copies need, where those of the plan that are late need the same.
fn least_useful(plan: &GroupedPlan) -> String {
    let mut times: Vec<f64> =
        plan.groups.iter().map(|group| group.min_useful).filter(|time| *time > 0.0).collect();
    times.dedup();
    if let [time] = times.as_slice() { format!(", {}", words::time(*time)) } else { String::new() }
}

/// The same question where a copy may be sent as long as there is a nanosecond left.
fn without_min_useful(tuning: &Tuning) -> Tuning {
    let mut other = tuning.clone();
    other.plan.groups.iter_mut().for_each(|group| group.min_useful = 1e-9);
    other
}

/// The deadline that could be set, where only shares are asked for and the plan keeps them without one.
fn earliest_deadline(report: &Report, choice: &Row) -> Result<Option<String>, SolveError> {
    let tuning = &report.request.tuning;
    let bounds_time = report.request.goals.iter().any(|goal| goal.goal().measure.is_time());
    if bounds_time || choice.job.plan().deadline.is_finite() || tuning.levers.deadline {
        return Ok(None);
    }
    let mut other = tuning.clone();
    other.levers.deadline = true;
    let earliest = other.cheapest()?.map(|job| job.plan().deadline).filter(|deadline| deadline.is_finite());
    Ok(earliest.map(|deadline| {
        format!("The earliest deadline that keeps the goals is {} (--allow deadline).", words::time(deadline))
    }))
}

/// How many jobs the deadline ends.
fn at_deadline(choice: &Row) -> Option<String> {
    let deadline = choice.job.plan().deadline;
    let share = cut(&choice.job);
    (deadline.is_finite() && share >= NOTABLE).then(|| {
        format!("{} of the jobs end at the deadline, {}.", number::percent(share), words::time(deadline))
    })
}

/// A bound on time that the stated deadline alone breaks.
fn deadline_binds(report: &Report, goal: &Goal) -> Option<String> {
    let job = &report.plain.job;
    let Measure::Quantile(level) = goal.goal().measure else { return None };
    let deadline = job.plan().deadline;
    (deadline.is_finite() && job.quantile(level).value == deadline && !goal.goal().is_met(deadline)).then(
        || {
            format!(
                "{} is the deadline itself: without copies {} of the jobs wait for it.",
                goal.word(),
                number::percent(cut(job))
            )
        },
    )
}

/// The share of jobs that wait for the deadline.
fn cut(job: &JobLaw) -> f64 {
    job.waiting(job.plan().deadline - 0.5e-9)
}

/// What would keep the goals if it were allowed, each alone.
fn relaxations(report: &Report) -> Result<Vec<String>, SolveError> {
    let tuning = &report.request.tuning;
    let try_with = |change: &dyn Fn(&mut Tuning)| {
        let mut other = tuning.clone();
        change(&mut other);
        other.cheapest()
    };
    let found =
        |how: String, job: &JobLaw| format!("{how} they can be met: {}.", words::plan(&report.request, job));
    let mut lines = Vec::new();
    if tuning.levers.budget.is_finite()
        && let Some(job) = try_with(&|other| {
            (other.levers.budget, other.levers.most_extra) = (f64::INFINITY, f64::INFINITY);
        })?
    {
        let share = number::percent(tuning.levers.budget);
        lines.push(found(format!("With a hedge budget above {share} (--max-extra-requests)"), &job));
    }
    if tuning.plan.deadline.is_finite()
        && let Some(job) = without_min_useful(tuning).cheapest()?
    {
        lines.push(found("With a smaller `min_useful`".to_owned(), &job));
    }
    let own_deadlines = tuning.plan.groups.iter().any(|group| group.deadline < tuning.plan.deadline);
    if !tuning.levers.deadline
        && !own_deadlines
        && let Some(job) = try_with(&|other| other.levers.deadline = true)?
    {
        lines.push(found("With another deadline (--allow deadline)".to_owned(), &job));
    }
    let not_hedged = (0..tuning.plan.groups.len()).filter(|group| !tuning.levers.hedged[*group]);
    let labels: Vec<String> = not_hedged.map(|group| report.request.label(group)).collect();
    if !labels.is_empty()
        && let Some(job) = try_with(&|other| other.levers.hedged.fill(true))?
    {
        let too = if labels.len() < tuning.plan.groups.len() { " too" } else { "" };
        lines.push(found(format!("With copies of {}{too}", words::some_of(&labels)), &job));
    }
    lines.extend(fewer_answers(report)?);
    Ok(lines)
}

/// The most answers that a result would have to hold, or the barrier to wait for, so that the goals can be met.
fn fewer_answers(report: &Report) -> Result<Option<String>, SolveError> {
    let tuning = &report.request.tuning;
    let required: u64 =
        tuning.plan.groups.iter().filter(|group| group.required).map(|group| group.count).sum();
    let with = |at_least: u64| {
        let mut other = tuning.clone();
        if required == tuning.plan.n() {
            other.plan.groups.iter_mut().for_each(|group| group.required = false);
        }
        other.plan.at_least = at_least;
        other.cheapest()
    };
    let least = if required == tuning.plan.n() { 1 } else { required.max(1) };
    let (mut low, mut high) = (least, tuning.plan.at_least);
    if low >= high {
        return Ok(None);
    }
    let Some(mut job) = with(low)? else { return Ok(None) };
    while high - low > 1 {
        let middle = low.midpoint(high);
        match with(middle)? {
            Some(found) => (low, job) = (middle, found),
            None => high = middle,
        }
    }
    Ok(Some(format!(
        "If a result of {} were of use (`at-least`), they can be met: {}.",
        number::count(low, "answer", "answers"),
        words::plan(&report.request, &job)
    )))
}
