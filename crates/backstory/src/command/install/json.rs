//! Adds and removes our entries in JSON files of other programs. Everything else keeps its bytes.

use anyhow::{Result, anyhow, bail};
use backstory_capture::host::HookRow;
use jsonc_parser::{
    ParseOptions,
    cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode},
};
use serde_json::Value;

use super::owned_entries;

/// Name of our entry among MCP servers.
const SERVER: &str = "backstory";

/// Name of the property of the status line.
const STATUS_LINE: &str = "statusLine";

/// JSON file with its comments and whitespace.
pub(super) struct Document {
    root: CstRootNode,
}

impl Document {
    /// Parses a file: JSON, comments and trailing commas; an empty file is an empty object.
    pub(super) fn read(text: &str) -> Result<Self> {
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let root = CstRootNode::parse(text, &options).map_err(|error| {
            let (line, column) = (error.line_display(), error.column_display());
            let what = error.kind().to_string().to_lowercase();
            anyhow!("line {line}, column {column}: {what}")
        })?;
        Ok(Self { root })
    }

    pub(super) fn text(&self) -> String {
        self.root.to_string()
    }

    /// Returns the value; null if the file is empty.
    pub(super) fn value(&self) -> Value {
        let value = self.root.value().and_then(|value| value.to_serde_value());
        value.unwrap_or_default()
    }

    fn object(&self) -> Result<CstObject> {
        let object = self.root.object_value_or_create();
        object.ok_or_else(|| anyhow!("not an object"))
    }

    /// Appends a hook to the list of its event.
    pub(super) fn add_hook(&self, row: &HookRow, entry: &Value) -> Result<()> {
        let hooks = self.object()?.object_value_or_create("hooks");
        let list = hooks.and_then(|hooks| hooks.array_value_or_create(row.theirs));
        let Some(list) = list else {
            bail!("`hooks` or `hooks.{}` has an unexpected type", row.theirs);
        };
        list.append(input(entry));
        Ok(())
    }

    /// Adds the version of the file format, unless it is there.
    pub(super) fn add_version(&self, version: u8) -> Result<()> {
        let object = self.object()?;
        if object.get("version").is_none() {
            object.insert(0, "version", u32::from(version).into());
        }
        Ok(())
    }

    /// Adds our MCP server, unless the user has one of that name.
    pub(super) fn add_server(&self, key: &str, entry: &Value) -> Result<()> {
        let Some(servers) = self.object()?.object_value_or_create(key) else {
            bail!("`{key}` has an unexpected type");
        };
        if servers.get(SERVER).is_none() {
            servers.append(SERVER, input(entry));
        }
        Ok(())
    }

    /// Adds our status line, unless there is one.
    pub(super) fn add_status_line(&self, entry: &Value) -> Result<()> {
        let object = self.object()?;
        if object.get(STATUS_LINE).is_none() {
            object.append(STATUS_LINE, input(entry));
        }
        Ok(())
    }

    /// Returns true if the status line is ours.
    pub(super) fn has_own_status_line(&self) -> bool {
        owned_entries::is_status_line(&self.value()[STATUS_LINE])
    }

    /// Removes our status line.
    pub(super) fn remove_status_line(&self) {
        let property = self
            .root
            .object_value()
            .and_then(|object| object.get(STATUS_LINE));
        if let Some(property) = property.filter(|_| self.has_own_status_line()) {
            property.remove();
        }
    }

    /// Removes all hooks that call us, and containers that are empty afterwards.
    pub(super) fn remove_hooks(&self) {
        let Some(property) = self.root.object_value().and_then(|object| object.get("hooks")) else {
            return;
        };
        let Some(hooks) = property.object_value() else {
            return;
        };
        let mut has_changed = false;
        for event in hooks.properties() {
            if event.array_value().is_some_and(|list| clear(&list)) {
                has_changed = true;
                remove_if_empty(event);
            }
        }
        if has_changed {
            remove_if_empty(property);
        }
    }

    /// Removes our MCP server, and its container if it is empty afterwards.
    pub(super) fn remove_server(&self, key: &str) {
        let Some(property) = self.root.object_value().and_then(|object| object.get(key)) else {
            return;
        };
        let named = property.object_value().and_then(|servers| servers.get(SERVER));
        let is_ours = |named: &CstObjectProp| {
            let entry = named.value().and_then(|entry| entry.to_serde_value());
            entry.is_some_and(|entry| owned_entries::server_program(&entry).is_some())
        };
        if let Some(ours) = named.filter(is_ours) {
            ours.remove();
            remove_if_empty(property);
        }
    }
}

/// Removes a property whose value is empty. One that was empty before `install` goes too: the two look the same.
fn remove_if_empty(property: CstObjectProp) {
    let is_empty = match (property.array_value(), property.object_value()) {
        (Some(list), _) => list.elements().is_empty(),
        (_, Some(object)) => object.properties().is_empty(),
        _ => false,
    };
    if is_empty {
        property.remove();
    }
}

