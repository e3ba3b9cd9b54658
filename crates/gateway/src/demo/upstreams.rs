//! The upstreams: branches of one provider, behind one account.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use fantail_core::job::Class;
use fantail_core::{Limiter, LimiterSpec, Rate, Time};
use fantail_model::Law;
use http::StatusCode;
use http::header::RETRY_AFTER;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::draws::Draws;
use super::extract;
use crate::listener::Listener;

/// What the account behind all upstreams allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Calls that may start in a time; those above it are answered 429 with a Retry-After.
    pub rate: Rate,
}

impl Account {
    /// An account for clients that keep to `rate`: it allows twice the burst, since calls bunch up on their way.
    pub fn for_clients_at(rate: Rate) -> Account {
        Account { rate: Rate { burst: rate.burst.saturating_mul(2), ..rate } }
    }
}

/// Upstreams on a free port of the loopback interface: `POST /<branch>` with a JSON document. They stop when this is
/// dropped.
#[derive(Debug)]
pub struct Upstreams {
    addr: SocketAddr,
    provider: Arc<Provider>,
    _stop: DropGuard,
}

#[derive(Debug)]
struct Provider {
    branches: HashMap<String, Branch>,
    account: Option<Mutex<Limiter>>,
    started: Instant,
}

#[derive(Debug)]
struct Branch {
    law: Law,
    state: Mutex<BranchState>,
}

#[derive(Debug)]
struct BranchState {
    draws: Draws,
    calls: u64,
}

impl Upstreams {
    /// Starts one upstream for each branch. The latency of its n-th call, n counted in the order of arrival, is fixed by
    /// `seed`; a call whose law has no answer for the draw never returns.
    ///
    /// # Errors
    /// No port can be bound.
    pub async fn start(
        laws: impl IntoIterator<Item = (String, Law)>,
        account: Option<Account>,
        seed: u64,
    ) -> io::Result<Upstreams> {
        let listener = Listener::bind(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)).await?;
        let branches = laws.into_iter().map(|(name, law)| {
            let state = BranchState { draws: Draws::new(seed, &name), calls: 0 };
            (name, Branch { law, state: Mutex::new(state) })
        });
        let provider = Arc::new(Provider::new(branches.collect(), account));
        let router = Router::new().route("/{branch}", post(call)).with_state(Arc::clone(&provider));
        let stop = CancellationToken::new();
        let addr = listener.addr();
        tokio::spawn(listener.serve(router, stop.clone(), Duration::ZERO));
        Ok(Upstreams { addr, provider, _stop: stop.drop_guard() })
    }

    /// Their address.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// How many calls of a branch the account has let through.
    pub fn calls(&self, branch: &str) -> u64 {
        self.provider.branches.get(branch).map_or(0, |branch| lock(&branch.state).calls)
    }
}

async fn call(State(provider): State<Arc<Provider>>, Path(name): Path<String>, body: Bytes) -> Response {
    let Ok(document) = serde_json::from_slice::<Value>(&body) else {
        return (StatusCode::BAD_REQUEST, Json(json!({ "error": "no JSON" }))).into_response();
    };
    let Some(branch) = provider.branches.get(&name) else {
        return (StatusCode::NOT_FOUND, Json(json!({ "error": "no such upstream" }))).into_response();
    };
    if let Err(wait) = provider.admit() {
        let seconds = wait.as_nanos().div_ceil(1_000_000_000).max(1);
        let headers = [(RETRY_AFTER, seconds.to_string())];
        return (StatusCode::TOO_MANY_REQUESTS, headers, Json(json!({ "error": "rate limit" })))
            .into_response();
    }
    match branch.latency() {
        Ok(latency) => tokio::time::sleep(Duration::from_nanos(latency.as_nanos())).await,
        Err(_) => std::future::pending().await,
    }
    Json(extract::answer(&name, &document)).into_response()
}

impl Provider {
    fn new(branches: HashMap<String, Branch>, account: Option<Account>) -> Provider {
        let account = account.map(|Account { rate }| {
            Mutex::new(Limiter::new(LimiterSpec { rate: Some(rate), ..LimiterSpec::new("account") }))
        });
        Provider { branches, account, started: Instant::now() }
    }

    /// Lets a call through, or says how long the account is exhausted.
    fn admit(&self) -> Result<(), Time> {
        let Some(account) = &self.account else { return Ok(()) };
        let mut account = lock(account);
        // Read under the lock: to a limiter that has seen a later instant, this one would be too early for a permit.
        let now = Time::from_nanos(self.started.elapsed().as_nanos() as u64);
        // Nobody queues here: a call that can't start is sent away.
        let Ok(ticket) = account.ask(now, Class::First, 1, None) else { return Err(Time::ZERO) };
        if account.poll(now) == Some(ticket) {
            account.grant(now, ticket);
            account.release(ticket);
            return Ok(());
        }
        let ready = account.next_at(now).unwrap_or(now);
        account.withdraw(ticket);
        Err(ready.saturating_sub(now))
    }
}

impl Branch {
    fn latency(&self) -> Result<Time, fantail_core::TimeError> {
        let mut state = lock(&self.state);
        state.calls += 1;
        Time::from_secs_f64(self.law.sample(state.draws.uniform()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_at_once_get_all_that_the_burst_allows() {
        const THREADS: u32 = 4;
        const CALLS: u32 = 20_000;
        let rate = Rate { permits: 1, per: Time::from_secs(3_600), burst: THREADS * CALLS };
        let provider = Provider::new(HashMap::new(), Some(Account { rate }));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for call in 0..CALLS {
                        assert_eq!(provider.admit(), Ok(()), "call {call}");
                    }
                });
            }
        });
        assert!(provider.admit().is_err());
    }
}
