//! `--explain`: what would help most, and what is easily misread, each computed for the plan at hand.

mod bounds;
mod shapes;
mod traps;

use fantail_core::plan::PPM;
use fantail_core::{Hedge, Plan, Time, WaitFor};
use fantail_model::{Cancellation, Change, Dependence, Figure, Group, GroupedPlan, Level};
use fantail_planfile::{HedgeRule, ShortForm};

use super::report::Figures;
use super::request::Origin;
use super::solved::Solved;
use crate::number;

/// What there is to say of a plan beyond its figures.
pub struct Explanation {
    /// The plan as it is.
    pub base: Readout,
    /// One change of the plan, or of the world, each; the most helpful first.
    pub levers: Vec<Lever>,
    /// How many more would help, but leave a p99 beyond `reach`.
    pub beyond_reach: usize,
    /// The latest p99, in seconds, that is still of use: a day, or a hundred medians of the job where that is more, but
    /// no more than a plan may wait.
    pub reach: f64,
    /// What is easily misread of it.
    pub traps: Vec<Trap>,
}

/// What a plan is judged by.
#[derive(Clone, Copy)]
pub struct Readout {
    /// Of the return time, in seconds.
    pub p99: Figure,
    /// The share of complete jobs.
    pub complete: Figure,
}

/// One change, and what it makes of the plan.
pub struct Lever {
    /// In the words of a short form where there are any.
    pub change: String,
    /// What it makes of the plan.
    pub readout: Readout,
    /// What it takes.
    pub price: String,
}

/// Something that is easily misread.
pub struct Trap {
    /// A word for programs.
    pub name: &'static str,
    /// What there is to know.
    pub text: String,
    /// What the text is about: seconds where the name ends in `_s`, else shares.
    pub figures: Vec<(&'static str, f64)>,
}

/// What is explained.
pub(super) struct Subject<'a> {
    pub(super) plan: GroupedPlan,
    /// What its attempts share.
    pub(super) shares: Dependence,
    pub(super) figures: &'a Figures,
    /// The plan as a file states it.
    pub(super) stated: Option<&'a Plan>,
    /// The group of each of its branches.
    pub(super) group_of: Vec<usize>,
    pub(super) wait_for: WaitFor,
    /// For each group, what its law and copies follow from.
    pub(super) origins: Vec<Origin>,
    /// The short form, where its branches follow one another.
    pub(super) shaped: Option<&'a ShortForm>,
}

impl Subject<'_> {
    /// Another plan, group by group, its copies as they are stated: due when they are under its laws and deadlines. `None` where
    /// such a plan is refused, or has no exact law.
    fn solve(&self, plan: &GroupedPlan) -> Option<Solved> {
        let mut plan = plan.clone();
        if self.plan.has_copies() {
            for (group, origin) in plan.groups.iter_mut().zip(&self.origins) {
                let Some(rule) = origin.hedge.as_ref().filter(|_| !group.delays.is_empty()) else { continue };
                *group = with_copies(group, rule)?;
            }
        }
        match self.shaped {
            Some(form) => shapes::solve(form, &plan),
            None => Solved::counted(&plan, self.shares).ok().filter(|law| self.affords(law)),
        }
    }

    /// Whether the hedge budget, where a file states one, pays for the copies of another plan.
    fn affords(&self, law: &Solved) -> bool {
        let share = |stated: &Plan| f64::from(stated.hedge_budget().share) / f64::from(PPM);
        self.stated.is_none_or(|stated| law.is_payable(share(stated)))
    }

    /// How many branches of a group may be called twice; all, where no file says otherwise.
    fn repeatable(&self, group: usize) -> u64 {
        let Some(plan) = self.stated else { return self.plan.groups[group].count };
        let branches = plan.branches().iter().zip(&self.group_of);
        branches.filter(|(branch, of)| **of == group && branch.repeatable).count() as u64
    }

    /// Whether jobs are ended by bounds of time rather than by answers, so that more complete jobs are what helps.
    fn is_cut(&self, base: Readout) -> bool {
        let bounded = |group: &Group| group.deadline.is_finite() || group.attempt_timeout.is_finite();
        base.p99.value >= self.plan.deadline
            || base.complete.value < 0.99 && self.plan.groups.iter().any(bounded)
    }
}

