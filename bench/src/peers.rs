//! What people write by hand: quantiles by a library, means by a grid, roots by bisection.

use statrs::distribution::{ContinuousCDF, LogNormal};

/// A log-normal branch of median 1 s in the usual library.
pub struct Peer(LogNormal);

impl Peer {
    /// With this sigma.
    ///
    /// # Panics
    /// For a sigma that is not above 0.
    pub fn new(sigma: f64) -> Peer {
        Peer(LogNormal::new(0.0, sigma).expect("a sigma above 0"))
    }

    /// The quantile of the slowest of n at p.
    pub fn quantile_of_all(&self, n: u64, p: f64) -> f64 {
        self.0.inverse_cdf(p.powf(1.0 / n as f64))
    }

    /// The same with a copy of each branch after `delay`: bisection of its cdf.
    pub fn quantile_of_hedged(&self, n: u64, p: f64, delay: f64) -> f64 {
        let open = 1.0 - p.powf(1.0 / n as f64);
        let (mut low, mut high) = (0.0, 1e3);
        while high - low > 1e-12 * high {
            let middle = 0.5 * (low + high);
            let copy = if middle > delay { self.0.sf(middle - delay) } else { 1.0 };
            if self.0.sf(middle) * copy > open {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// The mean of the slowest of n: the trapezoid rule for `1 - F^n` over 2,001 points of log time.
    pub fn mean_of_all(&self, n: u64) -> f64 {
        const POINTS: i32 = 2_000;
        let (from, to) = (-8.0, 8.0);
        let step = (to - from) / f64::from(POINTS);
        let sum: f64 = (0..=POINTS)
            .map(|i| {
                let t = (from + step * f64::from(i)).exp();
                (1.0 - self.0.cdf(t).powf(n as f64)) * t
            })
            .sum();
        from.exp() + step * sum
    }

    /// The quantile of the slowest of branches that differ, by median and sigma: bisection of the product of their cdfs.
    ///
    /// # Panics
    /// For a sigma that is not above 0.
    pub fn quantile_of_different(branches: &[(f64, f64)], p: f64) -> f64 {
        let laws: Vec<LogNormal> = branches
            .iter()
            .map(|(median, sigma)| LogNormal::new(median.ln(), *sigma).expect("a sigma above 0"))
            .collect();
        let (mut low, mut high) = (0.0, 1e3);
        while high - low > 1e-12 * high {
            let middle = 0.5 * (low + high);
            if laws.iter().map(|law| law.cdf(middle)).product::<f64>() < p {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::Peer;
    use crate::plans;

    #[test]
    fn peers_and_model_compute_the_same() {
        let close = |peer: f64, model: f64| assert!((peer / model - 1.0).abs() < 1e-6, "{peer} {model}");
        let (peer, p99) = (Peer::new(0.6), plans::above(0.01));
        close(peer.quantile_of_all(8, 0.99), plans::solved(&plans::all(8)).quantile(p99).value);
        let p95 = plans::call().quantile(plans::above(0.05));
        close(peer.quantile_of_hedged(8, 0.99, p95), plans::solved(&plans::hedged(8)).quantile(p99).value);
        close(peer.mean_of_all(100), plans::solved(&plans::all(100)).mean().unwrap().value);
        let share = |i: u64| i as f64 / 64.0;
        let branches: Vec<_> = (0..64).map(|i| (0.5 + share(i), 0.4 + 0.3 * share(i))).collect();
        let different = plans::solved(&plans::different(64, 64)).quantile(p99).value;
        close(Peer::quantile_of_different(&branches, 0.99), different);
    }
}
