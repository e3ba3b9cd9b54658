//! What a job holds: places in queues, permits, and the futures that run under them.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use fantail_core::job::AttemptId;
use smallvec::SmallVec;
use tokio::time::Instant;
use tracing::Span;

use crate::calls::AnyCalls;
use crate::limiter::{Home, Letter, Mail, Mailbox, Permit, Place, hand_back};
use crate::{Attempt, AttemptError};

/// What an attempt that was asked for and has not ended has of its limiter.
#[derive(Debug, Default)]
enum Stake {
    #[default]
    None,
    Place(Place),
    Permit(Permit),
}

/// What a job holds for one attempt.
#[derive(Debug, Default)]
struct Slot {
    stake: Stake,
    runs: Option<(AttemptId, Seat)>,
    /// Where somebody listens.
    span: Option<Span>,
}

/// Where an attempt runs, and its answer waits: which of the job's calls, and which seat there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub(crate) calls: u32,
    pub(crate) seat: u32,
}

/// Lists that one job hands on to the next.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// By [`attempt_index`](fantail_core::Plan::attempt_index).
    slots: Vec<Slot>,
    leaving: Vec<Place>,
    freed: Vec<Permit>,
    mail: Vec<Mail>,
}

/// Most jobs have one call for all their branches.
pub(crate) type CallList<'f> = SmallVec<[AnyCalls<'f>; 2]>;

/// All that a job holds.
///
/// What it lets go is kept until [`Held::hand_back`] hands back all at once. Otherwise a permit could go to an attempt that
/// is about to leave, and somebody else be refused for want of credit that is about to come back.
pub(crate) struct Held<'f> {
    calls: CallList<'f>,
    lists: Lists,
    mailbox: Arc<Mailbox>,
    /// How many wait in queues.
    queued: usize,
}

