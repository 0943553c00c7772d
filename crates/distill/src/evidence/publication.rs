//! Reads text written for other people: pull requests, issues and comments, by command line or MCP tool.

use serde_json::Value;

use super::shell::{self, Simple};
use crate::{Publication, PublicationAction, PublicationKind};

/// Reads a publication from a command such as `gh pr create` and what it printed.
pub(super) fn of_command(command: &Simple<'_>, output: &str) -> Option<Publication> {
    let words: Vec<&str> = command
        .arguments()
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let (noun, verb) = (
        words.first().copied().unwrap_or_default(),
        words.get(1).copied().unwrap_or_default(),
    );
    let (kind, action) = match command.program() {
        "gh" | "glab" | "hub" | "tea" => hosted(noun, verb)?,
        _ => return None,
    };
    let option = |names: &[&str]| option(command, names);
    let body = option(&[
        "--body",
        "-b",
        "--description",
        "-d",
        "--message",
        "-m",
        "--comment",
        "-c",
    ])
    .or_else(|| {
        option(&["--body-file", "-F"])
            .filter(|file| file == "-")
            .and(command.heredoc.map(str::to_owned))
    });
    let number = words
        .get(2)
        .and_then(|word| reference(word))
        .or_else(|| output.split_whitespace().find_map(reference));
    Some(Publication {
        kind,
        action,
        reference: number,
        title: option(&["--title", "-t"]),
        body: body
            .map(|body| without_trailers(&body))
            .filter(|body| !body.is_empty()),
    })
}

fn hosted(noun: &str, verb: &str) -> Option<(PublicationKind, PublicationAction)> {
    let kind = match noun {
        "pr" | "mr" => PublicationKind::PullRequest,
        "issue" => PublicationKind::Issue,
        _ => return None,
    };
    Some(match verb {
        "create" | "new" => (kind, PublicationAction::Created),
        "edit" | "update" | "ready" | "reopen" => (kind, PublicationAction::Updated),
        "close" => (kind, PublicationAction::Closed),
        "merge" => (kind, PublicationAction::Merged),
        "comment" | "note" | "review" => (PublicationKind::Comment, PublicationAction::Created),
        _ => return None,
    })
}

/// Returns the value of an option: `--body x`, `--body=x`, `-b x`.
fn option(command: &Simple<'_>, names: &[&str]) -> Option<String> {
    let mut words = command.arguments().iter();
    while let Some(word) = words.next() {
        let value = if names.contains(&word.as_str()) {
            words.next().map(String::as_str)
        } else {
            word.split_once('=')
                .filter(|(name, _)| names.contains(name))
                .map(|(_, value)| value)
        };
        if let Some(value) = value {
            return Some(
                shell::substituted_heredoc(value)
                    .unwrap_or(value)
                    .trim()
                    .to_owned(),
            );
        }
    }
    None
}

/// Reads `185`, `#185` and the address of a pull request or issue.
fn reference(word: &str) -> Option<String> {
    let word = word.trim_matches(['"', '\'', ',', '.']);
    let is_address = ["/pull/", "/issues/", "/merge_requests/"]
        .iter()
        .any(|part| word.contains(part));
    let number = if is_address {
        word.split(['#', '?'])
            .next()?
            .trim_end_matches('/')
            .rsplit('/')
            .find(|part| part.bytes().all(|b| b.is_ascii_digit()))?
    } else {
        word.trim_start_matches('#')
    };
    (!number.is_empty() && number.len() < 9 && number.bytes().all(|b| b.is_ascii_digit()))
        .then(|| format!("#{number}"))
}

fn without_trailers(body: &str) -> String {
    let lines: Vec<&str> = body
        .lines()
        .filter(|line| !super::git::is_trailer(line))
        .collect();
    lines.join("\n").trim().to_owned()
}

