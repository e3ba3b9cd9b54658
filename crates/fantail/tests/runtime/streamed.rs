//! Answers that are streams: won by the first item, read after the race is decided, with the permit until their end.

use fantail::{AttemptError, JoinError};
use fantail_core::job::Cause;
use fantail_core::{BranchSpec, Hedge, LimiterSpec, PlanSpec};
use futures_util::stream::{self, Stream, StreamExt};

use crate::support::{Census, fanout, gate, ms, sleep};

/// Chunks, `latency` apart, alive until the stream is dropped.
fn chunks<const N: usize>(
    census: &Census,
    latency: u64,
    chunks: [Result<u32, AttemptError>; N],
) -> impl Stream<Item = Result<u32, AttemptError>> + use<N> {
    let resident = census.enter();
    stream::iter(chunks).then(move |chunk| {
        let _alive = &resident;
        async move {
            sleep(latency).await;
            chunk
        }
    })
}

fn raced(limiter: LimiterSpec) -> PlanSpec {
    let race = Some(Hedge::race(2));
    let branch = BranchSpec { repeatable: true, hedge: race, limiter: Some(0), ..BranchSpec::new("chat") };
    let deadline = Some(ms(20));
    PlanSpec { deadline, limiters: vec![limiter], ..PlanSpec::new("plan", vec![branch]) }
}

#[tokio::test(start_paused = true)]
async fn all_chunks_of_the_winner_arrive_and_only_the_loser_is_dropped() {
    let plan = fanout(raced(gate(2)));
    let census = Census::default();
    let mut job = plan.job();
    let answer = job.required("chat", |attempt| {
        let latency = if attempt.number() == 0 { 15 } else { 10 };
        let chunks = chunks(&census, latency, [1, 2, 3].map(|i| Ok(10 * u32::from(attempt.number()) + i)));
        async move { attempt.stream(chunks).await }
    });
    let mut done = job.join().await.unwrap();
    let account = plan.limiter(0).unwrap();
    assert_eq!((done.elapsed(), census.alive(), account.held()), (ms(10), 1, 1));
    let mut answer = done.take(answer);
    // Past the deadline: it was answered in time.
    let mut seen = Vec::new();
    while let Some(chunk) = answer.next().await {
        seen.push((chunk.unwrap(), account.held()));
    }
    assert_eq!(seen, [(11, 1), (12, 1), (13, 1)]);
    assert_eq!((census.alive(), account.held()), (0, 0), "it has ended, though it is still there");
    assert!(answer.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_nobody_reads_to_its_end_hands_its_permit_back_when_it_is_dropped() {
    let plan = fanout(raced(gate(2)));
    let census = Census::default();
    let mut job = plan.job();
    let answer = job.required("chat", |attempt| {
        let chunks = chunks(&census, 10, [Ok(1), Ok(2)]);
        async move { attempt.stream(chunks).await }
    });
    let mut done = job.join().await.unwrap();
    let account = plan.limiter(0).unwrap();
    let mut answer = done.take(answer);
    assert_eq!(answer.next().await.unwrap().unwrap(), 1);
    assert_eq!(account.held(), 1);
    drop(answer);
    assert_eq!((census.alive(), account.held()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_error_before_the_first_item_fails_the_attempt_and_a_later_one_is_the_readers() {
    let plan = fanout(raced(gate(2)));
    let census = Census::default();
    let mut job = plan.job();
    let answer = job.required("chat", |attempt| {
        let late = [Ok(1), Err(AttemptError::permanent("cut off"))];
        let early = [Err(AttemptError::permanent("refused")), Ok(2)];
        let chunks =
            if attempt.number() == 0 { chunks(&census, 10, late) } else { chunks(&census, 5, early) };
        async move { attempt.stream(chunks).await }
    });
    let mut done = job.join().await.unwrap();
    assert_eq!(done.errors(0)[0].to_string(), "refused");
    let items: Vec<_> = done.take(answer).collect().await;
    assert_eq!(items[0].as_ref().unwrap(), &1);
    assert_eq!(items[1].as_ref().unwrap_err().to_string(), "cut off");
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_items_is_an_answer_and_one_that_never_begins_is_none() {
    let plan = fanout(raced(gate(2)));
    let mut job = plan.job();
    let answer = job.required("chat", |attempt| async move {
        attempt.stream(stream::empty::<Result<u32, AttemptError>>()).await
    });
    let items = job.join().await.unwrap().take(answer).collect::<Vec<_>>().await;
    assert!(items.is_empty());

    let mut job = plan.job();
    let _answer = job.required("chat", |attempt| async move {
        attempt.stream(stream::pending::<Result<u32, AttemptError>>()).await
    });
    let Err(JoinError::Failed(failed)) = job.join().await else { panic!("it has no answer") };
    assert_eq!((failed.cause(), failed.elapsed()), (Cause::Required(0), ms(20)));
    assert_eq!(plan.limiter(0).unwrap().held(), 0);
}
