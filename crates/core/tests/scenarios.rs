//! The rules of a job, as scripts: one test a file of `tests/scenarios`, named after the rule.

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

files! {
    rule_1_every_branch_ends_with_one_outcome: "rule_01_slots.txt";
    rule_2_the_barrier_gives_the_verdict: "rule_02_barrier.txt";
    rule_3_one_instant_has_an_order: "rule_03_instant.txt";
    rule_4_the_cause_is_the_root: "rule_04_causes.txt";
    rule_5_a_branch_is_won_by_its_first_answer: "rule_05_branch.txt";
    rule_6_permits_are_asked_for: "rule_06_permits.txt";
    rule_7_the_budget_caps_copies: "rule_07_budget.txt";
    rule_8_hedge_delays_follow_the_latency: "rule_08_live.txt";
    rule_9_limiters_are_shared: "rule_09_limiter.txt";
    rule_11_one_branch_may_lead: "rule_11_leader.txt";
    rule_12_stages_have_an_order: "rule_12_stages.txt";
    rule_13_losers_are_dropped_first: "rule_13_losers.txt";
    rule_14_one_deadline_flows_down: "rule_14_deadline.txt";
    rule_16_the_ledger_sums: "rule_16_ledger.txt";
    cases_from_public_reports: "cases.txt";
}

#[test]
fn a_driver_that_sees_no_queues_plays_the_same_scripts() {
    let seen =
        report::without_queues("at 0s: start a; queue b\nat 1ms: leave b\na: answered, waited 0s, ran 1ms");
    assert_eq!(seen, "at 0s: start a\na: answered, waited 0s, ran 1ms");
}
