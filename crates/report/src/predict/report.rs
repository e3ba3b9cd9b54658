//! The figures of every strategy, whatever they are printed as.

use fantail_model::tune::Measure;
use fantail_model::{
    Assumption, Cancellation, Dependence, Figure, GroupedPlan, JobLaw, Level, Method, Outcomes, SolveError,
    StagedJob, StagedPlan, Tables, solve,
};
use fantail_planfile::{EarlierCopy, Goal, Percentile, Shape};

use super::explain::{Explanation, Subject, apart, explanation};
use super::request::{Branches, Point, Request, Setting, Stated, Words};
use super::simulated::{Effort, Play, Simulated, left_out};
use super::solved::Solved;
use crate::{Invalid, describe, number, text};

/// What a prediction says.
pub struct Report {
    /// The like branches that all strategies are about; `None` for plans of files.
    pub setting: Option<Setting>,
    /// What the attempts of a job share.
    pub shares: Dependence,
    /// The labels of the quantiles, in the order asked.
    pub labels: Vec<String>,
    /// Whether other quantiles than the usual ones were asked for.
    pub percentiles_asked: bool,
    /// What every strategy has to keep.
    pub asserts: Vec<Goal>,
    /// As many for each plan as the sweep has points.
    pub strategies: Vec<Strategy>,
    /// Those of the sweep; 1 where there is none.
    points: usize,
    /// Those that were asked for: more, where all of them would take too long.
    asked_points: usize,
}

/// One plan and its figures.
pub struct Strategy {
    /// The plan's name, or its short form.
    pub name: String,
    /// The file that states it.
    pub file: Option<String>,
    /// What people are shown as its name, beside those of the others.
    pub shown: String,
    /// Where in a sweep it is.
    pub point: Option<Point>,
    /// What the plan waits for and what it does meanwhile, in words; `None` where its short form says it.
    pub description: Option<String>,
    /// The plan, like branches counted.
    pub plan: GroupedPlan,
    /// How its branches follow one another; `None` where they start at once.
    pub shape: Option<Shape>,
    /// Where laws were fitted to percentiles, the worst relative error in time over all of them.
    pub fit_error: Option<f64>,
    /// A copy that its deadline moved.
    pub earlier: Option<EarlierCopy>,
    /// How many of its branches a job calls at least, where nothing ends it early.
    pub calls: u64,
    /// Chance that a job meets a branch among that branch's slowest 1 %.
    pub slowest_percent: f64,
    /// The figures, or why there are none.
    pub outlook: Result<Figures, Vec<String>>,
    /// What there is to say beyond them, where that was asked for.
    pub explanation: Option<Explanation>,
}

/// A strategy that has figures.
pub type Row<'r> = (&'r Strategy, &'r Figures);

/// Those of some strategies that have figures.
pub fn rows<'r>(strategies: impl IntoIterator<Item = &'r Strategy>) -> Vec<Row<'r>> {
    let row = |strategy: &'r Strategy| Some((strategy, strategy.outlook.as_ref().ok()?));
    strategies.into_iter().filter_map(row).collect()
}

/// Times in seconds, which may be infinite; shares from 0 to 1.
pub struct Figures {
    /// Of the return time, in the order asked.
    pub quantiles: Vec<Figure>,
    /// What they were read off.
    pub(super) law: Solved,
    /// The central ranges of the return time that hold 68 % and 95 % of the jobs.
    pub central: [(Figure, Figure); 2],
    /// Of the return time; an error when an integral missed its precision.
    pub mean: Result<Figure, String>,
    /// Its standard deviation, likewise.
    pub sd: Result<Figure, String>,
    /// Jobs that meet the barrier.
    pub complete: Figure,
    /// Jobs that end with less, but enough.
    pub partial: Figure,
    /// Jobs that end with too little.
    pub failed: Figure,
    /// Jobs that never end.
    pub never: Figure,
    /// What it costs beside time, or why that is not known.
    pub prices: Result<Prices, String>,
    /// The chance that a job sends a copy.
    pub sends_copy: Result<Figure, String>,
    /// How they were found; where there are several ways, the less exact one.
    pub method: Method,
    /// What they take for granted.
    pub assumes: Vec<String>,
    /// What each assert is about, in their order, or why there is no such figure.
    pub asserted: Vec<Result<Figure, String>>,
    /// Why the plan has no exact law, where it is simulated.
    pub not_exact: Vec<String>,
}

