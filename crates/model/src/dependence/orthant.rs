//! P(no attempt of a branch has answered) when its attempts share a factor: the integral over B.

use alloc::sync::Arc;
use core::f64::consts::{FRAC_1_SQRT_2, TAU};

use super::race::Race;
use super::{Dependence, Together};
use crate::numeric::nodes;
use crate::special::normal_hazard;

/// The shares of one branch given J, ready to be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Factors {
    /// Standard deviations: of B, of luck, and of both together, which is above 0.
    branch: f64,
    luck: f64,
    own: f64,
    /// For two attempts; `None` when they are nearly one.
    pair: Option<Pair>,
    /// For attempts that start together, and how many; `None` where they do not.
    race: Option<(usize, Race)>,
}

/// In place of an own share of 0, so that an attempt given J is a step of no width but nothing divides by 0.
const NO_WIDTH: f64 = 1e-150;

impl Factors {
    pub(super) fn new(shares: Dependence) -> Factors {
        let (branch, luck) = (shares.branch(), shares.luck());
        let own = branch + luck;
        Factors {
            branch: libm::sqrt(branch),
            luck: libm::sqrt(luck),
            own: libm::sqrt(own).max(NO_WIDTH),
            pair: Pair::new(if own > 0.0 { branch / own } else { 1.0 }),
            race: None,
        }
    }

    /// The same for attempts that start together, with a table.
    pub(super) fn racing(self, attempts: usize) -> Factors {
        if attempts == 1 || self.luck == 0.0 || self.branch == 0.0 {
            return self;
        }
        let values = |x: f64| [x * self.own; Together::MOST_COPIES + 1];
        let race = Race::new(&|x| self.hazard(&values(x)[..attempts]));
        Factors { race: race.map(|race| (attempts, race)), ..self }
    }

    pub(super) fn own(&self) -> f64 {
        self.own
    }

    /// Whether copies differ from their primary at all.
    pub(super) fn has_luck(&self) -> bool {
        self.luck > 0.0
    }

    /// Variance of the mean of that many attempts of one branch, given J.
    pub(super) fn variance_of_mean(&self, attempts: usize) -> f64 {
        self.branch * self.branch + self.luck * self.luck / attempts as f64
    }

    /// How much work [`Factors::hazard`] of so many values at so many places is, in normal tails.
    pub(super) fn work(&self, attempts: usize, places: usize) -> f64 {
        /// Nodes where the step of an attempt is as wide as the density of B.
        const NODES: f64 = 24.0;
        let m = attempts as f64;
        if attempts == 1 || self.luck == 0.0 || self.race.is_some() {
            return 1.0;
        }
        if self.branch == 0.0 {
            return places as f64;
        }
        match &self.pair {
            Some(pair) if attempts == 2 => 0.25 * pair.nodes.len() as f64,
            _ => {
                let slope = self.branch / self.luck;
                let squares = m * slope * slope;
                // A steep step is narrow.
                places as f64 * NODES * libm::sqrt(if squares > STEEP { m } else { 1.0 + squares })
            }
        }
    }

    /// `-ln P(open)`: an attempt has answered if its Z, less what J adds to it, is below its value.
    pub(super) fn hazard(&self, values: &[f64]) -> f64 {
        let mut first = f64::NEG_INFINITY;
        let mut place = 0;
        for (i, value) in values.iter().enumerate() {
            if *value > first {
                (place, first) = (i, *value);
            }
        }
        if first.is_infinite() {
            return if first > 0.0 { f64::INFINITY } else { 0.0 };
        }
        let alone = first / self.own;
        if values.len() == 1 || self.luck == 0.0 {
            return normal_hazard(alone);
        }
        if let Some((attempts, race)) = &self.race
            && *attempts == values.len()
            && values.iter().all(|value| *value == first)
            && let Some(hazard) = race.hazard(alone)
        {
            return hazard;
        }
        let counts = |value: f64| adds(value / self.own, alone);
        let others = || values.iter().enumerate().filter(|(i, value)| *i != place && counts(**value));
        if self.branch == 0.0 {
            return others()
                .map(|(_, value)| *value)
                .chain([first])
                .map(|v| normal_hazard(v / self.luck))
                .sum();
        }
        let mut rest = others();
        let Some((_, second)) = rest.next() else { return normal_hazard(alone) };
        if let (Some(pair), None) = (&self.pair, rest.next())
            && alone.abs() <= Pair::FARTHEST
            && second.abs() <= Pair::FARTHEST * self.own
        {
            return pair.hazard(alone, second / self.own);
        }
        Branch::new(self, first, others().map(|(_, value)| *value)).hazard(alone)
    }

