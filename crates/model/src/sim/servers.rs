//! Servers at work: who is served where, who waits, who is turned away.

use alloc::boxed::Box;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::mem;

use fantail_core::job::{AttemptId, Class};
use fantail_core::{Limiter, LimiterSpec, Time};

use super::luck::nearest;
use super::meter::Meter;
use super::scenario::Scenario;
use super::server::{Allows, Choice, Limit, RetryAfter, Server};
use super::world::{Due, What};
use crate::Cancellation;

/// The state of all servers.
pub(super) struct Servers {
    scenario: Arc<Scenario>,
    states: Vec<State>,
    calls: Vec<Call>,
    empty_calls: Vec<u32>,
    serial: u64,
}

struct State {
    replicas: Vec<Replica>,
    /// The replica whose turn it is.
    next: u32,
    taken: Taken,
    /// Calls in service.
    serving: Meter,
    /// Calls that came, and those that were turned away, while it was measured.
    came: u64,
    turned_away: u64,
}

#[derive(Default)]
struct Replica {
    serving: u32,
    /// Those in service and those that wait.
    load: u32,
    /// Those that wait, and some that do so no more.
    waiting: VecDeque<CallId>,
    /// When slots fall free of all the calls that were [queued](Servers::queue) so far, of slots that were in use.
    free_at: BinaryHeap<Reverse<Time>>,
}

/// What the limit of a server has let in.
enum Taken {
    Unlimited,
    Bucket(Box<Limiter>),
    Window { number: u64, calls: u32 },
}

/// A call at a server: its place, which later calls take, and what tells it from these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallId {
    index: u32,
    serial: u64,
}

#[derive(Clone, Copy)]
struct Call {
    /// Zero when there is none.
    serial: u64,
    owner: Owner,
    /// Whether somebody waits for it.
    wanted: bool,
    server: u32,
    replica: u32,
    work: Time,
    /// How much of the work reads what the calls of its job share; zero when that was read before.
    prefill: Time,
    fate: Fate,
    serving_since: Option<Time>,
}

/// Whose call it is.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    pub(super) seat: usize,
    pub(super) number: u64,
    /// Whether its job is of the range that was asked for.
    pub(super) counts: bool,
    pub(super) attempt: AttemptId,
}

/// How a call that is served ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    Answer,
    Retryable,
    Permanent,
}

/// A call that was served to its end.
pub(super) struct Served {
    pub(super) owner: Owner,
    pub(super) fate: Fate,
    pub(super) wanted: bool,
    pub(super) worked: Time,
}

/// What came of a call that its caller has dropped.
pub(super) enum Dropped {
    /// It is gone, after so much work.
    Gone(Time),
    /// It goes on.
    RunsOn,
}

/// What is going to happen.
type Dues = BinaryHeap<Reverse<Due>>;

impl Servers {
    pub(super) fn new(scenario: Arc<Scenario>) -> Servers {
        let state = |spec: &Server| State {
            replicas: (0..spec.replicas).map(|_| Replica::default()).collect(),
            next: 0,
            taken: match &spec.limit {
                None => Taken::Unlimited,
                Some(Limit { allows: Allows::Bucket(rate), .. }) => {
                    let bucket = LimiterSpec { rate: Some(*rate), ..LimiterSpec::new("") };
                    Taken::Bucket(Box::new(Limiter::new(bucket)))
                }
                Some(Limit { allows: Allows::Window { .. }, .. }) => Taken::Window { number: 0, calls: 0 },
            },
            serving: Meter::default(),
            came: 0,
            turned_away: 0,
        };
        Servers {
            states: scenario.servers.iter().map(state).collect(),
            scenario,
            calls: Vec::new(),
            empty_calls: Vec::new(),
            serial: 0,
        }
    }

    /// Counts a call that comes; if it is turned away, when the server says to come back, if it does.
    pub(super) fn admit(&mut self, server: u32, now: Time) -> Result<(), Option<Time>> {
        let (spec, state) = (&self.scenario.servers[server as usize], &mut self.states[server as usize]);
        state.came += 1;
        let Some(limit) = &spec.limit else { return Ok(()) };
        let free_at = match (&mut state.taken, limit.allows) {
            (Taken::Bucket(bucket), _) => {
                let ticket = bucket.ask(now, Class::First, 1, None).expect("a bucket holds one at least");
                if bucket.poll(now).is_some() {
                    bucket.grant(now, ticket);
                    bucket.release(ticket);
                    return Ok(());
                }
                let free_at = bucket.next_at(now).unwrap_or(now);
                bucket.withdraw(ticket);
                free_at
            }
            (Taken::Window { number, calls }, Allows::Window { calls: most, per }) => {
                let window = now.as_nanos() / per.as_nanos();
                if *number != window {
                    (*number, *calls) = (window, 0);
                }
                if *calls < most {
                    *calls += 1;
                    return Ok(());
                }
                Time::from_nanos((window + 1).saturating_mul(per.as_nanos()))
            }
            (Taken::Unlimited | Taken::Window { .. }, _) => return Ok(()),
        };
        state.turned_away += 1;
        Err(match limit.retry_after {
            RetryAfter::Unsaid => None,
            RetryAfter::Exact => Some(free_at),
            RetryAfter::Fixed(pause) => Some(now.saturating_add(limit.answers_after).saturating_add(pause)),
        })
    }

