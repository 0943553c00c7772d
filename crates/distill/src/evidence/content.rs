//! Reads facts from the text of a change: header, values, names and comments that give a reason.

use super::text::cut;

/// The most values, names or comments that one change contributes.
const MAX_FACTS: usize = 24;

/// Returns the header of a file: its leading comment, or the first paragraph of a document.
pub(super) fn header(path: &str, content: &str) -> Option<String> {
    let text = if is_document(path) {
        first_paragraph(content)
    } else {
        leading_comment(content)
    }?;
    let text = text.trim();
    (text.split_whitespace().count() >= 4).then(|| cut(text, 1200).to_owned())
}

fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn is_document(path: &str) -> bool {
    matches!(extension(path), "md" | "mdx" | "rst" | "txt" | "adoc")
}

fn first_paragraph(content: &str) -> Option<String> {
    let mut title = None;
    let mut lines = Vec::new();
    let mut in_front_matter = false;
    for (index, line) in content.lines().enumerate() {
        let line = line.trim();
        if line == "---" && (index == 0 || in_front_matter) {
            in_front_matter = index == 0;
            continue;
        }
        if in_front_matter || line.starts_with('<') || line.starts_with("[![") {
            continue;
        }
        if let Some(heading) = line.strip_prefix('#').filter(|_| lines.is_empty()) {
            title.get_or_insert(heading.trim_start_matches('#').trim());
        } else if line.is_empty() {
            if !lines.is_empty() {
                break;
            }
        } else {
            lines.push(line);
        }
    }
    let paragraph = lines.join(" ");
    Some(match title {
        Some(title) if !paragraph.is_empty() => format!("{title}: {paragraph}"),
        Some(title) => title.to_owned(),
        None => paragraph,
    })
}

/// Returns the comment at the start of a source file, without its marks.
fn leading_comment(content: &str) -> Option<String> {
    let mut out: Vec<String> = Vec::new();
    let mut lines = content.lines().skip_while(|line| {
        let line = line.trim();
        line.is_empty()
            || line.starts_with("#!")
            || line.starts_with("<?")
            || line.starts_with("'use ")
            || line.starts_with("\"use ")
            || line.starts_with("package ")
            || line.starts_with("//go:build")
            || line.starts_with("defmodule ")
    });
    let first = lines.next()?.trim();
    let fences = [
        ("\"\"\"", "\"\"\""),
        ("'''", "'''"),
        ("/*", "*/"),
        ("@moduledoc \"\"\"", "\"\"\""),
        ("<!--", "-->"),
    ];
    if let Some((open, close)) = fences.iter().find(|(open, _)| first.starts_with(open)) {
        let rest = first[open.len()..].trim_start_matches('*').trim();
        if let Some((text, _)) = rest.split_once(close) {
            return Some(text.trim().to_owned());
        }
        out.push(rest.to_owned());
        for line in lines.take(40) {
            let line = line.trim();
            if let Some((text, _)) = line.split_once(close) {
                out.push(text.trim_start_matches('*').trim().to_owned());
                break;
            }
            out.push(line.trim_start_matches('*').trim().to_owned());
        }
    } else {
        let mark = comment_mark(first)?;
        for line in std::iter::once(first).chain(lines.map(str::trim)).take(40) {
            let Some(text) = line.strip_prefix(mark) else {
                break;
            };
            out.push(
                text.trim_start_matches(['/', '!', '#', '-', ';'])
                    .trim()
                    .to_owned(),
            );
        }
    }
    Some(out.join("\n").trim().to_owned())
}

fn comment_mark(line: &str) -> Option<&'static str> {
    ["//", "#", "--", ";;", "%"]
        .into_iter()
        .find(|mark| line.starts_with(mark) && !line.starts_with("#[") && !line.starts_with("#include"))
}

