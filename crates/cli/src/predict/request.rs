//! From the command line to what is to be predicted: reads the files and texts that it names.

use std::fmt::{self, Display};

use fantail_core::{Plan, Time};
use fantail_model::{GroupedPlan, Law};
use fantail_planfile::{Goal, Percentile, PlanEntry, ShortForm, StatedLaw, Sweep, parse_law};

use crate::args::{MOST_BRANCHES, PredictArgs};
use crate::failure::Failure;
use crate::input;

/// What is to be predicted.
pub(super) struct Request {
    pub(super) percentiles: Vec<Percentile>,
    /// What every strategy has to keep.
    pub(super) asserts: Vec<Goal>,
    /// The like branches that all strategies are about; `None` for plans of files.
    pub(super) setting: Option<Setting>,
    pub(super) strategies: Vec<Stated>,
}

/// Like branches.
pub(super) struct Setting {
    /// How many; `None` where that is swept.
    pub(super) n: Option<u32>,
    /// The law of one call, as given.
    pub(super) latency: String,
    /// What is varied, if anything is.
    pub(super) sweep: Option<Sweep>,
}

/// Where in a sweep a plan is.
#[derive(Clone, Copy)]
pub(super) enum Point {
    Branches(u32),
    Sigma(f64),
    Deadline(Time),
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Point::Branches(n) => n.fmt(f),
            Point::Sigma(sigma) => sigma.fmt(f),
            Point::Deadline(deadline) => deadline.fmt(f),
        }
    }
}

impl Point {
    /// The word for what is varied.
    pub(super) fn variable(self) -> &'static str {
        match self {
            Point::Branches(_) => "n",
            Point::Sigma(_) => "sigma",
            Point::Deadline(_) => "deadline",
        }
    }
}

/// A plan with what names it.
pub(super) struct Stated {
    /// The plan's name, or its short form.
    pub(super) name: String,
    /// The file that states it.
    pub(super) file: Option<String>,
    /// Where in a sweep it is.
    pub(super) point: Option<Point>,
    pub(super) plan: Branches,
    /// Where laws were fitted to percentiles, the worst relative error in time over all of them.
    pub(super) fit_error: Option<f64>,
}

/// A plan over branches that are counted or listed.
pub(super) enum Branches {
    Counted(GroupedPlan),
    /// With the law of one attempt of each.
    Listed(Box<Plan>, Vec<Law>),
}

const WHAT: &str = "predict what? Name a plan file, or state the branches:
  fantail predict plan.toml
  fantail predict -n 8 --latency p50=0.8s,p95=1.5s,p99=2.4s --strategy all --strategy first:5";

impl Request {
    /// The error is invalid input, with everything that is wrong with any of it.
    pub(super) fn new(args: &PredictArgs) -> anyhow::Result<Request> {
        let mut faults = Faults::default();
        let percentiles = faults.keep(Percentile::parse_list(&args.percentiles));
        let asserts = args.asserts.iter().filter_map(|text| faults.keep(Goal::parse(text))).collect();
        let sweep = args.sweep.as_ref().and_then(|text| faults.keep(Sweep::parse(text)));
        let setting = args.latency.clone().map(|latency| Setting { n: args.n, latency, sweep });
        let strategies = match &setting {
            // A sweep that could not be read may have been one over n.
            Some(_) if !faults.0.is_empty() && args.sweep.is_some() => Vec::new(),
            Some(setting) => short(&mut faults, setting, &args.strategies),
            None if args.files.is_empty() => return Err(Failure::invalid(WHAT)),
            None => from_files(&mut faults, args),
        };
        faults.none()?;
        Ok(Request { percentiles: percentiles.unwrap_or_default(), asserts, setting, strategies })
    }
}

/// Plans in short form over like branches, each at every point of the sweep if there is one.
fn short(faults: &mut Faults, setting: &Setting, texts: &[String]) -> Vec<Stated> {
    let all = ["all".to_owned()];
    let texts = if texts.is_empty() { &all } else { texts };
    let forms: Vec<_> = texts.iter().filter_map(|text| faults.keep(ShortForm::parse(text))).collect();
    let Some(cases) = cases(faults, setting, &forms) else { return Vec::new() };
    let mut strategies = Vec::new();
    for form in &forms {
        for Case { point, n, law } in &cases {
            let plan = match point {
                Some(Point::Deadline(deadline)) => form.with_deadline(*deadline).grouped(*n, law),
                _ => form.grouped(*n, law),
            };
            match plan {
                Ok(plan) => strategies.push(Stated {
                    name: form.as_str().to_owned(),
                    file: None,
                    point: *point,
                    plan: Branches::Counted(plan),
                    fit_error: law.fit_error,
                }),
                // What is wrong at one point mostly is at the next.
                Err(problems) => {
                    let at = point.map(|point| format!("\nat {} = {point} of the sweep", point.variable()));
                    faults.0.push(format!("{problems}{}", at.unwrap_or_default()));
                    break;
                }
            }
        }
    }
    strategies
}

/// What all strategies are predicted over.
struct Case {
    point: Option<Point>,
    n: u32,
    law: StatedLaw,
}

