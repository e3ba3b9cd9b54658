//! One job, from a request to its response.

use std::future::Future;
use std::sync::{Arc, OnceLock};

use axum::response::Response;
use fantail::{Attempt, AttemptError, Done, Each, Failed, Inputs, JobId, JoinError};
use fantail_core::job::{Cause, Verdict};
use fantail_planfile::Captures;
use http::StatusCode;
use serde_json::value::RawValue;

use super::contract::{self, Answers, FailedBody, JobBody, SCHEMA};
use super::{Data, FanoutBody, Inbound, Missing, Served, describe, header, result};
use crate::contain::contain;
use crate::problem::Problem;
use crate::upstream::{Call, Upstream, UpstreamError};

/// Runs a job for a request. What a partial result lacks is queued before anybody sees the result.
pub(super) async fn run(
    data: &Data,
    served: &Arc<Served>,
    captures: Captures,
    inbound: Inbound,
) -> Result<Response, Problem> {
    let inbound = Arc::new(inbound);
    let (mut done, answers) = match join(data, served, captures, &inbound).await? {
        Ok(joined) => joined,
        Err(failed) => {
            let detail = failed.to_string();
            return Ok(Ended::of(&failed.into_done()).refuse(&detail));
        }
    };
    let answers = done.take(answers);
    let mut ended = Ended::of(&done);
    let partial = done.verdict() == Verdict::Partial;
    if partial && inbound.strict {
        let mut response = ended.refuse("the result is partial, and the request prefers strict handling");
        response.headers_mut().insert("preference-applied", header("handling=strict"));
        return Ok(response);
    }
    let link = match data.queue.as_ref().filter(|_| partial) {
        Some(queue) => queue.keep(&inbound, &done, &answers, &mut ended.incomplete).await,
        None => None,
    };
    Ok(ended.publish(served, &answers, link.as_deref()))
}

/// Runs the job to its verdict and counts it. It owns what it calls with, since some of its calls may outlive it.
async fn join(
    data: &Data,
    served: &Arc<Served>,
    captures: Captures,
    inbound: &Arc<Inbound>,
) -> Result<Result<(Done, Each<Box<RawValue>>), Box<Failed>>, Problem> {
    let running = served.stats.start();
    let mut job = served.fanout.job();
    job.id(JobId::random()).observe();
    let calls = Calls {
        served: Arc::clone(served),
        captures,
        inbound: Arc::clone(inbound),
        upstream: data.upstream.clone(),
        inputs: Arc::default(),
    };
    let inputs = Arc::clone(&calls.inputs);
    let answers = job.each(move |attempt| calls.call(&attempt));
    if served.plan().branches().iter().any(|branch| !branch.after.is_empty()) {
        let unset = inputs.set(job.inputs(&answers));
        debug_assert!(unset.is_ok(), "it is set once");
    }
    match contain(job.join()).await {
        Ok(Ok(done)) => {
            running.end(&done);
            Ok(Ok((done, answers)))
        }
        Ok(Err(JoinError::Failed(failed))) => {
            running.end(&failed);
            Ok(Err(failed))
        }
        Ok(Err(error)) => {
            running.fail();
            tracing::error!(plan = served.plan().name(), %error, "a job could not start");
            Err(internal("the job could not start"))
        }
        Err(panicked) => {
            running.fail();
            tracing::error!(plan = served.plan().name(), panic = panicked.0, "a job panicked");
            Err(internal("the job ended in an internal error"))
        }
    }
}

/// Makes the calls of one job.
struct Calls {
    served: Arc<Served>,
    captures: Captures,
    inbound: Arc<Inbound>,
    upstream: Upstream,
    /// The answers so far, where branches come after others.
    inputs: Arc<OnceLock<Inputs<Box<RawValue>>>>,
}

impl Calls {
    fn call(&self, attempt: &Attempt) -> impl Future<Output = Result<Box<RawValue>, AttemptError>> + use<> {
        let answer = |first: &usize| {
            let first = *first as u32;
            Some((first, self.inputs.get()?.of(first)?))
        };
        let earlier = attempt.declared().after.iter().filter_map(answer).collect();
        let key = header(&attempt.key().to_string());
        let at = (attempt.branch(), attempt.target());
        let call = self.served.call(at, &self.inbound, &self.captures, key, &earlier);
        let call = call.map(|call| Call { time_left: attempt.time_left(), ..call });
        let upstream = self.upstream.clone();
        async move {
            let call = call.map_err(UpstreamError::into_attempt)?;
            upstream.call(call).await.map_err(UpstreamError::into_attempt)
        }
    }
}

fn internal(detail: &str) -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
}

/// What a response says of a job with a verdict, beside its answers.
struct Ended {
    id: String,
    verdict: &'static str,
    incomplete: Vec<Missing>,
    fanout: FanoutBody,
    timing: String,
    /// Whether time ran out on the branch that failed the job, or on any that a partial result lacks.
    late: bool,
}

impl Ended {
    fn of(done: &Done) -> Ended {
        let is_late = |branch| contract::is_timeout(done.outcome(branch), done.errors(branch).first());
        let (verdict, late) = match done.verdict() {
            Verdict::Complete => ("complete", false),
            Verdict::Partial => ("partial", done.incomplete().any(is_late)),
            Verdict::Failed(Cause::Required(branch) | Cause::TooFew(branch)) => ("failed", is_late(branch)),
            Verdict::Failed(Cause::Dropped) => ("failed", false),
        };
        Ended {
            id: done.id().to_string(),
            verdict,
            incomplete: contract::missing(done),
            fanout: FanoutBody::of(done),
            timing: contract::server_timing(done),
            late,
        }
    }

    /// The response for a result.
    fn publish(self, served: &Served, answers: &[Option<Box<RawValue>>], link: Option<&str>) -> Response {
        let names = served.plan().branches().iter().map(|branch| branch.name.as_str());
        let pairs = names.zip(answers).filter_map(|(name, answer)| Some((name, &**answer.as_ref()?)));
        let body = contract::json(&JobBody {
            schema: SCHEMA,
            job: &self.id,
            verdict: self.verdict,
            data: Answers(pairs.collect()),
            incomplete: &self.incomplete,
            fanout: self.fanout,
        });
        result(body, &self.incomplete, Some(&self.timing), link)
    }

    /// The response for a job without a result, or with one that the client does not want.
    fn refuse(self, detail: &str) -> Response {
        let (status, reason) = if self.late {
            (StatusCode::GATEWAY_TIMEOUT, "deadline")
        } else {
            (StatusCode::BAD_GATEWAY, "upstream")
        };
        let mut response = Problem::new(status, reason, detail).with(FailedBody {
            schema: SCHEMA,
            job: &self.id,
            verdict: self.verdict,
            incomplete: &self.incomplete,
            fanout: self.fanout,
        });
        describe(response.headers_mut(), &self.incomplete, Some(&self.timing), None);
        response
    }
}
