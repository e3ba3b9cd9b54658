//! Whatever sketches are told, what they know is sound.

#![no_main]

#[path = "../../crates/core/tests/sketch/sound.rs"]
mod sound;

use fantail_core::{End, Time};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use sound::{Op, play};

fuzz_target!(|bytes: &[u8]| {
    // What ends before its time is no run.
    let _ = run(&mut Unstructured::new(bytes));
});

fn run(bytes: &mut Unstructured<'_>) -> Result<()> {
    let half_lives = [bytes.int_in_range(32..=287)?, bytes.int_in_range(32..=1 << 24)?];
    let mut ops = Vec::new();
    while !bytes.is_empty() {
        ops.push((bytes.arbitrary()?, op(bytes)?));
    }
    play(half_lives, &ops);
    Ok(())
}

fn op(bytes: &mut Unstructured<'_>) -> Result<Op> {
    Ok(match bytes.int_in_range(0..=7)? {
        0 | 1 => Op::Start(bytes.arbitrary()?),
        2..=4 => Op::End(usize::from(bytes.arbitrary::<u8>()?), end(bytes)?),
        5 => Op::Stray(usize::from(bytes.arbitrary::<u8>()?), end(bytes)?),
        6 => Op::Pass(time(bytes)?),
        _ => Op::Now(time(bytes)?),
    })
}

fn end(bytes: &mut Unstructured<'_>) -> Result<End> {
    Ok(match bytes.int_in_range(0..=3)? {
        0 => End::Answered,
        1 => End::Failed,
        2 => End::Cancelled,
        _ => End::Cut { deadline: time(bytes)? },
    })
}

/// Of any order of magnitude.
fn time(bytes: &mut Unstructured<'_>) -> Result<Time> {
    let (bits, shift) = (bytes.arbitrary::<u16>()?, bytes.int_in_range(0..=64)?);
    Ok(Time::from_nanos(u64::from(bits).checked_shl(shift).unwrap_or(u64::MAX)))
}
