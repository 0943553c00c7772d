//! What was asked, in one line: short prompts as they are, issue texts by their title.

use super::sentence::sentences;
use super::text::{clip, has_any, head, plain, starts_with_any};
use super::verbs::{self, Form};

/// What a prompt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// Something is broken.
    Fix,
    /// Something is to be there that is not.
    Add,
    /// The same, in a better shape.
    Refactor,
    /// An explanation.
    Question,
    /// Anything else.
    Other,
}

/// A prompt, condensed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// One line.
    pub(super) line: String,
    /// The title of the issue that the prompt quotes: a complaint or a wish, not an order.
    pub(super) subject: Option<String>,
    /// What is wanted.
    pub(super) intent: Intent,
}

const MAX_PROMPT: usize = 16 * 1024;
const MAX_LINE: usize = 200;

/// Condenses a prompt; `None` when nothing readable is left of it.
pub(super) fn condense(prompt: &str) -> Option<Request> {
    let text = without_machine_parts(head(prompt, MAX_PROMPT));
    if let Some(command) = slash_command(prompt) {
        return Some(Request {
            line: command,
            subject: None,
            intent: Intent::Other,
        });
    }
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| readable(line))
        .take(60)
        .collect();
    let first = plain(lines.first()?.trim_start_matches('#').trim());
    let subject = field(&lines).or_else(|| issue_title(&lines));
    let lead = sentences(&first)
        .first()
        .map_or_else(|| first.clone(), |sentence| (*sentence).to_owned());
    let intent = if subject.is_none() && orders_to_fix(&lines) {
        Intent::Fix
    } else {
        intent(&lead, subject.as_deref())
    };
    let line = match &subject {
        Some(subject) if intent == Intent::Fix && !is_order(subject) => {
            format!("Fix: {subject}")
        }
        Some(subject) => subject.clone(),
        None => short(&lines, &first),
    };
    let line = clip(line.trim_end_matches(':'), MAX_LINE);
    (!line.is_empty()).then_some(Request {
        line,
        subject,
        intent,
    })
}

/// "Carts are off by a cent. Find out why and fix it": a short prompt may end with the order.
fn orders_to_fix(lines: &[&str]) -> bool {
    const MAX_ORDER: usize = 400;
    let text = plain(&lines.join(" ")).to_lowercase();
    text.len() <= MAX_ORDER && has_any(&text, "fix it|fix this|fix that|fix them|mend it|repair it")
}

/// Whether a prompt reports that something goes wrong, without an order at its front.
pub(super) fn complains(line: &str) -> bool {
    !is_order(line) && has_any(&line.to_lowercase(), TROUBLE)
}

const TROUBLE: &str = "\
    freezes|hangs|hang|stuck|killed|blocked|blocks|crashed|broke|breaks|failed|fail|lost|loses|missing|vanish|vanishes|\
    disappears|twice|two times|double|duplicate|duplicates|duplicated|leaks|leak|times out|timed out|forever|jumps back|\
    flickers|flash|off by|differs|incident|outage|is red|at random|logged out|never come back|incorrect|unexpectedly|\
    overwritten|corrupt|corrupted|too slow|out of memory|deadlock|should not|shouldn't|instead of";

/// A short prompt is kept whole; of a long one the first sentences that fit.
fn short(lines: &[&str], first: &str) -> String {
    let joined = plain(&lines.join(" "));
    if joined.chars().count() <= MAX_LINE {
        return joined;
    }
    let source = if first.split_whitespace().count() >= 4 {
        first
    } else {
        &joined
    };
    let mut out = String::new();
    for sentence in sentences(source) {
        if !out.is_empty() && out.chars().count() + sentence.chars().count() > MAX_LINE {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(sentence);
    }
    out
}

fn readable(line: &str) -> bool {
    line.chars().any(char::is_alphabetic)
        && !line.starts_with("```")
        && !line.starts_with("[Image")
        && !line.starts_with("[Pasted")
}

/// Cuts out what the client put into the prompt: reminders, command tags, notifications.
pub(super) fn without_machine_parts(prompt: &str) -> String {
    let mut text = prompt.to_owned();
    for tag in [
        "system-reminder",
        "command-message",
        "local-command-stdout",
        "ide_opened_file",
        "ide_selection",
        "task-notification",
    ] {
        let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = rest.find(&open) {
            out.push_str(&rest[..at]);
            rest = rest[at..]
                .find(&close)
                .map_or("", |end| &rest[at + end + close.len()..]);
        }
        out.push_str(rest);
        text = out;
    }
    text
}

fn slash_command(prompt: &str) -> Option<String> {
    let inside = |tag: &str| {
        let (_, rest) = prompt.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>"))
            .map(|(inner, _)| plain(inner))
    };
    let name = inside("command-name").filter(|name| !name.is_empty())?;
    let arguments = inside("command-args").unwrap_or_default();
    Some(clip(format!("{name} {arguments}").trim(), MAX_LINE))
}

/// The value of a field that holds the title of an issue: `title: …`, `problem_statement: …`.
fn field(lines: &[&str]) -> Option<String> {
    lines.iter().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        let key = key
            .trim_matches(|c: char| !c.is_alphanumeric() && c != '_')
            .to_lowercase()
            .replace([' ', '-'], "_");
        let value = plain(value.trim_matches(['"', '\'', ' ', '*']));
        let holds_title = matches!(
            key.as_str(),
            "title"
                | "summary"
                | "subject"
                | "problem_statement"
                | "problem"
                | "issue"
                | "issue_title"
                | "bug"
                | "task"
                | "goal"
                | "story"
        );
        let value = ["Bug: ", "BUG: ", "[Bug] ", "[BUG] "]
            .iter()
            .fold(value.as_str(), |value, mark| value.trim_start_matches(mark));
        (holds_title && value.split_whitespace().count() >= 2).then(|| clip(value.trim_end_matches('.'), 180))
    })
}

