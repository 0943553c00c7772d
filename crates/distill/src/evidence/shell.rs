//! Splits a shell command line into simple commands.
//!
//! Covers the part of the shell grammar that agents write: lists (`&&`, `||`, `;`, newlines), pipelines, quotes, here
//! documents, redirections, command substitution and the keywords around compound commands. Nothing is expanded: a
//! variable or a substitution stays in its word as it is written.

use std::ops::Range;

/// A simple command of a command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Simple<'c> {
    /// The words without quotes, without leading assignments, keywords and wrappers such as `sudo` or `timeout 60`.
    pub(super) words: Vec<String>,
    /// The command as it is written, without here documents.
    pub(super) source: &'c str,
    /// The operator between it and the command before.
    pub(super) joint: Joint,
    /// Files that its output is written to.
    pub(super) writes: Vec<Redirect>,
    /// The here document that it reads.
    pub(super) heredoc: Option<&'c str>,
}

/// An operator before a simple command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Joint {
    /// The first command.
    #[default]
    Start,
    /// `&&`.
    And,
    /// `||`.
    Or,
    /// `;`, `&` or a newline.
    Sequence,
    /// `|`.
    Pipe,
}

/// An output redirection to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    /// The file.
    pub(super) path: String,
    /// Set for `>>`.
    pub(super) append: bool,
}

impl Simple<'_> {
    /// Returns the program without its folder.
    pub(super) fn program(&self) -> &str {
        let first = self.words.first().map_or("", String::as_str);
        first.rsplit('/').next().unwrap_or(first)
    }

    /// Returns the words after the program.
    pub(super) fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Returns the first argument that is no flag.
    pub(super) fn subcommand(&self) -> &str {
        let found = self.arguments().iter().find(|word| !word.starts_with('-'));
        found.map_or("", String::as_str)
    }
}

/// Parses a command line. Never fails: an unclosed quote ends with the line.
pub(super) fn parse(command: &str) -> Vec<Simple<'_>> {
    let mut parser = Parser {
        text: command,
        at: 0,
        out: Vec::new(),
        current: Simple::default(),
        start: 0,
        pending: Vec::new(),
    };
    parser.run();
    parser.out
}

struct Parser<'c> {
    text: &'c str,
    at: usize,
    out: Vec<Simple<'c>>,
    current: Simple<'c>,
    start: usize,
    /// Here documents that start after the next newline: delimiter, and the index of the command in `out`.
    pending: Vec<(String, usize)>,
}

impl<'c> Parser<'c> {
    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn run(&mut self) {
        while self.at < self.text.len() {
            match self.byte(0) {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if self.byte(1) == b'\n' => self.at += 2,
                b'#' => self.at = line_end(self.text, self.at),
                b'\n' => {
                    self.end(Joint::Sequence, 1);
                    self.heredocs();
                    self.start = self.at;
                }
                b'&' if self.byte(1) == b'&' => self.end(Joint::And, 2),
                b'&' if self.byte(1) == b'>' => self.redirect(1),
                b'|' if self.byte(1) == b'|' => self.end(Joint::Or, 2),
                b'|' if self.byte(1) == b'&' => self.end(Joint::Pipe, 2),
                b'|' => self.end(Joint::Pipe, 1),
                b';' if self.byte(1) == b';' => self.end(Joint::Sequence, 2),
                b';' | b'&' => self.end(Joint::Sequence, 1),
                b'(' | b')' => self.end(self.current.joint, 1),
                b'<' if self.byte(1) == b'<' && self.byte(2) != b'<' => self.heredoc(),
                b'<' | b'>' => self.redirect(0),
                _ => self.word(),
            }
        }
        self.end(Joint::Sequence, 0);
        self.heredocs();
    }

    fn end(&mut self, next: Joint, length: usize) {
        let mut done = std::mem::take(&mut self.current);
        done.source = self.text[self.start..self.at].trim();
        let joint = done.joint;
        strip_prefix(&mut done);
        self.at += length;
        self.start = self.at;
        let is_empty = done.words.is_empty() && done.writes.is_empty();
        if is_empty {
            // A parenthesis or a blank line: what follows keeps the operator that came before it.
            let keeps = matches!(next, Joint::Sequence) && joint != Joint::Start && joint != Joint::Sequence;
            self.current.joint = if self.out.is_empty() {
                Joint::Start
            } else if keeps {
                joint
            } else {
                next
            };
        } else {
            self.out.push(done);
            self.current.joint = next;
        }
    }

    fn redirect(&mut self, skip: usize) {
        self.at += skip;
        let is_output = self.byte(0) == b'>';
        self.at += 1;
        let append = is_output && self.byte(0) == b'>';
        while matches!(self.byte(0), b'>' | b'<' | b'|') {
            self.at += 1;
        }
        if self.byte(0) == b'&' {
            // `2>&1`, `>&2`.
            self.at += 1;
            while self.byte(0).is_ascii_digit() || self.byte(0) == b'-' {
                self.at += 1;
            }
            return;
        }
        while matches!(self.byte(0), b' ' | b'\t') {
            self.at += 1;
        }
        let (path, _) = self.read_word();
        if is_output && !path.is_empty() && !path.starts_with("/dev/") {
            self.current.writes.push(Redirect { path, append });
        }
    }

