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
