//! Plans of the search in a few words.

use fantail_core::Time;
use fantail_model::{Group, GroupedPlan, JobLaw};

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

/// When copies are sent, as in `copies after 1.5 s and 2 s`.
pub(super) fn copies(delays: &[f64]) -> String {
    match delays {
        [] => "no copies".to_owned(),
        _ if delays.iter().all(|delay| *delay == 0.0) => format!("race of {}", delays.len() + 1),
        [delay] => format!("copy after {}", time(*delay)),
        _ => format!("copies after {}", list(delays)),
    }
}

/// Delays for a column: `1.5 s`, `1.5 s ×2`, `race of 2`.
pub(super) fn delays(plan: &GroupedPlan) -> String {
    let mut shown: Vec<String> = Vec::new();
    for Group { delays, .. } in &plan.groups {
        let text = match delays.as_slice() {
            [] => continue,
            _ if delays.iter().all(|delay| *delay == 0.0) => format!("race of {}", delays.len() + 1),
            _ => list(delays),
        };
        if !shown.contains(&text) {
            shown.push(text);
        }
    }
    match shown.as_slice() {
        [] => "–".to_owned(),
        [one] => one.clone(),
        _ => {
            let all = || plan.groups.iter().flat_map(|group| &group.delays).copied();
            let (first, last) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
            format!("{} … {}", time(first), time(last))
        }
    }
}

fn list(delays: &[f64]) -> String {
    if delays.windows(2).all(|pair| pair[0] == pair[1]) && delays.len() > 1 {
        return format!("{} ×{}", time(delays[0]), delays.len());
    }
    delays.iter().map(|delay| time(*delay)).collect::<Vec<_>>().join(", ")
}
