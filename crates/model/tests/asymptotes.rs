//! What the asymptotes promise, and how far they are from the exact value.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::{Asymptotes, Group, GroupedPlan, Law};

const COUNTS: [u64; 11] = [2, 3, 5, 8, 16, 64, 1_000, 10_000, 1_000_000, 100_000_000, 1_000_000_000];

#[test]
fn the_leading_order_overstates_the_median_by_46_to_92_percent_from_8_to_a_billion() {
    let gap = |n: u64| {
        let slowest = Asymptotes::of_log_normal(n, 1.0, 1.0).unwrap();
        slowest.median.gap(slowest.leading)
    };
    let gaps: Vec<f64> = COUNTS.into_iter().filter(|n| *n >= 8).map(gap).collect();
    let (least, most) = gaps.iter().fold((1.0_f64, 0.0_f64), |(a, b), gap| (a.min(*gap), b.max(*gap)));
    assert!((0.46..0.47).contains(&least) && (0.92..0.93).contains(&most), "{gaps:?}");
}

#[test]
fn exact_constants_are_within_three_thousandths_from_16_on() {
    for n in COUNTS.into_iter().filter(|n| *n >= 16) {
        let median = Asymptotes::of_normal(n).unwrap().median;
        assert!(median.gap(median.gumbel).abs() < 0.003, "{n}: {median:?}");
        assert!(median.gap(median.textbook).abs() > 3.0 * median.gap(median.gumbel).abs(), "{n}: {median:?}");
    }
    let median = Asymptotes::of_normal(5).unwrap().median;
    assert!(median.gap(median.gumbel).abs() > 0.003, "{median:?}");
}

#[test]
fn asymptotes_of_times_are_those_of_the_normal_stretched() {
    let (scale, sigma) = (0.8, 0.6);
    for n in COUNTS {
        let z = Asymptotes::of_normal(n).unwrap();
        let t = Asymptotes::of_log_normal(n, scale, sigma).unwrap();
        let pairs = [
            (z.leading, t.leading),
            (z.second, t.second),
            (z.centre, t.centre),
            (z.median.textbook, t.median.textbook),
            (z.median.gumbel, t.median.gumbel),
            (z.median.exact, t.median.exact),
        ];
        for (z, t) in pairs {
            let stretched = scale * (sigma * z).exp();
            assert!((t / stretched - 1.0).abs() < 1e-13, "{n}: {t} {stretched}");
        }
        let job = GroupedPlan::all(Group::new(n, Law::log_normal(scale, sigma).unwrap())).solve().unwrap();
        assert_eq!(t.mean.exact, job.mean().unwrap().value);
    }
}

#[test]
fn the_gumbel_mean_of_times_is_the_mean_of_their_exponential() {
    // Over a uniform number u, G = -ln(-ln u); the midpoint rule in y = ln(-ln u) is the second route.
    let (n, sigma) = (1_000, 0.6);
    let z = Asymptotes::of_normal(n).unwrap();
    let scale = (z.mean.gumbel - z.centre) / 0.577_215_664_901_532_9;
    let step = 1.0 / 16.0;
    let mean: f64 = (-600..80)
        .map(|i| {
            let y = f64::from(i) * step;
            step * (y - y.exp()).exp() * (sigma * (z.centre - scale * y)).exp()
        })
        .sum();
    let found = Asymptotes::of_log_normal(n, 1.0, sigma).unwrap().mean.gumbel;
    assert!((found / mean - 1.0).abs() < 1e-11, "{found} {mean}");
}

#[test]
fn a_gumbel_mean_may_be_infinite_where_the_exact_one_is_not() {
    let slowest = Asymptotes::of_log_normal(8, 1.0, 3.0).unwrap();
    assert_eq!(slowest.mean.gumbel, f64::INFINITY);
    assert!(slowest.mean.exact.is_finite());
}

#[test]
fn numbers_without_an_asymptote_are_refused() {
    for n in [0, 1, 1_000_000_000_001, u64::MAX] {
        assert!(Asymptotes::of_normal(n).is_err());
        assert!(Asymptotes::of_log_normal(n, 1.0, 1.0).is_err());
    }
    for sigma in [0.0, -1.0, f64::NAN, 31.0] {
        assert!(Asymptotes::of_log_normal(8, 1.0, sigma).is_err());
    }
    for n in [2, 3, 1_000_000_000_000] {
        for sigma in [1e-9, 0.6, 5.0, 30.0] {
            let slowest = Asymptotes::of_log_normal(n, 1e-15, sigma).unwrap();
            let Asymptotes { leading, second, centre, mean, median, .. } = slowest;
            let figures = [leading, second, centre, mean.textbook, mean.gumbel, mean.exact, median.exact];
            assert!(figures.iter().all(|figure| *figure > 0.0), "{slowest:?}");
        }
    }
}
