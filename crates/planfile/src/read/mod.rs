//! From TOML to plans: walks the spanned tree and collects every fault.

mod branch;
mod check;
mod client;
mod hedge;
mod limiter;
mod plan;
mod reader;
mod scenario;
mod stages;
mod syntax;

pub use hedge::HedgeRule;
pub(crate) use hedge::{After, Copies, race, resolve};
pub(crate) use reader::{At, time_error};

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::config::{Config, Overrides};
use crate::keys::Scope;
use crate::problem::{Fault, quote};
use reader::{Entry, Reader, Table, entries};

/// Reads a whole file, its plans changed by `overrides`.
pub(crate) fn config(text: &str, overrides: &Overrides) -> Result<Config, Vec<Fault>> {
    let (root, errors) = DeTable::parse_recoverable(text);
    let syntax = syntax::faults(text, &errors);
    let mut reader = Reader::new(text);
    let mut file = Table::new(root.get_ref(), Scope::File);
    let limiters =
        file.take("limiter").map(|entry| limiter::limiters(&mut reader, &entry)).unwrap_or_default();
    let mut plans = Vec::new();
    let stated = file.take("plan");
    for entry in stated.as_ref().map(|entry| named(&mut reader, entry)).unwrap_or_default() {
        plans.extend(plan::draft(&mut reader, &entry, &limiters, overrides));
    }
    let simulated = file.take("scenario").and_then(|entry| scenario::scenario(&mut reader, &entry, &plans));
    reader.finish(file);
    // What a broken line was meant to say is not known, so what depends on several lines is judged without them only.
    let broken = syntax.iter().any(|fault| !fault.is_duplicate());
    let mut checked = Vec::new();
    if !broken {
        same_route(&mut reader, &plans);
        checked = check::plans(&mut reader, &plans, &limiters, overrides.required.as_deref());
        if checked.is_empty() && reader.faults.is_empty() {
            reader.fault(
                stated.map_or(0..0, |entry| entry.key_span),
                "no plan; expected at least one [plan.NAME]",
            );
        }
    }
    let faults = syntax::merge(text, syntax, reader.faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(Config {
        limiters: limiters.into_iter().map(|limiter| limiter.spec).collect(),
        plans: checked,
        simulated,
    })
}

/// The entries of a table of tables by name. Names are shown everywhere, so none may hold what a terminal obeys.
fn named<'a>(reader: &mut Reader<'_>, entry: &Entry<'a>) -> Vec<Entry<'a>> {
    let DeValue::Table(table) = entry.value else {
        reader.mismatch(entry, &format!("tables by name, like [{}.NAME]", entry.key));
        return Vec::new();
    };
    let entries = entries(table);
    for entry in &entries {
        visible(reader, entry.key, entry.key_span.clone());
    }
    entries
}

/// Notes a name that holds characters nobody sees.
fn visible(reader: &mut Reader<'_>, name: &str, span: Range<usize>) {
    if name.contains(char::is_control) {
        reader.fault(span, format!("`name`: got {}, expected no control characters", quote(name)));
    }
}

/// Notes plans that would answer the same requests.
fn same_route(reader: &mut Reader<'_>, plans: &[plan::PlanDraft<'_>]) {
    let mut taken: BTreeMap<String, (&str, String)> = BTreeMap::new();
    for plan in plans {
        let Some(At { value: Some(route), span }) = &plan.route else { continue };
        let documents = plan.backfill.as_ref().map(|_| route.documents());
        for route in std::iter::once(route).chain(&documents) {
            let what = route.to_string();
            match taken.get(&route.shape()) {
                Some((other, stated)) => {
                    let message = format!(
                        "`route`: plan `{other}` answers `{stated}` already; expected a route of its own"
                    );
                    reader.fault(span.clone(), message);
                }
                None => {
                    taken.insert(route.shape(), (plan.name, what));
                }
            }
        }
    }
}
