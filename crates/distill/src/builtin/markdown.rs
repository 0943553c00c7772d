//! From a message in markdown to its statements, each with the section, list and label it stands under.

use super::claim;
use super::section::Section;
use super::sentence::sentences;
use super::text::{count_names, is_mark, plain};

/// One paragraph, bullet or table row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Item {
    /// The words, without decoration.
    pub(super) text: String,
    /// What kind of section it stands in.
    pub(super) section: Section,
    /// Whether it is an entry of a list or table.
    pub(super) bullet: bool,
    /// What is said before a colon in bold: the thing that the words are about.
    pub(super) label: Option<String>,
    /// The paragraph or bullet that introduces the list ("Modified X to:").
    pub(super) lead: Option<String>,
    /// A heading or parent bullet that names code.
    pub(super) context: Option<String>,
    /// Whether code follows that is too long to be quoted.
    pub(super) shows_code: bool,
}

/// A message longer than this is read up to here and no further.
const MAX_BYTES: usize = 48 * 1024;
const MAX_ITEMS: usize = 400;
const MAX_QUOTED_CODE: usize = 120;

/// Reads a message.
pub(super) fn items(message: &str) -> Vec<Item> {
    let mut reader = Reader::default();
    for line in super::text::head(message, MAX_BYTES).lines() {
        reader.line(line);
        if reader.items.len() >= MAX_ITEMS {
            break;
        }
    }
    reader.end_code();
    reader.flush();
    reader.items
}

