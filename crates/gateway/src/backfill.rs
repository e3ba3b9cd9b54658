//! Backfill over HTTP: what is kept of a request, and the calls that fill in what its result lacked.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fantail::backfill::{Backfill, Bounds, Claim, Kept, Settings, SlotState, Store, StoreError};
use fantail::{AttemptError, Done};
use fantail_stores::SqliteStore;
use http::HeaderValue;
use serde_json::value::RawValue;

use crate::clock;
use crate::data::{BackfillBody, Earlier, FanoutBody, Inbound, KeptRequest, Missing, Served, json};
use crate::upstream::{Call, Upstream, UpstreamError};

/// The queue of what results lacked.
#[derive(Debug)]
pub(crate) struct Queue {
    store: SqliteStore,
    backfill: Arc<Backfill>,
}

impl Queue {
    /// For the optional branches of those plans that have backfill.
    pub(crate) fn new<'s>(
        store: SqliteStore,
        served: impl IntoIterator<Item = &'s Arc<Served>>,
        upstream: &Upstream,
    ) -> Queue {
        let settings = Settings::default();
        let try_timeout = settings.try_timeout;
        let mut backfill = Backfill::new(Arc::new(store.clone()), settings);
        for served in served {
            let Some(stated) = served.backfill else { continue };
            let bounds = Bounds {
                ttl: stated.ttl,
                tries: stated.tries,
                max_bytes: stated.max_bytes.into(),
                enqueue_timeout: Duration::from_nanos(stated.enqueue_timeout.as_nanos()),
            };
            backfill.bound(&served.fanout, bounds);
            for (branch, declared) in (0..).zip(served.plan().branches()).filter(|(_, b)| !b.required) {
                let (served, upstream, store) = (Arc::clone(served), upstream.clone(), store.clone());
                let filler = Filler { served, branch, upstream, store, try_timeout };
                backfill.handle(&filler.served.fanout.clone(), &declared.name, move |claim| {
                    filler.clone().fill(claim)
                });
            }
        }
        Queue { store, backfill: Arc::new(backfill) }
    }

    pub(crate) fn store(&self) -> &SqliteStore {
        &self.store
    }

    /// Makes tries until `stop`, then hands back those that are running.
    pub(crate) async fn run(&self, stop: impl Future<Output = ()> + Send) {
        Arc::clone(&self.backfill).run(stop).await;
    }

    /// Stores what a partial result lacks and may be filled in, and says in `incomplete` how far that came. Returns where
    /// the document grows, once that is sure.
    pub(crate) async fn keep(
        &self,
        inbound: &Inbound,
        done: &Done,
        answers: &[Option<Box<RawValue>>],
        incomplete: &mut [Missing],
    ) -> Option<String> {
        let plan = done.job().plan();
        let name = |branch: u32| plan.branches()[branch as usize].name.as_str();
        let gaps = self.backfill.gaps(done);
        let body = |branch: u32| match &answers[branch as usize] {
            Some(answer) => Bytes::copy_from_slice(answer.get().as_bytes()),
            None => json(&incomplete.iter().find(|missing| missing.branch == name(branch))),
        };
        let (request, result) = (json(&KeptRequest::of(inbound)), json(&FanoutBody::of(done)));
        let kept = self.backfill.keep(done, request, result, body).await;
        let link = format!("{}/jobs/{}", inbound.path.trim_end_matches('/'), done.id());
        let said = match &kept {
            Kept::Nothing => return None,
            Kept::Stored => BackfillBody::new("queued", &link),
            Kept::Unconfirmed => {
                tracing::warn!(plan = plan.name(), "the store did not confirm a document in time");
                BackfillBody::new("unconfirmed", &link)
            }
            Kept::Refused(error) => {
                tracing::error!(plan = plan.name(), %error, "a partial result can't be queued for backfill");
                let error = match error {
                    // The only one that is the client's to know; the others name files.
                    StoreError::TooLarge { .. } => error.to_string(),
                    _ => "the store failed".to_owned(),
                };
                BackfillBody { error: Some(error), ..BackfillBody::new("refused", &link) }
            }
        };
        for missing in incomplete {
            if gaps.iter().any(|gap| name(*gap) == missing.branch) {
                missing.backfill = Some(said.clone());
            }
        }
        matches!(kept, Kept::Stored).then_some(link)
    }
}

/// Makes the tries of one branch, at the targets that the plan has now.
#[derive(Clone)]
struct Filler {
    served: Arc<Served>,
    branch: u32,
    upstream: Upstream,
    store: SqliteStore,
    try_timeout: Duration,
}

impl Filler {
    async fn fill(self, claim: Claim) -> Result<Bytes, AttemptError> {
        let kept: Option<KeptRequest> = serde_json::from_slice(&claim.request).ok();
        let inbound = kept.and_then(KeptRequest::restore).ok_or_else(|| {
            AttemptError::permanent("the request was kept by another version, and can't be read")
        })?;
        let captures = self.served.route.capture(&inbound.path);
        let captures = captures.ok_or_else(|| AttemptError::permanent("the plan's route has changed"))?;
        let key = HeaderValue::try_from(&claim.key).map_err(AttemptError::permanent)?;
        let earlier = self.earlier(&claim).await?;
        let target = claim.number % self.served.targets(self.branch).max(1);
        let call = self.served.call((self.branch, target), &inbound, &captures, key, &earlier);
        let call = call.map_err(UpstreamError::into_attempt)?;
        let call = Call { time_left: Some(self.try_timeout), ..call };
        let answer = self.upstream.call(call).await.map_err(UpstreamError::into_attempt)?;
        Ok(String::from(Box::<str>::from(answer)).into())
    }

    /// The answers of the branches that this one comes after, in the job or filled in since.
    async fn earlier(&self, claim: &Claim) -> Result<Earlier, AttemptError> {
        let declared = &self.served.plan().branches()[self.branch as usize];
        if declared.after.is_empty() {
            return Ok(Earlier::new());
        }
        let document = self.store.document(clock::unix_now(), &claim.document).await;
        let document = document.map_err(AttemptError::retryable)?;
        let document = document.ok_or_else(|| AttemptError::permanent("the document has expired"))?;
        let mut earlier = Earlier::new();
        for first in &declared.after {
            let name = &self.served.plan().branches()[*first].name;
            let slot = document.slots.iter().find(|slot| slot.branch == *name);
            match slot.map(|slot| (slot.state, &slot.body)) {
                Some((SlotState::Answered, body)) => {
                    let answer = serde_json::from_slice(body).map_err(AttemptError::permanent)?;
                    earlier.push((*first as u32, answer));
                }
                _ if declared.tolerates_missing => {}
                Some((SlotState::Queued | SlotState::Leased, _)) => {
                    return Err(AttemptError::retryable("what it comes after is not filled in yet"));
                }
                _ => return Err(AttemptError::permanent("what it comes after will not be filled in")),
            }
        }
        Ok(earlier)
    }
}
