//! The calls of a job's branches: the one place that knows the types of closures, futures and answers.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::{Attempt, AttemptError};

/// The branches that share one call, lowest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branches {
    first: u32,
    len: u32,
    /// All of them, where they are not a row.
    list: Vec<u32>,
}

impl Branches {
    /// Adds one that is higher than all others.
    pub(crate) fn push(&mut self, branch: u32) {
        if self.len == 0 {
            self.first = branch;
        } else if self.list.is_empty() && branch != self.first + self.len {
            self.list.extend(self.first..self.first + self.len);
        }
        if !self.list.is_empty() {
            self.list.push(branch);
        }
        self.len += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    pub(crate) fn first(&self) -> Option<u32> {
        (self.len > 0).then_some(self.first)
    }

    /// Where a branch is among them.
    pub(crate) fn place(&self, branch: u32) -> Option<usize> {
        if self.list.is_empty() {
            branch.checked_sub(self.first).filter(|place| *place < self.len).map(|place| place as usize)
        } else {
            self.list.binary_search(&branch).ok()
        }
    }
}

impl FromIterator<u32> for Branches {
    fn from_iter<I: IntoIterator<Item = u32>>(branches: I) -> Branches {
        let mut all = Branches::default();
        branches.into_iter().for_each(|branch| all.push(branch));
        all
    }
}

/// The answers of branches that share one call, by their place among these.
pub(crate) struct Answers<T> {
    pub(crate) branches: Branches,
    pub(crate) values: Vec<Option<T>>,
}

impl<T> Default for Answers<T> {
    fn default() -> Answers<T> {
        Answers { branches: Branches::default(), values: Vec::new() }
    }
}

impl<T> Answers<T> {
    pub(crate) fn slot(&mut self, branch: u32) -> Option<&mut Option<T>> {
        let place = self.branches.place(branch)?;
        self.values.get_mut(place)
    }
}

/// Answers whose type is gone.
pub(crate) trait Kept: Any + Send {
    /// Drops those that nobody took, and keeps their list's room.
    fn clear(&mut self);
}

impl fmt::Debug for dyn Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answers")
    }
}

impl<T: Send + 'static> Kept for Answers<T> {
    fn clear(&mut self) {
        self.values.clear();
    }
}

/// The calls of some branches of a job. Every attempt that runs has a *seat*, which is free again once its answer was kept
/// or cleared away: so there are no more seats than attempts that run at once.
pub(crate) trait Calls: Send {
    /// Makes the call of an attempt. Its seat.
    fn call(self: Pin<&mut Self>, attempt: Attempt) -> u32;

    /// Polls the future in the seat. The seat is free again once it is ready, but for an answer that must wait there: where
    /// the branch is still `open` and has none yet, its answer goes to it at once, until the job says otherwise. Whether it
    /// did.
    fn poll(
        self: Pin<&mut Self>,
        seat: u32,
        open: Option<u32>,
        task: &mut Context<'_>,
    ) -> Poll<Result<bool, AttemptError>>;

    /// Makes the call of an attempt and polls it. Its seat, unless it is free again.
    fn run(
        self: Pin<&mut Self>,
        attempt: Attempt,
        task: &mut Context<'_>,
    ) -> (u32, Poll<Result<bool, AttemptError>>);

    /// Drops what is in the seat.
    fn clear(self: Pin<&mut Self>, seat: u32);

    /// Makes the answer in the seat that of the branch.
    fn keep(self: Pin<&mut Self>, seat: u32, branch: u32);

    /// The answer of the branch.
    fn answer(self: Pin<&mut Self>, branch: u32) -> Option<&(dyn Any + Send)>;

    /// Drops the answer of the branch.
    fn drop_answer(self: Pin<&mut Self>, branch: u32);

    /// The [`Answers`] so far, unless they were taken.
    fn answers(self: Pin<&mut Self>) -> Option<&mut dyn Kept>;

    /// Takes the [`Answers`].
    fn take_answers(self: Pin<&mut Self>) -> Option<Box<dyn Kept>>;
}

/// The calls of some branches of a job, and with them the type of their answers gone.
pub(crate) type AnyCalls<'f> = Pin<Box<dyn Calls + 'f>>;