/// One case, or one for each point of the sweep; `None` when something is wrong with them.
fn cases(faults: &mut Faults, setting: &Setting, forms: &[ShortForm]) -> Option<Vec<Case>> {
    if let Some(Sweep::Sigma(values)) = &setting.sweep {
        let n = branches(faults, setting.n)?;
        let case = |&sigma: &f64| {
            let law = faults.keep(with_sigma(&setting.latency, sigma))?;
            Some(Case { point: Some(Point::Sigma(sigma)), n, law: faults.keep(parse_law(&law))? })
        };
        return values.iter().map(case).collect();
    }
    let law = faults.keep(parse_law(&setting.latency));
    let case = |point, n, law: &StatedLaw| Case { point, n, law: law.clone() };
    match &setting.sweep {
        Some(Sweep::Branches(values)) => {
            if let Some(n) = setting.n {
                faults.0.push(format!("-n {n} beside --sweep n; expected one of them"));
            }
            if let Some(most) = values.last().filter(|n| **n > MOST_BRANCHES) {
                faults.0.push(format!("--sweep: got n = {most}, expected at most {MOST_BRANCHES}"));
                return None;
            }
            let law = law?;
            Some(values.iter().map(|&n| case(Some(Point::Branches(n)), n, &law)).collect())
        }
        Some(Sweep::Deadline(values)) => {
            for form in forms.iter().filter(|form| form.deadline().is_some()) {
                let text = form.as_str();
                faults
                    .0
                    .push(format!("--sweep deadline beside the deadline of `{text}`; expected one of them"));
            }
            let (n, law) = (branches(faults, setting.n)?, law?);
            Some(values.iter().map(|&time| case(Some(Point::Deadline(time)), n, &law)).collect())
        }
        _ => {
            let n = branches(faults, setting.n)?;
            Some(vec![case(None, n, &law?)])
        }
    }
}

/// The number of branches, which has to be stated.
fn branches(faults: &mut Faults, n: Option<u32>) -> Option<u32> {
    let missing = "--latency of how many branches? expected -n <N> or --sweep n=1..1000";
    faults.keep(n.ok_or(missing))
}

/// The text of a log-normal law with another sigma.
fn with_sigma(latency: &str, sigma: f64) -> Result<String, String> {
    let plain = |rest: &&str| !rest.contains(['|', '*']);
    let Some(rest) = latency.trim().strip_prefix("lognormal:").filter(plain) else {
        return Err(format!(
            "--sweep sigma needs a log-normal latency, like lognormal:median=1s,sigma=0.6; got `{latency}`"
        ));
    };
    let is_sigma = |part: &&str| part.split('=').next().is_some_and(|key| key.trim() == "sigma");
    let others: Vec<&str> = rest.split(',').filter(|part| !is_sigma(part)).collect();
    Ok(format!("lognormal:{},sigma={sigma}", others.join(",")))
}

fn from_files(faults: &mut Faults, args: &PredictArgs) -> Vec<Stated> {
    let configs = faults.keep(input::configs(&args.files)).unwrap_or_default();
    let mut strategies = Vec::new();
    for (path, config) in args.files.iter().zip(configs) {
        let file = path.display().to_string();
        for entry in config.plans {
            match without_latency(&entry).as_slice() {
                [] => strategies.push(stated(entry, &file)),
                names => faults.0.push(no_latency(&file, entry.plan.name(), names)),
            }
        }
    }
    strategies
}

/// The plan with its laws, one of which every branch has.
fn stated(entry: PlanEntry, file: &str) -> Stated {
    Stated {
        name: entry.plan.name().to_owned(),
        file: Some(file.to_owned()),
        point: None,
        fit_error: entry.branches.iter().filter_map(|branch| branch.fit_error).reduce(f64::max),
        plan: Branches::Listed(
            Box::new(entry.plan),
            entry.branches.into_iter().filter_map(|branch| branch.law).collect(),
        ),
    }
}

/// The branches that state no law.
fn without_latency(entry: &PlanEntry) -> Vec<&str> {
    let branches = entry.plan.branches().iter().zip(&entry.branches);
    branches.filter(|(_, more)| more.law.is_none()).map(|(branch, _)| branch.name.as_str()).collect()
}

fn no_latency(file: &str, plan: &str, branches: &[&str]) -> String {
    let mut names: Vec<String> = branches.iter().take(3).map(|name| format!("`{name}`")).collect();
    if branches.len() > names.len() {
        names.push(format!("{} more", branches.len() - names.len()));
    }
    format!(
        "{file}: plan `{plan}`: no latency is stated for {}; expected one for each branch, like\n  \
         [plan.{plan}.defaults]\n  latency = \"p50=0.8s,p95=1.5s,p99=2.4s\"",
        names.join(", ")
    )
}

/// What is wrong, of everything that was given.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    /// The value, or its error kept for later.
    fn keep<T, E: Display>(&mut self, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.0.push(error.to_string())).ok()
    }

    fn none(self) -> anyhow::Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Failure::invalid(self.0.join("\n\n"))) }
    }
}
