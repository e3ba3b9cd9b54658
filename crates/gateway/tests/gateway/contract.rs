//! What clients get.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{DOCUMENT, Serving, enrich};
use crate::upstream::{Reply, Upstream};

/// Numbers as text that no `f64` holds, and a `null` that is an answer.
fn answer(branch: &str, _before: usize) -> Reply {
    match branch {
        "type" => Reply::Json("\"contract\""),
        "parties" => Reply::Json(" [\"A\", \"B\"] "),
        "amounts" => Reply::Json("{\"total\": 123456789012345678901234567890.10, \"tiny\": 1E-999}"),
        "dates" => Reply::Json("null"),
        "slow" => Reply::Never,
        _ => Reply::Status(500, "", "no"),
    }
}

#[tokio::test]
async fn a_complete_result_holds_every_answer_as_it_came() {
    let upstream = Upstream::start(answer).await;
    let branches = "type = {}\nparties = {}\ndates = {}\namounts = { optional = true }";
    let gateway = Serving::start(&enrich("deadline = \"5s\"", &upstream.url(), branches), None).await;
    let reply = gateway.post("/enrich", DOCUMENT).await;
    assert_eq!(reply.status, StatusCode::OK);
    let data = "\"data\":{\"type\":\"contract\",\"parties\":[\"A\", \"B\"],\"dates\":null,\
                \"amounts\":{\"total\": 123456789012345678901234567890.10, \"tiny\": 1E-999}}";
    assert!(reply.text.contains(data), "{}", reply.text);
    assert!(reply.text.starts_with("{\"schema\":\"fantail.job/1\",\"job\":\""), "{}", reply.text);
    let body = reply.json();
    assert_eq!((&body["verdict"], &body["incomplete"]), (&json!("complete"), &json!([])));
    let fanout = &body["fanout"];
    assert_eq!((&fanout["branches"], &fanout["answered"]), (&json!(4), &json!(4)));
    assert_eq!((&fanout["attempts"], &fanout["hedges"]), (&json!(4), &json!(0)));
    assert!(fanout["elapsed_s"].as_f64().unwrap() > 0.0);

    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!((reply.header("fantail-incomplete"), reply.header("link")), (None, None));
    let timing = reply.header("server-timing").unwrap();
    let names: Vec<&str> = timing.split(", ").map(|entry| entry.split(";dur=").next().unwrap()).collect();
    assert_eq!(names, ["type", "parties", "dates", "amounts", "total"]);
    let other = gateway.post("/enrich", DOCUMENT).await.json();
    assert_ne!(body["job"], other["job"]);
}

#[tokio::test]
async fn a_partial_result_says_what_it_lacks_and_why() {
    let upstream = Upstream::start(answer).await;
    let branches = "type = {}\nslow = { optional = true }\nbroken = { optional = true }";
    let gateway = Serving::start(&enrich("deadline = \"200ms\"", &upstream.url(), branches), None).await;
    let reply = gateway.post("/enrich", DOCUMENT).await;
    assert_eq!((reply.status, reply.header("fantail-incomplete")), (StatusCode::OK, Some("slow, broken")));
    assert_eq!(reply.header("link"), None);
    let body = reply.json();
    assert_eq!((&body["verdict"], &body["data"]), (&json!("partial"), &json!({"type": "contract"})));
    let [slow, broken] = body["incomplete"].as_array().unwrap().as_slice() else { panic!("{body}") };
    let words =
        |missing: &Value| [&missing["outcome"], &missing["reason"], &missing["backfill"]].map(Clone::clone);
    assert_eq!(words(slow), [json!("missed"), json!("deadline"), Value::Null]);
    assert_eq!(words(broken), [json!("failed"), json!("status"), Value::Null]);
    assert!(broken["detail"].as_str().unwrap().contains("500"));
    // It ran all the while that the job did, less what it waited. In nanoseconds, as sums of seconds are rounded.
    let time = |value: &Value| (value.as_f64().unwrap() * 1e9).round() as u64;
    assert!(time(&slow["ran_s"]) + time(&slow["waited_s"]) <= time(&body["fanout"]["elapsed_s"]));
    assert_eq!((&body["fanout"]["branches"], &body["fanout"]["answered"]), (&json!(3), &json!(1)));
}

