//! Stopping loses nothing.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{self, DOCUMENT, Serving, TestClient, enrich};
use crate::upstream::{Reply, Upstream};

#[tokio::test]
async fn a_drain_answers_the_jobs_in_flight_and_accepts_no_more() {
    static SLOW: Reply = Reply::Json("1");
    let upstream = Upstream::start(|_, _| Reply::After(Duration::from_millis(500), &SLOW)).await;
    let mut gateway = Serving::start(&enrich("", &upstream.url(), "type = {}"), None).await;
    let (client, addr, admin) = (gateway.client(), gateway.addr, gateway.admin);
    let in_flight =
        tokio::spawn(async move { client.send(addr, Method::POST, "/enrich", &[], DOCUMENT).await.unwrap() });
    support::until("the job runs", || upstream.seen().len() == 1).await;
    gateway.stop();
    let fresh = TestClient::new();
    while let Ok(reply) = fresh.send(admin, Method::GET, "/readyz", &[], "").await {
        if reply.status == StatusCode::SERVICE_UNAVAILABLE {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!in_flight.is_finished(), "the drain was seen while the job ran");
    let refused = TestClient::new().send(addr, Method::POST, "/enrich", &[], DOCUMENT).await;
    assert!(refused.unwrap_err().is_connect());
    let reply = in_flight.await.unwrap();
    assert_eq!((reply.status, &reply.json()["verdict"]), (StatusCode::OK, &json!("complete")));
    gateway.ended().await;
}

#[tokio::test]
async fn a_drain_hands_running_tries_back_and_the_next_start_takes_them_up() {
    let upstream = Upstream::start(|branch, before| match branch {
        "type" => Reply::Json("1"),
        _ if before < 2 => Reply::Never,
        _ => Reply::Json("2"),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("backfill.sqlite");
    // One try alone: the one that the drain cuts does not count.
    let plan = enrich(
        "deadline = \"100ms\"\nbackfill = { tries = 1 }",
        &upstream.url(),
        "type = {}\nsummary = { optional = true }",
    );
    let gateway = Serving::start(&plan, Some(&store)).await;
    let body = gateway.post("/enrich", DOCUMENT).await.json();
    let path = body["incomplete"][0]["backfill"]["self"].as_str().unwrap().to_owned();
    support::until("the try is running", || upstream.seen_of("summary").len() == 2).await;
    gateway.ended().await;

    let gateway = Serving::start(&plan, Some(&store)).await;
    let document = gateway.document(&path, |document: &Value| document["verdict"] == "complete").await;
    assert_eq!(document["data"], json!({"type": 1, "summary": 2}));
}

#[tokio::test]
async fn an_idle_gateway_stops_at_once_though_connections_are_kept() {
    let upstream = Upstream::start(|_, _| Reply::Json("1")).await;
    let gateway = Serving::start(&enrich("", &upstream.url(), "type = {}"), None).await;
    assert_eq!(gateway.post("/enrich", DOCUMENT).await.status, StatusCode::OK);
    tokio::time::timeout(Duration::from_secs(10), gateway.ended()).await.expect("nothing was in flight");
}
