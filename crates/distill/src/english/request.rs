//! Condenses a prompt into one line: short prompts as they are, quoted issues and plans by their title.

use super::{Form, Phrases, is_change_verb, lower_head, sentences, verb};

/// The longest condensed request, in characters.
const MAX_LINE: usize = 300;
/// Longer prompts are read up to here.
const MAX_PROMPT_BYTES: usize = 16 * 1024;

/// The purpose of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// Something is broken.
    Fix,
    /// Something is missing.
    Add,
    /// The same behavior in a better shape.
    Refactor,
    /// An explanation.
    Question,
    /// Anything else.
    Other,
}

/// Condenses a prompt; `None` when nothing readable is left of it.
pub(crate) fn condense(prompt: &str) -> Option<String> {
    let head = &prompt[..prompt.floor_char_boundary(MAX_PROMPT_BYTES)];
    if CLIENT_MESSAGES.starts(&lower_head(head.trim_start())) {
        return None;
    }
    if let Some(command) = slash_command(head) {
        return Some(command);
    }
    let text = without_client_markup(head);
    let lines = readable_lines(&text);
    let first = *lines.first()?;
    if let Some(line) = output(&lines) {
        return Some(line);
    }
    let titled = heading(&lines).or_else(|| field(&lines));
    let line = match titled {
        Some(title) if order_of(first).is_some_and(|order| order == "fix") && !is_order(&title) => {
            format!("Fix: {title}")
        }
        Some(title) => title,
        None => opening_and_order(&lines),
    };
    let line = line.trim_end_matches([':', ' ']).to_owned();
    (!line.is_empty()).then_some(line)
}

/// Returns the lines that a user wrote or quoted as text, without code blocks and placeholders.
fn readable_lines(text: &str) -> Vec<&str> {
    const MAX_LINES: usize = 80;
    let mut in_code = false;
    text.lines()
        .map(str::trim)
        .filter(|line| {
            if line.starts_with("```") {
                in_code = !in_code;
                return false;
            }
            !in_code
                && line.chars().any(char::is_alphabetic)
                && !line.starts_with(['❯', '✓', '✗', '│', '╭', '╰'])
                && !line.starts_with("[Image")
                && !line.starts_with("[Pasted")
                && !line.starts_with("Caveat: The messages below")
        })
        .take(MAX_LINES)
        .collect()
}

/// The opening of a request that consists of the output of a program.
const OUTPUT: &str = "Pasted output: ";

/// Reports whether a condensed request is the output of a program without any words about it.
pub(crate) fn is_output(line: &str) -> bool {
    line.starts_with(OUTPUT)
}

/// Condenses a prompt that is mostly the output of a program: the user's own words, and the error that the output shows.
fn output(lines: &[&str]) -> Option<String> {
    const MIN_LINES: usize = 4;
    let printed = lines.iter().filter(|line| is_printed(line)).count();
    let opens_printed = is_printed(lines[0]) && !lines[0].starts_with('"');
    if lines.len() < MIN_LINES || (printed * 2 < lines.len() && !(opens_printed && printed > 1)) {
        return None;
    }
    let own = Some(lines[0]).filter(|line| !is_printed(line) && line.ends_with(['.', '?', '!', ':']));
    let error = lines[usize::from(own.is_some())..]
        .iter()
        .find(|line| ERRORS.within(&line.to_lowercase()))
        .map(|line| cut_at_word(line, MAX_LINE / 2));
    Some(match (own, error) {
        (Some(own), Some(error)) => format!("{} ({error})", own.trim_end_matches([':', ' '])),
        (Some(own), None) => own.trim_end_matches([':', ' ']).to_owned(),
        (None, error) => format!(
            "{OUTPUT}{}",
            error.unwrap_or_else(|| cut_at_word(lines[0], MAX_LINE / 2))
        ),
    })
}

/// Reports whether a program rather than a human wrote a line: rules, brackets, quoted fields, paths.
fn is_printed(line: &str) -> bool {
    line.starts_with(['=', '[', '{', '}', '"', '$', '|', '<', '+'])
        || line.ends_with(['{', '[', ','])
        || line
            .split_whitespace()
            .any(|word| word.starts_with('/') && word[1..].contains('/'))
        || PRINTED.starts(&line.to_lowercase())
}

static PRINTED: Phrases =
    Phrases::new("error:|warning:|info:|debug:|fatal:|panic:|ok |fail |--- |at |create mode");
static ERRORS: Phrases =
    Phrases::new("error|fatal|panic|failed|exception|traceback|cannot|not found|denied|undefined");

