//! Properties that hold for any text.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

use super::{ScanContext, env_file, escaped, find, plain, unescaped};

const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const PRINTABLE: &str =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%*+-./:;=?@^_|~\\\"'(){}[]<>é ";

/// The text before and after a random part, its alphabet and its length.
const CARRIERS: &[(&str, &str, &str, usize)] = &[
    ("AKIA", "", UPPER, 16),
    ("ghp_", "", BASE62, 36),
    ("github_pat_", "", BASE62, 60),
    ("glpat-", "", BASE62, 20),
    ("xoxb-", "", BASE62, 40),
    ("https://hooks.slack.com/services/T0/B0/", "", BASE62, 24),
    ("sk-", "", BASE62, 48),
    ("sk-proj-", "", BASE62, 48),
    ("sk-ant-api03-", "", BASE62, 90),
    ("sk_live_", "", BASE62, 24),
    ("AIza", "", BASE62, 35),
    ("GOCSPX-", "", BASE62, 28),
    ("npm_", "", BASE62, 36),
    ("hf_", "", BASE62, 34),
    ("dop_v1_", "", HEX, 64),
    ("dapi", "", HEX, 32),
    ("shpat_", "", HEX, 32),
    ("hvs.", "", BASE62, 90),
    ("AGE-SECRET-KEY-1", "", UPPER, 58),
    ("123456789:AA", "", BASE62, 33),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx", ".abc", BASE62, 40),
    ("postgres://me:", "@host/db", BASE62, 12),
    ("Authorization: Bearer ", "", BASE62, 24),
    ("Cookie: a=b; sid=", "; c=d", BASE62, 40),
    ("DB_PASSWORD=", "", BASE62, 10),
    ("tool --password ", " -v", BASE62, 10),
    ("password: x9", "", BASE62, 12),
    ("Server=x;Password=", ";Database=y", BASE62, 10),
    ("<password>", "</password>", BASE62, 10),
    ("api_key = '", "'", BASE62, 40),
    ("\"access_token\": \"", "\"", BASE62, 40),
    ("\"encryptionKey\": \"", "\"", HEX, 64),
    ("curl -u me:", " https://a.b", BASE62, 10),
    (
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "\n-----END RSA PRIVATE KEY-----",
        BASE62,
        64,
    ),
];

/// Pieces from which hostile texts are assembled.
const PIECES: &[&str] = &[
    "password",
    "DB_PASSWORD",
    "token",
    "apiKey",
    "secret_key",
    "key",
    "Authorization",
    "Cookie",
    "passphrase",
    "pass",
    "connectionString",
    "=",
    ": ",
    ":",
    " = ",
    " => ",
    "\"",
    "'",
    "`",
    "\\",
    "\\\\",
    "\\\"",
    "\\\\\\\"",
    "\\n",
    "\\t",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\/",
    "\\u",
    "\\u001b[32m",
    "\u{1b}[0m",
    "\\u0022",
    "\\\\u003d",
    "&quot;",
    "&#61;",
    "&amp;",
    "\n",
    "\t",
    " ",
    ",",
    ";",
    "&",
    "?",
    "<",
    ">",
    "</",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "hunter2",
    "é",
    "😀",
    "\u{0}",
    "0f8Hq2Lz7Vx1Pm5Rt9Yw",
    "ghp_",
    "sk-",
    "dapi",
    "eyJ",
    "eyJhbGciOi.",
    ".eyJ",
    "0123456789abcdef0123456789abcdef",
    "://",
    ":\\/\\/",
    "https://a:",
    "@",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "MIIEvQIBADANBgkqhkiG9w0BAQEF",
    "--password ",
    "-u ",
    "curl ",
    "mysql -p",
    "value",
    "Bearer ",
    "[redacted:password]",
    "[redacted:",
    "$",
    "${",
    "%",
    "#",
    "export ",
    "hooks.slack.com/services/",
    "&sig=",
    "123456789:AAabc",
    "identified by ",
    "null",
    "1234",
    ".",
    "-",
    "_",
    "x",
];

fn random(alphabet: &'static str, length: usize) -> impl Strategy<Value = String> {
    let characters: Vec<char> = alphabet.chars().collect();
    proptest::collection::vec(select(characters), length).prop_map(String::from_iter)
}

