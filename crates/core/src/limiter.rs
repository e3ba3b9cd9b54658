//! A shared resource: who may start an attempt, and when.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::Time;
use crate::job::{Class, Refusal};
use crate::plan::{LimiterSpec, Rate};

/// A place in a limiter's queue, and then the permit that it became.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// The state of a limiter: gate, rate, pause and queues.
///
/// [`Limiter::ask`] queues; [`Limiter::poll`] says who is next and [`Limiter::grant`] gives the permit, so that whoever
/// holds other conditions (a budget) can check them in between and [`Limiter::withdraw`] instead. A better class goes
/// first, and within a class the one that came first. A head that is too heavy for now holds back all behind it, so that
/// it is never starved. Every permit ends with exactly one [`Limiter::release`] or [`Limiter::give_back`].
///
/// ```
/// use fantail_core::job::Class;
/// use fantail_core::{Limiter, LimiterSpec, Time};
///
/// let mut limiter = Limiter::new(LimiterSpec { gate: Some(1), ..LimiterSpec::new("llm") });
/// let now = Time::ZERO;
/// let a = limiter.ask(now, Class::First, 1, None)?;
/// let b = limiter.ask(now, Class::First, 1, None)?;
/// assert_eq!(limiter.poll(now), Some(a));
/// limiter.grant(now, a);
/// assert_eq!(limiter.poll(now), None);
/// limiter.release(a);
/// assert_eq!(limiter.poll(now), Some(b));
/// # Ok::<(), fantail_core::job::Refusal>(())
/// ```
#[derive(Clone, Debug)]
pub struct Limiter {
    spec: LimiterSpec,
    next_ticket: u64,
    /// Sorted by ticket within each class.
    queues: [VecDeque<Waiter>; Class::COUNT],
    /// Permits out, sorted by ticket.
    permits: Vec<Permit>,
    /// Weight of the permits out.
    held: u64,
    bucket: Option<Bucket>,
    paused_until: Time,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    ticket: Ticket,
    weight: u32,
    until: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Permit {
    ticket: Ticket,
    weight: u32,
    /// The least room that was in the bucket since the grant: what it took of the bucket can come back up to this much,
    /// since more would have spilled over had it not been taken.
    room: u128,
}

impl Limiter {
    /// A limiter with nothing held and a full bucket.
    pub fn new(spec: LimiterSpec) -> Limiter {
        Limiter {
            next_ticket: 0,
            queues: Default::default(),
            permits: Vec::new(),
            held: 0,
            bucket: spec.rate.map(Bucket::full),
            paused_until: Time::ZERO,
            spec,
        }
    }

    /// What it was made from.
    pub fn spec(&self) -> &LimiterSpec {
        &self.spec
    }

    /// Queues for a permit of `weight` that is of no use from `until` on.
    ///
    /// # Errors
    /// [`Refusal::Limiter`] for a weight of zero or above the capacity; [`Refusal::Pushback`] when a pause outlasts
    /// `until`, or outlasts the cap.
    pub fn ask(
        &mut self,
        now: Time,
        class: Class,
        weight: u32,
        until: Option<Time>,
    ) -> Result<Ticket, Refusal> {
        if weight == 0 || weight > self.spec.capacity() {
            return Err(Refusal::Limiter);
        }
        if self.outlasts(now, until) {
            return Err(Refusal::Pushback);
        }
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.queues[class as usize].push_back(Waiter { ticket, weight, until });
        Ok(ticket)
    }

    /// Who may start at `now`: the head of the best class, if there is room for it.
    pub fn poll(&mut self, now: Time) -> Option<Ticket> {
        let head = *self.head()?;
        let room = self.spec.gate.is_none_or(|gate| self.held + u64::from(head.weight) <= u64::from(gate));
        let rate = self.bucket.as_mut().is_none_or(|bucket| bucket.ready_at(now, head.weight) <= now);
        (room && rate && self.paused_until <= now).then_some(head.ticket)
    }

    /// Turns the ticket that [`Limiter::poll`] named into a permit. Any other ticket is left as it is.
    pub fn grant(&mut self, now: Time, ticket: Ticket) {
        if self.poll(now) != Some(ticket) {
            return;
        }
        let Some(waiter) = self.queues.iter_mut().find_map(VecDeque::pop_front) else { return };
        if let Some(bucket) = &mut self.bucket {
            bucket.fill(now);
            note_room(&mut self.permits, bucket);
            bucket.take(waiter.weight);
        }
        self.held += u64::from(waiter.weight);
        let at = self.permits.partition_point(|permit| permit.ticket < ticket);
        self.permits.insert(at, Permit { ticket, weight: waiter.weight, room: u128::MAX });
    }

    /// Leaves the queue. A ticket that is not queued is left as it is.
    pub fn withdraw(&mut self, ticket: Ticket) {
        for queue in &mut self.queues {
            if let Ok(at) = queue.binary_search_by_key(&ticket, |waiter| waiter.ticket) {
                queue.remove(at);
            }
        }
    }

    /// An attempt has ended: its permit is free again. A ticket that is no permit is left as it is.
    pub fn release(&mut self, ticket: Ticket) {
        self.remove(ticket);
    }

