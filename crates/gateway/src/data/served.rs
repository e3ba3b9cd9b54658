//! A plan that is served: its jobs, its targets and what it has done so far.

use fantail::{Fanout, Limiters};
use fantail_core::Plan;
use fantail_planfile::{Backfill, Captures, PlanEntry, Route, UrlTemplate};
use http::{HeaderValue, Uri};

use super::request::Inbound;
use crate::stats::Stats;
use crate::upstream::{Call, UpstreamError};

/// A plan that is served.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) route: Route,
    pub(crate) fanout: Fanout,
    pub(crate) backfill: Option<Backfill>,
    pub(crate) stats: Stats,
    /// The targets of each branch.
    targets: Vec<Vec<UrlTemplate>>,
}

impl Served {
    /// `None` when the plan has no route.
    pub(crate) fn new(entry: &PlanEntry, limiters: &Limiters) -> Option<Served> {
        Some(Served {
            route: entry.route.clone()?,
            fanout: Fanout::new(entry.plan.clone(), limiters),
            backfill: entry.backfill,
            stats: Stats::default(),
            targets: entry.branches.iter().map(|branch| branch.targets.clone()).collect(),
        })
    }

    pub(crate) fn plan(&self) -> &Plan {
        self.fanout.plan()
    }

    /// How many targets a branch has.
    pub(crate) fn targets(&self, branch: u32) -> u32 {
        self.targets.get(branch as usize).map_or(0, |targets| targets.len() as u32)
    }

    /// A call for a branch, without a deadline.
    ///
    /// # Errors
    /// [`UpstreamError::Url`] when the template, filled in, is no URL: longer than one may be, say.
    pub(crate) fn call(
        &self,
        branch: u32,
        target: u32,
        inbound: &Inbound,
        captures: &Captures,
        key: HeaderValue,
    ) -> Result<Call, UpstreamError> {
        let template = self.targets.get(branch as usize).and_then(|targets| targets.get(target as usize));
        let text = template.ok_or(UpstreamError::Url("none is stated".to_owned()))?;
        let uri: Uri = text
            .expand(captures, &inbound.query)
            .parse()
            .map_err(|error: http::uri::InvalidUri| UpstreamError::Url(error.to_string()))?;
        Ok(Call {
            method: inbound.method.clone(),
            uri,
            headers: inbound.headers.clone(),
            body: inbound.body.clone(),
            key,
            trace: inbound.trace.clone(),
            time_left: None,
            repeatable: self.plan().branches().get(branch as usize).is_some_and(|branch| branch.repeatable),
        })
    }
}

/// The idempotency key of a branch in one job.
///
/// By index, not by name: a name may hold what a header can't. A client's own key does not pass: sent to several
/// branches of one server it would call different requests the same.
pub(crate) fn key(job: &str, branch: u32) -> String {
    format!("{job}.{branch}")
}
