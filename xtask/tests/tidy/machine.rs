//! No file names the machine that it was written on.

use std::path::Path;

use crate::source::{File, root, tree};
use crate::{Finding, check, keep};

/// Where people's own directories lie. Each is written in two parts, so that this file doesn't name one.
const HOMES: &[&str] = &[concat!("/", "root/"), concat!("/", "home/"), concat!("/", "Users/")];

#[test]
fn no_file_names_the_machine() {
    // A checkout right below `/` could be called like any route or folder, so only a longer path tells something.
    let checkout = Some(root()).filter(|root| root.components().count() > 2);
    keep(&tree(), |file| machine_paths(file, checkout.as_deref()));
}

fn machine_paths(file: &File, checkout: Option<&Path>) -> Vec<Finding> {
    let checkout = checkout.and_then(Path::to_str);
    let mut findings = Vec::new();
    for (i, line) in file.text.lines().enumerate() {
        if let Some(path) = HOMES.iter().copied().chain(checkout).find(|path| begins_in(line, path)) {
            let message = format!(
                "a path of one machine, `{path}…`: make it relative, or read it from the environment"
            );
            findings.push(Finding::new(file, i + 1, message));
        }
    }
    findings
}

/// Whether an absolute path that starts with `path` stands in `line`: not the middle of a longer path or of an URL.
fn begins_in(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        !line[..at].ends_with(|before: char| before.is_alphanumeric() || "._-~}/".contains(before))
    })
}

#[test]
fn a_path_of_one_machine_is_found() {
    let rule = |text: &str, expected: &[(usize, &str)]| {
        check(|file| machine_paths(file, Some(Path::new("/srv/fantail"))), "docs/a.md", text, expected);
    };
    rule(concat!("a\nsee /", "home/ada/plan.toml"), &[(2, concat!("`/", "home/…`"))]);
    rule(concat!("HOME=/", "root/x"), &[(1, "make it relative")]);
    rule("cd /srv/fantail", &[(1, "`/srv/fantail…`")]);
    rule("/srv/fan/tail $HOME/plan.toml ~/home/x", &[]);
    rule("https://example.org/home/news {branch}/home/ ../srv/fantail", &[]);
}
