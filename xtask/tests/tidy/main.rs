//! The rules that the repository keeps about itself. A promise that no machine checks rots, so each one is a test;
//! and since a check that cannot fail is no check, each rule is also shown a planted violation.
//!
//! A rule is a function from a file's text to what is wrong in it. It says where (`path:line`) and what to do.

mod commands;
mod documents;
mod layers;
mod lengths;
mod machine;
mod msrv;
mod purity;
mod source;

use std::fmt;

use crate::source::File;

/// One violation: where, what is wrong, and what to do about it.
#[derive(Debug)]
struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    fn new(file: &File, line: usize, message: impl Into<String>) -> Self {
        Self { path: file.path.clone(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Fails with every finding of a rule that `files` break.
#[track_caller]
fn keep(files: &[File], rule: impl Fn(&File) -> Vec<Finding>) {
    none(files.iter().flat_map(rule));
}

#[track_caller]
fn none(findings: impl IntoIterator<Item = Finding>) {
    let findings: Vec<String> = findings.into_iter().map(|finding| finding.to_string()).collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

/// Checks that `rule` finds in a file of this `path` and `text` exactly the violations `expected`: line, and part of
/// the message.
#[track_caller]
fn check(rule: impl Fn(&File) -> Vec<Finding>, path: &str, text: &str, expected: &[(usize, &str)]) {
    let found = rule(&File::new(path, text));
    let as_expected = found.len() == expected.len()
        && found.iter().zip(expected).all(|(f, (line, part))| f.line == *line && f.message.contains(part));
    assert!(as_expected, "in {path}:\n{text}\nexpected {expected:#?}\nfound {found:#?}");
}
