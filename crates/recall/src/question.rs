//! Recognizes what a question asks for, beside its subject: a time, a state of the work, an error, the user's own words.
//!
//! The words for time and state are taken out of the question, because they occur in unrelated texts ("most recent call
//! last") and not in the memories that answer. A question about an error rarely has a word of the error itself, and one about
//! a decision none of the user's words: there the kind of memory that answers ranks a little higher and nothing is left out.

use std::ops::Range;

use backstory_model::{EvidenceKind, MemoryKind, ObservationType, Timestamp};
use backstory_store::Memory;
use backstory_text::{is_stop_word, words};
use jiff::tz::TimeZone;

use crate::time_phrase::{self, Bound, tokens};

/// A question, split into its subject and what it says about time and state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The text without the words about time and state; empty if nothing else was asked.
    pub subject: String,
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
    /// The side of the latest release, which only the store knows.
    pub(crate) release: Option<Bound>,
    pub(crate) state: Option<WorkState>,
}

/// A state of the work that a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkState {
    /// Work to do.
    Open,
    /// The end of the last sessions.
    Stopped,
    /// Decisions.
    Decided,
}

impl Question {
    /// Reads a question.
    pub fn parse(text: &str, now: Timestamp, zone: &TimeZone) -> Self {
        let mut question = Self {
            subject: text.to_owned(),
            since: None,
            until: None,
            release: None,
            state: None,
        };
        let tokens = tokens(text);
        let mut words: Vec<&str> = tokens.iter().map(|token| token.word.as_str()).collect();
        let mut taken: Vec<Range<usize>> = Vec::new();
        let mut take = |words: &mut Vec<&str>, range: Range<usize>| {
            // Blanks keep the positions of the other words.
            words[range.clone()].fill("");
            taken.push(range);
        };
        // Two phrases: "since Monday until Wednesday".
        for _ in 0..2 {
            let found = time_phrase::find(&words);
            if let Some((range, bound, phrase)) = found
                && let Some(period) = phrase.period(now, zone)
            {
                question.limit(bound, period);
                take(&mut words, range);
            }
        }
        if let Some((range, bound)) = release(&words) {
            question.release = Some(bound);
            take(&mut words, range);
        }
        if let Some((range, state)) = state(&words) {
            question.state = Some(state);
            take(&mut words, range);
        }
        if taken.is_empty() {
            return question;
        }
        if words.iter().all(|word| is_stop_word(word) || says_nothing(word)) {
            question.subject.clear();
            return question;
        }
        let mut subject = String::new();
        let mut at = 0;
        taken.sort_by_key(|range| range.start);
        for range in taken {
            let (start, end) = (tokens[range.start].range.start, tokens[range.end - 1].range.end);
            subject.push_str(&text[at..start]);
            at = end;
        }
        subject.push_str(&text[at..]);
        question.subject = subject;
        question
    }

    fn limit(&mut self, bound: Bound, period: time_phrase::Period) {
        let just_before = Timestamp::from_millis(period.start.as_millis().saturating_sub(1));
        let just_after = Timestamp::from_millis(period.end.as_millis().saturating_add(1));
        match bound {
            Bound::Within => (self.since, self.until) = (Some(period.start), Some(period.end)),
            Bound::Since => self.since = Some(period.start),
            Bound::After => self.since = Some(just_after),
            Bound::Before => self.until = Some(just_before),
            Bound::Until => self.until = Some(period.end),
        }
    }
}

/// Reports whether a word beside a time or a state names no subject: "what did we *work on* last week".
fn says_nothing(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "accomplish",
        "accomplished",
        "achieve",
        "achieved",
        "activity",
        "anything",
        "change",
        "changed",
        "changes",
        "did",
        "do",
        "does",
        "done",
        "everything",
        "far",
        "find",
        "get",
        "give",
        "go",
        "going",
        "got",
        "happen",
        "happened",
        "happening",
        "last",
        "latest",
        "list",
        "made",
        "make",
        "memories",
        "memory",
        "overview",
        "progress",
        "project",
        "recap",
        "remember",
        "session",
        "sessions",
        "show",
        "something",
        "still",
        "stuff",
        "summarize",
        "summary",
        "tell",
        "thing",
        "things",
        "time",
        "work",
        "worked",
        "working",
        "yet",
    ];
    word.is_empty() || WORDS.contains(&word)
}

