//! The convolution itself: trials one after the other, and the law of how many of their events have occurred.
//!
//! | symbol | meaning |
//! |---|---|
//! | p, q | of one trial, the probabilities of its event and of the opposite |
//! | E | how many events occur |
//! | m | the count that is asked about; what reaches it needs no further telling apart |
//! | K(θ) | `Σ ln(q + p e^θ)` |
//!
//! A short walk keeps every count below m. A long one keeps a window of counts: a count whose probability is below
//! [`NEGLIGIBLE`] is cut off, which loses no more than that each time, and there are at most 2n cuts. That is nothing beside a
//! tail above [`SMALL`]. For a smaller one the trials are tilted until their mean is m (Cramér), with odds `p/q e^θ`, and
//! `P(E = x) = e^(K(θ) - θx) P_θ(E = x)`: under the tilted law the tail is no longer small.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::special::{barrier_hazard, probability_mass};

/// Like trials, by the hazards `-ln p` and `-ln q` of one of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    pub(super) count: u64,
    pub(super) event: f64,
    pub(super) other: f64,
    /// Of one of them, 0 or more; only [`weighted`] uses it.
    pub(super) weight: f64,
}

/// Counts that are all kept.
pub(super) const SHORT: u64 = 256;
/// Probability of a count that is cut off.
const NEGLIGIBLE: f64 = 1e-40;
/// Tails below it are found by tilting.
const SMALL: f64 = 1e-15;

/// Terms that a walk takes at most for `count` like trials among n, when `counts` are asked about.
pub(super) fn terms(count: u64, n: u64, counts: u64) -> f64 {
    /// Standard deviations of a count at which it is negligible, both sides together.
    const WIDTH: f64 = 28.0;
    let window = |n: u64| (counts as f64).min((0.5 * WIDTH * libm::sqrt(n as f64)).max(SHORT as f64));
    if count == 1 { window(n) } else { window(n) * window(count).min(count as f64) }
}

/// `P(E < m)` and `P(E >= m)`, each with relative precision, for m above 0.
pub(super) fn split(trials: &[Trial], m: u64) -> (f64, f64) {
    // What is certain need not be walked, and cannot be tilted.
    let count = |of: fn(&Trial) -> bool| {
        trials.iter().filter(|trial| of(trial)).map(|trial| trial.count).sum::<u64>()
    };
    let certain = count(|trial| trial.event == 0.0);
    if certain >= m {
        return (0.0, 1.0);
    }
    let is_open = |trial: &Trial| trial.event > 0.0 && trial.other > 0.0;
    let open: Vec<Trial> = trials.iter().filter(|trial| is_open(trial)).copied().collect();
    let (n, m) = (count(is_open), m - certain);
    match *open {
        _ if m > n => (1.0, 0.0),
        [Trial { other, .. }] => {
            let hazard = barrier_hazard(other, m, n);
            (libm::exp(-hazard), -libm::expm1(-hazard))
        }
        _ => split_open(&open, n, m),
    }
}

/// Likewise for n trials of which none is certain, `0 < m <= n`.
fn split_open(trials: &[Trial], n: u64, m: u64) -> (f64, f64) {
    let mut walk = Walk::new(m);
    for trial in trials {
        walk.take(trial);
    }
    let fewer: f64 = walk.masses[walk.window.clone()].iter().sum();
    let reached = walk.reached;
    if m <= SHORT || fewer.min(reached) > SMALL {
        return if fewer < reached { (fewer, 1.0 - fewer) } else { (1.0 - reached, reached) };
    }
    let small = tilted(trials, n, m, reached < fewer);
    if reached < fewer { (1.0 - small, small) } else { (small, 1.0 - small) }
}

/// Over all trials i, the sums of their weight times `P(E without i = m - 1)`, `P(E without i < m)` and
/// `P(E without i >= m)`. Not tilted: what is below [`NEGLIGIBLE`] may be lost when m is above [`SHORT`].
pub(super) fn weighted(trials: &[Trial], m: u64) -> (f64, f64, f64) {
    let mut walk = Walk::new(m);
    walk.weighted = Some(Weighted { sums: vec![0.0; m as usize], reached: 0.0, total: 0.0 });
    for trial in trials {
        walk.take(trial);
    }
    let Some(Weighted { sums, reached, .. }) = walk.weighted else { return (0.0, 0.0, 0.0) };
    (sums[m as usize - 1], sums.iter().sum(), reached)
}

/// `P(E = x)` for x from 0 to `most`, or to as many as there are.
pub(super) fn masses(trials: &[Trial], most: u64) -> Vec<f64> {
    let mut walk = Walk { negligible: 0.0, ..Walk::new(most + 1) };
    for trial in trials {
        walk.take(trial);
    }
    walk.masses.truncate(walk.window.end);
    walk.masses
}

