//! Resolves paths and reads small files without blocking.
//!
//! Defines how a path becomes canonical and how it becomes a key, and limits the size of a file. Independent of git.

use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use backstory_model::from_drive;
use backstory_system::{canonical_already, canonicalize, open_nonblocking};

/// The maximum size of a file; git has the same limit for `.git` files.
const MAX_BYTES: u64 = 1024 * 1024;

/// The maximum length of a path in the kernel. Longer ones cannot exist.
const MAX_PATH: usize = 4096;

/// The number of missing parents that are tried before a path is used as it is written.
const MAX_MISSING: usize = 128;

/// The start of the search for a repository.
pub(super) struct StartDir {
    /// The given folder, canonical as far as it exists.
    pub(super) folder: PathBuf,
    /// The nearest folder that exists, canonical.
    pub(super) existing: PathBuf,
}

/// Resolves the folder of a hook, which may be relative, deleted or invalid.
///
/// A relative or empty path is relative to the working directory of the process: agents start hooks in the project.
pub(super) fn start(cwd: &Path) -> StartDir {
    let cwd = if cwd.as_os_str().is_empty() {
        Path::new(".")
    } else {
        cwd
    };
    let cwd = match cwd.to_str() {
        Some(text) if cfg!(windows) => Path::new(from_drive(text)),
        _ => cwd,
    };
    let absolute = std::path::absolute(cwd).unwrap_or_else(|_| Path::new("/").join(cwd));
    if let Some(folder) = canonical(&absolute) {
        return StartDir {
            existing: folder.clone(),
            folder,
        };
    }
    let spelled = lexical(&absolute);
    let candidates = spelled
        .ancestors()
        .skip_while(|parent| parent.as_os_str().len() >= MAX_PATH);
    for parent in candidates.take(MAX_MISSING) {
        if let Some(existing) = canonical(parent) {
            // The key of a folder does not change when the folder is deleted, even below a symlink.
            let missing = spelled.strip_prefix(parent).unwrap_or(Path::new(""));
            let folder = if missing.as_os_str().is_empty() {
                existing.clone()
            } else {
                existing.join(missing)
            };
            return StartDir { folder, existing };
        }
    }
    StartDir {
        folder: spelled,
        existing: PathBuf::from("/"),
    }
}

/// Resolves symlinks; `None` if the path does not exist or is inaccessible.
pub(super) fn canonical(path: &Path) -> Option<PathBuf> {
    let is_tidy = path.is_absolute() && lexical(path).as_os_str() == path.as_os_str();
    match is_tidy.then(|| canonical_already(path)).flatten() {
        Some(true) => Some(path.to_owned()),
        Some(false) => None,
        None => canonicalize(path).ok(),
    }
}

/// Returns the canonical path, or the normalized form of a path that does not exist.
pub(super) fn canonical_or_lexical(path: &Path) -> PathBuf {
    canonical(path).unwrap_or_else(|| lexical(path))
}

/// Joins a path to a canonical folder. Leading `..` are resolved: they cannot cross a symlink, and the result is
/// cheaper to make canonical.
pub(super) fn join(canonical: &Path, path: &Path) -> PathBuf {
    let mut folder = canonical;
    let mut rest = path.components();
    loop {
        let after = rest.as_path();
        match rest.next() {
            Some(Component::CurDir) => {}
            Some(Component::ParentDir) => folder = folder.parent().unwrap_or(folder),
            Some(_) => return folder.join(after),
            None => return folder.to_owned(),
        }
    }
}

/// Normalizes an absolute path without file access: no `.`, no `..`, no doubled or trailing slashes.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::with_capacity(path.as_os_str().len());
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            other => tidy.push(other),
        }
    }
    tidy
}

/// Encodes a path as text so that different paths have different texts.
///
/// An invalid UTF-8 byte becomes U+FFFD and two hex digits, and a real U+FFFD is doubled. NUL is encoded too: a hostile
/// payload may contain one, and it ends a text in SQLite.
pub(super) fn text(path: &Path) -> String {
    const MARK: char = char::REPLACEMENT_CHARACTER;
    let bytes = path.as_os_str().as_encoded_bytes();
    if let Some(plain) = path.to_str()
        && !plain.contains([MARK, '\0'])
    {
        return plain.to_owned();
    }
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                MARK => text.extend([MARK, MARK]),
                '\0' => text.extend([MARK, '0', '0']),
                other => text.push(other),
            }
        }
        for byte in chunk.invalid() {
            write!(text, "{MARK}{byte:02x}").expect("writing to a string cannot fail");
        }
    }
    text
}

/// Reads a regular file of at most 1 MB, following symlinks.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_with(path, true)
}

/// Reads a regular file of at most 1 MB; fails on a symlink.
pub(super) fn read_itself(path: &Path) -> io::Result<Vec<u8>> {
    read_with(path, false)
}

fn read_with(path: &Path, follows_links: bool) -> io::Result<Vec<u8>> {
    let file = open_nonblocking(path, follows_links)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if about.len() > MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0));
    // Limited to the known size, which saves the read that would only report the end.
    file.take(about.len()).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use backstory_system::path_from_bytes;
    #[cfg(unix)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    #[cfg(unix)]
    fn paths_are_normalized_without_file_access() {
        for (given, wanted) in [
            ("/a/./b//c/", "/a/b/c"),
            ("/a/../b", "/b"),
            ("/../../a", "/a"),
            ("/", "/"),
            ("/..", "/"),
        ] {
            assert_eq!(lexical(Path::new(given)).as_os_str(), wanted, "{given}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn joining_resolves_leading_dots() {
        for (given, wanted) in [
            ("../..", "/a"),
            ("./../x/../y/", "/a/b/x/../y"),
            ("../../../../..", "/"),
            ("x", "/a/b/c/x"),
            ("/x/..", "/x/.."),
            ("", "/a/b/c"),
        ] {
            assert_eq!(
                join(Path::new("/a/b/c"), Path::new(given)).as_os_str(),
                wanted,
                "{given}"
            );
        }
    }

    #[test]
    #[cfg(unix)]
    fn the_root_is_canonical() {
        assert_eq!(canonical(Path::new("/")), Some(PathBuf::from("/")));
    }

    #[test]
    #[cfg(windows)]
    fn canonical_windows_paths_have_a_plain_drive() {
        let here = canonical(Path::new(".")).unwrap();
        assert!(backstory_model::has_drive(here.to_str().unwrap()), "{here:?}");
        assert_eq!(lexical(Path::new(r"C:\a\.\b\..\c/")), PathBuf::from(r"C:\a\c"));
    }

    #[cfg(unix)]
    proptest! {
        #[test]
        fn different_paths_have_different_texts(left: Vec<u8>, right: Vec<u8>) {
            let [one, two] = [&left, &right].map(|name| text(&path_from_bytes(name).unwrap()));
            prop_assert_eq!(left == right, one == two);
            prop_assert!(!one.contains('\0'));
        }

        #[test]
        fn similar_paths_have_different_texts(left in "[\u{FFFD}\0 0-1]{0,6}", tail in prop::collection::vec(0xf0u8.., 0..3)) {
            let mut right = left.clone().into_bytes();
            right.extend(&tail);
            let [one, two] = [left.as_bytes(), &right].map(|name| text(&path_from_bytes(name).unwrap()));
            prop_assert_eq!(tail.is_empty(), one == two);
        }
    }
}
