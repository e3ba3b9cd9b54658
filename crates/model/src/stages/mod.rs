//! Jobs in stages: branches one after another, side by side, and any nesting of the two.

mod bounds;
mod convolve;
mod job;
mod lattice;
mod law;
mod plan;

pub use job::{StagedJob, StagedPlan, StagedVerdicts};
pub use law::StagedLaw;
pub use plan::solve_stages;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use alloc::{format, vec};

use crate::moments::Moments;
use crate::solve::Tally;
use crate::special::{barrier_hazard, complement};
use crate::{Group, GroupedPlan, JobLaw, Law, SolveError};

/// A part of a job: one call, or stages that follow one another or run side by side. All calls are independent.
///
/// ```
/// use fantail_model::{Law, Level, Stage};
///
/// let call = Stage::branch(Law::exponential(1.0)?);
/// // One after another, two calls take what a gamma of shape 2 takes.
/// let both = Stage::then(&[(2, call.clone())])?.solve();
/// let p99 = Level::above(0.01)?;
/// let exact = Law::gamma(2.0, 1.0)?.quantile(p99);
/// assert!((both.quantile(p99).value / exact - 1.0).abs() < 1e-3);
/// assert_eq!(both.mean().value, 2.0);
///
/// // Four branches that each look up, then ask eight leaves and wait for all of them.
/// let lookup = Stage::branch(Law::log_normal(0.01, 0.5)?);
/// let tree = Stage::tree(&[(32, call)], 8, Some(&lookup))?;
/// assert!(tree.solve().quantile(p99).value > 8.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    node: Arc<Node>,
    /// Calls in all.
    calls: f64,
    /// The most calls that follow one another.
    longest: f64,
    /// Nodes, like ones counted once.
    nodes: usize,
    /// Of nesting.
    depth: usize,
}

#[derive(Debug, PartialEq)]
enum Node {
    Branch(Law),
    Fixed(f64),
    First { k: u64, parts: Vec<(u64, Stage)> },
    Then(Vec<(u64, Stage)>),
}

/// The most calls of a job, and alike parts of a stage.
const MOST_CALLS: f64 = 1e12;
/// Each takes a sum for every bit of their number.
const MOST_IN_SEQUENCE: f64 = 1e6;
/// Each takes a sum.
const MOST_NODES: usize = 1_000;
const MOST_DEPTH: usize = 64;
/// Terms for each time on the lattice, under a barrier below all.
const MOST_TERMS: f64 = 2e4;

impl Stage {
    /// One call, or a branch with its copies as one law ([`Law::hedged`], [`Law::race`]).
    pub fn branch(law: Law) -> Stage {
        Stage { node: Arc::new(Node::Branch(law)), calls: 1.0, longest: 1.0, nodes: 1, depth: 1 }
    }

    /// A stage that takes always the same time, in seconds.
    ///
    /// # Errors
    /// [`SolveError::OutOfRange`] for a time outside 0 to 1e15 seconds.
    pub fn fixed(seconds: f64) -> Result<Stage, SolveError> {
        check("time", seconds, (0.0..=1e15).contains(&seconds), || "0 to 1e15 seconds".into())?;
        Ok(Stage { node: Arc::new(Node::Fixed(seconds)), calls: 1.0, longest: 1.0, nodes: 1, depth: 1 })
    }

    /// Stages one after another, each with how many there are of it.
    ///
    /// # Errors
    /// [`SolveError::OutOfRange`] for no stage, a count that is 0 or too large, more than 10^6 calls one after another,
    /// 1,000 different stages or a nesting of 64.
    pub fn then(parts: &[(u64, Stage)]) -> Result<Stage, SolveError> {
        if let [(1, only)] = parts {
            return Ok(only.clone());
        }
        let longest = parts.iter().map(|(count, part)| *count as f64 * part.longest).sum();
        Stage::new(Node::Then(parts.to_vec()), parts, longest)
    }

