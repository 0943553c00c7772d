//! Tells a literal value from a placeholder, a reference, a piece of code and prose.

use crate::{entropy::looks_random, window::window};

/// Words that stand for no value or for any value: types and terms of documentation.
const NO_VALUES: &[&str] = &[
    "example",
    "null",
    "none",
    "nil",
    "true",
    "false",
    "undefined",
    "string",
    "text",
    "bytes",
    "varchar",
    "char",
    "integer",
    "number",
    "boolean",
    "object",
    "unknown",
    "never",
    "required",
    "optional",
    "redacted",
    "hidden",
    "masked",
    "empty",
    "unset",
    "missing",
    "placeholder",
    "todo",
    "pass",
    "fail",
    "passed",
    "failed",
    "uint8array",
    "arraybuffer",
    "buffer",
    "secretstr",
    "sha1",
    "sha256",
    "sha384",
    "sha512",
    "hmac",
    "argon2",
    "argon2id",
    "bcrypt",
    "scrypt",
    "pbkdf2",
    "base64",
    "utf8",
    "bytes32",
    "uint256",
    "x25519",
    "ed25519",
    "self",
    "this",
    "super",
    "input",
    "value",
    "param",
    "secretstring",
];

/// Words that follow `--password` in prose but not on a command line.
const PROSE: &[&str] = &[
    "flag",
    "flags",
    "option",
    "options",
    "argument",
    "parameter",
    "switch",
    "with",
    "when",
    "from",
    "that",
    "this",
    "must",
    "will",
    "should",
    "instead",
    "cannot",
    "only",
    "also",
    "then",
    "through",
    "were",
    "which",
    "does",
    "file",
];

/// Reports whether the value stands for another value or for none.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    let value = window(value);
    let first = value.first().copied().unwrap_or(b' ');
    let rest = &value[value.len().min(1)..];
    let filler = value
        .iter()
        .all(|byte| matches!(byte, b'x' | b'X' | b'*' | b'.' | b'-' | b'_' | b'?' | b'#'));
    let dots = value.starts_with("…".as_bytes()) || value.starts_with("•".as_bytes());
    let starts = |prefix: &str| starts_with(value, prefix);
    filler
        || dots
        || is_word_of(value, NO_VALUES)
        || starts("[redacted")
        || starts("<redacted")
        || starts("redacted")
        || starts("your_")
        || starts("your-")
        || starts("your ")
        || starts("-----BEGIN")
        || (first == b'<' && value.contains(&b'>'))
        || starts("\\u003c")
        || value.starts_with(b"{{")
        || value.starts_with(b"<%")
        || (first == b'{' && value.ends_with(b"}"))
        || (first == b'%'
            && (value.ends_with(b"%")
                || value.starts_with(b"%(")
                || value.starts_with(b"%s")
                || value.len() == 2))
        || (first == b'$' && is_reference(rest))
}

/// Recognizes the text after a `$` of a reference: `{…}`, `(…)`, `{{…}}`, a variable or the number of an argument.
fn is_reference(rest: &[u8]) -> bool {
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let variable = rest.iter().all(name);
    let upper = !rest.iter().any(u8::is_ascii_lowercase);
    let worded = !rest.iter().any(u8::is_ascii_digit);
    match rest.first() {
        Some(b'{') if !rest.contains(&b'}') => true,
        Some(b'{') => rest.ends_with(b"}") && rest.iter().filter(|&&byte| byte == b'{').count() <= 2,
        Some(b'(') => true,
        Some(byte) if byte.is_ascii_digit() => rest.len() == 1,
        Some(_) => {
            (variable && (upper || worded)) || (rest.starts_with(b"env:") || rest.starts_with(b"this->"))
        }
        None => true,
    }
}

/// Reports whether a quoted value is a message to the user, the name of something else, or a file.
pub(crate) fn is_mention(value: &[u8]) -> bool {
    let value = window(value);
    let sentence = value.contains(&b' ')
        && [
            "password",
            "passphrase",
            "required",
            "must ",
            "please",
            "invalid",
            "enter ",
            "your ",
        ]
        .iter()
        .any(|word| mentions(value, word));
    let constant = value.contains(&b'_')
        && value
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
        && names_a_secret(value);
    let selector = matches!(value.first(), Some(b'#' | b'.' | b'[')) && names_a_secret(value);
    let rules = mentions(value, "required|") || mentions(value, "|required") || mentions(value, "nullable|");
    let small = value
        .iter()
        .all(|byte| byte.is_ascii_lowercase() || b"._-".contains(byte));
    let dotted = small && value.contains(&b'.') && is_path_of_names(value) && names_a_secret(value);
    let version = value
        .strip_prefix(b"^")
        .or_else(|| value.strip_prefix(b"~"))
        .unwrap_or(value);
    let version =
        version.contains(&b'.') && version.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    version || sentence || constant || selector || rules || dotted || (is_file(value) && !looks_random(value))
}

