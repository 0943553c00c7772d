//! Drafts from commits, pull requests and issues, joined with the report about the same work.

use backstory_model::ObservationType;

use super::draft::{Draft, Source};
use super::ending::{Ending, FinalCommit, FinalPublication};
use super::{kind, report, select, title};
use crate::english::{Words, code, fit_title, imperative, sentence_case, verb};
use crate::episodes::Timeline;
use crate::prose::{Message, plain};
use crate::{PublicationAction, PublicationKind};

/// A report that has this share of a commit message's words is about the same work.
const SAME_WORK_PERCENT: u32 = 30;

/// A title with this share of its words in a commit message says the same.
const SAME_TITLE_PERCENT: u32 = 60;

/// Drafts a memory per commit and issue. Reports about the same work move from `reports` into the commit's memory.
pub(super) fn drafts(timeline: &Timeline<'_>, ending: &Ending<'_>, reports: &mut Vec<Draft>) -> Vec<Draft> {
    let mut out = Vec::new();
    let mut unit = 0;
    for commit in &ending.commits {
        out.extend(commit_draft(timeline, ending, commit, unit, reports));
        unit = commit.at + 1;
    }
    for publication in &ending.publications {
        publish(ending, publication, &mut out);
    }
    out.retain(Draft::has_content);
    out
}

/// Splits `feat(api): add x` into type and subject.
pub(crate) fn split_prefix(subject: &str) -> (Option<&str>, &str) {
    let Some((prefix, rest)) = subject.split_once(": ") else {
        return (None, subject);
    };
    let name = prefix.split(['(', '!']).next().unwrap_or(prefix);
    let name = name.rsplit(' ').next().unwrap_or(name);
    if !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_lowercase())
        && prefix.split_whitespace().count() <= 2
    {
        (Some(name), rest)
    } else {
        (None, subject)
    }
}

/// Returns the subject of a commit without its prefix: "fix: nil pointer in `load`" is a fix, not a nil pointer.
pub(crate) fn subject_line(headline: &str) -> String {
    let (prefix, subject) = split_prefix(headline);
    let mut words = subject.split_whitespace();
    let first = words.next().unwrap_or_default();
    let has_object = matches!(words.next(), Some("the" | "a" | "an"));
    let is_fix = matches!(prefix, Some("fix" | "hotfix" | "bugfix"));
    if is_fix && verb(first).is_none() && !has_object {
        return format!("Fix: {subject}");
    }
    sentence_case(subject)
}

/// Drafts the memory of a commit.
fn commit_draft(
    timeline: &Timeline<'_>,
    ending: &Ending<'_>,
    commit: &FinalCommit<'_>,
    unit: usize,
    reports: &mut Vec<Draft>,
) -> Option<Draft> {
    let headline = plain(commit.headline());
    let (prefix, subject) = split_prefix(&headline);
    let title = fit_title(&subject_line(&headline)).or_else(|| fit_title(commit.subject))?;
    let files = ending.files(unit..commit.at + 1);
    let mut draft = Draft {
        from: unit,
        // A subject that does not say decides nothing: then the request does.
        kind: Some(kind::of_change(prefix, subject, &files))
            .filter(|kind| *kind != ObservationType::Change || kind::is_known_prefix(prefix)),
        evidence: evidence(timeline, commit),
        ..Draft::new(Source::Commit, commit.at, title)
    };
    draft.subject = commit.subject.to_owned();
    for statement in report::statements(
        Source::Commit,
        &Message::read(commit.body.unwrap_or_default()),
        commit.at,
        ending,
    ) {
        draft.push(statement);
    }
    let end = turn_end(timeline, commit.at);
    let words = Words::of(&format!("{} {}", commit.subject, commit.body.unwrap_or_default()));
    let about = reports
        .iter()
        .enumerate()
        .filter(|(_, report)| (unit..end).contains(&report.at))
        .filter(|(_, report)| report::describes_changes(report) && !is_shared(ending, commit, report.at))
        .map(|(at, report)| (words.shared(&Words::of(&report.text())), at))
        .max();
    if let Some((shared, at)) = about
        && shared * 100 >= words.weight() * SAME_WORK_PERCENT
    {
        let mut report = reports.remove(at);
        if report.at < commit.first {
            draft.subject.clone_from(&report.subject);
        }
        // A title in the words of the request, or one that names a list, is no statement.
        let is_statement = imperative(&report.title).is_none() && !title::names_list(&report.title);
        if is_statement && !Words::of(&report.title).covered_by(&words, SAME_TITLE_PERCENT) {
            report.facts.insert(0, report.title.clone());
        }
        draft.absorb(&report);
    }
    if draft.narrative.is_empty() && draft.facts.is_empty() {
        return None;
    }
    draft.overflow(select::MAX_CHARS - COMMIT_LINE);
    draft.facts.push(commit_line(commit));
    Some(draft)
}

