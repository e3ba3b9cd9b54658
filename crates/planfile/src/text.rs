//! Small helpers for the texts that have a grammar of their own.

/// The parts of `text` between separators, without the blanks around them, each with its offset.
pub(crate) fn parts(text: &str, separator: char) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split(separator).map(move |part| {
        let offset = start;
        start += part.len() + separator.len_utf8();
        trimmed(offset, part)
    })
}

/// `part`, which starts at `offset`, without the blanks around it, with its new offset.
pub(crate) fn trimmed(offset: usize, part: &str) -> (usize, &str) {
    (offset + part.len() - part.trim_start().len(), part.trim())
}
