//! A memory in the making.

use backstory_model::ObservationType;

use crate::english::{
    Form, Phrases, Words, count_names, fit_title, has_cause, has_contrast, is_change_verb, is_statement,
    names_subject, opens_with_change, opens_with_pronoun, outside_code, sentences, strip_openers, verb,
};
use crate::prose::SectionRole;

/// The source of a draft, in order of authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The user's own words.
    User,
    /// A failure that was resolved, or an attempt that did not work.
    Obstacle,
    /// A commit message, pull request or issue.
    Commit,
    /// The last message of a turn.
    Report,
    /// A change without any words about it.
    Change,
}

impl Source {
    /// All sources, in order of authority.
    pub const ALL: [Self; 5] = [
        Self::User,
        Self::Obstacle,
        Self::Commit,
        Self::Report,
        Self::Change,
    ];
}

/// A memory in the making.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// The source.
    pub(crate) source: Source,
    /// The first step it is about.
    pub(crate) from: usize,
    /// The step that completes it.
    pub(crate) at: usize,
    /// The type, if the source decides it.
    pub(crate) kind: Option<ObservationType>,
    /// A complete statement.
    pub(crate) title: String,
    /// Sentences.
    pub(crate) narrative: Vec<String>,
    /// Single facts.
    pub(crate) facts: Vec<String>,
    /// Set for something that was tried and did not work.
    pub(crate) rejected: bool,
    /// The normalized error that it resolves.
    pub(crate) error_signature: Option<String>,
    /// The tool uses that it rests on.
    pub(crate) evidence: Vec<String>,
    /// The subject of its key: its first title, which stays when a commit renames the memory.
    pub(crate) subject: String,
}

impl Draft {
    /// Starts a draft.
    pub(crate) fn new(source: Source, at: usize, title: String) -> Self {
        Self {
            source,
            from: at,
            at,
            kind: None,
            subject: title.clone(),
            title,
            narrative: Vec::new(),
            facts: Vec::new(),
            rejected: false,
            error_signature: None,
            evidence: Vec::new(),
        }
    }

    /// Returns everything it says.
    pub(crate) fn text(&self) -> String {
        let mut text = self.title.clone();
        for part in self.narrative.iter().chain(&self.facts) {
            text.push('\n');
            text.push_str(part);
        }
        text
    }

    /// Adds a statement as a fact or as a sentence of the narrative, unless the title says the same.
    pub(crate) fn push(&mut self, statement: Statement) {
        let same = |text: &str| {
            text.trim_end_matches(['.', ':'])
                .eq_ignore_ascii_case(&self.title)
        };
        if same(&statement.text) {
            return;
        }
        if statement.is_item {
            self.facts.push(statement.text);
            return;
        }
        let all = sentences(&statement.text);
        let new: Vec<&str> = all.iter().copied().filter(|sentence| !same(sentence)).collect();
        let text = if new.len() == all.len() {
            statement.text.clone()
        } else {
            new.join(" ")
        };
        self.narrative.push(ended(text));
    }

    /// Reports whether it says more than its title.
    pub(crate) fn has_content(&self) -> bool {
        /// About three words, or two of them names.
        const MIN_NEW_WEIGHT: u32 = 4;
        let body = Words::of(&format!(
            "{}\n{}",
            self.narrative.join("\n"),
            self.facts.join("\n")
        ));
        body.weight() - body.shared(&Words::of(&self.title)) >= MIN_NEW_WEIGHT
    }

    /// Adds the statements of another draft that this one does not make yet.
    pub(crate) fn absorb(&mut self, other: &Self) {
        const RESTATED_PERCENT: u32 = 75;
        let mut known = Words::of(&self.text());
        let mut is_new = |text: &String| {
            let words = Words::of(text);
            let new = !words.covered_by(&known, RESTATED_PERCENT);
            if new {
                known.extend(&words);
            }
            new
        };
        self.narrative
            .extend(other.narrative.iter().filter(|text| is_new(text)).cloned());
        self.facts
            .extend(other.facts.iter().filter(|text| is_new(text)).cloned());
        self.evidence.extend(other.evidence.iter().cloned());
        self.from = self.from.min(other.from);
    }

    /// Takes statements off the end until the text fits, and returns them in order.
    pub(crate) fn overflow(&mut self, max_chars: usize) -> Vec<Statement> {
        let mut out = Vec::new();
        let mut length = self.text().chars().count();
        while length > max_chars {
            let is_item = self.facts.len() >= self.narrative.len();
            let list = if is_item {
                &mut self.facts
            } else {
                &mut self.narrative
            };
            let Some(text) = list.pop() else { break };
            length -= text.chars().count() + 1;
            out.push(Statement {
                title: Some(text.clone()),
                text,
                is_item,
                role: SectionRole::Change,
            });
        }
        out.reverse();
        out
    }
}