pin_project! {
    /// Where one attempt runs, and its answer waits to be told apart from others.
    #[project = SeatPinned]
    #[project_replace = SeatTaken]
    enum Seat<F, T> {
        Free { next: u32 },
        Running { #[pin] future: F },
        Answered { answer: T },
    }
}

/// No calls, or no seat.
pub(crate) const NONE: u32 = u32::MAX;

/// A fixed number of seats that stay where they are. By default all are free.
trait Block: Default {
    type Future;
    type Answer;
    const SEATS: u32;

    fn seat(self: Pin<&mut Self>, place: u32) -> Pin<&mut Seat<Self::Future, Self::Answer>>;
}

impl<F, T> Default for Seat<F, T> {
    fn default() -> Seat<F, T> {
        Seat::Free { next: NONE }
    }
}

impl<F, T> Block for Seat<F, T> {
    type Future = F;
    type Answer = T;
    const SEATS: u32 = 1;

    fn seat(self: Pin<&mut Self>, _place: u32) -> Pin<&mut Seat<F, T>> {
        self
    }
}

pin_project! {
    /// Eight blocks in one, field by field, since a pin is not projected into an array.
    #[derive(Default)]
    struct Eight<B> {
        #[pin]
        a: B,
        #[pin]
        b: B,
        #[pin]
        c: B,
        #[pin]
        d: B,
        #[pin]
        e: B,
        #[pin]
        f: B,
        #[pin]
        g: B,
        #[pin]
        h: B,
    }
}

impl<B: Block> Block for Eight<B> {
    type Future = B::Future;
    type Answer = B::Answer;
    const SEATS: u32 = 8 * B::SEATS;

    fn seat(self: Pin<&mut Self>, place: u32) -> Pin<&mut Seat<B::Future, B::Answer>> {
        let blocks = self.project();
        let block = match place / B::SEATS {
            0 => blocks.a,
            1 => blocks.b,
            2 => blocks.c,
            3 => blocks.d,
            4 => blocks.e,
            5 => blocks.f,
            6 => blocks.g,
            _ => blocks.h,
        };
        block.seat(place % B::SEATS)
    }
}

pin_project! {
    /// Calls of one type, with the first block of seats in place.
    struct Group<C, B: Block> {
        call: C,
        #[pin]
        block: B,
        more: Vec<Pin<Box<Eight<B>>>>,
        // Seats that were ever taken.
        seats: u32,
        free: u32,
        // `None` once they were taken.
        answers: Option<Box<Answers<B::Answer>>>,
    }
}

/// Answers of earlier jobs, cleared, in the opposite order of their calls.
pub(crate) type Spare<'s> = &'s mut Vec<Box<dyn Kept>>;

/// The calls of a branch, which seldom has more than one attempt at a time.
pub(crate) fn single<'f, C, F, T>(branch: u32, call: C, spare: Spare<'_>) -> AnyCalls<'f>
where
    C: FnMut(Attempt) -> F + Send + 'f,
    F: Future<Output = Result<T, AttemptError>> + Send + 'f,
    T: Send + 'static,
{
    Group::<C, Seat<F, T>>::boxed([branch].into_iter().collect(), call, spare)
}

/// The calls of like branches.
pub(crate) fn like<'f, C, F, T>(branches: Branches, call: C, spare: Spare<'_>) -> AnyCalls<'f>
where
    C: FnMut(Attempt) -> F + Send + 'f,
    F: Future<Output = Result<T, AttemptError>> + Send + 'f,
    T: Send + 'static,
{
    Group::<C, Eight<Seat<F, T>>>::boxed(branches, call, spare)
}

