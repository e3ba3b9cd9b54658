//! Shares of nothing and of everything.

use fantail_model::{Cancellation, Dependence, DependentJob, Group, GroupedPlan, JobLaw, Law, Outcomes};
use proptest::prelude::*;
use proptest::sample::select;

use super::plans::{call, small};
use super::{above, close, shares};

const TIMES: [f64; 8] = [0.1, 0.6, 0.9, 1.0, 1.7, 2.2, 4.0, f64::INFINITY];

/// Every readout of both.
#[track_caller]
fn same(shared: &DependentJob, alone: &JobLaw, within: f64) {
    let near = |a: f64, b: f64| assert!((a - b).abs() <= within || a == b, "{a} {b}");
    for t in TIMES {
        near(shared.complete(t).unwrap(), alone.complete(t));
        near(shared.partial(t).unwrap(), alone.partial(t));
        near(shared.failed(t).unwrap(), alone.failed(t));
        near(shared.returned(t).unwrap(), alone.returned(t));
        near(shared.waiting(t).unwrap(), alone.waiting(t));
        close(shared.density(t).unwrap(), alone.density(t), within);
    }
    for s in [0.9, 0.5, 0.1, 0.01, 1e-6] {
        close(shared.quantile(above(s)).unwrap().value, alone.quantile(above(s)).value, within);
        close(
            shared.complete_quantile(above(s)).unwrap().value,
            alone.complete_quantile(above(s)).value,
            within,
        );
    }
    close(shared.mean().unwrap().value, alone.mean().unwrap().value, within);
    close(shared.sd().unwrap().value, alone.sd().unwrap().value, within);
    let (a, b) = (shared.verdicts().unwrap(), alone.verdicts());
    for (a, b) in [(a.complete, b.complete), (a.partial, b.partial), (a.failed, b.failed), (a.never, b.never)]
    {
        near(a, b);
    }
    near(shared.sends_copy().unwrap(), alone.sends_copy());
    near(shared.meets_slow_branch(0.01).unwrap(), alone.meets_slow_branch(0.01));
    for how in [Cancellation::AtOnce, Cancellation::After(0.3), Cancellation::Never] {
        let (a, b) = (shared.prices(how).unwrap(), alone.prices(how).unwrap());
        near(a.copies, b.copies);
        close(a.busy, b.busy, within);
        near(a.extra_busy.unwrap(), b.extra_busy.unwrap());
    }
    for group in 0..alone.plan().groups.len() {
        near(shared.copies(group).unwrap(), alone.copies(group));
        let shares = |outcomes: Outcomes| {
            let Outcomes { answered, failed, missed, unneeded, cancelled, never, .. } = outcomes;
            [answered, failed, missed, unneeded, cancelled, never]
        };
        let (a, b) = (shares(shared.outcomes(group).unwrap()), shares(alone.outcomes(group).unwrap()));
        a.into_iter().zip(b).for_each(|(a, b)| near(a, b));
        let (a, b) = (shared.branch(group), alone.branch(group));
        for t in TIMES {
            near(a.cdf(t), b.cdf(t));
        }
    }
}

#[test]
fn without_shares_every_figure_is_that_of_independent_branches() {
    for plan in small() {
        same(&plan.solve_dependent(Dependence::NONE).unwrap(), &plan.solve().unwrap(), 0.0);
    }
}

#[test]
fn shares_that_go_to_nothing_go_to_independent_branches() {
    // Through both integrals: a share of 1e-16 moves Z by 1e-8, up and down alike.
    for plan in small() {
        same(&plan.solve_dependent(shares(1e-16, 1e-16)).unwrap(), &plan.solve().unwrap(), 2e-8);
    }
}

