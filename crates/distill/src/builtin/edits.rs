//! What tools changed in files: the only evidence for "files modified".

use backstory_model::relative_path;
use serde_json::Value;

use super::order::is_order;
use super::patch;
use super::paths;
use super::text::{clip, code, head};
use crate::{ToolOutcome, ToolUse};

/// One change of one file by one tool use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    /// The position of the tool use in the turn.
    pub(super) step: usize,
    /// The file, as it is shown.
    pub(super) path: String,
    /// The id of the tool use.
    pub(super) id: Option<String>,
    /// The sub-agent that made it.
    pub(super) agent_id: Option<String>,
    /// Whether the file was not there before.
    pub(super) created: bool,
    /// Lines that went.
    pub(super) removed: Vec<String>,
    /// Lines that came.
    pub(super) added: Vec<String>,
    /// Lines around these that stayed.
    pub(super) around: Vec<String>,
    /// What a later step did to it.
    pub(super) fate: Fate,
}

/// What became of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It stands.
    Kept,
    /// A later edit changed the same lines again.
    Rewritten,
    /// A later step took it back.
    Undone,
}

const MAX_LINES: usize = 240;
const MAX_TEXT: usize = 32 * 1024;
const MAX_FILES: usize = 60;

/// The edits of a tool use; none when it failed or changed nothing.
pub(super) fn of(tool: &ToolUse, step: usize, root: Option<&str>) -> Vec<Edit> {
    // A call without a known end may have been refused: no evidence.
    let ToolOutcome::Answered(answer) = &tool.outcome else {
        return Vec::new();
    };
    let start = |path: &str| Edit {
        step,
        path: relative_path(path, root),
        id: tool.id.clone(),
        agent_id: tool.agent_id.clone(),
        created: false,
        removed: Vec::new(),
        added: Vec::new(),
        around: Vec::new(),
        fate: Fate::Kept,
    };
    if let Some(diff) = answer.get("bashEditDiff") {
        return shell_edits(diff, &start);
    }
    if !is_edit_tool(&tool.name) {
        return Vec::new();
    }
    if let Some(patch) = patch::text(&tool.input) {
        return patch::edits(patch, &start);
    }
    let path = [
        (answer, "filePath"),
        (&tool.input, "file_path"),
        (&tool.input, "path"),
        (&tool.input, "notebook_path"),
    ]
    .iter()
    .find_map(|(from, key)| from.get(key).and_then(Value::as_str));
    let Some(path) = path.filter(|path| !path.trim().is_empty()) else {
        return Vec::new();
    };
    let mut edit = start(path);
    edit.created = answer.get("type").and_then(Value::as_str) == Some("create");
    if !hunks(answer.get("structuredPatch"), &mut edit) {
        from_input(&tool.input, answer, &mut edit);
    }
    vec![edit]
}

fn is_edit_tool(name: &str) -> bool {
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
            | "replace"
    )
}

/// The client's own diff of what a shell command changed.
fn shell_edits(diff: &Value, start: &dyn Fn(&str) -> Edit) -> Vec<Edit> {
    let mut out: Vec<Edit> = Vec::new();
    for file in diff
        .get("files")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .take(MAX_FILES)
    {
        let Some(path) = file.get("filePath").and_then(Value::as_str) else {
            continue;
        };
        let mut edit = start(path);
        if paths::is_left_behind(&edit.path) {
            continue;
        }
        edit.created = file.get("created").and_then(Value::as_bool).unwrap_or(false);
        hunks(file.get("hunks"), &mut edit);
        out.push(edit);
    }
    for path in diff
        .get("changedFiles")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .take(MAX_FILES)
    {
        let edit = start(path);
        if !paths::is_left_behind(&edit.path) && !out.iter().any(|known| known.path == edit.path) {
            out.push(edit);
        }
    }
    out
}

