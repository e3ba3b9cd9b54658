//! Random plans, solved and simulated: two ways to one answer that share nothing but the plan and the laws.
//!
//! Each plan is compared in its verdicts, the outcomes of its branches, its return time and its prices. What is counted
//! (jobs with some property) is binomial, and is tested by Chernoff's bound `P(share off by this much) <= 2 e^(-n D)`,
//! with D the divergence of the observed from the stated probability; the distance of the whole return-time distribution
//! by the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart. These two hold for every n. Means of times are tested
//! by the normal approximation at eight standard errors, of laws that have moments enough for it.
//!
//! Over all checks of a run a false alarm has a chance below 1e-6; seeds are fixed, so it would be there at once or never.
//! `FANTAIL_HEAVY=1` takes more plans and more jobs.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

mod generator;

use std::fmt::Write;
use std::sync::Arc;
use std::thread;

use fantail_core::{BranchSpec, Hedge, Plan, PlanSpec, Time};
use fantail_model::sim::{Credit, Estimate, Scenario, Share, Simulation, Summary};
use fantail_model::{Cancellation, JobLaw, Law, Level, SolveError, solve};

use generator::{Clock, Generator};

/// False alarms per run.
const ALARMS: f64 = 1e-6;
/// The most checks of a run.
const CHECKS: usize = 200_000;
/// Standard errors that a mean of times may be off: by the normal law 1e-15, which leaves room for its being a limit.
const DEVIATIONS: f64 = 8.0;

#[test]
fn random_plans_are_solved_and_simulated_alike() {
    let (plans, jobs) = if heavy() { (200, 100_000) } else { (40, 10_000) };
    agree(&mut Generator::new(2_024, Clock::Fine), plans, jobs);
}

#[test]
fn plans_with_much_at_one_instant_are_solved_and_simulated_alike() {
    let plans = if heavy() { 1_500 } else { 200 };
    agree(&mut Generator::new(2_025, Clock::Coarse), plans, 2_000);
}

/// In the order of one instant failures come before deadlines: with the time-out of `a` the job has failed, so that `b`
/// is cancelled, though its deadline is that instant.
#[test]
fn a_time_out_at_a_deadline_comes_before_it() {
    let a = BranchSpec { attempt_timeout: Some(Time::from_millis(100)), ..BranchSpec::new("a") };
    let b = BranchSpec { deadline: Some(Time::from_millis(100)), ..BranchSpec::new("b") };
    agree_on(vec![a, b]);
}

/// The copy of `a` is due at the last instant at which it is useful. Of seconds, 0.3 - 0.25 is less than 0.05.
#[test]
fn a_copy_that_is_due_at_its_last_useful_instant_starts() {
    let hedge = Hedge { min_useful: Time::from_millis(250), ..Hedge::after(Time::from_millis(50)) };
    agree_on(vec![BranchSpec {
        deadline: Some(Time::from_millis(300)),
        hedge: Some(hedge),
        repeatable: true,
        ..BranchSpec::new("a")
    }]);
}

/// The copies of `a` come forward at each time-out, so that it fails at 0.05 + 0.05 + 0.05, not after `b` at 0.15 s.
#[test]
fn time_outs_in_a_row_end_at_their_sum() {
    let a = BranchSpec {
        attempt_timeout: Some(Time::from_millis(50)),
        hedge: Some(Hedge { delays: vec![Time::from_secs(1); 2], ..Hedge::after(Time::ZERO) }),
        repeatable: true,
        required: Some(false),
        ..BranchSpec::new("a")
    };
    let b = BranchSpec { deadline: Some(Time::from_millis(150)), ..BranchSpec::new("b") };
    agree_on(vec![a, b]);
}

fn heavy() -> bool {
    std::env::var_os("FANTAIL_HEAVY").is_some_and(|value| value == "1")
}

/// A plan that waits for all of `branches`, each with a law of twentieths of a second.
#[track_caller]
fn agree_on(branches: Vec<BranchSpec>) {
    // So fast that primaries pay for the copies.
    let laws = vec![Law::exponential(0.05).unwrap(); branches.len()];
    let spec = PlanSpec { hedge_budget: generator::BUDGET, ..PlanSpec::new("case", branches) };
    let plan = Arc::new(Plan::new(spec).unwrap());
    let law = solve(&plan, &laws).unwrap();
    let mut comparison = Comparison::new(&plan, &laws, &law, 10_000, 1);
    comparison.all();
    assert!(comparison.wrong.is_empty(), "{}", comparison.wrong);
}