#[test]
fn a_branch_answers_when_it_would_alone_whatever_the_others_do() {
    for (job, branch) in [(0.3, 0.0), (0.2, 0.3), (0.9, 0.05), (0.0, 0.6), (1.0, 0.0)] {
        for plan in small() {
            let shared = plan.solve_dependent(shares(job, branch)).unwrap();
            for (index, group) in plan.groups.iter().enumerate() {
                if group.delays.is_empty() {
                    let alone = plan.solve().unwrap().branch(index);
                    for t in TIMES {
                        close(shared.branch(index).survival(t), alone.survival(t), 1e-12);
                    }
                }
                // Copies that share less are worth more.
                let more = plan.solve_dependent(shares(job, branch / 2.0)).unwrap();
                for t in [1.0, 1.7] {
                    let (a, b) = (more.branch(index).cdf(t), shared.branch(index).cdf(t));
                    assert!(a >= b - 1e-12, "{a} {b}");
                }
            }
        }
    }
}

#[test]
fn when_all_is_shared_the_slowest_law_at_each_level_decides() {
    let laws =
        [call(), Law::weibull(0.8, 1.4).unwrap(), Law::exponential(0.7).unwrap().shifted(0.2).unwrap()];
    let groups: Vec<Group> =
        laws.iter().map(|law| Group { required: false, ..Group::new(1, law.clone()) }).collect();
    for k in 1..=3 {
        let plan = GroupedPlan { groups: groups.clone(), k, at_least: k, deadline: f64::INFINITY };
        let exactly = plan.solve_dependent(shares(1.0, 0.0)).unwrap();
        let nearly = plan.solve_dependent(shares(1.0 - 1e-13, 0.0)).unwrap();
        for s in [0.99, 0.5, 0.1, 1e-3, 1e-9] {
            let mut times = laws.clone().map(|law| law.quantile(above(s)));
            times.sort_unstable_by(f64::total_cmp);
            let expected = times[k as usize - 1];
            close(exactly.quantile(above(s)).unwrap().value, expected, 1e-12);
            close(nearly.quantile(above(s)).unwrap().value, expected, 1e-5);
        }
    }
    // Copies of no luck wait for what their primary waits for.
    let hedged = |delays: Vec<f64>| {
        GroupedPlan::all(Group { delays, ..Group::new(4, call()) }).solve_dependent(shares(0.4, 0.6)).unwrap()
    };
    let (with, without) = (hedged(vec![0.0, 1.0]), hedged(vec![]));
    for t in TIMES {
        assert_eq!(with.waiting(t).unwrap(), without.waiting(t).unwrap());
    }
    close(with.mean().unwrap().value, without.mean().unwrap().value, 1e-12);
    assert!(with.sends_copy().unwrap() == 1.0);
}

/// Shares near every corner of their triangle.
fn any_shares() -> impl Strategy<Value = Dependence> {
    let part =
        || select(vec![0.0, 1e-300, 1e-16, 1e-9, 1e-3, 0.3, 0.5, 0.9, 0.999, 1.0 - 1e-9, 1.0 - 1e-10, 1.0]);
    (part(), part()).prop_map(|(job, rest)| shares(job, (rest * (1.0 - job)).min(1.0 - job)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 4, ..ProptestConfig::default() })]

    #[test]
    fn shares_of_jobs_add_up_at_any_shares(shares in any_shares(), which in 0..6_usize) {
        let plan = &small()[which];
        let job = plan.solve_dependent(shares).unwrap();
        for t in TIMES {
            let sum = job.complete(t).unwrap() + job.partial(t).unwrap() + job.failed(t).unwrap();
            let returned = job.returned(t).unwrap();
            prop_assert!((sum - returned).abs() < 1e-10, "{t}: {sum} {returned}");
        }
        let verdicts = job.verdicts().unwrap();
        let sum = verdicts.complete + verdicts.partial + verdicts.failed + verdicts.never;
        prop_assert!((sum - 1.0).abs() < 1e-10, "{verdicts:?}");
        let at_once = job.prices(Cancellation::AtOnce).unwrap();
        prop_assert!(at_once.busy > 0.0 && at_once.busy.is_finite());
    }
}
