//! The decay clock, and the primaries that are in flight by when they started.

use alloc::boxed::Box;

use crate::Time;
use crate::sketch::Primary;

/// Batches in a half-life.
const STEPS: u64 = 1 << STEP_BITS;
const STEP_BITS: u32 = 5;
/// How many batches are told apart: eight half-lives.
const RING: usize = 8 * STEPS as usize;
/// The exponent of the current weight is at least this, so that the oldest batch of the ring has one of at least 16 ...
const LEAST_EXPONENT: u64 = 24;
/// ... and less than this much above it, so that the weight of all primaries fits: with a half-life of 2^24 it is below
/// 1.5 * 2^24 * 2^6 * 2^28.
const RENORM: u32 = 4;
/// The number of the first batch.
const FIRST: u64 = LEAST_EXPONENT * STEPS;

/// Primaries by start, in batches of 1/32 of a half-life.
///
/// Batch k weighs `(32 + k mod 32) * 2^(k / 32)`: twice what batch k - 32 weighs, exactly, and on a line in between
/// (within 6 % of the exponential). Younger ones weigh more, so that nothing that is counted need be touched when a
/// primary starts. Every fourth half-life `base` takes 2^4 out of all weights.
#[derive(Clone, Debug)]
pub(super) struct Batches {
    half_life: u64,
    /// Number of the batch that takes starts.
    current: u64,
    /// How many more starts it takes.
    left: u64,
    /// How many primaries started in all.
    started: u64,
    /// When the latest of them did.
    latest: Time,
    /// The half-life whose batches weigh 32 to 63.
    base: u64,
    ring: Box<[Batch; RING]>,
}

/// The primaries that started one after another.
#[derive(Clone, Copy, Debug)]
struct Batch {
    /// The start of the first of them.
    first: Time,
    /// Of those in flight: start less `first`, summed.
    offsets: u128,
    /// The shortest deadline that cut one of them.
    cut: Time,
    running: u32,
}

/// Primaries in flight, all of nearly the same age.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    /// Their mean age.
    pub(super) age: Time,
    /// Their weight, summed.
    pub(super) weight: u64,
}

impl Batch {
    const EMPTY: Batch = Batch { first: Time::ZERO, offsets: 0, cut: Time::MAX, running: 0 };

    fn running(&self, now: Time, weight: u64) -> Option<Running> {
        let mean = self.offsets.checked_div(u128::from(self.running))?;
        let start = self.first.saturating_add(Time::from_nanos(mean as u64));
        Some(Running { age: now.saturating_sub(start), weight: weight * u64::from(self.running) })
    }
}

impl Batches {
    pub(super) fn new(half_life: u32) -> Batches {
        Batches {
            half_life: u64::from(half_life),
            current: FIRST - 1,
            left: 0,
            started: 0,
            latest: Time::ZERO,
            base: 0,
            ring: Box::new([Batch::EMPTY; RING]),
        }
    }

    /// Whether [`Batches::open`] must come before the next [`Batches::start`].
    pub(super) fn full(&self) -> bool {
        self.left == 0
    }

    /// Counts a start in the current batch.
    #[inline]
    pub(super) fn start(&mut self, now: Time) -> Primary {
        self.left -= 1;
        self.started += 1;
        let now = self.latest.max(now);
        self.latest = now;
        let batch = &mut self.ring[self.current as usize % RING];
        batch.running += 1;
        batch.offsets += u128::from(now.saturating_sub(batch.first).as_nanos());
        Primary { batch: self.current, started: now }
    }

    /// Takes `n` equal primaries out of those in flight. The weight of one, or `None` when they started too long ago to be
    /// told apart.
    pub(super) fn end(&mut self, number: u64, started: Time, cut: Time, n: u32) -> Option<u64> {
        // A primary of another sketch may come from a batch that is not here yet: it wraps, and is far away too.
        if self.current.wrapping_sub(number) >= RING as u64 {
            return None;
        }
        let batch = &mut self.ring[number as usize % RING];
        batch.running = batch.running.saturating_sub(n);
        let offset = started.saturating_sub(batch.first);
        let offsets = u128::from(offset.as_nanos()) * u128::from(n);
        batch.offsets = batch.offsets.saturating_sub(offsets);
        batch.cut = batch.cut.min(cut);
        Some(self.weight(number))
    }

