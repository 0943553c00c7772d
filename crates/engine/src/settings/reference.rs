//! Renders the settings reference from `defaults.toml`.

use std::fmt::Write as _;

use toml_edit::{DocumentMut, Item, RawString};

use super::DEFAULTS;
use super::keys::{KEYS, SettingKey, section_names};

/// Renders all settings as the Markdown of `docs/settings.md`.
pub fn reference() -> String {
    let document: DocumentMut = DEFAULTS.parse().expect("a test parses the embedded defaults");
    let mut page = String::from(INTRODUCTION);
    for section in section_names() {
        let table = document.get(section).and_then(Item::as_table);
        let about = comment(table.and_then(|table| table.decor().prefix()));
        page.push_str(&format!("\n## {section}\n\n{}\n\n{TABLE_HEAD}", about.join(" ")));
        for key in KEYS.iter().filter(|key| key.section == section) {
            let Meaning { text, values } = meaning(&document, key);
            let default = table
                .and_then(|table| table.get(key.name))
                .and_then(Item::as_value);
            let default = default
                .map(|value| value.to_string().trim().to_owned())
                .unwrap_or_default();
            let (name, variable) = (key.name, key.variable());
            let [default, values, text] = [default, values, text].map(|cell| cell.replace('|', "\\|"));
            writeln!(
                page,
                "| `{name}` | `{default}` | {values} | `{variable}` | {text} |"
            )
            .expect("a string takes any text");
        }
    }
    page
}

const INTRODUCTION: &str = "\
# Settings

<!-- Made from crates/engine/src/settings/defaults.toml; a test keeps the two alike. -->

Settings are read from `config.toml` in `~/.backstory` (or `$BACKSTORY_HOME`). `backstory config list` shows every
setting with its value and where it comes from, `backstory config set KEY VALUE` changes one and keeps the comments of
the file. An environment variable wins over the file; the items of a list are separated by commas there. Agents pass on the
variables of their project, so there are two limits: a variable can make `[capture]`, `recall.guard` and `mcp.all_projects` stricter,
never looser (lists grow, `max_payload_kb` shrinks), and the background worker, which serves all projects, reads the file alone. An
unknown key or a bad value is reported with its line: commands stop, hooks go on with the default.
";

const TABLE_HEAD: &str = "\
| key | default | values | environment | meaning |
|---|---|---|---|---|
";

/// Returns the description of each key, in the order of [`KEYS`].
pub fn meanings() -> Vec<String> {
    let document: DocumentMut = DEFAULTS.parse().expect("a test parses the embedded defaults");
    KEYS.iter().map(|key| meaning(&document, key).text).collect()
}

/// Comment above a key.
pub(super) struct Meaning {
    /// Description.
    pub(super) text: String,
    /// Accepted values.
    pub(super) values: String,
}

/// Parses the comment above a key of `defaults.toml`.
pub(super) fn meaning(document: &DocumentMut, key: &SettingKey) -> Meaning {
    let table = document.get(key.section).and_then(Item::as_table);
    let lines = comment(
        table
            .and_then(|table| table.key(key.name))
            .and_then(|key| key.leaf_decor().prefix()),
    );
    let (values, text): (Vec<&str>, Vec<&str>) = lines.iter().partition(|line| line.starts_with("Values: "));
    Meaning {
        text: text.join(" "),
        values: values.concat().replacen("Values: ", "", 1),
    }
}

/// Returns the lines of the comment directly above an item, without their markers.
fn comment(above: Option<&RawString>) -> Vec<&str> {
    let above = above.and_then(RawString::as_str).unwrap_or_default();
    let block = above.trim_end().rsplit("\n\n").next().unwrap_or_default();
    block
        .lines()
        .map(|line| line.trim_start_matches('#').trim())
        .filter(|line| !line.is_empty())
        .collect()
}