    fn heredoc(&mut self) {
        self.at += 2;
        if self.byte(0) == b'-' {
            self.at += 1;
        }
        while matches!(self.byte(0), b' ' | b'\t') {
            self.at += 1;
        }
        let (delimiter, _) = self.read_word();
        if !delimiter.is_empty() {
            self.pending.push((delimiter, self.out.len()));
        }
    }

    /// Reads the bodies of here documents that were announced on the line that ended.
    fn heredocs(&mut self) {
        for (delimiter, index) in std::mem::take(&mut self.pending) {
            let body = heredoc_body(self.text, self.at, &delimiter);
            if let Some(command) = self.out.get_mut(index) {
                command.heredoc = Some(&self.text[body.text]);
            }
            self.at = body.end;
        }
    }

    fn word(&mut self) {
        let (word, quoted) = self.read_word();
        // `2>file`: the number belongs to the redirection.
        if !quoted && word.bytes().all(|b| b.is_ascii_digit()) && matches!(self.byte(0), b'>' | b'<') {
            return;
        }
        if !word.is_empty() || quoted {
            self.current.words.push(word);
        }
    }

    /// Reads a word; also says whether a part of it was quoted. Always moves on.
    fn read_word(&mut self) -> (String, bool) {
        let mut word = String::new();
        let mut quoted = false;
        let begin = self.at;
        while self.at < self.text.len() {
            match self.byte(0) {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b')' => break,
                b'(' if word.is_empty() => break,
                b'\'' => {
                    quoted = true;
                    let end = self.find(b'\'', self.at + 1);
                    word.push_str(&self.text[self.at + 1..end]);
                    self.at = (end + 1).min(self.text.len());
                }
                b'"' => {
                    quoted = true;
                    self.double_quoted(&mut word);
                }
                b'\\' => {
                    self.at += 1;
                    if self.byte(0) == b'\n' {
                        self.at += 1;
                    } else {
                        self.push_char(&mut word);
                    }
                }
                b'$' if self.byte(1) == b'(' => {
                    let end = substitution_end(self.text, self.at + 2);
                    word.push_str(&self.text[self.at..end]);
                    self.at = end;
                }
                b'`' => {
                    let end = (self.find(b'`', self.at + 1) + 1).min(self.text.len());
                    word.push_str(&self.text[self.at..end]);
                    self.at = end;
                }
                _ => self.push_char(&mut word),
            }
        }
        if self.at == begin {
            self.push_char(&mut String::new());
        }
        (word, quoted)
    }

    fn double_quoted(&mut self, word: &mut String) {
        self.at += 1;
        while self.at < self.text.len() {
            match self.byte(0) {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' => {
                    match self.byte(1) {
                        b'\n' => {}
                        c @ (b'"' | b'\\' | b'$' | b'`') => word.push(char::from(c)),
                        _ => {
                            word.push('\\');
                            self.at += 1;
                            self.push_char(word);
                            continue;
                        }
                    }
                    self.at += 2;
                }
                b'$' if self.byte(1) == b'(' => {
                    let end = substitution_end(self.text, self.at + 2);
                    word.push_str(&self.text[self.at..end]);
                    self.at = end;
                }
                _ => self.push_char(word),
            }
        }
    }

    fn push_char(&mut self, word: &mut String) {
        if let Some(c) = self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            word.push(c);
            self.at += c.len_utf8();
        } else {
            self.at = self.text.len();
        }
    }

    fn find(&self, byte: u8, from: usize) -> usize {
        let rest = self.text.as_bytes().get(from..).unwrap_or_default();
        rest.iter()
            .position(|b| *b == byte)
            .map_or(self.text.len(), |at| from + at)
    }
}

fn line_end(text: &str, from: usize) -> usize {
    text[from..].find('\n').map_or(text.len(), |at| from + at)
}

/// The body of a here document and the offset after its last line.
struct Body {
    text: Range<usize>,
    end: usize,
}

fn heredoc_body(text: &str, from: usize, delimiter: &str) -> Body {
    let mut at = from.min(text.len());
    while at < text.len() {
        let end = line_end(text, at);
        if text[at..end].trim() == delimiter {
            let next = (end + 1).min(text.len());
            return Body {
                text: from..at,
                end: next,
            };
        }
        at = (end + 1).min(text.len());
    }
    Body {
        text: from.min(text.len())..text.len(),
        end: text.len(),
    }
}

