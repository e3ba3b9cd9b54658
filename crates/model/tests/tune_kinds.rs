//! The search for the cheapest plan, kind by kind: what was once missed, against grids over the levers.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::tune::{Goal, Levers, Measure, Price, Tuned, Tuning};
use fantail_model::{Group, GroupedPlan, JobLaw, Law, Level};

fn beyond(share: f64) -> Measure {
    Measure::Quantile(Level::above(share).unwrap())
}

fn law(median: f64, sigma: f64) -> Law {
    Law::log_normal(median, sigma).unwrap()
}

fn tuning(plan: GroupedPlan, most_copies: usize, goals: Vec<Goal>) -> Tuning {
    Tuning { levers: Levers::copies(&plan, most_copies), plan, goals, price: Price::ExtraRequests }
}

fn keeps(tuning: &Tuning, job: &JobLaw) -> bool {
    let payable = job.is_payable(tuning.levers.budget.min(1.0));
    payable && tuning.goals.iter().all(|goal| goal.is_met(goal.measure.of(job).unwrap().unwrap()))
}

fn chosen(tuning: &Tuning) -> JobLaw {
    let job = tuning.cheapest().unwrap().unwrap_or_else(|| panic!("no plan for {tuning:?}"));
    assert!(keeps(tuning, &job), "{:?}", job.plan());
    job
}

/// The least price of the plans with these delays, every group one of its own list.
fn least_of(tuning: &Tuning, options: &[Vec<Vec<f64>>]) -> f64 {
    let mut least = f64::INFINITY;
    let mut at = vec![0; options.len()];
    loop {
        let mut plan = tuning.plan.clone();
        for (group, (list, i)) in plan.groups.iter_mut().zip(options.iter().zip(&at)) {
            group.delays.clone_from(&list[*i]);
        }
        let job = plan.solve().unwrap();
        if job.extra_requests() < least && keeps(tuning, &job) {
            least = job.extra_requests();
        }
        let Some(next) = (0..at.len()).find(|group| at[*group] + 1 < options[*group].len()) else { break };
        at[..next].fill(0);
        at[next] += 1;
    }
    least
}

/// None, one and two copies, evenly over the time up to `latest`.
fn delays(latest: f64, steps: usize, most: usize) -> Vec<Vec<f64>> {
    let at = |i: usize| latest * i as f64 / steps as f64;
    let mut list = vec![vec![]];
    for i in (0..steps).filter(|_| most > 0) {
        list.push(vec![at(i)]);
        list.extend((i..steps).filter(|_| most > 1).map(|j| vec![at(i), at(j)]));
    }
    list
}

/// Busy time is least with copies that are neither early nor late: the latest that keep a bound on time may break one on it.
#[test]
fn a_bound_on_busy_time_is_kept_where_a_plan_on_a_grid_keeps_it() {
    for (n, call, share, hard) in
        [(5, law(1.0, 1.5), 0.05, 0.5), (1, law(1.0, 2.0), 0.01, 0.3), (20, law(1.0, 1.0), 0.1, 0.7)]
    {
        let plan = GroupedPlan::all(Group::new(n, call));
        let slow = beyond(share).of(&plan.solve().unwrap()).unwrap().unwrap();
        let mut tuning = tuning(plan, 1, vec![beyond(share).at_worst(hard * slow)]);
        let busy = |job: &JobLaw| Measure::ExtraBusy.of(job).unwrap().unwrap();
        let latest = busy(&chosen(&tuning));
        let earlier = delays(hard * slow, 200, 1).into_iter().map(|delays| {
            let mut plan = tuning.plan.clone();
            plan.groups[0].delays = delays;
            plan.solve().unwrap()
        });
        let least =
            earlier.filter(|job| keeps(&tuning, job)).map(|job| busy(&job)).fold(f64::INFINITY, f64::min);
        assert!(least < latest - 0.01, "{least} {latest}: nothing to find");
        tuning.goals.push(Measure::ExtraBusy.at_worst(latest + 0.9 * (least - latest)));
        let price = chosen(&tuning).extra_requests();
        let grid = least_of(&tuning, &[delays(hard * slow, 200, 1)]);
        assert!(price <= 1.02 * grid, "{price} for {grid} of {n}");
        // Beyond what any has, the least is told.
        tuning.goals[1].bound = least - 0.05;
        let Tuned { choice, attainable, .. } = tuning.run().unwrap();
        let told = attainable[1].with_others.unwrap();
        assert!(choice.is_none() && (told - least).abs() < 0.01, "{told} for {least}");
    }
}

