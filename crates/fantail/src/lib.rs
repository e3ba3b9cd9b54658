//! Fan-outs on tokio.
//!
//! A [`Fanout`] is a plan with the limiters and the budgets that its jobs share. Each job drives the machine of
//! [`fantail_core`] inside the caller's task: no task is spawned, and dropping the future drops all that it started. The one
//! exception is what an [observed](JobBuilder::observe) job still runs when its result is out.
//!
//! | to | use |
//! |---|---|
//! | give branches their calls | [`JobBuilder::required`], [`JobBuilder::optional`], [`JobBuilder::each`] |
//! | call one that can be called once | [`JobBuilder::once`] |
//! | have a branch for each item, or each batch of items | [`Pattern`], [`JobBuilder::items`], [`JobBuilder::batches`] |
//! | pass answers on to later branches | [`JobBuilder::inputs`] |
//! | take answers as they come | [`JobBuilder::start`], [`Running`] |
//! | answer with a stream | [`Attempt::stream`] |
//! | compute for long, or block | [`Attempt::spawn`], [`Attempt::spawn_blocking`] |
//! | run a job inside a branch | [`JobBuilder::until`] |
//! | have an upstream do the work once | [`Attempt::key`], [`JobBuilder::id`] |
//! | share an account with work outside jobs | [`Limiters`], [`SharedLimiter::acquire`] |
//! | fill in what a result lacked | [`backfill`] |
//! | wrap a service of tower | `tower::PlanLayer` |
//! | let slow calls run on to be measured | [`JobBuilder::observe`] |
//! | measure | [`Observer`], or a subscriber of `tracing` |
//!
//! ```
//! use fantail::{AttemptError, Fanout, Limiters};
//! use fantail_core::{BranchSpec, Plan, PlanSpec, Time};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let summary = BranchSpec { required: Some(false), ..BranchSpec::new("summary") };
//! let plan = Plan::new(PlanSpec {
//!     deadline: Some(Time::from_millis(2_500)),
//!     ..PlanSpec::new("enrich", vec![BranchSpec::new("type"), summary])
//! })?;
//! let enrich = Fanout::new(plan, &Limiters::default());
//!
//! let document = "This contract is made between A and B.";
//! let mut job = enrich.job();
//! let kind = job.required("type", |_| async { Ok(if document.contains("contract") { "contract" } else { "letter" }) });
//! let summary = job.optional("summary", |_| async { Err::<String, _>(AttemptError::permanent("no model today")) });
//! let mut done = job.join().await?;
//!
//! assert_eq!(done.take(kind), "contract");
//! assert_eq!(done.take(summary), None);
//! assert_eq!(done.incomplete().collect::<Vec<_>>(), [1]);
//! # Ok(())
//! # }
//! ```

mod attempt;
pub mod backfill;
mod calls;
mod clock;
mod desk;
mod done;
mod driver;
mod fanout;
mod handle;
mod held;
mod hold;
mod id;
mod inputs;
mod limiter;
mod live;
mod mail;
mod pattern;
mod running;
mod spawned;
mod streamed;
mod sync;
#[cfg(feature = "tower")]
pub mod tower;
mod under;
mod wakes;
mod watch;

pub use attempt::{Attempt, AttemptError};
pub use done::{Done, Failed, JoinError, Misuse};
pub use fanout::{Fanout, JobBuilder, Once};
pub use handle::{Batches, Each, Handle, Items, Optional, Required};
pub use hold::Hold;
pub use id::{IdempotencyKey, InvalidJobId, JobId};
pub use inputs::Inputs;
pub use limiter::{Limiters, Permit, SharedLimiter};
pub use pattern::Pattern;
pub use running::Running;
pub use spawned::Spawned;
pub use streamed::Streamed;
pub use watch::{End, Note, Observer};

use clock::{Clock, span};
use sync::lock;
