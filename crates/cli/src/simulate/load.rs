//! Whether what is simulated can last: looked at before, since a queue that grows without end has no figures.

use fantail_model::sim::{Bound, Load, Simulation};

use super::inputs::Contender;
use crate::failure::Failure;
use crate::{number, output};

/// Refuses what has no steady state, and warns of what has one only because work is cut or turned away.
pub(super) fn check(contenders: &[Contender]) -> anyhow::Result<()> {
    let mut endless = Vec::new();
    for contender in contenders {
        for load in contender.simulation.loads() {
            if load.offered < 1.0 {
                continue;
            }
            let message = format!("{}: {}", contender.name, words(&load));
            if load.bound == Bound::Limit {
                output::say(&format_args!("warning: {message}: it turns calls away"));
            } else if contender.is_bounded() {
                output::say(&format_args!("warning: {message}: deadlines decide"));
            } else {
                endless.push(format!("{message}: waits would grow without end"));
            }
        }
    }
    if endless.is_empty() {
        return Ok(());
    }
    let how = "expected fewer arrivals, more of it, or a deadline for every branch";
    Err(Failure::invalid(format_args!("{}\n{how}", endless.join("\n"))))
}

/// Why a simulation would have no figures, if so.
pub(crate) fn endless(simulation: &Simulation) -> Option<String> {
    let load =
        simulation.loads().into_iter().find(|load| load.offered >= 1.0 && load.bound != Bound::Limit)?;
    let bounded = simulation.plan().branches().iter().all(|branch| branch.deadline.is_some());
    (!bounded).then(|| format!("{}: waits would grow without end", words(&load)))
}

fn words(load: &Load) -> String {
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
