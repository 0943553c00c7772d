//! Reads the keys of a git config file that identify a project.
//!
//! Parses git's config syntax and skips broken lines, at which git would stop. Does not follow `[include]`, apply
//! `url.<base>.insteadOf` or read the user's and the system's config: they lie outside the repository and would make
//! the identity depend on the machine.

use std::path::PathBuf;

use backstory_system::path_from_bytes;
use backstory_text::scan;

/// The maximum number of remotes besides `origin`: a bound for hostile files.
const MAX_OTHER_URLS: usize = 16;

/// The relevant keys of a repository's config.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GitConfig {
    origin: Option<String>,
    others: Vec<String>,
    /// `core.bare`.
    pub(super) bare: Option<bool>,
    /// `core.worktree`, relative to the git folder.
    pub(super) worktree: Option<PathBuf>,
    /// `extensions.worktreeConfig`: a file `config.worktree` overrides this one.
    pub(super) has_worktree_config: bool,
}

impl GitConfig {
    /// Parses a config file.
    pub(super) fn parse(text: &[u8]) -> Self {
        let mut config = Self::default();
        let mut section = Section::default();
        let mut reader = Reader {
            rest: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text),
        };
        while let Some(byte) = reader.peek() {
            match byte {
                b' ' | b'\t' | b'\n' => {
                    reader.next();
                }
                // After a broken header the keys below belong to no section, rather than to the previous one.
                b'[' => section = reader.section().unwrap_or_default(),
                b if b.is_ascii_alphabetic() => {
                    if let Some((key, value)) = reader.entry() {
                        config.take(&section, &key, value);
                    }
                }
                _ => reader.skip_line(),
            }
        }
        config
    }

    /// Returns the URLs of the remotes: `origin` first, then the others in the order of the file.
    pub(super) fn remotes(&self) -> impl Iterator<Item = &str> {
        self.origin.iter().chain(&self.others).map(String::as_str)
    }

    /// Overrides keys with those of `config.worktree`.
    pub(super) fn overridden_by(mut self, other: Self) -> Self {
        self.bare = other.bare.or(self.bare);
        self.worktree = other.worktree.or(self.worktree);
        self
    }

    fn take(&mut self, section: &Section, key: &[u8], value: Option<Vec<u8>>) {
        match (section.name.as_slice(), section.sub.as_deref(), key) {
            (b"core", None, b"bare") => self.bare = Some(is_true(value.as_deref())),
            (b"core", None, b"worktree") => {
                self.worktree = value
                    .filter(|path| !path.is_empty())
                    .and_then(|path| path_from_bytes(&path));
            }
            (b"extensions", None, b"worktreeconfig") => self.has_worktree_config = is_true(value.as_deref()),
            (b"remote", Some(name), b"url") => {
                // Lossy decoding could make two URLs equal.
                let url = value
                    .and_then(|url| String::from_utf8(url).ok())
                    .filter(|url| !url.trim().is_empty());
                self.take_url(name, url);
            }
            _ => {}
        }
    }

    fn take_url(&mut self, remote: &[u8], url: Option<String>) {
        if remote == b"origin" {
            self.origin = self.origin.take().or(url);
        } else if self.others.len() < MAX_OTHER_URLS {
            self.others.extend(url);
        }
    }
}

/// Parses a boolean; a key without `=` is true.
fn is_true(value: Option<&[u8]>) -> bool {
    value.is_none_or(|value| {
        [&b"true"[..], b"yes", b"on", b"1"]
            .iter()
            .any(|word| value.eq_ignore_ascii_case(word))
    })
}

#[derive(Default)]
struct Section {
    /// In lower case.
    name: Vec<u8>,
    /// The part in quotes, as written.
    sub: Option<Vec<u8>>,
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        match self.rest {
            [b'\r', b'\n', ..] => Some(b'\n'),
            _ => self.rest.first().copied(),
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        let width = if byte == b'\n' && self.rest[0] == b'\r' {
            2
        } else {
            1
        };
        self.rest = &self.rest[width..];
        Some(byte)
    }

    fn next_if(&mut self, wanted: impl Fn(u8) -> bool) -> Option<u8> {
        if wanted(self.peek()?) { self.next() } else { None }
    }

    fn skip_spaces(&mut self) {
        while self.next_if(|byte| byte == b' ' || byte == b'\t').is_some() {}
    }

