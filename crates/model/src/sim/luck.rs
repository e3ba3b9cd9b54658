//! What is drawn: how long attempts take, how they end, when jobs arrive.

use alloc::sync::Arc;
use alloc::vec::Vec;

use fantail_core::Time;

use super::scenario::mean_gap;
use super::servers::Fate;
use super::{Arrivals, Failures, Scenario, Server};
use crate::draws::{Draws, Purpose, Subject};
use crate::sampler::Sampler;
use crate::special::normal_hazard;
use crate::{Dependence, Law};

/// So many jobs are drawn at once, where they are drawn in the order of their numbers.
pub(super) const JOBS: usize = 16;

/// The draws of a seed, turned into what they stand for in a scenario.
#[derive(Debug)]
pub(super) struct Luck {
    draws: Draws,
    scenario: Arc<Scenario>,
    /// Of different laws; which of them is a branch's.
    samplers: Vec<Sampler>,
    of_branch: Vec<u32>,
    size: Option<Sampler>,
    /// Of calls that fail, by server, where they have a law of their own.
    failures: Vec<Option<Sampler>>,
}

impl Luck {
    pub(super) fn new(seed: u64, scenario: Arc<Scenario>, laws: Vec<Law>) -> Luck {
        let (mut samplers, mut of_branch) = (Vec::<Sampler>::new(), Vec::with_capacity(laws.len()));
        for law in laws {
            let known = samplers.iter().rposition(|known| *known.law() == law);
            of_branch.push(known.unwrap_or(samplers.len()) as u32);
            if known.is_none() {
                samplers.push(Sampler::new(law));
            }
        }
        let failing = |server: &Server| server.failures.law.clone().map(Sampler::new);
        Luck {
            draws: Draws::new(seed),
            samplers,
            of_branch,
            size: scenario.size.clone().map(Sampler::new),
            failures: scenario.servers.iter().map(failing).collect(),
            scenario,
        }
    }

    /// The law of an attempt of a branch.
    pub(super) fn law(&self, branch: usize) -> &Law {
        self.sampler(branch).law()
    }

    fn sampler(&self, branch: usize) -> &Sampler {
        &self.samplers[self.of_branch[branch] as usize]
    }

    /// The largest share of calls of a branch that answer, but later than [`Time`] counts.
    pub(super) fn beyond_time(&self) -> f64 {
        let beyond = |law: &Law| law.survival(Time::MAX.as_secs_f64()) - law.never();
        self.samplers.iter().map(|sampler| beyond(sampler.law())).fold(0.0, f64::max)
    }

    /// How long a call of a branch takes to its answer; [`Time::MAX`] when it never ends.
    pub(super) fn latency(&self, subject: Subject) -> Time {
        self.sized(subject, self.sampler(subject.branch as usize))
    }

    /// How long a call takes that fails at this server.
    pub(super) fn failure(&self, subject: Subject, server: u32) -> Time {
        let own = self.failures[server as usize].as_ref();
        self.sized(subject, own.unwrap_or(self.sampler(subject.branch as usize)))
    }

    /// [`Luck::latency`] of the first attempts of the jobs from `subject.job` on, of the even branch of `subject` and the odd
    /// one after it if there is one.
    fn latencies(&self, subject: Subject, into: &mut [[u64; JOBS]]) {
        let job = |place: usize| subject.job.wrapping_add(place as u64);
        if self.scenario.dependence != Dependence::NONE || self.size.is_some() {
            for (times, branch) in into.iter_mut().zip(subject.branch..) {
                let time = |place| self.latency(Subject { job: job(place), branch, ..subject }).as_nanos();
                *times = core::array::from_fn(time);
            }
            return;
        }
        let mut drawn = [[0.0; JOBS]; 2];
        let [even, odd] = &mut drawn;
        self.draws.uniforms(subject, Purpose::Latency, [even, odd]);
        for ((times, uniforms), branch) in into.iter_mut().zip(&drawn).zip(subject.branch..) {
            let sampler = self.sampler(branch as usize);
            let part =
                |place| self.draws.uniform(Subject { job: job(place), branch, ..subject }, Purpose::Part);
            all_nearest(&sampler.times(uniforms, part), times);
        }
    }

