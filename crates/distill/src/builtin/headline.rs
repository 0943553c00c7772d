//! The title of what a turn changed: the best statement that commits, the last message and the request offer.

use super::change::Material;
use super::claim::Says;
use super::commit;
use super::complaint;
use super::edits::{self, Edit, Fate};
use super::entry::is_verb;
use super::likeness::stems;
use super::opening::strip_speaker;
use super::paths;
use super::reading::Claim;
use super::request::Intent;
use super::rewrite::without_now;
use super::section::Section;
use super::sentence::sentences;
use super::state::{self, Tense};
use super::symbols;
use super::text::{
    clip, code, count_names, has_any, lower_first, sentence_case, starts_with_any, without_code,
};
use super::tidy::tidy;
use super::title::{MAX_TITLE, fit, force, statement};
use super::verbs::{self, Form};

/// The best statement of what is true since the change: commits and the last message first, then earlier words.
pub(super) fn best(material: Material<'_>, files: &[String]) -> Option<String> {
    let wanted = stems(material.request.map_or("", |request| request.line.as_str()));
    let mut best: Option<(i32, String)> = None;
    let mut offer = |score: i32, title: String| {
        if best.as_ref().is_none_or(|(kept, _)| score > *kept) {
            best = Some((score, title));
        }
    };
    for commit in &material.evidence.commits {
        if let Some((strength, title)) = commit::title(&commit.subject) {
            offer(strength, title);
        }
    }
    for claim in material.reading.final_claims() {
        if let Some((score, title)) = score(claim, &wanted, files) {
            offer(score, title);
        }
    }
    if let Some(title) = opening(material, files) {
        offer(OPENING, title);
    }
    for (score, title) in from_request(material) {
        offer(score, title);
    }
    if best.is_none() {
        // Nothing was said at the end: what was said on the way is the next best.
        for (score, title) in material
            .reading
            .claims
            .iter()
            .filter_map(|claim| score(claim, &wanted, files))
        {
            if best.as_ref().is_none_or(|(kept, _)| score >= *kept) {
                best = Some((score, title));
            }
        }
    }
    best.filter(|(score, _)| *score >= 45).map(|(_, title)| title)
}

/// Better than any request put right, and than most statements of details further down.
const OPENING: i32 = 100;

/// The first plain sentence of the last message that says how things are now, before any report of single changes.
fn opening(material: Material<'_>, files: &[String]) -> Option<String> {
    let tests_asked = material
        .request
        .is_some_and(|request| is_about_tests(&request.line.to_lowercase()));
    let mut first: Option<String> = None;
    for claim in material.reading.final_claims() {
        if claim.bullet {
            break;
        }
        let said = without_now(strip_speaker(&tidy(&claim.sentence)));
        let state = if first.is_some() && is_about_the_same(&said) {
            Some(said)
        } else {
            state::new_state(&said)
        };
        let reported = claim.says == Says::Done && !claim.is_vague();
        let by_fix = claim.says == Says::Done && said_by_fix(&claim.sentence);
        if reported && !by_fix {
            break;
        }
        if !(by_fix || matches!(claim.says, Says::Found | Says::Now))
            || claim.hedged
            || !matches!(claim.section, Section::Other | Section::Change)
        {
            continue;
        }
        let Some(state) = state else {
            continue;
        };
        let Some(title) = fit(&sentence_case(&state)) else {
            continue;
        };
        let lower = without_code(&title).to_lowercase();
        let aside = is_about_tests(&lower)
            && !tests_asked
            && first.is_none()
            && files.iter().any(|file| !paths::is_test(file));
        if aside || (is_generic(&lower) && first.is_none()) || has_any(&lower, EMPTY) {
            continue;
        }
        match &first {
            // "Mails are sent once" alone leaves open how: the next sentence tells.
            Some(short) => return fit(&format!("{short}: {}", lower_first(&state))).or(first),
            None if title.split_whitespace().count() < 6 && count_names(&title) == 0 => first = Some(title),
            None => return Some(title),
        }
    }
    first.filter(|title| title.split_whitespace().count() > 2)
}

/// "It follows the system": about what the short sentence before is about.
fn is_about_the_same(sentence: &str) -> bool {
    sentence.starts_with("It ") && state::tense(sentence) == Some(Tense::Present)
}

