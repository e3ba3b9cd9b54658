//! The stated rust-version is kept by every dependency.
//!
//! Our own use of newer library items is clippy's `incompatible_msrv`; newer syntax is left to an older toolchain.

use std::process::Command;

use serde::Deserialize;

use crate::source::{File, root};
use crate::{Finding, check, none};

#[test]
fn no_dependency_needs_a_newer_rust_than_ours() {
    let metadata = cargo_metadata();
    let ours = metadata.packages.iter().find(|package| package.name == "xtask").expect("xtask is running");
    let ours = version(ours.rust_version.as_deref().expect("the workspace states a rust-version"));
    none(newer(&File::read("Cargo.lock").expect("Cargo.lock is committed"), &metadata, ours));
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    rust_version: Option<String>,
}

/// The packages that a build on this platform takes. Others might not have been fetched, and no test needs a network.
fn cargo_metadata() -> Metadata {
    let rustc = output(Command::new("rustc").arg("-vV"));
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host");
    let cargo = std::env::var_os("CARGO").expect("cargo runs the tests");
    let metadata = output(
        Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", host])
            .current_dir(root()),
    );
    serde_json::from_str(&metadata).expect("cargo keeps its format")
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo and rustc write UTF-8")
}

fn newer(lock: &File, metadata: &Metadata, ours: [u32; 3]) -> Vec<Finding> {
    let newer =
        |package: &&Package| package.rust_version.as_deref().is_some_and(|theirs| version(theirs) > ours);
    let mut findings = Vec::new();
    for Package { name, version, rust_version } in metadata.packages.iter().filter(newer) {
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"");
        let line = lock.text.find(&entry).map_or(1, |offset| lock.line_of(offset));
        let needs = rust_version.as_deref().unwrap_or_default();
        let message = format!(
            "{name} {version} needs Rust {needs}, newer than ours: take an older release of it (`cargo update -p {name} \
             --precise …`), or raise `rust-version` in Cargo.toml"
        );
        findings.push(Finding::new(lock, line, message));
    }
    findings
}

/// `1.89` or `1.89.0` as numbers that compare.
fn version(text: &str) -> [u32; 3] {
    let mut parts =
        text.split('.').map(|part| part.parse().unwrap_or_else(|_| panic!("not a Rust version: {text}")));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

#[test]
fn a_dependency_that_needs_a_newer_rust_is_found() {
    let rule = |theirs: Option<&str>, expected: &[(usize, &str)]| {
        let package =
            Package { name: "a".into(), version: "2.1.0".into(), rust_version: theirs.map(str::to_owned) };
        let metadata = Metadata { packages: vec![package] };
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"2.1.0\"\n";
        check(|lock| newer(lock, &metadata, [1, 89, 0]), "Cargo.lock", lock, expected);
    };
    rule(None, &[]);
    rule(Some("1.89"), &[]);
    rule(Some("1.9"), &[]);
    rule(Some("1.89.1"), &[(4, "a 2.1.0 needs Rust 1.89.1, newer than ours")]);
    rule(Some("1.100"), &[(4, "raise `rust-version`")]);
}