/// Returns the values that added lines set, as they are written: constants, settings, routes, dependencies, schema.
pub(super) fn values<'l>(path: &str, added: impl Iterator<Item = &'l str>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    if is_document(path) || is_test(path) {
        return out;
    }
    for line in added {
        let line = line.trim().trim_end_matches([',', ';']);
        let is_readable = (5..=160).contains(&line.len()) && !line.contains("[redacted:");
        if is_readable
            && out.len() < MAX_FACTS
            && is_value(path, line)
            && !out.iter().any(|known| known == line)
        {
            out.push(line.to_owned());
        }
    }
    out
}

/// Says whether a file holds tests: their values are made up.
pub(super) fn is_test(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let in_folder = folders.split('/').any(|part| {
        matches!(
            part,
            "test" | "tests" | "__tests__" | "spec" | "testdata" | "fixtures" | "e2e"
        )
    });
    let is_named = name.starts_with("test_")
        || ["_test.", ".test.", ".spec.", "_spec.", "Test.", "Tests."]
            .iter()
            .any(|part| name.contains(part))
        || matches!(name, "tests.rs" | "conftest.py");
    in_folder || is_named
}

fn is_value(path: &str, line: &str) -> bool {
    let is_comment = comment_mark(line).is_some();
    !is_comment && (is_constant(line) || is_route(line) || is_setting(path, line) || is_schema(line))
}

/// `const LEASE: u64 = 30`, `MAX_RETRIES = 3`, `static X: &str = "a"`, `export const port = 8080`.
fn is_constant(line: &str) -> bool {
    let Some((left, right)) = line.split_once('=') else {
        return false;
    };
    let right = right.trim();
    if right.is_empty()
        || right.starts_with(['=', '>'])
        || left.ends_with(['!', '<', '>', '+', '-', '*', '/', '|', ':'])
    {
        return false;
    }
    const DECLARES: [&str; 3] = ["const ", "static ", "final "];
    let declared = DECLARES
        .iter()
        .any(|word| left.starts_with(word) || left.contains(&format!(" {word}")));
    let mut words = left.split([':', ' ']).filter(|word| !word.is_empty());
    let is_upper = |word: &str| {
        word.len() > 2
            && word.starts_with(|c: char| c.is_ascii_uppercase())
            && word
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    (declared || words.any(is_upper)) && is_literal(right)
}

/// A number, text, list of these, or a duration; nothing that has to be computed from other names.
fn is_literal(value: &str) -> bool {
    let is_computed =
        value.contains("$(") || value.contains("${") || value.contains("=>") || value.contains("();");
    let starts = value.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '"' | '\'' | '`' | '-' | '['));
    let named = [
        "Duration",
        "time.",
        "timedelta",
        "Decimal(",
        "Regex",
        "regexp.",
        "re.compile",
        "Path(",
    ];
    let is_flag = matches!(value, "true" | "false" | "True" | "False" | "nil" | "None");
    !is_computed && (starts || is_flag || named.iter().any(|word| value.contains(word)))
}

/// `router.get("/api/x", …)`, `@app.route("/x")`, `.route("/x", …)`, `get "/x", …`.
fn is_route(line: &str) -> bool {
    const CALLS: [&str; 14] = [
        ".get(",
        ".post(",
        ".put(",
        ".delete(",
        ".patch(",
        ".route(",
        ".handle(",
        ".handlefunc(",
        ".websocket(",
        "@getmapping(",
        "@postmapping(",
        "@get(",
        "@post(",
        "path(",
    ];
    const WORDS: [&str; 8] = [
        "get \"/",
        "post \"/",
        "put \"/",
        "delete \"/",
        "patch \"/",
        "resources \"/",
        "live \"/",
        "scope \"/",
    ];
    if !line.contains('/') {
        return false;
    }
    let lower = line.to_ascii_lowercase();
    let called = CALLS
        .iter()
        .find_map(|call| lower.find(call).map(|at| at + call.len()));
    let argument = called.and_then(|at| line.get(at..)).unwrap_or_default();
    let argument = argument.strip_prefix(['"', '\'', '`']).unwrap_or_default();
    argument.starts_with('/') || WORDS.iter().any(|start| lower.starts_with(start))
}

