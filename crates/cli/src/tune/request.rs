//! From the command line to a question: which plan, which goals, and what may be changed.

use std::path::{Path, PathBuf};

use fantail_core::Plan;
use fantail_core::plan::PPM;
use fantail_model::sim::Scenario;
use fantail_model::tune::{Levers, Measure, Price, Tuning};
use fantail_model::{GroupedPlan, JobLaw, Law, NotIncluded, SolveError, solve};
use fantail_planfile::{Config, Goal, PlanEntry, ShortForm, StatedLaw, parse_law};

use crate::args::{PriceOf, TuneArgs};
use crate::failure::Failure;
use crate::input::Subject;
use crate::{input, number};

/// What is to be tuned.
pub(super) struct Request {
    pub(super) goals: Vec<Goal>,
    pub(super) origin: Origin,
    pub(super) tuning: Tuning,
    /// Where laws were fitted to percentiles, the worst relative error in time over all of them.
    pub(super) fit_error: Option<f64>,
}

/// Where the plan is from.
pub(super) enum Origin {
    /// Like branches.
    Like { n: u32, latency: String, strategy: String },
    /// A plan of a file.
    File(Box<Stated>),
}

/// A plan of a file with the law of every branch.
pub(super) struct Stated {
    pub(super) path: PathBuf,
    pub(super) plan: Plan,
    pub(super) laws: Vec<Law>,
    /// The world of the file, where it states one.
    pub(super) scenario: Option<Scenario>,
    /// The group of each branch.
    pub(super) group_of: Vec<usize>,
}

const WHAT: &str = "tune what? Name a plan file, or state the branches:
  fantail tune plan.toml --goal 'p99<2.5s'
  fantail tune -n 8 --latency p50=0.8s,p95=1.5s,p99=2.4s --goal 'p99<2.5s'";

/// What `--allow` allows.
#[derive(Clone, Copy, Default)]
struct Allowed {
    deadline: bool,
    first: Option<u32>,
}

impl Request {
    /// The error is invalid input, with everything that is wrong with any of it.
    pub(super) fn new(args: &TuneArgs) -> anyhow::Result<Request> {
        let mut faults = Vec::new();
        let goals = goals(&mut faults, args);
        let allowed = allowed(&mut faults, &args.allow);
        let subject = Subject {
            file: args.file.as_deref(),
            n: args.n,
            latency: args.latency.as_deref(),
            strategy: args.strategy.as_deref(),
        };
        subject.check(WHAT).map_err(Failure::invalid)?;
        let source = match (&args.file, args.n, &args.latency) {
            (Some(path), ..) => from_file(path, args.plan.as_deref()),
            (None, Some(n), Some(latency)) => {
                if let Some(name) = &args.plan {
                    faults.push(format!(
                        "--plan {name} names a plan of a file; --strategy states one of like branches"
                    ));
                }
                like(n, latency, args.strategy.as_deref().unwrap_or("all"), allowed)
            }
            _ => Err(Failure::invalid("--latency of how many branches? expected -n <N>")),
        };
        let source = match source {
            Ok(source) if faults.is_empty() => source,
            Ok(_) => return Err(Failure::invalid(faults.join("\n\n"))),
            // Not invalid, but not to be predicted.
            Err(error) if faults.is_empty() => return Err(error),
            Err(error) => {
                faults.push(error.to_string());
                return Err(Failure::invalid(faults.join("\n\n")));
            }
        };
        source.request(args, goals, allowed)
    }

    /// What is to be small, of a job.
    pub(super) fn price(&self, job: &JobLaw) -> f64 {
        match self.tuning.price {
            Price::ExtraRequests => job.extra_requests(),
            Price::Cost => job.cost().unwrap_or(0.0),
        }
    }

    /// The names of a group's branches: all of them when they are like any other.
    pub(super) fn label(&self, group: usize) -> String {
        let Origin::File(stated) = &self.origin else {
            return number::count(self.tuning.plan.groups[group].count, "branch", "branches");
        };
        let branches = stated.plan.branches().iter().zip(&stated.group_of);
        let names: Vec<&str> =
            branches.filter(|(_, of)| **of == group).map(|(branch, _)| branch.name.as_str()).collect();
        match names.as_slice() {
            [most @ .., last] if (1..4).contains(&most.len()) => format!("{} and {last}", most.join(", ")),
            [only] => (*only).to_owned(),
            [first, .., last] => format!("{first} … {last} ({})", names.len()),
            [] => String::new(),
        }
    }
}

