//! Plans whose law has a formula.

use fantail_core::job::Refusal;
use fantail_core::{BranchSpec, BudgetSpec, Hedge, Plan, PlanSpec, Time, WaitFor};
use fantail_model::sim::{Arrivals, Interval, Scenario, SimError, Simulation, Summary};
use fantail_model::{GroupedPlan, Law, Level};

use crate::{assert_holds, branches, confidence, simulate};

const JOBS: u64 = 40_000;

fn exponential() -> Law {
    Law::exponential(1.0).unwrap()
}

/// The k-th of n unit exponentials comes after `1/n + … + 1/(n - k + 1)` on average, and by t with the probability that
/// a binomial of n and `1 - e^-t` is k or more.
#[test]
fn the_kth_of_n_exponentials_comes_when_order_statistics_say() {
    for (k, n) in [(1, 1), (1, 4), (3, 4), (5, 8), (8, 8), (20, 20)] {
        let spec = PlanSpec { wait_for: WaitFor::First(k), ..PlanSpec::new("first", branches(n as usize)) };
        let summary = simulate(spec, &vec![exponential(); n as usize], JOBS);
        let mean: f64 = (n - k + 1..=n).map(|i| 1.0 / f64::from(i)).sum();
        assert_holds(summary.mean().interval(confidence()), mean, &format!("mean of {k} of {n}"));
        for t in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let share = summary.returned_by(Time::from_secs_f64(t).unwrap());
            let probability = binomial_tail(n, k, -(-t).exp_m1());
            assert_holds(share.interval(confidence()), probability, &format!("{k} of {n} by {t} s"));
        }
    }
}

fn binomial_tail(n: u32, k: u32, p: f64) -> f64 {
    let choose = |i: u32| (0..i).map(|j| f64::from(n - j) / f64::from(j + 1)).product::<f64>();
    let mass = |i: u32| choose(i) * p.powf(f64::from(i)) * (1.0 - p).powf(f64::from(n - i));
    (k..=n).map(mass).sum()
}

/// `P(all of n <= t) = (1 - e^-t)^n`.
#[test]
fn quantiles_of_the_last_of_n_exponentials_lie_in_their_intervals() {
    for n in [1, 5, 16] {
        let summary = simulate(PlanSpec::new("all", branches(n)), &vec![exponential(); n], JOBS);
        for p in [0.01, 0.5, 0.9, 0.99, 0.999] {
            let level = Level::below(p).unwrap();
            let interval = summary.quantile_interval(level, confidence());
            let quantile = -(-p.powf(1.0 / n as f64)).ln_1p();
            assert_holds(interval, quantile, &format!("p = {p} of {n}"));
            assert_holds(interval, summary.quantile(level).as_secs_f64(), "the estimate itself");
            assert!(interval.high - interval.low < 0.7 * quantile, "{interval:?} says little of p = {p}");
        }
    }
}

/// Tables of the sign test: of ten values, the second and the ninth hold the median with 97.9 %, the third and the eighth
/// with 89.1 % only; of five, the ends hold it with 93.8 %.
#[test]
fn the_ranks_of_an_interval_are_those_of_the_binomial_law() {
    let ten = simulate(PlanSpec::new("one", branches(1)), &[exponential()], 10);
    let rank = |rank: u32| ten.quantile(Level::below(f64::from(rank) / 10.0).unwrap()).as_secs_f64();
    let interval = |summary: &Summary, confidence: f64| {
        summary.quantile_interval(Level::MEDIAN, Level::below(confidence).unwrap())
    };
    assert_eq!(interval(&ten, 0.95), Interval { low: rank(2), high: rank(9) });
    assert_eq!(interval(&ten, 0.89), Interval { low: rank(3), high: rank(8) });
    let five = simulate(PlanSpec::new("one", branches(1)), &[exponential()], 5);
    assert_eq!(interval(&five, 0.95), Interval { low: 0.0, high: f64::INFINITY });
}

