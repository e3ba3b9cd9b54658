//! What is to be simulated: the texts that say so, and what they mean.

use std::sync::Arc;

use fantail_core::{Plan, Time};
use fantail_model::sim::{Client, Credit, RetryAfter, Scenario, Server, Simulation};
use fantail_model::{Law, Level};
use fantail_planfile::{Config, Overrides, PlanEntry, ShortForm, StatedLaw, parse_law};
use serde::{Deserialize, Serialize};

use crate::flags::Flags;
use crate::{Invalid, Source, describe, number, text};

/// What is asked, in the words of the flags of `fantail simulate`: all of it, so that parts of one simulation can be told
/// from others, and merged without the files.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Inputs {
    /// The same seed gives the same luck.
    pub seed: u64,
    /// Plan files; their scenario is the world that jobs meet.
    pub files: Vec<Source>,
    /// Number of like branches.
    pub n: Option<u32>,
    /// Law of the latency of one call of them.
    pub latency: Option<String>,
    /// Plans in short form over them; `all` where there are none.
    pub strategies: Vec<String>,
    /// What these state beside their own words.
    #[serde(flatten)]
    pub flags: Flags,
}

/// One plan, or a client that knows none.
pub struct Contender {
    /// The plan's name, or its short form; the client's.
    pub name: String,
    /// The file that states it.
    pub file: Option<String>,
    /// What people are shown as its name, beside those of the others.
    pub shown: String,
    /// What it waits for and does meanwhile, in words; `None` where its short form says it.
    pub description: Option<String>,
    /// Whether it is a client that knows no plan.
    pub is_client: bool,
    /// Whether calls of a branch [are too short](is_coarse) for the times that are played.
    pub is_coarse: bool,
    /// What it runs, or whose calls it makes.
    pub plan: Arc<Plan>,
    /// Its jobs.
    pub simulation: Simulation,
    /// The same without copies, where it has any.
    pub plain: Option<Simulation>,
}

impl Inputs {
    /// Every client and plan, in the order given.
    ///
    /// # Errors
    /// What is wrong with any of the words, or that they name nothing.
    pub fn contenders(&self) -> Result<Vec<Contender>, Invalid> {
        self.contenders_with(None)
    }

    /// The same, with the law that `latency` only names, as measured ones are.
    ///
    /// # Errors
    /// As for [`Inputs::contenders`].
    pub fn contenders_with(&self, law: Option<StatedLaw>) -> Result<Vec<Contender>, Invalid> {
        if self.files.is_empty() && self.latency.is_none() {
            return Err(Invalid::new("nothing is named: expected plan files, or a latency of like branches"));
        }
        let mut contenders = Vec::new();
        if let Some(latency) = &self.latency {
            self.short_forms(latency, law, &mut contenders)?;
        }
        for source in &self.files {
            let config = source.config(&Overrides::default())?;
            self.of_file(&source.name, &config, &mut contenders)?;
        }
        let named: Vec<_> = contenders.iter().map(|one| (&*one.name, one.file.as_deref())).collect();
        for (shown, contender) in text::apart(&named).into_iter().zip(&mut contenders) {
            contender.shown = shown;
        }
        Ok(contenders)
    }

    /// How these differ from what another simulation was asked, in words; `None` where both are the same one, whatever its files
    /// are called.
    pub fn difference(&self, other: &Inputs) -> Option<String> {
        if self.files.len() != other.files.len() {
            let files = |count: usize| number::count(count as u64, "plan file", "plan files");
            return Some(format!("{}, not {}", files(self.files.len()), other.files.len()));
        }
        if let Some((mine, theirs)) = self.files.iter().zip(&other.files).find(|(a, b)| a.bytes != b.bytes) {
            let [mine, theirs] = [mine, theirs].map(|file| text::printable(&file.name));
            return Some(if mine == theirs {
                format!("`{mine}` has other contents")
            } else {
                format!("`{mine}` has other contents than `{theirs}`")
            });
        }
        let (mine, theirs) = (self.stated(), other.stated());
        let (mine, theirs) = mine.into_iter().zip(theirs).find(|(mine, theirs)| mine != theirs)?;
        let words = |value: Option<String>| value.map_or("none".to_owned(), |value| text::printable(&value));
        Some(format!("{} {}, not {}", mine.0, words(mine.1), words(theirs.1)))
    }

