//! A plan with what its jobs share, and the builder of one job.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use fantail_core::job::Verdict;
use fantail_core::{Budget, Plan};

use crate::done::Answer;
use crate::driver::Driver;
use crate::{
    Attempt, AttemptError, Done, Each, Failed, JoinError, Limiters, Misuse, Optional, Required, SharedLimiter,
};

/// A plan with the limiters and the hedge budget that all its jobs share. A cheap handle: clones share them too.
#[derive(Clone, Debug)]
pub struct Fanout {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan: Arc<Plan>,
    /// As the plan's limiters.
    pub(crate) limiters: Vec<SharedLimiter>,
    /// Whether any branch has copies, so that the budget matters.
    pub(crate) hedged: bool,
    pub(crate) budget: Arc<Mutex<Budget>>,
    /// Number of the next job: moves its choice of targets.
    next: AtomicU32,
}

impl Fanout {
    /// Binds a plan to the limiters that it names. One that is not in `limiters` yet is added as the plan states it; one
    /// that is there stays as it was made, whatever this plan says of it, since it stands for one account.
    pub fn new(plan: Plan, limiters: &Limiters) -> Fanout {
        let shared = Shared {
            limiters: plan.limiters().iter().map(|spec| limiters.get_or_add(spec)).collect(),
            hedged: plan.branches().iter().any(|branch| branch.hedge.is_some()),
            budget: Arc::new(Mutex::new(Budget::new(plan.hedge_budget()))),
            next: AtomicU32::new(0),
            plan: Arc::new(plan),
        };
        Fanout { shared: Arc::new(shared) }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.shared.plan
    }

    /// The limiter of a branch, if it has one.
    pub fn limiter(&self, branch: u32) -> Option<&SharedLimiter> {
        let limiter = self.plan().branches().get(branch as usize)?.limiter?;
        self.shared.limiters.get(limiter)
    }

    /// A job to give branches to. Nothing runs before [`JobBuilder::join`] is polled.
    pub fn job<'f>(&self) -> JobBuilder<'f> {
        let branches = self.plan().branches().iter().map(|_| None).collect();
        JobBuilder { shared: Arc::clone(&self.shared), branches, misuses: Vec::new() }
    }
}

impl Shared {
    pub(crate) fn next_rotation(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

pub(crate) type AttemptFuture<'f> = Pin<Box<dyn Future<Output = Result<Answer, AttemptError>> + Send + 'f>>;

/// Makes the calls of one branch.
pub(crate) type Run<'f> = Box<dyn FnMut(Attempt) -> AttemptFuture<'f> + Send + 'f>;

/// One job in the making: every branch of the plan is given the closure that makes its calls.
#[must_use = "a job runs when it is joined"]
pub struct JobBuilder<'f> {
    shared: Arc<Shared>,
    branches: Vec<Option<Run<'f>>>,
    misuses: Vec<Misuse>,
}

impl<'f> JobBuilder<'f> {
    /// Gives a required branch its call; the result holds its answer.
    pub fn required<T, F, Fut>(&mut self, name: &str, mut run: F) -> Required<T>
    where
        T: Send + 'static,
        F: FnMut(Attempt) -> Fut + Send + 'f,
        Fut: Future<Output = Result<T, AttemptError>> + Send + 'f,
    {
        let branch = self.give(name, Box::new(move |attempt| erase(run(attempt))));
        if let Some(declared) = self.shared.plan.branches().get(branch as usize)
            && !declared.required
        {
            self.misuses.push(Misuse::NotRequired(name.to_owned()));
        }
        Required(branch, PhantomData)
    }

    /// Gives a branch its call; the result may lack its answer.
    pub fn optional<T, F, Fut>(&mut self, name: &str, mut run: F) -> Optional<T>
    where
        T: Send + 'static,
        F: FnMut(Attempt) -> Fut + Send + 'f,
        Fut: Future<Output = Result<T, AttemptError>> + Send + 'f,
    {
        Optional(self.give(name, Box::new(move |attempt| erase(run(attempt)))), PhantomData)
    }

    /// Gives all branches that have no call yet the same one; so it comes after the branches that have their own.
    pub fn each<T, F, Fut>(&mut self, run: F) -> Each<T>
    where
        T: Send + 'static,
        F: Fn(Attempt) -> Fut + Send + Sync + 'f,
        Fut: Future<Output = Result<T, AttemptError>> + Send + 'f,
    {
        let run = Arc::new(run);
        let mut given = Vec::new();
        for (branch, call) in (0..).zip(&mut self.branches).filter(|(_, call)| call.is_none()) {
            let run = Arc::clone(&run);
            *call = Some(Box::new(move |attempt| erase(run(attempt))));
            given.push(branch);
        }
        Each(given, PhantomData)
    }

    fn give(&mut self, name: &str, run: Run<'f>) -> u32 {
        let Some(branch) = self.shared.plan.branch(name) else {
            self.misuses.push(Misuse::Unknown(name.to_owned()));
            return u32::MAX;
        };
        if self.branches[branch as usize].replace(run).is_some() {
            self.misuses.push(Misuse::Twice(name.to_owned()));
        }
        branch
    }

    /// Runs the job in the calling task, from its first poll on. Dropping the future drops all attempts and hands back
    /// their permits. A panic in a branch comes through.
    ///
    /// # Errors
    /// [`JoinError::Invalid`] when the branches are not those of the plan, all misuses at once;
    /// [`JoinError::Failed`] when the verdict is failed.
    pub async fn join(self) -> Result<Done, JoinError> {
        let JobBuilder { shared, branches, mut misuses } = self;
        let names = shared.plan.branches().iter().map(|declared| &declared.name);
        let missing = branches.iter().zip(names).filter(|(run, _)| run.is_none());
        misuses.extend(missing.map(|(_, name)| Misuse::Missing(name.clone())));
        if !misuses.is_empty() {
            return Err(JoinError::Invalid(misuses));
        }
        let mut driver = Driver::start(shared, branches.into_iter().flatten().collect());
        let verdict = std::future::poll_fn(|task| driver.poll(task)).await;
        let done = driver.into_done(verdict);
        match verdict {
            Verdict::Failed(_) => Err(JoinError::Failed(Box::new(Failed(done)))),
            Verdict::Complete | Verdict::Partial => Ok(done),
        }
    }
}

impl std::fmt::Debug for JobBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobBuilder").field("plan", &self.shared.plan.name()).finish_non_exhaustive()
    }
}

fn erase<'f, T: Send + 'static>(
    call: impl Future<Output = Result<T, AttemptError>> + Send + 'f,
) -> AttemptFuture<'f> {
    Box::pin(async move { call.await.map(|answer| Box::new(answer) as Answer) })
}
