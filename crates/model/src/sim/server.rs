//! What serves branches: queues, failures, limits, slow periods.

use alloc::string::String;
use alloc::vec::Vec;

use fantail_core::{Rate, Time};

use super::SimError;
use crate::{Cancellation, Law};

/// What serves one or several branches of a plan.
///
/// The law of a branch is then that of its *service*: a call may wait before it, be refused, fail, or meet a slow period.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// The names of the branches that it serves. Empty: all that no other server names.
    pub branches: Vec<String>,
    /// Replicas, each with a queue of its own: 1 to 100,000.
    pub replicas: u32,
    /// How many calls a replica serves at once, first come, first served; at least 1. `None`: all that come, so that
    /// no call waits.
    pub slots: Option<u32>,
    /// Which replica a call goes to. A further attempt of a branch goes to one that none of its attempts went to, while
    /// there is one.
    pub choice: Choice,
    /// Calls that end in an error.
    pub failures: Failures,
    /// What calls it turns away. `None`: none.
    pub limit: Option<Limit>,
    /// When it is slow. `None`: never.
    pub slow: Option<Slow>,
    /// How much longer a call takes to its answer that comes before any call of its job has been worked on for as long: to
    /// read what all of them share, a prompt's prefix, which is cheap once it was read. Zero: they share nothing.
    pub prefill: Time,
    /// When a call that nobody waits for any more leaves the queue, or its slot.
    pub cancellation: Cancellation,
}

/// Which replica a call goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// One at random.
    #[default]
    Random,
    /// The one with the fewest calls, waiting and in service; of several, the first after one drawn at random.
    LeastLoaded,
    /// The next one.
    RoundRobin,
}

/// The share of calls that end in an error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failures {
    /// Errors after which another try may succeed: 0 to 1.
    pub retryable: f64,
    /// Errors after which none will: 0 to 1, and with the others at most 1.
    pub permanent: f64,
    /// The law of the service time of a call that fails. `None`: that of an answer.
    pub law: Option<Law>,
}

/// A bound on the calls that a server takes; it answers others with "too many requests".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// How many it takes.
    pub allows: Allows,
    /// How long it takes to turn a call away.
    pub answers_after: Time,
    /// When it says the caller may come back.
    pub retry_after: RetryAfter,
}

/// How many calls a server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allows {
    /// As many as a token bucket holds, full at first.
    Bucket(Rate),
    /// So many in each window, the first of which begins with the simulation.
    Window {
        /// Calls, at least 1.
        calls: u32,
        /// How long a window is, above zero.
        per: Time,
    },
}

/// When a server that turns a call away says the caller may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// It does not say.
    Unsaid,
    /// When it could take a call if no others came: the time until the next token, or the next window.
    Exact,
    /// After this time, whatever its state.
    Fixed(Time),
}

/// Periods in which a server is slow.
///
/// With more than one slow replica the periods are spread evenly: of three, the second is slow a third of `every` later
/// than the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slow {
    /// How many times longer service takes, from 1; infinite: it stands still.
    pub factor: f64,
    /// How long a period is, above zero.
    pub lasts: Time,
    /// From the beginning of one period to that of the next, at least `lasts`, and more with an infinite factor. `None`: there is one period only.
    pub every: Option<Time>,
    /// When the first one begins.
    pub from: Time,
    /// How many of the replicas are slow: the first ones. `None`: all.
    pub replicas: Option<u32>,
}

impl Server {
    /// One that never queues, fails or turns away: the law of a branch and nothing else.
    pub fn new(name: impl Into<String>) -> Server {
        Server {
            name: name.into(),
            branches: Vec::new(),
            replicas: 1,
            slots: None,
            choice: Choice::Random,
            failures: Failures::default(),
            limit: None,
            slow: None,
            prefill: Time::ZERO,
            cancellation: Cancellation::AtOnce,
        }
    }

    /// How fast it is in the long run, where calls are spread over its replicas as they are chosen.
    pub(super) fn speed(&self) -> f64 {
        self.slow.as_ref().map_or(1.0, |slow| slow.speed(self.replicas, self.choice))
    }

    /// Whether calls end in an error, be it that they are turned away.
    pub(super) fn fails(&self) -> bool {
        self.failures.retryable + self.failures.permanent > 0.0 || self.limit.is_some()
    }

