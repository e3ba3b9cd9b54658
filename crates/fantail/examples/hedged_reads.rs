//! Reads with a copy after the p95, through tower: a plan as a layer, and tower's own hedge beside it.
//!
//! Asked for a copy of 5 % of the reads, tower's hedge sends more: it measures only the reads that won, and so takes its
//! quantile from latencies that its own copies have shortened. A plan reckons with the reads that lost.
//!
//! Time is virtual: sleeping takes none. Run it with `cargo run --release -p fantail --example hedged_reads`.

mod support;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fantail::tower::PlanLayer;
use fantail::{Fanout, Limiters};
use fantail_core::{BranchSpec, BudgetSpec, Hedge, LiveDelaySpec, Plan, PlanSpec, Quantile, Time};
use tokio::time::{Instant, sleep};
use tower::hedge::{Hedge as TowerHedge, Policy};
use tower::{Layer, Service, ServiceExt, service_fn};

const READS: u64 = 20_000;
/// How long tower's hedge measures before it goes by what it has measured: about a thousand reads.
const PERIOD: Duration = Duration::from_secs(300);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

type Law = fn() -> Duration;

/// Replicas that answer after a latency of `law`; counts their calls.
fn replicas(
    law: Law,
    calls: &Arc<AtomicU64>,
) -> impl Service<(), Response = (), Error = Infallible, Future: Send> + Clone + Send + use<> {
    let calls = Arc::clone(calls);
    service_fn(move |(): ()| {
        calls.fetch_add(1, Ordering::Relaxed);
        async move {
            sleep(law()).await;
            Ok(())
        }
    })
}

#[derive(Clone)]
struct Always;

impl Policy<()> for Always {
    fn clone_request(&self, (): &()) -> Option<()> {
        Some(())
    }

    fn can_retry(&self, (): &()) -> bool {
        true
    }
}

/// Reads one after the other, and prints what came of it.
async fn read<S>(what: &str, mut service: S, calls: &AtomicU64) -> Result<(), BoxError>
where
    S: Service<(), Response = ()>,
    S::Error: Into<BoxError>,
{
    let mut times = Vec::new();
    for _ in 0..READS {
        let start = Instant::now();
        let ready = service.ready().await.map_err(Into::into)?;
        ready.call(()).await.map_err(Into::into)?;
        times.push(start.elapsed());
    }
    let extra = 100.0 * (calls.swap(0, Ordering::Relaxed) - READS) as f64 / READS as f64;
    let [p50, p99] = [0.5, 0.99].map(|p| support::quantile(&mut times, p));
    println!("{what:<24}{p50:>6.0} ms{p99:>7.0} ms{extra:>+11.1} %");
    Ok(())
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), BoxError> {
    let calls = Arc::new(AtomicU64::new(0));
    let exponential: Law = || support::exponential(Duration::from_millis(300));
    let log_normal: Law = || support::log_normal(Duration::from_millis(300), 1.0);
    for (name, law) in
        [("exponential, mean 300 ms", exponential), ("log-normal, median 300 ms, sigma 1", log_normal)]
    {
        println!("{name}\n{:<24}{:>9}{:>10}{:>13}", "", "p50", "p99", "extra reads");
        read("no copies", replicas(law, &calls), &calls).await?;

        let plan = PlanLayer::new(Fanout::new(hedged()?, &Limiters::default()))?;
        read("a plan, copy at p95", plan.layer(replicas(law, &calls)), &calls).await?;

        let tower = TowerHedge::new(replicas(law, &calls), Always, 100, 0.95, PERIOD);
        read("tower's hedge at 0.95", tower, &calls).await?;
        println!();
    }
    Ok(())
}

/// A read with a copy at the p95 as it is measured, with a budget of twice that.
fn hedged() -> Result<Plan, BoxError> {
    let branch = BranchSpec {
        repeatable: true,
        hedge: Some(Hedge::after(Time::from_secs(1))),
        live: Some(0),
        ..BranchSpec::new("read")
    };
    Ok(Plan::new(PlanSpec {
        live_delays: vec![LiveDelaySpec::new(Quantile::from_ppm(950_000)?)],
        hedge_budget: BudgetSpec { share: 100_000, ..BudgetSpec::HEDGES },
        ..PlanSpec::new("read", vec![branch])
    })?)
}
