//! Why a simulation was refused or given up.

use alloc::string::String;
use core::fmt;

/// Why a simulation was refused or given up.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SimError {
    /// A simulation needs one law for each branch.
    LawCount {
        /// Laws given.
        given: usize,
        /// Branches of the plan.
        branches: usize,
    },
    /// The rate of arrivals, or the distance between them in seconds, is out of its range.
    Arrivals {
        /// What was given.
        value: f64,
    },
    /// A number of a server is out of its range.
    Server {
        /// The server's name.
        server: String,
        /// Which number.
        field: &'static str,
        /// What was given.
        value: f64,
        /// What it may be.
        bound: &'static str,
    },
    /// A client tries again more often than 1000 times.
    Retries {
        /// What was given.
        value: u16,
    },
    /// Virtual time ended, after 584 years, before all jobs had arrived.
    TooLong {
        /// The number of the job that could not arrive.
        job: u64,
    },
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimError::LawCount { given, branches } => {
                write!(f, "got {given} laws, expected one for each of {branches} branches")
            }
            SimError::Arrivals { value } => write!(
                f,
                "arrivals: got {value}, expected a rate of 1e-6 to 1e9 per second, a distance above 0 s, 1 to 1000000 clients, \
                 or instants that do not decrease and end above 0 s; times are at most 365 days"
            ),
            SimError::Server { server, field, value, bound } => {
                write!(f, "server {server}: {field}: got {value}, expected {bound}")
            }
            SimError::Retries { value } => write!(f, "retries: got {value}, expected at most 1000"),
            SimError::TooLong { job } => {
                write!(
                    f,
                    "job {job} would arrive after 584 years, when virtual time ends: play fewer jobs at a time"
                )
            }
        }
    }
}

impl core::error::Error for SimError {}