/// `key: value` and `key = value` of files that hold settings, and requirements.
fn is_setting(path: &str, line: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name == "go.mod" {
        return line
            .split_whitespace()
            .nth(1)
            .is_some_and(|word| word.starts_with('v'));
    }
    if name.starts_with("requirements") && name.ends_with(".txt") {
        return line.contains("==") || line.contains(">=");
    }
    let is_settings = matches!(
        extension(path),
        "toml" | "yaml" | "yml" | "ini" | "cfg" | "conf" | "properties" | "json" | "hcl"
    );
    if !is_settings || name.contains("lock") {
        return false;
    }
    let Some((key, value)) = line.split_once([':', '=']) else {
        return false;
    };
    let (key, value) = (key.trim().trim_matches(['"', '\'', '-', ' ']), value.trim());
    // Names and descriptions of steps are prose, and say nothing about behavior.
    let is_label = matches!(
        key,
        "name"
            | "description"
            | "label"
            | "title"
            | "id"
            | "type"
            | "placeholder"
            | "summary"
            | "author"
            | "$schema"
            | "value"
    );
    let is_key = (1..60).contains(&key.len()) && !key.contains([' ', '(', '$']) && !is_label;
    let is_open = matches!(value, "" | "{" | "[" | "|" | ">" | "|-" | ">-");
    is_key && !is_open && !value.starts_with("$(")
}

/// `create table x`, `alter table x add column y`, `add :name, :string`.
fn is_schema(line: &str) -> bool {
    const STATEMENTS: [&str; 5] = [
        "create table ",
        "create index ",
        "create unique index ",
        "alter table ",
        "add column ",
    ];
    let lower = line.to_ascii_lowercase();
    STATEMENTS.iter().any(|start| lower.contains(start))
        || (lower.starts_with("add :") && lower.contains(", :"))
}

/// Returns the name that a line of code defines.
pub(super) fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().peekable();
    let mut next = words.next()?;
    while matches!(
        next,
        "pub"
            | "pub(crate)"
            | "pub(super)"
            | "async"
            | "export"
            | "default"
            | "static"
            | "public"
            | "private"
            | "protected"
            | "abstract"
            | "final"
            | "unsafe"
            | "const"
            | "override"
            | "internal"
            | "extern"
    ) && words.peek().is_some()
    {
        next = words.next()?;
    }
    let keyword = matches!(
        next,
        "def"
            | "defp"
            | "class"
            | "fn"
            | "struct"
            | "enum"
            | "trait"
            | "function"
            | "func"
            | "interface"
            | "type"
            | "module"
            | "object"
            | "defmodule"
            | "defmacro"
            | "fun"
            | "macro_rules!"
    );
    if !keyword {
        return None;
    }
    let mut name = words.next()?;
    // A method of Go: `func (s *Store) Close() error`.
    if next == "func" && name.starts_with('(') {
        name = words.find(|word| !word.ends_with(')') || word.contains('('))?;
    }
    let name = name.split(['(', '<', ':', '{', '=', ';', ',', '[']).next()?;
    let valid = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '?' | '!'));
    valid.then_some(name)
}

/// Returns the names in some lines.
pub(super) fn names<'l>(path: &str, lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    if is_document(path) {
        return out;
    }
    for name in lines.filter_map(defined) {
        if !out.iter().any(|known| known == name) {
            out.push(name.to_owned());
        }
    }
    out
}

