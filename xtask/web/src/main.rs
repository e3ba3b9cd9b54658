//! `cargo xtask web`: the lab's page in one file, from the sources of its WebAssembly, its script and its style.
//!
//! The page is committed, so that building and installing need no more than cargo. It says which sources it was built
//! from; `--check` tells whether they are those of the checkout.

mod page;
mod sources;
mod tools;
mod wasm;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::Parser;

/// Builds the lab's page.
#[derive(Parser)]
#[command(name = "cargo xtask web", bin_name = "cargo xtask web")]
struct Args {
    /// Build nothing; fail when the committed page was built from other sources
    #[arg(long)]
    check: bool,

    /// Bundle the page anew around the WebAssembly that was built last
    #[arg(long, conflicts_with = "check")]
    page: bool,
}

/// The page, from the root of the repository.
const PAGE: &str = "crates/lab/dist/index.html";

/// The most bytes that the page may take on its way, compressed.
const MOST_BYTES: usize = 470 * 1024;

fn main() -> Result<()> {
    let args = Args::parse();
    let root = tools::root();
    let path = root.join(PAGE);
    let sources = sources::hash(&root)?;
    if args.check {
        let page = fs::read_to_string(&path).with_context(|| format!("{PAGE}: no page is committed"))?;
        ensure!(
            page::sources(&page) == Some(&sources),
            "{PAGE} is stale: it was built from other sources; run `cargo xtask web` and commit it"
        );
        return Ok(());
    }
    if !args.page {
        wasm::build(&root)?;
    }
    let page = page::assemble(&root, &sources)?;
    let compressed = page::gzip(page.as_bytes())?.len();
    println!("{PAGE}: {} bytes, {compressed} compressed", page.len());
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    fs::write(&path, &page).with_context(|| path.display().to_string())?;
    ensure!(
        compressed <= MOST_BYTES,
        "{PAGE} takes {compressed} bytes compressed, expected at most {MOST_BYTES}"
    );
    Ok(())
}
