//! The search for the cheapest plan, against closed forms and exhaustive grids.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::tune::{Goal, Levers, Measure, Price, Relation, Tuned, Tuning};
use fantail_model::{Group, GroupedPlan, JobLaw, Law, Level, SolveError};
use proptest::prelude::*;

fn goal(measure: Measure, bound: f64) -> Goal {
    measure.at_worst(bound)
}

/// The quantile that a share of jobs is beyond.
fn beyond(share: f64) -> Measure {
    Measure::Quantile(Level::above(share).unwrap())
}

fn tuning(plan: GroupedPlan, goals: Vec<Goal>) -> Tuning {
    let levers = Levers::copies(&plan, 1);
    Tuning { plan, goals, price: Price::ExtraRequests, levers }
}

/// The chosen plan, with every goal checked by its figure.
fn chosen(tuning: &Tuning) -> JobLaw {
    let job = tuning.cheapest().unwrap().expect("a plan keeps the goals");
    assert!(keeps(tuning, &job), "{:?}", job.plan());
    job
}

fn keeps(tuning: &Tuning, job: &JobLaw) -> bool {
    tuning.goals.iter().all(|goal| goal.is_met(goal.measure.of(job).unwrap().unwrap()))
}

fn document() -> Law {
    Law::from_percentiles(&[(0.5, 0.8), (0.95, 1.5), (0.99, 2.4)]).unwrap().law
}

/// What may be dearer than the least price: one percent for few digits, and the rest for spacing and steps.
const TOLERANCE: f64 = 1.02;

/// For exponential calls of mean 1 with one copy after d, `P(no answer by t) = e^(d - 2t)`, so that n of them keep a
/// quantile p at t from `d = 2t + ln(1 - p^(1/n))` on.
#[test]
fn exponential_calls_get_the_copy_of_the_closed_form() {
    for (n, share, t) in [(1, 0.01, 3.0), (8, 0.01, 4.0), (8, 0.001, 5.0), (1_000_000, 0.05, 12.0)] {
        let plan = GroupedPlan::all(Group::new(n, Law::exponential(1.0).unwrap()));
        let job = chosen(&tuning(plan, vec![goal(beyond(share), t)]));
        let missed = -((-share_ln(share)) / n as f64).exp_m1().abs();
        let latest = 2.0 * t + missed.abs().ln();
        let least = (-latest).exp();
        let price = job.extra_requests();
        assert!(price >= least * (1.0 - 1e-6) && price <= 1.0101 * least, "{n} {t}: {price} for {least}");
    }
}

/// `-ln(1 - share)`, positive.
fn share_ln(share: f64) -> f64 {
    -(-share).ln_1p()
}

/// With at most a share x of extra requests the copy goes out at `-ln x`, and the quantile is `(d - ln(1 - p^(1/n))) / 2`.
#[test]
fn what_cannot_be_had_is_told_with_the_best_that_can() {
    let n = 8_u64;
    let plan = GroupedPlan::all(Group::new(n, Law::exponential(1.0).unwrap()));
    let asked = vec![goal(beyond(0.01), 4.2), goal(Measure::ExtraRequests, 0.05)];
    let Tuned { choice, attainable, .. } = tuning(plan, asked).run().unwrap();
    assert!(choice.is_none());
    let missed = -(-share_ln(0.01) / n as f64).exp_m1();
    let best = (-0.05_f64.ln() - missed.ln()) / 2.0;
    for found in [attainable[0].with_others, attainable[0].alone] {
        let found = found.unwrap();
        assert!(found >= best * (1.0 - 1e-6) && found < 1.005 * best, "{found} for {best}");
    }
    // At 4.2 seconds one copy costs e^-d of what is sent.
    let least = (-(8.4 + missed.ln())).exp();
    let found = attainable[1].with_others.unwrap();
    assert!(found >= least * (1.0 - 1e-6) && found <= 1.0101 * least, "{found} for {least}");
    assert_eq!(attainable[1].alone, Some(0.0));
}

