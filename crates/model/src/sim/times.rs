//! Times of many jobs: each of them while they are few, counted in buckets once they are many.

use alloc::vec::Vec;

use fantail_core::Time;

/// So many times are kept one by one.
const KEPT: usize = 1_000_000;

/// Times of jobs, apart for each of the three verdicts.
///
/// Up to a million are kept, sorted. Beyond that each counts in a bucket, whose middle stands for it with an error of at
/// most 0.1 %. Which of the two it is depends on the number of times alone, so any split of them adds up to the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Times(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Kept([Vec<u64>; 3]),
    Counted([Buckets; 3]),
}

impl Times {
    pub(super) fn new() -> Times {
        Times(Form::Kept(Default::default()))
    }

    /// Adds a time to one of the three; [`Times::sort`] must follow before anything is read.
    #[inline]
    pub(super) fn push(&mut self, list: usize, time: Time) {
        match &mut self.0 {
            Form::Kept(lists) => lists[list].push(time.as_nanos()),
            Form::Counted(lists) => lists[list].push(time.as_nanos()),
        }
        self.bound();
    }

    pub(super) fn sort(&mut self) {
        if let Form::Kept(lists) = &mut self.0 {
            for list in lists {
                radsort::sort(list);
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Times) {
        if matches!(other.0, Form::Counted(_)) {
            self.count();
        }
        match (&mut self.0, &other.0) {
            (Form::Kept(lists), Form::Kept(others)) => {
                for (list, other) in lists.iter_mut().zip(others) {
                    list.extend(other);
                    join(list);
                }
            }
            (Form::Counted(lists), Form::Kept(others)) => {
                for (list, other) in lists.iter_mut().zip(others) {
                    list.extend(other);
                }
            }
            (Form::Counted(lists), Form::Counted(others)) => {
                lists.iter_mut().zip(others).for_each(|(list, other)| list.add(other));
            }
            (Form::Kept(_), Form::Counted(_)) => unreachable!("counted already"),
        }
        self.bound();
    }

    /// How many times one of the lists has.
    pub(super) fn len(&self, list: usize) -> u64 {
        match &self.0 {
            Form::Kept(lists) => lists[list].len() as u64,
            Form::Counted(lists) => lists[list].total,
        }
    }

    /// How many times of one list are `by` or earlier.
    pub(super) fn until(&self, list: usize, by: Time) -> u64 {
        match &self.0 {
            Form::Kept(lists) => lists[list].partition_point(|time| *time <= by.as_nanos()) as u64,
            Form::Counted(lists) => lists[list].until(by.as_nanos()),
        }
    }

    /// The last time of all; zero when there is none.
    pub(super) fn last(&self) -> Time {
        let nanos = match &self.0 {
            Form::Kept(lists) => lists.iter().filter_map(|list| list.last().copied()).max(),
            Form::Counted(lists) => {
                let buckets = lists.iter().map(|list| list.counts.len()).max().unwrap_or(0);
                buckets.checked_sub(1).map(middle_of)
            }
        };
        Time::from_nanos(nanos.unwrap_or(0))
    }

    /// The earliest time by which all lists together have `rank` times, at least 1; [`Time::MAX`] when they never do.
    pub(super) fn at(&self, rank: u64) -> Time {
        let nanos = match &self.0 {
            Form::Kept(lists) => smallest(rank, |by| {
                lists.iter().map(|list| list.partition_point(|time| *time <= by) as u64).sum()
            }),
            Form::Counted(lists) => nth(lists, rank),
        };
        Time::from_nanos(nanos)
    }

    pub(super) fn is_counted(&self) -> bool {
        matches!(self.0, Form::Counted(_))
    }

    /// The times of the lists, or the counts of their buckets; [`Times::add_up`] must follow when they have changed.
    pub(super) fn lists(&mut self) -> [&mut Vec<u64>; 3] {
        match &mut self.0 {
            Form::Kept(lists) => lists.each_mut(),
            Form::Counted(lists) => lists.each_mut().map(|buckets| &mut buckets.counts),
        }
    }

    pub(super) fn add_up(&mut self) {
        if let Form::Counted(lists) = &mut self.0 {
            for buckets in lists {
                buckets.total = buckets.counts.iter().fold(0, |total, count| total.saturating_add(*count));
            }
        }
    }

    pub(super) fn is_sorted(&self) -> bool {
        match &self.0 {
            Form::Kept(lists) => lists.iter().all(|list| list.is_sorted()),
            Form::Counted(lists) => lists.iter().all(|list| list.counts.len() <= bucket_of(u64::MAX) + 1),
        }
    }

    /// Goes over to buckets when there are too many to keep.
    #[inline]
    fn bound(&mut self) {
        if let Form::Kept(lists) = &self.0
            && lists.iter().map(Vec::len).sum::<usize>() > KEPT
        {
            self.count();
        }
    }

    #[cold]
    pub(super) fn count(&mut self) {
        if let Form::Kept(lists) = &self.0 {
            let mut counted: [Buckets; 3] = Default::default();
            for (buckets, list) in counted.iter_mut().zip(lists) {
                buckets.extend(list);
            }
            self.0 = Form::Counted(counted);
        }
    }
}

/// Sorts a list of two sorted parts: a stable sort finds them, and takes the time of one walk.
#[expect(clippy::stable_sort_primitive, reason = "an unstable sort would begin anew")]
fn join(list: &mut [u64]) {
    list.sort();
}

/// The smallest number at which a count that does not decrease reaches `rank`, or the largest number there is.
fn smallest(rank: u64, count: impl Fn(u64) -> u64) -> u64 {
    let (mut low, mut high) = (0, u64::MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        if count(middle) >= rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Counts over logarithmic buckets: `2^DIGITS` to each doubling, so that a bucket's middle is within
/// `2^-(DIGITS + 1)` of every time in it, relatively; times below `2^(DIGITS + 1)` have a bucket each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Buckets {
    /// Up to the last that is not empty.
    counts: Vec<u64>,
    total: u64,
}

const DIGITS: u32 = 9;

impl Buckets {
    fn push(&mut self, time: u64) {
        let bucket = bucket_of(time);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.total += 1;
    }

    fn extend(&mut self, times: &[u64]) {
        for time in times {
            self.push(*time);
        }
    }

    fn add(&mut self, other: &Buckets) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
    }

    fn until(&self, by: u64) -> u64 {
        let last = bucket_of(by);
        let whole = if middle_of(last) <= by { last + 1 } else { last };
        self.counts[..whole.min(self.counts.len())].iter().sum()
    }
}

/// The time of this rank in all lists together.
fn nth(lists: &[Buckets; 3], rank: u64) -> u64 {
    let mut so_far = 0;
    let buckets = lists.iter().map(|list| list.counts.len()).max().unwrap_or(0);
    for bucket in 0..buckets {
        so_far += lists.iter().filter_map(|list| list.counts.get(bucket)).sum::<u64>();
        if so_far >= rank {
            return middle_of(bucket);
        }
    }
    u64::MAX
}

fn bucket_of(time: u64) -> usize {
    let shift = (u64::BITS - 1).saturating_sub(DIGITS + time.leading_zeros());
    ((shift as usize) << DIGITS) + (time >> shift) as usize
}

fn middle_of(bucket: usize) -> u64 {
    let shift = (bucket >> DIGITS).saturating_sub(1);
    let first = ((bucket - (shift << DIGITS)) as u64) << shift;
    first + (1 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_bucket_is_within_a_thousandth_of_its_times() {
        let mut last = 0;
        for exponent in 0..u64::BITS {
            for offset in [-1_i64, 0, 1, 77_777] {
                let time = (1_u64 << exponent).saturating_add_signed(offset);
                let middle = middle_of(bucket_of(time));
                assert!(middle.abs_diff(time) as f64 <= time as f64 * 0.001, "{time} is {middle}");
                assert_eq!(bucket_of(middle), bucket_of(time));
                if offset == 0 {
                    assert!(bucket_of(time) > last || time <= 1);
                    last = bucket_of(time);
                }
            }
        }
        assert!((0..1 << (DIGITS + 1)).all(|time| middle_of(bucket_of(time)) == time));
    }

    #[test]
    fn many_times_take_no_more_room_and_read_the_same_to_a_thousandth() {
        let time = |i: u64| Time::from_nanos(1_000_000 + i * i % 1_000_003 * 1_009);
        let fill = |range: core::ops::Range<u64>| {
            let mut times = Times::new();
            range.for_each(|i| times.push((i % 3) as usize, time(i)));
            times.sort();
            times
        };
        let n = KEPT as u64;
        let kept = fill(0..n);
        let mut counted = kept.clone();
        counted.count();
        assert!(matches!(kept.0, Form::Kept(_)) && matches!(fill(0..n + 1).0, Form::Counted(_)));
        for rank in [1, n / 100, n / 2, n - n / 100, n] {
            let (exact, near) = (kept.at(rank).as_nanos(), counted.at(rank).as_nanos());
            assert!(near.abs_diff(exact) as f64 <= exact as f64 * 0.001, "{near} for {exact}");
            // Reading the count back at the time of a rank includes the rank.
            assert!(counted.until(0, Time::from_nanos(near)) <= counted.len(0));
        }
        assert_eq!(kept.at(n + 1), Time::MAX);
        let mut whole = fill(0..n / 2);
        whole.merge(&fill(n / 2..n + 7));
        assert_eq!(whole, fill(0..n + 7));
    }
}
