//! `hedge = …`: what it states, and the delays that follow from it for a branch.

use std::fmt;

use fantail_core::plan::{MAX_COPIES, PPM};
use fantail_core::{BudgetSpec, Hedge, LiveDelaySpec, Quantile, Time};
use fantail_model::{Law, Level};
use toml::de::DeValue;

use super::reader::{At, Entry, Reader, Table, Text};
use crate::config::EarlierCopy;
use crate::keys::Scope;
use crate::percentile::{Percentile, looks_like_percentile, percentile};
use crate::problem::Fault;

/// When a copy is due.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum After {
    /// As late as a percentile of the primary's latency.
    Percentile(Percentile),
    /// A fixed time after the primary's permit.
    Fixed(Time),
}

/// The copies beside the primary.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Copies {
    /// So many attempts at once, the primary among them.
    Race(usize),
    /// Each after its delay.
    After(Vec<At<After>>),
}

/// What is stated of a branch's copies: percentiles, times, or a race. When they are due follows from the law of an attempt
/// and the deadline.
///
/// ```
/// use fantail_core::Time;
/// use fantail_planfile::{ShortForm, parse_law};
///
/// let law = parse_law("lognormal:median=1s,sigma=0.6")?.law;
/// let rule = ShortForm::parse("hedge:p95")?.hedge().expect("it states copies");
/// let due = |deadline| Some(rule.resolve(&law, deadline)?.delays[0].to_string());
/// assert_eq!(due(None).as_deref(), Some("2.682937231s"));
/// assert_eq!(due(Some(Time::from_millis(2_500))).as_deref(), Some("1.5s"));
/// assert_eq!(due(Some(Time::from_secs(1))), None);
/// # Ok::<(), fantail_planfile::Problems>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct HedgeRule {
    pub(crate) copies: At<Copies>,
    pub(crate) warming: Option<Time>,
    pub(crate) floor: Option<At<Time>>,
    pub(crate) cap: Option<Time>,
    pub(crate) min_useful: Option<At<Time>>,
    pub(crate) distinct: Option<At<bool>>,
}

impl HedgeRule {
    pub(crate) fn new(copies: At<Copies>) -> HedgeRule {
        HedgeRule { copies, warming: None, floor: None, cap: None, min_useful: None, distinct: None }
    }

    /// The copies of a branch whose attempts have the latency `law` and which must answer by `deadline`; `None` where a plan
    /// that stated so would be refused: a copy would never be sent, or before one that is stated earlier.
    pub fn resolve(&self, law: &Law, deadline: Option<Time>) -> Option<Hedge> {
        let hedge = resolve(self, Some(law), deadline).ok()?.hedge;
        let in_time = deadline.is_none_or(|deadline| hedge.min_useful <= deadline);
        (in_time && hedge.delays.is_sorted()).then_some(hedge)
    }
}

/// What a plan states of copies: the rule for its branches and the budget.
pub(super) struct PlanHedge {
    pub(super) rule: Option<At<HedgeRule>>,
    pub(super) budget: BudgetSpec,
}

