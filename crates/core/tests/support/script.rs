//! Scenario scripts: a plan, what happens when, and what must come of it.
//!
//! A script says nothing of permits or of how a job is driven, so that the same text can be played to the pure machine
//! and to a runtime under a paused clock. A file holds any number of them:
//!
//! ```text
//! == an answer stamped at the deadline is in time
//! plan wait=all deadline=5ms
//! branch a
//! branch b: optional
//! at 5ms: ok a
//! expect
//! at 0s: start a, b until 5ms
//! at 5ms: drop b (deadline); partial
//! a: answered, waited 0s, ran 5ms
//! b: missed, waited 0s, ran 5ms
//! primaries: 2 launched = 1 won + 1 censored, busy 10ms
//! ```
//!
//! - `plan`: `wait=all|first:K|share:PPM`, `at_least=K`, `deadline=T`, `share=PPM burst=N in_flight=N` of the hedge
//!   budget, `failover_share=PPM`, `credit=N` that the hedge budget holds already (the failover budget then holds what
//!   the same answers earned), `leader=NAME/T` with its head start, `rotation=N`, `observed`, `heldout`.
//! - `limiter NAME`: `gate=N`, `rate=N/T`, `burst=N`, `cap=T`.
//! - `branch NAMES: …`: `required`, `optional`, `hedge=T,T`, `race=R` (either makes it repeatable), `distinct`,
//!   `live=T` or `live=none`: what its live hedge delay is where nothing was measured, `min_useful=T`, `timeout=T`, `deadline=T`, `targets=N`, `limiter=NAME`, `weight=N`, `failover` (repeatable, and two
//!   targets if nothing else is said), `after=NAME,NAME` `tolerant` of what they lack.
//! - `at T: …`, in any order of what happens at T: `ok A`, `primed A` (and it runs on), `err A` (permanent), `retry A`
//!   (retryable), `push A T` (the server asks for a pause of T), `hold L W` and `free L` (somebody else takes W of limiter L, and frees the oldest
//!   that it took), `drop` (nobody wants the result).
//!
//! Names may be ranges, `x0..x9`. `a` is the primary of branch a, `a.1` its first copy, `a.f` its failover. What happens to an attempt that
//! does not run is without effect. `#` begins a comment.

use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use fantail_core::job::{AttemptId, Failure};
use fantail_core::plan::PPM;
use fantail_core::{
    BranchSpec, BudgetSpec, Hedge, Leader, LimiterSpec, LiveDelaySpec, Plan, PlanSpec, Quantile, Rate, Time,
    WaitFor,
};

/// One scenario.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) title: String,
    pub(crate) plan: Arc<Plan>,
    /// What the hedge budget holds at the start, in copies.
    pub(crate) credit: u32,
    pub(crate) rotation: u32,
    /// Sorted by time; at one instant in the order of the text.
    pub(crate) timeline: Vec<(Time, Happening)>,
    pub(crate) expected: String,
}

/// What the world does to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    Answers(AttemptId),
    Primes(AttemptId),
    Fails(AttemptId, Failure),
    /// Fails with the server's word to slow down for this long.
    PushesBack(AttemptId, Time),
    /// Somebody else takes this weight of a limiter.
    Holds(usize, u32),
    /// Somebody else frees the oldest that they took of a limiter.
    Frees(usize),
    Drops,
}

impl Script {
    /// The scripts of a file.
    pub(crate) fn all(text: &str) -> Vec<Script> {
        text.split("\n== ")
            .map(|case| case.trim_start_matches("== "))
            .filter(|case| !case.trim_start().starts_with('#'))
            .map(Script::one)
            .collect()
    }

    fn one(text: &str) -> Script {
        let (head, expected) =
            text.split_once("\nexpect\n").unwrap_or_else(|| panic!("no `expect` in {text}"));
        let mut lines = head.lines();
        let mut draft = Draft::new(lines.next().unwrap_or_default());
        for line in lines {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                draft.line(line);
            }
        }
        draft.finish(expected.trim())
    }
}

/// A script that is being read.
struct Draft {
    title: String,
    spec: PlanSpec,
    /// The leader's name, and its head start.
    leader: Option<(String, Time)>,
    /// What comes after what, by index and name.
    stages: Vec<(usize, String)>,
    credit: u32,
    rotation: u32,
    happenings: Vec<(Time, String)>,
}

