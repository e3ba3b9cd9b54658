//! One job, from a request to its response.

use std::time::Duration;

use axum::response::Response;
use fantail::{Done, Each, Failed, JoinError};
use fantail_core::Time;
use fantail_core::job::{Cause, Verdict};
use fantail_planfile::Captures;
use http::StatusCode;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::contract::{self, Answers, FailedBody, JobBody, SCHEMA};
use super::{Data, FanoutBody, Inbound, Missing, Served, describe, header, key, result};
use crate::backfill::Gap;
use crate::contain::contain;
use crate::problem::Problem;
use crate::random;
use crate::trace::hex;
use crate::upstream::{Call, UpstreamError};

/// Runs a job for a request. What a partial result lacks is queued before anybody sees the result.
pub(super) async fn run(
    data: &Data,
    served: &Served,
    captures: &Captures,
    inbound: &Inbound,
) -> Result<Response, Problem> {
    let id = hex(&random::bytes::<16>());
    let started = Instant::now();
    let (mut done, answers) = match join(data, served, captures, inbound, &id).await? {
        Ok(joined) => joined,
        Err(failed) => {
            let detail = failed.to_string();
            return Ok(Ended::of(&id, &failed.into_done()).refuse(&detail));
        }
    };
    let answers = done.take(answers);
    let mut ended = Ended::of(&id, &done);
    let partial = done.verdict() == Verdict::Partial;
    if partial && inbound.strict {
        let mut response = ended.refuse("the result is partial, and the request prefers strict handling");
        response.headers_mut().insert("preference-applied", header("handling=strict"));
        return Ok(response);
    }
    let backfiller = data.backfiller.as_ref().filter(|_| partial);
    let gap = backfiller
        .and_then(|backfiller| Gap::of(backfiller, served, inbound, &id, &done, &answers, &ended.incomplete));
    // What is left of the job can't cross threads, as waiting for the store may.
    drop(done);
    let link = match gap {
        Some(gap) => {
            let path = format!("{}/jobs/{id}", inbound.path.trim_end_matches('/'));
            let queued = gap.enqueue(enqueue_by(served, started)).await;
            let filled = gap.branches();
            for missing in ended.incomplete.iter_mut().filter(|missing| filled.contains(&missing.branch)) {
                missing.backfill = Some(queued.body(&path));
            }
            queued.is_stored().then_some(path)
        }
        None => None,
    };
    Ok(ended.publish(served, &answers, link.as_deref()))
}

/// Runs the job to its verdict and counts it.
async fn join(
    data: &Data,
    served: &Served,
    captures: &Captures,
    inbound: &Inbound,
    id: &str,
) -> Result<Result<(Done, Each<Box<RawValue>>), Box<Failed>>, Problem> {
    let running = served.stats.start();
    let mut job = served.fanout.job();
    let answers = job.each(|attempt| {
        let key = header(&key(id, attempt.branch()));
        let call = served.call(attempt.branch(), attempt.target(), inbound, captures, key);
        let call = call.map(|call| Call { time_left: attempt.time_left(), ..call });
        async move {
            let call = call.map_err(UpstreamError::into_attempt)?;
            data.upstream.call(call).await.map_err(UpstreamError::into_attempt)
        }
    });
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

fn internal(detail: &str) -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
}

/// Until when the store may hold up a result: the enqueue timeout, counted from the deadline.
fn enqueue_by(served: &Served, started: Instant) -> Instant {
    let span = |time: Time| Duration::from_nanos(time.as_nanos());
    let deadline = served.plan().deadline().map_or_else(Instant::now, |after| started + span(after));
    deadline + span(served.backfill.unwrap_or_default().enqueue_timeout)
}

/// What a response says of a job with a verdict, beside its answers.
struct Ended<'a> {
    id: &'a str,
    verdict: &'static str,
    incomplete: Vec<Missing>,
    fanout: FanoutBody,
    timing: String,
    /// Whether time ran out on the branch that failed the job, or on any that a partial result lacks.
    late: bool,
}

impl<'a> Ended<'a> {
    fn of(id: &'a str, done: &Done) -> Ended<'a> {
        let is_late = |branch| contract::is_timeout(done.outcome(branch), done.errors(branch).first());
        let (verdict, late) = match done.verdict() {
            Verdict::Complete => ("complete", false),
            Verdict::Partial => ("partial", done.incomplete().any(is_late)),
            Verdict::Failed(Cause::Required(branch) | Cause::TooFew(branch)) => ("failed", is_late(branch)),
            Verdict::Failed(Cause::Dropped) => ("failed", false),
        };
        Ended {
            id,
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
            job: self.id,
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
            job: self.id,
            verdict: self.verdict,
            incomplete: &self.incomplete,
            fanout: self.fanout,
        });
        describe(response.headers_mut(), &self.incomplete, Some(&self.timing), None);
        response
    }
}
