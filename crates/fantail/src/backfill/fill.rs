//! Keeps what results lack, and fills it in.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use fantail_core::Time;
use fantail_core::job::{Class, Failure, Outcome, Refusal};
use tokio::sync::Notify;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, timeout};

use super::{Bounds, Claim, NewDocument, NewSlot, Settings, SlotState, Store, StoreError};
use crate::{AttemptError, Done, Fanout, SharedLimiter, span};

/// How long the store is left alone when it fails.
const STORE_PAUSE: Duration = Duration::from_secs(1);
/// How long a worker that is to stop waits for the store: for what it was asked, and then for it to take back what is running.
const STORE_PATIENCE: Duration = Duration::from_secs(5);
/// How often expired documents are forgotten, and how long a look at the store may be put off.
const SWEEP: Duration = Duration::from_secs(60);
/// How many are forgotten in one transaction.
const SWEEP_LIMIT: usize = 1_000;

/// Keeps what partial results lack, and fills it in with the handlers of branches.
///
/// Only optional branches are filled in, and only those that may be sent twice or never started. A try is no attempt: it
/// runs outside any job, under the branch's limiter behind all jobs, with the job's [key](crate::IdempotencyKey) for the
/// branch. A try that fails is made again after a [pause](super::Backoff), unless its failure was permanent.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use bytes::Bytes;
/// use fantail::backfill::{Backfill, DocumentState, Kept, MemoryStore, Settings, Store};
/// use fantail::{AttemptError, Fanout, Limiters};
/// use fantail_core::{BranchSpec, Plan, PlanSpec, Time};
///
/// let summary = BranchSpec { required: Some(false), repeatable: true, ..BranchSpec::new("summary") };
/// let spec = PlanSpec { backfill: true, ..PlanSpec::new("enrich", vec![BranchSpec::new("type"), summary]) };
/// let enrich = Fanout::new(Plan::new(spec)?, &Limiters::default());
///
/// let store = Arc::new(MemoryStore::default());
/// let mut backfill = Backfill::new(store.clone(), Settings::default());
/// backfill.handle(&enrich, "summary", |claim| async move { Ok(claim.request.slice(..4)) });
/// let backfill = Arc::new(backfill);
/// tokio::spawn(Arc::clone(&backfill).run(std::future::pending()));
///
/// let document = "a long document";
/// let mut job = enrich.job();
/// let kind = job.required("type", |_| async { Ok(Bytes::from("note")) });
/// let summary = job.optional("summary", |_| async { Err::<Bytes, _>("not today".into()) });
/// let mut done = job.join().await?;
///
/// let (kind, _missing) = (done.take(kind), done.take(summary));
/// let kept = backfill.keep(&done, Bytes::from(document), Bytes::new(), |branch| match branch {
///     0 => kind.clone(),
///     _ => Bytes::new(),
/// });
/// assert!(matches!(kept.await, Kept::Stored));
/// // Now the partial result may go out, with the id under which the rest will be found.
/// let id = done.id().to_string();
/// tokio::time::sleep(std::time::Duration::from_secs(1)).await;
/// let document = store.document(Time::ZERO, &id).await?.expect("it was stored");
/// assert_eq!(document.state(), DocumentState::Complete);
/// assert_eq!(document.slots[1].body, "a lo");
/// # Ok(())
/// # }
/// ```
pub struct Backfill {
    store: Arc<dyn Store>,
    settings: Settings,
    /// By plan.
    bounds: HashMap<String, Bounds>,
    /// By plan, then by branch.
    handlers: HashMap<String, HashMap<String, Handler>>,
    /// Rings when there is something new to do.
    bell: Notify,
    now: Box<dyn Fn() -> Time + Send + Sync>,
}

type Try = Pin<Box<dyn Future<Output = Result<Bytes, AttemptError>> + Send>>;

struct Handler {
    limiter: Option<SharedLimiter>,
    weight: u32,
    run: Box<dyn Fn(Claim) -> Try + Send + Sync>,
}

