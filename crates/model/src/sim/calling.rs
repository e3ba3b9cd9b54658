//! How attempts run: at their law's pace, or at a server.

use core::cmp::Reverse;

use fantail_core::Time;
use fantail_core::job::{AttemptId, Event, Failure, Refusal};

use super::seat::{Held, Player, Runs};
use super::servers::{Dropped, Fate, Owner, Served};
use super::trace::Happened;
use super::world::{Due, What, World};
use crate::draws::Subject;

impl World {
    /// Runs an attempt under its permit, until the job will cut it.
    pub(super) fn start(&mut self, seat: usize, attempt: AttemptId, until: Option<Time>) {
        let index = self.index(attempt);
        if let Player::Calls(_) = self.seats[seat].player {
            // A client that knows no plan asks nobody.
            self.seats[seat].attempts[index] = Held::Permit { limited: None, paid: false, runs: Runs::No };
        }
        let Held::Permit { limited, .. } = self.seats[seat].attempts[index] else {
            unreachable!("the machine starts what was granted, and {attempt:?} was not");
        };
        if let (Some((_, waited)), true) = (limited, self.seats[seat].counts) {
            self.summary.waited(waited);
        }
        self.running.set(self.now, self.running.level() + 1);
        self.note(seat, self.now, attempt, Happened::Started);
        let started = self.run_attempt(seat, attempt, until);
        if let Held::Permit { runs, .. } = &mut self.seats[seat].attempts[index] {
            *runs = started;
        }
    }

    fn run_attempt(&mut self, seat: usize, attempt: AttemptId, until: Option<Time>) -> Runs {
        let simulation = &self.simulation;
        let AttemptId { branch, number: of_branch } = attempt;
        let (number, retry) = (self.seats[seat].number, self.seats[seat].player.retry(branch));
        let subject = Subject { job: number, branch, attempt: of_branch, retry };
        let Some(server) = simulation.serves[branch as usize] else {
            let work = simulation.luck.latency(subject);
            self.expect(seat, until, work, What::Ends(attempt, Fate::Answer));
            return Runs::Since(self.now);
        };
        let spec = &simulation.scenario.servers[server as usize];
        if let Err(come_back) = self.servers.admit(server, self.now) {
            self.seats[seat].turned_away.push(branch);
            let after = spec.limit.map_or(Time::ZERO, |limit| limit.answers_after);
            self.expect(seat, until, after, What::TurnedAway(attempt, come_back));
            return Runs::TurnedAway;
        }
        let luck = &simulation.luck;
        let fate = luck.fate(subject, &spec.failures);
        let answers = fate == Fate::Answer;
        let reads = answers && spec.prefill > Time::ZERO && !self.seats[seat].read_at.contains(&server);
        let prefill = if reads { luck.prefill(spec.prefill, number) } else { Time::ZERO };
        let work = if answers { luck.latency(subject) } else { luck.failure(subject, server) };
        let work = work.saturating_add(prefill);
        let of_branch = |(of, replica): &(u32, u32)| (*of == branch).then_some(*replica);
        let mut been_at = self.seats[seat].replicas.iter().filter_map(of_branch).collect();
        let random = |below| luck.replica(below, subject);
        let replica = self.servers.choose(server, &mut been_at, random);
        if spec.replicas > 1 {
            self.seats[seat].replicas.push((branch, replica));
        }
        let owner = Owner { seat, number, counts: self.seats[seat].counts, attempt };
        Runs::Call(self.servers.call(server, replica, (owner, work, prefill, fate), self.now, &mut self.due))
    }

    /// What happens to an attempt after a time, unless the job cuts it before: then it needs no event, nor does what never
    /// happens.
    fn expect(&mut self, seat: usize, until: Option<Time>, after: Time, what: What) {
        let at = self.now.saturating_add(after);
        if at < Time::MAX && until.is_none_or(|until| at <= until) {
            self.due.push(Reverse(Due { at, number: self.seats[seat].number, what, seat }));
        }
    }

    /// An attempt runs no more, whether it came to its end or was dropped.
    pub(super) fn stop(&mut self, seat: usize, runs: Runs) {
        if runs == Runs::No {
            return;
        }
        self.running.set(self.now, self.running.level() - 1);
        let worked = match runs {
            Runs::No | Runs::TurnedAway => Time::ZERO,
            Runs::Since(since) => self.now.saturating_sub(since),
            Runs::Call(id) => match self.servers.drop_call(id, self.now, &mut self.due) {
                Dropped::Gone(worked) => worked,
                Dropped::RunsOn => Time::ZERO,
            },
        };
        self.seats[seat].worked(worked);
    }

