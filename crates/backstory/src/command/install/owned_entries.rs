//! Recognizes our own entries in files of other programs: those that run this program and nothing else.
//!
//! A user may call backstory too, in a shell command or with another home. Such an entry belongs to the user and stays.

use serde_json::Value;

/// Returns the program of a hook if the hook is ours.
pub(crate) fn hook_program(hook: &Value) -> Option<String> {
    let command = ["command", "bash"].iter().find_map(|key| hook[key].as_str())?;
    let program = match hook["args"].as_array() {
        Some(words) => (words.first()? == "hook").then(|| command.to_owned())?,
        None => {
            let (program, rest) = first_word(command)?;
            rest.strip_prefix("hook ")
                .filter(|rest| rest.chars().all(|c| c == ' ' || is_plain(c)))?;
            program
        }
    };
    is_backstory(&program).then_some(program)
}

/// Returns the program of an MCP server entry if it is ours. One with an environment is not: it names another home.
pub(crate) fn server_program(entry: &Value) -> Option<String> {
    let has_environment = entry.as_object()?.keys().any(|key| key.starts_with("env"));
    let words: Option<Vec<&str>> = match &entry["command"] {
        Value::Array(words) => words.iter().map(Value::as_str).collect(),
        command => [command]
            .into_iter()
            .chain(entry["args"].as_array()?)
            .map(Value::as_str)
            .collect(),
    };
    match words?.as_slice() {
        [program, "mcp"] if !has_environment && is_backstory(program) => Some((*program).to_owned()),
        _ => None,
    }
}

/// Returns true if a status line is ours.
pub(crate) fn is_status_line(entry: &Value) -> bool {
    let command = entry["command"].as_str().and_then(first_word);
    command.is_some_and(|(program, rest)| is_backstory(&program) && rest.trim() == "statusline")
}

fn is_backstory(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name == "backstory" || name.eq_ignore_ascii_case("backstory.exe")
}

/// Returns true for a character that a shell takes literally, or that starts a variable or a home folder at most.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "/._-+@%:,=~${}".contains(c)
}

/// Splits off the first word of a shell command, unquoted; `None` if a shell would do more than run it.
fn first_word(command: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut quote = None;
    let mut characters = command.trim_start().chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None, ' ') => return Some((word, characters.as_str().trim_start())),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => word.push(characters.next()?),
            (Some('\''), c) => word.push(c),
            (Some(_), '`' | '(') => return None,
            (Some(_), c) => word.push(c),
            (None, c) if is_plain(c) => word.push(c),
            (None, _) => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hook_is_ours_if_it_runs_only_this_program() {
        for (command, program) in [
            ("backstory hook stop --host cursor", "backstory"),
            ("  /usr/bin/backstory  hook stop", "/usr/bin/backstory"),
            ("'/a b/backstory' hook stop", "/a b/backstory"),
            (r"'/it'\''s/backstory' hook stop", "/it's/backstory"),
            (r"/a\ b/backstory hook stop", "/a b/backstory"),
            (
                "\"$HOME/.local/bin/backstory\" hook stop",
                "$HOME/.local/bin/backstory",
            ),
        ] {
            let hook = json!({"type": "command", "command": command});
            assert_eq!(hook_program(&hook).as_deref(), Some(program), "{command}");
        }
        for command in [
            "/home/me/notify.sh && /usr/bin/backstory hook stop",
            "BACKSTORY_HOME=/x /usr/bin/backstory hook stop",
            "notify;backstory hook stop",
            "$(notify)/backstory hook stop",
            "\"$(notify)/backstory\" hook stop",
            "'/usr/bin/backstory hook stop",
            "/usr/bin/backstory hook stop && notify",
            "/usr/bin/backstory hook stop | tee log",
            "/usr/bin/backstory hook",
            "/bin/true backstory hook stop",
            "notbackstory hook stop",
            "backstory-sync hook stop",
        ] {
            assert_eq!(hook_program(&json!({"command": command})), None, "{command}");
        }
        let exec =
            |command: &str, word: &str| hook_program(&json!({"command": command, "args": [word, "stop"]}));
        assert_eq!(exec("/a b/backstory", "hook").as_deref(), Some("/a b/backstory"));
        assert_eq!(exec("/a b/backstory", "export"), None);
        assert_eq!(exec("/bin/true", "hook"), None);
    }

    #[test]
    fn a_server_is_ours_if_it_has_only_our_fields() {
        let ours = [
            json!({"type": "stdio", "command": "/x/backstory", "args": ["mcp"], "alwaysLoad": true}),
            json!({"command": "/x/backstory", "args": ["mcp"], "timeout": 5}),
            json!({"type": "local", "command": ["/x/backstory", "mcp"], "enabled": true}),
        ];
        for entry in ours {
            assert_eq!(server_program(&entry).as_deref(), Some("/x/backstory"), "{entry}");
        }
        let others = [
            json!({"command": "/x/backstory", "args": ["mcp"], "env": {"BACKSTORY_HOME": "/y"}}),
            json!({"command": ["/x/backstory", "mcp"], "environment": {"BACKSTORY_HOME": "/y"}}),
            json!({"command": "/x/backstory", "args": ["mcp", "--more"]}),
            json!({"command": "node", "args": ["mcp"]}),
            json!({"url": "http://127.0.0.1/backstory"}),
            json!(null),
        ];
        for entry in others {
            assert_eq!(server_program(&entry), None, "{entry}");
        }
    }
}
