//! Mean and variance of the k-th of n alike values, by the trapezoid rule over its own density.
//!
//! | symbol | meaning |
//! |---|---|
//! | h | hazard of one value, at which the k-th of n lies |
//! | c | hazard of the opposite event, `-ln(1 - e^-h)` |
//! | w | c for the later half of the values, h for the others: the smaller of the two |
//! | a, b | k and n - k + 1 for c, the other way round for h |
//!
//! The density of `x = ln w` is a multiple of `e^(x - a w) (1 - e^-w)^(b-1)`, whose mode is near `w = ln(1 + b/a)`. It is
//! analytic, and with `x = y - e^-3 (e^-y - 1)` from the mode its slower tail falls as fast as the other, so that the rule converges
//! geometrically: about 50 nodes have all digits (Takahasi and Mori, Publications of the RIMS 9, 1974).

use alloc::vec::Vec;

use crate::Law;
use crate::chebyshev::Panels;
use crate::moments::Moments;
use crate::numeric::{integrate, nodes};
use crate::special::complement;

/// Mean and variance of the k-th of n, for a law without kinks; `None` where the rule does not settle.
pub(crate) fn of_law(law: &Law, k: u64, n: u64) -> Option<Moments> {
    if is_smooth(law, k, n) { of_values(k, n, &|h| law.inverse_hazard(h)) } else { None }
}

/// A law's values by their hazards, and the mean of those below one, for many k and n.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    law: Law,
    /// `ln Q(h)` over `ln h`, with Q the quantile.
    ln_value: Panels,
    /// `∫ Q(x) e^-x dx` from 0 to h, over `ln h`.
    below: Panels,
    /// The k and the n asked for last, and their nodes.
    last: Option<(u64, u64, Vec<Node>)>,
}

impl Profile {
    /// Logarithms of hazards that are in it.
    const FROM: f64 = -50.0;
    const PANELS: usize = 112;
    const WIDTH: f64 = 0.5;

    /// `None` where values may be 0, or change too fast.
    pub(crate) fn new(law: &Law) -> Option<Profile> {
        const PRECISION: f64 = 1e-13;
        let ln_value = Panels::new(Profile::FROM, Profile::WIDTH, Profile::PANELS, &|u| {
            libm::log(law.inverse_hazard(libm::exp(u)))
        });
        let first = ln_value.at(Profile::FROM)?;
        if !ln_value.is_within(PRECISION) {
            return None;
        }
        let part = |u: f64| libm::exp(u - libm::exp(u)) * libm::exp(ln_value.at(u).unwrap_or(f64::NAN));
        let below = Panels::new(Profile::FROM, Profile::WIDTH, Profile::PANELS, &part);
        let most = below.integral(0.0).at(Profile::FROM + Profile::WIDTH * (Profile::PANELS as f64 - 0.5))?;
        if !below.is_within(PRECISION * most) {
            return None;
        }
        let below = below.integral(libm::exp(Profile::FROM + first));
        Some(Profile { law: law.clone(), ln_value, below, last: None })
    }

    fn value(&self, h: f64) -> f64 {
        self.ln_value.at(libm::log(h)).map_or_else(|| self.law.inverse_hazard(h), libm::exp)
    }

    /// [`settled`].
    fn nodes(&mut self, k: u64, n: u64) -> Option<&[Node]> {
        if self.last.as_ref().is_none_or(|(last_k, last_n, _)| (*last_k, *last_n) != (k, n)) {
            let nodes = if is_smooth(&self.law, k, n) { settled(k, n, &|h| self.value(h)) } else { None };
            self.last = Some((k, n, nodes?));
        }
        self.last.as_ref().map(|(.., nodes)| nodes.as_slice())
    }

    /// [`of_law`].
    pub(crate) fn moments(&mut self, k: u64, n: u64) -> Option<Moments> {
        moments(self.nodes(k, n)?)
    }

