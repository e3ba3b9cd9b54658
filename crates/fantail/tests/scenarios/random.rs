//! Random scripts: the runtime does what the machine does there, too.

use std::sync::Arc;

use fantail_core::job::{AttemptId, Failure};
use fantail_core::plan::PPM;
use fantail_core::{
    BranchSpec, BudgetSpec, Hedge, Leader, LimiterSpec, LiveDelaySpec, Plan, PlanSpec, Quantile, Rate, Time,
    WaitFor,
};
use proptest::prelude::*;

use crate::script::{Happening, Script};
use crate::{comparable, machine, stage};

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

/// A branch and, for each of its attempts, when something happens to it and what.
type Branch = (BranchSpec, Vec<(Time, Kind)>);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Answers,
    Fails(Failure),
    PushesBack(Time),
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        6 => Just(Kind::Answers),
        1 => Just(Kind::Fails(Failure::Permanent)),
        3 => Just(Kind::Fails(Failure::Retryable)),
        1 => (1..40_u64).prop_map(|pause| Kind::PushesBack(ms(pause))),
    ]
}

prop_compose! {
    fn branches()(
        required in prop::option::of(any::<bool>()),
        deadline in prop::option::weighted(0.3, 5..60_u64),
        timeout in prop::option::weighted(0.3, 1..30_u64),
        mut delays in prop::collection::vec(prop::sample::select(vec![0_u64, 2, 5, 9]), 0..3),
        min_useful in prop::sample::select(vec![0_u64, 0, 8]),
        targets in 1..=2_u32,
        limiter in prop::option::weighted(0.7, 0..2_usize),
        weight in 1..=2_u32,
        failover in any::<bool>(),
        live in any::<bool>(),
        after in prop::collection::btree_set(0..5_usize, 0..3),
        stands_alone in prop::bool::weighted(0.6),
        tolerates_missing in any::<bool>(),
        ends in prop::collection::vec(((1..60_u64).prop_map(ms), kinds()), 4),
    ) -> Branch {
        delays.sort_unstable();
        let delays: Vec<Time> = delays.into_iter().map(ms).collect();
        // Its cap is a tick of the clock.
        let live = (live && min_useful > 0 && delays.len() == 1 && delays[0] > Time::ZERO).then_some(0);
        let hedge =
            (!delays.is_empty()).then(|| Hedge { delays, min_useful: ms(min_useful), distinct: false });
        let spec = BranchSpec {
            required,
            deadline: deadline.map(ms),
            attempt_timeout: timeout.map(ms),
            repeatable: true,
            hedge,
            live,
            failover: failover && targets > 1,
            after: if stands_alone { Vec::new() } else { after.into_iter().collect() },
            tolerates_missing,
            targets,
            limiter,
            weight,
            ..BranchSpec::new("")
        };
        (spec, ends)
    }
}

/// A gate, and a rate whose permits come on the tick.
fn limiters() -> impl Strategy<Value = Vec<LimiterSpec>> {
    (2..5_u32, 1..6_u64, 2..4_u32).prop_map(|(gate, per, burst)| {
        let rate = Some(Rate { permits: 1, per: ms(per), burst });
        vec![
            LimiterSpec { gate: Some(gate), ..LimiterSpec::new("gate") },
            LimiterSpec { rate, ..LimiterSpec::new("rate") },
        ]
    })
}

