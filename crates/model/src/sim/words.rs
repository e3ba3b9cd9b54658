//! Summaries as lists of whole numbers, which one machine writes and another reads.

use alloc::vec::Vec;

use fantail_core::job::Refusal;
use fantail_core::{Ledger, Time};

use super::Simulation;
use super::blocks::{Between, Returned};
use super::estimate::Total;
use super::summary::{Blocks, LISTS, Outcomes, ServerUse, Summary, TurnedAway, Waits};
use super::times::Times;

/// Takes whole numbers in turn from a summary, or puts them there: one walk over the fields serves both ways, so that they
/// cannot disagree.
pub(super) trait Words {
    /// One number.
    fn word(&mut self, word: &mut u64);

    /// A number of 128 bits.
    fn wide(&mut self, wide: &mut u128) {
        let (mut low, mut high) = (*wide as u64, (*wide >> 64) as u64);
        self.word(&mut low);
        self.word(&mut high);
        *wide = u128::from(high) << 64 | u128::from(low);
    }

    fn time(&mut self, time: &mut Time) {
        let mut nanos = time.as_nanos();
        self.word(&mut nanos);
        *time = Time::from_nanos(nanos);
    }

    /// Items with their number before them.
    fn list<T: Clone>(&mut self, list: &mut Vec<T>, blank: &T, mut item: impl FnMut(&mut Self, &mut T))
    where
        Self: Sized,
    {
        let mut length = list.len() as u64;
        self.word(&mut length);
        // What is read may claim any length: it ends with the numbers.
        list.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        let mut place = 0;
        while place < length && !self.is_over() {
            if place as usize == list.len() {
                list.push(blank.clone());
            }
            item(self, &mut list[place as usize]);
            place += 1;
        }
    }

    /// Whether no number is left to be read.
    fn is_over(&self) -> bool;
}

struct Writer(Vec<u64>);

impl Words for Writer {
    fn word(&mut self, word: &mut u64) {
        self.0.push(*word);
    }

    fn is_over(&self) -> bool {
        false
    }
}

struct Reader<'w> {
    words: &'w [u64],
    /// Whether a number was missing.
    short: bool,
}

impl Words for Reader<'_> {
    fn word(&mut self, word: &mut u64) {
        if let Some((first, rest)) = self.words.split_first() {
            (*word, self.words) = (*first, rest);
        } else {
            self.short = true;
        }
    }

    fn is_over(&self) -> bool {
        self.words.is_empty()
    }
}

impl Summary {
    /// All that it holds, as whole numbers.
    pub fn to_words(&self) -> Vec<u64> {
        let mut writer = Writer(Vec::new());
        self.clone().walk(&mut writer);
        writer.0
    }

    /// The summary that gave these numbers, of jobs of the same simulation; `None` when they are of no such summary.
    pub fn from_words(simulation: &Simulation, words: &[u64]) -> Option<Summary> {
        let mut summary = Summary::new(simulation);
        let shape = |summary: &Summary| {
            (summary.outcomes.len(), summary.prices.launched.len(), summary.servers.len())
        };
        let expected = shape(&summary);
        let mut reader = Reader { words, short: false };
        summary.walk(&mut reader);
        let whole = !reader.short && reader.words.is_empty() && shape(&summary) == expected;
        (whole && summary.returns.is_sorted() && summary.counts_agree()).then_some(summary)
    }

    /// Whether every branch has an outcome in every job. What is read may claim counts that no sum holds.
    fn counts_agree(&self) -> bool {
        let lists = LISTS.map(|list| self.returns.len(list));
        let Some(jobs) = checked_sum(lists.into_iter().chain([self.never])) else { return false };
        self.outcomes.iter().all(|outcomes| {
            let mut counts = Writer(Vec::new());
            let mut outcomes = *outcomes;
            outcomes.walk(&mut counts);
            checked_sum(counts.0) == Some(jobs)
        })
    }

