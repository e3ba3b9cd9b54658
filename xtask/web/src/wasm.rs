//! The face as WebAssembly, and what JavaScript needs to call it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

use crate::page::WEB;
use crate::tools::{output, run};

const TARGET: &str = "wasm32-unknown-unknown";

/// Where Debian has a compiler that can build the standard library for the target, and the sources of that.
const DEBIANS_RUSTC: &str = "/usr/bin/rustc";
const DEBIANS_SOURCES: &str = "/usr/lib/rustlib/src/rust/library/Cargo.lock";
/// The packages that have them.
const PACKAGES: [&str; 2] = ["rustc-web", "rust-web-src"];

/// Compiles and binds; the result is in `pkg` below the page's sources.
pub(crate) fn build(root: &Path) -> Result<()> {
    let wasm = compile(root)?;
    Bindgen::new()
        .input_path(wasm)
        .web(true)?
        .typescript(true)
        // The page has the bytes itself.
        .omit_default_module_path(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(root.join(WEB).join("pkg"))
        .context("cannot bind the WebAssembly")
}

/// Compiles the face and says where it is: with the toolchain's own standard library for the target where it is
/// there, else with Debian's compiler, whose standard library cargo then builds from its sources.
fn compile(root: &Path) -> Result<PathBuf> {
    let target_dir = root.join("target/web");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(root)
        // Of this one kind alone: beside a Rust library cargo links without optimising across crates.
        .args(["rustc", "--locked", "--profile", "web", "--package", "fantail-lab", "--lib"])
        .args(["--crate-type", "cdylib"])
        .args(["--target", TARGET])
        .arg("--target-dir")
        .arg(&target_dir);
    let libraries = output(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]))?;
    if !Path::new(libraries.trim()).exists() {
        install_debians()?;
        cargo
            .env("RUSTC", DEBIANS_RUSTC)
            // A stable compiler may build the standard library that belongs to it.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker()?)
            // Nobody reads the text of a panic in the page; without it a quarter of the bytes is saved.
            .env("CARGO_PROFILE_WEB_PANIC", "immediate-abort")
            .env("RUSTFLAGS", "-Zlocation-detail=none")
            .args(["-Zpanic-immediate-abort", "-Zbuild-std=std,panic_abort"])
            .arg("-Zbuild-std-features=optimize_for_size");
    }
    run(&mut cargo)?;
    Ok(target_dir.join(TARGET).join("web/fantail_lab.wasm"))
}

/// Installs Debian's compiler and its sources where they are missing and that can be done.
fn install_debians() -> Result<()> {
    let missing = || [DEBIANS_RUSTC, DEBIANS_SOURCES].iter().any(|path| !Path::new(path).exists());
    let is_root = || output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if missing() && is_root() {
        run(Command::new("apt-get").args(["install", "--yes", "--no-install-recommends"]).args(PACKAGES))?;
    }
    if missing() {
        bail!(
            "no standard library for {TARGET}; run `rustup target add {TARGET}`, or install Debian's {}",
            PACKAGES.join(" and ")
        );
    }
    Ok(())
}

/// The linker that comes with rustup's toolchain.
fn linker() -> Result<PathBuf> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let host = output(Command::new("rustc").args(["--print", "host-tuple"]))?;
    Ok([sysroot.trim(), "lib/rustlib", host.trim(), "bin/rust-lld"].iter().collect())
}
