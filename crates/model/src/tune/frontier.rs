//! What more or less money buys, and the best that can be had of each goal.

use alloc::vec;
use alloc::vec::Vec;

use super::copies::Copies;
use super::meter::Meter;
use super::search::{Search, rounded, with};
use super::several::{Aim, Path};
use super::{Attainable, Goal, Measure, Price, Tuning};
use crate::{GroupedPlan, JobLaw, Level, SolveError};

/// Times, and steps of λ for each, that plans are tried for.
const TIMES: usize = 8;
const STEPS: usize = 32;
/// What is infinite without copies is looked at up to so many times what races do.
const UNBOUNDED: f64 = 64.0;
/// Digits of a delay on the frontier.
const DIGITS: u32 = 3;
/// The prices that are looked at, as a share of what the plan without copies sends or costs: of the plans up to each the
/// best is shown.
const RUNGS: [f64; 14] =
    [0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, f64::INFINITY];
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
    let most = search.tuning.levers.most_copies;
    let mut plans = vec![plain.clone()];
    for t in times(search, &base, &plain, measure)? {
        for each in search.prices(&base) {
            for profile in Path::new(&base, &hedged, &Aim::at(t), most, &each).profiles(STEPS) {
                plans.push(search.solve(&rounded(&base, &profile, DIGITS))?);
            }
        }
    }
    plans.retain(|job| search.is_within_bounds(job));
    let mut rated = Vec::with_capacity(plans.len() + 1);
    let chosen = choice.cloned().map(|job| (job, true));
    for (job, chosen) in chosen.into_iter().chain(plans.into_iter().map(|job| (job, false))) {
        if !chosen && !search.affords(1) {
            break;
        }
        let figure = search.read(measure, &job)?.unwrap_or(f64::INFINITY);
        let loss = if measure.less_is_better() { figure } else { 1.0 - figure };
        rated.push(Rated { price: search.price(&job), loss, chosen, job });
    }
    Ok((measure, better_and_better(search, rated)))
}

