//! What a job holds: places in queues, permits, and the futures that run under them.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use fantail_core::job::AttemptId;
use tracing::Span;

use crate::AttemptError;
use crate::done::Answer;
use crate::fanout::AttemptFuture;
use crate::limiter::{Letter, Mailbox, Permit, Place};

/// An attempt that was asked for and has not ended.
pub(crate) enum Live<'f> {
    Queued { place: Place },
    Permitted { permit: Permit },
    Running { attempt: AttemptId, future: AttemptFuture<'f>, waker: Waker, permit: Permit, span: Span },
}

/// All that a job holds, by [`attempt_index`](fantail_core::Plan::attempt_index).
///
/// What it lets go is kept until [`Held::hand_back`] hands back all at once. Otherwise a permit could go to an attempt that
/// is about to leave, and somebody else be refused for want of credit that is about to come back.
pub(crate) struct Held<'f> {
    live: Vec<Option<Live<'f>>>,
    mailbox: Arc<Mailbox>,
    leaving: Vec<Place>,
    freed: Vec<Permit>,
}

impl<'f> Held<'f> {
    /// Nothing yet, for a job of so many attempts.
    pub(crate) fn new(attempts: usize, mailbox: Arc<Mailbox>) -> Held<'f> {
        let live = (0..attempts).map(|_| None).collect();
        Held { live, mailbox, leaving: Vec::new(), freed: Vec::new() }
    }

    /// What the attempt has.
    pub(crate) fn slot(&mut self, index: usize) -> &mut Option<Live<'f>> {
        &mut self.live[index]
    }

    /// Polls the attempt if it runs, and lets go of it once it has ended.
    pub(crate) fn poll(&mut self, index: usize) -> Option<(AttemptId, Result<Answer, AttemptError>)> {
        let Some(Live::Running { attempt, future, waker, permit, span }) = &mut self.live[index] else {
            return None;
        };
        let attempt = *attempt;
        let poll = || span.in_scope(|| future.as_mut().poll(&mut Context::from_waker(waker)));
        let Poll::Ready(result) = permit.under(poll) else { return None };
        self.let_go(index);
        Some((attempt, result))
    }

    /// Drops the attempt's future; its place or permit is handed back later, a permit that is held once it is not.
    pub(crate) fn let_go(&mut self, index: usize) {
        match self.live[index].take() {
            None => {}
            Some(Live::Queued { place }) => self.leaving.push(place),
            Some(Live::Permitted { permit }) => self.freed.push(permit),
            Some(Live::Running { attempt, future, permit, .. }) => {
                // First, since it may be the one who holds the permit.
                drop(future);
                self.freed.extend(self.mailbox.holds.keep(attempt, permit));
            }
        }
    }

    /// Lets go of a permit that came by mail for an attempt that is gone.
    pub(crate) fn let_go_of(&mut self, permit: Permit) {
        self.freed.push(permit);
    }

    /// Hands back all that was let go, and only then lets others have it.
    pub(crate) fn hand_back(&mut self) {
        self.leaving.iter().for_each(Place::leave);
        self.freed.iter_mut().for_each(Permit::hand_back);
        self.leaving.clear();
        self.freed.clear();
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        for index in 0..self.live.len() {
            self.let_go(index);
        }
        self.leaving.iter().for_each(Place::leave);
        self.freed.extend(self.mailbox.take().into_iter().filter_map(|(_, letter)| match letter {
            Letter::Permit(verdict) => verdict.ok(),
            Letter::Primed => None,
        }));
        self.hand_back();
    }
}
