//! What is said of flags and figures that a plan does not state.

use crate::support::{EIGHT, FIVE, Folder, LOG_NORMAL, json, refuses, run, succeeds, text};

const ENRICH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/enrich.toml");

#[test]
fn what_a_flag_says_is_no_fault_of_the_plan() {
    let most = "expected at most what the job waits for, 5";
    refuses(
        &[ENRICH, "--at-least", "9"],
        &["error: --at-least 9 with ", &format!("`at_least`: got 9, {most}\n")],
    );
    refuses(
        &[ENRICH, "--required", "type,tpe"],
        &["error: --required type,tpe with ", "has no branch `tpe` to require; did you mean `type`?\n"],
    );
    let alone = ["--required", "type", "--at-least", "6"];
    refuses(&[&[ENRICH][..], &alone].concat(), &["error: --at-least 6 with "]);
    refuses(
        &[&FIVE[..], &["--at-least", "9"]].concat(),
        &[&format!("error: --at-least 9 with `all`: got 9, {most}\n")],
    );
    refuses(&[&FIVE[..], &["--required", "9"]].concat(), &["error: --required 9 with `all`: got 9 required"]);
    // A plan that is wrong by itself is what is wrong.
    refuses(&[&FIVE[..], &["-s", "first:7", "--required", "9"]].concat(), &["error: strategy:1:7: got 7"]);
}

#[test]
fn what_is_to_be_required_is_named_or_counted_once() {
    refuses(&[ENRICH, "--required", "type,dates, type"], &["`type` twice; expected each branch once"]);
    refuses(
        &[&FIVE[..], &["--required", "1.5"]].concat(),
        &["--required 1.5: expected how many, a whole number"],
    );
}

#[test]
fn a_percentile_deep_in_the_tail_has_a_short_name() {
    let shown = succeeds(&[&EIGHT[..], &["-p", "1-1e-300"]].concat());
    assert!(shown.contains("strategy  1-1e-300    mean\n"), "{shown}");
    assert!(
        json(&[&EIGHT[..], &["-p", "1-1e-300"]].concat())["strategies"][0]["quantiles_s"]["1-1e-300"]
            .is_f64()
    );
}

#[test]
fn what_is_printed_can_be_said() {
    let law = |law: &'static str| ["-n", "5", "--latency", law];
    succeeds(&law("exponential:mean=1e15s"));
    succeeds(&law("p50=1.78e6 h,p99=1.36e8 h"));
    succeeds(&[&law("lognormal:median=1s,sigma=20")[..], &["--assert", "p90<2e14 h"]].concat());
    refuses(&law("exponential:mean=1e16s"), &["expected 1e-15 to 1e15 seconds"]);
    refuses(
        &[&FIVE[..], &["-s", "deadline:1e15s"]].concat(),
        &["`1e15s` is too long: a duration is at most 365 days"],
    );
}

#[test]
fn a_copy_that_no_plan_could_state_is_refused_with_its_reason() {
    let wide = ["-n", "5", "--latency", "lognormal:median=1s,sigma=20"];
    refuses(
        &[&wide[..], &["-s", "hedge:p95"]].concat(),
        &[
            "strategy:1:7: p95 of its law is more than 365 days; expected an earlier percentile, or a duration",
        ],
    );
    let slow = ["-n", "5", "--latency", "exponential:mean=1e9s"];
    refuses(
        &[&slow[..], &["-s", "hedge:1s+deadline:9s"]].concat(),
        &["the deadline 9s less a median of more than 365 days"],
    );
    succeeds(&[&slow[..], &["-s", "hedge:1s"]].concat());
}

#[test]
fn a_copy_that_the_deadline_moves_is_named() {
    let moved = ["-s", "hedge:p80+deadline:1.6s", "-s", "hedge:p80+deadline:9s"];
    let shown = succeeds(&[&EIGHT[..], &moved].concat()).replace("\n  ", " ");
    assert!(
        shown.contains(
            "A copy of hedge:p80+deadline:1.6s is due after 600 ms, not after p80, 1.66 s: it needs 1.00 s"
        ),
        "{shown}"
    );
    assert!(!shown.contains("A copy of hedge:p80+deadline:9s"), "{shown}");
    let folder = Folder::new();
    let plan = format!(
        "[plan.a]\ndeadline = \"1.6s\"\nhedge = {{ after = \"p80\", extra = \"100%\" }}\n[plan.a.branch.b]\nrepeatable = true\n\
         latency = \"{LOG_NORMAL}\"\n"
    );
    let shown = succeeds(&[&folder.file("plan.toml", &plan)]).replace("\n  ", " ");
    assert!(shown.contains("A copy of a is due after 600 ms, not after p80"), "{shown}");
}

#[test]
fn a_count_is_a_whole_number_however_it_is_written() {
    let of = |n: &'static str| ["-n", n, "--latency", LOG_NORMAL];
    assert_eq!(json(&of("1e3"))["n"], 1000);
    for n in ["1.5", "1e10", "x", "nan", "0"] {
        refuses(
            &[&["-n", n][..], &of("8")[2..]].concat(),
            &["expected a whole number from 1 to 1,000,000,000"],
        );
    }
    refuses(
        &[&of("8")[..], &["--seed", "x"]].concat(),
        &["expected a whole number from 0 to 18446744073709551615"],
    );
}

#[test]
fn plans_of_one_name_are_told_apart_by_their_files() {
    let folder = Folder::new();
    let plan = "[plan.p.branch]\nb = { latency = \"exponential:mean=1s\" }\n";
    let (one, other) = (folder.file("a.toml", plan), folder.file("b\u{1b}[31m.toml", plan));
    let output = run(&[&one, &other, "--assert", "p99<1s"]);
    let [shown, faults] = [&output.stdout, &output.stderr].map(|bytes| text(bytes));
    let other = other.replace('\u{1b}', "\\u{1b}");
    for file in [one, other] {
        assert!(faults.contains(&format!("error: {file}: p: p99<1s does not hold")), "{faults}");
        assert!(shown.contains(&format!("\n{file}: p  ")), "{shown}");
    }
    assert!(!shown.contains(|char: char| char.is_control() && char != '\n'), "{shown:?}");
}
