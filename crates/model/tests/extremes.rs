//! No input within the stated ranges makes a readout hang, panic or give NaN.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::special::{
    barrier_hazard, branch_hazard, gamma_hazard, gamma_hazard_rate, gamma_quantile, normal_hazard,
    normal_quantile,
};
use fantail_model::{Cancellation, Group, GroupedPlan, Law, Level, SolveError};
use proptest::prelude::*;
use proptest::sample::select;

/// Parameters at and between the ends of their ranges.
fn law() -> impl Strategy<Value = Law> {
    let scale = || (-15.0..15.0_f64).prop_map(|e| 10_f64.powf(e));
    let shape = || select(vec![0.01, 0.1, 0.5, 0.999, 1.0, 1.001, 2.0, 2.001, 10.0, 1e3, 1e6]);
    let sigma = select(vec![1e-9, 1e-6, 1e-3, 0.1, 1.0, 5.0, 20.0, 30.0]);
    let family = prop_oneof![
        scale().prop_map(|s| Law::exponential(s).unwrap()),
        (scale(), sigma).prop_map(|(m, s)| Law::log_normal(m, s).unwrap()),
        (scale(), shape()).prop_map(|(s, k)| Law::weibull(k, s).unwrap()),
        (scale(), shape()).prop_map(|(s, k)| Law::gamma(k, s).unwrap()),
        (scale(), shape()).prop_map(|(s, k)| Law::log_logistic(s, k).unwrap()),
        (scale(), shape()).prop_map(|(s, k)| Law::pareto(s, k).unwrap()),
    ];
    family.prop_recursive(3, 8, 2, |inner| {
        let time = || select(vec![0.0, 1e-12, 1e-3, 1.0, 1e6, 1e15]);
        prop_oneof![
            (inner.clone(), time()).prop_map(|(law, by)| law.shifted(by).unwrap()),
            (inner.clone(), select(vec![1_u32, 2, 1_000])).prop_map(|(law, r)| law.race(r).unwrap()),
            (inner.clone(), proptest::collection::vec(time(), 0..3))
                .prop_map(|(law, delays)| law.hedged(&delays).unwrap()),
            (inner.clone(), time()).prop_map(|(law, deadline)| law.cut(deadline).unwrap()),
            (inner.clone(), time()).prop_map(|(law, after)| law.restarted(after).unwrap()),
            (inner.clone(), time(), select(vec![0.0, 1e-12, 0.5, 1.0]))
                .prop_map(|(law, delay, q)| law.hedged_sometimes(delay, q).unwrap()),
            (inner.clone(), inner, select(vec![1e-12, 0.5, 0.999_999]))
                .prop_map(|(a, b, w)| Law::mixture(&[(w, a), (1.0 - w, b)]).unwrap()),
        ]
    })
}

fn levels() -> Vec<Level> {
    let mut levels = vec![Level::MEDIAN];
    for p in [0.0, 1e-300, 1e-20, 1e-3, 0.3] {
        levels.extend([Level::below(p).unwrap(), Level::above(p).unwrap()]);
    }
    levels.extend([1e-320, 50.0, 800.0, 1e6, 1e300].map(|h| Level::at_hazard(h).unwrap()));
    levels.sort_by(|a, b| a.partial_cmp(b).unwrap());
    levels
}

/// Whether times never decrease, and none is NaN or negative.
fn in_order(times: &[f64]) -> bool {
    times.iter().all(|t| *t >= 0.0) && times.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + 1e-12))
}