    /// `-d/dt P(open)` over P's own scale: each attempt's density at its value times how fast that grows, if no other has
    /// answered.
    pub(super) fn density(&self, values: &[f64], slopes: &[f64]) -> f64 {
        let one = |i: usize| {
            let (value, slope) = (values[i], slopes[i]);
            if slope == 0.0 || value.is_infinite() {
                return 0.0;
            }
            let others = values.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, value)| *value);
            let open = if values.len() == 1 || self.luck == 0.0 {
                // Without luck only the first to answer counts.
                let later = others.clone().any(|other| other > value);
                let tied = values[..i].contains(&value);
                if later || tied { 0.0 } else { 1.0 }
            } else {
                Branch::new(self, value, others).open_at_answer(self)
            };
            slope * density(value / self.own) / self.own * open
        };
        let (mut sum, mut last) = (0.0, 0.0);
        for i in 0..values.len() {
            // Attempts that started together are alike.
            let alike = i > 0 && (values[i], slopes[i]) == (values[i - 1], slopes[i - 1]);
            last = if alike && self.luck > 0.0 { last } else { one(i) };
            sum += last;
        }
        sum
    }
}

/// Whether an attempt with this value, in own standard deviations, changes a digit of what one with a higher value does alone.
/// P(answered) is the higher one's and at most this one's more, and P(open) at most that share less.
fn adds(value: f64, higher: f64) -> bool {
    /// `Φ(-8.5)` is 1e-17.
    const NOTHING: f64 = -8.5;
    value > NOTHING || higher < -1.0 && value * value < 80.0 + higher * higher
}

/// Two attempts, by Plackett's identity (Biometrika 41, 1954): with r their correlation,
/// `P(X > x, Y > y) = Q(x) Q(y) + 1/2π ∫ e^(-(x² + y² - 2 x y sin θ) / 2 cos² θ) dθ` from 0 to `asin r`.
#[derive(Clone, Debug, PartialEq)]
struct Pair {
    /// `sin θ`, `1 / 2 cos² θ` and the weight of each node.
    nodes: Arc<[[f64; 3]]>,
}

impl Pair {
    /// Values up to which the nodes give relative precision.
    const FARTHEST: f64 = 9.0;

    fn new(r: f64) -> Option<Pair> {
        // As many panels as 1e-13 takes up to the farthest values.
        let panels = match r {
            r if r <= 0.5 => 1,
            r if r <= 0.75 => 2,
            r if r <= 0.93 => 3,
            _ => return None,
        };
        let width = libm::asin(r) / f64::from(panels);
        let panel = |i: i32| nodes(width * f64::from(i), width * f64::from(i + 1));
        let node = |(angle, weight): (f64, f64)| {
            let (sin, cos) = libm::sincos(angle);
            [sin, 0.5 / (cos * cos), weight / TAU]
        };
        Some(Pair { nodes: (0..panels).flat_map(panel).map(node).collect() })
    }

    /// `-ln P(X > x, Y > y)`, from the smaller side.
    fn hazard(&self, x: f64, y: f64) -> f64 {
        let (squares, twice) = (x * x + y * y, 2.0 * x * y);
        let common: f64 =
            self.nodes.iter().map(|[sin, c, w]| w * libm::exp((twice * sin - squares) * c)).sum();
        let (x_open, y_answered) = (upper(x), upper(-y));
        let answered = upper(-x) + (x_open * y_answered - common);
        if answered < 0.5 { -libm::log1p(-answered) } else { -libm::log(x_open * upper(y) + common) }
    }
}

/// One branch given J. Its integrals over b, the value of B, are of functions that are analytic everywhere, rise to one
/// peak and fall at least as fast as the normal density. A trapezoid sum of step h is then off by a share of
/// `e^(-2π² / h² (1 + m r²))` only, with m attempts whose tails are r times as steep as the density.
struct Branch {
    /// Where the first attempt has answered at b = 0 for average luck, in standard deviations of luck.
    first: f64,
    others: Others,
    /// r: how steep the step of an attempt is over b.
    slope: f64,
    /// `m r²`.
    squares: f64,
}

/// Where the other attempts have answered, likewise, those at the same place counted.
struct Others {
    of: [(f64, f64); Together::MOST_COPIES + 1],
    places: usize,
}

impl Others {
    fn places(&self) -> &[(f64, f64)] {
        &self.of[..self.places]
    }

    /// `Π P(open)` of values of a normal tail.
    fn product(&self, of: f64, tail: impl Fn(f64) -> f64) -> f64 {
        self.places().iter().fold(of, |open, (z, count)| open * power(tail(*z), *count))
    }
}

