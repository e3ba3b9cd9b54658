//! A limiter in the most obvious way: lists, sums, and a bucket that is worked out anew from all that was taken.

use fantail_core::job::{Class, Refusal};
use fantail_core::{LimiterSpec, Rate, Ticket, Time};

#[derive(Debug)]
pub(crate) struct Naive {
    spec: LimiterSpec,
    waiters: Vec<Waiter>,
    permits: Vec<(Ticket, u32)>,
    /// What was granted and not handed back unused, in the order of the grants.
    taken: Vec<(Time, Ticket, u32)>,
    paused_until: Time,
    /// What backfill is owed: its share of the weight granted to others while it waited, less the rest of what it got, in
    /// parts per million.
    owed: i64,
}

#[derive(Debug)]
struct Waiter {
    ticket: Ticket,
    class: Class,
    weight: u32,
    until: Option<Time>,
}

impl Naive {
    pub(crate) fn new(spec: LimiterSpec) -> Naive {
        let (waiters, permits, taken) = (Vec::new(), Vec::new(), Vec::new());
        Naive { spec, waiters, permits, taken, paused_until: Time::ZERO, owed: 0 }
    }

    pub(crate) fn refuses(&self, now: Time, weight: u32, until: Option<Time>) -> Option<Refusal> {
        let burst = self.spec.rate.map_or(u32::MAX, |rate| rate.burst);
        if weight == 0 || weight > burst || self.spec.gate.is_some_and(|gate| weight > gate) {
            Some(Refusal::Limiter)
        } else {
            self.waits_in_vain(now, until).then_some(Refusal::Pushback)
        }
    }

    pub(crate) fn ask(&mut self, ticket: Ticket, class: Class, weight: u32, until: Option<Time>) {
        self.waiters.push(Waiter { ticket, class, weight, until });
    }

    pub(crate) fn next(&self) -> Option<Ticket> {
        self.head().map(|waiter| waiter.ticket)
    }

    pub(crate) fn poll(&self, now: Time) -> Option<Ticket> {
        let head = self.head()?;
        let weight = u64::from(head.weight);
        let room = self.spec.gate.is_none_or(|gate| self.held() + weight <= u64::from(gate));
        let tokens = self.spec.rate.is_none_or(|rate| self.level(rate, now) >= worth(rate, head.weight));
        (room && tokens && now >= self.paused_until).then_some(head.ticket)
    }

    pub(crate) fn grant(&mut self, now: Time, ticket: Ticket) {
        let at = self.waiters.iter().position(|waiter| waiter.ticket == ticket).expect("it waits");
        let waiter = self.waiters.remove(at);
        let (share, weight) = (i64::from(self.spec.backfill_share), i64::from(waiter.weight));
        if waiter.class == Class::Backfill {
            self.owed = (self.owed - (1_000_000 - share) * weight).max(0);
        } else if self.waiters.iter().any(|waiter| waiter.class == Class::Backfill) {
            self.owed += share * weight;
        }
        self.permits.push((ticket, waiter.weight));
        self.taken.push((now, ticket, waiter.weight));
    }

    pub(crate) fn withdraw(&mut self, ticket: Ticket) {
        self.waiters.retain(|waiter| waiter.ticket != ticket);
    }

    pub(crate) fn release(&mut self, ticket: Ticket) {
        let held = self.permits.iter().position(|(permit, _)| *permit == ticket);
        held.map(|at| self.permits.remove(at));
    }

    pub(crate) fn give_back(&mut self, ticket: Ticket) {
        if self.permits.iter().any(|(permit, _)| *permit == ticket) {
            self.release(ticket);
            let taken = self.taken.iter().position(|(_, taken, _)| *taken == ticket);
            self.taken.remove(taken.expect("it was taken"));
        }
    }

    /// Who leaves, by ticket.
    pub(crate) fn push_back(&mut self, now: Time, pause: Time) -> Vec<Ticket> {
        self.paused_until = self.paused_until.max(now.saturating_add(pause));
        let leaves = |waiter: &&Waiter| {
            matches!(waiter.class, Class::RequiredCopy | Class::OptionalCopy)
                || self.waits_in_vain(now, waiter.until)
        };
        let left: Vec<Ticket> = self.waiters.iter().filter(leaves).map(|waiter| waiter.ticket).collect();
        self.waiters.retain(|waiter| !left.contains(&waiter.ticket));
        left
    }

    pub(crate) fn held(&self) -> u64 {
        self.permits.iter().map(|(_, weight)| u64::from(*weight)).sum()
    }

    /// Who waits or holds a permit.
    pub(crate) fn live(&self) -> Vec<Ticket> {
        let waiting = self.waiters.iter().map(|waiter| waiter.ticket);
        waiting.chain(self.permits.iter().map(|(permit, _)| *permit)).collect()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiters.len()
    }

    /// That in no window of length w more than burst + permits w / per was taken and used; of a strict rate, no more than
    /// the permits in any window of `per`.
    pub(crate) fn check_rate(&self) {
        let Some(rate) = self.spec.rate else { return };
        for (i, (from, _, _)) in self.taken.iter().enumerate() {
            let mut sum = 0;
            for (to, _, weight) in &self.taken[i..] {
                sum += worth(rate, *weight);
                let passed = u128::from(to.as_nanos() - from.as_nanos());
                let strict = self.spec.strict && *to <= from.saturating_add(rate.per);
                let held = !strict || sum <= worth(rate, rate.permits);
                assert!(held, "not strict between {from} and {to}: {:?}", self.taken);
                let bound = worth(rate, rate.burst) + passed * u128::from(rate.permits);
                assert!(sum <= bound, "too much between {from} and {to}: {:?}", self.taken);
            }
        }
    }

    fn head(&self) -> Option<&Waiter> {
        let rest = 1_000_000 - i64::from(self.spec.backfill_share);
        let backfill = self.waiters.iter().find(|waiter| waiter.class == Class::Backfill);
        let due = backfill.filter(|waiter| self.owed >= rest * i64::from(waiter.weight));
        due.or_else(|| self.waiters.iter().min_by_key(|waiter| (waiter.class, waiter.ticket)))
    }

    fn waits_in_vain(&self, now: Time, until: Option<Time>) -> bool {
        let pause = self.paused_until.saturating_sub(now);
        pause > self.spec.pushback_cap
            || pause > Time::ZERO && until.is_some_and(|until| until <= self.paused_until)
    }

    /// What is in the bucket, in the unit of [`worth`].
    fn level(&self, rate: Rate, now: Time) -> u128 {
        let full = worth(rate, rate.burst);
        let refill = if self.spec.strict { rate.permits - rate.burst } else { rate.permits };
        let gain = |from: Time, to: Time| u128::from(to.saturating_sub(from).as_nanos()) * u128::from(refill);
        let (mut level, mut as_of) = (full, Time::ZERO);
        for (at, _, weight) in &self.taken {
            level = full.min(level + gain(as_of, *at)) - worth(rate, *weight);
            as_of = *at;
        }
        full.min(level + gain(as_of, now))
    }
}

/// A permit is worth `per` units, and a nanosecond brings `permits` of them.
fn worth(rate: Rate, weight: u32) -> u128 {
    u128::from(weight) * u128::from(rate.per.as_nanos())
}