/// "I fixed the race: …" tells after the colon what is so.
fn said_by_fix(sentence: &str) -> bool {
    starts_with_any(
        &strip_speaker(sentence).to_lowercase(),
        "fixed |solved |resolved ",
    ) && sentence.contains(": ")
}

const EMPTY: &str = "the bug|the issue|the fix|the problem|the change|the changes|above|below|following|everything|as expected|the task|ready";

/// How well a claim serves as the title of the whole turn.
fn score(claim: &Claim, wanted: &[String], files: &[String]) -> Option<(i32, String)> {
    if !matches!(claim.says, Says::Done | Says::Now) || claim.hedged {
        return None;
    }
    let made = claim.statement.as_ref()?;
    let title = fit(&made.text)?;
    // The names of code are no words: `json_script` is no script.
    let lower = without_code(&title).to_lowercase();
    let names = i32::try_from(count_names(&title)).unwrap_or(0).min(3);
    let mut score = i32::from(made.strength) + names * 4;
    score += asked_for(&title, wanted);
    if names == 0 {
        score -= 12;
    }
    if is_generic(&title.to_lowercase()) {
        score -= 16;
    }
    if claim.bullet {
        score -= 4;
    }
    if (is_about_tests(&lower) || names_tests_only(&title)) && files.iter().any(|file| !paths::is_test(file))
    {
        score -= 30;
    }
    if is_chore(&lower) {
        score -= 30;
    }
    if has_any(&lower, VAGUE) {
        score -= 18;
    }
    if title.split_whitespace().count() < 5 {
        score -= 15;
    }
    if title.ends_with('…') {
        score -= 10;
    }
    if claim.section == Section::Check {
        score -= 14;
    }
    // "Fits again with weights" has no subject, "Empty input - kept" no verb.
    let first = title.split_whitespace().next().unwrap_or_default();
    if verbs::verb(first).is_some_and(|(_, form)| form == Form::Third)
        || !title.split_whitespace().any(is_verb)
    {
        score -= 24;
    }
    if title.ends_with(':') || title.contains("e.g") {
        score -= 12;
    }
    Some((score, title))
}

/// Up to 20 for a title that speaks of what was asked.
fn asked_for(title: &str, wanted: &[String]) -> i32 {
    let words = stems(title);
    let shared = words
        .iter()
        .filter(|word| wanted.binary_search(word).is_ok())
        .count();
    let share = shared * 20 / words.len().max(1);
    i32::try_from(share).unwrap_or(0)
}

/// Whether a title is about tests.
pub(super) fn is_about_tests(lower: &str) -> bool {
    has_any(
        lower,
        "test|tests|test case|test suite|test file|coverage|assertion|assertions",
    )
}

/// "`tests/test_cart.py` has `test_rounds`": all that it names is tests.
fn names_tests_only(title: &str) -> bool {
    let mut names = title.split('`').skip(1).step_by(2).peekable();
    names.peek().is_some() && names.all(|name| paths::is_test(name) || name.starts_with("test_"))
}

const CHORES: &str = "\
    import|imports|patch|saved|cleaned up|output|todo|script|reproduction|json file|documentation|\
    docstring|comment|comments";
const VAGUE: &str = "\
    these|those|above|below|them|both conditions|both cases|key changes|changes to|involved|going forward|the bug|the issue|bug|issue|the fix|two changes|three changes|following|edge cases|everything|\
    existing functionality|as expected|works|work";

/// Whether a title says too little: "the fix involved three changes".
pub(super) fn is_vague(lower: &str) -> bool {
    has_any(lower, VAGUE) || is_generic(lower)
}

/// Whether a title tells of small works around a change, or of its own report.
pub(super) fn is_chore(lower: &str) -> bool {
    has_any(lower, CHORES)
}