#[track_caller]
fn agree(generator: &mut Generator, plans: u64, jobs: u64) {
    let (mut checks, mut wrong, mut solved, mut refused) = (0, String::new(), 0, 0);
    while solved < plans {
        let (plan, laws) = generator.plan();
        let plan = Arc::new(plan);
        let law = match solve(&plan, &laws) {
            Ok(law) => law,
            // Two copies of a slow branch can be more than a budget of one per primary pays for.
            Err(SolveError::NotIncluded(_)) => {
                refused += 1;
                continue;
            }
            Err(error) => panic!("{error} in {plan:?}"),
        };
        let mut comparison = Comparison::new(&plan, &laws, &law, jobs, solved);
        comparison.all();
        checks += comparison.checks;
        if !comparison.wrong.is_empty() {
            let laws: Vec<String> = laws.iter().map(Law::to_string).collect();
            write!(wrong, "\nplan {solved}: {plan:#?}\nlaws: {laws:#?}\n{}", comparison.wrong).unwrap();
        }
        solved += 1;
    }
    println!("{plans} plans of {jobs} jobs, {checks} checks; {refused} more plans have no exact law");
    assert!(checks <= CHECKS && refused < plans / 4);
    assert!(wrong.is_empty(), "{wrong}");
}

/// One plan, both ways.
struct Comparison<'a> {
    plan: &'a Plan,
    law: &'a JobLaw,
    summary: Summary,
    plain: Summary,
    checks: usize,
    wrong: String,
}

