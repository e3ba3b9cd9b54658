//! The checks behind [`Plan::new`](super::Plan::new): all errors at once.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

use super::{
    BranchSpec, BudgetSpec, Field, Hedge, LimiterSpec, MAX_BRANCHES, MAX_COPIES, PPM, PlanError, PlanErrors,
    PlanSpec, WaitFor, stages,
};
use crate::Time;

pub(super) fn check(spec: &PlanSpec) -> Result<(), PlanErrors> {
    let mut faults = Faults::default();
    barrier(&mut faults, spec);
    limiters(&mut faults, &spec.limiters);
    branches(&mut faults, spec);
    stages::check(&mut faults, spec);
    for (index, delay) in spec.live_delays.iter().enumerate() {
        let at = |field| move || Field::LiveDelay { index, field };
        for (field, delay) in
            [("floor", Some(delay.floor)), ("cap", Some(delay.cap)), ("warming", delay.warming)]
        {
            faults.expect(
                delay != Some(Time::ZERO),
                at(field),
                "0s",
                "more than 0s, since no delay is a race",
            );
        }
    }
    if faults.0.is_empty() { Ok(()) } else { Err(PlanErrors(faults.0)) }
}

#[derive(Default)]
pub(super) struct Faults(Vec<PlanError>);

impl Faults {
    /// Adds an error unless `ok`.
    pub(super) fn expect(
        &mut self,
        ok: bool,
        field: impl FnOnce() -> Field,
        value: impl Display,
        expected: impl Display,
    ) {
        if !ok {
            self.0.push(PlanError {
                field: field(),
                value: value.to_string(),
                expected: expected.to_string(),
            });
        }
    }

    pub(super) fn span(&mut self, field: impl FnOnce() -> Field, value: Time) {
        let ok = value > Time::ZERO && value <= Time::LONGEST;
        self.expect(ok, field, value, format_args!("more than 0s and at most {} (365 days)", Time::LONGEST));
    }
}

fn barrier(faults: &mut Faults, spec: &PlanSpec) {
    let plan = |field| move || Field::Plan(field);
    let n = spec.branches.len();
    faults.expect(!spec.name.is_empty(), plan("name"), "an empty name", "a name");
    faults.expect(
        (1..=MAX_BRANCHES).contains(&n),
        plan("branches"),
        n,
        format_args!("1 to {MAX_BRANCHES} branches"),
    );
    let n = n.min(MAX_BRANCHES) as u32;
    match spec.wait_for {
        WaitFor::All => {}
        WaitFor::First(k) => {
            faults.expect(
                k >= 1 && k <= n,
                plan("wait_for"),
                k,
                format_args!("1 to the number of branches, {n}"),
            );
        }
        WaitFor::Share(ppm) => {
            let bound = "more than 0 and at most 1000000 parts per million";
            faults.expect(
                (1..=PPM).contains(&ppm),
                plan("wait_for"),
                format_args!("{ppm} parts per million"),
                bound,
            );
        }
    }
    if let Some(at_least) = spec.at_least {
        let k = spec.wait_for.answers(n).min(n);
        let expected = format_args!("at most what the job waits for, {k}");
        faults.expect(at_least <= k, plan("at_least"), at_least, expected);
    }
    if let Some(deadline) = spec.deadline {
        faults.span(plan("deadline"), deadline);
    }
    samples(faults, spec);
    budget(faults, "hedge budget", spec.hedge_budget);
    budget(faults, "failover budget", spec.failover_budget);
}

/// The shares of jobs that measure.
fn samples(faults: &mut Faults, spec: &PlanSpec) {
    let PlanSpec { observe, holdout, .. } = *spec;
    let ok = observe.saturating_add(holdout) <= PPM;
    let value = format_args!("{observe} and a holdout of {holdout} parts per million");
    faults.expect(ok, || Field::Plan("observe"), value, "at most 1000000 together");
    let endless = spec.deadline.is_none() && spec.branches.iter().any(|branch| branch.deadline.is_none());
    let expected = "a deadline, which ends what is observed";
    faults.expect(observe == 0 || !endless, || Field::Plan("observe"), "no deadline", expected);
}

fn budget(faults: &mut Faults, field: &'static str, spec: BudgetSpec) {
    let at = || Field::Plan(field);
    let BudgetSpec { share, burst, in_flight } = spec;
    faults.expect(share <= PPM, at, format_args!("{share} parts per million"), "at most 1000000");
    faults.expect(burst >= 1, at, "a burst of 0", "a burst of at least 1");
    faults.expect(in_flight != Some(0), at, "0 in flight", "at least 1 in flight");
}

fn limiters(faults: &mut Faults, limiters: &[LimiterSpec]) {
    let mut names = BTreeSet::new();
    for (index, limiter) in limiters.iter().enumerate() {
        let at = |field| move || Field::Limiter { index, name: limiter.name.clone(), field };
        name(faults, &mut names, &limiter.name, at("name"));
        faults.expect(limiter.gate != Some(0), at("gate"), 0, "at least 1");
        faults.span(at("pushback_cap"), limiter.pushback_cap);
        if let Some(rate) = limiter.rate {
            faults.expect(rate.permits >= 1, at("rate"), rate.permits, "at least 1");
            faults.span(at("rate"), rate.per);
            faults.expect(rate.burst >= 1, at("burst"), rate.burst, "at least 1");
        }
        match limiter.rate {
            Some(rate) if limiter.strict => {
                let expected = format_args!("less than the permits of a strict rate, {}", rate.permits);
                faults.expect(rate.burst < rate.permits, at("burst"), rate.burst, expected);
            }
            None => faults.expect(!limiter.strict, at("strict"), "no rate", "a rate"),
            Some(_) => {}
        }
        let share = limiter.backfill_share;
        let value = format_args!("{share} parts per million");
        faults.expect(share <= PPM, at("backfill_share"), value, "at most 1000000");
    }
}

