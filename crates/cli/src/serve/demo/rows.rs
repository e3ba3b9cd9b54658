//! The rows of the demo's table: what is predicted of three plans, and how far a run may lie from that.

use anyhow::Context;
use fantail_core::{Branch, BranchSpec, Plan, PlanSpec};
use fantail_gateway::demo::{Measured, Verdict};
use fantail_model::{Cancellation, JobLaw, Law, Level, solve};

use super::band;

/// The quantiles shown, in percent.
const P50: u64 = 50;
const P90: u64 = 90;

/// The figures of a row: times in seconds, shares of jobs, copies for each branch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) complete: f64,
    pub(super) partial: f64,
    pub(super) failed: f64,
    pub(super) extra: f64,
}

/// Where the figures of a run lie in 95 of 100 runs, each by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Band {
    pub(super) low: Row,
    pub(super) high: Row,
}

/// The plan without deadline and copies, with the deadline alone, and as it is.
pub(super) fn variants(plan: &Plan) -> anyhow::Result<[Plan; 3]> {
    let with = |deadline: bool, copies: bool| {
        let branches = plan.branches().iter().map(|branch| stated(branch, deadline, copies)).collect();
        let spec = PlanSpec {
            wait_for: plan.wait_for(),
            at_least: Some(plan.at_least()),
            deadline: plan.deadline().filter(|_| deadline),
            hedge_budget: plan.hedge_budget(),
            backfill: plan.backfill(),
            limiters: plan.limiters().to_vec(),
            ..PlanSpec::new(plan.name(), branches)
        };
        Plan::new(spec).context("a plan that asks for less than a checked one")
    };
    Ok([with(false, false)?, with(true, false)?, with(true, true)?])
}

fn stated(branch: &Branch, deadline: bool, copies: bool) -> BranchSpec {
    let Branch { name, required, hedge, attempt_timeout, repeatable, targets, limiter, weight, cost, .. } =
        branch.clone();
    BranchSpec {
        required: Some(required),
        deadline: branch.deadline.filter(|_| deadline),
        attempt_timeout,
        hedge: hedge.filter(|_| copies),
        repeatable,
        targets,
        limiter,
        weight,
        cost,
        ..BranchSpec::new(name)
    }
}

/// What is predicted of a plan.
pub(super) fn predicted(plan: &Plan, laws: &[Law]) -> anyhow::Result<(JobLaw, Row)> {
    let law = solve(plan, laws)?;
    let verdicts = law.verdicts();
    let at = |percent: u64| law.quantile(Level::below(percent as f64 / 100.0).expect("a percentage")).value;
    let row = Row {
        p50: at(P50),
        p90: at(P90),
        complete: verdicts.complete,
        partial: verdicts.partial,
        failed: verdicts.failed,
        extra: law.prices(Cancellation::AtOnce)?.extra_requests + 0.0,
    };
    Ok((law, row))
}

/// What was measured; the quantiles are the nearest ranks. `None` when no reply was that of a job.
pub(super) fn measured(run: &Measured) -> Option<Row> {
    let jobs = || run.replies.iter().filter(|reply| reply.verdict.is_some());
    let mut seconds: Vec<f64> = jobs().map(|reply| reply.latency.as_secs_f64()).collect();
    seconds.sort_unstable_by(f64::total_cmp);
    let n = seconds.len();
    let at = |percent: u64| seconds.get(band::rank(percent, n as u64) as usize - 1).copied();
    let share = |verdict| jobs().filter(|reply| reply.verdict == Some(verdict)).count() as f64 / n as f64;
    Some(Row {
        p50: at(P50)?,
        p90: at(P90)?,
        complete: share(Verdict::Complete),
        partial: share(Verdict::Partial),
        failed: share(Verdict::Failed),
        extra: run.extra_requests(),
    })
}

/// Where a run of `jobs` jobs lies in 95 of 100 cases when `row` holds.
///
/// Copies are counted as independent, one for each hedged branch: exact where the job waits for every hedged branch,
/// since then whether a branch is open does not depend on the others.
pub(super) fn band(law: &JobLaw, row: &Row, plan: &Plan, jobs: u64) -> Band {
    let count = |p: f64, of: u64, per: f64| {
        let counts = band::binomial(p, of);
        [*counts.start(), *counts.end()].map(|count| count as f64 / per)
    };
    let time = |percent: u64| band::order_statistic(law, band::rank(percent, jobs), jobs);
    let share = |p: f64| count(p, jobs, jobs as f64);
    let hedged = plan.branches().iter().filter(|branch| branch.hedge.is_some()).count() as u64;
    let per_hedged = row.extra * f64::from(plan.n()) / (hedged.max(1) as f64);
    let (p50, p90) = (time(P50), time(P90));
    let (complete, partial, failed) = (share(row.complete), share(row.partial), share(row.failed));
    let extra = count(per_hedged, jobs * hedged, (jobs * u64::from(plan.n())) as f64);
    let end = |i: usize| Row {
        p50: p50[i],
        p90: p90[i],
        complete: complete[i],
        partial: partial[i],
        failed: failed[i],
        extra: extra[i],
    };
    Band { low: end(0), high: end(1) }
}
