//! A plan with what its jobs share, and the builder of one job.

use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fantail_core::job::Role;
use fantail_core::{Branch, Budget, BudgetSpec, LiveDelay, Plan};
use tokio::time::Instant;

use crate::calls::{Branches, NONE, like, single};
use crate::desk::{Desk, Pool};
use crate::driver::Driver;
use crate::held::CallList;
use crate::inputs::Tap;
use crate::live::Live;
use crate::sync::Mutex;
use crate::{
    Attempt, AttemptError, Batches, Done, Each, Items, JobId, JoinError, Limiters, Misuse, Observer,
    Optional, Required, Running, SharedLimiter, lock, span,
};

/// A plan with the limiters and the budgets that all its jobs share. A cheap handle: clones share them too.
#[derive(Clone, Debug)]
pub struct Fanout {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan: Arc<Plan>,
    /// As the plan's limiters.
    pub(crate) limiters: Vec<SharedLimiter>,
    /// What pays for copies, if any branch has some.
    hedge_budget: Option<Arc<Mutex<Budget>>>,
    /// What pays for failovers, if any branch may fail over.
    failover_budget: Option<Arc<Mutex<Budget>>>,
    /// Whether a plan's jobs do anything by the clock.
    pub(crate) timed: bool,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    /// By [`Plan::live_delays`].
    pub(crate) live: Arc<[Live]>,
    first_job: JobId,
    /// Number of the next job.
    next: Arc<AtomicU64>,
    /// Where jobs that are over leave their memory.
    pub(crate) pool: Arc<Pool>,
}

impl Fanout {
    /// Binds a plan to the limiters that it names. One that is not in `limiters` yet is added as the plan states it; one
    /// that is there stays as it was made, whatever this plan says of it, since it stands for one account.
    pub fn new(plan: Plan, limiters: &Limiters) -> Fanout {
        let shared = Shared {
            limiters: plan.limiters().iter().map(|spec| limiters.get_or_add(spec)).collect(),
            hedge_budget: budget(&plan, |branch| branch.hedge.is_some(), plan.hedge_budget()),
            failover_budget: budget(&plan, |branch| branch.failover, plan.failover_budget()),
            timed: timed(&plan),
            observer: None,
            live: plan.live_delays().iter().map(|spec| Live::new(*spec)).collect(),
            first_job: JobId::random(),
            next: Arc::default(),
            pool: Arc::default(),
            plan: Arc::new(plan),
        };
        Fanout { shared: Arc::new(shared) }
    }

    /// The same plan, budget and limiters, with somebody who hears what happens in the jobs that are made of it.
    #[must_use]
    pub fn observed(&self, observer: Arc<dyn Observer>) -> Fanout {
        let shared = self.shared.with_plan(Arc::clone(&self.shared.plan));
        Fanout { shared: Arc::new(Shared { observer: Some(observer), ..shared }) }
    }

    /// Another plan of the same limiters, which shares all that this one's jobs share.
    pub(crate) fn with_plan(&self, plan: Plan) -> Fanout {
        Fanout { shared: Arc::new(self.shared.with_plan(Arc::new(plan))) }
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

    /// The live hedge delay of a branch, if it has one: what it is now, and what is known of its quantile. It is measured
    /// on the primaries of all jobs of the branches that share it, from their permits; a job takes it as it is when the
    /// job starts.
    pub fn live_delay(&self, branch: u32) -> Option<LiveDelay> {
        let live = self.plan().branches().get(branch as usize)?.live?;
        self.shared.live.get(live).map(|live| live.delay(Instant::now()))
    }

    /// A job to give branches to. Nothing runs before [`JobBuilder::join`] is polled.
    pub fn job<'f>(&self) -> JobBuilder<'f> {
        JobBuilder {
            shared: Arc::clone(&self.shared),
            id: None,
            until: None,
            keep: None,
            calls: CallList::new(),
            desk: self.shared.pool.take(&self.shared.plan),
            taps: Vec::new(),
            misuses: Vec::new(),
        }
    }
}

impl Shared {
    fn with_plan(&self, plan: Arc<Plan>) -> Shared {
        Shared {
            limiters: self.limiters.clone(),
            hedge_budget: self.hedge_budget.clone(),
            failover_budget: self.failover_budget.clone(),
            timed: timed(&plan),
            observer: self.observer.clone(),
            live: Arc::clone(&self.live),
            first_job: self.first_job,
            next: Arc::clone(&self.next),
            pool: Arc::clone(&self.pool),
            plan,
        }
    }

