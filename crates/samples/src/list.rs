//! Numbers with anything between them.

use fantail_core::Time;

use crate::{Cell, Column, ReadError};

pub(crate) fn read(text: &str) -> Result<Column, ReadError> {
    let mut cells = Vec::new();
    for (line, text) in numbered(text) {
        for text in text.split(brackets) {
            let mut words = text.split_whitespace().peekable();
            while let Some(word) = words.next() {
                let parts: Vec<&str> = word.split(',').filter(|part| !part.is_empty()).collect();
                let Some((&last, others)) = parts.split_last() else { continue };
                // `1.2 s` is a number with its unit, not two cells.
                let own = format!("{last} {}", words.peek().map_or("", |next| next.trim_end_matches(',')));
                let apart =
                    !word.ends_with(',') && last.parse::<f64>().is_ok() && own.parse::<Time>().is_ok();
                if apart {
                    words.next();
                }
                if !others.is_empty()
                    && (apart || last.parse::<Time>().is_ok())
                    && others.iter().all(|part| digits(part))
                {
                    return Err(ReadError::DecimalComma { line, text: word.to_owned() });
                }
                let last = if apart { own.as_str() } else { last };
                cells.extend(others.iter().chain([&last]).filter_map(|text| Cell::new(line, text)));
            }
        }
    }
    Ok(Column { name: String::new(), cells })
}

/// Refuses a text in which commas may be decimal ones: each of them stands alone between two digits, as in `0,41 1,2`.
pub(crate) fn commas(text: &str) -> Result<(), ReadError> {
    let mut first = None;
    for (line, text) in numbered(text) {
        for word in text.split(|c: char| c.is_whitespace() || brackets(c)) {
            let word = word.trim_matches(',');
            let Some((whole, fraction)) = word.split_once(',') else { continue };
            let unit = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if !digits(whole.trim_start_matches('-'))
                || unit == fraction
                || !unit.chars().all(char::is_alphabetic)
            {
                return Ok(());
            }
            first.get_or_insert((line, word));
        }
    }
    first.map_or(Ok(()), |(line, word)| Err(ReadError::DecimalComma { line, text: word.to_owned() }))
}

fn numbered(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim_start().starts_with('#'))
}

fn brackets(c: char) -> bool {
    matches!(c, ';' | '[' | ']')
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
