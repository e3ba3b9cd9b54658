//! What must hold for every law and every plan.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::{Cancellation, Group, GroupedPlan, JobLaw, Law, LawError, Level};
use proptest::prelude::*;

fn both(unit: f64, scale: f64, law: impl Fn(f64) -> Result<Law, LawError>) -> (Law, Law) {
    (law(scale.exp()).unwrap(), law(scale.exp() * unit).unwrap())
}

/// A law and the same law in another unit of time.
fn family(unit: f64) -> impl Strategy<Value = (Law, Law)> {
    let scale = || -2.0..2.0_f64;
    let shape = || 0.5..4.0_f64;
    prop_oneof![
        scale().prop_map(move |s| both(unit, s, Law::exponential)),
        (scale(), 0.01..2.5_f64).prop_map(move |(s, sigma)| both(unit, s, |m| Law::log_normal(m, sigma))),
        (scale(), shape()).prop_map(move |(s, k)| both(unit, s, |m| Law::weibull(k, m))),
        (scale(), -0.7..7.0_f64).prop_map(move |(s, k)| both(unit, s, |m| Law::gamma(k.exp(), m))),
        (scale(), shape()).prop_map(move |(s, k)| both(unit, s, |m| Law::log_logistic(m, k))),
        (scale(), shape()).prop_map(move |(s, k)| both(unit, s, |m| Law::pareto(m, k))),
    ]
}

/// Families and what is made of them, to a depth of two.
fn law(unit: f64) -> impl Strategy<Value = (Law, Law)> {
    let map = |(a, b): (Law, Law), f: &dyn Fn(&Law, f64) -> Law, unit: f64| (f(&a, 1.0), f(&b, unit));
    family(unit).prop_recursive(2, 6, 2, move |inner| {
        prop_oneof![
            (inner.clone(), 0.0..2.0_f64).prop_map(move |(pair, by)| map(
                pair,
                &|law, u| law.shifted(by * u).unwrap(),
                unit
            )),
            (inner.clone(), 1_u32..4).prop_map(move |(pair, r)| map(
                pair,
                &|law, _| law.race(r).unwrap(),
                unit
            )),
            (inner.clone(), proptest::collection::vec(0.0..3.0_f64, 1..3)).prop_map(move |(pair, delays)| {
                let hedge = |law: &Law, u: f64| {
                    law.hedged(&delays.iter().map(|d| d * u).collect::<Vec<_>>()).unwrap()
                };
                map(pair, &hedge, unit)
            }),
            (inner.clone(), 0.0..3.0_f64).prop_map(move |(pair, after)| map(
                pair,
                &|law, u| law.restarted(after * u).unwrap(),
                unit
            )),
            (inner.clone(), 0.0..3.0_f64, 0.0..1.0_f64).prop_map(move |(pair, delay, q)| map(
                pair,
                &|law, u| law.hedged_sometimes(delay * u, q).unwrap(),
                unit
            )),
            (inner.clone(), inner, 0.01..0.99_f64).prop_map(|((a, ua), (b, ub), w)| {
                let mix = |a, b| Law::mixture(&[(w, a), (1.0 - w, b)]).unwrap();
                (mix(a, b), mix(ua, ub))
            }),
        ]
    })
}

/// Hazards from far in the lower tail to far in the upper one.
fn hazard() -> impl Strategy<Value = f64> {
    prop_oneof![(-30.0..3.0_f64).prop_map(f64::exp), 1.0..600.0_f64]
}

