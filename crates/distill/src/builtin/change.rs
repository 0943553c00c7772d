//! What the turn changed: one memory for the whole, and one more for each file or commit that has its own story.

use super::claim::Says;
use super::complaint;
use super::draft::Draft;
use super::edits::{self, Edit, Fate};
use super::evidence::Evidence;
use super::paths;
use super::reading::{Claim, Reading};
use super::request::{Intent, Request};
use super::results;
use super::section::Section;
use super::story;
use super::text::{code, count_names, has_any, sentence_case, stems};
use super::title::{fit, force, statement};
use super::type_of;

/// What the drafts of a turn are made of.
#[derive(Clone, Copy)]
pub(super) struct Material<'a> {
    /// What was asked.
    pub(super) request: Option<&'a Request>,
    /// What was done.
    pub(super) evidence: &'a Evidence,
    /// What was said.
    pub(super) reading: &'a Reading,
}

/// The memories of what was changed; none when nothing was.
pub(super) fn drafts(material: Material<'_>) -> Vec<Draft> {
    let files = material.evidence.modified();
    if files.is_empty() {
        return Vec::new();
    }
    let edits: Vec<&Edit> = material
        .evidence
        .kept()
        .filter(|edit| files.contains(&edit.path) && edit.agent_id.is_none())
        .collect();
    let step = edits.last().map_or(0, |edit| edit.step);
    let said: String = material
        .reading
        .final_claims()
        .take(12)
        .map(|claim| claim.sentence.as_str())
        .collect::<Vec<_>>()
        .join(" ");
    let kind = type_of::of_turn(material.request, &said, &files);
    let best = best_title(material, &files);
    let title = best.unwrap_or_else(|| fallback_title(material, &edits, &files));
    let mut main = Draft::new(kind, title, step, 100);
    main.subtitle = material.request.map(|request| request.line.clone());
    main.narrative = story::of_change(material.reading, &main.title);
    main.files_read = material.evidence.reads.iter().take(12).cloned().collect();
    main.evidence = edits.iter().filter_map(|edit| edit.id.clone()).collect();
    let mut out = others(material, &edits, &main.title, &files);
    let told: Vec<String> = out.iter().map(|draft| draft.title.clone()).collect();
    main.facts = facts(material, &edits, &told);
    main.files_modified = files;
    out.insert(0, main);
    out
}

/// The best statement of what is true since the change: commits and the last message first, then earlier words.
fn best_title(material: Material<'_>, files: &[String]) -> Option<String> {
    let wanted = stems(material.request.map_or("", |request| request.line.as_str()));
    let mut best: Option<(i32, String)> = None;
    let mut offer = |score: i32, title: String| {
        if best.as_ref().is_none_or(|(kept, _)| score > *kept) {
            best = Some((score, title));
        }
    };
    for (_, subject) in &material.evidence.commits {
        if let Some((strength, title)) = from_commit(subject) {
            offer(strength, title);
        }
    }
    for claim in &material.reading.claims {
        if let Some((score, title)) = score(claim, &wanted, files) {
            offer(score, title);
        }
    }
    if let Some(righted) = righted_request(material) {
        offer(58, righted);
    }
    best.filter(|(score, _)| *score >= 45).map(|(_, title)| title)
}

