//! Branches in an order, failover, and jobs that measure, as they are served.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{DOCUMENT, Serving, enrich, until};
use crate::upstream::{Reply, Upstream};

fn never_or(branch: &str, slow: &str) -> Reply {
    if branch == slow { Reply::Never } else { Reply::Json("1.50") }
}

#[tokio::test]
async fn a_later_branch_is_sent_the_earlier_answers_with_the_request() {
    let upstream = Upstream::start(|branch, _| never_or(branch, "tags")).await;
    let branches = "type = {}\ntags = { optional = true, deadline = \"60ms\" }\n\
        summary = { after = [\"type\"] }\nscore = { after = [\"type\", \"tags\"], tolerates_missing = true }\n\
        links = { after = [\"tags\"], optional = true }";
    let gateway = Serving::start(&enrich("deadline = \"20s\"", &upstream.url(), branches), None).await;
    let body = gateway.post("/enrich", DOCUMENT).await.json();
    assert_eq!(body["data"], json!({"type": 1.5, "summary": 1.5, "score": 1.5}), "{body}");
    let missing = body["incomplete"].as_array().unwrap();
    assert_eq!((&missing[0]["branch"], &missing[0]["outcome"]), (&json!("tags"), &json!("missed")));
    assert_eq!((&missing[1]["branch"], &missing[1]["reason"]), (&json!("links"), &json!("dependency")));
    let sent =
        |branch: &str| upstream.seen_of(branch).iter().map(|seen| seen.body.clone()).collect::<Vec<_>>();
    assert_eq!(sent("type"), [DOCUMENT]);
    // As text: no number is read and written again.
    let expected = format!("{{\"request\":{DOCUMENT},\"answers\":{{\"type\":1.50}}}}");
    assert_eq!((sent("summary"), sent("score")), (vec![expected.clone()], vec![expected]));
    assert_eq!(sent("links").len(), 0);
}

#[tokio::test]
async fn a_request_without_a_body_goes_to_later_branches_without_one() {
    let upstream = Upstream::start(|_, _| Reply::Json("1")).await;
    let plan = enrich("", &upstream.url(), "type = {}\nsummary = { after = [\"type\"] }");
    let gateway = Serving::start(&plan.replace("POST /enrich", "GET /enrich"), None).await;
    let body = gateway.get("/enrich").await.json();
    assert_eq!(body["data"], json!({"type": 1, "summary": 1}));
    assert!(upstream.seen().iter().all(|seen| seen.body.is_empty()));
}