    /// The next job: a number that moves its choice of targets, a random word, and its id unless it is given one.
    pub(crate) fn next_job(&self) -> (u32, u32, JobId) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let in_row = self.first_job.after(number);
        let id = if self.plan.backfill() { JobId::random() } else { in_row };
        (number as u32, in_row.word(), id)
    }

    /// What pays for attempts of this role.
    pub(crate) fn budget(&self, role: Role) -> Option<&Arc<Mutex<Budget>>> {
        match role {
            Role::Primary => None,
            Role::Copy => self.hedge_budget.as_ref(),
            Role::Failover => self.failover_budget.as_ref(),
        }
    }

    /// So many primaries have answered.
    pub(crate) fn earn(&self, primaries: u64) {
        for budget in [&self.hedge_budget, &self.failover_budget].into_iter().flatten() {
            lock(budget).earn_for(primaries);
        }
    }
}

/// A budget of this spec, if any branch needs it.
fn budget(plan: &Plan, needs: impl Fn(&Branch) -> bool, spec: BudgetSpec) -> Option<Arc<Mutex<Budget>>> {
    plan.branches().iter().any(needs).then(|| Arc::new(Mutex::new(Budget::new(spec))))
}

/// Whether jobs do anything by the clock, so that it matters when an answer was there.
fn timed(plan: &Plan) -> bool {
    let timed = |branch: &Branch| {
        branch.deadline.is_some() || branch.attempt_timeout.is_some() || !branch.delays().is_empty()
    };
    plan.leader().is_some() || plan.branches().iter().any(timed)
}

/// Takes a job that is over on until nothing that it kept runs.
pub(crate) type Keep<'f> = fn(Driver<'f>);

/// One job in the making: every branch of the plan is given the closure that makes its calls.
#[must_use = "a job runs when it is joined"]
pub struct JobBuilder<'f> {
    shared: Arc<Shared>,
    id: Option<JobId>,
    until: Option<Instant>,
    keep: Option<Keep<'f>>,
    calls: CallList<'f>,
    desk: Box<Desk>,
    taps: Vec<Tap>,
    misuses: Vec<Misuse>,
}

impl<'f> JobBuilder<'f> {
    /// Gives a required branch its call; the result holds its answer.
    pub fn required<T, F, Fut>(&mut self, name: &str, run: F) -> Required<T>
    where
        T: Send + 'static,
        F: FnMut(Attempt) -> Fut + Send + 'f,
        Fut: Future<Output = Result<T, AttemptError>> + Send + 'f,
    {
        Required(self.give_required(name, run), PhantomData)
    }

    /// Gives a branch its call; the result may lack its answer.
    pub fn optional<T, F, Fut>(&mut self, name: &str, run: F) -> Optional<T>
    where
        T: Send + 'static,
        F: FnMut(Attempt) -> Fut + Send + 'f,
        Fut: Future<Output = Result<T, AttemptError>> + Send + 'f,
    {
        Optional(self.give(name, run), PhantomData)
    }

    /// Gives all branches that have no call yet the same one; so it comes after the branches that have their own.
    pub fn each<T, F, Fut>(&mut self, run: F) -> Each<T>
    where
        T: Send + 'static,
        F: Fn(Attempt) -> Fut + Send + Sync + 'f,
        Fut: Future<Output = Result<T, AttemptError>> + Send + 'f,
    {
        let branches = self.take_rest();
        self.calls.push(like(branches.clone(), run, self.desk.answers()));
        Each(branches, PhantomData)
    }

    /// Gives each item a branch of its own, of those that have no call yet: as many as there are items. An item is
    /// cloned for each attempt, so large ones go in by reference.
    pub fn items<I, T, F, Fut>(&mut self, items: impl IntoIterator<Item = I>, run: F) -> Items<T>
    where
        I: Clone + Send + 'f,
        T: Send + 'static,
        F: Fn(Attempt, I) -> Fut + Send + Sync + 'f,
        Fut: Future<Output = Result<T, AttemptError>> + Send + 'f,
    {
        let items: Vec<I> = items.into_iter().collect();
        Items(self.give_items(items, run), PhantomData)
    }