/// Of eight kinds, one of which times out before the deadline, and whose copies need time that is left.
fn eight_kinds(at_least: u64) -> GroupedPlan {
    let optional = |group: Group| Group { required: false, ..group };
    let regimes = Law::mixture(&[(0.95, law(0.1, 0.3)), (0.05, law(5.0, 0.3))]).unwrap();
    let kinds = [
        Group::new(1, law(0.1, 0.3)),
        Group::new(1, law(0.3, 0.6)),
        Group::new(1, law(0.6, 0.9)),
        optional(Group::new(1, Law::pareto(0.2, 1.5).unwrap())),
        optional(Group::new(1, Law::weibull(0.6, 0.3).unwrap())),
        optional(Group::new(1, regimes)),
        Group { attempt_timeout: 1.0, ..Group::new(1, Law::exponential(0.4).unwrap()) },
        Group::new(1, Law::gamma(2.0, 0.2).unwrap()),
    ];
    let groups = kinds.into_iter().map(|group| Group { min_useful: 0.1, ..group }).collect();
    GroupedPlan { groups, k: 8, at_least, deadline: 3.0 }
}

fn rising(count: u64) -> Vec<Group> {
    let group = |i: u64| Group::new(1, law(0.1 + 0.037 * i as f64, 0.3 + 0.02 * i as f64));
    (0..count).map(group).collect()
}

/// Whatever one may do with fewer copies one may do with more.
#[test]
fn more_copies_are_never_dearer() {
    let all = |groups: Vec<Group>| {
        let n = groups.iter().map(|group| group.count).sum();
        GroupedPlan { groups, k: n, at_least: n, deadline: f64::INFINITY }
    };
    let some = |k: u64, groups: Vec<Group>| {
        let groups = groups.into_iter().map(|group| Group { required: false, ..group }).collect();
        GroupedPlan { k, at_least: k, ..all(groups) }
    };
    let two = || vec![Group::new(3, law(1.0, 0.6)), Group::new(4, law(0.5, 1.2))];
    let mean = |plan: &GroupedPlan| Measure::Mean.of(&plan.solve().unwrap()).unwrap().unwrap();
    let slow_mean = 0.8 * mean(&all(two()));
    for (plan, goal) in [
        (eight_kinds(4), Measure::Complete.at_worst(0.88)),
        (eight_kinds(4), Measure::Complete.at_worst(0.9)),
        (eight_kinds(4), Measure::Complete.at_worst(0.91)),
        (eight_kinds(4), Measure::Failed.at_worst(0.08)),
        (all(two()), beyond(0.01).at_worst(4.0)),
        (all(two()), Measure::Mean.at_worst(slow_mean)),
        (all(rising(12)), beyond(0.01).at_worst(1.2)),
        (some(10, rising(12)), beyond(0.01).at_worst(0.6)),
    ] {
        let mut before: Option<f64> = None;
        for most_copies in 0..=4 {
            let tuning = tuning(plan.clone(), most_copies, vec![goal]);
            let price = tuning.cheapest().unwrap().map(|job| {
                assert!(keeps(&tuning, &job), "{:?}", job.plan());
                job.extra_requests()
            });
            if let Some(before) = before {
                let price = price.unwrap_or(f64::INFINITY);
                assert!(price <= 1.01 * before, "{price} after {before} with {most_copies} and {goal:?}");
            }
            before = price.or(before);
        }
        assert!(before.is_some(), "{goal:?}");
    }
}

/// A copy of the two that matter, each just in time.
#[test]
fn what_two_copies_of_eight_kinds_can_do_is_found() {
    let mut plan = eight_kinds(4);
    plan.groups[5].delays = vec![2.44];
    plan.groups[6].delays = vec![0.99];
    let job = plan.solve().unwrap();
    let complete = job.verdicts().complete;
    for most_copies in 1..=4 {
        let tuning = tuning(eight_kinds(4), most_copies, vec![Measure::Complete.at_worst(complete)]);
        assert!(chosen(&tuning).extra_requests() <= 1.01 * job.extra_requests());
    }
}

#[test]
fn two_kinds_keep_a_mean_as_cheaply_as_on_a_grid() {
    for (first, second, hard) in [
        (Group::new(3, law(1.0, 0.6)), Group::new(4, law(0.5, 1.2)), 0.85),
        (Group::new(1, law(1.0, 1.0)), Group::new(10, law(0.3, 0.8)), 0.7),
    ] {
        let n = first.count + second.count;
        let plan = GroupedPlan { groups: vec![first, second], k: n, at_least: n, deadline: f64::INFINITY };
        let bound = hard * plan.solve().unwrap().mean().unwrap().value;
        let tuning = tuning(plan, 1, vec![Measure::Mean.at_worst(bound)]);
        let price = chosen(&tuning).extra_requests();
        let list = delays(4.0 * bound, 40, 1);
        let least = least_of(&tuning, &[list.clone(), list]);
        assert!(price <= 1.03 * least, "{price} for {least}");
    }
}

/// Some at once and one later is a plan that no even spacing comes near.
#[test]
fn a_race_with_one_late_copy_is_found() {
    let plan = GroupedPlan::all(Group::new(5, law(1.0, 1.5)));
    let with = |delays: Vec<f64>| {
        let mut plan = plan.clone();
        plan.groups[0].delays = delays;
        plan.solve().unwrap()
    };
    let bound = 1.0001 * with(vec![0.0, 0.0, 0.6]).quantile(Level::above(0.01).unwrap()).value;
    let tuning = tuning(plan.clone(), 3, vec![beyond(0.01).at_worst(bound)]);
    let price = chosen(&tuning).extra_requests();
    let late = delays(bound, 40, 2).into_iter().filter(|late| late.len() == 2);
    let steps = late.map(|late| [vec![0.0], late].concat());
    let least = least_of(&tuning, &[steps.collect()]);
    let of_known = with(vec![0.0, 0.0, 0.6]).extra_requests();
    assert!(price <= 1.02 * least.min(of_known), "{price} for {least} and {of_known}");
}

