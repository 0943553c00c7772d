//! Files of settings and secrets, such as `.env`: recognizes them by name and finds every value in them.

use std::ops::Range;

use backstory_text::scan;

use crate::{
    entropy::looks_random,
    escapes::{EscapeStep, at_line_end, backslashes_before, skip_blanks, step},
    secret::Secret,
    values::quoted,
};

/// Names of files of secrets, in any folder.
const NAMES: &[&str] = &[
    ".env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    "pgpass.conf",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".my.cnf",
    ".htpasswd",
    ".vault-token",
    ".s3cfg",
    ".boto",
    ".dockercfg",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "master.key",
    "credentials.json",
    "application_default_credentials.json",
    "credentials.tfrc.json",
    "secrets.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.toml",
    "terraform.tfvars",
];

/// Folders and names of files that hold secrets only in that folder.
const IN_FOLDER: &[(&str, &str)] = &[
    (".aws", "credentials"),
    (".cargo", "credentials"),
    (".cargo", "credentials.toml"),
    (".gem", "credentials"),
    (".docker", "config.json"),
    (".kube", "config"),
    ("gh", "hosts.yml"),
];

const EXTENSIONS: &[&str] = &[
    ".env",
    ".tfvars",
    ".pgpass",
    ".netrc",
    ".ppk",
    ".kdbx",
    ".pem",
    ".key",
    ".p8",
    ".p12",
    ".pfx",
    ".asc",
    ".jks",
    ".keystore",
];

/// Parts of a name that mark a template without real values.
const TEMPLATES: &[&str] = &[
    "example", "sample", "template", "tmpl", "tpl", "dist", "schema", "defaults", "default",
];

/// Reports whether a path names a file of secrets: `.env`, `prod.env`, `.aws/credentials`, but not `.env.example`.
pub fn is_secret_file(path: &str) -> bool {
    let mut parts = path.rsplit(['/', '\\']).filter(|part| !part.is_empty());
    let name = parts.next().unwrap_or_default();
    let folder = parts.next().unwrap_or_default();
    if name
        .split(['.', '-', '_'])
        .any(|part| TEMPLATES.iter().any(|pattern| part.eq_ignore_ascii_case(pattern)))
    {
        return false;
    }
    let same = |known: &str| name.eq_ignore_ascii_case(known);
    NAMES.iter().any(|known| same(known))
        || IN_FOLDER
            .iter()
            .any(|(inside, known)| same(known) && folder.eq_ignore_ascii_case(inside))
        || EXTENSIONS.iter().any(|extension| {
            name.len()
                .checked_sub(extension.len())
                .and_then(|start| name.get(start..))
                .is_some_and(|end| end.eq_ignore_ascii_case(extension))
        })
        || name
            .get(..5)
            .is_some_and(|start| start.eq_ignore_ascii_case(".env."))
}

/// Finds every value in a file of secrets: after `=` or `:`, the last field of `.pgpass`, the word after `password` in
/// `.netrc`, and a line that consists of a token.
pub(crate) fn values(text: &[u8], found: &mut Vec<Secret>) {
    let mut line = 0;
    while line < text.len() {
        let start = skip_blanks(text, line);
        let mut end = line_end(text, start);
        if let Some(range) = value_of_line(text, start, end) {
            end = end.max(range.end);
            let value = &text[range.clone()];
            if !value.is_empty() && !value.starts_with(b"[redacted:") {
                found.push(Secret { range, kind: "env" });
            }
            end = line_end(text, end);
        }
        line = past_break(text, end);
    }
}

fn value_of_line(text: &[u8], start: usize, end: usize) -> Option<Range<usize>> {
    let line = &text[start..end];
    if let Some(separator) = separator(line) {
        let value = skip_blanks(text, start + separator + 1);
        return Some(quoted_lines(text, value).unwrap_or(value.min(end)..end));
    }
    // The rest of a line that was redacted before is no value.
    if scan::find(line, b"[redacted:").is_some() {
        return None;
    }
    if let Some(word) = line
        .windows(9)
        .rposition(|word| word.eq_ignore_ascii_case(b"password "))
    {
        return Some(start + word + 9..end);
    }
    if line.iter().filter(|&&byte| byte == b':').count() >= 4 {
        let last = line.iter().rposition(|&byte| byte == b':')?;
        return Some(start + last + 1..end);
    }
    (looks_random(line) || is_key_line(line)).then_some(start..end)
}

/// Recognizes a line of a private key, which may be numbered or marked as changed.
fn is_key_line(line: &[u8]) -> bool {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    let unpadded = line
        .iter()
        .rposition(|&byte| byte != b'=')
        .map_or(0, |last| last + 1);
    let start = line[..unpadded]
        .iter()
        .rposition(|byte| !is_base64(byte))
        .map_or(0, |last| last + 1);
    let (before, body, padding) = (&line[..start], &line[start..unpadded], line.len() - unpadded);
    let has = |class: fn(&u8) -> bool| body.iter().any(class);
    // `NAME=` is an empty setting.
    let padded = padding > 1 || (padding == 1 && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase));
    before.len() <= 12
        && !before
            .iter()
            .any(|byte| byte.is_ascii_alphabetic() || *byte == b'=')
        && (padded || (padding == 0 && body.len() >= 16))
}

/// Reads a value in quotes, which may span several lines here. Without a closing quote it ends with its line.
fn quoted_lines(text: &[u8], open: usize) -> Option<Range<usize>> {
    let line = quoted(text, open)?;
    let EscapeStep::Quote {
        quote, backslashes, ..
    } = step(text, open)
    else {
        return None;
    };
    if !at_line_end(text, line.end) {
        return Some(line);
    }
    let close = scan::find_byte(&text[line.end..], quote).map(|length| line.end + length);
    let end = close.map_or(line.end, |close| {
        close - backslashes_before(text, close).min(backslashes)
    });
    Some(line.start..end)
}

/// Returns the position of the `=` or `: ` after a name.
fn separator(line: &[u8]) -> Option<usize> {
    let place = line
        .iter()
        .position(|&byte| byte == b'=')
        .or_else(|| scan::find(line, b": "))?;
    // The padding of base64 assigns nothing.
    if is_key_line(line) {
        return None;
    }
    let name = line[..place].trim_ascii_end();
    name.last()
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_\"'".contains(byte))
        .then_some(place)
}

fn line_end(text: &[u8], mut at: usize) -> usize {
    loop {
        at = match step(text, at) {
            EscapeStep::Break | EscapeStep::End => return at,
            EscapeStep::Blank => skip_blanks(text, at),
            EscapeStep::Plain { end } | EscapeStep::Quote { end, .. } => end,
        };
    }
}

fn past_break(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'\\') if text.get(at + 1) == Some(&b'u') => at + 6,
        Some(b'\\') => at + 2,
        _ => at + 1,
    }
}