    /// [`sum_until`].
    pub(crate) fn sum_until(&mut self, k: u64, n: u64) -> Option<f64> {
        let (least, most) = ((k - 1) as f64, (n - k + 1) as f64);
        self.nodes(k, n)?;
        let (_, _, places) = self.last.as_ref()?;
        let (mut sum, mut weights) = (0.0, 0.0);
        for place in places {
            let below = self.below.at(libm::log(place.hazard))? / -libm::expm1(-place.hazard);
            sum += place.weight * (most * place.value + least * below);
            weights += place.weight;
        }
        Some(sum / weights)
    }
}

/// Whether the rule may settle.
fn is_smooth(law: &Law, k: u64, n: u64) -> bool {
    /// Orders of finite moments below which the slower tail would be too long.
    const LEAST_INDEX: f64 = 3.0;
    let mut kinks = Vec::new();
    law.kinks(&mut kinks);
    let start = law.inverse_hazard(0.0);
    law.tail_index() * ((n - k + 1) as f64) >= LEAST_INDEX && !kinks.iter().any(|kink| *kink > start)
}

/// Mean and variance of the k-th of n, given the value at a hazard; `None` likewise.
pub(crate) fn of_values(k: u64, n: u64, value: &dyn Fn(f64) -> f64) -> Option<Moments> {
    moments(&settled(k, n, value)?)
}

fn moments(nodes: &[Node]) -> Option<Moments> {
    let [weight, mean, _] = sums(nodes.iter());
    let off = |node: &Node| node.weight * (node.value - mean) * (node.value - mean);
    let variance = nodes.iter().map(off).sum::<f64>() / weight;
    variance.is_finite().then_some(Moments { mean, variance })
}

/// Mean of the sum of n values, each cut at the k-th; for a law as in [`of_law`].
///
/// Given the k-th, n - k + 1 values count as much as it does, and the k - 1 before it are any that are less.
pub(crate) fn sum_until(law: &Law, k: u64, n: u64) -> Option<f64> {
    if !is_smooth(law, k, n) {
        return None;
    }
    let value = |h: f64| law.inverse_hazard(h);
    let mut places = settled(k, n, &value)?;
    places.sort_unstable_by(|a, b| a.hazard.total_cmp(&b.hazard));
    let (least, most) = ((k - 1) as f64, (n - k + 1) as f64);
    let part = |h: f64| value(h) * libm::exp(-h);
    // The integral of the values below a node, from that before it: Lobatto's rule of five, where nodes are close.
    let between = |low: &Node, high: &Node| {
        if high.hazard - low.hazard > 0.3 * low.hazard.min(1.0) {
            return nodes(low.hazard, high.hazard).map(|(h, weight)| weight * part(h)).sum::<f64>();
        }
        let (centre, half) = (0.5 * (low.hazard + high.hazard), 0.5 * (high.hazard - low.hazard));
        let off = half * libm::sqrt(3.0 / 7.0);
        let ends = low.value * libm::exp(-low.hazard) + high.value * libm::exp(-high.hazard);
        half * (0.1 * ends
            + 49.0 / 90.0 * (part(centre - off) + part(centre + off))
            + 32.0 / 45.0 * part(centre))
    };
    let first = places.first()?;
    // Below the first, over the logarithm of the hazard; beside what follows it need not be finer.
    let precision = 1e-13 * (1.0 + most / least.max(1.0)) * first.value * -libm::expm1(-first.hazard);
    let [mut below] = integrate("busy", &[0.0, 1.0, 5.0, 40.0], [precision], &mut |x| {
        let h = first.hazard * libm::exp(-x);
        [h * part(h)]
    })
    .ok()?;
    let (mut sum, mut weights) = (0.0, 0.0);
    for (i, node) in places.iter().enumerate() {
        if i > 0 {
            below += between(&places[i - 1], node);
        }
        sum += node.weight * (most * node.value + least * below / -libm::expm1(-node.hazard));
        weights += node.weight;
    }
    Some(sum / weights)
}

