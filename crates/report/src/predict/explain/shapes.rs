//! Plans whose branches follow one another: what would help, and what is easily misread.

use fantail_core::Time;
use fantail_model::{GroupedPlan, Method};
use fantail_planfile::{Shape, ShortForm, StatedLaw};

use super::{Lever, Subject, Trap, above, readout, with_requests};
use crate::number;
use crate::predict::solved::Solved;

/// The share of the work on narrow bounds that is worth a change.
const LEVER: f64 = 0.25;

/// The branches of a plan in the shape of a short form, or the nearest that suits their number.
pub(super) fn solve(form: &ShortForm, plan: &GroupedPlan) -> Option<Solved> {
    let branches: Vec<(u32, StatedLaw)> = plan
        .groups
        .iter()
        .map(|group| Some((u32::try_from(group.count).ok()?, StatedLaw::from(group.law.clone()))))
        .collect::<Option<_>>()?;
    let form = match form.shape()? {
        Shape::Tree { nodes, .. } if plan.n().is_multiple_of(nodes.into()) => {
            let leaves = u32::try_from(plan.n() / u64::from(nodes)).ok()?;
            form.with_shape(Shape::Tree { nodes, leaves })
        }
        _ => form.clone(),
    };
    let form = if plan.deadline.is_finite() {
        form.with_deadline(Time::from_secs_f64(plan.deadline).ok()?)
    } else {
        form
    };
    let staged = form.staged(&branches, None).ok()?;
    Some(Solved::staged(staged.solve_within(LEVER), plan))
}

/// More calls at a time, and copies where there are none.
pub(super) fn levers(subject: &Subject<'_>, form: &ShortForm) -> Vec<Lever> {
    let plan = &subject.plan;
    let mut others: Vec<(String, String, Option<Solved>)> = Vec::new();
    let at_a_time = |count: u64| format!("{} at a time", number::count(count, "call", "calls"));
    let n = plan.n();
    let size = match form.shape() {
        Some(Shape::Sequential) if plan.k == n => n,
        Some(Shape::Batch(size)) => n.min(size.into()),
        _ => 0,
    };
    if size > 2 {
        let half = size.div_ceil(2);
        let other = u32::try_from(half).ok().map(|half| form.with_shape(Shape::Batch(half)));
        let law = other.and_then(|form| solve(&form, plan));
        others.push((format!("batch:{half}"), at_a_time(n.div_ceil(half)), law));
    }
    if !matches!(form.shape(), Some(Shape::Tree { .. })) && n > 1 {
        others.push(("all at once".to_owned(), at_a_time(n), plan.solve().ok().map(Solved::Job)));
    }
    if !plan.has_copies() {
        for (copies, price) in [("hedge:p95", "one call in twenty twice"), ("race:2", "every call twice")] {
            let with = ShortForm::parse(&format!("{}+{copies}", form.as_str())).ok();
            let with = form.at_least().map_or(with.clone(), |least| Some(with?.with_at_least(least)));
            let law = with.and_then(|form| solve(&form, plan));
            others.push((copies.to_owned(), price.to_owned(), law));
        }
    }
    let lever = |(change, price, law): (_, _, Option<Solved>)| {
        let law = law?;
        Some(Lever { change, readout: readout(&law)?, price: with_requests(price, subject, &law) })
    };
    others.into_iter().filter_map(lever).collect()
}

pub(super) fn traps(subject: &Subject<'_>, form: &ShortForm) -> Vec<Trap> {
    let shape = match form.shape() {
        Some(Shape::Sequential) => sum(subject, subject.plan.k),
        Some(Shape::Batch(size)) => batch(subject, size.into()),
        Some(Shape::Tree { .. }) => tree(subject),
        None => None,
    };
    shape.into_iter().chain(bounds(subject)).collect()
}

/// Percentiles of calls that follow one another do not add up.
fn sum(subject: &Subject<'_>, calls: u64) -> Option<Trap> {
    let [group] = subject.plan.groups.as_slice() else { return None };
    let call = group.law.quantile(above(0.01));
    let p99 = readout(&subject.figures.law)?.p99.value;
    let added = calls as f64 * call;
    (calls > 1 && added.is_finite() && subject.plan.deadline.is_infinite() && !subject.plan.has_copies()).then(|| Trap {
        name: "percentiles_do_not_add",
        text: format!(
            "The p99 of {} one after another is not the sum of theirs, {}: hardly ever are all of them slow. It is {}.",
            number::count(calls, "call", "calls"),
            number::duration(added),
            number::duration(p99)
        ),
        figures: vec![("p99_of_calls_added_s", added), ("p99_s", p99)],
    })
}

/// What a batch is, and the one that is left over.
fn batch(subject: &Subject<'_>, size: u64) -> Option<Trap> {
    let n = subject.plan.n();
    let tasks = n.div_ceil(size);
    let last = n - (tasks - 1) * size;
    let left_over = if last < size { format!(", the last of them of {last}") } else { String::new() };
    let text = format!(
        "{}{left_over}, run side by side, and each makes its calls one after another: so many calls are open at a time, not \
         {size}. Smaller batches are faster and ask for more at once.",
        number::count(tasks, "task", "tasks")
    );
    (n > 1).then(|| Trap {
        name: "batches_run_side_by_side",
        text,
        figures: vec![("tasks", tasks as f64), ("last_task", last as f64)],
    })
}

/// A tree whose nodes cost nothing is one barrier.
fn tree(subject: &Subject<'_>) -> Option<Trap> {
    let flat = readout(&Solved::Job(subject.plan.solve().ok()?))?.p99.value;
    let p99 = readout(&subject.figures.law)?.p99.value;
    Some(Trap {
        name: "tree_is_one_barrier",
        text: format!(
            "A tree waits for its slowest leaf, as one barrier over all {} does, whose p99 is {}. What a node itself takes, and \
             what it may spare, is not in these figures.",
            number::grouped(subject.plan.n()),
            number::duration(flat)
        ),
        figures: vec![("p99_without_tree_s", flat), ("p99_s", p99)],
    })
}

/// Figures that are known by bounds.
fn bounds(subject: &Subject<'_>) -> Option<Trap> {
    let p99 = subject.figures.law.quantile(above(0.01)).ok()?;
    let Method::Bounded { lower, upper } = p99.method else { return None };
    Some(Trap {
        name: "bounds",
        text: format!(
            "Sums have no formula: p99 is proved to lie from {} to {}. --format json has the bounds of every figure.",
            number::precise(lower),
            number::precise(upper)
        ),
        figures: vec![("p99_lower_s", lower), ("p99_upper_s", upper)],
    })
}
