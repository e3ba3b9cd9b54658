//! `[plan.NAME]`, as it is stated.

use std::ops::Range;

use fantail_core::{BudgetSpec, Time, WaitFor};
use toml::de::DeValue;

use super::branch::{self, Group};
use super::hedge::{self, HedgeRule};
use super::limiter::LimiterDraft;
use super::reader::{At, Entry, Reader};
use crate::config::{Backfill, Overrides};
use crate::decimal;
use crate::keys::Scope;
use crate::problem::quote;
use crate::route::{self, Route};

/// A plan with the places of what it states.
pub(super) struct PlanDraft<'a> {
    pub(super) name: &'a str,
    pub(super) name_span: Range<usize>,
    /// The route; none inside when what is stated is none.
    pub(super) route: Option<At<Option<Route>>>,
    pub(super) wait_for: Option<At<WaitFor>>,
    pub(super) at_least: Option<At<u32>>,
    pub(super) deadline: Option<At<Time>>,
    pub(super) backfill: Option<At<Backfill>>,
    pub(super) hedge: Option<At<HedgeRule>>,
    pub(super) budget: BudgetSpec,
    pub(super) failover: Option<At<Failover>>,
    pub(super) leader: Option<LeaderDraft<'a>>,
    pub(super) observe: Option<At<u32>>,
    pub(super) holdout: Option<At<u32>>,
    /// The branches; none inside when how many there are cannot be told.
    pub(super) groups: Option<Vec<Group<'a>>>,
}

/// What a plan states of failovers: whether branches that do not say so themselves fail over, and the budget.
#[derive(Clone, Copy)]
pub(super) struct Failover {
    pub(super) on: bool,
    pub(super) budget: BudgetSpec,
}

/// The branch that leads, by name.
pub(super) struct LeaderDraft<'a> {
    pub(super) branch: At<&'a str>,
    pub(super) head_start: At<Time>,
}

/// Reads one plan.
pub(super) fn draft<'a>(
    reader: &mut Reader<'_>,
    entry: &Entry<'a>,
    limiters: &[LimiterDraft],
    overrides: &Overrides,
) -> Option<PlanDraft<'a>> {
    let mut table = reader.table(entry, Scope::Plan)?;
    let hedge = table.take("hedge").map(|entry| hedge::of_plan(reader, &entry));
    let budget = hedge.as_ref().map_or(BudgetSpec::HEDGES, |hedge| hedge.budget);
    let at_least = reader.read(&mut table, "at_least", Reader::count);
    let deadline = reader.read(&mut table, "deadline", Reader::time);
    let draft = PlanDraft {
        name: entry.key,
        name_span: entry.key_span.clone(),
        route: reader.read(&mut table, "route", |reader, entry| Some(route(reader, entry))),
        wait_for: reader.read(&mut table, "wait_for", wait_for),
        at_least: instead(overrides.at_least, at_least, entry),
        deadline: instead(overrides.deadline, deadline, entry),
        backfill: reader.read(&mut table, "backfill", backfill),
        hedge: hedge.and_then(|hedge| hedge.rule),
        budget,
        failover: reader.read(&mut table, "failover", failover),
        leader: table.take("leader").and_then(|entry| leader(reader, &entry)),
        observe: reader.read(&mut table, "observe", Reader::share),
        holdout: reader.read(&mut table, "holdout", Reader::share),
        groups: branch::groups(reader, &mut table, limiters),
    };
    reader.finish(table);
    Some(draft)
}

/// The override if there is one, at the place of what it replaces.
fn instead<T>(value: Option<T>, stated: Option<At<T>>, plan: &Entry<'_>) -> Option<At<T>> {
    match (value, stated) {
        (Some(value), Some(At { span, .. })) => Some(At { value, span }),
        (Some(value), None) => Some(At { value, span: plan.key_span.clone() }),
        (None, stated) => stated,
    }
}

