//! Plays the jobs, on all cores.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use fantail_model::sim::{SimError, Simulation, Summary};
use fantail_report::simulate::{Contender, Played};
use indicatif::{ProgressBar, ProgressStyle};

/// Plays these jobs of every contender.
pub(super) fn contenders(
    contenders: &[Contender],
    jobs: &Range<u64>,
    threads: Option<u16>,
) -> anyhow::Result<Vec<Played>> {
    let simulations: Vec<&Simulation> = contenders
        .iter()
        .flat_map(|contender| std::iter::once(&contender.simulation).chain(&contender.plain))
        .collect();
    let mut summaries = all(&simulations, jobs, threads, ProgressBar::no_length())?.into_iter();
    let mut next = || summaries.next().expect("there is one for each simulation");
    Ok(contenders
        .iter()
        .map(|contender| Played { summary: next(), plain: contender.plain.is_some().then(&mut next) })
        .collect())
}

/// Plays these jobs of every simulation, block by block: whoever is free takes the next one. Summaries are whole numbers
/// that add up to the same in any order.
fn all(
    simulations: &[&Simulation],
    jobs: &Range<u64>,
    threads: Option<u16>,
    bar: ProgressBar,
) -> Result<Vec<Summary>, SimError> {
    let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let work = Work::new(simulations, jobs, bar);
    // More of them than blocks would have nothing to do.
    let threads = (threads.map_or_else(cores, usize::from) as u64).min(work.count);
    let finished = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| work.take_part())).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker does not panic")).collect::<Vec<_>>()
    });
    work.bar.finish_and_clear();
    let mut wholes: Vec<Option<Summary>> = vec![None; simulations.len()];
    for parts in finished {
        for (whole, part) in wholes.iter_mut().zip(parts?) {
            add(whole, part);
        }
    }
    Ok(wholes.into_iter().map(|whole| whole.expect("every range has a block")).collect())
}

/// Plays these jobs of every simulation, on as many threads as there are cores.
pub(crate) fn on_all_cores(simulations: &[&Simulation], jobs: Range<u64>) -> Result<Vec<Summary>, SimError> {
    all(simulations, &jobs, None, ProgressBar::no_length())
}

/// The same, where something else says how far it is.
pub(crate) fn silently(simulations: &[&Simulation], jobs: Range<u64>) -> Result<Vec<Summary>, SimError> {
    all(simulations, &jobs, None, ProgressBar::hidden())
}

/// Blocks of several simulations.
struct Work<'s> {
    simulations: &'s [&'s Simulation],
    /// Those that nobody took, each with the index of its simulation.
    blocks: Mutex<Box<dyn Iterator<Item = (usize, Range<u64>)> + Send>>,
    /// How many blocks there are.
    count: u64,
    failed: AtomicBool,
    bar: ProgressBar,
}

impl<'s> Work<'s> {
    fn new(simulations: &'s [&'s Simulation], jobs: &Range<u64>, bar: ProgressBar) -> Work<'s> {
        let jobs = jobs.clone();
        let each = jobs.end.div_ceil(Simulation::BLOCK) - jobs.start / Simulation::BLOCK;
        let count = each * simulations.len() as u64;
        bar.set_length(count);
        let style = ProgressStyle::with_template("{bar:40} {percent}% {eta} left");
        bar.set_style(style.expect("the template is well formed"));
        let of = move |index| Simulation::blocks(jobs.clone()).map(move |block| (index, block));
        let blocks = Mutex::new(Box::new((0..simulations.len()).flat_map(of)) as Box<_>);
        Work { simulations, blocks, count, failed: AtomicBool::new(false), bar }
    }

    /// Plays blocks until there are none, or one fails.
    fn take_part(&self) -> Result<Vec<Option<Summary>>, SimError> {
        let mut sums: Vec<Option<Summary>> = vec![None; self.simulations.len()];
        while let Some((index, block)) = self.next() {
            match self.simulations[index].run(block) {
                Ok(summary) => add(&mut sums[index], Some(summary)),
                Err(error) => {
                    self.failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
            self.bar.inc(1);
        }
        Ok(sums)
    }

    fn next(&self) -> Option<(usize, Range<u64>)> {
        if self.failed.load(Ordering::Relaxed) {
            return None;
        }
        self.blocks.lock().expect("no worker panics with the lock").next()
    }
}

fn add(whole: &mut Option<Summary>, part: Option<Summary>) {
    match (whole, part) {
        (Some(whole), Some(part)) => whole.merge(&part),
        (whole @ None, part) => *whole = part,
        (Some(_), None) => {}
    }
}