/// Finds a mention of the latest release as a time.
fn release(words: &[&str]) -> Option<(Range<usize>, Bound)> {
    (0..words.len()).find_map(|at| {
        let (bound, read) = time_phrase::preposition(&words[at..]);
        if bound == Bound::Within {
            return None;
        }
        let length = match words.get(at + read..)? {
            ["release", ..] => 1,
            ["last" | "latest" | "previous" | "our", "release", ..] => 2,
            ["we" | "i", "released" | "shipped", ..] => 2,
            _ => return None,
        };
        Some((at..at + read + length, bound))
    })
}

/// Finds a mention of a state of the work. A word between bars stands for any of them.
fn state(words: &[&str]) -> Option<(Range<usize>, WorkState)> {
    const STATES: &[(WorkState, &str)] = &[
        (WorkState::Open, "what is|s|are|was still open|unfinished"),
        (WorkState::Open, "what is|s|are|remains|stays open|unfinished"),
        (WorkState::Open, "what is|s|are left to do"),
        (WorkState::Open, "what is|s left"),
        (WorkState::Open, "what remains to do"),
        (WorkState::Open, "what remains"),
        (WorkState::Open, "what is|s next"),
        (WorkState::Open, "still open|unfinished"),
        (WorkState::Open, "left|still|remains to do"),
        (
            WorkState::Open,
            "open|unfinished|remaining work|items|tasks|todos|ends",
        ),
        (WorkState::Open, "next steps"),
        (WorkState::Stopped, "where did we|i|you stop|end|finish"),
        (WorkState::Stopped, "where we|i|you stopped|ended|finished"),
        (WorkState::Stopped, "where did we|i|you leave off"),
        (WorkState::Stopped, "where we|i|you left off"),
        (WorkState::Stopped, "where were|was|are we|i|you"),
        (WorkState::Stopped, "where do|did we|i|you stand"),
        (WorkState::Stopped, "what was|were i|we|you doing"),
        (WorkState::Stopped, "what was|were i|we|you working on"),
        (WorkState::Stopped, "last|previous session"),
        (WorkState::Decided, "did|have we|i|you|they decide|decided"),
        (WorkState::Decided, "did the user decide"),
        (WorkState::Decided, "was|were decided"),
        (WorkState::Decided, "we|i decided"),
        (WorkState::Decided, "decisions"),
    ];
    STATES.iter().find_map(|(state, pattern)| {
        let pattern: Vec<&str> = pattern.split(' ').collect();
        let is_match = |(word, options): (&&str, &&str)| {
            !word.is_empty() && options.split('|').any(|option| option == *word)
        };
        let at = words
            .windows(pattern.len())
            .position(|window| window.iter().zip(&pattern).all(is_match))?;
        Some((at..at + pattern.len(), *state))
    })
}

/// The weight of a memory of the kind that a question asks for.
const WANTED: f64 = 1.5;

/// The kind of answer that a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A failure.
    Error,
    /// Words of the user.
    UserWords,
    /// A commit.
    Commit,
    /// Anything.
    Any,
}

impl Wanted {
    /// Reads a question.
    pub(crate) fn of(question: &str) -> Self {
        const ERRORS: &[&str] = &[
            "error",
            "errors",
            "fail",
            "fails",
            "failed",
            "failing",
            "failure",
            "failures",
            "complain",
            "complained",
            "complains",
            "exception",
            "crash",
            "crashed",
            "panic",
            "panicked",
            "traceback",
        ];
        const WISHES: &[&str] = &[
            "want",
            "wanted",
            "wants",
            "decide",
            "decided",
            "choose",
            "chose",
            "chosen",
            "prefer",
            "preferred",
            "agreed",
            "rejected",
            "refused",
            "view",
            "say",
            "said",
            "told",
            "ask",
            "asked",
        ];
        const PEOPLE: &[&str] = &["user", "i", "me", "we", "us", "they"];
        let words: Vec<String> = words(question).map(|word| word.to_lowercase()).collect();
        let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        if has(PEOPLE) && has(WISHES) {
            Self::UserWords
        } else if has(ERRORS) {
            Self::Error
        } else if words.iter().any(|word| word == "commit") {
            Self::Commit
        } else {
            Self::Any
        }
    }

