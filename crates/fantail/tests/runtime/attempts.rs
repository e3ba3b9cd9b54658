//! What an attempt is told, and which calls a branch may be given.

use std::collections::HashSet;
use std::sync::Mutex;

use fantail::{AttemptError, Fanout, JobId, JoinError, Misuse};
use fantail_core::{BranchSpec, Hedge, PlanSpec};

use crate::support::{after, fanout, hedged, ms, optional, required};

/// A race of three over as many targets.
fn race(targets: u32) -> Fanout {
    let race = BranchSpec { repeatable: true, hedge: Some(Hedge::race(3)), targets, ..BranchSpec::new("a") };
    fanout(PlanSpec::new("race", vec![race]))
}

#[tokio::test(start_paused = true)]
async fn an_attempt_is_told_which_targets_were_tried_before() {
    for (targets, expected) in [(3, [vec![], vec![0], vec![0, 1]]), (2, [vec![], vec![0], vec![0, 1]])] {
        let tried = Mutex::new(Vec::new());
        let plan = race(targets);
        let mut job = plan.job();
        let _answer = job.required("a", |attempt| {
            tried.lock().unwrap().push(attempt.tried().to_vec());
            after(1, ())
        });
        let _done = job.join().await.unwrap();
        assert_eq!(tried.into_inner().unwrap(), expected, "{targets} targets");
    }
}

#[tokio::test(start_paused = true)]
async fn all_attempts_for_a_branch_carry_one_key_and_no_other_branch_or_job_has_it() {
    let race = BranchSpec { repeatable: true, hedge: Some(Hedge::race(3)), ..BranchSpec::new("a") };
    let plan = fanout(PlanSpec::new("plan", vec![race, BranchSpec::new("b")]));
    let mut seen = HashSet::new();
    for _ in 0..3 {
        let keys = Mutex::new(Vec::new());
        let mut job = plan.job();
        let _answers = job.each(|attempt| {
            keys.lock().unwrap().push(attempt.key());
            after(1, ())
        });
        let done = job.join().await.unwrap();
        let keys: HashSet<_> = keys.into_inner().unwrap().into_iter().collect();
        assert_eq!(keys, HashSet::from([done.id().key(0), done.id().key(1)]));
        seen.extend(keys);
    }
    assert_eq!(seen.len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_repeat_under_the_same_id_carries_the_same_keys() {
    let plan = fanout(PlanSpec::new("plan", required(&["a"])));
    let id: JobId = "00000000000000000000000000000b1d".parse().unwrap();
    for _ in 0..2 {
        let mut job = plan.job();
        let key = job.required("a", |attempt| async move { Ok(attempt.key()) });
        job.id(id);
        assert_eq!(job.join().await.unwrap().take(key).to_string(), "00000000000000000000000000000b1d-0");
    }
}

#[test]
fn a_text_that_is_not_32_hexadecimal_digits_names_no_job() {
    for text in ["", "b1d", &"0".repeat(33), &"g".repeat(32), "+0000000000000000000000000000b1d"] {
        let error = text.parse::<JobId>().unwrap_err();
        assert_eq!(error.to_string(), format!("{text:?} is no job id: that is 32 digits from 0 to f"));
    }
}

#[tokio::test(start_paused = true)]
async fn where_there_is_backfill_the_next_id_cannot_be_told_from_the_last() {
    let spec = |backfill| PlanSpec { backfill, ..PlanSpec::new("plan", vec![optional("a")]) };
    for backfill in [false, true] {
        let plan = fanout(spec(backfill));
        let mut ids = Vec::new();
        for _ in 0..2 {
            let mut job = plan.job();
            let _answer = job.optional("a", |_| after(1, ()));
            ids.push(u128::from(job.join().await.unwrap().id()));
        }
        assert_eq!(ids[1] == ids[0].wrapping_add(1), !backfill);
    }
}

#[tokio::test(start_paused = true)]
async fn what_can_be_called_once_is_not_given_to_a_branch_with_more_attempts() {
    let over = BranchSpec { failover: true, repeatable: true, targets: 2, ..BranchSpec::new("over") };
    let branches = vec![hedged("read", 5), BranchSpec::new("charge"), optional("mail"), over];
    let plan = fanout(PlanSpec::new("plan", branches));
    let (letter, card) = (String::from("letter"), String::from("card"));

    let mut job = plan.job();
    let _read = job.once().required("read", |_| async { Ok(letter) });
    let _charge = job.once().optional("charge", |_| async { Ok(card) });
    let _mail = job.once().required("mail", |_| after(1, ()));
    let _over = job.once().required("over", |_| after(1, ()));
    let Err(JoinError::Invalid(misuses)) = job.join().await else { panic!("nothing may start") };
    let name = String::from;
    let expected =
        [Misuse::Repeated(name("read")), Misuse::NotRequired(name("mail")), Misuse::Repeated(name("over"))];
    assert_eq!(misuses, expected);
    let text = "branch `read` can be called once only, but the plan has more attempts for it";
    assert_eq!(misuses[0].to_string(), text);
}

#[tokio::test(start_paused = true)]
async fn a_job_within_another_one_ends_with_its_attempt_and_keeps_what_it_has() {
    let outer = PlanSpec { deadline: Some(ms(100)), ..PlanSpec::new("outer", vec![optional("inner")]) };
    let outer = fanout(outer);
    for (own, ends) in [(None, 100), (Some(ms(500)), 100), (Some(ms(40)), 40)] {
        let spec = PlanSpec::new("inner", vec![optional("quick"), optional("slow")]);
        let inner = fanout(PlanSpec { deadline: own, ..spec });
        let mut job = outer.job();
        let answer = job.optional("inner", |attempt| {
            let mut job = inner.job();
            let quick = job.optional("quick", |_| after(10, 1));
            let slow = job.optional("slow", |_| after(1_000, 2));
            job.until(attempt.deadline());
            async move {
                let mut done = job.join().await?;
                Ok::<_, AttemptError>((done.elapsed(), done.take(quick), done.take(slow)))
            }
        });
        let answer = job.join().await.unwrap().take(answer);
        assert_eq!(answer, Some((ms(ends), Some(1), None)), "its own deadline: {own:?}");
    }
}
