//! The state at the end of a session: which commits, files, names and claims survive.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::command::{run_script, simple_commands};
use crate::english::{Phrases, Words, lower_head, sentences};
use crate::episodes::{Step, Timeline};
use crate::{Action, ChangeKind, GitCommit, PublicationAction, PublicationKind, RunOutcome};

/// Facts about the whole session that decide if an earlier statement still holds.
pub(crate) struct Ending<'a> {
    /// The commits in their final form, oldest first.
    pub(crate) commits: Vec<FinalCommit<'a>>,
    /// Pull requests, issues and long comments in their final form.
    pub(crate) publications: Vec<FinalPublication<'a>>,
    /// Names that a change removed and no later change defined again, with the step that removed them.
    removed: HashMap<&'a str, usize>,
    /// Changed files with their final path; absent if deleted or reverted.
    paths: HashMap<usize, &'a str>,
    /// Corrections: the step, the first step they may refute, and their words.
    corrections: Vec<Correction>,
    /// Set for a session of few turns: there even a single sentence is worth a memory.
    pub(crate) is_short: bool,
    /// The steps of each turn, by the index of any of its steps.
    turns: Vec<std::ops::Range<usize>>,
    /// The words of each report and commit, with its step.
    written: Vec<(usize, Words)>,
    /// The names of scripts that were written only to try something out.
    scratch: HashSet<&'a str>,
}

/// A commit after all amends.
#[derive(Clone, Debug)]
pub(crate) struct FinalCommit<'a> {
    /// The step of its first form.
    pub(crate) first: usize,
    /// The step of its final form.
    pub(crate) at: usize,
    /// The final hash.
    pub(crate) hash: Option<&'a str>,
    /// The final subject.
    pub(crate) subject: &'a str,
    /// The final body.
    pub(crate) body: Option<&'a str>,
    /// Set when a push followed.
    pub(crate) is_pushed: bool,
}

impl<'a> FinalCommit<'a> {
    /// Returns the line that says most: the subject, or for a merge the first sentence of the body.
    pub(crate) fn headline(&self) -> &'a str {
        let is_merge = self.subject.starts_with("Merge ");
        let body = self
            .body
            .filter(|_| is_merge)
            .and_then(|body| sentences(body).into_iter().next());
        body.unwrap_or(self.subject)
    }
}

/// A pull request or issue after its last change.
#[derive(Clone, Debug)]
pub(crate) struct FinalPublication<'a> {
    /// The step of its first mention.
    pub(crate) first: usize,
    /// The kind.
    pub(crate) kind: PublicationKind,
    /// The last action.
    pub(crate) action: PublicationAction,
    /// Set when this session created it.
    pub(crate) is_created: bool,
    /// The number or id.
    pub(crate) reference: Option<&'a str>,
    /// The title.
    pub(crate) title: Option<&'a str>,
    /// The text.
    pub(crate) body: Option<&'a str>,
}

/// The number of turns of a short session.
const MAX_SHORT: usize = 3;

struct Correction {
    at: usize,
    from: usize,
    words: Words,
}

impl<'a> Ending<'a> {
    /// Reads the end state of a session.
    pub(crate) fn of(timeline: &Timeline<'a>) -> Self {
        let scratch = scratch_scripts(timeline);
        let mut paths = final_paths(timeline);
        paths.retain(|_, path| !scratch.contains(file_name(path)));
        Self {
            commits: commits(timeline),
            publications: publications(timeline),
            removed: removed_names(timeline),
            paths,
            corrections: corrections(timeline)
                .into_iter()
                .chain(revisions(timeline))
                .collect(),
            is_short: timeline.logs.len() <= MAX_SHORT,
            turns: turns(timeline),
            written: written(timeline),
            scratch,
        }
    }

    /// Reports whether a command runs a script that was written only to try something out.
    pub(crate) fn is_trial(&self, command: &str) -> bool {
        simple_commands(command).any(|part| run_script(part).is_some_and(|name| self.scratch.contains(name)))
    }