/// Removes our hooks from the list of an event. Returns true if there were any.
fn clear(list: &CstArray) -> bool {
    let mut has_changed = false;
    for element in list.elements() {
        let group = element.as_object().and_then(|object| object.array_value("hooks"));
        match group {
            // Hooks of other programs may be in the same group.
            Some(group) => {
                let ours: Vec<CstNode> = group.elements().into_iter().filter(is_ours).collect();
                if ours.is_empty() {
                    continue;
                }
                has_changed = true;
                ours.into_iter().for_each(CstNode::remove);
                if group.elements().is_empty() {
                    element.remove();
                }
            }
            None if is_ours(&element) => {
                has_changed = true;
                element.remove();
            }
            None => {}
        }
    }
    has_changed
}

fn is_ours(hook: &CstNode) -> bool {
    hook.to_serde_value()
        .is_some_and(|hook| owned_entries::hook_program(&hook).is_some())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(object) => CstInputValue::Object(
            object
                .iter()
                .map(|(name, value)| (name.clone(), input(value)))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use backstory_capture::host::{self, InstallItem};

    use super::*;

    /// Returns the hooks of Claude Code with their entries.
    fn claude_code() -> Vec<(&'static HookRow, Value)> {
        let spec = host::find("claude-code").unwrap();
        let InstallItem::Hooks { entry, .. } = &spec.parts[0] else {
            panic!("hooks come first")
        };
        let rows = spec.hooks.iter();
        rows.map(|row| (row, entry(row, "/usr/bin/backstory"))).collect()
    }

    fn with_ours(text: &str) -> String {
        let document = Document::read(text).unwrap();
        for (row, entry) in &claude_code()[..2] {
            document.add_hook(row, entry).unwrap();
        }
        document.text()
    }

    fn without_ours(text: &str) -> String {
        let document = Document::read(text).unwrap();
        document.remove_hooks();
        document.text()
    }

    #[test]
    fn hooks_are_added_in_the_style_of_the_file() {
        let text = "{\n\t// mine\n\t\"a\": 1,\n\t\"hooks\": {\n\t\t\"Stop\": []\n\t}\n}\n";
        insta::assert_snapshot!(with_ours(text).replace('\t', "→"), @r#"
        {
        →// mine
        →"a": 1,
        →"hooks": {
        →→"Stop": [],
        →→"SessionStart": [
        →→→{
        →→→→"hooks": [
        →→→→→{
        →→→→→→"type": "command",
        →→→→→→"command": "/usr/bin/backstory",
        →→→→→→"args": ["hook", "session-start"]
        →→→→→}
        →→→→]
        →→→}
        →→],
        →→"UserPromptSubmit": [
        →→→{
        →→→→"hooks": [
        →→→→→{
        →→→→→→"type": "command",
        →→→→→→"command": "/usr/bin/backstory",
        →→→→→→"args": ["hook", "user-prompt-submit"]
        →→→→→}
        →→→→]
        →→→}
        →→]
        →}
        }
        "#);
    }

    #[test]
    fn added_entries_are_removed_again() {
        for text in [
            "{}\n",
            "{\n  \"a\": [1, 2], // why\n  \"b\": {}\n}",
            "{\r\n    \"model\": \"x\"\r\n}\r\n",
            "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [] }\n    ]\n  }\n}\n",
        ] {
            let added = with_ours(text);
            assert!(added.contains("session-start"));
            assert_eq!(without_ours(&added), text);
        }
    }

    #[test]
    fn only_our_own_hooks_are_removed() {
        let ours = [
            r#"{"command": "/opt/bin/backstory", "args": ["hook", "stop"]}"#,
            r#"{"command": "backstory hook stop --host cursor"}"#,
            r#"{"bash": "'/a b/backstory' hook stop"}"#,
        ];
        let others = [
            r#"{"command": "/opt/bin/backstory", "args": ["export"]}"#,
            r#"{"command": "/home/me/notify.sh && /usr/bin/backstory hook stop"}"#,
            r#"{"type": "prompt", "prompt": "backstory hook stop"}"#,
        ];
        for hook in ours {
            let text = format!("{{\"hooks\": {{\"Stop\": [{hook}]}}}}");
            assert_eq!(without_ours(&text), "{}", "{hook}");
            let group = format!(
                "{{\"hooks\": {{\"Stop\": [{{\"hooks\": [{hook}, {}]}}]}}}}",
                others[0]
            );
            assert!(!without_ours(&group).contains(hook) && without_ours(&group).contains("export"));
        }
        for hook in others {
            let text = format!("{{\"hooks\": {{\"Stop\": [{hook}, {{\"hooks\": [{hook}]}}]}}}}");
            assert_eq!(without_ours(&text), text);
        }
    }

    #[test]
    fn invalid_json_is_rejected_with_its_position() {
        let error = |text: &str| Document::read(text).err().unwrap().to_string();
        assert_eq!(
            error("{\n  \"a\": \n}"),
            "line 3, column 1: unexpected close brace"
        );
        for text in ["{", "{\"a\": 1 \"b\": 2}", "{a: 1}", "{'a': 1}", "{} x"] {
            error(text);
        }
        let list = Document::read("[]").unwrap();
        assert!(list.add_version(1).is_err());
        let odd = Document::read("{\"hooks\": [], \"mcpServers\": 5}").unwrap();
        let (row, entry) = &claude_code()[0];
        assert!(odd.add_hook(row, entry).is_err());
        assert!(odd.add_server("mcpServers", &Value::Null).is_err());
    }
}