/// The smaller tail, `P(E >= m)` if `upper` and else `P(E < m)`, from the tilted trials.
fn tilted(trials: &[Trial], n: u64, m: u64, upper: bool) -> f64 {
    let theta = tilt(trials, n, m);
    let tilted = |trial: &Trial| Trial {
        event: softplus(trial.event - trial.other - theta),
        other: softplus(trial.other - trial.event + theta),
        ..*trial
    };
    // A window of the tilted law lies around m and ends before the last count.
    let mut walk = Walk { negligible: NEGLIGIBLE, ..Walk::new(n + 1) };
    let (mut k, mut lost) = (0.0, 0.0);
    for trial in trials {
        let tilted = tilted(trial);
        walk.take(&tilted);
        // ln (q + p e^θ) = ln q - ln q_θ; like terms would round the same way each time, so what is lost is kept (Kahan).
        let term = trial.count as f64 * (tilted.other - trial.other) - lost;
        let sum = k + term;
        lost = (sum - k) - term;
        k = sum;
    }
    let from_m = |x: usize| x as f64 - m as f64;
    let counts = walk.window.clone().filter(|x| (*x as u64 >= m) == upper);
    let tail: f64 = counts.map(|x| walk.masses[x] * libm::exp(-theta * from_m(x))).sum();
    libm::exp(k - theta * m as f64) * tail
}

/// θ at which the mean of E is about m: Newton on the log odds of the mean's share of n, which are nearly straight in θ.
fn tilt(trials: &[Trial], n: u64, m: u64) -> f64 {
    const STEPS: usize = 60;
    let wanted = libm::log(m as f64) - libm::log((n - m).max(1) as f64);
    let mut theta = 0.0;
    for _ in 0..STEPS {
        let [mean, rest, variance] = trials.iter().fold([0.0; 3], |[mean, rest, variance], trial| {
            let odds = trial.other - trial.event + theta;
            let (p, q) = (libm::exp(-softplus(-odds)), libm::exp(-softplus(odds)));
            let count = trial.count as f64;
            [mean + count * p, rest + count * q, variance + count * p * q]
        });
        let step = (wanted - libm::log(mean) + libm::log(rest)) * mean * rest / (variance * n as f64);
        if !step.is_finite() {
            break;
        }
        theta += step;
        if step * step * variance < 0.01 {
            break;
        }
    }
    theta
}

/// `ln (1 + e^x)`.
fn softplus(x: f64) -> f64 {
    if x > 40.0 { x } else { libm::log1p(libm::exp(x)) }
}

/// Probabilities of the counts so far.
struct Walk {
    /// By count, for those below m.
    masses: Vec<f64>,
    /// The counts that are kept; the others have mass 0.
    window: Range<usize>,
    /// P(m or more).
    reached: f64,
    negligible: f64,
    weighted: Option<Weighted>,
}

/// The sums over trials of [`weighted`], by the count without that trial.
struct Weighted {
    sums: Vec<f64>,
    reached: f64,
    /// Of the weights so far.
    total: f64,
}

impl Walk {
    fn new(m: u64) -> Walk {
        let mut masses = vec![0.0; m as usize];
        masses[0] = 1.0;
        let negligible = if m > SHORT { NEGLIGIBLE } else { 0.0 };
        Walk { masses, window: 0..1, reached: 0.0, negligible, weighted: None }
    }

    fn take(&mut self, trial: &Trial) {
        if trial.count == 1 {
            self.take_one(libm::exp(-trial.event), libm::exp(-trial.other), trial.weight);
        } else {
            self.take_many(trial);
        }
        self.cut();
    }

    fn take_one(&mut self, p: f64, q: f64, weight: f64) {
        let m = self.masses.len();
        let Range { start, end } = self.window;
        let (from, to) = (start, (end + 1).min(m));
        let last = if end == m { self.masses[m - 1] } else { 0.0 };
        if let Some(Weighted { sums, reached, total }) = &mut self.weighted {
            let last = if end == m { sums[m - 1] } else { 0.0 };
            *reached += last * p + weight * self.reached;
            step(&mut sums[from..to], p, q);
            for (sum, mass) in sums[from..to].iter_mut().zip(&self.masses[from..to]) {
                *sum += weight * mass;
            }
            *total += weight;
        }
        self.reached += last * p;
        step(&mut self.masses[from..to], p, q);
        self.window.end = to;
    }

