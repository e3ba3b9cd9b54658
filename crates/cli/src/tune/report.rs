//! What the search found, whatever it is printed as.

use fantail_model::tune::{Attainable, Measure, Tuned};
use fantail_model::{Assumption, Cancellation, Change, Dependence, GroupedPlan, JobLaw, SolveError, solve};
use fantail_planfile::Goal;
use fantail_report::predict::left_out;

use super::load_test::Tested;
use super::request::{Origin, Request};
use super::{advice, emit, load_test};

/// The answer to a request.
pub(super) struct Report {
    pub(super) request: Request,
    /// Without copies, with the stated deadline and k.
    pub(super) plain: Row,
    /// As stated, where that has copies.
    pub(super) stated: Option<Row>,
    /// The cheapest plan that keeps the goals.
    pub(super) choice: Option<Row>,
    /// Without a choice, the best that can be had of each goal.
    pub(super) attainable: Vec<Attainable>,
    /// What each price buys.
    pub(super) frontier: Vec<Row>,
    pub(super) frontier_of: Measure,
    /// What becomes of the choice in a world that is other than stated.
    pub(super) doubts: Vec<Doubt>,
    /// The choice under the load of its file's scenario; empty where that has no queues.
    pub(super) load_test: Vec<Tested>,
    pub(super) advice: Vec<String>,
    /// What the file's scenario states that is in none of the figures but those under load.
    pub(super) left_out: Vec<String>,
    /// What the figures take for granted.
    pub(super) assumes: Vec<String>,
    pub(super) evaluations: u64,
    /// Whether judging plans was so much work that some were not.
    pub(super) cut_short: bool,
}

/// A plan with its figures.
pub(super) struct Row {
    pub(super) job: JobLaw,
    /// What each goal is about, in their order; `None` where there is no such figure.
    pub(super) figures: Vec<Option<f64>>,
    pub(super) complete: f64,
    pub(super) partial: f64,
    pub(super) failed: f64,
    pub(super) extra_requests: f64,
    pub(super) extra_busy: Option<f64>,
    pub(super) cost: Option<f64>,
}

/// One thing that is other than stated.
pub(super) struct Doubt {
    pub(super) what: String,
    /// What each goal is about, in their order; `None` where it is not known.
    pub(super) figures: Vec<Option<f64>>,
}

impl Report {
    pub(super) fn new(request: Request) -> anyhow::Result<Report> {
        let Tuned { choice, attainable, frontier, frontier_of, evaluations, cut_short } =
            request.tuning.run()?;
        let row = |job: JobLaw| Row::new(job, &request.goals);
        let stated = &request.tuning.plan;
        let plain = row(stated.without_copies().solve()?)?;
        let as_stated = stated.has_copies().then(|| stated.solve()).transpose()?.map(row).transpose()?;
        let choice = choice.map(row).transpose()?;
        let frontier = frontier.into_iter().map(row).collect::<Result<Vec<Row>, SolveError>>()?;
        let doubts = match &choice {
            Some(row) => doubts(row.job.plan(), &request.goals)?,
            None => Vec::new(),
        };
        let load_test = choice.as_ref().map(|choice| load_test::test(&request, choice)).transpose()?;
        let job = &choice.as_ref().unwrap_or(&plain).job;
        let assumes = assumptions(&request, job)?.iter().map(ToString::to_string).collect();
        let left_out = match &request.origin {
            Origin::File(stated) => {
                stated.scenario.iter().flat_map(|scenario| left_out(&stated.plan, scenario)).collect()
            }
            Origin::Like { .. } => Vec::new(),
        };
        let mut report = Report {
            assumes,
            left_out,
            request,
            plain,
            stated: as_stated,
            choice,
            attainable,
            frontier,
            frontier_of,
            doubts,
            load_test: load_test.unwrap_or_default(),
            advice: Vec::new(),
            evaluations,
            cut_short,
        };
        report.advice = advice::advice(&report)?;
        Ok(report)
    }

    /// Whether branches without copies are busy for ever, on average, and those of the choice are not.
    pub(super) fn is_busy_for_ever(&self) -> bool {
        let busy =
            |row: &Row| row.job.prices(Cancellation::AtOnce).is_ok_and(|prices| prices.busy.is_infinite());
        self.choice.as_ref().is_some_and(|choice| choice.extra_busy.is_none()) && busy(&self.plain)
    }