fn plan() -> impl Strategy<Value = GroupedPlan> {
    let time = || select(vec![0.0, 1e-9, 0.5, 2.0, 1e9, f64::INFINITY]);
    let count = select(vec![1_u64, 2, 7, 1_000, 1_000_000]);
    let group = (
        law(),
        count,
        any::<bool>(),
        proptest::collection::vec(time(), 0..3),
        time(),
        select(vec![1e-9, 0.5, 2.0, f64::INFINITY]),
    )
        .prop_map(|(law, count, required, mut delays, deadline, attempt_timeout)| {
            delays.sort_by(f64::total_cmp);
            Group { required, delays, deadline, attempt_timeout, min_useful: 0.1, ..Group::new(count, law) }
        });
    let share = || select(vec![0.0, 1e-9, 0.5, 0.95, 1.0]);
    (proptest::collection::vec(group, 1..4), share(), share(), time()).prop_map(
        |(groups, k, at_least, deadline)| {
            let n: u64 = groups.iter().map(|group| group.count).sum();
            let k = ((k * n as f64).ceil() as u64).clamp(1, n);
            let at_least = ((at_least * k as f64) as u64).min(k);
            GroupedPlan { groups, k, at_least, deadline }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn laws_of_any_parameters_have_readouts(law in law(), t in select(vec![0.0, 1e-300, 1e-9, 1.0, 1e9, 1e300])) {
        let times: Vec<f64> = levels().into_iter().map(|level| law.quantile(level)).collect();
        prop_assert!(in_order(&times), "{law}: {times:?}");
        for readout in [law.hazard(t), law.cdf(t), law.survival(t), law.pdf(t), law.never()] {
            prop_assert!(readout >= 0.0, "{law} at {t}");
        }
        prop_assert!(law.ln_cdf(t) <= 0.0 && law.ln_survival(t) <= 0.0);
        match (law.mean(), law.sd()) {
            (Ok(mean), Ok(sd)) => prop_assert!(mean >= 0.0 && sd >= 0.0, "{law}: {mean} {sd}"),
            (mean, sd) => prop_assert!(false, "{law}: {mean:?} {sd:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 50, ..ProptestConfig::default() })]

    #[test]
    fn plans_of_any_parameters_have_readouts(plan in plan(), t in select(vec![0.0, 1e-9, 0.5, 2.0, 1e9, 1e300])) {
        let job = match plan.solve() {
            Ok(job) => job,
            Err(SolveError::TooLong { .. }) => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let times: Vec<f64> = levels().into_iter().map(|level| job.quantile(level).value).collect();
        prop_assert!(in_order(&times), "{times:?}");
        for share in [job.returned(t), job.waiting(t), job.complete(t), job.partial(t), job.failed(t), job.sends_copy()] {
            prop_assert!((0.0..=1.0).contains(&share));
        }
        let v = job.verdicts();
        prop_assert!((v.complete + v.partial + v.failed + v.never - 1.0).abs() < 1e-9, "{v:?}");
        let mut figures = Vec::new();
        if let (Ok(mean), Ok(sd), Ok(prices)) = (job.mean(), job.sd(), job.prices(Cancellation::AtOnce)) {
            figures.extend([mean.value, sd.value]);
            figures.extend([prices.copies, prices.busy, prices.extra_busy.unwrap_or(0.0) + 1.0]);
        }
        prop_assert!(figures.iter().all(|figure| *figure >= 0.0), "{figures:?}");
    }

    #[test]
    fn a_barrier_over_any_number_has_an_inverse(
        n in select(vec![1_u64, 2, 3, 17, 1_000, 1_000_000, 1_000_000_000]),
        share in 0.0..1.0_f64,
        ln_h in -300.0..6.0_f64,
    ) {
        let k = ((share * n as f64) as u64 + 1).min(n);
        let h = ln_h.exp();
        let branch = branch_hazard(h, k, n);
        let back = barrier_hazard(branch, k, n);
        // The hazard of the barrier changes up to k times as fast as that of one branch.
        prop_assert!((back / h - 1.0).abs() < 1e-13 * (1.0 + n.min(1_000_000) as f64), "{k} of {n}: {h} {branch} {back}");
    }
}

#[test]
fn a_billion_branches_have_readouts() {
    let n = 1_000_000_000;
    let law = Law::log_normal(1.0, 0.6).unwrap();
    for k in [1, 2, 1_000, n / 2, n - 1_000, n - 1, n] {
        let job = GroupedPlan::first(k, Group::new(n, law.clone())).solve().unwrap();
        let times: Vec<f64> = levels().into_iter().map(|level| job.quantile(level).value).collect();
        assert!(in_order(&times), "{k}: {times:?}");
        let mean = job.mean().unwrap().value;
        let (low, high) = (times[1], times[times.len() - 2]);
        assert!((low..=high).contains(&mean), "{k}: {mean}");
    }
}

#[test]
fn the_first_of_many_different_branches_end_somehow_whatever_is_certain() {
    let laws = [
        (Law::exponential(1.0).unwrap(), Law::exponential(2.0).unwrap()),
        (Law::log_normal(1.0, 1.0).unwrap(), Law::pareto(1.0, 0.5).unwrap()),
        (Law::log_normal(1.0, 30.0).unwrap(), Law::pareto(1e-9, 0.5).unwrap()),
    ];
    for (first, second) in laws {
        for deadline in [0.0, 1e-9, 1.0, f64::INFINITY] {
            for at_least in [0, 1, 500, 1_000] {
                let group = |law: &Law| Group { required: false, ..Group::new(1_000, law.clone()) };
                let groups = vec![group(&first), group(&second)];
                let plan = GroupedPlan { groups, k: 1_000, at_least, deadline };
                let v = plan.solve().unwrap().verdicts();
                let total = v.complete + v.partial + v.failed + v.never;
                assert!((total - 1.0).abs() < 1e-9, "{first}, {second}, {deadline}, {at_least}: {v:?}");
            }
        }
    }
}

#[test]
fn a_rare_regime_with_an_infinite_density_does_not_end_the_search_for_a_quantile() {
    let rare = Law::log_logistic(1.0, 0.01).unwrap().restarted(1e-12).unwrap();
    let law = Law::mixture(&[(1e-12, rare), (1.0 - 1e-12, Law::exponential(1.0).unwrap())]).unwrap();
    let mut last = 0.0;
    for i in -450..=50 {
        let h = (f64::from(i) * 0.1).exp2();
        let t = law.quantile(Level::at_hazard(h).unwrap());
        // To the last bit of the time, across which the hazard may jump.
        let (before, after) =
            (law.hazard(t * (1.0 - 4.0 * f64::EPSILON)), law.hazard(t * (1.0 + 4.0 * f64::EPSILON)));
        assert!(
            t >= last * (1.0 - 1e-15) && before <= h * (1.0 + 1e-12) && h <= after * (1.0 + 1e-12),
            "{h}: {t}"
        );
        last = t;
    }
}

#[test]
fn the_gamma_law_has_an_inverse_over_its_whole_range() {
    for a in [0.01, 0.3, 1.0, 2.5, 15.9, 16.0, 40.0, 1e3, 1e6] {
        let mut last = 0.0;
        for i in -1_000..=1_000 {
            let h = f64::from(i).exp2();
            let x = gamma_quantile(a, h);
            assert!(x >= last && x.is_finite(), "{a} {h}: {x} after {last}");
            last = x;
            if x < 1e-290 {
                continue;
            }
            // A value has 53 bits: its rounding moves the hazard by the hazard's slope.
            let (below, above) = (gamma_hazard(a, x * (1.0 - 4e-15)), gamma_hazard(a, x * (1.0 + 4e-15)));
            assert!(below <= h * (1.0 + 1e-12) && h <= above * (1.0 + 1e-12), "{a} {h}: {below} {above}");
            assert!(gamma_hazard_rate(a, x) >= 0.0);
        }
    }
}

#[test]
fn the_normal_law_has_an_inverse_over_its_whole_range() {
    for i in -700..=5_000 {
        let h = (f64::from(i)).exp2().max(0.0);
        if h.is_finite() && h > 0.0 {
            let back = normal_hazard(normal_quantile(h));
            assert!((back / h - 1.0).abs() < 4e-12, "{h}: {back}");
        }
    }
}