    /// Reports whether the turn of a step changed any file that survives.
    pub(crate) fn changes_in_turn(&self, at: usize) -> bool {
        !self.files(self.turn(at)).is_empty()
    }

    /// Returns the number of steps.
    pub(crate) const fn end(&self) -> usize {
        self.turns.len()
    }

    /// Returns the steps of the turn of a step.
    pub(crate) fn turn(&self, at: usize) -> std::ops::Range<usize> {
        self.turns[at].clone()
    }

    /// Returns the final paths of the files that the steps of a range changed.
    pub(crate) fn files(&self, range: std::ops::Range<usize>) -> Vec<&'a str> {
        let mut out: Vec<&str> = Vec::new();
        for path in range.filter_map(|at| self.paths.get(&at).copied()) {
            if !out.contains(&path) {
                out.push(path);
            }
        }
        out
    }

    /// Reports whether another text says what a statement of a report says: a later one, which tells the state as it is then,
    /// or that of the work itself, which a mere answer such as a review only repeats.
    pub(crate) fn is_said_elsewhere(&self, statement: &str, at: usize) -> bool {
        const SAID_PERCENT: u32 = 75;
        let is_deed = self.is_deed(at);
        let words = Words::of(statement);
        let counts = |step: usize| match step.cmp(&at) {
            Ordering::Less => !is_deed && self.is_deed(step),
            Ordering::Equal => false,
            Ordering::Greater => !is_deed || self.is_deed(step),
        };
        self.written
            .iter()
            .any(|(step, text)| counts(*step) && words.covered_by(text, SAID_PERCENT))
    }

    /// Reports whether a later turn acted on a finding: a commit, an issue or a report about changes has its words.
    pub(crate) fn is_acted_on(&self, finding: &str, at: usize) -> bool {
        const SAME_SUBJECT_PERCENT: u32 = 35;
        let words = Words::of(finding);
        let end = self.turn(at).end;
        self.written
            .iter()
            .filter(|(step, _)| *step >= end && self.is_deed(*step))
            .any(|(_, later)| words.covered_by(later, SAME_SUBJECT_PERCENT))
    }

    /// Reports whether the turn of a step is about the same matter: its report or commits have some of the words.
    pub(crate) fn is_continued(&self, finding: &str, at: usize) -> bool {
        const SAME_MATTER_PERCENT: u32 = 12;
        let words = Words::of(finding);
        let turn = self.turn(at);
        let mut texts = self.written.iter().filter(|(step, _)| turn.contains(step));
        texts.any(|(_, text)| words.covered_by(text, SAME_MATTER_PERCENT))
    }

    /// Reports whether a text tells of something done: a commit or issue, or the report of a turn that changed files.
    fn is_deed(&self, at: usize) -> bool {
        self.commits.iter().any(|commit| commit.at == at)
            || self
                .publications
                .iter()
                .any(|publication| publication.first == at)
            || self.changes_in_turn(at)
    }

    /// Reports whether a statement no longer holds: it is about a name that was removed later, or the agent took it back.
    pub(crate) fn is_stale(&self, statement: &str, at: usize) -> bool {
        let mentions_removed =
            names(statement).any(|name| self.removed.get(name).is_some_and(|removed| *removed > at));
        if mentions_removed && !REMOVALS.within(&statement.to_lowercase()) {
            return true;
        }
        let refuting: Vec<_> = self
            .corrections
            .iter()
            .filter(|correction| correction.from <= at && at < correction.at)
            .collect();
        if refuting.is_empty() {
            return false;
        }
        const REFUTED_PERCENT: u32 = 45;
        let words = Words::of(statement);
        refuting
            .iter()
            .any(|correction| words.covered_by(&correction.words, REFUTED_PERCENT))
    }
}

