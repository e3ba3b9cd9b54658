//! What the admin port serves beside its own.

use std::net::SocketAddr;

use fantail_gateway::{Gateway, Page, PlanFile, ServeOptions};
use http::{HeaderValue, StatusCode};

use crate::support::{DOCUMENT, Serving, config, enrich};
use crate::upstream::{Reply, Upstream};

#[tokio::test]
async fn the_admin_port_shows_the_file_what_was_measured_and_pages_as_they_are() {
    let upstream = Upstream::start(|_, _| Reply::Json("1")).await;
    let text = enrich("", &upstream.url(), "type = {}");
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let page = Page {
        path: "/lab",
        content_type: HeaderValue::from_static("text/html; charset=utf-8"),
        policy: Some(HeaderValue::from_static("default-src 'none'")),
        body: "<!doctype html>".into(),
    };
    let options = ServeOptions {
        listen: any,
        admin: any,
        store: None,
        file: Some(PlanFile { name: "test.toml".to_owned(), text: text.clone() }),
        pages: vec![page],
    };
    let gateway = Serving::run(Gateway::bind(config(&text), options).await.unwrap());

    let lab = gateway.get_admin("/lab").await;
    assert_eq!((lab.status, lab.text.as_str()), (StatusCode::OK, "<!doctype html>"));
    assert_eq!(lab.header("content-security-policy"), Some("default-src 'none'"));
    assert_eq!(lab.header("content-type"), Some("text/html; charset=utf-8"));
    let slash = gateway.get_admin("/lab/").await;
    assert_eq!((slash.status, slash.header("location")), (StatusCode::PERMANENT_REDIRECT, Some("../lab")));
    assert_eq!(gateway.get("/lab").await.status, StatusCode::NOT_FOUND, "the data port serves plans alone");
    assert_eq!(gateway.get_admin("/config").await.text, text);

    for _ in 0..3 {
        assert_eq!(gateway.post("/enrich", DOCUMENT).await.status, StatusCode::OK);
    }
    let served = gateway.get_admin("/served.json").await.json();
    assert_eq!(served["file"]["name"], "test.toml");
    assert_eq!(served["file"]["text"], text);
    assert!(served["since_s"].as_f64().is_some_and(|seconds| seconds > 0.0));
    let plan = &served["plans"][0];
    assert_eq!((&plan["name"], &plan["jobs"], &plan["complete"]), (&"enrich".into(), &3.into(), &1.0.into()));
    assert!(plan["quantiles_s"]["p50"].as_f64().is_some_and(|seconds| seconds > 0.0));
}

#[tokio::test]
async fn a_gateway_without_a_file_says_so() {
    let upstream = Upstream::start(|_, _| Reply::Json("1")).await;
    let gateway = Serving::start(&enrich("", &upstream.url(), "type = {}"), None).await;
    assert_eq!(gateway.get_admin("/config").await.status, StatusCode::NOT_FOUND);
    let served = gateway.get_admin("/served.json").await.json();
    assert!(served["file"].is_null() && served["plans"][0]["quantiles_s"]["p50"].is_null());
}
