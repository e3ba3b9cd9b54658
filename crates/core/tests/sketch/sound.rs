//! What holds of a snapshot, whatever its sketch was told.

use fantail_core::{End, Estimate, Incidence, Primary, Quantile, Sketch, Snapshot, Time};

/// What happens to one of two sketches. Numbers pick, modulo how many there are, among the primaries of both.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// So many primaries start.
    Start(u8),
    /// One ends.
    End(usize, End),
    /// One that started ends in the other sketch.
    Stray(usize, End),
    /// It is another time, whichever.
    Now(Time),
    /// So much time passes.
    Pass(Time),
}

/// Tells two sketches what happens to each, and checks what they know in the end, apart and together.
pub(crate) fn play(half_lives: [u32; 2], ops: &[(bool, Op)]) {
    let mut sketches = half_lives.map(|half_life| Sketch::new(half_life).expect("it is in bounds"));
    let mut running: Vec<(usize, Primary)> = Vec::new();
    let mut now = Time::ZERO;
    for (second, op) in ops {
        let which = usize::from(*second);
        let mut end = |number: usize, end: End, stray: usize| {
            if !running.is_empty() {
                let (own, primary) = running.swap_remove(number % running.len());
                sketches[own ^ stray].record(primary, now, end);
            }
        };
        match *op {
            Op::Start(n) => {
                let primaries = (0..n).map(|_| (which, sketches[which].start(now)));
                running.extend(primaries);
            }
            Op::End(number, how) => end(number, how, 0),
            Op::Stray(number, how) => end(number, how, 1),
            Op::Now(at) => now = at,
            Op::Pass(by) => now = now.saturating_add(by),
        }
    }
    let [one, other] = sketches.map(|sketch| sketch.snapshot(now));
    let together = |first: &Snapshot, second: &Snapshot| {
        let mut sum = Snapshot::default();
        sum.merge(first);
        sum.merge(second);
        sum
    };
    let sum = together(&one, &other);
    assert_eq!(sum, together(&other, &one));
    assert_eq!(sum.started(), one.started() + other.started());
    for snapshot in [one, other, sum] {
        incidence_is_sound(&snapshot);
        estimates_are_sound(&snapshot);
    }
}

/// Shares are shares, and grow with age as those at risk get fewer.
fn incidence_is_sound(snapshot: &Snapshot) {
    let effective = snapshot.effective();
    assert!(effective >= 0.0 && effective.is_finite(), "{effective}");
    let mut before = Incidence { answered: 0.0, failed: 0.0, at_risk: effective };
    for by in (0..64).map(|bits| Time::from_nanos(1 << bits)).chain([Time::MAX]) {
        let Incidence { answered, failed, at_risk } = snapshot.incidence(by);
        let grows = before.answered <= answered && before.failed <= failed && answered + failed <= 1.0 + 1e-9;
        let shrinks = (0.0..=before.at_risk).contains(&at_risk);
        assert!(grows && shrinks, "{before:?}, then {answered} and {failed} by {by} of {at_risk}");
        before = Incidence { answered, failed, at_risk };
    }
}

/// A higher quantile is no shorter, and not known where a lower one is not.
fn estimates_are_sound(snapshot: &Snapshot) {
    let levels = [1, 100_000, 500_000, 900_000, 950_000, 990_000, 999_000, 999_999];
    let mut before = Estimate::Estimable(Time::ZERO);
    for level in levels {
        let estimate = snapshot.estimate(Quantile::from_ppm(level).expect("it is a level"));
        let sound = match (before, estimate) {
            (Estimate::Estimable(lower), Estimate::Estimable(time)) => lower <= time,
            (Estimate::NotEstimable { above: lower }, Estimate::NotEstimable { above }) => lower <= above,
            (Estimate::Estimable(_), Estimate::NotEstimable { .. })
            | (Estimate::Stale, Estimate::Stale)
            | (_, Estimate::Warming) => true,
            (Estimate::Estimable(lower), Estimate::Stale) => lower == Time::ZERO,
            _ => false,
        };
        assert!(sound, "{before:?}, then {estimate:?} at {level}");
        before = estimate;
    }
}