/// Reads a publication from an MCP tool whose name says what it does: `create_issue`, `update_pull_request`, `add_comment`.
pub(super) fn of_tool(name: &str, input: &Value, answer: Option<&Value>) -> Option<Publication> {
    let name = name
        .strip_prefix("mcp__")?
        .rsplit("__")
        .next()?
        .to_ascii_lowercase()
        .replace('-', "_");
    let parts: Vec<&str> = name.split('_').collect();
    let has = |words: &[&str]| words.iter().any(|word| parts.contains(word));
    let kind = if has(&["comment", "review", "note", "reply"]) {
        PublicationKind::Comment
    } else if name.contains("pull_request") || name.contains("merge_request") || has(&["pr", "mr"]) {
        PublicationKind::PullRequest
    } else if has(&["issue", "ticket", "task", "story", "bug", "document", "page"]) {
        PublicationKind::Issue
    } else {
        return None;
    };
    let action = if has(&["create", "add", "submit", "post", "new", "open", "reply"]) {
        PublicationAction::Created
    } else if has(&["close", "resolve", "complete"]) {
        PublicationAction::Closed
    } else if has(&["merge"]) {
        PublicationAction::Merged
    } else if has(&["update", "edit", "save", "set", "transition"]) {
        PublicationAction::Updated
    } else {
        return None;
    };
    let text = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| input.get(*name)?.as_str())
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let id = |value: &Value| {
        [
            "identifier",
            "number",
            "key",
            "id",
            "issueId",
            "issue_number",
            "pull_number",
            "issue_key",
        ]
        .iter()
        .find_map(|name| match value.get(*name)? {
            Value::String(id) if id.len() < 24 => Some(id.clone()),
            Value::Number(number) => Some(format!("#{number}")),
            _ => None,
        })
    };
    Some(Publication {
        kind,
        action,
        reference: id(input).or_else(|| {
            answer
                .and_then(|answer| inside(answer))
                .and_then(|answer| id(&answer))
        }),
        title: text(&["title", "summary", "name", "subject"]),
        body: text(&["body", "description", "text", "content", "comment"]),
    })
}

/// Returns the object in an answer of an MCP tool, which often is JSON inside a text block.
fn inside(answer: &Value) -> Option<Value> {
    match answer {
        Value::Object(_) => Some(answer.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Array(blocks) => serde_json::from_str(blocks.first()?.get("text")?.as_str()?).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::shell::parse;
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pull_request_has_title_text_and_number() {
        let command = "gh pr create --draft --title \"One log file\" --body \"$(cat <<'EOF'\n## Why\nIt's simpler.\n\n🤖 Generated with [Tool](https://x)\nEOF\n)\"";
        let made = of_command(&parse(command)[0], "https://github.com/a/b/pull/185\n").unwrap();
        assert_eq!(made.title.as_deref(), Some("One log file"));
        assert_eq!(made.body.as_deref(), Some("## Why\nIt's simpler."));
        assert_eq!(
            (made.reference.as_deref(), made.action),
            (Some("#185"), PublicationAction::Created)
        );
    }

    #[test]
    fn other_actions_are_told_apart() {
        for (command, kind, action) in [
            (
                "gh pr merge 12 --squash",
                PublicationKind::PullRequest,
                PublicationAction::Merged,
            ),
            (
                "gh pr comment 12 -b done",
                PublicationKind::Comment,
                PublicationAction::Created,
            ),
            (
                "glab mr update 12 --title x",
                PublicationKind::PullRequest,
                PublicationAction::Updated,
            ),
            (
                "gh issue close 12",
                PublicationKind::Issue,
                PublicationAction::Closed,
            ),
        ] {
            let made = of_command(&parse(command)[0], "").unwrap();
            assert_eq!(
                (made.kind, made.action, made.reference.as_deref()),
                (kind, action, Some("#12")),
                "{command}"
            );
        }
        assert_eq!(of_command(&parse("gh pr view 12")[0], ""), None);
    }

    #[test]
    fn mcp_tools_are_known_by_their_names() {
        let input = json!({"title": "Index corrupt", "description": "Steps", "team": "x"});
        let answer = json!([{"type": "text", "text": "{\"identifier\":\"ENT-221\"}"}]);
        let made = of_tool("mcp__linear-server__create_issue", &input, Some(&answer)).unwrap();
        assert_eq!(
            (made.reference.as_deref(), made.title.as_deref()),
            (Some("ENT-221"), Some("Index corrupt"))
        );
        assert_eq!(of_tool("mcp__linear-server__list_issues", &input, None), None);
        assert_eq!(of_tool("mcp__db__query", &input, None), None);
    }
}
