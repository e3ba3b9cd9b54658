//! URLs of targets, with placeholders for what a branch and a request fill in.

use http::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use crate::problem::{Fault, did_you_mean, list, quote};
use crate::route::{Captures, RESERVED};

/// What a path parameter keeps as it is: the unreserved characters of RFC 3986.
const PARAMETER: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// What a query must not hold as it is; a request's query is encoded already and passes unchanged.
const QUERY: &AsciiSet = &percent_encoding::CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>');

/// A target's URL. What is known at load, `{branch}` and `{i}`, is filled in; what a request brings is not yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlTemplate {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Parameter(String),
    Query,
}

impl UrlTemplate {
    /// The URL for a request with these path parameters and this query, which is without its `?` and may be empty.
    ///
    /// A parameter is percent-encoded, so that it stays one segment. A parameter that `captures` lacks is empty.
    pub fn expand(&self, captures: &Captures, query: &str) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Literal(text) => text.clone(),
                Part::Parameter(name) => {
                    percent_encode(captures.get(name).unwrap_or_default(), PARAMETER).to_string()
                }
                Part::Query => percent_encode(query.as_bytes(), QUERY).to_string(),
            })
            .collect()
    }
}

/// What is known of a branch when its URL is read.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    /// The branch's name.
    pub(crate) branch: &'a str,
    /// Its number among the branches of `each`.
    pub(crate) i: Option<u32>,
    /// The parameters of the plan's route.
    pub(crate) parameters: &'a [&'a str],
}

/// Reads a URL template for one branch.
pub(crate) fn template(text: &str, known: Known<'_>) -> Result<UrlTemplate, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut parts = Vec::new();
    // From the end of the authority on, a request may fill in what it likes: it stays inside the path or the query.
    let authority = text.find("://").map_or(0, |at| at + 3);
    let path = text[authority..].find(['/', '?']).map_or(text.len(), |at| authority + at);
    let mut at = 0;
    while let Some(open) = text[at..].find(['{', '}']).map(|offset| at + offset) {
        literal(&mut parts, &text[at..open]);
        let close = text[open..].find('}').map(|offset| open + offset);
        let Some(close) = close.filter(|_| text[open..].starts_with('{')) else {
            let message = "a brace without its other half; a placeholder is like {branch}";
            faults.push(Fault::new(open..open + 1, message));
            at = open + 1;
            continue;
        };
        match placeholder(&text[open + 1..close], known) {
            Ok(Part::Literal(text)) => literal(&mut parts, &text),
            Ok(_) if open < path => {
                let message =
                    format!("{} can't be in a host: a request would choose it", quote(&text[open..=close]));
                faults.push(Fault::new(open..close + 1, message));
            }
            Ok(part) => parts.push(part),
            Err(message) => faults.push(Fault::new(open..close + 1, message)),
        }
        at = close + 1;
    }
    literal(&mut parts, &text[at..]);
    let template = UrlTemplate { parts };
    if faults.is_empty()
        && let Err(message) = template.check()
    {
        faults.push(Fault::new(0..text.len(), message));
    }
    if faults.is_empty() { Ok(template) } else { Err(faults) }
}

/// Appends literal text, so that neighbours become one part.
fn literal(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Literal(last)) => last.push_str(text),
        _ if text.is_empty() => {}
        _ => parts.push(Part::Literal(text.to_owned())),
    }
}

fn placeholder(name: &str, known: Known<'_>) -> Result<Part, String> {
    match name {
        "branch" => Ok(Part::Literal(percent_encode(known.branch.as_bytes(), PARAMETER).to_string())),
        "i" => match known.i {
            Some(i) => Ok(Part::Literal(i.to_string())),
            None => Err("`{i}` numbers the branches of `each`; expected {branch} here".to_owned()),
        },
        "query" => Ok(Part::Query),
        _ if known.parameters.contains(&name) => Ok(Part::Parameter(name.to_owned())),
        _ => {
            let words: Vec<&str> = RESERVED.iter().chain(known.parameters).copied().collect();
            let near = did_you_mean(name, words.iter().copied());
            let text = format!("{{{name}}}");
            let expected = list(words);
            Err(format!("unknown placeholder {}; expected {expected} in braces{near}", quote(&text)))
        }
    }
}

impl UrlTemplate {
    /// Whether every expansion is a URL that can be called.
    fn check(&self) -> Result<(), String> {
        let text = self.expand(&Captures::default(), "");
        let refuse =
            |what: &str| Err(format!("{} {what}; expected one like http://127.0.0.1:9001/x", quote(&text)));
        let Ok(uri) = text.parse::<Uri>() else {
            return refuse("is not a URL");
        };
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return refuse("is not a URL with http:// or https://");
        }
        match uri.authority() {
            Some(authority) if authority.as_str().contains('@') => {
                refuse("holds a user name, which is never sent")
            }
            Some(authority) if authority.host().is_empty() => refuse("has no host"),
            None => refuse("has no host"),
            Some(_) if text.contains('#') => refuse("has a fragment, which is never sent"),
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::route;

    const KNOWN: Known<'static> = Known { branch: "type/α", i: Some(3), parameters: &["id"] };

    #[test]
    fn placeholders_are_filled_in() {
        let captures = route("GET /{id}").unwrap().capture("/a%2F..%3Fb%ff").unwrap();
        let check = |text: &str, query: &str, expected: &str| {
            assert_eq!(template(text, KNOWN).unwrap().expand(&captures, query), expected, "{text}");
        };
        check("http://h:1/{branch}", "", "http://h:1/type%2F%CE%B1");
        check("http://s{i}.internal/q?{query}", "a=1&b=%20", "http://s3.internal/q?a=1&b=%20");
        check("http://h/q?{query}", "", "http://h/q?");
        check("http://h/q?{query}", "a b#\n", "http://h/q?a%20b%23%0A");
        check("https://h/item/{id}?x={id}", "", "https://h/item/a%2F..%3Fb%FF?x=a%2F..%3Fb%FF");
        check("http://[::1]:80/{id}", "", "http://[::1]:80/a%2F..%3Fb%FF");
    }

    #[test]
    fn bad_templates_are_refused_where_they_are_bad() {
        let check = |text: &str, span: std::ops::Range<usize>, message: &str| {
            let faults = template(text, Known { i: None, ..KNOWN }).unwrap_err();
            assert_eq!(faults.len(), 1, "{text}: {faults:?}");
            assert_eq!(faults[0].span, span, "{text}: {}", faults[0].message);
            assert!(faults[0].message.contains(message), "{text}: {}", faults[0].message);
        };
        check(
            "http://h/{brnch}",
            9..16,
            "expected `branch`, `i`, `query` or `id` in braces; did you mean `branch`?",
        );
        check("http://h/{i}", 9..12, "numbers the branches of `each`");
        check("http://h/{branch", 9..10, "a brace without its other half");
        check("http://h/branch}", 15..16, "a brace without its other half");
        check("http://{id}/", 7..11, "can't be in a host");
        check("http://h:{query}", 9..16, "can't be in a host");
        check("{id}", 0..4, "can't be in a host");
        check("127.0.0.1:9001/x", 0..16, "is not a URL");
        check("ftp://h/x", 0..9, "with http:// or https://");
        check("http:///x", 0..9, "is not a URL");
        check("http://u:p@h/x", 0..14, "holds a user name");
        check("http://h/x#y", 0..12, "has a fragment");
        check("http://h/a b", 0..12, "is not a URL");
        check("", 0..0, "is not a URL");
    }
}
