//! Reads changes to files from edit tools.

use serde_json::Value;

use crate::{ToolOutcome, ToolUse};

/// One change to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Edit {
    /// The path as the tool got it.
    pub(super) path: String,
    /// Set when the file did not exist before.
    pub(super) created: bool,
    /// Set when the file was deleted.
    pub(super) deleted: bool,
    /// The whole content, for a file that was written at once.
    pub(super) content: Option<String>,
    /// The changed lines with a little context: `-` removed, `+` added, a space for context, `@` between hunks.
    pub(super) lines: Vec<String>,
}

/// Lines of context that are kept before and after a change.
const CONTEXT: usize = 2;

impl Edit {
    pub(super) fn added(&self) -> impl Iterator<Item = &str> {
        self.marked('+')
    }

    pub(super) fn removed(&self) -> impl Iterator<Item = &str> {
        self.marked('-')
    }

    fn marked(&self, mark: char) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(move |line| line.strip_prefix(mark))
    }
}

/// Reported by editors when the user saves a file, without its content.
const FILE_SAVE: &str = "FileSave";

/// Says whether a tool changes files.
pub(super) fn is_edit_tool(name: &str) -> bool {
    matches!(
        name,
        "Edit"
            | "Write"
            | "MultiEdit"
            | "NotebookEdit"
            | "edit"
            | "write"
            | "apply_patch"
            | "edit_file"
            | "write_file"
            | "create_file"
            | "str_replace_editor"
            | "str_replace_based_edit_tool"
            | "replace"
            | "multiedit"
            | "patch"
            | FILE_SAVE
    )
}

/// Returns the changes of a tool call; none when it failed or its end is not known.
pub(super) fn of(tool: &ToolUse) -> Vec<Edit> {
    let ToolOutcome::Answered(answer) = &tool.outcome else {
        return Vec::new();
    };
    if let Some(diff) = answer.get("bashEditDiff") {
        return shell_edits(diff);
    }
    if !is_edit_tool(&tool.name) {
        return Vec::new();
    }
    if let Some(patch) = patch_text(&tool.input) {
        return patch_edits(patch);
    }
    let Some(path) = path(tool, answer) else {
        return Vec::new();
    };
    let mut edit = Edit {
        path,
        created: answer.get("type").and_then(Value::as_str) == Some("create"),
        ..Edit::default()
    };
    edit.content = ["content", "file_text"]
        .iter()
        .find_map(|name| tool.input.get(*name)?.as_str())
        .map(str::to_owned);
    if edit.content.is_some() && !tool.input.get("old_string").is_some_and(Value::is_string) {
        let hunks = hunks(answer.get("structuredPatch"));
        edit.lines = hunks;
        if edit.lines.is_empty() {
            let content = edit.content.as_deref().unwrap_or_default();
            edit.lines = content.lines().map(|line| format!("+{line}")).collect();
        }
        return vec![edit];
    }
    edit.lines = hunks(answer.get("structuredPatch"));
    if edit.lines.is_empty() {
        let pairs: Vec<(String, String)> = match tool.input.get("edits").and_then(Value::as_array) {
            Some(edits) => edits.iter().map(|one| pair(one, one)).collect(),
            None => vec![pair(&tool.input, answer)],
        };
        for (old, new) in pairs {
            compare(&old, &new, &mut edit.lines);
        }
    }
    if edit.lines.is_empty() && tool.name != FILE_SAVE {
        Vec::new()
    } else {
        vec![edit]
    }
}

fn path(tool: &ToolUse, answer: &Value) -> Option<String> {
    let found = ["file_path", "path", "notebook_path", "filePath"]
        .iter()
        .find_map(|name| tool.input.get(*name)?.as_str());
    let found = found.or_else(|| answer.get("filePath")?.as_str())?;
    (!found.trim().is_empty()).then(|| found.to_owned())
}

fn pair(input: &Value, answer: &Value) -> (String, String) {
    let text = |from: &Value, names: &[&str]| {
        names
            .iter()
            .find_map(|name| from.get(*name)?.as_str())
            .map(str::to_owned)
    };
    let old = text(input, &["old_string", "old_str"]).or_else(|| text(answer, &["oldString"]));
    let new = text(input, &["new_string", "new_str", "new_source"]).or_else(|| text(answer, &["newString"]));
    (old.unwrap_or_default(), new.unwrap_or_default())
}

/// Compares two texts line by line: common lines at both ends are context.
fn compare(old: &str, new: &str, out: &mut Vec<String>) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[same..], &new[same..]);
    let end = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    if !out.is_empty() {
        out.push("@".to_owned());
    }
    out.extend(
        old[same.saturating_sub(CONTEXT)..same]
            .iter()
            .map(|line| format!(" {line}")),
    );
    out.extend(
        old_rest[..old_rest.len() - end]
            .iter()
            .map(|line| format!("-{line}")),
    );
    out.extend(
        new_rest[..new_rest.len() - end]
            .iter()
            .map(|line| format!("+{line}")),
    );
    out.extend(
        new_rest[new_rest.len() - end..]
            .iter()
            .take(CONTEXT)
            .map(|line| format!(" {line}")),
    );
}

