//! Finds the options that a message offers to the user, and the one that a reply picks.
//!
//! Agents write options as a table, a list or headings, keyed by letter or number; users answer with the key: "A.", "1",
//! "let's go with option 2". The key alone says nothing to the next reader, the option behind it does.

use super::inline::plain;
use crate::english::{Phrases, sentence_case, sentences};

/// A question with its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The question, or the statement that introduces the options.
    pub(crate) question: Option<String>,
    /// The options, in order.
    pub(crate) options: Vec<Alternative>,
    /// The reasons that the message gives for the option it recommends.
    pub(crate) reasons: Vec<String>,
    /// The byte position of the first option in the message.
    pub(crate) start: usize,
}

/// One of several options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alternative {
    /// The letter or digit.
    pub(crate) key: char,
    /// The name, without the mark of a recommendation.
    pub(crate) name: String,
    /// What the message says about it.
    pub(crate) details: String,
    /// Set if the message recommends it.
    pub(crate) is_recommended: bool,
}

/// Options up to this many lines apart belong together: each may have a paragraph and a piece of code.
const MAX_LINES_APART: usize = 30;
const MAX_DETAILS: usize = 300;
const MAX_REASONS: usize = 4;

/// Returns the last options that a message offers, if it asks about them.
pub(crate) fn offered(message: &str) -> Option<Choice> {
    let lines = lines(message);
    let (first, keyed) = last_run(&lines)?;
    let last = keyed.last()?.0;
    let is_named = keyed.iter().any(|(_, option)| option.is_named);
    let question = question(&lines, first, last);
    // A numbered list is no choice unless the message asks about it.
    let asks = question.as_ref().is_some_and(|found| found.is_near);
    let is_offered = asks || (is_named && question.is_some());
    if !is_offered {
        return None;
    }
    let mut options: Vec<Alternative> = keyed
        .iter()
        .enumerate()
        .map(|(nth, (at, option))| {
            let end = keyed.get(nth + 1).map_or(last + 2, |(next, _)| *next);
            alternative(&lines, *at, end.min(lines.len()), option)
        })
        .collect();
    if options.iter().any(|option| option.name.is_empty()) {
        return None;
    }
    let reasons = recommend(&lines[last + 1..], &mut options);
    Some(Choice {
        question: question.map(|found| found.text),
        options,
        reasons,
        start: lines[first].start,
    })
}

impl Choice {
    /// Returns the options that a reply picks by their keys.
    pub(crate) fn picked(&self, reply: &str) -> Vec<&Alternative> {
        const MAX_WORDS: usize = 80;
        const OPENING_WORDS: usize = 8;
        const WORDS_AHEAD: usize = 3;
        // "1,2 and 3"
        let spaced = reply.replace(',', ", ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        if words.len() > MAX_WORDS {
            return Vec::new();
        }
        let mut out: Vec<&Alternative> = Vec::new();
        for (at, word) in words.iter().take(OPENING_WORDS).enumerate() {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            let mut chars = bare.chars();
            let (Some(key), None) = (chars.next(), chars.next()) else {
                continue;
            };
            let before = at.checked_sub(1).map(|before| {
                words[before]
                    .trim_matches(|c: char| !c.is_alphanumeric() && c != '\'')
                    .replace('’', "'")
                    .to_lowercase()
            });
            let is_marked = word.len() > bare.len() || words.len() == 1;
            let is_followed = words
                .get(at + 1)
                .is_some_and(|next| FOLLOWING.contains(next.trim_matches(|c: char| !c.is_alphanumeric())));
            let is_announced = before.as_deref().is_some_and(|before| {
                ANNOUNCING.contains(before) || (!out.is_empty() && before.chars().count() == 1)
            });
            // "A new file", "3 tests fail" and "a" in a sentence pick nothing.
            let is_picked = match before {
                None => is_marked || is_followed || matches!(key, 'B'..='F'),
                Some(_) => is_announced || (is_marked && !key.is_lowercase() && !out.is_empty()),
            };
            let is_letter = key.is_alphabetic();
            // "Option 1 doesn't work" rejects it.
            let mut after = words[at + 1..].iter().take(WORDS_AHEAD);
            let is_rejected = !word.ends_with(['.', ',', ';'])
                && after.any(|word| NEGATIONS.contains(&word.replace('’', "'").to_lowercase()));
            if is_picked
                && !is_rejected
                && (key.is_uppercase() || !is_letter || words.len() == 1)
                && let Some(option) = self
                    .options
                    .iter()
                    .find(|option| option.key == key.to_ascii_uppercase())
                && !out.contains(&option)
            {
                out.push(option);
            }
        }
        out
    }
}

