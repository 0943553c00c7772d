//! Changes one key in the text of `config.toml` and keeps everything else.

use anyhow::{Context, Result, bail};
use toml_edit::{Array, Document, DocumentMut, Item, RawString, Table, TableLike, Value};

use super::keys::SettingKey;

/// Returns the text with one key set.
pub(super) fn set(text: &str, key: &SettingKey, value: &toml::Value) -> Result<String> {
    let mut document: DocumentMut = text.parse()?;
    let section = section(&mut document, key.section)?;
    match section.get_mut(key.name) {
        Some(Item::Value(old)) => replace(old, value),
        _ => {
            // Removed first: a sub-section of that name would keep its position and form.
            section.remove(key.name);
            section.insert(key.name, Item::Value(to_edit(value)));
        }
    }
    // A value inserted into `{ … }` gets the space that was before the brace.
    if let Some(inline) = document.get_mut(key.section).and_then(Item::as_inline_table_mut)
        && !inline.to_string().contains('\n')
    {
        inline.fmt();
    }
    Ok(with_line_ends_of(text, &document.to_string()))
}

/// Returns the text without one key; a comment above it stays.
pub(super) fn unset(text: &str, key: &SettingKey) -> Result<String> {
    let document = Document::parse(text)?;
    let table = document.get(key.section).and_then(Item::as_table);
    if let Some((name, Item::Value(value))) = table.and_then(|table| table.get_key_value(key.name)) {
        // Cut from the text, not from the document, which would also remove the comments above.
        let (start, end) = name
            .span()
            .zip(value.span())
            .map(|(k, v)| (k.start, v.end))
            .context("no span")?;
        let start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[end..]
            .find('\n')
            .map_or(text.len(), |newline| end + newline + 1);
        return Ok([&text[..start], &text[end..]].concat());
    }
    let mut document: DocumentMut = text.parse()?;
    let section = document.get_mut(key.section).and_then(Item::as_table_like_mut);
    // Printing a document may add a final newline, so one without the key is not printed.
    Ok(match section.and_then(|section| section.remove(key.name)) {
        Some(_) => with_line_ends_of(text, &document.to_string()),
        None => text.to_owned(),
    })
}

/// Returns the section to write into; appends it if it does not exist.
fn section<'a>(document: &'a mut DocumentMut, name: &str) -> Result<&'a mut dyn TableLike> {
    if !document.contains_key(name) {
        let mut table = Table::new();
        // Text below the last value would otherwise end up below the new section.
        let above = document
            .trailing()
            .as_str()
            .unwrap_or_default()
            .trim_end()
            .to_owned();
        let space = if document.is_empty() && above.is_empty() {
            ""
        } else {
            "\n"
        };
        let gap = if above.is_empty() { "" } else { "\n" };
        table.decor_mut().set_prefix(format!("{above}{gap}{space}"));
        document.set_trailing("");
        document.insert(name, Item::Table(table));
    }
    match document.get_mut(name).and_then(Item::as_table_like_mut) {
        Some(section) => Ok(section),
        None => bail!("`{name}` is not a section; write it as [{name}] first"),
    }
}

/// Replaces a value and keeps the comments around it.
fn replace(old: &mut Value, value: &toml::Value) {
    let mut new = match (&*old, value) {
        (Value::Array(items), toml::Value::Array(wanted)) => Value::Array(edited(items, wanted)),
        _ => to_edit(value),
    };
    *new.decor_mut() = old.decor().clone();
    *old = new;
}

/// Item of a list with its comments: the lines above and the rest of its line.
struct Slot {
    above: String,
    item: Value,
    behind: String,
}

/// Turns one list into another in which each remaining item keeps its line and its comments.
fn edited(items: &Array, wanted: &[toml::Value]) -> Array {
    let (slots, mut closing) = slots(items);
    let first_above = slots.first().map_or("", |slot| slot.above.as_str());
    let last_above = slots.last().map_or(" ", |slot| slot.above.as_str());
    let indent = last_above
        .rfind('\n')
        .map_or(" ", |newline| &last_above[newline..]);

    let mut list = Array::new();
    let mut behind = "";
    for (index, wanted) in wanted.iter().enumerate() {
        let slot = slots.iter().find(|slot| slot.item.as_str() == wanted.as_str());
        let above = match slot.map_or(indent, |slot| &slot.above) {
            above if above.contains('\n') => above,
            _ if behind.contains('#') => "\n    ",
            _ if index == 0 => first_above,
            _ => " ",
        };
        let item = slot.map_or_else(|| to_edit(wanted), |slot| slot.item.clone());
        list.push_formatted(item.decorated(format!("{behind}{above}"), ""));
        behind = slot.map_or("", |slot| &slot.behind);
    }
    if list.is_empty() && !closing.contains('#') {
        closing.clear();
    }
    list.set_trailing(format!("{behind}{closing}"));
    list.set_trailing_comma(items.trailing_comma() && !list.is_empty());
    list
}

/// Splits a list into its items and the text before its closing bracket.
fn slots(items: &Array) -> (Vec<Slot>, String) {
    let plain = |text: Option<&RawString>| text.and_then(RawString::as_str).unwrap_or_default().to_owned();
    let mut slots: Vec<Slot> = Vec::new();
    let mut suffix = String::new();
    for item in items {
        let gap = suffix + &plain(item.decor().prefix());
        suffix = plain(item.decor().suffix());
        let above = share(&mut slots, gap);
        slots.push(Slot {
            above,
            item: item.clone(),
            behind: String::new(),
        });
    }
    let closing = share(&mut slots, suffix + &plain(Some(items.trailing())));
    (slots, closing)
}

