//! Input that breaks estimators.

use fantail_core::{End, Estimate, LiveDelay, LiveDelaySpec, Quantile, Sketch, SketchError, Time};
use proptest::prelude::*;

use crate::sound::{self, Op};
use crate::support::{Ended, FOREVER, Observation, p95, quantile, sketch, snapshot};

fn estimate(observations: &[Observation]) -> Estimate {
    snapshot(2_000, observations).estimate(p95())
}

#[test]
fn what_is_no_quantile_half_life_or_delay_is_refused() {
    for ppm in [0, 1_000_000, 1_000_001, u32::MAX] {
        assert_eq!(Quantile::from_ppm(ppm), Err(SketchError::Level { ppm }));
    }
    for half_life in [0, 1, 31, (1 << 24) + 1, u32::MAX] {
        assert_eq!(Sketch::new(half_life).unwrap_err(), SketchError::HalfLife { half_life });
    }
    let text = |error: SketchError| error.to_string();
    assert_eq!(
        text(SketchError::Level { ppm: 0 }),
        "0 of 1000000 is not the level of a quantile: it is 1 to 999999"
    );
    assert_eq!(
        text(SketchError::HalfLife { half_life: 7 }),
        "a half-life of 7 primaries is out of bounds: it is 32 to 16777216"
    );
    let zero = LiveDelaySpec { floor: Time::ZERO, ..LiveDelaySpec::new(p95()) };
    assert_eq!(
        text(LiveDelay::new(zero).unwrap_err()),
        "the floor of a live hedge delay is 0s: it must be longer, since no delay is a race"
    );
    let zero = LiveDelaySpec { cap: Time::ZERO, ..LiveDelaySpec::new(p95()) };
    assert_eq!(LiveDelay::new(zero).unwrap_err(), SketchError::NoDelay { field: "cap" });
    let zero = LiveDelaySpec { warming: Some(Time::ZERO), ..LiveDelaySpec::new(p95()) };
    assert_eq!(LiveDelay::new(zero).unwrap_err(), SketchError::NoDelay { field: "warming" });
}

#[test]
fn all_equal_is_that_value() {
    for nanos in [0, 1, 127, 128, 255, 256, 200_000, 12_000_000_000, 1 << 63, u64::MAX] {
        let Estimate::Estimable(time) = estimate(&vec![(nanos, Ended::Answered); 5_000]) else { panic!() };
        assert!(time.as_nanos().abs_diff(nanos) <= nanos / 256, "{nanos}: {time}");
    }
}

#[test]
fn thirty_equal_answers_are_the_fewest_that_tell() {
    assert_eq!(estimate(&[(5, Ended::Answered); 29]), Estimate::Warming);
    assert_eq!(estimate(&[(5, Ended::Answered); 30]), Estimate::Estimable(Time::from_nanos(5)));
}

#[test]
fn all_fast_is_held_up_by_the_floor() {
    let fast = snapshot(2_000, &[(200_000, Ended::Answered); 1_000]);
    let mut delay = LiveDelay::new(LiveDelaySpec::new(p95())).unwrap();
    delay.refresh(&fast);
    assert!(matches!(delay.estimate(), Estimate::Estimable(time) if time < Time::from_micros(201)));
    assert_eq!(delay.delay(), Some(Time::from_millis(1)));
    // Even of nothing but zeros.
    delay.refresh(&snapshot(2_000, &[(0, Ended::Answered); 1_000]));
    assert_eq!(delay.delay(), Some(Time::from_millis(1)));
}

#[test]
fn one_huge_value_is_counted_and_shifts_nothing() {
    let mut observations = vec![(1_500_000, Ended::Answered); 2_000];
    observations[1_000].0 = 12_000_000_000;
    let snapshot = snapshot(FOREVER, &observations);
    assert_eq!(snapshot.incidence(Time::from_secs(11)).at_risk.round(), 1.0);
    assert_eq!(snapshot.incidence(Time::from_secs(13)).at_risk, 0.0);
    let Estimate::Estimable(p99) = snapshot.estimate(quantile(999_000)) else { panic!() };
    assert!(p99 < Time::from_micros(1_506));
    // It would take 30 of them.
    assert_eq!(snapshot.estimate(quantile(999_999)), Estimate::Warming);
}