    /// Which replica a call goes to, other than those it was at; `random` draws a number below another.
    pub(super) fn choose(
        &mut self,
        server: u32,
        been_at: &mut Vec<u32>,
        random: impl FnOnce(u32) -> u32,
    ) -> u32 {
        let spec = &self.scenario.servers[server as usize];
        let state = &mut self.states[server as usize];
        let all = spec.replicas;
        if all == 1 {
            return 0;
        }
        if been_at.len() >= all as usize {
            been_at.clear();
        }
        been_at.sort_unstable();
        let from = |first: u32| (0..all).map(move |i| (first + i) % all);
        let fresh = |replica: &u32| been_at.binary_search(replica).is_err();
        match spec.choice {
            Choice::Random => {
                let drawn = random(all - been_at.len() as u32);
                been_at.iter().fold(drawn, |replica, been| replica + u32::from(replica >= *been))
            }
            Choice::LeastLoaded => {
                let load = |replica: &u32| state.replicas[*replica as usize].load;
                let least = from(random(all)).filter(fresh).min_by_key(load);
                least.expect("there is a replica that it was not at")
            }
            Choice::RoundRobin => {
                let turn = from(state.next).find(fresh).expect("there is a replica that it was not at");
                state.next = (turn + 1) % all;
                turn
            }
        }
    }

    /// Takes in a call, which begins at once or queues.
    pub(super) fn call(
        &mut self,
        server: u32,
        replica: u32,
        (owner, work, prefill, fate): (Owner, Time, Time, Fate),
        now: Time,
        due: &mut Dues,
    ) -> CallId {
        self.serial += 1;
        let call = Call {
            serial: self.serial,
            owner,
            wanted: true,
            server,
            replica,
            work,
            prefill,
            fate,
            serving_since: None,
        };
        let index = if let Some(index) = self.empty_calls.pop() {
            self.calls[index as usize] = call;
            index
        } else {
            self.calls.push(call);
            self.calls.len() as u32 - 1
        };
        let id = CallId { index, serial: self.serial };
        let place = &mut self.states[server as usize].replicas[replica as usize];
        place.load += 1;
        if self.scenario.servers[server as usize].slots.is_none_or(|slots| place.serving < slots) {
            self.begin(id, now, due);
        } else {
            place.waiting.push_back(id);
        }
        id
    }

    /// Takes in a call that is served in its turn, as were all before it: when it begins and when it ends.
    ///
    /// What a slot falls free of first is the first that ends of what it was promised to (Kiefer and Wolfowitz, On the
    /// theory of queues with many servers, Transactions of the American Mathematical Society 78, 1955).
    pub(super) fn queue(&mut self, server: u32, replica: u32, work: Time, now: Time) -> (Time, Time) {
        let (spec, state) = (&self.scenario.servers[server as usize], &mut self.states[server as usize]);
        let place = &mut state.replicas[replica as usize];
        let full = spec.slots.is_some_and(|slots| place.free_at.len() == slots as usize);
        let slot = place.free_at.peek().map(|free| free.0).filter(|free| full || *free <= now);
        let begins = slot.unwrap_or_default().max(now);
        let ends = served_by(spec, begins, work, replica);
        if slot.is_some()
            && let Some(mut slot) = place.free_at.peek_mut()
        {
            *slot = Reverse(ends);
        } else {
            place.free_at.push(Reverse(ends));
        }
        place.load += 1;
        if spec.slots.is_none_or(|slots| place.load <= slots) {
            state.serving.set(now, state.serving.level() + 1);
        }
        (begins, ends)
    }

    /// One of these calls has ended.
    pub(super) fn unqueue(&mut self, server: u32, replica: u32, now: Time) {
        let (spec, state) = (&self.scenario.servers[server as usize], &mut self.states[server as usize]);
        let place = &mut state.replicas[replica as usize];
        place.load -= 1;
        if spec.slots.is_none_or(|slots| place.load < slots) {
            state.serving.set(now, state.serving.level() - 1);
        }
    }

    /// A call's service is over; `None` when it was gone before.
    pub(super) fn served(&mut self, id: CallId, now: Time, due: &mut Dues) -> Option<Served> {
        let call = *self.alive(id)?;
        let worked = self.remove(id, now, due);
        Some(Served { owner: call.owner, fate: call.fate, wanted: call.wanted, worked })
    }

