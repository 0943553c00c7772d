//! Tells whether git tracks a file, without running git.

use std::{fs, path::Path};

/// Reports whether a file is in git's index.
///
/// Looks for the path as the index stores it. An index in the compressed format 4 contains only parts of paths, so files in it
/// count as untracked: their fingerprints stay on this machine.
pub(crate) fn is_tracked(root: &Path, path: &str) -> bool {
    const MAX_INDEX_BYTES: u64 = 64 << 20;
    let index = root.join(".git").join("index");
    let is_small = fs::metadata(&index).is_ok_and(|file| file.len() <= MAX_INDEX_BYTES);
    let Some(index) = is_small.then(|| fs::read(index).ok()).flatten() else {
        return false;
    };
    is_in_index(&index, path)
}

fn is_in_index(index: &[u8], path: &str) -> bool {
    // Behind the flags, whose low bits are the length of the path, and in front of the padding.
    let Ok(length) = u16::try_from(path.len()) else {
        return false;
    };
    let mut entry = length.to_be_bytes().to_vec();
    entry.extend(path.as_bytes());
    entry.push(0);
    (1..0xfff).contains(&length) && index.windows(entry.len()).any(|window| window == entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_as_a_whole() {
        let mut index = b"DIRC\0\0\0\x02".to_vec();
        index.extend([0; 62]);
        index.extend([0, 10]);
        index.extend(b"src/lib.rs\0\0\0");
        assert!(is_in_index(&index, "src/lib.rs"));
        for other in ["lib.rs", "src/lib", "src/lib.rs2", ""] {
            assert!(!is_in_index(&index, other), "{other}");
        }
    }
}
