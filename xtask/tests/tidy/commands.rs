//! What the README tells a newcomer to type is what CI runs.

use crate::source::File;
use crate::{Finding, check, none};

const DEMO: &str = "cargo run --release -- serve --demo";
const TEST: &str = "cargo xtask test";

#[test]
fn the_readme_has_exactly_two_commands() {
    none(File::read("README.md").iter().flat_map(readme));
}

#[test]
fn ci_runs_the_test_command_of_the_readme() {
    none(ci(&File::read(".ci/run").expect(".ci/run is what CI runs")));
}

/// The cargo commands in fenced blocks are the demo and the tests.
fn readme(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut missing = vec![DEMO, TEST];
    let mut fenced = false;
    for (i, line) in file.text.lines().enumerate() {
        let command = line.trim().trim_start_matches("$ ");
        if command.starts_with("```") {
            fenced = !fenced;
        } else if let Some(place) = missing.iter().position(|wanted| fenced && command == *wanted) {
            missing.remove(place);
        } else if fenced && command.starts_with("cargo ") {
            let message = format!(
                "`{command}`: the README gives `{DEMO}` and `{TEST}`, each once, and nothing else of cargo's"
            );
            findings.push(Finding::new(file, i + 1, message));
        }
    }
    findings.extend(
        missing.iter().map(|command| Finding::new(file, 1, format!("no fenced block has `{command}`"))),
    );
    findings
}

fn ci(file: &File) -> Vec<Finding> {
    let runs_it =
        file.text.lines().any(|line| line.trim_start().starts_with("stage ") && line.ends_with(TEST));
    if runs_it { Vec::new() } else { vec![Finding::new(file, 1, format!("no stage runs `{TEST}`"))] }
}

#[test]
fn a_readme_with_other_commands_is_found() {
    let block = |commands: &str| format!("# fantail\n```sh\n{commands}\n```\n");
    let rule = |text: &str, expected: &[(usize, &str)]| check(readme, "README.md", text, expected);
    rule(&block(&format!("$ {DEMO}\n{TEST}\nfantail check plan.toml")), &[]);
    rule(&format!("{}cargo is needed\n{}", block(DEMO), block(TEST)), &[]);
    rule(&block(DEMO), &[(1, "no fenced block has `cargo xtask test`")]);
    rule(&format!("{DEMO}\n{}", block(TEST)), &[(1, "no fenced block has `cargo run --release")]);
    rule(&block(&format!("{DEMO}\n{TEST}\n{TEST}")), &[(5, "`cargo xtask test`: the README gives")]);
    rule(
        &block(&format!("{DEMO}\n{TEST} --heavy")),
        &[(4, "--heavy`: the README gives"), (1, "no fenced block")],
    );
}

#[test]
fn a_ci_without_the_test_command_is_found() {
    check(ci, ".ci/run", "stage test cargo xtask test\n", &[]);
    check(ci, ".ci/run", "# stage test cargo xtask test\n", &[(1, "no stage runs `cargo xtask test`")]);
    check(ci, ".ci/run", "stage test cargo test\n", &[(1, "no stage runs")]);
}
