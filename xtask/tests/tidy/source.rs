//! The files of the checkout, and Rust source as the paths it mentions.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use walkdir::WalkDir;

/// A text file, its path relative to the root of the checkout and with `/` between its parts.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// The file at this path, or `None` where there is none.
    pub(crate) fn read(path: &str) -> Option<Self> {
        fs::read_to_string(root().join(path)).ok().map(|text| Self::new(path, &text))
    }

    pub(crate) fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }

    /// The line, counted from 1, of the byte at `offset`.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        1 + self.text[..offset].matches('\n').count()
    }

    /// Every path that the Rust source mentions, in order. Text in comments and in literals mentions nothing.
    pub(crate) fn mentions(&self) -> Vec<Mention> {
        let tokens = self.text.parse().unwrap_or_else(|error| panic!("{}: {error}", self.path));
        let mut found = Vec::new();
        collect(tokens, &[], &mut found);
        found
    }
}

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root of the checkout").to_owned()
}

/// What git, cargo, npm and libFuzzer put into the checkout.
const NOT_OURS: [&str; 6] =
    [".git", "target", "crates/lab/web/node_modules", "fuzz/target", "fuzz/corpus", "fuzz/artifacts"];

/// All text files of the checkout, without [`NOT_OURS`] and what is no UTF-8.
pub(crate) fn tree() -> Vec<File> {
    let root = root();
    let not_ours = NOT_OURS.map(|path| root.join(path));
    WalkDir::new(&root)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| !not_ours.iter().any(|path| path == entry.path()))
        .map(|entry| entry.expect("the checkout is readable"))
        .filter(|entry| entry.file_type().is_file())
        .filter_map(|entry| {
            let path = entry.path().strip_prefix(&root).expect("the walk starts at the root");
            File::read(
                &path
                    .components()
                    .map(|part| part.as_os_str().to_str())
                    .collect::<Option<Vec<_>>>()?
                    .join("/"),
            )
        })
        .collect()
}

/// One path in Rust source, as in `std::fs::File`: its segments and the line of the last one. A lone identifier is a
/// path of one segment; `use a::{b, c::d}` mentions `a::b` and `a::c::d`.
#[derive(Debug, PartialEq)]
pub(crate) struct Mention {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
}

impl Mention {
    /// Whether the path begins with the segments of `path`, written with `::` between them.
    pub(crate) fn is_under(&self, path: &str) -> bool {
        let mut segments = self.segments.iter();
        path.split("::").all(|part| segments.next().is_some_and(|segment| segment == part))
    }

    /// Whether any segment is `name`.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.segments.iter().any(|segment| segment == name)
    }
}

/// Appends what `tokens` mention. `prefix` is the path before the braces of a grouped import that `tokens` fill.
fn collect(tokens: TokenStream, prefix: &[String], found: &mut Vec<Mention>) {
    let mut path = Chain { segments: prefix.to_vec(), line: 0, open: !prefix.is_empty(), half: false };
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                if !path.open {
                    path.end(found);
                }
                path.segments.push(name.to_string());
                path.line = name.span().start().line;
                path.open = false;
            }
            TokenTree::Punct(colon) if colon.as_char() == ':' => {
                path.open = path.half;
                path.half = colon.spacing() == Spacing::Joint;
                if !path.open && !path.half {
                    path.end(found);
                }
            }
            TokenTree::Punct(mark) => {
                path.end(found);
                if mark.as_char() == ',' {
                    path.segments = prefix.to_vec();
                    path.open = !prefix.is_empty();
                }
            }
            TokenTree::Group(group) if path.open && group.delimiter() == Delimiter::Brace => {
                collect(group.stream(), &path.segments, found);
                path = Chain::default();
            }
            TokenTree::Group(group) => {
                path.end(found);
                collect(group.stream(), &[], found);
            }
            TokenTree::Literal(_) => path.end(found),
        }
    }
    path.end(found);
}

/// The path being read.
#[derive(Default)]
struct Chain {
    segments: Vec<String>,
    /// The line of the last segment; 0 while there is none beyond the prefix.
    line: usize,
    /// Whether a `::` came last, so that the next identifier continues the path.
    open: bool,
    /// Whether the first colon of a `::` came last.
    half: bool,
}

impl Chain {
    fn end(&mut self, found: &mut Vec<Mention>) {
        let Self { segments, line, .. } = std::mem::take(self);
        if line > 0 {
            found.push(Mention { segments, line });
        }
    }
}

#[track_caller]
fn check(text: &str, expected: &[(&str, usize)]) {
    let found = File::new("src/lib.rs", text).mentions();
    let found: Vec<_> = found.iter().map(|mention| (mention.segments.join("::"), mention.line)).collect();
    let expected: Vec<_> = expected.iter().map(|(path, line)| ((*path).to_owned(), *line)).collect();
    assert_eq!(found, expected, "in {text}");
}

#[test]
fn paths_are_found_wherever_they_stand() {
    check("a::b c", &[("a::b", 1), ("c", 1)]);
    check("::a::b", &[("a::b", 1)]);
    check("x: a::b", &[("x", 1), ("a::b", 1)]);
    check("a::<b::c>::d", &[("a", 1), ("b::c", 1), ("d", 1)]);
    check("vec![a::b; 1]", &[("vec", 1), ("a::b", 1)]);
    check(
        "use a::{\n b,\n c::{d as e, self},\n};",
        &[("use", 1), ("a::b", 2), ("a::c::d", 3), ("as", 3), ("e", 3), ("a::c::self", 3)],
    );
}

#[test]
fn comments_and_literals_mention_nothing() {
    check("//! a\n/* b */ /// c\n\"d::e\" '\\n' f", &[("doc", 1), ("doc", 2), ("f", 3)]);
}

#[test]
fn a_path_is_under_its_own_beginnings_only() {
    let mention = Mention { segments: vec!["std".into(), "fs".into(), "File".into()], line: 1 };
    assert!(mention.is_under("std") && mention.is_under("std::fs") && mention.is_under("std::fs::File"));
    assert!(!mention.is_under("fs") && !mention.is_under("std::fs::File::open") && !mention.is_under("s"));
}

#[test]
fn the_tree_is_the_whole_checkout_and_nothing_built() {
    let tree = tree();
    for path in ["Cargo.toml", ".ci/run", "crates/core/src/lib.rs", "xtask/tests/tidy/source.rs"] {
        assert!(tree.iter().any(|file| file.path == path), "{path} is missing");
    }
    assert!(!tree.iter().any(|file| file.path.starts_with("target/") || file.path.starts_with(".git/")));
}