/// Nodes at which the rule for the mean and the mean square of the k-th of n has settled; `None` where it does not.
fn settled(k: u64, n: u64, value: &dyn Fn(f64) -> f64) -> Option<Vec<Node>> {
    const HALVINGS: usize = 4;
    /// The next step's error is about the square of what halving the step changes.
    const SETTLED: f64 = 3e-7;
    let order = Order::new(k, n);
    let mut step = order.step();
    for _ in 0..HALVINGS {
        let nodes = order.nodes(step, value)?;
        let (all, half) = (sums(nodes.iter()), sums(nodes.iter().filter(|node| node.even)));
        let [_, first, second] = all;
        let error = (first - half[1]).abs() / libm::sqrt(second) + (second - half[2]).abs() / second;
        if error < SETTLED {
            return Some(nodes);
        }
        step /= 2.0;
    }
    None
}

/// The order statistic.
struct Order {
    a: f64,
    b: f64,
    /// Whether w is c.
    late: bool,
}

#[derive(Clone, Debug)]
struct Node {
    even: bool,
    weight: f64,
    hazard: f64,
    value: f64,
}

impl Order {
    fn new(k: u64, n: u64) -> Order {
        let (below, above) = (k as f64, (n - k + 1) as f64);
        let late = below >= above;
        let (a, b) = if late { (below, above) } else { (above, below) };
        Order { a, b, late }
    }

    /// A step at which the rule has all digits for smooth values: the density of x has a width of `1 / √b`.
    fn step(&self) -> f64 {
        core::f64::consts::TAU / (20.0 + 8.3 * libm::sqrt(self.b))
    }

    /// Nodes from the mode outwards, until they add nothing; `None` when that takes too many.
    fn nodes(&self, step: f64, value: &dyn Fn(f64) -> f64) -> Option<Vec<Node>> {
        const MOST: i32 = 4_000;
        const QUIET: usize = 2;
        const NEGLIGIBLE: f64 = 1e-18;
        /// `e^-3`.
        const BEND: f64 = 0.049_787_068_367_863_944;
        let mut nodes = Vec::with_capacity(80);
        let (mut weights, mut squares) = (0.0, 0.0);
        for (direction, ratio) in [(1, libm::exp(-step)), (-1, libm::exp(step))] {
            let (mut quiet, mut bend) = (0, BEND / ratio);
            for i in 0..=MOST {
                bend *= ratio;
                if i == 0 && direction < 0 {
                    continue;
                }
                let y = f64::from(direction * i) * step;
                let (weight, hazard) = self.at(y + (BEND - bend));
                let weight = weight * (1.0 + bend);
                let node = Node { even: i % 2 == 0, weight, hazard, value: value(hazard) };
                let square = node.weight * node.value * node.value;
                weights += node.weight;
                squares += square;
                let negligible = node.weight <= NEGLIGIBLE * weights && square <= NEGLIGIBLE * squares;
                quiet = if node.weight == 0.0 || negligible { quiet + 1 } else { 0 };
                if node.weight > 0.0 {
                    nodes.push(node);
                }
                if quiet > QUIET {
                    break;
                }
                if i == MOST {
                    return None;
                }
            }
        }
        Some(nodes)
    }

    /// Density at `d` from the mode, relative to that there, and the hazard of one value.
    fn at(&self, d: f64) -> (f64, f64) {
        let Order { a, b, late } = *self;
        let mode = libm::log1p(b / a);
        let w = mode * libm::exp(d);
        let opposite = complement(w);
        let mut ln = d;
        if b == 1.0 {
            ln -= a * (w - mode);
        } else {
            let more = mode * libm::expm1(d);
            ln -= a * more;
            // The logarithm of (1 - e^-w) over that at the mode; near it without cancellation.
            let near = d > -1.0;
            let change =
                if near { libm::log1p(a / b * -libm::expm1(-more)) } else { libm::log1p(a / b) - opposite };
            ln += (b - 1.0) * change;
        }
        (libm::exp(ln), if late { opposite } else { w })
    }
}

/// Weight, mean and mean square.
fn sums<'a>(nodes: impl Iterator<Item = &'a Node>) -> [f64; 3] {
    let [weight, first, second] = nodes.fold([0.0; 3], |[w, m, s], node| {
        let term = node.weight * node.value;
        [w + node.weight, m + term, s + term * node.value]
    });
    [weight, first / weight, second / weight]
}
