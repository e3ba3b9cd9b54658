//! The demo, ten times faster than it is shown: what is measured agrees with what is predicted.

use std::time::{Duration, Instant};

use fantail_core::Rate;
use fantail_gateway::demo::{Account, Demo, Measured, PLAN, Traffic, Upstreams, Verdict};
use fantail_model::{JobLaw, Law, Level, SolveError, solve};
use fantail_planfile::Config;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{DOCUMENT, Serving, TestClient};

/// Draws are seeded, but which job gets which of a branch's draws depends on the order of arrival, so the test is
/// one: it is wrong once in a hundred thousand runs for each figure, if the figures are right.
const CONFIDENCE: f64 = 0.999_99;

/// The demo's plan with every duration divided by ten.
fn ten_times_faster() -> String {
    let scale = [
        ("deadline = \"2.5s\"", "deadline = \"250ms\""),
        ("warming = \"1.5s\"", "warming = \"150ms\""),
        ("rate = \"6000/min\"", "rate = \"60000/min\""),
        ("p50=0.8s,p95=1.5s,p99=2.4s", "p50=80ms,p95=150ms,p99=240ms"),
    ];
    scale.iter().fold(PLAN.to_owned(), |plan, (from, to)| {
        assert!(plan.contains(from), "the example does not say {from} any more");
        plan.replace(from, to)
    })
}

/// A plan whose targets answer 404 at once: what its jobs take is overhead.
const PROBE: &str = "
[plan.probe]
route = \"POST /probe\"
[plan.probe.each]
count = 5
name = \"probe-{i}\"
url = \"http://127.0.0.1:9001/nobody\"
optional = true
";

/// The predictions as stated, and as they are when every call takes longer by `overhead`.
///
/// On a machine so busy that the slower calls would need more copies than the budget allows, the job lies between the
/// one with all its copies and the one with none; then the latter is the bound.
fn predicted(overhead: f64) -> [JobLaw; 2] {
    let hedges = "hedge = { after = \"p95\", warming = \"150ms\", extra = \"5%\" }";
    let plan = ten_times_faster();
    assert!(plan.contains(hedges), "the example does not say {hedges} any more");
    let hedged = Config::parse("hedged", &plan).unwrap().plans.remove(0);
    let plain = Config::parse("plain", plan.replace(hedges, "")).unwrap().plans.remove(0);
    let laws: Vec<Law> = hedged.branches.iter().map(|branch| branch.law.clone().unwrap()).collect();
    let slower: Vec<Law> = laws.iter().map(|law| law.shifted(overhead).unwrap()).collect();
    let slowed = match solve(&hedged.plan, &slower) {
        Err(SolveError::NotIncluded(_)) => solve(&plain.plan, &slower),
        slowed => slowed,
    };
    [solve(&hedged.plan, &laws).unwrap(), slowed.unwrap()]
}

fn check_against_predictions(measured: &Measured, [ideal, slowed]: &[JobLaw; 2], overhead: f64) {
    let sure = Level::below(CONFIDENCE).unwrap();
    for p in [0.5, 0.9] {
        let level = Level::below(p).unwrap();
        let band = measured.latency(level, sure).unwrap();
        let (low, high) = (ideal.quantile(level).value, slowed.quantile(level).value + overhead);
        let agrees = band.interval.low <= high && band.interval.high >= low;
        assert!(agrees, "p = {p}: measured {band:?}, predicted {low} to {high}");
    }
    let verdicts = [ideal.verdicts(), slowed.verdicts()];
    let check = |verdict, shares: [f64; 2]| {
        let band = measured.share(verdict, sure);
        let (low, high) = (shares[0].min(shares[1]), shares[0].max(shares[1]));
        let agrees = band.interval.low <= high && band.interval.high >= low;
        assert!(agrees, "{verdict:?}: measured {band:?}, predicted {low} to {high}");
    };
    check(Verdict::Complete, [verdicts[0].complete, verdicts[1].complete]);
    check(Verdict::Partial, [verdicts[0].partial, verdicts[1].partial]);
    check(Verdict::Failed, [verdicts[0].failed, verdicts[1].failed]);
}

