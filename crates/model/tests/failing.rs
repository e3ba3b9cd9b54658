//! Attempts that fail, against closed forms, draws one by one, and every state of a job.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_core::{BranchSpec, BudgetSpec, Hedge, Plan, PlanSpec, Time, WaitFor};
use fantail_model::sim::{Credit, Failures, Scenario, Server, Simulation};
use fantail_model::{
    Attempt, BranchAt, FailingBranch, FailingGroup, FailingPlan, Group, GroupedPlan, Law, Level, Sends,
};
use proptest::prelude::*;

fn log_normal(median: f64, sigma: f64) -> Law {
    Law::log_normal(median, sigma).unwrap()
}

fn exponential(mean: f64) -> Law {
    Law::exponential(mean).unwrap()
}

#[track_caller]
fn near(found: f64, exact: f64, relative: f64) {
    assert!((found - exact).abs() <= relative * exact.abs(), "got {found}, expected {exact}");
}

fn branch(attempt: Attempt, sends: Sends) -> FailingBranch {
    FailingBranch { sends, ..FailingBranch::new(attempt) }
}

/// Answers and failures take the same exponential time, so that with a failover times add up to a gamma law.
#[test]
fn a_failover_of_exponential_attempts_is_a_gamma_law() {
    let p = 0.03;
    let attempt = Attempt::new(exponential(1.0)).retryable(p, exponential(1.0)).unwrap();
    let failover = branch(attempt, Sends::Copy(f64::INFINITY));
    let (one, two) = (exponential(1.0), Law::gamma(2.0, 1.0).unwrap());
    for t in [1e-6, 0.1, 1.0, 5.0, 30.0, 300.0] {
        let at = failover.at(t).unwrap();
        near(at.answered, (1.0 - p) * (one.cdf(t) + p * two.cdf(t)), 1e-11);
        near(at.failed, p * p * two.cdf(t), 1e-11);
        near(at.open, (1.0 - p) * one.survival(t) + p * two.survival(t), 1e-11);
        assert_eq!(at.missed, 0.0);
    }
    near(failover.sends_copy().unwrap(), p, 1e-15);
}

/// With an exponential that does not tell failures from answers, d is the only time at which anything changes.
#[test]
fn a_hedge_of_exponential_attempts_has_a_closed_form() {
    let (p, d) = (0.2, 0.7);
    let attempt = Attempt::new(exponential(1.0)).retryable(p, exponential(1.0)).unwrap();
    let hedge = branch(attempt, Sends::Copy(d));
    for t in [0.3_f64, 0.7, 0.9, 4.0, 40.0] {
        let e = |x: f64| (-x).exp();
        // Failed by then: at most at d the first, with the second after it; or both after d.
        let until = t.min(d);
        let forward = p * p * (1.0 - e(until) - until * e(t));
        let both = if t > d { p * p * (e(d) - e(t)) * (1.0 - e(t - d)) } else { 0.0 };
        near(hedge.at(t).unwrap().failed, forward + both, 1e-11);
        // Open: the first; or the second alone since a failure by d; or since the first's failure after d.
        let alone = p * until * e(t);
        let open = if t > d {
            e(t) * (e(t - d) + p * (1.0 - e(t - d))) + p * (e(d) - e(t)) * e(t - d)
        } else {
            e(t)
        };
        near(hedge.at(t).unwrap().open, alone + open, 1e-11);
    }
    near(hedge.sends_copy().unwrap(), p * (1.0 - (-d).exp()) + (-d).exp(), 1e-14);
}

/// A linear congruential generator with the constants of Knuth's MMIX; the high bits are good enough here.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Answered,
    Retryable,
    Permanent,
}

/// An attempt as the test draws it.
struct Drawn {
    answer: Law,
    retryable: (f64, Law),
    permanent: (f64, Law),
    timeout: f64,
}

impl Drawn {
    fn attempt(&self) -> Attempt {
        let attempt = Attempt::new(self.answer.clone());
        let attempt = attempt.retryable(self.retryable.0, self.retryable.1.clone()).unwrap();
        let attempt = attempt.permanent(self.permanent.0, self.permanent.1.clone()).unwrap();
        attempt.timeout(self.timeout).unwrap()
    }

