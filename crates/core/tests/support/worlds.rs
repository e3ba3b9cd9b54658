//! Random plans, and random worlds for jobs of them: some that a driver could meet, some that none should.

use std::sync::Arc;

use fantail_core::job::{AttemptId, Event, Failure, Refusal};
use fantail_core::plan::PPM;
use fantail_core::{BranchSpec, Hedge, Leader, LiveDelaySpec, Plan, PlanSpec, Quantile, Time, WaitFor};
use proptest::prelude::*;

use crate::world::{Move, Pass, Pick};

prop_compose! {
    fn branch_specs()(
        required in prop::option::of(any::<bool>()),
        deadline in prop::option::weighted(0.3, 1..60_u64),
        timeout in prop::option::weighted(0.3, 1..30_u64),
        mut delays in prop::collection::vec(prop::sample::select(vec![0_u64, 0, 3, 7, 20]), 0..4),
        min_useful in prop::sample::select(vec![0_u64, 0, 5]),
        targets in 1..4_u32,
        failover in any::<bool>(),
        after in prop::collection::btree_set(0..12_usize, 0..3),
        stands_alone in any::<bool>(),
        tolerates_missing in any::<bool>(),
        live in any::<bool>(),
    ) -> BranchSpec {
        delays.sort_unstable();
        let delays: Vec<Time> = delays.into_iter().map(Time::from_nanos).collect();
        let live = (live && delays.len() == 1 && delays[0] > Time::ZERO).then_some(0);
        let hedge = (!delays.is_empty()).then(|| Hedge {
            distinct: targets as usize > delays.len(),
            min_useful: Time::from_nanos(min_useful),
            delays,
        });
        BranchSpec {
            required,
            deadline: deadline.map(Time::from_nanos),
            attempt_timeout: timeout.map(Time::from_nanos),
            hedge,
            live,
            failover: failover && targets > 1,
            repeatable: true,
            targets,
            after: if stands_alone { Vec::new() } else { after.into_iter().collect() },
            tolerates_missing,
            ..BranchSpec::new("")
        }
    }
}

/// Valid plans of up to twelve branches, with spans of up to 60 ns.
pub(crate) fn plans() -> impl Strategy<Value = Arc<Plan>> {
    let wait_for = prop_oneof![
        Just(WaitFor::All),
        (0..12_u32).prop_map(WaitFor::First),
        (1..=1_000_000_u32).prop_map(WaitFor::Share),
    ];
    let branches = prop::collection::vec(branch_specs(), 1..=12);
    let deadline = prop::option::weighted(0.6, 20..80_u64);
    let leader = prop::option::weighted(0.4, (any::<prop::sample::Index>(), 1..20_u64));
    let at_least = prop::option::of(any::<prop::sample::Index>());
    let warming = prop::option::of(1..15_u64);
    let sample = prop::sample::select(vec![(0, 0), (0, 0), (PPM, 0), (0, PPM)]);
    (branches, wait_for, at_least, deadline, leader, any::<bool>(), warming, sample).prop_map(
        |(mut branches, wait_for, at_least, deadline, leader, backwards, warming, sample)| {
            let n = branches.len() as u32;
            let wait_for = match wait_for {
                WaitFor::First(k) => WaitFor::First(k % n + 1),
                other => other,
            };
            let deadline = deadline.map(Time::from_nanos);
            for (branch, number) in branches.iter_mut().zip(0..) {
                branch.name = format!("b{number}");
                branch.deadline = branch.deadline.map(|own| own.min(deadline.unwrap_or(own)));
                if let (Some(hedge), Some(until)) = (&mut branch.hedge, branch.deadline.or(deadline)) {
                    hedge.min_useful = hedge.min_useful.min(until);
                }
            }
            let at_least = at_least.map(|index| index.index(wait_for.answers(n) as usize + 1) as u32);
            stages(&mut branches, wait_for == WaitFor::All);
            if backwards {
                branches.reverse();
                let turn = |first: &mut usize| *first = n as usize - 1 - *first;
                branches.iter_mut().flat_map(|branch| &mut branch.after).for_each(turn);
            }
            let first: Vec<usize> = (0..n as usize).filter(|b| branches[*b].after.is_empty()).collect();
            let leader = leader.map(|(index, head_start)| Leader {
                branch: *index.get(&first),
                head_start: Time::from_nanos(head_start),
            });
            let p95 = Quantile::from_ppm(950_000).expect("it is a level");
            let warming = warming.map(Time::from_nanos);
            let live_delays = vec![LiveDelaySpec { warming, ..LiveDelaySpec::new(p95) }];
            let random = PlanSpec::new("random", branches);
            let timed = deadline.is_some() || random.branches.iter().all(|branch| branch.deadline.is_some());
            let observe = if timed { sample.0 } else { 0 };
            let holdout = sample.1;
            let spec =
                PlanSpec { wait_for, at_least, deadline, leader, live_delays, observe, holdout, ..random };
            Arc::new(Plan::new(spec).expect("random plans are valid"))
        },
    )
}

