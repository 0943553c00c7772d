//! Memories from text written for a reader: final reports, commit bodies, pull requests.
//!
//! The text stays as it was written and in its order: a sentence that was chosen out of a report rarely stands by itself.
//! Only whole sections and sentences are left out: narration, verdicts, open work, and what a later report says again.

use backstory_model::ObservationType;

use super::draft::{Draft, Source, Statement, ended, is_first_person, is_generality, is_outcome};
use super::ending::Ending;
use super::select;
use super::title::{
    STATES, asked_question, changed_files, is_flow, is_state_of_work, listed_changes, tells_change,
    tells_changes, title, told_change,
};
use crate::Action;
use crate::english::{
    Phrases, Words, count_names, fit_title, has_cause, is_guess, is_statement, is_weighing,
    opens_with_change, opens_with_pronoun, outside_code, sentence_case, sentences,
};
use crate::episodes::Timeline;
use crate::prose::{Message, Point, SectionRole, Topic};

/// A longer sentence is a pasted text.
const MAX_STATEMENT: usize = 700;
/// A longer report is told by one memory per subject, in characters.
const LONG_REPORT: usize = 1_550;
/// A section of a long report with more text than this is a subject of its own, in characters.
const MIN_SUBJECT: usize = 240;
/// A list under a heading becomes statements of this length, in characters.
const MAX_JOINED: usize = 420;

/// Words of a check that does not pass at the end of a report.
static FAILING: Phrases =
    Phrases::new("tests failing|test failing|are failing|is failing|still fails|still fail|still failing");

/// A shorter title is a name without a statement.
const MIN_TITLE_WORDS: usize = 3;

/// The statements under one heading.
struct Part {
    heading: Option<String>,
    statements: Vec<Statement>,
}

impl Part {
    fn chars(&self) -> usize {
        self.statements
            .iter()
            .map(|statement| statement.text.chars().count() + 1)
            .sum()
    }

    /// Returns the statements with their heading: a list joins it as one statement, other text follows it.
    fn introduced(self) -> Vec<Statement> {
        let Some(heading) = self.heading else {
            return self.statements;
        };
        const SAID_PERCENT: u32 = 70;
        let is_said = |text: &str| Words::of(&heading).covered_by(&Words::of(text), SAID_PERCENT);
        let mut out: Vec<Statement> = Vec::new();
        for mut statement in self.statements {
            match out.last_mut() {
                Some(last)
                    if last.is_item
                        && statement.is_item
                        && last.text.chars().count() + statement.text.chars().count() <= MAX_JOINED =>
                {
                    last.text.truncate(last.text.trim_end_matches(['.', ';']).len());
                    last.text.push_str("; ");
                    last.text.push_str(&statement.text);
                    last.title = None;
                }
                Some(_) => out.push(statement),
                None => {
                    if !is_said(&statement.text) {
                        statement.text = format!("{heading}: {}", statement.text);
                    }
                    out.push(statement);
                }
            }
        }
        out
    }
}

/// Reports whether a section of a long report is a subject of its own: it is long, or its heading states something.
fn is_subject(part: &Part) -> bool {
    const MIN_CHARS: usize = 80;
    let states = |heading: &String| opens_with_change(heading) && heading.split_whitespace().count() > 3;
    part.heading
        .as_ref()
        .is_some_and(|heading| part.chars() >= MIN_SUBJECT || (states(heading) && part.chars() >= MIN_CHARS))
}

