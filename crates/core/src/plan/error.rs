//! What can be wrong with a plan, and where.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Everything that is wrong with a plan; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanErrors(pub(crate) Vec<PlanError>);

impl PlanErrors {
    /// The errors, in the order of the plan's fields.
    pub fn iter(&self) -> impl Iterator<Item = &PlanError> {
        self.0.iter()
    }
}

impl fmt::Display for PlanErrors {
    /// One error a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl core::error::Error for PlanErrors {}

/// One thing that is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// Where.
    pub field: Field,
    /// What was given.
    pub value: String,
    /// What was expected, with the bound.
    pub expected: String,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: got {}, expected {}", self.field, self.value, self.expected)
    }
}

/// A field of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// A field of the plan itself.
    Plan(&'static str),
    /// A field of a branch.
    Branch {
        /// Its index.
        index: usize,
        /// Its name, as given.
        name: String,
        /// Which field.
        field: &'static str,
    },
    /// A field of a limiter.
    Limiter {
        /// Its index.
        index: usize,
        /// Its name, as given.
        name: String,
        /// Which field.
        field: &'static str,
    },
    /// A field of a live hedge delay.
    LiveDelay {
        /// Its index.
        index: usize,
        /// Which field.
        field: &'static str,
    },
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Plan(field) => f.write_str(field),
            Field::Branch { index, name, field } => named(f, "branch", *index, name, field),
            Field::Limiter { index, name, field } => named(f, "limiter", *index, name, field),
            Field::LiveDelay { index, field } => write!(f, "live delay {index}: {field}"),
        }
    }
}

fn named(f: &mut fmt::Formatter<'_>, what: &str, index: usize, name: &str, field: &str) -> fmt::Result {
    if name.is_empty() { write!(f, "{what} {index}: {field}") } else { write!(f, "{what} `{name}`: {field}") }
}
