//! Line ends and a byte order mark, which are no part of what a file says.

/// The first character of some files.
const MARK: char = '\u{feff}';

/// The text with plain line ends and without a byte order mark.
pub(super) fn unix(text: &str) -> String {
    text.trim_start_matches(MARK).replace("\r\n", "\n")
}

/// A changed text, whose line ends are plain, with those of the original: each line that is still there keeps its own, and
/// others have the most frequent.
pub(super) fn like(original: &str, changed: &str) -> String {
    let mark = if original.starts_with(MARK) { MARK.to_string() } else { String::new() };
    let old: Vec<(&str, &str)> = original.trim_start_matches(MARK).split_inclusive('\n').map(split).collect();
    let new: Vec<&str> = changed.split_inclusive('\n').map(|line| split(line).0).collect();
    let windows = old.iter().filter(|(_, end)| *end == "\r\n").count();
    let usual = if 2 * windows > old.len() { "\r\n" } else { "\n" };
    let ends = kept(&old, &new);
    let last = new.len().saturating_sub(1);
    let line = |(i, line): (usize, &&str)| {
        // The last line of a file may be without an end; of one that goes on it is not.
        let end = ends[i].filter(|end| i == last || !end.is_empty()).unwrap_or(usual);
        [line, end].concat()
    };
    mark + &new.iter().enumerate().map(line).collect::<String>()
}

/// A line and its end.
fn split(line: &str) -> (&str, &str) {
    let text = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
    line.split_at(text.len())
}

/// The end that each line of the new text has in the old one, if it is there, in its turn.
fn kept<'t>(old: &[(&'t str, &'t str)], new: &[&str]) -> Vec<Option<&'t str>> {
    let mut ends = vec![None; new.len()];
    let before = old.iter().zip(new).take_while(|((a, _), b)| a == *b).count();
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let after = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|((a, _), b)| a == *b).count();
    for i in 0..before {
        ends[i] = Some(old[i].1);
    }
    for i in 1..=after {
        ends[new.len() - i] = Some(old[old.len() - i].1);
    }
    let (old, middle) = (&old_rest[..old_rest.len() - after], &new_rest[..new_rest.len() - after]);
    let mut from = 0;
    for (i, line) in middle.iter().enumerate() {
        if let Some(found) = old[from..].iter().position(|(text, _)| text == line) {
            ends[before + i] = Some(old[from + found].1);
            from += found + 1;
        }
    }
    ends
}
