//! What is easily misread, where it concerns the plan at hand.

use std::fmt::Write;

use fantail_core::plan::PPM;
use fantail_core::{Branch, WaitFor};
use fantail_model::{Cancellation, Dependence, Group, GroupedPlan, Law, Level};

use super::{Subject, Trap, above, readout, shapes};
use crate::number;

pub(super) fn traps(subject: &Subject<'_>) -> Vec<Trap> {
    if let Some(form) = subject.shaped {
        return shapes::traps(subject, form).into_iter().chain(tail(subject)).collect();
    }
    let one = [full_barrier(subject), permits(subject), copies_price(subject), tail(subject)];
    one.into_iter().flatten().chain(late_copies(subject)).collect()
}

/// A share that spares no branch, since there are too few.
fn full_barrier(subject: &Subject<'_>) -> Option<Trap> {
    let WaitFor::Share(share) = subject.wait_for else { return None };
    let n = subject.plan.n();
    if subject.plan.k < n || share >= PPM {
        return None;
    }
    let enough = PPM.div_ceil(PPM - share);
    let percent = f64::from(share) / f64::from(PPM / 100);
    Some(Trap {
        name: "share_is_all",
        text: format!(
            "{percent} % of {n} branches, rounded up, are all {n}: this barrier spares none. It does from {} branches on.",
            number::grouped(enough.into())
        ),
        figures: vec![("share", f64::from(share) / f64::from(PPM)), ("spares_from_n", f64::from(enough))],
    })
}

/// Bounds of time that do, or do not, count the wait for a permit.
fn permits(subject: &Subject<'_>) -> Option<Trap> {
    let plan = subject.stated?;
    let bounded = |branch: &&Branch| {
        branch.limiter.is_some_and(|index| {
            let limiter = &plan.limiters()[index];
            limiter.gate.is_some() || limiter.rate.is_some()
        })
    };
    let branches: Vec<&Branch> = plan.branches().iter().filter(bounded).collect();
    let limiter = &plan.limiters()[branches.first()?.limiter?].name;
    let timeout = branches.iter().filter_map(|branch| branch.attempt_timeout).max();
    if let Some(deadline) = branches.iter().filter_map(|branch| branch.deadline).max() {
        return Some(Trap {
            name: "deadline_counts_waiting",
            text: format!(
                "The deadline of {deadline} counts from the job's start, a wait for limiter `{limiter}` included. A time-out \
                 that starts with the call, behind the limiter, bounds no job: the wait comes on top. These figures take it \
                 that nothing waits."
            ),
            figures: vec![("deadline_s", deadline.as_secs_f64())],
        });
    }
    let timeout = timeout?;
    Some(Trap {
        name: "timeout_omits_waiting",
        text: format!(
            "The attempt timeout of {timeout} counts from the permit: a wait for limiter `{limiter}` comes on top, and no \
             deadline ends the job."
        ),
        figures: vec![("attempt_timeout_s", timeout.as_secs_f64())],
    })
}

/// More requests are not as much more work.
fn copies_price(subject: &Subject<'_>) -> Option<Trap> {
    let prices = subject.figures.prices.as_ref().ok()?;
    let requests = prices.extra_requests.value;
    let busy = prices.extra_busy.as_ref().ok().filter(|_| requests > 0.0)?.value;
    let mut text = format!(
        "{} requests are {} busy time, since the loser of two attempts stops at once.",
        number::change(requests),
        number::change(busy)
    );
    let mut figures = vec![("extra_requests", requests), ("extra_busy", busy)];
    if let Some(more) = subject
        .figures
        .law
        .prices(Cancellation::Never, None)
        .ok()
        .and_then(|prices| Some(prices.extra_busy.ok()?.value))
    {
        write!(text, " Where losers run on, it is {}.", number::change(more))
            .expect("a string takes every write");
        figures.push(("extra_busy_if_losers_run_on", more));
    }
    text.push_str(" A server that is slower under more load is in none of these figures.");
    Some(Trap { name: "requests_are_not_work", text, figures })
}

/// Copies that have little time left before the deadline, or none; once for groups of which the same is to say.
fn late_copies(subject: &Subject<'_>) -> Vec<Trap> {
    let mut traps: Vec<(Trap, Vec<usize>)> = Vec::new();
    for (index, group) in subject.plan.groups.iter().enumerate() {
        let Some(trap) = late_copy(subject, group) else { continue };
        match traps.iter_mut().find(|(other, _)| other.text == trap.text) {
            Some((_, groups)) => groups.push(index),
            None => traps.push((trap, vec![index])),
        }
    }
    let several = subject.plan.groups.len() > 1;
    let named = |(trap, groups): (Trap, Vec<usize>)| match names(subject, &groups) {
        Some(names) if several => Trap { text: format!("{names}: {}", trap.text), ..trap },
        _ => trap,
    };
    traps.into_iter().map(named).collect()
}

/// The branches of these groups, where a plan names them: the first three, and how many more.
pub(super) fn names(subject: &Subject<'_>, groups: &[usize]) -> Option<String> {
    /// A plan may have a million branches.
    const MOST: usize = 3;
    let branches = subject.stated?.branches().iter().zip(&subject.group_of);
    let of_groups: Vec<&Branch> =
        branches.filter(|(_, group)| groups.contains(group)).map(|(branch, _)| branch).collect();
    let mut names: Vec<String> =
        of_groups.iter().take(MOST).map(|branch| format!("`{}`", branch.name)).collect();
    if of_groups.len() > MOST {
        names.push(format!("{} more", of_groups.len() - MOST));
    }
    Some(names.join(", "))
}

