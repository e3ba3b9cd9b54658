//! Results go to stdout, everything else to stderr.

use std::fmt::Display;
use std::io::{self, Write};

use anyhow::Context;
use console::{Style, Term};

use crate::failure::Failure;

/// The width that text is laid out for where the output is no terminal.
const WIDTH: usize = 80;

/// Writes a result to stdout.
pub(crate) fn print(result: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(result.as_ref()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::ClosedPipe.into()),
        result => result.context("standard output"),
    }
}

/// Writes a line to stderr. Nobody may be reading it, which is no reason to stop.
pub(crate) fn say(line: &dyn Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// How many columns text on stdout may take.
pub(crate) fn width() -> usize {
    Term::stdout().size_checked().map_or(WIDTH, |(_, columns)| usize::from(columns).max(1))
}

/// What is to stand out on stdout: bold on a terminal.
pub(crate) fn strong(text: &str) -> String {
    if no_color() { text.to_owned() } else { Style::new().bold().apply_to(text).to_string() }
}

/// Whether stdout is a terminal that may be coloured.
pub(crate) fn stdout_has_colors() -> bool {
    !no_color() && console::colors_enabled()
}

/// Whether stderr is a terminal that may be coloured.
pub(crate) fn stderr_has_colors() -> bool {
    !no_color() && console::colors_enabled_stderr()
}

/// Whether the user wants no colours, whatever else is set; see <https://no-color.org>.
fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}
