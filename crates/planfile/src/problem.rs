//! What is wrong with a text, and where: every problem at once.

use std::fmt;
use std::ops::Range;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The widest part of a line that is shown, in terminal columns.
const SHOWN: usize = 100;
/// The longest part of a user's word that a message repeats, in characters.
const QUOTED: usize = 60;

/// Everything that is wrong with a text, in the order of the text; never empty.
///
/// ```
/// let problems = fantail_planfile::Config::parse("plan.toml", "[plan.a]\ndeadlin = \"2s\"\n").unwrap_err();
/// let rendered = problems.to_string();
/// assert!(rendered.starts_with("plan.toml:1:7: plan `a` has no branches"));
/// assert!(rendered.ends_with(
///     "plan.toml:2:1: unknown key `deadlin`; did you mean `deadline`?
///   |
/// 2 | deadlin = \"2s\"
///   | ^^^^^^^"
/// ));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    source: String,
    list: Vec<Problem>,
}

/// One thing that is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    line: usize,
    column: usize,
    message: String,
    shown: String,
    caret: Range<usize>,
}

/// A fault at a place of a text, in bytes, before the place is turned into line and column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Fault {
        Fault { span, message: message.into() }
    }

    /// The same fault when what it is about starts at `offset` of a larger text.
    pub(crate) fn moved(self, offset: usize) -> Fault {
        Fault { span: self.span.start + offset..self.span.end + offset, message: self.message }
    }
}

impl Problems {
    /// Locates `faults` in `text`.
    pub(crate) fn locate(source: &str, text: &str, mut faults: Vec<Fault>) -> Problems {
        debug_assert!(!faults.is_empty(), "problems are never empty");
        faults.sort_by(|a, b| {
            (a.span.start, a.span.end, &a.message).cmp(&(b.span.start, b.span.end, &b.message))
        });
        faults.dedup();
        let lines = Lines::new(text);
        let list = faults.into_iter().map(|fault| lines.problem(fault)).collect();
        Problems { source: source.to_owned(), list }
    }

    /// What was read: the file's name, or what the text stands for.
    pub fn source_name(&self) -> &str {
        &self.source
    }

    /// The problems, in the order of the text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Problem> {
        self.list.iter()
    }
}

impl Problem {
    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column, from 1, in characters.
    pub fn column(&self) -> usize {
        self.column
    }

    /// What is wrong and what was expected, on one line.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Problems {
    /// Each problem as `source:line:column: message`, then its line with a caret under the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.list.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            let Problem { line, column, message, shown, caret } = problem;
            let gutter = line.to_string().len();
            writeln!(f, "{}:{line}:{column}: {message}", self.source)?;
            writeln!(f, "{:gutter$} |", "")?;
            writeln!(f, "{line} | {shown}")?;
            write!(
                f,
                "{:gutter$} | {:before$}{:^<width$}",
                "",
                "",
                "",
                before = caret.start,
                width = caret.len()
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// A text with the starts of its lines.
pub(crate) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Lines<'t> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Lines { text, starts }
    }

    /// How many lines there are, at least one.
    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The index of the line that the byte `at` is in.
    pub(crate) fn index(&self, at: usize) -> usize {
        self.starts.partition_point(|&start| start <= at) - 1
    }

    /// A line without its end.
    pub(crate) fn line(&self, index: usize) -> &'t str {
        let rest = &self.text[self.starts[index]..];
        rest.split('\n').next().unwrap_or_default().trim_end_matches('\r')
    }

    fn problem(&self, fault: Fault) -> Problem {
        let start = floor(self.text, fault.span.start);
        let end = floor(self.text, fault.span.end).max(start);
        let index = self.index(start);
        let (from, line) = (self.starts[index], self.line(index));
        // The end of a line, and what lies beyond it, is shown as one caret after its last character.
        let at = (start - from).min(line.len());
        let to = (end - from).clamp(at, line.len());
        let (shown, caret) = window(line, at..to);
        Problem {
            line: index + 1,
            column: self.text[from..start].chars().count() + 1,
            message: fault.message,
            shown,
            caret,
        }
    }
}

