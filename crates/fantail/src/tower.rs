//! Plans of one branch as layers of tower.
//!
//! tower has a hedge of its own, after a percentile of the answers that won. The slow ones lose to their copies and are not
//! among them, so that the percentile sinks from one period to the next: asked for 5 % more requests, it comes to 10 % where
//! latencies are exponential and to 12 % where they are log-normal with a sigma of 1. A [live delay](fantail_core::LiveDelay)
//! counts those that lost as ones that take longer, and comes to 5 %. A test runs both.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

use crate::sync::Mutex;
use crate::{Attempt, AttemptError, Fanout, lock};

type BoxError = Box<dyn Error + Send + Sync>;

/// How a request becomes the requests of attempts, and how their results are judged.
pub trait Policy<Request, Response, E> {
    /// The request of one attempt. It may tell its [key](Attempt::key), the time it has [left](Attempt::time_left) or which
    /// [target](Attempt::target) it is for.
    fn request(&self, attempt: &Attempt, request: &Request) -> Request;

    /// Whether a result is an answer, and if not, [how](AttemptError) it failed: a response with status 503 may be a failure
    /// that a copy can mend, one with status 429 a pushback. A response with a body still to come may keep a
    /// [hold](Attempt::hold) with it, so that the permit lasts as long as the body.
    ///
    /// # Errors
    /// The result is no answer.
    fn judge(&self, attempt: &Attempt, result: Result<Response, E>) -> Result<Response, AttemptError>;
}

/// Every attempt sends a clone of the request, every response is an answer, every error is retryable.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl<Request: Clone, Response, E: Into<BoxError>> Policy<Request, Response, E> for Plain {
    fn request(&self, _attempt: &Attempt, request: &Request) -> Request {
        request.clone()
    }

    fn judge(&self, _attempt: &Attempt, result: Result<Response, E>) -> Result<Response, AttemptError> {
        result.map_err(AttemptError::retryable)
    }
}

/// A layer that makes each call a job of a plan of one branch: with its deadline, attempt timeout, copies, budget and
/// limiter.
///
/// The layer is ready when the service below is, and the first attempt goes to the service that was ready; so load
/// shedding and limits above it see how busy it is. Every other attempt goes to a clone of the service, once that clone is
/// ready. What waits for a permit of the plan's limiter keeps no place in the service below meanwhile: otherwise calls that
/// wait for permits could keep all places, and copies that have permits wait for a place, for ever.
///
/// The service below must be `Clone`, as `Buffer` makes any service. The deadline counts from the call, not from when the
/// service was first asked whether it is ready. The error is the service's where it is not ready, and a
/// [`JoinError`](crate::JoinError) where a call fails; errors of attempts are [in it](crate::Done::errors).
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use std::time::Duration;
///
/// use fantail::tower::PlanLayer;
/// use fantail::{Fanout, Limiters};
/// use fantail_core::{BranchSpec, Hedge, Plan, PlanSpec};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// let read = BranchSpec { repeatable: true, hedge: Some(Hedge::race(2)), ..BranchSpec::new("read") };
/// let read = Fanout::new(Plan::new(PlanSpec::new("read", vec![read]))?, &Limiters::default());
///
/// static CALLS: AtomicU32 = AtomicU32::new(0);
/// let service = ServiceBuilder::new()
///     .layer(PlanLayer::new(read)?)
///     .concurrency_limit(10)
///     .service(service_fn(|page: u32| async move {
///         let call = CALLS.fetch_add(1, Ordering::Relaxed);
///         tokio::time::sleep(Duration::from_secs(if call == 0 { 60 } else { 1 })).await;
///         Ok::<_, std::io::Error>(format!("page {page}, call {call}"))
///     }));
/// assert_eq!(service.oneshot(7).await?, "page 7, call 1");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PlanLayer<P = Plain> {
    fanout: Fanout,
    policy: Arc<P>,
}

