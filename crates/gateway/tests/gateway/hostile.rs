//! Targets that never answer, refuse, fail, lie and flood: each is its branch's trouble, and no one else's.

use std::time::{Duration, Instant};

use fantail_gateway::MAX_ANSWER_BYTES;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::support::{self, DOCUMENT, Serving, enrich};
use crate::upstream::{Reply, Upstream};

/// Sends one document with a healthy required branch beside an optional one that replies like this; returns what the
/// result says of the latter.
async fn beside_a_healthy_branch(upstream: &Upstream) -> Value {
    let branches = "type = {}\nbad = { optional = true }";
    let plan = enrich("deadline = \"2s\"", &upstream.url(), branches);
    let reply = Serving::start(&plan, None).await.post("/enrich", DOCUMENT).await;
    let body = reply.json();
    assert_eq!((reply.status, &body["verdict"]), (StatusCode::OK, &json!("partial")), "{body}");
    assert_eq!(body["data"], json!({"type": 1}));
    assert!(body["fanout"]["elapsed_s"].as_f64().unwrap() < 2.0, "it did not wait for the deadline: {body}");
    let missing = body["incomplete"].as_array().unwrap();
    assert_eq!((missing.len(), &missing[0]["branch"]), (1, &json!("bad")), "{body}");
    missing[0].clone()
}

async fn check(bad: Reply, reason: &str, detail: &str) -> Upstream {
    let upstream =
        Upstream::start(move |branch, _| if branch == "type" { Reply::Json("1") } else { bad.clone() }).await;
    let missing = beside_a_healthy_branch(&upstream).await;
    assert_eq!((&missing["outcome"], &missing["reason"]), (&json!("failed"), &json!(reason)), "{missing}");
    assert!(missing["detail"].as_str().unwrap().contains(detail), "{missing}");
    upstream
}

#[tokio::test]
async fn every_kind_of_bad_answer_fails_its_branch_with_a_reason() {
    check(Reply::Status(500, "", "{}"), "status", "500").await;
    check(Reply::Status(404, "", "{}"), "status", "404").await;
    check(Reply::Status(302, "location: /elsewhere\r\n", ""), "status", "302").await;
    check(Reply::Status(429, "", ""), "pushback", "429").await;
    check(Reply::Status(503, "retry-after: 7\r\n", ""), "pushback", "7 s").await;
    check(Reply::Status(204, "", ""), "not_json", "EOF").await;
    check(Reply::Json("<html>"), "not_json", "line 1").await;
    check(Reply::Json("{\"a\": 1"), "not_json", "EOF").await;
    check(Reply::Json("1 2"), "not_json", "trailing").await;
    check(Reply::Cut, "cut", "the connection ended before the answer did").await;
    check(Reply::Close, "cut", "the connection ended before the answer did").await;
}

#[tokio::test]
async fn a_refused_connection_fails_its_branch() {
    let upstream = Upstream::start(|_, _| Reply::Json("1")).await;
    // Bound once, so that nobody else has it, and closed, so that nobody answers.
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let branches = format!("type = {{}}\nbad = {{ optional = true, url = \"http://{closed}/\" }}");
    let plan = enrich("deadline = \"2s\"", &upstream.url(), &branches);
    let body = Serving::start(&plan, None).await.post("/enrich", DOCUMENT).await.json();
    let missing = &body["incomplete"][0];
    assert_eq!((&missing["outcome"], &missing["reason"]), (&json!("failed"), &json!("connect")), "{body}");
    assert!(!missing.to_string().contains("127.0.0.1"), "clients are not told of hosts: {missing}");
}

#[tokio::test]
async fn a_flood_is_cut_at_the_bound() {
    for told in [true, false] {
        let flood = Reply::Huge { bytes: 100 << 20, told };
        let upstream = check(flood, "too_large", &MAX_ANSWER_BYTES.to_string()).await;
        // What the sockets' buffers hold was sent too, but by far not all.
        assert!(upstream.taken() < 40 << 20, "told: {told}, taken: {}", upstream.taken());
    }
}

#[tokio::test]
async fn an_answer_of_the_largest_size_is_taken() {
    let upstream = Upstream::start(|_, _| {
        let json: &'static str =
            Box::leak(format!("\"{}\"", "x".repeat(MAX_ANSWER_BYTES - 2)).into_boxed_str());
        Reply::Json(json)
    })
    .await;
    let reply =
        Serving::start(&enrich("", &upstream.url(), "type = {}"), None).await.post("/enrich", DOCUMENT).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert!(reply.text.len() > MAX_ANSWER_BYTES);
}

