//! Routes: which requests a plan answers.

use std::fmt;

use http::Method;

use crate::config::Config;
use crate::problem::{Fault, did_you_mean, list, quote};

/// The methods that a route may have.
const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];
/// Placeholders that a URL may have beside the parameters of the route's path.
pub(crate) const RESERVED: [&str; 3] = ["branch", "i", "query"];

/// A method and a path, of which whole segments may be parameters: `GET /item/{id}`.
///
/// ```
/// let config = fantail_planfile::Config::parse("plan.toml", r#"
///     [plan.read]
///     route = "GET /item/{id}"
///     [plan.read.branch]
///     item = { url = "http://127.0.0.1:9001/item/{id}" }
/// "#)?;
/// let route = config.plans[0].route.as_ref().expect("a route is stated");
/// let captures = route.capture("/item/a%20b").expect("the path matches");
/// assert_eq!(captures.get("id"), Some(&b"a b"[..]));
/// assert_eq!(config.plans[0].branches[0].targets[0].expand(&captures, ""), "http://127.0.0.1:9001/item/a%20b");
/// assert!(route.capture("/item").is_none());
/// # Ok::<(), fantail_planfile::Problems>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    method: Method,
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Literal(String),
    Parameter(String),
}

/// What the parameters of a route are in one request's path, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captures(Vec<(String, Vec<u8>)>);

impl Captures {
    /// The value of the parameter `name`. Any bytes: a path may hold what is not UTF-8.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_slice())
    }
}

impl Route {
    /// The method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The names of the path's parameters, in order.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Parameter(name) => Some(name.as_str()),
            Segment::Literal(_) => None,
        })
    }

    /// The values of the parameters when `path`, the path of a request as sent, is one of this route's.
    ///
    /// A parameter takes one whole segment, not empty. `.` and `..` are never taken: whoever resolves them on the
    /// way would turn the request into one for something else.
    pub fn capture(&self, path: &str) -> Option<Captures> {
        let given: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        if given.len() != self.segments.len() {
            return None;
        }
        let mut captures = Captures::default();
        for (segment, given) in self.segments.iter().zip(given) {
            let decoded: Vec<u8> = percent_encoding::percent_decode_str(given).collect();
            match segment {
                Segment::Literal(literal) if literal.as_bytes() == decoded => {}
                Segment::Parameter(name) if !matches!(decoded.as_slice(), b"" | b"." | b"..") => {
                    captures.0.push((name.clone(), decoded));
                }
                Segment::Literal(_) | Segment::Parameter(_) => return None,
            }
        }
        Some(captures)
    }

    /// Whether sending a request of this method twice is as good as once by its definition: GET and HEAD.
    pub(crate) fn is_repeatable(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }

    /// What makes two routes answer the same requests: method and path with the parameters' names left out.
    pub(crate) fn shape(&self) -> String {
        let nameless = |segment: &Segment| match segment {
            Segment::Literal(_) => segment.clone(),
            Segment::Parameter(_) => Segment::Parameter(String::new()),
        };
        Route { segments: self.segments.iter().map(nameless).collect(), ..self.clone() }.to_string()
    }

    /// How soon this route is tried among others: literal segments come before parameters, from the left.
    pub(crate) fn rank(&self) -> impl Ord + use<> {
        self.segments.iter().map(|s| matches!(s, Segment::Parameter(_))).collect::<Vec<bool>>()
    }

    /// Where the documents of this route's jobs are found: `GET` on its path with `/jobs/{job}` after it.
    pub(crate) fn documents(&self) -> Route {
        let mut segments = self.segments.clone();
        segments.retain(|segment| *segment != Segment::Literal(String::new()));
        segments.push(Segment::Literal("jobs".to_owned()));
        segments.push(Segment::Parameter(Config::JOB.to_owned()));
        Route { method: Method::GET, segments }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.method)?;
        self.segments.iter().try_for_each(|segment| write!(f, "/{segment}"))
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Segment::Literal(literal) => f.write_str(literal),
            Segment::Parameter(name) => write!(f, "{{{name}}}"),
        }
    }
}

/// Reads `GET /item/{id}`.
pub(crate) fn route(text: &str) -> Result<Route, Vec<Fault>> {
    let Some((word, path)) = text.split_once(' ') else {
        let message =
            format!("{} is not a route; expected a method and a path, like \"POST /enrich\"", quote(text));
        return Err(vec![Fault::new(0..text.len(), message)]);
    };
    let mut faults = Vec::new();
    let method = METHODS.iter().find(|method| method.as_str() == word);
    if method.is_none() {
        let names = || METHODS.iter().map(Method::as_str);
        let near = did_you_mean(word, names());
        let message = format!("{} is not a method; expected {}{near}", quote(word), list(names()));
        faults.push(Fault::new(0..word.len(), message));
    }
    let segments = segments(path, word.len() + 1, &mut faults);
    match method {
        Some(method) if faults.is_empty() => Ok(Route { method: method.clone(), segments }),
        _ => Err(faults),
    }
}

