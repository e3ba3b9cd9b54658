//! Answers that are streams.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::hold::Hold;
use crate::{Attempt, AttemptError};

impl Attempt {
    /// Waits for the first item of a stream, and answers with the whole stream: so the branch is won by the attempt whose
    /// first item comes first. A stream that ends without an item is an answer.
    ///
    /// The attempt's permit is held until the stream ends or is dropped; an error after the first item is the reader's.
    ///
    /// # Errors
    /// The first item is an error.
    ///
    /// ```
    /// # use fantail::{Fanout, Limiters};
    /// # use fantail_core::{BranchSpec, Plan, PlanSpec};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let plan = Plan::new(PlanSpec::new("chat", vec![BranchSpec::new("chat")]))?;
    /// # let chat = Fanout::new(plan, &Limiters::default());
    /// use futures_util::stream::{self, TryStreamExt};
    ///
    /// let mut job = chat.job();
    /// let words = job.required("chat", |attempt| async move {
    ///     attempt.stream(stream::iter(["one", " word"].map(Ok::<_, std::io::Error>))).await
    /// });
    /// let words = job.join().await?.take(words);
    /// assert_eq!(words.try_collect::<String>().await?, "one word");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn stream<S, T, E>(&self, stream: S) -> Result<Streamed<S>, AttemptError>
    where
        S: Stream<Item = Result<T, E>>,
        AttemptError: From<E>,
    {
        let hold = self.hold();
        let mut rest = Box::pin(stream);
        let first = poll_fn(|task| rest.as_mut().poll_next(task)).await.transpose()?;
        // A stream that has ended is not asked again.
        let open = first.is_some().then_some((rest, hold));
        Ok(Streamed { first: first.map(Ok), open })
    }
}

/// A stream that won its branch with its first item: that item, then the rest.
pub struct Streamed<S: Stream> {
    first: Option<S::Item>,
    /// `None` once it has ended.
    open: Option<(Pin<Box<S>>, Hold)>,
}

// Nothing is pinned in place: the rest is in a box.
impl<S: Stream> Unpin for Streamed<S> {}

impl<S: Stream> Stream for Streamed<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Streamed<S>>, task: &mut Context<'_>) -> Poll<Option<S::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        let Some((rest, _)) = &mut self.open else { return Poll::Ready(None) };
        let item = rest.as_mut().poll_next(task);
        if let Poll::Ready(None) = item {
            self.open = None;
        }
        item
    }
}

impl<S: Stream> fmt::Debug for Streamed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streamed").field("ended", &self.open.is_none()).finish_non_exhaustive()
    }
}
