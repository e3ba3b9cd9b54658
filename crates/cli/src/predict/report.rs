//! The figures of every strategy, whatever they are printed as.

use fantail_model::{Cancellation, GroupedPlan, JobLaw, Method, SolveError, solve};
use fantail_planfile::{Goal, Measure, Percentile};

use super::request::{Branches, Point, Request, Setting, Stated};
use crate::describe;

/// What a prediction says.
pub(crate) struct Report {
    /// The like branches that all strategies are about; `None` for plans of files.
    pub(super) setting: Option<Setting>,
    /// The labels of the quantiles, in the order asked.
    pub(super) labels: Vec<String>,
    /// What every strategy has to keep.
    pub(super) asserts: Vec<Goal>,
    pub(super) strategies: Vec<Strategy>,
}

/// One plan and its figures.
pub(super) struct Strategy {
    pub(super) name: String,
    pub(super) file: Option<String>,
    /// Where in a sweep it is.
    pub(super) point: Option<Point>,
    /// What the plan waits for and what it does meanwhile, in words; `None` where its short form says it.
    pub(super) description: Option<String>,
    /// The plan, like branches counted.
    pub(super) plan: GroupedPlan,
    /// Where laws were fitted to percentiles, the worst relative error in time over all of them.
    pub(super) fit_error: Option<f64>,
    /// Chance that a job meets a branch among that branch's slowest 1 %.
    pub(super) slowest_percent: f64,
    /// The figures, or why there are none.
    pub(super) outlook: Result<Figures, Vec<String>>,
}

/// Times in seconds, which may be infinite; shares from 0 to 1.
pub(super) struct Figures {
    /// Of the return time, in the order asked.
    pub(super) quantiles: Vec<f64>,
    /// Of the return time; an error when an integral missed its precision.
    pub(super) mean: Result<f64, String>,
    pub(super) sd: Result<f64, String>,
    pub(super) complete: f64,
    pub(super) partial: f64,
    pub(super) failed: f64,
    /// Jobs that never end.
    pub(super) never: f64,
    pub(super) prices: Result<Prices, String>,
    pub(super) sends_copy: f64,
    pub(super) method: Method,
    pub(super) assumes: Vec<String>,
    /// What each assert is about, in their order, or why there is no such figure.
    pub(super) asserted: Vec<Result<f64, String>>,
}

/// What a plan costs beside time.
pub(super) struct Prices {
    pub(super) extra_requests: f64,
    /// `None` when the plan is busy for ever, with copies and without.
    pub(super) extra_busy: Option<f64>,
    /// Money a job; `None` when no branch states a cost.
    pub(super) cost: Option<f64>,
}

impl Report {
    pub(super) fn new(request: Request) -> Report {
        let Request { percentiles, asserts, setting, strategies } = request;
        let strategies =
            strategies.into_iter().map(|stated| strategy(stated, &percentiles, &asserts)).collect();
        let labels = percentiles.iter().map(|percentile| percentile.label().to_owned()).collect();
        Report { setting, labels, asserts, strategies }
    }

    /// All strategies.
    pub(super) fn rows(&self) -> Vec<&Strategy> {
        self.strategies.iter().collect()
    }

    /// Whether there is a sweep, so that a strategy is a curve.
    pub(super) fn is_sweep(&self) -> bool {
        self.strategies.iter().any(|strategy| strategy.point.is_some())
    }
}

fn strategy(stated: Stated, percentiles: &[Percentile], asserts: &[Goal]) -> Strategy {
    let Stated { name, file, point, plan, fit_error } = stated;
    let (description, plan, law) = match plan {
        Branches::Counted(plan) => {
            let law = plan.solve();
            (None, plan, law)
        }
        Branches::Listed(plan, laws) => {
            let (grouped, _) = GroupedPlan::of(&plan, &laws).expect("a law was read for each branch");
            (Some(describe::plan(&plan)), grouped, solve(&plan, &laws))
        }
    };
    Strategy {
        name,
        file,
        point,
        description,
        fit_error,
        slowest_percent: -(plan.n() as f64 * (-0.01_f64).ln_1p()).exp_m1(),
        outlook: law.map(|law| figures(&law, percentiles, asserts)).map_err(reasons),
        plan,
    }
}

/// Why a plan has no figures.
fn reasons(error: SolveError) -> Vec<String> {
    match error {
        SolveError::NotIncluded(reasons) => reasons.iter().map(ToString::to_string).collect(),
        error => vec![error.to_string()],
    }
}

fn figures(law: &JobLaw, percentiles: &[Percentile], asserts: &[Goal]) -> Figures {
    let verdicts = law.verdicts();
    let text = |error: SolveError| error.to_string();
    let mean_and_sd = law.mean_and_sd().map_err(text);
    let mut figures = Figures {
        quantiles: percentiles.iter().map(|percentile| law.quantile(percentile.level()).value).collect(),
        mean: mean_and_sd.clone().map(|(mean, _)| mean.value),
        sd: mean_and_sd.map(|(_, sd)| sd.value),
        complete: verdicts.complete,
        partial: verdicts.partial,
        failed: verdicts.failed,
        never: verdicts.never,
        prices: law.prices(Cancellation::AtOnce).map(prices).map_err(text),
        sends_copy: law.sends_copy() + 0.0,
        method: verdicts.method,
        assumes: law.assumptions().iter().map(ToString::to_string).collect(),
        asserted: Vec::new(),
    };
    figures.asserted = asserts.iter().map(|goal| measured(goal.measure(), law, &figures)).collect();
    figures
}

/// What a goal is about, or why there is no such figure.
fn measured(measure: &Measure, law: &JobLaw, figures: &Figures) -> Result<f64, String> {
    let prices = || figures.prices.as_ref().map_err(String::clone);
    match measure {
        Measure::Quantile(percentile) => Ok(law.quantile(percentile.level()).value),
        Measure::Mean => figures.mean.clone(),
        Measure::Complete => Ok(figures.complete),
        Measure::Partial => Ok(figures.partial),
        Measure::Failed => Ok(figures.failed),
        Measure::ExtraRequests => prices().map(|prices| prices.extra_requests),
        Measure::ExtraBusy => prices()?.extra_busy.ok_or_else(|| BUSY_FOR_EVER.to_owned()),
        Measure::Cost => prices()?.cost.ok_or_else(|| UNPRICED.to_owned()),
    }
}

/// Why there is no extra busy time.
pub(super) const BUSY_FOR_EVER: &str = "busy for ever, with copies and without";
/// Why there is no cost.
pub(super) const UNPRICED: &str = "no branch states a cost";

fn prices(prices: fantail_model::Prices) -> Prices {
    // Adding zero makes a zero of a negative one, which an empty sum is.
    Prices { extra_requests: prices.extra_requests + 0.0, extra_busy: prices.extra_busy, cost: prices.cost }
}

/// How many branches are required.
pub(super) fn required(plan: &GroupedPlan) -> u64 {
    plan.groups.iter().filter(|group| group.required).map(|group| group.count).sum()
}

/// The word for a method.
pub(super) fn word(method: Method) -> &'static str {
    match method {
        Method::Exact => "exact",
        _ => "not exact",
    }
}
