//! `--explain`: what would help most, and what is easily misread, each computed for the plan at hand.

mod bounds;
mod shapes;
mod traps;

use fantail_core::{Plan, Time, WaitFor};
use fantail_model::{Cancellation, Change, Dependence, Figure, Group, GroupedPlan, Level};
use fantail_planfile::ShortForm;

use super::report::Figures;
use super::request::Fitted;
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
    pub(super) plan: &'a GroupedPlan,
    /// What its attempts share.
    pub(super) shares: Dependence,
    pub(super) figures: &'a Figures,
    /// The plan as a file states it.
    pub(super) stated: Option<&'a Plan>,
    /// The group of each of its branches.
    pub(super) group_of: &'a [usize],
    pub(super) wait_for: WaitFor,
    /// For each group, the percentiles that its law was fitted to.
    pub(super) percentiles: &'a [Fitted],
    /// The short form, where its branches follow one another.
    pub(super) shaped: Option<&'a ShortForm>,
}

impl Subject<'_> {
    /// Another plan in the same world.
    fn solve(&self, plan: &GroupedPlan) -> Option<Solved> {
        match self.shaped {
            Some(form) => shapes::solve(form, plan),
            None => Solved::counted(plan, self.shares).ok(),
        }
    }

    /// How many branches of a group may be called twice; all, where no file says otherwise.
    fn repeatable(&self, group: usize) -> u64 {
        let Some(plan) = self.stated else { return self.plan.groups[group].count };
        let branches = plan.branches().iter().zip(self.group_of);
        branches.filter(|(branch, of)| **of == group && branch.repeatable).count() as u64
    }

    /// Whether jobs are ended by bounds of time rather than by answers, so that more complete jobs are what helps.
    fn is_cut(&self, base: Readout) -> bool {
        let bounded = |group: &Group| group.deadline.is_finite() || group.attempt_timeout.is_finite();
        base.p99.value >= self.plan.deadline
            || base.complete.value < 0.99 && self.plan.groups.iter().any(bounded)
    }
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
    let plan = subject.plan;
    let mut levers = Vec::new();
    if plan.groups.iter().all(|group| group.delays.is_empty()) {
        levers.extend(with_copies("hedge:p95", subject, |group| {
            let p95 = group.law.quantile(above(0.05));
            let left = group.law.quantile(Level::MEDIAN);
            let fits = p95.is_finite() && p95 + left <= group.deadline.min(plan.deadline);
            fits.then(|| Group { delays: vec![p95], min_useful: left, ..group.clone() })
        }));
        levers.extend(with_copies("race:2", subject, |group| {
            Some(Group { delays: vec![0.0], ..group.clone() })
        }));
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
    let deadline = subject.figures.law.all_but(0.05);
    if plan.deadline.is_infinite() && deadline.is_finite() {
        let cut = GroupedPlan { deadline, ..plan.clone() };
        let name = format!("deadline:{}", number::duration(deadline).replace(' ', ""));
        levers.extend(lever(name, subject, &cut, bounds::losses));
    }
    levers
}

/// The plan with copies in every group that can have them.
fn with_copies(name: &str, subject: &Subject<'_>, copies: impl Fn(&Group) -> Option<Group>) -> Option<Lever> {
    let plan = subject.plan;
    let with = |(index, group): (usize, &Group)| {
        let copied = copies(group).map(|copied| Group { count: subject.repeatable(index), ..copied });
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
    Some(Lever { change, readout: readout(&law)?, price: price(&law) })
}

/// What could be other about the calls: less spread, less time, fewer of them.
fn of_the_world(subject: &Subject<'_>) -> Vec<Lever> {
    let lever = |change: Change| {
        let (plan, _) = change.apply(subject.plan, subject.shares).ok()??;
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