    fn skip_line(&mut self) {
        let end = scan::find_byte(self.rest, b'\n').map_or(self.rest.len(), |at| at + 1);
        self.rest = &self.rest[end..];
    }

    /// Reads letters, digits and the given extra bytes, in lower case.
    fn word(&mut self, extra: &[u8]) -> Vec<u8> {
        let mut word = Vec::new();
        while let Some(byte) = self.next_if(|byte| byte.is_ascii_alphanumeric() || extra.contains(&byte)) {
            word.push(byte.to_ascii_lowercase());
        }
        word
    }

    /// Reads `[name]`, `[name "sub"]` or the old `[name.sub]`; skips any other line.
    fn section(&mut self) -> Option<Section> {
        let section = self.section_header();
        if section.is_none() {
            self.skip_line();
        }
        section
    }

    fn section_header(&mut self) -> Option<Section> {
        self.next();
        let mut name = self.word(b"-.");
        let mut sub = None;
        if self.next_if(|byte| byte == b' ' || byte == b'\t').is_some() {
            self.skip_spaces();
            sub = Some(self.quoted()?);
        } else if let Some(dot) = scan::find_byte(&name, b'.') {
            sub = Some(name.split_off(dot + 1));
            name.pop();
        }
        self.next_if(|byte| byte == b']')?;
        Some(Section { name, sub })
    }

    fn quoted(&mut self) -> Option<Vec<u8>> {
        self.next_if(|byte| byte == b'"')?;
        let mut text = Vec::new();
        loop {
            match self.next_if(|byte| byte != b'\n')? {
                b'"' => return Some(text),
                b'\\' => text.push(self.next_if(|byte| byte != b'\n')?),
                byte => text.push(byte),
            }
        }
    }