    fn sized(&self, subject: Subject, sampler: &Sampler) -> Time {
        nearest(self.dependent(subject, sampler) * self.size(subject.job))
    }

    /// How long a call takes to read what the calls of its job share, given how long that is for a job of size 1.
    pub(super) fn prefill(&self, prefill: Time, job: u64) -> Time {
        nearest(prefill.as_secs_f64() * self.size(job))
    }

    fn size(&self, job: u64) -> f64 {
        self.size.as_ref().map_or(1.0, |size| {
            // No attempt has this number, nor the draws that would go with it.
            let of_job = Subject { attempt: u8::MAX, ..Subject::job(job) };
            self.drawn(size, of_job, Purpose::Size)
        })
    }

    /// A time of this law, those of branches and copies as dependent as is stated.
    fn dependent(&self, subject: Subject, sampler: &Sampler) -> f64 {
        let shares = self.scenario.dependence;
        if shares == Dependence::NONE {
            return self.drawn(sampler, subject, Purpose::Latency);
        }
        let of_job = Subject::job(subject.job);
        let of_branch = Subject { branch: subject.branch, ..of_job };
        if shares.branch() == 1.0 {
            return self.drawn(sampler, of_branch, Purpose::Branch);
        }
        let part = |share: f64, subject, purpose| {
            if share > 0.0 { libm::sqrt(share) * self.draws.normal(subject, purpose) } else { 0.0 }
        };
        let z = part(shares.job(), of_job, Purpose::Job)
            + part(shares.branch(), of_branch, Purpose::Branch)
            + part(shares.luck(), subject, Purpose::Latency);
        sampler.law().inverse_hazard(normal_hazard(z))
    }

    fn drawn(&self, sampler: &Sampler, subject: Subject, purpose: Purpose) -> f64 {
        sampler.time(self.draws.uniform(subject, purpose), || self.draws.uniform(subject, Purpose::Part))
    }

    /// How a call ends that a server takes.
    pub(super) fn fate(&self, subject: Subject, failures: &Failures) -> Fate {
        let Failures { retryable, permanent, .. } = *failures;
        if retryable + permanent == 0.0 {
            return Fate::Answer;
        }
        let drawn = self.draws.uniform(subject, Purpose::Fate);
        if drawn < retryable {
            Fate::Retryable
        } else if drawn < retryable + permanent {
            Fate::Permanent
        } else {
            Fate::Answer
        }
    }

    /// What decides whether a job is observed or held out.
    pub(super) fn sample(&self, job: u64) -> u32 {
        self.draws.word(Subject::job(job), Purpose::Sample)
    }

    /// A replica of so many.
    pub(super) fn replica(&self, of: u32, subject: Subject) -> u32 {
        self.draws.below(of, subject, Purpose::Replica)
    }

    /// How long after the job before each of them the jobs from `number` on arrive.
    pub(super) fn gaps(&self, number: u64, into: &mut [Time; JOBS]) {
        let (mut drawn, mut odd) = ([0.0; JOBS], [0.0; JOBS]);
        if let Arrivals::Poisson(_) = self.scenario.arrivals {
            self.draws.uniforms(Subject::job(number), Purpose::Arrival, [&mut drawn, &mut odd]);
        }
        for ((gap, drawn), i) in into.iter_mut().zip(drawn).zip(0..) {
            *gap = match &self.scenario.arrivals {
                Arrivals::OneAtATime | Arrivals::Clients { .. } => Time::ZERO,
                Arrivals::Every(gap) => *gap,
                Arrivals::Poisson(rate) => nearest(-libm::log(drawn) / rate),
                Arrivals::Trace(times) => gap_of(times, number.wrapping_add(i)),
            };
        }
    }