/// Sends a probe every 20 ms; returns the longest that one took, in seconds.
async fn probe(gateway: &Serving, stop: tokio::sync::oneshot::Receiver<()>) -> f64 {
    let mut longest = Duration::ZERO;
    let mut probes = Box::pin(async {
        loop {
            let start = Instant::now();
            let reply = gateway.post("/probe", DOCUMENT).await;
            assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
            longest = longest.max(start.elapsed());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    tokio::select! {
        () = &mut probes => {}
        _ = stop => {}
    }
    drop(probes);
    longest.as_secs_f64()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_demo_measures_is_what_was_predicted() {
    let demo = Demo::start(&format!("{}{PROBE}", ten_times_faster()), 7).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let gateway = Serving::of(demo.config.clone(), Some(&folder.path().join("backfill.sqlite"))).await;
    gateway.post("/probe", DOCUMENT).await;

    let traffic = Traffic { documents: 300, per_second: 40.0, seed: 7 };
    let (done, stop) = tokio::sync::oneshot::channel();
    let mut heard = 0;
    let sent = async {
        let measured = traffic.run(gateway.addr, "/enrich", |_| heard += 1).await;
        done.send(()).unwrap();
        measured
    };
    let (measured, longest) = tokio::join!(sent, probe(&gateway, stop));
    // Timers of the upstreams and of the gateway round up to their tick of a millisecond.
    let overhead = longest + 0.001;

    assert_eq!((measured.replies.len(), heard, measured.without_verdict()), (300, 300, 0));
    for reply in &measured.replies {
        let job = reply.job.as_ref().unwrap();
        assert_eq!(job.answered + job.incomplete, job.branches, "{reply:?}");
        let status =
            if reply.verdict == Some(Verdict::Failed) { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::OK };
        assert_eq!(
            (reply.status, job.incomplete == 0),
            (Some(status), reply.verdict == Some(Verdict::Complete))
        );
        assert!(job.attempts >= u64::from(job.branches) && job.hedges <= 3, "{reply:?}");
    }
    check_against_predictions(&measured, &predicted(overhead), overhead);

    let partial = measured.replies.iter().filter(|reply| reply.verdict == Some(Verdict::Partial));
    for reply in partial {
        let path = format!("/enrich/jobs/{}", reply.job.as_ref().unwrap().id);
        let document = gateway.document(&path, |document: &Value| document["verdict"] == "complete").await;
        let names: Vec<&String> = document["data"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["amounts", "dates", "parties", "summary", "type"]);
    }
    let status = gateway.get_admin("/status.json").await.json();
    let backfill = &status["backfill"];
    assert_eq!(
        [&backfill["queued"], &backfill["leased"], &backfill["dead"]],
        [0, 0, 0].map(Value::from).each_ref()
    );
}

#[tokio::test]
async fn the_account_sends_away_what_is_above_its_rate() {
    let rate = Rate { permits: 1, per: fantail_core::Time::from_secs(30), burst: 2 };
    let laws = ["type", "dates"].map(|name| (name.to_owned(), Law::log_normal(1e-3, 0.1).unwrap()));
    let upstreams = Upstreams::start(laws, Some(Account { rate }), 1).await.unwrap();
    let client = TestClient::new();
    let post =
        async |path: &str| client.send(upstreams.addr(), Method::POST, path, &[], DOCUMENT).await.unwrap();
    // `DOCUMENT` is sent without a content type, which the upstreams do not mind.
    assert_eq!(post("/type").await.json(), json!("other"));
    assert_eq!(post("/dates").await.json(), json!([]));
    let reply = post("/type").await;
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
    let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((25..=30).contains(&wait), "{wait}");
    assert_eq!((upstreams.calls("type"), upstreams.calls("dates")), (1, 1));
    assert_eq!(post("/nobody").await.status, StatusCode::NOT_FOUND);
}
