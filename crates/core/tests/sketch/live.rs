//! The hedge delay in each state.

use fantail_core::{End, Estimate, LiveDelay, LiveDelaySpec, Sketch, Snapshot, Time};

use crate::support::{Ended, p95, sketch, snapshot};

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

/// All answer at `latency` ms.
fn answering(latency: u64) -> Snapshot {
    snapshot(2_000, &vec![(latency * 1_000_000, Ended::Answered); 1_000])
}

/// All hang.
fn hanging() -> Snapshot {
    snapshot(2_000, &vec![(1_000_000, Ended::Cancelled); 1_000])
}

/// The delay after each of `snapshots`, in whole ms.
#[track_caller]
fn check(spec: LiveDelaySpec, snapshots: &[Snapshot], expected: &[Option<u64>]) {
    let mut delay = LiveDelay::new(spec).unwrap();
    let got: Vec<_> = snapshots
        .iter()
        .map(|snapshot| {
            delay.refresh(snapshot);
            delay.delay().map(|delay| (delay.as_nanos() + 500_000) / 1_000_000)
        })
        .collect();
    assert_eq!(got, expected);
}

#[test]
fn it_is_the_quantile_within_floor_and_cap() {
    let spec = LiveDelaySpec { floor: ms(20), cap: ms(80), ..LiveDelaySpec::new(p95()) };
    let latencies = [10, 20, 50, 80, 100].map(answering);
    check(spec, &latencies, &[20, 20, 50, 80, 80].map(Some));
    let cap_below_floor = LiveDelaySpec { floor: ms(20), cap: ms(15), ..spec };
    check(cap_below_floor, &latencies, &[15, 15, 15, 15, 15].map(Some));
}

#[test]
fn warming_has_a_delay_only_if_one_is_given() {
    let spec = LiveDelaySpec { cap: ms(80), ..LiveDelaySpec::new(p95()) };
    let states = [Snapshot::default(), answering(50)];
    check(spec, &states, &[None, Some(50)]);
    check(LiveDelaySpec { warming: Some(ms(30)), ..spec }, &states, &[Some(30), Some(50)]);
    check(LiveDelaySpec { warming: Some(ms(300)), ..spec }, &states, &[Some(80), Some(50)]);
}

#[test]
fn not_estimable_keeps_the_last_delay_or_takes_the_cap() {
    let spec = LiveDelaySpec { cap: ms(80), ..LiveDelaySpec::new(p95()) };
    check(spec, &[hanging(), answering(50), hanging(), answering(60)], &[80, 50, 50, 60].map(Some));
    check(spec, &[answering(100), hanging()], &[80, 80].map(Some));
    // Without a cap and without a quantile, ever, there is nothing to go by.
    check(LiveDelaySpec::new(p95()), &[hanging(), answering(50), hanging()], &[None, Some(50), Some(50)]);
}

#[test]
fn stale_keeps_the_last_delay() {
    let mut sketch = sketch(2_000, &[(50_000_000, Ended::Answered); 1_000]);
    // One more, a second later, gives the sketch a pace: a half-life takes two seconds.
    let primary = sketch.start(Time::from_secs(1));
    sketch.record(primary, Time::from_secs(2), End::Answered);
    let spec = LiveDelaySpec { cap: ms(80), ..LiveDelaySpec::new(p95()) };
    check(spec, &[2, 60].map(|secs| sketch.snapshot(Time::from_secs(secs))), &[50, 50].map(Some));
    let stale = sketch.snapshot(Time::from_secs(60));
    assert_eq!(stale.estimate(p95()), Estimate::Stale);
    check(spec, &[stale], &[Some(80)]);
    assert_eq!(Sketch::HALF_LIFE, 2_000);
}
