//! From what is stated to checked plans, with the core's errors at the places that they are about.

use std::ops::Range;
use std::sync::Arc;

use fantail_core::{
    BranchSpec, BudgetSpec, Field, LiveDelaySpec, Plan, PlanError, PlanErrors, PlanSpec, Time, WaitFor,
};

use super::branch::{BranchKeys, Group};
use super::hedge::{HedgeRule, Resolved, resolve};
use super::limiter::LimiterDraft;
use super::plan::PlanDraft;
use super::reader::{At, Reader};
use super::stages;
use crate::config::{BranchEntry, EarlierCopy, PlanEntry};
use crate::problem::{Fault, did_you_mean, list_and_more, quote};
use crate::route::Route;
use crate::url::{Known, UrlTemplate, template};

/// The plans of all drafts that are right.
pub(super) fn plans(
    reader: &mut Reader<'_>,
    drafts: &[PlanDraft<'_>],
    limiters: &[LimiterDraft],
    required: Option<&[String]>,
) -> Vec<PlanEntry> {
    drafts.iter().filter_map(|draft| plan(reader, draft, limiters, required)).collect()
}

/// With `required`, the branches of these names are, whatever they state.
fn plan(
    reader: &mut Reader<'_>,
    draft: &PlanDraft<'_>,
    limiters: &[LimiterDraft],
    required: Option<&[String]>,
) -> Option<PlanEntry> {
    let groups = draft.groups.as_ref()?;
    if groups.is_empty() {
        let (quoted, name) = (quote(draft.name), draft.name.escape_debug());
        let message =
            format!("plan {quoted} has no branches; expected [plan.{name}.branch] or [plan.{name}.each]");
        reader.fault(draft.name_span.clone(), message);
        return None;
    }
    let Listed { mut specs, entries, live_delays, group_of } = list(reader, draft, groups, required);
    unknown(reader, draft, required.unwrap_or_default(), &specs);
    let found = stages::resolve(reader, draft, groups, &group_of, &mut specs);
    if let (Some(holdout), true) = (&draft.holdout, specs.iter().all(|spec| spec.hedge.is_none())) {
        reader.fault(holdout.span.clone(), "`holdout` without copies; it would do nothing");
    }
    let spec = PlanSpec {
        wait_for: draft.wait_for.as_ref().map_or(WaitFor::All, |at| at.value),
        at_least: value(draft.at_least.as_ref()),
        deadline: value(draft.deadline.as_ref()),
        hedge_budget: draft.budget,
        failover_budget: draft.failover.as_ref().map_or(BudgetSpec::FAILOVERS, |at| at.value.budget),
        leader: found.leader,
        observe: value(draft.observe.as_ref()).unwrap_or(0),
        holdout: value(draft.holdout.as_ref()).unwrap_or(0),
        live_delays,
        backfill: draft.backfill.is_some(),
        limiters: limiters.iter().map(|limiter| limiter.spec.clone()).collect(),
        ..PlanSpec::new(draft.name, specs)
    };
    // What a name that no branch has would have made of it is not known.
    if !found.all {
        return None;
    }
    let plan = match Plan::new(spec) {
        Ok(plan) => plan,
        Err(errors) => {
            Places { draft, groups, limiters, group_of }.note(reader, &errors);
            return None;
        }
    };
    if required.is_none() {
        useless_backfill(reader, draft, &plan);
    }
    let route = draft.route.as_ref().and_then(|route| route.value.clone());
    Some(PlanEntry { plan, route, backfill: value(draft.backfill.as_ref()), branches: entries })
}

/// The branches of a plan, with what it does not hold of them.
#[derive(Default)]
struct Listed {
    specs: Vec<BranchSpec>,
    entries: Vec<BranchEntry>,
    live_delays: Vec<LiveDelaySpec>,
    /// The group of each branch.
    group_of: Vec<usize>,
}

fn list(
    reader: &mut Reader<'_>,
    draft: &PlanDraft<'_>,
    groups: &[Group<'_>],
    required: Option<&[String]>,
) -> Listed {
    let mut listed = Listed::default();
    let mut hedges = HedgeFaults::default();
    for (index, group) in groups.iter().enumerate() {
        let (mut spec, earlier) = branch(reader, draft, group, &mut hedges);
        if let Some(live) = live(draft, group, &spec) {
            spec.live = Some(listed.live_delays.len());
            listed.live_delays.push(live);
        }
        let mut urls_are_right = true;
        let stated = group.keys.latency.as_ref().map(|at| &at.value);
        let hedge = rule(draft, group).cloned().map(Arc::new);
        for (name, i) in group.names.iter() {
            let targets = if urls_are_right { targets(reader, draft, group, &name, i) } else { None };
            urls_are_right = targets.is_some();
            listed.entries.push(BranchEntry {
                law: stated.map(|stated| stated.law.clone()),
                fit_error: stated.and_then(|stated| stated.fit_error),
                percentiles: stated.and_then(|stated| stated.percentiles.clone()),
                hedge: hedge.clone(),
                earlier: earlier.clone(),
                targets: targets.unwrap_or_default(),
            });
            let required = required.map_or(spec.required, |names| Some(names.contains(&name)));
            listed.specs.push(BranchSpec { name, required, ..spec.clone() });
            listed.group_of.push(index);
        }
    }
    hedges.note(reader);
    listed
}

/// Notes a backfill that would have nothing to fill in.
fn useless_backfill(reader: &mut Reader<'_>, draft: &PlanDraft<'_>, plan: &Plan) {
    if let Some(backfill) = &draft.backfill
        && plan.required() == plan.n()
    {
        let message = "`backfill` without an optional branch; there would be nothing to fill in";
        reader.fault(backfill.span.clone(), message);
    }
}

/// Notes names that are to be required and that no branch has.
fn unknown(reader: &mut Reader<'_>, draft: &PlanDraft<'_>, required: &[String], specs: &[BranchSpec]) {
    for name in required.iter().filter(|name| specs.iter().all(|spec| spec.name != **name)) {
        let near = did_you_mean(name, specs.iter().map(|spec| spec.name.as_str()));
        let message = format!("plan {} has no branch {} to require{near}", quote(draft.name), quote(name));
        reader.fault(draft.name_span.clone(), message);
    }
}

fn value<T: Copy>(stated: Option<&At<T>>) -> Option<T> {
    stated.map(|at| at.value)
}

/// The live delay of a group whose one copy is due at a percentile: until that is known it is `warming`, or else what a
/// prediction goes by.
fn live(draft: &PlanDraft<'_>, group: &Group<'_>, spec: &BranchSpec) -> Option<LiveDelaySpec> {
    let live = rule(draft, group)?.live()?;
    let [delay] = spec.hedge.as_ref()?.delays[..] else { return None };
    (delay > Time::ZERO).then_some(LiveDelaySpec { warming: live.warming.or(Some(delay)), ..live })
}

/// What is stated of a group's copies.
fn rule<'a>(draft: &'a PlanDraft<'_>, group: &'a Group<'_>) -> Option<&'a HedgeRule> {
    match &group.keys.hedge {
        Some(own) => own.value.as_ref(),
        None => draft.hedge.as_ref().map(|hedge| &hedge.value),
    }
}

/// What the branches of a group have in common, their name left empty; and the copy that the deadline moved.
fn branch<'a>(
    reader: &mut Reader<'_>,
    draft: &PlanDraft<'a>,
    group: &Group<'a>,
    hedges: &mut HedgeFaults<'a>,
) -> (BranchSpec, Option<EarlierCopy>) {
    let BranchKeys {
        optional,
        deadline,
        attempt_timeout,
        repeatable,
        limiter,
        weight,
        cost,
        tolerates_missing,
        failover,
        urls,
        latency,
        ..
    } = &group.keys;
    let route = draft.route.as_ref().map(|route| &route.value);
    // Whether a route that is not right would have made it repeatable is not known.
    let by_route = route.is_some_and(|route| route.as_ref().is_none_or(Route::is_repeatable));
    if let (Some(weight), None) = (weight, limiter) {
        reader.fault(weight.span.clone(), "`weight` without `limiter`; it would do nothing");
    }
    if let (Some(_), None) = (route, urls) {
        let message = format!(
            "branch {} has neither `url` nor `targets`, but its plan has a route",
            quote(group.names.label())
        );
        reader.fault(group.span.clone(), message);
    }
    let deadline = value(deadline.as_ref());
    let rule = rule(draft, group);
    let law = latency.as_ref().map(|at| &at.value.law);
    let hedge = rule.map(|rule| resolve(rule, law, deadline.or(value(draft.deadline.as_ref()))));
    let copies = hedge.transpose().unwrap_or_else(|faults| {
        hedges.add(group, faults);
        None
    });
    let (hedge, earlier) = copies.map(|Resolved { hedge, earlier }| (hedge, earlier)).unzip();
    let spec = BranchSpec {
        required: optional.as_ref().map(|optional| !optional.value),
        deadline,
        attempt_timeout: value(attempt_timeout.as_ref()),
        hedge,
        tolerates_missing: value(tolerates_missing.as_ref()).unwrap_or(false),
        failover: value(failover.as_ref())
            .unwrap_or_else(|| draft.failover.as_ref().is_some_and(|at| at.value.on)),
        repeatable: repeatable.as_ref().map_or(by_route, |at| at.value),
        targets: urls.as_ref().map_or(1, |urls| urls.value.len().max(1) as u32),
        limiter: limiter.as_ref().and_then(|at| at.value),
        // Without a limiter the fault is noted above.
        weight: weight.as_ref().filter(|_| limiter.is_some()).map_or(1, |at| at.value),
        cost: value(cost.as_ref()),
        ..BranchSpec::new("")
    };
    (spec, earlier.flatten())
}

/// Faults of copies, like ones of several branches once: a plan's `hedge` holds for all of them.
#[derive(Default)]
struct HedgeFaults<'a>(Vec<(Fault, Vec<&'a str>)>);

