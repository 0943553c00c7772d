//! Parses a markdown message into sections of paragraphs and list entries.

use super::inline::{is_mark, plain};
use crate::english::{Phrases, count_names, sentences};

/// The part of a message under one heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// The heading without markup; absent before the first heading.
    pub(crate) heading: Option<String>,
    /// The content that the heading announces.
    pub(crate) role: SectionRole,
    /// Paragraphs and list entries, in order.
    pub(crate) blocks: Vec<Block>,
}

/// A paragraph or list entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The text without markup.
    pub(crate) text: String,
    /// Set for an entry of a list or table.
    pub(crate) is_item: bool,
    /// Set for a row of a table.
    pub(crate) is_row: bool,
    /// Nested entries.
    pub(crate) children: Vec<String>,
    /// The label at its start, without markup: `**Root cause:** …`.
    pub(crate) label: Option<String>,
    /// The content that the label announces.
    pub(crate) role: Option<SectionRole>,
}

/// The content that a heading announces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum SectionRole {
    /// Anything else.
    #[default]
    Other,
    /// A problem or its symptoms.
    Problem,
    /// Causes and analysis.
    Cause,
    /// Completed changes.
    Change,
    /// Results of checks.
    Check,
    /// Open work.
    Open,
    /// Caveats and limits.
    Note,
    /// Decisions and reasons.
    Decision,
    /// The user's request or messages, repeated.
    Request,
    /// The state of the work at that moment.
    Status,
    /// Sources and references.
    Source,
    /// Alternatives to choose from.
    Choice,
    /// Praise of a reviewer.
    Praise,
}

impl SectionRole {
    /// Judges a heading.
    pub(crate) fn of(heading: &str) -> Self {
        // A longer heading, or one with a name, is about its own subject: "Test uses `chdir` without a comment".
        const MAX_HEADING_WORDS: usize = 4;
        let lower = heading.replace('’', "'").to_lowercase();
        if NUMBERED_CHOICES.starts(&lower) {
            return Self::Choice;
        }
        if lower.split_whitespace().count() > MAX_HEADING_WORDS || count_names(heading) > 0 {
            return Self::Other;
        }
        if CHOICES.within(&lower) {
            return Self::Choice;
        }
        HEADINGS
            .iter()
            .find(|(_, words)| words.within(&lower))
            .map_or(Self::Other, |(role, _)| *role)
    }
}

/// "Two things are left:" announces open work; "Remaining call sites updated:" does not.
pub(crate) fn announces_open_work(lead: &str) -> bool {
    let last = sentences(lead)
        .last()
        .map(|last| last.to_lowercase())
        .unwrap_or_default();
    (ANNOUNCEMENTS.within(&last) || SectionRole::of(&last) == SectionRole::Open) && !COMPLETIONS.within(&last)
}

static ANNOUNCEMENTS: Phrases = Phrases::new(concat!(
    "still to do|remaining|what's left|what is left|left to do|are left|is left|next steps|next step|",
    "todo|to do|not yet|still need|still needs|still open|you need to|follow-up|follow-ups|next i would|",
    "next, i would|outstanding|deferred|before merging|after merging|pending",
));
static COMPLETIONS: Phrases =
    Phrases::new("done|completed|updated|fixed|resolved|addressed|removed|no remaining|nothing|none");

/// Lead-ins of the second of two pieces of code.
static SECONDS: Phrases = Phrases::new("to|with|into|by|after");