/// Words in front of a key that is picked.
static ANNOUNCING: Phrases = Phrases::new(concat!(
    "option|options|approach|alternative|with|do|choose|pick|think|prefer|like|let's|lets|and|number|yes|yeah|yep|ok|",
    "okay|sure|just|take|for|plus|or|say|implement|fix|address|apply",
));

static NEGATIONS: Phrases =
    Phrases::new("doesn't|don't|won't|isn't|not|can't|cannot|no|wouldn't|shouldn't|never|breaks|fails");

/// Words behind a key at the start of a reply.
static FOLLOWING: Phrases = Phrases::new("and|is|please|sounds|for|then|works|seems|looks|it");

/// A line of a message outside of code.
struct Line<'a> {
    text: &'a str,
    start: usize,
}

fn lines(message: &str) -> Vec<Line<'_>> {
    let mut in_code = false;
    let mut start = 0;
    let mut out = Vec::new();
    for line in message.split_inclusive('\n') {
        let text = line.trim();
        if text.starts_with("```") || text.starts_with("~~~") {
            in_code = !in_code;
        } else if !in_code && !text.is_empty() {
            out.push(Line { text, start });
        }
        start += line.len();
    }
    out
}

/// The beginning of an option.
struct Keyed<'a> {
    key: char,
    rest: &'a str,
    /// Set for "Option A" and for a letter: a digit alone may number anything.
    is_named: bool,
}

