//! How a command ends when it cannot do what it was asked for.

use std::fmt;
use std::process::ExitCode;

use fantail_report::Invalid;

use crate::output;

/// An end that has an exit code of its own. Any other error is a failure: exit code 1.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nobody reads the output any more, as under `| head -1`. Quiet, exit code 0.
    ClosedPipe,
}

impl Failure {
    /// Wrong usage, or input that is unreadable or invalid, as an error. Exit code 2.
    pub(crate) fn invalid(message: impl fmt::Display) -> anyhow::Error {
        Invalid::new(message).into()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::ClosedPipe => f.write_str("nobody reads the output"),
        }
    }
}

impl std::error::Error for Failure {}

/// Says on stderr what went wrong.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let code = match error.downcast_ref() {
        Some(Failure::ClosedPipe) => return ExitCode::SUCCESS,
        None if error.is::<Invalid>() => ExitCode::from(2),
        None => ExitCode::FAILURE,
    };
    output::say(&format_args!("error: {error:#}"));
    code
}