    /// Opens the next batch. What still runs of the one that it replaces, and how many bits all weights have lost.
    pub(super) fn open(&mut self, now: Time) -> (Option<Running>, u32) {
        self.current += 1;
        self.left = self.length(self.current);
        let evicted = self.current - RING as u64;
        let place = &mut self.ring[self.current as usize % RING];
        let old = core::mem::replace(place, Batch { first: self.latest.max(now), ..Batch::EMPTY });
        let running = old.running(now, self.weight(evicted));
        let exponent = (self.current >> STEP_BITS) - self.base;
        let lost = if exponent == LEAST_EXPONENT + u64::from(RENORM) { RENORM } else { 0 };
        self.base += u64::from(lost);
        (running.map(|it| Running { weight: it.weight >> lost, ..it }), lost)
    }

    /// The weight of a primary of batch `k`, which is in the ring or has just left it.
    fn weight(&self, k: u64) -> u64 {
        (STEPS + k % STEPS) << ((k >> STEP_BITS) - self.base)
    }

    /// The weight of a primary that starts now.
    pub(super) fn weight_now(&self) -> u64 {
        self.weight(self.current)
    }

    /// The squares of the weights of all primaries that started, summed.
    ///
    /// Those that have left the ring are left out: a share of 4^-8.
    pub(super) fn squares(&self) -> u128 {
        let square = |k: u64, n: u64| u128::from(self.weight(k)).pow(2) * u128::from(n);
        self.kept().map(|k| square(k, self.length(k))).sum::<u128>() - square(self.current, self.left)
    }

    /// How many primaries a batch takes; 32 in a row take a half-life, exactly.
    fn length(&self, k: u64) -> u64 {
        self.before(k + 1) - self.before(k)
    }

    /// How many primaries batches before `k` took.
    fn before(&self, k: u64) -> u64 {
        let k = k - FIRST;
        (k >> STEP_BITS) * self.half_life + ((k % STEPS * self.half_life) >> STEP_BITS)
    }

    /// The batches in the ring, oldest first; none before the first start.
    fn kept(&self) -> impl Iterator<Item = u64> {
        FIRST.max((self.current + 1).saturating_sub(RING as u64))..self.current + 1
    }

    pub(super) fn started(&self) -> u64 {
        self.started
    }

    /// The shortest deadline that cut a primary of the ring.
    pub(super) fn cut(&self) -> Time {
        self.ring.iter().map(|batch| batch.cut).min().unwrap_or(Time::MAX)
    }

    /// The primaries in flight.
    pub(super) fn running(&self, now: Time) -> impl Iterator<Item = Running> {
        self.kept().filter_map(move |k| self.ring[k as usize % RING].running(now, self.weight(k)))
    }

    /// How long a half-life takes at the pace of the primaries in the ring; `None` while they have no pace.
    pub(super) fn pace(&self) -> Option<Time> {
        let oldest = self.kept().next()?;
        let span = self.latest.saturating_sub(self.ring[oldest as usize % RING].first);
        let gaps = self.started - self.before(oldest) - 1;
        let nanos =
            (u128::from(span.as_nanos()) * u128::from(self.half_life)).checked_div(u128::from(gaps))?;
        (nanos > 0).then(|| Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// Moves the clock, and all that was counted with it, by `n` times eight half-lives.
    #[cfg(test)]
    pub(super) fn shift(&mut self, n: u64) {
        let half_lives = n * (RING as u64 / STEPS);
        self.current += half_lives * STEPS;
        self.started += half_lives * self.half_life;
        self.base += half_lives;
    }
}
