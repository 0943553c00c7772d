//! Titles of reports: the heading, the opening statement, the user's question or order, or the list of changes.
//!
//! A title is always taken from one text, never put together from words of several.

use super::draft::{
    CHORES, Statement, choose_title, is_first_person, is_outcome, opens_vaguely, title_of, without_code_label,
};
use super::ending::{Ending, mentioned};
use super::{change, kind::is_test_or_text};
use crate::english::{
    Form, MAX_TITLE, Phrases, Words, code, count_names, deferral, fit_title, has_cause, is_change_verb,
    is_question, is_statement, opens_with_change, sentence_case, sentences, strip_openers, verb,
};
use crate::prose::SectionRole;

/// Chooses the title of a part of a report.
pub(super) fn title(
    heading: Option<&str>,
    statements: &[Statement],
    request: Option<&str>,
    is_change: bool,
) -> Option<String> {
    let heading_title = heading
        .filter(|heading| opens_with_change(heading) || is_statement(heading))
        .and_then(title_of)
        .filter(|title| is_outcome(title))
        .or_else(|| headed(heading?, is_change));
    let opening = || {
        statements
            .iter()
            .take(2)
            .filter(|statement| !statement.is_item)
            .find_map(|statement| title_of(statement.title.as_deref()?))
            .filter(|title| is_outcome(title) && without_code_label(title).len() == title.len())
            .filter(|title| has_cause(title) || tells_new_state(title) || !opens_vaguely(title))
    };
    let says_most = |title: &String| has_cause(title) || tells_new_state(title);
    heading_title
        .or_else(|| change::planned(request))
        .or_else(|| {
            statements
                .iter()
                .take(3)
                .find_map(solved_problem)
                .filter(|_| is_change)
        })
        .or_else(|| opening().filter(says_most))
        .or_else(|| change::asked(request).filter(|title| is_specific(title)))
        .or_else(opening)
        .or_else(|| {
            let is_clear = |title: &String| {
                Words::of(title).weight() >= MIN_ORDER_WEIGHT && !DANGLING.within(&title.to_lowercase())
            };
            change::asked(request).filter(is_clear)
        })
        .or_else(|| {
            // One entry of a list does not stand for the others.
            let candidates: Vec<Statement> = match statements {
                [only] => vec![only.clone()],
                all => all.iter().filter(|one| !one.is_item).cloned().collect(),
            };
            choose_title(&candidates, heading).filter(|title| is_outcome(title))
        })
        .or_else(|| plain_opening(statements.first()?).filter(|_| is_change))
}

/// Returns the opening statement of a report about changes, if it says without any name what was done: "The cleanup logic has
/// been moved into the strategies".
fn plain_opening(statement: &Statement) -> Option<String> {
    let title = fit_title(sentences(statement.title.as_deref()?).first()?)?;
    let lower = title.to_lowercase();
    (!statement.is_item
        && DONE.within(&lower)
        && Words::of(&title).weight() >= MIN_ORDER_WEIGHT
        && is_outcome(&title)
        && !is_state_of_work(&title)
        && !lower.starts_with("the test")
        && !DANGLING.within(&lower))
    .then_some(title)
}

/// The passive voice of completed work.
static DONE: Phrases = Phrases::new("has been|have been|was|were|is now|are now");

/// An order with fewer words, such as "add the tests", does not name its subject.
const MIN_ORDER_WEIGHT: u32 = 4;

/// Names a section by its heading: "Bug 2: Branches are not deleted" of a report about changes was fixed.
fn headed(heading: &str, is_change: bool) -> Option<String> {
    const MIN_WORDS: usize = 3;
    /// A shorter heading is a noun.
    const MIN_UNLABELED: usize = 5;
    let label = heading.split_once(": ").filter(|(label, _)| {
        let mut words = label.split_whitespace();
        words
            .next()
            .is_some_and(|word| DEFECTS.contains(word.to_lowercase().as_str()))
            && words.all(|word| word.trim_matches('#').chars().all(|c| c.is_ascii_digit()))
    });
    let subject = label.map_or(heading, |(_, subject)| subject);
    let min_words = if label.is_some() { MIN_WORDS } else { MIN_UNLABELED };
    if subject.split_whitespace().count() < min_words || DANGLING.within(&subject.to_lowercase()) {
        return None;
    }
    match label {
        Some(_) if is_change => fit_title(&format!("Fixed: {subject}")),
        _ => fit_title(subject),
    }
}

static DEFECTS: Phrases = Phrases::new("bug|issue|problem|finding|defect|error");