prop_compose! {
    fn scripts()(
        branches in prop::collection::vec(branches(), 1..6),
        limiters in limiters(),
        wait_for in prop_oneof![2 => Just(WaitFor::All), 1 => (1..6_u32).prop_map(WaitFor::First)],
        deadline in 10..80_u64,
        share in prop::sample::select(vec![500_000, 1_000_000]),
        in_flight in prop::option::of(1..3_u32),
        credit in 0..3_u32,
        copies_limiter in prop::option::of(0..2_usize),
        held in prop::option::of(0..2_usize),
        leader in prop::option::weighted(0.3, (any::<prop::sample::Index>(), 1..20_u64)),
        warming in prop::option::of(1..12_u64),
        observed in any::<bool>(),
        primed in prop::collection::vec(prop::option::of(1..40_u64), 5),
    ) -> Script {
        let mut timeline = Vec::new();
        // To the end, since who comes first within an instant is open where somebody else frees a permit.
        timeline.extend(held.map(|limiter| (Time::ZERO, Happening::Holds(limiter, 1))));
        let (hedge_budget, credit) = match copies_limiter {
            Some(_) => (BudgetSpec { share, burst: 2, in_flight }, credit),
            None => (BudgetSpec { share, burst: 10, in_flight: None }, 10),
        };
        let n = branches.len() as u32;
        let mut specs: Vec<BranchSpec> = Vec::new();
        for ((mut spec, ends), branch) in branches.into_iter().zip(0..) {
            spec.name = format!("b{branch}");
            spec.deadline = spec.deadline.map(|own| own.min(ms(deadline)));
            if let Some(hedge) = &mut spec.hedge {
                hedge.min_useful = hedge.min_useful.min(spec.deadline.unwrap_or(ms(deadline)));
                // All copies compete in one queue, or there is credit for all: who takes the last credit is nobody's rule.
                spec.limiter = copies_limiter;
            }
            // There is credit for all who fail over, or nobody does.
            spec.failover &= copies_limiter.is_none();
            let required = |spec: &BranchSpec| spec.required.unwrap_or(wait_for == WaitFor::All);
            let strict = required(&spec) && !spec.tolerates_missing;
            spec.after.retain(|first| specs.get(*first).is_some_and(|first| !strict || required(first)));
            let copies = spec.hedge.as_ref().map_or(0, |hedge| hedge.delays.len() as u8);
            let numbers = (0..=copies).chain(spec.failover.then_some(AttemptId::FAILOVER));
            specs.push(spec);
            timeline.extend(primed[branch as usize].map(|at| {
                (ms(at), Happening::Primes(AttemptId::primary(branch)))
            }));
            for ((at, kind), number) in ends.into_iter().zip(numbers) {
                let attempt = AttemptId { branch, number };
                timeline.push((at, match kind {
                    Kind::Answers => Happening::Answers(attempt),
                    Kind::Fails(failure) => Happening::Fails(attempt, failure),
                    Kind::PushesBack(pause) => Happening::PushesBack(attempt, pause),
                }));
            }
        }
        timeline.sort_by_key(|(at, _)| *at);
        let wait_for = match wait_for {
            WaitFor::First(k) => WaitFor::First(k.min(n)),
            other => other,
        };
        let first: Vec<usize> = (0..specs.len()).filter(|branch| specs[*branch].after.is_empty()).collect();
        let p95 = Quantile::from_ppm(950_000).expect("it is a level");
        let live = LiveDelaySpec { warming: warming.map(ms), ..LiveDelaySpec::new(p95) };
        let plan = Plan::new(PlanSpec {
            live_delays: vec![live],
            wait_for,
            deadline: Some(ms(deadline)),
            observe: if observed { PPM } else { 0 },
            hedge_budget,
            failover_budget: BudgetSpec { share: 1_000_000, ..BudgetSpec::FAILOVERS },
            leader: leader.map(|(index, head_start)| Leader { branch: *index.get(&first), head_start: ms(head_start) }),
            limiters,
            ..PlanSpec::new("random", specs)
        });
        let plan = Arc::new(plan.unwrap_or_else(|errors| panic!("random plans are valid: {errors}")));
        Script { title: String::from("random"), plan, credit, rotation: 0, timeline, expected: String::new() }
    }
}

/// Grants of one instant may come in several steps, here one way and there the other.
fn in_any_order(script: &Script, text: &str) -> Vec<String> {
    let mut lines = comparable(script, text);
    lines.sort_unstable();
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_scripts_come_out_as_in_the_machine(script in scripts()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let came = runtime.expect("a runtime needs no more than a thread").block_on(stage::play(&script));
        let came = in_any_order(&script, &came);
        prop_assert_eq!(came, in_any_order(&script, &machine::play(&script)));
    }
}
