//! The data port: requests in, jobs run, results and documents out.

mod contract;
mod job;
mod request;
mod served;

pub use contract::SCHEMA;
pub use request::MAX_REQUEST_BYTES;

pub(crate) use contract::{BackfillBody, FanoutBody, Missing, json};
pub(crate) use request::{Inbound, KeptRequest};
pub(crate) use served::{Earlier, Served};

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use fantail::backfill::Store;
use fantail_planfile::{Captures, Config, Match, Serves};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, LINK};
use http::{HeaderValue, Request, StatusCode};
use tokio::sync::Semaphore;

use crate::backfill::Queue;
use crate::problem::Problem;
use crate::upstream::Upstream;
use crate::{clock, stats};

/// The names of the branches that a result lacks.
const INCOMPLETE: HeaderName = HeaderName::from_static("fantail-incomplete");

/// How many jobs run at once, over all plans. One more is turned away: a queue would only make all of them late.
pub const MAX_JOBS: usize = 1_024;

/// What the data port serves from.
#[derive(Debug)]
pub(crate) struct Data {
    pub(crate) config: Config,
    /// By the plan's name.
    pub(crate) served: HashMap<String, Arc<Served>>,
    pub(crate) upstream: Upstream,
    /// `None` when no plan has backfill.
    pub(crate) queue: Option<Queue>,
    pub(crate) places: Semaphore,
    pub(crate) shed: stats::Counter,
}

impl Data {
    pub(crate) fn router(data: Arc<Data>) -> Router {
        // The plan file knows which path is whose, to the last encoded slash, so axum does not match it again.
        Router::new().fallback(respond).with_state(data)
    }
}

async fn respond(State(data): State<Arc<Data>>, request: Request<Body>) -> Response {
    data.answer(request).await.unwrap_or_else(IntoResponse::into_response)
}

impl Data {
    async fn answer(&self, request: Request<Body>) -> Result<Response, Problem> {
        let matches = self.config.at_path(request.uri().path());
        let Some(found) = matches.iter().find(|found| found.method == *request.method()) else {
            return method_not_allowed(&matches);
        };
        let name = found.entry.plan.name();
        let served = self.served.get(name).expect("a plan that has a route is served");
        match found.serves {
            Serves::Job => self.job(served, found.captures.clone(), request).await,
            Serves::Document => self.document(name, &found.captures, request.uri().path()).await,
        }
    }

    async fn job(
        &self,
        served: &Arc<Served>,
        captures: Captures,
        request: Request<Body>,
    ) -> Result<Response, Problem> {
        let Ok(_place) = self.places.try_acquire() else {
            self.shed.add();
            let detail = format!("{MAX_JOBS} jobs are running, no more may");
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", detail).retry_after(1));
        };
        let inbound = Inbound::read(request).await?;
        job::run(self, served, captures, inbound).await
    }

    /// The document of an earlier job, as far as it has grown.
    async fn document(&self, plan: &str, captures: &Captures, path: &str) -> Result<Response, Problem> {
        let unknown = || {
            let detail = "there is no such document, or it has expired";
            Problem::new(StatusCode::NOT_FOUND, "no_such_job", detail)
        };
        let id = captures.get(Config::JOB).and_then(|id| std::str::from_utf8(id).ok()).ok_or_else(unknown)?;
        let store = self.queue.as_ref().map(Queue::store).ok_or_else(unknown)?;
        let document = store.document(clock::unix_now(), id).await.map_err(|error| {
            tracing::error!(%error, "can't read a document");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "store", "the document can't be read")
                .retry_after(1)
        })?;
        let document = document.filter(|document| document.plan == plan).ok_or_else(unknown)?;
        let (body, incomplete) = contract::grown(&document, path).ok_or_else(|| {
            let detail = "the document was stored by another version, and can't be read";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "document_version", detail)
        })?;
        Ok(result(body, &incomplete, None, Some(path)))
    }
}

fn method_not_allowed(matches: &[Match<'_>]) -> Result<Response, Problem> {
    if matches.is_empty() {
        return Err(Problem::new(StatusCode::NOT_FOUND, "no_such_route", "no plan has this path"));
    }
    let methods: Vec<&str> = matches.iter().map(|found| found.method.as_str()).collect();
    let allowed = methods.join(", ");
    let detail = format!("this path takes {allowed}");
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail);
    let mut response = problem.into_response();
    response.headers_mut().insert(ALLOW, header(&allowed));
    Ok(response)
}

/// A result with its headers.
fn result(body: Bytes, incomplete: &[Missing], timing: Option<&str>, link: Option<&str>) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    describe(headers, incomplete, timing, link);
    response
}

/// The headers that results and problems of jobs share.
fn describe(headers: &mut http::HeaderMap, incomplete: &[Missing], timing: Option<&str>, link: Option<&str>) {
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if !incomplete.is_empty() {
        headers.insert(INCOMPLETE, header(&contract::incomplete_header(incomplete)));
    }
    if let Some(timing) = timing {
        headers.insert("server-timing", header(timing));
    }
    if let Some(link) = link {
        headers.insert(LINK, header(&format!("<{link}>; rel=\"self\"")));
    }
}

fn header(text: &str) -> HeaderValue {
    HeaderValue::try_from(text).expect("tokens, numbers and paths of requests are header values")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fantail::Limiters;

    #[tokio::test]
    async fn a_request_beyond_the_last_place_is_turned_away_unread() {
        let config = Config::parse(
            "test.toml",
            "[plan.a]\nroute = \"POST /a\"\n[plan.a.branch]\nb = { url = \"http://127.0.0.1:1/\" }",
        );
        let config = config.unwrap();
        let served = Served::new(&config.plans[0], &Limiters::default()).unwrap();
        let data = Data {
            served: HashMap::from([("a".to_owned(), Arc::new(served))]),
            upstream: Upstream::new(),
            queue: None,
            places: Semaphore::new(1),
            shed: stats::Counter::default(),
            config,
        };
        let place = data.places.try_acquire().unwrap();
        // No JSON, which whoever reads it says.
        let request = || Request::post("/a").body(Body::from("{")).unwrap();
        let problem = data.answer(request()).await.unwrap_err().into_response();
        assert_eq!(problem.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(problem.headers()["retry-after"], "1");
        assert_eq!(data.shed.get(), 1);
        drop(place);
        let problem = data.answer(request()).await.unwrap_err().into_response();
        assert_eq!(problem.status(), StatusCode::BAD_REQUEST);
    }
}