/// Returns the last sequence of at least two keys that begins with A or 1.
fn last_run<'a>(lines: &[Line<'a>]) -> Option<(usize, Vec<(usize, Keyed<'a>)>)> {
    let mut run: Vec<(usize, Keyed<'a>)> = Vec::new();
    let mut found = None;
    for (at, line) in lines.iter().enumerate() {
        let Some(option) = keyed(line.text) else { continue };
        let continues = run.last().is_some_and(|(before, last)| {
            u32::from(last.key) + 1 == u32::from(option.key) && at - before <= MAX_LINES_APART
        });
        if !continues {
            if run.len() > 1 {
                found = Some(std::mem::take(&mut run));
            }
            run.clear();
        }
        if continues || matches!(option.key, 'A' | '1') {
            run.push((at, option));
        }
    }
    let run = if run.len() > 1 { run } else { found? };
    Some((run.first()?.0, run))
}

/// Reads the key at the start of a line: `| **A. Name** |`, `- **Option 2**: …`, `1. …`, `### Approach B — …`.
fn keyed(line: &str) -> Option<Keyed<'_>> {
    let is_markup = |c: char| matches!(c, '|' | '#' | '*' | '-' | '>' | '_' | '(') || c.is_whitespace();
    let text = line.trim_start_matches(is_markup);
    let lower = text.get(..12.min(text.len())).unwrap_or_default().to_lowercase();
    let noun = ["option ", "approach ", "alternative "]
        .iter()
        .find(|noun| lower.starts_with(*noun));
    let text = noun.map_or(text, |noun| text[noun.len()..].trim_start());
    let mut chars = text.chars();
    let key = chars.next().filter(|key| matches!(key, 'A'..='F' | '1'..='9'))?;
    let rest = chars.as_str();
    let is_end = match rest.chars().next() {
        Some('.' | ')' | ':') => rest[1..].starts_with([' ', '*', ':']) || noun.is_some(),
        Some('*' | '|') => noun.is_some() || rest.contains('|'),
        Some(' ') => {
            noun.is_some() || (key.is_alphabetic() && rest.trim_start().starts_with(['—', '–', '-', '|']))
        }
        None => noun.is_some(),
        _ => false,
    };
    is_end.then_some(Keyed {
        key,
        rest,
        is_named: noun.is_some() || key.is_alphabetic(),
    })
}

/// Reads the name and the details of an option from its line, or from the lines below it.
fn alternative(lines: &[Line<'_>], at: usize, end: usize, option: &Keyed<'_>) -> Alternative {
    let rest = option
        .rest
        .trim_start_matches(['.', ')', ':', ' ', '-', '—', '–', '|']);
    let is_bold = lines[at].text.contains("**");
    // "**A. Name** | details", "**Option 1**: name", "A. **Name** - details"
    let rest = rest
        .trim_start_matches("**")
        .trim_start_matches([':', ' ', '-', '—', '–', '|']);
    let (name, details) = is_bold
        .then(|| rest.split_once("**"))
        .flatten()
        .filter(|(name, _)| !name.trim().is_empty())
        .or_else(|| {
            [" — ", " – ", " - ", ": ", " | "]
                .iter()
                .filter_map(|separator| rest.split_once(separator))
                .min_by_key(|(name, _)| name.len())
        })
        .unwrap_or((rest, ""));
    let trim = |text: &str| {
        let text = plain(text.trim_matches(|c: char| matches!(c, '|' | '*') || c.is_whitespace()));
        text.trim_matches(|c: char| matches!(c, ':' | '-' | '—' | '–' | '|') || c.is_whitespace())
            .to_owned()
    };
    let is_recommended = RECOMMENDED.within(&lines[at].text.to_lowercase());
    let mut details = trim(details);
    for line in &lines[at + 1..end] {
        if line.text.starts_with(['#', '|'])
            || details.chars().count() + line.text.chars().count() > MAX_DETAILS
        {
            break;
        }
        let text = trim(line.text.trim_start_matches(['-', '*', ' ']));
        if !details.is_empty() && !text.is_empty() {
            details.push_str("; ");
        }
        details.push_str(&text);
    }
    Alternative {
        key: option.key,
        name: sentence_case(&without_recommendation(&trim(name))),
        details,
        is_recommended,
    }
}

static RECOMMENDED: Phrases = Phrases::new("recommended|my recommendation|preferred");

fn without_recommendation(name: &str) -> String {
    let Some(open) = name.rfind('(') else {
        return name.to_owned();
    };
    if RECOMMENDED.within(&name[open..].to_lowercase()) {
        name[..open].trim_end().to_owned()
    } else {
        name.to_owned()
    }
}

/// A question about options.
struct Question {
    text: String,
    /// Set if it stands next to the options.
    is_near: bool,
}

/// Returns the question about options: the one above them, or the one behind them.
fn question(lines: &[Line<'_>], first: usize, last: usize) -> Option<Question> {
    const LINES_ABOVE: usize = 4;
    const LINES_BELOW: usize = 12;
    let asked = |line: &Line<'_>| {
        let text = plain(line.text.trim_start_matches(['#', '>', ' ']));
        let question = sentences(&text)
            .into_iter()
            .rev()
            .find(|sentence| sentence.trim_end_matches(['*', ' ', ':', ')']).ends_with('?'))?;
        Some(without_label(question).to_owned())
    };
    let above = lines[..first].iter().rev().take(LINES_ABOVE).find_map(asked);
    let below = || {
        let rest = &lines[last + 1..];
        rest.iter().rev().take(LINES_BELOW).find_map(asked)
    };
    let lead = || {
        let lead = plain(lines.get(first.checked_sub(1)?)?.text);
        let lead = sentences(&lead).last()?.trim_end_matches(':').to_owned();
        OFFERS.within(&lead.to_lowercase()).then_some(lead)
    };
    if let Some(text) = above {
        return Some(Question { text, is_near: true });
    }
    if let Some(text) = below() {
        let is_near = lines.len() - last <= LINES_BELOW;
        return Some(Question { text, is_near });
    }
    lead().map(|text| Question { text, is_near: true })
}

static OFFERS: Phrases =
    Phrases::new("options|option|would you like|want me to|shall i|should i|choose|alternatives");

/// "Next question: When should it run?" asks when it should run.
fn without_label(question: &str) -> &str {
    const MAX_LABEL_WORDS: usize = 3;
    question
        .split_once(": ")
        .filter(|(label, rest)| label.split_whitespace().count() <= MAX_LABEL_WORDS && rest.contains(' '))
        .map_or(question, |(_, rest)| rest)
}

/// Finds the recommended option behind the options, marks it, and returns its reasons.
fn recommend(after: &[Line<'_>], options: &mut [Alternative]) -> Vec<String> {
    let mut reasons = Vec::new();
    let Some(at) = after
        .iter()
        .position(|line| RECOMMENDS.within(&line.text.to_lowercase()))
    else {
        return reasons;
    };
    let text = plain(after[at].text);
    let names = |option: &Alternative| {
        let key = option.key;
        text.contains(&format!("ption {key}"))
            || text.contains(&format!("({key})"))
            || text.split_whitespace().any(|word| {
                word.trim_matches(|c: char| !c.is_alphanumeric()) == key.to_string() && key != 'A'
            })
    };
    if let Some(option) = options.iter_mut().find(|option| names(option)) {
        option.is_recommended = true;
    }
    if text.ends_with(':') {
        let entries = after[at + 1..]
            .iter()
            .take_while(|line| line.text.starts_with(['-', '*']));
        reasons.extend(
            entries
                .take(MAX_REASONS)
                .map(|line| plain(line.text.trim_start_matches(['-', '*', ' ']))),
        );
    } else if let Some((_, reason)) = text.split_once("because ") {
        reasons.push(sentence_case(reason.trim_end_matches('.')));
    }
    reasons
}

static RECOMMENDS: Phrases = Phrases::new(
    "recommend|recommended|recommendation|seems best|i'd go with|i'd suggest|i suggest|i'd lean|best option",
);

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "I read the loader.\n\n**Next question:** When should the index be built?\n\n| Option | Description |\n|---|---|\n| **A. At startup (Recommended)** | Build it once, before the first request. |\n| **B. On demand** | Build it with the first query. |\n\nI recommend **Option A** because:\n- Requests stay fast\n- Errors show early\n\nWhich do you prefer?";

    #[test]
    fn options_have_a_question_names_details_and_reasons() {
        let choice = offered(TABLE).expect("options");
        assert_eq!(
            choice.question.as_deref(),
            Some("When should the index be built?")
        );
        let names: Vec<&str> = choice.options.iter().map(|option| option.name.as_str()).collect();
        assert_eq!(names, ["At startup", "On demand"]);
        assert_eq!(
            choice.options[0].details,
            "Build it once, before the first request."
        );
        assert!(choice.options[0].is_recommended && !choice.options[1].is_recommended);
        assert_eq!(choice.reasons, ["Requests stay fast", "Errors show early"]);
        assert!(TABLE[choice.start..].starts_with("| **A."));
    }

    #[test]
    fn a_list_is_a_choice_only_if_the_message_asks_about_it() {
        assert!(offered("Changed:\n1. `load` retries\n2. `save` locks\n").is_none());
        let asked = offered(
            "The folder is ignored. Would you like me to:\n1. **Keep it local** (as now)\n2. **Move it**\n",
        );
        assert_eq!(asked.map(|choice| choice.options.len()), Some(2));
        let named = offered("### Option 1: A file\nSimple.\n\n### Option 2: A table\nFast.\n\nWhich one?");
        assert_eq!(
            named.map(|choice| choice.options[1].details.clone()),
            Some("Fast.".into())
        );
    }

    #[test]
    fn a_reply_picks_by_key() {
        let choice = offered(TABLE).expect("options");
        let picked = |reply: &str| {
            choice
                .picked(reply)
                .iter()
                .map(|option| option.key)
                .collect::<String>()
        };
        for (reply, wanted) in [
            ("A.", "A"),
            ("a", "A"),
            ("I think B, it costs nothing until then", "B"),
            ("let's go with option B please", "B"),
            ("A and B", "AB"),
            ("A new index per user would be nice", ""),
            ("Option B doesn't work since queries come late", ""),
            ("a bit of both", ""),
            ("why not a table?", ""),
        ] {
            assert_eq!(picked(reply), wanted, "{reply}");
        }
    }
}