/// Returns the words of each report and commit message, with its step.
fn written(timeline: &Timeline<'_>) -> Vec<(usize, Words)> {
    let text = |step: &Step<'_>| match step.action() {
        Some(Action::Report(text)) => Some(Words::of(text)),
        Some(Action::Commit(commit)) => Some(Words::of(&format!(
            "{}\n{}",
            commit.subject,
            commit.body.as_deref().unwrap_or_default()
        ))),
        Some(Action::Publication(publication)) => Some(Words::of(publication.body.as_deref()?)),
        _ => None,
    };
    timeline
        .steps
        .iter()
        .enumerate()
        .filter_map(|(at, step)| Some((at, text(step)?)))
        .collect()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Finds the scripts that were written only to try something out: created here, run directly, never committed, not asked for
/// by name, next to a real change, and either named like a trial or not worth a word in any report.
fn scratch_scripts<'a>(timeline: &Timeline<'a>) -> HashSet<&'a str> {
    let mut created: HashMap<&str, &str> = HashMap::new();
    let mut run: HashSet<&str> = HashSet::new();
    let mut spoken = String::new();
    let mut reported = String::new();
    let mut stems: HashSet<&str> = HashSet::new();
    for step in &timeline.steps {
        match step.action() {
            Some(Action::Change(change)) if !change.scratch => {
                let name = file_name(&change.path);
                if change.kind == ChangeKind::Created {
                    created.insert(name, &change.path);
                } else if !created.contains_key(name) {
                    stems.insert(stem(name));
                }
            }
            Some(Action::Run(one)) => {
                run.extend(simple_commands(&one.command).filter_map(run_script));
            }
            // A commit may hold any file that was created before it.
            Some(Action::Commit(_)) => created.clear(),
            Some(Action::Report(text)) => reported.push_str(text),
            _ => {}
        }
        spoken.push_str(step.user_words().unwrap_or_default());
    }
    stems.extend(
        created
            .keys()
            .filter(|name| !run.contains(*name))
            .map(|name| stem(name)),
    );
    let is_trial = |name: &str, path: &str| {
        let is_test_of_change = stems.iter().any(|stem| {
            self::stem(name)
                .trim_start_matches("test_")
                .trim_end_matches("_test")
                == *stem
        });
        let in_suite = path
            .split('/')
            .any(|part| matches!(part, "test" | "tests" | "spec" | "__tests__" | "scripts" | "bin"));
        let is_named_so = stem(name)
            .split(['_', '-', '.'])
            .any(|word| TRIALS.contains(word.to_lowercase().as_str()));
        !stems.is_empty()
            && !is_test_of_change
            && !in_suite
            && !spoken.contains(name)
            && (is_named_so || !reported.contains(name))
    };
    created
        .into_iter()
        .filter(|(name, path)| run.contains(name) && is_trial(name, path))
        .map(|(name, _)| name)
        .collect()
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

static TRIALS: Phrases = Phrases::new(concat!(
    "test|repro|reproduce|reproduction|debug|scratch|tmp|temp|demo|check|verify|try|poc|minimal|experiment|",
    "playground|simple|final",
));

fn turns(timeline: &Timeline<'_>) -> Vec<std::ops::Range<usize>> {
    let steps = &timeline.steps;
    steps
        .iter()
        .map(|step| {
            steps.partition_point(|other| other.turn < step.turn)
                ..steps.partition_point(|other| other.turn <= step.turn)
        })
        .collect()
}

/// Statements with these words are about a removal and stay true after it.
static REMOVALS: Phrases = Phrases::new(concat!(
    "removed|removes|remove|deleted|deletes|dropped|renamed|rename|replaced|replaces|no longer|",
    "instead of|previously|used to|was|were|old",
));

fn names(statement: &str) -> impl Iterator<Item = &str> {
    statement
        .split('`')
        .skip(1)
        .step_by(2)
        .map(|span| span.trim_end_matches("()"))
        .flat_map(|span| span.split(|c: char| !(c.is_alphanumeric() || c == '_')))
        .filter(|name| name.len() > 2)
}