/// Whether the copies of a group have little time left, or the last of them none.
fn late_copy(subject: &Subject<'_>, group: &Group) -> Option<Trap> {
    /// How much worse than whole attempts is worth a word.
    const MUCH: f64 = 1.5;
    let deadline = group.deadline.min(subject.plan.deadline);
    let delay = *group.delays.last()?;
    if deadline.is_infinite() {
        return None;
    }
    let left = deadline - delay;
    let figures = vec![("copy_after_s", delay), ("left_s", left)];
    if !group.may_send(delay, deadline) {
        let text = format!(
            "A copy that is due after {} is never sent: the deadline is {}, and a copy needs {}.",
            number::duration(delay),
            number::duration(deadline),
            number::duration(group.min_useful)
        );
        return Some(Trap { name: "copy_is_never_sent", text, figures });
    }
    let starts = std::iter::once(0.0).chain(group.delays.iter().copied());
    let misses: Vec<f64> = starts.map(|start| group.law.survival(deadline - start)).collect();
    let (real, hoped) = (misses.iter().product::<f64>(), libm::pow(misses[0], misses.len() as f64));
    // Copies that share anything with their primary are no product.
    if real <= MUCH * hoped || hoped == 0.0 || subject.shares != Dependence::NONE {
        return None;
    }
    let (all, attempts) = match misses.len() {
        2 => ("both".to_owned(), "two".to_owned()),
        attempts => (format!("all {attempts}"), attempts.to_string()),
    };
    let copy = if group.delays.len() == 1 { "A" } else { "The last" };
    let text = format!(
        "{copy} copy after {} has {} left before the deadline: {all} attempts miss it with {} ({}), not with the {} of \
         {attempts} whole attempts.",
        number::duration(delay),
        number::duration(left),
        number::percent(real),
        misses.iter().map(|miss| number::percent(*miss)).collect::<Vec<_>>().join(" · "),
        number::percent(hoped)
    );
    // The names are those of one copy, the usual number of them.
    let more = [("both_miss", real), ("two_whole_attempts_miss", hoped)];
    Some(Trap { name: "copy_has_little_time", text, figures: figures.into_iter().chain(more).collect() })
}

/// What another family through the same percentiles would say of the far tail.
fn tail(subject: &Subject<'_>) -> Option<Trap> {
    let far = above(0.001);
    let (fitted, complete) =
        (subject.figures.law.quantile(far).ok()?.value, readout(&subject.figures.law)?.complete.value);
    let last = subject
        .origins
        .iter()
        .filter_map(|origin| origin.percentiles.as_deref())
        .flat_map(|points| points.iter())
        .map(|(p, _)| *p)
        .fold(0.0, f64::max);
    let judged = FAMILIES.iter().filter_map(|(word, family)| {
        let job = subject.solve(&rival(subject, word)?)?;
        Some((*family, job.quantile(far).ok()?.value, readout(&job)?.complete.value))
    });
    let off = |time: f64| libm::log(time / fitted).abs();
    let (family, p999, other_complete) = judged.max_by(|a, b| off(a.1).total_cmp(&off(b.1)))?;
    let beyond =
        format!("Beyond p{} the percentiles say nothing and the fitted law decides.", percent_of(last));
    let missing = (1.0 - complete, 1.0 - other_complete);
    if off(p999) > 0.01 {
        let independent = subject.shares == Dependence::NONE;
        let alike = independent
            && subject.shaped.is_none()
            && subject.plan.groups.len() == 1
            && subject.plan.k == subject.plan.n();
        let asks = alike.then(|| {
            let level = Level::at_hazard(-libm::log(0.001 / subject.plan.n() as f64)).ok()?;
            Some(format!(", which asks each branch for its p{},", percent_of(level.p())))
        });
        return Some(Trap {
            name: "tail_beyond_the_data",
            text: format!(
                "{beyond} The job's p99.9{} is {} with it, and {} with a {family} law through the same percentiles.",
                asks.flatten().unwrap_or_default(),
                number::duration(fitted),
                number::duration(p999)
            ),
            figures: vec![("p999_s", fitted), ("other_p999_s", p999)],
        });
    }
    (libm::log(missing.1 / missing.0).abs() > 0.05).then(|| Trap {
        name: "tail_beyond_the_data",
        text: format!(
            "{beyond} Jobs are complete with {} by it, and with {} by a {family} law through the same percentiles.",
            number::percent(complete),
            number::percent(other_complete)
        ),
        figures: vec![("complete", complete), ("other_complete", other_complete)],
    })
}

/// The families that may go through the percentiles too: their words in a law's text, and in a sentence.
const FAMILIES: [(&str, &str); 2] = [("loglogistic", "log-logistic"), ("weibull", "Weibull")];

/// The plan with another family wherever a law was fitted.
fn rival(subject: &Subject<'_>, family: &str) -> Option<GroupedPlan> {
    let mut plan = subject.plan.clone();
    let mut changed = false;
    for (group, origin) in plan.groups.iter_mut().zip(&subject.origins) {
        let Some(percentiles) = &origin.percentiles else { continue };
        let rivals = Law::rivals_through(percentiles).ok()?;
        group.law = rivals.into_iter().map(|fit| fit.law).find(|law| law.to_string().starts_with(family))?;
        changed = true;
    }
    changed.then_some(plan)
}

/// A probability as the number of a percentile.
fn percent_of(p: f64) -> f64 {
    (p * 1e7).round() / 1e5
}
