//! What is said of plans: predictions and simulations as figures, as JSON and CSV, and as pictures.
//!
//! Whoever shows them says in the same words what is asked: [`predict::Words`] are the flags of `fantail predict`,
//! [`simulate::Inputs`] those of `fantail simulate`. So the command and the page print the same bits. Nothing here knows
//! a file, a clock, a terminal or a thread.

pub mod describe;
mod flags;
pub mod json;
pub mod number;
pub mod plot;
pub mod predict;
pub mod simulate;
pub mod text;

pub use flags::Flags;

use std::fmt;

use fantail_planfile::{Config, Overrides, Problems};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What was asked is invalid: everything that is wrong with it, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(String);

impl Invalid {
    /// What is wrong, as people are told.
    pub fn new(message: impl fmt::Display) -> Invalid {
        Invalid(message.to_string())
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

/// A plan file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// What it is called in errors.
    pub name: String,
    /// What it holds. Written down it is a text, as every valid plan file is.
    #[serde(rename = "text", serialize_with = "to_text", deserialize_with = "from_text")]
    pub bytes: Vec<u8>,
}

fn to_text<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&String::from_utf8_lossy(bytes))
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    String::deserialize(deserializer).map(String::into_bytes)
}

impl Source {
    /// What it states, but for `overrides`.
    ///
    /// # Errors
    /// Everything that is wrong with it, headed by the number of problems where there are several.
    pub fn config(&self, overrides: &Overrides) -> Result<Config, Invalid> {
        self.parse(overrides).map_err(|problems| Invalid(counted(&problems)))
    }

    /// The same, with what is wrong as it was found.
    pub(crate) fn parse(&self, overrides: &Overrides) -> Result<Config, Problems> {
        Config::parse_with(&self.name, &self.bytes, overrides)
    }
}

fn counted(problems: &Problems) -> String {
    match problems.iter().len() {
        1 => problems.to_string(),
        count => format!("{count} problems in {}\n{problems}", problems.source_name()),
    }
}

/// Why writing never fails.
pub(crate) const MEMORY: &str = "memory takes every write";