#[test]
fn the_chosen_plan_is_on_the_frontier() {
    let like = GroupedPlan::all(Group::new(5, law(1.0, 0.6)));
    let several = GroupedPlan { groups: rising(6), k: 6, at_least: 6, deadline: f64::INFINITY };
    for (plan, asked) in [
        (like.clone(), beyond(0.01).at_worst(3.0)),
        (like.clone(), Measure::Mean.at_worst(1.5)),
        (several, beyond(0.01).at_worst(0.9)),
        (eight_kinds(4), Measure::Complete.at_worst(0.9)),
    ] {
        let Tuned { choice, frontier, .. } = tuning(plan, 2, vec![asked]).run().unwrap();
        let choice = choice.unwrap();
        let loss = |job: &JobLaw| {
            let figure = asked.measure.of(job).unwrap().unwrap();
            if asked.measure.less_is_better() { figure } else { -figure }
        };
        let as_good =
            |job: &JobLaw| job.extra_requests() <= choice.extra_requests() && loss(job) <= loss(&choice);
        assert!(frontier.iter().any(as_good), "{asked:?}");
    }
}

/// The plans that money buys may be bounded in requests, and then are.
#[test]
fn a_bound_on_requests_holds_where_cost_is_the_price() {
    let priced = |count, cost, call| Group { cost: Some(cost), ..Group::new(count, call) };
    let groups = vec![priced(4, 0.001, law(1.0, 0.5)), priced(1, 0.1, law(1.0, 0.9))];
    let plan = GroupedPlan { groups, k: 5, at_least: 5, deadline: f64::INFINITY };
    let extra = Measure::ExtraRequests.at_worst(0.02);
    let goals = vec![beyond(0.01).at_worst(6.0), extra];
    let mut tuning = tuning(plan, 1, goals);
    tuning.price = Price::Cost;
    let Tuned { choice, frontier, .. } = tuning.run().unwrap();
    assert!(keeps(&tuning, &choice.unwrap()) && frontier.len() > 2);
    for job in frontier {
        assert!(extra.is_met(job.extra_requests()), "{}", job.extra_requests());
    }
}

/// Of a job that may wait for fewer none is cut before it has to.
#[test]
fn fewer_answers_come_before_a_deadline_that_fails_jobs() {
    let plan = GroupedPlan::first(8, Group::new(8, law(1.0, 0.6)));
    let time = |k: u64| GroupedPlan { k, at_least: k, ..plan.clone() }.solve().unwrap();
    let bound = beyond(0.01).of(&time(7)).unwrap().unwrap();
    let goals = vec![beyond(0.01).at_worst(bound), Measure::Failed.at_worst(0.2)];
    let mut tuning = tuning(plan.clone(), 1, goals);
    (tuning.levers.least_k, tuning.levers.deadline) = (6, true);
    let job = chosen(&tuning);
    assert_eq!((job.plan().k, job.plan().deadline, job.verdicts().failed), (7, f64::INFINITY, 0.0));
}

/// With a bound on all extra requests a race is no way around a budget.
#[test]
fn a_race_counts_where_all_extra_requests_are_bounded() {
    let plan = GroupedPlan::all(Group::new(5, law(1.0, 0.6)));
    let mut tuning = tuning(plan, 2, vec![beyond(0.01).at_worst(2.2)]);
    tuning.levers.budget = 0.05;
    assert!(chosen(&tuning).extra_requests() >= 1.0);
    tuning.levers.most_extra = 0.05;
    let Tuned { choice, attainable, frontier, .. } = tuning.run().unwrap();
    assert!(choice.is_none());
    assert!(attainable[0].alone > Some(2.2), "{attainable:?}");
    assert!(frontier.iter().all(|job| job.extra_requests() <= 0.05 * 1.000_01));
}

/// However dear it is to judge one plan: work is bounded, and what was left out is told.
#[test]
fn a_search_ends_after_so_much_work() {
    let many = |n: u64, k: u64| GroupedPlan::first(k, Group::new(n, law(1.0, 0.6)));
    let mut first = tuning(many(100_000, 99_000), 3, vec![Measure::Mean.at_worst(1.2)]);
    first.levers.least_k = 50_000;
    let Tuned { choice, evaluations, .. } = first.run().unwrap();
    let job = choice.unwrap();
    assert!(!job.plan().has_copies() && evaluations < 3_000, "{evaluations}");
    let heavy = GroupedPlan::all(Group::new(1_000_000, Law::pareto(1.0, 1.1).unwrap()));
    let Tuned { evaluations, .. } = tuning(heavy, 15, vec![Measure::Mean.at_worst(5.0)]).run().unwrap();
    assert!(evaluations < 60_000, "{evaluations}");
}
