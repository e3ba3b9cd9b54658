//! The world that jobs meet: when they start, what they have in common, and who serves them.

use alloc::sync::Arc;
use alloc::vec::Vec;

use fantail_core::Time;

use super::{Server, SimError};
use crate::{Dependence, Law};

/// The world that the jobs meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// When jobs start.
    pub arrivals: Arrivals,
    /// What the hedge budget allows.
    pub credit: Credit,
    /// How much of their latencies the attempts of a job, and the copies of a branch, have in common.
    pub dependence: Dependence,
    /// The law of a job's size: a factor, without a unit, on the latencies of all its attempts. `None`: 1.
    pub size: Option<Law>,
    /// Who serves the branches. A branch that has no server here takes the time of its law, whatever the load.
    pub servers: Vec<Server>,
    /// Jobs that are played and not counted before those of a range, so that these meet the load of a running system;
    /// at most as many follow them, until all that count have returned. Only where jobs
    /// [interact](super::Simulation::jobs_interact). `None`: as many as [it takes](super::Simulation::warm_up).
    pub warm_up: Option<u64>,
}

impl Default for Scenario {
    /// Jobs one at a time, independent attempts, no servers: each attempt takes the time of its branch's law.
    fn default() -> Scenario {
        Scenario {
            arrivals: Arrivals::OneAtATime,
            credit: Credit::Earned,
            dependence: Dependence::NONE,
            size: None,
            servers: Vec::new(),
            warm_up: Some(0),
        }
    }
}

impl Scenario {
    /// The index of the server of a branch: one that names it, else one that serves all others.
    pub fn server_of(&self, branch: &str) -> Option<u32> {
        let names = |server: &Server| server.branches.iter().any(|name| name == branch);
        let named = self.servers.iter().position(names);
        named.or_else(|| self.servers.iter().position(|server| server.branches.is_empty())).map(|i| i as u32)
    }
}

/// When jobs start.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Arrivals {
    /// Each when the one before has returned.
    #[default]
    OneAtATime,
    /// At equal distances, above zero.
    Every(Time),
    /// At random, independently of each other, so many in a second on average: 1e-6 to 1e9.
    Poisson(f64),
    /// From so many clients, 1 to 1,000,000. Each starts a job, and when that has returned thinks before the next one,
    /// for an exponential time with this mean.
    Clients {
        /// How many there are.
        clients: u32,
        /// The mean time from the return of a client's job to its next one.
        think: Time,
    },
    /// At these instants, which do not decrease and of which the last is above zero; after the last again from the first, at
    /// their mean distance, or at that from zero where they are all the same.
    Trace(Arc<[Time]>),
}

impl Arrivals {
    /// The mean number of jobs a second; `None` when it follows from how long they take.
    pub fn rate(&self) -> Option<f64> {
        match self {
            Arrivals::OneAtATime | Arrivals::Clients { .. } => None,
            Arrivals::Every(gap) => Some(1.0 / gap.as_secs_f64()),
            Arrivals::Poisson(rate) => Some(*rate),
            Arrivals::Trace(times) => {
                let span = times.last()?.saturating_sub(*times.first()?);
                Some(times.len() as f64 / span.saturating_add(mean_gap(times)).as_secs_f64())
            }
        }
    }

    /// How many jobs there can be at once; `None`: any number.
    pub(super) fn clients(&self) -> Option<(u32, Time)> {
        match self {
            Arrivals::OneAtATime => Some((1, Time::ZERO)),
            Arrivals::Clients { clients, think } => Some((*clients, *think)),
            _ => None,
        }
    }

    pub(super) fn check(&self) -> Result<(), SimError> {
        let value = match self {
            Arrivals::Every(gap) if *gap == Time::ZERO || *gap > Time::LONGEST => gap.as_secs_f64(),
            Arrivals::Poisson(rate) if !(1e-6..=1e9).contains(rate) => *rate,
            Arrivals::Clients { clients, .. } if !(1..=1_000_000).contains(clients) => f64::from(*clients),
            Arrivals::Clients { think, .. } if *think > Time::LONGEST => think.as_secs_f64(),
            Arrivals::Trace(times) => {
                let end = times.last().copied().unwrap_or_default();
                if let Some(pair) = times.windows(2).find(|pair| pair[0] > pair[1]) {
                    pair[1].as_secs_f64()
                } else if end == Time::ZERO || end > Time::LONGEST {
                    end.as_secs_f64()
                } else {
                    return Ok(());
                }
            }
            _ => return Ok(()),
        };
        Err(SimError::Arrivals { value })
    }
}

/// The mean distance of a trace's instants, which is that from its last to the first of the next round.
pub(super) fn mean_gap(times: &[Time]) -> Time {
    let (first, last) = (times[0], times[times.len() - 1]);
    match last.saturating_sub(first) {
        Time::ZERO => last,
        span => Time::from_nanos((span.as_nanos() / (times.len() as u64 - 1)).max(1)),
    }
}

/// What the hedge budget allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Credit {
    /// What answered primaries have earned, from nothing on, as in a service that was just started.
    #[default]
    Earned,
    /// Every copy: what hedging would do if the budget never bound.
    Unlimited,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_goes_on_at_its_mean_distance() {
        let check = |seconds: &[f64], rate: f64| {
            let time = |at: &f64| Time::from_secs_f64(*at).expect("a test states a time");
            let found = Arrivals::Trace(seconds.iter().map(time).collect()).rate().expect("it has one");
            assert!((found / rate - 1.0).abs() < 1e-9, "{seconds:?}: {found} for {rate}");
        };
        check(&[0.0, 1.0, 2.0, 3.0, 4.0], 1.0);
        check(&[0.0, 1.2], 1.0 / 1.2);
        // Where it begins is no pause of every round.
        check(&[10.0, 11.0], 1.0);
        check(&[5.0], 0.2);
        check(&[3.0, 3.0], 2.0 / 3.0);
    }
}
