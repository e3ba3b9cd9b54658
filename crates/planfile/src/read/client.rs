//! `[scenario.client.NAME]`: a client that knows no plan, to compare plans with.

use fantail_core::Time;
use fantail_model::sim::Client;

use super::branch;
use super::plan::PlanDraft;
use super::reader::{Entry, Reader};
use super::scenario::one_of;
use crate::config::ClientEntry;
use crate::keys::Scope;
use crate::problem::{did_you_mean, quote};

/// The most retries that a client may make.
const MOST_RETRIES: u32 = 1_000;

pub(super) fn client(
    reader: &mut Reader<'_>,
    entry: &Entry<'_>,
    plans: &[PlanDraft<'_>],
) -> Option<ClientEntry> {
    let mut table = reader.table(entry, Scope::Client)?;
    if plans.iter().any(|plan| plan.name == entry.key) {
        let message = format!("client {} has the name of a plan; expected one of its own", quote(entry.key));
        reader.fault(entry.key_span.clone(), message);
    }
    let stated = table.take("plan");
    let plan = stated.as_ref().and_then(|entry| plan(reader, entry, plans));
    let calls = reader.read(&mut table, "calls", |reader, entry| {
        one_of(reader, entry, &[("one by one", true), ("at once", false)])
    });
    let retries = reader.read(&mut table, "retries", retries);
    let backoff = reader.read(&mut table, "backoff", Reader::time);
    let latency = reader.read(&mut table, "latency", branch::latency);
    reader.finish(table);
    if let (Some(backoff), None) = (&backoff, &retries) {
        reader.fault(backoff.span.clone(), "`backoff` without `retries`; it would do nothing");
    }
    if stated.is_none() && plans.len() > 1 {
        let message =
            format!("client {} names no `plan`; expected that whose calls it makes", quote(entry.key));
        reader.fault(entry.key_span.clone(), message);
    }
    Some(ClientEntry {
        name: entry.key.to_owned(),
        plan: plan.or_else(|| Some(plans.first()?.name.to_owned()))?,
        latency: latency.map(|latency| latency.value.law),
        client: Client {
            sequential: calls.is_some_and(|calls| calls.value),
            retries: retries.map_or(0, |retries| retries.value),
            backoff: backoff.map_or(Time::from_secs(1), |backoff| backoff.value),
        },
    })
}

fn plan(reader: &mut Reader<'_>, entry: &Entry<'_>, plans: &[PlanDraft<'_>]) -> Option<String> {
    let text = reader.text_or(entry, "the name of a plan, in quotes")?;
    if plans.iter().any(|plan| plan.name == text.str) {
        return Some(text.str.to_owned());
    }
    let near = did_you_mean(text.str, plans.iter().map(|plan| plan.name));
    reader.fault(text.span.clone(), format!("`plan`: unknown plan {}{near}", quote(text.str)));
    None
}

fn retries(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<u16> {
    let retries = reader.count(entry)?;
    if retries > MOST_RETRIES {
        let message = format!("`retries`: got {retries}, expected at most {MOST_RETRIES}");
        reader.fault(entry.span.clone(), message);
        return None;
    }
    u16::try_from(retries).ok()
}
