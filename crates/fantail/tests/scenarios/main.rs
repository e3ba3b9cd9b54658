//! The scripts of the job machine, played to the runtime under tokio's paused clock: it does what the machine does.

#[macro_use]
#[path = "../../../core/tests/support/files.rs"]
mod files;
#[path = "../../../core/tests/support/machine.rs"]
mod machine;
#[path = "../../../core/tests/support/observer.rs"]
mod observer;
#[path = "../../../core/tests/support/report.rs"]
mod report;
#[path = "../../../core/tests/support/script.rs"]
mod script;

mod random;
mod stage;

use fantail_core::job::Role;
use script::{Happening, Script};

/// Scripts of instants between two ticks of tokio's timer, which are a millisecond apart.
const BETWEEN_TICKS: [&str; 1] = ["an answer a nanosecond after the deadline is too late"];

/// Plays every script of a file; lists all that came out otherwise.
async fn check(file: &str, text: &str) {
    let mut wrong = Vec::new();
    for script in Script::all(text) {
        if BETWEEN_TICKS.contains(&script.title.as_str()) {
            continue;
        }
        let came = comparable(&script, &stage::play(&script).await);
        let expected = comparable(&script, &script.expected);
        if came != expected {
            let (came, expected) = (came.join("\n"), expected.join("\n"));
            wrong.push(format!("== {}\nexpected\n{expected}\ncame\n{came}\n", script.title));
        }
    }
    assert!(wrong.is_empty(), "{file}:\n{}", wrong.join("\n"));
}

macro_rules! files {
    ($($test:ident: $file:literal;)+) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $test() {
                check($file, include_str!(concat!("../../../core/tests/scenarios/", $file))).await;
            }
        )+

        #[test]
        fn every_file_of_scripts_has_a_test() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/scenarios");
            for entry in std::fs::read_dir(folder).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert!([$($file),+].contains(&name.as_str()), "no test plays {name}");
            }
        }
    };
}

for_all_files!(files);

/// Lines of the text without what the runtime does not show: who queues; why an attempt was dropped; that one which ended
/// at that very instant was to be dropped; and, when the job was dropped, what became of the branches.
fn comparable(script: &Script, text: &str) -> Vec<String> {
    let was_dropped = text.contains("failed: dropped");
    let mut lines = Vec::new();
    for line in report::without_queues(text).lines() {
        match line.split_once(": ").filter(|_| line.starts_with("at ")) {
            None if was_dropped => {}
            None => lines.push(line.to_owned()),
            Some((at, items)) => {
                for item in items.split("; ") {
                    lines.extend(each(item).into_iter().map(|one| format!("{at}: {one}")));
                }
            }
        }
    }
    let ended: Vec<String> = script
        .timeline
        .iter()
        .filter_map(|(at, happening)| {
            let id = stage::attempt_of(*happening).filter(|_| !matches!(happening, Happening::Primes(_)))?;
            let branch = &script.plan.branches()[id.branch as usize].name;
            let number = match id.role() {
                Role::Primary => String::new(),
                Role::Copy => format!(".{}", id.number),
                Role::Failover => String::from(".f"),
            };
            Some(format!("at {at}: drop {branch}{number}"))
        })
        .collect();
    lines.retain(|line| !ended.contains(line));
    lines
}

/// `start a, b until 5ms` is `start a until 5ms` and `start b until 5ms`; a drop is one for whatever reason.
fn each(item: &str) -> Vec<String> {
    let Some((verb @ ("start" | "keep" | "drop"), rest)) = item.split_once(' ') else {
        return vec![item.to_owned()];
    };
    let end = [" at target", " until", " ("].iter().filter_map(|mark| rest.find(mark)).min();
    let (names, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let rest = if verb == "drop" { "" } else { rest };
    names.split(", ").flat_map(expand).map(|name| format!("{verb} {name}{rest}")).collect()
}

/// `x2..x4` is `x2`, `x3`, `x4`; anything else is itself.
fn expand(names: &str) -> Vec<String> {
    let Some((first, last)) = names.split_once("..") else { return vec![names.to_owned()] };
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = |name: &str| name[stem.len()..].parse::<u32>().expect("a range is of numbered names");
    (number(first)..=number(last)).map(|number| format!("{stem}{number}")).collect()
}