/// The syntax around an unquoted value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueContext {
    /// `NAME=value` of a shell, a `.env` file, a query or a connection string: always a literal.
    Shell,
    /// `--name value`.
    Flag,
    /// Name and value fill the line.
    Line,
    /// Other text surrounds it, most likely code.
    Inline,
}

/// Reports whether an unquoted value is a literal and not a piece of code or prose.
pub(crate) fn is_bare_literal(value: &[u8], context: ValueContext) -> bool {
    let value = window(value);
    let command = matches!(context, ValueContext::Shell | ValueContext::Flag);
    let first = value.first().copied().unwrap_or(b' ');
    if value.len() < 4 || b"[{(<>|,;=)".contains(&first) || (is_file(value) && !looks_random(value)) {
        return false;
    }
    let marked = match first {
        b'*' | b'&' | b'!' | b'@' | b'%' | b'$' | b'?' | b'-' | b'\\' => true,
        b'/' | b'.' => !looks_random(value),
        _ => false,
    };
    if (marked && !command) || is_call(value) {
        return false;
    }
    let has = |class: fn(&u8) -> bool| value.iter().any(class);
    let name = value
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let (digits, letters) = (has(u8::is_ascii_digit), has(u8::is_ascii_alphabetic));
    match context {
        ValueContext::Shell => true,
        ValueContext::Flag => !is_word_of(value, PROSE) && first != b'-' && !is_variable(value),
        _ if name && !digits => {
            looks_random(value)
                || (context == ValueContext::Line && !has(u8::is_ascii_uppercase) && !is_variable(value))
        }
        _ if name && !letters => true,
        _ if name => !is_variable(value) && (context == ValueContext::Line || value.len() >= 6),
        _ if value.contains(&b'.') && is_path_of_names(value) => false,
        ValueContext::Line => letters || digits,
        ValueContext::Inline => {
            let marks = value[1..value.len() - 1]
                .iter()
                .any(|byte| b"@#%^!$~".contains(byte));
            letters && (digits || marks) && !value.ends_with(b":")
        }
    }
}

/// Recognizes variables by names that announce a secret: `newPassword`, `DB_PASS`, `token2`.
fn is_variable(value: &[u8]) -> bool {
    let stem = value
        .strip_suffix(b"2")
        .or_else(|| value.strip_suffix(b"1"))
        .unwrap_or(value);
    stem.iter()
        .all(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && names_a_secret(stem)
}

/// Recognizes calls and paths in code: `f(…)`, `a.b[…]`, `A::b`, `a->b`.
fn is_call(value: &[u8]) -> bool {
    let names = value
        .iter()
        .take_while(|&&byte| byte.is_ascii_alphanumeric() || b"_.:?!&".contains(&byte))
        .count();
    let after = value.get(names..).unwrap_or_default();
    let bracket = names > 0 && matches!(after.first(), Some(b'(' | b'[' | b'{' | b'<'));
    bracket || after.starts_with(b"->") || value[..names].windows(2).any(|pair| pair == b"::")
}

/// Recognizes dotted paths of names: `config.password`, `self.secret2`.
fn is_path_of_names(value: &[u8]) -> bool {
    value.split(|&byte| byte == b'.').all(|part| {
        part.first()
            .is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
            && part
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    })
}

fn is_file(value: &[u8]) -> bool {
    let rooted = matches!(value, [b'/', rest @ ..] | [b'\\', b'/', rest @ ..] if rest.contains(&b'/'));
    rooted
        || [&b"./"[..], b"../", b"~/"]
            .iter()
            .any(|start| value.starts_with(start))
}

fn names_a_secret(value: &[u8]) -> bool {
    ["pass", "pwd", "secret", "token", "key", "cred", "auth"]
        .iter()
        .any(|word| mentions(value, word))
}

fn mentions(value: &[u8], word: &str) -> bool {
    value
        .windows(word.len())
        .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

fn is_word_of(value: &[u8], words: &[&str]) -> bool {
    value.len() <= 16
        && words
            .iter()
            .any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

fn starts_with(value: &[u8], prefix: &str) -> bool {
    value
        .get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}