/// An exponential attempt with a copy after d has the hazard `t + max(0, t - d)`, sends a copy with `e^-d`, and runs no
/// longer in sum than without one, since what runs has no memory.
#[test]
fn a_hedged_exponential_is_faster_and_no_busier() {
    for delays in [vec![0.5], vec![0.0], vec![0.25, 1.0], vec![0.0, 0.0, 0.3]] {
        let mut spec = PlanSpec::new("hedged", branches(1));
        let times = delays.iter().map(|delay| Time::from_secs_f64(*delay).unwrap()).collect();
        spec.branches[0].hedge = Some(Hedge { delays: times, min_useful: Time::ZERO, distinct: false });
        let summary = simulate(spec, &[exponential()], JOBS);
        let hazard = |t: f64| t + delays.iter().map(|delay| (t - delay).max(0.0)).sum::<f64>();
        for t in [0.1, 0.5, 1.0, 2.0] {
            let share = summary.returned_by(Time::from_secs_f64(t).unwrap());
            assert_holds(
                share.interval(confidence()),
                -(-hazard(t)).exp_m1(),
                &format!("{delays:?} by {t} s"),
            );
        }
        let copies: f64 = delays.iter().map(|delay| (-hazard(*delay)).exp()).sum();
        assert_holds(
            summary.extra_requests().interval(confidence()),
            copies,
            &format!("copies of {delays:?}"),
        );
        assert_holds(summary.busy().interval(confidence()), 1.0, &format!("busy with {delays:?}"));
    }
}

/// With a chance of 1 % that a branch misses its deadline: `.99^5`, `.99^3 (1 - .99^2)`, `1 - .99^3`.
#[test]
fn three_required_of_five_end_complete_partial_and_failed_as_often_as_they_should() {
    let mut branches = branches(5);
    branches[3..].iter_mut().for_each(|branch| branch.required = Some(false));
    let deadline = Time::from_millis(2_500);
    let spec = PlanSpec { deadline: Some(deadline), ..PlanSpec::new("three of five", branches) };
    let law = Law::exponential(deadline.as_secs_f64() / 100_f64.ln()).unwrap();
    let summary = simulate(spec, &vec![law; 5], 10 * JOBS);
    let verdicts = summary.verdicts();
    for (what, share, probability) in [
        ("complete", verdicts.complete, 0.99_f64.powi(5)),
        ("partial", verdicts.partial, 0.99_f64.powi(3) * (1.0 - 0.99_f64.powi(2))),
        ("failed", verdicts.failed, 1.0 - 0.99_f64.powi(3)),
        ("never", verdicts.never, 0.0),
    ] {
        assert_holds(share.interval(confidence()), probability, what);
    }
    assert_eq!(summary.partial_by(deadline), verdicts.partial);
    assert_eq!(summary.partial_by(deadline.saturating_sub(Time::from_nanos(1))).count, 0);
}

/// A call that is in flight when its deadline cuts it may not be sent again, unless it may be repeated.
#[test]
fn backfill_takes_what_may_be_sent_again() {
    for repeatable in [true, false] {
        let mut branches = branches(2);
        (branches[1].required, branches[1].repeatable) = (Some(false), repeatable);
        let deadline = Some(Time::from_secs(1));
        let spec = PlanSpec { deadline, backfill: true, ..PlanSpec::new("one of two", branches) };
        let laws = [Law::empirical(&[0.5], &[]).unwrap(), Law::exponential(1.0).unwrap()];
        let summary = simulate(spec, &laws, JOBS);
        let filled = summary.backfills().interval(confidence());
        assert_holds(filled, if repeatable { (-1.0_f64).exp() } else { 0.0 }, "backfills");
    }
}

#[test]
fn a_job_whose_answers_may_never_come_never_returns_as_often() {
    let answers_by_1 = exponential().cut(1.0).unwrap();
    let summary = simulate(PlanSpec::new("all", branches(2)), &vec![answers_by_1; 2], JOBS);
    let both = (-(-1_f64).exp_m1()).powi(2);
    assert_holds(summary.verdicts().never.interval(confidence()), 1.0 - both, "never");
    assert_eq!(summary.jobs(), JOBS);
    assert_eq!(summary.quantile(Level::below(both + 0.05).unwrap()), Time::MAX);
    assert_eq!((summary.worst(), summary.mean().value), (Time::MAX, f64::INFINITY));
    assert!(summary.quantile(Level::below(both - 0.05).unwrap()) <= Time::from_secs(1));
    assert_eq!(summary.outcomes(0).unwrap().answered + summary.outcomes(0).unwrap().never, JOBS);
}

