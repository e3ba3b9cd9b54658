//! The latency algebra of fantail.
#![no_std]

extern crate alloc;

mod asymptotes;
mod branch;
mod chebyshev;
mod dependence;
mod draws;
mod error;
mod failing;
mod law;
mod level;
mod moments;
mod numeric;
mod order;
mod percentiles;
mod sampler;
mod sensitivity;
pub mod sim;
mod solve;
pub mod special;
mod stages;
pub mod tune;

pub use asymptotes::{Asymptotes, Estimates};
pub use dependence::{Dependence, DependentJob, Regimes};
pub use error::LawError;
pub use failing::{
    Attempt, AttemptAt, BranchAt, FailingBranch, FailingGroup, FailingJob, FailingPlan, Sends,
};
pub use law::Law;
pub use level::Level;
pub use percentiles::Fit;
pub use sensitivity::{Change, Effect, Sensitivity};
pub use solve::{
    Assumption, Cancellation, Figure, Group, GroupedPlan, JobLaw, Method, NotIncluded, Outcomes, Prices,
    SolveError, Tables, Verdicts, solve, solve_dependent,
};
pub use stages::{Stage, StagedJob, StagedLaw, StagedPlan, StagedVerdicts, solve_stages};
