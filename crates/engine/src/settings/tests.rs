use std::path::Path;

use proptest::prelude::*;

use super::keys::Kind;
use super::*;

fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, text)| ((*name).into(), (*text).into()))
        .collect()
}

/// Returns the problems of a text and some variables, one per line.
fn problems(text: &str, env: &[(&str, &str)]) -> String {
    let (_, problems) = load(
        Path::new("/home/me/.backstory/config.toml"),
        Some(text),
        &variables(env),
    );
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

fn loaded(text: &str, env: &[(&str, &str)]) -> Settings {
    load(Path::new("config.toml"), Some(text), &variables(env)).0
}

/// Returns the extreme values of a kind.
fn extremes(kind: Kind) -> Vec<toml::Value> {
    match kind {
        Kind::Flag => vec![true.into(), false.into()],
        Kind::OnOff => vec!["on".into(), "off".into()],
        Kind::Number { min, max } => vec![min.into(), max.into()],
        Kind::Limit { min, max } => vec![0.into(), min.into(), max.into()],
        Kind::Choice(words) => words.iter().map(|word| (*word).into()).collect(),
        Kind::Text => vec!["".into(), "gpt-5 \"quoted\"".into()],
        Kind::Address => vec![
            "".into(),
            "http://[::1]:11434/v1".into(),
            "https://a.example".into(),
        ],
        Kind::Variable => vec!["".into(), "_MY_KEY2".into()],
        Kind::TimeZone => vec!["".into(), "Europe/Berlin".into(), "UTC".into()],
        Kind::Loopback => vec!["127.0.0.1".into(), "127.9.9.9".into(), "::1".into()],
        Kind::List => vec![Vec::<String>::new().into(), vec!["/a/**", "b c"].into()],
        Kind::Prices => vec![Vec::<String>::new().into(), vec!["a-model=1/2.5", "b=0/0"].into()],
        Kind::ListOf(words) => vec![words.to_vec().into(), words[..1].to_vec().into()],
    }
}

#[test]
fn the_defaults_cover_all_keys_with_valid_values() {
    let written: Vec<String> = defaults()
        .iter()
        .flat_map(|(section, keys)| {
            keys.as_table()
                .unwrap()
                .keys()
                .map(move |name| format!("{section}.{name}"))
        })
        .collect();
    let mut keys: Vec<String> = KEYS.iter().map(ToString::to_string).collect();
    keys.sort();
    assert_eq!(written, keys);
    let (settings, problems) = load(Path::new("defaults.toml"), Some(DEFAULTS), &[]);
    assert_eq!((settings, problems), (Settings::default(), vec![]));
}

#[test]
fn the_comments_of_the_defaults_name_the_accepted_values() {
    let document = DEFAULTS.parse().unwrap();
    for key in KEYS {
        let meaning = reference::meaning(&document, key);
        assert_eq!(meaning.values, key.kind.to_string(), "{key}");
        assert!(meaning.text.ends_with('.'), "{key}: {}", meaning.text);
    }
}

#[test]
fn every_accepted_value_reaches_its_field() {
    for key in KEYS {
        for value in extremes(key.kind) {
            let text = format!("[{}]\n{} = {value}\n", key.section, key.name);
            let resolved = resolve(Path::new("config.toml"), Some(&text), &[]);
            assert_eq!(resolved.problems, [], "{text}");
            let entry = SettingEntry {
                key,
                value: value.clone(),
                source: SettingSource::File { line: 2 },
            };
            assert_eq!(*resolved.entry(key), entry);
            let is_default = defaults()[key.section][key.name] == value;
            assert_eq!(resolved.settings() == Settings::default(), is_default, "{text}");

            if key.overrides != Overrides::Any {
                continue;
            }
            let variable = (key.variable(), to_words(&value).join(","));
            let by_variable = resolve(Path::new("config.toml"), None, std::slice::from_ref(&variable));
            assert_eq!(by_variable.problems, [], "{variable:?}");
            assert_eq!(by_variable.settings(), resolved.settings(), "{variable:?}");
        }
    }
}

#[test]
fn the_environment_makes_capture_stricter_but_not_looser() {
    let strict =
        "[capture]\nskip_tools = ['A']\nexclude = ['/a']\nmax_payload_kb = 100\ndurability = 'full'\n";
    let loose = "[capture]\nredact = false\n[mcp]\nall_projects = true\n";
    let cases = [
        (strict, "BACKSTORY_CAPTURE_SKIP_TOOLS", "B,A", Some("A,B")),
        (strict, "BACKSTORY_CAPTURE_EXCLUDE", "/b", Some("/a,/b")),
        (strict, "BACKSTORY_CAPTURE_MAX_PAYLOAD_KB", "50", Some("50")),
        (strict, "BACKSTORY_CAPTURE_MAX_PAYLOAD_KB", "200", None),
        (strict, "BACKSTORY_CAPTURE_REDACT", "true", Some("true")),
        (strict, "BACKSTORY_CAPTURE_REDACT", "false", None),
        (strict, "BACKSTORY_CAPTURE_DURABILITY", "normal", None),
        (strict, "BACKSTORY_MCP_ALL_PROJECTS", "true", None),
        (loose, "BACKSTORY_CAPTURE_REDACT", "true", Some("true")),
        (loose, "BACKSTORY_CAPTURE_DURABILITY", "full", Some("full")),
        (loose, "BACKSTORY_MCP_ALL_PROJECTS", "false", Some("false")),
    ];
    for (file, variable, text, expected) in cases {
        let env = [(variable.to_owned(), text.to_owned())];
        let of_file = resolve(Path::new("config.toml"), Some(file), &[]);
        let resolved = resolve(Path::new("config.toml"), Some(file), &env);
        let key = KEYS.iter().find(|key| key.variable() == variable).unwrap();
        let words = to_words(&resolved.entry(key).value).join(",");
        match expected {
            Some(expected) => assert_eq!((words.as_str(), &resolved.problems[..]), (expected, &[][..])),
            None => {
                assert_eq!(resolved.settings(), of_file.settings(), "{variable}={text}");
                let problem = resolved.problems[0].to_string();
                assert!(
                    problem.starts_with(&format!("{variable}: ignored, because")),
                    "{problem}"
                );
            }
        }
    }
}

#[test]
fn the_defaults_match_the_specification() {
    let Settings {
        capture,
        distill,
        context,
        recall,
        mcp,
        worker,
        http,
        retention,
        team,
        ui,
    } = Settings::default();
    assert_eq!(
        capture.skip_tools,
        [
            "ListMcpResourcesTool",
            "SlashCommand",
            "Skill",
            "TodoWrite",
            "AskUserQuestion"
        ]
    );
    assert_eq!(
        (capture.max_payload_kb, capture.durability),
        (256, Durability::Normal)
    );
    assert_eq!(
        (distill.provider, distill.model, distill.daily_tokens),
        (ProviderName::Builtin, None, 200_000)
    );
    assert_eq!(
        (context.observations, context.sessions, context.full),
        (50, 10, 5)
    );
    assert_eq!((context.types.len(), context.budget_tokens), (6, 2000));
    assert_eq!(recall.guard, Guard::Warn);
    assert_eq!(ui.receipts, Receipts::Start);
    assert!(!mcp.all_projects);
    assert_eq!((worker.idle_minutes, worker.http, http.port), (30, true, 37777));
    assert_eq!(
        (retention.passages_days, retention.max_db_mb),
        (NonZeroU32::new(365), NonZeroU32::new(2048))
    );
    assert_eq!((retention.backups, ui.timezone), (7, None));
    assert_eq!(
        (team.share_mode, team.share_summaries),
        (SharePolicy::Review, false)
    );
}

#[test]
fn unknown_keys_are_reported_with_a_suggestion() {
    let text = r#"
budget_tokens = 5
skip = 1
"capture.redact" = false
captures.redact = false

[capture]
skip_tool = []
budget_tokens = 1
shade = "red"
"a\u001bb" = 1

[contxt]
full = 99

[plugins]
[[plugins.list]]
"#;
    insta::assert_snapshot!(problems(text, &[]), @r#"
    config.toml:2: unknown key `budget_tokens`; did you mean `context.budget_tokens`?
    config.toml:3: unknown key `skip`; did you mean `capture.skip_tools`?
    config.toml:4: unknown key `"capture.redact"`; did you mean `capture.redact`?
    config.toml:5: unknown section `[captures]`; did you mean `[capture]`?
    config.toml:8: unknown key `capture.skip_tool`; did you mean `capture.skip_tools`?
    config.toml:9: unknown key `capture.budget_tokens`; did you mean `context.budget_tokens`?
    config.toml:10: unknown key `capture.shade`; `backstory config list` lists them
    config.toml:11: unknown key `capture.a\u{1b}b`; `backstory config list` lists them
    config.toml:13: unknown section `[contxt]`; did you mean `[context]`?
    config.toml:16: unknown section `[plugins]`; there are capture, distill, context, recall, mcp, worker, http, retention, team, ui
    "#);
}

#[test]
fn bad_values_are_reported_with_the_expected_kind() {
    let text = r#"
context.full = -1
[capture]
max_payload_kb = "many"
redact = "maybe"
exclude = [
  "a",
  1,
]
durability.full = true
skip_tools = { a = 1 }
[distill]
provider = "claude"
api_key_env = "sk-ant-api03-secret"
base_url = "ftp://x"
daily_tokens = 1.5
[context.types]
decision = true
[retention]
max_db_mb = 1
[ui]
timezone = "Europe/Atlantis"
"#;
    insta::assert_snapshot!(problems(text, &[]), @r#"
    config.toml:2: context.full = -1: expected a whole number from 0 to 20
    config.toml:4: capture.max_payload_kb = "many": expected a whole number from 16 to 16384
    config.toml:5: capture.redact = "maybe": expected true or false
    config.toml:6: capture.exclude = [ "a", 1, ]: expected a list of strings
    config.toml:10: capture.durability = (a section): expected normal or full
    config.toml:11: capture.skip_tools = { a = 1 }: expected a list of strings
    config.toml:13: distill.provider = "claude": expected builtin, claude-cli, anthropic or openai
    config.toml:14: distill.api_key_env = (not shown): expected the name of an environment variable (not the key itself), or empty
    config.toml:15: distill.base_url = "ftp://x": expected an address that starts with http:// or https://, or empty
    config.toml:16: distill.daily_tokens = 1.5: expected a whole number from 0 to 1000000000
    config.toml:17: context.types = (a section): expected a list with at least one of decision, bugfix, feature, refactor, discovery, change
    config.toml:20: retention.max_db_mb = 1: expected 0, or a whole number from 64 to 1048576
    config.toml:22: ui.timezone = "Europe/Atlantis": expected a time zone such as Europe/Berlin, or empty
    "#);
    assert_eq!(loaded(text, &[]), Settings::default());
}

#[test]
fn sections_of_another_form_are_reported() {
    let table = [
        "capture = 5",
        "[[context]]\nfull = 1\n[[context]]",
        "http = [{ port = 1 }]",
        "ui = {}\nworker = 1979-05-27",
    ];
    let all: String = table.iter().map(|text| problems(text, &[])).collect();
    insta::assert_snapshot!(all, @"
    config.toml:1: `capture` is a value; expected one section, headed [capture]
    config.toml:1: `context` is a list of sections; expected one section, headed [context]
    config.toml:1: `http` is a value; expected one section, headed [http]
    config.toml:2: `worker` is a value; expected one section, headed [worker]
    ");
}

#[test]
fn a_syntax_error_has_its_line_and_column() {
    let table = [
        "[capture]\nredact = yes\n",
        "[capture\nredact = true\n",
        "[capture]\nredact = true\nredact = false\n",
        "exclude = [\"a\"",
        "[capture]\n[capture]\n",
        "a = \"\u{1b}[31m\"",
        "größe = = 1",
        "redact: true",
    ];
    let all: String = table.iter().map(|text| problems(text, &[])).collect();
    insta::assert_snapshot!(all, @"
    config.toml:2:10: not valid TOML: string values must be quoted; the file is ignored until this is fixed
    config.toml:1:9: not valid TOML: unclosed table, expected `]`; the file is ignored until this is fixed
    config.toml:3:1: not valid TOML: duplicate key; the file is ignored until this is fixed
    config.toml:1:15: not valid TOML: unclosed array, expected `]`; the file is ignored until this is fixed
    config.toml:2:2: not valid TOML: duplicate key; the file is ignored until this is fixed
    config.toml:1:6: not valid TOML: invalid basic string; the file is ignored until this is fixed
    config.toml:1:9: not valid TOML: extra `=`; the file is ignored until this is fixed
    config.toml:1:9: not valid TOML: key with no value, expected `=`; the file is ignored until this is fixed
    ");
    assert_eq!(
        loaded(
            "[context]\nfull = 1\nfull = 2\n",
            &[("BACKSTORY_CONTEXT_FULL", "3")]
        )
        .context
        .full,
        3
    );
}

#[test]
fn variables_are_checked_like_the_file() {
    let env = [
        ("BACKSTORY_CONTEXT_FULL", "99"),
        ("BACKSTORY_CAPTURE_REDACT", "ja"),
        ("BACKSTORY_CONTEXT_TYPES", "bugfix,bugs"),
        ("BACKSTORY_DISTILL_API_KEY_ENV", "sk-ant-api03-secret"),
        ("BACKSTORY_DISTILL_MODEL", "a\nb\u{1b}c"),
        ("BACKSTORY_CAPTURE_SKIPTOOLS", "x"),
        ("BACKSTORY_CAPTURE_SHADE", "x"),
        ("BACKSTORY_CAPTURE_BUDGET_TOKENS", "1"),
        ("BACKSTORY_HTTP", "off"),
        ("BACKSTORY_HOME", "/x"),
        ("BACKSTORY_DISABLED", "1"),
        ("BACKSTORY_INTERNAL", "1"),
        ("BACKSTORY_DEBUG", "1"),
        ("BACKSTORY_TEST_NOW", "1"),
        ("BACKSTORY_", "1"),
        ("CONTEXT_FULL", "99"),
    ];
    insta::assert_snapshot!(problems("", &env), @r"
    BACKSTORY_CONTEXT_FULL=99: expected a whole number from 0 to 20
    BACKSTORY_CAPTURE_REDACT=ja: expected true or false
    BACKSTORY_CONTEXT_TYPES=bugfix,bugs: expected a list with at least one of decision, bugfix, feature, refactor, discovery, change
    BACKSTORY_DISTILL_API_KEY_ENV=(not shown): expected the name of an environment variable (not the key itself), or empty
    BACKSTORY_DISTILL_MODEL=a b\u{1b}c: expected a string, or empty
    BACKSTORY_CAPTURE_SKIPTOOLS: unknown variable; did you mean BACKSTORY_CAPTURE_SKIP_TOOLS?
    BACKSTORY_CAPTURE_SHADE: unknown variable; `backstory config list --json` lists them
    BACKSTORY_CAPTURE_BUDGET_TOKENS: unknown variable; did you mean BACKSTORY_CONTEXT_BUDGET_TOKENS?
    BACKSTORY_HTTP: unknown variable; `backstory config list --json` lists them
    ");
    assert_eq!(loaded("context.full = 7", &env).context.full, 7);
}

#[test]
fn variables_are_read_leniently() {
    let table: &[(&str, &[(&str, &str)])] = &[
        ("context.on_file = false", &[("BACKSTORY_CONTEXT_ON_FILE", "OFF")]),
        ("context.on_file = false", &[("BACKSTORY_CONTEXT_ON_FILE", " 0 ")]),
        ("worker.http = false", &[("BACKSTORY_WORKER_HTTP", "false")]),
        ("worker.http = 'off'", &[("BACKSTORY_WORKER_HTTP", "0")]),
        (
            "context.on_file = 'off'",
            &[("BACKSTORY_CONTEXT_ON_FILE", "false")],
        ),
        (
            "capture.exclude = ['a', 'b']",
            &[("BACKSTORY_CAPTURE_EXCLUDE", "a, b,,a")],
        ),
        ("", &[("BACKSTORY_CAPTURE_SKIP_TOOLS", "")]),
        (
            "",
            &[("BACKSTORY_CONTEXT_FULL", ""), ("BACKSTORY_CONTEXT_TYPES", "")],
        ),
        ("context.full = 3", &[("BACKSTORY_CONTEXT_FULL", "3")]),
        ("distill.model = 'x'", &[("BACKSTORY_DISTILL_MODEL", "x")]),
    ];
    for (text, env) in table {
        assert_eq!(problems(text, env), "", "{text} {env:?}");
        assert_eq!(loaded(text, &[]), loaded("", env), "{text} {env:?}");
    }
}

#[test]
fn the_reference_has_every_key() {
    let page = reference();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows.len(), KEYS.len());
    insta::assert_snapshot!(rows[4], @r#"| `durability` | `"normal"` | normal or full | `BACKSTORY_CAPTURE_DURABILITY` | Guarantee for a recorded event: `normal` survives a crash of any program, `full` also a power failure, but every hook waits for the disk. |"#);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text: String) {
        load(Path::new("config.toml"), Some(&text), &[]);
    }

    #[test]
    fn no_document_makes_it_panic(
        lines in prop::collection::vec(
            ("(|\\[|\\[\\[)(capture|context|ui)", "(|\\.)(exclude|full|x|timezone)(|\\]|\\]\\])", "(|\\.a) ?= ?(1|-1|'a'|\\[\\]|\\[1, 'a'\\]|\\{\\}|\\{ a.b = 1 \\}|2000-01-01|nan|true)|"),
            0..6,
        ),
        key in 0..KEYS.len(),
    ) {
        let text: String = lines.iter().map(|(section, key, value)| format!("{section}{key}{value}\n")).collect();
        let (_, problems) = load(Path::new("config.toml"), Some(&text), &[]);
        if !problems.iter().any(SettingsProblem::is_syntax) {
            let key = &KEYS[key];
            for value in extremes(key.kind) {
                // A section of another form is refused; any other text is still TOML, with the key set.
                if let Ok(new) = document::set(&text, key, &value) {
                    let resolved = resolve(Path::new("config.toml"), Some(&new), &[]);
                    prop_assert_eq!(&resolved.entry(key).value, &value, "{}\n{}", text, new);
                    let without = document::unset(&new, key).unwrap();
                    let resolved = resolve(Path::new("config.toml"), Some(&without), &[]);
                    prop_assert_eq!(resolved.entry(key).source, SettingSource::Default, "{}\n{}", new, without);
                    prop_assert!(!resolved.problems.iter().any(SettingsProblem::is_syntax), "{}", without);
                }
            }
        }
    }
}
