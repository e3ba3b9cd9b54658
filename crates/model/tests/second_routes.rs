//! Figures that the reference file lacks, each by a second route: a closed form, or plain sampling of a job.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_model::{Cancellation, Group, GroupedPlan, JobLaw, Law, Level, Outcomes};

const NEVER: f64 = f64::INFINITY;

fn solve(groups: Vec<Group>, k: u64, at_least: u64, deadline: f64) -> JobLaw {
    GroupedPlan { groups, k, at_least, deadline }.solve().unwrap()
}

fn optional(group: Group) -> Group {
    Group { required: false, ..group }
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-11 * expected.abs().max(1e-3), "got {found}, expected {expected}");
}

#[test]
fn a_first_k_of_exponentials_is_busy_for_k_means() {
    // In the stage after i answers, n - i attempts run for a mean of 1 / (n - i).
    for (k, n) in [(1, 1), (1, 8), (5, 8), (8, 8), (90, 100)] {
        let law = Law::exponential(2.0).unwrap();
        let job = GroupedPlan::first(k, Group::new(n, law)).solve().unwrap();
        close(job.prices(Cancellation::AtOnce).unwrap().busy, 2.0 * k as f64);
    }
}

#[test]
fn a_deadline_cuts_busy_time_of_attempts_and_copies() {
    let (delay, deadline) = (0.7, 1.9);
    let law = Law::exponential(1.0).unwrap();
    let group = Group { delays: vec![delay], ..Group::new(3, law) };
    let job = solve(vec![group], 3, 3, deadline);
    // One attempt at rate 1 until the delay, then two at rate 2: both last until the branch answers or the job fails.
    let open = (-delay).exp();
    let busy = 3.0 * ((1.0 - open) + open * (1.0 - (-2.0 * (deadline - delay)).exp()));
    let prices = job.prices(Cancellation::AtOnce).unwrap();
    close(prices.busy, busy);
    close(prices.copies, 3.0 * open);
    close(prices.extra_requests, open);
    close(prices.extra_busy.unwrap(), busy / (3.0 * (1.0 - (-deadline).exp())) - 1.0);
    close(job.sends_copy(), 1.0 - (1.0 - open).powi(3));
}

#[test]
fn a_copy_starts_only_while_branch_and_job_are_open() {
    let delay = 0.8;
    let law = Law::log_normal(1.0, 0.6).unwrap();
    let (f, s) = (law.cdf(delay), law.survival(delay));
    let group = Group { delays: vec![delay], ..Group::new(4, law) };
    let job = GroupedPlan::first(2, group).solve().unwrap();
    // The branch is open, and of the three others at most one has answered.
    let expected = s * (s.powi(3) + 3.0 * f * s * s);
    close(job.copies(0), expected);
    close(job.prices(Cancellation::AtOnce).unwrap().copies, 4.0 * expected);
    // The job is open when at most one of four has answered; some branch is open then.
    close(job.sends_copy(), s.powi(4) + 4.0 * f * s.powi(3));
}

#[test]
fn a_copy_is_sent_first_by_the_group_whose_delay_comes_first() {
    let slow = Law::log_normal(1.5, 0.4).unwrap();
    let quick = Law::log_normal(0.5, 0.9).unwrap();
    let plain = Law::exponential(3.0).unwrap();
    let group =
        |law: &Law, delay: f64, count: u64| Group { delays: vec![delay], ..Group::new(count, law.clone()) };
    let job = solve(vec![group(&slow, 2.0, 2), group(&quick, 1.1, 3), Group::new(1, plain)], 6, 6, NEVER);
    close(job.sends_copy(), 1.0 - slow.cdf(2.0).powi(2) * quick.cdf(1.1).powi(3));
}

#[test]
fn a_job_fails_at_once_when_a_required_branch_gives_up() {
    let (early, deadline) = (0.9, 2.0);
    let law = Law::log_normal(0.8, 0.5).unwrap();
    let required = Group { deadline: early, ..Group::new(1, law.clone()) };
    let job = solve(vec![required, optional(Group::new(2, law.clone()))], 3, 1, deadline);
    let miss = law.survival(early);
    assert_eq!(job.failed(early - 1e-9), 0.0);
    close(job.failed(early), miss);
    close(job.verdicts().failed, miss);
    close(job.verdicts().complete, law.cdf(early) * law.cdf(deadline).powi(2));
    // An optional branch that runs when the job fails is cancelled.
    let Outcomes { answered, missed, cancelled, unneeded, .. } = job.outcomes(1).unwrap();
    close(cancelled, miss * law.survival(early));
    close(missed, (1.0 - miss) * law.survival(deadline));
    close(answered, law.cdf(early) + (1.0 - miss) * (law.cdf(deadline) - law.cdf(early)));
    assert_eq!(unneeded, 0.0);
    // The whole share that fails returns at that instant: quantiles inside the atom are the instant.
    let before = law.cdf(early).powi(3);
    close(job.returned(early - 1e-12), before);
    close(job.returned(early), before + miss);
    let inside = Level::below(before + miss / 2.0).unwrap();
    assert_eq!(job.quantile(inside).value, early);
}

