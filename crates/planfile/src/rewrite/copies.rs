//! What plans and branches state of their copies.

use fantail_core::{Branch, BudgetSpec, Hedge, Plan, Time};
use fantail_model::Level;
use toml_edit::{Array, InlineTable, Item, Value};

use super::edit::{remove, set};
use super::{branch_tables, percent, set_or_remove};
use crate::config::PlanEntry;
use crate::decimal;

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
        let median = law.map(|law| Time::from_secs_f64(law.quantile(Level::MEDIAN)).unwrap_or(Time::LONGEST));
        let unstated = if is_race(&delays) { Time::ZERO } else { median.unwrap_or(Time::ZERO) };
        Some(Rule { delays, min_useful: Some(min_useful).filter(|stated| *stated != unstated), distinct })
    }

    fn is_race(&self) -> bool {
        is_race(&self.delays)
    }

    /// States it in a `hedge` that is a table; what says it already stays as it is.
    fn write(&self, hedge: &mut Item) {
        // They are for percentiles.
        for key in ["warming", "floor", "cap"] {
            remove(hedge, key);
        }
        if self.is_race() {
            remove(hedge, "after");
            let attempts = i64::try_from(self.delays.len()).map_or(i64::MAX, |copies| copies + 1);
            if hedge.get("race").and_then(Item::as_integer) != Some(attempts) {
                set(hedge, "race", attempts.into());
            }
        } else {
            remove(hedge, "race");
            if hedge.get("after").and_then(times).as_ref() != Some(&self.delays) {
                set(hedge, "after", self.after());
            }
        }
        if hedge.get("min_useful").and_then(time) != self.min_useful {
            set_or_remove(hedge, "min_useful", self.min_useful.map(|time| time.to_string().into()));
        }
        if hedge.get("distinct").and_then(Item::as_bool).unwrap_or(false) != self.distinct {
            set_or_remove(hedge, "distinct", self.distinct.then(|| true.into()));
        }
    }

    fn after(&self) -> Value {
        match self.delays.as_slice() {
            [delay] => delay.to_string().into(),
            delays => delays.iter().map(Time::to_string).collect::<Array>().into(),
        }
    }
}

fn is_race(delays: &[Time]) -> bool {
    delays.iter().all(|delay| *delay == Time::ZERO)
}

fn time(item: &Item) -> Option<Time> {
    item.as_str()?.parse().ok()
}

/// The fixed delays that `after` states; `None` for percentiles.
fn times(item: &Item) -> Option<Vec<Time>> {
    match item.as_array() {
        Some(list) => list.iter().map(|value| value.as_str()?.parse().ok()).collect(),
        None => Some(vec![time(item)?]),
    }
}

/// States the copies of every branch at fixed delays: what most have in the plan's `hedge`, which holds the budget too.
pub(super) fn state(item: &mut Item, plan: &Plan, entry: &PlanEntry) {
    let rules = |plan: &Plan| -> Vec<Option<Rule>> {
        plan.branches().iter().enumerate().map(|(i, branch)| Rule::of(branch, entry, i)).collect()
    };
    let (old, new) = (rules(&entry.plan), rules(plan));
    let tables: Vec<(usize, bool)> = branch_tables(item, plan)
        .iter()
        .map(|(branch, index)| (*index, branch.get("hedge").is_some()))
        .collect();
    let used = || tables.iter().filter_map(|(index, _)| new[*index].as_ref());
    let inherited = tables.iter().find(|(_, own)| !own).and_then(|(index, _)| old[*index].as_ref());
    // Only copies after a delay have a budget, and only here is one stated.
    let weight = |rule: &Rule| {
        (!rule.is_race(), used().filter(|other| *other == rule).count(), inherited == Some(rule))
    };
    let common = used().max_by_key(|rule| weight(rule)).cloned();
    for (branch, index) in branch_tables(item, plan) {
        let is_live = entry.plan.branches()[index].live.is_some();
        let says_so = !is_live && old[index] == new[index];
        of_branch(branch, new[index].as_ref(), common.as_ref(), says_so);
    }
    match &common {
        Some(rule) => {
            let hedge = table_at(item);
            rule.write(hedge);
            budget(hedge, plan.hedge_budget(), rule.is_race());
        }
        None => remove(item, "hedge"),
    }
}

/// A branch states its copies where they are not those of the plan; `says_so`: what it states, if anything, is right.
fn of_branch(branch: &mut Item, rule: Option<&Rule>, common: Option<&Rule>, says_so: bool) {
    match (branch.get("hedge"), rule) {
        (Some(own), None) if own.as_bool() == Some(false) => {}
        (Some(own), Some(_)) if says_so && own.as_bool().is_none() => {}
        (None, _) if rule == common => {}
        (Some(own), _) if rule == common && own.is_value() => remove(branch, "hedge"),
        (_, None) => set(branch, "hedge", false.into()),
        (_, Some(rule)) => rule.write(table_at(branch)),
    }
}

/// The `hedge` of a plan or a branch, as a table to state copies in.
fn table_at(item: &mut Item) -> &mut Item {
    if !item.get("hedge").is_some_and(Item::is_table_like) {
        set(item, "hedge", InlineTable::new().into());
    }
    &mut item["hedge"]
}

/// States a budget; a race has none.
fn budget(hedge: &mut Item, budget: BudgetSpec, is_race: bool) {
    let BudgetSpec { share, burst, in_flight } = budget;
    if is_race {
        return ["extra", "burst", "in_flight"].into_iter().for_each(|key| remove(hedge, key));
    }
    let share_of = |item: &Item| item.as_str().and_then(|text| decimal::share(text).ok());
    if hedge.get("extra").and_then(share_of) != Some(share) {
        set(hedge, "extra", percent(share).into());
    }
    let number = |hedge: &Item, key| hedge.get(key).and_then(Item::as_integer);
    if number(hedge, "burst").unwrap_or(BudgetSpec::HEDGES.burst.into()) != i64::from(burst) {
        let stated = (burst != BudgetSpec::HEDGES.burst).then(|| i64::from(burst).into());
        set_or_remove(hedge, "burst", stated);
    }
    if number(hedge, "in_flight") != in_flight.map(i64::from) {
        set_or_remove(hedge, "in_flight", in_flight.map(|most| i64::from(most).into()));
    }
}