/// With this `m r²` or more the step is narrow in b.
const STEEP: f64 = 400.0;
/// Values of B beyond it do not count: the density is below the least float.
const FAR: f64 = 40.0;

impl Branch {
    fn new(factors: &Factors, first: f64, others: impl Iterator<Item = f64>) -> Branch {
        let (luck, slope) = (factors.luck, factors.branch / factors.luck);
        let mut counted = Others { of: [(0.0, 0.0); Together::MOST_COPIES + 1], places: 0 };
        let mut attempts = 1.0;
        for value in others {
            let (z, last) = (value / luck, counted.places.wrapping_sub(1));
            attempts += 1.0;
            match counted.of.get_mut(last) {
                Some((place, count)) if *place == z => *count += 1.0,
                _ => {
                    counted.of[counted.places] = (z, 1.0);
                    counted.places += 1;
                }
            }
        }
        Branch { first: first / luck, others: counted, slope, squares: attempts * slope * slope }
    }

    fn hazard(&self, alone: f64) -> f64 {
        let steep = self.squares > STEEP;
        let alone = normal_hazard(alone);
        let first_answered = -libm::expm1(-alone);
        if first_answered >= 0.5 && !steep {
            return -libm::log(self.open());
        }
        let gain = self.gain(steep);
        let answered = gain + first_answered;
        if answered < 0.5 {
            -libm::log1p(-answered)
        } else if steep {
            // Copies gain little here, so the difference keeps its digits.
            -libm::log((libm::exp(-alone) - gain).max(0.0))
        } else {
            -libm::log(self.open())
        }
    }

    /// `P(the branch is open)`.
    fn open(&self) -> f64 {
        self.sum(0.0, FAR, |b| {
            let by = self.slope * b;
            if let [(z, count)] = self.others.places()
                && *z == self.first
            {
                return power(upper(z - by), count + 1.0);
            }
            self.others.product(upper(self.first - by), |z| upper(z - by))
        })
    }

    /// `P(another attempt has answered and the first has not)`.
    fn gain(&self, steep: bool) -> f64 {
        let best = self.others.places().iter().fold(f64::NEG_INFINITY, |best, (z, _)| best.max(*z));
        // Between the steps, drawn to the density's peak.
        let middle = 0.5 * (self.first + best) / self.slope;
        let start = middle * (self.squares / (1.0 + self.squares));
        self.sum(start, if steep { FAR / self.slope } else { FAR }, |b| {
            let by = self.slope * b;
            let any = self.others.places().iter().fold(0.0, |any, (z, count)| {
                let answered = upper(by - z);
                let one = if *count > 1.0 { -libm::expm1(count * libm::log1p(-answered)) } else { answered };
                any + (1.0 - any) * one
            });
            any * upper(self.first - by)
        })
    }

    /// `P(no other attempt has answered, given that the first answers at its value)`.
    fn open_at_answer(&self, factors: &Factors) -> f64 {
        // B given the first's value is normal again.
        let part = factors.branch / factors.own;
        let mean = part * self.first * factors.luck / factors.own;
        let deviation = factors.luck / factors.own;
        self.sum(0.0, FAR, |b| {
            let by = self.slope * (mean + deviation * b);
            self.others.product(1.0, |z| upper(z - by))
        })
    }

    /// `∫ φ(b) f(b) db` from a start, up and down, to where nothing is left.
    fn sum(&self, start: f64, reach: f64, f: impl Fn(f64) -> f64) -> f64 {
        // The error is e^-36.
        let step = 0.74 / libm::sqrt(1.0 + self.squares);
        let start = start.clamp(-FAR, FAR);
        let most = (reach / step) as u32 + 1;
        let term = |b: f64| density(b) * f(b);
        let first = term(start);
        let mut sum = first;
        for direction in [step, -step] {
            let mut before = first;
            for i in 1..=most {
                let b = start + f64::from(i) * direction;
                let now = term(b);
                sum += now;
                if now < before && now < 1e-18 * sum || b.abs() > FAR {
                    break;
                }
                before = now;
            }
        }
        sum * step
    }
}

/// Density of the standard normal.
pub(super) fn density(z: f64) -> f64 {
    /// `1 / √2π`.
    const PEAK: f64 = 0.398_942_280_401_432_7;
    PEAK * libm::exp(-0.5 * z * z)
}

/// `x^count` for a whole number of attempts.
fn power(x: f64, count: f64) -> f64 {
    if count == 1.0 { x } else { (1..count as u32).fold(x, |product, _| product * x) }
}

/// Upper tail of the standard normal, to the precision of an integral.
fn upper(z: f64) -> f64 {
    0.5 * libm::erfc(z * FRAC_1_SQRT_2)
}