impl<C, B: Block> Group<C, B> {
    fn boxed<'f>(branches: Branches, call: C, spare: Spare<'_>) -> AnyCalls<'f>
    where
        Group<C, B>: Calls + 'f,
        B::Answer: Send + 'static,
    {
        let spare =
            spare.pop().and_then(|spare| (spare as Box<dyn Any>).downcast::<Answers<B::Answer>>().ok());
        let mut answers = spare.unwrap_or_default();
        answers.values.resize_with(branches.len(), || None);
        answers.branches = branches;
        let answers = Some(answers);
        Box::pin(Group { call, block: B::default(), more: Vec::new(), seats: 0, free: NONE, answers })
    }

    fn seat(self: Pin<&mut Self>, seat: u32) -> Pin<&mut Seat<B::Future, B::Answer>> {
        let this = self.project();
        let Some(seat) = seat.checked_sub(B::SEATS) else { return this.block.seat(seat) };
        let block = (seat / Eight::<B>::SEATS) as usize;
        this.more[block].as_mut().seat(seat % Eight::<B>::SEATS)
    }

    /// A seat that is free.
    fn free_seat(mut self: Pin<&mut Self>) -> u32 {
        let free = self.free;
        if free != NONE {
            if let Seat::Free { next } = *self.as_mut().seat(free) {
                *self.project().free = next;
            }
            return free;
        }
        let this = self.project();
        let seat = *this.seats;
        if seat >= B::SEATS && (seat - B::SEATS).is_multiple_of(Eight::<B>::SEATS) {
            // Made in its place on the heap: it may be large.
            this.more.push(Box::<Eight<B>>::default().into());
        }
        *this.seats += 1;
        seat
    }

    /// Drops the future in a seat, or takes the answer. The seat is free then.
    fn leave(mut self: Pin<&mut Self>, seat: u32) -> Option<B::Answer> {
        let next = self.free;
        let taken = self.as_mut().seat(seat).project_replace(Seat::Free { next });
        *self.project().free = seat;
        match taken {
            SeatTaken::Answered { answer } => Some(answer),
            SeatTaken::Free { .. } | SeatTaken::Running { .. } => None,
        }
    }
}

impl<C, B, F, T> Calls for Group<C, B>
where
    C: FnMut(Attempt) -> F + Send,
    B: Block<Future = F, Answer = T> + Send,
    F: Future<Output = Result<T, AttemptError>>,
    T: Send + 'static,
{
    fn call(mut self: Pin<&mut Self>, attempt: Attempt) -> u32 {
        let future = (self.as_mut().project().call)(attempt);
        let seat = self.as_mut().free_seat();
        self.seat(seat).set(Seat::Running { future });
        seat
    }

    fn poll(
        mut self: Pin<&mut Self>,
        seat: u32,
        open: Option<u32>,
        task: &mut Context<'_>,
    ) -> Poll<Result<bool, AttemptError>> {
        let SeatPinned::Running { future } = self.as_mut().seat(seat).project() else { return Poll::Pending };
        let result = ready!(future.poll(task));
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => {
                self.leave(seat);
                return Poll::Ready(Err(error));
            }
        };
        let answers = self.as_mut().project().answers.as_mut();
        let slot = answers.zip(open).and_then(|(answers, branch)| answers.slot(branch));
        if let Some(slot @ None) = slot {
            *slot = Some(answer);
            self.leave(seat);
            return Poll::Ready(Ok(true));
        }
        self.seat(seat).set(Seat::Answered { answer });
        Poll::Ready(Ok(false))
    }

    fn run(
        mut self: Pin<&mut Self>,
        attempt: Attempt,
        task: &mut Context<'_>,
    ) -> (u32, Poll<Result<bool, AttemptError>>) {
        let branch = attempt.id.branch;
        let seat = self.as_mut().call(attempt);
        (seat, self.poll(seat, Some(branch), task))
    }

    fn clear(self: Pin<&mut Self>, seat: u32) {
        self.leave(seat);
    }

    fn keep(mut self: Pin<&mut Self>, seat: u32, branch: u32) {
        let answer = self.as_mut().leave(seat);
        if let Some(slot) = self.project().answers.as_mut().and_then(|answers| answers.slot(branch)) {
            *slot = answer;
        }
    }

    fn answer(self: Pin<&mut Self>, branch: u32) -> Option<&(dyn Any + Send)> {
        let answer = self.project().answers.as_mut()?.slot(branch)?.as_ref()?;
        Some(answer)
    }

    fn drop_answer(self: Pin<&mut Self>, branch: u32) {
        if let Some(slot) = self.project().answers.as_mut().and_then(|answers| answers.slot(branch)) {
            *slot = None;
        }
    }

    fn answers(self: Pin<&mut Self>) -> Option<&mut dyn Kept> {
        let answers = self.project().answers.as_deref_mut()?;
        Some(answers)
    }

    fn take_answers(self: Pin<&mut Self>) -> Option<Box<dyn Kept>> {
        let answers = self.project().answers.take()?;
        Some(answers)
    }
}
