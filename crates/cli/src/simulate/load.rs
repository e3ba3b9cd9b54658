//! Whether what is simulated can last: looked at before, since a queue that grows without end has no figures.

use fantail_model::sim::Bound;
use fantail_report::simulate::{Contender, load_in_words};

use crate::failure::Failure;
use crate::output;

/// Refuses what has no steady state, and warns of what has one only because work is cut or turned away.
pub(super) fn check(contenders: &[Contender]) -> anyhow::Result<()> {
    let mut endless = Vec::new();
    for contender in contenders {
        for load in contender.simulation.loads() {
            if load.offered < 1.0 {
                continue;
            }
            let message = format!("{}: {}", contender.shown, load_in_words(&load));
            if load.bound == Bound::Limit {
                output::say(&format_args!("warning: {message}: it turns calls away"));
            } else if !load.sure {
                output::say(&format_args!("warning: {message}: what is cut short decides"));
            } else {
                endless.push(format!("{message}: waits would grow without end"));
            }
        }
    }
    if endless.is_empty() {
        return Ok(());
    }
    let how = "expected fewer arrivals, or more of it";
    Err(Failure::invalid(format_args!("{}\n{how}", endless.join("\n"))))
}
