//! Changes of single keys that leave everything around them as it is.

use toml_edit::{Decor, Item, Key, Table, TableLike, Value};

/// Sets a key of a table; comments around it stay.
pub(super) fn set(item: &mut Item, key: &str, mut new: Value) {
    within(item, |table| {
        let Some(item) = table.get_mut(key) else {
            table.insert(key, Item::Value(new));
            return;
        };
        let above = item.as_table().map(above);
        if let Some(old) = item.as_value() {
            *new.decor_mut() = old.decor().clone();
        }
        *item = Item::Value(new);
        if let Some((above, mut key)) = above.zip(table.key_mut(key)) {
            key.leaf_decor_mut().set_prefix(above);
        }
    });
}

/// What stands above a table: its header, or the first of its keys where they are dotted.
fn above(table: &Table) -> String {
    let first = || table.iter().next().and_then(|(name, _)| table.key(name));
    let decor = if table.is_dotted() { first().map(Key::leaf_decor) } else { Some(table.decor()) };
    decor.map(prefix).unwrap_or_default()
}

/// Removes a key of a table; comments above it stay, and those within a table that goes, each on a line of its own.
pub(super) fn remove(item: &mut Item, key: &str) {
    within(item, |table| {
        let within = table.get(key).and_then(Item::as_table).map(comments);
        let above = table.key(key).map(|key| prefix(key.leaf_decor()));
        let above = within.or(above).filter(|above| above.contains('#'));
        let next = table.iter().skip_while(|(name, _)| *name != key).nth(1).map(|(name, _)| name.to_owned());
        table.remove(key);
        let Some(above) = above else { return };
        if let Some(header) = next.as_deref().and_then(|next| first_header(table.get_mut(next)?)) {
            let below = prefix(header);
            header.set_prefix(above + &below);
        } else if let Some(mut key) = next.as_deref().and_then(|next| table.key_mut(next)) {
            let below = prefix(key.leaf_decor());
            key.leaf_decor_mut().set_prefix(above + &below);
        } else if let Some(last) = last_of_all(table) {
            let before = suffix(last.decor());
            last.decor_mut().set_suffix(before + "\n" + above.trim_end_matches('\n'));
        }
    });
}

/// The last value of a table and the tables in it.
fn last_of_all(table: &mut dyn TableLike) -> Option<&mut Value> {
    match table.iter_mut().last()?.1 {
        Item::Value(value) => Some(value),
        Item::Table(table) => last_of_all(table),
        _ => None,
    }
}

/// All comments of a table, above it and in it.
fn comments(table: &Table) -> String {
    let mut text = above(table);
    text += &own_line(&suffix(table.decor()));
    for (i, (name, item)) in table.iter().enumerate() {
        let is_above = table.is_dotted() && i == 0;
        let before = table.key(name).filter(|_| !is_above).map(|key| prefix(key.leaf_decor()));
        text += &before.filter(|before| before.contains('#')).unwrap_or_default();
        text += &item.as_value().map(|value| own_line(&suffix(value.decor()))).unwrap_or_default();
    }
    text
}

/// A comment at the end of a line as a line.
fn own_line(suffix: &str) -> String {
    let comment = suffix.trim();
    if comment.is_empty() { String::new() } else { format!("{comment}\n") }
}

/// What stands above the first header that an item has in the text; `None` for what has none.
fn first_header(item: &mut Item) -> Option<&mut Decor> {
    let table = item.as_table_mut()?;
    if table.is_dotted() {
        return None;
    }
    if !table.is_implicit() {
        return Some(table.decor_mut());
    }
    table.iter_mut().find_map(|(_, item)| first_header(item))
}

/// Changes a table, and keeps the blanks before the end of one between braces.
fn within(item: &mut Item, change: impl FnOnce(&mut dyn TableLike)) {
    let is_inline = item.is_inline_table();
    let Some(table) = item.as_table_like_mut() else { return };
    if !is_inline {
        return change(table);
    }
    let blanks = last_value(table).map(|last| {
        let blanks = suffix(last.decor());
        last.decor_mut().set_suffix("");
        blanks
    });
    change(table);
    if let Some((blanks, last)) = blanks.zip(last_value(table)) {
        last.decor_mut().set_suffix(blanks);
    }
}

fn last_value(table: &mut dyn TableLike) -> Option<&mut Value> {
    table.iter_mut().last()?.1.as_value_mut()
}

fn prefix(decor: &Decor) -> String {
    decor.prefix().and_then(|raw| raw.as_str()).unwrap_or_default().to_owned()
}

fn suffix(decor: &Decor) -> String {
    decor.suffix().and_then(|raw| raw.as_str()).unwrap_or_default().to_owned()
}
