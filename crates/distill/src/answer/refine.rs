//! From what a model told to memories: its words, the tools' evidence.

use backstory_model::ObservationId;

use super::reply::{Answer, ModelObservation, ModelSummary};
use crate::{Distilled, NewObservation, NewSummary, ToolEvidence};

/// The most files of one memory.
const MAX_FILES: usize = 24;

/// Puts a model's words in place of the rules' and keeps what only evidence may say: files, tool uses, passages. Memories that a
/// model says it supersedes count only if it was shown them.
pub fn refine(
    answer: Answer,
    builtin: &Distilled,
    evidence: &ToolEvidence,
    shown: &[ObservationId],
) -> Distilled {
    let mut observations: Vec<NewObservation> = answer
        .observations
        .into_iter()
        .map(|told| observation(told, builtin, evidence, shown))
        .collect();
    assign_files(&mut observations, builtin, evidence);
    let summary = match (answer.summary, &builtin.summary) {
        (Some(told), rules) => Some(summary(told, rules.as_ref(), evidence)),
        // A checkpoint stays, also where nothing else is worth keeping.
        (None, rules) => rules.clone(),
    };
    Distilled {
        subtitle: observations
            .first()
            .map(|first| first.title.clone())
            .or_else(|| builtin.subtitle.clone()),
        observations,
        summary,
        title: builtin.title.clone(),
    }
}

fn observation(
    told: ModelObservation,
    builtin: &Distilled,
    evidence: &ToolEvidence,
    shown: &[ObservationId],
) -> NewObservation {
    let named = |files: &[String]| -> Vec<String> {
        files
            .iter()
            .filter(|file| told.files.iter().any(|name| is_same(file, name)))
            .take(MAX_FILES)
            .cloned()
            .collect()
    };
    let (files_modified, files_read) = (named(&evidence.modified), named(&evidence.read));
    let mut supersedes = told.supersedes;
    supersedes.retain(|id| shown.contains(id));
    let mut new = NewObservation {
        kind: told.kind,
        title: told.title,
        subtitle: told.subtitle,
        narrative: told.narrative,
        facts: told.facts,
        concepts: told.concepts,
        files_read,
        files_modified,
        evidence: Vec::new(),
        supersedes,
    };
    new.evidence = tool_uses(&new, builtin, evidence);
    new
}

/// A change that no memory claims belongs to the first of them: what was changed must be found by its file.
fn assign_files(observations: &mut [NewObservation], builtin: &Distilled, evidence: &ToolEvidence) {
    let is_claimed = observations.iter().any(|one| !one.files_modified.is_empty());
    if is_claimed || evidence.modified.is_empty() {
        return;
    }
    if let Some(first) = observations.first_mut() {
        first.files_modified = evidence.modified.iter().take(MAX_FILES).cloned().collect();
        first.evidence = tool_uses(first, builtin, evidence);
    }
}

/// The tool uses that a memory rests on: those that changed its files, and those that the rules found for the same files. A
/// memory that a person pinned or corrected is told from a new one by them.
fn tool_uses(new: &NewObservation, builtin: &Distilled, evidence: &ToolEvidence) -> Vec<String> {
    const MAX: usize = 40;
    let edits = evidence
        .edits
        .iter()
        .filter(|(path, _)| new.files_modified.contains(path))
        .map(|(_, id)| id);
    let shares = |old: &&NewObservation| {
        let files = old.files_modified.iter().chain(&old.files_read);
        files
            .into_iter()
            .any(|file| new.files_modified.contains(file) || new.files_read.contains(file))
    };
    let found = builtin
        .observations
        .iter()
        .filter(shares)
        .flat_map(|old| &old.evidence);
    let mut ids: Vec<String> = Vec::new();
    for id in edits.chain(found) {
        if !ids.contains(id) && ids.len() < MAX {
            ids.push(id.clone());
        }
    }
    ids
}

/// Whether a name means a file: the same path, or its end.
fn is_same(file: &str, name: &str) -> bool {
    let name = name.trim_matches(['`', '"', '\'', ' ']).trim_start_matches("./");
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    !name.is_empty() && (ends(file, name) || ends(name, file))
}

fn summary(told: ModelSummary, rules: Option<&NewSummary>, evidence: &ToolEvidence) -> NewSummary {
    let rules = rules.cloned().unwrap_or_default();
    NewSummary {
        request: told.request.or(rules.request),
        investigated: told.investigated,
        learned: told.learned,
        completed: told.completed,
        open_steps: rules.open_steps.filter(|_| told.next_steps.is_none()),
        next_steps: told.next_steps.or(rules.next_steps),
        files_read: either(rules.files_read, &evidence.read),
        files_edited: either(rules.files_edited, &evidence.modified),
        notes: told.notes.or(rules.notes),
    }
}

fn either(rules: Vec<String>, evidence: &[String]) -> Vec<String> {
    match rules.is_empty() {
        true => evidence.iter().take(MAX_FILES).cloned().collect(),
        false => rules,
    }
}

#[cfg(test)]
mod tests {
    use backstory_model::ObservationType;

    use super::*;
    use crate::answer::read;

    fn evidence() -> ToolEvidence {
        ToolEvidence {
            modified: vec!["src/auth.rs".to_owned(), "src/lib.rs".to_owned()],
            read: vec!["src/token.rs".to_owned()],
            edits: vec![
                ("src/auth.rs".to_owned(), "t1".to_owned()),
                ("src/lib.rs".to_owned(), "t2".to_owned()),
            ],
        }
    }

    fn refined(text: &str) -> Distilled {
        refine(
            read(text, "m").unwrap(),
            &Distilled::default(),
            &evidence(),
            &[ObservationId::new(7)],
        )
    }

    #[test]
    fn files_and_tool_uses_come_from_evidence_whatever_the_model_says() {
        let made = refined(
            "<observation><type>bugfix</type><title>A</title><files>auth.rs, src/evil.rs, ./src/token.rs</files></observation>",
        );
        let one = &made.observations[0];
        assert_eq!(one.kind, ObservationType::Bugfix);
        assert_eq!(one.files_modified, ["src/auth.rs"]);
        assert_eq!(one.files_read, ["src/token.rs"]);
        assert_eq!(one.evidence, ["t1"]);
    }

    #[test]
    fn a_change_that_nobody_claims_belongs_to_the_first_memory() {
        let made =
            refined("<observation><title>A</title></observation><observation><title>B</title></observation>");
        assert_eq!(made.observations[0].files_modified, ["src/auth.rs", "src/lib.rs"]);
        assert_eq!(made.observations[0].evidence, ["t1", "t2"]);
        assert_eq!(made.observations[1].files_modified, [""; 0]);
    }

    #[test]
    fn only_memories_that_were_shown_are_superseded() {
        let made = refined("<observation><title>A</title><supersedes>#7, 8</supersedes></observation>");
        assert_eq!(made.observations[0].supersedes, [ObservationId::new(7)]);
    }

    #[test]
    fn the_end_of_a_path_means_it_and_a_part_of_a_name_does_not() {
        assert!(is_same("src/auth.rs", "auth.rs") && is_same("src/auth.rs", "/home/me/acme/src/auth.rs"));
        assert!(is_same("src/auth.rs", "`./src/auth.rs`"));
        assert!(!is_same("src/oauth.rs", "auth.rs") && !is_same("src/auth.rs", ""));
    }
}