/// Ends a sentence with a period.
pub(crate) fn ended(mut text: String) -> String {
    if !text.ends_with(['.', '!', '?', ':', '”', '。']) {
        text.push('.');
    }
    text
}

/// A statement with the content that its place announces.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    /// The text.
    pub(crate) text: String,
    /// The part that can stand as a title.
    pub(crate) title: Option<String>,
    /// Set for a list entry.
    pub(crate) is_item: bool,
    /// The content.
    pub(crate) role: SectionRole,
}

/// Chooses the title among statements: the one that says most for itself, the earlier of two.
pub(crate) fn choose_title(statements: &[Statement], heading: Option<&str>) -> Option<String> {
    let best = statements
        .iter()
        .enumerate()
        .filter_map(|(at, statement)| {
            let title = title_of(statement.title.as_deref()?)?;
            Some((rank(statement, &title, at), std::cmp::Reverse(at), title))
        })
        .max()
        .map(|(_, _, title)| title);
    let entry = || {
        statements
            .iter()
            .find_map(|statement| title_of(first_entry(&statement.text)?))
    };
    // "Made two changes" says less than the first of them.
    match best {
        Some(title) if is_generality(&title) => entry().or(Some(title)),
        best => best.or_else(entry),
    }
    .or_else(|| {
        let heading = heading.filter(|heading| count_names(heading) > 0)?;
        let statement = statements
            .iter()
            .find_map(|statement| fit_title(&strip_openers(statement.title.as_deref()?)))?;
        title_of(&format!("{heading}: {statement}"))
    })
}

/// Returns the first entry of a list that stands behind its lead-in: "Combined: `a` from main; `b` from here".
fn first_entry(statement: &str) -> Option<&str> {
    const MAX_LEAD_WORDS: usize = 4;
    let (lead, entries) = statement.split_once(": ")?;
    let is_lead = lead.split_whitespace().count() <= MAX_LEAD_WORDS || is_generality(lead);
    entries.split("; ").next().filter(|_| is_lead)
}

/// Ranks a title: a cause or change before other content, a reason or contrast, names, enough words; each later statement
/// counts less, and so do promises, tests and words that point to another sentence.
fn rank(statement: &Statement, title: &str, at: usize) -> usize {
    const BASE: usize = 20;
    const ENOUGH_WORDS: usize = 12;
    let role = match statement.role {
        SectionRole::Cause => 4,
        SectionRole::Change | SectionRole::Decision => 3,
        SectionRole::Problem => 1,
        _ => 0,
    };
    let lower = title.to_lowercase();
    let reason = 2 * usize::from(has_cause(title)) + usize::from(has_contrast(title));
    let unlabeled = without_code_label(title);
    let change = 3 * usize::from(opens_with_change(unlabeled) || lower.contains(" now "));
    let words = title.split_whitespace().count().min(ENOUGH_WORDS) / 4;
    // An entry of a list is one of several, and a detail unless it is a list of changes.
    let is_detail = statement.is_item && statement.role != SectionRole::Change && !opens_with_change(title);
    let weakness = 2 * usize::from(statement.is_item)
        + 2 * usize::from(is_detail)
        + 4 * usize::from(PROMISES.within(&lower))
        + 3 * usize::from(lower.starts_with("`test") || TESTS.within(&lower))
        + 3 * usize::from(POINTERS.within(&lower))
        + 4 * usize::from(CHORES.within(&lower))
        + 8 * usize::from(is_generality(title))
        + 6 * usize::from(UNCHANGED.within(&lower))
        + 3 * usize::from(opens_vaguely(title))
        + 3 * usize::from(ADDRESSES.within(&lower));
    (BASE + role + reason + change + words + count_names(title).min(2)).saturating_sub(at + weakness)
}

/// Reports whether a title states what is the case, not what may be, what stayed or what another sentence tells.
pub(super) fn is_outcome(title: &str) -> bool {
    let lower = title.to_lowercase();
    !PROMISES.within(&lower)
        && !EXPECTED.within(&lower)
        && !UNCHANGED.within(&lower)
        && !ADDRESSES.within(&lower)
        && !is_generality(title)
}

static EXPECTED: Phrases = Phrases::new("should|shouldn't|hopefully");

static UNCHANGED: Phrases =
    Phrases::new("remains|remain|already|still|used to|previously|the old|earlier|likely|is ready|how it");

