//! Which job starts next, and when.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use core::ops::Range;

use fantail_core::Time;

use super::Simulation;
use super::luck::JOBS;
use crate::draws::Subject;

/// Jobs that are played and do not count have numbers of their own: this bit and a number near those that count.
pub(super) const UNCOUNTED: u64 = 1 << 63;

/// The jobs of a range in the order of their start, after some that warm the system up and before some that keep it warm.
pub(super) struct Arriving {
    simulation: Simulation,
    jobs: Range<u64>,
    warm_up: u64,
    /// When the first of all arrives, where jobs do not wait for others.
    begins: Time,
    /// How many have been named.
    named: u64,
    /// When the one before started.
    last: Option<Time>,
    /// When the next one will, once it is drawn.
    next: Option<Time>,
    /// How long after the one before each of the jobs from this number on arrives; `None` before that was asked.
    gaps: Option<(u64, [Time; JOBS])>,
    /// When each client that thinks will start its next job; `None` when jobs do not wait for others.
    ready: Option<BinaryHeap<Reverse<Time>>>,
}

/// A job that is about to start.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) number: u64,
    /// Whether it is of the range; if so, whether it is the first or the last of it.
    pub(super) counts: bool,
    pub(super) first: bool,
    pub(super) last: bool,
}

impl Arriving {
    pub(super) fn new(simulation: Simulation, jobs: Range<u64>) -> Arriving {
        let begins = simulation.begins_at(jobs.start);
        let think = |client: u32, mean: Time| {
            let subject = Subject { branch: client, ..Subject::job(jobs.start | UNCOUNTED) };
            Reverse(begins.saturating_add(simulation.luck.think(subject, mean)))
        };
        let ready = simulation
            .scenario
            .arrivals
            .clients()
            .map(|(clients, mean)| (0..clients).map(|client| think(client + 1, mean)).collect());
        let warm_up = simulation.warm_up();
        Arriving { simulation, jobs, warm_up, begins, named: 0, last: None, next: None, gaps: None, ready }
    }

    /// How many jobs the range has.
    pub(super) fn counted(&self) -> u64 {
        self.jobs.end.saturating_sub(self.jobs.start)
    }

    /// The next job, given whether all that count are over; `None` when there are no more.
    pub(super) fn next(&mut self, all_over: bool) -> Option<Arrival> {
        let place = self.named;
        let counted = self.counted();
        if counted == 0 {
            return None;
        }
        self.named += 1;
        let number = self.jobs.start.wrapping_add(place).wrapping_sub(self.warm_up);
        if place < self.warm_up {
            return Some(Arrival { number: number | UNCOUNTED, counts: false, first: false, last: false });
        }
        let place = place - self.warm_up;
        if place < counted {
            let (first, last) = (place == 0, place == counted - 1);
            return Some(Arrival { number, counts: true, first, last });
        }
        let more = place - counted < self.warm_up && !all_over;
        more.then_some(Arrival { number: number | UNCOUNTED, counts: false, first: false, last: false })
    }

    /// When the job with this number starts, as far as is known; `None` when somebody has to return before.
    pub(super) fn at(&mut self, number: u64) -> Option<Time> {
        if let Some(ready) = &self.ready {
            return ready.peek().map(|Reverse(at)| *at);
        }
        if self.next.is_none() {
            let gap = self.gap(number);
            self.next = Some(self.last.map_or(self.begins, |last| last.saturating_add(gap)));
        }
        self.next
    }

    /// How long after the one before it the job with this number starts.
    fn gap(&mut self, number: u64) -> Time {
        let place = |from: u64| usize::try_from(number.wrapping_sub(from)).ok().filter(|place| *place < JOBS);
        if let Some((from, gaps)) = &self.gaps
            && let Some(place) = place(*from)
        {
            return gaps[place];
        }
        let (_, gaps) = self.gaps.insert((number, [Time::ZERO; JOBS]));
        self.simulation.luck.gaps(number, gaps);
        gaps[0]
    }

    /// The job with this number starts.
    pub(super) fn starts(&mut self, at: Time) {
        (self.last, self.next) = (Some(at), None);
        if let Some(ready) = &mut self.ready {
            ready.pop();
        }
    }

    /// A job has returned: its client thinks.
    pub(super) fn returned(&mut self, number: u64, now: Time) {
        if let (Some(ready), Some((_, mean))) = (&mut self.ready, self.simulation.scenario.arrivals.clients())
        {
            let pause = self.simulation.luck.think(Subject::job(number), mean);
            ready.push(Reverse(now.saturating_add(pause)));
        }
    }
}