/// A plan with what tuning it needs beside it.
struct Source {
    origin: Origin,
    plan: GroupedPlan,
    hedged: Vec<bool>,
    /// What each primary earns of a copy, where the file caps copies.
    budget: Option<f64>,
    /// Whether that is meant to be all that copies cost: none of them goes out at the start.
    caps_requests: bool,
    /// The most copies that targets allow.
    most_copies: usize,
    fit_error: Option<f64>,
}

impl Source {
    fn request(self, args: &TuneArgs, goals: Vec<Goal>, allowed: Allowed) -> anyhow::Result<Request> {
        let Source { origin, plan, hedged, budget, caps_requests, most_copies, fit_error } = self;
        let priced = plan.groups.iter().any(|group| group.cost.is_some());
        let asks_cost =
            args.price == PriceOf::Cost || goals.iter().any(|goal| goal.goal().measure == Measure::Cost);
        if asks_cost && !priced {
            return Err(Failure::invalid(
                "cost: no branch states a `cost`; expected one for each that has one",
            ));
        }
        let least_k = allowed.first.map_or(plan.k, u64::from);
        if least_k == 0 || least_k > plan.k {
            let message = format!(
                "--allow first:{least_k}: got {least_k}, expected 1 to what the plan waits for, {}",
                plan.k
            );
            return Err(Failure::invalid(message));
        }
        // A branch's own deadline is not to be later than the job's.
        let own_deadlines = plan.groups.iter().any(|group| group.deadline < plan.deadline);
        if allowed.deadline && own_deadlines {
            let message =
                "--allow deadline: a branch has a deadline of its own; expected none but the plan's";
            return Err(Failure::invalid(message));
        }
        // A stated bound takes the place of the file's budget.
        let bounds = |of: fn(Measure) -> bool| goals.iter().any(|goal| of(goal.goal().measure));
        let budget = budget.filter(|_| !bounds(|measure| measure == Measure::ExtraRequests));
        let sets_deadline = plan.deadline.is_infinite() && !own_deadlines && bounds(Measure::is_time);
        let levers = Levers {
            deadline: allowed.deadline || sets_deadline,
            least_k,
            hedged,
            most_copies: most_copies.min(args.max_copies.into()),
            budget: budget.unwrap_or(f64::INFINITY),
            most_extra: budget.filter(|_| caps_requests).unwrap_or(f64::INFINITY),
        };
        let price = match args.price {
            PriceOf::Requests => Price::ExtraRequests,
            PriceOf::Cost => Price::Cost,
        };
        let tuning = Tuning { plan, goals: goals.iter().map(Goal::goal).collect(), price, levers };
        Ok(Request { goals, origin, tuning, fit_error })
    }
}

/// The goals, those that no plan is tuned for among the faults.
fn goals(faults: &mut Vec<String>, args: &TuneArgs) -> Vec<Goal> {
    let cap = args.max_extra_requests.as_ref().map(|share| format!("extra_requests<={share}"));
    let mut goals: Vec<Goal> = Vec::new();
    for text in args.goals.iter().chain(&cap) {
        match Goal::parse(text) {
            Ok(goal) if !goal.goal().is_sought() => {
                let is_upper = goal.goal().relation.is_upper();
                let (what, sign) = if is_upper { ("larger", '>') } else { ("smaller", '<') };
                faults.push(format!("goal `{goal}`: tune makes {} {what}; expected `{sign}`", goal.word()));
            }
            Ok(goal) if goals.iter().any(|other| other.word() == goal.word()) => {
                faults.push(format!("goal `{goal}`: a second bound on {}; expected one", goal.word()));
            }
            Ok(goal) => goals.push(goal),
            Err(problems) => faults.push(problems.to_string()),
        }
    }
    if faults.is_empty() && goals.iter().all(|goal| goal.goal().measure.is_price()) {
        let message = "only prices are bounded, and the plan without copies is the cheapest; expected a goal that \
                       they are paid for, like --goal 'p99<2.5s'";
        faults.push(message.to_owned());
    }
    goals
}

fn allowed(faults: &mut Vec<String>, texts: &[String]) -> Allowed {
    let mut allowed = Allowed::default();
    for text in texts {
        let twice = match text.split_once(':').unwrap_or((text, "")) {
            ("deadline", "") => std::mem::replace(&mut allowed.deadline, true),
            ("first", count) if count.parse::<u32>().is_ok() => {
                std::mem::replace(&mut allowed.first, count.parse().ok()).is_some()
            }
            _ => {
                faults.push(format!("--allow: got `{text}`, expected `deadline` or `first:K`, like first:3"));
                continue;
            }
        };
        if twice {
            faults.push(format!("--allow {text}: a second one of its kind; expected one"));
        }
    }
    allowed
}

