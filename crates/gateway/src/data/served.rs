//! A plan that is served: its jobs, its targets and what it has done so far.

use std::sync::Arc;

use bytes::Bytes;
use fantail::{Fanout, Limiters, Observer};
use fantail_core::Plan;
use fantail_planfile::{Backfill, Captures, PlanEntry, Route, UrlTemplate};
use http::{HeaderValue, Uri};

use serde::Serialize;
use serde_json::value::RawValue;

use super::contract::{Answers, json};
use super::request::Inbound;
use crate::stats::Stats;
use crate::upstream::{Call, UpstreamError};

/// Answers of branches that another one comes after.
pub(crate) type Earlier = Vec<(u32, Box<RawValue>)>;

/// A plan that is served.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) route: Route,
    pub(crate) fanout: Fanout,
    pub(crate) backfill: Option<Backfill>,
    pub(crate) stats: Arc<Stats>,
    /// The targets of each branch.
    targets: Vec<Vec<UrlTemplate>>,
}

impl Served {
    /// `None` when the plan has no route.
    pub(crate) fn new(entry: &PlanEntry, limiters: &Limiters) -> Option<Served> {
        let stats = Arc::new(Stats::default());
        let fanout = Fanout::new(entry.plan.clone(), limiters);
        Some(Served {
            route: entry.route.clone()?,
            fanout: fanout.observed(Arc::clone(&stats) as Arc<dyn Observer>),
            backfill: entry.backfill,
            stats,
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

    /// A call for a branch, at one of its targets, without a deadline, with the answers of the branches that it comes after.
    ///
    /// # Errors
    /// [`UpstreamError::Url`] when the template, filled in, is no URL: longer than one may be, say.
    pub(crate) fn call(
        &self,
        (branch, target): (u32, u32),
        inbound: &Inbound,
        captures: &Captures,
        key: HeaderValue,
        earlier: &Earlier,
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
            body: self.body(branch, inbound, earlier),
            key,
            trace: inbound.trace.clone(),
            time_left: None,
            repeatable: self.plan().branches().get(branch as usize).is_some_and(|branch| branch.repeatable),
        })
    }

    /// The request's body; with it, where a branch comes after others, their answers.
    fn body(&self, branch: u32, inbound: &Inbound, earlier: &Earlier) -> Bytes {
        let declared = self.plan().branches();
        let staged = declared.get(branch as usize).is_some_and(|branch| !branch.after.is_empty());
        match serde_json::from_slice(&inbound.body) {
            Ok(request) if staged => {
                let answers = earlier.iter().filter_map(|(branch, answer)| {
                    Some((declared.get(*branch as usize)?.name.as_str(), &**answer))
                });
                json(&StageBody { request, answers: Answers(answers.collect()) })
            }
            _ => inbound.body.clone(),
        }
    }
}

/// What a branch that comes after others is sent.
#[derive(Serialize)]
struct StageBody<'a> {
    request: &'a RawValue,
    answers: Answers<'a>,
}
