//! What the page is set to.

use std::fmt::Write;

use fantail_report::{Flags, Source};
use serde::Deserialize;

/// What the page is set to, in the words of the command's flags.
///
/// Where nothing else is said it is eight branches that are waited for, each with a median of 1 s and a sigma of 0.6.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct State {
    /// A plan file, which then says what the next three would.
    pub file: Option<Source>,
    /// Number of like branches; `None` where it is swept.
    pub n: Option<u32>,
    /// Law of the latency of one call: a text as for `--latency`, or `samples:` and the name of measured ones.
    pub latency: String,
    /// Plans in short form.
    pub strategies: Vec<String>,
    /// The fewest answers that a result may hold.
    pub at_least: Option<u32>,
    /// How many branches a result has to hold; their names, for a plan file.
    pub required: Option<String>,
    /// How much of the luck of a call is shared, like `job=0.2,branch=0.3`.
    pub rho: Option<String>,
    /// Many values of one number, like `n=1..1000`.
    pub sweep: Option<String>,
    /// Quantiles, like `p50,p99.9`; the usual ones where it is empty.
    pub percentiles: String,
    /// Whether to say what would help most, and what is easily misread.
    pub explain: bool,
    /// What luck is drawn by.
    pub seed: u64,
}

impl Default for State {
    fn default() -> State {
        State {
            file: None,
            n: Some(8),
            latency: "lognormal:median=1s,sigma=0.6".to_owned(),
            strategies: vec!["all".to_owned()],
            at_least: None,
            required: None,
            rho: None,
            sweep: None,
            percentiles: String::new(),
            explain: false,
            seed: 1,
        }
    }
}

/// What a command does with a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `fantail predict`.
    Predict,
    /// `fantail simulate`, so many jobs.
    Simulate(u64),
}

impl State {
    /// What is said beside the plans.
    pub(crate) fn flags(&self) -> Flags {
        let stated = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Flags { at_least: self.at_least, required: stated(&self.required), rho: stated(&self.rho) }
    }

    /// The sweep, if there is one.
    pub(crate) fn sweep(&self) -> Option<String> {
        self.sweep.clone().filter(|text| !text.is_empty())
    }

    /// The command that prints the same figures, for a POSIX shell.
    pub fn command(&self, verb: Verb) -> String {
        let mut line = match verb {
            Verb::Predict => "fantail predict".to_owned(),
            Verb::Simulate(_) => "fantail simulate".to_owned(),
        };
        let mut say = |flag: &str, value: &str| {
            write!(line, " {flag}{}{}", if flag.is_empty() { "" } else { " " }, quoted(value))
                .expect("a string takes every write");
        };
        if let Some(file) = &self.file {
            say("", &file.name);
        } else {
            if let Some(n) = self.n {
                say("-n", &n.to_string());
            }
            say("--latency", &self.latency);
            self.strategies.iter().for_each(|plan| say("--strategy", plan));
        }
        let Flags { at_least, required, rho } = self.flags();
        if let Some(at_least) = at_least {
            say("--at-least", &at_least.to_string());
        }
        let mut stated = |flag: &str, value: Option<String>| value.iter().for_each(|text| say(flag, text));
        stated("--required", required);
        stated("--rho", rho);
        stated("--percentiles", Some(self.percentiles.clone()).filter(|text| !text.is_empty()));
        match verb {
            Verb::Predict => stated("--sweep", self.sweep()),
            Verb::Simulate(jobs) => {
                say("--jobs", &jobs.to_string());
                say("--seed", &self.seed.to_string());
            }
        }
        line
    }
}

/// As one word of a POSIX shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+.,:/%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