impl<'a> Comparison<'a> {
    fn new(plan: &'a Arc<Plan>, laws: &[Law], law: &'a JobLaw, jobs: u64, seed: u64) -> Comparison<'a> {
        let scenario = Scenario { credit: Credit::Unlimited, ..Scenario::default() };
        let simulation = Simulation::new(Arc::clone(plan), laws.to_vec(), scenario, seed).unwrap();
        let plain = simulation.without_copies();
        let (summary, plain) = thread::scope(|scope| {
            let plain = scope.spawn(|| plain.run(0..jobs).unwrap());
            (simulation.run(0..jobs).unwrap(), plain.join().unwrap())
        });
        Comparison { plan, law, summary, plain, checks: 0, wrong: String::new() }
    }

    fn all(&mut self) {
        self.verdicts();
        self.outcomes();
        self.times();
        self.distance();
        self.prices();
    }

    fn verdicts(&mut self) {
        let (found, stated) = (self.summary.verdicts(), self.law.verdicts());
        self.share("complete", found.complete, stated.complete);
        self.share("partial", found.partial, stated.partial);
        self.share("failed", found.failed, stated.failed);
        self.share("never", found.never, stated.never);
    }

    fn outcomes(&mut self) {
        let jobs = self.summary.jobs();
        for branch in 0..self.plan.n() {
            let found = *self.summary.outcomes(branch).unwrap();
            let stated = self.law.outcomes(self.law.group_of(branch as usize).unwrap()).unwrap();
            for (what, count, probability) in [
                ("answered", found.answered, stated.answered),
                ("failed", found.failed, stated.failed),
                ("missed", found.missed, stated.missed),
                ("unneeded", found.unneeded, stated.unneeded),
                ("cancelled", found.cancelled, stated.cancelled),
                ("never", found.never, stated.never),
                ("without a permit", found.no_permit + found.refused + found.job_failed, 0.0),
            ] {
                self.share(&format!("branch {branch} {what}"), Share::new(count, jobs), probability);
            }
        }
    }

    /// The three laws at the instants of the plan, right before them, and at the solver's quantiles.
    fn times(&mut self) {
        let mut times: Vec<Time> = self.plan.branches().iter().flat_map(generator::instants).collect();
        let before = |time: &Time| time.saturating_sub(Time::from_nanos(1));
        times.extend(times.iter().map(before).collect::<Vec<_>>());
        for p in [0.001, 0.05, 0.5, 0.8, 0.95, 0.99, 0.999] {
            let level = Level::below(p).unwrap();
            let (returned, complete) =
                (self.law.quantile(level).value, self.law.complete_quantile(level).value);
            self.quantile("return time", level, returned, JobLaw::returned);
            self.quantile("time to complete", level, complete, JobLaw::complete);
            times.extend([returned, complete].into_iter().filter_map(|t| Time::from_secs_f64(t).ok()));
        }
        times.sort_unstable();
        times.dedup();
        for time in times {
            let (found, t) = (&self.summary, middle(time));
            for (what, share, probability) in [
                ("returned", found.returned_by(time), self.law.returned(t)),
                ("complete", found.complete_by(time), self.law.complete(t)),
                ("partial", found.partial_by(time), self.law.partial(t)),
                ("failed", found.failed_by(time), self.law.failed(t)),
            ] {
                self.share(&format!("{what} by {time}"), share, probability);
            }
        }
    }

    /// The solver's quantile belongs to its distribution.
    fn quantile(&mut self, what: &str, level: Level, quantile: f64, by: impl Fn(&JobLaw, f64) -> f64) {
        let (before, after) = (by(self.law, quantile - 1e-9), by(self.law, quantile + 1e-9));
        let ok = before <= level.p() + 1e-6 && (after >= level.p() - 1e-6 || quantile.is_infinite());
        self.check(ok, || {
            format!("{what} at p = {}: {quantile} s, where p is {before} to {after}", level.p())
        });
    }

    /// The largest distance of the return times' distributions.
    fn distance(&mut self) {
        const POINTS: u64 = 200;
        let jobs = self.summary.jobs();
        let distance = |time: Time| {
            let found = self.summary.returned_by(time).value();
            (found - self.law.returned(middle(time))).abs()
        };
        let points = (0..POINTS).map(|i| Level::below((i as f64 + 0.5) / POINTS as f64).unwrap());
        let times = points.map(|level| self.summary.quantile(level)).filter(|time| *time < Time::MAX);
        let worst = times.map(|time| distance(time).max(distance(time.saturating_sub(Time::from_nanos(1)))));
        let worst = worst.fold(0.0, f64::max);
        let bound = (threshold() / (2.0 * jobs as f64)).sqrt();
        self.check(worst <= bound, || format!("return times: distance {worst}, at most {bound}"));
    }

    fn prices(&mut self) {
        let prices = self.law.prices(Cancellation::AtOnce).unwrap();
        let declared: usize = self.plan.branches().iter().map(|branch| branch.delays().len()).sum();
        let copies = self.summary.ledger().copies.launched;
        self.check(declared > 0 || copies == 0 && prices.copies == 0.0, || "copies from nowhere".into());
        if declared > 0 {
            // A sum of at most `declared` deviates from its mean no more than if it were all of them or none.
            let share = Share::new(copies, self.summary.jobs() * declared as u64);
            let weight = 1.0 / declared as f64;
            self.weighted_share("copies", share, prices.copies / declared as f64, weight);
            self.share("sends a copy", self.summary.sends_copy(), self.law.sends_copy());
        }
        let extra = self.summary.extra_requests().value;
        let stated = prices.copies / f64::from(self.plan.n());
        self.check((prices.extra_requests - stated).abs() < 1e-12 && (extra >= 0.0), || {
            "extra requests".into()
        });
        let bounded = self.law.verdicts().never == 0.0;
        if bounded {
            let mean = self.law.mean().unwrap().value;
            self.mean("busy", self.summary.busy(), prices.busy, prices.busy);
            self.mean("return time", self.summary.mean(), mean, mean);
            if let Some(stated) = prices.extra_busy {
                self.mean("extra busy", self.summary.extra_busy(&self.plain), stated, 1.0);
            }
        }
    }

    fn share(&mut self, what: &str, found: Share, stated: f64) {
        self.weighted_share(what, found, stated, 1.0);
    }

    /// A share of things of which each job has so many that they count as `weight` of a job each.
    fn weighted_share(&mut self, what: &str, found: Share, stated: f64, weight: f64) {
        let evidence = found.of as f64 * weight * divergence(found.value(), stated);
        self.check(evidence <= threshold(), || {
            format!(
                "{what}: {} of {} = {}, stated {stated}: e^-{evidence}",
                found.count,
                found.of,
                found.value()
            )
        });
    }

    /// A mean of something that is of the order of `scale`.
    fn mean(&mut self, what: &str, found: Estimate, stated: f64, scale: f64) {
        // Beside the standard error, which knows nothing of values too rare to be met: Bernstein's term for them.
        let rare = scale * threshold() / (3.0 * self.summary.jobs() as f64);
        let ok = (found.value - stated).abs() <= DEVIATIONS * found.error + rare;
        self.check(ok, || format!("{what}: {} ± {}, stated {stated}", found.value, found.error));
    }

    fn check(&mut self, ok: bool, what: impl FnOnce() -> String) {
        self.checks += 1;
        if !ok {
            writeln!(self.wrong, "  {}", what()).unwrap();
        }
    }
}

/// `-ln` of half the false alarms of one check.
fn threshold() -> f64 {
    (2.0 * CHECKS as f64 / ALARMS).ln()
}

/// The divergence of a coin that shows `p` from one that shows `q`: `p ln(p/q) + (1 - p) ln((1 - p) / (1 - q))`.
fn divergence(p: f64, q: f64) -> f64 {
    let term = |p: f64, q: f64| if p == 0.0 { 0.0 } else { p * (p / q).ln() };
    term(p, q) + term(1.0 - p, 1.0 - q)
}

/// Simulated times are rounded to nanoseconds: those counted by `time` lie before half a nanosecond later.
fn middle(time: Time) -> f64 {
    time.as_secs_f64() + 0.5e-9
}
