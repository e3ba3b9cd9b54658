//! Plans in a few words.

use fantail_core::plan::PPM;
use fantail_core::{Branch, BudgetSpec, Hedge, LimiterSpec, Plan, Time, WaitFor};
use fantail_model::{Law, Level};
use fantail_planfile::{BranchEntry, Captures};

use crate::number;

/// What a plan waits for and what it does meanwhile, on one line.
pub fn plan(plan: &Plan) -> String {
    plan_with(plan, plan.deadline().map(|deadline| deadline.to_string()).as_deref())
}

/// The same, with other words for its deadline.
pub fn plan_with(plan: &Plan, deadline: Option<&str>) -> String {
    let mut words = vec![barrier(plan)];
    if plan.required() > 0 && plan.required() < plan.n() {
        words.push(format!("{} required", number::grouped(plan.required().into())));
    }
    if plan.at_least() < plan.k() && plan.at_least() != plan.required() {
        words.push(format!("at least {}", number::count(plan.at_least().into(), "answer", "answers")));
    }
    words.extend(deadline.map(|deadline| format!("deadline {deadline}")));
    if let Some(leader) = plan.leader() {
        let name = &plan.branches()[leader.branch].name;
        words.push(format!("{name} leads by at most {}", leader.head_start));
    }
    let delayed = |branch: &Branch| branch.delays().iter().any(|delay| *delay > Time::ZERO);
    if plan.branches().iter().any(delayed) {
        budget(&mut words, "copies", plan.hedge_budget());
    }
    if plan.branches().iter().any(|branch| branch.failover) {
        budget(&mut words, "failovers", plan.failover_budget());
    }
    let shares = [(plan.observe(), "observed"), (plan.holdout(), "held out")];
    for (share, what) in shares.into_iter().filter(|(share, _)| *share > 0) {
        words.push(format!("{} of jobs {what}", percent(share)));
    }
    if plan.backfill() {
        words.push("backfill".to_owned());
    }
    words.join(", ")
}

/// What a budget pays for, unless it pays for all.
fn budget(words: &mut Vec<String>, what: &str, budget: BudgetSpec) {
    if budget.share < PPM {
        let share = percent(budget.share);
        words.push(format!("{what} for at most {share} of answers, {} saved up", budget.burst));
    }
    words.extend(budget.in_flight.map(|most| format!("at most {most} {what} in flight")));
}

/// Parts per million as a share.
fn percent(share: u32) -> String {
    number::percent(f64::from(share) / f64::from(PPM))
}

fn barrier(plan: &Plan) -> String {
    let branches = number::count(plan.n().into(), "branch", "branches");
    match plan.wait_for() {
        _ if plan.n() == 1 => "waits for its only branch".to_owned(),
        WaitFor::All => format!("waits for all of {branches}"),
        WaitFor::First(k) => format!("waits for the first {} of {branches}", number::grouped(k.into())),
        WaitFor::Share(share) => {
            let k = number::grouped(plan.k().into());
            format!("waits for the first {k} of {branches} ({})", percent(share))
        }
    }
}

/// Whether a result may lack the branch.
pub fn role(branch: &Branch) -> &'static str {
    if branch.required { "required" } else { "optional" }
}

/// The law of a branch's attempts.
#[expect(clippy::missing_panics_doc, reason = "the level is one")]
pub fn latency(law: Option<&Law>) -> String {
    let Some(law) = law else { return "no latency stated".to_owned() };
    let p99 = Level::above(0.01).expect("a level strictly between 0 and 1");
    let at = |level| number::duration(law.quantile(level));
    format!("p50 {}, p99 {}", at(Level::MEDIAN), at(p99))
}

/// When copies of a branch are due.
pub fn copies(branch: &Branch) -> String {
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

/// When a branch starts, if not at once, and whether it is sent to another target when it has failed.
pub fn order(plan: &Plan, branch: &Branch) -> String {
    const NAMED: usize = 3;
    let first = match branch.after.as_slice() {
        [] => None,
        after if after.len() <= NAMED => {
            let names: Vec<&str> = after.iter().map(|first| plan.branches()[*first].name.as_str()).collect();
            Some(format!("after {}", names.join(", ")))
        }
        after => Some(format!("after {} branches", after.len())),
    };
    let tolerant = if branch.tolerates_missing { " or without" } else { "" };
    let failover = branch.failover.then(|| "failover".to_owned());
    join(first.map(|first| first + tolerant).into_iter().chain(failover))
}

/// The bounds of time that a branch has of its own.
pub fn bounds(plan: &Plan, branch: &Branch) -> String {
    let own = branch.deadline.filter(|_| branch.deadline != plan.deadline());
    let deadline = own.map(|deadline| format!("deadline {deadline}"));
    let timeout = branch.attempt_timeout.map(|timeout| format!("attempt timeout {timeout}"));
    join(deadline.into_iter().chain(timeout))
}

/// What permits the attempts of a branch.
pub fn permits(plan: &Plan, branch: &Branch) -> String {
    let Some(limiter) = branch.limiter else { return String::new() };
    let name = &plan.limiters()[limiter].name;
    if branch.weight == 1 {
        format!("limiter {name}")
    } else {
        format!("limiter {name}, weight {}", branch.weight)
    }
}

/// The hosts of a branch's targets.
pub fn targets(entry: &BranchEntry) -> String {
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
pub fn limiter(limiter: &LimiterSpec) -> String {
    let gate = limiter.gate.map(|gate| format!("at most {gate} at once"));
    let rate = limiter.rate.map(|rate| format!("{} in {}, burst {}", rate.permits, rate.per, rate.burst));
    let strict = limiter.strict.then(|| "strict".to_owned());
    let share = Some(limiter.backfill_share).filter(|share| *share > 0);
    let backfill = share.map(|share| format!("{} for backfill", percent(share)));
    let text = join(gate.into_iter().chain(rate).chain(strict).chain(backfill));
    if text.is_empty() { "no bound".to_owned() } else { text }
}

fn join(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().collect::<Vec<_>>().join(", ")
}
