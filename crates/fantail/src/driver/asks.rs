//! How a job asks for permits.

use std::sync::Arc;

use fantail_core::job::{Action, AttemptId, Class, Event, Refusal};
use fantail_core::{Budget, Plan, Time};

use super::{Driver, Moment};
use crate::limiter::{Asked, Open, Permit};
use crate::lock;
use crate::sync::Mutex;

/// Attempts that will get no permit.
type Refused = Vec<(AttemptId, Refusal)>;

impl Driver<'_> {
    /// Asks for permits: what like branches ask for in a row together, and each limiter once for all that ask it one after
    /// another.
    pub(super) fn ask(&mut self, asks: &[Action], now: Moment) {
        let shared = Arc::clone(&self.shared);
        let (mut open, mut refused) = (None, Vec::new());
        for row in asks.chunk_by(|one, other| Driver::alike(&shared.plan, one, other)) {
            let Action::Ask { attempt, budgeted, .. } = row[0] else { continue };
            let budget = shared.budget(attempt.role()).filter(|_| budgeted);
            match shared.plan.like(attempt.branch).limiter {
                None => self.pay_only(row, budget, &mut refused),
                Some(limiter) => {
                    if open.as_ref().is_none_or(|(last, _)| *last != limiter) {
                        drop(open.take());
                        open = Some((limiter, shared.limiters[limiter].open(now.at)));
                    }
                    let Some((_, limiter)) = &mut open else { continue };
                    self.ask_limiter(row, limiter, budget, now.time, &mut refused);
                }
            }
        }
        // An observer may ask the limiter how it is.
        drop(open);
        for (attempt, reason) in refused {
            self.refuse(attempt, reason);
        }
    }

    /// Whether two of the machine's wishes differ in nothing that a limiter looks at: those for the primaries of like
    /// branches.
    fn alike(plan: &Plan, one: &Action, other: &Action) -> bool {
        match (one, other) {
            (Action::Ask { attempt: one, .. }, Action::Ask { attempt: other, .. }) => {
                one.number == 0
                    && other.number == 0
                    && std::ptr::eq(plan.like(one.branch), plan.like(other.branch))
            }
            _ => false,
        }
    }

    /// Permits attempts that no limiter stands before.
    fn pay_only(&mut self, row: &[Action], budget: Option<&Arc<Mutex<Budget>>>, refused: &mut Refused) {
        for ask in row {
            let Action::Ask { attempt, .. } = *ask else { continue };
            match budget {
                None => self.held.permit_free(self.index(attempt)),
                Some(budget) if lock(budget).take() => {
                    self.held.permit(self.index(attempt), Permit::new(None, Some(Arc::clone(budget))));
                }
                Some(_) => {
                    refused.push((attempt, Refusal::Budget));
                    continue;
                }
            }
            self.desk.events.push(Event::Granted(attempt));
        }
    }

    /// Asks for what is [alike](Driver::alike): first attempts, which nobody goes before, get what is free at once.
    fn ask_limiter(
        &mut self,
        row: &[Action],
        limiter: &mut Open<'_>,
        budget: Option<&Arc<Mutex<Budget>>>,
        now: Time,
        refused: &mut Refused,
    ) {
        let Action::Ask { attempt: first, class, until, .. } = row[0] else { return };
        let weight = self.plan().like(first.branch).weight;
        let at_once = class == Class::First && budget.is_none();
        let granted = at_once.then(|| limiter.grant_now(weight, row.len() as u32)).flatten();
        let (now_granted, rest) = row.split_at(granted.as_ref().map_or(0, |(_, n)| *n as usize));
        if let Some((permits, _)) = granted {
            let of = self.held.share(permits);
            for ask in now_granted {
                let Action::Ask { attempt, .. } = *ask else { continue };
                self.held.permit_share(self.index(attempt), of);
                self.desk.events.push(Event::Granted(attempt));
            }
        }
        let within = until.map(|until| until.saturating_sub(now));
        for ask in rest {
            let Action::Ask { attempt, .. } = *ask else { continue };
            let asked = Asked { attempt, class, weight, within, budget: budget.map(Arc::clone) };
            match limiter.ask(self.held.mailbox(), asked) {
                Ok(place) => self.held.queue(self.index(attempt), place),
                Err(reason) => refused.push((attempt, reason)),
            }
        }
    }
}
