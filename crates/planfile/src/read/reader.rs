//! A small typed reader over the spanned TOML tree: it notes every fault and goes on.

use std::ops::Range;

use fantail_core::{Time, TimeError};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::decimal;
use crate::keys::{INSTEAD, NOT_YET, Scope, elsewhere};
use crate::problem::{Fault, did_you_mean, quote};

/// A value with the place it was stated at.
#[derive(Clone, Debug)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) span: Range<usize>,
}

/// Of values, wherever they are stated.
impl<T: PartialEq> PartialEq for At<T> {
    fn eq(&self, other: &At<T>) -> bool {
        self.value == other.value
    }
}

/// A key with its value.
pub(crate) struct Entry<'a> {
    pub(crate) key: &'a str,
    pub(crate) key_span: Range<usize>,
    pub(crate) value: &'a DeValue<'a>,
    pub(crate) span: Range<usize>,
}

/// A text of the file, which can tell the place of a part of it.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) str: &'a str,
    pub(crate) span: Range<usize>,
    /// Whether the file holds the text as it is, between single quotes: without escapes.
    plain: bool,
}

impl Text<'_> {
    /// The place of a part of the text.
    pub(crate) fn place(&self, part: &Range<usize>) -> Range<usize> {
        if !self.plain || part.is_empty() && self.str.is_empty() {
            return self.span.clone();
        }
        let start = self.span.start + 1;
        start + part.start..start + part.end
    }
}

/// The entries of a table that were not read yet, in the order of the file.
pub(crate) struct Table<'a> {
    pub(crate) scope: Scope,
    entries: Vec<Entry<'a>>,
}

impl<'a> Table<'a> {
    /// The table as one whose keys are `scope`'s.
    pub(crate) fn new(table: &'a DeTable<'a>, scope: Scope) -> Table<'a> {
        Table { scope, entries: entries(table) }
    }

    /// The entry of `key`, once.
    pub(crate) fn take(&mut self, key: &str) -> Option<Entry<'a>> {
        debug_assert!(
            self.scope.keys().any(|known| known.name == key),
            "{key} is not documented for {}",
            self.scope.place()
        );
        let index = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(index))
    }
}

/// The entries of a table in the order of the file.
pub(crate) fn entries<'a>(table: &'a DeTable<'a>) -> Vec<Entry<'a>> {
    let entry = |(key, value): (&'a Spanned<_>, &'a Spanned<DeValue<'a>>)| {
        let name: &std::borrow::Cow<'a, str> = key.get_ref();
        Entry { key: name, key_span: key.span(), value: value.get_ref(), span: value.span() }
    };
    let mut entries: Vec<Entry<'a>> = table.iter().map(entry).collect();
    entries.sort_by_key(|entry| entry.key_span.start);
    entries
}