    fn draw(&self, draws: &mut Draws) -> (f64, End) {
        let (kind, uniform) = (draws.next(), draws.next());
        let (law, end) = if kind < self.retryable.0 {
            (&self.retryable.1, End::Retryable)
        } else if kind < self.retryable.0 + self.permanent.0 {
            (&self.permanent.1, End::Permanent)
        } else {
            (&self.answer, End::Answered)
        };
        let time = law.sample(uniform);
        if time > self.timeout { (self.timeout, End::Retryable) } else { (time, end) }
    }

    /// When a branch ends, and whether answered, by the rules of a job; as if there were no deadline.
    fn play(&self, draws: &mut Draws, delay: f64, last_start: f64) -> (f64, bool) {
        let (primary, end) = self.draw(draws);
        let start = match end {
            End::Retryable => primary.min(delay),
            _ if primary <= delay => f64::INFINITY,
            _ => delay,
        };
        let start = if delay > last_start && start == delay { f64::INFINITY } else { start };
        if start > last_start || start.is_infinite() {
            return (primary, end == End::Answered);
        }
        let (copy, copy_end) = self.draw(draws);
        match (end == End::Answered, copy_end == End::Answered) {
            (true, true) => (primary.min(start + copy), true),
            (true, false) => (primary, true),
            (false, true) => (start + copy, true),
            (false, false) => (primary.max(start + copy), false),
        }
    }
}

#[test]
fn branches_stand_as_their_draws_do() {
    const RUNS: u32 = 200_000;
    let drawn = |timeout: f64| Drawn {
        answer: log_normal(0.3, 0.9),
        retryable: (0.15, exponential(0.2)),
        permanent: (0.05, Law::weibull(2.0, 0.4).unwrap()),
        timeout,
    };
    let check = |case: &Drawn, delay: f64, deadline: f64, min_useful: f64| {
        let branch = FailingBranch { deadline, min_useful, ..branch(case.attempt(), Sends::Copy(delay)) };
        let mut draws = Draws(7);
        let ends: Vec<_> = (0..RUNS).map(|_| case.play(&mut draws, delay, deadline - min_useful)).collect();
        let share = |count: usize| count as f64 / f64::from(RUNS);
        for t in [0.05, 0.2, 0.35, 0.5, 0.9, 1.6, 3.0] {
            let at = branch.at(t).unwrap();
            let by = |answered: bool| {
                share(ends.iter().filter(|end| end.0 <= t.min(deadline) && end.1 == answered).count())
            };
            for (exact, seen) in [(at.answered, by(true)), (at.failed, by(false))] {
                let band = 4.5 * (exact * (1.0 - exact) / f64::from(RUNS)).sqrt() + 1e-5;
                assert!((exact - seen).abs() < band, "{delay} {deadline} at {t}: {exact} but drew {seen}");
            }
            near(at.answered + at.failed + at.missed + at.open, 1.0, 1e-12);
        }
    };
    for timeout in [f64::INFINITY, 0.8] {
        let case = drawn(timeout);
        check(&case, 0.4, f64::INFINITY, 0.0);
        check(&case, f64::INFINITY, f64::INFINITY, 0.0);
        check(&case, 0.0, f64::INFINITY, 0.0);
        check(&case, 0.4, 1.2, 0.3);
        check(&case, 1.0, 1.2, 0.5);
        check(&case, f64::INFINITY, 1.2, 0.9);
    }
}

#[test]
fn without_failures_it_is_the_hedged_law() {
    let law = log_normal(1.0, 0.6);
    for (sends, delays) in
        [(Sends::Race(1), vec![]), (Sends::Race(3), vec![0.0; 2]), (Sends::Copy(1.7), vec![1.7])]
    {
        let hedged = law.hedged(&delays).unwrap();
        let branch = branch(Attempt::new(law.clone()), sends);
        for t in [0.01, 0.5, 1.0, 2.0, 4.0, 20.0] {
            let at = branch.at(t).unwrap();
            near(at.answered, hedged.cdf(t), 1e-12);
            near(at.open, hedged.survival(t), 1e-12);
            assert_eq!((at.failed, at.missed), (0.0, 0.0));
        }
    }
}

