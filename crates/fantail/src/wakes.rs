//! Which of a job's attempts can make progress.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};

use atomic_waker::AtomicWaker;

/// A bit for every attempt that was woken, and the task to wake. So one wake-up polls what it must, not all.
#[derive(Debug)]
pub(crate) struct Wakes {
    bits: Box<[AtomicU64]>,
    task: AtomicWaker,
}

impl Wakes {
    pub(crate) fn new(attempts: usize) -> Arc<Wakes> {
        let bits = (0..attempts.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Wakes { bits, task: AtomicWaker::new() })
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
    pub(crate) fn take(&self, woken: &mut VecDeque<usize>) {
        for (word, bits) in self.bits.iter().enumerate() {
            if bits.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut set = bits.swap(0, Ordering::Acquire);
            while set != 0 {
                woken.push_back(word * 64 + set.trailing_zeros() as usize);
                set &= set - 1;
            }
        }
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
        self.wakes.bits[self.attempt / 64].fetch_or(1 << (self.attempt % 64), Ordering::Release);
        self.wakes.task.wake();
    }
}
