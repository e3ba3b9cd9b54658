//! What is stated of a branch, in `defaults`, in `each` or by name.

use std::ops::Range;

use fantail_core::Time;
use fantail_core::plan::MAX_BRANCHES;
use toml::de::DeValue;

use super::limiter::LimiterDraft;
use super::reader::{At, Entry, Reader, Table, Text};
use super::{hedge, named, visible};
use crate::keys::Scope;
use crate::law::{self, StatedLaw};
use crate::problem::{did_you_mean, quote};

/// The stated keys of a branch.
#[derive(Clone, Default)]
pub(super) struct BranchKeys<'a> {
    pub(super) urls: Option<At<Vec<Text<'a>>>>,
    pub(super) latency: Option<At<StatedLaw>>,
    pub(super) optional: Option<At<bool>>,
    pub(super) deadline: Option<At<Time>>,
    pub(super) attempt_timeout: Option<At<Time>>,
    pub(super) repeatable: Option<At<bool>>,
    /// The limiter's index; none inside when there is no such limiter.
    pub(super) limiter: Option<At<Option<usize>>>,
    pub(super) weight: Option<At<u32>>,
    pub(super) cost: Option<At<f64>>,
    /// The names of what it comes after.
    pub(super) after: Option<At<Vec<At<&'a str>>>>,
    pub(super) tolerates_missing: Option<At<bool>>,
    pub(super) failover: Option<At<bool>>,
    /// The copies; none inside when there shall be none.
    pub(super) hedge: Option<At<Option<hedge::HedgeRule>>>,
}

impl<'a> BranchKeys<'a> {
    /// These keys, with `defaults` where nothing is stated.
    fn or(self, defaults: &BranchKeys<'a>) -> BranchKeys<'a> {
        BranchKeys {
            urls: self.urls.or_else(|| defaults.urls.clone()),
            latency: self.latency.or_else(|| defaults.latency.clone()),
            optional: self.optional.or_else(|| defaults.optional.clone()),
            deadline: self.deadline.or_else(|| defaults.deadline.clone()),
            attempt_timeout: self.attempt_timeout.or_else(|| defaults.attempt_timeout.clone()),
            repeatable: self.repeatable.or_else(|| defaults.repeatable.clone()),
            limiter: self.limiter.or_else(|| defaults.limiter.clone()),
            weight: self.weight.or_else(|| defaults.weight.clone()),
            cost: self.cost.or_else(|| defaults.cost.clone()),
            after: self.after,
            tolerates_missing: self.tolerates_missing,
            failover: self.failover.or_else(|| defaults.failover.clone()),
            hedge: self.hedge.or_else(|| defaults.hedge.clone()),
        }
    }
}

/// Branches that state the same: one by name, or those of `each`.
pub(super) struct Group<'a> {
    pub(super) names: Names<'a>,
    /// Where they are named.
    pub(super) span: Range<usize>,
    pub(super) keys: BranchKeys<'a>,
}

/// The names of a group.
#[derive(Clone, Copy)]
pub(super) enum Names<'a> {
    One(&'a str),
    Each { template: &'a str, count: u32 },
}

impl<'a> Names<'a> {
    /// The name, or the template of the names, for messages.
    pub(super) fn label(&self) -> &'a str {
        match self {
            Names::One(name) | Names::Each { template: name, .. } => name,
        }
    }

    /// The names, those of `each` with their number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (String, Option<u32>)> {
        let (one, each) = match *self {
            Names::One(name) => (Some((name.to_owned(), None)), None),
            Names::Each { template, count } => {
                (None, Some((0..count).map(move |i| (template.replace("{i}", &i.to_string()), Some(i)))))
            }
        };
        one.into_iter().chain(each.into_iter().flatten())
    }
}

