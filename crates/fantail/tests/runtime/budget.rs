//! The budget caps copies, whatever the hedge delay turns out to be.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fantail::{AttemptError, Fanout};
use fantail_core::job::{Class, Refusal, Role};
use fantail_core::{BranchSpec, BudgetSpec, Hedge, PlanSpec};
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::support::{fanout, gate, hedged, limited, ms, poll_once, sleep};

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
    is_kept(&seen);
}

/// That in no part of a run more copies start than its answered primaries pay for, and the burst.
fn is_kept(seen: &[Seen]) {
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
async fn the_budget_is_kept_whatever_jobs_come_to() {
    let hedge_budget = BudgetSpec { share: SHARE, burst: BURST, in_flight: Some(2) };
    let branch = |(number, name)| BranchSpec {
        limiter: Some(0),
        required: Some(number == 0),
        attempt_timeout: Some(ms(60)),
        ..hedged(name, [1, 3, 10][number])
    };
    let branches = ["a", "b", "c"].into_iter().enumerate().map(branch).collect();
    let spec = PlanSpec { hedge_budget, limiters: vec![gate(5)], ..PlanSpec::new("plan", branches) };
    let plan = fanout(PlanSpec { deadline: Some(ms(150)), observe: 300_000, ..spec });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let one = |number: u64| {
        let (plan, seen) = (plan.clone(), Arc::clone(&seen));
        async move {
            sleep(number % 7 * 9).await;
            let mut job = plan.job();
            let _answers = job.each(move |attempt| {
                let copy = attempt.role() == Role::Copy;
                if copy {
                    seen.lock().unwrap().push(Seen::CopyStarts);
                }
                let dice = (number * 31 + u64::from(attempt.branch()) * 7 + u64::from(attempt.number()))
                    .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                    >> 40;
                let seen = Arc::clone(&seen);
                async move {
                    sleep(dice % 97).await;
                    match dice / 97 % 8 {
                        0 => return Err(AttemptError::retryable("E")),
                        1 => return Err(AttemptError::permanent("E")),
                        2 => return Err(AttemptError::pushback("E", Some(Duration::from_millis(3)))),
                        _ if copy => {}
                        _ => seen.lock().unwrap().push(Seen::PrimaryAnswers),
                    }
                    Ok(())
                }
            });
            job.observe();
            // Every fourth is given up on its way.
            let patience = if number.is_multiple_of(4) { number % 61 } else { 1_000 };
            drop(timeout(Duration::from_millis(patience), job.join()).await);
        }
    };
    for round in 0..60 {
        join_all((0..8).map(|number| one(round * 8 + number))).await;
    }
    sleep(200).await;
    let seen = seen.lock().unwrap();
    let copies = seen.iter().filter(|seen| **seen == Seen::CopyStarts).count();
    assert!(copies > 30, "{copies} copies of {} in all", seen.len());
    is_kept(&seen);
    assert_eq!(plan.limiter(0).unwrap().held(), 0);
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

/// Behind a gate of three, with so much credit.
async fn with_credit(credit: u32, in_flight: Option<u32>, branches: Vec<BranchSpec>) -> Fanout {
    let hedge_budget = BudgetSpec { share: 1_000_000, burst: credit, in_flight };
    let plan = fanout(PlanSpec { limiters: vec![gate(3)], hedge_budget, ..PlanSpec::new("plan", branches) });
    for _ in 0..credit {
        let mut job = plan.job();
        let _answers = job.each(|_| async { Ok(()) });
        let _done = job.join().await.unwrap_or_else(|error| panic!("nothing fails here: {error}"));
    }
    plan
}

fn with_copies(name: &str, copies: usize) -> BranchSpec {
    let hedge = Some(Hedge { delays: vec![ms(2); copies], ..Hedge::after(ms(2)) });
    BranchSpec { repeatable: true, limiter: Some(0), hedge, ..BranchSpec::new(name) }
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_is_about_to_leave_takes_no_credit_from_the_one_behind_it() {
    let plan = with_credit(2, None, vec![with_copies("a", 2), with_copies("b", 1)]).await;
    let other = plan.limiter(0).unwrap().acquire(Class::First, 1, None).await.unwrap();
    let mut job = plan.job();
    let answers = job.each(|attempt| async move {
        sleep(match (attempt.branch(), attempt.number()) {
            (_, 0) => 50,
            (0, _) => 2,
            _ => 10,
        })
        .await;
        Ok(attempt.number())
    });
    let frees = async {
        sleep(3).await;
        drop(other);
    };
    // At 3 ms the first copy of a starts; at 5 it wins, and leaves two permits, and behind its second copy that of b.
    let (done, ()) = tokio::join!(job.join(), frees);
    let mut done = done.unwrap();
    assert_eq!((done.elapsed(), done.ledger().refused(Refusal::Budget)), (ms(15), 0));
    assert_eq!(done.take(answers), [Some(1), Some(1)]);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_dropped_takes_no_credit_from_the_next() {
    let plan = with_credit(2, None, vec![with_copies("a", 2)]).await;
    let join = || {
        let mut job = plan.job();
        let _answer = job.each(|attempt| async move {
            sleep(if attempt.number() == 0 { 50 } else { 20 }).await;
            Ok(())
        });
        Box::pin(job.join())
    };
    // The first has a copy running and one waiting, the second has two that wait.
    let dropped = async { tokio::time::timeout(std::time::Duration::from_millis(5), join()).await };
    let next = async {
        sleep(1).await;
        join().await
    };
    let (dropped, next) = tokio::join!(dropped, next);
    assert!(dropped.is_err());
    let next = next.unwrap();
    assert_eq!((next.elapsed(), next.ledger().copies.launched), (ms(24), 1));
    assert_eq!(next.ledger().refused(Refusal::Budget), 1);
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_lost_makes_room_in_flight_for_the_one_that_its_primary_lets_go() {
    let plan = with_credit(2, Some(1), vec![with_copies("a", 1), with_copies("b", 1)]).await;
    let mut job = plan.job();
    let answers = job.each(|attempt| async move {
        sleep(match (attempt.branch(), attempt.number()) {
            (0, 0) => 10,
            (1, 1) => 5,
            _ => 50,
        })
        .await;
        Ok(attempt.number())
    });
    // At 2 ms the copy of a starts, and that of b waits for a permit. At 10 ms a answers: both of its attempts are over.
    let mut done = job.join().await.unwrap();
    assert_eq!((done.elapsed(), done.ledger().refused(Refusal::Budget)), (ms(15), 0));
    assert_eq!(done.take(answers), [Some(0), Some(1)]);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_dropped_with_a_grant_unread_hands_back_its_credit_first() {
    let plan = with_credit(1, None, vec![with_copies("a", 1)]).await;
    let join = || {
        let mut job = plan.job();
        let _answer = job.each(|attempt| async move {
            sleep(if attempt.number() == 0 { 50 } else { 20 }).await;
            Ok(())
        });
        job.join()
    };
    let other = plan.limiter(0).unwrap().acquire(Class::First, 1, None).await.unwrap();
    let mut dropped = Box::pin(join());
    assert!(poll_once(&mut dropped).await.is_pending());
    let next = tokio::spawn(join());
    sleep(2).await;
    assert!(poll_once(&mut dropped).await.is_pending());
    sleep(1).await;
    assert_eq!(plan.limiter(0).unwrap().waiting(), 2, "both have a copy due");
    // The copy of the one that is dropped gets the permit and the credit, but hears no more of it.
    drop(other);
    drop(dropped);
    let next = next.await.unwrap().unwrap();
    assert_eq!((next.elapsed(), next.ledger().copies.won), (ms(23), 1));
}
