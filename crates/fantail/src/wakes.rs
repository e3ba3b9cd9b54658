//! Which of a job's attempts can make progress, and since when.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Wake, Waker};

use atomic_waker::AtomicWaker;
use fantail_core::Time;

use crate::clock::Clock;
use crate::sync::atomic::{AtomicU64, Ordering};

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

    /// Sets the task to wake. To be called before [`Wakes::take`], so that no wake-up falls between the two.
    pub(crate) fn register(&self, task: &Waker) {
        self.task.register(task);
    }

    /// Wakes the task without naming an attempt.
    pub(crate) fn wake(&self) {
        self.task.wake();
    }

    /// A waker for one attempt.
    pub(crate) fn waker(self: &Arc<Wakes>, attempt: usize) -> Waker {
        Waker::from(Arc::new(AttemptWaker { wakes: Arc::clone(self), attempt }))
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