    /// Where the clock of a block stands when its first job arrives, which nothing else says: a part of a round.
    pub(super) fn phase(&self, first: u64) -> f64 {
        self.draws.uniform(Subject::job(first), Purpose::Arrival)
    }

    /// How long a client thinks, with this mean.
    pub(super) fn think(&self, subject: Subject, mean: Time) -> Time {
        nearest(self.draws.exponential(subject, Purpose::Think) * mean.as_secs_f64())
    }
}

/// How long after the one before a job arrives, by its number: a trace begins again after its end, and went on before its
/// beginning, where jobs have numbers below zero.
fn gap_of(times: &[Time], number: u64) -> Time {
    // Without the bit that says whether it counts.
    let number = (number << 1).cast_signed() >> 1;
    match number.rem_euclid(times.len().cast_signed() as i64) as usize {
        0 => mean_gap(times),
        place => times[place].saturating_sub(times[place - 1]),
    }
}

/// Times of the first attempts of jobs, which are drawn for several at once: what comes of it is [`Luck::latency`].
pub(super) struct Firsts {
    luck: Arc<Luck>,
    /// The first job of those that are drawn, and how many they are.
    drawn: (u64, u64),
    /// By branch.
    times: Vec<[u64; JOBS]>,
    /// So few jobs are asked for that each is drawn when it is.
    few: bool,
}

impl Firsts {
    /// Of which about so many jobs will be asked for.
    pub(super) fn new(luck: Arc<Luck>, jobs: u64) -> Firsts {
        let times = alloc::vec![[0; JOBS]; luck.of_branch.len()];
        Firsts { luck, drawn: (0, 0), times, few: jobs < JOBS as u64 / 4 }
    }

    /// Those of one job, in nanoseconds, by branch: quick where jobs come in the order of their numbers.
    pub(super) fn of(&mut self, job: u64) -> impl Iterator<Item = u64> {
        let (first, count) = self.drawn;
        let mut place = job.wrapping_sub(first);
        if place >= count {
            self.draw(job);
            place = 0;
        }
        self.times.iter().map(move |times| times[place as usize])
    }

    fn draw(&mut self, job: u64) {
        let subject = |branch| Subject { branch, ..Subject::job(job) };
        if self.few {
            for (branch, times) in (0..).zip(&mut self.times) {
                times[0] = self.luck.latency(subject(branch)).as_nanos();
            }
            self.drawn = (job, 1);
            return;
        }
        for (branch, pair) in (0..).step_by(2).zip(self.times.chunks_mut(2)) {
            self.luck.latencies(subject(branch), pair);
        }
        self.drawn = (job, JOBS as u64);
    }
}

/// The nearest nanosecond, or never.
pub(super) fn nearest(seconds: f64) -> Time {
    let nanos = seconds * 1e9;
    // The cast stops at the largest number, which reads as never.
    Time::from_nanos(if nanos < WHOLE { rounded(nanos) } else { nanos as u64 })
}

/// The same of many times, all of which are less than a month most times.
fn all_nearest(seconds: &[f64; JOBS], into: &mut [u64; JOBS]) {
    let mut digits = 0;
    for (nanos, seconds) in into.iter_mut().zip(seconds) {
        *nanos = rounded(seconds * 1e9);
        digits |= *nanos;
    }
    if digits >= WHOLE as u64 {
        for (nanos, seconds) in into.iter_mut().zip(seconds) {
            *nanos = nearest(*seconds).as_nanos();
        }
    }
}

/// From here on floats are whole numbers.
const WHOLE: f64 = (1_u64 << 52) as f64;

/// The nearest whole number to one from zero up to [`WHOLE`]; no less than that for larger ones.
fn rounded(nanos: f64) -> u64 {
    (nanos + WHOLE).to_bits().wrapping_sub(WHOLE.to_bits())
}
