//! Tables of texts with and without secrets, and properties that hold for any text.

mod found;
mod kept;
mod properties;

use super::{ScanContext, find, is_secret_file, redact};

fn plain(text: &str) -> String {
    redact(text, ScanContext::default()).into_owned()
}

fn with_key(key: &str, text: &str) -> String {
    redact(
        text,
        ScanContext {
            key: Some(key),
            env_file: false,
        },
    )
    .into_owned()
}

fn env_file(text: &str) -> String {
    redact(
        text,
        ScanContext {
            key: None,
            env_file: true,
        },
    )
    .into_owned()
}

/// Compares all pairs and reports every difference at once.
fn assert_all(pairs: impl IntoIterator<Item = (String, String)>) {
    let differ = pairs.into_iter().filter(|(actual, expected)| actual != expected);
    let lines: Vec<String> = differ
        .map(|(actual, expected)| format!("  {actual:?}\nis not\n  {expected:?}"))
        .collect();
    assert!(lines.is_empty(), "{} differ:\n{}", lines.len(), lines.join("\n"));
}

/// Returns the inside of the JSON string that encodes `text`.
fn escaped(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap();
    json[1..json.len() - 1].to_owned()
}

/// Decodes the inside of a JSON string.
fn unescaped(text: &str) -> Result<String, serde_json::Error> {
    serde_json::from_str(&format!("\"{text}\""))
}

/// Puts code around a line.
fn embedded(text: &str) -> String {
    format!("fn main() {{\n    println!(\"a\\tb\"); // it's\n{text}\n    let y = \"z\";\n}}\n")
}

#[test]
fn the_value_of_a_secret_key_is_redacted_as_a_whole() {
    assert_eq!(with_key("password", "hunter2"), "[redacted:password]");
    assert_eq!(
        with_key("password", "correct horse battery staple"),
        "[redacted:password]"
    );
    assert_eq!(with_key("dbPassword", "a\\\"b\\\\c"), "[redacted:password]");
    assert_eq!(with_key("API_KEY", "0f8Hq2Lz7Vx1Pm5Rt9Yw"), "[redacted:api-key]");
    assert_eq!(
        with_key("GITHUB_TOKEN", "ghp_0f8Hq2Lz7Vx1Pm5Rt9Yw0f8Hq2Lz7Vx1Pm5R"),
        "[redacted:github-token]"
    );
    assert_eq!(
        with_key("Authorization", "Bearer abc123def456"),
        "Bearer [redacted:authorization]"
    );
    assert_eq!(with_key("client-secret", "s3cr"), "[redacted:secret]");
    assert_eq!(
        with_key(
            "private_key",
            "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0B\\n"
        ),
        "[redacted:private-key]"
    );
}

#[test]
fn the_value_of_a_key_that_is_no_secret_is_unchanged() {
    for (key, text) in [
        ("password", "${DB_PASSWORD}"),
        ("password", "[redacted:password]"),
        ("password", ""),
        ("token", "identifier"),
        ("session_id", "3f2a9c41-8b7d-4e6f-9a01-23456789abcd"),
        ("content", "hunter2"),
        ("key", "user:profile"),
        ("file_path", "/home/me/password.txt"),
    ] {
        assert_eq!(with_key(key, text), text, "{key}");
    }
}