    /// Returns the weight of a memory as an answer.
    pub(crate) fn weight(self, memory: &Memory) -> f64 {
        let evidence = memory
            .record
            .type_name
            .as_deref()
            .and_then(EvidenceKind::from_name);
        let evidence = evidence.filter(|_| memory.handle.kind == MemoryKind::Passage);
        let is_wanted = match self {
            Self::Error => evidence == Some(EvidenceKind::Error),
            Self::UserWords => {
                matches!(
                    evidence,
                    Some(EvidenceKind::UserMessage | EvidenceKind::UserAnswer | EvidenceKind::Refusal)
                ) || memory.handle.kind == MemoryKind::Prompt
                    || memory.record.observation_type() == Some(ObservationType::Decision)
            }
            Self::Commit => evidence == Some(EvidenceKind::Commit),
            Self::Any => false,
        };
        if is_wanted { WANTED } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Question {
        Question::parse(text, Timestamp::from_millis(1_773_239_400_000), &TimeZone::UTC)
    }

    #[test]
    fn words_for_time_and_state_are_no_subject() {
        for (text, subject) in [
            ("what did we do last week", ""),
            ("What happened on Friday?", ""),
            ("yesterday", ""),
            ("show me everything since the release", ""),
            ("what is still open?", ""),
            ("what's left to do", ""),
            ("where did we stop", ""),
            ("what was I working on yesterday?", ""),
            ("what did we decide this month", ""),
            ("token refresh, last week", "token refresh,"),
            ("the retries since Monday until Wednesday", "the retries"),
            ("what is open in the importer", " in the importer"),
            ("what did I decide about retries", "what  about retries"),
        ] {
            assert_eq!(parse(text).subject.trim_end(), subject, "{text}");
        }
    }

    #[test]
    fn other_questions_stay_as_they_are() {
        for text in [
            "most recent call last",
            "open the last file",
            "how does the release script work",
            "least recently used cache",
            "friday deploys",
            "the token we left in the log",
            "",
        ] {
            let question = parse(text);
            assert_eq!(question.subject, text);
            assert_eq!(
                (question.since, question.until, question.release, question.state),
                (None, None, None, None)
            );
        }
    }

    #[test]
    fn prepositions_select_the_side() {
        let day = 86_400_000;
        // The start of the Tuesday before.
        let start = 1_773_187_200_000 - day;
        let sides = |text: &str| {
            let question = parse(text);
            (
                question.since.map(Timestamp::as_millis),
                question.until.map(Timestamp::as_millis),
            )
        };
        assert_eq!(sides("retries on Tuesday"), (Some(start), Some(start + day - 1)));
        assert_eq!(sides("retries since yesterday"), (Some(start), None));
        assert_eq!(sides("retries after yesterday"), (Some(start + day), None));
        assert_eq!(sides("retries before yesterday"), (None, Some(start - 1)));
        assert_eq!(sides("retries until yesterday"), (None, Some(start + day - 1)));
    }

    #[test]
    fn questions_say_which_kind_of_answer_they_want() {
        for (question, wanted) in [
            ("Which test failed after the move?", Wanted::Error),
            ("What did the compiler complain about?", Wanted::Error),
            ("What did I decide about retries?", Wanted::UserWords),
            ("Did the user want totals per file?", Wanted::UserWords),
            (
                "What is the message of the commit that caps the cache?",
                Wanted::Commit,
            ),
            ("How does the cache work?", Wanted::Any),
        ] {
            assert_eq!(Wanted::of(question), wanted, "{question}");
        }
    }
}
