//! What a job did, as the text that scripts expect.

use std::fmt::Write as _;

use fantail_core::job::{AttemptId, Cause, Class, Cut, NotStarted, Outcome, Refusal, Role, Slot, Verdict};
use fantail_core::{Attempts, Kept, Ledger, Plan, Time};

/// What was done to which attempts, instant by instant.
///
/// A driver that cannot see queues leaves out the items `queue`, `leave` and `refuse`, and drops them from what it is
/// compared with by [`without_queues`].
#[derive(Debug, Default)]
pub(crate) struct Trace {
    lines: Vec<(Time, Vec<Item>)>,
}

/// `verb names rest`; an end of the job has no name.
#[derive(Debug)]
struct Item {
    verb: String,
    names: Vec<String>,
    rest: String,
}

impl Trace {
    pub(crate) fn start(
        &mut self,
        plan: &Plan,
        now: Time,
        attempt: AttemptId,
        target: u32,
        until: Option<Time>,
    ) {
        let mut rest = String::new();
        if plan.branches()[attempt.branch as usize].targets > 1 {
            write!(rest, " at target {target}").expect("strings take all");
        }
        if let Some(until) = until {
            write!(rest, " until {until}").expect("strings take all");
        }
        self.push(now, "start", Some(name(plan, attempt)), rest);
    }

    pub(crate) fn cancel(&mut self, plan: &Plan, now: Time, attempt: AttemptId, cut: Cut) {
        let why = match cut {
            Cut::Lost => " (lost)",
            Cut::TimedOut => " (timed out)",
            Cut::Deadline => " (deadline)",
            Cut::JobEnded => " (job ended)",
        };
        self.push(now, "drop", Some(name(plan, attempt)), why.to_owned());
    }

    /// Not needed, but it runs on.
    pub(crate) fn keep(&mut self, plan: &Plan, now: Time, attempt: AttemptId) {
        self.push(now, "keep", Some(name(plan, attempt)), String::new());
    }

    /// Asked for, with no permit at once.
    pub(crate) fn queue(&mut self, plan: &Plan, now: Time, attempt: AttemptId, class: Class) {
        let class = match class {
            Class::First => "",
            Class::RequiredCopy => " as required copy",
            Class::OptionalCopy => " as optional copy",
            Class::Backfill => " as backfill",
        };
        self.push(now, "queue", Some(name(plan, attempt)), class.to_owned());
    }

    /// No longer wanted.
    pub(crate) fn leave(&mut self, plan: &Plan, now: Time, attempt: AttemptId) {
        self.push(now, "leave", Some(name(plan, attempt)), String::new());
    }

    pub(crate) fn refuse(&mut self, plan: &Plan, now: Time, attempt: AttemptId, reason: Refusal) {
        self.push(now, "refuse", Some(name(plan, attempt)), format!(" ({})", refusal(reason)));
    }

    pub(crate) fn finish(&mut self, plan: &Plan, now: Time, verdict: Verdict) {
        let branch = |branch: u32| &plan.branches()[branch as usize].name;
        let text = match verdict {
            Verdict::Complete => "complete".to_owned(),
            Verdict::Partial => "partial".to_owned(),
            Verdict::Failed(Cause::Required(b)) => format!("failed: {} is required", branch(b)),
            Verdict::Failed(Cause::TooFew(b)) => format!("failed: too few without {}", branch(b)),
            Verdict::Failed(Cause::Dropped) => "failed: dropped".to_owned(),
        };
        self.push(now, &text, None, String::new());
    }

    /// Adds to the instant's line; what differs from the item before in the name alone joins it.
    fn push(&mut self, now: Time, verb: &str, name: Option<String>, rest: String) {
        if self.lines.last().is_none_or(|(at, _)| *at != now) {
            self.lines.push((now, Vec::new()));
        }
        let (_, items) = self.lines.last_mut().expect("a line was pushed");
        match items.last_mut() {
            Some(last) if last.verb == verb && last.rest == rest => last.names.extend(name),
            _ => items.push(Item { verb: verb.to_owned(), names: name.into_iter().collect(), rest }),
        }
    }

    /// The trace as text, then a line for every branch, then the ledger.
    pub(crate) fn report(&self, plan: &Plan, slot: impl Fn(u32) -> Slot, ledger: &Ledger) -> String {
        let mut text = String::new();
        for (at, items) in &self.lines {
            let items: Vec<String> = items.iter().map(Item::to_string).collect();
            writeln!(text, "at {at}: {}", items.join("; ")).expect("strings take all");
        }
        let mut slots: Vec<(Vec<String>, String)> = Vec::new();
        for branch in 0..plan.n() {
            let said = describe(&slot(branch));
            let name = plan.branches()[branch as usize].name.clone();
            match slots.last_mut() {
                Some((names, last)) if *last == said => names.push(name),
                _ => slots.push((vec![name], said)),
            }
        }
        for (names, said) in slots {
            writeln!(text, "{}: {said}", joined(&names)).expect("strings take all");
        }
        for (role, called) in
            [(Role::Primary, "primaries"), (Role::Copy, "copies"), (Role::Failover, "failovers")]
        {
            text.extend(attempts(called, ledger.of(role)));
        }
        text.extend(kept(&ledger.kept));
        let refused = Refusal::ALL.map(|reason| (ledger.refused(reason), reason));
        let refused: Vec<String> = refused
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, reason)| format!("{count} {}", refusal(*reason)))
            .collect();
        if !refused.is_empty() {
            writeln!(text, "refused: {}", refused.join(", ")).expect("strings take all");
        }
        text.trim_end().to_owned()
    }
}