/// Keeps a short prompt whole; of a long one the first sentences that fit and the order or question at its end.
fn opening_and_order(lines: &[&str]) -> String {
    let joined = lines.join(" ");
    if joined.chars().count() <= MAX_LINE {
        return joined;
    }
    let order = lines
        .last()
        .and_then(|last| sentences(last).last().copied())
        .filter(|last| last.ends_with('?') || is_order(last))
        .filter(|last| last.chars().count() <= MAX_LINE / 2)
        .map(|last| {
            last.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' ' | '-'))
        });
    let room = MAX_LINE - order.map_or(0, |order| order.chars().count() + 1);
    let mut out = String::new();
    for sentence in lines.iter().flat_map(|line| sentences(line)) {
        // The number of a list entry that does not fit.
        let is_number = !sentence.contains(char::is_alphabetic);
        if out.chars().count() + sentence.chars().count() + 1 > room {
            break;
        }
        if is_number {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(sentence);
    }
    if out.is_empty() {
        let first = sentences(lines[0]).first().copied().unwrap_or(lines[0]);
        out = super::fit_title(first).unwrap_or_else(|| cut_at_word(first, room));
    }
    match order {
        Some(order) if !out.contains(order) => format!("{out} {order}"),
        _ => out,
    }
}

/// Cuts a text between two words.
pub(crate) fn cut_at_word(text: &str, max: usize) -> String {
    let end = text.char_indices().nth(max).map_or(text.len(), |(at, _)| at);
    let cut = if end < text.len() {
        text[..end].rfind(char::is_whitespace).unwrap_or(end)
    } else {
        end
    };
    text[..cut].trim_end().to_owned()
}

/// Removes what the client put into a prompt: reminders, command output, notifications.
pub(crate) fn without_client_markup(prompt: &str) -> String {
    let mut text = prompt.to_owned();
    if !text.contains('<') {
        return text;
    }
    for tag in CLIENT_TAGS.list() {
        let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
        while let Some(at) = text.find(&open) {
            let end = text[at..]
                .find(&close)
                .map_or(text.len(), |end| at + end + close.len());
            text.replace_range(at..end, "");
        }
    }
    text
}

/// Messages that a client puts in the place of a prompt.
static CLIENT_MESSAGES: Phrases = Phrases::new(concat!(
    "operation stopped by hook|[request interrupted|caveat: the messages below|",
    "this session is being continued",
));

static CLIENT_TAGS: Phrases = Phrases::new(concat!(
    "system-reminder|command-message|command-name|command-args|local-command-stdout|local-command-caveat|",
    "ide_opened_file|ide_selection|task-notification",
));

fn slash_command(prompt: &str) -> Option<String> {
    let inside = |tag: &str| {
        let (_, rest) = prompt.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>"))
            .map(|(inner, _)| inner.trim().to_owned())
    };
    let name = inside("command-name").filter(|name| !name.is_empty())?;
    let arguments = inside("command-args").unwrap_or_default();
    Some(cut_at_word(format!("{name} {arguments}").trim(), MAX_LINE))
}

/// Returns the value of a field that holds the title of an issue: `title: …`, `problem: …`.
fn field(lines: &[&str]) -> Option<String> {
    const MIN_LINES: usize = 3;
    if lines.len() < MIN_LINES {
        return None;
    }
    lines.iter().find_map(|line| {
        let (key, value) = line
            .split_once(':')
            .filter(|_| !line.starts_with(['#', '-', '*']))?;
        let key = key
            .trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase()
            .replace(['_', '-'], " ");
        let value = value.trim_matches(['"', '\'', ' ', '*']).trim_end_matches('.');
        let is_title =
            key.split(' ').count() <= 2 && !key.contains(char::is_numeric) && TITLE_FIELDS.starts(&key);
        (is_title && value.split_whitespace().count() >= 2).then(|| cut_at_word(value, MAX_LINE))
    })
}

static TITLE_FIELDS: Phrases =
    Phrases::new("title|summary|subject|problem|issue|bug|task|goal|story|feature");

/// Returns the heading under a lead-in such as "Implement the following plan:".
fn heading(lines: &[&str]) -> Option<String> {
    const MAX_LEAD_WORDS: usize = 12;
    const TITLE_WORDS: std::ops::RangeInclusive<usize> = 2..=25;
    let first = lines.first()?;
    let is_lead_in = first.ends_with(':') && first.split_whitespace().count() <= MAX_LEAD_WORDS;
    if !is_lead_in || lines.len() < 3 {
        return None;
    }
    // A comment in quoted code looks like a heading.
    let is_comment = |at: usize| lines.get(at + 1).is_some_and(|next| is_code(next));
    let next = lines[1..]
        .iter()
        .enumerate()
        .find(|(at, line)| line.starts_with('#') && !is_comment(at + 1))
        .map(|(_, line)| line)
        .or_else(|| lines.get(1).filter(|line| !is_field(line)))?;
    let title = next.trim_start_matches('#').trim();
    let title = title.strip_prefix("Plan: ").unwrap_or(title);
    let is_listed = next.starts_with(['-', '*', '1', '>', '<', '{', '|', '/']);
    (!is_listed && TITLE_WORDS.contains(&title.split_whitespace().count())).then(|| {
        let lead = first.trim_end_matches(':');
        let quotes_plan = next.starts_with('#') && lead.split_whitespace().count() <= 8;
        if quotes_plan {
            format!("{lead}: {title}")
        } else {
            title.to_owned()
        }
    })
}

