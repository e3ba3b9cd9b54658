//! `[limiter.NAME]`.

use std::ops::Range;
use std::str::FromStr;

use fantail_core::{LimiterSpec, Rate, Time};

use super::named;
use super::reader::{At, Entry, Reader};
use crate::keys::Scope;
use crate::problem::quote;

/// A limiter with the places of what it states.
pub(super) struct LimiterDraft {
    pub(super) spec: LimiterSpec,
    pub(super) name_span: Range<usize>,
    pub(super) gate: Option<Range<usize>>,
    pub(super) rate: Option<Range<usize>>,
    pub(super) burst: Option<Range<usize>>,
    pub(super) pushback_cap: Option<Range<usize>>,
    pub(super) strict: Option<Range<usize>>,
    pub(super) backfill_share: Option<Range<usize>>,
}

pub(super) fn limiters(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Vec<LimiterDraft> {
    named(reader, entry).iter().map(|entry| limiter(reader, entry)).collect()
}

fn limiter(reader: &mut Reader<'_>, entry: &Entry<'_>) -> LimiterDraft {
    let mut draft = LimiterDraft {
        spec: LimiterSpec::new(entry.key),
        name_span: entry.key_span.clone(),
        gate: None,
        rate: None,
        burst: None,
        pushback_cap: None,
        strict: None,
        backfill_share: None,
    };
    let Some(mut table) = reader.table(entry, Scope::Limiter) else { return draft };
    if let Some(At { value, span }) = reader.read(&mut table, "gate", Reader::count) {
        (draft.spec.gate, draft.gate) = (Some(value), Some(span));
    }
    if let Some(At { value, span }) = reader.read(&mut table, "pushback_cap", Reader::time) {
        (draft.spec.pushback_cap, draft.pushback_cap) = (value, Some(span));
    }
    let strict = reader.read(&mut table, "strict", Reader::boolean);
    if let Some(At { value, span }) = reader.read(&mut table, "backfill_share", Reader::share) {
        (draft.spec.backfill_share, draft.backfill_share) = (value, Some(span));
    }
    let (rate, burst) = (table.take("rate"), table.take("burst"));
    let permits = rate.as_ref().and_then(|rate| self::rate(reader, rate));
    let saved = burst.as_ref().and_then(|burst| reader.count(burst));
    draft.rate = rate.as_ref().map(|rate| rate.span.clone());
    draft.burst = burst.as_ref().map(|burst| burst.span.clone());
    match (rate, burst) {
        (Some(rate), None) => {
            let message = "`rate` without `burst`; expected how many may start at once after an idle time";
            reader.fault(rate.key_span, message);
        }
        (None, Some(burst)) => reader.fault(burst.key_span, "`burst` without `rate`; it would do nothing"),
        _ => {}
    }
    // What a rate that is not right would have made of it is not known.
    let judged = permits.is_some() && saved.is_some() || draft.rate.is_none() && draft.burst.is_none();
    if let (Some(At { value, span }), true) = (strict, judged) {
        (draft.spec.strict, draft.strict) = (value, Some(span));
    }
    if let (Some((permits, per)), Some(burst)) = (permits, saved) {
        draft.spec.rate = Some(Rate { permits, per, burst });
    }
    reader.finish(table);
    draft
}

/// `300/min`: permits in a time.
pub(super) fn rate(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<(u32, Time)> {
    in_a_time(reader, entry, "permits in a time, in quotes, like \"300/min\" or \"20/10s\"")
}

/// A number, a slash, and a unit of time or a duration.
pub(super) fn in_a_time<N: FromStr>(
    reader: &mut Reader<'_>,
    entry: &Entry<'_>,
    expected: &str,
) -> Option<(N, Time)> {
    let text = reader.text_or(entry, expected)?.str;
    let parsed = text.split_once('/').and_then(|(number, per)| {
        let per = per.trim();
        let per =
            if per.starts_with(|c: char| c.is_ascii_digit()) { per.to_owned() } else { format!("1{per}") };
        Some((number.trim().parse().ok()?, per.parse().ok()?))
    });
    if parsed.is_none() {
        reader.fault(
            entry.span.clone(),
            format!("`{}`: {} is not a rate; expected {expected}", entry.key, quote(text)),
        );
    }
    parsed
}
