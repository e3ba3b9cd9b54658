//! The texts of fantail: plan files and laws, routes; plans in short form, goals and percentiles on a command line.
//!
//! Everything that is wrong with a text is found at once, each at its line and column, with what was expected and the
//! nearest right word. Nothing here knows a file: [`Config::parse`] takes its bytes.
//!
//! What a plan file may say is listed in [`keys::KEYS`], the list that the reader itself goes by.

mod config;
mod decimal;
mod duration;
mod goal;
pub mod keys;
mod law;
mod percentile;
mod problem;
mod read;
mod rewrite;
mod route;
mod short;
mod sweep;
mod text;
mod url;

pub use config::{
    Backfill, BranchEntry, ClientEntry, Config, EarlierCopy, Match, Overrides, PlanEntry, Serves, Simulated,
};
pub use goal::Goal;
pub use law::{StatedLaw, parse_law};
pub use percentile::Percentile;
pub use problem::{Problem, Problems};
pub use read::HedgeRule;
pub use rewrite::{RewriteError, like_branches, rewrite};
pub use route::{Captures, Route};
pub use short::{Shape, ShortForm};
pub use sweep::Sweep;
pub use url::UrlTemplate;
