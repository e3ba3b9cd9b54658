//! What is wrong with what the page is set to, field by field; what is right, in figures.

use std::fmt::Display;

use fantail_model::{GroupedPlan, Level};
use fantail_planfile::{Percentile, Problems, ShortForm, StatedLaw, Sweep, parse_law};
use fantail_report::Invalid;
use fantail_report::predict::MOST_BRANCHES;
use serde::Serialize;

use crate::{Lab, State};

/// What there is to say of a state before anything is computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Check {
    /// Everything that is wrong, in the order of the fields.
    pub problems: Vec<Found>,
    /// The law of one call, where it is right.
    pub law: Option<LawRead>,
    /// Each plan in short form, where it is right.
    pub plans: Vec<Option<PlanRead>>,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The field of the state; a plan's with its place, like `strategies.0`.
    pub field: String,
    /// Where in a plan file, from 1; `None` elsewhere.
    pub line: Option<usize>,
    /// Where in the text, from 1, where that is known.
    pub column: Option<usize>,
    /// What is wrong, what was expected, and the nearest right word.
    pub message: String,
}

/// A law in figures, times in seconds; `None` is infinite.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LawRead {
    /// In the words of `fantail predict --format json`.
    pub text: String,
    /// Its percentiles.
    pub p50_s: Option<f64>,
    /// The usual hedge delay.
    pub p95_s: Option<f64>,
    /// The slowest 1 % is beyond it.
    pub p99_s: Option<f64>,
    /// Its mean.
    pub mean_s: Option<f64>,
    /// Where it was fitted to percentiles, the worst relative error over them.
    pub fit_error: Option<f64>,
    /// Median in seconds and sigma of a log-normal law.
    pub log_normal: Option<(f64, f64)>,
}

/// A plan in figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanRead {
    /// How many branches.
    pub n: u64,
    /// How many of them it waits for.
    pub k: u64,
    /// The fewest answers that a result may hold.
    pub at_least: u64,
    /// How many are required.
    pub required: u64,
    /// `None` where there is none.
    pub deadline_s: Option<f64>,
    /// When copies fall due, from the start of the primary.
    pub copies_after_s: Vec<f64>,
}

impl Check {
    fn found(&mut self, field: &str, message: &dyn Display) {
        let message = message.to_string();
        self.problems.push(Found { field: field.to_owned(), line: None, column: None, message });
    }

    fn keep<T>(&mut self, field: &str, result: Result<T, Invalid>) -> Option<T> {
        result.map_err(|error| self.found(field, &error)).ok()
    }

    fn read<T>(&mut self, field: &str, result: Result<T, Problems>) -> Option<T> {
        let problems = result.map_err(|problems| {
            self.problems.extend(problems.iter().map(|problem| Found {
                field: field.to_owned(),
                line: None,
                column: Some(problem.column()),
                message: problem.message().to_owned(),
            }));
        });
        problems.ok()
    }
}

impl Lab {
    /// Everything that is wrong with a state, and what its law and plans are.
    pub fn check(&self, state: &State) -> Check {
        let mut check = Check::default();
        if let Some(file) = &state.file {
            if let Err(problems) = fantail_planfile::Config::parse(&file.name, &file.bytes) {
                check.problems.extend(problems.iter().map(|problem| Found {
                    field: "file".to_owned(),
                    line: Some(problem.line()),
                    column: Some(problem.column()),
                    message: problem.message().to_owned(),
                }));
            }
            return check;
        }
        let law = match self.named(state) {
            Ok(Some(law)) => Some(law),
            Ok(None) => check.read("latency", parse_law(&state.latency)),
            Err(error) => check.keep("latency", Err(error)),
        };
        check.law = law.as_ref().map(law_read);
        let swept = state.sweep().and_then(|text| check.read("sweep", Sweep::parse(&text)));
        let n = match (&swept, state.n) {
            (Some(Sweep::Branches(values)), None) => values.first().copied(),
            (Some(Sweep::Branches(_)), Some(_)) => {
                check.found("n", &"stated beside a sweep over it; expected one of them");
                None
            }
            (_, Some(n)) if (1..=MOST_BRANCHES).contains(&n) => Some(n),
            (_, n) => {
                let got = n.map_or("none".to_owned(), |n| n.to_string());
                check.found("n", &format_args!("got {got}, expected 1 to {MOST_BRANCHES}"));
                None
            }
        };
        let flags = state.flags();
        check.keep("rho", flags.shares());
        check.keep("required", flags.count());
        if !state.percentiles.is_empty() {
            check.read("percentiles", Percentile::parse_list(&state.percentiles));
        }
        for (i, text) in state.strategies.iter().enumerate() {
            let field = format!("strategies.{i}");
            let form = check.read(&field, ShortForm::parse(text));
            let form = form.filter(|form| check.keep(&field, flags.check(form)).is_some());
            let plan = form.zip(n).zip(law.as_ref()).and_then(|((form, n), law)| {
                // By itself first, which says where it is wrong.
                check.read(&field, form.without_shape().grouped(n, law))?;
                check.keep(&field, flags.on(&form.without_shape(), |form| form.grouped(n, law)))
            });
            check.plans.push(plan.as_ref().map(plan_read));
        }
        check
    }
}

fn law_read(stated: &StatedLaw) -> LawRead {
    let law = &stated.law;
    let at = |above: f64| finite(law.quantile(Level::above(above).expect("a share")));
    LawRead {
        text: law.to_string(),
        p50_s: at(0.5),
        p95_s: at(0.05),
        p99_s: at(0.01),
        mean_s: law.mean().ok().and_then(finite),
        fit_error: stated.fit_error,
        log_normal: law.as_log_normal(),
    }
}

fn plan_read(plan: &GroupedPlan) -> PlanRead {
    PlanRead {
        n: plan.n(),
        k: plan.k,
        at_least: plan.at_least,
        required: plan.groups.iter().filter(|group| group.required).map(|group| group.count).sum(),
        deadline_s: finite(plan.deadline),
        copies_after_s: plan.groups.first().map(|group| group.delays.clone()).unwrap_or_default(),
    }
}

fn finite(seconds: f64) -> Option<f64> {
    Some(seconds).filter(|seconds| seconds.is_finite())
}