fn route(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<Route> {
    let text = reader.text_or(entry, "a method and a path, in quotes, like \"POST /enrich\"")?;
    route::route(text.str).map_err(|faults| reader.faults_in(entry.key, &text, faults)).ok()
}

fn wait_for(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<WaitFor> {
    let expected = "\"all\", a number of branches, or a share in quotes, like \"95%\"";
    match entry.value {
        DeValue::Integer(_) => reader.count(entry).map(WaitFor::First),
        DeValue::String(text) if text == "all" => Some(WaitFor::All),
        DeValue::String(text) => match decimal::share(text) {
            Ok(share) => Some(WaitFor::Share(share)),
            Err(_) if text.parse::<u32>().is_ok() => {
                let message =
                    format!("`wait_for`: {} is in quotes; expected a plain number of branches", quote(text));
                reader.fault(entry.span.clone(), message);
                None
            }
            Err(message) if text.contains(['%', '.']) => {
                reader.fault(entry.span.clone(), format!("`wait_for`: {message}"));
                None
            }
            Err(_) => {
                reader.mismatch(entry, expected);
                None
            }
        },
        _ => {
            reader.mismatch(entry, expected);
            None
        }
    }
}

/// `failover`: `true` and a table turn it on.
fn failover(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<Failover> {
    let mut budget = BudgetSpec::FAILOVERS;
    match entry.value {
        DeValue::Boolean(on) => return Some(Failover { on: *on, budget }),
        DeValue::Table(_) => {}
        _ => {
            reader.mismatch(entry, "true, false or a table, like { extra = \"10%\" }");
            return None;
        }
    }
    let mut table = reader.table(entry, Scope::Failover)?;
    if let Some(share) = reader.read(&mut table, "extra", Reader::share) {
        budget.share = share.value;
    }
    if let Some(burst) = reader.read(&mut table, "burst", Reader::positive) {
        budget.burst = burst.value;
    }
    budget.in_flight = reader.read(&mut table, "in_flight", Reader::positive).map(|at| at.value);
    reader.finish(table);
    Some(Failover { on: true, budget })
}

fn leader<'a>(reader: &mut Reader<'_>, entry: &Entry<'a>) -> Option<LeaderDraft<'a>> {
    let DeValue::Table(_) = entry.value else {
        reader.mismatch(entry, "a table, like { branch = \"b\", head_start = \"1s\" }");
        return None;
    };
    let mut table = reader.table(entry, Scope::Leader)?;
    let (branch, head_start) = (table.take("branch"), table.take("head_start"));
    for (key, missing) in [("branch", branch.is_none()), ("head_start", head_start.is_none())] {
        if missing {
            let example = "{ branch = \"b\", head_start = \"1s\" }";
            reader.fault(
                entry.key_span.clone(),
                format!("`leader` has no `{key}`; expected both, like {example}"),
            );
        }
    }
    let name = branch.as_ref().and_then(|entry| reader.text_or(entry, "the name of a branch, in quotes"));
    let time = head_start.as_ref().and_then(|entry| reader.span(entry));
    reader.finish(table);
    Some(LeaderDraft {
        branch: name.map(|text| At { value: text.str, span: text.span })?,
        head_start: At { value: time?, span: head_start?.span },
    })
}

/// `backfill`: `true` and a table turn it on.
fn backfill(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<Backfill> {
    let mut settings = Backfill::default();
    match entry.value {
        DeValue::Boolean(on) => return on.then_some(settings),
        DeValue::Table(_) => {}
        _ => {
            reader.mismatch(entry, "true, false or a table, like { ttl = \"1h\" }");
            return None;
        }
    }
    let mut table = reader.table(entry, Scope::Backfill)?;
    if let Some(timeout) = reader.read(&mut table, "enqueue_timeout", Reader::time) {
        settings.enqueue_timeout = timeout.value;
    }
    if let Some(ttl) = reader.read(&mut table, "ttl", Reader::span) {
        settings.ttl = ttl.value;
    }
    if let Some(bytes) = reader.read(&mut table, "max_bytes", Reader::positive) {
        settings.max_bytes = bytes.value;
    }
    if let Some(tries) = reader.read(&mut table, "tries", Reader::positive) {
        settings.tries = tries.value;
    }
    reader.finish(table);
    Some(settings)
}
