//! Plans in a few words.

use fantail_core::plan::PPM;
use fantail_core::{Branch, Hedge, LimiterSpec, Plan, Time, WaitFor};
use fantail_model::{Law, Level};
use fantail_planfile::{BranchEntry, Captures};

use crate::number;

/// What a plan waits for and what it does meanwhile, on one line.
pub(crate) fn plan(plan: &Plan) -> String {
    plan_with(plan, plan.deadline().map(|deadline| deadline.to_string()).as_deref())
}

/// The same, with other words for its deadline.
pub(crate) fn plan_with(plan: &Plan, deadline: Option<&str>) -> String {
    let mut words = vec![barrier(plan)];
    if plan.required() > 0 && plan.required() < plan.n() {
        words.push(format!("{} required", plan.required()));
    }
    if plan.at_least() < plan.k() && plan.at_least() != plan.required() {
        words.push(format!("at least {}", number::count(plan.at_least().into(), "answer", "answers")));
    }
    words.extend(deadline.map(|deadline| format!("deadline {deadline}")));
    let delayed = |branch: &Branch| branch.delays().iter().any(|delay| *delay > Time::ZERO);
    if plan.branches().iter().any(delayed) {
        let budget = plan.hedge_budget();
        if budget.share < PPM {
            let share = number::percent(f64::from(budget.share) / f64::from(PPM));
            words.push(format!("copies for at most {share} of answers, {} saved up", budget.burst));
        }
        words.extend(budget.in_flight.map(|most| format!("at most {most} copies in flight")));
    }
    if plan.backfill() {
        words.push("backfill".to_owned());
    }
    words.join(", ")
}

fn barrier(plan: &Plan) -> String {
    let branches = number::count(plan.n().into(), "branch", "branches");
    match plan.wait_for() {
        _ if plan.n() == 1 => "waits for its only branch".to_owned(),
        WaitFor::All => format!("waits for all of {branches}"),
        WaitFor::First(k) => format!("waits for the first {k} of {branches}"),
        WaitFor::Share(share) => {
            let share = number::percent(f64::from(share) / f64::from(PPM));
            format!("waits for the first {} of {branches} ({share})", plan.k())
        }
    }
}

/// Whether a result may lack the branch.
pub(crate) fn role(branch: &Branch) -> &'static str {
    if branch.required { "required" } else { "optional" }
}

/// The law of a branch's attempts.
pub(crate) fn latency(law: Option<&Law>) -> String {
    let Some(law) = law else { return "no latency stated".to_owned() };
    let p99 = Level::above(0.01).expect("a level strictly between 0 and 1");
    let at = |level| number::duration(law.quantile(level));
    format!("p50 {}, p99 {}", at(Level::MEDIAN), at(p99))
}

/// When copies of a branch are due.
pub(crate) fn copies(branch: &Branch) -> String {
    let Some(Hedge { delays, distinct, .. }) = &branch.hedge else { return String::new() };
    let mut text = if delays.iter().all(|delay| *delay == Time::ZERO) {
        format!("race of {}", delays.len() + 1)
    } else {
        let delays: Vec<String> = delays.iter().map(|delay| number::duration(delay.as_secs_f64())).collect();
        format!("copy after {}", delays.join(" and "))
    };
    if *distinct {
        text.push_str(" to another target");
    }
    text
}

/// The bounds of time that a branch has of its own.
pub(crate) fn bounds(plan: &Plan, branch: &Branch) -> String {
    let own = branch.deadline.filter(|_| branch.deadline != plan.deadline());
    let deadline = own.map(|deadline| format!("deadline {deadline}"));
    let timeout = branch.attempt_timeout.map(|timeout| format!("attempt timeout {timeout}"));
    join(deadline.into_iter().chain(timeout))
}

/// What permits the attempts of a branch.
pub(crate) fn permits(plan: &Plan, branch: &Branch) -> String {
    let Some(limiter) = branch.limiter else { return String::new() };
    let name = &plan.limiters()[limiter].name;
    if branch.weight == 1 {
        format!("limiter {name}")
    } else {
        format!("limiter {name}, weight {}", branch.weight)
    }
}

/// The hosts of a branch's targets.
pub(crate) fn targets(entry: &BranchEntry) -> String {
    let mut hosts: Vec<String> = Vec::new();
    for target in &entry.targets {
        // Requests fill in path and query alone.
        let url = target.expand(&Captures::default(), "");
        let after_scheme = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let host = after_scheme.split(['/', '?']).next().unwrap_or_default();
        hosts.push(host.to_owned());
    }
    join(hosts)
}

/// What a limiter permits, on one line.
pub(crate) fn limiter(limiter: &LimiterSpec) -> String {
    let gate = limiter.gate.map(|gate| format!("at most {gate} at once"));
    let rate = limiter.rate.map(|rate| format!("{} in {}, burst {}", rate.permits, rate.per, rate.burst));
    let text = join(gate.into_iter().chain(rate));
    if text.is_empty() { "no bound".to_owned() } else { text }
}

fn join(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().collect::<Vec<_>>().join(", ")
}