/// Checked in order: "Next steps" before "steps", "Known issues" before "issues".
static HEADINGS: [(SectionRole, Phrases); 11] = [
    (
        SectionRole::Praise,
        Phrases::new(
            "works well|do well|does well|strengths|positives|highlights|what's good|well done|good practices",
        ),
    ),
    (
        SectionRole::Request,
        Phrases::new("primary request|user messages|user request|original request"),
    ),
    (
        SectionRole::Status,
        Phrases::new("current work|current state|current status|status|progress"),
    ),
    (SectionRole::Source, Phrases::new("sources|references|links")),
    (
        SectionRole::Open,
        Phrases::new(concat!(
            "next|next step|next steps|remaining|todo|to do|to-do|follow-up|follow-ups|follow up|",
            "what's left|left to do|what is left|not done|not yet|outstanding|future|",
            "recommendations|still open|open items|open questions|pending|pending tasks|still needed|",
            "action items|deferred|out of scope|you still need|still to do",
        )),
    ),
    (
        SectionRole::Note,
        Phrases::new(concat!(
            "known issue|known issues|caveat|caveats|limitation|limitations|note|notes|warning|",
            "warnings|gotcha|gotchas|risk|risks|important|edge cases|concerns",
        )),
    ),
    (
        SectionRole::Cause,
        Phrases::new("root cause|cause|causes|analysis|what went wrong|explanation|findings|why it|why the"),
    ),
    (
        SectionRole::Decision,
        Phrases::new(concat!(
            "decision|decisions|rationale|trade-off|trade-offs|tradeoffs|approach|design|reasoning|",
            "why this",
        )),
    ),
    (
        SectionRole::Check,
        Phrases::new(concat!(
            "test|tests|testing|tested|test plan|test results|verification|verified|validation|",
            "results|test coverage",
        )),
    ),
    (
        SectionRole::Problem,
        Phrases::new("problem|problems|issue|bug|symptom|symptoms|background|context|error|errors"),
    ),
    (
        SectionRole::Change,
        Phrases::new(concat!(
            "solution|fix|fixes|fixed|change|changes|changed|what was done|what i did|implementation|",
            "implemented|modified|added|updated|removed|completed|done|refactored|files|what it does|",
            "what changed",
        )),
    ),
];

static CHOICES: Phrases = Phrases::new(
    "option|options|alternative|alternatives|choices|two approaches|possible approaches|two ways|pros|cons|pro|con|advantages|disadvantages",
);

/// Reports whether a lead-in announces alternatives: "Two options:".
pub(super) fn offers_choice(lead: &str) -> bool {
    CHOICES.within(&lead.to_lowercase())
}

/// Reports whether a statement weighs or lists alternatives: "Store it in a file: Pros: simple", "A) a file B) a table".
pub(super) fn weighs_choice(text: &str) -> bool {
    let lower = text.to_lowercase();
    let lists = lower.contains("a) ") && lower.contains(" b) ");
    let is_listed = ["a) ", "b) ", "c) ", "d) "]
        .iter()
        .any(|letter| lower.starts_with(letter));
    lists || is_listed || WEIGHTS.within(&lower) || NUMBERED_CHOICES.starts(&lower)
}

static WEIGHTS: Phrases = Phrases::new("pros:|cons:|pro:|con:");

static NUMBERED_CHOICES: Phrases = Phrases::new(concat!(
    "option a|option b|option c|option d|option 1|option 2|option 3|option 4|approach a|approach b|approach c|",
    "approach 1|approach 2|approach 3|alternative a|alternative b|alternative 1|alternative 2",
));

/// Longer messages are read up to here.
const MAX_BYTES: usize = 48 * 1024;
/// Longer code blocks are left out; shorter ones are quoted with the text that introduces them.
const MAX_QUOTED_CODE: usize = 360;

/// Parses a message.
pub(super) fn parse(message: &str) -> Vec<Section> {
    let mut reader = Reader {
        sections: vec![Section::default()],
        ..Reader::default()
    };
    for line in message[..message.floor_char_boundary(MAX_BYTES)].lines() {
        reader.read(line);
    }
    reader.end_code();
    reader.end_paragraph();
    let is_told = |section: &Section| section.heading.is_some() || !section.blocks.is_empty();
    reader.sections.retain(is_told);
    reader.sections
}