/// Drafts memories of a report: one for the whole, or one per heading if it is too long for one.
pub(super) fn drafts(message: &Message, at: usize, request: Option<&str>, ending: &Ending<'_>) -> Vec<Draft> {
    let mut out = Vec::new();
    let mut parts = parts(Source::Report, message, at, ending);
    for part in &mut parts {
        // A decision with its reason is a memory of its own.
        let decisions = part
            .statements
            .extract_if(.., |statement| is_decision(&statement.text));
        out.extend(decisions.filter_map(|statement| decision(at, statement)));
    }
    let changes = ending.changes_in_turn(at);
    // The answer to a question is about what the question names.
    let question = request.filter(|_| !changes).and_then(asked_question);
    // An answer is about one question.
    let is_long = changes && parts.iter().map(Part::chars).sum::<usize>() > LONG_REPORT;
    let mut whole = Part {
        heading: None,
        statements: Vec::new(),
    };
    let mut subjects = Vec::new();
    for part in parts {
        if is_long && is_subject(&part) {
            subjects.push(part);
            continue;
        }
        whole.statements.append(&mut part.introduced());
    }
    subjects.insert(0, whole);
    for (nth, part) in subjects.into_iter().enumerate() {
        if part.statements.is_empty() {
            continue;
        }
        let order = request.filter(|_| changes && nth == 0);
        let is_finding = |title: &String| {
            !title.starts_with("If ")
                && title.split_whitespace().count() >= MIN_TITLE_WORDS
                && (has_cause(title)
                    || !(is_state_of_work(title)
                        || is_flow(title)
                        || !changes && STATES.within(&title.to_lowercase())))
        };
        // "Fixed all three bugs. However, two tests are failing": the fix is not what the next session needs to know.
        let is_unfinished = message
            .points()
            .any(|point| FAILING.within(&point.text.to_lowercase()));
        let is_kept_claim = |title: &String| !(is_unfinished && title.starts_with("Fix"));
        let named = || {
            told_change(&part.statements)
                .or_else(|| listed_changes(&part.statements))
                .or_else(|| changed_files(ending, at, &part.statements))
        };
        let stated = title(part.heading.as_deref(), &part.statements, order, changes)
            .filter(|title| is_finding(title) && is_kept_claim(title))
            .or_else(|| named().filter(|_| nth == 0 && tells_changes(&part.statements)));
        let title = match question.as_ref().filter(|_| nth == 0) {
            Some(question) => stated
                .filter(|title| has_cause(title) && count_names(title) > 0)
                .or_else(|| Some(question.clone())),
            None => stated,
        };
        let Some(title) = title else { continue };
        let mut draft = Draft::new(Source::Report, at, title);
        // Text after a list is about the list: it stays behind it.
        let mut is_after_list = false;
        for statement in part.statements {
            is_after_list |= statement.is_item;
            draft.push(Statement {
                is_item: is_after_list,
                ..statement
            });
        }
        let is_kept = if changes {
            is_complete(&draft, ending)
        } else {
            explains(&draft, ending)
        };
        if is_kept {
            out.push(draft);
        }
    }
    if out.is_empty() && ending.is_short && changes {
        out.extend(plain_outcome(message, at, ending));
    }
    out
}

/// Returns the first statement of a report about changes that names nothing: "Cache misses are logged at level debug".
fn plain_outcome(message: &Message, at: usize, ending: &Ending<'_>) -> Option<Draft> {
    const MIN_WORDS: usize = 5;
    let is_plain = |point: &&Point| {
        is_memorable(point.role)
            && point.text.split_whitespace().count() >= MIN_WORDS
            && is_statement(&point.text)
            && !is_first_person(&point.text)
            && !opens_with_pronoun(&point.text)
            && is_outcome(&point.text)
            && !is_state_of_work(&point.text)
            && !UNRESOLVED.within(&point.text.to_lowercase())
            && !ending.is_stale(&point.text, at)
    };
    let point = message.points().find(is_plain)?;
    Some(Draft::new(Source::Report, at, fit_title(&point.text)?))
}

/// Reports whether a statement says what was decided and why.
fn is_decision(text: &str) -> bool {
    DECISIONS.starts(&text.to_lowercase()) && has_cause(text)
}

static DECISIONS: Phrases = Phrases::new(concat!(
    "decided|we decided|i decided|chose|we chose|i chose|opted|we opted|i opted|rejected|we rejected|i rejected|",
    "settled on|we settled on|i settled on|ruled out|we ruled out|i ruled out",
));

fn decision(at: usize, statement: Statement) -> Option<Draft> {
    let text = ["We ", "we ", "I ", "i "]
        .iter()
        .find_map(|subject| statement.text.strip_prefix(subject))
        .unwrap_or(&statement.text);
    let title = fit_title(text)?;
    let mut draft = Draft::new(Source::Report, at, title);
    draft.kind = Some(ObservationType::Decision);
    draft.push(Statement {
        text: sentence_case(text),
        is_item: false,
        ..statement
    });
    Some(draft)
}

/// Returns all statements of a message, in order.
pub(super) fn statements(
    source: Source,
    message: &Message,
    at: usize,
    ending: &Ending<'_>,
) -> Vec<Statement> {
    let mut out = Vec::new();
    for part in parts(source, message, at, ending) {
        out.append(&mut part.introduced());
    }
    out
}

fn parts(source: Source, message: &Message, at: usize, ending: &Ending<'_>) -> Vec<Part> {
    let mut out = Vec::new();
    for topic in message.topics.iter().filter(|topic| is_memorable(topic.role)) {
        let statements = kept(topic, source, at, ending);
        if statements.is_empty() {
            continue;
        }
        out.push(match &topic.heading {
            Some(heading) if is_file(heading) => Part {
                heading: None,
                statements: labeled(heading, statements),
            },
            heading => Part {
                heading: heading.clone(),
                statements,
            },
        });
    }
    out
}

