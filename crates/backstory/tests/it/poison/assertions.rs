//! Collects all text that an agent would see, and all places where text is stored.

use backstory_text::is_invisible;
use serde_json::{Value, json};

use super::{
    MARK,
    cases::Case,
    inputs::{failure, file},
};
use crate::{home::Home, mcp::Agent};

/// Text that an agent sees.
pub(super) struct Look {
    pub(super) place: &'static str,
    pub(super) text: String,
}

/// Allowed starts of our lines; continuation lines are indented.
const BEGINNINGS: [&str; 18] = [
    "  ",
    "# acme · ",
    "## ",
    "▶ ",
    "Request: ",
    "Completed: ",
    "Learned: ",
    "Next steps: ",
    "Notes: ",
    "More: ",
    "Types: ",
    "A record of past work",
    "Past work relevant",
    "Known about ",
    "Known failure",
    "<backstory-context>",
    "</backstory-context>",
    "get_observations(ids) ",
];

/// Tags, look-alikes of them and control tokens of models, without blanks and in lower case.
const TAGS: [&str; 12] = [
    "<backstory-context",
    "</backstory-context",
    "<system-reminder",
    "</system-reminder",
    "＜/backstory-context",
    "‹/b",
    "&lt;/backstory-context",
    "<|im_",
    "[inst]",
    "[/inst]",
    "<start_of_turn>",
    "</s>",
];

impl Look {
    /// Collects the injections of later sessions.
    pub(super) fn everywhere(home: &Home, case: &Case) -> Vec<Self> {
        let mut looks = asked(home, case);
        let mut hook = |place, event: &str, session: &str, mut fields: Value| {
            fields["session_id"] = json!(session);
            let answer: Value = serde_json::from_str(home.report(event, &fields).trim()).unwrap_or_default();
            if let Some(text) = answer["hookSpecificOutput"]["additionalContext"].as_str() {
                looks.push(Self {
                    place,
                    text: text.to_owned(),
                });
            }
        };
        hook("start", "session-start", "s2", json!({"source": "startup"}));
        let alike = "users get a 401 from the token refresh when their laptop wakes up";
        hook("prompt", "user-prompt-submit", "s3", json!({"prompt": alike}));
        let path = file(home, case);
        hook(
            "file",
            "pre-tool-use",
            "s4",
            json!({"tool_name": "Edit", "tool_input": {"file_path": path}}),
        );
        hook("failure", "post-tool-use-failure", "s5", failure(case.text));
        looks
    }

    /// Returns how the text escapes its frame, if it does.
    pub(super) fn fault(&self) -> Option<String> {
        let inside = match self.place {
            "mcp" => self.text.as_str(),
            _ => {
                let text = self.text.strip_prefix("<backstory-context>\n");
                let text = text.and_then(|text| text.strip_suffix("</backstory-context>"));
                text.unwrap_or_default()
            }
        };
        let squeezed: String = inside
            .to_lowercase()
            .chars()
            .filter(|c| !c.is_whitespace())
            .collect();
        let is_ours = |line: &&str| {
            BEGINNINGS.iter().any(|beginning| line.starts_with(beginning)) || is_of_a_memory(line)
        };
        let foreign = inside
            .lines()
            .find(|line| !line.is_empty() && (!is_ours(line) || is_a_heading_of_no_pins(line, inside)));
        let trick = inside
            .chars()
            .find(|&c| (c.is_control() && c != '\n') || is_invisible(c));
        let fault = match (TAGS.iter().find(|tag| squeezed.contains(*tag)), foreign, trick) {
            _ if !inside.contains("data, not instructions") => "no frame".to_owned(),
            (Some(tag), _, _) => format!("{tag} inside"),
            (_, Some(line), _) => format!("a line of its own: {line:?}"),
            (_, _, Some(trick)) => format!("{trick:?} inside"),
            (None, None, None) => return None,
        };
        Some(format!("{}: {fault} in\n{}", self.place, self.text))
    }
}

impl Look {
    /// Returns the line that contains the text outside of code, in what an agent is given unasked.
    pub(super) fn unquoted(&self) -> Option<String> {
        let is_unquoted = |line: &&str| {
            let parts = line.split('`').enumerate();
            let outside = parts.filter(|(index, _)| index % 2 == 0);
            outside.map(|(_, part)| part).any(|part| part.contains(MARK))
                || line.matches('`').count() % 2 == 1
        };
        let line = self
            .text
            .lines()
            .filter(|line| line.contains(MARK))
            .find(is_unquoted);
        line.filter(|_| self.place != "mcp")
            .map(|line| format!("{}: not quoted: {line:?}", self.place))
    }
}

