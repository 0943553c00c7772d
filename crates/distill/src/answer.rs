//! Reads what a model answered: memories as XML, in whatever state models leave it.
//!
//! Prose around it, markdown fences, missing close tags, entities, unknown types and empty fields are all fine. What stands
//! between the marks of the fence is a quotation of the record and never an answer.

mod entities;
mod refine;
mod reply;
mod tags;

use backstory_model::{ObservationId, ObservationType};
use backstory_text::clip;

pub(crate) use tags::begins_tag;

pub use refine::refine;
pub use reply::{Answer, ModelObservation, ModelSummary};

use crate::prompt::{CLOSE, OPEN};
use tags::{AnswerBlock, TagName};

/// Why an answer cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It has none of the tags that were asked for.
    #[error("no observation and no summary in it")]
    NoTags,
    /// It has tags, and nothing in them.
    #[error("its tags are empty")]
    Empty,
}

const MAX_OBSERVATIONS: usize = 12;
const MAX_TITLE: usize = 120;
const MAX_SUBTITLE: usize = 200;
const MAX_NARRATIVE: usize = 1_500;
const MAX_FACT: usize = 300;
const MAX_FACTS: usize = 12;
const MAX_CONCEPTS: usize = 5;
const MAX_FILES: usize = 24;
const MAX_FIELD: usize = 1_200;

/// Reads an answer. The marker is that of the fence in the question.
pub fn read(text: &str, marker: &str) -> Result<Answer, AnswerError> {
    let text = without_quotations(text, marker);
    let blocks = tags::blocks(&text);
    let mut answer = Answer::default();
    let mut says_nothing = false;
    for block in &blocks {
        match block.name {
            TagName::Observation => answer.observations.extend(observation(block)),
            TagName::Summary => answer.summary = answer.summary.or_else(|| summary(block)),
            TagName::Nothing => says_nothing = true,
            _ => {}
        }
    }
    answer.observations.truncate(MAX_OBSERVATIONS);
    if !answer.observations.is_empty() || answer.summary.is_some() || says_nothing {
        return Ok(answer);
    }
    Err(if blocks.is_empty() {
        AnswerError::NoTags
    } else {
        AnswerError::Empty
    })
}

/// Cuts what stands between the marks of the fence; a fence that is not closed goes on to the end.
fn without_quotations(text: &str, marker: &str) -> String {
    let (open, close) = (format!("{OPEN}{marker}"), format!("{CLOSE}{marker}"));
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&open) {
        out.push_str(&rest[..at]);
        let quoted = &rest[at + open.len()..];
        rest = quoted.find(&close).map_or("", |end| &quoted[end + close.len()..]);
    }
    // A close without its open: the model began to quote before it wrote the mark.
    match rest.rfind(&close) {
        Some(at) if out.is_empty() => out.push_str(&rest[at + close.len()..]),
        _ => out.push_str(rest),
    }
    out
}

fn observation(block: &AnswerBlock<'_>) -> Option<ModelObservation> {
    let text = |name: TagName, most: usize| block.text(name).map(|text| clip(text.trim(), most).into_owned());
    let narrative = text(TagName::Narrative, MAX_NARRATIVE);
    let subtitle = text(TagName::Subtitle, MAX_SUBTITLE);
    let facts = items(
        block,
        TagName::Facts,
        TagName::Fact,
        |text| lines(text, '\n'),
        MAX_FACT,
        MAX_FACTS,
    );
    let title = text(TagName::Title, MAX_TITLE)
        .map(|title| one_line(&title))
        // A memory without a title has its first sentence for one.
        .or_else(|| first_sentence(narrative.as_deref().or(facts.first().map(String::as_str))?))?;
    let kind = block.text(TagName::Type).unwrap_or_default();
    Some(ModelObservation {
        kind: observation_type(&kind),
        title,
        subtitle: subtitle.map(|text| one_line(&text)),
        narrative,
        facts,
        concepts: items(
            block,
            TagName::Concepts,
            TagName::Concept,
            words,
            40,
            MAX_CONCEPTS,
        )
        .into_iter()
        .map(|concept| concept.to_lowercase().replace([' ', '_'], "-"))
        .collect(),
        files: items(block, TagName::Files, TagName::File, words, 300, MAX_FILES),
        supersedes: block
            .text(TagName::Supersedes)
            .unwrap_or_default()
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|word| word.parse().ok().map(ObservationId::new))
            .take(MAX_FILES)
            .collect(),
    })
}

fn summary(block: &AnswerBlock<'_>) -> Option<ModelSummary> {
    let text = |name: TagName| {
        block
            .text(name)
            .map(|text| clip(text.trim(), MAX_FIELD).into_owned())
    };
    let summary = ModelSummary {
        request: text(TagName::Request),
        investigated: text(TagName::Investigated),
        learned: text(TagName::Learned),
        completed: text(TagName::Completed),
        next_steps: text(TagName::NextSteps),
        notes: text(TagName::Notes),
    };
    (summary != ModelSummary::default()).then_some(summary)
}

/// The items of a list: tags of their own, or what a separator parts.
fn items(
    block: &AnswerBlock<'_>,
    list: TagName,
    item: TagName,
    part: fn(&str) -> Vec<String>,
    most_letters: usize,
    most: usize,
) -> Vec<String> {
    let tagged = block.texts(item);
    let parted = match tagged.is_empty() {
        true => block.texts(list).iter().flat_map(|text| part(text)).collect(),
        false => tagged,
    };
    let mut items: Vec<String> = Vec::new();
    for text in parted {
        let text = clip(&one_line(&text), most_letters).into_owned();
        if !text.is_empty() && !items.contains(&text) {
            items.push(text);
        }
    }
    items.truncate(most);
    items
}

fn lines(text: &str, separator: char) -> Vec<String> {
    text.split(separator)
        .map(|line| line.trim().trim_start_matches(['-', '*', '•', ' ']).to_owned())
        .collect()
}

fn words(text: &str) -> Vec<String> {
    let commas = |line: String| {
        line.split(',')
            .map(|word| word.trim().to_owned())
            .collect::<Vec<_>>()
    };
    lines(text, '\n').into_iter().flat_map(commas).collect()
}

/// What is said to be some other type is what changed.
fn observation_type(name: &str) -> ObservationType {
    let name = name.trim().to_lowercase();
    let first = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .find(|word| !word.is_empty())
        .unwrap_or_default();
    match first {
        "bug" | "fix" => ObservationType::Bugfix,
        "refactoring" => ObservationType::Refactor,
        "insight" | "finding" | "learning" | "gotcha" => ObservationType::Discovery,
        other => ObservationType::from_name(other).unwrap_or(ObservationType::Change),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn first_sentence(text: &str) -> Option<String> {
    let line = one_line(text);
    let end = line.find(". ").unwrap_or(line.len());
    let title = clip(line[..end].trim_end_matches('.'), MAX_TITLE);
    (!title.is_empty()).then(|| title.into_owned())
}

#[cfg(test)]
mod tests;
