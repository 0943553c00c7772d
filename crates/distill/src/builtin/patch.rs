//! Edits in the form of a patch text: `*** Update File: path` and lines with `+` and `-`.

use serde_json::Value;

use super::edits::Edit;
use super::text::head;

const MAX_PATCH: usize = 64 * 1024;
const MAX_LINES: usize = 240;

/// The patch that a tool was given, if it was given one.
pub(super) fn text(input: &Value) -> Option<&str> {
    let given = input.as_str().or_else(|| {
        ["patch", "input", "patchText", "patch_text"]
            .iter()
            .find_map(|key| input.get(*key)?.as_str())
    })?;
    given.contains("*** Begin Patch").then(|| head(given, MAX_PATCH))
}

/// The edits of a patch, one for each file.
pub(super) fn edits(patch: &str, start: &dyn Fn(&str) -> Edit) -> Vec<Edit> {
    let mut out: Vec<Edit> = Vec::new();
    for line in patch.lines() {
        if let Some((deed, path)) = line
            .strip_prefix("*** ")
            .and_then(|rest| rest.split_once(" File: "))
        {
            let mut edit = start(path);
            edit.created = deed == "Add";
            out.push(edit);
            continue;
        }
        let Some(edit) = out.last_mut() else { continue };
        let line = head(line, 400);
        if let Some(added) = line.strip_prefix('+').filter(|_| edit.added.len() < MAX_LINES) {
            edit.added.push(added.to_owned());
        } else if let Some(removed) = line.strip_prefix('-').filter(|_| edit.removed.len() < MAX_LINES) {
            edit.removed.push(removed.to_owned());
        }
    }
    out
}
