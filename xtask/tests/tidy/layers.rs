//! Imports run one way: which crate may use which, and which module may not know which.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::source::{File, Mention, tree};
use crate::{Finding, check, keep, none};

/// What a crate may use of this workspace, in any section of its manifest.
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    pub(crate) uses: &'static [&'static str],
    /// All that it may use from outside, tests aside. `None`: no limit but need.
    outside: Option<&'static [&'static str]>,
}

pub(crate) const LAYERS: &[Layer] = &[
    Layer { name: "fantail-core", uses: &[], outside: Some(&[]) },
    Layer { name: "fantail-model", uses: &["fantail-core"], outside: Some(&["libm", "radsort"]) },
    Layer { name: "fantail-planfile", uses: &["fantail-core", "fantail-model"], outside: None },
    Layer { name: "fantail", uses: &["fantail-core"], outside: None },
    Layer { name: "fantail-stores", uses: &["fantail", "fantail-core"], outside: None },
    Layer {
        name: "fantail-gateway",
        uses: &["fantail", "fantail-core", "fantail-model", "fantail-planfile", "fantail-stores"],
        outside: None,
    },
    Layer { name: "fantail-samples", uses: &["fantail-core"], outside: None },
    Layer {
        name: "fantail-report",
        uses: &["fantail-core", "fantail-model", "fantail-planfile"],
        outside: None,
    },
    Layer {
        name: "fantail-lab",
        uses: &["fantail-core", "fantail-model", "fantail-planfile", "fantail-report", "fantail-samples"],
        outside: None,
    },
    Layer {
        name: "fantail-cli",
        uses: &[
            "fantail",
            "fantail-core",
            "fantail-gateway",
            "fantail-lab",
            "fantail-model",
            "fantail-planfile",
            "fantail-report",
            "fantail-samples",
            "fantail-stores",
        ],
        outside: None,
    },
    Layer { name: "fantail-bench", uses: &["fantail", "fantail-core", "fantail-model"], outside: None },
    Layer { name: "fantail-fuzz", uses: &["fantail-core", "fantail-planfile"], outside: None },
    Layer { name: "xtask", uses: &[], outside: None },
    Layer { name: "xtask-web", uses: &[], outside: None },
];

/// What the sources under `path` never mention, and what its absence buys: a lone name as any part of a path, a longer
/// path as the beginning of one.
struct Absence {
    path: &'static str,
    names: &'static [&'static str],
    why: &'static str,
}

const ABSENCES: &[Absence] = &[
    Absence { path: "crates/core/src/", names: &["Law"], why: "the machine knows no law" },
    Absence {
        path: "crates/model/src/solve",
        names: &[
            "Job",
            "fantail_core::job",
            "fantail_core::Budget",
            "fantail_core::Ledger",
            "fantail_core::Limiter",
        ],
        why: "the solver is an oracle for `Job` only while it shares nothing with it but `Plan`",
    },
    Absence {
        path: "crates/model/src/sim",
        names: &["solve", "JobLaw", "GroupedPlan"],
        why: "the simulator checks the solver only while it takes nothing from it",
    },
];

#[test]
fn crates_use_only_the_crates_below_them() {
    keep(&manifests(), dependencies);
}

#[test]
fn every_crate_takes_lints_and_rust_version_from_the_workspace() {
    keep(&manifests(), inheritance);
}

#[test]
fn modules_know_nothing_that_they_must_not() {
    let tree = tree();
    keep(&tree, absences);
    none(ABSENCES.iter().filter(|absence| !tree.iter().any(|file| file.path.starts_with(absence.path))).map(
        |absence| {
            Finding {
                path: absence.path.to_owned(),
                line: 1,
                message:
                    "no such source: let ABSENCES in layers.rs follow the move, or the rule guards nothing"
                        .to_owned(),
            }
        },
    ));
}

fn manifests() -> Vec<File> {
    let mut manifests = tree();
    manifests.retain(|file| file.path.ends_with("/Cargo.toml"));
    manifests
}

fn dependencies(file: &File) -> Vec<Finding> {
    let manifest = parse(file);
    let (name, line) = package_name(file, &manifest);
    let Some(layer) = LAYERS.iter().find(|layer| layer.name == name) else {
        let message = format!("crate `{name}` has no layer: say in LAYERS in layers.rs what it may use");
        return vec![Finding::new(file, line, message)];
    };
    let targets = table(&manifest, "target")
        .into_iter()
        .flatten()
        .filter_map(|(_, target)| target.get_ref().as_table());
    let mut findings = Vec::new();
    for section in std::iter::once(&manifest).chain(targets) {
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            for (key, value) in table(section, kind).into_iter().flatten() {
                let renamed = value.get_ref().get("package").and_then(|package| package.get_ref().as_str());
                let used = renamed.unwrap_or(key.get_ref());
                if let Some(advice) = verdict(layer, used, kind) {
                    let message = format!("`{name}` must not use `{used}`: {advice}");
                    findings.push(Finding::new(file, file.line_of(key.span().start), message));
                }
            }
        }
    }
    findings
}

/// Why `layer` may not use the crate `used` in a section of this `kind`, or `None` where it may.
fn verdict(layer: &Layer, used: &str, kind: &str) -> Option<String> {
    let below = layer.uses.join(", ");
    if LAYERS.iter().any(|other| other.name == used) {
        return (!layer.uses.contains(&used))
            .then(|| format!("of this workspace it may use [{below}] alone"));
    }
    let outside = layer.outside.filter(|_| kind != "dev-dependencies")?;
    (!outside.contains(&used))
        .then(|| format!("from outside it may use [{}] alone, so that it stays pure", outside.join(", ")))
}