#[derive(Default)]
struct Reader {
    items: Vec<Item>,
    paragraph: String,
    /// The bullet that continuation lines belong to, by its index.
    open_bullet: Option<usize>,
    /// Parent bullets: indent and index.
    parents: Vec<(usize, usize)>,
    fence: Option<Vec<String>>,
    section: Section,
    heading_section: Section,
    context: Option<String>,
    lead: Option<String>,
    /// What the lead-in of a list announces: "Two things are left:".
    announced: Option<Section>,
    table_header: bool,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            if self.fence.is_some() {
                self.end_code();
            } else {
                self.flush();
                self.fence = Some(Vec::new());
            }
            return;
        }
        if let Some(code) = &mut self.fence {
            code.push(trimmed.to_owned());
            return;
        }
        if trimmed.is_empty() {
            self.flush();
            self.table_header = false;
        } else if trimmed.starts_with('#') && trimmed.trim_start_matches('#').starts_with(' ') {
            self.heading(trimmed);
        } else if is_rule(trimmed) {
            self.flush();
        } else if trimmed.starts_with('|') {
            self.row(trimmed);
        } else if let Some(text) = bullet(trimmed) {
            self.bullet(line.len() - line.trim_start().len(), text);
        } else if let (Some(at), true) = (
            self.open_bullet,
            self.paragraph.is_empty() && line.starts_with(' '),
        ) {
            self.extend_bullet(at, trimmed);
        } else {
            if self.paragraph.is_empty() {
                self.open_bullet = None;
            }
            if !self.paragraph.is_empty() {
                self.paragraph.push(' ');
            }
            self.paragraph
                .push_str(trimmed.trim_start_matches('>').trim_start());
        }
    }

    fn heading(&mut self, line: &str) {
        self.flush();
        self.parents.clear();
        self.lead = None;
        self.announced = None;
        let level = line.len() - line.trim_start_matches('#').len();
        let text = plain(line.trim_start_matches('#'));
        let own = Section::of(&text);
        if own != Section::Other || level <= 2 {
            self.heading_section = own;
        }
        self.section = self.heading_section;
        let numbered = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' '));
        self.context = (count_names(numbered) > 0).then(|| numbered.trim_end_matches(':').to_owned());
        // "### Updated X in `file`" says what was done: it is a statement as well as a heading.
        if count_names(numbered) > 0 && claim::is_done(&numbered.to_lowercase()) {
            self.items.push(Item {
                text: numbered.trim_end_matches(':').to_owned(),
                section: self.section,
                bullet: true,
                ..Item::default()
            });
        }
    }

    fn row(&mut self, line: &str) {
        self.flush();
        let cells: Vec<String> = line.trim_matches('|').split('|').map(plain).collect();
        if cells
            .iter()
            .all(|cell| cell.chars().all(|c| matches!(c, '-' | ':' | ' ')))
        {
            return;
        }
        if !self.table_header {
            self.table_header = true;
            return;
        }
        let filled: Vec<String> = cells.into_iter().filter(|cell| !cell.is_empty()).collect();
        if let [first, rest @ ..] = filled.as_slice()
            && !rest.is_empty()
        {
            self.items.push(Item {
                text: rest.join(", "),
                label: Some(first.clone()),
                section: self.section,
                bullet: true,
                context: self.context.clone(),
                ..Item::default()
            });
        }
    }

    fn bullet(&mut self, indent: usize, text: &str) {
        self.flush_paragraph_as_lead();
        self.parents.retain(|(at, _)| *at < indent);
        let parent = self.parents.last().map(|(_, at)| self.items[*at].clone());
        let (label, rest) = split_label(text);
        let mut item = Item {
            section: self.announced.unwrap_or(self.section),
            bullet: true,
            ..Item::default()
        };
        if let Some(parent) = parent {
            let whole = parent.whole();
            if whole.ends_with(':') || parent.text.is_empty() {
                item.lead = Some(whole.clone());
            }
            item.context = (count_names(&whole) > 0)
                .then(|| whole.trim_end_matches(':').to_owned())
                .or(parent.context);
            item.section = parent.section;
        } else {
            item.lead.clone_from(&self.lead);
            item.context.clone_from(&self.context);
        }
        item.text = plain(rest);
        item.label = label.map(plain).filter(|label| !label.is_empty());
        self.items.push(item);
        self.open_bullet = Some(self.items.len() - 1);
        self.parents.push((indent, self.items.len() - 1));
    }

    fn extend_bullet(&mut self, at: usize, text: &str) {
        let item = &mut self.items[at];
        if !item.text.is_empty() {
            item.text.push(' ');
        }
        item.text.push_str(&plain(text));
    }

    /// A paragraph that ends with a colon introduces the list or code after it.
    fn flush_paragraph_as_lead(&mut self) {
        if self.paragraph.is_empty() {
            return;
        }
        let before = self.items.len();
        self.flush();
        if let Some(last) = self.items.get(before..).and_then(<[_]>::last) {
            self.lead = last.text.ends_with(':').then(|| last.whole());
        }
    }

    fn flush(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        if paragraph.is_empty() {
            return;
        }
        self.parents.clear();
        let (label, rest) = split_label(&paragraph);
        let mut rest = rest.to_owned();
        let mut label = label.map(plain);
        if let Some(name) = &label {
            let own = Section::of(name);
            if own != Section::Other {
                self.section = own;
                label = None;
            }
        } else if let Some(title) = whole_bold(&paragraph) {
            self.section = match Section::of(&title) {
                Section::Other => self.heading_section,
                own => own,
            };
            self.context = (count_names(&title) > 0).then(|| title.clone());
            rest = title;
        }
        let text = plain(&rest);
        let heading_only = text.trim_end_matches(':').is_empty()
            || (whole_bold(&paragraph).is_some() && count_names(&text) == 0);
        self.lead = text.ends_with(':').then(|| text.clone());
        self.announced = self
            .lead
            .as_deref()
            .and_then(|lead| sentences(lead).last().map(|last| Section::of(last)))
            .filter(|section| *section == Section::Next);
        if heading_only {
            return;
        }
        self.items.push(Item {
            text,
            label,
            section: self.section,
            context: self.context.clone(),
            ..Item::default()
        });
    }

    /// A single line of code after a colon is quoted with the words; more is only noted.
    fn end_code(&mut self) {
        let Some(code) = self.fence.take() else { return };
        let lines: Vec<&String> = code.iter().filter(|line| !line.is_empty()).collect();
        let Some(last) = self.items.last_mut() else { return };
        match lines.as_slice() {
            [line] if last.text.ends_with(':') && line.len() <= MAX_QUOTED_CODE && !line.contains('`') => {
                last.text.push_str(&format!(" `{line}`"));
            }
            [] => {}
            _ => last.shows_code = true,
        }
        self.join_from_and_to();
    }

    /// "Changed x from: `a`" and "To: `b`" are one statement.
    fn join_from_and_to(&mut self) {
        let [.., from, to] = self.items.as_mut_slice() else {
            return;
        };
        let Some(new) = ["To: ", "to: ", "With: ", "with: "]
            .iter()
            .find_map(|opening| to.text.strip_prefix(opening))
        else {
            return;
        };
        let old = ["from: `", "From: `", "Changed: `", "hanged this: `"]
            .iter()
            .find(|opening| from.text.contains(**opening));
        let (Some(old), true) = (old, new.starts_with('`') && from.text.ends_with('`')) else {
            return;
        };
        let joined = from.text.replacen(
            old,
            &old.replace(
                ": `",
                if old.starts_with(['f', 'F']) {
                    " `"
                } else {
                    " from `"
                },
            ),
            1,
        );
        from.text = format!("{joined} to {new}");
        self.items.pop();
    }
}

