//! What threads share jobs and limiters with. A test puts other primitives in their place, and goes through the ways in which
//! threads can meet.

use std::sync::PoisonError;

pub(crate) use std::sync::atomic;
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Locks; nothing panics while it holds one of these locks, so a poisoned one is as good as any.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