fn commits<'a>(timeline: &Timeline<'a>) -> Vec<FinalCommit<'a>> {
    let mut out: Vec<FinalCommit<'a>> = Vec::new();
    for (at, step) in timeline.steps.iter().enumerate() {
        match step.action() {
            Some(Action::Commit(commit)) => push_commit(&mut out, commit, at),
            Some(Action::Push { tip, .. }) => {
                out.iter_mut().for_each(|commit| commit.is_pushed = true);
                // The tip may be a merge; only a commit without a known hash takes it.
                if let Some(last) = out.last_mut().filter(|last| last.hash.is_none()) {
                    last.hash = tip.as_deref();
                }
            }
            Some(Action::Run(run)) if run.result_line.as_deref().is_some_and(is_up_to_date) => {
                out.iter_mut().for_each(|commit| commit.is_pushed = true);
            }
            // A rebase gives the commits that are not pushed yet, and after a forced push others too, new hashes.
            Some(Action::Run(run)) if run.outcome != RunOutcome::Failed && rewrites_history(&run.command) => {
                for commit in &mut out {
                    commit.hash = None;
                    commit.is_pushed = false;
                }
            }
            _ => {}
        }
    }
    out
}

/// Reports whether `git status` says that everything is pushed.
fn is_up_to_date(status: &str) -> bool {
    status.contains("Your branch is up to date with")
}

/// Reports whether a command gives commits new hashes.
fn rewrites_history(command: &str) -> bool {
    simple_commands(command).any(|part| {
        let mut words = part.split_whitespace().filter(|word| !word.starts_with("-C"));
        let is_git = words.next() == Some("git");
        let rest: Vec<&str> = words.collect();
        is_git
            && match rest.as_slice() {
                ["rebase", option, ..] => !matches!(*option, "--abort" | "--quit" | "--help"),
                ["rebase"] | ["filter-branch" | "cherry-pick", ..] => true,
                ["pull", options @ ..] => options.contains(&"--rebase") || options.contains(&"-r"),
                _ => false,
            }
    })
}

fn push_commit<'a>(out: &mut Vec<FinalCommit<'a>>, commit: &'a GitCommit, at: usize) {
    match out.last_mut() {
        Some(last) if commit.amend => {
            last.at = at;
            last.hash = commit.hash.as_deref().or(last.hash);
            last.is_pushed = false;
            if !commit.subject.is_empty() && commit.subject != last.subject {
                last.subject = &commit.subject;
                last.body = None;
            }
            last.body = commit.body.as_deref().or(last.body);
        }
        _ => out.push(FinalCommit {
            first: at,
            at,
            hash: commit.hash.as_deref(),
            subject: &commit.subject,
            body: commit.body.as_deref(),
            is_pushed: false,
        }),
    }
}

/// A shorter comment only points to what was done.
const LONG_COMMENT: usize = 400;

fn publications<'a>(timeline: &Timeline<'a>) -> Vec<FinalPublication<'a>> {
    let mut out: Vec<FinalPublication<'a>> = Vec::new();
    for (at, step) in timeline.steps.iter().enumerate() {
        let Some(Action::Publication(publication)) = step.action() else {
            continue;
        };
        let is_long = publication
            .body
            .as_ref()
            .is_some_and(|body| body.len() >= LONG_COMMENT);
        if publication.kind == PublicationKind::Comment && !is_long {
            continue;
        }
        let known = out.iter_mut().find(|known| {
            known.kind == publication.kind
                && known.reference.is_some()
                && known.reference == publication.reference.as_deref()
        });
        if let Some(known) = known {
            known.action = publication.action;
            known.title = publication.title.as_deref().or(known.title);
            known.body = publication.body.as_deref().or(known.body);
            known.is_created |= publication.action == PublicationAction::Created;
        } else {
            out.push(FinalPublication {
                first: at,
                kind: publication.kind,
                action: publication.action,
                is_created: publication.action == PublicationAction::Created,
                reference: publication.reference.as_deref(),
                title: publication.title.as_deref(),
                body: publication.body.as_deref(),
            });
        }
    }
    out
}

