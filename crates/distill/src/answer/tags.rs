//! The tags of an answer and what stands in them, closed or not.
//!
//! Only tags that were asked for are tags; everything else is text. A tag ends at its own close tag, counted by nesting, so that
//! an observation which is quoted inside a field stays part of that field. A tag that is never closed ends where the next one
//! of its level begins.

use super::entities::decode;

/// The tags that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagName {
    Observation,
    Summary,
    Nothing,
    Type,
    Title,
    Subtitle,
    Narrative,
    Facts,
    Fact,
    Concepts,
    Concept,
    Files,
    File,
    Supersedes,
    Request,
    Investigated,
    Learned,
    Completed,
    NextSteps,
    Notes,
}

impl TagName {
    const ALL: [(&'static str, Self); 20] = [
        ("observation", Self::Observation),
        ("summary", Self::Summary),
        ("nothing", Self::Nothing),
        ("type", Self::Type),
        ("title", Self::Title),
        ("subtitle", Self::Subtitle),
        ("narrative", Self::Narrative),
        ("facts", Self::Facts),
        ("fact", Self::Fact),
        ("concepts", Self::Concepts),
        ("concept", Self::Concept),
        ("files", Self::Files),
        ("file", Self::File),
        ("supersedes", Self::Supersedes),
        ("request", Self::Request),
        ("investigated", Self::Investigated),
        ("learned", Self::Learned),
        ("completed", Self::Completed),
        ("next_steps", Self::NextSteps),
        ("notes", Self::Notes),
    ];

    /// Whether it stands by itself and holds fields.
    const fn is_block(self) -> bool {
        matches!(self, Self::Observation | Self::Summary | Self::Nothing)
    }

    /// Whether it is an item of a list.
    const fn is_item(self) -> bool {
        matches!(self, Self::Fact | Self::Concept | Self::File)
    }
}

/// A tag where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    name: TagName,
    is_close: bool,
    /// `<nothing/>`.
    is_empty: bool,
    start: usize,
    end: usize,
}

/// An observation or a summary, with its tags.
#[derive(Debug)]
pub(super) struct AnswerBlock<'t> {
    pub(super) name: TagName,
    /// The answer up to the end of the block.
    text: &'t str,
    tags: Vec<Tag>,
}

/// Finds the blocks of an answer.
pub(super) fn blocks(text: &str) -> Vec<AnswerBlock<'_>> {
    let tags = all(text);
    let mut blocks = Vec::new();
    let mut at = 0;
    while let Some(tag) = tags.get(at) {
        at += 1;
        if tag.is_close || !tag.name.is_block() {
            continue;
        }
        let start = at;
        if !tag.is_empty {
            at = end_of_block(&tags, at, tag.name);
        }
        blocks.push(AnswerBlock {
            name: tag.name,
            text: &text[..tags.get(at).map_or(text.len(), |next| next.start)],
            tags: tags[start..at].to_vec(),
        });
    }
    blocks
}

/// The first tag that belongs to a block no more: past its close tag, or at the next block where it is not closed.
fn end_of_block(tags: &[Tag], from: usize, name: TagName) -> usize {
    let mut at = from;
    while let Some(tag) = tags.get(at) {
        match (tag.name.is_block(), tag.is_close) {
            (true, true) if tag.name == name => return at + 1,
            (true, _) => return at,
            (false, true) => at += 1,
            // What stands in a field that is closed is its text, blocks included.
            (false, false) => at = close_of(tags, at).map_or(at + 1, |close| close + 1),
        }
    }
    at
}

