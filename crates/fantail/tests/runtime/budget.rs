//! The budget caps copies, whatever the hedge delay turns out to be.

use std::sync::{Arc, Mutex};

use fantail::Fanout;
use fantail_core::job::{Refusal, Role};
use fantail_core::{BranchSpec, BudgetSpec, PlanSpec};

use crate::support::{fanout, gate, hedged, limited, ms, sleep};

const SHARE: u32 = 100_000;
const BURST: u32 = 3;

/// What counts, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    PrimaryAnswers,
    CopyStarts,
}

/// Runs `jobs` jobs one after the other; says how many copies were refused.
async fn run(plan: Fanout, seed: u64, jobs: u64, seen: Arc<Mutex<Vec<Seen>>>) -> u64 {
    let mut refused = 0;
    for number in 0..jobs {
        let mut job = plan.job();
        let _answers = job.each(|attempt| {
            let copy = attempt.role() == Role::Copy;
            if copy {
                seen.lock().expect("nobody panics here").push(Seen::CopyStarts);
            }
            let dice = (seed + number * 3 + u64::from(attempt.branch())) * 0x9E37_79B9 % 97;
            let seen = &seen;
            async move {
                sleep(if copy { 5 + dice / 2 } else { 5 + dice }).await;
                if !copy {
                    seen.lock().expect("nobody panics here").push(Seen::PrimaryAnswers);
                }
                Ok(())
            }
        });
        let done = job.join().await.unwrap_or_else(|error| panic!("nothing fails here: {error}"));
        refused += done.ledger().refused(Refusal::Budget);
    }
    refused
}

#[tokio::test(start_paused = true)]
async fn in_any_run_of_answered_primaries_copies_keep_to_the_share_and_the_burst() {
    let hedge_budget = BudgetSpec { share: SHARE, burst: BURST, in_flight: None };
    // The delay is the p20 of the primaries: without a budget four of five would have a copy.
    let branches = ["a", "b", "c"].map(|name| hedged(name, 25)).to_vec();
    let plan = fanout(PlanSpec { hedge_budget, ..PlanSpec::new("plan", branches) });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let loops: Vec<_> =
        (0..4).map(|seed| tokio::spawn(run(plan.clone(), seed * 1_000, 100, Arc::clone(&seen)))).collect();
    let mut refused = 0;
    for one in loops {
        refused += one.await.unwrap();
    }

    let seen = seen.lock().unwrap();
    let copies = seen.iter().filter(|seen| **seen == Seen::CopyStarts).count();
    assert!(copies > 60 && refused > 300, "{copies} copies, {refused} refused: the budget binds");
    for from in 0..seen.len() {
        let (mut answered, mut copies) = (0_u64, 0_u64);
        for one in &seen[from..] {
            match one {
                Seen::PrimaryAnswers => answered += 1,
                Seen::CopyStarts => copies += 1,
            }
            let most = answered * u64::from(SHARE) / 1_000_000 + u64::from(BURST);
            assert!(copies <= most, "{copies} copies in a run of {answered} answered primaries");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_earns_its_credit_before_the_permit_that_it_frees_is_granted() {
    let hedge_budget = BudgetSpec { share: 1_000_000, burst: 1, in_flight: None };
    let mut branches = limited(2);
    branches[0] = BranchSpec { limiter: Some(0), ..hedged("0", 2) };
    let plan = fanout(PlanSpec { limiters: vec![gate(2)], hedge_budget, ..PlanSpec::new("plan", branches) });
    let mut job = plan.job();
    let winner = job.each(|attempt| async move {
        sleep(if attempt.number() == 1 { 3 } else { 5 + 20 * (1 - u64::from(attempt.branch())) }).await;
        Ok(attempt.number())
    });
    let mut done = job.join().await.unwrap();
    assert_eq!((done.elapsed(), done.ledger().refused(Refusal::Budget)), (ms(8), 0));
    assert_eq!(done.take(winner), [Some(1), Some(0)]);
}