const fn is_memorable(role: SectionRole) -> bool {
    match role {
        SectionRole::Open
        | SectionRole::Check
        | SectionRole::Request
        | SectionRole::Status
        | SectionRole::Praise
        | SectionRole::Choice
        | SectionRole::Source => false,
        SectionRole::Change
        | SectionRole::Other
        | SectionRole::Problem
        | SectionRole::Cause
        | SectionRole::Note
        | SectionRole::Decision => true,
    }
}

/// Returns the statements of a topic that still hold. A sentence that continues one that was left out goes with it, and a list
/// stays whole unless others say all of it: "three fixes" with two of them is worse than saying it twice.
fn kept(topic: &Topic, source: Source, at: usize, ending: &Ending<'_>) -> Vec<Statement> {
    let is_repeated = |point: &Point| source == Source::Report && ending.is_said_elsewhere(&point.text, at);
    let mut items = topic.points.iter().filter(|point| point.is_item);
    let is_list_repeated = items.all(is_repeated);
    let mut out = Vec::new();
    let mut is_kept = true;
    for point in &topic.points {
        let continues = !point.is_item && opens_with_pronoun(&point.text);
        let repeats = if point.is_item {
            is_list_repeated
        } else {
            is_repeated(point)
        };
        let text = readable(point, source).filter(|text| {
            (is_kept || !continues) && is_memorable(point.role) && !repeats && !ending.is_stale(text, at)
        });
        is_kept = text.is_some();
        out.extend(text.map(|text| Statement {
            text,
            title: point.title.clone().filter(|title| tells_reader(title, source)),
            is_item: point.is_item,
            role: point.role,
        }));
    }
    out
}

/// Returns the text of a point without the sentences that tell the next reader nothing: praise, guesses, words of the agent about
/// itself and to the user.
fn readable(point: &Point, source: Source) -> Option<String> {
    /// "Files: `a.rs`, `b.rs`" says nothing.
    const MIN_PROSE_WORDS: usize = 2;
    let text = &point.text;
    let prose = outside_code(text);
    let words = prose
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let is_told = text.chars().count() <= MAX_STATEMENT
        && words.count() >= MIN_PROSE_WORDS
        && !(is_generality(text) && count_names(text) == 0)
        && !FILE_LISTS.starts(&text.to_lowercase());
    if !is_told {
        return None;
    }
    let all = sentences(text);
    let told: Vec<&str> = all
        .iter()
        .copied()
        .filter(|sentence| tells_reader(sentence, source))
        .collect();
    if told.len() == all.len() {
        return Some(text.clone());
    }
    (!told.is_empty()).then(|| told.join(" "))
}

/// Reports whether a sentence tells the next reader something.
fn tells_reader(sentence: &str, source: Source) -> bool {
    let is_own = source == Source::Commit;
    (is_own || has_cause(sentence) || !(is_praise(sentence) || is_first_person(sentence)))
        && !TALK.starts(&sentence.to_lowercase())
        && (is_own || has_cause(sentence) || !PROCEEDINGS.starts(&sentence.to_lowercase()))
        && (is_own || !is_guess(sentence))
}

static FILE_LISTS: Phrases = Phrases::new(concat!(
    "files:|file:|files changed|files modified|modified files|changed files|files updated|files created|",
    "new files:|location:|locations:",
));

/// What was done about a review or a branch, not about the code.
static PROCEEDINGS: Phrases = Phrases::new(concat!(
    "replied to|reply to|responded to|commented on|all review|all threads|all comments|both threads|both comments|",
    "no outstanding|no unaddressed|pushed|committed|rebased|rebuild and|resolved the thread|draft pr|pr created|",
    "the pr|the branch|give it|current state|ready for",
));

/// Words to the user.
static TALK: Phrases = Phrases::new("please|if it still|if you|try|you");

/// Reports whether a sentence only praises the work.
pub(crate) fn is_praise(text: &str) -> bool {
    PRAISE.within(&text.to_lowercase()) && !has_cause(text)
}

static PRAISE: Phrases = Phrases::new(concat!(
    "well-structured|well structured|well-tested|well-written|well-designed|clean refactoring|is correct|are correct|",
    "is the right approach|clearly explains|looks correct|look correct|looks solid|good coverage|good test coverage|",
    "looks good|look good|nicely|no concerns",
));

/// Reports whether a heading is the name of a file.
fn is_file(heading: &str) -> bool {
    const MAX_EXTENSION: usize = 5;
    let name = heading.trim_matches('`');
    let has_extension = name
        .rsplit_once('.')
        .is_some_and(|(stem, extension)| !stem.is_empty() && (1..=MAX_EXTENSION).contains(&extension.len()));
    !name.contains(' ') && (name.contains('/') || has_extension)
}

/// Puts the file in front of each statement that stood under it.
fn labeled(heading: &str, statements: Vec<Statement>) -> Vec<Statement> {
    let name = heading.trim_matches('`');
    let short = name.rsplit('/').next().unwrap_or(name);
    let label = |text: String| format!("`{short}`: {text}");
    statements
        .into_iter()
        .map(|statement| Statement {
            text: label(statement.text),
            title: statement.title.map(label),
            ..statement
        })
        .collect()
}