fn name<'a>(faults: &mut Faults, names: &mut BTreeSet<&'a str>, name: &'a str, at: impl FnOnce() -> Field) {
    if name.is_empty() {
        faults.expect(false, at, "an empty name", "a name");
    } else {
        let fresh = names.insert(name);
        faults.expect(fresh, at, format_args!("`{name}` twice"), "a name of its own");
    }
}

fn branches(faults: &mut Faults, spec: &PlanSpec) {
    let mut names = BTreeSet::new();
    for (index, branch) in spec.branches.iter().enumerate() {
        let at = |field| move || Field::Branch { index, name: branch.name.clone(), field };
        name(faults, &mut names, &branch.name, at("name"));
        if let Some(deadline) = branch.deadline {
            faults.span(at("deadline"), deadline);
            let job = spec.deadline.unwrap_or(Time::MAX);
            faults.expect(
                deadline <= job,
                at("deadline"),
                deadline,
                format_args!("at most the job's deadline, {job}"),
            );
        }
        if let Some(timeout) = branch.attempt_timeout {
            faults.span(at("attempt_timeout"), timeout);
        }
        faults.expect(branch.targets >= 1, at("targets"), branch.targets, "at least 1");
        if let Some(cost) = branch.cost {
            faults.expect(cost.is_finite() && cost >= 0.0, at("cost"), cost, "a finite number, not negative");
        }
        permits(faults, spec, branch, index);
        if branch.failover {
            let value = "a branch that may run once";
            faults.expect(branch.repeatable, at("failover"), value, "a repeatable branch");
            let value = format_args!("{} target{}", branch.targets, plural(branch.targets));
            faults.expect(branch.targets != 1, at("failover"), value, "another target, at least 2");
        }
        if let Some(hedge) = &branch.hedge {
            copies(faults, spec, branch, hedge, index);
        }
        if let Some(live) = branch.live {
            let count = spec.live_delays.len();
            faults.expect(live < count, at("live"), live, format_args!("an index below {count}"));
            let delays = branch.hedge.as_ref().map_or(&[][..], |hedge| &hedge.delays);
            let ok = matches!(delays, [delay] if *delay > Time::ZERO);
            faults.expect(ok, at("live"), format_args!("{} copies", delays.len()), "one copy, after a delay");
        }
    }
}

fn permits(faults: &mut Faults, spec: &PlanSpec, branch: &BranchSpec, index: usize) {
    let at = |field| move || Field::Branch { index, name: branch.name.clone(), field };
    let Some(limiter) = branch.limiter else {
        faults.expect(branch.weight >= 1, at("weight"), branch.weight, "at least 1");
        return;
    };
    let count = spec.limiters.len();
    faults.expect(limiter < count, at("limiter"), limiter, format_args!("an index below {count}"));
    let capacity = spec.limiters.get(limiter).map_or(u32::MAX, LimiterSpec::capacity);
    let ok = branch.weight >= 1 && branch.weight <= capacity;
    faults.expect(ok, at("weight"), branch.weight, format_args!("1 to the limiter's capacity, {capacity}"));
}

fn copies(faults: &mut Faults, spec: &PlanSpec, branch: &BranchSpec, hedge: &Hedge, index: usize) {
    let at = |field| move || Field::Branch { index, name: branch.name.clone(), field };
    let copies = hedge.delays.len();
    let ok = (1..=MAX_COPIES).contains(&copies);
    faults.expect(ok, at("hedge"), format_args!("{copies} copies"), format_args!("1 to {MAX_COPIES}"));
    faults.expect(
        branch.repeatable,
        at("hedge"),
        "copies of a branch that may run once",
        "a repeatable branch",
    );
    let longest = hedge.delays.iter().max().copied().unwrap_or(Time::ZERO);
    faults.expect(longest <= Time::LONGEST, at("hedge"), longest, format_args!("at most {}", Time::LONGEST));
    let ok = hedge.delays.is_sorted();
    let delays = || hedge.delays.iter().map(Time::to_string).collect::<Vec<String>>().join(", ");
    if !ok {
        faults.expect(false, at("hedge"), delays(), "delays that do not decrease");
    }
    match branch.deadline.or(spec.deadline) {
        // No copy would ever start.
        Some(deadline) if hedge.min_useful > deadline => {
            let expected = format_args!("at most the deadline, {deadline}");
            faults.expect(false, at("min_useful"), hedge.min_useful, expected);
        }
        _ => {
            let ok = hedge.min_useful <= Time::LONGEST;
            faults.expect(ok, at("min_useful"), hedge.min_useful, format_args!("at most {}", Time::LONGEST));
        }
    }
    let ok = !hedge.distinct || branch.targets as usize > copies;
    let expected = || format!("more targets than copies, at least {}", copies + 1);
    if !ok {
        let value = format_args!("{} target{}", branch.targets, plural(branch.targets));
        faults.expect(false, at("distinct"), value, expected());
    }
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}