fn removed_names<'a>(timeline: &Timeline<'a>) -> HashMap<&'a str, usize> {
    let mut removed = HashMap::new();
    for (at, step) in timeline.steps.iter().enumerate() {
        if let Some(Action::Change(change)) = step.action() {
            for name in &change.removes {
                removed.insert(name.as_str(), at);
            }
            for name in &change.defines {
                removed.remove(name.as_str());
            }
        }
    }
    removed
}

/// Maps each change to the final path of its file; scratch, deleted and reverted files are left out.
fn final_paths<'a>(timeline: &Timeline<'a>) -> HashMap<usize, &'a str> {
    let mut current: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut stashed: HashMap<&str, Vec<usize>> = HashMap::new();
    let checkouts = checkouts(timeline);
    for (at, step) in timeline.steps.iter().enumerate() {
        match step.action() {
            Some(Action::Change(change)) if !change.scratch => match &change.kind {
                ChangeKind::Restored if change.path == "." => stashed = std::mem::take(&mut current),
                // The working copy is gone, the change was made.
                ChangeKind::Deleted if checkouts.contains(file_name(&change.path)) => {}
                // A folder goes with everything in it.
                ChangeKind::Deleted | ChangeKind::Restored => {
                    current.retain(|path, _| !is_within(path, &change.path));
                }
                ChangeKind::MovedFrom(old) => {
                    let mut steps = current.remove(old.as_str()).unwrap_or_default();
                    steps.push(at);
                    current.entry(&change.path).or_default().extend(steps);
                }
                ChangeKind::Created | ChangeKind::Modified => {
                    current.entry(&change.path).or_default().push(at);
                }
            },
            Some(Action::Run(run)) if unstashes(&run.command) => {
                for (path, steps) in stashed.drain() {
                    current.entry(path).or_default().extend(steps);
                }
            }
            Some(Action::Run(run)) if run.outcome == RunOutcome::Passed => {
                for path in reverted_paths(&run.command) {
                    current.remove(path);
                }
            }
            _ => {}
        }
    }
    current
        .into_iter()
        .flat_map(|(path, steps)| steps.into_iter().map(move |at| (at, path)))
        .collect()
}

/// Returns the names of the folders that the session cloned or added as worktrees.
fn checkouts<'a>(timeline: &Timeline<'a>) -> HashSet<&'a str> {
    let commands = timeline.steps.iter().filter_map(|step| match step.action() {
        Some(Action::Run(run)) => Some(run.command.as_str()),
        _ => None,
    });
    commands
        .flat_map(simple_commands)
        .filter(|command| command.starts_with("git clone ") || command.starts_with("git worktree add "))
        .flat_map(str::split_whitespace)
        .map(|word| file_name(word.trim_end_matches('/').trim_end_matches(".git")))
        .collect()
}