/// Prices of every plan on a grid that keeps the goals, two copies of every branch at most.
fn least_on_grid(tuning: &Tuning, latest: f64, steps: usize) -> f64 {
    let mut least = f64::INFINITY;
    let at = |i: usize| latest * i as f64 / steps as f64;
    for first in 0..=steps {
        for second in first..=steps + 1 {
            let mut plan = tuning.plan.clone();
            for group in &mut plan.groups {
                group.delays = if second > steps { vec![at(first)] } else { vec![at(first), at(second)] };
            }
            let job = plan.solve().unwrap();
            let payable = job.is_payable(1.0);
            if payable && job.extra_requests() < least && keeps(tuning, &job) {
                least = job.extra_requests();
            }
        }
    }
    least
}

fn law() -> impl Strategy<Value = Law> {
    prop_oneof![
        (0.2..1.5).prop_map(|sigma| Law::log_normal(1.0, sigma).unwrap()),
        (0.5..2.0).prop_map(|shape| Law::weibull(shape, 1.0).unwrap()),
        (1.5..4.0).prop_map(|alpha| Law::pareto(0.5, alpha).unwrap()),
        Just(document()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// A bound between what the plan does and what a race of three would do is kept as cheaply as on a fine grid.
    #[test]
    fn no_plan_on_a_fine_grid_is_cheaper(
        law in law(), n in 1_u64..40, first in 0.5_f64..=1.0, share in 0.002..0.1, hard in 0.1..0.9,
    ) {
        let k = ((n as f64 * first).ceil() as u64).max(1);
        let plan = if k == n { GroupedPlan::all(Group::new(n, law)) } else { GroupedPlan::first(k, Group::new(n, law)) };
        let mut tuning = tuning(plan, vec![goal(beyond(share), 1.0)]);
        tuning.levers.most_copies = 2;
        let figure = |delays: Vec<f64>| {
            let mut plan = tuning.plan.clone();
            plan.groups[0].delays = delays;
            beyond(share).of(&plan.solve().unwrap()).unwrap().unwrap()
        };
        let (slow, fast) = (figure(vec![]), figure(vec![0.0, 0.0]));
        tuning.goals[0].bound = slow * (fast / slow).powf(hard);
        let price = chosen(&tuning).extra_requests();
        let least = least_on_grid(&tuning, tuning.goals[0].bound, 60);
        prop_assert!(price <= TOLERANCE * least, "{} for {} with {:?}", price, least, tuning);
    }

    /// Two kinds of branches, required or not, under a deadline: no pair of delays on a fine grid is cheaper.
    #[test]
    fn different_branches_share_the_price_as_well_as_on_a_grid(
        a in law(), b in law(), scale in 0.3..3.0, counts in (1_u64..6, 1_u64..6), hard in 0.1..0.8, optional: bool,
    ) {
        let b = b.scaled(scale).unwrap();
        let deadline = 1.2 * a.quantile(Level::above(0.02).unwrap()).max(b.quantile(Level::above(0.02).unwrap()));
        let groups = vec![
            Group { min_useful: 1e-3, ..Group::new(counts.0, a) },
            Group { required: !optional, min_useful: 1e-3, ..Group::new(counts.1, b) },
        ];
        let n = counts.0 + counts.1;
        let measure = if optional { Measure::Complete } else { Measure::Failed };
        let plan = GroupedPlan { groups, k: n, at_least: counts.0, deadline };
        let mut tuning = tuning(plan, vec![goal(measure, 0.0)]);
        let lost = |delays: [Vec<f64>; 2]| {
            let mut plan = tuning.plan.clone();
            for (group, delays) in plan.groups.iter_mut().zip(delays) {
                group.delays = delays;
            }
            1.0 - plan.solve().unwrap().verdicts().complete
        };
        let (most, fewest) = (lost([vec![], vec![]]), lost([vec![0.0], vec![0.0]]));
        let bound = most * (fewest / most).powf(hard);
        tuning.goals[0].bound = if optional { 1.0 - bound } else { bound };
        let price = chosen(&tuning).extra_requests();
        let steps = 120;
        let mut least = f64::INFINITY;
        for i in 0..=steps {
            for j in 0..=steps {
                let mut plan = tuning.plan.clone();
                for (group, step) in plan.groups.iter_mut().zip([i, j]) {
                    if step < steps {
                        group.delays = vec![deadline * f64::from(step) / f64::from(steps)];
                    }
                }
                let job = plan.solve().unwrap();
                if job.extra_requests() < least && keeps(&tuning, &job) {
                    least = job.extra_requests();
                }
            }
        }
        prop_assert!(price <= 1.03 * least, "{} for {} with {:?}", price, least, tuning);
    }

    /// A tighter bound is never cheaper, and what is chosen keeps every goal.
    #[test]
    fn tighter_goals_are_never_cheaper(law in law(), n in 1_u64..100, steps in 2_i32..6) {
        let plan = GroupedPlan::all(Group::new(n, law));
        let slow = plan.solve().unwrap().quantile(Level::above(0.01).unwrap()).value;
        let mut before = 0.0;
        for i in 1..=steps {
            let mut tuning = tuning(plan.clone(), vec![goal(beyond(0.01), slow * 0.9_f64.powi(i))]);
            tuning.levers.most_copies = 3;
            let Some(job) = tuning.cheapest().unwrap() else { break };
            prop_assert!(keeps(&tuning, &job));
            prop_assert!(job.extra_requests() >= before / TOLERANCE, "{} after {}", job.extra_requests(), before);
            before = job.extra_requests();
        }
    }
}

/// The deadline for a completeness: `Q(c^(1/n))` of like branches, and a root of different ones.
#[test]
fn the_earliest_deadline_completes_just_enough() {
    let completes = |plan: &GroupedPlan, share: f64| {
        let deadline = plan.deadline_for(Level::above(share).unwrap()).unwrap();
        let cut = GroupedPlan { deadline, ..plan.clone() }.solve().unwrap();
        let missed = 1.0 - cut.verdicts().complete;
        assert!((missed / share - 1.0).abs() < 1e-9, "{missed} for {share} at {deadline} with {plan:?}");
        deadline
    };
    let weibull = Law::weibull(0.7, 1.0).unwrap();
    for (n, share) in [(1_u64, 0.5), (5, 0.05), (1_000_000, 1e-6)] {
        let deadline = completes(&GroupedPlan::all(Group::new(n, weibull.clone())), share);
        // Q(p) = (-ln(1 - p))^(1/0.7), and 1 - c^(1/n) of the calls are late.
        let late = -((-share).ln_1p() / n as f64).exp_m1();
        assert!((deadline / (-late.ln()).powf(1.0 / 0.7) - 1.0).abs() < 1e-9, "{n} {share}: {deadline}");
    }
    let groups = vec![
        Group::new(3, document()),
        Group { required: false, ..Group::new(2, weibull.clone()) },
        Group { deadline: 3.0, required: false, ..Group::new(1, document()) },
    ];
    completes(&GroupedPlan { groups, k: 5, at_least: 3, deadline: 9.0 }, 0.03);
    // A copy that the deadline leaves too little time for is not sent, which makes the deadline later.
    let hedged = Group { delays: vec![1.5], min_useful: 0.8, ..Group::new(5, document()) };
    let sent = completes(&GroupedPlan::all(Group { min_useful: 0.0, ..hedged.clone() }), 0.03);
    let plain = completes(&GroupedPlan::all(Group::new(5, document())), 0.03);
    let with = GroupedPlan::all(hedged).deadline_for(Level::above(0.03).unwrap()).unwrap();
    assert!(sent < 2.3 && (2.3 - 1e-9..plain).contains(&with), "{sent} {with} {plain}");
    // No deadline brings back what never answers.
    let never = GroupedPlan::all(Group::new(2, document().cut(2.0).unwrap()));
    assert_eq!(never.deadline_for(Level::above(0.01).unwrap()).unwrap(), f64::INFINITY);
}

fn with_deadline(plan: GroupedPlan, goals: Vec<Goal>) -> Tuning {
    let mut tuning = tuning(plan, goals);
    tuning.levers.deadline = true;
    tuning
}

#[test]
fn a_deadline_is_set_only_where_losses_are_bounded() {
    let five = || GroupedPlan::first(5, Group::new(5, document()));
    let strict = |measure, relation, bound| Goal { measure, relation, bound };
    let p99 = strict(beyond(0.01), Relation::Below, 2.5);
    let complete = strict(Measure::Complete, Relation::Above, 0.95);
    // With nothing said of losses every bound on time could be kept by giving up.
    assert_eq!(chosen(&with_deadline(five(), vec![p99])).plan().deadline, f64::INFINITY);
    // The latest that keeps the bound on time, in few digits, and no copies.
    let job = chosen(&with_deadline(five(), vec![p99, complete]));
    assert_eq!((job.plan().deadline, job.extra_requests()), (2.49, 0.0));
    // Without a bound on time the earliest that completes enough, in few digits.
    let job = chosen(&with_deadline(five(), vec![complete]));
    let exact = five().deadline_for(Level::above(0.05).unwrap()).unwrap();
    assert!((exact..exact + 0.01).contains(&job.plan().deadline), "{} for {exact}", job.plan().deadline);
    // And none at all where the goals can be kept without one.
    let loose = strict(beyond(0.01), Relation::Below, 4.0);
    assert_eq!(chosen(&with_deadline(five(), vec![loose, complete])).plan().deadline, f64::INFINITY);
}

#[test]
fn k_is_the_largest_that_needs_no_copies() {
    let plan = GroupedPlan { at_least: 3, ..GroupedPlan::first(8, Group::new(8, document())) };
    let mut tuning = tuning(plan, vec![goal(beyond(0.01), 1.5)]);
    tuning.levers.least_k = 4;
    let job = chosen(&tuning);
    let needs_none = |k: u64| {
        let job = GroupedPlan { k, ..tuning.plan.clone() }.solve().unwrap();
        keeps(&tuning, &job)
    };
    let most = (4..=8).rev().find(|k| needs_none(*k)).unwrap();
    assert_eq!((job.plan().k, job.plan().has_copies()), (most, false));
    // Where copies are needed for each, the fewest answers are the cheapest.
    tuning.goals[0].bound = 0.85;
    let job = chosen(&tuning);
    assert_eq!((job.plan().k, job.plan().at_least, job.plan().has_copies()), (4, 3, true));
}

#[test]
fn what_is_not_freed_is_held() {
    let groups = vec![
        Group { cost: Some(1.0), ..Group::new(3, document()) },
        Group { required: false, cost: Some(5.0), ..Group::new(2, document()) },
    ];
    let plan = GroupedPlan { groups, k: 5, at_least: 3, deadline: 2.5 };
    let mut tuning = tuning(plan, vec![goal(Measure::Failed, 0.004)]);
    tuning.levers.most_copies = 3;
    // Optional branches cannot make the job fail, so that copies of them buy nothing.
    let job = chosen(&tuning);
    let found = job.plan();
    assert_eq!((found.k, found.at_least, found.deadline), (5, 3, 2.5));
    assert_eq!((found.groups[0].required, found.groups[1].required), (true, false));
    assert!(!found.groups[0].delays.is_empty() && found.groups[1].delays.is_empty(), "{found:?}");
    // The median of the law is left for a copy, as in a plan file.
    assert_eq!(found.groups[0].min_useful, 0.8);
    tuning.levers.hedged = vec![false, true];
    assert!(tuning.cheapest().unwrap().is_none());
    tuning.levers.hedged = vec![true, true];
    // A budget that is too small leaves what it does not pay for: copies at the start.
    tuning.levers.budget = 0.02;
    let found = chosen(&tuning);
    assert!(found.plan().groups[0].delays[0] == 0.0 && found.delayed_copies() <= 0.02 * 5.0 * 1.000_01);
    // Money decides between kinds of branches: those that cost less get the copies.
    tuning.levers.budget = f64::INFINITY;
    tuning.price = Price::Cost;
    tuning.goals = vec![goal(Measure::Complete, 0.97)];
    let job = chosen(&tuning);
    let copies: Vec<f64> = (0..2).map(|group| job.copies(group)).collect();
    assert!(copies[0] > 2.0 * copies[1], "{copies:?}");
}

/// A budget limits copies after a delay and no race: what is feasible falls apart, and the race is found all the same.
#[test]
fn a_race_is_found_where_a_budget_pays_for_too_few_copies() {
    let five = || GroupedPlan::all(Group::new(5, document()));
    let mut different = five();
    different.groups.push(Group::new(2, document().scaled(0.9).unwrap()));
    different.k = 7;
    for (plan, budget, asked) in [
        // Two copies a branch, soon after the start, are more than any budget pays for.
        (five(), f64::INFINITY, goal(beyond(0.1), 0.939)),
        (five(), 0.05, goal(beyond(0.01), 1.0)),
        (different, 0.05, goal(beyond(0.01), 1.02)),
    ] {
        let mut tuning = tuning(plan, vec![asked]);
        (tuning.levers.most_copies, tuning.levers.budget) = (3, budget);
        let job = chosen(&tuning);
        let most = budget.min(1.0) * 1.000_01 * job.n() as f64;
        assert!(job.plan().has_copies() && job.delayed_copies() <= most, "{:?}", job.plan());
        for job in tuning.run().unwrap().frontier {
            assert!(job.delayed_copies() <= most, "{:?}", job.plan());
        }
    }
}

/// A copy at once and one later cost hardly more than one copy each, and a budget pays for the later ones alone.
#[test]
fn a_race_may_have_later_copies_that_a_budget_pays_for() {
    let group = Group { required: false, ..Group::new(13, Law::log_normal(1.0, 1.103).unwrap()) };
    let mut tuning = tuning(GroupedPlan::first(7, group), vec![goal(beyond(0.002), 1.233)]);
    tuning.levers.most_copies = 2;
    let job = chosen(&tuning);
    let least = least_on_grid(&tuning, 1.233, 60);
    assert!(job.extra_requests() <= TOLERANCE * least && least < 1.1, "{} {least}", job.extra_requests());
    assert!(job.plan().groups[0].delays[0] == 0.0 && job.delayed_copies() < 0.1 * job.n() as f64);
}

#[test]
fn no_copy_is_planned_that_the_deadline_leaves_no_time_for() {
    let groups =
        [Group::new(1, Law::exponential(1.0).unwrap()), Group::new(1, Law::log_normal(0.6, 1.0).unwrap())];
    for timeout in [f64::INFINITY, 1.4] {
        let groups = groups.iter().map(|group| Group { attempt_timeout: timeout, ..group.clone() }).collect();
        let plan = GroupedPlan { groups, k: 2, at_least: 2, deadline: 3.0 };
        for lost in [0.02, 0.03, 0.05, 0.08] {
            let mut tuning = tuning(plan.clone(), vec![goal(Measure::Failed, lost)]);
            tuning.levers.most_copies = 3;
            let Tuned { choice, frontier, .. } = tuning.run().unwrap();
            for job in choice.iter().chain(&frontier) {
                for group in &job.plan().groups {
                    let due = group.delays.iter().all(|delay| delay + group.min_useful <= 3.0 + 1e-9);
                    assert!(due, "{lost}: {:?}", job.plan());
                }
            }
        }
    }
}

/// A plan without a deadline completes every job, which no deadline does.
#[test]
fn what_is_attainable_is_no_worse_than_the_plan_as_it_is() {
    let plan = GroupedPlan::first(5, Group::new(5, document()));
    let asked = Goal { relation: Relation::Above, ..goal(Measure::Complete, 1.0) };
    let Tuned { choice, attainable, .. } = with_deadline(plan, vec![asked]).run().unwrap();
    assert!(choice.is_none());
    assert_eq!((attainable[0].with_others, attainable[0].alone), (Some(1.0), Some(1.0)));
}

/// Whatever is left of a deadline's losses by rounding, it is not nothing.
#[test]
fn all_jobs_are_complete_only_where_none_can_be_cut() {
    let plan = || GroupedPlan::all(Group::new(5, document()));
    let asked = || vec![goal(Measure::Complete, 1.0)];
    assert_eq!(chosen(&with_deadline(plan(), asked())).plan().deadline, f64::INFINITY);
    let late = GroupedPlan { deadline: 1e6, ..plan() };
    assert!(late.solve().unwrap().verdicts().failed > 0.0);
    let held = tuning(late, asked()).run().unwrap();
    assert!(held.choice.is_none());
    assert!(held.attainable[0].alone < Some(1.0), "{:?}", held.attainable);
}

#[test]
fn levers_that_do_not_fit_the_plan_are_refused() {
    let good = tuning(GroupedPlan::all(Group::new(5, document())), vec![goal(beyond(0.01), 2.5)]);
    for (least_k, hedged) in [(0, vec![true]), (6, vec![true]), (5, vec![]), (5, vec![true, true])] {
        let mut bad = good.clone();
        (bad.levers.least_k, bad.levers.hedged) = (least_k, hedged);
        assert!(matches!(bad.run(), Err(SolveError::OutOfRange { .. })));
    }
}

/// On the frontier every plan is dearer than the one before and better.
#[test]
fn a_frontier_buys_something_with_every_step() {
    let groups = vec![Group::new(3, document()), Group::new(2, Law::log_normal(0.5, 1.0).unwrap())];
    let different = GroupedPlan { groups, k: 5, at_least: 5, deadline: f64::INFINITY };
    let like = GroupedPlan::all(Group::new(100, Law::log_normal(1.0, 0.6).unwrap()));
    let cut = GroupedPlan { deadline: 2.5, ..GroupedPlan::all(Group::new(5, document())) };
    for (plan, asked) in [
        (different, goal(beyond(0.01), 3.0)),
        (like, goal(Measure::Mean, 3.0)),
        (cut, goal(Measure::Failed, 0.01)),
    ] {
        let Tuned { frontier, frontier_of, .. } = tuning(plan, vec![asked]).run().unwrap();
        assert_eq!(frontier_of, asked.measure);
        assert!(frontier.len() >= 4 && !frontier[0].plan().has_copies(), "{}", frontier.len());
        for pair in frontier.windows(2) {
            let figure = |job: &JobLaw| asked.measure.of(job).unwrap().unwrap();
            assert!(pair[0].extra_requests() < pair[1].extra_requests());
            assert!(figure(&pair[1]) < figure(&pair[0]), "{} {}", figure(&pair[0]), figure(&pair[1]));
        }
    }
}

/// Whatever is asked, the search ends with a plan that keeps it or without one.
#[test]
fn nothing_that_is_asked_breaks_the_search() {
    let laws = [
        document(),
        Law::log_normal(1e-9, 20.0).unwrap(),
        Law::log_normal(1.0, 1e-9).unwrap(),
        Law::pareto(1.0, 0.01).unwrap(),
        document().cut(1.0).unwrap(),
    ];
    let bounds = [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, 1e-300, 0.5, 1.0, 1e300, f64::INFINITY];
    let measures = [
        beyond(0.01),
        beyond(1e-300),
        Measure::Complete,
        Measure::Partial,
        Measure::Failed,
        Measure::ExtraRequests,
        Measure::ExtraBusy,
        Measure::Cost,
    ];
    for (i, law) in laws.iter().enumerate() {
        for (j, bound) in bounds.iter().enumerate() {
            let measure = measures[(i + j) % measures.len()];
            for n in [1, 1_000_000_000_000] {
                let plan = GroupedPlan::first(n, Group::new(n, law.clone()));
                let asked = vec![goal(measure, *bound), goal(Measure::Failed, 0.5)];
                let mut tuning = with_deadline(plan, asked);
                tuning.levers.most_copies = 2;
                if let Some(job) = tuning.run().unwrap().choice {
                    assert!(keeps(&tuning, &job), "{:?}", job.plan());
                }
            }
        }
    }
}
