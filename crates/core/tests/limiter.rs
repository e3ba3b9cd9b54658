//! Limiters: named behaviours, and every run against a naive reference.

#[path = "support/limiters.rs"]
mod limiters;
#[path = "support/naive.rs"]
mod naive;

use fantail_core::job::{Class, Refusal};
use fantail_core::{Limiter, LimiterSpec, Rate, Ticket, Time};
use limiters::{Op, agree, withstand};
use proptest::prelude::*;

const T0: Time = Time::ZERO;

fn spec() -> LimiterSpec {
    LimiterSpec::new("llm")
}

fn gate(gate: u32) -> Limiter {
    Limiter::new(LimiterSpec { gate: Some(gate), ..spec() })
}

fn rate(permits: u32, per: Time, burst: u32) -> Limiter {
    Limiter::new(LimiterSpec { rate: Some(Rate { permits, per, burst }), ..spec() })
}

fn first(limiter: &mut Limiter, weight: u32) -> Ticket {
    limiter.ask(T0, Class::First, weight, None).expect("it fits")
}

/// Grants whoever may go, and says who went.
fn pump(limiter: &mut Limiter, now: Time) -> Vec<Ticket> {
    let mut granted = Vec::new();
    while let Some(ticket) = limiter.poll(now) {
        limiter.grant(now, ticket);
        granted.push(ticket);
    }
    granted
}

#[test]
fn better_classes_go_first_and_a_class_in_order() {
    let mut limiter = gate(1);
    let classes = [Class::Backfill, Class::OptionalCopy, Class::RequiredCopy, Class::First, Class::First];
    let tickets = classes.map(|class| limiter.ask(T0, class, 1, None).unwrap());
    let mut order = Vec::new();
    while let [ticket] = pump(&mut limiter, T0)[..] {
        order.push(ticket);
        limiter.release(ticket);
    }
    assert_eq!(order, [3, 4, 2, 1, 0].map(|i: usize| tickets[i]));
}

#[test]
fn a_first_attempt_that_comes_later_goes_before_a_due_hedge() {
    let mut limiter = gate(1);
    let running = first(&mut limiter, 1);
    pump(&mut limiter, T0);
    limiter.ask(T0, Class::RequiredCopy, 1, None).unwrap();
    let later = first(&mut limiter, 1);
    limiter.release(running);
    assert_eq!(limiter.poll(T0), Some(later));
}

#[test]
fn case_7_a_release_and_a_withdrawal_of_the_head_let_the_next_run_in_either_order() {
    for release_first in [true, false] {
        let mut limiter = gate(1);
        let [a, b, c] = [(); 3].map(|()| first(&mut limiter, 1));
        assert_eq!(pump(&mut limiter, T0), [a]);
        if release_first {
            limiter.release(a);
            limiter.withdraw(b);
        } else {
            limiter.withdraw(b);
            limiter.release(a);
        }
        assert_eq!(pump(&mut limiter, T0), [c]);
    }
}

#[test]
fn case_7_a_granted_head_that_leaves_hands_its_permit_to_the_next() {
    let mut limiter = gate(1);
    let [a, b, c] = [(); 3].map(|()| first(&mut limiter, 1));
    pump(&mut limiter, T0);
    limiter.release(a);
    assert_eq!(pump(&mut limiter, T0), [b]);
    limiter.give_back(b);
    assert_eq!(pump(&mut limiter, T0), [c]);
}

#[test]
fn case_7_a_light_waiter_runs_when_the_heavy_head_leaves() {
    let mut limiter = gate(3);
    let holds = first(&mut limiter, 1);
    assert_eq!(pump(&mut limiter, T0), [holds]);
    let heavy = first(&mut limiter, 3);
    let light = first(&mut limiter, 1);
    assert_eq!(limiter.poll(T0), None, "a heavy head is not overtaken");
    limiter.withdraw(heavy);
    assert_eq!(pump(&mut limiter, T0), [light]);
}

#[test]
fn case_8_a_permit_is_released_exactly_once() {
    let mut limiter = gate(2);
    let [a, b, c] = [(); 3].map(|()| first(&mut limiter, 1));
    assert_eq!(pump(&mut limiter, T0), [a, b]);
    for _ in 0..2 {
        limiter.release(a);
        limiter.give_back(a);
        limiter.withdraw(a);
    }
    assert_eq!(limiter.held(), 1);
    assert_eq!(pump(&mut limiter, T0), [c]);
    assert_eq!(limiter.held(), 2);
}

#[test]
fn case_9_burst_plus_refill_may_pass_in_the_first_minute() {
    let minute = Time::from_secs(60);
    let mut limiter = rate(1_200, minute, 1_200);
    for _ in 0..3_000 {
        first(&mut limiter, 1);
    }
    let mut passed = pump(&mut limiter, T0).len();
    while let Some(at) = limiter.next_at(T0).filter(|at| *at <= minute) {
        passed += pump(&mut limiter, at).len();
    }
    assert_eq!(passed, 2_400);
}