#[derive(Default)]
struct Reader {
    sections: Vec<Section>,
    paragraph: String,
    fence: Option<Vec<String>>,
    /// The indentation of the top level of the current list.
    list_indent: Option<usize>,
    in_reasoning: bool,
    /// Set while lines may continue a list entry.
    in_item: bool,
    /// The names of the columns of the current table.
    table: Option<Vec<String>>,
}

impl Reader {
    fn read(&mut self, line: &str) {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            if self.fence.is_some() {
                self.end_code();
            } else {
                self.end_paragraph();
                self.fence = Some(Vec::new());
            }
            return;
        }
        if let Some(code) = &mut self.fence {
            code.push(trimmed.to_owned());
            return;
        }
        // Some agents write their reasoning into the message, between tags.
        if trimmed == "<thinking>" || trimmed == "</thinking>" {
            self.end_paragraph();
            self.in_reasoning = trimmed == "<thinking>";
            return;
        }
        if self.in_reasoning {
            return;
        }
        let indent = line.len() - line.trim_start().len();
        if trimmed.is_empty() {
            self.end_paragraph();
            self.table = None;
        } else if let Some(heading) = heading(line) {
            self.start_section(&heading);
        } else if is_rule(trimmed) {
            self.end_paragraph();
        } else if trimmed.starts_with('|') {
            self.row(trimmed);
        } else if let Some(text) = list_entry(trimmed) {
            self.entry(indent, text);
        } else if self.in_item && indent > 0 && self.paragraph.is_empty() {
            self.continue_entry(trimmed);
        } else {
            // Lines with a bold label each are a list without bullets.
            if trimmed.starts_with("**") {
                self.end_paragraph();
            }
            if self.paragraph.is_empty() {
                self.in_item = false;
                self.list_indent = None;
            } else {
                self.paragraph.push(' ');
            }
            self.paragraph
                .push_str(trimmed.trim_start_matches('>').trim_start());
        }
    }

    fn start_section(&mut self, heading: &str) {
        self.end_paragraph();
        self.in_item = false;
        self.list_indent = None;
        self.sections.push(Section {
            heading: Some(heading.to_owned()),
            role: SectionRole::of(heading),
            blocks: Vec::new(),
        });
    }

    fn blocks(&mut self) -> &mut Vec<Block> {
        if self.sections.is_empty() {
            self.sections.push(Section::default());
        }
        let last = self.sections.len() - 1;
        &mut self.sections[last].blocks
    }

    /// Reads a table row: the first cell with words is the subject, the others follow under the names of their columns.
    fn row(&mut self, line: &str) {
        self.end_paragraph();
        let cells: Vec<String> = line.trim_matches('|').split('|').map(plain).collect();
        if cells
            .iter()
            .all(|cell| cell.chars().all(|c| matches!(c, '-' | ':' | ' ')))
        {
            return;
        }
        let Some(header) = &self.table else {
            self.table = Some(cells);
            return;
        };
        let has_words = |cell: &&String| cell.chars().any(char::is_alphabetic);
        let Some(subject) = cells.iter().position(|cell| has_words(&cell)) else {
            return;
        };
        let details: Vec<String> = cells
            .iter()
            .enumerate()
            .skip(subject + 1)
            .filter(|(_, cell)| has_words(cell))
            .map(
                |(at, cell)| match header.get(at).filter(|name| !name.is_empty()) {
                    Some(name) => format!("{name}: {cell}"),
                    None => cell.clone(),
                },
            )
            .collect();
        if details.is_empty() {
            return;
        }
        let text = format!("{} ({})", cells[subject], details.join("; "));
        self.blocks().push(Block {
            text,
            is_item: true,
            is_row: true,
            children: Vec::new(),
            label: None,
            role: None,
        });
    }

    fn entry(&mut self, indent: usize, text: &str) {
        self.end_paragraph();
        self.in_item = true;
        let top = *self.list_indent.get_or_insert(indent);
        if indent > top
            && let Some(parent) = self.blocks().last_mut().filter(|block| block.is_item)
        {
            parent.children.push(plain(text));
            return;
        }
        self.list_indent = Some(indent);
        let block = block(text, true);
        self.blocks().push(block);
    }

    fn continue_entry(&mut self, text: &str) {
        let Some(block) = self.blocks().last_mut() else {
            return;
        };
        let target = block.children.last_mut().unwrap_or(&mut block.text);
        if !target.is_empty() {
            target.push(' ');
        }
        target.push_str(&plain(text));
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        if paragraph.is_empty() {
            return;
        }
        // "from: `a`", "to:", code: the second part of a pair.
        let is_second = SECONDS.contains(paragraph.trim_end_matches(':').to_lowercase().as_str());
        if is_second
            && paragraph.ends_with(':')
            && let Some(last) = self.blocks().last_mut().filter(|block| block.text.ends_with('`'))
        {
            last.text.push_str(&format!(" {}", paragraph.to_lowercase()));
            return;
        }
        if let Some(title) = bold_heading(&paragraph) {
            self.start_section(&title);
            return;
        }
        let block = block(&paragraph, false);
        if !block.text.is_empty() {
            self.blocks().push(block);
        }
    }

    /// Quotes a short command after the colon that introduces it.
    fn end_code(&mut self) {
        /// A longer lead-in says something without its code.
        const MAX_LEAD_WORDS: usize = 4;
        let Some(code) = self.fence.take() else { return };
        let lines: Vec<String> = code
            .into_iter()
            .filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("//"))
            .collect();
        let Some(last) = self.blocks().last_mut() else {
            return;
        };
        let target = last.children.last_mut().unwrap_or(&mut last.text);
        let code = lines.join(" ");
        if !code.is_empty() && code.len() <= MAX_QUOTED_CODE && !code.contains('`') {
            // "Changed the check to `x`" needs no colon; a code block after a whole sentence shows it.
            let separator = if target.ends_with(':') { "" } else { ":" };
            target.truncate(target.trim_end_matches('.').len());
            target.push_str(&format!("{separator} `{code}`"));
        } else if target.ends_with(':') {
            // What follows must not be read as what the lead-in announced.
            let lead = sentences(target).last().copied().unwrap_or_default();
            if lead.split_whitespace().count() <= MAX_LEAD_WORDS {
                target.truncate(target.len() - lead.len());
            } else {
                target.truncate(target.len() - 1);
                target.push('.');
            }
        }
    }
}