/// `x = f(y)`, `>>> f(y)`, `import x`: a line of code, not of text.
fn is_code(line: &str) -> bool {
    line.starts_with(">>>")
        || line.starts_with("import ")
        || line.starts_with("from ")
        || (line.contains(" = ") && !line.ends_with('.'))
        || (line.ends_with(')')
            && line.contains('(')
            && !line.contains(". ")
            && line.split_whitespace().count() <= 6)
}

/// `id: 7`
fn is_field(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(key, _)| !key.contains(' '))
}

/// Returns the base form of the verb with which a sentence gives an order.
fn order_of(sentence: &str) -> Option<&'static str> {
    sentence
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .find(|word| {
            !matches!(
                word.to_lowercase().as_str(),
                "please" | "now" | "then" | "and" | "ok" | "also" | "can" | "you" | "could"
            )
        })
        .and_then(verb)
        .filter(|(_, form)| *form == Form::Base)
        .map(|(base, _)| base)
}

fn is_order(sentence: &str) -> bool {
    order_of(sentence).is_some_and(is_change_verb)
}

/// Judges the purpose of a prompt by its condensed form.
pub(crate) fn intent(request: &str) -> Intent {
    let lower = request.replace('’', "'").to_lowercase();
    let asks = request.trim_end().ends_with('?') && !COMMANDING_QUESTIONS.within(&lower);
    if asks || QUESTION_STARTS.starts(&lower_head(request)) {
        Intent::Question
    } else if FIX_WORDS.within(&lower) {
        Intent::Fix
    } else if REFACTOR_WORDS.within(&lower) {
        Intent::Refactor
    } else if ADD_WORDS.within(&lower) {
        Intent::Add
    } else {
        Intent::Other
    }
}

static COMMANDING_QUESTIONS: Phrases =
    Phrases::new("can you fix|can you add|could you|would you|can you implement|can you change|can we fix");
static QUESTION_STARTS: Phrases =
    Phrases::new("how |why |what |where |which |who |explain|is there|does |do we|tell me|describe");
static FIX_WORDS: Phrases = Phrases::new(concat!(
    "fix|fixes|bug|broken|crash|crashes|regression|fails|failing|error|repair|doesn't work|not working|",
    "debug|wrong|hangs|stuck|leak|leaks|incorrect",
));
static REFACTOR_WORDS: Phrases = Phrases::new(
    "refactor|clean up|cleanup|rename|extract|simplify|restructure|reorganize|deduplicate|consolidate",
);
static ADD_WORDS: Phrases =
    Phrases::new("add|implement|support|create|build|write|introduce|new feature|feature|allow|enable");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_condensed_in_the_words_of_the_user() {
        for (prompt, wanted) in [
            ("add a --json flag to list\n", "add a --json flag to list"),
            (
                "Please fix the issue below:\n  id: 7\n  title: Upload fails for names with spaces\nSteps:\n1. upload `a b.txt`",
                "Fix: Upload fails for names with spaces",
            ),
            (
                "Implement the following plan:\n\n# Plan: One log file\n\n## Context\nToday there are many.",
                "Implement the following plan: One log file",
            ),
            (
                "<system-reminder>be nice</system-reminder>\nRename the crate",
                "Rename the crate",
            ),
            (
                "<command-message>x</command-message>\n<command-name>/review</command-name>\n<command-args>12</command-args>",
                "/review 12",
            ),
        ] {
            assert_eq!(condense(prompt).as_deref(), Some(wanted), "{prompt}");
        }
        assert_eq!(condense("<system-reminder>never closed"), None);
    }

    #[test]
    fn a_long_prompt_keeps_its_opening_and_its_question() {
        let prompt = format!(
            "We are getting this warning at start:\n```\n{}\n```\n{}\nCan we find the cause?",
            "log line\n".repeat(20),
            "It looks like the state file is what triggers it even though the branch does not exist at all. "
                .repeat(4)
        );
        let line = condense(&prompt).unwrap();
        assert!(
            line.starts_with("We are getting this warning at start:"),
            "{line}"
        );
        assert!(line.ends_with("Can we find the cause?"), "{line}");
    }

    #[test]
    fn intents_follow_the_wording() {
        for (request, wanted) in [
            ("Why does the worker retry?", Intent::Question),
            ("Fix the worker's retry", Intent::Fix),
            ("Add retries to the worker", Intent::Add),
            ("Rename Worker to Runner", Intent::Refactor),
            ("Bump the version", Intent::Other),
        ] {
            assert_eq!(intent(request), wanted, "{request}");
        }
    }
}
