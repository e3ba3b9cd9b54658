//! The page and the command print the same bits.

use std::process::Command;

use fantail_lab::{Lab, State, Verb};

/// What the command that the page offers prints as JSON.
fn printed(command: &str) -> String {
    let mut words = command.split(' ');
    assert_eq!(words.next(), Some("fantail"));
    let output = Command::new(env!("CARGO_BIN_EXE_fantail"))
        .args(words)
        .args(["--format", "json"])
        .output()
        .expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("JSON is text")
}

fn states() -> Vec<State> {
    let plans = ["all", "first:5", "hedge:p95", "race:2+deadline:3s", "share:60%+at-least:2+deadline:1s"];
    let plain = State { strategies: plans.map(str::to_owned).to_vec(), ..State::default() };
    vec![
        State {
            latency: "p50=0.8s,p95=1.5s,p99=2.4s".to_owned(),
            required: Some("3".to_owned()),
            strategies: vec!["all+deadline:2.5s".to_owned()],
            ..State::default()
        },
        State { rho: Some("job=0.2,branch=0.1".to_owned()), ..plain.clone() },
        plain,
    ]
}

#[test]
fn predictions_of_the_page_are_those_of_the_command() {
    for state in states() {
        let page = Lab::default().predict(&state).unwrap().json();
        assert_eq!(String::from_utf8(page).unwrap(), printed(&state.command(Verb::Predict)));
    }
    let sweep = State { n: None, sweep: Some("n=1..100:7".to_owned()), ..State::default() };
    let page = Lab::default().predict(&sweep).unwrap().json();
    assert_eq!(String::from_utf8(page).unwrap(), printed(&sweep.command(Verb::Predict)));
}

#[test]
fn runs_of_the_page_are_those_of_the_command() {
    for state in states() {
        let mut runner = Lab::default().runner(&State { seed: 9, ..state.clone() }, 0).unwrap();
        while runner.jobs() < 2_000 {
            runner.run(400).unwrap();
        }
        let page = runner.report().unwrap().json();
        let command = State { seed: 9, ..state }.command(Verb::Simulate(2_000));
        assert_eq!(String::from_utf8(page).unwrap(), printed(&command));
    }
}

#[test]
fn the_page_can_be_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lab.html");
    let status = Command::new(env!("CARGO_BIN_EXE_fantail")).args(["lab", "--save"]).arg(&path).status();
    assert!(status.unwrap().success());
    assert_eq!(std::fs::read_to_string(path).unwrap(), fantail_lab::PAGE);
}