/// A group with the copies that are stated for it; `None` where such a plan is refused.
fn with_copies(group: &Group, rule: &HedgeRule) -> Option<Group> {
    let deadline = match group.deadline {
        f64::INFINITY => None,
        seconds => Some(Time::from_secs_f64(seconds).ok()?),
    };
    let Hedge { delays, min_useful, .. } = rule.resolve(&group.law, deadline)?;
    let delays = delays.into_iter().map(Time::as_secs_f64).collect();
    Some(Group { delays, min_useful: min_useful.as_secs_f64(), ..group.clone() })
}

/// A plan whose branches are in one group only where their copies are stated alike: those may be due at the same time now, and
/// not under another deadline. Also the group of each branch that is listed, and the origin of each group.
pub(super) fn apart(
    plan: &GroupedPlan,
    mut group_of: Vec<usize>,
    origins: Vec<Origin>,
) -> (GroupedPlan, Vec<usize>, Vec<Origin>) {
    if group_of.is_empty() {
        let all = origins.into_iter().next().unwrap_or_default();
        return (plan.clone(), group_of, vec![all; plan.groups.len()]);
    }
    let (mut groups, mut of_groups): (Vec<Group>, Vec<Origin>) = (Vec::new(), Vec::new());
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); plan.groups.len()];
    for (group, origin) in group_of.iter_mut().zip(origins) {
        let (whole, parts) = (&plan.groups[*group], &mut parts[*group]);
        let part = parts.iter().copied().find(|part| of_groups[*part].hedge == origin.hedge);
        *group = part.unwrap_or_else(|| {
            parts.push(groups.len());
            groups.push(Group { count: 0, ..whole.clone() });
            of_groups.push(origin);
            groups.len() - 1
        });
        groups[*group].count += 1;
    }
    (GroupedPlan { groups, ..*plan }, group_of, of_groups)
}

/// `None` where an integral fails.
pub(super) fn explanation(subject: &Subject<'_>) -> Option<Explanation> {
    let base = readout(&subject.figures.law)?;
    let median = subject.figures.law.quantile(Level::MEDIAN).ok()?.value;
    let reach = (100.0 * median).clamp(DAY, Time::LONGEST.as_secs_f64());
    let (levers, beyond): (Vec<Lever>, Vec<Lever>) =
        levers(subject, base).into_iter().partition(|lever| lever.readout.p99.value <= reach);
    Some(Explanation { base, levers, beyond_reach: beyond.len(), reach, traps: traps::traps(subject) })
}

/// In seconds.
const DAY: f64 = 86_400.0;

fn readout(law: &Solved) -> Option<Readout> {
    Some(Readout { p99: law.quantile(above(0.01)).ok()?, complete: law.shares().ok()?.complete })
}

fn above(share: f64) -> Level {
    Level::above(share).expect("a share between 0 and 1")
}

/// Every change that helps, the most helpful first: by p99, or by complete jobs where bounds of time end them.
fn levers(subject: &Subject<'_>, base: Readout) -> Vec<Lever> {
    let is_cut = subject.is_cut(base);
    let of_the_plan = match subject.shaped {
        Some(form) => shapes::levers(subject, form),
        None => of_the_plan(subject),
    };
    let mut levers = of_the_plan;
    levers.extend(bounds::levers(subject, is_cut.then_some(base)));
    levers.extend(of_the_world(subject));
    let helps = |lever: &Lever| {
        let Readout { p99, complete } = lever.readout;
        p99.value < base.p99.value * 0.999 || is_cut && complete.value > base.complete.value + 1e-6
    };
    levers.retain(helps);
    let order = |a: &Lever, b: &Lever| {
        let by_time = a.readout.p99.value.total_cmp(&b.readout.p99.value);
        let by_share = b.readout.complete.value.total_cmp(&a.readout.complete.value);
        if is_cut { by_share.then(by_time) } else { by_time.then(by_share) }
    };
    levers.sort_by(order);
    levers
}

