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

/// Removes a key of a table; comments above it stay.
pub(super) fn remove(item: &mut Item, key: &str) {
    within(item, |table| {
        let above = table.key(key).map(|key| prefix(key.leaf_decor())).filter(|above| above.contains('#'));
        let next = table.iter().skip_while(|(name, _)| *name != key).nth(1).map(|(name, _)| name.to_owned());
        table.remove(key);
        let Some(above) = above else { return };
        if let Some(mut key) = next.as_deref().and_then(|next| table.key_mut(next)) {
            let below = prefix(key.leaf_decor());
            key.leaf_decor_mut().set_prefix(above + &below);
        } else if let Some(last) = last_value(table) {
            let before = suffix(last.decor());
            last.decor_mut().set_suffix(before + "\n" + above.trim_end_matches('\n'));
        }
    });
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
