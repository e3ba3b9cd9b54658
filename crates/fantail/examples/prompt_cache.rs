//! Five questions about one long document: sent at once, each reads it in full; when one leads until the model has it in its
//! cache, the others read it there.
//!
//! Time is virtual: sleeping takes none. Run it with `cargo run --release -p fantail --example prompt_cache`.

use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fantail::{Attempt, AttemptError, Fanout, Limiters};
use fantail_core::{BranchSpec, Leader, Plan, PlanSpec, Time};
use tokio::time::sleep;

const QUESTIONS: [&str; 5] = ["type", "parties", "dates", "amounts", "summary"];
/// Price of reading the document, and of reading it in the cache, in thousandths of a cent.
const FULL: u64 = 6_000;
const CACHED: u64 = 600;

/// A model with a prompt cache.
#[derive(Default)]
struct Model {
    cached: AtomicBool,
    spent: AtomicU64,
}

impl Model {
    /// The first byte comes sooner when the document is in the cache, and is there after it in any case.
    async fn ask(&self, attempt: Attempt) -> Result<String, AttemptError> {
        let cached = self.cached.load(Ordering::Relaxed);
        let (price, first_byte) = if cached { (CACHED, 250) } else { (FULL, 900) };
        self.spent.fetch_add(price, Ordering::Relaxed);
        sleep(Duration::from_millis(first_byte)).await;
        self.cached.store(true, Ordering::Relaxed);
        attempt.primed();
        sleep(Duration::from_millis(1_200)).await;
        Ok(format!("the {} of the document", attempt.name()))
    }
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let lead = Leader { branch: 4, head_start: Time::from_millis(1_500) };
    for (name, leader) in [("all at once", None), ("summary leads", Some(lead))] {
        let branches = QUESTIONS.map(BranchSpec::new).to_vec();
        let plan = Plan::new(PlanSpec { leader, ..PlanSpec::new("ask", branches) })?;
        let (ask, model) = (Fanout::new(plan, &Limiters::default()), Model::default());
        let mut job = ask.job();
        let answers = job.each(|attempt| model.ask(attempt));
        let mut done = job.join().await?;
        let answers = done.take(answers).into_iter().flatten().count();
        let cents = model.spent.load(Ordering::Relaxed) as f64 / 1e3;
        println!(
            "{name:<14} {answers} answers after {:>6}, for {cents:.1} cents",
            done.elapsed().to_string()
        );
    }
    Ok(())
}
