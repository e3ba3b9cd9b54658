//! One file of all: markup, style, script and WebAssembly, under a policy that lets nothing else in.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::tools::run;

/// The page's own sources, from the root of the repository.
pub(crate) const WEB: &str = "crates/lab/web";

/// What `index.html` has in the place of each part.
const STYLE: &str = "<!-- style -->";
const WASM: &str = "<!-- wasm -->";
const SCRIPT: &str = "<!-- script -->";

/// What says in the page which sources it was built from.
const MARK: &str = "<meta name=\"fantail-sources\" content=\"";

/// The hash of the sources that a page was built from.
pub(crate) fn sources(page: &str) -> Option<&str> {
    page.split_once(MARK)?.1.split_once('"').map(|(hash, _)| hash)
}

/// The page around the WebAssembly in `pkg`.
pub(crate) fn assemble(root: &Path, sources: &str) -> Result<String> {
    let web = root.join(WEB);
    run(Command::new("npm").current_dir(&web).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))?;
    run(Command::new("npx").current_dir(&web).args(["--no-install", "tsc", "--noEmit"]))?;
    bundle(&web, "src/main.ts", "pkg/page.js")?;
    bundle(&web, "src/page.css", "pkg/page.css")?;
    let read = |name: &str| fs::read_to_string(web.join(name)).with_context(|| format!("{WEB}/{name}"));
    let (style, script) = (read("pkg/page.css")?, read("pkg/page.js")?);
    ensure!(!script.contains("</script") && !style.contains("</style"), "a part would end its own element");
    // Compressed before it is written in letters: the other way round it takes a third more.
    let wasm = BASE64.encode(squeezed(&fs::read(web.join("pkg/fantail_lab_bg.wasm"))?)?);
    let policy = policy(&style, &script);
    let mut page = read("index.html")?;
    for (place, part) in [
        (
            STYLE,
            format!(
                "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n{MARK}{sources}\">\n\
                 <style>{style}</style>"
            ),
        ),
        (WASM, format!("<script type=\"application/wasm\" id=\"wasm\">{wasm}</script>")),
        (SCRIPT, format!("<script type=\"module\">{script}</script>")),
    ] {
        ensure!(page.matches(place).count() == 1, "{WEB}/index.html: expected `{place}` once");
        page = page.replace(place, &part);
    }
    Ok(page)
}

/// As small as gzip gets, in seconds.
fn squeezed(bytes: &[u8]) -> Result<Vec<u8>> {
    // More blocks than usual: functions of one crate are alike, those of others are not.
    let options = zopfli::Options { maximum_block_splits: 40, ..Default::default() };
    let mut squeezed = Vec::new();
    zopfli::compress(options, zopfli::Format::Gzip, bytes, &mut squeezed)?;
    Ok(squeezed)
}

/// As a server would compress it.
pub(crate) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Puts a script or style and all that it imports into one file, in short.
fn bundle(web: &Path, from: &str, to: &str) -> Result<()> {
    run(Command::new("npx").current_dir(web).args(["--no-install", "esbuild", from]).args([
        "--bundle",
        "--minify",
        "--format=esm",
        "--target=es2023",
        "--charset=utf8",
        "--log-level=warning",
        &format!("--outfile={to}"),
    ]))
}

/// Nothing but what is in the page, and the figures of the gateway that serves it.
fn policy(style: &str, script: &str) -> String {
    let source = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; script-src {} 'wasm-unsafe-eval'; style-src {}; img-src data: blob:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'",
        source(script),
        source(style),
    )
}
