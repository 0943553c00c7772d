//! "The method uses X": which method? The one that was named last in the same message.

use super::grammar::is_finite;
use super::opening::strip_speaker;
use super::text::{count_names, is_name, is_outside_code, sentence_case, starts_with_any};

/// Things that were named in a message.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// A noun and the name that stood before it.
    things: Vec<(String, String)>,
    /// What the last sentence was about.
    subject: Option<String>,
    /// Where the last sentence said that the trouble is.
    place: Option<String>,
}

const NOUNS: &str = concat!(
    "method|function|class|pattern|regex|check|property|field|command|module|handler|hook|query|parser|option|flag|parameter|",
    "condition|component|endpoint|route|table|column|struct|enum|trait|crate|service|worker|constant|setting|variable|helper",
);

impl Named {
    /// Remembers the names in a sentence: "`load` method", "`MAX` constant".
    pub(super) fn note(&mut self, sentence: &str) {
        self.subject = subject(sentence).or_else(|| addition(sentence));
        self.place = None;
        let points = starts_with_any(
            &sentence.to_lowercase(),
            "the issue was in|the issue is in|the bug is in|the bug was in|the problem is in|the problem was in|found the",
        );
        let mut words = sentence.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let Some(next) = words.peek() else { break };
            let noun = next.trim_matches(|c: char| !c.is_alphanumeric());
            if is_name(word) && is_noun(noun) && word.len() < 60 && word.matches('`').count() != 1 {
                let name = word.trim_matches([',', '(', ')', ':', ';']).to_owned();
                if points && self.place.is_none() {
                    self.place = Some(format!("{name} {noun}"));
                }
                self.things.retain(|(known, _)| known != noun);
                self.things.push((noun.to_owned(), name));
            }
        }
    }

    /// "The method uses X" -> "`load` method uses X"; `None` when the statement names its subject, or nothing fits.
    pub(super) fn resolve(&self, statement: &str) -> Option<String> {
        let rest = statement.strip_prefix("The ").unwrap_or(statement);
        let (noun, tail) = rest.split_once(' ')?;
        let noun = noun.to_lowercase();
        let (_, name) = self.things.iter().find(|(known, _)| *known == noun)?;
        (!tail.contains(name.as_str())).then(|| format!("{name} {noun} {tail}"))
    }
}

impl Named {
    /// "It returned None" -> "`load` method returned None": the pronoun stands for what the last sentence was about.
    pub(super) fn without_pronoun(&self, sentence: &str) -> Option<String> {
        let (pronoun, rest) = sentence.split_once(' ')?;
        let stands_for = match pronoun {
            "It" => self.subject.as_ref(),
            "This" => self.place.as_ref(),
            _ => None,
        }?;
        let acts = rest
            .split_whitespace()
            .find(|word| !matches!(*word, "now" | "also" | "only" | "always" | "no" | "longer"))
            .is_some_and(|word| word != "means" && word != "ensures" && is_finite(word));
        acts.then(|| format!("{stands_for} {rest}"))
    }
}

/// "I added a toggle to the page" -> "toggle": what the next sentence will call "it".
fn addition(sentence: &str) -> Option<String> {
    let rest = strip_speaker(sentence);
    let (verb, rest) = rest.split_once(' ')?;
    if !matches!(
        verb.to_lowercase().as_str(),
        "added" | "created" | "wrote" | "introduced" | "implemented" | "built"
    ) {
        return None;
    }
    let thing = ["a ", "an ", "the ", "new "]
        .iter()
        .fold(rest, |rest, article| rest.strip_prefix(article).unwrap_or(rest));
    let end = [" to ", " in ", " for ", " that ", " which ", " with ", ",", "."]
        .iter()
        .filter_map(|stop| thing.find(stop))
        .min()?;
    let thing = &thing[..end];
    (thing.split_whitespace().count() <= 4 && is_outside_code(thing, thing.len()))
        .then(|| sentence_case(thing))
}

/// The words before the verb, when they name something.
fn subject(sentence: &str) -> Option<String> {
    let words: Vec<&str> = sentence.split_whitespace().take(8).collect();
    let verb = words.iter().position(|word| is_finite(word))?;
    let phrase = words[..verb].join(" ");
    let phrase = phrase.strip_prefix("The ").unwrap_or(&phrase).to_owned();
    let whole = is_outside_code(&phrase, phrase.len()) && !phrase.ends_with(',') && !phrase.ends_with(':');
    (whole && count_names(&phrase) > 0).then_some(phrase)
}

fn is_noun(word: &str) -> bool {
    NOUNS.split('|').any(|noun| noun == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_stands_for_the_noun() {
        let mut named = Named::default();
        named.note("The `load` method reads twice, unlike the `save` function.");
        assert_eq!(
            named.resolve("Method caches its result").as_deref(),
            Some("`load` method caches its result")
        );
        assert_eq!(
            named.resolve("The function is pure").as_deref(),
            Some("`save` function is pure")
        );
        assert_eq!(named.resolve("The class is new"), None);
        assert_eq!(
            named.without_pronoun("It returns None").as_deref(),
            Some("`load` method returns None")
        );
        assert_eq!(
            named.without_pronoun("It now returns None").as_deref(),
            Some("`load` method now returns None")
        );
        named.note("The issue was in the `find` method of the store.");
        assert_eq!(
            named.without_pronoun("This compared names").as_deref(),
            Some("`find` method compared names")
        );
        assert_eq!(named.without_pronoun("This ensures it"), None);
        named.note("I added a dark mode toggle to the page.");
        assert_eq!(
            named.without_pronoun("It writes `theme`").as_deref(),
            Some("Dark mode toggle writes `theme`")
        );
    }
}