#[test]
fn all_censored_says_how_far_it_can_see() {
    for ended in [Ended::Cancelled, Ended::Failed] {
        assert_eq!(estimate(&[(1 << 30, ended); 599]), Estimate::Warming);
        let above = Time::from_nanos(1 << 30);
        assert_eq!(estimate(&[(1 << 30, ended); 601]), Estimate::NotEstimable { above });
    }
}

#[test]
fn when_everything_hangs_from_the_start_the_delay_is_the_cap() {
    let spec = LiveDelaySpec { cap: Time::from_secs(2), ..LiveDelaySpec::new(p95()) };
    let mut delay = LiveDelay::new(spec).unwrap();
    let mut sketch = Sketch::new(2_000).unwrap();
    for i in 0..10_000_u64 {
        let now = Time::from_millis(i * 10);
        // Never recorded.
        let _ = sketch.start(now);
        delay.refresh(&sketch.snapshot(now));
        match i {
            ..599 => assert_eq!((delay.estimate(), delay.delay()), (Estimate::Warming, None)),
            601.. => {
                assert!(matches!(delay.estimate(), Estimate::NotEstimable { above } if above <= now));
                assert_eq!(delay.delay(), Some(Time::from_secs(2)));
            }
            _ => {}
        }
    }
    let Estimate::NotEstimable { above } = delay.estimate() else { panic!() };
    assert!(above > Time::from_secs(90));
}

#[test]
fn the_ends_of_time_are_times() {
    let mut sketch = Sketch::new(32).unwrap();
    let instants = [Time::ZERO, Time::MAX, Time::ZERO, Time::from_nanos(1 << 63), Time::MAX];
    for i in 0..5_000 {
        let primary = sketch.start(instants[i % 5]);
        if i % 3 > 0 {
            let end = if i % 2 == 0 { End::Answered } else { End::Cut { deadline: Time::ZERO } };
            sketch.record(primary, instants[i % 4], end);
        }
        for now in instants {
            let snapshot = sketch.snapshot(now);
            let incidence = snapshot.incidence(Time::MAX);
            assert!((0.0..=1.0).contains(&incidence.answered));
            assert!(snapshot.effective() <= 93.0, "{}", snapshot.effective());
            let _ = snapshot.estimate(p95());
        }
    }
}

#[test]
fn a_clock_that_goes_back_stands_still() {
    let mut sketch = Sketch::new(FOREVER).unwrap();
    let first = sketch.start(Time::from_secs(10));
    let second = sketch.start(Time::from_secs(5));
    for primary in [first, second] {
        sketch.record(primary, Time::from_secs(11), End::Answered);
    }
    let answered = |millis| sketch.snapshot(Time::ZERO).incidence(Time::from_millis(millis)).answered;
    assert_eq!((answered(980), answered(1_000)), (0.0, 1.0));
}

#[test]
fn a_primary_of_another_sketch_does_no_more_than_miscount() {
    let mut old = sketch(32, &vec![(1, Ended::Answered); 10_000]);
    let mut new = Sketch::new(32).unwrap();
    for _ in 0..200 {
        let (of_old, of_new) = (old.start(Time::ZERO), new.start(Time::ZERO));
        old.record(of_new, Time::MAX, End::Failed);
        new.record(of_old, Time::MAX, End::Failed);
    }
    assert!(old.snapshot(Time::ZERO).effective() < 100.0);
    assert_eq!(new.snapshot(Time::ZERO).incidence(Time::MAX).failed, 0.0);
}

fn ops() -> impl Strategy<Value = Vec<(bool, Op)>> {
    let small = (0..2_000_000_u64).prop_map(Time::from_nanos).boxed();
    let edges = proptest::sample::select(vec![Time::ZERO, Time::from_nanos(1 << 63), Time::MAX]);
    let end = prop_oneof![
        4 => Just(End::Answered),
        1 => Just(End::Failed),
        1 => Just(End::Cancelled),
        1 => small.clone().prop_map(|deadline| End::Cut { deadline }),
    ];
    let op = prop_oneof![
        3 => any::<u8>().prop_map(Op::Start),
        60 => (any::<usize>(), end.clone()).prop_map(|(number, end)| Op::End(number, end)),
        1 => (any::<usize>(), end).prop_map(|(number, end)| Op::Stray(number, end)),
        20 => small.prop_map(Op::Pass),
        1 => edges.prop_map(Op::Now),
    ];
    proptest::collection::vec((any::<bool>(), op), 0..2_000)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_sketches_are_told_what_they_know_is_sound(half_lives in [32..200_u32, 32..200], ops in ops()) {
        sound::play(half_lives, &ops);
    }
}