    /// Gives each batch of items a branch of its own, of those that have no call yet: as many as there are batches. The
    /// call answers with one answer for each item, in the order of the items; any other number is a permanent failure.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use fantail::{Limiters, Pattern};
    /// # use fantail_core::{BranchSpec, PlanSpec};
    /// let embed = Pattern::new(PlanSpec::new("embed", vec![]), BranchSpec::new("batch"), &Limiters::default());
    /// let texts: Vec<String> = (0..250).map(|i| format!("text {i}")).collect();
    ///
    /// let mut job = embed.job(texts.len().div_ceil(100))?;
    /// let lengths = job.batches(texts.chunks(100), |_attempt, batch| async move {
    ///     Ok(batch.iter().map(String::len).collect())
    /// });
    /// let lengths = job.join().await?.take(lengths);
    /// assert_eq!((lengths.len(), lengths[9], lengths[249]), (250, Some(6), Some(8)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn batches<I, T, F, Fut>(&mut self, batches: impl IntoIterator<Item = &'f [I]>, run: F) -> Batches<T>
    where
        I: Sync + 'f,
        T: Send + 'static,
        F: Fn(Attempt, &'f [I]) -> Fut + Send + Sync + 'f,
        Fut: Future<Output = Result<Vec<T>, AttemptError>> + Send + 'f,
    {
        let batches: Vec<&'f [I]> = batches.into_iter().collect();
        let sizes = batches.iter().map(|batch| batch.len()).collect();
        let run = move |attempt, batch: &'f [I]| {
            let call = run(attempt, batch);
            async move {
                let answers = call.await?;
                let (items, n) = (batch.len(), answers.len());
                let error = || format!("a batch of {items} items came to {n} answers");
                if n == items { Ok(answers) } else { Err(AttemptError::permanent(error())) }
            }
        };
        Batches(self.give_items(batches, run), sizes, PhantomData)
    }

    /// For branches whose call can be made once only.
    pub fn once(&mut self) -> Once<'_, 'f> {
        Once(self)
    }