/// Reports whether a path is a folder or file itself, or lies in it.
fn is_within(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Reports whether a command brings back what `git stash` put away.
fn unstashes(command: &str) -> bool {
    simple_commands(command)
        .any(|part| part.starts_with("git stash pop") || part.starts_with("git stash apply"))
}

/// Returns the paths that `git checkout -- path` or `git restore path` puts back.
fn reverted_paths(command: &str) -> impl Iterator<Item = &str> {
    let arguments = command
        .strip_prefix("git checkout -- ")
        .or_else(|| command.strip_prefix("git restore "))
        .unwrap_or_default();
    arguments
        .split_whitespace()
        .take_while(|word| !matches!(*word, "&&" | "||" | ";" | "|"))
}

/// Finds the places where the agent takes back what it said in the turns before.
fn corrections(timeline: &Timeline<'_>) -> Vec<Correction> {
    /// A guess is rarely corrected later than this.
    const TURNS_BACK: u32 = 3;
    /// The truth follows the concession within a few statements.
    const STEPS_AHEAD: usize = 6;
    let mut out = Vec::new();
    for (at, step) in timeline.steps.iter().enumerate() {
        let Some(Action::Prose(text) | Action::Report(text)) = step.action() else {
            continue;
        };
        if !CONCESSIONS.starts(&lower_head(text)) {
            continue;
        }
        let from = timeline
            .steps
            .partition_point(|earlier| earlier.turn + TURNS_BACK < step.turn);
        let end = (at + STEPS_AHEAD).min(timeline.steps.len());
        let mut words = Words::default();
        let user = timeline.steps[from..at]
            .iter()
            .rev()
            .find_map(|step| step.user_words());
        let truth = timeline.steps[at..end]
            .iter()
            .filter_map(|step| match step.action() {
                Some(Action::Prose(text) | Action::Report(text)) => Some(text.as_str()),
                _ => None,
            });
        for text in user.into_iter().chain(truth) {
            words.extend(&Words::of(text));
        }
        let first_of_turn = timeline.steps.partition_point(|earlier| earlier.turn < step.turn);
        out.push(Correction {
            at: first_of_turn,
            from,
            words,
        });
    }
    out
}

/// Finds the turns in which the user had the result of the turns before changed. What the request and its report speak of is
/// told by that report alone.
fn revisions(timeline: &Timeline<'_>) -> Vec<Correction> {
    /// A result is rarely revised later than this.
    const TURNS_BACK: u32 = 2;
    let mut out = Vec::new();
    for (at, step) in timeline.steps.iter().enumerate() {
        let Some(request) = step.user_words() else {
            continue;
        };
        let opening: String = request.chars().take(MAX_REVISION).collect();
        if !REVISIONS.within(&opening.replace('’', "'").to_lowercase()) {
            continue;
        }
        let report = timeline.steps[at..]
            .iter()
            .take_while(|later| later.turn == step.turn)
            .filter_map(|later| match later.action() {
                Some(Action::Report(text)) => Some(text.as_str()),
                _ => None,
            })
            .last();
        let Some(report) = report else { continue };
        let mut words = Words::of(&opening);
        words.extend(&Words::of(report));
        let steps = &timeline.steps;
        out.push(Correction {
            at: steps.partition_point(|earlier| earlier.turn < step.turn),
            from: steps.partition_point(|earlier| earlier.turn + TURNS_BACK < step.turn),
            words,
        });
    }
    out
}

/// The part of a request that tells whether it revises something, in characters: the rest is often pasted.
const MAX_REVISION: usize = 240;

static REVISIONS: Phrases = Phrases::new(concat!(
    "revert|undo|roll back|rollback|change it back|put it back|go back to|why can't we|why can we not|why not just|",
    "why don't we|can't we just|couldn't we just|shouldn't we|shouldn't it|that's not what|not what i|let's not|",
    "i think it's fine|is wrong|isn't right|is not right|overkill|i'd rather|remove the first|remove the last|",
    "remove the second|instead of that|not just",
));

static CONCESSIONS: Phrases = Phrases::new(concat!(
    "you're right|you are right|you're absolutely right|i was wrong|my mistake|good catch|i misread|",
    "i misunderstood|my earlier|i stand corrected|that was wrong|that's wrong|wait, that's|",
    "actually, i was|apologies|sorry, i|correction:",
));

/// Returns the files that a text names, by path or by file name.
pub(super) fn mentioned<'a>(files: &[&'a str], text: &str) -> Vec<&'a str> {
    let mut out: Vec<&str> = Vec::new();
    for file in files {
        let name = file.rsplit('/').next().unwrap_or(file);
        if backstory_model::is_file_path(file) && names_file(text, name) && !out.contains(file) {
            out.push(file);
        }
    }
    out
}

/// Reports whether a text names a file; `new_cache.rs` does not name `cache.rs`.
fn names_file(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_part))
}
