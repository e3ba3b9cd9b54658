//! Branches that come after others get their answers.

use std::sync::Mutex;

use fantail::JoinError;
use fantail_core::job::{NotStarted, Outcome, Verdict};
use fantail_core::{BranchSpec, Hedge, Leader, PlanSpec};
use tokio::time::Instant;

use crate::support::{after, fails, fanout, ms, optional, required, sleep};

fn later(name: &str, after: &[usize]) -> BranchSpec {
    BranchSpec { after: after.to_vec(), ..BranchSpec::new(name) }
}

#[tokio::test(start_paused = true)]
async fn a_branch_that_comes_after_others_gets_their_answers_and_all_are_in_the_result() {
    let mut branches = required(&["parse", "shard-0", "shard-1"]);
    branches[1].after = vec![0];
    branches[2].after = vec![0];
    branches.push(later("rank", &[1, 2]));
    let plan = fanout(PlanSpec::new("search", branches));

    let mut job = plan.job();
    let parsed = job.required("parse", |_| after(10, String::from("ab")));
    let query = job.inputs(&parsed);
    let hits = job.inputs(&parsed);
    let ranked = job.required("rank", |_| after(5, ()));
    let shards = job.each(move |attempt| {
        let query: String = query.one().unwrap();
        after(10 * u64::from(attempt.branch()), format!("{query}{}", attempt.branch()))
    });
    let mut done = job.join().await.unwrap();
    assert_eq!((done.verdict(), done.elapsed()), (Verdict::Complete, ms(35)));
    assert_eq!(done.take(parsed), "ab");
    done.take(ranked);
    let shards: Vec<String> = done.take(shards).into_iter().flatten().collect();
    assert_eq!((shards, hits.all()), (vec!["ab1".to_owned(), "ab2".to_owned()], vec!["ab".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_branch_that_tolerates_it_goes_on_without_what_is_missing() {
    for tolerant in [true, false] {
        let merged = Mutex::new(Vec::new());
        let merged = &merged;
        let merge =
            BranchSpec { tolerates_missing: tolerant, required: Some(false), ..later("merge", &[0, 1, 2]) };
        let branches = vec![optional("a"), optional("b"), optional("c"), merge];
        let plan = fanout(PlanSpec::new("plan", branches));
        let mut job = plan.job();
        let parts: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .map(|name| {
                job.optional(name, move |_| async move {
                    if name == "b" { fails(5, "E").await } else { after(7, name).await }
                })
            })
            .collect();
        let inputs: Vec<_> = parts.iter().map(|part| job.inputs(part)).collect();
        let merge = job.optional("merge", move |_| {
            *merged.lock().unwrap() = inputs.iter().map(fantail::Inputs::one).collect();
            after(1, ())
        });
        let mut done = job.join().await.unwrap();
        if tolerant {
            assert_eq!(done.take(merge), Some(()));
            assert_eq!(*merged.lock().unwrap(), [Some("a"), None, Some("c")]);
        } else {
            assert_eq!(done.outcome(3), Outcome::NotStarted(NotStarted::Dependency));
            assert_eq!(done.take(merge), None);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_attempt_of_a_later_branch_gets_the_answers_and_of_copies_only_the_winners_is_one() {
    let race = |branch: BranchSpec| BranchSpec { repeatable: true, hedge: Some(Hedge::race(2)), ..branch };
    let plan = fanout(PlanSpec::new("plan", vec![race(BranchSpec::new("first")), race(later("then", &[0]))]));
    let seen = &Mutex::new(Vec::new());
    let mut job = plan.job();
    let first = job.required("first", |attempt| after(10 - u64::from(attempt.number()), attempt.number()));
    let input = job.inputs(&first);
    let then = job.required("then", move |attempt| {
        seen.lock().unwrap().push(input.all());
        after(5 + u64::from(attempt.number()), ())
    });
    let mut done = job.join().await.unwrap();
    assert_eq!((done.take(first), seen.lock().unwrap().clone()), (1, vec![vec![1], vec![1]]));
    done.take(then);
}

#[tokio::test(start_paused = true)]
async fn followers_wait_until_the_leader_says_that_it_has_primed() {
    let leader = Some(Leader { branch: 0, head_start: ms(500) });
    let plan = fanout(PlanSpec { leader, ..PlanSpec::new("chat", required(&["a", "b", "c"])) });
    let start = Instant::now();
    let mut job = plan.job();
    let starts = job.each(|attempt| async move {
        let started = start.elapsed().as_millis();
        if attempt.branch() == 0 {
            sleep(30).await;
            attempt.primed();
        }
        after(100, started).await
    });
    let mut done = job.join().await.unwrap();
    assert_eq!(done.take(starts), [Some(0), Some(30), Some(30)]);
    assert_eq!(done.elapsed(), ms(130));
}

#[tokio::test(start_paused = true)]
async fn a_failure_on_the_way_is_the_cause_of_what_comes_after() {
    let plan = fanout(PlanSpec::new("plan", vec![BranchSpec::new("first"), later("then", &[0])]));
    let mut job = plan.job();
    let first = job.required("first", |_| fails::<u32>(5, "E"));
    let input = job.inputs(&first);
    let _then = job.required("then", move |_| after(1, input.one()));
    let Err(JoinError::Failed(failed)) = job.join().await else { panic!("the first branch failed") };
    assert_eq!(failed.to_string(), "branch `first` failed and is required: E");
}
