//! Calls to the targets of branches.

mod error;
mod retry_after;
mod reuse;

pub(crate) use error::UpstreamError;

use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use http::header::HeaderName;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::value::RawValue;

use crate::trace::{TRACEPARENT, Trace};
use error::root;
use retry_after::retry_after;
use reuse::{Tracking, Used};

/// The largest answer of a branch, in bytes: 10 MiB. Reading stops there, and the connection is closed.
pub const MAX_ANSWER_BYTES: usize = 10 << 20;
/// The seconds that an attempt has left before the job cuts it, with milliseconds: `2.391`. Absent when nothing will.
pub const TIME_LEFT: HeaderName = HeaderName::from_static("fantail-time-left");
/// The same for all attempts of a branch in one job and for its backfill tries, so that a target can tell a repeat.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How long connecting may take; a deadline mostly cuts it earlier.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an idle connection is kept. Servers commonly close theirs after 5 s or more; the closer to that, the more
/// often a request meets a connection that is just being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// A client with a pool of connections, HTTP/1.1 or, over TLS, HTTP/2. A cheap handle.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    client: Client<Tracking<HttpsConnector<HttpConnector>>, Full<Bytes>>,
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    /// Those of the client's request that pass through.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) key: HeaderValue,
    pub(crate) trace: Trace,
    pub(crate) time_left: Option<Duration>,
    /// Whether it may be sent twice.
    pub(crate) repeatable: bool,
}

impl Upstream {
    pub(crate) fn new() -> Upstream {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let https = HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_all_versions();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build(Tracking(https.wrap_connector(http)));
        Upstream { client }
    }

    /// Makes the call. Dropping the future ends it: an HTTP/1 connection is closed, an HTTP/2 stream reset.
    ///
    /// The answer is the JSON text as it came, so that no number is read and written again.
    pub(crate) async fn call(&self, call: Call) -> Result<Box<RawValue>, UpstreamError> {
        let repeat = call.repeatable.then(|| call.clone());
        let response = match (self.client.request(call.into_request()).await, repeat) {
            (Err(error), Some(call)) if met_a_closing_connection(&error) => {
                self.client.request(call.into_request()).await
            }
            (response, _) => response,
        };
        let response = response.map_err(|error| {
            let cause = root(&error);
            if error.is_connect() { UpstreamError::Connect(cause) } else { UpstreamError::Cut(cause) }
        })?;
        Used::mark(response.extensions());
        answer(response).await
    }
}

impl Call {
    fn into_request(self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = self.uri;
        *request.headers_mut() = self.headers;
        let headers = request.headers_mut();
        headers.insert(TRACEPARENT, self.trace.next_span());
        headers.insert(IDEMPOTENCY_KEY, self.key);
        if let Some(left) = self.time_left {
            let text = format!("{:.3}", left.as_secs_f64());
            headers.insert(TIME_LEFT, HeaderValue::try_from(text).expect("a number is a header value"));
        }
        request
    }
}

/// Whether a request was lost on a connection that had worked before, before any of the response came.
fn met_a_closing_connection(error: &ClientError) -> bool {
    !error.is_connect() && error.connect_info().is_some_and(Used::is_marked)
}

async fn answer(response: Response<Incoming>) -> Result<Box<RawValue>, UpstreamError> {
    let status = response.status();
    let pause = retry_after(response.headers(), SystemTime::now());
    match status {
        StatusCode::TOO_MANY_REQUESTS => return Err(UpstreamError::Pushback { status, pause }),
        StatusCode::SERVICE_UNAVAILABLE if pause.is_some() => {
            return Err(UpstreamError::Pushback { status, pause });
        }
        _ if !status.is_success() => return Err(UpstreamError::Status(status)),
        _ => {}
    }
    let body = read(response.into_body()).await?;
    serde_json::from_slice(&body).map_err(UpstreamError::NotJson)
}

async fn read(mut body: Incoming) -> Result<Bytes, UpstreamError> {
    let too_large = UpstreamError::TooLarge { bound: MAX_ANSWER_BYTES };
    if body.size_hint().lower() > MAX_ANSWER_BYTES as u64 {
        return Err(too_large);
    }
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| UpstreamError::Cut(root(&error)))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > MAX_ANSWER_BYTES {
            return Err(too_large);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}