#[tokio::test]
async fn a_later_branch_is_filled_in_with_answers_that_were_filled_in() {
    let upstream = Upstream::start(|branch, before| match (branch, before) {
        // Late in the job.
        ("tags", 0) => Reply::Never,
        ("tags", _) => Reply::Json("[\"a\"]"),
        _ => Reply::Json("1"),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let branches = "type = {}\ntags = { optional = true }\n\
        links = { after = [\"type\", \"tags\"], optional = true }";
    let plan = enrich("deadline = \"100ms\"\nbackfill = true", &upstream.url(), branches);
    let gateway = Serving::start(&plan, Some(&folder.path().join("backfill.sqlite"))).await;
    let body = gateway.post("/enrich", DOCUMENT).await.json();
    assert_eq!(body["incomplete"].as_array().unwrap().len(), 2, "{body}");
    let path = body["incomplete"][1]["backfill"]["self"].as_str().unwrap().to_owned();
    let document = gateway.document(&path, |document| document["verdict"] == "complete").await;
    assert_eq!(document["data"], json!({"type": 1, "tags": ["a"], "links": 1}));
    let expected = format!("{{\"request\":{DOCUMENT},\"answers\":{{\"type\":1,\"tags\":[\"a\"]}}}}");
    assert_eq!(upstream.seen_of("links").last().unwrap().body, expected);
}

#[tokio::test]
async fn followers_wait_for_their_leader() {
    static ONE: Reply = Reply::Json("1");
    let upstream = Upstream::start(|branch, _| match branch {
        "prime" => Reply::After(Duration::from_millis(200), &ONE),
        _ => Reply::Json("2"),
    })
    .await;
    let lines = "leader = { branch = \"prime\", head_start = \"20s\" }";
    let plan = enrich(lines, &upstream.url(), "a = {}\nprime = {}\nb = {}");
    let gateway = Serving::start(&plan, None).await;
    let body = gateway.post("/enrich", DOCUMENT).await.json();
    assert_eq!(body["data"], json!({"a": 2, "prime": 1, "b": 2}));
    let seen = upstream.seen();
    assert!(seen[0].line.starts_with("POST /prime"), "{seen:?}");
}

#[tokio::test]
async fn a_branch_fails_over_to_its_other_target() {
    let bad = Upstream::start(|_, _| Reply::Status(500, "", "")).await;
    let good = Upstream::start(|_, _| Reply::Json("1")).await;
    let plan = format!(
        "[plan.enrich]\nroute = \"POST /enrich\"\nfailover = {{ extra = \"100%\" }}\n\
         [plan.enrich.branch.type]\nrepeatable = true\ntargets = [\"{}\", \"{}\"]\n",
        bad.url(),
        good.url()
    );
    let gateway = Serving::start(&plan, None).await;
    // The budget starts at nothing; targets take turns.
    let replies = [gateway.post("/enrich", DOCUMENT).await, gateway.post("/enrich", DOCUMENT).await];
    let statuses = replies.map(|reply| reply.status);
    assert_eq!(statuses, [StatusCode::BAD_GATEWAY, StatusCode::OK]);
    let reply = gateway.post("/enrich", DOCUMENT).await;
    assert_eq!(
        (reply.status, &reply.json()["data"]),
        (StatusCode::OK, &json!({"type": 1})),
        "{}",
        reply.text
    );
    let status = gateway.get_admin("/status.json").await.json();
    assert_eq!(status["plans"]["enrich"]["ledger"]["failovers"]["won"], 1);
}

#[tokio::test]
async fn what_an_observed_job_keeps_is_measured_and_counted_and_outlives_the_request() {
    static ONE: Reply = Reply::Json("1");
    let upstream = Upstream::start(|branch, _| match branch {
        "slow" => Reply::After(Duration::from_millis(300), &ONE),
        _ => Reply::Json("1"),
    })
    .await;
    let lines = "wait_for = 1\ndeadline = \"20s\"\nobserve = \"100%\"\n\
        hedge = { after = \"p95\", warming = \"10s\", min_useful = \"1s\" }";
    let gateway = Serving::start(&enrich(lines, &upstream.url(), "fast = {}\nslow = {}"), None).await;
    let body = gateway.post("/enrich", DOCUMENT).await.json();
    assert_eq!((&body["verdict"], &body["data"]), (&json!("complete"), &json!({"fast": 1})));
    let kept =
        async || gateway.get_admin("/status.json").await.json()["plans"]["enrich"]["ledger"]["kept"].clone();
    for _ in 0..1_000 {
        let kept = kept().await;
        if kept["kept"] == 1 {
            assert_eq!(kept["answered"], 1);
            assert!(kept["busy_s"].as_f64().unwrap() > 0.2, "{kept}");
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("what was kept never ended: {}", kept().await);
}

#[tokio::test]
async fn the_status_tells_of_live_delays_and_of_the_holdout() {
    let upstream = Upstream::start(|_, _| Reply::Json("1")).await;
    let lines = "wait_for = 1\ndeadline = \"20s\"\nholdout = \"100%\"\n\
        hedge = { after = \"p95\", warming = \"10s\", min_useful = \"1s\" }";
    let gateway = Serving::start(&enrich(lines, &upstream.url(), "fast = {}\nslow = {}"), None).await;
    assert_eq!(gateway.send(Method::POST, "/enrich", &[], DOCUMENT).await.status, StatusCode::OK);
    let status = gateway.get_admin("/status.json").await.json();
    let plan = &status["plans"]["enrich"];
    let expected = json!({
        "branch": "fast", "branches": 1, "quantile": "p95", "state": "warming", "delay_s": 10.0,
        "quantile_s": null, "above_s": null, "at_risk": 0.0, "biased": true,
        "why": "too few primaries have started; biased: first k without observe",
    });
    assert_eq!(plan["live"][0], expected);
    assert_eq!(plan["live"].as_array().unwrap().len(), 2);
    assert!(plan["holdout_elapsed_s"]["p50"].as_f64().is_some(), "{plan}");
    // A plan that has none of it says so.
    let gateway = Serving::start(&enrich("", &upstream.url(), "a = {}"), None).await;
    let status = gateway.get_admin("/status.json").await.json();
    let plan = &status["plans"]["enrich"];
    assert_eq!((&plan["live"], &plan["holdout_elapsed_s"]), (&json!([]), &Value::Null));
}

#[tokio::test]
async fn a_drain_does_not_wait_for_what_is_kept() {
    let upstream = Upstream::start(|branch, _| never_or(branch, "slow")).await;
    let lines = "wait_for = 1\ndeadline = \"1h\"\nobserve = \"100%\"";
    let gateway = Serving::start(&enrich(lines, &upstream.url(), "fast = {}\nslow = {}"), None).await;
    assert_eq!(gateway.post("/enrich", DOCUMENT).await.status, StatusCode::OK);
    until("both were called", || upstream.seen().len() == 2).await;
    tokio::time::timeout(Duration::from_secs(10), gateway.ended()).await.expect("nothing was in flight");
}
