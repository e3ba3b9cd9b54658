//! By a square grid over J and B, and every set of branches that may have answered.

use fantail_model::special::normal_quantile;
use fantail_model::{Dependence, Group, GroupedPlan, Law};

use super::plans::small;
use super::{close, shares};

const STEP: f64 = 1.0 / 16.0;

fn grid() -> impl Iterator<Item = (f64, f64)> {
    (-150..=150).map(|i| {
        let x = f64::from(i) * STEP;
        (x, STEP * (-0.5 * x * x).exp() / core::f64::consts::TAU.sqrt())
    })
}

/// Upper tail of the standard normal, from a law.
fn tail(z: f64) -> f64 {
    Law::log_normal(1.0, 1.0).unwrap().survival(z.exp())
}

/// When attempts of a group start, and when it gives up; every copy here is due before the attempt before it times out.
fn starts(group: &Group) -> Vec<f64> {
    core::iter::once(0.0).chain(group.delays.iter().copied()).collect()
}

fn expires(plan: &GroupedPlan, group: &Group) -> f64 {
    let last = starts(group).last().unwrap() + group.attempt_timeout;
    last.min(group.deadline).min(plan.deadline)
}

/// P(a branch of the group has no answer by t | J = j).
fn open(group: &Group, shares: Dependence, t: f64, j: f64) -> f64 {
    let zs: Vec<f64> = starts(group)
        .into_iter()
        .filter(|start| *start < t)
        .map(|start| normal_quantile(group.law.hazard((t - start).min(group.attempt_timeout))))
        .collect();
    let given = |b: f64| {
        let less = shares.job().sqrt() * j + shares.branch().sqrt() * b;
        zs.iter().map(|z| tail((z - less) / shares.luck().sqrt())).product::<f64>()
    };
    grid().map(|(b, weight)| weight * given(b)).sum()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Answered,
    Open,
    Missed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Complete,
    Partial,
    Failed,
    Waiting,
}

/// The rules of a job, from the states of its branches.
fn judge(plan: &GroupedPlan, states: &[(bool, State)]) -> End {
    let answered = states.iter().filter(|(_, state)| *state == State::Answered).count() as u64;
    let open = states.iter().filter(|(_, state)| *state == State::Open).count() as u64;
    let required = |wanted: State| states.iter().any(|(required, state)| *required && *state == wanted);
    if required(State::Missed) || answered + open < plan.at_least {
        End::Failed
    } else if !required(State::Open) && answered >= plan.k {
        End::Complete
    } else if open == 0 {
        End::Partial
    } else {
        End::Waiting
    }
}

/// P(each end at t | J = j); with `held`, a branch of that group is open for certain.
fn ends(plan: &GroupedPlan, shares: Dependence, t: f64, j: f64, held: Option<usize>) -> [f64; 4] {
    let mut branches: Vec<(bool, State, f64)> = Vec::new();
    for (index, group) in plan.groups.iter().enumerate() {
        let expires = expires(plan, group);
        let rest = if expires <= t { State::Missed } else { State::Open };
        let open = open(group, shares, t.min(expires), j);
        branches.extend((0..group.count).map(|_| (group.required, rest, open)));
        if held == Some(index) {
            branches.last_mut().unwrap().2 = 1.0;
        }
    }
    let mut sums = [0.0; 4];
    for set in 0..1_u32 << branches.len() {
        let has = |i: usize| set >> i & 1 == 1;
        let chance: f64 =
            (0..branches.len()).map(|i| if has(i) { 1.0 - branches[i].2 } else { branches[i].2 }).product();
        let states: Vec<(bool, State)> = branches
            .iter()
            .enumerate()
            .map(|(i, (required, rest, _))| (*required, if has(i) { State::Answered } else { *rest }))
            .collect();
        sums[judge(plan, &states) as usize] += chance;
    }
    sums
}

const SHARES: [(f64, f64); 3] = [(0.2, 0.3), (0.45, 0.1), (0.1, 0.6)];

#[test]
fn jobs_of_different_branches_end_as_on_a_square_grid() {
    for plan in small() {
        for (job, branch) in SHARES {
            let shares = shares(job, branch);
            let shared = plan.solve_dependent(shares).unwrap();
            for t in [0.5, 1.1, 1.7, 2.1, 6.0] {
                let mut expected = [0.0; 4];
                for (j, weight) in grid() {
                    let given = ends(&plan, shares, t, j, None);
                    expected.iter_mut().zip(given).for_each(|(sum, share)| *sum += weight * share);
                }
                let found = [
                    shared.complete(t).unwrap(),
                    shared.partial(t).unwrap(),
                    shared.failed(t).unwrap(),
                    shared.waiting(t).unwrap(),
                ];
                for (found, expected) in found.into_iter().zip(expected) {
                    assert!(
                        (found - expected).abs() <= 1e-11 * expected.max(1e-3),
                        "{plan:?} {shares:?} {t}: {found} {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn copies_start_while_branch_and_job_are_open_as_on_a_square_grid() {
    for plan in small() {
        for (job, branch) in SHARES {
            let shares = shares(job, branch);
            let shared = plan.solve_dependent(shares).unwrap();
            for (index, group) in plan.groups.iter().enumerate() {
                let due = |start: f64| -> f64 {
                    let one = |(j, weight): (f64, f64)| {
                        let waits = ends(&plan, shares, start, j, Some(index))[End::Waiting as usize];
                        weight * open(group, shares, start, j) * waits
                    };
                    grid().map(one).sum()
                };
                let expected: f64 = group.delays.iter().copied().map(due).sum();
                close(shared.copies(index).unwrap(), expected, 1e-10);
            }
        }
    }
}