fn inheritance(file: &File) -> Vec<Finding> {
    let manifest = parse(file);
    if manifest.contains_key("workspace") {
        // It is one of its own.
        return Vec::new();
    }
    let (_, line) = package_name(file, &manifest);
    let inherits = |value: Option<&Spanned<DeValue<'_>>>| {
        value.and_then(|value| value.get_ref().get("workspace")).and_then(|flag| flag.get_ref().as_bool())
            == Some(true)
    };
    let package = table(&manifest, "package").expect("it has a name");
    let mut findings = Vec::new();
    if !inherits(manifest.get("lints")) {
        findings.push(Finding::new(
            file,
            line,
            "lints are not the workspace's: add `[lints]` with `workspace = true`",
        ));
    }
    if !inherits(package.get("rust-version")) {
        findings.push(Finding::new(
            file,
            line,
            "add `rust-version.workspace = true`, or clippy keeps no MSRV here",
        ));
    }
    findings
}

fn absences(file: &File) -> Vec<Finding> {
    let rules: Vec<_> =
        ABSENCES.iter().filter(|absence| file.is_rust() && file.path.starts_with(absence.path)).collect();
    if rules.is_empty() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for mention in &file.mentions() {
        for Absence { path, names, why } in &rules {
            if let Some(name) = names.iter().find(|name| mentioned(mention, name)) {
                findings.push(Finding::new(file, mention.line, format!("`{name}` in {path}…: {why}")));
            }
        }
    }
    findings
}

fn mentioned(mention: &Mention, name: &str) -> bool {
    if name.contains("::") { mention.is_under(name) } else { mention.names(name) }
}

pub(crate) fn parse(file: &File) -> DeTable<'_> {
    DeTable::parse(&file.text).unwrap_or_else(|error| panic!("{}: {error}", file.path)).into_inner()
}

pub(crate) fn table<'t, 'i>(parent: &'t DeTable<'i>, key: &str) -> Option<&'t DeTable<'i>> {
    parent.get(key)?.get_ref().as_table()
}

/// The name of the package and the line that gives it.
fn package_name<'t>(file: &File, manifest: &'t DeTable<'_>) -> (&'t str, usize) {
    let name = table(manifest, "package").and_then(|package| package.get("name"));
    let name = name.unwrap_or_else(|| panic!("{}: no package.name", file.path));
    (name.get_ref().as_str().unwrap_or_default(), file.line_of(name.span().start))
}

fn manifest(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\nrust-version.workspace = true\n[lints]\nworkspace = true\n{rest}")
}

#[test]
fn a_crate_that_uses_one_above_it_is_found() {
    let rule = |name: &str, rest: &str, expected: &[(usize, &str)]| {
        check(dependencies, "crates/x/Cargo.toml", &manifest(name, rest), expected);
    };
    rule("fantail-model", "[dependencies]\nfantail-core.workspace = true\nlibm = \"1\"", &[]);
    rule(
        "fantail-core",
        "[dependencies]\nfantail-model.workspace = true",
        &[(7, "must not use `fantail-model`")],
    );
    rule(
        "fantail-stores",
        "[dev-dependencies]\nfantail-gateway = {}",
        &[(7, "may use [fantail, fantail-core] alone")],
    );
    rule(
        "fantail",
        "[target.'cfg(unix)'.dependencies]\n\nx = { package = \"fantail-model\" }",
        &[(8, "`fantail-model`")],
    );
    rule("xtask", "[build-dependencies.fantail]\nworkspace = true", &[(6, "must not use `fantail`")]);
    rule("fantail-new", "", &[(2, "crate `fantail-new` has no layer")]);
}

#[test]
fn a_pure_crate_that_takes_more_from_outside_is_found() {
    let rule = |rest: &str, expected: &[(usize, &str)]| {
        check(dependencies, "crates/core/Cargo.toml", &manifest("fantail-core", rest), expected);
    };
    rule("[dev-dependencies]\nproptest.workspace = true", &[]);
    rule("[dependencies]\ntokio.workspace = true", &[(7, "must not use `tokio`: from outside")]);
    rule("[build-dependencies]\ncc = \"1\"", &[(7, "must not use `cc`: from outside")]);
}

#[test]
fn a_crate_with_lints_or_a_rust_version_of_its_own_is_found() {
    let rule =
        |text: &str, expected: &[(usize, &str)]| check(inheritance, "crates/x/Cargo.toml", text, expected);
    rule(&manifest("x", ""), &[]);
    rule("[package]\nname = \"x\"\nrust-version.workspace = true", &[(2, "lints are not the workspace's")]);
    rule(&manifest("x", "").replace(".workspace", ""), &[(2, "add `rust-version.workspace = true`")]);
    rule("[package]\nname = \"x\"\n[lints]\nworkspace = false", &[(2, "lints"), (2, "rust-version")]);
    rule("[package]\nname = \"x\"\n[workspace]", &[]);
}

#[test]
fn a_module_that_knows_what_it_must_not_is_found() {
    check(
        absences,
        "crates/core/src/plan/mod.rs",
        "//! No Law.\nuse a::{B,\nLaw};",
        &[(3, "`Law` in crates/core/src/…")],
    );
    check(absences, "crates/model/src/solve.rs", "// Job\nfn f(plan: &Plan) {}", &[]);
    check(
        absences,
        "crates/model/src/solve/max.rs",
        "fn f() { fantail_core::Job::new() }",
        &[(1, "`Job` in")],
    );
    check(
        absences,
        "crates/model/src/solve/mod.rs",
        "use fantail_core::{Plan,\njob::Action};\nuse crate::job;",
        &[(2, "`fantail_core::job` in")],
    );
    check(absences, "crates/model/src/sim.rs", "use fantail_core::Job;", &[]);
}