impl Figures {
    /// P(a job has returned by `t` seconds after its start); not a number where an integral fails.
    pub fn returned(&self, t: f64) -> f64 {
        self.law.returned(t)
    }

    /// P(a job is still waiting at `t`), precise however small; likewise.
    pub fn waiting(&self, t: f64) -> f64 {
        self.law.waiting(t)
    }

    /// What becomes of one branch of a group of the plan.
    ///
    /// # Errors
    /// Why it is not known: branches follow one another, or an integral missed its precision.
    pub fn outcomes(&self, group: usize) -> Result<Outcomes, String> {
        self.law.outcomes(group)
    }

    /// The density of the return time at `t`, per second; `None` where only bounds are known.
    pub fn density(&self, t: f64) -> Option<f64> {
        self.law.density(t)
    }

    /// The return time at a level, in seconds.
    ///
    /// # Errors
    /// Why it is not known: an integral missed its precision.
    pub fn quantile(&self, level: Level) -> Result<Figure, String> {
        self.law.quantile(level)
    }

    /// The jobs that they are counted of, where there is no exact law.
    pub fn simulated(&self) -> Option<&Simulated> {
        match &self.law {
            Solved::Simulated(jobs) => Some(jobs),
            _ => None,
        }
    }

    /// Whether a quantile is finite and yet later than any time that is computed.
    pub fn is_beyond(&self, quantile: usize) -> bool {
        self.quantiles[quantile].value.is_infinite() && self.never.value == 0.0
    }
}

/// What a plan costs beside time.
#[derive(Clone)]
pub struct Prices {
    /// Attempts beyond one a branch, as a share of the branches.
    pub extra_requests: Figure,
    /// Busy time beyond that of the plan without copies, as a share of it; or why that is not known, like that the plan is busy
    /// for ever, with copies and without.
    pub extra_busy: Result<Figure, String>,
    /// Money a job; `None` when no branch states a cost.
    pub cost: Option<Figure>,
}

impl Strategy {
    /// The jobs that its figures are counted of, where it has no exact law.
    pub fn simulated(&self) -> Option<&Simulated> {
        self.outlook.as_ref().ok()?.simulated()
    }
}

impl Report {
    /// Predicts what the words ask for; `play` plays the jobs of plans that have no exact law. After each plan,
    /// at each point of a sweep, `progress` is told how many were solved, and of how many.
    ///
    /// # Errors
    /// Everything that is wrong with any of the words.
    pub fn new(words: &Words, play: &Play<'_>, progress: impl Fn(usize, usize)) -> Result<Report, Invalid> {
        let request = Request::new(words)?;
        let Request { percentiles, percentiles_asked, asserts, shares, effort, setting, strategies, points } =
            request;
        let asked = Asked {
            percentiles: &percentiles,
            asserts: &asserts,
            shares,
            effort,
            play,
            explain: words.explain,
        };
        let (strategies, points, asked_points) = affordable(strategies, points, shares);
        let mut kept = Kept::new(&strategies, points);
        let all = strategies.len();
        let named: Vec<_> = strategies.iter().map(|stated| (&*stated.name, stated.file.as_deref())).collect();
        let shown = text::apart(&named);
        let solve = |(solved, (stated, shown)): (usize, (Stated, String))| {
            let strategy = strategy(stated, shown, &asked, &mut kept);
            progress(solved + 1, all);
            strategy
        };
        let strategies = strategies.into_iter().zip(shown).enumerate().map(solve).collect();
        let labels = percentiles.iter().map(|percentile| percentile.label().to_owned()).collect();
        Ok(Report { setting, shares, labels, percentiles_asked, asserts, strategies, points, asked_points })
    }

