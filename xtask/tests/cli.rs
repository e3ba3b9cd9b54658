//! What `cargo xtask` promises on the command line.

use std::process::{Command, Output};

fn xtask(args: &[&str]) -> Output {
    // A cargo that cannot exist: no case here may start the tests from within the tests.
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(args).env("CARGO", "/nonexistent/cargo").output().expect("cargo has built it")
}

#[track_caller]
fn check(args: &[&str], code: i32, stdout: &str, stderr: &str) {
    let output = xtask(args);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}: stdout {out}, stderr {err}");
    assert!(out.contains(stdout), "{args:?}: no {stdout:?} on stdout:\n{out}");
    assert!(err.contains(stderr), "{args:?}: no {stderr:?} on stderr:\n{err}");
    assert!(out.is_empty() || err.is_empty(), "{args:?}: on both streams:\n{out}\n{err}");
}

#[test]
fn help_goes_to_stdout() {
    check(&["--help"], 0, "Usage: cargo xtask <COMMAND>", "");
    check(&["test", "--help"], 0, "FANTAIL_HEAVY=1", "");
}

#[test]
fn a_wrong_argument_is_a_usage_error() {
    check(&[], 2, "", "Usage: cargo xtask <COMMAND>");
    check(&["tset"], 2, "", "unrecognized subcommand 'tset'");
    check(&["test", "--heavvy"], 2, "", "a similar argument exists: '--heavy'");
    check(&["test", "core"], 2, "", "Usage: cargo xtask test");
}

#[test]
fn a_cargo_that_is_not_there_is_named() {
    check(&["test"], 1, "", "cannot run /nonexistent/cargo: install rustup's stable toolchain");
}
