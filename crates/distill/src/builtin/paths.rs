//! What a file's path tells, and whether a name given to a command means it.

/// Whether a file lies in a folder for temporary files: work on it is scratch work.
pub(super) fn is_scratch(path: &str) -> bool {
    [
        "/tmp/",
        "/private/tmp/",
        "/var/tmp/",
        "/var/folders/",
        "/private/var/folders/",
    ]
    .iter()
    .any(|folder| path.starts_with(folder))
        || path.contains("/scratchpad/")
}

/// Whether a file is what running a program leaves behind, not what anybody wrote.
pub(super) fn is_left_behind(path: &str) -> bool {
    const FOLDERS: [&str; 11] = [
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".tox",
        ".venv",
        "node_modules",
        ".next",
        ".gradle",
        ".git",
        "target",
    ];
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    [".pyc", ".pyo", ".class", ".o"]
        .iter()
        .any(|ending| name.ends_with(ending))
        || name == ".coverage"
        || parts.any(|folder| FOLDERS.contains(&folder))
}

/// Whether a file holds tests.
pub(super) fn is_test(path: &str) -> bool {
    let name = name(path);
    path.contains("tests/")
        || path.contains("test/")
        || path.contains("__tests__")
        || path.contains("spec/")
        || path.contains("testing/")
        || name.starts_with("test_")
        || name.contains("_test.")
        || name.contains(".test.")
        || name.contains(".spec.")
        || name == "tests.rs"
        || name == "tests.py"
}

/// Whether a file is text for people or settings, not code.
pub(super) fn is_prose_or_settings(path: &str) -> bool {
    let ending = name(path).rsplit('.').next().unwrap_or_default().to_lowercase();
    matches!(
        ending.as_str(),
        "md" | "txt"
            | "rst"
            | "toml"
            | "json"
            | "yml"
            | "yaml"
            | "lock"
            | "cfg"
            | "ini"
            | "adoc"
            | "env"
            | "csv"
    )
}

/// The last part of a path.
pub(super) fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether an argument of `rm` or `git restore` means this file: by path, by folder or by pattern.
pub(super) fn means(argument: &str, path: &str) -> bool {
    let argument = argument.trim_start_matches("./").trim_end_matches('/');
    if argument.is_empty() {
        return false;
    }
    if let Some((before, after)) = argument.rsplit('/').next().and_then(|last| last.split_once('*')) {
        let folder = argument.rsplit_once('/').map_or("", |(folder, _)| folder);
        let name = name(path);
        return path.contains(folder)
            && name.starts_with(before)
            && name.ends_with(after)
            && name.len() >= before.len() + after.len();
    }
    path == argument
        || path
            .strip_suffix(argument)
            .is_some_and(|rest| rest.ends_with('/'))
        || argument
            .strip_suffix(path)
            .is_some_and(|rest| rest.ends_with('/'))
        || path
            .strip_prefix(argument)
            .is_some_and(|rest| rest.starts_with('/'))
        || path.contains(&format!("/{argument}/"))
        || path
            .split_once('/')
            .is_some_and(|(top, _)| argument.strip_suffix(top).is_some_and(|rest| rest.ends_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_mean_files_by_name_folder_or_pattern() {
        for (argument, path, wanted) in [
            ("a.py", "a.py", true),
            ("a.py", "sub/a.py", true),
            ("/w/app/a.py", "a.py", true),
            ("sub", "sub/a.py", true),
            ("test_*.py", "sub/test_x.py", true),
            ("a.py", "ba.py", false),
            ("other", "sub/a.py", false),
        ] {
            assert_eq!(means(argument, path), wanted, "{argument} {path}");
        }
    }
}
