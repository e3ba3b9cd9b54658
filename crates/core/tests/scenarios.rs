//! The rules of a job, as scripts: one test a file of `tests/scenarios`, named after the rule.

#[macro_use]
#[path = "support/files.rs"]
mod files;
#[path = "support/machine.rs"]
mod machine;
#[path = "support/observer.rs"]
mod observer;
#[path = "support/report.rs"]
mod report;
#[path = "support/script.rs"]
mod script;

use std::fs;
use std::path::Path;

use script::Script;

/// Plays every script of a file; lists all that came out otherwise.
fn check(file: &str, text: &str) {
    let scripts = Script::all(text);
    assert!(!scripts.is_empty(), "{file} has no scripts");
    let mut wrong = Vec::new();
    for script in &scripts {
        let came = machine::play(script);
        if came != script.expected {
            wrong.push(format!("== {}\nexpected\n{}\ncame\n{came}\n", script.title, script.expected));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} scripts of {file}:\n{}",
        wrong.len(),
        scripts.len(),
        wrong.join("\n")
    );
}

macro_rules! files {
    ($($test:ident: $file:literal;)+) => {
        $(
            #[test]
            fn $test() {
                check($file, include_str!(concat!("scenarios/", $file)));
            }
        )+

        #[test]
        fn every_file_of_scripts_has_a_test() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios");
            for entry in std::fs::read_dir(folder).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert!([$($file),+].contains(&name.as_str()), "no test plays {name}");
            }
        }
    };
}

for_all_files!(files);

#[test]
fn a_driver_that_sees_no_queues_plays_the_same_scripts() {
    let seen =
        report::without_queues("at 0s: start a; queue b\nat 1ms: leave b\na: answered, waited 0s, ran 1ms");
    assert_eq!(seen, "at 0s: start a\na: answered, waited 0s, ran 1ms");
}

#[test]
fn the_tests_that_the_rules_name_are_there() {
    fn sources(folder: &Path, all: &mut String) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, all);
            } else if path.extension().is_some_and(|end| end == "rs" || end == "txt") {
                all.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rules = fs::read_to_string(root.join("docs/job.md")).unwrap();
    let mut all = String::new();
    for krate in ["core", "fantail", "gateway"] {
        sources(&root.join("crates").join(krate).join("tests"), &mut all);
    }
    let shown_by = rules.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").nth(1));
    let mut named = 0;
    for cell in shown_by {
        for (quote, before, after) in [('"', "== ", "\n"), ('`', "fn ", "(")] {
            for name in cell.split(quote).skip(1).step_by(2) {
                assert!(all.contains(&format!("{before}{name}{after}")), "there is no test {name}");
                named += 1;
            }
        }
    }
    assert!(named > 30, "{named} tests are named");
}
