//! Why a call has no answer.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use fantail::AttemptError;
use http::StatusCode;

/// Why a call has no answer. The texts name no host: they reach the client.
#[derive(Debug)]
pub(crate) enum UpstreamError {
    /// The target's URL, filled in, is none.
    Url(String),
    /// No connection: refused, no such host, no valid certificate.
    Connect(String),
    /// The connection ended before the answer did.
    Cut(String),
    /// Any status but 2xx.
    Status(StatusCode),
    /// 429, or 503 with a Retry-After.
    Pushback {
        /// Which.
        status: StatusCode,
        /// How long the server asks to be left alone, if it says so.
        pause: Option<Duration>,
    },
    /// The body is no JSON text.
    NotJson(serde_json::Error),
    /// The body is longer than an answer may be.
    TooLarge {
        /// In bytes.
        bound: usize,
    },
}

impl UpstreamError {
    /// One word for programs.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            UpstreamError::Url(_) => "url",
            UpstreamError::Connect(_) => "connect",
            UpstreamError::Cut(_) => "cut",
            UpstreamError::Status(_) => "status",
            UpstreamError::Pushback { .. } => "pushback",
            UpstreamError::NotJson(_) => "not_json",
            UpstreamError::TooLarge { .. } => "too_large",
        }
    }

    /// Whether the same request may succeed when it is sent again.
    pub(crate) fn is_retryable(&self) -> bool {
        match self {
            UpstreamError::Connect(_) | UpstreamError::Cut(_) | UpstreamError::Pushback { .. } => true,
            UpstreamError::Status(status) => {
                status.is_server_error()
                    || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY].contains(status)
            }
            UpstreamError::Url(_) | UpstreamError::NotJson(_) | UpstreamError::TooLarge { .. } => false,
        }
    }

    /// As a job takes it.
    pub(crate) fn into_attempt(self) -> AttemptError {
        match self {
            UpstreamError::Pushback { pause, .. } => AttemptError::pushback(self, pause),
            _ if self.is_retryable() => AttemptError::retryable(self),
            _ => AttemptError::permanent(self),
        }
    }
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UpstreamError::Url(error) => write!(f, "the target's URL is none: {error}"),
            UpstreamError::Connect(error) => write!(f, "no connection: {error}"),
            UpstreamError::Cut(error) => write!(f, "the connection ended before the answer did: {error}"),
            UpstreamError::Status(status) | UpstreamError::Pushback { status, pause: None } => {
                write!(f, "status {status}")
            }
            UpstreamError::Pushback { status, pause: Some(pause) } => {
                write!(f, "status {status}: to be left alone for {} s", pause.as_secs_f64())
            }
            UpstreamError::NotJson(error) => write!(f, "the answer is no JSON: {error}"),
            UpstreamError::TooLarge { bound } => write!(f, "the answer has more than {bound} bytes"),
        }
    }
}

impl Error for UpstreamError {}

/// The innermost cause of an error: what the system said, without the layers it came through.
pub(crate) fn root(error: &(dyn Error + 'static)) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_try_may_mend_is_retryable() {
        let check = |code: u16, expected: bool| {
            let status = StatusCode::from_u16(code).unwrap();
            assert_eq!(UpstreamError::Status(status).is_retryable(), expected, "{code}");
        };
        for code in [408, 425, 500, 502, 503, 504] {
            check(code, true);
        }
        for code in [301, 304, 400, 401, 404, 409, 422] {
            check(code, false);
        }
    }
}
