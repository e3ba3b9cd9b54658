//! Which of a job's attempts can make progress, and since when.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Wake, Waker};

use atomic_waker::AtomicWaker;
use fantail_core::Time;

use crate::clock::Clock;
use crate::sync::atomic::{AtomicU64, Ordering, fence};

/// A bit for every attempt that was woken, and the task to wake. So one wake-up polls what it must, not all.
#[derive(Debug)]
pub(crate) struct Wakes {
    bits: Box<[AtomicU64]>,
    /// By attempt: when it was woken first since it was taken, in nanoseconds, or [`UNKNOWN`]. Empty where nothing depends
    /// on it.
    stamps: Box<[AtomicU64]>,
    clock: Clock,
    task: AtomicWaker,
}

const UNKNOWN: u64 = u64::MAX;

/// An attempt that is to be polled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Woken {
    pub(crate) attempt: usize,
    /// From when on it could make progress, if that is known: an answer that this poll finds was there then.
    pub(crate) since: Option<Time>,
}

impl Wakes {
    /// For so many attempts; `stamped` when it matters when they were woken.
    pub(crate) fn new(attempts: usize, stamped: bool, clock: Clock) -> Arc<Wakes> {
        let words = |n: usize, value| (0..n).map(|_| AtomicU64::new(value)).collect();
        let stamps = words(if stamped { attempts } else { 0 }, UNKNOWN);
        Arc::new(Wakes { bits: words(attempts.div_ceil(64), 0), stamps, clock, task: AtomicWaker::new() })
    }

    /// Sets the task to wake. What was woken before that is seen by looking once more, and what is woken after it wakes.
    pub(crate) fn register(&self, task: &Waker) {
        self.task.register(task);
    }

    /// Whether there is anything to take.
    pub(crate) fn any(&self) -> bool {
        self.bits.iter().any(|bits| bits.load(Ordering::Acquire) != 0)
    }

    /// Wakes nobody from now on.
    pub(crate) fn forget_task(&self) {
        self.task.take();
    }

    /// Wakes the task without naming an attempt.
    pub(crate) fn wake(&self) {
        self.task.wake();
    }

    /// Appends the attempts that were woken since the last call, lowest first.
    pub(crate) fn take(&self, woken: &mut VecDeque<Woken>) {
        for (word, bits) in self.bits.iter().enumerate() {
            if bits.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut set = bits.swap(0, Ordering::Acquire);
            while set != 0 {
                let attempt = word * 64 + set.trailing_zeros() as usize;
                let stamp = self.stamps.get(attempt).map(|stamp| stamp.swap(UNKNOWN, Ordering::Relaxed));
                let since = stamp.filter(|stamp| *stamp != UNKNOWN).map(Time::from_nanos);
                woken.push_back(Woken { attempt, since });
                set &= set - 1;
            }
        }
    }

    /// Notes that an attempt is woken. Only the first time since it was taken costs a look at the clock.
    fn note(&self, attempt: usize) {
        let (word, bit) = (&self.bits[attempt / 64], 1 << (attempt % 64));
        if let Some(stamp) = self.stamps.get(attempt)
            && word.load(Ordering::Relaxed) & bit == 0
        {
            // The earliest counts: between two wake-ups of one moment, or when the last one has just been taken.
            stamp.fetch_min(self.clock.now().as_nanos(), Ordering::Relaxed);
        }
        word.fetch_or(bit, Ordering::Release);
    }
}

/// The wakers of a job's attempts. They are made once, and serve one job after another as long as nobody else has any: a
/// waker that somebody kept would wake an attempt of another job.
#[derive(Debug)]
pub(crate) struct Wakers {
    wakes: Arc<Wakes>,
    /// By attempt, each beside the waker that it was made into.
    made: Vec<Option<(Arc<AttemptWaker>, Waker)>>,
}

impl Wakers {
    /// As [`Wakes::new`].
    pub(crate) fn new(attempts: usize, stamped: bool, clock: Clock) -> Wakers {
        Wakers { wakes: Wakes::new(attempts, stamped, clock), made: Vec::new() }
    }

    pub(crate) fn wakes(&self) -> &Arc<Wakes> {
        &self.wakes
    }

    /// The waker of an attempt.
    #[inline]
    pub(crate) fn of(&mut self, attempt: usize) -> &Waker {
        if self.made.len() <= attempt {
            self.made.resize_with(attempt + 1, || None);
        }
        let (_, waker) = self.made[attempt].get_or_insert_with(|| {
            let waker = Arc::new(AttemptWaker { wakes: Arc::clone(&self.wakes), attempt });
            (Arc::clone(&waker), Waker::from(waker))
        });
        waker
    }

    /// Forgets what was woken, for another job of so many attempts. `false` when it cannot: they are too few, their stamps
    /// are of another clock or none, or somebody has a waker of them.
    #[must_use]
    pub(crate) fn reset(&mut self, attempts: usize, stamped: bool, clock: Clock) -> bool {
        let Wakes { bits, stamps, clock: own, .. } = &*self.wakes;
        let ours = |(waker, _): &(Arc<AttemptWaker>, Waker)| Arc::strong_count(waker) == 2;
        let fit = bits.len() * 64 >= attempts && (!stamped || stamps.len() >= attempts) && *own == clock;
        if !fit || !self.made.iter().flatten().all(ours) {
            return false;
        }
        // What the last others did with the wakers comes before what follows.
        fence(Ordering::Acquire);
        bits.iter().for_each(|bits| bits.store(0, Ordering::Relaxed));
        stamps.iter().for_each(|stamp| stamp.store(UNKNOWN, Ordering::Relaxed));
        true
    }
}

#[derive(Debug)]
struct AttemptWaker {
    wakes: Arc<Wakes>,
    attempt: usize,
}

impl Wake for AttemptWaker {
    fn wake(self: Arc<AttemptWaker>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<AttemptWaker>) {
        self.wakes.note(self.attempt);
        self.wakes.task.wake();
    }
}