/// Returns the offset after the parenthesis that closes a command substitution. Quotes and here documents inside may hold
/// parentheses of their own.
fn substitution_end(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    let mut depth = 1usize;
    let mut delimiter: Option<String> = None;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\'' => {
                let rest = bytes.get(at + 1..).unwrap_or_default();
                at += 1 + rest.iter().position(|b| *b == b'\'').unwrap_or(rest.len());
            }
            b'"' => {
                at += 1;
                while let Some(&inner) = bytes.get(at) {
                    match inner {
                        b'"' => break,
                        b'\\' => at += 2,
                        b'$' if bytes.get(at + 1) == Some(&b'(') => at = substitution_end(text, at + 2),
                        _ => at += 1,
                    }
                }
            }
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return boundary(text, at + 1);
                }
            }
            b'<' if bytes.get(at + 1) == Some(&b'<') && bytes.get(at + 2) != Some(&b'<') => {
                let line = &text[at + 2..line_end(text, at + 2)];
                let word = line.trim_start_matches(['-', ' ', '\t']);
                let length = word
                    .find([' ', '\t', ')', ';', '|', '>', '&'])
                    .unwrap_or(word.len());
                delimiter = Some(word[..length].trim_matches(['\'', '"', '\\']).to_owned());
                // The quotes of the delimiter open no string.
                at += 2 + line.len() - word.len() + length;
                continue;
            }
            b'\n' => {
                if let Some(name) = delimiter.take().filter(|name| !name.is_empty()) {
                    at = heredoc_body(text, at + 1, &name).end;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Removes keywords, assignments and programs that only run another one.
fn strip_prefix(command: &mut Simple<'_>) {
    let words = &mut command.words;
    loop {
        let Some(first) = words.first() else { return };
        let drop = match first.as_str() {
            "sudo" | "env" | "time" | "nice" | "exec" | "command" | "nohup" | "xvfb-run" | "then" | "do"
            | "else" | "if" | "elif" | "while" | "until" | "!" | "{" | "}" | "fi" | "done" | "esac" => 1,
            "timeout" | "gtimeout" => {
                let mut count = 1;
                while let Some(flag) = words.get(count).filter(|word| word.starts_with('-')) {
                    count += if matches!(flag.as_str(), "-k" | "-s") {
                        2
                    } else {
                        1
                    };
                }
                count + 1
            }
            word if is_assignment(word) => 1,
            _ => return,
        };
        words.drain(..drop.min(words.len()));
        while words
            .first()
            .is_some_and(|word| word.starts_with('-') && drop == 1 && words.len() > 1)
        {
            words.remove(0);
        }
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// Returns the text of a word that is a substituted here document: `$(cat <<'EOF' … EOF)`.
pub(super) fn substituted_heredoc(word: &str) -> Option<&str> {
    let inside = word.trim().strip_prefix("$(")?.strip_suffix(')')?;
    let found = parse(inside).into_iter().next()?;
    (found.program() == "cat").then_some(found.heredoc).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(command: &str) -> Vec<String> {
        parse(command)
            .iter()
            .map(|simple| simple.words.join(" "))
            .collect()
    }

    #[test]
    fn lists_and_pipelines_are_split_outside_of_quotes() {
        for (command, wanted) in [
            (
                "cd a && go test ./... 2>&1 | tail -5",
                vec!["cd a", "go test ./...", "tail -5"],
            ),
            (
                "FOO=1 timeout -k 5 60 make test; echo 'a && b'",
                vec!["make test", "echo a && b"],
            ),
            ("a || b\nc & d", vec!["a", "b", "c", "d"]),
            (
                "for f in x y; do wc -l \"$f\"; done",
                vec!["for f in x y", "wc -l $f"],
            ),
            ("(cd x && make) # note", vec!["cd x", "make"]),
            ("grep -n \"a|b\" f > /tmp/out 2>/dev/null", vec!["grep -n a|b f"]),
            ("echo a\\\n b", vec!["echo a b"]),
            (
                "python3 - <<'EOF'\nprint('x && y')\nEOF\nls",
                vec!["python3 -", "ls"],
            ),
            ("git log --format='%h (%s)'", vec!["git log --format=%h (%s)"]),
        ] {
            assert_eq!(programs(command), wanted, "{command}");
        }
    }

    #[test]
    fn here_documents_and_redirections_belong_to_their_command() {
        let parts = parse("cat > a.txt <<EOF && echo ok\none\n  two\nEOF\ncat >> b <<X\n3\nX");
        assert_eq!(parts.len(), 3);
        assert_eq!(parts[0].heredoc, Some("one\n  two\n"));
        assert_eq!(
            parts[0].writes,
            [Redirect {
                path: "a.txt".into(),
                append: false
            }]
        );
        assert_eq!((parts[1].joint, parts[2].joint), (Joint::And, Joint::Sequence));
        assert_eq!((parts[2].heredoc, parts[2].writes[0].append), (Some("3\n"), true));
    }

    #[test]
    fn a_substituted_here_document_is_one_word() {
        let command =
            "git commit -m \"$(cat <<'EOF'\nfix: don't (ever) \"quote\"\n\nBody.\nEOF\n)\" && git push";
        let parts = parse(command);
        assert_eq!(parts.len(), 2);
        let message = substituted_heredoc(&parts[0].words[3]).unwrap();
        assert_eq!(message, "fix: don't (ever) \"quote\"\n\nBody.\n");
        assert_eq!(parts[1].words, ["git", "push"]);
    }
}
