//! Chores of the repository, run as `cargo xtask …`.
//!
//! The rules that the repository keeps about itself are not chores but tests: see `tests/tidy`.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

/// Chores of the fantail repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run every test of the workspace, doc tests included, in the release profile
    ///
    /// Needs what building needs: rustup's stable toolchain and a C compiler (Debian: build-essential).
    /// What it runs is `cargo test --release --workspace --no-fail-fast`; its exit code is cargo's.
    Test {
        /// Run the long suites in full too, and property tests with new cases: sets `FANTAIL_HEAVY=1`, which they read,
        /// and leaves `PROPTEST_RNG_SEED` unset
        #[arg(long)]
        heavy: bool,
    },
    /// Build the lab's page and put it where it is committed; `cargo xtask web --help` says more
    ///
    /// A program of its own, so that nobody else waits for what it is made of.
    #[command(disable_help_flag = true)]
    Web {
        /// Passed on
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

fn main() -> Result<ExitCode> {
    match Cli::parse().chore {
        Chore::Test { heavy } => run(all_tests(heavy)),
        Chore::Web { args } => run(web(&args)),
    }
}

/// What proptest draws its cases from. A change is judged by the same cases each time; the long suites look for new ones.
const SEED: &str = "PROPTEST_RNG_SEED";

fn all_tests(heavy: bool) -> Command {
    let mut command = cargo();
    command.args(["test", "--release", "--workspace", "--no-fail-fast"]);
    if heavy {
        command.env("FANTAIL_HEAVY", "1");
    } else if std::env::var_os(SEED).is_none() {
        command.env(SEED, "1");
    }
    command
}

fn web(args: &[OsString]) -> Command {
    let mut command = cargo();
    command.args(["run", "--quiet", "--release", "--package", "xtask-web", "--"]).args(args);
    command
}

/// Under `cargo xtask`, the very cargo that built this program.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs `command` to its end and passes its exit code on; an end by a signal counts as 1.
fn run(mut command: Command) -> Result<ExitCode> {
    let status = command.status().with_context(|| {
        let cargo = command.get_program().display();
        format!("cannot run {cargo}: install rustup's stable toolchain and put ~/.cargo/bin on PATH")
    })?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn only_heavy_asks_for_the_long_suites_and_for_new_cases() {
        let sets = |command: &Command, name: &str| {
            let name = OsStr::new(name);
            command.get_envs().any(|(variable, value)| variable == name && value == Some(OsStr::new("1")))
        };
        let (all, heavy) = (all_tests(false), all_tests(true));
        assert!(sets(&heavy, "FANTAIL_HEAVY") && !sets(&heavy, SEED));
        assert!(!sets(&all, "FANTAIL_HEAVY") && (sets(&all, SEED) || std::env::var_os(SEED).is_some()));
    }
}