/// Reads `defaults`, `each` and `branch` of a plan. The groups are in the order of the file; `None` when how many
/// branches there are cannot be told.
pub(super) fn groups<'a>(
    reader: &mut Reader<'_>,
    table: &mut Table<'a>,
    limiters: &[LimiterDraft],
) -> Option<Vec<Group<'a>>> {
    let mut defaults = BranchKeys::default();
    if let Some(entry) = table.take("defaults")
        && let Some(mut table) = reader.table(&entry, Scope::Defaults)
    {
        defaults = keys(reader, &mut table, limiters);
        reader.finish(table);
    }
    let mut groups: Vec<Group<'a>> = Vec::new();
    let branches = table.take("branch").map(|entry| named(reader, &entry)).unwrap_or_default();
    for entry in branches {
        let mut own = BranchKeys::default();
        if let Some(mut table) = reader.table(&entry, Scope::Branch) {
            own = keys(reader, &mut table, limiters);
            reader.finish(table);
        }
        groups.push(Group { names: Names::One(entry.key), span: entry.key_span, keys: own.or(&defaults) });
    }
    let mut countable = true;
    if let Some(entry) = table.take("each") {
        let mut each = None;
        if let Some(mut table) = reader.table(&entry, Scope::Each) {
            let own = keys(reader, &mut table, limiters);
            each = names(reader, &entry, &mut table).map(|names| (names, own));
            reader.finish(table);
        }
        countable = each.is_some();
        groups.extend(each.map(|(At { value, span }, own)| Group {
            names: value,
            span,
            keys: own.or(&defaults),
        }));
    }
    groups.sort_by_key(|group| group.span.start);
    countable.then_some(groups)
}

/// `count` and `name` of `each`; `None` when the count is not right.
fn names<'a>(reader: &mut Reader<'_>, each: &Entry<'a>, table: &mut Table<'a>) -> Option<At<Names<'a>>> {
    let (count, name) = (table.take("count"), table.take("name"));
    if count.is_none() {
        reader.fault(each.key_span.clone(), "`each` has no `count`; expected how many branches there are");
    }
    if name.is_none() {
        reader.fault(each.key_span.clone(), "`each` has no `name`; expected one, like name = \"shard-{i}\"");
    }
    let stated = count.as_ref().and_then(|entry| reader.count(entry));
    let text = name.as_ref().and_then(|entry| reader.text_or(entry, "a text, like \"shard-{i}\""));
    if let Some(text) = &text {
        visible(reader, text.str, text.span.clone());
        let rest = text.str.replace("{i}", "");
        if rest.contains(['{', '}']) {
            let message = format!("`name`: {} has a brace that is not of {{i}}", quote(text.str));
            reader.fault(text.span.clone(), message);
        } else if stated.is_some_and(|count| count > 1) && rest == text.str {
            reader.fault(text.span.clone(), "`name`: all branches would have the same; expected {i} in it");
        }
    }
    let (entry, count) = (count?, stated?);
    if !(1..=MAX_BRANCHES as u32).contains(&count) {
        reader.fault(entry.span, format!("`count`: got {count}, expected 1 to {MAX_BRANCHES} branches"));
        return None;
    }
    let span = text.as_ref().map_or(each.key_span.clone(), |text| text.span.clone());
    // Names that are not right shall not bring up more faults.
    let template =
        text.map(|text| text.str).filter(|text| text.contains("{i}") || count == 1).unwrap_or("{i}");
    Some(At { value: Names::Each { template, count }, span })
}