#[tokio::test]
async fn a_failed_job_is_a_problem_whose_status_says_whether_time_ran_out() {
    let upstream = Upstream::start(answer).await;
    let check = async |branches: &str, status: StatusCode, reason: &str| {
        let plan = enrich("deadline = \"200ms\"", &upstream.url(), branches);
        let reply = Serving::start(&plan, None).await.post("/enrich", DOCUMENT).await;
        let body = reply.json();
        assert_eq!((reply.status, &body["reason"]), (status, &json!(reason)), "{body}");
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
        assert_eq!((&body["status"], &body["verdict"]), (&json!(status.as_u16()), &json!("failed")));
        assert_eq!(body["title"], status.canonical_reason().unwrap());
        let counts = ["branches", "answered"].map(|key| body["fanout"][key].as_u64().unwrap());
        assert_eq!(counts[0] - counts[1], body["incomplete"].as_array().unwrap().len() as u64, "{body}");
        body
    };
    check("type = {}\nslow = {}", StatusCode::GATEWAY_TIMEOUT, "deadline").await;
    check("slow = { attempt_timeout = \"50ms\" }", StatusCode::GATEWAY_TIMEOUT, "deadline").await;
    let body = check("broken = {}\nslow = {}", StatusCode::BAD_GATEWAY, "upstream").await;
    assert!(body["detail"].as_str().unwrap().starts_with("branch `broken` failed and is required"), "{body}");
    let outcomes: Vec<_> =
        body["incomplete"].as_array().unwrap().iter().map(|m| m["outcome"].clone()).collect();
    assert_eq!(outcomes, [json!("failed"), json!("cancelled")]);
}

#[tokio::test]
async fn a_client_may_refuse_partial_results() {
    let upstream = Upstream::start(answer).await;
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("backfill.sqlite");
    let branches = "type = {}\nslow = { optional = true }";
    let plan = enrich("deadline = \"200ms\"\nbackfill = true", &upstream.url(), branches);
    let gateway = Serving::start(&plan, Some(&store)).await;
    let strict = [("prefer", "handling=strict")];
    let reply = gateway.send(Method::POST, "/enrich", &strict, DOCUMENT).await;
    assert_eq!(reply.status, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(reply.header("preference-applied"), Some("handling=strict"));
    assert_eq!((&reply.json()["verdict"], reply.header("link")), (&json!("partial"), None));
    let status = gateway.get_admin("/status.json").await.json();
    assert_eq!(status["backfill"]["documents"], 0, "nothing is filled in that nobody was told of");
}

#[tokio::test]
async fn once_the_barrier_is_met_nothing_is_incomplete() {
    let upstream = Upstream::start(answer).await;
    let plan = enrich("wait_for = 2", &upstream.url(), "type = {}\nslow = {}\nparties = {}\nbroken = {}");
    let body = Serving::start(&plan, None).await.post("/enrich", DOCUMENT).await.json();
    assert_eq!((&body["verdict"], &body["incomplete"]), (&json!("complete"), &json!([])));
    assert_eq!(body["data"].as_object().unwrap().keys().collect::<Vec<_>>(), ["parties", "type"]);
}

#[tokio::test]
async fn the_status_counts_what_was_served() {
    let upstream = Upstream::start(answer).await;
    let branches = "type = {}\nslow = { optional = true }";
    let gateway = Serving::start(&enrich("deadline = \"100ms\"", &upstream.url(), branches), None).await;
    for _ in 0..3 {
        gateway.post("/enrich", DOCUMENT).await;
    }
    assert_eq!(gateway.get_admin("/livez").await.status, StatusCode::OK);
    assert_eq!(gateway.get_admin("/readyz").await.status, StatusCode::OK);
    let status = gateway.get_admin("/status.json").await.json();
    let plan = &status["plans"]["enrich"];
    assert_eq!((&plan["route"], &plan["jobs"]["partial"]), (&json!("POST /enrich"), &json!(3)));
    assert_eq!(plan["shares"], json!({"complete": 0.0, "partial": 1.0, "failed": 0.0}));
    assert!(plan["elapsed_s"]["p50"].as_f64().unwrap() >= 0.1);
    let primaries = &plan["ledger"]["primaries"];
    let count = |key: &str| primaries[key].as_u64().unwrap();
    assert_eq!(
        [count("launched"), count("won"), count("lost"), count("failed"), count("censored")],
        [6, 3, 0, 0, 3]
    );
    assert_eq!(status["backfill"], Value::Null);
}
