//! From words to what is to be predicted.

use std::fmt;
use std::sync::Arc;

use fantail_core::{Plan, Time, WaitFor};
use fantail_model::sim::Scenario;
use fantail_model::{Dependence, GroupedPlan, Law, StagedPlan};
use fantail_planfile::{
    BranchEntry, Config, EarlierCopy, Goal, HedgeRule, Overrides, Percentile, PlanEntry, Problem, Problems,
    Shape, ShortForm, StatedLaw, Sweep, parse_law,
};

use super::simulated::Effort;
use crate::flags::{Faults, Flags, blamed};
use crate::{Invalid, Source, number};

/// What is asked, in the words of the flags of `fantail predict`, each as if it were not given where it is empty.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Plan files: every plan of every file is a strategy.
    pub files: Vec<Source>,
    /// Number of like branches, 1 to [`MOST_BRANCHES`].
    pub n: Option<u32>,
    /// Law of the latency of one call of them.
    pub latency: Option<String>,
    /// The law that `latency` only names, as measured ones are.
    pub law: Option<StatedLaw>,
    /// Plans in short form; `all` where there are none.
    pub strategies: Vec<String>,
    /// What all plans state beside their own words.
    pub flags: Flags,
    /// Many values of one number, like `n=1..1000`.
    pub sweep: Option<String>,
    /// Quantiles, like `p50,p99.9`; [`USUAL`] where there are none.
    pub percentiles: String,
    /// What every strategy has to keep.
    pub asserts: Vec<String>,
    /// How plans are simulated that have no exact law.
    pub effort: Effort,
    /// Whether there is more to say than figures.
    pub explain: bool,
}

/// The largest number of like branches.
pub const MOST_BRANCHES: u32 = 1_000_000_000;

/// The percentiles that nobody has to ask for.
pub const USUAL: &str = "p50,p90,p95,p99,p99.9";

/// What is to be predicted.
pub(super) struct Request {
    pub(super) percentiles: Vec<Percentile>,
    /// Whether they are others than the usual ones.
    pub(super) percentiles_asked: bool,
    /// What every strategy has to keep.
    pub(super) asserts: Vec<Goal>,
    /// What the attempts of a job share.
    pub(super) shares: Dependence,
    /// How plans are simulated that have no exact law.
    pub(super) effort: Effort,
    /// The like branches that all strategies are about; `None` for plans of files.
    pub(super) setting: Option<Setting>,
    /// As many for each plan as the sweep has points.
    pub(super) strategies: Vec<Stated>,
    /// Those of the sweep; 1 where there is none.
    pub(super) points: usize,
}

/// Like branches.
pub struct Setting {
    /// How many; `None` where that is swept.
    pub n: Option<u32>,
    /// The law of one call, as given.
    pub latency: String,
    /// What is varied, if anything is.
    pub sweep: Option<Sweep>,
}

/// Where in a sweep a plan is.
#[derive(Clone, Copy)]
pub enum Point {
    /// The number of branches.
    Branches(u32),
    /// Of a log-normal latency.
    Sigma(f64),
    /// Of the job.
    Deadline(Time),
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Point::Branches(n) => f.write_str(&number::grouped((*n).into())),
            Point::Sigma(sigma) => f.write_str(&number::amount(*sigma)),
            Point::Deadline(deadline) => f.write_str(&number::duration(deadline.as_secs_f64())),
        }
    }
}

impl Point {
    /// The word for what is varied.
    pub fn variable(self) -> &'static str {
        match self {
            Point::Branches(_) => "n",
            Point::Sigma(_) => "sigma",
            Point::Deadline(_) => "deadline",
        }
    }

    /// What it is, times in seconds.
    pub fn value(self) -> f64 {
        match self {
            Point::Branches(n) => f64::from(n),
            Point::Sigma(sigma) => sigma,
            Point::Deadline(deadline) => deadline.as_secs_f64(),
        }
    }

    /// Labels of the points of a sweep, to be read below each other.
    pub fn labels(points: &[Point]) -> Vec<String> {
        let values: Vec<f64> = points.iter().map(|point| point.value()).collect();
        let lined_up = match points.first() {
            Some(Point::Sigma(_)) => number::steps(&values, ("", 1.0)),
            Some(Point::Deadline(_)) => {
                number::steps(&values, number::unit(values.iter().copied().fold(0.0, f64::max)))
            }
            Some(Point::Branches(_)) | None => None,
        };
        lined_up.unwrap_or_else(|| points.iter().map(ToString::to_string).collect())
    }
}

