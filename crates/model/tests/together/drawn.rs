//! By drawing jobs. Every draw is a function of what it is for, so that a run repeats itself.

use fantail_model::special::{normal_hazard, normal_quantile};
use fantail_model::{Cancellation, Dependence, DependentJob, GroupedPlan, Level, Outcomes};

use super::plans::small;
use super::shares;

const JOBS: u64 = 20_000;
/// By Bernstein's inequality a share is off by more than its bound with a chance below `2 e^-20`, and a mean by more than
/// 6.4 standard errors about as seldom: for some 200 figures, one false alarm in a million sets of draws.
const DOUBT: f64 = 20.0;
const ERRORS: f64 = 6.4;

/// A standard normal for a purpose.
fn normal(job: u64, branch: u64, attempt: u64) -> f64 {
    let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
    for word in [job, branch, attempt] {
        // The finaliser of SplitMix64 after each word.
        bits = (bits ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
    }
    normal_quantile(-(((bits >> 12) as f64 + 0.5) / (1_u64 << 52) as f64).ln())
}

struct Attempt {
    start: f64,
    /// How long it runs by itself.
    runs: f64,
    answers: bool,
}

struct Branch {
    group: usize,
    attempts: Vec<Attempt>,
    answer: f64,
    expires: f64,
}

impl Branch {
    fn draw(plan: &GroupedPlan, shares: Dependence, group: usize, job: u64, branch: u64) -> Branch {
        let spec = &plan.groups[group];
        let common = shares.job().sqrt() * normal(job, u64::MAX, 0)
            + shares.branch().sqrt() * normal(job, branch, u64::MAX);
        let mut attempts: Vec<Attempt> = Vec::new();
        for (index, start) in (0..).zip(core::iter::once(0.0).chain(spec.delays.iter().copied())) {
            let z = common + shares.luck().sqrt() * normal(job, branch, index);
            let time = spec.law.quantile(Level::at_hazard(normal_hazard(z)).unwrap());
            let runs = time.min(spec.attempt_timeout);
            attempts.push(Attempt { start, runs, answers: time <= spec.attempt_timeout });
        }
        let answers = attempts.iter().filter(|attempt| attempt.answers);
        let answer = answers.map(|attempt| attempt.start + attempt.runs).fold(f64::INFINITY, f64::min);
        let last = attempts.last().unwrap().start + spec.attempt_timeout;
        let deadline = spec.deadline.min(plan.deadline);
        Branch { group, attempts, answer, expires: last.min(deadline) }
    }

    /// When it has answered or given up.
    fn settles(&self) -> f64 {
        self.answer.min(self.expires)
    }

    fn answered(&self, t: f64) -> bool {
        self.answer <= t.min(self.expires)
    }
}

/// What is counted of a job: verdicts, time, copies, outcomes of each group, busy times.
#[derive(Default)]
struct Job {
    time: f64,
    complete: bool,
    failed: bool,
    copies: Vec<f64>,
    answered: Vec<f64>,
    gave_up: Vec<f64>,
    ended: Vec<f64>,
    busy: [f64; 3],
}

const HOW: [Cancellation; 3] = [Cancellation::AtOnce, Cancellation::After(0.3), Cancellation::Never];

fn draw(plan: &GroupedPlan, shares: Dependence, job: u64) -> Job {
    let of = plan.groups.iter().enumerate();
    let groups = of.flat_map(|(index, group)| (0..group.count).map(move |_| index));
    let branches: Vec<Branch> =
        groups.zip(0..).map(|(group, branch)| Branch::draw(plan, shares, group, job, branch)).collect();
    let mut times: Vec<f64> = branches.iter().map(Branch::settles).collect();
    times.sort_unstable_by(f64::total_cmp);
    let required = |branch: &&Branch| plan.groups[branch.group].required;
    let judge = |t: f64| {
        let answered = branches.iter().filter(|branch| branch.answered(t)).count() as u64;
        let open = branches.iter().filter(|branch| branch.settles() > t).count() as u64;
        let lost = branches.iter().filter(required).any(|b| b.settles() <= t && !b.answered(t));
        let failed = lost || answered + open < plan.at_least;
        let complete = branches.iter().filter(required).all(|b| b.answered(t)) && answered >= plan.k;
        (failed || complete || open == 0, complete, failed)
    };
    let (time, (_, complete, failed)) =
        times.into_iter().map(|t| (t, judge(t))).find(|(_, (over, ..))| *over).unwrap();
    let each = || vec![0.0; plan.groups.len()];
    let mut result = Job {
        time,
        complete,
        failed,
        copies: each(),
        answered: each(),
        gave_up: each(),
        ended: each(),
        busy: [0.0; 3],
    };
    for branch in &branches {
        let (group, end) = (branch.group, branch.settles().min(time));
        if branch.answered(time) {
            result.answered[group] += 1.0;
        } else if branch.expires <= time {
            result.gave_up[group] += 1.0;
        } else {
            result.ended[group] += 1.0;
        }
        for (index, attempt) in branch.attempts.iter().enumerate().filter(|(_, a)| a.start < end) {
            result.copies[group] += if index > 0 { 1.0 } else { 0.0 };
            for (busy, lag) in result.busy.iter_mut().zip([0.0, 0.3, f64::INFINITY]) {
                *busy += attempt.runs.min(end - attempt.start + lag);
            }
        }
    }
    result
}

#[track_caller]
fn share(jobs: &[Job], of: impl Fn(&Job) -> bool, expected: f64) {
    let n = jobs.len() as f64;
    let found = jobs.iter().filter(|job| of(job)).count() as f64 / n;
    let bound = (2.0 * expected * (1.0 - expected) * DOUBT / n).sqrt() + 2.0 * DOUBT / (3.0 * n);
    assert!((found - expected).abs() <= bound, "{found} {expected} ± {bound}");
}

#[track_caller]
fn mean(jobs: &[Job], of: impl Fn(&Job) -> f64, expected: f64) {
    let n = jobs.len() as f64;
    let mean = jobs.iter().map(&of).sum::<f64>() / n;
    let variance = jobs.iter().map(|job| (of(job) - mean).powi(2)).sum::<f64>() / n;
    let bound = ERRORS * (variance / n).sqrt() + DOUBT / n * expected.min(1.0);
    assert!((mean - expected).abs() <= bound, "{mean} {expected} ± {bound}");
}

fn check(plan: &GroupedPlan, shares: Dependence) {
    let shared: DependentJob = plan.solve_dependent(shares).unwrap();
    let jobs: Vec<Job> = (0..JOBS).map(|job| draw(plan, shares, job)).collect();
    let verdicts = shared.verdicts().unwrap();
    share(&jobs, |job| job.complete, verdicts.complete);
    share(&jobs, |job| job.failed, verdicts.failed);
    share(&jobs, |job| !job.complete && !job.failed, verdicts.partial);
    for t in [0.6, 1.0, 1.5, 2.1] {
        share(&jobs, |job| job.time <= t, shared.returned(t).unwrap());
        share(&jobs, |job| job.complete && job.time <= t, shared.complete(t).unwrap());
    }
    share(&jobs, |job| job.copies.iter().sum::<f64>() > 0.0, shared.sends_copy().unwrap());
    mean(&jobs, |job| job.time, shared.mean().unwrap().value);
    for (index, how) in HOW.into_iter().enumerate() {
        mean(&jobs, |job| job.busy[index], shared.prices(how).unwrap().busy);
    }
    for (group, spec) in plan.groups.iter().enumerate() {
        let count = spec.count as f64;
        mean(&jobs, |job| job.copies[group], count * shared.copies(group).unwrap());
        let Outcomes { answered, failed, missed, unneeded, cancelled, .. } = shared.outcomes(group).unwrap();
        mean(&jobs, |job| job.answered[group], count * answered);
        mean(&jobs, |job| job.gave_up[group], count * (failed + missed));
        mean(&jobs, |job| job.ended[group], count * (unneeded + cancelled));
    }
}

#[test]
fn jobs_that_are_drawn_do_what_is_computed() {
    for plan in small() {
        check(&plan, shares(0.2, 0.3));
    }
}
