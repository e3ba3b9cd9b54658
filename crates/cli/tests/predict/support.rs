//! Running `fantail predict`, and reading what it prints.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Eight log-normal branches.
pub(crate) const EIGHT: [&str; 4] = ["-n", "8", "--latency", LOG_NORMAL];
pub(crate) const LOG_NORMAL: &str = "lognormal:median=1s,sigma=0.6";
/// Five branches of three percentiles.
pub(crate) const FIVE: [&str; 4] = ["-n", "5", "--latency", "p50=0.8s,p95=1.5s,p99=2.4s"];

pub(crate) fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fantail"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command.arg("predict").args(args).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

pub(crate) fn succeeds(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{args:?}");
    text(&output.stdout).to_owned()
}

/// Checks that nothing is printed but an error with these parts, and exit code 2.
pub(crate) fn refuses(args: &[&str], expected: &[&str]) {
    let output = run(args);
    let stderr = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{args:?}: {stderr}");
    for part in expected {
        assert!(stderr.contains(part), "{args:?}: no {part:?} in:\n{stderr}");
    }
}

pub(crate) fn json(args: &[&str]) -> Value {
    serde_json::from_str(&succeeds(&[args, &["--format", "json"]].concat())).unwrap()
}

/// The only strategy of a report.
pub(crate) fn only(args: &[&str]) -> Value {
    let report = json(args);
    let [strategy] = report["strategies"].as_array().unwrap().as_slice() else { panic!("{report}") };
    strategy.clone()
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// The rows of a CSV, each by the names of its columns.
pub(crate) fn rows(args: &[&str]) -> Vec<HashMap<String, String>> {
    let csv = succeeds(&[args, &["--format", "csv"]].concat());
    csv::Reader::from_reader(csv.as_bytes()).deserialize().map(Result::unwrap).collect()
}

/// A column of numbers.
pub(crate) fn column(rows: &[HashMap<String, String>], name: &str) -> Vec<f64> {
    rows.iter().map(|row| row[name].parse().unwrap()).collect()
}

/// A folder for the files of one test.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.path().join(name), text).unwrap();
        self.path(name)
    }
}

/// A file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