    /// What was to happen does, unless its job or attempt is gone.
    pub(super) fn happen(&mut self, due: Due) {
        match due.what {
            What::Prefilled(id) => {
                if let Some((Owner { seat, number, attempt, .. }, server)) = self.servers.prefilled(id)
                    && self.is_there(seat, number)
                {
                    self.seats[seat].read_at.push(server);
                    self.tell(seat, Event::Primed(attempt));
                }
            }
            What::Served(id) => {
                if let Some(served) = self.servers.served(id, self.now, &mut self.due) {
                    self.served(&served);
                }
            }
            What::Leaves(id) => {
                if let Some((owner, worked)) = self.servers.leave(id, self.now, &mut self.due) {
                    self.worked_for(owner, worked);
                }
            }
            _ if !self.is_there(due.seat, due.number) => {}
            What::Ends(attempt, fate) => self.ends(due.seat, attempt, fate),
            What::TurnedAway(attempt, come_back) => self.turned_away(due.seat, attempt, come_back),
            What::WakeUp => {
                if self.seats[due.seat].wakes_at == Some(due.at) {
                    self.seats[due.seat].wakes_at = None;
                    self.wake(due.seat);
                }
            }
        }
    }

    fn is_there(&self, seat: usize, number: u64) -> bool {
        self.seats[seat].alive && self.seats[seat].number == number
    }

    fn served(&mut self, served: &Served) {
        self.worked_for(served.owner, served.worked);
        if served.wanted && self.is_there(served.owner.seat, served.owner.number) {
            let began = self.now.saturating_sub(served.worked);
            self.note(served.owner.seat, began, served.owner.attempt, Happened::Served);
            self.ends(served.owner.seat, served.owner.attempt, served.fate);
        }
    }

    /// A server worked for a job, which may be over by now.
    fn worked_for(&mut self, owner: Owner, worked: Time) {
        if self.is_there(owner.seat, owner.number) {
            self.seats[owner.seat].worked(worked);
        } else if owner.counts {
            self.summary.worked_late(worked);
        }
    }

    fn ends(&mut self, seat: usize, attempt: AttemptId, fate: Fate) {
        if self.is_running(seat, attempt) {
            self.drop_attempt(seat, attempt);
            let event = match fate {
                Fate::Answer => Event::Answered(attempt),
                Fate::Retryable => Event::Failed(attempt, Failure::Retryable),
                Fate::Permanent => Event::Failed(attempt, Failure::Permanent),
            };
            self.tell(seat, event);
        }
    }

    /// A server asks to slow down: all who share the limiter wait, as in the runtime.
    fn turned_away(&mut self, seat: usize, attempt: AttemptId, come_back: Option<Time>) {
        if !self.is_running(seat, attempt) {
            return;
        }
        self.drop_attempt(seat, attempt);
        let pause = come_back.map(|at| at.saturating_sub(self.now));
        if let Player::Calls(calls) = &mut self.seats[seat].player {
            calls.pause(attempt.branch, pause);
        }
        let limiter = self.simulation.plan.branches()[attempt.branch as usize].limiter;
        let knows_limiter = matches!(self.seats[seat].player, Player::Job(_));
        if let (Some(limiter), Some(pause), true) = (limiter, pause, knows_limiter) {
            let shared = &mut self.limiters[limiter];
            shared.changed = true;
            for ticket in shared.limiter.push_back(self.now, pause) {
                let shared = &mut self.limiters[limiter];
                let waiter = shared.waiters.remove(&ticket).expect("whoever is in the queue is known");
                let index = self.index(waiter.attempt);
                self.seats[waiter.seat].attempts[index] = Held::Nothing;
                self.tell(waiter.seat, Event::Refused(waiter.attempt, Refusal::Pushback));
            }
        }
        self.tell(seat, Event::Failed(attempt, Failure::Pushback));
    }

    fn is_running(&self, seat: usize, attempt: AttemptId) -> bool {
        match self.seats[seat].attempts[self.index(attempt)] {
            Held::Permit { runs, .. } => runs != Runs::No,
            _ => false,
        }
    }
}
