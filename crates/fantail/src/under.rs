//! Under permits of which limiters a thread is polling attempts, so that nobody waits for what he has.

use std::cell::RefCell;

use crate::limiter::SharedLimiter;

thread_local! {
    /// Under permits of which limiters the attempts run that this thread is polling, one inside the other.
    static UNDER: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Under a permit of which limiter attempts are called or polled, one after another, until it is dropped. Meanwhile that
/// limiter refuses whoever asks from inside them: there may be no other permit, and this one is not handed back before the
/// attempt has its own.
#[derive(Default)]
pub(crate) struct Within(Option<usize>);

impl Within {
    /// The next attempt runs under a permit of this limiter.
    #[inline]
    pub(crate) fn enter(&mut self, limiter: Option<&SharedLimiter>) {
        let address = limiter.map(SharedLimiter::address);
        if self.0 == address {
            return;
        }
        UNDER.with_borrow_mut(|under| {
            if self.0.is_some() {
                under.pop();
            }
            under.extend(address);
        });
        self.0 = address;
    }

    /// What comes next is no attempt.
    pub(crate) fn leave(&mut self) {
        self.enter(None);
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Under permits of which limiters an attempt runs, for one that goes on in another task.
pub(crate) struct Under(Vec<usize>);

impl Under {
    /// Those of the attempt that this thread is polling.
    pub(crate) fn current() -> Under {
        Under(UNDER.with_borrow(Vec::clone))
    }

    /// Polls what runs under them.
    pub(crate) fn poll<T>(&self, poll: impl FnOnce() -> T) -> T {
        struct Leave(usize);
        impl Drop for Leave {
            fn drop(&mut self) {
                UNDER.with_borrow_mut(|under| under.truncate(under.len() - self.0));
            }
        }
        UNDER.with_borrow_mut(|under| under.extend(&self.0));
        let _leave = Leave(self.0.len());
        poll()
    }
}

/// Whether the attempt that this thread is polling runs under a permit of the limiter.
pub(crate) fn is_under(limiter: &SharedLimiter) -> bool {
    UNDER.with_borrow(|under| under.contains(&limiter.address()))
}
