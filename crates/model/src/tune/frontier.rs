//! What more or less money buys, and the best that can be had of each goal.

use alloc::vec::Vec;
use core::cell::Cell;

use super::copies::Copies;
use super::search::{Search, rounded, with};
use super::several::Path;
use super::{Attainable, Goal, Measure, Price, Tuning};
use crate::{GroupedPlan, JobLaw, Level, SolveError};

/// Times, and steps of λ for each, that plans are tried for.
const TIMES: usize = 8;
const STEPS: usize = 32;
/// Digits of a delay on the frontier.
const DIGITS: u32 = 3;
/// The prices that are looked at, as a share of what the plan without copies sends or costs: of the plans up to each the
/// best is shown.
const RUNGS: [f64; 12] = [0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, f64::INFINITY];
/// A plan on the frontier is better than the cheaper ones by at least this much, relatively.
const WORTH: f64 = 0.005;

/// Plans from no copies on, each better than all cheaper ones.
pub(super) fn frontier(
    search: &Search<'_>,
    choice: Option<&JobLaw>,
) -> Result<(Measure, Vec<JobLaw>), SolveError> {
    let base = choice.map_or_else(|| search.base(search.tuning.plan.k), |job| job.plan().clone());
    let plain = search.solve(&base.without_copies())?;
    let measure = match binding(search.goals, &plain)? {
        Some(goal) => goal.measure,
        None => Measure::Quantile(Level::above(0.01)?),
    };
    let hedged = search.hedged();
    let mut plans = Vec::new();
    for t in times(search, &base, &plain, measure)? {
        for profile in Path::new(search, &base, &hedged, t, true).profiles(STEPS) {
            plans.push(search.solve(&rounded(&base, &profile, DIGITS))?);
        }
    }
    plans.push(plain);
    Ok((measure, better_and_better(search, measure, plans)?))
}

/// The times at which lateness counts: the deadline for a share of jobs, else from what a race takes to what no copies do.
fn times(
    search: &Search<'_>,
    base: &GroupedPlan,
    plain: &JobLaw,
    measure: Measure,
) -> Result<Vec<f64>, SolveError> {
    let hedged = search.hedged();
    if hedged.is_empty() {
        return Ok(Vec::new());
    }
    if !measure.is_time() {
        return Ok(Vec::from_iter(Some(base.deadline).filter(|deadline| deadline.is_finite())));
    }
    let count = search.tuning.levers.most_copies;
    let race =
        |group: usize| Copies { count: if hedged.contains(&group) { count } else { 0 }, ..Copies::NONE };
    let race: Vec<Copies> = (0..base.groups.len()).map(race).collect();
    let (fast, slow) = (measure.of(&search.solve(&with(base, &race))?)?, measure.of(plain)?);
    let (Some(fast), Some(slow)) = (fast, slow.filter(|slow| slow.is_finite())) else {
        return Ok(Vec::new());
    };
    if fast <= 0.0 || slow <= fast {
        return Ok(Vec::new());
    }
    let step = libm::log(slow / fast) / TIMES as f64;
    Ok((0..TIMES).map(|i| fast * libm::exp(step * (i as f64 + 0.5))).collect())
}

/// The goal that is furthest from being kept without copies.
fn binding<'g>(goals: &'g [Goal], plain: &JobLaw) -> Result<Option<&'g Goal>, SolveError> {
    let mut worst: Option<(f64, &Goal)> = None;
    for goal in goals.iter().filter(|goal| !goal.measure.is_price()) {
        let excess = goal.excess(plain)?;
        if worst.is_none_or(|(most, _)| excess > most) {
            worst = Some((excess, goal));
        }
    }
    Ok(worst.map(|(_, goal)| goal))
}

/// The plans by price, without those that a cheaper one is as good as.
fn better_and_better(
    search: &Search<'_>,
    measure: Measure,
    plans: Vec<JobLaw>,
) -> Result<Vec<JobLaw>, SolveError> {
    let mut rated = Vec::with_capacity(plans.len());
    for job in plans.into_iter().filter(|job| search.is_paid_for(job)) {
        let figure = measure.of(&job)?.unwrap_or(f64::INFINITY);
        let loss = if measure.less_is_better() { figure } else { 1.0 - figure };
        rated.push((search.price(&job), loss, job));
    }
    rated.sort_by(|(a, x, _), (b, y, _)| a.total_cmp(b).then(x.total_cmp(y)));
    let plain = rated.first().map_or(0.0, |(price, ..)| *price);
    let whole = if search.tuning.price == Price::Cost && plain > 0.0 { plain } else { 1.0 };
    let mut rated = rated.into_iter().peekable();
    let (mut shown, mut least) = (Vec::new(), f64::INFINITY);
    for rung in RUNGS {
        let mut best = None;
        while let Some((_, loss, job)) = rated.next_if(|(price, ..)| (price - plain) / whole <= rung) {
            if loss < least * (1.0 - WORTH) || least == f64::INFINITY {
                (least, best) = (loss, Some(job));
            }
        }
        shown.extend(best);
    }
    Ok(shown)
}