#[test]
fn a_job_fails_at_once_when_too_few_can_still_answer() {
    let law = Law::exponential(1.0).unwrap();
    let early = Group { deadline: 0.5, ..optional(Group::new(3, law.clone())) };
    let late = optional(Group::new(2, law.clone()));
    let job = solve(vec![early, late], 4, 4, 3.0);
    // At 0.5 s two misses are too many; one leaves four that must all answer.
    let (f, s) = (law.cdf(0.5), law.survival(0.5));
    let too_many = 3.0 * s * s * f + s * s * s;
    close(job.failed(0.5), too_many);
    let one_miss = 3.0 * s * f * f;
    let (last, open) = (law.cdf(3.0), law.survival(3.0));
    close(job.verdicts().failed, too_many + one_miss * (1.0 - last * last) + f * f * f * open * open);
    close(job.verdicts().complete, f.powi(3) * (1.0 - open * open) + one_miss * last * last);
}

#[test]
fn a_job_is_partial_as_soon_as_nothing_more_can_arrive() {
    let law = Law::exponential(1.0).unwrap();
    let early = Group { deadline: 0.5, ..optional(Group::new(1, law.clone())) };
    let job = solve(vec![early, optional(Group::new(1, law.clone()))], 2, 0, 4.0);
    let miss = law.survival(0.5);
    close(job.partial(0.5), miss * law.cdf(0.5));
    close(job.partial(1.3), miss * law.cdf(1.3));
    close(job.verdicts().partial, miss + law.cdf(0.5) * law.survival(4.0));
    // E R = ∫ P(waiting): before 0.5 s one of two is open; after it the second alone keeps the job waiting.
    let mean = (1.0 - (-0.5_f64).exp()) * 2.0 - (1.0 - (-1.0_f64).exp()) / 2.0
        + ((-0.5_f64).exp() - (-4.0_f64).exp());
    close(job.mean().unwrap().value, mean);
}

#[test]
fn an_attempt_timeout_fails_the_branch_and_brings_copies_forward() {
    let law = Law::exponential(1.0).unwrap();
    let alone = Group { attempt_timeout: 0.6, ..Group::new(1, law.clone()) };
    let job = solve(vec![alone.clone()], 1, 1, 5.0);
    close(job.outcomes(0).unwrap().failed, (-0.6_f64).exp());
    close(job.failed(0.6), (-0.6_f64).exp());
    assert_eq!(job.quantile(Level::below(0.9).unwrap()).value, 0.6);
    // The copy is due at 2 s but starts when the primary times out; the branch fails when the copy has.
    let job = solve(vec![Group { delays: vec![2.0], ..alone }], 1, 1, 5.0);
    close(job.copies(0), (-0.6_f64).exp());
    close(job.returned(1.0), law.cdf(1.0));
    assert_eq!(job.failed(1.19), 0.0);
    close(job.failed(1.2), (-1.2_f64).exp());
}

#[test]
fn an_answer_that_never_comes_is_a_job_that_never_returns() {
    let law = Law::exponential(1.0).unwrap().cut(1.0).unwrap();
    let job = GroupedPlan::all(Group::new(2, law.clone())).solve().unwrap();
    close(job.verdicts().never, 1.0 - law.cdf(1.0).powi(2));
    assert_eq!(job.quantile(Level::below(0.9).unwrap()).value, NEVER);
    assert_eq!(job.mean().unwrap().value, NEVER);
    assert_eq!(job.sd().unwrap().value, NEVER);
    assert_eq!(job.prices(Cancellation::AtOnce).unwrap().busy, NEVER);
    // One answer of two: a branch that never answers is not waited for.
    let job = GroupedPlan::first(1, Group::new(2, Law::exponential(1.0).unwrap())).solve().unwrap();
    close(job.outcomes(0).unwrap().answered, 0.5);
    close(job.outcomes(0).unwrap().unneeded, 0.5);
}