    /// Whether what one call does can matter to another, or when it comes.
    pub(super) fn couples(&self) -> bool {
        self.slots.is_some() || self.limit.is_some() || self.slow.is_some()
    }

    /// Everything about it that is out of range, as field, value and bound.
    pub(super) fn check(&self) -> Result<(), SimError> {
        let fault = |field: &'static str, value: f64, bound: &'static str| {
            Err(SimError::Server { server: self.name.clone(), field, value, bound })
        };
        if !(1..=100_000).contains(&self.replicas) {
            return fault("replicas", f64::from(self.replicas), "1 to 100000");
        }
        if self.slots == Some(0) {
            return fault("slots", 0.0, "at least 1");
        }
        let Failures { retryable, permanent, .. } = self.failures;
        for (field, share) in [("retryable failures", retryable), ("permanent failures", permanent)] {
            if !(0.0..=1.0).contains(&share) {
                return fault(field, share, "0 to 1");
            }
        }
        if retryable + permanent > 1.0 {
            return fault("failures", retryable + permanent, "at most 1");
        }
        if self.prefill > Time::LONGEST {
            return fault("prefill", self.prefill.as_secs_f64(), "at most 365 days");
        }
        if let Cancellation::After(lag) = self.cancellation
            && (lag.is_nan() || lag < 0.0)
        {
            return fault("cancellation", lag, "0 or more seconds");
        }
        if let Some(Limit { allows, .. }) = &self.limit {
            let (calls, per) = match allows {
                Allows::Bucket(rate) => (rate.permits.min(rate.burst), rate.per),
                Allows::Window { calls, per } => (*calls, *per),
            };
            if calls == 0 {
                return fault("calls of the limit", 0.0, "at least 1");
            }
            if per == Time::ZERO || per > Time::LONGEST {
                return fault("time of the limit", per.as_secs_f64(), "above 0 s and at most 365 days");
            }
        }
        match &self.slow {
            Some(slow) => slow.check(fault),
            None => Ok(()),
        }
    }
}

impl Slow {
    fn check(
        &self,
        fault: impl Fn(&'static str, f64, &'static str) -> Result<(), SimError>,
    ) -> Result<(), SimError> {
        if self.factor.is_nan() || self.factor < 1.0 {
            return fault("factor of slow periods", self.factor, "at least 1");
        }
        if self.lasts == Time::ZERO || self.lasts > Time::LONGEST {
            return fault(
                "length of slow periods",
                self.lasts.as_secs_f64(),
                "above 0 s and at most 365 days",
            );
        }
        if let Some(every) = self.every.filter(|every| *every < self.lasts || *every > Time::LONGEST) {
            return fault(
                "distance of slow periods",
                every.as_secs_f64(),
                "at least their length and at most 365 days",
            );
        }
        if let Some(every) = self.every.filter(|every| self.factor.is_infinite() && *every == self.lasts) {
            return fault(
                "distance of slow periods",
                every.as_secs_f64(),
                "more than their length, or else a factor: it would always stand still",
            );
        }
        if self.from > Time::LONGEST {
            return fault("beginning of slow periods", self.from.as_secs_f64(), "at most 365 days");
        }
        if self.replicas == Some(0) {
            return fault("slow replicas", 0.0, "at least 1");
        }
        Ok(())
    }

    /// When `work` that begins at `start` on this replica is done; [`Time::MAX`] when never.
    ///
    /// Served is what is served from one instant to another at full speed, so that times are those at which the amount
    /// served so far is what it was at `start` and the work more.
    pub(super) fn done(&self, start: Time, work: Time, replica: u32, replicas: u32) -> Time {
        let slow = self.replicas.unwrap_or(replicas).min(replicas);
        if replica >= slow || work == Time::MAX {
            return start.saturating_add(work);
        }
        let every = self.every.map_or(f64::INFINITY, nanos);
        let stagger = self.every.map_or(0.0, |every| nanos(every) * f64::from(replica) / f64::from(slow));
        let periods = Periods { every, lasts: nanos(self.lasts), speed: 1.0 / self.factor };
        let begin = nanos(start) - nanos(self.from) - stagger;
        let lasts = periods.reaches(periods.served(begin) + nanos(work)) - begin;
        // The cast stops at the largest number, which reads as never.
        start.saturating_add(Time::from_nanos((lasts + 0.5) as u64))
    }
}

