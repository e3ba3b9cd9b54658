//! Files and functions stay short enough to be read at one sitting.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

use crate::source::{File, tree};
use crate::{Finding, check, keep};

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 70;
const MAP_LINES: usize = 200;

#[test]
fn files_and_functions_are_short() {
    keep(&tree(), lengths);
}

fn lengths(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = file.text.lines().count();
    let most = match file.path.as_str() {
        "ARCHITECTURE.md" => MAP_LINES,
        _ if file.is_rust() => FILE_LINES,
        _ => return findings,
    };
    if lines > most {
        findings.push(Finding::new(
            file,
            most + 1,
            format!("{lines} lines, at most {most}: split the file by its subjects"),
        ));
    }
    if file.is_rust() {
        let parsed = syn::parse_file(&file.text).unwrap_or_else(|error| panic!("{}: {error}", file.path));
        Functions { file, findings: &mut findings }.visit_file(&parsed);
    }
    findings
}

/// Measures each function from its signature to its closing brace; attributes and doc comments don't count.
struct Functions<'a> {
    file: &'a File,
    findings: &'a mut Vec<Finding>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &Signature, block: &Block) {
        let first = signature.span().start().line;
        let lines = block.span().end().line + 1 - first;
        if lines > FUNCTION_LINES {
            let name = &signature.ident;
            let message = format!("`{name}` has {lines} lines, at most {FUNCTION_LINES}: name its parts");
            self.findings.push(Finding::new(self.file, first, message));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(block) = &function.default {
            self.measure(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[test]
fn a_file_of_one_line_too_many_is_found() {
    check(lengths, "src/lib.rs", &"\n".repeat(600), &[]);
    check(lengths, "src/lib.rs", &"\n".repeat(601), &[(601, "601 lines, at most 600")]);
    check(lengths, "ARCHITECTURE.md", &"\n".repeat(201), &[(201, "201 lines, at most 200")]);
    check(lengths, "reference.csv", &"\n".repeat(9999), &[]);
}

#[test]
fn a_function_of_one_line_too_many_is_found_wherever_it_is() {
    let long = |lines: usize| format!("/// Doc.\n#[inline]\nfn long() {{{}}}", "\n".repeat(lines - 1));
    for (before, after) in [("", ""), ("impl A {", "}"), ("trait A {", "}"), ("mod a { mod b {", "}}")] {
        let rule = |lines: usize, expected: &[(usize, &str)]| {
            check(lengths, "src/lib.rs", &format!("{before}\n{}\n{after}", long(lines)), expected);
        };
        rule(70, &[]);
        rule(71, &[(4, "`long` has 71 lines, at most 70")]);
    }
    let nested = format!("fn outer() {{\n{}\n}}", long(71));
    check(lengths, "src/lib.rs", &nested, &[(1, "`outer` has 75 lines"), (4, "`long` has 71 lines")]);
}