/// What became of the gaps of a result.
#[derive(Clone, Debug)]
#[must_use]
pub enum Kept {
    /// There are none that may be filled in.
    Nothing,
    /// They will be filled in.
    Stored,
    /// The store did not confirm in time; they may be filled in all the same.
    Unconfirmed,
    /// The store refused the document.
    Refused(StoreError),
}

impl Backfill {
    /// Without handlers nothing is kept.
    pub fn new(store: Arc<dyn Store>, settings: Settings) -> Backfill {
        let now = || span(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
        let (bounds, handlers) = (HashMap::new(), HashMap::new());
        Backfill { store, settings, bounds, handlers, bell: Notify::new(), now: Box::new(now) }
    }

    /// Takes the time since the Unix epoch from `now`, where that is not the system's: under a paused clock, say.
    #[must_use]
    pub fn with_clock(mut self, now: impl Fn() -> Time + Send + Sync + 'static) -> Backfill {
        self.now = Box::new(now);
        self
    }

    /// Bounds the documents of a plan, in place of the [settings](Settings::bounds).
    pub fn bound(&mut self, fanout: &Fanout, bounds: Bounds) {
        self.bounds.insert(fanout.plan().name().to_owned(), bounds);
    }

    /// Has `run` fill in a branch of a plan. It is given the claim with the request, and answers with the branch's answer;
    /// a [permanent](AttemptError::permanent) error ends all tries, a [pushback](AttemptError::pushback) pauses the
    /// branch's limiter too.
    ///
    /// # Panics
    /// When the plan has no such branch, or requires it: results never lack required branches.
    pub fn handle<F, Fut>(&mut self, fanout: &Fanout, branch: &str, run: F)
    where
        F: Fn(Claim) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Bytes, AttemptError>> + Send + 'static,
    {
        let plan = fanout.plan();
        let index = plan.branch(branch).unwrap_or_else(|| panic!("the plan has no branch `{branch}`"));
        let declared = &plan.branches()[index as usize];
        assert!(!declared.required, "branch `{branch}` is required: no result lacks it");
        let handler = Handler {
            limiter: fanout.limiter(index).cloned(),
            weight: declared.weight,
            run: Box::new(move |claim| Box::pin(run(claim))),
        };
        self.handlers.entry(plan.name().to_owned()).or_default().insert(branch.to_owned(), handler);
    }

    /// The branches that a result lacks and that can be filled in, in order: those that have a handler and may be sent twice
    /// or never started.
    pub fn gaps(&self, done: &Done) -> Vec<u32> {
        let plan = done.job().plan();
        let Some(handlers) = self.handlers.get(plan.name()).filter(|_| plan.backfill()) else {
            return Vec::new();
        };
        let fills = |branch: &u32| {
            let declared = &plan.branches()[*branch as usize];
            let again = declared.repeatable || done.slot(*branch).attempts == 0;
            !declared.required && again && handlers.contains_key(&declared.name)
        };
        done.incomplete().filter(fills).collect()
    }

    /// Stores what a partial result lacks, as far as it may be filled in, under the job's id. To be awaited before the
    /// result goes out: when this says [`Kept::Stored`], nothing is lost any more.
    ///
    /// `request` is what handlers get, `result` what the document's reader gets. `body` says what is kept of each branch:
    /// its answer, or what is known of its absence.
    pub async fn keep(
        &self,
        done: &Done,
        request: Bytes,
        result: Bytes,
        mut body: impl FnMut(u32) -> Bytes,
    ) -> Kept {
        let plan = done.job().plan();
        let gaps = self.gaps(done);
        if gaps.is_empty() {
            return Kept::Nothing;
        }
        let slots = (0..).zip(plan.branches()).map(|(branch, declared)| {
            let state = if done.outcome(branch) == Outcome::Answered {
                SlotState::Answered
            } else if gaps.binary_search(&branch).is_ok() {
                SlotState::Queued
            } else {
                SlotState::Excluded
            };
            let key = done.id().key(branch).to_string();
            NewSlot { branch: declared.name.clone(), state, key, body: body(branch) }
        });
        let slots: Vec<NewSlot> = slots.collect();
        let bounds = self.bounds.get(plan.name()).copied().unwrap_or(self.settings.bounds);
        let now = (self.now)();
        let document = NewDocument {
            id: done.id().to_string(),
            plan: plan.name().to_owned(),
            request,
            result,
            expires_at: now.saturating_add(bounds.ttl),
            max_tries: bounds.tries,
            max_bytes: bounds.max_bytes,
            slots,
        };
        let left = plan.deadline().map_or(Time::ZERO, |deadline| deadline.saturating_sub(done.elapsed()));
        let by = Duration::from_nanos(left.as_nanos()).saturating_add(bounds.enqueue_timeout);
        match timeout(by, self.store.enqueue(now, document)).await {
            Ok(Ok(())) => {
                self.bell.notify_one();
                Kept::Stored
            }
            Ok(Err(error)) => Kept::Refused(error),
            Err(_) => Kept::Unconfirmed,
        }
    }

    /// Makes tries until `stop`, then hands those back that are running, unless the store hangs. Dropping the future drops
    /// the tries. What was not handed back is taken up again when its lease runs out.
    pub async fn run(self: Arc<Backfill>, stop: impl Future<Output = ()> + Send) {
        let mut stop = pin!(stop);
        let mut tries = Tries::default();
        let mut next_sweep = Instant::now();
        loop {
            let started = {
                let mut starting = pin!(self.start_due(&mut tries, &mut next_sweep));
                tokio::select! {
                    started = &mut starting => Some(started),
                    () = &mut stop => {
                        // What is claimed in the meantime is handed back too.
                        drop(timeout(STORE_PATIENCE, starting).await);
                        None
                    }
                }
            };
            let wake_at = match started {
                None => break,
                Some(Ok(wake_at)) => wake_at,
                Some(Err(error)) => {
                    tracing::error!(%error, "backfill rests, for the store fails");
                    Instant::now() + STORE_PAUSE
                }
            };
            tokio::select! {
                () = &mut stop => break,
                () = self.bell.notified() => {}
                () = tokio::time::sleep_until(wake_at) => {}
                Some(ended) = tries.set.join_next_with_id() => tries.ended(ended),
            }
        }
        let claims = tries.abort().await;
        if timeout(STORE_PATIENCE, self.hand_back(claims)).await.is_err() {
            tracing::error!("the store hangs: what ran is taken up again when its leases run out");
        }
    }

    async fn hand_back(&self, claims: Vec<Claim>) {
        for claim in claims {
            if let Err(error) = self.store.release(&claim, (self.now)()).await {
                tracing::error!(document = claim.document, branch = claim.branch, %error, "a claim can't be handed back");
            }
        }
    }

    /// Starts what is due and there is room for. Returns when to look again.
    async fn start_due(
        self: &Arc<Backfill>,
        tries: &mut Tries,
        next_sweep: &mut Instant,
    ) -> Result<Instant, StoreError> {
        if *next_sweep <= Instant::now() {
            let more = self.store.expire((self.now)(), SWEEP_LIMIT).await? == SWEEP_LIMIT;
            *next_sweep = Instant::now() + if more { Duration::ZERO } else { SWEEP };
        }
        let at_once = self.settings.at_once.max(1);
        let room = at_once.saturating_sub(tries.set.len());
        if room > 0 {
            for claim in self.store.claim((self.now)(), self.lease(), room).await? {
                let task = tries.set.spawn(Arc::clone(self).make_try(claim.clone()));
                tries.claims.insert(task.id(), claim);
            }
        }
        if tries.set.len() >= at_once {
            return Ok(*next_sweep);
        }
        let now = (self.now)();
        let due = self.store.next_due(now).await?.map(|due| due.saturating_sub(now));
        let due = due.map(|wait| Instant::now() + Duration::from_nanos(wait.as_nanos()).min(SWEEP));
        Ok(due.map_or(*next_sweep, |due| due.min(*next_sweep)))
    }

    /// How long a branch belongs to one try: as long as it may take, and as long again to write down what came of it.
    fn lease(&self) -> Time {
        span((self.settings.permit_timeout.saturating_add(self.settings.try_timeout)).saturating_mul(2))
    }

    async fn make_try(self: Arc<Backfill>, claim: Claim) {
        let written = match self.fill(&claim).await {
            Ok(answer) => self.store.answer(&claim, answer).await,
            Err(NoAnswer::NoPermit) => {
                self.store.release(&claim, self.retry_at(&claim, None)).await.map(|()| None)
            }
            Err(NoAnswer::Failed(error)) => {
                let permanent = error.failure() == Failure::Permanent;
                let retry_at = (!permanent).then(|| self.retry_at(&claim, error.pause()));
                self.store.fail(&claim, retry_at, error.to_string()).await
            }
        };
        let Claim { document, branch, number, .. } = &claim;
        match written {
            Ok(state) => tracing::debug!(document, branch, number, ?state, "a backfill try ended"),
            Err(error) => {
                tracing::error!(document, branch, number, %error, "a backfill try can't be written down");
            }
        }
    }

    async fn fill(&self, claim: &Claim) -> Result<Bytes, NoAnswer> {
        let handler = self.handlers.get(&claim.plan).and_then(|branches| branches.get(&claim.branch));
        let handler =
            handler.ok_or_else(|| AttemptError::permanent("nobody fills in this branch any more"))?;
        let _permit = match &handler.limiter {
            Some(limiter) => {
                let within = self.settings.permit_timeout;
                let until = Instant::now().checked_add(within);
                match timeout(within, limiter.acquire(Class::Backfill, handler.weight, until)).await {
                    Ok(Ok(permit)) => Some(permit),
                    Ok(Err(Refusal::Limiter)) => {
                        return Err(AttemptError::permanent("the limiter never permits it").into());
                    }
                    Ok(Err(_)) | Err(_) => return Err(NoAnswer::NoPermit),
                }
            }
            None => None,
        };
        let limit = self.settings.try_timeout;
        let answer = match timeout(limit, (handler.run)(claim.clone())).await {
            Ok(answer) => answer,
            Err(_) => Err(AttemptError::timed_out(span(limit))),
        };
        if let (Some(limiter), Err(error)) = (&handler.limiter, &answer)
            && let Some(pause) = error.pause()
        {
            limiter.push_back(pause);
        }
        Ok(answer?)
    }

    /// When the next try may start.
    fn retry_at(&self, claim: &Claim, asked: Option<Duration>) -> Time {
        let mut jitter = [0; 4];
        getrandom::fill(&mut jitter).expect("the system has randomness");
        let pause = self.settings.backoff.pause(claim.number, u32::from_ne_bytes(jitter), asked.map(span));
        (self.now)().saturating_add(pause)
    }
}

impl fmt::Debug for Backfill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backfill").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What came of a try that has no answer.
enum NoAnswer {
    /// It never got a permit: it does not count.
    NoPermit,
    Failed(AttemptError),
}

impl From<AttemptError> for NoAnswer {
    fn from(error: AttemptError) -> NoAnswer {
        NoAnswer::Failed(error)
    }
}

/// The tries that run, and their claims.
#[derive(Default)]
struct Tries {
    set: JoinSet<()>,
    claims: HashMap<Id, Claim>,
}

impl Tries {
    fn ended(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        let claim = self.claims.remove(&id);
        if let Err(error) = ended {
            let branch = claim.map(|claim| claim.branch);
            tracing::error!(branch, %error, "a backfill try panicked; its lease will run out");
        }
    }

    /// Ends all, and returns the claims of those that had not come to their end.
    async fn abort(mut self) -> Vec<Claim> {
        self.set.abort_all();
        let mut aborted = Vec::new();
        while let Some(ended) = self.set.join_next_with_id().await {
            match ended {
                Err(error) if error.is_cancelled() => aborted.extend(self.claims.remove(&error.id())),
                ended => self.ended(ended),
            }
        }
        aborted
    }
}