    /// Stages side by side, until all have ended.
    ///
    /// # Errors
    /// As for [`Stage::then`], with at most 10^12 calls in all.
    pub fn all(parts: &[(u64, Stage)]) -> Result<Stage, SolveError> {
        // All of alike stages that wait for all are one stage that does.
        if let [(count, part)] = parts
            && let Node::First { k, parts: inner } = &*part.node
            && *k == total(inner)
            && part.calls * *count as f64 <= MOST_CALLS
            && *count > 0
        {
            let inner: Vec<_> = inner.iter().map(|(n, stage)| (n * count, stage.clone())).collect();
            return Stage::all(&inner);
        }
        Stage::first(total(parts).max(1), parts)
    }

    /// Stages side by side, until `k` of them have ended.
    ///
    /// # Errors
    /// As for [`Stage::all`]; [`SolveError::OutOfRange`] for a `k` that is 0 or more than there are;
    /// [`SolveError::TooLong`] for a barrier below all over more than some 5 million stages, or 140 different ones.
    pub fn first(k: u64, parts: &[(u64, Stage)]) -> Result<Stage, SolveError> {
        if let (1, [(1, only)]) = (k, parts) {
            return Ok(only.clone());
        }
        let longest = parts.iter().map(|(_, part)| part.longest).fold(0.0, f64::max);
        let stage = Stage::new(Node::First { k, parts: parts.to_vec() }, parts, longest)?;
        let n = total(parts);
        check("k", k as f64, (1..=n).contains(&k), || format!("1 to the number of stages, {n}"))?;
        let terms = barrier_terms(k, n, parts.len());
        if terms > MOST_TERMS {
            let what = "so many stages under a barrier below all";
            return Err(SolveError::TooLong { what, terms, bound: MOST_TERMS });
        }
        Ok(stage)
    }

    /// Items in batches of `size`, the last with what is left: a batch is one task, which takes `overhead`, then its items
    /// one after another. All batches run side by side.
    ///
    /// ```
    /// use fantail_model::{Law, Level, Stage};
    ///
    /// let items = [(1_024, Stage::branch(Law::log_normal(1.0, 1.0)?))];
    /// let median = |size| Ok::<_, Box<dyn std::error::Error>>(
    ///     Stage::batches(&items, size, None)?.solve().quantile(Level::MEDIAN).value,
    /// );
    /// assert_eq!(format!("{:.0} {:.0}", median(1)?, median(16)?), "25 54");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Stage::all`]; [`SolveError::OutOfRange`] for a size that is 0.
    pub fn batches(items: &[(u64, Stage)], size: u64, overhead: Option<&Stage>) -> Result<Stage, SolveError> {
        tasks(items, size, |items| Stage::then(&after(overhead, items.to_vec())))
    }

    /// A root that waits for its nodes, each of which takes `overhead`, then waits for `size` leaves, the last for what is
    /// left.
    ///
    /// # Errors
    /// As for [`Stage::batches`].
    pub fn tree(leaves: &[(u64, Stage)], size: u64, overhead: Option<&Stage>) -> Result<Stage, SolveError> {
        tasks(leaves, size, |leaves| Stage::then(&after(overhead, vec![(1, Stage::all(leaves)?)])))
    }

    fn new(node: Node, parts: &[(u64, Stage)], longest: f64) -> Result<Stage, SolveError> {
        check("stages", 0.0, !parts.is_empty(), || "at least one".into())?;
        for (count, _) in parts {
            check("count", *count as f64, *count > 0, || "at least 1".into())?;
        }
        let calls: f64 = parts.iter().map(|(count, part)| *count as f64 * part.calls).sum();
        let nodes = parts.iter().map(|(_, part)| part.nodes).sum::<usize>() + 1;
        let depth = parts.iter().map(|(_, part)| part.depth).fold(0, usize::max) + 1;
        let most = |field, value: f64, bound: f64| {
            check(field, value, value <= bound, || format!("at most {bound}"))
        };
        most("calls", calls, MOST_CALLS)?;
        most("calls one after another", longest, MOST_IN_SEQUENCE)?;
        most("different stages", nodes as f64, MOST_NODES as f64)?;
        most("stages within stages", depth as f64, MOST_DEPTH as f64)?;
        Ok(Stage { node: Arc::new(node), calls, longest, nodes, depth })
    }

