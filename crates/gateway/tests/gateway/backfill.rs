//! Documents grow until they are complete, whatever happens to the process.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};

use crate::support::{self, DOCUMENT, Serving, TestClient, enrich};
use crate::upstream::{Reply, Upstream};

const BRANCHES: &str = "type = {}\namounts = { optional = true }\nsummary = { optional = true }";

fn plan(lines: &str, upstream: &Upstream) -> String {
    enrich(&format!("deadline = \"100ms\"\n{lines}"), &upstream.url(), BRANCHES)
}

fn is_complete(document: &Value) -> bool {
    document["verdict"] == "complete"
}

/// The document's path, from a partial result that says that it is queued.
fn queued(reply: &support::Reply) -> String {
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
    let body = reply.json();
    let path = format!("/enrich/jobs/{}", body["job"].as_str().unwrap());
    assert_eq!(reply.header("link"), Some(&*format!("<{path}>; rel=\"self\"")));
    for missing in body["incomplete"].as_array().unwrap() {
        assert_eq!(missing["backfill"], json!({"state": "queued", "self": path}));
    }
    path
}

#[tokio::test]
async fn every_partial_document_becomes_complete() {
    let upstream = Upstream::start(|branch, before| match branch {
        // Late in the job, and an error in the first try after it.
        "summary" if before % 3 == 0 => Reply::Never,
        "summary" if before % 3 == 1 => Reply::Status(500, "", ""),
        "summary" => Reply::Json("\"s\""),
        "amounts" if before % 2 == 0 => Reply::Never,
        "amounts" => Reply::Json("[1.10]"),
        _ => Reply::Json("\"contract\""),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("backfill.sqlite");
    let gateway = Serving::start(&plan("backfill = true", &upstream), Some(&store)).await;
    let reply = gateway.post("/enrich", DOCUMENT).await;
    let path = queued(&reply);
    let document = gateway.document(&path, is_complete).await;
    let before = reply.json();
    assert_eq!(document["data"], json!({"type": "contract", "amounts": [1.10], "summary": "s"}));
    assert_eq!((&document["schema"], &document["job"]), (&before["schema"], &before["job"]));
    assert_eq!((&document["incomplete"], &document["fanout"]["answered"]), (&json!([]), &json!(3)));
    assert_eq!(document["fanout"]["elapsed_s"], before["fanout"]["elapsed_s"]);
    let text = gateway.get(&path).await.text;
    assert!(text.contains("\"data\":{\"type\":\"contract\",\"amounts\":[1.10],\"summary\":\"s\"}"), "{text}");
    for branch in ["amounts", "summary"] {
        let seen = upstream.seen_of(branch);
        assert!(seen.iter().all(|seen| seen.body == DOCUMENT && seen.line == seen_line(branch)));
        let keys: Vec<&String> = seen.iter().map(|seen| &seen.headers["idempotency-key"]).collect();
        assert!(keys.len() >= 2 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    }
    assert_eq!(upstream.seen_of("type").len(), 1);
    for unknown in ["/enrich/jobs/0123", "/enrich/jobs/%ff"] {
        let reply = gateway.get(unknown).await;
        assert_eq!((reply.status, &reply.json()["reason"]), (StatusCode::NOT_FOUND, &json!("no_such_job")));
    }
}

fn seen_line(branch: &str) -> String {
    format!("POST /{branch}? HTTP/1.1")
}

#[tokio::test]
async fn a_branch_that_can_not_be_filled_in_ends_as_a_dead_letter() {
    let upstream = Upstream::start(|branch, before| match branch {
        "type" => Reply::Json("1"),
        _ if before == 0 => Reply::Never,
        "amounts" => Reply::Json("[]"),
        _ => Reply::Status(404, "", ""),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("backfill.sqlite");
    let gateway = Serving::start(&plan("backfill = true", &upstream), Some(&store)).await;
    let path = queued(&gateway.post("/enrich", DOCUMENT).await);
    let is_dead = |document: &Value| document["incomplete"][0]["backfill"]["state"] == "dead";
    let document = gateway
        .document(&path, |document| is_dead(document) && document["data"]["amounts"] == json!([]))
        .await;
    let missing = document["incomplete"].as_array().unwrap();
    assert_eq!(
        (missing.len(), &missing[0]["branch"], &missing[0]["outcome"]),
        (1, &json!("summary"), &json!("missed"))
    );
    let expected = json!({"state": "dead", "self": path, "tries": 1, "error": "status 404 Not Found"});
    assert_eq!(missing[0]["backfill"], expected);
}

#[tokio::test]
async fn only_what_may_be_sent_again_is_filled_in() {
    let upstream =
        Upstream::start(|branch, _| if branch == "type" { Reply::Json("1") } else { Reply::Never }).await;
    let folder = tempfile::tempdir().unwrap();
    let once = "type = {}\ncharge = { optional = true, repeatable = false }";
    let plan = enrich("deadline = \"100ms\"\nbackfill = true", &upstream.url(), once);
    let gateway = Serving::start(&plan, Some(&folder.path().join("backfill.sqlite"))).await;
    let reply = gateway.post("/enrich", DOCUMENT).await;
    assert_eq!((&reply.json()["incomplete"][0]["backfill"], reply.header("link")), (&Value::Null, None));
    assert_eq!(upstream.seen_of("charge").len(), 1);
}

#[tokio::test]
async fn a_document_above_its_bound_is_refused_and_the_result_says_so() {
    let upstream =
        Upstream::start(|branch, _| if branch == "type" { Reply::Json("1") } else { Reply::Never }).await;
    let folder = tempfile::tempdir().unwrap();
    let plan = plan("backfill = { max_bytes = 10 }", &upstream);
    let gateway = Serving::start(&plan, Some(&folder.path().join("backfill.sqlite"))).await;
    let reply = gateway.post("/enrich", DOCUMENT).await;
    let backfill = reply.json()["incomplete"][0]["backfill"].clone();
    assert_eq!((&backfill["state"], reply.header("link")), (&json!("refused"), None));
    assert!(backfill["error"].as_str().unwrap().contains("at most 10"), "{backfill}");
}

#[tokio::test]
async fn a_store_that_does_not_confirm_in_time_is_not_passed_over_in_silence() {
    let upstream =
        Upstream::start(|branch, _| if branch == "type" { Reply::Json("1") } else { Reply::Never }).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backfill.sqlite");
    let gateway =
        Serving::start(&plan("backfill = { enqueue_timeout = \"50ms\" }", &upstream), Some(&file)).await;
    // Somebody else has the file: the store waits for its turn.
    let mut other = rusqlite::Connection::open(&file).unwrap();
    let blocking = other.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    let reply = gateway.post("/enrich", DOCUMENT).await;
    let body = reply.json();
    assert_eq!((&body["verdict"], reply.header("link")), (&json!("partial"), None));
    let backfill = &body["incomplete"][0]["backfill"];
    assert_eq!(backfill["state"], "unconfirmed", "{body}");
    // What was not confirmed is stored all the same, as soon as it can be.
    blocking.commit().unwrap();
    let path = backfill["self"].as_str().unwrap();
    for _ in 0..1_000 {
        if gateway.get(path).await.status == StatusCode::OK {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{path} was never stored");
}

#[tokio::test]
async fn a_try_is_never_earlier_than_the_server_asks() {
    let upstream = Upstream::start(|branch, before| match branch {
        "type" => Reply::Json("1"),
        _ if before == 0 => Reply::Never,
        _ if before == 1 => Reply::Status(429, "retry-after: 3600\r\n", ""),
        _ => Reply::Json("1"),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    // An hour is within the life of the first document, and beyond that of the second.
    for (lines, state) in [("backfill = { ttl = \"2h\" }", "queued"), ("backfill = { ttl = \"1h\" }", "dead")]
    {
        let store = folder.path().join(state);
        let branches = format!("type = {{}}\n{state} = {{ optional = true }}");
        let plan = enrich(&format!("deadline = \"100ms\"\n{lines}"), &upstream.url(), &branches);
        let gateway = Serving::start(&plan, Some(&store)).await;
        let path = queued(&gateway.post("/enrich", DOCUMENT).await);
        let tried = |document: &Value| {
            let backfill = &document["incomplete"][0]["backfill"];
            backfill["tries"] == 1 && backfill["state"] != "leased"
        };
        let document = gateway.document(&path, tried).await;
        assert_eq!(document["incomplete"][0]["backfill"]["state"], state, "{document}");
    }
}

const CHILD_PLAN: &str = "FANTAIL_TEST_PLAN";
const CHILD_STORE: &str = "FANTAIL_TEST_STORE";

/// Not a test of its own: a gateway in a process that can be killed.
#[tokio::test]
#[ignore = "the body of a child process"]
async fn child() {
    let (Ok(plan), Some(store)) = (std::env::var(CHILD_PLAN), std::env::var_os(CHILD_STORE)) else { return };
    let gateway = support::bind(&plan, Some(Path::new(&store))).await.unwrap();
    println!("ready {}", gateway.addr());
    gateway.serve(std::future::pending()).await;
}

fn start_child(plan: &str, store: &Path) -> (Child, std::net::SocketAddr) {
    use std::io::BufRead;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "backfill::child", "--ignored", "--nocapture", "--test-threads=1"])
        .env(CHILD_PLAN, plan)
        .env(CHILD_STORE, store)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.find_map(|line| line.split_once("ready ").map(|(_, addr)| addr.to_owned()));
    (child, line.unwrap().parse().unwrap())
}

#[tokio::test]
async fn a_killed_gateway_takes_its_backfill_up_again() {
    let upstream = Upstream::start(|branch, before| match branch {
        "type" => Reply::Json("1"),
        // Late in the job, and then in the try during which the process is killed.
        _ if before < 2 => Reply::Never,
        _ => Reply::Json("2"),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("backfill.sqlite");
    let plan = plan("backfill = { tries = 2 }", &upstream);
    let (mut child, addr) = start_child(&plan, &store);
    let reply = TestClient::new().send(addr, http::Method::POST, "/enrich", &[], DOCUMENT).await.unwrap();
    let path = queued(&reply);
    let asked_twice = || ["amounts", "summary"].iter().all(|branch| upstream.seen_of(branch).len() == 2);
    support::until("the first tries are running", asked_twice).await;
    child.kill().unwrap();
    child.wait().unwrap();

    let gateway = Serving::start(&plan, Some(&store)).await;
    let document = gateway.document(&path, is_complete).await;
    assert_eq!(document["data"], json!({"type": 1, "amounts": 2, "summary": 2}));
    assert_eq!(upstream.seen_of("summary").len(), 3);
}
