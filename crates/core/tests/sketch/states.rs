//! When a quantile is known, and what is said when it is not.

use fantail_core::{End, Estimate, Sketch, Snapshot, Time};

use crate::support::{Ended, FOREVER, Observation, p95, quantile, sketch, snapshot};

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

/// `n` primaries, 10 ms apart, that answer after 0 to 100 ms: the clock after the last has started.
fn feed(sketch: &mut Sketch, from: Time, n: u64) -> Time {
    let mut now = from;
    for i in 0..n {
        let primary = sketch.start(now);
        sketch.record(
            primary,
            now.saturating_add(Time::from_micros(10 * (1 + i * 7_919 % 10_000))),
            End::Answered,
        );
        now = now.saturating_add(ms(10));
    }
    now
}

#[test]
fn nothing_is_known_of_nothing() {
    let empty = Snapshot::default();
    assert_eq!(empty.estimate(p95()), Estimate::Warming);
    assert_eq!(empty.effective(), 0.0);
    let incidence = empty.incidence(Time::MAX);
    assert_eq!((incidence.answered, incidence.failed, incidence.at_risk), (0.0, 0.0, 0.0));
    assert_eq!(Sketch::new(2_000).unwrap().snapshot(Time::MAX), empty);
}

#[test]
fn warming_ends_when_thirty_could_be_at_risk() {
    let mut sketch = Sketch::new(2_000).unwrap();
    let mut now = feed(&mut sketch, Time::ZERO, 500);
    assert_eq!(sketch.snapshot(now).estimate(p95()), Estimate::Warming);
    assert!(matches!(sketch.snapshot(now).estimate(quantile(500_000)), Estimate::Estimable(_)));
    now = feed(&mut sketch, now, 100);
    assert!(matches!(sketch.snapshot(now).estimate(p95()), Estimate::Estimable(_)));
    assert_eq!(sketch.snapshot(now).estimate(quantile(990_000)), Estimate::Warming);
}

#[test]
fn a_level_that_the_half_life_cannot_tell_is_not_warming_for_ever() {
    let mut sketch = Sketch::new(2_000).unwrap();
    let now = feed(&mut sketch, Time::ZERO, 40_000);
    let snapshot = sketch.snapshot(now);
    assert!(matches!(snapshot.estimate(quantile(990_000)), Estimate::Estimable(_)));
    // 2,000 · 2.88 · 0.001 are too few. All of them answer by 100 ms, and 30 are known to run for some 99 ms.
    let Estimate::NotEstimable { above } = snapshot.estimate(quantile(999_000)) else { panic!() };
    assert!((ms(97)..ms(100)).contains(&above), "{above}");
}

/// Answers at 1 to 100 ms, unless `deadline` cuts them first.
fn cut(deadline: u64) -> Snapshot {
    let mut sketch = Sketch::new(FOREVER).unwrap();
    for i in 0..10_000 {
        let primary = sketch.start(Time::ZERO);
        let latency = 1 + i * 37 % 100;
        let (age, end) = if latency <= deadline {
            (latency, End::Answered)
        } else {
            (deadline, End::Cut { deadline: ms(deadline) })
        };
        sketch.record(primary, ms(age), end);
    }
    sketch.snapshot(Time::ZERO)
}

#[test]
fn a_quantile_beyond_a_deadline_is_more_than_the_deadline() {
    for deadline in [1, 50, 90, 94] {
        let estimate = cut(deadline).estimate(p95());
        assert_eq!(estimate, Estimate::NotEstimable { above: ms(deadline) });
    }
    // At 95 the p95 is not below it, and at 97 it is.
    assert_eq!(cut(95).estimate(p95()), Estimate::NotEstimable { above: ms(95) });
    assert!(matches!(cut(97).estimate(p95()), Estimate::Estimable(time) if time < ms(96)));
}

#[test]
fn every_deadline_that_cut_counts_and_one_that_cut_nothing_does_not() {
    // Half of the primaries have time to answer, which alone would do.
    let mut both = cut(1_000);
    both.merge(&cut(60));
    assert_eq!(both.estimate(p95()), Estimate::NotEstimable { above: ms(60) });
    assert!(matches!(both.estimate(quantile(500_000)), Estimate::Estimable(_)));
}

#[test]
fn a_deadline_is_forgotten_with_the_primaries_that_it_cut() {
    let mut sketch = Sketch::new(320).unwrap();
    let primary = sketch.start(Time::ZERO);
    sketch.record(primary, ms(20), End::Cut { deadline: ms(20) });
    let now = feed(&mut sketch, Time::ZERO, 7 * 320);
    assert_eq!(sketch.snapshot(now).estimate(p95()), Estimate::NotEstimable { above: ms(20) });
    let now = feed(&mut sketch, now, 2 * 320);
    assert!(matches!(sketch.snapshot(now).estimate(quantile(800_000)), Estimate::Estimable(_)));
}