impl<'a> HedgeFaults<'a> {
    fn add(&mut self, group: &Group<'a>, faults: Vec<Fault>) {
        for fault in faults {
            match self.0.iter_mut().find(|(noted, _)| *noted == fault) {
                Some((_, names)) => names.push(group.names.label()),
                None => self.0.push((fault, vec![group.names.label()])),
            }
        }
    }

    fn note(self, reader: &mut Reader<'_>) {
        for (Fault { span, message }, names) in self.0 {
            reader.fault(span, format!("{}{message}", subject(&names)));
        }
    }
}

/// `branch x: `, as the start of a message.
fn subject(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => format!("branch {}: ", quote(name)),
        _ => format!("branches {}: ", list_and_more(names)),
    }
}

/// The targets of one branch; `None` when a URL is not right.
fn targets(
    reader: &mut Reader<'_>,
    draft: &PlanDraft<'_>,
    group: &Group<'_>,
    name: &str,
    i: Option<u32>,
) -> Option<Vec<UrlTemplate>> {
    let Some(urls) = &group.keys.urls else { return Some(Vec::new()) };
    let route = match &draft.route {
        // Which parameters it would have is not known.
        Some(At { value: None, .. }) => return None,
        Some(At { value: Some(route), .. }) => Some(route),
        None => None,
    };
    let parameters: Vec<&str> = route.iter().flat_map(|route| route.parameters()).collect();
    let mut list = Vec::new();
    for text in &urls.value {
        match template(text.str, Known { branch: name, i, parameters: &parameters }) {
            Ok(template) => list.push(template),
            Err(faults) => reader.faults_in("url", text, faults),
        }
    }
    (list.len() == urls.value.len()).then_some(list)
}

