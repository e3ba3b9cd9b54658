//! Whether what is simulated can last.

use fantail_model::sim::{Bound, Load, Simulation};

use crate::number;

/// Why a simulation would have no figures, if so.
pub fn endless(simulation: &Simulation) -> Option<String> {
    let waits = |load: &Load| load.sure && load.offered >= 1.0 && load.bound != Bound::Limit;
    let load = simulation.loads().into_iter().find(waits)?;
    Some(format!("waits would grow without end: {}", load_in_words(&load)))
}

/// That a run had no steady state, given the share of calls that are there for good.
pub fn piles_up(share: f64) -> String {
    format!("waits grow without end: {} of the calls that come are there for good", number::percent(share))
}

/// What calls ask of it.
pub fn load_in_words(load: &Load) -> String {
    let what = match load.bound {
        Bound::Slots => "the slots of server",
        Bound::Limit => "the limit of server",
        Bound::Gate => "the gate of limiter",
        Bound::Rate => "the rate of limiter",
    };
    if load.offered.is_infinite() {
        return format!("calls take infinitely long on average, at {what} `{}`", load.name);
    }
    format!("calls ask {} of {what} `{}`", number::percent(load.offered), load.name)
}
