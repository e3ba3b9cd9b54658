//! Texts that others wrote, as they can be shown; and paragraphs.

use unicode_width::UnicodeWidthStr;

use crate::number::UNITS;

/// `text` with what is no character to be seen escaped: control characters, which a terminal would obey, and the two
/// that no XML document may have.
pub fn printable(text: &str) -> String {
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

/// What each of some plans is called beside the others, given its name and the file that states it: its name, after its file where
/// another file has a plan of that name.
pub(crate) fn apart(plans: &[(&str, Option<&str>)]) -> Vec<String> {
    let shown = |(name, file): &(&str, Option<&str>)| match file {
        Some(path) if plans.iter().any(|other| other.0 == *name && other.1 != *file) => {
            format!("{}: {name}", printable(path))
        }
        _ => (*name).to_owned(),
    };
    plans.iter().map(shown).collect()
}

/// Breaks `text` between words into lines of at most `width` columns, all but the first one indented by `indent`.
pub fn fold(text: &str, width: usize, indent: usize) -> String {
    let mut folded = String::new();
    let mut column = 0;
    let mut words = text.split(' ').peekable();
    let mut stays = false;
    while let Some(word) = words.next() {
        let unit = words.peek().filter(|next| is_unit_of(word, next));
        let needed = word.width() + unit.map_or(0, |unit| 1 + unit.width());
        let breaks = column + 1 + needed > width && !stays;
        stays = unit.is_some();
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

/// Whether a word is the unit of the number before it, which stay together.
fn is_unit_of(number: &str, unit: &str) -> bool {
    let unit = unit.trim_end_matches(|char: char| char.is_ascii_punctuation() && char != '%');
    let is_unit = unit.starts_with('%') || UNITS.iter().any(|(name, _)| *name == unit);
    is_unit && number.ends_with(|char: char| char.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{apart, fold, printable};

    #[test]
    fn what_would_act_on_a_terminal_or_break_a_document_is_escaped() {
        let check = |text, shown| assert_eq!(printable(text), shown);
        check("läge <b> 漢字", "läge <b> 漢字");
        check("x\u{7}\u{1b}[31m", "x\\u{7}\\u{1b}[31m");
        check("a\nb\u{9b}\u{ffff}", "a\\nb\\u{9b}\\u{ffff}");
    }

    #[test]
    fn plans_of_one_name_are_told_apart_by_their_files() {
        let plans = [("a", Some("x.toml")), ("a", Some("y\n.toml")), ("b", Some("x.toml")), ("c", None)];
        assert_eq!(apart(&plans), ["x.toml: a", "y\\n.toml: a", "b", "c"]);
        let along_a_sweep = [("a", Some("x.toml")); 2];
        assert_eq!(apart(&along_a_sweep), ["a", "a"]);
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
        check("one 5 µs, x", 9, "one 5 µs,\n  x");
        check("one 5 µs, x", 8, "one\n  5 µs,\n  x");
        check("one two s", 8, "one two\n  s");
    }
}
