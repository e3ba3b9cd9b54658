//! What the TOML parser itself finds wrong.

use std::collections::BTreeSet;

use toml::de::Error;

use crate::problem::{Fault, Lines, quote};

/// A fault of the file's syntax.
pub(super) struct SyntaxFault {
    fault: Fault,
    duplicate: bool,
}

impl SyntaxFault {
    /// Whether it only repeats a key, so that the rest of the file is as it was meant.
    pub(super) fn is_duplicate(&self) -> bool {
        self.duplicate
    }
}

/// The parser's errors as faults.
pub(super) fn faults(text: &str, errors: &[Error]) -> Vec<SyntaxFault> {
    errors.iter().map(|error| fault(text, error)).collect()
}

fn fault(text: &str, error: &Error) -> SyntaxFault {
    let span = error.span().unwrap_or(0..0);
    let word = text.get(span.clone()).unwrap_or_default();
    if error.message() == "duplicate key" {
        let message = format!("{} is stated twice; expected it once", quote(word));
        return SyntaxFault { fault: Fault::new(span, message), duplicate: true };
    }
    let scalar = ["string values must be quoted", "invalid float", "invalid integer", "invalid datetime"];
    if scalar.iter().any(|start| error.message().starts_with(start))
        && let Some((at, bare)) = bare_word(text, span.start)
    {
        let message = format!("{} without quotes is not a value; expected \"{bare}\"", quote(bare));
        return SyntaxFault { fault: Fault::new(at..at + bare.len(), message), duplicate: false };
    }
    SyntaxFault { fault: Fault::new(span, error.message().to_owned()), duplicate: false }
}

/// The value without quotes around `at`, with its place.
fn bare_word(text: &str, at: usize) -> Option<(usize, &str)> {
    let ends = |c: char| c.is_whitespace() || "=,[]{}\"'#".contains(c);
    let start =
        text.get(..at)?.rfind(ends).map_or(0, |i| i + text[i..].chars().next().map_or(1, char::len_utf8));
    let rest = &text[start..];
    let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
    (!word.is_empty() && word.len() < 60 && !word.contains(char::is_control)).then_some((start, word))
}

/// All faults of a file: the first of its syntax on every line, and the others where no syntax is broken.
pub(super) fn merge(text: &str, mut syntax: Vec<SyntaxFault>, others: Vec<Fault>) -> Vec<Fault> {
    let lines = Lines::new(text);
    let line_of = |fault: &Fault| lines.index(fault.span.start);
    let is_header = |line: usize| lines.line(line).trim_start().starts_with('[');
    syntax.sort_by_key(|fault| fault.fault.span.start);
    let mut broken = BTreeSet::new();
    let mut faults: Vec<Fault> = Vec::new();
    for SyntaxFault { fault, duplicate } in syntax {
        let line = line_of(&fault);
        if !broken.insert(line) {
            continue;
        }
        if !duplicate && is_header(line) {
            // The lines below a broken header were read as if they stood in another table.
            broken.extend((line + 1..lines.count()).take_while(|&line| !is_header(line)));
        }
        faults.push(fault);
    }
    faults.extend(others.into_iter().filter(|fault| !broken.contains(&line_of(fault))));
    faults
}
