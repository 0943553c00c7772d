//! Asks git what became of the work that memories are about.
//!
//! For every repository with recent sessions: which commit has the work of each turn, and whether the main branch has that
//! commit, itself or as the same change (merge, rebase, squash, cherry-pick), a branch still has it, or nothing does. Runs in the
//! worker only, after work arrived or refs moved; a handful of git processes per repository, within a time limit. What cannot be
//! told (no git, another owner, a commit that is gone) stays as it was.

mod head_log;
mod history;
mod patches;
mod refs;
mod renames;
mod reverts;
mod state;

use std::{
    collections::{BTreeMap, HashMap, HashSet, hash_map::Entry},
    path::Path,
    sync::atomic::AtomicBool,
    time::Duration,
};

use anyhow::Result;
use backstory_capture::project;
use backstory_distill::{Action, GitCommit, TurnLog};
use backstory_model::{ProjectId, SessionId, Timestamp, TurnId};
use backstory_store::{RepositoryCheck, Store, TurnCommit, TurnGit};
use backstory_text::hash64;

use self::{
    head_log::{HeadLog, HeadLogs},
    history::BranchHistory,
    refs::Refs,
    state::Classifier,
};
use crate::{engine::Engine, process::Git};

/// Projects without a session for this long are not checked.
const RECENT: Duration = Duration::from_hours(30 * 24);

/// The time limit for one repository.
const LIMIT: Duration = Duration::from_secs(30);

/// Checks the repositories of all projects with recent sessions.
pub fn check_branches(engine: &Engine, store: &mut Store, stop: &AtomicBool) -> Result<()> {
    check_since(engine, store, engine.clock.timestamp() - RECENT, stop)
}

/// Checks the repositories of all projects with a session since a moment.
pub(crate) fn check_since(
    engine: &Engine,
    store: &mut Store,
    since: Timestamp,
    stop: &AtomicBool,
) -> Result<()> {
    for project in store.projects_on_branches(since)? {
        if stop.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
        check_project(engine, store, project, stop)?;
    }
    Ok(())
}

/// Checks the repositories of one project: clones of one remote are one project.
pub fn check_project(
    engine: &Engine,
    store: &mut Store,
    project: ProjectId,
    stop: &AtomicBool,
) -> Result<()> {
    let mut roots: HashMap<String, Option<String>> = HashMap::new();
    let mut repositories: BTreeMap<String, Vec<TurnGit>> = BTreeMap::new();
    let mut folders: BTreeMap<String, String> = BTreeMap::new();
    for turn in store.turns_on_branches(project)? {
        let root = roots.entry(turn.folder.clone()).or_insert_with(|| {
            let folder = Path::new(&turn.folder);
            folder.is_dir().then(|| project::locate(folder).facts.root)
        });
        // Work in a folder that is gone belongs to the repository that the project is named after.
        let root = root.clone().unwrap_or_default();
        if !root.is_empty() {
            folders.insert(root.clone(), turn.folder.clone());
        }
        repositories.entry(root).or_default().push(turn);
    }
    let homeless = repositories.remove("").unwrap_or_default();
    if let Some((_, turns)) = repositories.iter_mut().next() {
        turns.extend(homeless);
    }
    for (root, turns) in repositories {
        let Some(folder) = folders.get(&root) else {
            continue;
        };
        let Some(git) = Git::find(&engine.environment, Path::new(folder), LIMIT, stop) else {
            return Ok(());
        };
        let mut check = Check {
            engine,
            store,
            git,
            project,
            root: &root,
            stop,
        };
        if let Err(error) = check.run(turns) {
            // The states stay as they were. A log that cannot be written is no reason to stop.
            engine
                .log("worker.log", &format!("branches of {root}: {error:#}"))
                .ok();
        }
    }
    Ok(())
}

/// A check of one repository.
struct Check<'c> {
    engine: &'c Engine,
    store: &'c mut Store,
    git: Git<'c>,
    project: ProjectId,
    root: &'c str,
    stop: &'c AtomicBool,
}

