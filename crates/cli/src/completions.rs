//! `fantail completions`: what a shell needs to complete the command line.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs};
use crate::output;

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "fantail", &mut script);
    output::print(script)?;
    Ok(ExitCode::SUCCESS)
}
