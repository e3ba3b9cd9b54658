//! What a client sent, checked, and what of it reaches the targets.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, IF_MATCH,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
    RANGE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::problem::Problem;
use crate::trace::{TRACEPARENT, Trace};
use crate::upstream::{IDEMPOTENCY_KEY, TIME_LEFT};

/// The largest body of a request, in bytes: 1 MiB.
pub const MAX_REQUEST_BYTES: usize = 1 << 20;

/// How long a client may take to send a body: it holds a job's place meanwhile.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How much of a body that is too large is read and dropped: a client that is still sending may otherwise see its
/// connection reset instead of the answer.
const DRAIN_BYTES: usize = 16 << 20;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PREFER: HeaderName = HeaderName::from_static("prefer");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const TRACE: HeaderName = HeaderName::from_static(TRACEPARENT);

/// Headers that do not pass: those of one hop (RFC 9110, 7.6.1); those that the gateway sets itself; and those that ask
/// for less than the whole answer as plain JSON, which the gateway could not put into a result.
const STOPPED: [HeaderName; 23] = [
    CONNECTION,
    KEEP_ALIVE,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    PROXY_CONNECTION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HOST,
    CONTENT_LENGTH,
    EXPECT,
    PREFER,
    TRACE,
    IDEMPOTENCY_KEY,
    TIME_LEFT,
    ACCEPT_ENCODING,
    RANGE,
    IF_RANGE,
    IF_MATCH,
    IF_NONE_MATCH,
    IF_MODIFIED_SINCE,
    IF_UNMODIFIED_SINCE,
];

/// A request, as the job's attempts send it on.
#[derive(Clone, Debug)]
pub(crate) struct Inbound {
    pub(crate) method: Method,
    /// As sent.
    pub(crate) path: String,
    /// Without its `?`; empty when there is none.
    pub(crate) query: String,
    /// Those that pass.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) trace: Trace,
    /// `Prefer: handling=strict`: a partial result is of no use.
    pub(crate) strict: bool,
}

impl Inbound {
    /// Takes a request in.
    pub(crate) async fn read(request: http::Request<Body>) -> Result<Inbound, Problem> {
        let (head, body) = request.into_parts();
        let body = read_body(body).await?;
        check_json(&head.method, &body)?;
        Ok(Inbound {
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            trace: Trace::of(&head.headers),
            strict: prefers_strict(&head.headers),
            headers: passing(head.headers),
            method: head.method,
            body,
        })
    }
}

async fn read_body(body: Body) -> Result<Bytes, Problem> {
    let too_large = || {
        let detail = format!("the body has more than {MAX_REQUEST_BYTES} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
    };
    if body.size_hint().lower() > (MAX_REQUEST_BYTES + DRAIN_BYTES) as u64 {
        return Err(too_large());
    }
    let read = async {
        let (mut body, mut bytes, mut dropped) = (body, BytesMut::new(), 0);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                Problem::new(StatusCode::BAD_REQUEST, "body_cut", format!("the body can't be read: {error}"))
            })?;
            let Ok(data) = frame.into_data() else { continue };
            if dropped > 0 || bytes.len() + data.len() > MAX_REQUEST_BYTES {
                dropped += data.len();
            } else {
                bytes.extend_from_slice(&data);
            }
            if dropped > DRAIN_BYTES {
                break;
            }
        }
        if dropped > 0 { Err(too_large()) } else { Ok(bytes.freeze()) }
    };
    tokio::time::timeout(BODY_TIMEOUT, read).await.unwrap_or_else(|_| {
        let detail = format!("the body did not arrive within {} s", BODY_TIMEOUT.as_secs());
        Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", detail))
    })
}

/// A body must be JSON, and methods that are made to send one must send one.
fn check_json(method: &Method, body: &Bytes) -> Result<(), Problem> {
    let may_be_empty = ![Method::POST, Method::PUT, Method::PATCH].contains(method);
    if body.is_empty() && may_be_empty {
        return Ok(());
    }
    serde_json::from_slice::<&RawValue>(body).map(drop).map_err(|error| {
        Problem::new(StatusCode::BAD_REQUEST, "not_json", format!("the body is no JSON: {error}"))
    })
}

/// RFC 7240: `Prefer: handling=strict`, among other preferences.
fn prefers_strict(headers: &HeaderMap) -> bool {
    let preferences = headers.get_all(PREFER).into_iter().filter_map(|value| value.to_str().ok());
    preferences.flat_map(|value| value.split(',')).any(|preference| {
        let preference = preference.split(';').next().unwrap_or_default();
        preference.split_once('=').is_some_and(|(name, value)| {
            name.trim().eq_ignore_ascii_case("handling") && value.trim().trim_matches('"') == "strict"
        })
    })
}

