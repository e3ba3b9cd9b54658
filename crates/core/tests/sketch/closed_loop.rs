//! The loop closed: primaries that are hedged at the sketch's own p95, with losers cancelled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fantail_core::{End, Estimate, LiveDelay, LiveDelaySpec, Primary, Sketch, Snapshot, Time};

use crate::support::{Draws, nanos, p95};

/// 40,000 primaries, 5 ms apart, of latencies that are about 100 ms.
const PRIMARIES: usize = 40_000;
const APART: Time = Time::from_millis(5);
const CAP: Time = Time::from_secs(1);

struct Loop {
    sketch: Sketch,
    delay: LiveDelay,
    now: Time,
    /// End and number of those in flight.
    queue: BinaryHeap<Reverse<(Time, usize)>>,
    running: Vec<Option<(Primary, End)>>,
    copies: usize,
}

impl Loop {
    fn new() -> Loop {
        let spec = LiveDelaySpec { cap: CAP, ..LiveDelaySpec::new(p95()) };
        Loop {
            sketch: Sketch::new(Sketch::HALF_LIFE).unwrap(),
            delay: LiveDelay::new(spec).unwrap(),
            now: Time::ZERO,
            queue: BinaryHeap::new(),
            running: Vec::new(),
            copies: 0,
        }
    }

    /// One more primary; its copy, if one is due and `may` start, takes `copy`. Refreshed every 50 primaries.
    fn step(&mut self, primary: Time, copy: Time, may: bool) -> Option<Snapshot> {
        let start = self.now;
        let answer = start.saturating_add(primary);
        let due = self.delay.delay().map_or(Time::MAX, |delay| start.saturating_add(delay));
        let hedged = may && due < answer;
        self.copies += usize::from(hedged);
        let copy = if hedged { due.saturating_add(copy) } else { Time::MAX };
        let end = if answer <= copy { End::Answered } else { End::Cancelled };
        self.queue.push(Reverse((answer.min(copy), self.running.len())));
        self.running.push(Some((self.sketch.start(start), end)));
        self.now = start.saturating_add(APART);
        while let Some(&Reverse((at, number))) = self.queue.peek().filter(|next| next.0.0 <= self.now) {
            self.queue.pop();
            let (primary, end) = self.running[number].take().unwrap();
            self.sketch.record(primary, at, end);
        }
        let due = self.running.len().is_multiple_of(50);
        due.then(|| {
            let snapshot = self.sketch.snapshot(self.now);
            self.delay.refresh(&snapshot);
            snapshot
        })
    }
}

/// Looks at the p95 of ten runs each five half-lives, when it knows nothing any more of what it was. `slope` is how
/// steep the law is at its p95, `t f(t)`: the standard error of the share below, over it, is that of the quantile.
fn check(draw: impl Fn(&mut Draws) -> f64, truth: f64, slope: f64) {
    let mut errors = Vec::new();
    for seed in 1..=10 {
        let mut draws = Draws::new(seed);
        let mut it = Loop::new();
        for i in 1..=PRIMARIES {
            let (primary, copy) = (nanos(draw(&mut draws)), nanos(draw(&mut draws)));
            let snapshot = it.step(Time::from_nanos(primary), Time::from_nanos(copy), true);
            assert!(it.delay.delay().is_none_or(|delay| delay <= CAP));
            let Some(snapshot) = snapshot.filter(|_| i % 10_000 == 0) else { continue };
            let Estimate::Estimable(got) = it.delay.estimate() else {
                panic!("seed {seed}: {:?} after {i}", it.delay.estimate())
            };
            let off = got.as_nanos() as f64 / (1e8 * truth) - 1.0;
            let error = (0.95 * 0.05 / snapshot.effective()).sqrt() / slope;
            assert!(off.abs() <= (3.0 * error).max(0.05), "seed {seed}: off by {off} after {i}, {error}");
            errors.push(off / error);
        }
        let share = it.copies as f64 / PRIMARIES as f64;
        assert!((0.043..0.057).contains(&share), "seed {seed}: {share} copies");
    }
    // No bias, and the effective number is what the spread says it is: 40 errors of mean 0 and variance 1, to four
    // standard errors.
    let n = errors.len() as f64;
    let mean = errors.iter().sum::<f64>() / n;
    let variance = errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / (n - 1.0);
    assert_eq!(n, 40.0);
    assert!(mean.abs() < 4.0 / n.sqrt(), "{mean}");
    assert!((variance - 1.0).abs() < 4.0 * (2.0 / n).sqrt(), "{variance}");
}

#[test]
fn of_exponential_latencies_the_p95_stays_true() {
    check(Draws::exponential, 20_f64.ln(), 0.05 * 20_f64.ln());
}

#[test]
fn of_log_normal_latencies_the_p95_stays_true() {
    // z = Φ⁻¹(0.95), and its density.
    let (z, density) = (1.644_853_626_951_472_7_f64, 0.103_135_640_376_134_5);
    check(|draws| draws.normal().exp(), z.exp(), density);
}

#[test]
fn when_a_tenth_hang_the_p95_is_soon_not_estimable() {
    // Copies are capped to 5 %, as a budget does, so that most of what hangs stays in flight; or they are not.
    for (seed, capped) in [(1, true), (2, false), (3, true), (4, false)] {
        let mut draws = Draws::new(seed);
        let mut it = Loop::new();
        let mut noticed = None;
        let half_life = Sketch::HALF_LIFE as usize;
        for i in 0..30 * half_life {
            let hangs = i >= 10 * half_life && draws.uniform() < 0.1;
            let primary = if hangs { Time::MAX } else { Time::from_nanos(nanos(draws.exponential())) };
            let may = !capped || it.copies as f64 <= 0.05 * i as f64 + 20.0;
            it.step(primary, Time::from_nanos(nanos(draws.exponential())), may);
            assert!(it.delay.delay().is_none_or(|delay| delay <= CAP));
            if matches!(it.delay.estimate(), Estimate::NotEstimable { .. }) && i > 10 * half_life {
                noticed.get_or_insert(i - 10 * half_life);
            }
            if i > 12 * half_life {
                assert!(!matches!(it.delay.estimate(), Estimate::Estimable(_)), "seed {seed}: {i}");
            }
        }
        let noticed = noticed.expect("it is noticed") as f64 / half_life as f64;
        assert!(noticed <= 1.2, "seed {seed}: noticed after {noticed} half-lives");
    }
}
