//! What clients send, and what of it reaches the targets.

use bytes::Bytes;
use fantail_gateway::MAX_REQUEST_BYTES;
use http::{Method, StatusCode};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{self, DOCUMENT, Serving, enrich};
use crate::upstream::{Reply, Upstream};

async fn echo() -> Upstream {
    Upstream::start(|_, _| Reply::Json("1")).await
}

#[tokio::test]
async fn method_body_query_and_headers_reach_every_branch_unchanged() {
    let upstream = echo().await;
    let gateway =
        Serving::start(&enrich("deadline = \"5s\"", &upstream.url(), "type = {}\ndates = {}"), None).await;
    let body = " {\"n\": 1.50e400,\n \"text\": \"\\u00e9 é\"}\n";
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let headers = [
        ("content-type", "application/json; charset=utf-8"),
        ("authorization", "Bearer secret"),
        ("x-tenant", "7"),
        ("traceparent", trace),
        ("tracestate", "vendor=x"),
        ("idempotency-key", "the client's"),
        ("connection", "x-hop"),
        ("x-hop", "1"),
        ("accept-encoding", "gzip"),
    ];
    let reply = gateway.send(Method::POST, "/enrich?a=%20b&c", &headers, body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
    let job = reply.json()["job"].as_str().unwrap().to_owned();
    let seen = upstream.seen();
    assert_eq!(seen.len(), 2);
    for seen in &seen {
        let header = |name: &str| seen.headers.get(name).map(String::as_str);
        assert_eq!(seen.line, format!("POST /{}?a=%20b&c HTTP/1.1", seen.branch));
        assert_eq!(seen.body, body);
        for (name, value) in &headers[..3] {
            assert_eq!(header(name), Some(*value), "{name}");
        }
        assert_eq!(header("tracestate"), Some("vendor=x"));
        assert_eq!((header("x-hop"), header("accept-encoding")), (None, None));
        let span = header("traceparent").unwrap();
        assert!(span.starts_with(&trace[..36]) && span.ends_with("-01") && span != trace, "{span}");
        let index = ["type", "dates"].iter().position(|branch| *branch == seen.branch).unwrap();
        assert_eq!(header("idempotency-key"), Some(&*format!("{job}-{index}")));
        let left: f64 = header("fantail-time-left").unwrap().parse().unwrap();
        assert!(left > 0.0 && left <= 5.0, "{left}");
    }
    assert_ne!(seen[0].headers["traceparent"], seen[1].headers["traceparent"]);
}

#[tokio::test]
async fn a_copy_carries_the_key_of_its_branch_and_a_span_of_its_own() {
    let upstream =
        Upstream::start(|_, before| if before == 0 { Reply::Never } else { Reply::Json("1") }).await;
    let branches = "type = { hedge = { race = 2 } }";
    let gateway = Serving::start(&enrich("deadline = \"5s\"", &upstream.url(), branches), None).await;
    let body = gateway.post("/enrich", DOCUMENT).await.json();
    assert_eq!((&body["verdict"], &body["fanout"]["hedges"]), (&json!("complete"), &json!(1)));
    let seen = upstream.seen();
    assert_eq!(seen[0].headers["idempotency-key"], seen[1].headers["idempotency-key"]);
    assert_ne!(seen[0].headers["traceparent"], seen[1].headers["traceparent"]);
    support::until("the loser is dropped", || upstream.closed_early() == 1).await;
}

#[tokio::test]
async fn bad_requests_are_told_what_is_wrong_and_start_nothing() {
    let upstream = echo().await;
    let plan = enrich("deadline = \"5s\"", &upstream.url(), "type = {}");
    let plan = format!(
        "{plan}[plan.read]\nroute = \"GET /item/{{id}}\"\n[plan.read.branch]\nitem = {{ url = \"{}\" }}\n",
        upstream.url()
    );
    let gateway = Serving::start(&plan, None).await;
    let check = async |method: Method, path: &str, body: Bytes, status: StatusCode, reason: &str| {
        let reply = gateway.send(method, path, &[], body).await;
        assert_eq!(
            (reply.status, &reply.json()["reason"]),
            (status, &json!(reason)),
            "{path}: {}",
            reply.text
        );
        assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{path}");
        reply
    };
    let text = |text: &'static str| Bytes::from(text);
    let large = Bytes::from(vec![b' '; MAX_REQUEST_BYTES + 1]);
    let (bad, not_json) = (StatusCode::BAD_REQUEST, "not_json");
    let reply = check(Method::POST, "/enrich", text("{\"a\": }"), bad, not_json).await;
    assert!(reply.json()["detail"].as_str().unwrap().contains("line 1 column 7"), "{}", reply.text);
    check(Method::POST, "/enrich", text(""), bad, not_json).await;
    check(Method::POST, "/enrich", Bytes::from_static(b"\"\xff\""), bad, not_json).await;
    check(Method::POST, "/enrich", large, StatusCode::PAYLOAD_TOO_LARGE, "body_too_large").await;
    check(Method::POST, "/enrich/", text("{}"), StatusCode::NOT_FOUND, "no_such_route").await;
    check(Method::GET, "/item/1/jobs/x", text(""), StatusCode::NOT_FOUND, "no_such_route").await;
    let reply =
        check(Method::PUT, "/enrich", text("{}"), StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed").await;
    assert_eq!(reply.header("allow"), Some("POST"));
    assert_eq!(upstream.seen().len(), 0);

    let largest = Bytes::from(format!("\"{}\"", "x".repeat(MAX_REQUEST_BYTES - 2)));
    assert_eq!(gateway.post("/enrich", largest).await.status, StatusCode::OK);
    assert_eq!(gateway.get("/item/a%2Fb").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_body_that_is_cut_short_starts_nothing() {
    let upstream = echo().await;
    let gateway = Serving::start(&enrich("", &upstream.url(), "type = {}"), None).await;
    let mut stream = tokio::net::TcpStream::connect(gateway.addr).await.unwrap();
    stream.write_all(b"POST /enrich HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{}").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 400"), "{}", String::from_utf8_lossy(&rest));
    assert_eq!(upstream.seen().len(), 0);
}

#[tokio::test]
async fn what_can_not_be_served_is_refused_before_anything_starts() {
    let check = async |plan: &str, expected: &str| {
        let error = support::bind(plan, None).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("[plan.a.branch]\nb = {}", "no plan has a `route`").await;
    let backfill =
        enrich("backfill = true\ndeadline = \"1s\"", "http://127.0.0.1:1/", "a = { optional = true }");
    check(&backfill, "plan `enrich` has backfill").await;

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap();
    let plan = support::config(&enrich("", "http://127.0.0.1:1/", "a = {}"));
    let options = fantail_gateway::ServeOptions { listen: addr, ..fantail_gateway::ServeOptions::default() };
    let error = fantail_gateway::Gateway::bind(plan, options).await.unwrap_err().to_string();
    assert!(error.contains(&format!("can't bind the data port {addr}: ")), "{error}");
}
