//! What bounds how many attempts there are: budgets, gates, rates.

use alloc::string::String;

#[cfg(doc)]
use super::PPM;
use crate::Time;

/// A cap on copies: in any run of n answered primaries at most `floor(share * n) + burst` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetSpec {
    /// What each answered primary earns, in parts per million of a copy, at most [`PPM`].
    pub share: u32,
    /// The most credit that may be saved, in copies, at least 1.
    pub burst: u32,
    /// The most copies in flight at once, at least 1. Default: no bound.
    pub in_flight: Option<u32>,
}

impl BudgetSpec {
    /// The default for copies after a delay: 5 % of answered primaries, at most 20 saved.
    pub const HEDGES: BudgetSpec = BudgetSpec { share: 50_000, burst: 20, in_flight: None };
    /// The default for failovers: 10 % of answered primaries, at most 20 saved.
    pub const FAILOVERS: BudgetSpec = BudgetSpec { share: 100_000, burst: 20, in_flight: None };
}

/// A shared resource: how many attempts may run at once, and how many may start in a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimiterSpec {
    /// The limiter's name: every branch of every plan that names it shares it. Not empty, unique in a plan.
    pub name: String,
    /// The weight that may run at once, at least 1. Default: no bound.
    pub gate: Option<u32>,
    /// The weight that may start in a time. Default: no bound.
    pub rate: Option<Rate>,
    /// Whether in every window as long as the rate's time no more than its permits may start: then `permits - burst` come
    /// back in it, and not `permits`. It takes a rate with a burst below its permits. Default: no.
    pub strict: bool,
    /// The least share of backfill among what is granted while backfill waits, in parts per million of the weight, at most
    /// [`PPM`]. Default: 0, then it waits for all others.
    pub backfill_share: u32,
    /// The longest pause that a server may ask for; beyond it, waiters are refused. Default: 60 s.
    pub pushback_cap: Time,
}

impl LimiterSpec {
    /// The default of [`LimiterSpec::pushback_cap`].
    pub const PUSHBACK_CAP: Time = Time::from_secs(60);

    /// A limiter that permits everything until a gate or rate is set.
    pub fn new(name: impl Into<String>) -> LimiterSpec {
        LimiterSpec {
            name: name.into(),
            gate: None,
            rate: None,
            strict: false,
            backfill_share: 0,
            pushback_cap: LimiterSpec::PUSHBACK_CAP,
        }
    }

    /// The weight that may start in every [`Rate::per`] in the long run: the permits of its rate; of a strict one what is left of
    /// them beside a burst, so that a burst and what comes after it within `per` are `permits` together. `None` without a rate.
    pub fn sustained(&self) -> Option<u32> {
        let rate = self.rate?;
        // A plan refuses what would never fill.
        Some(if self.strict { rate.permits.saturating_sub(rate.burst).max(1) } else { rate.permits })
    }

    /// The largest weight that it can ever permit at once.
    pub fn capacity(&self) -> u32 {
        let gate = self.gate.unwrap_or(u32::MAX);
        self.rate.map_or(gate, |rate| gate.min(rate.burst))
    }
}

/// A token bucket: `permits` in every `per`, of which `burst` may be saved.
///
/// In a window of length w at most `burst + permits * w / per` start: right after an idle time that is `burst` more
/// than the rate, unless it is [strict](LimiterSpec::strict).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Weight that may start in every `per`, at least 1.
    pub permits: u32,
    /// The time that `permits` refer to, above zero.
    pub per: Time,
    /// Weight that may start at once after an idle time, at least 1.
    pub burst: u32,
}