/// The times at which lateness counts: the deadline for a share of jobs, else from what a race takes to what no copies do.
fn times(
    search: &Search<'_>,
    base: &GroupedPlan,
    plain: &JobLaw,
    measure: Measure,
) -> Result<Vec<f64>, SolveError> {
    if search.hedged().is_empty() {
        return Ok(Vec::new());
    }
    if !measure.is_time() {
        return Ok(Vec::from_iter(Some(base.deadline).filter(|deadline| deadline.is_finite())));
    }
    let (fast, slow) = (measure.of(&search.solve(&with(base, &raced(search)))?)?, measure.of(plain)?);
    let Some(fast) = fast.filter(|fast| *fast > 0.0 && fast.is_finite()) else { return Ok(Vec::new()) };
    let slow = slow.filter(|slow| slow.is_finite()).unwrap_or(UNBOUNDED * fast);
    if slow <= fast {
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

/// A plan that may be shown.
struct Rated {
    price: f64,
    /// What its measure lacks of the best.
    loss: f64,
    chosen: bool,
    job: JobLaw,
}

/// The plans by price, without those that a cheaper one is as good as; the chosen one among them.
fn better_and_better(search: &Search<'_>, mut rated: Vec<Rated>) -> Vec<JobLaw> {
    rated.sort_by(|a, b| a.price.total_cmp(&b.price).then(a.loss.total_cmp(&b.loss)));
    let plain = rated.first().map_or(0.0, |first| first.price);
    let whole = if search.tuning.price == Price::Cost && plain > 0.0 { plain } else { 1.0 };
    let mut rated = rated.into_iter().peekable();
    let (mut shown, mut least) = (Vec::new(), f64::INFINITY);
    for rung in RUNGS {
        let mut best: Option<Rated> = None;
        while let Some(next) = rated.next_if(|next| (next.price - plain) / whole <= rung) {
            let worth = if next.chosen { least } else { least * (1.0 - WORTH) };
            if next.loss < worth || least == f64::INFINITY {
                // The chosen one is shown beside a better one of its rung.
                shown.extend(best.take().filter(|best| best.chosen).map(|best| best.job));
                least = next.loss;
                best = Some(next);
            }
        }
        shown.extend(best.map(|best| best.job));
    }
    shown
}

/// For each goal the best of it, with the others kept and alone.
pub(super) fn attainable(tuning: &Tuning, meter: &Meter) -> Result<Vec<Attainable>, SolveError> {
    let best = |index: usize, others: &[Goal]| -> Result<Option<f64>, SolveError> {
        let own = Meter::default();
        let search = Search::new(tuning, others, &own);
        let found = search.cheapest()?;
        let measure = tuning.goals[index].measure;
        let best = match found.as_ref().map(|job| measure.of(job)).transpose()?.flatten() {
            None => None,
            // The cheapest plan has the least price there is.
            Some(figure) if matches!(measure, Measure::ExtraRequests | Measure::Cost) => Some(figure),
            Some(figure) => {
                let best = improved(&search, measure, figure)?;
                // Of a share, a deadline comes only as near as it is late.
                let plain = search.solve(&search.base(tuning.plan.k).without_copies())?;
                let better = |figure: &f64| (*figure < best) == measure.less_is_better();
                let figure = measure.of(&plain)?.filter(better);
                Some(if search.keeps(&plain)? { figure.unwrap_or(best) } else { best })
            }
        };
        meter.join(&own);
        Ok(best)
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

/// The best figure of a measure beside the goals of a search, from one that is attained on.
fn improved(search: &Search<'_>, measure: Measure, attained: f64) -> Result<f64, SolveError> {
    /// How near what is attained and what is not come to each other.
    const CLOSE: f64 = 1.003;
    /// A loss that is as good as none.
    const NOTHING: f64 = 1e-12;
    // Losses are 0 or more, and so is what a loss is the figure of.
    let loss = |figure: f64| match measure {
        Measure::ExtraBusy => 1.0 + figure,
        _ if measure.less_is_better() => figure,
        _ => 1.0 - figure,
    };
    let figure = |loss: f64| match measure {
        Measure::ExtraBusy => loss - 1.0,
        _ if measure.less_is_better() => loss,
        _ => 1.0 - loss,
    };
    // With a bound on the loss: the loss of the plan found, if one is.
    let within = |bound: f64| -> Result<Option<f64>, SolveError> {
        let goals: Vec<Goal> =
            search.goals.iter().copied().chain([measure.at_worst(figure(bound))]).collect();
        let found = Search::new(search.tuning, &goals, search.meter).cheapest()?;
        let Some(job) = found else { return Ok(None) };
        Ok(measure.of(&job)?.map(loss))
    };
    let mut high = loss(attained);
    if high == 0.0 {
        return Ok(attained);
    }
    let (mut low, is_had) =
        floor(search, measure)?.map_or((0.0, false), |(best, is_had)| (loss(best), is_had));
    if is_had {
        return Ok(figure(low));
    }
    let mut start = if high.is_finite() { 0.5 * high } else { finite_start(search.tuning)? };
    while low == 0.0 || high.is_infinite() {
        if !search.affords(1) {
            return Ok(figure(high));
        }
        let Some(found) = within(start)? else {
            low = start;
            break;
        };
        (high, start) = (found.min(start), 0.5 * found.min(start));
        if high < NOTHING {
            return Ok(figure(high));
        }
    }
    while high > CLOSE * low && high.is_finite() && search.affords(1) {
        let middle = libm::sqrt(low * high);
        match within(middle)? {
            Some(found) => high = found.min(middle),
            None => low = middle,
        }
    }
    Ok(figure(high))
}

/// What nothing is better than, and whether it can be had: every branch that may have copies has all of them at once.
/// `None` where that need not be the best.
fn floor(search: &Search<'_>, measure: Measure) -> Result<Option<(f64, bool)>, SolveError> {
    let levers = &search.tuning.levers;
    let is_best = measure.is_time() || matches!(measure, Measure::Complete | Measure::Failed);
    if levers.deadline || !is_best {
        return Ok(None);
    }
    let base = search.base(levers.least_k);
    let job = search.solve(&with(&base, &raced(search)))?;
    let best = search.read(measure, &job)?;
    best.map(|best| Ok((best, search.keeps(&job)?))).transpose()
}

/// All copies that each group may have, at once.
fn raced(search: &Search<'_>) -> Vec<Copies> {
    let hedged = search.hedged();
    let race = Copies::race(search.tuning.levers.most_copies);
    let copies = |group: usize| if hedged.contains(&group) { race } else { Copies::NONE };
    (0..search.tuning.plan.groups.len()).map(copies).collect()
}

/// A time that is long for every branch, where the plain plan's figure is infinite.
fn finite_start(tuning: &Tuning) -> Result<f64, SolveError> {
    let level = Level::above(1e-9)?;
    let longest = tuning.plan.groups.iter().map(|group| group.law.quantile(level)).fold(0.0, f64::max);
    Ok(if longest.is_finite() { longest } else { 1e9 })
}