/// Where in the file the core's errors are.
struct Places<'d, 'a> {
    draft: &'d PlanDraft<'a>,
    groups: &'d [Group<'a>],
    limiters: &'d [LimiterDraft],
    /// The group of each branch.
    group_of: Vec<usize>,
}

impl Places<'_, '_> {
    /// Notes the errors, like ones of several branches once.
    fn note(&self, reader: &mut Reader<'_>, errors: &PlanErrors) {
        let mut noted: Vec<(Range<usize>, &PlanError, Vec<&str>)> = Vec::new();
        for error in errors.iter() {
            let span = self.span(&error.field);
            let name = match &error.field {
                Field::Branch { name, .. } => Some(name.as_str()),
                _ => None,
            };
            let same = noted.iter_mut().find(|(place, first, _)| {
                *place == span
                    && key(&first.field) == key(&error.field)
                    && (&first.value, &first.expected) == (&error.value, &error.expected)
            });
            match same {
                Some((_, _, names)) => names.extend(name),
                None => noted.push((span, error, name.into_iter().collect())),
            }
        }
        for (span, error, names) in noted {
            reader.fault(span, self.message(error, &names));
        }
    }

    fn message(&self, error: &PlanError, names: &[&str]) -> String {
        let PlanError { field, value, expected } = error;
        let mut message = format!("{}`{}`: got {value}, expected {expected}", subject(names), key(field));
        if let Field::Branch { index, field: "hedge", .. } = field
            && !self.groups[self.group_of[*index]].keys.repeatable.as_ref().is_some_and(|at| at.value)
            && expected == "a repeatable branch"
        {
            message.push_str(
                "; state `repeatable = true` if its request may be sent twice, else `hedge = false`",
            );
        }
        message
    }