impl Draft {
    fn new(title: &str) -> Draft {
        let spec = PlanSpec::new("script", Vec::new());
        let title = title.trim().into();
        Draft {
            title,
            spec,
            leader: None,
            stages: Vec::new(),
            credit: 0,
            rotation: 0,
            happenings: Vec::new(),
        }
    }

    fn line(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (subject, settings) = rest.split_once(':').unwrap_or((rest, ""));
        match word {
            "plan" => rest.split_whitespace().for_each(|setting| self.plan(setting)),
            "limiter" => self.limiter(rest),
            "branch" => {
                for name in subject.split_whitespace().flat_map(expand) {
                    let branch = self.branch(name, settings);
                    self.spec.branches.push(branch);
                }
            }
            "at" => {
                let at = read(subject);
                self.happenings.extend(settings.split(';').map(|what| (at, what.trim().to_owned())));
            }
            _ => panic!("unknown line: {line}"),
        }
    }

    fn plan(&mut self, setting: &str) {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        match key {
            "wait" => self.spec.wait_for = wait_for(value),
            "at_least" => self.spec.at_least = Some(read(value)),
            "deadline" => self.spec.deadline = Some(read(value)),
            "share" => self.spec.hedge_budget = BudgetSpec { share: read(value), ..self.spec.hedge_budget },
            "burst" => self.spec.hedge_budget = BudgetSpec { burst: read(value), ..self.spec.hedge_budget },
            "in_flight" => self.spec.hedge_budget.in_flight = Some(read(value)),
            "failover_share" => {
                self.spec.failover_budget = BudgetSpec { share: read(value), ..self.spec.failover_budget };
            }
            "leader" => {
                let (name, head_start) = value.split_once('/').expect("a leader is NAME/T");
                self.leader = Some((name.to_owned(), read(head_start)));
            }
            "credit" => self.credit = read(value),
            "rotation" => self.rotation = read(value),
            "observed" => self.spec.observe = PPM,
            "heldout" => self.spec.holdout = PPM,
            _ => panic!("unknown setting of the plan: {setting}"),
        }
    }

    fn limiter(&mut self, rest: &str) {
        let mut words = rest.split_whitespace();
        let mut limiter = LimiterSpec::new(words.next().expect("a limiter has a name"));
        for setting in words {
            match setting.split_once('=') {
                Some(("gate", value)) => limiter.gate = Some(read(value)),
                Some(("cap", value)) => limiter.pushback_cap = read(value),
                Some(("rate", value)) => {
                    let (permits, per) = value.split_once('/').expect("a rate is N/T");
                    limiter.rate = Some(Rate { permits: read(permits), per: read(per), burst: 1 });
                }
                Some(("burst", value)) => {
                    limiter.rate.as_mut().expect("the rate comes before its burst").burst = read(value);
                }
                _ => panic!("unknown setting of a limiter: {setting}"),
            }
        }
        self.spec.limiters.push(limiter);
    }

    fn branch(&mut self, name: String, settings: &str) -> BranchSpec {
        let mut branch = BranchSpec::new(name);
        for setting in settings.split_whitespace() {
            let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
            match key {
                "required" => branch.required = Some(true),
                "optional" => branch.required = Some(false),
                "deadline" => branch.deadline = Some(read(value)),
                "timeout" => branch.attempt_timeout = Some(read(value)),
                "targets" => branch.targets = read(value),
                "weight" => branch.weight = read(value),
                "limiter" => branch.limiter = Some(self.limiter_named(value)),
                "hedge" => {
                    let delays = value.split(',').map(read).collect();
                    branch.hedge = Some(Hedge { delays, ..Hedge::after(Time::ZERO) });
                }
                "failover" => branch.failover = true,
                "tolerant" => branch.tolerates_missing = true,
                "after" => {
                    let index = self.spec.branches.len();
                    self.stages.extend(value.split(',').flat_map(expand).map(|name| (index, name)));
                }
                "race" => branch.hedge = Some(Hedge::race(read(value))),
                "distinct" => branch.hedge.as_mut().expect("copies come first").distinct = true,
                "live" => {
                    branch.live = Some(self.spec.live_delays.len());
                    let warming = (value != "none").then(|| read(value));
                    let p95 = Quantile::from_ppm(950_000).expect("it is a level");
                    self.spec.live_delays.push(LiveDelaySpec { warming, ..LiveDelaySpec::new(p95) });
                }
                "min_useful" => branch.hedge.as_mut().expect("copies come first").min_useful = read(value),
                _ => panic!("unknown setting of a branch: {setting}"),
            }
        }
        branch.repeatable = branch.hedge.is_some() || branch.failover;
        if branch.failover && branch.targets == 1 {
            branch.targets = 2;
        }
        branch
    }