    /// Its mean and variance where they need no lattice.
    fn moments(&self) -> Option<Moments> {
        match &*self.node {
            Node::Branch(law) => law.moments().ok(),
            Node::Fixed(seconds) => Some(Moments { mean: *seconds, variance: 0.0 }),
            Node::First { .. } => self.at_once()?.moments().ok(),
            Node::Then(parts) => {
                let mut sum = Moments { mean: 0.0, variance: 0.0 };
                for (count, part) in parts {
                    let part = part.moments()?;
                    sum.mean += *count as f64 * part.mean;
                    sum.variance += *count as f64 * part.variance;
                }
                Some(sum)
            }
        }
    }

    /// The job of calls that all start at once, if it is one.
    fn at_once(&self) -> Option<JobLaw> {
        let group = |(count, part): &(u64, Stage)| match &*part.node {
            Node::Branch(law) => Some(Group { required: false, ..Group::new(*count, law.clone()) }),
            _ => None,
        };
        let (k, groups) = match &*self.node {
            Node::Branch(law) => (1, vec![Group { required: false, ..Group::new(1, law.clone()) }]),
            Node::First { k, parts } => (*k, parts.iter().map(group).collect::<Option<_>>()?),
            Node::Fixed(_) | Node::Then(_) => return None,
        };
        GroupedPlan { groups, k, at_least: k, deadline: f64::INFINITY }.solve().ok()
    }

    /// The hazard at `t` if calls did not wait for each other as they do: a bound.
    fn hazard(&self, t: f64, waits: Waits) -> f64 {
        match &*self.node {
            Node::Branch(law) => Call::Law(law).hazard(t),
            Node::Fixed(seconds) => Call::Fixed(*seconds).hazard(t),
            Node::First { k, parts } => {
                barrier(*k, parts.iter().map(|(count, part)| (*count, part.hazard(t, waits))))
            }
            Node::Then(parts) => {
                let share = |part: &Stage| match waits {
                    Waits::ForNothing => 1.0,
                    Waits::ItsShare => part.longest / self.longest,
                };
                all(parts.iter().map(|(count, part)| (*count, part.hazard(t * share(part), waits))))
            }
        }
    }

    /// Calls `visit` with each call's law and how many there are of it in all.
    fn each_call(&self, count: f64, visit: &mut impl FnMut(f64, Call<'_>)) {
        match &*self.node {
            Node::Branch(law) => visit(count, Call::Law(law)),
            Node::Fixed(seconds) => visit(count, Call::Fixed(*seconds)),
            Node::First { parts, .. } | Node::Then(parts) => {
                for (times, part) in parts {
                    part.each_call(count * *times as f64, visit);
                }
            }
        }
    }
}

/// What a stage without parts takes.
#[derive(Clone, Copy)]
enum Call<'a> {
    Law(&'a Law),
    Fixed(f64),
}

impl Call<'_> {
    fn hazard(self, t: f64) -> f64 {
        match self {
            Call::Law(law) => law.hazard(t),
            Call::Fixed(seconds) if t >= seconds => f64::INFINITY,
            Call::Fixed(_) => 0.0,
        }
    }

    fn hazard_at_infinity(self) -> f64 {
        match self {
            Call::Law(law) => law.hazard_at_infinity(),
            Call::Fixed(_) => f64::INFINITY,
        }
    }
}

