//! Reads text written for other people: pull requests, issues and comments, by command line or MCP tool.

use serde_json::Value;

use super::{
    shell::{self, Simple},
    written::WrittenFiles,
};
use crate::{Publication, PublicationAction, PublicationKind};

/// Reads a publication from a command such as `gh pr create` and what it printed.
pub(super) fn of_command(command: &Simple<'_>, output: &str, files: &WrittenFiles) -> Option<Publication> {
    let program = command.program();
    let words: Vec<&str> = command
        .arguments()
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let is_host = matches!(program, "gh" | "glab" | "hub" | "tea");
    if is_host && word(0) == "api" {
        return api_comment(command, word(1));
    }
    let (kind, action, named) = if is_host {
        let (kind, action) = hosted(word(0), word(1))?;
        (kind, action, word(2))
    } else {
        tracked(program, &words)?
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
        "--notes",
    ])
    .or_else(
        || match option(&["--body-file", "-F", "--description-file"])?.as_str() {
            "-" => command.heredoc.map(str::to_owned),
            file => files.get(file).map(str::to_owned),
        },
    );
    let printed = || output.split_whitespace().find_map(reference);
    Some(Publication {
        kind,
        action,
        reference: reference(named).or_else(|| identifier(named)).or_else(printed),
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

/// Reads a command of another tracker: its name or its first word says that it is about issues, a verb what it does.
fn tracked<'w>(program: &str, words: &[&'w str]) -> Option<(PublicationKind, PublicationAction, &'w str)> {
    let is_noun = |word: &str| {
        matches!(
            word,
            "issue" | "issues" | "ticket" | "tickets" | "task" | "tasks" | "bug" | "bugs"
        )
    };
    let is_tracker = matches!(
        program,
        "linear" | "jira" | "bd" | "beads" | "tk" | "trello" | "asana" | "shortcut" | "youtrack"
    );
    let has_noun = words.first().is_some_and(|word| is_noun(word));
    if !(is_tracker || is_noun(program) || has_noun) {
        return None;
    }
    let at = usize::from(has_noun);
    let verb = words.get(at)?;
    let (kind, action) = match *verb {
        "create" | "new" | "add" | "open" => (PublicationKind::Issue, PublicationAction::Created),
        "close" | "done" | "resolve" | "complete" | "finish" => {
            (PublicationKind::Issue, PublicationAction::Closed)
        }
        "update" | "edit" | "move" | "transition" | "start" | "reopen" | "assign" => {
            (PublicationKind::Issue, PublicationAction::Updated)
        }
        "comment" | "note" => (PublicationKind::Comment, PublicationAction::Created),
        _ => return None,
    };
    Some((kind, action, words.get(at + 1).copied().unwrap_or_default()))
}

/// Reads `gh api repos/a/b/pulls/1/comments/2/replies -f body='…'`.
fn api_comment(command: &Simple<'_>, address: &str) -> Option<Publication> {
    let is_comment = ["comments", "replies", "reviews", "notes"]
        .iter()
        .any(|part| address.contains(part));
    let mut words = command.arguments().iter();
    let body = words
        .find_map(|word| word.strip_prefix("body="))
        .filter(|_| is_comment)?;
    let body = shell::substituted_heredoc(body).unwrap_or(body);
    let mut parts = address
        .split('/')
        .skip_while(|part| !matches!(*part, "pulls" | "issues" | "merge_requests"));
    Some(Publication {
        kind: PublicationKind::Comment,
        action: PublicationAction::Created,
        reference: parts.nth(1).and_then(reference),
        title: None,
        body: Some(without_trailers(body)).filter(|body| !body.is_empty()),
    })
}

/// Reads an id such as `ENT-221` or `bd-a1b2`.
fn identifier(word: &str) -> Option<String> {
    let (project, number) = word.rsplit_once('-')?;
    let is_plain =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let is_id =
        word.len() < 24 && is_plain(project) && is_plain(number) && word.bytes().any(|b| b.is_ascii_digit());
    is_id.then(|| word.to_owned())
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
    let is_ended = |name: &&str| {
        let state = input.get(*name).and_then(Value::as_str).unwrap_or_default();
        ENDED.contains(&state.to_lowercase().as_str())
    };
    let action = if action == PublicationAction::Updated && STATES.iter().any(is_ended) {
        PublicationAction::Closed
    } else {
        action
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
        reference: id(input).or_else(|| answer.and_then(inside).and_then(|answer| id(&answer))),
        title: text(&["title", "summary", "name", "subject"]),
        body: text(&["body", "description", "text", "content", "comment"]),
    })
}

/// The fields in which trackers keep the state of an issue, and the values that end it.
const STATES: [&str; 4] = ["state", "status", "stateId", "state_reason"];
const ENDED: [&str; 9] = [
    "done",
    "closed",
    "cancelled",
    "canceled",
    "completed",
    "resolved",
    "duplicate",
    "wontfix",
    "won't fix",
];

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

    fn read(command: &str, output: &str) -> Option<Publication> {
        of_command(&parse(command)[0], output, &WrittenFiles::default())
    }

    #[test]
    fn a_pull_request_has_title_text_and_number() {
        let command = "gh pr create --draft --title \"One log file\" --body \"$(cat <<'EOF'\n## Why\nIt's simpler.\n\n🤖 Generated with [Tool](https://x)\nEOF\n)\"";
        let made = read(command, "https://github.com/a/b/pull/185\n").unwrap();
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
            let made = read(command, "").unwrap();
            assert_eq!(
                (made.kind, made.action, made.reference.as_deref()),
                (kind, action, Some("#12")),
                "{command}"
            );
        }
        assert_eq!(read("gh pr view 12", ""), None);
    }

    #[test]
    fn other_trackers_and_api_calls_are_read() {
        for (command, kind, action, reference) in [
            (
                "bd close app-12 --reason x",
                PublicationKind::Issue,
                PublicationAction::Closed,
                Some("app-12"),
            ),
            (
                "jira issue move ENT-7 Done",
                PublicationKind::Issue,
                PublicationAction::Updated,
                Some("ENT-7"),
            ),
            (
                "issues comment 3 -m text",
                PublicationKind::Comment,
                PublicationAction::Created,
                Some("#3"),
            ),
            (
                "gh api repos/a/b/pulls/201/comments/9/replies -f body='Done in cd9b'",
                PublicationKind::Comment,
                PublicationAction::Created,
                Some("#201"),
            ),
        ] {
            let made = read(command, "").unwrap();
            assert_eq!(
                (made.kind, made.action, made.reference.as_deref()),
                (kind, action, reference),
                "{command}"
            );
        }
        for command in [
            "make task",
            "cargo add issue",
            "issues list",
            "gh api repos/a/b/pulls/1",
        ] {
            assert_eq!(read(command, ""), None, "{command}");
        }
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
        let ended = json!({"id": "ENT-221", "state": "Cancelled"});
        let made = of_tool("mcp__linear-server__update_issue", &ended, None).unwrap();
        assert_eq!(made.action, PublicationAction::Closed);
        assert_eq!(of_tool("mcp__linear-server__list_issues", &input, None), None);
        assert_eq!(of_tool("mcp__db__query", &input, None), None);
    }
}