/// For each goal the best of it, with the others kept and alone.
pub(super) fn attainable(tuning: &Tuning, evaluations: &Cell<u64>) -> Result<Vec<Attainable>, SolveError> {
    let best = |index: usize, others: &[Goal]| -> Result<Option<f64>, SolveError> {
        let search = Search::new(tuning, others);
        let found = search.cheapest()?;
        evaluations.set(evaluations.get() + search.evaluations().get());
        let Some(found) = found else { return Ok(None) };
        let measure = tuning.goals[index].measure;
        let Some(figure) = measure.of(&found)? else { return Ok(None) };
        // The cheapest plan has the least price there is.
        if measure.is_price() {
            return Ok(Some(figure));
        }
        let best = improved(tuning, others, measure, figure, evaluations)?;
        // Of a share, a deadline comes only as near as it is late.
        let plain = search.solve(&search.base(tuning.plan.k).without_copies())?;
        let figure = measure.of(&plain)?.filter(|figure| (*figure < best) == measure.less_is_better());
        Ok(Some(if search.keeps(&plain)? { figure.unwrap_or(best) } else { best }))
    };
    let each = (0..tuning.goals.len()).map(|index| {
        let others = |keep: &dyn Fn(&Goal) -> bool| -> Vec<Goal> {
            let rest = tuning.goals.iter().enumerate().filter(|(i, goal)| *i != index && keep(goal));
            rest.map(|(_, goal)| *goal).collect()
        };
        let mut rest = others(&|_| true);
        // A deadline stays free while a share is asked for, whatever it is.
        let measure = tuning.goals[index].measure;
        if matches!(measure, Measure::Complete | Measure::Failed) {
            rest.push(measure.at_worst(if measure.less_is_better() { 1.0 } else { 0.0 }));
        }
        let with_others = best(index, &rest)?;
        let alone = best(index, &others(&|goal| goal.measure.is_price()))?;
        Ok(Attainable { with_others, alone })
    });
    each.collect()
}

/// The best figure of a measure beside the other goals, from one that is attained on.
fn improved(
    tuning: &Tuning,
    others: &[Goal],
    measure: Measure,
    attained: f64,
    evaluations: &Cell<u64>,
) -> Result<f64, SolveError> {
    /// Halvings of the logarithm between what is attained and what is not.
    const HALVINGS: usize = 8;
    /// Steps down to what is not.
    const STEPS: usize = 32;
    let loss = |figure: f64| if measure.less_is_better() { figure } else { 1.0 - figure };
    // With a bound on the loss: the loss of the plan found, if one is.
    let within = |bound: f64| -> Result<Option<f64>, SolveError> {
        let goals: Vec<Goal> = others.iter().copied().chain([measure.at_worst(loss(bound))]).collect();
        let search = Search::new(tuning, &goals);
        let found = search.cheapest()?;
        evaluations.set(evaluations.get() + search.evaluations().get());
        let Some(job) = found else { return Ok(None) };
        Ok(measure.of(&job)?.map(loss))
    };
    let (search, before) = (Search::new(tuning, &tuning.goals), evaluations.get());
    let affords = || search.affords(usize::try_from(evaluations.get() - before).unwrap_or(usize::MAX));
    let mut high = loss(attained);
    let mut low = 0.0;
    if high == 0.0 {
        return Ok(attained);
    }
    let mut start = if high.is_finite() { 0.5 * high } else { finite_start(tuning)? };
    for _ in 0..STEPS {
        if !affords() {
            break;
        }
        let Some(found) = within(start)? else {
            low = start;
            break;
        };
        (high, start) = (found.min(start), 0.5 * found.min(start));
        if high == 0.0 {
            return Ok(loss(0.0));
        }
    }
    if low > 0.0 && high.is_finite() {
        for _ in 0..HALVINGS {
            if !affords() {
                break;
            }
            let middle = libm::sqrt(low * high);
            match within(middle)? {
                Some(found) => high = found.min(middle),
                None => low = middle,
            }
        }
    }
    Ok(loss(high))
}

/// A time that is long for every branch, where the plain plan's figure is infinite.
fn finite_start(tuning: &Tuning) -> Result<f64, SolveError> {
    let level = Level::above(1e-9)?;
    let longest = tuning.plan.groups.iter().map(|group| group.law.quantile(level)).fold(0.0, f64::max);
    Ok(if longest.is_finite() { longest } else { 1e9 })
}