impl Item {
    /// The label and the words.
    pub(super) fn whole(&self) -> String {
        match &self.label {
            Some(label) if self.text.is_empty() => format!("{label}:"),
            Some(label) => format!("{label}: {}", self.text),
            None => self.text.clone(),
        }
    }
}

fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '*' | '_' | '='))
}

/// The words of a list entry: `- x`, `* x`, `1. x`, `✅ x`.
fn bullet(line: &str) -> Option<&str> {
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
    if digits == 0 || digits > 3 {
        return None;
    }
    let rest = &line[digits..];
    rest.strip_prefix(". ")
        .or_else(|| rest.strip_prefix(") "))
        .map(str::trim_start)
}

/// `**label**: rest`, `**label:** rest`, `**label** - rest` or `` `name`: rest ``.
fn split_label(text: &str) -> (Option<&str>, &str) {
    let text = text.trim_start_matches(|c: char| is_mark(c) || c == ' ' || c == '\u{fe0f}');
    let (mark, rest) = match (text.strip_prefix("**"), text.strip_prefix('`')) {
        (Some(rest), _) => ("**", rest),
        (_, Some(rest)) => ("`", rest),
        _ => return (None, text),
    };
    let inner_end = rest.find(mark).map(|at| at + mark.len());
    let Some(end) = inner_end.filter(|&end| end < 120) else {
        return (None, text);
    };
    let after = &text[end + mark.len()..];
    let inner = if mark == "`" {
        &text[..=end]
    } else {
        &text[mark.len()..end]
    };
    if let Some(label) = inner.strip_suffix(':') {
        return (Some(label), after.trim_start());
    }
    // "**Thing** (line 12): words" has its colon after a bracket.
    let (bracket, tail) = bracketed(after);
    let tail = tail.trim_start();
    for separator in [":", "- ", "– ", "— "] {
        if let Some(rest) = tail.strip_prefix(separator)
            && (!rest.trim().is_empty() || bracket.is_empty())
        {
            return (Some(inner), rest.trim_start());
        }
    }
    (None, text)
}

fn bracketed(text: &str) -> (&str, &str) {
    let trimmed = text.trim_start();
    if trimmed.starts_with('(')
        && let Some(end) = trimmed.find(')')
    {
        return trimmed.split_at(end + 1);
    }
    ("", text)
}

/// The words of a paragraph that is bold as a whole: a heading in disguise.
fn whole_bold(paragraph: &str) -> Option<String> {
    let inner = paragraph
        .trim_end_matches(':')
        .strip_prefix("**")?
        .strip_suffix("**")?;
    (!inner.contains("**")).then(|| plain(inner))
}
