//! Snapshots add up.

use fantail_core::{End, Sketch, Snapshot, Time};
use proptest::prelude::*;

use crate::support::{Ended, snapshot};

fn any() -> impl Strategy<Value = Snapshot> {
    let ended = prop_oneof![Just(Ended::Answered), Just(Ended::Failed), Just(Ended::Cancelled)];
    let observations = prop::collection::vec((0_u64..10_000, ended), 0..400);
    (observations, 32_u32..200).prop_map(|(observations, half_life)| snapshot(half_life, &observations))
}

fn merged(parts: &[&Snapshot]) -> Snapshot {
    let mut sum = Snapshot::default();
    for part in parts {
        sum.merge(part);
    }
    sum
}

proptest! {
    #[test]
    fn any_order_and_grouping_gives_the_same(a in any(), b in any(), c in any()) {
        let all = merged(&[&a, &b, &c]);
        prop_assert_eq!(&merged(&[&c, &a, &b]), &all);
        prop_assert_eq!(&merged(&[&a, &merged(&[&b, &c])]), &all);
        prop_assert_eq!(&merged(&[&merged(&[&a, &b]), &c]), &all);
        prop_assert_eq!(&merged(&[&a]), &a);
        prop_assert_eq!(all.started(), a.started() + b.started() + c.started());
    }
}

#[test]
fn shards_that_are_fed_in_turn_are_one_sketch() {
    let (half_life, shards) = (512, 4);
    let mut whole = Sketch::new(half_life * shards).unwrap();
    let mut parts: Vec<Sketch> = (0..shards).map(|_| Sketch::new(half_life).unwrap()).collect();
    let mut running = Vec::new();
    // 12 half-lives and the first batch of the next, of which every weight is a whole number of units. All primaries of a
    // batch start at once, as only the mean start of those in flight is kept.
    let n = (12 * half_life + half_life / 32) * shards;
    for i in 0..n {
        let now = Time::from_millis(u64::from(i / (half_life / 32 * shards)));
        let latency = Time::from_micros(u64::from(i) * 7_919 % 50_000);
        let end = match i % 9 {
            0 => End::Failed,
            1 => End::Cancelled,
            2 => End::Cut { deadline: Time::from_millis(60 + u64::from(i % shards)) },
            _ => End::Answered,
        };
        let part = (i % shards) as usize;
        // Every 13th never ends.
        let at = if i % 13 == 0 { Time::MAX } else { now.saturating_add(latency) };
        running.push((at, end, part, whole.start(now), parts[part].start(now)));
        for (at, end, part, in_whole, in_part) in running.extract_if(.., |it| it.0 <= now) {
            whole.record(in_whole, at, end);
            parts[part].record(in_part, at, end);
        }
    }
    let now = Time::from_secs(2);
    let snapshots: Vec<Snapshot> = parts.iter().map(|part| part.snapshot(now)).collect();
    let merged = merged(&snapshots.iter().collect::<Vec<_>>());
    assert_eq!(merged.started(), u64::from(n));
    assert!(merged == whole.snapshot(now));
}

#[test]
fn equal_primaries_that_end_together_count_as_one_after_another() {
    let ms = Time::from_millis;
    let ends = [End::Answered, End::Failed, End::Cancelled, End::Cut { deadline: ms(40) }];
    for (n, end) in [1, 2, 5, 60].into_iter().zip(ends) {
        let mut one_by_one = Sketch::new(2_000).unwrap();
        let mut together = one_by_one.clone();
        for start in [ms(3), ms(5)] {
            let primaries: Vec<_> = (0..n).map(|_| one_by_one.start(start)).collect();
            for primary in primaries {
                one_by_one.record(primary, ms(17), end);
            }
            let mut primaries: Vec<_> = (0..n).map(|_| together.start(start)).collect();
            while let Some(first) = primaries.pop() {
                let equal = primaries.iter().rev().take_while(|other| **other == first).count();
                primaries.truncate(primaries.len() - equal);
                together.record_equal(&first, 1 + equal as u32, ms(17), end);
            }
            assert_eq!(together.snapshot(ms(20)), one_by_one.snapshot(ms(20)), "{n} that end in {end:?}");
        }
    }
}