/// The faults found so far in a text.
pub(crate) struct Reader<'t> {
    source: &'t str,
    pub(crate) faults: Vec<Fault>,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(source: &'t str) -> Reader<'t> {
        Reader { source, faults: Vec::new() }
    }

    pub(crate) fn fault(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.faults.push(Fault::new(span, message));
    }

    /// Notes the faults of a text at their places in the file, after the key that holds it.
    pub(crate) fn faults_in(&mut self, key: &str, text: &Text<'_>, faults: impl IntoIterator<Item = Fault>) {
        for fault in faults {
            self.fault(text.place(&fault.span), format!("`{key}`: {}", fault.message));
        }
    }

    /// Notes that the value of `entry` is not what its key takes.
    pub(crate) fn mismatch(&mut self, entry: &Entry<'_>, expected: &str) {
        let message = format!("{} is {}; expected {expected}", quote(entry.key), describe(entry.value));
        self.fault(entry.span.clone(), message);
    }

    /// Reads `key` of `table` with `read`; `None` when it is not there or not right.
    pub(crate) fn read<'a, T>(
        &mut self,
        table: &mut Table<'a>,
        key: &str,
        read: impl FnOnce(&mut Reader<'t>, &Entry<'a>) -> Option<T>,
    ) -> Option<At<T>> {
        let entry = table.take(key)?;
        let value = read(self, &entry)?;
        Some(At { value, span: entry.span })
    }

    /// Notes every key that is left in `table`: nothing read it.
    pub(crate) fn finish(&mut self, table: Table<'_>) {
        let scope = table.scope;
        for entry in table.entries {
            let key = quote(entry.key);
            if NOT_YET.contains(&(scope, entry.key)) {
                self.fault(entry.key_span, format!("{key} is not supported yet; leave it out"));
                continue;
            }
            let hint = if let Some((_, instead)) = INSTEAD.iter().find(|(word, _)| *word == entry.key) {
                format!("; {instead}")
            } else if let Some(other) = elsewhere(scope, entry.key) {
                format!(" in {}; it belongs in {}", scope.place(), other.place())
            } else {
                did_you_mean(entry.key, scope.keys().map(|key| key.name))
            };
            self.fault(entry.key_span, format!("unknown key {key}{hint}"));
        }
    }

    /// A value as a table with the keys of `scope`.
    pub(crate) fn table<'a>(&mut self, entry: &Entry<'a>, scope: Scope) -> Option<Table<'a>> {
        let DeValue::Table(table) = entry.value else {
            self.mismatch(entry, "a table");
            return None;
        };
        Some(Table::new(table, scope))
    }

    pub(crate) fn text_or<'a>(&mut self, entry: &Entry<'a>, expected: &str) -> Option<Text<'a>> {
        let text = self.text_of(entry);
        if text.is_none() {
            self.mismatch(entry, expected);
        }
        text
    }

    /// The value as a text when it is one.
    pub(crate) fn text_of<'a>(&self, entry: &Entry<'a>) -> Option<Text<'a>> {
        let DeValue::String(text) = entry.value else { return None };
        let text: &'a str = text;
        let inner = entry.span.start + 1..entry.span.end.saturating_sub(1);
        let plain = self.source.get(inner) == Some(text);
        Some(Text { str: text, span: entry.span.clone(), plain })
    }

    pub(crate) fn boolean(&mut self, entry: &Entry<'_>) -> Option<bool> {
        let value = entry.value.as_bool();
        if value.is_none() {
            self.mismatch(entry, "true or false");
        }
        value
    }

    pub(crate) fn time(&mut self, entry: &Entry<'_>) -> Option<Time> {
        let text = self.text_or(entry, "a duration with its unit, in quotes, like \"2.5s\"")?;
        match text.str.parse::<Time>() {
            Ok(time) => Some(time),
            Err(error) => {
                self.fault(entry.span.clone(), format!("`{}`: {}", entry.key, time_error(text.str, &error)));
                None
            }
        }
    }

    /// A duration above zero.
    pub(crate) fn span(&mut self, entry: &Entry<'_>) -> Option<Time> {
        let time = self.time(entry)?;
        if time == Time::ZERO {
            self.fault(entry.span.clone(), format!("`{}`: got 0s, expected more than 0s", entry.key));
            return None;
        }
        Some(time)
    }

    pub(crate) fn count(&mut self, entry: &Entry<'_>) -> Option<u32> {
        let value = match entry.value {
            DeValue::Integer(digits) => u32::from_str_radix(digits.as_str(), digits.radix()).ok(),
            _ => None,
        };
        if value.is_none() {
            self.mismatch(entry, &format!("a whole number from 0 to {}", u32::MAX));
        }
        value
    }

    /// A whole number from 1.
    pub(crate) fn positive(&mut self, entry: &Entry<'_>) -> Option<u32> {
        let value = self.count(entry)?;
        if value == 0 {
            self.fault(entry.span.clone(), format!("`{}`: got 0, expected at least 1", entry.key));
            return None;
        }
        Some(value)
    }

    pub(crate) fn number(&mut self, entry: &Entry<'_>) -> Option<f64> {
        let value = match entry.value {
            DeValue::Integer(digits) if digits.radix() == 10 => digits.as_str().parse().ok(),
            DeValue::Float(digits) => digits.as_str().parse().ok(),
            _ => None,
        };
        if value.is_none() {
            self.mismatch(entry, "a number");
        }
        value
    }

    pub(crate) fn share(&mut self, entry: &Entry<'_>) -> Option<u32> {
        let text = self.text_or(entry, "a share in quotes, like \"5%\"")?;
        decimal::share(text.str)
            .map_err(|message| self.fault(entry.span.clone(), format!("`{}`: {message}", entry.key)))
            .ok()
    }
}

/// What is wrong with a duration, on one line however long it is.
pub(crate) fn time_error(text: &str, error: &TimeError) -> String {
    if text.len() > 60 || text.contains(char::is_control) {
        return format!("{} is not a duration: write a number with a unit, like 2.5s", quote(text));
    }
    error.to_string()
}

/// A value as messages name it.
fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {}", quote(text)),
        DeValue::Integer(digits) => format!("the number {}", clipped(&digits.to_string())),
        DeValue::Float(digits) => format!("the number {}", clipped(digits.as_str())),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date or time".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// A number's digits, not too many.
fn clipped(digits: &str) -> &str {
    digits.get(..40).unwrap_or(digits)
}