/// Calm and silent jobs take turns, so that the overhead is measured while it is paid.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_never_answers_costs_the_deadline_and_no_more() {
    const ROUNDS: usize = 20;
    const DEADLINE: Duration = Duration::from_millis(150);
    const ENQUEUE_TIMEOUT: Duration = Duration::from_millis(100);
    let upstream =
        Upstream::start(|branch, _| if branch == "type" { Reply::Json("1") } else { Reply::Never }).await;
    let folder = tempfile::tempdir().unwrap();
    let silent = "type = {}\nsilent = { optional = true }";
    let silent = support::plan("enrich", "deadline = \"150ms\"\nbackfill = true", &upstream.url(), silent);
    let calm = support::plan("calm", "deadline = \"150ms\"", &upstream.url(), "type = {}");
    let store = folder.path().join("backfill.sqlite");
    let gateway = Serving::start(&format!("{silent}{calm}"), Some(&store)).await;
    let timed = async |path: &str| {
        let start = Instant::now();
        let reply = gateway.post(path, DOCUMENT).await;
        assert_eq!(reply.status, StatusCode::OK);
        (start.elapsed(), reply.json())
    };
    timed("/calm").await;
    let (mut overhead, mut costs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        overhead.push(timed("/calm").await.0);
        let (took, body) = timed("/enrich").await;
        assert_eq!(body["incomplete"][0]["outcome"], "missed", "{body}");
        assert!(took >= DEADLINE, "{took:?}");
        costs.push(took);
    }
    overhead.sort_unstable();
    costs.sort_unstable();
    // The timer rounds up to its tick of a millisecond. What a busy machine adds to single jobs is no cost of the
    // gateway, so typical is compared with the worst that was measured beside it.
    let bound = DEADLINE + ENQUEUE_TIMEOUT + overhead[ROUNDS - 1] + Duration::from_millis(1);
    assert!(costs[ROUNDS / 2] <= bound, "{costs:?} above {bound:?}; overhead {overhead:?}");
}

#[tokio::test]
async fn a_client_that_goes_away_drops_its_job() {
    let upstream = Upstream::start(|_, _| Reply::Never).await;
    let gateway = Serving::start(&enrich("", &upstream.url(), "type = {}\ndates = {}"), None).await;
    let mut stream = tokio::net::TcpStream::connect(gateway.addr).await.unwrap();
    let request =
        format!("POST /enrich HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{DOCUMENT}", DOCUMENT.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    support::until("both branches are asked", || upstream.seen().len() == 2).await;
    drop(stream);
    support::until("both calls are dropped", || upstream.closed_early() == 2).await;
    let status = gateway.get_admin("/status.json").await.json();
    let jobs = &status["plans"]["enrich"]["jobs"];
    assert_eq!((&jobs["dropped"], &jobs["running"]), (&json!(1), &json!(0)), "{jobs}");
}

#[tokio::test]
async fn a_pushback_pauses_the_account_for_all_who_share_it() {
    let upstream = Upstream::start(|branch, before| match branch {
        "type" if before == 0 => Reply::Status(429, "retry-after: 30\r\n", ""),
        _ => Reply::Json("1"),
    })
    .await;
    let plan = |name: &str, branch: &str| {
        let branches = format!("{branch} = {{ limiter = \"llm\" }}");
        support::plan(name, "deadline = \"1s\"", &upstream.url(), &branches)
    };
    let plans = format!("[limiter.llm]\ngate = 10\n{}{}", plan("enrich", "type"), plan("other", "dates"));
    let gateway = Serving::start(&plans, None).await;
    let reply = gateway.post("/enrich", DOCUMENT).await;
    assert_eq!(
        (reply.status, &reply.json()["incomplete"][0]["reason"]),
        (StatusCode::BAD_GATEWAY, &json!("pushback"))
    );
    let body = gateway.post("/other", DOCUMENT).await.json();
    let missing = &body["incomplete"][0];
    assert_eq!(
        (&missing["outcome"], &missing["reason"]),
        (&json!("not_started"), &json!("pushback")),
        "{body}"
    );
    assert_eq!(upstream.seen_of("dates").len(), 0);
    let status = gateway.get_admin("/status.json").await.json();
    let paused = status["limiters"]["llm"]["paused_s"].as_f64().unwrap();
    assert!(paused > 20.0 && paused <= 30.0, "{paused}");
}

#[tokio::test]
async fn a_request_that_meets_a_closing_connection_is_sent_again_if_it_may_be() {
    // The second request of every connection finds it closed, as with a server that gives up idle connections.
    let upstream =
        Upstream::start(|_, before| if before == 1 { Reply::Close } else { Reply::Json("1") }).await;
    for (repeatable, status) in [(true, StatusCode::OK), (false, StatusCode::BAD_GATEWAY)] {
        let branch = format!("b{repeatable} = {{ repeatable = {repeatable} }}");
        let gateway = Serving::start(&enrich("", &upstream.url(), &branch), None).await;
        assert_eq!(gateway.post("/enrich", DOCUMENT).await.status, StatusCode::OK);
        assert_eq!(gateway.post("/enrich", DOCUMENT).await.status, status, "repeatable: {repeatable}");
        assert_eq!(gateway.post("/enrich", DOCUMENT).await.status, StatusCode::OK);
    }
}
