//! How long a server asks to be left alone.

use std::time::{Duration, SystemTime};

use fantail_core::Time;
use http::HeaderMap;
use http::header::RETRY_AFTER;

/// In milliseconds: what model providers send beside `Retry-After`, which knows whole seconds only.
const RETRY_AFTER_MS: &str = "retry-after-ms";

/// The pause that a response asks for; `None` when it states none, or none that can be read.
///
/// Seconds (decimals are read too), an HTTP date, or milliseconds in `retry-after-ms`, which goes first. Never earlier
/// than asked: fractions of a nanosecond are rounded up. What is longer than a year counts as a year, which is above
/// every cap.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis = text(RETRY_AFTER_MS).and_then(|text| pause(text, 1e-3));
    millis.or_else(|| {
        let text = text(RETRY_AFTER.as_str())?;
        pause(text, 1.0).or_else(|| {
            let date = httpdate::parse_http_date(text).ok()?;
            // A date in the past: at once.
            Some(date.duration_since(now).unwrap_or_default())
        })
    })
}

fn pause(text: &str, unit_s: f64) -> Option<Duration> {
    // `inf` and `nan` are numbers to `f64`, but not to HTTP.
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number: f64 = text.parse().ok().filter(|_| plain)?;
    let nanos = (number * unit_s * 1e9).ceil().min(Time::LONGEST.as_nanos() as f64);
    Some(Duration::from_nanos(nanos as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn check(name: &'static str, value: &str, expected: Option<Duration>) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        assert_eq!(retry_after(&headers, now), expected, "{name}: {value}");
    }

    #[test]
    fn what_servers_send_is_never_read_as_earlier_than_asked() {
        let secs = |secs| Some(Duration::from_secs(secs));
        for (value, expected) in [
            ("0", secs(0)),
            ("-1", None),
            ("nan", None),
            ("inf", None),
            ("", None),
            ("soon", None),
            ("60", secs(60)),
            (" 61 ", secs(61)),
            ("120", secs(120)),
            ("121", secs(121)),
            ("1.5", Some(Duration::from_millis(1_500))),
            // 90 s after `now`, and before it.
            ("Fri, 15 Jan 2027 08:01:30 GMT", secs(90)),
            ("Fri, 15 Jan 2027 07:59:00 GMT", secs(0)),
            ("99999999999999999999999", secs(365 * 86_400)),
        ] {
            check("retry-after", value, expected);
        }
        check("retry-after-ms", "4321", Some(Duration::from_millis(4_321)));
        check("retry-after-ms", "-4321", None);
    }

    #[test]
    fn milliseconds_go_before_seconds() {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_static("5"));
        headers.insert(RETRY_AFTER_MS, HeaderValue::from_static("4321"));
        assert_eq!(retry_after(&headers, SystemTime::UNIX_EPOCH), Some(Duration::from_millis(4_321)));
    }
}