#[test]
fn means_of_a_maximum_agree_by_quantiles_and_by_integration_in_time() {
    for sigma in [0.05, 0.3, 0.6, 1.0, 1.5, 2.5] {
        for n in [1, 8, 1_000, 1_000_000_000] {
            let law = Law::log_normal(1.0, sigma).unwrap();
            let fast = GroupedPlan::all(Group::new(n, law.clone())).solve().unwrap();
            // A deadline that nobody meets does not change the figure, but the way to it.
            let far = law.quantile(Level::at_hazard(600.0).unwrap());
            let slow = solve(vec![Group::new(n, law)], n, n, far);
            let ratio = fast.mean().unwrap().value / slow.mean().unwrap().value;
            assert!((ratio - 1.0).abs() < 1e-11, "sigma {sigma}, n {n}: {ratio}");
            let ratio = fast.sd().unwrap().value / slow.sd().unwrap().value;
            assert!((ratio - 1.0).abs() < 1e-9, "sigma {sigma}, n {n}: sd {ratio}");
        }
    }
}

/// A small generator for samples; not for anything else (`SplitMix64`, Steele, Lea and Flood 2014).
struct Draws(u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// What one sampled job did.
#[derive(Default)]
struct Sampled {
    returned: f64,
    /// complete, partial, failed
    verdict: usize,
    copies: f64,
    busy: f64,
    /// Of the first branch of each group: answered, missed, unneeded, cancelled.
    outcomes: Vec<usize>,
}

/// One job by its rules, from drawn latencies: no law, no formula.
fn sample(plan: &GroupedPlan, draws: &mut Draws) -> Sampled {
    struct Branch {
        group: usize,
        starts: Vec<f64>,
        answer: f64,
        deadline: f64,
    }
    let mut branches = Vec::new();
    for (index, group) in plan.groups.iter().enumerate() {
        let deadline = group.deadline.min(plan.deadline);
        for _ in 0..group.count {
            let due =
                group.delays.iter().copied().filter(|d| *d < deadline && *d <= deadline - group.min_useful);
            let starts: Vec<f64> = std::iter::once(0.0).chain(due).collect();
            let latency = |start: &f64| start + group.law.sample(draws.uniform());
            let answer = starts.iter().map(latency).fold(NEVER, f64::min);
            branches.push(Branch { group: index, starts, answer, deadline });
        }
    }
    let mut instants: Vec<f64> =
        branches.iter().flat_map(|b| [b.answer, b.deadline]).filter(|t| t.is_finite()).collect();
    instants.sort_by(f64::total_cmp);
    let (returned, verdict) = instants
        .into_iter()
        .find_map(|now| {
            let required = |b: &&Branch| plan.groups[b.group].required;
            let answered = |b: &&Branch| b.answer <= now.min(b.deadline);
            let missed = |b: &&Branch| b.deadline <= now && b.answer > b.deadline;
            let answers = branches.iter().filter(answered).count() as u64;
            let misses = branches.iter().filter(missed).count() as u64;
            let n = branches.len() as u64;
            if branches.iter().filter(required).all(|b| answered(&b)) && answers >= plan.k {
                Some((now, 0))
            } else if branches.iter().filter(required).any(|b| missed(&b)) || n - misses < plan.at_least {
                Some((now, 2))
            } else if answers + misses == n {
                Some((now, 1))
            } else {
                None
            }
        })
        .unwrap();
    let mut sampled =
        Sampled { returned, verdict, outcomes: vec![usize::MAX; plan.groups.len()], ..Sampled::default() };
    for branch in &branches {
        let open_until = branch.answer.min(branch.deadline).min(returned);
        for (number, start) in branch.starts.iter().enumerate() {
            // Deadlines come before copies at the same instant.
            if *start < open_until || *start == 0.0 {
                sampled.busy += open_until - start;
                sampled.copies += f64::from(u8::from(number > 0));
            }
        }
        let outcome = &mut sampled.outcomes[branch.group];
        if *outcome == usize::MAX {
            *outcome = if branch.answer <= branch.deadline.min(returned) {
                0
            } else if branch.deadline <= returned {
                1
            } else if verdict == 0 {
                2
            } else {
                3
            };
        }
    }
    sampled
}

/// Compares every readout of a plan with the mean over sampled jobs, to five standard errors.
fn check_by_sampling(name: &str, plan: &GroupedPlan) {
    const JOBS: usize = 100_000;
    let law = plan.solve().unwrap();
    let mut draws = Draws(0x5eed);
    let jobs: Vec<Sampled> = (0..JOBS).map(|_| sample(plan, &mut draws)).collect();
    let compare = |what: &str, expected: f64, of: &dyn Fn(&Sampled) -> f64| {
        let mean = jobs.iter().map(of).sum::<f64>() / JOBS as f64;
        let variance = jobs.iter().map(|job| (of(job) - mean).powi(2)).sum::<f64>() / JOBS as f64;
        let error = 5.0 * (variance / JOBS as f64).sqrt() + 1e-4;
        assert!(
            (mean - expected).abs() < error,
            "{name}, {what}: sampled {mean}, exact {expected}, bound {error}"
        );
    };
    let verdicts = law.verdicts();
    let share = |yes: bool| f64::from(u8::from(yes));
    for (i, exact) in [verdicts.complete, verdicts.partial, verdicts.failed].into_iter().enumerate() {
        compare(&format!("verdict {i}"), exact, &|job| share(job.verdict == i));
    }
    for t in [0.3, 0.6, 0.9, 1.2, 1.6, 2.2, 3.0] {
        compare(&format!("returned by {t}"), law.returned(t), &|job| share(job.returned <= t));
        compare(&format!("complete by {t}"), law.complete(t), &|job| {
            share(job.returned <= t && job.verdict == 0)
        });
        compare(&format!("partial by {t}"), law.partial(t), &|job| {
            share(job.returned <= t && job.verdict == 1)
        });
        compare(&format!("failed by {t}"), law.failed(t), &|job| {
            share(job.returned <= t && job.verdict == 2)
        });
    }
    let prices = law.prices(Cancellation::AtOnce).unwrap();
    compare("mean", law.mean().unwrap().value, &|job| job.returned);
    compare("copies", prices.copies, &|job| job.copies);
    compare("busy", prices.busy, &|job| job.busy);
    compare("sends a copy", law.sends_copy(), &|job| share(job.copies > 0.0));
    for group in 0..plan.groups.len() {
        let o = law.outcomes(group).unwrap();
        for (i, exact) in [o.answered, o.missed, o.unneeded, o.cancelled].into_iter().enumerate() {
            compare(&format!("group {group}, outcome {i}"), exact, &|job| share(job.outcomes[group] == i));
        }
        let sum = o.answered + o.failed + o.missed + o.unneeded + o.cancelled + o.never;
        assert!((sum - 1.0).abs() < 1e-10, "{name}: outcomes of group {group} sum to {sum}");
    }
}

#[test]
fn every_readout_agrees_with_sampled_jobs() {
    let log_normal = |median: f64, sigma: f64| Law::log_normal(median, sigma).unwrap();
    let quick = log_normal(0.5, 0.5);
    let slow = log_normal(0.9, 0.7);
    let heavy = Law::pareto(0.3, 1.5).unwrap();
    let hedged = |group: Group, delays: &[f64]| Group { delays: delays.to_vec(), ..group };
    let until = |group: Group, deadline: f64| Group { deadline, ..group };
    let plan = |groups: &[Group], k: u64, at_least: u64, deadline: f64| GroupedPlan {
        groups: groups.to_vec(),
        k,
        at_least,
        deadline,
    };
    let new = |count: u64, law: &Law| Group::new(count, law.clone());
    let extra = |count: u64, law: &Law| optional(Group::new(count, law.clone()));
    let cases = [
        ("required and optional under a deadline", plan(&[new(3, &quick), extra(2, &slow)], 5, 3, 1.4)),
        (
            "hedged required branches beside optional ones",
            plan(&[hedged(new(3, &slow), &[0.8]), extra(2, &heavy)], 5, 3, 1.8),
        ),
        (
            "first k of different laws with copies",
            plan(&[hedged(extra(3, &quick), &[0.4]), hedged(extra(4, &slow), &[0.7, 1.0])], 4, 4, 2.0),
        ),
        (
            "early deadlines of optional branches under first k",
            plan(
                &[
                    until(hedged(extra(3, &slow), &[0.5]), 0.9),
                    until(extra(2, &quick), 0.6),
                    extra(3, &heavy),
                ],
                5,
                3,
                1.5,
            ),
        ),
        (
            "an early required deadline cancels the others",
            plan(&[until(new(1, &quick), 0.8), hedged(extra(4, &slow), &[0.6]), new(1, &slow)], 4, 2, 1.7),
        ),
        (
            "a race and a late copy with little time left",
            plan(
                &[
                    hedged(new(2, &slow), &[0.0, 0.9]),
                    Group { min_useful: 0.3, ..hedged(extra(2, &slow), &[0.5, 0.95]) },
                ],
                4,
                2,
                1.2,
            ),
        ),
        (
            "too few can still answer",
            plan(&[until(extra(3, &slow), 0.7), until(extra(3, &slow), 1.1), extra(2, &quick)], 6, 5, 1.6),
        ),
    ];
    for (name, plan) in &cases {
        check_by_sampling(name, plan);
    }
}