/// The close tag of an open one, counted by nesting; `None` when it has none of its own.
fn close_of(tags: &[Tag], open: usize) -> Option<usize> {
    let name = tags[open].name;
    if tags[open].is_empty {
        return None;
    }
    let mut depth = 0_usize;
    for (at, tag) in tags.iter().enumerate().skip(open) {
        if tag.name != name || tag.is_empty {
            continue;
        }
        match tag.is_close {
            false => depth += 1,
            true => depth -= 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

impl AnswerBlock<'_> {
    /// The text of the first field of a name that says something.
    pub(super) fn text(&self, name: TagName) -> Option<String> {
        self.texts(name).into_iter().next()
    }

    /// The texts of all fields of a name that say something.
    pub(super) fn texts(&self, name: TagName) -> Vec<String> {
        let mut texts = Vec::new();
        let mut at = 0;
        while let Some(tag) = self.tags.get(at) {
            if tag.is_close || tag.is_empty || tag.name.is_block() {
                at += 1;
                continue;
            }
            let close = close_of(&self.tags, at);
            // A list is looked into for its items; any other field is text from end to end.
            let is_list = matches!(tag.name, TagName::Facts | TagName::Concepts | TagName::Files);
            if tag.name == name {
                let end = close.map_or_else(|| self.next_after(at), |close| self.tags[close].start);
                texts.push(self.plain(tag.end, end, at, close));
            }
            at = match close {
                Some(close) if !(is_list && name.is_item()) => close + 1,
                _ => at + 1,
            };
        }
        texts.retain(|text| !text.is_empty());
        texts
    }

    /// Where a field ends that is never closed.
    fn next_after(&self, at: usize) -> usize {
        self.tags.get(at + 1).map_or(self.text.len(), |next| next.start)
    }

    /// The text between two places, without the tags in it.
    fn plain(&self, start: usize, end: usize, at: usize, close: Option<usize>) -> String {
        let inner = &self.tags[at + 1..close.unwrap_or(at + 1)];
        let mut out = String::new();
        let mut from = start;
        for tag in inner {
            out.push_str(self.text.get(from..tag.start).unwrap_or_default());
            out.push('\n');
            from = tag.end;
        }
        out.push_str(self.text.get(from..end).unwrap_or_default());
        decode(without_markdown(&out)).trim().to_owned()
    }
}

/// Without the fence that some models put around an answer.
fn without_markdown(text: &str) -> &str {
    text.trim().trim_end_matches("```").trim_end()
}

/// Finds all tags of a text.
fn all(text: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('<') {
        let start = at + found;
        match tag_at(&text[start..]) {
            Some(tag) => {
                at = start + tag.end;
                tags.push(Tag {
                    start,
                    end: start + tag.end,
                    ..tag
                });
            }
            None => at = start + 1,
        }
    }
    tags
}

/// Reads the tag that a text begins with: `<title>`, `</Title >`, `<observation type="x">`, `<nothing/>`.
fn tag_at(text: &str) -> Option<Tag> {
    /// No tag that was asked for has long attributes.
    const MAX_LEN: usize = 200;
    let (name, length) = name_at(text)?;
    let is_close = text.starts_with("</");
    let after = &text.as_bytes()[length..];
    let close = after.iter().take(MAX_LEN).position(|byte| *byte == b'>')?;
    let attributes = &after[..close];
    let starts_well = attributes
        .first()
        .is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b'/');
    if !starts_well || attributes.contains(&b'<') {
        return None;
    }
    Some(Tag {
        name,
        is_close,
        is_empty: !is_close && attributes.last() == Some(&b'/'),
        start: 0,
        end: length + close + 1,
    })
}

/// Reads the name of the tag that a text begins with, and where the name ends.
fn name_at(text: &str) -> Option<(TagName, usize)> {
    let rest = text.strip_prefix('<')?;
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'-';
    let length = rest
        .bytes()
        .position(|byte| !is_letter(byte))
        .unwrap_or(rest.len());
    let word = rest[..length].to_ascii_lowercase().replace('-', "_");
    let (_, name) = TagName::ALL.into_iter().find(|(known, _)| *known == word)?;
    Some((name, text.len() - rest.len() + length))
}

/// Returns true if a text begins like one of the tags of an answer, opening or closing.
pub(crate) fn begins_tag(text: &str) -> bool {
    name_at(text).is_some()
}