    /// The flags, and what each says.
    fn stated(&self) -> [(&'static str, Option<String>); 7] {
        let Inputs { seed, files: _, n, latency, strategies, flags } = self;
        let Flags { at_least, required, rho } = flags;
        let strategies = if strategies.is_empty() { "all".to_owned() } else { strategies.join(", ") };
        [
            ("--seed", Some(seed.to_string())),
            ("-n", n.map(|n| n.to_string())),
            ("--latency", latency.clone()),
            ("--strategy", Some(strategies)),
            ("--at-least", at_least.map(|count| count.to_string())),
            ("--required", required.clone()),
            ("--rho", rho.clone()),
        ]
    }

    fn short_forms(
        &self,
        latency: &str,
        law: Option<StatedLaw>,
        contenders: &mut Vec<Contender>,
    ) -> Result<(), Invalid> {
        let law = law.map_or_else(|| parse_law(latency).map_err(Invalid::new), Ok)?;
        let n = self.n.ok_or_else(|| Invalid::new("--latency of how many branches? expected -n <N>"))?;
        let dependence = self.flags.shares()?;
        // Short forms state no budget.
        let scenario = Arc::new(Scenario { credit: Credit::Unlimited, dependence, ..Scenario::default() });
        let all = ["all".to_owned()];
        for text in if self.strategies.is_empty() { &all } else { &self.strategies[..] } {
            let form = ShortForm::parse(text).map_err(Invalid::new)?;
            self.flags.check(&form)?;
            let entry = self.flags.on(&form, |form| form.plan(&vec![law.clone(); n as usize]))?;
            let mut contender = self.contender(&entry, None, &scenario)?;
            text.clone_into(&mut contender.name);
            contender.description = None;
            contenders.push(contender);
        }
        Ok(())
    }

    fn of_file(&self, file: &str, config: &Config, contenders: &mut Vec<Contender>) -> Result<(), Invalid> {
        let scenario = config.simulated.as_ref().map(|simulated| simulated.scenario.clone());
        let scenario = Arc::new(scenario.unwrap_or_default());
        for entry in config.simulated.iter().flat_map(|simulated| &simulated.clients) {
            let plan = config.plan(&entry.plan).expect("a client names a plan of its file");
            let mut plan = plan.clone();
            if let Some(latency) = &entry.latency {
                plan.branches.iter_mut().for_each(|branch| branch.law = Some(latency.clone()));
            }
            let of_plan = self.contender(&plan, Some(file), &scenario)?;
            let simulation = of_plan.simulation.with_client(entry.client).map_err(Invalid::new)?;
            contenders.push(Contender {
                name: entry.name.clone(),
                description: Some(client(&entry.client, &plan.plan, &scenario)),
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
    ) -> Result<Contender, Invalid> {
        let laws = laws(entry, file)?;
        let is_coarse = laws.iter().any(is_coarse);
        let plan = Arc::new(entry.plan.clone());
        let simulation = Simulation::new(Arc::clone(&plan), laws, Arc::clone(scenario), self.seed)
            .map_err(Invalid::new)?;
        let copies = plan.branches().iter().any(|branch| !branch.delays().is_empty());
        Ok(Contender {
            name: plan.name().to_owned(),
            file: file.map(ToOwned::to_owned),
            shown: String::new(),
            description: Some(describe::plan(&plan)),
            is_client: false,
            is_coarse,
            plain: copies.then(|| simulation.without_copies()),
            plan,
            simulation,
        })
    }
}

impl Contender {
    /// The servers of its scenario, each with its slots if they are bounded.
    pub fn servers(&self) -> impl Iterator<Item = (&Server, Option<u64>)> {
        let slots = |server: &Server| server.slots.map(|slots| u64::from(slots) * u64::from(server.replicas));
        self.simulation.scenario().servers.iter().map(move |server| (server, slots(server)))
    }
}

/// The law of each branch.
fn laws(entry: &PlanEntry, file: Option<&str>) -> Result<Vec<Law>, Invalid> {
    let mut laws = Vec::new();
    for (branch, more) in entry.plan.branches().iter().zip(&entry.branches) {
        let Some(law) = &more.law else {
            let (plan, branch) = (entry.plan.name(), &branch.name);
            let file = file.map(|file| format!("{file}: ")).unwrap_or_default();
            return Err(Invalid::new(format_args!(
                "{file}plan `{plan}`: no latency is stated for `{branch}`; expected one for each branch, like\n  \
                 [plan.{plan}.defaults]\n  latency = \"p50=0.8s,p95=1.5s,p99=2.4s\""
            )));
        };
        laws.push(law.clone());
    }
    Ok(laws)
}

/// Whether calls by a law are mostly so short that it matters that times are whole nanoseconds.
pub fn is_coarse(law: &Law) -> bool {
    law.quantile(Level::MEDIAN) < 1e-8
}

/// What a client does, in words.
fn client(client: &Client, plan: &Plan, scenario: &Scenario) -> String {
    let says = |server: u32| {
        let limit = &scenario.servers[server as usize].limit;
        limit.as_ref().is_some_and(|limit| limit.retry_after != RetryAfter::Unsaid)
    };
    let is_told = plan.branches().iter().any(|branch| scenario.server_of(&branch.name).is_some_and(says));
    let calls = if client.sequential { "one after the other" } else { "at once" };
    let retries = match client.retries {
        0 => "no tries inside the barrier".to_owned(),
        retries if is_told => {
            let backoff = client.backoff;
            format!(
                "{retries} tries inside the barrier, when the server says, else the first after {backoff}"
            )
        }
        retries if client.backoff == Time::ZERO => format!("{retries} tries inside the barrier"),
        retries => format!("{retries} tries inside the barrier, the first after {}", client.backoff),
    };
    format!("knows no plan: makes the calls of {} {calls}, {retries}", plan.name())
}