#[test]
fn case_9_a_bucket_never_holds_more_than_its_burst() {
    let mut limiter = rate(3, Time::from_secs(1), 5);
    for _ in 0..20 {
        first(&mut limiter, 1);
    }
    assert_eq!(pump(&mut limiter, T0).len(), 5);
    assert_eq!(pump(&mut limiter, Time::from_secs(2)).len(), 5, "not 6");
}

#[test]
fn case_11_waiters_are_paused_to_the_nanosecond_up_to_the_cap() {
    let now = Time::from_secs(7);
    for (pause, refused) in [("0s", false), ("60s", false), ("61s", true), ("2m", true), ("4321ms", false)] {
        let pause: Time = pause.parse().unwrap();
        let mut limiter = gate(1);
        let waiter = first(&mut limiter, 1);
        let left = limiter.push_back(now, pause);
        assert_eq!(left, if refused { vec![waiter] } else { Vec::new() }, "after {pause}");
        if refused {
            assert_eq!(limiter.ask(now, Class::First, 1, None), Err(Refusal::Pushback));
            continue;
        }
        let resumes = now.saturating_add(pause);
        assert_eq!(limiter.next_at(now), Some(resumes));
        let before = Time::from_nanos(resumes.as_nanos() - 1);
        assert_eq!(limiter.poll(before), None, "before the end of {pause}");
        assert_eq!(limiter.poll(resumes), Some(waiter));
    }
}

#[test]
fn the_longest_pause_counts() {
    let mut limiter = gate(1);
    limiter.push_back(T0, Time::from_secs(9));
    limiter.push_back(Time::from_secs(1), Time::from_secs(2));
    assert_eq!(limiter.paused_until(Time::from_secs(1)), Some(Time::from_secs(9)));
    assert_eq!(limiter.paused_until(Time::from_secs(9)), None);
}

#[test]
fn a_weight_that_can_never_fit_is_refused() {
    let burst_of_3 = Rate { permits: 9, per: Time::from_secs(1), burst: 3 };
    let mut limiter = Limiter::new(LimiterSpec { gate: Some(4), rate: Some(burst_of_3), ..spec() });
    for (weight, ok) in [(0, false), (1, true), (3, true), (4, false), (u32::MAX, false)] {
        let came = limiter.ask(T0, Class::First, weight, None);
        assert_eq!(came.err(), (!ok).then_some(Refusal::Limiter), "weight {weight}");
    }
}

#[test]
fn a_permit_handed_back_after_its_tokens_were_made_up_for_brings_none() {
    let second = Time::from_secs(1);
    let mut limiter = rate(1, second, 1);
    let unused = first(&mut limiter, 1);
    assert_eq!(pump(&mut limiter, T0), [unused]);
    let [used, waits] = [(); 2].map(|()| first(&mut limiter, 1));
    assert_eq!(pump(&mut limiter, second), [used]);
    limiter.give_back(unused);
    assert_eq!(limiter.poll(second), None, "two in one instant would be more than the burst of one");
    assert_eq!(limiter.next_at(second), Some(Time::from_secs(2)));
    assert_eq!(pump(&mut limiter, Time::from_secs(2)), [waits]);
}

#[test]
fn a_permit_handed_back_at_once_loses_no_token() {
    let mut limiter = rate(1, Time::from_secs(1), 1);
    let unused = first(&mut limiter, 1);
    let waits = first(&mut limiter, 1);
    assert_eq!(pump(&mut limiter, T0), [unused]);
    limiter.give_back(unused);
    assert_eq!(pump(&mut limiter, T0), [waits]);
}

#[test]
fn two_permits_handed_back_bring_only_what_had_not_spilled_over_without_both() {
    let ns = Time::from_nanos;
    for older_first in [true, false] {
        let mut limiter = rate(1, ns(10), 2);
        let [older, younger] = [(); 2].map(|()| first(&mut limiter, 1));
        assert_eq!(pump(&mut limiter, T0), [older, younger]);
        let used = first(&mut limiter, 1);
        assert_eq!(pump(&mut limiter, ns(15)), [used]);
        for ticket in if older_first { [older, younger] } else { [younger, older] } {
            limiter.give_back(ticket);
        }
        first(&mut limiter, 2);
        assert_eq!(limiter.next_at(ns(15)), Some(ns(25)), "full but for the one that was used");
    }
}

#[test]
fn backfill_gets_its_share_while_it_waits_and_no_more() {
    let check = |share: u32, weights: [u32; 2]| {
        let mut limiter = Limiter::new(LimiterSpec { gate: Some(4), backfill_share: share, ..spec() });
        let ask = |limiter: &mut Limiter, class: Class| {
            limiter.ask(T0, class, weights[usize::from(class == Class::Backfill)], None).unwrap()
        };
        let (mut all, mut of_backfill) = (0_u64, 0_u64);
        let mut waiting = [Class::First, Class::Backfill].map(|class| ask(&mut limiter, class));
        for _ in 0..1_000 {
            let granted = pump_one(&mut limiter);
            let index = usize::from(granted == waiting[1]);
            all += u64::from(weights[index]);
            of_backfill += u64::from(weights[1]) * index as u64;
            limiter.release(granted);
            waiting[index] = ask(&mut limiter, [Class::First, Class::Backfill][index]);
            // Never further from the share than one of each.
            let (due, slack) = (all * u64::from(share) / 1_000_000, u64::from(weights[0] + weights[1]));
            assert!(of_backfill.abs_diff(due) <= slack, "{share}, {weights:?}: {of_backfill} of {all}");
        }
    };
    for share in [0, 1, 100_000, 250_000, 500_000, 999_999, 1_000_000] {
        for weights in [[1, 1], [1, 4], [4, 1], [3, 2]] {
            check(share, weights);
        }
    }
}

