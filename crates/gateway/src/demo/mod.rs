//! Example upstreams to try a gateway on, and traffic to measure it with.
//!
//! The upstreams stand in for a model provider: they answer each branch of `examples/enrich.toml` after a latency drawn
//! from the law that the plan states for it, share an account that answers 429 past its rate, and read their answers
//! from the text of the document by plain rules. Time is not scaled: the plan's laws say how long a call takes.

mod draws;
mod extract;
mod measured;
mod traffic;
mod upstreams;
mod writer;

pub use measured::{Band, Job, Measured, Reply, Verdict};
pub use traffic::Traffic;
pub use upstreams::{Account, Upstreams};

use std::fmt;
use std::io;

use fantail_planfile::{Config, Problems};

/// The plan file of the demo: `examples/enrich.toml`.
pub const PLAN: &str = include_str!("../../../../examples/enrich.toml");
/// Where that file has its upstreams; [`Demo::start`] puts the address of its own in its place.
pub const EXAMPLE_HOST: &str = "127.0.0.1:9001";

/// A plan file whose upstreams are played on a free port of the loopback interface.
#[derive(Debug)]
pub struct Demo {
    /// The file as it was given.
    pub stated: Config,
    /// The file with the address of the upstreams in place of [`EXAMPLE_HOST`].
    pub config: Config,
    /// The upstreams. They stop when this is dropped.
    pub upstreams: Upstreams,
}

impl Demo {
    /// Reads a plan file and starts upstreams for its first plan: each branch's latencies follow the law stated for it,
    /// the account allows what the plan's first limiter does.
    ///
    /// The same `seed` gives the n-th call of each branch the same latency.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), fantail_gateway::demo::DemoError> {
    /// use fantail_gateway::demo::{Demo, PLAN};
    ///
    /// let demo = Demo::start(PLAN, 7).await?;
    /// assert_eq!(demo.config.plans[0].plan.name(), "enrich");
    /// println!("upstreams at http://{}", demo.upstreams.addr());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The file has problems, a branch states no law, or no port can be bound.
    pub async fn start(plan_file: &str, seed: u64) -> Result<Demo, DemoError> {
        let stated = Config::parse("the demo's plan", plan_file).map_err(DemoError::Plan)?;
        let mut laws = Vec::new();
        for entry in stated.plans.iter().take(1) {
            for (branch, stated) in entry.plan.branches().iter().zip(&entry.branches) {
                let name = branch.name.clone();
                let law = stated.law.clone().ok_or_else(|| DemoError::NoLaw { branch: name.clone() })?;
                laws.push((name, law));
            }
        }
        let account = stated.limiters.first().and_then(|limiter| limiter.rate).map(Account::for_clients_at);
        let upstreams = Upstreams::start(laws, account, seed).await.map_err(DemoError::Bind)?;
        let text = plan_file.replace(EXAMPLE_HOST, &upstreams.addr().to_string());
        let config = Config::parse("the demo's plan", text).map_err(DemoError::Plan)?;
        Ok(Demo { stated, config, upstreams })
    }
}

/// Why a demo can't be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum DemoError {
    /// The plan file has problems.
    Plan(Problems),
    /// A branch states no law, so nobody knows how long its calls should take.
    NoLaw {
        /// The branch.
        branch: String,
    },
    /// No port can be bound for the upstreams.
    Bind(io::Error),
}

impl fmt::Display for DemoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DemoError::Plan(problems) => problems.fmt(f),
            DemoError::NoLaw { branch } => write!(f, "branch `{branch}` states no `latency` to play"),
            DemoError::Bind(error) => write!(f, "can't bind a port for the demo's upstreams: {error}"),
        }
    }
}

impl std::error::Error for DemoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DemoError::Bind(error) => Some(error),
            DemoError::Plan(_) | DemoError::NoLaw { .. } => None,
        }
    }
}