/// How well a claim serves as the title of the whole turn.
fn score(claim: &Claim, wanted: &[String], files: &[String]) -> Option<(i32, String)> {
    if !matches!(claim.says, Says::Done | Says::Now) || claim.hedged {
        return None;
    }
    let made = claim.statement.as_ref()?;
    let title = fit(&made.text)?;
    let lower = title.to_lowercase();
    let names = i32::try_from(count_names(&title)).unwrap_or(0).min(3);
    let mut score = i32::from(made.strength) + names * 4;
    score += asked_for(&title, wanted);
    if !claim.last {
        score -= 14;
    }
    if claim.bullet {
        score -= 4;
    }
    if is_about_tests(&lower) && files.iter().any(|file| !paths::is_test(file)) {
        score -= 30;
    }
    if has_any(&lower, CHORES) {
        score -= 30;
    }
    if has_any(&lower, VAGUE) {
        score -= 18;
    }
    if title.split_whitespace().count() < 4 {
        score -= 15;
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

fn is_about_tests(lower: &str) -> bool {
    has_any(
        lower,
        "test|tests|test case|test suite|test file|coverage|assertion|assertions",
    )
}

const CHORES: &str = "\
    import|imports|patch|saved|cleaned up|output|todo|script|reproduction|json file|documentation|\
    docstring|comment|comments";
const VAGUE: &str = "\
    the bug|the issue|bug|issue|the fix|two changes|three changes|following|edge cases|everything|\
    existing functionality|as expected|works|work";

/// "fix(auth): handle empty tokens" -> "Handled empty tokens", when it says enough.
fn from_commit(subject: &str) -> Option<(i32, String)> {
    let words = match subject.split_once(": ") {
        Some((prefix, rest)) if prefix.len() < 30 && !prefix.contains(' ') => rest,
        _ => subject,
    };
    let made = statement(words, None)?;
    let title = fit(&made.text)?;
    (title.split_whitespace().count() >= 3).then(|| (i32::from(made.strength).max(60) + 22, title))
}

/// The complaint of the request, turned around, when the agent says that it is fixed.
fn righted_request(material: Material<'_>) -> Option<String> {
    let request = material.request?;
    if request.intent != Intent::Fix {
        return None;
    }
    let claimed = material
        .reading
        .final_claims()
        .any(|claim| matches!(claim.says, Says::Done | Says::Now | Says::Check));
    let doubted = material
        .reading
        .final_claims()
        .any(|claim| claim.says == Says::Failed);
    let complaint = request.subject.as_deref().unwrap_or(&request.line);
    if !claimed || doubted {
        return None;
    }
    let complaint = complaint.trim_start_matches("Bug: ").trim_start_matches("[Bug] ");
    fit(&sentence_case(&complaint::righted(complaint)?))
}

/// When nobody said it well: the new names, the one changed line, or the request.
fn fallback_title(material: Material<'_>, edits: &[&Edit], files: &[String]) -> String {
    for edit in edits.iter().filter(|edit| !paths::is_test(&edit.path)) {
        let symbols = edits::new_symbols(edit);
        if let [first, rest @ ..] = symbols.as_slice() {
            let more = rest
                .first()
                .map(|second| format!(" and {}", code(second)))
                .unwrap_or_default();
            return force(&format!("{} defines {}{more}", code(&edit.path), code(first)));
        }
    }
    if let Some(fact) = edits
        .iter()
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
        Some(request) => force(&format!("{list} changed for: {}", request.line)),
        None => force(&format!("{list} changed")),
    }
}

/// Facts of the whole change: what was said last, then what the edits show, then how the runs ended.
fn facts(material: Material<'_>, edits: &[&Edit], told: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let final_word = material.reading.last_message.is_some();
    for claim in material
        .reading
        .claims
        .iter()
        .filter(|claim| claim.last == final_word)
    {
        let chore = has_any(
            &claim.sentence.to_lowercase(),
            "patch|saved to|cleaned up|output file",
        );
        let states = matches!(claim.says, Says::Done | Says::Now)
            || (claim.section == Section::Change && claim.says == Says::Decided);
        if states
            && !claim.hedged
            && !chore
            && let Some(fact) = claim.as_fact().filter(|fact| !told.contains(fact))
        {
            out.push(fact);
        }
    }
    out.truncate(5);
    out.extend(results::facts(material.evidence));
    let quoted = out
        .iter()
        .any(|fact| fact.contains(" became ") || fact.contains("changed from"));
    if !quoted {
        out.extend(
            edits
                .iter()
                .filter(|edit| edit.fate == Fate::Kept && !paths::is_test(&edit.path))
                .filter_map(|edit| edits::as_fact(edit))
                .take(2),
        );
    }
    for edit in edits
        .iter()
        .filter(|edit| edit.fate == Fate::Kept && !paths::is_test(&edit.path))
    {
        let symbols: Vec<String> = edits::new_symbols(edit)
            .iter()
            .take(4)
            .map(|name| code(name))
            .collect();
        let unsaid =
            !symbols.is_empty() && !out.iter().any(|fact| fact.contains(symbols[0].trim_matches('`')));
        if unsaid {
            out.push(format!("{} defines {}", code(&edit.path), symbols.join(", ")));
        }
    }
    out
}

/// One more memory per file that has its own statement, and per commit after the first.
fn others(material: Material<'_>, edits: &[&Edit], main: &str, files: &[String]) -> Vec<Draft> {
    let mut out: Vec<Draft> = Vec::new();
    if material.evidence.commits.len() > 1 {
        for (step, subject) in &material.evidence.commits {
            if let Some((_, title)) = from_commit(subject) {
                let mut draft = Draft::new(type_of::of_words(subject), title, *step, 80);
                let since = out.last().map_or(0, |before: &Draft| before.step);
                draft.take_edits(
                    edits
                        .iter()
                        .filter(|edit| edit.step <= *step && edit.step >= since)
                        .copied(),
                );
                draft.facts.push(format!("Committed as {}", code(subject)));
                out.push(draft);
            }
        }
    }
    let code_files: Vec<&String> = files
        .iter()
        .filter(|file| !paths::is_test(file) && !paths::is_prose_or_settings(file))
        .collect();
    if code_files.len() < 2 {
        return out;
    }
    for file in code_files {
        let about: Vec<&Claim> = material
            .reading
            .claims
            .iter()
            .filter(|claim| concerns(claim, file))
            .collect();
        let best = about
            .iter()
            .filter(|claim| matches!(claim.says, Says::Done | Says::Now) && !claim.hedged)
            .filter_map(|claim| {
                Some((
                    claim.statement.as_ref()?.strength + if claim.last { 10 } else { 0 },
                    fit(&claim.statement.as_ref()?.text)?,
                ))
            })
            .filter(|(_, title)| {
                title != main
                    && !has_any(&title.to_lowercase(), CHORES)
                    && !is_about_tests(&title.to_lowercase())
            })
            .max_by_key(|(strength, _)| *strength);
        let Some((strength, title)) = best.filter(|(strength, _)| *strength >= 50) else {
            continue;
        };
        let kind = type_of::of_words(&title);
        let mut draft = Draft::new(kind, title, 0, strength.min(85));
        draft.take_edits(edits.iter().filter(|edit| edit.path == *file).copied());
        draft.facts = about.iter().filter_map(|claim| claim.as_fact()).collect();
        out.push(draft);
    }
    out
}

/// Whether a claim is about a file: by its name or by the heading above.
fn concerns(claim: &Claim, file: &str) -> bool {
    let name = paths::name(file);
    let named = |text: &str| {
        text.contains(file)
            || (name.len() > 4 && text.contains(name) && name != "mod.rs" && name != "__init__.py")
    };
    named(&claim.sentence) || claim.context.as_deref().is_some_and(named)
}

impl Draft {
    fn take_edits<'a>(&mut self, edits: impl Iterator<Item = &'a Edit>) {
        for edit in edits {
            self.step = self.step.max(edit.step);
            if !self.files_modified.contains(&edit.path) {
                self.files_modified.push(edit.path.clone());
            }
            self.evidence.extend(edit.id.clone());
        }
    }
}