/// The heading under a lead-in: "Please fix this issue:" and then the issue.
fn issue_title(lines: &[&str]) -> Option<String> {
    let first = lines.first()?;
    if !first.ends_with(':') || lines.len() < 3 {
        return None;
    }
    let next = lines.iter().skip(1).find(|line| !looks_like_field(line))?;
    let title = plain(next.trim_start_matches('#').trim());
    let listed = next.starts_with(['-', '*', '1', '>', '<', '{']);
    (!listed && (3..=25).contains(&title.split_whitespace().count())).then_some(title)
}

fn looks_like_field(line: &str) -> bool {
    line.split_once(": ")
        .is_some_and(|(key, value)| !key.contains(' ') && !value.contains(' '))
}

/// Whether a title is an order or a report of a change: "Add x", "Added x", "Fix y".
pub(super) fn is_order(title: &str) -> bool {
    let first = title.split_whitespace().next().unwrap_or_default();
    let noun = title.split_whitespace().nth(1) == Some("of");
    first == "Please"
        || !noun
            && verbs::verb(first).is_some_and(|(base, form)| verbs::is_change(base) && form != Form::Gerund)
}

/// Told by the lead sentence first: the body of an issue uses every word there is.
fn intent(lead: &str, subject: Option<&str>) -> Intent {
    let lead_lower = lead.to_lowercase();
    let asked = lead.trim_end().ends_with('?')
        || [
            "how ",
            "why ",
            "what ",
            "where ",
            "which ",
            "who ",
            "explain",
            "describe",
            "is there",
            "does ",
            "do we",
            "can you explain",
            "tell me",
        ]
        .iter()
        .any(|word| lead_lower.starts_with(word));
    if asked && !has_any(&lead_lower, "can you fix|could you|can you add|would you") {
        return Intent::Question;
    }
    let subject_lower = subject.map(str::to_lowercase).unwrap_or_default();
    let wish = subject_lower.trim_start_matches("please ");
    if starts_with_any(
        wish,
        "add |added |support |allow |implement |introduce |provide |generate |improve |enable |create ",
    ) {
        return Intent::Add;
    }
    for text in [&lead_lower, &subject_lower] {
        if has_any(
            text,
            "fix|fixes|bug|broken|crash|crashes|regression|fails|failing|error|repair|doesn't work|\
            not working|debug|wrong",
        ) {
            return Intent::Fix;
        }
        if has_any(
            text,
            "refactor|clean up|cleanup|rename|extract|simplify|restructure|reorganize|split|\
            deduplicate|move",
        ) {
            return Intent::Refactor;
        }
        if has_any(
            text,
            "add|implement|support|create|build|write|introduce|make a|new feature|feature|allow|\
            enable|let users",
        ) {
            return Intent::Add;
        }
    }
    Intent::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(prompt: &str) -> String {
        condense(prompt).unwrap().line
    }

    #[test]
    fn a_short_prompt_stays_as_it_is() {
        assert_eq!(line("add a --json flag to list\n"), "add a --json flag to list");
    }

    #[test]
    fn an_issue_text_is_known_by_its_title() {
        let prompt = "Please fix the issue below:\n  id: 7\n  title: Upload fails for names with spaces\nSteps:\n1. upload `a b.txt`\n2. see the error";
        let request = condense(prompt).unwrap();
        assert_eq!(request.line, "Fix: Upload fails for names with spaces");
        assert_eq!(request.intent, Intent::Fix);
    }

    #[test]
    fn what_the_client_added_is_not_the_request() {
        assert_eq!(
            line("<system-reminder>be nice</system-reminder>\nRename the crate"),
            "Rename the crate"
        );
        assert_eq!(
            line(
                "<command-message>x</command-message>\n<command-name>/review</command-name>\n<command-args>12</command-args>"
            ),
            "/review 12"
        );
        assert_eq!(condense("<system-reminder>never closed"), None);
    }

    #[test]
    fn intents_come_from_the_lead_sentence() {
        for (prompt, wanted) in [
            ("Why does the worker retry?", Intent::Question),
            ("Fix the worker's retry", Intent::Fix),
            ("Add retries to the worker", Intent::Add),
            ("Rename Worker to Runner", Intent::Refactor),
            ("Bump the version", Intent::Other),
            (
                "Support says that carts are off by a cent. Find out why and fix it.",
                Intent::Fix,
            ),
        ] {
            assert_eq!(condense(prompt).unwrap().intent, wanted, "{prompt}");
        }
    }

    #[test]
    fn a_report_of_trouble_is_told_from_an_order() {
        for (line, wanted) in [
            ("Orders are shipped twice since Monday", true),
            ("The page hangs with many rows. Make it usable.", true),
            ("Add a page for lost parcels", false),
            ("Show the sum below the table", false),
        ] {
            assert_eq!(complains(line), wanted, "{line}");
        }
    }

    #[test]
    fn of_a_long_prompt_the_first_sentences_stay() {
        let long = format!(
            "Make the cache faster. {}",
            "It should not lose entries when the machine restarts. ".repeat(9)
        );
        assert_eq!(
            line(&long),
            "Make the cache faster. It should not lose entries when the machine restarts. It should not lose entries when the machine restarts. It should not lose entries when the machine restarts."
        );
    }
}