/// A branch's `hedge`. `None`: it has no copies.
pub(super) fn of_branch(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<HedgeRule> {
    let mut table = table(reader, entry, Scope::BranchHedge)?;
    let rule = rule(reader, entry, &mut table);
    reader.finish(table);
    rule
}

/// A plan's `hedge`.
pub(super) fn of_plan(reader: &mut Reader<'_>, entry: &Entry<'_>) -> PlanHedge {
    let mut plan = PlanHedge { rule: None, budget: BudgetSpec::HEDGES };
    let Some(mut table) = table(reader, entry, Scope::Hedge) else { return plan };
    let rule = rule(reader, entry, &mut table);
    let is_race = matches!(&rule, Some(HedgeRule { copies: At { value: Copies::Race(_), .. }, .. }));
    for key in ["extra", "burst", "in_flight"] {
        let Some(entry) = table.take(key) else { continue };
        if is_race {
            reader.fault(entry.key_span, format!("`{key}` beside `race`; a race has no budget"));
            continue;
        }
        match key {
            "extra" => plan.budget.share = reader.share(&entry).unwrap_or(plan.budget.share),
            "burst" => plan.budget.burst = reader.positive(&entry).unwrap_or(plan.budget.burst),
            _ => plan.budget.in_flight = reader.positive(&entry),
        }
    }
    reader.finish(table);
    plan.rule = rule.map(|value| At { value, span: entry.span.clone() });
    plan
}

/// The table of `hedge`; `None` for `false` and what is wrong.
fn table<'a>(reader: &mut Reader<'_>, entry: &Entry<'a>, scope: Scope) -> Option<Table<'a>> {
    match entry.value {
        DeValue::Table(table) => Some(Table::new(table, scope)),
        DeValue::Boolean(false) => None,
        _ => {
            reader.mismatch(entry, "false or a table, like { after = \"p95\" }");
            None
        }
    }
}

fn rule(reader: &mut Reader<'_>, entry: &Entry<'_>, table: &mut Table<'_>) -> Option<HedgeRule> {
    let (after, race) = (table.take("after"), table.take("race"));
    let copies = match (&after, &race) {
        (Some(after), None) => delays(reader, after),
        (None, Some(race)) => attempts(reader, race),
        (Some(_), Some(race)) => {
            reader.fault(race.key_span.clone(), "`race` beside `after`; expected one of them");
            None
        }
        (None, None) => {
            reader.fault(
                entry.key_span.clone(),
                "`hedge` has neither `after` nor `race`; expected one of them",
            );
            None
        }
    };
    let has_percentile = match copies.as_ref().map(|copies| &copies.value) {
        Some(Copies::After(list)) => list.iter().any(|delay| matches!(delay.value, After::Percentile(_))),
        Some(Copies::Race(_)) => false,
        // What was meant is not known.
        None => true,
    };
    let mut of_percentile = |reader: &mut Reader<'_>, key| {
        let entry = table.take(key)?;
        if !has_percentile {
            let message = format!("`{key}` without a percentile in `after`; it would do nothing");
            reader.fault(entry.key_span.clone(), message);
        }
        reader.span(&entry).map(|value| At { value, span: entry.span })
    };
    let warming = of_percentile(reader, "warming");
    let floor = of_percentile(reader, "floor");
    let cap = of_percentile(reader, "cap");
    if let (Some(floor), Some(cap)) = (&floor, &cap)
        && floor.value > cap.value
    {
        let message = format!("`floor`: got {}, expected at most `cap`, {}", floor.value, cap.value);
        reader.fault(floor.span.clone(), message);
    }
    let min_useful = reader.read(table, "min_useful", Reader::time);
    let distinct = reader.read(table, "distinct", Reader::boolean);
    Some(HedgeRule {
        copies: copies?,
        warming: warming.map(|at| at.value),
        floor,
        cap: cap.map(|at| at.value),
        min_useful,
        distinct: distinct.filter(|at| at.value),
    })
}

