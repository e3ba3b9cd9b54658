//! `--format json`: `fantail.tune/1`, every number in full precision, times in seconds.
//!
//! What is infinite, not stated or not known is `null`.

use fantail_model::Group;
use fantail_report::json::{self, Head, Ordered};
use serde::Serialize;

use super::load_test::{Compared, Measured, Tested};
use super::report::{Report, Row, missed};
use super::request::Origin;
use super::text::held;

pub(super) fn render(report: &Report) -> Vec<u8> {
    json::render(&document(report))
}

#[derive(Serialize)]
struct Document<'r> {
    #[serde(flatten)]
    head: Head<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<&'r str>,
    feasible: bool,
    goals: Vec<Asked<'r>>,
    held: Vec<String>,
    without_copies: Entry,
    as_stated: Option<Entry>,
    tuned: Option<Entry>,
    frontier: Vec<Entry>,
    frontier_of: Option<String>,
    doubts: Vec<Doubted<'r>>,
    /// Empty where the file has no scenario with queues.
    load_test: Vec<Loaded<'r>>,
    advice: &'r [String],
    assumes: &'r [String],
    /// What the file's scenario states that is in `load_test` only.
    not_included: &'r [String],
    fit_error: Option<f64>,
    method: &'static str,
    evaluations: u64,
    /// Whether some plans were not judged since it takes long.
    cut_short: bool,
}

/// What came of so many times the scenario's load.
#[derive(Serialize)]
struct Loaded<'r> {
    load: f64,
    /// Why there are no figures.
    endless: Option<&'r str>,
    goals: Vec<LoadedGoal<'r>>,
}

/// What a goal is about under load, simulated.
#[derive(Serialize)]
struct LoadedGoal<'r> {
    goal: &'r str,
    tuned: Option<f64>,
    tuned_interval: [Option<f64>; 2],
    without_copies: Option<f64>,
    without_copies_interval: [Option<f64>; 2],
    worse: bool,
}

/// A goal, and what is had of it.
#[derive(Serialize)]
struct Asked<'r> {
    goal: &'r str,
    measure: String,
    bound: f64,
    without_copies: Option<f64>,
    tuned: Option<f64>,
    /// Without a tuned plan: the best with the others kept, and with only those on prices.
    best_with_others: Option<f64>,
    best_with_prices: Option<f64>,
}

#[derive(Serialize)]
struct Entry {
    k: u64,
    at_least: u64,
    deadline_s: Option<f64>,
    branches: Vec<Branches>,
    figures: Figures,
    complete: f64,
    partial: f64,
    failed: f64,
    extra_requests: f64,
    extra_busy: Option<f64>,
    cost: Option<f64>,
}

/// Like branches.
#[derive(Serialize)]
struct Branches {
    names: String,
    count: u64,
    required: bool,
    copies_after_s: Vec<f64>,
}

#[derive(Serialize)]
struct Doubted<'r> {
    what: &'r str,
    figures: Figures,
    missed: Vec<&'r str>,
}

/// What each goal is about, by its measure, in their order.
type Figures = Ordered<String, Option<f64>>;

fn document(report: &Report) -> Document<'_> {
    let request = &report.request;
    let (n, latency, file, plan) = match &request.origin {
        Origin::Like { n, latency, .. } => (Some(*n), Some(latency.as_str()), None, None),
        Origin::File(stated) => {
            (None, None, Some(stated.path.display().to_string()), Some(stated.plan.name()))
        }
    };
    let doubted = report.doubts.iter().map(|doubt| Doubted {
        what: &doubt.what,
        figures: figures(report, &doubt.figures),
        missed: missed(&request.goals, &doubt.figures).0.iter().map(|goal| goal.as_str()).collect(),
    });
    let frontier_of = request.goals.iter().find(|goal| goal.goal().measure == report.frontier_of);
    Document {
        head: Head { schema: "fantail.tune/1", n, latency },
        file,
        plan,
        feasible: report.choice.is_some(),
        goals: asked(report),
        held: held(report),
        without_copies: entry(report, &report.plain),
        as_stated: report.stated.as_ref().map(|row| entry(report, row)),
        tuned: report.choice.as_ref().map(|row| entry(report, row)),
        frontier: report.frontier.iter().map(|row| entry(report, row)).collect(),
        frontier_of: frontier_of.map(|goal| goal.word().to_owned()),
        doubts: doubted.collect(),
        load_test: report.load_test.iter().map(|tested| loaded(report, tested)).collect(),
        advice: &report.advice,
        assumes: &report.assumes,
        not_included: &report.left_out,
        fit_error: request.fit_error,
        method: "exact",
        evaluations: report.evaluations,
        cut_short: report.cut_short,
    }
}

fn loaded<'r>(report: &'r Report, tested: &'r Tested) -> Loaded<'r> {
    let goal = |compared: &Compared| LoadedGoal {
        goal: report.request.goals[compared.goal].as_str(),
        tuned: finite(Some(compared.tuned.value)),
        tuned_interval: ends(compared.tuned),
        without_copies: finite(Some(compared.plain.value)),
        without_copies_interval: ends(compared.plain),
        worse: compared.worse,
    };
    Loaded {
        load: tested.load,
        endless: tested.compared.as_ref().err().map(|endless| endless.why.as_str()),
        goals: tested.compared.iter().flatten().map(goal).collect(),
    }
}

fn ends(measured: Measured) -> [Option<f64>; 2] {
    [measured.interval.low, measured.interval.high].map(|end| finite(Some(end)))
}

fn asked(report: &Report) -> Vec<Asked<'_>> {
    let tuned = |i: usize| report.choice.as_ref().and_then(|row| row.figures[i]);
    let best = |i: usize| report.attainable.get(i);
    let goals = report.request.goals.iter().enumerate();
    let asked = goals.map(|(i, goal)| Asked {
        goal: goal.as_str(),
        measure: goal.word().to_owned(),
        bound: goal.goal().bound,
        without_copies: finite(report.plain.figures[i]),
        tuned: finite(tuned(i)),
        best_with_others: finite(best(i).and_then(|best| best.with_others)),
        best_with_prices: finite(best(i).and_then(|best| best.alone)),
    });
    asked.collect()
}

fn entry(report: &Report, row: &Row) -> Entry {
    let plan = row.job.plan();
    let branches = |(i, group): (usize, &Group)| Branches {
        names: report.request.label(i),
        count: group.count,
        required: group.required,
        copies_after_s: group.delays.clone(),
    };
    Entry {
        k: plan.k,
        at_least: plan.at_least,
        deadline_s: finite(Some(plan.deadline)),
        branches: plan.groups.iter().enumerate().map(branches).collect(),
        figures: figures(report, &row.figures),
        complete: row.complete,
        partial: row.partial,
        failed: row.failed,
        extra_requests: row.extra_requests,
        extra_busy: finite(row.extra_busy),
        cost: row.cost,
    }
}

/// Times are named with their unit.
fn figures(report: &Report, values: &[Option<f64>]) -> Figures {
    let name = |goal: &fantail_planfile::Goal| {
        let unit = if goal.goal().measure.is_time() { "_s" } else { "" };
        format!("{}{unit}", goal.word())
    };
    let goals = report.request.goals.iter().zip(values);
    Ordered(goals.map(|(goal, value)| (name(goal), finite(*value))).collect())
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.and_then(json::finite)
}