impl PlanLayer {
    /// A layer for a plan of one required branch.
    ///
    /// # Errors
    /// The plan has several branches, or its branch is optional: its result might be no response.
    pub fn new(fanout: Fanout) -> Result<PlanLayer, NotOneBranch> {
        let plan = fanout.plan();
        if plan.n() != 1 || plan.at_least() != 1 {
            return Err(NotOneBranch { branches: plan.n(), at_least: plan.at_least() });
        }
        Ok(PlanLayer { fanout, policy: Arc::new(Plain) })
    }

    /// The same with a policy of its own.
    pub fn with<P>(self, policy: P) -> PlanLayer<P> {
        PlanLayer { fanout: self.fanout, policy: Arc::new(policy) }
    }
}

impl<P> Clone for PlanLayer<P> {
    fn clone(&self) -> PlanLayer<P> {
        PlanLayer { fanout: self.fanout.clone(), policy: Arc::clone(&self.policy) }
    }
}

impl<S, P> Layer<S> for PlanLayer<P> {
    type Service = PlanService<S, P>;

    fn layer(&self, inner: S) -> PlanService<S, P> {
        PlanService { inner, layer: self.clone() }
    }
}

/// A plan that no [`PlanLayer`] can be made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotOneBranch {
    branches: u32,
    at_least: u32,
}

impl fmt::Display for NotOneBranch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotOneBranch { branches, at_least } = self;
        write!(f, "a layer needs a plan of 1 branch and at least 1 answer, not {branches} and {at_least}")
    }
}

impl Error for NotOneBranch {}

/// A service whose calls are jobs: what [`PlanLayer`] makes of one.
#[derive(Debug)]
pub struct PlanService<S, P = Plain> {
    inner: S,
    layer: PlanLayer<P>,
}

impl<S: Clone, P> Clone for PlanService<S, P> {
    fn clone(&self) -> PlanService<S, P> {
        PlanService { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<S, P, Request> Service<Request> for PlanService<S, P>
where
    S: Service<Request> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: Send + 'static,
    S::Error: Into<BoxError> + Send,
    P: Policy<Request, S::Response, S::Error> + Send + Sync + 'static,
    Request: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, task: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(task).map_err(Into::into)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        // A clone need not be ready, so the clone stays and the one that is ready goes.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone.clone());
        let ready = Arc::new(Mutex::new(Some(ready)));
        let policy = Arc::clone(&self.layer.policy);
        let fanout = self.layer.fanout.clone();
        Box::pin(async move {
            let mut job = fanout.job();
            let place = Arc::clone(&ready);
            let response = job.optional(&fanout.plan().branches()[0].name, move |attempt| {
                let request = policy.request(&attempt, &request);
                make_call(
                    lock(&place).take().ok_or_else(|| clone.clone()),
                    request,
                    attempt,
                    Arc::clone(&policy),
                )
            });
            job.observe();
            let mut joined = pin!(job.join());
            let mut done = poll_fn(|task| {
                let poll = joined.as_mut().poll(task);
                // The first attempt waits for a permit, or has taken it.
                drop(lock(&ready).take());
                poll
            })
            .await?;
            Ok(done.take(response).expect("a result holds at least one answer, and there is one branch"))
        })
    }
}

/// Calls a service that is ready (`Ok`), or that has to be ready first.
async fn make_call<S, P, Request>(
    service: Result<S, S>,
    request: Request,
    attempt: Attempt,
    policy: Arc<P>,
) -> Result<S::Response, AttemptError>
where
    S: Service<Request>,
    P: Policy<Request, S::Response, S::Error>,
{
    let result = match service {
        Ok(mut ready) => ready.call(request).await,
        Err(mut service) => match poll_fn(|task| service.poll_ready(task)).await {
            Ok(()) => service.call(request).await,
            Err(error) => Err(error),
        },
    };
    policy.judge(&attempt, result)
}