#[test]
fn too_few_at_risk_says_how_far_the_estimate_is_good() {
    // Of 10,000 that would answer at 1 to 100 ms, all but 20 are cancelled at 60 ms.
    let observations: Vec<Observation> = (0..10_000)
        .map(|i| {
            let latency = (1 + i * 37 % 100) * 1_000_000;
            if latency > 60_000_000 && i % 200 > 0 {
                (60_000_000, Ended::Cancelled)
            } else {
                (latency, Ended::Answered)
            }
        })
        .collect();
    let snapshot = snapshot(FOREVER, &observations);
    assert!(matches!(snapshot.estimate(quantile(590_000)), Estimate::Estimable(_)));
    let Estimate::NotEstimable { above } = snapshot.estimate(p95()) else { panic!() };
    assert!((ms(59)..ms(61)).contains(&above), "{above}");
}

#[test]
fn primaries_in_flight_are_censored_at_their_age() {
    // 500 that are in flight for 70 ms are what 500 are that were cancelled just now.
    let answered = vec![(30_000_000, Ended::Answered); 500];
    let (mut hanging, mut cancelled) = (sketch(FOREVER, &answered), sketch(FOREVER, &answered));
    let (start, now) = (ms(1_000), ms(1_070));
    for _ in 0..500 {
        let _ = hanging.start(start);
        let primary = cancelled.start(start);
        cancelled.record(primary, now, End::Cancelled);
    }
    let answered = |sketch: &Sketch| sketch.snapshot(now).incidence(ms(40)).answered;
    assert_eq!(answered(&hanging), 0.5);
    assert_eq!(answered(&cancelled), 0.5);
    // Just after they started they were no news: they are at risk only as far as they have come.
    assert_eq!(hanging.snapshot(start).incidence(ms(40)).answered, 1.0);
}

#[test]
fn a_batch_in_flight_has_its_mean_age() {
    // Starts of 0, 1, ..., 99 ms, of which the odd ones end.
    let mut sketch = Sketch::new(FOREVER).unwrap();
    let primaries: Vec<_> = (0..100).map(|i| sketch.start(ms(i))).collect();
    for (i, primary) in primaries.into_iter().enumerate().filter(|(i, _)| i % 2 == 1) {
        sketch.record(primary, ms(i as u64), End::Failed);
    }
    // The 50 that run started at 49 ms on average.
    let at_risk = |by: u64| sketch.snapshot(ms(1_049)).incidence(ms(by)).at_risk.round();
    assert_eq!(at_risk(990), 50.0);
    assert_eq!(at_risk(1_010), 0.0);
}

#[test]
fn ten_half_lives_without_an_answer_is_stale() {
    // 2,000 primaries 10 ms apart: a half-life is 20 s.
    let mut sketch = Sketch::new(2_000).unwrap();
    let last = feed(&mut sketch, Time::ZERO, 5_000);
    let after = |secs| sketch.snapshot(last.saturating_add(Time::from_secs(secs))).estimate(p95());
    assert!(matches!(after(0), Estimate::Estimable(_)));
    assert!(matches!(after(198), Estimate::Estimable(_)));
    assert_eq!(after(202), Estimate::Stale);
    // One answer, and it is not.
    let now = last.saturating_add(Time::from_secs(300));
    feed(&mut sketch, now, 1);
    assert!(matches!(sketch.snapshot(now).estimate(p95()), Estimate::Estimable(_)));
}

#[test]
fn it_goes_stale_while_primaries_start_and_never_answer() {
    let mut sketch = Sketch::new(100).unwrap();
    let mut now = feed(&mut sketch, Time::ZERO, 5_000);
    for half_life in 0..12 {
        for _ in 0..100 {
            let primary = sketch.start(now);
            sketch.record(primary, now.saturating_add(ms(1)), End::Failed);
            now = now.saturating_add(ms(10));
        }
        let stale = sketch.snapshot(now).estimate(quantile(500_000)) == Estimate::Stale;
        assert_eq!(stale, half_life >= 10, "after {half_life}");
    }
}

#[test]
fn a_sketch_is_not_stale_for_having_started_late() {
    let mut sketch = Sketch::new(100).unwrap();
    for i in 0..900 {
        let now = ms(3_600_000 + 10 * i);
        let primary = sketch.start(now);
        sketch.record(primary, now, End::Failed);
        let estimate = sketch.snapshot(now).estimate(quantile(500_000));
        assert_eq!(matches!(estimate, Estimate::NotEstimable { .. }), i >= 59, "{i}: {estimate:?}");
    }
}

#[test]
fn shards_are_stale_when_all_are() {
    let mut sketch = Sketch::new(2_000).unwrap();
    let end = feed(&mut sketch, Time::ZERO, 5_000);
    let (fresh, stale) = (sketch.snapshot(end), sketch.snapshot(Time::from_secs(3_600)));
    assert_eq!(stale.estimate(p95()), Estimate::Stale);
    let (mut mixed, mut both) = (stale.clone(), stale.clone());
    mixed.merge(&fresh);
    both.merge(&stale);
    assert!(matches!(mixed.estimate(p95()), Estimate::Estimable(_)));
    assert_eq!(both.estimate(p95()), Estimate::Stale);
}
