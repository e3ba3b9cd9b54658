//! Results go to stdout or into files, everything else to stderr.

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

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

/// Writes a result into a file. What was there stays until all is written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    replace(path, bytes).with_context(|| path.display().to_string())
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&real).ok();
    if old.as_ref().is_some_and(|old| !old.is_file() || old.permissions().readonly()) {
        // A device, a pipe, or what is not to be written.
        return fs::write(path, bytes);
    }
    let folder = real.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut beside = match new_beside().tempfile_in(folder) {
        // The file may be written, its folder not.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return fs::write(path, bytes),
        beside => beside?,
    };
    beside.write_all(bytes)?;
    if let Some(old) = old {
        beside.as_file().set_permissions(old.permissions())?;
    }
    beside.as_file().sync_all()?;
    match beside.persist(&real) {
        // A mount of its own.
        Err(error) if error.error.kind() == io::ErrorKind::ResourceBusy => fs::write(path, bytes),
        persisted => Ok(persisted.map(drop)?),
    }
}

/// With the permissions that new files have.
fn new_beside() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}

/// A text as a table in Markdown has it, where a bar would end the cell.
pub(crate) fn in_markdown(text: &str) -> String {
    text.replace('|', "\\|")
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
