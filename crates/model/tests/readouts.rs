//! Density, mode, median and central ranges, each by a second route: a closed form, or differences and integrals of the
//! law's own probabilities, which are found by other sums.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::{Group, GroupedPlan, JobLaw, Law, Level};

const NEVER: f64 = f64::INFINITY;

fn solve(groups: Vec<Group>, k: u64, at_least: u64, deadline: f64) -> JobLaw {
    GroupedPlan { groups, k, at_least, deadline }.solve().unwrap()
}

fn optional(group: Group) -> Group {
    Group { required: false, ..group }
}

#[track_caller]
fn close(found: f64, expected: f64, bound: f64) {
    assert!((found - expected).abs() <= bound * expected.abs(), "got {found}, expected {expected}");
}

/// Required and optional branches of several families, with copies, deadlines and partial results.
fn mixed() -> JobLaw {
    let required = Group::new(2, Law::log_normal(0.8, 0.5).unwrap());
    let hedged = Group { delays: vec![0.9], ..Group::new(1, Law::weibull(4.0, 1.1).unwrap()) };
    let early = Group { deadline: 1.3, ..optional(Group::new(3, Law::gamma(2.0, 0.4).unwrap())) };
    let late = optional(Group::new(2, Law::log_logistic(0.7, 3.0).unwrap()));
    let slow = optional(Group::new(1, Law::exponential(1.2).unwrap()));
    solve(vec![required, hedged, early, late, slow], 7, 5, 4.0)
}

#[test]
fn the_density_of_exponential_order_statistics_is_theirs() {
    for (k, n) in [(1, 1), (1, 7), (4, 7), (7, 7), (60, 64)] {
        let law = Law::exponential(0.5).unwrap();
        let alike = GroupedPlan::first(k, Group::new(n, law.clone())).solve().unwrap();
        // The same branches, in groups that the solver takes for different: another mean in the last digit.
        let nearly = |i: u64| Law::exponential(0.5 * (1.0 + f64::EPSILON * (i % 8) as f64)).unwrap();
        let groups = (0..n).map(|i| optional(Group::new(1, nearly(i)))).collect();
        let different = solve(groups, k, k, NEVER);
        for t in [1e-3_f64, 0.1, 0.5, 1.0, 3.0, 9.0] {
            let (f, s) = (-(-2.0 * t).exp_m1(), (-2.0 * t).exp());
            let choices = (1..k).fold(n as f64, |c, i| c * (n - i) as f64 / i as f64);
            let expected = 2.0 * choices * f.powi(k as i32 - 1) * s.powi((n - k) as i32 + 1);
            close(alike.density(t), expected, 1e-12);
            close(different.density(t), expected, 1e-12);
        }
    }
}

#[test]
fn the_density_is_the_derivative_of_the_share_that_has_returned() {
    let job = mixed();
    for t in [0.2, 0.45, 0.8, 1.1, 1.25, 1.32, 1.7, 2.4, 3.9] {
        // Central differences at three steps, extrapolated: the error is of the order of the sixth power of the step.
        let slope = |step: f64| (job.returned(t + step) - job.returned(t - step)) / (2.0 * step);
        let [a, b, c] = [4e-3, 2e-3, 1e-3].map(slope);
        let (ab, bc) = ((4.0 * b - a) / 3.0, (4.0 * c - b) / 3.0);
        close(job.density(t), (16.0 * bc - ab) / 15.0, 1e-8);
    }
    assert_eq!(job.density(4.1), 0.0);
    assert!(job.density(4.0) > 0.0);
    assert_eq!([job.density(-1.0), job.density(NEVER), job.density(f64::NAN)], [0.0; 3]);
}