fn like(n: u32, latency: &str, strategy: &str, allowed: Allowed) -> anyhow::Result<Source> {
    let form = ShortForm::parse(strategy).map_err(Failure::invalid);
    let law = parse_law(latency).map_err(Failure::invalid);
    let (form, law) = match (form, law) {
        (Ok(form), Ok(law)) => (form, law),
        (form, law) => {
            let errors = [form.err(), law.err()];
            let texts: Vec<String> = errors.into_iter().flatten().map(|error| error.to_string()).collect();
            return Err(Failure::invalid(texts.join("\n\n")));
        }
    };
    let mut plan = form.grouped(n, &law).map_err(Failure::invalid)?;
    if allowed.first.is_some() && plan.groups.iter().all(|group| group.required) {
        // What the job may end without is not required.
        plan.groups.iter_mut().for_each(|group| group.required = false);
    }
    let StatedLaw { fit_error, .. } = law;
    Ok(Source {
        origin: Origin::Like { n, latency: latency.to_owned(), strategy: strategy.to_owned() },
        hedged: vec![true; plan.groups.len()],
        plan,
        budget: None,
        caps_requests: false,
        most_copies: usize::MAX,
        fit_error,
    })
}

fn from_file(path: &Path, name: Option<&str>) -> anyhow::Result<Source> {
    let config = input::config(path)?;
    let entry = choose(&config, path, name)?;
    let laws: Vec<Law> = entry.branches.iter().filter_map(|branch| branch.law.clone()).collect();
    if laws.len() < entry.branches.len() {
        let message = format!(
            "{}: plan `{}`: a branch states no latency; expected one for each, like\n  [plan.{}.defaults]\n  latency = \
             \"p50=0.8s,p95=1.5s,p99=2.4s\"",
            path.display(),
            entry.plan.name(),
            entry.plan.name()
        );
        return Err(Failure::invalid(message));
    }
    let (grouped, group_of) = GroupedPlan::of(&entry.plan, &laws)?;
    refuse_without_law(entry, &laws)?;
    let branches = || entry.plan.branches().iter();
    let any_copies = grouped.has_copies();
    let may = |group: usize| {
        branches()
            .zip(&group_of)
            .filter(|(_, of)| **of == group)
            .all(|(branch, _)| branch.repeatable && (!any_copies || branch.hedge.is_some()))
    };
    let distinct = branches().filter(|branch| branch.hedge.as_ref().is_some_and(|hedge| hedge.distinct));
    let any_delay =
        |of: fn(f64) -> bool| grouped.groups.iter().any(|group| group.delays.iter().any(|delay| of(*delay)));
    Ok(Source {
        hedged: (0..grouped.groups.len()).map(may).collect(),
        budget: any_delay(|delay| delay > 0.0)
            .then(|| f64::from(entry.plan.hedge_budget().share) / f64::from(PPM)),
        caps_requests: !any_delay(|delay| delay == 0.0),
        most_copies: distinct.map(|branch| branch.targets as usize - 1).min().unwrap_or(usize::MAX),
        fit_error: entry.branches.iter().filter_map(|branch| branch.fit_error).reduce(f64::max),
        plan: grouped,
        origin: Origin::File(Box::new(Stated {
            path: path.to_owned(),
            plan: entry.plan.clone(),
            laws,
            scenario: config.simulated.as_ref().map(|simulated| simulated.scenario.clone()),
            group_of,
        })),
    })
}

fn choose<'c>(config: &'c Config, path: &Path, name: Option<&str>) -> anyhow::Result<&'c PlanEntry> {
    let names: Vec<&str> = config.plans.iter().map(|entry| entry.plan.name()).collect();
    let names = names.join(", ");
    match (name, config.plans.as_slice()) {
        (None, [only]) => Ok(only),
        (None, _) => Err(Failure::invalid(format!(
            "{}: which of its plans? expected --plan with one of {names}",
            path.display()
        ))),
        (Some(name), _) => config.plan(name).ok_or_else(|| {
            Failure::invalid(format!("{}: no plan `{name}`; expected one of {names}", path.display()))
        }),
    }
}

/// What has no exact law, whatever the copies. A budget that the stated copies exceed is no reason.
fn refuse_without_law(entry: &PlanEntry, laws: &[Law]) -> anyhow::Result<()> {
    match solve(&entry.plan, laws) {
        Err(SolveError::NotIncluded(reasons)) => {
            let of_budget = |reason: &NotIncluded| matches!(reason, NotIncluded::Budget { .. });
            match reasons.iter().find(|reason| !of_budget(reason)) {
                Some(reason) => {
                    let name = entry.plan.name();
                    anyhow::bail!("{name}: not predicted: {reason}; plans like it are not included yet")
                }
                None => Ok(()),
            }
        }
        other => Ok(other.map(drop)?),
    }
}
