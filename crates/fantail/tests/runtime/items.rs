//! Like branches, as many as there are items or batches of them.

use fantail::{JoinError, Limiters, Misuse, Pattern};
use fantail_core::job::{Failure, Outcome, Role, Verdict};
use fantail_core::{BranchSpec, BudgetSpec, PlanSpec, WaitFor};

use crate::support::{after, fanout, gate, hedged, ms, required, sleep};

fn pattern(spec: PlanSpec, like: BranchSpec) -> Pattern {
    Pattern::new(spec, like, &Limiters::default())
}

#[tokio::test(start_paused = true)]
async fn each_item_has_a_branch_and_the_first_k_end_the_job() {
    let spec = PlanSpec { wait_for: WaitFor::First(2), ..PlanSpec::new("search", vec![]) };
    let search = pattern(spec, BranchSpec::new("shard"));
    let shards = [40, 10, 30, 20].map(|latency| latency.to_string());
    let mut job = search.job(shards.len()).unwrap();
    let hits = job.items(&shards, |attempt, shard| async move {
        sleep(shard.parse()?).await;
        Ok(format!("{} of {}", attempt.name(), shard))
    });
    let mut done = job.join().await.unwrap();
    let hit = |text: &str| Some(text.to_owned());
    assert_eq!(done.take(hits), [None, hit("shard-1 of 10"), None, hit("shard-3 of 20")]);
    assert_eq!((done.verdict(), done.elapsed()), (Verdict::Complete, ms(20)));
}

#[tokio::test(start_paused = true)]
async fn items_take_the_branches_that_have_no_call_of_their_own() {
    let search = pattern(PlanSpec::new("search", required(&["query"])), BranchSpec::new("shard"));
    let mut job = search.job(2).unwrap();
    let query = job.required("query", |_| after(1, "parsed"));
    let hits = job.items(["x", "y"], |_, shard| after(1, shard));
    let mut done = job.join().await.unwrap();
    assert_eq!((done.take(query), done.take(hits)), ("parsed", vec![Some("x"), Some("y")]));
}

#[tokio::test(start_paused = true)]
async fn too_many_or_too_few_items_are_a_misuse() {
    let plan = fanout(PlanSpec::new("plan", required(&["a", "b", "c"])));
    for items in [0, 2, 4] {
        let mut job = plan.job();
        let _hits = job.items(0..items, |_, item| after(1, item));
        let Err(JoinError::Invalid(misuses)) = job.join().await else { panic!("nothing may start") };
        assert_eq!(misuses, [Misuse::Count { items, branches: 3 }]);
        assert_eq!(misuses[0].to_string(), format!("{items} items were given to 3 branches"));
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_of_all_sizes_share_limiter_and_budget() {
    let hedge_budget = BudgetSpec { share: 500_000, burst: 1, in_flight: None };
    let like = BranchSpec { limiter: Some(0), ..hedged("item", 50) };
    let spec = PlanSpec { hedge_budget, limiters: vec![gate(2)], ..PlanSpec::new("plan", vec![]) };
    let plan = pattern(spec, like);
    let limiter = plan.fanout(2).unwrap().limiter(0).unwrap().clone();
    let earn = async |n: usize| {
        let mut job = plan.job(n).unwrap();
        let _answers = job.items(0..n, |_, _| after(1, ()));
        job.join().await.unwrap().ledger().copies.launched
    };
    assert_eq!(earn(1).await, 0);
    assert_eq!(earn(3).await, 0, "four answers earn two copies, of which one is saved");

    let mut job = plan.job(1).unwrap();
    let _answers = job.items(0..1, |attempt, _| {
        let latency = if attempt.role() == Role::Primary { 200 } else { 1 };
        let limiter = &limiter;
        async move {
            assert!(limiter.held() > 0, "all sizes have one limiter");
            after(latency, ()).await
        }
    });
    let done = job.join().await.unwrap();
    assert_eq!((done.ledger().copies.launched, done.elapsed()), (1, ms(51)));
}

#[test]
fn a_pattern_says_what_is_wrong_for_so_many_items() {
    let spec = PlanSpec { wait_for: WaitFor::First(3), ..PlanSpec::new("plan", vec![]) };
    let plan = pattern(spec, BranchSpec::new("item"));
    assert!(plan.fanout(0).is_err(), "there is no branch");
    assert!(plan.fanout(2).is_err(), "there are not three to wait for");
    assert!(plan.fanout(3).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_thousand_items_in_batches_come_back_in_order_without_those_of_a_failed_batch() {
    let spec = PlanSpec { at_least: Some(0), limiters: vec![gate(4)], ..PlanSpec::new("embed", vec![]) };
    let like = BranchSpec { limiter: Some(0), required: Some(false), ..BranchSpec::new("batch") };
    let embed = pattern(spec, like);
    let items: Vec<u64> = (0..1_000).collect();
    let mut job = embed.job(items.len().div_ceil(64)).unwrap();
    let squares = job.batches(items.chunks(64), |attempt, batch| async move {
        sleep(10).await;
        match attempt.branch() {
            3 => Err("refused".into()),
            5 => Ok(vec![0; batch.len() - 1]),
            _ => Ok(batch.iter().map(|item| item * item).collect()),
        }
    });
    let mut done = job.join().await.unwrap();
    // 16 batches, four at a time.
    assert_eq!((done.verdict(), done.elapsed()), (Verdict::Partial, ms(40)));
    let [error] = done.errors(5) else { panic!("one error: {done:?}") };
    assert_eq!(error.to_string(), "a batch of 64 items came to 63 answers");
    assert_eq!((error.failure(), done.outcome(3)), (Failure::Permanent, Outcome::Failed));
    for (item, square) in (0_u64..).zip(done.take(squares)) {
        let lost = matches!(item / 64, 3 | 5);
        assert_eq!(square, (!lost).then_some(item * item), "item {item}");
    }
}