    /// The strategies of each curve of a sweep: neighbours, a plan at every point.
    pub fn curves(&self) -> Vec<&[Strategy]> {
        self.strategies.chunks(self.points).collect()
    }

    /// How many points of a sweep there are, and how many were asked for, where all of them would take too long.
    pub fn left_out(&self) -> Option<(usize, usize)> {
        (self.points < self.asked_points).then_some((self.points, self.asked_points))
    }

    /// Whether there is a sweep, so that a strategy is a curve.
    pub fn is_sweep(&self) -> bool {
        self.strategies.iter().any(|strategy| strategy.point.is_some())
    }
}

/// What the points of a sweep have in common.
struct Kept {
    /// Of branches.
    tables: Option<Tables>,
    /// Of branches that follow one another, whatever their deadline.
    staged: Vec<(StagedPlan, StagedJob)>,
    /// The share of the work on narrow bounds that each of them may take.
    share: f64,
}

impl Kept {
    /// Laws in stages that may take all the work.
    const WHOLE: f64 = 8.0;

    fn new(strategies: &[Stated], points: usize) -> Kept {
        let staged = strategies.iter().filter(|stated| matches!(stated.plan, Branches::Staged(..))).count();
        let deadlines = strategies.iter().any(|stated| matches!(stated.point, Some(Point::Deadline(_))));
        let laws = if deadlines { staged / points } else { staged };
        let share = (Kept::WHOLE / laws.max(1) as f64).min(1.0);
        Kept { tables: (points > 1).then(Tables::default), staged: Vec::new(), share }
    }

    /// The law of a job in stages.
    fn job(&mut self, plan: &StagedPlan) -> StagedJob {
        let same =
            |(known, _): &&(StagedPlan, StagedJob)| known.stage == plan.stage && known.least == plan.least;
        if let Some((_, job)) = self.staged.iter().find(same) {
            return job.with_deadline(plan.deadline);
        }
        let job = plan.solve_within(self.share);
        // Only neighbours may be alike.
        self.staged = vec![(plan.clone(), job.clone())];
        job
    }
}

/// The points of a sweep that take about ten seconds at most, evenly chosen with both ends, how many they are, and how many there
/// were.
fn affordable(strategies: Vec<Stated>, points: usize, shares: Dependence) -> (Vec<Stated>, usize, usize) {
    const MOST_SECONDS: f64 = 10.0;
    let first = strategies.iter().step_by(points);
    let seconds: f64 = first.map(|stated| stated.seconds(shares)).sum();
    let most = (MOST_SECONDS / seconds).max(2.0);
    if points as f64 <= most {
        return (strategies, points, points);
    }
    let fewer = most as usize;
    let chosen = |i: usize| (0..fewer).any(|place| place * (points - 1) / (fewer - 1) == i % points);
    let strategies = strategies.into_iter().enumerate().filter(|(i, _)| chosen(*i)).map(|(_, stated)| stated);
    (strategies.collect(), fewer, points)
}

impl Stated {
    /// About how long its figures take, not more than a few times longer; of simulations, which have a bound of their own, nothing.
    fn seconds(&self, shares: Dependence) -> f64 {
        /// For each term of one evaluation.
        const INDEPENDENT: f64 = 3e-6;
        const DEPENDENT: f64 = 1e-4;
        /// On the coarsest lattices.
        const STAGED: f64 = 0.04;
        let plan = match &self.plan {
            Branches::Staged(..) if matches!(self.point, Some(Point::Deadline(_))) => return 0.0,
            Branches::Staged(..) => return STAGED,
            Branches::Counted(plan) => plan.clone(),
            Branches::Listed { grouped, .. } => grouped.clone(),
        };
        if shares != Dependence::NONE {
            return plan.solve_dependent(shares).map_or(0.0, |job| DEPENDENT * job.work());
        }
        // Like branches take next to nothing.
        let several = plan.groups.len() > 1;
        plan.solve().ok().filter(|_| several).map_or(0.0, |job| INDEPENDENT * job.work())
    }
}

