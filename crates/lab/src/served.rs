//! The page as it is served.

/// The page in one file: markup, style, script and WebAssembly.
pub const PAGE: &str = include_str!("../dist/index.html");

/// What begins the page's own policy, which it has for when it is opened from disk.
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"";

/// The content security policy to serve the page with: its own, and that no other page may frame it. Nothing is let in but
/// what is in the page, by its hash.
pub fn policy() -> String {
    let own = PAGE.split_once(POLICY).and_then(|(_, rest)| rest.split_once('"'));
    format!("{}; frame-ancestors 'none'", own.map_or("default-src 'none'", |(policy, _)| policy))
}