    fn take_many(&mut self, trial: &Trial) {
        let m = self.masses.len();
        let own = Binomial::new(trial, trial.count, m);
        let to = (self.window.end - 1 + own.window.end).min(m);
        if let Some(Weighted { sums, reached, total }) = &mut self.weighted {
            let weight = trial.weight * trial.count as f64;
            let others = Binomial::new(trial, trial.count - 1, m);
            let (kept, beyond) = own.product(sums, &self.window, to);
            let (added, beyond_added) = others.product(&self.masses, &self.window, to);
            *reached += beyond + weight * (self.reached + beyond_added);
            *sums = kept.iter().zip(&added).map(|(kept, added)| kept + weight * added).collect();
            sums.resize(m, 0.0);
            *total += weight;
        }
        let (mut masses, beyond) = own.product(&self.masses, &self.window, to);
        masses.resize(m, 0.0);
        self.masses = masses;
        self.reached += beyond;
        // A weighted count may be one lower, for the trial that is left out.
        let lower = own.window.start.saturating_sub(usize::from(self.weighted.is_some()));
        self.window = (self.window.start + lower).min(to - 1)..to;
    }

    /// Narrows the window.
    fn cut(&mut self) {
        let least = self.negligible;
        let counts = |walk: &Walk, x: usize| {
            let weighted = walk.weighted.as_ref().is_some_and(|w| w.sums[x] > least * w.total);
            walk.masses[x] > least || weighted
        };
        while self.window.len() > 1 && !counts(self, self.window.start) {
            self.drop_mass(self.window.start);
            self.window.start += 1;
        }
        while self.window.len() > 1 && !counts(self, self.window.end - 1) {
            self.window.end -= 1;
            self.drop_mass(self.window.end);
        }
    }

    fn drop_mass(&mut self, x: usize) {
        self.masses[x] = 0.0;
        if let Some(weighted) = &mut self.weighted {
            weighted.sums[x] = 0.0;
        }
    }
}

/// One more trial, over a window that has room for it.
fn step(masses: &mut [f64], p: f64, q: f64) {
    let mut before = 0.0;
    for mass in masses {
        let now = *mass;
        *mass = now * q + before * p;
        before = now;
    }
}

/// The law of like trials.
struct Binomial {
    /// Counts with their masses; those outside, but below m, are negligible beside the largest.
    window: Range<usize>,
    masses: Vec<f64>,
    /// `P(at least the count)` for the counts of the window, and for its end.
    tails: Vec<f64>,
}

impl Binomial {
    /// By the ratios of neighbours, from the most likely count below m.
    fn new(trial: &Trial, n: u64, m: usize) -> Binomial {
        /// Beside the largest mass.
        const NOTHING: f64 = 1e-320;
        let (p, q) = (libm::exp(-trial.event), libm::exp(-trial.other));
        let top = (((n + 1) as f64 * p) as u64).min(n).min(m as u64 - 1);
        // The hazard of the event's opposite is that of "has answered" in the binomial of answers.
        let at_top = probability_mass(top, n, trial.other);
        let up = |x: u64| (n - x) as f64 / (x + 1) as f64 * (p / q);
        let mut lower = Vec::new();
        let (mut mass, mut x) = (at_top, top);
        while x > 0 && mass > NOTHING {
            mass /= up(x - 1);
            x -= 1;
            lower.push(mass);
        }
        let start = x as usize;
        let mut masses: Vec<f64> = lower.into_iter().rev().chain([at_top]).collect();
        let (mut mass, mut x) = (at_top, top);
        while x < n.min(m as u64 - 1) && mass > NOTHING {
            mass *= up(x);
            x += 1;
            masses.push(mass);
        }
        let beyond = -libm::expm1(-barrier_hazard(trial.other, m as u64, n));
        let mut tails = vec![beyond; masses.len() + 1];
        for i in (0..masses.len()).rev() {
            tails[i] = tails[i + 1] + masses[i];
        }
        Binomial { window: start..start + masses.len(), masses, tails }
    }

    /// The masses of the sum with another law, below `to`; and the probability of m or more, m being the length of `other`.
    fn product(&self, other: &[f64], window: &Range<usize>, to: usize) -> (Vec<f64>, f64) {
        let m = other.len();
        let mut sum = vec![0.0; to];
        let mut beyond = 0.0;
        for i in window.clone() {
            let mass = other[i];
            let from = i + self.window.start;
            if from < to {
                for (slot, own) in sum[from..].iter_mut().zip(&self.masses) {
                    *slot += mass * own;
                }
            }
            beyond += mass * self.tail((m - i) as u64);
        }
        (sum, beyond)
    }

    /// `P(at least x)`.
    fn tail(&self, x: u64) -> f64 {
        let x = (x as usize).clamp(self.window.start, self.window.end);
        self.tails[x - self.window.start]
    }
}