/// Reads the hunks of the host's own patch.
fn hunks(patch: Option<&Value>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for hunk in patch.and_then(Value::as_array).into_iter().flatten() {
        let lines: Vec<&str> = hunk
            .get("lines")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if !out.is_empty() {
            out.push("@".to_owned());
        }
        let is_change = |line: &str| line.starts_with(['+', '-']);
        let mut since_change = usize::MAX;
        for (index, line) in lines.iter().enumerate() {
            if line.starts_with('\\') {
                continue;
            }
            since_change = if is_change(line) {
                0
            } else {
                since_change.saturating_add(1)
            };
            let is_near = since_change <= CONTEXT
                || lines[index..]
                    .iter()
                    .take(CONTEXT + 1)
                    .any(|line| is_change(line));
            if is_near {
                out.push((*line).to_owned());
            }
        }
    }
    out
}

/// The host's own diff of what a shell command changed.
fn shell_edits(diff: &Value) -> Vec<Edit> {
    let list = |name: &str| diff.get(name).and_then(Value::as_array).into_iter().flatten();
    let mut out: Vec<Edit> = Vec::new();
    for file in list("files") {
        if let Some(path) = file.get("filePath").and_then(Value::as_str) {
            out.push(Edit {
                path: path.to_owned(),
                created: file.get("created").and_then(Value::as_bool).unwrap_or(false),
                lines: hunks(file.get("hunks")),
                ..Edit::default()
            });
        }
    }
    for path in list("changedFiles").filter_map(Value::as_str) {
        if !out.iter().any(|known| known.path == path) {
            out.push(Edit {
                path: path.to_owned(),
                ..Edit::default()
            });
        }
    }
    out
}

/// Returns the patch that a tool was given: `*** Begin Patch …`.
fn patch_text(input: &Value) -> Option<&str> {
    let named = || {
        ["patch", "input", "patchText", "patch_text"]
            .iter()
            .find_map(|name| input.get(*name)?.as_str())
    };
    input
        .as_str()
        .or_else(named)
        .filter(|text| text.contains("*** Begin Patch"))
}

fn patch_edits(patch: &str) -> Vec<Edit> {
    let mut out: Vec<Edit> = Vec::new();
    for line in patch.lines() {
        if let Some((action, path)) = line
            .strip_prefix("*** ")
            .and_then(|rest| rest.split_once(" File: "))
        {
            out.push(Edit {
                path: path.trim().to_owned(),
                created: action == "Add",
                deleted: action == "Delete",
                ..Edit::default()
            });
        } else if let Some(edit) = out.last_mut() {
            if line.starts_with(['+', '-', ' ']) {
                edit.lines.push(line.to_owned());
            } else if line.starts_with("@@") && !edit.lines.is_empty() {
                edit.lines.push("@".to_owned());
            }
        }
    }
    for edit in out.iter_mut().filter(|edit| edit.created) {
        let content: Vec<&str> = edit
            .lines
            .iter()
            .filter_map(|line| line.strip_prefix('+'))
            .collect();
        edit.content = Some(content.join("\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use backstory_model::Timestamp;
    use serde_json::json;

    fn tool(name: &str, input: Value, answer: Value) -> ToolUse {
        ToolUse {
            id: None,
            agent_id: None,
            name: name.into(),
            input,
            outcome: ToolOutcome::Answered(answer),
            at: Timestamp::EPOCH,
        }
    }

    #[test]
    fn the_patch_of_the_answer_is_read_with_a_little_context() {
        let lines = json!([
            " 1", " 2", " 3", "-a", "+b", " 4", " 5", " 6", " 7", " 8", " 9", "+c"
        ]);
        let answer = json!({"filePath": "/w/a.py", "structuredPatch": [{"lines": lines}]});
        let edits = of(&tool("Edit", json!({"file_path": "/w/a.py"}), answer));
        assert_eq!(
            edits[0].lines,
            [" 2", " 3", "-a", "+b", " 4", " 5", " 8", " 9", "+c"]
        );
    }

    #[test]
    fn without_a_patch_the_texts_are_compared() {
        let input = json!({"file_path": "/w/a.rs", "old_string": "a\nb\nc", "new_string": "a\nfn x() {}\nc"});
        let edits = of(&tool("Edit", input, json!("updated")));
        assert_eq!(edits[0].lines, [" a", "-b", "+fn x() {}", " c"]);
    }

    #[test]
    fn a_patch_text_names_its_files() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-let a = 1;\n+let a = 2;\n*** Add File: b.md\n+hello\n*** Delete File: c\n*** End Patch";
        let edits = of(&tool("apply_patch", json!({ "input": patch }), json!("Success")));
        let seen: Vec<_> = edits
            .iter()
            .map(|edit| (edit.path.as_str(), edit.created, edit.deleted))
            .collect();
        assert_eq!(
            seen,
            [
                ("src/a.rs", false, false),
                ("b.md", true, false),
                ("c", false, true)
            ]
        );
        assert_eq!(edits[1].content.as_deref(), Some("hello"));
    }

    #[test]
    fn a_failed_edit_changed_nothing() {
        let mut failed = tool("Edit", json!({"file_path": "a", "old_string": "x"}), json!(null));
        for outcome in [
            ToolOutcome::Unknown,
            ToolOutcome::Failed("not found".into()),
            ToolOutcome::Refused(None),
        ] {
            failed.outcome = outcome;
            assert!(of(&failed).is_empty());
        }
    }
}