/// Reads the keys that any branch may have.
fn keys<'a>(reader: &mut Reader<'_>, table: &mut Table<'a>, limiters: &[LimiterDraft]) -> BranchKeys<'a> {
    let [hedge, after, tolerates_missing] = if table.scope == Scope::Defaults {
        [None, None, None]
    } else {
        ["hedge", "after", "tolerates_missing"].map(|key| table.take(key))
    };
    let tolerates_missing = tolerates_missing.and_then(|entry| {
        let value = reader.boolean(&entry)?;
        if after.is_none() {
            reader.fault(entry.key_span, "`tolerates_missing` without `after`; it would do nothing");
        }
        Some(At { value, span: entry.span })
    });
    BranchKeys {
        urls: urls(reader, table),
        latency: reader.read(table, "latency", latency),
        optional: reader.read(table, "optional", Reader::boolean),
        deadline: reader.read(table, "deadline", Reader::time),
        attempt_timeout: reader.read(table, "attempt_timeout", Reader::time),
        // What is not right shall not bring up more faults: as if it were stated.
        repeatable: reader
            .read(table, "repeatable", |reader, entry| Some(reader.boolean(entry).unwrap_or(true))),
        limiter: reader.read(table, "limiter", |reader, entry| Some(limiter(reader, entry, limiters))),
        weight: reader.read(table, "weight", Reader::count),
        cost: reader.read(table, "cost", Reader::number),
        after: after.map(|entry| At { value: self::after(reader, &entry), span: entry.span }),
        tolerates_missing,
        failover: reader.read(table, "failover", Reader::boolean),
        hedge: hedge.map(|entry| At { value: hedge::of_branch(reader, &entry), span: entry.span }),
    }
}

fn urls<'a>(reader: &mut Reader<'_>, table: &mut Table<'a>) -> Option<At<Vec<Text<'a>>>> {
    let expected = "a URL in quotes, like \"http://127.0.0.1:9001/{branch}\"";
    let url = table.take("url");
    let one = url.as_ref().and_then(|entry| reader.text_or(entry, expected));
    let Some(targets) = table.take("targets") else {
        return url.map(|entry| At { value: one.into_iter().collect(), span: entry.span });
    };
    if url.is_some() {
        reader.fault(targets.key_span.clone(), "`targets` beside `url`; expected one of them");
    }
    let mut list = Vec::new();
    match targets.value {
        DeValue::Array(values) if !values.is_empty() => {
            for value in values {
                let (key, key_span) = (targets.key, targets.key_span.clone());
                let item = Entry { key, key_span, value: value.get_ref(), span: value.span() };
                list.extend(reader.text_or(&item, expected));
            }
        }
        _ => reader.mismatch(&targets, "a list of at least one URL"),
    }
    Some(At { value: list, span: targets.span })
}

/// The names of what a branch comes after.
fn after<'a>(reader: &mut Reader<'_>, entry: &Entry<'a>) -> Vec<At<&'a str>> {
    let expected = "a list of branches, like [\"a\", \"b\"]";
    let DeValue::Array(values) = entry.value else {
        reader.mismatch(entry, expected);
        return Vec::new();
    };
    let mut names = Vec::new();
    for value in values {
        let (key, key_span) = (entry.key, entry.key_span.clone());
        let item = Entry { key, key_span, value: value.get_ref(), span: value.span() };
        names.extend(reader.text_or(&item, expected).map(|text| At { value: text.str, span: text.span }));
    }
    names
}

pub(super) fn latency(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<StatedLaw> {
    let text = reader.text_or(entry, "a law in quotes, like \"lognormal:median=1s,sigma=0.6\"")?;
    law::law(text.str).map_err(|faults| reader.faults_in(entry.key, &text, faults)).ok()
}

fn limiter(reader: &mut Reader<'_>, entry: &Entry<'_>, limiters: &[LimiterDraft]) -> Option<usize> {
    let text = reader.text_or(entry, "the name of a limiter, in quotes")?;
    let index = limiters.iter().position(|limiter| limiter.spec.name == text.str);
    if index.is_none() {
        let near = did_you_mean(text.str, limiters.iter().map(|limiter| limiter.spec.name.as_str()));
        let none = if limiters.is_empty() { "; expected a [limiter.NAME] in this file" } else { "" };
        reader.fault(entry.span.clone(), format!("unknown limiter {}{near}{none}", quote(text.str)));
    }
    index
}
