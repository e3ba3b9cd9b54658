//! The page's memory: laws that were measured, and what is asked of them.

use std::collections::BTreeMap;

use fantail_planfile::{Percentile, StatedLaw};
use fantail_report::Invalid;
use fantail_report::plot::Plot;
use fantail_report::predict::{Effort, Report, USUAL, View, Words, in_turn};
use fantail_report::simulate::Inputs;
use fantail_samples::Document;

use crate::{Exact, Runner, State};

/// What begins the name of a measured law where a text of a law is expected.
pub(crate) const SAMPLES: &str = "samples:";

/// Answers what the page asks.
///
/// ```
/// use fantail_lab::{Lab, State};
///
/// let lab = Lab::default();
/// let state = State { n: Some(16), ..State::default() };
/// let report = lab.predict(&state)?;
/// let figures = report.strategies[0].outlook.as_ref().expect("a plan without a limiter");
/// assert_eq!(format!("{:.3}", figures.quantiles[0].value), "2.813");
///
/// let mut runner = lab.runner(&state, 0)?;
/// runner.run(1_000)?;
/// assert_eq!(runner.jobs(), 1_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Lab {
    pub(crate) document: Option<Document>,
    pub(crate) laws: BTreeMap<String, StatedLaw>,
}

impl Lab {
    /// The figures of every plan.
    ///
    /// # Errors
    /// Everything that is wrong with the words.
    pub fn predict(&self, state: &State) -> Result<Report, Invalid> {
        let latency = state.file.is_none().then(|| state.latency.clone());
        let words = Words {
            files: state.file.iter().cloned().collect(),
            n: state.n.filter(|_| state.file.is_none()),
            law: self.named(state)?,
            latency,
            strategies: if state.file.is_none() { state.strategies.clone() } else { Vec::new() },
            flags: state.flags(),
            sweep: state.sweep(),
            percentiles: state.percentiles.clone(),
            asserts: Vec::new(),
            effort: Effort { jobs: None, seed: state.seed },
            explain: state.explain,
        };
        Report::new(&words, &in_turn, |_, _| {})
    }

    /// A picture of them; `None` when there are no figures at all.
    ///
    /// # Errors
    /// As for [`Lab::predict`], and a view that does not suit.
    pub fn plot(&self, state: &State, view: Option<View>) -> Result<Option<Plot>, Invalid> {
        self.predict(state)?.plot(view)
    }

    /// The exact law of every plan, to be read off at any place.
    ///
    /// # Errors
    /// As for [`Lab::predict`].
    pub fn exact(&self, state: &State) -> Result<Exact, Invalid> {
        Ok(Exact::new(self.predict(state)?))
    }

    /// Jobs of every plan from one on, none played yet.
    ///
    /// # Errors
    /// Everything that is wrong with the words.
    pub fn runner(&self, state: &State, first: u64) -> Result<Runner, Invalid> {
        let of_file = state.file.is_some();
        let inputs = Inputs {
            seed: state.seed,
            files: state.file.iter().cloned().collect(),
            n: state.n.filter(|_| !of_file),
            latency: (!of_file).then(|| state.latency.clone()),
            strategies: if of_file { Vec::new() } else { state.strategies.clone() },
            flags: state.flags(),
        };
        let percentiles = if state.percentiles.is_empty() { USUAL } else { &state.percentiles };
        let percentiles = Percentile::parse_list(percentiles).map_err(Invalid::new)?;
        Runner::new(inputs, percentiles, self.named(state)?, first)
    }

    /// The law that a state names, where it names one.
    pub(crate) fn named(&self, state: &State) -> Result<Option<StatedLaw>, Invalid> {
        let Some(name) = state.latency.strip_prefix(SAMPLES).filter(|_| state.file.is_none()) else {
            return Ok(None);
        };
        let missing =
            || Invalid::new(format_args!("no latencies are called `{name}`; drop their file again"));
        self.laws.get(name).cloned().map(Some).ok_or_else(missing)
    }
}