impl Check<'_> {
    fn run(&mut self, mut turns: Vec<TurnGit>) -> Result<()> {
        // Not a repository, or one of another owner.
        let Ok(refs) = Refs::read(&self.git) else {
            return Ok(());
        };
        let known: HashMap<TurnId, TurnCommit> = turns
            .iter()
            .map(|turn| (turn.turn_id, turn.work.clone()))
            .collect();
        self.resolve(&mut turns)?;
        let fingerprint = fingerprint(&refs, &turns);
        let check = RepositoryCheck {
            project: self.project,
            root: self.root,
            fingerprint,
        };
        if self.store.is_checked(check)? || refs.main_tips.is_empty() {
            return self.store_changes(&turns, &known);
        }
        let full = self.full_ids(&turns)?;
        for turn in &mut turns {
            for commit in [&mut turn.work.head, &mut turn.work.commit].into_iter().flatten() {
                if let Some(id) = full.get(commit) {
                    commit.clone_from(id);
                }
            }
        }
        let commits: HashSet<String> = full.into_values().collect();
        let history = BranchHistory::read(&self.git, self.store, &refs, &commits)?;
        let first = turns
            .iter()
            .map(|turn| turn.started_at)
            .min()
            .unwrap_or(Timestamp::EPOCH);
        let reverts = reverts::find_reverts(&self.git, &refs, &history, first - Duration::from_hours(24))?;
        let classifier = Classifier::new(&refs, &history, &reverts, &commits, &turns);
        let states: Vec<TurnCommit> = turns.iter().map(|turn| classifier.classify(turn)).collect();
        let contained = classifier.contained();
        for (turn, work) in turns.iter_mut().zip(states) {
            turn.work = work;
        }
        let renames = renames::read(
            &self.git,
            self.store.last_check(self.project, self.root)?.unwrap_or(first),
        )?;
        self.store_changes(&turns, &known)?;
        let now = self.engine.clock.timestamp();
        Ok(self.store.store_check(check, &contained, &renames, now)?)
    }

    /// Finds the commits of turns that have none yet.
    fn resolve(&mut self, turns: &mut [TurnGit]) -> Result<()> {
        let mut logs = HeadLogs::new();
        let mut hints: HashMap<SessionId, HashMap<u32, String>> = HashMap::new();
        for turn in turns.iter_mut().filter(|turn| turn.work.commit.is_none()) {
            let log = logs.entry(turn.folder.clone()).or_insert_with(|| {
                let folder = Path::new(&turn.folder);
                let git = Git::find(&self.engine.environment, folder, LIMIT, self.stop)?;
                HeadLog::read(&git, self.engine.clock.timestamp()).ok()
            });
            let mut hint = None;
            if turn.has_changes && turn.work.head.is_none() {
                let made = match hints.entry(turn.session_db_id) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(commits_of_session(self.store, turn.session_db_id)?),
                };
                hint = made.get(&turn.number).cloned();
            }
            let is_found = log.as_ref().is_some_and(|log| log.resolve(turn, hint.as_deref()));
            if !is_found && turn.work.head.is_none() {
                turn.work.commit = hint;
            }
        }
        Ok(())
    }

    /// Returns the full ids of the commits of turns that exist, by the id that is stored.
    fn full_ids(&self, turns: &[TurnGit]) -> Result<HashMap<String, String>> {
        let mut names: Vec<&String> = turns
            .iter()
            .flat_map(|turn| [&turn.work.head, &turn.work.commit])
            .flatten()
            .collect();
        names.sort_unstable();
        names.dedup();
        let input: String = names.iter().map(|name| format!("{name}\n")).collect();
        let output = self
            .git
            .output(&["cat-file", "--batch-check=%(objectname) %(objecttype)"], &input)?;
        // One line for each, in order; `<name> missing` for one that does not exist.
        let found = names.into_iter().zip(output.lines());
        let found =
            found.filter_map(|(name, line)| Some((name.clone(), line.strip_suffix(" commit")?.to_owned())));
        Ok(found.collect())
    }

    fn store_changes(&mut self, turns: &[TurnGit], known: &HashMap<TurnId, TurnCommit>) -> Result<()> {
        let changed: Vec<(TurnId, TurnCommit)> = turns
            .iter()
            .filter(|turn| known.get(&turn.turn_id) != Some(&turn.work))
            .map(|turn| (turn.turn_id, turn.work.clone()))
            .collect();
        if !changed.is_empty() {
            self.store.store_turn_commits(&changed)?;
        }
        Ok(())
    }
}

/// Identifies the refs and the commits of turns: with the same ones, a check has the same result.
fn fingerprint(refs: &Refs, turns: &[TurnGit]) -> u64 {
    let turns = turns.iter().fold(0, |sum: u64, turn| {
        let text = format!(
            "{}{}{:?}{:?}",
            turn.turn_id, turn.work.branch, turn.work.head, turn.work.commit
        );
        sum.wrapping_add(hash64(text.as_bytes()))
    });
    refs.fingerprint.wrapping_add(turns)
}

/// Returns the last commit that each turn of a session made, as its work log has it: by number of the turn, abbreviated.
fn commits_of_session(store: &Store, session: SessionId) -> Result<HashMap<u32, String>> {
    let mut found = HashMap::new();
    for log in store.turn_logs(session)? {
        let Ok(parsed) = serde_json::from_str::<TurnLog>(&log.json) else {
            continue;
        };
        for entry in parsed.entries {
            if let Action::Commit(GitCommit { hash: Some(hash), .. }) = entry.action {
                found.insert(log.number, hash);
            }
        }
    }
    Ok(found)
}
