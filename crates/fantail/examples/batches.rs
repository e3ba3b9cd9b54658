//! A thousand texts to an embedding service that takes four calls at a time and thirty a second: how large a batch?
//!
//! Time is virtual: sleeping takes none. Run it with `cargo run --release -p fantail --example batches`.

use std::error::Error;
use std::time::Duration;

use fantail::{AttemptError, Limiters, Pattern};
use fantail_core::{BranchSpec, LimiterSpec, PlanSpec, Rate, Time};
use tokio::time::sleep;

/// What the service does: a call takes 60 ms and 4 ms a text.
async fn embed(texts: &[String]) -> Result<Vec<usize>, AttemptError> {
    sleep(Duration::from_millis(60 + 4 * texts.len() as u64)).await;
    Ok(texts.iter().map(String::len).collect())
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let texts: Vec<String> = (0..1_000).map(|i| format!("text number {i}")).collect();
    println!("{:>6}{:>8}{:>10}{:>14}", "batch", "calls", "elapsed", "first batch");
    for size in [1, 5, 20, 50, 250, 1_000] {
        let rate = Rate { permits: 30, per: Time::from_secs(1), burst: 4 };
        let account = LimiterSpec { gate: Some(4), rate: Some(rate), ..LimiterSpec::new("account") };
        let spec = PlanSpec { limiters: vec![account], ..PlanSpec::new("embed", vec![]) };
        let like = BranchSpec { limiter: Some(0), ..BranchSpec::new("batch") };
        let embedding = Pattern::new(spec, like, &Limiters::default());

        let mut job = embedding.job(texts.len().div_ceil(size))?;
        let lengths = job.batches(texts.chunks(size), |_attempt, batch| embed(batch));
        let mut done = job.join().await?;
        assert_eq!(done.take(lengths)[999], Some("text number 999".len()));
        let first = done.slot(0).waited.saturating_add(done.slot(0).ran);
        let (calls, elapsed) = (done.ledger().primaries.launched, done.elapsed().to_string());
        println!("{size:>6}{calls:>8}{elapsed:>10}{:>14}", first.to_string());
    }
    Ok(())
}
