//! What the examples share: latencies drawn from laws, and quantiles of what came of them.

#![allow(dead_code, reason = "no example needs all of it")]

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(0x5eed) };
}

/// A draw between 0 and 1, both excluded (splitmix64).
fn uniform() -> f64 {
    let state = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (((z ^ (z >> 31)) >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

/// A log-normal latency.
pub(crate) fn log_normal(median: Duration, sigma: f64) -> Duration {
    let normal = (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    median.mul_f64((sigma * normal).exp())
}

/// An exponential latency.
pub(crate) fn exponential(mean: Duration) -> Duration {
    mean.mul_f64(-uniform().ln())
}

/// The quantile `p` of `times`, nearest rank, in milliseconds.
pub(crate) fn quantile(times: &mut [Duration], p: f64) -> f64 {
    times.sort_unstable();
    let rank = (p * times.len() as f64).ceil() as usize;
    times[rank.clamp(1, times.len()) - 1].as_secs_f64() * 1e3
}