    fn walk(&mut self, words: &mut impl Words) {
        self.returns.walk(words);
        words.word(&mut self.never);
        words.list(&mut self.outcomes, &Outcomes::default(), |words, outcomes| outcomes.walk(words));
        let Ledger { primaries, copies, failovers, kept, .. } = &mut self.ledger;
        for attempts in [primaries, copies, failovers] {
            for count in [
                &mut attempts.launched,
                &mut attempts.won,
                &mut attempts.lost,
                &mut attempts.failed,
                &mut attempts.censored,
            ] {
                words.word(count);
            }
            words.time(&mut attempts.busy);
        }
        for count in [&mut kept.kept, &mut kept.answered, &mut kept.failed, &mut kept.censored] {
            words.word(count);
        }
        words.time(&mut kept.busy);
        for reason in Refusal::ALL {
            let mut count = self.ledger.refused(reason);
            words.word(&mut count);
            self.ledger.set_refused(reason, count);
        }
        for total in [&mut self.return_time, &mut self.extra, &mut self.busy, &mut self.backfills] {
            total.walk(words);
        }
        words.word(&mut self.with_copies);
        words.wide(&mut self.late);
        words.list(&mut self.prices.launched, &0, Words::word);
        self.prices.paid.walk(words);
        self.waits.walk(words);
        self.turned_away.walk(words);
        words.word(&mut self.peak);
        words.list(&mut self.servers, &ServerUse::default(), |words, server| server.walk(words));
        if let Some(blocks) = &mut self.blocks {
            blocks.walk(words);
        }
    }
}

fn checked_sum(counts: impl IntoIterator<Item = u64>) -> Option<u64> {
    counts.into_iter().try_fold(0, u64::checked_add)
}

impl Outcomes {
    fn walk(&mut self, words: &mut impl Words) {
        let Outcomes { answered, failed, missed, no_permit, dependency, refused, .. } = self;
        for count in [answered, failed, missed, no_permit, dependency, refused] {
            words.word(count);
        }
        let Outcomes { job_failed, unneeded, cancelled, never, .. } = self;
        for count in [job_failed, unneeded, cancelled, never] {
            words.word(count);
        }
    }
}

impl Waits {
    fn walk(&mut self, words: &mut impl Words) {
        words.word(&mut self.permits);
        words.word(&mut self.delayed);
        words.time(&mut self.longest);
        self.total.walk(words);
    }
}

impl TurnedAway {
    fn walk(&mut self, words: &mut impl Words) {
        self.attempts.walk(words);
        self.branches.walk(words);
        words.word(&mut self.jobs);
    }
}

impl ServerUse {
    fn walk(&mut self, words: &mut impl Words) {
        for count in [&mut self.calls, &mut self.turned_away, &mut self.most] {
            words.word(count);
        }
        words.wide(&mut self.area);
        words.wide(&mut self.span);
        self.between.walk(words);
    }
}

impl Blocks {
    fn walk(&mut self, words: &mut impl Words) {
        words.word(&mut self.count);
        words.word(&mut self.growth.more);
        words.word(&mut self.growth.fewer);
        words.wide(&mut self.growth.squares);
        self.figures.iter_mut().for_each(|between| between.walk(words));
        self.returned.walk(words);
    }
}

impl Total {
    pub(super) fn walk(&mut self, words: &mut impl Words) {
        let (count, sum, squares) = self.parts();
        words.word(count);
        words.wide(sum);
        words.wide(squares);
    }
}

impl Between {
    pub(super) fn walk(&mut self, words: &mut impl Words) {
        self.sums().into_iter().for_each(|sum| words.wide(sum));
    }
}

impl Returned {
    fn walk(&mut self, words: &mut impl Words) {
        let (marks, after) = self.parts();
        words.list(marks, &Between::default(), |words, between| between.walk(words));
        after.walk(words);
    }
}

impl Times {
    fn walk(&mut self, words: &mut impl Words) {
        let mut counted = u64::from(self.is_counted());
        words.word(&mut counted);
        if counted == 1 {
            self.count();
        }
        for list in self.lists() {
            words.list(list, &0, Words::word);
        }
        self.add_up();
    }
}
