//! The lines of a file that a memory is about: the functions, types and settings that it names.
//!
//! Stored as hashes of lines without whitespace, so that neither formatting nor an edit elsewhere in the file makes a memory out
//! of date. The format is a number of lines and their hashes, little endian, for each region.

use std::collections::BTreeSet;

use backstory_text::{has_word, hash64};

/// The most names of one memory that are looked up.
const MAX_NAMES: usize = 12;

/// The most lines of one definition. The rest of a longer one is not compared.
const MAX_LINES: usize = 120;

/// A name that is used on more lines than this, and defined on none, says nothing about a place.
const MAX_USES: usize = 3;

/// Words before the name in a definition.
const DEFINING: [&str; 24] = [
    "fn",
    "def",
    "func",
    "function",
    "fun",
    "sub",
    "class",
    "struct",
    "enum",
    "trait",
    "impl",
    "interface",
    "type",
    "module",
    "mod",
    "const",
    "static",
    "let",
    "var",
    "val",
    "macro_rules!",
    "public",
    "private",
    "export",
];

/// Returns the lines of a file that a text is about; empty if it names nothing in the file.
pub(crate) fn cited_lines(content: &str, text: &str) -> Vec<u8> {
    let lines: Vec<&str> = content.lines().collect();
    let mut regions: BTreeSet<(usize, usize)> = BTreeSet::new();
    for name in names(text) {
        let uses: Vec<usize> = (0..lines.len())
            .filter(|at| has_word(lines[*at], name))
            .take(200)
            .collect();
        let definitions: Vec<usize> = uses
            .iter()
            .copied()
            .filter(|at| defines(lines[*at], name))
            .collect();
        if definitions.is_empty() && uses.len() > MAX_USES {
            continue;
        }
        if definitions.is_empty() {
            regions.extend(uses.into_iter().map(|at| (at, at + 1)));
        } else {
            regions.extend(definitions.into_iter().map(|at| (at, end_of_block(&lines, at))));
        }
    }
    let mut bytes = Vec::new();
    for (from, to) in regions {
        let hashes: Vec<u32> = lines[from..to]
            .iter()
            .filter_map(|line| line_hash(line))
            .collect();
        bytes.extend(u32::try_from(hashes.len()).unwrap_or_default().to_le_bytes());
        bytes.extend(hashes.iter().flat_map(|hash| hash.to_le_bytes()));
    }
    bytes
}

/// Returns the hashes of all lines of a file, for [`has_lines`].
pub(crate) fn line_hashes(content: &str) -> Vec<u32> {
    content.lines().filter_map(line_hash).collect()
}

/// Reports whether a file still has all of the lines, each region in one piece.
pub(crate) fn has_lines(file: &[u32], cited: &[u8]) -> bool {
    let mut words = cited
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    while let Some(length) = words.next() {
        let region: Vec<u32> = words
            .by_ref()
            .take(usize::try_from(length).unwrap_or(0))
            .collect();
        let is_there = region.is_empty() || file.windows(region.len()).any(|window| window == region);
        if !is_there {
            return false;
        }
    }
    true
}

/// Returns the hash of a line without whitespace; none for a blank one.
#[expect(
    clippy::cast_possible_truncation,
    reason = "half of the hash is enough to tell lines apart"
)]
fn line_hash(line: &str) -> Option<u32> {
    let bytes: Vec<u8> = line.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    (!bytes.is_empty()).then(|| hash64(&bytes) as u32)
}

