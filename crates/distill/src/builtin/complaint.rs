//! From what was wrong to what is right: "X fails when Y", once fixed, becomes "X no longer fails when Y".

use super::grammar::{bare, is_plural, split_outside};
use super::text::{is_outside_code, outside_brackets};
use super::verbs::{self, Form};

/// What is true after "Fixed …": the bug where P, the crash in X when Y.
pub(super) fn fixed(object: &str) -> Option<String> {
    let object = bare(&plain_condition(object));
    for opening in BUG_OPENINGS.split('|') {
        if let Some(at) = object.find(opening).filter(|&at| at < 40) {
            return righted(&object[at + opening.len()..]);
        }
    }
    for (noun, verb) in BREAKAGES {
        let Some(rest) = object.strip_prefix(noun) else {
            continue;
        };
        let Some(rest) = rest.strip_prefix(" in ") else {
            continue;
        };
        let (what, when) = CONDITIONS
            .split('|')
            .find_map(|condition| rest.find(condition).map(|at| rest.split_at(at)))
            .unwrap_or((rest, ""));
        if what.split_whitespace().count() <= 5 {
            return Some(format!("{} no longer {verb}{when}", bare(what)));
        }
    }
    None
}

const BUG_OPENINGS: &str = concat!(
    "bug where |issue where |problem where |bug in which |case where |bug that |bug when |",
    "regression where |error where ",
);

const BREAKAGES: &[(&str, &str)] = &[
    ("crash", "crashes"),
    ("panic", "panics"),
    ("hang", "hangs"),
    ("deadlock", "deadlocks"),
    ("memory leak", "leaks memory"),
    ("leak", "leaks"),
    ("race condition", "races"),
    ("infinite loop", "loops forever"),
    ("infinite recursion", "recurses forever"),
];

const CONDITIONS: &str = " when | if | on | after | while | for | during | with ";

/// Turns a complaint into its opposite; `None` where that is not safe.
pub(super) fn righted(complaint: &str) -> Option<String> {
    let complaint = plain_condition(complaint);
    let text = complaint.trim().trim_end_matches(['.', '!', ':']);
    if text.split_whitespace().count() > 26 || text.contains('?') {
        return None;
    }
    let made = negated(text)
        .or_else(|| obliged(text))
        .or_else(|| coming(text))
        .or_else(|| ongoing(text))
        .or_else(|| happening(text))?;
    // "fails to restore x due to y": once it does, y is no reason any more.
    let made = [" due to ", " because "]
        .iter()
        .fold(made.as_str(), |made, reason| {
            split_outside(made, reason).map_or(made, |(kept, _)| kept)
        });
    Some(bare(made))
}

/// "Even if" is a complaint's: what no longer happens does not happen when.
fn plain_condition(complaint: &str) -> String {
    [" even if ", " even when ", " even though "]
        .iter()
        .fold(complaint.to_owned(), |text, even| text.replace(even, " when "))
}

/// "X doesn't handle Y" -> "X handles Y"; "X can't parse Y" -> "X can parse Y".
fn negated(text: &str) -> Option<String> {
    for (denial, singular) in [
        (" doesn't ", true),
        (" does not ", true),
        (" doesn’t ", true),
        (" didn't ", true),
        (" did not ", true),
        (" don't ", false),
        (" do not ", false),
        (" fails to ", true),
        (" failed to ", true),
        (" fail to ", false),
    ] {
        if let Some((subject, rest)) = subject_of(text, denial) {
            let (adverb, rest) = adverb(rest);
            let (word, tail) = rest.split_once(' ').unwrap_or((rest, ""));
            let (base, form) = verbs::verb(word)?;
            if form != Form::Base {
                return None;
            }
            let verb = if singular {
                verbs::third(base)
            } else {
                base.to_owned()
            };
            return Some(format!("{subject} {adverb}{verb} {tail}").trim_end().to_owned());
        }
    }
    for (denial, ability) in [
        (" can't ", " can "),
        (" cannot ", " can "),
        (" could not ", " can "),
        (" couldn't ", " can "),
        (" can not ", " can "),
    ] {
        if let Some((subject, rest)) = subject_of(text, denial) {
            return Some(format!("{subject}{ability}{rest}"));
        }
    }
    None
}

