//! Plans of every kind, for all tests here.

use fantail_model::{Group, GroupedPlan, Law};

pub(crate) fn call() -> Law {
    Law::log_normal(1.0, 0.6).unwrap()
}

/// Small plans of different branches: barriers, required and optional, copies, deadlines and attempt time-outs, each once
/// at least.
pub(crate) fn small() -> Vec<GroupedPlan> {
    let never = f64::INFINITY;
    let slow = || Law::weibull(0.8, 1.4).unwrap();
    let late = || Law::exponential(0.7).unwrap().shifted(0.2).unwrap();
    let optional = |count: u64, law: Law| Group { required: false, ..Group::new(count, law) };
    let copies = |delays: &[f64], group: Group| Group { delays: delays.to_vec(), ..group };
    let until = |deadline: f64, group: Group| Group { deadline, ..group };
    let plan = |groups: Vec<Group>, k: u64, at_least: u64, deadline: f64| GroupedPlan {
        groups,
        k,
        at_least,
        deadline,
    };
    vec![
        plan(vec![Group::new(2, call()), Group::new(1, slow())], 3, 3, never),
        plan(vec![copies(&[1.5], Group::new(2, call())), Group::new(1, late())], 3, 3, 3.0),
        plan(vec![optional(2, call()), copies(&[0.8], optional(2, slow()))], 2, 2, never),
        plan(vec![Group::new(1, late()), copies(&[0.0], optional(3, call()))], 3, 2, 2.5),
        plan(
            vec![
                until(1.0, Group::new(1, call())),
                until(1.6, optional(2, slow())),
                copies(&[0.7, 1.4], optional(1, call())),
            ],
            3,
            1,
            2.2,
        ),
        plan(
            vec![
                Group { attempt_timeout: 1.2, ..copies(&[0.9], Group::new(1, call())) },
                Group { attempt_timeout: 0.9, ..copies(&[0.5], optional(2, late())) },
            ],
            2,
            1,
            2.0,
        ),
    ]
}
