//! Any limiter that a plan may have does in any run what the reference does, and stands any order of instants.

#![no_main]

#[path = "../../crates/core/tests/support/limiters.rs"]
mod limiters;
#[path = "../../crates/core/tests/support/naive.rs"]
mod naive;

use fantail_core::job::Class;
use fantail_core::{BranchSpec, LimiterSpec, Plan, PlanSpec, Rate, Time};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use limiters::{Op, agree, withstand};

fuzz_target!(|bytes: &[u8]| {
    // What ends before its time is no run.
    let _ = run(&mut Unstructured::new(bytes));
});

fn run(bytes: &mut Unstructured<'_>) -> Result<()> {
    let spec = spec(bytes)?;
    let limiters = vec![spec.clone()];
    if Plan::new(PlanSpec { limiters, ..PlanSpec::new("any", vec![BranchSpec::new("a")]) }).is_err() {
        return Ok(());
    }
    if bytes.arbitrary()? {
        let origin = *bytes.choose(&[0, 1, 1_000, 1 << 63])?;
        let mut ops = Vec::new();
        while !bytes.is_empty() && ops.len() < 100 {
            ops.push(op(bytes)?);
        }
        agree(spec, origin, &ops);
    } else {
        let mut ops = Vec::new();
        while !bytes.is_empty() && ops.len() < 1_000 {
            ops.push((op(bytes)?, Time::from_nanos(bytes.arbitrary()?)));
        }
        withstand(&spec, ops.iter().map(|(op, now)| (op, *now)));
    }
    Ok(())
}

fn spec(bytes: &mut Unstructured<'_>) -> Result<LimiterSpec> {
    let gate = if bytes.arbitrary()? { Some(number(bytes)?) } else { None };
    let rate = if bytes.arbitrary()? {
        let (permits, burst) = (number(bytes)?, number(bytes)?);
        Some(Rate { permits, per: Time::from_nanos(span(bytes)?), burst })
    } else {
        None
    };
    Ok(LimiterSpec {
        gate,
        rate,
        strict: bytes.arbitrary()?,
        backfill_share: *bytes.choose(&[0, 1, 100_000, 500_000, 999_999, 1_000_000])?,
        pushback_cap: Time::from_nanos(span(bytes)?),
        ..LimiterSpec::new("any")
    })
}

fn op(bytes: &mut Unstructured<'_>) -> Result<Op> {
    Ok(match bytes.int_in_range(0..=11)? {
        0 | 1 => {
            let (class, weight) = (class(bytes)?, number(bytes)?);
            Op::Ask(class, weight, if bytes.arbitrary()? { Some(span(bytes)?) } else { None })
        }
        2 => Op::GrantNow(class(bytes)?, number(bytes)?, bytes.int_in_range(0..=5)?),
        3 => Op::Pass(span(bytes)?),
        4 => Op::Wait,
        5 | 6 => Op::Grant,
        7 => Op::GrantAny(place(bytes)?),
        8 => Op::Withdraw(place(bytes)?),
        9 => Op::Release(place(bytes)?),
        10 => Op::GiveBack(place(bytes)?),
        _ => Op::PushBack(span(bytes)?),
    })
}

fn class(bytes: &mut Unstructured<'_>) -> Result<Class> {
    bytes.choose(&[Class::First, Class::RequiredCopy, Class::OptionalCopy, Class::Backfill]).copied()
}

fn place(bytes: &mut Unstructured<'_>) -> Result<usize> {
    Ok(usize::from(bytes.arbitrary::<u8>()?))
}

/// Mostly small, so that things meet.
fn number(bytes: &mut Unstructured<'_>) -> Result<u32> {
    Ok(match bytes.arbitrary::<u8>()? {
        255 => bytes.arbitrary()?,
        small => u32::from(small % 8),
    })
}

/// Likewise, in nanoseconds.
fn span(bytes: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match bytes.arbitrary::<u8>()? {
        255 => bytes.arbitrary()?,
        small => u64::from(small % 32),
    })
}