/// A time-out is a failure at a known time, which the other solver takes too.
#[test]
fn time_outs_are_failures_that_both_solvers_agree_on() {
    let law = log_normal(0.5, 0.8);
    for (delay, timeout) in [(0.4, 1.0), (1.5, 0.7), (0.2, 3.0)] {
        let attempt = Attempt::new(law.clone()).timeout(timeout).unwrap();
        let one = FailingBranch { min_useful: 0.2, ..branch(attempt, Sends::Copy(delay)) };
        let group = FailingGroup { count: 4, required: true, branch: one };
        let job = FailingPlan { groups: vec![group], k: 4, at_least: 4, deadline: 2.5 }.solve().unwrap();
        let group = Group {
            delays: vec![delay],
            min_useful: 0.2,
            attempt_timeout: timeout,
            ..Group::new(4, law.clone())
        };
        let other = GroupedPlan { deadline: 2.5, ..GroupedPlan::all(group) }.solve().unwrap();
        let (verdicts, others) = (job.verdicts().unwrap(), other.verdicts());
        near(verdicts.complete, others.complete, 1e-11);
        near(verdicts.failed, others.failed, 1e-11);
        for s in [0.9, 0.5, 0.1, 0.01] {
            let level = Level::above(s).unwrap();
            near(job.quantile(level).unwrap().value, other.quantile(level).value, 1e-9);
        }
        near(job.mean().unwrap().value, other.mean().unwrap().value, 1e-9);
    }
}

/// The verdict of a job whose branches are in these states: 0 answered, 1 lost, 2 open.
fn verdict(required: &[bool], states: &[usize], k: usize, at_least: usize) -> usize {
    let count = |state: usize| states.iter().filter(|s| **s == state).count();
    let required_in =
        |state: usize| required.iter().zip(states).any(|(required, s)| *required && *s == state);
    if required_in(1) || count(0) + count(2) < at_least {
        2
    } else if !required_in(2) && count(0) >= k {
        0
    } else if count(2) == 0 {
        1
    } else {
        3
    }
}

#[test]
fn verdicts_are_what_every_state_of_the_branches_gives() {
    let attempt = |p: f64| Attempt::new(exponential(1.0)).retryable(p, exponential(0.5)).unwrap();
    let kinds = [
        (true, branch(attempt(0.1), Sends::Copy(0.5))),
        (true, branch(attempt(0.05), Sends::Copy(f64::INFINITY))),
        (false, branch(attempt(0.3), Sends::Race(1))),
        (false, FailingBranch { deadline: 1.1, ..branch(attempt(0.2), Sends::Race(2)) }),
    ];
    let check = |counts: [u64; 4], k: u64, at_least: u64, deadline: f64| {
        let groups = kinds.iter().zip(counts).filter(|(_, count)| *count > 0);
        let groups = groups.map(|((required, branch), count)| FailingGroup {
            count,
            required: *required,
            branch: branch.clone(),
        });
        let plan = FailingPlan { groups: groups.collect(), k, at_least, deadline };
        let job = plan.solve().unwrap();
        for t in [0.2, 0.6, 1.0, 1.5, 4.0] {
            let mut branches: Vec<(bool, BranchAt)> = Vec::new();
            for ((required, branch), count) in kinds.iter().zip(counts) {
                let branch = FailingBranch { deadline: branch.deadline.min(deadline), ..branch.clone() };
                branches.extend((0..count).map(|_| (*required, branch.at(t).unwrap())));
            }
            let required: Vec<bool> = branches.iter().map(|(required, _)| *required).collect();
            let mut expected = [0.0; 4];
            for code in 0..3_usize.pow(branches.len() as u32) {
                let states: Vec<usize> =
                    (0..branches.len()).map(|i| code / 3_usize.pow(i as u32) % 3).collect();
                let share =
                    |((_, at), state): (&(bool, BranchAt), &usize)| [at.answered, at.lost(), at.open][*state];
                let probability: f64 = branches.iter().zip(&states).map(share).product();
                expected[verdict(&required, &states, k as usize, at_least as usize)] += probability;
            }
            let found = [job.complete(t), job.partial(t), job.failed(t), job.waiting(t)].map(Result::unwrap);
            for (found, expected) in found.into_iter().zip(expected) {
                assert!(
                    (found - expected).abs() <= 1e-12 * expected + 1e-18,
                    "{counts:?} {k} {at_least} {t}: {found} {expected}"
                );
            }
        }
    };
    check([2, 1, 0, 0], 3, 3, f64::INFINITY);
    check([0, 0, 6, 0], 3, 3, f64::INFINITY);
    check([0, 0, 4, 2], 4, 2, 1.4);
    check([1, 1, 2, 2], 5, 3, 1.4);
    check([1, 1, 2, 2], 6, 2, f64::INFINITY);
    check([2, 0, 3, 0], 1, 0, f64::INFINITY);
    check([0, 0, 0, 5], 2, 1, 1.4);
}

