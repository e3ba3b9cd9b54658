//! Errors as RFC 9457 problem details.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

/// Why a request has no result, as `application/problem+json`.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    /// One word for programs.
    reason: &'static str,
    /// A sentence for people.
    detail: String,
    retry_after_s: Option<u32>,
}

#[derive(Serialize)]
struct Wire<'a, T: Serialize> {
    title: &'a str,
    status: u16,
    reason: &'a str,
    detail: &'a str,
    #[serde(flatten)]
    more: T,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, reason: &'static str, detail: impl Into<String>) -> Problem {
        Problem { status, reason, detail: detail.into(), retry_after_s: None }
    }

    /// Says when to come back.
    pub(crate) fn retry_after(mut self, seconds: u32) -> Problem {
        self.retry_after_s = Some(seconds);
        self
    }

    /// The response, with the members of `more` beside those that every problem has.
    pub(crate) fn with(self, more: impl Serialize) -> Response {
        let wire = Wire {
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            reason: self.reason,
            detail: &self.detail,
            more,
        };
        let body = serde_json::to_vec(&wire).expect("a problem has text keys and finite numbers");
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        struct Nothing {}
        self.with(Nothing {})
    }
}