/// Equal to `digits`, relative; times at infinity are equal.
fn same(a: f64, b: f64, bound: f64) -> bool {
    a == b || (a - b).abs() <= bound * a.abs().max(b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_level_of_a_quantile_is_the_level((law, _) in law(1.0), h in hazard()) {
        let level = Level::at_hazard(h).unwrap();
        let t = law.quantile(level);
        prop_assume!(t.is_finite() && t > 0.0);
        // A time has 53 bits: its rounding moves the hazard by the hazard's slope.
        let (below, above) = (law.hazard(t * (1.0 - 4e-15)), law.hazard(t * (1.0 + 4e-15)));
        prop_assert!(below <= h * (1.0 + 1e-12) && h <= above * (1.0 + 1e-12), "{law}: {below} {h} {above}");
    }

    #[test]
    fn quantiles_and_hazards_never_decrease((law, _) in law(1.0), a in hazard(), b in hazard()) {
        let (low, high) = (a.min(b), a.max(b));
        let (early, late) = (
            law.quantile(Level::at_hazard(low).unwrap()),
            law.quantile(Level::at_hazard(high).unwrap()),
        );
        prop_assert!(early <= late, "{law}: {early} {late}");
        prop_assert!(law.hazard(early) <= law.hazard(late));
        prop_assert!(law.pdf(early) >= 0.0);
    }

    #[test]
    fn the_unit_of_time_does_not_matter((seconds, millis) in law(1e3), h in hazard()) {
        let level = Level::at_hazard(h).unwrap();
        let (a, b) = (seconds.quantile(level) * 1e3, millis.quantile(level));
        prop_assert!(same(a, b, 1e-12), "{seconds} {millis}: {a} {b}");
        let (a, b) = (seconds.mean().unwrap() * 1e3, millis.mean().unwrap());
        prop_assert!(same(a, b, 1e-10), "{seconds}: mean {a} {b}");
    }

    #[test]
    fn a_race_is_a_hedge_without_delay_and_an_infinite_delay_is_none((law, _) in law(1.0), h in hazard()) {
        let level = Level::at_hazard(h).unwrap();
        let t = |law: Law| law.quantile(level);
        prop_assert_eq!(t(law.race(1).unwrap()), t(law.clone()));
        prop_assert_eq!(t(law.hedged(&[0.0]).unwrap()), t(law.race(2).unwrap()));
        prop_assert_eq!(t(law.hedged(&[f64::INFINITY]).unwrap()), t(law.clone()));
        prop_assert_eq!(t(law.hedged(&[]).unwrap()), t(law.clone()));
        prop_assert_eq!(t(law.cut(f64::INFINITY).unwrap()), t(law.clone()));
        prop_assert_eq!(t(law.restarted(f64::INFINITY).unwrap()), t(law.clone()));
        prop_assert_eq!(t(law.restarted(0.0).unwrap()), t(law.clone()));
        prop_assert_eq!(t(law.hedged_sometimes(0.7, 0.0).unwrap()), t(law.clone()));
        prop_assert_eq!(t(law.hedged_sometimes(0.7, 1.0).unwrap()), t(law.hedged(&[0.7]).unwrap()));
        prop_assert_eq!(t(Law::mixture(&[(0.3, law.clone())]).unwrap()), t(law.clone()));
        let twice = Law::mixture(&[(0.3, law.clone()), (0.7, law.clone())]).unwrap();
        prop_assert!(same(t(twice), t(law), 1e-12));
    }

    #[test]
    fn the_mean_lies_within_what_quantiles_allow((law, _) in law(1.0)) {
        let mean = law.mean().unwrap();
        let (median, p90) = (law.quantile(Level::MEDIAN), law.quantile(Level::above(0.1).unwrap()));
        // Half lies above the median, a tenth above p90.
        prop_assert!(mean >= median / 2.0 && mean >= p90 / 10.0, "{law}: {mean} {median} {p90}");
        prop_assert!(law.sd().unwrap() >= 0.0);
    }
}

/// Groups of a small plan.
fn groups() -> impl Strategy<Value = Vec<Group>> {
    let group = (
        law(1.0),
        1_u64..4,
        any::<bool>(),
        proptest::collection::vec(0.0..2.0_f64, 0..3),
        prop_oneof![2 => Just(f64::INFINITY), 1 => 0.1..4.0_f64],
        prop_oneof![4 => Just(f64::INFINITY), 1 => 0.1..4.0_f64],
    )
        .prop_map(|((law, _), count, required, mut delays, deadline, attempt_timeout)| {
            delays.sort_by(f64::total_cmp);
            Group { required, delays, deadline, attempt_timeout, min_useful: 0.05, ..Group::new(count, law) }
        });
    proptest::collection::vec(group, 1..4)
}

fn plan() -> impl Strategy<Value = GroupedPlan> {
    let deadline = prop_oneof![1 => Just(f64::INFINITY), 2 => 0.1..5.0_f64];
    (groups(), 0.0..1.0_f64, 0.0..1.0_f64, deadline).prop_map(|(groups, k, at_least, deadline)| {
        let n: u64 = groups.iter().map(|group| group.count).sum();
        let k = ((k * n as f64).ceil() as u64).clamp(1, n);
        GroupedPlan { groups, k, at_least: (at_least * k as f64) as u64, deadline }
    })
}

fn readouts(job: &JobLaw) -> Vec<f64> {
    [1e-9, 0.1, 0.5, 0.9, 0.999].map(|p| job.quantile(Level::below(p).unwrap()).value).to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn verdicts_and_outcomes_sum_to_one(plan in plan()) {
        let job = plan.solve().unwrap();
        let v = job.verdicts();
        prop_assert!(same(v.complete + v.partial + v.failed + v.never, 1.0, 1e-12), "{v:?}");
        for group in 0..plan.groups.len() {
            let o = job.outcomes(group).unwrap();
            let sum = o.answered + o.failed + o.missed + o.unneeded + o.cancelled + o.never;
            prop_assert!(same(sum, 1.0, 1e-9), "{o:?}");
            prop_assert!([o.answered, o.failed, o.missed, o.unneeded, o.cancelled, o.never].iter().all(|s| *s >= -1e-12));
        }
    }

    #[test]
    fn the_three_laws_sum_to_the_return_time_and_never_decrease(plan in plan(), a in 0.0..6.0_f64, b in 0.0..6.0_f64) {
        let job = plan.solve().unwrap();
        let sum = |t: f64| job.complete(t) + job.partial(t) + job.failed(t);
        let (early, late) = (a.min(b), a.max(b));
        prop_assert!(same(sum(early) + 1.0, job.returned(early) + 1.0, 1e-13));
        prop_assert!(same(job.returned(early) + job.waiting(early), 1.0, 1e-13));
        for read in [JobLaw::complete, JobLaw::partial, JobLaw::failed, JobLaw::returned] {
            prop_assert!(read(&job, early) <= read(&job, late) + 1e-13);
        }
    }

    #[test]
    fn a_return_quantile_is_the_earliest_time_by_which_that_share_has_returned(plan in plan(), p in 0.001..0.999_f64) {
        let job = plan.solve().unwrap();
        let t = job.quantile(Level::below(p).unwrap()).value;
        if t.is_finite() {
            prop_assert!(job.returned(t * (1.0 + 1e-12)) >= p - 1e-12);
            prop_assert!(job.returned(t * (1.0 - 1e-12)) <= p + 1e-12);
        } else {
            prop_assert!(job.verdicts().never > 1.0 - p - 1e-12);
        }
    }

    #[test]
    fn prices_are_in_range(plan in plan()) {
        let job = plan.solve().unwrap();
        let prices = job.prices(Cancellation::AtOnce).unwrap();
        prop_assert!(prices.copies >= 0.0 && prices.busy >= 0.0);
        let sends = job.sends_copy();
        prop_assert!((0.0..=1.0).contains(&sends));
        prop_assert!(sends <= prices.copies + 1e-12, "a job that sends a copy sends at least one");
        if let Some(extra) = prices.extra_busy {
            prop_assert!(extra >= -1.0);
        }
    }

    #[test]
    fn the_order_of_branches_does_not_matter(plan in plan()) {
        let mut other = plan.clone();
        other.groups.reverse();
        for (a, b) in readouts(&plan.solve().unwrap()).into_iter().zip(readouts(&other.solve().unwrap())) {
            prop_assert!(same(a, b, 1e-11), "{a} {b}");
        }
    }

    #[test]
    fn like_branches_may_be_counted_or_listed(plan in plan()) {
        let mut listed = plan.clone();
        listed.groups = plan
            .groups
            .iter()
            .flat_map(|group| vec![Group { count: 1, ..group.clone() }; group.count as usize])
            .collect();
        let (counted, listed) = (plan.solve().unwrap(), listed.solve().unwrap());
        for (a, b) in readouts(&counted).into_iter().zip(readouts(&listed)) {
            prop_assert!(same(a, b, 1e-11), "{a} {b}");
        }
        let (a, b) = (counted.prices(Cancellation::AtOnce).unwrap(), listed.prices(Cancellation::AtOnce).unwrap());
        prop_assert!(same(a.copies, b.copies, 1e-10) && same(a.busy, b.busy, 1e-9), "{a:?} {b:?}");
        prop_assert!(same(counted.sends_copy(), listed.sends_copy(), 1e-10));
    }

    #[test]
    fn the_first_n_are_all((law, _) in law(1.0), n in 1_u64..50) {
        let all = GroupedPlan::all(Group::new(n, law.clone())).solve().unwrap();
        let first = GroupedPlan::first(n, Group::new(n, law)).solve().unwrap();
        prop_assert_eq!(readouts(&all), readouts(&first));
    }

    #[test]
    fn a_deadline_beyond_every_answer_is_none(groups in groups()) {
        let n: u64 = groups.iter().map(|group| group.count).sum();
        let plan = |deadline: f64| GroupedPlan { groups: groups.clone(), k: n, at_least: 0, deadline }.solve().unwrap();
        prop_assert_eq!(readouts(&plan(1e100)).len(), readouts(&plan(f64::INFINITY)).len());
        for (a, b) in readouts(&plan(1e100)).into_iter().zip(readouts(&plan(f64::INFINITY))) {
            prop_assert!(same(a, b, 1e-11) || (a == 1e100 && b.is_infinite()), "{a} {b}");
        }
    }
}