/// Copies fall due in nine jobs of ten, and a primary answers in each: the budget pays for one in four.
#[test]
fn the_budget_holds_copies_to_a_share_of_answered_primaries() {
    let mut spec = PlanSpec::new("hedged", branches(1));
    spec.branches[0].hedge = Some(Hedge::after(Time::from_secs_f64(0.9_f64.recip().ln()).unwrap()));
    spec.hedge_budget = BudgetSpec { share: 250_000, burst: 3, in_flight: None };
    let plan = fantail_core::Plan::new(spec).unwrap();
    let simulation = Simulation::new(plan.into(), vec![exponential()], Scenario::default(), 5).unwrap();
    let summary = simulation.run(0..JOBS).unwrap();
    let ledger = summary.ledger();
    let (won, copies) = (ledger.primaries.won, ledger.copies.launched);
    assert!(copies <= won / 4 + 3 && copies + 3 >= won / 4, "{copies} copies for {won} answers");
    let due = copies + ledger.refused(Refusal::Budget);
    assert!((due as f64 / JOBS as f64 - 0.9).abs() < 0.01, "{due} were due");
}

#[test]
fn what_makes_no_simulation_is_refused_with_value_and_bound() {
    let check = |arrivals, laws: usize, message: &str| {
        let plan = fantail_core::Plan::new(PlanSpec::new("all", branches(2))).unwrap();
        let scenario = Scenario { arrivals, ..Scenario::default() };
        let refused = Simulation::new(plan.into(), vec![exponential(); laws], scenario, 0).unwrap_err();
        assert!(refused.to_string().contains(message), "{refused}");
    };
    check(Arrivals::OneAtATime, 1, "got 1 laws, expected one for each of 2 branches");
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        check(Arrivals::Poisson(rate), 2, &format!("got {rate}, expected a rate of 1e-6 to 1e9"));
    }
    check(Arrivals::Every(Time::ZERO), 2, "got 0, expected");
}

#[test]
fn jobs_that_arrive_after_the_end_of_time_are_an_error() {
    let mut spec = PlanSpec::new("gated", vec![BranchSpec { limiter: Some(0), ..BranchSpec::new("b") }]);
    spec.limiters =
        vec![fantail_core::LimiterSpec { gate: Some(1), ..fantail_core::LimiterSpec::new("gate") }];
    let year = Arrivals::Every(Time::LONGEST);
    let simulation = crate::simulation(spec, &[exponential()], year, 0);
    assert_eq!(simulation.run(0..1_000), Err(SimError::TooLong { job: 585 }));
    assert_eq!(simulation.run(500..1_000).unwrap().jobs(), 500);
}

/// What earns credit for copies: first answers of primaries, against the simulator's ledger.
#[test]
fn primaries_answer_as_often_as_the_law_says() {
    let seconds = |time: f64| Time::from_secs_f64(time).unwrap();
    let call = Law::log_normal(1.0, 0.6).unwrap();
    let hedged = |delays: &[f64]| {
        let delays = delays.iter().map(|delay| seconds(*delay)).collect();
        let hedge = Some(Hedge { delays, min_useful: Time::ZERO, distinct: false });
        branches(6).into_iter().map(|branch| BranchSpec { hedge: hedge.clone(), ..branch }).collect()
    };
    let spec = |delays: &[f64]| PlanSpec::new("primaries", hedged(delays));
    let short = PlanSpec { deadline: Some(seconds(1.5)), at_least: Some(2), ..spec(&[0.7]) };
    let first = PlanSpec { wait_for: WaitFor::First(3), ..spec(&[0.5]) };
    let timed = |branch: BranchSpec| BranchSpec { attempt_timeout: Some(seconds(1.2)), ..branch };
    let mut timed_out = spec(&[0.6]);
    timed_out.branches = timed_out.branches.into_iter().map(timed).collect();
    for spec in [spec(&[0.9]), spec(&[0.0, 1.1]), short, first, timed_out] {
        let jobs = 40_000;
        let laws = vec![call.clone(); 6];
        let won = simulate(spec.clone(), &laws, jobs).ledger().primaries.won as f64 / jobs as f64;
        let (grouped, _) = GroupedPlan::of(&Plan::new(spec).unwrap(), &laws).unwrap();
        let expected = grouped.solve().unwrap().answered_primaries();
        // Six standard errors of six branches that are settled either way.
        let error = 6.0 * (6.0 * 0.25 / jobs as f64).sqrt();
        assert!((won - expected).abs() < error, "{won} answered, {expected} by the law");
    }
}
