//! A shared resource: who may start an attempt, and when.

mod bucket;
mod places;

use alloc::vec::Vec;

use crate::Time;
use crate::job::{Class, Refusal};
use crate::plan::{LimiterSpec, PPM};
use bucket::Bucket;
use places::{List, Place, Places, State};

/// A place in a limiter's queue, and then the permit that it became; or [several](Limiter::grant_now) permits that were
/// granted together. In the order of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    number: u64,
    /// Where the limiter keeps it.
    place: u32,
}

impl Ticket {
    /// Where the limiter keeps it: no other one that waits or is out has the same place, and places are taken again, so
    /// that they stay as few as there ever were tickets at once.
    pub fn place(self) -> usize {
        self.place as usize
    }
}

/// The state of a limiter: gate, rate, pause and queues.
///
/// [`Limiter::ask`] queues; [`Limiter::poll`] says who is next and [`Limiter::grant`] gives the permit, so that whoever
/// holds other conditions (a budget) can check them in between and [`Limiter::withdraw`] instead. A better class goes
/// first, and within a class the one that came first. A head that is too heavy for now holds back all behind it, so that
/// it is never starved. Every permit ends with exactly one [`Limiter::release`] or [`Limiter::give_back`]. Whoever comes
/// when nobody waits may have [`Limiter::grant_now`] instead.
///
/// Each of them takes constant time, but for two: `give_back` under a rate goes through the permits that were granted
/// since, and [`Limiter::push_back`] through those who leave, and through all who wait when it lengthens the pause.
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
    next_number: u64,
    places: Places,
    /// In the order of asking.
    queues: [List; Class::COUNT],
    waiting: usize,
    /// In the order of the grants.
    permits: List,
    /// Weight of the permits out.
    held: u64,
    bucket: Option<Bucket>,
    paused_until: Time,
    /// What backfill has waited for beyond its share, in parts per million of a weight: it goes first when that is what
    /// its head takes from others.
    owed: u64,
}