/// What the plan could do: copies, a barrier that spares some, a deadline.
fn of_the_plan(subject: &Subject<'_>) -> Vec<Lever> {
    let plan = &subject.plan;
    let mut levers = Vec::new();
    if !plan.has_copies() {
        levers.extend(["hedge:p95", "race:2"].into_iter().filter_map(|copies| copied(copies, subject)));
    }
    let n = plan.n();
    if plan.k == n && n > 1 {
        // One, or one in twenty.
        let spared = (n / 20).max(1);
        let k = n - spared;
        let groups = plan.groups.iter().map(|group| Group { required: false, ..group.clone() }).collect();
        let partial = GroupedPlan { groups, k, at_least: plan.at_least.min(k), ..*plan };
        levers.extend(lever(format!("first:{k}"), subject, &partial, |_| {
            format!("{} of {}, whichever", number::count(spared, "answer", "answers"), number::grouped(n))
        }));
    }
    if plan.deadline.is_infinite()
        && let Some(deadline) = bounds::stated(subject.figures.law.all_but(0.05))
        && let Some(cut) = bounds::with_deadline(plan, deadline)
    {
        let name = format!("deadline:{}", number::duration(deadline).replace(' ', ""));
        levers.extend(lever(name, subject, &cut, bounds::losses));
    }
    levers
}

/// The plan with the copies of a short form in every group that can have them.
fn copied(name: &str, subject: &Subject<'_>) -> Option<Lever> {
    let plan = &subject.plan;
    let rule = ShortForm::parse(name).ok()?.hedge()?;
    let with = |(index, group): (usize, &Group)| {
        let copied =
            with_copies(group, &rule).map(|copied| Group { count: subject.repeatable(index), ..copied });
        let rest = group.count - copied.as_ref().map_or(0, |copied| copied.count);
        copied.into_iter().chain([Group { count: rest, ..group.clone() }]).filter(|group| group.count > 0)
    };
    let groups: Vec<Group> = plan.groups.iter().enumerate().flat_map(with).collect();
    if groups == plan.groups {
        return None;
    }
    let plan = GroupedPlan { groups, ..*plan };
    lever(name.to_owned(), subject, &plan, |law| {
        let Ok(prices) = law.prices(Cancellation::AtOnce, None) else { return "requests".to_owned() };
        let busy = prices.extra_busy.map(|busy| format!(", {} busy", number::change(busy.value)));
        format!("{} requests{}", number::change(prices.extra_requests.value), busy.unwrap_or_default())
    })
}

fn lever(
    change: String,
    subject: &Subject<'_>,
    plan: &GroupedPlan,
    price: impl Fn(&Solved) -> String,
) -> Option<Lever> {
    let law = subject.solve(plan)?;
    Some(Lever { change, readout: readout(&law)?, price: with_requests(price(&law), subject, &law) })
}

/// A price, with that of copies where a change makes them much more or fewer.
fn with_requests(price: String, subject: &Subject<'_>, law: &Solved) -> String {
    /// As a share of the larger number, and of the branches.
    const MUCH: f64 = 0.25;
    const LEAST: f64 = 1e-3;
    let before = subject.figures.prices.as_ref().ok().filter(|_| subject.plan.has_copies());
    let (Some(before), Some(now)) = (before, law.extra_requests()) else { return price };
    let before = before.extra_requests.value;
    if (now - before).abs() <= (MUCH * now.max(before)).max(LEAST) {
        return price;
    }
    format!("{price}; {} requests, not {}", number::change(now), number::change(before))
}

/// What could be other about the calls: less spread, less time, fewer of them.
fn of_the_world(subject: &Subject<'_>) -> Vec<Lever> {
    let lever = |change: Change| {
        let (plan, _) = change.apply(&subject.plan, subject.shares).ok()??;
        let (name, price) = match change {
            Change::PlusSigma(_) => ("sigma 0.1 less", "calls that vary less"),
            Change::TimesMedian(_) => ("calls 10 % faster", "faster calls"),
            Change::TimesBranches(_) => ("half of the branches", "less to ask for"),
            _ => return None,
        };
        self::lever(name.to_owned(), subject, &plan, |_| price.to_owned())
    };
    Change::LEVERS.into_iter().filter_map(lever).collect()
}