/// The headers that reach the targets: all but those of [`STOPPED`] and those that `Connection` names.
///
/// `Authorization` and cookies pass: a plan's URLs are its operator's choice, as a proxy's are.
fn passing(mut headers: HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&STOPPED) {
        headers.remove(name);
    }
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json"));
    headers
}

/// A request as the store keeps it, for tries after the job.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeptRequest {
    method: String,
    path: String,
    query: String,
    /// Values as text in which every character stands for one byte: headers need not be UTF-8.
    headers: Vec<(String, String)>,
    /// JSON text, or nothing.
    body: String,
    traceparent: String,
}

impl KeptRequest {
    pub(crate) fn of(inbound: &Inbound) -> KeptRequest {
        let latin1 = |value: &HeaderValue| value.as_bytes().iter().copied().map(char::from).collect();
        KeptRequest {
            method: inbound.method.to_string(),
            path: inbound.path.clone(),
            query: inbound.query.clone(),
            headers: inbound.headers.iter().map(|(name, value)| (name.to_string(), latin1(value))).collect(),
            body: String::from_utf8_lossy(&inbound.body).into_owned(),
            traceparent: inbound.trace.next_span().to_str().unwrap_or_default().to_owned(),
        }
    }

    /// The request again; `None` when what was kept is none.
    pub(crate) fn restore(self) -> Option<Inbound> {
        let bytes =
            |text: &str| text.chars().map(|c| u8::try_from(u32::from(c))).collect::<Result<Vec<u8>, _>>();
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let name: HeaderName = name.parse().ok()?;
            headers.append(name, HeaderValue::from_bytes(&bytes(value).ok()?).ok()?);
        }
        let mut trace = HeaderMap::new();
        trace.insert(TRACE, self.traceparent.parse().ok()?);
        Some(Inbound {
            method: self.method.parse().ok()?,
            path: self.path,
            query: self.query,
            headers,
            body: Bytes::from(self.body),
            trace: Trace::of(&trace),
            strict: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        list.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn headers_of_one_hop_stay_behind_and_the_others_pass() {
        let passed = passing(headers(&[
            ("host", "gateway"),
            ("connection", "close, X-Secret-Hop"),
            ("x-secret-hop", "1"),
            ("content-length", "2"),
            ("transfer-encoding", "chunked"),
            ("accept-encoding", "gzip"),
            ("if-none-match", "\"x\""),
            ("idempotency-key", "the client's own"),
            ("traceparent", "00-0-0-0"),
            ("content-type", "application/json"),
            ("authorization", "Bearer x"),
            ("x-tenant", "7"),
        ]));
        let expected = headers(&[
            ("content-type", "application/json"),
            ("authorization", "Bearer x"),
            ("x-tenant", "7"),
            ("accept", "application/json"),
        ]);
        assert_eq!(passed, expected);
    }

    #[test]
    fn strict_handling_is_found_among_preferences() {
        for (value, expected) in [
            ("handling=strict", true),
            ("respond-async, Handling = \"strict\"; x=1", true),
            ("handling=lenient", false),
            ("strict", false),
        ] {
            assert_eq!(prefers_strict(&headers(&[("prefer", value)])), expected, "{value}");
        }
    }

    #[test]
    fn a_kept_request_comes_back_as_it_was() {
        let mut list = headers(&[("content-type", "application/json")]);
        list.append("x-bytes", HeaderValue::from_bytes(b"caf\xc3\xa9\xff").unwrap());
        list.append("x-bytes", HeaderValue::from_static("second"));
        let inbound = Inbound {
            method: Method::POST,
            path: "/enrich".to_owned(),
            query: "a=%20".to_owned(),
            headers: list,
            body: Bytes::from(" {\"n\": 1.0e400, \"é\": null}\n"),
            trace: Trace::of(&HeaderMap::new()),
            strict: true,
        };
        let kept = serde_json::to_string(&KeptRequest::of(&inbound)).unwrap();
        let back = serde_json::from_str::<KeptRequest>(&kept).unwrap().restore().unwrap();
        assert_eq!((&back.method, &back.path, &back.query), (&inbound.method, &inbound.path, &inbound.query));
        assert_eq!(
            (&back.headers, &back.body, &back.trace),
            (&inbound.headers, &inbound.body, &inbound.trace)
        );
    }

    #[test]
    fn a_body_is_json_or_absent_where_it_may_be() {
        let check = |method: Method, body: &'static str, expected: bool| {
            assert_eq!(check_json(&method, &Bytes::from(body)).is_ok(), expected, "{method} {body}");
        };
        check(Method::POST, "{\"a\": [1, 2]}", true);
        check(Method::POST, " 1.50 ", true);
        check(Method::POST, "", false);
        check(Method::POST, "{\"a\": }", false);
        check(Method::POST, "{} {}", false);
        check(Method::GET, "", true);
        check(Method::GET, "x", false);
        check(Method::DELETE, "", true);
    }
}