/// The nearest start of a character at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// What is shown of a line around `mark`, and where the caret goes in it, in terminal columns.
///
/// Looks at no more of the line than can be shown, however long it is.
fn window(line: &str, mark: Range<usize>) -> (String, Range<usize>) {
    let marked = clip(line[mark.clone()].chars(), SHOWN / 2);
    let room = SHOWN.saturating_sub(marked.width());
    let after = clip(line[mark.end..].chars(), room);
    // What is after the place gives way to what is before it down to half of the room.
    let before = clip(line[..mark.start].chars().rev(), room.saturating_sub(after.width()).max(room / 2));
    let before: String = before.chars().rev().collect();
    let after = clip(line[mark.end..].chars(), room.saturating_sub(before.width()));
    let start = before.width();
    let caret = start..start + marked.width().max(1);
    (before + &marked + &after, caret)
}

/// The first `columns` of `text`, the last an ellipsis when there is more; a space for a tab and a mark for what a
/// terminal would act on.
fn clip(text: impl Iterator<Item = char>, columns: usize) -> String {
    let mut shown = String::new();
    let mut width = 0;
    for c in text {
        let c = match c {
            '\t' => ' ',
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            c => c,
        };
        width += c.width().unwrap_or(0);
        if width > columns {
            while shown.width() >= columns && shown.pop().is_some() {}
            shown.push('…');
            break;
        }
        shown.push(c);
        if shown.len() > 8 * SHOWN {
            // Characters without a width.
            break;
        }
    }
    shown
}

/// A user's word as messages repeat it: in backticks, on one line, not too long.
pub(crate) fn quote(word: &str) -> String {
    let mut quoted: String = word.chars().take(QUOTED).flat_map(char::escape_debug).collect();
    // Quotes need no escape between backticks.
    quoted = quoted.replace("\\\"", "\"").replace("\\'", "'");
    if word.chars().count() > QUOTED {
        quoted.push('…');
    }
    format!("`{quoted}`")
}

/// `; did you mean …?` with the candidate nearest to `word`, or nothing when none is near.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map(|near| format!("; did you mean {}?", quote(near))).unwrap_or_default()
}

/// The candidate nearest to `word`: at most a third of its letters differ, case aside.
fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let letters = candidate.chars().count();
            let most = (letters.max(length) / 3).max(1);
            if letters.abs_diff(length) > most {
                return None;
            }
            let distance = strsim::osa_distance(&word, &candidate.to_lowercase());
            (distance <= most && distance < letters).then_some((distance, candidate))
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// `a, b or c`.
pub(crate) fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(quote).collect();
    match words.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// `a, b and 3 more`: the first three of several.
pub(crate) fn list_and_more(words: &[&str]) -> String {
    let shown: Vec<String> = words.iter().take(3).map(|word| quote(word)).collect();
    match (words.len() - shown.len(), shown.as_slice()) {
        (0, [most @ .., last]) if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        (0, _) => shown.concat(),
        (more, _) => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(text: &str, span: Range<usize>) -> String {
        Problems::locate("t", text, vec![Fault::new(span, "m")]).to_string()
    }

    #[test]
    fn the_caret_stands_under_wide_characters_and_tabs() {
        assert_eq!(render("a\n\té漢 x = 1", 9..10), "t:2:5: m\n  |\n2 |  é漢 x = 1\n  |      ^".to_owned());
    }

    #[test]
    fn a_place_past_the_end_is_shown_after_the_last_character() {
        assert_eq!(render("ab", 9..12), "t:1:3: m\n  |\n1 | ab\n  |   ^");
        assert_eq!(render("", 0..0), "t:1:1: m\n  |\n1 | \n  | ^");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}HERE{}", "a".repeat(1000), "b".repeat(1000));
        let rendered = render(&text, 1000..1004);
        let line = rendered.lines().nth(2).unwrap();
        assert!(line.width() <= SHOWN + 4, "{rendered}");
        assert_eq!(
            line.find("HERE").map(|at| line[..at].width()),
            rendered.lines().nth(3).unwrap().find('^')
        );
    }

    #[test]
    fn control_characters_are_never_printed() {
        assert!(!render("a\u{1b}[31m b", 1..4).contains('\u{1b}'));
        assert_eq!(quote("a\n\u{1b}\"'"), "`a\\n\\u{1b}\"'`");
    }

    #[test]
    fn the_nearest_word_is_near() {
        let words = ["deadline", "route", "hedge", "url"];
        let near = |word| nearest(word, words);
        assert_eq!(near("deadlin"), Some("deadline"));
        assert_eq!(near("Rotue"), Some("route"));
        assert_eq!(near("uri"), Some("url"));
        assert_eq!(near("x"), None);
        assert_eq!(near("targets"), None);
    }
}