fn hunks(patch: Option<&Value>, edit: &mut Edit) -> bool {
    let lines = patch
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|hunk| hunk.get("lines"))
        .filter_map(Value::as_array);
    let mut any = false;
    for line in lines.flatten().filter_map(Value::as_str).take(MAX_LINES * 8) {
        let line = head(line, 400);
        if let Some(line) = line.strip_prefix('+').filter(|_| edit.added.len() < MAX_LINES) {
            edit.added.push(line.to_owned());
            any = true;
        } else if let Some(line) = line.strip_prefix('-').filter(|_| edit.removed.len() < MAX_LINES) {
            edit.removed.push(line.to_owned());
            any = true;
        } else if let Some(line) = line.strip_prefix(' ').filter(|_| edit.around.len() < MAX_LINES) {
            edit.around.push(line.to_owned());
        }
    }
    any
}

fn from_input(input: &Value, answer: &Value, edit: &mut Edit) {
    let text = |from: &Value, keys: &[&str]| {
        keys.iter()
            .find_map(|key| from.get(*key).and_then(Value::as_str))
            .map(str::to_owned)
    };
    let pairs: Vec<(String, String)> = match input.get("edits").and_then(Value::as_array) {
        Some(edits) => edits
            .iter()
            .take(40)
            .map(|one| {
                (
                    text(one, &["old_string"]).unwrap_or_default(),
                    text(one, &["new_string"]).unwrap_or_default(),
                )
            })
            .collect(),
        None => vec![(
            text(input, &["old_string", "old_str"])
                .or_else(|| text(answer, &["oldString"]))
                .unwrap_or_default(),
            text(
                input,
                &["new_string", "new_str", "content", "new_source", "file_text"],
            )
            .or_else(|| text(answer, &["newString", "content"]))
            .unwrap_or_default(),
        )],
    };
    for (old, new) in pairs {
        let (old, new): (Vec<&str>, Vec<&str>) = (
            head(&old, MAX_TEXT).lines().collect(),
            head(&new, MAX_TEXT).lines().collect(),
        );
        let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let end = old[same..]
            .iter()
            .rev()
            .zip(new[same..].iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        let stayed = old[..same].iter().chain(&old[old.len() - end..]);
        edit.around
            .extend(stayed.take(MAX_LINES).map(|line| head(line, 400).to_owned()));
        let room = |kept: &Vec<String>| MAX_LINES.saturating_sub(kept.len());
        let (more_removed, more_added) = (room(&edit.removed), room(&edit.added));
        edit.removed.extend(
            old[same..old.len() - end]
                .iter()
                .take(more_removed)
                .map(|line| head(line, 400).to_owned()),
        );
        edit.added.extend(
            new[same..new.len() - end]
                .iter()
                .take(more_added)
                .map(|line| head(line, 400).to_owned()),
        );
    }
}

/// What a small edit changed, as one fact: one line became another.
pub(super) fn as_fact(edit: &Edit) -> Option<String> {
    let (old, new) = one_line(edit)?;
    Some(format!(
        "In {}, {} became {}",
        code(&edit.path),
        code(old),
        code(new)
    ))
}

/// What a small edit tried.
pub(super) fn as_attempt(edit: &Edit) -> Option<String> {
    let (old, new) = one_line(edit)?;
    Some(format!("Changing {} to {}", code(old), code(new)))
}

/// The line that went and the line that came, when it was one each.
fn one_line(edit: &Edit) -> Option<(&str, &str)> {
    let one = |lines: &'_ [String]| -> Option<usize> {
        let mut full = lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        let (at, line) = full.next()?;
        let line = line.trim();
        let quotable = line.len() <= 72 && line.chars().any(char::is_alphanumeric) && !line.contains('`');
        (full.next().is_none() && quotable).then_some(at)
    };
    if edit.created {
        return None;
    }
    let removed = edit.removed[one(&edit.removed)?].trim();
    // What comes is the agent's own; what goes anybody may have written.
    let added = edit.added[one(&edit.added)?].trim();
    // Only moved by some blanks, it did not become another.
    (!is_order(removed) && removed != added).then_some((removed, added))
}