/// Returns comments among added lines that give a reason.
pub(super) fn reasons<'l>(path: &str, added: impl Iterator<Item = &'l str>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    if is_document(path) {
        return out;
    }
    let mut block: Vec<&str> = Vec::new();
    for line in added.chain(std::iter::once("")) {
        let line = line.trim();
        let text =
            comment_mark(line).map(|mark| line[mark.len()..].trim_start_matches(['/', '!', '#', '-']).trim());
        match text {
            Some(text) if !text.is_empty() => block.push(text),
            _ => {
                let text = block.join(" ");
                block.clear();
                if gives_reason(&text) && out.len() < MAX_FACTS {
                    out.push(cut(&text, 600).to_owned());
                }
            }
        }
    }
    out
}

fn gives_reason(text: &str) -> bool {
    const WORDS: [&str; 14] = [
        "because",
        "so that",
        "otherwise",
        "since ",
        "instead of",
        "workaround",
        "must not",
        "to avoid",
        "in order to",
        "needed for",
        "required for",
        "would ",
        "unlike",
        "note:",
    ];
    let lower = text.to_ascii_lowercase();
    lower.split_whitespace().count() >= 5 && WORDS.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_documents_and_sources_are_read() {
        for (path, content, wanted) in [
            (
                "a.md",
                "# Sync\n\nHow two stores meet.\nAnd part.\n\nMore",
                Some("Sync: How two stores meet. And part."),
            ),
            (
                "a.rs",
                "//! Reads a turn into items.\n//! Pure.\n\nuse x;",
                Some("Reads a turn into items.\nPure."),
            ),
            (
                "a.py",
                "#!/usr/bin/env python\n\"\"\"Checks the index for gaps.\n\nMore.\n\"\"\"\nimport x",
                Some("Checks the index for gaps.\n\nMore."),
            ),
            (
                "a.go",
                "package x\n\n// Package x holds the session state.\nimport y",
                Some("Package x holds the session state."),
            ),
            (
                "a.sh",
                "#!/bin/sh\n# Installs the hooks for all users.\nset -e",
                Some("Installs the hooks for all users."),
            ),
            ("a.rs", "use x;\n", None),
        ] {
            assert_eq!(header(path, content).as_deref(), wanted, "{path}");
        }
    }

    #[test]
    fn values_are_constants_settings_routes_and_schema() {
        for (path, line) in [
            ("a.rs", "pub const LEASE_SECONDS: u64 = 30;"),
            ("a.py", "MAX_RETRIES = 3"),
            ("a.go", "const defaultTimeout = 30 * time.Second"),
            ("a.ts", "router.post('/api/items', create)"),
            ("a.ex", "get \"/health\", HealthController, :show"),
            ("c.toml", "serde = { version = \"1\" }"),
            ("c.yaml", "timeout-minutes: 10"),
            ("m.sql", "ALTER TABLE item ADD COLUMN kind text"),
            ("go.mod", "github.com/x/y v1.2.3"),
        ] {
            assert_eq!(values(path, std::iter::once(line)).len(), 1, "{line}");
        }
        for (path, line) in [
            ("a.rs", "let x = y.len();"),
            ("a.rs", "fn name() -> u64 {"),
            ("a.py", "if a == 3:"),
            ("a.js", "x = 3"),
        ] {
            assert_eq!(
                values(path, std::iter::once(line)),
                Vec::<String>::new(),
                "{line}"
            );
        }
    }

    #[test]
    fn names_of_many_languages_are_found() {
        for (line, wanted) in [
            ("pub(crate) async fn load(x: u8) {", Some("load")),
            ("func (s *Store) Close() error {", Some("Close")),
            ("  def handle_in(\"x\", p, s) do", Some("handle_in")),
            ("export default class Panel extends X {", Some("Panel")),
            ("type Config struct {", Some("Config")),
            ("x = 3", None),
        ] {
            assert_eq!(defined(line), wanted, "{line}");
        }
    }

    #[test]
    fn only_comments_with_a_reason_count() {
        let lines = [
            "// Sorted, because the import relies",
            "// on the order.",
            "let x = 1;",
            "// the count",
        ];
        assert_eq!(
            reasons("a.rs", lines.into_iter()),
            ["Sorted, because the import relies on the order."]
        );
    }
}