    fn span(&self, field: &Field) -> Range<usize> {
        let name = || self.draft.name_span.clone();
        match field {
            Field::Plan(field) => self.of_plan(field).unwrap_or_else(name),
            Field::Branch { index, field, .. } => {
                let group = &self.groups[self.group_of[*index]];
                self.of_branch(group, field).unwrap_or_else(|| group.span.clone())
            }
            Field::Limiter { index, field, .. } => {
                let limiter = &self.limiters[*index];
                let stated = match *field {
                    "gate" => &limiter.gate,
                    "rate" => &limiter.rate,
                    "burst" => &limiter.burst,
                    "pushback_cap" => &limiter.pushback_cap,
                    "strict" => &limiter.strict,
                    "backfill_share" => &limiter.backfill_share,
                    _ => &None,
                };
                stated.clone().unwrap_or_else(|| limiter.name_span.clone())
            }
            _ => name(),
        }
    }

    fn of_plan(&self, field: &str) -> Option<Range<usize>> {
        match field {
            "wait_for" => span(self.draft.wait_for.as_ref()),
            "at_least" => span(self.draft.at_least.as_ref()),
            "deadline" => span(self.draft.deadline.as_ref()),
            "hedge budget" => span(self.draft.hedge.as_ref()),
            "failover budget" => span(self.draft.failover.as_ref()),
            "leader" => self.draft.leader.as_ref().map(|leader| leader.branch.span.clone()),
            "head_start" => self.draft.leader.as_ref().map(|leader| leader.head_start.span.clone()),
            "observe" => span(self.draft.observe.as_ref()),
            "holdout" => span(self.draft.holdout.as_ref()),
            _ => None,
        }
    }

    fn of_branch(&self, group: &Group<'_>, field: &str) -> Option<Range<usize>> {
        let keys = &group.keys;
        let rule = rule(self.draft, group);
        match field {
            "deadline" => span(keys.deadline.as_ref()),
            "attempt_timeout" => span(keys.attempt_timeout.as_ref()),
            "targets" => span(keys.urls.as_ref()),
            "cost" => span(keys.cost.as_ref()),
            "weight" => span(keys.weight.as_ref()),
            "limiter" => span(keys.limiter.as_ref()),
            "after" => span(keys.after.as_ref()),
            "failover" => span(keys.failover.as_ref()).or_else(|| span(self.draft.failover.as_ref())),
            "hedge" => rule.map(|rule| rule.copies.span.clone()),
            "min_useful" => rule.and_then(|rule| span(rule.min_useful.as_ref())),
            "distinct" => rule.and_then(|rule| span(rule.distinct.as_ref())),
            _ => None,
        }
    }
}

fn span<T>(stated: Option<&At<T>>) -> Option<Range<usize>> {
    stated.map(|at| at.span.clone())
}

/// The key that a field of the core is stated by.
fn key(field: &Field) -> &'static str {
    match field {
        Field::Plan("hedge budget") => "hedge",
        Field::Plan("failover budget") => "failover",
        Field::Plan(field) | Field::Branch { field, .. } | Field::Limiter { field, .. } => field,
        _ => "plan",
    }
}
