//! What the jobs of a plan have come to since the gateway started.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use fantail::{Done, Note, Observer};
use fantail_core::job::{Refusal, Verdict};
use fantail_core::{Attempts, Kept, Ledger, Plan, Time};
use histogram::AtomicHistogram;
use serde::{Serialize, Serializer};

/// The quantiles that are reported, with the keys that predictions have too.
const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];
/// Buckets are at most 2^-7 of their value wide: a quantile is reported up to 0.8 % too high.
const GROUPING_POWER: u8 = 7;

/// A count that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts of one plan.
#[derive(Debug)]
pub(crate) struct Stats {
    started: Counter,
    complete: Counter,
    partial: Counter,
    failed: Counter,
    dropped: Counter,
    /// Return times of jobs with a verdict, in microseconds.
    elapsed: AtomicHistogram,
    /// The same, of those alone that started no copies.
    held_out: AtomicHistogram,
    ledger: Mutex<Ledger>,
}

impl Default for Stats {
    fn default() -> Stats {
        Stats {
            started: Counter::default(),
            complete: Counter::default(),
            partial: Counter::default(),
            failed: Counter::default(),
            dropped: Counter::default(),
            elapsed: histogram(),
            held_out: histogram(),
            ledger: Mutex::new(Ledger::default()),
        }
    }
}

impl Stats {
    /// A job starts.
    pub(crate) fn start(&self) -> Running<'_> {
        self.started.add();
        Running { stats: self, ended: false }
    }

    /// How long jobs took and how they ended, under the name of their plan.
    pub(crate) fn measured(&self, name: &str) -> Measured {
        let Report { jobs, shares, elapsed_s, .. } = self.report(false);
        Measured {
            name: name.to_owned(),
            jobs: jobs.complete + jobs.partial + jobs.failed,
            quantiles_s: elapsed_s,
            shares,
        }
    }

    /// What there is to report; of the holdout too, if the plan has one.
    pub(crate) fn report(&self, holdout: bool) -> Report {
        let (complete, partial, failed) = (self.complete.get(), self.partial.get(), self.failed.get());
        let dropped = self.dropped.get();
        let ended = complete + partial + failed;
        let share = |part: u64| (ended > 0).then(|| part as f64 / ended as f64);
        let ledger = *self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        Report {
            jobs: Jobs {
                running: self.started.get().saturating_sub(ended + dropped),
                complete,
                partial,
                failed,
                dropped,
            },
            shares: Shares { complete: share(complete), partial: share(partial), failed: share(failed) },
            elapsed_s: Quantiles::of(&self.elapsed),
            holdout_elapsed_s: holdout.then(|| Quantiles::of(&self.held_out)),
            ledger: LedgerBody {
                primaries: AttemptsBody::of(&ledger.primaries),
                copies: AttemptsBody::of(&ledger.copies),
                failovers: AttemptsBody::of(&ledger.failovers),
                kept: KeptBody::of(&ledger.kept),
                refused: RefusedBody {
                    budget: ledger.refused(Refusal::Budget),
                    no_time_left: ledger.refused(Refusal::NoTimeLeft),
                    pushback: ledger.refused(Refusal::Pushback),
                    limiter: ledger.refused(Refusal::Limiter),
                },
            },
        }
    }
}

impl Observer for Stats {
    /// What a job keeps ends after the job.
    fn note(&self, _plan: &Plan, note: Note<'_>) {
        if let Note::Observed(job) = note {
            let mut ledger = Ledger::default();
            ledger.kept = job.ledger().kept;
            self.add(&ledger);
        }
    }
}

impl Stats {
    fn add(&self, ledger: &Ledger) {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner).add(ledger);
    }
}

fn histogram() -> AtomicHistogram {
    AtomicHistogram::new(GROUPING_POWER, 64).expect("7 is below 64")
}

/// A job that has started. Dropping it before it ended says that nobody waits for the result any more.
pub(crate) struct Running<'a> {
    stats: &'a Stats,
    ended: bool,
}