/// Grants the next one.
fn pump_one(limiter: &mut Limiter) -> Ticket {
    let ticket = limiter.poll(T0).expect("somebody may go");
    limiter.grant(T0, ticket);
    ticket
}

#[test]
fn a_strict_rate_holds_in_every_window() {
    let rate = Some(Rate { permits: 5, per: Time::from_secs(1), burst: 2 });
    let mut limiter = Limiter::new(LimiterSpec { rate, strict: true, ..spec() });
    for _ in 0..20 {
        first(&mut limiter, 1);
    }
    let mut starts = Vec::new();
    let mut now = T0;
    while limiter.waiting() > 0 {
        starts.extend(pump(&mut limiter, now).iter().map(|_| now));
        now = limiter.next_at(now).unwrap_or(now);
    }
    // Two at once, then three a second.
    assert_eq!(starts[..2], [T0, T0]);
    assert_eq!(starts[4], Time::from_secs(1));
    for (i, from) in starts.iter().enumerate() {
        let within = starts[i..].iter().filter(|at| **at <= from.saturating_add(Time::from_secs(1)));
        assert!(within.count() <= 5, "after {from}");
    }
}

#[test]
fn a_rate_holds_at_the_end_of_time() {
    let mut limiter = rate(1, Time::from_secs(1), 1);
    let [goes, _stays] = [(); 2].map(|()| first(&mut limiter, 1));
    assert_eq!(pump(&mut limiter, Time::MAX), [goes]);
    assert_eq!(limiter.next_at(Time::MAX), None);
}

#[test]
fn one_who_leaves_a_long_queue_leaves_it_in_order() {
    let mut limiter = gate(1);
    let tickets: Vec<Ticket> = (0..100_000).map(|_| first(&mut limiter, 1)).collect();
    for ticket in tickets.iter().filter(|ticket| tickets.binary_search(ticket).unwrap() % 3 != 0) {
        limiter.withdraw(*ticket);
    }
    assert_eq!(limiter.waiting(), 33_334);
    for expected in tickets.iter().step_by(3) {
        let ticket = pump_one(&mut limiter);
        assert_eq!(ticket, *expected);
        limiter.release(ticket);
    }
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let class = prop::sample::select(vec![
        Class::First,
        Class::First,
        Class::RequiredCopy,
        Class::OptionalCopy,
        Class::Backfill,
    ]);
    let class_now = class.clone();
    let any = any::<usize>;
    let op = prop_oneof![
        4 => (class, 0..5_u32, prop::option::of(0..40_u64)).prop_map(|(c, w, u)| Op::Ask(c, w, u)),
        3 => (class_now, 0..5_u32, 0..5_u32).prop_map(|(c, w, n)| Op::GrantNow(c, w, n)),
        2 => (0..12_u64).prop_map(Op::Pass),
        2 => Just(Op::Wait),
        5 => Just(Op::Grant),
        1 => any().prop_map(Op::GrantAny),
        1 => any().prop_map(Op::Withdraw),
        2 => any().prop_map(Op::Release),
        3 => any().prop_map(Op::GiveBack),
        1 => (0..25_u64).prop_map(Op::PushBack),
    ];
    prop::collection::vec(op, 1..80)
}

prop_compose! {
    fn specs()(
        gate in prop::option::of(1..7_u32),
        rate in prop::option::of((1..4_u32, prop::sample::select(vec![1_u64, 3, 10, 16]), 1..5_u32)),
        cap in 1..20_u64,
        strict in any::<bool>(),
        backfill_share in prop::sample::select(vec![0, 0, 100_000, 500_000, 999_999, 1_000_000]),
    ) -> LimiterSpec {
        let rate = rate.map(|(permits, per, burst)| {
            let permits = if strict { permits + burst } else { permits };
            Rate { permits, per: Time::from_nanos(per), burst }
        });
        let strict = strict && rate.is_some();
        let pushback_cap = Time::from_nanos(cap);
        LimiterSpec { gate, rate, strict, backfill_share, pushback_cap, ..spec() }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_limiter_does_what_a_naive_one_does(
        spec in specs(),
        origin in prop::sample::select(vec![0, 1, 1_000, 1 << 63, u64::MAX - 40, u64::MAX]),
        ops in ops(),
    ) {
        agree(spec, origin, &ops);
    }

    #[test]
    fn no_time_and_no_stale_ticket_breaks_a_limiter(
        spec in specs(),
        ops in ops(),
        times in prop::collection::vec(any::<u64>(), 80),
    ) {
        withstand(&spec, ops.iter().zip(times.into_iter().map(Time::from_nanos)));
    }
}
