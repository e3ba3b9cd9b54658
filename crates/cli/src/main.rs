//! The command `fantail`.

mod args;
mod check;
mod completions;
mod dashes;
mod failure;
mod input;
mod lab;
mod output;
mod predict;
mod serve;
mod simulate;
mod terminal;
mod tune;

use std::process::ExitCode;

use clap::Parser;
use fantail_report::{describe, number};

use args::{Args, Command};

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Check(args) => check::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Merge(args) => simulate::merge(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Lab(args) => lab::run(&args),
        Command::Completions(args) => completions::run(&args),
    };
    result.unwrap_or_else(|error| failure::report(&error))
}
