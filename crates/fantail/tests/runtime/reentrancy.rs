//! Jobs inside jobs, and attempts that meddle with other jobs.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Mutex;
use std::time::Duration;

use fantail::{AttemptError, Done, Fanout, JoinError, Limiters};
use fantail_core::{BranchSpec, PlanSpec};

use crate::support::{Census, after, fanout, gate, limited, ms, poll_once, shared, sleep};

type Joined<'f> = Pin<Box<dyn Future<Output = Result<Done, JoinError>> + Send + 'f>>;

#[tokio::test(start_paused = true)]
async fn an_attempt_may_drop_another_job_and_so_free_a_permit_for_its_own() {
    let limiters = Limiters::default();
    let plan =
        |name, n| shared(PlanSpec { limiters: vec![gate(1)], ..PlanSpec::new(name, limited(n)) }, &limiters);
    let (victim, waiting) = (plan("victim", 3), plan("waiting", 1));
    let meddler = fanout(PlanSpec::new("meddler", vec![BranchSpec::new("drops"), BranchSpec::new("waits")]));
    let census = Census::default();

    let mut job = victim.job();
    let _answers = job.each(|_| census.count(pending::<Result<(), AttemptError>>()));
    let mut job: Joined<'_> = Box::pin(job.join());
    assert!(poll_once(&mut job).await.is_pending());
    let victim = Mutex::new(Some(job));

    let mut job = meddler.job();
    let _drops = job.required("drops", |_| async {
        sleep(10).await;
        drop(victim.lock().unwrap().take());
        Ok(())
    });
    let _waits = job.required("waits", |_| async {
        let mut job = waiting.job();
        let _answer = job.each(|_| after(5, ()));
        Ok(job.join().await?.elapsed())
    });
    let done = job.join().await.unwrap();
    assert_eq!((done.elapsed(), census.alive()), (ms(15), 0));
    assert_eq!(waiting.limiter(0).unwrap().held(), 0);
}

/// A job of the same plan inside its unlimited branch, down to a depth.
fn nested(plan: &Fanout, depth: u32) -> Joined<'_> {
    let mut job = plan.job();
    let _free = job.required("free", move |_| async move {
        if depth > 0 {
            let _done = nested(plan, depth - 1).await?;
        }
        Ok(())
    });
    let _limited = job.required("limited", |_| after(10, ()));
    Box::pin(job.join())
}

#[tokio::test(start_paused = true)]
async fn jobs_of_one_plan_nest_in_a_branch_without_a_limiter() {
    let branches =
        vec![BranchSpec::new("free"), BranchSpec { limiter: Some(0), ..BranchSpec::new("limited") }];
    let plan = fanout(PlanSpec { limiters: vec![gate(1)], ..PlanSpec::new("plan", branches) });
    let done = nested(&plan, 4).await.unwrap();
    // Five of them, one at a time; the innermost asked last.
    assert_eq!(done.elapsed(), ms(50));
    assert_eq!(plan.limiter(1).unwrap().held(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_job_in_a_branch_is_dropped_with_it() {
    let branches =
        vec![BranchSpec::new("free"), BranchSpec { limiter: Some(0), ..BranchSpec::new("limited") }];
    let plan = fanout(PlanSpec { limiters: vec![gate(1)], ..PlanSpec::new("plan", branches) });
    let mut job = nested(&plan, 4);
    assert!(tokio::time::timeout(Duration::from_millis(25), &mut job).await.is_err());
    assert_eq!((plan.limiter(1).unwrap().held(), plan.limiter(1).unwrap().waiting()), (1, 2));
    drop(job);
    assert_eq!((plan.limiter(1).unwrap().held(), plan.limiter(1).unwrap().waiting()), (0, 0));
}
