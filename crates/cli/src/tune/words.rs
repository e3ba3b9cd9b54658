//! Plans of the search in a few words.

use fantail_core::Time;
use fantail_model::{GroupedPlan, JobLaw};

use super::request::Request;
use crate::number;

/// A time that the search chose, which has few digits, or a stated one: all of them.
pub(super) fn time(seconds: f64) -> String {
    Time::from_secs_f64(seconds).map_or_else(|_| number::duration(seconds), |time| time.to_string())
}

/// What a plan does beside what is held: its copies, deadline and barrier, and what that costs.
pub(super) fn plan(request: &Request, job: &JobLaw) -> String {
    let plan = job.plan();
    let stated = &request.tuning.plan;
    let mut parts = copies_by_branch(request, plan);
    if plan.k < stated.k {
        parts.push(format!("waits for the first {}", plan.k));
    }
    if plan.deadline != stated.deadline {
        parts.push(format!("deadline {}", time(plan.deadline)));
    }
    if parts.is_empty() {
        parts.push("the plan as stated, without copies".to_owned());
    }
    let extra = job.extra_requests();
    let price = if extra > 0.0 {
        format!("{} requests", number::change(extra))
    } else {
        "no extra requests".to_owned()
    };
    format!("{}; {price}", parts.join("; "))
}

/// Kinds of branches, not too many of them.
pub(super) fn some_of(labels: &[String]) -> String {
    let more = labels.len().saturating_sub(SHOWN);
    let rest = (more > 0).then(|| format!("{more} more kinds of branches"));
    labels.iter().take(SHOWN).cloned().chain(rest).collect::<Vec<_>>().join(", ")
}

/// The copies of each kind of branch that has any, like ones together.
fn copies_by_branch(request: &Request, plan: &GroupedPlan) -> Vec<String> {
    if let [group] = plan.groups.as_slice() {
        return Vec::from_iter((!group.delays.is_empty()).then(|| copies(&group.delays)));
    }
    let mut parts: Vec<(String, Vec<String>)> = Vec::new();
    for (index, group) in plan.groups.iter().enumerate().filter(|(_, group)| !group.delays.is_empty()) {
        let (what, label) = (copies(&group.delays), request.label(index));
        match parts.iter_mut().find(|(same, _)| *same == what) {
            Some((_, labels)) => labels.push(label),
            None => parts.push((what, vec![label])),
        }
    }
    let more = parts.len().saturating_sub(SHOWN);
    let shown = parts.into_iter().take(SHOWN).map(|(what, labels)| format!("{}: {what}", labels.join(", ")));
    shown.chain((more > 0).then(|| format!("copies of {more} more kinds of branches"))).collect()
}

/// The most kinds of branches whose copies are told.
const SHOWN: usize = 6;

/// When copies are sent, as in `race of 2, copies after 1.5s, 2s`.
fn copies(delays: &[f64]) -> String {
    let at_once = delays.iter().filter(|delay| **delay == 0.0).count();
    let race = (at_once > 0).then(|| format!("race of {}", at_once + 1));
    let late = match &delays[at_once..] {
        [] => None,
        [delay] => Some(format!("copy after {}", time(*delay))),
        late => Some(format!("copies after {}", list(late))),
    };
    let parts: Vec<String> = race.into_iter().chain(late).collect();
    if parts.is_empty() { "no copies".to_owned() } else { parts.join(", ") }
}

/// Delays for a column: `1.5s`, `1.5s ×2`, `race of 2`.
pub(super) fn delays(plan: &GroupedPlan) -> String {
    let shown =
        |delays: &[f64]| if delays.iter().all(|delay| *delay == 0.0) { copies(delays) } else { list(delays) };
    let all = || plan.groups.iter().map(|group| group.delays.as_slice()).filter(|delays| !delays.is_empty());
    let Some(first) = all().next() else { return "–".to_owned() };
    if all().all(|delays| delays == first) {
        return shown(first);
    }
    let each = || all().flatten().copied();
    let (earliest, latest) = (each().fold(f64::INFINITY, f64::min), each().fold(0.0, f64::max));
    let most = all().map(|delays| delays.len() + 1);
    if latest == 0.0 {
        let fewest = most.clone().min().unwrap_or(1);
        return format!("races of {fewest} … {}", most.max().unwrap_or(1));
    }
    if earliest == latest {
        format!("{} ×{}", time(latest), most.max().unwrap_or(2) - 1)
    } else {
        format!("{} … {}", time(earliest), time(latest))
    }
}

fn list(delays: &[f64]) -> String {
    if delays.windows(2).all(|pair| pair[0] == pair[1]) && delays.len() > 1 {
        return format!("{} ×{}", time(delays[0]), delays.len());
    }
    delays.iter().map(|delay| time(*delay)).collect::<Vec<_>>().join(", ")
}
