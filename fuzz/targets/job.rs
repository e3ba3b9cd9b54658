//! A job of any plan keeps the rules whatever it is told, in whatever order, and wherever it starts.

#![no_main]

#[path = "../../crates/core/tests/support/observer.rs"]
mod observer;
#[path = "../../crates/core/tests/support/world.rs"]
mod world;

use std::sync::Arc;

use fantail_core::job::{AttemptId, Event, Failure, Refusal};
use fantail_core::plan::PPM;
use fantail_core::{BranchSpec, Hedge, Leader, LiveDelaySpec, Plan, PlanSpec, Quantile, Time, WaitFor};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use world::{Move, Pass, Pick, play, same_in_any_order, same_in_the_place_of};

fuzz_target!(|bytes: &[u8]| {
    // What ends before its time is no run.
    let _ = run(&mut Unstructured::new(bytes));
});

fn run(bytes: &mut Unstructured<'_>) -> Result<()> {
    let spec = plan(bytes)?;
    let plan = match Plan::new(spec) {
        Ok(plan) => Arc::new(plan),
        Err(errors) => {
            assert!(!errors.to_string().is_empty());
            return Ok(());
        }
    };
    let origin = *bytes.choose(&[0, 1 << 63, u64::MAX - 10, u64::MAX])?;
    let mut moves = Vec::new();
    while !bytes.is_empty() && moves.len() < 100 {
        moves.push(one_move(bytes)?);
    }
    let (job, told) =
        play(&plan, &moves, Time::from_nanos(origin)).unwrap_or_else(|broken| panic!("{broken}"));
    same_in_any_order(&plan, &told);
    same_in_the_place_of(job, &plan, &told);
    Ok(())
}

fn plan(bytes: &mut Unstructured<'_>) -> Result<PlanSpec> {
    let n = bytes.int_in_range(1..=12)?;
    let branches = (0..n).map(|index| branch(bytes, index)).collect::<Result<_>>()?;
    let wait_for = match bytes.int_in_range(0..=2)? {
        0 => WaitFor::All,
        1 => WaitFor::First(bytes.int_in_range(0..=13)?),
        _ => WaitFor::Share(bytes.int_in_range(0..=PPM + 1)?),
    };
    let (observe, holdout) = *bytes.choose(&[(0, 0), (PPM, 0), (0, PPM)])?;
    let leader = if bytes.arbitrary()? {
        Some(Leader { branch: bytes.int_in_range(0..=n)?, head_start: span(bytes)? })
    } else {
        None
    };
    let warming = maybe(bytes, span)?;
    let p95 = Quantile::from_ppm(950_000).expect("it is a level");
    Ok(PlanSpec {
        wait_for,
        at_least: maybe(bytes, |bytes| bytes.int_in_range(0..=13))?,
        deadline: maybe(bytes, span)?,
        leader,
        observe,
        holdout,
        live_delays: vec![LiveDelaySpec { warming, ..LiveDelaySpec::new(p95) }],
        ..PlanSpec::new("any", branches)
    })
}

fn branch(bytes: &mut Unstructured<'_>, index: usize) -> Result<BranchSpec> {
    let mut delays = Vec::new();
    while delays.len() < 16 && bytes.ratio(1, 3)? {
        delays.push(span(bytes)?);
    }
    delays.sort_unstable();
    let live = (delays.len() == 1 && bytes.arbitrary()?).then_some(0);
    let hedge = if delays.is_empty() {
        None
    } else {
        let min_useful = if bytes.arbitrary()? { span(bytes)? } else { Time::ZERO };
        Some(Hedge { delays, min_useful, distinct: bytes.ratio(1, 8)? })
    };
    let mut after = Vec::new();
    while after.len() < 3 && bytes.ratio(1, 4)? {
        after.push(bytes.int_in_range(0..=11)?);
    }
    Ok(BranchSpec {
        required: bytes.arbitrary()?,
        after,
        tolerates_missing: bytes.arbitrary()?,
        deadline: maybe(bytes, span)?,
        attempt_timeout: maybe(bytes, span)?,
        hedge,
        live,
        failover: bytes.ratio(1, 4)?,
        repeatable: !bytes.ratio(1, 32)?,
        targets: bytes.int_in_range(1..=4)?,
        ..BranchSpec::new(format!("b{index}"))
    })
}

fn one_move(bytes: &mut Unstructured<'_>) -> Result<Move> {
    let pass = match bytes.int_in_range(0..=7)? {
        0..=3 => Pass::By(bytes.int_in_range(0..=5)?),
        4..=6 => Pass::ToWake(bytes.int_in_range(0..=2)?),
        _ => Pass::Jump(span(bytes)?.as_nanos()),
    };
    let mut picks = Vec::new();
    while picks.len() < 12 && bytes.ratio(3, 4)? {
        picks.push(if bytes.ratio(1, 8)? {
            Pick::Any(event(bytes)?)
        } else {
            Pick::Sayable(usize::from(bytes.arbitrary::<u8>()?))
        });
    }
    Ok(Move { pass, picks })
}

fn event(bytes: &mut Unstructured<'_>) -> Result<Event> {
    let branch = *bytes.choose(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, u32::MAX])?;
    let number = *bytes.choose(&[0, 1, 2, 3, 4, 15, AttemptId::FAILOVER, u8::MAX])?;
    let attempt = AttemptId { branch, number };
    Ok(match bytes.int_in_range(0..=5)? {
        0 => Event::Granted(attempt),
        1 => Event::Answered(attempt),
        2 => Event::Primed(attempt),
        3 => {
            let failures = [Failure::Permanent, Failure::Retryable, Failure::Pushback, Failure::TimedOut];
            Event::Failed(attempt, *bytes.choose(&failures)?)
        }
        4 => Event::Refused(attempt, *bytes.choose(&Refusal::ALL)?),
        _ => Event::Dropped,
    })
}

fn maybe<T>(
    bytes: &mut Unstructured<'_>,
    value: impl FnOnce(&mut Unstructured<'_>) -> Result<T>,
) -> Result<Option<T>> {
    if bytes.arbitrary()? { value(bytes).map(Some) } else { Ok(None) }
}

/// Mostly short, so that things meet.
fn span(bytes: &mut Unstructured<'_>) -> Result<Time> {
    Ok(Time::from_nanos(match bytes.arbitrary::<u8>()? {
        255 => bytes.arbitrary()?,
        short => u64::from(short % 64),
    }))
}