/// Adds the reason that the agent gave on the way to a report about changes that gives none.
pub(super) fn add_reason(timeline: &Timeline<'_>, ending: &Ending<'_>, draft: &mut Draft) {
    /// A reason with fewer shared words is about something else.
    const MIN_SHARED: u32 = 4;
    let has_problem = draft.facts.iter().any(|text| text.starts_with(BEFORE));
    if has_problem || !ending.changes_in_turn(draft.at) || has_cause(&draft.text()) {
        return;
    }
    let known = Words::of(&draft.text());
    let is_reason = |text: &str| {
        has_cause(text)
            && count_names(text) > 0
            && text.chars().count() <= MAX_STATEMENT
            && is_statement(text)
            && !opens_with_pronoun(text)
            && !is_first_person(text)
            && !is_weighing(text)
            && !SOLUTIONS.within(&text.to_lowercase())
            && !ending.is_stale(text, draft.at)
            && Words::of(text).shared(&known) >= MIN_SHARED
    };
    let turn = ending.turn(draft.at);
    // What was said after the first change may be about the change itself.
    let first = turn.clone().find(|at| !ending.files(*at..at + 1).is_empty());
    let prose = (turn.start..first.unwrap_or(turn.start))
        .filter(|at| matches!(timeline.steps[*at].action(), Some(Action::Prose(_))));
    let reason = prose
        .flat_map(|at| timeline.message(at).points())
        .rfind(|point| is_reason(&point.text));
    if let Some(reason) = reason {
        draft
            .facts
            .insert(0, format!("{BEFORE}: {}", ended(reason.text.clone())));
    }
}

/// Puts the problem that a change solved in front of its memory while there is room.
pub(super) fn add_problem(host: &mut Draft, statements: Vec<Statement>) {
    let room = select::MAX_CHARS.saturating_sub(host.text().chars().count());
    let mut problem = String::new();
    for statement in statements {
        let line = ended(statement.text);
        if problem.chars().count() + line.chars().count() + BEFORE.len() > room {
            break;
        }
        problem.push(' ');
        problem.push_str(&line);
    }
    if !problem.is_empty() {
        host.facts.insert(0, format!("{BEFORE}:{problem}"));
    }
}

/// Words about what to do, not about the state that a change ended.
static SOLUTIONS: Phrases = Phrases::new("the fix|the solution|the approach|let me|let's|will|to fix");

/// The label of the state that a change ended.
pub(crate) const BEFORE: &str = "Before the change";

/// Reports whether an answer explains something: its title gives the reason, or its text does and names enough. Anything shorter
/// needs the conversation around it.
fn explains(draft: &Draft, ending: &Ending<'_>) -> bool {
    const MIN_CHARS: usize = 200;
    const MIN_NAMES: usize = 3;
    let body = format!("{} {}", draft.narrative.join(" "), draft.facts.join(" "));
    let is_told = body.chars().count() >= MIN_CHARS && count_names(&body) >= MIN_NAMES && has_cause(&body);
    is_told
        || draft.kind.is_some()
        || (has_cause(&draft.title) && (ending.is_short || count_names(&draft.title) > 0))
        || (ending.is_short && tells_change(&draft.title))
}

/// Reports whether a draft is worth a memory. A single sentence of a report is, if it gives its reason or describes a change:
/// then the changed files are its content.
fn is_complete(draft: &Draft, ending: &Ending<'_>) -> bool {
    /// A shorter text without a reason is a remark about the change, which the change itself shows.
    const MIN_CHARS: usize = 130;
    let body = format!("{} {}", draft.narrative.join(" "), draft.facts.join(" "));
    let is_remark = body.chars().count() < MIN_CHARS && !has_cause(&draft.text());
    // In a long session, a single sentence without a reason says too little beside its other memories.
    has_cause(&draft.title)
        || (ending.is_short
            && (describes_changes(draft)
                || (ending.changes_in_turn(draft.at) && !UNRESOLVED.within(&draft.title.to_lowercase()))))
        || (draft.has_content() && !is_remark)
}

/// Words of a sentence that reports a problem, not an outcome.
static UNRESOLVED: Phrases =
    Phrases::new("still|fail|fails|failed|failing|cannot|can't|could not|couldn't|not yet|broken");

/// Reports whether a draft describes completed changes.
pub(super) fn describes_changes(draft: &Draft) -> bool {
    let texts = || draft.narrative.iter().chain(&draft.facts);
    let changed = texts().filter(|text| tells_change(text)).count();
    tells_change(&draft.title) || (changed > 0 && changed * 4 >= texts().count())
}
