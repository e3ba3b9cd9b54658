//! What a job holds: places in queues, permits, and the futures that run under them.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;

use fantail_core::job::AttemptId;
use smallvec::SmallVec;
use tokio::time::Instant;
use tracing::Span;

use crate::calls::{AnyCalls, NONE};
use crate::limiter::{LetGo, Permit, Permits, Place};
use crate::mail::{Home, Letter, Mail, Mailbox};
use crate::under::Within;
use crate::{Attempt, AttemptError};

/// What an attempt that was asked for and has not ended has of its limiter.
#[derive(Debug, Default)]
enum Stake {
    #[default]
    None,
    Place(Place),
    Permit(Permit),
    /// One of those that were granted together.
    Share {
        of: u32,
        used: bool,
    },
    /// It may run, and has no limiter.
    Free,
}

/// What a job holds for one attempt.
#[derive(Debug, Default)]
struct Slot {
    stake: Stake,
    runs: Option<(AttemptId, Seat)>,
}

/// Where an attempt runs, and its answer waits: which of the job's calls, and which seat there. An answer that is with its
/// branch already has no seat any more: [`NONE`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub(crate) calls: u32,
    pub(crate) seat: u32,
}

/// An attempt that has ended, and where its answer is.
pub(crate) type Ended = (AttemptId, Result<Seat, AttemptError>);

