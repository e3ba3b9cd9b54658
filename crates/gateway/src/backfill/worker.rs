//! Makes the tries.

use std::sync::Arc;
use std::time::Duration;

use fantail::backfill::{Backoff, Claim, Store, StoreError};
use fantail_core::Time;
use fantail_core::job::{Class, Refusal};
use fantail_stores::SqliteStore;
use http::HeaderValue;
use serde_json::value::RawValue;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Backfiller;
use crate::data::{Data, Kept};
use crate::upstream::{Call, UpstreamError};
use crate::{clock, random};

/// How many tries run at once, beside what limiters permit.
const MAX_TRIES: usize = 16;
/// How long a try may wait for a permit, behind all jobs, before it steps back.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the call of a try may run.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a branch belongs to one try: both timeouts, and time to write down what came of it.
const LEASE: Time = Time::from_secs(120);
/// How often expired documents are forgotten.
const SWEEP: Duration = Duration::from_secs(60);
/// How many are forgotten in one transaction.
const SWEEP_LIMIT: usize = 1_000;
/// How long the worker rests when the store fails.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// Makes tries until `stop`, then hands back those that are running.
pub(crate) async fn work(data: Arc<Data>, backfiller: Backfiller, stop: CancellationToken) {
    let mut tries = JoinSet::new();
    let mut next_sweep = Instant::now();
    while !stop.is_cancelled() {
        let wake_at = match start_due(&data, &backfiller.store, &mut tries, &stop, &mut next_sweep).await {
            Ok(wake_at) => wake_at,
            Err(error) => {
                tracing::error!(%error, "backfill rests, for the store fails");
                Instant::now() + STORE_PAUSE
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = backfiller.bell.notified() => {}
            () = tokio::time::sleep_until(wake_at) => {}
            Some(ended) = tries.join_next() => if let Err(error) = ended {
                tracing::error!(%error, "a backfill try panicked; its lease will run out");
            },
        }
    }
    while tries.join_next().await.is_some() {}
}

/// Starts what is due and there is room for. Returns when to look again.
async fn start_due(
    data: &Arc<Data>,
    store: &SqliteStore,
    tries: &mut JoinSet<()>,
    stop: &CancellationToken,
    next_sweep: &mut Instant,
) -> Result<Instant, StoreError> {
    if *next_sweep <= Instant::now() {
        let forgotten = store.expire(clock::unix_now(), SWEEP_LIMIT).await?;
        let more = forgotten == SWEEP_LIMIT;
        *next_sweep = Instant::now() + if more { Duration::ZERO } else { SWEEP };
    }
    let room = MAX_TRIES - tries.len();
    if room == 0 {
        return Ok(*next_sweep);
    }
    let claims = store.claim(clock::unix_now(), LEASE, room).await?;
    for claim in claims {
        tries.spawn(make_try(Arc::clone(data), store.clone(), claim, stop.clone()));
    }
    if tries.len() == MAX_TRIES {
        return Ok(*next_sweep);
    }
    let now = clock::unix_now();
    let due = store.next_due(now).await?.map(|due| due.saturating_sub(now));
    let due = due.map(|wait| Instant::now() + Duration::from_nanos(wait.as_nanos()).min(SWEEP));
    Ok(due.map_or(*next_sweep, |due| due.min(*next_sweep)))
}

/// What came of a try that has no answer.
enum NoAnswer {
    /// It never got a permit: it does not count.
    NoPermit,
    /// The call failed.
    Failed(UpstreamError),
    /// The call took too long.
    TimedOut,
    /// Nothing that could be tried again.
    Hopeless(&'static str),
}

impl From<UpstreamError> for NoAnswer {
    fn from(error: UpstreamError) -> NoAnswer {
        NoAnswer::Failed(error)
    }
}

async fn make_try(data: Arc<Data>, store: SqliteStore, claim: Claim, stop: CancellationToken) {
    let written = tokio::select! {
        biased;
        () = stop.cancelled() => store.release(&claim, clock::unix_now()).await.map(|()| None),
        result = fill(&data, &claim) => match result {
            Ok(answer) => store.answer(&claim, String::from(Box::<str>::from(answer)).into()).await,
            Err(NoAnswer::NoPermit) => store.release(&claim, retry_at(&claim, None)).await.map(|()| None),
            Err(NoAnswer::Hopeless(why)) => store.fail(&claim, None, why.to_owned()).await,
            Err(NoAnswer::TimedOut) => {
                let error = format!("no answer within {} s", CALL_TIMEOUT.as_secs());
                store.fail(&claim, Some(retry_at(&claim, None)), error).await
            }
            Err(NoAnswer::Failed(error)) => {
                let next = error.is_retryable().then(|| retry_at(&claim, error.pause()));
                store.fail(&claim, next, error.to_string()).await
            }
        },
    };
    let Claim { document, branch, number, .. } = &claim;
    match written {
        Ok(state) => tracing::debug!(document, branch, number, ?state, "a backfill try ended"),
        Err(error) => {
            tracing::error!(document, branch, number, %error, "a backfill try can't be written down");
        }
    }
}

/// When the next try may start.
fn retry_at(claim: &Claim, asked: Option<Duration>) -> Time {
    let asked = asked.map(|asked| Time::from_nanos(u64::try_from(asked.as_nanos()).unwrap_or(u64::MAX)));
    clock::unix_now().saturating_add(Backoff::default().pause(claim.number, random::draw(), asked))
}

/// Asks for a missing answer, under a permit, at the targets that the plan has now.
async fn fill(data: &Data, claim: &Claim) -> Result<Box<RawValue>, NoAnswer> {
    let unread = NoAnswer::Hopeless("the request was kept by another version, and can't be read");
    let kept: Option<Kept> = serde_json::from_slice(&claim.request).ok();
    let inbound = kept.and_then(Kept::restore).ok_or(unread)?;
    let served = data.served.get(&claim.plan).ok_or(NoAnswer::Hopeless("the plan is not served any more"))?;
    let captures = served.route.capture(&inbound.path);
    let captures = captures.ok_or(NoAnswer::Hopeless("the plan's route has changed"))?;
    let branch = served.plan().branch(&claim.branch);
    let branch = branch.ok_or(NoAnswer::Hopeless("the plan does not have the branch any more"))?;
    let key =
        HeaderValue::try_from(&claim.key).map_err(|_| NoAnswer::Hopeless("the key is no header value"))?;

    let limiter = served.fanout.limiter(branch);
    let _permit = match limiter {
        Some(limiter) => {
            let weight = served.plan().branches()[branch as usize].weight;
            let until = Instant::now() + PERMIT_TIMEOUT;
            match timeout_at(until, limiter.acquire(Class::Backfill, weight, Some(until))).await {
                Ok(Ok(permit)) => Some(permit),
                Ok(Err(Refusal::Limiter)) => return Err(NoAnswer::Hopeless("the limiter never permits it")),
                Ok(Err(_)) | Err(_) => return Err(NoAnswer::NoPermit),
            }
        }
        None => None,
    };
    let target = claim.number % served.targets(branch).max(1);
    let call = served.call(branch, target, &inbound, &captures, key)?;
    let call = Call { time_left: Some(CALL_TIMEOUT), ..call };
    let answer = timeout(CALL_TIMEOUT, data.upstream.call(call)).await.map_err(|_| NoAnswer::TimedOut)?;
    if let (Some(limiter), Err(error)) = (limiter, &answer)
        && let Some(pause) = error.pause()
    {
        limiter.push_back(pause);
    }
    Ok(answer?)
}
