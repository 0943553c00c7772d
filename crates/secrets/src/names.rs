//! Recognizes names that announce a secret: `DB_PASSWORD`, `clientSecret`, `api-key`, but not `cache_key` or `token_count`.

/// Anchors: parts of `password`, `secret`, `token`, `connectionString`, `conn_str`, `cookie` and the like that are rare
/// elsewhere.
pub(crate) const WORDS: &[&str] = &[
    "pass", "pwd", "secr", "oken", "key", "auth", "cred", "nnec", "onns", "nn_s", "ooki",
];

/// Bytes that may follow an anchor of three letters and complete it to four.
pub(crate) const SHORT_WORD_TAILS: &[u8] = b"=:\"'\\ \t\n\r>])_-?!,`12ds<|";

/// The evidence that a name gives about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecretLikelihood {
    /// Any literal is the secret.
    Literal,
    /// A value that looks random is the secret.
    Random,
    /// Only a value that is random beyond doubt is the secret: `key` alone names anything.
    VeryRandom,
    /// `Authorization`: the value is a scheme and the secret.
    Authorization,
    /// `Cookie`, `Set-Cookie`: the value is pairs of name and value.
    Cookie,
}

/// A name that announces a secret.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SecretName {
    pub(crate) likelihood: SecretLikelihood,
    pub(crate) kind: &'static str,
    /// In upper case, as environment variables are.
    pub(crate) is_upper: bool,
    /// The value may be a count: `pass` also counts passed tests.
    pub(crate) may_count: bool,
}

/// Endings of names (in lower case, without separators) for which any literal is a secret, with the kind.
const LITERAL: &[(&str, &str)] = &[
    ("password", "password"),
    ("passwd", "password"),
    ("passphrase", "password"),
    ("passcode", "password"),
    ("pwd", "password"),
    ("pass", "password"),
    ("secret", "secret"),
    ("connectionstring", "connection-string"),
    ("connstring", "connection-string"),
    ("connstr", "connection-string"),
];

/// Endings of names for which only a random value is a secret, with the kind.
const RANDOM: &[(&str, &str)] = &[
    ("apikey", "api-key"),
    ("key", "key"),
    ("keys", "key"),
    ("keydata", "key"),
    ("token", "token"),
    ("tokens", "token"),
    ("auth", "auth"),
    ("credential", "credential"),
    ("credentials", "credential"),
    ("creds", "credential"),
    ("passwords", "password"),
    ("secrets", "secret"),
    ("secretid", "secret"),
];

/// Names that end like one above but announce nothing: the ending, and the words before it.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "key",
        &[
            "public",
            "pub",
            "primary",
            "foreign",
            "cache",
            "sort",
            "partition",
            "row",
            "hash",
            "range",
            "object",
            "storage",
            "s3",
            "query",
            "idempotency",
            "dedup",
            "lookup",
            "group",
            "routing",
            "index",
            "publishable",
            "site",
            "hot",
            "map",
            "state",
            "translation",
            "registry",
            "mon",
            "don",
        ],
    ),
    (
        "token",
        &["next", "page", "continuation", "cancellation", "sync", "paging"],
    ),
    (
        "pass",
        &[
            "by", "mini", "ask", "get", "com", "tres", "sur", "over", "under", "render", "sub",
        ],
    ),
];

/// Words after the ending that change nothing: `SECRET_KEY_BASE`, `api_key_prod`.
const QUALIFIERS: &[&str] = &[
    "base64",
    "b64",
    "base",
    "production",
    "prod",
    "staging",
    "stage",
    "development",
    "dev",
    "test",
    "live",
    "value",
    "hex",
    "old",
    "new",
    "current",
    "primary",
    "secondary",
    "default",
    "plaintext",
    "plain",
];

/// Last words of environment variables that name an attribute of the secret instead (`TOKEN_PATH`, but not `TOKEN_GITHUB`).
const ATTRIBUTES: &[&str] = &[
    "id", "ids", "name", "names", "count", "sha", "digest", "checksum", "version", "arn", "url", "uri",
    "path", "file", "dir", "type", "ttl", "expiry", "header", "prefix", "field", "length", "size", "limit",
];

/// The longest run of characters that is considered a name.
const MAX_LEN: usize = 64;

