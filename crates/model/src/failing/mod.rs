//! Attempts that may fail, the branches that they make, and the jobs of those.
//!
//! A failure is not an answer that never comes: it tells the branch at once, which may send the next attempt then. So an
//! attempt has sub-laws, one for each way it may end, and so have branch and job.

mod attempt;
mod branch;
mod job;

pub use attempt::{Attempt, AttemptAt};
pub use branch::{BranchAt, FailingBranch, Sends};
pub use job::{FailingGroup, FailingJob, FailingPlan};