/// "The issue was that `a` was lost between x and y", or "Issue: …", in a report about changes: this is what was fixed.
fn solved_problem(statement: &Statement) -> Option<String> {
    let text = strip_openers(sentences(&statement.text).first()?);
    let problem = match PROBLEM_OPENINGS.at_start(&text.to_lowercase()) {
        Some(opening) => text.get(opening.len()..)?.trim_start_matches([':', ' ', ',']),
        None if statement.role == SectionRole::Problem => text
            .split_once(": ")
            .filter(|(label, _)| SectionRole::of(label) == SectionRole::Problem)
            .map_or(&*text, |(_, problem)| problem),
        None => return None,
    };
    if !change::tells_problem(problem) {
        return None;
    }
    // "`a` ignored empty rows - it wrote a comma": the rest explains.
    let problem = [" - ", " — ", " – "]
        .iter()
        .find_map(|dash| problem.split_once(dash))
        .map_or(problem, |(problem, _)| problem);
    let title =
        fit_title(&format!("Fixed: {problem}")).filter(|title| title.ends_with(|c: char| c != ':'))?;
    let says = title.strip_prefix("Fixed: ")?;
    let opens_with_place = PLACES.contains(says.split(' ').next().unwrap_or_default());
    (count_names(says) > 0
        && is_statement(says)
        && !opens_with_place
        && !is_first_person(says)
        && !DANGLING.within(&says.to_lowercase()))
    .then_some(title)
}

/// "The issue was in `a`" does not say what it was, and "Previously, `a` was a string" may have been right.
static PLACES: Phrases = Phrases::new(
    "in|In|with|at|on|due|from|inside|not|two|three|a|an|Previously,|previously,|Currently,|currently,",
);

static PROBLEM_OPENINGS: Phrases = Phrases::new(concat!(
    "the issue was that|the issue was|the problem was that|the problem was|the bug was that|the bug was|",
    "the root cause was that|the root cause was|the cause was that|the issue is that|the problem is that|",
    "the bug is that|the root cause is that|root cause:|the bug occurred because|the failure was because|",
    "this happened because|the error occurred because|the test failed because|the tests failed because",
));

/// Returns the user's question as the title of its answer, if it names what it is about.
pub(crate) fn asked_question(request: &str) -> Option<String> {
    const MIN_WEIGHT: u32 = 5;
    let sentences = sentences(request);
    let question = sentences.iter().find(|sentence| is_question(sentence))?;
    let question = strip_openers(question);
    let lower = question.to_lowercase();
    let is_specific = count_names(&question) > 0 || Words::of(&question).weight() >= MIN_WEIGHT;
    (question.ends_with('?')
        && question.chars().count() <= MAX_TITLE
        && is_specific
        && QUESTION_WORDS.starts(&lower)
        && !REQUESTS.starts(&lower)
        && !DANGLING.within(&lower))
    .then(|| sentence_case(&question))
}

static QUESTION_WORDS: Phrases = Phrases::new(
    "what|why|how|where|when|which|who|does|do|did|is|are|was|were|has|have|can|could|will|would|should",
);

/// Questions that ask for work.
static REQUESTS: Phrases = Phrases::new(concat!(
    "can you|could you|can we|could we|should we|would you|will you|shall we|do you want|want to|are you|did you|",
    "have you|what do you think|wdyt|do you think",
));

/// Words that point to the message before.
static DANGLING: Phrases =
    Phrases::new("this|that|these|those|it|them|they|he|she|here|there|above|you|your|again|the other");

/// Reports whether several statements tell changes.
pub(super) fn tells_changes(statements: &[Statement]) -> bool {
    const MIN_CHANGES: usize = 2;
    let changes = statements
        .iter()
        .filter(|statement| tells_change(&statement.text));
    changes.count() >= MIN_CHANGES
}

/// Returns the first sentence inside a report that tells a change with its effect or reason: "`load` now skips empty rows".
pub(super) fn told_change(statements: &[Statement]) -> Option<String> {
    statements
        .iter()
        .filter(|statement| deferral(&statement.text).is_none())
        .flat_map(|statement| sentences(&statement.text))
        .map(without_code_label)
        .filter_map(title_of)
        .find(|title| {
            let lower = title.to_lowercase();
            (tells_new_state(title) || has_cause(title))
                && is_outcome(title)
                && !opens_vaguely(title)
                && !is_state_of_work(title)
                && !STATE_LABELS.starts(&lower)
                && !CHORES.within(&lower)
        })
}

/// Names a list of changes by as many of them as fit, and says how many there are besides.
pub(super) fn listed_changes(statements: &[Statement]) -> Option<String> {
    const MAX_CHARS: usize = 92;
    let changes = || {
        statements
            .iter()
            .filter(|one| tells_change(&one.text) && deferral(&one.text).is_none())
    };
    let mut titles = changes()
        .filter_map(|one| entry_title(one.title.as_ref().unwrap_or(&one.text)))
        .filter(|title| {
            let lower = title.to_lowercase();
            title.chars().count() <= MAX_CHARS
                && title.contains(' ')
                && tells_change(title)
                && is_outcome(title)
                && !STATE_LABELS.starts(&lower)
                && !CHORES.within(&lower)
        });
    let mut title = titles.next()?;
    let mut left = changes().count() - 1;
    for next in titles {
        if title.chars().count() + next.chars().count() + RESERVED > MAX_TITLE {
            break;
        }
        title = format!("{title}; {next}");
        left -= 1;
    }
    Some(match left {
        0 => title,
        1 => format!("{title}{ONE_MORE}"),
        count => format!("{title}, and {count}{MORE}"),
    })
}

