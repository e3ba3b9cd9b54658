//! The documents say what the manifests say.

use std::collections::BTreeSet;

use crate::layers::{LAYERS, parse, table};
use crate::source::File;
use crate::{Finding, check, none};

#[test]
fn the_code_map_has_every_crate_and_what_it_imports() {
    none(code_map(&File::read("ARCHITECTURE.md").expect("the map is there")));
}

#[test]
fn every_dependency_has_its_reason() {
    let manifests =
        ["Cargo.toml", "fuzz/Cargo.toml"].map(|path| File::read(path).expect("it is a workspace"));
    let dependencies = manifests.iter().flat_map(dependencies).collect();
    none(reasons(&File::read("DESIGN.md").expect("the decisions are there"), &dependencies));
}

/// Compares the table under "Code map" with `LAYERS`.
fn code_map(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut above = BTreeSet::new();
    for (line, cells) in rows(file, "## Code map") {
        let crate_name = short(cells[0].trim_matches('`'));
        let imports = cells.last().filter(|imports| !imports.is_empty());
        let stated: BTreeSet<_> = match imports {
            Some(&"all above") => above.clone(),
            imports => imports.into_iter().flat_map(|imports| imports.split(", ")).collect(),
        };
        above.insert(crate_name);
        let layer = LAYERS.iter().find(|layer| short(layer.name) == crate_name);
        let allowed = layer.map(|layer| layer.uses.iter().map(|name| short(name)).collect::<BTreeSet<_>>());
        if allowed.as_ref() != Some(&stated) {
            let message =
                format!("{crate_name} imports {stated:?} here, but {allowed:?} in LAYERS in layers.rs");
            findings.push(Finding::new(file, line, message));
        }
    }
    let missing = LAYERS.iter().map(|layer| short(layer.name)).filter(|name| !above.contains(name));
    findings.extend(missing.map(|name| Finding::new(file, 1, format!("{name} has no row in the code map"))));
    findings
}

/// The crate as the code map calls it, from its name or from its directory.
fn short(name: &str) -> &str {
    name.trim_start_matches("crates/").trim_start_matches("fantail-")
}

/// Compares the table under "Dependencies" with the workspace's.
fn reasons(file: &File, dependencies: &BTreeSet<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut reasoned = BTreeSet::new();
    for (line, cells) in rows(file, "## Dependencies").into_iter().filter(|(_, cells)| cells[0] != "crate") {
        for name in cells[0].split(", ").map(str::to_owned) {
            if !dependencies.contains(&name) {
                findings.push(Finding::new(
                    file,
                    line,
                    format!("{name} is no dependency any more: delete its reason"),
                ));
            }
            reasoned.insert(name);
        }
    }
    let missing = dependencies.difference(&reasoned);
    findings.extend(missing.map(|name| {
        Finding::new(file, 1, format!("under Dependencies, say why {name}, and what it takes to drop it"))
    }));
    findings
}

/// What a workspace, or the one package that it is, takes from outside.
fn dependencies(manifest: &File) -> BTreeSet<String> {
    let manifest = parse(manifest);
    let workspace = table(&manifest, "workspace").and_then(|workspace| table(workspace, "dependencies"));
    let of_package = table(&manifest, "dependencies");
    let both = workspace.into_iter().chain(of_package).flatten();
    let outside = both.filter(|(_, value)| value.get_ref().get("path").is_none());
    outside.map(|(name, _)| name.get_ref().to_string()).collect()
}

/// The rows of the tables under `heading`, below their head: line, and the text of each cell.
fn rows<'t>(file: &'t File, heading: &str) -> Vec<(usize, Vec<&'t str>)> {
    let lines = file.text.lines().enumerate().skip_while(|(_, line)| *line != heading).skip(1);
    let section = lines.take_while(|(_, line)| !line.starts_with("## "));
    let rows = section.filter_map(|(i, line)| {
        let cells = line.strip_prefix('|')?.trim_end().strip_suffix('|')?;
        Some((i + 1, cells.split('|').map(str::trim).collect()))
    });
    let rows: Vec<(usize, Vec<&str>)> = rows.collect();
    let head = rows.iter().position(|(_, cells)| cells[0].starts_with("---")).map_or(0, |rule| rule + 1);
    rows.into_iter().skip(head).collect()
}

#[test]
fn a_code_map_that_differs_from_the_layers_is_found() {
    let map = "# Map\n\n## Code map\n\n| crate | what | imports |\n|---|---|---|\n| `crates/core` | a | |\n\
               | `crates/model` | b | core |\n| `crates/planfile` | c | all above |\n| `crates/fantail` | d | core |\n\
               | `crates/stores` | e | fantail, core |\n| `crates/gateway` | f | all above |\n\
               | `crates/samples` | s | core |\n\
               | `crates/report` | r | core, model, planfile |\n| `crates/lab` | l | core, model, planfile, report, samples |\n\
               | `crates/cli` | g | all above |\n| `bench` | b | core, model, fantail |\n\
               | `fuzz` | z | core, planfile |\n| `xtask` | h | |\n\
               | `xtask-web` | w | |\n\n## Next\n\n| `crates/none` | i | |\n";
    let rule = |from: &str, to: &str, expected: &[(usize, &str)]| {
        check(code_map, "ARCHITECTURE.md", &map.replace(from, to), expected);
    };
    rule("", "", &[]);
    rule("| b | core |", "| b | |", &[(8, "model imports {} here, but Some({\"core\"})")]);
    rule("fantail, core", "core", &[(11, "stores imports {\"core\"} here")]);
    rule(
        "crates/core",
        "crates/kernel",
        &[(7, "kernel imports {} here, but None"), (9, ""), (12, ""), (16, ""), (1, "core has no row")],
    );
    rule("| `xtask` | h | |\n", "", &[(1, "xtask has no row in the code map")]);
}

#[test]
fn a_dependency_without_a_reason_and_a_reason_without_its_dependency_are_found() {
    let manifest =
        "[workspace.dependencies]\nfantail = { path = \"x\" }\nclap = \"4\"\nlibm = { version = \"0.2\" }";
    let dependencies = dependencies(&File::new("Cargo.toml", manifest));
    let rule = |rows: &str, expected: &[(usize, &str)]| {
        let text = format!("## Dependencies\n| crate | why |\n|---|---|\n{rows}");
        check(|file| reasons(file, &dependencies), "DESIGN.md", &text, expected);
    };
    rule("| clap, libm | a |", &[]);
    rule("| libm | a |", &[(1, "say why clap")]);
    rule("| clap | a |\n| libm | b |\n| loom | c |", &[(6, "loom is no dependency any more")]);
}