/// What the request wanted, as something that is so, when the agent says that it is done.
fn from_request(material: Material<'_>) -> Vec<(i32, String)> {
    let Some(request) = material.request else {
        return Vec::new();
    };
    let claimed = material
        .reading
        .final_claims()
        .any(|claim| matches!(claim.says, Says::Done | Says::Now | Says::Check));
    let doubted = material
        .reading
        .final_claims()
        .any(|claim| claim.says == Says::Failed);
    if !claimed || doubted {
        return Vec::new();
    }
    let wish = request.subject.as_deref().unwrap_or(&request.line);
    let wish = ["Bug: ", "[Bug] ", "BUG: ", "Feature: ", "Please ", "please "]
        .iter()
        .fold(wish, |wish, opening| wish.trim_start_matches(opening));
    let wish = without_order(wish);
    let mut out = Vec::new();
    if request.intent == Intent::Fix {
        out.extend(
            complaint::righted(wish)
                .and_then(|righted| fit(&righted))
                .map(|title| (wished(&title, 80), title)),
        );
        if request.subject.is_some() {
            out.extend(fit(&format!("Fixed: {wish}")).map(|title| (48, title)));
        }
    }
    let first = sentences(wish).first().copied().unwrap_or_default();
    let ordered = statement(first, None).filter(|made| made.strength >= 50);
    let worth = if request.subject.is_some() { 72 } else { 62 };
    out.extend(
        ordered
            .and_then(|made| fit(&made.text))
            .map(|title| (wished(&title, worth), title)),
    );
    out
}

/// "X fails, fix it" -> "X fails".
fn without_order(wish: &str) -> &str {
    let wish = wish.trim_end_matches(['.', '!', ' ']);
    let Some((complaint, order)) = wish.rsplit_once([',', ';', '-', '–', '—', '.', ':']) else {
        return wish;
    };
    let order = order.trim().trim_start_matches("please ");
    let is_order = ["fix", "mend", "repair", "solve", "correct"].iter().any(|verb| {
        order.strip_prefix(verb).is_some_and(|object| {
            matches!(
                object,
                "" | " it" | " this" | " that" | " them" | " please" | " it please"
            )
        })
    });
    if is_order { complaint.trim_end() } else { wish }
}

/// A wish that names code makes a better title than one that does not.
fn wished(title: &str, worth: i32) -> i32 {
    worth
        - if title.split_whitespace().count() < 4 {
            14
        } else {
            0
        }
        - if count_names(title) == 0 { 10 } else { 0 }
        - if title.ends_with('…') { 10 } else { 0 }
}

/// Whether a statement is about "the method" without saying which.
fn is_generic(lower: &str) -> bool {
    let first = lower.split_whitespace().next().unwrap_or_default();
    let first = if matches!(first, "the" | "a" | "an") {
        lower.split_whitespace().nth(1).unwrap_or_default()
    } else {
        first
    };
    matches!(
        first,
        "method"
            | "function"
            | "class"
            | "logic"
            | "code"
            | "pattern"
            | "check"
            | "test"
            | "fix"
            | "file"
            | "condition"
            | "line"
            | "it"
            | "change"
            | "changes"
            | "solution"
            | "regex"
    )
}

/// When nobody said it well: the new names, the one changed line, or the request.
pub(super) fn fallback(material: Material<'_>, edits: &[&Edit], files: &[String]) -> String {
    let decided = material
        .reading
        .final_claims()
        .filter(|claim| claim.says == Says::Decided && !claim.hedged && count_names(&claim.sentence) > 0)
        .find_map(|claim| fit(&claim.statement.as_ref()?.text));
    if let Some(title) =
        decided.filter(|title| title.starts_with("Decided on ") || title.starts_with("Chose "))
    {
        return title;
    }
    for edit in edits.iter().filter(|edit| !paths::is_test(&edit.path)) {
        let symbols = symbols::standing(edit, edits);
        if let [first, rest @ ..] = symbols.as_slice() {
            let more = rest
                .first()
                .map(|second| format!(" and {}", code(second)))
                .unwrap_or_default();
            return force(&format!(
                "{} defines {}{more}",
                code(paths::name(&edit.path)),
                code(first)
            ));
        }
    }
    if let Some(fact) = edits
        .iter()
        .rev()
        .filter(|edit| edit.fate == Fate::Kept)
        .find_map(|edit| edits::as_fact(edit))
        .and_then(|fact| fit(&fact))
    {
        return fact;
    }
    let names: Vec<String> = files.iter().take(2).map(|file| code(paths::name(file))).collect();
    let more = files.len().saturating_sub(2);
    let list = if more > 0 {
        format!("{} and {more} more", names.join(", "))
    } else {
        names.join(" and ")
    };
    match material.request {
        Some(request) => clip(&format!("{list} changed for “{}”", request.line), MAX_TITLE),
        None => force(&format!("{list} changed")),
    }
}
