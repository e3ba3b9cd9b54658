//! What the command line says, and nothing that depends on the world.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use fantail_report::number::grouped;
use fantail_report::predict::{self, MOST_BRANCHES, USUAL};

use crate::simulate::args::{MergeArgs, SimulateArgs, jobs};

/// Predicts, checks and serves fan-outs: jobs that call many branches at once and wait for them.
#[derive(Debug, Parser)]
#[command(name = "fantail", version, arg_required_else_help = true, after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  fantail predict -n 8 --latency p50=0.8s,p95=1.5s,p99=2.4s --strategy all --strategy first:5
  fantail tune -n 8 --latency p50=0.8s,p95=1.5s,p99=2.4s --goal 'p99<3s'
  fantail simulate plan.toml --jobs 1e6
  fantail check plan.toml
  fantail serve --demo
  fantail lab

Exit codes: 0 done, 1 failure, 2 usage or invalid input, 3 a goal is not met.
`fantail help COMMAND` has more on each command.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(CheckArgs),
    Predict(PredictArgs),
    Tune(TuneArgs),
    Simulate(SimulateArgs),
    Merge(MergeArgs),
    Serve(ServeArgs),
    Lab(LabArgs),
    Completions(CompletionsArgs),
}

/// Says what a plan file means, or everything that is wrong with it.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = CHECK_HELP)]
pub(crate) struct CheckArgs {
    /// Plan files.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

const CHECK_HELP: &str = "\
Examples:
  fantail check examples/enrich.toml
  fantail check plans/*.toml && echo fine

Exit codes: 0 all files are valid, 2 one of them is unreadable or invalid.";

/// Computes how long jobs take, how they end and what copies cost.
#[derive(Debug, clap::Args)]
#[command(after_help = PREDICT_HELP)]
pub(crate) struct PredictArgs {
    /// Plan files; every plan of every file is a strategy.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Number of like branches, 1 to 1,000,000,000.
    #[arg(short, value_name = "N", value_parser = branches)]
    pub(crate) n: Option<u32>,

    /// Law of the latency of one call, like `p50=0.8s,p95=1.5s`.
    ///
    /// A family with its parameters, `exponential:mean=1s`, `lognormal:median=1s,sigma=0.6`,
    /// `weibull:shape=0.7,scale=1s`, `gamma:shape=2,scale=0.5s`, `loglogistic:alpha=1s,beta=3` or
    /// `pareto:xm=1s,alpha=2.5`, each with `,shift=20ms` if need be; percentiles, `p50=0.8s,p95=1.5s,p99=2.4s`, through which a law is fitted; or a
    /// mixture, `0.95*lognormal:median=1s,sigma=0.3|0.05*pareto:xm=2s,alpha=2.5`.
    #[arg(short, long, value_name = "LAW")]
    pub(crate) latency: Option<String>,

    /// A plan in short form, like `first:5+deadline:2s`; may be given several times [default: all].
    ///
    /// Clauses joined by `+`: what to wait for (`all`, `first:5`, `share:95%`), copies (`hedge:p95`, `hedge:2.5s`,
    /// `race:2`), `deadline:2.5s`, `at-least:3`, and how branches follow one another (`sequential`, `batch:10`,
    /// `tree:4x8`) where they do not start at once.
    #[arg(short, long = "strategy", value_name = "PLAN")]
    pub(crate) strategies: Vec<String>,

    /// The fewest answers that a result may hold, for every plan [default: what the plan states].
    #[arg(long, value_name = "K")]
    pub(crate) at_least: Option<u32>,

    /// Which branches a result has to hold, for every plan: their names, like `type,parties`; beside -n, how many.
    ///
    /// All others are optional: a result without them is partial. Without this a plan file says it itself; in short form
    /// all branches are required under `all`, none under `first` and `share`.
    #[arg(long, value_name = "NAMES|COUNT")]
    pub(crate) required: Option<String>,

    /// How much of the luck of a call is shared, like `job=0.2,branch=0.3`.
    ///
    /// `job`: by all calls of a job, as they share a document or a bad minute; `branch`: by the copies of a branch, as
    /// they ask the same thing. What is left is the luck of a call alone, all that a copy can buy back. Each call by
    /// itself takes as long as ever [default: nothing is shared].
    #[arg(long, value_name = "SHARES")]
    pub(crate) rho: Option<String>,

    /// Predict at many values of one number, like `n=1..1000`.
    ///
    /// `deadline`, `n` (instead of -n), or `sigma` of a log-normal latency, from one value to another, both included;
    /// `:STEPS` after it says how many values [default: 51]. Those of n are spaced by a factor, others evenly. Text
    /// shows some of them, the other formats all. Plan files can be swept by deadline.
    #[arg(long, value_name = "NAME=FROM..TO", conflicts_with = "asserts")]
    pub(crate) sweep: Option<String>,

    /// Quantiles to print, in this order, like `p50,0.999,1-1e-6`.
    #[arg(short, long, value_name = "LIST", default_value = USUAL)]
    pub(crate) percentiles: String,

    /// What every strategy has to keep, like `p99<2.5s`; may be given several times.
    ///
    /// A measure, `<`, `<=`, `>` or `>=`, and a bound: a percentile or `mean` with a duration; `complete`, `partial` or
    /// `failed` with a share; `extra_requests` or `extra_busy` with a percentage; `cost` with an amount. What does not
    /// hold is named on standard error and ends in exit code 3.
    #[arg(short, long = "assert", value_name = "GOAL")]
    pub(crate) asserts: Vec<String>,

    /// How many jobs to simulate of a plan that has no exact law, like 1e6 [default: as many as take about a second].
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<u64>,

    /// The luck of simulated jobs: the same seed gives the same figures.
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = seed)]
    pub(crate) seed: u64,

    /// How to print the result.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Say what would help most, and what is easily misread, each computed for the plan at hand.
    ///
    /// For text and json, without --sweep; plans that have no exact law are not explained.
    #[arg(long, conflicts_with = "sweep")]
    pub(crate) explain: bool,

    /// Also draw the result into FILE, an SVG picture; `-` draws below the text.
    #[arg(long, value_name = "FILE.svg|-", value_parser = picture)]
    pub(crate) plot: Option<PathBuf>,

    /// What the picture shows.
    ///
    /// `law`: density and share returned, beside the normal of the same mean and deviation, with mode, median and mean;
    /// `pdf` or `cdf`: one of the two; `tail`: the share returned on an axis of nines; `times`: return times along a
    /// sweep; `verdicts`: how jobs end along a sweep. Default: `law` of one plan, `tail` of several, `verdicts` along
    /// deadlines, `times` along anything else.
    #[arg(long, value_enum, requires = "plot", hide_possible_values = true)]
    pub(crate) view: Option<View>,
}

/// A whole number, like `100000` or `1e5`.
pub(crate) fn whole(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let of_float = || {
        let number: f64 = text.parse().ok()?;
        (number.fract() == 0.0 && (0.0..=most as f64).contains(&number)).then_some(number as u64)
    };
    let number = text.parse().ok().or_else(of_float).filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| {
        format!("expected a whole number from {} to {}, like 1000 or 1e3", grouped(least), grouped(most))
    })
}

/// A number of like branches.
fn branches(text: &str) -> Result<u32, String> {
    whole(text, 1, MOST_BRANCHES.into()).map(|n| n as u32)
}

/// What luck is drawn from.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// The name of what is written to standard output.
pub(crate) const TO_STDOUT: &str = "-";

/// Where a picture goes; a name that ends otherwise may be that of a plan file.
fn picture(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let is_svg = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
    if is_svg || text == TO_STDOUT {
        Ok(path)
    } else {
        Err("expected a name that ends in .svg, or - for the terminal".to_owned())
    }
}

/// What a picture of a prediction shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum View {
    Law,
    Pdf,
    Cdf,
    Tail,
    Times,
    Verdicts,
}

impl From<View> for predict::View {
    fn from(view: View) -> predict::View {
        match view {
            View::Law => predict::View::Law,
            View::Pdf => predict::View::Pdf,
            View::Cdf => predict::View::Cdf,
            View::Tail => predict::View::Tail,
            View::Times => predict::View::Times,
            View::Verdicts => predict::View::Verdicts,
        }
    }
}

const PREDICT_HELP: &str = "\
Examples:
  fantail predict -n 8 --latency p50=0.8s,p95=1.5s,p99=2.4s
  fantail predict -n 8 --latency lognormal:median=1s,sigma=0.6 \\
      --strategy all --strategy first:5 --strategy hedge:p95 --format json
  fantail predict -n 5 --latency p50=0.8s,p95=1.5s,p99=2.4s \\
      --strategy all --strategy first:5+deadline:2.5s+at-least:3
  fantail predict -n 5 --latency p50=0.8s,p95=1.5s,p99=2.4s \\
      --required 3 --sweep deadline=0.5s..5s
  fantail predict examples/enrich.toml -p p50,p99 --explain
  fantail predict -n 8 --latency lognormal:median=1s,sigma=0.6 --plot law.svg
  fantail predict --latency lognormal:median=1s,sigma=0.6 --sweep n=1..1000 --plot -
  fantail predict examples/enrich.toml --assert 'p99<=2.5s' --assert 'failed<0.5%'

Exit codes: 0 predicted, 1 a plan could not be predicted, 2 usage or invalid input, 3 an assert does not hold, or cannot be told.";

/// How a prediction is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people.
    Text,
    /// One object, numbers in full precision.
    Json,
    /// One line a strategy, numbers in full precision.
    Csv,
    /// A Markdown table.
    Md,
}

/// Searches for the cheapest plan that meets goals, and shows what more or less money buys.
#[derive(Debug, clap::Args)]
#[command(after_help = TUNE_HELP)]
pub(crate) struct TuneArgs {
    /// Plan file.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Which plan of the file, where it has several.
    #[arg(long, value_name = "NAME")]
    pub(crate) plan: Option<String>,

    /// Number of like branches, 1 to 1,000,000,000.
    #[arg(short, value_name = "N", value_parser = branches)]
    pub(crate) n: Option<u32>,

    /// Law of the latency of one call, as for `fantail predict`.
    #[arg(short, long, value_name = "LAW")]
    pub(crate) latency: Option<String>,

    /// The plan to start from, in short form: what it states of barrier, `at-least` and deadline is held [default: all].
    #[arg(short, long, value_name = "PLAN")]
    pub(crate) strategy: Option<String>,

    /// What the plan has to keep, like `p99<2.5s`; may be given several times.
    ///
    /// A measure, `<` or `<=` (for `complete` `>` or `>=`), and a bound: a percentile or `mean` with a duration;
    /// `complete`, `partial` or `failed` with a share; `extra_requests` or `extra_busy` with a percentage; `cost` with an
    /// amount.
    #[arg(short, long = "goal", value_name = "GOAL", required_unless_present = "max_extra_requests")]
    pub(crate) goals: Vec<String>,

    /// Short for `--goal 'extra_requests<=SHARE'`, like `5%`; takes the place of the budget that a plan file states.
    #[arg(long, value_name = "SHARE")]
    pub(crate) max_extra_requests: Option<String>,

    /// What the search may change beyond its copies: `deadline`, or `first:K` to wait for K answers or more instead of
    /// all that the plan waits for; may be given several times.
    ///
    /// Where no deadline is stated and a goal bounds `complete` or `failed`, the search sets one if that helps.
    #[arg(long, value_name = "LEVER")]
    pub(crate) allow: Vec<String>,

    /// The most copies of a branch beside its primary, 0 to 15.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=15))]
    pub(crate) max_copies: u8,

    /// What is to be small.
    #[arg(long, value_enum, default_value_t = PriceOf::Requests)]
    pub(crate) price: PriceOf,

    /// Write the plan found into FILE, as a plan file: a copy of the given one with other figures, or a new one.
    ///
    /// `-` writes it to standard output, and what else there is to say to standard error.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) emit: Option<PathBuf>,

    /// How to print the result.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// What is to be small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PriceOf {
    /// Attempts beyond one a branch.
    Requests,
    /// What the calls cost, where branches state it.
    Cost,
}

const TUNE_HELP: &str = "\
Examples:
  fantail tune -n 5 --latency p50=0.8s,p95=1.5s,p99=2.4s --goal 'p99<2.5s' \\
      --goal 'failed<0.5%' --max-extra-requests 5%
  fantail tune -n 5 --latency p50=0.8s,p95=1.5s,p99=2.4s --goal 'complete>95%' \\
      --strategy first:5+at-least:3
  fantail tune plan.toml --goal 'failed<0.1%' --emit tuned.toml
  fantail tune plan.toml --goal 'failed<0.1%' --emit - | diff plan.toml -

Exit codes: 0 found, 1 the plan could not be predicted, 2 usage or invalid input, 3 no plan was found that meets the goals.";

/// Serves the plans of a file over HTTP.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = SERVE_HELP)]
pub(crate) struct ServeArgs {
    /// Plan file; every plan with a `route` is served.
    #[arg(value_name = "FILE", required_unless_present = "demo", conflicts_with = "demo")]
    pub(crate) file: Option<PathBuf>,

    /// Serve a built-in plan and its upstreams, predict it, send it 300 documents and compare.
    #[arg(long)]
    pub(crate) demo: bool,

    /// Whether the demo sends documents by itself.
    #[arg(long, value_enum, value_name = "on|off", default_value_t = Traffic::On, hide_possible_values = true, conflicts_with = "file")]
    pub(crate) traffic: Traffic,

    /// Address for requests; port 0 takes a free one.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    pub(crate) listen: String,

    /// Address for operators: `/livez`, `/readyz`, `/status.json`. Keep it private.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9901")]
    pub(crate) admin: String,

    /// Where backfill keeps what is missing [default: ./fantail.db; the demo: a temporary folder].
    #[arg(long, value_name = "PATH")]
    pub(crate) store: Option<PathBuf>,
}

const SERVE_HELP: &str = "\
Examples:
  fantail serve --demo
  fantail serve plan.toml --listen 0.0.0.0:8080 --store /var/lib/fantail/backfill.db

Prints `ready: http://HOST:PORT` on standard error when requests are taken. SIGTERM or Ctrl-C lets \
jobs in flight finish; a second Ctrl-C ends at once. Warnings go to standard error; RUST_LOG=debug \
says more.

Exit codes: 0 drained, 1 failure (a port in use, say), 2 usage or invalid input, 130 ended by a second Ctrl-C.";

/// Shows a page where the tail of a fan-out can be touched: exact figures, runs, and your own latencies.
#[derive(Debug, clap::Args)]
#[command(after_help = LAB_HELP)]
pub(crate) struct LabArgs {
    /// Port on this machine; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,

    /// Write the page into FILE, to be opened from there, and serve nothing.
    #[arg(long, value_name = "FILE.html", conflicts_with = "port")]
    pub(crate) save: Option<PathBuf>,
}

const LAB_HELP: &str = "\
Examples:
  fantail lab
  fantail lab --port 8000
  fantail lab --save lab.html

Prints the address of the page and serves it until Ctrl-C. The page asks nobody for anything: what you paste or drop stays \
in it.

Exit codes: 0 ended or written, 1 failure (a port in use, say), 2 usage.";

/// Whether the demo sends documents by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Traffic {
    On,
    Off,
}

/// Prints what a shell needs to complete this command.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = COMPLETIONS_HELP)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

const COMPLETIONS_HELP: &str = "\
Examples:
  fantail completions bash > ~/.local/share/bash-completion/completions/fantail
  fantail completions zsh > ~/.zfunc/_fantail
  fantail completions fish > ~/.config/fish/completions/fantail.fish";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Args;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        Args::command().debug_assert();
    }
}
