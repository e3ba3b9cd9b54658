//! Keeps a panic inside the job in which it happens.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// What a panic said.
pub(crate) struct Panicked(pub(crate) String);

/// Awaits `future`; a panic becomes an error. The future is not polled again after one, and what it holds is dropped.
pub(crate) async fn contain<T>(future: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(payload) => Poll::Ready(Err(Panicked(text(&*payload)))),
    })
    .await
}

fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_an_error_with_its_message() {
        assert!(matches!(contain(async { 7 }).await, Ok(7)));
        let panicked = contain(async { panic!("at {}", 3) }).await;
        assert!(matches!(panicked, Err(Panicked(message)) if message == "at 3"));
    }
}
