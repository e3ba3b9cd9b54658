//! From plans back to text: a plan file with other figures, and all else as its author wrote it.

use std::fmt;

use fantail_core::plan::PPM;
use fantail_core::{Branch, BudgetSpec, Hedge, Plan, Time, WaitFor};
use fantail_model::Level;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

use crate::config::{Config, PlanEntry};
use crate::problem::Problems;

/// Why a plan file cannot state a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RewriteError {
    /// The text is no plan file.
    Invalid(Problems),
    /// The file has no plan of that name.
    NoPlan {
        /// The name.
        name: String,
    },
    /// The plan differs from the file's in more than what is rewritten, or no text says what it does.
    NotExpressible {
        /// The plan's name.
        name: String,
    },
}

impl fmt::Display for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RewriteError::Invalid(problems) => problems.fmt(f),
            RewriteError::NoPlan { name } => write!(f, "no plan is named `{name}`"),
            RewriteError::NotExpressible { name } => {
                write!(f, "no plan file with the same branches says what plan `{name}` does")
            }
        }
    }
}

impl std::error::Error for RewriteError {}

impl From<Problems> for RewriteError {
    fn from(problems: Problems) -> RewriteError {
        RewriteError::Invalid(problems)
    }
}

/// The text of a plan file in which the plan of `plan`'s name is `plan`, which may differ from the one that the file has
/// in barrier, `at_least`, deadline, copies, their budget and which branches are required. Only keys that have to change
/// do; comments, order and everything else stay. Where copies or their budget change, all copies are due at fixed delays, not
/// at live ones.
///
/// What is returned is read once more: it states `plan` exactly.
///
/// ```
/// use fantail_core::Time;
/// use fantail_planfile::{Config, rewrite};
///
/// let text = "[plan.a]\nwait_for = \"all\" # of them\n[plan.a.branch]\nx = {}\ny = {}\n";
/// let other = Config::parse("other.toml", "[plan.a]\ndeadline = \"2s\"\nbranch = { x = {}, y = {} }")?;
/// let rewritten = rewrite("plan.toml", text, &other.plans[0].plan)?;
/// assert_eq!(
///     rewritten,
///     "[plan.a]\nwait_for = \"all\" # of them\ndeadline = \"2s\"\n[plan.a.branch]\nx = {}\ny = {}\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A text that is no plan file, one without such a plan, and a plan that differs in more.
pub fn rewrite(source: &str, text: &str, plan: &Plan) -> Result<String, RewriteError> {
    let config = Config::parse(source, text)?;
    let name = plan.name();
    let stated = config.plan(name).ok_or_else(|| RewriteError::NoPlan { name: name.to_owned() })?;
    let not_expressible = || RewriteError::NotExpressible { name: name.to_owned() };
    let mut document: DocumentMut = text.parse().map_err(|_| not_expressible())?;
    let table = document
        .get_mut("plan")
        .and_then(|plans| plans.get_mut(name))
        .and_then(Item::as_table_like_mut)
        .ok_or_else(not_expressible)?;
    if stated.plan.wait_for() != plan.wait_for() {
        set(table, "wait_for", barrier(plan.wait_for()));
    }
    if stated.plan.deadline() != plan.deadline() {
        set_or_remove(table, "deadline", plan.deadline().map(|time| time.to_string().into()));
    }
    if at_least(&stated.plan) != at_least(plan) {
        set_or_remove(table, "at_least", at_least(plan).map(|count| i64::from(count).into()));
    }
    roles(table, plan);
    if !same_copies(source, &document.to_string(), plan) {
        let table = document["plan"][name].as_table_like_mut().ok_or_else(not_expressible)?;
        copies(table, plan, stated);
    }
    let rewritten = document.to_string();
    let config = Config::parse(source, &rewritten).map_err(|_| not_expressible())?;
    if config.plan(name).is_some_and(|entry| entry.plan == *plan) {
        Ok(rewritten)
    } else {
        Err(not_expressible())
    }
}