/// Reports whether another commit was made in the turn of a report: then the report is about both.
fn is_shared(ending: &Ending<'_>, commit: &FinalCommit<'_>, report: usize) -> bool {
    let turn = ending.turn(report);
    ending
        .commits
        .iter()
        .any(|other| other.at != commit.at && turn.contains(&other.at))
}

/// The room for the line about the commit and its pull request, in characters.
const COMMIT_LINE: usize = 60;

fn is_commit_line(fact: &str) -> bool {
    fact.starts_with("Commit `") || fact.starts_with("Committed")
}

/// Describes the commit: hash and push.
fn commit_line(commit: &FinalCommit<'_>) -> String {
    let hash = commit
        .hash
        .map_or_else(|| "Committed".to_owned(), |hash| format!("Commit {}", code(hash)));
    if commit.is_pushed {
        format!("{hash}, pushed")
    } else {
        hash
    }
}

fn evidence(timeline: &Timeline<'_>, commit: &FinalCommit<'_>) -> Vec<String> {
    timeline.steps[commit.at]
        .entry()
        .and_then(|entry| entry.tool_use_id.clone())
        .into_iter()
        .collect()
}

fn turn_end(timeline: &Timeline<'_>, at: usize) -> usize {
    let turn = timeline.steps[at].turn;
    timeline.steps[at..]
        .iter()
        .position(|step| step.turn != turn)
        .map_or(timeline.steps.len(), |offset| at + offset)
}

/// Adds a pull request to the memory of its commits, or drafts a memory of an issue.
fn publish(ending: &Ending<'_>, publication: &FinalPublication<'_>, out: &mut Vec<Draft>) {
    // A comment answers a text that the next reader does not have.
    if publication.kind == PublicationKind::Comment {
        return;
    }
    let text = Message::read(publication.body.unwrap_or_default());
    let Some(title) = publication.title else { return };
    let statements = report::statements(Source::Commit, &text, publication.first, ending);
    if publication.kind == PublicationKind::PullRequest {
        let words = Words::of(title);
        let related = out
            .iter_mut()
            .filter(|draft| {
                draft.at <= publication.first && draft.facts.iter().any(|fact| is_commit_line(fact))
            })
            .max_by_key(|draft| words.shared(&Words::of(&draft.text())));
        if let Some(draft) =
            related.filter(|draft| words.covered_by(&Words::of(&draft.text()), 100 - SAME_WORK_PERCENT))
        {
            let mut body = Draft::new(Source::Commit, publication.first, String::new());
            statements.into_iter().for_each(|statement| body.push(statement));
            // The commit stays the last fact.
            let commit = draft.facts.pop();
            draft.absorb(&Draft {
                from: draft.from,
                ..body
            });
            draft.facts.extend(commit);
            if let Some(reference) = publication.reference {
                draft.facts.push(format!("Pull request {reference}"));
            }
            return;
        }
    }
    if !publication.is_created {
        return;
    }
    let reference = publication.reference.unwrap_or_default();
    let (prefix, subject) = split_prefix(title);
    let kind = if publication.kind == PublicationKind::PullRequest {
        kind::of_change(prefix, subject, &[])
    } else {
        ObservationType::Discovery
    };
    let named = format!("{} {reference}: {subject}", noun(publication.kind)).replace(" :", ":");
    let Some(title) = fit_title(&named).or_else(|| fit_title(subject)) else {
        return;
    };
    let mut draft = Draft {
        kind: Some(kind),
        ..Draft::new(Source::Commit, publication.first, title)
    };
    statements.into_iter().for_each(|statement| draft.push(statement));
    // An issue that the session worked on itself is told by that work.
    let is_issue = publication.kind == PublicationKind::Issue;
    if is_issue
        && (publication.action == PublicationAction::Closed || ending.is_acted_on(&draft.text(), draft.at))
    {
        return;
    }
    // Work after it may well have been on it.
    let is_left = ending.files(publication.first..ending.end()).is_empty();
    if is_left
        && publication.action == PublicationAction::Created
        && publication.kind == PublicationKind::Issue
    {
        draft
            .facts
            .push("Filed, not worked on in this session".to_owned());
    }
    out.push(draft);
}

const fn noun(kind: PublicationKind) -> &'static str {
    match kind {
        PublicationKind::PullRequest => "Pull request",
        PublicationKind::Issue => "Issue",
        PublicationKind::Comment => "Comment",
    }
}