impl Slow {
    /// How fast service is in the long run, on average over all replicas where each gets as much as it can do, else on the
    /// slowest of them: 1 where it is never slow.
    fn speed(&self, replicas: u32, choice: Choice) -> f64 {
        let Some(every) = self.every else { return 1.0 };
        let slow = match choice {
            Choice::LeastLoaded => f64::from(self.replicas.unwrap_or(replicas)) / f64::from(replicas),
            Choice::Random | Choice::RoundRobin => 1.0,
        };
        let lost = nanos(self.lasts) / nanos(every) * (1.0 - 1.0 / self.factor);
        1.0 - slow.min(1.0) * lost
    }
}

/// Slow periods of one replica, in nanoseconds since the first of them began.
struct Periods {
    every: f64,
    lasts: f64,
    /// Of service within them; without, it is 1.
    speed: f64,
}

impl Periods {
    /// How much is served by `at`, negative before the first period.
    fn served(&self, at: f64) -> f64 {
        if at < 0.0 {
            return at;
        }
        let rounds = if self.every.is_finite() { libm::floor(at / self.every) } else { 0.0 };
        let rest = if rounds > 0.0 { at - rounds * self.every } else { at };
        let whole = if rounds > 0.0 { rounds * self.round() } else { 0.0 };
        whole + rest.min(self.lasts) * self.speed + (rest - self.lasts).max(0.0)
    }

    /// When so much is served; infinite when it never is.
    fn reaches(&self, served: f64) -> f64 {
        if served <= 0.0 {
            return served;
        }
        let round = self.round();
        if round == 0.0 {
            return f64::INFINITY;
        }
        let rounds = libm::floor(served / round);
        let whole = if rounds > 0.0 { rounds * self.every } else { 0.0 };
        let rest = if rounds > 0.0 { served - rounds * round } else { served };
        let within = self.lasts * self.speed;
        whole
            + if rest <= 0.0 {
                0.0
            } else if rest < within {
                rest / self.speed
            } else {
                self.lasts + (rest - within)
            }
    }

    /// What one period and the time to the next serve; infinite when there is one only.
    fn round(&self) -> f64 {
        self.lasts * self.speed + (self.every - self.lasts)
    }
}

fn nanos(time: Time) -> f64 {
    time.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Time {
        Time::from_secs_f64(seconds).expect("a test states a time")
    }

    #[test]
    fn work_takes_longer_by_what_it_meets_of_slow_periods() {
        let slow = |factor: f64, every: Option<f64>| Slow {
            factor,
            lasts: seconds(2.0),
            every: every.map(seconds),
            from: seconds(10.0),
            replicas: Some(2),
        };
        let check = |slow: &Slow, replica, start, work, done| {
            let at = slow.done(seconds(start), seconds(work), replica, 4);
            assert_eq!(at, seconds(done), "{slow:?}: {work} s from {start} s on replica {replica}");
        };
        let pause = slow(f64::INFINITY, Some(10.0));
        check(&pause, 0, 0.0, 3.0, 3.0);
        check(&pause, 0, 8.0, 2.0, 10.0);
        check(&pause, 0, 8.0, 3.0, 13.0);
        check(&pause, 0, 11.0, 1.0, 13.0);
        check(&pause, 0, 12.0, 8.0, 20.0);
        check(&pause, 0, 12.0, 9.0, 23.0);
        check(&pause, 0, 12.0, 80.5, 112.5);
        // Half a distance later on the second of two slow replicas, never on the others.
        check(&pause, 1, 14.0, 3.0, 19.0);
        check(&pause, 2, 8.0, 30.0, 38.0);
        let sick = slow(4.0, None);
        check(&sick, 0, 9.0, 1.25, 11.0);
        check(&sick, 0, 9.0, 3.0, 13.5);
        check(&sick, 1, 10.5, 0.25, 11.5);
        check(&sick, 0, 100.0, 3.0, 103.0);
        let always = slow(f64::INFINITY, Some(2.0));
        check(&always, 0, 8.0, 2.0, 10.0);
        assert_eq!(always.done(seconds(8.0), seconds(2.5), 0, 4), Time::MAX);
        assert_eq!(sick.done(seconds(1.0), Time::MAX, 0, 4), Time::MAX);
    }
}