/// Reports whether a title says that something was done, not what: "Made two changes to `a.rs`", "Fixed the issue".
pub(super) fn is_generality(title: &str) -> bool {
    let lower = without_code_label(title).to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().take(4).collect();
    let opens_with_verb = words
        .first()
        .and_then(|word| verb(word))
        .is_some_and(|(_, form)| form == Form::Past);
    // "Fixed in `a.rs`" says where.
    if opens_with_verb && words.get(1).is_some_and(|word| matches!(*word, "in" | "at")) {
        return true;
    }
    let counts = words.get(1).is_some_and(|word| COUNTS.contains(word));
    let is_vague = words.iter().skip(2).any(|word| COUNTED.contains(word));
    (opens_with_verb && counts && is_vague) || GENERALITIES.starts(&lower)
}

/// "The function returns early", "The only change": what it is about stands in another sentence.
pub(super) fn opens_vaguely(title: &str) -> bool {
    const OPENING_WORDS: usize = 4;
    let opening: Vec<&str> = title.split_whitespace().take(OPENING_WORDS).collect();
    matches!(
        opening.first(),
        Some(&("The" | "In" | "Both" | "Each" | "Only" | "Tasks" | "Task" | "Step"))
    ) && count_names(&opening.join(" ")) == 0
}

/// Words to the user belong to the conversation.
static ADDRESSES: Phrases = Phrases::new("you|your|you're|yours|we|our");

static COUNTED: Phrases = Phrases::new(concat!(
    "changes|files|locations|places|issues|bugs|fixes|things|items|problems|errors|warnings|tests|spots|",
    "functions",
));

static COUNTS: Phrases = Phrases::new(
    "all|two|three|four|five|six|seven|eight|2|3|4|5|6|7|8|9|10|11|12|both|several|multiple|following",
);

/// Openings that say that something was done, not what.
static GENERALITIES: Phrases = Phrases::new(concat!(
    "fixed the bug|fixed the issue|fixed a bug|made the following|the fix is|the changes are|",
    "all changes|identified root cause|identified the root cause|found the root cause|addressed review|solved:",
));

/// Housekeeping that comes along with a change.
pub(super) static CHORES: Phrases = Phrases::new(concat!(
    "unused|import|imports|formatting|typo|doc comment|linter warning|lint warning|lint warnings|",
    "whitespace|already imported",
));

/// Words that point to another sentence.
pub(super) static POINTERS: Phrases = Phrases::new("this|that|these|those|it|them|both|above|below");

/// A memory is rarely about its tests.
static TESTS: Phrases = Phrases::new("test|tests|test cases|unit tests");

/// A promise or a wish is no finding.
static PROMISES: Phrases = Phrases::new(
    "needs to be|need to be|to be verified|should be gone|you'll see|you will see|should now|should work|will now|should be|would be|could be|might be",
);

/// Returns the title that a statement makes: a whole clause that names its subject.
pub(crate) fn title_of(statement: &str) -> Option<String> {
    const MIN_WORDS: usize = 4;
    /// A cause and its effect need no name to be understood.
    const MIN_EXPLANATION: usize = 8;
    let statement = strip_openers(sentences(statement).first()?);
    let statement = without_vague_label(without_place(&statement));
    let named = named_subject(statement);
    let statement = named.as_deref().unwrap_or(statement);
    if (opens_with_pronoun(statement) && !counts_named(statement))
        || is_first_person(statement)
        || lacks_subject(statement)
        || statement.starts_with(['#', '$', '>', '|'])
        || statement.starts_with("Now ")
        || statement.starts_with("Line ")
        || statement.starts_with("Lines ")
        || PASSING.starts(&statement.to_lowercase())
        || MID_THOUGHT.starts(&statement.to_lowercase())
    {
        return None;
    }
    let title = fit_title(statement)?;
    if REFERENCES.within(&outside_code(&title).to_lowercase()) {
        return None;
    }
    if VAGUE_SUBJECTS.starts(&title.to_lowercase()) && count_names(&title) == 0 {
        return None;
    }
    let labeled = without_code_label(&title);
    if labeled.len() < title.len() && !is_statement(labeled) && !opens_with_change(labeled) {
        return None;
    }
    let words = title.split_whitespace().count();
    (words >= MIN_WORDS
        && (names_subject(&title) || (has_cause(&title) && words >= MIN_EXPLANATION))
        && (is_statement(&title) || opens_with_change(&title)))
    .then_some(title)
}