fn attempts(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<At<Copies>> {
    let count = reader.count(entry)? as usize;
    match race(count) {
        Ok(value) => Some(At { value, span: entry.span.clone() }),
        Err(message) => {
            reader.fault(entry.span.clone(), format!("`race`: {message}"));
            None
        }
    }
}

/// A race of `count` attempts.
pub(crate) fn race(count: usize) -> Result<Copies, String> {
    let most = MAX_COPIES + 1;
    if (2..=most).contains(&count) {
        Ok(Copies::Race(count))
    } else {
        Err(format!("got {count}, expected 2 to {most} attempts"))
    }
}

/// `after`: one delay or a list of them.
fn delays(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<At<Copies>> {
    let expected = "a percentile, a duration or a list of them, like \"p95\" or [\"1s\", \"2s\"]";
    let list = match entry.value {
        DeValue::Array(list) if !list.is_empty() => list
            .iter()
            .map(|value| Entry {
                key: entry.key,
                key_span: entry.key_span.clone(),
                value: value.get_ref(),
                span: value.span(),
            })
            .map(|item| delay(reader, &item, expected))
            .collect::<Vec<_>>(),
        DeValue::String(_) => vec![delay(reader, entry, expected)],
        _ => {
            reader.mismatch(entry, expected);
            return None;
        }
    };
    let list: Option<Vec<At<After>>> = list.into_iter().collect();
    Some(At { value: Copies::After(list?), span: entry.span.clone() })
}

fn delay(reader: &mut Reader<'_>, entry: &Entry<'_>, expected: &str) -> Option<At<After>> {
    let text = reader.text_or(entry, expected)?;
    let value = match after(&text) {
        Some(Ok(percentile)) => After::Percentile(percentile),
        Some(Err(fault)) => {
            reader.faults_in(entry.key, &text, [fault]);
            return None;
        }
        None => After::Fixed(reader.time(entry)?),
    };
    Some(At { value, span: entry.span.clone() })
}

fn after(text: &Text<'_>) -> Option<Result<Percentile, Fault>> {
    looks_like_percentile(text.str).then(|| percentile(text.str))
}

/// Copies, and the one among them that a deadline moved.
pub(crate) struct Resolved {
    pub(crate) hedge: Hedge,
    pub(crate) earlier: Option<EarlierCopy>,
}

/// The copies of a branch whose attempts have the latency `law` and which must answer by `deadline`.
///
/// A percentile is `law`'s, or `warming` where none is stated, between floor and cap; the cap is never beyond the last
/// start that leaves `min_useful`, so that every delay is one at which a copy can be sent.
pub(crate) fn resolve(
    rule: &HedgeRule,
    law: Option<&Law>,
    deadline: Option<Time>,
) -> Result<Resolved, Vec<Fault>> {
    let stated = rule.min_useful.as_ref().map(|at| at.value);
    let median = || law.map(|law| time_at(law, Level::MEDIAN));
    let distinct = rule.distinct.is_some();
    let list = match &rule.copies.value {
        // A race is meant for a deadline that is tight, and its copies have as much time as the primary.
        Copies::Race(attempts) => {
            let min_useful = stated.unwrap_or(Time::ZERO);
            let hedge = Hedge { min_useful, distinct, ..Hedge::race(*attempts) };
            return Ok(Resolved { hedge, earlier: None });
        }
        Copies::After(list) => list,
    };
    let min_useful = stated.or_else(median).unwrap_or(Time::ZERO);
    let window = Window { deadline: deadline.unwrap_or(Time::MAX), min_useful };
    // Without a deadline it does not matter.
    let min_useful = min_useful.min(Time::LONGEST);
    if window.last() == Time::ZERO {
        let message = format!("no copy could be sent: {window} leaves nothing");
        return Err(vec![Fault::new(rule.copies.span.clone(), message)]);
    }
    let mut faults = Vec::new();
    let mut delays = Vec::new();
    let mut moved = None;
    for At { value, span } in list {
        match rule.delay(value, law, &window) {
            Ok((delay, earlier)) => {
                delays.push(delay);
                moved = moved.or(earlier);
            }
            Err(message) => faults.push(Fault::new(span.clone(), message)),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(Resolved { hedge: Hedge { delays, min_useful, distinct }, earlier: moved })
}

/// The time in which a copy may start.
struct Window {
    deadline: Time,
    min_useful: Time,
}

impl Window {
    /// The last instant from the job's start.
    fn last(&self) -> Time {
        if self.deadline == Time::MAX { Time::MAX } else { self.deadline.saturating_sub(self.min_useful) }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Window { deadline, min_useful } = self;
        write!(f, "the deadline {deadline} less ")?;
        match *min_useful {
            Time::MAX => f.write_str("a median of more than 365 days")?,
            _ => min_useful.fmt(f)?,
        }
        f.write_str(", what a copy needs (`min_useful`),")
    }
}

impl HedgeRule {
    /// The live delay that a job goes by, when there is one copy and it is due at a percentile.
    pub(super) fn live(&self) -> Option<LiveDelaySpec> {
        let Copies::After(list) = &self.copies.value else { return None };
        let [At { value: After::Percentile(percentile), .. }] = &list[..] else { return None };
        let quantile = Quantile::from_ppm((percentile.level().p() * f64::from(PPM)).round() as u32).ok()?;
        Some(LiveDelaySpec {
            floor: self.floor.as_ref().map_or(LiveDelaySpec::FLOOR, |floor| floor.value),
            cap: self.cap.unwrap_or(Time::MAX),
            warming: self.warming,
            ..LiveDelaySpec::new(quantile)
        })
    }

    /// When a copy is due, and whether the deadline moved it there; or what is wrong with that.
    fn delay(
        &self,
        after: &After,
        law: Option<&Law>,
        window: &Window,
    ) -> Result<(Time, Option<EarlierCopy>), String> {
        let last = window.last();
        let percentile = match after {
            After::Fixed(delay) if *delay > last => {
                return Err(format!("a copy due after {delay} would never be sent; {window} leaves {last}"));
            }
            After::Fixed(delay) => return Ok((*delay, None)),
            After::Percentile(percentile) => percentile,
        };
        let label = percentile.label();
        let stated = law.map(|law| time_at(law, percentile.level()));
        let delay = stated
            .or(self.warming)
            .ok_or_else(|| format!("{label} of what? expected a `latency` or `warming`"))?;
        let floor = self.floor.as_ref().map_or(Time::ZERO, |floor| floor.value);
        let wanted = delay.max(floor).min(self.cap.unwrap_or(Time::MAX));
        let due = wanted.min(last);
        if due == Time::MAX {
            return Err(format!(
                "{label} of its law is more than 365 days; expected an earlier percentile, or a duration"
            ));
        }
        let earlier =
            EarlierCopy { percentile: label.to_owned(), wanted, due, min_useful: window.min_useful };
        Ok((due, (due < wanted).then_some(earlier)))
    }
}

/// The time at a level of a law; [`Time::MAX`] where it is infinite or beyond what a plan may state.
fn time_at(law: &Law, level: Level) -> Time {
    Time::from_secs_f64(law.quantile(level)).unwrap_or(Time::MAX)
}
