//! The live quantile estimator, against estimators of other kinds, closed forms and hostile input.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

mod closed_loop;
mod decay;
mod first_k;
mod hostile;
mod incidence;
mod live;
mod merge;
mod quantile;
mod sound;
mod states;
mod support;
