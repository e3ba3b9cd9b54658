//! A search over 64 shards, at four barriers: what waiting for the slowest few costs, and what the result lacks instead.
//!
//! Time is virtual: sleeping takes none. Run it with `cargo run --release -p fantail --example scatter_gather`.

mod support;

use std::error::Error;
use std::time::Duration;

use fantail::{JoinError, Limiters, Pattern};
use fantail_core::job::Verdict;
use fantail_core::{BranchSpec, PlanSpec, Time, WaitFor};
use tokio::time::{Instant, sleep};

const SHARDS: usize = 64;
const JOBS: usize = 2_000;

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{JOBS} searches over {SHARDS} shards, each lognormal:median=12ms,sigma=0.7, deadline 60ms\n");
    println!("{:<12}{:>8}{:>8}{:>10}{:>10}{:>9}", "waits for", "p50", "p99", "complete", "partial", "failed");
    for k in [64, 63, 60, 48] {
        let spec = PlanSpec {
            wait_for: WaitFor::First(k),
            at_least: Some(48),
            deadline: Some(Time::from_millis(60)),
            ..PlanSpec::new("search", vec![])
        };
        let search = Pattern::new(spec, BranchSpec::new("shard"), &Limiters::default());
        let (mut times, mut complete, mut partial) = (Vec::new(), 0, 0);
        for _ in 0..JOBS {
            let start = Instant::now();
            let mut job = search.job(SHARDS)?;
            let hits = job.items(0..SHARDS, |_attempt, shard| async move {
                sleep(support::log_normal(Duration::from_millis(12), 0.7)).await;
                Ok(vec![shard; 10])
            });
            match job.join().await {
                Ok(mut done) => {
                    let hits = done.take(hits).into_iter().flatten().flatten().count();
                    assert!(hits >= 480, "at least 48 shards of ten hits each");
                    if done.verdict() == Verdict::Complete { complete += 1 } else { partial += 1 }
                }
                Err(JoinError::Failed(_)) => {}
                Err(error) => return Err(error.into()),
            }
            times.push(start.elapsed());
        }
        let share = |jobs: usize| 100.0 * jobs as f64 / JOBS as f64;
        println!(
            "{:<12}{:>5.0} ms{:>5.0} ms{:>8.1} %{:>8.1} %{:>7.1} %",
            format!("first {k}"),
            support::quantile(&mut times, 0.5),
            support::quantile(&mut times, 0.99),
            share(complete),
            share(partial),
            share(JOBS - complete - partial),
        );
    }
    Ok(())
}
