//! The decay clock: exact in halves, bounded for ever.

use fantail_core::{End, Sketch, Snapshot, Time};

use crate::support::{Ended, close, sketch};

/// The share that answered within (from, to] ms, of uncensored primaries.
fn share(snapshot: &Snapshot, from: u64, to: u64) -> f64 {
    let by = |ms| snapshot.incidence(Time::from_millis(ms)).answered;
    by(to) - by(from)
}

#[test]
fn a_primary_weighs_half_of_one_that_started_a_half_life_later() {
    for half_life in [32, 63, 2_000, 2_001, 9_999] {
        for first in [0, 1, 17, 31, half_life / 2, half_life - 1] {
            for half_lives in 1..5 {
                let second = first + half_lives * half_life;
                let observations: Vec<_> = (0..=second + 100)
                    .map(|i| match i {
                        i if i == first => 1_000_000,
                        i if i == second => 2_000_000,
                        _ => 3_000_000,
                    })
                    .map(|age| (age, Ended::Answered))
                    .collect();
                let snapshot = sketch(half_life, &observations).snapshot(Time::ZERO);
                let ratio = share(&snapshot, 1, 2) / share(&snapshot, 0, 1);
                close(ratio, f64::from(1 << half_lives), 1e-5);
            }
        }
    }
}

#[test]
fn weights_lie_on_a_line_from_a_half_to_one() {
    // 32 batches of 100. The newest batch is the first of its half-life, so that weights are exact.
    let half_life = 3_200;
    for batch in 0..=32 {
        let observations: Vec<_> = (0..=half_life)
            .map(|i| (if i / 100 == batch { 1_000_000 } else { 3_000_000 }, Ended::Answered))
            .collect();
        let snapshot = sketch(half_life, &observations).snapshot(Time::ZERO);
        let count = if batch == 32 { 1.0 } else { 100.0 };
        // Of a batch: (32 + batch) / 64; of all: 100 · (32 + ... + 63) / 64 and the newest primary.
        let total = 100.0 * 47.5 * 32.0 / 64.0 + 1.0;
        close(share(&snapshot, 0, 1), count * f64::from(32 + batch) / 64.0 / total, 1e-12);
    }
}

#[test]
fn a_half_life_that_is_no_multiple_of_32_has_batches_of_nearly_the_same_size() {
    for half_life in [63, 95, 127, 2_001] {
        let three_quarters = half_life * 3 / 4;
        let observations: Vec<_> = (0..half_life)
            .map(|i| (if i < three_quarters { 1_000_000 } else { 3_000_000 }, Ended::Answered))
            .collect();
        let snapshot = sketch(half_life, &observations).snapshot(Time::ZERO);
        // On the line from 1/2 to 1: (3/4 + (3/4)² / 2) / (3/2).
        let older = share(&snapshot, 0, 1);
        assert!((older - 0.6875).abs() < 0.01, "{half_life}: {older}");
    }
}

#[test]
fn the_effective_number_tends_to_nearly_three_half_lives() {
    let mut sketch = Sketch::new(2_000).unwrap();
    for i in 1..=100_000 {
        let primary = sketch.start(Time::ZERO);
        sketch.record(primary, Time::from_millis(1), End::Answered);
        let effective = sketch.snapshot(Time::ZERO).effective();
        match i {
            // The first batch weighs the same.
            ..=62 => close(effective, f64::from(i), 1e-9),
            63..=2_000 => assert!((0.96..1.0).contains(&(effective / f64::from(i))), "{effective} of {i}"),
            20_000.. => assert!((5_700.0..5_850.0).contains(&effective), "{effective} of {i}"),
            _ => {}
        }
    }
}

#[test]
fn millions_of_half_lives_change_nothing() {
    // 2^22 half-lives of 32: the weights were taken back two million times.
    let mut sketch = Sketch::new(32).unwrap();
    let mut at = |n: u64| {
        for i in 0..n {
            let primary = sketch.start(Time::from_millis(i));
            let age = Time::from_millis(1 + i % 7);
            sketch.record(primary, Time::from_millis(i).saturating_add(age), End::Answered);
        }
        sketch.snapshot(Time::ZERO)
    };
    let (early, late) = (at(32 * 7 * 40), at(32 * 7 * 40 * 400));
    for ms in 1..8 {
        let by = |snapshot: &Snapshot| snapshot.incidence(Time::from_millis(ms)).answered;
        close(by(&late), by(&early), 1e-6);
    }
    close(late.effective(), early.effective(), 1e-4);
}

#[test]
fn hung_primaries_fade_like_any_other() {
    // A thousand of them are in flight for good.
    let mut sketch = Sketch::new(100).unwrap();
    let hung: Vec<_> = (0..1_000).map(|i| sketch.start(Time::from_millis(i))).collect();
    for i in 1_000..3_000 {
        let now = Time::from_millis(i);
        let primary = sketch.start(now);
        sketch.record(primary, now.saturating_add(Time::from_millis(5)), End::Answered);
    }
    let incidence = sketch.snapshot(Time::from_secs(3)).incidence(Time::from_secs(1));
    assert_eq!(incidence.failed, 0.0);
    assert!(incidence.answered > 1.0 - 1e-5 && incidence.answered < 1.0, "{incidence:?}");
    // They have left the ring; that they end changes nothing any more.
    let before = sketch.snapshot(Time::from_secs(3));
    for primary in hung {
        sketch.record(primary, Time::from_secs(3), End::Failed);
    }
    assert_eq!(sketch.snapshot(Time::from_secs(3)), before);
}
