//! Results go to stdout, everything else to stderr.

use std::fmt::Display;
use std::io::{self, Write};

use anyhow::Context;
use console::{Style, Term};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::failure::Failure;

/// The width that text is laid out for where the output is no terminal.
const WIDTH: usize = 80;

/// Writes a result to stdout.
pub(crate) fn print(result: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(result.as_ref()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::ClosedPipe.into()),
        result => result.context("standard output"),
    }
}

/// A document as people read JSON: indented, with a line end.
pub(crate) fn json(document: &impl Serialize) -> anyhow::Result<Vec<u8>> {
    let mut json = serde_json::to_vec_pretty(document)?;
    json.push(b'\n');
    Ok(json)
}

/// Writes a line to stderr. Nobody may be reading it, which is no reason to stop.
pub(crate) fn say(line: &dyn Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// How many columns text on stdout may take.
pub(crate) fn width() -> usize {
    Term::stdout().size_checked().map_or(WIDTH, |(_, columns)| usize::from(columns).max(1))
}

/// What is to stand out on stdout: bold on a terminal.
pub(crate) fn strong(text: &str) -> String {
    if no_color() { text.to_owned() } else { Style::new().bold().apply_to(text).to_string() }
}

/// Whether stdout is a terminal that may be coloured.
pub(crate) fn stdout_has_colors() -> bool {
    !no_color() && console::colors_enabled()
}

/// Whether stderr is a terminal that may be coloured.
pub(crate) fn stderr_has_colors() -> bool {
    !no_color() && console::colors_enabled_stderr()
}

/// Whether the user wants no colours, whatever else is set; see <https://no-color.org>.
fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// `text` with what is no character to be seen escaped: control characters, which a terminal would obey, and the two
/// that no XML document may have.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::new();
    for char in text.chars() {
        if char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}') {
            shown.extend(char.escape_default());
        } else {
            shown.push(char);
        }
    }
    shown
}

/// Breaks `text` between words into lines of at most `width` columns, all but the first one indented by `indent`.
pub(crate) fn fold(text: &str, width: usize, indent: usize) -> String {
    let mut folded = String::new();
    let mut column = 0;
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        // A number stays with its percent sign.
        let sign = words.peek().filter(|next| next.starts_with('%')).map_or(0, |sign| 1 + sign.width());
        let breaks = column + 1 + word.width() + sign > width && !word.starts_with('%');
        if column > 0 && breaks {
            folded.push('\n');
            folded.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > 0 {
            folded.push(' ');
            column += 1;
        }
        folded.push_str(word);
        column += word.width();
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::{fold, printable};

    #[test]
    fn what_would_act_on_a_terminal_or_break_a_document_is_escaped() {
        let check = |text, shown| assert_eq!(printable(text), shown);
        check("läge <b> 漢字", "läge <b> 漢字");
        check("x\u{7}\u{1b}[31m", "x\\u{7}\\u{1b}[31m");
        check("a\nb\u{9b}\u{ffff}", "a\\nb\\u{9b}\\u{ffff}");
    }

    #[test]
    fn lines_break_between_words() {
        let check = |text, width, folded| assert_eq!(fold(text, width, 2), folded);
        check("", 5, "");
        check("one two", 7, "one two");
        check("one two three", 7, "one two\n  three");
        check("incomprehensible words", 5, "incomprehensible\n  words");
        check("one 4.9 % two", 9, "one 4.9 %\n  two");
        check("one 4.9 % two", 8, "one\n  4.9 %\n  two");
        check("5 µs 漢字 x", 7, "5 µs\n  漢字\n  x");
    }
}