/// The simulator plays the machine that runs plans, which brings copies forward and fails over by its own rules.
#[test]
fn plans_with_failures_are_solved_and_played_alike() {
    const JOBS: u64 = 40_000;
    let (answer, failure) = (log_normal(0.2, 0.7), log_normal(0.1, 0.5));
    let server = |branches: &[&str], retryable: f64, permanent: f64| Server {
        branches: branches.iter().map(|name| (*name).to_owned()).collect(),
        replicas: 3,
        failures: Failures { retryable, permanent, law: Some(failure.clone()) },
        ..Server::new(branches[0])
    };
    let servers = vec![server(&["a", "b"], 0.08, 0.02), server(&["c", "d"], 0.2, 0.05)];
    let spec = |name: &str, required: bool, delay: f64, timeout: Option<Time>| BranchSpec {
        required: Some(required),
        repeatable: true,
        targets: 3,
        failover: delay.is_infinite(),
        hedge: delay.is_finite().then(|| Hedge {
            min_useful: Time::from_millis(50),
            ..Hedge::after(Time::from_secs_f64(delay).unwrap())
        }),
        attempt_timeout: timeout,
        ..BranchSpec::new(name)
    };
    let check = |delay: f64, timeout: Option<Time>, wait_for: WaitFor, at_least: u32| {
        let branches = [("a", true), ("b", true), ("c", false), ("d", false)];
        let deadline = Time::from_millis(900);
        let specs = branches.map(|(name, required)| spec(name, required, delay, timeout)).to_vec();
        let budget = BudgetSpec { share: 1_000_000, burst: 1_000, in_flight: None };
        let plan = PlanSpec {
            wait_for,
            at_least: Some(at_least),
            deadline: Some(deadline),
            hedge_budget: budget,
            failover_budget: budget,
            ..PlanSpec::new("failing", specs)
        };
        let plan = Plan::new(plan).unwrap();
        let group = |required: bool, retryable: f64, permanent: f64| {
            let attempt = Attempt::new(answer.clone()).retryable(retryable, failure.clone()).unwrap();
            let attempt = attempt.permanent(permanent, failure.clone()).unwrap();
            let attempt = attempt.timeout(timeout.map_or(f64::INFINITY, Time::as_secs_f64)).unwrap();
            let min_useful = if delay.is_finite() { 0.05 } else { 0.0 };
            let branch = FailingBranch { min_useful, ..branch(attempt, Sends::Copy(delay)) };
            FailingGroup { count: 2, required, branch }
        };
        let groups = vec![group(true, 0.08, 0.02), group(false, 0.2, 0.05)];
        let k = u64::from(plan.k());
        let job = FailingPlan { groups, k, at_least: at_least.into(), deadline: 0.9 }.solve().unwrap();
        let scenario =
            Scenario { servers: servers.clone(), credit: Credit::Unlimited, ..Scenario::default() };
        let simulation = Simulation::new(plan.into(), vec![answer.clone(); 4], scenario, 5).unwrap();
        let played = simulation.run(0..JOBS).unwrap();
        for t in [0.1, 0.2, 0.4, 0.7, 0.9] {
            let at = Time::from_secs_f64(t).unwrap();
            let pairs = [
                (job.complete(t).unwrap(), played.complete_by(at).value()),
                (job.partial(t).unwrap(), played.partial_by(at).value()),
                (job.failed(t).unwrap(), played.failed_by(at).value()),
            ];
            for (exact, seen) in pairs {
                let band = 4.5 * (exact * (1.0 - exact) / JOBS as f64).sqrt() + 2e-5;
                assert!((exact - seen).abs() < band, "{delay} {timeout:?} at {t}: {exact} but played {seen}");
            }
        }
    };
    check(0.3, None, WaitFor::All, 2);
    check(f64::INFINITY, None, WaitFor::All, 3);
    check(f64::INFINITY, None, WaitFor::First(3), 2);
    check(0.25, Some(Time::from_millis(400)), WaitFor::All, 2);
    check(f64::INFINITY, Some(Time::from_millis(400)), WaitFor::First(3), 3);
}