/// An edit as a short diff.
pub(super) fn as_diff(edit: &Edit, max: usize) -> String {
    let mut out = edit.path.clone();
    for (mark, lines) in [('-', &edit.removed), ('+', &edit.added)] {
        let share = max / 2;
        let mut used = 0;
        for line in lines {
            let line = clip(line.trim_end(), 200);
            used += line.len() + 2;
            if used > share {
                out.push_str("\n…");
                break;
            }
            out.push('\n');
            out.push(mark);
            out.push_str(&line);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::symbols;
    use super::*;

    fn tool(name: &str, input: Value, outcome: ToolOutcome) -> ToolUse {
        ToolUse {
            id: Some("t1".into()),
            agent_id: None,
            name: name.into(),
            input,
            outcome,
            at_ms: 0,
        }
    }

    #[test]
    fn the_patch_of_the_answer_is_read() {
        let answer = json!({"filePath": "/w/a.py", "structuredPatch": [{"lines": [" def f():", "-    return a", "+    return b"]}]});
        let edits = of(
            &tool("Edit", json!({}), ToolOutcome::Answered(answer)),
            3,
            Some("/w"),
        );
        assert_eq!(edits[0].path, "a.py");
        assert_eq!(
            as_fact(&edits[0]).as_deref(),
            Some("In `a.py`, `return a` became `return b`")
        );
    }

    #[test]
    fn without_a_patch_the_strings_are_compared() {
        let input = json!({"file_path": "/w/a.rs", "old_string": "a\nb\nc", "new_string": "a\nfn x() {}\nc"});
        let edits = of(
            &tool("Edit", input, ToolOutcome::Answered(json!("updated"))),
            0,
            Some("/w"),
        );
        assert_eq!(
            (edits[0].removed.as_slice(), edits[0].added.as_slice()),
            (&["b".to_owned()][..], &["fn x() {}".to_owned()][..])
        );
        assert_eq!(symbols::added(&edits[0]), ["x"]);
    }

    #[test]
    fn a_shell_edit_counts_only_when_the_client_says_so() {
        let input = json!({"command": "sed -i s/a/b/ x.py"});
        assert!(
            of(
                &tool(
                    "Bash",
                    input.clone(),
                    ToolOutcome::Answered(json!({"stdout": ""}))
                ),
                0,
                None
            )
            .is_empty()
        );
        let diff = json!({"stdout": "", "bashEditDiff": {"files": [{"filePath": "x.py", "hunks": [{"lines": ["-a", "+b"]}]}], "changedFiles": ["x.py", "y.py"]}});
        let edits = of(&tool("Bash", input, ToolOutcome::Answered(diff)), 0, None);
        assert_eq!(
            edits.iter().map(|edit| edit.path.as_str()).collect::<Vec<_>>(),
            ["x.py", "y.py"]
        );
    }

    #[test]
    fn a_patch_text_names_its_files() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-let a = 1;\n+let a = 2;\n*** Add File: b.md\n+hello\n*** End Patch";
        let edits = of(
            &tool(
                "apply_patch",
                json!({ "input": patch }),
                ToolOutcome::Answered(json!("Success")),
            ),
            0,
            None,
        );
        assert_eq!(
            edits
                .iter()
                .map(|edit| (edit.path.as_str(), edit.created))
                .collect::<Vec<_>>(),
            [("src/a.rs", false), ("b.md", true)]
        );
        assert_eq!(
            as_fact(&edits[0]).as_deref(),
            Some("In `src/a.rs`, `let a = 1;` became `let a = 2;`")
        );
    }

    #[test]
    fn a_failed_edit_changed_nothing() {
        for outcome in [ToolOutcome::Unknown, ToolOutcome::Failed("not found".into())] {
            assert!(of(&tool("Edit", json!({"file_path": "a"}), outcome), 0, None).is_empty());
        }
    }
}
