//! What the command line says of simulations.

use std::ops::Range;
use std::path::PathBuf;

use crate::args::{Format, seed, whole};

/// Plays many jobs of plans side by side, over virtual time.
#[derive(Debug, clap::Args)]
#[command(after_help = SIMULATE_HELP)]
pub(crate) struct SimulateArgs {
    /// Plan files; their `[scenario]` is the world that jobs meet.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Number of like branches, 1 to 1,000,000.
    #[arg(short, value_name = "N", value_parser = branches)]
    pub(crate) n: Option<u32>,

    /// Law of the latency of one call, as for `predict`.
    #[arg(short, long, value_name = "LAW")]
    pub(crate) latency: Option<String>,

    /// A plan in short form, as for `predict`; may be given several times [default: all].
    #[arg(short, long = "strategy", value_name = "PLAN")]
    pub(crate) strategies: Vec<String>,

    /// The fewest answers that a result may hold, as for `predict`.
    #[arg(long, value_name = "K", requires = "latency")]
    pub(crate) at_least: Option<u32>,

    /// How many branches a result has to hold, as for `predict`.
    #[arg(long, value_name = "COUNT", requires = "latency")]
    pub(crate) required: Option<String>,

    /// How much of the luck of a call is shared, like `job=0.2,branch=0.3`, as for `predict`.
    #[arg(long, value_name = "SHARES", requires = "latency")]
    pub(crate) rho: Option<String>,

    /// How many jobs of each plan, 1 to 1e12.
    #[arg(short, long, value_name = "N", default_value = "1e5", value_parser = jobs)]
    pub(crate) jobs: u64,

    /// The same seed gives the same figures, and all plans the same luck.
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = seed)]
    pub(crate) seed: u64,

    /// Threads, 1 to 1024; the figures are the same with any number [default: all cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Only the jobs with these numbers, the last excluded, like 0..5e5; `fantail merge` puts ranges together.
    #[arg(long, value_name = "FROM..TO", conflicts_with = "jobs", requires = "out", value_parser = jobs_range)]
    pub(crate) jobs_range: Option<Range<u64>>,

    /// Write what came of the jobs to a file, for `fantail merge`, and print nothing.
    #[arg(long, value_name = "FILE", conflicts_with = "trace")]
    pub(crate) out: Option<PathBuf>,

    /// Show so many single jobs of each plan, 1 to 20, from the median to p99, chosen from the first 10,000 at most: what
    /// each attempt did, and who held the barrier.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=20))]
    pub(crate) trace: Option<u8>,

    /// Draw these jobs into a file instead.
    #[arg(long, value_name = "FILE.svg", requires = "trace")]
    pub(crate) trace_svg: Option<PathBuf>,

    /// Quantiles to print, in this order, like `p50,0.999,1-1e-6`.
    #[arg(short, long, value_name = "LIST", default_value = "p50,p90,p95,p99,p99.9")]
    pub(crate) percentiles: String,

    /// How to print the result.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

const SIMULATE_HELP: &str = "\
Examples:
  fantail simulate examples/ingestion.toml
  fantail simulate examples/ingestion.toml --trace 2
  fantail simulate plan.toml --jobs 1e6 --seed 7 --format json
  fantail simulate -n 8 --latency lognormal:median=1s,sigma=0.6 -s all -s first:5 -s hedge:p95
  fantail simulate plan.toml --jobs-range 0..5e5 --out a.json
  fantail simulate plan.toml --jobs-range 5e5..1e6 --out b.json && fantail merge a.json b.json

Exit codes: 0 simulated, 1 failure, 2 usage or invalid input.";

/// Puts together what `simulate --out` wrote.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = MERGE_HELP)]
pub(crate) struct MergeArgs {
    /// Files that `simulate --out` wrote, of different jobs of one simulation.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Quantiles to print, in this order, like `p50,0.999,1-1e-6`.
    #[arg(short, long, value_name = "LIST", default_value = "p50,p90,p95,p99,p99.9")]
    pub(crate) percentiles: String,

    /// How to print the result.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

const MERGE_HELP: &str = "\
Example:
  fantail merge part-*.json

Exit codes: 0 merged, 1 failure, 2 usage or invalid input.";

/// A number of like branches.
fn branches(text: &str) -> Result<u32, String> {
    whole(text, 1, 1_000_000).map(|n| n as u32)
}

/// The most jobs of one simulation.
const MOST_JOBS: u64 = 1_000_000_000_000;

/// A number of jobs, like `100000` or `1e5`.
pub(crate) fn jobs(text: &str) -> Result<u64, String> {
    whole(text, 1, MOST_JOBS)
}

/// Numbers of jobs, like `0..5e5`.
fn jobs_range(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("expected two numbers with .. between them, like 0..5e5")?;
    let (from, to) = (whole(from, 0, MOST_JOBS)?, whole(to, 0, MOST_JOBS)?);
    if from < to { Ok(from..to) } else { Err(format!("expected more than {from} after ..")) }
}
