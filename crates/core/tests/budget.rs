//! The budget for copies: its bound holds in any run.

use fantail_core::{Budget, BudgetSpec};
use proptest::prelude::*;

fn budget(share: u32, burst: u32) -> Budget {
    Budget::new(BudgetSpec { share, burst, in_flight: None })
}

fn earn(budget: &mut Budget, primaries: u32) {
    (0..primaries).for_each(|_| budget.earn());
}

/// How many copies there is credit for; they all end at once.
fn drain(budget: &mut Budget) -> u32 {
    let mut copies = 0;
    while budget.take() {
        budget.end();
        copies += 1;
    }
    copies
}

#[test]
fn credit_is_the_floor_of_what_was_earned_and_capped_at_the_burst() {
    for (share, burst, primaries, copies) in [
        (50_000, 20, 0, 0),
        (50_000, 20, 19, 0),
        (50_000, 20, 20, 1),
        (50_000, 20, 399, 19),
        (50_000, 20, 400, 20),
        (50_000, 20, 10_000, 20),
        (333_333, 20, 3, 0),
        (333_333, 20, 4, 1),
        (1_000_000, 1, 5, 1),
        (1_000_000, u32::MAX, 5, 5),
        (1, 1, 999_999, 0),
        (1, 1, 1_000_000, 1),
        (0, 20, 1_000_000, 0),
    ] {
        let mut budget = budget(share, burst);
        earn(&mut budget, primaries);
        assert_eq!(drain(&mut budget), copies, "{share} ppm of {primaries}, burst {burst}");
    }
}

#[test]
fn a_refused_copy_costs_nothing() {
    let mut budget = budget(600_000, 2);
    earn(&mut budget, 1);
    assert!(!budget.take());
    earn(&mut budget, 1);
    assert_eq!(drain(&mut budget), 1);
}

#[test]
fn a_copy_that_never_ran_gives_its_credit_back() {
    let mut budget = budget(500_000, 2);
    earn(&mut budget, 2);
    assert!(budget.take());
    budget.refund();
    assert_eq!(drain(&mut budget), 1);
}

#[test]
fn credit_that_was_earned_anew_is_not_given_back_on_top() {
    let mut budget = budget(1_000_000, 1);
    earn(&mut budget, 1);
    assert!(budget.take());
    earn(&mut budget, 1);
    assert!(budget.take());
    budget.refund();
    assert_eq!(drain(&mut budget), 0, "no primary answered since the burst of one was used");
}

#[test]
fn the_cap_in_flight_holds_whatever_the_credit() {
    let mut budget = Budget::new(BudgetSpec { share: 1_000_000, burst: 9, in_flight: Some(2) });
    earn(&mut budget, 9);
    assert!(budget.take() && budget.take() && !budget.take());
    budget.end();
    assert!(budget.take() && !budget.take());
    assert_eq!(budget.in_flight(), 2);
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Earn,
    Take,
    End,
    /// The oldest copy in flight never ran.
    RefundOldest,
    /// The youngest copy in flight never ran.
    RefundYoungest,
}

/// What counts for the bound, at its place in the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Answered,
    Copy,
    NeverRan,
    Nothing,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn in_any_run_copies_stay_within_the_share_and_the_burst(
        share in 0..=1_000_000_u32,
        burst in 1..5_u32,
        cap in prop::option::of(1..4_u32),
        ops in prop::collection::vec(prop_oneof![
            3 => Just(Op::Earn), 3 => Just(Op::Take), 1 => Just(Op::End),
            1 => Just(Op::RefundOldest), 1 => Just(Op::RefundYoungest),
        ], 1..120),
    ) {
        let mut budget = Budget::new(BudgetSpec { share, burst, in_flight: cap });
        let mut run = Vec::new();
        let mut flying = Vec::new();
        for op in ops {
            let mut mark = Mark::Nothing;
            match op {
                Op::Earn => {
                    budget.earn();
                    mark = Mark::Answered;
                }
                Op::Take => {
                    if budget.take() {
                        flying.push(run.len());
                        mark = Mark::Copy;
                    }
                }
                Op::End if !flying.is_empty() => {
                    budget.end();
                    flying.pop();
                }
                Op::RefundOldest if !flying.is_empty() => {
                    budget.refund();
                    run[flying.remove(0)] = Mark::NeverRan;
                }
                Op::RefundYoungest if !flying.is_empty() => {
                    budget.refund();
                    run[flying.pop().expect("one flies")] = Mark::NeverRan;
                }
                Op::End | Op::RefundOldest | Op::RefundYoungest => {}
            }
            run.push(mark);
            prop_assert_eq!(budget.in_flight() as usize, flying.len());
            prop_assert!(cap.is_none_or(|cap| budget.in_flight() <= cap));
        }
        for from in 0..run.len() {
            let (mut answered, mut copies) = (0_u64, 0_u64);
            for mark in &run[from..] {
                answered += u64::from(*mark == Mark::Answered);
                copies += u64::from(*mark == Mark::Copy);
                let bound = u64::from(share) * answered / 1_000_000 + u64::from(burst);
                prop_assert!(copies <= bound, "{copies} copies of {answered} answered primaries from {from}");
            }
        }
    }
}