impl Limiter {
    /// A limiter with nothing held and a full bucket.
    pub fn new(spec: LimiterSpec) -> Limiter {
        Limiter {
            next_number: 0,
            places: Places::default(),
            queues: [List::EMPTY; Class::COUNT],
            waiting: 0,
            permits: List::EMPTY,
            held: 0,
            bucket: Bucket::full(&spec),
            paused_until: Time::ZERO,
            owed: 0,
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
        let number = self.next_number;
        self.next_number += 1;
        let place = self.places.take(Place::new(number, State::Waits { class, until }, weight));
        self.places.push(&mut self.queues[class as usize], place);
        self.waiting += 1;
        Ok(Ticket { number, place })
    }

    /// What [`Limiter::ask`] and [`Limiter::grant`] would come to for `n` that ask one after another, as far as each would
    /// be granted at once: so many permits of `weight` under one ticket, which is to be released or given back as often.
    /// `None` when there is none to be had, or somebody waits.
    pub fn grant_now(&mut self, now: Time, class: Class, weight: u32, n: u32) -> Option<(Ticket, u32)> {
        if self.waiting > 0 || self.paused_until > now || weight == 0 {
            return None;
        }
        let by_gate = self
            .spec
            .gate
            .map_or(n, |gate| (u64::from(gate).saturating_sub(self.held) / u64::from(weight)) as u32);
        let by_rate = self.bucket.as_mut().map_or(n, |bucket| bucket.ready(now, weight));
        let n = n.min(by_gate).min(by_rate);
        if n == 0 {
            return None;
        }
        let number = self.next_number;
        self.next_number += 1;
        let permits = State::Permits { left: n, room: u128::MAX };
        let place = self.places.take(Place::new(number, permits, weight));
        self.permit(place, class, weight, n);
        Some((Ticket { number, place }, n))
    }

    /// Who may start at `now`: the head of the best class, if there is room for it.
    pub fn poll(&mut self, now: Time) -> Option<Ticket> {
        let head = self.next()?;
        let weight = self.places.at(head.place).weight;
        let ready = |bucket: &mut Bucket| bucket.ready_at(now, weight).is_some_and(|at| at <= now);
        let rate = self.bucket.as_mut().is_none_or(ready);
        (self.has_room(weight) && rate && self.paused_until <= now).then_some(head)
    }

    /// Turns the ticket that [`Limiter::poll`] named into a permit. Any other ticket is left as it is.
    pub fn grant(&mut self, now: Time, ticket: Ticket) {
        if self.poll(now) != Some(ticket) {
            return;
        }
        let Some(class) = self.leave(ticket) else { return };
        let place = self.places.at_mut(ticket.place);
        place.state = State::Permits { left: 1, room: u128::MAX };
        let weight = place.weight;
        self.permit(ticket.place, class, weight, 1);
    }

    /// Counts a place of `n` permits, which is in no list, among the permits.
    fn permit(&mut self, place: u32, class: Class, weight: u32, n: u32) {
        let weight = u64::from(weight) * u64::from(n);
        self.share_with_backfill(class, weight);
        self.note_room();
        if let Some(bucket) = &mut self.bucket {
            bucket.take(weight);
        }
        self.held += weight;
        self.places.push(&mut self.permits, place);
    }

    /// Leaves the queue. A ticket that is not queued is left as it is.
    pub fn withdraw(&mut self, ticket: Ticket) {
        if self.leave(ticket).is_some() {
            self.places.free(ticket.place);
        }
    }

    /// An attempt has ended: its permit is free again. A ticket that is no permit is left as it is.
    pub fn release(&mut self, ticket: Ticket) {
        self.release_many(ticket, 1);
    }

    /// So many attempts have ended whose permits have the same ticket: as often [`Limiter::release`].
    pub fn release_many(&mut self, ticket: Ticket, n: u32) {
        let Some(place) = self.places.get_mut(ticket) else { return };
        let (weight, before) = (place.weight, place.before);
        let State::Permits { left, room } = &mut place.state else { return };
        let n = n.min(*left);
        *left -= n;
        self.held -= u64::from(weight) * u64::from(n);
        if *left > 0 {
            return;
        }
        let room = *room;
        // What was noted for it counts for those before it, too.
        if let Some(State::Permits { room: older, .. }) = self.places.state_mut(before) {
            *older = room.min(*older);
        }
        self.places.unlink(&mut self.permits, ticket.place);
        self.places.free(ticket.place);
    }

    /// A permit was never used: it is free again, and the rate is what it would be had the permit never been granted.
    pub fn give_back(&mut self, ticket: Ticket) {
        let Some(&mut Place { state: State::Permits { .. }, weight, .. }) = self.places.get_mut(ticket)
        else {
            return;
        };
        self.note_room();
        if let Some(bucket) = &mut self.bucket {
            // The least room that was in the bucket since the grant: what it took can come back up to this much, since
            // more would have spilled over had it not been taken. Of permits that were granted together each took from
            // what the ones before left: there was room for all of them then.
            let mut room = u128::MAX;
            self.places.each_from(ticket.place, |since| room = room.min(*since));
            let back = bucket.worth(u64::from(weight)).min(room);
            bucket.put_back(back);
            // Had it not been granted, there would have been less room ever since, by as much.
            self.places.each_from(ticket.place, |since| *since -= back);
        }
        self.release(ticket);
    }

    /// A server asked to slow down for `pause`: nothing is granted until then, for all who share the limiter.
    ///
    /// Returns the tickets that left the queue: copies, which would add load; those for whom a permit after the pause
    /// is of no use; and, when the pause is above the cap, everybody.
    pub fn push_back(&mut self, now: Time, pause: Time) -> Vec<Ticket> {
        let until = now.saturating_add(pause);
        let longer = until > self.paused_until;
        self.paused_until = self.paused_until.max(until);
        let mut refused = Vec::new();
        for class in [Class::First, Class::RequiredCopy, Class::OptionalCopy, Class::Backfill] {
            let copies = matches!(class, Class::RequiredCopy | Class::OptionalCopy);
            // Whoever came during the pause, or was here when it was lengthened, can wait for its end.
            let mut next = self.queues[class as usize].first().filter(|_| copies || longer);
            while let Some(place) = next {
                let Place { number, state, after, .. } = *self.places.at(place);
                next = after;
                let State::Waits { until, .. } = state else { continue };
                if copies || self.outlasts(now, until) {
                    let ticket = Ticket { number, place };
                    self.withdraw(ticket);
                    refused.push(ticket);
                }
            }
        }
        refused
    }

    /// When [`Limiter::poll`] may next name somebody without a release; `None` when only a release can help, nobody
    /// waits, or time ends before.
    pub fn next_at(&mut self, now: Time) -> Option<Time> {
        let weight = self.places.at(self.next()?.place).weight;
        if !self.has_room(weight) {
            return None;
        }
        let rate = self.bucket.as_mut().map_or(Some(now), |bucket| bucket.ready_at(now, weight))?;
        Some(rate.max(self.paused_until).max(now))
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting
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
        let backfill = self.queues[Class::Backfill as usize].first();
        let due = backfill.filter(|place| self.owed >= self.takes(u64::from(self.places.at(*place).weight)));
        let place = due.or_else(|| self.queues.iter().find_map(List::first))?;
        Some(Ticket { number: self.places.at(place).number, place })
    }

    /// Leaves the queue and keeps its place; `None` when the ticket is not queued.
    fn leave(&mut self, ticket: Ticket) -> Option<Class> {
        let State::Waits { class, .. } = self.places.get(ticket)?.state else { return None };
        self.places.unlink(&mut self.queues[class as usize], ticket.place);
        self.waiting -= 1;
        Some(class)
    }

    /// Counts what backfill is owed for a grant that it waited for, and settles it with one of its own.
    fn share_with_backfill(&mut self, class: Class, weight: u64) {
        if class == Class::Backfill {
            self.owed = self.owed.saturating_sub(self.takes(weight));
        } else if self.queues[Class::Backfill as usize].first().is_some() {
            self.owed += u64::from(self.spec.backfill_share) * weight;
        }
    }

    /// What a backfill of this weight takes from others, in the unit of [`Limiter::owed`].
    fn takes(&self, weight: u64) -> u64 {
        u64::from(PPM - self.spec.backfill_share.min(PPM)) * weight
    }

    fn has_room(&self, weight: u32) -> bool {
        self.spec.gate.is_none_or(|gate| self.held + u64::from(weight) <= u64::from(gate))
    }

    /// Notes the room that is in the bucket now, where it is less than before, for all permits that are out: the last of
    /// them stands for those before it.
    fn note_room(&mut self) {
        let Some(bucket) = &self.bucket else { return };
        if let Some(State::Permits { room, .. }) = self.places.state_mut(self.permits.last()) {
            *room = bucket.room().min(*room);
        }
    }

    fn outlasts(&self, now: Time, until: Option<Time>) -> bool {
        let pause = self.paused_until.saturating_sub(now);
        pause > self.spec.pushback_cap
            || pause > Time::ZERO && until.is_some_and(|until| self.paused_until >= until)
    }
}