#[test]
fn far_tails_of_a_job_keep_their_digits() {
    const N: u64 = 1_000_000_000;
    let p = 1e-5;
    let attempt = Attempt::new(exponential(1.0)).retryable(p, exponential(1.0)).unwrap();
    let group =
        FailingGroup { count: N, required: true, branch: branch(attempt, Sends::Copy(f64::INFINITY)) };
    let plan = FailingPlan { groups: vec![group], k: N, at_least: N, deadline: f64::INFINITY };
    let job = plan.solve().unwrap();
    let (one, two) = (exponential(1.0), Law::gamma(2.0, 1.0).unwrap());
    let t = 200.0;
    // One of them is open, and none of the others has failed.
    let open = N as f64 * ((1.0 - p) * one.survival(t) + p * two.survival(t));
    near(job.waiting(t).unwrap(), open * (N as f64 * (-p * p).ln_1p()).exp(), 1e-9);
    let half = job.quantile(Level::MEDIAN).unwrap().value;
    near(job.waiting(half).unwrap(), 0.5, 1e-9);
}

#[test]
fn numbers_that_make_no_attempt_or_plan_are_refused() {
    let attempt = || Attempt::new(exponential(1.0));
    let text = |share: f64| attempt().retryable(share, exponential(1.0)).unwrap_err().to_string();
    assert_eq!(text(1.5), "share: got 1.5, expected from 0 to what other failures leave of 1");
    assert!(text(f64::NAN).starts_with("share: got NaN"));
    let most = attempt().retryable(0.7, exponential(1.0)).unwrap().permanent(0.4, exponential(1.0));
    assert!(most.unwrap_err().to_string().starts_with("share: got 0.4"));
    assert!(attempt().timeout(0.0).is_err());
    assert!(branch(attempt(), Sends::Race(0)).at(1.0).is_err());
    assert!(branch(attempt(), Sends::Copy(f64::NAN)).at(1.0).is_err());
    let plan = |count: u64, k: u64, at_least: u64, deadline: f64| {
        let group = FailingGroup { count, required: false, branch: branch(attempt(), Sends::Race(1)) };
        FailingPlan { groups: vec![group], k, at_least, deadline }
            .solve()
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert_eq!(plan(3, 4, 0, 1.0), Err("k: got 4, expected 1 to the number of branches, 3".into()));
    assert_eq!(plan(3, 2, 3, 1.0), Err("at_least: got 3, expected 0 to k, 2".into()));
    assert!(plan(0, 1, 1, 1.0).is_err() && plan(3, 2, 2, f64::NAN).is_err());
    assert!(plan(100_000, 50_000, 50_000, 1.0).is_err());
    assert!(plan(1_000_000, 1, 1, 1.0).is_err());
    assert!(plan(150, 75, 75, 1.0).is_ok());
    assert!(plan(u64::MAX, 1, 1, 1.0).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Shares sum to 1, only grow until they end, and are never NaN.
    #[test]
    fn shares_sum_to_one_whatever_the_attempts(
        median in 1e-6..1e3_f64,
        sigma in 1e-3..6.0,
        p in 0.0..0.6,
        q in 0.0..0.4,
        index in 0.3..4.0,
        delay in prop_oneof![Just(0.0), Just(f64::INFINITY), 1e-6..1e3_f64],
        timeout in prop_oneof![Just(f64::INFINITY), 1e-3..1e3_f64],
        deadline in prop_oneof![Just(f64::INFINITY), 1e-3..1e3_f64],
    ) {
        let attempt = Attempt::new(log_normal(median, sigma));
        let attempt = attempt.retryable(p, Law::pareto(median, index).unwrap()).unwrap();
        let attempt = attempt.permanent(q, Law::weibull(index, median).unwrap()).unwrap();
        let attempt = attempt.timeout(timeout).unwrap();
        let branch = FailingBranch { deadline, ..branch(attempt, Sends::Copy(delay)) };
        let mut before = (0.0, 0.0);
        for t in [0.0, 1e-9, 1e-3, 0.1, 1.0, 10.0, 1e4, 1e12, f64::INFINITY] {
            let at = branch.at(t).unwrap();
            let sum = at.answered + at.failed + at.missed + at.open;
            prop_assert!((sum - 1.0).abs() < 1e-9, "{} at {}: {:?}", sum, t, at);
            prop_assert!(at.answered >= before.0 - 1e-10 && at.failed >= before.1 - 1e-10, "{} {:?}", t, at);
            before = (at.answered, at.failed);
        }
    }
}
