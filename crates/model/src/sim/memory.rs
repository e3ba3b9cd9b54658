//! How long a system remembers how it began: what is played before jobs count.

use fantail_core::Time;

use super::luck::nearest;
use super::{Allows, Scenario, Server, Simulation};

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
    /// buckets and clients that start all at once being forgotten. Copies and retries are not looked at.
    ///
    /// A queue at a load of ρ forgets by a factor of e in the time of `ρ / (1 - √ρ)²` jobs (the relaxation time of M/M/1: Cohen,
    /// The Single Server Queue, 1982, II.2), and longer as service varies more than that; calls in service are forgotten when
    /// they have ended. What is asked for more than it can give drains its bucket, or fills until deadlines cut as much.
    pub fn remembers(&self) -> u64 {
        const FOLDS: f64 = 4.0;
        const SERVICES: f64 = 6.0;
        let Some(rate) = self.scenario.arrivals.rate() else {
            let clients = self.scenario.arrivals.clients().map_or(0, |(clients, _)| u64::from(clients));
            return if clients > 1 { 2 * clients } else { 0 };
        };
        let loads = || self.loads().into_iter().map(|load| load.offered);
        let busiest = loads().filter(|load| *load < 1.0).fold(0.0, f64::max);
        let relaxes = busiest / (1.0 - libm::sqrt(busiest)) / (1.0 - libm::sqrt(busiest)) * self.unevenness();
        // How much more than it can give is asked of what is asked for least more.
        let over = loads().map(|load| load - 1.0).filter(|over| *over > 0.0).fold(f64::INFINITY, f64::min);
        let cut = self.plan.branches().iter().filter_map(|branch| branch.deadline).max();
        let fills = cut.map_or(0.0, |deadline| 2.0 * deadline.as_secs_f64() / over);
        let in_service = (0..self.serves.len()).map(|branch| self.mean_time(branch)).fold(0.0, f64::max);
        let limiters = self.plan.limiters().iter();
        let buckets = limiters.filter_map(|limiter| Some((limiter.rate?, limiter.sustained()?)));
        let buckets = buckets.map(|(rate, sustained)| filled(rate.burst, sustained, rate.per) / over);
        let servers = self.servers().map(|server| {
            let limit = server.limit.map_or(0.0, |limit| match limit.allows {
                Allows::Bucket(rate) => filled(rate.burst, rate.permits, rate.per) / over,
                Allows::Window { per, .. } => per.as_secs_f64(),
            });
            let slow = server.slow.as_ref().filter(|slow| server.slots.is_some() && slow.every.is_some());
            limit.max(slow.map_or(0.0, |slow| 2.0 * slow.lasts.as_secs_f64()))
        });
        let longest = buckets.chain(servers).fold(fills.max(SERVICES * in_service), f64::max);
        // The cast stops at the largest number.
        (FOLDS * relaxes).max(longest * rate) as u64
    }

    /// How many jobs arrive in the longest round of a clock that servers go by: fewer do not meet all its phases. `None` without
    /// such a clock, or where nobody knows how many arrive.
    pub fn round(&self) -> Option<u64> {
        let (_, round) = self.clock()?;
        Some((self.scenario.arrivals.rate()? * round.as_secs_f64()) as u64)
    }

    /// Whether servers are as fast at any time, so that calls that are there at another tell of all times.
    pub(super) fn is_even(&self) -> bool {
        !self.servers().any(|server| server.slow.as_ref().is_some_and(|slow| slow.every.is_some()))
    }

    /// How much longer a queue remembers than one of exponential service: half of one and the squared coefficient of variation, of
    /// the branch that varies most.
    fn unevenness(&self) -> f64 {
        const MOST: f64 = 50.0;
        let squared = |branch: usize| {
            let moments = self.luck.law(branch).moments().ok()?;
            Some(moments.variance / (moments.mean * moments.mean))
        };
        let most = (0..self.serves.len()).map(|branch| squared(branch).unwrap_or(f64::INFINITY));
        f64::midpoint(1.0, most.fold(1.0, f64::max)).min(MOST)
    }

    /// When the first job of a block arrives, given its number.
    ///
    /// Where servers go by the clock it has to matter when that is: blocks come one after the other, as in one long run; where
    /// nobody knows how long they take, at any time of a round.
    pub(super) fn begins_at(&self, first: u64) -> Time {
        let Some((from, round)) = self.clock() else { return Time::ZERO };
        match self.scenario.arrivals.rate() {
            Some(rate) => nearest(first as f64 / rate),
            None => from.saturating_add(nearest(self.luck.phase(first) * round.as_secs_f64())),
        }
    }

    /// From when on servers go by a clock, and how long its longest round is.
    fn clock(&self) -> Option<(Time, Time)> {
        let clocks = self.servers().flat_map(|server| {
            let window = server.limit.and_then(|limit| match limit.allows {
                Allows::Window { per, .. } => Some((Time::ZERO, per)),
                Allows::Bucket(_) => None,
            });
            let slow = server.slow.as_ref().and_then(|slow| Some((slow.from, slow.every?)));
            window.into_iter().chain(slow)
        });
        clocks.reduce(|one, other| (one.0.max(other.0), one.1.max(other.1)))
    }

    /// The servers that are called.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Server> {
        let Scenario { servers, .. } = &*self.scenario;
        let called = |index: usize| self.serves.contains(&Some(index as u32));
        servers.iter().enumerate().filter(move |(index, _)| called(*index)).map(|(_, server)| server)
    }
}

/// How many seconds it takes to fill a bucket twice: once is what it takes on average.
fn filled(burst: u32, permits: u32, per: Time) -> f64 {
    2.0 * f64::from(burst) / f64::from(permits) * per.as_secs_f64()
}
