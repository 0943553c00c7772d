//! What the turn changed: one memory for the whole, and one more for each file or commit that has its own story.

use super::claim::Says;
use backstory_model::ObservationType;

use super::commit;
use super::draft::Draft;
use super::edits::{self, Edit, Fate};
use super::evidence::Evidence;
use super::headline;
use super::insight;
use super::paths;
use super::reading::{Claim, Reading};
use super::request::Request;
use super::results;
use super::section::Section;
use super::state;
use super::story;
use super::symbols;
use super::text::{code, count_names, has_any, without_code};
use super::title::fit;
use super::type_of;
use super::undo;

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
    let kind = type_of::of_turn(material.request, &said, &files, tells_of_trouble(material));
    let best = headline::best(material, &files);
    let title = best.unwrap_or_else(|| headline::fallback(material, &edits, &files));
    let mut main = Draft::new(kind, title, step, 100);
    main.subtitle = material.request.map(|request| request.line.clone());
    main.narrative = story::of_change(material.reading, &main.title);
    main.files_read = material.evidence.reads.iter().take(12).cloned().collect();
    main.evidence = edits.iter().filter_map(|edit| edit.id.clone()).collect();
    let mut out = others(material, &edits, &main, &files);
    let told: Vec<String> = out.iter().map(|draft| draft.title.clone()).collect();
    main.facts = facts(material, &edits, &told);
    main.files_modified = files;
    out.insert(0, main);
    out
}

/// Whether the last message tells of something that was wrong: by a cause, or by opening in the past.
fn tells_of_trouble(material: Material<'_>) -> bool {
    let caused = material
        .reading
        .final_claims()
        .any(|claim| claim.says == Says::Cause && !claim.hedged);
    let opening = material
        .reading
        .final_claims()
        .find(|claim| claim.says != Says::Check);
    caused
        || opening.is_some_and(|claim| {
            let lower = claim.sentence.to_lowercase();
            let over = has_any(&lower, "is gone|are gone|no more|no longer");
            over || (claim.says == Says::Found && state::tense(&claim.sentence) == Some(state::Tense::Past))
        })
}

/// Facts of the whole change: what was said last, then what the edits show, then how the runs ended.
fn facts(material: Material<'_>, edits: &[&Edit], told: &[String]) -> Vec<String> {
    let about_a_file = |claim: &Claim| {
        claim.says == Says::Found && claim.bullet && edits.iter().any(|edit| concerns(claim, &edit.path))
    };
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
            || about_a_file(claim)
            || (claim.section == Section::Change && claim.says == Says::Decided);
        if states
            && !claim.hedged
            && !chore
            && !claim.is_vague()
            && let Some(fact) = claim.as_fact().filter(|fact| !told.contains(fact))
        {
            out.push(fact);
        }
    }
    out.extend(also_said(material, about_a_file));
    // Imports and tests are the least of a change.
    out.sort_by_key(|fact| has_any(&fact.to_lowercase(), "import|imports|test|tests"));
    out.truncate(5);
    out.extend(results::facts(material.evidence));
    out.extend(
        material
            .evidence
            .pull_requests
            .iter()
            .map(|address| format!("Opened pull request {address}")),
    );
    if let [commit] = material.evidence.commits.as_slice() {
        out.push(commit.as_fact());
    }
    let quoted = out
        .iter()
        .any(|fact| fact.contains(" became ") || fact.contains("changed from"));
    if !quoted {
        out.extend(
            edits
                .iter()
                .filter(|edit| edit.fate == Fate::Kept && !paths::is_test(&edit.path))
                .filter(|edit| !undo::is_reworked(edit, edits))
                .filter_map(|edit| edits::as_fact(edit))
                .take(2),
        );
    }
    for edit in edits
        .iter()
        .filter(|edit| edit.fate == Fate::Kept && !paths::is_test(&edit.path))
    {
        let symbols: Vec<String> = symbols::standing(edit, edits)
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

/// What else is said at the end: exceptions, reasons, how it works now; with a name in it, or as a plain sentence.
fn also_said(material: Material<'_>, about_a_file: impl Fn(&Claim) -> bool) -> Vec<String> {
    let warned = insight::warning(material).is_some();
    let told_plainly = |claim: &Claim| {
        claim.says == Says::Found
            && claim.section == Section::Other
            && !claim.bullet
            && state::tense(&claim.sentence).is_some()
    };
    material
        .reading
        .final_claims()
        .filter(|claim| matches!(claim.says, Says::Found | Says::Problem))
        .filter(|claim| !(claim.hedged || about_a_file(claim) || (warned && claim.warns)))
        .filter_map(|claim| Some((claim, claim.as_fact()?)))
        .filter(|(claim, fact)| count_names(fact) > 0 || told_plainly(claim))
        .map(|(_, fact)| fact)
        .filter(|fact| fact.split_whitespace().count() > 4)
        .take(4)
        .collect()
}

/// One more memory per file that has its own statement, and per commit after the first.
fn others(material: Material<'_>, edits: &[&Edit], main: &Draft, files: &[String]) -> Vec<Draft> {
    let mut out: Vec<Draft> = Vec::new();
    if material.evidence.commits.len() > 1 {
        for commit in &material.evidence.commits {
            let step = &commit.step;
            if let Some((_, title)) = commit::title(&commit.subject) {
                let mut draft = Draft::new(type_of::of_words(&commit.subject), title, *step, 80);
                let since = out.last().map_or(0, |before: &Draft| before.step);
                draft.take_edits(
                    edits
                        .iter()
                        .filter(|edit| edit.step <= *step && edit.step >= since)
                        .copied(),
                );
                draft.facts.push(commit.as_fact());
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
                *title != main.title
                    && !headline::is_chore(&without_code(title).to_lowercase())
                    && !headline::is_vague(&title.to_lowercase())
                    && !headline::is_about_tests(&without_code(title).to_lowercase())
            })
            .max_by_key(|(strength, _)| *strength);
        let Some((strength, title)) = best.filter(|(strength, _)| *strength >= 50) else {
            continue;
        };
        let kind = match (main.kind, type_of::of_words(&title)) {
            // A part of a fix is a fix, whatever verb reports it.
            (ObservationType::Bugfix, ObservationType::Feature | ObservationType::Change) => {
                ObservationType::Bugfix
            }
            (_, kind) => kind,
        };
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