/// Returns the text of a heading line: `## x`, or `3. Errors and fixes:` at the margin.
fn heading(line: &str) -> Option<String> {
    const MAX_NUMBERED_WORDS: usize = 8;
    if line.starts_with('#') {
        let text = line.trim_start_matches('#');
        return text
            .starts_with(' ')
            .then(|| without_number(&plain(text)).trim_end_matches(':').to_owned());
    }
    let starts_with_digit = line.starts_with(|c: char| c.is_ascii_digit());
    let text = starts_with_digit.then(|| list_entry(line.trim_end())).flatten()?;
    let is_short = text.split_whitespace().count() <= MAX_NUMBERED_WORDS;
    let text = plain(text);
    let heading = text.strip_suffix(':')?;
    (is_short && count_names(heading) == 0).then(|| heading.to_owned())
}

fn without_number(text: &str) -> &str {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() < text.len()
        && let Some(rest) = rest.strip_prefix(['.', ')', ':'])
    {
        return rest.trim_start();
    }
    text
}

fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '*' | '_' | '='))
}

/// Returns the text of a list entry: `- x`, `* x`, `1. x`, `✅ x`.
fn list_entry(line: &str) -> Option<&str> {
    const MAX_DIGITS: usize = 3;
    let mut chars = line.chars();
    let first = chars.next()?;
    if is_mark(first) {
        return Some(chars.as_str().trim_start_matches('\u{fe0f}').trim_start());
    }
    if matches!(first, '-' | '*' | '+') {
        let rest = chars.as_str().strip_prefix(' ')?.trim_start();
        return Some(rest.trim_start_matches("[ ] ").trim_start_matches("[x] "));
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 || digits > MAX_DIGITS {
        return None;
    }
    let rest = &line[digits..];
    rest.strip_prefix(". ")
        .or_else(|| rest.strip_prefix(") "))
        .map(str::trim_start)
}

/// Returns the text of a paragraph that is bold as a whole: a heading in disguise.
fn bold_heading(paragraph: &str) -> Option<String> {
    let inner = paragraph.trim_end_matches(':').strip_prefix("**")?;
    let (inner, rest) = inner.split_once("**")?;
    // "**Fix** (4 files)" is a heading as well.
    let is_aside = rest.trim().is_empty() || (rest.trim().starts_with('(') && rest.trim().ends_with(')'));
    let is_sentence = inner.ends_with(['.', '!', '?']) && inner.split_whitespace().count() > 4;
    (is_aside && !is_sentence).then(|| without_number(&plain(inner)).trim_end_matches(':').to_owned())
}

fn block(text: &str, is_item: bool) -> Block {
    let label = label(text);
    let role = label
        .as_deref()
        .map(SectionRole::of)
        .filter(|role| *role != SectionRole::Other);
    Block {
        text: plain(text),
        is_item,
        is_row: false,
        children: Vec::new(),
        label,
        role,
    }
}

/// Returns the label at the start of a text: `**Root cause:** …`, `**Merge** — …`, `Primary request: …`.
fn label(text: &str) -> Option<String> {
    const MAX_WORDS: usize = 6;
    let label = if let Some(inner) = text.strip_prefix("**") {
        let (label, rest) = inner.split_once("**")?;
        let is_label = label.ends_with(':') || rest.trim_start().starts_with([':', '—', '–', '-']);
        is_label.then_some(label)?
    } else {
        text.split_once(": ")?.0
    };
    let label = plain(label.trim_end_matches(':'));
    (label.split_whitespace().count() <= MAX_WORDS && count_names(&label) == 0 && !label.ends_with('.'))
        .then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_announce_their_content() {
        for (heading, wanted) in [
            ("Next steps", SectionRole::Open),
            ("What’s left", SectionRole::Open),
            ("Still to do", SectionRole::Open),
            ("Known issues", SectionRole::Note),
            ("Root Cause", SectionRole::Cause),
            ("The Fix", SectionRole::Change),
            ("Test Results", SectionRole::Check),
            ("All user messages", SectionRole::Request),
            ("Summary", SectionRole::Other),
        ] {
            assert_eq!(SectionRole::of(heading), wanted, "{heading}");
        }
    }

    #[test]
    fn a_message_has_sections_with_nested_entries() {
        let sections = parse(
            "All done.\n\n**`a.rs`**\n- Changed the name\n- Added tests:\n  - one\n  - two\n\n## Next\n\n1. Ship it\n   soon\n\n3. Errors and fixes:\n   - `x` failed\n",
        );
        let headings: Vec<_> = sections
            .iter()
            .map(|section| section.heading.as_deref())
            .collect();
        assert_eq!(
            headings,
            [None, Some("`a.rs`"), Some("Next"), Some("Errors and fixes")]
        );
        assert_eq!(sections[1].blocks[1].children, ["one", "two"]);
        assert_eq!(sections[2].role, SectionRole::Open);
        assert_eq!(sections[2].blocks[0].text, "Ship it soon");
    }

    #[test]
    fn a_short_command_is_quoted_with_its_lead_in() {
        let sections = parse("Run this:\n```bash\nmise run test\n```\n");
        assert_eq!(sections[0].blocks[0].text, "Run this: `mise run test`");
    }
}
