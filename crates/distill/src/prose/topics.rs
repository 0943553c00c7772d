//! Groups the statements of a message by subject.

use super::document::{Block, Section, SectionRole, announces_open_work, offers_choice, weighs_choice};
use crate::english::{
    Form, Phrases, count_names, is_change_verb, is_narration, is_question, is_verdict, opens_with_change,
    outside_code, sentences, strip_openers, verb,
};

/// Statements under one heading of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Topic {
    /// The heading, unless it only names a kind of section ("Summary", "Changes").
    pub(crate) heading: Option<String>,
    /// The content that the heading announces.
    pub(crate) role: SectionRole,
    /// Statements in order, without narration, questions and verdicts on checks.
    pub(crate) points: Vec<Point>,
}

/// One statement: a sentence, or a list entry with its nested entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    /// The text.
    pub(crate) text: String,
    /// The part that can stand as a title: not a lead-in with its list.
    pub(crate) title: Option<String>,
    /// Set for a list entry.
    pub(crate) is_item: bool,
    /// The content that its own label or the heading announces.
    pub(crate) role: SectionRole,
}

/// A lead-in and its list become one statement up to this length, in characters.
const MAX_JOINED: usize = 420;
/// A joined statement up to this length reads as one sentence.
const MAX_JOINED_TITLE: usize = 100;

/// Returns the topics that state something.
pub(super) fn topics(sections: &[Section]) -> Vec<Topic> {
    // The heading above the next one: "2. Cache", then "Removed:".
    let mut above: Option<&str> = None;
    let mut out = Vec::new();
    for section in sections {
        if section.blocks.is_empty() {
            above = section.heading.as_deref().filter(|heading| is_specific(heading));
            continue;
        }
        let mut topics = section_topics(section);
        if let Some(above) = above.take()
            && let Some(label) = topics.first_mut().and_then(|topic| topic.heading.as_mut())
            && is_deed(label)
        {
            *label = format!("{above}: {label}");
        }
        out.append(&mut topics);
    }
    out.retain(|topic| !topic.points.is_empty());
    out
}

/// Returns the topic of a section, and one for each labeled entry that is long enough to be a subject of its own.
fn section_topics(section: &Section) -> Vec<Topic> {
    let mut own = Vec::new();
    let mut rest = Section {
        heading: section.heading.clone(),
        role: section.role,
        blocks: Vec::new(),
    };
    for block in &section.blocks {
        let is_story = block.is_item && block.role.is_none() && sentences(&block.text).len() >= MIN_STORY;
        match &block.label {
            Some(label) if is_story && block.text.starts_with(label.as_str()) => own.push(topic(&Section {
                heading: Some(label.clone()),
                role: section.role,
                blocks: vec![Block {
                    text: block.text[label.len()..]
                        .trim_start_matches([':', '-', '—', '–', ' '])
                        .to_owned(),
                    is_item: false,
                    ..block.clone()
                }],
            })),
            _ => rest.blocks.push(block.clone()),
        }
    }
    own.insert(0, topic(&rest));
    own
}

/// A labeled entry with this many sentences is about its label, not about the list.
const MIN_STORY: usize = 3;

fn topic(section: &Section) -> Topic {
    let mut points: Vec<Point> = Vec::new();
    let mut lead: Option<Point> = None;
    // The role of the list whose lead-in stands by itself.
    let mut announced = None;
    for block in &section.blocks {
        if block.is_item {
            for text in with_children(block) {
                if let Some(open) = &mut lead {
                    if open.text.chars().count() + text.chars().count() < MAX_JOINED {
                        let separator = if open.text.ends_with(':') { " " } else { "; " };
                        open.text.push_str(separator);
                        open.text.push_str(text.trim_end_matches(['.', ';']));
                        continue;
                    }
                    announced = Some(open.role);
                    points.extend(lead.take().and_then(closed));
                }
                push_item(block, announced.unwrap_or(section.role), text, &mut points);
            }
            continue;
        }
        announced = None;
        points.extend(lead.take().and_then(closed));
        lead = push_paragraph(block, section, &mut points);
    }
    points.extend(lead.and_then(closed));
    Topic {
        heading: section.heading.clone().filter(|heading| is_specific(heading)),
        role: section.role,
        points,
    }
}