    /// A permit was never used: it is free again, and the rate is what it would be had the permit never been granted.
    pub fn give_back(&mut self, ticket: Ticket) {
        if let Some(bucket) = &self.bucket {
            note_room(&mut self.permits, bucket);
        }
        let Some(permit) = self.remove(ticket) else { return };
        let Some(bucket) = &mut self.bucket else { return };
        let back = bucket.worth(permit.weight).min(permit.room);
        bucket.level += back;
        // Had it not been granted, there would have been less room ever since, by as much. A younger permit has seen
        // nothing else; an older one has also seen what was before, which counts where it was less still. And an older
        // permit has seen no more room than a younger one, which tells them apart.
        for other in &mut self.permits {
            let older = other.room <= permit.room;
            other.room = if older { other.room.min(permit.room - back) } else { other.room - back };
        }
    }

    /// A server asked to slow down for `pause`: nothing is granted until then, for all who share the limiter.
    ///
    /// Returns the tickets that left the queue: copies, which would add load; those for whom a permit after the pause
    /// is of no use; and, when the pause is above the cap, everybody.
    pub fn push_back(&mut self, now: Time, pause: Time) -> Vec<Ticket> {
        self.paused_until = self.paused_until.max(now.saturating_add(pause));
        let mut refused = Vec::new();
        for class in [Class::First, Class::RequiredCopy, Class::OptionalCopy, Class::Backfill] {
            let copies = matches!(class, Class::RequiredCopy | Class::OptionalCopy);
            let mut queue = core::mem::take(&mut self.queues[class as usize]);
            queue.retain(|waiter| {
                let leaves = copies || self.outlasts(now, waiter.until);
                if leaves {
                    refused.push(waiter.ticket);
                }
                !leaves
            });
            self.queues[class as usize] = queue;
        }
        refused
    }

    /// When [`Limiter::poll`] may next name somebody without a release; `None` when only a release can help, or nobody
    /// waits.
    pub fn next_at(&mut self, now: Time) -> Option<Time> {
        let head = *self.head()?;
        if self.spec.gate.is_some_and(|gate| self.held + u64::from(head.weight) > u64::from(gate)) {
            return None;
        }
        let rate = self.bucket.as_mut().map_or(now, |bucket| bucket.ready_at(now, head.weight));
        Some(rate.max(self.paused_until).max(now))
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// The weight of the permits that are out.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Until when it is paused by a pushback, if it is.
    pub fn paused_until(&self, now: Time) -> Option<Time> {
        (self.paused_until > now).then_some(self.paused_until)
    }

    /// Who goes next, whether or not there is room yet.
    pub fn next(&self) -> Option<Ticket> {
        self.head().map(|waiter| waiter.ticket)
    }

    fn head(&self) -> Option<&Waiter> {
        self.queues.iter().find_map(VecDeque::front)
    }

    fn outlasts(&self, now: Time, until: Option<Time>) -> bool {
        let pause = self.paused_until.saturating_sub(now);
        pause > self.spec.pushback_cap
            || pause > Time::ZERO && until.is_some_and(|until| self.paused_until >= until)
    }

    fn remove(&mut self, ticket: Ticket) -> Option<Permit> {
        let at = self.permits.binary_search_by_key(&ticket, |permit| permit.ticket).ok()?;
        let permit = self.permits.remove(at);
        self.held -= u64::from(permit.weight);
        Some(permit)
    }
}

/// Notes the room that is in the bucket now, where it is less than before.
fn note_room(permits: &mut [Permit], bucket: &Bucket) {
    let room = bucket.room();
    for permit in permits {
        permit.room = permit.room.min(room);
    }
}

/// A token bucket in exact integers: a permit is worth `per` units (its nanoseconds), and every nanosecond adds
/// `permits` units.
#[derive(Clone, Debug)]
struct Bucket {
    rate: Rate,
    level: u128,
    as_of: Time,
}

impl Bucket {
    fn full(rate: Rate) -> Bucket {
        let mut bucket = Bucket { rate, level: 0, as_of: Time::ZERO };
        bucket.level = bucket.worth(rate.burst);
        bucket
    }

    fn worth(&self, weight: u32) -> u128 {
        u128::from(weight) * u128::from(self.rate.per.as_nanos())
    }

    fn fill(&mut self, now: Time) {
        let passed = now.saturating_sub(self.as_of);
        self.as_of = self.as_of.max(now);
        let gained = u128::from(passed.as_nanos()) * u128::from(self.rate.permits);
        self.level = (self.level + gained).min(self.worth(self.rate.burst));
    }

    /// The first instant, from `now` on, at which `weight` can be taken.
    fn ready_at(&mut self, now: Time, weight: u32) -> Time {
        self.fill(now);
        let short = self.worth(weight).saturating_sub(self.level);
        let wait = short.div_ceil(u128::from(self.rate.permits));
        self.as_of.saturating_add(Time::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX)))
    }

    fn take(&mut self, weight: u32) {
        self.level = self.level.saturating_sub(self.worth(weight));
    }

    /// How much could be added before it spills over.
    fn room(&self) -> u128 {
        self.worth(self.rate.burst) - self.level
    }
}