/// Returns an entry of a list of changes in short: its label if that tells a change, or the entry itself if it names something.
fn entry_title(entry: &str) -> Option<String> {
    let label = entry
        .split_once(": ")
        .map(|(label, _)| label.split(" (").next().unwrap_or(label));
    label
        .filter(|label| opens_with_change(label) && label.split_whitespace().count() > 1)
        .and_then(fit_title)
        .or_else(|| fit_title(entry).filter(|title| count_names(title) > 0))
}

/// The room for the number of changes that are not named, in characters.
const RESERVED: usize = 24;

/// One side of a comparison does not stand for the change.
static STATE_LABELS: Phrases = Phrases::new("after:|before:|now:|old:|new:|was:");

const ONE_MORE: &str = ", and another change";
const MORE: &str = " more changes";

/// Reports whether a title only names the list below it.
pub(super) fn names_list(title: &str) -> bool {
    title.starts_with(NAMED_BY_FILES) || title.ends_with(ONE_MORE) || title.ends_with(MORE)
}

/// The opening of a title that names changed files.
pub(crate) const NAMED_BY_FILES: &str = "Changes to ";

/// Names a report by the changed files that it names, or by those of its turn: nothing else stands for a list of changes.
pub(super) fn changed_files(ending: &Ending<'_>, at: usize, statements: &[Statement]) -> Option<String> {
    const MAX_FILES: usize = 3;
    let texts: Vec<&str> = statements.iter().map(|one| one.text.as_str()).collect();
    let mut files = mentioned(&ending.files(0..at + 1), &texts.join(" "));
    if files.is_empty() {
        files = ending.files(ending.turn(at));
    }
    files.sort_by_key(|file| is_test_or_text(file));
    let name = |file: &str| file.rsplit('/').next().unwrap_or(file).to_owned();
    let is_unique = |file: &&str| files.iter().filter(|other| name(other) == name(file)).count() == 1;
    let names: Vec<String> = files
        .iter()
        .take(MAX_FILES)
        .map(|file| {
            if is_unique(file) {
                code(&name(file))
            } else {
                code(file)
            }
        })
        .collect();
    let (last, others) = names.split_last()?;
    let list = if others.is_empty() {
        last.clone()
    } else if files.len() > MAX_FILES {
        format!(
            "{}, {last} and {} more",
            others.join(", "),
            files.len() - MAX_FILES
        )
    } else {
        format!("{} and {last}", others.join(", "))
    };
    Some(format!("{NAMED_BY_FILES}{list}"))
}

/// The state of a branch or of the work at one moment is no finding.
pub(super) static STATES: Phrases = Phrases::new(concat!(
    "clean|pushed|unpushed|uncommitted|merged|mergeable|up to date|ready|in sync|waiting|running|",
    "in progress|done|passes|passing|green",
));

/// "The branch now has no open issues" tells the state of the work, with or without changes.
pub(super) fn is_state_of_work(text: &str) -> bool {
    STATE_SUBJECTS.starts(&text.to_lowercase()) && count_names(text) == 0
}

/// "User commits → the hook fires" is a line of a diagram; "Renamed `a` → `b`" is a statement.
pub(super) fn is_flow(title: &str) -> bool {
    title.contains(" → ") && !opens_with_change(title)
}

static STATE_SUBJECTS: Phrases = Phrases::new(
    "the branch|this branch|the pr|this pr|the pull request|the working tree|everything|all changes|all tests|all of",
);

/// "The cache now holds 512 entries" says by itself what changed; "The check is now in one place" does not.
fn tells_new_state(title: &str) -> bool {
    let is_exact = count_names(title) > 0 || title.contains(|c: char| c.is_ascii_digit());
    NOW.within(&title.to_lowercase()) && is_exact
}

/// Reports whether a request names the change as well as a report could.
fn is_specific(title: &str) -> bool {
    const MIN_WEIGHT: u32 = 6;
    count_names(title) > 0 || title.starts_with("Fix: ") || Words::of(title).weight() >= MIN_WEIGHT
}

/// "Now uses x", "compares y now": the state after a change.
static NOW: Phrases = Phrases::new("now");

/// Reports whether a statement tells a completed change.
pub(super) fn tells_change(text: &str) -> bool {
    /// "`a.rs`: `load()` — Added a flag" has two.
    const MAX_LABELS: usize = 2;
    let after_labels = text
        .match_indices([':', '—', '-'])
        .filter_map(|(at, label)| text[at + label.len()..].strip_prefix(' '));
    std::iter::once(text)
        .chain(after_labels.take(MAX_LABELS))
        .any(|text| {
            let opening = verb(text.split_whitespace().next().unwrap_or_default());
            opening.is_some_and(|(base, form)| is_change_verb(base) || form == Form::Past)
        })
        || NOW.within(&text.to_lowercase())
        || text.starts_with("The fix ")
}