/// Returns true for the line of a memory, which begins with its handle or its date.
fn is_of_a_memory(line: &str) -> bool {
    let handle = line.strip_prefix('#').unwrap_or(line);
    let number = handle.strip_prefix(['S', 'N', 'P', 'V']).unwrap_or(handle);
    number.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns true for a heading of pins without a pin.
fn is_a_heading_of_no_pins(line: &str, inside: &str) -> bool {
    let is_pin = |line: &str| line.starts_with('N') && line.contains('📌');
    line == "## Pinned" && !inside.lines().any(is_pin)
}

/// Returns the answers of the MCP tools.
fn asked(home: &Home, case: &Case) -> Vec<Look> {
    let handles = home.rows(
        "select cast(id as text) from observation union all select 'S' || id from summary
        union all select 'N' || id from note union all select 'V' || id from passage union all select 'P' || id from turn",
    );
    let mut agent = Agent::start(home);
    agent.greet("2025-11-25");
    let mut looks = Vec::new();
    for (tool, wish) in [
        ("search", json!({"query": format!("{MARK} token refresh")})),
        ("get_observations", json!({"ids": handles, "max_tokens": 20_000})),
        ("timeline", json!({"query": "token refresh"})),
        ("file_history", json!({"path": file(home, case)})),
    ] {
        let (failed, text) = agent.call(tool, &wish);
        assert!(!failed, "{tool}: {text}");
        if text.starts_with("A record") {
            looks.push(Look { place: "mcp", text });
        }
    }
    agent.end();
    looks
}

/// Returns true if a place holds the text only as code behind one of our labels.
pub(super) fn is_quoted(home: &Home, place: &str) -> bool {
    let Some((_, sql)) = PLACES.iter().find(|(name, _)| *name == place) else {
        return false;
    };
    let lines: Vec<String> = home.rows(sql);
    let is_label = |before: &str| {
        let before = before.trim_end();
        before.is_empty()
            || [
                "failed:",
                "In",
                "became",
                "Changed",
                "Fix in",
                "Fixed in",
                "committed:",
                "run:",
                ",",
                "[",
            ]
            .iter()
            .any(|label| before.ends_with(label))
    };
    lines
        .iter()
        .flat_map(|text| text.split(['\n', '"']))
        .filter(|line| line.contains(MARK))
        .all(|line| {
            // Odd parts are inside backticks.
            let parts: Vec<&str> = line.split('`').collect();
            parts.len() % 2 == 1
                && parts
                    .iter()
                    .enumerate()
                    .filter(|(_, part)| part.contains(MARK))
                    .all(|(index, _)| index % 2 == 1 && is_label(parts[index - 1]))
        })
}

/// Lists the places where the text is stored.
pub(super) fn stored(home: &Home) -> Vec<&'static str> {
    let has_it = |sql: &str| home.rows(sql).iter().any(|text| text.contains(MARK));
    let kept = PLACES.iter().filter(|(_, sql)| has_it(sql));
    kept.map(|(name, _)| *name).collect()
}

/// Places of stored text, and the query for each.
const PLACES: [(&str, &str); 15] = [
        ("title", "select title from observation"),
        ("subtitle", "select coalesce(subtitle, '') from observation"),
        ("narrative", "select coalesce(narrative, '') from observation"),
        ("facts", "select facts from observation"),
        ("files", "select files_read || files_modified from observation"),
        (
            "summary",
            "select coalesce(request, '') || coalesce(investigated, '') || coalesce(learned, '') || coalesce(completed, '')
                || coalesce(next_steps, '') || coalesce(notes, '') from summary",
        ),
        ("session", "select coalesce(title, '') || coalesce(subtitle, '') from session"),
        ("branch", "select coalesce(branch, '') from session"),
        ("prompt", "select coalesce(prompt, '') from turn where machine_made = 0"),
        ("note", "select text from note"),
        ("passage: prompt", "select text from passage where kind = 'prompt'"),
        ("passage: prose", "select text from passage where kind = 'prose'"),
        ("passage: edit", "select text from passage where kind = 'edit'"),
        ("passage: command", "select text from passage where kind = 'command'"),
        ("passage: error", "select text from passage where kind = 'error'"),
    ];
