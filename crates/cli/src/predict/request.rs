//! From the command line to what is to be predicted: reads the files and texts that it names.

use std::fmt::Display;

use fantail_core::Plan;
use fantail_model::{GroupedPlan, Law};
use fantail_planfile::{Goal, Percentile, PlanEntry, ShortForm, parse_law};

use crate::args::PredictArgs;
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
    pub(super) n: u32,
    /// The law of one call, as given.
    pub(super) latency: String,
}

/// A plan with what names it.
pub(super) struct Stated {
    /// The plan's name, or its short form.
    pub(super) name: String,
    /// The file that states it.
    pub(super) file: Option<String>,
    pub(super) plan: Branches,
    /// Where laws were fitted to percentiles, the worst relative error in time over all of them.
    pub(super) fit_error: Option<f64>,
}

/// A plan over branches that are counted or listed.
pub(super) enum Branches {
    Counted(GroupedPlan),
    /// With the law of one attempt of each.
    Listed(Plan, Vec<Law>),
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
        let setting = args.n.zip(args.latency.clone()).map(|(n, latency)| Setting { n, latency });
        let strategies = match &setting {
            Some(setting) => short(&mut faults, setting, &args.strategies),
            None if args.files.is_empty() => return Err(Failure::invalid(WHAT)),
            None => from_files(&mut faults, args),
        };
        faults.none()?;
        Ok(Request { percentiles: percentiles.unwrap_or_default(), asserts, setting, strategies })
    }
}

/// Plans in short form over like branches.
fn short(faults: &mut Faults, setting: &Setting, texts: &[String]) -> Vec<Stated> {
    let stated = faults.keep(parse_law(&setting.latency));
    let all = ["all".to_owned()];
    let texts = if texts.is_empty() { &all } else { texts };
    let forms: Vec<_> = texts.iter().filter_map(|text| faults.keep(ShortForm::parse(text))).collect();
    let Some(stated) = stated else { return Vec::new() };
    let strategy = |form: &ShortForm| {
        let plan = Branches::Counted(faults.keep(form.grouped(setting.n, &stated))?);
        Some(Stated { name: form.as_str().to_owned(), file: None, plan, fit_error: stated.fit_error })
    };
    forms.iter().filter_map(strategy).collect()
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
        fit_error: entry.branches.iter().filter_map(|branch| branch.fit_error).reduce(f64::max),
        plan: Branches::Listed(
            entry.plan,
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
