//! A document is enriched by five calls to a slow model: two may be missing. Fields are shown as they come, and what is
//! missing at the deadline is filled in afterwards.
//!
//! Time is virtual: sleeping takes none. Run it with `cargo run --release -p fantail --example enrichment`.

use std::error::Error;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fantail::backfill::{Backfill, MemoryStore, Settings, Store};
use fantail::{AttemptError, Fanout, Limiters};
use fantail_core::{BranchSpec, LimiterSpec, Plan, PlanSpec, Time};
use tokio::time::{Instant, sleep};

const FIELDS: [(&str, u64, &str); 5] = [
    ("type", 700, "contract"),
    ("parties", 1_200, "A and B"),
    ("dates", 900, "2 May"),
    ("amounts", 3_500, "1,000 EUR"),
    ("summary", 1_900, "A sells to B."),
];

/// What the model is asked, and how long it takes.
async fn ask(field: u32) -> Result<Bytes, AttemptError> {
    let (_, latency, answer) = FIELDS[field as usize];
    sleep(Duration::from_millis(latency)).await;
    Ok(Bytes::from(answer))
}

fn plan() -> Result<Plan, Box<dyn Error>> {
    let branches = FIELDS.map(|(name, ..)| BranchSpec {
        required: Some(!matches!(name, "amounts" | "summary")),
        repeatable: true,
        limiter: Some(0),
        ..BranchSpec::new(name)
    });
    Ok(Plan::new(PlanSpec {
        deadline: Some(Time::from_millis(2_500)),
        backfill: true,
        limiters: vec![LimiterSpec { gate: Some(10), ..LimiterSpec::new("llm") }],
        ..PlanSpec::new("enrich", branches.to_vec())
    })?)
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let enrich = Fanout::new(plan()?, &Limiters::default());
    let store = Arc::new(MemoryStore::default());
    let mut backfill = Backfill::new(store.clone(), Settings::default());
    backfill.handle(&enrich, "amounts", |_claim| ask(3));
    backfill.handle(&enrich, "summary", |_claim| ask(4));
    let backfill = Arc::new(backfill);
    tokio::spawn(Arc::clone(&backfill).run(pending()));

    let start = Instant::now();
    let mut job = enrich.job();
    let fields = job.each(|attempt| ask(attempt.branch()));
    let mut running = job.start()?;
    let mut found = vec![Bytes::new(); FIELDS.len()];
    while let Some(branch) = running.next().await {
        let answer = running.answer(&fields, branch).unwrap_or_default();
        println!("{:>6.1} s  {:<8} {answer:?}", start.elapsed().as_secs_f64(), FIELDS[branch as usize].0);
        found[branch as usize] = answer;
    }
    let done = running.finish().await?;
    let missing: Vec<_> = done.incomplete().map(|branch| FIELDS[branch as usize].0).collect();
    println!("{:>6.1} s  {:?} without {missing:?}", start.elapsed().as_secs_f64(), done.verdict());

    let kept = backfill
        .keep(&done, Bytes::from("the document"), Bytes::new(), |branch| found[branch as usize].clone());
    println!("{:>6.1} s  backfill: {:?}; the result goes out", start.elapsed().as_secs_f64(), kept.await);
    sleep(Duration::from_secs(4)).await;
    let document = store.document(Time::ZERO, &done.id().to_string()).await?.ok_or("it was stored")?;
    let amounts = &document.slots[3].body;
    println!("{:>6.1} s  {:?}: amounts {amounts:?}", start.elapsed().as_secs_f64(), document.state());
    Ok(())
}
