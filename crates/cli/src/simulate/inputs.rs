//! What is to be simulated: the texts that say so, and what they mean.

use std::path::PathBuf;
use std::sync::Arc;

use fantail_core::{Plan, Time};
use fantail_model::Law;
use fantail_model::sim::{Credit, Scenario, Server, Simulation};
use fantail_planfile::{Config, PlanEntry, ShortForm, parse_law};
use serde::{Deserialize, Serialize};

use super::args::SimulateArgs;
use crate::failure::Failure;
use crate::input::Subject;
use crate::{describe, input};

/// The texts, so that parts of one simulation can be told from others, and merged without the files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Inputs {
    pub(super) seed: u64,
    files: Vec<Source>,
    pub(super) n: Option<u32>,
    pub(super) latency: Option<String>,
    strategies: Vec<String>,
}

/// A plan file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Source {
    name: String,
    text: String,
}

/// One plan, or a client that knows none.
pub(super) struct Contender {
    pub(super) name: String,
    pub(super) file: Option<String>,
    /// What it waits for and does meanwhile, in words; `None` where its short form says it.
    pub(super) description: Option<String>,
    pub(super) is_client: bool,
    pub(super) plan: Arc<Plan>,
    pub(super) simulation: Simulation,
    /// The same without copies, where it has any.
    pub(super) plain: Option<Simulation>,
}

const WHAT: &str = "simulate what? Name a plan file, or state the branches:
  fantail simulate plan.toml --jobs 1e5
  fantail simulate -n 8 --latency p50=0.8s,p95=1.5s,p99=2.4s --strategy all --strategy first:5";

impl Inputs {
    pub(super) fn read(args: &SimulateArgs) -> anyhow::Result<Inputs> {
        let subject = Subject {
            file: args.files.first().map(PathBuf::as_path),
            n: args.n,
            latency: args.latency.as_deref(),
            strategy: args.strategies.first().map(String::as_str),
        };
        subject.check(WHAT).map_err(Failure::invalid)?;
        let mut files = Vec::new();
        for path in &args.files {
            let name = path.display().to_string();
            let text = String::from_utf8_lossy(&input::bytes(path)?).into_owned();
            files.push(Source { name, text });
        }
        let strategies = match args.strategies.as_slice() {
            [] if args.latency.is_some() => vec!["all".to_owned()],
            strategies => strategies.to_vec(),
        };
        Ok(Inputs { seed: args.seed, files, n: args.n, latency: args.latency.clone(), strategies })
    }

    /// Every client and plan, in the order given.
    ///
    /// The error is invalid input.
    pub(super) fn contenders(&self) -> anyhow::Result<Vec<Contender>> {
        let mut contenders = Vec::new();
        if let Some(latency) = &self.latency {
            self.short_forms(latency, &mut contenders)?;
        }
        for source in &self.files {
            let config = Config::parse(&source.name, &source.text).map_err(Failure::invalid)?;
            self.of_file(&source.name, &config, &mut contenders)?;
        }
        Ok(contenders)
    }

    fn short_forms(&self, latency: &str, contenders: &mut Vec<Contender>) -> anyhow::Result<()> {
        let law = parse_law(latency).map_err(Failure::invalid)?;
        let n = self.n.ok_or_else(|| Failure::invalid("--latency of how many branches? expected -n <N>"))?;
        // Short forms state no budget.
        let scenario = Arc::new(Scenario { credit: Credit::Unlimited, ..Scenario::default() });
        for text in &self.strategies {
            let form = ShortForm::parse(text).map_err(Failure::invalid)?;
            let entry = form.plan(&vec![law.clone(); n as usize]).map_err(Failure::invalid)?;
            let mut contender = self.contender(&entry, None, &scenario)?;
            text.clone_into(&mut contender.name);
            contender.description = None;
            contenders.push(contender);
        }
        Ok(())
    }

    fn of_file(&self, file: &str, config: &Config, contenders: &mut Vec<Contender>) -> anyhow::Result<()> {
        let scenario = config.simulated.as_ref().map(|simulated| simulated.scenario.clone());
        let scenario = Arc::new(scenario.unwrap_or_default());
        for entry in config.simulated.iter().flat_map(|simulated| &simulated.clients) {
            let plan = config.plan(&entry.plan).expect("a client names a plan of its file");
            let mut plan = plan.clone();
            if let Some(latency) = &entry.latency {
                plan.branches.iter_mut().for_each(|branch| branch.law = Some(latency.clone()));
            }
            let of_plan = self.contender(&plan, Some(file), &scenario)?;
            let simulation = of_plan.simulation.with_client(entry.client).map_err(Failure::invalid)?;
            contenders.push(Contender {
                name: entry.name.clone(),
                description: Some(client(&entry.client, &plan.plan)),
                is_client: true,
                simulation,
                plain: None,
                ..of_plan
            });
        }
        for entry in &config.plans {
            contenders.push(self.contender(entry, Some(file), &scenario)?);
        }
        Ok(())
    }

    fn contender(
        &self,
        entry: &PlanEntry,
        file: Option<&str>,
        scenario: &Arc<Scenario>,
    ) -> anyhow::Result<Contender> {
        let laws = laws(entry, file)?;
        let plan = Arc::new(entry.plan.clone());
        let simulation = Simulation::new(Arc::clone(&plan), laws, Arc::clone(scenario), self.seed)
            .map_err(Failure::invalid)?;
        let copies = plan.branches().iter().any(|branch| !branch.delays().is_empty());
        Ok(Contender {
            name: plan.name().to_owned(),
            file: file.map(ToOwned::to_owned),
            description: Some(describe::plan(&plan)),
            is_client: false,
            plain: copies.then(|| simulation.without_copies()),
            plan,
            simulation,
        })
    }
}

impl Contender {
    /// The servers of its scenario, each with its slots if they are bounded.
    pub(super) fn servers(&self) -> impl Iterator<Item = (&Server, Option<u64>)> {
        let slots = |server: &Server| server.slots.map(|slots| u64::from(slots) * u64::from(server.replicas));
        self.simulation.scenario().servers.iter().map(move |server| (server, slots(server)))
    }

    /// Whether every job ends, however long its calls take.
    pub(super) fn is_bounded(&self) -> bool {
        !self.is_client && self.plan.branches().iter().all(|branch| branch.deadline.is_some())
    }
}

/// The law of each branch.
fn laws(entry: &PlanEntry, file: Option<&str>) -> anyhow::Result<Vec<Law>> {
    let mut laws = Vec::new();
    for (branch, more) in entry.plan.branches().iter().zip(&entry.branches) {
        let Some(law) = &more.law else {
            let (plan, branch) = (entry.plan.name(), &branch.name);
            let file = file.map(|file| format!("{file}: ")).unwrap_or_default();
            return Err(Failure::invalid(format_args!(
                "{file}plan `{plan}`: no latency is stated for `{branch}`; expected one for each branch, like\n  \
                 [plan.{plan}.defaults]\n  latency = \"p50=0.8s,p95=1.5s,p99=2.4s\""
            )));
        };
        laws.push(law.clone());
    }
    Ok(laws)
}

/// What a client does, in words.
fn client(client: &fantail_model::sim::Client, plan: &Plan) -> String {
    let calls = if client.sequential { "one after the other" } else { "at once" };
    let retries = match client.retries {
        0 => "no tries inside the barrier".to_owned(),
        retries if client.backoff == Time::ZERO => format!("{retries} tries inside the barrier"),
        retries => format!("{retries} tries inside the barrier, the first after {}", client.backoff),
    };
    format!("knows no plan: makes the calls of {} {calls}, {retries}", plan.name())
}
