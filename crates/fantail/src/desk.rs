//! What a job works with, and hands on to the next one when it is over: so that jobs of a plan take memory once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use fantail_core::job::{Action, AttemptId, Event, Start};
use fantail_core::{Job, Plan, Primary, Time};
use tokio::time::Instant;

use crate::attempt::Context;
use crate::calls::{Kept, NONE, Spare};
use crate::clock::Clock;
use crate::held::{Lists, Seat};
use crate::mail::Mailbox;
use crate::sync::{Mutex, lock};
use crate::wakes::{Wakers, Woken};
use crate::{AttemptError, JobId};

/// The memory of one job: lists that are empty between two jobs, and what outsiders may have a handle of.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) clock: Clock,
    pub(crate) wakers: Wakers,
    pub(crate) context: Arc<Context>,
    pub(crate) job: Option<Job>,
    /// By branch: which of the job's calls are its, or [`NONE`].
    pub(crate) calls_of: Vec<u32>,
    /// What the calls came to, once the job is over. Nobody locks it: it only makes a result `Sync`, and so an error that
    /// `?` converts, whatever the answers.
    answers: StdMutex<Vec<Box<dyn Kept>>>,
    /// By branch, the primary's first; empty when nothing failed.
    pub(crate) errors: Vec<Vec<AttemptError>>,
    pub(crate) lists: Lists,
    pub(crate) measured: Vec<Option<Primary>>,
    /// Attempts to poll, each once before any of them twice.
    pub(crate) to_poll: VecDeque<Woken>,
    /// Answers and failures that were found, each with when it was there.
    pub(crate) found: Vec<(Time, Event)>,
    pub(crate) events: Vec<Event>,
    pub(crate) actions: Vec<Action>,
    /// Answers reported in the current step, until the machine says whether they won.
    pub(crate) reported: Vec<(AttemptId, Seat)>,
    /// The branches that answered, until somebody asks for them.
    pub(crate) arrived: VecDeque<u32>,
    /// By attempt index; `None` for those that have not started. Empty where no branch has two.
    pub(crate) targets: Vec<Option<u32>>,
    pub(crate) live: Vec<Option<Time>>,
}

impl Desk {
    fn new(plan: &Arc<Plan>) -> Desk {
        let clock = Clock::start();
        let wakers = Wakers::new(0, false, clock);
        Desk {
            clock,
            context: Context::new(plan, JobId::from(0), clock, wakers.wakes()),
            wakers,
            job: None,
            calls_of: Vec::new(),
            answers: StdMutex::default(),
            errors: Vec::new(),
            lists: Lists::default(),
            measured: Vec::new(),
            to_poll: VecDeque::new(),
            found: Vec::new(),
            events: Vec::new(),
            actions: Vec::new(),
            reported: Vec::new(),
            arrived: VecDeque::new(),
            targets: Vec::new(),
            live: Vec::new(),
        }
    }

    /// Makes what outsiders may hold fit for a job that starts at `now`. What somebody still holds of an earlier job is
    /// left to them: a late wake-up, letter or hold must not be taken for one of this job.
    pub(crate) fn prepare(&mut self, plan: &Arc<Plan>, id: JobId, stamped: bool, now: Instant) {
        let attempts = plan.attempts();
        if !self.clock.began_by(now) {
            self.clock = Clock::at(now);
        }
        if !self.wakers.reset(attempts, stamped, self.clock) {
            self.wakers = Wakers::new(attempts, stamped, self.clock);
        }
        let alone = Arc::get_mut(&mut self.context).is_some_and(|context| {
            let mailbox = Arc::get_mut(&mut context.mailbox);
            let mailbox = mailbox.filter(|mailbox| mailbox.wakes_by(self.wakers.wakes()));
            mailbox.map(Mailbox::reopen).is_some()
        });
        match Arc::get_mut(&mut self.context).filter(|_| alone) {
            Some(context) => {
                (context.id, context.clock) = (id, self.clock);
                context.plan.clone_from(plan);
            }
            None => self.context = Context::new(plan, id, self.clock, self.wakers.wakes()),
        }
        let several = attempts > plan.branches().len();
        self.targets.clear();
        self.targets.resize(if several { attempts } else { 0 }, None);
    }

    /// Starts a job, whose first actions are in the list then.
    pub(crate) fn start(&mut self, plan: &Arc<Plan>, rotation: u32, draw: u32, now: Time) {
        let start = Start { now, rotation, draw, live: &self.live };
        match &mut self.job {
            Some(job) => job.restart_as(plan, start, &mut self.actions),
            None => self.job = Some(Job::start(Arc::clone(plan), start, &mut self.actions)),
        }
    }

    /// The part that the result takes, where what the job keeps runs on with the rest.
    pub(crate) fn split(&mut self) -> Desk {
        Desk {
            job: self.job.clone(),
            calls_of: self.calls_of.clone(),
            answers: std::mem::take(&mut self.answers),
            errors: std::mem::take(&mut self.errors),
            ..Desk::new(&self.context.plan)
        }
    }

    /// What calls came to; before the job has come to anything, what those of an earlier one can be kept in.
    pub(crate) fn answers(&mut self) -> Spare<'_> {
        self.answers.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the machine all that is in the list.
    pub(crate) fn step(&mut self, now: Time) {
        self.job.as_mut().expect("the job has started").step(now, &mut self.events, &mut self.actions);
    }

    /// Forgets the job that it was for, and keeps the room. What a job makes anew when it starts stays until then.
    fn clear(&mut self) {
        let Desk { wakers, errors, to_poll, found, events, actions, reported, arrived, .. } = self;
        wakers.wakes().forget_task();
        errors.clear();
        // The job may have ended before all that was woken was polled.
        to_poll.clear();
        found.clear();
        events.clear();
        actions.clear();
        reported.clear();
        arrived.clear();
        let answers = self.answers();
        for answers in &mut *answers {
            answers.clear();
        }
        answers.reverse();
    }

    fn attempts(&self) -> usize {
        self.job.as_ref().map_or(0, |job| job.plan().attempts())
    }

    /// The job, which has started.
    pub(crate) fn job(&self) -> &Job {
        self.job.as_ref().expect("the job has started")
    }
}

/// Desks of jobs that are over.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "jobs and results hold desks in boxes, since they are large")]
pub(crate) struct Pool(Mutex<Vec<Box<Desk>>>);

impl Pool {
    /// How many there are at most: more jobs at once than that make new ones.
    const DESKS: usize = 64;
    /// How many attempts all but one have room for together, so that what a burst of large jobs took is not kept for good.
    const ATTEMPTS: usize = 1 << 16;

    /// A desk for a job of the plan, to be [prepared](Desk::prepare) when it starts.
    pub(crate) fn take(&self, plan: &Arc<Plan>) -> Box<Desk> {
        let desk = lock(&self.0).pop();
        let mut desk = desk.unwrap_or_else(|| Box::new(Desk::new(plan)));
        desk.calls_of.clear();
        desk.calls_of.resize(plan.branches().len(), NONE);
        desk
    }

    /// Takes the desk of a job that came to its end: what it ran has been dropped.
    pub(crate) fn put(&self, mut desk: Box<Desk>) {
        desk.clear();
        let mut desks = lock(&self.0);
        let attempts: usize = desks.iter().map(|desk| desk.attempts()).sum();
        if desks.is_empty() || desks.len() < Pool::DESKS && attempts + desk.attempts() <= Pool::ATTEMPTS {
            desks.push(desk);
        }
    }
}