/// Leaves what a plan may have: branches after earlier ones, and required ones after required ones.
fn stages(branches: &mut [BranchSpec], waits_for_all: bool) {
    for index in 0..branches.len() {
        let (before, rest) = branches.split_at_mut(index);
        let required = |branch: &BranchSpec| branch.required.unwrap_or(waits_for_all);
        let branch = &mut rest[0];
        let strict = required(branch) && !branch.tolerates_missing;
        branch.after.retain(|first| before.get(*first).is_some_and(|first| !strict || required(first)));
    }
}

/// What a driver could do: time passes, and what is reported is of attempts in that state.
pub(crate) fn fair_moves() -> impl Strategy<Value = Vec<Move>> {
    let pass = prop_oneof![(0..6_u64).prop_map(Pass::By), (0..3_u64).prop_map(Pass::ToWake)];
    let picks = prop::collection::vec(any::<usize>().prop_map(Pick::Sayable), 0..6);
    prop::collection::vec((pass, picks).prop_map(|(pass, picks)| Move { pass, picks }), 1..60)
}

/// What no driver should do: any event, of attempts that may not exist, at any time.
pub(crate) fn hostile_moves() -> impl Strategy<Value = Vec<Move>> {
    let edges = vec![0, 1, 1 << 63, u64::MAX - 1, u64::MAX];
    let pass = prop_oneof![
        4 => (0..6_u64).prop_map(Pass::By),
        2 => (0..3_u64).prop_map(Pass::ToWake),
        1 => (0..80_u64).prop_map(Pass::Jump),
        1 => prop::sample::select(edges).prop_map(Pass::Jump),
    ];
    let pick = prop_oneof![
        2 => any::<usize>().prop_map(Pick::Sayable),
        3 => events().prop_map(Pick::Any),
    ];
    let picks = prop::collection::vec(pick, 0..12);
    prop::collection::vec((pass, picks).prop_map(|(pass, picks)| Move { pass, picks }), 1..40)
}

fn events() -> impl Strategy<Value = Event> {
    let branch = prop_oneof![9 => 0..14_u32, 1 => Just(u32::MAX)];
    let number = prop_oneof![8 => 0..5_u8, 2 => Just(AttemptId::FAILOVER), 1 => Just(u8::MAX)];
    let attempt = (branch, number).prop_map(|(branch, number)| AttemptId { branch, number }).boxed();
    let failures = vec![Failure::Permanent, Failure::Retryable, Failure::Pushback, Failure::TimedOut];
    let failure = prop::sample::select(failures);
    let refusal = prop::sample::select(Refusal::ALL.to_vec());
    prop_oneof![
        20 => attempt.clone().prop_map(Event::Granted),
        15 => attempt.clone().prop_map(Event::Answered),
        5 => attempt.clone().prop_map(Event::Primed),
        15 => (attempt.clone(), failure).prop_map(|(attempt, failure)| Event::Failed(attempt, failure)),
        10 => (attempt, refusal).prop_map(|(attempt, reason)| Event::Refused(attempt, reason)),
        1 => Just(Event::Dropped),
    ]
}