/// What a driver that cannot see queues is to be compared with.
pub(crate) fn without_queues(expected: &str) -> String {
    let hidden = |item: &&str| !["queue ", "leave ", "refuse "].iter().any(|verb| item.starts_with(verb));
    let line = |line: &str| match line.split_once(": ").filter(|_| line.starts_with("at ")) {
        None => Some(line.to_owned()),
        Some((at, items)) => {
            let seen: Vec<&str> = items.split("; ").filter(hidden).collect();
            (!seen.is_empty()).then(|| format!("{at}: {}", seen.join("; ")))
        }
    };
    expected.lines().filter_map(line).collect::<Vec<String>>().join("\n")
}

impl std::fmt::Display for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let gap = if self.names.is_empty() { "" } else { " " };
        write!(f, "{}{gap}{}{}", self.verb, joined(&self.names), self.rest)
    }
}

/// Names in a list; a run of numbered ones as `x0..x9`.
fn joined(names: &[String]) -> String {
    let mut runs: Vec<(&str, &str)> = Vec::new();
    for name in names {
        match runs.last_mut() {
            Some((_, last)) if follows(last, name) => *last = name,
            _ => runs.push((name, name)),
        }
    }
    let run = |(first, last): &(&str, &str)| {
        if first == last { (*first).to_owned() } else { format!("{first}..{last}") }
    };
    runs.iter().map(run).collect::<Vec<String>>().join(", ")
}

/// Whether the name is `x5` after `x4`.
fn follows(last: &str, name: &str) -> bool {
    let split = |name: &str| {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let number = name[stem..].parse::<u64>().ok()?;
        (!name.contains('.')).then(|| (name[..stem].to_owned(), number))
    };
    let after = split(last).map(|(stem, number)| (stem, number + 1));
    after.is_some() && after == split(name)
}

fn name(plan: &Plan, attempt: AttemptId) -> String {
    let branch = &plan.branches()[attempt.branch as usize].name;
    match attempt.role() {
        Role::Primary => branch.clone(),
        Role::Copy => format!("{branch}.{}", attempt.number),
        Role::Failover => format!("{branch}.f"),
    }
}

fn describe(slot: &Slot) -> String {
    let outcome = match slot.outcome {
        None => "open".to_owned(),
        Some(Outcome::Answered) => match slot.winner.map(|winner| (winner.role(), winner.number)) {
            Some((Role::Primary, _)) => "answered".to_owned(),
            Some((Role::Copy, number)) => format!("answered by copy {number}"),
            Some((Role::Failover, _)) => "answered by failover".to_owned(),
            None => "answered by nobody".to_owned(),
        },
        Some(Outcome::Failed) => "failed".to_owned(),
        Some(Outcome::Missed) => "missed".to_owned(),
        Some(Outcome::Unneeded) => "unneeded".to_owned(),
        Some(Outcome::Cancelled) => "cancelled".to_owned(),
        Some(Outcome::NotStarted(NotStarted::NoPermit)) => "not started (no permit)".to_owned(),
        Some(Outcome::NotStarted(NotStarted::Dependency)) => "not started (dependency)".to_owned(),
        Some(Outcome::NotStarted(NotStarted::JobFailed)) => "not started (job failed)".to_owned(),
        Some(Outcome::NotStarted(NotStarted::Refused(reason))) => {
            format!("not started (refused: {})", refusal(reason))
        }
    };
    format!("{outcome}, waited {}, ran {}", slot.waited, slot.ran)
}

fn refusal(reason: Refusal) -> &'static str {
    match reason {
        Refusal::Budget => "budget",
        Refusal::NoTimeLeft => "no time left",
        Refusal::Pushback => "pushback",
        Refusal::Limiter => "limiter",
    }
}

fn attempts(called: &str, counts: &Attempts) -> Option<String> {
    let ends = [
        (counts.won, "won"),
        (counts.lost, "lost"),
        (counts.failed, "failed"),
        (counts.censored, "censored"),
    ];
    let launched = counts.launched;
    (launched > 0).then(|| format!("{called}: {launched} launched = {}, busy {}\n", sum(&ends), counts.busy))
}

fn kept(counts: &Kept) -> Option<String> {
    let ends = [(counts.answered, "answered"), (counts.failed, "failed"), (counts.censored, "censored")];
    (counts.kept > 0).then(|| format!("kept: {} = {}, busy {}\n", counts.kept, sum(&ends), counts.busy))
}

fn sum(ends: &[(u64, &str)]) -> String {
    let some = ends.iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!("{count} {what}")).collect::<Vec<String>>().join(" + ")
}