    fn branch_named(&self, name: &str) -> usize {
        let found = self.spec.branches.iter().position(|branch| branch.name == name);
        found.unwrap_or_else(|| panic!("no branch named {name}"))
    }

    fn limiter_named(&self, name: &str) -> usize {
        let found = self.spec.limiters.iter().position(|limiter| limiter.name == name);
        found.unwrap_or_else(|| panic!("no limiter named {name}"))
    }

    fn finish(mut self, expected: &str) -> Script {
        let title = self.title.clone();
        for (index, name) in std::mem::take(&mut self.stages) {
            let first = self.branch_named(&name);
            self.spec.branches[index].after.push(first);
        }
        let leader = self.leader.take();
        self.spec.leader =
            leader.map(|(name, head_start)| Leader { branch: self.branch_named(&name), head_start });
        let plan = Plan::new(self.spec.clone()).unwrap_or_else(|errors| panic!("{title}: {errors}"));
        let mut timeline = Vec::new();
        for (at, what) in &self.happenings {
            timeline.extend(self.happenings(&plan, what).into_iter().map(|happening| (*at, happening)));
        }
        timeline.sort_by_key(|(at, _)| *at);
        Script {
            title,
            plan: Arc::new(plan),
            credit: self.credit,
            rotation: self.rotation,
            timeline,
            expected: expected.to_owned(),
        }
    }

    fn happenings(&self, plan: &Plan, what: &str) -> Vec<Happening> {
        let words: Vec<&str> = what.split_whitespace().collect();
        let each = |names: &str, happening: &dyn Fn(AttemptId) -> Happening| {
            expand(names).map(|name| happening(attempt(plan, &name))).collect()
        };
        match words[..] {
            ["ok", names] => each(names, &Happening::Answers),
            ["primed", names] => each(names, &Happening::Primes),
            ["err", names] => each(names, &|attempt| Happening::Fails(attempt, Failure::Permanent)),
            ["retry", names] => each(names, &|attempt| Happening::Fails(attempt, Failure::Retryable)),
            ["push", names, pause] => each(names, &|attempt| Happening::PushesBack(attempt, read(pause))),
            ["hold", limiter, weight] => vec![Happening::Holds(self.limiter_named(limiter), read(weight))],
            ["free", limiter] => vec![Happening::Frees(self.limiter_named(limiter))],
            ["drop"] => vec![Happening::Drops],
            _ => panic!("{}: unknown happening: {what}", self.title),
        }
    }
}

/// The attempt that a script calls `name`.
fn attempt(plan: &Plan, name: &str) -> AttemptId {
    let (branch, number) = name.split_once('.').unwrap_or((name, "0"));
    let branch = plan.branch(branch).unwrap_or_else(|| panic!("no branch named {branch}"));
    let number = if number == "f" { AttemptId::FAILOVER } else { read(number) };
    let attempt = AttemptId { branch, number };
    assert!(plan.attempt_index(attempt).is_some(), "no attempt {name} is declared");
    attempt
}

/// `x2..x4` is `x2`, `x3`, `x4`; anything else is itself.
fn expand(names: &str) -> Box<dyn Iterator<Item = String>> {
    let Some((first, last)) = names.split_once("..") else { return Box::new([names.to_owned()].into_iter()) };
    let digits = first.find(|c: char| c.is_ascii_digit()).expect("a range is of numbered names");
    let stem = first[..digits].to_owned();
    let Range { start, end } = read(&first[digits..])..read::<u32>(&last[digits..]) + 1;
    Box::new((start..end).map(move |number| format!("{stem}{number}")))
}

fn wait_for(value: &str) -> WaitFor {
    match value.split_once(':') {
        None if value == "all" => WaitFor::All,
        Some(("first", k)) => WaitFor::First(read(k)),
        Some(("share", ppm)) => WaitFor::Share(read(ppm)),
        _ => panic!("unknown barrier: {value}"),
    }
}

fn read<T: FromStr>(text: &str) -> T {
    text.trim().parse().unwrap_or_else(|_| panic!("cannot read `{text}`"))
}