impl SecretName {
    /// Classifies a name in any case and with any separators.
    pub(crate) fn classify(name: &[u8]) -> Option<Self> {
        let mut buffer = [0; MAX_LEN];
        let plain = plain_form(name, &mut buffer)?;
        let upper = !name.iter().any(u8::is_ascii_lowercase);
        let found = |likelihood, kind| {
            Some(Self {
                likelihood,
                kind,
                is_upper: upper,
                may_count: plain == b"pass",
            })
        };
        match plain {
            b"authorization" | b"proxyauthorization" => {
                return found(SecretLikelihood::Authorization, "authorization");
            }
            b"cookie" | b"setcookie" | b"cookies" => return found(SecretLikelihood::Cookie, "cookie"),
            b"pwd" | b"oldpwd" if upper => return None,
            b"key" | b"keys" => return found(SecretLikelihood::VeryRandom, "key"),
            _ => {}
        }
        let core = without_qualifiers(plain);
        if is_harmless(core) {
            return None;
        }
        if let Some((_, kind)) = LITERAL.iter().find(|(end, _)| ends_with(core, end)) {
            return found(SecretLikelihood::Literal, kind);
        }
        let secret_key = core.ends_with(b"key") && core.windows(6).any(|part| part == b"secret");
        if secret_key {
            return found(SecretLikelihood::Literal, "secret");
        }
        if let Some((_, kind)) = RANDOM.iter().find(|(end, _)| ends_with(core, end)) {
            return found(SecretLikelihood::Random, kind);
        }
        if upper && !is_attribute(name) {
            let (_, kind) = LITERAL
                .iter()
                .chain(RANDOM)
                .find(|(word, _)| has_word(name, word.as_bytes()))?;
            return found(SecretLikelihood::Random, kind);
        }
        None
    }
}

/// Returns the start of the name around `at`: letters, digits, `_`, and `-` between them.
pub(crate) fn start(text: &[u8], at: usize) -> usize {
    let mut start = at
        - text[..at]
            .iter()
            .rev()
            .take(MAX_LEN + 1)
            .take_while(|byte| is_part(**byte))
            .count();
    // The first letters may belong to an escape: `\nPASSWORD`, `\u0026token`.
    if start > 0 && text[start - 1] == b'\\' {
        let unicode = text[start] == b'u' && text[start + 1..].iter().take(4).all(u8::is_ascii_hexdigit);
        let letter = matches!(text[start], b'n' | b'r' | b't' | b'b' | b'f');
        start = (start + if unicode { 5 } else { usize::from(letter) }).min(at);
    }
    while start < at && text[start] == b'-' {
        start += 1;
    }
    start
}

/// Returns the end of the name around `at`.
pub(crate) fn end(text: &[u8], at: usize) -> usize {
    let mut end = at
        + text[at..]
            .iter()
            .take(MAX_LEN + 1)
            .take_while(|byte| is_part(**byte))
            .count();
    while end > at && text[end - 1] == b'-' {
        end -= 1;
    }
    end
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Returns the name in lower case and without separators, unless it is too long.
fn plain_form<'a>(name: &[u8], buffer: &'a mut [u8; MAX_LEN]) -> Option<&'a [u8]> {
    let mut length = 0;
    for byte in name.iter().filter(|byte| byte.is_ascii_alphanumeric()) {
        *buffer.get_mut(length)? = byte.to_ascii_lowercase();
        length += 1;
    }
    Some(&buffer[..length])
}

fn without_qualifiers(mut name: &[u8]) -> &[u8] {
    loop {
        let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let shorter = QUALIFIERS
            .iter()
            .find_map(|word| name.strip_suffix(word.as_bytes()));
        name = match shorter {
            Some(shorter) => shorter,
            None if digits > 0 => &name[..name.len() - digits],
            None => return name,
        };
    }
}

fn is_harmless(name: &[u8]) -> bool {
    HARMLESS.iter().any(|(end, before)| {
        ends_with(name, end)
            && before
                .iter()
                .any(|word| ends_with(&name[..name.len() - end.len()], word))
    })
}

/// Compares the last byte first, which nearly always suffices.
fn ends_with(name: &[u8], end: &str) -> bool {
    name.last() == end.as_bytes().last() && name.ends_with(end.as_bytes())
}

fn is_attribute(name: &[u8]) -> bool {
    let last = name
        .rsplit(|&byte| byte == b'_' || byte == b'-')
        .next()
        .unwrap_or(name);
    ATTRIBUTES
        .iter()
        .any(|word| last.eq_ignore_ascii_case(word.as_bytes()))
}

/// Reports whether one of the words of a name is `word`.
fn has_word(name: &[u8], word: &[u8]) -> bool {
    name.split(|&byte| byte == b'_' || byte == b'-')
        .any(|part| part.eq_ignore_ascii_case(word))
}