    /// What copies make of it at the load that the scenario states, where that is worse than what is without them.
    pub(super) fn worsens_under_load(&self) -> Option<String> {
        match &self.load_test.first()?.compared {
            Ok(compared) => {
                let worse = compared.iter().find(|compared| compared.worse)?;
                Some(format!("{} worse", self.request.goals[worse.goal].word()))
            }
            Err(endless) => (!endless.without_copies).then(|| "waits grow without end".to_owned()),
        }
    }

    /// The plans with a name, in the order in which they are shown.
    pub(super) fn named(&self) -> Vec<(&'static str, &Row)> {
        let plain = ("no copies", &self.plain);
        let stated = self.stated.as_ref().map(|row| ("as stated", row));
        let choice = self.choice.as_ref().map(|row| ("tuned", row));
        std::iter::once(plain).chain(stated).chain(choice).collect()
    }
}

impl Row {
    fn new(job: JobLaw, goals: &[Goal]) -> Result<Row, SolveError> {
        let verdicts = job.verdicts();
        let figures = goals.iter().map(|goal| goal.goal().measure.of(&job)).collect::<Result<_, _>>()?;
        Ok(Row {
            figures,
            complete: verdicts.complete,
            partial: verdicts.partial,
            failed: verdicts.failed,
            // Adding zero makes a zero of a negative one.
            extra_requests: job.extra_requests() + 0.0,
            // Of too many different branches the integrals take too long. Finite beside infinite is no change.
            extra_busy: job
                .prices(Cancellation::AtOnce)
                .ok()
                .and_then(|prices| prices.extra_busy)
                .filter(|change| *change > -1.0),
            cost: job.cost(),
            job,
        })
    }
}

/// What the figures of a job take for granted: of a file's plan also that its limiters never fill.
fn assumptions(request: &Request, job: &JobLaw) -> anyhow::Result<Vec<Assumption>> {
    match &request.origin {
        Origin::Like { .. } => Ok(job.assumptions().to_vec()),
        Origin::File(stated) => {
            let plan = emit::plan(request, &stated.plan, job)?;
            Ok(solve(&plan, &stated.laws)?.assumptions().to_vec())
        }
    }
}

/// The goals that are not kept, and whether the figures of all others are known.
pub(super) fn missed<'g>(goals: &'g [Goal], figures: &[Option<f64>]) -> (Vec<&'g Goal>, bool) {
    let known = figures.iter().all(Option::is_some);
    let missed =
        goals.iter().zip(figures).filter(|(goal, figure)| figure.is_some_and(|f| !goal.goal().is_met(f)));
    (missed.map(|(goal, _)| goal).collect(), known)
}

fn doubts(plan: &GroupedPlan, goals: &[Goal]) -> Result<Vec<Doubt>, SolveError> {
    let mut doubts = Vec::new();
    for change in Change::DOUBTS {
        let Some((plan, shares)) = change.apply(plan, Dependence::NONE)? else { continue };
        let figures = goals.iter().map(|goal| figure(&plan, shares, goal.goal().measure));
        doubts.push(Doubt { what: change.to_string(), figures: figures.collect::<Result<_, _>>()? });
    }
    if plan.has_copies() {
        // A copy that is as slow as its primary changes nothing but the price.
        let (plain, priced) = (plan.without_copies().solve()?, plan.solve()?);
        let of = |goal: &Goal| {
            let measure = goal.goal().measure;
            measure.of(if measure.is_price() { &priced } else { &plain })
        };
        let figures = goals.iter().map(of).collect::<Result<_, _>>()?;
        doubts.push(Doubt { what: "copies equally slow".to_owned(), figures });
    }
    Ok(doubts)
}

/// A figure of a plan whose branches are slow together; `None` where it takes too much work.
fn figure(plan: &GroupedPlan, shares: Dependence, measure: Measure) -> Result<Option<f64>, SolveError> {
    if shares == Dependence::NONE {
        return measure.of(&plan.solve()?);
    }
    match plan.solve_dependent(shares).and_then(|job| measure.of_dependent(&job)) {
        Err(SolveError::TooLarge { .. } | SolveError::TooLong { .. }) => Ok(None),
        figure => figure,
    }
}