impl<'f> Held<'f> {
    /// Nothing yet, for a job of so many attempts.
    pub(crate) fn new(
        calls: CallList<'f>,
        attempts: usize,
        mut lists: Lists,
        mailbox: Arc<Mailbox>,
    ) -> Held<'f> {
        lists.slots.resize_with(attempts, Slot::default);
        Held { calls, lists, mailbox, queued: 0 }
    }

    /// The lists, for another job, once nothing is held any more; the calls stay.
    pub(crate) fn take_lists(&mut self) -> Lists {
        std::mem::take(&mut self.lists)
    }

    pub(crate) fn calls(&mut self) -> &mut [AnyCalls<'f>] {
        &mut self.calls
    }

    pub(crate) fn mailbox(&self) -> &Arc<Mailbox> {
        &self.mailbox
    }

    /// Whether any attempt waits for a limiter.
    pub(crate) fn queues(&self) -> bool {
        self.queued > 0
    }

    /// The attempt waits for its limiter.
    pub(crate) fn queue(&mut self, index: usize, place: Place) {
        self.lists.slots[index].stake = Stake::Place(place);
        self.queued += 1;
    }

    /// The attempt may start.
    pub(crate) fn permit(&mut self, index: usize, permit: Permit) {
        self.lists.slots[index].stake = Stake::Permit(permit);
    }

    /// The attempt's limiter has said what became of it: whether it waited for that.
    pub(crate) fn leave_queue(&mut self, index: usize) -> bool {
        let slot = &mut self.lists.slots[index];
        match std::mem::take(&mut slot.stake) {
            Stake::Place(place) => {
                place.left();
                self.queued -= 1;
                true
            }
            stake => {
                slot.stake = stake;
                false
            }
        }
    }

    /// Calls for the attempt, which has a permit.
    pub(crate) fn start(&mut self, index: usize, calls: u32, attempt: Attempt, span: Option<Span>) {
        let slot = &mut self.lists.slots[index];
        let Stake::Permit(permit) = &mut slot.stake else {
            unreachable!("the machine starts what was granted, and {attempt:?} was not");
        };
        let id = attempt.id;
        let all = self.calls[calls as usize].as_mut();
        let call = || permit.under(|| all.call(attempt));
        let seat = if let Some(span) = &span { span.in_scope(call) } else { call() };
        permit.use_up();
        slot.runs = Some((id, Seat { calls, seat }));
        slot.span = span;
    }

    /// Polls the attempt if it runs, and lets go of it once it has ended. An answer stays in its seat.
    pub(crate) fn poll(
        &mut self,
        index: usize,
        waker: &Waker,
    ) -> Option<(AttemptId, Result<Seat, AttemptError>)> {
        let slot = &mut self.lists.slots[index];
        let (attempt, seat) = slot.runs?;
        let Stake::Permit(permit) = &slot.stake else { return None };
        let calls = self.calls[seat.calls as usize].as_mut();
        let poll = || permit.under(|| calls.poll(seat.seat, &mut Context::from_waker(waker)));
        let polled = if let Some(span) = &slot.span { span.in_scope(poll) } else { poll() };
        let Poll::Ready(result) = polled else { return None };
        slot.runs = None;
        slot.span = None;
        self.free(index, attempt);
        Some((attempt, result.map(|()| seat)))
    }

    /// Drops the attempt's future; its place or permit is handed back later, a permit that is held once it is not.
    /// Whether it ran.
    pub(crate) fn let_go(&mut self, index: usize) -> bool {
        let slot = &mut self.lists.slots[index];
        if let Some((attempt, seat)) = slot.runs.take() {
            slot.span = None;
            // First, since it may be the one who holds the permit.
            self.calls[seat.calls as usize].as_mut().clear(seat.seat);
            self.free(index, attempt);
            return true;
        }
        match std::mem::take(&mut slot.stake) {
            Stake::None => {}
            Stake::Place(place) => {
                self.queued -= 1;
                self.lists.leaving.push(place);
            }
            Stake::Permit(permit) => self.lists.freed.push(permit),
        }
        false
    }

    /// Lets go of the permit of an attempt that ran, unless somebody holds it.
    fn free(&mut self, index: usize, attempt: AttemptId) {
        let Stake::Permit(permit) = std::mem::take(&mut self.lists.slots[index].stake) else { return };
        if self.mailbox.holds.any() {
            self.lists.freed.extend(self.mailbox.holds.keep(attempt, permit));
        } else {
            self.lists.freed.push(permit);
        }
    }

    /// Lets go of a permit that came by mail for an attempt that is gone.
    pub(crate) fn let_go_of(&mut self, permit: Permit) {
        self.lists.freed.push(permit);
    }

    /// What has come by mail.
    pub(crate) fn mail(&mut self) -> Vec<Mail> {
        self.mailbox.take(&mut self.lists.mail);
        std::mem::take(&mut self.lists.mail)
    }

    /// Gives the list of the mail back, for what comes next.
    pub(crate) fn mail_read(&mut self, mut mail: Vec<Mail>) {
        mail.append(&mut self.lists.mail);
        self.lists.mail = mail;
    }

    /// For the limiters that this job sees to: its own mail goes straight to where it is read.
    pub(crate) fn home(&mut self) -> Home<'_> {
        Home { mailbox: &self.mailbox, mail: &mut self.lists.mail }
    }

    /// Hands back all that was let go, and only then lets others have it.
    pub(crate) fn hand_back(&mut self, now: Instant) {
        let Lists { leaving, freed, mail, .. } = &mut self.lists;
        if !(leaving.is_empty() && freed.is_empty()) {
            hand_back(leaving, freed, now, Some(Home { mailbox: &self.mailbox, mail }));
            leaving.clear();
            freed.clear();
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        for index in 0..self.lists.slots.len() {
            self.let_go(index);
        }
        let mail = self.mail();
        self.lists.freed.extend(mail.into_iter().filter_map(|(_, letter)| match letter {
            Letter::Permit(verdict) => verdict.ok(),
            Letter::Primed => None,
        }));
        let Lists { leaving, freed, .. } = &mut self.lists;
        if !(leaving.is_empty() && freed.is_empty()) {
            hand_back(leaving, freed, Instant::now(), None);
        }
    }
}
