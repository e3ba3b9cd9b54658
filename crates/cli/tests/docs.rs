//! What README and guides show is what the commands print.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use std::path::Path;
use std::process::Command;

/// A command and lines of what it prints, in order.
struct Shown<'t> {
    command: &'t str,
    lines: Vec<&'t str>,
}

/// Every block of output: it names its command after `$`, or the paragraph before it does as `fantail …`.
fn shown(text: &str) -> Vec<Shown<'_>> {
    let mut shown = Vec::new();
    let mut parts = text.split("```");
    while let (Some(prose), Some(block)) = (parts.next(), parts.next()) {
        let Some(block) = block.strip_prefix("text\n") else { continue };
        let inside = block.strip_prefix("$ ").and_then(|block| block.split_once('\n'));
        let before = prose.trim_end().rsplit("\n\n").next().and_then(|paragraph| {
            let (_, command) = paragraph.trim_end_matches(':').split_once('`')?;
            Some((command.strip_suffix('`')?, block))
        });
        let Some((command, output)) =
            inside.or(before).filter(|(command, _)| command.starts_with("fantail "))
        else {
            continue;
        };
        let lines = output.lines().filter(|line| !line.is_empty() && *line != "…").collect();
        shown.push(Shown { command, lines });
    }
    shown
}

/// Words as a shell has them, without what is redirected.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (i, piece) in command.split('\'').enumerate() {
        if i % 2 == 1 {
            words.last_mut().unwrap().push_str(piece);
            continue;
        }
        for (i, word) in piece.split(' ').enumerate() {
            if i > 0 {
                words.push(String::new());
            }
            words.last_mut().unwrap().push_str(word);
        }
    }
    words.retain(|word| !word.is_empty() && !word.starts_with('>'));
    words
}

fn check(file: &str, least: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(file)).unwrap();
    // A demo takes its real time, and what it measures is new each time.
    let shown: Vec<Shown<'_>> =
        shown(&text).into_iter().filter(|shown| !shown.command.contains(" serve ")).collect();
    assert!(shown.len() >= least, "{file} shows {} commands", shown.len());
    for Shown { command, lines } in shown {
        let mut run = Command::new(env!("CARGO_BIN_EXE_fantail"));
        let output = run.current_dir(&root).args(&words(command)[1..]).output().unwrap();
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let mut printed = printed.lines();
        for line in lines {
            assert!(
                printed.any(|printed| printed == line),
                "{file}: `{command}` does not print, in its turn:\n{line}"
            );
        }
    }
}

#[test]
fn the_readme_shows_what_the_commands_print() {
    check("README.md", 3);
}

#[test]
fn the_guide_to_predict_shows_what_it_prints() {
    check("docs/predict.md", 4);
}
