//! Why a plan has no exact law here, and what an exact law assumes.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::LawError;

/// Why a plan was not solved.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SolveError {
    /// A plan needs one law for each branch.
    LawCount {
        /// Laws given.
        given: usize,
        /// Branches of the plan.
        branches: usize,
    },
    /// A number of a grouped plan is out of its range.
    OutOfRange {
        /// Which.
        field: &'static str,
        /// What was given.
        value: f64,
        /// What it may be.
        bound: String,
    },
    /// The plan has parts that would make every exact figure wrong; never empty.
    NotIncluded(Vec<NotIncluded>),
    /// More work than is done at once.
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much.
        value: f64,
        /// The most that is done.
        bound: f64,
    },
    /// It would take too long; refused before any of it is done.
    TooLong {
        /// What would.
        what: &'static str,
        /// How much work it is, in terms of a sum.
        terms: f64,
        /// The most that is done.
        bound: f64,
    },
    /// A law or an integral.
    Law(LawError),
}

impl From<LawError> for SolveError {
    fn from(error: LawError) -> SolveError {
        SolveError::Law(error)
    }
}

impl fmt::Display for SolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SolveError::LawCount { given, branches } => {
                write!(f, "got {given} laws, expected one for each of {branches} branches")
            }
            SolveError::OutOfRange { field, value, bound } => {
                write!(f, "{field}: got {value}, expected {bound}")
            }
            SolveError::NotIncluded(reasons) => {
                f.write_str("no exact law: ")?;
                for (i, reason) in reasons.iter().enumerate() {
                    write!(f, "{}{reason}", if i == 0 { "" } else { "; " })?;
                }
                Ok(())
            }
            SolveError::TooLarge { what, value, bound } => write!(f, "{what}: got {value}, at most {bound}"),
            SolveError::TooLong { what, terms, bound } => {
                write!(f, "{what} would take too long: {terms:.2e} terms, expected at most {bound:.0e}")
            }
            SolveError::Law(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SolveError {}

/// A part of a plan that the exact law leaves out, so that its figures would be wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NotIncluded {
    /// One job alone asks a limiter for more than it permits at once, so some branches wait for permits.
    Limiter {
        /// The limiter's name.
        name: String,
        /// Weight of the primaries of one job.
        asked: u64,
        /// Weight that it can permit at once.
        capacity: u64,
    },
    /// More copies fall due than the budget pays for, so some are refused.
    Budget {
        /// Copies that fall due after a delay, per primary.
        due: f64,
        /// Copies that the budget pays for, per primary: primaries that a copy beats or that are cut earn nothing.
        share: f64,
    },
    /// Branches that come after others.
    Stages,
    /// A branch that leads.
    Leader,
    /// Branches that fail over when an attempt times out.
    Failover,
    /// Jobs that start no copies.
    Holdout {
        /// Their share, in parts per million.
        share: u32,
    },
}

impl fmt::Display for NotIncluded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotIncluded::Stages => f.write_str("branches come after others"),
            NotIncluded::Leader => f.write_str("a branch leads the others"),
            NotIncluded::Failover => f.write_str("branches fail over at their attempt timeouts"),
            NotIncluded::Holdout { share } => {
                write!(f, "{} % of the jobs are held out, and start no copies", f64::from(*share) / 1e4)
            }
            NotIncluded::Limiter { name, asked, capacity } => {
                write!(
                    f,
                    "limiter `{name}` is busy: one job asks it for {asked} at once, it permits {capacity}"
                )
            }
            NotIncluded::Budget { due, share } => write!(
                f,
                "the hedge budget binds: {:.4} % of primaries are due a copy, it pays for {:.4} %",
                due * 100.0,
                share * 100.0
            ),
        }
    }
}

/// What the exact law takes for granted; it cannot be judged from the plan alone.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Assumption {
    /// Branches and copies are independent of each other and of the load.
    Independent,
    /// Branches of a job and copies of a branch share parts of what makes an attempt late, and are independent of the load.
    Shares {
        /// The job's share.
        job: f64,
        /// The branch's share.
        branch: f64,
    },
    /// The limiter never makes an attempt wait: how busy it is depends on the arrivals.
    LimiterNeverFills {
        /// Its name.
        name: String,
    },
    /// The hedge budget has credit whenever a copy is due. True on average, since `due` is at most `share`.
    BudgetHasCredit {
        /// Copies that fall due after a delay, per primary.
        due: f64,
        /// Copies that the budget pays for, per primary: primaries that a copy beats or that are cut earn nothing.
        share: f64,
    },
    /// The cap on copies in flight is never reached.
    CopiesInFlight {
        /// The cap.
        most: u32,
    },
    /// Copies are sent however little time is left: when their branches start depends on those that they come after.
    CopiesUntilDeadline,
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Assumption::Independent => f.write_str("branches and copies are independent"),
            Assumption::Shares { job, branch } => write!(
                f,
                "of what makes an attempt late, a share of {job} is its job's and of {branch} its branch's"
            ),
            Assumption::LimiterNeverFills { name } => write!(f, "limiter `{name}` never fills"),
            Assumption::BudgetHasCredit { due, share } => write!(
                f,
                "the hedge budget has credit ({:.4} % of primaries are due a copy, it pays for {:.4} %)",
                due * 100.0,
                share * 100.0
            ),
            Assumption::CopiesUntilDeadline => f.write_str("copies are sent however little time is left"),
            Assumption::CopiesInFlight { most } => write!(f, "never more than {most} copies are in flight"),
        }
    }
}
