//! Runs, in slices that are as long as whoever asks for them likes.

use std::ops::Range;
use std::{iter, slice};

use fantail_core::Time;
use fantail_model::Level;
use fantail_model::sim::{Playing, SimError, Simulation, Summary};
use fantail_planfile::{Percentile, StatedLaw};
use fantail_report::Invalid;
use fantail_report::simulate::{Contender, Inputs, Played, Report};

use crate::Lanes;
use crate::exact::rank;
use crate::lanes::lanes;

/// Jobs of every plan of a state, played by the machine that runs plans. All plans meet the same luck, and the same job has
/// the same luck whatever the plan and however many branches there are.
pub struct Runner {
    inputs: Inputs,
    percentiles: Vec<Percentile>,
    contenders: Vec<Contender>,
    played: Vec<Played>,
    /// The numbers of the jobs that were played.
    jobs: Range<u64>,
    /// Those that are being played.
    block: Option<Block>,
}

/// The next jobs up to a number, of each contender, and of the same without copies where it has any.
struct Block {
    end: u64,
    parts: Vec<(Playing, Option<Playing>)>,
}

impl Block {
    /// Plays so much of each; whether all are over.
    fn play(&mut self, jobs: u64) -> Result<bool, SimError> {
        for part in self.parts.iter_mut().flat_map(|(playing, plain)| iter::once(playing).chain(plain)) {
            if !part.play(jobs)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Runner {
    pub(crate) fn new(
        inputs: Inputs,
        percentiles: Vec<Percentile>,
        law: Option<StatedLaw>,
        first: u64,
    ) -> Result<Runner, Invalid> {
        let contenders = inputs.contenders_with(law)?;
        Ok(Runner { inputs, percentiles, contenders, played: Vec::new(), jobs: first..first, block: None })
    }

    /// How many jobs of each plan were played.
    pub fn jobs(&self) -> u64 {
        self.jobs.end - self.jobs.start
    }

    /// The names of plans and clients, in the order of their indices.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.contenders.iter().map(|contender| contender.name.as_str())
    }

    /// Plays the next jobs of each plan. Where they matter to each other, so many instants of a block of
    /// [`Simulation::BLOCK`], whose jobs count when all of them are over.
    ///
    /// # Errors
    /// [`SimError`] when the jobs take longer than time counts.
    pub fn run(&mut self, jobs: u64) -> Result<(), SimError> {
        let mut block = self.block.take().unwrap_or_else(|| self.begin(jobs));
        if block.play(jobs)? {
            self.add(block);
        } else {
            self.block = Some(block);
        }
        Ok(())
    }

    fn begin(&self, jobs: u64) -> Block {
        let whole = self.contenders.iter().any(|contender| contender.simulation.jobs_interact());
        let from = self.jobs.end;
        let end = if whole {
            (from / Simulation::BLOCK + 1).saturating_mul(Simulation::BLOCK)
        } else {
            from.saturating_add(jobs)
        };
        let begin = |simulation: &Simulation| simulation.begin(from..end);
        let parts = self
            .contenders
            .iter()
            .map(|contender| (begin(&contender.simulation), contender.plain.as_ref().map(begin)));
        Block { end, parts: parts.collect() }
    }

    fn add(&mut self, block: Block) {
        let parts = block
            .parts
            .into_iter()
            .map(|(playing, plain)| Played { summary: playing.finish(), plain: plain.map(Playing::finish) });
        if self.jobs.is_empty() {
            self.played = parts.collect();
        } else {
            for (whole, part) in self.played.iter_mut().zip(parts) {
                whole.summary.merge(&part.summary);
                if let (Some(whole), Some(part)) = (&mut whole.plain, &part.plain) {
                    whole.merge(part);
                }
            }
        }
        self.jobs.end = block.end;
    }

    /// The figures of the jobs so far; `None` when there are none.
    pub fn report(&self) -> Option<Report> {
        let ranges = slice::from_ref(&self.jobs);
        (!self.jobs.is_empty())
            .then(|| Report::new(&self.percentiles, &self.inputs, ranges, &self.contenders, &self.played))
    }

    fn summary(&self, plan: usize) -> Option<&Summary> {
        self.played.get(plan).map(|played| &played.summary)
    }

    /// The shares of jobs of a plan that had returned by these times in seconds; NaN when there are none.
    pub fn returned(&self, plan: usize, times: &[f64]) -> Vec<f64> {
        let share = |&time: &f64| {
            let time = Time::from_secs_f64(time).ok()?;
            Some(self.summary(plan)?.returned_by(time).value())
        };
        times.iter().map(|time| share(time).unwrap_or(f64::NAN)).collect()
    }

    /// The return times in seconds after which these shares of jobs were still waiting; infinite for jobs that never
    /// return, NaN when there are none.
    pub fn times(&self, plan: usize, waiting: &[f64]) -> Vec<f64> {
        let time = |&share: &f64| {
            let summary = self.summary(plan)?;
            // In the middle between the rank and the one before it, so that no rounding leads to another.
            let level = Level::below((rank(share, self.jobs()) as f64 - 0.5) / self.jobs() as f64).ok()?;
            Some(seconds(summary.quantile(level)))
        };
        waiting.iter().map(|share| time(share).unwrap_or(f64::NAN)).collect()
    }

    /// What every attempt of one job of a plan did. Where jobs matter to each other, those of its block before it are played
    /// for it.
    ///
    /// # Errors
    /// As for [`Runner::run`].
    pub fn lanes(&self, plan: usize, job: u64) -> Result<Option<Lanes>, SimError> {
        let Some(contender) = self.contenders.get(plan) else { return Ok(None) };
        let trace = contender.simulation.trace_of(job)?;
        Ok(trace.map(|trace| lanes(contender, &trace)))
    }

    /// How long the first attempt of each branch takes in one job, in seconds, were nothing to cut it: what the luck of the
    /// job is, whatever the plan and its servers. Infinite for one that never ends.
    pub fn luck(&self, plan: usize, job: u64) -> Vec<f64> {
        let times = self.contenders.get(plan).map(|contender| contender.simulation.luck(job));
        times.unwrap_or_default().into_iter().map(seconds).collect()
    }
}

/// Infinite for what never happens.
fn seconds(time: Time) -> f64 {
    if time == Time::MAX { f64::INFINITY } else { time.as_secs_f64() }
}
