//! Synchronous training: a step takes the first 16 gradients of 16 workers and some backups, so that the slowest few of a
//! step hold up nobody.
//!
//! Time is virtual: sleeping takes none. Run it with `cargo run --release -p fantail --example gradient_barrier`.

mod support;

use std::error::Error;
use std::time::Duration;

use fantail::{Limiters, Pattern};
use fantail_core::{BranchSpec, PlanSpec, WaitFor};
use tokio::time::sleep;

const WORKERS: u32 = 16;
const STEPS: usize = 1_000;

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{STEPS} steps of {WORKERS} gradients, each lognormal:median=1s,sigma=0.5\n");
    println!("{:>8}{:>12}{:>10}{:>12}", "backups", "mean step", "p99", "gradients");
    for backups in [0, 1, 2, 4, 8] {
        let spec = PlanSpec { wait_for: WaitFor::First(WORKERS), ..PlanSpec::new("step", vec![]) };
        let plan = Pattern::new(spec, BranchSpec::new("worker"), &Limiters::default());
        let (mut times, mut gradients) = (Vec::new(), 0);
        for _ in 0..STEPS {
            let workers = (WORKERS + backups) as usize;
            let mut job = plan.job(workers)?;
            let parts = job.items(0..workers, |_attempt, worker| async move {
                sleep(support::log_normal(Duration::from_secs(1), 0.5)).await;
                Ok(worker as f64)
            });
            let mut done = job.join().await?;
            // Those that came at the same instant all count.
            gradients += done.take(parts).into_iter().flatten().count();
            times.push(Duration::from_nanos(done.elapsed().as_nanos()));
        }
        let mean = times.iter().sum::<Duration>().as_secs_f64() / STEPS as f64;
        let p99 = support::quantile(&mut times, 0.99) / 1e3;
        println!("{backups:>8}{mean:>10.2} s{p99:>8.2} s{:>12.2}", gradients as f64 / STEPS as f64);
    }
    Ok(())
}
