//! Whether what is simulated can last.

use fantail_model::sim::{Bound, Load, Simulation};

use crate::number;

/// Why a simulation would have no figures, if so.
pub fn endless(simulation: &Simulation) -> Option<String> {
    let load =
        simulation.loads().into_iter().find(|load| load.offered >= 1.0 && load.bound != Bound::Limit)?;
    let bounded = simulation.plan().branches().iter().all(|branch| branch.deadline.is_some());
    (!bounded).then(|| format!("waits would grow without end: {}", load_in_words(&load)))
}

/// What the first attempts ask of it.
pub fn load_in_words(load: &Load) -> String {
    let what = match load.bound {
        Bound::Slots => "the slots of server",
        Bound::Limit => "the limit of server",
        Bound::Gate => "the gate of limiter",
        Bound::Rate => "the rate of limiter",
    };
    if load.offered.is_infinite() {
        return format!("first attempts take infinitely long on average, at {what} `{}`", load.name);
    }
    format!("first attempts ask {} of {what} `{}`", number::percent(load.offered), load.name)
}