/// Ends a lead-in: with its list it is a statement; a short one without its list says nothing.
fn closed(mut lead: Point) -> Option<Point> {
    const MIN_WORDS: usize = 9;
    if let Some(text) = lead.text.strip_suffix(':') {
        let last = text.rsplit(' ').next().unwrap_or_default().to_lowercase();
        let tells_change = opens_with_change(text) && count_names(text) > 0;
        if (text.split_whitespace().count() < MIN_WORDS && !tells_change) || LEAD_INS.contains(&last) {
            return None;
        }
        lead.text = format!("{text}.");
        lead.title = None;
    } else if lead.text.chars().count() <= MAX_JOINED_TITLE {
        lead.title = Some(lead.text.clone());
    }
    Some(lead)
}

/// Last words of a lead-in that says nothing without what it introduces.
static LEAD_INS: Phrases = Phrases::new(concat!(
    "see|like|as|shows|show|returns|contains|be|is|are|was|were|to|that|if|when|where|by|with|since|because|test|this|",
    "following|follows|example|includes|means|either|whether|for|from|into|looks|reads|says|things|ways|output",
));

/// Adds the statements of a paragraph; returns its last one if it introduces a list.
fn push_paragraph(block: &Block, section: &Section, points: &mut Vec<Point>) -> Option<Point> {
    let role = block.role.unwrap_or(section.role);
    let mut lead = None;
    for sentence in sentences(&block.text) {
        let text = without_verdict(strip_openers(sentence));
        let introduces = text.ends_with(':');
        if text.is_empty() || is_question(&text) || is_narration(&text) || is_verdict(&text) {
            continue;
        }
        let role = if weighs_choice(&text) || (introduces && offers_choice(&text)) {
            SectionRole::Choice
        } else if introduces && announces_open_work(&text) {
            SectionRole::Open
        } else if introduces && SectionRole::of(text.trim_end_matches(':')) == SectionRole::Status {
            SectionRole::Status
        } else {
            role
        };
        // "The harness now creates:" is no statement without its list.
        let last = text.trim_end_matches(':').rsplit(' ').next().and_then(verb);
        // "Fixed in `a.rs` - now both functions:" neither.
        let clause = text.rsplit([',', '—', '–', '-']).next().unwrap_or_default();
        let needs_list = introduces
            && (last.is_some_and(|(_, form)| form == Form::Third) || clause.trim_start().starts_with("now "));
        let point = Point {
            title: Some(text.trim_end_matches(':').to_owned()).filter(|_| !needs_list),
            text,
            is_item: false,
            role,
        };
        if introduces {
            lead = Some(point);
        } else {
            points.push(point);
        }
    }
    lead
}

/// "The refresh retries once; all 12 tests pass" says what changed before the verdict.
fn without_verdict(text: String) -> String {
    match text.rsplit_once("; ") {
        Some((statement, verdict)) if is_verdict(verdict) && !is_verdict(statement) => statement.to_owned(),
        _ => text,
    }
}

/// Adds a list entry; a long one by its sentences.
fn push_item(block: &Block, list_role: SectionRole, text: String, points: &mut Vec<Point>) {
    let role = if weighs_choice(&text) {
        SectionRole::Choice
    } else {
        block.role.unwrap_or(list_role)
    };
    let pieces = if text.chars().count() > MAX_JOINED {
        sentences(&text).into_iter().map(str::to_owned).collect()
    } else {
        vec![text]
    };
    let is_whole = pieces.len() == 1;
    for text in pieces {
        if is_question(&text) || is_verdict(&text) || is_narration(&text) {
            continue;
        }
        let title = if is_whole {
            block.text.clone()
        } else {
            text.clone()
        };
        points.push(Point {
            title: Some(title).filter(|title| !title.ends_with(':') && !block.is_row),
            text,
            is_item: true,
            role,
        });
    }
}