fn soup() -> impl Strategy<Value = String> {
    proptest::collection::vec(select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

fn carried() -> impl Strategy<Value = (&'static str, String, &'static str)> {
    select(CARRIERS).prop_flat_map(|(before, after, alphabet, length)| {
        random(alphabet, length).prop_map(move |secret| (before, secret, after))
    })
}

fn assert_gone(redacted: &str, secret: &str) {
    for part in secret.as_bytes().windows(8) {
        let left = redacted.as_bytes().windows(8).any(|window| window == part);
        assert!(!left, "{secret:?} is left in {redacted:?}");
    }
}

fn assert_valid(text: &str, context: ScanContext<'_>) {
    let found = find(text, context);
    let mut end = 0;
    for secret in &found {
        assert!(
            secret.range.start >= end && secret.range.start < secret.range.end,
            "{found:?} in {text:?}"
        );
        assert!(text.get(secret.range.clone()).is_some(), "{found:?} in {text:?}");
        end = secret.range.end;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_secret_inside_any_text_is_redacted(
        before in "[a-z(){};=,.\"' \n]{0,60}",
        (prefix, secret, suffix) in carried(),
        after in "\\PC{0,40}",
    ) {
        let text = format!("{before}\n{prefix}{secret}{suffix}\n{after}");
        assert_gone(&plain(&text), &secret);
        assert_gone(&plain(&escaped(&text)), &secret);
        assert_gone(&plain(&escaped(&escaped(&text))), &secret);
    }

    #[test]
    fn a_secret_between_colors_is_redacted((prefix, secret, suffix) in carried(), escape in select(&["\u{1b}", "\\033", "\\x1b", "\\e"][..])) {
        prop_assume!(!plain(&format!("{prefix}{secret}{suffix}")).contains(&secret));
        let (color, reset) = (format!("{escape}[1;32m"), format!("{escape}[0m"));
        for text in [
            format!("$ {color}{prefix}{secret}{suffix}{reset} end"),
            format!("$ {prefix}{color}{secret}{reset}{suffix} end"),
            format!("$ {prefix}{}{color}{}{reset}{suffix} end", &secret[..4], &secret[4..]),
        ] {
            assert_gone(&plain(&text), &secret);
            assert_gone(&plain(&escaped(&text)), &secret);
            assert_gone(&plain(&escaped(&escaped(&text))), &secret);
        }
    }

    #[test]
    fn a_secret_in_an_encoded_text_is_redacted((prefix, secret, suffix) in carried()) {
        let text = format!("$ {prefix}{secret}{suffix}\n end");
        prop_assume!(plain(&text) != text);
        let unicode: String = text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '\n' { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) }).collect();
        let numeric: String = text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '\n' { c.to_string() } else { format!("&#{};", u32::from(c)) }).collect();
        let html = text.replace('&', "&amp;").replace('"', "&quot;").replace('\'', "&#39;").replace('<', "&lt;").replace('>', "&gt;");
        for text in [unicode, numeric, html] {
            assert_gone(&plain(&text), &secret);
            assert_gone(&plain(&escaped(&text)), &secret);
        }
    }

    #[test]
    fn a_password_of_any_characters_is_redacted_in_json(first in random(BASE62, 1), rest in random(PRINTABLE, 12)) {
        let secret = format!("{first}{rest}");
        let text = serde_json::json!({ "user": "me", "password": secret, "host": "b" }).to_string();
        let redacted = plain(&text);
        prop_assert_eq!(&redacted, r#"{"user":"me","password":"[redacted:password]","host":"b"}"#);
        prop_assert_eq!(plain(&escaped(&text)), escaped(&redacted));
        prop_assert_eq!(plain(&escaped(&escaped(&text))), escaped(&escaped(&redacted)));
    }

    #[test]
    fn any_text_yields_valid_ranges(text in "\\PC{0,200}", soup in soup()) {
        for text in [text, soup] {
            assert_valid(&text, ScanContext::default());
            assert_valid(&text, ScanContext { key: Some("password"), env_file: false });
            assert_valid(&text, ScanContext { key: None, env_file: true });
        }
    }

    #[test]
    fn redacting_twice_equals_redacting_once(text in soup()) {
        let once = plain(&text);
        prop_assert_eq!(plain(&once), &once[..], "from {:?}", text);
        let once = env_file(&text);
        prop_assert_eq!(env_file(&once), &once[..], "from {:?}", text);
    }

    #[test]
    fn escaped_json_stays_escaped_json(text in soup()) {
        let (once, twice) = (escaped(&text), escaped(&escaped(&text)));
        for text in [text, once, twice] {
            if unescaped(&text).is_ok() {
                let redacted = plain(&text);
                prop_assert!(unescaped(&redacted).is_ok(), "{:?} became {:?}", text, redacted);
                let redacted = env_file(&text);
                prop_assert!(unescaped(&redacted).is_ok(), "{:?} became {:?}", text, redacted);
            }
        }
    }
}