    /// Reads `key = value` or a lone `key`, up to the end of the line.
    fn entry(&mut self) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let key = self.word(b"-");
        self.skip_spaces();
        if self.next_if(|byte| byte == b'=').is_some() {
            return self.value().map(|value| (key, Some(value)));
        }
        let ends_here = matches!(self.peek(), None | Some(b'\n' | b'#' | b';'));
        self.skip_line();
        ends_here.then_some((key, None))
    }

    /// Reads a value with quotes, escapes, continuation lines and comments, without surrounding spaces.
    fn value(&mut self) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        let mut kept = 0; // the length without unquoted spaces at the end
        let mut in_quotes = false;
        self.skip_spaces();
        loop {
            match self.next() {
                None | Some(b'\n') if in_quotes => return None,
                None | Some(b'\n') => break,
                Some(b'#' | b';') if !in_quotes => {
                    self.skip_line();
                    break;
                }
                Some(b'"') => in_quotes = !in_quotes,
                Some(space @ (b' ' | b'\t')) if !in_quotes => {
                    value.push(space);
                    continue;
                }
                Some(b'\\') => match self.next() {
                    Some(b'\n') => continue,
                    Some(b'n') => value.push(b'\n'),
                    Some(b't') => value.push(b'\t'),
                    Some(b'b') => value.push(8),
                    Some(byte @ (b'\\' | b'"')) => value.push(byte),
                    _ => {
                        self.skip_line();
                        return None;
                    }
                },
                Some(byte) => value.push(byte),
            }
            kept = value.len();
        }
        value.truncate(kept);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn urls(text: &str) -> Vec<String> {
        GitConfig::parse(text.as_bytes())
            .remotes()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn origins_first_url_comes_first() {
        for (name, text, wanted) in [
            ("plain", "[remote \"origin\"]\n\turl = u\n", &["u"][..]),
            (
                "others in order",
                "[remote \"a\"]\nurl=1\n[remote \"b\"]\nurl=2\n",
                &["1", "2"],
            ),
            (
                "origin wins",
                "[remote \"a\"]\nurl=1\n[remote \"origin\"]\nurl=2\n",
                &["2", "1"],
            ),
            (
                "several urls",
                "[remote \"origin\"]\nurl=1\nurl=2\n[remote \"origin\"]\nurl=3\n",
                &["1"],
            ),
            (
                "crlf",
                "[remote \"origin\"]\r\n\turl = u\r\n\tfetch = x\r\n",
                &["u"],
            ),
            ("mark of utf-8", "\u{FEFF}[remote \"origin\"]\nurl = u\n", &["u"]),
            ("odd case", "[ReMoTe \"origin\"]\n\tURL = U\n", &["U"]),
            (
                "case matters in a name",
                "[remote \"Origin\"]\nurl=1\n[remote \"origin\"]\nurl=2\n",
                &["2", "1"],
            ),
            ("old sub-section", "[remote.origin]\nurl = u\n", &["u"]),
            ("one line", "[remote \"origin\"] url = u", &["u"]),
            (
                "comments",
                "# c\n; c\n[remote \"origin\"] # c\n url = u ; c\n",
                &["u"],
            ),
            (
                "quoted",
                "[remote \"origin\"]\nurl = \"a#b;c \" # c\n",
                &["a#b;c "],
            ),
            (
                "quotes inside",
                "[remote \"origin\"]\nurl = a\"  b\"c  d  \n",
                &["a  bc  d"],
            ),
            (
                "escapes",
                "[remote \"origin\"]\nurl = a\\\\b\\\"c\\td\n",
                &["a\\b\"c\td"],
            ),
            (
                "continued",
                "[remote \"origin\"]\nurl = ab\\\n  cd\\\r\nef\n",
                &["ab  cdef"],
            ),
            ("escaped name", "[remote \"o\\rigin\"]\nurl = u\n", &["u"]),
            (
                "empty url",
                "[remote \"origin\"]\nurl =\n[remote \"b\"]\nurl=2\n",
                &["2"],
            ),
            ("url without value", "[remote \"origin\"]\nurl\nurl = u\n", &["u"]),
            (
                "includes and rewrites",
                "[include]\npath=x\n[url \"y\"]\ninsteadOf = u\n[remote \"origin\"]\nurl=u",
                &["u"],
            ),
            ("remote without a name", "[remote]\nurl = u\n", &[]),
            (
                "other sections",
                "[branch \"origin\"]\nurl = u\n[remotes \"origin\"]\nurl = v\n",
                &[],
            ),
            ("empty", "", &[]),
        ] {
            assert_eq!(urls(text), wanted, "{name}");
        }
    }

    #[test]
    fn a_broken_line_is_skipped() {
        for broken in [
            "!!!",
            "key with words",
            "k = \"open",
            "k = bad \\q escape",
            "= x",
            "\0",
            "9 = 9",
            "url = \"x",
        ] {
            let text = format!("[remote \"origin\"]\n{broken}\nurl = u\n");
            assert_eq!(urls(&text), ["u"], "{broken}");
        }
        for header in [
            "[remote \"a\"",
            "[remote \"a\n",
            "[remote a]",
            "[",
            "[]",
            "[ remote \"a\"]",
            "[remote \"a\" x]",
        ] {
            let text = format!("[remote \"origin\"]\n{header}\nurl = u\n");
            assert_eq!(
                urls(&text),
                [""; 0],
                "{header}: keys below a broken header belong to no section"
            );
        }
    }

    #[test]
    fn keys_about_the_working_tree_are_read() {
        let config = GitConfig::parse(
            b"[core]\nbare\nworktree = ../../x y\n[extensions]\nworktreeConfig = Yes\n[core \"sub\"]\nbare = false\n",
        );
        assert_eq!(config.bare, Some(true));
        assert_eq!(config.worktree, Some(PathBuf::from("../../x y")));
        assert!(config.has_worktree_config);
        assert_eq!(GitConfig::parse(b"[core]\nbare = false\n").bare, Some(false));
        let merged = config.overridden_by(GitConfig::parse(b"[core]\nbare = false\n"));
        assert_eq!(
            (merged.bare, merged.worktree),
            (Some(false), Some(PathBuf::from("../../x y")))
        );
    }

    #[test]
    fn a_url_that_is_not_utf_8_is_none() {
        assert_eq!(
            GitConfig::parse(b"[remote \"origin\"]\nurl = \xff\n")
                .remotes()
                .count(),
            0
        );
    }

    proptest! {
        #[test]
        fn no_file_breaks_the_reader(text: Vec<u8>) {
            GitConfig::parse(&text);
        }

        #[test]
        fn malformed_configs_do_not_panic(text in r#"([\[\]"\\=#; \r\n]|remote|origin|url|core|bare){0,40}"#) {
            GitConfig::parse(text.as_bytes());
        }
    }
}
