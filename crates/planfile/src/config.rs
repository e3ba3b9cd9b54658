//! What a plan file states.

use std::sync::Arc;

use fantail_core::{LimiterSpec, Plan, Time};
use fantail_model::Law;
use fantail_model::sim::{Client, Scenario};
use http::Method;

use crate::problem::{Fault, Problems};
use crate::read::{self, HedgeRule};
use crate::route::{Captures, Route};
use crate::url::UrlTemplate;

/// The plans and limiters of a plan file.
///
/// ```
/// use fantail_core::Time;
///
/// let config = fantail_planfile::Config::parse("plan.toml", r#"
///     [plan.enrich]
///     route = "POST /enrich"
///     deadline = "2.5s"
///     [plan.enrich.defaults]
///     url = "http://127.0.0.1:9001/{branch}"
///     latency = "lognormal:median=0.8s,sigma=0.4"
///     [plan.enrich.branch]
///     type = {}
///     summary = { optional = true }
/// "#)?;
/// let entry = config.plan("enrich").expect("it is stated");
/// assert_eq!((entry.plan.n(), entry.plan.required()), (2, 1));
/// assert_eq!(entry.plan.deadline(), Some(Time::from_millis(2_500)));
/// # Ok::<(), fantail_planfile::Problems>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// The limiters, in the order of the file. Every plan has all of them, at the same indices.
    pub limiters: Vec<LimiterSpec>,
    /// The plans, in the order of the file; at least one.
    pub plans: Vec<PlanEntry>,
    /// The world that jobs meet when they are simulated. `None`: not stated.
    pub simulated: Option<Simulated>,
}

/// What `[scenario]` states.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The world that the jobs of all plans meet.
    pub scenario: Scenario,
    /// Clients that know no plan, to compare plans with, in the order of the file.
    pub clients: Vec<ClientEntry>,
}

/// A client that knows no plan.
#[derive(Clone, Debug)]
pub struct ClientEntry {
    /// Its name, which no plan has.
    pub name: String,
    /// The name of the plan whose calls it makes.
    pub plan: String,
    /// The law of the latency of one call. `None`: those of the plan's branches.
    pub latency: Option<Law>,
    /// How it makes them.
    pub client: Client,
}

/// What is to hold for every plan of a file, whatever the file says: what `fantail predict` varies.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The job's deadline.
    pub deadline: Option<Time>,
    /// The fewest answers that a result may hold.
    pub at_least: Option<u32>,
    /// The names of the required branches; all others are optional.
    pub required: Option<Vec<String>>,
}

/// A plan with what predicting and serving it need beside the plan itself.
#[derive(Clone, Debug)]
pub struct PlanEntry {
    /// The plan, checked.
    pub plan: Plan,
    /// Which requests start a job of it. `None`: it is not served.
    pub route: Option<Route>,
    /// How missing branches are filled in. `None`: they are not.
    pub backfill: Option<Backfill>,
    /// What the plan does not hold of its branches, in its order of them.
    pub branches: Vec<BranchEntry>,
}

/// What a plan file states of a branch beyond what a plan holds.
#[derive(Clone, Debug)]
pub struct BranchEntry {
    /// The law of the latency of one attempt. `None`: not stated.
    pub law: Option<Law>,
    /// Where that law was fitted to percentiles, the worst relative error in time over them: 0.01 is 1 %.
    pub fit_error: Option<f64>,
    /// Those percentiles, as (probability, seconds); `None` for other laws and for mixtures.
    pub percentiles: Option<Arc<[(f64, f64)]>>,
    /// What is stated of its copies. `None`: nothing, or that it has none.
    pub hedge: Option<Arc<HedgeRule>>,
    /// The first of its copies that the deadline moved; `None` where it moved none.
    pub earlier: Option<EarlierCopy>,
    /// The URLs of its targets. Empty when it has none, as in a plan that is only predicted; otherwise as many as
    /// [`Branch::targets`](fantail_core::Branch::targets).
    pub targets: Vec<UrlTemplate>,
}

/// A copy that is due sooner than at the percentile it was to wait for: the deadline leaves no later start the time that a
/// copy needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierCopy {
    /// The percentile's label, like `p95`.
    pub percentile: String,
    /// How long that is after the primary's permit; [`Time::MAX`] beyond 365 days.
    pub wanted: Time,
    /// How long after it the copy is due.
    pub due: Time,
    /// What it needs before the deadline.
    pub min_useful: Time,
}