/// What a branch's law and copies follow from.
#[derive(Clone, Default)]
pub(super) struct Origin {
    /// The percentiles that its law was fitted to, as (probability, seconds), if it was.
    pub(super) percentiles: Option<Arc<[(f64, f64)]>>,
    /// What is stated of its copies.
    pub(super) hedge: Option<Arc<HedgeRule>>,
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
    /// How its branches follow one another; `None` where they start at once.
    pub(super) shape: Option<Shape>,
    pub(super) wait_for: WaitFor,
    /// Where laws were fitted to percentiles, the worst relative error in time over all of them.
    pub(super) fit_error: Option<f64>,
    /// The first copy that the deadline moved.
    pub(super) earlier: Option<EarlierCopy>,
    /// Of all branches that are counted, or of each that is listed.
    pub(super) origins: Vec<Origin>,
    /// The world of its file, where that states one.
    pub(super) scenario: Option<Arc<Scenario>>,
}

/// A plan over branches that are counted or listed.
pub(super) enum Branches {
    Counted(GroupedPlan),
    /// Counted, and one after another in some way.
    Staged(GroupedPlan, StagedPlan, Box<ShortForm>),
    /// With the law of one attempt of each, and the same with like ones counted: in which group each is.
    Listed {
        plan: Box<Plan>,
        laws: Vec<Law>,
        grouped: GroupedPlan,
        group_of: Vec<usize>,
    },
}

impl Request {
    /// The error is invalid input, with everything that is wrong with any of it.
    pub(super) fn new(words: &Words) -> Result<Request, Invalid> {
        let mut faults = Faults::default();
        let percentiles = if words.percentiles.is_empty() { USUAL } else { &words.percentiles };
        let percentiles_asked = percentiles != USUAL;
        let percentiles = faults.keep(Percentile::parse_list(percentiles));
        let asserts = words.asserts.iter().filter_map(|text| faults.keep(Goal::parse(text))).collect();
        let sweep = words.sweep.as_ref().and_then(|text| faults.keep(Sweep::parse(text)));
        let shares = faults.keep(words.flags.shares()).unwrap_or(Dependence::NONE);
        let setting =
            words.latency.clone().map(|latency| Setting { n: words.n, latency, sweep: sweep.clone() });
        let strategies = match &setting {
            // A sweep that could not be read may have been one over n.
            _ if !faults.0.is_empty() && words.sweep.is_some() => Vec::new(),
            Some(setting) => short(&mut faults, setting, words),
            None if words.files.is_empty() => {
                return Err(Invalid::new(
                    "nothing is named: expected plan files, or a latency of like branches",
                ));
            }
            None => from_files(&mut faults, words, sweep.as_ref()),
        };
        faults.none()?;
        Ok(Request {
            percentiles: percentiles.unwrap_or_default(),
            percentiles_asked,
            asserts,
            shares,
            effort: words.effort,
            setting,
            strategies,
            points: match sweep {
                Some(Sweep::Branches(values)) => values.len(),
                Some(Sweep::Sigma(values)) => values.len(),
                Some(Sweep::Deadline(values)) => values.len(),
                None => 1,
            },
        })
    }
}

