//! Completed work: commits, pull requests, and what the reports say about work without a commit.

use crate::english::{
    code, has_cause, is_statement, names_subject, opens_with_change, opens_with_pronoun, sentence_case,
};
use crate::episodes::Timeline;
use crate::memories::{Ending, FinalCommit, FinalPublication, is_first_person, split_prefix};
use crate::prose::{Message, SectionRole, plain};
use crate::{Action, PublicationAction, PublicationKind};

/// A line with this share of another line's words says the same.
pub(super) const SAME_PERCENT: u32 = 60;

/// More commits than this are counted, not listed.
const MAX_COMMITS: usize = 8;

/// Returns the lines about commits, pull requests and closed issues, oldest first.
pub(crate) fn committed(ending: &Ending<'_>) -> Vec<String> {
    let commits: Vec<&FinalCommit<'_>> = ending
        .commits
        .iter()
        .filter(|commit| !commit.headline().starts_with("Merge "))
        .collect();
    let hidden = commits.len().saturating_sub(MAX_COMMITS);
    let mut out = Vec::new();
    if hidden > 0 {
        out.push(format!("{hidden} earlier commits"));
    }
    out.extend(commits[hidden..].iter().map(|commit| commit_line(commit)));
    out.extend(ending.publications.iter().filter_map(publication_line));
    out
}

/// Describes a commit in one line.
pub(crate) fn commit_line(commit: &FinalCommit<'_>) -> String {
    let (_, subject) = split_prefix(commit.headline());
    let subject = plain(subject.trim_end_matches('.'));
    let hash = commit
        .hash
        .map(|hash| format!("{} ", code(hash)))
        .unwrap_or_default();
    let pushed = if commit.is_pushed { " (pushed)" } else { "" };
    format!("{hash}{}{pushed}", sentence_case(&subject))
}

fn publication_line(publication: &FinalPublication<'_>) -> Option<String> {
    let reference = publication.reference?;
    let title = publication.title.unwrap_or_default();
    let verb = match publication.action {
        PublicationAction::Created => "opened",
        PublicationAction::Updated => "updated",
        PublicationAction::Closed => "closed",
        PublicationAction::Merged => "merged",
    };
    match publication.kind {
        PublicationKind::PullRequest => Some(
            format!("Pull request {reference} {verb}: {title}")
                .trim_end_matches([':', ' '])
                .to_owned(),
        ),
        PublicationKind::Issue if publication.action != PublicationAction::Created => {
            Some(format!("Issue {reference} {verb}"))
        }
        _ => None,
    }
}

/// Returns the statements of the last report that say how it ended: what changed, or else the finding that says most.
pub(crate) fn outcome(timeline: &Timeline<'_>) -> Vec<String> {
    const MAX_STATEMENTS: usize = 2;
    const MAX_CHARS: usize = 240;
    let last_commit = timeline
        .steps
        .iter()
        .rposition(|step| matches!(step.action(), Some(Action::Commit(_))))
        .unwrap_or(0);
    let turn = timeline.steps.get(last_commit).map_or(0, |step| step.turn);
    // A report from before the last commit is outdated.
    let is_report = |at: &usize| {
        timeline.steps[*at].turn >= turn && matches!(timeline.steps[*at].action(), Some(Action::Report(_)))
    };
    for at in (0..timeline.steps.len()).rev().filter(is_report) {
        let mut all = statements(timeline.message(at));
        all.retain(|statement| statement.chars().count() <= MAX_CHARS);
        let changes: Vec<String> = all
            .iter()
            .filter(|statement| describes_change(statement))
            .take(MAX_STATEMENTS)
            .cloned()
            .collect();
        if !changes.is_empty() {
            return changes;
        }
        if let Some(finding) = all.iter().find(|statement| has_cause(statement)).or(all.first()) {
            return vec![finding.clone()];
        }
    }
    Vec::new()
}

fn is_statement_or_change(statement: &str) -> bool {
    is_statement(statement) || opens_with_change(statement)
}

pub(super) fn describes_change(statement: &str) -> bool {
    opens_with_change(statement) || statement.contains(" now ")
}

/// Returns the statements of a report about results: what changed, what was found.
pub(crate) fn statements(report: &Message) -> Vec<String> {
    report
        .points()
        .filter(|point| {
            !matches!(
                point.role,
                SectionRole::Open
                    | SectionRole::Check
                    | SectionRole::Source
                    | SectionRole::Request
                    | SectionRole::Choice
                    | SectionRole::Praise
            )
        })
        .filter(|point| {
            names_subject(&point.text)
                && !is_first_person(&point.text)
                && !opens_with_pronoun(&point.text)
                && is_statement_or_change(&point.text)
        })
        .map(|point| point.text.clone())
        .collect()
}