#[test]
fn density_and_atoms_add_up_to_one() {
    let job = mixed();
    let atom = |t: f64| job.returned(t) - job.returned(t - 1e-13);
    // Simpson's rule between the instants at which something is not smooth.
    let area = |from: f64, to: f64| {
        let (steps, width) = (2_000, (to - from) / 2_000.0);
        let value = |i: i32| {
            // The density at an instant is the one before it.
            let t = if i == 0 { from + 1e-12 } else { from + width * f64::from(i) };
            let weight = if i == 0 || i == steps { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
            weight * job.density(t)
        };
        (0..=steps).map(value).sum::<f64>() * width / 3.0
    };
    let smooth = area(0.0, 0.9) + area(0.9, 1.3) + area(1.3, 4.0);
    close(smooth + atom(1.3) + atom(4.0), 1.0, 1e-9);
}

#[test]
fn modes_are_where_closed_forms_have_them() {
    let mode = |plan: GroupedPlan| plan.solve().unwrap().mode().value;
    for sigma in [0.1_f64, 0.6, 2.0, 12.0] {
        let law = Law::log_normal(3.0, sigma).unwrap();
        close(mode(GroupedPlan::all(Group::new(1, law))), 3.0 * (-sigma * sigma).exp(), 1e-6);
    }
    for (k, n) in [(2, 3), (8, 8), (60, 64), (1_000_000_000, 1_000_000_000)] {
        let law = Law::exponential(1.0).unwrap();
        // (k - 1) e^-t = (n - k + 1) (1 - e^-t)
        close(mode(GroupedPlan::first(k, Group::new(n, law))), (n as f64 / (n - k + 1) as f64).ln(), 1e-6);
    }
    let falls = Law::exponential(1.0).unwrap();
    assert_eq!(mode(GroupedPlan::first(1, Group::new(4, falls.clone()))), 0.0);
    // Cut before its peak, the density rises to the deadline.
    let cut = GroupedPlan { deadline: 1.0, ..GroupedPlan::all(Group::new(8, falls)) };
    close(mode(cut), 1.0, 1e-6);
    let narrow = Law::log_normal(5.0, 0.002).unwrap();
    let regimes = Law::mixture(&[(0.97, Law::log_normal(1.0, 0.6).unwrap()), (0.03, narrow)]).unwrap();
    close(mode(GroupedPlan::all(Group::new(1, regimes))), 5.0, 1e-4);
}

#[test]
fn no_density_is_above_that_of_the_mode() {
    let job = mixed();
    let top = job.density(job.mode().value);
    for i in 1..4_000 {
        assert!(job.density(f64::from(i) * 1e-3) <= top);
    }
}

#[test]
fn central_ranges_leave_as_much_before_as_after() {
    let job = GroupedPlan::all(Group::new(1, Law::exponential(1.0).unwrap())).solve().unwrap();
    close(job.median().value, std::f64::consts::LN_2, 1e-14);
    let (low, high) = job.central(0.95);
    close(low.value, -(-0.025_f64).ln_1p(), 1e-14);
    close(high.value, -(0.025_f64).ln(), 1e-14);
    let job = mixed();
    let (low, high) = job.central(0.68);
    close(job.returned(low.value), 0.16, 1e-12);
    close(job.waiting(high.value), 0.16, 1e-12);
    let (low, high) = job.central(0.0);
    assert_eq!((low, high), (job.median(), job.quantile(Level::MEDIAN)));
    let (low, high) = job.central(f64::NAN);
    assert_eq!((low.value, high.value), (0.0, 4.0));
}

#[test]
fn a_density_that_is_infinite_at_the_start_is_not_the_mode_of_the_last_of_several() {
    // Of F^n with F = 1 - e^-√t: the derivative of its density is 0.
    let law = Law::weibull(0.5, 1.0).unwrap();
    for n in [4, 8, 1_000_000_000] {
        let job = GroupedPlan::all(Group::new(n, law.clone())).solve().unwrap();
        let mode = job.mode().value;
        assert!(mode > 0.0 && job.density(0.0) == 0.0);
        for near in [0.9, 0.999, 1.001, 1.1] {
            assert!(job.density(near * mode) < job.density(mode), "{n}: {mode}");
        }
    }
}

#[test]
fn means_that_far_times_decide_are_right_or_infinite() {
    for sigma in [16.0_f64, 18.0, 20.0] {
        let law = Law::log_normal(1.0, sigma).unwrap();
        let mean = (sigma * sigma / 2.0).exp();
        let alone = GroupedPlan::all(Group::new(1, law.clone())).solve().unwrap();
        close(alone.mean().unwrap().value, mean, 1e-10);
        // The last of two: E = 2 E T Φ(σ / √2), from E max = 2 ∫ t f F.
        let two = GroupedPlan::all(Group::new(2, law.clone())).solve().unwrap().mean().unwrap().value;
        close(two, 2.0 * mean, 1e-9);
        // The same by integrals in time.
        let other = Law::log_normal(1.0, sigma * (1.0 + f64::EPSILON)).unwrap();
        let different = solve(vec![Group::new(1, law), Group::new(1, other)], 2, 2, NEVER);
        close(different.mean().unwrap().value, 2.0 * mean, 1e-9);
    }
    let law = Law::log_normal(1.0, 30.0).unwrap();
    let other = Law::log_normal(1.0, 29.0).unwrap();
    let different = solve(vec![Group::new(1, law), Group::new(1, other)], 2, 2, NEVER);
    assert_eq!(different.mean().unwrap().value, f64::INFINITY);
}