    /// A call has read what the calls of its job share: whose it is, and the server; `None` when it was gone before.
    pub(super) fn prefilled(&self, id: CallId) -> Option<(Owner, u32)> {
        self.alive(id).map(|call| (call.owner, call.server))
    }

    /// Nobody waits for a call any more.
    pub(super) fn drop_call(&mut self, id: CallId, now: Time, due: &mut Dues) -> Dropped {
        let Some(call) = self.alive(id).copied() else { return Dropped::Gone(Time::ZERO) };
        let spec = &self.scenario.servers[call.server as usize];
        let lag = match spec.cancellation {
            Cancellation::AtOnce => Time::ZERO,
            Cancellation::After(lag) => nearest(lag),
            Cancellation::Never => Time::MAX,
        };
        if lag == Time::ZERO {
            return Dropped::Gone(self.remove(id, now, due));
        }
        let at = now.saturating_add(lag);
        if let (None, Some(since)) = (spec.slots, call.serving_since) {
            // It holds up nobody, so what it will have taken is known now.
            let done = served_by(spec, since, call.work, call.replica);
            self.remove(id, now, due);
            return Dropped::Gone(if done == Time::MAX && at == Time::MAX {
                now.saturating_sub(since)
            } else {
                done.min(at).saturating_sub(since)
            });
        }
        self.calls[id.index as usize].wanted = false;
        if at < Time::MAX {
            due.push(Reverse(Due {
                at,
                number: call.owner.number,
                what: What::Leaves(id),
                seat: call.owner.seat,
            }));
        }
        Dropped::RunsOn
    }

    /// A call that was dropped a while ago leaves, unless it was served meanwhile: whose it was and how long it was worked
    /// on.
    pub(super) fn leave(&mut self, id: CallId, now: Time, due: &mut Dues) -> Option<(Owner, Time)> {
        let owner = self.alive(id)?.owner;
        Some((owner, self.remove(id, now, due)))
    }

    /// Calls that are here though nobody waits for them.
    pub(super) fn unwanted(&self) -> u64 {
        self.calls.iter().filter(|call| call.serial > 0 && !call.wanted).count() as u64
    }

    /// From now on what happens is measured.
    pub(super) fn measure(&mut self, now: Time) {
        for state in &mut self.states {
            state.serving.restart(now);
            (state.came, state.turned_away) = (0, 0);
        }
    }

    /// What was measured until now: of each server the meter of its slots, the calls that came, and those turned away.
    pub(super) fn measured(&mut self, now: Time) -> Vec<(Meter, u64, u64)> {
        let states = self.states.iter_mut();
        states
            .map(|state| {
                state.serving.set(now, state.serving.level());
                (state.serving, state.came, state.turned_away)
            })
            .collect()
    }

    fn alive(&self, id: CallId) -> Option<&Call> {
        self.calls.get(id.index as usize).filter(|call| call.serial == id.serial)
    }

    fn begin(&mut self, id: CallId, now: Time, due: &mut Dues) {
        let call = &mut self.calls[id.index as usize];
        call.serving_since = Some(now);
        let state = &mut self.states[call.server as usize];
        state.replicas[call.replica as usize].serving += 1;
        state.serving.set(now, state.serving.level() + 1);
        let Owner { seat, number, .. } = call.owner;
        let mut after = |work, what| {
            let at = served_by(&self.scenario.servers[call.server as usize], now, work, call.replica);
            if at < Time::MAX {
                due.push(Reverse(Due { at, number, what, seat }));
            }
        };
        if call.prefill > Time::ZERO {
            after(call.prefill, What::Prefilled(id));
        }
        after(call.work, What::Served(id));
    }

    /// Takes a call from its queue or slot, where the next one begins; how long it was worked on.
    fn remove(&mut self, id: CallId, now: Time, due: &mut Dues) -> Time {
        let call = &mut self.calls[id.index as usize];
        call.serial = 0;
        let (server, replica) = (call.server as usize, call.replica as usize);
        let since = mem::take(&mut call.serving_since);
        self.empty_calls.push(id.index);
        let state = &mut self.states[server];
        let place = &mut state.replicas[replica];
        place.load -= 1;
        let Some(since) = since else { return Time::ZERO };
        place.serving -= 1;
        state.serving.set(now, state.serving.level() - 1);
        while let Some(next) = self.states[server].replicas[replica].waiting.pop_front() {
            if self.alive(next).is_some() {
                self.begin(next, now, due);
                break;
            }
        }
        now.saturating_sub(since)
    }
}

fn served_by(spec: &Server, since: Time, work: Time, replica: u32) -> Time {
    match &spec.slow {
        Some(slow) => slow.done(since, work, replica, spec.replicas),
        None => since.saturating_add(work),
    }
}
