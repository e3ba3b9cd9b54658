//! What the page is made of.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;
use sha2::{Digest, Sha256};
use walkdir::{DirEntry, WalkDir};

/// All that the page is made of, from the root of the repository; directories with every file in them.
const SOURCES: [&str; 12] = [
    "Cargo.lock",
    "Cargo.toml",
    "crates/core/src",
    "crates/lab/Cargo.toml",
    "crates/lab/src",
    "crates/lab/web",
    "crates/model/src",
    "crates/planfile/src",
    "crates/report/src",
    "crates/samples/src",
    "examples/ingestion.toml",
    "xtask/web/src",
];

/// What lies among them and is none: what builds leave, and tests.
const NOT_SOURCES: [&str; 3] = ["node_modules", "pkg", "tests"];

/// SHA-256 over the paths and contents of all sources, in the order of their paths.
pub(crate) fn hash(root: &Path) -> Result<String> {
    let counts = |entry: &DirEntry| !NOT_SOURCES.iter().any(|name| entry.file_name() == *name);
    let mut files = Vec::new();
    for source in SOURCES {
        for entry in WalkDir::new(root.join(source)).into_iter().filter_entry(counts) {
            let entry = entry?;
            if entry.file_type().is_file() {
                files.push(entry.into_path());
            }
        }
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let name = file.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        let content = fs::read(&file)?;
        hash.update(format!("{name}\0{}\0", content.len()));
        hash.update(content);
    }
    let mut hex = String::new();
    for byte in hash.finalize() {
        write!(hex, "{byte:02x}")?;
    }
    Ok(hex)
}