/// Joins an entry and its nested entries: one text, or several if they are too long for one.
fn with_children(block: &Block) -> Vec<String> {
    const MAX_LABEL: usize = 80;
    let mut out = vec![block.text.clone()];
    for child in &block.children {
        let last = out.last_mut().expect("there is the entry itself");
        if last.chars().count() + child.chars().count() > MAX_JOINED {
            let label = block.text.trim_end_matches([':', '.']);
            out.push(if label.chars().count() <= MAX_LABEL {
                format!("{label}: {child}")
            } else {
                child.clone()
            });
            continue;
        }
        let is_name = outside_code(last).trim().is_empty();
        let separator = match (is_name, last.ends_with(':')) {
            (true, _) => ": ",
            (_, true) => " ",
            _ => "; ",
        };
        *last = format!(
            "{}{separator}{}",
            last.trim_end_matches(['.', ';']),
            child.trim_end_matches(['.', ';'])
        );
    }
    out
}

/// "Summary" says nothing about the subject; "Merge conflicts" does, and so does "Removed" about the list below it.
fn is_specific(heading: &str) -> bool {
    let words = heading.split_whitespace().count();
    is_deed(heading)
        || words > 0
            && !(words <= 3
                && (SectionRole::of(heading) != SectionRole::Other
                    || heading.to_lowercase().contains("summary")))
}

/// Recognizes a heading that only says what was done to the entries below it.
fn is_deed(heading: &str) -> bool {
    verb(heading.trim_end_matches(':')).is_some_and(|(base, form)| form == Form::Past && is_change_verb(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topics_of(message: &str) -> Vec<Topic> {
        topics(&crate::prose::document::parse(message))
    }

    fn texts(message: &str) -> Vec<Vec<String>> {
        topics_of(message)
            .into_iter()
            .map(|topic| topic.points.into_iter().map(|point| point.text).collect())
            .collect()
    }

    #[test]
    fn narration_questions_and_verdicts_are_left_out() {
        assert_eq!(
            texts(
                "Good - I have enough context now. `load` reads the file twice. All tests pass. Want me to fix it?"
            ),
            [["`load` reads the file twice."]]
        );
    }

    #[test]
    fn a_lead_in_and_its_list_are_one_statement() {
        assert_eq!(
            texts(
                "`check` returns an error regardless of whether:\n\n1. the branch exists\n2. the session has checkpoints\n"
            ),
            [[
                "`check` returns an error regardless of whether: the branch exists; the session has checkpoints"
            ]]
        );
    }

    #[test]
    fn code_stays_with_the_words_that_introduce_it() {
        assert_eq!(
            texts(
                "Changed line 22 from:\n\n```python\nif tags:\n```\n\nto:\n\n```python\nif tags is not None:\n```\n"
            ),
            [["Changed line 22 from: `if tags:` to: `if tags is not None:`"]]
        );
    }

    #[test]
    fn a_label_stays_with_its_list_and_the_heading_above_it() {
        let topics = topics_of(
            "### 2. Registry of agents\n\n**Removed:**\n- Hard-coded map of names\n\n**Added:**\n- Lookup by type\n",
        );
        let headings: Vec<_> = topics.iter().map(|topic| topic.heading.as_deref()).collect();
        assert_eq!(headings, [Some("Registry of agents: Removed"), Some("Added")]);
    }

    #[test]
    fn each_heading_is_a_topic_of_its_own() {
        let topics = topics_of(
            "## `auth` module\n- Tokens expire after 15 minutes\n\n## `billing` module\n- Invoices are immutable\n",
        );
        assert_eq!(topics.len(), 2);
        assert_eq!(topics[0].heading.as_deref(), Some("`auth` module"));
        assert_eq!(topics[1].points[0].text, "Invoices are immutable");
    }
}
