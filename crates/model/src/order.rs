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
use crate::moments::Moments;
use crate::special::complement;

/// Mean and variance of the k-th of n, for a law without kinks; `None` where the rule does not settle.
pub(crate) fn of_law(law: &Law, k: u64, n: u64) -> Option<Moments> {
    /// Orders of finite moments below which the slower tail would be too long.
    const LEAST_INDEX: f64 = 3.0;
    let mut kinks = Vec::new();
    law.kinks(&mut kinks);
    let start = law.inverse_hazard(0.0);
    if law.tail_index() * ((n - k + 1) as f64) < LEAST_INDEX || kinks.iter().any(|kink| *kink > start) {
        return None;
    }
    of_values(k, n, |h| law.inverse_hazard(h))
}

/// Mean and variance of the k-th of n, given the value at a hazard; `None` likewise.
pub(crate) fn of_values(k: u64, n: u64, value: impl Fn(f64) -> f64) -> Option<Moments> {
    const HALVINGS: usize = 4;
    /// The next step's error is about the square of what halving the step changes.
    const SETTLED: f64 = 3e-7;
    let order = Order::new(k, n);
    let mut step = order.step();
    for _ in 0..HALVINGS {
        let nodes = order.nodes(step, &value)?;
        let (all, half) = (sums(nodes.iter()), sums(nodes.iter().filter(|node| node.even)));
        let [_, first, second] = all;
        let error = (first - half[1]).abs() / libm::sqrt(second) + (second - half[2]).abs() / second;
        if error < SETTLED {
            let off = |node: &Node| node.weight * (node.value - first) * (node.value - first);
            let variance = nodes.iter().map(off).sum::<f64>() / all[0];
            return variance.is_finite().then_some(Moments { mean: first, variance });
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

struct Node {
    even: bool,
    weight: f64,
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
    fn nodes(&self, step: f64, value: impl Fn(f64) -> f64) -> Option<Vec<Node>> {
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
                let node = Node { even: i % 2 == 0, weight: weight * (1.0 + bend), value: value(hazard) };
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