#[test]
fn every_value_of_an_env_file_is_redacted() {
    let file = "# settings\nHOST=localhost\nexport NAME=\"a b\"\nEMPTY=\n\nURL: x\n     7→PORT=8080\n";
    let gone = "# settings\nHOST=[redacted:env]\nexport NAME=\"[redacted:env]\"\nEMPTY=\n\nURL: [redacted:env]\n     7→PORT=[redacted:env]\n";
    assert_eq!(env_file(file), gone);
    assert_eq!(env_file(&escaped(file)), escaped(gone));
    assert_eq!(env_file(gone), gone);
    assert_eq!(
        env_file("//registry.npmjs.org/:_authToken=abc"),
        "//registry.npmjs.org/:_authToken=[redacted:env]"
    );
    assert_eq!(
        env_file("db.local:5432:main:me:hunter2"),
        "db.local:5432:main:me:[redacted:env]"
    );
    assert_eq!(
        env_file("machine a login b password c"),
        "machine a login b password [redacted:env]"
    );
    assert_eq!(
        env_file(r#"KEY=\"a\nb\"\nX=1"#),
        r#"KEY=\"[redacted:env]\"\nX=[redacted:env]"#
    );
    assert_eq!(
        env_file("KEY='a\nb'\nX=1"),
        "KEY='[redacted:env]'\nX=[redacted:env]"
    );
}

#[test]
fn files_of_secrets_are_recognized_by_name() {
    for path in [
        ".env",
        "/a/.env",
        "a/.env.local",
        "prod.env",
        "C:\\x\\.env.production",
        ".envrc",
        "/home/me/.aws/credentials",
        "~/.netrc",
        ".pgpass",
        ".npmrc",
        "~/.ssh/id_rsa",
        "~/.kube/config",
        ".ENV",
        "~/.docker/config.json",
        "/etc/ssl/server.pem",
        "tls.key",
        "AuthKey_1.p8",
        "cert.P12",
        "me.asc",
        "release.jks",
    ] {
        assert!(is_secret_file(path), "{path}");
    }
    for path in [
        ".env.example",
        "a/.env.sample",
        ".env.template",
        "example.env",
        ".env.local.example",
        "src/env.rs",
        "environment",
        "credentials",
        "config",
        "id_rsa.pub",
        "a/.kube/config.yaml",
        ".environment",
        "",
        "/",
        "src/secrets/mod.rs",
    ] {
        assert!(!is_secret_file(path), "{path}");
    }
}

#[test]
fn text_without_secrets_is_not_copied() {
    assert!(matches!(
        redact("let token = parser.next_token();", ScanContext::default()),
        std::borrow::Cow::Borrowed(_)
    ));
}

#[test]
fn escaped_json_stays_valid_and_keeps_its_quotes() {
    let cases = [
        (
            r#"{\"password\":\"hunter2\",\"user\":\"me\"}"#,
            r#"{\"password\":\"[redacted:password]\",\"user\":\"me\"}"#,
        ),
        (
            r#"{\\\"password\\\": \\\"x y z\\\"}"#,
            r#"{\\\"password\\\": \\\"[redacted:password]\\\"}"#,
        ),
        (
            r#"\"password\":\"a\\\"b\\\\\",\"b\":1"#,
            r#"\"password\":\"[redacted:password]\",\"b\":1"#,
        ),
        (
            r"DB_PASSWORD=caf\u00e9\/\\x9\nA=1",
            r"DB_PASSWORD=[redacted:password]\nA=1",
        ),
        (
            r#"{\"cmd\":\"export DB_PASSWORD=hunter2\"}"#,
            r#"{\"cmd\":\"export DB_PASSWORD=[redacted:password]\"}"#,
        ),
        (
            r"https:\/\/me:hunter2@host\/x",
            r"https:\/\/me:[redacted:url-password]@host\/x",
        ),
        (
            r"a\tghp_0f8Hq2Lz7Vx1Pm5Rt9Yw0f8Hq2Lz\tb",
            r"a\t[redacted:github-token]\tb",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(plain(text), expected);
    }
}

#[test]
fn colors_escapes_and_entities_hide_no_secret() {
    for (text, expected) in [
        (
            r"\u001b[32mAKIAQ3EGRZJ5TVWXNKP7\u001b[0m ok",
            r"\u001b[32m[redacted:aws-access-key]\u001b[0m ok",
        ),
        (
            "\u{1b}[32mAKIAQ3EGRZJ5TVWXNKP7\u{1b}[0m ok",
            "\u{1b}[32m[redacted:aws-access-key]\u{1b}[0m ok",
        ),
        (
            r"\u001b[1mDB_PASSWORD\u001b[0m=\u001b[32mhunter2\u001b[0m\n",
            r"\u001b[1mDB_PASSWORD\u001b[0m=\u001b[32m[redacted:password]\u001b[0m\n",
        ),
        (
            r"DB_PASSWORD\\u003dhunter2\\u0026x\\u003d1",
            r"DB_PASSWORD\\u003d[redacted:password]\\u0026x\\u003d1",
        ),
        (
            r"{\\u0022password\\u0022: \\u0022open sesame\\u0022, \\u0022a\\u0022: 1}",
            r"{\\u0022password\\u0022: \\u0022[redacted:password]\\u0022, \\u0022a\\u0022: 1}",
        ),
        (
            "data-config=\"{&quot;password&quot;:&quot;open sesame&quot;}\"",
            "data-config=\"{&quot;password&quot;:&quot;[redacted:password]&quot;}\"",
        ),
        (
            "password&#61;hunter2&amp;user&#x3D;me",
            "password&#61;[redacted:password]&amp;user&#x3D;me",
        ),
    ] {
        assert_eq!(plain(text), expected);
        assert_eq!(plain(expected), expected);
    }
    for text in [
        r"\u001b[32mok\u001b[0m token count",
        "a &amp;&amp; b &lt;password&gt;",
        r"\u003cpassword\u003e",
    ] {
        assert_eq!(plain(text), text);
    }
}

#[test]
fn hostile_text_is_read_in_linear_time() {
    // A scanner that reads each of these once per piece would take minutes.
    let pieces = [
        "password=",
        "password: ",
        "password=)",
        "password=\\\\",
        "password='",
        "authorization:",
        "cookie=a;",
        "cookie=",
        "eyJ",
        "eyJ.",
        "eyJ-",
        "sk-",
        "sk-a",
        "://a:",
        "-----BEGIN",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "\\",
        "\\\"",
        "curl -u ",
        "pass",
        "token:a&",
        "AKIA",
        "github_pat_",
        "a.bcdefg.",
        "\\u001b[32m",
        "&quot;",
        "a | password\n",
        "password,a\n",
        "machine login password ",
        "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
        "password\\u003d",
        "-----BEGIN PRIVATE KEY-----MIIEvQIBADANBgkqhkiG9w0B",
        "MIIEvQIBADANBgkqhkiG9w0B-----END PRIVATE KEY-----",
        "key=\"\\\"",
    ];
    let start = std::time::Instant::now();
    for piece in pieces {
        find(&piece.repeat(300_000 / piece.len()), ScanContext::default());
    }
    assert!(
        start.elapsed() < std::time::Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
}