/// "Both error messages now include `err`" names its subject; "Both are fixed" does not.
fn counts_named(statement: &str) -> bool {
    let mut words = statement.split_whitespace();
    let counts = words
        .next()
        .is_some_and(|word| matches!(word, "Both" | "All" | "Each" | "One"));
    let noun = words.next().unwrap_or_default();
    counts && !COPULAS.contains(noun) && count_names(statement) > 0
}

static COPULAS: Phrases =
    Phrases::new("are|is|of|these|those|have|has|were|was|the|can|now|will|should|three|two|four");

/// Openings of a reply or of a step in a list, which need the sentence before them.
static MID_THOUGHT: Phrases = Phrases::new(concat!(
    "yes|yeah|yep|no|exactly|right|so|then|and|but|also|if you|when you|when we|when i|you can|you could|you should|",
    "first|second|third|finally|option|step|thread|either|one option|another option|for example|e.g|given|since you|",
    "as you|looks like|it looks|based on|here's|here is|here are",
));

/// Words in a title that point outside of it.
static REFERENCES: Phrases =
    Phrases::new("this|these|those|instead|above|below|following|former|latter|same thing");

/// "The issue was a missing space" does not say where.
static VAGUE_SUBJECTS: Phrases = Phrases::new(
    "the issue|the problem|the bug|the fix|the error|the code|the function|the change|the cause",
);

/// Openings of a statement about a moment, or about the sentence before it.
static PASSING: Phrases = Phrases::new(
    "the current state|currently|previously|similarly|likewise|at this point|so far|for now|in progress|still|the test|the tests",
);

/// "Line 23 — `exhaustive` is enabled" is about `exhaustive`.
fn without_place(statement: &str) -> &str {
    let Some(rest) = statement
        .strip_prefix("Lines ")
        .or_else(|| statement.strip_prefix("Line "))
    else {
        return statement;
    };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '–' | ',' | ' '));
    rest.strip_prefix(['—', ':'])
        .or_else(|| rest.strip_prefix("in "))
        .map_or(statement, str::trim_start)
}

/// "`a.go:184` - returned when the format is known" says something only if what stands behind the label does.
pub(super) fn without_code_label(title: &str) -> &str {
    let Some((label, rest)) = title.strip_prefix('`').and_then(|rest| rest.split_once('`')) else {
        return title;
    };
    let is_file = label.contains('.') || label.contains('/');
    [": ", " - ", " — ", "; "]
        .iter()
        .find_map(|separator| rest.strip_prefix(separator))
        .filter(|_| is_file)
        .unwrap_or(title)
}

/// "Takes the whole transcript", "Add tests once it works", "Doesn't handle y": a description of something named elsewhere,
/// or advice.
fn lacks_subject(statement: &str) -> bool {
    let first = statement.split_whitespace().next().unwrap_or_default();
    let opens_with_verb = verb(first).is_some_and(|(base, form)| match form {
        Form::Third | Form::Base => true,
        // "Added x" reports a change; "Had content on the branch" is about something named elsewhere.
        Form::Past => !is_change_verb(base),
        Form::Gerund => false,
    });
    opens_with_verb || NEGATIONS.contains(first.replace('’', "'").to_lowercase().as_str())
}

static NEGATIONS: Phrases =
    Phrases::new("doesn't|don't|isn't|aren't|can't|cannot|won't|didn't|wasn't|does|is|are|not|no");

/// "This PR fixes x" names its subject; "This fixes x" does not.
fn named_subject(statement: &str) -> Option<String> {
    let rest = statement.strip_prefix("This ")?;
    let noun = rest.split_whitespace().next()?;
    SUBJECTS
        .contains(noun.to_lowercase().as_str())
        .then(|| format!("The {rest}"))
}

static SUBJECTS: Phrases = Phrases::new(
    "pr|change|commit|fix|branch|release|migration|refactor|feature|bug|test|function|module|package",
);

/// Reports whether a sentence speaks of its speaker.
pub(crate) fn is_first_person(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let word = word
            .trim_matches(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
            .replace('’', "'");
        matches!(word.as_str(), "I" | "I'm" | "I've" | "I'd" | "I'll" | "my" | "My")
    })
}

/// "Fix: `load` retries" is about `load`; "`load`: retries twice" keeps its label.
fn without_vague_label(statement: &str) -> &str {
    const MAX_LABEL_WORDS: usize = 2;
    let Some((label, rest)) = statement.split_once(": ") else {
        return statement;
    };
    let is_vague = label.split_whitespace().count() <= MAX_LABEL_WORDS && count_names(label) == 0;
    if is_vague
        && (is_statement(rest) || opens_with_change(rest) || SectionRole::of(label) != SectionRole::Other)
    {
        rest
    } else {
        statement
    }
}
