//! Names files as memories do.

use backstory_model::relative_path;

/// Returns a path relative to the root. A worktree of the project counts as the project: sessions of different worktrees
/// are about the same files.
pub(super) fn shown(path: &str, root: Option<&str>) -> String {
    const INSIDE: [&str; 2] = ["/.worktrees/", "/.claude/worktrees/"];
    let path = relative_path(path, root);
    let below = |prefix: &str| path.strip_prefix(prefix)?.split_once('/').map(|(_, rest)| rest);
    let inside = INSIDE.iter().find_map(|folder| below(&folder[1..]));
    let beside = || below(&format!("{}-worktrees/", root?.trim_end_matches('/')));
    inside.or_else(beside).map(ToOwned::to_owned).unwrap_or(path)
}

/// Returns a path that a shell command names in a folder.
pub(super) fn joined(folder: Option<&str>, path: &str) -> String {
    let is_absolute = path.starts_with(['/', '~']) || backstory_model::has_drive(path);
    match folder {
        Some(folder) if !is_absolute => format!(
            "{}/{}",
            folder.trim_end_matches('/'),
            path.trim_start_matches("./")
        ),
        _ => path.to_owned(),
    }
}

/// Says whether a file is temporary, generated, or kept by a program outside of the project.
pub(super) fn is_scratch(shown: &str) -> bool {
    const GENERATED: [&str; 8] = [
        ".git",
        "__pycache__",
        "node_modules",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".venv",
        "_build",
    ];
    let is_outside =
        shown.starts_with(['/', '~']) || shown.starts_with("../") || backstory_model::has_drive(shown);
    let is_hidden = |part: &str| part.len() > 2 && part.starts_with('.');
    // A name that cannot be quoted in one line is evidence only.
    shown.contains(|c: char| c.is_control() || matches!(c, '<' | '>'))
        || shown.starts_with("tmp/")
        || is_temporary(shown)
        || shown.split('/').any(|part| GENERATED.contains(&part))
        || (is_outside && shown.split('/').any(is_hidden))
}

/// Says whether a path lies in a folder for temporary files.
pub(super) fn is_temporary(path: &str) -> bool {
    const FOLDERS: [&str; 6] = [
        "/tmp",
        "/private/tmp",
        "/var/tmp",
        "/var/folders",
        "/private/var/folders",
        "$TMPDIR",
    ];
    let is_below = |folder: &&str| {
        path.strip_prefix(*folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    FOLDERS.iter().any(is_below) || path.split('/').any(|part| part == "scratchpad")
}

/// Says whether a file is a plan that a host keeps for the agent, such as `~/.claude/plans/x.md`.
pub(super) fn is_plan(shown: &str) -> bool {
    let mut parts = shown.rsplit('/');
    let is_document = parts.next().is_some_and(|name| name.ends_with(".md"));
    is_document && parts.next() == Some("plans") && parts.next().is_some_and(|folder| folder.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_worktrees_are_named_as_those_of_the_project() {
        let root = Some("/w/app");
        for (path, wanted) in [
            ("/w/app/src/a.rs", "src/a.rs"),
            ("/w/app/.worktrees/1/src/a.rs", "src/a.rs"),
            ("/w/app/.claude/worktrees/x/a.rs", "a.rs"),
            ("/w/app-worktrees/x/src/a.rs", "src/a.rs"),
            ("/w/app-worktrees.md", "/w/app-worktrees.md"),
            ("/tmp/x.py", "/tmp/x.py"),
        ] {
            assert_eq!(shown(path, root), wanted);
        }
        assert!(is_plan("/home/a/.claude/plans/x.md") && !is_plan("docs/plans/x.md"));
        assert!(is_temporary("/tmp") && is_temporary("/tmp/x") && !is_temporary("/tmpx"));
        assert!(is_scratch("/tmp/x.py") && !is_scratch("src/a.rs"));
        assert_eq!(joined(Some("sub"), "./a"), "sub/a");
        assert_eq!(joined(Some("sub"), "/a"), "/a");
    }
}