/// The text of a plan file with one plan of `n` like branches that may be sent twice, and nothing else stated. The names
/// of the branches are `branch-0` and so on.
pub fn like_branches(name: &str, n: u32, latency: &str) -> String {
    let mut each = Table::new();
    each["count"] = value(i64::from(n));
    each["name"] = value("branch-{i}");
    each["repeatable"] = value(true);
    each["latency"] = value(latency.trim());
    let mut plan = Table::new();
    plan["each"] = Item::Table(each);
    let mut plans = Table::new();
    plans.set_implicit(true);
    plans[name] = Item::Table(plan);
    let mut document = DocumentMut::new();
    document["plan"] = Item::Table(plans);
    document.to_string()
}

/// Sets a key; comments around it stay.
fn set(table: &mut dyn TableLike, key: &str, mut new: Value) {
    match table.get_mut(key) {
        Some(item) => {
            if let Some(old) = item.as_value() {
                *new.decor_mut() = old.decor().clone();
            }
            *item = Item::Value(new);
        }
        None => {
            table.insert(key, Item::Value(new));
        }
    }
}

fn set_or_remove(table: &mut dyn TableLike, key: &str, new: Option<Value>) {
    match new {
        Some(new) => set(table, key, new),
        None => {
            table.remove(key);
        }
    }
}

fn barrier(wait_for: WaitFor) -> Value {
    match wait_for {
        WaitFor::All => "all".into(),
        WaitFor::First(k) => i64::from(k).into(),
        WaitFor::Share(share) => percent(share).into(),
    }
}

/// Parts per million as a share: `5%`.
fn percent(share: u32) -> String {
    format!("{}%", f64::from(share) / f64::from(PPM / 100))
}

/// What of `at_least` has to be stated: it is not what holds without it.
fn at_least(plan: &Plan) -> Option<u32> {
    let unstated = if plan.wait_for() == WaitFor::All { plan.required() } else { plan.k() };
    Some(plan.at_least()).filter(|at_least| *at_least != unstated)
}

/// The tables that state branches, each with the first of its branches.
fn branch_tables<'t>(
    table: &'t mut dyn TableLike,
    plan: &'t Plan,
) -> impl Iterator<Item = (&'t mut dyn TableLike, usize)> {
    let index = |name: &str| plan.branches().iter().position(|branch| branch.name == name);
    let mut each = None;
    let mut named = Vec::new();
    for (key, item) in table.iter_mut() {
        match key.get() {
            "each" => each = item.as_table_like_mut(),
            "branch" => named = item.as_table_like_mut().map(|t| t.iter_mut().collect()).unwrap_or_default(),
            _ => {}
        }
    }
    let first = each.as_ref().and_then(|each| each.get("name")).and_then(Item::as_str);
    let each_index = first.and_then(|name| index(&name.replace("{i}", "0")));
    let each = each.zip(each_index);
    let named = named.into_iter().filter_map(move |(key, item)| {
        let index = index(key.get())?;
        Some((item.as_table_like_mut()?, index))
    });
    named.chain(each)
}

/// States which branches are required where neither the table nor the barrier says it.
fn roles(table: &mut dyn TableLike, plan: &Plan) {
    let shared = optional(table.get("defaults").and_then(Item::as_table_like));
    for (branch, index) in branch_tables(table, plan) {
        let stated = optional(Some(branch)).or(shared);
        let is_optional = stated.unwrap_or(plan.wait_for() != WaitFor::All);
        let required = plan.branches()[index].required;
        if is_optional == required {
            set(branch, "optional", (!required).into());
        }
    }
}

fn optional(table: Option<&dyn TableLike>) -> Option<bool> {
    table.and_then(|table| table.get("optional")).and_then(Item::as_bool)
}

