//! Bounds of time that could lie elsewhere: deadlines of the job and of branches, attempt timeouts.

use fantail_core::Time;
use fantail_model::{Group, GroupedPlan};

use super::traps::names;
use super::{Lever, Readout, Subject, above, lever};
use crate::number;
use crate::predict::solved::Solved;

/// How much later a bound is tried where jobs are cut, and how much of it where they are late.
const LATER: f64 = 1.25;
const SOONER: f64 = 0.8;
/// Where a bound cuts more than this share, it is tried where it would cut so many.
const CUT: f64 = 0.05;

/// Each kind of bound that the plan has, moved: later where jobs are cut, so that they lack answers for want of time,
/// else sooner.
pub(super) fn levers(subject: &Subject<'_>, cut: Option<Readout>) -> Vec<Lever> {
    let plan = &subject.plan;
    let price = |law: &Solved| if cut.is_some() { "a longer wait".to_owned() } else { losses(law) };
    let mut levers = Vec::new();
    if plan.deadline.is_finite() {
        let deadline = match cut {
            Some(base) if base.complete.value < 1.0 - CUT => returned(subject).max(plan.deadline * LATER),
            Some(_) => plan.deadline * LATER,
            None => plan.deadline * SOONER,
        };
        if let Some(deadline) = stated(deadline)
            && let Some(moved) = with_deadline(plan, deadline)
        {
            levers.extend(lever(format!("deadline {}", number::duration(deadline)), subject, &moved, price));
        }
    }
    if subject.shaped.is_some() {
        return levers;
    }
    // The same for the bound of one call.
    let moved_to = |group: &Group, own: f64| {
        stated(match cut {
            Some(_) if group.law.survival(own) > CUT => {
                group.law.quantile(above(CUT)).min(Time::LONGEST.as_secs_f64()).max(own * LATER)
            }
            Some(_) => own * LATER,
            None => own * SOONER,
        })
    };
    let own = |group: &Group| Some(group.deadline).filter(|own| own.is_finite() && *own < plan.deadline);
    levers.extend(moved(
        subject,
        "deadline",
        own,
        |group, own| {
            let deadline = moved_to(group, own)?.min(plan.deadline);
            Some((deadline, Group { deadline, ..group.clone() }))
        },
        price,
    ));
    let timeout = |group: &Group| Some(group.attempt_timeout).filter(|timeout| timeout.is_finite());
    levers.extend(moved(
        subject,
        "attempt timeout",
        timeout,
        |group, own| {
            let attempt_timeout = moved_to(group, own)?;
            Some((attempt_timeout, Group { attempt_timeout, ..group.clone() }))
        },
        price,
    ));
    levers
}

/// A time as a row shows it, so that the row is of the plan that it names; `None` where no plan may state it.
pub(super) fn stated(seconds: f64) -> Option<f64> {
    number::duration(seconds).parse().ok().map(Time::as_secs_f64)
}

/// The plan with another deadline of the job; branches that follow it go on to do so. `None` where those of others would come
/// after it, which is refused.
pub(super) fn with_deadline(plan: &GroupedPlan, deadline: f64) -> Option<GroupedPlan> {
    let follows = |group: &Group| group.deadline >= plan.deadline;
    let group = |group: &Group| {
        let own = if follows(group) { deadline } else { group.deadline };
        (own <= deadline).then(|| Group { deadline: own, ..group.clone() })
    };
    let groups = plan.groups.iter().map(group).collect::<Option<_>>()?;
    Some(GroupedPlan { groups, deadline, ..*plan })
}

/// When nearly all jobs have returned if the latest of deadlines ends them.
fn returned(subject: &Subject<'_>) -> f64 {
    let uncut = with_deadline(&subject.plan, Time::LONGEST.as_secs_f64());
    uncut.and_then(|uncut| subject.solve(&uncut)).map_or(0.0, |law| law.all_but(CUT))
}

/// The plan with one kind of bound moved in every group that has it.
fn moved(
    subject: &Subject<'_>,
    what: &str,
    bound: impl Fn(&Group) -> Option<f64>,
    change: impl Fn(&Group, f64) -> Option<(f64, Group)>,
    price: impl Fn(&Solved) -> String,
) -> Option<Lever> {
    let mut plan = subject.plan.clone();
    let (mut bounds, mut groups) = (Vec::new(), Vec::new());
    for (index, group) in plan.groups.iter_mut().enumerate() {
        let Some(own) = bound(group) else { continue };
        let (to, other) = change(group, own)?;
        *group = other;
        bounds.push(to);
        groups.push(index);
    }
    let (first, last) = (bounds.iter().copied().reduce(f64::min)?, bounds.iter().copied().reduce(f64::max)?);
    let to = if first == last {
        number::duration(first)
    } else {
        number::span(&number::duration(first), &number::duration(last))
    };
    let of = names(subject, &groups).map(|names| format!(" of {names}")).unwrap_or_default();
    lever(format!("{what}{of} {to}"), subject, &plan, price)
}

/// Jobs that are not complete, by how they end.
pub(super) fn losses(law: &Solved) -> String {
    let Ok(shares) = law.shares() else { return String::new() };
    let shares = [(shares.partial.value, "partial"), (shares.failed.value, "failed")];
    let words = shares.into_iter().filter(|(share, _)| *share > 0.0);
    let words: Vec<String> =
        words.map(|(share, word)| format!("{} {word}", number::percent(share))).collect();
    words.join(", ")
}