/// How calls that follow one another might wait instead.
#[derive(Clone, Copy)]
enum Waits {
    /// All start at once: the stage ends no later than it does.
    ForNothing,
    /// Each starts when its share of the time is over: when all have ended in theirs, the stage has.
    ItsShare,
}

/// The hazard of a barrier of `k` over parts, each with how many there are of it and its hazard.
fn barrier(k: u64, parts: impl Iterator<Item = (u64, f64)> + Clone) -> f64 {
    let n: u64 = parts.clone().map(|(count, _)| count).sum();
    let mut kinds = parts.clone();
    match (kinds.next(), kinds.next()) {
        (Some((count, hazard)), None) => barrier_hazard(hazard, k, count),
        _ if k == n => all(parts),
        _ => Tally::new(parts).hazard(n - k + 1),
    }
}

/// Likewise of all parts, also where what none of them exceeds is below the least float.
fn all(parts: impl Iterator<Item = (u64, f64)> + Clone) -> f64 {
    /// From here on at most one part is open.
    const FAR: f64 = 40.0;
    let least = parts.clone().map(|(_, hazard)| hazard).fold(f64::INFINITY, f64::min);
    if least < FAR {
        return complement(parts.map(|(count, hazard)| count as f64 * complement(hazard)).sum());
    }
    let open = parts.filter(|(_, hazard)| hazard.is_finite());
    least - libm::log(open.map(|(count, hazard)| count as f64 * libm::exp(least - hazard)).sum())
}

/// Terms that it takes to find how likely `k` of `n` are, of so many kinds.
fn barrier_terms(k: u64, n: u64, kinds: usize) -> f64 {
    match kinds {
        _ if k == n => kinds as f64,
        1 if k == 1 => 1.0,
        1 => 9.0 * libm::sqrt(n as f64),
        _ => n as f64 * (n - k + 1) as f64,
    }
}

/// How many there are in all; where that overflows, more than there may be.
fn total(parts: &[(u64, Stage)]) -> u64 {
    parts.iter().fold(0, |n, (count, _)| n.saturating_add(*count))
}

fn after(overhead: Option<&Stage>, mut rest: Vec<(u64, Stage)>) -> Vec<(u64, Stage)> {
    if let Some(overhead) = overhead {
        rest.insert(0, (1, overhead.clone()));
    }
    rest
}

/// Tasks of `size` items each side by side, in the order of the items; the last takes what is left.
fn tasks(
    items: &[(u64, Stage)],
    size: u64,
    task: impl Fn(&[(u64, Stage)]) -> Result<Stage, SolveError>,
) -> Result<Stage, SolveError> {
    check("size", size as f64, size > 0, || "at least 1".into())?;
    let mut tasks: Vec<(u64, Stage)> = Vec::new();
    let mut add = |count: u64, items: &[(u64, Stage)]| -> Result<(), SolveError> {
        let task = task(items)?;
        match tasks.last_mut() {
            Some((counted, last)) if *last == task => *counted += count,
            _ => tasks.push((count, task)),
        }
        Ok(())
    };
    let (mut begun, mut room) = (Vec::new(), size);
    for (count, item) in items {
        check("count", *count as f64, *count > 0, || "at least 1".into())?;
        let mut left = *count;
        while left > 0 {
            if room == size && left >= size {
                add(left / size, &[(size, item.clone())])?;
                left %= size;
                continue;
            }
            let taken = left.min(room);
            begun.push((taken, item.clone()));
            (left, room) = (left - taken, room - taken);
            if room == 0 {
                add(1, &begun)?;
                (begun, room) = (Vec::new(), size);
            }
        }
    }
    if !begun.is_empty() {
        add(1, &begun)?;
    }
    Stage::all(&tasks)
}

fn check(field: &'static str, value: f64, ok: bool, bound: impl Fn() -> String) -> Result<(), SolveError> {
    if ok { Ok(()) } else { Err(SolveError::OutOfRange { field, value, bound: bound() }) }
}
