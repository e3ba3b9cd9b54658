//! `fantail simulate` and `fantail merge`: jobs of plans side by side, over virtual time.

pub(crate) mod args;
mod lanes;
mod lanes_svg;
mod load;
mod part;
pub(crate) mod play;
mod table;

use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use fantail_model::sim::Simulation;
use fantail_planfile::Percentile;
use fantail_report::Flags;
use fantail_report::simulate::{Contender, Inputs, Report};

use crate::args::Format;
use crate::failure::Failure;
use crate::input::Subject;
use crate::{input, output};
use args::{MergeArgs, SimulateArgs};
use part::Part;

pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<ExitCode> {
    let percentiles = Percentile::parse_list(&args.percentiles).map_err(Failure::invalid)?;
    if args.trace.is_some() && args.trace_svg.is_none() && args.format != Format::Text {
        return Err(Failure::invalid(
            "--trace prints text: expected --trace-svg FILE.svg beside another --format",
        ));
    }
    let inputs = inputs(args)?;
    let contenders = inputs.contenders()?;
    load::check(&contenders)?;
    let range = args.jobs_range.clone().unwrap_or(0..args.jobs);
    whole_blocks(&contenders, &range)?;
    let played = play::contenders(&contenders, &range, args.threads)?;
    let part = Part::new(inputs, range, &played);
    if let Some(path) = &args.out {
        part.write(path)?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = Report::new(&percentiles, &part.inputs, &part.jobs, &contenders, &played);
    print(&report, args.format)?;
    trace(args, &contenders, &part.jobs[0])?;
    Ok(ExitCode::SUCCESS)
}

const WHAT: &str = "simulate what? Name a plan file, or state the branches:
  fantail simulate plan.toml --jobs 1e5
  fantail simulate -n 8 --latency p50=0.8s,p95=1.5s,p99=2.4s --strategy all --strategy first:5";

/// What the command line asks for. The error is invalid input: files that cannot be read.
fn inputs(args: &SimulateArgs) -> anyhow::Result<Inputs> {
    let subject = Subject {
        file: args.files.first().map(PathBuf::as_path),
        n: args.n,
        latency: args.latency.as_deref(),
        strategy: args.strategies.first().map(String::as_str),
    };
    subject.check(WHAT).map_err(Failure::invalid)?;
    let files = args.files.iter().map(|path| input::source(path)).collect::<anyhow::Result<_>>()?;
    let flags = Flags { at_least: args.at_least, required: args.required.clone(), rho: args.rho.clone() };
    let (latency, strategies) = (args.latency.clone(), args.strategies.clone());
    Ok(Inputs { seed: args.seed, files, n: args.n, latency, strategies, flags })
}

/// Shows single jobs of every contender that were played: as text below the table, or as a picture.
fn trace(args: &SimulateArgs, contenders: &[Contender], played: &Range<u64>) -> anyhow::Result<()> {
    let Some(count) = args.trace else { return Ok(()) };
    let mut jobs = Vec::new();
    for contender in contenders {
        jobs.extend(lanes::of(contender, played, count.into())?);
    }
    if let Some(path) = &args.trace_svg {
        return output::write(path, lanes_svg::render(&jobs).as_bytes());
    }
    let width = output::width();
    let texts: Vec<String> = jobs.iter().map(|job| lanes::text(job, width)).collect();
    output::print(format!("\n{}", texts.join("\n")))
}

pub(crate) fn merge(args: &MergeArgs) -> anyhow::Result<ExitCode> {
    let percentiles = Percentile::parse_list(&args.percentiles).map_err(Failure::invalid)?;
    let parts = args.files.iter().map(|path| Part::read(path)).collect::<anyhow::Result<Vec<Part>>>()?;
    let part = part::merged(&args.files, parts)?;
    for Range { start, end } in part.gaps() {
        output::say(&format_args!("warning: jobs {start}..{end} are in no file"));
    }
    let contenders = part.inputs.contenders()?;
    let played = part.played(&contenders)?;
    let report = Report::new(&percentiles, &part.inputs, &part.jobs, &contenders, &played);
    print(&report, args.format)
}

fn print(report: &Report, format: Format) -> anyhow::Result<ExitCode> {
    let rendered = match format {
        Format::Text => table::text(report, output::width()).into_bytes(),
        Format::Json => report.json(),
        Format::Csv => report.csv(),
        Format::Md => table::markdown(report).into_bytes(),
    };
    output::print(rendered)?;
    if matches!(format, Format::Csv | Format::Md) {
        for note in table::unsteady(report) {
            output::say(&format_args!("warning: {note}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Ranges that many machines share must not cut a block in two, where that changes what comes of it.
fn whole_blocks(contenders: &[Contender], range: &Range<u64>) -> anyhow::Result<()> {
    let cut = !range.start.is_multiple_of(Simulation::BLOCK);
    let interacts = contenders.iter().find(|contender| contender.simulation.jobs_interact());
    match interacts {
        Some(contender) if cut => Err(Failure::invalid(format_args!(
            "--jobs-range {}..{}: expected a beginning at a multiple of {}, since jobs of {} matter to each other",
            range.start,
            range.end,
            Simulation::BLOCK,
            contender.shown
        ))),
        _ => Ok(()),
    }
}
