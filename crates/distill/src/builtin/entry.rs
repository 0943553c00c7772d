//! An entry of a message, made readable by itself: with its label or its lead-in, or known as a mere fragment.

use super::claim;
use super::grammar::is_finite;
use super::markdown::Item;
use super::text::{self, count_names, lower_first};
use super::verbs::{self, Form};

/// "It uses x, which does things like:" ends before the clause that introduces a list.
pub(super) fn closed(sentence: &str) -> &str {
    let Some(lead) = sentence.strip_suffix(':') else {
        return sentence;
    };
    if !ends_open(sentence) {
        return lead;
    }
    [", which ", ", where ", ", and ", ", so "]
        .iter()
        .filter_map(|clause| lead.rfind(clause))
        .max()
        .map(|at| &lead[..at])
        .filter(|kept| kept.split_whitespace().count() >= 6 && text::is_outside_code(kept, kept.len()))
        .unwrap_or(sentence)
}

/// An entry with what it needs from its lead-in and its label.
pub(super) struct Joined {
    /// The words.
    pub(super) text: String,
    /// What they are about, when they do not say so themselves.
    pub(super) subject: Option<String>,
}

/// Joins an entry with its label or its lead-in.
pub(super) fn joined(item: &Item) -> Joined {
    let text = item.text.trim();
    if let Some(label) = &item.label {
        return with_label(label, text);
    }
    if let Some(lead) = item.lead.as_deref().filter(|lead| lead.len() < 160) {
        let opening = lead.trim_end_matches(':').trim_end();
        let first = text.split_whitespace().next().unwrap_or_default();
        let order = verbs::verb(first).is_some_and(|(_, form)| form == Form::Base);
        let gerund = verbs::verb(first).is_some_and(|(_, form)| form == Form::Gerund);
        if (opening.ends_with(" to") && order) || (opening.ends_with(" by") && gerund) {
            return Joined {
                text: format!("{opening} {}", lower_first(text)),
                subject: None,
            };
        }
    }
    Joined {
        text: text.to_owned(),
        subject: None,
    }
}

/// A label is the subject of what follows, or says nothing ("Line 12", "Import change").
fn with_label(label: &str, text: &str) -> Joined {
    let lower = text.to_lowercase();
    let whole = |text: String| Joined { text, subject: None };
    let numbered = label
        .to_lowercase()
        .trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '–' | ' '))
        .trim_end_matches('s')
        == "line";
    if text.is_empty() {
        return whole(label.to_owned());
    }
    let place = label.starts_with("In `") && label.ends_with('`');
    if place || numbered || text.contains(label.trim_matches('`')) {
        return whole(text.to_owned());
    }
    if claim::is_done(&lower) {
        let second = lower.split_whitespace().nth(1).unwrap_or_default();
        let named = count_names(label) > 0 && !claim::is_done(&label.to_lowercase());
        return Joined {
            text: text.to_owned(),
            subject: (named && matches!(second, "to" | "from")).then(|| label.to_owned()),
        };
    }
    if claim::is_done(&label.to_lowercase()) && count_names(label) > 0 {
        return whole(format!("{label}. {text}"));
    }
    // "Header: `write_header()` runs late" says it without its label.
    let first = text.split_whitespace().next().unwrap_or_default();
    if count_names(label) == 0 && (text::is_name(first) || first == "The") {
        return whole(text.to_owned());
    }
    whole(format!("{label}: {text}"))
}

/// Whether an entry is a bare name or a piece of a sentence: nothing that can be read by itself.
pub(super) fn is_fragment(sentence: &str, item: &Item) -> bool {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    if words.len() < 3 {
        return true;
    }
    if sentence.ends_with(':') && (words.len() < 7 || ends_open(sentence)) {
        return true;
    }
    if item.bullet && words.len() < 5 && !words.iter().any(|word| is_verb(word)) {
        return true;
    }
    if words
        .last()
        .is_some_and(|last| matches!(*last, "AND" | "OR" | "and" | "or"))
    {
        return true;
    }
    // Ends like "…, such as" or with an open bracket: the rest was code.
    sentence.ends_with(',')
        || !words.iter().any(|word| is_verb(word)) && item.bullet && count_names(sentence) == 0
}

/// Whether a lead-in needs its list: "modified X to:", "there are two reasons:".
fn ends_open(sentence: &str) -> bool {
    let last = sentence
        .trim_end_matches(':')
        .rsplit(' ')
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let open = "to|by|is|are|was|were|that|follows|following|including|when|like|as|this|in|for|with|reasons|ways|changes|steps|cases|problems|issues|things|places|locations|files|methods|from|here|done|happened";
    open.split('|').any(|word| word == last) || !sentence.split_whitespace().any(is_finite)
}

/// Whether a word is a verb in any form.
pub(super) fn is_verb(word: &str) -> bool {
    if text::is_name(word) {
        return false;
    }
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    matches!(
        word,
        "is" | "are"
            | "was"
            | "were"
            | "be"
            | "has"
            | "have"
            | "had"
            | "can"
            | "cannot"
            | "does"
            | "do"
            | "did"
            | "will"
            | "would"
            | "should"
            | "must"
            | "may"
            | "isn't"
            | "doesn't"
            | "don't"
            | "wasn't"
            | "didn't"
            | "can't"
            | "aren't"
    ) || verbs::verb(word).is_some()
}

/// "Pass the value on" in a list of changes -> "Passes the value on".
pub(super) fn as_deed(words: String) -> String {
    let Some((first, rest)) = words.split_once(' ') else {
        return words;
    };
    match verbs::verb(first) {
        Some((base, Form::Base))
            if !verbs::is_change(base)
                && (rest.starts_with("the ") || rest.starts_with("a ") || rest.starts_with('`')) =>
        {
            format!("{} {rest}", text::sentence_case(&verbs::third(base)))
        }
        _ => words,
    }
}