/// Splits the text between two items: the rest of the first one's line belongs to the first.
///
/// That comment comes after the comma, so the parser assigns it to the second.
fn share(slots: &mut [Slot], gap: String) -> String {
    match (slots.last_mut(), gap.split_once('\n')) {
        (Some(slot), Some((behind, _))) => {
            slot.behind = behind.to_owned();
            gap[behind.len()..].to_owned()
        }
        _ => gap,
    }
}

fn to_edit(value: &toml::Value) -> Value {
    match value {
        toml::Value::Boolean(flag) => Value::from(*flag),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Array(items) => Value::Array(items.iter().map(to_edit).collect()),
        toml::Value::String(text) => Value::from(text.as_str()),
        other => Value::from(other.to_string()),
    }
}

/// Restores CRLF line ends.
fn with_line_ends_of(original: &str, text: &str) -> String {
    if original.contains("\r\n") {
        text.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, name: &str, value: Option<toml::Value>) -> String {
        let key = SettingKey::named(name).unwrap();
        match value {
            Some(value) => set(text, key, &value).unwrap(),
            None => unset(text, key).unwrap(),
        }
    }

    #[test]
    fn setting_a_key_keeps_everything_else() {
        let number = |number: i64| Some(toml::Value::Integer(number));
        let table = [
            ("", "context.full", number(7), "[context]\nfull = 7\n"),
            (
                "# head\n",
                "context.full",
                number(7),
                "# head\n\n[context]\nfull = 7\n",
            ),
            (
                "[context]\n# why\nfull = 5 # so\n\n# tail\n",
                "context.full",
                number(7),
                "[context]\n# why\nfull = 7 # so\n\n# tail\n",
            ),
            (
                "[context]\nfull=5\n# tail\n",
                "ui.timezone",
                Some("UTC".into()),
                "[context]\nfull=5\n# tail\n\n[ui]\ntimezone = \"UTC\"\n",
            ),
            (
                "[ui]\n\n# c\n[context] # here\nfull = 5\n",
                "ui.timezone",
                Some("UTC".into()),
                "[ui]\ntimezone = \"UTC\"\n\n# c\n[context] # here\nfull = 5\n",
            ),
            (
                "context.full = 1 # a\n",
                "context.sessions",
                number(2),
                "context.full = 1 # a\ncontext.sessions = 2\n",
            ),
            (
                "context = { full = 1 }\n",
                "context.sessions",
                number(2),
                "context = { full = 1, sessions = 2 }\n",
            ),
            (
                "context = {}",
                "context.sessions",
                number(2),
                "context = { sessions = 2 }\n",
            ),
            (
                "[context.full]\na = 1\n",
                "context.full",
                number(2),
                "[context]\nfull = 2\n",
            ),
            (
                "[context]\r\nfull = 1\r\n",
                "context.sessions",
                number(2),
                "[context]\r\nfull = 1\r\nsessions = 2\r\n",
            ),
        ];
        for (before, name, value, after) in table {
            assert_eq!(changed(before, name, value), after, "{name} in {before:?}");
        }
    }

    #[test]
    fn the_items_of_a_list_keep_their_lines_and_comments() {
        let lines = "[\n  'a', # first\n  # the second:\n  \"b\",\n  'c', # last\n] # end";
        let table: &[(&str, &[&str], &str)] = &[
            (lines, &["a", "b", "c"], lines),
            (
                lines,
                &["a", "b", "c", "d"],
                "[\n  'a', # first\n  # the second:\n  \"b\",\n  'c', # last\n  \"d\",\n] # end",
            ),
            (lines, &["a", "c"], "[\n  'a', # first\n  'c', # last\n] # end"),
            (
                lines,
                &["a", "b"],
                "[\n  'a', # first\n  # the second:\n  \"b\",\n] # end",
            ),
            (lines, &["c", "a"], "[\n  'c', # last\n  'a', # first\n] # end"),
            (lines, &["x"], "[\n  \"x\",\n] # end"),
            (lines, &[], "[] # end"),
            ("[ 'a', \"b\" ]", &["b", "c"], "[ \"b\", \"c\" ]"),
            (
                "['a'\n  , 'b' # b\n]",
                &["a", "b", "c"],
                "['a',\n   'b', # b\n   \"c\"\n]",
            ),
            ("['a', # a\n]", &["a", "c"], "['a', # a\n    \"c\",\n]"),
            ("[]", &["a", "b"], "[\"a\", \"b\"]"),
            ("[ # none\n]", &["a"], "[\"a\" # none\n]"),
            ("[1, { a = 2 }, 'b']", &["b"], "['b']"),
        ];
        for (before, wanted, after) in table {
            let text = format!("[capture]\nexclude = {before}\n");
            let after = format!("[capture]\nexclude = {after}\n");
            assert_eq!(
                changed(&text, "capture.exclude", Some(wanted.to_vec().into())),
                after,
                "{text}"
            );
        }
    }

    #[test]
    fn unsetting_a_key_removes_its_line_only() {
        let table = [
            (
                "# head\n\n# why\ncontext.full = 7 # so\n# end\n",
                "# head\n\n# why\n# end\n",
            ),
            ("[context]\nsessions = 1\nfull = 7", "[context]\nsessions = 1\n"),
            (
                "[context]\r\nfull = 7\r\nsessions = 1\r\n",
                "[context]\r\nsessions = 1\r\n",
            ),
            (
                "[context]\nfull = [\n 1,\n]\nsessions = 1\n",
                "[context]\nsessions = 1\n",
            ),
            (
                "context = { full = 7, sessions = 1 }\n",
                "context = { sessions = 1 }\n",
            ),
            ("[context.full]\na = 1\n[ui]\n", "[ui]\n"),
            ("[ui] # no line end", "[ui] # no line end"),
        ];
        for (before, after) in table {
            assert_eq!(changed(before, "context.full", None), after, "{before:?}");
        }
    }
}
