//! `[scenario]`: the world that simulated jobs meet.

use std::ops::Range;

use fantail_core::{Rate, Time};
use fantail_model::sim::{
    Allows, Arrivals, Choice, Failures, Limit, RetryAfter, Scenario, Server, SimError, Simulation, Slow,
};
use fantail_model::{Cancellation, Dependence, Law};
use toml::de::DeValue;

use super::plan::PlanDraft;
use super::reader::{At, Entry, Reader, Table, entries};
use super::{branch, client, limiter, named};
use crate::config::Simulated;
use crate::keys::Scope;
use crate::problem::{did_you_mean, quote};

/// Reads `[scenario]`, of a file with these plans.
pub(super) fn scenario(
    reader: &mut Reader<'_>,
    entry: &Entry<'_>,
    plans: &[PlanDraft<'_>],
) -> Option<Simulated> {
    let mut table = reader.table(entry, Scope::Scenario)?;
    let mut scenario = Scenario { warm_up: None, ..Scenario::default() };
    if let Some(At { value, span }) = reader.read(&mut table, "arrivals", arrivals) {
        scenario.arrivals = value;
        if let Err(error) = Simulation::check(&scenario) {
            reader.fault(span, error.to_string());
        }
    }
    if let Some(shares) = reader.read(&mut table, "shares", shares) {
        scenario.dependence = shares.value;
    }
    if let Some(sigma) = reader.read(&mut table, "size_sigma", size_sigma) {
        scenario.size = Some(sigma.value);
    }
    if let Some(jobs) = reader.read(&mut table, "warm_up", Reader::count) {
        scenario.warm_up = Some(jobs.value.into());
    }
    let servers = table.take("server").map(|entry| named(reader, &entry)).unwrap_or_default();
    for entry in &servers {
        let server = server(reader, entry, plans, &scenario.servers);
        if server.branches.is_empty()
            && let Some(other) = scenario.servers.iter().find(|other| other.branches.is_empty())
        {
            let message = format!(
                "server {} names no `branches`, nor does {}; expected one of them at most to serve all others",
                quote(entry.key),
                quote(&other.name)
            );
            reader.fault(entry.key_span.clone(), message);
        }
        scenario.servers.push(server);
    }
    let clients = table.take("client").map(|entry| named(reader, &entry)).unwrap_or_default();
    let clients = clients.iter().filter_map(|entry| client::client(reader, entry, plans)).collect();
    reader.finish(table);
    Some(Simulated { scenario, clients })
}

fn arrivals(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<Arrivals> {
    let expected = "a rate in quotes, like \"10/s\", or a table, like { every = \"100ms\" }";
    if reader.text_of(entry).is_some() {
        let expected = "jobs in a time, in quotes, like \"10/s\", \"0.5/s\" or \"3/2min\"";
        let (jobs, per): (f64, Time) = limiter::in_a_time(reader, entry, expected)?;
        return Some(Arrivals::Poisson(jobs / per.as_secs_f64()));
    }
    if !matches!(entry.value, DeValue::Table(_)) {
        reader.mismatch(entry, expected);
        return None;
    }
    let mut table = reader.table(entry, Scope::Arrivals)?;
    let every = reader.read(&mut table, "every", Reader::span).map(|every| Arrivals::Every(every.value));
    let trace = reader.read(&mut table, "trace", trace).map(|trace| Arrivals::Trace(trace.value.into()));
    let clients = reader.read(&mut table, "clients", Reader::positive);
    let think = reader.read(&mut table, "think", Reader::time);
    reader.finish(table);
    let clients = clients.map(|clients| Arrivals::Clients {
        clients: clients.value,
        think: think.map_or(Time::ZERO, |think| think.value),
    });
    let stated: Vec<Arrivals> = [every, trace, clients].into_iter().flatten().collect();
    if stated.len() != 1 {
        let message = "`arrivals`: expected one of `every`, `clients` and `trace`";
        reader.fault(entry.span.clone(), message);
    }
    stated.into_iter().next()
}

fn trace(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<Vec<Time>> {
    let DeValue::Array(values) = entry.value else {
        reader.mismatch(entry, "a list of instants, like [\"0s\", \"1.2s\"]");
        return None;
    };
    let item = |value: &toml::Spanned<DeValue<'_>>| {
        let item = Entry {
            key: entry.key,
            key_span: entry.key_span.clone(),
            value: value.get_ref(),
            span: value.span(),
        };
        reader.time(&item)
    };
    values.iter().map(item).collect()
}

/// What attempts have in common.
fn shares(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<Dependence> {
    let mut table = reader.table(entry, Scope::Shares)?;
    let mut share = |reader: &mut Reader<'_>, key| {
        reader.read(&mut table, key, Reader::share).map_or(0.0, |share| f64::from(share.value) / 1e6)
    };
    let (job, branch) = (share(reader, "job"), share(reader, "branch"));
    reader.finish(table);
    let shares = Dependence::new(job, branch);
    if shares.is_err() {
        reader.fault(entry.span.clone(), "`shares`: expected at most 100% together");
    }
    shares.ok()
}

fn size_sigma(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<Law> {
    let sigma = reader.number(entry)?;
    Law::log_normal(1.0, sigma)
        .map_err(|error| reader.fault(entry.span.clone(), format!("`size_sigma`: {error}")))
        .ok()
}

/// One server, beside those before it.
fn server(reader: &mut Reader<'_>, entry: &Entry<'_>, plans: &[PlanDraft<'_>], others: &[Server]) -> Server {
    let mut server = Server::new(entry.key);
    let Some(mut keys) = reader.table(entry, Scope::Server) else { return server };
    let table = &mut keys;
    let names = reader.read(table, "branches", |reader, entry| branches(reader, entry, plans, others));
    if let Some(names) = names {
        server.branches = names.value;
    }
    if let Some(replicas) = reader.read(table, "replicas", Reader::positive) {
        server.replicas = replicas.value;
    }
    server.slots = reader.read(table, "slots", Reader::positive).map(|slots| slots.value);
    if let Some(choice) = reader.read(table, "choice", choice) {
        server.choice = choice.value;
    }
    server.failures = failures(reader, table);
    server.limit = limit(reader, table);
    server.slow = reader.read(table, "slow", slow).map(|slow| slow.value);
    if let Some(prefill) = reader.read(table, "prefill", Reader::time) {
        server.prefill = prefill.value;
    }
    if let Some(cancellation) = reader.read(table, "cancellation", cancellation) {
        server.cancellation = cancellation.value;
    }
    reader.finish(keys);
    check(reader, entry, &server);
    server
}

/// Notes what is out of its range in a server, at its key.
fn check(reader: &mut Reader<'_>, entry: &Entry<'_>, server: &Server) {
    let mut fault = |path: &[&str], message: String| {
        let at = value_of(entry, path).map_or(entry.key_span.clone(), |(_, span)| span);
        reader.fault(at, message);
    };
    let Server { name, replicas, slow, .. } = server;
    if let Some(slow) = slow.as_ref().and_then(|slow| slow.replicas).filter(|slow| slow > replicas) {
        let message = format!(
            "`replicas`: got {slow} that are slow, expected at most the {replicas} of server {}",
            quote(name)
        );
        fault(&["slow", "replicas"], message);
    }
    let alone = Scenario { servers: vec![server.clone()], ..Scenario::default() };
    let Err(error) = Simulation::check(&alone) else { return };
    let path: &[&str] = match error {
        SimError::Server { field: "retryable failures", .. } => &["errors"],
        SimError::Server { field: "permanent failures" | "failures", .. } => &["permanent_errors"],
        SimError::Server { field: "calls of the limit" | "time of the limit", .. } => {
            if value_of(entry, &["window"]).is_some() { &["window"] } else { &["rate"] }
        }
        SimError::Server { field: "factor of slow periods", .. } => &["slow", "factor"],
        SimError::Server { field: "length of slow periods", .. } => &["slow", "lasts"],
        SimError::Server { field: "distance of slow periods", .. } => &["slow", "every"],
        SimError::Server { field: "beginning of slow periods", .. } => &["slow", "from"],
        SimError::Server { field, .. } => &[field],
        _ => &[],
    };
    fault(path, error.to_string());
}

/// What is stated below an entry, and where.
fn value_of<'a>(entry: &Entry<'a>, path: &[&str]) -> Option<(&'a DeValue<'a>, Range<usize>)> {
    path.iter().try_fold((entry.value, entry.key_span.clone()), |(value, _), key| {
        let DeValue::Table(table) = value else { return None };
        let found = entries(table).into_iter().find(|entry| entry.key == *key)?;
        Some((found.value, found.span))
    })
}

/// Names of branches of any plan, which no other server names.
fn branches(
    reader: &mut Reader<'_>,
    entry: &Entry<'_>,
    plans: &[PlanDraft<'_>],
    others: &[Server],
) -> Option<Vec<String>> {
    let DeValue::Array(values) = entry.value else {
        reader.mismatch(entry, "a list of names of branches, like [\"type\", \"parties\"]");
        return None;
    };
    let groups = plans.iter().filter_map(|plan| plan.groups.as_ref()).flatten();
    let known: Vec<String> = groups.flat_map(|group| group.names.iter().map(|(name, _)| name)).collect();
    let mut names = Vec::new();
    for value in values {
        let item = Entry {
            key: entry.key,
            key_span: entry.key_span.clone(),
            value: value.get_ref(),
            span: value.span(),
        };
        let Some(name) = reader.text_or(&item, "the name of a branch, in quotes") else { continue };
        let quoted = quote(name.str);
        if let Some(other) = others.iter().find(|other| other.branches.iter().any(|one| one == name.str)) {
            let other = quote(&other.name);
            let message = format!("`branches`: server {other} serves {quoted} already; expected one of them");
            reader.fault(name.span, message);
        } else if names.iter().any(|one| one == name.str) {
            reader.fault(name.span, format!("`branches`: {quoted} twice; expected each branch once"));
        } else if known.iter().any(|known| known == name.str) {
            names.push(name.str.to_owned());
        } else {
            let near = did_you_mean(name.str, known.iter().map(String::as_str));
            reader.fault(name.span, format!("`branches`: no plan has a branch {quoted}{near}"));
        }
    }
    Some(names)
}

fn choice(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<Choice> {
    one_of(
        reader,
        entry,
        &[("random", Choice::Random), ("least loaded", Choice::LeastLoaded), ("in turn", Choice::RoundRobin)],
    )
}

fn failures(reader: &mut Reader<'_>, table: &mut Table<'_>) -> Failures {
    let mut share = |reader: &mut Reader<'_>, key| {
        reader.read(table, key, Reader::share).map(|share| f64::from(share.value) / 1e6)
    };
    let (retryable, permanent) = (share(reader, "errors"), share(reader, "permanent_errors"));
    let law = reader.read(table, "error_latency", branch::latency);
    if let (Some(law), None, None) = (&law, retryable, permanent) {
        let message = "`error_latency` without `errors` or `permanent_errors`; it would do nothing";
        reader.fault(law.span.clone(), message);
    }
    Failures {
        retryable: retryable.unwrap_or_default(),
        permanent: permanent.unwrap_or_default(),
        law: law.map(|law| law.value.law),
    }
}

fn limit(reader: &mut Reader<'_>, table: &mut Table<'_>) -> Option<Limit> {
    let rate = reader.read(table, "rate", limiter::rate);
    let burst = reader.read(table, "burst", Reader::positive);
    let window = reader.read(table, "window", limiter::rate);
    let after = reader.read(table, "rejects_after", Reader::time);
    let retry_after = reader.read(table, "retry_after", retry_after);
    let allows = match (rate, burst, &window) {
        (Some(rate), Some(burst), None) => {
            let (permits, per) = rate.value;
            Some(Allows::Bucket(Rate { permits, per, burst: burst.value }))
        }
        (None, None, Some(At { value: (calls, per), .. })) => {
            Some(Allows::Window { calls: *calls, per: *per })
        }
        (None, None, None) => None,
        (Some(At { span, .. }), None, None) => {
            reader
                .fault(span, "`rate` without `burst`; expected how many it takes at once after an idle time");
            None
        }
        (None, Some(At { span, .. }), _) => {
            reader.fault(span, "`burst` without `rate`; it would do nothing");
            None
        }
        (Some(At { span, .. }), _, Some(_)) => {
            reader.fault(span, "`rate` beside `window`; expected one of them");
            None
        }
    };
    if allows.is_none()
        && let Some(span) =
            after.as_ref().map(|after| &after.span).or(retry_after.as_ref().map(|after| &after.span))
    {
        unlimited(reader, span);
    }
    Some(Limit {
        allows: allows?,
        answers_after: after.map_or(Time::ZERO, |after| after.value),
        retry_after: retry_after.map_or(RetryAfter::Unsaid, |after| after.value),
    })
}

fn unlimited(reader: &mut Reader<'_>, span: &Range<usize>) {
    let message = "`rejects_after` and `retry_after` do nothing without a `rate` or a `window`";
    reader.fault(span.clone(), message);
}

fn retry_after(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<RetryAfter> {
    match reader.text_of(entry) {
        Some(text) if text.str == "exact" => Some(RetryAfter::Exact),
        Some(_) => reader.time(entry).map(RetryAfter::Fixed),
        None => {
            reader.mismatch(entry, "\"exact\", or a duration in quotes, like \"13s\"");
            None
        }
    }
}

fn slow(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<Slow> {
    let mut table = reader.table(entry, Scope::Slow)?;
    let factor = reader.read(&mut table, "factor", factor);
    let lasts = reader.read(&mut table, "lasts", Reader::span);
    let every = reader.read(&mut table, "every", Reader::span);
    let from = reader.read(&mut table, "from", Reader::time);
    let replicas = reader.read(&mut table, "replicas", Reader::positive);
    reader.finish(table);
    if lasts.is_none() {
        reader.fault(entry.span.clone(), "`slow` has no `lasts`; expected how long the server is slow");
    }
    Some(Slow {
        factor: factor.map_or(f64::INFINITY, |factor| factor.value),
        lasts: lasts?.value,
        every: every.map(|every| every.value),
        from: from.map_or(Time::ZERO, |from| from.value),
        replicas: replicas.map(|replicas| replicas.value),
    })
}

fn factor(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<f64> {
    let factor = reader.number(entry)?;
    if factor.is_nan() || factor < 1.0 {
        reader.fault(entry.span.clone(), format!("`factor`: got {factor}, expected at least 1"));
        return None;
    }
    Some(factor)
}

fn cancellation(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<Cancellation> {
    match reader.text_of(entry) {
        Some(text) if text.str == "at once" => Some(Cancellation::AtOnce),
        Some(text) if text.str == "never" => Some(Cancellation::Never),
        Some(_) => reader.time(entry).map(|lag| Cancellation::After(lag.as_secs_f64())),
        None => {
            reader.mismatch(entry, "\"at once\", \"never\", or a duration in quotes, like \"50ms\"");
            None
        }
    }
}

/// One of a few words.
pub(super) fn one_of<T: Copy>(reader: &mut Reader<'_>, entry: &Entry<'_>, words: &[(&str, T)]) -> Option<T> {
    let quoted: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    let text = reader.text_or(entry, &quoted.join(" or "))?;
    let found = words.iter().find(|(word, _)| *word == text.str).map(|(_, value)| *value);
    if found.is_none() {
        let near = did_you_mean(text.str, words.iter().map(|(word, _)| *word));
        let expected = if near.is_empty() { format!("; expected {}", quoted.join(" or ")) } else { near };
        reader.fault(text.span, format!("`{}`: unknown word {}{expected}", entry.key, quote(text.str)));
    }
    found
}