/// What is asked of every strategy.
struct Asked<'a> {
    percentiles: &'a [Percentile],
    asserts: &'a [Goal],
    shares: Dependence,
    effort: Effort,
    play: &'a Play<'a>,
    explain: bool,
}

fn strategy(stated: Stated, shown: String, asked: &Asked<'_>, kept: &mut Kept) -> Strategy {
    let Asked { percentiles, asserts, shares, effort, play, explain } = *asked;
    let Stated { point, plan, shape, wait_for, origins, .. } = stated;
    let scenario = stated.scenario.as_deref();
    let shares =
        scenario.filter(|_| shares == Dependence::NONE).map_or(shares, |scenario| scenario.dependence);
    let mut shaped = None;
    let (description, listed, plan, group_of, law) = match plan {
        Branches::Staged(plan, staged, form) => {
            let law = Ok(Solved::staged(kept.job(&staged), &plan));
            shaped = Some(form);
            (None, None, plan, Vec::new(), law)
        }
        Branches::Counted(plan) => {
            let law = Solved::counted(&plan, shares).map_err(reasons);
            (None, None, plan, Vec::new(), law)
        }
        Branches::Listed { plan, laws, grouped, group_of } => {
            let description = match point {
                Some(Point::Deadline(_)) => describe::plan_with(&plan, Some("as below")),
                _ => describe::plan(&plan),
            };
            let left_out = scenario.map(|scenario| left_out(&plan, scenario)).unwrap_or_default();
            let law = match solve(&plan, &laws).and_then(|law| dependent(law, shares)).map_err(reasons) {
                Ok(_) if !left_out.is_empty() => Err(left_out),
                law => law.map_err(|reasons| reasons.into_iter().chain(left_out).collect()),
            };
            (Some(description), Some((plan, laws)), grouped, group_of, law)
        }
    };
    // One branch after another: the last ones are not called once there are answers enough.
    let calls = if shape == Some(Shape::Sequential) { plan.k } else { plan.n() };
    let outlook = law
        .and_then(|law| {
            figures(law, percentiles, asserts, kept.tables.as_mut()).map_err(|reason| vec![reason])
        })
        .or_else(|reasons| {
            let simulated = match &listed {
                Some((plan, laws)) => Simulated::new(plan, laws.clone(), (shares, scenario), effort, play),
                None => Simulated::counted(&plan, shares, effort, play),
            };
            counted(simulated, reasons, percentiles, asserts)
        });
    let explained = outlook.as_ref().ok().filter(|figures| explain && figures.not_exact.is_empty());
    let explanation = explained.and_then(|figures| {
        let (plan, group_of, origins) = apart(&plan, group_of, origins);
        let stated = listed.as_ref().map(|(plan, _)| &**plan);
        let shaped = shaped.as_deref();
        explanation(&Subject { plan, shares, figures, stated, group_of, wait_for, origins, shaped })
    });
    Strategy {
        name: stated.name,
        file: stated.file,
        shown,
        point,
        description,
        fit_error: stated.fit_error,
        earlier: stated.earlier,
        calls,
        slowest_percent: outlook
            .as_ref()
            .ok()
            .and_then(|figures| figures.law.meets_slow_branch(0.01))
            .unwrap_or_else(|| -libm::expm1(calls as f64 * libm::log1p(-0.01))),
        outlook,
        explanation,
        plan,
        shape,
    }
}

/// The figures of simulated jobs, of a plan that has no exact law for these reasons.
fn counted(
    simulated: Result<Simulated, String>,
    reasons: Vec<String>,
    percentiles: &[Percentile],
    asserts: &[Goal],
) -> Result<Figures, Vec<String>> {
    let figures =
        simulated.and_then(|jobs| figures(Solved::Simulated(Box::new(jobs)), percentiles, asserts, None));
    match figures {
        Ok(figures) => Ok(Figures { not_exact: reasons, ..figures }),
        Err(reason) => Err(reasons.into_iter().chain([reason]).collect()),
    }
}

