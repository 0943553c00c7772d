//! How files are named in memories.

/// Names a file as memories do: below the first of these folders that it is in, with forward slashes on every system.
pub fn relative_path<'r>(path: &str, roots: impl IntoIterator<Item = &'r str>) -> String {
    let path = forward(path);
    let below = roots.into_iter().find_map(|root| below(&path, root));
    below.unwrap_or(&path).to_owned()
}

fn below<'p>(path: &'p str, root: &str) -> Option<&'p str> {
    let root = forward(root);
    let root = root.trim_end_matches('/');
    let (start, rest) = path.split_at_checked(root.len())?;
    // Where there are drives, letters that differ in case are the same.
    let is_same = start == root || has_drive(root) && start.eq_ignore_ascii_case(root);
    (is_same && !root.is_empty()).then(|| rest.strip_prefix('/'))?
}

fn forward(path: &str) -> String {
    let path = from_drive(path.trim()).replace('\\', "/");
    path.strip_prefix("./").map(ToOwned::to_owned).unwrap_or(path)
}

/// Takes a path that some programs write as `/c:/…` from its drive on.
pub fn from_drive(path: &str) -> &str {
    path.strip_prefix('/')
        .filter(|path| has_drive(path))
        .unwrap_or(path)
}

/// Says whether a path begins with a drive's letter, as those of Windows do.
pub fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

/// Returns true if a text names a file: neither a folder nor the pattern of a search.
pub fn is_file_path(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    !text.contains(['*', '?', '(', ')', '|', '\\', '"', ' ', '\n']) && name.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_below_the_first_root_that_they_are_in() {
        for (path, roots, wanted) in [
            ("/w/app/src/a.rs", &["/w/app"][..], "src/a.rs"),
            ("/w/app/src/a.rs", &["/w/app/src", "/w/app/"], "a.rs"),
            ("/w/apple/a.rs", &["/w/app"], "/w/apple/a.rs"),
            ("/w/app", &["/w/app"], "/w/app"),
            ("./app/src/a.rs", &["./app"], "src/a.rs"),
            ("./a.rs", &[], "a.rs"),
            ("/a.rs", &["/"], "/a.rs"),
            ("/W/a.rs", &["/w"], "/W/a.rs"),
            ("/é/a.rs", &["/w"], "/é/a.rs"),
            (r"C:\w\x\a.rs", &[r"C:\w"], "x/a.rs"),
            ("c:/W/x/a.rs", &[r"C:\w"], "x/a.rs"),
            ("/c:/w/a.rs", &[r"C:\w"], "a.rs"),
            (r"D:\w\a.rs", &[r"C:\w"], "D:/w/a.rs"),
            (r"\\server\w\a.rs", &[r"\\server\w"], "a.rs"),
            ("a.rs", &[], "a.rs"),
        ] {
            assert_eq!(relative_path(path, roots.iter().copied()), wanted, "{path}");
        }
    }
}