/// "X should be Y" -> "X is Y"; "X should return Y" -> "X returns Y".
fn obliged(text: &str) -> Option<String> {
    for (duty, denied) in [(" should not ", true), (" shouldn't ", true), (" should ", false)] {
        let Some((subject, rest)) = subject_of(text, duty) else {
            continue;
        };
        let plural = is_plural(&subject);
        let (word, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        if word == "be" {
            let be = if plural { "are" } else { "is" };
            return Some(format!(
                "{subject} {be} {}{tail}",
                if denied { "not " } else { "" }
            ));
        }
        let (base, form) = verbs::verb(word)?;
        if form != Form::Base {
            return None;
        }
        let verb = match (denied, plural) {
            (true, true) => format!("do not {base}"),
            (true, false) => format!("does not {base}"),
            (false, true) => base.to_owned(),
            (false, false) => verbs::third(base),
        };
        return Some(format!("{subject} {verb} {tail}").trim_end().to_owned());
    }
    None
}

/// "X will fail when Y" -> "X no longer fails when Y".
fn coming(text: &str) -> Option<String> {
    let (subject, rest) = subject_of(text, " will ").or_else(|| subject_of(text, " would "))?;
    let (word, tail) = rest.split_once(' ').unwrap_or((rest, ""));
    let (base, form) = verbs::verb(word)?;
    let verb = if is_plural(&subject) {
        base.to_owned()
    } else {
        verbs::third(base)
    };
    (form == Form::Base).then(|| format!("{subject} no longer {verb} {tail}").trim_end().to_owned())
}

/// "X was returning Y" -> "X no longer returns Y"; "X is not kept" -> "X is kept"; "X was being lost" -> "X is no longer lost".
fn ongoing(text: &str) -> Option<String> {
    for (auxiliary, plural) in [
        (" was ", false),
        (" is ", false),
        (" were ", true),
        (" are ", true),
    ] {
        let Some((subject, rest)) = subject_of(text, auxiliary) else {
            continue;
        };
        let be = if plural { "are" } else { "is" };
        if let Some(rest) = rest.strip_prefix("not ") {
            return Some(format!("{subject} {be} {rest}"));
        }
        let (adverb, rest) = adverb(rest);
        let (word, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        if word == "being" {
            return Some(format!("{subject} {be} no longer {adverb}{tail}"));
        }
        let (base, form) = verbs::verb(word)?;
        return match form {
            Form::Gerund if word != "missing" => {
                let verb = if plural {
                    base.to_owned()
                } else {
                    verbs::third(base)
                };
                Some(
                    format!("{subject} no longer {adverb}{verb} {tail}")
                        .trim_end()
                        .to_owned(),
                )
            }
            Form::Past => Some(
                format!("{subject} {be} no longer {adverb}{word} {tail}")
                    .trim_end()
                    .to_owned(),
            ),
            _ => None,
        };
    }
    None
}

/// "X fails when Y" -> "X no longer fails when Y".
fn happening(text: &str) -> Option<String> {
    let mut at = 0;
    let mut before = "";
    for (index, word) in text.split(' ').enumerate() {
        let start = at;
        at += word.len() + 1;
        let bound = matches!(
            before.to_lowercase().as_str(),
            "the"
                | "a"
                | "an"
                | "of"
                | "to"
                | "in"
                | "for"
                | "on"
                | "with"
                | "and"
                | "or"
                | "all"
                | "two"
                | "multiple"
                | "some"
                | "when"
                | "if"
        );
        before = word;
        if index == 0 || index > 7 || bound || word.starts_with('`') {
            continue;
        }
        if word.ends_with(',') || matches!(word, "when" | "if" | "that" | "which" | "because" | "where") {
            return None;
        }
        let Some((base, form)) = verbs::verb(word) else {
            continue;
        };
        let blamed = text[..start].trim_end().rsplit(' ').next().is_some_and(is_blame);
        let trouble = TROUBLE.split('|').any(|known| known == base);
        if form != Form::Third && !(form == Form::Past && (trouble || blamed)) {
            continue;
        }
        let (mut subject, rest) = (
            text[..start].trim_end(),
            text.get(start + word.len()..).unwrap_or_default(),
        );
        let mut adverb = "";
        if let Some((head, last)) = subject.rsplit_once(' ')
            && is_adverb(last)
        {
            subject = head;
            adverb = last;
        }
        if subject.is_empty() || !is_outside_code(subject, subject.len()) {
            return None;
        }
        let gap = if adverb.is_empty() { "" } else { " " };
        return Some(format!(
            "{subject} no longer {adverb}{gap}{}{rest}",
            verbs::third(base)
        ));
    }
    None
}

/// Verbs that name trouble by themselves: in the past they are still a complaint.
const TROUBLE: &str = concat!(
    "break|cause|crash|deadlock|drop|duplicate|escape|fail|forget|hang|ignore|leak|lose|mutate|",
    "overwrite|panic|raise|swallow|throw",
);

fn subject_of<'a>(text: &'a str, marker: &str) -> Option<(String, &'a str)> {
    let (subject, rest) = split_outside(text, marker)?;
    let lower = outside_brackets(&subject.to_lowercase());
    let clause = [", ", " when ", " which ", " that ", " because ", " if "]
        .iter()
        .any(|stop| lower.contains(stop));
    (!clause && subject.split_whitespace().count() <= 9).then(|| (bare(subject), rest))
}

/// Adverbs that make any verb a complaint.
fn is_blame(word: &str) -> bool {
    matches!(
        word,
        "incorrectly"
            | "wrongly"
            | "improperly"
            | "mistakenly"
            | "unexpectedly"
            | "silently"
            | "unnecessarily"
    )
}

fn is_adverb(word: &str) -> bool {
    ADVERBS.split('|').any(|known| known == word)
}

const ADVERBS: &str = concat!(
    "incorrectly|wrongly|improperly|unexpectedly|silently|unnecessarily|accidentally|mistakenly|always|also|still|",
    "sometimes|inadvertently|correctly|properly|explicitly|automatically|only|never|randomly|occasionally|falsely",
);

fn adverb(rest: &str) -> (String, &str) {
    match rest.split_once(' ') {
        Some((word, tail)) if is_adverb(word) => {
            let praise = matches!(word, "correctly" | "properly" | "explicitly");
            (if praise { String::new() } else { format!("{word} ") }, tail)
        }
        _ => (String::new(), rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_become_what_is_right() {
        for (given, wanted) in [
            (
                "Reader doesn't handle empty files",
                Some("Reader handles empty files"),
            ),
            ("the parser could not read `a b`", Some("parser can read `a b`")),
            (
                "upload fails when the name has spaces",
                Some("upload no longer fails when the name has spaces"),
            ),
            (
                "Keys should be equal across shards",
                Some("Keys are equal across shards"),
            ),
            ("Cache should not keep errors", Some("Cache does not keep errors")),
            (
                "the printer was generating double commas",
                Some("printer no longer generates double commas"),
            ),
            ("tokens were being dropped", Some("tokens are no longer dropped")),
            (
                "Loader incorrectly merges sections",
                Some("Loader no longer incorrectly merges sections"),
            ),
            (
                "`trim` incorrectly truncated `a`",
                Some("`trim` no longer incorrectly truncates `a`"),
            ),
            (
                "`trim` should be `b` (or c, rarely)",
                Some("`trim` is `b` (or c, rarely)"),
            ),
            (
                "Voting will fail if weights are given",
                Some("Voting no longer fails if weights are given"),
            ),
            (
                "Cache doesn't refresh even when it is forced",
                Some("Cache refreshes when it is forced"),
            ),
            ("Load fails to restore x due to y", Some("Load restores x")),
            ("Improve the default colours", None),
            ("Inconsistent colours in the printer", None),
            (
                "parse() function in family returns a random list",
                Some("parse() function in family no longer returns a random list"),
            ),
        ] {
            assert_eq!(righted(given).as_deref(), wanted, "{given}");
        }
    }

    #[test]
    fn a_fixed_crash_is_gone() {
        assert_eq!(
            fixed("the crash in `load()` when the file is empty").as_deref(),
            Some("`load()` no longer crashes when the file is empty")
        );
        assert_eq!(
            fixed("the crash in `load()` even if the file is empty").as_deref(),
            Some("`load()` no longer crashes when the file is empty")
        );
        assert_eq!(fixed("the bug where `load()` returned None").as_deref(), None);
        assert_eq!(
            fixed("a bug where `load()` was returning None").as_deref(),
            Some("`load()` no longer returns None")
        );
    }
}