/// The law of branches that share so much; what it takes for granted of limiters and budgets stays.
fn dependent(law: JobLaw, shares: Dependence) -> Result<Solved, SolveError> {
    if shares == Dependence::NONE {
        return Ok(Solved::Job(law));
    }
    let job = Box::new(law.plan().solve_dependent(shares)?);
    let others = law.assumptions().iter().filter(|assumption| **assumption != Assumption::Independent);
    Ok(Solved::Dependent { job, assumptions: others.map(ToString::to_string).collect() })
}

/// Why a plan has no figures.
fn reasons(error: SolveError) -> Vec<String> {
    match error {
        SolveError::NotIncluded(reasons) => reasons.iter().map(ToString::to_string).collect(),
        error => vec![error.to_string()],
    }
}

/// The shares of jobs that central ranges hold.
pub(super) const CENTRAL: [f64; 2] = [0.68, 0.95];

fn figures(
    law: Solved,
    percentiles: &[Percentile],
    asserts: &[Goal],
    mut tables: Option<&mut Tables>,
) -> Result<Figures, String> {
    let shares = law.shares()?;
    let [most, nearly_all] = CENTRAL.map(|share| law.central(share));
    let quantiles = percentiles.iter().map(|percentile| law.quantile(percentile.level()));
    let (mean, sd) = law.mean_and_sd(tables.as_deref_mut());
    let mut figures = Figures {
        quantiles: quantiles.collect::<Result<_, _>>()?,
        mean,
        sd,
        complete: shares.complete,
        partial: shares.partial,
        failed: shares.failed,
        never: shares.never,
        prices: law.prices(Cancellation::AtOnce, tables),
        sends_copy: law.sends_copy(),
        method: Method::Exact,
        assumes: law.assumptions(),
        asserted: Vec::new(),
        not_exact: Vec::new(),
        central: [most?, nearly_all?],
        law,
    };
    let times = figures.quantiles.iter().chain(&figures.mean);
    let bounded = times.chain([&figures.complete]).find(|figure| figure.method != Method::Exact);
    figures.method = bounded.map_or(Method::Exact, |figure| figure.method);
    figures.asserted = asserts.iter().map(|goal| measured(goal.goal().measure, &figures)).collect();
    Ok(figures)
}

/// What a goal is about, or why there is no such figure.
fn measured(measure: Measure, figures: &Figures) -> Result<Figure, String> {
    let price = |get: fn(&Prices) -> Result<Figure, String>| {
        let prices = figures.prices.as_ref().map_err(String::clone)?;
        get(prices)
    };
    let settled = |figure: Figure| Figure { value: number::settled(figure.value), ..figure };
    match measure {
        Measure::Quantile(level) => figures.law.quantile(level),
        Measure::Mean => figures.mean.clone(),
        Measure::Complete => Ok(figures.complete),
        Measure::Partial => Ok(figures.partial),
        Measure::Failed => Ok(figures.failed),
        Measure::ExtraRequests => price(|prices| Ok(prices.extra_requests)).map(settled),
        Measure::ExtraBusy => price(|prices| prices.extra_busy.clone()).map(settled),
        Measure::Cost => price(|prices| prices.cost.ok_or_else(|| UNPRICED.to_owned())),
    }
}

/// A figure that was found by formula or integral.
pub(super) fn exact(value: f64) -> Figure {
    Figure { value, method: Method::Exact }
}

/// Why there is no extra busy time.
pub(super) const BUSY_FOR_EVER: &str = "busy for ever, with copies and without";
/// Why there is no cost.
pub const UNPRICED: &str = "no branch states a cost";

impl From<fantail_model::Prices> for Prices {
    fn from(prices: fantail_model::Prices) -> Prices {
        // Adding zero makes a zero of a negative one, which an empty sum is.
        Prices {
            extra_requests: exact(prices.extra_requests + 0.0),
            extra_busy: prices.extra_busy.map(exact).ok_or_else(|| BUSY_FOR_EVER.to_owned()),
            cost: prices.cost.map(exact),
        }
    }
}

/// How many branches are required.
pub(super) fn required(plan: &GroupedPlan) -> u64 {
    plan.groups.iter().filter(|group| group.required).map(|group| group.count).sum()
}