/// Whether a text states the copies and the budget of a plan.
fn same_copies(source: &str, text: &str, plan: &Plan) -> bool {
    let Ok(config) = Config::parse(source, text) else { return false };
    config.plan(plan.name()).is_some_and(|entry| {
        let alike = |(one, other): (&Branch, &Branch)| (&one.hedge, one.live) == (&other.hedge, other.live);
        entry.plan.hedge_budget() == plan.hedge_budget()
            && entry.plan.live_delays() == plan.live_delays()
            && entry.plan.branches().iter().zip(plan.branches()).all(alike)
    })
}

/// What a `hedge` table says of a branch.
#[derive(Clone, PartialEq)]
struct Rule {
    delays: Vec<Time>,
    /// Where it is not what holds without it.
    min_useful: Option<Time>,
    distinct: bool,
}

impl Rule {
    fn of(branch: &Branch, entry: &PlanEntry, index: usize) -> Option<Rule> {
        let Hedge { delays, min_useful, distinct } = branch.hedge.clone()?;
        let law = entry.branches.get(index).and_then(|more| more.law.as_ref());
        let median = law.map(|law| Time::from_secs_f64(law.quantile(Level::MEDIAN)).unwrap_or(Time::MAX));
        let unstated = if is_race(&delays) { Time::ZERO } else { median.unwrap_or(Time::ZERO) };
        Some(Rule { delays, min_useful: Some(min_useful).filter(|stated| *stated != unstated), distinct })
    }

    fn table(&self) -> InlineTable {
        let mut table = InlineTable::new();
        match self.delays.as_slice() {
            delays if is_race(delays) => table.insert("race", attempts(delays).into()),
            [delay] => table.insert("after", delay.to_string().into()),
            delays => table.insert("after", delays.iter().map(Time::to_string).collect::<Array>().into()),
        };
        if let Some(min_useful) = self.min_useful {
            table.insert("min_useful", min_useful.to_string().into());
        }
        if self.distinct {
            table.insert("distinct", true.into());
        }
        table
    }
}

/// A race's attempts, its copies and the primary.
fn attempts(delays: &[Time]) -> i64 {
    i64::try_from(delays.len()).map_or(i64::MAX, |copies| copies + 1)
}

fn is_race(delays: &[Time]) -> bool {
    delays.iter().all(|delay| *delay == Time::ZERO)
}

/// States the copies of every branch anew, at fixed delays: what most have in the plan's `hedge`, which holds the budget too.
fn copies(table: &mut dyn TableLike, plan: &Plan, entry: &PlanEntry) {
    let rules: Vec<Option<Rule>> =
        plan.branches().iter().enumerate().map(|(i, branch)| Rule::of(branch, entry, i)).collect();
    let tables: Vec<usize> = branch_tables(table, plan).map(|(_, index)| index).collect();
    let used = || tables.iter().filter_map(|index| rules[*index].as_ref());
    // Only copies after a delay have a budget, and only here is one stated.
    let weight = |rule: &Rule| (!is_race(&rule.delays), used().filter(|other| *other == rule).count());
    let common = used().max_by_key(|rule| weight(rule)).cloned();
    for (branch, index) in branch_tables(table, plan) {
        match &rules[index] {
            None if common.is_none() => {
                branch.remove("hedge");
            }
            None => set(branch, "hedge", false.into()),
            Some(rule) if Some(rule) == common.as_ref() => {
                branch.remove("hedge");
            }
            Some(rule) => set(branch, "hedge", rule.table().into()),
        }
    }
    let shared = common.map(|rule| {
        let mut table = rule.table();
        if !is_race(&rule.delays) {
            budget(&mut table, plan.hedge_budget());
        }
        table.into()
    });
    set_or_remove(table, "hedge", shared);
}

fn budget(table: &mut InlineTable, budget: BudgetSpec) {
    table.insert("extra", percent(budget.share).into());
    if budget.burst != BudgetSpec::HEDGES.burst {
        table.insert("burst", i64::from(budget.burst).into());
    }
    if let Some(most) = budget.in_flight {
        table.insert("in_flight", i64::from(most).into());
    }
}
