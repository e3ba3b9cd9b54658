//! Limiters under real threads and the real clock.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use fantail::SharedLimiter;
use fantail_core::job::Class;
use fantail_core::{LimiterSpec, Rate, Time};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

/// Acquires and hands back without any timer, which nobody drives here; `false` when it hangs.
fn gets_a_permit(limiter: &SharedLimiter, waker: &Waker) -> bool {
    let mut acquiring = pin!(limiter.acquire(Class::First, 1, None));
    let give_up = Instant::now() + Duration::from_secs(10);
    while Instant::now() < give_up {
        match acquiring.as_mut().poll(&mut Context::from_waker(waker)) {
            Poll::Ready(permit) => return permit.is_ok(),
            Poll::Pending => std::thread::park_timeout(Duration::from_secs(10)),
        }
    }
    false
}

/// With the clock read before the lock is taken, the later of two callers could hold the earlier instant, at which the
/// limiter knows of nothing that is free: it would wait for a timer.
#[test]
fn a_permit_that_is_free_needs_no_timer_whatever_other_threads_do() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let limiter = {
        let _time = runtime.enter();
        let rate = Rate { permits: 1_000_000, per: Time::from_secs(1), burst: 1_000_000 };
        SharedLimiter::new(LimiterSpec { rate: Some(rate), ..LimiterSpec::new("account") })
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let _time = runtime.enter();
                let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
                assert!((0..20_000).all(|_| gets_a_permit(&limiter, &waker)));
            });
        }
    });
}
