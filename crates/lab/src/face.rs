//! The glue to JavaScript: states and answers are JSON, curves arrays of numbers, what is wrong a text that is thrown.

use fantail_report::number;
use fantail_report::predict::View;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::picture::Picture;
use crate::{State, Verb};

/// An error as JavaScript throws it.
type Thrown<T> = Result<T, wasm_bindgen::JsError>;

fn read<T: DeserializeOwned>(json: &str) -> Thrown<T> {
    Ok(serde_json::from_str(json)?)
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("the keys of all maps are texts")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("reports are texts")
}

/// A view by its name; none is what suits.
fn view(name: Option<String>) -> Thrown<Option<View>> {
    name.map(|name| read(&json(&name))).transpose()
}

/// See [`crate::Lab`].
#[wasm_bindgen]
#[derive(Default)]
pub struct Lab(crate::Lab);

/// See [`crate::Exact`].
#[wasm_bindgen]
pub struct Exact(crate::Exact);

/// See [`crate::Runner`].
#[wasm_bindgen]
pub struct Runner(crate::Runner);

#[wasm_bindgen]
impl Lab {
    /// Without a measured law.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Lab {
        Lab::default()
    }

    /// What is wrong with a state, and what its law and plans are.
    pub fn check(&self, state: &str) -> Thrown<String> {
        Ok(json(&self.0.check(&read(state)?)))
    }

    /// `fantail.predict/1`.
    pub fn predict(&self, state: &str) -> Thrown<String> {
        Ok(text(self.0.predict(&read(state)?)?.json()))
    }

    /// A picture as data; `null` when there are no figures.
    pub fn plot(&self, state: &str, name: Option<String>) -> Thrown<String> {
        let plot = self.0.plot(&read(state)?, view(name)?)?;
        Ok(json(&plot.as_ref().map(Picture::from)))
    }

    /// The exact laws, to be read off.
    pub fn exact(&self, state: &str) -> Thrown<Exact> {
        Ok(Exact(self.0.exact(&read(state)?)?))
    }

    /// Jobs from one on, none played yet.
    pub fn runner(&self, state: &str, first: Option<f64>) -> Thrown<Runner> {
        Ok(Runner(self.0.runner(&read(state)?, first.unwrap_or(0.0) as u64)?))
    }

    /// Reads a file and says what it holds.
    pub fn read(&mut self, bytes: &[u8]) -> Thrown<String> {
        Ok(json(&self.0.read(bytes)?))
    }

    /// Makes a law of one of its columns.
    pub fn keep(&mut self, column: usize, unit: &str) -> Thrown<String> {
        Ok(json(&self.0.keep(column, unit)?))
    }
}

#[wasm_bindgen]
impl Exact {
    /// Times at shares that are still waiting.
    pub fn times(&self, plan: usize, waiting: &[f64]) -> Vec<f64> {
        self.0.times(plan, waiting)
    }

    /// Where simulated ones lie: low and high of each, one after the other.
    pub fn band(&self, plan: usize, jobs: f64, waiting: &[f64]) -> Vec<f64> {
        self.0.band(plan, jobs as u64, waiting)
    }
}

#[wasm_bindgen]
impl Runner {
    /// Plays more jobs of each plan; how many there are then.
    pub fn run(&mut self, jobs: f64) -> Thrown<f64> {
        self.0.run(jobs as u64)?;
        Ok(self.0.jobs() as f64)
    }

    /// The names of plans and clients.
    pub fn names(&self) -> Vec<String> {
        self.0.names().map(str::to_owned).collect()
    }

    /// `fantail.simulate/1`; `undefined` when nothing was played.
    pub fn report(&self) -> Option<String> {
        Some(text(self.0.report()?.json()))
    }

    /// Times after which shares were still waiting.
    pub fn times(&self, plan: usize, waiting: &[f64]) -> Vec<f64> {
        self.0.times(plan, waiting)
    }

    /// One job as lanes; `null` when there is no such plan.
    pub fn lanes(&self, plan: usize, job: f64) -> Thrown<String> {
        Ok(json(&self.0.lanes(plan, job as u64)?))
    }

    /// How long first attempts take in a job.
    pub fn luck(&self, plan: usize, job: f64) -> Vec<f64> {
        self.0.luck(plan, job as u64)
    }
}

/// The command that prints the figures; with jobs, that which plays so many.
#[wasm_bindgen]
pub fn command(state: &str, jobs: Option<f64>) -> Thrown<String> {
    let verb = jobs.map_or(Verb::Predict, |jobs| Verb::Simulate(jobs as u64));
    Ok(read::<State>(state)?.command(verb))
}

/// A time in seconds as people read it: `2.81 s`.
#[wasm_bindgen]
pub fn duration(seconds: f64) -> String {
    number::duration(seconds)
}

/// A share as a percentage: `14.9 %`.
#[wasm_bindgen]
pub fn percent(share: f64) -> String {
    number::percent(share)
}

/// A relative change: `+5.0 %`.
#[wasm_bindgen]
pub fn change(share: f64) -> String {
    number::change(share)
}

/// The plan file of the document pipeline, with its scenario.
#[wasm_bindgen]
pub fn ingestion() -> String {
    include_str!("../../../examples/ingestion.toml").to_owned()
}