/// Plans in short form over like branches, each at every point of the sweep if there is one.
fn short(faults: &mut Faults, setting: &Setting, words: &Words) -> Vec<Stated> {
    let all = ["all".to_owned()];
    let texts = if words.strategies.is_empty() { &all } else { &words.strategies[..] };
    faults.keep(words.flags.count());
    let forms: Vec<_> = texts
        .iter()
        .filter_map(|text| {
            let form = faults.keep(ShortForm::parse(text))?;
            faults.keep(words.flags.check(&form));
            Some(form)
        })
        .collect();
    let Some(cases) = cases(faults, setting, words, &forms) else { return Vec::new() };
    let mut strategies = Vec::new();
    for form in &forms {
        for Case { point, n, law } in &cases {
            let at_point = match point {
                Some(Point::Deadline(deadline)) => form.with_deadline(*deadline),
                _ => form.clone(),
            };
            match words.flags.on(&at_point, |form| branches_of(form, *n, law)) {
                Ok(plan) => strategies.push(Stated {
                    name: form.as_str().to_owned(),
                    file: None,
                    point: *point,
                    plan,
                    shape: form.shape(),
                    wait_for: form.wait_for(),
                    fit_error: law.fit_error,
                    earlier: at_point.earlier(&law.law),
                    origins: vec![Origin {
                        percentiles: law.percentiles.clone(),
                        hedge: form.hedge().map(Arc::new),
                    }],
                    scenario: None,
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

/// The plan over `n` branches of a law.
fn branches_of(form: &ShortForm, n: u32, law: &StatedLaw) -> Result<Branches, Problems> {
    if form.shape().is_none() {
        return form.grouped(n, law).map(Branches::Counted);
    }
    let staged = form.staged(&[(n, law.clone())], None)?;
    Ok(Branches::Staged(form.without_shape().grouped(n, law)?, staged, Box::new(form.clone())))
}

/// What all strategies are predicted over.
struct Case {
    point: Option<Point>,
    n: u32,
    law: StatedLaw,
}

/// One case, or one for each point of the sweep; `None` when something is wrong with them.
fn cases(faults: &mut Faults, setting: &Setting, words: &Words, forms: &[ShortForm]) -> Option<Vec<Case>> {
    if let Some(Sweep::Sigma(values)) = &setting.sweep {
        let n = branches(faults, setting.n)?;
        let case = |&sigma: &f64| {
            let law = faults.keep(with_sigma(&setting.latency, sigma))?;
            Some(Case { point: Some(Point::Sigma(sigma)), n, law })
        };
        return values.iter().map(case).collect();
    }
    let law = match &words.law {
        Some(law) => Some(law.clone()),
        None => faults.keep(parse_law(&setting.latency)),
    };
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

/// A log-normal law with another sigma.
fn with_sigma(latency: &str, sigma: f64) -> Result<StatedLaw, String> {
    let plain = |rest: &&str| !rest.contains(['|', '*']);
    let Some(rest) = latency.trim().strip_prefix("lognormal:").filter(plain) else {
        return Err(format!(
            "--sweep sigma needs a log-normal latency, like lognormal:median=1s,sigma=0.6; got `{latency}`"
        ));
    };
    let is_sigma = |part: &&str| part.split('=').next().is_some_and(|key| key.trim() == "sigma");
    let others: Vec<&str> = rest.split(',').filter(|part| !is_sigma(part)).collect();
    let with = |sigma: f64| parse_law(&format!("lognormal:{},sigma={sigma}", others.join(",")));
    // What is wrong with any sigma is wrong with what was typed.
    with(1.0).map_err(|problems| parse_law(latency).err().unwrap_or(problems).to_string())?;
    with(sigma).map_err(|problems| {
        let messages: Vec<&str> = problems.iter().map(Problem::message).collect();
        format!("--sweep sigma: {}", messages.join("; "))
    })
}

/// The plans of files, each at every point of the sweep if there is one.
fn from_files(faults: &mut Faults, words: &Words, sweep: Option<&Sweep>) -> Vec<Stated> {
    let points = match sweep {
        None => vec![None],
        Some(Sweep::Deadline(values)) => values.iter().map(|time| Some(*time)).collect(),
        Some(other) => {
            let word = other.variable();
            faults.0.push(format!("--sweep {word} is for -n branches; a plan file can be swept by deadline"));
            return Vec::new();
        }
    };
    let required = words.flags.required.as_ref().map(|names| faults.keep(split(names)));
    let overrides = Overrides {
        deadline: None,
        at_least: words.flags.at_least,
        required: required.map(Option::unwrap_or_default),
    };
    let mut strategies = Vec::new();
    for file in &words.files {
        strategies.extend(from_file(faults, file, &overrides, &points));
    }
    strategies
}

/// The plans of a file, one after the other.
fn from_file(
    faults: &mut Faults,
    file: &Source,
    overrides: &Overrides,
    points: &[Option<Time>],
) -> Vec<Stated> {
    let mut plans: Vec<Vec<Stated>> = Vec::new();
    for &deadline in points {
        let config = match with_overrides(file, &Overrides { deadline, ..overrides.clone() }) {
            Ok(config) => config,
            // What is wrong at one point mostly is at the next.
            Err(error) => {
                faults.0.push(error);
                break;
            }
        };
        plans.resize_with(config.plans.len(), Vec::new);
        let scenario = config.simulated.map(|simulated| Arc::new(simulated.scenario));
        for (entry, plan) in config.plans.into_iter().zip(&mut plans) {
            match without_latency(&entry).as_slice() {
                [] => {
                    let point = deadline.map(Point::Deadline);
                    let stated = faults.keep(stated(entry, &file.name, point));
                    plan.extend(stated.map(|stated| Stated { scenario: scenario.clone(), ..stated }));
                }
                names => faults.0.push(no_latency(&file.name, entry.plan.name(), names)),
            }
        }
        if !faults.0.is_empty() {
            break;
        }
    }
    plans.into_iter().flatten().collect()
}

/// What a file states with what flags do. What is wrong only then is the flags' fault, not the file's.
fn with_overrides(file: &Source, overrides: &Overrides) -> Result<Config, String> {
    let problems = match file.parse(overrides) {
        Ok(config) => return Ok(config),
        Err(problems) => problems,
    };
    file.config(&Overrides::default()).map_err(|error| error.to_string())?;
    let Overrides { deadline, at_least, required } = overrides.clone();
    let names = required.as_ref().map(|names| names.join(","));
    let flags = [
        (
            deadline.map(|at| format!("--sweep deadline, at {at},")),
            Overrides { deadline, ..Overrides::default() },
        ),
        (at_least.map(|count| format!("--at-least {count}")), Overrides { at_least, ..Overrides::default() }),
        (names.map(|names| format!("--required {names}")), Overrides { required, ..Overrides::default() }),
    ];
    let flags = flags.into_iter().filter_map(|(flag, alone)| Some((flag?, file.parse(&alone).is_err())));
    Err(blamed(flags.collect(), &file.name, &problems))
}

/// Names between commas, each once.
fn split(names: &str) -> Result<Vec<String>, String> {
    let mut list: Vec<String> = Vec::new();
    for name in names.split(',').map(str::trim) {
        if list.iter().any(|other| other == name) {
            return Err(format!("--required {names}: `{name}` twice; expected each branch once"));
        }
        list.push(name.to_owned());
    }
    Ok(list)
}

/// The plan with its laws, one of which every branch has.
///
/// The error is more branches than are told apart.
fn stated(entry: PlanEntry, file: &str, point: Option<Point>) -> Result<Stated, String> {
    let laws: Vec<Law> = entry.branches.iter().filter_map(|branch| branch.law.clone()).collect();
    let (grouped, group_of) = GroupedPlan::of(&entry.plan, &laws)
        .map_err(|error| format!("{file}: plan `{}`: {error}", entry.plan.name()))?;
    Ok(Stated {
        name: entry.plan.name().to_owned(),
        file: Some(file.to_owned()),
        point,
        shape: None,
        wait_for: entry.plan.wait_for(),
        fit_error: entry.branches.iter().filter_map(|branch| branch.fit_error).reduce(f64::max),
        earlier: entry.branches.iter().find_map(|branch| branch.earlier.clone()),
        origins: entry.branches.iter().map(origin).collect(),
        plan: Branches::Listed { plan: Box::new(entry.plan), laws, grouped, group_of },
        scenario: None,
    })
}

fn origin(branch: &BranchEntry) -> Origin {
    Origin { percentiles: branch.percentiles.clone(), hedge: branch.hedge.clone() }
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