fn segments(path: &str, offset: usize, faults: &mut Vec<Fault>) -> Vec<Segment> {
    let Some(rest) = path.strip_prefix('/') else {
        let message = format!("{} is not a path; expected a `/` first", quote(path));
        faults.push(Fault::new(offset..offset + path.len(), message));
        return Vec::new();
    };
    let mut segments = Vec::new();
    let mut start = offset + 1;
    for text in rest.split('/') {
        let span = start..start + text.len();
        start = span.end + 1;
        let parsed = segment(text, rest.is_empty()).and_then(|segment| match &segment {
            Segment::Parameter(name) if segments.contains(&segment) => Err(format!("`{{{name}}}` twice")),
            _ => Ok(segment),
        });
        match parsed {
            Ok(segment) => segments.push(segment),
            Err(message) => faults.push(Fault::new(span, message)),
        }
    }
    segments
}

/// One segment; `root` allows the empty one of the path `/`.
fn segment(text: &str, root: bool) -> Result<Segment, String> {
    if let Some(inner) = text.strip_prefix('{') {
        let name = inner.strip_suffix('}').filter(|name| is_identifier(name));
        let Some(name) = name else {
            return Err(format!(
                "{} is not a parameter; expected a name in braces, like {{id}}",
                quote(text)
            ));
        };
        if RESERVED.contains(&name) || name == Config::JOB {
            return Err(format!("`{{{name}}}` has a meaning of its own; expected another name"));
        }
        return Ok(Segment::Parameter(name.to_owned()));
    }
    if text.is_empty() && !root {
        return Err(
            "an empty part of the path; expected a name between slashes and none at the end".to_owned()
        );
    }
    if matches!(text, "." | "..") {
        return Err(format!("{} never reaches a server", quote(text)));
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@".contains(c);
    match text.chars().find(|&c| !is_plain(c)) {
        Some('{' | '}') => {
            Err(format!("{}: a parameter is a whole part of the path, like /{{id}}", quote(text)))
        }
        Some(c) => Err(format!("{} can't be in a route's path", quote(c.encode_utf8(&mut [0; 4])))),
        None => Ok(Segment::Literal(text.to_owned())),
    }
}

/// Whether `name` is a letter or underscore followed by letters, digits and underscores.
fn is_identifier(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(word) && name.starts_with(|c: char| !c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_print_as_they_are_written() {
        for text in ["GET /", "POST /enrich", "GET /item/{id}", "DELETE /a/{b}/c/{d}"] {
            assert_eq!(route(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_path_is_captured_by_whole_segments() {
        let item = route("GET /item/{id}").unwrap();
        let id = |path| item.capture(path).map(|c| c.get("id").unwrap().to_vec());
        assert_eq!(id("/item/7"), Some(b"7".to_vec()));
        assert_eq!(id("/item/a%2Fb"), Some(b"a/b".to_vec()));
        assert_eq!(id("/item/%ff"), Some(b"\xff".to_vec()));
        assert_eq!(id("/%69tem/7"), Some(b"7".to_vec()));
        for path in ["/item/", "/item", "/item/7/", "/item/..", "/item/%2e%2E", "/item/.", "item/7", ""] {
            assert_eq!(id(path), None, "{path}");
        }
        assert!(route("GET /").unwrap().capture("/").is_some());
    }

    #[test]
    fn bad_routes_are_refused_where_they_are_bad() {
        let check = |text: &str, expected: &[(std::ops::Range<usize>, &str)]| {
            let faults = route(text).unwrap_err();
            assert_eq!(faults.len(), expected.len(), "{text}: {faults:?}");
            for (fault, (span, message)) in faults.iter().zip(expected) {
                assert_eq!(&fault.span, span, "{text}: {}", fault.message);
                assert!(fault.message.contains(message), "{text}: {}", fault.message);
            }
        };
        check("/enrich", &[(0..7, "expected a method and a path")]);
        check("PSOT enrich", &[(0..4, "did you mean `POST`?"), (5..11, "expected a `/` first")]);
        check("get /a", &[(0..3, "did you mean `GET`?")]);
        check("GET /a//b/", &[(7..7, "an empty part"), (10..10, "an empty part")]);
        check("GET /a?b", &[(5..8, "`?` can't be in")]);
        check("GET /x{id}", &[(5..10, "whole part of the path")]);
        check("GET /{id", &[(5..8, "expected a name in braces")]);
        check("GET /{}", &[(5..7, "expected a name in braces")]);
        check("GET /{id}/{id}", &[(10..14, "`{id}` twice")]);
        check("GET /{query}", &[(5..12, "a meaning of its own")]);
        check("GET /../b", &[(5..7, "never reaches")]);
    }
}
