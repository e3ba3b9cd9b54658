//! Plan files from disk.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use fantail_planfile::{Config, Overrides};
use fantail_report::Source;

use crate::failure::Failure;

/// The largest plan file that is read: far more than a million branches in their own words need.
const MOST_BYTES: u64 = 256 << 20;

/// What a command line names as its subject: plan files, or like branches.
pub(crate) struct Subject<'a> {
    /// The first of the files.
    pub(crate) file: Option<&'a Path>,
    pub(crate) n: Option<u32>,
    pub(crate) latency: Option<&'a str>,
    /// The first of the plans in short form.
    pub(crate) strategy: Option<&'a str>,
}

impl Subject<'_> {
    /// Whether it is one of the two; `usage` shows both.
    pub(crate) fn check(&self, usage: &str) -> Result<(), String> {
        let Subject { file, n, latency, strategy } = self;
        let flags = [
            n.map(|n| format!("-n {n}")),
            latency.map(|law| format!("--latency {law}")),
            strategy.map(|plan| format!("--strategy {plan}")),
        ];
        let flag = flags.into_iter().flatten().next();
        match (file, flag, latency) {
            (Some(file), Some(flag), _) => Err(format!(
                "{flag} beside the file {}, which states its own branches; {usage}",
                file.display()
            )),
            (None, Some(flag), None) => Err(format!(
                "{flag} with which latency? expected --latency <LAW> too, or a plan file; {usage}"
            )),
            (None, None, None) => Err(usage.to_owned()),
            _ => Ok(()),
        }
    }
}

/// Reads what one plan file states.
///
/// The error is invalid input, with everything that is wrong with the file.
pub(crate) fn config(path: &Path) -> anyhow::Result<Config> {
    Ok(source(path)?.config(&Overrides::default())?)
}

/// Reads the text of a plan file. The error is invalid input.
pub(crate) fn source(path: &Path) -> anyhow::Result<Source> {
    Ok(Source { name: path.display().to_string(), bytes: bytes(path)? })
}

/// The bytes of a file. The error is invalid input.
pub(crate) fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    read(path).map_err(|error| Failure::invalid(format_args!("{}: {error}", path.display())))
}

/// Reads several plan files.
///
/// The error is invalid input, with everything that is wrong with any of the files.
pub(crate) fn configs<P: AsRef<Path>>(paths: &[P]) -> anyhow::Result<Vec<Config>> {
    let mut good = Vec::new();
    let mut bad = Vec::new();
    for path in paths {
        match config(path.as_ref()) {
            Ok(config) => good.push(config),
            Err(error) => bad.push(format!("{error:#}")),
        }
    }
    if bad.is_empty() { Ok(good) } else { Err(Failure::invalid(bad.join("\n\n"))) }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::other("is a directory; expected a file"));
    }
    let mut bytes = Vec::new();
    // One byte more tells a file that is too large, of whatever kind, from one that just fits.
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        let message = format!("is larger than {} MiB", MOST_BYTES >> 20);
        return Err(io::Error::other(message));
    }
    Ok(bytes)
}
