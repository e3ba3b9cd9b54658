//! From plans back to text: a plan file with other figures, and all else as its author wrote it.

mod copies;
mod edit;
mod lines;

use std::fmt;

use fantail_core::plan::PPM;
use fantail_core::{Branch, Plan, WaitFor};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value, value};

use crate::config::Config;
use crate::problem::Problems;
use edit::{remove, set};

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
/// do; every byte of all else stays, comments, line ends and a byte order mark too. Where copies or their budget change, all
/// copies are due at fixed delays, not at live ones.
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
    let mut document: DocumentMut = lines::unix(text).parse().map_err(|_| not_expressible())?;
    let item = document.get_mut("plan").and_then(|plans| plans.get_mut(name)).ok_or_else(not_expressible)?;
    if stated.plan.wait_for() != plan.wait_for() {
        set(item, "wait_for", barrier(plan.wait_for()));
    }
    if stated.plan.deadline() != plan.deadline() {
        set_or_remove(item, "deadline", plan.deadline().map(|time| time.to_string().into()));
    }
    if at_least(&stated.plan) != at_least(plan) {
        set_or_remove(item, "at_least", at_least(plan).map(|count| i64::from(count).into()));
    }
    roles(item, plan);
    if !same_copies(source, &document.to_string(), plan) {
        copies::state(&mut document["plan"][name], plan, stated);
    }
    let rewritten = lines::like(text, &document.to_string());
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

fn set_or_remove(item: &mut Item, key: &str, new: Option<Value>) {
    match new {
        Some(new) => set(item, key, new),
        None => remove(item, key),
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
fn branch_tables<'t>(item: &'t mut Item, plan: &'t Plan) -> Vec<(&'t mut Item, usize)> {
    let index = |name: &str| plan.branches().iter().position(|branch| branch.name == name);
    let mut tables = Vec::new();
    let plan_table = item.as_table_like_mut().into_iter();
    for (key, item) in plan_table.flat_map(|table| table.iter_mut()) {
        match key.get() {
            "each" => {
                let name = item.get("name").and_then(Item::as_str).unwrap_or_default();
                let first = index(&name.replace("{i}", "0"));
                tables.extend(first.map(|index| (item, index)));
            }
            "branch" => {
                let named = item.as_table_like_mut().into_iter().flat_map(|table| table.iter_mut());
                tables.extend(
                    named
                        .filter_map(|(key, item)| Some((index(key.get())?, item)))
                        .map(|(i, item)| (item, i)),
                );
            }
            _ => {}
        }
    }
    tables
}

/// States which branches are required where neither the table nor the barrier says it.
fn roles(item: &mut Item, plan: &Plan) {
    let shared = item.get("defaults").and_then(Item::as_table_like).and_then(optional);
    for (branch, index) in branch_tables(item, plan) {
        let stated = branch.as_table_like().and_then(optional).or(shared);
        let is_optional = stated.unwrap_or(plan.wait_for() != WaitFor::All);
        let required = plan.branches()[index].required;
        if is_optional == required {
            set(branch, "optional", (!required).into());
        }
    }
}

fn optional(table: &dyn TableLike) -> Option<bool> {
    table.get("optional").and_then(Item::as_bool)
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