    /// The id of the job: that of an earlier one makes this a repeat, with the same
    /// [idempotency keys](Attempt::key). Default: a new one.
    pub fn id(&mut self, id: JobId) -> &mut JobBuilder<'f> {
        self.id = Some(id);
        self
    }

    /// Ends the job at `until` at the latest, as if its plan said so; `None` changes nothing. For a job inside an attempt
    /// of another one, which passes its [deadline](Attempt::deadline) on, so that what the inner job has by then is not
    /// lost with the attempt.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use fantail::{Fanout, Limiters};
    /// # use fantail_core::{BranchSpec, Plan, PlanSpec, Time};
    /// # let pages = BranchSpec::new("pages");
    /// # let outer = PlanSpec { deadline: Some(Time::from_millis(50)), ..PlanSpec::new("book", vec![pages]) };
    /// # let book = Fanout::new(Plan::new(outer)?, &Limiters::default());
    /// # let optional = |name| BranchSpec { required: Some(false), ..BranchSpec::new(name) };
    /// # let inner = PlanSpec::new("pages", vec![optional("first"), optional("second")]);
    /// # let pages = Fanout::new(Plan::new(inner)?, &Limiters::default());
    /// let mut job = book.job();
    /// let found = job.required("pages", |attempt| {
    ///     let mut job = pages.job();
    ///     let first = job.optional("first", |_| async { Ok(1) });
    ///     let _second = job.optional("second", |_| std::future::pending::<Result<(), _>>());
    ///     job.until(attempt.deadline());
    ///     async move { Ok(job.join().await?.take(first)) }
    /// });
    /// assert_eq!(job.join().await?.take(found), Some(1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn until(&mut self, until: Option<Instant>) -> &mut JobBuilder<'f> {
        self.until = self.until.into_iter().chain(until).min();
        self
    }

    /// How many branches the plan has.
    pub(crate) fn branches(&self) -> u32 {
        self.shared.plan.n()
    }

    pub(crate) fn add_tap(&mut self, tap: Tap) {
        self.taps.push(tap);
    }

    fn give<T, F, Fut>(&mut self, name: &str, run: F) -> u32
    where
        T: Send + 'static,
        F: FnMut(Attempt) -> Fut + Send + 'f,
        Fut: Future<Output = Result<T, AttemptError>> + Send + 'f,
    {
        let Some(branch) = self.shared.plan.branch(name) else {
            self.misuses.push(Misuse::Unknown(name.to_owned()));
            return u32::MAX;
        };
        let calls = self.calls.len() as u32;
        if std::mem::replace(&mut self.desk.calls_of[branch as usize], calls) != NONE {
            self.misuses.push(Misuse::Twice(name.to_owned()));
        }
        self.calls.push(single(branch, run, self.desk.answers()));
        branch
    }

    fn give_required<T, F, Fut>(&mut self, name: &str, run: F) -> u32
    where
        T: Send + 'static,
        F: FnMut(Attempt) -> Fut + Send + 'f,
        Fut: Future<Output = Result<T, AttemptError>> + Send + 'f,
    {
        let branch = self.give(name, run);
        if let Some(declared) = self.shared.plan.branches().get(branch as usize)
            && !declared.required
        {
            self.misuses.push(Misuse::NotRequired(name.to_owned()));
        }
        branch
    }

    /// Gives the branches that have no call yet one for each item.
    fn give_items<I, T, F, Fut>(&mut self, items: Vec<I>, run: F) -> Branches
    where
        I: Clone + Send + 'f,
        T: Send + 'static,
        F: Fn(Attempt, I) -> Fut + Send + Sync + 'f,
        Fut: Future<Output = Result<T, AttemptError>> + Send + 'f,
    {
        let branches = self.take_rest();
        if branches.len() != items.len() {
            self.misuses.push(Misuse::Count { items: items.len(), branches: branches.len() });
        }
        let of = branches.clone();
        let call = move |attempt: Attempt| {
            let item = of.place(attempt.branch()).map(|place| items[place].clone());
            run(attempt, item.expect("there is an item for each of these branches"))
        };
        self.calls.push(like(branches.clone(), call, self.desk.answers()));
        branches
    }

    /// The branches that have no call yet; the next one is theirs.
    fn take_rest(&mut self) -> Branches {
        let calls = self.calls.len() as u32;
        let open = (0..).zip(&mut self.desk.calls_of).filter(|(_, calls)| **calls == NONE);
        open.map(|(branch, open)| {
            *open = calls;
            branch
        })
        .collect()
    }

    /// Starts the job in the calling task, for answers that are taken as they come.
    ///
    /// # Errors
    /// [`JoinError::Invalid`] when the branches are not those of the plan, all misuses at once.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(self) -> Result<Running<'f>, JoinError> {
        let keep = self.keep;
        Ok(Running::new(self.drive(true)?, keep))
    }

    /// Runs the job in the calling task, from its first poll on. Dropping the future drops all attempts and hands back
    /// their permits. A panic in a branch comes through.
    ///
    /// # Errors
    /// [`JoinError::Invalid`] when the branches are not those of the plan, all misuses at once;
    /// [`JoinError::Failed`] when the verdict is failed.
    pub async fn join(self) -> Result<Done, JoinError> {
        let keep = self.keep;
        let mut driver = self.drive(false)?;
        let verdict = poll_fn(|task| driver.poll(task)).await;
        driver.into_result(verdict, keep)
    }

    fn drive(self, streamed: bool) -> Result<Driver<'f>, JoinError> {
        let JobBuilder { mut shared, id, until, keep, calls, desk, taps, mut misuses } = self;
        let declared = desk.calls_of.iter().zip(shared.plan.branches());
        let missing = declared.filter(|(calls, _)| **calls == NONE);
        misuses.extend(missing.map(|(_, branch)| Misuse::Missing(branch.name.clone())));
        if shared.plan.observe() > 0 && keep.is_none() {
            misuses.push(Misuse::Unobserved);
        }
        if !misuses.is_empty() {
            return Err(JoinError::Invalid(misuses));
        }
        if let Some(until) = until {
            let left = span(until.saturating_duration_since(Instant::now()));
            shared = Arc::new(shared.with_plan(Arc::new(shared.plan.within(left))));
        }
        Ok(Driver::start(shared, id, calls, taps, desk, streamed))
    }
}