impl Running<'_> {
    /// The job has a verdict.
    pub(crate) fn end(mut self, done: &Done) {
        self.ended = true;
        let counter = match done.verdict() {
            Verdict::Complete => &self.stats.complete,
            Verdict::Partial => &self.stats.partial,
            Verdict::Failed(_) => &self.stats.failed,
        };
        counter.add();
        let micros = done.elapsed().as_nanos().div_ceil(1_000);
        // Every `u64` has a bucket.
        let _ = self.stats.elapsed.increment(micros);
        if done.job().is_held_out() {
            let _ = self.stats.held_out.increment(micros);
        }
        // What is kept is counted once it has ended.
        let mut ledger = *done.ledger();
        if done.job().kept() > 0 {
            ledger.kept = Kept::default();
        }
        self.stats.add(&ledger);
    }

    /// The job panicked.
    pub(crate) fn fail(mut self) {
        self.ended = true;
        self.stats.failed.add();
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.stats.dropped.add();
        }
    }
}

/// The numbers of a plan since the gateway started.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    jobs: Jobs,
    /// Of the jobs with a verdict; `null` when there is none.
    shares: Shares,
    /// Quantiles of the return times of jobs with a verdict.
    elapsed_s: Quantiles,
    /// Of those among them that started no copies; `null` when the plan has no holdout.
    holdout_elapsed_s: Option<Quantiles>,
    ledger: LedgerBody,
}

/// What was measured of a plan since the gateway started, in the words of a prediction.
#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    name: String,
    /// Those with a verdict.
    jobs: u64,
    quantiles_s: Quantiles,
    #[serde(flatten)]
    shares: Shares,
}

#[derive(Debug, Serialize)]
struct Jobs {
    running: u64,
    complete: u64,
    partial: u64,
    failed: u64,
    /// The client went away.
    dropped: u64,
}

#[derive(Debug, Serialize)]
struct Shares {
    complete: Option<f64>,
    partial: Option<f64>,
    failed: Option<f64>,
}

#[derive(Debug, Serialize)]
struct LedgerBody {
    primaries: AttemptsBody,
    copies: AttemptsBody,
    failovers: AttemptsBody,
    /// Primaries that ran on to be measured.
    kept: KeptBody,
    refused: RefusedBody,
}

#[derive(Debug, Serialize)]
struct AttemptsBody {
    launched: u64,
    won: u64,
    lost: u64,
    failed: u64,
    censored: u64,
    busy_s: f64,
}

impl AttemptsBody {
    fn of(attempts: &Attempts) -> AttemptsBody {
        let Attempts { launched, won, lost, failed, censored, busy } = *attempts;
        AttemptsBody { launched, won, lost, failed, censored, busy_s: Time::as_secs_f64(busy) }
    }
}

#[derive(Debug, Serialize)]
struct KeptBody {
    kept: u64,
    answered: u64,
    failed: u64,
    censored: u64,
    busy_s: f64,
}

impl KeptBody {
    fn of(counts: &Kept) -> KeptBody {
        let Kept { kept, answered, failed, censored, busy } = *counts;
        KeptBody { kept, answered, failed, censored, busy_s: busy.as_secs_f64() }
    }
}

#[derive(Debug, Serialize)]
struct RefusedBody {
    budget: u64,
    no_time_left: u64,
    pushback: u64,
    limiter: u64,
}

/// Quantiles by name; `null` where there is nothing yet.
#[derive(Debug)]
struct Quantiles(Vec<(&'static str, Option<f64>)>);

impl Quantiles {
    fn of(times: &AtomicHistogram) -> Quantiles {
        let times = times.load();
        let quantile = |q: f64| Some(times.quantile_bucket(q).ok()??.end() as f64 / 1e6);
        Quantiles(QUANTILES.iter().map(|&(name, q)| (name, quantile(q))).collect())
    }
}

impl Serialize for Quantiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}