/// Returns the names in a text that look like code: in backticks, with an underscore, with capitals inside, or called.
fn names(text: &str) -> Vec<&str> {
    const MIN_LEN: usize = 3;
    let mut names: Vec<&str> = Vec::new();
    for (index, part) in text.split('`').enumerate() {
        let is_code = index % 2 == 1;
        let mut rest = part;
        while let Some(start) = rest.find(is_name_char) {
            let from = &rest[start..];
            let end = from.find(|c: char| !is_name_char(c)).unwrap_or(from.len());
            let name = from[..end].trim_matches('-');
            let is_called = from[end..].starts_with("()");
            rest = &from[end..];
            let has_letter = name.contains(char::is_alphabetic);
            let is_telling = is_code || is_called || name.contains('_') || has_inner_capital(name);
            if name.len() >= MIN_LEN
                && has_letter
                && is_telling
                && !names.contains(&name)
                && names.len() < MAX_NAMES
            {
                names.push(name);
            }
        }
    }
    names
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

fn has_inner_capital(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next();
    name.contains(char::is_lowercase) && letters.any(char::is_uppercase)
}

/// Reports whether a line defines a name: a keyword comes before it, or it begins the line and a value or a block follows.
fn defines(line: &str, name: &str) -> bool {
    let Some(at) = line.find(name) else { return false };
    let before = line[..at].trim_end_matches(['(', '"', '\'', '*', '&']).trim_end();
    let after = line[at + name.len()..]
        .trim_start_matches(['"', '\'', ')'])
        .trim_start();
    let keyword = before.split_whitespace().next_back().unwrap_or_default();
    let is_defined = DEFINING.contains(&keyword) || keyword.starts_with("pub");
    // `key = value`, `key: value`, not a comparison.
    let is_set = (after.starts_with('=') && !after.starts_with("=="))
        || after.starts_with(':') && !after.starts_with("::");
    is_defined || before.trim_start_matches(['-', '#', '/']).is_empty() && is_set
}

/// Returns the end of the block that a line opens, by indentation.
fn end_of_block(lines: &[&str], start: usize) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let outer = indent(lines[start]);
    let mut end = start + 1;
    let mut is_inside = false;
    for (at, line) in lines.iter().enumerate().skip(start + 1).take(MAX_LINES - 1) {
        if line.trim().is_empty() {
            continue;
        }
        if indent(line) > outer {
            is_inside = true;
            end = at + 1;
            continue;
        }
        let closes = line.trim_start().starts_with(['}', ')', ']']) || line.trim_start().starts_with("end");
        if closes {
            end = at + 1;
            // `) -> T {` goes on.
            if line.trim_end().ends_with(['{', ':', '(']) {
                continue;
            }
        } else if !is_inside && line.trim_end().ends_with('{') && line.trim_start().starts_with('{') {
            continue;
        }
        break;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "use std::io;\n\nconst RETRY_LIMIT: u32 = 3;\n\npub fn refresh(\n    token: &str,\n) -> bool {\n    if token.is_empty() {\n        return false;\n    }\n    retry(token)\n}\n\nfn other() {\n    println!(\"x\");\n}\n";

    fn is_unchanged(text: &str, change: (&str, &str)) -> bool {
        let cited = cited_lines(FILE, text);
        assert!(!cited.is_empty(), "{text}");
        has_lines(&line_hashes(&FILE.replace(change.0, change.1)), &cited)
    }

    #[test]
    fn only_the_lines_that_a_memory_names_count() {
        let memory = "`refresh` rejects an empty token";
        assert!(is_unchanged(memory, ("println!(\"x\")", "println!(\"y\")")));
        assert!(is_unchanged(memory, ("use std::io;\n", "")));
        assert!(
            is_unchanged(memory, ("        return false;", "            return false; ")),
            "indentation"
        );
        assert!(!is_unchanged(memory, ("return false", "return true")));
        assert!(!is_unchanged(memory, ("retry(token)", "retry(token) && true")));
        assert!(!is_unchanged(memory, ("pub fn refresh(", "pub fn renew(")));
    }

    #[test]
    fn a_setting_is_one_line() {
        let memory = "The retry limit is 3 (RETRY_LIMIT)";
        assert!(is_unchanged(memory, ("return false", "return true")));
        assert!(!is_unchanged(memory, ("u32 = 3", "u32 = 5")));
        let toml = "[http]\nport = 80\ntimeout = 3\n";
        let cited = cited_lines(toml, "Set `timeout` to 3");
        assert!(has_lines(
            &line_hashes("[http]\nport = 8080\ntimeout = 3\n"),
            &cited
        ));
        assert!(!has_lines(
            &line_hashes("[http]\nport = 80\ntimeout = 9\n"),
            &cited
        ));
    }

    #[test]
    fn a_python_function_ends_with_its_indentation() {
        let file = "def load(path):\n    data = read(path)\n\n    return data\n\ndef save(path):\n    pass\n";
        let cited = cited_lines(file, "`load` reads the whole file");
        assert!(has_lines(&line_hashes(&file.replace("pass", "return 1")), &cited));
        assert!(!has_lines(
            &line_hashes(&file.replace("return data", "return None")),
            &cited
        ));
    }

    #[test]
    fn a_text_that_names_nothing_in_the_file_cites_no_lines() {
        assert_eq!(cited_lines(FILE, "Made the client more robust"), [0; 0]);
        assert_eq!(cited_lines(FILE, "`missing_name` is gone"), [0; 0]);
    }
}
