//! Jobs that measure: some are observed, some are held out.

use fantail_core::{Hedge, LimiterSpec, Plan, PlanSpec, Time, WaitFor};
use fantail_model::sim::{Arrivals, Summary};

use fantail_model::{Law, Level, NotIncluded, SolveError};

use crate::{assert_holds, branches, confidence, simulate, simulation};

const JOBS: u64 = 20_000;

/// The first of two exponentials of mean 1 s, with a deadline that cuts hardly any.
fn first_of_two(observe: u32) -> (PlanSpec, Vec<Law>) {
    let spec = PlanSpec {
        wait_for: WaitFor::First(1),
        deadline: Some(Time::from_secs(40)),
        observe,
        ..PlanSpec::new("first", branches(2))
    };
    (spec, vec![Law::exponential(1.0).unwrap(); 2])
}

#[test]
fn observing_costs_what_the_slower_one_takes_longer_and_changes_no_result() {
    let run = |observe| {
        let (spec, laws) = first_of_two(observe);
        simulate(spec, &laws, JOBS)
    };
    let (plain, observed) = (run(0), run(250_000));
    for level in [Level::MEDIAN, Level::below(0.99).unwrap()] {
        assert_eq!(plain.quantile(level), observed.quantile(level));
    }
    assert_eq!(plain.ledger().primaries, observed.ledger().primaries);
    assert_eq!(plain.ledger().kept.kept, 0);
    // A quarter of the jobs, to five standard errors; the slower one takes a second longer, by its lack of memory.
    let kept = observed.ledger().kept;
    assert!((kept.kept as f64 - 5_000.0).abs() < 5.0 * 61.3, "{kept:?}");
    assert_eq!((kept.running(), kept.failed), (0, 0));
    let longer = kept.busy.as_secs_f64() / kept.kept as f64;
    assert!((longer - 1.0).abs() < 5.0 / (kept.kept as f64).sqrt(), "{longer}");
    let extra = (observed.busy().value - plain.busy().value) * JOBS as f64;
    assert!((extra / kept.busy.as_secs_f64() - 1.0).abs() < 1e-9, "{extra}");
}

#[test]
fn what_is_kept_holds_its_permit_and_the_client_has_its_result() {
    let run = |observe| -> Summary {
        let (mut spec, laws) = first_of_two(observe);
        spec.limiters = vec![LimiterSpec { gate: Some(2), ..LimiterSpec::new("narrow") }];
        spec.branches.iter_mut().for_each(|branch| branch.limiter = Some(0));
        simulation(spec, &laws, Arrivals::Clients { clients: 1, think: Time::ZERO }, 3).run(0..JOBS).unwrap()
    };
    // Alone a client never waits: its job is over before the next one. What is kept takes one of the two permits.
    let (plain, observed) = (run(0), run(1_000_000));
    assert_eq!(plain.waits().delayed, 0);
    assert!(observed.waits().delayed > JOBS / 4, "{:?}", observed.waits());
    let kept = observed.ledger().kept;
    assert_eq!(kept.running(), 0);
    assert!(kept.kept > JOBS / 4, "{kept:?}");
}

#[test]
fn jobs_that_are_held_out_send_no_copies_and_have_no_exact_law() {
    let hedge = Some(Hedge::race(2));
    let spec = PlanSpec { holdout: 250_000, ..PlanSpec::new("race", branches(1)) };
    let mut spec = PlanSpec { observe: 0, ..spec };
    spec.branches[0].hedge = hedge;
    let laws = [Law::exponential(1.0).unwrap()];
    let summary = simulate(spec.clone(), &laws, JOBS);
    assert_holds(summary.sends_copy().interval(confidence()), 0.75, "the share of jobs that send a copy");
    // S(t) = 0.75 exp(-2 t) + 0.25 exp(-t); at t = ln 4: 0.75 / 16 + 0.25 / 4.
    let returned = summary.returned_by(Time::from_nanos((4_f64.ln() * 1e9) as u64));
    assert_holds(returned.interval(confidence()), 1.0 - 0.75 / 16.0 - 0.25 / 4.0, "the share that returned");
    let plan = Plan::new(spec).unwrap();
    let refused = fantail_model::solve(&plan, &laws);
    let expected = SolveError::NotIncluded(vec![NotIncluded::Holdout { share: 250_000 }]);
    assert_eq!(refused.unwrap_err(), expected);
    assert_eq!(expected.to_string(), "no exact law: 25 % of the jobs are held out, and start no copies");
}
