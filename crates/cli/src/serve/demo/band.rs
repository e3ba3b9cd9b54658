//! How far figures of a run may lie from the prediction by chance alone.

use std::ops::RangeInclusive;

use fantail_model::special::{barrier_hazard, branch_hazard};
use fantail_model::{JobLaw, Level};

/// A band leaves out this share of the runs on either side: it holds 95 % of them.
const LEFT_OUT: f64 = 0.025;

/// The nearest rank of a quantile among `n` values, from 1: the least whose share is at least `percent`.
pub(super) fn rank(percent: u64, n: u64) -> u64 {
    (percent * n).div_ceil(100).max(1)
}

/// Where the value of `rank` among the return times of `n` jobs falls: an order statistic, whose law is exact.
pub(super) fn order_statistic(law: &JobLaw, rank: u64, n: u64) -> [f64; 2] {
    let at = |share: Level| {
        let level = Level::at_hazard(branch_hazard(share.hazard(), rank, n)).expect("hazards are 0 or more");
        law.quantile(level).value
    };
    [Level::below(LEFT_OUT), Level::above(LEFT_OUT)].map(|end| at(end.expect("a probability")))
}

/// How many of `n` independent events of probability `p` occur: binomial. At most 2.5 % lie on either side.
pub(super) fn binomial(p: f64, n: u64) -> RangeInclusive<u64> {
    if n == 0 || p <= 0.0 {
        return 0..=0;
    }
    if p >= 1.0 {
        return n..=n;
    }
    let hazard = -(-p).ln_1p();
    // P(X <= x), as one less than the chance of x + 1 or more.
    let at_most = |x: u64| if x == n { 1.0 } else { (-barrier_hazard(hazard, x + 1, n)).exp() };
    let first = |reached: &dyn Fn(f64) -> bool| (0..=n).find(|x| reached(at_most(*x))).unwrap_or(n);
    first(&|share| share > LEFT_OUT)..=first(&|share| share >= 1.0 - LEFT_OUT)
}

#[cfg(test)]
mod tests {
    use fantail_model::{Group, GroupedPlan, Law};

    use super::*;

    #[test]
    fn ranks_are_the_nearest_at_or_above_the_share() {
        let check = |percent, n, expected| assert_eq!(rank(percent, n), expected, "p{percent} of {n}");
        check(50, 300, 150);
        check(90, 300, 270);
        check(50, 3, 2);
        check(90, 1, 1);
    }

    /// Quantiles of the binomial law from its mass function, summed by hand.
    #[test]
    fn a_binomial_band_holds_95_in_100_and_no_shorter_one_does() {
        let check = |p: f64, n: u64| {
            let mut mass = (1.0 - p).powi(n as i32);
            let mut below = Vec::new();
            let mut sum = 0.0;
            for x in 0..=n {
                sum += mass;
                below.push(sum);
                mass *= (n - x) as f64 / (x + 1) as f64 * p / (1.0 - p);
            }
            let low = below.iter().position(|sum| *sum > 0.025).unwrap() as u64;
            let high = below.iter().position(|sum| *sum >= 0.975).unwrap() as u64;
            assert_eq!(binomial(p, n), low..=high, "{p} of {n}");
        };
        check(0.5, 10);
        check(0.9, 50);
        check(0.017, 300);
        check(0.0055, 300);
        check(0.05, 900);
        assert_eq!(binomial(0.0, 300), 0..=0);
        assert_eq!(binomial(1.0, 300), 300..=300);
        assert_eq!(binomial(0.5, 0), 0..=0);
    }

    #[test]
    fn the_band_of_a_rank_is_that_of_the_order_statistic() {
        let job = GroupedPlan::all(Group::new(1, Law::exponential(1.0).unwrap())).solve().unwrap();
        let [low, high] = order_statistic(&job, 1, 10);
        // The first of ten is exponential with a tenth of the mean.
        assert!((low / (-(0.975_f64).ln() / 10.0) - 1.0).abs() < 1e-9, "{low}");
        assert!((high / (-(0.025_f64).ln() / 10.0) - 1.0).abs() < 1e-9, "{high}");
        let [low, high] = order_statistic(&job, 150, 300);
        assert!(low < 2_f64.ln() && 2_f64.ln() < high && high - low < 0.25, "{low} to {high}");
    }
}