impl JobBuilder<'static> {
    /// Lets primaries outlive the job when it is one of those that the plan [observes](Plan::observe): such a plan needs
    /// it, and calls that borrow nothing. For others it changes nothing.
    ///
    /// What the job needs no more then runs on in a task of its own, under its permits, until it ends or its deadline cuts
    /// it, and is measured; dropping the job's future before its result drops that too. A panic in it ends that task and
    /// is heard by nobody else; so does the end of the runtime.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// # use fantail::{Fanout, Limiters};
    /// # use fantail_core::{BranchSpec, Plan, PlanSpec, Time, WaitFor};
    /// let shards = (0..8).map(|i| BranchSpec::new(format!("shard-{i}"))).collect();
    /// let plan = Plan::new(PlanSpec {
    ///     wait_for: WaitFor::First(5),
    ///     deadline: Some(Time::from_millis(200)),
    ///     observe: 1_000_000,
    ///     ..PlanSpec::new("search", shards)
    /// })?;
    /// let search = Fanout::new(plan, &Limiters::default());
    ///
    /// let mut job = search.job();
    /// let hits = job.each(|attempt| async move {
    ///     tokio::time::sleep(Duration::from_millis(10 * u64::from(attempt.branch()))).await;
    ///     Ok(attempt.branch())
    /// });
    /// job.observe();
    /// let mut done = job.join().await?;
    /// assert_eq!(done.elapsed(), Time::from_millis(40));
    /// assert_eq!(done.ledger().kept.kept, 3);
    /// # let _ = done.take(hits);
    /// # Ok(())
    /// # }
    /// ```
    pub fn observe(&mut self) -> &mut JobBuilder<'static> {
        self.keep = Some(Driver::run_on);
        self
    }
}

/// Gives branches calls that can be made once only. So the plan must not have copies or failovers of them: it is refused
/// otherwise, before anything starts.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use fantail::{Fanout, Limiters};
/// # use fantail_core::{BranchSpec, Plan, PlanSpec};
/// # let plan = Plan::new(PlanSpec::new("order", vec![BranchSpec::new("charge")]))?;
/// # let order = Fanout::new(plan, &Limiters::default());
/// let card = String::from("a card that is used up");
/// let mut job = order.job();
/// let receipt = job.once().required("charge", |_attempt| async { Ok(card) });
/// assert_eq!(job.join().await?.take(receipt), "a card that is used up");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Once<'b, 'f>(&'b mut JobBuilder<'f>);

impl<'f> Once<'_, 'f> {
    /// As [`JobBuilder::required`].
    pub fn required<T, F, Fut>(self, name: &str, run: F) -> Required<T>
    where
        T: Send + 'static,
        F: FnOnce(Attempt) -> Fut + Send + 'f,
        Fut: Future<Output = Result<T, AttemptError>> + Send + 'f,
    {
        let branch = self.0.give_required(name, run_once(run));
        self.refuse_copies(branch);
        Required(branch, PhantomData)
    }

    /// As [`JobBuilder::optional`].
    pub fn optional<T, F, Fut>(self, name: &str, run: F) -> Optional<T>
    where
        T: Send + 'static,
        F: FnOnce(Attempt) -> Fut + Send + 'f,
        Fut: Future<Output = Result<T, AttemptError>> + Send + 'f,
    {
        let branch = self.0.give(name, run_once(run));
        self.refuse_copies(branch);
        Optional(branch, PhantomData)
    }

    fn refuse_copies(self, branch: u32) {
        if let Some(declared) = self.0.shared.plan.branches().get(branch as usize)
            && (!declared.delays().is_empty() || declared.failover)
        {
            self.0.misuses.push(Misuse::Repeated(declared.name.clone()));
        }
    }
}

/// `run` as a call that is made at most once.
fn run_once<F: FnOnce(Attempt) -> Fut, Fut>(run: F) -> impl FnMut(Attempt) -> Fut {
    let mut run = Some(run);
    move |attempt| {
        let run = run.take().expect("a branch without copies and failover has one attempt");
        run(attempt)
    }
}

impl std::fmt::Debug for JobBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobBuilder").field("plan", &self.shared.plan.name()).finish_non_exhaustive()
    }
}
