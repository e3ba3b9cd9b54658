//! Jobs of random plans in random worlds.

#[path = "support/observer.rs"]
mod observer;
#[path = "support/world.rs"]
mod world;
#[path = "support/worlds.rs"]
mod worlds;

use std::mem::discriminant;
use std::sync::Arc;

use fantail_core::job::{AttemptId, Cause, Event, Job, Outcome, Verdict};
use fantail_core::{Plan, PlanSpec, Time, WaitFor};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use world::{attempt_of, play, replay, same_in_any_order, same_in_the_place_of};
use worlds::{fair_moves, hostile_moves, plans};

/// The event with its branch renamed.
fn renamed(event: Event, name: impl Fn(u32) -> u32) -> Event {
    let to = attempt_of(&event).map(|attempt| AttemptId { branch: name(attempt.branch), ..attempt });
    match (event, to) {
        (Event::Answered(_), Some(attempt)) => Event::Answered(attempt),
        (Event::Primed(_), Some(attempt)) => Event::Primed(attempt),
        (Event::Failed(_, failure), Some(attempt)) => Event::Failed(attempt, failure),
        (Event::Granted(_), Some(attempt)) => Event::Granted(attempt),
        (Event::Refused(_, reason), Some(attempt)) => Event::Refused(attempt, reason),
        (event, _) => event,
    }
}

/// The plan with all its branches like its first, or with all its copies gone.
fn changed(
    plan: &Plan,
    wait_for: WaitFor,
    change: impl Fn(&Plan, usize) -> fantail_core::BranchSpec,
) -> Arc<Plan> {
    let branches = (0..plan.branches().len()).map(|index| change(plan, index)).collect();
    let spec = PlanSpec { wait_for, deadline: plan.deadline(), ..PlanSpec::new("changed", branches) };
    Arc::new(Plan::new(spec).expect("it stays valid"))
}

/// What a user would state to get this branch.
fn stated(plan: &Plan, index: usize) -> fantail_core::BranchSpec {
    fantail_core::BranchSpec { after: Vec::new(), live: None, ..plan.spec().branches.swap_remove(index) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_job_keeps_the_rules_in_any_world_that_a_driver_can_meet(plan in plans(), moves in fair_moves()) {
        play(&plan, &moves, Time::ZERO).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_job_keeps_the_rules_whatever_it_is_told(
        plan in plans(),
        moves in hostile_moves(),
        origin in prop::sample::select(vec![0, 1 << 63, u64::MAX - 10, u64::MAX]),
    ) {
        play(&plan, &moves, Time::from_nanos(origin)).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn the_order_in_which_an_instant_is_told_does_not_matter(plan in plans(), moves in hostile_moves()) {
        let (_, told) = play(&plan, &moves, Time::ZERO).map_err(TestCaseError::fail)?;
        same_in_any_order(&plan, &told);
    }

    #[test]
    fn branches_of_equal_spec_are_exchangeable(
        plan in plans(),
        moves in fair_moves(),
        shift in 0..12_u32,
    ) {
        let alike = changed(&plan, plan.wait_for(), |plan, index| fantail_core::BranchSpec {
            name: format!("b{index}"),
            ..stated(plan, 0)
        });
        let (job, told) = play(&alike, &moves, Time::ZERO).map_err(TestCaseError::fail)?;
        let rotate = |branch| (branch + shift) % alike.n();
        let (turned, _) = replay(&alike, &told, |events| {
            events.iter().map(|event| renamed(*event, rotate)).collect()
        });
        for branch in 0..alike.n() {
            let mut slot = turned.slot(rotate(branch)).expect("it has a slot");
            slot.winner = slot.winner.map(|winner| AttemptId { branch, ..winner });
            prop_assert_eq!(job.slot(branch), Some(slot));
        }
        prop_assert_eq!(job.ledger(), turned.ledger());
        let kind = |job: &Job| match job.verdict() {
            // Of several branches lost in one instant the first by index is named.
            Some(Verdict::Failed(cause)) => (None, Some(discriminant(&cause))),
            verdict => (verdict, None),
        };
        prop_assert_eq!(kind(&job), kind(&turned));
    }

    #[test]
    fn a_driver_that_wakes_late_comes_to_the_same_outcomes(plan in plans(), grants in any::<u16>()) {
        let simple = changed(&plan, plan.wait_for(), |plan, index| fantail_core::BranchSpec {
            hedge: None,
            failover: false,
            ..stated(plan, index)
        });
        let granted = (0..simple.n()).filter(|branch| grants >> branch & 1 == 1);
        let granted: Vec<Event> = granted.map(|branch| Event::Granted(AttemptId::primary(branch))).collect();
        let start = || replay(&simple, &vec![(Time::ZERO, granted.clone())], <[Event]>::to_vec).0;
        let (mut punctual, mut late) = (start(), start());
        while let Some(at) = punctual.wake_at() {
            punctual.step(at, &mut Vec::new(), &mut Vec::new());
        }
        late.step(Time::from_secs(1), &mut Vec::new(), &mut Vec::new());
        prop_assert_eq!(punctual.verdict(), late.verdict());
        let outcomes = |job: &Job| (0..simple.n()).map(|b| job.slot(b)?.outcome).collect::<Vec<Option<Outcome>>>();
        prop_assert_eq!(outcomes(&punctual), outcomes(&late));
    }
}

#[test]
fn a_job_that_starts_in_the_place_of_another_is_as_a_new_one() {
    let mut runner = TestRunner::deterministic();
    let worlds = (plans(), fair_moves(), hostile_moves());
    for _ in 0..300 {
        let (plan, fair, hostile) = worlds.new_tree(&mut runner).unwrap().current();
        let (used, _) = play(&plan, &hostile, Time::from_nanos(5)).unwrap();
        let (_, told) = play(&plan, &fair, Time::ZERO).unwrap();
        same_in_the_place_of(used, &plan, &told);
    }
}

#[test]
fn an_answer_reported_after_the_deadline_is_too_late_even_if_the_driver_overslept() {
    let branches = vec![fantail_core::BranchSpec::new("a")];
    let spec = PlanSpec { deadline: Some(Time::from_millis(5)), ..PlanSpec::new("late", branches) };
    let plan = Arc::new(Plan::new(spec).unwrap());
    let a = AttemptId::primary(0);
    for (at, verdict) in [(5, Verdict::Complete), (6, Verdict::Failed(Cause::Required(0)))] {
        let told =
            vec![(Time::ZERO, vec![Event::Granted(a)]), (Time::from_millis(at), vec![Event::Answered(a)])];
        let (job, _) = replay(&plan, &told, <[Event]>::to_vec);
        assert_eq!(job.verdict(), Some(verdict), "at {at} ms");
    }
}
