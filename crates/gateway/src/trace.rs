//! W3C trace context: every attempt gets a `traceparent` of its own.

use std::fmt::Write;

use http::{HeaderMap, HeaderValue};

use crate::random;

/// The header, in lower case as HTTP/2 has it.
pub(crate) const TRACEPARENT: &str = "traceparent";

/// The trace that a job belongs to: the client's, or a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    /// 32 hexadecimal digits.
    id: String,
    /// Two hexadecimal digits.
    flags: String,
}

impl Trace {
    /// Continues the trace of a request, or starts one when it has none or none that is valid.
    ///
    /// A new trace is flagged as sampled, since that is what services do that begin one themselves; whoever wants to
    /// sample less decides before the gateway.
    pub(crate) fn of(headers: &HeaderMap) -> Trace {
        let incoming = headers.get(TRACEPARENT).and_then(|value| Trace::parse(value.to_str().ok()?));
        incoming.unwrap_or_else(|| Trace { id: hex(&random::bytes::<16>()), flags: "01".to_owned() })
    }

    /// `00-<trace>-<parent>-<flags>`; a later version may have more fields after these.
    fn parse(text: &str) -> Option<Trace> {
        let mut fields = text.split('-');
        let mut field = |digits: usize| {
            let field = fields.next()?;
            let lower_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            (field.len() == digits && field.bytes().all(lower_hex)).then_some(field)
        };
        let (version, id, parent, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
        let zero = |digits: &str| digits.bytes().all(|b| b == b'0');
        let known = version != "ff" && (version != "00" || fields.next().is_none());
        (known && !zero(id) && !zero(parent)).then(|| Trace { id: id.to_owned(), flags: flags.to_owned() })
    }

    /// The header of a new span in this trace.
    pub(crate) fn next_span(&self) -> HeaderValue {
        let span = hex(&random::bytes::<8>());
        let text = format!("00-{}-{span}-{}", self.id, self.flags);
        HeaderValue::try_from(text).expect("hexadecimal digits and dashes are a header value")
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all that is written");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(header: &str) -> Trace {
        let mut headers = HeaderMap::new();
        headers.insert(TRACEPARENT, HeaderValue::from_str(header).unwrap());
        Trace::of(&headers)
    }

    #[test]
    fn a_valid_trace_is_continued_with_spans_of_its_own() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        for header in [format!("00-{id}-00f067aa0ba902b7-00"), format!("cc-{id}-00f067aa0ba902b7-00-later")] {
            let spans = [trace(&header).next_span(), trace(&header).next_span()];
            assert_ne!(spans[0], spans[1]);
            for span in spans {
                let span = span.to_str().unwrap();
                assert!(span.starts_with(&format!("00-{id}-")) && span.ends_with("-00"), "{span}");
                assert!(!span.contains("00f067aa0ba902b7"));
            }
        }
    }

    #[test]
    fn an_invalid_trace_is_replaced() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        for header in [
            String::new(),
            "00-x".to_owned(),
            format!("00-{id}-00f067aa0ba902b7"),
            format!("00-{id}-00f067aa0ba902b7-01-more"),
            format!("ff-{id}-00f067aa0ba902b7-01"),
            format!("00-{id}-0000000000000000-01"),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{}-00f067aa0ba902b7-01", id.to_uppercase()),
        ] {
            let new = trace(&header);
            assert!(new.id.len() == 32 && new.id != id && new.flags == "01", "{header}: {new:?}");
        }
    }
}
