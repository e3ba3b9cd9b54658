//! Pure code is pure by construction: no clock, no thread, no file, no socket.
//!
//! rustc does the most of it: a `#![no_std]` crate that never says `extern crate std` has only `core` and `alloc`, in
//! which there is none of them. These rules keep that premise, and hold `planfile` and `samples`, which have std for
//! their parsers, to the same.

use crate::source::{File, Mention, tree};
use crate::{Finding, check, keep};

/// Without std.
const NO_STD: &[&str] = &["crates/core/", "crates/model/"];

/// With std, but with none of what `WORLD` names.
const NO_WORLD: &[&str] = &["crates/lab/", "crates/planfile/", "crates/report/", "crates/samples/"];

const WORLD: &[&str] =
    &["std::env", "std::fs", "std::io", "std::net", "std::os", "std::process", "std::thread", "std::time"];

const CLOCKS: &[&str] = &["Instant", "SystemTime"];

#[test]
fn pure_crates_are_pure() {
    keep(&tree(), purity);
}

fn purity(file: &File) -> Vec<Finding> {
    let within = |crates: &[&str]| crates.iter().any(|path| file.path.starts_with(&format!("{path}src/")));
    let (no_std, no_world) = (within(NO_STD), within(NO_WORLD));
    if !file.is_rust() || !(no_std || no_world) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if no_std && file.path.ends_with("/src/lib.rs") && !declares_no_std(file) {
        findings.push(Finding::new(file, 1, "a pure crate begins with `#![no_std]`, under no condition"));
    }
    let mentions = file.mentions();
    for (i, mention) in mentions.iter().enumerate() {
        let advice = if CLOCKS.iter().any(|clock| mention.names(clock)) {
            "a pure crate reads no clock: take `Time` as an argument"
        } else if no_std
            && (mention.is_under("std") && mention.segments.len() > 1 || links_std(&mentions[..=i]))
        {
            "a pure crate has core and alloc alone, in its unit tests too: what needs std goes to tests/"
        } else if no_world && WORLD.iter().any(|module| mention.is_under(module)) {
            "a pure crate does no input and no output: leave it to the caller"
        } else {
            continue;
        };
        findings.push(Finding::new(
            file,
            mention.line,
            format!("`{}`: {advice}", mention.segments.join("::")),
        ));
    }
    findings
}

/// Whether `mentions` end with `extern crate std`.
fn links_std(mentions: &[Mention]) -> bool {
    let words = ["extern", "crate", "std"];
    mentions.len() >= 3
        && mentions[mentions.len() - 3..].iter().zip(words).all(|(mention, word)| mention.segments == [word])
}

fn declares_no_std(file: &File) -> bool {
    let parsed = syn::parse_file(&file.text).unwrap_or_else(|error| panic!("{}: {error}", file.path));
    parsed.attrs.iter().any(|attribute| attribute.path().is_ident("no_std"))
}

#[test]
fn std_in_a_crate_without_it_is_found() {
    let rule =
        |text: &str, expected: &[(usize, &str)]| check(purity, "crates/core/src/plan.rs", text, expected);
    rule("// std::fs\nextern crate alloc;\nuse core::time::Duration;\nlet std = variance.sqrt();", &[]);
    rule("extern crate alloc;\nextern crate std;", &[(2, "`std`: a pure crate has core and alloc alone")]);
    rule("#[cfg(test)]\nmod tests {\n    use std::{\n        vec,\n    };\n}", &[(4, "`std::vec`")]);
    rule("fn f() { ::std::process::exit(1) }", &[(1, "`std::process::exit`")]);
    rule("fn f() { panic!(\"{}\", std::mem::size_of::<u8>()) }", &[(1, "`std::mem::size_of`")]);
}

#[test]
fn a_pure_crate_with_std_linked_is_found() {
    let rule =
        |text: &str, expected: &[(usize, &str)]| check(purity, "crates/model/src/lib.rs", text, expected);
    rule("//! Laws.\n#![no_std]\nmod law;", &[]);
    rule("mod law;", &[(1, "begins with `#![no_std]`")]);
    rule("#![cfg_attr(not(test), no_std)]", &[(1, "begins with `#![no_std]`")]);
}

#[test]
fn a_clock_or_the_world_in_a_pure_crate_is_found() {
    let rule =
        |text: &str, expected: &[(usize, &str)]| check(purity, "crates/planfile/src/read.rs", text, expected);
    rule("use std::{fmt, collections::BTreeMap};", &[]);
    rule("fn f(now: Instant) {}", &[(1, "`Instant`: a pure crate reads no clock")]);
    rule(
        "use std::{fmt,\n time::{Duration, SystemTime}};",
        &[(2, "`std::time::Duration`"), (2, "reads no clock")],
    );
    rule(
        "fn f() { vec![std::fs::read(\"a\")] }",
        &[(1, "`std::fs::read`: a pure crate does no input and no output")],
    );
}

#[test]
fn crates_with_a_world_to_work_in_are_left_alone() {
    check(purity, "crates/fantail/src/lib.rs", "use std::time::Instant;", &[]);
    check(purity, "crates/core/tests/scenarios.rs", "use std::fs;", &[]);
}
