//! How many requests hedges add when they are asked for 5 %: a plan as a layer, and tower's own hedge.

use std::convert::Infallible;
use std::f64::consts::TAU;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fantail::tower::PlanLayer;
use fantail::{Fanout, Limiters};
use fantail_core::{BranchSpec, BudgetSpec, Hedge, LiveDelaySpec, Plan, PlanSpec, Quantile, Time};
use tokio::time::sleep;
use tower::{Layer, Service, ServiceExt, service_fn};

const WARM_UP: u64 = 4_000;
const REQUESTS: u64 = 10_000;

#[derive(Clone, Copy, Debug)]
enum Law {
    /// Mean 200 ms.
    Exponential,
    /// Median 200 ms, sigma 1.
    LogNormal,
}

/// An upstream that counts its calls, each of which takes a time of its own.
#[derive(Debug)]
struct Upstream {
    law: Law,
    /// Of splitmix64.
    seed: Mutex<u64>,
    calls: AtomicU64,
}

impl Upstream {
    fn new(law: Law) -> Arc<Upstream> {
        Arc::new(Upstream { law, seed: Mutex::new(7), calls: AtomicU64::new(0) })
    }

    /// Between 0 and 1.
    fn draw(&self) -> f64 {
        let mut seed = self.seed.lock().unwrap();
        *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((bits ^ (bits >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    async fn call(self: Arc<Upstream>) -> Result<(), Infallible> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let exponential = -self.draw().ln();
        let relative = match self.law {
            Law::Exponential => exponential,
            Law::LogNormal => ((2.0 * exponential).sqrt() * (TAU * self.draw()).cos()).exp(),
        };
        sleep(Duration::from_secs_f64(0.2 * relative)).await;
        Ok(())
    }
}

/// Requests one after another; how many calls there are beyond one for each, relative to their number.
async fn extra<S: Service<u64>>(mut service: S, upstream: &Upstream) -> f64 {
    let mut before = 0;
    for request in 0..WARM_UP + REQUESTS {
        if request == WARM_UP {
            before = upstream.calls.load(Ordering::Relaxed);
        }
        let Ok(ready) = service.ready().await else { panic!("it is always ready") };
        assert!(ready.call(request).await.is_ok());
    }
    (upstream.calls.load(Ordering::Relaxed) - before) as f64 / REQUESTS as f64 - 1.0
}

#[derive(Clone, Copy)]
struct Always;

impl tower::hedge::Policy<u64> for Always {
    fn clone_request(&self, request: &u64) -> Option<u64> {
        Some(*request)
    }

    fn can_retry(&self, _request: &u64) -> bool {
        true
    }
}

/// With a budget that never binds, so that the delay alone decides.
fn plan() -> Fanout {
    let p95 = Quantile::from_ppm(950_000).unwrap();
    let delay = Time::from_millis(600);
    let read = BranchSpec {
        repeatable: true,
        hedge: Some(Hedge::after(delay)),
        live: Some(0),
        ..BranchSpec::new("read")
    };
    let spec = PlanSpec {
        hedge_budget: BudgetSpec { share: 1_000_000, burst: 1_000, in_flight: None },
        live_delays: vec![LiveDelaySpec { warming: Some(delay), ..LiveDelaySpec::new(p95) }],
        ..PlanSpec::new("read", vec![read])
    };
    Fanout::new(Plan::new(spec).unwrap(), &Limiters::default())
}

#[tokio::test(start_paused = true)]
async fn a_live_p95_sends_5_percent_where_one_of_winners_alone_sends_twice_as_many() {
    for (law, winners) in [(Law::Exponential, 0.08..0.12), (Law::LogNormal, 0.095..0.145)] {
        let upstream = Upstream::new(law);
        let called = Arc::clone(&upstream);
        let service = service_fn(move |_| Arc::clone(&called).call());
        let ours = extra(PlanLayer::new(plan()).unwrap().layer(service), &upstream).await;

        let upstream = Upstream::new(law);
        let called = Arc::clone(&upstream);
        let service = service_fn(move |_| Arc::clone(&called).call());
        let hedge = tower::hedge::Hedge::new(service, Always, 100, 0.95, Duration::from_secs(120));
        let tower = extra(hedge, &upstream).await;

        println!("{law:?}: {:.1} % by a plan, {:.1} % by tower", 100.0 * ours, 100.0 * tower);
        assert!((ours - 0.05).abs() <= 0.007, "{law:?}: {ours}");
        assert!(winners.contains(&tower), "{law:?}: {tower}");
    }
}
