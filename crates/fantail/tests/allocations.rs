//! What a job takes from the heap.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use fantail::{Fanout, Limiters};
use fantail_core::{BranchSpec, Hedge, LimiterSpec, LiveDelaySpec, Plan, PlanSpec, Quantile, Rate, Time};

/// Under the whole policy: gate, rate, deadline, and a hedge with a live delay.
fn guarded(n: usize) -> Fanout {
    let p95 = Quantile::from_ppm(950_000).expect("it is a level");
    let delay = Time::from_secs(5);
    let like = BranchSpec {
        limiter: Some(0),
        repeatable: true,
        hedge: Some(Hedge::after(delay)),
        live: Some(0),
        ..BranchSpec::new("like")
    };
    let rate = Rate { permits: u32::MAX, per: Time::from_secs(1), burst: u32::MAX };
    let branches = (0..n).map(|i| BranchSpec { name: i.to_string(), ..like.clone() }).collect();
    let spec = PlanSpec {
        deadline: Some(Time::from_secs(30)),
        limiters: vec![LimiterSpec {
            gate: Some(1_000_000),
            rate: Some(rate),
            ..LimiterSpec::new("account")
        }],
        live_delays: vec![LiveDelaySpec { floor: delay, warming: Some(delay), ..LiveDelaySpec::new(p95) }],
        ..PlanSpec::new("plan", branches)
    };
    Fanout::new(Plan::new(spec).expect("the plan is valid"), &Limiters::default())
}

/// How often a job, whose branches are ready at once, takes from the heap, with the list of its answers.
fn allocations(fanout: &Fanout) -> u64 {
    let n = fanout.plan().branches().len();
    let all = measure(|| {
        let mut job = fanout.job();
        let answers = job.each(|attempt| async move { Ok(attempt.branch()) });
        let Poll::Ready(done) = pin!(job.join()).poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("its branches are ready")
        };
        let answers = done.expect("all branches answer").take(answers);
        assert!(answers.len() == n && answers.iter().all(Option::is_some));
    });
    all.count_total
}

#[tokio::test]
async fn a_job_after_another_one_of_like_branches_allocates_next_to_nothing() {
    // The list of answers, which the caller takes, and the calls.
    for n in [1, 5, 8, 72, 1_000] {
        let fanout = guarded(n);
        let first = allocations(&fanout);
        let counts: Vec<u64> = (0..32).map(|_| allocations(&fanout)).collect();
        println!("{n} branches: {first} allocations, then {counts:?}");
        // Now and then the sketch meets a new octave of latencies; there are not as many within seconds.
        assert!(counts.iter().min() <= Some(&2), "{n} branches: {counts:?}");
    }
}