/// Lists that one job hands on to the next.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// By [`attempt_index`](fantail_core::Plan::attempt_index).
    slots: Vec<Slot>,
    /// As the slots; empty where nobody listens.
    spans: Vec<Option<Span>>,
    let_go: LetGo,
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
    /// Whether any ever did, so that a permit may be under way by mail.
    expects: bool,
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
        Held { calls, lists, mailbox, queued: 0, expects: false }
    }

    /// The lists, for another job, once nothing is held any more; the calls stay.
    pub(crate) fn take_lists(&mut self) -> Lists {
        self.settle();
        self.lists.let_go.granted.clear();
        self.lists.spans.clear();
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
        self.expects = true;
    }

    /// The attempt may start.
    pub(crate) fn permit(&mut self, index: usize, permit: Permit) {
        self.lists.slots[index].stake = Stake::Permit(permit);
    }

    /// The attempt may start: it has no limiter.
    pub(crate) fn permit_free(&mut self, index: usize) {
        self.lists.slots[index].stake = Stake::Free;
    }

    /// Attempts may start that were granted permits together. What they name these by.
    pub(crate) fn share(&mut self, permits: Permits) -> u32 {
        let granted = &mut self.lists.let_go.granted;
        granted.push(permits);
        (granted.len() - 1) as u32
    }

    /// The attempt may start, under one of these.
    #[inline]
    pub(crate) fn permit_share(&mut self, index: usize, of: u32) {
        self.lists.slots[index].stake = Stake::Share { of, used: false };
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
    pub(crate) fn start(
        &mut self,
        index: usize,
        calls: u32,
        attempt: Attempt,
        span: Option<Span>,
        within: &mut Within,
    ) {
        let id = attempt.id;
        self.begin(index, id, calls, within);
        let all = self.calls[calls as usize].as_mut();
        let seat = match &span {
            Some(span) => span.in_scope(|| all.call(attempt)),
            None => all.call(attempt),
        };
        self.started(index, id, Seat { calls, seat }, span);
    }

    /// As [`Held::start`] and then [`Held::poll`], for the first attempt of a branch.
    #[inline]
    pub(crate) fn run(
        &mut self,
        index: usize,
        calls: u32,
        attempt: Attempt,
        waker: &Waker,
        within: &mut Within,
    ) -> Poll<Result<Seat, AttemptError>> {
        let id = attempt.id;
        self.begin(index, id, calls, within);
        let (seat, polled) =
            self.calls[calls as usize].as_mut().run(attempt, &mut Context::from_waker(waker));
        let seat = Seat { calls, seat };
        let Poll::Ready(result) = polled else {
            self.started(index, id, seat, None);
            return Poll::Pending;
        };
        self.lists.slots[index].runs = None;
        self.free(index, id);
        Poll::Ready(match result {
            Ok(true) => Ok(Seat { seat: NONE, ..seat }),
            Ok(false) => Ok(seat),
            Err(error) => Err(error),
        })
    }

    /// The attempt is about to be called. It runs from here on, in whichever seat, should the call or its first poll panic.
    #[inline]
    fn begin(&mut self, index: usize, id: AttemptId, calls: u32, within: &mut Within) {
        self.enter(index, within);
        self.lists.slots[index].runs = Some((id, Seat { calls, seat: NONE }));
    }

    /// The attempt is about to be called or polled: what its permit took is spent.
    #[inline]
    fn enter(&mut self, index: usize, within: &mut Within) {
        let Lists { slots, let_go, .. } = &mut self.lists;
        within.enter(match &mut slots[index].stake {
            Stake::Share { of, used } => {
                *used = true;
                Some(let_go.granted[*of as usize].limiter())
            }
            Stake::Permit(permit) => {
                permit.use_up();
                permit.limiter()
            }
            Stake::Free => None,
            Stake::None | Stake::Place(_) => {
                unreachable!("the machine starts what was granted, and attempt {index} was not")
            }
        });
    }

    #[inline]
    fn started(&mut self, index: usize, id: AttemptId, seat: Seat, span: Option<Span>) {
        let Lists { slots, spans, .. } = &mut self.lists;
        slots[index].runs = Some((id, seat));
        if span.is_some() {
            spans.resize_with(slots.len(), || None);
            spans[index] = span;
        }
    }

    /// The span of the attempt, if it runs and anybody listens.
    pub(crate) fn span(&self, index: usize) -> Option<&Span> {
        self.lists.spans.get(index)?.as_ref()
    }

    /// Polls the attempt if it runs, and lets go of it once it has ended. Its answer goes to its branch if that is `open`.
    pub(crate) fn poll(
        &mut self,
        index: usize,
        open: impl FnOnce(AttemptId) -> bool,
        waker: &Waker,
        within: &mut Within,
    ) -> Option<Ended> {
        let (attempt, seat) = self.lists.slots[index].runs?;
        self.enter(index, within);
        let calls = self.calls[seat.calls as usize].as_mut();
        let task = &mut Context::from_waker(waker);
        let branch = open(attempt).then_some(attempt.branch);
        let polled = match self.lists.spans.get(index) {
            Some(Some(span)) => span.in_scope(|| calls.poll(seat.seat, branch, task)),
            _ => calls.poll(seat.seat, branch, task),
        };
        let Poll::Ready(result) = polled else { return None };
        self.lists.slots[index].runs = None;
        self.free(index, attempt);
        Some((
            attempt,
            result.map(|with_branch| if with_branch { Seat { seat: NONE, ..seat } } else { seat }),
        ))
    }

    /// Drops the attempt's future; its place or permit is handed back later, a permit that is held once it is not.
    /// Whether it ran.
    pub(crate) fn let_go(&mut self, index: usize) -> bool {
        let slot = &mut self.lists.slots[index];
        if let Some((attempt, Seat { calls, seat })) = &mut slot.runs {
            let (attempt, calls, seat) = (*attempt, *calls, std::mem::replace(seat, NONE));
            if seat != NONE {
                // First, since it may be the one who holds the permit. It may panic, and is not dropped again then.
                self.calls[calls as usize].as_mut().clear(seat);
            }
            self.lists.slots[index].runs = None;
            self.free(index, attempt);
            return true;
        }
        match std::mem::take(&mut slot.stake) {
            Stake::None | Stake::Free => {}
            Stake::Place(place) => {
                self.queued -= 1;
                self.lists.let_go.places.push(place);
            }
            Stake::Permit(permit) => self.lists.let_go.permits.push(permit),
            Stake::Share { of, used } => self.lists.let_go.end(of, used),
        }
        false
    }

    /// Lets go of the permit of an attempt that ran, unless somebody holds it.
    #[inline]
    fn free(&mut self, index: usize, attempt: AttemptId) {
        let Lists { slots, spans, let_go, .. } = &mut self.lists;
        if let (Stake::Share { of, .. }, false, true) =
            (&slots[index].stake, self.mailbox.holds.any(), spans.is_empty())
        {
            let_go.end(*of, true);
            slots[index].stake = Stake::None;
            return;
        }
        if let Some(span) = spans.get_mut(index) {
            *span = None;
        }
        let holds = &self.mailbox.holds;
        let stake = std::mem::take(&mut slots[index].stake);
        match stake {
            Stake::Share { of, .. } if !holds.any() => let_go.end(of, true),
            Stake::Share { of, .. } => {
                let permit = let_go.granted[of as usize].one();
                let_go.permits.extend(holds.keep(attempt, permit));
            }
            Stake::Permit(permit) if !holds.any() => let_go.permits.push(permit),
            Stake::Permit(permit) => let_go.permits.extend(holds.keep(attempt, permit)),
            Stake::None | Stake::Place(_) | Stake::Free => {}
        }
    }

    /// Lets go of a permit that came by mail for an attempt that is gone.
    pub(crate) fn let_go_of(&mut self, permit: Permit) {
        self.lists.let_go.permits.push(permit);
    }

    /// Whether anything has come by mail.
    pub(crate) fn has_mail(&self) -> bool {
        !self.lists.mail.is_empty() || self.mailbox.any()
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

    /// Hands back all that was let go and all that came by mail, or still comes: nothing is held any more.
    fn settle(&mut self) {
        if self.has_mail() {
            let mut mail = self.mail();
            self.lists.let_go.permits.extend(mail.drain(..).filter_map(|(_, letter)| match letter {
                Letter::Permit(verdict) => verdict.ok(),
                Letter::Primed => None,
            }));
            self.mail_read(mail);
        }
        if !self.lists.let_go.is_empty() {
            self.lists.let_go.hand_back(Instant::now(), None);
        }
        if std::mem::take(&mut self.expects) {
            self.mailbox.close();
        }
    }

    /// Hands back all that was let go, and only then lets others have it.
    pub(crate) fn hand_back(&mut self, now: Instant) {
        let Lists { let_go, mail, .. } = &mut self.lists;
        if !let_go.is_empty() {
            let_go.hand_back(now, Some(Home { mailbox: &self.mailbox, mail }));
        }
    }
}

impl Drop for Held<'_> {
    /// A future that panics while it is dropped takes nothing along: its panic goes on once all is handed back.
    fn drop(&mut self) {
        let mut panic = None;
        for index in 0..self.lists.slots.len() {
            if let Err(caught) = catch_unwind(AssertUnwindSafe(|| self.let_go(index))) {
                self.let_go(index);
                panic = Some(caught);
            }
        }
        // What panicked in its first poll is still there.
        let rest = catch_unwind(AssertUnwindSafe(|| self.calls.clear()));
        self.settle();
        if let Some(panic) = panic.or(rest.err())
            && !thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}