/// How missing optional branches of partial results are filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backfill {
    /// How long storing a job may hold up its result beyond the deadline. Default: 100 ms.
    pub enqueue_timeout: Time,
    /// How long a document is kept. Default: 24 h.
    pub ttl: Time,
    /// The largest document that is kept, in bytes of request and answers together, at least 1. Default: 1 MiB.
    pub max_bytes: u32,
    /// How often a branch is tried before it is given up, at least 1. Default: 8.
    pub tries: u32,
}

impl Default for Backfill {
    fn default() -> Backfill {
        Backfill {
            enqueue_timeout: Time::from_millis(100),
            ttl: Time::from_secs(24 * 3_600),
            max_bytes: 1 << 20,
            tries: 8,
        }
    }
}

impl Config {
    /// Reads a plan file. `source` is its name in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it, each at its line and column. Never panics, whatever the bytes are.
    pub fn parse(source: &str, bytes: impl AsRef<[u8]>) -> Result<Config, Problems> {
        Config::parse_with(source, bytes, &Overrides::default())
    }

    /// Reads a plan file as if each of its plans stated `overrides` in place of what it states.
    ///
    /// # Errors
    /// As for [`Config::parse`]; what does not fit an override is named where the plan states it, or at the plan's name.
    pub fn parse_with(
        source: &str,
        bytes: impl AsRef<[u8]>,
        overrides: &Overrides,
    ) -> Result<Config, Problems> {
        let bytes = bytes.as_ref();
        match str::from_utf8(bytes) {
            Ok(text) => {
                read::config(text, overrides).map_err(|faults| Problems::locate(source, text, faults))
            }
            Err(error) => {
                let at = error.valid_up_to();
                let message = format!("the byte 0x{:02x} is not UTF-8 text", bytes[at]);
                let text = String::from_utf8_lossy(bytes);
                Err(Problems::locate(source, &text, vec![Fault::new(at..at + 1, message)]))
            }
        }
    }

    /// The plan named `name`.
    pub fn plan(&self, name: &str) -> Option<&PlanEntry> {
        self.plans.iter().find(|entry| entry.plan.name() == name)
    }

    /// What requests with this path, as sent, ask for: one match for each method, the most literal route first.
    ///
    /// The first match with a request's method is the one that answers it. Matches with other methods only: the path
    /// is there, the method is not allowed.
    ///
    /// ```
    /// use fantail_planfile::{Config, Serves};
    ///
    /// let config = Config::parse("plan.toml", r#"
    ///     [plan.enrich]
    ///     route = "POST /enrich"
    ///     backfill = true
    ///     [plan.enrich.branch]
    ///     type = { url = "http://127.0.0.1:9001/", optional = true }
    /// "#)?;
    /// assert_eq!(config.at_path("/enrich")[0].serves, Serves::Job);
    /// let document = &config.at_path("/enrich/jobs/01J")[0];
    /// assert_eq!((document.method.as_str(), document.serves), ("GET", Serves::Document));
    /// assert_eq!(document.captures.get(Config::JOB), Some(&b"01J"[..]));
    /// assert!(config.at_path("/").is_empty());
    /// # Ok::<(), fantail_planfile::Problems>(())
    /// ```
    pub fn at_path(&self, path: &str) -> Vec<Match<'_>> {
        let mut list = Vec::new();
        for entry in &self.plans {
            for (route, serves) in entry.routes() {
                if let Some(captures) = route.capture(path) {
                    let found = Match { entry, method: route.method().clone(), serves, captures };
                    list.push((route.rank(), found));
                }
            }
        }
        list.sort_by(|(a, _), (b, _)| a.cmp(b));
        list.into_iter().map(|(_, found)| found).collect()
    }

    /// The path parameter that holds the job's id where a document is asked for.
    pub const JOB: &str = "job";
}

impl PlanEntry {
    /// The routes that this plan answers.
    fn routes(&self) -> impl Iterator<Item = (Route, Serves)> {
        let documents = self.route.as_ref().filter(|_| self.backfill.is_some()).map(Route::documents);
        let jobs = self.route.clone().map(|route| (route, Serves::Job));
        jobs.into_iter().chain(documents.map(|route| (route, Serves::Document)))
    }
}

/// What requests with a path and a method ask for.
#[derive(Clone, Debug)]
pub struct Match<'c> {
    /// The plan that answers.
    pub entry: &'c PlanEntry,
    /// The method.
    pub method: Method,
    /// What it answers with.
    pub serves: Serves,
    /// The values of the path's parameters.
    pub captures: Captures,
}

/// What a plan answers a request with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serves {
    /// A job of the plan, started by the request.
    Job,
    /// The document of an earlier job, as far as backfill has filled it in.
    Document,
}
