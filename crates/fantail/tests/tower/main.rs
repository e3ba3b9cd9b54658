//! A plan as a layer of tower, with other layers above and below it.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

mod drops;
mod rates;

use std::convert::Infallible;
use std::future::{Future, pending, poll_fn, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use fantail::tower::{PlanLayer, PlanService, Policy};
use fantail::{Attempt, AttemptError, Fanout, JoinError, Limiters};
use fantail_core::job::{Cause, Class, Outcome};
use fantail_core::{BranchSpec, Hedge, LimiterSpec, Plan, PlanSpec, Time};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use tower::balance::p2c::Balance;
use tower::buffer::Buffer;
use tower::discover::ServiceList;
use tower::limit::{ConcurrencyLimit, GlobalConcurrencyLimitLayer, RateLimit};
use tower::load::{CompleteOnResponse, PendingRequests};
use tower::load_shed::error::Overloaded;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

fn plan(deadline: u64, gate: Option<u32>, hedge: Option<Hedge>) -> Fanout {
    let limiter = gate.map(|_| 0);
    let branch = BranchSpec { repeatable: true, hedge, limiter, ..BranchSpec::new("read") };
    let limiters = gate.map(|gate| LimiterSpec { gate: Some(gate), ..LimiterSpec::new("account") });
    let spec = PlanSpec {
        deadline: Some(Time::from_millis(deadline)),
        limiters: limiters.into_iter().collect(),
        ..PlanSpec::new("read", vec![branch])
    };
    Fanout::new(Plan::new(spec).unwrap(), &Limiters::default())
}

fn layer(deadline: u64, gate: Option<u32>, hedge: Option<Hedge>) -> PlanLayer {
    PlanLayer::new(plan(deadline, gate, hedge)).unwrap()
}

async fn rest(millis: u64) -> Result<(), Infallible> {
    sleep(Duration::from_millis(millis)).await;
    Ok(())
}

/// Answers after the time that the request says, in ms; panics when it is called without being ready, like many services.
struct Strict {
    ready: bool,
    calls: Arc<AtomicUsize>,
}

impl Clone for Strict {
    fn clone(&self) -> Strict {
        Strict { ready: false, calls: Arc::clone(&self.calls) }
    }
}

impl Service<u64> for Strict {
    type Response = u64;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<u64, Infallible>> + Send>>;

    fn poll_ready(&mut self, _task: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, latency: u64) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "it was not ready");
        self.calls.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            sleep(Duration::from_millis(latency)).await;
            Ok(latency)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn no_attempt_is_made_of_a_service_that_is_not_ready() {
    let calls = Arc::new(AtomicUsize::new(0));
    for gate in [None, Some(2)] {
        let strict = Strict { ready: false, calls: Arc::clone(&calls) };
        let mut service = layer(1_000, gate, Some(Hedge::race(3))).layer(strict);
        let calls = (0..4).map(|_| {
            let mut service = service.clone();
            async move { service.ready().await.unwrap().call(10).await.unwrap() }
        });
        let all = futures_util::future::join_all(calls).await;
        assert_eq!(all, [10; 4]);
        assert_eq!(service.ready().await.unwrap().call(1).await.unwrap(), 1);
    }
    assert!(calls.load(Ordering::Relaxed) > 10, "there were copies");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_full_sheds_load_above_the_layer() {
    let service = ServiceBuilder::new()
        .load_shed()
        .layer(layer(1_000, None, None))
        .concurrency_limit(1)
        .service(service_fn(|(): ()| rest(10)));
    let (first, second) = tokio::join!(service.clone().oneshot(()), service.clone().oneshot(()));
    first.unwrap();
    assert!(second.unwrap_err().is::<Overloaded>());
    service.oneshot(()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_permit_keeps_no_place_below() {
    let places = Arc::new(Semaphore::new(2));
    let plan = plan(1_000, Some(1), None);
    let account = plan.limiter(0).unwrap().clone();
    let service = ServiceBuilder::new()
        .layer(PlanLayer::new(plan).unwrap())
        .layer(GlobalConcurrencyLimitLayer::with_semaphore(Arc::clone(&places)))
        .service(service_fn(|(): ()| rest(10)));
    let permit = account.acquire(Class::First, 1, None).await.unwrap();
    let mut waiting: Vec<_> = (0..5).map(|_| Box::pin(service.clone().oneshot(()))).collect();
    for call in &mut waiting {
        assert!(poll_fn(|task| Poll::Ready(call.as_mut().poll(task))).await.is_pending());
    }
    assert_eq!((account.waiting(), places.available_permits()), (5, 2));
    drop(permit);
    let start = Instant::now();
    for call in futures_util::future::join_all(waiting).await {
        call.unwrap();
    }
    assert_eq!(start.elapsed(), Duration::from_millis(50));
    assert_eq!((account.held(), places.available_permits()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn copies_with_permits_and_calls_with_places_do_not_wait_for_each_other() {
    // The first call hangs. The second one takes the other place and permit, and when it ends, the first one's copy takes
    // the permit and the third call the place, which it must not keep.
    let plan = plan(1_000, Some(2), Some(Hedge::race(2)));
    let account = plan.limiter(0).unwrap().clone();
    let calls = Arc::new(AtomicU32::new(0));
    let service = ServiceBuilder::new().layer(PlanLayer::new(plan).unwrap()).concurrency_limit(2).service(
        service_fn(move |(): ()| {
            let call = calls.fetch_add(1, Ordering::Relaxed);
            async move { if call == 0 { pending().await } else { rest(10).await } }
        }),
    );
    let permit = account.acquire(Class::First, 1, None).await.unwrap();
    let later = async {
        rest(5).await.unwrap();
        drop(permit);
    };
    let start = Instant::now();
    let calls = futures_util::future::join_all((0..3).map(|_| service.clone().oneshot(())));
    let (calls, ()) = tokio::join!(calls, later);
    calls.into_iter().for_each(Result::unwrap);
    assert!(start.elapsed() < Duration::from_millis(100), "nobody waited for a deadline");
}

#[tokio::test(start_paused = true)]
async fn a_layer_works_below_a_limit_and_above_a_buffer_and_a_rate() {
    let limited = RateLimit::new(
        service_fn(|i: u32| ready(Ok::<_, Infallible>(i))),
        tower::limit::rate::Rate::new(2, Duration::from_secs(1)),
    );
    let service = ServiceBuilder::new()
        .concurrency_limit(3)
        .layer(layer(10_000, Some(4), None))
        .service(Buffer::new(limited, 8));
    let start = Instant::now();
    let calls = futures_util::future::join_all((0..6).map(|i| service.clone().oneshot(i))).await;
    let answers: Vec<u32> = calls.into_iter().map(Result::unwrap).collect();
    assert_eq!(answers, [0, 1, 2, 3, 4, 5]);
    assert_eq!(start.elapsed(), Duration::from_secs(2));
}

/// One replica of three hangs; the balancer sends calls to the less loaded of two.
fn replicas() -> impl Service<(), Response = usize, Error = BoxError, Future: Send> + Clone + Send + 'static {
    let replica = |number: usize| {
        let service = service_fn(move |(): ()| async move {
            sleep(Duration::from_millis(if number == 0 { 100_000 } else { 5 })).await;
            Ok::<_, Infallible>(number)
        });
        PendingRequests::new(service, CompleteOnResponse::default())
    };
    let list = ServiceList::new::<()>([0, 1, 2].map(replica));
    Buffer::new(Balance::new(list), 64)
}

#[tokio::test(start_paused = true)]
async fn copies_go_to_other_replicas_of_a_balancer() {
    let service =
        layer(1_000, None, Some(Hedge { delays: vec![Time::ZERO; 2], ..Hedge::race(2) })).layer(replicas());
    let start = Instant::now();
    for _ in 0..50 {
        assert_ne!(service.clone().oneshot(()).await.unwrap(), 0);
    }
    assert_eq!(start.elapsed(), Duration::from_millis(250));
    let alone = layer(1_000, None, None).layer(replicas());
    let calls = futures_util::future::join_all((0..20).map(|_| alone.clone().oneshot(()))).await;
    assert!(calls.iter().any(Result::is_err), "without copies some call meets the one that hangs");
}

/// Responses below zero are pushback, zero is permanent.
struct ByValue {
    targets: Mutex<Vec<(u8, u32, u128)>>,
}

impl Policy<i32, i32, Infallible> for ByValue {
    fn request(&self, attempt: &Attempt, request: &i32) -> i32 {
        let left = attempt.time_left().unwrap().as_millis();
        self.targets.lock().unwrap().push((attempt.number(), attempt.target(), left));
        *request
    }

    fn judge(&self, _attempt: &Attempt, result: Result<i32, Infallible>) -> Result<i32, AttemptError> {
        match result.unwrap_or_else(|never| match never {}) {
            0 => Err(AttemptError::permanent("nothing there")),
            seconds @ ..0 => {
                let pause = Duration::from_secs(seconds.unsigned_abs().into());
                Err(AttemptError::pushback("slow down", Some(pause)))
            }
            answer => Ok(answer),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_makes_requests_and_judges_responses() {
    let plan = plan(1_000, Some(2), Some(Hedge::race(2)));
    let account = plan.limiter(0).unwrap().clone();
    let policy = ByValue { targets: Mutex::default() };
    let service: PlanService<_, _> =
        PlanLayer::new(plan).unwrap().with(policy).layer(service_fn(|i: i32| ready(Ok(i))));
    assert_eq!(service.clone().oneshot(5).await.unwrap(), 5);

    let error = service.clone().oneshot(0).await.unwrap_err();
    assert_eq!(error.to_string(), "branch `read` failed and is required: nothing there");
    let Ok(error) = error.downcast::<JoinError>() else { panic!("the job failed") };
    let JoinError::Failed(failed) = *error else { panic!("the job failed") };
    assert_eq!((failed.cause(), failed.outcome(0)), (Cause::Required(0), Outcome::Failed));

    assert!(service.oneshot(-7).await.is_err());
    assert_eq!(account.paused_for(), Some(Duration::from_secs(7)));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_the_plan_ends_a_call_and_dropping_it_drops_its_attempts() {
    let alive = Arc::new(());
    let counted = Arc::clone(&alive);
    let hangs = service_fn(move |(): ()| {
        let alive = Arc::clone(&counted);
        async move {
            pending::<()>().await;
            drop(alive);
            Ok::<_, Infallible>(())
        }
    });
    let service = layer(50, None, Some(Hedge::race(2))).layer(hangs);
    let start = Instant::now();
    let error = service.clone().oneshot(()).await.unwrap_err();
    assert_eq!(error.to_string(), "branch `read` missed its deadline and is required");
    assert_eq!((start.elapsed(), Arc::strong_count(&alive)), (Duration::from_millis(50), 2));

    let call = timeout(Duration::from_millis(10), service.oneshot(())).await;
    assert!(call.is_err());
    assert_eq!(Arc::strong_count(&alive), 1, "the service went with the call");
}

#[derive(Clone)]
struct Broken;

impl Service<()> for Broken {
    type Response = ();
    type Error = &'static str;
    type Future = std::future::Ready<Result<(), &'static str>>;

    fn poll_ready(&mut self, _task: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Ready(Err("broken"))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        unreachable!("it is never ready")
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_will_never_be_ready_says_so() {
    assert_eq!(layer(50, None, None).layer(Broken).oneshot(()).await.unwrap_err().to_string(), "broken");
}

/// Counts the calls that run.
#[derive(Clone, Default)]
struct Running(Arc<AtomicUsize>);

impl Running {
    /// One that runs until it is dropped.
    fn enter(self) -> Entered {
        self.0.fetch_add(1, Ordering::Relaxed);
        Entered(self)
    }
}

struct Entered(Running);

impl Entered {
    fn now(&self) -> usize {
        self.0.0.load(Ordering::Relaxed)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_above_counts_calls_and_a_limit_below_attempts() {
    let service = layer(1_000, None, Some(Hedge::race(2)));
    let most = Arc::new(AtomicUsize::new(0));
    let running = Running::default();
    let counting = service_fn(move |(): ()| {
        let (most, running) = (Arc::clone(&most), running.clone());
        async move {
            let running = running.enter();
            most.fetch_max(running.now(), Ordering::Relaxed);
            sleep(Duration::from_millis(10)).await;
            Ok::<_, Infallible>(most.load(Ordering::Relaxed))
        }
    });
    let service = ConcurrencyLimit::new(service.layer(ConcurrencyLimit::new(counting, 3)), 2);
    let calls = futures_util::future::join_all((0..4).map(|_| service.clone().oneshot(()))).await;
    let most = calls.into_iter().map(Result::unwrap).max();
    assert_eq!(most, Some(3), "two calls make four attempts, and three may run");
}

#[test]
fn a_plan_of_several_branches_or_of_an_optional_one_is_no_layer() {
    let check = |branches: Vec<BranchSpec>, expected: &str| {
        let plan = Plan::new(PlanSpec::new("plan", branches)).unwrap();
        let error = PlanLayer::new(Fanout::new(plan, &Limiters::default())).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let optional = BranchSpec { required: Some(false), ..BranchSpec::new("a") };
    check(vec![optional], "a layer needs a plan of 1 branch and at least 1 answer, not 1 and 0");
    let two = vec![BranchSpec::new("a"), BranchSpec::new("b")];
    check(two, "a layer needs a plan of 1 branch and at least 1 answer, not 2 and 2");
}
