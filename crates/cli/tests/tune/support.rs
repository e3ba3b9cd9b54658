//! Runs of the command, and what is expected of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub(crate) fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fantail"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command.args(args).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// Runs to an exit code; what is on stdout and on stderr.
pub(crate) fn ends(args: &[&str], code: i32) -> (String, String) {
    let output = run(args);
    let (stdout, stderr) = (text(&output.stdout).to_owned(), text(&output.stderr).to_owned());
    assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}{stdout}");
    (stdout, stderr)
}

pub(crate) fn tunes(args: &[&str]) -> String {
    let (stdout, stderr) = ends(args, 0);
    assert_eq!(stderr, "", "{args:?}");
    stdout
}

pub(crate) fn json(args: &[&str]) -> Value {
    let output = run(&[args, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Fails with nothing on stdout and every part on stderr.
pub(crate) fn refuses(args: &[&str], parts: &[&str]) {
    let (stdout, stderr) = ends(args, 2);
    assert_eq!(stdout, "", "{args:?}");
    for part in parts {
        assert!(stderr.contains(part), "{args:?}: no {part:?} in:\n{stderr}");
    }
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

pub(crate) const CALL: &str = "p50=0.8s,p95=1.5s,p99=2.4s";
pub(crate) const FIVE: [&str; 5] = ["tune", "-n", "5", "--latency", CALL];
pub(crate) const ENRICH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/enrich.toml");

pub(crate) fn five(more: &[&'static str]) -> Vec<&'static str> {
    [&FIVE, more].concat()
}

pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }
}

pub(crate) fn str_of(path: &Path) -> &str {
    path.to_str().unwrap()
}
