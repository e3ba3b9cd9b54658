//! What losers cost, in closed forms of exponential latencies.

use fantail_model::{Cancellation, Group, GroupedPlan, Law, SolveError};

use super::plans::call;
use super::{above, close, shares};

fn unit() -> Law {
    Law::exponential(1.0).unwrap()
}

fn busy(plan: &GroupedPlan, how: Cancellation) -> f64 {
    plan.solve().unwrap().prices(how).unwrap().busy
}

#[test]
fn a_loser_runs_on_for_what_its_age_leaves_out() {
    // An exponential has no age: a loser costs what an attempt costs within the lag.
    let rest = |lag: f64| 1.0 - (-lag).exp();
    for n in [2_u64, 5, 40] {
        let race = GroupedPlan::all(Group { delays: vec![0.0; n as usize - 1], ..Group::new(1, unit()) });
        let first = GroupedPlan::first(1, Group::new(n, unit()));
        for plan in [race, first] {
            close(busy(&plan, Cancellation::AtOnce), 1.0, 1e-11);
            for lag in [1e-3, 0.4, 2.0, 30.0] {
                let expected = 1.0 + (n - 1) as f64 * rest(lag);
                close(busy(&plan, Cancellation::After(lag)), expected, 1e-11);
            }
            close(busy(&plan, Cancellation::Never), n as f64, 1e-11);
        }
    }
    // Past a deadline as well, until the attempt times out.
    for lag in [0.0, 0.3, 1.0, 5.0, f64::INFINITY] {
        let group = Group { deadline: 0.5, attempt_timeout: 2.0, ..Group::new(3, unit()) };
        let expected = 3.0 * rest((0.5 + lag).min(2.0));
        close(busy(&GroupedPlan::all(group), Cancellation::After(lag)), expected, 1e-11);
    }
}

#[test]
fn a_hedge_costs_its_requests_again_when_nothing_is_cancelled() {
    let p95 = call().quantile(above(0.05));
    let plan = GroupedPlan::all(Group { delays: vec![p95], ..Group::new(8, call()) });
    let job = plan.solve().unwrap();
    let prices = |how: Cancellation| job.prices(how).unwrap();
    let never = prices(Cancellation::Never);
    close(never.extra_busy.unwrap(), 0.05, 1e-10);
    close(never.busy, 8.0 * 1.05 * call().mean().unwrap(), 1e-11);
    assert_eq!(prices(Cancellation::After(0.0)), prices(Cancellation::AtOnce));
    assert_eq!(prices(Cancellation::After(f64::INFINITY)), never);
    let mut last = prices(Cancellation::AtOnce).busy;
    for lag in [0.01, 0.1, 1.0, 10.0, 100.0] {
        let now = prices(Cancellation::After(lag)).busy;
        assert!(now >= last && now <= never.busy * (1.0 + 1e-11), "{lag}: {last} {now}");
        last = now;
    }
    close(last, never.busy, 1e-6);
}

#[test]
fn a_copy_without_luck_runs_as_long_as_its_primary() {
    // So it is a loser whenever it starts, d after a primary that is as late as it.
    let d = 0.8_f64;
    let plan = GroupedPlan::all(Group { delays: vec![d], ..Group::new(2, unit()) });
    for (job, branch) in [(0.0, 1.0), (0.3, 0.7), (1.0, 0.0)] {
        let shared = plan.solve_dependent(shares(job, branch)).unwrap();
        let check = |how: Cancellation, copy: f64| {
            let prices = shared.prices(how).unwrap();
            close(prices.busy, 2.0 + 2.0 * copy * (-d).exp(), 1e-9);
            close(prices.extra_requests, (-d).exp(), 1e-10);
        };
        check(Cancellation::AtOnce, 1.0);
        check(Cancellation::After(0.5), 1.5);
        check(Cancellation::After(0.8), 1.8);
        check(Cancellation::Never, 1.0 + d);
    }
}

#[test]
fn losers_that_never_end_cost_for_ever() {
    let heavy = Law::pareto(1.0, 0.8).unwrap();
    let plan = GroupedPlan::first(1, Group::new(2, heavy.clone()));
    let job = plan.solve().unwrap();
    assert!(job.prices(Cancellation::AtOnce).unwrap().busy.is_finite());
    assert!(job.prices(Cancellation::After(1e6)).unwrap().busy.is_finite());
    assert_eq!(job.prices(Cancellation::Never).unwrap().busy, f64::INFINITY);
    let shared = plan.solve_dependent(shares(0.1, 0.0)).unwrap();
    assert!(shared.prices(Cancellation::AtOnce).unwrap().busy.is_finite());
    assert_eq!(shared.prices(Cancellation::Never).unwrap().busy, f64::INFINITY);
    // With more in common, both are late together.
    let shared = plan.solve_dependent(shares(0.7, 0.0)).unwrap();
    assert_eq!(shared.prices(Cancellation::AtOnce).unwrap().busy, f64::INFINITY);
    for lag in [-1.0, f64::NAN] {
        let refused = job.prices(Cancellation::After(lag));
        assert!(matches!(refused, Err(SolveError::OutOfRange { field: "cancellation", .. })));
    }
}
