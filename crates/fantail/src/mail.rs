//! What limiters and attempts tell a job.

use std::sync::{Arc, PoisonError};

use fantail_core::job::{AttemptId, Refusal};

use crate::hold::Holds;
use crate::limiter::Permit;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, lock};
use crate::wakes::Wakes;

/// What limiters and attempts tell a job, and what is held of it.
#[derive(Debug)]
pub(crate) struct Mailbox {
    pub(crate) holds: Holds,
    mail: Mutex<Letters>,
    /// Whether there is mail, so that nobody locks for nothing.
    any: AtomicBool,
    wakes: Arc<Wakes>,
}

pub(crate) type Mail = (AttemptId, Letter);

/// What has come, and whether the job is over and nothing comes any more.
#[derive(Debug, Default)]
struct Letters {
    mail: Vec<Mail>,
    closed: bool,
}

/// What a job is told of an attempt.
#[derive(Debug)]
pub(crate) enum Letter {
    /// It may start, or never will.
    Permit(Result<Permit, Refusal>),
    /// It has primed what the branches share.
    Primed,
}

impl Mailbox {
    pub(crate) fn new(wakes: Arc<Wakes>) -> Arc<Mailbox> {
        let mail = Mutex::default();
        Arc::new(Mailbox { holds: Holds::default(), mail, any: AtomicBool::new(false), wakes })
    }

    /// Whether it wakes by these.
    pub(crate) fn wakes_by(&self, wakes: &Arc<Wakes>) -> bool {
        Arc::ptr_eq(&self.wakes, wakes)
    }

    /// Whether there is anything to take.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Appends what has come.
    pub(crate) fn take(&self, mail: &mut Vec<Mail>) {
        if self.any() {
            let mut letters = lock(&self.mail);
            self.any.store(false, Ordering::Relaxed);
            mail.append(&mut letters.mail);
        }
    }

    /// The job is over: drops what has come and what is still under way, so that permits go back.
    pub(crate) fn close(&self) {
        let mut letters = lock(&self.mail);
        letters.closed = true;
        self.any.store(false, Ordering::Relaxed);
        let mail: Vec<Mail> = letters.mail.drain(..).collect();
        // First, since a permit that comes back may be sent on.
        drop(letters);
        drop(mail);
    }

    /// Makes it fit for another job, once nobody else has it.
    pub(crate) fn reopen(&mut self) {
        let letters = self.mail.get_mut().unwrap_or_else(PoisonError::into_inner);
        letters.mail.clear();
        letters.closed = false;
        self.any.store(false, Ordering::Relaxed);
        self.holds.forget();
    }

    pub(crate) fn primed(&self, attempt: AttemptId) {
        self.deliver(attempt, Letter::Primed);
    }

    /// Wakes the job.
    pub(crate) fn wake(&self) {
        self.wakes.wake();
    }

    pub(crate) fn deliver(&self, attempt: AttemptId, letter: Letter) {
        let mut letters = lock(&self.mail);
        if letters.closed {
            drop(letters);
            // Only now, since a permit that comes back may be sent on.
            drop(letter);
            return;
        }
        letters.mail.push((attempt, letter));
        self.any.store(true, Ordering::Release);
        drop(letters);
        self.wakes.wake();
    }
}

/// Whose letters need not go by mail, since it is the job that sees to the limiter, and where they go.
pub(crate) struct Home<'h> {
    pub(crate) mailbox: &'h Arc<Mailbox>,
    pub(crate) mail: &'h mut Vec<Mail>,
}
