//! The names that a change defines.

use super::edits::Edit;

/// The functions and types that an edit brought, which were not among the lines that went.
pub(super) fn added(edit: &Edit) -> Vec<String> {
    let gone: Vec<&str> = edit.removed.iter().filter_map(|line| defined(line)).collect();
    let mut out: Vec<String> = Vec::new();
    for name in edit.added.iter().filter_map(|line| defined(line)) {
        if !gone.contains(&name) && !out.iter().any(|known| known == name) && out.len() < 8 {
            out.push(name.to_owned());
        }
    }
    out
}

/// Those of them that no later edit of the same file took away again.
pub(super) fn standing(edit: &Edit, edits: &[&Edit]) -> Vec<String> {
    let mut names = added(edit);
    for later in edits
        .iter()
        .filter(|later| later.step > edit.step && later.path == edit.path)
    {
        let is_gone = |name: &String| {
            later
                .removed
                .iter()
                .any(|line| defined(line) == Some(name.as_str()))
        };
        let is_back = |name: &String| {
            later
                .added
                .iter()
                .any(|line| defined(line) == Some(name.as_str()))
        };
        names.retain(|name| !is_gone(name) || is_back(name));
    }
    names
}

/// The name that a line of code defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().peekable();
    let mut next = words.next()?;
    while matches!(
        next,
        "pub"
            | "pub(crate)"
            | "pub(super)"
            | "async"
            | "export"
            | "default"
            | "static"
            | "public"
            | "private"
            | "protected"
            | "abstract"
            | "final"
            | "unsafe"
            | "const"
    ) && words.peek().is_some()
    {
        next = words.next()?;
    }
    let keyword = matches!(
        next,
        "def"
            | "class"
            | "fn"
            | "struct"
            | "enum"
            | "trait"
            | "function"
            | "func"
            | "interface"
            | "type"
            | "module"
            | "object"
    );
    let name = if keyword { words.next()? } else { return None };
    let name = name.split(['(', '<', ':', '{', '=', ';', ',']).next()?;
    let valid = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    valid.then_some(name)
}
