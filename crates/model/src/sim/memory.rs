//! How long a system remembers how it began: what is played before jobs count.

use fantail_core::Time;

use super::luck::nearest;
use super::{Allows, Bound, Scenario, Server, Simulation};

/// As many jobs are played before a block at least, and at most, unless the scenario says how many.
const LEAST: u64 = 2_000;
const MOST: u64 = 200_000;

impl Simulation {
    /// How many jobs are played before each [block](Simulation::BLOCK) and don't count: as many as the scenario states, or else
    /// as many as the system [remembers](Simulation::remembers), 2,000 at least and 200,000 at most. Only where jobs
    /// [interact](Simulation::jobs_interact).
    pub fn warm_up(&self) -> u64 {
        self.scenario.warm_up.unwrap_or_else(|| self.remembers().clamp(LEAST, MOST))
    }

    /// About how many jobs it takes until no figure is a percent away from what it comes to in the end, empty queues, full
    /// buckets and clients that start all at once being forgotten.
    ///
    /// A queue at a load of ρ forgets by a factor of e in the time of `ρ / (1 - √ρ)²` jobs (the relaxation time of M/M/1: Cohen,
    /// The Single Server Queue, 1982, II.2). A bucket is forgotten when it could have been filled, a window when it is over,
    /// slow periods when one has come.
    pub fn remembers(&self) -> u64 {
        const FOLDS: f64 = 4.0;
        let Some(rate) = self.scenario.arrivals.rate() else {
            return self.scenario.arrivals.clients().map_or(0, |(clients, _)| 2 * u64::from(clients));
        };
        let waits = |bound: Bound| bound != Bound::Limit;
        let loads = self.loads().into_iter().filter(|load| waits(load.bound) && load.offered < 1.0);
        let busiest = loads.map(|load| load.offered).fold(0.0, f64::max);
        let relaxes = busiest / (1.0 - libm::sqrt(busiest)) / (1.0 - libm::sqrt(busiest));
        let limiters = self.plan.limiters().iter();
        let buckets = limiters.filter_map(|limiter| Some((limiter.rate?, limiter.sustained()?)));
        let buckets = buckets.map(|(rate, sustained)| fills(rate.burst, sustained, rate.per));
        let servers = self.servers().map(|server| {
            let limit = server.limit.map_or(0.0, |limit| match limit.allows {
                Allows::Bucket(rate) => fills(rate.burst, rate.permits, rate.per),
                Allows::Window { per, .. } => per.as_secs_f64(),
            });
            let slow = server.slow.as_ref().and_then(|slow| slow.every).map_or(0.0, Time::as_secs_f64);
            limit.max(slow)
        });
        let longest = buckets.chain(servers).fold(0.0, f64::max);
        // The cast stops at the largest number.
        (FOLDS * relaxes).max(longest * rate) as u64
    }

    /// When the first job of a block arrives, given its number.
    ///
    /// Where servers go by the clock it has to matter when that is: blocks come one after the other, as in one long run; where
    /// nobody knows how long they take, at any time of a round.
    pub(super) fn begins_at(&self, first: u64) -> Time {
        let clocks = self.servers().flat_map(|server| {
            let window = server.limit.and_then(|limit| match limit.allows {
                Allows::Window { per, .. } => Some((Time::ZERO, per)),
                Allows::Bucket(_) => None,
            });
            let slow = server.slow.as_ref().and_then(|slow| Some((slow.from, slow.every?)));
            window.into_iter().chain(slow)
        });
        let Some((from, round)) = clocks.reduce(|one, other| (one.0.max(other.0), one.1.max(other.1))) else {
            return Time::ZERO;
        };
        match self.scenario.arrivals.rate() {
            Some(rate) => nearest(first as f64 / rate),
            None => from.saturating_add(nearest(self.luck.phase(first) * round.as_secs_f64())),
        }
    }

    /// The servers that are called.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Server> {
        let Scenario { servers, .. } = &*self.scenario;
        let called = |index: usize| self.serves.contains(&Some(index as u32));
        servers.iter().enumerate().filter(move |(index, _)| called(*index)).map(|(_, server)| server)
    }
}

/// How many seconds it takes to fill a bucket.
fn fills(burst: u32, permits: u32, per: Time) -> f64 {
    f64::from(burst) / f64::from(permits) * per.as_secs_f64()
}
