//! Calls that are dropped on their way, through services that are not always ready.

use tokio::time::Sleep;

use super::*;

/// Is not ready in the first half of every 20 ms, and answers after the time that the request says, in ms.
struct Moody {
    since: Instant,
    rests: Pin<Box<Sleep>>,
}

impl Service<u64> for Moody {
    type Response = u64;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<u64, BoxError>> + Send>>;

    fn poll_ready(&mut self, task: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        let phase = self.since.elapsed().as_millis() as u64 % 20;
        self.rests.as_mut().reset(Instant::now() + Duration::from_millis(10_u64.saturating_sub(phase)));
        self.rests.as_mut().poll(task).map(Ok)
    }

    fn call(&mut self, latency: u64) -> Self::Future {
        Box::pin(async move {
            sleep(Duration::from_millis(latency)).await;
            if latency.is_multiple_of(5) { Err("a latency that fails".into()) } else { Ok(latency) }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_is_dropped_on_its_way_all_places_and_permits_come_back() {
    let places = Arc::new(Semaphore::new(3));
    let plan = plan(200, Some(4), Some(Hedge::after(Time::from_millis(7))));
    let account = plan.limiter(0).unwrap().clone();
    let service = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(9)
        .layer(PlanLayer::new(plan).unwrap())
        .layer(GlobalConcurrencyLimitLayer::with_semaphore(Arc::clone(&places)))
        .buffer(5)
        .service(Moody { since: Instant::now(), rests: Box::pin(sleep(Duration::ZERO)) });
    let mut answers = 0;
    for round in 0..200_u64 {
        let calls = (0..12).map(|number| {
            let dice = (round * 12 + number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
            let service = service.clone();
            async move {
                sleep(Duration::from_millis(dice % 13)).await;
                let call = service.oneshot(dice % 41);
                // A third is given up, some before they are ready.
                let patience = if dice.is_multiple_of(3) { dice / 3 % 40 } else { 1_000 };
                matches!(timeout(Duration::from_millis(patience), call).await, Ok(Ok(_)))
            }
        });
        let ends = futures_util::future::join_all(calls).await;
        answers += ends.into_iter().filter(|answered| *answered).count();
        sleep(Duration::from_millis(100)).await;
        let left = (account.held(), account.waiting(), places.available_permits());
        assert_eq!(left, (0, 0, 3), "after round {round}");
    }
    assert!(answers > 300, "{answers}");
}
